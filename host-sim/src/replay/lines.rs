//! A file of operations, line by line.

use std::io::{ErrorKind, Read};

use meshalloc::Grid;

use super::{Operation, ReplayError};
use meshalloc_sim::input::{self, LINE_BYTES_MAX};

/// Reads all operations of `input`, and carries out none.
pub fn check(file: &str, input: impl Read, machine: Grid) -> Result<(), ReplayError> {
    let mut lines = Lines::new(file, input, machine);
    while lines.next()?.is_some() {}
    Ok(())
}

pub(super) struct Lines<'f, I> {
    file: &'f str,
    machine: Grid,
    lines: input::Lines<I>,
}

impl<'f, I: Read> Lines<'f, I> {
    pub(super) fn new(file: &'f str, input: I, machine: Grid) -> Self {
        Lines {
            file,
            machine,
            lines: input::Lines::new(input, LINE_BYTES_MAX),
        }
    }

    pub(super) const fn number(&self) -> u64 {
        self.lines.number() as u64
    }

    /// Whether the input may have to be waited for.
    pub(super) fn is_drained(&self) -> bool {
        self.lines.is_drained()
    }

    /// The next line, with its operation unless it has none; `None` behind the last.
    pub(super) fn next(&mut self) -> Result<Option<Option<Operation>>, ReplayError> {
        let (file, line) = (self.file, self.number() + 1);
        let wrong = |reason| ReplayError::Line {
            file: file.to_owned(),
            line,
            reason,
        };
        let text = self
            .lines
            .next_line()
            .map_err(|source| match source.kind() {
                ErrorKind::InvalidData => wrong(source.to_string()),
                _ => ReplayError::Read {
                    file: file.to_owned(),
                    source,
                },
            })?;
        let Some(text) = text else { return Ok(None) };
        let operation = Operation::parse(text, self.machine);
        operation.map(Some).map_err(wrong)
    }
}
