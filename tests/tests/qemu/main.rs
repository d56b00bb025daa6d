//! The firmware in QEMU, at the other end of a serial line. All tests run on the NUCLEO-F446RE;
//! `boards` runs some of them on the other boards that QEMU has.

mod boards;
mod cubes;
mod decisions;
mod journal;
#[cfg(feature = "host-sim")]
mod log;
mod longest;
mod pods;

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use meshalloc::message::JobReport;
use meshalloc::{
    Change, Configuration, Error, Event, EventKind, JobId, JobState, Mesh, Outcome, Query, Refusal,
    Request, SchedulerKind, StrategyKind, Submesh,
};
use meshalloc_firmware::frame::{ClientFrameBuffer, Header};
use meshalloc_firmware::{Client, ClientError, ClientMessage, Line, PROTOCOL_VERSION, Session};
use meshalloc_tests::qemu::{Qemu, call_at};
use meshalloc_tests::rig::Answer;

fn configuration(w: u16, h: u16, strategy: StrategyKind) -> Configuration {
    Configuration {
        machine: Mesh::new(w, h).expect("sides in range").into(),
        strategy,
        scheduler: SchedulerKind::Fcfs,
    }
}

fn submit(job: u32, w: u16, h: u16) -> Change {
    Change::submit(JobId(job), Request::submesh(w, h))
}

fn release(job: u32) -> Change {
    Change::Release { job: JobId(job) }
}

fn call(client: &mut Client<impl Line>, change: Change) -> Answer {
    call_at(client, &change, None).unwrap_or_else(|error| panic!("{change:?}: {error}"))
}

#[test]
fn qemu_greets_and_allocates() {
    greets_and_allocates(&Qemu::start(), "thumbv7em-none-eabihf firmware");
}

fn greets_and_allocates(qemu: &Qemu, build: &str) {
    let mut client = qemu.client().unwrap();

    let greeting = client.greeting().clone();
    assert_eq!(greeting.protocol, PROTOCOL_VERSION);
    assert_eq!(greeting.software, env!("CARGO_PKG_VERSION"));
    assert_eq!(greeting.build, build);
    assert_eq!(greeting.capacity.word_bits, 32);
    assert!(greeting.capacity.blocks >= 64 * 64);
    assert!(greeting.strategies().eq(StrategyKind::built()));
    assert_eq!(
        greeting.configuration,
        configuration(64, 64, StrategyKind::FirstFit)
    );

    let answer = call(&mut client, submit(1, 40, 30));
    assert_eq!(answer.outcome, Ok(Outcome::Done));
    assert_eq!(answer.submesh(), Some(Submesh::new(0, 0, 40, 30)));
    let answer = call(&mut client, submit(2, 64, 64));
    assert_eq!(
        (answer.outcome, answer.grants.len()),
        (Ok(Outcome::Done), 0)
    );
    let state = client.query(&Query::Job { job: JobId(2) }).unwrap();
    let waits = matches!(
        state,
        Ok(meshalloc::Answer::Job(JobReport {
            state: JobState::Waiting { ahead: 0 },
            ..
        }))
    );
    assert!(waits, "{state:?}");
    let answer = call(&mut client, release(1));
    assert_eq!(answer.outcome, Ok(Outcome::Released { processors: 1200 }));
    assert_eq!(answer.grants[0].job, JobId(2));
    let again = call(&mut client, release(1));
    assert_eq!(again.outcome, Err(Error::UnknownJob));

    assert!(
        !qemu.log().unwrap().is_empty(),
        "the firmware logs its start"
    );
}

#[test]
fn qemu_survives_garbage_and_broken_frames() {
    survives_garbage_and_broken_frames(&Qemu::start());
}

fn survives_garbage_and_broken_frames(qemu: &Qemu) {
    let mut client = qemu.client().unwrap();
    let mut buffer = ClientFrameBuffer::new();
    let hello = buffer
        .encode(Header::new(1, 5), &ClientMessage::Hello)
        .unwrap()
        .to_vec();
    let mut wrong_crc = hello.clone();
    let last = wrong_crc.len() - 2;
    wrong_crc[last] = wrong_crc[last].wrapping_add(1).max(1);
    let other_version = Header {
        version: 9,
        ..Header::new(1, 6)
    };
    let other_version = buffer
        .encode(other_version, &ClientMessage::Hello)
        .unwrap()
        .to_vec();

    let garbage: Vec<u8> = (0..2000_u32).map(|i| (i * 7 % 256) as u8).collect();
    // Cut within the CRC, four bytes without a zero: the COBS run says there are more.
    let cut = &hello[..hello.len() - 3];
    for bytes in [&garbage, cut, &wrong_crc, &other_version, &[0x55; 5000]] {
        client.line_mut().send(bytes).unwrap();
    }
    let counters = client.line_counters().unwrap();
    assert!(counters.bad_crc >= 1, "{counters:?}");
    assert!(counters.bad_cobs >= 1, "{counters:?}");
    assert!(counters.too_long >= 1, "{counters:?}");
    assert_eq!(counters.wrong_version, 1, "{counters:?}");
    let answer = call(&mut client, submit(1, 2, 2));
    assert_eq!(answer.grants.len(), 1, "{answer:?}");
}

#[test]
fn qemu_does_not_carry_out_a_repeated_frame() {
    does_not_carry_out_a_repeated_frame(&Qemu::start());
}

fn does_not_carry_out_a_repeated_frame(qemu: &Qemu) {
    let mut client = qemu.client().unwrap();
    let mut buffer = ClientFrameBuffer::new();
    // Another client on the same line, with a session of its own: the second.
    let hello = buffer.encode(Header::new(9, 76), &ClientMessage::Hello);
    client.line_mut().send(hello.unwrap()).unwrap();
    let message = ClientMessage::Change {
        session: Session {
            number: 2,
            ..client.greeting().session
        },
        since: 0,
        at: None,
        change: submit(1, 2, 2),
    };
    let frame = buffer.encode(Header::new(9, 77), &message).unwrap();
    for _ in 0..3 {
        client.line_mut().send(frame).unwrap();
    }
    let counters = client.line_counters().unwrap();
    assert_eq!(counters.repeated, 2, "{counters:?}");
    let answer = client.query(&Query::Statistics).unwrap();
    let Ok(meshalloc::Answer::Statistics(statistics)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(
        (statistics.counts.submitted, statistics.counts.refused),
        (1, 0)
    );
    // The other client's grant is an event for this one, too.
    let answer = call(&mut client, submit(1, 1, 1));
    let duplicate = Err(Error::Refused(Refusal::DuplicateJob));
    assert_eq!(answer.outcome, duplicate);
    assert_eq!(answer.grants[0].job, JobId(1));
}

#[test]
fn qemu_ends_a_lease_by_its_clock() {
    ends_a_lease_by_its_clock(&Qemu::start());
}

fn ends_a_lease_by_its_clock(qemu: &Qemu) {
    let mut client = qemu.client().unwrap();
    let leased = Change::Submit {
        job: JobId(1),
        request: Request::submesh(64, 64),
        lease: NonZeroU64::new(500),
    };
    let answer = call(&mut client, leased);
    assert_eq!(answer.outcome, Ok(Outcome::Done));
    let ends = answer.grants[0].at + 500;
    let seen = |event: &Event| {
        let has_ended = event.what == EventKind::LeaseEnded;
        (event.job.0, event.at, event.processors, has_ended)
    };
    let (begun, mut events) = (Instant::now(), Vec::new());
    let waits = client.call(&submit(2, 4, 4), None, &mut |event, _| {
        events.push(seen(event));
    });
    assert_eq!(waits.unwrap(), Ok(Outcome::Done));
    while events.len() < 2 && begun.elapsed() < Duration::from_secs(20) {
        let polled = client.events(&mut |event, _| events.push(seen(event)));
        polled.unwrap();
    }
    assert_eq!(events, [(1, ends, 4096, true), (2, ends, 16, false)]);
}

#[test]
fn qemu_tells_that_the_chip_was_reset() {
    let mut qemu = Qemu::start();
    let mut client = qemu.client().unwrap();
    let other = configuration(16, 22, StrategyKind::Naive);
    let configured = call(&mut client, Change::Configure(other));
    assert_eq!(configured.outcome, Ok(Outcome::Done));
    assert_eq!(call(&mut client, submit(1, 3, 3)).grants.len(), 1);

    qemu.reset_chip().unwrap();
    let error = call_at(&mut client, &submit(2, 3, 3), None).unwrap_err();
    assert!(
        matches!(error, ClientError::ControllerReset { .. }),
        "instead: {error}"
    );
    // After the error the client continues with the new boot.
    assert_eq!(
        client.hello().unwrap().configuration,
        configuration(64, 64, StrategyKind::FirstFit)
    );
    // A reset between two hellos is reported as well.
    qemu.reset_chip().unwrap();
    let error = client.hello().unwrap_err();
    assert!(
        matches!(error, ClientError::ControllerReset { .. }),
        "instead: {error}"
    );
    let unknown = call(&mut client, release(1));
    assert_eq!(unknown.outcome, Err(Error::UnknownJob));

    // The same when the whole machine is another one.
    drop(qemu);
    let error = call_at(&mut client, &release(1), None).unwrap_err();
    assert!(
        matches!(error, ClientError::Line { .. }),
        "instead: {error}"
    );
}

#[test]
fn qemu_answers_soon() {
    let qemu = Qemu::start();
    let mut client = qemu.client().unwrap();
    // The chip may have missed the hello during its start.
    let retries = client.counters().retries;
    let mut times = Vec::new();
    for job in 0..500 {
        for command in [submit(job, 5, 7), release(job)] {
            let started = Instant::now();
            call(&mut client, command);
            times.push(started.elapsed());
        }
    }
    times.sort_unstable();
    let median = times[times.len() / 2];
    println!(
        "round trip over {} commands: median {median:.2?}, longest {:.2?}",
        times.len(),
        times[times.len() - 1]
    );
    assert_eq!(client.counters().retries, retries);
    assert!(median < Duration::from_millis(100), "median {median:?}");
}
