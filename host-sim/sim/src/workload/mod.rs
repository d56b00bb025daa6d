//! The jobs of a workload: when they arrive, how long they run, and what they ask for.
//!
//! A workload is [synthetic](Synthetic), drawn from distributions, or a [log](Log). Its jobs run
//! for a service time, and one tick of virtual time is one microsecond; or they run until their
//! messages are delivered, and one tick is one cycle of the network ([`TimeUnit`]).

use meshalloc::{Request, Ticks};
use serde::Serialize;

use crate::error::SettingError;
use crate::io::IoJobs;
use crate::statistics::Sampling;
pub use crate::time::{JOBS_MAX, TIME_MAX, TimeUnit};

pub mod arrivals;
mod columns;
mod counts;
pub(crate) mod csv;
#[cfg(feature = "files")]
mod date;
pub mod distributions;
pub mod empirical;
mod entry;
mod error;
pub mod estimates;
#[cfg(feature = "files")]
mod gzip;
pub mod log;
mod log_job;
pub mod lublin;
pub mod mix;
pub mod pattern;
mod reading;
pub mod requests;
pub mod service;
pub mod shape;
mod shape_cells;
mod shared;
pub(crate) mod stream;
pub mod swf;
pub mod synthetic;
pub(crate) mod text_file;
pub mod trace;
pub(crate) mod value;
pub mod work;

pub use arrivals::{Arrivals, Process, Rate};
pub use columns::Columns;
pub use counts::{CountDistribution, Counts};
pub use distributions::{SideDistribution, SideRange, Spread};
pub use empirical::Empirical;
pub use error::{LineCounts, LogError};
pub use estimates::EstimateModel;
pub use log::{Log, LogHeader, LogMessages, Resample};
pub use log_job::{LogJob, LogOptions, Owner};
pub use lublin::Lublin;
pub use mix::{BuiltInMix, Mix, MixEntry, MixError, MixSource, fits_turned};
pub use pattern::{Pattern, Patterns};
pub use requests::{CubeDistribution, Requests, SideRanges, Subcubes, Submeshes};
pub use service::ServiceDistribution;
pub use shape::ShapeRule;
pub use shared::SharedLogs;
pub use stream::{shuffled, strategy_seed};
pub use synthetic::Synthetic;
pub use work::{Messages, Program, Work, WorkDistribution};

/// The shortest mean service time, in seconds: rounding to ticks changes it by less than 1/1000.
pub const SERVICE_MEAN_SECONDS_MIN: f64 = 1e-3;

/// The highest rate of arrivals, in jobs a tick: ten ticks to the next, for the same reason.
pub const ARRIVALS_PER_TICK_MAX: f64 = 0.1;

/// One job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// When it arrives, in ticks since the start of the workload.
    pub arrival: Ticks,
    /// What it asks for.
    pub request: Request,
    /// What it does once it has its processors.
    pub work: Work,
}

/// The jobs of a workload, in order of arrival.
pub type Jobs<'w> = Box<dyn Iterator<Item = Job> + 'w>;

/// Serialises these types as the text that options take.
macro_rules! serialized_as_text {
    ($($type:ty),*) => {
        $(impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        })*
    };
}

serialized_as_text!(
    EstimateModel,
    Patterns,
    ShapeRule,
    SideDistribution,
    CubeDistribution
);

/// Serialised as text, except for times that were read from a file, since the file's name does not
/// matter.
impl Serialize for ServiceDistribution {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ServiceDistribution::Empirical(times) => times.serialize(serializer),
            named => serializer.collect_str(named),
        }
    }
}

/// Where the jobs of an experiment come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Workload {
    /// Drawn from distributions.
    Synthetic(Synthetic),
    /// Read from a log, measured whole.
    Log(Log),
}

/// Whether a field has the value that is not written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Workload {
    /// The jobs of one replication, in order of arrival; an error when it cannot be made.
    pub fn jobs(&self, seed: u64, replication: u32) -> Result<Jobs<'_>, SettingError> {
        match self {
            Workload::Synthetic(workload) => workload.jobs(seed, replication),
            Workload::Log(log) => log.jobs(seed, replication),
        }
    }

    /// The messages of the jobs over a wormhole network; `None` if they do something else.
    pub const fn messages(&self) -> Option<&Messages> {
        match self {
            Workload::Synthetic(workload) => match &workload.work {
                WorkDistribution::Messages(messages) => Some(messages),
                WorkDistribution::Service(_) | WorkDistribution::Io(_) => None,
            },
            Workload::Log(log) => match &log.messages {
                Some(log) => Some(&log.messages),
                None => None,
            },
        }
    }

    /// The communication and I/O of the jobs; `None` if they do something else.
    pub const fn io(&self) -> Option<&IoJobs> {
        match self {
            Workload::Synthetic(Synthetic {
                work: WorkDistribution::Io(io),
                ..
            }) => Some(io),
            _ => None,
        }
    }

    /// The option that names a file with gangs, if some of the jobs are gangs.
    pub(crate) fn option_with_gangs(&self) -> Option<&'static str> {
        match self {
            Workload::Synthetic(Synthetic {
                requests: Requests::Mix(mix),
                ..
            }) => {
                let mut entries = mix.entries.iter();
                entries
                    .any(|entry| entry.request.slices() > 1)
                    .then_some("mix")
            }
            Workload::Synthetic(_) => None,
            Workload::Log(log) => {
                let mut jobs = log.jobs.iter();
                jobs.any(|job| job.slices.get() > 1).then_some("log")
            }
        }
    }

    /// Whether a job tolerates faulty processors.
    pub(crate) fn is_tolerant(&self) -> bool {
        match self {
            Workload::Synthetic(_) => self.mix().is_some_and(|mix| {
                let mut entries = mix.entries.iter();
                entries.any(|entry| entry.request.tolerated() > 0)
            }),
            Workload::Log(log) => log.jobs.iter().any(|job| job.tolerance.get() > 0),
        }
    }

    /// The priority of each kind of jobs, and whether these are preemptible.
    fn classes(&self) -> impl Iterator<Item = (Ticks, bool)> {
        let mix = self.mix().map_or(&[][..], |mix| &mix.entries);
        let of_mix = mix.iter().filter(|entry| entry.weight > 0.0);
        let of_mix = of_mix.map(|entry| entry.request.class);
        let of_mix = of_mix.map(|class| (class.priority(), class.is_preemptible()));
        let jobs = self.log().map_or(&[][..], |log| &log.jobs);
        of_mix.chain(jobs.iter().map(|job| (job.priority, job.is_preemptible)))
    }

    /// Whether a job has a priority.
    pub(crate) fn has_priorities(&self) -> bool {
        self.classes().any(|(priority, _)| priority > 0)
    }

    /// Whether a job is preemptible and another has a higher priority.
    pub(crate) fn has_victims(&self) -> bool {
        let victims = self.classes().filter(|&(_, is_preemptible)| is_preemptible);
        let least = victims.map(|(priority, _)| priority).min();
        least.is_some_and(|least| self.classes().any(|(priority, _)| priority > least))
    }

    /// The unit of its times.
    pub const fn time_unit(&self) -> TimeUnit {
        match self.messages() {
            None => TimeUnit::Second,
            Some(_) => TimeUnit::Cycle,
        }
    }

    /// Whether each replication has jobs of its own: not in a log that is not resampled.
    pub const fn is_replicated(&self) -> bool {
        match self {
            Workload::Synthetic(_) => true,
            Workload::Log(log) => log.is_resampled(),
        }
    }

    /// How replications are made.
    pub const fn sampling(&self) -> Sampling {
        match self {
            Workload::Synthetic(_) => Sampling::Independent,
            Workload::Log(log) => Resample::sampling(log.resample),
        }
    }

    /// Whether all jobs are there at time 0 and none arrives later.
    pub const fn is_closed(&self) -> bool {
        matches!(self, Workload::Synthetic(workload) if workload.arrivals.batch().is_some())
    }

    /// The model of estimates.
    pub const fn estimates(&self) -> EstimateModel {
        match self {
            Workload::Synthetic(workload) => workload.estimates,
            Workload::Log(log) => log.estimates,
        }
    }

    /// The jobs without an estimate, as a part of all jobs.
    pub fn without_estimate(&self) -> f64 {
        match (self.estimates(), self) {
            (EstimateModel::None, _) => 1.0,
            (EstimateModel::Log, Workload::Log(log)) => {
                let jobs = log.jobs.iter();
                let count = jobs.filter(|job| job.requested_time.is_none()).count();
                count as f64 / log.jobs.len().max(1) as f64
            }
            _ => 0.0,
        }
    }

    /// The log, if jobs come from one.
    pub const fn log(&self) -> Option<&Log> {
        match self {
            Workload::Synthetic(_) => None,
            Workload::Log(log) => Some(log),
        }
    }

    /// The mix of shapes, if jobs come from one.
    pub const fn mix(&self) -> Option<&Mix> {
        match self {
            Workload::Synthetic(Synthetic {
                requests: Requests::Mix(mix),
                ..
            }) => Some(mix),
            _ => None,
        }
    }

    /// Whether jobs arrive as long as the run lasts. They do not if they come from a log, or if all
    /// arrive at once.
    pub const fn is_endless(&self) -> bool {
        matches!(self, Workload::Synthetic(workload) if workload.arrivals.batch().is_none())
    }
}
