//! `saturation`: what part of the processors a strategy can keep in use when jobs always wait,
//! averaged from the arrival of the first measured job to that of the last. All strategies get the
//! same jobs in the same order.

use std::io::Write;

use clap::{Arg, Args};
use comfy_table::CellAlignment;

use crate::failure::Failure;
use crate::measured::Measured;
use crate::report;
use crate::settings::{FileArgs, Given, Takes, only};
use crate::study::Study;
use crate::study::command::{Preset, StudyArgs};
use crate::tables::{self, cell, table, trimmed};
use meshalloc_sim::experiment::StrategyResult;
use meshalloc_sim::metrics::Metric;

/// Jobs that wait at all times by default: schedulers that look for jobs that fit need some.
const BACKLOG_DEFAULT: &str = "100";

/// What to run.
#[derive(Args, Clone, Debug)]
pub(crate) struct SaturationArgs {
    #[command(flatten)]
    settings: Given<Self>,

    #[command(flatten)]
    file: FileArgs,

    #[command(flatten)]
    study: StudyArgs,
}

/// Jobs of distributions, with service times.
impl Takes for SaturationArgs {
    fn take(arg: Arg) -> Option<Arg> {
        let keys = [
            "mesh",
            "torus",
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
                "Jobs in one replication, with those before measuring begins [default: 40000]",
            ),
            "shape" => arg.help(
                "The rule that turns a number of processors into a shape, with --processors: \
                 near-square, near-cubic, power-of-two, flat, drawn:DISTRIBUTION or chips; `host-sim \
                 list` shows them [default: near-square on a two-dimensional mesh, else near-cubic; \
                 if the machine gives only certain slices: chips]",
            ),
            "max-replications" => arg
                .requires("until-abs-error")
                .help("The most replications with --until-abs-error, at least 10 [default: 100]"),
            _ => arg,
        })
    }
}

pub(crate) fn saturation(args: &SaturationArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let given = args.settings.clone();
    let given = given.about("saturation", "backlog", BACKLOG_DEFAULT);
    let mut given = given.over(args.file.path())?;
    given.default("saturation", "strategy", &["all"]);
    let preset = Preset {
        fill: &|_| Ok(()),
        draw: Some(Metric::Utilization),
        table: Some(write_table),
        answer: None,
        single: None,
    };
    args.study
        .carry_out(given, args.file.path(), &preset, output)
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

const BAR: usize = 16;

/// All strategies, the best first.
fn write_table(study: &Study, measured: &Measured, output: &mut dyn Write) -> Result<(), Failure> {
    let (plan, results) = (&study.points[0].experiment, &measured.results[0]);
    writeln!(output, "{}\n", study.heading())?;
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
            tables::bar(share, BAR),
        ]);
    }
    writeln!(output, "{}", trimmed(&table))?;
    if let Some(note) = report::interval_note(results) {
        writeln!(output, "{note}")?;
    }
    for line in tables::legend(results.iter()) {
        writeln!(output, "{line}")?;
    }
    let is_unknown = |result: &StrategyResult| result.metrics[Metric::Utilization].is_none();
    if results.iter().any(is_unknown) {
        writeln!(
            output,
            "-: the jobs ended before any left the backlog; use more --jobs."
        )?;
    }
    for result in results {
        let stop = report::stop_text(result, plan.replications);
        for line in stop.into_iter().chain(report::refused_texts(result)) {
            writeln!(output, "{line}")?;
        }
    }
    if let Some(incomplete) = &measured.incomplete {
        let count = results.first().map_or(0, |result| result.runs.len());
        let line = report::incomplete_line(incomplete, &count.to_string());
        writeln!(output, "{line}")?;
    }
    Ok(())
}
