//! Logs of real machines in the Standard Workload Format (Feitelson, Tsafrir and Krakov 2014,
//! Experience with using the Parallel Workloads Archive, J. Parallel and Distributed Computing
//! 74(10)): from lines to jobs.
//!
//! Submit times and run times become ticks, exactly where they are whole seconds, as in the
//! archive. Jobs are put in the order of their submit times, equal ones in the order of the file.
//!
//! -1 means unknown in every field; any other negative number does so where a run time, a requested
//! time or processors are meant. A line is left out, and counted under the first of these reasons
//! that applies:
//!
//! - It is a partial execution: its status is 2, 3 or 4, and the header has `Preemption: Double`,
//!   so another line has the whole job. Without that header the status decides nothing.
//! - It is of another partition than the one asked for.
//! - Its submit time is unknown, or outside the window.
//! - Its processors are unknown: those that it was allocated, else those that it requested.
//! - Its run time is unknown: there is nothing to simulate. A job that ran for 0 seconds is kept;
//!   it leaves in the moment it is granted.
//! - The jobs asked for have been read. Such lines are counted and not looked at.
//!
//! A job with more processors than the machine is kept: it never fits, and runs count it as
//! refused. Larger numbers of processors than 4294967295 count as 4294967295.
//!
//! The requested time (field 9), where it is over 0, is the estimate of the run time. It ends no
//! job. Estimates from [`TIME_MAX`] on count as that, longer than any log.
//!
//! # Memory
//!
//! That of the jobs, at most [`JOBS_MAX`], and of one line. Lines have at most 65536 bytes, a log
//! has at most 2^32 bytes when it is unpacked and at most 1000 lines of acknowledgements.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use meshalloc::{Flags, Grid, Ticks};

use super::log::{LineCounts, Log, LogForm, LogHeader, LogJob, LogOptions, Owner};
use super::text_file::{Header, TextFile};
use super::trace::Trace;
use super::{JOBS_MAX, TIME_MAX, TimeUnit};
use crate::wording::{counted, quoted};

/// The most lines of acknowledgements.
const ACKNOWLEDGEMENTS_MAX: usize = 1000;

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
    #[error("{path}: no job to run: of {records} read{left_out}", path = .path.display(),
        records = counted(.lines.records, "job"), left_out = left_out(.lines))]
    NoJobs {
        /// The file.
        path: PathBuf,
        /// Jobs read, and why they are not taken.
        lines: LineCounts,
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

fn left_out(lines: &LineCounts) -> String {
    let reasons = lines
        .left_out()
        .map(|(count, why)| format!(", {count} {why}"));
    reasons.collect()
}

/// A field of the format.
#[derive(Clone, Copy)]
pub(super) struct Field {
    /// Its number, from 1.
    number: usize,
    name: &'static str,
}

/// The fields of a line.
const FIELDS: usize = 18;

const JOB: Field = field(1, "job number");
const SUBMIT: Field = field(2, "submit time");
const WAIT: Field = field(3, "wait time");
const RUN: Field = field(4, "run time");
const ALLOCATED: Field = field(5, "allocated processors");
const REQUESTED: Field = field(8, "requested processors");
const REQUESTED_TIME: Field = field(9, "requested time");
const STATUS: Field = field(11, "status");
const USER: Field = field(12, "user");
const GROUP: Field = field(13, "group");
const PARTITION: Field = field(16, "partition");

const fn field(number: usize, name: &'static str) -> Field {
    Field { number, name }
}

/// What becomes of a line.
pub(super) enum Entry {
    Job(LogJob),
    PartialExecution,
    OtherPartition,
    NoSubmitTime,
    Outside,
    NoProcessors,
    NoRunTime,
}

/// What the lines of a file are.
enum Rows {
    Swf,
    /// Of CSV, behind the header.
    Csv(Trace),
}

impl Log {
    /// Reads a log, plain or compressed with gzip, for a machine; `-` is standard input.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, a line is not in the format, there are too many or too long
    /// lines, no job is left, or the rule of shapes is not for the machine.
    pub fn read(path: &Path, options: LogOptions, machine: Grid) -> Result<Log, LogError> {
        Log::from_file(TextFile::open(path)?, options, machine)
    }

    /// Reads an uncompressed log; `path` is what errors call it.
    ///
    /// # Errors
    ///
    /// Those of [`Log::read`].
    pub fn from_reader(
        reader: impl Read,
        path: &Path,
        options: LogOptions,
        machine: Grid,
    ) -> Result<Log, LogError> {
        Log::from_file(TextFile::new(reader, path), options, machine)
    }

    fn from_file(
        mut file: TextFile<'_, impl Read>,
        options: LogOptions,
        machine: Grid,
    ) -> Result<Log, LogError> {
        let mut header = LogHeader::default();
        let mut lines = LineCounts::default();
        let mut jobs = Vec::new();
        let limit = options.limit.unwrap_or(usize::MAX);
        let mut latest = 0;
        let fits = options.shape.check(machine);
        fits.map_err(|reason| file.wrong(reason))?;
        let form = match &options.form {
            LogForm::Swf => Rows::Swf,
            LogForm::Csv(columns) => {
                let names = Header::read(&mut file)?;
                let trace = Trace::new(names, columns);
                Rows::Csv(trace.map_err(|reason| file.wrong(reason))?)
            }
        };
        while let Some(text) = file.next_line()? {
            let comment = text.strip_prefix(';');
            if let (Some(comment), Rows::Swf) = (comment, &form) {
                let read = header.line(comment);
                read.map_err(|reason| file.wrong(reason))?;
            } else if !text.is_empty() {
                lines.records += 1;
                if jobs.len() == limit {
                    lines.beyond_limit += 1;
                    continue;
                }
                let entry = match &form {
                    Rows::Swf => entry(&text, &options, header.is_double, &mut latest),
                    Rows::Csv(trace) => {
                        trace.entry(&text, i64::from(lines.records), &options, &mut latest)
                    }
                };
                match entry.map_err(|reason| file.wrong(reason))? {
                    Entry::Job(_) if jobs.len() == JOBS_MAX as usize => {
                        return Err(file.wrong(format!("more than {JOBS_MAX} jobs")));
                    }
                    Entry::Job(job) => jobs.push(job),
                    Entry::PartialExecution => lines.partial_executions += 1,
                    Entry::OtherPartition => lines.other_partitions += 1,
                    Entry::NoSubmitTime => lines.no_submit_time += 1,
                    Entry::Outside => lines.outside += 1,
                    Entry::NoProcessors => lines.no_processors += 1,
                    Entry::NoRunTime => lines.no_run_time += 1,
                }
            }
        }
        // Stable, so equal times keep the order of the file.
        jobs.sort_by_key(|job| job.arrival);
        let path = file.path().into();
        let Some(last) = jobs.last() else {
            return Err(LogError::NoJobs { path, lines });
        };
        let from = options.from.unwrap_or(0);
        let end = match options.to {
            Some(to) if latest >= to => to - from,
            _ => last.arrival,
        };
        Ok(Log {
            header: header.into(),
            lines,
            end,
            jobs: jobs.into(),
            ..Log::unread(path, options, machine)
        })
    }
}

impl Log {
    /// Whether one of its jobs fits on the machine.
    ///
    /// # Errors
    ///
    /// When none does.
    pub fn check_fits(&self) -> Result<(), LogError> {
        let sizes = self.jobs.iter().map(|job| job.processors);
        let smallest = sizes.min().unwrap_or_default();
        if smallest <= self.machine.nodes() {
            return Ok(());
        }
        Err(LogError::NoneFits {
            path: self.path.clone(),
            jobs: self.jobs.len(),
            machine: self.machine,
            smallest,
        })
    }
}

impl LogHeader {
    fn line(&mut self, comment: &str) -> Result<(), String> {
        let Some((key, value)) = comment.split_once(':') else {
            return Ok(());
        };
        let value = value.trim().to_string();
        match key.trim() {
            "Computer" => self.computer = Some(value),
            "Installation" => self.installation = Some(value),
            "Acknowledge" if self.acknowledge.len() == ACKNOWLEDGEMENTS_MAX => {
                return Err(format!(
                    "more than {ACKNOWLEDGEMENTS_MAX} lines of acknowledgements (expected at most \
                     that)"
                ));
            }
            "Acknowledge" => self.acknowledge.push(value),
            "MaxProcs" => self.max_procs = Some(value),
            "MaxNodes" => self.max_nodes = Some(value),
            "Preemption" => self.is_double = value.eq_ignore_ascii_case("double"),
            // Other logs than those of machines have 0 or -1.
            "UnixStartTime" => self.unix_start_time = leading(&value),
            "TimeZoneString" => self.time_zone = Some(value),
            _ => {}
        }
        Ok(())
    }
}

/// The number over 0 that a value of the header begins with; a remark may follow.
pub(super) fn leading<T: FromStr + PartialOrd + From<u8>>(value: &str) -> Option<T> {
    let digits = value.split(|sign: char| !sign.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|number| *number > T::from(0))
}

/// Reads a line; `is_double` is whether partial executions have lines of their own in addition to
/// those of jobs. `latest` becomes the latest submit time of the partition so far.
fn entry(
    text: &str,
    options: &LogOptions,
    is_double: bool,
    latest: &mut Ticks,
) -> Result<Entry, String> {
    let record = Record::split(text)?;
    if is_double && (2..=4).contains(&record.whole(STATUS)?) {
        return Ok(Entry::PartialExecution);
    }
    if let Some(partition) = options.partition
        && record.whole(PARTITION)? != partition
    {
        return Ok(Entry::OtherPartition);
    }
    let Some(submitted) = record.time(SUBMIT)? else {
        return match record.is_unknown(SUBMIT) {
            true => Ok(Entry::NoSubmitTime),
            false => Err(record.bad(SUBMIT, "0 seconds or more, -1 if unknown")),
        };
    };
    check_time(submitted, &record, SUBMIT)?;
    let Some(arrival) = options.arrival(submitted, latest) else {
        return Ok(Entry::Outside);
    };
    let allocated = record.whole(ALLOCATED)?;
    let processors = if allocated > 0 {
        allocated
    } else {
        record.whole(REQUESTED)?
    };
    if processors <= 0 {
        return Ok(Entry::NoProcessors);
    }
    let requested_time = record.time(REQUESTED_TIME)?.filter(|&time| time > 0);
    let Some(run_time) = record.time(RUN)? else {
        return Ok(Entry::NoRunTime);
    };
    check_time(run_time, &record, RUN)?;
    Ok(Entry::Job(LogJob {
        number: record.whole(JOB)?,
        arrival,
        // More than that fit on no machine either.
        processors: options.nodes(u32::try_from(processors).unwrap_or(u32::MAX)),
        shape: None,
        flags: Flags::empty(),
        run_time,
        requested_time,
        owner: Owner {
            user: record.whole(USER).unwrap_or(-1),
            group: record.whole(GROUP).unwrap_or(-1),
            priority: -1,
        },
    }))
}

/// Whether the name of a file says that it is a log in this format.
pub(super) fn is_name(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    name.ends_with(".swf") || name.ends_with(".swf.gz")
}

/// The field of a time that CSV files call so.
pub(super) fn field_of(column: &str) -> Option<Field> {
    match column {
        "submit" => Some(SUBMIT),
        "wait" => Some(WAIT),
        "run" => Some(RUN),
        "estimate" => Some(REQUESTED_TIME),
        _ => None,
    }
}

/// The time in a field of a line; `None` in a comment, or if it is not known.
pub(super) fn time_in(line: &str, field: Field) -> Result<Option<Ticks>, String> {
    if line.starts_with(';') {
        return Ok(None);
    }
    let record = Record::split(line)?;
    let time = record.time(field)?;
    if let Some(time) = time {
        check_time(time, &record, field)?;
    }
    Ok(time)
}

/// Whether a time is simulated.
fn check_time(time: Ticks, record: &Record<'_>, field: Field) -> Result<(), String> {
    if time < TIME_MAX {
        return Ok(());
    }
    let seconds = TIME_MAX / TimeUnit::Second.ticks_each();
    Err(record.bad(field, &format!("less than {seconds} seconds")))
}

/// The words of a line.
struct Record<'t>([&'t str; FIELDS]);

impl<'t> Record<'t> {
    fn split(text: &'t str) -> Result<Self, String> {
        let mut words = [""; FIELDS];
        let mut found = 0;
        for word in text.split_ascii_whitespace() {
            if let Some(place) = words.get_mut(found) {
                *place = word;
            }
            found += 1;
        }
        if found != FIELDS {
            let found = counted(found, "field");
            return Err(format!("{found}: expected {FIELDS}, one job a line"));
        }
        Ok(Record(words))
    }

    fn word(&self, field: Field) -> &'t str {
        self.0[field.number - 1]
    }

    fn bad(&self, field: Field, expected: &str) -> String {
        let Field { number, name } = field;
        let found = quoted(self.word(field).as_bytes());
        format!("field {number} ({name}) is {found}: expected {expected}")
    }

    fn whole(&self, field: Field) -> Result<i64, String> {
        let number = self.word(field).parse();
        number.map_err(|_| self.bad(field, "a whole number, -1 if unknown"))
    }

    /// Whether a field that is a number is -1.
    fn is_unknown(&self, field: Field) -> bool {
        self.word(field).parse() == Ok(-1.0)
    }

    /// Seconds in ticks, at most [`TIME_MAX`]: whole ones exactly, others to the nearest tick;
    /// `None` for negative ones.
    fn time(&self, field: Field) -> Result<Option<Ticks>, String> {
        let word = self.word(field);
        if let Ok(whole) = word.parse::<i64>() {
            let seconds = u64::try_from(whole).ok();
            let ticks = |seconds: u64| seconds.saturating_mul(TimeUnit::Second.ticks_each());
            return Ok(seconds.map(|seconds| ticks(seconds).min(TIME_MAX)));
        }
        let number = word.parse::<f64>().ok().filter(|time| time.is_finite());
        let number = number.ok_or_else(|| self.bad(field, "a number of seconds, -1 if unknown"))?;
        Ok((number >= 0.0).then(|| TimeUnit::Second.ticks(number)))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use meshalloc::Mesh;

    use super::*;

    /// Whatever the lines are, each of which is short.
    #[test]
    fn a_log_has_a_largest_size() {
        let machine = Mesh::new(4, 4).expect("a mesh").grid();
        for byte in [b'\n', b' '] {
            let lines = [byte, b'\n'].repeat(10);
            let endless = io::Cursor::new(&lines).chain(io::repeat(b'\n'));
            let file = TextFile::new(endless, Path::new("a.swf")).up_to(1000);
            let error = Log::from_file(file, LogOptions::default(), machine);
            let error = error.unwrap_err().to_string();
            assert!(
                error.ends_with("the file is larger than 1000 bytes (expected at most that)"),
                "{error}"
            );
        }
    }
}
