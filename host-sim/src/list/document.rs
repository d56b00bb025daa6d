//! The list for programs.

use meshalloc::{SchedulerKind, StrategyKind};
use serde::Serialize;

use super::{Part, strategy_parameters};
use crate::identity::{PROGRAM, VERSION};
use meshalloc_sim::machine::MachineKeys;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names::grammar::Form;

/// All values that can be chosen. The list of one part has only the keys of this part.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
pub(crate) struct ListDocument {
    /// The program's name.
    program: &'static str,
    /// The program's version.
    version: &'static str,
    /// Allocation strategies.
    #[serde(skip_serializing_if = "Option::is_none")]
    strategies: Option<Vec<StrategyJson>>,
    /// Schedulers.
    #[serde(skip_serializing_if = "Option::is_none")]
    schedulers: Option<Vec<SchedulerJson>>,
    /// Distributions of side lengths.
    #[serde(skip_serializing_if = "Option::is_none")]
    side_lengths: Option<Vec<NamedChoice>>,
    /// Distributions of service times.
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<Vec<NamedChoice>>,
    /// Communication patterns.
    #[serde(skip_serializing_if = "Option::is_none")]
    patterns: Option<Vec<NamedChoice>>,
    /// Distributions of numbers of processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    processors: Option<Vec<NamedChoice>>,
    /// Estimates of run times.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimates: Option<Vec<NamedChoice>>,
    /// Distributions of numbers of dimensions on a cube.
    #[serde(skip_serializing_if = "Option::is_none")]
    dims: Option<Vec<NamedChoice>>,
    /// Distributions of radices on a cube.
    #[serde(skip_serializing_if = "Option::is_none")]
    radices: Option<Vec<NamedChoice>>,
    /// Rules that give a number of processors a shape.
    #[serde(skip_serializing_if = "Option::is_none")]
    shapes: Option<Vec<NamedChoice>>,
    /// Mixes of shapes.
    #[serde(skip_serializing_if = "Option::is_none")]
    mixes: Option<Vec<NamedChoice>>,
    /// Models of workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<Vec<NamedChoice>>,
    /// Machines that give only certain slices, with the keys of their files.
    #[serde(skip_serializing_if = "Option::is_none")]
    machines: Option<Vec<MachineKeys>>,
    /// Metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Vec<MetricJson>>,
}

/// A value with a name.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
struct NamedChoice {
    /// How it is written: words in capitals stand for parameters, brackets around what may be left
    /// out.
    name: String,
    /// What it means.
    meaning: &'static str,
    /// Where it comes from; empty where it has no author.
    source: &'static str,
}

impl From<&Form> for NamedChoice {
    fn from(form: &Form) -> Self {
        NamedChoice {
            name: form.to_string(),
            meaning: form.meaning,
            source: form.source,
        }
    }
}

/// A strategy.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
struct StrategyJson {
    /// The name.
    name: &'static str,
    /// Its other names.
    aliases: &'static [&'static str],
    /// Its source.
    source: &'static str,
    /// The machines that it serves.
    serves: String,
    /// Whether it finds a place whenever one exists.
    complete: bool,
    /// Whether the processors of a job are one block.
    contiguous: bool,
    /// Whether it is in this build.
    built: bool,
    /// Parameters that may follow the name and a colon.
    parameters: Vec<&'static str>,
}

/// A scheduler.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
struct SchedulerJson {
    /// The name.
    name: &'static str,
    /// What it does.
    meaning: &'static str,
    /// Its text forms; `SECONDS` and `COUNT` stand for numbers.
    forms: &'static [&'static str],
    /// Its source; empty if it has none.
    source: &'static str,
}

/// A metric.
#[derive(Serialize)]
#[cfg_attr(feature = "reference", derive(schemars::JsonSchema))]
struct MetricJson {
    /// The name.
    name: &'static str,
    /// What it means.
    meaning: &'static str,
    /// The unit, in words.
    unit: &'static str,
    /// Its source.
    source: &'static str,
}

impl ListDocument {
    pub(crate) fn new(part: Option<Part>) -> Self {
        let is_wanted = |of| part.is_none_or(|part| part == of);
        let named = |of: Part| {
            let forms = of.entries().map(|(_, forms)| forms);
            let forms = forms.filter(|_| is_wanted(of))?;
            Some(forms.iter().map(NamedChoice::from).collect())
        };
        ListDocument {
            program: PROGRAM,
            version: VERSION,
            strategies: is_wanted(Part::Strategies).then(strategies),
            schedulers: is_wanted(Part::Schedulers).then(schedulers),
            side_lengths: named(Part::SideLengths),
            service: named(Part::Service),
            patterns: named(Part::Patterns),
            processors: named(Part::Processors),
            estimates: named(Part::Estimates),
            dims: named(Part::Dims),
            radices: named(Part::Dims),
            shapes: named(Part::Shapes),
            mixes: named(Part::Mixes),
            models: named(Part::Models),
            machines: is_wanted(Part::Machines).then(machines),
            metrics: is_wanted(Part::Metrics).then(metrics),
        }
    }
}

fn machines() -> Vec<MachineKeys> {
    let presets = super::presets();
    presets
        .map(|preset| MachineKeys::of(Some(&preset.name), &preset.description))
        .collect()
}

fn strategies() -> Vec<StrategyJson> {
    let strategy = |kind: &StrategyKind| {
        let info = kind.info();
        StrategyJson {
            name: info.name,
            aliases: info.aliases,
            source: info.source,
            serves: kind.serves().to_string(),
            complete: info.complete,
            contiguous: info.holds.is_contiguous(),
            built: info.built,
            parameters: strategy_parameters(*kind),
        }
    };
    StrategyKind::ALL.iter().map(strategy).collect()
}

fn schedulers() -> Vec<SchedulerJson> {
    let infos = SchedulerKind::INFO.iter();
    let scheduler = infos.map(|info| SchedulerJson {
        name: info.name,
        meaning: info.meaning,
        forms: info.forms,
        source: info.source,
    });
    scheduler.collect()
}

fn metrics() -> Vec<MetricJson> {
    let metric = |metric: Metric| MetricJson {
        name: metric.name(),
        meaning: metric.meaning(),
        unit: metric.unit().words(),
        source: metric.source(),
    };
    Metric::ALL.into_iter().map(metric).collect()
}
