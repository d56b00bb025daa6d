//! `saturation`: the utilization with a queue that never runs empty, as a table or JSON.

use std::io::Write;
use std::num::NonZero;

use clap::Args;
use meshalloc::{SchedulerKind, StrategyKind};
use serde_json::{Map, Value, json};

use super::{BACKLOG_DEFAULT, Repeat, Saturation, SaturationResult};
use crate::backend;
use crate::cli::Failure;
use crate::experiment::{Stop, WARMUP_FRACTION};
use crate::names;
use crate::report::{self, PROGRAM, VERSION, number, table, trimmed};
use crate::run::Bar;
use crate::scenario::{self, Format, RequestArgs, SEED_DEFAULT};
use crate::simulation::Measured;
use crate::statistics::Estimate;
use crate::workload::{Arrivals, JOBS_MAX, Rate, ServiceDistribution, Synthetic};

/// The longest backlog. A controller in this process has room for as many beside the jobs that run.
const BACKLOG_MAX: u32 = 1_000;

/// What to run; the defaults take some seconds.
#[derive(Args, Clone, Debug)]
pub(crate) struct SaturationArgs {
    #[command(flatten)]
    requests: RequestArgs,

    /// Allocation strategies, separated by commas, or all: those that serve the machine
    #[arg(long, value_name = "NAME,...", value_parser = choice, value_delimiter = ',', default_value = "all")]
    strategy: Vec<Choice>,

    /// Which waiting job may try
    #[arg(long, value_name = "NAME", value_parser = names::scheduler, default_value = "fcfs")]
    scheduler: SchedulerKind,

    /// Service time: exponential:MEAN or uniform:SHORTEST,LONGEST, in seconds
    #[arg(long, value_name = "DISTRIBUTION", value_parser = scenario::service, default_value = "exponential:10")]
    service: ServiceDistribution,

    /// Jobs that wait at all times; a new one arrives as soon as fewer do
    #[arg(long, value_name = "COUNT", value_parser = backlog, allow_negative_numbers = true, default_value_t = BACKLOG_DEFAULT)]
    backlog: NonZero<u32>,

    /// Jobs in one replication, the first 5 % of which are not measured
    #[arg(long, value_name = "COUNT", value_parser = names::count::<u32>, allow_negative_numbers = true, default_value = "40000")]
    jobs: u32,

    /// Runs of each strategy, each with new jobs [default: 8]
    #[arg(long, value_name = "COUNT", value_parser = replications, allow_negative_numbers = true, conflicts_with_all = ["until_abs_error", "max_replications"])]
    replications: Option<NonZero<u32>>,

    /// Replicate until every 95 % half-width is at most this part of the processors, such as 0.005
    #[arg(long, value_name = "FRACTION", value_parser = names::fraction, allow_negative_numbers = true)]
    until_abs_error: Option<f64>,

    /// The most replications with --until-abs-error [default: 100]
    #[arg(long, value_name = "COUNT", value_parser = replications, allow_negative_numbers = true, requires = "until_abs_error")]
    max_replications: Option<NonZero<u32>>,

    /// What all random numbers derive from, 0 to 2^64-1; the same seed gives the same jobs
    #[arg(long, value_name = "NUMBER", value_parser = scenario::seed, allow_negative_numbers = true, default_value_t = SEED_DEFAULT)]
    seed: u64,

    /// Threads that share the runs; their number does not change any result [default: all processors]
    #[arg(long, value_name = "COUNT", value_parser = names::threads)]
    threads: Option<NonZero<usize>>,

    /// How results are written: table or json
    #[arg(long, value_name = "FORMAT", value_parser = scenario::format, default_value = "table")]
    format: Format,
}

/// One word of `--strategy`.
#[derive(Clone, Copy, Debug)]
enum Choice {
    All,
    One(StrategyKind),
}

fn choice(text: &str) -> Result<Choice, String> {
    match text {
        "all" => Ok(Choice::All),
        name => names::strategy(name).map(Choice::One),
    }
}

fn replications(text: &str) -> Result<NonZero<u32>, String> {
    text.parse()
        .map_err(|_| "expected a whole number of at least 1".to_owned())
}

fn backlog(text: &str) -> Result<NonZero<u32>, String> {
    let count = text.parse::<NonZero<u32>>().ok();
    count
        .filter(|count| count.get() <= BACKLOG_MAX)
        .ok_or_else(|| format!("expected a whole number, 1 to {BACKLOG_MAX}"))
}

const REPLICATIONS_DEFAULT: NonZero<u32> = NonZero::new(8).unwrap();
const REPLICATIONS_MAX_DEFAULT: NonZero<u32> = NonZero::new(100).unwrap();

/// Measures and reports.
///
/// # Errors
///
/// When the workload cannot be used, a strategy does not serve the mesh, or the report cannot be written.
pub(crate) fn saturation(args: &SaturationArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let mut experiment = args.experiment()?;
    experiment.strategies = args.strategies(&experiment)?;
    let bar = Bar::new(None);
    let results = experiment.run(args.threads, &bar);
    bar.clear();
    let results = results.map_err(|error| error.to_string())?;
    match args.format {
        Format::Table => write_table(args, &experiment, &results, output),
        Format::Json => write_json(args, &experiment, &results, output),
    }
}

impl SaturationArgs {
    fn experiment(&self) -> Result<Saturation, String> {
        if self.jobs > JOBS_MAX {
            return Err(format!(
                "jobs is {} (expected at most {JOBS_MAX})",
                self.jobs
            ));
        }
        let repeat = match self.until_abs_error {
            None => Repeat::Fixed(self.replications.unwrap_or(REPLICATIONS_DEFAULT)),
            Some(target) => Repeat::UntilAbsoluteError {
                target,
                max: self.max_replications.unwrap_or(REPLICATIONS_MAX_DEFAULT),
            },
        };
        Ok(Saturation {
            workload: Synthetic {
                requests: self.requests.requests()?,
                service: self.service,
                // Any rate will do.
                arrivals: Arrivals::Poisson(Rate::Load(1.0)),
            },
            strategies: Vec::new(),
            scheduler: self.scheduler,
            backlog: self.backlog,
            measured: Measured {
                first: (f64::from(self.jobs) * WARMUP_FRACTION) as u32,
                end: self.jobs,
            },
            repeat,
            seed: self.seed,
        })
    }

    /// The strategies, each once.
    fn strategies(&self, experiment: &Saturation) -> Result<Vec<StrategyKind>, String> {
        let machine = experiment.workload.machine();
        let mut named = Vec::new();
        for &choice in &self.strategy {
            match choice {
                Choice::One(kind) => named.push(kind),
                Choice::All => {
                    let all = backend::serving(machine, self.scheduler, StrategyKind::built());
                    named.extend(all.map_err(|error| error.to_string())?);
                }
            }
        }
        scenario::strategies(machine, Some(&named), &[])
    }

    /// All parameters in words.
    fn parameters(&self, workload: &Synthetic) -> String {
        format!(
            "{}, {}, {} jobs wait at all times, {} jobs a run, seed {}\n{}, service {} s",
            workload.machine(),
            names::scheduler_text(self.scheduler),
            self.backlog,
            self.jobs,
            self.seed,
            report::requests_text(&workload.requests),
            self.service
        )
    }
}

fn write_table(
    args: &SaturationArgs,
    experiment: &Saturation,
    results: &[SaturationResult],
    output: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(output, "{}\n", args.parameters(&experiment.workload))?;
    let headers = [
        "strategy",
        "saturation\nutilization (%)",
        "int. frag-\nment. (%)",
        "runs",
        "decision hash",
    ];
    let percent = |estimate: &Option<Estimate>| match estimate {
        Some(estimate) => number(estimate, 100.0),
        None => "-".to_owned(),
    };
    let mut table = table(headers);
    for result in results {
        table.add_row([
            result.strategy.name().to_owned(),
            percent(&result.utilization),
            percent(&result.internal_fragmentation),
            result.runs.len().to_string(),
            report::hash(result.decision_hash),
        ]);
    }
    writeln!(output, "{}", trimmed(&table))?;
    if results.iter().any(|result| result.runs.len() > 1) {
        writeln!(output, "±: half-width of the 95 % confidence interval.")?;
    }
    for result in results {
        let name = result.strategy.name();
        if let (Stop::CapReached, Repeat::UntilAbsoluteError { target, max }) =
            (result.stop, experiment.repeat)
        {
            writeln!(
                output,
                "{name}: still above the error of {target} after {max} replications, the cap."
            )?;
        }
        for (reason, count) in result.refused.iter() {
            writeln!(output, "{name}: {count} jobs refused: {}.", reason.name())?;
        }
    }
    Ok(())
}

fn write_json(
    args: &SaturationArgs,
    experiment: &Saturation,
    results: &[SaturationResult],
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let estimate = |estimate: &Option<Estimate>| {
        json!({
            "mean": estimate.map(|estimate| estimate.mean),
            "ci95": estimate.and_then(|estimate| estimate.ci95),
            "replications": estimate.map_or(0, |estimate| estimate.replications),
        })
    };
    let result = |result: &SaturationResult| {
        let refused: Map<String, Value> = result
            .refused
            .iter()
            .map(|(reason, count)| (reason.name().to_owned(), count.into()))
            .collect();
        json!({
            "strategy": result.strategy.name(),
            "metrics": {
                "utilization": estimate(&result.utilization),
                "internal_fragmentation": estimate(&result.internal_fragmentation),
            },
            "replications": result.runs.len(),
            "stop": report::stop_name(result.stop),
            "refused": refused,
            "decision_hash": report::hash(result.decision_hash),
        })
    };
    let strategies: Vec<_> = experiment
        .strategies
        .iter()
        .map(|kind| kind.name())
        .collect();
    let mut scenario = json!({
        "strategy": strategies,
        "scheduler": names::scheduler_text(args.scheduler),
    });
    for (option, value) in names::machine_options(experiment.workload.machine()) {
        scenario[option] = value.into();
    }
    for (key, value) in scenario::distributions(&experiment.workload.requests) {
        scenario[key] = value.into();
    }
    scenario["service"] = args.service.to_string().into();
    scenario["backlog"] = args.backlog.get().into();
    scenario["warmup"] = WARMUP_FRACTION.into();
    scenario["jobs"] = args.jobs.into();
    match experiment.repeat {
        Repeat::Fixed(count) => scenario["replications"] = count.get().into(),
        Repeat::UntilAbsoluteError { target, max } => {
            scenario["until-abs-error"] = target.into();
            scenario["max-replications"] = max.get().into();
        }
    }
    let document = json!({
        "program": PROGRAM,
        "version": VERSION,
        "scenario": scenario,
        "seed": args.seed,
        "results": results.iter().map(result).collect::<Vec<_>>(),
    });
    serde_json::to_writer_pretty(&mut *output, &document).map_err(std::io::Error::from)?;
    writeln!(output)?;
    Ok(())
}
