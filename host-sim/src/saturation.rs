//! `saturation`: what part of the processors a strategy can keep in use when jobs always wait, as a table or JSON.
//!
//! The utilization is averaged over the time from the arrival of the first measured job to that of the last. All strategies
//! get the same jobs in the same order.

use std::io::Write;
use std::num::NonZero;

use clap::{Arg, Args};
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::{self, Failure, Incomplete};
use crate::identity::hash;
use crate::progress::Bar;
use crate::report::{self, Document, cell, table, trimmed};
use crate::settings::{Format, FormatArgs, Given, Takes, ThreadsArgs, only};
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment::{self, Experiment, Replications, Stop, StrategyResult};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::parameters;
use meshalloc_sim::results::{MetricSummaries, MetricSummary, ServedSummary};
use meshalloc_sim::scenario::{Origin, REPLICATIONS_MAX_DEFAULT, Resolved, StrategyChoice};
use meshalloc_sim::statistics::Sampling;
use meshalloc_sim::wording::counted;
use meshalloc_sim::workload::{
    EstimateModel, SharedLogs, Synthetic, TimeUnit, WorkDistribution, Workload,
};

/// Jobs that wait at all times by default. First come, first served needs 1 only; others
/// look for jobs that fit among those that wait.
const BACKLOG_DEFAULT: NonZero<u32> = NonZero::new(100).unwrap();

/// The longest backlog. A controller in this process has room for as many beside the jobs that run.
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
/// When the workload cannot be used, a strategy does not serve the mesh, or the report cannot be written.
pub(crate) fn saturation(args: &SaturationArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let resolved = args.resolved()?;
    let plan = resolved.experiment(&SharedLogs::default())?;
    let bar = Bar::interruptible()?;
    let backends = || InProcessBackends::default();
    let results = experiment::run_parallel(&plan, args.threads.count, &backends, &bar);
    bar.clear();
    let (results, incomplete) = failure::complete_of_one(results)?;
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
            let mut scenario = resolved.settings.record();
            scenario["backlog"] = args.backlog.get().into();
            if let Some(target) = args.until_abs_error {
                scenario["until_abs_error"] = target.into();
            }
            write_json(scenario, plan.seed, &results, incomplete.as_ref(), output)?;
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
        "decision hash",
    ];
    let mut table = table(headers);
    for result in results {
        table.add_row([
            result.strategy.to_string(),
            cell(result, Metric::Utilization),
            cell(result, Metric::InternalFragmentation),
            result.runs.len().to_string(),
            hash(result.decision_hash),
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
    scenario: serde_json::Value,
    seed: u64,
    results: &[StrategyResult],
    incomplete: Option<&Incomplete>,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let result = |result: &StrategyResult| {
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
    };
    let content = SaturationContent {
        results: results.iter().map(result).collect(),
    };
    Ok(Document::new(scenario, seed, incomplete, content).write(output)?)
}
