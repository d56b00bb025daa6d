//! Leases: a job that has one is released when it ends, unless it was renewed.
//!
//! A lease begins with the submission or with [`Change::Lease`], which also renews it. It runs
//! while the job waits, too, so that a client that is gone leaves nothing behind. The end of a
//! lease is an event; it is numbered together with the grants.
//!
//! A lease ends when two conditions hold: the clock has reached the lease's end, and everything
//! that follows from the change that set the clock is done. [`Controller::handle`] sees to that. A
//! caller of [`Controller::begin`] asks [`Controller::lease_ended`] for the lease to end next, and
//! begins a [`Change::EndLease`]. The same call ends leases where time goes by without a change. A
//! change that is refused ends no lease.
//!
//! Without the feature `leases` there are no leases, and a change that gives one is refused.
//!
//! [`Change::Lease`]: crate::Change::Lease
//! [`Change::EndLease`]: crate::Change::EndLease

use core::num::NonZeroU64;

use super::Controller;
use crate::error::Error;
use crate::job_id::JobId;
use crate::jobs::{Cell, Ended, Slot};
use crate::pause::Pauses;
use crate::request::Ticks;
use crate::scheduler::ServedScheduler;
use crate::strategy::ServedStrategy;

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    /// The job whose lease has ended first by now, and the time of that end. If several leases
    /// ended at that time, the job with the least name.
    ///
    /// # Time complexity
    ///
    /// O(1) as long as no lease can have ended, else O(jobs).
    pub fn lease_ended(&mut self, now: Ticks) -> Option<(Ticks, JobId)> {
        self.jobs.lease_ended(self.clock.max(now))
    }

    /// Whether a lease may have ended by now: if not, [`Controller::lease_ended`] finds no job.
    /// O(1).
    #[inline]
    pub fn may_lease_have_ended(&self, now: Ticks) -> bool {
        self.jobs.may_have_ended(self.clock.max(now))
    }

    /// Whether any job has a lease. O(jobs) if a job may have one, else O(1).
    pub fn has_leases(&self) -> bool {
        self.jobs.has_leases()
    }

    /// When the job's lease ends.
    pub(super) fn lease(&self, job: JobId) -> Option<Ticks> {
        let slot = self.jobs.find(job)?;
        self.jobs.lease(slot)
    }

    /// Gives a job a lease of this duration from the present time on, or no lease. A duration that
    /// would last until the end of time stands for no lease.
    pub(super) fn set_lease(&mut self, slot: Slot, ticks: Option<NonZeroU64>) {
        let ends = ticks.map(|ticks| self.clock.saturating_add(ticks.get()));
        self.jobs.set_lease(slot, ends);
    }

    /// The cell of the job, whose lease must have ended.
    pub(super) fn ended(&self, job: JobId, now: Ticks) -> Result<Cell, Error> {
        let cell = self.jobs.cell_of(job).ok_or(Error::UnknownJob)?;
        let ends = self.jobs.lease(self.jobs.in_cell(cell));
        if ends.is_some_and(|ends| ends <= self.clock.max(now)) {
            Ok(cell)
        } else {
            Err(Error::LeaseRuns)
        }
    }

    /// Releases a job whose lease has ended. Returns the number of processors that it held.
    pub(super) fn end_lease(&mut self, cell: Cell, now: Ticks, pauses: Option<&Pauses<'_>>) -> u32 {
        let job = self.jobs.get(self.jobs.in_cell(cell)).id();
        let processors = self.release(cell, now, pauses);
        self.events += 1;
        self.counts.lease_ends += 1;
        let ended = Ended {
            job,
            at: self.clock,
            processors,
            by: [None; _],
        };
        self.jobs.remember_end(self.events, ended);
        processors
    }
}
