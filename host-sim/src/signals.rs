//! Ctrl-C and other signals that end a command.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Ctrl-C, SIGTERM and, where there is one, SIGHUP.
#[cfg(unix)]
const SIGNALS: &[i32] = &[SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: &[i32] = &[SIGINT, SIGTERM];

/// The exit code after a signal is this and its number.
const OF_SIGNAL: i32 = 128;

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// The latest signal; without one it counts as Ctrl-C.
static SIGNAL: LazyLock<Arc<AtomicUsize>> =
    LazyLock::new(|| Arc::new(AtomicUsize::new(SIGINT as usize)));

/// Whether the command is to end: after the first of the signals.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// The exit code of a command that was interrupted: 130 after Ctrl-C, 143 after SIGTERM.
pub(crate) fn exit_interrupted() -> u8 {
    (OF_SIGNAL as usize + SIGNAL.load(Ordering::Relaxed)) as u8
}

/// The first of the signals interrupts the experiments, the second one ends the process.
pub(crate) fn handle() -> Result<(), String> {
    register().map_err(|error| format!("cannot handle signals: {error}"))
}

fn register() -> io::Result<()> {
    for &signal in SIGNALS {
        // The handlers are registered in this order, so that the first signal does not end the
        // process.
        flag::register_conditional_shutdown(signal, OF_SIGNAL + signal, INTERRUPTED.clone())?;
        flag::register(signal, INTERRUPTED.clone())?;
        flag::register_usize(signal, SIGNAL.clone(), signal as usize)?;
    }
    Ok(())
}
