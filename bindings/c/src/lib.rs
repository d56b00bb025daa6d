//! meshalloc for C and C++: `include/meshalloc.h` is made of this crate, `README.md` shows its use.
//!
//! ```text
//!   memory of the caller
//!   +-----------------------------+------+-------+-------+--------+---------------+
//!   | Handle                      | list | slots | words | blocks | index, order  |
//!   | mark, is_in_use, Controller |      |       |       |        |               |
//!   +-----------------------------+------+-------+-------+--------+---------------+
//!   ^ the handle that C holds       what `Needs::memory` asks a `Provider` for
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `types.rs` | structures that C fills in and reads, and what they are in Rust |
//! | `error.rs` | error numbers in groups, and their texts |
//! | `handle.rs` | the checks of pointers; all that handles have in common |
//! | `allocator.rs`, `controller.rs`, `checkpoint.rs` | the functions |
//! | `sizes.rs` | the numbers of which the header computes sizes |
//!
//! The functions of `handle.rs` are the only ones that turn pointers into references. They check
//! for null, alignment and the mark of a handle, so a mistake of the caller is an error number.

#![no_std]
#![allow(unsafe_code, reason = "C passes raw pointers")]
#![warn(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

mod allocator;
#[cfg(feature = "save")]
mod checkpoint;
mod controller;
mod error;
mod handle;
mod sizes;
#[cfg(test)]
mod tests;
mod types;

pub use allocator::*;
#[cfg(feature = "save")]
pub use checkpoint::*;
pub use controller::*;
pub use error::*;
pub use sizes::*;
pub use types::*;

/// A panic is a bug of this library. It goes to the user's hook and does not come back.
// A build that unwinds is one of the tests, which have the handler of `std`.
#[cfg(panic = "abort")]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        fn meshalloc_panic(file: *const core::ffi::c_char, length: usize, line: u32) -> !;
    }
    let (file, line) = info
        .location()
        .map_or(("", 0), |location| (location.file(), location.line()));
    // SAFETY: the header declares the hook with these types. It reads `length` bytes from `file`.
    unsafe { meshalloc_panic(file.as_ptr().cast(), file.len(), line) }
}
