//! Results for programs, as JSON.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use super::{Report, jobs_per_second};
use crate::identity::{PROGRAM, VERSION};
use crate::measured::Timing;
use meshalloc_sim::experiment::StrategyResult;
use meshalloc_sim::results::StrategySummary;
use meshalloc_sim::workload::{LineCounts, Log, LogHeader, Mix, MixEntry};

/// The results of one point.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "reference", schemars(rename = "Run"))]
pub(crate) struct RunDocument {
    /// The program's name.
    program: &'static str,
    /// The program's version.
    version: &'static str,
    /// What was run: the settings and options of the command, with underscores for hyphens,
    /// defaults filled in.
    scenario: Value,
    /// The seed of all random numbers.
    seed: u64,
    /// Why replications are missing; absent if none are.
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<String>,
    /// The log; absent for a synthetic workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<LogJson>,
    /// The mix of shapes; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    mix: Option<MixJson>,
    /// Version and build of the controller; absent if it is in the simulator's process.
    #[serde(skip_serializing_if = "Option::is_none")]
    controller: Option<String>,
    /// One for each strategy.
    results: Vec<TimedResultJson>,
}

pub(crate) fn write_json(document: &impl Serialize, output: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *output, document)?;
    writeln!(output)
}

/// A result with what the runs took on the wall clock.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
struct TimedResultJson {
    #[serde(flatten)]
    result: StrategySummary,
    /// The wall-clock time of all runs; absent where it was not measured: of points that are kept,
    /// and in `compare` and `saturation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_seconds: Option<f64>,
    /// Jobs granted per second of wall-clock time; absent if no time passed or was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs_per_second: Option<f64>,
    /// Round trips to a controller over a line; absent for one in the simulator's process.
    #[serde(skip_serializing_if = "Option::is_none")]
    round_trip: Option<RoundTripJson>,
}

impl TimedResultJson {
    fn new(report: &Report<'_>, result: &StrategyResult, timing: Option<&Timing>) -> Self {
        let round_trip = timing.and_then(|timing| timing.round_trips.clone());
        TimedResultJson {
            result: StrategySummary::new(result, report.results(), report.metrics),
            elapsed_seconds: timing.map(|timing| timing.elapsed.as_secs_f64()),
            jobs_per_second: timing.and_then(|timing| jobs_per_second(result, timing)),
            round_trip: round_trip.map(|mut trips| RoundTripJson {
                commands: trips.len(),
                median_seconds: trips.quantile(0.5).map(|nanos| nanos / 1e9),
                p99_seconds: trips.quantile(0.99).map(|nanos| nanos / 1e9),
            }),
        }
    }
}

impl Report<'_> {
    /// Writes one JSON object.
    pub(crate) fn json(&self, output: &mut dyn Write) -> io::Result<()> {
        let results = self.timed();
        let results = results.map(|(result, timing)| TimedResultJson::new(self, result, timing));
        let incomplete = self.measured.incomplete.as_ref();
        let document = RunDocument {
            program: PROGRAM,
            version: VERSION,
            scenario: self.settings.record(),
            seed: self.experiment.seed,
            incomplete: incomplete.map(|incomplete| incomplete.reason.clone()),
            log: self.workload().log().map(LogJson::new),
            mix: self.workload().mix().map(MixJson::new),
            controller: self.measured.controller.clone(),
            results: results.collect(),
        };
        write_json(&document, output)
    }
}

/// A log that was run.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
pub(crate) struct LogJson {
    /// The file.
    file: String,
    #[serde(flatten)]
    header: LogHeader,
    /// Jobs that are run: `records` less those left out.
    jobs: usize,
    #[serde(flatten)]
    lines: LineCounts,
    /// Whether something that is no gzip stands behind the gzip data of the file; it was not read.
    other_data_behind_gzip: bool,
    /// The load that its jobs offer to the machine, before `log_load` changes it; `null` if all
    /// arrive at one time or no machine is named.
    pub(crate) offered_load: Option<f64>,
}

/// A mix of shapes.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
struct MixJson {
    /// The number of shapes that jobs have.
    shapes: usize,
    /// Shapes left out because the machine never gives them.
    dropped: Vec<String>,
    /// Their part of the total weight, 0 to 1.
    dropped_share: f64,
}

impl MixJson {
    fn new(mix: &Mix) -> Self {
        let shape = |entry: &MixEntry| entry.request.to_string();
        MixJson {
            shapes: mix.entries.len(),
            dropped: mix.dropped.iter().map(shape).collect(),
            dropped_share: mix.dropped_share(),
        }
    }
}

impl LogJson {
    pub(crate) fn new(log: &Log) -> Self {
        LogJson {
            file: log.path.to_string_lossy().into_owned(),
            header: LogHeader::clone(&log.header),
            jobs: log.jobs.len(),
            lines: log.lines,
            other_data_behind_gzip: log.has_more,
            offered_load: log.offered_load(),
        }
    }
}

/// What commands took over the line to the controller.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
struct RoundTripJson {
    /// The number of commands.
    commands: usize,
    /// The median time of a command.
    median_seconds: Option<f64>,
    /// The 99th percentile.
    p99_seconds: Option<f64>,
}
