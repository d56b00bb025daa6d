//! Why a file of a workload cannot be used, and which lines of a log are left out.

use std::io;
use std::path::PathBuf;

use meshalloc::Grid;
use serde::Serialize;

use crate::wording::counted;

/// Why a log, or another file of a workload, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// It cannot be opened.
    #[error("{path}: {source}", path = .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It cannot be read to its end.
    #[error("{path}:{line}: {source}", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The line being read, from 1.
        line: usize,
        /// What went wrong.
        source: io::Error,
    },
    /// A line cannot be understood.
    #[error("{path}:{line}: {reason}", path = .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What was found and what was expected.
        reason: String,
    },
    /// A column has no times.
    #[error("{path}: no time in the column {column} (expected one at least)", path = .path.display())]
    NoTimes {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// No job is left.
    #[error("{path}: {}", no_jobs(.lines, .unusable.as_ref()), path = .path.display())]
    NoJobs {
        /// The file.
        path: PathBuf,
        /// Jobs read, and why they are not taken.
        lines: Box<LineCounts>,
        /// The first line that says too little, and what it does not say.
        unusable: Option<(usize, String)>,
    },
    /// All jobs are larger than the machine.
    #[error(
        "{path}: no job fits on the {machine}: the smallest of {jobs} has {smallest}",
        path = .path.display(), jobs = counted(.jobs, "job"),
        smallest = counted(.smallest, "processor")
    )]
    NoneFits {
        /// The file.
        path: PathBuf,
        /// Jobs that could be used.
        jobs: usize,
        /// The machine.
        machine: Grid,
        /// The number of processors of the smallest.
        smallest: u32,
    },
}

/// `no job is left of 3: 1 of other partitions, 2 dropped without processors`.
fn no_jobs(lines: &LineCounts, unusable: Option<&(usize, String)>) -> String {
    if lines.records == 0 {
        return "the log has no jobs".to_owned();
    }
    let reasons = lines.left_out();
    let reasons: Vec<_> = reasons
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
    let first = unusable.map(|(line, reason)| format!("; first line {line}: {reason}"));
    format!(
        "no job is left of {}: {}{}",
        lines.records,
        reasons.join(", "),
        first.unwrap_or_default()
    )
}

/// Counts of a log's lines that describe jobs, by why they were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineCounts {
    /// Jobs in the file, lines of partial executions included.
    pub records: u64,
    /// Lines left out: partial executions of jobs that have a line of their own.
    pub partial_executions: u64,
    /// Jobs left out: of other partitions.
    pub other_partitions: u64,
    /// Jobs left out: without a submit time.
    #[serde(rename = "dropped_no_submit_time")]
    pub no_submit_time: u64,
    /// Jobs left out: submitted before or after the window.
    pub outside: u64,
    /// Jobs left out: without a number of processors.
    #[serde(rename = "dropped_no_processors")]
    pub no_processors: u64,
    /// Jobs left out: without a run time.
    #[serde(rename = "dropped_no_run_time")]
    pub no_run_time: u64,
    /// Lines after the last job that [`LogOptions::limit`](super::LogOptions::limit) takes.
    #[cfg_attr(
        feature = "schema",
        schemars(description = "Lines after the last job that `jobs` takes.")
    )]
    pub beyond_limit: u64,
}

impl LineCounts {
    /// The counts over 0 of lines left out, each with its reason.
    pub fn left_out(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let counts = [
            (self.partial_executions, "of partial executions"),
            (self.other_partitions, "of other partitions"),
            (self.no_submit_time, "dropped without a submit time"),
            (self.outside, "outside the window"),
            (self.no_processors, "dropped without processors"),
            (self.no_run_time, "dropped without a run time"),
            (self.beyond_limit, "beyond --jobs"),
        ];
        counts.into_iter().filter(|(count, _)| *count > 0)
    }
}
