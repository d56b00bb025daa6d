//! Scenario files: TOML whose keys are the options of `run`, without the dashes.
//!
//! Each value goes through the parser of its option, so files and options take the same values.

use std::cell::{Ref, RefCell};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{Arg, ArgMatches, Command};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use meshalloc_sim::input;
use meshalloc_sim::names::nearest;
use meshalloc_sim::wording::Number;

/// The name of the table of a sweep.
pub(super) const GRID: &str = "grid";

/// The options of `run` that are no keys of its scenario files.
pub(crate) const OF_RUN_ONLY: &[&str] = &[
    "jobs-output",
    "plot",
    "plot-output",
    "scenario",
    "search-time",
    "threads",
];

/// Those of `view`.
pub(crate) const OF_VIEW_ONLY: &[&str] = &["output", "scenario"];

/// Those of `sweep`.
pub(crate) const OF_SWEEP_ONLY: &[&str] =
    &["merge", "output", "restart", "shard", "shards", "threads"];

/// An option with its value as text, as if it stood on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The option's name, without the dashes.
    pub(super) key: String,
    /// Its value; several are separated by commas.
    pub(super) value: OsString,
    /// The line of the value, or of the first of several; `None` if it stands in no file.
    pub(super) line: Option<usize>,
}

/// The values of options, read by the options' own parsers.
///
/// A command that clap has parsed with is used again, as making one takes longer than reading a value.
pub(super) struct Options {
    command: RefCell<Command>,
    /// Options that are no keys, as they stand on the command line only.
    command_line: &'static [&'static str],
    /// Options of other commands that these have no use for, and why.
    useless: &'static [(&'static str, &'static str)],
}

impl Options {
    /// Those of this command, which is built.
    pub(super) fn new(command: Command) -> Self {
        Options {
            command: RefCell::new(command),
            command_line: &[],
            useless: &[],
        }
    }

    /// The same; options that stand on the command line only.
    pub(super) fn beside(self, command_line: &'static [&'static str]) -> Self {
        Options {
            command_line,
            ..self
        }
    }

    /// The same; options of other commands, and why there is no use for them here.
    pub(super) fn without(self, useless: &'static [(&'static str, &'static str)]) -> Self {
        Options { useless, ..self }
    }

    /// The command.
    pub(super) fn command(&self) -> Ref<'_, Command> {
        self.command.borrow()
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
        let mut command = self.command.borrow_mut();
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
    let text = text(path)?;
    parse(&text, options, &|file| beside(path, file))
        .map_err(|Wrong { line, reason }| format!("{name}:{line}: {reason}"))
}

/// The text of a scenario file.
///
/// # Errors
///
/// When it cannot be read, is too large or is not UTF-8.
pub(super) fn text(path: &Path) -> Result<String, String> {
    let name = path.display();
    input::text(path).map_err(|error| format!("{name}: cannot read the scenario: {error}"))
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

/// The entries in the order of the file.
fn parse(
    text: &str,
    options: &Options,
    locate: &dyn Fn(&str) -> PathBuf,
) -> Result<Vec<Entry>, Wrong> {
    let reader = Reader::new(text, options, locate);
    let mut entries: Vec<(usize, Entry)> = Vec::new();
    for (line, key, value) in reader.in_order(&reader.table()?) {
        let entry = reader.entry(key, line, value)?;
        let earlier = entries.iter().map(|(line, entry)| (*line, &*entry.key));
        agree(&options.command(), earlier, &entry.key).map_err(|reason| Wrong { line, reason })?;
        entries.push((line, entry));
    }
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// What the values of a scenario file are read with.
pub(super) struct Reader<'r> {
    text: &'r str,
    /// Where lines begin, but for the first.
    lines: Vec<usize>,
    pub(super) options: &'r Options,
    locate: &'r dyn Fn(&str) -> PathBuf,
}

impl<'r> Reader<'r> {
    /// Of a file with this text; files that it names are found by `locate`.
    pub(super) fn new(
        text: &'r str,
        options: &'r Options,
        locate: &'r dyn Fn(&str) -> PathBuf,
    ) -> Self {
        let ends = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        Reader {
            text,
            lines: ends.map(|(at, _)| at + 1).collect(),
            options,
            locate,
        }
    }

    /// The whole file.
    ///
    /// # Errors
    ///
    /// When it is no TOML.
    pub(super) fn table(&self) -> Result<DeTable<'r>, Wrong> {
        let table = DeTable::parse(self.text).map_err(|error| Wrong {
            line: self.line(error.span().map_or(0, |span| span.start)),
            reason: error.message().replace('\n', ", "),
        })?;
        Ok(table.into_inner())
    }

    /// The number of the line, from 1, in which the byte `at` is.
    fn line(&self, at: usize) -> usize {
        1 + self.lines.partition_point(|&begin| begin <= at)
    }

    /// The line in which a value begins.
    pub(super) fn line_of(&self, value: &Spanned<DeValue<'_>>) -> usize {
        self.line(value.span().start)
    }

    /// Lines, keys and values in the order of the file.
    pub(super) fn in_order<'t, 'v>(
        &self,
        table: &'t DeTable<'v>,
    ) -> Vec<(usize, &'t str, &'t Spanned<DeValue<'v>>)> {
        let mut pairs: Vec<_> = table.iter().collect();
        pairs.sort_by_key(|(key, _)| key.span().start);
        let pairs = pairs.into_iter().map(|(key, value)| {
            let line = self.line(key.span().start);
            (line, &**key.get_ref(), value)
        });
        pairs.collect()
    }

    /// Reads the value of a key in this line through the parser of its option.
    ///
    /// # Errors
    ///
    /// When there is no such option, or it does not take the value; the line is that of the value, among several of the wrong one.
    pub(super) fn entry(
        &self,
        key: &str,
        line: usize,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Entry, Wrong> {
        let command = self.options.command();
        let Some(arg) = find(&command, key).cloned() else {
            let reason = unknown(key, self.options, &command);
            return Err(Wrong { line, reason });
        };
        drop(command);
        match value.get_ref() {
            DeValue::Array(items) if arg.get_value_delimiter().is_some() => {
                if items.is_empty() {
                    let line = self.line_of(value);
                    let reason = no_values(key);
                    return Err(Wrong { line, reason });
                }
                let items = items.iter().map(|item| self.single(&arg, key, item));
                let items = items.collect::<Result<Vec<_>, Wrong>>()?;
                let values: Vec<_> = items.into_iter().map(|entry| entry.value).collect();
                Ok(Entry {
                    key: key.to_owned(),
                    value: values.join(std::ffi::OsStr::new(",")),
                    line: Some(self.line_of(value)),
                })
            }
            _ => self.single(&arg, key, value),
        }
    }

    /// One value.
    fn single(&self, arg: &Arg, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Entry, Wrong> {
        let line = self.line_of(value);
        let wrong = |reason| Wrong { line, reason };
        let text = match value.get_ref() {
            DeValue::Boolean(choice) if is_switch(arg) => choice.to_string(),
            other => scalar(other).ok_or_else(|| {
                let expected = match is_switch(arg) {
                    true => "true or false",
                    false => "a string or a number",
                };
                let kind = other.type_str();
                wrong(format!("`{key}` is of type {kind} (expected {expected})"))
            })?,
        };
        let is_path = arg.get_value_hint() == clap::ValueHint::FilePath;
        if is_path && text == "-" {
            return Err(wrong(format!(
                "`{key}` is standard input (expected a file; --{key} - on the command line takes it)"
            )));
        }
        let value_text = if is_path {
            (self.locate)(&text).into_os_string()
        } else {
            OsString::from(text)
        };
        let entry = Entry {
            key: key.to_owned(),
            value: value_text,
            line: Some(line),
        };
        // As it is written in the file.
        let shown = &self.text[value.span()];
        check(
            &entry,
            shown.lines().next().unwrap_or_default(),
            self.options,
        )
        .map_err(wrong)?;
        Ok(entry)
    }
}

/// The message about a key that is no option here.
fn unknown(key: &str, options: &Options, command: &Command) -> String {
    if key == GRID {
        return format!("a scenario has no `{GRID}` (`host-sim sweep` runs files with one)");
    }
    if let Some((_, reason)) = options.useless.iter().find(|(option, _)| *option == key) {
        return format!("`{key}` has no use here: {reason}");
    }
    if options.command_line.contains(&key) {
        return format!("`{key}` is an option of the command line only (expected --{key} there)");
    }
    let keys: Vec<_> = command.get_arguments().filter_map(Arg::get_long).collect();
    match nearest(key, keys.iter().copied()) {
        Some(near) => format!("unknown key {key:?}; did you mean {near:?}?"),
        None => format!("unknown key {key:?} (known: {})", keys.join(", ")),
    }
}

/// The message about a key whose list is empty.
pub(super) fn no_values(key: &str) -> String {
    format!("`{key}` has no values (expected at least one)")
}

/// Whether `key` goes with all earlier ones, which come with their lines.
pub(super) fn agree<'k>(
    command: &Command,
    mut earlier: impl Iterator<Item = (usize, &'k str)>,
    key: &str,
) -> Result<(), String> {
    match earlier.find(|(_, other)| contradict(command, other, key)) {
        Some((line, other)) => Err(format!(
            "`{key}` contradicts `{other}` in line {line} (expected only one of them)"
        )),
        None => Ok(()),
    }
}

/// Whether the option takes true and false.
fn is_switch(arg: &Arg) -> bool {
    let values = arg.get_possible_values();
    names_of(&values).eq(["true", "false"])
}

/// The values as they are written.
fn names_of(values: &[PossibleValue]) -> impl Iterator<Item = &str> {
    values.iter().map(PossibleValue::get_name)
}

/// A value as an option has it, if it is a string or a number.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    let number = |text: &str| text.parse().map(|number: f64| Number(number).to_string());
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(digits) => {
            let number = i128::from_str_radix(digits.as_str(), digits.radix());
            // One that is too large is left to the option.
            Some(number.map_or_else(|_| digits.to_string(), |number| number.to_string()))
        }
        DeValue::Float(digits) => number(digits.as_str()).ok(),
        _ => None,
    }
}

/// Lets the option's own parser look at the value, which is shown like this.
fn check(entry: &Entry, shown: &str, options: &Options) -> Result<(), String> {
    let Err(error) = options.read([entry]) else {
        return Ok(());
    };
    let reason = match std::error::Error::source(&error) {
        Some(source) => source.to_string(),
        // An option that takes only certain values has no reason of its own.
        None => match find(&options.command(), &entry.key).map(Arg::get_possible_values) {
            Some(values) if !values.is_empty() => {
                let values: Vec<_> = names_of(&values).collect();
                format!("expected {}", values.join(" or "))
            }
            _ => error.kind().to_string(),
        },
    };
    Err(format!("{} = {shown}: {reason}", entry.key))
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
        let options = Options::new(options()).beside(OF_RUN_ONLY);
        let entries = parse(text, &options, &|file| Path::new("folder").join(file))?;
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
            ("\nmesh = \"8by8\"", 2, "mesh = \"8by8\": "),
            ("\nmesh = \"8by8\"", 2, "expected WxH"),
            ("\nreplications = 2.5", 2, "replications = 2.5: expected"),
            (
                "load = 1e-400",
                1,
                "load = 1e-400: expected a number over 0",
            ),
            (
                "strategy = [\n  \"ff\",\n  \"fits\",\n  \"as\",\n]",
                3,
                "strategy = \"fits\": unknown strategy",
            ),
            (
                "threads = 2",
                1,
                "`threads` is an option of the command line only (expected --threads there)",
            ),
            (
                "search-time = true",
                1,
                "`search-time` is an option of the command line only",
            ),
            ("shards = 2", 1, "unknown key \"shards\""),
            (
                "replications = 1_000_000_000_000_000_000_000_000_000_000_000_000_000",
                1,
                "000: expected a whole number, 1 to",
            ),
            (
                "load = 0x1_0000_0000_0000_0000_0000_0000_0000_0000",
                1,
                "0000: expected a number over 0",
            ),
            (
                "\nstrategy = []",
                2,
                "`strategy` has no values (expected at least one)",
            ),
            (
                "pattern = \"ring\"\nblocking = \"yes\"",
                2,
                "blocking = \"yes\": expected true or false",
            ),
            (
                "blocking = []",
                1,
                "`blocking` is of type array (expected true or false)",
            ),
            ("blocking = 1", 1, "blocking = 1: expected true or false"),
            ("mesh = 0", 1, "expected WxH"),
            ("mesh = [\"8x8\"]", 1, "of type array"),
            ("load = true", 1, "of type boolean"),
            ("load = 0", 1, "over 0"),
            ("jobs = -5", 1, "jobs = -5: expected a whole number, 1 to"),
            ("strategy = \"fits\"", 1, "known: "),
            (
                "load = 0.4\n# and\ntraffic = 1.5",
                3,
                "contradicts `load` in line 1",
            ),
            (
                "swf = \"a.swf\"\nsizes = \"uniform\"",
                2,
                "contradicts `swf` in line 1",
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
