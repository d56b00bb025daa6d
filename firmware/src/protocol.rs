//! What travels over the line: [`ClientMessage`] and [`ServerMessage`], and how long they can get.
//!
//! `PROTOCOL.md` in this package specifies the bytes. `tests/it/golden.rs` compares its examples
//! and the frames in `golden-frames.txt` with the code. Messages are encoded by postcard, so the
//! *order* of variants and fields is the format: new variants and fields go to the end, and any
//! other change needs a new [`PROTOCOL_VERSION`].

use core::fmt;

use heapless::{String, Vec};
use meshalloc::message::{BLOCKS_MAX, LIST_JOBS_MAX, OCCUPANCY_BYTES_MAX};
use meshalloc::{
    Answer, Capacity, Change, Configuration, Error, Event, Outcome, Query, SchedulerKind,
    StrategyKind, Ticks,
};
use serde::{Deserialize, Serialize};

/// The version of the protocol, the first byte of every frame.
pub const PROTOCOL_VERSION: u8 = 8;

/// The most bytes in [`Greeting::software`].
pub const SOFTWARE_BYTES_MAX: usize = 24;
/// The most bytes in [`Greeting::build`].
pub const BUILD_BYTES_MAX: usize = 64;
/// The most strategies in a [`Greeting`].
pub const STRATEGIES_MAX: usize = 48;
/// The most schedulers in a [`Greeting`].
pub const SCHEDULERS_MAX: usize = 12;

/// The latest time that a change may name. A clock that goes on from there never overflows.
pub const TIME_MAX: Ticks = 1 << 63;

/// The most events in one reply.
pub const EVENTS_MAX: usize = 4;

const _: () = assert!(StrategyKind::ALL.len() <= STRATEGIES_MAX);
const _: () = assert!(SchedulerKind::ALL.len() <= SCHEDULERS_MAX);

/// The boot of the server that a message is meant for, and what that server keeps for one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Session {
    /// The boot: another number after every reset. It takes eight bytes in a frame, since all its
    /// bits are random.
    #[serde(with = "postcard::fixint::le")]
    pub boot: u64,
    /// The number of the session among all sessions of this boot, from 1 on.
    pub number: u32,
}

/// What a client sends. Each message is answered by one [`ServerMessage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ClientMessage {
    /// Opens a session, or goes on with the session that this client has. Answered by
    /// [`ServerMessage::Hello`].
    Hello,
    /// A change for the controller. Answered by [`ServerMessage::Outcome`], or by
    /// [`ServerMessage::UnderWay`].
    Change {
        /// The session of the client.
        session: Session,
        /// The number of the last event that the client knows.
        since: u64,
        /// The time, at most [`TIME_MAX`], of a session that has a virtual clock
        /// ([`ClientMessage::Clock`]); `None` for the present time. Time does not go back: an
        /// earlier time counts as the latest, until a configure or a reset.
        at: Option<Ticks>,
        /// The change.
        change: Change,
    },
    /// A query for the controller. Answered by [`ServerMessage::Answer`].
    Query {
        /// The session of the client.
        session: Session,
        /// The query.
        query: Query,
    },
    /// Queries the events. Answered by [`ServerMessage::Events`].
    Events {
        /// The session of the client.
        session: Session,
        /// The number of the last event that the client knows.
        since: u64,
    },
    /// Queries the counters of the line. Answered by [`ServerMessage::LineCounters`].
    LineCounters,
    /// Asks that the clock be virtual and belong to this session, or be the server's own again.
    /// Answered like a change.
    Clock {
        /// The session of the client.
        session: Session,
        /// The number of the last event that the client knows.
        since: u64,
        /// Whether the changes of this session set the time.
        is_virtual: bool,
    },
    /// Asks for another rate of the line. Answered by [`ServerMessage::Rate`].
    #[cfg(feature = "rates")]
    Rate {
        /// Bits a second.
        baud: u32,
    },
}

/// What the server answers, one message to each frame.
#[allow(
    clippy::large_enum_variant,
    reason = "there is one at a time, and no heap to put the greeting on"
)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ServerMessage {
    /// To [`ClientMessage::Hello`].
    Hello(Greeting),
    /// To [`ClientMessage::Change`] and [`ClientMessage::Clock`].
    Outcome {
        /// What the change has done, or why it has done nothing.
        outcome: Result<Outcome, Error>,
        /// What has happened since the last event that the client knows.
        events: Events,
    },
    /// The change is being carried out. The same frame, sent again, is answered by its outcome.
    UnderWay(Events),
    /// To [`ClientMessage::Query`].
    Answer(Result<Answer, Error>),
    /// To [`ClientMessage::Events`].
    Events(Events),
    /// To [`ClientMessage::LineCounters`].
    LineCounters(LineCounters),
    /// The frame was not understood or not carried out.
    Error(ProtocolError),
    /// To [`ClientMessage::Rate`].
    #[cfg(feature = "rates")]
    Rate {
        /// The rate from now on, in bits a second. This message itself still comes at the previous
        /// rate.
        baud: u32,
    },
}

/// A [`ServerMessage`] that borrows what it says: the same bytes without a copy.
#[derive(Clone, Debug, Serialize)]
pub(crate) enum ServerMessageRef<'a> {
    Hello(&'a Greeting),
    Outcome {
        outcome: Result<Outcome, Error>,
        events: &'a Events,
    },
    UnderWay(&'a Events),
    Answer(&'a Result<Answer, Error>),
    Events(&'a Events),
    LineCounters(&'a LineCounters),
    Error(ProtocolError),
    #[cfg(feature = "rates")]
    Rate {
        baud: u32,
    },
}

/// Events in order, and whether there will be more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Events {
    /// The oldest events that the client does not know.
    pub list: Vec<Event, EVENTS_MAX>,
    /// The number of the latest event of all. If the list is not full, there is no event between
    /// the last of the list and this number that can still be reported: a job that was granted and
    /// is gone again has no grant any more, and only the latest 16 ends of leases are kept.
    pub latest: u64,
    /// The most attempts that still follow from the last change; 1 if there is only other work,
    /// such as a checkpoint; 0 when all is done.
    pub left: u32,
}

/// Where the state of a boot has come from. `New` and `Damaged` stay over resets until a client
/// that was greeted with them has changed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Origin {
    /// The server has no journal: all that there was before a reset is gone.
    Forgetful,
    /// The server keeps a journal. The journal was empty, or its state was discarded.
    New,
    /// The state is that of the last boot, at this time of the server's clock. The clock goes on
    /// from there. How long the server was off is not known.
    Restored {
        /// The latest time that was written down.
        at: Ticks,
    },
    /// The journal was damaged. Something that was acknowledged is lost; the state is an earlier
    /// one, or empty.
    Damaged {
        /// The latest time that is known.
        at: Ticks,
    },
    /// The journal has a state that was not read: this image cannot read it, or the last three
    /// attempts to read it ended in a reset of the chip. The server is empty, and the journal stays
    /// as it is. All changes are refused except a reset, which discards it.
    Unread,
}

/// What the server is and serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Greeting {
    /// Its protocol version; also in the header of every frame.
    pub protocol: u8,
    /// The session of the client that the server greets.
    pub session: Session,
    /// The number of the latest event.
    pub events: u64,
    /// Where the server's state came from when the server started.
    pub origin: Origin,
    /// Its software version.
    pub software: String<SOFTWARE_BYTES_MAX>,
    /// The target and the profile for which the server was built.
    pub build: String<BUILD_BYTES_MAX>,
    /// How much the server has room for.
    pub capacity: Capacity,
    /// The strategies in the build: the places in [`StrategyKind::ALL`].
    pub strategies: Vec<u8, STRATEGIES_MAX>,
    /// The schedulers in the build.
    pub schedulers: Vec<SchedulerKind, SCHEDULERS_MAX>,
    /// The server's present machine, strategy and scheduler.
    pub configuration: Configuration,
    /// The digest of the description of its machine (`Description::digest`), if it has one. It then
    /// serves no other machine.
    pub description: Option<u32>,
    /// The longest frame that the server takes, in bytes on the line with both delimiters.
    pub frame_bytes_max: u16,
}

impl Greeting {
    /// The strategies in the build that are known here, with the parameters that their names alone
    /// stand for.
    pub fn strategies(&self) -> impl Iterator<Item = StrategyKind> + '_ {
        let kinds = |&number: &u8| StrategyKind::ALL.get(usize::from(number));
        self.strategies.iter().filter_map(kinds).copied()
    }
}

/// The server's counts of what came over its line since its reset. Each counter stops at its
/// largest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LineCounters {
    /// Frames that were understood.
    pub frames: u32,
    /// Understood frames with a change that was carried out, or refused by the controller.
    pub changes: u32,
    /// Understood frames that repeated a change and were answered from memory.
    pub repeated: u32,
    /// Understood frames not carried out because they are meant for another boot or session.
    pub other_session: u32,
    /// Understood frames not carried out because later frames of the same client were.
    pub too_old: u32,
    /// Frames that are not COBS: cut short, or garbage.
    pub bad_cobs: u32,
    /// Frames too short for a header and a CRC.
    pub too_short: u32,
    /// Frames longer than any message.
    pub too_long: u32,
    /// Frames with a wrong CRC.
    pub bad_crc: u32,
    /// Frames of another protocol version.
    pub wrong_version: u32,
    /// Frames whose body is no message.
    pub bad_message: u32,
    /// How many times the transport lost bytes before the server got them, or a byte had no stop
    /// bit.
    pub overruns: u32,
    /// Replies that the transport had no room for.
    pub dropped: u32,
}

impl LineCounters {
    /// The sum of the counters that count damage and losses.
    pub const fn faults(&self) -> u32 {
        let LineCounters {
            frames: _,
            changes: _,
            repeated: _,
            other_session: _,
            too_old: _,
            bad_cobs,
            too_short,
            too_long,
            bad_crc,
            wrong_version,
            bad_message,
            overruns,
            dropped,
        } = *self;
        bad_cobs
            .saturating_add(too_short)
            .saturating_add(too_long)
            .saturating_add(bad_crc)
            .saturating_add(wrong_version)
            .saturating_add(bad_message)
            .saturating_add(overruns)
            .saturating_add(dropped)
    }
}

/// Why a frame was not carried out. The server's state is the same as before the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ProtocolError {
    /// The frame was damaged on its way (COBS, length or CRC), so even its sequence number may be
    /// wrong. The client that sent this number sends its frame again.
    Damaged,
    /// The frame is longer than any message; its sequence number was not checked.
    TooLong,
    /// The frame is of another protocol version.
    WrongVersion {
        /// The version the server speaks.
        ours: u8,
    },
    /// The frame is whole, but its body is no message of this version.
    BadMessage,
    /// The message is meant for another boot of the server: it was reset. The greeting says whether
    /// the jobs of that boot are gone.
    OtherBoot {
        /// The present boot.
        #[serde(with = "postcard::fixint::le")]
        boot: u64,
    },
    /// The client has no such session: it has not sent Hello, or its session had to make room for
    /// those of other clients.
    NoSession,
    /// The frame was answered with an error before, or a later change or Hello of the same client
    /// was answered. This frame is a copy or comes too late, so it is not carried out.
    TooOld,
    /// The journal has no room for the change, or its memory fails. In the latter case a later
    /// reset of the server may carry the change out.
    NotKept,
    /// The journal has a state that was not read ([`Origin::Unread`]), which the change would
    /// destroy. Only [`Change::Reset`] does that.
    Unread,
    /// The change names a time, but this session has no virtual clock, or not any more.
    NoVirtualClock,
    /// Another session has a virtual clock, so a lease of this session would not end.
    VirtualClock,
    /// Jobs have leases, which would not end under a virtual clock.
    LeasesRun,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProtocolError::Damaged => f.write_str("the frame was damaged on its way"),
            ProtocolError::TooLong => f.write_str("the frame is longer than any message"),
            ProtocolError::WrongVersion { ours } => {
                write!(f, "the server speaks protocol version {ours}")
            }
            ProtocolError::BadMessage => {
                f.write_str("the body of the frame is no message of this protocol version")
            }
            ProtocolError::OtherBoot { .. } => f.write_str("the server was reset"),
            ProtocolError::NoSession => f.write_str("the client has no such session: hello first"),
            ProtocolError::TooOld => {
                f.write_str("this change or a later one of the same client was answered already")
            }
            ProtocolError::NotKept => {
                f.write_str("the journal has no room for the change, or its memory fails")
            }
            ProtocolError::Unread => {
                f.write_str("the journal has a state that was not read: only a reset discards it")
            }
            ProtocolError::NoVirtualClock => {
                f.write_str("the change names a time, but its session has no virtual clock")
            }
            ProtocolError::VirtualClock => {
                f.write_str("no lease can be given while another session has a virtual clock")
            }
            ProtocolError::LeasesRun => {
                f.write_str("the clock cannot become virtual while jobs have leases")
            }
        }
    }
}

impl core::error::Error for ProtocolError {}

/// The longest body of a [`ClientMessage`], in bytes; `tests/it/longest.rs` builds it.
pub const CLIENT_BODY_MAX: usize = {
    let submit = size::U32 + size::REQUEST + size::OPTION + size::U64;
    let configure = size::CONFIGURATION;
    let change = size::TAG + size::max(submit, configure);
    size::TAG + size::SESSION + size::U64 + size::OPTION + size::U64 + change
};

/// The longest body of a [`ServerMessage`], in bytes; `tests/it/longest.rs` builds it.
pub const SERVER_BODY_MAX: usize = {
    let blocks = 3 * size::U32 + size::U64 + size::list(BLOCKS_MAX, size::BLOCK);
    let jobs = size::list(LIST_JOBS_MAX, 2 * size::U32) + size::OPTION + size::U32;
    let occupancy = 2 * size::U32 + 2 * size::list(OCCUPANCY_BYTES_MAX, 1);
    let event = 5 * size::U32 + 2 * size::U64 + size::TAG + size::BLOCK;
    let events = size::list(EVENTS_MAX, event) + size::U64 + size::U32;
    let fault = 2 * size::U32 + size::OPTION + size::U32;
    let outcome = size::RESULT + size::TAG + size::max(fault, size::NEAREST) + events;
    let greeting = 1
        + size::SESSION
        + size::U64
        + size::TAG
        + size::U64
        + size::list(SOFTWARE_BYTES_MAX, 1)
        + size::list(BUILD_BYTES_MAX, 1)
        + size::CAPACITY
        + size::list(STRATEGIES_MAX, size::TAG)
        + size::list(SCHEDULERS_MAX, size::FORM)
        + size::CONFIGURATION
        + size::OPTION
        + size::U32
        + size::U16;
    let answer = size::RESULT + size::TAG + size::max(size::max(blocks, jobs), occupancy);
    size::TAG + size::max(size::max(answer, outcome), greeting)
};

/// The most bytes postcard takes for each kind of field.
mod size {
    use meshalloc::message::NEAREST_MAX;
    use meshalloc::{Class, DIMENSIONS_MAX, Slices, Tolerance};

    /// A variant's number, below 128.
    pub(super) const TAG: usize = 1;
    pub(super) const OPTION: usize = 1;
    pub(super) const RESULT: usize = 1;
    pub(super) const U16: usize = 3;
    pub(super) const U32: usize = 5;
    pub(super) const U64: usize = 10;
    pub(super) const BOOL: usize = 1;
    /// Boot, number.
    pub(super) const SESSION: usize = 8 + U32;
    /// An extent from 128 on takes two bytes. A shape has at most three such extents in addition to
    /// 13 others: it is kept in 62 bits, of which such an extent takes 15 and any other at least
    /// one.
    const SHAPE: usize = list(DIMENSIONS_MAX, 1) + 3;
    /// Shape, processors, flags, and the variant of slices, estimate, class and tolerance.
    pub(super) const REQUEST: usize = SHAPE + U32 + 1 + VARIANT + OPTION + U64;
    const HAS_GANGS: bool = Slices::MOST > 1;
    const HAS_CLASSES: bool = Class::new(1, false).is_some();
    const HAS_TOLERANCE: bool = Tolerance::new(1).is_some();
    /// The number of a variant, and what it has beside the estimate; nothing in a build without
    /// gangs, priorities and tolerance.
    const VARIANT: usize = if HAS_TOLERANCE {
        TAG + OPTION + SLICES + OPTION + CLASS + 1
    } else if HAS_CLASSES {
        TAG + OPTION + SLICES + CLASS
    } else if HAS_GANGS {
        TAG + SLICES
    } else {
        0
    };
    /// The slices after the first.
    const SLICES: usize = if HAS_GANGS { U16 } else { 0 };
    /// Whether the job is preemptible, and its priority.
    const CLASS: usize = if HAS_CLASSES { TAG + U64 } else { 0 };
    /// The nearest legal shapes, each of at most four extents: 2^20 processors have room for two
    /// second or third bytes.
    pub(super) const NEAREST: usize = NEAREST_MAX * (OPTION + list(4, 1) + 2);
    pub(super) const BLOCK: usize = 4 * U16;
    /// A side takes a second byte from 2^7 on and a third from 2^14 on, so 2^20 processors have
    /// room for two such bytes.
    const SIDES: usize = list(DIMENSIONS_MAX, 1) + 2;
    /// Sides, wraps, how coordinates are written.
    const MACHINE: usize = SIDES + U16 + BOOL;
    /// Machine, strategy, scheduler.
    pub(super) const CONFIGURATION: usize = MACHINE + STRATEGY + SCHEDULER;
    /// A strategy with its parameters: a choice and a number.
    const STRATEGY: usize = TAG + TAG + U64;
    const SCHEDULER: usize = TAG + TAG + U64;
    /// A form of a scheduler, whose time is 0 or 1.
    pub(super) const FORM: usize = TAG + TAG + 1;
    pub(super) const CAPACITY: usize = 4 * U32 + 1;

    /// A list of at most `len` elements, `len` below 2^14.
    pub(super) const fn list(len: usize, element: usize) -> usize {
        (if len < 128 { 1 } else { 2 }) + len * element
    }

    pub(super) const fn max(a: usize, b: usize) -> usize {
        if a > b { a } else { b }
    }
}
