//! What the page calls: text goes in and out through two buffers in the memory of the module.

#![allow(
    unsafe_code,
    reason = "exporting a function under its own name is an unsafe attribute; there is no unsafe \
              block"
)]

use std::cell::RefCell;

use crate::{Lab, answer};

/// The longest command, in bytes.
const INPUT_MAX: usize = 4096;

#[derive(Default)]
struct Module {
    lab: Option<Lab>,
    input: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
}

/// Makes room for a command of this many bytes, at most [`INPUT_MAX`], and returns its address.
// SAFETY: the module has no other symbol of this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn input(len: usize) -> *mut u8 {
    MODULE.with_borrow_mut(|module| {
        module.input.clear();
        module.input.resize(len.min(INPUT_MAX), 0);
        module.input.as_mut_ptr()
    })
}

/// Carries out the command that the page has written to [`input`]. Returns the bytes of the reply.
// SAFETY: the module has no other symbol of this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn carry_out() -> usize {
    MODULE.with_borrow_mut(|module| {
        module.output = answer(&mut module.lab, &module.input);
        module.output.len()
    })
}

/// The address of the latest reply.
// SAFETY: the module has no other symbol of this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn output() -> *const u8 {
    MODULE.with_borrow(|module| module.output.as_ptr())
}
