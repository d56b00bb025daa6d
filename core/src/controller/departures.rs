//! Jobs give their processors back: for good, or to wait again.

use super::Controller;
use crate::error::Error;
use crate::job_id::JobId;
use crate::jobs::{Cell, Slot};
use crate::pause::Pauses;
use crate::pool::Chain;
use crate::request::Ticks;
use crate::scheduler::{ServedScheduler, Trigger};
use crate::strategy::ServedStrategy;

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    /// Interrupts running jobs: they give their processors back and wait again, even if they were
    /// submitted as jobs that never wait. Each takes its place in the queue by submission time less
    /// priority; ties: the smaller name first. Attempts, misses and the lease stay.
    ///
    /// A scheduling pass begins as after a release, even if `jobs` is empty;
    /// [`Controller::advance`] makes its attempts. When a job is granted again, it has a new event,
    /// and the event of its earlier grant is gone.
    ///
    /// This is for a simulator in this process. `Change::Preempt` does the same to the victims of a
    /// job.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] while a pass is under way; [`Error::UnknownJob`] if one of the jobs does not
    /// run. Nothing has changed then.
    ///
    /// # Time complexity
    ///
    /// For each job O(queue), and that of [`Allocator::release`](crate::Allocator::release).
    ///
    /// # Example
    ///
    /// ```
    /// use meshalloc::*;
    ///
    /// let mut storage: storage!(mesh 4 x 4, strategies [FirstFit], jobs 8) = Storage::new();
    /// let mut controller = Controller::new(storage.memory(), Configuration {
    ///     machine: Mesh::new(4, 4)?.into(),
    ///     strategy: StrategyKind::FirstFit,
    ///     scheduler: SchedulerKind::Fcfs,
    /// })?;
    /// for (job, now) in [(1, 0), (2, 5)] {
    ///     controller.handle(&Change::submit(JobId(job), Request::submesh(4, 4)), now)?;
    /// }
    /// // Job 1 fails and is before job 2, which arrived later: it starts again.
    /// controller.requeue(&[JobId(1)], 10)?;
    /// while controller.advance(None) {}
    /// let report = controller.view().job(JobId(1))?;
    /// assert_eq!((report.submitted, report.state), (0, JobState::Running { processors: 16 }));
    /// assert_eq!(controller.view().job(JobId(2))?.state, JobState::Waiting { ahead: 0 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn requeue(&mut self, jobs: &[JobId], now: Ticks) -> Result<(), Error> {
        if self.is_scheduling() {
            return Err(Error::Busy { left: self.left() });
        }
        if jobs.iter().any(|&job| self.running(job).is_none()) {
            return Err(Error::UnknownJob);
        }
        self.clock = self.clock.max(now);
        for &job in jobs {
            // A job that is named twice waits already.
            if let Some(slot) = self.running(job) {
                self.interrupt(slot, None);
            }
        }
        self.schedule(Trigger::Departure);
        Ok(())
    }

    /// The slot of the job of this name, if it runs.
    pub(super) fn running(&self, job: JobId) -> Option<Slot> {
        let slot = self.jobs.find(job);
        slot.filter(|&slot| self.jobs.get(slot).is_running())
    }

    /// A running job gives its processors back and waits again.
    pub(super) fn interrupt(&mut self, slot: Slot, pauses: Option<&Pauses<'_>>) {
        // The job was granted, so it has a demand.
        let demand = self.allocator.demand(self.jobs.get(slot).request());
        let blocks = self.jobs.requeue(slot, demand.unwrap_or(u32::MAX));
        self.give_back(blocks, pauses);
    }

    /// The blocks of a job that no longer runs become free. Returns the number of their processors.
    fn give_back(&mut self, blocks: Chain, pauses: Option<&Pauses<'_>>) -> u32 {
        let (_, mut world) = self.world(pauses);
        let (_, allocator, pause) = world.parts();
        allocator.give_back(blocks.head(), pause.as_ref())
    }

    /// Removes a job. Returns the number of processors that it held.
    #[inline(always)]
    pub(super) fn release(&mut self, job: Cell, now: Ticks, pauses: Option<&Pauses<'_>>) -> u32 {
        let held = self.jobs.remove(job);
        self.clock = self.clock.max(now);
        let processors = held.map_or(0, |blocks| self.give_back(blocks, pauses));
        self.counts.released += 1;
        self.schedule(Trigger::Departure);
        processors
    }
}
