//! Allocator, job table and scheduler behind one entry point: [`Controller`].
//!
//! The controller has three verbs: [`Controller::begin`] carries a [`Change`] out,
//! [`Controller::advance`] makes one of the attempts that follow from it, and [`Controller::view`]
//! answers queries and reports events. [`Controller::handle`] is a loop over them. There is no I/O
//! and no clock: the simulator passes its virtual time, the firmware the time of its clock.

mod commit;
mod configure;
mod departures;
mod faults;
mod invariants;
mod leases;
mod pass;
#[cfg(feature = "preemption")]
mod preempt;
#[cfg(feature = "replace")]
mod replace;
#[cfg(feature = "restore")]
pub(crate) mod state;
mod submit;
mod why;

pub use commit::{Commit, OnCommit};

use crate::allocation::Tickets;
use crate::allocator::Allocator;
use crate::error::{ConfigureError, Error, IllegalProposal};
use crate::grid::{Block, Grid};
use crate::jobs::{JobSlot, JobTable, Leases};
use crate::message::{Answer, Capacity, Change, Configuration, Counts, Outcome, Query, Statistics};
use crate::occupancy::Occupancy;
use crate::pause::Pauses;
use crate::request::{Request, Ticks};
use crate::scheduler::{AnyScheduler, SchedulerKind, ServedScheduler, Try};
use crate::storage::{Memory, Processors};
use crate::strategy::{AnyStrategy, ServedStrategy, StrategyKind};
use crate::view::{Status, View, check_block};

/// Serves the processors of one machine.
///
/// # Invariants
///
/// - *One owner*: a processor is busy in the occupancy exactly if a running job holds it or it is
///   faulty.
/// - *Disjoint*: no processor is in two blocks.
/// - *Derived*: the data of a strategy can be rebuilt from the occupancy, except the data that it
///   saves ([`Strategy`](crate::Strategy)).
/// - *Atomic*: a change that is answered with an error has changed nothing but statistics, so every
///   later decision is the same as without the change. (A strategy that looks at the latest
///   requests also counts requests that were refused for lack of room: that is how it is defined.
///   The attempt of a refused job that never waits may have made outdated reservations anew.)
///
/// [`Controller::check_invariants`] asserts the first three.
///
/// # A pass in slices
///
/// One release can let all waiting jobs try. The attempts that follow from a change are a
/// *scheduling pass*. [`Controller::handle`] makes all of them. A caller with other work calls
/// [`Controller::begin`], and [`Controller::advance`] once for each attempt. Both ways lead to the
/// same decisions. While a pass is under way no other change can begin; queries are answered.
///
/// # Example
///
/// ```
/// use meshalloc::{
///     Change, Configuration, Controller, JobId, Mesh, Request, SchedulerKind, Storage,
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
/// let job = JobId(1);
/// controller.handle(&Change::submit(job, Request::submesh(3, 2)), 0)?;
/// let block = controller.view().blocks(job).next();
/// assert_eq!(block, Some(Submesh::new(0, 0, 3, 2).into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Controller<'m, S = AnyStrategy<'m>, D = AnyScheduler> {
    allocator: Allocator<'m, S>,
    jobs: JobTable<'m>,
    scheduler: D,
    /// The names of the strategy and the scheduler in answers.
    strategy_kind: StrategyKind,
    scheduler_kind: SchedulerKind,
    /// The latest time of a change.
    clock: Ticks,
    /// The number of the latest event: a grant, or the end of a lease. Configurations and resets do
    /// not change it.
    events: u64,
    /// The next attempt of the scheduling pass; `None` if no pass is under way.
    candidate: Option<Try>,
    counts: Counts,
}

/// The status that queries show, from the parts of a controller.
#[inline]
fn status<'a, S: ServedStrategy + 'a>(
    strategy: &S,
    (strategy_kind, scheduler): (StrategyKind, &'a SchedulerKind),
    counts: &'a Counts,
    events: u64,
    left: u32,
) -> Status<'a> {
    Status {
        strategy: strategy_kind,
        scheduler,
        events,
        left,
        counts,
        list: strategy.facts().list_capacity,
        description: strategy.description(),
    }
}

impl<'m> Controller<'m> {
    /// A controller with no jobs and no faults.
    ///
    /// # Errors
    ///
    /// Those of [`Allocator::new`]. A strategy that holds one block a job needs one for each job
    /// that the memory has room for.
    pub fn new(memory: Memory<'m>, configuration: Configuration) -> Result<Self, ConfigureError> {
        let scheduler = AnyScheduler::new(configuration.scheduler)?;
        Self::with_scheduler(memory, configuration, scheduler)
    }
}

impl<'m, D: ServedScheduler> Controller<'m, AnyStrategy<'m>, D> {
    /// A controller with a scheduler of your own. The configuration has the machine, the strategy,
    /// and the name under which answers and checkpoints show the scheduler.
    ///
    /// # Errors
    ///
    /// Those of [`Allocator::new`].
    #[inline]
    pub fn with_scheduler(
        memory: Memory<'m>,
        configuration: Configuration,
        scheduler: D,
    ) -> Result<Self, ConfigureError> {
        let Configuration {
            machine, strategy, ..
        } = configuration;
        Self::build(memory, configuration, scheduler, |processors, jobs| {
            Allocator::with_parts(processors, Tickets::default(), machine, strategy, jobs)
        })
    }

    /// Answers a query, as [`View::answer`] does, and [`Query::Largest`] and `Query::Why` too.
    ///
    /// # Errors
    ///
    /// Those of [`View::answer`]; for [`Query::Largest`] and `Query::Why` [`Error::Busy`] only
    /// while a pass is under way.
    ///
    /// # Time complexity
    ///
    /// [`Query::Largest`] takes that of the strategy for each legal shape that is larger than the
    /// answer, and the search for the largest free box: O(N * lines * lines of a box) on a machine
    /// of N processors in the worst case. `Query::Why` takes a few attempts.
    pub fn answer(&mut self, query: &Query, pauses: Option<&Pauses<'_>>) -> Result<Answer, Error> {
        #[cfg(feature = "machine")]
        if *query == Query::Largest && !self.is_scheduling() {
            let (_, mut world) = self.world(pauses);
            let (_, allocator, pause) = world.parts();
            return Ok(Answer::Largest(allocator.largest_with(pause.as_ref())));
        }
        #[cfg(feature = "reasons")]
        if let Query::Why { job } = *query {
            return self.why(job, pauses).map(Answer::Why);
        }
        let _ = pauses;
        self.view().answer(query)
    }
}

impl<'m, S: ServedStrategy, D: ServedScheduler> Controller<'m, S, D> {
    /// A controller with a strategy of your own, and a scheduler of your own or of this crate
    /// ([`AnyScheduler::new`]). The configuration has the machine, and the names under which
    /// answers and checkpoints show strategy and scheduler. The strategy brings its own memory.
    ///
    /// Proposals of the strategy are checked. One that is not legal is refused as
    /// [`Fragmented`](crate::Refusal::Fragmented), and [`Controller::illegal_proposal`] has the
    /// reason.
    ///
    /// # Errors
    ///
    /// `MachineTooLarge` when there are too few words of occupancy.
    pub fn with_own(
        memory: Memory<'m>,
        configuration: Configuration,
        strategy: S,
        scheduler: D,
    ) -> Result<Self, ConfigureError> {
        let grid = configuration.machine;
        Self::build(memory, configuration, scheduler, |processors, jobs| {
            Allocator::with_own(processors, Tickets::default(), grid, strategy, jobs)
        })
    }

    #[inline(always)]
    fn build(
        memory: Memory<'m>,
        configuration: Configuration,
        scheduler: D,
        allocator: impl FnOnce(Processors<'m>, u32) -> Result<Allocator<'m, S>, ConfigureError>,
    ) -> Result<Self, ConfigureError> {
        let Memory {
            processors,
            slots,
            index,
            order,
        } = memory;
        let jobs = JobTable::new(slots, index, order);
        Ok(Controller {
            allocator: allocator(processors, jobs.capacity())?,
            jobs,
            scheduler,
            strategy_kind: configuration.strategy,
            scheduler_kind: configuration.scheduler,
            clock: 0,
            events: 0,
            candidate: None,
            counts: Counts::default(),
        })
    }

    /// The processors that must be free for an attempt for this request to be valid: as many as the
    /// request names, or fewer if the strategy needs fewer
    /// ([`Contiguity::requested`](crate::Contiguity::requested)).
    pub fn requested(&self, request: &Request) -> u32 {
        let named = self.strategy().facts().holds.requested(request);
        let demand = self.allocator.demand(request);
        demand.map_or(named, |demand| demand.min(named))
    }

    /// Why the first illegal proposal of a strategy of your own was refused.
    pub const fn illegal_proposal(&self) -> Option<IllegalProposal> {
        self.allocator.illegal
    }

    /// Carries a change out, with all attempts that follow from it, and ends the leases that have
    /// ended by its time. If a pass was under way, it is completed first.
    ///
    /// The events are read afterwards ([`View::events_since`]). If a job was granted and its lease
    /// ended within one call, the event of its grant is gone. A caller that needs every grant
    /// writes this loop itself and reads the events after each step.
    ///
    /// # Errors
    ///
    /// Those of [`Controller::begin`], except `Busy`.
    pub fn handle(&mut self, change: &Change, now: Ticks) -> Result<Outcome, Error> {
        self.finish();
        let outcome = self.begin(change, now, None, None)?;
        self.finish();
        while self.may_lease_have_ended(self.clock)
            && let Some((ends, job)) = self.lease_ended(self.clock)
        {
            self.begin(&Change::EndLease { job }, ends, None, None)?;
            self.finish();
        }
        Ok(outcome)
    }

    /// Completes the scheduling pass that is under way, if there is one.
    #[inline]
    fn finish(&mut self) {
        if self.is_scheduling() {
            self.run_pass();
        }
    }

    // A function of its own, so that the common case, without a pass, stays short.
    #[inline(never)]
    fn run_pass(&mut self) {
        while self.advance(None) {}
    }

    /// Carries a change out at the time `now`, but leaves the attempts that follow from it to
    /// [`Controller::advance`]. The exception is a submission that never waits
    /// ([`NO_WAIT`](crate::Flags::NO_WAIT)): its one attempt is made here, so `Done` means that the
    /// job runs.
    ///
    /// Time does not go back: a `now` before the latest one counts as the latest one. Time begins
    /// anew with [`Change::Configure`] and [`Change::Reset`].
    ///
    /// `on_commit` is for a caller that keeps a record of changes. It is called once for each
    /// change that takes effect, when all checks have passed and before anything has changed. For a
    /// submission that never waits, it is called when the attempt has granted the job, before a
    /// query shows the grant. A strategy that looks at the latest requests (`Facts::looks_ahead`)
    /// remembers a submission's request even if the job is then refused, so such a submission is
    /// announced too. If `on_commit` returns an error, everything is as before, including
    /// statistics. There are two exceptions, only for a job that never waits: a strategy that draws
    /// at random has drawn, and outdated reservations may have been made anew.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] while a pass is under way, and the errors of `on_commit`. The other errors,
    /// by change, after which only statistics have changed:
    ///
    /// - `Configure`: [`Error::Configure`].
    /// - `Submit`: [`Error::Refused`], [`Error::NotLegal`].
    /// - `Release`: [`Error::UnknownJob`].
    /// - `Lease`: [`Error::UnknownJob`]; `EndLease`: also [`Error::LeaseRuns`].
    /// - `MarkFaulty`, `ClearFaulty`: [`Error::NoSuchBlock`].
    /// - `Replace`: [`Error::UnknownJob`]; `Error::NothingToReplace`; [`Error::Refused`] with
    ///   `TooFewFree`, `Fragmented`, `RingBusy`, `GangIncomplete` or `NotSearchedToTheEnd` if no
    ///   place is found, and with `TableFull` if there is no room for its new blocks beside the old
    ///   ones.
    /// - `Preempt`: [`Error::UnknownJob`]; `Error::NotWaiting`; `Error::NoVictim`;
    ///   [`Error::Refused`] as for `Replace`.
    /// - Leases in a build without the feature `leases`: [`Error::LeasesNotBuilt`].
    ///
    /// # Time complexity
    ///
    /// - `Submit`: O(1) expected, and that of [`Allocator::demand`], which does not pause; if the
    ///   job never waits, that of the strategy, and if reservations are outdated, that of making
    ///   them anew: a search for each job before it.
    /// - `Release`, `EndLease`: that of [`Allocator::release`].
    /// - `MarkFaulty`, `ClearFaulty`: that of [`Allocator::mark_faulty`] or
    ///   [`Allocator::clear_faulty`], and O(blocks held).
    /// - `Replace`: that of the strategy, and that of [`Allocator::release`].
    /// - `Preempt`: that of the strategy, and for each victim O(queue) and that of
    ///   [`Allocator::release`].
    /// - `Configure`, `Reset`: O(words + jobs), and the time in which the strategy begins.
    /// - With `on_commit` also the time of that call, and O(waiting jobs + words).
    // On a host [`Controller::handle`] has a copy without pauses. The board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub fn begin(
        &mut self,
        change: &Change,
        now: Ticks,
        pauses: Option<&Pauses<'_>>,
        on_commit: Option<OnCommit<'_>>,
    ) -> Result<Outcome, Error> {
        if self.is_scheduling() {
            return Err(Error::Busy { left: self.left() });
        }
        if !Leases::BUILT && change.is_about_leases() {
            return Err(Error::LeasesNotBuilt);
        }
        if let Change::MarkFaulty { block } | Change::ClearFaulty { block } = *change {
            check_block(self.machine(), block)?;
        }
        match *change {
            Change::Configure(configuration) => {
                let scheduler = self.checked(&configuration)?;
                self.commit(on_commit, change, now)?;
                self.configure(configuration, scheduler, now);
            }
            Change::Submit {
                job,
                ref request,
                lease,
            } => {
                let slot = self.submit((job, request), change, now, pauses, on_commit)?;
                if Leases::BUILT && lease.is_some() {
                    self.set_lease(slot, lease);
                }
            }
            Change::Release { job } => {
                let cell = self.jobs.cell_of(job).ok_or(Error::UnknownJob)?;
                self.commit(on_commit, change, now)?;
                let processors = self.release(cell, now, pauses);
                return Ok(Outcome::Released { processors });
            }
            Change::Lease { job, ticks } if Leases::BUILT => {
                let slot = self.jobs.find(job).ok_or(Error::UnknownJob)?;
                self.commit(on_commit, change, now)?;
                self.clock = self.clock.max(now);
                self.set_lease(slot, ticks);
            }
            Change::EndLease { job } if Leases::BUILT => {
                let cell = self.ended(job, now)?;
                self.commit(on_commit, change, now)?;
                let processors = self.end_lease(cell, now, pauses);
                return Ok(Outcome::Released { processors });
            }
            // Refused above.
            Change::Lease { .. } | Change::EndLease { .. } => {}
            Change::MarkFaulty { block } => {
                self.commit(on_commit, change, now)?;
                let report = self.set_faulty(block, true, now, pauses);
                return Ok(Outcome::Faults(report));
            }
            Change::ClearFaulty { block } => {
                self.commit(on_commit, change, now)?;
                let report = self.set_faulty(block, false, now, pauses);
                return Ok(Outcome::Faults(report));
            }
            Change::Reset => {
                self.commit(on_commit, change, now)?;
                self.reset(now);
            }
            #[cfg(feature = "replace")]
            Change::Replace { job } => self.replace(job, change, now, pauses, on_commit)?,
            #[cfg(feature = "preemption")]
            Change::Preempt { job, ref victims } => {
                self.preempt((job, victims), change, now, pauses, on_commit)?;
            }
        }
        Ok(Outcome::Done)
    }

    /// Whether the strategy would find a place for the request now, as [`Allocator::fits`] does.
    ///
    /// # Time complexity
    ///
    /// That of [`Allocator::fits`].
    pub fn fits(&mut self, request: &Request) -> bool {
        self.allocator.would_fit(request, Some(&self.jobs), None)
    }

    /// The number of the latest event.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// The numbers of words, jobs and blocks that there is room for.
    pub fn capacity(&self) -> Capacity {
        self.view().capacity()
    }

    /// The machine, the strategy and the scheduler.
    pub const fn configuration(&self) -> Configuration {
        Configuration {
            machine: *self.machine(),
            strategy: self.strategy_kind,
            scheduler: self.scheduler_kind,
        }
    }

    /// The machine that is served.
    pub const fn machine(&self) -> &Grid {
        self.allocator.occupancy().grid()
    }

    /// The latest time of a change.
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
    pub const fn strategy(&self) -> &S {
        self.allocator.strategy()
    }

    /// The scheduler.
    pub const fn scheduler(&self) -> &D {
        &self.scheduler
    }

    /// A job's blocks, in the order in which the strategy named them; none while it waits.
    pub fn blocks(&self, job: &JobSlot) -> impl Iterator<Item = Block> + '_ {
        let (_, pool) = self.allocator.parts();
        pool.iter(job.blocks())
    }

    /// The blocks that are reserved for a job that waits. There are none if nothing is reserved, or
    /// only a number of processors.
    pub fn reserved_blocks(&self, job: &JobSlot) -> impl Iterator<Item = Block> + '_ {
        let (_, pool) = self.allocator.parts();
        let several = pool.reserved(job.reserved_chain());
        job.reserved_block().into_iter().chain(several)
    }

    /// The numbers of processors and jobs, and the counts so far.
    pub fn statistics(&self) -> Statistics {
        self.view().statistics()
    }

    /// The state as queries and events show it. O(waiting jobs).
    // The board has one copy. On a host the caller pays only for what it reads.
    #[cfg_attr(target_os = "none", inline(never))]
    #[cfg_attr(not(target_os = "none"), inline)]
    pub fn view(&self) -> View<'_, 'm> {
        let (occupancy, pool) = self.allocator.parts();
        let names = (self.strategy_kind, &self.scheduler_kind);
        let strategy = self.allocator.strategy();
        let status = status(strategy, names, &self.counts, self.events, self.left());
        View::new(&self.jobs, occupancy, pool, status)
    }
}
