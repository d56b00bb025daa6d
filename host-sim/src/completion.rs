//! Completions for shells: options with the values that they may take.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use clap_complete::Shell;
use meshalloc::{Description, SchedulerKind, StrategyKind};

use crate::identity::PROGRAM;
use crate::list::part::Part;
use meshalloc_sim::metrics::Metric;

/// The script for this shell. The generator for bash spells a hyphen in the program's name in two
/// ways, so that it never finds the options of a command.
pub(crate) fn script(shell: Shell, command: &mut Command) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, PROGRAM, &mut script);
    let script = String::from_utf8_lossy(&script);
    let [one, other] = ["__subcmd__", "__"].map(|hyphen| PROGRAM.replace('-', hyphen));
    let mut script = script.replace(&one, &other);
    if shell == Shell::Fish {
        script.extend(command.get_subcommands().flat_map(positional));
    }
    script
}

/// The values of arguments without a name, which the generator for fish leaves out.
fn positional(command: &Command) -> Vec<String> {
    let name = command.get_name();
    let lines = command.get_positionals().filter_map(|arg| {
        let values = arg.get_possible_values();
        let values: Vec<_> = values.iter().map(PossibleValue::get_name).collect();
        let values = values.join(" ");
        let condition = format!(
            "__fish_{}_using_subcommand {name}",
            PROGRAM.replace('-', "_")
        );
        (!values.is_empty())
            .then(|| format!("complete -c {PROGRAM} -n \"{condition}\" -f -a \"{values}\"\n"))
    });
    lines.collect()
}

/// A parser of values that knows some of them; it need not refuse others.
#[derive(Clone)]
pub(crate) struct Known<P> {
    pub(crate) parser: P,
    pub(crate) values: Vec<&'static str>,
}

impl<P: TypedValueParser> TypedValueParser for Known<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<P::Value, clap::Error> {
        self.parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        // Help texts and errors have their own lists.
        (!self.values.is_empty()).then(|| {
            let values = self.values.iter().map(|&value| PossibleValue::new(value));
            Box::new(values) as Box<dyn Iterator<Item = PossibleValue>>
        })
    }
}

/// The option with these values, which help texts do not list.
pub(crate) fn known<P>(arg: Arg, parser: P, values: Vec<&'static str>) -> Arg
where
    P: TypedValueParser + Send + Sync + 'static,
    P::Value: Clone + Send + Sync,
{
    arg.value_parser(Known { parser, values })
        .hide_possible_values(true)
}

/// Values of a setting, if it has some that are short to write. The setting may take other values,
/// too.
pub(crate) fn values(key: &str) -> Vec<&'static str> {
    match key {
        "strategy" => {
            let names = StrategyKind::built().map(StrategyKind::name);
            names.chain(["all"]).collect()
        }
        "scheduler" => SchedulerKind::INFO.iter().map(|info| info.name).collect(),
        "machine" => Description::PRESETS.to_vec(),
        "measure" => vec!["arrivals", "departures"],
        "io-nodes" => vec!["left", "right", "top", "bottom"],
        "resample" => vec!["weeks"],
        "preemption" => vec!["off", "on"],
        "restart" => vec!["elsewhere", "elsewhere:last", "in-place", "spare"],
        "backend" => vec!["in-process"],
        key => {
            let forms = Part::forms_of(key).unwrap_or_default().iter();
            let names = forms.map(|form| form.name);
            let typed = names.filter(|name| !name.contains(char::is_uppercase));
            typed.collect()
        }
    }
}

/// The names of all metrics.
pub(crate) fn metrics() -> Vec<&'static str> {
    Metric::ALL.map(Metric::name).to_vec()
}

#[cfg(test)]
mod tests {
    use super::values;
    use meshalloc_sim::scenario::SETTINGS;

    #[test]
    fn every_value_that_is_offered_is_taken() {
        let mut count = 0;
        for setting in SETTINGS {
            for value in values(setting.key) {
                // A parameter may be needed behind its name.
                let error = setting.check(value.as_ref()).err();
                let is_good = error.is_none_or(|error| error.contains("needs a parameter"));
                assert!(is_good, "{} {value}", setting.key);
                count += 1;
            }
        }
        assert!(count > 80, "{count}");
    }
}
