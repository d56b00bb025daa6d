//! The decoder of frames against a naive one.

use meshalloc_firmware::frame::{CLIENT_CONTENT_MAX, CRC_LEN, Decoder, HEADER_LEN, Header};

/// Whole frames and damaged ones come in the order and at the bytes at which a decoder that has the
/// whole stream finds them.
///
/// # Panics
///
/// If one differs.
pub fn frames(bytes: &[u8]) {
    let mut decoder = Decoder::<CLIENT_CONTENT_MAX>::new();
    let mut begin = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let found = decoder.push(byte);
        let expected = match byte {
            0 if begin < at => Some(naive(&bytes[begin..at])),
            _ => None,
        };
        if byte == 0 {
            begin = at + 1;
        }
        match (found, expected) {
            (None, None) | (Some(Err(_)), Some(None)) => {}
            (Some(Ok(frame)), Some(Some((header, body)))) => {
                assert_eq!((frame.header, frame.body), (header, &body[..]));
            }
            (found, expected) => panic!("byte {at}: {found:?}, expected {expected:?}"),
        }
    }
}

/// The frame between two zeros, if it is whole.
fn naive(line: &[u8]) -> Option<(Header, Vec<u8>)> {
    let mut content = Vec::new();
    let mut rest = line;
    while let [code, others @ ..] = rest {
        let (run, after) = others.split_at_checked(usize::from(*code) - 1)?;
        content.extend(run);
        if *code < 0xff && !after.is_empty() {
            content.push(0);
        }
        rest = after;
    }
    if !(HEADER_LEN + CRC_LEN..=CLIENT_CONTENT_MAX).contains(&content.len()) {
        return None;
    }
    let crc = content.split_off(content.len() - CRC_LEN);
    let expected = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&content);
    if crc != expected.to_le_bytes() {
        return None;
    }
    let body = content.split_off(HEADER_LEN);
    let word = |at| u32::from_le_bytes(std::array::from_fn(|byte| content[at + byte]));
    let header = Header {
        version: content[0],
        seq: word(1),
        client: word(5),
    };
    Some((header, body))
}
