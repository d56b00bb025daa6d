//! The controller's half of the protocol: [`Server`].
//!
//! Bytes go in, bytes come out; the clock and the line are the caller's. Whatever arrives, the server
//! does not panic and does not lose a later frame: what is not understood is counted, and answered
//! where a sequence number could be read. One frame is answered by one frame.
//!
//! # Bounded work
//!
//! A command is answered after one attempt to place a job at most. What is left of the scheduling pass is done by
//! [`Server::work`], a job each time, between frames; whoever is granted processors by that is told as an event.
//!
//! # Once, and not twice
//!
//! See [`sessions`](crate::sessions).

use embedded_io::Write;
#[cfg(feature = "durable")]
use embedded_storage::nor_flash::NorFlash;
use heapless::String;
use meshalloc::controller::Granted;
use meshalloc::{Command, Controller, Reply, SchedulerKind, StrategyKind, Ticks};
use serde::Serialize;

use crate::frame::{
    CLIENT_CONTENT_MAX, CLIENT_FRAME_MAX, Damage, DamagedFrame, Decoder, Frame, Header,
    ServerFrameBuffer,
};
#[cfg(feature = "durable")]
use crate::journal::{Journal, Recovered};
use crate::keeping::{Forgetful, Keep, NotKept, Record};
use crate::protocol::{
    ClientMessage, EVENTS_MAX, Event, Events, Greeting, LineCounters, Origin, Outcome,
    PROTOCOL_VERSION, ProtocolError, ServerMessageRef, Session,
};
#[cfg(feature = "rates")]
use crate::rate::Rate;
use crate::sessions::{Place, Remembered, Sessions};
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
/// let mut server = Server::new(controller, 1);
///
/// let mut buffer = ClientFrameBuffer::new();
/// let hello = buffer.encode(Header::new(7, 0), &ClientMessage::Hello).unwrap();
/// let mut answer = [0; 512];
/// let mut line = &mut answer[..];
/// server.receive(hello, 0, &mut line).unwrap();
/// assert!(line.len() < 512, "the greeting was written");
/// ```
#[derive(Debug)]
pub struct Server<'m, K = Forgetful> {
    controller: Controller<'m>,
    keep: K,
    origin: Origin,
    /// The time of the controller's clock when the server's clock was 0.
    started: Ticks,
    /// Whether the last checkpoint has failed; it is not tried again before the next command.
    is_stuck: bool,
    decoder: Decoder<CLIENT_CONTENT_MAX>,
    buffer: ServerFrameBuffer,
    counters: LineCounters,
    sessions: Sessions,
    boot: u64,
    #[cfg(feature = "rates")]
    rate: Rate,
    /// The overruns that the rate has taken for bytes.
    #[cfg(feature = "rates")]
    overruns_heard: u32,
}

/// A frame from the line, without a hold on the decoder.
#[derive(Clone, Copy)]
enum Incoming {
    Message(Header, ClientMessage),
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
                Ok((message, [])) => Incoming::Message(frame.header, message),
                _ => Incoming::BadMessage(frame.header),
            },
        }
    }
}

impl<'m> Server<'m> {
    /// The controller behind a line on which no frame has come yet; it keeps nothing over a reset. `boot` tells this life of the server from any other that a
    /// client may remember: it must be another number after every reset.
    pub const fn new(controller: Controller<'m>, boot: u64) -> Self {
        Server::with(
            controller,
            boot,
            Forgetful,
            Sessions::new(),
            Origin::Forgetful,
        )
    }
}

#[cfg(feature = "durable")]
impl<'m, F: NorFlash, const REGIONS: usize> Server<'m, Journal<F, REGIONS>> {
    /// The controller behind a line on which no frame has come yet, in the state that the journal has; if there is none in it, as the
    /// controller is, which has no job. See [`Server::new`] for `boot`.
    pub fn restored(
        mut controller: Controller<'m>,
        boot: u64,
        mut journal: Journal<F, REGIONS>,
        recovered: Recovered,
    ) -> Self {
        let mut sessions = Sessions::new();
        let origin = journal.restore(recovered, &mut controller, &mut sessions);
        let mut server = Server::with(controller, boot, journal, sessions, origin);
        server.started = server.controller.clock();
        server.checkpoint_if_due();
        server
    }

    /// The journal.
    pub const fn journal(&mut self) -> &mut Journal<F, REGIONS> {
        &mut self.keep
    }

    /// Gives the journal back.
    pub fn into_journal(self) -> Journal<F, REGIONS> {
        self.keep
    }
}

impl<'m, K> Server<'m, K> {
    const fn with(
        controller: Controller<'m>,
        boot: u64,
        keep: K,
        sessions: Sessions,
        origin: Origin,
    ) -> Self {
        Server {
            controller,
            keep,
            origin,
            started: 0,
            is_stuck: false,
            decoder: Decoder::new(),
            buffer: ServerFrameBuffer::new(),
            counters: LineCounters::NONE,
            sessions,
            boot,
            #[cfg(feature = "rates")]
            rate: Rate::new(),
            #[cfg(feature = "rates")]
            overruns_heard: 0,
        }
    }

    /// The rate that the line is to be set to now, if it is another; to be called whenever the server has nothing to do, and at least every few
    /// milliseconds. `has_left` is whether the line has sent all replies.
    #[cfg(feature = "rates")]
    pub fn next_rate(&mut self, now: Ticks, has_left: impl FnOnce() -> bool) -> Option<u32> {
        if self.counters.overruns != self.overruns_heard {
            self.overruns_heard = self.counters.overruns;
            self.rate.hear(now);
        }
        self.rate.next(now, has_left)
    }

    /// The controller.
    pub const fn controller(&self) -> &Controller<'m> {
        &self.controller
    }

    /// What was seen on the line so far.
    pub const fn counters(&self) -> &LineCounters {
        &self.counters
    }

    /// The transport lost bytes this many times.
    pub const fn overrun(&mut self, times: u32) {
        self.counters.overruns = self.counters.overruns.saturating_add(times);
    }

    /// Where the state has come from when the server started.
    pub const fn origin(&self) -> Origin {
        self.origin
    }
}

impl<K: Keep> Server<'_, K> {
    /// Whether commands have left something to be done between frames.
    pub fn has_work(&self) -> bool {
        self.controller.is_scheduling() || (self.keep.is_due() && !self.is_stuck)
    }

    /// Goes on with what commands have left to be done: tries one job, or writes a checkpoint. Returns whether there is more to do.
    pub fn work(&mut self) -> bool {
        if self.controller.is_scheduling() {
            self.controller.advance(&mut |_| ());
        } else {
            self.checkpoint_if_due();
        }
        self.has_work()
    }

    fn checkpoint_if_due(&mut self) {
        if self.keep.is_due() && !self.is_stuck {
            self.is_stuck = self.checkpoint().is_err();
        }
    }

    fn checkpoint(&mut self) -> Result<(), NotKept> {
        self.keep.checkpoint(&self.controller, &self.sessions)
    }

    /// Writes a command down before it is carried out.
    fn keep(&mut self, record: &Record) -> Result<(), ProtocolError> {
        self.is_stuck = false;
        let kept = self.keep.append(record);
        let kept = kept.or_else(|NotKept| {
            self.checkpoint()?;
            self.keep.append(record)
        });
        kept.map_err(|NotKept| ProtocolError::NotKept)
    }

    /// Takes bytes from the line, any number at a time, and writes the replies to the frames that they
    /// complete. `now` is the server's clock, for commands that bring no time of their own.
    ///
    /// # Errors
    ///
    /// The first error in writing. All bytes were taken and the commands in them carried out; to the
    /// client it is as if replies had been lost, which are counted.
    pub fn receive<W: Write>(
        &mut self,
        bytes: &[u8],
        now: Ticks,
        line: &mut W,
    ) -> Result<(), W::Error> {
        let mut result = Ok(());
        for &byte in bytes {
            #[cfg(feature = "rates")]
            self.rate.hear(now);
            let Some(frame) = self.decoder.push(byte) else {
                continue;
            };
            let incoming = Incoming::from(frame);
            let served = self.serve(incoming, now, line);
            if served.is_err() {
                increment(&mut self.counters.dropped);
            }
            result = result.and(served);
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
        let (counter, header, error) = match incoming {
            Incoming::Message(header, message) => {
                increment(&mut counters.frames);
                #[cfg(feature = "rates")]
                self.rate.hear_frame();
                return self.answer(header, message, now, line);
            }
            Incoming::WrongVersion(header) => (
                &mut counters.wrong_version,
                Some(header),
                ProtocolError::WrongVersion {
                    ours: PROTOCOL_VERSION,
                },
            ),
            Incoming::BadMessage(header) => (
                &mut counters.bad_message,
                Some(header),
                ProtocolError::BadMessage,
            ),
            Incoming::Damaged(DamagedFrame { damage, header }) => match damage {
                Damage::BadCobs => (&mut counters.bad_cobs, header, ProtocolError::Damaged),
                Damage::TooShort => (&mut counters.too_short, header, ProtocolError::Damaged),
                Damage::TooLong => (&mut counters.too_long, header, ProtocolError::TooLong),
                Damage::BadCrc => (&mut counters.bad_crc, header, ProtocolError::Damaged),
            },
        };
        increment(counter);
        match header {
            Some(header) => self.send(header, &ServerMessageRef::Error(error), line),
            None => Ok(()),
        }
    }

    // Inlined into the loop that receives it takes 400 bytes of flash more.
    #[inline(never)]
    fn answer<W: Write>(
        &mut self,
        header: Header,
        message: ClientMessage,
        now: Ticks,
        line: &mut W,
    ) -> Result<(), W::Error> {
        let (place, session, since) = match message {
            ClientMessage::Hello => {
                let number = self.sessions.open(header.client, header.seq);
                let greeting = self.greeting(number);
                return self.send(header, &ServerMessageRef::Hello(&greeting), line);
            }
            ClientMessage::LineCounters => {
                let counters = self.counters;
                return self.send(header, &ServerMessageRef::LineCounters(&counters), line);
            }
            #[cfg(feature = "rates")]
            ClientMessage::Rate { baud } => {
                let baud = self.rate.ask(baud);
                return self.send(header, &ServerMessageRef::Rate { baud }, line);
            }
            ClientMessage::Command { session, since, .. }
            | ClientMessage::Events { session, since } => {
                match self.place(header.client, session) {
                    Ok(place) => (place, session.number, since),
                    Err(error) => {
                        increment(&mut self.counters.other_session);
                        return self.send(header, &ServerMessageRef::Error(error), line);
                    }
                }
            }
        };
        let ClientMessage::Command { at, command, .. } = message else {
            let events = self.events(since);
            return self.send(header, &ServerMessageRef::Events(&events), line);
        };
        if !command.changes_state() {
            return self.query(header, &command, line);
        }
        let at = at.unwrap_or(self.started.saturating_add(now));
        match self.change(header, place, session, &command, at) {
            Ok(Remembered { outcome, as_of }) => {
                let events = &self.events(since);
                let message = ServerMessageRef::Outcome {
                    outcome,
                    as_of,
                    events,
                };
                self.send(header, &message, line)
            }
            Err(error) => self.send(header, &ServerMessageRef::Error(error), line),
        }
    }

    fn place(&mut self, client: u32, session: Session) -> Result<Place, ProtocolError> {
        if session.boot != self.boot {
            return Err(ProtocolError::OtherBoot { boot: self.boot });
        }
        let place = self.sessions.find(client, session.number);
        place.ok_or(ProtocolError::NoSession)
    }

    /// Asked again, it is answered again.
    fn query<W: Write>(
        &mut self,
        header: Header,
        query: &Command,
        line: &mut W,
    ) -> Result<(), W::Error> {
        let (controller, buffer) = (&self.controller, &mut self.buffer);
        let mut result = Ok(());
        controller.answer(query, &mut |reply| {
            result = send(buffer, header, &ServerMessageRef::Reply(reply), line);
        });
        result
    }

    fn change(
        &mut self,
        Header { client, seq, .. }: Header,
        place: Place,
        session: u32,
        command: &Command,
        at: Ticks,
    ) -> Result<Remembered, ProtocolError> {
        if let Some(remembered) = self.sessions.remembered(place, seq) {
            increment(&mut self.counters.repeated);
            return Ok(remembered);
        }
        if self.sessions.is_past(place, seq) {
            increment(&mut self.counters.too_old);
            return Err(ProtocolError::TooOld);
        }
        if !self.controller.is_scheduling() {
            self.keep(&Record {
                client,
                session,
                seq,
                at,
                command: *command,
            })?;
        }
        let reply = self.controller.begin(command, at);
        let remembered = Remembered {
            outcome: Outcome::of(&reply),
            as_of: self.controller.grants(),
        };
        // Also that it was busy: a copy of the frame that comes late is not carried out after the client has heard so.
        self.sessions.remember(place, seq, remembered);
        if !matches!(reply, Reply::Error(meshalloc::Error::Busy { .. })) {
            increment(&mut self.counters.changes);
        }
        Ok(remembered)
    }

    fn events(&self, since: u64) -> Events {
        let event = |(number, granted): (u64, Granted<'_, '_>)| {
            let job = granted.job();
            granted.blocks().next().map(|block| Event {
                number,
                job: job.id(),
                at: job.granted_at(),
                attempts: job.attempts(),
                misses: job.misses(),
                processors: job.processors(),
                blocks_total: job.blocks_len(),
                block,
            })
        };
        let granted = self.controller.granted_since(since);
        Events {
            list: granted.filter_map(event).take(EVENTS_MAX).collect(),
            latest: self.controller.grants(),
            left: self.controller.left(),
        }
    }

    fn greeting(&self, number: u32) -> Greeting {
        Greeting {
            protocol: PROTOCOL_VERSION,
            session: Session {
                boot: self.boot,
                number,
            },
            events: self.controller.grants(),
            origin: self.origin,
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

    fn send<W: Write>(
        &mut self,
        header: Header,
        message: &ServerMessageRef<'_>,
        line: &mut W,
    ) -> Result<(), W::Error> {
        send(&mut self.buffer, header, message, line)
    }
}

fn send<W: Write>(
    buffer: &mut ServerFrameBuffer,
    header: Header,
    message: &impl Serialize,
    line: &mut W,
) -> Result<(), W::Error> {
    // A message that does not fit would be lost like any frame on a bad line. None is that long:
    // `SERVER_BODY_MAX` is the longest.
    match buffer.encode(Header::new(header.client, header.seq), message) {
        Ok(frame) => line.write_all(frame),
        Err(_) => Ok(()),
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
