//! Logs of real machines in the Standard Workload Format (Feitelson, Tsafrir and Krakov 2014, Experience with
//! using the Parallel Workloads Archive, J. Parallel and Distributed Computing 74(10)): from lines to jobs.
//!
//! Submit times and run times become ticks, exactly where they are whole seconds, as in the archive. Jobs are put in the
//! order of their submit times, equal ones in the order of the file.
//!
//! - A job's processors are those it was allocated, else those it requested. A job with neither is
//!   dropped and counted.
//! - A job whose run time is unknown (-1) is dropped and counted too: there is nothing to simulate. One
//!   that ran for 0 seconds is kept; it leaves in the moment it is granted.
//! - The requested time (field 9), where it is over 0, is the estimate of its run time. It ends no job.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use meshalloc::{Grid, Ticks};

use super::log::{LineCounts, Log, LogHeader, LogJob, LogOptions};
use super::{EstimateModel, JOBS_MAX, TIME_MAX, TimeUnit};

/// Why a log cannot be used.
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
    /// No job is left.
    #[error("{path}: no job to run: of {records} jobs read{left_out}", path = .path.display(),
        records = .lines.records, left_out = left_out(.lines))]
    NoJobs {
        /// The file.
        path: PathBuf,
        /// Jobs read, and why they are not taken.
        lines: LineCounts,
    },
    /// All jobs are larger than the machine.
    #[error(
        "{path}: none of the {jobs} jobs fits on the {machine}: the smallest has {smallest} processors",
        path = .path.display()
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
struct Field {
    /// Its number, from 1.
    number: usize,
    name: &'static str,
}

/// The fields of a line.
const FIELDS: usize = 18;

const JOB: Field = field(1, "job number");
const SUBMIT: Field = field(2, "submit time");
const RUN: Field = field(4, "run time");
const ALLOCATED: Field = field(5, "allocated processors");
const REQUESTED: Field = field(8, "requested processors");
const REQUESTED_TIME: Field = field(9, "requested time");
const PARTITION: Field = field(16, "partition");

const fn field(number: usize, name: &'static str) -> Field {
    Field { number, name }
}

/// What becomes of a line.
enum Entry {
    Job(LogJob),
    OtherPartition,
    Outside,
    NoProcessors,
    NoRunTime,
}

impl Log {
    /// Reads a log, plain or compressed with gzip, for a machine; `-` is standard input.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, a line is not in the format, no job is left, none of them fits on the machine, or the rule
    /// of shapes is not for it.
    pub fn read(path: &Path, options: LogOptions, machine: Grid) -> Result<Log, LogError> {
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
        let compressed = plain.fill_buf().map_err(open)?.starts_with(&[0x1f, 0x8b]);
        if compressed {
            Log::from_reader(MultiGzDecoder::new(plain), path, options, machine)
        } else {
            Log::from_reader(plain, path, options, machine)
        }
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
        let wrong = |line, reason| LogError::Line {
            path: path.into(),
            line,
            reason,
        };
        let mut reader = BufReader::new(reader);
        let mut header = LogHeader::default();
        let mut lines = LineCounts::default();
        let mut jobs = Vec::new();
        let limit = options.limit.unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        let mut line = 0;
        let mut latest = 0;
        while jobs.len() < limit {
            line += 1;
            bytes.clear();
            let read = reader.read_until(b'\n', &mut bytes);
            let read = read.map_err(|source| LogError::Read {
                path: path.into(),
                line,
                source,
            })?;
            if read == 0 {
                break;
            }
            // Headers of old logs are not always UTF-8; numbers are.
            let text = String::from_utf8_lossy(&bytes);
            let text = text.trim();
            if let Some(comment) = text.strip_prefix(';') {
                header.line(comment);
            } else if !text.is_empty() {
                if lines.records == JOBS_MAX {
                    return Err(wrong(line, format!("more than {JOBS_MAX} jobs")));
                }
                lines.records += 1;
                let entry = entry(text, options, machine, &mut latest);
                match entry.map_err(|reason| wrong(line, reason))? {
                    Entry::Job(job) => jobs.push(job),
                    Entry::OtherPartition => lines.other_partitions += 1,
                    Entry::Outside => lines.outside += 1,
                    Entry::NoProcessors => lines.no_processors += 1,
                    Entry::NoRunTime => lines.no_run_time += 1,
                }
            }
        }
        // Stable, so equal times keep the order of the file.
        jobs.sort_by_key(|job| job.arrival);
        let path = path.into();
        let (Some(last), Some(smallest)) =
            (jobs.last(), jobs.iter().map(|job| job.processors).min())
        else {
            return Err(LogError::NoJobs { path, lines });
        };
        if smallest > machine.nodes() {
            return Err(LogError::NoneFits {
                path,
                jobs: jobs.len(),
                machine,
                smallest,
            });
        }
        let from = options.from.unwrap_or(0);
        let end = match options.to {
            Some(to) if latest >= to => to - from,
            _ => last.arrival,
        };
        Ok(Log {
            path,
            options,
            machine,
            header,
            lines,
            end,
            jobs: jobs.into(),
            load: None,
            resample: None,
            messages: None,
            estimates: EstimateModel::Log,
        })
    }
}

impl LogHeader {
    fn line(&mut self, comment: &str) {
        let Some((key, value)) = comment.split_once(':') else {
            return;
        };
        let value = value.trim().to_string();
        match key.trim() {
            "Computer" => self.computer = Some(value),
            "Installation" => self.installation = Some(value),
            "Acknowledge" => self.acknowledge.push(value),
            "MaxProcs" => self.max_procs = Some(value),
            _ => {}
        }
    }
}

/// Reads a line; `latest` becomes the latest submit time of the partition so far.
fn entry(
    text: &str,
    options: LogOptions,
    machine: Grid,
    latest: &mut Ticks,
) -> Result<Entry, String> {
    let record = Record::split(text)?;
    if let Some(partition) = options.partition
        && record.whole(PARTITION)? != partition
    {
        return Ok(Entry::OtherPartition);
    }
    let submitted = record.time(SUBMIT)?;
    let submitted = submitted.ok_or_else(|| record.bad(SUBMIT, "0 seconds or more"))?;
    *latest = submitted.max(*latest);
    let from = options.from.unwrap_or(0);
    if submitted < from || options.to.is_some_and(|to| submitted >= to) {
        return Ok(Entry::Outside);
    }
    let allocated = record.whole(ALLOCATED)?;
    let processors = if allocated > 0 {
        allocated
    } else {
        record.whole(REQUESTED)?
    };
    if processors <= 0 {
        return Ok(Entry::NoProcessors);
    }
    let processors = u32::try_from(processors)
        .map_err(|_| format!("{processors} processors: no machine has so many"))?;
    options.shape.check_size(processors, machine)?;
    let requested_time = record.time(REQUESTED_TIME)?.filter(|&time| time > 0);
    let Some(run_time) = record.time(RUN)? else {
        return Ok(Entry::NoRunTime);
    };
    Ok(Entry::Job(LogJob {
        number: record.whole(JOB)?,
        arrival: submitted - from,
        processors,
        run_time,
        requested_time,
    }))
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
            return Err(format!("{found} fields: expected {FIELDS}, one job a line"));
        }
        Ok(Record(words))
    }

    fn word(&self, field: Field) -> &'t str {
        self.0[field.number - 1]
    }

    fn bad(&self, field: Field, expected: &str) -> String {
        let Field { number, name } = field;
        let found = self.word(field);
        format!("field {number} ({name}) is {found:?}: expected {expected}")
    }

    fn whole(&self, field: Field) -> Result<i64, String> {
        let number = self.word(field).parse();
        number.map_err(|_| self.bad(field, "a whole number, -1 if unknown"))
    }

    /// Seconds in ticks: whole ones exactly, others to the nearest tick; `None` for negative ones.
    fn time(&self, field: Field) -> Result<Option<Ticks>, String> {
        let word = self.word(field);
        let time = if let Ok(whole) = word.parse::<i64>() {
            let whole = u64::try_from(whole).ok();
            whole.map(|seconds| seconds.saturating_mul(TimeUnit::Second.ticks_each()))
        } else {
            let number = word.parse::<f64>().ok().filter(|time| time.is_finite());
            let number =
                number.ok_or_else(|| self.bad(field, "a number of seconds, -1 if unknown"))?;
            (number >= 0.0).then(|| TimeUnit::Second.ticks(number))
        };
        if time.is_some_and(|time| time >= TIME_MAX) {
            let most = format!(
                "less than {} seconds",
                TIME_MAX / TimeUnit::Second.ticks_each()
            );
            return Err(self.bad(field, &most));
        }
        Ok(time)
    }
}
