//! How much memory a strategy needs: [`Needs`].

use crate::grid::{Grid, GridError};
use crate::jobs::JobSlot;
use crate::machine::Description;
use crate::occupancy::Occupancy;
use crate::pool::{BlockCell, Link};
use crate::strategy::{StrategyKind, list_of_cubes, scratch_and_list};
use crate::word::Word;

/// How much memory a strategy needs to serve a machine, apart from the table of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Words of each of the three occupancy bitmaps.
    pub words: usize,
    /// Words of scratch.
    pub scratch: usize,
    /// Blocks: one or two for each job, or up to one for each processor
    /// ([`Contiguity`](crate::Contiguity)); more with gangs ([`Needs::with_gangs`]).
    pub blocks: usize,
    /// Cells of the strategy's list, each for a submesh.
    pub list: usize,
}

impl Needs {
    /// The least that any storage has.
    const LEAST: Needs = Needs {
        words: 1,
        scratch: 0,
        blocks: 0,
        list: 0,
    };

    /// The memory that this strategy needs on this machine for this number of jobs, waiting and
    /// running together. For an allocator alone, `jobs` is the number of allocations that are held
    /// at a time.
    ///
    /// ```
    /// use meshalloc::storage::Needs;
    /// use meshalloc::{Mesh, StrategyKind};
    /// let machine = Mesh::new(16, 16)?.grid();
    /// let needs = |strategy| Needs::of(strategy, &machine, 40);
    /// let [first_fit, naive] = [StrategyKind::FirstFit, StrategyKind::Naive].map(needs);
    /// assert_eq!((first_fit.blocks, naive.blocks), (40, 256));
    /// assert_eq!(needs(StrategyKind::LShape).blocks, 80);
    /// assert_eq!((first_fit.scratch, naive.scratch), (16, 0));
    /// assert_eq!(needs(StrategyKind::FreeSubmeshList).list, 256);
    /// # Ok::<(), meshalloc::MeshSidesError>(())
    /// ```
    pub const fn of(strategy: StrategyKind, machine: &Grid, jobs: usize) -> Needs {
        let (scratch, list) = scratch_and_list(strategy, machine, jobs);
        Needs {
            words: Occupancy::words_needed(machine),
            scratch,
            blocks: strategy.holds().blocks(jobs, machine.nodes() as usize),
            list,
        }
    }

    /// [`Needs::of`] on the machine of a description.
    pub const fn described(
        strategy: StrategyKind,
        description: &Description,
        jobs: usize,
    ) -> Needs {
        let mut needs = Needs::of(strategy, description.grid(), jobs);
        if let Some(list) = list_of_cubes(strategy, description) {
            needs.list = list;
        }
        needs
    }

    /// [`Needs::of_build`] on the machine of a description.
    pub const fn of_described(description: &Description, jobs: usize) -> Needs {
        let mut most = Needs::LEAST;
        let mut strategies = StrategyKind::ALL;
        while let [strategy, rest @ ..] = strategies {
            if strategy.is_built() && strategy.serves_described(description) {
                most = most.and(Needs::described(*strategy, description, jobs));
            }
            strategies = rest;
        }
        most
    }

    /// Enough for each strategy of this build on those of the machines that it serves. The
    /// strategies have their default parameters.
    pub const fn of_build(mut machines: &[Grid], jobs: usize) -> Needs {
        let mut most = Needs::LEAST;
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

    /// The same with a block for each processor of the machine, so that there is room for the
    /// slices of any gang.
    #[must_use]
    pub const fn with_gangs(mut self, machine: &Grid) -> Needs {
        let nodes = machine.nodes() as usize;
        if self.blocks < nodes {
            self.blocks = nodes;
        }
        self
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

    /// Enough for any of these strategies on this machine. This is for
    /// [`storage!`](crate::storage!).
    ///
    /// # Panics
    ///
    /// At compile time, in a constant: when there is no such machine, or a strategy is not in this
    /// build or does not serve the machine.
    #[doc(hidden)]
    pub const fn of_declared(
        machine: Result<Grid, GridError>,
        mut strategies: &[StrategyKind],
        jobs: usize,
        blocks: usize,
    ) -> Needs {
        let Ok(machine) = machine else {
            panic!(
                "storage!: no such machine: 1 to 16 sides of at least 1, \
                 at most 2^20 processors, sides of a two-dimensional mesh up to 1024"
            );
        };
        let mut most = Needs {
            words: Occupancy::words_needed(&machine),
            blocks,
            ..Needs::LEAST
        };
        while let [strategy, rest @ ..] = strategies {
            assert!(
                strategy.is_built(),
                "storage!: a strategy is not in this build: turn on the feature of its name"
            );
            assert!(
                strategy.serves().includes(&machine),
                "storage!: a strategy does not serve this machine"
            );
            most = most.and(Needs::of(*strategy, &machine, jobs));
            strategies = rest;
        }
        most
    }

    /// The alignment of every [`Storage`](crate::Storage) and
    /// [`AllocatorStorage`](crate::AllocatorStorage), in bytes.
    pub const ALIGN: usize = {
        let (slot, cell) = (align_of::<JobSlot>(), align_of::<u64>());
        if slot > cell { slot } else { cell }
    };

    /// The bytes of a [`Storage`](crate::Storage) of these capacities for this number of jobs, for
    /// programs in other languages that provide the memory. Its alignment is [`Needs::ALIGN`].
    /// `usize::MAX` if more bytes are needed than can be addressed.
    ///
    /// ```
    /// use meshalloc::storage::Needs;
    /// use meshalloc::{Grid, StrategyKind, storage};
    /// let needs = Needs::of(StrategyKind::FirstFit, &Grid::mesh(&[16, 16])?, 40);
    /// type Board = storage!(mesh 16 x 16, strategies [FirstFit], jobs 40);
    /// assert_eq!(needs.bytes(40), size_of::<Board>());
    /// # Ok::<(), meshalloc::GridError>(())
    /// ```
    pub const fn bytes(&self, jobs: usize) -> usize {
        let table = size_of::<JobSlot>() + 3 * size_of::<Link>();
        self.padded(jobs.saturating_mul(table))
    }

    /// The bytes of an [`AllocatorStorage`](crate::AllocatorStorage) of these capacities, or
    /// `usize::MAX`.
    pub const fn allocator_bytes(&self) -> usize {
        self.padded(self.blocks.saturating_mul(size_of::<u32>()))
    }

    /// The bytes of an allocator's memory and of a table, padded to the alignment.
    const fn padded(&self, table: usize) -> usize {
        const fn up(bytes: usize, to: usize) -> usize {
            match bytes.checked_next_multiple_of(to) {
                Some(bytes) => bytes,
                None => usize::MAX,
            }
        }
        let words = self.words.saturating_mul(3).saturating_add(self.scratch);
        let blocks = self.blocks.saturating_mul(size_of::<BlockCell>());
        let arrays = words
            .saturating_mul(size_of::<Word>())
            .saturating_add(blocks)
            .saturating_add(self.list.saturating_mul(size_of::<u64>()));
        up(
            up(arrays, align_of::<u64>()).saturating_add(table),
            Self::ALIGN,
        )
    }
}
