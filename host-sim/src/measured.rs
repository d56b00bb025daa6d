//! What a study has measured: the results of its points, and the times of a single one.

use std::time::Duration;

use crate::failure::Incomplete;
use meshalloc_sim::experiment::StrategyResult;
use meshalloc_sim::statistics::Delays;

/// The results of each point, one for each of its strategies.
pub(crate) type Results = Vec<Vec<StrategyResult>>;

/// The results of a study.
#[derive(Default)]
pub(crate) struct Measured {
    /// One for each point.
    pub(crate) results: Results,
    /// Why they may not be of all replications.
    pub(crate) incomplete: Option<Incomplete>,
    /// The note about points that are kept.
    pub(crate) kept: Option<String>,
    /// The time that each result of a single point took, if it was measured.
    pub(crate) timings: Option<Vec<Timing>>,
    /// Version and build of the controller, if it is at the end of a line.
    pub(crate) controller: Option<String>,
}

/// The wall-clock time of a strategy's runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timing {
    /// The total time.
    pub(crate) elapsed: Duration,
    /// The time of each command, if commands went over a line.
    pub(crate) round_trips: Option<Delays>,
}
