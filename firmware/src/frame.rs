//! Messages to frames and back.
//!
//! ```text
//!   on the line   00 │ COBS of the content, free of 00 │ 00
//!   content       version u8 │ seq u32 │ client u32 │ body: postcard │ crc u32    (little endian)
//! ```
//!
//! A 00 ends a frame wherever it stands, so a receiver is in step again after the next one whatever it
//! has heard before. Senders put one *before* the frame too: what is left of a frame whose end was lost
//! then cannot swallow the next one. Empty frames mean nothing.
//!
//! Version, sequence number, client and CRC stand at the same places in every version of the protocol.

use cobs::{DecodeResult, DecoderState};
use heapless::Vec;
use serde::Serialize;

use crate::body;
use crate::checksum::{Crc32, crc32};
use crate::protocol::{CLIENT_BODY_MAX, PROTOCOL_VERSION, SERVER_BODY_MAX};

/// The bytes before the body.
pub const HEADER_LEN: usize = 1 + 4 + 4;
/// The bytes after the body.
pub const CRC_LEN: usize = 4;

/// The most bytes of a content that a client sends.
pub const CLIENT_CONTENT_MAX: usize = HEADER_LEN + CLIENT_BODY_MAX + CRC_LEN;
/// The most bytes of a content that a server sends.
pub const SERVER_CONTENT_MAX: usize = HEADER_LEN + SERVER_BODY_MAX + CRC_LEN;
/// The most bytes on the line of a frame that a client sends, with both delimiters.
pub const CLIENT_FRAME_MAX: usize = cobs::max_encoding_length(CLIENT_CONTENT_MAX) + 2;
/// The most bytes on the line of a frame that a server sends, with both delimiters.
pub const SERVER_FRAME_MAX: usize = cobs::max_encoding_length(SERVER_CONTENT_MAX) + 2;

/// What stands before every body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Header {
    /// The sender's protocol version.
    pub version: u8,
    /// The client's number for the exchange; the server echoes it.
    pub seq: u32,
    /// The client, by the number that it has chosen at random; the server echoes it.
    pub client: u32,
}

impl Header {
    /// The header of a frame of this protocol version.
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

/// The message is longer than the buffer was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTooLong;

/// Room to make frames in: of contents of at most `CONTENT` bytes, which take at most `FRAME`.
#[derive(Debug)]
pub struct FrameBuffer<const CONTENT: usize, const FRAME: usize> {
    frame: [u8; FRAME],
}

/// The bytes before the content: the delimiter, and the distance to the first 00 of the content.
const BEFORE: usize = 2;
/// The longest run without a 00 behind one distance.
const RUN_MAX: usize = 254;

/// Room for the frames of a client.
pub type ClientFrameBuffer = FrameBuffer<CLIENT_CONTENT_MAX, CLIENT_FRAME_MAX>;
/// Room for the frames of a server.
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

    /// The bytes on the line for a message, both delimiters included.
    ///
    /// # Errors
    ///
    /// When the message is longer than the buffer; no message of this protocol is.
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
        *crc = crc32(covered).to_le_bytes();
        let len = BEFORE + covered.len() + CRC_LEN;
        let len = stuff(&mut self.frame, len).ok_or(MessageTooLong)?;
        Ok(&self.frame[..len])
    }
}

/// Makes a frame of the content that ends at `end`, in place: each 00 becomes the distance to the next one. Returns the length of the frame.
fn stuff(frame: &mut [u8], mut end: usize) -> Option<usize> {
    *frame.first_mut()? = 0;
    // Where the distance goes that ends here.
    let (mut from, mut at) = (BEFORE - 1, BEFORE);
    while at < end {
        if at - from > RUN_MAX {
            // No 00 so far: one more distance.
            frame.get(end)?;
            // In few frames. To move them at once takes a kilobyte of flash.
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

/// A whole frame with the right CRC. Its version may be any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What stands before the body.
    pub header: Header,
    /// The postcard bytes.
    pub body: &'a [u8],
}

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Damage {
    /// It is not COBS: cut short, or garbage.
    BadCobs,
    /// Too short for a header and a CRC.
    TooShort,
    /// Longer than any message.
    TooLong,
    /// The CRC is wrong.
    BadCrc,
}

/// A frame that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedFrame {
    /// What is wrong with it.
    pub damage: Damage,
    /// Its header, if there was one; it may be wrong.
    pub header: Option<Header>,
}

/// Finds the frames in a stream of bytes, one byte at a time; holds one content of up to `CONTENT`
/// bytes.
///
/// Time: constant for a byte.
#[derive(Debug, Default)]
pub struct Decoder<const CONTENT: usize> {
    state: DecoderState,
    content: Vec<u8, CONTENT>,
    /// Of the content so far.
    crc: Crc32,
    too_long: bool,
}

impl<const CONTENT: usize> Decoder<CONTENT> {
    /// A decoder before its first byte.
    pub const fn new() -> Self {
        Decoder {
            state: DecoderState::Idle,
            content: Vec::new(),
            crc: Crc32::new(),
            too_long: false,
        }
    }

    /// The body of the frame that [`Decoder::push`] has returned last, until the next byte.
    pub(crate) fn body(&self) -> &[u8] {
        let end = self.content.len().saturating_sub(CRC_LEN);
        self.content.get(HEADER_LEN..end).unwrap_or_default()
    }

    /// Whether no frame has begun: a 00 says nothing then.
    pub const fn is_idle(&self) -> bool {
        matches!(self.state, DecoderState::Idle)
    }

    /// Takes one byte from the line. Returns a frame, or what was to be one, when the byte ends it.
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
                // What does not fit is dropped; the header stays, for the answer.
                self.too_long |= self.content.push(byte).is_err();
                self.crc.take(byte);
                None
            }
            Ok(DecodeResult::DataComplete) => Some(self.frame()),
            Err(_) => {
                // The state is idle again: the byte was a 00 in the middle of a run.
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
        // None of them 00, all of them, and some at different distances.
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
    fn what_has_no_room_is_no_frame() {
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
