//! A server whose flash fails in any step, in any way, while it carries a change out.

use meshalloc::{Change, Configuration, Outcome, SchedulerKind, StrategyKind, Submesh, Threshold};
use meshalloc_firmware::journal::memory::{Fault, MemoryFlash};
use meshalloc_firmware::protocol::Origin;
use meshalloc_firmware::{ProtocolError, ServerMessage};

use crate::board::{configuration, release, submit};
use crate::life::{DONE, Life, NOT_KEPT, REGIONS, first_fit, lease, never_waits, renew};

const SECTOR: usize = 1024;

/// The first part of a life: jobs that run and wait, leases and a fault, at times that the client
/// names. If the flash has failed, the next record needs a checkpoint, and that the erase of a
/// region.
fn begin(configuration: Configuration, has_failed: bool) -> Life<SECTOR> {
    let mut life = Life::begin(MemoryFlash::new(3), 1, configuration);
    assert_eq!(life.clock(1, true), DONE);
    let block = Submesh::new(15, 15, 1, 1).into();
    let changes = [
        lease(1, 1 << 40),
        submit(2, 16, 9),
        submit(3, 16, 9),
        submit(4, 3, 3),
        Change::MarkFaulty { block },
        submit(5, 2, 2),
    ];
    for (at, change) in (10..).step_by(10).zip(changes) {
        life.call(1, change, Some(at));
    }
    if has_failed {
        let mut ticks = 1 << 40;
        while life.sectors_erased() == 0 {
            ticks += 1;
            life.call(1, renew(1, ticks), Some(100));
        }
        let flash = life.server.journal().flash_mut();
        flash.fail_after(0, 1000, Fault::Refused, 0);
        assert_eq!(life.call(1, submit(6, 1, 1), Some(110)), NOT_KEPT);
        life.server.journal().flash_mut().power_on();
    }
    life
}

/// Everything that later answers and decisions depend on, and statistics.
fn state(life: &Life<SECTOR>) -> Vec<String> {
    let controller = life.server.controller();
    let mut state = life.seen();
    let (clock, statistics) = (controller.clock(), controller.statistics());
    state.push(format!("{clock} {statistics:?}"));
    state
}

/// Later changes, whose outcomes and grants depend on what the scheduler has counted.
fn later(life: &mut Life<SECTOR>) -> Vec<String> {
    let mut seen = Vec::new();
    let changes = [
        submit(10, 2, 1),
        never_waits(11, 1, 2),
        submit(12, 4, 4),
        release(2),
        submit(13, 1, 1),
        release(1),
    ];
    for (at, change) in (130..).step_by(17).zip(changes) {
        let ServerMessage::Outcome { outcome, .. } = life.call(1, change, Some(at)) else {
            panic!("the flash works");
        };
        seen.push(format!("{outcome:?}"));
        seen.extend(state(life));
    }
    seen
}

const CONFIGURATIONS: [SchedulerKind; 5] = [
    SchedulerKind::Fcfs,
    SchedulerKind::ModifiedFcfs(Threshold::Count),
    SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 1000 }),
    SchedulerKind::Easy { reservations: 1 },
    SchedulerKind::ShortestJobFirst { threshold: 1000 },
];

/// A change that is answered with Done or the like is durable. One that is answered with NotKept
/// has changed nothing: answers, statistics and later decisions are those of a server that was not
/// asked for it. After a reset it may have been carried out.
#[test]
fn a_change_that_is_not_kept_changes_nothing() {
    let (mut refused, mut kept, mut granted) = (0, 0, 0);
    for (scheduler, strategy) in CONFIGURATIONS.into_iter().zip([
        StrategyKind::FirstFit,
        StrategyKind::FreeSubmeshList,
        StrategyKind::AdaptiveScan,
        StrategyKind::FirstFit,
        StrategyKind::BestFit,
    ]) {
        let configuration = Configuration {
            scheduler,
            ..configuration(16, 16, strategy)
        };
        let block = Submesh::new(14, 15, 1, 1).into();
        let changes = [
            never_waits(20, 2, 1),
            submit(20, 2, 1),
            release(1),
            Change::MarkFaulty { block },
            Change::Reset,
        ];
        for has_failed in [false, true] {
            let not_asked = later(&mut begin(configuration, has_failed));
            for change in changes {
                let mut life = begin(configuration, has_failed);
                let before = state(&life);
                let from = life.server.journal().flash_mut().steps();
                let answer = life.call(1, change, Some(120));
                let ServerMessage::Outcome { outcome, .. } = answer else {
                    panic!("the flash works");
                };
                if outcome.is_err() {
                    // This scheduler lets no job pass that never waits.
                    assert_eq!(change, never_waits(20, 2, 1));
                    continue;
                }
                granted += u32::from(change == never_waits(20, 2, 1));
                let after = state(&life);
                assert_ne!(before, after, "{change:?}");
                let steps = life.server.journal().flash_mut().steps() - from;
                let faults = Fault::ALL.into_iter().flat_map(|it| [(it, 1), (it, 99)]);
                for (at, (fault, number)) in faults.enumerate() {
                    // Some of the many steps of a checkpoint, others for each fault.
                    let (first, every) = if has_failed { (at, 5) } else { (0, 1) };
                    for step in (first as u64..steps).step_by(every) {
                        let context = format!(
                            "{scheduler:?}, failed {has_failed}, {change:?}: {number} {fault:?} \
                             in step {step} of {steps}"
                        );
                        let mut life = begin(configuration, has_failed);
                        let message = life.message(1, change, Some(120));
                        let flash = life.server.journal().flash_mut();
                        flash.fail_after(step, number, fault, step);
                        life.seq += 1;
                        let answer = life.send(1, life.seq, &message);
                        let is_kept = matches!(answer, ServerMessage::Outcome { .. });
                        life.server.journal().flash_mut().power_on();
                        // What a reset finds now.
                        let flash = life.server.journal().flash_mut().clone();
                        let again = Life::<SECTOR>::begin(flash, 2, configuration);
                        let origin = again.server.origin();
                        assert!(matches!(origin, Origin::Restored { .. }), "{context}");
                        let found = again.seen();
                        if is_kept {
                            kept += 1;
                            life.work();
                            assert_eq!(state(&life), after, "{context}");
                            assert_eq!(found, seen(&after), "{context}");
                            continue;
                        }
                        refused += 1;
                        assert_eq!(answer, NOT_KEPT, "{context}");
                        assert_eq!(state(&life), before, "{context}");
                        assert!(
                            found == seen(&before) || found == seen(&after),
                            "{context}: {found:#?}"
                        );
                        // No copy is carried out, and what follows is as if it had not come.
                        let too_old = ServerMessage::Error(ProtocolError::TooOld);
                        assert_eq!(life.send(1, life.seq, &message), too_old, "{context}");
                        life.work();
                        assert_eq!(state(&life), before, "{context}");
                        for (seen, expected) in later(&mut life).iter().zip(&not_asked) {
                            assert_eq!(seen, expected, "{context}");
                        }
                        let expected = life.seen();
                        let again = Life::<SECTOR>::begin(life.into_flash(), 3, configuration);
                        assert_eq!(again.seen(), expected, "{context}");
                    }
                }
            }
        }
    }
    assert!(
        refused > 1000 && kept > 100 && granted > 0,
        "{refused} refused, {kept} kept, {granted} that never wait granted"
    );
}

/// A reset for whose record there is no room is kept as a checkpoint of the state after it. If that
/// is lost later, the loss is reported: the jobs are not taken for those of the present.
#[test]
fn a_reset_that_was_carried_out_is_not_undone_by_damage() {
    let mut life = begin(first_fit(), true);
    assert_eq!(life.outcome(Change::Reset), Ok(Outcome::Done));
    let flash = life.into_flash();
    let mut damaged = 0;
    for region in 0..REGIONS {
        let mut flash = flash.clone();
        flash.bytes_mut()[region * SECTOR + 2] ^= 1;
        let life = Life::<SECTOR>::begin(flash, 2, first_fit());
        let is_reported = matches!(life.server.origin(), Origin::Damaged { .. });
        assert!(is_reported || life.jobs().is_empty(), "region {region}");
        damaged += u32::from(is_reported);
    }
    assert_eq!(damaged, 1);
}

/// The part that [`Life::seen`] gives.
fn seen(state: &[String]) -> &[String] {
    &state[..state.len() - 1]
}
