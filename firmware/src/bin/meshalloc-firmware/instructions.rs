//! How long commands take, for `cargo xtask instructions`, which reads it from the memory of QEMU.

use core::sync::atomic::{AtomicU32, Ordering};

/// As many commands are kept, the latest ones.
const KEPT: usize = 512;

/// The number of commands since the reset, then for each of them at its number modulo [`KEPT`] the ticks of SysTick from
/// its last byte to that of the last reply. The name is known to `xtask/src/instructions.rs`.
static COMMAND_TICKS: [AtomicU32; 1 + KEPT] = [const { AtomicU32::new(0) }; 1 + KEPT];

/// Keeps the time of one command.
pub(crate) fn keep(ticks: u64) {
    let [count, kept @ ..] = &COMMAND_TICKS;
    let number = count.load(Ordering::Relaxed);
    let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
    kept[number as usize % KEPT].store(ticks, Ordering::Relaxed);
    count.store(number.wrapping_add(1), Ordering::Relaxed);
}
