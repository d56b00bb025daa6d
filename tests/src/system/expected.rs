//! What a naive controller must answer.

use meshalloc::{Error, JobId, JobState, Outcome, Ticks};

use crate::grid::Grid;
use crate::rig::{Answer, Ended, Granted};
use crate::strategy::Held;

/// A grant that must be reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedGrant {
    /// The job.
    pub job: JobId,
    /// When it was granted.
    pub at: Ticks,
    /// The number of attempts.
    pub attempts: u32,
    /// The failed attempts for which enough processors were free.
    pub misses: u32,
    /// What it holds.
    pub held: Held,
}

/// What a change must lead to.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The grid of the machine after it.
    pub(super) grid: Grid,
    /// The grants, in order.
    pub grants: Vec<ExpectedGrant>,
    /// The leases that have ended and the jobs that were preempted, in order.
    pub ended: Vec<Ended>,
    /// The outcome.
    pub outcome: Result<Outcome, Error>,
    /// The state of a job that was submitted.
    pub state: Option<JobState>,
}

impl Expected {
    /// Whether this is the answer.
    pub fn agrees_with(&self, answer: &Answer) -> bool {
        (self.outcome, self.state) == (answer.outcome, answer.state)
            && self.ended == answer.ended
            && self.grants_agree_with(&answer.grants)
    }

    /// The same without the jobs whose leases have ended since: those that can still be read.
    #[must_use]
    pub fn later(mut self) -> Self {
        let gone = self.ended.iter().filter(|ended| ended.by.is_none());
        let is_gone = |job| gone.clone().any(|ended| ended.job == job);
        self.grants.retain(|grant| !is_gone(grant.job));
        self
    }

    /// Whether a job was granted any of these nodes.
    pub fn grants_any_of(&self, nodes: &[u32]) -> bool {
        let held = self.grants.iter().map(|grant| grant.held.nodes(&self.grid));
        held.flatten().any(|node| nodes.contains(&node))
    }

    /// Whether these are the grants.
    pub fn grants_agree_with(&self, granted: &[Granted]) -> bool {
        let mut pairs = self.grants.iter().zip(granted);
        self.grants.len() == granted.len()
            && pairs.all(|(expected, granted)| {
                expected.held.is(&self.grid, &granted.blocks)
                    && (expected.job, expected.at) == (granted.job, granted.at)
                    && (expected.attempts, expected.misses) == (granted.attempts, granted.misses)
            })
    }
}
