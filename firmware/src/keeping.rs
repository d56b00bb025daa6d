//! What a server keeps over resets: [`Keep`], and [`Forgetful`] for one that keeps nothing.
//!
//! A command that changes something is written down as a [`Record`] before it is carried out, and so before its reply leaves. As the
//! controller decides deterministically, the last checkpoint and the records after it lead to the same state again: grid,
//! configuration, faults, jobs, queue, reservations, schedulers, sessions and what is remembered in them. A command that cannot be written down
//! is refused and changes nothing.

use meshalloc::{Command, Controller, Ticks};
use serde::{Deserialize, Serialize};

use crate::sessions::Sessions;

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
}

/// A command that is carried out, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The client.
    pub client: u32,
    /// The number of its session.
    pub session: u32,
    /// The sequence number of the command.
    pub seq: u32,
    /// Its time.
    pub at: Ticks,
    /// The command.
    pub command: Command,
}

/// It could not be written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotKept;

/// Something that outlives a reset.
pub trait Keep {
    /// Writes a record down. When it returns, a reset does not lose it.
    ///
    /// # Errors
    ///
    /// When there is no room for it or the memory fails; a checkpoint may make room.
    fn append(&mut self, record: &Record) -> Result<(), NotKept>;

    /// Whether the next quiet moment is one for a checkpoint.
    fn is_due(&self) -> bool;

    /// Writes the whole state down, in place of all records so far. No scheduling pass is under way.
    ///
    /// # Errors
    ///
    /// When there is no room for it or the memory fails; what was written down before still counts.
    fn checkpoint(
        &mut self,
        controller: &Controller<'_>,
        sessions: &Sessions,
    ) -> Result<(), NotKept>;
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forgetful;

impl Keep for Forgetful {
    fn append(&mut self, _: &Record) -> Result<(), NotKept> {
        Ok(())
    }

    fn is_due(&self) -> bool {
        false
    }

    fn checkpoint(&mut self, _: &Controller<'_>, _: &Sessions) -> Result<(), NotKept> {
        Ok(())
    }
}
