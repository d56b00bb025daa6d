//! Leases behind a server: they end by its clock, between frames, once, and over resets.

use meshalloc::{
    Command, Controller, JobId, LeaseEnded, Pauses, Reply, Request, StrategyKind, Ticks,
};
use meshalloc_firmware::journal::Journal;
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::protocol::{Origin, TIME_MAX};
use meshalloc_firmware::{Client, Event, Happened, Received, Server};

use crate::board::{Board, at_reset, configuration, release, submit};
use crate::line::{MemoryLine, OPTIONS, call};

const BOOT: u64 = 7;

fn leased(job: u32, w: u16, h: u16, ticks: Ticks) -> Command {
    Command::SubmitLeased {
        job: JobId(job),
        request: Request::submesh(w, h),
        ticks,
    }
}

fn renew(job: u32, ticks: Ticks) -> Command {
    Command::Lease {
        job: JobId(job),
        ticks,
    }
}

/// Advances the clock of the server without a byte on the line.
fn let_time_pass<K: meshalloc_firmware::keeping::Keep>(server: &mut Server<'_, K>, now: Ticks) {
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
    client.poll().expect("a good line");
    let next = || client.next_event().expect("a good line");
    std::iter::from_fn(next).collect()
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
            let has_ended = event.what == Happened::LeaseEnded;
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
        let replies = call(&mut client, &renew(1, 100), None).expect("a good line");
        assert_eq!(replies.last(), Some(&Reply::Done));
        if now == 60 {
            let replies = call(&mut client, &renew(2, 0), None).expect("a good line");
            assert_eq!(replies, [Reply::Done]);
        }
    }
    let_time_pass(client.line_mut().server, 279);
    assert_eq!(jobs(client.line_mut().server.controller()), [1, 2]);
    let_time_pass(client.line_mut().server, 1_000_000);
    assert_eq!(jobs(client.line_mut().server.controller()), [2]);
    let replies = call(&mut client, &renew(1, 100), None).expect("a good line");
    let unknown = Reply::Error(meshalloc::Error::UnknownJob);
    assert_eq!(replies.last(), Some(&unknown));
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
    let replies = call(&mut client, &submit(2, 1, 1), Some(105)).expect("a good line");
    let ended = Reply::LeaseEnded(LeaseEnded {
        job: JobId(1),
        at: 105,
        processors: 4,
    });
    assert!(replies.contains(&ended), "{replies:?}");
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
    const SECTOR: usize = 4096;
    let regions: [std::ops::Range<u32>; 3] =
        std::array::from_fn(|at| (at * SECTOR) as u32..((at + 1) * SECTOR) as u32);
    let boot = |flash, number| {
        let board = Box::leak(Box::new(Board::new()));
        let first_fit = configuration(16, 16, StrategyKind::FirstFit);
        let controller = Controller::new(board.memory(), first_fit).expect("it fits");
        let (journal, recovered) = Journal::<_, 3>::open(flash, &regions).expect("it has power");
        Server::restored(controller, number, journal, recovered, &Pauses::none())
    };
    let mut server = boot(MemoryFlash::<SECTOR>::new(3), 1);
    let carry_out = |server: &mut Server<'_, _>, commands: &[Command], seq| {
        use meshalloc_firmware::frame::{ClientFrameBuffer, Header};
        use meshalloc_firmware::{ClientMessage, Session};
        let boot = match server.origin() {
            Origin::New => 1,
            _ => 2,
        };
        let mut send = |seq, message| {
            let mut buffer = ClientFrameBuffer::new();
            let frame = buffer
                .encode(Header::new(3, seq), &message)
                .expect("it fits");
            let mut answer = Vec::new();
            server
                .receive(frame, 50, &mut answer)
                .expect("it takes all");
        };
        send(seq, ClientMessage::Hello);
        for (seq, &command) in (seq + 1..).zip(commands) {
            let session = Session { boot, number: 1 };
            send(
                seq,
                ClientMessage::Command {
                    session,
                    since: 0,
                    at: None,
                    command,
                },
            );
        }
    };
    carry_out(
        &mut server,
        &[leased(1, 4, 4, 100), leased(2, 4, 4, 300), submit(3, 4, 4)],
        1,
    );
    let_time_pass(&mut server, 150);
    assert_eq!(jobs(server.controller()), [2, 3]);
    let ended = |server: &Server<'_, _>| -> Vec<(u64, LeaseEnded)> {
        let view = server.controller().view();
        view.leases_ended_since(0).collect()
    };
    let before = ended(&server);
    assert_eq!(before.len(), 1);

    // The clock goes on from the end of the lease, the latest time in the journal.
    let mut server = boot(server.into_journal().into_flash(), 2);
    assert_eq!(server.origin(), Origin::Restored { at: 150 });
    assert_eq!(jobs(server.controller()), [2, 3]);
    assert_eq!(ended(&server), before);
    let_time_pass(&mut server, 199);
    assert_eq!(jobs(server.controller()), [2, 3]);
    let_time_pass(&mut server, 200);
    assert_eq!(jobs(server.controller()), [3]);
    assert_eq!(ended(&server).len(), 2);

    let server = boot(server.into_journal().into_flash(), 3);
    assert_eq!(jobs(server.controller()), [3]);
    assert_eq!(ended(&server).len(), 2);
}
