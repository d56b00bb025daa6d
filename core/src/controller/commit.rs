//! The announcement of a change that is about to take effect: [`Commit`]. A caller that keeps a
//! record of changes writes it then.

use super::Controller;
use crate::error::Error;
use crate::message::Change;
use crate::request::Ticks;
use crate::scheduler::ServedScheduler;
use crate::strategy::ServedStrategy;

/// A change that is about to take effect. All checks have passed, and nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The controller's clock after the change.
    pub at: Ticks,
    /// The most bytes that the change may add to a checkpoint, with the grant or the reservation
    /// that follows from it (`Controller::growth_by_time` counts what longer times add); 0
    /// without the feature `restore`.
    pub adds: usize,
    /// Whether the change only sets the clock: everything else is already as the change says.
    pub is_time_only: bool,
}

/// A callback that [`Controller::begin`] calls once for each change that takes effect, before the
/// change does. If the callback returns an error, nothing changes, and `begin` returns the error.
pub type OnCommit<'a> = &'a mut dyn FnMut(Commit) -> Result<(), Error>;

/// A change and the callback that is to learn of it, if there is one.
pub(super) type Announced<'a> = Option<(OnCommit<'a>, Commit)>;

/// Announces the change to the caller.
#[inline(always)]
pub(super) fn commit(announced: Announced<'_>) -> Result<(), Error> {
    match announced {
        Some((on_commit, commit)) => on_commit(commit),
        None => Ok(()),
    }
}

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    /// The announcement that `on_commit` gets of this change if it takes effect next.
    #[inline(always)]
    pub(super) fn announced<'a>(
        &self,
        on_commit: Option<OnCommit<'a>>,
        change: &Change,
        now: Ticks,
    ) -> Announced<'a> {
        let on_commit = on_commit?;
        Some((on_commit, self.about(change, now)))
    }

    /// Announces the change, which takes effect next.
    #[inline(always)]
    pub(super) fn commit(
        &self,
        on_commit: Option<OnCommit<'_>>,
        change: &Change,
        now: Ticks,
    ) -> Result<(), Error> {
        commit(self.announced(on_commit, change, now))
    }

    /// O(words) of the block for faults; O(waiting jobs) for a job whose processors lie apart.
    #[inline(never)]
    fn about(&self, change: &Change, now: Ticks) -> Commit {
        let is_time_only = match *change {
            Change::Lease { job, ticks: None } => self.lease(job).is_none(),
            Change::MarkFaulty { block } => {
                self.occupancy().faulty_in(block) == self.machine().area(block)
            }
            Change::ClearFaulty { block } => self.occupancy().faulty_in(block) == 0,
            _ => false,
        };
        Commit {
            at: match change {
                Change::Configure(_) | Change::Reset => now,
                _ => self.clock.max(now),
            },
            #[cfg(feature = "restore")]
            adds: self.growth(change),
            #[cfg(not(feature = "restore"))]
            adds: 0,
            is_time_only,
        }
    }
}
