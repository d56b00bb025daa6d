//! The settings that a command takes, and those that were given to it.

use std::ffi::{OsStr, OsString};
use std::marker::PhantomData;

use clap::builder::Resettable;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Id};

use super::error::OptionError;
use super::file::{Entry, Options};
use super::settings::{Scenario, options, unbuilt};

/// A command that takes settings of a scenario.
pub(crate) trait Takes {
    /// The option of a setting, with the command's own words if it has some; `None` if the command
    /// does not take it.
    fn take(arg: Arg) -> Option<Arg>;
}

/// The option if it is one of these.
pub(crate) fn only(keys: &[&str], arg: Arg) -> Option<Arg> {
    arg.get_long()
        .is_some_and(|key| keys.contains(&key))
        .then_some(arg)
}

/// The option with a list of values, whatever it has in a scenario.
pub(crate) fn several(arg: Arg) -> Arg {
    let names = arg.get_value_names().unwrap_or_default().first();
    let name = format!("{},...", names.map_or("", |name| name));
    arg.value_name(name)
        .value_delimiter(',')
        .action(ArgAction::Append)
}

/// The settings on the command line of the command `T`, which flattens this among its arguments.
pub(crate) struct Given<T> {
    entries: Vec<Entry>,
    command: PhantomData<fn() -> T>,
}

impl<T> Clone for Given<T> {
    fn clone(&self) -> Self {
        Given {
            entries: self.entries.clone(),
            command: PhantomData,
        }
    }
}

impl<T> std::fmt::Debug for Given<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.entries.fmt(f)
    }
}

impl<T> Given<T> {
    /// Each setting with its values.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Takes out the value of a setting, of which the command allows a list; `default` if it was not
    /// given.
    pub(crate) fn take(&mut self, key: &str, default: &str) -> Vec<String> {
        let place = self.entries.iter().position(|entry| entry.key == key);
        let value = place.map(|place| self.entries.remove(place).value);
        let text = value.map_or(default.into(), |value| value.to_string_lossy().into_owned());
        let values = text.split(',').filter(|value| !value.is_empty());
        values.map(str::to_owned).collect()
    }

    /// The scenario of these settings.
    pub(crate) fn scenario(&self) -> Scenario {
        let scenario = scenario(&Options::new(options()), &self.entries);
        scenario.expect("the command has read each value, and together, with the same parsers")
    }
}

/// The scenario of these values.
///
/// # Errors
///
/// When one is wrong, or two contradict each other.
pub(super) fn scenario<'e>(
    options: &Options,
    entries: impl IntoIterator<Item = &'e Entry>,
) -> Result<Scenario, OptionError> {
    let matches = options.read(entries);
    let scenario = matches.and_then(|matches| Scenario::from_arg_matches(&matches));
    scenario.map_err(|error| OptionError::unquoted(&[], &error))
}

/// A help text in whose last brackets the defaults with options that a command does not take are
/// left out: `[default: 1; with --other: 2]`.
fn trimmed(help: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let parts = help.rsplit_once(" [").zip(help.strip_suffix(']'));
    let Some(((text, defaults), _)) = parts else {
        return help.to_owned();
    };
    let is_of_use = |part: &&str| {
        let mut words = part.split(|other: char| other != '-' && !other.is_ascii_alphabetic());
        words.all(&is_taken)
    };
    let defaults = defaults.trim_end_matches(']').split("; ");
    let defaults: Vec<_> = defaults.filter(is_of_use).collect();
    match &*defaults.join("; ") {
        "" => text.to_owned(),
        defaults => format!("{text} [{defaults}]"),
    }
}

/// The options that a command takes. They contradict each other as in a scenario.
fn taken<T: Takes>() -> Vec<Arg> {
    let all = unbuilt();
    let own = all.get_arguments().filter_map(|arg| T::take(arg.clone()));
    let own: Vec<Arg> = own.collect();
    let is_taken = |word: &str| {
        let key = word.trim_start_matches("--");
        key == word || own.iter().any(|arg| arg.get_long() == Some(key))
    };
    let with_conflicts = own.iter().map(|arg| {
        let original = all
            .get_arguments()
            .find(|other| other.get_id() == arg.get_id());
        let conflicts = original.map(|original| all.get_arg_conflicts_with(original));
        let conflicts = conflicts.into_iter().flatten().map(Arg::get_id);
        let is_own = |id: &&Id| own.iter().any(|other| other.get_id() == *id);
        let conflicts: Vec<Id> = conflicts.filter(is_own).cloned().collect();
        let arg = arg
            .clone()
            .conflicts_with(Resettable::<Id>::Reset)
            .display_order(None);
        let help = arg.get_help().map(ToString::to_string);
        let help = trimmed(&help.unwrap_or_default(), is_taken);
        arg.conflicts_with_all(conflicts).help(help)
    });
    with_conflicts.collect()
}

impl<T: Takes> Args for Given<T> {
    fn augment_args(command: Command) -> Command {
        command.args(taken::<T>())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: Takes> FromArgMatches for Given<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let entry = |arg: Arg| {
            let id = arg.get_id().as_str();
            let is_given = matches.value_source(id) == Some(ValueSource::CommandLine);
            let values: Vec<_> = matches.get_raw(id).filter(|_| is_given)?.collect();
            Some(Entry {
                key: arg.get_long()?.to_owned(),
                value: values.join(OsStr::new(",")),
                line: None,
            })
        };
        Ok(Given {
            entries: taken::<T>().into_iter().filter_map(entry).collect(),
            command: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl From<(&str, OsString)> for Entry {
    fn from((key, value): (&str, OsString)) -> Self {
        Entry {
            key: key.to_owned(),
            value,
            line: None,
        }
    }
}
