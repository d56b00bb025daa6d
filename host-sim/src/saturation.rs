//! `saturation`: what part of the processors a strategy can keep in use when jobs always wait,
//! averaged from the arrival of the first measured job to that of the last. All strategies get the
//! same jobs in the same order.

use std::io::Write;
use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{Arg, Args};
use comfy_table::CellAlignment;
use schemars::JsonSchema;
use serde::Serialize;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::file::{self, ReplaceArgs};
use crate::map::PictureFile;
use crate::plot::{Measured, Picture, Point, Scale, Series};
use crate::progress::Bar;
use crate::report::{self, Document, cell, summaries, table, trimmed};
use crate::settings::{self, FileArgs, Format, FormatArgs, Given, Takes, ThreadsArgs, only};
use crate::sweep;
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment::{Experiment, StrategyResult};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::parameters;
use meshalloc_sim::results::StrategySummary;
use meshalloc_sim::scenario::StrategyChoice;
use meshalloc_sim::wording::counted;
use meshalloc_sim::workload::{
    EstimateModel, SharedLogs, Synthetic, TimeUnit, WorkDistribution, Workload,
};

/// Jobs that wait at all times by default: schedulers that look for jobs that fit need some.
const BACKLOG_DEFAULT: &str = "100";

/// What to run.
#[derive(Args, Clone, Debug)]
pub(crate) struct SaturationArgs {
    #[command(flatten)]
    file: FileArgs,

    #[command(flatten)]
    settings: Given<Self>,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    threads: ThreadsArgs,

    /// Also draw the utilization of each strategy (SVG); the folder is made if it does not exist
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    #[command(flatten)]
    replace: ReplaceArgs,
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
            "backlog",
            "estimates",
            "warmup",
            "jobs",
            "replications",
            "until-abs-error",
            "max-replications",
            "seed",
        ];
        let arg = only(&keys, arg)?;
        Some(match arg.get_long()? {
            "strategy" => arg.help(
                "Allocation strategies, separated by commas, or all that serve the machine [default: \
                 all]",
            ),
            "backlog" => arg.help(
                "Jobs that wait at all times, 1 to 1000; a new job arrives as soon as fewer wait \
                 [default: 100]",
            ),
            "jobs" => arg.help(
                "Jobs in one replication, also those that are not measured [default: 40000]",
            ),
            "shape" => arg.help(
                "The rule that turns a number of processors into a shape, with --processors: \
                 near-square, near-cubic, power-of-two, flat, drawn:DISTRIBUTION or chips; `host-sim \
                 list` shows them [default: near-square on a two-dimensional mesh, else near-cubic; \
                 with --machine: chips]",
            ),
            "max-replications" => arg
                .requires("until-abs-error")
                .help("The most replications with --until-abs-error, at least 10 [default: 100]"),
            _ => arg,
        })
    }
}

/// What `saturation` adds to a document.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SaturationContent {
    /// One for each strategy.
    results: Vec<StrategySummary>,
}

pub(crate) fn columns() -> Columns {
    Columns::of_runs::<StrategySummary>(settings::takes::<SaturationArgs>, &[])
}

pub(crate) fn saturation(args: &SaturationArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let given = args.settings.clone();
    let given = given.about("saturation", "backlog", BACKLOG_DEFAULT);
    let (mut settings, origin) = given.over(args.file.path())?;
    settings.strategy.get_or_insert(vec![StrategyChoice::All]);
    let resolved = settings.resolve_of(origin)?;
    let settings = &resolved.settings;
    let files = [
        ("--scenario", args.file.path()),
        ("--output", args.output.as_deref()),
    ];
    file::spare(&settings.files(), &files)?;
    let file = args.output.as_deref();
    let file = file.map(|path| PictureFile::open(path, args.replace));
    let file = file.transpose()?;
    let plan = resolved.experiment(&SharedLogs::default())?;
    let bar = Bar::interruptible()?;
    let threads = args.threads.count;
    let ran = sweep::run_here(&[&plan], threads, &InProcessBackends::default, &bar);
    bar.clear();
    let (mut results, incomplete) = ran?;
    let results = results.remove(0);
    let drawn = file.as_ref().filter(|_| incomplete.is_none());
    let drawn = drawn.map(|file| file.draw(&picture(&plan, &results)).map(|()| file));
    let drawn = drawn.transpose();
    match args.format.get() {
        Format::Table => {
            write_table(&plan, &results, output)?;
            if let Ok(Some(file)) = &drawn {
                writeln!(output, "{}", file.line("picture"))?;
            }
            if let Some(incomplete) = &incomplete {
                let count = results.first().map_or(0, |result| result.runs.len());
                let line = report::incomplete_line(incomplete, &count.to_string());
                writeln!(output, "{line}")?;
            }
        }
        Format::Json => {
            let results = summaries(&results).collect();
            let content = SaturationContent { results };
            let document =
                Document::new(settings.record(), plan.seed, incomplete.as_ref(), content);
            document.write(output)?;
        }
        Format::Csv => {
            let rows = summaries(&results).map(|row| (settings.record(), row));
            columns().runs(rows, &mut *output)?;
        }
    }
    if let Some(incomplete) = incomplete {
        return Err(Failure::Incomplete(incomplete));
    }
    let drawn = drawn.map_err(|failure| failure.after_results(&"--output"));
    drawn.map(|_| ())
}

fn parameters(plan: &Experiment) -> String {
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
        "{}, {}, {}, {} a run, seed {}\n{}, {}{}",
        report::machine_text(plan),
        names::scheduler_text(plan.scheduler, TimeUnit::Second),
        plan.backlog
            .map_or_else(String::new, parameters::backlog_text),
        counted(plan.jobs, "job"),
        plan.seed,
        parameters::requests_text(requests),
        parameters::service_text(service),
        parameters::estimates_text(*estimates, EstimateModel::Perfect)
    )
}

fn sorted(results: &[StrategyResult]) -> Vec<&StrategyResult> {
    let mut sorted: Vec<_> = results.iter().collect();
    let mean = |result: &StrategyResult| {
        let estimate = result.metrics[Metric::Utilization];
        estimate.map_or(f64::NEG_INFINITY, |estimate| estimate.mean)
    };
    sorted.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
    sorted
}

fn picture(plan: &Experiment, results: &[StrategyResult]) -> Picture {
    let series = sorted(results).into_iter().map(|result| Series {
        name: result.strategy.to_string(),
        points: vec![Point {
            x: 0.0,
            y: report::measured(result, Metric::Utilization, 1.0).map(|y| Measured {
                saturated: false,
                ..y
            }),
        }],
    });
    Picture {
        title: "Saturation utilization".to_owned(),
        subtitle: parameters(plan).replace('\n', " "),
        x_label: "strategy".to_owned(),
        x_scale: Scale::Categories(vec![plan.machine.to_string()]),
        y_label: Metric::Utilization.label(TimeUnit::Second),
        series: series.collect(),
        ..Picture::default()
    }
}

const BAR: usize = 16;

fn write_table(
    plan: &Experiment,
    results: &[StrategyResult],
    output: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(output, "{}\n", parameters(plan))?;
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
    if let Some(note) = report::interval_note(results) {
        writeln!(output, "{note}")?;
    }
    for line in report::legend(results.iter()) {
        writeln!(output, "{line}")?;
    }
    for result in results {
        let stop = report::stop_text(result, plan.replications);
        for line in stop.into_iter().chain(report::refused_texts(result)) {
            writeln!(output, "{line}")?;
        }
    }
    Ok(())
}
