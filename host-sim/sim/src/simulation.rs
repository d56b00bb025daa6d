//! One run: jobs through one controller, event by event, in virtual time.
//!
//! # Order of events
//!
//! Events happen in the order of their times, and at equal times in the order in which they became
//! known (first in, first out). An arrival is inserted when the arrival before it happens, before
//! that is dealt with; a departure when its job starts, which is when the controller has granted
//! all of its blocks. When the job departs is up to the [`Execution`]; a departure that moves keeps
//! its place in the order. [Failures](crate::failures) come behind all other events of their time.
//!
//! # A controller with little room
//!
//! A controller holds a bounded number of jobs, a board perhaps 512, and one with a journal
//! sometimes fewer. What does not fit is kept here, in order of arrival, and submitted as soon as a
//! release has made room. A scheduler that chooses among the waiting jobs does not see what is
//! kept. So under any but first come, first served, and where jobs have priorities, a controller in
//! this process gets more memory instead ([`Backend::make_room`]). One at the end of a line cannot;
//! there each event after which jobs are kept is counted ([`RunResult::table_limited`]). 0 means
//! that the decisions were exact.
//!
//! Under first come, first served without priorities the decisions are still those of a controller
//! with unlimited room, as long as some job waits in the controller whenever one is kept here:
//!
//! - An arrival while jobs wait only joins the queue, wherever its end is stored.
//! - A release lets the head try, then each new head, until one fails. If one fails in the
//!   controller, it is the one that would have failed with unlimited room. If the controller's
//!   queue runs empty, the first job kept here is the next head: it is submitted at the same time,
//!   to an empty queue, and so tries at once, as it would have.
//!
//! The condition fails only when the table is full of *running* jobs, which is counted in the same
//! way. A table with one more place than processors never gets there, as each running job holds
//! one.
//!
//! # Saturation
//!
//! Above its saturation load a strategy's backlog grows as long as jobs arrive, and mean delays
//! depend on the length of the run above all. A run, of a log too, is called saturated when both of
//! these hold:
//!
//! - no arrival in the second half of the measured jobs found the queue empty: a stable queue runs
//!   empty again and again;
//! - the least-squares line through waiting delays in order of arrival rises over the run by more
//!   than their mean. Delays that stay level rise by 0, ones that grow evenly from 0 by twice their
//!   mean; the limit is halfway.
//!
//! The first alone would misjudge short runs under high load, the second alone a single long wait
//! near the end of a quiet run. Both are free of units and of the length of the run. Within a
//! percent or so of the saturation load no run of practical length can tell.
//!
//! A scheduler that lets jobs pass others without end, as `sjf` and backfilling without estimates
//! do, may keep measured jobs waiting so that neither condition holds. A run ends when
//! [`PASSING_MAX`] times as many later jobs as are measured (at least [`MEASURED_LEAST`]) have been
//! granted before one that waits, and is called saturated. Its values are those of the measured
//! jobs that have left.
//!
//! Where all jobs are there from the start, no backlog grows. Where the first jobs to leave are
//! measured ([`Measured::Departures`]), means have a value nevertheless; they cover only the
//! measured departures. [`Metric::WaitingAtEnd`](crate::metrics::Metric::WaitingAtEnd) is the
//! backlog that the last arrival found.
//!
//! # Memory
//!
//! Jobs go on arriving until the last measured job has left, and far above saturation millions
//! would. So where jobs may be kept, an arrival after the last measured one is put off while at
//! least [`KEPT_MAX`] jobs are kept: it would only join their end, so nothing that is measured or
//! decided depends on when it does. What is kept is at most that or the measured jobs, whichever
//! are more, and a run takes no longer than serving the measured jobs does.
//!
//! Under another scheduler such an arrival might be served before a measured job. It is put off
//! while [`WAITING_MAX`] jobs wait, or as many as the table had room for at the beginning if that
//! is more, and each departure at which one is put off is counted as above.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::num::NonZero;

use meshalloc::{Answer, Change, Error, Grid, JobId, Outcome, Query, Ticks};

use serde::{Deserialize, Serialize};

use crate::backend::{Backend, BackendError, OnEvent};
use crate::metrics::{Refusals, RunValues};
use crate::workload::{JOBS_MAX, Job, Jobs};

mod arriving;
mod contention;
mod error;
mod execution;
mod failing;
mod measured;
mod observer;
mod phases;
mod phases_of_messages;
mod placement;
mod preempting;
mod present;
mod queue;
mod reasons;
mod record;
mod state;
mod stepping;
mod tally;
#[cfg(test)]
mod tests;

pub use contention::Contention;
pub use error::SimulationError;
pub use execution::{Completion, EventKey, Execution, FixedService, MessageSums, Start};
pub use measured::{Conditions, Measured, Switches};
pub use observer::{Interruption, JobRecord, Observer, PlaceEvent, Seen, Waits};
pub use phases::Phases;
pub use phases_of_messages::PhasesOfMessages;
use preempting::Preemptions;
use reasons::Reasons;
use state::State;
pub use tally::Fnv1a;

/// What came out of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Measured.
    pub values: RunValues,
    /// Measured jobs refused, by reason.
    pub refused: Refusals,
    /// Whether the backlog grew over the run, or jobs passed measured ones without end.
    pub saturated: bool,
    /// Measured jobs that were passed without end and had not left when the run ended.
    pub left_behind: u32,
    /// All grants in order, as one number: 64-bit FNV-1a over job (32 bits), time (64), and for
    /// each band of each block its first processor, length and rows (32 each), little-endian. Equal
    /// hashes mean equal decisions, whichever controllers made them.
    pub decision_hash: u64,
    /// The number of grants, of measured and other jobs.
    pub decisions: u64,
    /// The number of events at which the scheduler did not see a job that it might have chosen,
    /// since the job was kept here or its arrival was put off. Under first come, first served
    /// without priorities such an event counts only if no job waited in the controller. If the
    /// number is not 0, jobs may have waited for a place in the table and not for processors.
    pub table_limited: u64,
}

/// Arrivals after the last measured job are put off while at least this number of jobs is kept
/// outside the controller. It is far more than the events of one moment submit.
pub const KEPT_MAX: u32 = 1 << 16;

/// Under a scheduler that chooses among the waiting jobs, arrivals after the last measured job are
/// put off while at least this number of jobs wait. Such a scheduler takes time for each waiting
/// job at every event.
pub const WAITING_MAX: u32 = 1 << 12;

/// A run ends as saturated when the number of later jobs that were granted before a waiting
/// measured job reaches this multiple of the number of measured jobs. Below saturation only a few
/// jobs pass.
pub const PASSING_MAX: u32 = 10;

/// The least number of measured jobs that [`PASSING_MAX`] multiplies.
pub const MEASURED_LEAST: u32 = 100;

/// A run ends with an error when a job has been interrupted by this number of failures and other
/// jobs.
pub const RESTARTS_MAX: u32 = 100_000;

/// A run ends with an error after more than this number of failures and repairs in a row during
/// which no job ends and no measured job is to arrive. On a large machine the limit is
/// [`FUTILE_OF_EACH`] times the number of processors.
const FUTILE_MAX: u32 = 1_000_000;

/// See [`FUTILE_MAX`].
const FUTILE_OF_EACH: u32 = 100;

/// How many measured jobs leave from one [`Seen::Advance`] to the next.
const ADVANCE_JOBS: u64 = 1024;

/// Runs `jobs`, which come in order of arrival and have service times, through a controller without
/// jobs, until the measured ones have left (or are passed without end, see [saturation](self)).
/// `observer` receives what happens.
///
/// Beside the controller's own time, takes time proportional to the number of jobs, times the
/// logarithm of the number that run at once. A job that is granted before others that wait takes
/// time proportional to their number. Memory grows with the jobs present at once, and by one
/// number for each measured job.
///
/// # Errors
///
/// When the controller is lost or gives a reply of another kind, or when the run cannot end.
pub fn run(
    backend: &mut dyn Backend,
    machine: Grid,
    jobs: impl IntoIterator<Item = Job>,
    measured: Measured,
    observer: &mut dyn Observer,
) -> Result<RunResult, SimulationError> {
    let execution = &mut FixedService::default();
    run_with(execution, measured.into(), backend, machine, jobs, observer)
}

/// The same with any execution of jobs and under any conditions.
pub fn run_with(
    execution: &mut dyn Execution,
    conditions: Conditions,
    backend: &mut dyn Backend,
    machine: Grid,
    jobs: impl IntoIterator<Item = Job>,
    observer: &mut dyn Observer,
) -> Result<RunResult, SimulationError> {
    let jobs = Box::new(jobs.into_iter());
    Run::new(execution, conditions, backend, machine, jobs, observer)?.carry_out()
}

/// A run that goes on event by event: [`run_with`] carries it out to its end. A program that steps
/// a run may change it between events; no other run repeats such changes.
pub struct Run<'b, B, E> {
    backend: B,
    execution: E,
    room: u32,
    /// The controller had no room for the next job, although it holds fewer than `room` jobs, and
    /// no job has left since.
    is_full: bool,
    /// Only the first of the waiting jobs may try, so the others need not be in the controller.
    is_in_order: bool,
    /// Arrivals after the last measured job are put off while at least this number of jobs wait. If
    /// `is_in_order`, only kept jobs count.
    put_off_from: u32,
    /// Jobs that have arrived and are not submitted yet, in the order in which they will be
    /// submitted.
    kept: VecDeque<u32>,
    state: State<'b>,
    table_limited: u64,
    jobs: Jobs<'b>,
    /// The next job to arrive, with its place in the order of insertion.
    next: Option<(u64, Job)>,
    /// A job arrives as soon as fewer than this number of jobs wait. `None`: jobs arrive at their
    /// own times.
    backlog: Option<NonZero<u32>>,
    largest: bool,
    /// Why jobs wait, if that is measured.
    reasons: Option<Reasons>,
    /// How jobs make room for others, if they do.
    preempting: Option<Box<Preemptions>>,
    /// Whether a change was made since the reasons and the largest slice were measured.
    has_changed: bool,
}

impl<'b, B: Backend, E: Execution> Run<'b, B, E> {
    /// A run at time 0, before its first event; see [`run_with`].
    ///
    /// # Errors
    ///
    /// When the controller cannot do what the conditions ask for.
    pub fn new(
        execution: E,
        conditions: Conditions,
        mut backend: B,
        machine: Grid,
        mut jobs: Jobs<'b>,
        observer: &'b mut dyn Observer,
    ) -> Result<Self, SimulationError> {
        let room = backend.capacity().jobs;
        let is_in_order = backend.is_in_order() && !conditions.has_priorities;
        let put_off_from = if is_in_order {
            KEPT_MAX
        } else {
            room.max(WAITING_MAX)
        };
        let failures = conditions.failures.as_ref();
        if failures.is_some_and(|failures| failures.restart.requeues()) {
            // Checks that the controller can requeue jobs.
            let _ = backend.requeue(&[], 0, &mut |_, _| {})?;
        }
        let (backlog, switches) = (conditions.backlog, conditions.switches);
        let reasons = if switches.reasons {
            let served = backend.served().ok_or(BackendError::NoReasons)?;
            Some(Reasons::new(served))
        } else {
            None
        };
        let preempting = match conditions.preemption {
            Some(rule) => {
                let served = backend.served().ok_or(BackendError::NoPreemption)?;
                preempting::check(&mut backend)?;
                Some(Box::new(Preemptions::new(rule, served)))
            }
            None => None,
        };
        let mut state = State::new(machine, conditions, observer);
        let next = jobs.next().map(|job| (state.sequence(), job));
        let mut run = Run {
            backend,
            execution,
            room,
            is_full: false,
            is_in_order,
            put_off_from,
            kept: VecDeque::new(),
            state,
            table_limited: 0,
            jobs,
            next,
            backlog,
            largest: switches.largest,
            reasons,
            preempting,
            has_changed: true,
        };
        run.set_spares_aside()?;
        Ok(run)
    }

    /// Carries out events until all measured jobs have left, or are passed without end.
    fn carry_out(mut self) -> Result<RunResult, SimulationError> {
        let measured = self.state.measured;
        if measured.needed() > JOBS_MAX {
            return Err(SimulationError::TooManyJobs);
        }
        let mut reported = 0;
        while self.state.left > 0 && !self.passes_without_end() {
            if !self.step(Ticks::MAX)? {
                let left = self.state.left;
                let why = self.state.why_stalled();
                return Err(SimulationError::Stalled { left, why });
            }
            let done = u64::from(measured.count() - self.state.left);
            if done - reported >= ADVANCE_JOBS || self.state.left == 0 {
                self.state.observer.see(&Seen::Advance(done - reported));
                reported = done;
            }
        }
        if self.state.left > 0 {
            let rest = u64::from(measured.count()) - reported;
            self.state.observer.see(&Seen::Advance(rest));
        }
        if let Some(network) = self.execution.network() {
            self.state.observer.see(&Seen::Network(network));
        }
        self.state.end();
        let left = self.state.left;
        Ok(self.result(measured, left))
    }

    /// Whether more jobs have passed a measured one than the limit allows; it may wait without end.
    fn passes_without_end(&self) -> bool {
        let measured = self.state.measured.count().max(MEASURED_LEAST);
        self.backlog.is_none() && self.state.passed / PASSING_MAX >= measured
    }

    /// Carries out the next event up to the time `until`, which is not before the latest event.
    /// False if there is no such event.
    ///
    /// # Errors
    ///
    /// As for [`run`].
    #[inline]
    pub fn step(&mut self, until: Ticks) -> Result<bool, SimulationError> {
        let arrival = self.next_arrival().filter(|arrival| arrival.at <= until);
        let failure = self
            .state
            .next_failure()
            .filter(|failure| failure.at <= until);
        let notice = self.next_notice().filter(|notice| notice.at <= until);
        let event = sooner(arrival, sooner(failure, notice));
        let limit = event.unwrap_or(EventKey {
            at: until,
            order: u64::MAX,
        });
        if let Some(completion) = self.execution.complete_before(limit) {
            if self.state.completes(&completion) {
                self.measure_until(completion.key.at)?;
                self.depart(completion)?;
            }
        } else if event.is_none() {
            return Ok(false);
        } else {
            self.measure_until(limit.at)?;
            if event == failure {
                self.fail()?;
            } else if event == notice {
                self.state.pass_to(limit.at)?;
            } else {
                self.arrive(limit.at)?;
            }
        }
        self.refuse_unplaceable()?;
        self.make_way()?;
        Ok(true)
    }

    /// Measures the values that stay the same until the next event.
    #[inline]
    fn measure_until(&mut self, next: Ticks) -> Result<(), SimulationError> {
        if next <= self.state.now {
            return Ok(());
        }
        let has_changed = std::mem::take(&mut self.has_changed);
        if self.largest && has_changed {
            self.measure_largest()?;
        }
        if let Some(reasons) = &mut self.reasons {
            if has_changed {
                reasons.read(&mut self.backend)?;
            }
            reasons.add_until(next, &mut self.state, &self.kept);
        }
        Ok(())
    }

    /// Measures the largest slice that could be placed.
    fn measure_largest(&mut self) -> Result<(), SimulationError> {
        match self.backend.query(&Query::Largest)? {
            Ok(Answer::Largest(report)) => {
                self.state.set_largest(report.processors);
                Ok(())
            }
            other => Err(unexpected(&Query::Largest, format!("{other:?}"))),
        }
    }

    fn depart(&mut self, completion: Completion) -> Result<(), SimulationError> {
        let number = completion.number;
        self.state.pass_to(completion.key.at)?;
        self.table_limited += u64::from(self.puts_off());
        self.state.depart(number, completion.messages);
        self.release(number)?;
        self.submit_kept()
    }

    /// Has the controller release a job, which makes room.
    fn release(&mut self, number: u32) -> Result<(), SimulationError> {
        let change = Change::Release { job: JobId(number) };
        self.is_full = false;
        match self.call(&change)? {
            Ok(Outcome::Released { .. }) => {
                self.note_search(number);
                Ok(())
            }
            other => Err(unexpected(&change, format!("{other:?}"))),
        }
    }

    /// Adds the time of the latest change, if that is measured, to the time of this job's changes.
    fn note_search(&mut self, number: u32) {
        if let Some(seconds) = self.backend.latest_seconds() {
            self.state.searched(number, seconds);
        }
    }

    /// Has a change carried out now, and takes the grants that it brings about.
    fn call(&mut self, change: &Change) -> Result<Result<Outcome, Error>, SimulationError> {
        self.take_grants(change, |backend, now, on_event| {
            backend.call(change, now, on_event)
        })
    }

    /// Has the controller carry `command` out now, and takes the grants that it brings about.
    fn take_grants<T>(
        &mut self,
        command: &dyn Debug,
        call: impl FnOnce(&mut B, Ticks, OnEvent<'_>) -> Result<T, BackendError>,
    ) -> Result<T, SimulationError> {
        let Run {
            backend,
            state,
            execution,
            ..
        } = self;
        self.has_changed = true;
        let mut odd = None;
        let outcome = call(backend, state.now, &mut |event, blocks| {
            if !state.grant(event, blocks, execution) && odd.is_none() {
                odd = Some(format!("{event:?} on {blocks:?}"));
            }
        })?;
        match odd {
            None => Ok(outcome),
            Some(odd) => Err(unexpected(command, odd)),
        }
    }

    /// The result over the jobs of `measured`, of which `left` have not left.
    fn result(&mut self, measured: Measured, left: u32) -> RunResult {
        let State {
            tally,
            processors,
            hash,
            decisions,
            ..
        } = &mut self.state;
        RunResult {
            refused: tally.refused,
            saturated: left > 0 || tally.saturated(measured),
            left_behind: left,
            values: tally.values(*processors, self.execution.time_unit()),
            decision_hash: hash.0,
            decisions: *decisions,
            table_limited: self.table_limited,
        }
    }
}

/// The first of two events, if there are any.
fn sooner(one: Option<EventKey>, other: Option<EventKey>) -> Option<EventKey> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

fn unexpected(command: &dyn Debug, reply: String) -> SimulationError {
    let command = format!("{command:?}");
    BackendError::UnexpectedReply { command, reply }.into()
}

/// The decisions of several runs as one number: the same hash, over the runs' hashes in order.
pub fn hash_of_hashes(runs: &[RunResult]) -> u64 {
    let mut hash = Fnv1a::default();
    for run in runs {
        hash.write(&run.decision_hash.to_le_bytes());
    }
    hash.0
}
