//! What a server keeps over resets: [`Keep`], and [`Forgetful`] for one that keeps nothing; `durable` (feature `durable`) for one that keeps a journal.
//!
//! A command that changes something is written down as a [`Record`] before it is carried out, and so before its reply leaves. As the
//! controller decides deterministically, the last checkpoint and the records after it lead to the same state again: grid,
//! configuration, faults, jobs, queue, reservations, schedulers, sessions and what is remembered in them. A command that cannot be written down
//! is refused and changes nothing.
//!
//! What changes nothing is not written down: a refused command, or one that finds everything as it
//! says. A client that repeats such commands wears no flash out. Statistics of refused commands are
//! therefore kept by checkpoints only. A submission that never waits is refused or not by its only
//! attempt, so it is written down behind that attempt, if it was granted, and before any reply
//! shows the grant.

use meshalloc::{Command, Controller, Ticks};
use serde::{Deserialize, Serialize};

use crate::protocol::ProtocolError;
use crate::sessions::Sessions;

#[cfg(feature = "durable")]
pub mod durable;

/// A command that is carried out, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The client.
    pub client: u32,
    /// The number of its session; [`NO_SESSION`] if the server has given the command itself.
    pub session: u32,
    /// The sequence number of the command.
    pub seq: u32,
    /// Its time: that of the controller's clock behind it.
    pub at: Ticks,
    /// The command.
    pub command: Command,
}

/// In place of the number of a session: a command of the server itself.
pub const NO_SESSION: u32 = 0;

/// What is known of the room for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// There is room for all that it may lead to.
    Enough,
    /// There is none, until something has made the state smaller.
    Full,
    /// A checkpoint is due, after which it is known.
    Unknown,
}

/// It could not be written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotKept;

/// When a command is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Never: it changes nothing.
    Never,
    /// Before it is carried out, if clients name the time. Otherwise never: it changes nothing but
    /// the clock, which goes on by itself.
    IfTimeIsNamed,
    /// Before it is carried out.
    Before,
    /// Behind its only attempt, if that was granted.
    Granted,
}

/// Something that outlives a reset.
pub trait Keep {
    /// When this record is written down, whose command the controller carries out next.
    ///
    /// # Errors
    ///
    /// `Unread`: it would destroy a state that was not read.
    fn when(&self, controller: &Controller<'_>, record: &Record) -> Result<When, ProtocolError>;

    /// The bytes by which the state may become longer through a record that the controller has not
    /// carried out yet.
    ///
    /// # Errors
    ///
    /// When there is no room for the record, or none for the state to which it may lead; a
    /// checkpoint may make room.
    fn claim(&self, controller: &Controller<'_>, record: &Record) -> Result<usize, NotKept>;

    /// Writes a record down, for which there is room, and the bytes for what it may lead to. When
    /// it returns, a reset does not lose it.
    ///
    /// # Errors
    ///
    /// When the memory fails.
    fn append(&mut self, record: &Record, growth: usize) -> Result<(), NotKept>;

    /// Whether there is room for what the command may lead to.
    fn room_for(&mut self, controller: &Controller<'_>, command: &Command) -> Room;

    /// About so many instructions of a Cortex-M4 have gone into what was written down: as many as
    /// it takes to carry it out once more.
    fn worked(&mut self, instructions: u64);

    /// Whether the next quiet moment is one for a checkpoint.
    fn is_due(&self) -> bool;

    /// Sees how much room the state takes, and writes it down in place of all records so far if there is little room left for these. No scheduling pass is under way. It pauses
    /// now and then.
    ///
    /// # Errors
    ///
    /// When there is no room for it or the memory fails; what was written down before still counts.
    fn checkpoint(
        &mut self,
        controller: &Controller<'_>,
        meantime: &mut dyn Meantime,
    ) -> Result<(), NotKept>;
}

/// What goes on while a checkpoint is written: frames are served, so that sessions may change, the controller does not.
pub trait Meantime {
    /// Looks at the line; called once for each chunk of a checkpoint, some 60,000 instructions.
    fn pause(&mut self);

    /// The sessions as they are now.
    fn sessions(&self) -> &Sessions;
}

/// Nothing goes on.
impl Meantime for Sessions {
    fn pause(&mut self) {}

    fn sessions(&self) -> &Sessions {
        self
    }
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forgetful;

impl Keep for Forgetful {
    fn when(&self, _: &Controller<'_>, _: &Record) -> Result<When, ProtocolError> {
        Ok(When::Never)
    }

    fn claim(&self, _: &Controller<'_>, _: &Record) -> Result<usize, NotKept> {
        Ok(0)
    }

    fn append(&mut self, _: &Record, _: usize) -> Result<(), NotKept> {
        Ok(())
    }

    fn room_for(&mut self, _: &Controller<'_>, _: &Command) -> Room {
        Room::Enough
    }

    fn worked(&mut self, _: u64) {}

    fn is_due(&self) -> bool {
        false
    }

    fn checkpoint(&mut self, _: &Controller<'_>, _: &mut dyn Meantime) -> Result<(), NotKept> {
        Ok(())
    }
}
