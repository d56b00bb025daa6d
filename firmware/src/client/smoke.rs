//! A short test of a board that was just ported: [`smoke`].
//!
//! Each step tries a part of the port, in the order in which they depend on each other. A step that
//! fails says what was expected and what came.

use std::format;
use std::string::{String, ToString as _};
use std::time::{Duration, Instant};
use std::vec::Vec;

use meshalloc::{
    Command, Configuration, Grid, JobId, JobState, Mesh, Reply, Request, StrategyKind,
};

use super::{Client, ClientError, Line};
use crate::protocol::{Happened, LineCounters, Origin};

/// Why a board is not as it must be.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {reason}")]
pub struct SmokeError {
    /// What was tried.
    pub step: &'static str,
    /// What was expected, and what came.
    pub reason: String,
}

/// The sides of the mesh, and its processors.
const SIDE: u16 = 8;
const PROCESSORS: u32 = SIDE as u32 * SIDE as u32;
/// The lease whose end shows how fast the board's clock goes.
const LEASE_MS: u64 = 2_000;
/// How much that may be off by the clock of this host.
pub const CLOCK_OFF: Duration = Duration::from_millis(500);
/// Long after the end of the lease.
const PATIENCE: Duration = Duration::from_secs(20);
/// Round trips whose frames must arrive without a fault.
const ROUND_TRIPS: u32 = 200;

/// Tries a board: greeting, configuration, jobs, the line and the clock. All of its jobs are
/// forgotten. `report` gets a line for each step that has passed. `clock_off` is how much a lease
/// of two seconds may be off, usually [`CLOCK_OFF`]. An emulator whose host is busy loses ticks.
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
        "greeting: meshalloc {} ({}), boot {:016x}, {}",
        greeting.software,
        greeting.build,
        greeting.session.boot,
        journal(greeting.origin)
    ));

    let configuration = Configuration {
        machine: mesh(),
        strategy: strategy(client)?,
        scheduler: client.greeting().configuration.scheduler,
    };
    expect(client, "reset", Command::Reset, &[Reply::Done])?;
    let configure = Command::Configure(configuration);
    expect(client, "configure", configure, &[Reply::Done])?;
    report(&format!(
        "configure: {SIDE}x{SIDE}, {}",
        configuration.strategy
    ));

    // All processors for the first job. The second one waits, and is granted when the first leaves.
    let whole = Request::submesh(SIDE, SIDE);
    let submit = |job, request| Command::Submit {
        job: JobId(job),
        request,
    };
    let release = |job| Command::Release { job: JobId(job) };
    let replies = call(client, "submit", submit(1, whole))?;
    let is_granted = match &replies[..] {
        [Reply::Grant(grant), Reply::Submitted { state, .. }] => {
            let running = JobState::Running {
                processors: PROCESSORS,
            };
            grant.job == JobId(1) && *state == running
        }
        _ => false,
    };
    let all = format!("a grant of {PROCESSORS} processors");
    check("submit", is_granted, &all, &replies)?;
    let replies = call(client, "wait", submit(2, whole))?;
    let waiting = JobState::Waiting { ahead: 0 };
    let waits = matches!(&replies[..], [Reply::Submitted { state, .. }] if *state == waiting);
    check("wait", waits, "the second job waits", &replies)?;
    let replies = call(client, "release", release(1))?;
    let is_released = matches!(
        &replies[..],
        [Reply::Grant(grant), Reply::Released { processors: PROCESSORS, .. }]
            if grant.job == JobId(2)
    );
    let both = "the first job gone and the second one granted";
    check("release", is_released, both, &replies)?;
    call(client, "release", release(2))?;
    report("submit, wait, release: as in process");

    // Frames of every length, back to back: lost bytes and a slow interrupt show here.
    for job in 0..ROUND_TRIPS {
        let replies = call(client, "line", submit(job, Request::submesh(1, 1)))?;
        check("line", replies.len() == 2, "a grant", &replies)?;
        call(client, "line", Command::ListJobs { on: None, from: 0 })?;
        call(client, "line", release(job))?;
    }
    let after = counters(client, "line")?;
    let faults = after.faults() - before.faults();
    let retries = client.counters().retries;
    if faults > 0 {
        return Err(SmokeError {
            step: "line",
            reason: format!("expected no fault, the board has counted {faults}: {after:?}"),
        });
    }
    report(&format!(
        "line: {ROUND_TRIPS} rounds without a fault, {retries} frames sent again"
    ));

    clock(client, clock_off, report)?;
    expect(client, "reset", Command::Reset, &[Reply::Done])?;
    report("reset: no jobs are left");
    Ok(())
}

/// Waits until the board is reset, by a button say, and checks what it has kept: with a journal the
/// jobs, otherwise none.
///
/// # Errors
///
/// When it is not reset within a minute, or has kept something else.
pub fn smoke_reset<L: Line>(
    client: &mut Client<L>,
    report: &mut dyn FnMut(&str),
) -> Result<(), SmokeError> {
    const STEP: &str = "reset by hand";
    let job = JobId(1);
    let request = Request::submesh(1, 1);
    call(client, STEP, Command::Submit { job, request })?;
    report("now reset the board, within a minute");
    let begun = Instant::now();
    let origin = loop {
        match client.hello() {
            Err(ClientError::ControllerReset { origin }) => break origin,
            Ok(_) | Err(ClientError::NoReply { .. }) => {}
            Err(error) => return Err(failed(STEP, &error)),
        }
        if begun.elapsed() > Duration::from_secs(60) {
            return Err(SmokeError {
                step: STEP,
                reason: "expected another boot within a minute; the number of the boot is the same"
                    .to_string(),
            });
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let replies = call(client, STEP, Command::QueryJob { job })?;
    let has_job = !matches!(&replies[..], [Reply::Error(_)]);
    let is_kept = matches!(origin, Origin::Restored { .. });
    let is_right = has_job == is_kept && !matches!(origin, Origin::Damaged { .. } | Origin::Unread);
    check(
        STEP,
        is_right,
        "the job with a journal, and no job without one",
        &replies,
    )?;
    report(&format!("reset by hand: {}", journal(origin)));
    Ok(())
}

/// A lease ends by the clock of the board: at the right time, if that is right.
fn clock<L: Line>(
    client: &mut Client<L>,
    clock_off: Duration,
    report: &mut dyn FnMut(&str),
) -> Result<(), SmokeError> {
    const STEP: &str = "clock";
    let leased = Command::SubmitLeased {
        job: JobId(1),
        request: Request::submesh(1, 1),
        ticks: LEASE_MS,
    };
    let mut replies = Vec::new();
    let begun = Instant::now();
    match client.call(&leased, None, &mut |reply| replies.push(reply.clone())) {
        Ok(()) => {}
        Err(ClientError::Refused { .. }) => {
            report("clock: not tried, the image has no leases");
            return Ok(());
        }
        Err(error) => return Err(failed(STEP, &error)),
    }
    check(STEP, replies.len() == 2, "a grant", &replies)?;
    while begun.elapsed() < PATIENCE {
        client.poll().map_err(|error| failed(STEP, &error))?;
        while let Some(event) = client.next_event().map_err(|error| failed(STEP, &error))? {
            if event.what != Happened::LeaseEnded {
                continue;
            }
            let elapsed = begun.elapsed();
            let expected = Duration::from_millis(LEASE_MS);
            if elapsed.abs_diff(expected) > clock_off {
                return Err(SmokeError {
                    step: STEP,
                    reason: format!(
                        "expected a lease of {LEASE_MS} ms to end after that time, it ended after \
                         {} ms: the board's clock goes at another speed",
                        elapsed.as_millis()
                    ),
                });
            }
            report(&format!(
                "clock: a lease of {LEASE_MS} ms ended after {} ms",
                elapsed.as_millis()
            ));
            return Ok(());
        }
    }
    Err(SmokeError {
        step: STEP,
        reason: format!(
            "expected a lease of {LEASE_MS} ms to end, it has not after {} s: the board's clock \
             stands still",
            PATIENCE.as_secs()
        ),
    })
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
    strategy.ok_or_else(|| SmokeError {
        step: "configure",
        reason: format!("expected a strategy that serves a {SIDE}x{SIDE} mesh, there is none"),
    })
}

fn journal(origin: Origin) -> &'static str {
    match origin {
        Origin::Forgetful => "no journal",
        Origin::New => "an empty journal",
        Origin::Restored { .. } => "restored from its journal",
        Origin::Damaged { .. } => "its journal was damaged",
        Origin::Unread => "its journal was not read",
    }
}

fn failed(step: &'static str, error: &ClientError) -> SmokeError {
    SmokeError {
        step,
        reason: error.to_string(),
    }
}

fn call<L: Line>(
    client: &mut Client<L>,
    step: &'static str,
    command: Command,
) -> Result<Vec<Reply>, SmokeError> {
    let mut replies = Vec::new();
    client
        .call(&command, None, &mut |reply| replies.push(reply.clone()))
        .map_err(|error| failed(step, &error))?;
    Ok(replies)
}

fn expect<L: Line>(
    client: &mut Client<L>,
    step: &'static str,
    command: Command,
    expected: &[Reply],
) -> Result<(), SmokeError> {
    let replies = call(client, step, command)?;
    check(
        step,
        replies == expected,
        &format!("{expected:?}"),
        &replies,
    )
}

fn check(
    step: &'static str,
    is_right: bool,
    expected: &str,
    replies: &[Reply],
) -> Result<(), SmokeError> {
    match is_right {
        true => Ok(()),
        false => Err(SmokeError {
            step,
            reason: format!("expected {expected}, the board replied {replies:?}"),
        }),
    }
}

fn counters<L: Line>(
    client: &mut Client<L>,
    step: &'static str,
) -> Result<LineCounters, SmokeError> {
    client.line_counters().map_err(|error| failed(step, &error))
}
