//! Strategies and schedulers of your own in a controller.

use std::collections::HashSet;

use meshalloc::jobs::Slot;
use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    AnyScheduler, Attempt, Configuration, ConfigureError, Controller, Description, Grid, JobId,
    Query, Request, Scheduler, SchedulerKind, ServedScheduler, ServedStrategy, Strategy,
    StrategyKind, Ticks, Trigger, Try, World,
};

use super::in_process::{InProcess, Make};
use super::{Backend, BackendError, Backends, GrowingStorage, heap_storage};

/// A job that waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Its name.
    pub job: JobId,
    /// What it asks for.
    pub request: Request,
    /// When it was submitted, in ticks.
    pub since: Ticks,
    /// Whether an attempt for it has failed since processors last became free or a waiting job was
    /// released.
    pub has_failed: bool,
}

/// A scheduler of your own: it chooses which waiting job may try.
pub trait Policy {
    /// The place in the queue of the job that may try next. The queue is in order of submission
    /// less priority. The pass ends if the answer is `None`, if the job at this place has failed,
    /// or if the queue has no such place. Called after each change and after each attempt.
    fn next(&mut self, queue: &[Waiting], now: Ticks) -> Option<usize>;
}

impl<F: FnMut(&[Waiting], Ticks) -> Option<usize>> Policy for F {
    fn next(&mut self, queue: &[Waiting], now: Ticks) -> Option<usize> {
        self(queue, now)
    }
}

/// First come, first served, as a [`Policy`].
pub fn first_come(queue: &[Waiting], _: Ticks) -> Option<usize> {
    queue.first().map(|_| 0)
}

/// A [`Policy`] as a scheduler of core: it keeps the queue as a slice, and knows which jobs failed.
///
/// ```text
///   arrival    the job joins `queue`, the end unless it has a priority
///   grant      the job leaves it
///   departure  all may try again: `queue` is made anew, without failures
/// ```
#[derive(Clone, Debug)]
pub struct Queued<P> {
    policy: P,
    queue: Vec<Waiting>,
    /// The slots of these jobs in core.
    slots: Vec<Slot>,
    /// The jobs that failed. A controller that moves to larger memory makes `queue` anew, but keeps
    /// this set.
    failed: HashSet<JobId>,
}

impl<P: Policy> Queued<P> {
    /// The scheduler of this policy.
    pub fn new(policy: P) -> Self {
        Queued {
            policy,
            queue: Vec::new(),
            slots: Vec::new(),
            failed: HashSet::new(),
        }
    }

    fn choose(&mut self, now: Ticks) -> Option<Try> {
        let place = self.policy.next(&self.queue, now)?;
        let waiting = self.queue.get(place)?;
        (!waiting.has_failed).then_some(Try::Freely(self.slots[place]))
    }

    fn read<S: Strategy>(&mut self, world: &World<'_, '_, S>) {
        let queue = world.queue();
        self.slots.clear();
        self.slots.extend(queue.slots());
        self.queue.clear();
        self.queue.extend(self.slots.iter().map(|&slot| {
            let job = queue.get(slot);
            Waiting {
                job: job.id(),
                request: *job.request(),
                since: job.submitted(),
                has_failed: self.failed.contains(&job.id()),
            }
        }));
    }
}

impl<P: Policy> Scheduler for Queued<P> {
    fn first<S: Strategy>(
        &mut self,
        world: &mut World<'_, '_, S>,
        trigger: Trigger,
    ) -> Option<Try> {
        match trigger {
            Trigger::Arrival(slot) => {
                let job = world.queue().get(slot);
                self.failed.remove(&job.id());
                let is_last = world.queue().next(slot).is_none();
                if is_last && self.queue.len() as u32 + 1 == world.queue().len() {
                    self.slots.push(slot);
                    self.queue.push(Waiting {
                        job: job.id(),
                        request: *job.request(),
                        since: job.submitted(),
                        has_failed: false,
                    });
                } else {
                    self.read(world);
                }
            }
            Trigger::Departure => {
                self.failed.clear();
                self.read(world);
            }
        }
        self.choose(world.now())
    }

    fn next<S: Strategy>(&mut self, world: &mut World<'_, '_, S>, attempt: Attempt) -> Option<Try> {
        let place = self.slots.iter().position(|&slot| slot == attempt.job)?;
        if attempt.outcome.is_ok() {
            self.slots.remove(place);
            self.queue.remove(place);
        } else {
            self.queue[place].has_failed = true;
            self.failed.insert(self.queue[place].job);
        }
        self.choose(world.now())
    }

    /// All jobs in the queue are left to try, since the policy may choose any of them.
    fn left(&self, queue: meshalloc::jobs::Queue<'_>, _: Slot) -> u32 {
        queue.len()
    }
}

impl<P: Policy + Clone> ServedScheduler for Queued<P> {
    fn anew(&self, _: SchedulerKind) -> Result<Self, ConfigureError> {
        Ok(Queued {
            policy: self.policy.clone(),
            queue: Vec::new(),
            slots: Vec::new(),
            failed: self.failed.clone(),
        })
    }
}

/// Jobs, waiting and running, for which a controller has room at first, beyond one for each
/// processor.
const ROOM: usize = 1 << 12;

/// The memory of a controller whose strategy brings its own.
fn storage(configuration: &Configuration, _: Option<&Description>, jobs: usize) -> HeapStorage {
    let machine = configuration.machine;
    let needs = Needs {
        scratch: 0,
        list: 0,
        blocks: machine.nodes() as usize,
        ..Needs::of(StrategyKind::FirstFit, &machine, 1)
    };
    HeapStorage::new(needs, jobs)
}

/// Calls `body` with a controller of this strategy and scheduler, like a [`Backends`] that has made
/// them itself. The scheduler is a [`Queued`] policy, or one of core ([`AnyScheduler::new`]).
///
/// # Errors
///
/// When the machine of the configuration is not served.
pub fn lend<S: ServedStrategy + Clone, D: ServedScheduler>(
    configuration: Configuration,
    strategy: S,
    scheduler: D,
    body: &mut dyn FnMut(&mut dyn Backend),
) -> Result<(), BackendError> {
    let mut memory = GrowingStorage::default();
    let jobs = configuration.machine.nodes() as usize + ROOM;
    let make = Make {
        storage,
        again: |old: &Controller<'_, S, D>, memory| {
            let (strategy, scheduler) = (old.strategy().clone(), old.scheduler().clone());
            Controller::with_own(memory, old.configuration(), strategy, scheduler)
        },
        largest: None,
        is_in_order: false,
        is_of_core: false,
    };
    let mut controller =
        InProcess::begin(&mut memory, jobs, configuration, None, make, |memory| {
            Controller::with_own(memory, configuration, strategy, scheduler)
        })?;
    body(&mut controller);
    Ok(())
}

/// Makes controllers with a strategy and a scheduler of your own, whatever a configuration names:
/// `strategy` and `policy` make them for a machine. The strategy itself has to follow the rules of
/// a description: requests for a number of chips reach it as they are, and the largest slice that
/// could be placed is not known. Each proposal of the strategy is checked before it takes effect.
/// Results keep the names of the scenario's strategy and scheduler, so name one strategy there and
/// label them yourself. Example: `host-sim/sim/examples/own_policies.rs`.
#[derive(Clone, Copy, Debug)]
pub struct OwnBackends<F, G> {
    /// Makes the strategy.
    pub strategy: F,
    /// Makes the scheduler.
    pub policy: G,
}

impl<S, P, F, G> Backends for OwnBackends<F, G>
where
    S: ServedStrategy + Clone,
    P: Policy + Clone,
    F: FnMut(Grid) -> S,
    G: FnMut() -> P,
{
    fn with(
        &mut self,
        configuration: Configuration,
        _: Option<&Description>,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        let strategy = (self.strategy)(configuration.machine);
        lend(configuration, strategy, Queued::new((self.policy)()), body)
    }
}

/// Makes controllers with a strategy of your own, which `strategy` makes for a machine, and the
/// scheduler that a configuration names.
#[derive(Clone, Copy, Debug)]
pub struct StrategyBackends<F> {
    /// Makes the strategy.
    pub strategy: F,
}

impl<S: ServedStrategy + Clone, F: FnMut(Grid) -> S> Backends for StrategyBackends<F> {
    fn with(
        &mut self,
        configuration: Configuration,
        _: Option<&Description>,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        let scheduler = AnyScheduler::new(configuration.scheduler);
        let scheduler = scheduler.map_err(|reason| BackendError::Configure {
            configuration,
            reason,
        })?;
        let strategy = (self.strategy)(configuration.machine);
        lend(configuration, strategy, scheduler, body)
    }
}

/// Makes controllers with the strategy that a configuration names and a scheduler of your own,
/// which `policy` makes.
#[derive(Clone, Copy, Debug)]
pub struct PolicyBackends<G> {
    /// Makes the scheduler.
    pub policy: G,
}

impl<P: Policy + Clone, G: FnMut() -> P> Backends for PolicyBackends<G> {
    fn with(
        &mut self,
        configuration: Configuration,
        description: Option<&Description>,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        let mut memory = GrowingStorage::default();
        let jobs = configuration.machine.nodes() as usize + ROOM;
        let make = Make {
            storage: |configuration, description, jobs| {
                heap_storage(
                    configuration.machine,
                    description,
                    configuration.strategy,
                    jobs,
                )
            },
            again: |old: &Controller<'_, _, Queued<P>>, memory| {
                Controller::with_scheduler(memory, old.configuration(), old.scheduler().clone())
            },
            largest: Some(|controller| controller.answer(&Query::Largest, None)),
            is_in_order: false,
            is_of_core: false,
        };
        let scheduler = Queued::new((self.policy)());
        let mut controller = InProcess::begin(
            &mut memory,
            jobs,
            configuration,
            description,
            make,
            |memory| Controller::with_scheduler(memory, configuration, scheduler),
        )?;
        body(&mut controller);
        Ok(())
    }
}
