//! Reading of logs, in the Standard Workload Format and in CSV.

use std::io::Read;
use std::path::Path;

use meshalloc::{Grid, Ticks};

use super::csv::{CsvFile, Row};
use super::entry::{Entry, Fields, Lines, Reason};
use super::error::{LineCounts, LogError};
use super::log::{Log, LogHeader};
use super::log_job::{LogJob, LogOptions};
use super::swf::line::is_name;
use super::swf::{Begun, Record};
use super::text_file::TextFile;
use super::trace::Trace;
use super::{JOBS_MAX, TimeUnit};

impl Log {
    /// Reads a log, plain or compressed with gzip, for a machine; `-` is standard input.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, a line is not in the format, there are too many or too long
    /// lines, there is not enough memory, no job is left, or the rule of shapes is not for the
    /// machine; with [`LogOptions::strict`] also when a line says too little or something stands
    /// behind the gzip data.
    pub fn read(path: &Path, options: LogOptions, machine: Grid) -> Result<Log, LogError> {
        Log::from_file(TextFile::open(path)?, options, machine)
    }

    /// Reads an uncompressed log; `path` is what errors call it. Errors are those of [`Log::read`].
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
        let fits = options.shape.check(machine);
        fits.map_err(|reason| file.wrong(reason))?;
        let is_csv = is_csv(&mut file, options.columns.is_some());
        if !is_csv && options.columns.is_some() {
            return Err(file.wrong(
                "a log in the Standard Workload Format has no columns with names (expected CSV)"
                    .to_owned(),
            ));
        }
        if is_csv && options.partition.is_some() {
            return Err(file.wrong(
                "a log in CSV has no partitions (expected the Standard Workload Format)".to_owned(),
            ));
        }
        let mut reading = Reading::default();
        if !is_csv {
            let file = reading.swf(file, &options)?;
            return reading.log(&file, options, machine);
        }
        let mut csv = CsvFile::new(file)?;
        let columns = options.columns.clone().unwrap_or_default();
        let trace = Trace::new(&csv, &columns);
        let trace = trace.map_err(|reason| csv.wrong(reason))?;
        let mut row = Row::new();
        let mut run = None;
        while csv.next_row(&mut row)? {
            let of = trace.run(&row);
            if *run.get_or_insert_with(|| of.clone()) != of {
                return Err(csv.wrong(
                    "the jobs are of several runs (expected those of one, as host-sim run writes \
                     them with one --strategy and --replications 1)"
                        .to_owned(),
                ));
            }
            let number = reading.counts.records as i64 + 1;
            let line = csv.begin();
            reading.line(csv.file(), line, &trace.row(&row), number, &options)?;
        }
        reading.log(csv.file(), options, machine)
    }

    /// Whether one of its jobs fits on the machine; an error when none does.
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

/// Whether a log is CSV. It is if its name says so. It also is if it begins with the name of a
/// column, or its columns have been given names, unless its name says that it is in the Standard
/// Workload Format.
fn is_csv<R: Read>(file: &mut TextFile<'_, R>, has_names: bool) -> bool {
    let name = file.path().to_string_lossy().to_ascii_lowercase();
    if name.ends_with(".csv") || name.ends_with(".csv.gz") {
        return true;
    }
    if is_name(file.path()) {
        return false;
    }
    let begin = file.begin().trim_ascii_start().first();
    has_names || begin.is_some_and(|&byte| byte == b'"' || byte.is_ascii_alphabetic())
}

/// A log while it is read.
#[derive(Default)]
struct Reading {
    header: LogHeader,
    jobs: Vec<LogJob>,
    counts: LineCounts,
    lines: Lines,
    /// The first line with a missing value, and the value that is missing.
    unusable: Option<(usize, String)>,
}

const JOBS: &str = "jobs";

impl Reading {
    fn swf<'p, R: Read>(
        &mut self,
        mut file: TextFile<'p, R>,
        options: &LogOptions,
    ) -> Result<TextFile<'p, R>, LogError> {
        let mut text = String::new();
        let mut begun = Begun::default();
        while file.next_line(&mut text)? {
            let text = text.trim();
            if let Some(comment) = text.strip_prefix(';') {
                let read = begun.check(comment, self.counts.records);
                let read = read.and_then(|()| self.header.line(comment));
                read.map_err(|reason| file.wrong(reason))?;
            } else if !text.is_empty() {
                self.swf_line(&file, text, options)?;
            }
        }
        Ok(file)
    }

    fn swf_line(
        &mut self,
        file: &TextFile<'_, impl Read>,
        text: &str,
        options: &LogOptions,
    ) -> Result<(), LogError> {
        // After the jobs that are asked for, lines are counted but not read.
        if self.is_full(options) {
            self.counts.records += 1;
            self.counts.beyond_limit += 1;
            return Ok(());
        }
        let wrong = |reason| file.wrong(reason);
        let record = Record::split(text).map_err(wrong)?;
        let reason = record.left_out(options, self.header.is_double);
        if let Some(reason) = reason.map_err(wrong)? {
            self.counts.records += 1;
            self.counts.add(reason);
            return Ok(());
        }
        self.line(file, file.line(), &record, -1, options)
    }

    /// Whether the jobs that are asked for have been read.
    fn is_full(&self, options: &LogOptions) -> bool {
        let is_full = options.limit.is_some_and(|limit| self.jobs.len() >= limit);
        is_full && !self.lines.are_dated()
    }

    fn line(
        &mut self,
        file: &TextFile<'_, impl Read>,
        line: usize,
        fields: &impl Fields,
        number: i64,
        options: &LogOptions,
    ) -> Result<(), LogError> {
        self.counts.records += 1;
        if self.is_full(options) {
            self.counts.beyond_limit += 1;
            return Ok(());
        }
        let entry = self.lines.entry(fields, number, options);
        match entry.map_err(|reason| file.wrong_at(line, reason))? {
            Entry::Job(job) => file.push(&mut self.jobs, job, JOBS)?,
            Entry::LeftOut(reason) => {
                if let Some(column) = reason.column() {
                    if options.strict {
                        let reason = fields.unusable(column);
                        let reason = format!("{reason}; without --strict the line is left out");
                        return Err(file.wrong_at(line, reason));
                    }
                    let unusable = || (line, fields.unusable(column));
                    self.unusable.get_or_insert_with(unusable);
                }
                self.counts.add(reason);
            }
        }
        Ok(())
    }

    /// The log, behind the last line.
    fn log(
        mut self,
        file: &TextFile<'_, impl Read>,
        options: LogOptions,
        machine: Grid,
    ) -> Result<Log, LogError> {
        if options.strict {
            file.check_end()?;
        }
        self.settle_owners();
        let mut latest = self.lines.submitted.map_or(0, |(_, latest)| latest);
        if let (true, Some((earliest, _))) = (self.lines.are_dated(), self.lines.submitted) {
            latest -= self.count_from(earliest, &options);
        }
        let Reading {
            header,
            mut jobs,
            counts,
            unusable,
            ..
        } = self;
        if !jobs.is_sorted_by_key(|job| job.arrival) {
            // Sorting takes half as much memory again, and does not report that there is not
            // enough.
            let mut room: Vec<LogJob> = Vec::new();
            file.reserve(&mut room, jobs.len(), JOBS)?;
            drop(room);
            // Stable, so equal times keep the order of the file.
            jobs.sort_by_key(|job| job.arrival);
        }
        let path = file.path().into();
        let Some(last) = jobs.last() else {
            return Err(LogError::NoJobs {
                path,
                lines: counts.into(),
                unusable,
            });
        };
        let from = options.from.unwrap_or(0);
        let end = match options.to {
            Some(to) if latest >= to => to - from,
            _ => last.arrival,
        };
        Ok(Log {
            header: header.into(),
            lines: counts,
            has_more: file.has_more(),
            end,
            jobs: jobs.into(),
            ..Log::unread(path, options, machine)
        })
    }

    /// Gives names their numbers.
    fn settle_owners(&mut self) {
        let Lines { users, groups, .. } = &self.lines;
        if users.has_names() || groups.has_names() {
            for job in &mut self.jobs {
                job.owner.user = users.settled(job.owner.user);
                job.owner.group = groups.settled(job.owner.group);
            }
        }
    }

    /// Counts times, which are dates, from the second of the earliest date. Keeps only the jobs of
    /// the window, at most as many as the options allow. Returns the zero of the log, in ticks from
    /// the beginning of 1970.
    fn count_from(&mut self, earliest: Ticks, options: &LogOptions) -> Ticks {
        let second = TimeUnit::Second.ticks_each();
        let zero = earliest - earliest % second;
        self.header.unix_start_time = i64::try_from(zero / second).ok();
        let before = self.jobs.len();
        self.jobs.retain_mut(|job| {
            let arrival = options.arrival(job.arrival - zero);
            job.arrival = arrival.unwrap_or_default();
            arrival.is_some()
        });
        let within = self.jobs.len();
        self.counts.outside += (before - within) as u64;
        self.jobs
            .truncate(options.limit.unwrap_or(JOBS_MAX as usize));
        self.counts.beyond_limit += (within - self.jobs.len()) as u64;
        zero
    }
}

impl LineCounts {
    fn add(&mut self, reason: Reason) {
        *match reason {
            Reason::PartialExecution => &mut self.partial_executions,
            Reason::OtherPartition => &mut self.other_partitions,
            Reason::NoSubmitTime => &mut self.no_submit_time,
            Reason::Outside => &mut self.outside,
            Reason::NoProcessors => &mut self.no_processors,
            Reason::NoRunTime => &mut self.no_run_time,
        } += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use meshalloc::Mesh;

    use super::*;

    /// This holds for any lines, each of which is short.
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
