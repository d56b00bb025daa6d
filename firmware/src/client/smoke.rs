//! A short test of a board that was just ported: [`smoke`].
//!
//! Each step tries a part of the port, in the order in which they depend on each other. The error
//! of a failed step has the expected and the actual result.

use std::format;
use std::string::{String, ToString as _};
use std::time::{Duration, Instant};
use std::vec::Vec;

use meshalloc::{
    Answer, Change, Configuration, Error, Event, EventKind, Grid, JobId, JobState, Mesh, Outcome,
    Query, Request, StrategyKind,
};

use super::{Client, ClientError, Line};
use crate::protocol::{LineCounters, Origin};

/// Why a board is not as it must be.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {reason}")]
pub struct SmokeError {
    /// The step that failed.
    pub step: &'static str,
    /// The expected and the actual result.
    pub reason: String,
}

/// The sides of the mesh, and its processors.
const SIDE: u16 = 8;
const PROCESSORS: u32 = SIDE as u32 * SIDE as u32;
/// The time between two grants that shows how fast the board's clock goes.
const PAUSE: Duration = Duration::from_secs(2);
/// The allowed difference between this time on the board's clock and on the host's clock.
pub const CLOCK_OFF: Duration = Duration::from_millis(500);
/// The same for an emulator, which loses ticks and answers late while its host is busy.
pub const EMULATED_CLOCK_OFF: Duration = Duration::from_secs(15);
/// Round trips whose frames must arrive without a fault.
const ROUND_TRIPS: u32 = 200;

/// Tries a board: greeting, configuration, jobs, the line and the clock. All of its jobs are
/// forgotten. `report` gets a line for each step that has passed. `clock_off` is how much two
/// seconds of the board's clock may be off: [`CLOCK_OFF`] or [`EMULATED_CLOCK_OFF`].
///
/// # Errors
///
/// The first step that fails.
pub fn smoke<L: Line>(
    client: &mut Client<L>,
    clock_off: Duration,
    report: &mut dyn FnMut(&str),
) -> Result<(), SmokeError> {
    let before = counters(client, "greeting")?;
    let greeting = client.greeting();
    report(&format!(
        "greeting: meshalloc {} ({}), boot {:016x}; it {}",
        greeting.software, greeting.build, greeting.session.boot, greeting.origin
    ));

    let configuration = Configuration {
        machine: mesh(),
        strategy: strategy(client)?,
        scheduler: client.greeting().configuration.scheduler,
    };
    expect(client, "reset", Change::Reset, Outcome::Done)?;
    let configure = Change::Configure(configuration);
    expect(client, "configure", configure, Outcome::Done)?;
    report(&format!(
        "configure: {SIDE}x{SIDE}, {}",
        configuration.strategy
    ));

    // All processors for the first job. The second one waits, and is granted when the first leaves.
    let whole = Request::submesh(SIDE, SIDE);
    let submit = |job, request| Change::submit(JobId(job), request);
    let release = |job| Change::Release { job: JobId(job) };
    let seen = call(client, "submit", &submit(1, whole))?;
    let all = format!("a grant of {PROCESSORS} processors to job 1");
    check("submit", seen.grants(1, PROCESSORS), &all, &seen)?;
    let seen = call(client, "wait", &submit(2, whole))?;
    check("wait", seen.is_quiet(), "no grant yet", &seen)?;
    let answer = query(client, "wait", &Query::Job { job: JobId(2) })?;
    let waiting = JobState::Waiting { ahead: 0 };
    let waits = matches!(&answer, Ok(Answer::Job(report)) if report.state == waiting);
    check("wait", waits, "the second job waits", &answer)?;
    let seen = call(client, "release", &release(1))?;
    let is_released = seen.outcome
        == Ok(Outcome::Released {
            processors: PROCESSORS,
        })
        && matches!(seen.events[..], [event] if event.job == JobId(2));
    let both = "the first job gone and the second one granted";
    check("release", is_released, both, &seen)?;
    call(client, "release", &release(2))?;
    report("submit, wait, release: as in process");

    // Frames of every length, back to back: lost bytes and a slow interrupt show here.
    for job in 0..ROUND_TRIPS {
        let seen = call(client, "line", &submit(job, Request::submesh(1, 1)))?;
        check("line", seen.grants(job, 1), "a grant", &seen)?;
        query(client, "line", &Query::Jobs { on: None, from: 0 })?.ok();
        call(client, "line", &release(job))?;
    }
    let after = counters(client, "line")?;
    let faults = after.faults() - before.faults();
    let retries = client.counters().retries;
    if faults > 0 {
        let reason = format!("expected no fault, the board has counted {faults}: {after:?}");
        return Err(fail("line", reason));
    }
    report(&format!(
        "line: {ROUND_TRIPS} rounds without a fault, {retries} frames sent again"
    ));

    clock(client, clock_off, report)?;
    expect(client, "reset", Change::Reset, Outcome::Done)?;
    report("reset: no jobs are left");
    Ok(())
}

/// Waits until the board is reset, by a button say, and checks what it has kept: with a journal the
/// jobs, otherwise none.
///
/// # Errors
///
/// When the board is not reset within a minute, or has kept something else.
pub fn smoke_reset<L: Line>(
    client: &mut Client<L>,
    report: &mut dyn FnMut(&str),
) -> Result<(), SmokeError> {
    const STEP: &str = "reset by hand";
    let job = JobId(1);
    call(client, STEP, &Change::submit(job, Request::submesh(1, 1)))?;
    report("now reset the board, within a minute");
    let begun = Instant::now();
    let origin = loop {
        match client.hello() {
            Err(ClientError::ControllerReset { origin }) => break origin,
            Ok(_) | Err(ClientError::NoReply { .. }) => {}
            Err(error) => return Err(failed(STEP, &error)),
        }
        if begun.elapsed() > Duration::from_secs(60) {
            let reason =
                "expected another boot within a minute; the number of the boot is the same";
            return Err(fail(STEP, reason));
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let answer = query(client, STEP, &Query::Job { job })?;
    let has_job = answer.is_ok();
    let is_kept = matches!(origin, Origin::Restored { .. });
    let is_right = has_job == is_kept && !matches!(origin, Origin::Damaged { .. } | Origin::Unread);
    check(
        STEP,
        is_right,
        "the job with a journal, and no job without one",
        &answer,
    )?;
    report(&format!("reset by hand: it {origin}"));
    Ok(())
}

/// Checks by the times of two grants that the board's clock goes as fast as the clock of this host.
/// Every image reports these times.
fn clock<L: Line>(
    client: &mut Client<L>,
    clock_off: Duration,
    report: &mut dyn FnMut(&str),
) -> Result<(), SmokeError> {
    const STEP: &str = "clock";
    let mut granted = |job| {
        let seen = call(
            client,
            STEP,
            &Change::submit(JobId(job), Request::submesh(1, 1)),
        )?;
        check(STEP, seen.grants(job, 1), "a grant", &seen)?;
        Ok((Instant::now(), seen.events[0].at))
    };
    let (begun, first) = granted(1)?;
    std::thread::sleep(PAUSE);
    let (ended, second) = granted(2)?;
    let (here, there) = (
        ended - begun,
        Duration::from_millis(second.saturating_sub(first)),
    );
    let [here_ms, there_ms] = [here, there].map(|time| time.as_millis());
    if here.abs_diff(there) > clock_off || there.is_zero() {
        let reason = format!(
            "expected {here_ms} ms between two grants, they are {there_ms} ms apart by the board's \
             clock: it goes at another speed"
        );
        return Err(fail(STEP, reason));
    }
    report(&format!(
        "clock: two grants are {there_ms} ms apart, {here_ms} by this host"
    ));
    Ok(())
}

fn mesh() -> Grid {
    Mesh::new(SIDE, SIDE).expect("sides in range").grid()
}

/// The first strategy of the image that serves the mesh.
fn strategy<L>(client: &Client<L>) -> Result<StrategyKind, SmokeError>
where
    L: Line,
{
    let mut strategies = client.greeting().strategies();
    let strategy = strategies.find(|kind| kind.serves().includes(&mesh()));
    strategy.ok_or_else(|| {
        let reason = format!("expected a strategy that serves a {SIDE}x{SIDE} mesh, there is none");
        fail("configure", reason)
    })
}

fn fail(step: &'static str, reason: impl Into<String>) -> SmokeError {
    let reason = reason.into();
    SmokeError { step, reason }
}

fn failed(step: &'static str, error: &ClientError) -> SmokeError {
    fail(step, error.to_string())
}

/// The outcome of a change, and the events that came with it.
#[derive(Debug)]
struct Seen {
    outcome: Result<Outcome, Error>,
    events: Vec<Event>,
}

impl Seen {
    /// Whether the one event is the grant of this number of processors to the job.
    fn grants(&self, job: u32, processors: u32) -> bool {
        let is_grant = |event: Event| {
            matches!(event.what, EventKind::Granted { .. })
                && (event.job, event.processors) == (JobId(job), processors)
        };
        self.outcome == Ok(Outcome::Done) && matches!(self.events[..], [event] if is_grant(event))
    }

    /// Whether the change was carried out and nothing has happened to a job.
    fn is_quiet(&self) -> bool {
        self.outcome == Ok(Outcome::Done) && self.events.is_empty()
    }
}

fn call<L: Line>(
    client: &mut Client<L>,
    step: &'static str,
    change: &Change,
) -> Result<Seen, SmokeError> {
    let mut events = Vec::new();
    let outcome = client
        .call(change, None, &mut |event, _| events.push(*event))
        .map_err(|error| failed(step, &error))?;
    Ok(Seen { outcome, events })
}

fn query<L: Line>(
    client: &mut Client<L>,
    step: &'static str,
    query: &Query,
) -> Result<Result<Answer, Error>, SmokeError> {
    client.query(query).map_err(|error| failed(step, &error))
}

fn expect<L: Line>(
    client: &mut Client<L>,
    step: &'static str,
    change: Change,
    expected: Outcome,
) -> Result<(), SmokeError> {
    let seen = call(client, step, &change)?;
    let is_right = seen.outcome == Ok(expected) && seen.events.is_empty();
    check(step, is_right, &format!("{expected:?}"), &seen)
}

fn check(
    step: &'static str,
    is_right: bool,
    expected: &str,
    came: &dyn core::fmt::Debug,
) -> Result<(), SmokeError> {
    if is_right {
        Ok(())
    } else {
        Err(fail(
            step,
            format!("expected {expected}, the board replied {came:?}"),
        ))
    }
}

fn counters<L: Line>(
    client: &mut Client<L>,
    step: &'static str,
) -> Result<LineCounters, SmokeError> {
    client.line_counters().map_err(|error| failed(step, &error))
}
