//! The controller's half of the protocol: [`Server`].
//!
//! Bytes go in, bytes come out; the clock and the line are the caller's. Whatever arrives, the server
//! does not panic and does not lose a later frame: what is not understood is counted, and answered
//! where a sequence number could be read.
//!
//! # Once, and not twice
//!
//! A client that receives no reply cannot tell which of the two was lost, its frame or the reply, and
//! sends the same frame again. So the server remembers the last command that could change anything:
//! when its frame comes again it repeats the replies and carries nothing out. One is enough,
//! as a client sends no new frame before it has the reply to the last. After a reset the memory is
//! gone, and with it the jobs; a frame that comes again then must not be taken for a new one, so
//! nothing is carried out before a hello.

use embedded_io::Write;
use heapless::String;
use meshalloc::{Command, Controller, Reply, SchedulerKind, StrategyKind, Ticks};
use serde::Serialize;

use crate::frame::{
    CLIENT_CONTENT_MAX, CLIENT_FRAME_MAX, Damage, DamagedFrame, Decoder, Frame, Header,
    ServerFrameBuffer,
};
use crate::protocol::{
    ClientMessage, Greeting, LineCounters, PROTOCOL_VERSION, ProtocolError, ServerMessageRef,
};
use crate::{BUILD, SOFTWARE};

/// For each strategy in [`StrategyKind::ALL`] whether it is in this build. Without the parameters, which take flash.
static BUILT: [bool; StrategyKind::ALL.len()] = {
    let mut built = [false; StrategyKind::ALL.len()];
    let mut number = 0;
    while number < built.len() {
        built[number] = StrategyKind::ALL[number].is_built();
        number += 1;
    }
    built
};

/// The controller behind a line.
///
/// ```
/// use meshalloc::{Configuration, Controller, Mesh, SchedulerKind, Storage, StrategyKind};
/// use meshalloc_firmware::frame::{ClientFrameBuffer, Header};
/// use meshalloc_firmware::{ClientMessage, Server};
///
/// let mut storage: Storage<8, 16> = Storage::new();
/// let configuration = Configuration {
///     machine: Mesh::new(8, 8).unwrap().grid(),
///     strategy: StrategyKind::FirstFit,
///     scheduler: SchedulerKind::Fcfs,
/// };
/// let controller = Controller::new(storage.memory(), configuration).unwrap();
/// let mut server = Server::new(controller);
///
/// let mut buffer = ClientFrameBuffer::new();
/// let hello = buffer.encode(Header::new(7, 0), &ClientMessage::Hello).unwrap();
/// let mut answer = [0; 512];
/// let mut line = &mut answer[..];
/// server.receive(hello, 0, &mut line).unwrap();
/// assert!(line.len() < 512, "the greeting was written");
/// ```
#[derive(Debug)]
pub struct Server<'m> {
    controller: Controller<'m>,
    decoder: Decoder<CLIENT_CONTENT_MAX>,
    buffer: ServerFrameBuffer,
    counters: LineCounters,
    greeted: bool,
    /// The last command that could change anything. `None` before the first one and after a hello.
    last: Option<Remembered>,
}

/// A command that was carried out, and how it ended; its grants are the controller's to remember.
#[derive(Debug)]
struct Remembered {
    seq: u32,
    /// The frame's CRC stands for its content.
    crc: u32,
    reply: Reply,
}

/// A frame from the line, without a hold on the decoder.
#[derive(Clone, Copy)]
enum Incoming {
    Message(Header, u32, ClientMessage),
    WrongVersion(Header),
    BadMessage(Header),
    Damaged(DamagedFrame),
}

impl From<Result<Frame<'_>, DamagedFrame>> for Incoming {
    fn from(frame: Result<Frame<'_>, DamagedFrame>) -> Incoming {
        match frame {
            Err(damaged) => Incoming::Damaged(damaged),
            Ok(frame) if frame.header.version != PROTOCOL_VERSION => {
                Incoming::WrongVersion(frame.header)
            }
            Ok(frame) => match postcard::take_from_bytes(frame.body) {
                Ok((message, [])) => Incoming::Message(frame.header, frame.crc, message),
                _ => Incoming::BadMessage(frame.header),
            },
        }
    }
}

impl<'m> Server<'m> {
    /// The controller behind a line on which no frame has come yet.
    pub const fn new(controller: Controller<'m>) -> Self {
        Server {
            controller,
            decoder: Decoder::new(),
            buffer: ServerFrameBuffer::new(),
            counters: LineCounters {
                frames: 0,
                repeated: 0,
                before_hello: 0,
                bad_cobs: 0,
                too_short: 0,
                too_long: 0,
                bad_crc: 0,
                wrong_version: 0,
                bad_message: 0,
                overruns: 0,
            },
            greeted: false,
            last: None,
        }
    }

    /// The controller.
    pub const fn controller(&self) -> &Controller<'m> {
        &self.controller
    }

    /// What was seen on the line so far.
    pub const fn counters(&self) -> LineCounters {
        self.counters
    }

    /// The transport lost bytes this many times.
    pub const fn overrun(&mut self, times: u32) {
        self.counters.overruns = self.counters.overruns.saturating_add(times);
    }

    /// Takes bytes from the line, any number at a time, and writes the replies to the frames that they
    /// complete. `now` is the server's clock, for commands that bring no time of their own.
    ///
    /// # Errors
    ///
    /// The first error in writing. All bytes were taken and the commands in them carried out; to the
    /// client it is as if replies had been lost.
    pub fn receive<W: Write>(
        &mut self,
        bytes: &[u8],
        now: Ticks,
        line: &mut W,
    ) -> Result<(), W::Error> {
        let mut result = Ok(());
        for &byte in bytes {
            let Some(frame) = self.decoder.push(byte) else {
                continue;
            };
            let incoming = Incoming::from(frame);
            result = result.and(self.serve(incoming, now, line));
        }
        result
    }

    fn serve<W: Write>(
        &mut self,
        incoming: Incoming,
        now: Ticks,
        line: &mut W,
    ) -> Result<(), W::Error> {
        let counters = &mut self.counters;
        let (counter, seq, error) = match incoming {
            Incoming::Message(header, crc, message) => {
                increment(&mut counters.frames);
                return self.answer(header.seq, crc, message, now, line);
            }
            Incoming::WrongVersion(header) => (
                &mut counters.wrong_version,
                Some(header.seq),
                ProtocolError::WrongVersion {
                    ours: PROTOCOL_VERSION,
                },
            ),
            Incoming::BadMessage(header) => (
                &mut counters.bad_message,
                Some(header.seq),
                ProtocolError::BadMessage,
            ),
            Incoming::Damaged(DamagedFrame { damage, seq }) => match damage {
                Damage::BadCobs => (&mut counters.bad_cobs, seq, ProtocolError::Damaged),
                Damage::TooShort => (&mut counters.too_short, seq, ProtocolError::Damaged),
                Damage::TooLong => (&mut counters.too_long, seq, ProtocolError::TooLong),
                Damage::BadCrc => (&mut counters.bad_crc, seq, ProtocolError::Damaged),
            },
        };
        increment(counter);
        match seq {
            Some(seq) => self.replies(seq, line).error(error),
            None => Ok(()),
        }
    }

    fn answer<W: Write>(
        &mut self,
        seq: u32,
        crc: u32,
        message: ClientMessage,
        now: Ticks,
        line: &mut W,
    ) -> Result<(), W::Error> {
        match message {
            ClientMessage::Hello => {
                self.greeted = true;
                self.last = None;
                let greeting = self.greeting();
                self.replies(seq, line)
                    .finish(&ServerMessageRef::Hello(&greeting))
            }
            ClientMessage::LineCounters => {
                let counters = self.counters;
                self.replies(seq, line)
                    .finish(&ServerMessageRef::LineCounters(&counters))
            }
            ClientMessage::Command { .. } if !self.greeted => {
                increment(&mut self.counters.before_hello);
                self.replies(seq, line).error(ProtocolError::HelloFirst)
            }
            ClientMessage::Command { at, command } => {
                self.command(seq, crc, &command, at.unwrap_or(now), line)
            }
        }
    }

    fn command<W: Write>(
        &mut self,
        seq: u32,
        crc: u32,
        command: &Command,
        now: Ticks,
        line: &mut W,
    ) -> Result<(), W::Error> {
        let mut replies = Replies {
            buffer: &mut self.buffer,
            line,
            seq,
            part: 0,
            result: Ok(()),
        };
        if !command.changes_state() {
            // Asked again, it is answered again.
            self.controller
                .handle(command, now, &mut |reply| replies.reply(reply));
            return replies.result;
        }
        if let Some(last) = self
            .last
            .as_ref()
            .filter(|last| (last.seq, last.crc) == (seq, crc))
        {
            increment(&mut self.counters.repeated);
            self.controller
                .repeat_grants(&mut |grant| replies.reply(grant));
            replies.reply(&last.reply);
            return replies.result;
        }
        let last = &mut self.last;
        self.controller.handle(command, now, &mut |reply| {
            if reply.is_final() {
                *last = Some(Remembered {
                    seq,
                    crc,
                    reply: reply.clone(),
                });
            }
            replies.reply(reply);
        });
        replies.result
    }

    fn greeting(&self) -> Greeting {
        Greeting {
            protocol: PROTOCOL_VERSION,
            software: cut(SOFTWARE),
            build: cut(BUILD),
            capacity: self.controller.capacity(),
            strategies: (0..)
                .zip(&BUILT)
                .filter_map(|(number, built)| built.then_some(number))
                .collect(),
            schedulers: SchedulerKind::ALL
                .iter()
                .copied()
                .filter(|scheduler| scheduler.is_built())
                .collect(),
            configuration: self.controller.configuration(),
            frame_bytes_max: CLIENT_FRAME_MAX as u16,
        }
    }

    const fn replies<'a, W: Write>(&'a mut self, seq: u32, line: &'a mut W) -> Replies<'a, W> {
        Replies {
            buffer: &mut self.buffer,
            line,
            seq,
            part: 0,
            result: Ok(()),
        }
    }
}

/// The replies to one frame on their way to the line, numbered.
struct Replies<'a, W: Write> {
    buffer: &'a mut ServerFrameBuffer,
    line: &'a mut W,
    seq: u32,
    part: u16,
    /// The first error. After it nothing more is written: the client misses a number and asks again.
    result: Result<(), W::Error>,
}

impl<W: Write> Replies<'_, W> {
    fn reply(&mut self, reply: &Reply) {
        self.emit(&ServerMessageRef::Reply(reply));
    }

    fn error(self, error: ProtocolError) -> Result<(), W::Error> {
        self.finish(&ServerMessageRef::Error(error))
    }

    fn finish(mut self, message: &ServerMessageRef<'_>) -> Result<(), W::Error> {
        self.emit(message);
        self.result
    }

    fn emit(&mut self, message: &impl Serialize) {
        let header = Header::new(self.seq, self.part);
        self.part = self.part.wrapping_add(1);
        if self.result.is_err() {
            return;
        }
        // A message that does not fit would be lost like any frame on a bad line. None is that long:
        // `SERVER_BODY_MAX` is the longest.
        if let Ok(frame) = self.buffer.encode(header, message) {
            self.result = self.line.write_all(frame);
        }
    }
}

fn increment(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

/// As much of the text as there is room for.
fn cut<const N: usize>(text: &str) -> String<N> {
    let cut = text.get(..text.floor_char_boundary(N));
    String::try_from(cut.unwrap_or_default()).unwrap_or_default()
}
