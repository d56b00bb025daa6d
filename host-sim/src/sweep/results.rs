//! The results of a sweep as files: CSV, one row for each point and strategy, and JSON. Both have
//! everything that the scenario determines and nothing else: no wall-clock time. Numbers have as
//! many digits as it takes to read back the same; one that does not exist is an empty cell, or
//! `null`.

use std::io;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{Finished, Point};
use crate::columns::Columns;
use crate::identity::{PROGRAM, VERSION};
use crate::report::{LogJson, Recorded, summaries};
use meshalloc_sim::results::StrategySummary;
use meshalloc_sim::scenario::{GridPoint, Setting};

/// The columns of the CSV file of every sweep: settings, then what was measured.
pub(crate) fn columns() -> Columns {
    Columns::of_runs::<StrategySummary>(|_| true, &[]).reproducible()
}

pub(super) fn csv(grid: &[GridPoint], finished: &[Finished]) -> io::Result<Vec<u8>> {
    let points = grid.iter().zip(finished);
    let rows = points.flat_map(|(point, Finished { results, .. })| {
        let scenario = || point.scenario.settings.record();
        summaries(results).map(move |row| (scenario(), row))
    });
    let mut bytes = Vec::new();
    columns().runs(rows, &mut bytes)?;
    Ok(bytes)
}

/// The JSON file: each point's scenario and results as of `run`, in memory one at a time.
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
    /// The log; absent for a synthetic workload.
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
        serializer.collect_seq(
            all.map(|((point, run), Finished { results, .. })| PointDocument {
                scenario: Recorded(point.scenario.settings.record()),
                log: run.experiment.workload.log().map(LogJson::new),
                results: summaries(results).collect(),
            }),
        )
    }
}
