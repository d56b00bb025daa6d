//! A scenario file under options of the command line. An option replaces the same key of the file,
//! and the keys that contradict it. What needs a replaced key is not used either. Keys that are not
//! used, and have no option of their name beside them, are named in a note.

use std::fmt;
use std::path::Path;

use super::file::{self, Foreign};
use super::needs::{self, Need};
use super::origin::{Origin, ScenarioFile};
use super::table::{Entry, Scenario, Setting};

/// The settings `given` on the command line and, if there is one, those of a file, and where they
/// were given. The text is a note about keys of the file that are not used; an error is one line,
/// with its place in the file.
pub fn read(
    given: &[Entry],
    path: Option<&Path>,
    foreign: Foreign<'_>,
) -> Result<(Scenario, Origin, Option<String>), String> {
    let Some(path) = path else {
        let scenario = Scenario::of(given).map_err(|error| error.on_command_line())?;
        return Ok((scenario, Origin::CommandLine, None));
    };
    let entries = file::read(path, foreign)?;
    let over: Vec<_> = given.iter().map(|entry| entry.setting).collect();
    let (mut entries, unused) = replaced(&over, entries);
    let note = (!unused.is_empty()).then(|| format!("note: {}: {unused}", path.display()));
    let origin = Origin::of_file(ScenarioFile {
        name: path.display().to_string(),
        lines: file::lines(&entries),
        given: over.iter().map(|setting| setting.key).collect(),
    });
    entries.extend_from_slice(given);
    let scenario = Scenario::of(&entries).map_err(|error| origin.place(&error))?;
    Ok((scenario, origin, note))
}

/// The entries of a file that settings `given` on the command line leave, and the keys that are not
/// used though none of these settings has their name.
fn replaced(given: &[&'static Setting], mut entries: Vec<Entry>) -> (Vec<Entry>, Unused) {
    let mut unused = Unused::default();
    entries.retain(|entry| {
        if given.iter().any(|over| over.key == entry.setting.key) {
            return false;
        }
        let beside = given.iter().filter(|over| over.contradicts(entry.setting));
        let beside: Vec<_> = beside.map(|over| over.key).collect();
        if beside.is_empty() {
            return true;
        }
        unused.keys.push((entry.clone(), None));
        let new = beside
            .into_iter()
            .filter(|key| !unused.beside.contains(key));
        let new: Vec<_> = new.collect();
        unused.beside.extend(new);
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
    given: &[&'static Setting],
    entries: &[Entry],
    unused: &Unused,
) -> Option<Need> {
    let mut there: Vec<_> = given.iter().map(|over| over.key).collect();
    there.extend(entries.iter().map(|other| other.setting.key));
    let is_there = |key: &str| there.contains(&key);
    let is_unused = |key: &str| {
        unused
            .keys
            .iter()
            .any(|(other, _)| other.setting.key == key)
    };
    needs::needs(entry.setting, &entry.value).find(|need| {
        let mut others = need.iter();
        !others.clone().any(|key| is_there(key)) && others.any(|key| is_unused(key))
    })
}

/// Keys of a file that are not used beside options of the command line.
#[derive(Default)]
struct Unused {
    /// The options that contradict some of them.
    beside: Vec<&'static str>,
    /// The keys in the order of the file; those that contradict none with what they need.
    keys: Vec<(Entry, Option<Need>)>,
}

impl Unused {
    fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options: Vec<_> = self.beside.iter().map(|key| format!("--{key}")).collect();
        write!(f, "not used with {}:", options.join(", "))?;
        for (place, (entry, need)) in self.keys.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(
                f,
                "{comma} `{}` (line {}",
                entry.setting.key,
                entry.line.unwrap_or(1)
            )?;
            if let Some(need) = need {
                write!(f, ", needs {}", needs::words(need))?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}
