//! Strategies and schedulers that are written in Python.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use meshalloc::{
    Block, Draft, Grid, IllegalProposal, NodeId, Occupancy, OccupancyEvent, Refusal,
    ServedStrategy, Site, Strategy, Ticks,
};
use meshalloc_sim::backend::own::{self, Policy};
use meshalloc_sim::workload::TimeUnit;
use pyo3::IntoPyObjectExt;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PySlice, PyTuple, PyType};

use crate::convert::{self, List, Numbers};
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
#[pyclass(frozen, eq, hash, skip_from_py_object, module = "meshalloc")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Request {
    inner: meshalloc::Request,
    unit: TimeUnit,
}

#[pymethods]
impl Request {
    /// The extents, in the order of the request.
    #[getter]
    fn shape(&self) -> Numbers {
        Numbers(self.inner.shape.extents())
    }

    /// The number of slices: more than one for a gang. A strategy proposes one slice at a time.
    #[getter]
    fn slices(&self) -> u32 {
        self.inner.slices()
    }

    /// The number of processors of a slice, 1 to the product of the extents.
    #[getter]
    fn processors(&self) -> u32 {
        self.inner.processors
    }

    /// Whether the extents may be laid along the dimensions in another order.
    #[getter]
    fn may_rotate(&self) -> bool {
        self.inner.may_rotate()
    }

    /// The estimated run time in seconds (cycles where jobs send messages), if there is one.
    #[getter]
    fn estimate(&self) -> Option<f64> {
        let ticks = self.inner.estimate?;
        Some(self.unit.of(ticks.get()))
    }

    /// The head start in the queue in seconds (cycles where jobs send messages).
    #[getter]
    fn priority(&self) -> f64 {
        self.unit.of(self.inner.class.priority())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (shape, processors) = (self.shape().into_pyobject(py)?, self.processors());
        let slices = match self.slices() {
            1 => String::new(),
            slices => format!(", slices={slices}"),
        };
        Ok(format!(
            "Request(shape={shape}, processors={processors}{slices})"
        ))
    }
}

/// A strategy written in Python. Copies share its object.
#[derive(Clone)]
pub(crate) struct OwnStrategy {
    propose: Arc<Py<PyAny>>,
    demand: Option<Arc<Py<PyAny>>>,
    machine: Grid,
    /// That of the estimates.
    unit: TimeUnit,
    /// The read-only array that it gets.
    occupancy: Arc<Py<PyAny>>,
    /// The memory of that.
    cells: Arc<PyBuffer<u8>>,
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
        unit: TimeUnit,
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
            propose: propose.unbind().into(),
            demand: object
                .getattr_opt("demand")?
                .map(|demand| demand.unbind().into()),
            machine,
            unit,
            occupancy: occupancy.unbind().into(),
            cells: PyBuffer::get(&bytes)?.into(),
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

    fn shown(&self, request: &meshalloc::Request) -> Request {
        let (inner, unit) = (*request, self.unit);
        Request { inner, unit }
    }

    fn asked(&self, py: Python<'_>, request: &meshalloc::Request) -> PyResult<Option<Vec<Block>>> {
        let arguments = (&*self.occupancy, self.shown(request));
        let proposal = self.propose.bind(py).call1(arguments)?;
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
        let blocks = (0..).zip(blocks).map(|(at, (List(start), List(extent)))| {
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
    One(List<i64>, List<i64>),
    Several(Vec<(List<i64>, List<i64>)>),
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

impl ServedStrategy for OwnStrategy {}

impl Strategy for OwnStrategy {
    fn demand(&self, _: &Grid, request: &meshalloc::Request) -> Result<u32, Refusal> {
        let processors = request.processors;
        let demand = match &self.demand {
            None => Ok(Some(processors)),
            Some(demand) => Python::attach(|py| {
                let demand = demand.bind(py).call1((self.shown(request),))?;
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
        site: &Site<'_>,
        request: &meshalloc::Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        if self.shared.has_failed() {
            return false;
        }
        if std::mem::replace(&mut self.is_stale, site.is_supposed()) || site.is_supposed() {
            self.show_all(site.occupancy);
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

    fn changed(&mut self, occupancy: &Occupancy<'_>, event: OccupancyEvent, _: &dyn Fn()) {
        match event {
            OccupancyEvent::Reset => self.show_all(occupancy),
            OccupancyEvent::Taken(block)
            | OccupancyEvent::Released(block)
            | OccupancyEvent::Repaired(block)
                if !self.is_stale =>
            {
                self.show(occupancy, nodes(&self.machine, block));
            }
            _ => {}
        }
    }
}

/// A job that waits, as a scheduler sees it.
#[pyclass(frozen, eq, hash, skip_from_py_object, module = "meshalloc")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Waiting {
    job: u32,
    request: Request,
    since: Ticks,
    has_failed: bool,
}

#[pymethods]
impl Waiting {
    /// Its number.
    #[getter]
    fn job(&self) -> u32 {
        self.job
    }

    /// What it asks for.
    #[getter]
    fn request(&self) -> Request {
        self.request
    }

    /// When it was submitted, in seconds (cycles where jobs send messages).
    #[getter]
    fn since(&self) -> f64 {
        self.request.unit.of(self.since)
    }

    /// Whether an attempt for it has failed since processors last became free or a waiting job was
    /// released.
    #[getter]
    fn has_failed(&self) -> bool {
        self.has_failed
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let request = self.request().__repr__(py)?;
        Ok(format!("Waiting(job={}, request={request})", self.job()))
    }
}

/// The waiting jobs in order of submission, as a scheduler sees them: a sequence.
#[pyclass(frozen, sequence, module = "meshalloc")]
pub(crate) struct Queue {
    jobs: Vec<own::Waiting>,
    unit: TimeUnit,
}

impl Queue {
    fn waiting(&self, job: &own::Waiting) -> Waiting {
        let (inner, unit) = (job.request, self.unit);
        Waiting {
            job: job.job.0,
            request: Request { inner, unit },
            since: job.since,
            has_failed: job.has_failed,
        }
    }
}

/// A place in a queue, or several.
#[derive(FromPyObject)]
enum Places<'py> {
    One(isize),
    Several(Bound<'py, PySlice>),
}

#[pymethods]
impl Queue {
    fn __len__(&self) -> usize {
        self.jobs.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        places: Places<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let len = self.jobs.len() as isize;
        match places {
            Places::One(place) => {
                let place = if place < 0 { place + len } else { place };
                let job = usize::try_from(place).ok();
                match job.and_then(|place| self.jobs.get(place)) {
                    Some(job) => self.waiting(job).into_bound_py_any(py),
                    None => Err(PyIndexError::new_err("the queue has no such place")),
                }
            }
            Places::Several(slice) => {
                let slice = slice.indices(len)?;
                let place = |at| (slice.start + at * slice.step) as usize;
                let jobs = (0..slice.slicelength as isize).map(|at| &self.jobs[place(at)]);
                PyTuple::new(py, jobs.map(|job| self.waiting(job)).collect::<Vec<_>>())?
                    .into_bound_py_any(py)
            }
        }
    }

    /// The first place of this job from `start` on and before `stop`.
    #[pyo3(signature = (job, start=0, stop=isize::MAX))]
    fn index(&self, job: &Waiting, start: isize, stop: isize) -> PyResult<usize> {
        let len = self.jobs.len() as isize;
        let from_end = |place: isize| if place < 0 { place + len } else { place };
        let places = from_end(start).max(0)..from_end(stop).min(len);
        let mut places = places.map(|place| place as usize);
        let found = places.find(|&place| self.waiting(&self.jobs[place]) == *job);
        found.ok_or_else(|| PyValueError::new_err("the queue has no such job"))
    }

    /// How often the queue has this job: once or not at all.
    fn count(&self, job: &Waiting) -> usize {
        let equal = self.jobs.iter().filter(|other| self.waiting(other) == *job);
        equal.count()
    }

    fn __repr__(&self) -> String {
        let jobs: Vec<_> = self.jobs.iter().map(|job| job.job.0.to_string()).collect();
        format!("Queue(jobs=[{}])", jobs.join(", "))
    }
}

/// A scheduler written in Python.
#[derive(Clone)]
pub(crate) struct OwnScheduler {
    /// The function.
    pub(crate) next: Arc<Py<PyAny>>,
    /// The unit of times.
    pub(crate) unit: TimeUnit,
    /// Where its exceptions go.
    pub(crate) shared: Arc<Shared>,
}

impl OwnScheduler {
    fn asked(&self, py: Python<'_>, queue: &[own::Waiting], now: Ticks) -> PyResult<Option<usize>> {
        let (jobs, unit) = (queue.to_vec(), self.unit);
        let next = self.next.bind(py);
        let place = next.call1((Queue { jobs, unit }, unit.of(now)))?;
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
