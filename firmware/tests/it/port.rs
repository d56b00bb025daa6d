//! The interrupt of the serial port, with registers in memory. Their line has every fault of a real
//! one; QEMU's line has none.

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::Rc;

use embedded_io::Write;
use meshalloc_firmware::board::Serial;
use meshalloc_firmware::frame::{ClientFrameBuffer, Header, SERVER_FRAME_MAX};
use meshalloc_firmware::port::{Line, Status, Uart};
use meshalloc_firmware::{ClientMessage, Server, ServerMessage};

use crate::board::{Board, at_reset};
use crate::line::{Random, answers};

/// The bytes that a line has room for, in each direction.
const RING_LEN: usize = 640;
const CLIENT: u32 = 7;

/// What happens to a byte on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// One bit is flipped, with or without a stop bit.
    Noise {
        bit: u32,
        is_misframed: bool,
    },
    /// The line is low for longer than a byte.
    Break,
    /// The interrupt comes too late.
    Late,
}

/// The registers: one byte received, one being sent and one behind it.
#[derive(Debug, Default)]
struct Registers {
    received: u8,
    status: Status,
    next: Option<u8>,
    shifting: Option<u8>,
    sent: Vec<u8>,
    has_interrupt_on_room: bool,
    /// Sending is blocked, which cannot happen on this board.
    is_stuck: bool,
    baud: u32,
}

impl Registers {
    /// The time of a byte passes, in which a byte arrives or none.
    fn pass(&mut self, arriving: Option<(u8, bool)>) {
        if let Some((byte, is_misframed)) = arriving {
            if self.status.is_received {
                // The earlier byte stays.
                self.status.is_overrun = true;
            } else {
                self.received = byte;
                self.status.is_misframed = is_misframed;
            }
            self.status.is_received = true;
        }
        if !self.is_stuck {
            self.sent.extend(self.shifting.take());
            self.shifting = self.next.take();
        }
    }

    fn wants_interrupt(&self) -> bool {
        let has_room = self.next.is_none() && self.has_interrupt_on_room;
        self.status.is_received || self.status.is_overrun || has_room
    }
}

/// The registers, which a test looks at while they belong to a line.
#[derive(Clone, Debug, Default)]
struct Shared(Rc<RefCell<Registers>>);

impl Shared {
    fn get(&self) -> RefMut<'_, Registers> {
        self.0.borrow_mut()
    }
}

impl Uart for Shared {
    fn status(&mut self) -> Status {
        self.get().status
    }

    fn has_room(&mut self) -> bool {
        self.get().next.is_none()
    }

    fn take(&mut self) -> u8 {
        let mut registers = self.get();
        registers.status = Status::default();
        registers.received
    }

    fn put(&mut self, byte: u8) {
        let mut registers = self.get();
        assert_eq!(registers.next, None, "there is no room");
        match registers.shifting {
            None => registers.shifting = Some(byte),
            Some(_) => registers.next = Some(byte),
        }
    }

    fn set_interrupt_on_room(&mut self, is_on: bool) {
        self.get().has_interrupt_on_room = is_on;
    }

    fn has_sent_all(&mut self) -> bool {
        let registers = self.get();
        registers.next.is_none() && registers.shifting.is_none()
    }

    fn set_baud(&mut self, baud: u32) {
        self.get().baud = baud;
    }
}

/// The chip: port, line and server.
struct Chip<'m> {
    registers: Shared,
    line: Line<Shared>,
    server: Server<'m>,
}

impl Chip<'_> {
    /// The time of a byte passes; the interrupt comes unless it is late.
    fn pass(&mut self, arriving: Option<(u8, bool)>, is_late: bool) {
        self.registers.get().pass(arriving);
        if is_late {
            return;
        }
        let wants_interrupt = self.registers.get().wants_interrupt();
        if wants_interrupt {
            self.line.on_interrupt();
        }
        let mut serial = &self.line;
        self.server.overrun(serial.take_losses());
        while let Some(byte) = serial.next() {
            // A reply without room is counted by the server.
            let _ = self.server.receive(&[byte], 0, &mut serial);
        }
    }

    /// Nothing arrives for the time of `bytes` bytes.
    fn rest(&mut self, bytes: usize) {
        for _ in 0..bytes {
            self.pass(None, false);
        }
    }

    /// The sequence numbers of the replies so far; all of them are whole frames.
    fn answered(&mut self) -> Vec<u32> {
        let answers = answers(self.registers.get().sent.drain(..)).into_iter();
        let answers =
            answers.filter(|(_, message)| matches!(message, ServerMessage::LineCounters(_)));
        answers.map(|(header, _)| header.seq).collect()
    }
}

fn with_chip(body: impl FnOnce(&mut Chip<'_>)) {
    let mut board = Board::new();
    let (registers, line) = (Shared::default(), Line::new());
    line.open(registers.clone());
    body(&mut Chip {
        registers,
        line,
        server: Server::new(at_reset(&mut board), 1),
    });
}

fn question(seq: u32) -> Vec<u8> {
    let mut buffer = ClientFrameBuffer::new();
    let frame = buffer.encode(Header::new(CLIENT, seq), &ClientMessage::LineCounters);
    frame.expect("it is short").to_vec()
}

/// Each frame without a fault is answered, whatever has hit the one before it. No damaged frame is
/// taken for another one.
#[test]
fn a_fault_of_the_line_costs_at_most_the_frames_that_it_hits() {
    let mut faults = [0; 4];
    for seed in 0..50 {
        with_chip(|chip| {
            let mut random = Random(seed);
            let mut whole = Vec::new();
            for seq in 0..100 {
                let mut is_whole = true;
                for byte in question(seq) {
                    let fault = match random.below(160) {
                        0 => Fault::Noise {
                            bit: 1 << random.below(8),
                            is_misframed: random.once_in(2),
                        },
                        1 => Fault::Break,
                        2 => Fault::Late,
                        _ => Fault::None,
                    };
                    is_whole &= fault == Fault::None;
                    match fault {
                        Fault::None => chip.pass(Some((byte, false)), false),
                        Fault::Noise { bit, is_misframed } => {
                            faults[0] += 1;
                            chip.pass(Some((byte ^ bit as u8, is_misframed)), false);
                        }
                        Fault::Break => {
                            faults[1] += 1;
                            chip.pass(Some((0, true)), false);
                            chip.rest(20);
                        }
                        Fault::Late => {
                            faults[2] += 1;
                            // The next byte arrives before the interrupt, and is lost.
                            chip.pass(Some((byte, false)), true);
                            chip.pass(Some((0x55, false)), false);
                        }
                    }
                }
                if is_whole {
                    whole.push(seq);
                }
                chip.rest(80);
            }
            let answered = chip.answered();
            let missing: Vec<_> = whole.iter().filter(|seq| !answered.contains(seq)).collect();
            assert_eq!(missing, [&0; 0], "seed {seed}");
            assert!(
                answered.is_sorted_by(|a, b| a < b),
                "seed {seed}: {answered:?}"
            );
            faults[3] += 100 - whole.len();
            assert!(chip.server.counters().overruns > 0, "seed {seed}");
        });
    }
    assert!(faults.iter().all(|&count| count > 300), "{faults:?}");
}

/// Nothing can be sent: the server takes every frame and drops whole replies. When the line works
/// again, the buffered replies leave, and later questions are answered.
#[test]
fn a_line_that_takes_nothing_stops_nothing() {
    with_chip(|chip| {
        chip.registers.get().is_stuck = true;
        for seq in 0..200 {
            question(seq)
                .iter()
                .for_each(|&byte| chip.pass(Some((byte, false)), false));
        }
        let counters = *chip.server.counters();
        assert_eq!(counters.frames, 200);
        // 640 bytes and the two in the registers, 30 or so a reply.
        assert!((175..185).contains(&counters.dropped), "{counters:?}");
        chip.registers.get().is_stuck = false;
        chip.rest(RING_LEN + 10);
        question(200)
            .iter()
            .for_each(|&byte| chip.pass(Some((byte, false)), false));
        chip.rest(60);
        let answered = chip.answered();
        assert_eq!(answered.len() as u32, 201 - counters.dropped);
        assert!(answered.is_sorted());
        assert_eq!(answered.last(), Some(&200));
    });
}

/// The server works while the reply is still being sent.
#[test]
fn a_reply_on_its_way_holds_up_neither_frames_nor_work() {
    with_chip(|chip| {
        question(1)
            .iter()
            .for_each(|&byte| chip.pass(Some((byte, false)), false));
        assert!(!(&chip.line).has_sent_all());
        question(2)
            .iter()
            .for_each(|&byte| chip.pass(Some((byte, false)), false));
        assert_eq!(chip.server.counters().frames, 2);
        assert!(
            !(&chip.line).has_sent_all(),
            "the first reply is longer than a question"
        );
        chip.rest(80);
        assert_eq!(chip.answered(), [1, 2]);
        assert!((&chip.line).has_sent_all());
    });
}

/// The ring returns the frames in order, of any length, wherever in its memory they begin. A frame
/// that does not fit leaves no trace.
#[test]
fn what_is_sent_leaves_in_order() {
    let (registers, line, mut random) = (Shared::default(), Line::new(), Random(1));
    line.open(registers.clone());
    let mut expected = VecDeque::new();
    let (mut taken, mut dropped) = (0, 0);
    for round in 0..20_000 {
        let len = 1 + random.below(SERVER_FRAME_MAX);
        let frame: Vec<u8> = (0..len).map(|at| (round * 31 + at) as u8).collect();
        // Two bytes are in the registers.
        let room = RING_LEN + 2 - expected.len();
        match (&line).write(&frame) {
            Ok(written) => {
                assert_eq!(written, len);
                expected.extend(frame);
                taken += 1;
            }
            Err(_) => {
                assert!(len + 4 > room, "{len} of {room}");
                dropped += 1;
            }
        }
        for _ in 0..random.below(SERVER_FRAME_MAX) {
            line.on_interrupt();
            registers.get().pass(None);
        }
        for byte in registers.get().sent.drain(..) {
            assert_eq!(Some(byte), expected.pop_front());
        }
    }
    assert!(
        taken > 5_000 && dropped > 500,
        "{taken} taken, {dropped} dropped"
    );
}

#[test]
fn a_line_sets_the_rate_of_its_port_and_knows_of_bytes_that_wait() {
    let (registers, line) = (Shared::default(), Line::new());
    let mut serial = &line;
    // Without a port nothing happens.
    line.on_interrupt();
    serial.set_baud(1);
    assert!(!serial.has_next() && serial.has_sent_all());
    line.open(registers.clone());
    serial.set_baud(230_400);
    assert_eq!(registers.get().baud, 230_400);
    registers.get().pass(Some((7, false)));
    line.on_interrupt();
    assert!(serial.has_next());
    assert_eq!((serial.next(), serial.next()), (Some(7), None));
    // What has no room is lost and counted.
    for _ in 0..RING_LEN + 3 {
        registers.get().pass(Some((1, false)));
        line.on_interrupt();
    }
    assert_eq!((serial.take_losses(), serial.take_losses()), (3, 0));
}
