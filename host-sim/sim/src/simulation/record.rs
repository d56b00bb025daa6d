//! A job that is present.

use meshalloc::{Refusal, Ticks};

use super::held::{Held, Lists};
use super::observer::JobRecord;
use crate::workload::Job;

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
    /// How often it was granted processors.
    pub(super) grants: u32,
    /// The processors that must be free for it.
    pub(super) wants: u32,
    pub(super) stage: Stage,
    pub(super) blocks: Held,
}

impl Record {
    /// Whether it has arrived and has no processors yet.
    #[inline]
    pub(super) const fn waits(&self) -> bool {
        matches!(self.stage, Stage::Kept | Stage::Waits)
    }

    /// What an observer receives of it; `end` is when it left, `attempt` what failures did to it.
    pub(super) fn seen<'r>(
        &'r self,
        number: u32,
        lists: &'r Lists,
        is_measured: bool,
        end: Option<Ticks>,
        refused: Option<Refusal>,
        attempt: &Attempt,
    ) -> JobRecord<'r> {
        let blocks = lists.get(&self.blocks);
        let start = (!blocks.is_empty() || attempt.has_started()).then_some(self.granted);
        JobRecord {
            number,
            job: &self.job,
            is_measured,
            start,
            last_start: attempt.last_start().unwrap_or(start),
            end,
            misses: self.misses,
            restarts: attempt.restarts,
            lost: attempt.lost,
            held: self.held,
            blocks,
            refused,
        }
    }
}

/// A job that was started, and what it has lost so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attempt {
    /// The place of its completion in the order of insertion.
    pub(super) order: u64,
    /// When it started last.
    pub(super) start: Ticks,
    /// Work that was left then.
    pub(super) left: Ticks,
    /// When it was interrupted, if it has not started since.
    pub(super) interrupted: Option<Ticks>,
    pub(super) restarts: u32,
    /// From interruptions to restarts, in ticks.
    pub(super) until_restart: Ticks,
    /// Ticks that are lost.
    pub(super) lost: Ticks,
    /// Its place in the queue, if it has joined the end again.
    pub(super) place: Option<Place>,
}

/// A place in the queue: the number of the first job that arrived behind it, and a number among
/// those with the same.
pub(super) type Place = (u32, u32);

impl Attempt {
    pub(super) const fn has_started(&self) -> bool {
        self.order > 0
    }

    /// When the job started, unless it was interrupted since; nothing if that is not known here.
    pub(super) fn last_start(&self) -> Option<Option<Ticks>> {
        let start = self.interrupted.is_none().then_some(self.start);
        self.has_started().then_some(start)
    }
}
