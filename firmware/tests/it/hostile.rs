//! Malformed frames are counted, are answered if their numbers can be read, and never harm the next
//! frame.

use meshalloc::{Block, Change, ConfigureError, Error, Outcome, Refusal, StrategyKind};
use meshalloc_firmware::frame::{CLIENT_FRAME_MAX, ClientFrameBuffer, FrameBuffer, Header};
use meshalloc_firmware::sessions::{CLIENTS_MAX, WINDOW};
use meshalloc_firmware::{
    Client, ClientError, ClientMessage, LineCounters, PROTOCOL_VERSION, ProtocolError, Server,
    ServerMessage, Session,
};

use crate::board::{Board, at_reset, grid, on, submit};
use crate::line::{MemoryLine, OPTIONS, Random, call};

/// The boot of all servers here.
const BOOT: u64 = 3;
/// The client that sends the frames.
const CLIENT: u32 = 11;
/// Its session, the first of the server.
const SESSION: Session = Session {
    boot: BOOT,
    number: 1,
};

fn frame(header: Header, message: &ClientMessage) -> Vec<u8> {
    let mut buffer = ClientFrameBuffer::new();
    buffer.encode(header, message).expect("it fits").to_vec()
}

fn hello(seq: u32) -> Vec<u8> {
    frame(Header::new(CLIENT, seq), &ClientMessage::Hello)
}

fn command(change: Change) -> ClientMessage {
    ClientMessage::Change {
        session: SESSION,
        since: 0,
        at: None,
        change,
    }
}

fn submission(seq: u32, job: u32) -> Vec<u8> {
    frame(Header::new(CLIENT, seq), &command(submit(job, 2, 2)))
}

/// What the server answers to these bytes: sequence number, client and message.
fn answers(server: &mut Server<'_>, bytes: &[u8]) -> Vec<(u32, u32, ServerMessage)> {
    let mut line = Vec::new();
    server
        .receive(bytes, 0, &mut line)
        .expect("a vector takes everything");
    let answers = crate::line::answers(line).into_iter();
    let answers = answers.map(|(header, message)| (header.seq, header.client, message));
    answers.collect()
}

/// The answer is this error, and a frame right behind is understood.
fn check(bytes: &[u8], error: Option<(u32, u32, ProtocolError)>, counted: LineCounters) {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let mut sent = bytes.to_vec();
    sent.extend(hello(99));
    let mut answers = answers(&mut server, &sent).into_iter();
    if let Some((seq, client, error)) = error {
        let error = ServerMessage::Error(error);
        assert_eq!(answers.next(), Some((seq, client, error)));
    }
    assert!(
        matches!(answers.next(), Some((99, CLIENT, ServerMessage::Hello(_)))),
        "the next frame is lost"
    );
    assert_eq!(answers.next(), None);
    assert_eq!(
        *server.counters(),
        LineCounters {
            frames: counted.frames + 1,
            ..counted
        }
    );
}

#[test]
fn a_changed_byte_is_answered_as_damage() {
    let mut bytes = submission(7, 1);
    let crc = bytes.len() - 2;
    bytes[crc] = if bytes[crc] == 1 { 2 } else { 1 };
    check(
        &bytes,
        Some((7, CLIENT, ProtocolError::Damaged)),
        LineCounters {
            bad_crc: 1,
            ..LineCounters::default()
        },
    );
}

#[test]
fn a_cut_frame_is_answered_as_damage_and_does_not_swallow_the_next() {
    let bytes = submission(7, 1);
    let counted = LineCounters {
        bad_cobs: 1,
        ..LineCounters::default()
    };
    // The end of the CRC is missing, in the middle of a COBS block.
    let cut = &bytes[..bytes.len() - 4];
    check(cut, Some((7, CLIENT, ProtocolError::Damaged)), counted);
    // Without a whole header there is no client to answer.
    check(&bytes[..3], None, counted);
}

#[test]
fn a_short_frame_is_counted() {
    // 00 in COBS: a content of a single 0.
    check(
        &[0, 1, 1, 0],
        None,
        LineCounters {
            too_short: 1,
            ..LineCounters::default()
        },
    );
    // A header, and not all of a CRC.
    check(
        &[0, 12, 1, 5, 5, 5, 5, 6, 6, 6, 6, 9, 9, 0],
        Some((0x0505_0505, 0x0606_0606, ProtocolError::Damaged)),
        LineCounters {
            too_short: 1,
            ..LineCounters::default()
        },
    );
}

#[test]
fn an_oversized_frame_is_answered() {
    let mut buffer = FrameBuffer::<1100, 1200>::new();
    let header = Header::new(CLIENT, 0x0708_090a);
    for len in [CLIENT_FRAME_MAX, 254, 255, 1000] {
        let body = vec![0x55_u8; len];
        let bytes = buffer.encode(header, &body.as_slice()).expect("it fits");
        check(
            bytes,
            Some((header.seq, CLIENT, ProtocolError::TooLong)),
            LineCounters {
                too_long: 1,
                ..LineCounters::default()
            },
        );
    }
}

#[test]
fn another_version_is_answered_with_ours() {
    let header = Header {
        version: PROTOCOL_VERSION + 1,
        seq: 7,
        client: CLIENT,
    };
    check(
        &frame(header, &ClientMessage::Hello),
        Some((
            7,
            CLIENT,
            ProtocolError::WrongVersion {
                ours: PROTOCOL_VERSION,
            },
        )),
        LineCounters {
            wrong_version: 1,
            ..LineCounters::default()
        },
    );
}

#[test]
fn a_body_that_is_no_message_is_answered() {
    let mut buffer = ClientFrameBuffer::new();
    let unknown_variant = 200_u32;
    let too_short = (1_u8, 0_u8);
    let too_long = (0_u8, 0_u8);
    // Submit, job 5, two extents: 4 and 3, 12 processors.
    let unknown_flag = (COMMAND, (1_u8, 5_u8, 2_u8, 4_u8, 3_u8, 12_u8, 4_u8));
    for frame in [
        encode(&mut buffer, &unknown_variant),
        encode(&mut buffer, &too_short),
        encode(&mut buffer, &too_long),
        encode(&mut buffer, &unknown_flag),
    ] {
        check_bad_message(&frame);
    }
}

fn check_bad_message(frame: &[u8]) {
    check(
        frame,
        Some((7, CLIENT, ProtocolError::BadMessage)),
        LineCounters {
            bad_message: 1,
            ..LineCounters::default()
        },
    );
}

/// What comes before the command in a message: Change, the session, no event known, no time.
const COMMAND: (u8, Session, u8, u8) = (1, SESSION, 0, 0);

/// The frame of a Configure with these numbers: sides, wraps, how coordinates are written.
fn configure(sides: &[u16], wraps: u16, high_first: u8) -> Vec<u8> {
    // Configure, machine, first fit, FCFS.
    let body = (COMMAND, 0_u8, (sides, wraps, high_first), 0_u8, 0_u8);
    encode(&mut ClientFrameBuffer::new(), &body)
}

/// The frame of a Submit of job 5 with these numbers: extents, processors.
fn submit_raw(extents: &[u16], processors: u32) -> Vec<u8> {
    // Submit, job, shape, processors, flags, no estimate, no lease.
    let body = (COMMAND, 1_u8, 5_u8, extents, processors, 0_u8, 0_u8, 0_u8);
    encode(&mut ClientFrameBuffer::new(), &body)
}

#[test]
fn a_grid_that_there_cannot_be_is_no_message() {
    for (sides, wraps, high_first) in [
        // No side, too many of them, a side of 0, a mesh with a side too long.
        (&[][..], 0, 0),
        (&[2; 17], 0, 0),
        (&[1; 17], 0, 0),
        (&[0], 1, 0),
        (&[4, 0, 4], 0, 0),
        (&[1025, 1], 0, 0),
        // Too many processors.
        (&[1024, 1025], 3, 0),
        (&[64, 64, 257], 0, 0),
        (&[u16::MAX; 4], 15, 0),
        // Wraps beyond the dimensions.
        (&[16], 0b10, 0),
        (&[16, 16], 0b100, 0),
        (&[4, 4, 4], u16::MAX, 0),
        (&[2; 15], 1 << 15, 0),
        // Written like a cube, but not one.
        (&[16, 16], 0, 1),
        (&[4, 4, 2], 0b111, 1),
        (&[4, 4, 4], 0b101, 1),
        (&[1, 1], 0b11, 1),
        // No bool.
        (&[4, 4, 4], 0b111, 2),
        (&[4, 4, 4], 0b111, 255),
    ] {
        check_bad_message(&configure(sides, wraps, high_first));
    }
}

/// The frame of a Submit whose estimate, slices, class and tolerance are these bytes.
fn submit_of(estimate: impl serde::Serialize) -> Vec<u8> {
    // Submit, job, shape, processors, flags, no lease.
    let body = (
        COMMAND,
        1_u8,
        5_u8,
        [2_u8, 2, 1],
        2_u8,
        0_u8,
        estimate,
        0_u8,
    );
    encode(&mut ClientFrameBuffer::new(), &body)
}

/// A class that is the default has no bytes; neither have slices after the first if there are none.
#[test]
fn a_default_has_one_form() {
    for frame in [
        // No further slice; a priority of 0.
        submit_of([2, 0, 0]),
        submit_of([3, 0, 0, 0, 0]),
        submit_of([3, 1, 0, 0, 0, 1]),
        submit_of([3, 0, 1, 0, 0, 1]),
        // No such kind of class, no such variant.
        submit_of([3, 0, 0, 2, 1]),
        submit_of([5, 0, 0, 0, 1]),
        // Not tolerant; a class that is the default.
        submit_of([4, 0, 0, 0, 0]),
        submit_of([4, 0, 0, 1, 0, 0, 1]),
    ] {
        check_bad_message(&frame);
    }
}

/// The outcomes among answers.
fn outcomes(answers: Vec<(u32, u32, ServerMessage)>) -> Vec<Result<Outcome, Error>> {
    let outcome = |(_, _, message)| match message {
        ServerMessage::Outcome { outcome, .. } => Some(outcome),
        _ => None,
    };
    answers.into_iter().filter_map(outcome).collect()
}

/// The reply to this frame after a Configure of this machine.
fn reply_on(machine: &str, frame_7: &[u8]) -> Result<Outcome, Error> {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    answers(&mut server, &hello(1));
    let configure = command(Change::Configure(on(grid(machine), StrategyKind::FirstFit)));
    let configured = answers(&mut server, &frame(Header::new(CLIENT, 2), &configure));
    assert_eq!(outcomes(configured), [Ok(Outcome::Done)]);
    match outcomes(answers(&mut server, frame_7))[..] {
        [outcome] => outcome,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_grid_at_the_edge_is_read() {
    let reply = |sides: &[u16], wraps, high_first| {
        reply_on("mesh 16x16", &configure(sides, wraps, high_first))
    };
    // The largest there are: no room for them is another error.
    let too_large = Err(Error::Configure(ConfigureError::MachineTooLarge));
    for (sides, wraps, high_first) in [
        (&[1024, 1024][..], 0, 0),
        (&[u16::MAX, 16], 1, 0),
        (&[u16::MAX], 1, 1),
        (&[64, 64, 256], 0b100, 0),
        (&[2; 16], u16::MAX, 1),
        (
            &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 16, u16::MAX],
            0,
            0,
        ),
    ] {
        assert_eq!(reply(sides, wraps, high_first), too_large, "{sides:?}");
    }
    for (sides, wraps, high_first) in [
        (&[1][..], 0, 0),
        (&[256], 1, 1),
        (&[1; 16], u16::MAX, 0),
        (&[4, 4, 16], 0b100, 0),
        (&[4, 4, 4], 0b111, 0),
        (&[4, 4, 4], 0b111, 1),
    ] {
        assert_eq!(
            reply(sides, wraps, high_first),
            Ok(Outcome::Done),
            "{sides:?}"
        );
    }
}

#[test]
fn extents_that_no_machine_has_are_no_message() {
    for extents in [
        &[2; 17][..],
        &[1; 17],
        &[u16::MAX; 4],
        // 65 bits of code, where there is room for 62.
        &[5; 13],
        &[128, 128, 128, 128, 2],
    ] {
        check_bad_message(&submit_raw(extents, 1));
    }
}

#[test]
fn extents_at_the_edge_are_read_and_refused() {
    for (extents, processors, refusal) in [
        (&[2; 16][..], 1, Refusal::TooManyExtents),
        (&[5; 12], 1, Refusal::TooManyExtents),
        (&[1; 4], 1, Refusal::TooManyExtents),
        (&[u16::MAX; 3], u32::MAX, Refusal::NeverFits),
        (&[2, 2, u16::MAX], 1, Refusal::NeverFits),
        (&[5], 5, Refusal::NeverFits),
        (&[0], 0, Refusal::EmptyRequest),
        (&[4, 0, 4], 1, Refusal::EmptyRequest),
        // An extent of 0 among more than three, with any other extents.
        (&[2, 0, 2, 2, 2, 2], 1, Refusal::EmptyRequest),
        (&[4, 4], 0, Refusal::EmptyRequest),
        (&[4, 4], 17, Refusal::Malformed),
        (&[], 2, Refusal::Malformed),
    ] {
        let refused = Err(Error::Refused(refusal));
        for machine in ["torus 4x4x4", "mesh 4x4x4", "4-ary 3-cube"] {
            let reply = reply_on(machine, &submit_raw(extents, processors));
            assert_eq!(reply, refused, "{extents:?} on {machine}");
        }
    }
    // Extents of 1 ask for a single processor.
    for extents in [&[][..], &[1], &[1; 3]] {
        let reply = reply_on("mesh 4x4x4", &submit_raw(extents, 1));
        assert!(reply == Ok(Outcome::Done), "{reply:?}");
    }
}

#[test]
fn a_block_that_is_no_part_of_the_grid_is_read_and_known() {
    let read = |numbers: [u16; 4]| {
        let mut room = [0; 12];
        let bytes = postcard::to_slice(&numbers, &mut room).expect("12 bytes");
        postcard::from_bytes::<Block>(bytes).expect("a block is any four numbers")
    };
    for (machine, numbers) in [
        // A start, an extent or their sum beyond a side.
        ("mesh 16x22", [16, 0, 1, 1]),
        ("mesh 16x22", [0, 0, 17, 1]),
        ("mesh 16x22", [0, 21, 1, 2]),
        ("mesh 16x22", [0, 0, 1, 0]),
        ("mesh 16x22", [0, 0, 0, 1]),
        ("mesh 16x22", [u16::MAX; 4]),
        ("torus 16x22", [15, 22, 1, 1]),
        ("torus 16x22", [15, 0, 17, 1]),
        ("mesh 5x4x3", [5, 0, 0, 0]),
        ("mesh 5x4x3", [3, 0, 2, 0]),
        ("mesh 5x4x3 wrap 0", [4, 0, 5, 0]),
        ("mesh 5x4x3 wrap 0", [3 << 5, 0, 0, 0]),
        // Bits beyond the fields.
        ("mesh 16", [0, 1, 1, 0]),
        ("mesh 16", [0, 0, 1, 1]),
        ("4-ary 3-cube", [1 << 6, 0, 0, 0]),
        ("4-ary 3-cube", [0, 0, 0, 1]),
        ("torus 8x8x16", [0, 0, 1 << 10, 0]),
        ("torus 8x8x16", [u16::MAX; 4]),
    ] {
        let (grid, block) = (grid(machine), read(numbers));
        assert!(!grid.contains(block), "{numbers:?} on {machine}");
        // It can be shown.
        let _ = (grid.area(block), grid.place(block).to_string());
    }
    for (machine, numbers) in [
        ("mesh 16x22", [15, 21, 1, 1]),
        ("torus 16x22", [15, 21, 16, 22]),
        ("mesh 5x4x3 wrap 0", [4, 0, 4, 0]),
        ("4-ary 3-cube", [0b11_11_11, 0, 0b11_11_11, 0]),
        ("torus 8x8x16", [7 | 7 << 3 | 15 << 6, 0, 0, 0]),
    ] {
        assert!(grid(machine).contains(read(numbers)), "{numbers:?}");
    }
}

fn encode(buffer: &mut ClientFrameBuffer, body: &impl serde::Serialize) -> Vec<u8> {
    let frame = buffer.encode(Header::new(CLIENT, 7), body);
    frame.expect("it fits").to_vec()
}

#[test]
fn empty_frames_mean_nothing() {
    check(&[0; 100], None, LineCounters::default());
}

#[test]
fn nothing_is_carried_out_before_a_hello() {
    check(
        &submission(7, 1),
        Some((7, CLIENT, ProtocolError::NoSession)),
        LineCounters {
            frames: 1,
            other_session: 1,
            ..LineCounters::default()
        },
    );
}

/// The answers of a server that has received a hello with sequence number 1.
fn greeted(server: &mut Server<'_>, frames: &[Vec<u8>]) -> Vec<ServerMessage> {
    answers(server, &hello(1));
    let answers = answers(server, &frames.concat());
    answers.into_iter().map(|(_, _, message)| message).collect()
}

#[test]
fn what_is_meant_for_another_boot_or_session_is_not_carried_out() {
    let wrong = |client, boot, number| {
        let message = ClientMessage::Change {
            session: Session { boot, number },
            since: 0,
            at: None,
            change: submit(1, 2, 2),
        };
        frame(Header::new(client, 7), &message)
    };
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let other_boot = ServerMessage::Error(ProtocolError::OtherBoot { boot: BOOT });
    let no_session = ServerMessage::Error(ProtocolError::NoSession);
    assert_eq!(
        greeted(
            &mut server,
            &[
                wrong(CLIENT, BOOT - 1, 1),
                wrong(CLIENT, BOOT + 1, 1),
                wrong(CLIENT, BOOT, 2),
                wrong(CLIENT, BOOT, 0),
                wrong(CLIENT + 1, BOOT, 1),
                wrong(0, BOOT, 0),
            ]
        ),
        [
            other_boot.clone(),
            other_boot,
            no_session.clone(),
            no_session.clone(),
            no_session.clone(),
            no_session
        ]
    );
    assert_eq!(server.counters().other_session, 6);
    assert_eq!(server.controller().statistics().counts.submitted, 0);
}

#[test]
fn a_repeated_frame_is_answered_again_and_not_carried_out_again() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    answers(&mut server, &hello(1));
    let first = answers(&mut server, &submission(2, 1));
    assert!(matches!(
        &first[..],
        [(2, CLIENT, ServerMessage::Outcome { outcome: Ok(Outcome::Done), events })]
            if events.list.len() == 1
    ));
    for _ in 0..3 {
        assert_eq!(answers(&mut server, &submission(2, 1)), first);
    }
    assert_eq!(server.counters().repeated, 3);
    assert_eq!(server.controller().statistics().counts.submitted, 1);
    // Another number is another command, and a hello in between changes nothing.
    let refused = outcomes(answers(&mut server, &submission(3, 1)));
    assert!(matches!(refused[..], [Err(_)]));
    answers(&mut server, &hello(4));
    assert_eq!(outcomes(answers(&mut server, &submission(3, 1))), refused);
    assert_eq!(server.counters().repeated, 4);
    assert_eq!(server.counters().changes, 2);
}

#[test]
fn an_old_frame_is_refused_once_its_outcome_is_forgotten() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    answers(&mut server, &hello(1));
    let release = |seq, job| {
        let job = meshalloc::JobId(job);
        frame(Header::new(CLIENT, seq), &command(Change::Release { job }))
    };
    // Submitted, released, and submitted under another name.
    for frame in [submission(10, 1), release(11, 1), submission(12, 2)] {
        assert_eq!(answers(&mut server, &frame).len(), 1);
    }
    // The window holds four: a late copy of the first submission is answered from memory, not
    // carried out.
    let again = outcomes(answers(&mut server, &submission(10, 1)));
    assert_eq!(again, [Ok(Outcome::Done)]);
    for seq in 13..13 + WINDOW as u32 {
        answers(&mut server, &release(seq, 9));
    }
    let too_old = ServerMessage::Error(ProtocolError::TooOld);
    for late in [submission(10, 1), submission(9, 1), submission(2, 1)] {
        let answer = answers(&mut server, &late).pop();
        assert_eq!(answer.map(|(_, _, message)| message), Some(too_old.clone()));
    }
    assert_eq!(server.counters().too_old, 3);
    assert_eq!(server.controller().statistics().counts.submitted, 2);
    // A command that was given up and comes after a hello is refused as well.
    answers(&mut server, &hello(30));
    let answer = answers(&mut server, &submission(29, 3)).pop();
    assert_eq!(answer.map(|(_, _, message)| message), Some(too_old));
    assert_eq!(
        outcomes(answers(&mut server, &submission(31, 3))),
        [Ok(Outcome::Done)]
    );
}

#[test]
fn a_fifth_client_takes_the_place_of_the_one_that_was_silent_for_longest() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let mut number = |client: u32, seq| {
        let hello = frame(Header::new(client, seq), &ClientMessage::Hello);
        match answers(&mut server, &hello).pop() {
            Some((_, _, ServerMessage::Hello(greeting))) => greeting.session.number,
            other => panic!("{other:?}"),
        }
    };
    for client in 1..=CLIENTS_MAX as u32 {
        assert_eq!(number(client, 1), client);
    }
    // The first uses its session, so the second has been silent for longest.
    assert_eq!(number(1, 2), 1);
    assert_eq!(number(9, 1), 5);
    assert_eq!([number(1, 3), number(3, 3), number(4, 3)], [1, 3, 4]);
    let message = |client, session| {
        let message = ClientMessage::Change {
            session: Session {
                boot: BOOT,
                number: session,
            },
            since: 0,
            at: None,
            change: submit(client, 1, 1),
        };
        frame(Header::new(client, 50), &message)
    };
    let no_session = ServerMessage::Error(ProtocolError::NoSession);
    let answer = answers(&mut server, &message(2, 2)).pop();
    assert_eq!(
        answer.map(|(_, _, message)| message),
        Some(no_session.clone())
    );
    // Its next session is another one: late frames of the first are refused all the same.
    let hello = frame(Header::new(2, 60), &ClientMessage::Hello);
    answers(&mut server, &hello);
    let answer = answers(&mut server, &message(2, 2)).pop();
    assert_eq!(answer.map(|(_, _, message)| message), Some(no_session));
    assert_eq!(server.controller().statistics().counts.submitted, 0);
}

#[test]
fn no_bytes_at_all_make_the_server_panic_or_deaf() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let mut board = Board::new();
        let mut server = Server::new(at_reset(&mut board), BOOT);
        let mut bytes = Vec::new();
        for _ in 0..20 {
            let mut piece = match random.below(6) {
                0 => (0..random.below(600))
                    .map(|_| random.next() as u8)
                    .collect(),
                1 => hello(random.next() as u32),
                2 => submission(random.next() as u32, random.next() as u32),
                3 | 4 => wrong_inside(&mut random),
                _ => vec![0xff; random.below(600)],
            };
            for _ in 0..random.below(3) {
                let at = random.below(piece.len().max(1));
                if let Some(byte) = piece.get_mut(at) {
                    *byte = random.next() as u8;
                }
            }
            bytes.extend(piece);
        }
        bytes.extend(hello(5));
        let last = answers(&mut server, &bytes).pop();
        assert!(
            matches!(last, Some((5, CLIENT, ServerMessage::Hello(_)))),
            "seed {seed}: {last:?}"
        );
        server.controller().check_invariants();
    }
}

/// A whole frame around a message with some changed bytes, which are read as numbers, tags and
/// lengths.
fn wrong_inside(random: &mut Random) -> Vec<u8> {
    struct Raw<'a>(&'a [u8]);
    impl serde::Serialize for Raw<'_> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            // A tuple has no length on the line.
            let mut bytes = serializer.serialize_tuple(self.0.len())?;
            for byte in self.0 {
                serde::ser::SerializeTuple::serialize_element(&mut bytes, byte)?;
            }
            serde::ser::SerializeTuple::end(bytes)
        }
    }
    let messages = crate::samples::client_messages();
    let (_, message) = &messages[random.below(messages.len())];
    let mut room = [0; 128];
    let body = postcard::to_slice(message, &mut room).expect("128 bytes");
    for _ in 0..random.below(4) {
        body[random.below(body.len())] = match random.below(3) {
            0 => random.next() as u8,
            1 => random.below(20) as u8,
            _ => 0xff,
        };
    }
    let mut buffer = ClientFrameBuffer::new();
    let header = Header::new(CLIENT, random.next() as u32);
    let frame = buffer.encode(header, &Raw(body));
    frame.expect("it fits").to_vec()
}

#[test]
fn a_client_looks_past_what_is_not_meant_for_it() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board), BOOT);
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).unwrap();
    // Their answers, one of them for a number that is not the client's next, precede its own reply.
    client.line_mut().inject(&hello(12345)); // another client's
    client.line_mut().inject(&[0, 9, 9, 9, 0]);
    let led = call(&mut client, &submit(1, 2, 2), None).unwrap();
    assert_eq!((led.outcome, led.grants().len()), (Ok(Outcome::Done), 1));
    assert_eq!(client.counters().stale, 1);
    assert_eq!(client.counters().retries, 0);
}

#[test]
fn a_client_that_hears_nothing_says_what_it_tried() {
    struct Silent;
    impl meshalloc_firmware::Line for Silent {
        fn send(&mut self, _: &[u8]) -> std::io::Result<()> {
            Ok(())
        }
        fn receive(&mut self, _: &mut [u8], _: std::time::Duration) -> std::io::Result<usize> {
            Ok(0)
        }
    }
    let options = meshalloc_firmware::Options {
        tries: 3,
        ..OPTIONS
    };
    let error = Client::connect(Silent, options).err().expect("no answer");
    assert!(
        matches!(&error, ClientError::NoReply { tries: 3, stray, .. } if stray.bytes == 0),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(
        text.contains("Hello") && text.contains("3 times") && text.contains("nothing at all"),
        "{text}"
    );
}
