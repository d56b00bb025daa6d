//! Several strategies on one workload, replicated.
//!
//! Replication `i` of every strategy has the same jobs, so differences between strategies are paired. A
//! run depends on the seed and the number of its replication and on nothing else: runs may be carried out
//! in any order.

use meshalloc::{Configuration, Grid, SchedulerKind, StrategyKind};

use crate::backend::{BackendError, Backends};
use crate::metrics::{Estimates, Metric, PerMetric, Refusals};
use crate::simulation::{self, Measured, RunResult, SimulationError};
use crate::statistics::Estimate;
use crate::workload::{Arrivals, JOBS_MAX, Synthetic, Workload, WorkloadError};

mod parallel;

pub use parallel::{Failed, run_all, run_parallel};

/// How often a run is repeated with new jobs. A log gives the same jobs every time and is run once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Replications {
    /// So often.
    Fixed(u32),
    /// Until the half-width of the 95 % interval of the waiting delay, relative to its mean, is under
    /// `target` for every strategy that is not saturated, but at least [`REPLICATIONS_MIN`] and at most
    /// `max` times.
    UntilRelativeError {
        /// For instance .03.
        target: f64,
        /// The cap.
        max: u32,
    },
}

/// With fewer replications an interval may be narrow by chance, and replicating would stop too early.
pub const REPLICATIONS_MIN: u32 = 3;

/// The part of a synthetic workload's jobs that is not measured unless asked otherwise.
pub const WARMUP_FRACTION: f64 = 0.05;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The machine.
    pub machine: Grid,
    /// The strategies to compare.
    pub strategies: Vec<StrategyKind>,
    /// The scheduler for all of them.
    pub scheduler: SchedulerKind,
    /// Where the jobs come from.
    pub workload: Workload,
    /// How many jobs of a synthetic workload one run is about, [`WARMUP_FRACTION`] of which are not
    /// measured. Of a log and of a closed workload all jobs are measured, whatever this says.
    pub jobs: u32,
    /// The part of a synthetic workload's jobs, the first to arrive, that is not measured.
    pub warmup_fraction: f64,
    /// How often a synthetic workload is repeated.
    pub replications: Replications,
    /// What all random numbers derive from.
    pub seed: u64,
}

/// Why replicating a strategy ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// The number of replications was given, or the workload is a log.
    Fixed,
    /// The waiting delay is as exact as asked.
    ErrorReached,
    /// The cap was reached; the waiting delay is less exact than asked.
    CapReached,
    /// The strategy is saturated: its waiting delay grows with the run and has no exact value.
    Saturated,
}

/// What came out for one strategy.
#[derive(Clone, Debug)]
pub struct StrategyResult {
    /// The strategy.
    pub strategy: StrategyKind,
    /// The scheduler.
    pub scheduler: SchedulerKind,
    /// The estimates, over all replications.
    pub metrics: Estimates,
    /// Whether the backlog grew in most replications, so that delays depend on the length of the run.
    /// Never for a log, which is measured whole.
    pub saturated: bool,
    /// Why there were so many replications and not more.
    pub stop: Stop,
    /// All decisions of all replications as one number; see [`RunResult::decision_hash`].
    pub decision_hash: u64,
    /// The number of jobs granted in all replications, measured or not.
    pub decisions: u64,
    /// Measured jobs refused, in all replications.
    pub refused: Refusals,
    /// How often, in all replications, jobs were kept from an idle queue because the controller's table was
    /// full of running jobs; see [`RunResult::table_limited`].
    pub table_limited: u64,
    /// Each replication.
    pub runs: Vec<RunResult>,
}

impl StrategyResult {
    /// By what part this strategy's metric is below that of `other`, as 1 minus the ratio of the means over
    /// paired replications. `None` when either has no values.
    pub fn gain_over(&self, other: &StrategyResult, metric: Metric) -> Option<Estimate> {
        let values = |result: &StrategyResult| -> Option<Vec<f64>> {
            result.runs.iter().map(|run| run.values[metric]).collect()
        };
        let ratio = Estimate::paired_ratio(&values(self)?, &values(other)?)?;
        Some(Estimate {
            mean: 1.0 - ratio.mean,
            ..ratio
        })
    }
}

/// Is told how far an experiment has come. The methods are called between events, often, and must be
/// quick.
pub trait Progress: Sync {
    /// Before the first run of an experiment: so many runs are expected, of so many jobs each.
    fn begin(&self, runs_max: u64, jobs_per_run: u64) {
        let _ = (runs_max, jobs_per_run);
    }

    /// So many more jobs are expected than was said before, or so many fewer.
    fn expect_more(&self, jobs: i64) {
        let _ = jobs;
    }

    /// So many more jobs have left.
    fn advance(&self, jobs: u64) {
        let _ = jobs;
    }

    /// A run has ended; `replication` counts from 0.
    fn run_ended(&self, strategy: StrategyKind, replication: u32, result: &RunResult) {
        let _ = (strategy, replication, result);
    }
}

/// Nobody is told.
impl Progress for () {}

/// Why an experiment gives no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The workload cannot be used.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
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
        reason: SimulationError,
    },
    /// The system gives no threads.
    #[error("cannot start threads: {0}")]
    Threads(String),
}

/// Runs an experiment, one run after the other. Where controllers are cheap, [`run_parallel`] does the same
/// over several threads.
///
/// # Errors
///
/// When the workload cannot be used, a controller cannot be made ready or does not serve the machine
/// with one of the strategies, or a run ends early.
pub fn run(
    experiment: &Experiment,
    backends: &mut dyn Backends,
    progress: &dyn Progress,
) -> Result<Vec<StrategyResult>, ExperimentError> {
    let measured = experiment.measured()?;
    let runs_max = experiment.replications_max()?;
    let strategies = &experiment.strategies;
    progress.begin(
        u64::from(runs_max) * strategies.len() as u64,
        u64::from(measured.end - measured.first),
    );
    let mut runs = vec![Vec::new(); strategies.len()];
    for replication in 0..runs_max {
        for (&strategy, runs) in strategies.iter().zip(&mut runs) {
            let result = run_once(experiment, strategy, replication, backends, progress)?;
            progress.run_ended(strategy, replication, &result);
            runs.push(result);
        }
        if experiment.is_exact(&runs) {
            break;
        }
    }
    Ok(experiment.summaries(runs))
}

/// Runs one replication of one strategy.
///
/// # Errors
///
/// Those of [`run`].
pub fn run_once(
    experiment: &Experiment,
    strategy: StrategyKind,
    replication: u32,
    backends: &mut dyn Backends,
    progress: &dyn Progress,
) -> Result<RunResult, ExperimentError> {
    let measured = experiment.measured()?;
    let configuration = Configuration {
        machine: experiment.machine,
        strategy,
        scheduler: experiment.scheduler,
    };
    let synthetic = match &experiment.workload {
        Workload::Synthetic(workload) => Some(workload.jobs(experiment.seed, replication)?),
        Workload::Log(_) => None,
    };
    let mut result = None;
    backends.with(configuration, &mut |backend| {
        let mut advance = |jobs| progress.advance(jobs);
        let machine = experiment.machine;
        result = Some(match (&experiment.workload, &synthetic) {
            (Workload::Log(log), _) => {
                let jobs = log.jobs.iter().map(|entry| entry.job);
                simulation::run(backend, machine, jobs, measured, &mut advance)
            }
            (Workload::Synthetic(workload), jobs) => {
                let jobs = jobs.clone().into_iter().flatten();
                match workload.arrivals {
                    Arrivals::Poisson(_) => {
                        simulation::run(backend, machine, jobs, measured, &mut advance)
                    }
                    Arrivals::AtOnce { tasks } => {
                        simulation::run_closed(backend, machine, jobs, tasks, &mut advance)
                    }
                }
            }
        });
    })?;
    let result = result.expect("a backend that is ready calls its body");
    result.map_err(|reason| ExperimentError::Run {
        strategy,
        replication: replication + 1,
        reason,
    })
}

impl Experiment {
    /// Strategies on a closed workload, first come, first served: what Chuang and Wu measure.
    ///
    /// ```
    /// use meshalloc::{Cube, StrategyKind};
    /// use meshalloc_host_sim::backend::InProcessBackends;
    /// use meshalloc_host_sim::experiment::{self, Experiment, Replications};
    /// use meshalloc_host_sim::metrics::Metric;
    /// use meshalloc_host_sim::workload::{ServiceDistribution, Subcubes, Synthetic, TaskDistribution};
    ///
    /// let requests = Subcubes {
    ///     cube: Cube::new(4, 3).unwrap(),
    ///     dims: TaskDistribution::Uniform,
    ///     radices: TaskDistribution::Uniform,
    /// };
    /// let residence = ServiceDistribution::Uniform { lo_seconds: 5.0, hi_seconds: 10.0 };
    /// let workload = Synthetic::closed(requests, residence, 100);
    /// let strategies = vec![StrategyKind::TreeCollapsing, StrategyKind::Sniffing];
    /// let experiment = Experiment::closed(workload, strategies, Replications::Fixed(10), 1);
    /// let results = experiment::run_parallel(&experiment, None, &InProcessBackends::default, &())?;
    /// let utilization = results[0].metrics[Metric::Utilization].unwrap();
    /// assert!((utilization.mean - 0.677).abs() < 0.021);
    /// # Ok::<(), experiment::ExperimentError>(())
    /// ```
    pub fn closed(
        workload: Synthetic,
        strategies: Vec<StrategyKind>,
        replications: Replications,
        seed: u64,
    ) -> Self {
        Experiment {
            machine: workload.machine(),
            strategies,
            scheduler: SchedulerKind::Fcfs,
            workload: Workload::Synthetic(workload),
            jobs: 0,
            warmup_fraction: 0.0,
            replications,
            seed,
        }
    }

    /// Which jobs of a run are measured.
    ///
    /// # Errors
    ///
    /// When there is none, or there are too many.
    pub fn measured(&self) -> Result<Measured, WorkloadError> {
        let (jobs, warmup_fraction) = match &self.workload {
            Workload::Synthetic(workload) => match workload.arrivals {
                Arrivals::Poisson(_) => (self.jobs, self.warmup_fraction),
                Arrivals::AtOnce { tasks } => (tasks, 0.0),
            },
            // Reading it has limited its length.
            Workload::Log(log) => (log.jobs.len() as u32, 0.0),
        };
        if !(0.0..1.0).contains(&warmup_fraction) {
            return Err(WorkloadError::OutOfRange {
                what: "the part of the jobs that is not measured".into(),
                given: warmup_fraction.to_string(),
                expected: "0 or more, and less than 1".into(),
            });
        }
        if !(1..=JOBS_MAX).contains(&jobs) {
            return Err(WorkloadError::OutOfRange {
                what: "the number of jobs".into(),
                given: jobs.to_string(),
                expected: format!("1 to {JOBS_MAX}"),
            });
        }
        let first = (f64::from(jobs) * warmup_fraction) as u32;
        Ok(Measured { first, end: jobs })
    }

    fn replications_max(&self) -> Result<u32, WorkloadError> {
        let (most, target) = match (&self.workload, self.replications) {
            (Workload::Log(_), _) => (1, None),
            (_, Replications::Fixed(count)) => (count, None),
            (_, Replications::UntilRelativeError { target, max }) => (max, Some(target)),
        };
        let bad = |what: &str, given: String, expected: &str| {
            Err(WorkloadError::OutOfRange {
                what: what.into(),
                given,
                expected: expected.into(),
            })
        };
        match target {
            _ if most == 0 => bad("the number of replications", "0".into(), "at least 1"),
            Some(target) if !(target > 0.0 && target < 1.0) => {
                let given = target.to_string();
                bad("the relative error", given, "over 0 and less than 1")
            }
            _ => Ok(most),
        }
    }

    /// Whether no strategy needs another replication before the cap.
    fn is_exact(&self, runs: &[Vec<RunResult>]) -> bool {
        let Replications::UntilRelativeError { target, .. } = self.replications else {
            return false;
        };
        runs.iter().all(|runs| {
            runs.len() >= REPLICATIONS_MIN as usize
                && (self.is_saturated(runs) || reaches(target, runs))
        })
    }

    /// More than half of the runs, and never a log.
    fn is_saturated(&self, runs: &[RunResult]) -> bool {
        let saturated = runs.iter().filter(|run| run.saturated).count();
        matches!(self.workload, Workload::Synthetic(_)) && 2 * saturated > runs.len()
    }

    /// What all runs amount to, given by strategy.
    pub(crate) fn summaries(&self, runs: Vec<Vec<RunResult>>) -> Vec<StrategyResult> {
        let strategies = self.strategies.iter().zip(runs);
        strategies
            .map(|(&strategy, runs)| self.summary(strategy, runs))
            .collect()
    }

    fn summary(&self, strategy: StrategyKind, runs: Vec<RunResult>) -> StrategyResult {
        let saturated = self.is_saturated(&runs);
        let stop = match (&self.workload, self.replications) {
            (Workload::Log(_), _) | (_, Replications::Fixed(_)) => Stop::Fixed,
            _ if saturated => Stop::Saturated,
            (_, Replications::UntilRelativeError { target, .. }) => {
                if runs.len() >= REPLICATIONS_MIN as usize && reaches(target, &runs) {
                    Stop::ErrorReached
                } else {
                    Stop::CapReached
                }
            }
        };
        let mut refused = Refusals::default();
        for run in &runs {
            refused.merge(&run.refused);
        }
        StrategyResult {
            strategy,
            scheduler: self.scheduler,
            metrics: PerMetric::from_fn(|metric| estimate(&runs, metric)),
            saturated,
            stop,
            decision_hash: simulation::hash_of_hashes(&runs),
            decisions: runs.iter().map(|run| run.decisions).sum(),
            refused,
            table_limited: runs.iter().map(|run| run.table_limited).sum(),
            runs,
        }
    }
}

/// Over the runs in which there was something to measure.
fn estimate(runs: &[RunResult], metric: Metric) -> Option<Estimate> {
    let values: Vec<f64> = runs.iter().filter_map(|run| run.values[metric]).collect();
    Estimate::of(&values)
}

fn reaches(target: f64, runs: &[RunResult]) -> bool {
    let delay = estimate(runs, Metric::WaitingDelay);
    delay
        .and_then(|delay| delay.relative_error())
        .is_some_and(|error| error <= target)
}

#[cfg(test)]
mod tests;
