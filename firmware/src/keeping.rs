//! How a server keeps its state over resets: [`Keep`]. [`Forgetful`] keeps nothing; `durable`
//! (feature `durable`) keeps a journal.
//!
//! A change is recorded ([`Record`]) when it is about to take effect ([`Commit`]), and so before
//! its reply leaves. Since the controller decides deterministically, the last checkpoint and the
//! records after it lead to the same state again: configuration, faults, jobs, queue, reservations,
//! schedulers, sessions and the data in them. A change that cannot be recorded is refused and
//! changes nothing.
//!
//! A change that is refused takes no effect, so it is not recorded. A change that only sets the
//! clock, since everything else is already as the change says, is not recorded either, unless
//! clients name the time. So a client that repeats such changes does not wear out the flash. The
//! statistics of refused changes are therefore kept by checkpoints only.
//!
//! [`Commit`]: meshalloc::Commit

use meshalloc::{Change, Controller, Ticks};
use serde::{Deserialize, Serialize};

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

/// A checkpoint could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotKept;

/// Why a record was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRecord {
    /// There is no room for the data that the change adds to the state, until the state has become
    /// smaller.
    Full,
    /// Whether there is room for the change is known only after a checkpoint, which is due now.
    Uncounted,
    /// There is no room for the record (a checkpoint may make room), or the memory fails.
    Failed,
}

/// Storage for the state that outlives a reset.
pub trait Keep {
    /// Whether any state outlives a reset.
    const KEEPS: bool;

    /// Writes the record of a change that adds at most `adds` bytes to the state. When it returns,
    /// a reset does not lose it.
    ///
    /// # Errors
    ///
    /// When it was not written.
    fn append(&mut self, record: &Record, adds: usize) -> Result<(), NoRecord>;

    /// Counts the milliseconds that a recorded change took. Carrying it out again takes as many.
    fn worked(&mut self, ms: Ticks);

    /// Whether a checkpoint is to be written at the next opportunity.
    fn is_due(&self) -> bool;

    /// Counts how much room the state takes. If little room is left for records, writes the state,
    /// which replaces all records so far. If `reset` is a time, the method always writes: not the
    /// present state, but the state to which a reset at that time leads. The record of that reset
    /// follows. No scheduling pass is under way. Calls `meantime` now and then.
    ///
    /// # Errors
    ///
    /// When there is no room for the checkpoint or the memory fails; earlier checkpoints and
    /// records still count.
    fn checkpoint<const CLIENTS: usize>(
        &mut self,
        controller: &Controller<'_>,
        reset: Option<Ticks>,
        meantime: &mut dyn Meantime<CLIENTS>,
    ) -> Result<(), NotKept>;
}

/// The work that goes on while a checkpoint is written: frames are served, which may change
/// sessions but not the controller.
pub trait Meantime<const CLIENTS: usize> {
    /// Looks at the line; called once for each chunk of a checkpoint, some 60,000 instructions.
    fn pause(&mut self);

    /// The sessions as they are now.
    fn sessions(&self) -> &Sessions<CLIENTS>;
}

/// No work goes on meanwhile.
impl<const CLIENTS: usize> Meantime<CLIENTS> for Sessions<CLIENTS> {
    fn pause(&mut self) {}

    fn sessions(&self) -> &Sessions<CLIENTS> {
        self
    }
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forgetful;

impl Keep for Forgetful {
    const KEEPS: bool = false;

    fn append(&mut self, _: &Record, _: usize) -> Result<(), NoRecord> {
        Ok(())
    }

    fn worked(&mut self, _: Ticks) {}

    fn is_due(&self) -> bool {
        false
    }

    fn checkpoint<const CLIENTS: usize>(
        &mut self,
        _: &Controller<'_>,
        _: Option<Ticks>,
        _: &mut dyn Meantime<CLIENTS>,
    ) -> Result<(), NotKept> {
        Ok(())
    }
}
