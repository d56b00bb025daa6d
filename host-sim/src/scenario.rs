//! What `run` is to do: [`ScenarioArgs`], from the command line and from scenario files, and the
//! [`Scenario`] that they come to, defaults filled in.

use clap::{Args, Command};
use meshalloc::SchedulerKind;

use crate::backend::line::Endpoint;
use crate::io::{IoSide, IoTasks};
use crate::names;
use crate::workload::{
    CountDistribution, EstimateModel, JOBS_MAX, Patterns, ServiceDistribution, SizeDistribution,
    WorkloadError,
};

mod effective;
mod error;
mod file;
mod grid;
mod log;
mod machine;
mod merge;
mod needs;
mod network;
mod requests;
mod service;
mod threads;

pub(crate) use effective::not_replicated;
pub use effective::{JobSource, SEED_DEFAULT, Scenario};
pub use error::OptionError;
#[cfg(test)]
pub(crate) use file::OF_SWEEP_ONLY;
pub(crate) use file::{OF_RUN_ONLY, OF_VIEW_ONLY};
pub(crate) use grid::of_keys;
pub use grid::{GridPoint, grid, grid_of};
pub use log::{LogArgs, LogSource, WindowArgs};
pub use machine::{MESH_DEFAULT, MachineArgs};
pub(crate) use merge::read;
pub use network::NetworkArgs;
pub(crate) use requests::{
    EstimateArgs, check_serves, default_strategy, record, record_log, strategies, strategy_choice,
};
pub use requests::{RequestArgs, StrategyChoice};
pub use service::ServiceArgs;
pub(crate) use threads::ThreadsArgs;

/// Mean service time of a scenario that names none, in seconds: Kim and Yoon's.
pub const MEAN_SERVICE_DEFAULT: f64 = 10.0;
/// Jobs in one replication.
pub const JOBS_DEFAULT: u32 = 40_000;
/// The same of jobs that send messages: the thesis's on neighbour allocation.
pub const JOBS_OF_MESSAGES_DEFAULT: u32 = 1_000;
/// Replications of a scenario that names neither a number nor an error.
pub const REPLICATIONS_DEFAULT: u32 = 10;
/// The cap where replications go on until an error is reached.
pub const REPLICATIONS_MAX_DEFAULT: u32 = 100;
/// The offered load of a scenario on a mesh that names none.
pub const LOAD_DEFAULT: f64 = 0.4;
/// The tasks of a scenario on a cube that names neither a load nor a traffic ratio: Chuang and Wu's.
pub const TASKS_DEFAULT: u32 = 100;
/// How long these tasks run, in seconds: one of Chuang and Wu's two distributions.
pub const RESIDENCE_DEFAULT: ServiceDistribution = ServiceDistribution::Uniform {
    lo_seconds: 5.0,
    hi_seconds: 10.0,
};

/// Where the controller is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// In this process.
    #[default]
    InProcess,
    /// At the end of a line.
    Line(Endpoint),
}

impl std::fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BackendChoice::InProcess => f.write_str("in-process"),
            BackendChoice::Line(endpoint) => endpoint.fmt(f),
        }
    }
}

/// Reads `in-process` or an [`Endpoint`].
pub(crate) fn backend(text: &str) -> Result<BackendChoice, String> {
    match text.split_once(':') {
        None if text == "in-process" => Ok(BackendChoice::InProcess),
        Some(("tcp" | "unix" | "serial", _)) => text.parse().map(BackendChoice::Line),
        _ => Err("expected in-process, tcp:HOST:PORT, unix:PATH or serial:DEVICE@BAUD".to_owned()),
    }
}

/// How results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs.
    Json,
}

/// Reads `table` or `json`.
pub(crate) fn format(text: &str) -> Result<Format, String> {
    match text {
        "table" => Ok(Format::Table),
        "json" => Ok(Format::Json),
        _ => Err("expected table or json".to_owned()),
    }
}

const MACHINE: &str = "Machine";
const SYNTHETIC: &str = "Synthetic workload";
const MESSAGES: &str = "Jobs that send messages (in place of service times)";
const IO: &str = "Jobs that communicate and do I/O (in place of service times)";
const REPLICATION: &str = "Replications";
const ESTIMATES: &str = "Estimates of run times (for schedulers and strategies that look ahead)";
const OUTPUT: &str = "Where and how";

/// The options of `run` that a scenario file may hold too. What is `None` was not given.
#[derive(Args, Clone, Debug, Default)]
pub struct ScenarioArgs {
    /// The machine, and what jobs ask of it.
    #[command(flatten)]
    pub requests: RequestArgs,

    /// Allocation strategies, separated by commas, or all that serve the machine; all get the same jobs. `host-sim list` shows
    /// them [default: first-fit; on a cube: tree-collapsing]
    #[arg(long, value_name = "NAME,...", value_parser = strategy_choice, value_delimiter = ',', help_heading = MACHINE)]
    pub strategy: Option<Vec<StrategyChoice>>,

    /// Which waiting job may try [default: fcfs]
    #[arg(long, value_name = "NAME", value_parser = names::scheduler, help_heading = MACHINE)]
    pub scheduler: Option<SchedulerKind>,

    /// Number of processors of a job in place of its sides: exponential:MEAN, rounded up, at most the whole machine
    #[arg(long, value_name = "DISTRIBUTION", help_heading = SYNTHETIC, 
        conflicts_with_all = ["cube", "sizes", "side_lengths", "swf"])]
    pub task_processors: Option<CountDistribution>,

    /// Number of tasks, all there at time 0, and no arrivals later; all are measured [default on a
    /// cube without --load and --traffic: 100; with tasks on a cube --residence is 5,10 by default]
    #[arg(long, value_name = "COUNT", value_parser = tasks, allow_negative_numbers = true, help_heading = SYNTHETIC,
        conflicts_with_all = ["load", "traffic", "jobs", "warmup", "swf"])]
    pub tasks: Option<u32>,

    /// Offered load: processor seconds requested per processor second there is [default on a mesh:
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

    /// The service time.
    #[command(flatten, next_help_heading = SYNTHETIC)]
    pub service: ServiceArgs,

    /// Which jobs are measured: arrivals, the first to arrive but for the warm-up; departures, the first to leave, from the
    /// start on [default: arrivals; with --pattern: departures]
    #[arg(long, value_name = "WHICH", value_parser = measure, help_heading = SYNTHETIC, conflicts_with_all = ["tasks", "swf"])]
    pub measure: Option<Measured>,

    /// Run times count as at least this in the bounded slowdown; in cycles with --pattern [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = names::positive, allow_negative_numbers = true, help_heading = REPLICATION)]
    pub slowdown_threshold: Option<f64>,

    /// Part of the jobs, the first to arrive, that is not measured, 0 to below 1 [default: 0.05]
    #[arg(long, value_name = "FRACTION", value_parser = warmup, allow_negative_numbers = true, help_heading = SYNTHETIC, conflicts_with = "swf")]
    pub warmup: Option<f64>,

    /// Jobs send messages over a wormhole network and leave when all are delivered; times are in cycles. The pattern says who
    /// sends to whom; several with + between them take turns, job by job. `host-sim list` shows them
    #[arg(long, value_name = "NAME[+NAME...]", value_parser = patterns, help_heading = MESSAGES,
        conflicts_with_all = ["load", "traffic", "mean_service", "service", "residence"])]
    pub pattern: Option<Patterns>,

    /// The network.
    #[command(flatten, next_help_heading = MESSAGES)]
    pub network: NetworkArgs,

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
        conflicts_with_all = ["pattern", "load", "traffic", "mean_service", "service", "residence", "swf"])]
    pub io_nodes: Option<IoSide>,

    /// Jobs go through communication phases, then an I/O phase, and share links and disks:
    /// communications=COUNT,pattern=all-to-all|permutation,direction=write|read,link=MB/S,disk=MB/S,network=fair-shares|wormhole:FLITS
    /// [default with --io-nodes: communications=0,pattern=all-to-all,direction=write,link=11.65,disk=4.545,network=fair-shares]
    #[arg(long, value_name = "KEY=VALUE,...", help_heading = IO,
        conflicts_with_all = ["pattern", "load", "traffic", "mean_service", "service", "residence", "swf"])]
    pub io: Option<IoTasks>,

    /// Jobs in one replication, those not measured included [default: 40000; with --pattern: 1000]; of a log, its first
    /// jobs [default: all]
    #[arg(long, value_name = "COUNT", value_parser = names::jobs, allow_negative_numbers = true, help_heading = REPLICATION)]
    pub jobs: Option<u32>,

    /// Runs of each strategy, each with new jobs; of a log with --resample [default: 10]
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

    /// The log.
    #[command(flatten)]
    pub log: LogArgs,

    /// Stretch the log's submit times so that its offered load on the machine becomes this [default: they stay as they are]
    #[arg(long, value_name = "FRACTION", value_parser = names::positive, allow_negative_numbers = true, help_heading = log::HEADING,
        conflicts_with = "pattern")]
    pub log_load: Option<f64>,

    /// The estimate of its run time that each request carries: perfect, log (the requested time, at
    /// most 71 years), factor:LOW..HIGH (the run time times a number drawn for each job) or none
    /// [default: perfect; with --swf: log; with --pattern and --io: none]
    #[arg(long, value_name = "MODEL", help_heading = ESTIMATES)]
    pub estimates: Option<EstimateModel>,

    /// The controller: in-process, tcp:HOST:PORT, unix:PATH or serial:DEVICE@BAUD [default: in-process]
    #[arg(long, value_name = "WHERE", value_parser = backend, help_heading = OUTPUT)]
    pub backend: Option<BackendChoice>,

    /// How results are written: table or json [default: table]
    #[arg(long, value_name = "FORMAT", value_parser = format, help_heading = OUTPUT)]
    pub format: Option<Format>,
}

/// Reads a size distribution.
pub(crate) fn sizes(text: &str) -> Result<SizeDistribution, String> {
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

/// Which jobs are measured, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// The first to arrive.
    Arrivals,
    /// The first to leave.
    Departures,
}

fn measure(text: &str) -> Result<Measured, String> {
    match text {
        "arrivals" => Ok(Measured::Arrivals),
        "departures" => Ok(Measured::Departures),
        _ => Err("expected arrivals or departures".to_owned()),
    }
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

/// Reads a seed.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    names::value(text, &format!("a whole number, 0 to {}", u64::MAX), |_| {
        true
    })
}

fn warmup(text: &str) -> Result<f64, String> {
    let is_good = |part: &f64| (0.0..1.0).contains(part);
    names::value(text, "a number from 0 to below 1", is_good)
}

/// The options of a scenario as a command of their own.
pub(crate) fn options() -> Command {
    let command = Command::new("scenario").disable_help_flag(true);
    let mut command = ScenarioArgs::augment_args(command);
    command.build();
    command
}

/// Whether two options cannot be given together.
pub(crate) fn contradict(a: &str, b: &str) -> bool {
    file::contradict(&options(), a, b)
}
