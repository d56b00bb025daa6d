//! Error numbers in groups, and their texts.

use core::ffi::{CStr, c_char};

use meshalloc::{
    AllocationError, ConfigureError, Error as CoreError, GridError, PlaceError, Refusal, ShapeError,
};

macro_rules! errors {
    ($($name:ident, $text:expr;)*) => {
        impl Error {
            /// Every error, in the order of declaration.
            pub const ALL: &[Error] = &[$(Error::$name),*];

            /// The text of the error.
            pub const fn text(self) -> &'static CStr {
                match self {
                    $(Error::$name => $text,)*
                }
            }
        }
    };
}

/// The error numbers. Functions return 0 or a positive number if they succeed, and one of these if
/// they fail. A failed call changes nothing, unless its documentation says otherwise.
///
/// The groups: temporary, the same call may succeed later (-1 to -99); permanent, the same call
/// fails again (-100 to -199); configuration, this machine, strategy, scheduler, build or memory
/// does not serve (-200 to -299); misuse, the caller breaks a rule of this interface (from -300).
// cbindgen reads enumerations without macros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Error {
    /// Fewer processors are free than the job would hold.
    TooFewFree = -1,
    /// Enough processors are free, but the strategy finds no place for the request.
    Fragmented = -2,
    /// A job that never waits would have to wait, since others wait before it.
    QueueNotEmpty = -3,
    /// There is no room for another job, allocation or block.
    TableFull = -4,
    /// A job with this name waits or runs already.
    DuplicateJob = -5,
    /// The request fits only into processors that are reserved for earlier jobs.
    Reserved = -6,
    /// Attempts that follow from an earlier call are left: call meshalloc_controller_advance until
    /// it returns 0.
    Busy = -7,
    /// Enough processors are free, but no place has the rings that the request demands.
    RingBusy = -8,
    /// A processor of a block is held or faulty, or lies in two of the blocks.
    NotFree = -9,
    /// Enough processors are free and slices of the gang have places, but not all of them at once.
    GangIncomplete = -10,
    /// Enough processors are free. The search found no place, or none for all slices of a gang, and
    /// gave up before it had looked everywhere.
    NotSearchedToTheEnd = -11,

    /// An extent, the number of extents, or the number of processors is zero.
    EmptyRequest = -100,
    /// The request has more processors than its shape.
    MalformedRequest = -101,
    /// The strategy cannot serve this request even on an empty machine.
    NeverFits = -102,
    /// The request has more extents than the machine has dimensions.
    TooManyExtents = -103,
    /// An extent is smaller than the machine's side, and the strategy serves only whole sides.
    ExtentBelowSide = -104,
    /// No job with this name waits or runs.
    UnknownJob = -105,
    /// The block is not within the machine.
    NoSuchBlock = -106,
    /// The machine has no processor with this number.
    NoSuchProcessor = -107,
    /// The machine's description has no slice of this shape, or of this number of processors.
    NotLegal = -108,
    /// No slice of this shape has the rings that the request demands.
    NoRing = -109,
    /// The strategy never gives such blocks, or so many to one request.
    NotOfStrategy = -110,
    /// The job holds no faulty processors.
    NothingToReplace = -111,
    /// The job that is to preempt others runs already.
    NotWaiting = -112,
    /// A job cannot be preempted for this one: it does not run, may not be preempted, has no lower
    /// priority, or is named twice.
    NoVictim = -113,

    /// The machine has no dimension or more than 16, a side of 0, a side of a two-dimensional mesh
    /// above 1024, more than 2^20 processors, or wraps in a dimension that it lacks.
    NoSuchMachine = -200,
    /// There is no strategy of this kind with these parameters.
    NoSuchStrategy = -201,
    /// There is no scheduler of this kind with these parameters.
    NoSuchScheduler = -202,
    /// The strategy does not serve this machine.
    MachineUnsuitable = -203,
    /// The strategy was left out of this build of the library.
    StrategyNotBuilt = -204,
    /// The scheduler was left out of this build of the library.
    SchedulerNotBuilt = -205,
    /// The memory is too small for this machine, strategy and capacity.
    MemoryTooSmall = -206,
    /// The number of jobs or allocations is 0, or more than this target can count.
    BadCapacity = -207,
    /// The bytes do not begin a checkpoint of this version of the library.
    CheckpointFormat = -208,
    /// An item of the checkpoint cannot be read.
    CheckpointMalformed = -209,
    /// Parts of the checkpoint are missing, repeated or out of order.
    CheckpointIncomplete = -210,
    /// The checkpoint has more jobs or blocks than there is room for.
    CheckpointNoRoom = -211,
    /// The checkpoint contradicts itself.
    CheckpointInconsistent = -212,
    /// This build of the library has no descriptions of machines.
    MachinesNotBuilt = -213,
    /// The checksum of the checkpoint is wrong: its bytes have changed since it was saved.
    CheckpointDamaged = -214,

    /// A pointer is NULL.
    NullPointer = -300,
    /// A pointer is not aligned.
    Misaligned = -301,
    /// The pointer is not that of an initialised object of this type.
    NotInitialized = -302,
    /// Another allocator made this allocation.
    ForeignAllocation = -303,
    /// This allocation was released before, or was never made.
    StaleAllocation = -304,
    /// A callback has called a function with the object that called it.
    Reentered = -305,
    /// A callback has returned a number other than 0, or more bytes than there are.
    CallbackFailed = -306,
    /// A number in a structure is out of its range: more than 16 dimensions, or an unknown flag.
    BadArgument = -307,
}

/// A text that a build never needs without a feature.
const fn of(is_built: bool, text: &'static CStr) -> &'static CStr {
    if is_built { text } else { c"" }
}

const GANGS: bool = cfg!(feature = "gangs");
const PREEMPTION: bool = cfg!(feature = "preemption");
const TOLERANCE: bool = cfg!(feature = "tolerance");
const REPLACE: bool = cfg!(feature = "replace");

errors! {
    TooFewFree, c"not enough free processors";
    Fragmented, c"enough free processors, but fragmented";
    QueueNotEmpty, c"would have to wait behind other jobs";
    TableFull, c"table full";
    DuplicateJob, c"a job with this name waits or runs already";
    Reserved, c"fits only into processors that are reserved for earlier jobs";
    Busy, c"busy with an earlier command";
    RingBusy, c"enough free processors, but no free place with the rings that it demands";
    GangIncomplete,
        of(GANGS, c"enough free processors, but no places for all slices of the gang at once");
    NotSearchedToTheEnd,
        of(GANGS || TOLERANCE, c"no place was found, and the search was not completed");
    NotFree, c"a processor of the block is held or faulty, or lies in two of the blocks";
    EmptyRequest, c"empty request: sides and processors must be at least 1";
    MalformedRequest, c"the request has more processors than its shape";
    NeverFits, c"can never fit: too large for the machine under this strategy";
    TooManyExtents, c"can never fit: more extents than the machine has dimensions";
    ExtentBelowSide,
        c"can never fit: the strategy serves only extents equal to the machine's side";
    UnknownJob, c"no job with this name waits or runs";
    NoSuchBlock, c"the block is outside the machine";
    NoSuchProcessor, c"the machine has no processor with this number";
    NotLegal, c"not a legal shape of this machine";
    NoRing, c"can never have the rings that it demands";
    NothingToReplace, of(REPLACE, c"the job holds no faulty processors");
    NotWaiting, of(PREEMPTION, c"the job runs already");
    NoVictim,
        of(PREEMPTION, c"a job cannot be preempted for this one: it does not run, may not be \
            preempted, has no lower priority, or is named twice");
    NotOfStrategy, c"the strategy never gives such blocks";
    NoSuchMachine, c"no such machine: 1 to 16 sides of at least 1, at most 2^20 processors, \
        sides of a two-dimensional mesh up to 1024";
    NoSuchStrategy, c"no such strategy or parameter";
    NoSuchScheduler, c"no such scheduler or parameter";
    MachineUnsuitable, c"the strategy does not serve this machine";
    StrategyNotBuilt, c"the strategy was left out of this build";
    SchedulerNotBuilt, c"the scheduler was left out of this build";
    MemoryTooSmall, c"the memory is too small for this machine, strategy and capacity";
    BadCapacity, c"the number of jobs or allocations is 0 or too large";
    CheckpointFormat, c"not a checkpoint of this format";
    CheckpointMalformed, c"an item of the checkpoint cannot be read";
    CheckpointIncomplete,
        c"parts of the checkpoint are missing, repeated or out of order";
    CheckpointNoRoom, c"the checkpoint has more jobs or blocks than this build has room for";
    CheckpointInconsistent, c"the checkpoint contradicts itself";
    MachinesNotBuilt, c"this build has no machine descriptions";
    CheckpointDamaged, c"the checksum of the checkpoint is wrong";
    NullPointer, c"a pointer is NULL";
    Misaligned, c"a pointer is not aligned";
    NotInitialized, c"not an initialised object of this type";
    ForeignAllocation, c"another allocator made this allocation";
    StaleAllocation, c"this allocation was released before, or was never made";
    Reentered, c"a callback has called a function with the object that called it";
    CallbackFailed, c"a callback has failed";
    BadArgument, c"a number is out of its range";
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        match refusal {
            Refusal::EmptyRequest => Error::EmptyRequest,
            Refusal::Malformed => Error::MalformedRequest,
            Refusal::TooFewFree => Error::TooFewFree,
            Refusal::Fragmented => Error::Fragmented,
            Refusal::QueueNotEmpty => Error::QueueNotEmpty,
            Refusal::TableFull => Error::TableFull,
            Refusal::DuplicateJob => Error::DuplicateJob,
            Refusal::TooManyExtents => Error::TooManyExtents,
            Refusal::ExtentBelowSide => Error::ExtentBelowSide,
            Refusal::Reserved => Error::Reserved,
            Refusal::NotLegal => Error::NotLegal,
            Refusal::NoRing => Error::NoRing,
            Refusal::RingBusy => Error::RingBusy,
            Refusal::GangIncomplete => Error::GangIncomplete,
            Refusal::NotSearchedToTheEnd => Error::NotSearchedToTheEnd,
            // A test compares the text of every refusal.
            _ => Error::NeverFits,
        }
    }
}

impl From<ConfigureError> for Error {
    fn from(error: ConfigureError) -> Error {
        match error {
            ConfigureError::MachineUnsuitable => Error::MachineUnsuitable,
            ConfigureError::StrategyNotBuilt => Error::StrategyNotBuilt,
            ConfigureError::SchedulerNotBuilt => Error::SchedulerNotBuilt,
            // Only in a checkpoint: other configurations are checked before core sees them.
            ConfigureError::BadParameter => Error::CheckpointInconsistent,
            // `JobsPresent` is of a change that C does not have.
            _ => Error::MemoryTooSmall,
        }
    }
}

impl From<CoreError> for Error {
    fn from(error: CoreError) -> Error {
        match error {
            CoreError::Configure(error) => error.into(),
            CoreError::UnknownNode(_) => Error::NoSuchProcessor,
            CoreError::NoSuchBlock { .. } => Error::NoSuchBlock,
            CoreError::Busy { .. } => Error::Busy,
            CoreError::MachinesNotBuilt => Error::MachinesNotBuilt,
            #[cfg(feature = "replace")]
            CoreError::NothingToReplace => Error::NothingToReplace,
            #[cfg(feature = "preemption")]
            CoreError::NotWaiting => Error::NotWaiting,
            #[cfg(feature = "preemption")]
            CoreError::NoVictim { .. } => Error::NoVictim,
            // The others: this package always has leases, ends only those that have ended, and asks
            // for no block beyond the last.
            _ => error.refusal().map_or(Error::UnknownJob, Error::from),
        }
    }
}

impl From<PlaceError> for Error {
    fn from(error: PlaceError) -> Error {
        match error {
            PlaceError::Outside { .. } => Error::NoSuchBlock,
            PlaceError::Busy { .. } | PlaceError::Overlapping { .. } => Error::NotFree,
            PlaceError::TooManyBlocks { .. } | PlaceError::NotOfStrategy { .. } => {
                Error::NotOfStrategy
            }
            PlaceError::NoRoom => Error::TableFull,
            _ => Error::BadArgument,
        }
    }
}

impl From<AllocationError> for Error {
    fn from(error: AllocationError) -> Error {
        match error {
            AllocationError::Foreign => Error::ForeignAllocation,
            _ => Error::StaleAllocation,
        }
    }
}

impl From<GridError> for Error {
    fn from(_: GridError) -> Error {
        Error::NoSuchMachine
    }
}

impl From<ShapeError> for Error {
    fn from(error: ShapeError) -> Error {
        match error {
            ShapeError::TooManyExtents => Error::BadArgument,
            // Larger than every machine.
            _ => Error::NeverFits,
        }
    }
}

/// The text of an error number; "success" for 0 and positive numbers, "no such error" for another
/// number. It lies in constant memory.
#[unsafe(no_mangle)]
pub extern "C" fn meshalloc_error_text(error: i32) -> *const c_char {
    let known = Error::ALL.iter().find(|known| **known as i32 == error);
    let text = match known {
        Some(known) => known.text(),
        None if error >= 0 => c"success",
        None => c"no such error",
    };
    text.as_ptr()
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    /// Texts of core may go on with a number.
    fn assert_text(error: impl Into<Error> + ToString + Copy) {
        let (ours, cores) = (error.into().text().to_str().unwrap(), error.to_string());
        assert!(cores.starts_with(ours), "{ours:?}, in Rust {cores:?}");
    }

    #[test]
    fn texts_are_those_of_the_errors_in_rust() {
        for refusal in Refusal::ALL {
            assert_text(refusal);
            let is_temporary = refusal.is_temporary();
            assert_eq!(is_temporary, Error::from(refusal) as i32 > -100);
        }
        for error in [
            ConfigureError::MachineUnsuitable,
            ConfigureError::StrategyNotBuilt,
            ConfigureError::SchedulerNotBuilt,
        ] {
            assert_text(error);
        }
        for error in [
            CoreError::UnknownJob,
            CoreError::NoSuchBlock { dimension: 1 },
            CoreError::Busy { left: 2 },
            CoreError::MachinesNotBuilt,
            CoreError::Refused(Refusal::NotLegal),
        ] {
            assert_text(error);
        }
        assert_text(AllocationError::Foreign);
        assert_text(AllocationError::Stale);
    }

    #[test]
    fn each_number_has_a_text_of_its_own() {
        let texts: std::collections::BTreeSet<_> =
            Error::ALL.iter().map(|error| error.text()).collect();
        assert_eq!(texts.len(), Error::ALL.len());
        for error in [0, 7, -99, -400] {
            let text = meshalloc_error_text(error);
            // SAFETY: every text ends with 0 and lies in constant memory.
            let text = unsafe { CStr::from_ptr(text) };
            assert_eq!(
                text,
                if error < 0 {
                    c"no such error"
                } else {
                    c"success"
                }
            );
        }
    }
}
