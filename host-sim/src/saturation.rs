//! Saturation: what part of the processors a strategy can keep in use when jobs always wait.
//!
//! The engine is that of every [simulation], but jobs do not arrive at times of their own: one
//! arrives as soon as fewer than [`Saturation::backlog`] wait. The utilization, averaged over the time from the
//! arrival of the first measured job to that of the last, is then the load at which the strategy
//! saturates: up to it a queue runs empty again and again, above it the queue grows for ever.
//!
//! All strategies get the same jobs in the same order. Replications run over several threads; their
//! number does not change any result.

use std::num::NonZero;

use meshalloc::{Configuration, SchedulerKind, StrategyKind};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::backend::{Backends, InProcessBackends};
use crate::experiment::{ExperimentError, Progress, Stop};
use crate::metrics::{Metric, Refusals};
use crate::simulation::{self, Measured, RunResult};
use crate::statistics::Estimate;
use crate::workload::Synthetic;

pub(crate) mod command;

/// Jobs that wait at all times unless asked otherwise. First come, first served needs 1 only; others
/// look for jobs that fit among those that wait.
pub const BACKLOG_DEFAULT: NonZero<u32> = NonZero::new(100).unwrap();

/// With an error to reach, it is looked at after so many replications each time.
const BATCH: u32 = 4;

/// How often a run is repeated with new jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Repeat {
    /// So often.
    Fixed(NonZero<u32>),
    /// Until the half-width of the 95 % interval of every strategy's utilization is at most `target`, looked
    /// at after every fourth replication, but at most `max` times.
    UntilAbsoluteError {
        /// For instance .005, half a percentage point.
        target: f64,
        /// The cap.
        max: NonZero<u32>,
    },
}

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Saturation {
    /// The jobs, on which machine. The rate at which they arrive does not matter, but it must have no end.
    pub workload: Synthetic,
    /// The strategies to compare.
    pub strategies: Vec<StrategyKind>,
    /// The scheduler for all of them.
    pub scheduler: SchedulerKind,
    /// Jobs that wait at all times.
    pub backlog: NonZero<u32>,
    /// Which jobs of a run are measured; those before let the machine fill.
    pub measured: Measured,
    /// How often a run is repeated.
    pub repeat: Repeat,
    /// What all random numbers derive from.
    pub seed: u64,
}

/// What came out for one strategy.
#[derive(Clone, Debug)]
pub struct SaturationResult {
    /// The strategy.
    pub strategy: StrategyKind,
    /// Requested processors in use, as a part of all, averaged over time. `None` if there was no job to measure.
    pub utilization: Option<Estimate>,
    /// Processors held beyond those requested, as a part of those held.
    pub internal_fragmentation: Option<Estimate>,
    /// Why replicating ended.
    pub stop: Stop,
    /// All decisions of all replications as one number.
    pub decision_hash: u64,
    /// Measured jobs refused, in all replications.
    pub refused: Refusals,
    /// Each replication.
    pub runs: Vec<RunResult>,
}

impl Saturation {
    /// Runs all strategies over `threads` threads, or as many as this process may have.
    ///
    /// # Errors
    ///
    /// When the workload cannot be used, a strategy does not serve the mesh, or threads cannot be started.
    pub fn run(
        &self,
        threads: Option<NonZero<usize>>,
        progress: &dyn Progress,
    ) -> Result<Vec<SaturationResult>, ExperimentError> {
        let max = match self.repeat {
            Repeat::Fixed(count) => count.get(),
            Repeat::UntilAbsoluteError { max, .. } => max.get(),
        };
        let batch = match self.repeat {
            Repeat::Fixed(count) => count.get(),
            Repeat::UntilAbsoluteError { .. } => BATCH,
        };
        // A thread without a run looks for one among all others, again and again: with thousands of them nothing else
        // is done. Of no strategies there is nothing to run, and 0 would mean as many as there are processors.
        let at_once = (batch.min(max) as usize * self.strategies.len()).max(1);
        let threads = threads.or_else(|| std::thread::available_parallelism().ok());
        let threads = threads.map_or(1, NonZero::get);
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads.min(at_once))
            .build()
            .map_err(|error| ExperimentError::Threads(error.to_string()))?;
        let mut runs = vec![Vec::new(); self.strategies.len()];
        let mut done = 0;
        while done < max && !self.is_exact(&runs) {
            let end = max.min(done + batch);
            let tasks: Vec<_> = (done..end)
                .flat_map(|replication| {
                    self.strategies.iter().map(move |&kind| (kind, replication))
                })
                .collect();
            let jobs = u64::from(self.measured.end - self.measured.first);
            progress.begin(tasks.len() as u64, jobs);
            let results: Result<Vec<RunResult>, ExperimentError> = pool.install(|| {
                let tasks = tasks.into_par_iter();
                let runs =
                    tasks.map(|(kind, replication)| self.run_once(kind, replication, progress));
                runs.collect()
            });
            for (place, result) in results?.into_iter().enumerate() {
                runs[place % self.strategies.len()].push(result);
            }
            done = end;
        }
        let results = self.strategies.iter().zip(runs);
        Ok(results
            .map(|(&kind, runs)| self.summary(kind, runs))
            .collect())
    }

    /// Runs one replication of one strategy.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Saturation::run).
    pub fn run_once(
        &self,
        strategy: StrategyKind,
        replication: u32,
        progress: &dyn Progress,
    ) -> Result<RunResult, ExperimentError> {
        let mut jobs = Some(self.workload.jobs(self.seed, replication)?);
        let configuration = self.configuration(strategy);
        let mut result = None;
        InProcessBackends::default().with(configuration, &mut |backend| {
            let jobs = jobs.take().into_iter().flatten();
            let mut advance = |jobs| progress.advance(jobs);
            result = Some(simulation::run_backlogged(
                backend,
                configuration.machine,
                jobs,
                self.backlog,
                self.measured,
                &mut advance,
            ));
        })?;
        let result = result.expect("a backend that is ready calls its body");
        result.map_err(|reason| ExperimentError::Run {
            strategy,
            replication: replication + 1,
            reason,
        })
    }

    fn configuration(&self, strategy: StrategyKind) -> Configuration {
        Configuration {
            machine: self.workload.machine(),
            strategy,
            scheduler: self.scheduler,
        }
    }

    /// Whether no strategy needs another replication before the cap.
    fn is_exact(&self, runs: &[Vec<RunResult>]) -> bool {
        match self.repeat {
            Repeat::Fixed(_) => false,
            Repeat::UntilAbsoluteError { target, .. } => {
                runs.iter().all(|runs| reaches(target, runs))
            }
        }
    }

    fn summary(&self, strategy: StrategyKind, runs: Vec<RunResult>) -> SaturationResult {
        let stop = match self.repeat {
            Repeat::Fixed(_) => Stop::Fixed,
            Repeat::UntilAbsoluteError { target, .. } if reaches(target, &runs) => {
                Stop::ErrorReached
            }
            Repeat::UntilAbsoluteError { .. } => Stop::CapReached,
        };
        let mut refused = Refusals::default();
        for run in &runs {
            refused.merge(&run.refused);
        }
        SaturationResult {
            strategy,
            utilization: estimate(&runs, Metric::Utilization),
            internal_fragmentation: estimate(&runs, Metric::InternalFragmentation),
            stop,
            decision_hash: simulation::hash_of_hashes(&runs),
            refused,
            runs,
        }
    }
}

fn estimate(runs: &[RunResult], metric: Metric) -> Option<Estimate> {
    let values: Vec<f64> = runs.iter().filter_map(|run| run.values[metric]).collect();
    Estimate::of(&values)
}

fn reaches(target: f64, runs: &[RunResult]) -> bool {
    let utilization = estimate(runs, Metric::Utilization);
    let half_width = utilization.and_then(|estimate| estimate.ci95);
    half_width.is_some_and(|width| width <= target)
}

#[cfg(test)]
mod tests;
