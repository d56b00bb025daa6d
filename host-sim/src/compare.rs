//! `compare`: several strategies under several schedulers on one workload over several loads, as
//! tables and a picture.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::builder::ValueHint;
use clap::{Arg, Args};
use meshalloc::{SchedulerKind, StrategyKind};
use schemars::JsonSchema;
use serde::Serialize;

use crate::columns::Columns;
use crate::completion::{Known, metrics};
use crate::failure::{Failure, Incomplete};
use crate::file::{self, ReplaceArgs};
use crate::map::PictureFile;
use crate::plot::{Layout, Picture, Point, Scale, Series};
use crate::progress::Bar;
use crate::report::{self, Document, LogJson, summaries};
use crate::settings::{self, FileArgs, Format, FormatArgs, Given, Takes, ThreadsArgs, several};
use crate::sweep;
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment::{Experiment, Measure, StrategyResult};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::parameters;
use meshalloc_sim::results::StrategySummary;
use meshalloc_sim::scenario::{self, Scenario, Setting, SettingError, StrategyChoice};
use meshalloc_sim::wording::{Number, counted};
use meshalloc_sim::workload::{EstimateModel, Log, Process, SharedLogs, TimeUnit, Workload};

mod answer;
mod frame;
mod tables;

use frame::Frame;

/// What to compare.
#[derive(Args, Clone, Debug)]
pub struct CompareArgs {
    #[command(flatten)]
    file: FileArgs,

    #[command(flatten)]
    settings: Given<Self>,

    #[command(flatten)]
    format: FormatArgs,

    /// Also draw a metric over the load (SVG); the folder is made if it does not exist
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// The metric that the picture shows over the load; `host-sim list metrics` lists them
    #[arg(long, value_name = "METRIC", value_parser = Known { parser: names::metric, values: metrics() }, hide_possible_values = true, default_value = Metric::WaitingDelay.name())]
    draw: Metric,

    #[command(flatten)]
    replace: ReplaceArgs,

    /// Compare at the loads 0.25, 0.30, ..., 0.55; takes more than twice as long
    #[arg(long, conflicts_with_all = ["load", "swf", "jobs-file"])]
    full: bool,

    #[command(flatten)]
    threads: ThreadsArgs,
}

/// The loads and the schedulers that are compared by default, and the loads with `--full`.
const LOADS: &str = "0.3,0.4,0.5";
const FULL: &str = "0.25,0.30,0.35,0.40,0.45,0.50,0.55";
const SCHEDULERS: &str = "fcfs,easy";

/// Jobs have service times and arrive at loads, or are those of a log.
impl Takes for CompareArgs {
    fn take(arg: Arg) -> Option<Arg> {
        Some(match arg.get_long()? {
            "batch" | "backlog" | "traffic-ratio" | "arrival-rate" | "pattern" | "flits"
            | "routing-delay" | "messages" | "iterations" | "iteration-seconds"
            | "cycles-per-second" | "blocking" | "io-nodes" | "io" | "until-rel-error"
            | "until-abs-error" | "max-replications" | "backend" => return None,
            "strategy" => arg.help(
                "Allocation strategies, separated by commas, or all that serve the machine [default: \
                 those of ff,as,fsl,leb,naive that serve the machine; on a cube: those of \
                 tree-collapsing, tree-collapsing-printed, free-list and sniffing that serve it]",
            ),
            "scheduler" => several(arg).default_value(SCHEDULERS).help(
                "Scheduling policies, separated by commas, each with every strategy and the same jobs",
            ),
            "load" => several(arg).alias("loads").default_value(LOADS).help(
                "Offered loads, separated by commas: processor seconds requested per processor second \
                 of the machine",
            ),
            "log-load" => several(arg).help(
                "Offered loads to which the log's submit times are stretched, separated by commas \
                 [default: they stay as they are]",
            ),
            _ => arg,
        })
    }
}

/// What `compare` adds to a document.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CompareContent {
    /// The picture's file; `null` if there is none.
    picture: Option<String>,
    /// One for each load.
    points: Vec<PointJson>,
    /// The log; absent for a synthetic workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<LogJson>,
}

/// All results at one load.
#[derive(Serialize, JsonSchema)]
struct PointJson {
    /// The offered load; `null` if it is not known, of a log whose jobs all arrive at once.
    load: Option<f64>,
    /// One for each scheduler and strategy.
    results: Vec<StrategySummary>,
}

/// All strategies at one load, in the order of the columns, under one scheduler after the other.
struct Row {
    load: f64,
    results: Vec<Vec<StrategyResult>>,
}

impl Row {
    fn all(&self) -> impl Iterator<Item = &StrategyResult> {
        self.results.iter().flatten()
    }

    /// Those of [`Row::all`] for programs.
    fn summaries(&self) -> impl Iterator<Item = StrategySummary> {
        self.results.iter().flat_map(|results| summaries(results))
    }
}

/// The names of the default strategies, of which those are compared that serve the machine: a scan,
/// a complete one, one that keeps large free submeshes, one that looks ahead, and no contiguity at
/// all.
const DEFAULT: &[&str] = &[
    "first-fit",
    "adaptive-scan",
    "free-submesh-list",
    "least-expected-blocking",
    "naive",
];

/// The same on a cube: what Chuang and Wu compare.
const DEFAULT_CUBE: &[&str] = &[
    "tree-collapsing",
    "tree-collapsing-printed",
    "free-list",
    "sniffing",
];

/// What is compared, every parameter known.
struct Comparison<'a> {
    args: &'a CompareArgs,
    /// Those of all points but for loads and schedulers.
    settings: Scenario,
    /// One for each load, from the highest, and in it one for each scheduler.
    experiments: Vec<Experiment>,
    strategies: Vec<StrategyKind>,
    schedulers: Vec<SchedulerKind>,
    loads: Vec<f64>,
}

pub(crate) fn compare(args: &CompareArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let compared = Comparison::new(args)?;
    compared.check_drawn(args.draw)?;
    let files = [
        ("--scenario", args.file.path()),
        ("--output", args.output.as_deref()),
    ];
    file::spare(&compared.settings.files(), &files)?;
    // Before the runs, so that an error comes at once.
    let file = args.output.as_deref();
    let file = file.map(|path| PictureFile::open(path, args.replace));
    let file = file.transpose()?;
    let (rows, incomplete) = measure(&compared)?;
    // Before the results, which name it only if it is there.
    let drawn = file.as_ref().filter(|_| incomplete.is_none());
    let drawn = drawn.map(|file| file.draw(&picture(&compared, &rows)).map(|()| file));
    let drawn = drawn.transpose();
    let shown = drawn.as_ref().ok().copied().flatten();
    match args.format.get() {
        Format::Table => {
            tables::write_tables(&compared, &rows, incomplete.as_ref(), output)?;
            if let Some(file) = shown {
                writeln!(output, "{}", file.line("picture"))?;
            }
            if incomplete.is_none() {
                answer::write_answer(&compared, &rows, output)?;
            }
        }
        Format::Json => {
            let picture = args.output.as_deref().filter(|_| shown.is_some());
            write_json(&compared, &rows, picture, incomplete.as_ref(), output)?;
        }
        Format::Csv => write_csv(&compared, &rows, output)?,
    }
    if let Some(incomplete) = incomplete {
        return Err(Failure::Incomplete(incomplete));
    }
    let drawn = drawn.map_err(|failure| failure.after_results(&"--output"));
    drawn.map(|_| ())
}

fn split(texts: &str) -> Vec<String> {
    texts.split(',').map(str::to_owned).collect()
}

impl<'a> Comparison<'a> {
    fn new(args: &'a CompareArgs) -> Result<Self, String> {
        let mut given = args.settings.clone();
        let schedulers = given.values("scheduler");
        let [loads, log_loads] = ["load", "log-load"].map(|key| given.values(key));
        let (mut settings, origin) = given.over(args.file.path())?;
        let schedulers = match (schedulers, settings.scheduler) {
            (None, Some(of_file)) => vec![of_file],
            (given, _) => {
                let texts = given.unwrap_or_else(|| split(SCHEDULERS));
                let kinds = texts.iter().map(|text| names::scheduler(text));
                names::each_once(kinds.collect::<Result<Vec<_>, _>>()?)
            }
        };
        // Without a log, `log-load` is an error that is found below.
        let is_log = settings.log_file().is_some() || settings.log_load.is_some();
        if is_log && args.full {
            let text = "a log cannot be used with --full".to_owned();
            return Err(origin.place(&SettingError::new(&["swf", "jobs-file", "log-load"], text)));
        }
        let (given, of_file, default) = match is_log {
            true => (log_loads, settings.log_load, vec![]),
            false if args.full => (loads, None, split(FULL)),
            false => (loads, settings.load, split(LOADS)),
        };
        let mut loads = match (given, of_file) {
            (None, Some(of_file)) => vec![of_file],
            (given, _) => {
                let texts = given.unwrap_or(default);
                let loads = texts.iter().map(|text| names::load(text));
                names::each_once(loads.collect::<Result<Vec<f64>, _>>()?)
            }
        };
        loads.sort_by(f64::total_cmp);
        if settings.strategy.is_none() {
            let place = |error: SettingError| origin.place(&error);
            let described = settings.description().map_err(place)?;
            let machine = settings.grid(described.as_ref()).map_err(place)?;
            let default = match settings.cube {
                Some(_) => DEFAULT_CUBE,
                None => DEFAULT,
            };
            let built = default.iter().filter_map(|name| names::strategy(name).ok());
            let serving = built.filter(|&kind| scenario::serves(machine, described.as_ref(), kind));
            settings.strategy = Some(serving.map(StrategyChoice::One).collect());
        }
        let logs = SharedLogs::default();
        let mut experiments = Vec::new();
        // The highest loads take longest, so they go first. Without a load the log keeps its own.
        let highest_first = loads.iter().rev().copied().map(Some);
        for load in highest_first.chain(loads.is_empty().then_some(None)) {
            for &scheduler in &schedulers {
                settings.scheduler = Some(scheduler);
                match is_log {
                    true => settings.log_load = load,
                    false => settings.load = load,
                }
                let resolved = settings.resolve_of(origin.clone())?;
                experiments.push((resolved.experiment(&logs)?, resolved.settings));
            }
        }
        let (experiments, mut resolved): (Vec<_>, Vec<_>) = experiments.into_iter().unzip();
        if let (true, Workload::Log(log)) = (loads.is_empty(), &experiments[0].workload) {
            loads.push(log.offered_load().unwrap_or_default());
        }
        Ok(Comparison {
            args,
            settings: resolved.swap_remove(0),
            strategies: experiments[0].strategies.clone(),
            experiments,
            schedulers,
            loads,
        })
    }

    fn any(&self) -> &Experiment {
        &self.experiments[0]
    }

    /// The results of the experiments by load.
    fn rows(&self, results: &[Vec<StrategyResult>]) -> Vec<Row> {
        let results = results.chunks(self.schedulers.len()).rev();
        let rows = self.loads.iter().zip(results).map(|(&load, results)| {
            let results = results.to_vec();
            Row { load, results }
        });
        rows.collect()
    }

    fn replications(&self) -> u32 {
        self.settings.replications.unwrap_or(1)
    }

    fn scheduler_names(&self) -> Vec<String> {
        let text = |&kind| names::scheduler_text(kind, TimeUnit::Second);
        self.schedulers.iter().map(text).collect()
    }

    /// A load as it was given, or rounded as it was found in a log.
    fn load_text(&self, load: f64) -> String {
        match &self.any().workload {
            _ if known(load).is_none() => "-".to_owned(),
            Workload::Log(log) if log.load.is_none() => format!("{load:.3}"),
            _ => Number(load).to_string(),
        }
    }

    fn parameters(&self) -> String {
        let schedulers = self.scheduler_names().join(" and ");
        let Experiment {
            workload,
            jobs,
            measure,
            failures,
            slowdown_threshold,
            seed,
            ..
        } = self.any();
        let machine = report::machine_text(self.any());
        let slowdown = parameters::slowdown_text(*slowdown_threshold, workload.time_unit());
        let failures = parameters::failures_text(failures.as_ref());
        let (workload, jobs) = match workload {
            Workload::Synthetic(workload) => {
                let requests = parameters::requests_text(&workload.requests);
                let arrivals = match workload.arrivals.process() {
                    Some(Process::Empirical(gaps)) => format!(", arrivals {gaps}"),
                    _ => String::new(),
                };
                let service = match (self.settings.service_mean, &self.settings.service) {
                    _ if workload.model().is_some() => "its run times".to_owned(),
                    (None, Some(service)) => parameters::service_text(service),
                    (mean, _) => format!("mean service {} s", Number(mean.unwrap_or_default())),
                };
                let estimates =
                    parameters::estimates_text(workload.estimates, EstimateModel::Perfect);
                let (counts, warmup) = parameters::measured_text(*measure);
                let jobs = format!("{}{warmup}", counted(*jobs, counts));
                (format!("{requests}{arrivals}, {service}{estimates}"), jobs)
            }
            Workload::Log(log) => {
                let unstretched = Log {
                    load: None,
                    ..log.clone()
                };
                let (name, text) = (file::name(&log.path), parameters::log_text(&unstretched));
                (format!("{name}, {text}"), counted(log.jobs.len(), "job"))
            }
        };
        format!(
            "{machine}, {workload}, {schedulers}, {} x {jobs}{slowdown}{failures}, seed {seed}",
            self.replications(),
        )
    }

    /// An error unless every run has a value of this metric.
    fn check_drawn(&self, metric: Metric) -> Result<(), String> {
        let name = metric.name();
        let is_taken = |key| Setting::of(key).is_some_and(settings::takes::<CompareArgs>);
        let record = self.settings.record();
        let is_set = |key: &str| record.get(key).is_some_and(|value| *value != false);
        let Experiment {
            workload, measure, ..
        } = self.any();
        let requires = match metric.needs() {
            Some(key) if !is_taken(key) => {
                return Err(format!(
                    "--draw {name}: compare does not measure it (expected run --{key})"
                ));
            }
            Some(key) if !is_set(key) => key,
            None if metric == Metric::WaitingAtEnd
                && workload.log().is_none()
                && *measure == Measure::Departures =>
            {
                "measure arrivals"
            }
            _ => return Ok(()),
        };
        Err(format!("--draw {name} requires --{requires}"))
    }
}

/// The load of a row, unless it is that of a log which has none.
fn known(load: f64) -> Option<f64> {
    (load > 0.0).then_some(load)
}

/// Every strategy at every load, over all processors.
fn measure(compared: &Comparison<'_>) -> Result<(Vec<Row>, Option<Incomplete>), Failure> {
    let experiments: Vec<&Experiment> = compared.experiments.iter().collect();
    let frame = Frame::new(compared);
    let bar = Bar::interruptible()?.below(&frame);
    let threads = compared.args.threads.count;
    let ran = sweep::run_here(&experiments, threads, &InProcessBackends::default, &bar);
    bar.clear();
    let (results, incomplete) = ran?;
    Ok((compared.rows(&results), incomplete))
}

fn picture(compared: &Comparison<'_>, rows: &[Row]) -> Picture {
    let metric = compared.args.draw;
    let results = rows.iter().flat_map(Row::all);
    let means = results.filter_map(|result| Some(report::measured(result, metric, 1.0)?.mean));
    let (y_label, size) = report::axis(metric, TimeUnit::Second, means.fold(0.0, f64::max));
    let point = |load: f64, result: &StrategyResult| Point {
        x: load,
        y: report::measured(result, metric, size),
    };
    let schedulers = compared.scheduler_names().into_iter().enumerate();
    let series = schedulers.flat_map(|(under, scheduler)| {
        let strategies = compared.strategies.iter().enumerate();
        strategies.map(move |(column, kind)| Series {
            name: match compared.schedulers.len() {
                1 => kind.to_string(),
                _ => format!("{}, {scheduler}", short(*kind)),
            },
            points: rows
                .iter()
                .map(|row| point(row.load, &row.results[under][column]))
                .collect(),
        })
    });
    Picture {
        title: report::title(&metric.words()),
        subtitle: compared.parameters(),
        x_label: "offered load (fraction of the processors)".to_owned(),
        x_scale: Scale::Linear,
        layout: Layout::Page,
        y_label,
        series: series.collect(),
        stated: Vec::new(),
    }
}

/// The abbreviation of a strategy, or its name if it has none, with its parameters.
fn short(kind: StrategyKind) -> String {
    let (name, text) = (kind.name(), kind.to_string());
    let alias = kind.info().aliases.first().copied().unwrap_or(name);
    text.replacen(name, alias, 1)
}

pub(crate) fn columns() -> Columns {
    Columns::of_runs::<StrategySummary>(settings::takes::<CompareArgs>, &[])
}

fn write_csv(
    compared: &Comparison<'_>,
    rows: &[Row],
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let rows = rows.iter().flat_map(|row| {
        let mut scenario = compared.settings.record();
        // Also of a log, as in JSON.
        scenario["load"] = known(row.load).into();
        if scenario.get("log_load").is_some() {
            scenario["log_load"] = row.load.into();
        }
        row.summaries().map(move |row| (scenario.clone(), row))
    });
    Ok(columns().runs(rows, output)?)
}

fn write_json(
    compared: &Comparison<'_>,
    rows: &[Row],
    picture: Option<&Path>,
    incomplete: Option<&Incomplete>,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let points = rows.iter().map(|row| PointJson {
        load: known(row.load),
        results: row.summaries().collect(),
    });
    let mut scenario = compared.settings.record();
    for key in ["load", "log_load"] {
        if scenario.get(key).is_some() {
            scenario[key] = rows.iter().map(|row| row.load).collect();
        }
    }
    scenario["scheduler"] = compared.scheduler_names().into();
    let content = CompareContent {
        picture: picture.map(|path| path.to_string_lossy().into_owned()),
        points: points.collect(),
        log: compared.any().workload.log().map(LogJson::new),
    };
    Ok(Document::new(scenario, compared.any().seed, incomplete, content).write(output)?)
}
