//! Strategies and schedulers that are written in Python.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use meshalloc::{Block, Draft, Grid, IllegalProposal, NodeId, Occupancy, Refusal, Strategy, Ticks};
use meshalloc_sim::backend::own::{self, Policy};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyType};

use crate::convert::{self, Numbers};
use crate::errors::{self, misuse};

/// What a run shares with the thread that waits for it: the first exception, which ends the run.
#[derive(Default)]
pub(crate) struct Shared {
    has_failed: AtomicBool,
    error: Mutex<Option<PyErr>>,
    /// The latest proposal.
    proposal: Mutex<Option<Py<PyAny>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Whether there is an exception.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Keeps the first exception.
    pub(crate) fn fail(&self, error: PyErr) {
        lock(&self.error).get_or_insert(error);
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// The exception, if there is one.
    pub(crate) fn take(&self) -> PyResult<()> {
        self.has_failed.store(false, Ordering::Relaxed);
        lock(&self.error).take().map_or(Ok(()), Err)
    }

    /// The exception for the latest proposal, which is illegal for this reason.
    pub(crate) fn illegal(&self, py: Python<'_>, reason: &str) -> PyErr {
        let proposal = lock(&self.proposal)
            .as_ref()
            .map(|proposal| proposal.clone_ref(py));
        let shown = proposal.map(|proposal| proposal.bind(py).repr());
        errors::IllegalProposal::new_err(match shown {
            Some(Ok(shown)) => format!("{reason} (proposed: {shown})"),
            _ => reason.to_owned(),
        })
    }
}

/// What a job asks for.
///
/// >>> import meshalloc
/// >>> def propose(occupancy, request):
/// ...     print(request)
/// >>> own = meshalloc.Allocator("mesh 8x8", propose)
/// >>> own.fits((3, 2))
/// Request(shape=(3, 2), processors=6)
/// False
#[pyclass(frozen, module = "meshalloc")]
pub(crate) struct Request(meshalloc::Request);

#[pymethods]
impl Request {
    /// The extents, in the order of the request.
    #[getter]
    fn shape(&self) -> Numbers {
        Numbers(self.0.shape.extents())
    }

    /// The number of processors, 1 to the product of the extents.
    #[getter]
    fn processors(&self) -> u32 {
        self.0.processors
    }

    /// Whether the extents may be laid along the dimensions in another order.
    #[getter]
    fn may_rotate(&self) -> bool {
        self.0.may_rotate()
    }

    /// The estimated run time in ticks, if there is one.
    #[getter]
    fn estimate(&self) -> Option<u64> {
        self.0.estimate.map(Into::into)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shape = self.shape().into_pyobject(py)?;
        Ok(format!(
            "Request(shape={shape}, processors={})",
            self.0.processors
        ))
    }
}

/// A strategy written in Python.
pub(crate) struct OwnStrategy {
    propose: Py<PyAny>,
    demand: Option<Py<PyAny>>,
    machine: Grid,
    /// The read-only array that it gets.
    occupancy: Py<PyAny>,
    /// The memory of that.
    cells: PyBuffer<u8>,
    /// Whether the array shows another occupancy than the machine's.
    is_stale: bool,
    shared: Arc<Shared>,
}

impl OwnStrategy {
    /// The strategy for a machine: a function, an object with the method `propose`, or the class of
    /// such objects, of which one is made.
    ///
    /// # Errors
    ///
    /// When it is none of these, or making the object fails.
    pub(crate) fn new(
        strategy: &Bound<'_, PyAny>,
        machine: Grid,
        shared: Arc<Shared>,
    ) -> PyResult<Self> {
        let py = strategy.py();
        let object = match strategy.cast::<PyType>() {
            Ok(class) => class.call0()?,
            Err(_) => strategy.clone(),
        };
        let propose = object.getattr_opt("propose")?.unwrap_or(object.clone());
        if !propose.is_callable() {
            let expected = "expected a name, a function, or a class or object with `propose`";
            return Err(misuse(format!("strategy {}: {expected}", object.repr()?)));
        }
        let bytes = PyByteArray::new(py, &vec![0; machine.nodes() as usize]);
        let occupancy = convert::array(&bytes, &machine)?;
        occupancy.getattr("flags")?.setattr("writeable", false)?;
        if let Some(begin) = object.getattr_opt("begin")? {
            begin.call1((&occupancy,))?;
        }
        Ok(OwnStrategy {
            propose: propose.unbind(),
            demand: object.getattr_opt("demand")?.map(Bound::unbind),
            machine,
            occupancy: occupancy.unbind(),
            cells: PyBuffer::get(&bytes)?,
            is_stale: false,
            shared,
        })
    }

    /// Shows these processors of an occupancy in the array.
    fn show(&self, occupancy: &Occupancy<'_>, nodes: impl Iterator<Item = u32>) {
        Python::attach(|py| match self.cells.as_mut_slice(py) {
            Some(cells) => nodes.for_each(|node| {
                cells[node as usize].set(occupancy.is_busy(NodeId(node)).into());
            }),
            None => self
                .shared
                .fail(misuse("the array of the occupancy has lost its memory")),
        });
    }

    fn show_all(&self, occupancy: &Occupancy<'_>) {
        self.show(occupancy, 0..self.machine.nodes());
    }

    fn changed(&self, occupancy: &Occupancy<'_>, block: Block) {
        if !self.is_stale {
            self.show(occupancy, nodes(&self.machine, block));
        }
    }

    fn asked(&self, py: Python<'_>, request: &meshalloc::Request) -> PyResult<Option<Vec<Block>>> {
        let proposal = self
            .propose
            .bind(py)
            .call1((&self.occupancy, Request(*request)))?;
        if proposal.is_none() {
            return Ok(None);
        }
        let blocks = match proposal.extract::<Spans>() {
            Ok(Spans::One(start, extent)) => vec![(start, extent)],
            Ok(Spans::Several(blocks)) if !blocks.is_empty() => blocks,
            _ => {
                let expected = "expected None, a block (start, extent), or a list of blocks";
                let text = format!("the strategy proposed {}: {expected}", proposal.repr()?);
                return Err(PyTypeError::new_err(text));
            }
        };
        *lock(&self.shared.proposal) = Some(proposal.unbind());
        let blocks = (0..).zip(blocks).map(|(at, (start, extent))| {
            convert::block(&self.machine, &start, &extent).ok_or_else(|| {
                let block = Block::from_raw(0);
                let reason = IllegalProposal::Outside { at, block };
                self.shared.illegal(py, &reason.to_string())
            })
        });
        blocks.collect::<PyResult<_>>().map(Some)
    }
}

/// One block, or several.
#[derive(FromPyObject)]
enum Spans {
    One(Vec<i64>, Vec<i64>),
    Several(Vec<(Vec<i64>, Vec<i64>)>),
}

/// The processors of a block. It wraps around where the machine does.
fn nodes(machine: &Grid, block: Block) -> impl Iterator<Item = u32> {
    let (start, extent) = (machine.start(block), machine.extent(block));
    (0..machine.area(block)).map(move |place| {
        let (mut rest, mut node, mut stride) = (place, 0, 1);
        for (at, &side) in machine.sides().iter().enumerate() {
            let (side, length) = (u32::from(side), u32::from(extent[at]));
            node += (u32::from(start[at]) + rest % length) % side * stride;
            rest /= length;
            stride *= side;
        }
        node
    })
}

impl Strategy for OwnStrategy {
    fn demand(&self, request: &meshalloc::Request) -> Result<u32, Refusal> {
        let processors = request.processors;
        let demand = match &self.demand {
            None => Ok(Some(processors)),
            Some(demand) => Python::attach(|py| {
                let demand = demand.bind(py).call1((Request(*request),))?;
                demand.extract::<Option<u32>>()
            }),
        };
        match demand {
            Ok(Some(demand)) if demand <= self.machine.nodes() => Ok(demand),
            Ok(_) => Err(Refusal::NeverFits),
            Err(error) => {
                self.shared.fail(error);
                Err(Refusal::NeverFits)
            }
        }
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &meshalloc::Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        if std::mem::take(&mut self.is_stale) {
            self.show_all(occupancy);
        }
        match Python::attach(|py| self.asked(py, request)) {
            Ok(blocks) => {
                let blocks = blocks.unwrap_or_default();
                blocks.iter().for_each(|&block| draft.push(block));
                !blocks.is_empty()
            }
            Err(error) => {
                self.shared.fail(error);
                false
            }
        }
    }

    fn suppose(
        &mut self,
        supposed: &Occupancy<'_>,
        request: &meshalloc::Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        self.is_stale = true;
        let found = self.propose(supposed, request, draft);
        self.is_stale = true;
        found
    }

    fn taken(&mut self, occupancy: &Occupancy<'_>, block: Block, _: &dyn Fn(u32)) {
        self.changed(occupancy, block);
    }

    fn released(&mut self, occupancy: &Occupancy<'_>, block: Block, _: &dyn Fn(u32)) {
        self.changed(occupancy, block);
    }

    fn repaired(&mut self, occupancy: &Occupancy<'_>, block: Block, _: &dyn Fn(u32)) {
        self.changed(occupancy, block);
    }

    fn rebuild(&mut self, occupancy: &Occupancy<'_>) {
        self.show_all(occupancy);
    }
}

/// A job that waits, as a scheduler sees it.
#[pyclass(frozen, module = "meshalloc")]
pub(crate) struct Waiting(own::Waiting);

#[pymethods]
impl Waiting {
    /// Its number.
    #[getter]
    fn job(&self) -> u32 {
        self.0.job.0
    }

    /// What it asks for.
    #[getter]
    fn request(&self) -> Request {
        Request(self.0.request)
    }

    /// When it was submitted, in ticks.
    #[getter]
    fn since(&self) -> u64 {
        self.0.since
    }

    /// Whether an attempt for it has failed since processors last became free or a waiting job was
    /// released.
    #[getter]
    fn has_failed(&self) -> bool {
        self.0.has_failed
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let request = self.request().__repr__(py)?;
        Ok(format!("Waiting(job={}, request={request})", self.job()))
    }
}

/// The waiting jobs in order of submission, as a scheduler sees them: a sequence.
#[pyclass(frozen, sequence, module = "meshalloc")]
pub(crate) struct Queue(Vec<own::Waiting>);

#[pymethods]
impl Queue {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, place: usize) -> PyResult<Waiting> {
        let waiting = self.0.get(place).copied().map(Waiting);
        waiting.ok_or_else(|| PyIndexError::new_err("the queue has no such place"))
    }
}

/// A scheduler written in Python.
#[derive(Clone)]
pub(crate) struct OwnScheduler {
    /// The function.
    pub(crate) next: Arc<Py<PyAny>>,
    /// Where its exceptions go.
    pub(crate) shared: Arc<Shared>,
}

impl OwnScheduler {
    fn asked(&self, py: Python<'_>, queue: &[own::Waiting], now: Ticks) -> PyResult<Option<usize>> {
        let place = self.next.bind(py).call1((Queue(queue.to_vec()), now))?;
        match place.extract::<Option<usize>>() {
            Ok(None) => Ok(None),
            Ok(Some(place)) if place < queue.len() => Ok(Some(place)),
            _ => {
                let (shown, len) = (place.repr()?, queue.len());
                let expected = format!("expected None or a place in the queue, below {len}");
                Err(misuse(format!("the scheduler chose {shown}: {expected}")))
            }
        }
    }
}

impl Policy for OwnScheduler {
    fn next(&mut self, queue: &[own::Waiting], now: Ticks) -> Option<usize> {
        if queue.is_empty() || self.shared.has_failed() {
            return None;
        }
        Python::attach(|py| self.asked(py, queue, now)).unwrap_or_else(|error| {
            self.shared.fail(error);
            None
        })
    }
}
