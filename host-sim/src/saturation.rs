//! `saturation`: what part of the processors a strategy can keep in use when jobs always wait, as a table or JSON.
//!
//! The utilization is averaged over the time from the arrival of the first measured job to that of the last. All strategies
//! get the same jobs in the same order.

use std::io::Write;
use std::num::NonZero;

use clap::Args;
use meshalloc::SchedulerKind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::backend::InProcessBackends;
use crate::experiment::{
    self, Experiment, Measure, REPLICATIONS_MIN, Replications, Stop, StrategyResult,
    WARMUP_FRACTION,
};
use crate::failure::{self, Failure, Incomplete};
use crate::identity::hash;
use crate::metrics::{Metric, SLOWDOWN_THRESHOLD};
use crate::names;
use crate::progress::Bar;
use crate::report::{self, Document, EstimateJson, MetricsJson, ServedJson, cell, table, trimmed};
use crate::scenario::{
    self, EstimateArgs, Format, RequestArgs, SEED_DEFAULT, ServiceArgs, StrategyChoice, ThreadsArgs,
};
use crate::statistics::Sampling;
use crate::wording::counted;
use crate::workload::{
    Arrivals, EstimateModel, Rate, Requests, Synthetic, TimeUnit, WorkDistribution, Workload,
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
    requests: RequestArgs,

    #[command(flatten)]
    estimates: EstimateArgs,

    /// Allocation strategies, separated by commas, or all: those that serve the machine
    #[arg(long, value_name = "NAME,...", value_parser = scenario::strategy_choice, value_delimiter = ',', default_value = "all")]
    strategy: Vec<StrategyChoice>,

    /// Which waiting job may try
    #[arg(long, value_name = "NAME", value_parser = names::scheduler, default_value = "fcfs")]
    scheduler: SchedulerKind,

    #[command(flatten)]
    service: ServiceArgs,

    /// Jobs that wait at all times; a new one arrives as soon as fewer do
    #[arg(long, value_name = "COUNT", value_parser = backlog, allow_negative_numbers = true, default_value_t = BACKLOG_DEFAULT)]
    backlog: NonZero<u32>,

    /// Jobs in one replication, the first 5 % of which are not measured
    #[arg(long, value_name = "COUNT", value_parser = names::jobs, allow_negative_numbers = true, default_value = "40000")]
    jobs: u32,

    /// Runs of each strategy, each with new jobs [default: 10]
    #[arg(long, value_name = "COUNT", value_parser = names::replications::<NonZero<u32>>, allow_negative_numbers = true, conflicts_with_all = ["until_abs_error", "max_replications"])]
    replications: Option<NonZero<u32>>,

    /// Replicate until both arms of every 95 % interval are at most this part of the processors
    /// long, such as 0.005
    #[arg(long, value_name = "FRACTION", value_parser = names::fraction, allow_negative_numbers = true)]
    until_abs_error: Option<f64>,

    /// The most replications with --until-abs-error [default: 100]
    #[arg(long, value_name = "COUNT", value_parser = names::replications::<NonZero<u32>>, allow_negative_numbers = true, requires = "until_abs_error")]
    max_replications: Option<NonZero<u32>>,

    /// What all random numbers derive from, 0 to 2^64-1; the same seed gives the same jobs
    #[arg(long, value_name = "NUMBER", value_parser = scenario::seed, allow_negative_numbers = true, default_value_t = SEED_DEFAULT)]
    seed: u64,

    #[command(flatten)]
    threads: ThreadsArgs,

    /// How results are written: table or json
    #[arg(long, value_name = "FORMAT", value_parser = scenario::format, default_value = "table")]
    format: Format,
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
    metrics: MetricsJson,
    /// The number of replications.
    replications: usize,
    /// Why there were no more: `fixed`, `error-reached`, `cap-reached` or `incomplete`.
    stop: &'static str,
    #[serde(flatten)]
    served: ServedJson,
    /// All decisions as one number, hexadecimal.
    decision_hash: String,
}

fn backlog(text: &str) -> Result<NonZero<u32>, String> {
    let expected = format!("a whole number, 1 to {BACKLOG_MAX}");
    names::value(text, &expected, |count: &NonZero<u32>| {
        count.get() <= BACKLOG_MAX
    })
}

const REPLICATIONS_DEFAULT: NonZero<u32> = NonZero::new(REPLICATIONS_MIN).unwrap();
const REPLICATIONS_MAX_DEFAULT: NonZero<u32> = NonZero::new(100).unwrap();

/// Measures and reports.
///
/// # Errors
///
/// When the workload cannot be used, a strategy does not serve the mesh, or the report cannot be written.
pub(crate) fn saturation(args: &SaturationArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let requests = args.requests.requests()?;
    let experiment = args.experiment(requests)?;
    let bar = Bar::interruptible()?;
    let backends = || InProcessBackends::default();
    let results = experiment::run_parallel(&experiment, args.threads.count, &backends, &bar);
    bar.clear();
    let (results, incomplete) = failure::complete_of_one(results)?;
    match args.format {
        Format::Table => {
            write_table(args, &requests, &results, output)?;
            if let Some(incomplete) = &incomplete {
                let count = results.first().map_or(0, |result| result.runs.len());
                let line = report::incomplete_line(incomplete, &count.to_string());
                writeln!(output, "{line}")?;
            }
        }
        Format::Json => {
            let incomplete = incomplete.as_ref();
            write_json(args, &requests, &experiment, &results, incomplete, output)?;
        }
    }
    output.flush()?;
    incomplete.map_or(Ok(()), |incomplete| Err(Failure::Incomplete(incomplete)))
}

impl SaturationArgs {
    fn experiment(&self, requests: Requests) -> Result<Experiment, String> {
        let workload = Synthetic {
            requests,
            work: WorkDistribution::Service(self.service.distribution()),
            // Any rate gives the same run: jobs arrive when fewer than the backlog wait.
            arrivals: Arrivals::Poisson(Rate::Traffic(1.0)),
            estimates: self.estimates.model,
        };
        Ok(Experiment {
            machine: requests.machine(),
            strategies: scenario::strategies(requests.machine(), Some(&self.strategy), &[])?,
            scheduler: self.scheduler,
            workload: Workload::Synthetic(workload),
            jobs: self.jobs,
            measure: Measure::Arrivals {
                warmup_fraction: WARMUP_FRACTION,
            },
            backlog: Some(self.backlog),
            slowdown_threshold: SLOWDOWN_THRESHOLD,
            replications: self.repeat(),
            seed: self.seed,
        })
    }

    fn repeat(&self) -> Replications {
        match self.until_abs_error {
            None => Replications::Fixed(self.replications.unwrap_or(REPLICATIONS_DEFAULT).get()),
            Some(target) => Replications::UntilAbsoluteError {
                target,
                max: self
                    .max_replications
                    .unwrap_or(REPLICATIONS_MAX_DEFAULT)
                    .get(),
            },
        }
    }

    /// All parameters in words.
    fn parameters(&self, requests: &Requests) -> String {
        format!(
            "{}, {}, {} in the queue at all times, {} a run, seed {}\n{}, service {} s{}",
            requests.machine(),
            names::scheduler_text(self.scheduler, TimeUnit::Second),
            counted(self.backlog.get(), "job"),
            counted(self.jobs, "job"),
            self.seed,
            report::requests_text(requests),
            self.service.distribution(),
            report::estimates_text(self.estimates.model, EstimateModel::Perfect)
        )
    }
}

fn write_table(
    args: &SaturationArgs,
    requests: &Requests,
    results: &[StrategyResult],
    output: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(output, "{}\n", args.parameters(requests))?;
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
            (result.stop, args.repeat())
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
    args: &SaturationArgs,
    requests: &Requests,
    experiment: &Experiment,
    results: &[StrategyResult],
    incomplete: Option<&Incomplete>,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let result = |result: &StrategyResult| {
        let estimate = |metric| {
            let estimate = EstimateJson::new(result.metrics[metric], result.values(metric));
            (metric, estimate)
        };
        let metrics = [Metric::Utilization, Metric::InternalFragmentation].map(estimate);
        SaturationResult {
            strategy: result.strategy.to_string(),
            metrics: MetricsJson(metrics.into()),
            replications: result.runs.len(),
            stop: report::stop_name(result.stop),
            served: ServedJson::new(result),
            decision_hash: hash(result.decision_hash),
        }
    };
    let mut scenario = scenario::record(
        requests,
        &experiment.strategies,
        args.scheduler,
        args.estimates.model,
    );
    let (option, value) = args.service.record();
    scenario[option] = value;
    scenario["backlog"] = args.backlog.get().into();
    scenario["warmup"] = WARMUP_FRACTION.into();
    scenario["jobs"] = args.jobs.into();
    match experiment.replications {
        Replications::Fixed(count) => scenario["replications"] = count.into(),
        Replications::UntilRelativeError { target, max }
        | Replications::UntilAbsoluteError { target, max } => {
            scenario["until-abs-error"] = target.into();
            scenario["max-replications"] = max.into();
        }
    }
    let content = SaturationContent {
        results: results.iter().map(result).collect(),
    };
    Ok(Document::new(scenario, args.seed, incomplete, content).write(output)?)
}
