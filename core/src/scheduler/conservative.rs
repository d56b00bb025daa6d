//! Conservative backfilling: every job that has to wait holds a reservation, and begins beside those of the jobs before it.
//!
//! # Source
//!
//! A. Mu'alem and D. Feitelson, "Utilization, Predictability, Workloads, and User Runtime Estimates
//! in Scheduling the IBM SP2 with Backfilling", IEEE Trans. on Parallel and Distributed Systems
//! 12(6), 2001, section 2. Here a reservation is one of blocks, as in [`Easy`], of which this is
//! the case without a limit.
//!
//! # Differences from the paper
//!
//! Reservations are made anew in the order of the queue, where the paper keeps them and only moves them to earlier times. With
//! perfect estimates the reservation of the head never moves to a later time, and none does if processors are reserved by number. A block may
//! become another one, so that the block of a job behind it has to move, sometimes to a later time.
//!
//! # Complexity and memory
//!
//! Those of [`Easy`], with as many reservations as jobs that wait: O(Q (k + Q)) searches after a departure.
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! # let mut storage: Storage<4, 8> = Storage::new();
//! # let mut controller = Controller::new(storage.memory(), Configuration {
//! #     machine: Mesh::new(4, 4)?.into(),
//! #     strategy: StrategyKind::AdaptiveScan,
//! #     scheduler: SchedulerKind::Conservative,
//! # })?;
//! for (job, w, h, estimate) in [(1, 3, 4, 10), (2, 4, 2, 20), (3, 3, 3, 10), (4, 2, 4, 5)] {
//!     let request = Request::submesh(w, h).with_estimate(estimate);
//!     controller.submit(JobId(job), request, 0, &mut |_| ())?;
//! }
//! let queue = controller.jobs().queue();
//! let reserved = queue.slots().map(|slot| queue.get(slot).reserved_from());
//! // Job 2 after job 1, job 3 after job 2; job 4 turned, beside job 2.
//! assert!(reserved.eq([Some(10), Some(30), Some(10)]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::easy::Easy;
use super::{Attempt, Event, Scheduler, Try, World};
#[cfg(feature = "restore")]
use crate::checkpoint::{Reader, RestoreError, Writer};

/// Conservative backfilling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conservative(Easy);

impl Conservative {
    /// Conservative backfilling before any job.
    pub(crate) const fn new() -> Self {
        Conservative(Easy::new(u64::MAX))
    }
}

impl Default for Conservative {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheduler for Conservative {
    fn first(&mut self, world: &mut World<'_, '_>, event: Event) -> Option<Try> {
        self.0.first(world, event)
    }

    fn next(&mut self, world: &mut World<'_, '_>, attempt: Attempt) -> Option<Try> {
        self.0.next(world, attempt)
    }

    fn faults_changed(&mut self) {
        self.0.faults_changed();
    }

    #[cfg(feature = "restore")]
    fn save(&self, state: &mut Writer<'_>) {
        self.0.save(state);
    }

    #[cfg(feature = "restore")]
    fn restore(&mut self, state: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.0.restore(state)
    }
}
