//! What is wrong with options, which of them it is about, and where they were given.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::file::Entry;
use crate::failure::Failure;
use crate::identity::label_text;
use meshalloc_sim::workload::WorkloadError;
use meshalloc_sim::workload::error::out_of_range;

/// What is wrong with options, and which of them it is about.
///
/// It is shown as on the command line, with dashes before options, unless they are known to stand in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError {
    /// Without the dashes; that of which the place is shown first.
    options: Vec<&'static str>,
    /// Options are in backquotes, and nothing else is.
    reason: String,
}

impl OptionError {
    /// An error about these options, which `reason` has in backquotes.
    pub(crate) fn new(options: &[&'static str], reason: impl Into<String>) -> Self {
        OptionError {
            options: options.to_vec(),
            reason: reason.into(),
        }
    }

    /// The same with a reason that names no options, but may have any text in it.
    pub(crate) fn unquoted(options: &[&'static str], reason: &dyn fmt::Display) -> Self {
        OptionError::new(options, reason.to_string().replace('`', "'"))
    }

    /// Of a workload that is made of this file, as the option says.
    pub(crate) fn of_file(
        option: &'static str,
        file: &dyn fmt::Display,
        error: WorkloadError,
    ) -> Self {
        let mut error = OptionError::from(error);
        error.options.push(option);
        let file = file.to_string().replace('`', "'");
        error.reason = format!("{file}: {}", error.reason);
        error
    }
}

/// Writes the options as on the command line.
impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, part) in self.reason.split('`').enumerate() {
            // Every second part was in backquotes.
            f.write_str(if place % 2 == 1 { "--" } else { "" })?;
            f.write_str(part)?;
        }
        Ok(())
    }
}

impl std::error::Error for OptionError {}

impl From<WorkloadError> for OptionError {
    fn from(error: WorkloadError) -> Self {
        match error {
            WorkloadError::OutOfRange {
                what,
                options,
                given,
                expected,
            } => {
                let quoted = |option| format!("`{option}`");
                let reason = out_of_range(&what, options, &given, &expected, quoted);
                OptionError::new(options, reason)
            }
            other => OptionError::unquoted(&[], &other),
        }
    }
}

impl From<OptionError> for String {
    fn from(error: OptionError) -> Self {
        error.to_string()
    }
}

impl From<OptionError> for Failure {
    fn from(error: OptionError) -> Self {
        Failure::Message(error.to_string())
    }
}

/// Where the options of a scenario were given.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin(Option<Arc<FileOrigin>>);

/// The options and the lines they are in.
pub(super) type Lines = BTreeMap<String, usize>;

/// A scenario file, whose options those of the command line take precedence over.
#[derive(Debug)]
pub(super) struct ScenarioFile {
    /// What errors call it.
    pub(super) name: String,
    /// The options that it gives, but for those of a grid.
    pub(super) lines: Lines,
    /// The options that the command line gives.
    pub(super) given: Vec<String>,
}

/// A scenario file, or a point of its grid.
#[derive(Debug)]
struct FileOrigin {
    /// All points share it.
    file: Arc<ScenarioFile>,
    /// The options of the grid.
    of_point: Lines,
    /// Which point it is; empty if there is no grid.
    label: String,
}

/// The lines of those entries that stand in a file.
pub(super) fn lines<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Lines {
    let line = |entry: &Entry| Some((entry.key.clone(), entry.line?));
    entries.into_iter().filter_map(line).collect()
}

impl Origin {
    /// That of a scenario of which a file gives options.
    pub(super) fn of_file(file: ScenarioFile) -> Self {
        Origin::of_point(&Arc::new(file), Lines::new(), &[])
    }

    /// That of a point of a file's grid.
    pub(super) fn of_point(
        file: &Arc<ScenarioFile>,
        of_point: Lines,
        label: &[(String, String)],
    ) -> Self {
        Origin(Some(Arc::new(FileOrigin {
            file: file.clone(),
            of_point,
            label: label_text(label),
        })))
    }

    /// The error with the file and line of the first of its options that stands in the file.
    pub(super) fn place(&self, error: &OptionError) -> String {
        let Some(origin) = &self.0 else {
            return error.to_string();
        };
        let ScenarioFile { name, lines, given } = &*origin.file;
        let line = |option: &str| origin.of_point.get(option).or_else(|| lines.get(option));
        let label = match &*origin.label {
            "" => String::new(),
            label => format!(" ({label})"),
        };
        let reason = &error.reason;
        let mut options = error.options.iter();
        match options.clone().find_map(|&option| line(option)) {
            Some(line) => format!("{name}:{line}: {reason}{label}"),
            None if options.any(|&option| given.iter().any(|other| other == option)) => {
                format!("{error}{label}")
            }
            None => format!("{name}: {reason}{label}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_placed_where_the_first_of_its_options_stands() {
        let error = OptionError::new(&["from", "swf"], "`from` is about logs (expected `swf`)");
        assert_eq!(error.to_string(), "--from is about logs (expected --swf)");
        assert_eq!(Origin::default().place(&error), error.to_string());
        let origin = |lines: &[(&str, usize)],
                      of_point: &[(&str, usize)],
                      given: &[&str],
                      label: &[(String, String)]| {
            let line = |(option, line): &(&str, usize)| ((*option).to_owned(), *line);
            let file = ScenarioFile {
                name: "s.toml".to_owned(),
                lines: lines.iter().map(line).collect(),
                given: given.iter().map(ToString::to_string).collect(),
            };
            Origin::of_point(&Arc::new(file), of_point.iter().map(line).collect(), label)
        };
        let seed = [("seed".to_owned(), "1".to_owned())];
        let reason = "`from` is about logs (expected `swf`)";
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
                error.to_string(),
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
