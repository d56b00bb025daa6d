//! The boards. The feature `board-*` chooses the module that the image uses.
//!
//! A module of a board has
//!
//! | | |
//! |---|---|
//! | `start()` | sets the board up and returns its `impl Board` |
//! | `entry` | the attribute of the function that the start-up code calls |
//! | `now_ms()` | milliseconds since the reset, for the log |
//! | `wait_for_debugger()` | a pause in which a debugger reads the log, before a reset |
//! | `reset()` | resets the board |

// What boards share.
#[cfg(feature = "cortex-m")]
mod cortex_m;
#[cfg(all(feature = "qemu", feature = "journal"))]
mod host_file;
#[cfg(feature = "nucleo64")]
mod nucleo64;
#[cfg(feature = "registers")]
mod register;
#[cfg(feature = "stm32f4")]
mod stm32f4;

#[cfg(feature = "cortex-m")]
pub(crate) use cortex_m::{entry, now_ms, reset, wait_for_debugger};

// The boards.
#[cfg(feature = "board-mps2-an386")]
mod mps2_an386;
#[cfg(feature = "board-mps2-an386")]
pub(crate) use mps2_an386::*;

#[cfg(feature = "board-nucleo-f411re")]
mod nucleo_f411re;
#[cfg(feature = "board-nucleo-f411re")]
pub(crate) use nucleo_f411re::*;

#[cfg(feature = "board-nucleo-f429zi")]
mod nucleo_f429zi;
#[cfg(feature = "board-nucleo-f429zi")]
pub(crate) use nucleo_f429zi::*;

#[cfg(feature = "board-nucleo-f446re")]
mod nucleo_f446re;
#[cfg(feature = "board-nucleo-f446re")]
pub(crate) use nucleo_f446re::*;

#[cfg(feature = "board-riscv-virt")]
mod riscv_virt;
#[cfg(feature = "board-riscv-virt")]
pub(crate) use riscv_virt::*;

/// A random number of the emulator's host.
#[cfg(feature = "qemu")]
fn noise_of_host() -> u64 {
    let mut bytes = [0; 8];
    if semihosting::experimental::random::fill_bytes(&mut bytes).is_err() {
        defmt::warn!("no random numbers of the host: a restart of QEMU may not be noticed");
    }
    u64::from_le_bytes(bytes)
}
