//! The interface of a board to the control processor ([`Board`]), and the main loop
//! ([`Processor`]).
//!
//! ```text
//!   interrupt of the port ──bytes──▶ Serial ──▶ Processor: Server::receive_from, work ──▶ Serial
//!   clock ──▶ milliseconds                        │ feeds the watchdog, lights the LED, sleeps
//! ```
//!
//! `docs/porting.md` says how to write a board. `src/bin/meshalloc-firmware/` has the image, which
//! is the same for all boards, and in `boards/` a module for each of them.

#[cfg(feature = "durable")]
use core::cell::RefCell;
use core::sync::atomic::{AtomicU32, Ordering};

use embedded_hal::digital::{ErrorType as PinErrorType, OutputPin, PinState};
use embedded_io::{ErrorType, Write};
#[cfg(feature = "durable")]
use embedded_storage::nor_flash::NorFlash;
#[cfg(feature = "durable")]
use meshalloc::Pauses;
use meshalloc::{Controller, Ticks};

#[cfg(feature = "durable")]
use crate::journal::{Journal, JournalError, Recovered};
#[cfg(feature = "durable")]
use crate::keeping::durable::Durable;
use crate::keeping::{Forgetful, Keep};
#[cfg(feature = "durable")]
use crate::protocol::Origin;
use crate::server::{Port, Server};
use crate::sessions::CLIENTS_MAX;

/// The longest time between two looks at the line, in milliseconds: the time of the watchdog. The
/// program looks in each round of the main loop, which takes a byte or tries one job, and whenever
/// an attempt polls. `tests/tests/qemu/longest.rs` has the searches that take the longest.
pub const WATCHDOG_MS: u32 = 8_000;

/// The regions of the journal: equal parts of the memory that a board has for it.
pub const REGIONS: usize = 3;

/// The parts of a board that the control processor uses.
pub trait Board {
    /// The serial port to the clients. [`Line`](crate::port::Line) is one, over the registers of a
    /// UART.
    type Serial: Serial;
    /// The status LED, lit while at least one job runs. [`NoLed`] stands for a missing one.
    type Led: OutputPin;
    /// The memory of the journal: three equal regions of whole sectors each.
    #[cfg(feature = "durable")]
    type Flash: NorFlash;

    /// The serial port, open at [`BAUD_DEFAULT`](crate::BAUD_DEFAULT).
    fn serial(&mut self) -> &mut Self::Serial;

    /// The status LED.
    fn led(&mut self) -> &mut Self::Led;

    /// The memory of the journal; called once. `None` if it cannot be used.
    #[cfg(feature = "durable")]
    fn flash(&mut self) -> Option<Self::Flash>;

    /// Milliseconds since the reset.
    fn now_ms(&self) -> Ticks;

    /// Keeps the watchdog from resetting the board for [`WATCHDOG_MS`].
    fn feed(&mut self);

    /// Sleeps until an interrupt is pending. Called while interrupts are masked, so that none comes
    /// between a look at the line and the sleep. An interrupt comes at least every few
    /// milliseconds.
    fn sleep(&mut self);

    /// A number that differs after each loss of power, such as one of a random number generator, or
    /// [`mixed`] noise; called once.
    fn noise(&mut self) -> u64;
}

/// A serial port that receives and sends without the program waiting for it.
pub trait Serial: Write {
    /// The oldest byte that was not taken yet.
    fn next(&mut self) -> Option<u8>;

    /// Whether another byte is left.
    fn has_next(&self) -> bool;

    /// How often received bytes were lost since the last call.
    fn take_losses(&mut self) -> u32;

    /// Whether everything that was written has left the line.
    fn has_sent_all(&mut self) -> bool;

    /// Sets the rate, in bits a second.
    fn set_baud(&mut self, baud: u32);
}

/// Stands for a missing status LED.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLed;

impl PinErrorType for NoLed {
    type Error = core::convert::Infallible;
}

impl OutputPin for NoLed {
    fn set_low(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Mixes samples into `start`, by FNV-1a (Fowler, Noll and Vo). Only some bits of the samples need
/// to be noise.
pub fn mixed(start: u64, samples: impl Iterator<Item = u64>) -> u64 {
    samples.fold(start, |sum, sample| {
        (sum ^ sample).wrapping_mul(0x100_0000_01B3)
    })
}

/// The data that a board remembers over a reset, in memory that no start-up code clears. At power
/// on this memory may have any contents.
// Tests in QEMU look at `restores`.
#[repr(C)]
#[derive(Debug)]
pub struct Kept {
    /// The number of this boot, low word first.
    boot: [AtomicU32; 2],
    /// The number of restores in a row that did not end, and its complement. Any other pair means
    /// 0.
    restores: [AtomicU32; 2],
}

/// After this number of restores in a row that ended in a reset the journal is not read: something
/// in it resets the board.
#[cfg(feature = "durable")]
const RESTORES_MAX: u32 = 3;

impl Kept {
    /// The state after a loss of power.
    pub const fn new() -> Self {
        Kept {
            boot: [const { AtomicU32::new(0) }; 2],
            restores: [const { AtomicU32::new(0) }; 2],
        }
    }

    /// The number of the next boot. Clients have not seen it before: otherwise a command that was
    /// meant for an earlier boot could be carried out in this one. The number is mixed from the
    /// number of the last boot and from noise, which differs after a loss of power.
    fn next_boot(&self, noise: u64) -> u64 {
        let [low, high] = self
            .boot
            .each_ref()
            .map(|word| word.load(Ordering::Relaxed));
        let before = u64::from(high) << 32 | u64::from(low);
        // The number is another one even if there is no noise.
        let boot = mixed(before, [noise].into_iter()).wrapping_add(1);
        self.boot[0].store(boot as u32, Ordering::Relaxed);
        self.boot[1].store((boot >> 32) as u32, Ordering::Relaxed);
        boot
    }

    /// Whether to restore the state in the journal. [`Kept::restored`] reports the end of the
    /// restore.
    #[cfg(feature = "durable")]
    fn may_restore(&self) -> bool {
        let words = self.restores.each_ref();
        let [count, complement] = words.map(|word| word.load(Ordering::Relaxed));
        let count = if complement == !count { count } else { 0 };
        self.set_restores(count.saturating_add(1));
        count < RESTORES_MAX
    }

    #[cfg(feature = "durable")]
    fn restored(&self) {
        self.set_restores(0);
    }

    #[cfg(feature = "durable")]
    fn set_restores(&self, count: u32) {
        self.restores[0].store(count, Ordering::Relaxed);
        self.restores[1].store(!count, Ordering::Relaxed);
    }
}

impl Default for Kept {
    fn default() -> Self {
        Self::new()
    }
}

/// The work of a round of the main loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// It took a byte that does not end a frame.
    Byte,
    /// It answered a frame; `is_change` if that was a command that changes something.
    Frame {
        /// Whether the frame was a command that changes something.
        is_change: bool,
    },
    /// It tried a job, ended a lease or wrote a checkpoint.
    Work,
    /// There was nothing to do.
    Sleep,
}

/// The control processor: a server on a board, with sessions for at most `CLIENTS` clients.
#[derive(Debug)]
pub struct Processor<'m, B, K = Forgetful, const CLIENTS: usize = CLIENTS_MAX> {
    server: Server<'m, K, CLIENTS>,
    board: B,
    /// Faults of the line that were logged.
    faults: u32,
}

impl<'m, B: Board> Processor<'m, B> {
    /// A control processor that forgets its state at a reset. `kept` has the only data that it
    /// remembers.
    // A function of its own: the parts from which it is made take more stack than the processor.
    #[inline(never)]
    pub fn new(mut board: B, controller: Controller<'m>, kept: &Kept) -> Self {
        let boot = kept.next_boot(board.noise());
        Processor {
            server: Server::new(controller, boot),
            board,
            faults: 0,
        }
    }
}

/// Why a board has no journal.
#[cfg(feature = "durable")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum NoJournal {
    /// [`Board::flash`] gives none.
    NoFlash,
    /// A third of the memory is not whole sectors, or is less than a region needs.
    Regions,
    /// The memory cannot be read.
    Unreadable,
}

#[cfg(feature = "durable")]
impl<'m, B: Board, const CLIENTS: usize> Processor<'m, B, Durable<B::Flash, REGIONS>, CLIENTS> {
    /// A control processor whose state is kept in [`Board::flash`]. [`Processor::restore`] has to
    /// follow. It is a separate step so that the processor is already in its final place when it
    /// restores, which matters where the stack is short.
    ///
    /// # Errors
    ///
    /// When the board has no memory that a journal can use.
    // A function of its own: the parts from which it is made take more stack than the processor.
    #[inline(never)]
    pub fn open(
        mut board: B,
        controller: Controller<'m>,
        kept: &Kept,
    ) -> Result<(Self, Recovered), NoJournal> {
        let boot = kept.next_boot(board.noise());
        let flash = board.flash().ok_or(NoJournal::NoFlash)?;
        let opened = Journal::open(flash).map_err(|error| match error {
            JournalError::Regions => NoJournal::Regions,
            _ => NoJournal::Unreadable,
        });
        let (journal, recovered) = opened?;
        let processor = Processor {
            server: Server::unrestored(controller, boot, journal),
            board,
            faults: 0,
        };
        Ok((processor, recovered))
    }

    /// Restores the state of the journal. After three resets in a row during a restore, the journal
    /// stays unread until the next reset.
    // A function of its own: the stack that this takes is free again when the server is at work.
    #[inline(never)]
    pub fn restore(&mut self, recovered: Recovered, kept: &Kept) {
        #[cfg(feature = "defmt")]
        defmt::info!("journal: {}", recovered);
        if kept.may_restore() {
            // The program does not look at the line during a restore, so the watchdog is fed here.
            let board = RefCell::new(&mut self.board);
            let feed = || {
                if let Ok(mut board) = board.try_borrow_mut() {
                    board.feed();
                }
                false
            };
            let now_ms = || board.try_borrow().map_or(0, |board| board.now_ms());
            self.server
                .restore(recovered, &Pauses::new(&feed, &|_| ()), &now_ms);
        } else {
            #[cfg(feature = "defmt")]
            defmt::error!("the journal is not read: each time the chip was reset");
            self.server.leave_unread();
        }
        kept.restored();
        if let Origin::Damaged { .. } | Origin::Unread = self.server.origin() {
            #[cfg(feature = "defmt")]
            defmt::error!("the journal: {}", self.server.origin());
        }
    }

    /// Gives the memory of the journal back.
    pub fn into_flash(self) -> B::Flash {
        self.server.into_journal().into_flash()
    }
}

impl<B: Board, K: Keep, const CLIENTS: usize> Processor<'_, B, K, CLIENTS> {
    /// The main loop.
    pub fn run(&mut self) -> ! {
        self.show_running();
        loop {
            self.round();
        }
    }

    /// A round of the main loop: takes a byte, or does a piece of work, or sleeps.
    ///
    /// A byte ends at most one frame, so each frame has the watchdog's whole time.
    pub fn round(&mut self) -> Round {
        let Processor {
            server,
            board,
            faults,
        } = self;
        server.overrun(board.serial().take_losses());
        let (frames, changes) = (server.counters().frames, server.counters().changes);
        let mut round = Round::Byte;
        // The server counts a reply that has no room.
        if matches!(
            server.receive_from(board.now_ms(), &mut Watched(board)),
            Ok(None)
        ) {
            if server.has_work() {
                round = Round::Work;
                let _ = server.work(&mut Watched(board));
            } else {
                round = Round::Sleep;
                critical_section::with(|_| {
                    if !board.serial().has_next() {
                        board.sleep();
                    }
                });
            }
        }
        #[cfg(feature = "rates")]
        if let Some(baud) = server.next_rate(board.now_ms(), || board.serial().has_sent_all()) {
            board.serial().set_baud(baud);
            #[cfg(feature = "defmt")]
            defmt::info!("line: {=u32} baud", baud);
        }
        let counters = server.counters();
        if counters.faults() != *faults {
            *faults = counters.faults();
            #[cfg(feature = "defmt")]
            defmt::warn!("line: {=u32} faults since the reset", *faults);
        }
        if counters.frames != frames {
            round = Round::Frame {
                is_change: counters.changes != changes,
            };
        }
        if let Round::Frame { .. } | Round::Work = round {
            self.show_running();
        }
        round
    }

    /// Lights the status LED while jobs run.
    fn show_running(&mut self) {
        let running = self.server.controller().jobs().running_len() > 0;
        // A failure of the light is ignored. A pin of the chip itself cannot fail, but a pin of an
        // expander could.
        let _ = self.board.led().set_state(PinState::from(running));
    }

    /// The server.
    pub const fn server(&self) -> &Server<'_, K, CLIENTS> {
        &self.server
    }

    /// The board.
    pub const fn board_mut(&mut self) -> &mut B {
        &mut self.board
    }
}

/// The serial port of a board. Each look at it feeds the watchdog.
struct Watched<'a, B>(&'a mut B);

impl<B: Board> Port for Watched<'_, B> {
    fn next(&mut self) -> Option<u8> {
        self.0.feed();
        self.0.serial().next()
    }

    fn has_next(&mut self) -> bool {
        self.0.feed();
        self.0.serial().has_next()
    }

    fn now_ms(&self) -> Ticks {
        self.0.now_ms()
    }
}

impl<B: Board> ErrorType for Watched<'_, B> {
    type Error = <B::Serial as ErrorType>::Error;
}

impl<B: Board> Write for Watched<'_, B> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        self.0.serial().write(bytes)
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        self.0.serial().flush()
    }
}
