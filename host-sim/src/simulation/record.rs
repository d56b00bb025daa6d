//! A job that is present.

use meshalloc::Ticks;

use super::held::Held;
use crate::workload::Job;

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Arrived, and not submitted yet, or without a reply so far.
    Kept,
    /// In the controller's queue.
    Waits,
    Runs,
    /// Departed, or refused for good.
    Gone,
}

/// A job that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) job: Job,
    pub(super) granted: Ticks,
    pub(super) held: u32,
    pub(super) misses: u32,
    pub(super) stage: Stage,
    pub(super) blocks: Held,
}
