//! [`Controller::handle`] against the same steps one by one.

use meshalloc::{Change, Configuration, Controller, Grid, SchedulerKind, StrategyKind};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, ask_at, cube, ended_since, grants_since, mesh};
use meshalloc_tests::saved::{Changes, save};

fn check(machine: Grid, strategy: StrategyKind, scheduler: SchedulerKind, seed: u64) {
    let configuration = Configuration {
        machine,
        strategy,
        scheduler,
    };
    let (mut one, mut other) = (HeapMemory::new(machine, 24), HeapMemory::new(machine, 24));
    let mut by_steps = Controller::new(one.memory(), configuration).expect("it is served");
    let mut at_once = Controller::new(other.memory(), configuration).expect("it is served");
    let mut changes = Changes::varied(seed);
    let mut random = Random::new(seed);
    for _ in 0..400 {
        let (change, now) = changes.next(&by_steps);
        let context = format!("{configuration:?}, seed {seed}: {change:?} at {now}");
        // Now and then time passes first without a change.
        if random.percent(50) {
            while let Some((ends, job)) = at_once.lease_ended(now) {
                let end = Change::EndLease { job };
                let ended = ask_at(&mut by_steps, &end, ends).outcome;
                assert_eq!(at_once.handle(&end, ends), ended, "{context}");
                assert!(ended.is_ok(), "{context}");
            }
        }
        let known = at_once.events();
        let expected = ask_at(&mut by_steps, &change, now);
        assert_eq!(at_once.handle(&change, now), expected.outcome, "{context}");
        assert_eq!(save(&at_once), save(&by_steps), "{context}");
        assert_eq!(ended_since(&at_once, known), expected.ended, "{context}");
        let mut grants = expected.grants;
        grants.retain(|grant| {
            expected
                .ended
                .iter()
                .all(|it| it.job != grant.job || it.by.is_some())
        });
        assert_eq!(grants_since(&at_once, known), grants, "{context}");
    }
}

#[test]
fn a_change_at_once_leads_to_the_same_as_in_steps() {
    let bypass = SchedulerKind::BypassQueue { threshold: 100 };
    check(mesh(8, 8).into(), StrategyKind::FirstFit, bypass, 1);
    check(
        mesh(7, 9).into(),
        StrategyKind::Naive,
        SchedulerKind::Conservative,
        2,
    );
    check(
        cube(4, 3).into(),
        StrategyKind::TreeCollapsing,
        SchedulerKind::Fcfs,
        3,
    );
}
