//! Frames that are not as they should be: counted, answered where a number can be read, and never to
//! the harm of the next one.

use meshalloc::{
    Command, ConfigureError, Cube, Error, NodeId, Refusal, Reply, StrategyKind, Subcube,
};
use meshalloc_firmware::frame::{
    CLIENT_FRAME_MAX, ClientFrameBuffer, Decoder, FrameBuffer, Header, SERVER_CONTENT_MAX,
};
use meshalloc_firmware::{
    Client, ClientError, ClientMessage, LineCounters, PROTOCOL_VERSION, ProtocolError, Server,
    ServerMessage,
};

use crate::board::{Board, at_reset, on_cube, submit};
use crate::line::{MemoryLine, OPTIONS, Random, call};

fn frame(header: Header, message: &ClientMessage) -> Vec<u8> {
    let mut buffer = ClientFrameBuffer::new();
    buffer.encode(header, message).expect("it fits").to_vec()
}

fn hello(seq: u32) -> Vec<u8> {
    frame(Header::new(seq, 0), &ClientMessage::Hello)
}

fn submission(seq: u32, job: u32) -> Vec<u8> {
    let message = ClientMessage::Command {
        at: None,
        command: submit(job, 2, 2),
    };
    frame(Header::new(seq, 0), &message)
}

/// What the server answers to these bytes: sequence number, part and message.
fn answers(server: &mut Server<'_>, bytes: &[u8]) -> Vec<(u32, u16, ServerMessage)> {
    let mut line = Vec::new();
    server
        .receive(bytes, 0, &mut line)
        .expect("a vector takes everything");
    let mut decoder = Decoder::<SERVER_CONTENT_MAX>::new();
    let mut answers = Vec::new();
    for byte in line {
        if let Some(frame) = decoder.push(byte) {
            let frame = frame.expect("the server sends whole frames");
            assert_eq!(frame.header.version, PROTOCOL_VERSION);
            let message = postcard::from_bytes(frame.body).expect("and messages in them");
            answers.push((frame.header.seq, frame.header.part, message));
        }
    }
    answers
}

/// The answer is this error, and a frame right behind is understood.
fn check(bytes: &[u8], error: Option<(u32, ProtocolError)>, counted: LineCounters) {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board));
    let mut sent = bytes.to_vec();
    sent.extend(hello(99));
    let mut answers = answers(&mut server, &sent).into_iter();
    if let Some((seq, error)) = error {
        assert_eq!(answers.next(), Some((seq, 0, ServerMessage::Error(error))));
    }
    assert!(
        matches!(answers.next(), Some((99, 0, ServerMessage::Hello(_)))),
        "the next frame is lost"
    );
    assert_eq!(answers.next(), None);
    assert_eq!(
        server.counters(),
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
        Some((7, ProtocolError::Damaged)),
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
    let cut = &bytes[..bytes.len() - 3];
    check(cut, Some((7, ProtocolError::Damaged)), counted);
    // Without a whole header there is nobody to answer.
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
        &[0, 10, 1, 5, 5, 5, 5, 5, 5, 9, 9, 0],
        Some((0x0505_0505, ProtocolError::Damaged)),
        LineCounters {
            too_short: 1,
            ..LineCounters::default()
        },
    );
}

#[test]
fn an_oversized_frame_is_answered() {
    let mut buffer = FrameBuffer::<1100, 1200>::new();
    let header = Header::new(0x0708_090a, 0);
    for len in [CLIENT_FRAME_MAX, 254, 255, 1000] {
        let body = vec![0x55_u8; len];
        let bytes = buffer.encode(header, &body.as_slice()).expect("it fits");
        check(
            bytes,
            Some((header.seq, ProtocolError::TooLong)),
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
        version: 2,
        seq: 7,
        part: 0,
    };
    check(
        &frame(header, &ClientMessage::Hello),
        Some((
            7,
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
    let unknown_flag = (1_u8, 0_u8, 1_u8, 5_u8, 0_u8, 4_u8, 3_u8, 12_u8, 4_u8);
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
        Some((7, ProtocolError::BadMessage)),
        LineCounters {
            bad_message: 1,
            ..LineCounters::default()
        },
    );
}

#[test]
fn a_cube_that_there_cannot_be_is_no_message() {
    let mut buffer = ClientFrameBuffer::new();
    // Command, no time, Configure, Cube, k, n, tree collapsing, FCFS.
    let mut configure = |k: u16, n: u8| {
        let body = (1_u8, 0_u8, 0_u8, 1_u8, k, n, 11_u8, 0_u8);
        encode(&mut buffer, &body)
    };
    for (k, n) in [
        (0, 3),
        (1, 3),
        (4, 0),
        (2, 17),
        (257, 2),
        (41, 3),
        (65_535, 2),
        (2, 255),
    ] {
        check_bad_message(&configure(k, n));
    }
    // The largest there are; this board has no room for them, which is another error.
    for (k, n) in [(2, 16), (256, 2), (40, 3), (65_535, 1)] {
        let mut board = Board::new();
        let mut server = Server::new(at_reset(&mut board));
        answers(&mut server, &hello(1));
        let too_large = Error::Configure(ConfigureError::MachineTooLarge);
        assert_eq!(
            answers(&mut server, &configure(k, n)),
            [(7, 0, ServerMessage::Reply(Reply::Error(too_large)))]
        );
    }
}

#[test]
fn radices_that_no_cube_has_are_no_message() {
    let mut buffer = ClientFrameBuffer::new();
    // Command, no time, Submit, job, Radices, processors, flags.
    let mut submit = |radices: &[u16]| {
        let body = (1_u8, 0_u8, 1_u8, 5_u8, 1_u8, radices, 1_u8, 0_u8);
        encode(&mut buffer, &body)
    };
    for radices in [
        &[0][..],
        &[1],
        &[4, 1, 2],
        &[2; 17],
        &[2, 2, 65_535, 2],
        &[5; 14],
    ] {
        check_bad_message(&submit(radices));
    }
    // Those at the edge are read, and refused as too large for the machine.
    for radices in [&[2; 16][..], &[2, 2, 65_535], &[5; 13]] {
        let mut board = Board::new();
        let mut server = Server::new(at_reset(&mut board));
        answers(&mut server, &hello(1));
        let cube = ClientMessage::Command {
            at: None,
            command: Command::Configure(on_cube(4, 3, StrategyKind::TreeCollapsing)),
        };
        let done = ServerMessage::Reply(Reply::Done);
        let configured = answers(&mut server, &frame(Header::new(2, 0), &cube));
        assert_eq!(configured, [(2, 0, done)]);
        let never = Error::Refused(Refusal::NeverFits);
        assert_eq!(
            answers(&mut server, &submit(radices)),
            [(7, 0, ServerMessage::Reply(Reply::Error(never)))]
        );
    }
}

#[test]
fn a_subcube_outside_its_cube_is_no_message() {
    // Reply, Grant, job, time, attempts, misses, blocks in all, first, one block: Subcube, k, n, first, last.
    let grant = |cube: (u16, u8), first: u16, last: u16| {
        let body = (
            (1_u8, 0_u8, 1_u8, 0_u8, 1_u8, 0_u8, 1_u8, 0_u8, 1_u8),
            (1_u8, cube, first, last),
        );
        let mut room = [0; 64];
        let bytes = postcard::to_slice(&body, &mut room).expect("64 bytes");
        postcard::from_bytes::<ServerMessage>(bytes)
    };
    for (cube, first, last) in [
        ((4, 3), 64, 0),
        ((4, 3), 0, 64),
        ((4, 3), 65_535, 65_535),
        ((1, 3), 0, 0),
        ((2, 17), 0, 0),
    ] {
        let message = grant(cube, first, last);
        assert!(message.is_err(), "{message:?}");
    }
    for ((k, n), first, last) in [((4, 3), 63, 0), ((2, 16), 65_535, 65_535)] {
        let cube = Cube::new(k, n).expect("a cube");
        let node = |number| NodeId(u32::from(number));
        let subcube = Subcube::between(cube, node(first), node(last)).expect("in the cube");
        let message = grant((k, n), first, last);
        assert!(
            matches!(&message, Ok(ServerMessage::Reply(Reply::Grant(grant))) if grant.blocks[0] == subcube.into()),
            "{message:?}"
        );
    }
}

fn encode(buffer: &mut ClientFrameBuffer, body: &impl serde::Serialize) -> Vec<u8> {
    let frame = buffer.encode(Header::new(7, 0), body);
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
        Some((7, ProtocolError::HelloFirst)),
        LineCounters {
            frames: 1,
            before_hello: 1,
            ..LineCounters::default()
        },
    );
}

#[test]
fn a_repeated_frame_is_answered_again_and_not_carried_out_again() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board));
    answers(&mut server, &hello(1));
    let first = answers(&mut server, &submission(2, 1));
    assert_eq!(first.len(), 2);
    for _ in 0..3 {
        assert_eq!(answers(&mut server, &submission(2, 1)), first);
    }
    assert_eq!(server.counters().repeated, 3);
    assert_eq!(server.controller().statistics().submitted, 1);
    // Another number, or another content, is another command.
    let refused = answers(&mut server, &submission(3, 1));
    assert!(matches!(
        refused[..],
        [(3, 0, ServerMessage::Reply(Reply::Error(_)))]
    ));
    let other = answers(&mut server, &submission(3, 2));
    assert_eq!(other.len(), 2);
    // A hello begins a new session: the same number is a new command there.
    answers(&mut server, &hello(2));
    let again = answers(&mut server, &submission(3, 2));
    assert!(matches!(
        again[..],
        [(3, 0, ServerMessage::Reply(Reply::Error(_)))]
    ));
    assert_eq!(server.counters().repeated, 3);
}

#[test]
fn no_bytes_at_all_make_the_server_panic_or_deaf() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let mut board = Board::new();
        let mut server = Server::new(at_reset(&mut board));
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
            matches!(last, Some((5, 0, ServerMessage::Hello(_)))),
            "seed {seed}: {last:?}"
        );
        server.controller().check_invariants();
    }
}

/// A whole frame around a message in which some bytes are others, so that they are read as numbers, tags and lengths.
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
    let mut room = [0; 64];
    let body = postcard::to_slice(message, &mut room).expect("64 bytes");
    for _ in 0..random.below(4) {
        body[random.below(body.len())] = match random.below(3) {
            0 => random.next() as u8,
            1 => random.below(20) as u8,
            _ => 0xff,
        };
    }
    let mut buffer = ClientFrameBuffer::new();
    let header = Header::new(random.next() as u32, 0);
    let frame = buffer.encode(header, &Raw(body));
    frame.expect("it fits").to_vec()
}

#[test]
fn a_client_looks_past_what_is_not_meant_for_it() {
    let mut board = Board::new();
    let mut server = Server::new(at_reset(&mut board));
    let mut client = Client::connect(MemoryLine::new(&mut server), OPTIONS).unwrap();
    // Their answers, one of them for a number that is not the client's next, precede its own reply.
    client.line_mut().inject(&hello(12345));
    client.line_mut().inject(&[0, 9, 9, 9, 0]);
    let replies = call(&mut client, &submit(1, 2, 2), None).unwrap();
    assert_eq!(replies.len(), 2);
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
    let error = Client::connect(Silent, options)
        .err()
        .expect("nobody is there");
    assert!(
        matches!(&error, ClientError::NoReply { tries: 3, heard, .. } if heard.bytes == 0),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(
        text.contains("Hello") && text.contains("3 times") && text.contains("nothing at all"),
        "{text}"
    );
}
