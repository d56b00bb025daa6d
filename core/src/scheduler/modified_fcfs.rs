//! Modified FCFS (M-FCFS): when the head is blocked, later jobs try in order, for a limited time.
//!
//! # Source
//!
//! G. Kim and H. Yoon, "A Dynamic Processor Allocation Strategy for Mesh-Connected Multicomputers",
//! 1995, section IV.1.
//!
//! # Differences from the paper
//!
//! The paper's dynamic threshold is `d * lambda`: the mean queueing delay of the jobs allocated so
//! far, times the arrival rate. The paper compares a delay with this product, but the product is a
//! number and not a time. Both readings are here. [`Threshold::Dynamic`] is the literal one: it
//! compares the seconds since the job became head with the product. [`Threshold::Count`] compares
//! the number of jobs that have bypassed the head, which by Little's law has the same dimension.
//!
//! The mean and the rate are taken at the moment of the comparison. Delays of zero count; the rate
//! is the number of arrivals so far over the time so far. The comparison multiplies 128-bit
//! integers, without floating point.
//!
//! If a job arrives while the head is blocked, only the new job tries, if bypassing is allowed. The
//! other waiting jobs try again after the next departure, even if this arrival has raised a dynamic
//! threshold and so allows bypassing again.
//!
//! A job that goes before others by its priority ([`Class`](crate::Class)) tries if it becomes the
//! first of the queue or bypassing is allowed. After it the jobs behind it try, as after a
//! departure.
//!
//! A job that ran and waits again ([`Controller::requeue`](crate::Controller::requeue)) counts
//! neither as an arrival nor, when it is granted, as a delay. A job that joins the queue before the
//! head, or returns to a place before it, does not extend the head's limit: time and count go on
//! for as long as that head waits.
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! # use meshalloc::Threshold;
//! let mut storage: storage!(mesh 4 x 4, strategies [FirstFit], jobs 16) = Storage::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(4, 4)?.into(),
//!     strategy: StrategyKind::FirstFit,
//!     scheduler: SchedulerKind::ModifiedFcfs(Threshold::Static { ticks: 100 }),
//! })?;
//! let mut submit = |job, now, w, h| {
//!     controller.handle(&Change::submit(JobId(job), Request::submesh(w, h)), now)
//! };
//! submit(1, 0, 4, 2)?;
//! submit(2, 5, 4, 4)?; // becomes the head and is blocked
//! submit(3, 50, 2, 2)?; // bypasses it
//! submit(4, 105, 2, 2)?; // the head has waited for 100 ticks at the head
//! let granted = controller.view().events_since(0).map(|event| event.job);
//! assert!(granted.eq([JobId(1), JobId(3)]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Attempt, Scheduler, Threshold, Trigger, Try, World};
use crate::checkpoint::{COUNT_MAX, Reader, RestoreError, Writer, consistent};
use crate::job_id::JobId;
use crate::request::Ticks;
use crate::strategy::Strategy;

/// Modified FCFS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModifiedFcfs {
    threshold: Threshold,
    /// The head's name and arrival. The arrival tells the head from a later job with the same name.
    head: Option<(JobId, Ticks)>,
    head_since: Ticks,
    bypasses: u64,
    /// Whether the job that tries is the head of the queue.
    head_tries: bool,
    arrivals: u64,
    allocated: u64,
    /// The sum of the queueing delays of the allocated jobs, in ticks.
    delays: u64,
}

impl ModifiedFcfs {
    /// Modified FCFS before any job.
    pub(super) const fn new(threshold: Threshold) -> Self {
        ModifiedFcfs {
            threshold,
            head: None,
            head_since: 0,
            bypasses: 0,
            head_tries: false,
            arrivals: 0,
            allocated: 0,
            delays: 0,
        }
    }

    /// Resets the counts if the head has left the queue. A job that returned may be before it.
    fn update_head<S: Strategy>(&mut self, world: &World<'_, '_, S>) {
        let (queue, now) = (world.queue(), world.now);
        let named = |slot| {
            let job = queue.get(slot);
            (job.id(), job.submitted())
        };
        let head = queue.head().map(named);
        let still_waits = |head: (JobId, Ticks)| {
            let slot = world.jobs.find(head.0);
            slot.is_some_and(|slot| !queue.get(slot).is_running() && named(slot) == head)
        };
        if head != self.head && !self.head.is_some_and(still_waits) {
            self.head = head;
            self.head_since = now;
            self.bypasses = 0;
        }
    }

    /// Whether jobs may still bypass the head.
    fn may_bypass(&self, now: Ticks) -> bool {
        let since = now.saturating_sub(self.head_since);
        // mean delay * rate = (delays / allocated) * (arrivals / now)
        let product = |factors: [u64; 3]| {
            let factors = factors.into_iter().map(u128::from);
            factors.fold(1, u128::saturating_mul)
        };
        match self.threshold {
            Threshold::Static { ticks } => since < ticks,
            Threshold::Dynamic { second } => {
                product([since, self.allocated, now])
                    < product([self.delays, self.arrivals, second])
            }
            Threshold::Count => {
                product([self.bypasses, self.allocated, now])
                    < product([self.delays, self.arrivals, 1])
            }
        }
    }
}

impl Scheduler for ModifiedFcfs {
    fn first<S: Strategy>(
        &mut self,
        world: &mut World<'_, '_, S>,
        trigger: Trigger,
    ) -> Option<Try> {
        self.update_head(world);
        let head = world.queue().head()?;
        match trigger {
            Trigger::Arrival(job) => {
                self.arrivals += 1;
                self.head_tries = job == head;
                (self.head_tries || self.may_bypass(world.now)).then_some(Try::Freely(job))
            }
            Trigger::Departure => {
                self.head_tries = true;
                Some(Try::Freely(head))
            }
        }
    }

    fn next<S: Strategy>(&mut self, world: &mut World<'_, '_, S>, attempt: Attempt) -> Option<Try> {
        if attempt.outcome.is_ok() {
            if !attempt.has_run {
                self.allocated += 1;
                let delay = world.now.saturating_sub(attempt.submitted);
                self.delays = self.delays.saturating_add(delay);
            }
            self.bypasses += u64::from(!self.head_tries);
            self.update_head(world);
            if self.head_tries {
                return attempt.following.map(Try::Freely);
            }
        }
        self.head_tries = false;
        if self.may_bypass(world.now) {
            attempt.following.map(Try::Freely)
        } else {
            None
        }
    }

    fn save(&self, state: &mut Writer<'_>) {
        let counts = [self.bypasses, self.arrivals, self.allocated];
        state.put(&(self.head, self.head_since, counts, self.delays));
    }

    fn restore(&mut self, state: &mut Reader<'_>) -> Result<(), RestoreError> {
        let counts: [u64; 3];
        (self.head, self.head_since, counts, self.delays) = state.take()?;
        consistent(counts.iter().all(|&count| count <= COUNT_MAX))?;
        [self.bypasses, self.arrivals, self.allocated] = counts;
        Ok(())
    }
}
