//! Memory of a fixed capacity. [`Storage`] owns the memory of a controller, [`AllocatorStorage`]
//! that of an allocator alone; [`Memory`] and [`AllocatorMemory`] lend it. [`Needs`] says how much
//! memory a strategy needs.
//!
//! Const generics own the arrays. Everything else takes slices, so one copy of the code serves
//! every capacity. The macro [`storage!`](crate::storage!) computes the capacities at compile time.
//! A host that knows its machine only at run time takes `HeapStorage` (feature `alloc`). Programs
//! in other languages provide memory as bytes, which a [`Provider`] divides.

#[cfg(feature = "alloc")]
mod heap;
mod provided;

#[cfg(feature = "alloc")]
pub use heap::HeapStorage;
pub use provided::{Element, Provider};

pub use crate::needs::Needs;

use crate::jobs::JobSlot;
use crate::pool::{BlockCell, Link};
use crate::strategy::Workspace;
use crate::word::Word;

/// The memory that a controller works in, borrowed. Its first contents do not matter.
#[derive(Debug)]
pub struct Memory<'m> {
    pub(crate) processors: Processors<'m>,
    /// The slots of jobs, waiting and running together.
    pub(crate) slots: &'m mut [JobSlot],
    /// The index from job names to slots: at least twice as many cells as slots.
    pub(crate) index: &'m mut [Link],
    /// Room for the order of the running jobs: as many cells as slots.
    pub(crate) order: &'m mut [Link],
}

/// The memory that an allocator without jobs works in, borrowed. Its first contents do not matter.
#[derive(Debug)]
pub struct AllocatorMemory<'m> {
    pub(crate) processors: Processors<'m>,
    /// The tickets, as many as there are blocks; see [`Allocation`](crate::Allocation).
    pub(crate) tickets: &'m mut [u32],
}

#[cfg(feature = "machine")]
impl<'m> Memory<'m> {
    /// The same memory for a controller that serves only the machine of this description, and gives
    /// only the slices that are legal there.
    ///
    /// ```
    /// use meshalloc::storage::{HeapStorage, Needs};
    /// use meshalloc::{
    ///     Change, Configuration, Controller, Description, Error, JobId, Request, SchedulerKind,
    ///     Shape, StrategyKind,
    /// };
    ///
    /// let machine = Description::preset("tpu-v4").expect("a preset");
    /// let strategy = StrategyKind::Cubes { fold: false };
    /// let mut storage = HeapStorage::new(Needs::described(strategy, &machine, 100), 100);
    /// let configuration = Configuration {
    ///     machine: *machine.grid(),
    ///     strategy,
    ///     scheduler: SchedulerKind::Fcfs,
    /// };
    /// let memory = storage.memory().describing(&machine);
    /// let mut controller = Controller::new(memory, configuration)?;
    /// let request = Request::new(Shape::new(&[3, 3, 3])?);
    /// let refused = controller.handle(&Change::submit(JobId(1), request), 0).unwrap_err();
    /// assert_eq!(
    ///     refused.to_string(),
    ///     "not a legal shape of this machine: the nearest that hold as many processors are 2x4x4 \
    ///      and 4x4x4"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn describing(mut self, description: &'m crate::Description) -> Self {
        self.processors.workspace.describe(description);
        self
    }
}

#[cfg(feature = "machine")]
impl<'m> AllocatorMemory<'m> {
    /// The same memory for an allocator that serves only the machine of this description, and gives
    /// only the slices that are legal there. A strategy of your own
    /// ([`Allocator::with_strategy`](crate::Allocator::with_strategy)) does not use the
    /// description.
    #[must_use]
    pub const fn describing(mut self, description: &'m crate::Description) -> Self {
        self.processors.workspace.describe(description);
        self
    }
}

/// The memory for occupancy, blocks and strategy.
#[derive(Debug)]
pub(crate) struct Processors<'m> {
    /// Occupancy: [`Needs::words`].
    pub(crate) busy: &'m mut [Word],
    /// Faulty processors: as many words.
    pub(crate) faulty: &'m mut [Word],
    /// For suppositions: as many words.
    pub(crate) supposed: &'m mut [Word],
    /// Blocks held by all jobs together: [`Needs::blocks`].
    pub(crate) blocks: &'m mut [BlockCell],
    /// For the strategy: [`Needs::scratch`] and [`Needs::list`].
    pub(crate) workspace: Workspace<'m>,
}

impl Processors<'_> {
    /// The number of words for each bitmap.
    pub(crate) fn words(&self) -> usize {
        let words = self.busy.len().min(self.faulty.len());
        words.min(self.supposed.len())
    }
}

/// The type of the memory for a machine, some strategies and a number of jobs.
///
/// ```
/// use meshalloc::{AllocatorStorage, Storage, storage};
///
/// // For a controller.
/// let storage: storage!(mesh 64 x 64, strategies [FirstFit, FreeSubmeshList], jobs 128) =
///     Storage::new();
/// // For an allocator alone.
/// let storage: storage!(torus 4 x 4 x 4, strategies [TreeCollapsing], allocations 64) =
///     AllocatorStorage::new();
/// ```
///
/// In this order it takes:
///
/// - The machine: `mesh` or `torus` and its sides, or `machine (EXPRESSION)` with a constant
///   `Result<Grid, GridError>`.
/// - `strategies [NAME, ..]`, variants of [`StrategyKind`](crate::StrategyKind). A variant with
///   parameters is written with them: `Paging { order: PageOrder::Snake, exponent: 1 }`. The memory
///   serves any of them. For a [strategy of your own](crate::Allocator::with_strategy) the list is
///   empty.
/// - `jobs N`, the jobs that wait or run at a time: the type is a [`Storage`]. Or `allocations N`,
///   the allocations that are held at a time: the type is an [`AllocatorStorage`]. Or `blocks N`,
///   the blocks of all allocations together: the type is also an [`AllocatorStorage`], for
///   strategies that hold several blocks.
///
/// Where the memory has to serve several machines, a constant
/// [`Needs`](crate::storage::Needs) takes the place of machine and strategies:
/// `storage!(needs (NEEDS), jobs 128)` for a controller, `storage!(needs (NEEDS))` for an
/// allocator.
///
/// A capacity that makes no sense does not compile:
///
/// ```compile_fail,E0080
/// # use meshalloc::{Storage, storage};
/// // The buddy strategy serves squares only.
/// let storage: storage!(mesh 8 x 4, strategies [Buddy], jobs 4) = Storage::new();
/// ```
///
/// ```compile_fail,E0080
/// # use meshalloc::{Storage, storage};
/// // No job.
/// let storage: storage!(mesh 8 x 8, strategies [FirstFit], jobs 0) = Storage::new();
/// ```
///
/// ```compile_fail,E0080
/// # use meshalloc::{Storage, storage};
/// // No such mesh.
/// let storage: storage!(mesh 8 x 0, strategies [FirstFit], jobs 4) = Storage::new();
/// ```
#[macro_export]
macro_rules! storage {
    (mesh $first:literal $(x $side:literal)*, $($rest:tt)*) => {
        $crate::storage!(machine ($crate::Grid::mesh(&[$first $(, $side)*])), $($rest)*)
    };
    (torus $first:literal $(x $side:literal)*, $($rest:tt)*) => {
        $crate::storage!(machine ($crate::Grid::torus(&[$first $(, $side)*])), $($rest)*)
    };
    (machine ($machine:expr), strategies $strategies:tt, jobs $jobs:expr) => {
        $crate::storage!(needs ($crate::storage!(@ $machine, $strategies, $jobs, 1)), jobs $jobs)
    };
    (machine ($machine:expr), strategies $strategies:tt, allocations $count:expr) => {
        $crate::storage!(needs ($crate::storage!(@ $machine, $strategies, $count, 1)))
    };
    (machine ($machine:expr), strategies $strategies:tt, blocks $count:expr) => {
        $crate::storage!(needs ($crate::storage!(@ $machine, $strategies, 1, $count)))
    };
    (needs ($needs:expr), jobs $jobs:expr) => {
        $crate::Storage<
            { $needs.words },
            { $jobs },
            { $needs.scratch },
            { $needs.blocks },
            { $needs.list },
        >
    };
    (needs ($needs:expr)) => {
        $crate::AllocatorStorage<
            { $needs.words },
            { $needs.scratch },
            { $needs.blocks },
            { $needs.list },
        >
    };
    (
        @ $machine:expr,
        [$($kind:ident $({ $($field:ident: $value:expr),* $(,)? })?),* $(,)?],
        $jobs:expr,
        $blocks:expr
    ) => {
        $crate::storage::Needs::of_declared(
            $machine,
            &[$($crate::StrategyKind::$kind $({ $($field: $value),* })?),*],
            $jobs,
            $blocks,
        )
    };
}

/// Owns the memory of a controller; [`storage!`](crate::storage!) computes its capacities.
///
/// - `WORDS`: words of each bitmap; `JOBS`: jobs, waiting and running together;
/// - `SCRATCH`, `BLOCKS`, `LIST`: what the strategies need ([`Needs`]).
///
/// A capacity that makes no sense does not compile.
///
/// ```
/// use meshalloc::{Configuration, Controller, Mesh, SchedulerKind, Storage, StrategyKind, storage};
///
/// let mut storage: storage!(mesh 32 x 32, strategies [FirstFit], jobs 50) = Storage::new();
/// let configuration = Configuration {
///     machine: Mesh::new(32, 32)?.into(),
///     strategy: StrategyKind::FirstFit,
///     scheduler: SchedulerKind::Fcfs,
/// };
/// let controller = Controller::new(storage.memory(), configuration)?;
/// assert_eq!(controller.capacity().jobs, 50);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Storage<
    const WORDS: usize,
    const JOBS: usize,
    const SCRATCH: usize = WORDS,
    const BLOCKS: usize = JOBS,
    const LIST: usize = 0,
> {
    processors: Arrays<[Word; WORDS], [Word; SCRATCH], [BlockCell; BLOCKS], [u64; LIST]>,
    slots: [JobSlot; JOBS],
    /// Twice the slots.
    index: [[Link; JOBS]; 2],
    order: [Link; JOBS],
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
        assert!(JOBS >= 1, "JOBS: room for at least one job");
        assert!(JOBS < Link::MAX as usize, "JOBS: too many for this target");
    };

    /// Empty memory; usable in a `static`.
    pub const fn new() -> Self {
        let () = Self::VALID;
        Storage {
            processors: Arrays::new(),
            slots: [JobSlot::EMPTY; JOBS],
            index: [[0; JOBS]; 2],
            order: [0; JOBS],
        }
    }

    /// Lends the memory.
    pub fn memory(&mut self) -> Memory<'_> {
        Memory {
            processors: self.processors.lend(),
            slots: &mut self.slots,
            index: self.index.as_flattened_mut(),
            order: &mut self.order,
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

/// Owns the memory of an allocator without jobs; [`storage!`](crate::storage!) computes its
/// capacities.
///
/// - `WORDS`: words of each bitmap;
/// - `SCRATCH`, `BLOCKS`, `LIST`: what the strategies need ([`Needs`]).
///
/// A capacity that makes no sense does not compile.
#[derive(Debug)]
pub struct AllocatorStorage<
    const WORDS: usize,
    const SCRATCH: usize,
    const BLOCKS: usize,
    const LIST: usize,
> {
    processors: Arrays<[Word; WORDS], [Word; SCRATCH], [BlockCell; BLOCKS], [u64; LIST]>,
    tickets: [u32; BLOCKS],
}

impl<const WORDS: usize, const SCRATCH: usize, const BLOCKS: usize, const LIST: usize>
    AllocatorStorage<WORDS, SCRATCH, BLOCKS, LIST>
{
    /// Empty memory; usable in a `static`.
    pub const fn new() -> Self {
        AllocatorStorage {
            processors: Arrays::new(),
            tickets: [0; BLOCKS],
        }
    }

    /// Lends the memory.
    pub fn memory(&mut self) -> AllocatorMemory<'_> {
        AllocatorMemory {
            processors: self.processors.lend(),
            tickets: &mut self.tickets,
        }
    }
}

impl<const WORDS: usize, const SCRATCH: usize, const BLOCKS: usize, const LIST: usize> Default
    for AllocatorStorage<WORDS, SCRATCH, BLOCKS, LIST>
{
    fn default() -> Self {
        Self::new()
    }
}

/// Owns the memory that [`Processors`] lends: arrays, or vectors on the heap.
#[derive(Debug)]
struct Arrays<W, S, B, L> {
    busy: W,
    faulty: W,
    supposed: W,
    scratch: S,
    blocks: B,
    list: L,
}

impl<const WORDS: usize, const SCRATCH: usize, const BLOCKS: usize, const LIST: usize>
    Arrays<[Word; WORDS], [Word; SCRATCH], [BlockCell; BLOCKS], [u64; LIST]>
{
    const VALID: () = {
        assert!(WORDS >= 1, "WORDS: at least one word of occupancy");
        assert!(BLOCKS >= 1, "BLOCKS: room for at least one block");
        assert!(
            BLOCKS < Link::MAX as usize,
            "BLOCKS: too many for this target"
        );
    };

    const fn new() -> Self {
        let () = Self::VALID;
        Arrays {
            busy: [0; WORDS],
            faulty: [0; WORDS],
            supposed: [0; WORDS],
            scratch: [0; SCRATCH],
            blocks: [BlockCell::EMPTY; BLOCKS],
            list: [0; LIST],
        }
    }
}

impl<W, S, B, L> Arrays<W, S, B, L>
where
    W: AsMut<[Word]>,
    S: AsMut<[Word]>,
    B: AsMut<[BlockCell]>,
    L: AsMut<[u64]>,
{
    fn lend(&mut self) -> Processors<'_> {
        Processors {
            busy: self.busy.as_mut(),
            faulty: self.faulty.as_mut(),
            supposed: self.supposed.as_mut(),
            blocks: self.blocks.as_mut(),
            workspace: Workspace::new(self.scratch.as_mut(), self.list.as_mut()),
        }
    }
}

#[cfg(test)]
mod tests;
