//! The memory a controller works in: [`Storage`] owns it, [`Memory`] lends it.
//!
//! Const generics own the arrays; everything else takes slices, so one copy of the code serves every
//! capacity. A host that knows its machine only at run time makes a [`Memory`] from vectors instead.

use crate::blocks::{BlockCell, Link};
use crate::grid::Grid;
use crate::jobs::JobSlot;
use crate::occupancy::Occupancy;
use crate::strategy::{StrategyKind, Workspace, WorkspaceSize};
use crate::word::Word;

/// The memory a controller works in, borrowed. What is in it does not matter at first. [`Needs`] says how much a machine and a
/// strategy need.
#[derive(Debug)]
pub struct Memory<'m> {
    /// Occupancy: [`Needs::words`].
    pub busy: &'m mut [Word],
    /// Faulty processors: as many words.
    pub faulty: &'m mut [Word],
    /// For suppositions: as many words.
    pub supposed: &'m mut [Word],
    /// Jobs, waiting and running together.
    pub slots: &'m mut [JobSlot],
    /// From job names to slots: at least twice the slots.
    pub index: &'m mut [Link],
    /// For the order of the running jobs: as many as there are slots.
    pub order: &'m mut [Link],
    /// Blocks held by all jobs together: [`Needs::blocks`].
    pub blocks: &'m mut [BlockCell],
    /// For the strategy: [`Needs::scratch`] and [`Needs::list`].
    pub workspace: Workspace<'m>,
}

/// What a strategy needs to serve a machine, beside the table of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Words of each of the three occupancy bitmaps.
    pub words: usize,
    /// Words of scratch.
    pub scratch: usize,
    /// Blocks: one or two for each job, or up to one for each processor ([`Holds`](crate::Holds)).
    pub blocks: usize,
    /// Cells of the strategy's list, each for a submesh.
    pub list: usize,
}

impl Needs {
    /// What this strategy, which must be in this build, needs on this machine for this number of jobs, waiting and running together.
    ///
    /// ```
    /// use meshalloc::storage::Needs;
    /// use meshalloc::{Mesh, StrategyKind};
    /// let machine = Mesh::new(16, 16)?.grid();
    /// let needs = |strategy| Needs::of(strategy, &machine, 40);
    /// assert_eq!((needs(StrategyKind::FirstFit).blocks, needs(StrategyKind::Naive).blocks), (40, 256));
    /// assert_eq!(needs(StrategyKind::LShape).blocks, 80);
    /// assert_eq!((needs(StrategyKind::FirstFit).scratch, needs(StrategyKind::Naive).scratch), (16, 0));
    /// assert_eq!(needs(StrategyKind::FreeSubmeshList).list, 256);
    /// # Ok::<(), meshalloc::MeshSidesError>(())
    /// ```
    pub const fn of(strategy: StrategyKind, machine: &Grid, jobs: usize) -> Needs {
        let WorkspaceSize { scratch, list } = WorkspaceSize::of(strategy, machine, jobs);
        Needs {
            words: Occupancy::words_needed(machine),
            scratch,
            blocks: strategy.holds().blocks(jobs, machine.nodes() as usize),
            list,
        }
    }

    /// Enough for each strategy of this build, with the parameters that its name alone stands for, on those of the machines that it serves.
    pub const fn of_build(mut machines: &[Grid], jobs: usize) -> Needs {
        let mut most = Needs {
            words: 1,
            scratch: 0,
            blocks: 0,
            list: 0,
        };
        while let [machine, others @ ..] = machines {
            let mut strategies = StrategyKind::ALL;
            while let [strategy, rest @ ..] = strategies {
                if strategy.is_built() && strategy.serves().includes(machine) {
                    most = most.and(Needs::of(*strategy, machine, jobs));
                }
                strategies = rest;
            }
            machines = others;
        }
        most
    }

    /// The larger of each: enough for both.
    pub const fn and(self, other: Needs) -> Needs {
        const fn max(a: usize, b: usize) -> usize {
            if a > b { a } else { b }
        }
        Needs {
            words: max(self.words, other.words),
            scratch: max(self.scratch, other.scratch),
            blocks: max(self.blocks, other.blocks),
            list: max(self.list, other.list),
        }
    }
}

/// Owns the memory for a controller.
///
/// - `WORDS`: occupancy words; a mesh of `w x h` takes `h * ceil(w / WORD_BITS)`, a cube
///   `ceil(k^n / WORD_BITS)`.
/// - `JOBS`: jobs, waiting and running together.
/// - `SCRATCH`, `BLOCKS`, `LIST`: what the strategies need ([`Needs`]). The defaults suffice on a two-dimensional mesh for a
///   contiguous strategy other than tree collapsing that keeps no list. For that, and on any other grid, `SCRATCH` is twice `WORDS`,
///   for `l-shape`, `neighbor`, `multiple-buddy` and the dependent and independent binary trees, too; non-contiguous strategies need up to a block for each processor,
///   `free-submesh-list` a list as long. Strategies that look ahead need that list too, and scratch for tables. `curve` needs 2 sqrt(2 N) words of scratch for N processors where that is more.
///
/// A capacity that makes no sense does not compile:
///
/// ```compile_fail
/// // No job.
/// let storage = meshalloc::Storage::<64, 0, 64, 0, 0>::new();
/// ```
///
/// ```
/// use meshalloc::{Configuration, Controller, Mesh, SchedulerKind, Storage, StrategyKind};
///
/// let mut storage: Storage<32, 50> = Storage::new();
/// let configuration = Configuration {
///     machine: Mesh::new(32, 32).unwrap().into(),
///     strategy: StrategyKind::FirstFit,
///     scheduler: SchedulerKind::Fcfs,
/// };
/// let controller = Controller::new(storage.memory(), configuration).unwrap();
/// assert_eq!(controller.capacity().jobs, 50);
/// ```
#[derive(Debug)]
pub struct Storage<
    const WORDS: usize,
    const JOBS: usize,
    const SCRATCH: usize = WORDS,
    const BLOCKS: usize = JOBS,
    const LIST: usize = 0,
> {
    busy: [Word; WORDS],
    faulty: [Word; WORDS],
    supposed: [Word; WORDS],
    scratch: [Word; SCRATCH],
    slots: [JobSlot; JOBS],
    /// Twice the slots.
    index: [[Link; JOBS]; 2],
    order: [Link; JOBS],
    blocks: [BlockCell; BLOCKS],
    list: [u64; LIST],
}

impl<
    const WORDS: usize,
    const JOBS: usize,
    const SCRATCH: usize,
    const BLOCKS: usize,
    const LIST: usize,
> Storage<WORDS, JOBS, SCRATCH, BLOCKS, LIST>
{
    /// Evaluated in [`Storage::new`], so that a bad capacity is a compile error with these words.
    const VALID: () = {
        assert!(WORDS >= 1, "WORDS: at least one word of occupancy");
        assert!(JOBS >= 1, "JOBS: room for at least one job");
        assert!(BLOCKS >= 1, "BLOCKS: room for at least one block");
        assert!(JOBS < Link::MAX as usize, "JOBS: too many for this target");
        assert!(
            BLOCKS < Link::MAX as usize,
            "BLOCKS: too many for this target"
        );
    };

    /// Empty memory; usable in a `static`.
    pub const fn new() -> Self {
        let () = Self::VALID;
        Storage {
            busy: [0; WORDS],
            faulty: [0; WORDS],
            supposed: [0; WORDS],
            scratch: [0; SCRATCH],
            slots: [JobSlot::EMPTY; JOBS],
            index: [[0; JOBS]; 2],
            order: [0; JOBS],
            blocks: [BlockCell::EMPTY; BLOCKS],
            list: [0; LIST],
        }
    }

    /// Lends the memory.
    pub fn memory(&mut self) -> Memory<'_> {
        Memory {
            busy: &mut self.busy,
            faulty: &mut self.faulty,
            supposed: &mut self.supposed,
            slots: &mut self.slots,
            index: self.index.as_flattened_mut(),
            order: &mut self.order,
            blocks: &mut self.blocks,
            workspace: Workspace {
                words: &mut self.scratch,
                list: &mut self.list,
            },
        }
    }
}

impl<
    const WORDS: usize,
    const JOBS: usize,
    const SCRATCH: usize,
    const BLOCKS: usize,
    const LIST: usize,
> Default for Storage<WORDS, JOBS, SCRATCH, BLOCKS, LIST>
{
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Mesh;

    #[test]
    fn the_ends_of_jobs_take_memory_for_those_there_can_be() {
        let machine = Mesh::new(16, 16).expect("a mesh").grid();
        let kind = StrategyKind::LebEstimates { budget: 64 };
        let scratch = |jobs| Needs::of(kind, &machine, jobs).scratch;
        assert!(scratch(0) < scratch(40) && scratch(40) < scratch(256));
        // There are no more than processors.
        assert_eq!(scratch(256), scratch(1000));
    }

    #[test]
    fn a_curve_takes_memory_for_lengths_or_words_whichever_are_more() {
        let scratch = |kind: &str, side| {
            let machine = Mesh::new(side, side).expect("a mesh").grid();
            Needs::of(kind.parse().expect("a strategy"), &machine, 4).scratch
        };
        // 1 + 2 + .. + 5 < 16 < 1 + 2 + .. + 6.
        assert_eq!(scratch("curve", 4), 2 * 5);
        assert!(scratch("first-fit", 4) < 10);
        assert_eq!(scratch("curve", 512), scratch("first-fit", 512));
        assert!(scratch("curve", 512) > 2 * 724);
    }
}
