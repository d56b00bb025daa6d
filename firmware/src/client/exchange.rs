//! Exchanges one message for its reply: sends, listens, and sends again.

use std::thread;
use std::time::{Duration, Instant};

use super::error::{ClientError, Stray};
use super::{ClientCounters, Line, Options};
use crate::BAUD_DEFAULT;
use crate::frame::{ClientFrameBuffer, Decoder, Frame, Header, MessageTooLong, SERVER_CONTENT_MAX};
use crate::protocol::{ClientMessage, PROTOCOL_VERSION, ProtocolError, ServerMessage};

/// The silence after which a damaged reply counts as over. At 115,200 baud the longest frame takes
/// 25 ms.
const SETTLE: Duration = Duration::from_millis(50);

/// The interval in which an exchange checks whether it is interrupted.
const LOOK: Duration = Duration::from_millis(50);

/// The number of tries at another rate than [`BAUD_DEFAULT`], before the client returns to that
/// rate.
const TRIES_FAST: u32 = 2;
/// The minimum number of tries after the return. The server may need 2.5 s to return, too.
const TRIES_BACK: u32 = 4;
/// The time that the server may take to set another rate.
const SWITCHING: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Exchange<L> {
    line: L,
    /// The rate of this end of the line.
    baud: u32,
    options: Options,
    /// The number of the client.
    client: u32,
    /// The sequence number of the last frame.
    seq: u32,
    buffer: ClientFrameBuffer,
    decoder: Decoder<SERVER_CONTENT_MAX>,
    input: Input,
    counters: ClientCounters,
    stray: Stray,
}

impl<L: Line> Exchange<L> {
    pub(super) fn new(line: L, options: Options, client: u32) -> Self {
        Exchange {
            line,
            baud: BAUD_DEFAULT,
            options,
            client,
            // Any number will do. Starting at the client's number tests the overflow, too.
            seq: client,
            buffer: ClientFrameBuffer::new(),
            decoder: Decoder::new(),
            input: Input {
                bytes: [0; 1024],
                start: 0,
                end: 0,
            },
            counters: ClientCounters::default(),
            stray: Stray::default(),
        }
    }

    pub(super) const fn counters(&self) -> ClientCounters {
        self.counters
    }

    pub(super) const fn line_mut(&mut self) -> &mut L {
        &mut self.line
    }

    /// Sends a new message until its reply arrives.
    pub(super) fn run(&mut self, message: &ClientMessage) -> Result<ServerMessage, ClientError> {
        self.seq = self.seq.wrapping_add(1);
        self.repeat(message)
    }

    /// Asks for the outcome of the last command, which was still under way, by the same frame.
    pub(super) fn ask_again(
        &mut self,
        message: &ClientMessage,
    ) -> Result<ServerMessage, ClientError> {
        self.counters.under_way += 1;
        self.pause();
        self.repeat(message)
    }

    /// Waits a moment before asking again.
    pub(super) fn pause(&self) {
        thread::sleep(self.options.interval);
    }

    /// The time that a controller may spend without progress.
    pub(super) const fn patience(&self) -> Duration {
        self.options.patience
    }

    pub(super) const fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }

    fn look(&self) -> Result<(), ClientError> {
        let interrupted = self.options.interrupted;
        if interrupted.is_some_and(|is_interrupted| is_interrupted()) {
            Err(ClientError::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Sends the message, with the last sequence number, until its reply arrives.
    fn repeat(&mut self, message: &ClientMessage) -> Result<ServerMessage, ClientError> {
        self.stray = Stray::default();
        let started = Instant::now();
        let mut tries = self.options.tries.max(1);
        let mut attempt = 0;
        while attempt < tries {
            self.counters.retries += u64::from(attempt > 0);
            self.send(message)?;
            if let Some(reply) = self.listen(message)? {
                self.counters.exchanges += 1;
                return Ok(reply);
            }
            attempt += 1;
            if self.baud != BAUD_DEFAULT && attempt >= tries.min(TRIES_FAST) {
                self.set_baud(BAUD_DEFAULT)?;
                tries = tries.max(attempt + TRIES_BACK);
            }
        }
        Err(ClientError::no_reply(
            message,
            tries,
            started.elapsed(),
            self.stray,
        ))
    }

    /// The rate of this end of the line.
    pub(super) const fn baud(&self) -> u32 {
        self.baud
    }

    /// Sets the rate of this end of the line.
    fn set_baud(&mut self, baud: u32) -> Result<(), ClientError> {
        self.baud = baud;
        self.line
            .set_baud(baud)
            .map_err(|source| ClientError::Line {
                doing: "setting the rate",
                source,
            })
    }

    /// Follows the server to another rate, and waits until the server has set it.
    pub(super) fn follow(&mut self, baud: u32) -> Result<(), ClientError> {
        self.set_baud(baud)?;
        // Bytes that arrive meanwhile are garbled.
        self.fill(SWITCHING)?;
        (self.input.start, self.input.end) = (0, 0);
        Ok(())
    }

    fn send(&mut self, message: &ClientMessage) -> Result<(), ClientError> {
        self.look()?;
        let frame = self
            .buffer
            .encode(Header::new(self.client, self.seq), message)
            .map_err(|MessageTooLong| ClientError::refused(message, ProtocolError::TooLong))?;
        self.line.send(frame).map_err(|source| ClientError::Line {
            doing: "sending",
            source,
        })
    }

    /// Listens until the reply arrives; `None` if it is time to send again.
    fn listen(&mut self, message: &ClientMessage) -> Result<Option<ServerMessage>, ClientError> {
        // After damage in either direction the reply may never come, so the wait is shorter.
        let mut damaged = false;
        let since = Instant::now();
        loop {
            while let Some(byte) = self.input.next() {
                match self.decoder.push(byte) {
                    None => {}
                    Some(Err(_)) => {
                        self.counters.damaged += 1;
                        self.stray.damaged += 1;
                        damaged = true;
                    }
                    Some(Ok(frame))
                        if (frame.header.client, frame.header.seq) != (self.client, self.seq) =>
                    {
                        self.counters.stale += 1;
                        self.stray.stale += 1;
                    }
                    Some(Ok(frame)) => match read(frame, message)? {
                        Some(reply) => return Ok(Some(reply)),
                        // A copy of the frame arrived damaged: the latest copy, or an earlier one
                        // that was cut short. In the second case the reply to the latest copy still
                        // follows.
                        None => damaged = true,
                    },
                }
            }
            let timeout = if damaged {
                self.options.timeout.min(SETTLE)
            } else {
                self.options.timeout
            };
            // Bytes do not extend the wait, so that noise cannot keep the client from sending
            // again.
            if since.elapsed() > timeout || self.fill(timeout)? == 0 {
                return Ok(None);
            }
        }
    }

    /// Waits for bytes. Returns the number of bytes received.
    fn fill(&mut self, timeout: Duration) -> Result<usize, ClientError> {
        let since = Instant::now();
        let len = loop {
            let left = timeout.saturating_sub(since.elapsed());
            let may_wait = match self.options.interrupted {
                Some(_) => left.min(LOOK),
                None => left,
            };
            // Some lines take a timeout of 0 for no timeout.
            let may_wait = may_wait.max(Duration::from_millis(1));
            let received = self.line.receive(&mut self.input.bytes, may_wait);
            let len = received.map_err(|source| ClientError::Line {
                doing: "waiting for a reply",
                source,
            })?;
            self.look()?;
            if len > 0 || may_wait >= left {
                break len;
            }
        };
        self.input.start = 0;
        self.input.end = len;
        self.stray.bytes += len as u64;
        Ok(len)
    }
}

/// Bytes that were received but not yet decoded.
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

/// The reply in a frame; `None` if the server reports that a frame arrived damaged.
fn read(frame: Frame<'_>, sent: &ClientMessage) -> Result<Option<ServerMessage>, ClientError> {
    let wrong_version = |theirs| ClientError::WrongVersion {
        ours: PROTOCOL_VERSION,
        theirs,
    };
    if frame.header.version != PROTOCOL_VERSION {
        return Err(wrong_version(frame.header.version));
    }
    match postcard::take_from_bytes(frame.body) {
        // The frame changed on its way to the server. This client knows the original and repeats
        // it.
        Ok((ServerMessage::Error(ProtocolError::Damaged | ProtocolError::TooLong), [])) => Ok(None),
        Ok((ServerMessage::Error(ProtocolError::WrongVersion { ours: theirs }), [])) => {
            Err(wrong_version(theirs))
        }
        Ok((message, [])) => Ok(Some(message)),
        _ => Err(ClientError::unknown_reply(sent)),
    }
}
