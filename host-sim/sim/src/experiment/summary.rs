//! The rule for enough replications, and the summary of all replications.

use meshalloc::{SchedulerKind, StrategyKind};

use super::{
    Experiment, Measure, REPLICATIONS_MIN, REPLICATIONS_STEP, Replications, Stop, StrategyResult,
};
use crate::metrics::{Metric, PerMetric, Refusals};
use crate::simulation::{self, RunResult};
use crate::statistics::{EMPTY_START_BIAS_MAX, Estimate, empty_start_bias};
use crate::workload::Workload;

impl Experiment {
    /// The stop rule: whether no strategy needs another replication before the cap.
    pub(super) fn is_exact(&self, runs: &[Vec<RunResult>]) -> bool {
        runs.iter().all(|runs| {
            let count = runs.len() as u32;
            count == self.enough(count) && self.reached(runs).is_some()
        })
    }

    /// Whether the number of replications depends on their results.
    pub(super) fn is_open_ended(&self) -> bool {
        let given = matches!(self.replications, Replications::Fixed(_));
        !given && self.workload.is_replicated()
    }

    /// The least number of replications, from `count` on, after which the error is checked.
    pub(super) fn enough(&self, count: u32) -> u32 {
        match self.replications {
            Replications::Fixed(given) => given,
            Replications::UntilRelativeError { .. } => count.max(REPLICATIONS_MIN),
            Replications::UntilAbsoluteError { .. } => count
                .max(REPLICATIONS_MIN)
                .next_multiple_of(REPLICATIONS_STEP),
        }
    }

    /// Why these replications are enough, if they are. Fewer than [`REPLICATIONS_MIN`] decide
    /// nothing.
    fn reached(&self, runs: &[RunResult]) -> Option<Stop> {
        if runs.len() < REPLICATIONS_MIN as usize {
            return None;
        }
        if self.judges_delays() && !self.has_delays(runs) {
            return Some(Stop::Saturated);
        }
        let exact = self.error(runs).is_some_and(|error| error <= 1.0);
        exact.then_some(Stop::ErrorReached)
    }

    /// The error that decides about more replications, as a multiple of the one asked for.
    pub(super) fn error(&self, runs: &[RunResult]) -> Option<f64> {
        match self.replications {
            Replications::Fixed(_) => None,
            Replications::UntilRelativeError { target, .. } => {
                let error = self.estimate(runs, self.judged())?.relative_error()?;
                Some(error / target)
            }
            Replications::UntilAbsoluteError { target, .. } => {
                let error = self.estimate(runs, Metric::Utilization)?.absolute_error()?;
                Some(error / target)
            }
        }
    }

    /// Whether more than half of the runs are saturated, or one run has left jobs behind. Always
    /// false if a backlog is kept.
    fn is_saturated(&self, runs: &[RunResult]) -> bool {
        let saturated = runs.iter().filter(|run| run.saturated).count();
        let leave_jobs = runs.iter().any(|run| run.left_behind > 0);
        self.backlog.is_none() && (leave_jobs || 2 * saturated > runs.len())
    }

    /// Whether an error of the mean delay was asked for, which a saturated run does not have.
    fn judges_delays(&self) -> bool {
        !matches!(self.replications, Replications::UntilAbsoluteError { .. })
    }

    pub(super) fn has_delays(&self, runs: &[RunResult]) -> bool {
        self.measures_departures() || !self.is_saturated(runs)
    }

    fn measures_departures(&self) -> bool {
        match &self.workload {
            Workload::Synthetic(workload) => {
                workload.arrivals.batch().is_some() || self.measure == Measure::Departures
            }
            Workload::Log(_) => false,
        }
    }

    /// The metric whose relative error ends the replications. The waiting delay of the first jobs
    /// to leave is near 0, so its relative error would never become small.
    pub fn judged(&self) -> Metric {
        if self.measures_departures() {
            Metric::Turnaround
        } else {
            Metric::WaitingDelay
        }
    }

    /// Whether the waiting delay is too low by more than is allowed, because runs start empty.
    fn grows_with_length(&self, runs: &[RunResult]) -> bool {
        let bias = empty_start_bias(&values(runs, Metric::WaitingDelay));
        self.workload.is_endless()
            && !self.measures_departures()
            && self.backlog.is_none()
            && !self.is_saturated(runs)
            && bias.is_some_and(|bias| bias > EMPTY_START_BIAS_MAX)
    }

    /// The summaries of all runs, which are given by strategy.
    pub fn summaries(&self, runs: Vec<Vec<RunResult>>) -> Vec<StrategyResult> {
        let strategies = self.strategies.iter().zip(runs);
        strategies
            .map(|(&strategy, runs)| self.summary(strategy, runs))
            .collect()
    }

    /// The jobs without an estimate, as a part of all jobs, if the scheduler decides by estimates;
    /// else 0.
    pub fn without_estimate(&self) -> f64 {
        let decides = matches!(
            self.scheduler,
            SchedulerKind::Easy { .. }
                | SchedulerKind::Conservative
                | SchedulerKind::ShortestJobFirst { .. }
        );
        if decides {
            self.workload.without_estimate()
        } else {
            0.0
        }
    }

    fn summary(&self, strategy: StrategyKind, runs: Vec<RunResult>) -> StrategyResult {
        let saturated = self.is_saturated(&runs);
        let (count, most) = (runs.len(), self.replications_max());
        let is_cut_short = most.is_ok_and(|most| count < most as usize);
        let stop = match self.reached(&runs) {
            Some(stop) if self.is_open_ended() => stop,
            _ if is_cut_short => Stop::Incomplete,
            _ if !self.is_open_ended() => Stop::Fixed,
            _ if self.judges_delays() && !self.has_delays(&runs) => Stop::Saturated,
            _ => Stop::CapReached,
        };
        let mut refused = Refusals::default();
        for run in &runs {
            refused.merge(&run.refused);
        }
        StrategyResult {
            strategy,
            scheduler: self.scheduler,
            metrics: PerMetric::from_fn(|metric| Some(metric.cut(self.estimate(&runs, metric)?))),
            sampling: self.workload.sampling(),
            time_unit: self.workload.time_unit(),
            saturated,
            has_delays: self.has_delays(&runs),
            is_of_log: matches!(self.workload, Workload::Log(_)),
            grows_with_length: self.grows_with_length(&runs),
            stop,
            decision_hash: simulation::hash_of_hashes(&runs),
            decisions: runs.iter().map(|run| run.decisions).sum(),
            refused,
            left_behind: runs.iter().map(|run| u64::from(run.left_behind)).sum(),
            table_limited: runs.iter().map(|run| run.table_limited).sum(),
            without_estimate: self.without_estimate(),
            runs,
        }
    }

    /// Here the interval of a fraction may go beyond 1, since the stop rule judges both whole arms.
    fn estimate(&self, runs: &[RunResult], metric: Metric) -> Option<Estimate> {
        let values = values(runs, metric);
        Estimate::of(&values, self.workload.sampling(), metric.spread())
    }
}

/// The values of the runs in which there was something to measure.
fn values(runs: &[RunResult], metric: Metric) -> Vec<f64> {
    runs.iter().filter_map(|run| run.values[metric]).collect()
}
