//! Gives a running job other processors in place of faulty ones.

use super::{Controller, OnCommit};
use crate::error::Error;
use crate::job_id::JobId;
use crate::jobs::Slot;
use crate::message::Change;
use crate::pause::Pauses;
use crate::request::Ticks;
use crate::scheduler::{ServedScheduler, Trigger};
use crate::strategy::ServedStrategy;

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    /// Carries out [`Change::Replace`]. The job is granted anew: it keeps its name, its lease and
    /// its counts, and its estimate counts from now on. It may take processors that are reserved
    /// for jobs that wait; reservations are made anew.
    ///
    /// # Errors
    ///
    /// Those of [`Controller::begin`]; then nothing has changed.
    pub(super) fn replace(
        &mut self,
        job: JobId,
        change: &Change,
        now: Ticks,
        pauses: Option<&Pauses<'_>>,
        on_commit: Option<OnCommit<'_>>,
    ) -> Result<(), Error> {
        let slot = self.with_faults(job)?;
        let (_, mut world) = self.world(pauses);
        let (jobs, allocator, pause) = world.parts();
        let entry = jobs.get(slot);
        let new = allocator.other_place(entry.request(), entry.blocks(), jobs, pause)?;
        if let Err(error) = self.commit(on_commit, change, now) {
            self.allocator.pool.free(new);
            return Err(error);
        }
        self.clock = self.clock.max(now);
        let (_, mut world) = self.world(pauses);
        let (jobs, allocator, pause) = world.parts();
        let old = jobs.get(slot).blocks();
        let processors = allocator.exchange(old, new, pause.as_ref());
        self.count_grant(slot);
        self.jobs
            .grant_again(slot, new, processors, self.clock, self.events);
        self.allocator.pool.free(old);
        self.schedule(Trigger::Departure);
        Ok(())
    }

    /// Counts the attempt by which a change grants a job its processors, and the event.
    pub(super) fn count_grant(&mut self, slot: Slot) {
        self.counts.attempts += 1;
        self.counts.valid_attempts += 1;
        self.counts.granted += 1;
        self.events += 1;
        self.jobs.count_attempt(slot, false);
    }

    /// The job, which holds faulty processors.
    fn with_faults(&self, job: JobId) -> Result<Slot, Error> {
        let slot = self.jobs.find(job).ok_or(Error::UnknownJob)?;
        let mut held = self.blocks(self.jobs.get(slot));
        if held.any(|block| self.occupancy().faulty_in(block) > 0) {
            Ok(slot)
        } else {
            Err(Error::NothingToReplace)
        }
    }
}
