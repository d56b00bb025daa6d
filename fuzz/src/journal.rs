//! A server restores a journal with any content.

use meshalloc::jobs::JobSlot;
use meshalloc::{Controller, EventKind, NodeId, Pauses};
use meshalloc_firmware::Server;
use meshalloc_firmware::journal::Journal;
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::protocol::Origin;

use crate::board::{self, Board};
use crate::bytes::Bytes;
use crate::requests::Clients;

const SECTOR: usize = 2048;
const REGIONS: usize = 3;
type Flash = MemoryFlash<SECTOR>;

/// A server restored from any bytes, or from a journal of any chunks and records, keeps its
/// invariants and serves.
///
/// # Panics
///
/// If it is not.
pub fn journal_bytes(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let is_raw = bytes.byte() & 1 == 0;
    let configuration = board::configuration(&mut bytes);
    let flash = if is_raw {
        let mut image = bytes.0.to_vec();
        image.resize(REGIONS * SECTOR, 0xff);
        Flash::with_bytes(image)
    } else {
        written(&mut bytes)
    };
    let mut board = Board::new();
    if let Ok(controller) = Controller::new(board.memory(), configuration) {
        restored(flash, controller, &mut Bytes(&[8, 12, 0, 1, 1, 1, 0, 6]));
    }
}

/// A journal with a checkpoint and records of any content.
fn written(bytes: &mut Bytes<'_>) -> Flash {
    let flash = Flash::new(REGIONS);
    let (mut journal, _) = Journal::<_, REGIONS>::open(flash).expect("it has power");
    journal.begin_checkpoint().expect("it has power");
    let (chunks, records) = (bytes.below(8), bytes.below(16));
    for _ in 0..chunks {
        if journal.chunk(bytes.chunk()).is_err() {
            journal.begin_checkpoint().expect("it has power");
        }
    }
    journal.commit_checkpoint().expect("there is room");
    for _ in 0..records {
        if journal.append(bytes.chunk()).is_err() {
            break;
        }
    }
    journal.into_flash()
}

/// A server whose journal was damaged keeps its invariants when it is restored. If nothing was
/// damaged, it has the state from before, except for statistics and for the time that passed since
/// the last change with an effect.
///
/// # Panics
///
/// If it is not.
pub fn journal_damage(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let configuration = board::configuration(&mut bytes);
    let damages = bytes.below(4);
    let damage: [(usize, u8); 4] = std::array::from_fn(|_| (bytes.short(), bytes.byte()));
    let mut board = Board::new();
    let Ok(controller) = Controller::new(board.memory(), configuration) else {
        return;
    };
    let (mut flash, state) = restored(Flash::new(REGIONS), controller, &mut bytes);
    for (at, change) in &damage[..damages] {
        flash.bytes_mut()[at % (REGIONS * SECTOR)] ^= change;
    }
    let mut board = Board::new();
    let controller = Controller::new(board.memory(), configuration).expect("as before");
    let (journal, recovered) = Journal::<_, REGIONS>::open(flash).expect("it has power");
    let server = <Server<'_, _>>::restored(controller, 5, journal, recovered, &Pauses::none());
    server.controller().check_invariants();
    if damages == 0 {
        let origin = server.origin();
        assert!(matches!(origin, Origin::Restored { .. } | Origin::New));
        assert_eq!(seen(server.controller()), state);
    }
}

/// Restores a server from this flash, lets it serve, and returns the flash and the state.
fn restored(
    flash: Flash,
    controller: Controller<'_>,
    bytes: &mut Bytes<'_>,
) -> (Flash, Vec<String>) {
    let (journal, recovered) = Journal::<_, REGIONS>::open(flash).expect("it has power");
    let mut server = <Server<'_, _>>::restored(controller, 4, journal, recovered, &Pauses::none());
    server.controller().check_invariants();
    let mut clients = Clients::new();
    while clients.step(&mut server, bytes) {
        server.controller().check_invariants();
    }
    while server.controller().is_scheduling() {
        board::work(&mut server);
    }
    server.controller().check_invariants();
    board::check_apart(server.controller());
    let state = seen(server.controller());
    (server.into_journal().into_flash(), state)
}

/// The configuration, the jobs with their blocks, and the faults. A refused job that never waits
/// may have had reservations made anew, which the next change would do as well.
fn seen(controller: &Controller<'_>) -> Vec<String> {
    let (jobs, queue) = (controller.jobs(), controller.jobs().queue());
    let waiting = queue.slots().map(|slot| queue.get(slot));
    let of_job = |job: &JobSlot| {
        let blocks: Vec<_> = controller.blocks(job).collect();
        let lease = jobs.find(job.id()).and_then(|slot| jobs.lease(slot));
        let times = (job.submitted(), job.attempts(), job.misses(), lease);
        format!("{} {:?} {times:?} {blocks:?}", job.id(), job.request())
    };
    let mut seen: Vec<String> = jobs.running().chain(waiting).map(of_job).collect();
    let grants: Vec<_> = controller
        .view()
        .events_since(0)
        .filter(|event| matches!(event.what, EventKind::Granted { .. }))
        .collect();
    let faults = (0..controller.machine().nodes()).map(NodeId);
    let faults: Vec<_> = faults
        .filter(|&node| controller.occupancy().is_faulty(node))
        .collect();
    let events = controller.events();
    let configuration = controller.configuration();
    seen.push(format!("{grants:?} {faults:?} {events} {configuration:?}"));
    seen
}
