//! Saving and restoring the state of a controller or an allocator.

use core::ffi::c_void;

use meshalloc::{RestoreError, SaveError};

use crate::allocator::{Allocator, AllocatorHandle, CoreAllocator};
use crate::controller::{Controller, ControllerHandle, CoreController};
use crate::error::Error;
use crate::handle::{Handle, Outcome, number, writing};
use crate::types::Allocation;

/// The most bytes of one part of a checkpoint.
pub const PART_MAX: usize = 232;
const _: () = assert!(PART_MAX == meshalloc::PART_MAX);

/// Stores the next part of a checkpoint: 1 to MESHALLOC_PART_MAX bytes. Returns 0, or any other
/// number to give up.
pub type Write =
    Option<unsafe extern "C" fn(context: *mut c_void, bytes: *const u8, length: usize) -> i32>;

/// Reads the next part of a checkpoint, as it was stored, into `bytes`, which has room for
/// MESHALLOC_PART_MAX bytes, and writes its length to `length`; 0 after the last part. Returns 0,
/// or any other number to give up.
pub type Read =
    Option<unsafe extern "C" fn(context: *mut c_void, bytes: *mut u8, length: *mut usize) -> i32>;

impl From<SaveError<Error>> for Error {
    fn from(error: SaveError<Error>) -> Error {
        match error {
            SaveError::Part(error) => error,
            // `Scheduling`.
            _ => Error::Busy,
        }
    }
}

impl From<RestoreError> for Error {
    fn from(error: RestoreError) -> Error {
        match error {
            RestoreError::Format => Error::CheckpointFormat,
            RestoreError::Malformed => Error::CheckpointMalformed,
            RestoreError::Incomplete => Error::CheckpointIncomplete,
            RestoreError::Configure(error) => error.into(),
            RestoreError::NoRoom => Error::CheckpointNoRoom,
            RestoreError::Damaged => Error::CheckpointDamaged,
            _ => Error::CheckpointInconsistent,
        }
    }
}

/// Passes a part on.
///
/// # Safety
///
/// `write` may be called with `context`.
unsafe fn pass_on(write: Write, context: *mut c_void, part: &[u8]) -> Result<(), Error> {
    let write = write.ok_or(Error::NullPointer)?;
    // SAFETY: the caller promises it. The callback reads the bytes of the part.
    match unsafe { write(context, part.as_ptr(), part.len()) } {
        0 => Ok(()),
        _ => Err(Error::CallbackFailed),
    }
}

/// Asks for all parts.
///
/// # Safety
///
/// `read` may be called with `context`.
unsafe fn ask_for(
    read: Read,
    context: *mut c_void,
    take: &mut dyn FnMut(&[u8]) -> Result<(), RestoreError>,
) -> Result<(), Error> {
    let read = read.ok_or(Error::NullPointer)?;
    let mut part = [0; PART_MAX];
    loop {
        let mut length = 0;
        // SAFETY: the caller promises it. The callback writes up to `PART_MAX` bytes.
        let outcome = unsafe { read(context, part.as_mut_ptr(), &raw mut length) };
        let part = part.get(..length).filter(|_| outcome == 0);
        match part.ok_or(Error::CallbackFailed)? {
            [] => return Ok(()),
            part => take(part)?,
        }
    }
}

/// Passes all that later decisions and answers depend on to `write`, in parts, with `context` each
/// time. Returns 0 or an error; MESHALLOC_ERROR_BUSY while meshalloc_controller_advance has work.
///
/// # Safety
///
/// `controller` may be read and written; `write` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_save(
    controller: *mut Controller,
    write: Write,
    context: *mut c_void,
) -> i32 {
    let save = |controller: &mut CoreController| -> Outcome {
        write.ok_or(Error::NullPointer)?;
        // SAFETY: the caller promises it.
        controller.save(&mut |part| unsafe { pass_on(write, context, part) })?;
        Ok(0)
    };
    // SAFETY: the caller promises it.
    number(unsafe { ControllerHandle::with_callbacks(controller.cast(), save) })
}

/// Restores the state that meshalloc_controller_save has passed on: asks `read` for the parts in
/// order. The controller has the configuration of the checkpoint afterwards, if its memory
/// suffices. Returns 0 or an error. After an error the controller has no jobs and no faults.
///
/// # Safety
///
/// `controller` may be read and written; `read` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_controller_restore(
    controller: *mut Controller,
    read: Read,
    context: *mut c_void,
) -> i32 {
    let restore = |controller: &mut CoreController| -> Outcome {
        read.ok_or(Error::NullPointer)?;
        let mut restoring = controller.restore();
        // SAFETY: the caller promises it.
        unsafe { ask_for(read, context, &mut |part| restoring.part(part))? };
        restoring.finish()?;
        Ok(0)
    };
    // SAFETY: the caller promises it.
    number(unsafe { ControllerHandle::with_callbacks(controller.cast(), restore) })
}

/// Passes all that later decisions depend on to `write`, in parts, with `context` each time.
/// Returns 0 or an error.
///
/// # Safety
///
/// `allocator` may be read and written; `write` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_save(
    allocator: *mut Allocator,
    write: Write,
    context: *mut c_void,
) -> i32 {
    let save = |allocator: &mut CoreAllocator| -> Outcome {
        write.ok_or(Error::NullPointer)?;
        // SAFETY: the caller promises it.
        allocator.save(&mut |part| unsafe { pass_on(write, context, part) })?;
        Ok(0)
    };
    // SAFETY: the caller promises it.
    number(unsafe { AllocatorHandle::with_callbacks(allocator.cast(), save) })
}

/// Restores the state that meshalloc_allocator_save has passed on: asks `read` for the parts in
/// order. The allocator has the machine and the strategy of the checkpoint afterwards, if its
/// memory suffices. Allocations made so far are foreign from then on; meshalloc_allocator_renew
/// renews those that were saved. Returns 0 or an error. After an error all processors are free.
///
/// # Safety
///
/// `allocator` may be read and written; `read` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_restore(
    allocator: *mut Allocator,
    read: Read,
    context: *mut c_void,
) -> i32 {
    let restore = |allocator: &mut CoreAllocator| -> Outcome {
        read.ok_or(Error::NullPointer)?;
        let mut restoring = allocator.restore();
        // SAFETY: the caller promises it.
        unsafe { ask_for(read, context, &mut |part| restoring.part(part))? };
        restoring.finish()?;
        Ok(0)
    };
    // SAFETY: the caller promises it.
    number(unsafe { AllocatorHandle::with_callbacks(allocator.cast(), restore) })
}

/// Writes to `allocation` what names the processors in a restored allocator that `was` named before
/// it was saved. Returns 0 or an error.
///
/// # Safety
///
/// `allocator` may be read and written, `allocation` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn meshalloc_allocator_renew(
    allocator: *const Allocator,
    was: Allocation,
    allocation: *mut Allocation,
) -> i32 {
    let renew = |allocator: &mut CoreAllocator| -> Outcome {
        // SAFETY: the caller promises it.
        let place = unsafe { writing(allocation)? };
        place.write(Allocation::of_core(allocator.renew(&was.core())?));
        Ok(0)
    };
    // SAFETY: the caller promises it.
    number(unsafe { Handle::with(allocator.cast_mut().cast(), renew) })
}
