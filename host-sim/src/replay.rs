//! `replay`: a file of operations, one by one, through a controller.
//!
//! `host-sim replay --help` describes the file.
//!
//! Time is counted in operations: the controller's clock advances by one with each. Strategies that
//! look ahead decide by estimates. A job whose lease ends is released, whether it runs or waits.
//! The operation `lease` gives a new one.
//!
//! Each operation gives one JSON object on a line. A job that does not fit is refused; with a
//! [queue](Waiting) it waits until the scheduler lets it in. Its grant is then a separate object,
//! after the object of the operation that made it possible. The end of a lease is also a separate
//! object.

use std::fmt;
use std::io::{self, Read, Write};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use meshalloc::grid::FormattedBlock;
use meshalloc::message::JobReport;
use meshalloc::{
    Answer, Block, Change, Error, Event, EventKind, FaultReport, Flags, Grid, JobId, JobState,
    Outcome, Query, Reason,
};

use meshalloc_sim::backend::{Backend, BackendError};
use meshalloc_sim::input::{LINE_BYTES_MAX, Lines};
use meshalloc_sim::metrics::Refusals;
use meshalloc_sim::statistics::Delays;

mod command;
mod interruptible;
mod lines;
mod object;
mod operation;

pub(crate) use command::{FORMAT, ReplayArgs, carry_out};
use interruptible::Interruptible;
pub use lines::check;
use object::{Outcome as Written, Served, Set, json};
pub use operation::parse;
#[cfg(feature = "reference")]
pub(crate) use {
    object::{Served as ServedObject, Set as SetObject},
    operation::Line,
};

/// The name of an error that is not a refusal.
const UNKNOWN_JOB: &str = "unknown-job";

/// The counts of a replay.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Operations of all kinds.
    pub operations: u64,
    /// Jobs granted, at once or after waiting.
    pub granted: u64,
    /// Jobs that had to wait.
    pub waited: u64,
    /// Jobs refused, by reason.
    pub refused: Refusals,
    /// Jobs freed.
    pub freed: u64,
    /// Attempts to free a job that held nothing.
    pub unknown_jobs: u64,
    /// Leases given, including those given together with the job.
    pub leases: u64,
    /// Attempts to give a lease to a job that is not there.
    pub leases_refused: u64,
    /// Jobs released because their leases had ended.
    pub leases_ended: u64,
    /// Processors that became faulty.
    pub faults: u64,
    /// Processors that were repaired.
    pub repairs: u64,
    /// Wall clock time, reading and writing included.
    pub elapsed: Duration,
}

impl Counts {
    /// Writes a line for each count.
    pub fn write(&self, trips: Option<Delays>, output: &mut dyn Write) -> io::Result<()> {
        let mut line = |name: &str, value: String| writeln!(output, "{name:<24}{value:>12}");
        line("operations", self.operations.to_string())?;
        line("granted", self.granted.to_string())?;
        if self.waited > 0 {
            line("waited", self.waited.to_string())?;
        }
        line("refused", self.refused.total().to_string())?;
        for (reason, count) in self.refused.iter() {
            line(&format!("  {}", reason.name()), count.to_string())?;
        }
        line("freed", self.freed.to_string())?;
        line("not freed", self.unknown_jobs.to_string())?;
        if self.unknown_jobs > 0 {
            line(&format!("  {UNKNOWN_JOB}"), self.unknown_jobs.to_string())?;
        }
        if self.leases + self.leases_refused > 0 {
            line("leases", self.leases.to_string())?;
            line("leases refused", self.leases_refused.to_string())?;
            line("leases ended", self.leases_ended.to_string())?;
        }
        line("faults", self.faults.to_string())?;
        line("repairs", self.repairs.to_string())?;
        let rate = self.operations as f64 / self.elapsed.as_secs_f64();
        if rate.is_finite() {
            line("operations per second", format!("{rate:.0}"))?;
        }
        let Some(mut trips) = trips else {
            return Ok(());
        };
        for (name, quantile) in [
            ("round trip median (ms)", 0.5),
            ("round trip 99 % (ms)", 0.99),
        ] {
            if let Some(nanos) = trips.quantile(quantile) {
                line(name, format!("{:.3}", nanos / 1e6))?;
            }
        }
        Ok(())
    }
}

/// Why a replay stopped.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The operations cannot be read.
    #[error("{file}: cannot read: {source}")]
    Read {
        /// The file, as it was named.
        file: String,
        /// Why not.
        source: io::Error,
    },
    /// A line is not an operation on this machine, or the controller's reply does not belong to it.
    #[error("{file}:{line}: {reason}")]
    Line {
        /// The file, as it was named.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// The controller cannot go on.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The results cannot be written.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
}

/// How a job that does not fit is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// The job is refused.
    #[default]
    Never,
    /// The job waits in the controller's queue.
    Queue,
}

/// Carries out all operations of `input`, on a controller that serves `machine` and has no job. One
/// JSON object for each operation goes to `output`. The output is flushed whenever the input has to
/// be waited for, at the end, and before an error: the first line that cannot be read or carried
/// out.
pub fn replay(
    file: &str,
    input: impl Read,
    machine: Grid,
    waiting: Waiting,
    backend: &mut dyn Backend,
    mut output: impl Write,
) -> Result<Counts, ReplayError> {
    let begin = Instant::now();
    let mut replay = Replay {
        file,
        line: 0,
        machine,
        waiting,
        counts: Counts::default(),
        events: Vec::new(),
        blocks: Vec::new(),
    };
    let stopped = replay.all(input, backend, &mut output);
    output.flush()?;
    stopped?;
    replay.counts.elapsed = begin.elapsed();
    Ok(replay.counts)
}

struct Replay<'f> {
    file: &'f str,
    line: u64,
    machine: Grid,
    waiting: Waiting,
    counts: Counts,
    /// The events of the latest change, in order, each with the place where its blocks end, and
    /// those of the next event begin. The list is kept so that its memory is reused.
    events: Vec<(Event, usize)>,
    /// The blocks of all events.
    blocks: Vec<Block>,
}

fn is_grant_of(event: &Event, job: JobId) -> bool {
    event.job == job && matches!(event.what, EventKind::Granted { .. })
}

/// Why a job waits, if the controller can tell: boards may be unable to.
fn reason(backend: &mut dyn Backend, job: JobId) -> Option<&'static str> {
    match backend.query(&Query::Why { job }) {
        Ok(Ok(Answer::Why(report))) => report.reason.map(Reason::name),
        _ => None,
    }
}

impl Replay<'_> {
    fn all(
        &mut self,
        input: impl Read,
        backend: &mut dyn Backend,
        output: &mut impl Write,
    ) -> Result<(), ReplayError> {
        let mut lines = Lines::new(input, LINE_BYTES_MAX);
        loop {
            if lines.is_drained() {
                output.flush()?;
            }
            let Some(change) = lines::next(&mut lines, self.file, self.machine)? else {
                return Ok(());
            };
            self.line = lines.number() as u64;
            if let Some(change) = change {
                self.one(change, backend, output)?;
            }
        }
    }

    fn one(
        &mut self,
        mut change: Change,
        backend: &mut dyn Backend,
        output: &mut impl Write,
    ) -> Result<(), ReplayError> {
        self.counts.operations += 1;
        if let (Change::Submit { request, .. }, Waiting::Never) = (&mut change, self.waiting) {
            *request = request.with_flags(request.flags | Flags::NO_WAIT);
        }
        let reply = self.call(backend, &change)?;
        let (op, job, outcome) = match (change, reply) {
            (Change::Submit { job, lease, .. }, Ok(Outcome::Done)) => {
                self.counts.leases += u64::from(lease.is_some());
                let mut events = self.events.iter();
                let own = events.position(|(event, _)| is_grant_of(event, job));
                let outcome = match own {
                    Some(place) => {
                        self.counts.granted += 1;
                        Written::Granted(self.blocks_of(place))
                    }
                    None => {
                        self.counts.waited += 1;
                        Written::Waits(self.ahead(backend, job)?)
                    }
                };
                ("alloc", job, outcome)
            }
            (Change::Submit { job, .. }, Err(error)) if let Some(reason) = error.refusal() => {
                self.counts.refused.add(reason);
                ("alloc", job, Written::Error(reason.name()))
            }
            (Change::Lease { job, ticks }, Ok(Outcome::Done)) => {
                self.counts.leases += 1;
                let ticks = ticks.map_or(0, NonZeroU64::get);
                ("lease", job, Written::Leased(ticks))
            }
            (Change::Lease { job, .. }, Err(Error::UnknownJob)) => {
                self.counts.leases_refused += 1;
                ("lease", job, Written::Error(UNKNOWN_JOB))
            }
            (Change::Lease { job, .. }, Err(Error::Refused(reason))) => {
                self.counts.leases_refused += 1;
                ("lease", job, Written::Error(reason.name()))
            }
            (Change::Release { job }, Ok(Outcome::Released { processors })) => {
                self.counts.freed += 1;
                ("free", job, Written::Released(processors))
            }
            (Change::Release { job }, Err(Error::UnknownJob)) => {
                self.counts.unknown_jobs += 1;
                ("free", job, Written::Error(UNKNOWN_JOB))
            }
            (Change::MarkFaulty { block }, Ok(Outcome::Faults(report))) => {
                self.counts.faults += u64::from(report.changed);
                return self.set(backend, output, "fault", block, &report);
            }
            (Change::ClearFaulty { block }, Ok(Outcome::Faults(report))) => {
                self.counts.repairs += u64::from(report.changed);
                return self.set(backend, output, "repair", block, &report);
            }
            (_, other) => return Err(self.reply_error(&other)),
        };
        let reason = match outcome {
            Written::Waits(_) => reason(backend, job),
            _ => None,
        };
        let served = Served {
            line: self.line,
            op,
            id: job.0,
            outcome,
            reason,
        };
        json(output, &served)?;
        // The grant of the job that asked for processors is the outcome already.
        let own = matches!(change, Change::Submit { .. }).then_some(job);
        self.write_events(own, output)
    }

    /// Writes the jobs that the change let in, except `own`, and the jobs whose leases have ended.
    fn write_events(
        &mut self,
        own: Option<JobId>,
        output: &mut impl Write,
    ) -> Result<(), ReplayError> {
        for (place, (event, _)) in self.events.iter().enumerate() {
            if own.is_some_and(|own| is_grant_of(event, own)) {
                continue;
            }
            let (op, outcome) = match event.what {
                EventKind::LeaseEnded => {
                    self.counts.leases_ended += 1;
                    ("lease-ended", Written::Released(event.processors))
                }
                EventKind::Preempted { .. } => ("preempted", Written::Released(event.processors)),
                EventKind::Granted { .. } => {
                    self.counts.granted += 1;
                    ("grant", Written::Granted(self.blocks_of(place)))
                }
            };
            let served = Served {
                line: self.line,
                op,
                id: event.job.0,
                outcome,
                reason: None,
            };
            json(output, &served)?;
        }
        Ok(())
    }

    fn blocks_of(&self, place: usize) -> Vec<FormattedBlock<'_>> {
        let begin = match place.checked_sub(1) {
            Some(before) => self.events[before].1,
            None => 0,
        };
        let blocks = self.blocks[begin..self.events[place].1].iter();
        blocks.map(|&block| self.machine.place(block)).collect()
    }

    /// Writes the result of marking or clearing processors.
    fn set(
        &mut self,
        backend: &mut dyn Backend,
        output: &mut impl Write,
        op: &'static str,
        block: Block,
        report: &FaultReport,
    ) -> Result<(), ReplayError> {
        let jobs = match report.jobs {
            0 | 1 => report.first.map(|job| job.0).into_iter().collect(),
            _ => self.jobs_on(backend, block)?,
        };
        let set = Set {
            line: self.line,
            op,
            block: self.machine.place(block),
            changed: report.changed,
            jobs,
        };
        json(output, &set)?;
        self.write_events(None, output)
    }

    /// The jobs on a block, without those that the latest change granted, in ascending order.
    fn jobs_on(&self, backend: &mut dyn Backend, block: Block) -> Result<Vec<u32>, ReplayError> {
        let mut jobs = Vec::new();
        let mut from = Some(0);
        while let Some(at) = from {
            let on = Some(block);
            match backend.query(&Query::Jobs { on, from: at })? {
                Ok(Answer::Jobs(list)) if list.next.is_none_or(|next| next > at) => {
                    jobs.extend(list.jobs.iter().map(|(job, _)| *job));
                    from = list.next;
                }
                other => return Err(self.reply_error(&other)),
            }
        }
        let events = &self.events;
        jobs.retain(|&job| !events.iter().any(|(event, _)| is_grant_of(event, job)));
        let mut jobs: Vec<u32> = jobs.into_iter().map(|job| job.0).collect();
        jobs.sort_unstable();
        Ok(jobs)
    }

    /// The number of jobs before a waiting job in the queue.
    fn ahead(&self, backend: &mut dyn Backend, job: JobId) -> Result<u32, ReplayError> {
        match backend.query(&Query::Job { job })? {
            Ok(Answer::Job(JobReport {
                state: JobState::Waiting { ahead },
                ..
            })) => Ok(ahead),
            other => Err(self.reply_error(&other)),
        }
    }

    /// Lets the controller carry out a change. Afterwards the events are in `self.events`.
    fn call(
        &mut self,
        backend: &mut dyn Backend,
        change: &Change,
    ) -> Result<Result<Outcome, Error>, ReplayError> {
        let now = self.counts.operations;
        let (events, blocks) = (&mut self.events, &mut self.blocks);
        events.clear();
        blocks.clear();
        let outcome = backend.call(change, now, &mut |event, of_event| {
            blocks.extend(of_event);
            events.push((*event, blocks.len()));
        })?;
        Ok(outcome)
    }

    fn reply_error(&self, reply: &impl fmt::Debug) -> ReplayError {
        ReplayError::Line {
            file: self.file.to_owned(),
            line: self.line,
            reason: format!("the controller gave a reply of another kind: {reply:?}"),
        }
    }
}
