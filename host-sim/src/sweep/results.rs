//! The results of a sweep as files: CSV, one row for each point and strategy, and JSON.
//!
//! Both have everything that the scenario determines and nothing else: no wall-clock time. Numbers
//! are written with as many digits as it takes to read back the same number. A number that does not exist is an
//! empty cell, or `null`.

use std::io;

use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Finished, Point};
use crate::experiment::StrategyResult;
use crate::identity::{PROGRAM, VERSION, hash};
use crate::metrics::Metric;
use crate::report;
use crate::scenario::{self, GridPoint};
use crate::workload::Workload;

/// The metrics of a result file.
fn metrics() -> impl Iterator<Item = Metric> {
    Metric::ALL
        .into_iter()
        .filter(|metric| metric.is_reproducible())
}

/// The CSV file: first the keys of the scenario, then what was measured. The columns are the same for every
/// sweep.
pub(super) fn csv(grid: &[GridPoint], finished: &[Finished]) -> io::Result<Vec<u8>> {
    let keys = keys();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut columns = keys.clone();
    columns.extend(["runs", "stop", "saturated", "grows_with_length"].map(str::to_owned));
    for metric in metrics() {
        let name = metric.name();
        columns.extend(["mean", "ci95", "replications"].map(|part| format!("{name}_{part}")));
    }
    columns.extend(["refused", "table_limited", "decisions", "decision_hash"].map(str::to_owned));
    writer.write_record(&columns)?;
    for (point, finished) in grid.iter().zip(finished) {
        let scenario = serde_json::to_value(&point.scenario)?;
        for result in &finished.results {
            let of_scenario = keys.iter().map(|key| match key.as_str() {
                "strategy" => result.strategy.to_string(),
                key => cell(&scenario[key]),
            });
            writer.write_record(of_scenario.chain(measured(result)))?;
        }
    }
    writer.into_inner().map_err(csv::IntoInnerError::into_error)
}

/// The keys of scenarios that a result depends on.
fn keys() -> Vec<String> {
    let options = scenario::options();
    let keys = options.get_arguments().filter_map(clap::Arg::get_long);
    keys.filter(|key| !matches!(*key, "backend" | "format" | "help"))
        .map(str::to_owned)
        .collect()
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn measured(result: &StrategyResult) -> Vec<String> {
    let mut cells = vec![
        result.runs.len().to_string(),
        report::stop_name(result.stop).to_owned(),
        result.saturated.to_string(),
        result.grows_with_length.to_string(),
    ];
    let number = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
    for metric in metrics() {
        let shown = report::shown(result, metric);
        let replications = result.metrics[metric].map_or(0, |estimate| estimate.replications);
        cells.extend([
            number(shown.map(|estimate| estimate.mean)),
            number(shown.and_then(|estimate| estimate.ci95)),
            replications.to_string(),
        ]);
    }
    cells.extend([
        result.refused.total().to_string(),
        result.table_limited.to_string(),
        result.decisions.to_string(),
        hash(result.decision_hash),
    ]);
    cells
}

/// The JSON file: for each point its scenario and what `run` gives for it. Beside the text, memory is that of one point.
pub(super) fn json(
    grid: &[GridPoint],
    points: &[Point],
    finished: &[Finished],
) -> io::Result<Vec<u8>> {
    let axes = grid.first().map(|point| {
        let keys = point.label.iter().map(|(key, _)| key.as_str());
        keys.collect()
    });
    let document = Document {
        program: PROGRAM,
        version: VERSION,
        grid: axes,
        points: Documents {
            grid,
            points,
            finished,
        },
    };
    let mut bytes = serde_json::to_vec_pretty(&document)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[derive(Serialize)]
struct Document<'a> {
    program: &'a str,
    version: &'a str,
    grid: Option<Vec<&'a str>>,
    points: Documents<'a>,
}

/// A document for each point, made when it is written.
struct Documents<'a> {
    grid: &'a [GridPoint],
    points: &'a [Point],
    finished: &'a [Finished],
}

impl Serialize for Documents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = self.grid.iter().zip(self.points).zip(self.finished);
        let mut documents = serializer.serialize_seq(Some(all.len()))?;
        for ((point, run), finished) in all {
            let document = document(point, run, finished).map_err(S::Error::custom)?;
            documents.serialize_element(&document)?;
        }
        documents.end()
    }
}

fn document(point: &GridPoint, run: &Point, finished: &Finished) -> serde_json::Result<Value> {
    let mut document = Map::new();
    let scenario = serde_json::to_value(&point.scenario)?;
    document.insert("scenario".to_owned(), scenario);
    if let Workload::Log(log) = &run.experiment.workload {
        document.insert("log".to_owned(), report::log_json(log));
    }
    let results = finished.results.iter();
    let results = results.map(|result| report::result_json(result, &finished.results, None));
    document.insert("results".to_owned(), results.collect());
    Ok(Value::Object(document))
}
