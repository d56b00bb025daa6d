//! One message and the whole of its reply: sending, listening, sending again.

use std::time::{Duration, Instant};
use std::vec::Vec;

use meshalloc::Reply;

use super::error::{ClientError, Heard};
use super::{ClientCounters, Line, Options};
use crate::frame::{ClientFrameBuffer, Decoder, Frame, Header, MessageTooLong, SERVER_CONTENT_MAX};
use crate::protocol::{ClientMessage, PROTOCOL_VERSION, ProtocolError, ServerMessage};

/// How long a damaged reply may be silent before it counts as over. At 115200 baud the longest frame
/// takes 25 ms.
const SETTLE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Exchange<L> {
    line: L,
    options: Options,
    /// The number of the last frame.
    seq: u32,
    buffer: ClientFrameBuffer,
    decoder: Decoder<SERVER_CONTENT_MAX>,
    input: Input,
    /// The parts of the reply so far: numbers 0, 1, 2, ... without a gap.
    parts: Vec<Reply>,
    counters: ClientCounters,
    heard: Heard,
}

/// What a frame of the exchange means for it.
#[allow(
    clippy::large_enum_variant,
    reason = "there is one at a time, and it is used at once"
)]
enum Step {
    /// The last part, and none is missing.
    Whole(ServerMessage),
    /// A further part.
    Part(Reply),
    /// A further part, but some are missing before it.
    Gap,
    /// One that was there before.
    Known,
    /// The reply will not become whole any more.
    Again,
}

impl<L: Line> Exchange<L> {
    pub(super) const fn new(line: L, options: Options, seq: u32) -> Self {
        Exchange {
            line,
            options,
            seq: seq.wrapping_sub(1),
            buffer: ClientFrameBuffer::new(),
            decoder: Decoder::new(),
            input: Input {
                bytes: [0; 1024],
                start: 0,
                end: 0,
            },
            parts: Vec::new(),
            counters: ClientCounters {
                exchanges: 0,
                retries: 0,
                stale: 0,
                damaged: 0,
            },
            heard: Heard {
                bytes: 0,
                damaged: 0,
                stale: 0,
                parts: 0,
            },
        }
    }

    pub(super) const fn counters(&self) -> ClientCounters {
        self.counters
    }

    pub(super) const fn line_mut(&mut self) -> &mut L {
        &mut self.line
    }

    /// The parts of the last reply before its final one.
    pub(super) fn parts(&self) -> &[Reply] {
        &self.parts
    }

    /// Sends the message until a whole reply is there. Returns its final part; the others are in
    /// [`Exchange::parts`].
    pub(super) fn run(&mut self, message: &ClientMessage) -> Result<ServerMessage, ClientError> {
        self.seq = self.seq.wrapping_add(1);
        self.heard = Heard::default();
        let started = Instant::now();
        let tries = self.options.tries.max(1);
        for attempt in 0..tries {
            self.counters.retries += u64::from(attempt > 0);
            self.send(message)?;
            if let Some(last) = self.listen(message)? {
                self.counters.exchanges += 1;
                return Ok(last);
            }
        }
        Err(ClientError::no_reply(
            message,
            tries,
            started.elapsed(),
            self.heard,
        ))
    }

    fn send(&mut self, message: &ClientMessage) -> Result<(), ClientError> {
        let frame = self
            .buffer
            .encode(Header::new(self.seq, 0), message)
            .map_err(|MessageTooLong| ClientError::refused(message, ProtocolError::TooLong))?;
        self.line.send(frame).map_err(|source| ClientError::Line {
            doing: "sending",
            source,
        })
    }

    /// Listens until the reply is whole; `None` when sending again is the better idea.
    fn listen(&mut self, message: &ClientMessage) -> Result<Option<ServerMessage>, ClientError> {
        self.parts.clear();
        // Something was damaged: if it belonged to the reply, waiting for the whole timeout is in vain.
        let mut damaged = false;
        let mut last_heard = Instant::now();
        loop {
            while let Some(byte) = self.input.next() {
                match self.decoder.push(byte) {
                    None => {}
                    Some(Err(_)) => {
                        self.counters.damaged += 1;
                        self.heard.damaged += 1;
                        damaged = true;
                    }
                    Some(Ok(frame)) if frame.header.seq != self.seq => {
                        self.counters.stale += 1;
                        self.heard.stale += 1;
                    }
                    Some(Ok(frame)) => {
                        last_heard = Instant::now();
                        self.heard.parts += 1;
                        match step(frame, message, &mut self.parts)? {
                            Step::Whole(last) => return Ok(Some(last)),
                            Step::Again => return Ok(None),
                            Step::Part(reply) => {
                                self.parts.push(reply);
                                damaged = false;
                            }
                            Step::Gap => damaged = true,
                            Step::Known => {}
                        }
                    }
                }
            }
            let timeout = if damaged {
                self.options.timeout.min(SETTLE)
            } else {
                self.options.timeout
            };
            // Bytes alone do not count: noise must not keep the client from sending again.
            if last_heard.elapsed() > timeout || self.fill(timeout)? == 0 {
                return Ok(None);
            }
        }
    }

    /// Waits for bytes and returns how many came.
    fn fill(&mut self, timeout: Duration) -> Result<usize, ClientError> {
        let len = self
            .line
            .receive(&mut self.input.bytes, timeout)
            .map_err(|source| ClientError::Line {
                doing: "waiting for a reply",
                source,
            })?;
        self.input.start = 0;
        self.input.end = len;
        self.heard.bytes += len as u64;
        Ok(len)
    }
}

/// Bytes that were received and not yet looked at.
#[derive(Debug)]
struct Input {
    bytes: [u8; 1024],
    start: usize,
    end: usize,
}

impl Input {
    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.start..self.end)?.first()?;
        self.start += 1;
        Some(byte)
    }
}

/// What a frame of this exchange adds to the reply.
fn step(
    frame: Frame<'_>,
    sent: &ClientMessage,
    parts: &mut Vec<Reply>,
) -> Result<Step, ClientError> {
    let Header { version, part, .. } = frame.header;
    let wrong_version = |theirs| ClientError::WrongVersion {
        ours: PROTOCOL_VERSION,
        theirs,
    };
    if version != PROTOCOL_VERSION {
        return Err(wrong_version(version));
    }
    let Ok((message, [])) = postcard::take_from_bytes::<ServerMessage>(frame.body) else {
        return Err(ClientError::unknown_reply(sent));
    };
    if let ServerMessage::Error(error) = message {
        return match error {
            // The frame was another when it arrived there; what it was is known here.
            ProtocolError::Damaged | ProtocolError::TooLong => Ok(Step::Again),
            ProtocolError::WrongVersion { ours: theirs } => Err(wrong_version(theirs)),
            ProtocolError::HelloFirst => Err(ClientError::ControllerReset),
            ProtocolError::BadMessage => Err(ClientError::refused(sent, error)),
        };
    }

    // Frames do not overtake each other, so the numbers only ever leave some out, or begin again with
    // the reply to a repeated frame. They are counted modulo 65536.
    let expected = parts.len() as u16;
    if part != expected {
        if part != 0 {
            return Ok(if message.is_final() {
                Step::Again
            } else if usize::from(part) < parts.len() {
                Step::Known
            } else {
                Step::Gap
            });
        }
        parts.clear();
    }
    Ok(match message {
        ServerMessage::Reply(reply) if !reply.is_final() => Step::Part(reply),
        last => Step::Whole(last),
    })
}
