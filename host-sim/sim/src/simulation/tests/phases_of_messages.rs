//! Jobs that communicate and do I/O over the wormhole network, against closed forms and against
//! fair shares.

use super::phases::{NEVER, Task, io, start, task};
use super::*;
use crate::io::{Communication, Direction, IoJobs};

const L: u32 = 64;
/// The cycles in which a disk transfers 64 flits: 64 * 11.65 / 4.545, rounded.
const DISK: f64 = 164.0;

/// When each job completes, in seconds; all start at once.
fn ends<E: Execution>(mut execution: E, tasks: &[Task]) -> Vec<f64> {
    let mut ends = vec![0.0; tasks.len()];
    for (number, task) in (0..).zip(tasks) {
        start(&mut execution, number, task);
    }
    for _ in tasks {
        let done = execution.complete_before(NEVER).expect("a completion");
        ends[done.number as usize] = TimeUnit::Second.of(done.key.at);
    }
    assert_eq!(execution.complete_before(NEVER), None);
    ends
}

fn machine() -> Grid {
    mesh(8, 8)
}

fn by_messages(io: IoJobs, flits: u32, tasks: &[Task]) -> Vec<f64> {
    ends(PhasesOfMessages::new(machine(), io, flits).unwrap(), tasks)
}

fn by_shares(io: IoJobs, tasks: &[Task]) -> Vec<f64> {
    ends(Phases::new(machine(), io).unwrap(), tasks)
}

#[track_caller]
fn assert_cycles(found: f64, cycles: f64) {
    let expected = cycles / (11.65 * f64::from(L));
    assert!((found - expected).abs() < 2e-6, "{found} for {expected}");
}

/// A message over D links has arrived D + 1 + L cycles after it was sent, and the next one follows
/// L + 1 cycles behind it.
#[test]
fn one_job_takes_what_its_messages_take_one_after_the_other() {
    let l = f64::from(L);
    // Two neighbours send each other a message in each of 5 phases; then each writes to 8 I/O
    // nodes, i from node i on. The last message of the second one goes from row 3 to I/O node 0,
    // over 3 + 5 + 1 links, and is written when its first flit has arrived.
    let last_write = 7.0 * (l + 1.0) + (9.0 + 1.0 + l) + (1.0 - l + DISK);
    let pair = [task(0, &[(4, 3, 2, 1)])];
    let communication = 5.0 * (1.0 + 1.0 + l);
    let found = by_messages(io(5), L, &pair)[0];
    // The messages of both share row 3, so the I/O phase takes twice as long, within a message.
    let both = communication + last_write + 8.0 * (l + 1.0);
    let cycles = found * 11.65 * l;
    assert!((cycles - both).abs() < l + 1.0, "{cycles} for {both}");
    // One processor has no one to send to.
    let single = [task(0, &[(5, 3, 1, 1)])];
    let to_the_last = 7.0 * (l + 1.0) + (6.0 + 4.0 + 1.0 + l) + (1.0 - l + DISK);
    assert_cycles(by_messages(io(5), L, &single)[0], to_the_last);
    // What it reads comes over the links of its column, from above and from below, and arrives over
    // one channel.
    let read = IoJobs {
        direction: Direction::Read,
        ..io(0)
    };
    let found = by_messages(read, L, &single)[0] * 11.65 * l;
    let at_least = DISK - l + 8.0 * l;
    assert!(
        (at_least..at_least + 8.0 * 2.0 + 20.0).contains(&found),
        "{found} for {at_least}"
    );
}

/// Two neighbours exchange messages over one link each way.
#[test]
fn a_phase_of_two_neighbours_takes_one_message() {
    let line = [task(0, &[(0, 0, 2, 1)])];
    let found = |communications, pattern| {
        let io = IoJobs {
            pattern,
            ..io(communications)
        };
        by_messages(io, L, &line)[0]
    };
    let all_to_all = |communications| found(communications, Communication::AllToAll);
    let message = f64::from(2 + L);
    assert_cycles(all_to_all(100) - all_to_all(50), 50.0 * message);
    // A permutation of two either exchanges or sends nothing: about half of the phases take no
    // time.
    let phases = found(100, Communication::Permutation) - all_to_all(0);
    let exchanges = phases * 11.65 * f64::from(L) / message;
    assert!((exchanges - exchanges.round()).abs() < 0.01 && (30.0..70.0).contains(&exchanges));
}

#[test]
fn processors_beyond_the_request_send_nothing() {
    for pattern in [Communication::AllToAll, Communication::Permutation] {
        for direction in [Direction::Write, Direction::Read] {
            let io = IoJobs {
                pattern,
                direction,
                ..io(3)
            };
            // 10 of 12 processors: two whole rows and a half.
            let part = by_messages(io, L, &[task(0, &[(2, 5, 4, 3)]).asking(10)]);
            let rows = [task(0, &[(2, 5, 4, 2), (2, 7, 2, 1)])];
            assert_eq!(part, by_messages(io, L, &rows));
            assert_ne!(part, by_messages(io, L, &[task(0, &[(2, 5, 4, 3)])]));
        }
    }
}

#[test]
fn the_most_phases_end() {
    let pair = [task(0, &[(0, 0, 2, 1)])];
    let most = by_messages(io(u16::MAX), 1, &pair)[0] - by_messages(io(0), 1, &pair)[0];
    // A message of a flit over one link takes 3 cycles.
    let cycles = most * 11.65;
    assert!((cycles - 3.0 * 65535.0).abs() < 1.0, "{cycles}");
    // One processor has no one to send to: the phases take no time.
    let single = [task(0, &[(0, 0, 1, 1)])];
    assert_eq!(
        by_messages(io(u16::MAX), L, &single),
        by_messages(io(0), L, &single)
    );
}

/// Jobs whose messages have no link in common at any time do not change each other.
#[test]
fn disjoint_jobs_take_as_long_as_alone() {
    // The second one still communicates when the I/O phase of the first one is over.
    let blocks = [(0, 0, 2, 1), (4, 4, 4, 3)];
    let tasks: Vec<_> = blocks.iter().map(|&block| task(0, &[block])).collect();
    let together = by_messages(io(20), L, &tasks);
    let alone = [0, 1].map(|at| by_messages(io(20), L, &tasks[at..=at])[0]);
    assert_eq!(together, alone);
    assert!(alone[1] > 3.0 * alone[0], "{alone:?}");
    // With I/O alone they meet.
    let together = by_messages(io(0), L, &tasks);
    let alone = [0, 1].map(|at| by_messages(io(0), L, &tasks[at..=at])[0]);
    assert!(together[0] > alone[0], "{together:?}, {alone:?}");
}

/// With many messages over one link the time is that of fair shares, but for L + 1 cycles in place
/// of L and the last write. Where jobs meet at I/O nodes, messages that wait keep the links they
/// hold, and the time is longer.
#[test]
fn a_full_link_takes_as_long_as_with_fair_shares() {
    let tasks = [2, 5].map(|y| task(0, &[(0, y, 8, 1)]));
    // 64 messages leave each row over one link, with both jobs as with one.
    for seconds in by_shares(io(0), &tasks) {
        assert!((seconds - 64.0 / 11.65).abs() < 1e-5);
    }
    for flits in [32, 64, 256] {
        let ratios = |tasks| {
            let ends = by_messages(io(0), flits, tasks).into_iter();
            ends.map(|seconds| seconds / (64.0 / 11.65))
        };
        let least = f64::from(flits + 1) / f64::from(flits);
        let alone = ratios(&tasks[..1]).next().expect("a task");
        assert!((least..least + 0.05).contains(&alone), "{flits}: {alone}");
        for ratio in ratios(&tasks) {
            assert!((least..least + 0.3).contains(&ratio), "{flits}: {ratio}");
        }
    }
}
