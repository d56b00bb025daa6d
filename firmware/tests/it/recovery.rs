//! How a server restores its journal at the start.

use std::cell::Cell;
use std::num::NonZeroU64;

use meshalloc::{
    Answer, Change, Class, Configuration, Error, Flags, JobId, Outcome, Pauses, Query, Refusal,
    Request, SchedulerKind, Storage, StrategyKind, Submesh,
};
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::protocol::Origin;
use meshalloc_firmware::{ClientMessage, ServerMessage};

use crate::board::{Board, configuration, preempt, release, submit};
use crate::life::{DONE, Life, REGIONS, first_fit, lease, never_waits, renew};
use crate::line::Random;
use crate::session::SCHEDULERS;
use crate::unread::stays_unread;

#[test]
fn a_restore_reports_its_progress() {
    let conservative = Configuration {
        scheduler: SchedulerKind::Conservative,
        ..configuration(16, 16, StrategyKind::FreeSubmeshList)
    };
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, conservative);
    let commands = 20;
    for job in 0..commands {
        let request = Request::submesh(9, 9).with_estimate(10);
        let job = JobId(job);
        life.call(1, Change::submit(job, request), None);
    }
    let before = life.jobs();
    let board = Box::leak(Box::new(Board::new()));
    let times = Cell::new(0);
    let count = || {
        times.set(times.get() + 1);
        false
    };
    let life = Life::begin_in(
        board.memory(),
        life.into_flash(),
        2,
        conservative,
        &Pauses::new(&count, &|_| ()),
    );
    assert_eq!(life.jobs(), before);
    // Once behind every record, and within the reservations.
    assert!(times.get() > 2 * commands, "{times:?} times");
}

/// Lists the jobs and calls `between` between two parts.
fn list(life: &mut Life<4096>, mut between: impl FnMut(&mut Life<4096>)) -> Vec<u32> {
    let mut jobs = Vec::new();
    let mut next = Some(0);
    while let Some(from) = next {
        let ClientMessage::Change { session, .. } = life.message(3, Change::Reset, None) else {
            unreachable!();
        };
        let query = Query::Jobs { on: None, from };
        life.seq += 1;
        let answer = life.send(3, life.seq, &ClientMessage::Query { session, query });
        let ServerMessage::Answer(Ok(Answer::Jobs(list))) = answer else {
            panic!("{answer:?}");
        };
        jobs.extend(list.jobs.iter().map(|(job, _)| job.0));
        next = list.next;
        between(life);
    }
    jobs
}

/// As PROTOCOL.md says: a job that is there all the time is listed once, in an order that a reset
/// keeps.
#[test]
fn jobs_that_stay_are_listed_once_and_in_the_same_order() {
    for released in 1..24 {
        let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, first_fit());
        for job in 0..24 {
            life.call(1, submit(job, 3, 3), None);
        }
        for job in [released, 0, 13] {
            life.call(1, release(job), None);
        }
        life.call(1, submit(30, 1, 1), None);
        let order = list(&mut life, |_| ());
        let mut all = order.clone();
        all.sort_unstable();
        assert_eq!(all, life.jobs());
        // Others come and go between the parts.
        let mut job = 100;
        let seen = list(&mut life, |life| {
            life.call(1, submit(job, 1, 1), None);
            life.call(1, release(30), None);
            life.call(1, release(job - 1), None);
            job += 1;
        });
        let stays = |job: &&u32| **job < 30;
        let stayed: Vec<&u32> = seen.iter().filter(stays).collect();
        assert_eq!(stayed, order.iter().filter(stays).collect::<Vec<_>>());
        let before = list(&mut life, |_| ());
        let mut life = Life::begin(life.into_flash(), 2, first_fit());
        assert_eq!(list(&mut life, |_| ()), before);
    }
}

/// An image with other strategies, with room for more jobs, blocks and list entries, and one that
/// has no more room than the state takes read the journal of a smaller one, and its records.
#[test]
fn the_contents_of_the_state_decide_which_image_reads_it() {
    type Small = Storage<16, 12, 32, 12, 0>;
    let mut life: Life<4096> = Life::begin_in(
        Box::leak(Box::new(Small::new())).memory(),
        MemoryFlash::new(3),
        1,
        first_fit(),
        &Pauses::none(),
    );
    let table_is_full = Err(Error::Refused(Refusal::TableFull));
    for job in 0..12 {
        life.call(1, submit(job, 5, 5), None);
    }
    assert_eq!(life.outcome(submit(12, 1, 1)), table_is_full);
    for job in 0..8 {
        life.call(1, release(job), None);
    }
    life.call(1, submit(13, 2, 2), None);
    let seen = life.seen();
    let flash = life.into_flash();
    let of_same_room = |memory, flash: &MemoryFlash<4096>| {
        let life = Life::begin_in(memory, flash.clone(), 2, first_fit(), &Pauses::none());
        assert!(matches!(life.server.origin(), Origin::Restored { .. }));
        assert_eq!(life.seen(), seen);
    };
    of_same_room(Box::leak(Box::new(Board::new())).memory(), &flash);
    type Large = Storage<128, 256, 512, 4096, 4096>;
    of_same_room(Box::leak(Box::new(Large::new())).memory(), &flash);
    // There is room for all but one of the 12 jobs that were present at a time.
    type Least = Storage<16, 11, 32, 11, 0>;
    let memory = Box::leak(Box::new(Least::new())).memory();
    let mut life = Life::begin_in(memory, flash.clone(), 3, first_fit(), &Pauses::none());
    assert_eq!(life.server.origin(), Origin::Unread);
    stays_unread(&mut life);
    of_same_room(
        Box::leak(Box::new(Small::new())).memory(),
        &life.into_flash(),
    );
}

/// A strategy that remembers the latest requests also remembers one for which the table had no
/// room. With more room the record does not tell whether it was refused.
#[test]
fn records_of_remembered_requests_need_the_same_table() {
    type Small = Storage<16, 12, 4096, 256, 256>;
    type More = Storage<16, 13, 4096, 256, 4096>;
    type OtherList = Storage<32, 12, 8192, 512, 512>;
    let strategy = StrategyKind::LeastExpectedBlocking { budget: 8 };
    let configuration = configuration(16, 16, strategy);
    let begin = |memory, flash, boot| -> Life<4096> {
        Life::begin_in(memory, flash, boot, configuration, &Pauses::none())
    };
    let small = || Box::leak(Box::new(Small::new())).memory();
    let mut life = begin(small(), MemoryFlash::new(3), 1);
    for job in 0..12 {
        life.call(1, submit(job, 5, 5), None);
    }
    let steps = life.server.journal().flash_mut().steps();
    let full = Err(Error::Refused(Refusal::TableFull));
    assert_eq!(life.outcome(submit(12, 9, 1)), full);
    assert!(life.server.journal().flash_mut().steps() > steps);
    life.call(1, release(3), None);
    life.call(1, submit(14, 2, 3), None);
    let (seen, flash) = (life.seen(), life.into_flash());
    let other_list = Box::leak(Box::new(OtherList::new())).memory();
    for memory in [small(), other_list] {
        let life = begin(memory, flash.clone(), 2);
        assert!(matches!(life.server.origin(), Origin::Restored { .. }));
        assert_eq!(life.seen(), seen);
    }
    let more = Box::leak(Box::new(More::new())).memory();
    assert_eq!(begin(more, flash, 3).server.origin(), Origin::Unread);
}

/// Commands that are refused or change nothing write and erase nothing, however often they come.
/// The state after a reset is the one before.
#[test]
fn commands_that_change_nothing_are_not_written() {
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, first_fit());
    let marked = |x| Submesh::new(x, 0, 1, 1).into();
    life.call(1, Change::MarkFaulty { block: marked(15) }, None);
    life.call(1, lease(0, 1 << 40), None);
    life.call(1, submit(1, 16, 8), None);
    life.call(1, submit(2, 16, 16), None);
    for job in 3..24 {
        life.call(1, submit(job, 16, 9), None);
    }
    let seen = life.seen();
    let mesh = configuration(64, 64, StrategyKind::FirstFit);
    let job = JobId(1);
    let outside = Submesh::new(15, 15, 2, 2).into();
    let refused = [
        release(500),
        submit(1, 1, 1),
        submit(500, 0, 1),
        submit(500, 17, 1),
        // The table is full.
        submit(500, 1, 1),
        never_waits(500, 1, 1),
        lease(500, 7),
        renew(500, 7),
        Change::EndLease { job: JobId(0) },
        Change::EndLease { job },
        Change::MarkFaulty { block: outside },
        Change::ClearFaulty { block: outside },
        Change::Configure(first_fit()),
        Change::Configure(mesh),
    ];
    let idle = [
        Change::MarkFaulty { block: marked(15) },
        Change::ClearFaulty { block: marked(14) },
        Change::Lease {
            job,
            ticks: NonZeroU64::new(0),
        },
    ];
    let steps = life.server.journal().flash_mut().steps();
    for _ in 0..200 {
        life.now += 1;
        for command in refused {
            let outcome = life.outcome(command);
            assert!(outcome.is_err(), "{command:?}: {outcome:?}");
        }
        for command in idle {
            let outcome = life.outcome(command);
            assert!(outcome.is_ok(), "{command:?}: {outcome:?}");
        }
    }
    // Jobs that never wait are refused by their attempts, of which some fail for want of a place.
    life.call(1, release(23), None);
    let released = life.server.journal().flash_mut().steps();
    assert!(released > steps);
    for (w, h) in [(16, 8), (1, 1)] {
        for _ in 0..200 {
            let outcome = life.outcome(never_waits(500, w, h));
            assert!(matches!(outcome, Err(Error::Refused(_))), "{outcome:?}");
        }
    }
    assert_eq!(life.server.journal().flash_mut().steps(), released);
    assert_eq!(life.sectors_erased(), 0);
    // One that is granted is written.
    life.call(1, Change::Reset, None);
    let steps = life.server.journal().flash_mut().steps();
    let outcome = life.outcome(never_waits(500, 2, 2));
    assert!(outcome.is_ok(), "{outcome:?}");
    assert!(life.server.journal().flash_mut().steps() > steps);
    let granted = life.seen();
    assert_ne!(granted, seen);
    let life = Life::begin(life.into_flash(), 2, first_fit());
    assert_eq!(life.seen(), granted);
}

/// After any commands, many of which change nothing and are not written, the state that is restored
/// is the one before, but for reservations that the next change needs anew: in the same memory and
/// in a larger one.
#[test]
fn the_restored_state_is_the_one_before_also_after_refusals() {
    type Larger = Storage<64, 40, 4096, 512, 512>;
    let foresight = StrategyKind::LeastExpectedBlocking { budget: 8 };
    let strategies = [
        StrategyKind::FirstFit,
        StrategyKind::Random { seed: 3 },
        StrategyKind::FreeSubmeshList,
        StrategyKind::Neighbor,
        foresight,
    ];
    let mut refused = 0;
    for (seed, strategy) in (1..).zip(strategies) {
        for scheduler in SCHEDULERS {
            let configuration = Configuration {
                scheduler,
                ..configuration(12, 12, strategy)
            };
            let mut random = Random(seed);
            type Small = Storage<16, 10, 4096, 256, 256>;
            let memory = || Box::leak(Box::new(Small::new())).memory();
            let flash = MemoryFlash::<8192>::new(3);
            let mut life = Life::begin_in(memory(), flash, 1, configuration, &Pauses::none());
            for given in 0..150 {
                life.let_time_pass(life.now + random.below(20) as u64);
                let client = 1 + random.below(3) as u32;
                let answer = life.call(client, some_command(&mut random), None);
                refused += u32::from(matches!(
                    answer,
                    ServerMessage::Outcome {
                        outcome: Err(_),
                        ..
                    }
                ));
                if !random.once_in(10) {
                    continue;
                }
                let seen = life.seen_but_for_reservations();
                let flash = life.server.journal().flash_mut().clone();
                let larger = Box::leak(Box::new(Larger::new())).memory();
                let memories = if strategy == foresight {
                    vec![memory()]
                } else {
                    vec![memory(), larger]
                };
                for memory in memories {
                    let again =
                        Life::begin_in(memory, flash.clone(), 2, configuration, &Pauses::none());
                    let context = format!("{configuration:?}, {given}");
                    let origin = again.server.origin();
                    assert!(
                        matches!(origin, Origin::Restored { .. }),
                        "{context}: {origin:?}"
                    );
                    assert_eq!(again.seen_but_for_reservations(), seen, "{context}");
                }
            }
        }
    }
    assert!(refused > 1_000, "{refused} refused");
}

fn some_command(random: &mut Random) -> Change {
    let job = JobId(random.below(16) as u32);
    let mut side = |most| 1 + random.below(most) as u16;
    let (x, y) = (side(12) - 1, side(12) - 1);
    let block = Submesh::new(x, y, side(2), side(2)).into();
    let request = Request::submesh(side(8), side(8));
    let request = request.with_estimate(side(100).into());
    let request = if random.once_in(3) {
        request.with_flags(Flags::NO_WAIT)
    } else {
        request
    };
    let class = Class::new(random.below(3) as u64, random.once_in(2));
    let request = request.with_class(class.expect("this build has priorities"));
    let ticks = random.below(300) as u64;
    match random.below(24) {
        0..8 => Change::submit(job, request),
        8..10 => Change::Submit {
            job,
            request,
            lease: NonZeroU64::new(ticks),
        },
        10..15 => Change::Release { job },
        15 => Change::Lease {
            job,
            ticks: NonZeroU64::new(ticks),
        },
        16 => Change::EndLease { job },
        17 => Change::MarkFaulty { block },
        18 => Change::ClearFaulty { block },
        19 | 20 => Change::Replace { job },
        21 | 22 => preempt(random),
        _ => Change::Configure(first_fit()),
    }
}

/// A client that sends a time advances the clock, also by a command that changes nothing else.
#[test]
fn a_clock_that_a_client_has_advanced_is_kept() {
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, first_fit());
    let block = Submesh::new(0, 0, 1, 1).into();
    assert_eq!(life.clock(1, true), DONE);
    life.call(1, Change::ClearFaulty { block }, Some(700));
    let mut life = Life::begin(life.into_flash(), 2, first_fit());
    assert_eq!(life.server.origin(), Origin::Restored { at: 700 });
    // A command that is not written down may advance the clock beyond the time of the next one.
    assert_eq!(life.clock(1, true), DONE);
    life.call(1, release(9), Some(900));
    life.call(1, submit(3, 1, 1), Some(0));
    assert_eq!(
        life.outcome(release(3)),
        Ok(Outcome::Released { processors: 1 })
    );
    let at = life.server.controller().clock();
    let seen = life.seen();
    let mut life = Life::begin(life.into_flash(), 3, first_fit());
    assert_eq!(life.server.origin(), Origin::Restored { at });
    assert_eq!(life.seen(), seen);
    // That of the server goes on by itself. A lease that is given behind it has the time at which
    // it was given.
    life.call(1, release(9), None);
    life.call(1, lease(1, 100), None);
    life.now = 50;
    life.call(1, Change::ClearFaulty { block }, None);
    assert_eq!(life.server.controller().clock(), at + 50);
    life.call(1, submit(2, 2, 2), None);
    let (at, seen) = (life.server.controller().clock(), life.seen());
    let life = Life::begin(life.into_flash(), 4, first_fit());
    assert_eq!(life.server.origin(), Origin::Restored { at });
    assert_eq!(life.seen(), seen);
}

/// Two faults: a bit of a region changes, so that the region cannot be closed, and then the first
/// entry of a later region is damaged.
#[test]
fn a_loss_is_noticed_also_behind_a_region_that_cannot_be_closed() {
    let mut life = Life::begin(MemoryFlash::<4096>::new(REGIONS), 1, first_fit());
    life.call(1, submit(1, 2, 2), None);
    let mut flash = life.into_flash();
    // The first checkpoint is in the first region.
    flash.bytes_mut()[4095] &= !1;
    let mut life = Life::begin(flash, 2, first_fit());
    assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    assert_eq!(life.outcome(submit(2, 2, 2)), Ok(Outcome::Done));
    let flash = life.into_flash();
    assert_eq!(
        Life::begin(flash.clone(), 3, first_fit()).jobs(),
        [1, 2],
        "without damage"
    );
    for region in 1..REGIONS {
        let mut flash = flash.clone();
        flash.bytes_mut()[region * 4096] = 0;
        let life = Life::begin(flash, 3, first_fit());
        let is_missed = matches!(life.server.origin(), Origin::Damaged { .. });
        assert_eq!(is_missed, life.jobs() != [1, 2], "region {region}");
    }
}
