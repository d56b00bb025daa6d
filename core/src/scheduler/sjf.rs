//! Shortest job first (SJF): the waiting job with the shortest estimate tries, unless the head of
//! the queue has waited too long.
//!
//! # Source
//!
//! The policy is folklore. For parallel jobs see P. Krueger, T. Lai and V. Dixit-Radiya, "Job
//! Scheduling Is More Important than Processor Allocation for Hypercube Computers", IEEE Trans. on
//! Parallel and Distributed Systems 5(5), 1994.
//!
//! # Definition
//!
//! After every arrival and departure one job tries. It is the head of the queue if the head has
//! waited for the threshold, else the job with the shortest estimate. Ties go to the job that is
//! first in the queue; jobs without an estimate come last. If the job is granted, the next job is
//! chosen in the same way; if it is refused, the pass ends. So no job overtakes a head that has
//! waited for the threshold.
//!
//! A priority ([`Class`](crate::Class)) does not count against estimates. It decides between equal
//! estimates, and which job is the head. The time that a head has waited begins at its submission,
//! without its priority.
//!
//! # Complexity and memory
//!
//! O(queue) for each attempt.
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! # let mut storage: storage!(mesh 4 x 4, strategies [FirstFit], jobs 8) = Storage::new();
//! # let mut controller = Controller::new(storage.memory(), Configuration {
//! #     machine: Mesh::new(4, 4)?.into(),
//! #     strategy: StrategyKind::FirstFit,
//! #     scheduler: SchedulerKind::ShortestJobFirst { threshold: 100 },
//! # })?;
//! for (job, estimate) in [(1, 10), (2, 300), (3, 20)] {
//!     let request = Request::submesh(4, 4).with_estimate(estimate);
//!     controller.handle(&Change::submit(JobId(job), request), 0)?;
//! }
//! let known = controller.events();
//! controller.handle(&Change::Release { job: JobId(1) }, 10)?;
//! let granted = controller.view().events_since(known).map(|event| event.job);
//! assert!(granted.eq([JobId(3)]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Attempt, Scheduler, Trigger, Try, World};
use crate::jobs::{Queue, Slot};
use crate::request::Ticks;
use crate::strategy::Strategy;

/// Shortest job first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortestJobFirst {
    threshold: Ticks,
}

impl ShortestJobFirst {
    /// Shortest job first; a head that has waited for `threshold` ticks goes before.
    pub(super) const fn new(threshold: Ticks) -> Self {
        ShortestJobFirst { threshold }
    }

    fn choice<S: Strategy>(&self, world: &World<'_, '_, S>) -> Option<Try> {
        let queue = world.queue();
        let head = queue.head()?;
        let waited = world.now.saturating_sub(queue.get(head).submitted());
        if waited >= self.threshold {
            return Some(Try::Freely(head));
        }
        let shortest = queue.slots().min_by_key(|&job| world.would_end(job, 0));
        shortest.map(Try::Freely)
    }
}

impl Scheduler for ShortestJobFirst {
    fn first<S: Strategy>(
        &mut self,
        world: &mut World<'_, '_, S>,
        _trigger: Trigger,
    ) -> Option<Try> {
        self.choice(world)
    }

    fn next<S: Strategy>(&mut self, world: &mut World<'_, '_, S>, attempt: Attempt) -> Option<Try> {
        attempt.outcome.ok()?;
        self.choice(world)
    }

    /// Any job in the queue may be the next.
    fn left(&self, queue: Queue<'_>, _next: Slot) -> u32 {
        queue.len()
    }
}
