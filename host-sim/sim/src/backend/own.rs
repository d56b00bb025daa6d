//! A controller with a strategy and a scheduler of your own.

use std::collections::HashMap;

use meshalloc::message::{Capacity, LargestReport};
use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    AllocateError, Allocation, Allocator, Answer, Block, Change, Configuration, ConfigureError,
    Error, Event, FaultReport, Grid, Happened, Holds, JobId, Machine, Outcome, Query, Refusal,
    Request, Strategy, StrategyKind, Ticks,
};

use super::{Backend, BackendError, Backends, OnEvent};
use crate::workload::JOBS_MAX;

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
    attempts: u32,
    misses: u32,
}

/// A scheduler of your own: it chooses which waiting job may try.
pub trait Policy {
    /// The place in the queue, which is in order of submission, of the job that may try next;
    /// `None`, or a place whose job has failed or of which the queue has no job, ends the pass.
    /// Called after each change and after each attempt.
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

/// Jobs, waiting and running, for which a controller has room at first.
const ROOM: u32 = 1 << 12;

#[derive(Debug)]
struct Running {
    /// The job as it waited.
    job: Waiting,
    /// The number of its grant.
    event: u64,
    allocation: Allocation,
}

/// What is known of a strategy of core.
#[derive(Clone, Copy, Debug)]
struct OfCore<'m, S> {
    holds: Holds,
    largest: fn(&mut Allocator<'m, S>) -> LargestReport,
}

/// A controller whose strategy and scheduler are not of the [`meshalloc`] crate.
#[derive(Debug)]
struct Own<'m, S, P> {
    allocator: Allocator<'m, S>,
    policy: P,
    queue: Vec<Waiting>,
    running: HashMap<JobId, Running>,
    /// `None`: the strategy is not of core.
    of_core: Option<OfCore<'m, S>>,
    events: u64,
    room: u32,
    blocks: Vec<Block>,
}

impl<S: Strategy, P: Policy> Own<'_, S, P> {
    fn submit(&mut self, job: JobId, request: Request, now: Ticks) -> Result<(), Refusal> {
        self.allocator.demand(&request)?;
        if self.queue.len() + self.running.len() >= self.room as usize {
            return Err(Refusal::TableFull);
        }
        self.queue.push(Waiting {
            job,
            request,
            since: now,
            has_failed: false,
            attempts: 0,
            misses: 0,
        });
        Ok(())
    }

    /// The processors of a job that is released.
    fn release(&mut self, job: JobId) -> Option<u32> {
        if let Some(place) = self.queue.iter().position(|waiting| waiting.job == job) {
            self.queue.remove(place);
            return Some(0);
        }
        let running = self.running.remove(&job)?;
        self.allocator.release(running.allocation).ok()
    }

    fn set_faulty(&mut self, block: Block, is_faulty: bool) -> FaultReport {
        let grid = *self.allocator.occupancy().grid();
        let before = self.allocator.occupancy().free();
        let changed = match is_faulty {
            true => self.allocator.mark_faulty(block),
            false => self.allocator.clear_faulty(block),
        };
        if self.allocator.occupancy().free() > before {
            self.forget_failures();
        }
        let is_on = |running: &&Running| {
            let mut held = self
                .allocator
                .blocks(&running.allocation)
                .into_iter()
                .flatten();
            held.any(|held| grid.overlap(held, block))
        };
        let on = || self.running.values().filter(is_on);
        let first = on().min_by_key(|running| running.event);
        FaultReport {
            changed,
            jobs: on().count() as u32,
            first: first.map(|running| running.job.job),
        }
    }

    /// Jobs that failed may try again.
    fn forget_failures(&mut self) {
        for waiting in &mut self.queue {
            waiting.has_failed = false;
        }
    }

    fn pass(&mut self, now: Ticks, on_event: OnEvent<'_>) -> Result<(), BackendError> {
        while let Some(place) = self.policy.next(&self.queue, now)
            && let Some(waiting) = self.queue.get_mut(place)
            && !waiting.has_failed
        {
            waiting.attempts += 1;
            let request = waiting.request;
            let wants = requested(self.of_core.as_ref(), &self.allocator, &request);
            let is_valid = self.allocator.occupancy().free() >= wants;
            match self.allocator.allocate_checked(&request) {
                Ok(allocation) => {
                    let waiting = self.queue.remove(place);
                    self.grant(waiting, allocation, now, on_event);
                }
                Err(AllocateError::Refused(_)) => {
                    waiting.has_failed = true;
                    waiting.misses += u32::from(is_valid);
                }
                Err(reason) => {
                    let reason = reason.to_string();
                    return Err(BackendError::Illegal { reason });
                }
            }
        }
        Ok(())
    }

    fn grant(
        &mut self,
        waiting: Waiting,
        allocation: Allocation,
        now: Ticks,
        on_event: OnEvent<'_>,
    ) {
        self.blocks.clear();
        let blocks = self.allocator.blocks(&allocation);
        self.blocks.extend(blocks.into_iter().flatten());
        let processors = self.allocator.processors(&allocation);
        self.events += 1;
        let running = Running {
            job: waiting,
            event: self.events,
            allocation,
        };
        self.running.insert(waiting.job, running);
        let event = Event {
            number: self.events,
            job: waiting.job,
            at: now,
            processors: processors.unwrap_or_default(),
            what: Happened::Granted {
                attempts: waiting.attempts,
                misses: waiting.misses,
                blocks_total: self.blocks.len() as u32,
                block: self.blocks[0],
            },
        };
        on_event(&event, &self.blocks);
    }
}

impl<S: Strategy, P: Policy> Backend for Own<'_, S, P> {
    fn call(
        &mut self,
        change: &Change,
        now: Ticks,
        on_event: OnEvent<'_>,
    ) -> Result<Result<Outcome, Error>, BackendError> {
        let outcome = match *change {
            Change::Submit {
                job,
                request,
                lease: None,
            } => match self.submit(job, request, now) {
                Ok(()) => Outcome::Done,
                Err(refusal) => return Ok(Err(Error::Refused(refusal))),
            },
            Change::Release { job } => match self.release(job) {
                Some(processors) => {
                    self.forget_failures();
                    Outcome::Released { processors }
                }
                None => return Ok(Err(Error::UnknownJob)),
            },
            Change::MarkFaulty { block } => Outcome::Faults(self.set_faulty(block, true)),
            Change::ClearFaulty { block } => Outcome::Faults(self.set_faulty(block, false)),
            _ => {
                let change = format!("{change:?}");
                return Err(BackendError::Unsupported { change });
            }
        };
        self.pass(now, on_event)?;
        Ok(Ok(outcome))
    }

    fn requeue(
        &mut self,
        jobs: &[JobId],
        now: Ticks,
        on_event: OnEvent<'_>,
    ) -> Result<Result<(), Error>, BackendError> {
        if !jobs.iter().all(|job| self.running.contains_key(job)) {
            return Ok(Err(Error::UnknownJob));
        }
        for job in jobs {
            let Some(Running {
                job, allocation, ..
            }) = self.running.remove(job)
            else {
                continue;
            };
            let released = self.allocator.release(allocation);
            debug_assert!(released.is_ok(), "the allocation is the allocator's own");
            let key = |waiting: &Waiting| (waiting.since, waiting.job);
            let later = self.queue.iter().position(|other| key(other) > key(&job));
            self.queue.insert(later.unwrap_or(self.queue.len()), job);
        }
        self.forget_failures();
        self.pass(now, on_event)?;
        Ok(Ok(()))
    }

    fn fits(&mut self, request: &Request) -> bool {
        self.allocator.fits(request)
    }

    fn requested(&self, request: &Request) -> u32 {
        requested(self.of_core.as_ref(), &self.allocator, request)
    }

    fn query(&mut self, query: &Query) -> Result<Result<Answer, Error>, BackendError> {
        match (query, &self.of_core) {
            (Query::Largest, Some(of_core)) => {
                Ok(Ok(Answer::Largest((of_core.largest)(&mut self.allocator))))
            }
            (Query::Largest, None) => Err(BackendError::NoLargest),
            _ => Err(BackendError::NoQueries),
        }
    }

    fn capacity(&self) -> Capacity {
        let grid = self.allocator.occupancy().grid();
        let needs = needs(*grid);
        Capacity {
            words: needs.words as u32,
            word_bits: usize::BITS as u8,
            jobs: self.room,
            blocks: needs.blocks as u32,
            list: 0,
        }
    }

    fn is_in_order(&self) -> bool {
        false
    }

    fn make_room(&mut self) -> bool {
        let has_more = self.room < JOBS_MAX;
        self.room = self.room.saturating_mul(2).min(JOBS_MAX);
        has_more
    }
}

/// The processors that must be free for an attempt to be valid. For a strategy that is not of core
/// these are the sides of the request, or fewer if the strategy takes fewer.
fn requested<S: Strategy>(
    of_core: Option<&OfCore<'_, S>>,
    allocator: &Allocator<'_, S>,
    request: &Request,
) -> u32 {
    match of_core {
        Some(of_core) => of_core.holds.requested(request),
        None => {
            let named = Holds::OneBlock.requested(request);
            allocator
                .demand(request)
                .map_or(named, |demand| demand.min(named))
        }
    }
}

/// What an allocator needs whose strategy brings its own memory.
fn needs(machine: Grid) -> Needs {
    Needs {
        scratch: 0,
        list: 0,
        blocks: machine.nodes() as usize,
        ..Needs::of(StrategyKind::FirstFit, &machine, 1)
    }
}

/// Calls `body` with a controller of this strategy and scheduler, as a [`Backends`] does that has
/// made them itself; an error when the machine of the configuration is not served.
pub fn lend<S: Strategy, P: Policy>(
    configuration: Configuration,
    strategy: S,
    policy: P,
    body: &mut dyn FnMut(&mut dyn Backend),
) -> Result<(), BackendError> {
    let machine = configuration.machine;
    let mut storage = HeapStorage::new(needs(machine), 0);
    let allocator = Allocator::with_strategy(storage.allocator_memory(), machine, strategy);
    lend_allocator(configuration, None, allocator, policy, body)
}

fn lend_allocator<'m, S: Strategy, P: Policy>(
    configuration: Configuration,
    of_core: Option<OfCore<'m, S>>,
    allocator: Result<Allocator<'m, S>, ConfigureError>,
    policy: P,
    body: &mut dyn FnMut(&mut dyn Backend),
) -> Result<(), BackendError> {
    body(&mut Own {
        allocator: allocator.map_err(|reason| BackendError::Configure {
            configuration,
            reason,
        })?,
        policy,
        queue: Vec::new(),
        running: HashMap::new(),
        of_core,
        events: 0,
        room: configuration.machine.nodes() + ROOM,
        blocks: Vec::new(),
    });
    Ok(())
}

/// Makes controllers with a strategy and a scheduler of your own, whatever a configuration names:
/// `strategy` and `policy` make them for a machine. The rules of a description are the strategy's
/// business: requests for a number of chips reach it as they are, and the largest slice that could
/// be placed is not known. Each proposal of the strategy is checked before it takes effect. Results
/// keep the names of the scenario's strategy and scheduler, so name one strategy there and label
/// them yourself. Example: `host-sim/sim/examples/own_policies.rs`.
#[derive(Clone, Copy, Debug)]
pub struct OwnBackends<F, G> {
    /// Makes the strategy.
    pub strategy: F,
    /// Makes the scheduler.
    pub policy: G,
}

impl<S: Strategy, P: Policy, F: FnMut(Grid) -> S, G: FnMut() -> P> Backends for OwnBackends<F, G> {
    fn with(
        &mut self,
        configuration: Configuration,
        _: Option<&Machine>,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        let strategy = (self.strategy)(configuration.machine);
        lend(configuration, strategy, (self.policy)(), body)
    }
}

/// Makes controllers with the strategy that a configuration names and a scheduler of your own,
/// which `policy` makes. Strategies that look ahead see no estimates of running jobs.
#[derive(Clone, Copy, Debug)]
pub struct PolicyBackends<G> {
    /// Makes the scheduler.
    pub policy: G,
}

impl<P: Policy, G: FnMut() -> P> Backends for PolicyBackends<G> {
    fn with(
        &mut self,
        configuration: Configuration,
        description: Option<&Machine>,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        let Configuration {
            machine, strategy, ..
        } = configuration;
        // A job that runs has a processor at least.
        let jobs = machine.nodes() as usize;
        let needs = match description {
            None => Needs::of(strategy, &machine, jobs),
            Some(machine) => Needs::described(strategy, machine, jobs),
        };
        let mut storage = HeapStorage::new(needs, 0);
        let mut memory = storage.allocator_memory();
        if let Some(machine) = description {
            memory = memory.describing(machine);
        }
        let allocator = Allocator::new(memory, machine, strategy);
        let of_core = Some(OfCore {
            holds: strategy.holds(),
            largest: Allocator::largest,
        });
        lend_allocator(configuration, of_core, allocator, (self.policy)(), body)
    }
}
