//! Results for programs: the types are what [`schema`](crate::schema) describes.

use std::borrow::Cow;
use std::io::{self, Write};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::{Report, Timing, is_comparable, jobs_per_second, shown, stop_name};
use crate::failure::Incomplete;
use crate::identity::{PROGRAM, VERSION, hash};
use crate::scenario;
use meshalloc_sim::experiment::StrategyResult;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::statistics::Estimate;
use meshalloc_sim::workload::Log;

/// What every document begins with, and what its command adds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<T> {
    /// The program's name.
    program: &'static str,
    /// The program's version.
    version: &'static str,
    /// What was run: options of the command, without dashes, defaults filled in.
    scenario: Recorded,
    /// What all random numbers derive from.
    seed: u64,
    /// Why the results are not of all replications; not there when they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<String>,
    #[serde(flatten)]
    content: T,
}

impl<T: Serialize> Document<T> {
    /// A document about this scenario.
    pub(crate) fn new(
        scenario: Value,
        seed: u64,
        incomplete: Option<&Incomplete>,
        content: T,
    ) -> Self {
        Document {
            program: PROGRAM,
            version: VERSION,
            scenario: Recorded(scenario),
            seed,
            incomplete: incomplete.map(|incomplete| incomplete.reason.clone()),
            content,
        }
    }

    /// Writes it, in lines.
    ///
    /// # Errors
    ///
    /// When `output` does not take it.
    pub(crate) fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        write_json(self, output)
    }
}

/// Writes a document, in lines.
///
/// # Errors
///
/// When `output` does not take it.
pub(crate) fn write_json(document: &impl Serialize, output: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *output, document)?;
    writeln!(output)
}

/// A scenario in a result.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Recorded(pub(crate) Value);

impl JsonSchema for Recorded {
    fn schema_name() -> Cow<'static, str> {
        "Scenario".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let options = scenario::options();
        let property = |arg: &clap::Arg| {
            let help = arg.get_help().map(ToString::to_string);
            let description = json!({"description": help.unwrap_or_default()});
            Some((arg.get_long()?.to_owned(), description))
        };
        let properties: Map<String, Value> = options.get_arguments().filter_map(property).collect();
        json_schema!({
            "type": "object",
            "description": "Options of the command, without dashes. Those of `run` are keys of scenario files.",
            "properties": properties,
            "additionalProperties": {"type": ["string", "number", "boolean", "array"]},
        })
    }
}

/// What `run` adds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunContent {
    /// The log; not there for a synthetic workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<LogJson>,
    /// Version and build of the controller; not there if it is in the simulator's process.
    #[serde(skip_serializing_if = "Option::is_none")]
    controller: Option<String>,
    /// One for each strategy.
    results: Vec<TimedResultJson>,
}

/// A result with what the runs took on the wall clock.
#[derive(Serialize, JsonSchema)]
struct TimedResultJson {
    #[serde(flatten)]
    result: ResultJson,
    /// What all runs took on the wall clock.
    elapsed_seconds: f64,
    /// Jobs granted per second of that; `null` if no time passed.
    jobs_per_second: Option<f64>,
    /// Of a controller at the end of a line; not there of one in the simulator's process.
    #[serde(skip_serializing_if = "Option::is_none")]
    round_trip: Option<RoundTripJson>,
}

impl TimedResultJson {
    fn new(result: &StrategyResult, all: &[StrategyResult], timing: &Timing) -> Self {
        let round_trip = timing.round_trips.clone();
        TimedResultJson {
            result: ResultJson::new(result, all),
            elapsed_seconds: timing.elapsed.as_secs_f64(),
            jobs_per_second: jobs_per_second(result, timing),
            round_trip: round_trip.map(|mut trips| RoundTripJson {
                commands: trips.len(),
                median_seconds: trips.quantile_seconds(0.5),
                p99_seconds: trips.quantile_seconds(0.99),
            }),
        }
    }
}

impl Report<'_> {
    /// Writes one JSON object.
    ///
    /// # Errors
    ///
    /// When `output` does not take it.
    pub fn json(&self, output: &mut dyn Write) -> io::Result<()> {
        let rows = self.results.iter().zip(self.timings);
        let rows = rows.map(|(result, timing)| TimedResultJson::new(result, self.results, timing));
        let content = RunContent {
            log: self.log.map(LogJson::new),
            controller: self.controller.clone(),
            results: rows.collect(),
        };
        let (settings, seed) = (&self.scenario.settings, self.scenario.plan.seed);
        Document::new(settings.record(), seed, self.incomplete, content).write(output)
    }
}

/// A mean over the replications; a number that does not exist is `null`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EstimateJson {
    /// The mean; `null` where it would depend on the length of the run, as the backlog grew. That
    /// of a log is there even so.
    mean: Option<f64>,
    /// Lower end of the 95 % confidence interval: Student's t on the logarithm of the mean, with
    /// arms 1 + 1/n times as long, n being the number of replications; `null` with a single one.
    /// Where a log is resampled it is Student's t with the standard deviation of the replications
    /// as standard error, and more of them do not narrow it.
    low: Option<f64>,
    /// Upper end of that interval.
    high: Option<f64>,
    /// Standard deviation of the replications; `null` with a single one.
    standard_deviation: Option<f64>,
    /// The replications that had something to measure.
    replications: usize,
    /// The value of each replication, also where there is no mean; `null` where there was nothing
    /// to measure.
    values: Vec<Option<f64>>,
}

impl EstimateJson {
    /// Of what is shown, and the value of each replication.
    pub(crate) fn new(shown: Option<Estimate>, values: Vec<Option<f64>>) -> Self {
        let interval = shown.and_then(|estimate| estimate.ci95);
        EstimateJson {
            mean: shown.map(|estimate| estimate.mean),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            standard_deviation: shown.and_then(|estimate| estimate.deviation),
            replications: values.iter().flatten().count(),
            values,
        }
    }
}

/// Estimates by the names of metrics.
pub(crate) struct MetricsJson(pub(crate) Vec<(Metric, EstimateJson)>);

impl Serialize for MetricsJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.0.iter();
        serializer.collect_map(entries.map(|(metric, estimate)| (metric.name(), estimate)))
    }
}

impl JsonSchema for MetricsJson {
    fn schema_name() -> Cow<'static, str> {
        "Metrics".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let estimate = generator.subschema_for::<EstimateJson>();
        let property = |metric: Metric| {
            let description = format!("{} Unit: {}.", metric.meaning(), metric.unit().words());
            let mut schema = json!({"allOf": [estimate]});
            schema["description"] = description.into();
            (metric.name().to_owned(), schema)
        };
        let properties: Map<String, Value> = Metric::ALL.into_iter().map(property).collect();
        json_schema!({
            "type": "object",
            "description": "Metrics by name, those that were measured.",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

/// Measured jobs refused for good, by reason; a reason that did not occur is not there.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
struct RefusedJson(std::collections::BTreeMap<&'static str, u64>);

/// Which measured jobs means of jobs are over.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ServedJson {
    refused: RefusedJson,
    /// Measured jobs that were served, as a part of all of them.
    served_share: f64,
    /// Whether that is less than 0.99: means of jobs leave out the others, which were refused or
    /// left behind.
    partial: bool,
}

impl ServedJson {
    pub(crate) fn new(result: &StrategyResult) -> Self {
        let reasons = result.refused.iter();
        let reasons = reasons.map(|(reason, count)| (reason.name(), count));
        ServedJson {
            refused: RefusedJson(reasons.collect()),
            served_share: result.served_share(),
            partial: result.is_partial(),
        }
    }
}

/// A log that was run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LogJson {
    /// The file.
    file: String,
    /// The machine, as the log's header has it.
    computer: Option<String>,
    /// Where that is.
    installation: Option<String>,
    /// Whom the header thanks, line by line.
    acknowledge: Vec<String>,
    /// UnixStartTime: the Unix time of the log's zero, in seconds; `null` if the header does not
    /// have it. The Unix time of a job's time is the sum of that time, of `from` if it is given,
    /// and of this, unless `log-load` or `resample` changes the times of the log.
    unix_start_time: Option<i64>,
    /// The time zone of the logged machine, such as Europe/Paris; `null` if the header does not
    /// have it.
    time_zone: Option<String>,
    /// Jobs that are run: `records` less all that are left out.
    jobs: usize,
    /// Jobs in the file, lines of partial executions included.
    records: u64,
    /// Lines left out as they are partial executions of jobs that have a line of their own.
    partial_executions: u64,
    /// Jobs left out as they are of other partitions.
    other_partitions: u64,
    /// Jobs left out as they have no submit time.
    dropped_no_submit_time: u64,
    /// Jobs left out as they were submitted before or after the window.
    outside: u64,
    /// Jobs left out as they have no number of processors.
    dropped_no_processors: u64,
    /// Jobs left out as they have no run time.
    dropped_no_run_time: u64,
    /// Lines after the last job that the option `jobs` takes.
    beyond_limit: u64,
    /// The load that its jobs offer to the machine at the times of the log, whatever `log-load` makes of these; `null` if they
    /// arrive at one time, or no machine is named.
    offered_load: Option<f64>,
}

impl LogJson {
    pub(crate) fn new(log: &Log) -> Self {
        LogJson {
            file: log.path.to_string_lossy().into_owned(),
            computer: log.header.computer.clone(),
            installation: log.header.installation.clone(),
            acknowledge: log.header.acknowledge.clone(),
            unix_start_time: log.header.unix_start_time,
            time_zone: log.header.time_zone.clone(),
            jobs: log.jobs.len(),
            records: log.lines.records.into(),
            partial_executions: log.lines.partial_executions.into(),
            other_partitions: log.lines.other_partitions.into(),
            dropped_no_submit_time: log.lines.no_submit_time.into(),
            outside: log.lines.outside.into(),
            dropped_no_processors: log.lines.no_processors.into(),
            dropped_no_run_time: log.lines.no_run_time.into(),
            beyond_limit: log.lines.beyond_limit.into(),
            offered_load: log.offered_load(),
        }
    }

    /// The same of a log that is offered to no machine.
    pub(crate) fn without_load(self) -> Self {
        LogJson {
            offered_load: None,
            ..self
        }
    }
}

/// By what part the mean waiting delay is below that of another strategy, over replications with the same jobs.
#[derive(Serialize, JsonSchema)]
struct GainJson {
    /// The other strategy.
    over: String,
    /// The gain, a part of 1.
    mean: f64,
    /// Lower end of its 95 % confidence interval, which is that of the ratio of the two means.
    low: Option<f64>,
    /// Upper end.
    high: Option<f64>,
    /// The paired replications.
    replications: usize,
}

/// What commands took over the line to the controller.
#[derive(Serialize, JsonSchema)]
struct RoundTripJson {
    /// The number of commands.
    commands: usize,
    /// Half of them took at most so long.
    median_seconds: Option<f64>,
    /// 99 % of them did.
    p99_seconds: Option<f64>,
}

/// The results of one strategy.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ResultJson {
    /// The strategy with its parameters.
    strategy: String,
    /// The scheduler with its parameters.
    scheduler: String,
    /// `second` or `cycle`.
    time_unit: &'static str,
    metrics: MetricsJson,
    /// Whether the backlog grew in most replications, or jobs were left behind in one.
    saturated: bool,
    /// Whether mean delays still grow with the length of the run.
    grows_with_length: bool,
    /// The number of replications.
    replications: usize,
    /// Why there were no more: `fixed`, `error-reached`, `cap-reached`, `saturated` or `incomplete`.
    stop: &'static str,
    /// Gains over the other strategies, where neither mean depends on the length of the run or is
    /// partial.
    waiting_delay_gains: Vec<GainJson>,
    #[serde(flatten)]
    served: ServedJson,
    /// Measured jobs that had not left when ten times as many later ones had passed them.
    left_behind: u64,
    /// How often the scheduler did not see a job that it might have chosen, because the controller's table was full.
    table_limited: u64,
    /// Jobs granted in all replications.
    decisions: u64,
    /// All decisions as one number, hexadecimal.
    decision_hash: String,
}

impl ResultJson {
    /// One strategy's results; `all` are those it is compared with.
    pub(crate) fn new(result: &StrategyResult, all: &[StrategyResult]) -> Self {
        // Results of the same seed must be the same unless a clock was asked for, and not all jobs send messages.
        let is_there = |metric: Metric, estimate: &Option<Estimate>| {
            estimate.is_some() || (metric.is_reproducible() && metric.is_of_all_jobs())
        };
        let metrics = result.metrics.iter();
        let metrics = metrics.filter(|(metric, estimate)| is_there(*metric, estimate));
        let metrics = metrics.map(|(metric, _)| {
            let estimate = EstimateJson::new(shown(result, metric), result.values(metric));
            (metric, estimate)
        });
        ResultJson {
            strategy: result.strategy.to_string(),
            scheduler: names::scheduler_text(result.scheduler, result.time_unit),
            time_unit: result.time_unit.name(),
            metrics: MetricsJson(metrics.collect()),
            saturated: result.saturated,
            grows_with_length: result.grows_with_length,
            replications: result.runs.len(),
            stop: stop_name(result.stop),
            waiting_delay_gains: gains_json(result, all),
            served: ServedJson::new(result),
            left_behind: result.left_behind,
            table_limited: result.table_limited,
            decisions: result.decisions,
            decision_hash: hash(result.decision_hash),
        }
    }
}

/// Only where both means can be compared.
fn gains_json(result: &StrategyResult, all: &[StrategyResult]) -> Vec<GainJson> {
    let metric = Metric::WaitingDelay;
    let others = all.iter().filter(|other| {
        other.strategy != result.strategy && is_comparable(other) && is_comparable(result)
    });
    others
        .filter_map(|other| {
            let gain = result.gain_over(other, metric)?;
            Some(GainJson {
                over: other.strategy.to_string(),
                mean: gain.mean,
                low: gain.ci95.map(|interval| interval.low),
                high: gain.ci95.map(|interval| interval.high),
                replications: gain.replications,
            })
        })
        .collect()
}
