//! Files that a workload is made of: lines with numbers, plain or compressed with gzip, and the
//! cells of CSV files.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use csv::StringRecord;
use flate2::bufread::MultiGzDecoder;
use meshalloc::Ticks;

use super::{JOBS_MAX, LogError, TIME_MAX, TimeUnit};
use crate::input::{GZIP, LINE_BYTES_MAX, Lines};
use crate::wording::{counted, quoted};

/// The most bytes of a file, unpacked: 256 for each of the most jobs.
const FILE_BYTES_MAX: u64 = 256 * JOBS_MAX as u64;

/// The lines of a file, and errors that name the file and the line.
pub(crate) struct TextFile<'p, R> {
    lines: Lines<R>,
    bytes_max: u64,
    path: &'p Path,
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
        let plain: Box<dyn Read> = match is_file {
            true => Box::new(File::open(path).map_err(open)?),
            false => Box::new(io::stdin().lock()),
        };
        let mut plain = BufReader::new(plain);
        let compressed = plain.fill_buf().map_err(open)?.starts_with(&GZIP);
        let text: Box<dyn Read> = match compressed {
            true => Box::new(MultiGzDecoder::new(plain)),
            false => Box::new(plain),
        };
        Ok(TextFile::new(text, path))
    }
}

impl<'p, R: Read> TextFile<'p, R> {
    /// Lines that are not compressed; `path` is what errors call the file.
    pub(crate) fn new(reader: R, path: &'p Path) -> Self {
        TextFile {
            lines: Lines::new(reader, LINE_BYTES_MAX),
            bytes_max: FILE_BYTES_MAX,
            path,
        }
    }

    /// The same with another largest size.
    pub(crate) fn up_to(self, bytes_max: u64) -> Self {
        TextFile { bytes_max, ..self }
    }

    /// What errors call the file.
    pub(crate) const fn path(&self) -> &'p Path {
        self.path
    }

    /// The next line without the blanks at its ends; `None` behind the last. An error when it
    /// cannot be read or is too long, or the file is too large.
    pub(crate) fn next_line(&mut self) -> Result<Option<String>, LogError> {
        let (bytes_max, path) = (self.bytes_max, self.path);
        let line = self.lines.number() + 1;
        let bytes = self.lines.bytes();
        let text = self.lines.next_line().map_err(|source| LogError::Read {
            path: path.into(),
            line,
            source,
        })?;
        let Some(text) = text else { return Ok(None) };
        if bytes + text.len() as u64 > bytes_max {
            let reason =
                format!("the file is larger than {bytes_max} bytes (expected at most that)");
            return Err(self.wrong(reason));
        }
        // Headers of old logs are not always UTF-8; numbers are.
        Ok(Some(String::from_utf8_lossy(text).trim().to_owned()))
    }

    pub(crate) fn wrong(&self, reason: String) -> LogError {
        LogError::Line {
            path: self.path.into(),
            line: self.lines.number().max(1),
            reason,
        }
    }
}

/// The names in the first line of a CSV file.
pub(crate) struct Header(StringRecord);

impl Header {
    /// Reads the next line that is not empty; an error when there is none.
    pub(crate) fn read<R: Read>(file: &mut TextFile<'_, R>) -> Result<Self, LogError> {
        while let Some(line) = file.next_line()? {
            if !line.is_empty() {
                let names = cells(&line).map_err(|reason| file.wrong(reason))?;
                return Ok(Header(names));
            }
        }
        Err(file.wrong("the file is empty (expected a line with the names of columns)".to_owned()))
    }

    /// The place of a column; `None` if there is none, an error when there are two.
    pub(crate) fn place(&self, name: &str) -> Result<Option<usize>, String> {
        let mut places = (0..self.0.len()).filter(|&place| &self.0[place] == name);
        match (places.next(), places.next()) {
            (place, None) => Ok(place),
            _ => Err(format!("two columns are called {name:?} (expected one)")),
        }
    }

    /// The place of a column that there must be once.
    pub(crate) fn required(&self, name: &str) -> Result<usize, String> {
        self.place(name)?.ok_or_else(|| self.missing(name))
    }

    /// The message about a column that there is not.
    pub(crate) fn missing(&self, name: &str) -> String {
        let names: Vec<_> = self.0.iter().collect();
        let names = names.join(", ");
        let names = quoted(names.as_bytes());
        format!("no column is called {name} (found {names})")
    }

    /// The cells of a line; an error when there are more or fewer than names.
    pub(crate) fn row(&self, line: &str) -> Result<StringRecord, String> {
        let row = cells(line)?;
        match row.len() == self.0.len() {
            true => Ok(row),
            false => Err(format!(
                "{} (expected {}, as in the header)",
                counted(row.len(), "cell"),
                self.0.len()
            )),
        }
    }
}

/// The cells of one line of CSV.
fn cells(line: &str) -> Result<StringRecord, String> {
    let mut builder = csv::ReaderBuilder::new();
    builder.has_headers(false).trim(csv::Trim::All);
    let mut reader = builder
        .buffer_capacity(line.len().max(1))
        .from_reader(line.as_bytes());
    let mut record = StringRecord::new();
    let read = reader.read_record(&mut record);
    read.map_err(|error| format!("{error} (expected cells with commas between them)"))?;
    Ok(record)
}

/// What there is to read in a cell.
pub(crate) fn bad(name: &str, cell: &str, expected: &str) -> String {
    format!("{name} is {}: expected {expected}", quoted(cell.as_bytes()))
}

/// Seconds in ticks: whole ones exactly, others to the nearest tick; `None` in an empty cell. An
/// error when it is no number, negative, or over what is simulated.
pub(crate) fn time(name: &str, cell: &str) -> Result<Option<Ticks>, String> {
    let most = TIME_MAX / TimeUnit::Second.ticks_each();
    let expected = || format!("seconds, 0 or more and less than {most}, or nothing");
    let ticks = match cell.parse::<u64>() {
        _ if cell.is_empty() => return Ok(None),
        Ok(whole) => whole.saturating_mul(TimeUnit::Second.ticks_each()),
        Err(_) => {
            let number = cell.parse::<f64>().ok();
            let number = number.filter(|time| *time >= 0.0 && time.is_finite());
            TimeUnit::Second.ticks(number.ok_or_else(|| bad(name, cell, &expected()))?)
        }
    };
    match ticks < TIME_MAX {
        true => Ok(Some(ticks)),
        false => Err(bad(name, cell, &expected())),
    }
}
