//! A job that is present.

use meshalloc::{Block, Refusal, Ticks};

use super::observer::{JobRecord, Waits};
use super::queue::Place;
use crate::workload::Job;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Arrived, but not submitted yet, or submitted without a reply so far.
    Kept,
    /// In the controller's queue.
    Waits,
    /// Holds processors. The job runs, unless it was interrupted and waits until its processors
    /// work.
    Runs,
    /// Departed, or refused for good.
    Gone,
}

/// A job that has arrived.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) job: Job,
    /// Its place in the order of the queue: jobs with lower places are before it.
    pub(super) place: Place,
    pub(super) stage: Stage,
    pub(super) blocks: Vec<Block>,
    pub(super) held: u32,
    pub(super) misses: u32,
    /// How often it was granted processors.
    pub(super) grants: u32,
    /// The processors that must be free for it.
    pub(super) wants: u32,
    /// The times of its first and its last start.
    pub(super) granted: Ticks,
    pub(super) started: Ticks,
    /// The place of its completion in the order of insertion; 0 if it was never started.
    pub(super) order: u64,
    /// The rest of its service time at its last start.
    pub(super) left: Ticks,
    /// Whether it ends at its estimate, before its work is done.
    pub(super) is_killed: bool,
    /// The causes for which it waited before its first start, if that is measured.
    pub(super) waits: Waits,
    /// The time at which it was interrupted, if it has not started again since.
    pub(super) interrupted: Option<Ticks>,
    /// Whether another job interrupted it, and not a failure.
    pub(super) is_preempted: bool,
    pub(super) restarts: u32,
    /// The ticks from interruptions by failures to the restarts after them.
    pub(super) until_restart: Ticks,
    /// Ticks of work that it lost by failures.
    pub(super) lost: Ticks,
    /// How often another job took its processors, and the ticks of work that it lost by that.
    pub(super) preemptions: u32,
    pub(super) preempted: Ticks,
}

impl Record {
    /// A job that arrives, with memory for its blocks.
    #[inline]
    pub(super) fn new(job: Job, wants: u32, place: Place, blocks: Vec<Block>) -> Self {
        Record {
            job,
            place,
            stage: Stage::Kept,
            blocks,
            held: 0,
            misses: 0,
            grants: 0,
            wants,
            granted: 0,
            started: 0,
            order: 0,
            left: job.work.service().unwrap_or(0),
            is_killed: false,
            waits: Waits::default(),
            interrupted: None,
            is_preempted: false,
            restarts: 0,
            until_restart: 0,
            lost: 0,
            preemptions: 0,
            preempted: 0,
        }
    }

    /// Whether it has arrived and has no processors yet.
    #[inline]
    pub(super) const fn waits(&self) -> bool {
        matches!(self.stage, Stage::Kept | Stage::Waits)
    }

    /// It starts now, and completes at this place in the order of insertion.
    #[inline]
    pub(super) fn start(&mut self, now: Ticks, order: u64) {
        if let Some(at) = self.interrupted.take()
            && !std::mem::take(&mut self.is_preempted)
        {
            self.restarts += 1;
            self.until_restart += now - at;
        }
        if self.order == 0 {
            self.granted = now;
        }
        (self.started, self.order) = (now, order);
    }

    /// The record for an observer. `end` is the time at which the job left.
    pub(super) fn seen(
        &self,
        number: u32,
        is_measured: bool,
        end: Option<Ticks>,
        refused: Option<Refusal>,
    ) -> JobRecord<'_> {
        let has_started = self.order > 0;
        let runs = has_started && self.interrupted.is_none();
        JobRecord {
            number,
            job: &self.job,
            is_measured,
            start: has_started.then_some(self.granted),
            last_start: runs.then_some(self.started),
            end,
            misses: self.misses,
            restarts: self.restarts,
            lost: self.lost,
            preemptions: self.preemptions,
            preempted: self.preempted,
            is_killed: self.is_killed,
            waits: &self.waits,
            held: self.held,
            blocks: &self.blocks,
            refused,
        }
    }
}
