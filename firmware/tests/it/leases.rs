//! Leases behind a server: they end by its clock, between frames, once, and over resets.

use std::num::NonZeroU64;

use meshalloc::{Change, Controller, Event, EventKind, JobId, Outcome, Request, Ticks};
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::protocol::{Origin, TIME_MAX};
use meshalloc_firmware::{Client, Received, Server};

use crate::board::{Board, at_reset, release, submit};
use crate::life::{Life, first_fit, renew};
use crate::line::{MemoryLine, OPTIONS, call};

const BOOT: u64 = 7;

fn leased(job: u32, w: u16, h: u16, ticks: Ticks) -> Change {
    Change::Submit {
        job: JobId(job),
        request: Request::submesh(w, h),
        lease: NonZeroU64::new(ticks),
    }
}

/// Advances the clock of the server without a byte on the line.
fn let_time_pass(server: &mut Server<'_>, now: Ticks) {
    let mut answer = Vec::new();
    let mut port = Received {
        bytes: &[],
        line: &mut answer,
    };
    assert_eq!(server.receive_from(now, &mut port), Ok(None));
    while server.has_work() {
        server.work(&mut port).expect("a vector takes everything");
    }
    assert!(answer.is_empty(), "no client has asked");
}

fn jobs(controller: &Controller<'_>) -> Vec<u32> {
    (1..20)
        .filter(|&job| controller.jobs().find(JobId(job)).is_some())
        .collect()
}

fn events(client: &mut Client<MemoryLine<'_, '_>>) -> Vec<Event> {
    let mut events = Vec::new();
    let polled = client.events(&mut |event, _| events.push(*event));
    polled.expect("a good line");
    events
}

#[test]
fn the_clock_of_the_server_ends_a_lease_and_lets_others_in() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).expect("a good line");
    client.line_mut().now = 1000;
    for command in [
        leased(1, 16, 16, 500),
        leased(2, 1, 1, 400),
        submit(3, 4, 4),
        submit(4, 16, 16),
    ] {
        call(&mut client, &command, None).expect("a good line");
    }
    // The second one is given up while it waits.
    let_time_pass(client.line_mut().server, 1399);
    assert_eq!(jobs(client.line_mut().server.controller()), [1, 2, 3, 4]);
    let_time_pass(client.line_mut().server, 1400);
    assert_eq!(jobs(client.line_mut().server.controller()), [1, 3, 4]);
    let_time_pass(client.line_mut().server, 1499);
    assert_eq!(jobs(client.line_mut().server.controller()), [1, 3, 4]);
    // The server ends it late, but with the right time.
    let_time_pass(client.line_mut().server, 1600);
    assert_eq!(jobs(client.line_mut().server.controller()), [3, 4]);
    let seen: Vec<(u32, Ticks, u32, bool)> = events(&mut client)
        .iter()
        .map(|event| {
            let has_ended = event.what == EventKind::LeaseEnded;
            (event.job.0, event.at, event.processors, has_ended)
        })
        .collect();
    assert_eq!(
        seen,
        [
            (2, 1400, 0, true),
            (1, 1500, 256, true),
            (3, 1500, 16, false)
        ]
    );
    assert_eq!(events(&mut client), [], "each is reported once");
}

#[test]
fn what_is_renewed_stays_and_what_is_no_longer_leased_does_too() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).expect("a good line");
    for job in 1..=3 {
        call(&mut client, &leased(job, 2, 2, 100), None).expect("a good line");
    }
    for now in [60, 120, 180] {
        client.line_mut().now = now;
        let led = call(&mut client, &renew(1, 100), None).expect("a good line");
        assert_eq!(led.outcome, Ok(Outcome::Done));
        if now == 60 {
            let led = call(&mut client, &renew(2, 0), None).expect("a good line");
            assert_eq!(led.outcome, Ok(Outcome::Done));
        }
    }
    let_time_pass(client.line_mut().server, 279);
    assert_eq!(jobs(client.line_mut().server.controller()), [1, 2]);
    let_time_pass(client.line_mut().server, 1_000_000);
    assert_eq!(jobs(client.line_mut().server.controller()), [2]);
    let led = call(&mut client, &renew(1, 100), None).expect("a good line");
    assert_eq!(led.outcome, Err(meshalloc::Error::UnknownJob));
}

#[test]
fn under_a_virtual_clock_leases_end_by_that() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).expect("a good line");
    client.use_virtual_clock(true).expect("there is no lease");
    call(&mut client, &leased(1, 2, 2, 100), Some(5)).expect("a good line");
    let_time_pass(client.line_mut().server, 1_000_000);
    assert_eq!(jobs(client.line_mut().server.controller()), [1]);
    // The time of a refused command ends no lease.
    call(&mut client, &release(9), Some(TIME_MAX)).expect("a good line");
    let_time_pass(client.line_mut().server, 1_000_000);
    assert_eq!(jobs(client.line_mut().server.controller()), [1]);
    let led = call(&mut client, &submit(2, 1, 1), Some(105)).expect("a good line");
    let mut ended = led.events.iter().map(|(event, _)| event);
    let ended = ended.find(|event| event.what == EventKind::LeaseEnded);
    let ended = ended.map(|event| (event.job, event.at, event.processors));
    assert_eq!(ended, Some((JobId(1), 105, 4)), "{led:?}");
}

#[test]
fn more_ends_than_are_remembered_lose_the_oldest_events_only() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).expect("a good line");
    for job in 1..20 {
        call(&mut client, &leased(job, 1, 1, job.into()), None).expect("a good line");
    }
    let_time_pass(client.line_mut().server, 100);
    assert_eq!(jobs(client.line_mut().server.controller()), []);
    let ended: Vec<u32> = events(&mut client)
        .iter()
        .map(|event| event.job.0)
        .collect();
    assert_eq!(ended, (4..20).collect::<Vec<u32>>());
}

#[test]
fn leases_and_their_ends_outlive_a_reset() {
    let ended = |life: &Life<4096>| -> Vec<Event> {
        let events = life.server.controller().view().events_since(0);
        let ended = events.filter(|event| event.what == EventKind::LeaseEnded);
        ended.collect()
    };
    let mut life = Life::begin(MemoryFlash::new(3), 1, first_fit());
    life.now = 50;
    for change in [leased(1, 4, 4, 100), leased(2, 4, 4, 300), submit(3, 4, 4)] {
        assert_eq!(life.outcome(change), Ok(Outcome::Done));
    }
    life.let_time_pass(150);
    assert_eq!(life.jobs(), [2, 3]);
    let before = ended(&life);
    assert_eq!(before.len(), 1);

    // The clock goes on from the end of the lease, the latest time in the journal.
    let mut life = Life::begin(life.into_flash(), 2, first_fit());
    assert_eq!(life.server.origin(), Origin::Restored { at: 150 });
    assert_eq!(life.jobs(), [2, 3]);
    assert_eq!(ended(&life), before);
    life.let_time_pass(199);
    assert_eq!(life.jobs(), [2, 3]);
    life.let_time_pass(200);
    assert_eq!(life.jobs(), [3]);
    assert_eq!(ended(&life).len(), 2);

    let life = Life::begin(life.into_flash(), 3, first_fit());
    assert_eq!(life.jobs(), [3]);
    assert_eq!(ended(&life).len(), 2);
}
