//! Scheduling passes: the attempts that follow an arrival or a departure, one after another.

use super::commit::{Announced, commit};
use super::{Controller, status};
use crate::error::{Error, Refusal};
use crate::jobs::{JobSlot, Slot};
use crate::pause::Pauses;
use crate::request::Ticks;
use crate::scheduler::{Attempt, ServedScheduler, Trigger, Try, World};
use crate::strategy::ServedStrategy;
use crate::tolerance::Tolerance;

impl<'m, S: ServedStrategy, D: ServedScheduler> Controller<'m, S, D> {
    /// Whether a scheduling pass is under way.
    pub const fn is_scheduling(&self) -> bool {
        self.candidate.is_some()
    }

    /// The most jobs that may still try in the scheduling pass that is under way; 0 if no pass is.
    /// O(waiting jobs).
    pub fn left(&self) -> u32 {
        self.candidate
            .map_or(0, |next| self.scheduler.left(self.jobs.queue(), next.job()))
    }

    /// Makes the next attempt of the scheduling pass that is under way, if there is one. Returns
    /// whether the pass goes on.
    ///
    /// # Time complexity
    ///
    /// That of the strategy, and of a reservation if the scheduler makes one.
    // A host has a copy without pauses. The board has one copy.
    #[cfg_attr(target_os = "none", inline(never))]
    #[cfg_attr(not(target_os = "none"), inline)]
    pub fn advance(&mut self, pauses: Option<&Pauses<'_>>) -> bool {
        if let Some(next) = self.candidate {
            // The job's state has the result.
            let _ = self.step(next, true, pauses);
        }
        self.is_scheduling()
    }

    /// Begins a scheduling pass.
    // The board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(super) fn schedule(&mut self, trigger: Trigger) {
        let (scheduler, mut world) = self.world(None);
        self.candidate = scheduler.first(&mut world, trigger);
    }

    /// Begins a scheduling pass with a job that has just arrived and never waits, if the scheduler
    /// lets it try at once and it is granted. Announces the grant before a query shows it.
    ///
    /// # Errors
    ///
    /// Why the job was not granted: then it is gone, and only statistics and the event number may
    /// have changed. Or why the change cannot be committed: then not even these have changed.
    #[allow(
        unreachable_code,
        unused_mut,
        unused_variables,
        reason = "in a build without schedulers there is none to be copied"
    )]
    // The board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(super) fn try_only(
        &mut self,
        slot: Slot,
        now: Ticks,
        pauses: Option<&Pauses<'_>>,
        announced: Announced<'_>,
    ) -> Result<(), Error> {
        let before = self.scheduler.clone();
        let clock = core::mem::replace(&mut self.clock, now);
        let (scheduler, mut world) = self.world(pauses);
        let may_try = scheduler.may_try_only(&mut world, slot);
        let (events, counts) = (self.events, self.counts);
        if may_try {
            self.schedule(Trigger::Arrival(slot));
        }
        let outcome = match self.candidate {
            Some(next) if next.job() == slot => self.step(next, false, pauses),
            _ => Err(Refusal::QueueNotEmpty),
        };
        let committed = match outcome {
            Ok(()) => commit(announced),
            Err(refusal) => Err(refusal.into()),
        };
        if committed.is_ok() {
            return Ok(());
        }
        self.candidate = None;
        if let Some(held) = self.jobs.remove_slot(slot) {
            self.allocator.give_back(held.head(), None);
        }
        // No scheduler changes a reservation after an attempt that was granted. Reservations that
        // were outdated at `now` and made anew may have been valid before, so they are made once
        // more.
        self.clock = clock;
        let (scheduler, mut world) = self.world(pauses);
        scheduler.may_try_only(&mut world, slot);
        self.scheduler = before;
        match outcome {
            Ok(()) => (self.events, self.counts) = (events, counts),
            Err(_) => self.counts.refused += 1,
        }
        committed
    }

    /// Tries to place a job, passes the result to the scheduler, and gets the next job to try. If
    /// the job does not wait, the scheduler is not told of a failure.
    // The board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    fn step(&mut self, next: Try, waits: bool, pauses: Option<&Pauses<'_>>) -> Result<(), Refusal> {
        let job = next.job();
        let following = self.jobs.queue().next(job);
        let (submitted, has_run) = {
            let job = self.jobs.get(job);
            (job.submitted(), job.has_run())
        };
        let outcome = self.attempt(next, pauses);
        if waits || outcome.is_ok() {
            let attempt = Attempt {
                job,
                following,
                outcome,
                submitted,
                has_run,
            };
            // The caller may have to write the grant down before a query shows it.
            let pauses = pauses.filter(|_| waits);
            let (scheduler, mut world) = self.world(pauses);
            self.candidate = scheduler.next(&mut world, attempt);
        }
        outcome
    }

    /// Tries to place a job.
    #[inline(always)]
    fn attempt(&mut self, attempted: Try, pauses: Option<&Pauses<'_>>) -> Result<(), Refusal> {
        let slot = attempted.job();
        let holds = self.strategy().facts().holds;
        let (_, mut world) = self.world(pauses);
        let free = world.free();
        let outcome = world.place(attempted);
        // An attempt is valid if at least as many processors are free as requested; processors that
        // a strategy holds beyond the request do not count. An attempt that was granted is valid.
        let is_valid = |job: &JobSlot| free >= holds.requested(job.request()).min(job.demand());
        let valid = outcome.is_ok() || is_valid(self.jobs.get(slot));
        let missed = valid && outcome.is_err();
        self.counts.attempts += 1;
        self.counts.valid_attempts += u64::from(valid);
        self.counts.misses += u64::from(missed);
        self.jobs.count_attempt(slot, missed);
        let allocation = outcome?;
        // A faulty processor of the blocks was not free.
        let processors = if Tolerance::BUILT {
            self.allocator.area_of(allocation)
        } else {
            free - self.occupancy().free()
        };
        self.counts.granted += 1;
        self.events += 1;
        self.jobs
            .grant(slot, allocation, processors, self.clock, self.events);
        Ok(())
    }

    /// The scheduler, and the world in which it decides.
    // The board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(super) fn world<'a>(
        &'a mut self,
        pauses: Option<&'a Pauses<'a>>,
    ) -> (&'a mut D, World<'a, 'm, S>) {
        let pauses = match pauses.filter(|_| Pauses::BUILT) {
            Some(pauses) => {
                // At least 1: the attempt under way is not finished.
                let left = self.left().max(1);
                let names = (self.strategy_kind, &self.scheduler_kind);
                let strategy = self.allocator.strategy();
                let status = status(strategy, names, &self.counts, self.events, left);
                Some((pauses, status))
            }
            None => None,
        };
        let world = World {
            pauses,
            jobs: &mut self.jobs,
            allocator: &mut self.allocator,
            now: self.clock,
        };
        (&mut self.scheduler, world)
    }
}
