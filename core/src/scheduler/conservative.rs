//! Conservative backfilling: every job that has to wait holds a reservation, and no job delays one before it.
//!
//! # Source
//!
//! A. Mu'alem and D. Feitelson, "Utilization, Predictability, Workloads, and User Runtime Estimates in Scheduling the IBM SP2 with
//! Backfilling", IEEE Trans. on Parallel and Distributed Systems 12(6), 2001, section 2. Here a reservation is one of a block, as in
//! [`Easy`], of which this is the case without a limit.
//!
//! # Complexity and memory
//!
//! Those of [`Easy`], with as many reservations as jobs that wait: O(Q (k + Q)) searches after a departure.

use super::easy::Easy;
use super::{Attempt, Event, Scheduler, Try, World};

/// Conservative backfilling.
#[derive(Clone, Copy, Debug)]
pub struct Conservative(Easy);

impl Conservative {
    /// Conservative backfilling before any job.
    pub const fn new() -> Self {
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
}
