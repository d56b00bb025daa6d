//! A scenario file under options of the command line.
//!
//! An option replaces the same key of the file, and the keys that contradict it. What needs a replaced key is not used
//! either. Keys that are not used, and have no option of their name beside them, are named on standard error.

use std::fmt;
use std::path::Path;

use clap::Command;

use super::error::{self, Origin, ScenarioFile};
use super::file::{self, Entry};
use super::given::{self, Given};
use super::needs::Need;
use super::{Resolved, options};
use crate::failure;

/// The scenario of the settings `given` on the command line and, if there is one, of a file;
/// `command_line` are the options of the command that are no keys of a file.
///
/// # Errors
///
/// One line about what is wrong, with its place in the file.
pub(crate) fn read<T>(
    given: &Given<T>,
    path: Option<&Path>,
    command_line: &'static [&'static str],
) -> Result<Resolved, String> {
    let Some(path) = path else {
        return Ok(given.scenario().resolve()?);
    };
    let options = file::Options::new(options()).beside(command_line);
    let keys: Vec<&str> = given.entries().iter().map(|entry| &*entry.key).collect();
    let entries = file::read(path, &options)?;
    let (mut entries, unused) = replaced(&options.command(), &keys, entries);
    if !unused.is_empty() {
        failure::to_stderr(&format_args!("note: {}: {unused}", path.display()));
    }
    let origin = Origin::of_file(ScenarioFile {
        name: path.display().to_string(),
        lines: error::lines(&entries),
        given: keys.into_iter().map(str::to_owned).collect(),
    });
    entries.extend_from_slice(given.entries());
    let scenario = given::scenario(&options, &entries);
    let scenario = scenario.map_err(|error| format!("{}: {error}", path.display()))?;
    scenario.resolve_of(origin)
}

/// The entries of a file that options `given` on the command line leave, and the keys that are not used though none of these
/// options has their name.
fn replaced<'g>(
    command: &Command,
    given: &[&'g str],
    mut entries: Vec<Entry>,
) -> (Vec<Entry>, Unused<'g>) {
    let mut unused = Unused::default();
    entries.retain(|entry| {
        if given.contains(&&*entry.key) {
            return false;
        }
        let contradicts = |option: &&str| file::contradict(command, option, &entry.key);
        let beside: Vec<_> = given.iter().copied().filter(contradicts).collect();
        if beside.is_empty() {
            return true;
        }
        unused.keys.push((entry.clone(), None));
        let known = std::mem::take(&mut unused.beside);
        let new = beside.into_iter().filter(|option| !known.contains(option));
        unused.beside = known.iter().copied().chain(new).collect();
        false
    });
    // What needs one of them is not used either, nor what needs that.
    while let Some((at, need)) = entries
        .iter()
        .enumerate()
        .find_map(|(at, entry)| Some((at, unmet(entry, given, &entries, &unused)?)))
    {
        unused.keys.push((entries.remove(at), Some(need)));
    }
    unused.keys.sort_by_key(|(entry, _)| entry.line);
    (entries, unused)
}

/// What the entry needs and does not have any more.
fn unmet(
    entry: &Entry,
    given: &[&str],
    entries: &[Entry],
    unused: &Unused<'_>,
) -> Option<&'static Need> {
    let is_there = |key: &str| given.contains(&key) || entries.iter().any(|other| other.key == key);
    let is_unused = |key: &str| unused.keys.iter().any(|(other, _)| other.key == key);
    Need::of(&entry.key, &entry.value).find(|need| {
        let mut others = need.of.iter();
        !others.clone().any(|key| is_there(key)) && others.any(|key| is_unused(key))
    })
}

/// Keys of a file that are not used beside options of the command line.
#[derive(Default)]
struct Unused<'g> {
    /// The options that contradict some of them.
    beside: Vec<&'g str>,
    /// The keys in the order of the file; those that contradict none with what they need.
    keys: Vec<(Entry, Option<&'static Need>)>,
}

impl Unused<'_> {
    fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl fmt::Display for Unused<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options: Vec<_> = self.beside.iter().map(|key| format!("--{key}")).collect();
        write!(f, "not used beside {}:", options.join(", "))?;
        for (place, (entry, need)) in self.keys.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(
                f,
                "{comma} `{}` (line {}",
                entry.key,
                entry.line.unwrap_or(1)
            )?;
            if let Some(need) = need {
                write!(f, ", needs {}", need.words())?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}
