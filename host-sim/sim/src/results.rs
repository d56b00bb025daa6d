//! Results for programs: the results of each strategy, with names for everything, for JSON and
//! other formats of serde.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::experiment::StrategyResult;
use crate::metrics::Metric;
use crate::names;
use crate::statistics::Estimate;

/// A mark behind a mean that says less than it seems to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The mean still grows with the length of the run.
    Grows,
    /// The mean is that of a log that saturates the strategy.
    Saturated,
    /// The mean leaves out more than 1 % of the jobs.
    Partial,
    /// The scheduler decides by estimates, and some jobs have none.
    Unestimated,
}

impl Mark {
    /// Every mark.
    pub const ALL: [Mark; 4] = [
        Mark::Grows,
        Mark::Saturated,
        Mark::Partial,
        Mark::Unestimated,
    ];

    /// Its name.
    const fn name(self) -> &'static str {
        match self {
            Mark::Grows => "grows",
            Mark::Saturated => "saturated",
            Mark::Partial => "partial",
            Mark::Unestimated => "unestimated",
        }
    }

    /// Whether the mean of this metric has the mark.
    pub fn is_on(self, result: &StrategyResult, metric: Metric) -> bool {
        match self {
            Mark::Grows => grows(result, metric),
            Mark::Saturated => result.is_of_log && result.saturated && metric.depends_on_length(),
            Mark::Partial => result.is_partial() && metric.is_of_served_jobs(),
            Mark::Unestimated => result.without_estimate > 0.0 && metric.depends_on_length(),
        }
    }
}

/// The state of a strategy's mean of a metric, for tables of programs: `saturated`, the first
/// [mark](Mark) that it has, or nothing.
pub fn state(result: &StrategyResult, metric: Metric) -> &'static str {
    if is_hidden(result, metric) {
        return Mark::Saturated.name();
    }
    let mut marks = Mark::ALL.into_iter();
    let mark = marks.find(|mark| mark.is_on(result, metric));
    mark.map_or("", Mark::name)
}

/// Whether the mean of this metric still grows with the length of the run.
pub fn grows(result: &StrategyResult, metric: Metric) -> bool {
    result.grows_with_length && metric.depends_on_length()
}

/// Whether the metric has no value because the system was saturated.
pub fn is_hidden(result: &StrategyResult, metric: Metric) -> bool {
    !result.has_delays && !result.is_of_log && metric.depends_on_length()
}

/// The estimate as it may be shown: `None` if the system was saturated and the metric means
/// nothing. The estimate of a log has a value, which is [marked](Mark).
pub fn shown(result: &StrategyResult, metric: Metric) -> Option<Estimate> {
    result.metrics[metric].filter(|_| !is_hidden(result, metric))
}

/// Whether the strategy's mean waiting delay can be compared with that of others: the mean exists,
/// does not depend on the length of the run, and is over all jobs.
pub fn is_comparable(result: &StrategyResult) -> bool {
    // All strategies have the same jobs, so estimates are missing under each.
    let marks = Mark::ALL
        .into_iter()
        .filter(|&mark| mark != Mark::Unestimated);
    let mut marks = marks.filter(|mark| mark.is_on(result, Metric::WaitingDelay));
    shown(result, Metric::WaitingDelay).is_some() && marks.next().is_none()
}

/// A mean over the replications; a number that does not exist is `null`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricSummary {
    /// The mean; `null` if a synthetic workload saturates the strategy, so that the mean depends on
    /// the length of the run.
    mean: Option<f64>,
    /// Lower end of the 95 % confidence interval: Student's t; that of a delay is computed on the
    /// logarithm of the mean and widened by 1 + 1/n, n being the number of replications; `null`
    /// with a single one. For a resampled log: Student's t with the standard
    /// deviation of the replications as standard error, which more replications do not narrow.
    low: Option<f64>,
    /// Upper end of this interval.
    high: Option<f64>,
    /// Standard deviation of the replications; `null` with a single one.
    standard_deviation: Option<f64>,
    /// The number of replications that had something to measure.
    replications: usize,
    /// The value of each replication, even without a mean; `null` if there was nothing to measure.
    values: Vec<Option<f64>>,
    /// The estimate that mean, interval and deviation are from; `None` where there is no mean.
    #[serde(skip)]
    pub estimate: Option<Estimate>,
}

impl MetricSummary {
    /// The summary of the estimate that is shown, with the value of each replication.
    pub fn new(shown: Option<Estimate>, values: Vec<Option<f64>>) -> Self {
        let interval = shown.and_then(|estimate| estimate.ci95);
        MetricSummary {
            mean: shown.map(|estimate| estimate.mean),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            standard_deviation: shown.and_then(|estimate| estimate.deviation),
            replications: values.iter().flatten().count(),
            values,
            estimate: shown,
        }
    }
}

/// Estimates by the names of metrics.
pub struct MetricSummaries(pub Vec<(Metric, MetricSummary)>);

impl Serialize for MetricSummaries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.0.iter();
        serializer.collect_map(entries.map(|(metric, estimate)| (metric.name(), estimate)))
    }
}

/// Measured jobs refused for good, by reason; reasons that did not occur are absent.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct RefusedSummary(BTreeMap<&'static str, u64>);

/// By what part the mean waiting delay is below that of another strategy, over replications with
/// the same jobs.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GainSummary {
    /// The other strategy.
    over: String,
    /// The gain, a part of 1.
    mean: f64,
    /// Lower end of the 95 % confidence interval of the ratio of the two means.
    low: Option<f64>,
    /// Upper end.
    high: Option<f64>,
    /// The paired replications.
    replications: usize,
}

/// The results of one strategy.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StrategySummary {
    /// The strategy with its parameters.
    strategy: String,
    /// The scheduler with its parameters.
    scheduler: String,
    /// `second` or `cycle`.
    time_unit: &'static str,
    /// The metrics that were measured, or those of `--metrics`, by name.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, MetricSummary>"))]
    metrics: MetricSummaries,
    /// Whether the backlog grew in most replications, or jobs were left behind in one.
    saturated: bool,
    /// Whether mean delays still grow with the length of the run.
    grows_with_length: bool,
    /// The number of replications.
    replications: usize,
    /// Why replication ended: `fixed`, `error-reached`, `cap-reached`, `saturated` or
    /// `incomplete`.
    stop: &'static str,
    /// Gains over the other strategies. Means that depend on the length of the run or are partial
    /// have none.
    waiting_delay_gains: Vec<GainSummary>,
    refused: RefusedSummary,
    /// Measured jobs that were served, as a part of all measured jobs.
    served_share: f64,
    /// Whether `served_share` is below 0.99. Means over jobs leave out those that were refused or
    /// left behind.
    partial: bool,
    /// Measured jobs that ten times as many later jobs had passed when the run ended.
    left_behind: u64,
    /// How often the scheduler did not see a job that it might have chosen, because the
    /// controller's table was full.
    table_limited: u64,
    /// The jobs without a run-time estimate, as a part of all jobs, if the scheduler decides by
    /// estimates; else 0. It reserves nothing for what waits for them, or serves them last.
    without_estimate: f64,
    /// Jobs granted in all replications.
    decisions: u64,
    /// A checksum of all decisions, hexadecimal.
    decision_hash: String,
}

impl StrategySummary {
    /// One strategy's results; `all` are the results that it is compared with. They have the chosen
    /// metrics. If no metrics are chosen, they have all that were measured.
    pub fn new(result: &StrategyResult, all: &[StrategyResult], chosen: &[Metric]) -> Self {
        // Results of the same seed must be the same unless a clock was asked for, and not all jobs
        // send messages.
        let is_there = |metric: Metric, estimate: &Option<Estimate>| {
            if chosen.is_empty() {
                estimate.is_some() || (metric.is_reproducible() && metric.needs().is_none())
            } else {
                chosen.contains(&metric)
            }
        };
        let metrics = result.metrics.iter();
        let metrics = metrics.filter(|(metric, estimate)| is_there(*metric, estimate));
        let metrics = metrics.map(|(metric, _)| {
            let estimate = MetricSummary::new(shown(result, metric), result.values(metric));
            (metric, estimate)
        });
        let refused = result.refused.iter();
        let refused = refused.map(|(reason, count)| (reason.name(), count));
        StrategySummary {
            strategy: result.strategy.to_string(),
            scheduler: names::scheduler_text(result.scheduler, result.time_unit),
            time_unit: result.time_unit.name(),
            metrics: MetricSummaries(metrics.collect()),
            saturated: result.saturated,
            grows_with_length: result.grows_with_length,
            replications: result.runs.len(),
            stop: result.stop.name(),
            waiting_delay_gains: gains_json(result, all),
            refused: RefusedSummary(refused.collect()),
            served_share: result.served_share(),
            partial: result.is_partial(),
            left_behind: result.left_behind,
            table_limited: result.table_limited,
            without_estimate: result.without_estimate,
            decisions: result.decisions,
            decision_hash: format!("{:016x}", result.decision_hash),
        }
    }
}

fn gains_json(result: &StrategyResult, all: &[StrategyResult]) -> Vec<GainSummary> {
    let metric = Metric::WaitingDelay;
    let others = all.iter().filter(|other| {
        other.strategy != result.strategy && is_comparable(other) && is_comparable(result)
    });
    others
        .filter_map(|other| {
            let gain = result.gain_over(other, metric)?;
            Some(GainSummary {
                over: other.strategy.to_string(),
                mean: gain.mean,
                low: gain.ci95.map(|interval| interval.low),
                high: gain.ci95.map(|interval| interval.high),
                replications: gain.replications,
            })
        })
        .collect()
}
