//! Files that a workload is made of: lines with numbers, plain or compressed with gzip, and lists
//! of bounded length that are read from them.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use super::{JOBS_MAX, LogError};
use crate::input::{GZIP, LINE_BYTES_MAX, Lines};
use crate::wording::quoted;

/// The most bytes of a file, unpacked: 256 for each of the most jobs.
const FILE_BYTES_MAX: u64 = 256 * JOBS_MAX as u64;

/// The lines of a file, and errors that name the file and the line.
pub(crate) struct TextFile<'p, R> {
    lines: Lines<R>,
    bytes_max: u64,
    path: &'p Path,
    /// Whether something else stands behind its gzip data.
    has_more: Rc<Cell<bool>>,
}

/// The text of a gzip file.
#[cfg(feature = "files")]
fn unpacked(
    packed: impl BufRead + 'static,
    has_more: &Rc<Cell<bool>>,
) -> io::Result<Box<dyn Read>> {
    Ok(Box::new(super::gzip::Gzip::new(
        packed,
        Rc::clone(has_more),
    )))
}

#[cfg(not(feature = "files"))]
fn unpacked(_: impl BufRead, _: &Rc<Cell<bool>>) -> io::Result<Box<dyn Read>> {
    let message = "it is compressed with gzip (expected plain text, or the feature `files`)";
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}

impl<'p> TextFile<'p, Box<dyn Read>> {
    /// A file, plain or compressed with gzip; `-` is standard input.
    pub(crate) fn open(path: &'p Path) -> Result<Self, LogError> {
        let is_file = path != Path::new("-");
        let path = if is_file {
            path
        } else {
            Path::new("standard input")
        };
        let open = |source| LogError::Open {
            path: path.into(),
            source,
        };
        let plain: Box<dyn Read> = if is_file {
            Box::new(File::open(path).map_err(open)?)
        } else {
            Box::new(io::stdin().lock())
        };
        let mut plain = BufReader::new(plain);
        let has_more = Rc::default();
        let text: Box<dyn Read> = if plain.fill_buf().map_err(open)?.starts_with(&GZIP) {
            unpacked(plain, &has_more).map_err(open)?
        } else {
            Box::new(plain)
        };
        Ok(TextFile {
            has_more,
            ..TextFile::new(text, path)
        })
    }
}

impl<'p, R: Read> TextFile<'p, R> {
    /// Lines that are not compressed; `path` is what errors call the file.
    pub(crate) fn new(reader: R, path: &'p Path) -> Self {
        TextFile {
            lines: Lines::new(reader, LINE_BYTES_MAX),
            bytes_max: FILE_BYTES_MAX,
            path,
            has_more: Rc::default(),
        }
    }

    /// The same with another largest size.
    pub(crate) fn up_to(self, bytes_max: u64) -> Self {
        TextFile { bytes_max, ..self }
    }

    /// The name of the file in errors.
    pub(crate) const fn path(&self) -> &'p Path {
        self.path
    }

    /// The first bytes of the text; none where they cannot be read.
    pub(crate) fn begin(&mut self) -> &[u8] {
        self.lines.begin()
    }

    /// Whether other data, which was not read, follows the gzip data. Zeros may follow. This is
    /// known after the last line.
    pub(crate) fn has_more(&self) -> bool {
        self.has_more.get()
    }

    /// An error if [`TextFile::has_more`].
    pub(crate) fn check_end(&self) -> Result<(), LogError> {
        if self.has_more() {
            return Err(self.wrong(
                "something that is no gzip follows the gzip data (expected nothing, or zeros)"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Replaces `line` by the next line, without its end; `false` behind the last. An error when it
    /// cannot be read or is too long, or the file is too large.
    pub(crate) fn next_line(&mut self, line: &mut String) -> Result<bool, LogError> {
        let (bytes_max, path) = (self.bytes_max, self.path);
        let number = self.lines.number() + 1;
        let bytes = self.lines.bytes();
        let text = self.lines.next_line().map_err(|source| LogError::Read {
            path: path.into(),
            line: number,
            source,
        })?;
        line.clear();
        let Some(text) = text else { return Ok(false) };
        if bytes + text.len() as u64 > bytes_max {
            let reason =
                format!("the file is larger than {bytes_max} bytes (expected at most that)");
            return Err(self.wrong(reason));
        }
        // Headers of old logs are not always UTF-8; numbers are.
        let text = String::from_utf8_lossy(text);
        line.push_str(text.trim_end_matches(['\r', '\n']));
        Ok(true)
    }

    /// The number of the latest line, from 1.
    pub(crate) fn line(&self) -> usize {
        self.lines.number().max(1)
    }

    /// The error about the latest line.
    pub(crate) fn wrong(&self, reason: String) -> LogError {
        self.wrong_at(self.line(), reason)
    }

    /// The error about the line of this number.
    pub(crate) fn wrong_at(&self, line: usize, reason: String) -> LogError {
        LogError::Line {
            path: self.path.into(),
            line,
            reason,
        }
    }

    /// Adds an item of the latest line to a list. An error when the list has as many items as the
    /// maximum number of jobs, or there is no memory for more.
    pub(crate) fn push<T>(&self, list: &mut Vec<T>, item: T, what: &str) -> Result<(), LogError> {
        if list.len() >= JOBS_MAX as usize {
            let reason = format!("more than {JOBS_MAX} {what} (expected at most that)");
            return Err(self.wrong(reason));
        }
        self.reserve(list, 1, what)?;
        list.push(item);
        Ok(())
    }

    /// Makes room for more items; an error when there is no memory for them.
    pub(crate) fn reserve<T>(
        &self,
        list: &mut Vec<T>,
        more: usize,
        what: &str,
    ) -> Result<(), LogError> {
        let room = list.try_reserve(more);
        room.map_err(|_| {
            let count = list.len() + more;
            self.wrong(format!(
                "not enough memory for {count} {what} (expected fewer, or more memory)"
            ))
        })
    }
}

/// The message about a cell that does not have what was expected.
pub(crate) fn bad(name: &str, cell: &str, expected: &str) -> String {
    format!("{name} is {}: expected {expected}", quoted(cell.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_as_many_items_as_a_run_has_jobs_or_memory() {
        let mut file = TextFile::new(&b"1\n2\n"[..], Path::new("a.csv"));
        file.next_line(&mut String::new()).unwrap();
        let mut full = vec![(); JOBS_MAX as usize - 1];
        file.push(&mut full, (), "jobs").unwrap();
        let error = file.push(&mut full, (), "jobs").unwrap_err().to_string();
        assert_eq!(
            error,
            "a.csv:1: more than 16777216 jobs (expected at most that)"
        );
        let error = file
            .reserve(&mut vec![0_u8], usize::MAX / 2, "times")
            .unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("a.csv:1: not enough memory for "),
            "{error}"
        );
    }
}
