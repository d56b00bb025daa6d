//! `replay`: a file of operations, one by one, through a controller.
//!
//! ```text
//! # job 17 asks for 4 x 3 processors
//! alloc 17 4 3
//! fault 0 5      # the processor <0, 5>, held or not
//! free 17
//! repair 0 5
//! ```
//!
//! A job asks for extents, `4x3x2`; `4 3` is short for `4x3`. A processor is named by its coordinates, dimension 0 (x)
//! first. On a machine made as a cube these are the digits of its address, which is written from the highest dimension to
//! dimension 0:
//!
//! ```text
//! # job 17 asks for 4 x 2 processors, job 18 for one
//! alloc 17 4x2
//! alloc 18 1
//! fault 0 3 2    # the processor with A[2] = 0, A[1] = 3 and A[0] = 2
//! ```
//!
//! In place of a coordinate a range of them may stand, with both ends, or `*` for all, so that a row, a column or a box fails at once, and is repaired
//! at once. A range may go around where the dimension wraps:
//!
//! ```text
//! fault * 3      # the row y = 3
//! fault 4..7 0..1
//! ```
//!
//! An estimate of how long the job will hold its processors may stand behind what it asks for, `alloc 19 4x2 est=300`. Time is counted in
//! operations: the clock of the controller advances by one with each, so this job is expected to be freed 300 operations later.
//! An estimate frees nothing; strategies that look ahead decide by it.
//!
//! A job may have a lease, `alloc 20 4x2 lease=50`: behind the 50th operation from then on it is released, whether it runs or waits, unless `lease 20 80` has
//! renewed it, here for 80 operations. `lease 20 0` takes the lease away.
//!
//! Each operation gives one JSON object on a line. A job that does not fit is refused; where a [queue](Waiting) is kept, it waits until
//! the scheduler lets it in, which gives an object of its own behind that of the operation that made it possible. So does the end of a lease.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use meshalloc::{Block, Command, Error, Flags, Grid, JobId, JobState, Reply};

use crate::backend::line::RoundTrips;
use crate::backend::{Backend, BackendError};
use crate::metrics::Refusals;

mod interruptible;
mod lines;
mod object;
mod operation;

pub(crate) use interruptible::Interruptible;
use lines::Lines;
pub use lines::check;
use object::{Blocks, Outcome, Served, Set, json};
pub(crate) use object::{Served as ServedObject, Set as SetObject};
pub use operation::Operation;

/// The name of an error that is not a refusal.
const UNKNOWN_JOB: &str = "unknown-job";

/// What a replay did.
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
    /// Leases given, those given at once with the job included.
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
    ///
    /// # Errors
    ///
    /// When `output` does not take them.
    pub fn write(&self, trips: Option<RoundTrips>, output: &mut dyn Write) -> io::Result<()> {
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
            if let Some(seconds) = trips.quantile_seconds(quantile) {
                line(name, format!("{:.3}", seconds * 1e3))?;
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
    /// A line is not an operation on this machine, or the reply to it does not belong to its command.
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

/// What becomes of a job that does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// It is refused.
    #[default]
    Never,
    /// It waits in the controller's queue.
    Queue,
}

/// Carries out all operations of `input`, on a controller that serves `machine` and has no job.
///
/// One JSON object for each goes to `output`, which is flushed whenever the input has to be waited for,
/// at the end, and also before an error is returned.
///
/// # Errors
///
/// The first line that cannot be read or carried out; those before it have been.
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
    /// What the latest command led to, in order; kept for its memory.
    events: Vec<Event>,
    /// The blocks that it granted, one job's after the other's.
    blocks: Vec<Block>,
}

/// What became of a job behind a command.
struct Event {
    job: JobId,
    /// Where its blocks end among those of the command, and those of the next event begin.
    blocks_end: usize,
    /// If its lease has ended, the processors that it held; else it was granted.
    lease_ended: Option<u32>,
}

impl Event {
    fn is_grant_of(&self, job: JobId) -> bool {
        self.job == job && self.lease_ended.is_none()
    }
}

impl Replay<'_> {
    fn all(
        &mut self,
        input: impl Read,
        backend: &mut dyn Backend,
        output: &mut impl Write,
    ) -> Result<(), ReplayError> {
        let mut lines = Lines::new(self.file, input, self.machine);
        loop {
            if lines.is_drained() {
                output.flush()?;
            }
            let Some(operation) = lines.next()? else {
                return Ok(());
            };
            self.line = lines.number();
            if let Some(operation) = operation {
                self.one(operation, backend, output)?;
            }
        }
    }

    fn one(
        &mut self,
        operation: Operation,
        backend: &mut dyn Backend,
        output: &mut impl Write,
    ) -> Result<(), ReplayError> {
        self.counts.operations += 1;
        let now = self.counts.operations;
        let (op, id, outcome) = match operation {
            Operation::Alloc {
                job,
                request,
                lease,
            } => {
                let request = match self.waiting {
                    Waiting::Never => request.with_flags(Flags::NO_WAIT),
                    Waiting::Queue => request,
                };
                let command = match lease {
                    None => Command::Submit { job, request },
                    Some(ticks) => Command::SubmitLeased {
                        job,
                        request,
                        ticks,
                    },
                };
                let reply = self.call(backend, &command, now)?;
                if lease.is_some() && matches!(reply, Reply::Submitted { .. }) {
                    self.counts.leases += 1;
                }
                let outcome = match reply {
                    Reply::Submitted {
                        state: JobState::Waiting { ahead },
                        ..
                    } => {
                        self.counts.waited += 1;
                        Outcome::Waits(ahead)
                    }
                    Reply::Submitted { .. } => {
                        self.counts.granted += 1;
                        let own = self.events.iter().position(|event| event.is_grant_of(job));
                        let blocks = own.map_or(&[][..], |place| self.blocks_of(place));
                        Outcome::Granted(Blocks {
                            machine: &self.machine,
                            blocks,
                        })
                    }
                    Reply::Error(Error::Refused(reason)) => {
                        self.counts.refused.add(reason);
                        Outcome::Error(reason.name())
                    }
                    other => return Err(self.reply_error(&other)),
                };
                ("alloc", job.0, outcome)
            }
            Operation::Lease { job, ticks } => {
                let outcome = match self.call(backend, &Command::Lease { job, ticks }, now)? {
                    Reply::Done => {
                        self.counts.leases += 1;
                        Outcome::Leased(ticks)
                    }
                    Reply::Error(Error::UnknownJob) => {
                        self.counts.leases_refused += 1;
                        Outcome::Error(UNKNOWN_JOB)
                    }
                    Reply::Error(Error::Refused(reason)) => {
                        self.counts.leases_refused += 1;
                        Outcome::Error(reason.name())
                    }
                    other => return Err(self.reply_error(&other)),
                };
                ("lease", job.0, outcome)
            }
            Operation::Free { job } => {
                let outcome = match self.call(backend, &Command::Release { job }, now)? {
                    Reply::Released { processors, .. } => {
                        self.counts.freed += 1;
                        Outcome::Released(processors)
                    }
                    Reply::Error(Error::UnknownJob) => {
                        self.counts.unknown_jobs += 1;
                        Outcome::Error(UNKNOWN_JOB)
                    }
                    other => return Err(self.reply_error(&other)),
                };
                ("free", job.0, outcome)
            }
            Operation::Fault { block } => {
                let command = Command::MarkFaulty { block };
                let changed = self.set(backend, output, "fault", block, &command)?;
                self.counts.faults += u64::from(changed);
                return Ok(());
            }
            Operation::Repair { block } => {
                let command = Command::ClearFaulty { block };
                let changed = self.set(backend, output, "repair", block, &command)?;
                self.counts.repairs += u64::from(changed);
                return Ok(());
            }
        };
        let line = self.line;
        let served = Served {
            line,
            op,
            id,
            outcome,
        };
        json(output, &served)?;
        // The grant of the job that asked for processors is the outcome already.
        let own = matches!(operation, Operation::Alloc { .. }).then_some(JobId(id));
        self.write_events(own, output)
    }

    /// Writes the jobs that the latest command let in out of the queue, and those whose leases have ended, but for the grant of `own`.
    fn write_events(
        &mut self,
        own: Option<JobId>,
        output: &mut impl Write,
    ) -> Result<(), ReplayError> {
        for (place, event) in self.events.iter().enumerate() {
            if own.is_some_and(|own| event.is_grant_of(own)) {
                continue;
            }
            let (op, outcome) = match event.lease_ended {
                Some(processors) => {
                    self.counts.leases_ended += 1;
                    ("lease-ended", Outcome::Released(processors))
                }
                None => {
                    self.counts.granted += 1;
                    let (machine, blocks) = (&self.machine, self.blocks_of(place));
                    ("grant", Outcome::Granted(Blocks { machine, blocks }))
                }
            };
            let served = Served {
                line: self.line,
                op,
                id: event.job.0,
                outcome,
            };
            json(output, &served)?;
        }
        Ok(())
    }

    /// The blocks of the grant at this place.
    fn blocks_of(&self, place: usize) -> &[Block] {
        let begin = match place.checked_sub(1) {
            Some(before) => self.events[before].blocks_end,
            None => 0,
        };
        &self.blocks[begin..self.events[place].blocks_end]
    }

    /// Marks or clears processors; returns how many of them that changed.
    fn set(
        &mut self,
        backend: &mut dyn Backend,
        output: &mut impl Write,
        op: &'static str,
        block: Block,
        command: &Command,
    ) -> Result<u32, ReplayError> {
        match self.call(backend, command, self.counts.operations)? {
            Reply::Fault(report) => {
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
                self.write_events(None, output)?;
                Ok(report.changed)
            }
            other => Err(self.reply_error(&other)),
        }
    }

    /// The jobs on a block but for those that the latest command granted, in ascending order.
    fn jobs_on(&self, backend: &mut dyn Backend, block: Block) -> Result<Vec<u32>, ReplayError> {
        let mut jobs = Vec::new();
        let mut from = Some(0);
        while let Some(at) = from {
            let on = Some(block);
            let command = Command::ListJobs { on, from: at };
            let mut last = None;
            backend.call(&command, self.counts.operations, &mut |reply| {
                last = Some(reply.clone());
            })?;
            match last {
                Some(Reply::Jobs(list)) if list.next.is_none_or(|next| next > at) => {
                    jobs.extend(list.jobs.iter().map(|(job, _)| *job));
                    from = list.next;
                }
                Some(other) => return Err(self.reply_error(&other)),
                None => {
                    return Err(self.line_error("the controller gave no final reply".to_owned()));
                }
            }
        }
        jobs.retain(|&job| !self.events.iter().any(|event| event.is_grant_of(job)));
        let mut jobs: Vec<u32> = jobs.into_iter().map(|job| job.0).collect();
        jobs.sort_unstable();
        Ok(jobs)
    }

    /// The final reply; what happened before it is in `self.events`.
    fn call(
        &mut self,
        backend: &mut dyn Backend,
        command: &Command,
        now: u64,
    ) -> Result<Reply, ReplayError> {
        let (events, blocks) = (&mut self.events, &mut self.blocks);
        events.clear();
        blocks.clear();
        let mut last = None;
        backend.call(command, now, &mut |reply| match reply {
            Reply::Grant(grant) => {
                blocks.extend(grant.blocks.iter().copied());
                // A grant of many blocks comes in parts, one behind the other.
                match events.last_mut() {
                    Some(event) if event.is_grant_of(grant.job) => event.blocks_end = blocks.len(),
                    _ => events.push(Event {
                        job: grant.job,
                        blocks_end: blocks.len(),
                        lease_ended: None,
                    }),
                }
            }
            Reply::LeaseEnded(ended) => events.push(Event {
                job: ended.job,
                blocks_end: blocks.len(),
                lease_ended: Some(ended.processors),
            }),
            reply => last = Some(reply.clone()),
        })?;
        last.ok_or_else(|| self.line_error("the controller gave no final reply".to_owned()))
    }

    fn line_error(&self, reason: String) -> ReplayError {
        ReplayError::Line {
            file: self.file.to_owned(),
            line: self.line,
            reason,
        }
    }

    fn reply_error(&self, reply: &Reply) -> ReplayError {
        self.line_error(format!(
            "the controller gave a reply of another kind: {reply:?}"
        ))
    }
}
