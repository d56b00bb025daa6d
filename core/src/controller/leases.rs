//! Leases: a job that has one is released when it ends, unless it was renewed.
//!
//! A lease begins with the submission ([`Command::SubmitLeased`](crate::Command::SubmitLeased)) or with [`Command::Lease`](crate::Command::Lease), which renews it
//! as well: it counts while the job waits, too, so that a client that is gone leaves nothing behind. Its end is an event with a number among those of the grants.
//!
//! A lease ends when the controller's clock has reached its end, behind the command that has brought it there and all that follows from that one.
//! [`Controller::handle`] and the methods of commands see to that by themselves, and [`Controller::end_leases`] where time goes by without commands. Where
//! commands are begun ([`Controller::begin`]), [`Controller::lease_ended`] says which lease to end next, with
//! [`Command::EndLease`](crate::Command::EndLease). A command that is refused ends none.

#[cfg(feature = "restore")]
use serde::{Deserialize, Serialize};

use super::{Controller, Grants, View};
#[cfg(feature = "restore")]
use crate::checkpoint::{Kind, RestoreError, Writer, consistent};
use crate::error::Error;
use crate::jobs::LeaseEnded;
use crate::pause::Pauses;
use crate::request::{JobId, Ticks};

impl Controller<'_> {
    /// The job whose lease has ended first by now, and when that was; of several the one with the least name.
    ///
    /// # Time complexity
    ///
    /// O(1) as long as no lease can have ended, else O(jobs).
    pub fn lease_ended(&mut self, now: Ticks) -> Option<(Ticks, JobId)> {
        self.jobs.lease_ended(self.clock.max(now))
    }

    /// Whether a lease may have ended by now. If not, none has; if so, [`Controller::lease_ended`] knows. O(1).
    #[inline]
    pub fn may_lease_have_ended(&self, now: Ticks) -> bool {
        self.jobs.may_have_ended(self.clock.max(now))
    }

    /// Whether a job has a lease. O(jobs) if one may have, else O(1).
    pub fn has_leases(&self) -> bool {
        self.jobs.has_leases()
    }

    /// Ends every lease that has ended by now, each at its time, with all that follows from it. `granted` is called for every job that is granted in
    /// consequence.
    pub fn end_leases(&mut self, now: Ticks, granted: Grants<'_>) {
        self.finish(granted);
        while let Some((ends, job)) = self.lease_ended(now) {
            if self.begin_end_lease(job, ends, None).is_err() {
                return;
            }
            self.finish(granted);
        }
    }

    /// Ends the first lease whose end the clock has reached, but for the scheduling that follows from it.
    pub(super) fn end_next_lease(&mut self) -> Option<LeaseEnded> {
        let (_, job) = self.lease_ended(self.clock)?;
        self.begin_end_lease(job, self.clock, None).ok()
    }

    /// The job has a lease of so many ticks from now on, in place of the one it had; with 0 ticks, or so many that it would last until the end of
    /// time, it has none. `granted` is called for every job that is granted: by a pass that was under way, or in consequence of a lease
    /// that has ended.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownJob`].
    pub fn lease(
        &mut self,
        job: JobId,
        ticks: Ticks,
        now: Ticks,
        granted: Grants<'_>,
    ) -> Result<(), Error> {
        self.finish(granted);
        self.begin_lease(job, ticks, now)?;
        self.settle(granted);
        Ok(())
    }

    /// [`Controller::lease`], but for what follows from it.
    pub(super) fn begin_lease(
        &mut self,
        job: JobId,
        ticks: Ticks,
        now: Ticks,
    ) -> Result<(), Error> {
        let slot = self.jobs.find(job).ok_or(Error::UnknownJob)?;
        self.clock = self.clock.max(now);
        let ends = (ticks > 0).then(|| self.clock.saturating_add(ticks));
        self.jobs.set_lease(slot, ends);
        Ok(())
    }

    /// The job's lease has ended: it is released.
    pub(super) fn begin_end_lease(
        &mut self,
        job: JobId,
        now: Ticks,
        pauses: Option<&Pauses<'_>>,
    ) -> Result<LeaseEnded, Error> {
        let slot = self.jobs.find(job).ok_or(Error::UnknownJob)?;
        let ends = self.jobs.lease(slot);
        if ends.is_none_or(|ends| ends > self.clock.max(now)) {
            return Err(Error::LeaseRuns);
        }
        let processors = self.begin_release(job, now, pauses)?;
        self.events += 1;
        let ended = LeaseEnded {
            job,
            at: self.clock,
            processors,
        };
        self.jobs.remember_end(self.events, ended);
        Ok(ended)
    }
}

/// What is saved.
#[cfg(feature = "restore")]
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum SavedLease {
    Runs { job: JobId, ends: Ticks },
    Ended { number: u64, ended: LeaseEnded },
}

#[cfg(feature = "restore")]
impl Controller<'_> {
    pub(super) fn save_leases(&self, to: &mut Writer<'_>) {
        to.begin(Kind::Leases);
        for (job, ends) in self.jobs.save_leases() {
            to.put(&SavedLease::Runs { job, ends });
        }
        for (number, ended) in self.jobs.leases_ended_since(0) {
            to.put(&SavedLease::Ended { number, ended });
        }
    }

    /// Takes back what was saved; all jobs are there. `latest` are the numbers of the latest end that was restored, and of the latest event.
    /// Returns the former.
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

impl<'a> View<'a, '_> {
    /// The leases that ended after the event of this number, in order, each with the number of its event: as many as are
    /// remembered ([`LEASES_ENDED_MAX`](crate::jobs::LEASES_ENDED_MAX)).
    pub fn leases_ended_since(&self, number: u64) -> impl Iterator<Item = (u64, LeaseEnded)> + 'a {
        self.jobs.leases_ended_since(number)
    }
}

#[cfg(all(test, feature = "restore", feature = "first-fit", feature = "fcfs"))]
mod tests {
    use super::*;
    use crate::{Configuration, Mesh, Request, SchedulerKind, Storage, StrategyKind};

    #[test]
    fn a_lease_is_restored_once_and_with_an_end() {
        let mut storage = Storage::<8, 4>::new();
        let configuration = Configuration {
            machine: Mesh::new(8, 8).unwrap().into(),
            strategy: StrategyKind::FirstFit,
            scheduler: SchedulerKind::Fcfs,
        };
        let mut controller = Controller::new(storage.memory(), configuration).unwrap();
        let job = JobId(1);
        let submitted = controller.submit(job, Request::submesh(2, 2), 0, &mut |_| ());
        assert!(submitted.is_ok());
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
