//! A file of operations, line by line.

use std::io::{ErrorKind, Read};

use meshalloc::{Change, Grid};

use super::{ReplayError, parse};
use meshalloc_sim::input::{LINE_BYTES_MAX, Lines};

/// Reads all operations of `input` without carrying any out.
pub fn check(file: &str, input: impl Read, machine: Grid) -> Result<(), ReplayError> {
    let mut lines = Lines::new(input, LINE_BYTES_MAX);
    while next(&mut lines, file, machine)?.is_some() {}
    Ok(())
}

/// The next line as a change, unless it asks for none; `None` behind the last line.
pub(super) fn next(
    lines: &mut Lines<impl Read>,
    file: &str,
    machine: Grid,
) -> Result<Option<Option<Change>>, ReplayError> {
    let line = lines.number() as u64 + 1;
    let wrong = |reason| ReplayError::Line {
        file: file.to_owned(),
        line,
        reason,
    };
    let text = lines.next_line().map_err(|source| match source.kind() {
        ErrorKind::InvalidData => wrong(source.to_string()),
        _ => ReplayError::Read {
            file: file.to_owned(),
            source,
        },
    })?;
    let Some(text) = text else { return Ok(None) };
    parse(text, machine).map(Some).map_err(wrong)
}
