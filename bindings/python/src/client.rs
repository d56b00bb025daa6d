//! `meshalloc.Client`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use meshalloc::message::OCCUPANCY_BYTES_MAX;
use meshalloc::{
    Answer, Block, Change, Grid, JobId, NodeId, Outcome, Query, Reason, Slices, StrategyKind, Ticks,
};
use meshalloc_firmware::client::{self, ClientError, Endpoint, Line, Options};
use meshalloc_firmware::protocol::{Greeting, Origin, ProtocolError};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::convert::{self, Extents, List, Machine, Numbers, Pair, Processors};
use crate::errors::{self, misuse, not_done};
use crate::jobs::{self, Event};

thread_local! {
    /// The exception of a signal, such as `KeyboardInterrupt`, that has interrupted an exchange of
    /// this thread.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Whether a signal raises an exception: Ctrl-C usually. Python carries signals out in its main
/// thread only.
fn is_interrupted() -> bool {
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(error) => {
            RAISED.set(Some(error));
            true
        }
    })
}

/// An open connection.
struct Connection {
    client: client::Client<Box<dyn Line + Send>>,
    /// Those that have not been returned yet.
    events: Vec<Event>,
}

impl Connection {
    fn machine(&self) -> Grid {
        self.client.machine()
    }

    /// Carries a change out, with all that follows from it.
    fn change(
        &mut self,
        change: &Change,
        at: Option<Ticks>,
    ) -> Result<Result<Outcome, meshalloc::Error>, ClientError> {
        let (grid, events) = (self.machine(), &mut self.events);
        self.client.call(change, at, &mut |event, blocks| {
            events.push(Event::new(&grid, event, blocks.iter().copied()));
        })
    }

    fn events(&mut self) -> Result<Vec<Event>, ClientError> {
        let (grid, events) = (self.machine(), &mut self.events);
        self.client.events(&mut |event, blocks| {
            events.push(Event::new(&grid, event, blocks.iter().copied()));
        })?;
        Ok(std::mem::take(events))
    }

    /// Every job, with the processors that it holds.
    fn jobs(&mut self) -> Result<Result<BTreeMap<u32, u32>, meshalloc::Error>, ClientError> {
        let (mut jobs, mut from) = (BTreeMap::new(), 0);
        loop {
            match self.client.query(&Query::Jobs { on: None, from })? {
                Ok(Answer::Jobs(list)) => {
                    jobs.extend(
                        list.jobs
                            .iter()
                            .map(|&(job, processors)| (job.0, processors)),
                    );
                    match list.next {
                        Some(next) => from = next,
                        None => return Ok(Ok(jobs)),
                    }
                }
                Ok(_) => return Ok(Ok(jobs)),
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    /// The machine, how many slices a job has, and its blocks; none if there is no such job.
    fn held(&mut self, job: JobId) -> Result<(Grid, Slices, Vec<Block>), ClientError> {
        let (slices, blocks) = match self.client.query(&Query::Job { job })? {
            Ok(Answer::Job(report)) => {
                let blocks = self.client.blocks(job, report.blocks)?;
                (report.request.slices, blocks)
            }
            _ => (Slices::ONE, Vec::new()),
        };
        Ok((self.machine(), slices, blocks))
    }

    /// A byte for each processor, 1 if it is busy, and the machine.
    fn occupancy(&mut self) -> Result<Result<(Grid, Vec<u8>), meshalloc::Error>, ClientError> {
        let mut cells = Vec::new();
        loop {
            let from = NodeId(cells.len() as u32);
            match self.client.query(&Query::Occupancy { from })? {
                Ok(Answer::Occupancy(chunk)) => {
                    let left = (chunk.nodes as usize).saturating_sub(cells.len());
                    let bits = chunk
                        .busy
                        .iter()
                        .flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1));
                    cells.extend(bits.take(left.min(8 * OCCUPANCY_BYTES_MAX)));
                    let machine = self.machine();
                    if cells.len() >= machine.nodes() as usize {
                        return Ok(Ok((machine, cells)));
                    }
                }
                Ok(_) => return Ok(Ok((self.machine(), cells))),
                Err(error) => return Ok(Err(error)),
            }
        }
    }
}

/// A board, or one in an emulator, at the end of a line: "tcp:HOST:PORT", "serial:DEVICE@BAUD" or
/// "unix:PATH".
///
/// Its methods are those of `Controller`, but times are the board's, in milliseconds. With
/// `virtual_clock=True` changes take the time `now` instead. `timeout` is the time in seconds
/// after which a frame is sent again, `tries` how often it is sent before `LineError` is raised.
/// It is then unknown whether the board has carried the change out.
///
/// Other threads go on while a method waits, and Ctrl-C ends it. In a `with` statement the line is
/// closed at the end; the board keeps its jobs.
///
///     with meshalloc.Client("serial:/dev/ttyACM0") as board:
///         board.submit(1, (5, 3))
///         print(board.events())
#[pyclass(frozen, module = "meshalloc")]
pub(crate) struct Client {
    endpoint: Endpoint,
    is_virtual: bool,
    /// `None` if it is closed.
    connection: Mutex<Option<Connection>>,
    /// The thread whose exchange is under way.
    user: Mutex<Option<ThreadId>>,
}

/// The value in a lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (endpoint, *, virtual_clock=false, timeout=1.0, tries=5))]
    fn new(
        py: Python<'_>,
        endpoint: &str,
        virtual_clock: bool,
        timeout: f64,
        tries: u32,
    ) -> PyResult<Self> {
        let endpoint: Endpoint = endpoint
            .parse()
            .map_err(|expected| misuse(format!("endpoint {endpoint:?}: {expected}")))?;
        let timeout = Duration::try_from_secs_f64(timeout).ok();
        let Some(timeout) =
            timeout.filter(|timeout| (1..=3_600_000).contains(&timeout.as_millis()))
        else {
            return Err(misuse("timeout: expected 0.001 to 3600 seconds"));
        };
        let options = Options {
            timeout,
            tries,
            baud: endpoint.baud(),
            interrupted: Some(is_interrupted),
            ..Options::default()
        };
        let connected = py.detach(|| {
            let line = endpoint.open().map_err(Failed::Open)?;
            let mut client = client::Client::connect(line, options)?;
            if virtual_clock {
                client.use_virtual_clock(true)?;
            }
            Ok(client)
        });
        let client = connected.map_err(|error: Failed| error.exception(&endpoint))?;
        let connection = Connection {
            client,
            events: Vec::new(),
        };
        Ok(Client {
            endpoint,
            is_virtual: virtual_clock,
            connection: Mutex::new(Some(connection)),
            user: Mutex::default(),
        })
    }

    /// Submits a job with a name of yours, a number that no other waiting or running job has. It
    /// runs at once or waits; with `wait=False` it runs at once or is refused. `estimate` is its
    /// expected run time, `lease` the time after which it is released, both in ticks. `slices=3`
    /// asks for three slices of the shape, all or none: a gang. With a `priority` it waits as if it
    /// had been submitted this number of ticks earlier. A `preemptible` job may be interrupted for
    /// one of a higher priority. With `tolerate=1` each slice may have one faulty processor, if it
    /// has no other place.
    #[pyo3(signature = (
        job, shape, processors=None, *, now=None, rotate=true, slices=1, wait=true, estimate=None,
        lease=None, priority=0, preemptible=false, tolerate=0
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn submit(
        &self,
        py: Python<'_>,
        job: u32,
        shape: Extents,
        processors: Processors,
        now: Option<Ticks>,
        rotate: bool,
        slices: u32,
        wait: bool,
        estimate: Option<NonZeroU64>,
        lease: Option<NonZeroU64>,
        priority: Ticks,
        preemptible: bool,
        tolerate: u8,
    ) -> PyResult<()> {
        let request = convert::request(shape, processors, rotate, slices)?;
        let request = request.with_class(convert::class(priority, preemptible)?);
        let request = request.with_tolerance(convert::tolerance(tolerate)?);
        let change = jobs::submit(job, request, wait, estimate, lease);
        self.change(py, &change, now).map(drop)
    }

    /// The job has ended, or no longer waits. Returns the processors that it held.
    #[pyo3(signature = (job, *, now=None))]
    fn release(&self, py: Python<'_>, job: u32, now: Option<Ticks>) -> PyResult<u32> {
        let change = Change::Release { job: JobId(job) };
        jobs::released(&self.change(py, &change, now)?)
    }

    /// Marks the processors of a block as faulty. Jobs that hold some of them keep running; these
    /// processors are not given away again until `clear_faulty`.
    #[pyo3(signature = (start, extent, *, now=None))]
    fn mark_faulty(
        &self,
        py: Python<'_>,
        start: List<i64>,
        extent: List<i64>,
        now: Option<Ticks>,
    ) -> PyResult<()> {
        let mark = |block| Change::MarkFaulty { block };
        self.set_faulty(py, &start, &extent, mark, now)
    }

    /// Marks the processors of a block as working.
    #[pyo3(signature = (start, extent, *, now=None))]
    fn clear_faulty(
        &self,
        py: Python<'_>,
        start: List<i64>,
        extent: List<i64>,
        now: Option<Ticks>,
    ) -> PyResult<()> {
        let clear = |block| Change::ClearFaulty { block };
        self.set_faulty(py, &start, &extent, clear, now)
    }

    /// Gives a running job that holds faulty processors other ones; an event reports them. Returns
    /// the old blocks, of which each is replaced by the new one at its index. If there is no place,
    /// nothing changes.
    #[pyo3(signature = (job, *, now=None))]
    fn replace(&self, py: Python<'_>, job: u32, now: Option<Ticks>) -> PyResult<Vec<Pair>> {
        let old = self.blocks(py, job)?;
        self.change(py, &Change::Replace { job: JobId(job) }, now)?;
        Ok(old)
    }

    /// Has a waiting job take the processors of these running ones, which wait again. Events report
    /// them and the grant. If there is no place, nothing changes.
    #[pyo3(signature = (job, victims, *, now=None))]
    fn preempt(
        &self,
        py: Python<'_>,
        job: u32,
        victims: Vec<u32>,
        now: Option<Ticks>,
    ) -> PyResult<()> {
        self.change(py, &convert::preemption(job, &victims)?, now)
            .map(drop)
    }

    /// Has the board serve another machine, or in another way. It may have no job then.
    #[pyo3(signature = (machine, strategy, scheduler="fcfs", *, now=None))]
    fn configure(
        &self,
        py: Python<'_>,
        machine: Machine,
        strategy: &str,
        scheduler: &str,
        now: Option<Ticks>,
    ) -> PyResult<()> {
        if machine.description.is_some() {
            return Err(misuse("a board serves no pods (expected a mesh or torus)"));
        }
        let configuration = jobs::configuration(&machine, strategy, scheduler)?;
        self.change(py, &Change::Configure(configuration), now)
            .map(drop)
    }

    /// Has the board forget all jobs and faults.
    #[pyo3(signature = (*, now=None))]
    fn reset(&self, py: Python<'_>, now: Option<Ticks>) -> PyResult<()> {
        self.change(py, &Change::Reset, now).map(drop)
    }

    /// The events since the last call, in order, also those of other clients' jobs. Each is
    /// returned once.
    fn events(&self, py: Python<'_>) -> PyResult<Vec<Event>> {
        self.with(py, Connection::events)
    }

    /// The blocks that a job holds; none while it waits, or if there is no such job.
    fn blocks(&self, py: Python<'_>, job: u32) -> PyResult<Vec<Pair>> {
        let (machine, _, blocks) = self.with(py, |connection| connection.held(JobId(job)))?;
        Ok(convert::pairs(&machine, blocks))
    }

    /// The blocks of each slice that a job holds, as `Controller.slices` has them.
    fn slices(&self, py: Python<'_>, job: u32) -> PyResult<Vec<Vec<Pair>>> {
        let (machine, slices, blocks) = self.with(py, |connection| connection.held(JobId(job)))?;
        Ok(convert::slices(&machine, slices, &blocks))
    }

    /// The jobs on the board, each with the number of processors that it holds: 0 while it waits.
    fn jobs(&self, py: Python<'_>) -> PyResult<BTreeMap<u32, u32>> {
        self.with(py, Connection::jobs)?.map_err(not_done)
    }

    /// Free and faulty processors, waiting and running jobs, and what has happened so far.
    fn statistics(&self, py: Python<'_>) -> PyResult<BTreeMap<&'static str, u64>> {
        match self.query(py, Query::Statistics)? {
            Answer::Statistics(now) => Ok(jobs::statistics(&now)),
            other => Err(odd(&other)),
        }
    }

    /// The processors of the largest request that the board could place now, and its shape; `None`
    /// for the shape if the strategy gives processors without one.
    fn largest(&self, py: Python<'_>) -> PyResult<(u32, Option<Numbers>)> {
        match self.query(py, Query::Largest)? {
            Answer::Largest(largest) => {
                let shape = largest.shape.map(|shape| Numbers(shape.extents()));
                Ok((largest.processors, shape))
            }
            other => Err(odd(&other)),
        }
    }

    /// Why a job waits, as `Controller.why` says it; `None` if it runs.
    fn why(&self, py: Python<'_>, job: u32) -> PyResult<Option<&'static str>> {
        match self.query(py, Query::Why { job: JobId(job) })? {
            Answer::Why(report) => Ok(report.reason.map(Reason::name)),
            other => Err(odd(&other)),
        }
    }

    /// A copy of the occupancy: a numpy array with an axis for each dimension, `True` where a
    /// processor is held or faulty.
    fn occupancy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let occupancy = self.with(py, Connection::occupancy)?;
        let (grid, bytes) = occupancy.map_err(not_done)?;
        convert::array(&PyByteArray::new(py, &bytes), &grid)
    }

    /// The machine that the board serves, such as "mesh 8x8".
    #[getter]
    fn machine(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |connection| Ok(connection.machine().to_string()))
    }

    /// The names of the strategies that the board's program has.
    #[getter]
    fn strategies(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        let names = |greeting: &Greeting| greeting.strategies().map(StrategyKind::name).collect();
        self.with(py, |connection| Ok(names(connection.client.greeting())))
    }

    /// Closes the line. The board keeps its jobs.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let is_open = self.lock(py)?.is_some();
        if is_open && self.is_virtual {
            // The board's own clock goes on.
            self.with(py, |connection| connection.client.use_virtual_clock(false))?;
        }
        self.lock(py)?.take();
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind, error, trace))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Bound<'_, PyAny>,
        error: Bound<'_, PyAny>,
        trace: Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let _ = (error, trace);
        let closed = self.close(py);
        // The exception of the `with` statement says more than one that follows from it.
        if kind.is_none() { closed } else { Ok(()) }
    }

    fn __repr__(&self) -> String {
        format!("Client(\"{}\")", self.endpoint)
    }
}

impl Client {
    /// The connection, for this thread alone. Other threads go on while it waits.
    ///
    /// # Errors
    ///
    /// When this thread has an exchange under way: a signal has called Python in the middle of it.
    fn lock<'a>(&'a self, py: Python<'_>) -> PyResult<MutexGuard<'a, Option<Connection>>> {
        loop {
            match self.connection.try_lock() {
                Ok(connection) => return Ok(connection),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
            if *lock(&self.user) == Some(thread::current().id()) {
                return Err(misuse("the client is in use by this thread"));
            }
            py.detach(|| thread::sleep(Duration::from_millis(1)));
            py.check_signals()?;
        }
    }

    /// Does something with the connection, while other threads go on.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&mut Connection) -> Result<T, ClientError> + Send,
    ) -> PyResult<T> {
        let mut guard = self.lock(py)?;
        let Some(connection) = &mut *guard else {
            return Err(misuse("the client is closed"));
        };
        *lock(&self.user) = Some(thread::current().id());
        let result = py.detach(|| body(connection));
        *lock(&self.user) = None;
        drop(guard);
        result.map_err(|error| Failed::Exchange(error).exception(&self.endpoint))
    }

    /// Marks a block of the board's machine.
    fn set_faulty(
        &self,
        py: Python<'_>,
        start: &List<i64>,
        extent: &List<i64>,
        change: fn(Block) -> Change,
        now: Option<Ticks>,
    ) -> PyResult<()> {
        let grid = self.with(py, |connection| Ok(connection.machine()))?;
        let block = convert::block_of(&grid, start, extent)?;
        self.change(py, &change(block), now).map(drop)
    }

    fn change(&self, py: Python<'_>, change: &Change, now: Option<Ticks>) -> PyResult<Outcome> {
        if now.is_some() != self.is_virtual {
            let text = if self.is_virtual {
                "`now` is missing: the client has a virtual clock"
            } else {
                "`now` is given: expected a client with `virtual_clock=True`"
            };
            return Err(misuse(text));
        }
        self.with(py, |connection| connection.change(change, now))?
            .map_err(not_done)
    }

    fn query(&self, py: Python<'_>, query: Query) -> PyResult<Answer> {
        self.with(py, |connection| connection.client.query(&query))?
            .map_err(not_done)
    }
}

/// An answer to another query. The client has checked that it is none.
fn odd(answer: &Answer) -> PyErr {
    errors::LineError::new_err(format!("unexpected answer: {answer:?}"))
}

/// Why there is no answer.
enum Failed {
    Open(String),
    Exchange(ClientError),
}

impl From<ClientError> for Failed {
    fn from(error: ClientError) -> Self {
        Failed::Exchange(error)
    }
}

impl Failed {
    fn exception(self, endpoint: &Endpoint) -> PyErr {
        match self {
            Failed::Exchange(ClientError::Interrupted) => RAISED
                .take()
                .unwrap_or_else(|| errors::LineError::new_err("interrupted")),
            Failed::Exchange(ClientError::ControllerReset { origin }) => {
                let text = format!("{endpoint}: {}", ClientError::ControllerReset { origin });
                let keeps_jobs = matches!(origin, Origin::Restored { .. });
                errors::ControllerReset::new_err((text, keeps_jobs))
            }
            Failed::Exchange(
                error @ ClientError::Refused {
                    error: ProtocolError::LeasesRun,
                    ..
                },
            ) => misuse(format!("{endpoint}: {error}")),
            Failed::Exchange(error) => errors::LineError::new_err(format!("{endpoint}: {error}")),
            Failed::Open(reason) => errors::LineError::new_err(format!("{endpoint}: {reason}")),
        }
    }
}
