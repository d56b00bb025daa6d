//! Results for programs.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::{Report, Timing, grows, jobs_per_second, shown, stop_name};
use crate::experiment::StrategyResult;
use crate::failure::Incomplete;
use crate::identity::{PROGRAM, VERSION, hash};
use crate::metrics::Metric;
use crate::names;
use crate::statistics::Estimate;
use crate::workload::Log;

impl Report<'_> {
    /// Writes one JSON object.
    ///
    /// # Errors
    ///
    /// When `output` does not take it.
    pub fn json(&self, output: &mut dyn Write) -> io::Result<()> {
        let (scenario, seed) = (json!(self.scenario), self.scenario.seed);
        let mut document = document(&scenario, seed, self.incomplete);
        if let Some(log) = self.log {
            document["log"] = log_json(log);
        }
        if let Some(controller) = &self.controller {
            document["controller"] = controller.as_str().into();
        }
        let rows = self.results.iter().zip(self.timings);
        document["results"] = rows
            .map(|(result, timing)| result_json(result, self.results, Some(timing)))
            .collect();
        write_json(&document, output)
    }
}

/// What every document begins with.
pub(crate) fn document(scenario: &Value, seed: u64, incomplete: Option<&Incomplete>) -> Value {
    let mut document = json!({
        "program": PROGRAM,
        "version": VERSION,
        "scenario": scenario,
        "seed": seed,
    });
    if let Some(incomplete) = incomplete {
        document["incomplete"] = incomplete.reason.as_str().into();
    }
    document
}

/// Writes a document, in lines.
pub(crate) fn write_json(document: &Value, output: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *output, document)?;
    writeln!(output)
}

/// Mean, half-width and number of replications, `null` where there is none; `all` is where the number comes from.
pub(crate) fn estimate_json(shown: Option<Estimate>, all: Option<Estimate>) -> Value {
    json!({
        "mean": shown.map(|estimate| estimate.mean),
        "ci95": shown.and_then(|estimate| estimate.ci95),
        "replications": all.map_or(0, |estimate| estimate.replications),
    })
}

/// Jobs refused, by reason.
pub(crate) fn refused_json(result: &StrategyResult) -> Value {
    let refused = result.refused.iter();
    refused
        .map(|(reason, count)| (reason.name(), count))
        .collect()
}

pub(crate) fn log_json(log: &Log) -> Value {
    json!({
        "file": log.path.to_string_lossy(),
        "computer": log.header.computer,
        "installation": log.header.installation,
        "acknowledge": log.header.acknowledge,
        "jobs": log.jobs.len(),
        "records": log.lines.records,
        "other_partitions": log.lines.other_partitions,
        "outside": log.lines.outside,
        "dropped_no_processors": log.lines.no_processors,
        "dropped_no_run_time": log.lines.no_run_time,
        "offered_load": log.offered_load(),
    })
}

/// One strategy's results; `all` are those it is compared with.
pub(crate) fn result_json(
    result: &StrategyResult,
    all: &[StrategyResult],
    timing: Option<&Timing>,
) -> Value {
    let mut metrics = Map::new();
    for (metric, estimate) in result.metrics.iter() {
        // Results of the same seed must be the same unless a clock was asked for, and not all jobs send messages.
        if estimate.is_none() && !(metric.is_reproducible() && metric.is_of_all_jobs()) {
            continue;
        }
        let value = estimate_json(shown(result, metric), *estimate);
        metrics.insert(metric.name().to_owned(), value);
    }
    let mut object = json!({
        "strategy": result.strategy.to_string(),
        "scheduler": names::scheduler_text(result.scheduler, result.time_unit),
        "time_unit": result.time_unit.name(),
        "metrics": metrics,
        "saturated": result.saturated,
        "grows_with_length": result.grows_with_length,
        "replications": result.runs.len(),
        "stop": stop_name(result.stop),
        "waiting_delay_gains": gains_json(result, all),
        "refused": refused_json(result),
        "table_limited": result.table_limited,
        "decisions": result.decisions,
        "decision_hash": hash(result.decision_hash),
    });
    if let Some(timing) = timing {
        object["elapsed_seconds"] = timing.elapsed.as_secs_f64().into();
        object["jobs_per_second"] = jobs_per_second(result, timing).into();
        if let Some(trips) = &timing.round_trips {
            let mut trips = trips.clone();
            object["round_trip"] = json!({
                "commands": trips.len(),
                "median_seconds": trips.quantile_seconds(0.5),
                "p99_seconds": trips.quantile_seconds(0.99),
            });
        }
    }
    object
}

/// Only where neither mean depends on the length of the run.
fn gains_json(result: &StrategyResult, all: &[StrategyResult]) -> Vec<Value> {
    let metric = Metric::WaitingDelay;
    let settled = |result: &StrategyResult| result.has_delays && !grows(result, metric);
    let others = all
        .iter()
        .filter(|other| other.strategy != result.strategy && settled(other) && settled(result));
    others
        .filter_map(|other| {
            let gain = result.gain_over(other, metric)?;
            Some(json!({
                "over": other.strategy.to_string(),
                "mean": gain.mean,
                "ci95": gain.ci95,
                "replications": gain.replications,
            }))
        })
        .collect()
}
