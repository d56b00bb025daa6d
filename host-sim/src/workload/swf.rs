//! Logs of real machines in the Standard Workload Format (Feitelson, Tsafrir and Krakov 2014, Experience with
//! using the Parallel Workloads Archive, J. Parallel and Distributed Computing 74(10)).
//!
//! A log is measured whole. Its jobs keep their submit times, counted from the log's zero, and their run
//! times; both become ticks exactly where they are whole seconds, as in the archive. Jobs are put in the
//! order of their submit times, equal ones in the order of the file.
//!
//! - A job's processors are those it was allocated, else those it requested. A job with neither is
//!   dropped and counted.
//! - A job whose run time is unknown (-1) is dropped and counted too: there is nothing to simulate. One
//!   that ran for 0 seconds is kept; it leaves in the moment it is granted.
//! - The requested time (field 9), where it is over 0, is the estimate of its run time. It ends no job.
//!
//! A log says nothing about messages. With [`LogMessages`] its jobs send some, and their run times are used only where the number of
//! iterations is to follow from them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use meshalloc::{Grid, Ticks};
use rand_distr::{Distribution, StandardUniform};

use super::stream::Stream;
use super::synthetic::DRAWS;
use super::{EstimateModel, JOBS_MAX, Job, Messages, ShapeRule, TIME_MAX, TimeUnit, Work};

/// Which jobs to take from a log, and in which shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// Only those of this partition (field 16).
    pub partition: Option<i64>,
    /// Only this number of them, the first in the file.
    pub limit: Option<usize>,
    /// How a number of processors becomes side lengths.
    pub shape: ShapeRule,
}

/// A job of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogJob {
    /// Its number in the log (field 1).
    pub number: i64,
    /// The job.
    pub job: Job,
}

/// The fields of a log's header that reports repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogHeader {
    /// `Computer`.
    pub computer: Option<String>,
    /// `Installation`.
    pub installation: Option<String>,
    /// `Acknowledge`, all lines of it: the acknowledgement when results are published.
    pub acknowledge: Vec<String>,
    /// `MaxProcs`, as it is written.
    pub max_procs: Option<String>,
}

/// A log, ready to be simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// Where it was read from.
    pub path: PathBuf,
    /// What was taken from it.
    pub options: LogOptions,
    /// Its header.
    pub header: LogHeader,
    /// The jobs in order of arrival.
    pub jobs: Vec<LogJob>,
    /// Lines that describe jobs, as far as the log was read.
    pub records: u32,
    /// Jobs of another partition.
    pub filtered: u32,
    /// Jobs dropped because neither allocated nor requested processors are known.
    pub dropped_no_processors: u32,
    /// Jobs dropped because the run time is not known.
    pub dropped_no_run_time: u32,
    /// The messages that its jobs send in place of running for their run times.
    pub messages: Option<LogMessages>,
    /// Which estimate of its run time a request carries.
    pub estimates: EstimateModel,
}

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
    #[error(
        "{path}: no job to run: of {records} jobs read, {filtered} are of another partition and \
         {dropped} have no processors or no run time", path = .path.display()
    )]
    NoJobs {
        /// The file.
        path: PathBuf,
        /// Jobs read.
        records: u32,
        /// Jobs of another partition.
        filtered: u32,
        /// Jobs dropped.
        dropped: u32,
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

/// The fields of a line.
enum Entry {
    Job(LogJob),
    OtherPartition,
    NoProcessors,
    NoRunTime,
}

impl Log {
    /// Reads a log, plain or compressed with gzip, for a machine.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, a line is not in the format, no job is left, or none of them fits on the machine.
    pub fn read(path: &Path, options: LogOptions, machine: Grid) -> Result<Log, LogError> {
        let open = |source| LogError::Open {
            path: path.into(),
            source,
        };
        let mut file = BufReader::new(File::open(path).map_err(open)?);
        let compressed = file.fill_buf().map_err(open)?.starts_with(&[0x1f, 0x8b]);
        if compressed {
            Log::from_reader(MultiGzDecoder::new(file), path, options, machine)
        } else {
            Log::from_reader(file, path, options, machine)
        }
    }

    /// Reads an uncompressed log; `path` is what errors call it.
    ///
    /// # Errors
    ///
    /// When a line is not in the format, no job is left, or none of them fits on the machine.
    pub fn from_reader(
        reader: impl Read,
        path: &Path,
        options: LogOptions,
        machine: Grid,
    ) -> Result<Log, LogError> {
        let mut reader = BufReader::new(reader);
        let mut log = Log {
            path: path.into(),
            options,
            header: LogHeader::default(),
            jobs: Vec::new(),
            records: 0,
            filtered: 0,
            dropped_no_processors: 0,
            dropped_no_run_time: 0,
            messages: None,
            estimates: EstimateModel::Log,
        };
        let limit = options.limit.unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        let mut line = 0;
        while log.jobs.len() < limit {
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
            log.line(text.trim(), machine)
                .map_err(|reason| LogError::Line {
                    path: path.into(),
                    line,
                    reason,
                })?;
        }
        if log.jobs.is_empty() {
            return Err(LogError::NoJobs {
                path: path.into(),
                records: log.records,
                filtered: log.filtered,
                dropped: log.dropped_no_processors + log.dropped_no_run_time,
            });
        }
        let sizes = log.jobs.iter().map(|entry| entry.job.request.processors);
        let smallest = sizes.min().unwrap_or(0);
        if smallest > machine.nodes() {
            return Err(LogError::NoneFits {
                path: path.into(),
                jobs: log.jobs.len(),
                machine,
                smallest,
            });
        }
        // Stable, so equal times keep the order of the file.
        log.jobs.sort_by_key(|entry| entry.job.arrival);
        Ok(log)
    }

    fn line(&mut self, text: &str, machine: Grid) -> Result<(), String> {
        if text.is_empty() {
            return Ok(());
        }
        if let Some(comment) = text.strip_prefix(';') {
            self.header.line(comment);
            return Ok(());
        }
        if self.records == JOBS_MAX {
            return Err(format!("more than {JOBS_MAX} jobs"));
        }
        self.records += 1;
        match entry(text, self.options, machine)? {
            Entry::Job(job) => self.jobs.push(job),
            Entry::OtherPartition => self.filtered += 1,
            Entry::NoProcessors => self.dropped_no_processors += 1,
            Entry::NoRunTime => self.dropped_no_run_time += 1,
        }
        Ok(())
    }
}

/// What the jobs of a log send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogMessages {
    /// The messages; the pattern of a job follows from its place in the order of arrival.
    pub messages: Messages,
    /// One iteration for each so many seconds of the job's run time, to the nearest whole number, but at least one; `None`: each job has
    /// the number of iterations in `messages`.
    pub seconds_per_iteration: Option<f64>,
    /// The cycles of the network between two jobs that were submitted a second apart.
    pub cycles_per_second: f64,
}

impl Log {
    /// The same jobs, which send messages in place of running for their run times. Their random numbers derive from `seed`.
    #[must_use]
    pub fn sending(mut self, sent: LogMessages, seed: u64) -> Log {
        let mut draws = Stream::new(seed, 0, DRAWS).with(StandardUniform);
        for (number, LogJob { job, .. }) in (0..).zip(&mut self.jobs) {
            let draw = draws.distribution.sample(&mut draws.rng);
            let mut program = sent.messages.program(number, draw);
            if let Some((run, each)) = job.work.service().zip(sent.seconds_per_iteration) {
                // A number too large becomes the largest.
                let iterations = (TimeUnit::Second.of(run) / each).round() as u32;
                program.iterations = iterations.max(1);
            }
            job.work = Work::Messages(program);
            let cycles = TimeUnit::Second.of(job.arrival) * sent.cycles_per_second;
            job.arrival = TimeUnit::Cycle.ticks(cycles);
        }
        self.messages = Some(sent);
        self.estimates = EstimateModel::None;
        self
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

fn entry(text: &str, options: LogOptions, machine: Grid) -> Result<Entry, String> {
    let record = Record::split(text)?;
    if let Some(partition) = options.partition
        && record.whole(PARTITION)? != partition
    {
        return Ok(Entry::OtherPartition);
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
    let mut request = options.shape.request(processors, machine)?;
    if let Some(requested) = record.time(REQUESTED_TIME)?.filter(|&time| time > 0) {
        request = request.with_estimate(requested);
    }
    let arrival = record.time(SUBMIT)?;
    let arrival = arrival.ok_or_else(|| record.bad(SUBMIT, "0 seconds or more"))?;
    let Some(service) = record.time(RUN)? else {
        return Ok(Entry::NoRunTime);
    };
    Ok(Entry::Job(LogJob {
        number: record.whole(JOB)?,
        job: Job {
            arrival,
            request,
            work: Work::Service(service),
        },
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
