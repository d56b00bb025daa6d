//! The parts of the list, and the settings that take their values.

use clap::ValueEnum;

use meshalloc_sim::names::grammar::Form;
use meshalloc_sim::workload::{
    CountDistribution, CubeDistribution, EstimateModel, Lublin, MixSource, Pattern,
    ServiceDistribution, ShapeRule, SideDistribution,
};

/// A part of the list, by the name that it has on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Allocation strategies.
    Strategies,
    /// Schedulers.
    Schedulers,
    /// Distributions of side lengths.
    SideLengths,
    /// Distributions of service times.
    Service,
    /// Distributions of dimensions and radices on a cube.
    Dims,
    /// Communication patterns of jobs that send messages.
    Patterns,
    /// Distributions of numbers of processors.
    Processors,
    /// Estimates of run times.
    Estimates,
    /// Metrics: definition, unit, source.
    Metrics,
    /// Shapes of a log's jobs.
    Shapes,
    /// Mixes of shapes.
    Mixes,
    /// Models of workloads.
    Models,
    /// Machines that give only certain slices.
    Machines,
}

impl Part {
    /// The settings that take the values of this part, and these values. `None` if a value has more
    /// than a name, a meaning and a source.
    pub(crate) const fn entries(self) -> Option<(&'static [&'static str], &'static [Form])> {
        Some(match self {
            Part::Strategies | Part::Schedulers | Part::Metrics | Part::Machines => return None,
            Part::SideLengths => (&["side-lengths"], SideDistribution::FORMS),
            Part::Service => (&["service"], ServiceDistribution::FORMS),
            Part::Dims => (&["dims", "radices"], CubeDistribution::FORMS),
            Part::Patterns => (&["pattern"], Pattern::FORMS),
            Part::Processors => (&["processors"], CountDistribution::FORMS),
            Part::Estimates => (&["estimates"], EstimateModel::FORMS),
            Part::Shapes => (&["shape"], ShapeRule::FORMS),
            Part::Mixes => (&["mix"], MixSource::FORMS),
            Part::Models => (&["model"], Lublin::FORMS),
        })
    }

    /// The values of the setting with this key, if `list` has them as a part.
    pub(crate) fn forms_of(key: &str) -> Option<&'static [Form]> {
        let mut parts = Part::value_variants().iter();
        parts
            .find_map(|part| part.entries().filter(|(keys, _)| keys.contains(&key)))
            .map(|(_, forms)| forms)
    }

    /// The heading above the values of this part: what they are, and the options that take them.
    pub(crate) fn title(self, keys: &[&str]) -> String {
        let value = self.to_possible_value();
        let words = value.as_ref().and_then(|value| value.get_help());
        let words = words.map(ToString::to_string).unwrap_or_default();
        format!("{words} (--{})", keys.join(", --"))
    }
}
