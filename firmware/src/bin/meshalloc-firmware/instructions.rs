//! How long commands take, for `cargo xtask instructions`, which reads it from the memory of QEMU.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::clock;

/// As many commands are kept, the latest ones.
const KEPT: usize = 512;

/// The number of commands that change something since the reset, then for each of them at its number modulo [`KEPT`] the ticks of
/// SysTick from its last byte to that of the reply, and in the scheduling that follows from it; behind them the ticks of the latest
/// frame of any kind, and the longest time without a look at the line. The name is known to `xtask/src/image.rs`.
static COMMAND_TICKS: [AtomicU32; 1 + KEPT + 2] = [const { AtomicU32::new(0) }; 1 + KEPT + 2];

/// The ticks at which the program has looked at the line last, or woken up; 0 before it has for the first time, since no command comes while it starts.
static LAST_LOOK: AtomicU32 = AtomicU32::new(0);

/// Keeps the time of one frame, which may have been a command that changes something.
pub(crate) fn keep(ticks: u64, is_change: bool) {
    let [count, kept @ .., latest, _] = &COMMAND_TICKS;
    latest.store(whole(ticks), Ordering::Relaxed);
    if !is_change {
        return;
    }
    let number = count.load(Ordering::Relaxed);
    kept[number as usize % KEPT].store(whole(ticks), Ordering::Relaxed);
    count.store(number.wrapping_add(1), Ordering::Relaxed);
}

/// Adds to the time of the latest command.
pub(crate) fn add(ticks: u64) {
    let [count, kept @ .., _, _] = &COMMAND_TICKS;
    let latest = count.load(Ordering::Relaxed).wrapping_sub(1);
    kept[latest as usize % KEPT].fetch_add(whole(ticks), Ordering::Relaxed);
}

/// The program looks at the line.
pub(crate) fn look() {
    let [.., longest] = &COMMAND_TICKS;
    let now = clock::ticks() as u32;
    let before = LAST_LOOK.swap(now, Ordering::Relaxed);
    if before != 0 {
        longest.fetch_max(now.wrapping_sub(before), Ordering::Relaxed);
    }
}

/// The program has woken up.
pub(crate) fn wake_up() {
    LAST_LOOK.store(clock::ticks() as u32, Ordering::Relaxed);
}

fn whole(ticks: u64) -> u32 {
    u32::try_from(ticks).unwrap_or(u32::MAX)
}
