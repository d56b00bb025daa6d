//! A state that a server cannot or must not read stays in the journal until a reset.

use meshalloc::{Change, Controller, JobId, Outcome, Pauses, Storage, Submesh};
use meshalloc_firmware::journal::Journal;
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::protocol::Origin;
use meshalloc_firmware::{ProtocolError, Server, ServerMessage};

use crate::board::{Board, release, submit};
use crate::life::{Life, first_fit, is_done, lease, renew};

const UNREAD: ServerMessage = ServerMessage::Error(ProtocolError::Unread);

/// A state that was not read is kept until a Reset, whatever clients send.
#[test]
fn a_journal_that_cannot_be_read_stays_until_a_reset() {
    type Small = Storage<16, 4, 32, 256, 256>;
    let small = |flash, boot| {
        let memory = Box::leak(Box::new(Small::new())).memory();
        Life::begin_in(memory, flash, boot, first_fit(), &Pauses::none())
    };
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, first_fit());
    for job in 0..10 {
        life.call(1, submit(job, 2, 2), None);
    }
    // No room for this number of jobs.
    let mut life = small(life.into_flash(), 2);
    assert_eq!(life.server.origin(), Origin::Unread);
    assert_eq!(life.jobs(), []);
    stays_unread(&mut life);
    // The image that wrote it reads it.
    let life = Life::begin(life.into_flash(), 3, first_fit());
    assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    assert_eq!(life.jobs(), (0..10).collect::<Vec<u32>>());
    // Commands acknowledged after a Reset are not lost, also behind an unread state.
    let mut life = small(life.into_flash(), 4);
    assert_eq!(life.outcome(Change::Reset), Ok(Outcome::Done));
    assert_eq!(life.server.origin(), Origin::New);
    life.call(1, submit(77, 2, 2), None);
    let life = small(life.into_flash(), 5);
    assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    assert_eq!(life.jobs(), [77]);
    // So does one with more room.
    let life = Life::begin(life.into_flash(), 6, first_fit());
    assert!(matches!(life.server.origin(), Origin::Restored { .. }));
    assert_eq!(life.jobs(), [77]);
}

/// Every command that may change something is refused, and not a word is written.
pub(crate) fn stays_unread<const SECTOR: usize>(life: &mut Life<SECTOR>) {
    let steps = life.server.journal().flash_mut().steps();
    let block = Submesh::new(0, 0, 1, 1).into();
    let job = JobId(1);
    for command in [
        submit(1, 2, 2),
        lease(1, 10),
        release(1),
        renew(1, 5),
        Change::EndLease { job },
        Change::MarkFaulty { block },
        Change::ClearFaulty { block },
        Change::Configure(first_fit()),
    ] {
        assert_eq!(life.call(1, command, None), UNREAD, "{command:?}");
        // A copy is not carried out either.
        let message = life.message(1, command, None);
        life.seq += 1;
        let seq = life.seq;
        assert_eq!(life.send(1, seq, &message), UNREAD);
        let too_old = ServerMessage::Error(ProtocolError::TooOld);
        assert_eq!(life.send(1, seq, &message), too_old);
    }
    life.let_time_pass(1_000);
    assert!(!life.server.has_work());
    assert_eq!(life.server.journal().flash_mut().steps(), steps);
    assert_eq!(life.server.origin(), Origin::Unread);
}

/// Wherever the power is cut while a Reset discards an unread state, that state is there or the
/// machine is empty. Then the next boot tells that, unless the Reset was recorded.
#[test]
fn a_cut_while_a_state_is_discarded_leaves_it_or_none() {
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, first_fit());
    for job in 0..10 {
        life.call(1, submit(job, 2, 2), None);
    }
    let flash = life.into_flash();
    let (mut kept, mut discarded, mut told) = (0, 0, 0);
    for step in 0.. {
        let mut life = unread(flash.clone(), 2);
        life.server
            .journal()
            .flash_mut()
            .cut_power_after(step, step);
        let answer = life.call(1, Change::Reset, None);
        let is_done = is_done(&answer);
        let mut flash = life.into_flash();
        flash.power_on();
        let life = Life::begin(flash, 3, first_fit());
        match (life.jobs().len(), life.server.origin()) {
            (10, Origin::Restored { .. }) => kept += 1,
            (0, Origin::Restored { .. }) => discarded += 1,
            (0, Origin::New) => told += 1,
            (jobs, origin) => panic!("step {step}: {jobs} jobs, {origin:?}"),
        }
        assert!(!is_done || life.jobs().is_empty(), "step {step}");
        if is_done {
            break;
        }
    }
    assert!(
        kept > 5 && discarded > 0 && told > 0,
        "{kept} kept, {discarded} discarded, {told} reported"
    );
}

/// A server that does not read its journal.
fn unread(flash: MemoryFlash<4096>, boot: u64) -> Life<4096> {
    let board = Box::leak(Box::new(Board::new()));
    let controller = Controller::new(board.memory(), first_fit()).expect("it fits");
    let (journal, _) = Journal::open(flash).expect("it has power");
    let mut server = <Server<'_, _>>::unrestored(controller, boot, journal);
    server.leave_unread();
    assert_eq!(server.origin(), Origin::Unread);
    assert!(!server.has_work());
    Life::of(server, boot)
}

#[test]
fn a_journal_that_is_not_to_be_read_stays_until_a_reset() {
    let mut life = Life::begin(MemoryFlash::<4096>::new(3), 1, first_fit());
    life.call(1, submit(1, 2, 2), None);
    let mut life = unread(life.into_flash(), 2);
    assert_eq!(life.jobs(), []);
    stays_unread(&mut life);
    let life = Life::begin(life.into_flash(), 3, first_fit());
    assert_eq!(life.jobs(), [1]);
    let mut life = unread(life.into_flash(), 4);
    assert_eq!(life.outcome(Change::Reset), Ok(Outcome::Done));
    life.call(1, submit(2, 2, 2), None);
    let life = Life::begin(life.into_flash(), 5, first_fit());
    assert_eq!(life.jobs(), [2]);
}
