//! Why a job of a controller waits: the rule of [`Reason::of`], applied to the controller's jobs
//! and strategy.

use super::Controller;
use crate::error::{Error, Refusal};
use crate::job_id::JobId;
use crate::jobs::Slot;
use crate::message::WhyReport;
use crate::pause::Pauses;
use crate::reason::{Reason, Waits};
use crate::request::Request;
use crate::scheduler::kind::SchedulerKind;
use crate::scheduler::{ServedScheduler, World};
use crate::strategy::{ServedStrategy, Strategy};

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    /// Why this job waits. Nothing changes. A scheduler of your own is taken for the one under
    /// whose name it is configured.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownJob`]; [`Error::Busy`] while a pass is under way.
    ///
    /// # Time complexity
    ///
    /// That of at most three attempts, and O(waiting jobs). If processors are faulty, also O(words)
    /// of the machine and of the blocks that all jobs hold. All searches pause.
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
    /// for (job, w) in [(1, 3), (2, 2), (3, 1)] {
    ///     controller.handle(&Change::submit(JobId(job), Request::submesh(w, 4)), 0)?;
    /// }
    /// let reason = |controller: &mut Controller<'_>, job| controller.why(JobId(job), None);
    /// assert_eq!(reason(&mut controller, 1)?.reason, None); // it runs
    /// assert_eq!(reason(&mut controller, 2)?.reason, Some(Reason::TooFewFree));
    /// assert_eq!(reason(&mut controller, 3)?.reason, Some(Reason::NotItsTurn));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn why(&mut self, job: JobId, pauses: Option<&Pauses<'_>>) -> Result<WhyReport, Error> {
        if self.is_scheduling() {
            return Err(Error::Busy { left: self.left() });
        }
        let slot = self.jobs.find(job).ok_or(Error::UnknownJob)?;
        let (scheduler, now) = (self.scheduler_kind, self.statistics());
        let entry = self.jobs.get(slot);
        let mut report = WhyReport {
            job,
            reason: None,
            ahead: 0,
            needs: entry.demand(),
            free: now.free,
            faulty: now.faulty,
        };
        if entry.is_running() {
            report.needs = entry.processors();
            return Ok(report);
        }
        report.ahead = self.jobs.queue().ahead(slot);
        let request = *entry.request();
        let (_, world) = self.world(pauses);
        let mut waiting = Waiting {
            world,
            slot,
            scheduler,
            ahead: report.ahead,
            is_any_faulty: now.faulty > 0,
        };
        report.reason = Some(Reason::of(&request, &mut waiting));
        Ok(report)
    }
}

/// A job that waits, in its world.
struct Waiting<'a, 'm, S> {
    world: World<'a, 'm, S>,
    slot: Slot,
    scheduler: SchedulerKind,
    ahead: u32,
    is_any_faulty: bool,
}

impl<S: Strategy> Waits for Waiting<'_, '_, S> {
    /// A waiting job has a demand: a request without one would have been refused.
    fn never(&mut self) -> Option<Refusal> {
        None
    }

    fn fits_alone(&mut self) -> bool {
        if !self.is_any_faulty {
            return true;
        }
        let (jobs, allocator, pause) = self.world.parts();
        let job = jobs.get(self.slot);
        let request = job.request();
        let mut supposition = allocator.suppose_for(request, Some(jobs), pause.as_ref());
        for running in jobs.running() {
            supposition.give_back_blocks(running.blocks());
        }
        supposition.may_fit(request, job.demand())
    }

    fn before(&mut self) -> u32 {
        let queue = self.world.queue();
        let estimate = |slot| queue.get(slot).request().estimate;
        let own = (self.ahead, estimate(self.slot));
        self.scheduler.before(own, queue.slots().map(estimate))
    }

    fn is_behind_reservations(&mut self) -> bool {
        self.scheduler.reserves() && self.ahead > 0
    }

    fn attempt(&mut self, request: &Request) -> Result<(), Refusal> {
        let (jobs, allocator, pause) = self.world.parts();
        let demand = allocator.demand(request)?;
        allocator.attempt_with(request, demand, Some(jobs), pause.as_ref())
    }
}
