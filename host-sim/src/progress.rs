//! Progress on standard error, and Ctrl-C.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::experiment::Progress;

/// Exit code after Ctrl-C: 128 and the number of SIGINT.
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

/// Whether an interruptible command is to end: after the first Ctrl-C, SIGTERM or SIGHUP.
pub(crate) static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// A progress bar on standard error, if that is a terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
    is_interruptible: bool,
}

impl Bar {
    /// A bar for as many jobs as the experiments announce.
    pub(crate) fn new() -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(10);
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let template = "{wide_bar} {human_pos}/{human_len} jobs, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Bar {
            bar,
            is_interruptible: false,
        }
    }

    /// The same; the first Ctrl-C, SIGTERM or SIGHUP interrupts the experiments, the second one ends the process.
    ///
    /// # Errors
    ///
    /// When the system takes no handler.
    pub(crate) fn interruptible() -> Result<Self, String> {
        ctrlc::set_handler(|| {
            if INTERRUPTED.swap(true, Ordering::Relaxed) {
                process::exit(EXIT_INTERRUPTED.into());
            }
        })
        .map_err(|error| format!("cannot handle Ctrl-C: {error}"))?;
        Ok(Bar {
            is_interruptible: true,
            ..Bar::new()
        })
    }

    /// Takes it off the screen.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn begin(&self, runs_max: u64, jobs_per_run: u64) {
        self.bar.inc_length(runs_max * jobs_per_run);
    }

    fn expect_more(&self, jobs: i64) {
        match u64::try_from(jobs) {
            Ok(more) => self.bar.inc_length(more),
            Err(_) => self.bar.dec_length(jobs.unsigned_abs()),
        }
    }

    fn advance(&self, jobs: u64) {
        self.bar.inc(jobs);
    }

    fn is_interrupted(&self) -> bool {
        self.is_interruptible && INTERRUPTED.load(Ordering::Relaxed)
    }
}
