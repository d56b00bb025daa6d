//! What cannot go on: it is logged, and the chip is reset.

use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use cortex_m::peripheral::SCB;
use cortex_m::{asm, interrupt};

/// Set by the first crash. One while it is logged, in the logger itself perhaps, is not logged.
static CRASHING: AtomicBool = AtomicBool::new(false);

/// 0.1 s at 180 MHz.
const READING_CYCLES: u32 = 18_000_000;

fn crash(log: impl FnOnce()) -> ! {
    interrupt::disable();
    if !CRASHING.swap(true, Ordering::Relaxed) {
        log();
        // For a debugger to read it. `defmt::flush` would wait for one that is gone.
        asm::delay(READING_CYCLES);
    }
    SCB::sys_reset()
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    #[cfg(feature = "panic-message")]
    crash(|| defmt::error!("{}", defmt::Display2Format(info)));
    // A handler that reads nothing of it leaves the formatting and the texts of all panics out of the image.
    #[cfg(not(feature = "panic-message"))]
    {
        let _ = info;
        crash(|| defmt::error!("panicked"))
    }
}

/// Where `defmt::panic!` and `defmt::unwrap!` end up after they have logged the reason themselves.
#[defmt::panic_handler]
fn defmt_panic() -> ! {
    crash(|| {})
}

#[expect(
    unsafe_code,
    reason = "cortex-m-rt wants the handlers marked unsafe: they may run whatever the program was at"
)]
mod faults {
    use cortex_m_rt::{ExceptionFrame, exception};

    // SAFETY: as below.
    #[cfg(not(feature = "qemu"))]
    #[exception]
    unsafe fn NonMaskableInt() -> ! {
        // The chip goes on with the internal clock, at which the line has another rate. The next start finds out what there is.
        super::crash(|| defmt::error!("the external clock has stopped"))
    }

    // SAFETY: reads the frame and the logger, and never returns to what was interrupted.
    #[exception]
    unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
        super::crash(|| {
            defmt::error!(
                "hard fault at {=u32:#010x}, called from {=u32:#010x}",
                frame.pc(),
                frame.lr()
            );
        })
    }
}
