//! Errors in the settings of a scenario, or in the description of a workload made of them.

use std::fmt;

use crate::wording::any_of;

/// An error in settings, with the settings that it is about.
///
/// Its text has the keys of settings in backquotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    /// The keys of the settings. The first is the one whose place is shown.
    settings: Vec<&'static str>,
    /// The text. Keys are in backquotes, and nothing else is.
    reason: String,
}

impl SettingError {
    /// An error about these settings, whose keys `reason` has in backquotes.
    pub fn new(settings: &[&'static str], reason: impl Into<String>) -> Self {
        SettingError {
            settings: settings.to_vec(),
            reason: reason.into(),
        }
    }

    /// An error whose reason names no settings, but may have any text in it.
    pub fn unquoted(settings: &[&'static str], reason: &dyn fmt::Display) -> Self {
        SettingError::new(settings, reason.to_string().replace('`', "'"))
    }

    /// An error about a number that is out of its range. If the number comes from several settings,
    /// any of them may be the wrong one.
    pub fn out_of_range(
        what: &str,
        settings: &[&'static str],
        given: impl fmt::Display,
        expected: impl fmt::Display,
    ) -> Self {
        let reason = out_of_range(&with_keys(what, settings), given, expected);
        SettingError::new(settings, reason)
    }

    /// The settings that the error is about.
    pub fn settings(&self) -> &[&'static str] {
        &self.settings
    }

    /// The same text as on the command line: dashes before the keys of settings.
    pub fn on_command_line(&self) -> String {
        self.with(|key| format!("--{key}"))
    }

    /// The text with the keys of settings as `shown` has them.
    pub(crate) fn with(&self, shown: impl Fn(&str) -> String) -> String {
        let parts = self.reason.split('`').enumerate();
        // Every second part was in backquotes.
        let parts = parts.map(|(place, part)| match place % 2 {
            0 => part.to_owned(),
            _ => shown(part),
        });
        parts.collect()
    }

    /// The same error about a workload that is made of this file, as the setting says.
    pub(crate) fn of_file(mut self, setting: &'static str, file: &dyn fmt::Display) -> Self {
        let file = file.to_string().replace('`', "'");
        self.settings.push(setting);
        self.reason = format!("{file}: {}", self.reason);
        self
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for SettingError {}

/// What a number is, with the settings from which it comes.
fn with_keys(what: &str, settings: &[&str]) -> String {
    let keys = settings.iter().map(|key| format!("`{key}`"));
    match settings {
        [] => what.to_owned(),
        _ => format!("{what} ({})", any_of(keys)),
    }
}

/// The message about a value that is out of its range.
pub(crate) fn out_of_range(
    what: &str,
    given: impl fmt::Display,
    expected: impl fmt::Display,
) -> String {
    format!("{what} is {given}: expected {expected}")
}
