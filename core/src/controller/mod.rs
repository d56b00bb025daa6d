//! Allocator, job table and scheduler behind one entry point: [`Controller`].
//!
//! Commands go in at [`Controller::handle`], replies come out. No I/O and no clock of its
//! own: the simulator calls it with its virtual time, the firmware with its clock.

mod answers;

pub use answers::Granted;

use crate::allocator::Allocator;
use crate::error::{ConfigureError, Error, Refusal};
use crate::grid::{Block, Grid};
use crate::jobs::{JobSlot, JobTable, Slot};
use crate::message::{Capacity, Command, Configuration, JobState, Reply, Statistics};
use crate::node::NodeId;
use crate::occupancy::Occupancy;
use crate::request::{Flags, JobId, Request, Ticks};
use crate::scheduler::{AnyScheduler, Attempt, Event, Scheduler, World};
use crate::storage::Memory;
use crate::strategy::{AnyStrategy, Holds};
use crate::word::WORD_BITS;

/// Serves the processors of one machine.
///
/// # Invariants
///
/// - *One owner*: a processor is busy in the occupancy exactly if a running job holds it or it is
///   faulty.
/// - *Disjoint*: no processor is in two blocks.
/// - *Derived*: whatever a strategy keeps can be rebuilt from the occupancy.
/// - *Atomic*: a command that is answered with an error has changed nothing but statistics.
///
/// [`Controller::check_invariants`] asserts the first three.
///
/// # Example
///
/// ```
/// use meshalloc::{
///     Command, Configuration, Controller, JobId, Mesh, Reply, Request, SchedulerKind, Storage,
///     StrategyKind, Submesh,
/// };
///
/// let mut storage = Storage::<8, 16, 0, 16, 64>::new();
/// let mut controller = Controller::new(
///     storage.memory(),
///     Configuration {
///         machine: Mesh::new(8, 8)?.into(),
///         strategy: StrategyKind::FreeSubmeshList,
///         scheduler: SchedulerKind::Fcfs,
///     },
/// )?;
/// let submit = Command::Submit { job: JobId(1), request: Request::submesh(3, 2) };
/// controller.handle(&submit, 0, &mut |reply| {
///     if let Reply::Grant(grant) = reply {
///         assert_eq!(grant.blocks[0], Submesh::new(0, 0, 3, 2).into());
///     }
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Controller<'m> {
    configuration: Configuration,
    allocator: Allocator<'m>,
    jobs: JobTable<'m>,
    scheduler: AnyScheduler,
    /// The latest time that was named.
    clock: Ticks,
    /// Counts the commands that change something; a job remembers the one that granted it.
    round: u32,
    counts: Counts,
    /// Called before each attempt to place a job.
    on_attempt: Option<fn()>,
}

/// The counting part of [`Statistics`].
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    submitted: u64,
    granted: u64,
    released: u64,
    refused: u64,
    attempts: u64,
    valid_attempts: u64,
    misses: u64,
}

/// Where replies go.
type Sink<'a> = &'a mut dyn FnMut(&Reply);

/// Where grants go.
type Grants<'a> = &'a mut dyn FnMut(Granted<'_, '_>);

impl<'m> Controller<'m> {
    /// A controller with no jobs and no faults.
    ///
    /// # Errors
    ///
    /// Those of [`Allocator::new`]. A strategy that holds one block a job needs one for each job that the memory has room for.
    pub fn new(memory: Memory<'m>, configuration: Configuration) -> Result<Self, ConfigureError> {
        let Configuration {
            machine,
            strategy,
            scheduler,
        } = configuration;
        let Memory {
            busy,
            faulty,
            supposed,
            slots,
            index,
            order,
            blocks,
            workspace,
        } = memory;
        let jobs = JobTable::new(slots, index, order);
        let room = jobs.capacity();
        Ok(Controller {
            configuration,
            allocator: Allocator::with_parts(
                [busy, faulty, supposed],
                blocks,
                workspace,
                machine,
                strategy,
                room,
            )?,
            jobs,
            scheduler: AnyScheduler::new(scheduler)?,
            clock: 0,
            round: 0,
            counts: Counts::default(),
            on_attempt: None,
        })
    }

    /// From now on `on_attempt` is called before each attempt to place a job. One command can bring about as many of them
    /// as jobs wait; a watchdog is fed here.
    pub const fn on_attempt(&mut self, on_attempt: fn()) {
        self.on_attempt = Some(on_attempt);
    }

    /// Carries out one command at the time `now` and replies: any number of parts ([`Reply::Grant`]), then exactly one final
    /// reply.
    ///
    /// Whoever calls in process may as well use the method for each command; this is the same for
    /// commands that are values.
    ///
    /// Time does not go back: a `now` before the latest one counts as the latest one. It begins anew with
    /// [`Command::Configure`] and [`Command::Reset`].
    pub fn handle(&mut self, command: &Command, now: Ticks, reply: Sink<'_>) {
        self.clock = self.clock.max(now);
        let outcome = match *command {
            Command::Configure(configuration) => self
                .configure(configuration, now)
                .map(|()| reply(&Reply::Done))
                .map_err(Error::from),
            Command::Submit { job, request } => self
                .submit(job, request, now, &mut |granted| granted.emit(reply))
                .map(|state| reply(&Reply::Submitted { job, state }))
                .map_err(Error::from),
            Command::Release { job } => self
                .release(job, now, &mut |granted| granted.emit(reply))
                .map(|processors| reply(&Reply::Released { job, processors })),
            Command::QueryJob { job } => self.query(job, reply),
            Command::ListJobs { from } => {
                self.list(from, reply);
                Ok(())
            }
            Command::Occupancy { from } => self.occupancy_chunk(from, reply),
            Command::MarkFaulty { node } => self
                .mark_faulty(node, now)
                .map(|(job, changed)| reply(&Reply::Fault { node, job, changed })),
            Command::ClearFaulty { node } => self
                .clear_faulty(node, now, &mut |granted| granted.emit(reply))
                .map(|(job, changed)| reply(&Reply::Fault { node, job, changed })),
            Command::Statistics => {
                reply(&Reply::Statistics(self.statistics()));
                Ok(())
            }
            Command::Reset => {
                self.reset(now);
                reply(&Reply::Done);
                Ok(())
            }
        };
        if let Err(error) = outcome {
            reply(&Reply::Error(error));
        }
    }

    /// Begins a change.
    fn begin(&mut self, now: Ticks) {
        self.clock = self.clock.max(now);
        self.round = self.round.wrapping_add(1);
    }

    /// Repeats the grants that the latest state-changing command brought about, of jobs that still run. For a
    /// transport that repeats a lost reply.
    pub fn repeat_grants(&self, reply: Sink<'_>) {
        for job in self
            .jobs
            .running()
            .filter(|job| job.round() == Some(self.round))
        {
            Granted::new(&self.allocator, job).emit(reply);
        }
    }

    /// What there is room for.
    pub fn capacity(&self) -> Capacity {
        Capacity {
            words: self.occupancy().capacity_words() as u32,
            word_bits: WORD_BITS as u8,
            jobs: self.jobs.capacity(),
            blocks: self.allocator.blocks_capacity(),
            list: self.strategy().workspace().list.len() as u32,
        }
    }

    /// What is served, and how.
    pub const fn configuration(&self) -> Configuration {
        self.configuration
    }

    /// Which processors are busy.
    pub const fn occupancy(&self) -> &Occupancy<'m> {
        self.allocator.occupancy()
    }

    /// The jobs.
    pub const fn jobs(&self) -> &JobTable<'m> {
        &self.jobs
    }

    /// The strategy.
    pub const fn strategy(&self) -> &AnyStrategy<'m> {
        self.allocator.strategy()
    }

    /// A job's blocks, in the order in which the strategy named them; none while it waits.
    pub fn blocks(&self, job: &JobSlot) -> impl Iterator<Item = Block> + '_ {
        self.allocator.chain(job.blocks())
    }

    /// What has happened so far.
    pub fn statistics(&self) -> Statistics {
        let Counts {
            submitted,
            granted,
            released,
            refused,
            attempts,
            valid_attempts,
            misses,
        } = self.counts;
        Statistics {
            nodes: self.occupancy().grid().nodes(),
            free: self.occupancy().free(),
            faulty: self.occupancy().faulty_count(),
            waiting: self.jobs.waiting_len(),
            running: self.jobs.running_len(),
            submitted,
            granted,
            released,
            refused,
            attempts,
            valid_attempts,
            misses,
        }
    }

    /// Serves another machine, or in another way; only while no job waits or runs. Faults and statistics
    /// are forgotten.
    ///
    /// # Errors
    ///
    /// When jobs are there, the memory is too small or the strategy does not serve the machine.
    pub fn configure(
        &mut self,
        configuration: Configuration,
        now: Ticks,
    ) -> Result<(), ConfigureError> {
        self.begin(now);
        let Configuration {
            machine,
            strategy,
            scheduler,
        } = configuration;
        if !self.jobs.is_empty() {
            return Err(ConfigureError::JobsPresent);
        }
        let scheduler = AnyScheduler::new(scheduler)?;
        self.allocator.switch(machine, strategy)?;
        self.configuration = configuration;
        self.scheduler = scheduler;
        self.clear(now);
        Ok(())
    }

    /// Forgets all jobs, faults and statistics; keeps the configuration.
    pub fn reset(&mut self, now: Ticks) {
        self.begin(now);
        if let Ok(scheduler) = AnyScheduler::new(self.configuration.scheduler) {
            self.scheduler = scheduler;
        }
        self.clear(now);
    }

    fn clear(&mut self, now: Ticks) {
        self.clock = now;
        self.allocator.clear(self.configuration.machine);
        self.jobs.clear();
        self.counts = Counts::default();
    }

    /// A new job: it runs at once or waits. `granted` is called for every job that is granted, this one or another.
    ///
    /// # Errors
    ///
    /// Any [`Refusal`]; the job is not there then.
    ///
    /// # Time complexity
    ///
    /// That of the strategy, for each job that the scheduler lets try.
    pub fn submit(
        &mut self,
        job: JobId,
        request: Request,
        now: Ticks,
        granted: Grants<'_>,
    ) -> Result<JobState, Refusal> {
        self.begin(now);
        let slot = self
            .allocator
            .arrived(&request)
            .and_then(|demand| self.jobs.submit(job, request, demand, self.clock))
            .inspect_err(|_| self.counts.refused += 1)?;
        let last_refusal = self.schedule(Event::Arrival(slot), granted);
        let entry = self.jobs.get(slot);
        if entry.is_running() {
            self.counts.submitted += 1;
            return Ok(JobState::Running {
                processors: entry.processors(),
            });
        }
        if request.flags.contains(Flags::NO_WAIT) {
            self.jobs.remove(slot);
            self.counts.refused += 1;
            return Err(match last_refusal {
                Some((tried, refusal)) if tried == slot => refusal,
                _ => Refusal::QueueNotEmpty,
            });
        }
        self.counts.submitted += 1;
        // It is the last of the queue.
        Ok(JobState::Waiting {
            ahead: self.jobs.waiting_len() - 1,
        })
    }

    /// The job has ended, or no longer waits. Returns the number of processors it held. `granted` is
    /// called for every job that is granted in consequence.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownJob`].
    pub fn release(&mut self, job: JobId, now: Ticks, granted: Grants<'_>) -> Result<u32, Error> {
        self.begin(now);
        let slot = self.jobs.find(job).ok_or(Error::UnknownJob)?;
        let processors = match self.jobs.get(slot).is_running() {
            true => self.allocator.release(self.jobs.take_allocation(slot)),
            false => 0,
        };
        self.jobs.remove(slot);
        self.counts.released += 1;
        self.schedule(Event::Departure, granted);
        Ok(processors)
    }

    /// Tries the jobs that the scheduler names. Returns the last job that tried and failed, and why.
    fn schedule(&mut self, event: Event, granted: Grants<'_>) -> Option<(Slot, Refusal)> {
        let (scheduler, counts) = (&mut self.scheduler, &mut self.counts);
        let mut world = World {
            jobs: &mut self.jobs,
            allocator: &mut self.allocator,
            strategy: &self.configuration.strategy,
            now: self.clock,
        };
        let mut refused = None;
        let mut candidate = scheduler.first(&mut world, event);
        while let Some(attempted) = candidate {
            if let Some(on_attempt) = self.on_attempt {
                on_attempt();
            }
            let slot = attempted.job();
            let following = world.queue().next(slot);
            let job = world.queue().get(slot);
            let (request, submitted) = (job.request(), job.submitted());
            // An attempt is valid if at least as many processors are free as requested; what a strategy holds beyond
            // the request does not count.
            let requested = match world.strategy.holds() {
                Holds::OneBlock | Holds::TwoBlocks => request.shape.area(),
                Holds::Processors => request.processors,
            };
            let valid = world.free() >= requested;
            let outcome = world.place(attempted);
            let missed = valid && outcome.is_err();
            counts.attempts += 1;
            counts.valid_attempts += u64::from(valid);
            counts.misses += u64::from(missed);
            world.jobs.count_attempt(slot, missed);
            let outcome = outcome.map(|allocation| {
                let processors = world.allocator.processors(&allocation);
                let jobs = &mut *world.jobs;
                jobs.grant(slot, allocation, processors, world.now, self.round);
                counts.granted += 1;
                granted(Granted::new(world.allocator, jobs.get(slot)));
            });
            if let Err(refusal) = outcome {
                refused = Some((slot, refusal));
            }
            let attempt = Attempt {
                job: slot,
                following,
                outcome,
                submitted,
            };
            candidate = scheduler.next(&mut world, attempt);
        }
        refused
    }

    /// The processor is faulty. Returns the job that holds it, which keeps running, and whether the
    /// processor was in order before.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`].
    pub fn mark_faulty(
        &mut self,
        node: NodeId,
        now: Ticks,
    ) -> Result<(Option<JobId>, bool), Error> {
        self.begin(now);
        self.check_node(node)?;
        let changed = self.allocator.mark_faulty(node);
        Ok((self.holder(node), changed))
    }

    /// The processor works again. Returns the job that holds it and whether it was faulty before.
    /// `granted` is called for every job that is granted in consequence.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`].
    pub fn clear_faulty(
        &mut self,
        node: NodeId,
        now: Ticks,
        granted: Grants<'_>,
    ) -> Result<(Option<JobId>, bool), Error> {
        self.begin(now);
        self.check_node(node)?;
        let job = self.holder(node);
        let changed = self.allocator.clear_faulty(node);
        if changed && job.is_none() {
            self.schedule(Event::Departure, granted);
        }
        Ok((job, changed))
    }

    fn check_node(&self, node: NodeId) -> Result<(), Error> {
        match node.0 < self.machine().nodes() {
            true => Ok(()),
            false => Err(Error::UnknownNode(node)),
        }
    }

    /// The running job that holds the processor. O(blocks held).
    fn holder(&self, node: NodeId) -> Option<JobId> {
        let grid = self.machine();
        let holds = |job: &&JobSlot| {
            let mut blocks = self.blocks(job);
            blocks.any(|block| grid.holds(block, node))
        };
        self.jobs.running().find(holds).map(JobSlot::id)
    }

    /// The machine that is served.
    pub const fn machine(&self) -> &Grid {
        &self.configuration.machine
    }

    /// Asserts every invariant of the whole. For tests; slow.
    pub fn check_invariants(&self) {
        self.jobs.check_invariants();
        let mut blocks = 0;
        let grid = self.machine();
        for job in self.jobs.running() {
            let held: u32 = self.blocks(job).map(|block| grid.area(block)).sum();
            assert_eq!(held, job.processors(), "processors of job {}", job.id());
            blocks += job.blocks_len();
        }
        self.check_reservations();
        self.allocator.check_invariants(blocks);
    }

    /// Asserts that reservations lie within the machine and are disjoint, in space or in time.
    fn check_reservations(&self) {
        let grid = self.machine();
        for (at, job) in self.jobs.reserved().enumerate() {
            let Some(block) = job.reserved_block() else {
                continue;
            };
            assert!(grid.contains(block), "reserved for job {}", job.id());
            for other in self.jobs.reserved().skip(at + 1) {
                let overlaps = |other: Block| grid.overlap(block, other);
                if other.reserved_block().is_some_and(overlaps) {
                    let is_over = |job: &JobSlot, other: &JobSlot| {
                        job.ends(0)
                            .is_some_and(|end| Some(end) <= other.reserved_from())
                    };
                    let apart = is_over(job, other) || is_over(other, job);
                    assert!(apart, "reserved for jobs {} and {}", job.id(), other.id());
                }
            }
        }
    }
}
