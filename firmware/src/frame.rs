//! Converts messages to frames and back.
//!
//! ```text
//!   on the line   00 │ COBS of the content, free of 00 │ 00
//!   content       version u8 │ seq u32 │ client u32 │ body: postcard │ crc u32    (little endian)
//! ```
//!
//! COBS replaces each 00 of the content by the distance to the next 00, and adds a distance in
//! front. A run of 254 bytes without a 00 gets the distance FF, which stands for no 00:
//!
//! ```text
//!   content          11 22 00 33
//!   on the line   00 03 11 22 02 33 00       03: the first 00 is 3 bytes on; 02: the end is 2 on
//! ```
//!
//! A 00 always ends a frame, so a receiver is in step again after the next 00. Senders also put a
//! 00 *before* the frame. Without it the rest of a frame whose end was lost would swallow the next
//! frame. Receivers ignore empty frames.
//!
//! Version, sequence number, client and CRC have the same positions in every version of the
//! protocol.

use cobs::{DecodeResult, DecoderState};
use heapless::Vec;
use meshalloc::checksum::Crc32;
use serde::Serialize;

use crate::body;
use crate::protocol::{CLIENT_BODY_MAX, PROTOCOL_VERSION, SERVER_BODY_MAX};

/// The number of bytes before the body.
pub const HEADER_LEN: usize = 1 + 4 + 4;
/// The number of bytes after the body.
pub const CRC_LEN: usize = 4;

/// The maximum length of a client's content, in bytes.
pub const CLIENT_CONTENT_MAX: usize = HEADER_LEN + CLIENT_BODY_MAX + CRC_LEN;
/// The maximum length of a server's content, in bytes.
pub const SERVER_CONTENT_MAX: usize = HEADER_LEN + SERVER_BODY_MAX + CRC_LEN;
/// The maximum length of a client's frame on the line, in bytes, with both delimiters.
pub const CLIENT_FRAME_MAX: usize = cobs::max_encoding_length(CLIENT_CONTENT_MAX) + 2;
/// The maximum length of a server's frame on the line, in bytes, with both delimiters.
pub const SERVER_FRAME_MAX: usize = cobs::max_encoding_length(SERVER_CONTENT_MAX) + 2;

/// The fields before every body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Header {
    /// The sender's protocol version.
    pub version: u8,
    /// The client's number of the exchange; the server echoes it.
    pub seq: u32,
    /// The number that the client has chosen for itself at random; the server echoes it.
    pub client: u32,
}

impl Header {
    /// Makes the header of a frame of this protocol version.
    pub const fn new(client: u32, seq: u32) -> Self {
        Header {
            version: PROTOCOL_VERSION,
            seq,
            client,
        }
    }

    const fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [a, b, c, d] = self.seq.to_le_bytes();
        let [e, f, g, h] = self.client.to_le_bytes();
        [self.version, a, b, c, d, e, f, g, h]
    }

    const fn from_bytes([version, a, b, c, d, e, f, g, h]: [u8; HEADER_LEN]) -> Self {
        Header {
            version,
            seq: u32::from_le_bytes([a, b, c, d]),
            client: u32::from_le_bytes([e, f, g, h]),
        }
    }
}

/// The message is longer than the buffer allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTooLong;

/// A buffer that encodes frames. A content has at most `CONTENT` bytes, its frame at most `FRAME`.
#[derive(Debug)]
pub struct FrameBuffer<const CONTENT: usize, const FRAME: usize> {
    frame: [u8; FRAME],
}

/// The bytes before the content: the delimiter, and the distance to the first 00 of the content.
const BEFORE: usize = 2;
/// The longest run without a 00 after one distance, in bytes.
const RUN_MAX: usize = 254;

/// A buffer for the frames of a client.
pub type ClientFrameBuffer = FrameBuffer<CLIENT_CONTENT_MAX, CLIENT_FRAME_MAX>;
/// A buffer for the frames of a server.
pub type ServerFrameBuffer = FrameBuffer<SERVER_CONTENT_MAX, SERVER_FRAME_MAX>;

impl<const CONTENT: usize, const FRAME: usize> FrameBuffer<CONTENT, FRAME> {
    const VALID: () = assert!(
        CONTENT >= HEADER_LEN + CRC_LEN && FRAME >= cobs::max_encoding_length(CONTENT) + 2,
        "a frame buffer needs CONTENT >= 13 and FRAME >= the COBS of CONTENT and two delimiters"
    );

    /// An empty buffer.
    pub const fn new() -> Self {
        const { Self::VALID };
        FrameBuffer { frame: [0; FRAME] }
    }

    /// Encodes a message. Returns the bytes for the line, including both delimiters.
    ///
    /// # Errors
    ///
    /// If the message is longer than the buffer allows; no message of this protocol is.
    pub fn encode(
        &mut self,
        header: Header,
        message: &impl Serialize,
    ) -> Result<&[u8], MessageTooLong> {
        let (_, content) = self.frame.split_at_mut(BEFORE);
        let content = content.get_mut(..CONTENT).ok_or(MessageTooLong)?;
        let (head, rest) = content
            .split_first_chunk_mut::<HEADER_LEN>()
            .ok_or(MessageTooLong)?;
        *head = header.to_bytes();
        let body_len = body::encode(message, rest).map_err(|_| MessageTooLong)?;
        let (covered, rest) = content.split_at_mut(HEADER_LEN + body_len);
        let crc = rest.first_chunk_mut::<CRC_LEN>().ok_or(MessageTooLong)?;
        *crc = Crc32::new().with(covered).to_le_bytes();
        let len = BEFORE + covered.len() + CRC_LEN;
        let len = stuff(&mut self.frame, len).ok_or(MessageTooLong)?;
        Ok(&self.frame[..len])
    }
}

/// Encodes in place the content that ends at `end`: each 00 becomes the distance to the next one.
/// Returns the length of the frame, or `None` if the frame is too long for the buffer.
fn stuff(frame: &mut [u8], mut end: usize) -> Option<usize> {
    *frame.first_mut()? = 0;
    // The distance that ends at `at` is stored at `from`.
    let (mut from, mut at) = (BEFORE - 1, BEFORE);
    while at < end {
        if at - from > RUN_MAX {
            // No 00 in a full run: insert a distance.
            frame.get(end)?;
            // A full run is rare, so a slow loop will do. `copy_within` would take a kilobyte of
            // flash.
            (at..end)
                .rev()
                .for_each(|place| frame.swap(place, place + 1));
            end += 1;
            *frame.get_mut(from)? = u8::MAX;
            from = at;
            at += 1;
        }
        if *frame.get(at)? == 0 {
            *frame.get_mut(from)? = (at - from) as u8;
            from = at;
        }
        at += 1;
    }
    *frame.get_mut(from)? = (at - from) as u8;
    *frame.get_mut(at)? = 0;
    Some(at + 1)
}

impl<const CONTENT: usize, const FRAME: usize> Default for FrameBuffer<CONTENT, FRAME> {
    fn default() -> Self {
        Self::new()
    }
}

/// A whole frame with the right CRC, of any protocol version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The fields before the body.
    pub header: Header,
    /// The postcard bytes.
    pub body: &'a [u8],
}

/// The kinds of damage to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Damage {
    /// The frame is not COBS: it was cut short, or is garbage.
    BadCobs,
    /// The frame is too short for a header and a CRC.
    TooShort,
    /// The frame is longer than any message.
    TooLong,
    /// The CRC is wrong.
    BadCrc,
}

/// A frame that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedFrame {
    /// The kind of damage.
    pub damage: Damage,
    /// Its header, which may be wrong; `None` if the frame is too short for one.
    pub header: Option<Header>,
}

/// Finds the frames in a stream of bytes, one byte at a time. It stores one content of up to
/// `CONTENT` bytes.
///
/// Time: O(1) for each byte.
#[derive(Debug, Default)]
pub struct Decoder<const CONTENT: usize> {
    state: DecoderState,
    content: Vec<u8, CONTENT>,
    /// The CRC of the content so far.
    crc: Crc32,
    too_long: bool,
}

impl<const CONTENT: usize> Decoder<CONTENT> {
    /// Makes a decoder, before its first byte.
    pub const fn new() -> Self {
        Decoder {
            state: DecoderState::Idle,
            content: Vec::new(),
            crc: Crc32::new(),
            too_long: false,
        }
    }

    /// The body of the frame that [`Decoder::push`] returned last. Valid until the next byte.
    pub(crate) fn body(&self) -> &[u8] {
        let end = self.content.len().saturating_sub(CRC_LEN);
        self.content.get(HEADER_LEN..end).unwrap_or_default()
    }

    /// Whether no frame has begun. A 00 has no effect then.
    pub const fn is_idle(&self) -> bool {
        matches!(self.state, DecoderState::Idle)
    }

    /// Takes one byte from the line. Returns a frame or a damaged frame if the byte ends it.
    pub fn push(&mut self, byte: u8) -> Option<Result<Frame<'_>, DamagedFrame>> {
        match self.state.feed(byte) {
            Ok(DecodeResult::NoData) => None,
            Ok(DecodeResult::DataStart) => {
                self.content.clear();
                self.crc = Crc32::new();
                self.too_long = false;
                None
            }
            Ok(DecodeResult::DataContinue(byte)) => {
                // Bytes that do not fit are dropped. The header stays, for the answer.
                self.too_long |= self.content.push(byte).is_err();
                self.crc.take(byte);
                None
            }
            Ok(DecodeResult::DataComplete) => Some(self.frame()),
            Err(_) => {
                // The byte was a 00 in the middle of a run. The state is idle again.
                let damage = if self.too_long {
                    Damage::TooLong
                } else {
                    Damage::BadCobs
                };
                Some(Err(self.damaged(damage)))
            }
        }
    }

    fn frame(&self) -> Result<Frame<'_>, DamagedFrame> {
        if self.too_long {
            return Err(self.damaged(Damage::TooLong));
        }
        let too_short = || self.damaged(Damage::TooShort);
        let (covered, _) = self
            .content
            .split_last_chunk::<CRC_LEN>()
            .ok_or_else(too_short)?;
        let (header, body) = covered
            .split_first_chunk::<HEADER_LEN>()
            .ok_or_else(too_short)?;
        if !self.crc.ends_with_itself() {
            return Err(self.damaged(Damage::BadCrc));
        }
        Ok(Frame {
            header: Header::from_bytes(*header),
            body,
        })
    }

    fn damaged(&self, damage: Damage) -> DamagedFrame {
        let header = self.content.first_chunk::<HEADER_LEN>();
        DamagedFrame {
            damage,
            header: header.map(|header| Header::from_bytes(*header)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_those_of_an_independent_encoder() {
        const LEN: usize = 3 * RUN_MAX + 5;
        // No byte is 00, all are, and some are at different distances.
        let contents: [fn(usize) -> u8; 5] = [
            |_| 1,
            |_| 0,
            |at| u8::from(at % 7 != 0),
            |at| u8::from(at != 3 && at != 300),
            |at| u8::from(at % (RUN_MAX + 1) != RUN_MAX),
        ];
        for content in contents.map(core::array::from_fn::<u8, LEN, _>) {
            for len in 0..=LEN {
                let (mut frame, mut expected) = ([7; LEN + 6], [7; LEN + 6]);
                frame[BEFORE..][..len].copy_from_slice(&content[..len]);
                let frame_len = stuff(&mut frame, BEFORE + len).expect("there is room");
                let expected_len =
                    cobs::try_encode_including_sentinels(&content[..len], &mut expected)
                        .expect("there is room");
                assert_eq!((len, frame_len), (len, expected_len));
                assert_eq!(frame[..frame_len], expected[..expected_len]);
            }
        }
    }

    #[test]
    fn the_drawn_content_makes_the_drawn_frame() {
        let mut frame = [0, 0, 0x11, 0x22, 0, 0x33, 0xff];
        assert_eq!(stuff(&mut frame, BEFORE + 4), Some(7));
        assert_eq!(frame, [0, 3, 0x11, 0x22, 2, 0x33, 0]);
    }

    #[test]
    fn a_frame_without_room_is_refused() {
        let frame = [1; BEFORE + RUN_MAX + 3];
        let stuffed = |room: usize, len| {
            let mut frame = frame;
            stuff(&mut frame[..room], BEFORE + len)
        };
        assert_eq!(stuffed(frame.len() - 2, RUN_MAX), Some(RUN_MAX + 3));
        assert_eq!(stuffed(frame.len(), RUN_MAX + 1), Some(RUN_MAX + 5));
        assert_eq!(stuffed(frame.len() - 1, RUN_MAX + 1), None);
    }
}
