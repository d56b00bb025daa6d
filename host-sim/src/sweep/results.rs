//! The results of a sweep as files: CSV, one row for each point and strategy, and JSON.
//!
//! Both have everything that the scenario determines and nothing else: no wall-clock time. Numbers
//! are written with as many digits as it takes to read back the same number. A number that does not exist is an
//! empty cell, or `null`.

use std::io;

use schemars::JsonSchema;
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Finished, Point};
use crate::identity::{PROGRAM, VERSION, hash};
use crate::report::{self, LogJson, Recorded};
use meshalloc_sim::experiment::StrategyResult;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::results::{StrategySummary, shown};
use meshalloc_sim::scenario::{GridPoint, SETTINGS, Setting};
use meshalloc_sim::workload::Workload;

/// The metrics of a result file.
fn metrics() -> impl Iterator<Item = Metric> {
    Metric::ALL
        .into_iter()
        .filter(|metric| metric.is_reproducible())
}

/// The columns of the CSV file with what they mean: first the keys of the scenario, then what was measured. They are the same for
/// every sweep.
pub(crate) fn columns() -> Vec<(String, String)> {
    let pair = |(name, meaning): (&str, &str)| (name.to_owned(), meaning.to_owned());
    let described = |setting: &Setting| (setting.name.to_owned(), setting.help());
    let mut columns: Vec<_> = settings().map(described).collect();
    columns.extend(BEFORE_METRICS.map(pair));
    for metric in metrics() {
        let (name, meaning, unit) = (metric.name(), metric.meaning(), metric.unit().words());
        columns.extend([
            (format!("{name}_mean"), format!("{meaning} Unit: {unit}.")),
            (
                format!("{name}_low"),
                format!("lower end of the 95 % confidence interval of {name}_mean"),
            ),
            (format!("{name}_high"), "upper end of it".to_owned()),
            (
                format!("{name}_standard_deviation"),
                "standard deviation of the replications".to_owned(),
            ),
            (
                format!("{name}_replications"),
                format!("replications that had a {name}"),
            ),
            (
                format!("{name}_values"),
                "the value of each replication, separated by semicolons".to_owned(),
            ),
        ]);
    }
    columns.extend(AFTER_METRICS.map(pair));
    columns
}

/// The columns between the scenario and the metrics, and those behind them.
const BEFORE_METRICS: [(&str, &str); 4] = [
    ("runs", "the number of replications"),
    (
        "stop",
        "why there were no more: fixed, error-reached, cap-reached, saturated or incomplete",
    ),
    (
        "saturated",
        "whether the backlog grew in most replications, or jobs were left behind in one: mean \
         delays are there for a log only, and depend on where it ends",
    ),
    (
        "grows_with_length",
        "whether mean delays still grow with the length of the run",
    ),
];
const AFTER_METRICS: [(&str, &str); 7] = [
    (
        "refused",
        "measured jobs refused for good, in all replications",
    ),
    (
        "served_share",
        "measured jobs that were served, as a part of all of them",
    ),
    (
        "partial",
        "whether that is less than 0.99: means of jobs leave out the others, which were refused or \
         left behind",
    ),
    (
        "left_behind",
        "measured jobs that had not left when ten times as many later ones had passed them",
    ),
    (
        "table_limited",
        "how often the scheduler did not see a job that it might have chosen, because the controller's table was full",
    ),
    ("decisions", "jobs granted in all replications"),
    ("decision_hash", "all decisions as one number, hexadecimal"),
];

/// The CSV file.
pub(super) fn csv(grid: &[GridPoint], finished: &[Finished]) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns().iter().map(|(name, _)| name))?;
    for (point, finished) in grid.iter().zip(finished) {
        let scenario = point.scenario.settings.record();
        for result in &finished.results {
            let of_scenario = settings().map(|setting| match setting.name {
                "strategy" => result.strategy.to_string(),
                name => cell(&scenario[name]),
            });
            writer.write_record(of_scenario.chain(measured(result)))?;
        }
    }
    writer.into_inner().map_err(csv::IntoInnerError::into_error)
}

/// The settings that a result depends on.
fn settings() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| setting.key != "backend")
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
        result.stop.name().to_owned(),
        result.saturated.to_string(),
        result.grows_with_length.to_string(),
    ];
    for metric in metrics() {
        let shown = shown(result, metric);
        let replications = result.metrics[metric].map_or(0, |estimate| estimate.replications);
        cells.extend(report::cells::estimate(shown, 1.0));
        cells.extend([
            replications.to_string(),
            report::cells::values(&result.values(metric), 1.0),
        ]);
    }
    cells.extend([
        result.refused.total().to_string(),
        result.served_share().to_string(),
        result.is_partial().to_string(),
        result.left_behind.to_string(),
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
        let keys = point.label.iter();
        let settings = keys.filter_map(|(key, _)| Setting::of(key));
        settings.map(|setting| setting.name).collect()
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

/// `results.json`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Sweep")]
pub(crate) struct Document<'a> {
    /// The program's name.
    program: &'a str,
    /// The program's version.
    version: &'a str,
    /// The settings of the grid; `null` without points.
    grid: Option<Vec<&'a str>>,
    /// One for each point, in the order of the grid.
    #[schemars(with = "Vec<PointDocument>")]
    points: Documents<'a>,
}

/// A point of a grid.
#[derive(Serialize, JsonSchema)]
struct PointDocument {
    scenario: Recorded,
    /// The log; not there for a synthetic workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<LogJson>,
    /// One for each strategy.
    results: Vec<StrategySummary>,
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

fn document(
    point: &GridPoint,
    run: &Point,
    finished: &Finished,
) -> serde_json::Result<PointDocument> {
    let results = finished.results.iter();
    let results = results.map(|result| StrategySummary::new(result, &finished.results));
    Ok(PointDocument {
        scenario: Recorded(point.scenario.settings.record()),
        log: match &run.experiment.workload {
            Workload::Log(log) => Some(LogJson::new(log)),
            Workload::Synthetic(_) => None,
        },
        results: results.collect(),
    })
}
