//! `meshalloc.Controller`.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use meshalloc::{Block, Change, Grid, JobId, Outcome, Reason, Ticks};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use self_cell::self_cell;

use crate::allocator::{Owner, owner};
use crate::convert::{self, Extents, List, Machine, Pair, Processors, Shown};
use crate::errors::{misuse, not_done, not_served};
use crate::jobs::{self, Event};

self_cell!(
    /// A controller with its memory.
    struct Served {
        owner: Owner,
        #[covariant]
        dependent: Inner,
    }
);

type Inner<'m> = meshalloc::Controller<'m>;

/// An allocator with jobs, a queue and a scheduler.
///
/// Times are whole numbers of ticks, whose length you choose. Time does not go back.
///
/// >>> import meshalloc
/// >>> controller = meshalloc.Controller("mesh 8x8", "first-fit", "fcfs")
/// >>> controller.submit(1, (8, 6), now=0)
/// >>> controller.submit(2, (4, 4), now=5)
/// >>> controller.events()
/// [Event(job=1, at=0, what="granted", processors=48)]
/// >>> controller.release(1, now=9)
/// 48
/// >>> controller.events()
/// [Event(job=2, at=9, what="granted", processors=16)]
#[pyclass(module = "meshalloc")]
pub(crate) struct Controller {
    served: Served,
    grid: Grid,
    /// The number of the latest event that is in `events`, or was.
    known: u64,
    events: Vec<Event>,
}

#[pymethods]
impl Controller {
    /// A controller with room for `jobs` jobs, waiting and running.
    #[new]
    #[pyo3(signature = (machine, strategy, scheduler="fcfs", *, jobs=4096))]
    fn new(machine: Machine, strategy: &str, scheduler: &str, jobs: usize) -> PyResult<Self> {
        /// Jobs of a controller; more memory than a program may want.
        const JOBS_MAX: usize = 1 << 24;
        let configuration = jobs::configuration(&machine, strategy, scheduler)?;
        if !(1..=JOBS_MAX).contains(&jobs) {
            return Err(misuse(format!("jobs is {jobs}: expected 1 to {JOBS_MAX}")));
        }
        let grid = configuration.machine;
        let kind = configuration.strategy;
        let owner = owner(kind, &grid, machine.description, jobs, jobs);
        let served = Served::try_new(owner, |(storage, description)| {
            let mut memory = storage.borrow_mut().memory();
            if let Some(machine) = description {
                memory = memory.describing(machine);
            }
            Inner::new(memory, configuration)
        });
        Ok(Controller {
            served: served.map_err(|error| not_served(&grid, strategy, error))?,
            grid,
            known: 0,
            events: Vec::new(),
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
        job, shape, processors=None, *, now, rotate=true, slices=1, wait=true, estimate=None,
        lease=None, priority=0, preemptible=false, tolerate=0
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn submit(
        slf: &Bound<'_, Self>,
        job: u32,
        shape: Extents,
        processors: Processors,
        now: Ticks,
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
        convert::change(slf)?.change(&change, now).map(drop)
    }

    /// The job has ended, or no longer waits. Returns the processors that it held.
    #[pyo3(signature = (job, *, now))]
    fn release(slf: &Bound<'_, Self>, job: u32, now: Ticks) -> PyResult<u32> {
        let change = Change::Release { job: JobId(job) };
        jobs::released(&convert::change(slf)?.change(&change, now)?)
    }

    /// Lets time pass: ends the leases that end until `now`.
    #[pyo3(signature = (*, now))]
    fn advance(slf: &Bound<'_, Self>, now: Ticks) -> PyResult<()> {
        convert::change(slf)?.settle(now);
        Ok(())
    }

    /// Marks the processors of a block as faulty. Jobs that hold some of them keep running; these
    /// processors are not given away again until `clear_faulty`.
    #[pyo3(signature = (start, extent, *, now))]
    fn mark_faulty(
        slf: &Bound<'_, Self>,
        start: List<i64>,
        extent: List<i64>,
        now: Ticks,
    ) -> PyResult<()> {
        let mark = |block| Change::MarkFaulty { block };
        Controller::set_faulty(slf, &start, &extent, mark, now)
    }

    /// Marks the processors of a block as working.
    #[pyo3(signature = (start, extent, *, now))]
    fn clear_faulty(
        slf: &Bound<'_, Self>,
        start: List<i64>,
        extent: List<i64>,
        now: Ticks,
    ) -> PyResult<()> {
        let clear = |block| Change::ClearFaulty { block };
        Controller::set_faulty(slf, &start, &extent, clear, now)
    }

    /// Gives a running job that holds faulty processors other ones; an event reports them. Returns
    /// the old blocks, of which each is replaced by the new one at its index. If there is no place,
    /// nothing changes.
    #[pyo3(signature = (job, *, now))]
    fn replace(slf: &Bound<'_, Self>, job: u32, now: Ticks) -> PyResult<Vec<Pair>> {
        let mut this = convert::change(slf)?;
        let old = this.blocks(job);
        this.change(&Change::Replace { job: JobId(job) }, now)?;
        Ok(old)
    }

    /// Has a waiting job take the processors of these running ones, which wait again. Events report
    /// them and the grant. If there is no place, nothing changes.
    #[pyo3(signature = (job, victims, *, now))]
    fn preempt(slf: &Bound<'_, Self>, job: u32, victims: Vec<u32>, now: Ticks) -> PyResult<()> {
        let change = convert::preemption(job, &victims)?;
        convert::change(slf)?.change(&change, now).map(drop)
    }

    /// The events since the last call, in order. Each is returned once.
    fn events(slf: &Bound<'_, Self>) -> PyResult<Vec<Event>> {
        Ok(convert::change(slf)?.events.drain(..).collect())
    }

    /// The blocks that a job holds; none while it waits, or if there is no such job.
    fn blocks(&self, job: u32) -> Vec<Pair> {
        let view = self.served.borrow_dependent().view();
        convert::pairs(&self.grid, view.blocks(JobId(job)))
    }

    /// The blocks of each slice that a job holds: of a gang several lists. None while it waits, or
    /// if there is no such job. A strategy whose jobs get any free processors gives slices no
    /// shape; `blocks` has those of such a gang.
    ///
    /// >>> import meshalloc
    /// >>> controller = meshalloc.Controller("mesh 8x8", "first-fit")
    /// >>> controller.submit(1, (4, 4), slices=2, now=0)
    /// >>> controller.slices(1)
    /// [[((0, 0), (4, 4))], [((4, 0), (4, 4))]]
    fn slices(&self, job: u32) -> Vec<Vec<Pair>> {
        let view = self.served.borrow_dependent().view();
        let Ok(report) = view.job(JobId(job)) else {
            return Vec::new();
        };
        let blocks: Vec<_> = view.blocks(JobId(job)).collect();
        convert::slices(&self.grid, report.request.slices, &blocks)
    }

    /// Why a job waits: one of `"faults"`, `"not-its-turn"`, `"too-few-free"`, `"ring-not-free"`,
    /// `"fragmented"`, `"behind-reservation"`, `"untried"`, `"table-full"`, and of a gang
    /// `"gang-incomplete"` and `"not-searched-to-the-end"`; `None` if it runs.
    fn why(slf: &Bound<'_, Self>, job: u32) -> PyResult<Option<&'static str>> {
        let mut controller = convert::change(slf)?;
        let served = &mut controller.served;
        let report = served.with_dependent_mut(|_, controller| controller.why(JobId(job), None));
        Ok(report.map_err(not_done)?.reason.map(Reason::name))
    }

    /// The jobs, each with the number of processors that it holds: 0 while it waits.
    fn jobs(&self) -> BTreeMap<u32, u32> {
        let jobs = self.served.borrow_dependent().jobs();
        let queue = jobs.queue();
        let waiting = queue.slots().map(|slot| (queue.get(slot).id().0, 0));
        let running = jobs.running().map(|job| (job.id().0, job.processors()));
        waiting.chain(running).collect()
    }

    /// The machine, such as "mesh 8x8".
    #[getter]
    fn machine(&self) -> String {
        self.grid.to_string()
    }

    /// Free and faulty processors, waiting and running jobs, and what has happened so far.
    fn statistics(&self) -> BTreeMap<&'static str, u64> {
        jobs::statistics(&self.served.borrow_dependent().statistics())
    }

    fn __repr__(&self) -> String {
        let now = self.served.borrow_dependent().statistics();
        let (running, waiting) = (now.running, now.waiting);
        format!(
            "Controller({:?}, running={running}, waiting={waiting})",
            self.machine()
        )
    }

    /// A copy of the occupancy: a numpy array with an axis for each dimension, `True` where a
    /// processor is held or faulty.
    fn occupancy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let this = convert::read(slf)?;
        let occupancy = this.served.borrow_dependent().occupancy();
        let (grid, bytes) = (this.grid, convert::bytes(occupancy, Shown::Busy));
        drop(this);
        convert::array(&PyByteArray::new(slf.py(), &bytes), &grid)
    }
}

impl Controller {
    fn set_faulty(
        slf: &Bound<'_, Self>,
        start: &List<i64>,
        extent: &List<i64>,
        change: fn(Block) -> Change,
        now: Ticks,
    ) -> PyResult<()> {
        let mut this = convert::change(slf)?;
        let block = convert::block_of(&this.grid, start, extent)?;
        this.change(&change(block), now).map(drop)
    }

    /// Carries a change out, with all that follows from it.
    fn change(&mut self, change: &Change, now: Ticks) -> PyResult<Outcome> {
        let outcome = self
            .served
            .with_dependent_mut(|_, controller| controller.begin(change, now, None, None));
        self.settle(now);
        outcome.map_err(not_done)
    }

    /// Makes all attempts, ends the leases that end until `now`, and reads the events.
    fn settle(&mut self, now: Ticks) {
        loop {
            self.read_events();
            let goes_on = self.served.with_dependent_mut(|_, controller| {
                if controller.advance(None) {
                    return true;
                }
                let Some((ends, job)) = controller.lease_ended(now) else {
                    return false;
                };
                controller
                    .begin(&Change::EndLease { job }, ends, None, None)
                    .is_ok()
            });
            if !goes_on {
                break;
            }
        }
        self.read_events();
    }

    fn read_events(&mut self) {
        let controller = self.served.borrow_dependent();
        if controller.events() == self.known {
            return;
        }
        let view = controller.view();
        for event in view.events_since(self.known) {
            let blocks = view.blocks(event.job);
            self.events.push(Event::new(&self.grid, &event, blocks));
        }
        self.known = controller.events();
    }
}
