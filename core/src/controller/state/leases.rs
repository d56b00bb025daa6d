//! Saving leases and restoring them.

use serde::{Deserialize, Serialize};

use super::Controller;
use crate::checkpoint::items::ItemKind;
use crate::checkpoint::{RestoreError, Writer, consistent};
use crate::job_id::JobId;
use crate::jobs::{Ended, Leases};
use crate::request::Ticks;
use crate::scheduler::ServedScheduler;
use crate::strategy::ServedStrategy;

/// A saved lease, or the remembered end of a lease or a grant.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum SavedLease {
    Runs {
        job: JobId,
        ends: Ticks,
    },
    Ended {
        number: u64,
        ended: Ended,
    },
    #[cfg(feature = "preemption")]
    Preempted {
        number: u64,
        ended: Ended,
        by: JobId,
    },
}

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    pub(super) fn save_leases(&self, to: &mut Writer<'_>) {
        to.begin(ItemKind::Leases);
        for (job, ends) in self.jobs.save_leases() {
            to.put(&SavedLease::Runs { job, ends });
        }
        for (number, ended) in self.jobs.ended_since(0) {
            #[cfg(feature = "preemption")]
            if let [Some(by)] = ended.by {
                to.put(&SavedLease::Preempted { number, ended, by });
                continue;
            }
            to.put(&SavedLease::Ended { number, ended });
        }
    }

    /// Takes an item of a checkpoint after all jobs are restored. `before` has two numbers: that of
    /// the latest end that was restored, and that of the latest event. Returns the number of the
    /// end that this item restores, or the former.
    pub(super) fn restore_lease(
        &mut self,
        saved: SavedLease,
        before: (u64, u64),
    ) -> Result<u64, RestoreError> {
        match saved {
            SavedLease::Runs { .. } if !Leases::BUILT => Err(RestoreError::Format),
            SavedLease::Runs { job, ends } => {
                let slot = self.jobs.find(job).ok_or(RestoreError::Inconsistent)?;
                consistent((1..Ticks::MAX).contains(&ends) && self.jobs.lease(slot).is_none())?;
                self.jobs.set_lease(slot, Some(ends));
                Ok(before.0)
            }
            SavedLease::Ended { number, ended } => self.restore_end(number, ended, before),
            #[cfg(feature = "preemption")]
            SavedLease::Preempted { number, ended, by } => {
                let by = [Some(by)];
                self.restore_end(number, Ended { by, ..ended }, before)
            }
        }
    }

    fn restore_end(
        &mut self,
        number: u64,
        ended: Ended,
        (latest_end, latest): (u64, u64),
    ) -> Result<u64, RestoreError> {
        consistent(number > latest_end && number <= latest)?;
        self.jobs.remember_end(number, ended);
        Ok(number)
    }
}

#[cfg(all(test, feature = "leases", feature = "first-fit", feature = "fcfs"))]
mod tests {
    use core::num::NonZeroU64;

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
        let ends = events.filter(|event| event.what == crate::EventKind::LeaseEnded);
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
