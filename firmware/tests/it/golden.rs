//! `PROTOCOL.md` and `golden-frames.txt` against the code: every frame in them is encoded and
//! decoded again, byte for byte.
//!
//! `MESHALLOC_REFRESH_GOLDEN=1 cargo test -p meshalloc-firmware` writes the frames of the present
//! code to `golden-frames.txt`. A frame that has changed may need a new version of the protocol.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use meshalloc::{Change, Controller, NodeId, SchedulerKind, StrategyKind};
use meshalloc_firmware::frame::{
    CLIENT_FRAME_MAX, ClientFrameBuffer, Decoder, Header, SERVER_CONTENT_MAX, SERVER_FRAME_MAX,
    ServerFrameBuffer,
};
use meshalloc_firmware::protocol::{CLIENT_BODY_MAX, SERVER_BODY_MAX};
use meshalloc_firmware::{
    ClientMessage, PROTOCOL_VERSION, Received, Server, ServerMessage, Session,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::board::{Board, grid, on_cube, release, submit_shape};
use crate::longest::{longest_client_messages, longest_server_messages};
use crate::samples::{client_messages, server_messages};

/// The first lines of `golden-frames.txt`.
const INTRODUCTION: &str = "\
# Golden frames: every message of PROTOCOL.md, as one whole frame with both delimiters.
# All have seq 04030201 and client 08070605. Bytes are hexadecimal.
# MESHALLOC_REFRESH_GOLDEN=1 cargo test -p meshalloc-firmware writes this file.
";
/// The header of all golden frames.
const GOLDEN: Header = Header::new(0x0807_0605, 0x0403_0201);
/// The client of the examples, and its session.
const CLIENT: u32 = 7;
const SESSION: Session = Session {
    boot: 1000,
    number: 1,
};

fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

/// Through a frame and back.
fn round_trip<M: Serialize + DeserializeOwned>(message: &M) -> (M, Vec<u8>) {
    let mut buffer = ServerFrameBuffer::new();
    let frame = buffer.encode(GOLDEN, message).expect("it fits").to_vec();
    let mut decoder = Decoder::<SERVER_CONTENT_MAX>::new();
    let (last, before) = frame.split_last().expect("it has delimiters");
    for &byte in before {
        assert_eq!(decoder.push(byte), None);
    }
    let decoded = decoder
        .push(*last)
        .expect("the delimiter ends it")
        .expect("it is whole");
    assert_eq!(decoded.header, GOLDEN);
    let (message, rest) = postcard::take_from_bytes(decoded.body).expect("it is a message");
    assert!(rest.is_empty());
    (message, frame)
}

fn table<M: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    text: &mut String,
    title: &str,
    messages: &[(String, M)],
) {
    writeln!(text, "\n# {title}\n").expect("a string takes everything");
    // Many names are texts of errors.
    let names: BTreeSet<&String> = messages.iter().map(|(name, _)| name).collect();
    assert_eq!(
        names.len(),
        messages.len(),
        "some messages have the same name"
    );
    for (name, message) in messages {
        assert!(!name.trim_end().ends_with(':'), "an error without a text");
        let (again, frame) = round_trip(message);
        assert_eq!(again, *message, "{name}");
        writeln!(text, "{name}\n    {}", hex(&frame)).expect("a string takes everything");
    }
}

#[test]
fn every_variant_comes_back_and_its_frame_is_the_golden_one() {
    let mut frames = INTRODUCTION.to_owned();
    table(&mut frames, "From the client", &client_messages());
    table(&mut frames, "From the server", &server_messages());

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden-frames.txt");
    if std::env::var_os("MESHALLOC_REFRESH_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&path, frames).expect("golden-frames.txt can be written");
        return;
    }
    let golden = std::fs::read_to_string(&path).expect("golden-frames.txt can be read");
    for (golden, present) in golden.lines().zip(frames.lines()) {
        assert_eq!(
            golden, present,
            "golden-frames.txt (left) and the code differ"
        );
    }
    assert_eq!(
        golden, frames,
        "golden-frames.txt (left) and the code differ"
    );
}

#[test]
fn the_worked_example_is_right() {
    let words = include_str!("../../PROTOCOL.md").split_whitespace();
    let text = words.collect::<Vec<_>>().join(" ");
    let mut buffer = ClientFrameBuffer::new();
    let message = command(0, submit_shape(5, &[4, 4, 4]));
    let line = buffer.encode(Header::new(CLIENT, 42), &message);
    let shown = hex(line.expect("it fits"));
    assert!(text.contains(&shown), "PROTOCOL.md does not show {shown}");
}

/// Wherever `PROTOCOL.md` names the version, it is that of the code. (Other tests compare the
/// frames.)
#[test]
fn the_documented_version_is_that_of_the_code() {
    let text = include_str!("../../PROTOCOL.md");
    let title = format!("# The protocol, version {PROTOCOL_VERSION}");
    assert_eq!(text.lines().next(), Some(&title[..]));
    let (frames, _) = text.split_once("## 2 ").expect("section 2");
    let version = frames.lines().find(|line| line.contains("version, "));
    let field = format!("              0       1      version, {PROTOCOL_VERSION:02x}");
    assert_eq!(version, Some(&field[..]));
}

fn command(since: u64, change: Change) -> ClientMessage {
    ClientMessage::Change {
        session: SESSION,
        since,
        at: None,
        change,
    }
}

/// The content of a frame with both delimiters.
fn content(frame: &[u8]) -> Vec<u8> {
    let inside: Vec<u8> = frame.iter().copied().filter(|&byte| byte != 0).collect();
    let mut content = vec![0; inside.len()];
    let report = cobs::decode(&inside, &mut content).expect("it is COBS");
    content.truncate(report.frame_size());
    content
}

/// The frames that `PROTOCOL.md` explains field by field, as bytes: a block of lines with a remark
/// behind each.
fn explained() -> Vec<Vec<u8>> {
    let text = include_str!("../../PROTOCOL.md");
    let (_, section) = text.split_once("## 5 Examples").expect("section 5");
    let (section, _) = section.split_once("## 6 ").expect("section 6");
    let blocks = section.split("```text\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split_once("```"));
    blocks
        .filter(|(block, _)| block.contains("version"))
        .map(|(block, _)| {
            let fields = block.lines().filter_map(|line| line.split("  ").next());
            fields
                .flat_map(|field| field.split(' '))
                .map(|byte| u8::from_str_radix(byte, 16).expect("hex"))
                .collect()
        })
        .collect()
}

/// The conversation of section 5 with a server: its first message and two replies, as contents of
/// frames.
#[test]
fn the_explained_examples_are_sent() {
    let mut board = Board::new();
    let cube = on_cube(4, 3, StrategyKind::TreeCollapsing);
    let controller = Controller::new(board.memory(), cube).expect("64 processors fit");
    let mut server = Server::new(controller, SESSION.boot);
    let mut exchange = |seq: u32, message: ClientMessage| {
        let mut buffer = ClientFrameBuffer::new();
        let frame = buffer.encode(Header::new(CLIENT, seq), &message);
        let frame = frame.expect("it fits");
        let mut room = [0; SERVER_FRAME_MAX];
        let mut line = &mut room[..];
        server.receive(frame, 0, &mut line).expect("there is room");
        let rest = line.len();
        let mut nothing = Received {
            bytes: &[],
            line: &mut Vec::new(),
        };
        while server.work(&mut nothing).expect("a vector takes all") {}
        let answer = &room[..SERVER_FRAME_MAX - rest];
        [content(frame), content(answer)]
    };
    exchange(41, ClientMessage::Hello);
    let [alone, _] = exchange(42, command(0, submit_shape(5, &[4, 4, 4])));
    let conversation = [
        exchange(43, command(1, submit_shape(6, &[4, 2]))),
        exchange(44, command(1, submit_shape(7, &[4, 2]))),
        exchange(45, command(1, release(5))),
    ];
    let [[_, waits], _, [_, released]] = conversation;
    let shown = [alone, waits, released];
    for (number, (explained, sent)) in explained().iter().zip(&shown).enumerate() {
        assert_eq!(explained, sent, "example {number}: {sent:02x?}");
    }
    assert_eq!(explained().len(), shown.len());

    let job = server
        .controller()
        .jobs()
        .running()
        .find(|job| job.id().0 == 6);
    let block = server.controller().blocks(job.expect("it runs")).next();
    let block = block.expect("it holds one");
    let nodes = (0..64).filter(|&node| cube.machine.holds(block, NodeId(node)));
    let nodes: Vec<u32> = nodes.collect();
    assert_eq!(nodes, [0, 1, 4, 5, 8, 9, 12, 13]);
}

/// The tables of `PROTOCOL.md` with the bytes of grids and of blocks.
#[test]
fn the_grids_and_blocks_of_the_tables_have_these_bytes() {
    let text = include_str!("../../PROTOCOL.md");
    let mut rows = Vec::new();
    for machine in [
        "mesh 16x22",
        "4-ary 3-cube",
        "torus 8x8x16",
        "mesh 8x8x16 wrap 2",
    ] {
        let mut room = [0; 64];
        let bytes = postcard::to_slice(&grid(machine), &mut room).expect("64 bytes");
        rows.push(format!("| {machine} | `{}` |", hex(bytes)));
    }
    for (machine, start, extent) in [
        ("mesh 16x22", &[3, 14][..], &[4, 2][..]),
        ("4-ary 3-cube", &[3, 0, 3], &[2, 2, 2]),
        ("torus 8x8x16", &[7, 2, 12], &[2, 3, 8]),
    ] {
        let block = grid(machine).block(start, extent).expect("a part of it");
        let mut room = [0; 64];
        let bytes = postcard::to_slice(&block, &mut room).expect("64 bytes");
        let numbers: [u16; 4] = postcard::from_bytes(bytes).expect("four numbers");
        let plain = |numbers: &[u16]| {
            let numbers: Vec<String> = numbers.iter().map(u16::to_string).collect();
            numbers.join(", ")
        };
        rows.push(format!(
            "| {machine} | {} | {} | {} | `{}` |",
            plain(start),
            plain(extent),
            plain(&numbers),
            hex(bytes)
        ));
    }
    let cube = grid("4-ary 3-cube");
    let around = cube.block(&[3, 0, 3], &[2, 2, 2]).expect("a part of it");
    let nodes = (0..64).filter(|&node| cube.holds(around, NodeId(node)));
    let nodes: Vec<u32> = nodes.collect();
    assert_eq!(nodes, [0, 3, 4, 7, 48, 51, 52, 55]);
    for row in rows {
        assert!(text.contains(&row), "PROTOCOL.md does not say {row}");
    }
}

/// The tables of `PROTOCOL.md` with the numbers of strategies and schedulers.
#[test]
fn strategies_and_schedulers_have_the_numbers_of_the_tables() {
    let text = include_str!("../../PROTOCOL.md");
    let row = |number: u8, name: &str| {
        let begin = format!("| {number} | `{name}` |");
        let mut rows = text.lines().filter_map(|line| line.strip_prefix(&begin));
        let row = rows.next();
        row.unwrap_or_else(|| panic!("PROTOCOL.md has no row {begin}"))
    };
    let mut room = [0; 64];
    for &strategy in StrategyKind::ALL {
        let bytes = postcard::to_slice(&strategy, &mut room).expect("64 bytes");
        let row = row(bytes[0], strategy.name());
        assert_eq!(row == " |", bytes.len() == 1, "parameters: {row}");
    }
    for &scheduler in SchedulerKind::ALL {
        let bytes = postcard::to_slice(&scheduler, &mut room).expect("64 bytes");
        let row = row(bytes[0], scheduler.name());
        assert_eq!(row == " |", bytes.len() == 1, "parameters: {row}");
    }
}

#[test]
fn the_longest_messages_are_as_long_as_the_constants_say() {
    let len = |message: &dyn Fn(&mut [u8]) -> usize| message(&mut [0; 1024]);
    let client = longest_client_messages()
        .iter()
        .map(|message| len(&|room| postcard::to_slice(message, room).expect("1024 bytes").len()))
        .max();
    assert_eq!(client, Some(CLIENT_BODY_MAX));
    let server = longest_server_messages()
        .iter()
        .map(|message| len(&|room| postcard::to_slice(message, room).expect("1024 bytes").len()))
        .max();
    assert_eq!(server, Some(SERVER_BODY_MAX));

    for message in longest_client_messages() {
        let (again, frame) = round_trip::<ClientMessage>(&message);
        assert_eq!(again, message);
        assert!(frame.len() <= CLIENT_FRAME_MAX);
    }
    for message in longest_server_messages() {
        let mut buffer = ServerFrameBuffer::new();
        let frame = buffer.encode(Header::new(u32::MAX, u32::MAX), &message);
        assert!(frame.expect("it fits").len() <= SERVER_FRAME_MAX);
        let mut room = [0; 1024];
        let body = postcard::to_slice(&message, &mut room).expect("1024 bytes");
        assert_eq!(postcard::from_bytes::<ServerMessage>(body), Ok(message));
    }
    let text = include_str!("../../PROTOCOL.md");
    for (direction, body, frame) in [
        ("client", CLIENT_BODY_MAX, CLIENT_FRAME_MAX),
        ("server", SERVER_BODY_MAX, SERVER_FRAME_MAX),
    ] {
        let row = format!("| {direction} | {body} | {frame} |");
        assert!(text.contains(&row), "PROTOCOL.md does not say {row}");
    }
}
