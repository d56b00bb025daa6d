//! The journal of a sweep: JSON, one line for each point that has ended, in the order in which they ended.
//!
//! The first line identifies what the others belong to: the version of the program and a digest of all points. A line
//! is written whole and brought to the disk before the next one, so a process that is killed leaves at most
//! its last line torn, and that one is dropped when the journal is opened again. Each line has the values of
//! every run as they were measured, to the last bit; what is derived from them is derived anew.
//!
//! While a process writes a journal it holds a lock on it.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Point;
use crate::experiment::StrategyResult;
use crate::identity::{PROGRAM, VERSION, hash};
use crate::simulation::{Fnv1a, RunResult};

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// It cannot be read or written.
    #[error("cannot read or write the journal: {0}")]
    Io(#[from] io::Error),
    /// Another process writes it.
    #[error("another process is writing this journal (expected to be the only one)")]
    InUse,
    /// Its first line is not that of a journal.
    #[error("is no journal of {PROGRAM} (expected one, or no file; {START_OVER})")]
    Foreign,
    /// It was written by another version of the program.
    #[error("was written by version {found} (expected {VERSION}; {START_OVER})")]
    OtherVersion {
        /// The version.
        found: String,
    },
    /// It belongs to other points.
    #[error("belongs to another scenario (expected the one it was begun with; {START_OVER})")]
    OtherScenario,
    /// A line before the last cannot be read.
    #[error("line {line} is damaged: {reason} ({START_OVER})")]
    Damaged {
        /// Its number, from 1.
        line: usize,
        /// What was expected.
        reason: String,
    },
}

const START_OVER: &str = "deleting it starts over";

/// The first line.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
struct Header {
    program: String,
    version: String,
    /// Of everything that the results depend on.
    digest: String,
    points: usize,
}

/// Every other line.
#[derive(Serialize, Deserialize)]
struct Line {
    /// Its place among all points, from 0.
    point: usize,
    /// What it is, for people.
    label: BTreeMap<String, String>,
    strategies: Vec<Runs>,
}

#[derive(Serialize, Deserialize)]
struct Runs {
    strategy: String,
    runs: Vec<RunResult>,
}

/// An open journal.
pub(super) struct Journal<'p> {
    file: File,
    points: &'p [Point],
}

/// The results of each point, if it has ended.
pub(super) type Known = Vec<Option<Vec<StrategyResult>>>;

impl<'p> Journal<'p> {
    /// Opens the journal of these points and reads what is in it, or begins a new one where there is none or
    /// `restart` is set.
    pub(super) fn open(
        path: &Path,
        points: &'p [Point],
        restart: bool,
    ) -> Result<(Self, Known), JournalError> {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::InUse),
            // A file system without locks: other writers cannot be detected.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        if restart {
            file.set_len(0)?;
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;

        let header = Header::of(points);
        let mut first = serde_json::to_vec(&header).map_err(io::Error::from)?;
        first.push(b'\n');
        let mut journal = Journal { file, points };
        let mut known: Known = vec![None; points.len()];
        if first.starts_with(&content) && content.len() < first.len() {
            // Nothing, or the beginning of what is written now.
            journal.file.set_len(0)?;
            journal.file.rewind()?;
            journal.append(&first)?;
            if let Some(folder) = folder.filter(|_| cfg!(unix)) {
                // So that the name of the new file outlives a loss of power too.
                File::open(folder)?.sync_all()?;
            }
            return Ok((journal, known));
        }
        let whole = journal.read(&content, &header, &mut known)?;
        journal.file.set_len(whole)?;
        journal.file.seek(SeekFrom::Start(whole))?;
        Ok((journal, known))
    }

    /// Reads all lines but a torn last one; gives their length in bytes.
    fn read(
        &self,
        content: &[u8],
        expected: &Header,
        known: &mut Known,
    ) -> Result<u64, JournalError> {
        let mut lines = content.split_inclusive(|&byte| byte == b'\n');
        let first = lines.next().unwrap_or_default();
        let found: Header = serde_json::from_slice(first).map_err(|_| JournalError::Foreign)?;
        if found.program != expected.program {
            return Err(JournalError::Foreign);
        }
        if found.version != expected.version {
            let found = found.version;
            return Err(JournalError::OtherVersion { found });
        }
        if found != *expected {
            return Err(JournalError::OtherScenario);
        }
        let mut whole = first.len();
        for (i, line) in lines.enumerate() {
            let is_last = whole + line.len() == content.len();
            let read = match line.strip_suffix(b"\n") {
                Some(text) => self.point(text),
                None => Err("the line does not end".to_owned()),
            };
            match read {
                Ok((point, results)) => known[point] = Some(results),
                Err(_) if is_last => break,
                Err(reason) => {
                    let line = i + 2;
                    return Err(JournalError::Damaged { line, reason });
                }
            }
            whole += line.len();
        }
        Ok(whole as u64)
    }

    fn point(&self, text: &[u8]) -> Result<(usize, Vec<StrategyResult>), String> {
        let line: Line = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let count = self.points.len();
        let point = self
            .points
            .get(line.point)
            .ok_or_else(|| format!("point is {} (expected less than {count})", line.point))?;
        let experiment = &point.experiment;
        let names = || line.strategies.iter().map(|runs| runs.strategy.as_str());
        let expected: Vec<_> = experiment
            .strategies
            .iter()
            .map(ToString::to_string)
            .collect();
        if !names().eq(expected.iter().map(String::as_str)) {
            let names: Vec<_> = names().collect();
            return Err(format!(
                "strategies are {} (expected those of the scenario)",
                names.join(", ")
            ));
        }
        let runs = line.strategies.into_iter().map(|runs| runs.runs);
        Ok((line.point, experiment.summaries(runs.collect())))
    }

    /// Adds a point that has ended.
    pub(super) fn add(&mut self, point: usize, results: &[StrategyResult]) -> io::Result<()> {
        let runs = |result: &StrategyResult| Runs {
            strategy: result.strategy.to_string(),
            runs: result.runs.clone(),
        };
        let line = Line {
            point,
            label: self.points[point].label.iter().cloned().collect(),
            strategies: results.iter().map(runs).collect(),
        };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        self.append(&bytes)
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all(line)?;
        self.file.sync_data()
    }
}

impl Header {
    fn of(points: &[Point]) -> Self {
        Header {
            program: PROGRAM.to_owned(),
            version: VERSION.to_owned(),
            digest: digest(points),
            points: points.len(),
        }
    }
}

/// A number that changes with anything that the results of these points depend on: every field of their
/// experiments, which `Debug` shows without exception, the jobs of a log too.
fn digest(points: &[Point]) -> String {
    struct Sink(Fnv1a);

    impl fmt::Write for Sink {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }

    let mut sink = Sink(Fnv1a::default());
    for Point { label, experiment } in points {
        write!(sink, "{label:?}{experiment:?}").expect("the sink takes everything");
    }
    hash(sink.0.0)
}
