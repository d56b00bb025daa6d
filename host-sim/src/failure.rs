//! Why a command was not carried out.

use std::io;

use crate::backend::BackendError;
use crate::experiment::{ExperimentError, Failed, StrategyResult};
use crate::progress::EXIT_INTERRUPTED;
use crate::simulation::SimulationError;

/// Exit code of everything that could not be done.
const EXIT_FAILURE: u8 = 2;

/// Exit code when the controller was lost, or a run failed after others were complete.
const EXIT_INCOMPLETE: u8 = 1;

/// The exit codes, for the help.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    done, or standard output was closed by its reader
  1    the controller was lost, or a run failed: what is complete has been written, marked INCOMPLETE
  2    nothing was done: a wrong option or file, or a result that cannot be written; standard error says why
  130  after Ctrl-C: what is complete has been written, marked INCOMPLETE";

/// Why a command was not carried out.
#[derive(Debug)]
pub enum Failure {
    /// The line on standard error.
    Message(String),
    /// Standard output was closed by its reader; nothing is printed.
    OutputClosed,
    /// The experiments ended early. What is complete has been printed.
    Incomplete(Incomplete),
}

/// Why experiments ended early.
#[derive(Debug)]
pub struct Incomplete {
    /// What happened.
    pub reason: String,
    code: u8,
}

/// What experiments gave before they ended early, by their places, and why they did.
pub(crate) type Early = (Vec<(usize, Vec<StrategyResult>)>, Incomplete);

/// Takes what is complete out of `failed`; `others` is whether experiments had ended before.
///
/// # Errors
///
/// When not one replication is complete.
pub(crate) fn complete(failed: Failed, others: bool) -> Result<Early, Failure> {
    let lost = |error: &BackendError| matches!(error, BackendError::Line { .. });
    let in_run =
        |error: &SimulationError| matches!(error, SimulationError::Backend(error) if lost(error));
    let code = match &failed.reason {
        ExperimentError::Interrupted => EXIT_INTERRUPTED,
        ExperimentError::Backend(error) if lost(error) => EXIT_INCOMPLETE,
        ExperimentError::Run { reason, .. } if in_run(reason) => EXIT_INCOMPLETE,
        _ => EXIT_FAILURE,
    };
    let reason = failed.reason.to_string();
    let mut results = failed.complete.iter().flat_map(|(_, results)| results);
    if others || results.any(|result| !result.runs.is_empty()) {
        let code = if code == EXIT_FAILURE {
            EXIT_INCOMPLETE
        } else {
            code
        };
        return Ok((failed.complete, Incomplete { reason, code }));
    }
    Err(if code == EXIT_FAILURE {
        Failure::Message(reason)
    } else {
        let reason = format!("{reason}; no replication is complete");
        Failure::Incomplete(Incomplete { reason, code })
    })
}

/// The results of one experiment, as far as they are complete, and why they may not be all.
///
/// # Errors
///
/// When not one replication is complete.
pub(crate) fn complete_of_one(
    outcome: Result<Vec<StrategyResult>, Failed>,
) -> Result<(Vec<StrategyResult>, Option<Incomplete>), Failure> {
    match outcome {
        Ok(results) => Ok((results, None)),
        Err(failed) => {
            let (results, incomplete) = complete(failed, false)?;
            let results = results.into_iter().flat_map(|(_, results)| results);
            Ok((results.collect(), Some(incomplete)))
        }
    }
}

/// A run that ended early, where nothing is shown of what is incomplete.
pub(crate) fn of_one(error: ExperimentError) -> Failure {
    match error {
        ExperimentError::Interrupted => interrupted(),
        error => Failure::Message(error.to_string()),
    }
}

/// After Ctrl-C, where nothing is shown of what is incomplete.
pub(crate) fn interrupted() -> Failure {
    Failure::Incomplete(Incomplete {
        reason: ExperimentError::Interrupted.to_string(),
        code: EXIT_INTERRUPTED,
    })
}

impl Failure {
    /// The exit code, and the line on standard error.
    pub(crate) fn ending(&self) -> (u8, Option<&str>) {
        match self {
            Failure::Message(message) => (EXIT_FAILURE, Some(message)),
            Failure::OutputClosed => (0, None),
            Failure::Incomplete(Incomplete { reason, code }) => (*code, Some(reason)),
        }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Failure::Message(message)
    }
}

impl From<io::Error> for Failure {
    /// Of an error while writing to standard output.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::OutputClosed
        } else {
            Failure::Message(format!("standard output: cannot write: {error}"))
        }
    }
}
