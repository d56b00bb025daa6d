//! The part of a server that answers without changing the controller: [`Front`].

use embedded_io::Write;
use heapless::String;
#[cfg(feature = "machine")]
use meshalloc::Query;
use meshalloc::{Change, Error, SchedulerKind, StrategyKind, Ticks, View};

use crate::body;
use crate::frame::{
    CLIENT_CONTENT_MAX, CLIENT_FRAME_MAX, Damage, DamagedFrame, Decoder, Frame, Header,
    ServerFrameBuffer,
};
use crate::protocol::{
    ClientMessage, EVENTS_MAX, Events, Greeting, LineCounters, Origin, PROTOCOL_VERSION,
    ProtocolError, ServerMessageRef, Session, TIME_MAX,
};
#[cfg(feature = "rates")]
use crate::rate::Rate;
use crate::sessions::{Place, Remembered, Sessions};
use crate::{BUILD, SOFTWARE};

/// Whether each strategy of [`StrategyKind::ALL`] is in this build. The parameters of the
/// strategies would take flash, so they are not kept.
static BUILT: [bool; StrategyKind::ALL.len()] = {
    let mut built = [false; StrategyKind::ALL.len()];
    let mut number = 0;
    while number < built.len() {
        built[number] = StrategyKind::ALL[number].is_built();
        number += 1;
    }
    built
};

/// All that is needed to answer while the controller is at work.
#[derive(Debug)]
pub(super) struct Front<const CLIENTS: usize> {
    pub(super) decoder: Decoder<CLIENT_CONTENT_MAX>,
    pub(super) buffer: ServerFrameBuffer,
    pub(super) counters: LineCounters,
    pub(super) sessions: Sessions<CLIENTS>,
    pub(super) boot: u64,
    pub(super) origin: Origin,
    #[cfg(feature = "rates")]
    pub(super) rate: Rate,
    /// The caller's clock when it was last read.
    pub(super) now: Ticks,
}

/// A frame that asks for a change, or for a search.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) header: Header,
    place: Place,
    pub(super) session: u32,
    since: u64,
    pub(super) asked: Asked<'a>,
}

/// What an [`Order`] asks for.
#[derive(Clone, Copy)]
pub(super) enum Asked<'a> {
    /// A change of the controller, and its time if the frame names one.
    Change {
        at: Option<Ticks>,
        change: &'a Change,
    },
    /// A virtual clock, or the server's own.
    Clock { is_virtual: bool },
    /// A query that takes a search. It changes nothing, and is not remembered.
    #[cfg(feature = "machine")]
    Search { query: &'a Query },
}

/// Whether the controller searches for the answer to this query.
#[cfg(feature = "machine")]
const fn takes_search(query: &Query) -> bool {
    match query {
        Query::Largest => true,
        #[cfg(feature = "reasons")]
        Query::Why { .. } => true,
        _ => false,
    }
}

/// A frame from the line, without its body, which is in the decoder.
#[derive(Clone, Copy)]
pub(super) enum Incoming {
    Whole(Header),
    WrongVersion(Header),
    Damaged(DamagedFrame),
}

impl From<Result<Frame<'_>, DamagedFrame>> for Incoming {
    fn from(frame: Result<Frame<'_>, DamagedFrame>) -> Incoming {
        match frame {
            Err(damaged) => Incoming::Damaged(damaged),
            Ok(frame) if frame.header.version != PROTOCOL_VERSION => {
                Incoming::WrongVersion(frame.header)
            }
            Ok(frame) => Incoming::Whole(frame.header),
        }
    }
}

impl<const CLIENTS: usize> Front<CLIENTS> {
    /// Takes a byte; returns the frame that it completes.
    // Inlined in both places, where bytes are received and where they are received in pauses, this
    // function takes 1.8 KB of flash more.
    #[inline(never)]
    pub(super) fn push(&mut self, byte: u8) -> Option<Incoming> {
        #[cfg(feature = "rates")]
        if byte != 0 || !self.decoder.is_idle() {
            self.rate.hear();
        }
        self.decoder.push(byte).map(Incoming::from)
    }

    /// The message of the frame that has just come. It is not part of [`Incoming`], which is
    /// copied.
    #[inline(never)]
    pub(super) fn message(&self) -> postcard::Result<ClientMessage> {
        body::decode(self.decoder.body())
    }

    /// Serves a frame with this message. If it asks for a change, returns the order.
    // Inlined into the loop that receives, this function takes 400 bytes of flash more.
    #[inline(never)]
    pub(super) fn serve<'a, W: Write>(
        &mut self,
        incoming: Incoming,
        message: &'a postcard::Result<ClientMessage>,
        view: &View<'_, '_>,
        line: &mut W,
    ) -> Result<Option<Order<'a>>, W::Error> {
        #[cfg(feature = "rates")]
        if !matches!(incoming, Incoming::Damaged(_)) {
            self.rate.hear_frame();
        }
        let counters = &mut self.counters;
        let (counter, header, error) = match incoming {
            Incoming::Whole(header) => match message {
                Ok(message) if !is_too_late(message) => {
                    increment(&mut counters.frames);
                    return self.answer(header, message, view, line);
                }
                _ => (
                    &mut counters.bad_message,
                    Some(header),
                    ProtocolError::BadMessage,
                ),
            },
            Incoming::WrongVersion(header) => (
                &mut counters.wrong_version,
                Some(header),
                ProtocolError::WrongVersion {
                    ours: PROTOCOL_VERSION,
                },
            ),
            Incoming::Damaged(DamagedFrame { damage, header }) => match damage {
                Damage::BadCobs => (&mut counters.bad_cobs, header, ProtocolError::Damaged),
                Damage::TooShort => (&mut counters.too_short, header, ProtocolError::Damaged),
                Damage::TooLong => (&mut counters.too_long, header, ProtocolError::TooLong),
                Damage::BadCrc => (&mut counters.bad_crc, header, ProtocolError::Damaged),
            },
        };
        increment(counter);
        if let Some(header) = header {
            self.send(header, &ServerMessageRef::Error(error), line)?;
        }
        Ok(None)
    }

    fn answer<'a, W: Write>(
        &mut self,
        header: Header,
        message: &'a ClientMessage,
        view: &View<'_, '_>,
        line: &mut W,
    ) -> Result<Option<Order<'a>>, W::Error> {
        let (place, session) = match *message {
            ClientMessage::Hello => {
                let number = self.sessions.open(header.client, header.seq);
                let greeting = self.greeting(number, view);
                self.send(header, &ServerMessageRef::Hello(&greeting), line)?;
                return Ok(None);
            }
            ClientMessage::LineCounters => {
                let counters = self.counters;
                self.send(header, &ServerMessageRef::LineCounters(&counters), line)?;
                return Ok(None);
            }
            #[cfg(feature = "rates")]
            ClientMessage::Rate { baud } => {
                let baud = self.rate.ask(baud);
                self.send(header, &ServerMessageRef::Rate { baud }, line)?;
                return Ok(None);
            }
            ClientMessage::Change { session, .. }
            | ClientMessage::Query { session, .. }
            | ClientMessage::Events { session, .. }
            | ClientMessage::Clock { session, .. } => match self.place(header.client, session) {
                Ok(place) => (place, session.number),
                Err(error) => {
                    increment(&mut self.counters.other_session);
                    self.send(header, &ServerMessageRef::Error(error), line)?;
                    return Ok(None);
                }
            },
        };
        let (since, asked) = match *message {
            ClientMessage::Change {
                since,
                at,
                ref change,
                ..
            } => (since, Asked::Change { at, change }),
            #[cfg(feature = "machine")]
            ClientMessage::Query { ref query, .. } if takes_search(query) => {
                return Ok(Some(Order {
                    header,
                    place,
                    session,
                    since: 0,
                    asked: Asked::Search { query },
                }));
            }
            ClientMessage::Query { ref query, .. } => {
                let answer = view.answer(query);
                self.send(header, &ServerMessageRef::Answer(&answer), line)?;
                return Ok(None);
            }
            ClientMessage::Clock {
                since, is_virtual, ..
            } => (since, Asked::Clock { is_virtual }),
            ClientMessage::Events { since, .. } => {
                let mut events = Events::default();
                collect(&mut events, view, since);
                self.send(header, &ServerMessageRef::Events(&events), line)?;
                return Ok(None);
            }
            // Messages that were answered above.
            _ => return Ok(None),
        };
        if let Some(remembered) = self.sessions.remembered(place, header.seq) {
            increment(&mut self.counters.repeated);
            self.tell(header, remembered, since, view, line)?;
            return Ok(None);
        }
        if self.sessions.is_past(place, header.seq) {
            increment(&mut self.counters.too_old);
            let error = ProtocolError::TooOld;
            self.send(header, &ServerMessageRef::Error(error), line)?;
            return Ok(None);
        }
        Ok(Some(Order {
            header,
            place,
            session,
            since,
            asked,
        }))
    }

    /// Refuses an order while the work that follows from an earlier change is not done. The server
    /// remembers the refusal, too: it does not carry out a late copy of the refused frame.
    pub(super) fn refuse<W: Write>(
        &mut self,
        order: &Order<'_>,
        view: &View<'_, '_>,
        line: &mut W,
    ) -> Result<(), W::Error> {
        let left = view.left();
        #[cfg(feature = "machine")]
        if !matches!(order.asked, Asked::Change { .. } | Asked::Clock { .. }) {
            let busy = Err(Error::Busy { left });
            return self.send(order.header, &ServerMessageRef::Answer(&busy), line);
        }
        self.settle(order, Some(Err(Error::Busy { left })), view, line)
    }

    /// Answers an order that is not carried out, and will not be when a copy of its frame comes.
    pub(super) fn give_up<W: Write>(
        &mut self,
        order: &Order<'_>,
        error: ProtocolError,
        line: &mut W,
    ) -> Result<(), W::Error> {
        self.sessions.give_up(order.place, order.header.seq);
        self.send(order.header, &ServerMessageRef::Error(error), line)
    }

    /// Remembers the outcome of an order, or that it is under way, and answers it.
    pub(super) fn settle<W: Write>(
        &mut self,
        order: &Order<'_>,
        outcome: Remembered,
        view: &View<'_, '_>,
        line: &mut W,
    ) -> Result<(), W::Error> {
        let Order {
            header,
            place,
            since,
            ..
        } = *order;
        self.sessions.remember(place, header.seq, outcome);
        self.tell(header, outcome, since, view, line)
    }

    fn tell<W: Write>(
        &mut self,
        header: Header,
        outcome: Remembered,
        since: u64,
        view: &View<'_, '_>,
        line: &mut W,
    ) -> Result<(), W::Error> {
        let mut events = Events::default();
        collect(&mut events, view, since);
        let events = &events;
        let message = match outcome {
            Some(outcome) => ServerMessageRef::Outcome { outcome, events },
            None => ServerMessageRef::UnderWay(events),
        };
        self.send(header, &message, line)
    }

    fn place(&mut self, client: u32, session: Session) -> Result<Place, ProtocolError> {
        if session.boot != self.boot {
            return Err(ProtocolError::OtherBoot { boot: self.boot });
        }
        let place = self.sessions.find(client, session.number);
        place.ok_or(ProtocolError::NoSession)
    }

    fn greeting(&self, number: u32, view: &View<'_, '_>) -> Greeting {
        Greeting {
            protocol: PROTOCOL_VERSION,
            session: Session {
                boot: self.boot,
                number,
            },
            events: view.events(),
            origin: self.origin,
            software: cut(SOFTWARE),
            build: cut(BUILD),
            capacity: view.capacity(),
            strategies: (0..)
                .zip(&BUILT)
                .filter_map(|(number, built)| built.then_some(number))
                .collect(),
            schedulers: SchedulerKind::ALL
                .iter()
                .copied()
                .filter(|scheduler| scheduler.is_built())
                .collect(),
            configuration: view.configuration(),
            description: view.digest(),
            frame_bytes_max: CLIENT_FRAME_MAX as u16,
        }
    }

    pub(super) fn send<W: Write>(
        &mut self,
        header: Header,
        message: &ServerMessageRef<'_>,
        line: &mut W,
    ) -> Result<(), W::Error> {
        // A message that does not fit would be lost like any frame on a bad line. None is that
        // long: `SERVER_BODY_MAX` is the longest.
        let header = Header::new(header.client, header.seq);
        let Ok(frame) = self.buffer.encode(header, message) else {
            return Ok(());
        };
        let sent = line.write_all(frame);
        if sent.is_err() {
            increment(&mut self.counters.dropped);
        }
        sent
    }
}

/// Whether a change names a time beyond the last one.
const fn is_too_late(message: &ClientMessage) -> bool {
    matches!(message, ClientMessage::Change { at: Some(at), .. } if *at > TIME_MAX)
}

/// Sets `events` to the events after this number. They are written in place, since they take a
/// fifth of a kilobyte.
fn collect(events: &mut Events, view: &View<'_, '_>, since: u64) {
    let Events { list, latest, left } = events;
    *latest = view.events();
    *left = view.left();
    // The client asks for the events that have no room here.
    list.extend(view.events_since(since).take(EVENTS_MAX));
}

pub(super) const fn increment(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

/// As much of the text as there is room for.
fn cut<const N: usize>(text: &str) -> String<N> {
    let cut = text.get(..text.floor_char_boundary(N));
    String::try_from(cut.unwrap_or_default()).unwrap_or_default()
}
