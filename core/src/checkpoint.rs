//! Checkpoints: the saved state of a controller, which
//! [`Controller::save`](crate::Controller::save) writes and
//! [`Controller::restore`](crate::Controller::restore) reads; or the saved state of an allocator
//! without jobs ([`Allocator::save`](crate::Allocator::save),
//! [`Allocator::restore`](crate::Allocator::restore)).
//!
//! A checkpoint is a sequence of *items*. An item is a kind and a value in postcard's encoding.
//! Items are packed into *parts* of at most [`PART_MAX`] bytes; no item crosses parts. In this
//! order:
//!
//! | item | value |
//! |---|---|
//! | head | number of the format, configuration, clock, number of the latest event, statistics |
//! | running job | slot, name, request, times; then items with its blocks |
//! | waiting job | slot, name, request, times, reservation (several blocks: items after it) |
//! | free slots | in the order of reuse |
//! | faults | the faulty nodes |
//! | strategy | its data that do not follow from the above ([`Strategy::save`]) |
//! | scheduler | its data ([`Scheduler::save`]) |
//! | leases | a job and the end of its lease; or the number and content of a remembered lease end |
//! | end | the number of items before it, and the [checksum](crate::checksum) of all bytes before it |
//!
//! The checkpoint of an allocator has:
//!
//! | item | value |
//! |---|---|
//! | head | number of the format, machine, strategy, epoch of the handles |
//! | block | its cell in the pool, the cell's ticket, first and last node; an odd ticket begins an allocation |
//! | free cells | each with its ticket, in the order of reuse |
//! | faults, strategy, end | as above |
//!
//! An item of blocks has up to 16 numbers. A single processor is one number, twice its node. Any
//! other block is two numbers: twice its first node plus 1, then its last node.
//!
//! A job with one block takes 25 to 35 bytes. A block of a single processor takes one or two bytes
//! on a machine of up to 2^13 processors. So 256 jobs with a block each take 9 KB. A 64 x 64 mesh
//! whose processors are all held one by one takes 10 KB more.
//!
//! [`Strategy::save`]: crate::Strategy::save
//! [`Scheduler::save`]: crate::Scheduler::save

use core::fmt;

use crate::error::ConfigureError;
use crate::grid::{Block, Grid};
use crate::node::NodeId;
use crate::texts::texts;

// Without the feature, the module is two types without values.
#[cfg_attr(not(feature = "restore"), path = "checkpoint/not_built.rs")]
pub(crate) mod items;

pub(crate) use items::{Reader, Writer};

/// The maximum length of a part in bytes.
pub const PART_MAX: usize = 232;

/// The number of the format, with which every checkpoint begins. It changes whenever the format
/// changes.
pub(crate) const FORMAT: u32 = 0x6d63_7009;

/// The number of the format of the checkpoint of an allocator without jobs.
pub(crate) const ALLOCATOR_FORMAT: u32 = 0x6d63_6101;

/// The greatest count and the greatest number of an event that are restored. A running job
/// remembers 48 bits of the number of its grant, so as many events again can be counted.
pub(crate) const COUNT_MAX: u64 = (1 << 47) - 1;

/// The block between two nodes, along rings upwards from the first.
pub(crate) fn block_from_ends(
    grid: &Grid,
    (first, last): (u32, u32),
) -> Result<Block, RestoreError> {
    let ends = grid.coordinates(NodeId(first));
    let (start, end) = ends
        .zip(grid.coordinates(NodeId(last)))
        .ok_or(RestoreError::Inconsistent)?;
    let extent = |at: usize| {
        let [from, to, side] = [start[at], end[at], grid.side(at)].map(u32::from);
        (to + side - from) % side + 1
    };
    let block = grid.encode(|at| start[at].into(), extent);
    consistent(grid.contains(block))?;
    Ok(block)
}

/// Why a controller was not saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaveError<E> {
    /// A scheduling pass is under way
    /// ([`Controller::is_scheduling`](crate::Controller::is_scheduling)); nothing was written.
    Scheduling,
    /// The receiver of the parts failed, for this reason.
    Part(E),
}

impl<E: fmt::Display> fmt::Display for SaveError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SaveError::Scheduling => f.write_str("a scheduling pass is under way"),
            SaveError::Part(error) => write!(f, "a part could not be stored: {error}"),
        }
    }
}

impl<E: core::error::Error> core::error::Error for SaveError<E> {}

/// Why a checkpoint was not restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum RestoreError {
    /// The bytes do not start a checkpoint of this format.
    Format,
    /// An item cannot be read.
    Malformed,
    /// Parts are missing, repeated or out of order.
    Incomplete,
    /// This build does not serve the configuration.
    Configure(ConfigureError),
    /// The checkpoint has more jobs or blocks than this build has room for.
    NoRoom,
    /// The checkpoint contradicts itself: for example blocks overlap, two jobs have one name, or a
    /// processor does not exist.
    Inconsistent,
    /// The checksum does not match the bytes: some have changed since the state was saved.
    Damaged,
}

texts! { RestoreError: {
    RestoreError::Format => "not a checkpoint of this format";
    RestoreError::Malformed => "an item of the checkpoint cannot be read";
    RestoreError::Incomplete => "parts of the checkpoint are missing, repeated or out of order";
    RestoreError::Configure(error) =>
        "this build does not serve the configuration of the checkpoint: {error}";
    RestoreError::NoRoom => "the checkpoint has more jobs or blocks than this build has room for";
    RestoreError::Inconsistent => "the checkpoint contradicts itself";
    RestoreError::Damaged => "the checksum of the checkpoint is wrong";
} }

/// `Inconsistent` unless the condition holds.
pub(crate) const fn consistent(condition: bool) -> Result<(), RestoreError> {
    if condition {
        Ok(())
    } else {
        Err(RestoreError::Inconsistent)
    }
}
