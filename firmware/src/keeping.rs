//! What a server keeps over resets: [`Keep`]. [`Forgetful`] keeps nothing; `durable` (feature
//! `durable`) keeps a journal.
//!
//! A change is recorded ([`Record`]) before it is carried out, and so before its reply leaves.
//! Since the controller decides deterministically, the last checkpoint and the records after it
//! lead to the same state again: configuration, faults, jobs, queue, reservations, schedulers,
//! sessions and what is remembered in them. A change that cannot be recorded is refused and changes
//! nothing.
//!
//! A change without an effect is not recorded: one that is refused, or that finds everything as it
//! says. So a client that repeats such changes does not wear the flash out. The statistics of
//! refused changes are therefore kept by checkpoints only. A submission that never waits is refused
//! or granted by its only attempt. If it is granted, it is recorded after that attempt, and before
//! any reply shows the grant.

use meshalloc::{Change, Controller, Ticks};
use serde::{Deserialize, Serialize};

use crate::protocol::ProtocolError;
use crate::sessions::Sessions;

#[cfg(feature = "durable")]
pub mod durable;

/// A change that is carried out, and the client that asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The client.
    pub client: u32,
    /// The number of its session; [`NO_SESSION`] if the server itself ends a lease.
    pub session: u32,
    /// The sequence number of the frame.
    pub seq: u32,
    /// The time: that of the controller's clock after the change.
    pub at: Ticks,
    /// The change.
    pub change: Change,
}

/// Stands for the server itself instead of the number of a session.
pub const NO_SESSION: u32 = 0;

/// Whether there is room for the growth of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// There is.
    Enough,
    /// There is none until the state has become smaller.
    Full,
    /// It is known after a checkpoint, which is due now.
    Unknown,
}

/// The record could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotKept;

/// When a change is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Never: it changes nothing.
    Never,
    /// Before it is carried out, if clients name the time. Otherwise never: it only sets the clock,
    /// which goes on by itself.
    IfTimeIsNamed,
    /// Before it is carried out.
    Before,
    /// After its only attempt, if that granted the job.
    Granted,
}

/// Something that outlives a reset.
pub trait Keep {
    /// When the change is recorded if the controller carries it out next, at the time `at`.
    ///
    /// # Errors
    ///
    /// `Unread`: it would destroy a state that was not read.
    fn when(
        &self,
        controller: &Controller<'_>,
        change: &Change,
        at: Ticks,
    ) -> Result<When, ProtocolError>;

    /// The bytes by which the kept state may grow through this change, which the controller has not
    /// carried out yet.
    fn growth(&self, controller: &Controller<'_>, change: &Change) -> usize;

    /// Whether there is room for this growth, as far as is known.
    fn room_for(&mut self, growth: usize) -> Room;

    /// Whether there is room for the record and for this growth now; a checkpoint may make some.
    fn has_room(&self, record: &Record, growth: usize) -> bool;

    /// Writes a record. When it returns, a reset does not lose it.
    ///
    /// # Errors
    ///
    /// When there is no room for the record or for this growth, or the memory fails.
    fn append(&mut self, record: &Record, growth: usize) -> Result<(), NotKept>;

    /// Counts the instructions of a Cortex-M4 that a recorded change took. Carrying it out again
    /// takes as many.
    fn worked(&mut self, instructions: u64);

    /// Whether a checkpoint is to be written at the next opportunity.
    fn is_due(&self) -> bool;

    /// Counts how much room the state takes. If little room is left for records, writes the state,
    /// which replaces all records so far. If `reset` is a time, it always writes, and instead of
    /// the present state the one to which a reset at that time leads; the record of that reset
    /// follows. No scheduling pass is under way. Calls `meantime` now and then.
    ///
    /// # Errors
    ///
    /// When there is no room for it or the memory fails; what was written before still counts.
    fn checkpoint(
        &mut self,
        controller: &Controller<'_>,
        reset: Option<Ticks>,
        meantime: &mut dyn Meantime,
    ) -> Result<(), NotKept>;
}

/// What goes on while a checkpoint is written: frames are served, which may change sessions but not
/// the controller.
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
    fn when(&self, _: &Controller<'_>, _: &Change, _: Ticks) -> Result<When, ProtocolError> {
        Ok(When::Never)
    }

    fn growth(&self, _: &Controller<'_>, _: &Change) -> usize {
        0
    }

    fn room_for(&mut self, _: usize) -> Room {
        Room::Enough
    }

    fn has_room(&self, _: &Record, _: usize) -> bool {
        true
    }

    fn append(&mut self, _: &Record, _: usize) -> Result<(), NotKept> {
        Ok(())
    }

    fn worked(&mut self, _: u64) {}

    fn is_due(&self) -> bool {
        false
    }

    fn checkpoint(
        &mut self,
        _: &Controller<'_>,
        _: Option<Ticks>,
        _: &mut dyn Meantime,
    ) -> Result<(), NotKept> {
        Ok(())
    }
}
