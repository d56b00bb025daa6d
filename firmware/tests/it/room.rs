//! What a server refuses when the journal has no room left for its state.

use std::num::NonZeroU64;
use std::ops::Range;

use meshalloc::{
    Change, Controller, JobId, Outcome, Pauses, Request, Storage, StrategyKind, Ticks,
};
use meshalloc_firmware::journal::Journal;
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::protocol::Origin;
use meshalloc_firmware::sessions::WINDOW;
use meshalloc_firmware::{ClientMessage, ProtocolError, Server, ServerMessage};

use crate::board::{Board, configuration, release, submit};
use crate::life::{DONE, Life, NOT_KEPT, first_fit, is_busy, is_done, is_full, lease, renew};
use crate::line::Random;

/// A job whose description is long.
fn long(job: u32) -> Change {
    Change::submit(JobId(job), Request::submesh(2, 2).with_estimate(1 << 60))
}

/// Renews the lease of job 0 until checkpoints have been due several times: records that make the
/// state no longer.
fn renew_often<const SECTOR: usize>(life: &mut Life<SECTOR>, ticks: Ticks) {
    let erased = life.sectors_erased();
    for more in 0..200 {
        assert_eq!(life.outcome(renew(0, ticks + more)), Ok(Outcome::Done));
    }
    assert!(life.sectors_erased() > erased);
}

/// Submits these jobs until the state has no room for one, which is returned.
fn fill<const SECTOR: usize>(
    life: &mut Life<SECTOR>,
    mut jobs: Range<u32>,
    submit: impl Fn(u32) -> Change,
) -> u32 {
    let full = jobs.find(|&job| is_full(&life.call(1, submit(job), None)));
    full.expect("there is not always room")
}

/// A server whose state has no room for another job, and the next job to submit.
fn full() -> (Life<1024>, u32) {
    let mut life = Life::begin(MemoryFlash::new(3), 1, first_fit());
    life.call(1, lease(0, 1 << 60), None);
    let next = fill(&mut life, 1..24, long);
    (life, next)
}

#[test]
fn a_full_state_becomes_smaller_whatever_comes_before() {
    let (mut life, next) = full();
    assert_eq!(life.jobs(), (0..next).collect::<Vec<u32>>());
    let erased = life.sectors_erased();
    assert!(is_full(&life.call(1, long(next), None)));
    assert!(is_full(&life.call(2, long(next), None)));
    assert_eq!(life.sectors_erased(), erased, "no sector is erased in vain");
    // It is the same after a reset.
    let mut life = Life::begin(life.into_flash(), 2, first_fit());
    assert_eq!(life.jobs(), (0..next).collect::<Vec<u32>>());
    assert!(is_full(&life.call(1, long(next), None)));
    // Renewals take room for records.
    renew_often(&mut life, 1 << 60);
    for job in 0..next {
        let expected = Ok(Outcome::Released { processors: 4 });
        assert_eq!(life.outcome(release(job)), expected);
    }
    assert_eq!(life.outcome(long(next)), Ok(Outcome::Done));
    let life = Life::begin(life.into_flash(), 3, first_fit());
    assert_eq!(life.jobs(), [next]);
}

/// The server counts the room between frames: commands that need the count are answered with Busy,
/// others are carried out.
#[test]
fn room_is_counted_between_frames() {
    let (mut life, next) = full();
    assert!(life.outcome(release(0)).is_ok());
    let submit = life.message(1, long(next), None);
    let send = |life: &mut Life<1024>, client, message: &ClientMessage| {
        life.seq += 1;
        life.send(client, life.seq, message)
    };
    let left = |answer| match answer {
        ServerMessage::Events(events) => events.left,
        other => panic!("{other:?}"),
    };
    let ask = |life: &mut Life<1024>| {
        let message = life.message(2, Change::Reset, None);
        let ClientMessage::Change { session, since, .. } = message else {
            panic!("{message:?}");
        };
        ClientMessage::Events { session, since }
    };
    let events = ask(&mut life);
    assert_eq!(left(send(&mut life, 2, &events)), 0);
    assert!(is_busy(&send(&mut life, 1, &submit)));
    assert_eq!(left(send(&mut life, 2, &events)), 1, "there is work");
    assert!(is_busy(&send(&mut life, 1, &submit)));
    life.work();
    assert_eq!(left(send(&mut life, 2, &events)), 0);
    let answer = send(&mut life, 1, &submit);
    assert!(is_done(&answer), "{answer:?}");
}

/// Jobs whose processors are granted one by one, and that wait first.
#[test]
fn what_waiting_jobs_will_hold_has_room_before_they_hold_it() {
    let scattered = configuration(16, 16, StrategyKind::Naive);
    let mut life = Life::begin(MemoryFlash::<2048>::new(3), 1, scattered);
    life.call(
        1,
        Change::Submit {
            job: JobId(0),
            request: Request::submesh(16, 16),
            lease: NonZeroU64::new(1 << 60),
        },
        None,
    );
    let next = fill(&mut life, 1..64, |job| submit(job, 5, 5));
    renew_often(&mut life, 1 << 60);
    for job in 0..next {
        assert!(life.outcome(release(job)).is_ok());
    }
    assert_eq!(life.jobs(), []);
}

/// As the README says: as many jobs as a board's sectors have room for, the first on the whole
/// machine, and all of them released again.
#[test]
fn sectors_of_a_board_have_room_for_the_jobs_of_the_readme() {
    let short = |job| submit(job, 16, 16);
    let long = |job| Change::Submit {
        job: JobId(job),
        request: Request::submesh(16, 16).with_estimate(1 << 60),
        lease: NonZeroU64::new(1 << 60),
    };
    // With short names and without estimates, with the longest names, and with leases and estimates
    // as well.
    let rows = [
        (StrategyKind::FirstFit, [256, 245, 157]),
        (
            StrategyKind::LeastExpectedBlocking { budget: 64 },
            [256, 238, 153],
        ),
        (StrategyKind::LShape, [240, 224, 148]),
        (StrategyKind::Naive, [56, 50, 31]),
        (StrategyKind::Neighbor, [56, 50, 31]),
    ];
    let columns = [
        (&short as &dyn Fn(u32) -> Change, 0),
        (&short, 1 << 28),
        (&long, 1 << 28),
    ];
    for (strategy, expected) in rows {
        for ((command, first), expected) in columns.into_iter().zip(expected) {
            let storage = Storage::<256, 256, 8192, 4096, 4096>::new();
            let board = Box::leak(Box::new(storage));
            let mut life = Life::<{ 16 * 1024 }>::begin_in(
                board.memory(),
                MemoryFlash::new(3),
                1,
                configuration(64, 64, strategy),
                &Pauses::none(),
            );
            life.call(1, submit(first, 64, 64), None);
            let more = first + 1..first + 256;
            let waiting = more.take_while(|&job| !is_full(&life.call(1, command(job), None)));
            let jobs = 1 + waiting.count() as u32;
            assert_eq!(jobs, expected, "{strategy}, from {first} on");
            for job in first..first + jobs {
                let outcome = life.outcome(release(job));
                assert!(outcome.is_ok(), "{strategy}: {job}");
            }
        }
    }
}

/// As README says: jobs of a submesh each, with names and estimates of two or three bytes, from one
/// client or four.
#[test]
fn sectors_of_a_board_have_room_for_a_mixture_of_jobs() {
    let mut seen = Vec::new();
    for (clients, estimates) in [(1, 1 << 14), (1, 100_000), (4, 1 << 14), (4, 100_000)] {
        for seed in 1..4 {
            let mut random = Random(seed);
            let storage = Storage::<256, 256, 256, 256, 256>::new();
            let board = Box::leak(Box::new(storage));
            let mut life = Life::<{ 16 * 1024 }>::begin_in(
                board.memory(),
                MemoryFlash::new(3),
                1,
                configuration(64, 64, StrategyKind::FirstFit),
                &Pauses::none(),
            );
            let mut jobs = 0;
            while jobs < 256 {
                life.now += random.below(1000) as u64;
                let mut side = || 1 + random.below(32) as u16;
                let request = Request::submesh(side(), side());
                let request = request.with_estimate(1 + random.below(estimates) as u64);
                let job = JobId(random.below(1 << 14) as u32);
                let client = 1 + random.below(clients) as u32;
                let answer = life.call(client, Change::submit(job, request), None);
                if is_full(&answer) {
                    break;
                }
                jobs = life.server.controller().jobs().running_len()
                    + life.server.controller().jobs().waiting_len();
            }
            seen.push(jobs);
        }
    }
    let range = seen.iter().min().zip(seen.iter().max());
    assert_eq!(range, Some((&247, &255)), "{seen:?}");
}

/// No commands lead to this state, but another image may have left it.
#[test]
fn a_reset_makes_room_for_a_state_that_has_none() {
    let board = Box::leak(Box::new(Board::new()));
    let mut controller = Controller::new(board.memory(), first_fit()).expect("it fits");
    for job in 0..24 {
        let request = Request::submesh(2, 2).with_estimate(1 << 60);
        let submitted = controller.handle(&Change::submit(JobId(job), request), 0);
        assert_eq!(submitted, Ok(Outcome::Done));
    }
    let (journal, recovered) = Journal::open(MemoryFlash::new(3)).expect("it has power");
    let server = <Server<'_, _>>::restored(controller, 1, journal, recovered, &Pauses::none());
    let mut life = Life::<1024>::of(server, 1);
    assert_eq!(life.call(1, release(0), None), NOT_KEPT);
    assert_eq!(life.jobs().len(), 24);
    assert_eq!(life.outcome(Change::Reset), Ok(Outcome::Done));
    let life = Life::begin(life.into_flash(), 2, first_fit());
    assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    assert_eq!(life.jobs(), []);
}

/// Removing the last lease makes room, although renewing one does not.
#[test]
fn leases_that_are_taken_away_make_room() {
    let mut life = Life::begin(MemoryFlash::<1024>::new(3), 1, first_fit());
    let full = fill(&mut life, 0..24, |job| lease(job, 1 << 60));
    for job in 0..full {
        assert_eq!(life.outcome(renew(job, 0)), Ok(Outcome::Done));
    }
    let answer = life.outcome(submit(full, 2, 2));
    assert!(answer.is_ok(), "{answer:?}");
}

#[test]
fn leases_of_a_full_state_end() {
    let mut life = Life::begin(MemoryFlash::<1024>::new(3), 1, first_fit());
    fill(&mut life, 0..24, |job| lease(job, 1000));
    // Renewals take room for records, but none of the state.
    renew_often(&mut life, 1000);
    life.let_time_pass(5000);
    assert_eq!(life.jobs(), []);
}

/// Jobs, their times and sessions are as long as they can become.
#[test]
fn a_full_state_has_room_for_long_times_and_other_clients() {
    let mut life = Life::<1024>::begin(MemoryFlash::new(3), 1, first_fit());
    assert_eq!(life.clock(1, true), DONE);
    life.call(1, lease(0, 1 << 60), None);
    let next = fill(&mut life, 1..30, |job| submit(job, 1, 1)) - 1;
    life.call(1, release(next), Some(1 << 42));
    for client in u32::MAX - 2..=u32::MAX {
        for job in u32::MAX - 3..=u32::MAX {
            life.call(client, release(job), None);
        }
    }
    renew_often(&mut life, 1 << 60);
    assert!(life.outcome(release(0)).is_ok());
    assert_eq!(life.jobs(), (1..next).collect::<Vec<u32>>());
    assert_eq!(life.outcome(Change::Reset), Ok(Outcome::Done));
    let life = Life::begin(life.into_flash(), 2, first_fit());
    assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    assert_eq!(life.jobs(), []);
}

#[test]
fn a_late_copy_of_what_had_no_room_is_not_carried_out() {
    let (mut life, next) = full();
    let message = life.message(1, long(next), None);
    life.seq += 1;
    let seq = life.seq;
    assert!(is_full(&life.send(1, seq, &message)));
    life.work();
    for job in 0..next / 2 {
        life.call(2, release(job), None);
    }
    assert!(is_full(&life.send(1, seq, &message)));
    life.session(1);
    for _ in 0..WINDOW {
        life.call(1, release(500), None);
    }
    let too_old = ServerMessage::Error(ProtocolError::TooOld);
    assert_eq!(life.send(1, seq, &message), too_old);
    assert!(!life.jobs().contains(&next));
}
