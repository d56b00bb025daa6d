//! The main loop that measures how long commands take, for `cargo xtask instructions`, which reads
//! the times from the memory of QEMU.

use core::sync::atomic::{AtomicU32, Ordering};

use meshalloc_firmware::board::{Board, Processor, Round};
use meshalloc_firmware::keeping::Keep;

use crate::boards::ticks;

/// The number of commands that are kept, the latest ones.
const KEPT: usize = 512;

/// `xtask/src/instructions.rs` and `tests/src/qemu.rs` know the name, and these and
/// `tests/src/measure/count.rs` this order:
///
/// - the number of commands since the reset that change something,
/// - for each of these commands, at its number modulo [`KEPT`], the ticks of SysTick from the last
///   byte of the command to the last byte of the reply, and those of the scheduling that follows,
/// - the ticks of the latest frame of any kind,
/// - the longest time without a look at the line.
static COMMAND_TICKS: [AtomicU32; 1 + KEPT + 2] = [const { AtomicU32::new(0) }; 1 + KEPT + 2];

/// The ticks at the latest look at the line or the latest end of a sleep; 0 before the first, since
/// no command comes while the program starts.
static LAST_LOOK: AtomicU32 = AtomicU32::new(0);

/// Runs the main loop.
pub(crate) fn run<B: Board, K: Keep>(processor: &mut Processor<'_, B, K>) -> ! {
    loop {
        let begin = ticks();
        match processor.round() {
            Round::Byte => {}
            Round::Frame { is_change } => keep(ticks() - begin, is_change),
            Round::Work => add(ticks() - begin),
            Round::Sleep => LAST_LOOK.store(ticks() as u32, Ordering::Relaxed),
        }
    }
}

/// Keeps the time of one frame, which may have been a command that changes something.
fn keep(ticks: u64, is_change: bool) {
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
fn add(ticks: u64) {
    let [count, kept @ .., _, _] = &COMMAND_TICKS;
    let latest = count.load(Ordering::Relaxed).wrapping_sub(1);
    kept[latest as usize % KEPT].fetch_add(whole(ticks), Ordering::Relaxed);
}

/// The program looks at the line.
pub(crate) fn look() {
    let [.., longest] = &COMMAND_TICKS;
    let now = ticks() as u32;
    let before = LAST_LOOK.swap(now, Ordering::Relaxed);
    if before != 0 {
        longest.fetch_max(now.wrapping_sub(before), Ordering::Relaxed);
    }
}

fn whole(ticks: u64) -> u32 {
    u32::try_from(ticks).unwrap_or(u32::MAX)
}
