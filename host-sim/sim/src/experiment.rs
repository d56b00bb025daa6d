//! Several strategies on one workload, replicated.
//!
//! Replication `i` of every strategy has the same jobs, so differences between strategies are
//! paired. A run depends only on the seed and the number of its replication, not on the order of
//! runs.

use serde::Serialize;
use std::num::NonZero;

use meshalloc::{Block, Configuration, Grid, Request, SchedulerKind, StrategyKind};

use crate::backend::BackendError;
use crate::error::SettingError;
use crate::failures::{Failures, Restart, Timeline};
use crate::machine::Described;
use crate::metrics::{Estimates, Metric, Refusals, SLOWDOWN_THRESHOLD};
use crate::network::NetworkError;
use crate::preemption::Preempting;
use crate::simulation::{Conditions, Measured, Observer, RunResult, SimulationError, Switches};
use crate::situation::{Situation, may_fit};
use crate::statistics::{Estimate, NOT_NARROWED, Sample, Sampling};
use crate::wording::Number;
use crate::workload::{
    JOBS_MAX, Log, LogError, MixError, Synthetic, TIME_MAX, TimeUnit, WorkDistribution, Workload,
    fits_turned, strategy_seed,
};

mod execution;
mod once;
mod parallel;
mod summary;

pub use crate::statistics::REPLICATIONS_MIN;
pub use once::{run_observed, run_once};
pub use parallel::{Failed, on_threads, run, run_all, run_parallel};

/// How often a run is repeated with new jobs. A log that is not resampled has the same jobs every
/// time and is run once. To reach an error, replications must be
/// [independent](Sampling::Independent); a log with resampled replications is refused.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Replications {
    /// This number of times.
    Fixed(u32),
    /// Until the relative error of the mean waiting delay (where departures are measured, of the
    /// mean turnaround) of every strategy that has one is within `target`, with a confidence of
    /// 95 %, by the rule of [`statistics`](crate::statistics): [`REPLICATIONS_MIN`] to `max` times.
    UntilRelativeError {
        /// For instance .03.
        target: f64,
        /// The cap.
        max: u32,
    },
    /// Until both arms of the 95 % interval of every strategy's utilization are at most `target`
    /// long, checked after every [`REPLICATIONS_STEP`] replications: [`REPLICATIONS_MIN`] to `max`
    /// times.
    UntilAbsoluteError {
        /// For instance .005, half a percentage point.
        target: f64,
        /// The cap.
        max: u32,
    },
}

/// An absolute error is checked each time this number of replications has been added.
pub const REPLICATIONS_STEP: u32 = 4;

/// The part of a synthetic workload's jobs that is not measured by default.
pub const WARMUP_FRACTION: f64 = 0.05;

/// Which jobs are measured where jobs go on arriving.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Measure {
    /// The first jobs to arrive once the system has settled. There are no delays if the backlog
    /// grows.
    Arrivals {
        /// The part of all jobs that is not measured, 0 to below 1.
        warmup_fraction: f64,
    },
    /// The first jobs to leave, from the start on. Delays belong to that number of departures.
    Departures,
}

impl Measure {
    /// The jobs of a workload that are measured by default. If jobs send messages, these are the
    /// first to leave, as in the literature on such jobs.
    pub const fn of(workload: &Synthetic) -> Measure {
        match workload.work {
            WorkDistribution::Messages(_) => Measure::Departures,
            WorkDistribution::Service(_) | WorkDistribution::Io(_) => Measure::Arrivals {
                warmup_fraction: WARMUP_FRACTION,
            },
        }
    }
}

const WHOLE: Measure = Measure::Arrivals {
    warmup_fraction: 0.0,
};

/// The simulation to run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Experiment {
    /// The machine.
    pub machine: Grid,
    /// The machine's description, if only certain slices are given. The grid of the description is
    /// the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Described>,
    /// The strategies to compare.
    pub strategies: Vec<StrategyKind>,
    /// The scheduler for all of them.
    pub scheduler: SchedulerKind,
    /// Where the jobs come from.
    pub workload: Workload,
    /// The number of jobs in a run of a synthetic workload. All jobs of a log or of a closed
    /// workload are measured.
    pub jobs: u32,
    /// Which jobs of a synthetic workload are measured.
    pub measure: Measure,
    /// The number of jobs of a synthetic workload that wait at all times: the next job arrives as
    /// soon as fewer wait, whatever its arrival time. The utilization is then the load at which the
    /// strategy saturates.
    pub backlog: Option<NonZero<u32>>,
    /// What fails and is repaired, and what happens to the jobs. With failures, the jobs must have
    /// service times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<Failures>,
    /// The optional measurements, and whether jobs end at their estimates.
    #[serde(flatten)]
    pub switches: Switches,
    /// If given, jobs make room for those of a higher priority; jobs then have service times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<Preempting>,
    /// Run times count as at least this, over 0, in the bounded slowdown; in the workload's unit.
    pub slowdown_threshold: f64,
    /// How often a workload that has new jobs each time is repeated.
    pub replications: Replications,
    /// The seed of all random numbers.
    pub seed: u64,
}

/// Why replicating a strategy ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// The number of replications was given, or the workload has the same jobs every time.
    Fixed,
    /// The waiting delay is as exact as asked.
    ErrorReached,
    /// The cap was reached; the waiting delay is less exact than asked.
    CapReached,
    /// The strategy is saturated: its waiting delay grows with the run and has no exact value.
    Saturated,
    /// The experiment was interrupted, or its controller was lost, before there were enough
    /// replications.
    Incomplete,
}

impl Stop {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Stop::Fixed => "fixed",
            Stop::ErrorReached => "error-reached",
            Stop::CapReached => "cap-reached",
            Stop::Saturated => "saturated",
            Stop::Incomplete => "incomplete",
        }
    }
}

/// A mean over less than this part of the measured jobs is marked.
pub const SERVED_SHARE_MIN: f64 = 0.99;

/// The results of one strategy.
#[derive(Clone, Debug, PartialEq)]
pub struct StrategyResult {
    /// The strategy.
    pub strategy: StrategyKind,
    /// The scheduler.
    pub scheduler: SchedulerKind,
    /// The estimates, over all replications.
    pub metrics: Estimates,
    /// How replications are made.
    pub sampling: Sampling,
    /// The unit of its times.
    pub time_unit: TimeUnit,
    /// Whether the backlog grew in most replications, or jobs were left behind in one.
    pub saturated: bool,
    /// Whether mean delays have a value. They have none if the backlog grew, unless departures are
    /// measured ([`Measure::Departures`]).
    pub has_delays: bool,
    /// Whether the jobs are those of a log, whose mean delays are numbers even where the backlog
    /// grew.
    pub is_of_log: bool,
    /// Whether mean delays still grow with the length of the run, by more than
    /// [`EMPTY_START_BIAS_MAX`](crate::statistics::EMPTY_START_BIAS_MAX) of the long-run value: the
    /// mean decides no claim. False if `saturated`, for a log, for measured departures or a
    /// backlog.
    pub grows_with_length: bool,
    /// Why replicating ended.
    pub stop: Stop,
    /// All decisions of all replications as one number; see [`RunResult::decision_hash`].
    pub decision_hash: u64,
    /// The number of jobs granted in all replications, measured or not.
    pub decisions: u64,
    /// Measured jobs refused, in all replications.
    pub refused: Refusals,
    /// Measured jobs passed without end in all replications; see [`RunResult::left_behind`].
    pub left_behind: u64,
    /// How often, in all replications, the scheduler did not see a job that it might have chosen,
    /// because the controller's table was full; see [`RunResult::table_limited`].
    pub table_limited: u64,
    /// The jobs without an estimate, as a part of all jobs, if the scheduler decides by estimates;
    /// else 0.
    pub without_estimate: f64,
    /// Each replication.
    pub runs: Vec<RunResult>,
}

impl StrategyResult {
    /// By what part this strategy's metric is below that of `other`, as 1 minus the ratio of the
    /// means over paired replications. `None` when either has no values.
    pub fn gain_over(&self, other: &StrategyResult, metric: Metric) -> Option<Estimate> {
        let ratio = self.sample(metric)?.ratio_to(&other.sample(metric)?)?;
        Some(ratio.affine(-1.0, 1.0))
    }

    /// Measured jobs that were served, in all replications.
    pub fn served(&self) -> u64 {
        let jobs = self.runs.iter().filter_map(|run| run.values[Metric::Jobs]);
        jobs.sum::<f64>() as u64
    }

    /// Measured jobs in all replications, served or not.
    pub fn measured(&self) -> u64 {
        self.served() + self.refused.total() + self.left_behind
    }

    /// Measured jobs that were served, as a part of all of them.
    pub fn served_share(&self) -> f64 {
        match self.measured() {
            0 => 1.0,
            measured => self.served() as f64 / measured as f64,
        }
    }

    /// Whether the strategy's means over jobs leave out too many jobs ([`SERVED_SHARE_MIN`]).
    pub fn is_partial(&self) -> bool {
        self.served_share() < SERVED_SHARE_MIN
    }

    /// The value of each replication; `None` for one that had nothing to measure.
    pub fn values(&self, metric: Metric) -> Vec<Option<f64>> {
        self.runs.iter().map(|run| run.values[metric]).collect()
    }

    /// The value of each replication; `None` when one of them has none.
    pub fn sample(&self, metric: Metric) -> Option<Sample> {
        let values = self.values(metric).into_iter();
        Some(Sample {
            values: values.collect::<Option<_>>()?,
            sampling: self.sampling,
            spread: metric.spread(),
        })
    }
}

/// Receives the progress of an experiment, between events and often: methods must be quick.
pub trait Progress: Sync {
    /// Called before the first run of an experiment, with the expected numbers of runs and of jobs
    /// in each run.
    fn begin(&self, runs_max: u64, jobs_per_run: u64) {
        let _ = (runs_max, jobs_per_run);
    }

    /// Adjusts the expected total of jobs.
    fn expect_more(&self, jobs: i64) {
        let _ = jobs;
    }

    /// Reports that more jobs have left.
    fn advance(&self, jobs: u64) {
        let _ = jobs;
    }

    /// Reports that a run has ended: of the experiment at `place`, with its strategy at the place
    /// `strategy`. Each strategy's runs come in the order of the replications.
    fn ended(&self, place: usize, strategy: usize, run: &RunResult) {
        let _ = (place, strategy, run);
    }

    /// Receives the jobs of a run that begins; `replication` counts from 0.
    fn recorder(&self, strategy: StrategyKind, replication: u32) -> Box<dyn Observer + '_> {
        let _ = (strategy, replication);
        Box::new(())
    }

    /// Whether to begin no more runs and to abandon those under way.
    fn is_interrupted(&self) -> bool {
        false
    }
}

impl Progress for () {}

/// Why an experiment gives no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The workload cannot be used.
    #[error("{}", .0.on_command_line())]
    Workload(#[from] SettingError),
    /// The network cannot be made.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The controller could not be made ready.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A run ended early.
    #[error("{strategy}, replication {replication}: {reason}")]
    Run {
        /// The strategy.
        strategy: StrategyKind,
        /// The replication, from 1.
        replication: u32,
        /// What happened.
        reason: Box<SimulationError>,
    },
    /// [`Progress::is_interrupted`] became true.
    #[error("interrupted")]
    Interrupted,
}

impl ExperimentError {
    /// Why a run ended early; `replication` counts from 0.
    pub fn of_run(strategy: StrategyKind, replication: u32, reason: SimulationError) -> Self {
        match reason {
            SimulationError::Backend(BackendError::Interrupted) => ExperimentError::Interrupted,
            reason => ExperimentError::Run {
                strategy,
                replication: replication + 1,
                reason: reason.into(),
            },
        }
    }
}

impl Experiment {
    /// One replication with seed 1, first come, first served, in which nothing fails. A log has its
    /// own number of jobs.
    pub fn new(workload: Workload, jobs: u32, strategies: &[StrategyKind]) -> Self {
        let (machine, measure) = match &workload {
            Workload::Synthetic(synthetic) => (synthetic.machine(), Measure::of(synthetic)),
            Workload::Log(log) => (log.machine, Measure::Departures),
        };
        Experiment {
            machine,
            description: None,
            strategies: strategies.to_vec(),
            scheduler: SchedulerKind::Fcfs,
            workload,
            jobs,
            measure,
            backlog: None,
            failures: None,
            switches: Switches::default(),
            preemption: None,
            slowdown_threshold: SLOWDOWN_THRESHOLD,
            replications: Replications::Fixed(1),
            seed: 1,
        }
    }

    /// The same experiment with the contents of its files: mixes, times, failures. `fill` reads the
    /// jobs of a log.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or used; the error has the option that names the file.
    pub fn read(
        &self,
        fill: impl FnOnce(&Log) -> Result<Log, LogError>,
    ) -> Result<Self, (&'static str, MixError)> {
        let mut read = self.clone();
        match &mut read.workload {
            Workload::Synthetic(workload) => {
                *workload = workload.read(|request| self.is_legal(request))?;
            }
            Workload::Log(log) => {
                *log = fill(log).map_err(|error| ("log", error.into()))?;
            }
        }
        let sends = read.workload.messages().is_some() || read.workload.io().is_some();
        if let Some(option) = read.workload.option_with_gangs().filter(|_| sends) {
            return Err((option, MixError::GangsSendNothing));
        }
        if let Some(failures) = &mut read.failures {
            let read = failures.read();
            *failures = read.map_err(|error| ("failures", error.into()))?;
        }
        Ok(read)
    }

    /// Whether the request is legal on this machine with at least one of the strategies.
    pub fn is_legal(&self, request: &Request) -> bool {
        let description = self.description.as_ref().map(|it| &it.description);
        match &self.description {
            _ if request.slices() > 1 => self.strategies.iter().any(|&strategy| {
                let idle = Situation::idle(self.configuration(strategy, 0), description);
                idle.attempt(request).is_ok_and(may_fit)
            }),
            None => fits_turned(self.machine, request.shape),
            Some(Described { description, .. }) => {
                let mut strategies = self.strategies.iter();
                strategies.any(|&strategy| description.check(strategy, request).is_ok())
            }
        }
    }

    /// The configuration of the controller for one replication of a strategy. A strategy that draws
    /// random numbers gets a seed from the experiment and the replication, unless it has a seed of
    /// its own.
    pub fn configuration(&self, strategy: StrategyKind, replication: u32) -> Configuration {
        Configuration {
            machine: self.machine,
            strategy: strategy.seeded(strategy_seed(self.seed, replication)),
            scheduler: self.scheduler,
        }
    }

    /// The jobs of a replication that are measured; an error when there are none, or too many.
    pub fn measured(&self, replication: u32) -> Result<Measured, SettingError> {
        let (jobs, measure) = match &self.workload {
            Workload::Synthetic(workload) => match workload.arrivals.batch() {
                None => (self.jobs, self.measure),
                Some(jobs) => (jobs, Measure::Departures),
            },
            Workload::Log(log) => (log.job_count(self.seed, replication)?, WHOLE),
        };
        if !(1..=JOBS_MAX).contains(&jobs) {
            let expected = format!("1 to {JOBS_MAX}");
            let what = "the number of jobs";
            return Err(SettingError::out_of_range(what, &["jobs"], jobs, expected));
        }
        match measure {
            Measure::Departures => Ok(Measured::Departures(jobs)),
            Measure::Arrivals { warmup_fraction } if (0.0..1.0).contains(&warmup_fraction) => {
                let first = (f64::from(jobs) * warmup_fraction) as u32;
                Ok(Measured::Arrivals { first, end: jobs })
            }
            Measure::Arrivals { warmup_fraction } => Err(SettingError::out_of_range(
                "the part of the jobs that is not measured",
                &["warmup"],
                warmup_fraction,
                "0 or more, and less than 1",
            )),
        }
    }

    /// The conditions under which a replication is made.
    ///
    /// # Errors
    ///
    /// Those of [`Experiment::measured`], when the threshold is shorter than a tick or longer than
    /// virtual time, and when the jobs would not arrive before virtual time ends.
    pub fn conditions(&self, replication: u32) -> Result<Conditions, SettingError> {
        let threshold = self.slowdown_threshold;
        let unit = self.workload.time_unit();
        let [least, most] = [1, TIME_MAX].map(|ticks| unit.of(ticks));
        if !(least..=most).contains(&threshold) {
            return Err(SettingError::out_of_range(
                "the threshold of the bounded slowdown",
                &["slowdown-threshold"],
                Number(threshold),
                format!("{least} to {most:.0} {}s", unit.name()),
            ));
        }
        let measured = self.measured(replication)?;
        if let (Workload::Synthetic(workload), None) = (&self.workload, self.backlog) {
            workload.check_span(measured.needed())?;
        }
        Ok(Conditions {
            measured,
            backlog: self.backlog,
            has_priorities: self.workload.has_priorities(),
            switches: self.switches,
            slowdown_threshold: unit.ticks(threshold),
            absent: self.absent(),
            failures: self.timeline(replication)?,
            preemption: self.preemption,
        })
    }

    /// The blocks of the grid in which the machine has no processors.
    pub fn absent(&self) -> Vec<Block> {
        let machines = self.description.iter();
        let blocks = machines.flat_map(|machine| machine.description.absent_blocks());
        blocks.collect()
    }

    /// The failures of a replication; an error when the machine does not have the units that fail,
    /// or when jobs have no service times.
    pub fn timeline(&self, replication: u32) -> Result<Option<Timeline>, SettingError> {
        let Some(failures) = &self.failures else {
            return Ok(None);
        };
        if self.workload.messages().is_some() || self.workload.io().is_some() {
            return Err(SettingError::out_of_range(
                "the work of jobs that are interrupted",
                &["failures"],
                "messages or I/O",
                "service times",
            ));
        }
        // A spare is not served, as a faulty processor is not.
        if failures.restart == Restart::Spare && self.workload.is_tolerant() {
            return Err(SettingError::out_of_range(
                "the restart of jobs that tolerate faulty processors",
                &["restart"],
                failures.restart,
                "another restart than spare",
            ));
        }
        failures.timeline(self.seed, replication).map(Some)
    }

    /// The most replications that a strategy may need; an error when a number is out of range.
    pub fn replications_max(&self) -> Result<u32, SettingError> {
        let (most, target) = match (&self.workload, self.replications) {
            (workload, _) if !workload.is_replicated() => (1, None),
            (_, Replications::Fixed(count)) => (count, None),
            (
                _,
                Replications::UntilRelativeError { target, max }
                | Replications::UntilAbsoluteError { target, max },
            ) => (max, Some(target)),
        };
        let bad = |what: &str, given: String, expected: &str| {
            Err(SettingError::out_of_range(what, &[], given, expected))
        };
        match target {
            _ if most == 0 => bad("the number of replications", "0".into(), "at least 1"),
            Some(target) if self.workload.sampling() == Sampling::Resampled => {
                let given = target.to_string();
                let expected = format!("none, but a number of replications: {NOT_NARROWED}");
                bad("the error to reach", given, &expected)
            }
            Some(target) if !(target > 0.0 && target < 1.0) => {
                let given = target.to_string();
                bad("the error to reach", given, "over 0 and less than 1")
            }
            Some(_) if most < REPLICATIONS_MIN => {
                let expected = format!("at least {REPLICATIONS_MIN}");
                bad("the most replications", most.to_string(), &expected)
            }
            _ => Ok(most),
        }
    }
}
