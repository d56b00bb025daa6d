//! What is wrong with the description of a workload.

use std::fmt;

/// A description of a workload that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A distribution of this name is not known.
    #[error("unknown {what} {given:?}: expected {expected}")]
    UnknownName {
        /// What was to be named.
        what: &'static str,
        /// What was given.
        given: String,
        /// What is known.
        expected: String,
    },
    /// A number is out of its range.
    #[error("{}", OutOfRange { what, options, given, expected })]
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
    /// The same where the option is known, as its value is being read.
    pub(super) fn without_options(self) -> Self {
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

/// The message about a number that is out of its range.
struct OutOfRange<'e> {
    what: &'e str,
    options: &'e [&'e str],
    given: &'e str,
    expected: &'e str,
}

impl fmt::Display for OutOfRange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)?;
        let options: Vec<_> = self
            .options
            .iter()
            .map(|option| format!("--{option}"))
            .collect();
        if !options.is_empty() {
            write!(f, " ({})", options.join(" or "))?;
        }
        write!(f, " is {}: expected {}", self.given, self.expected)
    }
}
