//! The main loop of the control processor on a board in memory.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use embedded_hal::digital::{ErrorType as PinErrorType, OutputPin};
use embedded_io::{ErrorType, Write};
use meshalloc::{Change, Error, Outcome, Query, StrategyKind};
use meshalloc_firmware::board::{Kept, NoJournal, REGIONS, Round, Serial, mixed};
use meshalloc_firmware::client::smoke::{CLOCK_OFF, EMULATED_CLOCK_OFF, smoke};
use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::keeping::Keep;
use meshalloc_firmware::keeping::durable::Durable;
use meshalloc_firmware::protocol::Origin;
use meshalloc_firmware::{BAUD_DEFAULT, Board, Client, ClientError, Line, Options, Processor};

use crate::board::{self, at_reset, configuration, release, submit};
use crate::session::Command;

const SECTOR: usize = 4096;
/// As the flash of an STM32H7 is written.
type Flash = MemoryFlash<SECTOR, 32>;

/// A board in memory.
#[derive(Default)]
struct Fake {
    serial: FakeSerial,
    led: FakeLed,
    flash: Option<Flash>,
    noise: u64,
    /// Its clock: milliseconds for one of this host, since then. Without it each sleep takes a
    /// millisecond.
    clock: Option<(u64, Instant)>,
    sleeps: u32,
    /// How often the watchdog was fed, and after how often the board is reset by a fault.
    fed: u32,
    fails_at: Option<u32>,
}

#[derive(Default)]
struct FakeSerial {
    received: VecDeque<u8>,
    sent: Vec<u8>,
    losses: u32,
    baud: Option<u32>,
    /// The byte that is taken next comes only after the look at the line.
    comes_late: bool,
    /// One in this number of bytes is lost.
    loses: Option<u32>,
    taken: u32,
}

#[derive(Default)]
struct FakeLed(bool);

impl PinErrorType for FakeLed {
    type Error = Infallible;
}

impl OutputPin for FakeLed {
    fn set_low(&mut self) -> Result<(), Infallible> {
        self.0 = false;
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        self.0 = true;
        Ok(())
    }
}

impl ErrorType for FakeSerial {
    type Error = Infallible;
}

impl Write for FakeSerial {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        self.sent.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Serial for FakeSerial {
    fn next(&mut self) -> Option<u8> {
        if std::mem::take(&mut self.comes_late) {
            return None;
        }
        let byte = self.received.pop_front()?;
        self.taken += 1;
        if self
            .loses
            .is_some_and(|each| self.taken.is_multiple_of(each))
        {
            self.losses += 1;
            return self.received.pop_front();
        }
        Some(byte)
    }

    fn has_next(&self) -> bool {
        !self.received.is_empty()
    }

    fn take_losses(&mut self) -> u32 {
        std::mem::take(&mut self.losses)
    }

    fn has_sent_all(&mut self) -> bool {
        self.sent.is_empty()
    }

    fn set_baud(&mut self, baud: u32) {
        self.baud = Some(baud);
    }
}

impl Board for Fake {
    type Serial = FakeSerial;
    type Led = FakeLed;
    type Flash = Flash;

    fn serial(&mut self) -> &mut FakeSerial {
        &mut self.serial
    }

    fn led(&mut self) -> &mut FakeLed {
        &mut self.led
    }

    fn flash(&mut self) -> Option<Flash> {
        self.flash.take()
    }

    fn now_ms(&self) -> u64 {
        match self.clock {
            Some((speed, since)) => speed * since.elapsed().as_millis() as u64,
            None => self.sleeps.into(),
        }
    }

    fn feed(&mut self) {
        self.fed += 1;
        assert!(
            self.fails_at.is_none_or(|at| self.fed < at),
            "the board is reset"
        );
    }

    fn sleep(&mut self) {
        self.sleeps += 1;
    }

    fn noise(&mut self) -> u64 {
        self.noise
    }
}

/// The client's end of the line of a processor, which runs while the client waits.
struct Wire<'p, 'm, K>(&'p mut Processor<'m, Fake, K>, Vec<Round>);

impl<K: Keep> Line for Wire<'_, '_, K> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.board_mut().serial.received.extend(bytes);
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        // A sleep takes a millisecond of the board's time, and of the host's.
        for _ in 0..timeout.as_millis().max(1) {
            while let round = self.0.round()
                && round != Round::Sleep
            {
                self.1.push(round);
            }
            let sent = &mut self.0.board_mut().serial.sent;
            if !sent.is_empty() {
                let len = sent.len().min(buffer.len());
                for (to, from) in buffer.iter_mut().zip(sent.drain(..len)) {
                    *to = from;
                }
                return Ok(len);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(0)
    }
}

fn connect<'p, 'm, K: Keep>(processor: &'p mut Processor<'m, Fake, K>) -> Client<Wire<'p, 'm, K>> {
    Client::connect(Wire(processor, Vec::new()), Options::default()).expect("it answers")
}

/// The number of events that the change brought, and its outcome.
fn call<L: Line>(client: &mut Client<L>, change: Change) -> (usize, Result<Outcome, Error>) {
    let mut events = 0;
    let called = client.call(&change, None, &mut |_, _| events += 1);
    let outcome = called.unwrap_or_else(|error| panic!("{change:?}: {error}"));
    (events, outcome)
}

const GRANTED: (usize, Result<Outcome, Error>) = (1, Ok(Outcome::Done));
const RELEASED: (usize, Result<Outcome, Error>) = (0, Ok(Outcome::Released { processors: 16 }));

type WithJournal<'m> = Processor<'m, Fake, Durable<Flash, REGIONS>>;

/// A boot with a journal.
fn boot<'m>(memory: &'m mut board::Board, board: Fake, kept: &Kept) -> WithJournal<'m> {
    let opened = Processor::open(board, at_reset(memory), kept);
    let (mut processor, recovered) = opened.expect("the flash is whole sectors");
    processor.restore(recovered, kept);
    processor
}

fn with_flash(flash: Flash) -> Fake {
    Fake {
        flash: Some(flash),
        ..Fake::default()
    }
}

#[test]
fn a_board_serves_clients_and_shows_running_jobs() {
    let mut memory = board::Board::new();
    let kept = Kept::new();
    let mut processor = Processor::new(Fake::default(), at_reset(&mut memory), &kept);
    let mut client = connect(&mut processor);
    let first_fit = configuration(16, 16, StrategyKind::FirstFit);
    assert_eq!(client.greeting().configuration, first_fit);
    assert_eq!(client.greeting().origin, Origin::Forgetful);
    assert_eq!(call(&mut client, submit(1, 4, 4)), GRANTED);
    assert!(client.line_mut().0.board_mut().led.0, "a job runs");
    assert_eq!(call(&mut client, release(1)), RELEASED);
    let board = client.line_mut().0.board_mut();
    assert!(!board.led.0, "no job runs");
    // Every look at the line feeds the watchdog, once a round at least.
    assert!(board.fed > board.sleeps && board.sleeps > 0);
}

#[test]
fn rounds_say_what_they_did() {
    let mut memory = board::Board::new();
    let mut processor = Processor::new(Fake::default(), at_reset(&mut memory), &Kept::new());
    let mut client = connect(&mut processor);
    let mut rounds_of = |command: Command| {
        client.line_mut().1.clear();
        match command {
            Command::Change(change) => drop(call(&mut client, change)),
            Command::Query(query) => drop(client.query(&query).expect("the line works")),
        }
        let mut rounds = std::mem::take(&mut client.line_mut().1);
        rounds.retain(|&round| round != Round::Byte);
        rounds
    };
    let change = Round::Frame { is_change: true };
    assert_eq!(rounds_of(Command::Change(submit(1, 16, 16))), [change]);
    for job in 2..6 {
        assert_eq!(rounds_of(Command::Change(submit(job, 1, 1))), [change]);
    }
    assert_eq!(
        rounds_of(Command::Query(Query::Statistics)),
        [Round::Frame { is_change: false }]
    );
    // The first of the waiting jobs is tried before the reply, the others after it.
    let rounds = rounds_of(Command::Change(release(1)));
    assert_eq!(rounds[..4], [change, Round::Work, Round::Work, Round::Work]);
    processor.board_mut().serial.received.push_back(1);
    assert_eq!(processor.round(), Round::Byte);
    assert_eq!(processor.round(), Round::Sleep);
}

#[test]
fn a_board_does_not_sleep_over_a_byte_that_has_just_come() {
    let mut memory = board::Board::new();
    let mut processor = Processor::new(Fake::default(), at_reset(&mut memory), &Kept::new());
    let serial = &mut processor.board_mut().serial;
    serial.received.push_back(0);
    serial.comes_late = true;
    assert_eq!(processor.round(), Round::Sleep);
    assert_eq!(processor.board_mut().sleeps, 0);
    assert_eq!(processor.round(), Round::Byte);
    assert_eq!(processor.round(), Round::Sleep);
    assert_eq!(processor.board_mut().sleeps, 1);
}

#[test]
fn lost_bytes_are_counted_and_the_rate_is_set_once_the_reply_has_left() {
    let mut memory = board::Board::new();
    let mut processor = Processor::new(Fake::default(), at_reset(&mut memory), &Kept::new());
    processor.board_mut().serial.losses = 3;
    let options = Options {
        baud: 1_000_000,
        ..Options::default()
    };
    {
        let mut client =
            Client::connect(Wire(&mut processor, Vec::new()), options).expect("it answers");
        assert_eq!(client.line_counters().expect("it answers").overruns, 3);
        assert_eq!(client.baud(), 1_000_000);
        assert_eq!(client.line_mut().0.board_mut().serial.baud, Some(1_000_000));
    }
    // Bytes without a frame: both ends go back.
    for _ in 0..6_000 {
        processor.board_mut().serial.received.push_back(0x55);
        while processor.round() != Round::Sleep {}
    }
    assert_eq!(processor.board_mut().serial.baud, Some(BAUD_DEFAULT));
}

#[test]
fn no_two_boots_have_the_same_number() {
    let mut numbers = Vec::new();
    let kept = Kept::new();
    for noise in [0, 0, 1, 0, 1, 1, 7] {
        let mut memory = board::Board::new();
        let board = Fake {
            noise,
            ..Fake::default()
        };
        let mut processor = Processor::new(board, at_reset(&mut memory), &kept);
        numbers.push(connect(&mut processor).greeting().session.boot);
    }
    // After a loss of power the noise differs.
    for noise in [2, 3] {
        let mut memory = board::Board::new();
        let board = Fake {
            noise,
            ..Fake::default()
        };
        let mut processor = Processor::new(board, at_reset(&mut memory), &Kept::new());
        numbers.push(connect(&mut processor).greeting().session.boot);
    }
    numbers.sort_unstable();
    let boots = numbers.len();
    numbers.dedup();
    assert_eq!(numbers.len(), boots);
    // The published value of FNV-1a, of the bytes "foobar".
    let bytes = b"foobar".iter().map(|&byte| u64::from(byte));
    assert_eq!(mixed(0xcbf2_9ce4_8422_2325, bytes), 0x8594_4171_f739_67e8);
}

#[test]
fn a_journal_brings_the_jobs_back_after_a_reset() {
    let kept = Kept::new();
    let mut memory = board::Board::new();
    let mut processor = boot(&mut memory, with_flash(Flash::new(3)), &kept);
    let (number, submitted) = {
        let mut client = connect(&mut processor);
        assert_eq!(client.greeting().origin, Origin::New);
        (
            client.greeting().session.boot,
            call(&mut client, submit(1, 4, 4)),
        )
    };
    assert_eq!(submitted, GRANTED);
    let flash = processor.into_flash();

    let mut memory = board::Board::new();
    let mut processor = boot(&mut memory, with_flash(flash), &kept);
    let mut client = connect(&mut processor);
    let origin = client.greeting().origin;
    assert!(matches!(origin, Origin::Restored { .. }), "{origin:?}");
    assert_ne!(client.greeting().session.boot, number);
    assert_eq!(call(&mut client, release(1)), RELEASED);
}

/// A fault resets the board each time that it restores: after three times it leaves the journal
/// alone, and the boot after that reads it.
#[test]
fn a_journal_that_resets_the_board_three_times_is_left_alone_once() {
    let kept = Kept::new();
    let mut memory = board::Board::new();
    let mut processor = boot(&mut memory, with_flash(Flash::new(3)), &kept);
    assert_eq!(call(&mut connect(&mut processor), submit(1, 4, 4)), GRANTED);
    let flash = processor.into_flash();
    let begin = |fails_at| {
        let board = Fake {
            fails_at,
            ..with_flash(flash.clone())
        };
        let origin = || {
            let mut memory = board::Board::new();
            let mut processor = boot(&mut memory, board, &kept);
            connect(&mut processor).greeting().origin
        };
        catch_unwind(AssertUnwindSafe(origin))
    };
    for _ in 0..2 {
        assert!(begin(Some(1)).is_err());
    }
    // The third restore ends, so the count begins anew.
    assert!(matches!(begin(None), Ok(Origin::Restored { .. })));
    for _ in 0..3 {
        assert!(begin(Some(1)).is_err());
    }
    assert!(matches!(begin(None), Ok(Origin::Unread)));
    assert!(matches!(begin(None), Ok(Origin::Restored { .. })));
}

#[test]
fn a_board_without_memory_for_a_journal_says_why() {
    let open = |board| {
        let mut memory = board::Board::new();
        let opened = WithJournal::open(board, at_reset(&mut memory), &Kept::new());
        opened.map(|_| ()).unwrap_err()
    };
    assert_eq!(open(Fake::default()), NoJournal::NoFlash);
    // A third of these is no whole sector.
    assert_eq!(open(with_flash(Flash::new(4))), NoJournal::Regions);
}

/// The smoke test passes on a board that works, and names the part that does not.
#[test]
fn the_smoke_test_names_what_does_not_work() {
    let run = |speed, clock_off, loses, timeout| {
        let mut memory = board::Board::new();
        let mut processor = Processor::new(Fake::default(), at_reset(&mut memory), &Kept::new());
        processor.board_mut().clock = Some((speed, Instant::now()));
        processor.board_mut().serial.loses = loses;
        let options = Options {
            timeout: Duration::from_millis(timeout),
            ..Options::default()
        };
        let mut steps = Vec::new();
        let mut report = |step: &str| steps.push(step.to_owned());
        let mut client = Client::connect(Wire(&mut processor, Vec::new()), options)?;
        let result = smoke(&mut client, clock_off, &mut report);
        Ok::<_, ClientError>((result.map_err(|error| error.step), steps.len()))
    };
    assert_eq!(
        run(1, CLOCK_OFF, None, 1000).expect("it answers"),
        (Ok(()), 6)
    );
    // An emulator's clock may be slow, but it goes.
    for (speed, clock_off) in [(9, CLOCK_OFF), (0, EMULATED_CLOCK_OFF)] {
        let result = run(speed, clock_off, None, 1000).expect("it answers");
        assert_eq!(result, (Err("clock"), 4));
    }
    assert_eq!(
        run(1, CLOCK_OFF, Some(1000), 50).expect("it answers"),
        (Err("line"), 3)
    );
}
