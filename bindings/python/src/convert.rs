//! Values of Python as values of the core, and back.

use meshalloc::{
    Block, Flags, Grid, NodeId, Occupancy, Request, SchedulerKind, Shape, StrategyKind,
};
use meshalloc_sim::names;
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::False;
use pyo3::types::{PyByteArray, PyDict, PyTuple};

use crate::errors::misuse;

/// A block in Python: start and extent, dimension 0 first.
pub(crate) type Pair<'py> = (Bound<'py, PyTuple>, Bound<'py, PyTuple>);

/// A machine: its name, such as `torus 8x8x16`, or the sides of a mesh.
#[derive(FromPyObject)]
pub(crate) enum Machine {
    /// A name.
    Name(String),
    /// Sides.
    Sides(Vec<u16>),
}

impl Machine {
    /// The grid.
    ///
    /// # Errors
    ///
    /// When there is no such machine.
    pub(crate) fn grid(self) -> PyResult<Grid> {
        match self {
            Machine::Name(name) => name.parse().map_err(|error| {
                let forms =
                    "`mesh 16x22`, `torus 8x8x16`, `mesh 8x8x16 wrap 0,2` or `4-ary 3-cube`";
                misuse(format!("machine {name:?}: {error} (expected {forms})"))
            }),
            Machine::Sides(sides) => {
                Grid::mesh(&sides).map_err(|error| misuse(format!("machine {sides:?}: {error}")))
            }
        }
    }
}

/// A strategy by its name.
pub(crate) fn strategy(name: &str) -> PyResult<StrategyKind> {
    names::strategy(name).map_err(|reason| misuse(format!("strategy {name:?}: {reason}")))
}

/// A scheduler by its name.
pub(crate) fn scheduler(name: &str) -> PyResult<SchedulerKind> {
    names::scheduler(name).map_err(|reason| misuse(format!("scheduler {name:?}: {reason}")))
}

/// The extents of a request.
#[derive(FromPyObject)]
pub(crate) enum Extents {
    /// One extent.
    One(u16),
    /// Several.
    Several(Vec<u16>),
}

/// A request with this shape.
pub(crate) fn request(shape: Extents, processors: Option<u32>, rotate: bool) -> PyResult<Request> {
    let extents = match shape {
        Extents::One(extent) => vec![extent],
        Extents::Several(extents) => extents,
    };
    let shape = Shape::new(&extents);
    let shape = shape.map_err(|error| misuse(format!("shape {extents:?}: {error}")))?;
    let request = Request::new(shape);
    let processors = processors.unwrap_or(request.processors);
    let flags = match rotate {
        true => Flags::empty(),
        false => Flags::FIXED_ORIENTATION,
    };
    Ok(request.with_processors(processors).with_flags(flags))
}

/// A block as Python has it.
pub(crate) fn pair<'py>(py: Python<'py>, grid: &Grid, block: Block) -> PyResult<Pair<'py>> {
    let tuple = |numbers: &[u16]| PyTuple::new(py, numbers);
    Ok((tuple(&grid.start(block))?, tuple(&grid.extent(block))?))
}

/// Blocks as Python has them.
pub(crate) fn pairs<'py>(
    py: Python<'py>,
    grid: &Grid,
    blocks: impl IntoIterator<Item = Block>,
) -> PyResult<Vec<Pair<'py>>> {
    let blocks = blocks.into_iter();
    blocks.map(|block| pair(py, grid, block)).collect()
}

/// The block of the machine with this start and extent; `None` if it is not within the machine.
pub(crate) fn block(grid: &Grid, start: &[i64], extent: &[i64]) -> Option<Block> {
    let narrow = |numbers: &[i64]| -> Option<Vec<u16>> {
        let mut numbers = numbers.iter().map(|&number| u16::try_from(number).ok());
        numbers.by_ref().collect()
    };
    grid.block(&narrow(start)?, &narrow(extent)?)
}

/// The same as an exception.
///
/// # Errors
///
/// When the block is not within the machine.
pub(crate) fn block_of(grid: &Grid, start: &[i64], extent: &[i64]) -> PyResult<Block> {
    block(grid, start, extent).ok_or_else(|| {
        misuse(format!(
            "start {start:?}, extent {extent:?}: no block of the {grid}"
        ))
    })
}

/// A numpy array of truth values over this memory, with an axis for each dimension of the machine.
pub(crate) fn array<'py>(
    bytes: &Bound<'py, PyByteArray>,
    grid: &Grid,
) -> PyResult<Bound<'py, PyAny>> {
    let py = bytes.py();
    let array = py
        .import("numpy")?
        .call_method1("frombuffer", (bytes, "bool"))?;
    let order = PyDict::new(py);
    order.set_item("order", "F")?;
    let sides = PyTuple::new(py, grid.sides())?;
    array.call_method("reshape", (sides,), Some(&order))
}

/// What an array shows of processors.
#[derive(Clone, Copy)]
pub(crate) enum Shown {
    /// Those that are held or faulty.
    Busy,
    /// Those that are faulty.
    Faulty,
}

/// A byte for each processor, 1 if it is one of those that are shown.
pub(crate) fn bytes(occupancy: &Occupancy<'_>, shown: Shown) -> Vec<u8> {
    let nodes = (0..occupancy.grid().nodes()).map(NodeId);
    let is_shown = nodes.map(|node| match shown {
        Shown::Busy => occupancy.is_busy(node),
        Shown::Faulty => occupancy.is_faulty(node),
    });
    is_shown.map(u8::from).collect()
}

/// The object, to be changed. Methods that do take their arguments first: converting these may run
/// Python, and so another thread.
///
/// # Errors
///
/// When it is in use.
pub(crate) fn change<'py, T: PyClass<Frozen = False>>(
    object: &Bound<'py, T>,
) -> PyResult<PyRefMut<'py, T>> {
    object.try_borrow_mut().map_err(|_| in_use())
}

/// The object, to be read. It is not to be kept while Python runs.
///
/// # Errors
///
/// When it is in use.
pub(crate) fn read<'py, T: PyClass>(object: &Bound<'py, T>) -> PyResult<PyRef<'py, T>> {
    object.try_borrow().map_err(|_| in_use())
}

fn in_use() -> PyErr {
    misuse("it is in use, by another thread or by the strategy that is being called")
}
