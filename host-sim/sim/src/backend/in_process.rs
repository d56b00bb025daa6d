//! A controller in this process.

use std::slice::IterMut;

use meshalloc::message::Capacity;
use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Answer, AnyScheduler, AnyStrategy, Block, Change, Configuration, ConfigureError, Controller,
    Description, Error, EventKind, Grid, JobId, Memory, Outcome, Query, Request, SchedulerKind,
    ServedScheduler, ServedStrategy, StrategyKind, Ticks,
};

use super::stopwatch::Stopwatch;
use super::{Backend, BackendError, Backends, Called, OnEvent, Served};
use crate::workload::JOBS_MAX;

/// The memory that a controller of this machine, which may have a description, needs with this
/// strategy or with any other strategy at its default parameters. `jobs` is the maximum number of
/// jobs that wait and run together.
pub fn needs(
    machine: Grid,
    description: Option<&Description>,
    strategy: StrategyKind,
    jobs: usize,
) -> Needs {
    let needs = match description {
        None => Needs::of_build(&[machine], jobs).and(Needs::of(strategy, &machine, jobs)),
        Some(machine) => {
            let needs = Needs::of_described(machine, jobs);
            needs.and(Needs::described(strategy, machine, jobs))
        }
    };
    needs.with_gangs(&machine)
}

/// Memory on the heap, as much as [`needs`] says.
pub fn heap_storage(
    machine: Grid,
    description: Option<&Description>,
    strategy: StrategyKind,
    jobs: usize,
) -> HeapStorage {
    HeapStorage::new(needs(machine, description, strategy, jobs), jobs)
}

/// The memory of a storage, for a machine that may have a description.
fn memory<'m>(storage: &'m mut HeapStorage, description: Option<&'m Description>) -> Memory<'m> {
    match description {
        None => storage.memory(),
        Some(machine) => storage.memory().describing(machine),
    }
}

/// How often a table can double: from the smallest table to one for more jobs than a run has.
const DOUBLINGS: usize = 24;

/// Memory for a controller whose table grows: [`InProcess::growing`]. It is allocated when it is
/// used.
#[derive(Debug, Default)]
pub struct GrowingStorage([Option<HeapStorage>; DOUBLINGS]);

/// How controllers of these types are made and used.
#[derive(Debug)]
pub(super) struct Make<'m, S, D> {
    /// The memory for this number of jobs.
    pub(super) storage: fn(&Configuration, Option<&Description>, usize) -> HeapStorage,
    /// An empty controller in larger memory, with the policies of this one.
    pub(super) again: fn(&Controller<'m, S, D>, Memory<'m>) -> Made<'m, S, D>,
    /// The largest slice that could be placed; `None` if that is not known.
    pub(super) largest: Option<Largest<'m, S, D>>,
    /// Whether the scheduler is first come, first served of core.
    pub(super) is_in_order: bool,
    /// Whether strategy and scheduler are those of core.
    pub(super) is_of_core: bool,
}

/// Answers [`Query::Largest`].
pub(super) type Largest<'m, S, D> = fn(&mut Controller<'m, S, D>) -> Result<Answer, Error>;

/// A controller, or why its configuration is not served.
pub(super) type Made<'m, S, D> = Result<Controller<'m, S, D>, ConfigureError>;

/// A [`Controller`] in this process.
#[derive(Debug)]
pub struct InProcess<'m, S = AnyStrategy<'m>, D = AnyScheduler> {
    controller: Controller<'m, S, D>,
    make: Make<'m, S, D>,
    blocks: Vec<Block>,
    /// Places for further memories, if the table may grow.
    larger: IterMut<'m, Option<HeapStorage>>,
    description: Option<&'m Description>,
    /// The time that the latest change or requeue took, where that is measured.
    latest_seconds: Option<f64>,
}

impl<'m> InProcess<'m> {
    /// A controller in this memory; an error when it does not take the configuration.
    pub fn new(memory: Memory<'m>, configuration: Configuration) -> Result<Self, BackendError> {
        let controller = Controller::new(memory, configuration);
        Ok(InProcess {
            controller: controller.map_err(refused(configuration))?,
            make: of_core(configuration),
            blocks: Vec::new(),
            larger: IterMut::default(),
            description: None,
            latest_seconds: None,
        })
    }

    /// A controller of a machine, which may have a description, with room for this number of jobs.
    /// The room doubles with each [`Backend::make_room`].
    ///
    /// # Errors
    ///
    /// When it does not take the configuration.
    pub fn growing(
        storage: &'m mut GrowingStorage,
        jobs: usize,
        configuration: Configuration,
        description: Option<&'m Description>,
    ) -> Result<Self, BackendError> {
        let make = of_core(configuration);
        Self::begin(storage, jobs, configuration, description, make, |memory| {
            Controller::new(memory, configuration)
        })
    }
}

fn of_core<'m>(configuration: Configuration) -> Make<'m, AnyStrategy<'m>, AnyScheduler> {
    Make {
        storage: |configuration, description, jobs| {
            let Configuration {
                machine, strategy, ..
            } = *configuration;
            heap_storage(machine, description, strategy, jobs)
        },
        again: |old, memory| Controller::new(memory, old.configuration()),
        largest: Some(|controller| controller.answer(&Query::Largest, None)),
        is_in_order: configuration.scheduler == SchedulerKind::Fcfs,
        is_of_core: true,
    }
}

fn refused(configuration: Configuration) -> impl Fn(ConfigureError) -> BackendError {
    move |reason| BackendError::Configure {
        configuration,
        reason,
    }
}

impl<'m, S: ServedStrategy, D: ServedScheduler> InProcess<'m, S, D> {
    /// A controller whose table grows.
    ///
    /// # Errors
    ///
    /// When it does not take the configuration.
    pub(super) fn begin(
        storage: &'m mut GrowingStorage,
        jobs: usize,
        configuration: Configuration,
        description: Option<&'m Description>,
        make: Make<'m, S, D>,
        controller: impl FnOnce(Memory<'m>) -> Made<'m, S, D>,
    ) -> Result<Self, BackendError> {
        let [first, larger @ ..] = &mut storage.0;
        let first = first.insert((make.storage)(&configuration, description, jobs));
        let controller = controller(memory(first, description));
        Ok(InProcess {
            controller: controller.map_err(refused(configuration))?,
            make,
            blocks: Vec::new(),
            larger: larger.iter_mut(),
            description,
            latest_seconds: None,
        })
    }

    /// The controller itself.
    pub const fn controller(&self) -> &Controller<'m, S, D> {
        &self.controller
    }

    /// Whether a strategy of your own has made a proposal that is not legal. The run ends then.
    fn is_illegal(&self) -> bool {
        S::IS_CHECKED && self.controller.illegal_proposal().is_some()
    }

    /// Passes on the events after this one.
    #[inline]
    fn pass_on(&mut self, known: &mut u64, on_event: OnEvent<'_>) {
        if *known == self.controller.events() {
            return;
        }
        let view = self.controller.view();
        for event in view.events_since(*known) {
            self.blocks.clear();
            if let EventKind::Granted { .. } = event.what {
                self.blocks.extend(view.blocks(event.job));
            }
            on_event(&event, &self.blocks);
        }
        *known = self.controller.events();
    }

    /// Does the same as [`Controller::handle`] for the change that `begin` begins, but passes on
    /// the events of each scheduling pass after the pass. If times are measured, the time of
    /// passing on does not count.
    #[inline]
    fn carry_out<T>(
        &mut self,
        begin: impl FnOnce(&mut Controller<'m, S, D>) -> Result<T, Error>,
        on_event: OnEvent<'_>,
    ) -> Called<T> {
        let mut watch = self.latest_seconds.map(|_| Stopwatch::start());
        let mut known = self.controller.events();
        let outcome = begin(&mut self.controller);
        loop {
            while !self.is_illegal() && self.controller.advance(None) {}
            let mut pass_on = || self.pass_on(&mut known, on_event);
            match &mut watch {
                None => pass_on(),
                Some(watch) => watch.leave_out(pass_on),
            }
            let now = self.controller.clock();
            let Some((ends, job)) = self.controller.lease_ended(now) else {
                break;
            };
            let ended = Change::EndLease { job };
            let ended = self.controller.begin(&ended, ends, None, None);
            debug_assert!(ended.is_ok(), "the lease has ended");
        }
        self.latest_seconds = watch.map(Stopwatch::seconds);
        match self.controller.illegal_proposal() {
            Some(illegal) if S::IS_CHECKED => Err(BackendError::Illegal {
                reason: illegal.to_string(),
            }),
            _ => Ok(outcome),
        }
    }
}

impl<S: ServedStrategy, D: ServedScheduler> Backend for InProcess<'_, S, D> {
    #[inline]
    fn call(&mut self, change: &Change, now: Ticks, on_event: OnEvent<'_>) -> Called<Outcome> {
        self.carry_out(
            |controller| controller.begin(change, now, None, None),
            on_event,
        )
    }

    fn requeue(&mut self, jobs: &[JobId], now: Ticks, on_event: OnEvent<'_>) -> Called<()> {
        self.carry_out(|controller| controller.requeue(jobs, now), on_event)
    }

    fn fits(&mut self, request: &Request) -> bool {
        self.controller.fits(request)
    }

    fn requested(&self, request: &Request) -> u32 {
        self.controller.requested(request)
    }

    fn query(&mut self, query: &Query) -> Called<Answer> {
        match (query, self.make.largest) {
            (Query::Why { job }, _) => Ok(self.controller.why(*job, None).map(Answer::Why)),
            (Query::Largest, None) => Err(BackendError::NoLargest),
            (Query::Largest, Some(largest)) => Ok(largest(&mut self.controller)),
            _ => Ok(self.controller.view().answer(query)),
        }
    }

    fn capacity(&self) -> Capacity {
        self.controller.capacity()
    }

    fn is_in_order(&self) -> bool {
        self.make.is_in_order
    }

    fn served(&self) -> Option<Served> {
        let served = || Served {
            configuration: self.controller.configuration(),
            description: self.controller.view().description().copied(),
        };
        self.make.is_of_core.then(served)
    }

    /// Restores a checkpoint of the controller in twice the memory.
    fn make_room(&mut self) -> bool {
        let jobs = self.controller.capacity().jobs;
        let Some(place) = self.larger.next().filter(|_| jobs < JOBS_MAX) else {
            return false;
        };
        let configuration = self.controller.configuration();
        let description = self.description;
        let storage = (self.make.storage)(&configuration, description, 2 * jobs as usize);
        let larger =
            (self.make.again)(&self.controller, memory(place.insert(storage), description));
        let mut larger = larger.expect("a larger memory suffices, too");
        let mut restoring = larger.restore();
        self.controller
            .save(&mut |part| restoring.part(part))
            .expect("between changes there is a checkpoint, and it fits into a larger memory");
        restoring.finish().expect("a checkpoint is complete");
        self.controller = larger;
        true
    }

    fn latest_seconds(&self) -> Option<f64> {
        self.latest_seconds
    }
}

/// Makes controllers in this process, each in memory of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct InProcessBackends {
    /// Room for jobs, waiting and running together. A given room stays as it is. `None` chooses the
    /// room by the machine, and the table grows where that matters ([`Backend::make_room`]).
    pub jobs: Option<usize>,
    /// Whether the controller's time is measured, as
    /// [`SearchTime`](crate::metrics::Metric::SearchTime).
    pub timed: bool,
}

/// Room for jobs beyond one for each processor. The simulation keeps the jobs that do not fit, or
/// lets the table grow. So the table need not hold the longest queue, and a small table stays in
/// the cache.
const QUEUE_ROOM: usize = 1024;

/// Room for jobs, waiting and running together, with which a controller of this machine begins.
pub const fn room(machine: Grid) -> usize {
    machine.nodes() as usize + QUEUE_ROOM
}

impl Backends for InProcessBackends {
    fn with(
        &mut self,
        configuration: Configuration,
        description: Option<&Description>,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        let machine = configuration.machine;
        let jobs = self.jobs.unwrap_or(room(machine));
        let mut storage = GrowingStorage::default();
        let mut controller = InProcess::growing(&mut storage, jobs, configuration, description)?;
        if self.jobs.is_some() {
            controller.larger = IterMut::default();
        }
        controller.latest_seconds = self.timed.then_some(0.0);
        body(&mut controller);
        Ok(())
    }
}
