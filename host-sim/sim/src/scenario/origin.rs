//! Where settings were given, and so where something is wrong with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::SettingError;

/// Where the settings of a scenario were given, which errors about them name.
#[derive(Clone, Debug, Default)]
pub enum Origin {
    /// In a program.
    #[default]
    Program,
    /// On the command line.
    CommandLine,
    /// In a file, or at a point of its grid.
    File(Arc<FileOrigin>),
}

/// The keys and the lines they are in.
pub(super) type Lines = BTreeMap<&'static str, usize>;

/// A scenario file; settings of the command line replace its settings.
#[derive(Debug)]
pub(super) struct ScenarioFile {
    /// What errors call it.
    pub(super) name: String,
    /// The keys that it gives, but for those of a grid.
    pub(super) lines: Lines,
    /// The keys that the command line gives.
    pub(super) given: Vec<&'static str>,
}

/// A scenario file, or a point of its grid.
#[derive(Debug)]
pub struct FileOrigin {
    file: Arc<ScenarioFile>,
    of_point: Lines,
    /// Which point it is; empty if there is no grid.
    label: String,
}

/// A label of keys and values in a line: `mesh = 16x16, load = 0.3`.
pub fn label_text(label: &[(String, String)]) -> String {
    let pairs = label.iter().map(|(key, value)| format!("{key} = {value}"));
    pairs.collect::<Vec<_>>().join(", ")
}

impl Origin {
    /// That of a scenario of which a file gives settings.
    pub(super) fn of_file(file: ScenarioFile) -> Self {
        Origin::of_point(&Arc::new(file), Lines::new(), &[])
    }

    /// That of a point of a file's grid.
    pub(super) fn of_point(
        file: &Arc<ScenarioFile>,
        of_point: Lines,
        label: &[(String, String)],
    ) -> Self {
        Origin::File(Arc::new(FileOrigin {
            file: file.clone(),
            of_point,
            label: label_text(label),
        }))
    }

    /// The error with the file and line of the first of its settings that stands in the file.
    pub fn place(&self, error: &SettingError) -> String {
        let origin = match self {
            Origin::Program => return error.to_string(),
            Origin::CommandLine => return error.on_command_line(),
            Origin::File(origin) => origin,
        };
        let ScenarioFile { name, lines, given } = &*origin.file;
        let line = |key: &str| origin.of_point.get(key).or_else(|| lines.get(key));
        let label = match &*origin.label {
            "" => String::new(),
            label => format!(" ({label})"),
        };
        let mut settings = error.settings().iter();
        match settings.clone().find_map(|&key| line(key)) {
            Some(line) => format!("{name}:{line}: {error}{label}"),
            None if settings.any(|key| given.contains(key)) => {
                format!("{}{label}", error.on_command_line())
            }
            None => format!("{name}: {error}{label}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_placed_where_the_first_of_its_settings_stands() {
        let error = SettingError::new(&["from", "swf"], "`from` requires `swf`");
        let dashes = "--from requires --swf";
        assert_eq!(Origin::default().place(&error), error.to_string());
        assert_eq!(Origin::CommandLine.place(&error), dashes);
        let origin = |lines: &[(&'static str, usize)],
                      of_point: &[(&'static str, usize)],
                      given: &[&'static str],
                      label: &[(String, String)]| {
            let file = ScenarioFile {
                name: "s.toml".to_owned(),
                lines: lines.iter().copied().collect(),
                given: given.to_vec(),
            };
            Origin::of_point(&Arc::new(file), of_point.iter().copied().collect(), label)
        };
        let seed = [("seed".to_owned(), "1".to_owned())];
        let reason = "`from` requires `swf`";
        for (origin, placed) in [
            (
                origin(&[("swf", 4), ("from", 7)], &[], &[], &[]),
                format!("s.toml:7: {reason}"),
            ),
            (
                origin(&[("swf", 4)], &[], &["from"], &[]),
                format!("s.toml:4: {reason}"),
            ),
            (
                origin(&[("load", 1)], &[], &["from"], &[]),
                dashes.to_owned(),
            ),
            (
                origin(&[("load", 1)], &[], &[], &[]),
                format!("s.toml: {reason}"),
            ),
            (
                origin(&[("from", 2)], &[], &[], &seed),
                format!("s.toml:2: {reason} (seed = 1)"),
            ),
            (
                origin(&[("swf", 4)], &[("from", 9)], &[], &seed),
                format!("s.toml:9: {reason} (seed = 1)"),
            ),
        ] {
            assert_eq!(origin.place(&error), placed);
        }
    }
}
