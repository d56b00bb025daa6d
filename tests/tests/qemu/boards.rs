//! The boards beside the NUCLEO-F446RE: each answers the same client and passes the same tests.
//! Their images keep a journal, so that one image of each is enough.

use std::path::Path;

use meshalloc::{Change, JobId, Outcome, StrategyKind};
use meshalloc_firmware::ClientError;
use meshalloc_firmware::boards::BOARDS;
use meshalloc_firmware::client::smoke::{EMULATED_CLOCK_OFF, smoke};
use meshalloc_firmware::protocol::Origin;
use meshalloc_tests::qemu::{Qemu, call_at};
use tempfile::tempdir;

use super::{call, configuration, decisions, journal, submit};

const MPS2: &str = "mps2-an386";
const VIRT: &str = "riscv-virt";

/// Resets and kills of QEMU; the first board has more.
const RESETS: u32 = 8;

#[test]
fn qemu_has_every_emulated_board_here() {
    let emulated = BOARDS.iter().filter(|board| board.emulator.is_some());
    let names: Vec<_> = emulated.map(|board| board.name).collect();
    assert_eq!(names[1..], [MPS2, VIRT]);
}

#[test]
fn qemu_mps2_serves_a_session() {
    serves_a_session(MPS2, "thumbv7em-none-eabihf firmware");
}

#[test]
fn qemu_riscv_serves_a_session() {
    serves_a_session(VIRT, "riscv32imac-unknown-none-elf firmware");
}

#[test]
fn qemu_mps2_keeps_every_acknowledged_job_over_resets_and_kills() {
    let start = |folder: &Path| Qemu::start_board_with_journal(MPS2, folder);
    journal::keeps_every_acknowledged_job(&start, RESETS);
}

#[test]
fn qemu_riscv_keeps_every_acknowledged_job_over_resets_and_kills() {
    let start = |folder: &Path| Qemu::start_board_with_journal(VIRT, folder);
    journal::keeps_every_acknowledged_job(&start, RESETS);
}

#[test]
fn qemu_mps2_decides_as_in_process() {
    decides_as_in_process(MPS2);
}

#[test]
fn qemu_riscv_decides_as_in_process() {
    decides_as_in_process(VIRT);
}

/// One board after the other, each with a new journal.
fn serves_a_session(board: &str, build: &str) {
    let checks: [&dyn Fn(&Qemu); 5] = [
        &|qemu| super::greets_and_allocates(qemu, build),
        &super::survives_garbage_and_broken_frames,
        &super::does_not_carry_out_a_repeated_frame,
        &super::ends_a_lease_by_its_clock,
        &passes_the_smoke_test,
    ];
    for check in checks {
        let folder = tempdir().expect("there is a folder for temporary files");
        let qemu = Qemu::start_board_with_journal(board, folder.path());
        check(&qemu);
    }
    tells_of_a_reset(board);
}

fn passes_the_smoke_test(qemu: &Qemu) {
    let mut client = qemu.client().unwrap();
    let mut steps = Vec::new();
    let mut report = |step: &str| steps.push(step.to_owned());
    smoke(&mut client, EMULATED_CLOCK_OFF, &mut report).unwrap();
    println!("{}", steps.join("\n"));
    assert_eq!(steps.len(), 6);
}

/// The client learns of a reset, and finds the jobs that it had.
fn tells_of_a_reset(board: &str) {
    let folder = tempdir().expect("there is a folder for temporary files");
    let mut qemu = Qemu::start_board_with_journal(board, folder.path());
    let mut client = qemu.client().unwrap();
    let boot = client.greeting().session.boot;
    let other = configuration(16, 22, StrategyKind::Naive);
    let configured = call(&mut client, Change::Configure(other));
    assert_eq!(configured.outcome, Ok(Outcome::Done));
    assert_eq!(call(&mut client, submit(1, 3, 3)).grants.len(), 1);
    qemu.reset_chip().unwrap();
    let error = call_at(&mut client, &submit(2, 3, 3), None).unwrap_err();
    let is_restored = |origin| matches!(origin, Origin::Restored { .. });
    assert!(
        matches!(error, ClientError::ControllerReset { origin } if is_restored(origin)),
        "instead: {error}"
    );
    let greeting = client.hello().unwrap();
    assert_eq!(greeting.configuration, other);
    assert_ne!(greeting.session.boot, boot);
    let job = JobId(1);
    let released = call(&mut client, Change::Release { job });
    assert_eq!(released.outcome, Ok(Outcome::Released { processors: 9 }));
}

fn decides_as_in_process(board: &str) {
    let folder = tempdir().expect("there is a folder for temporary files");
    let qemu = Qemu::start_board_with_journal(board, folder.path());
    // Their jobs hold few blocks, so that the state of any number of them fits into the journal.
    let strategies = [
        StrategyKind::FirstFit,
        StrategyKind::FreeSubmeshList,
        StrategyKind::AdaptiveScan,
        StrategyKind::TreeCollapsing,
    ];
    decisions::decides_as_in_process(&qemu, &strategies);
    #[cfg(feature = "host-sim")]
    super::log::decides_a_log_as_in_process(&qemu);
}
