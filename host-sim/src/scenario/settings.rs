//! The settings of a scenario: [`Scenario`], the one table of them.
//!
//! Command line, scenario files, help, reference pages, JSON Schema and the record in every result
//! follow from the fields of this type. A setting is its field here and the code that uses it.

use std::fmt::Display;
use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{Args, Command, ValueEnum};
use meshalloc::{Cube, SchedulerKind, Shape, StrategyKind, Ticks};
use serde::{Serialize, Serializer};

use crate::line::Endpoint;
use meshalloc_sim::io::{IoSide, IoTasks};
use meshalloc_sim::names;
use meshalloc_sim::network::CYCLES_MAX;
use meshalloc_sim::workload::{
    CountDistribution, EstimateModel, JOBS_MAX, Patterns, Resample, ServiceDistribution, ShapeRule,
    SideLengths, SizeDistribution, TaskDistribution, TimeUnit, WorkloadError,
};

const MACHINE: &str = "Machine";
const SYNTHETIC: &str = "Synthetic workload";
const MESSAGES: &str = "Jobs that send messages (in place of service times)";
const IO: &str = "Jobs that communicate and do I/O (in place of service times)";
const REPLICATION: &str = "Replications";
const LOG: &str = "Workload log (in place of a synthetic workload)";
const ESTIMATES: &str = "Estimates of run times (for schedulers and strategies that look ahead)";
const OUTPUT: &str = "Where and how";

/// All settings of a scenario. `None` is a setting that was not given.
///
/// Each is an option of `run` and a key of scenario files. Results record them as JSON, with the
/// defaults that [`resolve`](Scenario::resolve) fills in.
#[derive(Args, Serialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub struct Scenario {
    /// Sides of a mesh of 1 to 16 dimensions, the first along dimension 0 (x): each 1 to 65535, in two dimensions 1 to 1024,
    /// and up to 1048576 processors [default: 64x64; none for a log]
    #[arg(long, value_name = "WxH...", value_parser = names::sides, help_heading = MACHINE)]
    #[serde(serialize_with = "text")]
    pub mesh: Option<Shape>,

    /// Dimensions of the mesh that wrap around, by number (0 is x)
    #[arg(long, value_name = "D,...", value_parser = names::wrap, help_heading = MACHINE)]
    #[serde(serialize_with = "dimensions")]
    pub wrap: Option<u16>,

    /// Sides of a torus, a mesh in which all dimensions wrap around
    #[arg(long, value_name = "WxH...", value_parser = names::sides, help_heading = MACHINE,
        conflicts_with_all = ["mesh", "wrap"])]
    #[serde(serialize_with = "text")]
    pub torus: Option<Shape>,

    /// A k-ary n-cube: k at least 2, n 1 to 16, k^n at most 1048576
    #[arg(long, value_name = "k=K,n=N", value_parser = names::cube, help_heading = MACHINE,
        conflicts_with_all = ["mesh", "wrap", "torus"])]
    #[serde(serialize_with = "cube")]
    pub cube: Option<Cube>,

    /// Distribution of the side lengths of jobs: uniform, normal, exponential, uniform-decreasing;
    /// `host-sim list` shows variants [default: uniform]
    #[arg(long, value_name = "NAME", value_parser = sizes, help_heading = SYNTHETIC, conflicts_with = "cube")]
    #[serde(serialize_with = "text")]
    pub sizes: Option<SizeDistribution>,

    /// Side lengths that are drawn, in processors: MIN..MAX (or MAX alone) for all dimensions, or
    /// a range for each, separated by commas, dimension 0 (x) first [default: 1 to the
    /// machine's]
    #[arg(long, value_name = "MIN..MAX,...", help_heading = SYNTHETIC, conflicts_with = "cube")]
    #[serde(serialize_with = "text")]
    pub side_lengths: Option<SideLengths>,

    /// On a cube: distribution of the number of dimensions of jobs, 1 to n: uniform or normal
    /// [default: uniform]
    #[arg(long, value_name = "NAME", help_heading = SYNTHETIC)]
    #[serde(serialize_with = "text")]
    pub dims: Option<TaskDistribution>,

    /// On a cube: distribution of the radices of jobs, 2 to k: uniform or normal [default: uniform]
    #[arg(long, value_name = "NAME", help_heading = SYNTHETIC)]
    #[serde(serialize_with = "text")]
    pub radices: Option<TaskDistribution>,

    /// Allocation strategies, separated by commas, or all that serve the machine; all get the same jobs. `host-sim list` shows
    /// them [default: first-fit; on a cube: tree-collapsing]
    #[arg(long, value_name = "NAME,...", value_parser = strategy_choice, value_delimiter = ',', help_heading = MACHINE)]
    #[serde(serialize_with = "texts")]
    pub strategy: Option<Vec<StrategyChoice>>,

    /// Scheduling policy [default: fcfs]
    #[arg(long, value_name = "NAME", value_parser = names::scheduler, help_heading = MACHINE)]
    #[serde(serialize_with = "scheduler")]
    pub scheduler: Option<SchedulerKind>,

    /// Number of processors of a job in place of its sides: exponential:MEAN, rounded up, at most the whole machine
    #[arg(long, value_name = "DISTRIBUTION", help_heading = SYNTHETIC,
        conflicts_with_all = ["cube", "sizes", "side_lengths", "swf"])]
    #[serde(serialize_with = "text")]
    pub task_processors: Option<CountDistribution>,

    /// Number of tasks, all there at time 0, and no arrivals later; all are measured [default on a
    /// cube without --load and --traffic: 100; with tasks on a cube --service is uniform:5,10 by default]
    #[arg(long, value_name = "COUNT", value_parser = tasks, allow_negative_numbers = true, help_heading = SYNTHETIC,
        conflicts_with_all = ["load", "traffic", "jobs", "warmup", "measure", "swf"])]
    pub tasks: Option<u32>,

    /// Offered load: processor seconds requested per processor second of the machine [default on a mesh:
    /// 0.4]
    #[arg(long, value_name = "FRACTION", value_parser = names::positive, allow_negative_numbers = true, help_heading = SYNTHETIC, conflicts_with = "traffic")]
    pub load: Option<f64>,

    /// Traffic ratio in place of a load: jobs that arrive in a mean service time
    #[arg(long, value_name = "RATIO", value_parser = names::positive, allow_negative_numbers = true, help_heading = SYNTHETIC, conflicts_with = "swf")]
    pub traffic: Option<f64>,

    /// Arrival rate in place of a load: jobs a second; jobs a cycle with --pattern
    #[arg(long, value_name = "RATE", value_parser = names::positive, allow_negative_numbers = true, help_heading = SYNTHETIC,
        conflicts_with_all = ["load", "traffic", "tasks", "swf"])]
    pub arrival_rate: Option<f64>,

    /// Mean of the exponential service time, in seconds [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = names::positive, allow_negative_numbers = true, help_heading = SYNTHETIC, conflicts_with = "service")]
    pub mean_service: Option<f64>,

    /// Another service time: exponential:MEAN or uniform:SHORTEST,LONGEST, in seconds
    #[arg(long, value_name = "DISTRIBUTION", help_heading = SYNTHETIC)]
    #[serde(serialize_with = "text")]
    pub service: Option<ServiceDistribution>,

    /// Which jobs are measured: arrivals, the first to arrive but for the warm-up; departures, the first to leave, from the
    /// start on [default: arrivals; with --pattern: departures]
    #[arg(long, value_name = "WHICH", value_parser = choice::<Measured>, help_heading = SYNTHETIC, conflicts_with = "swf")]
    pub measure: Option<Measured>,

    /// Run times count as at least this in the bounded slowdown, in seconds or cycles [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = names::positive, allow_negative_numbers = true, help_heading = REPLICATION)]
    pub slowdown_threshold: Option<f64>,

    /// Part of the jobs, the first to arrive, that is not measured, 0 to below 1 [default: 0.05]
    #[arg(long, value_name = "FRACTION", value_parser = warmup, allow_negative_numbers = true, help_heading = SYNTHETIC, conflicts_with = "swf")]
    pub warmup: Option<f64>,

    /// Jobs send messages over a wormhole network and leave when all are delivered; times are in cycles. The pattern says who
    /// sends to whom; several with + between them take turns, job by job. `host-sim list` shows them
    #[arg(long, value_name = "NAME[+NAME...]", value_parser = patterns, help_heading = MESSAGES,
        conflicts_with_all = ["load", "traffic", "mean_service", "service"])]
    #[serde(serialize_with = "text")]
    pub pattern: Option<Patterns>,

    /// Flits of a message, 1 to 65536 [default: 8]
    #[arg(long, value_name = "COUNT", value_parser = flits, allow_negative_numbers = true, help_heading = MESSAGES)]
    pub flits: Option<u32>,

    /// Cycles for which a header stays at each processor on its way, 0 to 65536 [default: 3]
    #[arg(long, value_name = "CYCLES", value_parser = routing_delay, allow_negative_numbers = true, help_heading = MESSAGES)]
    pub routing_delay: Option<u32>,

    /// Messages for each pair of the pattern, one after the other [default: 1]
    #[arg(long, value_name = "COUNT", value_parser = names::count::<u32>, allow_negative_numbers = true, help_heading = MESSAGES)]
    pub messages: Option<u32>,

    /// How often each process goes through its part of the pattern [default: 1]
    #[arg(long, value_name = "COUNT", value_parser = names::count::<u32>, allow_negative_numbers = true, help_heading = MESSAGES)]
    pub iterations: Option<u32>,

    /// Of a log's jobs, in place of --iterations: one for each SECONDS of the run time, rounded, at least one
    #[arg(long, value_name = "SECONDS", value_parser = names::positive, allow_negative_numbers = true, help_heading = MESSAGES,
        conflicts_with = "iterations")]
    pub iteration_seconds: Option<f64>,

    /// Cycles in a second of a log's submit times [default: 1]
    #[arg(long, value_name = "COUNT", value_parser = names::positive, allow_negative_numbers = true, help_heading = MESSAGES)]
    pub cycles_per_second: Option<f64>,

    /// A process sends its next message only when the one before is delivered
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = MESSAGES)]
    pub blocking: Option<bool>,

    /// The side of the mesh on which I/O nodes are, a disk each: left, right, top or bottom [default with --io: left]
    #[arg(long, value_name = "SIDE", help_heading = IO,
        conflicts_with_all = ["pattern", "load", "traffic", "mean_service", "service", "swf"])]
    #[serde(serialize_with = "text")]
    pub io_nodes: Option<IoSide>,

    /// Jobs go through communication phases, then an I/O phase, and share links and disks:
    /// communications=COUNT,pattern=all-to-all|permutation,direction=write|read,link=MB/S,disk=MB/S,network=fair-shares|wormhole:FLITS
    /// [default with --io-nodes: communications=0,pattern=all-to-all,direction=write,link=11.65,disk=4.545,network=fair-shares]
    #[arg(long, value_name = "KEY=VALUE,...", help_heading = IO,
        conflicts_with_all = ["pattern", "load", "traffic", "mean_service", "service", "swf"])]
    #[serde(serialize_with = "text")]
    pub io: Option<IoTasks>,

    /// Jobs in one replication, those not measured included; of a log, its first jobs [default: 40000; with --pattern: 1000; with --swf: all]
    #[arg(long, value_name = "COUNT", value_parser = names::jobs, allow_negative_numbers = true, help_heading = REPLICATION)]
    pub jobs: Option<u32>,

    /// Runs of each strategy, each with new jobs [default: 10; with --swf and no --resample: 1]
    #[arg(long, value_name = "COUNT", value_parser = names::replications::<u32>, allow_negative_numbers = true, help_heading = REPLICATION, conflicts_with_all = ["until_rel_error", "max_replications"])]
    pub replications: Option<u32>,

    /// Replicate, at least 10 times, until the mean waiting delay is within this part of the true one, with a confidence
    /// of 95 %; where departures are measured, the mean turnaround. Not of a log: more replications do not narrow the
    /// interval of a resampled one
    #[arg(long, value_name = "FRACTION", value_parser = names::fraction, allow_negative_numbers = true, help_heading = REPLICATION)]
    pub until_rel_error: Option<f64>,

    /// The most replications with --until-rel-error [default: 100]
    #[arg(long, value_name = "COUNT", value_parser = names::replications::<u32>, allow_negative_numbers = true, help_heading = REPLICATION)]
    pub max_replications: Option<u32>,

    /// What all random numbers derive from, 0 to 2^64-1; the same seed gives the same jobs
    /// [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = seed, allow_negative_numbers = true, help_heading = REPLICATION)]
    pub seed: Option<u64>,

    /// A log in the Standard Workload Format, plain or .gz, measured whole, on a machine that is
    /// named; - reads standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = LOG,
        conflicts_with_all = ["sizes", "side_lengths", "dims", "radices", "load", "mean_service",
            "service"])]
    #[serde(serialize_with = "path")]
    pub swf: Option<PathBuf>,

    /// Only the log's jobs of this partition [default: all]
    #[arg(long, value_name = "NUMBER", value_parser = partition, allow_negative_numbers = true, help_heading = LOG)]
    pub partition: Option<i64>,

    /// Only the log's jobs submitted this long after the log's zero, or later: seconds, or a number with a unit, such as 90m,
    /// 12h, 30d or 4w. Times are then counted from there
    #[arg(long, value_name = "TIME", value_parser = names::span, allow_negative_numbers = true, help_heading = LOG)]
    #[serde(serialize_with = "seconds")]
    pub from: Option<Ticks>,

    /// Only the log's jobs submitted less than this after the log's zero, written like --from
    #[arg(long, value_name = "TIME", value_parser = names::span, allow_negative_numbers = true, help_heading = LOG)]
    #[serde(serialize_with = "seconds")]
    pub to: Option<Ticks>,

    /// Replications of a log: weeks, each is made of whole weeks of the log, drawn with replacement [default: the log is run
    /// once, as it is]
    #[arg(long, value_name = "BY", help_heading = LOG)]
    #[serde(serialize_with = "text")]
    pub resample: Option<Resample>,

    /// The rule that gives a number of processors a shape, of a log's jobs or with --task-processors: near-square, near-cubic,
    /// power-of-two, flat or drawn:DISTRIBUTION; `host-sim list` shows them [default: near-square on a two-dimensional mesh, else
    /// near-cubic]
    #[arg(long, value_name = "RULE", help_heading = LOG)]
    #[serde(serialize_with = "text")]
    pub shape: Option<ShapeRule>,

    /// Stretch the log's submit times so that its offered load on the machine becomes this [default: they stay as they are]
    #[arg(long, value_name = "FRACTION", value_parser = names::positive, allow_negative_numbers = true, help_heading = LOG,
        conflicts_with = "pattern")]
    pub log_load: Option<f64>,

    /// The estimate of its run time that each request carries: perfect, log (the requested time, at
    /// most 71 years), factor:LOW..HIGH (the run time times a number drawn for each job) or none
    /// [default: perfect; with --swf: log; with --pattern and --io: none]
    #[arg(long, value_name = "MODEL", help_heading = ESTIMATES)]
    #[serde(serialize_with = "text")]
    pub estimates: Option<EstimateModel>,

    /// The controller: in-process, tcp:HOST:PORT, unix:PATH or serial:DEVICE@BAUD [default: in-process]
    #[arg(long, value_name = "WHERE", value_parser = backend, help_heading = OUTPUT)]
    #[serde(serialize_with = "text")]
    pub backend: Option<BackendChoice>,

    /// How results are written: table or json [default: table]
    #[arg(long, value_name = "FORMAT", value_parser = choice::<Format>, help_heading = OUTPUT)]
    #[serde(skip)]
    pub format: Option<Format>,
}

impl Scenario {
    /// The settings that were given, as results record them.
    pub(crate) fn record(&self) -> serde_json::Value {
        let mut record = serde_json::to_value(self).expect("each setting has a text or a number");
        if let Some(settings) = record.as_object_mut() {
            settings.retain(|_, value| !value.is_null());
        }
        record
    }
}

/// All settings as the options of a command.
pub(crate) fn options() -> Command {
    let mut command = unbuilt();
    command.build();
    command
}

/// The same, to take options from.
pub(super) fn unbuilt() -> Command {
    Scenario::augment_args(Command::new("scenario").disable_help_flag(true))
}

// How settings are recorded.

fn text<T: Display, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(T::to_string).serialize(serializer)
}

fn texts<S: Serializer>(
    values: &Option<Vec<StrategyChoice>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let texts = |values: &Vec<StrategyChoice>| -> Vec<_> {
        values.iter().map(StrategyChoice::to_string).collect()
    };
    values.as_ref().map(texts).serialize(serializer)
}

fn dimensions<S: Serializer>(wrap: &Option<u16>, serializer: S) -> Result<S::Ok, S::Error> {
    wrap.map(names::wrap_text).serialize(serializer)
}

fn cube<S: Serializer>(cube: &Option<Cube>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = cube.map(|cube| format!("k={},n={}", cube.k(), cube.n()));
    text.serialize(serializer)
}

/// A time in it was read as one in seconds.
fn scheduler<S: Serializer>(
    kind: &Option<SchedulerKind>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let text = kind.map(|kind| names::scheduler_text(kind, TimeUnit::Second));
    text.serialize(serializer)
}

fn path<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = path.as_ref().map(|path| path.to_string_lossy());
    text.serialize(serializer)
}

fn seconds<S: Serializer>(ticks: &Option<Ticks>, serializer: S) -> Result<S::Ok, S::Error> {
    let seconds = ticks.map(|ticks| TimeUnit::Second.of(ticks));
    seconds.serialize(serializer)
}

// Values that no other part of the program reads.

/// Where the controller is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// In this process.
    #[default]
    InProcess,
    /// At the end of a line.
    Line(Endpoint),
}

impl Display for BackendChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BackendChoice::InProcess => f.write_str("in-process"),
            BackendChoice::Line(endpoint) => endpoint.fmt(f),
        }
    }
}

/// Reads `in-process` or an [`Endpoint`].
fn backend(text: &str) -> Result<BackendChoice, String> {
    match text.split_once(':') {
        None if text == "in-process" => Ok(BackendChoice::InProcess),
        Some(("tcp" | "unix" | "serial", _)) => text.parse().map(BackendChoice::Line),
        _ => Err("expected in-process, tcp:HOST:PORT, unix:PATH or serial:DEVICE@BAUD".to_owned()),
    }
}

/// How results are written.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs.
    Json,
}

/// Which jobs are measured.
#[derive(ValueEnum, Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Measured {
    /// The first to arrive.
    Arrivals,
    /// The first to leave.
    Departures,
}

/// Reads one of several words.
fn choice<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, false).map_err(|_| {
        let values = T::value_variants().iter();
        let words = values.filter_map(T::to_possible_value);
        let words: Vec<_> = words.map(|word| word.get_name().to_owned()).collect();
        format!("expected {}", words.join(" or "))
    })
}

/// One word of `--strategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrategyChoice {
    /// All strategies that serve the machine.
    All,
    /// One of them.
    One(StrategyKind),
}

impl Display for StrategyChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StrategyChoice::All => f.write_str("all"),
            StrategyChoice::One(kind) => kind.fmt(f),
        }
    }
}

/// Reads the name of a strategy, or `all`.
fn strategy_choice(text: &str) -> Result<StrategyChoice, String> {
    match text {
        "all" => Ok(StrategyChoice::All),
        name => names::strategy(name).map(StrategyChoice::One),
    }
}

/// Reads a size distribution.
fn sizes(text: &str) -> Result<SizeDistribution, String> {
    text.parse::<SizeDistribution>().map_err(|error| {
        let name = |text: &'static str| text.split(':').next().unwrap_or(text);
        let names = SizeDistribution::LIST.iter().map(|info| name(info.name));
        let given = text.split(':').next().unwrap_or(text);
        match names::nearest(given, names) {
            // What follows a name that is known is no slip.
            Some(near) if near != given => format!("{error}; did you mean {near:?}?"),
            _ => error.to_string(),
        }
    })
}

/// Reads patterns.
fn patterns(text: &str) -> Result<Patterns, String> {
    text.parse()
        .map_err(|error: WorkloadError| error.to_string())
}

fn tasks(text: &str) -> Result<u32, String> {
    let expected = format!("a whole number, 1 to {JOBS_MAX}");
    names::value(text, &expected, |count| (1..=JOBS_MAX).contains(count))
}

fn seed(text: &str) -> Result<u64, String> {
    names::value(text, &format!("a whole number, 0 to {}", u64::MAX), |_| {
        true
    })
}

fn warmup(text: &str) -> Result<f64, String> {
    let is_good = |part: &f64| (0.0..1.0).contains(part);
    names::value(text, "a number from 0 to below 1", is_good)
}

fn partition(text: &str) -> Result<i64, String> {
    names::value(text, "a whole number", |_| true)
}

fn flits(text: &str) -> Result<u32, String> {
    let expected = format!("a whole number, 1 to {CYCLES_MAX}");
    names::value(text, &expected, |flits| (1..=CYCLES_MAX).contains(flits))
}

fn routing_delay(text: &str) -> Result<u32, String> {
    let expected = format!("a whole number, 0 to {CYCLES_MAX}");
    names::value(text, &expected, |cycles| *cycles <= CYCLES_MAX)
}
