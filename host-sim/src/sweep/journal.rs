//! The journal of a sweep: JSON, one line for each point that has ended, in the order in which they ended.
//!
//! The first line identifies what the others belong to: the version of the program and a digest of all points (`digest.rs`). A line
//! is written whole and brought to the disk before the next one, so a process that is killed leaves at most
//! its last line torn. Each line has the values of every run as they were measured, to the last bit; what is derived
//! from them is derived anew.
//!
//! Each line has a checksum (`record.rs`). Lines that do not check are left out and reported, and the points in them
//! are run again. Nothing but what follows the last whole line is ever removed from a journal.
//!
//! A journal is read line by line. A line that is longer than any line of these points is damaged,
//! and is not kept in memory.
//!
//! While a process writes a journal it holds a lock on it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Point;
use super::digest::digest;
use super::record::{sealed, unsealed};
use crate::file;
use crate::identity::{PROGRAM, VERSION, hash, label_text};
use meshalloc_sim::experiment::{Stop, StrategyResult};
use meshalloc_sim::input::{FILE_BYTES_MAX, Lines};
use meshalloc_sim::simulation::RunResult;
use meshalloc_sim::wording::{are, counted};

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
    /// Its first line is not that of a journal, and no other is of this one.
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
    /// It has more damaged lines than are counted.
    #[error("has more than {DAMAGED_MAX} damaged lines (expected a journal; {START_OVER})")]
    TooDamaged,
    /// It has two results for one point, and they differ.
    #[error("has two results for {point}, which differ (expected one; {START_OVER})")]
    Contradiction {
        /// The point, as [`label_text`] writes it.
        point: String,
    },
}

const START_OVER: &str = "deleting it starts over";

/// The most damaged lines of a journal, over the most points of a sweep.
const DAMAGED_MAX: usize = 1 << 17;

/// The most bytes of one run in a line, and of everything else in it.
pub(super) const RUN_BYTES_MAX: usize = 1 << 13;
const LABEL_BYTES_MAX: usize = FILE_BYTES_MAX;

/// Lines of a journal that were left out because they are damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The journal.
    pub path: PathBuf,
    /// The numbers of the lines, from 1, at least one.
    pub lines: Vec<usize>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 10;
        let count = self.lines.len();
        let shown: Vec<_> = self
            .lines
            .iter()
            .take(SHOWN)
            .map(usize::to_string)
            .collect();
        let more = if count > SHOWN { ", .." } else { "" };
        let are = are(count);
        let (path, shown) = (self.path.display(), shown.join(", "));
        let lines = counted(count, "line");
        write!(
            f,
            "{path}: {lines} ({shown}{more}) {are} damaged and left out"
        )
    }
}

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

/// The journals of one sweep: of the whole, or of its shards.
pub(super) struct Format<'p> {
    points: &'p [Point],
    header: Header,
}

/// An open journal.
pub(super) struct Journal<'p> {
    file: File,
    format: &'p Format<'p>,
}

/// The results of each point, if it has ended.
pub(super) type Known = Vec<Option<Vec<StrategyResult>>>;

/// What is in a journal.
pub(super) struct Content {
    pub(super) known: Known,
    pub(super) damage: Option<Damage>,
    /// Up to the end of the last line that is not damaged, in bytes.
    whole: u64,
}

impl<'p> Format<'p> {
    pub(super) fn new(points: &'p [Point]) -> Self {
        let header = Header {
            program: PROGRAM.to_owned(),
            version: VERSION.to_owned(),
            digest: hash(digest(points)),
            points: points.len(),
        };
        Format { points, header }
    }

    /// Opens a journal and reads what is in it, or begins a new one where there is none or `restart` is set.
    pub(super) fn open(
        &'p self,
        path: &Path,
        restart: bool,
    ) -> Result<(Journal<'p>, Content), JournalError> {
        fs::create_dir_all(file::folder_of(path))?;
        // Two processes that write in spite of all, where there are no locks, must not write over each other's lines.
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        lock(&file, File::try_lock)?;
        if restart {
            file.set_len(0)?;
        }
        let first = self.first()?;
        let mut begin = Vec::new();
        let mut reader = (&file).take(first.len() as u64);
        reader.read_to_end(&mut begin)?;
        let mut journal = Journal { file, format: self };
        if first.starts_with(&begin) && begin.len() < first.len() {
            // Nothing, or the beginning of what is written now.
            journal.file.set_len(0)?;
            journal.append(&first)?;
            // So that the name of the new file survives a loss of power, too.
            file::sync_folder(path)?;
            let content = Content {
                known: vec![None; self.points.len()],
                damage: None,
                whole: first.len() as u64,
            };
            return Ok((journal, content));
        }
        journal.file.rewind()?;
        let content = self.read(path, &journal.file)?;
        if content.whole < journal.file.metadata()?.len() {
            journal.file.set_len(content.whole)?;
        }
        Ok((journal, content))
    }

    /// Reads a journal that no process writes at the moment, and leaves it as it is.
    pub(super) fn look(&self, path: &Path) -> Result<Content, JournalError> {
        let file = File::open(path)?;
        lock(&file, File::try_lock_shared)?;
        self.read(path, &file)
    }

    /// A journal with all of these points, in order: that of an uninterrupted sweep on one thread.
    pub(super) fn whole<'r>(
        &self,
        results: impl Iterator<Item = &'r [StrategyResult]>,
    ) -> io::Result<Vec<u8>> {
        let mut bytes = self.first()?;
        for (point, results) in results.enumerate() {
            bytes.extend(self.line(point, results)?);
        }
        Ok(bytes)
    }

    fn first(&self) -> io::Result<Vec<u8>> {
        sealed("", &self.header)
    }

    /// What the checksums of all lines but the first include.
    fn identity(&self) -> String {
        format!("{VERSION} {}", self.header.digest)
    }

    fn line(&self, point: usize, results: &[StrategyResult]) -> io::Result<Vec<u8>> {
        let runs = |result: &StrategyResult| Runs {
            strategy: result.strategy.to_string(),
            runs: result.runs.clone(),
        };
        let line = Line {
            point,
            label: self.points[point].label.iter().cloned().collect(),
            strategies: results.iter().map(runs).collect(),
        };
        sealed(&self.identity(), &line)
    }

    /// The longest line of these points.
    fn line_bytes_max(&self) -> usize {
        let runs = self.points.iter().map(|point| {
            let experiment = &point.experiment;
            // An experiment that cannot be run has no lines.
            let replications = experiment.replications_max().unwrap_or_default();
            experiment
                .strategies
                .len()
                .saturating_mul(replications as usize)
        });
        let runs = runs.max().unwrap_or_default();
        runs.saturating_mul(RUN_BYTES_MAX)
            .saturating_add(LABEL_BYTES_MAX)
    }

    /// Reads all lines but the damaged ones.
    fn read(&self, path: &Path, file: &File) -> Result<Content, JournalError> {
        let mut lines = Lines::new(file, self.line_bytes_max());
        let mut whole = 0;
        let mut damaged = Vec::new();
        let mut known: Known = vec![None; self.points.len()];
        loop {
            let number = lines.number() + 1;
            let Some(line) = lines.next_or_empty()? else {
                break;
            };
            let found = match number {
                1 => match unsealed("", line) {
                    Some(json) => Some(self.check(&json).map(|()| None)?),
                    None => None,
                },
                _ => self.point(line).map(Some),
            };
            let Some(found) = found else {
                damaged.push(number);
                if damaged.len() > DAMAGED_MAX {
                    return Err(JournalError::TooDamaged);
                }
                continue;
            };
            whole = lines.bytes();
            let Some((point, results)) = found else {
                continue;
            };
            match &known[point] {
                None => known[point] = Some(results),
                Some(earlier) if agree(earlier, &results) => {}
                Some(_) => {
                    let point = label_text(&self.points[point].label);
                    return Err(JournalError::Contradiction { point });
                }
            }
        }
        if whole == 0 {
            return Err(JournalError::Foreign);
        }
        let path = path.to_owned();
        Ok(Content {
            known,
            damage: (!damaged.is_empty()).then_some(Damage {
                path,
                lines: damaged,
            }),
            whole,
        })
    }

    /// Whether a first line that is not damaged is that of these points.
    fn check(&self, json: &[u8]) -> Result<(), JournalError> {
        let found: Header = serde_json::from_slice(json).map_err(|_| JournalError::Foreign)?;
        if found.program != self.header.program {
            return Err(JournalError::Foreign);
        }
        if found.version != self.header.version {
            let found = found.version;
            return Err(JournalError::OtherVersion { found });
        }
        if found != self.header {
            return Err(JournalError::OtherScenario);
        }
        Ok(())
    }

    /// The point of a line and its results; `None` if the line is damaged.
    fn point(&self, line: &[u8]) -> Option<(usize, Vec<StrategyResult>)> {
        let json = unsealed(&self.identity(), line)?;
        let line: Line = serde_json::from_slice(&json).ok()?;
        let experiment = &self.points.get(line.point)?.experiment;
        let names = line.strategies.iter().map(|runs| &runs.strategy);
        if !names.eq(&experiment
            .strategies
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>())
        {
            return None;
        }
        let runs = line.strategies.into_iter().map(|runs| runs.runs);
        let results = experiment.summaries(runs.collect());
        let has_ended = results.iter().all(|result| result.stop != Stop::Incomplete);
        has_ended.then_some((line.point, results))
    }
}

/// Whether these are the same results, to the last bit.
pub(super) fn agree(some: &[StrategyResult], others: &[StrategyResult]) -> bool {
    let runs = |result: &StrategyResult| (result.strategy, result.runs.clone());
    some.iter().map(runs).eq(others.iter().map(runs))
}

/// Takes a lock on a journal, as long as the file is open.
fn lock(
    file: &File,
    try_lock: impl FnOnce(&File) -> Result<(), TryLockError>,
) -> Result<(), JournalError> {
    match try_lock(file) {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(JournalError::InUse),
        // A file system without locks: other writers cannot be detected.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

impl Journal<'_> {
    /// Adds a point that has ended.
    pub(super) fn add(&mut self, point: usize, results: &[StrategyResult]) -> io::Result<()> {
        let line = self.format.line(point, results)?;
        self.append(&line)
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all(line)?;
        self.file.sync_data()
    }
}
