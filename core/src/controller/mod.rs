//! Allocator, job table and scheduler behind one entry point: [`Controller`].
//!
//! Commands go in at [`Controller::handle`], replies come out. No I/O and no clock of its
//! own: the simulator calls it with its virtual time, the firmware with its clock.

mod answers;
#[cfg(feature = "restore")]
mod effect;
mod faults;
#[cfg(feature = "restore")]
mod growth;
mod invariants;
#[cfg(feature = "leases")]
mod leases;
mod pass;
#[cfg(feature = "restore")]
mod state;
mod view;

pub use answers::Granted;
#[cfg(feature = "restore")]
pub use effect::Effect;
#[cfg(feature = "restore")]
pub use state::Restoring;
pub use view::{Status, View};

use crate::allocator::Allocator;
use crate::error::{ConfigureError, Error, Refusal};
use crate::grid::{Block, Grid};
#[cfg(feature = "leases")]
use crate::jobs::LeaseEnded;
use crate::jobs::{JobSlot, JobTable, Slot};
use crate::message::{Capacity, Command, Configuration, Counts, JobState, Reply, Statistics};
use crate::occupancy::Occupancy;
use crate::pause::{Pause, Pauses};
use crate::request::{Flags, JobId, Request, Ticks};
use crate::scheduler::{AnyScheduler, Event, Try};
use crate::storage::Memory;
use crate::strategy::AnyStrategy;

/// Serves the processors of one machine.
///
/// # Invariants
///
/// - *One owner*: a processor is busy in the occupancy exactly if a running job holds it or it is
///   faulty.
/// - *Disjoint*: no processor is in two blocks.
/// - *Derived*: whatever a strategy keeps can be rebuilt from the occupancy, but for what it says itself when it is saved
///   ([`Strategy`](crate::Strategy)).
/// - *Atomic*: a command that is answered with an error has changed nothing but statistics, and a query nothing at all, so that
///   every later decision is what it would have been without it. (A strategy that looks at the latest requests counts one that was
///   refused for lack of room, too: that is how it is defined.)
///
/// [`Controller::check_invariants`] asserts the first three.
///
/// # Scheduling in slices
///
/// One release can let as many jobs try as wait. [`Controller::handle`] and the method of each command see that through.
/// Where a command must not take that long there is [`Controller::begin`]: it tries one job at most and
/// leaves the rest of the *scheduling pass* to [`Controller::advance`], a job each time. What is decided is the same. Until the pass
/// is at its end no other command that changes something can begin; queries are answered.
///
/// # Example
///
/// ```
/// use meshalloc::{
///     Command, Configuration, Controller, JobId, Mesh, Reply, Request, SchedulerKind, Storage,
///     StrategyKind, Submesh,
/// };
///
/// let mut storage: meshalloc::storage!(mesh 8 x 8, strategies [FreeSubmeshList], jobs 16) =
///     Storage::new();
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
    /// The number of the latest event: a grant, or the end of a lease. It goes on over configurations and resets.
    events: u64,
    /// The job that tries next in the scheduling pass that is under way; `None`: there is none.
    candidate: Option<Try>,
    counts: Counts,
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
            processors,
            slots,
            index,
            order,
        } = memory;
        let jobs = JobTable::new(slots, index, order);
        let room = jobs.capacity();
        Ok(Controller {
            configuration,
            allocator: Allocator::with_parts(processors, machine, strategy, room)?,
            jobs,
            scheduler: AnyScheduler::new(scheduler)?,
            clock: 0,
            events: 0,
            candidate: None,
            counts: Counts::default(),
        })
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
        if !command.changes_state() {
            if let Command::QueryJob { job } = *command {
                self.emit_blocks(job, reply);
            }
            return self.answer(command, reply);
        }
        self.finish(&mut |granted| granted.emit(reply));
        #[cfg(feature = "leases")]
        let before = self.events;
        let grants: Grants<'_> = &mut |granted| granted.emit(reply);
        let mut last = self.change(command, now, grants, None);
        #[cfg(feature = "leases")]
        for (_, ended) in self.jobs.leases_ended_since(before) {
            reply(&Reply::LeaseEnded(ended));
        }
        self.finish(&mut |granted| granted.emit(reply));
        #[cfg(feature = "leases")]
        while let Some(ended) = self.end_next_lease() {
            reply(&Reply::LeaseEnded(ended));
            self.finish(&mut |granted| granted.emit(reply));
        }
        if let Ok(last) = &mut last {
            self.renew(last);
        }
        reply(&last.unwrap_or_else(Reply::Error));
    }

    /// Carries out a command that changes something, but for the scheduling that follows from it, which is left to [`Controller::advance`]. Returns the
    /// final reply as it is by now; grants are told by [`Controller::granted_since`].
    ///
    /// A submission that never waits is decided in one attempt, so that is made here and it is settled when this returns.
    ///
    /// Queries are for [`Controller::answer`]: here one changes nothing, and the reply is [`Reply::Done`].
    ///
    /// # Errors
    ///
    /// As a reply: those of the command, and [`Error::Busy`] while an earlier pass is under way.
    pub fn begin(&mut self, command: &Command, now: Ticks, pauses: Option<&Pauses<'_>>) -> Reply {
        let reply = match self.candidate {
            None => self.change(command, now, &mut |_| (), pauses),
            Some(_) => Err(Error::Busy { left: self.left() }),
        };
        reply.unwrap_or_else(Reply::Error)
    }

    /// Makes the reply to the latest submission say where the job is by now; no other reply changes.
    pub fn renew(&self, reply: &mut Reply) {
        if let Reply::Submitted { job, state } = reply
            && let Some(slot) = self.jobs.find(*job)
        {
            *state = self.state_of_latest(slot);
        }
    }

    /// Carries out a command that changes something, but for the scheduling that follows from it. No pass is under way. Returns the final
    /// reply as it is by now.
    fn change(
        &mut self,
        command: &Command,
        now: Ticks,
        granted: Grants<'_>,
        pauses: Option<&Pauses<'_>>,
    ) -> Result<Reply, Error> {
        Ok(match *command {
            Command::Configure(configuration) => {
                self.configure(configuration, now)?;
                Reply::Done
            }
            Command::Submit { job, request } => {
                let slot = self.begin_submit(job, request, now, granted, pauses)?;
                let state = self.state_of_latest(slot);
                Reply::Submitted { job, state }
            }
            Command::Release { job } => {
                let processors = self.begin_release(job, now, pauses)?;
                Reply::Released { job, processors }
            }
            Command::MarkFaulty { block } => {
                Reply::Fault(self.begin_set_faulty(block, true, now, pauses)?)
            }
            Command::ClearFaulty { block } => {
                Reply::Fault(self.begin_set_faulty(block, false, now, pauses)?)
            }
            #[cfg(feature = "leases")]
            Command::SubmitLeased {
                job,
                request,
                ticks,
            } => {
                let slot = self.begin_submit(job, request, now, granted, pauses)?;
                self.begin_lease(job, ticks, now)?;
                let state = self.state_of_latest(slot);
                Reply::Submitted { job, state }
            }
            #[cfg(feature = "leases")]
            Command::Lease { job, ticks } => {
                self.begin_lease(job, ticks, now)?;
                Reply::Done
            }
            #[cfg(feature = "leases")]
            Command::EndLease { job } => {
                let LeaseEnded { processors, .. } = self.begin_end_lease(job, now, pauses)?;
                Reply::Released { job, processors }
            }
            Command::Reset => {
                self.reset(now);
                Reply::Done
            }
            // Queries, which are answered elsewhere.
            Command::QueryJob { .. }
            | Command::Blocks { .. }
            | Command::ListJobs { .. }
            | Command::Occupancy { .. }
            | Command::Statistics => Reply::Done,
        })
    }

    /// The number of the latest event, a grant or the end of a lease; each has one more than the one before, from 1 on.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// The jobs that were granted after the event of this number and still run, in the order of their grants, each with the number of its
    /// grant. So whoever keeps the number of the last one it knows learns of each exactly once.
    ///
    /// # Time complexity
    ///
    /// O(1) for each of them.
    pub fn granted_since(&self, number: u64) -> impl Iterator<Item = (u64, Granted<'_, 'm>)> {
        let jobs = self.jobs.granted_since(number);
        let held = self.allocator.held();
        jobs.map(move |(number, job)| (number, Granted::new(held, job)))
    }

    /// What there is room for.
    pub fn capacity(&self) -> Capacity {
        self.view().capacity()
    }

    /// What is served, and how.
    pub const fn configuration(&self) -> Configuration {
        self.configuration
    }

    /// The latest time that a command named.
    pub const fn clock(&self) -> Ticks {
        self.clock
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

    /// The blocks that are reserved for a job that waits; none if nothing is, or only a number of
    /// processors.
    #[cfg(feature = "reservations")]
    pub fn reserved_blocks(&self, job: &JobSlot) -> impl Iterator<Item = Block> + '_ {
        let (_, pool) = self.allocator.parts();
        let several = pool.reserved(job.reserved_chain());
        job.reserved_block().into_iter().chain(several)
    }

    /// What has happened so far.
    pub fn statistics(&self) -> Statistics {
        self.view().statistics()
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
        if let Ok(scheduler) = AnyScheduler::new(self.configuration.scheduler) {
            self.scheduler = scheduler;
        }
        self.clear(now);
    }

    fn clear(&mut self, now: Ticks) {
        self.clock = now;
        self.candidate = None;
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
        self.finish(granted);
        let slot = self.begin_submit(job, request, now, granted, None)?;
        self.settle(granted);
        Ok(self.state_of_latest(slot))
    }

    // Its callers are few, and an image has one of them.
    #[inline(always)]
    fn begin_submit(
        &mut self,
        job: JobId,
        request: Request,
        now: Ticks,
        granted: Grants<'_>,
        pauses: Option<&Pauses<'_>>,
    ) -> Result<Slot, Refusal> {
        let now = self.clock.max(now);
        let slot = self
            .enter(job, &request, now)
            .inspect_err(|_| self.counts.refused += 1)?;
        if request.flags.contains(Flags::NO_WAIT) {
            self.try_only(slot, now, granted, pauses)?;
        } else {
            self.clock = now;
            self.schedule(Event::Arrival(slot));
        }
        self.counts.submitted += 1;
        Ok(slot)
    }

    /// Enters a job into the table. For strategies that look at the latest requests it has arrived then, and also where there is no room for it; one
    /// that could never be granted, or whose name is taken, has not.
    #[inline(always)]
    fn enter(&mut self, job: JobId, request: &Request, now: Ticks) -> Result<Slot, Refusal> {
        let demand = self.allocator.demand(request)?;
        let entered = self.jobs.submit(job, request, demand, now);
        if entered != Err(Refusal::DuplicateJob) {
            self.allocator.arrived(request);
        }
        entered
    }

    /// The job has ended, or no longer waits. Returns the number of processors it held. `granted` is
    /// called for every job that is granted in consequence.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownJob`].
    pub fn release(&mut self, job: JobId, now: Ticks, granted: Grants<'_>) -> Result<u32, Error> {
        self.finish(granted);
        let processors = self.begin_release(job, now, None)?;
        self.settle(granted);
        Ok(processors)
    }

    #[inline(always)]
    fn begin_release(
        &mut self,
        job: JobId,
        now: Ticks,
        pauses: Option<&Pauses<'_>>,
    ) -> Result<u32, Error> {
        let held = self.jobs.take(job).ok_or(Error::UnknownJob)?;
        self.clock = self.clock.max(now);
        let processors = match held {
            Some(allocation) => {
                let (_, world) = self.world(pauses);
                let pause = Pause::with_jobs(world.pauses, world.jobs);
                world.allocator.release_pausing(allocation, pause.as_ref())
            }
            None => 0,
        };
        self.counts.released += 1;
        self.schedule(Event::Departure);
        Ok(processors)
    }

    /// The machine that is served.
    pub const fn machine(&self) -> &Grid {
        &self.configuration.machine
    }
}
