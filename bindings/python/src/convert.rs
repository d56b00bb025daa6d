//! Values of Python as values of the core, and back.

use std::path::PathBuf;

use meshalloc::{
    Block, Change, Class, Flags, Grid, JobId, NodeId, Occupancy, Request, SchedulerKind, Shape,
    Slices, StrategyKind, Ticks, Tolerance, Tuple, VICTIMS_MAX, Victims,
};
use meshalloc_sim::machine::MachineSource;
use meshalloc_sim::names;
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::False;
use pyo3::types::{PyBool, PyByteArray, PyDict, PyTuple};

use crate::errors::misuse;

/// Whole numbers, one for each dimension: a tuple in Python.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Numbers(pub(crate) Tuple);

impl<'py> IntoPyObject<'py> for Numbers {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        PyTuple::new(py, &*self.0)
    }
}

/// A block in Python: start and extent, dimension 0 first.
pub(crate) type Pair = (Numbers, Numbers);

/// A whole number of Python; a truth value is none.
pub(crate) struct Whole<T>(pub(crate) T);

impl<'a, 'py, T: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Whole<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyBool>() {
            let text = format!("{object:?} is a truth value (expected a whole number)");
            return Err(misuse(text));
        }
        T::extract(object).map(Whole).map_err(Into::into)
    }
}

/// Whole numbers in a tuple, a list, an array of numpy, or whatever else can be iterated.
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<'py, T> FromPyObject<'_, 'py> for List<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let numbers = object.try_iter()?.map(|item| {
            let Whole(number) = item?.extract::<Whole<T>>()?;
            Ok(number)
        });
        numbers.collect::<PyResult<_>>().map(List)
    }
}

/// A machine: a mesh or torus, or one whose slices follow the rules of a description.
pub(crate) struct Machine {
    /// Its processors.
    pub(crate) grid: Grid,
    /// Its rules, if it has some.
    pub(crate) description: Option<meshalloc::Description>,
}

/// How machines are named.
const MACHINES: &str = "`mesh 16x22`, `torus 8x8x16`, `mesh 8x8x16 wrap 0,2`, `4-ary 3-cube`, the \
                        sides of a mesh, `tpu-v4` or another pod, a file that describes one, \
                        or its text in lines";

/// The machine that is named like this.
///
/// # Errors
///
/// When there can be no such machine.
fn source(object: Borrowed<'_, '_, PyAny>) -> Result<MachineSource, String> {
    let expected = |reason: &dyn std::fmt::Display| format!("{reason} (expected {MACHINES})");
    let Ok(name) = object.extract::<PathBuf>() else {
        let sides = object.extract::<List<u16>>();
        let List(sides) = sides.map_err(|_| expected(&"neither a name nor sides"))?;
        let mesh = Grid::mesh(&sides).map_err(|error| expected(&error))?;
        return Ok(MachineSource::Grid(mesh));
    };
    let text = name.to_string_lossy();
    if text.contains('\n') {
        return Ok(MachineSource::Text {
            name: "description".into(),
            text: text.into_owned(),
        });
    }
    text.parse()
}

impl<'a, 'py> FromPyObject<'a, 'py> for Machine {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let read = source(object).and_then(|source| source.read());
        let (grid, described) =
            read.map_err(|reason| misuse(format!("machine {object:?}: {reason}")))?;
        let description = described.map(|described| described.description);
        Ok(Machine { grid, description })
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

/// The extents of a request: one number, or several.
pub(crate) struct Extents(Shape);

impl<'a, 'py> FromPyObject<'a, 'py> for Extents {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let one = object.extract::<Whole<u16>>().map(|extent| vec![extent.0]);
        let extents = one.or_else(|_| object.extract::<List<u16>>().map(|extents| extents.0));
        let extents = extents.map_err(|_| {
            let expected = "expected whole numbers up to 65535, one for each dimension";
            misuse(format!("shape {object:?}: {expected}"))
        })?;
        let shape = Shape::new(&extents).map(Extents);
        shape.map_err(|error| misuse(format!("shape {object:?}: {error}")))
    }
}

/// The number of processors of a request, where it is given.
pub(crate) type Processors = Option<Whole<u32>>;

/// A request for this number of slices of this shape; without an extent it is empty.
///
/// # Errors
///
/// When there is no such number of slices.
pub(crate) fn request(
    Extents(shape): Extents,
    processors: Processors,
    rotate: bool,
    slices: u32,
) -> PyResult<Request> {
    let given = Slices::new(slices);
    let slices = given.ok_or_else(|| {
        let most = Slices::MOST;
        misuse(format!("slices is {slices}: expected 1 to {most}"))
    })?;
    let request = Request::new(shape);
    let processors = match processors {
        _ if shape.extents().is_empty() => 0,
        None => request.processors,
        Some(Whole(processors)) => processors,
    };
    let flags = if rotate {
        Flags::empty()
    } else {
        Flags::FIXED_ORIENTATION
    };
    let request = request.with_processors(processors).with_flags(flags);
    Ok(request.with_slices(slices))
}

/// A class of jobs.
///
/// # Errors
///
/// In a build without priorities, if it is not the default.
pub(crate) fn class(priority: Ticks, is_preemptible: bool) -> PyResult<Class> {
    let class = Class::new(priority, is_preemptible);
    class.ok_or_else(|| misuse("this build has no priorities".to_owned()))
}

/// A tolerance of faulty processors.
///
/// # Errors
///
/// In a build without tolerance, if it is not 0.
pub(crate) fn tolerance(faulty: u8) -> PyResult<Tolerance> {
    let tolerance = Tolerance::new(faulty);
    tolerance.ok_or_else(|| misuse("this build has no tolerance".to_owned()))
}

/// The blocks of each slice of a job that holds all these.
pub(crate) fn slices(grid: &Grid, slices: Slices, blocks: &[Block]) -> Vec<Vec<Pair>> {
    let of_slice = |number| slices.blocks_of(grid, blocks.iter().copied(), number);
    let numbers = (0..slices.get()).filter(|_| !blocks.is_empty());
    numbers
        .map(|number| pairs(grid, of_slice(number)))
        .collect()
}

/// Blocks as Python has them.
pub(crate) fn pairs(grid: &Grid, blocks: impl IntoIterator<Item = Block>) -> Vec<Pair> {
    let pair = |block| (Numbers(grid.start(block)), Numbers(grid.extent(block)));
    blocks.into_iter().map(pair).collect()
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
pub(crate) fn block_of(
    grid: &Grid,
    List(start): &List<i64>,
    List(extent): &List<i64>,
) -> PyResult<Block> {
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

/// The change that has a job preempt others.
pub(crate) fn preemption(job: u32, victims: &[u32]) -> PyResult<Change> {
    let jobs: Vec<_> = victims.iter().copied().map(JobId).collect();
    let victims = Victims::new(&jobs).ok_or_else(|| {
        misuse(format!(
            "{} victims (expected at most {VICTIMS_MAX})",
            jobs.len()
        ))
    })?;
    let job = JobId(job);
    Ok(Change::Preempt { job, victims })
}
