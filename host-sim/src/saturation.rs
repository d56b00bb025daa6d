//! `saturation`: what part of the processors a strategy can keep in use when jobs always wait, as a
//! table or JSON.
//!
//! The utilization is averaged over the time from the arrival of the first measured job to that of
//! the last. All strategies get the same jobs in the same order.

use std::io::Write;
use std::num::NonZero;
use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{Arg, Args};
use comfy_table::CellAlignment;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::columns::Columns;
use crate::failure::{self, Failure, Incomplete};
use crate::file;
use crate::identity::hash;
use crate::map::PictureFile;
use crate::plot::{self, Measured, Picture, Point, Scale, Series};
use crate::progress::Bar;
use crate::report::{self, Document, cell, table, trimmed};
use crate::settings::{self, Format, FormatArgs, Given, Takes, ThreadsArgs, only};
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment::{self, Experiment, Replications, Stop, StrategyResult};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::parameters;
use meshalloc_sim::results::{MetricSummaries, MetricSummary, ServedSummary};
use meshalloc_sim::scenario::{
    Origin, REPLICATIONS_MAX_DEFAULT, Resolved, Scenario, StrategyChoice,
};
use meshalloc_sim::statistics::Sampling;
use meshalloc_sim::wording::counted;
use meshalloc_sim::workload::{
    EstimateModel, SharedLogs, Synthetic, TimeUnit, WorkDistribution, Workload,
};

/// Jobs that wait at all times by default. First come, first served needs 1 only; others
/// look for jobs that fit among those that wait.
const BACKLOG_DEFAULT: NonZero<u32> = NonZero::new(100).unwrap();

/// The longest backlog. A controller in this process has room for this and for all running jobs.
const BACKLOG_MAX: u32 = 1_000;

/// What to run.
#[derive(Args, Clone, Debug)]
pub(crate) struct SaturationArgs {
    #[command(flatten)]
    settings: Given<Self>,

    #[command(flatten)]
    format: FormatArgs,

    /// Jobs that wait at all times; a new one arrives as soon as fewer do
    #[arg(long, value_name = "COUNT", value_parser = backlog, allow_negative_numbers = true, default_value_t = BACKLOG_DEFAULT)]
    backlog: NonZero<u32>,

    /// Replicate until both arms of every 95 % interval are at most this part of the processors
    /// long, such as 0.005
    #[arg(long, value_name = "FRACTION", value_parser = names::fraction, allow_negative_numbers = true, conflicts_with = "replications")]
    until_abs_error: Option<f64>,

    #[command(flatten)]
    threads: ThreadsArgs,

    /// Also draw the utilization of each strategy (SVG); the folder is made if it does not exist
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

/// Jobs of distributions, with service times.
impl Takes for SaturationArgs {
    fn take(arg: Arg) -> Option<Arg> {
        let keys = [
            "mesh",
            "wrap",
            "torus",
            "cube",
            "machine",
            "side-lengths",
            "side-range",
            "dims",
            "radices",
            "processors",
            "mix",
            "mix-drop",
            "shape",
            "strategy",
            "scheduler",
            "service-mean",
            "service",
            "estimates",
            "warmup",
            "jobs",
            "replications",
            "max-replications",
            "seed",
        ];
        let arg = only(&keys, arg)?;
        Some(match arg.get_long()? {
            "strategy" => arg.help(
                "Allocation strategies, separated by commas, or all that serve the machine [default: \
                 all]",
            ),
            "jobs" => arg.help(
                "Jobs in one replication, those not measured included [default: 40000]",
            ),
            "shape" => arg.help(
                "The rule that gives a number of processors a shape, with --processors: \
                 near-square, near-cubic, power-of-two, flat, drawn:DISTRIBUTION or chips; `host-sim \
                 list` shows them [default: near-square on a two-dimensional mesh, else near-cubic; \
                 with --machine: chips]",
            ),
            "max-replications" => arg
                .requires("until_abs_error")
                .help("The most replications with --until-abs-error [default: 100]"),
            _ => arg,
        })
    }
}

/// What `saturation` adds to a document.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SaturationContent {
    /// One for each strategy.
    results: Vec<SaturationResult>,
}

/// The saturation of one strategy.
#[derive(Serialize, JsonSchema)]
struct SaturationResult {
    /// The strategy with its parameters.
    strategy: String,
    metrics: MetricSummaries,
    /// The number of replications.
    replications: usize,
    /// Why there were no more: `fixed`, `error-reached`, `cap-reached` or `incomplete`.
    stop: &'static str,
    #[serde(flatten)]
    served: ServedSummary,
    /// All decisions as one number, hexadecimal.
    decision_hash: String,
}

impl SaturationResult {
    fn new(result: &StrategyResult) -> Self {
        let estimate = |metric| {
            let estimate = MetricSummary::new(result.metrics[metric], result.values(metric));
            (metric, estimate)
        };
        let metrics = [Metric::Utilization, Metric::InternalFragmentation].map(estimate);
        SaturationResult {
            strategy: result.strategy.to_string(),
            metrics: MetricSummaries(metrics.into()),
            replications: result.runs.len(),
            stop: result.stop.name(),
            served: ServedSummary::new(result),
            decision_hash: hash(result.decision_hash),
        }
    }
}

/// The columns of `saturation --format csv`.
pub(crate) fn columns() -> Columns {
    let more = [
        ("backlog", "Jobs that wait at all times."),
        ("until_abs_error", "The error at which replications end."),
    ];
    Columns::of_runs::<SaturationResult>(settings::takes::<SaturationArgs>, &more)
}

fn backlog(text: &str) -> Result<NonZero<u32>, String> {
    let expected = format!("a whole number, 1 to {BACKLOG_MAX}");
    names::value(text, &expected, |count: &NonZero<u32>| {
        count.get() <= BACKLOG_MAX
    })
}

/// Measures and reports.
///
/// # Errors
///
/// When the workload cannot be used, a strategy does not serve the mesh, or the report cannot be
/// written.
pub(crate) fn saturation(args: &SaturationArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let resolved = args.resolved()?;
    let settings = &resolved.settings;
    file::spare(&settings.files(), &[("--output", args.output.as_deref())])?;
    let file = args.output.as_deref().map(PictureFile::open).transpose()?;
    let plan = resolved.experiment(&SharedLogs::default())?;
    let bar = Bar::interruptible()?;
    let backends = || InProcessBackends::default();
    let results = experiment::run_parallel(&plan, args.threads.count, &backends, &bar);
    bar.clear();
    let (results, incomplete) = failure::complete_of_one(results)?;
    if let (Some(file), None) = (file, &incomplete) {
        file.write(&plot::svg(&picture(args, &plan, &results))?.to_string())?;
    }
    match args.format.get() {
        Format::Table => {
            write_table(args, &plan, &results, output)?;
            if let Some(incomplete) = &incomplete {
                let count = results.first().map_or(0, |result| result.runs.len());
                let line = report::incomplete_line(incomplete, &count.to_string());
                writeln!(output, "{line}")?;
            }
        }
        Format::Json => {
            let scenario = args.record(settings);
            write_json(scenario, plan.seed, &results, incomplete.as_ref(), output)?;
        }
        Format::Csv => {
            let row = |result| (args.record(settings), SaturationResult::new(result));
            columns().runs(results.iter().map(row), &mut *output)?;
        }
    }
    output.flush()?;
    incomplete.map_or(Ok(()), |incomplete| Err(Failure::Incomplete(incomplete)))
}

impl SaturationArgs {
    fn resolved(&self) -> Result<Resolved, String> {
        let mut settings = self.settings.scenario();
        let most = settings.max_replications.take();
        settings.strategy.get_or_insert(vec![StrategyChoice::All]);
        // Any rate gives the same run: jobs arrive when fewer than the backlog wait.
        settings.traffic_ratio = Some(1.0);
        let mut resolved = settings.resolve_of(Origin::CommandLine)?;
        let Resolved { settings, plan, .. } = &mut resolved;
        settings.traffic_ratio = None;
        plan.backlog = Some(self.backlog);
        if let Some(target) = self.until_abs_error {
            let max = most.unwrap_or(REPLICATIONS_MAX_DEFAULT);
            settings.replications = None;
            settings.max_replications = Some(max);
            plan.replications = Replications::UntilAbsoluteError { target, max };
        }
        Ok(resolved)
    }

    /// What a result records.
    fn record(&self, settings: &Scenario) -> Value {
        let mut scenario = settings.record();
        scenario["backlog"] = self.backlog.get().into();
        if let Some(target) = self.until_abs_error {
            scenario["until_abs_error"] = target.into();
        }
        scenario
    }

    /// All parameters in words.
    fn parameters(&self, plan: &Experiment) -> String {
        let Workload::Synthetic(Synthetic {
            requests,
            work: WorkDistribution::Service(service),
            estimates,
            ..
        }) = &plan.workload
        else {
            return String::new();
        };
        format!(
            "{}, {}, {} in the queue at all times, {} a run, seed {}\n{}, service {} s{}",
            report::machine_text(plan),
            names::scheduler_text(plan.scheduler, TimeUnit::Second),
            counted(self.backlog.get(), "job"),
            counted(plan.jobs, "job"),
            plan.seed,
            parameters::requests_text(requests),
            service,
            parameters::estimates_text(*estimates, EstimateModel::Perfect)
        )
    }
}

/// Strategies by utilization, the highest first.
fn sorted(results: &[StrategyResult]) -> Vec<&StrategyResult> {
    let mut sorted: Vec<_> = results.iter().collect();
    let mean = |result: &StrategyResult| {
        let estimate = result.metrics[Metric::Utilization];
        estimate.map_or(f64::NEG_INFINITY, |estimate| estimate.mean)
    };
    sorted.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
    sorted
}

/// A bar for each strategy.
fn picture(args: &SaturationArgs, plan: &Experiment, results: &[StrategyResult]) -> Picture {
    let series = sorted(results).into_iter().map(|result| Series {
        name: result.strategy.to_string(),
        points: vec![Point {
            x: 0.0,
            y: report::measured(result, Metric::Utilization).map(|y| Measured {
                saturated: false,
                ..y
            }),
        }],
    });
    Picture {
        title: "Saturation utilization".to_owned(),
        subtitle: args.parameters(plan).replace('\n', " "),
        x_label: "strategy".to_owned(),
        x_scale: Scale::Categories(vec![plan.machine.to_string()]),
        y_label: Metric::Utilization.label(TimeUnit::Second),
        series: series.collect(),
        ..Picture::default()
    }
}

/// The width of the bars in the table.
const BAR: usize = 16;

fn write_table(
    args: &SaturationArgs,
    plan: &Experiment,
    results: &[StrategyResult],
    output: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(output, "{}\n", args.parameters(plan))?;
    let headers = [
        "strategy",
        "saturation\nutilization (%)",
        "int. frag-\nment. (%)",
        "runs",
        "",
    ];
    let mut table = table(headers);
    if let Some(bars) = table.column_mut(headers.len() - 1) {
        bars.set_cell_alignment(CellAlignment::Left);
    }
    for result in sorted(results) {
        let share = result.metrics[Metric::Utilization].map_or(0.0, |estimate| estimate.mean);
        table.add_row([
            result.strategy.to_string(),
            cell(result, Metric::Utilization),
            cell(result, Metric::InternalFragmentation),
            result.runs.len().to_string(),
            report::bar(share, BAR),
        ]);
    }
    writeln!(output, "{}", trimmed(&table))?;
    if results.iter().any(|result| result.runs.len() > 1) {
        writeln!(output, "{}", Sampling::Independent.interval_meaning())?;
    }
    for line in report::legend(results.iter()) {
        writeln!(output, "{line}")?;
    }
    for result in results {
        let name = result.strategy;
        if let (Stop::CapReached, Replications::UntilAbsoluteError { target, max }) =
            (result.stop, plan.replications)
        {
            writeln!(
                output,
                "{name}: still above the error of {target} after {}, the cap.",
                counted(max, "replication")
            )?;
        }
        for (reason, count) in result.refused.iter() {
            writeln!(
                output,
                "{name}: {} refused: {}.",
                counted(count, "job"),
                reason.name()
            )?;
        }
    }
    Ok(())
}

fn write_json(
    scenario: Value,
    seed: u64,
    results: &[StrategyResult],
    incomplete: Option<&Incomplete>,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let content = SaturationContent {
        results: results.iter().map(SaturationResult::new).collect(),
    };
    Ok(Document::new(scenario, seed, incomplete, content).write(output)?)
}
