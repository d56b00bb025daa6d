//! Where one setting was given.

use std::sync::Arc;

/// Where a setting was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// By the command of this name itself, as its default.
    Command(&'static str),
    /// In this file and line: the line of its value, or of the first of several values.
    File(Arc<str>, usize),
    /// On the command line.
    CommandLine,
}

impl Place {
    /// As a sentence has a setting that was given here.
    pub(super) fn of(&self, key: &str) -> String {
        match self {
            Place::Command(name) => format!("the {key} of `{name}`"),
            Place::File(file, line) => format!("`{key}` in {file}:{line}"),
            Place::CommandLine => format!("--{key} on the command line"),
        }
    }
}
