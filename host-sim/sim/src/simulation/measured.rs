//! The jobs of a run that are measured, and the conditions of the run.

use std::num::NonZero;
use std::ops::Not;

use meshalloc::{Block, Ticks};
use serde::{Deserialize, Serialize};

use crate::failures::Timeline;
use crate::metrics::SLOWDOWN_THRESHOLD;
use crate::preemption::Preempting;
use crate::workload::TimeUnit;

/// Everything about a run but the machine, the jobs and how they are executed.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Which jobs are measured.
    pub measured: Measured,
    /// If given, the queue never runs empty: jobs arrive in their order, as soon as fewer than this
    /// number wait, whatever their arrival times. The utilization is then that of saturation. Under
    /// first come, first served any number gives the same decisions.
    pub backlog: Option<NonZero<u32>>,
    /// Whether jobs may have priorities. If so, and the controller can get more memory, no job is
    /// kept outside the controller, even under first come, first served.
    pub has_priorities: bool,
    /// The optional measurements, and whether jobs end at their estimates.
    pub switches: Switches,
    /// Run times count as at least this in the bounded slowdown, in ticks, over 0.
    pub slowdown_threshold: Ticks,
    /// Blocks of the grid in which there are no processors. They are not counted.
    pub absent: Vec<Block>,
    /// What fails in the run and is repaired; jobs then have service times.
    pub failures: Option<Timeline>,
    /// If given, jobs make room for those of a higher priority; jobs then have service times. If
    /// failures are given, their checkpoint counts, and not that of `preemption`.
    pub preemption: Option<Preempting>,
}

/// The optional measurements of a run, and whether jobs end at their estimates. A scenario turns
/// each on with the setting of the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Switches {
    /// Measure the largest slice that could be placed, with a search after each change.
    #[serde(skip_serializing_if = "Not::not")]
    pub largest: bool,
    /// Measure why jobs wait, with a few searches for each waiting job after each change.
    #[serde(skip_serializing_if = "Not::not")]
    pub reasons: bool,
    /// End a job when it has run for its estimate since its latest start.
    #[serde(skip_serializing_if = "Not::not")]
    pub kill_at_estimate: bool,
}

/// Conditions without a backlog and without failures. The threshold is [`SLOWDOWN_THRESHOLD`].
impl From<Measured> for Conditions {
    fn from(measured: Measured) -> Self {
        Conditions {
            measured,
            backlog: None,
            has_priorities: false,
            switches: Switches::default(),
            slowdown_threshold: TimeUnit::Second.ticks(SLOWDOWN_THRESHOLD),
            absent: Vec::new(),
            failures: None,
            preemption: None,
        }
    }
}

/// Which jobs are measured, what averages over time are taken over, and when a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// The jobs with these numbers in order of arrival, from 0. Averages are taken from the arrival
    /// of the first to that of the last; jobs arrive until all of these have left.
    Arrivals {
        /// The first.
        first: u32,
        /// One past the last, at most [`JOBS_MAX`](crate::workload::JOBS_MAX).
        end: u32,
    },
    /// This number of jobs (at most [`JOBS_MAX`](crate::workload::JOBS_MAX)), the first to leave,
    /// refused ones as well. Averages are taken from the start to the departure of the last, so the
    /// time in which the machine fills counts. To measure a closed workload as a whole, set this to
    /// its number of jobs.
    Departures(u32),
}

impl Measured {
    /// How many jobs are measured.
    pub const fn count(self) -> u32 {
        match self {
            Measured::Arrivals { first, end } => end.saturating_sub(first),
            Measured::Departures(count) => count,
        }
    }

    /// The number of the first job that is measured.
    pub(super) const fn first(self) -> u32 {
        match self {
            Measured::Arrivals { first, .. } => first,
            Measured::Departures(_) => 0,
        }
    }

    /// Whether the job of this number is measured when it leaves before the end of the run.
    pub(super) fn includes(self, number: u32) -> bool {
        match self {
            Measured::Arrivals { first, end } => (first..end).contains(&number),
            Measured::Departures(_) => true,
        }
    }

    /// The job from whose arrival on a queue that runs empty shows that the backlog does not grow.
    pub(super) const fn half(self) -> u32 {
        match self {
            Measured::Arrivals { first, end } => first.midpoint(end),
            Measured::Departures(count) => count / 2,
        }
    }

    /// The number of jobs that must arrive for these to be measured, whatever happens.
    pub const fn needed(self) -> u32 {
        match self {
            Measured::Arrivals { end, .. } => end,
            Measured::Departures(count) => count,
        }
    }
}
