//! Layers of settings: those of a command, of a scenario file, of the command line. Settings of one
//! choice, such as when jobs arrive, replace those of the layers below that contradict them. Any
//! other contradiction between layers is an error that names both places.

use std::path::Path;
use std::sync::Arc;

use super::file::{self, Foreign};
use super::place::Place;
use super::study::Study;
use super::table::{Entry, Setting};
use crate::wording::any_of;

/// Choices: a later setting of a choice replaces the earlier settings that contradict it.
const CHOICES: &[&[&str]] = &[
    &["mesh", "torus", "machine"],
    &["side-lengths", "side-range", "processors", "mix"],
    &[
        "load",
        "traffic-ratio",
        "arrival-rate",
        "batch",
        "backlog",
        "interarrival",
        "log",
    ],
    &["service-mean", "service"],
    &["iterations", "iteration-seconds"],
    &[
        "replications",
        "until-rel-error",
        "until-abs-error",
        "max-replications",
    ],
];

/// Whether `later` takes the place of `earlier`. Random jobs do not take the place of a log, since
/// their distributions were not chosen.
fn replaces(later: &Setting, earlier: &Setting) -> bool {
    let is_log = |setting: &Setting| setting.key == "log";
    later.key == earlier.key
        || later.contradicts(earlier)
            && choice(later.key, earlier.key).is_some()
            && (is_log(later) || !is_log(earlier))
}

/// The choice that both settings make.
fn choice(one: &str, other: &str) -> Option<&'static [&'static str]> {
    let has = |choice: &&&[&str]| choice.contains(&one) && choice.contains(&other);
    CHOICES.iter().copied().find(|choice| has(&choice))
}

fn load_of_a_log(one: &str, other: &str) -> Option<&'static str> {
    let is_load = matches!((one, other), ("log", "load") | ("load", "log"));
    is_load.then_some("--log-load sets the load of a log")
}

/// What to do in place of giving two settings that contradict each other, if that is not obvious.
///
/// ```
/// use meshalloc_sim::scenario::way_out;
/// let tip = way_out("mesh", "machine").unwrap();
/// assert_eq!(tip, "give one of them: --mesh, --machine or --torus");
/// assert_eq!(way_out("warmup", "log"), None);
/// ```
pub fn way_out(one: &str, other: &str) -> Option<String> {
    if let Some(tip) = load_of_a_log(one, other) {
        return Some(tip.into());
    }
    // The two settings, and the settings of the same choice that contradict all of them.
    let mut rivals = vec![Setting::of(one)?, Setting::of(other)?];
    for key in choice(one, other)? {
        let setting = Setting::of(key)?;
        if rivals.iter().all(|rival| rival.contradicts(setting)) {
            rivals.push(setting);
        }
    }
    let keys = rivals.iter().map(|setting| format!("--{}", setting.key));
    Some(format!("give one of them: {}", any_of(keys)))
}

/// The settings `given` on the command line, or by the command itself, over those of a file, if
/// there is one. The text is a note about keys of the file that others replace.
///
/// # Errors
///
/// When the file cannot be read, is not TOML, or has a key that is unknown, contradicts another key
/// or has a value that its setting does not take: one line with the places and what was expected.
pub fn read(
    given: Vec<Entry>,
    path: Option<&Path>,
    foreign: Foreign<'_>,
) -> Result<(Study, Option<String>), String> {
    let Some(path) = path else {
        return Ok((Study::of(given, None), None));
    };
    let name: Arc<str> = path.display().to_string().into();
    let (entries, note) = stacked(&given, file::read(path, &name, foreign)?)?;
    let note = note.map(|note| format!("note: {name}: {note}"));
    Ok((Study::of(entries, Some(name)), note))
}

/// The entries that hold out of those of a file and those given over it, and a note about the
/// entries of the file that others replace.
fn stacked(given: &[Entry], below: Vec<Entry>) -> Result<(Vec<Entry>, Option<String>), String> {
    // Settings of the command itself are only defaults.
    let is_default = |over: &Entry| matches!(over.place, Place::Command(_));
    let in_file = |key: &str| below.iter().any(|entry| entry.setting.key == key);
    let given = given.iter();
    let given = given.filter(|over| !(is_default(over) && in_file(over.setting.key)));
    let given: Vec<_> = given.cloned().collect();
    let replacing = |entry: &Entry| {
        let mut over = given.iter();
        over.find(|over| replaces(over.setting, entry.setting))
    };
    let (replaced, kept): (Vec<_>, Vec<_>) = below
        .into_iter()
        .partition(|entry| replacing(entry).is_some());
    for entry in &kept {
        let mut over = given.iter();
        if let Some(over) = over.find(|over| over.setting.contradicts(entry.setting)) {
            return Err(contradiction(entry, over));
        }
        let all = given.iter().chain(&kept);
        let keys: Vec<_> = all.map(|entry| entry.setting.key).collect();
        for need in entry.setting.needs {
            let is_one = |other: &&Entry| need.contains(&other.setting.key);
            if !need.iter().any(|key| keys.contains(key))
                && let Some(needed) = replaced.iter().find(is_one)
                && let Some(over) = replacing(needed)
            {
                return Err(unmet(entry, needed, over));
            }
        }
    }
    let others = replaced.iter().filter_map(|entry| {
        let over = replacing(entry)?;
        let (Setting { key, .. }, Place::File(_, line)) = (entry.setting, &entry.place) else {
            return None;
        };
        let by = over.place.of(over.setting.key);
        (over.setting.key != *key).then(|| format!("{by} replaces `{key}` (line {line})"))
    });
    let others: Vec<_> = others.collect();
    let note = (!others.is_empty()).then(|| others.join(", "));
    Ok((kept.into_iter().chain(given).collect(), note))
}

/// The error about a key of a file that contradicts a setting given over it.
fn contradiction(entry: &Entry, over: &Entry) -> String {
    let (key, other) = (entry.setting.key, over.setting.key);
    let tip = load_of_a_log(key, other).map_or_else(String::new, |tip| format!("; {tip}"));
    let (begin, by, expected) = (begin(entry), over.place.of(other), expected(entry, over));
    format!("{begin} contradicts {by} (expected {expected}{tip})")
}

/// The error about a key of a file that needs another key, which is replaced.
fn unmet(entry: &Entry, needed: &Entry, over: &Entry) -> String {
    let (begin, needed) = (begin(entry), needed.setting.key);
    let (by, expected) = (over.place.of(over.setting.key), expected(entry, over));
    format!("{begin} requires `{needed}`, which {by} replaces (expected {expected})")
}

/// How an error about an entry of a file begins.
fn begin(entry: &Entry) -> String {
    let key = entry.setting.key;
    match &entry.place {
        Place::File(file, line) => format!("{file}:{line}: `{key}`"),
        other => other.of(key),
    }
}

fn expected(entry: &Entry, over: &Entry) -> String {
    let of_file = format!("no `{}` in the file", entry.setting.key);
    match over.place {
        Place::Command(_) => of_file,
        _ => format!("no --{}, or {of_file}", over.setting.key),
    }
}
