//! The places where settings were given, which errors about them show.

use std::sync::Arc;

use super::place::Place;
use super::table::Entry;
use crate::error::SettingError;

/// Where the settings of a scenario were given, which errors about them name.
#[derive(Clone, Debug, Default)]
pub enum Origin {
    /// In a program.
    #[default]
    Program,
    /// On the command line, and perhaps in a file.
    Given(Arc<Given>),
}

/// Where the settings of a point of a study were given.
#[derive(Debug)]
pub struct Given {
    /// The name of the file in errors, if there is a file.
    file: Option<Arc<str>>,
    places: Vec<(&'static str, Place)>,
    /// The label of the point; empty if there is one point.
    label: String,
}

/// A label of keys and values in a line: `mesh = 16x16, load = 0.3`.
pub fn label_text(label: &[(String, String)]) -> String {
    let pairs = label.iter().map(|(key, value)| format!("{key} = {value}"));
    pairs.collect::<Vec<_>>().join(", ")
}

impl Origin {
    /// The origin of these settings. If there is a file, it gives some of them. `label` is empty if
    /// there is one point.
    pub(super) fn of<'e>(
        file: Option<&Arc<str>>,
        entries: impl IntoIterator<Item = &'e Entry>,
        label: &[(String, String)],
    ) -> Self {
        let place = |entry: &Entry| (entry.setting.key, entry.place.clone());
        Origin::Given(Arc::new(Given {
            file: file.cloned(),
            places: entries.into_iter().map(place).collect(),
            label: label_text(label),
        }))
    }

    /// The error with the file and the line of the first of its settings that is in the file.
    /// Settings that were given on the command line have their dashes.
    pub fn place(&self, error: &SettingError) -> String {
        let origin = match self {
            Origin::Program => return error.to_string(),
            Origin::Given(origin) => origin,
        };
        let Given {
            file,
            places,
            label,
        } = &**origin;
        let of = |key: &str| places.iter().find(|(given, _)| *given == key);
        let line = |key: &&str| match of(key) {
            Some((_, Place::File(_, line))) => Some(*line),
            _ => None,
        };
        let is_on_command_line = |key: &str| matches!(of(key), Some((_, Place::CommandLine)));
        let mut settings = error.settings().iter();
        let label = match &**label {
            "" => String::new(),
            label => format!(" ({label})"),
        };
        let line = settings.clone().find_map(line);
        let is_here = line.is_none() && settings.any(|key| is_on_command_line(key));
        let Some(file) = file.as_ref().filter(|_| !is_here) else {
            return format!("{}{label}", error.on_command_line());
        };
        let error = error.with(|key| {
            if is_on_command_line(key) {
                format!("--{key}")
            } else {
                format!("`{key}`")
            }
        });
        match line {
            Some(line) => format!("{file}:{line}: {error}{label}"),
            None => format!("{file}: {error}{label}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Setting;
    use super::*;

    #[test]
    fn an_error_is_placed_where_the_first_of_its_settings_stands() {
        let error = SettingError::new(&["from", "log"], "`from` requires `log`");
        let dashes = "--from requires --log";
        assert_eq!(Origin::default().place(&error), error.to_string());
        assert_eq!(Origin::of(None, [], &[]).place(&error), dashes);
        let origin = |lines: &[(&str, usize)], given: &[&str], label: &[(String, String)]| {
            let file: Arc<str> = "s.toml".into();
            let entry = |key: &str, place| Entry {
                setting: Setting::of(key).unwrap(),
                values: vec!["7".into()],
                place,
            };
            let lines = lines.iter();
            let entries = lines.map(|&(key, line)| entry(key, Place::File(file.clone(), line)));
            let given = given.iter().map(|key| entry(key, Place::CommandLine));
            let entries: Vec<_> = entries.chain(given).collect();
            Origin::of(Some(&file), &entries, label)
        };
        let seed = [("seed".to_owned(), "1".to_owned())];
        let reason = "`from` requires `log`";
        for (origin, placed) in [
            (
                origin(&[("log", 4), ("from", 7)], &[], &[]),
                format!("s.toml:7: {reason}"),
            ),
            (
                origin(&[("log", 4)], &["from"], &[]),
                "s.toml:4: --from requires `log`".to_owned(),
            ),
            (origin(&[("load", 1)], &["from"], &[]), dashes.to_owned()),
            (
                origin(&[("load", 1)], &[], &[]),
                format!("s.toml: {reason}"),
            ),
            (
                origin(&[("from", 2)], &[], &seed),
                format!("s.toml:2: {reason} (seed = 1)"),
            ),
            (
                origin(&[("log", 4)], &[], &seed),
                format!("s.toml:4: {reason} (seed = 1)"),
            ),
        ] {
            assert_eq!(origin.place(&error), placed);
        }
    }
}
