//! What jobs arrive, when, for how long, and what they ask for.
//!
//! One tick is one microsecond of virtual time. A workload is [synthetic](Synthetic), drawn from
//! distributions, or a [log](Log) of a real machine.

use meshalloc::{Request, Ticks};

pub mod distributions;
pub mod requests;
pub mod service;
pub mod shape;
pub(crate) mod stream;
pub mod swf;
pub mod synthetic;

pub use distributions::{DistributionInfo, SideRange, SizeDistribution, Spread};
pub use requests::{Requests, Subcubes, Submeshes, TaskDistribution};
pub use service::ServiceDistribution;
pub use shape::ShapeRule;
pub use swf::{Log, LogError, LogJob, LogOptions};
pub use synthetic::{Arrivals, Rate, Synthetic};

/// Ticks in a second of virtual time.
pub const TICKS_PER_SECOND: u64 = 1_000_000;

/// The latest point of virtual time that is simulated, some 71 years: sums of squares of up to
/// [`JOBS_MAX`] spans stay exact in 128 bits.
pub const TIME_MAX: Ticks = 1 << 51;

/// The most jobs in one run.
pub const JOBS_MAX: u32 = 1 << 24;

/// The shortest mean service time, in seconds: a thousand ticks, so that rounding to ticks changes it by less than
/// a part in a thousand.
pub const SERVICE_MEAN_SECONDS_MIN: f64 = 1e-3;

/// The highest rate of arrivals, in jobs a second: ten ticks from one to the next on average, for the same reason.
pub const ARRIVALS_PER_SECOND_MAX: f64 = 1e5;

/// A span of ticks in seconds.
pub fn seconds(ticks: Ticks) -> f64 {
    ticks as f64 / TICKS_PER_SECOND as f64
}

/// The nearest whole number of ticks, halves up. A span over [`TIME_MAX`] becomes that, a negative one
/// zero.
pub fn ticks(seconds: f64) -> Ticks {
    let ticks = (seconds * TICKS_PER_SECOND as f64).clamp(0.0, TIME_MAX as f64);
    (ticks + 0.5) as Ticks
}

/// One job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// When it arrives, in ticks since the start of the workload.
    pub arrival: Ticks,
    /// How long it runs once it has its processors, in ticks.
    pub service: Ticks,
    /// What it asks for.
    pub request: Request,
}

/// Where the jobs of an experiment come from.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Drawn from distributions.
    Synthetic(Synthetic),
    /// Read from a log, measured whole.
    Log(Log),
}

/// A description of a workload that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A distribution of this name is not known.
    #[error("unknown {what} {given:?}: expected {expected}")]
    UnknownName {
        /// What was to be named.
        what: &'static str,
        /// What was given.
        given: String,
        /// What is known.
        expected: String,
    },
    /// A number is out of its range.
    #[error("{what} is {given}: expected {expected}")]
    OutOfRange {
        /// What the number is.
        what: String,
        /// What was given.
        given: String,
        /// The range.
        expected: String,
    },
}
