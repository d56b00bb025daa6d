//! `meshalloc.Allocator`.

use std::convert::Infallible;
use std::sync::Arc;

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{AllocateError, Grid, StrategyKind};
use meshalloc_sim::workload::TimeUnit;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};
use self_cell::{MutBorrow, self_cell};

use crate::convert::{self, Extents, List, Machine, Pair, Processors, Shown};
use crate::errors::{misuse, not_served, not_taken, refused};
use crate::own::{OwnStrategy, Shared};

/// An allocator with a strategy of the core, or with one written in Python.
#[allow(
    clippy::large_enum_variant,
    reason = "there is one for each object of Python"
)]
enum Either<'m> {
    Named(meshalloc::Allocator<'m>),
    Own(meshalloc::Allocator<'m, OwnStrategy>),
}

self_cell!(
    /// An allocator with its memory.
    struct Served {
        owner: Owner,
        #[covariant]
        dependent: Either,
    }
);

/// The memory of an allocator or a controller, and the description of its machine, if it has one.
pub(crate) type Owner = (MutBorrow<HeapStorage>, Option<meshalloc::Description>);

/// The same expression for both kinds of allocator.
macro_rules! either {
    ($either:expr, $allocator:ident => $body:expr) => {
        match $either {
            Either::Named($allocator) => $body,
            Either::Own($allocator) => $body,
        }
    };
}

/// Why an allocator with a strategy in Python has no state to save.
const NOT_SAVED: &str = "only an allocator with a strategy of the core is saved and restored";

/// Processors that an allocator has given away.
#[pyclass(frozen, eq, hash, module = "meshalloc")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Allocation(u128);

#[pymethods]
impl Allocation {
    fn __repr__(&self) -> String {
        format!("Allocation({:x})", self.0)
    }

    /// A number that names it, for `Allocator.renew` after a restart.
    const fn __int__(&self) -> u128 {
        self.0
    }
}

impl Allocation {
    fn handle(&self) -> meshalloc::Allocation {
        meshalloc::Allocation::from_raw(self.0)
    }
}

/// Gives processors of one machine away and takes them back.
///
/// `machine` is a name, such as "mesh 16x22" or "torus 8x8x16", the sides of a mesh, a pod such as
/// "tpu-v4", a file that describes one, or the text of such a file, in lines. `strategy` is one of
/// `strategies(machine)`, or your own:
/// a function `propose(occupancy, request)`, an object with this method, or the class of such
/// objects. The rules of a pod are then yours to keep.
///
/// >>> import meshalloc
/// >>> allocator = meshalloc.Allocator("mesh 8x8", "first-fit")
/// >>> wide = allocator.allocate((8, 6))
/// >>> allocator.blocks(wide)
/// [((0, 0), (8, 6))]
/// >>> allocator.allocate((2, 3))
/// Traceback (most recent call last):
/// meshalloc.errors.Refused: enough free processors, but fragmented
/// >>> allocator.release(wide)
/// 48
#[pyclass(module = "meshalloc")]
pub(crate) struct Allocator {
    served: Served,
    grid: Grid,
    shared: Arc<Shared>,
}

/// The strategy of an allocator.
#[derive(FromPyObject)]
pub(crate) enum Chosen<'py> {
    /// One of the core, by its name.
    Named(String),
    /// One written in Python.
    Own(Bound<'py, PyAny>),
}

/// Memory for a strategy on a machine, for this many blocks of jobs and jobs in a table.
pub(crate) fn owner(
    strategy: StrategyKind,
    grid: &Grid,
    description: Option<meshalloc::Description>,
    running: usize,
    jobs: usize,
) -> Owner {
    let needs = match &description {
        None => Needs::of(strategy, grid, running),
        Some(machine) => Needs::described(strategy, machine, running),
    };
    let needs = needs.with_gangs(grid);
    (MutBorrow::new(HeapStorage::new(needs, jobs)), description)
}

#[pymethods]
impl Allocator {
    #[new]
    fn new(machine: Machine, strategy: Chosen<'_>) -> PyResult<Self> {
        let Machine { grid, description } = machine;
        let shared = Arc::<Shared>::default();
        // Each allocation has a processor at least.
        let jobs = grid.nodes() as usize;
        let (served, name) = match strategy {
            Chosen::Named(name) => {
                let kind = convert::strategy(&name)?;
                let owner = owner(kind, &grid, description, jobs, 0);
                let served = Served::try_new(owner, |(storage, description)| {
                    let mut memory = storage.borrow_mut().allocator_memory();
                    if let Some(machine) = description {
                        memory = memory.describing(machine);
                    }
                    meshalloc::Allocator::new(memory, grid, kind).map(Either::Named)
                });
                (served, name)
            }
            Chosen::Own(object) => {
                let own = OwnStrategy::new(&object, grid, TimeUnit::Second, shared.clone())?;
                let owner = owner(StrategyKind::FirstFit, &grid, None, jobs, 0);
                let served = Served::try_new(owner, |(storage, _)| {
                    let memory = storage.borrow_mut().allocator_memory();
                    meshalloc::Allocator::with_strategy(memory, grid, own).map(Either::Own)
                });
                (served, "the strategy".to_owned())
            }
        };
        Ok(Allocator {
            served: served.map_err(|error| not_served(&grid, &name, error))?,
            grid,
            shared,
        })
    }

    /// Finds processors for a request and takes them. `shape` has the extents; `processors` is
    /// their product unless given. With `rotate=False` the extents keep their order. With
    /// `slices=3` it takes three slices of this shape, all or none: a gang.
    ///
    /// Raises `Refused` if there is no place, and `IllegalProposal` if a strategy of your own
    /// proposes what it may not. Then nothing has changed.
    #[pyo3(signature = (shape, processors=None, *, rotate=true, slices=1))]
    fn allocate(
        slf: &Bound<'_, Self>,
        shape: Extents,
        processors: Processors,
        rotate: bool,
        slices: u32,
    ) -> PyResult<Allocation> {
        let request = convert::request(shape, processors, rotate, slices)?;
        let this = &mut *convert::change(slf)?;
        let allocated = this.served.with_dependent_mut(|_, either| match either {
            Either::Named(allocator) => allocator.allocate(&request).map_err(AllocateError::from),
            Either::Own(allocator) => allocator.allocate_checked(&request),
        });
        this.shared.take()?;
        match allocated {
            Ok(allocation) => Ok(Allocation(allocation.into_raw())),
            Err(AllocateError::Refused(refusal)) => Err(refused(refusal)),
            Err(illegal) => Err(this.shared.illegal(slf.py(), &illegal.to_string())),
        }
    }

    /// Takes the processors of this block, wherever the strategy would place a request: those of a
    /// job that ran before a restart, or that someone else has placed.
    ///
    /// Raises `Refused` if a processor is held or faulty, and `Misuse` if the strategy never gives
    /// such a block. Then nothing has changed.
    fn allocate_at(
        slf: &Bound<'_, Self>,
        start: List<i64>,
        extent: List<i64>,
    ) -> PyResult<Allocation> {
        Allocator::take(slf, &[(start, extent)])
    }

    /// The same for an allocation of several blocks, pairs of start and extent.
    fn allocate_blocks(
        slf: &Bound<'_, Self>,
        blocks: Vec<(List<i64>, List<i64>)>,
    ) -> PyResult<Allocation> {
        Allocator::take(slf, &blocks)
    }

    /// All that later decisions depend on, for `restore`. Raises `Misuse` with a strategy of your
    /// own.
    fn save<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyBytes>> {
        let this = convert::read(slf)?;
        let Either::Named(allocator) = this.served.borrow_dependent() else {
            return Err(misuse(NOT_SAVED));
        };
        let mut bytes = Vec::new();
        let Ok(()) = allocator.save(&mut |part| {
            bytes.extend(part);
            Ok::<(), Infallible>(())
        });
        Ok(PyBytes::new(slf.py(), &bytes))
    }

    /// Restores what `save` returned, with the machine and the strategy of then if there is memory
    /// for them. Allocations made so far are another allocator's from then on; `renew` has those
    /// that were saved. Raises `Misuse` for bytes that are no such state; then all processors are
    /// free.
    ///
    /// >>> import meshalloc
    /// >>> before = meshalloc.Allocator("mesh 8x8", "first-fit")
    /// >>> number = int(before.allocate((8, 6)))
    /// >>> after = meshalloc.Allocator("mesh 8x8", "first-fit")
    /// >>> after.restore(before.save())
    /// >>> after.release(after.renew(number))
    /// 48
    fn restore(slf: &Bound<'_, Self>, state: &[u8]) -> PyResult<()> {
        let this = &mut *convert::change(slf)?;
        let (restored, grid) = this.served.with_dependent_mut(|_, either| {
            let Either::Named(allocator) = either else {
                return Err(misuse(NOT_SAVED));
            };
            let mut restoring = allocator.restore();
            let restored = restoring.part(state).and_then(|()| restoring.finish());
            Ok((restored, *allocator.occupancy().grid()))
        })?;
        this.grid = grid;
        restored.map_err(|error| misuse(error.to_string()))
    }

    /// The allocation that had this number, `int(allocation)`, in the allocator that was saved.
    /// Raises `Misuse` if there is none.
    fn renew(&self, number: u128) -> PyResult<Allocation> {
        let was = meshalloc::Allocation::from_raw(number);
        let Either::Named(allocator) = self.served.borrow_dependent() else {
            return Err(misuse(NOT_SAVED));
        };
        let renewed = allocator.renew(&was);
        let renewed = renewed.map_err(|error| misuse(error.to_string()))?;
        Ok(Allocation(renewed.into_raw()))
    }

    /// Whether the strategy would find a place now.
    #[pyo3(signature = (shape, processors=None, *, rotate=true, slices=1))]
    fn fits(
        slf: &Bound<'_, Self>,
        shape: Extents,
        processors: Processors,
        rotate: bool,
        slices: u32,
    ) -> PyResult<bool> {
        let request = convert::request(shape, processors, rotate, slices)?;
        let this = &mut *convert::change(slf)?;
        let fits = this
            .served
            .with_dependent_mut(|_, either| either!(either, allocator => allocator.fits(&request)));
        this.shared.take()?;
        Ok(fits)
    }

    /// The blocks of an allocation: pairs of start and extent, dimension 0 (x) first; of a gang
    /// those of one slice after the other.
    fn blocks(&self, allocation: &Allocation) -> PyResult<Vec<Pair>> {
        let handle = allocation.handle();
        either!(self.served.borrow_dependent(), allocator => {
            let blocks = allocator.blocks(&handle).map_err(|error| misuse(error.to_string()))?;
            Ok(convert::pairs(&self.grid, blocks))
        })
    }

    /// Gives the processors back and returns how many became free. Raises `Misuse` if the
    /// allocation was released before or is another allocator's.
    fn release(slf: &Bound<'_, Self>, allocation: &Allocation) -> PyResult<u32> {
        let handle = allocation.handle();
        let this = &mut *convert::change(slf)?;
        let released = this.served.with_dependent_mut(
            |_, either| either!(either, allocator => allocator.release(handle)),
        );
        released.map_err(|error| misuse(error.to_string()))
    }

    /// Marks the processors of a block as faulty: they are not given away until `clear_faulty`.
    /// Returns how many were not faulty before.
    fn mark_faulty(slf: &Bound<'_, Self>, start: List<i64>, extent: List<i64>) -> PyResult<u32> {
        let this = &mut *convert::change(slf)?;
        let block = convert::block_of(&this.grid, &start, &extent)?;
        Ok(this.served.with_dependent_mut(
            |_, either| either!(either, allocator => allocator.mark_faulty(block)),
        ))
    }

    /// Marks the processors of a block as working. Returns how many were faulty before.
    fn clear_faulty(slf: &Bound<'_, Self>, start: List<i64>, extent: List<i64>) -> PyResult<u32> {
        let this = &mut *convert::change(slf)?;
        let block = convert::block_of(&this.grid, &start, &extent)?;
        Ok(this.served.with_dependent_mut(
            |_, either| either!(either, allocator => allocator.clear_faulty(block)),
        ))
    }

    /// The number of free processors.
    #[getter]
    fn free(&self) -> u32 {
        either!(self.served.borrow_dependent(), allocator => allocator.occupancy().free())
    }

    /// The machine, such as "mesh 8x8".
    #[getter]
    fn machine(&self) -> String {
        self.grid.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Allocator({:?}, free={})", self.machine(), self.free())
    }

    /// A copy of the occupancy: a numpy array with an axis for each dimension, `True` where a
    /// processor is held or faulty.
    fn occupancy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Allocator::array(slf, Shown::Busy)
    }

    /// The same with `True` where a processor is faulty.
    fn faulty<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Allocator::array(slf, Shown::Faulty)
    }
}

impl Allocator {
    /// Takes blocks.
    fn take(slf: &Bound<'_, Self>, blocks: &[(List<i64>, List<i64>)]) -> PyResult<Allocation> {
        let this = &mut *convert::change(slf)?;
        let grid = this.grid;
        let blocks = blocks
            .iter()
            .map(|(start, extent)| convert::block_of(&grid, start, extent));
        let blocks = blocks.collect::<PyResult<Vec<_>>>()?;
        let taken = this.served.with_dependent_mut(
            |_, either| either!(either, allocator => allocator.allocate_blocks(blocks)),
        );
        this.shared.take()?;
        match taken {
            Ok(allocation) => Ok(Allocation(allocation.into_raw())),
            Err(error) => Err(not_taken(error)),
        }
    }

    /// An array of processors.
    fn array<'py>(slf: &Bound<'py, Self>, shown: Shown) -> PyResult<Bound<'py, PyAny>> {
        let this = convert::read(slf)?;
        let allocator = this.served.borrow_dependent();
        let occupancy = either!(allocator, allocator => allocator.occupancy());
        let (grid, bytes) = (this.grid, convert::bytes(occupancy, shown));
        drop(this);
        convert::array(&PyByteArray::new(slf.py(), &bytes), &grid)
    }
}
