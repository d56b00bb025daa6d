//! What travels over the line: [`ClientMessage`] and [`ServerMessage`], and how long they can get.
//!
//! `PROTOCOL.md` in this package specifies the bytes. `tests/it/golden.rs` compares its examples
//! and the frames in `golden-frames.txt` with the code. Messages are postcard, so the *order* of
//! variants and fields is the format: new ones go to the end, and any other change needs a new
//! [`PROTOCOL_VERSION`].

use core::fmt;

use heapless::{String, Vec};
use meshalloc::message::{GRANT_BLOCKS_MAX, LIST_JOBS_MAX, OCCUPANCY_BYTES_MAX};
use meshalloc::{
    Block, Capacity, Command, Configuration, Error, FaultReport, JobId, JobState, Reply,
    SchedulerKind, StrategyKind, Ticks,
};
use serde::{Deserialize, Serialize};

/// The version of the protocol, the first byte of every frame.
pub const PROTOCOL_VERSION: u8 = 5;

/// The most bytes in [`Greeting::software`].
pub const SOFTWARE_BYTES_MAX: usize = 24;
/// The most bytes in [`Greeting::build`].
pub const BUILD_BYTES_MAX: usize = 64;
/// The most strategies in a [`Greeting`].
pub const STRATEGIES_MAX: usize = 48;
/// The most schedulers in a [`Greeting`].
pub const SCHEDULERS_MAX: usize = 12;

/// The latest time that a command may name. A clock that goes on from there has no end to fear.
pub const TIME_MAX: Ticks = 1 << 63;

/// The most events in one reply.
pub const EVENTS_MAX: usize = 4;

const _: () = assert!(StrategyKind::ALL.len() <= STRATEGIES_MAX);
const _: () = assert!(SchedulerKind::ALL.len() <= SCHEDULERS_MAX);

/// What a command is meant for: one boot of the server, and what that server keeps for one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Session {
    /// The boot: another number after every reset. Of eight bytes in a frame, as all its bits are random.
    #[serde(with = "postcard::fixint::le")]
    pub boot: u64,
    /// The place of the session among all of this boot, from 1 on.
    pub number: u32,
}

/// What a client sends. Each is answered by one [`ServerMessage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ClientMessage {
    /// Opens a session, or goes on with the one that this client has. Answered by [`ServerMessage::Hello`].
    Hello,
    /// A command to the controller. Answered by [`ServerMessage::Outcome`] if it changes something
    /// ([`Command::changes_state`]), else by [`ServerMessage::Reply`].
    Command {
        /// What it is meant for.
        session: Session,
        /// The number of the last event that the client knows.
        since: u64,
        /// The time, at most [`TIME_MAX`], of a session that has a virtual clock
        /// ([`ClientMessage::Clock`]); `None` for the present time. Time does not go back: an
        /// earlier one counts as the latest, until a configure or a reset. Queries have no time.
        at: Option<Ticks>,
        /// The command.
        command: Command,
    },
    /// Queries the events. Answered by [`ServerMessage::Events`].
    Events {
        /// What it is meant for.
        session: Session,
        /// The number of the last event that the client knows.
        since: u64,
    },
    /// Queries the counters of the line. Answered by [`ServerMessage::LineCounters`].
    LineCounters,
    /// Asks that the clock be virtual, and this session's, or the server's own again. Answered by
    /// [`ServerMessage::Outcome`], like a command.
    Clock {
        /// What it is meant for.
        session: Session,
        /// The number of the last event that the client knows.
        since: u64,
        /// Whether the time is what the commands of this session say.
        is_virtual: bool,
    },
    /// Asks for another rate of the line. Answered by [`ServerMessage::Rate`].
    #[cfg(feature = "rates")]
    Rate {
        /// Bits a second.
        baud: u32,
    },
}

/// What the server answers, one to each frame.
#[allow(
    clippy::large_enum_variant,
    reason = "there is one at a time, and no heap to put the greeting on"
)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ServerMessage {
    /// To [`ClientMessage::Hello`].
    Hello(Greeting),
    /// To a query.
    Reply(Reply),
    /// To a command that changes something.
    Outcome {
        /// What it had come to when it was first answered.
        outcome: Outcome,
        /// The number of the latest event at that time.
        as_of: u64,
        /// What has happened since the last event that the client knows.
        events: Events,
    },
    /// To [`ClientMessage::Events`].
    Events(Events),
    /// To [`ClientMessage::LineCounters`].
    LineCounters(LineCounters),
    /// The frame was not understood or not carried out.
    Error(ProtocolError),
    /// To [`ClientMessage::Rate`].
    #[cfg(feature = "rates")]
    Rate {
        /// The rate from now on, in bits a second; this reply still comes with the one before.
        baud: u32,
    },
}

/// A [`ServerMessage`] whose reply is still the controller's: the same bytes without a copy.
#[derive(Clone, Debug, Serialize)]
pub(crate) enum ServerMessageRef<'a> {
    Hello(&'a Greeting),
    Reply(&'a Reply),
    Outcome {
        outcome: Outcome,
        as_of: u64,
        events: &'a Events,
    },
    Events(&'a Events),
    LineCounters(&'a LineCounters),
    Error(ProtocolError),
    #[cfg(feature = "rates")]
    Rate {
        baud: u32,
    },
}

/// What a command that changes something has come to: the replies of [`Reply`] to such a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Outcome {
    /// Done.
    Done,
    /// The job was taken.
    Submitted {
        /// The job.
        job: JobId,
        /// Whether it runs or waits; if it waits it may yet be granted in consequence of this command.
        state: JobState,
    },
    /// The job is gone.
    Released {
        /// The job.
        job: JobId,
        /// The processors it held, 0 if it waited.
        processors: u32,
    },
    /// The state of the processors was set.
    Fault(FaultReport),
    /// Nothing was changed.
    Error(Error),
    /// It is being carried out. Asked again with the same frame, the server says what it has come to.
    UnderWay,
}

impl Outcome {
    /// The outcome in a reply of [`Controller::begin`](meshalloc::Controller::begin).
    pub(crate) const fn of(reply: &Reply) -> Outcome {
        match *reply {
            Reply::Submitted { job, state } => Outcome::Submitted { job, state },
            Reply::Released { job, processors } => Outcome::Released { job, processors },
            Reply::Fault(report) => Outcome::Fault(report),
            Reply::Error(error) => Outcome::Error(error),
            _ => Outcome::Done,
        }
    }
}

impl Outcome {
    /// The final reply; `None` while the command is under way.
    pub const fn reply(self) -> Option<Reply> {
        Some(match self {
            Outcome::Done => Reply::Done,
            Outcome::Submitted { job, state } => Reply::Submitted { job, state },
            Outcome::Released { job, processors } => Reply::Released { job, processors },
            Outcome::Fault(report) => Reply::Fault(report),
            Outcome::Error(error) => Reply::Error(error),
            Outcome::UnderWay => return None,
        })
    }
}

/// Events in order, and whether there will be more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Events {
    /// The oldest ones that the client does not know.
    pub list: Vec<Event, EVENTS_MAX>,
    /// The number of the latest event of all. If the list is not full there is none between its last one and this; a job
    /// that was granted and is gone again has no grant any more, and of the ends of leases the latest 16 are there.
    pub latest: u64,
    /// The most jobs that are still to be tried in consequence of the last command that changed something; 1 if there is only other work, a checkpoint say; 0 when
    /// it has come to its end.
    pub left: u32,
}

/// Something has happened to a job without a command of this client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Event {
    /// The number of the event, larger than that of any earlier one of the same boot.
    pub number: u64,
    /// The job.
    pub job: JobId,
    /// When it happened.
    pub at: Ticks,
    /// The processors that it holds from then on, or held until then.
    pub processors: u32,
    /// What it was.
    pub what: Happened,
}

/// What has happened to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Happened {
    /// It was granted.
    Granted {
        /// How often it was tried in all.
        attempts: u32,
        /// How often it failed although at least as many processors were free as it requests.
        misses: u32,
        /// The number of blocks it holds in all; the others are read with [`Command::Blocks`].
        blocks_total: u32,
        /// The first of them.
        block: Block,
    },
    /// Its lease has ended: it is gone.
    #[cfg(feature = "leases")]
    LeaseEnded,
}

/// Where the state of a boot has come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Origin {
    /// The server keeps nothing: whatever there was before a reset is gone.
    Forgetful,
    /// It keeps a journal, in which there was nothing yet.
    New,
    /// It is that of the last boot, at this time of the server's clock, which goes on from there; how long the server was
    /// away is not known.
    Restored {
        /// The latest time that was written down.
        at: Ticks,
    },
    /// The journal was damaged. Something that was acknowledged is lost; the state is an earlier one, or empty.
    Damaged {
        /// The latest time that is known.
        at: Ticks,
    },
    /// The journal has a state that was not read: this image cannot read it, or the last three
    /// times the chip was reset while it did. The server is empty, and the journal stays as it is.
    /// Commands that change something are refused but for a reset, which discards it.
    Unread,
}

/// What the server is and serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Greeting {
    /// Its protocol version; also in the header of every frame.
    pub protocol: u8,
    /// The session of the client that it greets.
    pub session: Session,
    /// The number of the latest event.
    pub events: u64,
    /// Where the state has come from when it started.
    pub origin: Origin,
    /// Its software version.
    pub software: String<SOFTWARE_BYTES_MAX>,
    /// What it was built for: target and profile.
    pub build: String<BUILD_BYTES_MAX>,
    /// What it has room for.
    pub capacity: Capacity,
    /// The strategies in the build: the places in [`StrategyKind::ALL`].
    pub strategies: Vec<u8, STRATEGIES_MAX>,
    /// The schedulers in the build.
    pub schedulers: Vec<SchedulerKind, SCHEDULERS_MAX>,
    /// What it serves at present, and how.
    pub configuration: Configuration,
    /// The longest frame it takes, in bytes on the line with both delimiters.
    pub frame_bytes_max: u16,
}

impl Greeting {
    /// The strategies in the build that are known here, with the parameters that their names alone stand for.
    pub fn strategies(&self) -> impl Iterator<Item = StrategyKind> + '_ {
        let kinds = |&number: &u8| StrategyKind::ALL.get(usize::from(number));
        self.strategies.iter().filter_map(kinds).copied()
    }
}

/// What the server has seen on its line since its reset. Each stops at its largest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LineCounters {
    /// Frames that were understood.
    pub frames: u32,
    /// Of these, commands that change something and were carried out, or refused by the controller.
    pub changes: u32,
    /// Of these, repeated ones that were answered from memory.
    pub repeated: u32,
    /// Of these, ones not carried out because they are meant for another boot or session.
    pub other_session: u32,
    /// Of these, ones not carried out because later ones of the same client were.
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
    /// Times that the transport lost bytes before they got here, or one had no stop bit.
    pub overruns: u32,
    /// Replies that the transport had no room for.
    pub dropped: u32,
}

impl LineCounters {
    /// Nothing was seen yet.
    pub(crate) const NONE: LineCounters = LineCounters {
        frames: 0,
        changes: 0,
        repeated: 0,
        other_session: 0,
        too_old: 0,
        bad_cobs: 0,
        too_short: 0,
        too_long: 0,
        bad_crc: 0,
        wrong_version: 0,
        bad_message: 0,
        overruns: 0,
        dropped: 0,
    };

    /// Whatever was not as it should be: all but whole frames.
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

/// Why a frame was not carried out. Nothing was changed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ProtocolError {
    /// The frame was damaged on its way (COBS, length or CRC), so that even its sequence number may be
    /// wrong. Whoever sent that number sends the frame again.
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
    /// The command is meant for another boot of the server: it was reset. The greeting says whether the jobs of that boot are gone.
    OtherBoot {
        /// The present one.
        #[serde(with = "postcard::fixint::le")]
        boot: u64,
    },
    /// The client has no such session: it has not said hello, or its session had to make room for those of other clients.
    NoSession,
    /// Later commands of the same client were carried out, so this one, which comes again or too late, is not.
    TooOld,
    /// The journal has no room for the command, or its memory fails; in that case it may be carried out after a reset.
    NotKept,
    /// The journal has a state that was not read ([`Origin::Unread`]), which the command would
    /// destroy. Only a reset does that.
    Unread,
    /// The command names a time, but this session has no virtual clock, or not any more.
    NoVirtualClock,
    /// Another session has a virtual clock, so that a lease of this one would not end.
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
                f.write_str("later commands of the same client were carried out already")
            }
            ProtocolError::NotKept => {
                f.write_str("the journal has no room for the command, or its memory fails")
            }
            ProtocolError::Unread => {
                f.write_str("the journal has a state that was not read: only a reset discards it")
            }
            ProtocolError::NoVirtualClock => {
                f.write_str("the command names a time, but its session has no virtual clock")
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
    let submit = size::U32 + size::REQUEST + size::U64;
    let configure = size::CONFIGURATION;
    let command = size::TAG + size::max(submit, configure);
    size::TAG + size::SESSION + size::U64 + size::OPTION + size::U64 + command
};

/// The longest body of a [`ServerMessage`], in bytes; `tests/it/longest.rs` builds it.
pub const SERVER_BODY_MAX: usize = {
    let grant = 5 * size::U32 + size::U64 + size::list(GRANT_BLOCKS_MAX, size::BLOCK);
    let jobs = size::list(LIST_JOBS_MAX, 2 * size::U32) + size::OPTION + size::U32;
    let occupancy = 2 * size::U32 + 2 * size::list(OCCUPANCY_BYTES_MAX, 1);
    let event = 5 * size::U32 + 2 * size::U64 + size::TAG + size::BLOCK;
    let events = size::list(EVENTS_MAX, event) + size::U64 + size::U32;
    let fault = 2 * size::U32 + size::OPTION + size::U32;
    let outcome = size::TAG + fault + size::U64 + events;
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
        + size::U16;
    let reply = size::TAG + size::max(size::max(grant, jobs), occupancy);
    size::TAG + size::max(size::max(reply, outcome), greeting)
};

/// The most bytes postcard takes for each kind of field.
mod size {
    use meshalloc::DIMENSIONS_MAX;

    /// A variant's number, below 128.
    pub(super) const TAG: usize = 1;
    pub(super) const OPTION: usize = 1;
    pub(super) const U16: usize = 3;
    pub(super) const U32: usize = 5;
    pub(super) const U64: usize = 10;
    pub(super) const BOOL: usize = 1;
    /// Boot, number.
    pub(super) const SESSION: usize = 8 + U32;
    /// An extent from 128 on takes two bytes. Beside 13 others there are at most three of them: a shape is kept in 62 bits,
    /// of which such an extent takes 15 and any other at least one.
    const SHAPE: usize = list(DIMENSIONS_MAX, 1) + 3;
    /// Shape, processors, flags, estimate.
    pub(super) const REQUEST: usize = SHAPE + U32 + 1 + OPTION + U64;
    pub(super) const BLOCK: usize = 4 * U16;
    /// A side takes a second byte from 2^7 on and a third from 2^14 on, so that 2^20 processors have room for two of them.
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
