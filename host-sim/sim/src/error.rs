//! What is wrong with the description of a workload.

use crate::names;
use crate::wording::any_of;

/// A description of a workload that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A name is not known: the message of [`names::unknown`].
    #[error("{0}")]
    UnknownName(String),
    /// A number is out of its range.
    #[error("{}", out_of_range(what, options, given, expected, |option| format!("--{option}")))]
    OutOfRange {
        /// What the number is.
        what: String,
        /// The options, without the dashes, of which it comes; any of them may be the wrong one.
        options: &'static [&'static str],
        /// What was given.
        given: String,
        /// The range.
        expected: String,
    },
}

impl WorkloadError {
    /// That a text has none of these forms.
    pub(crate) fn unknown(what: &str, given: &str, forms: &[&str]) -> Self {
        WorkloadError::UnknownName(names::unknown(what, given, forms))
    }

    /// The same where the option is known, as its value is being read.
    pub(crate) fn without_options(self) -> Self {
        match self {
            WorkloadError::OutOfRange {
                what,
                given,
                expected,
                ..
            } => WorkloadError::OutOfRange {
                what,
                options: &[],
                given,
                expected,
            },
            other => other,
        }
    }
}

/// The message about a number that is out of its range, with each of its options as it is shown.
pub fn out_of_range(
    what: &str,
    options: &[&'static str],
    given: &str,
    expected: &str,
    shown: impl Fn(&'static str) -> String,
) -> String {
    let named = match options {
        [] => String::new(),
        options => format!(" ({})", any_of(options.iter().copied().map(shown))),
    };
    format!("{what}{named} is {given}: expected {expected}")
}
