//! Handles a program that cannot go on: logs the reason and resets the board.

use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::boards;

/// Set by the first crash. A crash during its logging, perhaps in the logger itself, is not logged.
static CRASHING: AtomicBool = AtomicBool::new(false);

/// Logs with interrupts masked, leaves a debugger the time to read the log, and resets the board.
pub(crate) fn crash(log: impl FnOnce()) -> ! {
    critical_section::with(|_| {
        if !CRASHING.swap(true, Ordering::Relaxed) {
            log();
            // `defmt::flush` would wait for a debugger that has gone.
            boards::wait_for_debugger();
        }
        boards::reset()
    })
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    #[cfg(feature = "panic-message")]
    crash(|| defmt::error!("{}", defmt::Display2Format(info)));
    // A handler that reads nothing of it leaves the formatting and the texts of all panics out of
    // the image.
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
