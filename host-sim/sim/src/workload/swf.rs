//! Logs of real machines in the Standard Workload Format (Feitelson, Tsafrir and Krakov 2014,
//! Experience with using the Parallel Workloads Archive, J. Parallel and Distributed Computing
//! 74(10)): from lines to jobs.
//!
//! Submit times and run times become ticks, exactly where they are whole seconds, as in the
//! archive. Jobs are put in the order of their submit times, equal ones in the order of the file.
//! -1 means unknown in every field; any other negative number does so where a run time, a requested
//! time or processors are meant. A line is left out, and counted under the first of these reasons
//! that applies:
//!
//! - It is a partial execution: its status is 2, 3 or 4, and the header has `Preemption: Double`,
//!   so another line has the whole job. Without that header the status decides nothing.
//! - It is of another partition than the one asked for.
//! - Its submit time is unknown, or outside the window.
//! - Its processors are unknown: those that it was allocated, else those that it requested.
//! - Its run time is unknown. A job that ran for 0 seconds is kept; it leaves in the moment it is
//!   granted.
//! - The jobs asked for have been read. Such lines are counted and not looked at.
//!
//! A job with more processors than the machine is kept: it never fits, and runs count it as
//! refused. Larger numbers of processors than 4294967295 count as 4294967295. The requested time
//! (field 9), where it is over 0, is the estimate of the run time and ends no job; from
//! [`TIME_MAX`](super::TIME_MAX) on it counts as that.
//!
//! Memory is that of the jobs, at most [`JOBS_MAX`], and of one line. Lines have at most 65536
//! bytes, a log has at most 2^32 bytes when it is unpacked and at most 1000 lines of
//! acknowledgements.

use std::io::Read;
use std::path::Path;

use meshalloc::{Flags, Grid, Ticks};

use super::JOBS_MAX;
use super::error::{LineCounts, LogError};
use super::log::{Entry, Log, LogForm, LogHeader, LogJob, LogOptions, Owner, leading};
use super::text_file::{Header, TextFile};
use super::trace::Trace;

pub(super) mod line;

use line::*;

const ACKNOWLEDGEMENTS_MAX: usize = 1000;

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
                        trace.entry(&text, lines.records as i64, &options, &mut latest)
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
