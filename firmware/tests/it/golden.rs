//! `PROTOCOL.md` against the code: every frame in it is made and read again, byte for byte.
//!
//! `MESHALLOC_REFRESH_GOLDEN=1 cargo test -p meshalloc-firmware` writes the frames of the present code
//! into the file; that they have changed is then a question of the protocol's version.

use std::fmt::Write as _;
use std::path::Path;

use meshalloc::{Command, Grant, Grid, NodeId, Reply, StrategyKind};
use meshalloc_firmware::frame::{
    CLIENT_FRAME_MAX, ClientFrameBuffer, Decoder, Header, SERVER_CONTENT_MAX, SERVER_FRAME_MAX,
    ServerFrameBuffer,
};
use meshalloc_firmware::protocol::{CLIENT_BODY_MAX, SERVER_BODY_MAX};
use meshalloc_firmware::{ClientMessage, ServerMessage};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::board::{Board, at_reset, grid, handle, on, on_cube, submit, submit_shape};
use crate::longest::{longest_client_messages, longest_server_messages};
use crate::samples::{client_messages, server_messages};

const BEGIN: &str = "<!-- golden frames: begin -->\n";
const END: &str = "<!-- golden frames: end -->";
/// The sequence number and the part of all golden frames.
const SEQ: u32 = 0x0403_0201;
const PART: u16 = 0;

/// Through a frame and back.
fn round_trip<M: Serialize + DeserializeOwned>(message: &M) -> (M, Vec<u8>) {
    let mut buffer = ServerFrameBuffer::new();
    let header = Header::new(SEQ, PART);
    let frame = buffer.encode(header, message).expect("it fits").to_vec();
    let mut decoder = Decoder::<SERVER_CONTENT_MAX>::new();
    let (last, before) = frame.split_last().expect("it has delimiters");
    for &byte in before {
        assert_eq!(decoder.push(byte), None);
    }
    let decoded = decoder
        .push(*last)
        .expect("the delimiter ends it")
        .expect("it is whole");
    assert_eq!(decoded.header, header);
    let (message, rest) = postcard::take_from_bytes(decoded.body).expect("it is a message");
    assert!(rest.is_empty());
    (message, frame)
}

fn table<M: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    text: &mut String,
    title: &str,
    messages: &[(String, M)],
) {
    writeln!(text, "\n### {title}\n\n```text").expect("a string takes everything");
    for (name, message) in messages {
        let (again, frame) = round_trip(message);
        assert_eq!(again, *message, "{name}");
        let hex: Vec<String> = frame.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "{name}\n    {}", hex.join(" ")).expect("a string takes everything");
    }
    writeln!(text, "```").expect("a string takes everything");
}

#[test]
fn every_variant_comes_back_and_its_frame_is_the_golden_one() {
    let mut frames = String::new();
    table(&mut frames, "From the client", &client_messages());
    table(&mut frames, "From the server", &server_messages());
    frames.push('\n');

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("PROTOCOL.md");
    let text = std::fs::read_to_string(&path).expect("PROTOCOL.md can be read");
    let (before, rest) = text.split_once(BEGIN).expect("the golden frames begin");
    let (golden, after) = rest.split_once(END).expect("the golden frames end");
    if std::env::var_os("MESHALLOC_REFRESH_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&path, format!("{before}{BEGIN}{frames}{END}{after}"))
            .expect("PROTOCOL.md can be written");
        return;
    }
    for (golden, present) in golden.lines().zip(frames.lines()) {
        assert_eq!(golden, present, "PROTOCOL.md (left) and the code differ");
    }
    assert_eq!(golden, frames, "PROTOCOL.md (left) and the code differ");
}

/// The worked example of `PROTOCOL.md`, made without the code under test but for the CRC.
#[test]
fn the_worked_example_is_right() {
    let text = include_str!("../../PROTOCOL.md");
    let content = "02 2a 00 00 00 00 00 01 00 01 05 02 04 03 0c 00 00";
    let mut bytes: Vec<u8> = content
        .split(' ')
        .map(|byte| u8::from_str_radix(byte, 16).expect("hex"))
        .collect();
    let crc = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
    assert_eq!(crc.checksum(b"123456789"), 0xcbf4_3926);
    bytes.extend(crc.checksum(&bytes).to_le_bytes());
    // COBS by its definition, for a content without 254 bytes in a row that are not 0.
    let mut line = vec![0];
    for run in bytes.split(|&byte| byte == 0) {
        line.push(run.len() as u8 + 1);
        line.extend(run);
    }
    line.push(0);

    let mut buffer = ClientFrameBuffer::new();
    let message = ClientMessage::Command {
        at: None,
        command: submit(5, 4, 3),
    };
    assert_eq!(buffer.encode(Header::new(42, 0), &message), Ok(&line[..]));
    let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
    for shown in [content, &hex.join(" ")] {
        assert!(text.contains(shown), "PROTOCOL.md does not show {shown}");
    }
}

/// The content of the message's frame, part 0.
fn content(seq: u32, message: &impl Serialize) -> Vec<u8> {
    let mut buffer = ServerFrameBuffer::new();
    let frame = buffer.encode(Header::new(seq, 0), message);
    let frame = frame.expect("it fits").iter();
    let inside: Vec<u8> = frame.copied().filter(|&byte| byte != 0).collect();
    let mut content = vec![0; inside.len()];
    let report = cobs::decode(&inside, &mut content).expect("it is COBS");
    content.truncate(report.frame_size());
    content
}

/// The frames that `PROTOCOL.md` explains field by field, as bytes: a block of lines with a remark behind each.
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

/// The grant of job 5 on an empty machine under tree collapsing.
fn granted(machine: Grid, extents: &[u16]) -> Reply {
    let mut board = Board::new();
    let mut controller = at_reset(&mut board);
    let configure = Command::Configure(on(machine, StrategyKind::TreeCollapsing));
    assert_eq!(handle(&mut controller, &configure, 0), [Reply::Done]);
    handle(&mut controller, &submit_shape(5, extents), 0).swap_remove(0)
}

#[test]
fn what_the_examples_explain_is_what_is_sent() {
    let cube = on_cube(4, 3, StrategyKind::TreeCollapsing).machine;
    let grant = granted(cube, &[4, 2]);
    let Reply::Grant(Grant { blocks, .. }) = &grant else {
        panic!("{grant:?}");
    };
    let nodes = (0..64).filter(|&node| cube.holds(blocks[0], NodeId(node)));
    let nodes: Vec<u32> = nodes.collect();
    assert_eq!(nodes, [0, 1, 4, 5, 8, 9, 12, 13]);

    let command = |command| ClientMessage::Command { at: None, command };
    let sent = [
        content(42, &command(submit(5, 4, 3))),
        content(43, &command(submit_shape(5, &[4, 2]))),
        content(43, &ServerMessage::Reply(grant)),
    ];
    assert_eq!(explained(), sent);
}

/// The tables of `PROTOCOL.md` with the bytes of grids and of blocks.
#[test]
fn the_grids_and_blocks_of_the_tables_have_these_bytes() {
    let text = include_str!("../../PROTOCOL.md");
    let hex = |bytes: &[u8]| {
        let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        bytes.join(" ")
    };
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
        let frame = buffer.encode(Header::new(u32::MAX, u16::MAX), &message);
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
