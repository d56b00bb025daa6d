//! Scenario files: TOML whose keys are the options of `run`, without the dashes.
//!
//! Each value goes through the parser of its option, so files and options take the same values.

use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::{Spanned, Value};

use crate::names::nearest;
use crate::wording::Number;

/// The name of the table of a sweep.
pub(super) const GRID: &str = "grid";

/// An option with its value as text, as if it stood on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The option's name, without the dashes.
    pub(super) key: String,
    /// Its value; several are separated by commas.
    pub(super) value: OsString,
}

/// The values of options, read by the options' own parsers.
///
/// A command that clap has parsed with is used again, as making one takes longer than reading a value.
pub(super) struct Options(RefCell<Command>);

impl Options {
    /// Those of this command, which is built.
    pub(super) fn new(command: Command) -> Self {
        Options(RefCell::new(command))
    }

    /// The command.
    pub(super) fn command(&self) -> Ref<'_, Command> {
        self.0.borrow()
    }

    /// Reads these values together.
    ///
    /// # Errors
    ///
    /// When one is wrong, or two contradict each other.
    pub(super) fn read<'e>(
        &self,
        entries: impl IntoIterator<Item = &'e Entry>,
    ) -> Result<ArgMatches, clap::Error> {
        let mut command = self.0.borrow_mut();
        let name = OsString::from(command.get_name());
        let entries = entries.into_iter().map(argument);
        command.try_get_matches_from_mut(std::iter::once(name).chain(entries))
    }
}

/// Reads a scenario file whose keys are options.
///
/// # Errors
///
/// When the file cannot be read, is no TOML, or has a key that is unknown, contradicts another or has a
/// value that its option does not take: one line with the place and what was expected.
pub(super) fn read(path: &Path, options: &Options) -> Result<Vec<Entry>, String> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{name}: cannot read the scenario: {error}"))?;
    parse(&text, options, &|file| beside(path, file))
        .map_err(|Wrong { line, reason }| format!("{name}:{line}: {reason}"))
}

/// What is wrong with a scenario file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// From 1.
    pub(super) line: usize,
    pub(super) reason: String,
}

/// A file named in a scenario is looked for beside the scenario.
pub(super) fn beside(scenario: &Path, file: &str) -> PathBuf {
    match scenario.parent() {
        Some(folder) => folder.join(file),
        None => PathBuf::from(file),
    }
}

/// Keys and values, with their places in the file.
pub(super) type Pairs = BTreeMap<Spanned<String>, Spanned<Value>>;

/// The number of the line, from 1, in which the byte `at` is.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count()
}

/// Reads TOML.
pub(super) fn toml<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    toml::from_str(text).map_err(|error| Wrong {
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        reason: error.message().replace('\n', ", "),
    })
}

/// What is wrong with the scenario of a file, with its place: that of the key which the reason begins with, if the file has it.
pub(super) fn placed(path: &Path, reason: &str) -> String {
    #[derive(Deserialize)]
    struct WithGrid {
        #[serde(default)]
        grid: Pairs,
    }
    let name = path.display();
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let known = reason.split([' ', ':']).next().unwrap_or_default();
    let pairs = toml(&text).map(|pairs| in_order(&text, pairs));
    let of_grid = toml(&text).map(|WithGrid { grid }| in_order(&text, grid));
    let entries = pairs.into_iter().chain(of_grid).flatten();
    match { entries }.find(|(_, key, _)| key == known) {
        Some((line, ..)) => format!("{name}:{line}: {reason}"),
        None => format!("{name}: {reason}"),
    }
}

/// The entries in the order of the file.
fn parse(
    text: &str,
    options: &Options,
    locate: &dyn Fn(&str) -> PathBuf,
) -> Result<Vec<Entry>, Wrong> {
    let mut entries: Vec<(usize, Entry)> = Vec::new();
    for (line, key, value) in in_order(text, toml(text)?) {
        let wrong = |reason| Wrong { line, reason };
        let entry = entry(&key, &value, options, locate).map_err(wrong)?;
        let earlier = entries.iter().map(|(line, entry)| (*line, &*entry.key));
        agree(&options.command(), earlier, &entry.key).map_err(wrong)?;
        entries.push((line, entry));
    }
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// Lines, keys and values in the order of the file.
pub(super) fn in_order(text: &str, pairs: Pairs) -> Vec<(usize, String, Value)> {
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    let pairs = pairs.into_iter().map(|(key, value)| {
        let line = line_of(text, key.span().start);
        (line, key.into_inner(), value.into_inner())
    });
    pairs.collect()
}

/// Whether `key` goes with all earlier ones, which come with their lines.
pub(super) fn agree<'k>(
    command: &Command,
    mut earlier: impl Iterator<Item = (usize, &'k str)>,
    key: &str,
) -> Result<(), String> {
    match earlier.find(|(_, other)| contradict(command, other, key)) {
        Some((line, other)) => Err(format!(
            "{key} contradicts {other} in line {line} (expected only one of them)"
        )),
        None => Ok(()),
    }
}

/// Reads one value through the parser of its option.
pub(super) fn entry(
    key: &str,
    value: &Value,
    options: &Options,
    locate: &dyn Fn(&str) -> PathBuf,
) -> Result<Entry, String> {
    let command = options.command();
    let Some(arg) = find(&command, key) else {
        if key == GRID {
            return Err(format!(
                "a scenario has no {GRID} (`host-sim sweep` runs files with one)"
            ));
        }
        let keys: Vec<_> = command.get_arguments().filter_map(Arg::get_long).collect();
        return Err(match nearest(key, keys.iter().copied()) {
            Some(near) => format!("unknown key {key:?}; did you mean {near:?}?"),
            None => format!("unknown key {key:?} (known: {})", keys.join(", ")),
        });
    };
    let text = match value {
        Value::Array(items) if arg.get_value_delimiter().is_some() => {
            let items: Result<Vec<_>, _> = items.iter().map(|item| scalar(key, item)).collect();
            items?.join(",")
        }
        Value::Boolean(choice) if is_switch(arg) => choice.to_string(),
        single => scalar(key, single)?,
    };
    let is_path = arg.get_value_hint() == clap::ValueHint::FilePath;
    if is_path && text == "-" {
        return Err(format!(
            "{key} is standard input (expected a file; --{key} - on the command line takes it)"
        ));
    }
    let value = if is_path {
        locate(&text).into_os_string()
    } else {
        OsString::from(text)
    };
    let entry = Entry {
        key: key.to_owned(),
        value,
    };
    drop(command);
    check(&entry, options)?;
    Ok(entry)
}

/// Whether the option takes true and false.
fn is_switch(arg: &Arg) -> bool {
    let values = arg.get_possible_values();
    values
        .iter()
        .map(clap::builder::PossibleValue::get_name)
        .eq(["true", "false"])
}

fn scalar(key: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(Number(*number).to_string()),
        other => Err(format!(
            "{key} is of type {} (expected a string or a number)",
            other.type_str()
        )),
    }
}

/// Lets the option's own parser look at the value.
fn check(entry: &Entry, options: &Options) -> Result<(), String> {
    let Err(error) = options.read([entry]) else {
        return Ok(());
    };
    let shown = entry.value.to_string_lossy();
    let reason = std::error::Error::source(&error)
        .map_or_else(|| error.kind().to_string(), ToString::to_string);
    Err(format!("{} = {shown:?}: {reason}", entry.key))
}

/// `--key=value`.
fn argument(entry: &Entry) -> OsString {
    let mut argument = OsString::from(format!("--{}=", entry.key));
    argument.push(&entry.value);
    argument
}

/// Whether two options cannot be given together.
pub(super) fn contradict(command: &Command, a: &str, b: &str) -> bool {
    let one_way = |a: &str, b: &str| {
        find(command, a).is_some_and(|arg| {
            let conflicts = command.get_arg_conflicts_with(arg);
            conflicts.iter().any(|other| other.get_long() == Some(b))
        })
    };
    one_way(a, b) || one_way(b, a)
}

/// The option of this name.
pub(super) fn find<'c>(command: &'c Command, key: &str) -> Option<&'c Arg> {
    command
        .get_arguments()
        .find(|arg| arg.get_long() == Some(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::options;

    fn read(text: &str) -> Result<Vec<(String, String)>, Wrong> {
        let entries = parse(text, &Options::new(options()), &|file| {
            Path::new("folder").join(file)
        })?;
        Ok(entries
            .into_iter()
            .map(|entry| (entry.key, entry.value.into_string().unwrap()))
            .collect())
    }

    #[test]
    fn values_of_all_types_become_options() {
        let text = "# a comment\nmesh = \"16x22\"\nstrategy = [\"fsl\", \"as\"]\nload = 0.5\njobs = 1_000\n";
        let pairs = read(text).unwrap();
        let expected = [
            ("mesh", "16x22"),
            ("strategy", "fsl,as"),
            ("load", "0.5"),
            ("jobs", "1000"),
        ];
        assert_eq!(
            pairs,
            expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn a_log_is_looked_for_beside_the_scenario() {
        let pairs = read("swf = \"log.swf.gz\"").unwrap();
        assert_eq!(
            Path::new(&pairs[0].1),
            Path::new("folder").join("log.swf.gz")
        );
    }

    #[test]
    fn errors_name_line_and_reason() {
        for (text, line, part) in [
            (
                "mesh = \"8x8\"\n\nrelications = 3\n",
                3,
                "did you mean \"replications\"?",
            ),
            ("zzz = 1", 1, "unknown key \"zzz\" (known: mesh, "),
            ("\nmesh = \"8by8\"", 2, "expected WxH"),
            ("mesh = 0", 1, "expected WxH"),
            ("mesh = [\"8x8\"]", 1, "of type array"),
            ("load = true", 1, "of type boolean"),
            ("load = 0", 1, "over 0"),
            ("jobs = -5", 1, "at least 1"),
            ("strategy = \"fits\"", 1, "known: "),
            (
                "load = 0.4\n# and\ntraffic = 1.5",
                3,
                "contradicts load in line 1",
            ),
            (
                "swf = \"a.swf\"\nsizes = \"uniform\"",
                2,
                "contradicts swf in line 1",
            ),
            ("load = 0.4\nload = 0.5", 2, "duplicate"),
            ("mesh = \"8x8\"\nload 0.4", 2, ""),
            ("[run]\nload = 0.4", 1, "unknown key \"run\""),
            ("\n[grid]\nload = [0.4]", 2, "`host-sim sweep` runs"),
        ] {
            let Wrong { line: at, reason } = read(text).unwrap_err();
            assert!(
                at == line && reason.contains(part),
                "{text:?}: {at}: {reason}"
            );
            assert!(!reason.contains('\n'), "{text:?}: {reason}");
        }
    }
}
