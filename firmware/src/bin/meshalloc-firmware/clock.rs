//! Milliseconds since the reset, from SysTick.

use core::cell::Cell;

use cortex_m::interrupt::{self, Mutex};
#[cfg(feature = "qemu")]
use cortex_m::peripheral::SCB;
use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m_rt::exception;

/// How fast SysTick counts: with the core's clock, but QEMU's machine always at this one.
const SYSTICK_HZ: u32 = if cfg!(feature = "qemu") {
    168_000_000
} else {
    180_000_000
};

/// The clock of USART2, as `pll.rs` sets it. QEMU's serial port is as fast as it can be.
pub(crate) const APB1_HZ: u32 = 45_000_000;

static NOW_MS: Mutex<Cell<u64>> = Mutex::new(Cell::new(0));

/// Starts the clock at 0.
pub(crate) fn start(mut systick: SYST) {
    systick.set_clock_source(SystClkSource::Core);
    systick.set_reload(SYSTICK_HZ / 1_000 - 1);
    systick.clear_current();
    systick.enable_interrupt();
    systick.enable_counter();
}

/// Milliseconds since the reset.
pub(crate) fn now_ms() -> u64 {
    // Two words cannot be read at once without keeping the interrupt out.
    interrupt::free(|cs| NOW_MS.borrow(cs).get())
}

/// Makes up for interrupts that were lost while the core stood still: so many cycles have gone by since it was `began`.
#[cfg(all(feature = "journal", not(feature = "qemu")))]
pub(crate) fn catch_up(began: u64, cycles: u32) {
    let elapsed = u64::from(cycles / (SYSTICK_HZ / 1_000));
    interrupt::free(|cs| {
        let now = NOW_MS.borrow(cs);
        now.set(now.get().max(began + elapsed));
    });
}

/// Ticks of SysTick since the reset.
#[cfg(feature = "qemu")]
pub(crate) fn ticks() -> u64 {
    const EACH: u64 = SYSTICK_HZ as u64 / 1_000;
    interrupt::free(|cs| {
        let mut left = SYST::get_current();
        let mut now = NOW_MS.borrow(cs).get();
        if SCB::is_pendst_pending() {
            // It has begun again, and the interrupt is still to come.
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

defmt::timestamp!("{=u64:ms}", now_ms());
