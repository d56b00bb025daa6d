//! Bypass queue (BQ): after a departure all waiting jobs may try, until the head has waited too
//! long.
//!
//! # Source
//!
//! C. Chang and P. Mohapatra, "An Integrated Processor Management Scheme for the Mesh-Connected
//! Multicomputer Systems", section 2.1 and Fig. 2. With the strategy
//! [`FixedOrientation`](crate::StrategyKind::FixedOrientation) it is the paper's integrated scheme.
//!
//! # Differences from the paper
//!
//! In Fig. 2 a head that is granted after it has waited for the threshold time ends the scan; the
//! next head waits for another departure. Here the next head always tries after a granted one, as
//! under first come, first served. A threshold of 0 is first come, first served.
//!
//! A priority ([`Class`](crate::Class)) counts for the place in the queue, not for the time that
//! the head has waited. A job that becomes the head as it arrives tries at once. If it is refused,
//! the jobs behind it try, as after a departure. Any other arrival waits for a departure.
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: storage!(mesh 4 x 4, strategies [FirstFit], jobs 16) = Storage::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(4, 4)?.into(),
//!     strategy: StrategyKind::FirstFit,
//!     scheduler: SchedulerKind::BypassQueue { threshold: 100 },
//! })?;
//! let mut submit = |job, now, w, h| {
//!     controller.handle(&Change::submit(JobId(job), Request::submesh(w, h)), now)
//! };
//! submit(1, 0, 4, 2)?;
//! submit(2, 0, 4, 2)?;
//! submit(3, 5, 4, 4)?; // the head: it waits for all of the mesh
//! submit(4, 6, 2, 2)?; // joins the queue
//! let known = controller.events();
//! controller.handle(&Change::Release { job: JobId(1) }, 50)?;
//! // The head has waited for 45 ticks, so job 4 may bypass it.
//! let granted = controller.view().events_since(known).map(|event| event.job);
//! assert!(granted.eq([JobId(4)]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Attempt, Scheduler, Trigger, Try, World};
use crate::request::Ticks;
use crate::strategy::Strategy;

/// Bypass queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BypassQueue {
    threshold: Ticks,
    /// Whether the job that tries is the head of the queue.
    head_tries: bool,
}

impl BypassQueue {
    /// A bypass queue; no job bypasses a head that has waited for `threshold` ticks.
    pub(super) const fn new(threshold: Ticks) -> Self {
        BypassQueue {
            threshold,
            head_tries: false,
        }
    }
}

impl Scheduler for BypassQueue {
    fn first<S: Strategy>(
        &mut self,
        world: &mut World<'_, '_, S>,
        trigger: Trigger,
    ) -> Option<Try> {
        let head = world.queue().head()?;
        self.head_tries = true;
        match trigger {
            Trigger::Arrival(job) => (job == head).then_some(Try::Freely(job)),
            Trigger::Departure => Some(Try::Freely(head)),
        }
    }

    fn next<S: Strategy>(&mut self, world: &mut World<'_, '_, S>, attempt: Attempt) -> Option<Try> {
        let head = world.queue().get(world.queue().head()?);
        if attempt.outcome.is_ok() && self.head_tries {
            return attempt.following.map(Try::Freely);
        }
        self.head_tries = false;
        let waited = world.now.saturating_sub(head.submitted());
        if waited < self.threshold {
            attempt.following.map(Try::Freely)
        } else {
            None
        }
    }
}
