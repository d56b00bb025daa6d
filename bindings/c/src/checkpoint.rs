//! Saving and restoring the state of a controller.

use core::ffi::c_void;

use meshalloc::{RestoreError, SaveError};

use crate::controller::{Controller, ControllerHandle, CoreController};
use crate::error::Error;
use crate::handle::{Outcome, number};

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
        let write = write.ok_or(Error::NullPointer)?;
        controller.save(&mut |part| {
            // SAFETY: the caller promises it. The callback reads the bytes of the part.
            match unsafe { write(context, part.as_ptr(), part.len()) } {
                0 => Ok(()),
                _ => Err(Error::CallbackFailed),
            }
        })?;
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
        let read = read.ok_or(Error::NullPointer)?;
        let mut restoring = controller.restore();
        let mut part = [0; PART_MAX];
        loop {
            let mut length = 0;
            // SAFETY: the caller promises it. The callback writes up to `PART_MAX` bytes.
            let outcome = unsafe { read(context, part.as_mut_ptr(), &raw mut length) };
            let part = part.get(..length).filter(|_| outcome == 0);
            match part.ok_or(Error::CallbackFailed)? {
                [] => break,
                part => restoring.part(part)?,
            }
        }
        restoring.finish()?;
        Ok(0)
    };
    // SAFETY: the caller promises it.
    number(unsafe { ControllerHandle::with_callbacks(controller.cast(), restore) })
}
