//! What is wrong with the description of a workload.

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
    #[error("{what} is {given}: expected {expected}")]
    OutOfRange {
        /// What the number is.
        what: String,
        /// What was given.
        given: String,
        /// The range.
        expected: String,
    },
}
