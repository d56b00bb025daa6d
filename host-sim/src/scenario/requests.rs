//! What jobs ask of the machine, and which strategies serve it.

use clap::Args;
use meshalloc::{Grid, SchedulerKind, StrategyKind};
use serde_json::{Value, json};

use super::{LogSource, MachineArgs, sizes};
use crate::names;
use crate::workload::{
    EstimateModel, Requests, SizeDistribution, Subcubes, Submeshes, TaskDistribution, TimeUnit,
    WorkloadError,
};

/// The options of commands that run a synthetic workload.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct RequestArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,

    /// Distribution of the side lengths of jobs, over 1 to the machine's sides; `host-sim list` shows
    /// them [default: uniform]
    #[arg(long, value_name = "NAME", value_parser = sizes, conflicts_with = "cube")]
    pub(crate) sizes: Option<SizeDistribution>,

    /// On a cube: distribution of the number of dimensions of jobs, 1 to n: uniform or normal
    /// [default: uniform]
    #[arg(long, value_name = "NAME")]
    pub(crate) dims: Option<TaskDistribution>,

    /// On a cube: distribution of the radices of jobs, 2 to k: uniform or normal [default: uniform]
    #[arg(long, value_name = "NAME")]
    pub(crate) radices: Option<TaskDistribution>,
}

/// The estimates of a command that runs a synthetic workload of jobs with service times.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct EstimateArgs {
    /// The estimate of its run time that each request carries: perfect, factor:LOW..HIGH (the run time times a number drawn for
    /// each job) or none
    #[arg(long = "estimates", value_name = "MODEL", value_parser = drawn, default_value = "perfect")]
    pub(crate) model: EstimateModel,
}

/// Reads a model of estimates that needs no log.
fn drawn(text: &str) -> Result<EstimateModel, WorkloadError> {
    let model: EstimateModel = text.parse()?;
    model.check(true, false).map(|()| model)
}

impl RequestArgs {
    /// What they come to, defaults filled in.
    ///
    /// # Errors
    ///
    /// When there is no such machine, or an option is about another one.
    pub(crate) fn requests(&self) -> Result<Requests, String> {
        if let Some(cube) = self.machine.cube {
            return Ok(Requests::Subcubes(Subcubes {
                cube,
                dims: self.dims.unwrap_or_default(),
                radices: self.radices.unwrap_or_default(),
            }));
        }
        for (given, key) in [
            (self.dims.is_some(), "dims"),
            (self.radices.is_some(), "radices"),
        ] {
            if given {
                return Err(format!("{key} is about cubes (expected cube beside it)"));
            }
        }
        let machine = self.machine.machine()?;
        let sizes = self.sizes.unwrap_or(SizeDistribution::Uniform);
        Ok(Requests::Submeshes(Submeshes::new(machine, sizes)))
    }
}

/// The strategy of a command that names none.
pub(crate) fn default_strategy(machine: Grid) -> StrategyKind {
    match machine.is_written_high_first() {
        true => StrategyKind::TreeCollapsing,
        false => StrategyKind::FirstFit,
    }
}

/// The strategies of a command, each once, `default` where none is named.
///
/// # Errors
///
/// When one does not serve the machine: what it serves, and which strategies would do.
pub(crate) fn strategies(
    machine: Grid,
    named: Option<&[StrategyKind]>,
    default: &[StrategyKind],
) -> Result<Vec<StrategyKind>, String> {
    let mut strategies = Vec::new();
    for &strategy in named.unwrap_or(default) {
        check_serves(machine, strategy)?;
        if !strategies.contains(&strategy) {
            strategies.push(strategy);
        }
    }
    Ok(strategies)
}

/// Whether the strategy serves the machine.
///
/// # Errors
///
/// When it does not: what it serves, and which strategies would do.
pub(crate) fn check_serves(machine: Grid, strategy: StrategyKind) -> Result<(), String> {
    let serves = strategy.serves();
    if serves.includes(&machine) {
        return Ok(());
    }
    let suitable = StrategyKind::built().filter(|kind| kind.serves().includes(&machine));
    let suitable: Vec<_> = suitable.map(StrategyKind::name).collect();
    Err(format!(
        "{strategy} serves {serves}, not {machine} (expected one of {})",
        suitable.join(", ")
    ))
}

/// What a command that runs a log records of it: options and their values.
pub(crate) fn record_log(
    source: &LogSource,
    machine: Grid,
    strategies: &[StrategyKind],
    estimates: EstimateModel,
) -> Value {
    let strategies: Vec<_> = strategies.iter().map(ToString::to_string).collect();
    let mut record = json!({ "strategy": strategies, "estimates": estimates.to_string() });
    for (option, value) in names::machine_options(machine) {
        record[option] = value.into();
    }
    for (option, value) in source.entries() {
        record[option] = value;
    }
    record
}

/// What all commands with requests record of them: options and their values. The ranges of sides are not among them.
pub(crate) fn record(
    requests: &Requests,
    strategies: &[StrategyKind],
    scheduler: SchedulerKind,
    estimates: EstimateModel,
) -> Value {
    let strategies: Vec<_> = strategies.iter().map(ToString::to_string).collect();
    let mut record = json!({
        "strategy": strategies,
        "scheduler": names::scheduler_text(scheduler, TimeUnit::Second),
        "estimates": estimates.to_string(),
    });
    for (option, value) in names::machine_options(requests.machine()) {
        record[option] = value.into();
    }
    match requests {
        Requests::Submeshes(of) => record["sizes"] = of.sizes.to_string().into(),
        Requests::Subcubes(of) => {
            record["dims"] = of.dims.name().into();
            record["radices"] = of.radices.name().into();
        }
        Requests::Counts(of) => {
            record["task-processors"] = of.distribution.to_string().into();
            record["shape"] = of.shape.to_string().into();
        }
    }
    record
}
