//! The server in its boots, and the lines between it and its clients, on which frames are lost,
//! changed, cut, repeated and delayed.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use meshalloc::{Configuration, Controller, Pauses, StrategyKind};
use meshalloc_firmware::journal::Journal;
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::keeping::durable::Durable;
use meshalloc_firmware::protocol::Origin;
use meshalloc_firmware::{Line, Received, Server};

use crate::board::{Board, configuration};
use crate::line::Random;
use crate::session::SCHEDULERS;

const SECTOR: usize = 4096;
pub(super) const REGIONS: usize = 3;
pub(super) type Flash = MemoryFlash<SECTOR>;
type Kept = Durable<Flash, REGIONS>;

/// A server in a new boot. Its memory is never freed: a few kilobytes for each reset.
pub(super) fn boot(
    flash: Flash,
    number: u64,
    configuration: Configuration,
) -> Server<'static, Kept> {
    let board = Box::leak(Box::new(Board::new()));
    let controller = Controller::new(board.memory(), configuration).expect("it fits");
    let (journal, recovered) = Journal::open(flash).expect("the flash has power");
    // The first pause of an attempt answers it.
    Server::restored(controller, number, journal, recovered, &Pauses::none()).pausing_after(0)
}

/// A strategy whose jobs hold a block, or many, whose search pauses or not, and schedulers under
/// which many jobs try after a departure.
pub(super) fn some_configuration(random: &mut Random) -> Configuration {
    const STRATEGIES: [StrategyKind; 6] = [
        StrategyKind::FirstFit,
        StrategyKind::FreeSubmeshList,
        StrategyKind::Random { seed: 7 },
        StrategyKind::Naive,
        StrategyKind::AllShapes,
        StrategyKind::MultipleBuddy,
    ];
    Configuration {
        scheduler: SCHEDULERS[random.below(SCHEDULERS.len())],
        ..configuration(16, 16, STRATEGIES[random.below(STRATEGIES.len())])
    }
}

/// Counts of faults and pauses, which show that they occurred.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventKind {
    pub(super) operations: u64,
    pub(super) grants: u64,
    pub(super) events: u64,
    pub(super) lost: u64,
    pub(super) changed: u64,
    pub(super) repeated: u64,
    pub(super) late: u64,
    pub(super) resets: u64,
    pub(super) power_cuts: u64,
    pub(super) no_reply: u64,
    pub(super) told_of_resets: u64,
    pub(super) sessions_lost: u64,
    pub(super) restarts: u64,
    pub(super) busy: u64,
    pub(super) refused: u64,
    pub(super) under_way: u64,
    pub(super) in_doubt: u64,
    pub(super) there: u64,
    sectors_erased: u64,
    pub(super) leases_ended: u64,
    pub(super) told_of_ends: u64,
    pub(super) renewed: u64,
}

/// The server and the lines to it.
pub(super) struct World {
    pub(super) server: Option<Server<'static, Kept>>,
    pub(super) boot: u64,
    pub(super) configuration: Configuration,
    pub(super) now: u64,
    pub(super) random: Random,
    /// Frames on their way: when each arrives.
    pub(super) there: Vec<(u64, Vec<u8>)>,
    pub(super) back: Vec<(u64, Vec<u8>)>,
    /// Bytes for each client.
    pub(super) inboxes: Vec<VecDeque<u8>>,
    /// One frame in this number has a fault.
    pub(super) rate: usize,
    pub(super) happened: EventKind,
}

impl World {
    pub(super) fn server(&mut self) -> &mut Server<'static, Kept> {
        self.server.as_mut().expect("it is there between resets")
    }

    /// Puts a frame on a line, with faults.
    fn post(&mut self, frame: &[u8], is_there: bool) {
        let rate = self.rate;
        let mut copies = 1;
        let mut bytes = frame.to_vec();
        match self.random.below(rate) {
            0 => {
                copies = 0;
                self.happened.lost += 1;
            }
            1 => {
                copies = 2 + self.random.below(2);
                self.happened.repeated += 1;
            }
            2 => {
                let at = self.random.below(bytes.len());
                bytes[at] ^= 1 << self.random.below(8);
                self.happened.changed += 1;
            }
            3 => {
                let at = self.random.below(bytes.len());
                bytes.truncate(at);
                self.happened.changed += 1;
            }
            _ => {}
        }
        for _ in 0..copies {
            let mut delay = 0;
            if self.random.once_in(rate) {
                // Some come after a reset or two.
                let longest = if self.random.once_in(4) { 2000 } else { 20 };
                delay = 1 + self.random.below(longest);
                self.happened.late += 1;
            }
            let due = self.now + delay as u64;
            if is_there {
                self.there.push((due, bytes.clone()));
            } else {
                self.back.push((due, bytes.clone()));
            }
        }
    }

    /// Time passes: frames arrive, in any order among those that are due, and the server works in
    /// between.
    fn step(&mut self) {
        self.now += 1;
        for _ in 0..self.random.below(3) {
            self.attend(true);
        }
        while self.due(true).is_some() {
            let works = self.random.once_in(2);
            self.attend(works);
        }
        while let Some(at) = self.due(false) {
            let (_, frame) = self.back.swap_remove(at);
            for inbox in &mut self.inboxes {
                inbox.extend(&frame);
            }
        }
    }

    /// Some of the frames that are due arrive at once, so that the server sees all but the first in
    /// pauses if it makes some, and before that it works.
    fn attend(&mut self, works: bool) {
        let mut bytes = Vec::new();
        for _ in 0..self.random.below(4) {
            if let Some(at) = self.due(true) {
                bytes.extend(self.there.swap_remove(at).1);
            }
        }
        let is_busy = self.server().controller().is_scheduling();
        self.happened.busy += u64::from(is_busy && !bytes.is_empty());
        let now = self.now;
        let mut answer = Vec::new();
        let mut port = Received {
            bytes: &bytes,
            line: &mut answer,
        };
        let server = self.server();
        if works {
            server.work(&mut port).expect("a vector takes everything");
        }
        while let Ok(Some(())) = server.receive_from(now, &mut port) {}
        // A frame that was being sent when the power was cut does not arrive.
        if self.reset_if_cut() {
            return;
        }
        for frame in answer.split_inclusive(|&byte| byte == 0) {
            // A delimiter comes before each frame too.
            if frame.len() > 1 {
                self.post(&[&[0], frame].concat(), false);
            }
        }
    }

    fn due(&mut self, is_there: bool) -> Option<usize> {
        let now = self.now;
        let frames = if is_there { &self.there } else { &self.back };
        let due: Vec<usize> = (0..frames.len())
            .filter(|&at| frames[at].0 <= now)
            .collect();
        (!due.is_empty()).then(|| due[self.random.below(due.len())])
    }

    /// Replaces a server whose power was cut by the one after the reset.
    fn reset_if_cut(&mut self) -> bool {
        let is_cut = self.server().journal().flash_mut().is_cut();
        if is_cut {
            self.happened.power_cuts += 1;
            self.reset();
        }
        is_cut
    }

    pub(super) fn reset(&mut self) {
        self.happened.resets += 1;
        let mut server = self.server.take().expect("it was there");
        self.happened.sectors_erased += u64::from(server.journal().sectors_erased());
        let mut flash = server.into_journal().into_flash();
        // The power may be cut again while the server starts.
        loop {
            flash.power_on();
            self.boot += 1;
            if self.random.once_in(4) {
                let steps = self.random.below(200) as u64;
                flash.cut_power_after(steps, self.random.next());
            }
            let mut server = boot(flash, self.boot, self.configuration);
            if server.journal().flash_mut().is_cut() {
                flash = server.into_journal().into_flash();
                continue;
            }
            assert!(
                !matches!(server.origin(), Origin::Damaged { .. } | Origin::Forgetful),
                "{:?}",
                server.origin()
            );
            self.server = Some(server);
            return;
        }
    }
}

/// A client's end.
#[derive(Clone)]
pub(super) struct End {
    pub(super) world: Rc<RefCell<World>>,
    pub(super) client: usize,
}

impl Line for End {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.world.borrow_mut().post(bytes, true);
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        for _ in 0..8 {
            if !world.inboxes[self.client].is_empty() {
                break;
            }
            world.step();
        }
        io::Read::read(&mut world.inboxes[self.client], buffer)
    }
}
