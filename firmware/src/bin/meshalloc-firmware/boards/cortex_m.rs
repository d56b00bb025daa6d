//! What all Cortex-M boards share: milliseconds from SysTick, sleep, reset, faults.
#![expect(unsafe_code, reason = "handlers of cortex-m-rt")]

use core::cell::Cell;

use cortex_m::asm;
use cortex_m::interrupt::{self, Mutex};
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m::peripheral::{SCB, SYST};
pub(crate) use cortex_m_rt::entry;
use cortex_m_rt::{ExceptionFrame, exception};

use super::SYSTICK_HZ;
use crate::crash::crash;

static NOW_MS: Mutex<Cell<u64>> = Mutex::new(Cell::new(0));

/// Starts the clock at 0.
pub(super) fn start_clock(mut systick: SYST) {
    systick.set_clock_source(SystClkSource::Core);
    systick.set_reload(SYSTICK_HZ / 1_000 - 1);
    systick.clear_current();
    systick.enable_interrupt();
    systick.enable_counter();
}

/// Milliseconds since the reset.
pub(crate) fn now_ms() -> u64 {
    // Interrupts are masked, because two words cannot be read at once.
    interrupt::free(|cs| NOW_MS.borrow(cs).get())
}

/// Corrects the clock for interrupts that were lost while the core stood still: `cycles` have
/// passed since the time `began`.
#[cfg(all(feature = "journal", not(feature = "qemu")))]
pub(super) fn catch_up(began: u64, cycles: u32) {
    let elapsed = u64::from(cycles / (SYSTICK_HZ / 1_000));
    interrupt::free(|cs| {
        let now = NOW_MS.borrow(cs);
        now.set(now.get().max(began + elapsed));
    });
}

/// Ticks of SysTick since the reset.
#[cfg(all(feature = "board-nucleo-f446re", feature = "qemu"))]
pub(crate) fn ticks() -> u64 {
    const EACH: u64 = SYSTICK_HZ as u64 / 1_000;
    interrupt::free(|cs| {
        let mut left = SYST::get_current();
        let mut now = NOW_MS.borrow(cs).get();
        if SCB::is_pendst_pending() {
            // SysTick has begun again, and its interrupt is still to come.
            left = SYST::get_current();
            now += 1;
        }
        now * EACH + (EACH - 1 - u64::from(left))
    })
}

#[exception]
fn SysTick() {
    interrupt::free(|cs| {
        let now = NOW_MS.borrow(cs);
        now.set(now.get() + 1);
    });
}

/// Sleeps until an interrupt is pending, also while interrupts are masked.
pub(super) fn sleep() {
    asm::wfi();
}

/// 0.1 s at 180 MHz.
pub(crate) fn wait_for_debugger() {
    asm::delay(18_000_000);
}

/// Resets the chip.
pub(crate) fn reset() -> ! {
    SCB::sys_reset()
}

// SAFETY: reads the frame and the logger, and never returns to the interrupted program.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    crash(|| {
        defmt::error!(
            "hard fault at {=u32:#010x}, called from {=u32:#010x}",
            frame.pc(),
            frame.lr()
        );
    })
}
