//! Registers of a machine that has no crate of its own.

use core::marker::PhantomData;
use core::ptr;

/// A register of the width of `T`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register<T> {
    address: usize,
    width: PhantomData<T>,
}

#[expect(unsafe_code, reason = "registers are memory at fixed addresses")]
impl<T: Copy> Register<T> {
    /// The register at an address.
    ///
    /// # Safety
    ///
    /// The machine has a register of this width there, and reading or writing it breaks no rule of
    /// Rust: it does not change memory that the program uses.
    pub(super) const unsafe fn at(address: usize) -> Self {
        Register {
            address,
            width: PhantomData,
        }
    }

    /// Its value.
    pub(super) fn read(self) -> T {
        // SAFETY: the register exists, by the condition of `at`.
        unsafe { ptr::read_volatile(self.address as *const T) }
    }

    /// Writes it.
    pub(super) fn write(self, value: T) {
        // SAFETY: as above.
        unsafe { ptr::write_volatile(self.address as *mut T, value) }
    }
}
