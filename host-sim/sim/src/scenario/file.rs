//! Scenario files: TOML whose keys are settings.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::place::Place;
use super::table::{Entry, Form, SETTINGS, Setting, contradiction, unknown_key};
use crate::input;
use crate::names::canonical;
use crate::workload::empirical::names_file;

/// Keys that a reader of files does not take, for its error messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Foreign<'f> {
    /// Options that are not settings, since they are only for the command line.
    pub command_line: &'f [&'f str],
    /// Settings that have no use for this reader, and why. Other keys may have no use either.
    pub useless: &'f [(&'f str, &'f str)],
}

pub(super) fn read(
    path: &Path,
    name: &Arc<str>,
    foreign: Foreign<'_>,
) -> Result<Vec<Entry>, String> {
    let text =
        input::text(path).map_err(|error| format!("{name}: cannot read the scenario: {error}"))?;
    entries(&text, path, name, foreign)
}

/// The settings in the text of a file. Paths in the file are relative to the file's folder.
pub(super) fn entries(
    text: &str,
    path: &Path,
    name: &Arc<str>,
    foreign: Foreign<'_>,
) -> Result<Vec<Entry>, String> {
    let locate = |file: &str| beside(path, file);
    parse(&Reader::new(name, text, foreign, &locate))
        .map_err(|Wrong { line, reason }| format!("{name}:{line}: {reason}"))
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Wrong {
    line: usize,
    reason: String,
}

/// A file named in a scenario is looked for beside the scenario.
fn beside(scenario: &Path, file: &str) -> PathBuf {
    match scenario.parent() {
        Some(folder) => folder.join(file),
        None => PathBuf::from(file),
    }
}

/// The entries in the order of the file.
fn parse(reader: &Reader<'_>) -> Result<Vec<Entry>, Wrong> {
    let mut entries = Vec::new();
    let mut keys = Vec::new();
    for (line, key, value) in reader.in_order(&reader.table()?) {
        let entry = reader.entry(key, line, value)?;
        keys.push((line, entry.setting));
        agree(&keys)?;
        entries.push(entry);
    }
    Ok(entries)
}

/// A reader of the values of a scenario file.
struct Reader<'r> {
    name: &'r Arc<str>,
    text: &'r str,
    /// The beginnings of all lines except the first.
    lines: Vec<usize>,
    foreign: Foreign<'r>,
    locate: &'r dyn Fn(&str) -> PathBuf,
}

impl<'r> Reader<'r> {
    /// A reader of a file of this name with this text; `locate` finds files that it names.
    fn new(
        name: &'r Arc<str>,
        text: &'r str,
        foreign: Foreign<'r>,
        locate: &'r dyn Fn(&str) -> PathBuf,
    ) -> Self {
        let ends = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        Reader {
            name,
            text,
            lines: ends.map(|(at, _)| at + 1).collect(),
            foreign,
            locate,
        }
    }

    fn table(&self) -> Result<DeTable<'r>, Wrong> {
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

    fn place(&self, line: usize) -> Place {
        Place::File(self.name.clone(), line)
    }

    /// The line in which a value begins.
    fn line_of(&self, value: &Spanned<DeValue<'_>>) -> usize {
        self.line(value.span().start)
    }

    /// Lines, keys and values in the order of the file.
    fn in_order<'t, 'v>(
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

    /// Reads the value of a key in this line; an error has the line of the (wrong) value.
    fn entry(&self, key: &str, line: usize, value: &Spanned<DeValue<'_>>) -> Result<Entry, Wrong> {
        let setting = self.setting(key).map_err(|reason| Wrong { line, reason })?;
        let key = setting.key;
        let items = match value.get_ref() {
            DeValue::Array(items) if items.is_empty() => {
                let (line, reason) = (self.line_of(value), no_values(key));
                return Err(Wrong { line, reason });
            }
            DeValue::Array(items) => items.iter().collect(),
            _ => vec![value],
        };
        let mut values = Vec::with_capacity(items.len());
        let mut seen = HashSet::with_capacity(items.len());
        for item in items {
            for value in self.single(setting, item)? {
                // The rule of `names::each_once`.
                if seen.insert(value.clone()) {
                    values.push(value);
                }
            }
        }
        if setting.form == Form::List {
            values = vec![values.join(OsStr::new(","))];
        }
        Ok(Entry {
            setting,
            values,
            place: self.place(self.line_of(value)),
        })
    }

    fn setting(&self, key: &str) -> Result<&'static Setting, String> {
        let key = &*canonical(key);
        let Foreign {
            command_line,
            useless,
        } = self.foreign;
        if let Some((_, reason)) = useless.iter().find(|(other, _)| *other == key) {
            return Err(format!("`{key}` has no use here: {reason}"));
        }
        if command_line.contains(&key) {
            return Err(format!(
                "`{key}` is an option of the command line only (expected --{key} there)"
            ));
        }
        let is_useless = |key: &str| useless.iter().any(|(other, _)| *other == key);
        let keys = SETTINGS.iter().map(|setting| setting.key);
        Setting::of(key).ok_or_else(|| unknown_key(key, keys.filter(|key| !is_useless(key))))
    }

    fn single(
        &self,
        setting: &'static Setting,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Vec<OsString>, Wrong> {
        let (line, key) = (self.line_of(value), setting.key);
        let wrong = |reason| Wrong { line, reason };
        let text = text_of(value.get_ref(), setting.form).map_err(|expected| {
            let kind = value.get_ref().type_str();
            wrong(format!("`{key}` is of type {kind} (expected {expected})"))
        })?;
        let value_text = match setting.form {
            Form::File if text == "-" => {
                return Err(wrong(format!(
                    "`{key}` is standard input (expected a file; --{key} - on the command line takes it)"
                )));
            }
            Form::File => (self.locate)(&text).into_os_string(),
            Form::NameOrFile if names_file(&text) => (self.locate)(&text).into_os_string(),
            _ => OsString::from(text),
        };
        setting.one_or_range(&value_text).map_err(|expected| {
            // As it is written in the file.
            let shown = self.text[value.span()].lines().next();
            wrong(format!("{key} = {}: {expected}", shown.unwrap_or_default()))
        })
    }
}

/// The message about a key whose list is empty.
fn no_values(key: &str) -> String {
    format!("`{key}` has no values (expected at least one)")
}

/// Whether these settings, each with its line, go together.
fn agree(keys: &[(usize, &'static Setting)]) -> Result<(), Wrong> {
    let settings: Vec<_> = keys.iter().map(|(_, setting)| *setting).collect();
    let Some((earlier, at)) = contradiction(&settings) else {
        return Ok(());
    };
    let ((before, other), (line, setting)) = (keys[earlier], keys[at]);
    let (key, other) = (setting.key, other.key);
    Err(Wrong {
        line,
        reason: format!(
            "`{key}` contradicts `{other}` in line {before} (expected only one of them)"
        ),
    })
}

/// A value as the text that the command line would have, for a setting of this form; the error is
/// what was expected.
fn text_of(value: &DeValue<'_>, form: Form) -> Result<String, &'static str> {
    match (value, form) {
        (DeValue::String(text), _) => Ok(text.to_string()),
        (DeValue::Boolean(choice), Form::Switch) => Ok(choice.to_string()),
        (_, Form::Switch) => Err("true or false"),
        (_, Form::File | Form::NameOrFile) => Err("a string"),
        (DeValue::Integer(digits), _) => {
            let number = i128::from_str_radix(digits.as_str(), digits.radix());
            // A number that is too large is left to the setting.
            Ok(number.map_or_else(|_| digits.to_string(), |number| number.to_string()))
        }
        (DeValue::Float(digits), _) => Ok(digits.as_str().to_owned()),
        _ => Err("a string or a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, String)>, Wrong> {
        let foreign = Foreign {
            command_line: &["search-time", "threads"],
            useless: &[],
        };
        let locate = |file: &str| Path::new("folder").join(file);
        let name = "s.toml".into();
        let entries = parse(&Reader::new(&name, text, foreign, &locate))?;
        Ok(entries
            .into_iter()
            .map(|entry| {
                (
                    entry.setting.key.to_owned(),
                    entry.values.join(OsStr::new("|")).into_string().unwrap(),
                )
            })
            .collect())
    }

    #[test]
    fn values_of_all_types_become_options() {
        let text = "# a comment\nmesh = \"16x22\"\nstrategy = [\"fsl\", \"as\"]\nload = 0.50\n\
                    JOBS = 1e3\nseed = 0x1f\nwarmup = -0.0\nside-range = 4\n";
        let pairs = read(text).unwrap();
        let expected = [
            ("mesh", "16x22"),
            ("strategy", "fsl,as"),
            ("load", "0.5"),
            ("jobs", "1000"),
            ("seed", "31"),
            ("warmup", "0"),
            ("side-range", "1..4"),
        ];
        assert_eq!(
            pairs,
            expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn a_log_is_looked_for_beside_the_scenario() {
        let pairs = read("log = \"log.swf.gz\"").unwrap();
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
                "`blocking` has no values (expected at least one)",
            ),
            (
                "blocking = 1",
                1,
                "of type integer (expected true or false)",
            ),
            ("jobs = 1.5e0", 1, "jobs = 1.5e0: expected a whole number"),
            ("jobs = 20.0", 1, "jobs = 20.0: expected a whole number"),
            ("seed = 3.0", 1, "seed = 3.0: expected a whole number"),
            ("log = 3", 1, "`log` is of type integer (expected a string)"),
            ("mix = 3.5", 1, "`mix` is of type float (expected a string)"),
            ("failures = true", 1, "of type boolean (expected a string)"),
            ("from = 1979-05-27", 1, "of type datetime (expected"),
            ("warmup = nan", 1, "warmup = nan: expected a number from 0"),
            ("mesh = 0", 1, "expected WxH"),
            ("mesh = [[\"8x8\"]]", 1, "of type array"),
            ("load = true", 1, "of type boolean"),
            ("load = 0", 1, "over 0"),
            ("jobs = -5", 1, "jobs = -5: expected a whole number, 1 to"),
            ("strategy = \"fits\"", 1, "known: "),
            (
                "load = 0.4\n# and\ntraffic-ratio = 1.5",
                3,
                "contradicts `load` in line 1",
            ),
            (
                "log = \"a.swf\"\nside-lengths = \"uniform\"",
                2,
                "contradicts `log` in line 1",
            ),
            ("load = 0.4\nload = 0.5", 2, "duplicate"),
            ("mesh = \"8x8\"\nload 0.4", 2, ""),
            ("[run]\nload = 0.4", 1, "unknown key \"run\""),
            ("\n[grid]\nload = [0.4]", 2, "unknown key \"grid\""),
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
