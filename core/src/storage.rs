//! The memory a controller works in: [`Storage`] owns it, [`Memory`] lends it.
//!
//! Const generics own the arrays; everything else takes slices, so one copy of the code serves every
//! capacity. A host that knows its machine only at run time makes a [`Memory`] from vectors instead.

use crate::blocks::{BlockCell, Link};
use crate::jobs::JobSlot;
use crate::grid::Grid;
use crate::mesh::Submesh;
use crate::occupancy::Occupancy;
use crate::strategy::Workspace;
use crate::word::Word;

/// The memory a controller works in, borrowed. What is in it does not matter at first.
#[derive(Debug)]
pub struct Memory<'m> {
    /// Occupancy: [`Occupancy::words_needed`] words.
    pub busy: &'m mut [Word],
    /// Faulty processors: as many words.
    pub faulty: &'m mut [Word],
    /// Jobs, waiting and running together.
    pub slots: &'m mut [JobSlot],
    /// From job names to slots: a power of two, at least twice the slots.
    pub index: &'m mut [Link],
    /// Blocks held by all jobs together: as many as the machine has processors.
    pub blocks: &'m mut [BlockCell],
    /// For the strategy.
    pub workspace: Workspace<'m>,
}

/// What a machine needs, beside the number of jobs it is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Words of each occupancy bitmap; of scratch, twice as many.
    pub words: usize,
    /// Blocks, and submeshes in a strategy's list.
    pub nodes: usize,
}

impl Needs {
    /// What this machine needs.
    pub const fn of(grid: &Grid) -> Needs {
        Needs {
            words: Occupancy::words_needed(grid),
            nodes: grid.nodes() as usize,
        }
    }
}

/// Owns the memory for a controller.
///
/// - `WORDS`: occupancy words; a mesh of `w x h` takes `h * ceil(w / WORD_BITS)`, a cube
///   `ceil(k^n / WORD_BITS)`.
/// - `JOBS`: jobs, waiting and running together.
/// - `INDEX`: a power of two, at least twice `JOBS`.
/// - `NODES`: processors of the largest machine.
///
/// A capacity that makes no sense does not compile:
///
/// ```compile_fail
/// // 100 is not a power of two.
/// let storage = meshalloc::Storage::<64, 50, 100, 4096>::new();
/// ```
///
/// ```
/// use meshalloc::{Configuration, Controller, Mesh, SchedulerKind, Storage, StrategyKind};
///
/// let mut storage = Storage::<64, 50, 128, 1024>::new();
/// let configuration = Configuration {
///     machine: Mesh::new(32, 32).unwrap().into(),
///     strategy: StrategyKind::FirstFit,
///     scheduler: SchedulerKind::Fcfs,
/// };
/// let controller = Controller::new(storage.memory(), configuration).unwrap();
/// assert_eq!(controller.capacity().jobs, 50);
/// ```
#[derive(Debug)]
pub struct Storage<const WORDS: usize, const JOBS: usize, const INDEX: usize, const NODES: usize> {
    busy: [Word; WORDS],
    faulty: [Word; WORDS],
    /// Two for each word of occupancy.
    scratch: [[Word; WORDS]; 2],
    slots: [JobSlot; JOBS],
    index: [Link; INDEX],
    blocks: [BlockCell; NODES],
    list: [Submesh; NODES],
}

impl<const WORDS: usize, const JOBS: usize, const INDEX: usize, const NODES: usize>
    Storage<WORDS, JOBS, INDEX, NODES>
{
    /// Evaluated in [`Storage::new`], so that a bad capacity is a compile error with these words.
    const VALID: () = {
        assert!(WORDS >= 1, "WORDS: at least one word of occupancy");
        assert!(JOBS >= 1, "JOBS: room for at least one job");
        assert!(NODES >= 1, "NODES: a machine of at least one processor");
        assert!(INDEX.is_power_of_two(), "INDEX: must be a power of two");
        assert!(INDEX >= 2 * JOBS, "INDEX: must be at least twice JOBS");
        assert!(JOBS < Link::MAX as usize, "JOBS: too many for this target");
        assert!(
            NODES < Link::MAX as usize,
            "NODES: too many for this target"
        );
    };

    /// Empty memory; usable in a `static`.
    pub const fn new() -> Self {
        let () = Self::VALID;
        Storage {
            busy: [0; WORDS],
            faulty: [0; WORDS],
            scratch: [[0; WORDS]; 2],
            slots: [JobSlot::EMPTY; JOBS],
            index: [0; INDEX],
            blocks: [BlockCell::EMPTY; NODES],
            list: [Submesh::EMPTY; NODES],
        }
    }

    /// Lends the memory.
    pub fn memory(&mut self) -> Memory<'_> {
        Memory {
            busy: &mut self.busy,
            faulty: &mut self.faulty,
            slots: &mut self.slots,
            index: &mut self.index,
            blocks: &mut self.blocks,
            workspace: Workspace {
                words: self.scratch.as_flattened_mut(),
                list: &mut self.list,
            },
        }
    }
}

impl<const WORDS: usize, const JOBS: usize, const INDEX: usize, const NODES: usize> Default
    for Storage<WORDS, JOBS, INDEX, NODES>
{
    fn default() -> Self {
        Self::new()
    }
}
