//! Leases: a job that has one is released when it ends, unless it was renewed.
//!
//! A lease begins with the submission or with [`Change::Lease`], which also renews it. It runs
//! while the job waits, too, so that a client that is gone leaves nothing behind. Its end is an
//! event with a number among those of the grants.
//!
//! A lease ends when the clock has reached its end and everything that follows from the change that
//! brought the clock there is done. [`Controller::handle`] sees to that. A caller of
//! [`Controller::begin`] asks [`Controller::lease_ended`] for the lease to end next, and begins a
//! [`Change::EndLease`]. The same call ends leases where time goes by without a change. A change
//! that is refused ends none.
//!
//! Without the feature `leases` there are none, and a change that gives one is refused.

use core::num::NonZeroU64;

#[cfg(feature = "restore")]
use serde::{Deserialize, Serialize};

use super::Controller;
#[cfg(feature = "restore")]
use crate::checkpoint::{ItemKind, RestoreError, Writer, consistent};
use crate::error::Error;
use crate::jobs::{Cell, LeaseEnded, Slot};
#[cfg(doc)]
use crate::message::Change;
use crate::pause::Pauses;
use crate::request::{JobId, Ticks};
use crate::scheduler::ServedScheduler;
use crate::strategy::ServedStrategy;

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    /// The job whose lease has ended first by now, and when that was; of several the one with the
    /// least name.
    ///
    /// # Time complexity
    ///
    /// O(1) as long as no lease can have ended, else O(jobs).
    pub fn lease_ended(&mut self, now: Ticks) -> Option<(Ticks, JobId)> {
        self.jobs.lease_ended(self.clock.max(now))
    }

    /// Whether a lease may have ended by now: if not, [`Controller::lease_ended`] finds none. O(1).
    #[inline]
    pub fn may_lease_have_ended(&self, now: Ticks) -> bool {
        self.jobs.may_have_ended(self.clock.max(now))
    }

    /// Whether a job has a lease. O(jobs) if one may have, else O(1).
    pub fn has_leases(&self) -> bool {
        self.jobs.has_leases()
    }

    /// When the job's lease ends.
    pub(super) fn lease(&self, job: JobId) -> Option<Ticks> {
        let slot = self.jobs.find(job)?;
        self.jobs.lease(slot)
    }

    /// Gives a job a lease of this duration from the clock on, or none. One that would last until
    /// the end of time is none.
    pub(super) fn set_lease(&mut self, slot: Slot, ticks: Option<NonZeroU64>) {
        let ends = ticks.map(|ticks| self.clock.saturating_add(ticks.get()));
        self.jobs.set_lease(slot, ends);
    }

    /// The job, whose lease has ended.
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
        let ended = LeaseEnded {
            job,
            at: self.clock,
            processors,
        };
        self.jobs.remember_end(self.events, ended);
        processors
    }
}

/// A saved lease.
#[cfg(feature = "restore")]
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum SavedLease {
    Runs { job: JobId, ends: Ticks },
    Ended { number: u64, ended: LeaseEnded },
}

#[cfg(feature = "restore")]
impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    pub(super) fn save_leases(&self, to: &mut Writer<'_>) {
        to.begin(ItemKind::Leases);
        for (job, ends) in self.jobs.save_leases() {
            to.put(&SavedLease::Runs { job, ends });
        }
        for (number, ended) in self.jobs.leases_ended_since(0) {
            to.put(&SavedLease::Ended { number, ended });
        }
    }

    /// Takes an item of a checkpoint; all jobs are restored. `latest_end` is the number of the
    /// latest end that was restored, `latest` that of the latest event. Returns the former.
    pub(super) fn restore_lease(
        &mut self,
        saved: SavedLease,
        (latest_end, latest): (u64, u64),
    ) -> Result<u64, RestoreError> {
        match saved {
            SavedLease::Runs { job, ends } => {
                let slot = self.jobs.find(job).ok_or(RestoreError::Inconsistent)?;
                consistent((1..Ticks::MAX).contains(&ends) && self.jobs.lease(slot).is_none())?;
                self.jobs.set_lease(slot, Some(ends));
                Ok(latest_end)
            }
            SavedLease::Ended { number, ended } => {
                consistent(number > latest_end && number <= latest)?;
                self.jobs.remember_end(number, ended);
                Ok(number)
            }
        }
    }
}

#[cfg(all(
    test,
    feature = "leases",
    feature = "restore",
    feature = "first-fit",
    feature = "fcfs"
))]
mod tests {
    use super::*;
    use crate::{Change, Configuration, Mesh, Request, SchedulerKind, Storage, StrategyKind};

    fn configuration() -> Configuration {
        Configuration {
            machine: Mesh::new(8, 8).unwrap().into(),
            strategy: StrategyKind::FirstFit,
            scheduler: SchedulerKind::Fcfs,
        }
    }

    #[test]
    fn ends_that_are_not_remembered_are_counted() {
        let mut storage = Storage::<8, 20>::new();
        let mut controller = Controller::new(storage.memory(), configuration()).unwrap();
        for job in (0..20).map(JobId) {
            let submit = Change::Submit {
                job,
                request: Request::submesh(1, 1),
                lease: Some(NonZeroU64::MIN),
            };
            assert!(controller.handle(&submit, 0).is_ok());
        }
        let submit = Change::submit(JobId(20), Request::submesh(1, 1));
        assert!(controller.handle(&submit, 1).is_err(), "the table is full");
        let release = Change::Release { job: JobId(0) };
        assert!(controller.handle(&release, 1).is_ok());
        let events = controller.view();
        let events = events.events_since(0);
        let ends = events.filter(|event| event.what == crate::Happened::LeaseEnded);
        assert_eq!(ends.count(), crate::jobs::LEASES_ENDED_MAX);
        assert_eq!(controller.statistics().counts.lease_ends, 19);
    }

    #[test]
    fn a_lease_is_restored_once_and_with_an_end() {
        let mut storage = Storage::<8, 4>::new();
        let mut controller = Controller::new(storage.memory(), configuration()).unwrap();
        let job = JobId(1);
        let submit = Change::submit(job, Request::submesh(2, 2));
        assert!(controller.handle(&submit, 0).is_ok());
        let mut restore =
            |job, ends| controller.restore_lease(SavedLease::Runs { job, ends }, (0, 1));
        for ends in [0, Ticks::MAX] {
            assert_eq!(
                restore(job, ends),
                Err(RestoreError::Inconsistent),
                "{ends}"
            );
        }
        assert_eq!(restore(JobId(2), 5), Err(RestoreError::Inconsistent));
        assert_eq!(restore(job, 5), Ok(0));
        assert_eq!(restore(job, 6), Err(RestoreError::Inconsistent));
    }
}
