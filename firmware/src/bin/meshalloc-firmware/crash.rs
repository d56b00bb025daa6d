//! What cannot go on: it is logged, and the chip is reset.

use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use cortex_m::interrupt;
use cortex_m::peripheral::SCB;

/// Set by the first crash. One while it is logged, in the logger itself perhaps, is not logged.
static CRASHING: AtomicBool = AtomicBool::new(false);

fn crash(log: impl FnOnce()) -> ! {
    interrupt::disable();
    if !CRASHING.swap(true, Ordering::Relaxed) {
        log();
        defmt::flush();
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
    reason = "cortex-m-rt wants the handler marked unsafe: it may run whatever the program was at"
)]
mod hard_fault {
    use cortex_m_rt::{ExceptionFrame, exception};

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
