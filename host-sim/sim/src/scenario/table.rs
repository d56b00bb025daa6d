//! The settings of a scenario: [`Scenario`] and [`SETTINGS`], the one table from which command
//! line, scenario files, help, reference pages, JSON Schema and the record in every result follow.
//! A setting is its row here and the code that uses it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use meshalloc::{SchedulerKind, Shape, Ticks};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::error::SettingError;
use crate::failures::{Checkpoint, FailureSource, Restart};
use crate::io::{IoJobs, IoSide};
use crate::machine::MachineSource;
use crate::names::{self, REPLICATIONS_MAX};
use crate::network::CYCLES_MAX;
use crate::preemption::PreemptionRule;
use crate::statistics::REPLICATIONS_MIN;
use crate::workload::{
    Columns, CountDistribution, CubeDistribution, Empirical, EstimateModel, Lublin, MixSource,
    Patterns, Resample, ServiceDistribution, ShapeRule, SideDistribution, SideRanges,
};

mod setting;
mod values;

pub(super) use setting::unknown_key;
pub use setting::{Entry, Form, Setting, contradiction};
pub use values::{BackendChoice, Measured, StrategyChoice};
use values::{column, partition, scheduler_text, seconds, strategy_choice, warmup};

const MACHINE: &str = "Machine";
const SYNTHETIC: &str = "Synthetic workload";
const MESSAGES: &str = "Jobs that send messages (in place of service times)";
const IO: &str = "Jobs that communicate and do I/O (in place of service times)";
const MEASUREMENT: &str = "Measurement";
const REPLICATION: &str = "Replications";
const LOG: &str = "Workload log (in place of a synthetic workload)";
const ESTIMATES: &str = "Estimates of run times (for schedulers and strategies that look ahead)";
const PREEMPTION: &str = "Jobs that make room for urgent ones";
const FAILURES: &str = "Failures over time";
const OUTPUT: &str = "Where and how";

/// The longest backlog. A controller in this process has room for this and for all running jobs.
const BACKLOG_MAX: u32 = 1_000;

/// Makes the type and the table from rows `field: FORM TYPE = VALUE_NAME, HEADING`. `read` reads a
/// value where `FromStr` does not, `record` gives its text or number where `Display` does not,
/// `not` has the settings that contradict it, `needs` lists of settings, one of each of which it
/// requires.
macro_rules! settings {
    ($(
        $(#[doc = $help:literal])+
        $field:ident: $form:ident $kind:ty = $value_name:literal, $heading:ident
        $(, read = $read:expr)? $(, record = $record:expr)? $(, not = [$($not:literal),+])?
        $(, needs = [$([$($need:literal),+]),+])?;
    )*) => {
        /// All settings of a scenario. `None` is a setting that was not given.
        ///
        /// Each is an option of `host-sim run` and a key of scenario files. Results record them,
        /// with the defaults that [`resolve`](Scenario::resolve) fills in.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Scenario {
            $($(#[doc = $help])+ pub $field: Option<$kind>,)*
            /// The settings of `OF_THE_CLOCK` in which a time has a unit, as they were written.
            pub units: BTreeMap<&'static str, String>,
        }

        /// The settings in the order in which they are shown.
        pub static SETTINGS: &[Setting] = &[$(Setting {
            key: {
                const KEY: [u8; stringify!($field).len()] = kebab(stringify!($field));
                match std::str::from_utf8(&KEY) {
                    Ok(key) => key,
                    Err(_) => panic!("a field has an ASCII name"),
                }
            },
            name: stringify!($field),
            help: &[$($help),+],
            value_name: $value_name,
            heading: $heading,
            form: settings!(@form $form),
            not: &[$($($not),+)?],
            needs: &[$($(&[$($need),+]),+)?],
            read: |scenario, value| {
                scenario.$field = Some(settings!(@read $form value, $kind $(, $read)?)?);
                Ok(())
            },
            record: |scenario| {
                let value = scenario.$field.as_ref()?;
                Some(settings!(@record $form value $(, $record)?))
            },
        }),*];
    };
    (@form text) => { Form::Text };
    (@form number) => { Form::Number };
    (@form list) => { Form::List };
    (@form file) => { Form::File };
    (@form named) => { Form::NameOrFile };
    (@form switch) => { Form::Switch };
    (@read file $value:ident, $kind:ty) => { Ok::<_, String>(PathBuf::from($value)) };
    (@read list $value:ident, $kind:ty, $read:expr) => {
        text($value)?.split(',').map($read).collect::<Result<$kind, String>>()
    };
    (@read switch $value:ident, $kind:ty) => {
        names::canonical(text($value)?).parse::<$kind>().map_err(|_| "expected true or false")
    };
    (@read $form:ident $value:ident, $kind:ty, $read:expr) => { $read(text($value)?) };
    (@read $form:ident $value:ident, $kind:ty) => {
        text($value)?.parse::<$kind>().map_err(|error| error.to_string())
    };
    (@record $form:ident $value:ident, $record:expr) => { Value::from($record(*$value)) };
    (@record named $value:ident) => { Value::from($value.to_string()) };
    (@record text $value:ident) => { Value::from($value.to_string()) };
    (@record list $value:ident) => {
        $value.iter().map(ToString::to_string).collect::<Value>()
    };
    (@record file $value:ident) => { Value::from($value.to_string_lossy()) };
    (@record $form:ident $value:ident) => { Value::from(*$value) };
}

/// The name of a field as a key: hyphens in place of underscores.
const fn kebab<const LENGTH: usize>(field: &str) -> [u8; LENGTH] {
    let mut key = [0; LENGTH];
    let mut at = 0;
    while at < LENGTH {
        key[at] = match field.as_bytes()[at] {
            b'_' => b'-',
            other => other,
        };
        at += 1;
    }
    key
}

fn text(value: &OsStr) -> Result<&str, String> {
    value.to_str().ok_or_else(|| "expected UTF-8".to_owned())
}

settings! {
    /// Sides of a mesh of 1 to 16 dimensions, the first along dimension 0 (x): each 1 to 65535, in
    /// two dimensions 1 to 1024, and up to 1048576 processors [default: 64x64; none with --log]
    mesh: text Shape = "WxH...", MACHINE, read = names::sides;

    /// Sides of a torus, a mesh in which all dimensions wrap around
    torus: text Shape = "WxH...", MACHINE, read = names::sides, not = ["mesh"];

    /// A mesh, torus or cube ("torus 8x8x16", "4-ary 3-cube"), a preset or a file: "mesh 8x8x16
    /// wrap 0,2" with the numbers of the dimensions that wrap around (0 is x); without quotes
    /// mesh:8x8x16 or 4-ary-3-cube; or a machine that gives only certain slices: tpu-v3, tpu-v4,
    /// tpu-v5e, tpu-v6e, tpu-v5p, tpu-v7x, trn2-ultra, galaxy, a TOML file, or a torus of Slurm's
    /// topology.yaml (FILE.yaml or FILE.yaml:TORUS); `host-sim list machines` shows them
    machine: named MachineSource = "MACHINE", MACHINE, not = ["mesh", "torus"];

    /// Distribution of the side lengths of jobs: uniform, normal, exponential, uniform-decreasing;
    /// `host-sim list` shows variants [default: uniform]
    side_lengths: text SideDistribution = "NAME", SYNTHETIC;

    /// Range of the side lengths of jobs, in processors: MIN..MAX (or MAX alone) for all
    /// dimensions, or one for each, dimension 0 (x) first [default: 1 to the machine's]
    side_range: text SideRanges = "MIN..MAX,...", SYNTHETIC;

    /// On a cube: distribution of the number of dimensions of jobs, 1 to n: uniform or normal
    /// [default: uniform]
    dims: text CubeDistribution = "NAME", SYNTHETIC;

    /// On a cube: distribution of the radices of jobs, 2 to k: uniform or normal [default:
    /// uniform]
    radices: text CubeDistribution = "NAME", SYNTHETIC;

    /// Allocation strategies, separated by commas, or all that serve the machine; all get the same
    /// jobs. `host-sim list` shows them [default: first-fit; on a cube: tree-collapsing; with
    /// --machine: cubes if it has some, torus3d if it has placements]
    strategy: list Vec<StrategyChoice> = "NAME,...", MACHINE, read = strategy_choice;

    /// Scheduling policy [default: fcfs]
    scheduler: text SchedulerKind = "NAME", MACHINE,
        read = names::scheduler, record = scheduler_text;

    /// Distribution of the number of processors of a job, in place of its sides: exponential:MEAN,
    /// rounded up, at most the whole machine
    processors: text CountDistribution = "DISTRIBUTION", SYNTHETIC,
        not = ["side-lengths", "side-range", "log"];

    /// Shapes of jobs with weights, in place of side lengths: tpu-v4, rfold, one of them with the
    /// longest side (tpu-v4:16), or a CSV file, whose name has a dot or a slash, with the columns
    /// shape (such as 4x4x8, or 3x 4x4x8 for three slices at once), weight and optionally rings,
    /// priority (a head start in the queue), preemptible (1 or 0) and tolerate (faulty processors
    /// that a slice may have)
    mix: named MixSource = "NAME|FILE", SYNTHETIC,
        not = ["side-lengths", "side-range", "processors", "log"];

    /// Leave out shapes of the mix that the machine never gives, and count them [default: they are
    /// an error]
    mix_drop: switch bool = "true|false", SYNTHETIC, needs = [["mix"]];

    /// A model of numbers of processors, run times that depend on them, and arrivals with a daily
    /// cycle: lublin, lublin:batch, lublin:interactive or lublin:both. With --load times between
    /// arrivals are stretched [default: no model]
    model: text Lublin = "NAME", SYNTHETIC,
        not = ["side-lengths", "side-range", "processors", "mix", "traffic-ratio", "arrival-rate",
            "batch", "service-mean", "service", "interarrival", "pattern", "io",
            "io-nodes", "log"];

    /// Submit this many jobs at time 0 and none later, and measure all of them [default on a cube:
    /// 100, unless --load, --traffic-ratio, --arrival-rate, --interarrival or --backlog makes jobs
    /// arrive; a batch on a cube has --service uniform:5,10 by default]
    batch: number u32 = "COUNT", SYNTHETIC,
        read = names::jobs, not = ["load", "traffic-ratio", "jobs", "warmup", "measure", "log"];

    /// Offered load: processor seconds requested per processor second of the machine [default on a
    /// mesh: 0.4]
    load: number f64 = "FRACTION", SYNTHETIC, read = names::load, not = ["traffic-ratio"];

    /// Jobs that arrive in a mean service time, in place of a load
    traffic_ratio: number f64 = "RATIO", SYNTHETIC, read = names::positive, not = ["log"];

    /// Jobs that arrive in a second, in place of a load; in a cycle with --pattern
    arrival_rate: number f64 = "RATE", SYNTHETIC,
        read = names::positive, not = ["load", "traffic-ratio", "batch", "log"];

    /// Jobs that wait at all times, 1 to 1000, in place of a load: a new job arrives as soon as
    /// fewer wait. The utilization is then that of saturation
    backlog: number NonZeroU32 = "COUNT", SYNTHETIC, read = names::whole(1, BACKLOG_MAX),
        record = NonZeroU32::get,
        not = ["load", "traffic-ratio", "arrival-rate", "batch", "interarrival", "model", "pattern",
            "io", "io-nodes", "log", "failures"];

    /// Times between arrivals in place of a Poisson process, drawn with replacement from a column
    /// of a CSV file, in seconds. The column submit, also of a log (.swf, .swf.gz), means the
    /// differences of successive submit times. --load stretches them
    interarrival: named Empirical = "FILE:COLUMN", SYNTHETIC, read = column,
        not = ["traffic-ratio", "arrival-rate", "batch", "pattern", "io", "io-nodes", "log"];

    /// Mean of the exponential service time, such as 10 (seconds), 90s or 1h [default: 10]
    service_mean: number f64 = "TIME", SYNTHETIC, read = names::time, not = ["service"];

    /// Another service time: exponential:MEAN, uniform:SHORTEST,LONGEST,
    /// hyper-exponential:P,MEAN1,MEAN2, lognormal:MU,SIGMA, weibull:SHAPE,SCALE or FILE:COLUMN;
    /// `host-sim list service` explains them
    service: named ServiceDistribution = "DISTRIBUTION", SYNTHETIC;

    /// Measured jobs: arrivals, the first to arrive after the warm-up; departures, the first to
    /// leave, without a warm-up [default: arrivals; with --pattern: departures]
    measure: text Measured = "WHICH", MEASUREMENT, not = ["log"];

    /// In the bounded slowdown, a run time shorter than TIME counts as TIME, in seconds (or 5m) or
    /// cycles [default: 10]
    slowdown_threshold: number f64 = "TIME", MEASUREMENT, read = names::time;

    /// Fraction of the jobs that is not measured, from the first arrival on: 0 to below 1 [default:
    /// 0.05]
    warmup: number f64 = "FRACTION", MEASUREMENT, read = warmup, not = ["log"];

    /// Jobs send messages over a wormhole network and leave when all are delivered; times are in
    /// cycles. The pattern sets sources and destinations. With several, joined by +, jobs take
    /// turns. `host-sim list` shows them
    pattern: text Patterns = "NAME[+NAME...]", MESSAGES,
        not = ["load", "traffic-ratio", "service-mean", "service"];

    /// Flits of a message, 1 to 65536 [default: 8]
    flits: number u32 = "COUNT", MESSAGES, read = names::whole(1, CYCLES_MAX), needs = [["pattern"]];

    /// Cycles for which a header stays at each processor on its way, 0 to 65536 [default: 3]
    routing_delay: number u32 = "CYCLES", MESSAGES, read = names::whole(0, CYCLES_MAX),
        needs = [["pattern"]];

    /// Messages for each pair of the pattern, one after the other [default: 1]
    messages: number u32 = "COUNT", MESSAGES, read = names::count::<u32>, needs = [["pattern"]];

    /// Number of times that each process goes through its part of the pattern [default: 1]
    iterations: number u32 = "COUNT", MESSAGES, read = names::count::<u32>, needs = [["pattern"]];

    /// In place of --iterations: a job of a log has one iteration for each TIME of its run time,
    /// rounded, at least one
    iteration_seconds: number f64 = "TIME", MESSAGES,
        read = names::time, not = ["iterations"], needs = [["pattern"], ["log"]];

    /// Cycles in a second of a log's submit times [default: 1]
    cycles_per_second: number f64 = "COUNT", MESSAGES, read = names::positive,
        needs = [["pattern"], ["log"]];

    /// A process sends each message only after the delivery of the one before
    blocking: switch bool = "true|false", MESSAGES, needs = [["pattern"]];

    /// The side of the mesh with the I/O nodes, each with a disk: left, right, top or bottom
    /// [default with --io: left]
    io_nodes: text IoSide = "SIDE", IO,
        not = ["pattern", "load", "traffic-ratio", "service-mean", "service", "log"];

    /// Jobs go through communication phases, then an I/O phase, and share links and disks:
    /// communications=COUNT,pattern=all-to-all|permutation,direction=write|read,link=MB/S,disk=MB/S,network=fair-shares|wormhole:FLITS
    /// [default with --io-nodes:
    /// communications=0,pattern=all-to-all,direction=write,link=11.65,disk=4.545,network=fair-shares]
    io: text IoJobs = "KEY=VALUE,...", IO,
        not = ["pattern", "load", "traffic-ratio", "service-mean", "service", "log"];

    /// Measure the largest slice that could be placed, over time: metrics largest_slice,
    /// free_processors and largest_share. Takes a search after each change [default: false]
    largest: switch bool = "true|false", MEASUREMENT;

    /// Measure why jobs wait: the metrics wait_*, which add up to the waiting delay, and a column
    /// of the file of jobs. Takes a search for each waiting job after each change [default: false]
    reasons: switch bool = "true|false", MEASUREMENT;

    /// Jobs in one replication, including those before measuring begins; with --log, the first
    /// COUNT jobs of the log [default: 40000; with --pattern: 1000; with --log: all]
    jobs: number u32 = "COUNT", REPLICATION, read = names::jobs;

    /// Runs of each strategy, each with new jobs [default: 10; with --log and no --resample: 1]
    replications: number u32 = "COUNT", REPLICATION,
        read = names::whole(1, REPLICATIONS_MAX),
        not = ["until-rel-error", "until-abs-error", "max-replications"];

    /// Replicate, at least 10 times, until the relative error of the mean waiting delay is at most
    /// this with 95 % confidence; where departures are measured, of the mean turnaround. Not for
    /// logs, whose intervals more replications do not narrow
    until_rel_error: number f64 = "FRACTION", REPLICATION, read = names::fraction;

    /// Replicate, at least 10 times, until each 95 % interval of the utilization reaches at most
    /// this far from its mean, as a part of the processors, such as 0.005
    until_abs_error: number f64 = "FRACTION", REPLICATION, read = names::fraction,
        not = ["until-rel-error"];

    /// The most replications with --until-rel-error or --until-abs-error, at least 10 [default:
    /// 100]
    max_replications: number u32 = "COUNT", REPLICATION,
        read = names::whole(REPLICATIONS_MIN.into(), REPLICATIONS_MAX),
        needs = [["until-rel-error", "until-abs-error"]];

    /// Seed of all random numbers, 0 to 2^64-1; the same seed gives the same jobs [default: 1]
    seed: number u64 = "NUMBER", REPLICATION, read = names::whole(0, u64::MAX);

    /// A log, plain or .gz; - reads standard input. All of it is measured. Requires a machine. It
    /// is in the Standard Workload Format, or CSV whose header has the columns submit, run, and
    /// shape (such as 4x4x8, or 3x 4x4x8 for three slices at once) or processors, and optionally
    /// estimate, rings, priority (a head start in the queue), preemptible (1 or 0), tolerate
    /// (faulty processors that a slice may have), id, user, group; times are in seconds or
    /// D-HH:MM:SS, submit times also dates. What -o jobs.csv and -o FILE.swf write is a log, too
    log: file PathBuf = "FILE", LOG,
        not = ["side-lengths", "side-range", "dims", "radices", "load", "service-mean", "service"];

    /// Names of the columns in a log in CSV, such as submit=arrival,run=duration; an empty name
    /// leaves a column out [default: their own names]
    columns: text Columns = "NAME=COLUMN,...", LOG, needs = [["log"]];

    /// Refuse a log with a job without a submit time, processors or a run time, and one with other
    /// data behind its gzip data [default: such jobs are left out and counted]
    strict: switch bool = "true|false", LOG, needs = [["log"]];

    /// The log counts processors, the machine allocates nodes of COUNT processors: a job gets
    /// enough nodes for its processors [default: the machine allocates processors]
    processors_per_node: number NonZeroU32 = "COUNT", LOG, read = names::count::<NonZeroU32>,
        record = NonZeroU32::get, needs = [["log"]];

    /// Only the log's jobs of this partition [default: all]
    partition: number i64 = "NUMBER", LOG, read = partition, needs = [["log"]];

    /// Only the log's jobs submitted at this time after the log's zero, or later: seconds, or a
    /// number with a unit, such as 90m, 12h, 30d or 4w. Times then count from there
    from: number Ticks = "TIME", LOG, read = names::span, record = seconds, needs = [["log"]];

    /// Only the log's jobs submitted before this time, counted from the log's zero like --from
    to: number Ticks = "TIME", LOG, read = names::span, record = seconds, needs = [["log"]];

    /// Resample the log: with weeks, each replication consists of whole weeks of the log, drawn
    /// with replacement [default: one run of the log]
    resample: text Resample = "BY", LOG, needs = [["log"]];

    /// The rule that turns a number of processors into a shape, for a log, --processors or --model:
    /// near-square, near-cubic, power-of-two, flat, drawn:DISTRIBUTION or chips;
    /// `host-sim list` shows them [default: near-square on a two-dimensional mesh, else near-cubic;
    /// if the machine gives only certain slices: chips]
    shape: text ShapeRule = "RULE", LOG, needs = [["log", "processors", "model"]];

    /// Stretch the log's submit times until it offers this load to the machine [default: they stay
    /// as they are]
    log_load: number f64 = "FRACTION", LOG, read = names::load, not = ["pattern"],
        needs = [["log"]];

    /// Run-time estimates of jobs: perfect, log (the requested time, at most 71 years),
    /// factor:LOW..HIGH (the run time times a number drawn for each job) or none [default: perfect;
    /// with --log: log; with --pattern and --io: none]
    estimates: text EstimateModel = "MODEL", ESTIMATES;

    /// End a job that has run for its estimate, as batch systems do; a job without an estimate, or
    /// with a longer one, ends when its work is done [default: false]
    kill_at_estimate: switch bool = "true|false", ESTIMATES, not = ["pattern", "io", "io-nodes"];

    /// Running jobs make room for a waiting job of a higher priority: on, or on:GRACE if they run
    /// on for the time GRACE first. Those preemptible jobs of a lower priority go after which it
    /// fits, with the least work to lose (columns preemptible and priority of a mix or a trace).
    /// They wait again at their old places in the queue [default: off]
    preemption: text PreemptionRule = "off|on[:GRACE]", PREEMPTION,
        not = ["pattern", "io", "io-nodes"], needs = [["mix", "log"]];

    /// Failures and repairs: WHAT:UP,DOWN, where WHAT is node, link, cube or the sides of a box
    /// (4x4x4): node:30d,2h. Each works for the time UP and is down for the time DOWN on average,
    /// both exponential. Or a CSV file, whose name has a dot or a slash, with the columns time,
    /// what, which and state (down or up). A failed link also stops the processor at its lower end
    /// [default: nothing fails]
    failures: named FailureSource = "WHAT:UP,DOWN|FILE", FAILURES,
        not = ["pattern", "io", "io-nodes"];

    /// Where an interrupted job starts again: elsewhere, at its old place in the queue (not with a
    /// board); elsewhere:last, at the end of the queue; replace, on other processors at once if
    /// there is a place, else as elsewhere; in-place, on its processors when they are repaired;
    /// spare, in place with a spare cube of its row [default: elsewhere]
    restart: text Restart = "WHERE", FAILURES, needs = [["failures"]];

    /// Jobs save a checkpoint after each INTERVAL of work and restart from the latest one: 1h,2m. A
    /// save takes the time COST [default: they restart from the beginning]
    checkpoint: text Checkpoint = "INTERVAL[,COST]", FAILURES,
        needs = [["failures", "preemption"]];

    /// The controller: in-process, tcp:HOST:PORT, unix:PATH or serial:DEVICE@BAUD [default:
    /// in-process]
    backend: text BackendChoice = "WHERE", OUTPUT;
}

impl Scenario {
    /// The scenario of these keys and values; an error names a wrong one.
    pub fn of<V: AsRef<OsStr>>(
        pairs: impl IntoIterator<Item = (impl AsRef<str>, V)>,
    ) -> Result<Self, SettingError> {
        let mut scenario = Scenario::default();
        for (key, value) in pairs {
            scenario.set(key.as_ref(), value)?;
        }
        Ok(scenario)
    }

    /// Reads a value of a setting, in its text form.
    ///
    /// ```
    /// use meshalloc_sim::scenario::Scenario;
    /// let mut scenario = Scenario::default();
    /// scenario.set("mesh", "16x22")?;
    /// assert_eq!(scenario.mesh.unwrap().to_string(), "16x22");
    /// let error = scenario.set("load", "-1").unwrap_err();
    /// assert_eq!(error.to_string(), "`load` is \"-1\": expected a number over 0");
    /// # Ok::<(), meshalloc_sim::scenario::SettingError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there is no such setting, or it does not take the value.
    pub fn set(&mut self, key: &str, value: impl AsRef<OsStr>) -> Result<(), SettingError> {
        let Some(setting) = Setting::of(key) else {
            let reason = unknown_key(key, SETTINGS.iter().map(|setting| setting.key));
            return Err(SettingError::new(&[], reason));
        };
        let value = value.as_ref();
        (setting.read)(self, value).map_err(|expected| {
            let reason = format!("`{key}` is {value:?}: {}", expected.replace('`', "'"));
            SettingError::new(&[setting.key], reason)
        })?;
        match setting.unit_in(value) {
            Some(text) => self.units.insert(setting.key, text.to_owned()),
            None => self.units.remove(setting.key),
        };
        Ok(())
    }

    /// A time with a unit is an error where times are these.
    pub(super) fn check_units(&self, times: &str) -> Result<(), SettingError> {
        let Some((key, text)) = self.units.first_key_value() else {
            return Ok(());
        };
        let reason =
            format!("`{key}` is {text}, but times are {times} (expected a number without a unit)");
        Err(SettingError::new(&[key, "pattern"], reason))
    }

    /// The settings that were given, as results record them: by [`Setting::name`], as texts,
    /// numbers and lists of texts.
    pub fn record(&self) -> Value {
        let record = |setting: &Setting| Some((setting.name.to_owned(), (setting.record)(self)?));
        SETTINGS
            .iter()
            .filter_map(record)
            .collect::<Map<_, _>>()
            .into()
    }

    /// The settings that were given.
    pub(super) fn given(&self) -> impl Iterator<Item = &'static Setting> {
        let is_given = |setting: &&Setting| (setting.record)(self).is_some();
        SETTINGS.iter().filter(is_given)
    }

    /// The first of these settings that was given, and its value as results record it.
    pub(super) fn first_of(&self, keys: &[&'static str]) -> Option<(&'static str, Value)> {
        let recorded = |&key: &&'static str| Some((key, (Setting::of(key)?.record)(self)?));
        keys.iter().find_map(recorded)
    }

    /// Two settings that were given and contradict each other are an error.
    pub fn check_contradictions(&self) -> Result<(), SettingError> {
        let given: Vec<_> = self.given().collect();
        let Some((earlier, at)) = contradiction(&given) else {
            return Ok(());
        };
        let (key, other) = (given[at].key, given[earlier].key);
        let reason = format!("`{key}` contradicts `{other}` (expected only one of them)");
        Err(SettingError::new(&[key, other], reason))
    }
}

/// As [`Scenario::record`].
impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.record().serialize(serializer)
    }
}

/// From what [`Scenario::record`] gives.
impl<'de> Deserialize<'de> for Scenario {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut scenario = Scenario::default();
        for (key, value) in Map::deserialize(deserializer)? {
            let key = key.replace('_', "-");
            let form = Setting::of(&key).map_or(Form::Text, |setting| setting.form);
            let text = |value: &Value| match (value, form) {
                (Value::String(text), _) => Ok(text.clone()),
                (Value::Bool(choice), Form::Switch) => Ok(choice.to_string()),
                (Value::Number(number), Form::Text | Form::Number) => Ok(number.to_string()),
                (other, _) => Err(D::Error::custom(format!(
                    "`{key}` is {other} (expected {})",
                    match form {
                        Form::Switch => "true or false",
                        Form::Text | Form::Number => "a string or a number",
                        Form::List => "a list of strings",
                        Form::File | Form::NameOrFile => "a string",
                    }
                ))),
            };
            let text = match &value {
                Value::Array(items) if form == Form::List => {
                    let items = items.iter().map(text).collect::<Result<Vec<_>, _>>();
                    items?.join(",")
                }
                other => text(other)?,
            };
            scenario.set(&key, text).map_err(D::Error::custom)?;
        }
        Ok(scenario)
    }
}
