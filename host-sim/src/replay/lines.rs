//! A file of operations, line by line.

use std::io::{BufRead, BufReader, Read};

use meshalloc::Grid;

use super::{Operation, ReplayError};

/// Bytes read at once.
const CHUNK_BYTES: usize = 1 << 16;

/// Reads all operations of `input`, and carries out none.
///
/// # Errors
///
/// The first line that cannot be read.
pub fn check(file: &str, input: impl Read, machine: Grid) -> Result<(), ReplayError> {
    let mut lines = Lines::new(file, input, machine);
    while lines.next()?.is_some() {}
    Ok(())
}

/// The operations of a file.
pub(super) struct Lines<'f, I> {
    file: &'f str,
    /// The latest, from 1.
    pub(super) number: u64,
    machine: Grid,
    reader: BufReader<I>,
    /// Kept for its memory.
    text: Vec<u8>,
}

impl<'f, I: Read> Lines<'f, I> {
    pub(super) fn new(file: &'f str, input: I, machine: Grid) -> Self {
        Lines {
            file,
            number: 0,
            machine,
            reader: BufReader::with_capacity(CHUNK_BYTES, input),
            text: Vec::new(),
        }
    }

    /// Whether the input may have to be waited for.
    pub(super) fn is_drained(&self) -> bool {
        self.reader.buffer().is_empty()
    }

    /// The next line, with its operation unless it has none; `None` behind the last.
    pub(super) fn next(&mut self) -> Result<Option<Option<Operation>>, ReplayError> {
        self.text.clear();
        let read = self.reader.read_until(b'\n', &mut self.text);
        let bytes = read.map_err(|source| ReplayError::Read {
            file: self.file.to_owned(),
            source,
        })?;
        if bytes == 0 {
            return Ok(None);
        }
        self.number += 1;
        let operation = Operation::parse(&self.text, self.machine);
        operation.map(Some).map_err(|reason| ReplayError::Line {
            file: self.file.to_owned(),
            line: self.number,
            reason,
        })
    }
}
