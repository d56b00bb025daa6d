//! What jobs ask of the machine, and which strategies serve it.

use clap::Args;
use meshalloc::{Grid, SchedulerKind, StrategyKind};
use serde_json::{Value, json};

use super::{LogSource, MachineArgs, OptionError, SYNTHETIC, needs, sizes};
use crate::names;
use crate::workload::{
    EstimateModel, Requests, SideLengths, SizeDistribution, Subcubes, Submeshes, TaskDistribution,
    TimeUnit, WorkloadError,
};

/// The machine and what jobs of a synthetic workload ask of it. What is `None` was not given.
#[derive(Args, Clone, Debug, Default)]
pub struct RequestArgs {
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,

    /// Distribution of the side lengths of jobs: uniform, normal, exponential, uniform-decreasing;
    /// `host-sim list` shows variants [default: uniform]
    #[arg(long, value_name = "NAME", value_parser = sizes, help_heading = SYNTHETIC, conflicts_with = "cube")]
    pub sizes: Option<SizeDistribution>,

    /// Side lengths that are drawn, in processors: MIN..MAX (or MAX alone) for all dimensions, or
    /// a range for each, separated by commas, dimension 0 (x) first [default: 1 to the
    /// machine's]
    #[arg(long, value_name = "MIN..MAX,...", help_heading = SYNTHETIC, conflicts_with = "cube")]
    pub side_lengths: Option<SideLengths>,

    /// On a cube: distribution of the number of dimensions of jobs, 1 to n: uniform or normal
    /// [default: uniform]
    #[arg(long, value_name = "NAME", help_heading = SYNTHETIC)]
    pub dims: Option<TaskDistribution>,

    /// On a cube: distribution of the radices of jobs, 2 to k: uniform or normal [default: uniform]
    #[arg(long, value_name = "NAME", help_heading = SYNTHETIC)]
    pub radices: Option<TaskDistribution>,
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
    /// When there is no such machine, an option is about another one, or sides are longer than the machine's.
    pub fn requests(&self) -> Result<Requests, OptionError> {
        if let Some(cube) = self.machine.cube {
            return Ok(Requests::Subcubes(Subcubes {
                cube,
                dims: self.dims.unwrap_or_default(),
                radices: self.radices.unwrap_or_default(),
            }));
        }
        needs::CUBES.refuse([
            (self.dims.is_some(), "dims"),
            (self.radices.is_some(), "radices"),
        ])?;
        let machine = self.machine.machine()?;
        let sizes = self.sizes.unwrap_or(SizeDistribution::Uniform);
        let mut submeshes = Submeshes::new(machine, sizes);
        if let Some(lengths) = &self.side_lengths {
            let bad = |reason| Err(OptionError::new(&["side-lengths"], reason));
            let dimensions = machine.dimensions();
            let Some(sides) = lengths.of(dimensions) else {
                let count = lengths.count();
                return bad(format!(
                    "`side-lengths` has {count} ranges (expected one for all dimensions, or \
                     {dimensions} on {machine})"
                ));
            };
            for (dimension, (range, side)) in sides.zip(machine.sides()).enumerate() {
                if range.max() > *side {
                    return bad(format!(
                        "`side-lengths` go to {} in dimension {dimension} (expected at most {side} \
                         on {machine})",
                        range.max()
                    ));
                }
                submeshes.sides[dimension] = range;
            }
        }
        Ok(Requests::Submeshes(submeshes))
    }
}

/// The strategy of a command that names none.
pub(crate) fn default_strategy(machine: Grid) -> StrategyKind {
    match machine.is_written_high_first() {
        true => StrategyKind::TreeCollapsing,
        false => StrategyKind::FirstFit,
    }
}

/// One word of `--strategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrategyChoice {
    /// All strategies that serve the machine.
    All,
    /// One of them.
    One(StrategyKind),
}

/// Reads the name of a strategy, or `all`.
pub(crate) fn strategy_choice(text: &str) -> Result<StrategyChoice, String> {
    match text {
        "all" => Ok(StrategyChoice::All),
        name => names::strategy(name).map(StrategyChoice::One),
    }
}

/// The strategies of a command, each once, in the order in which they were named first; `default` where none is named.
///
/// # Errors
///
/// When one does not serve the machine: what it serves, and which strategies would do.
pub(crate) fn strategies(
    machine: Grid,
    named: Option<&[StrategyChoice]>,
    default: &[StrategyKind],
) -> Result<Vec<StrategyKind>, OptionError> {
    let of_choice = |&choice: &StrategyChoice| match choice {
        StrategyChoice::All => suitable(machine).collect(),
        StrategyChoice::One(kind) => vec![kind],
    };
    let named: Vec<StrategyKind> = match named {
        Some(named) => named.iter().flat_map(of_choice).collect(),
        None => default.to_vec(),
    };
    let strategies = names::each_once(named);
    for &strategy in &strategies {
        check_serves(machine, strategy)?;
    }
    Ok(strategies)
}

/// The strategies of this build that serve the machine.
fn suitable(machine: Grid) -> impl Iterator<Item = StrategyKind> {
    StrategyKind::built().filter(move |kind| kind.serves().includes(&machine))
}

/// Whether the strategy serves the machine.
///
/// # Errors
///
/// When it does not: what it serves, and which strategies would do.
pub(crate) fn check_serves(machine: Grid, strategy: StrategyKind) -> Result<(), OptionError> {
    let serves = strategy.serves();
    if serves.includes(&machine) {
        return Ok(());
    }
    let suitable: Vec<_> = suitable(machine).map(StrategyKind::name).collect();
    let reason = format!(
        "`strategy` {strategy} serves {serves}, not {machine} (expected one of {})",
        suitable.join(", ")
    );
    Err(OptionError::new(&["strategy"], reason))
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

/// What all commands with requests record of them: options and their values.
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
        Requests::Submeshes(of) => {
            record["sizes"] = of.sizes.to_string().into();
            record["side-lengths"] = of.side_lengths().to_string().into();
        }
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
