//! The settings of a scenario, [`SETTINGS`], as options of commands, and further options that
//! commands share.

use std::ffi::{OsStr, OsString};
use std::marker::PhantomData;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::builder::ValueHint;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum, value_parser};

use crate::completion::{Known, known, values};
use crate::failure;
use meshalloc_firmware::client::Endpoint;
use meshalloc_sim::names;
use meshalloc_sim::scenario::{
    self, BackendChoice, Entry, Foreign, Form, Place, Resolved, SETTINGS, Scenario, Setting,
    SettingError, Study, contradiction,
};

/// A command that takes settings of a scenario.
pub(crate) trait Takes {
    /// Settings that are not taken, but may stand in its scenario files.
    const IGNORED: &'static [&'static str] = &[];

    /// The option of a setting, perhaps in the command's words; `None` if it is not taken. By
    /// default all settings but the ignored ones are taken.
    fn take(arg: Arg) -> Option<Arg> {
        only(Self::IGNORED, arg.clone()).is_none().then_some(arg)
    }
}

pub(crate) fn only(keys: &[&str], arg: Arg) -> Option<Arg> {
    keys.contains(&arg.get_id().as_str()).then_some(arg)
}

/// The settings of a single controller: machine, strategy and scheduler.
pub(crate) fn of_one_controller(arg: Arg) -> Option<Arg> {
    let keys = ["mesh", "torus", "machine", "strategy", "scheduler"];
    let arg = only(&keys, arg)?;
    Some(match arg.get_long()? {
        "strategy" => known(arg, names::strategy, values("strategy"))
            .value_name("NAME")
            .value_delimiter(None)
            .action(ArgAction::Set)
            .help(
                "Allocation strategy; `host-sim list` shows them [default: first-fit; on a cube: \
                 tree-collapsing; with --machine: cubes if it has some, torus3d if it has placements]",
            ),
        _ => arg,
    })
}

pub(crate) fn takes<T: Takes>(setting: &'static Setting) -> bool {
    T::take(option(setting)).is_some()
}

fn option(setting: &'static Setting) -> Arg {
    let arg = Arg::new(setting.key)
        .long(setting.key)
        .value_name(setting.value_name)
        .help_heading(setting.heading)
        .help(setting.help())
        .allow_negative_numbers(setting.form == Form::Number)
        .action(ArgAction::Append);
    let read = |text: &str| setting.values(text.as_ref()).map(|_| text.to_owned());
    match setting.form {
        Form::Text | Form::Number | Form::NameOrFile => known(arg, read, values(setting.key)),
        Form::List => known(arg, read, values(setting.key)).value_delimiter(','),
        Form::File => arg
            .value_parser(value_parser!(OsString))
            .value_hint(ValueHint::FilePath),
        // `--strict=false` takes back what a file says.
        Form::Switch => arg
            .action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .hide_possible_values(true)
            .value_parser(["true", "false"]),
    }
}

#[cfg(feature = "reference")]
pub(crate) fn options() -> Command {
    let command = Command::new("scenario").disable_help_flag(true);
    let mut command = command.args(SETTINGS.iter().map(option));
    command.build();
    command
}

/// The settings on the command line of the command `T`, which flattens this among its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Given<T> {
    entries: Vec<Entry>,
    command: PhantomData<fn() -> T>,
}

impl<T> Given<T> {
    /// The same settings, with a default of this command: `key` has this value unless it is given
    /// on the command line or in a file.
    pub(crate) fn about(mut self, command: &'static str, key: &str, value: &str) -> Self {
        let is_given = self.entries.iter().any(|entry| entry.setting.key == key);
        if let (false, Some(setting)) = (is_given, Setting::of(key)) {
            self.entries.push(Entry {
                setting,
                values: vec![value.into()],
                place: Place::Command(command),
            });
        }
        self
    }

    /// The first setting on the command line, if there is one.
    pub(crate) fn first(&self) -> Option<&'static str> {
        self.entries.first().map(|entry| entry.setting.key)
    }

    /// The options that give another command these settings, as far as it takes them. The settings
    /// in `over` replace or add to them.
    pub(crate) fn words<O: Takes>(&self, over: &[(&str, String)]) -> Vec<String> {
        let is_over = |key: &str| over.iter().any(|(over, _)| *over == key);
        let kept = self.entries.iter().filter(|entry| {
            let setting = entry.setting;
            takes::<O>(setting) && !is_over(setting.key)
        });
        let kept = kept.map(|entry| {
            let values = entry.values.iter().map(|value| value.to_string_lossy());
            (entry.setting.key, values.collect::<Vec<_>>().join(","))
        });
        let all = kept.chain(over.iter().cloned());
        let words = all.flat_map(|(key, value)| {
            if Setting::of(key).is_some_and(|setting| setting.form == Form::Switch) {
                vec![format!("--{key}={value}")]
            } else {
                vec![format!("--{key}"), value]
            }
        });
        words.collect()
    }

    /// The one scenario on the command line.
    pub(crate) fn scenario(&self, command: &str) -> Result<Scenario, String> {
        let (study, _) = scenario::read(self.entries.clone(), None, Foreign::default())?;
        say_lines(&study);
        Ok(study.scenario(command)?.0)
    }
}

impl<T: Takes + Args> Given<T> {
    /// These settings over those of a scenario file. It is an error if the file has a setting that
    /// the command neither takes nor ignores and that none of these settings replaces, or a setting
    /// that contradicts these settings. Notes go to standard error.
    pub(crate) fn over(&self, file: Option<&Path>) -> Result<Study, String> {
        let command = T::augment_args(Command::new("arguments"));
        let options = command.get_arguments().filter_map(Arg::get_long);
        // Settings are keys of files.
        let own: Vec<_> = options.filter(|it| Setting::of(it).is_none()).collect();
        let is_known = |setting| takes::<T>(setting) || T::IGNORED.contains(&setting.key);
        // A contradicted setting is replaced, or is an error that names both settings.
        let is_contradicted = |setting| {
            let mut over = self.entries.iter();
            over.any(|over| over.setting.contradicts(setting))
        };
        let useless = SETTINGS
            .iter()
            .filter(|it| !is_known(it) && !is_contradicted(it));
        let useless: Vec<_> = useless
            .map(|setting| (setting.key, "the command has no such option"))
            .collect();
        let foreign = Foreign {
            command_line: &own,
            useless: &useless,
        };
        let (study, note) = scenario::read(self.entries.clone(), file, foreign)?;
        if let Some(note) = note {
            failure::note(&note);
        }
        say_lines(&study);
        Ok(study)
    }
}

/// Says on standard error that a machine of one side is no square.
fn say_lines(study: &Study) {
    for (key, kind) in [("mesh", "line"), ("torus", "ring")] {
        let mut entries = study.fixed().chain(study.axes());
        let entry = entries.find(|entry| entry.setting.key == key);
        for sides in entry.map_or(&[][..], |entry| &entry.values) {
            if let Ok(side) = sides.to_string_lossy().parse::<u32>() {
                failure::note(&format_args!(
                    "note: {key} {side} is a {kind} of {side} processors (a square is {side}x{side})"
                ));
            }
        }
    }
}

/// The option of a scenario file.
#[derive(Args, Clone, Debug)]
pub(crate) struct FileArgs {
    /// A TOML file whose keys are options; a list has several values. An option on the command line
    /// replaces its key, and a key of the same choice (machine, sizes of jobs, arrivals or log,
    /// replications). Any other contradiction is an error
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    scenario: Option<PathBuf>,
}

impl FileArgs {
    pub(crate) fn path(&self) -> Option<&Path> {
        self.scenario.as_deref()
    }
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

fn taken<T: Takes>() -> Vec<Arg> {
    let own = SETTINGS.iter().map(option).filter_map(T::take);
    let own: Vec<Arg> = own.collect();
    let is_taken = |word: &str| {
        let key = word.trim_start_matches("--");
        key == word || own.iter().any(|arg| arg.get_id() == key)
    };
    let trim = |arg: &Arg| {
        let help = arg.get_help().map(ToString::to_string);
        let help = trimmed(&help.unwrap_or_default(), is_taken);
        arg.clone().help(help)
    };
    own.iter().map(trim).collect()
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
        let entry = |setting: &'static Setting| {
            // If the command does not take the setting, the option of this name is another one.
            T::take(option(setting))?;
            let is_given = matches.value_source(setting.key) == Some(ValueSource::CommandLine);
            let given = matches.get_raw(setting.key).filter(|_| is_given)?;
            let values = match setting.form {
                Form::List => vec![given.collect::<Vec<_>>().join(OsStr::new(","))],
                _ => {
                    let read = given.filter_map(|text| setting.values(text).ok());
                    names::each_once(read.flatten())
                }
            };
            Some(Entry {
                setting,
                values,
                place: Place::CommandLine,
            })
        };
        let mut entries: Vec<_> = SETTINGS.iter().filter_map(entry).collect();
        // The entries are in the order in which they were typed: the first axis gives the rows of
        // tables.
        let place = |entry: &Entry| matches.indices_of(entry.setting.key)?.next();
        entries.sort_by_key(place);
        let settings: Vec<_> = entries.iter().map(|entry| entry.setting).collect();
        if let Some((first, second)) = contradiction(&settings) {
            let mut error = clap::Error::new(ErrorKind::ArgumentConflict);
            for (kind, at) in [
                (ContextKind::InvalidArg, first),
                (ContextKind::PriorArg, second),
            ] {
                let Setting {
                    key,
                    value_name,
                    form,
                    ..
                } = settings[at];
                let shown = match form {
                    Form::Switch => format!("--{key}"),
                    _ => format!("--{key} <{value_name}>"),
                };
                error.insert(kind, ContextValue::String(shown));
            }
            return Err(error);
        }
        Ok(Given {
            entries,
            command: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The controller at the end of a line, if this is one.
pub(crate) fn endpoint(backend: &BackendChoice) -> Result<Option<Endpoint>, SettingError> {
    let BackendChoice::Line(text) = backend else {
        return Ok(None);
    };
    let endpoint = text.parse::<Endpoint>();
    endpoint.map(Some).map_err(|expected| {
        SettingError::new(&["backend"], format!("`backend` {text}: {expected}"))
    })
}

/// The controller at the end of a line, if the scenario names one.
pub(crate) fn endpoint_of(scenario: &Resolved) -> Result<Option<Endpoint>, String> {
    endpoint(&scenario.backend()).map_err(|error| scenario.place(&error))
}

/// How results are written.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs, with everything.
    Json,
    /// For programs, a row for each result.
    Csv,
}

/// The option of the format.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct FormatArgs {
    /// How results are written: table, json or csv [default: table]
    #[arg(long, value_name = "FORMAT", value_parser = Known { parser: format, values: vec!["table", "json", "csv"] }, hide_possible_values = true, help_heading = "Where and how")]
    format: Option<Format>,
}

impl FormatArgs {
    pub(crate) fn get(self) -> Format {
        self.format.unwrap_or_default()
    }
}

fn format(text: &str) -> Result<Format, String> {
    let format = Format::from_str(text, true);
    format.map_err(|_| "expected table, json or csv".to_owned())
}

/// The option of the format of a list or a summary.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct JsonArgs {
    /// How the output is written: table or json [default: table]
    #[arg(long = "format", value_name = "FORMAT", value_parser = ["table", "json"], ignore_case = true, hide_possible_values = true)]
    format: Option<String>,
}

impl JsonArgs {
    pub(crate) fn is_json(&self) -> bool {
        let format = self.format.as_deref();
        format.is_some_and(|format| format.eq_ignore_ascii_case("json"))
    }
}

/// The option of threads, of every command that shares runs among several.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ThreadsArgs {
    /// Threads that share the runs; their number does not change any result [default: all
    /// processors]
    #[arg(short = 'j', long = "threads", value_name = "COUNT", value_parser = names::threads, allow_negative_numbers = true,
        help_heading = "Where and how")]
    pub(crate) count: Option<NonZero<usize>>,
}
