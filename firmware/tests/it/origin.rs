//! What a client that greets for the first time after several boots learns of the journal.

use meshalloc::Change;
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::protocol::Origin;

use crate::board::{release, submit};
use crate::life::{Life, REGIONS, first_fit, is_done, lease};

type Flash = MemoryFlash<1024>;

/// Boots that no client greets: the power is cut in each step of what the first one writes.
fn unseen_boots(flash: &Flash) -> Vec<Flash> {
    let mut after = Vec::new();
    for step in 0.. {
        let mut flash = flash.clone();
        flash.cut_power_after(step, step);
        let mut flash = Life::begin(flash, 2, first_fit()).into_flash();
        let is_cut = flash.is_cut();
        flash.power_on();
        after.push(flash);
        if !is_cut {
            return after;
        }
    }
    unreachable!("a boot writes no more than fits into the flash")
}

/// A loss is reported by every boot until a session that was told has changed something. What
/// has no effect, and what the server does by itself, is no sign that a client knows.
#[test]
fn damage_is_reported_until_a_session_that_was_told_changes_something() {
    let mut life = Life::begin(Flash::new(REGIONS), 1, first_fit());
    for job in 1..4 {
        life.call(1, submit(job, 2, 2), None);
    }
    life.call(1, lease(4, 1000), None);
    let whole = life.seen();
    let whole_flash = life.into_flash();
    let is_damaged = |life: &Life<1024>| matches!(life.server.origin(), Origin::Damaged { .. });
    let mut reported = 0;
    for at in (0..whole_flash.bytes().len()).step_by(3) {
        let mut flash = whole_flash.clone();
        flash.bytes_mut()[at] ^= 0x10;
        if !is_damaged(&Life::begin(flash.clone(), 2, first_fit())) {
            continue;
        }
        for flash in unseen_boots(&flash) {
            let mut life = Life::begin(flash, 3, first_fit());
            assert!(is_damaged(&life), "byte {at}: {:?}", life.server.origin());
            assert_ne!(life.seen(), whole, "byte {at}");
            reported += 1;
            assert!(life.outcome(release(9)).is_err());
            life.let_time_pass(5000);
            assert!(!life.jobs().contains(&4), "its lease has ended");
            let mut life = Life::begin(life.into_flash(), 4, first_fit());
            assert!(is_damaged(&life), "byte {at}: {:?}", life.server.origin());
            assert!(is_done(&life.call(1, submit(9, 1, 1), None)));
            let life = Life::begin(life.into_flash(), 5, first_fit());
            assert!(matches!(life.server.origin(), Origin::Restored { .. }));
            assert!(life.jobs().contains(&9));
        }
    }
    assert!(reported > 500, "{reported}");
}

/// The same for a journal in which there was nothing: a client whose jobs were in another one does
/// not take its state for that one.
#[test]
fn a_new_journal_is_reported_until_a_session_that_was_told_changes_something() {
    for flash in unseen_boots(&Flash::new(REGIONS)) {
        let mut life = Life::begin(flash, 3, first_fit());
        assert_eq!(life.server.origin(), Origin::New);
        life.session(1);
        let mut life = Life::begin(life.into_flash(), 4, first_fit());
        assert_eq!(life.server.origin(), Origin::New);
        assert!(is_done(&life.call(1, Change::Reset, None)));
        let life = Life::begin(life.into_flash(), 5, first_fit());
        assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    }
}
