//! `compare`: several strategies under several schedulers on one workload over several loads, as tables and a picture.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use clap::builder::ValueHint;
use meshalloc::{Grid, SchedulerKind, StrategyKind};
use schemars::JsonSchema;
use serde::Serialize;

use crate::backend::{self, InProcessBackends};
use crate::experiment::{
    self, Experiment, Measure, REPLICATIONS_MIN, Replications, StrategyResult, WARMUP_FRACTION,
};
use crate::failure::{self, Failure, Incomplete};
use crate::file;
use crate::map::{self, MapArgs, PictureFile};
use crate::metrics::{Metric, SLOWDOWN_THRESHOLD};
use crate::names;
use crate::plot::{self, Layout, Measured, Picture, Point, Scale, Series};
use crate::progress::Bar;
use crate::report::{self, Document, LogJson, ResultJson, shown};
use crate::scenario::{
    self, Format, JOBS_DEFAULT, LogArgs, LogSource, RequestArgs, ServiceArgs, StrategyChoice,
    ThreadsArgs,
};
use crate::wording::{Number, counted};
use crate::workload::{
    Arrivals, EstimateModel, Log, Rate, Requests, ServiceDistribution, SharedLogs, Synthetic,
    TimeUnit, WorkDistribution, Workload,
};

mod tables;

/// What to compare.
#[derive(Args, Clone, Debug)]
pub struct CompareArgs {
    #[command(flatten)]
    requests: RequestArgs,

    #[command(flatten)]
    log: LogArgs,

    /// Offered loads to which the log's submit times are stretched, separated by commas [default: they stay as they are]
    #[arg(long, value_name = "FRACTION,...", value_parser = names::positive, allow_negative_numbers = true, value_delimiter = ',')]
    log_load: Vec<f64>,

    /// The estimate of its run time that each request carries: perfect, log (the requested time, at
    /// most 71 years), factor:LOW..HIGH (the run time times a number drawn for each job) or none
    /// [default: perfect; with --swf: log]
    #[arg(long, value_name = "MODEL")]
    estimates: Option<EstimateModel>,

    /// Allocation strategies, separated by commas, or all that serve the machine [default: those of ff,as,fsl,leb,naive that
    /// serve the machine; on a cube: those of tree-collapsing, tree-collapsing-printed, free-list and sniffing that serve it]
    #[arg(long, value_name = "NAME,...", value_parser = scenario::strategy_choice, value_delimiter = ',')]
    strategy: Option<Vec<StrategyChoice>>,

    /// Which waiting job may try: schedulers, separated by commas, each with every strategy and the same jobs
    #[arg(long, value_name = "NAME,...", value_parser = names::scheduler, value_delimiter = ',', default_value = "fcfs,easy")]
    scheduler: Vec<SchedulerKind>,

    /// Offered loads, separated by commas: processor seconds requested per processor second there is
    #[arg(
        long,
        alias = "loads",
        value_name = "FRACTION,...",
        value_parser = names::positive, allow_negative_numbers = true,
        value_delimiter = ',',
        default_value = "0.25,0.30,0.35,0.40,0.45,0.50,0.55"
    )]
    load: Vec<f64>,

    #[command(flatten)]
    service: ServiceArgs,

    /// Jobs in one replication, the first 5 % of which are not measured [default: 40000]; of a log, its first jobs, all measured
    /// [default: all]
    #[arg(long, value_name = "COUNT", value_parser = names::jobs, allow_negative_numbers = true)]
    jobs: Option<u32>,

    /// Runs of each strategy at each load, each with new jobs; of a log with --resample [default: 10]
    #[arg(long, value_name = "COUNT", value_parser = names::replications::<u32>, allow_negative_numbers = true)]
    replications: Option<u32>,

    /// Run times count as at least this in the bounded slowdown
    #[arg(long, value_name = "SECONDS", value_parser = names::positive, allow_negative_numbers = true, default_value_t = SLOWDOWN_THRESHOLD)]
    slowdown_threshold: f64,

    /// What all random numbers derive from, 0 to 2^64-1; the same seed gives the same jobs
    #[arg(long, value_name = "NUMBER", value_parser = scenario::seed, allow_negative_numbers = true, default_value = "1")]
    seed: u64,

    /// Where the picture of the mean waiting delay over the load goes; its folder is made if need be [default with several
    /// loads: out/compare.svg; with one there is none, as it would be one of single points]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Draw no picture of the mean waiting delay over the load
    #[arg(long, conflicts_with = "output")]
    no_picture: bool,

    /// How results are written: table or json
    #[arg(long, value_name = "FORMAT", value_parser = scenario::format, default_value = "table")]
    format: Format,

    #[command(flatten)]
    threads: ThreadsArgs,

    #[command(
        flatten,
        next_help_heading = "Map, under the first scheduler and the highest load"
    )]
    map: MapArgs,
}

/// Where the picture goes by default.
const OUTPUT_DEFAULT: &str = "out/compare.svg";

/// What `compare` adds to a document.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CompareContent {
    /// The picture's file; `null` if there is none.
    picture: Option<String>,
    /// One for each load.
    points: Vec<PointJson>,
    /// The log; not there for a synthetic workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<LogJson>,
}

/// All results at one load.
#[derive(Serialize, JsonSchema)]
struct PointJson {
    /// The offered load; `null` if it is not known, of a log whose jobs all arrive at once.
    load: Option<f64>,
    /// One for each scheduler and strategy.
    results: Vec<ResultJson>,
}

/// All strategies at one load, in the order of the columns, under one scheduler after the other.
struct Row {
    load: f64,
    results: Vec<Vec<StrategyResult>>,
}

impl Row {
    /// Under all schedulers.
    fn all(&self) -> impl Iterator<Item = &StrategyResult> {
        self.results.iter().flatten()
    }
}

/// The names of the default strategies, of which those are compared that serve the machine: a scan, a complete one, one that keeps
/// large free submeshes, one that looks ahead, and no contiguity at all.
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

/// Where the jobs come from.
enum Source {
    Synthetic(Requests),
    Log(Box<LogSource>, Box<Log>),
}

/// What is compared, every parameter known.
struct Comparison<'a> {
    args: &'a CompareArgs,
    machine: Grid,
    source: Source,
    estimates: EstimateModel,
    replications: u32,
    strategies: Vec<StrategyKind>,
    /// Each once.
    schedulers: Vec<SchedulerKind>,
    /// In ascending order.
    loads: Vec<f64>,
}

/// Compares, draws and reports.
///
/// # Errors
///
/// When the workload cannot be used, or the picture or the report cannot be written.
pub(crate) fn compare(args: &CompareArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let compared = Comparison::new(args)?;
    if let (Some(moment), Some(&load)) = (args.map.plot, compared.loads.last()) {
        map::check(moment, &compared.experiment(load, compared.schedulers[0]))?;
    }
    let map_path = args.map.path();
    let files = [
        ("--swf", compared.args.log.swf.as_deref()),
        ("--output", compared.picture_path()),
        ("--plot-output", map_path.as_deref()),
    ];
    file::distinct(&files)?;
    // Now rather than after a minute's work.
    let file = compared.picture_path().map(PictureFile::open);
    let file = file.transpose()?;
    let show = args.map.show(args.format == Format::Table)?;
    let (rows, incomplete) = measure(&compared)?;
    if let (Some(file), None) = (file, &incomplete) {
        file.write(&plot::svg(&picture(&compared, &rows))?)?;
    }
    match args.format {
        Format::Table => tables::write_tables(&compared, &rows, incomplete.as_ref(), output)?,
        Format::Json => write_json(&compared, &rows, incomplete.as_ref(), output)?,
    }
    if let Some(incomplete) = incomplete {
        output.flush()?;
        return Err(Failure::Incomplete(incomplete));
    }
    if let (Some((moment, show)), Some(&load)) = (show, compared.loads.last()) {
        let experiment = compared.experiment(load, compared.schedulers[0]);
        let maps = map::maps(&experiment, moment, &mut InProcessBackends::default());
        let parameters = compared.parameters_under(&compared.scheduler_names()[0]);
        let subtitle = format!("load {}, {parameters}", compared.load_text(load));
        let shown = maps.map_err(Failure::from);
        let shown = shown.and_then(|maps| show.maps(&maps, &subtitle, output));
        shown.map_err(|failure| failure.after_results(&format_args!("--plot {moment}")))?;
    }
    Ok(())
}

impl<'a> Comparison<'a> {
    fn new(args: &'a CompareArgs) -> Result<Self, String> {
        let requests = args.requests.requests()?;
        let machine = requests.machine();
        let load = args.log_load.first().copied();
        let mut loads = args.load.clone();
        let log = args.log.source(&args.requests.machine, load, args.jobs)?;
        let is_log = log.is_some();
        let source = match log {
            Some(source) => {
                let log = source.read(machine, &SharedLogs::default())?;
                LogSource::check(&log, args.seed)?;
                loads = match log.load {
                    Some(_) => args.log_load.clone(),
                    // As it is.
                    None => vec![log.offered_load().unwrap_or_default()],
                };
                Source::Log(Box::new(source), Box::new(log))
            }
            None if args.log.shape.is_some() => {
                return Err("--shape is about logs (expected --swf beside it)".into());
            }
            None => Source::Synthetic(requests),
        };
        let estimates = args.estimates.unwrap_or(match is_log {
            true => EstimateModel::Log,
            false => EstimateModel::Perfect,
        });
        let usable = estimates.check(true, is_log);
        usable.map_err(|error| error.to_string())?;
        let is_replicated = !is_log || args.log.resample.is_some();
        let replications = match args.replications {
            None if is_replicated => REPLICATIONS_MIN,
            None => 1,
            Some(_) if !is_replicated => {
                return Err(scenario::not_replicated("replications").into());
            }
            Some(count) => count,
        };
        let default = match machine.is_written_high_first() {
            true => DEFAULT_CUBE,
            false => DEFAULT,
        };
        let built = default.iter().filter_map(|name| names::strategy(name).ok());
        let schedulers = names::each_once(args.scheduler.iter().copied());
        let default = backend::serving(machine, schedulers[0], built);
        let default = default.map_err(|error| error.to_string())?;
        let mut loads = names::each_once(loads);
        loads.sort_by(f64::total_cmp);
        Ok(Comparison {
            args,
            machine,
            source,
            estimates,
            replications,
            strategies: scenario::strategies(machine, args.strategy.as_deref(), &default)?,
            schedulers,
            loads,
        })
    }

    fn experiment(&self, load: f64, scheduler: SchedulerKind) -> Experiment {
        let args = self.args;
        let workload = match &self.source {
            Source::Synthetic(requests) => Workload::Synthetic(Synthetic {
                requests: *requests,
                work: WorkDistribution::Service(args.service.distribution()),
                arrivals: Arrivals::Poisson(Rate::Load(load)),
                estimates: self.estimates,
            }),
            Source::Log(_, log) => Workload::Log(Log {
                load: log.load.map(|_| load),
                estimates: self.estimates,
                ..Log::clone(log)
            }),
        };
        Experiment {
            machine: self.machine,
            strategies: self.strategies.clone(),
            scheduler,
            workload,
            jobs: args.jobs.unwrap_or(JOBS_DEFAULT),
            measure: Measure::Arrivals {
                warmup_fraction: WARMUP_FRACTION,
            },
            backlog: None,
            slowdown_threshold: args.slowdown_threshold,
            replications: Replications::Fixed(self.replications),
            seed: args.seed,
        }
    }

    /// Where the picture goes, if there is one.
    fn picture_path(&self) -> Option<&Path> {
        match &self.args.output {
            _ if self.args.no_picture => None,
            None => (self.loads.len() > 1).then_some(Path::new(OUTPUT_DEFAULT)),
            given => given.as_deref(),
        }
    }

    /// The schedulers as they are written.
    fn scheduler_names(&self) -> Vec<String> {
        let text = |&kind| names::scheduler_text(kind, TimeUnit::Second);
        self.schedulers.iter().map(text).collect()
    }

    /// A load as it was given, or rounded as it was found in a log.
    fn load_text(&self, load: f64) -> String {
        match &self.source {
            _ if known(load).is_none() => "-".to_owned(),
            Source::Log(_, log) if log.load.is_none() => format!("{load:.3}"),
            _ => Number(load).to_string(),
        }
    }

    /// All parameters but the loads.
    fn parameters(&self) -> String {
        self.parameters_under(&self.scheduler_names().join(" and "))
    }

    /// The same, where these are the schedulers.
    fn parameters_under(&self, schedulers: &str) -> String {
        let args = self.args;
        let workload = match &self.source {
            Source::Synthetic(requests) => {
                let requests = report::requests_text(requests);
                let estimates = report::estimates_text(self.estimates, EstimateModel::Perfect);
                let service = match args.service.distribution() {
                    ServiceDistribution::Exponential { mean_seconds } => {
                        format!("mean service {} s", Number(mean_seconds))
                    }
                    other => format!("service {other} s"),
                };
                format!("{requests}, {service}{estimates}")
            }
            Source::Log(source, log) => {
                let unstretched = LogSource {
                    load: None,
                    ..LogSource::clone(source)
                };
                let name = file::name(&log.path);
                format!("{name}, {}", report::log_text(&unstretched, self.estimates))
            }
        };
        let jobs = match &self.source {
            Source::Synthetic(_) => args.jobs.unwrap_or(JOBS_DEFAULT) as usize,
            Source::Log(_, log) => log.jobs.len(),
        };
        format!(
            "{}, {workload}, {schedulers}, {} x {}, seed {}",
            self.machine,
            self.replications,
            counted(jobs, "job"),
            args.seed
        )
    }
}

/// The load of a row, unless it is that of a log which has none.
fn known(load: f64) -> Option<f64> {
    (load > 0.0).then_some(load)
}

/// Every strategy at every load, over all processors.
fn measure(compared: &Comparison<'_>) -> Result<(Vec<Row>, Option<Incomplete>), Failure> {
    // The highest loads take longest, so they go first.
    let schedulers = &compared.schedulers;
    let under = |&load: &f64| schedulers.iter().map(move |&scheduler| (load, scheduler));
    let points = compared.loads.iter().rev().flat_map(under);
    let experiment = |(load, scheduler)| compared.experiment(load, scheduler);
    let experiments: Vec<Experiment> = points.map(experiment).collect();
    let rows = Mutex::new(Vec::new());
    let bar = Bar::interruptible()?;
    let outcome = experiment::run_all(
        &experiments.iter().collect::<Vec<_>>(),
        compared.args.threads.count,
        &InProcessBackends::default,
        &bar,
        &|place, results| {
            let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
            rows.push((place, results));
            ControlFlow::Continue(())
        },
    );
    bar.clear();
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut incomplete = None;
    if let Err(failed) = outcome {
        let (complete, reason) = failure::complete(failed, !rows.is_empty())?;
        rows.extend(complete);
        incomplete = Some(reason);
    }
    let mut rows: BTreeMap<usize, _> = rows.into_iter().collect();
    // A load of which a scheduler is missing is left out.
    let mut row = |(place, &load)| {
        let first = place * schedulers.len();
        let places = first..first + schedulers.len();
        let results: Option<Vec<_>> = places.map(|place| rows.remove(&place)).collect();
        results.map(|results| Row { load, results })
    };
    let loads = compared.loads.iter().rev().enumerate();
    let mut rows: Vec<Row> = loads.filter_map(&mut row).collect();
    rows.reverse();
    Ok((rows, incomplete))
}

fn picture(compared: &Comparison<'_>, rows: &[Row]) -> Picture {
    let metric = Metric::WaitingDelay;
    let point = |load: f64, result: &StrategyResult| Point {
        x: load,
        y: shown(result, metric).map(|estimate| Measured {
            mean: estimate.mean,
            ci95: estimate.ci95,
            grows: report::grows(result, metric),
            saturated: result.saturated,
            refused: report::refused_percent(result),
        }),
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
        title: "Mean waiting delay".to_owned(),
        subtitle: compared.parameters(),
        x_label: "offered load (fraction of the processors)".to_owned(),
        x_scale: Scale::Linear,
        layout: Layout::Page,
        y_label: "mean waiting delay".to_owned(),
        y_time: Some(TimeUnit::Second),
        series: series.collect(),
        stated: Vec::new(),
    }
}

/// The name of a strategy where there is little room: its abbreviation, if it has one, with its parameters.
fn short(kind: StrategyKind) -> String {
    let (name, text) = (kind.name(), kind.to_string());
    let alias = kind.info().aliases.first().copied().unwrap_or(name);
    text.replacen(name, alias, 1)
}

fn write_json(
    compared: &Comparison<'_>,
    rows: &[Row],
    incomplete: Option<&Incomplete>,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let of_scheduler = |results: &Vec<StrategyResult>| -> Vec<ResultJson> {
        let result = |result| ResultJson::new(result, results);
        results.iter().map(result).collect()
    };
    let points = rows.iter().map(|row| PointJson {
        load: known(row.load),
        results: row.results.iter().flat_map(of_scheduler).collect(),
    });
    let args = compared.args;
    let loads: Vec<_> = rows.iter().map(|row| row.load).collect();
    let mut scenario = match &compared.source {
        Source::Synthetic(requests) => {
            let mut scenario = scenario::record(
                requests,
                &compared.strategies,
                compared.schedulers[0],
                compared.estimates,
            );
            scenario["load"] = loads.into();
            let (option, value) = args.service.record();
            scenario[option] = value;
            scenario["warmup"] = WARMUP_FRACTION.into();
            scenario["jobs"] = args.jobs.unwrap_or(JOBS_DEFAULT).into();
            scenario
        }
        Source::Log(source, log) => {
            let mut scenario = scenario::record_log(
                source,
                compared.machine,
                &compared.strategies,
                compared.estimates,
            );
            if log.load.is_some() {
                scenario["log-load"] = loads.into();
            }
            scenario
        }
    };
    scenario["scheduler"] = compared.scheduler_names().into();
    scenario["replications"] = compared.replications.into();
    scenario["slowdown-threshold"] = args.slowdown_threshold.into();
    let picture = compared.picture_path().filter(|_| incomplete.is_none());
    let picture = picture.map(Path::to_string_lossy);
    let content = CompareContent {
        picture: picture.map(Cow::into_owned),
        points: points.collect(),
        log: match &compared.source {
            Source::Log(_, log) => Some(LogJson::new(log)),
            Source::Synthetic(_) => None,
        },
    };
    Ok(Document::new(scenario, args.seed, incomplete, content).write(output)?)
}
