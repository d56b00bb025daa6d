//! Why a command was not carried out.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use meshalloc::ConfigureError;

use crate::printable::printable;
use crate::signals::exit_interrupted;
use meshalloc_sim::backend::BackendError;
use meshalloc_sim::experiment::{ExperimentError, Failed, StrategyResult};
use meshalloc_sim::scenario::SettingError;
use meshalloc_sim::simulation::SimulationError;

/// The exit code if there are no results.
const EXIT_FAILURE: u8 = 2;

/// The exit code if results are incomplete, or if their picture or file of jobs failed.
const EXIT_INCOMPLETE: u8 = 1;

pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    done, or standard output was closed by its reader
  1    results are written, but a picture or a file of jobs could not be; or the controller was
       lost, or a run failed: complete replications are written, marked INCOMPLETE except in CSV
  2    an invalid option or file, no run could be completed, or results cannot be written; standard
       error says why. `replay -` stops at an invalid line, after the operations before it
  130  after Ctrl-C: complete replications are written, marked as for 1 (view: no page).
       With --save, and in reproduce, complete points are kept, and standard error names the
       command that continues. After SIGTERM the same with 143, after SIGHUP with 129";

/// Whether notes and progress are left out.
pub(crate) static QUIET: AtomicBool = AtomicBool::new(false);

/// Writes a note, unless it is left out.
pub(crate) fn note(line: &dyn fmt::Display) {
    if !QUIET.load(Ordering::Relaxed) {
        to_stderr(line);
    }
}

/// Writes a line to standard error, as far as it can be written: if the reader has closed standard
/// error, the command goes on and its exit code stays the same.
pub(crate) fn to_stderr(line: &dyn fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", printable(&line.to_string()));
}

/// Why a command was not carried out.
#[derive(Debug)]
pub enum Failure {
    /// The line on standard error.
    Message(String),
    /// Standard output was closed by its reader; nothing is printed.
    OutputClosed,
    /// The experiments ended early. What is complete has been printed.
    Incomplete(Incomplete),
    /// Results were written, but a file that was to be made from them was not: the line of the
    /// error.
    AfterResults(String),
}

/// Why experiments ended early.
#[derive(Debug)]
pub struct Incomplete {
    /// What happened.
    pub reason: String,
    code: u8,
}

/// The complete results of each experiment, and why they may not be all; an error if there are
/// none.
pub(crate) fn complete(
    outcome: Result<Vec<Vec<StrategyResult>>, Failed>,
) -> Result<(Vec<Vec<StrategyResult>>, Option<Incomplete>), Failure> {
    let failed = match outcome {
        Ok(results) => return Ok((results, None)),
        Err(failed) => failed,
    };
    let code = code(&failed.reason);
    let reason = failed.reason.to_string();
    let mut results = failed.complete.iter().flatten();
    if results.any(|result| !result.runs.is_empty()) {
        let code = match code {
            EXIT_FAILURE => EXIT_INCOMPLETE,
            code => code,
        };
        return Ok((failed.complete, Some(Incomplete { reason, code })));
    }
    Err(if code == EXIT_FAILURE {
        Failure::Message(reason)
    } else {
        let reason = format!("{reason}; no replication is complete");
        Failure::Incomplete(Incomplete { reason, code })
    })
}

fn code(reason: &ExperimentError) -> u8 {
    match reason {
        ExperimentError::Interrupted | ExperimentError::Backend(BackendError::Interrupted) => {
            exit_interrupted()
        }
        ExperimentError::Backend(BackendError::Line { .. }) => EXIT_INCOMPLETE,
        ExperimentError::Run { reason, .. } => match **reason {
            SimulationError::Backend(BackendError::Line { .. }) => EXIT_INCOMPLETE,
            _ => EXIT_FAILURE,
        },
        _ => EXIT_FAILURE,
    }
}

impl From<SettingError> for Failure {
    fn from(error: SettingError) -> Self {
        Failure::Message(error.on_command_line())
    }
}

impl From<ExperimentError> for Failure {
    /// For a run that ended early, when no incomplete results are shown.
    fn from(error: ExperimentError) -> Self {
        let reason = error.to_string();
        match code(&error) {
            EXIT_FAILURE => Failure::Message(reason),
            code => Failure::Incomplete(Incomplete { reason, code }),
        }
    }
}

impl From<BackendError> for Failure {
    fn from(error: BackendError) -> Self {
        ExperimentError::from(error).into()
    }
}

/// After Ctrl-C.
pub(crate) fn interrupted() -> Incomplete {
    Incomplete {
        reason: ExperimentError::Interrupted.to_string(),
        code: exit_interrupted(),
    }
}

/// Words as a shell reads them.
pub(crate) fn command_line(words: &[String]) -> String {
    let is_plain = |word: &str| {
        let signs = |sign: char| sign.is_ascii_alphanumeric() || ",.:/=_-".contains(sign);
        !word.is_empty() && word.chars().all(signs)
    };
    let quoted = words.iter().map(|word| {
        if is_plain(word) {
            word.into()
        } else {
            shlex::try_quote(word).unwrap_or(word.into())
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// After Ctrl-C, when the same command would continue the work: names that command. `kept` has the
/// complete results.
pub(crate) fn goes_on(kept: &Path) -> Failure {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let command = command_line(&words.collect::<Vec<_>>());
    let (kept, interrupted) = (kept.display(), ExperimentError::Interrupted);
    Failure::Incomplete(Incomplete {
        reason: format!("{interrupted}; {kept} keeps what is complete, and `{command}` goes on"),
        code: exit_interrupted(),
    })
}

/// Writes files, and only then the report: no file is lost when standard output is closed early.
pub(crate) fn files_first(
    output: &mut dyn Write,
    command: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut report = Vec::new();
    let outcome = command(&mut report);
    let written = output.write_all(&report).and_then(|()| output.flush());
    match (outcome, written.map_err(Failure::from)) {
        // The results were not written, so the failure to write them counts, and not the failure
        // after them.
        (Err(Failure::AfterResults(_)), Err(unwritten @ Failure::Message(_))) => Err(unwritten),
        (outcome, written) => outcome.and(written),
    }
}

impl Incomplete {
    /// The failure behind results that were written.
    pub(crate) fn behind_results(mut self) -> Failure {
        self.reason += "; the results have only the replications that are complete";
        Failure::Incomplete(self)
    }
}

impl Failure {
    /// The failure of the file that this option was to make from results that have been written.
    pub(crate) fn after_results(self, option: &dyn fmt::Display) -> Self {
        match self {
            Failure::Message(reason) => Failure::AfterResults(format!("{option}: {reason}")),
            Failure::Incomplete(Incomplete { reason, code }) => {
                let reason = format!("{option}: {reason}");
                Failure::Incomplete(Incomplete { reason, code })
            }
            other => other,
        }
    }

    pub(crate) fn ending(&self) -> (u8, Option<&str>) {
        match self {
            Failure::Message(message) => (EXIT_FAILURE, Some(message)),
            Failure::OutputClosed => (0, None),
            Failure::Incomplete(Incomplete { reason, code }) => (*code, Some(reason)),
            Failure::AfterResults(message) => (EXIT_INCOMPLETE, Some(message)),
        }
    }
}

impl From<ConfigureError> for Failure {
    fn from(error: ConfigureError) -> Self {
        Failure::Message(error.to_string())
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Failure::Message(message)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::OutputClosed
        } else {
            Failure::Message(format!("standard output: cannot write: {error}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_line_has_its_code_everywhere() {
        let lost = || BackendError::Line {
            endpoint: "tcp:host:1".into(),
            reason: "gone".into(),
        };
        let failures = [
            Failure::from(lost()),
            ExperimentError::from(lost()).into(),
            Failure::from(ExperimentError::Run {
                strategy: meshalloc::StrategyKind::FirstFit,
                replication: 1,
                reason: Box::new(lost().into()),
            }),
        ];
        for failure in failures {
            assert_eq!(failure.ending().0, EXIT_INCOMPLETE, "{failure:?}");
        }
        let other = Failure::from(ExperimentError::Run {
            strategy: meshalloc::StrategyKind::FirstFit,
            replication: 1,
            reason: Box::new(SimulationError::NoRoom),
        });
        assert_eq!(other.ending().0, EXIT_FAILURE);
        assert_eq!(Failure::from(ExperimentError::Interrupted).ending().0, 130);
    }
}
