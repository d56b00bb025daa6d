//! [`SimulationError`].

use super::RESTARTS_MAX;
use crate::backend::BackendError;
use crate::wording::counted;
use crate::workload::{JOBS_MAX, TIME_MAX};

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The controller was lost.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The controller has no room for a single job.
    #[error("the controller has no room for a single job")]
    NoRoom,
    /// No event is left, but measured jobs are.
    #[error("no job can run any more, and {} not left{why}", have(*left))]
    Stalled {
        /// How many.
        left: u32,
        /// What is down, if anything is.
        why: String,
    },
    /// Jobs are interrupted or wait, and no job ends.
    #[error(
        "no job ended during {failures} failures and repairs in a row, and {} not left \
         (expected failures that let jobs end)", have(*left)
    )]
    Futile {
        /// How many failures and repairs.
        failures: u32,
        /// How many measured jobs.
        left: u32,
    },
    /// Virtual time is beyond what is counted exactly.
    #[error(
        "virtual time goes on beyond its end, {TIME_MAX} ticks (microseconds; cycles where jobs send messages)"
    )]
    TooLong,
    /// The number of jobs is beyond what is counted exactly.
    #[error("more than {JOBS_MAX} jobs arrive, the most of a run")]
    TooManyJobs,
    /// A job is interrupted again and again.
    #[error(
        "job {job} was interrupted {RESTARTS_MAX} times (expected failures and preemptions that let it \
         end)"
    )]
    NeverEnds {
        /// Its number.
        job: u32,
    },
}

fn have(left: u32) -> String {
    let verb = if left == 1 { "has" } else { "have" };
    format!("{} {verb}", counted(left, "measured job"))
}
