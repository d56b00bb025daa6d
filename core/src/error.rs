//! The errors of commands. A failed command changes nothing.

use core::fmt;

use crate::grid::{Block, Shape};
use crate::job_id::JobId;
use crate::node::NodeId;
use crate::texts::texts;
use crate::wire::wire;

/// The maximum number of nearest shapes that a refusal names.
pub const NEAREST_MAX: usize = 2;

/// Defines [`Refusal`]: each refusal has its name in machine-readable output and its text.
macro_rules! refusals {
    ($($(#[$meta:meta])* $refusal:ident = $name:literal, $text:literal;)*) => {
        wire! {
            /// Why a job was refused.
            ///
            /// Waiting helps against some refusals ([`Refusal::is_temporary`]): `TooFewFree` and
            /// `Fragmented` pass, `NeverFits` does not.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[non_exhaustive]
            pub enum Refusal {
                $($(#[$meta])* $refusal,)*
            }
        }

        impl Refusal {
            /// Every refusal, in the order of declaration.
            pub const ALL: [Refusal; [$(Refusal::$refusal),*].len()] = [$(Refusal::$refusal),*];

            /// The name in machine-readable output.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Refusal::$refusal => $name,)*
                }
            }
        }

        impl fmt::Display for Refusal {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Refusal::$refusal => $text,)*
                })
            }
        }
    };
}

refusals! {
    /// A side or the number of processors is zero.
    EmptyRequest = "empty-request", "empty request: sides and processors must be at least 1";
    /// The request has more processors than its shape.
    Malformed = "malformed", "the request has more processors than its shape";
    /// The strategy cannot serve this request even on an empty machine without faults.
    NeverFits = "never-fits", "can never fit: too large for the machine under this strategy";
    /// Fewer processors are free than the job would hold.
    TooFewFree = "too-few-free", "not enough free processors";
    /// Enough processors are free, but the strategy finds no place for the request.
    Fragmented = "fragmented", "enough free processors, but fragmented";
    /// A no-wait job that the scheduler did not let try, because other jobs wait before it.
    QueueNotEmpty = "queue-not-empty", "would have to wait behind other jobs";
    /// The table of jobs or the pool of blocks is full. With a journal also: the journal might not
    /// have room for the state that the command leads to.
    TableFull = "table-full", "table full";
    /// A job with this name waits or runs already.
    DuplicateJob = "duplicate-job", "a job with this name waits or runs already";
    /// The request has more extents than the machine has dimensions.
    TooManyExtents = "too-many-extents",
        "can never fit: more extents than the machine has dimensions";
    /// An extent is smaller than the machine's side, and the strategy serves only whole sides.
    ExtentBelowSide = "extent-below-side",
        "can never fit: the strategy serves only extents equal to the machine's side";
    /// The request fits only into processors that are reserved for earlier jobs.
    Reserved = "reserved", "fits only into processors that are reserved for earlier jobs";
    /// The machine has no slice of this shape, or of this number of processors: its description
    /// lists none, no box of this number fits, or a number was named on a machine of more than four
    /// dimensions ([`Flags::CHIPS`](crate::Flags::CHIPS)).
    NotLegal = "not-legal", "not a legal shape of this machine";
    /// No slice of this shape has the rings that the request demands.
    NoRing = "no-ring", "can never have the rings that it demands";
    /// Enough processors are free, but no place has the rings that the request demands.
    RingBusy = "ring-busy",
        "enough free processors, but no free place with the rings that it demands";
    /// Enough processors are free, and slices of the gang have places, but all slices at once have
    /// none.
    GangIncomplete = "gang-incomplete",
        "enough free processors, but no places for all slices of the gang at once";
    /// Enough processors are free. The search found no place, or none for all slices of a gang, and
    /// gave up before it had looked everywhere.
    NotSearchedToTheEnd = "not-searched-to-the-end",
        "no place was found, and the search was not completed";
}

impl Refusal {
    /// Whether the same request could be granted later on the same machine.
    pub const fn is_temporary(self) -> bool {
        !matches!(
            self,
            Refusal::EmptyRequest
                | Refusal::Malformed
                | Refusal::NeverFits
                | Refusal::TooManyExtents
                | Refusal::ExtentBelowSide
                | Refusal::NotLegal
                | Refusal::NoRing
        )
    }
}

impl core::error::Error for Refusal {}

/// Why [`Allocator::allocate_checked`](crate::Allocator::allocate_checked) gave no processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AllocateError {
    /// The request was refused.
    Refused(Refusal),
    /// The strategy is wrong: it made an illegal proposal.
    Illegal(IllegalProposal),
}

texts! { AllocateError: {
    AllocateError::Refused(refusal) => "{refusal}";
    AllocateError::Illegal(illegal) => "{illegal}";
} }

impl From<Refusal> for AllocateError {
    fn from(refusal: Refusal) -> AllocateError {
        AllocateError::Refused(refusal)
    }
}

/// Why [`Allocator::allocate_at`](crate::Allocator::allocate_at) took no processors. `at` is the
/// place of a block among those that were named, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlaceError {
    /// No block was named.
    NoBlock,
    /// The strategy never gives so many blocks to one request.
    TooManyBlocks {
        /// The most that it gives.
        most: u32,
    },
    /// A block is not within the machine.
    Outside {
        /// The place of the block.
        at: u32,
    },
    /// A processor of a block is held or faulty.
    Busy {
        /// The place of the block.
        at: u32,
    },
    /// A block shares a processor with an earlier block.
    Overlapping {
        /// The place of the block.
        at: u32,
    },
    /// The strategy never gives such a block.
    NotOfStrategy {
        /// The place of the block.
        at: u32,
    },
    /// There is no room for as many blocks.
    NoRoom,
}

texts! { PlaceError: {
    PlaceError::NoBlock => "no block was named";
    PlaceError::TooManyBlocks { most } => "the strategy gives at most {most} blocks to one request";
    PlaceError::Outside { at } => "block {at} is outside the machine";
    PlaceError::Busy { at } => "block {at} is not free";
    PlaceError::Overlapping { at } => "block {at} overlaps an earlier block";
    PlaceError::NotOfStrategy { at } => "block {at} is none that the strategy gives";
    PlaceError::NoRoom => "no room for as many blocks";
} }

impl From<IllegalProposal> for PlaceError {
    fn from(illegal: IllegalProposal) -> PlaceError {
        match illegal {
            IllegalProposal::Outside { at, .. } => PlaceError::Outside { at },
            IllegalProposal::Busy { at, .. } => PlaceError::Busy { at },
            IllegalProposal::Overlapping { at, .. } => PlaceError::Overlapping { at },
            IllegalProposal::TooFew { .. } => PlaceError::NoBlock,
        }
    }
}

/// What is wrong with the blocks that a [`Strategy`](crate::Strategy) proposed. `at` is the place
/// of a block in the proposal, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IllegalProposal {
    /// A block is not within the machine.
    Outside {
        /// The place of the block.
        at: u32,
        /// The block.
        block: Block,
    },
    /// A processor of a block is held or faulty.
    Busy {
        /// The place of the block.
        at: u32,
        /// The block.
        block: Block,
    },
    /// A block shares a processor with an earlier block.
    Overlapping {
        /// The place of the block.
        at: u32,
        /// The block.
        block: Block,
    },
    /// The blocks have fewer processors than the request asks for.
    TooFew {
        /// The processors of the blocks.
        processors: u32,
        /// The processors of the request.
        wanted: u32,
    },
}

texts! { IllegalProposal: {
    IllegalProposal::Outside { at, .. } =>
        "illegal proposal of the strategy: block {at} is outside the machine";
    IllegalProposal::Busy { at, .. } => "illegal proposal of the strategy: block {at} is not free";
    IllegalProposal::Overlapping { at, .. } =>
        "illegal proposal of the strategy: block {at} overlaps an earlier block";
    IllegalProposal::TooFew { processors, wanted } =>
        "illegal proposal of the strategy: {processors} processors, expected at least {wanted}";
} }

wire! {
    /// Why a configuration was not taken.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum ConfigureError {
        /// Jobs wait or run; release them or reset first.
        JobsPresent,
        /// The machine needs more occupancy words than this build has.
        MachineTooLarge,
        /// The strategy needs more memory (scratch, blocks, a list) for this machine than this
        /// build has.
        StrategyMemory,
        /// The strategy does not serve this machine (dimensions, side lengths or wrapping).
        MachineUnsuitable,
        /// The strategy was left out of this build.
        StrategyNotBuilt,
        /// The scheduler was left out of this build.
        SchedulerNotBuilt,
        /// The controller serves only the machine of its description.
        OtherMachine,
        /// A parameter of the strategy or the scheduler is out of its range
        /// ([`StrategyKind::is_valid`](crate::StrategyKind::is_valid),
        /// [`SchedulerKind::is_valid`](crate::SchedulerKind::is_valid)).
        BadParameter,
    }
}

texts! { ConfigureError: {
    ConfigureError::JobsPresent => "jobs wait or run: release them or reset first";
    ConfigureError::MachineTooLarge => "the machine needs more memory than this build has";
    ConfigureError::StrategyMemory =>
        "the strategy needs more memory for this machine than this build has";
    ConfigureError::MachineUnsuitable => "the strategy does not serve this machine";
    ConfigureError::StrategyNotBuilt => "the strategy was left out of this build";
    ConfigureError::SchedulerNotBuilt => "the scheduler was left out of this build";
    ConfigureError::OtherMachine => "the controller serves only the machine of its description";
    ConfigureError::BadParameter =>
        "a parameter of the strategy or the scheduler is out of its range";
} }

wire! {
    /// Why a command failed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Error {
        /// The job was not granted and does not wait.
        Refused(Refusal),
        /// No job with this name waits or runs: it was never submitted, was refused, or has been
        /// released.
        UnknownJob,
        /// The machine has no processor with this number.
        UnknownNode(NodeId),
        /// The block is not within the machine.
        NoSuchBlock {
            /// The first dimension in which its start or extent is out of range. It is the number
            /// of dimensions if bits beyond their fields are set.
            dimension: u8,
        },
        /// The configuration was refused; the old one stays.
        Configure(ConfigureError),
        /// The job holds fewer blocks than the query asks for.
        NoBlock {
            /// The number of blocks it holds; 0 while it waits.
            held: u32,
        },
        /// The work that follows from an earlier change is not done yet: attempts, the end of a
        /// lease, or a checkpoint.
        Busy {
            /// The most attempts that may still follow; 1 if there is only other work.
            left: u32,
        },
        /// The job has no lease, or one that has not ended.
        LeaseRuns,
        /// This build has no leases.
        LeasesNotBuilt,
        /// This build has no descriptions of machines.
        MachinesNotBuilt,
        /// The job waits, or the strategy gives no slices: its jobs have no shape.
        NoSlice,
        /// No slice of the shape, or of the number of processors, that the request names is legal
        /// ([`Refusal::NotLegal`]). Only builds with descriptions of machines give this error.
        #[cfg(feature = "machine")]
        NotLegal {
            /// The nearest legal shapes of the machine's description that hold as many processors:
            /// the smallest first.
            nearest: [Option<Shape>; NEAREST_MAX],
        },
        /// The job holds no faulty processors: it waits, or all of its processors work.
        #[cfg(feature = "replace")]
        NothingToReplace,
        /// The job that is to preempt others runs already.
        #[cfg(feature = "preemption")]
        NotWaiting,
        /// A job cannot be a victim of this one.
        #[cfg(feature = "preemption")]
        NoVictim {
            /// The first of the victims that does not run, may not be preempted, has no lower
            /// priority, or was named before.
            job: JobId,
        },
    }
}

impl Error {
    /// Why a submission was refused.
    pub const fn refusal(self) -> Option<Refusal> {
        match self {
            Error::Refused(refusal) => Some(refusal),
            #[cfg(feature = "machine")]
            Error::NotLegal { .. } => Some(Refusal::NotLegal),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(refusal) => refusal.fmt(f),
            Error::UnknownJob => f.write_str("no job with this name waits or runs"),
            Error::UnknownNode(node) => write!(f, "the machine has no processor {node}"),
            Error::NoSuchBlock { dimension } => {
                write!(
                    f,
                    "the block is outside the machine in dimension {dimension}"
                )
            }
            Error::Configure(error) => error.fmt(f),
            Error::NoBlock { held } => write!(f, "the job holds {held} blocks"),
            Error::LeaseRuns => f.write_str("the job has no lease, or one that has not ended"),
            Error::LeasesNotBuilt => f.write_str("this build has no leases"),
            #[cfg(feature = "machine")]
            Error::NotLegal { nearest } => {
                Refusal::NotLegal.fmt(f)?;
                let mut before = ": the nearest that hold as many processors are ";
                for shape in nearest.iter().flatten() {
                    write!(f, "{before}{shape}")?;
                    before = " and ";
                }
                Ok(())
            }
            #[cfg(feature = "replace")]
            Error::NothingToReplace => f.write_str("the job holds no faulty processors"),
            #[cfg(feature = "preemption")]
            Error::NotWaiting => f.write_str("the job runs already"),
            #[cfg(feature = "preemption")]
            Error::NoVictim { job } => write!(
                f,
                "a job cannot be preempted for this one: it does not run, may not be preempted, has \
                 no lower priority, or is named twice: job {job}"
            ),
            Error::NoSlice => f.write_str("the job waits, or the strategy gives jobs no shape"),
            Error::MachinesNotBuilt => f.write_str("this build has no machine descriptions"),
            Error::Busy { left } => write!(
                f,
                "busy with an earlier command: at most {left} jobs still to try, or other work"
            ),
        }
    }
}

impl core::error::Error for Error {}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(refusal)
    }
}

impl From<ConfigureError> for Error {
    fn from(error: ConfigureError) -> Error {
        Error::Configure(error)
    }
}
