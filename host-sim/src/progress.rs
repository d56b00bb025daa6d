//! Progress on standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::experiment::Progress;

/// A progress bar on standard error, if that is a terminal.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar for as many jobs as the experiments announce.
    pub(crate) fn new() -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(10);
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let template = "{wide_bar} {human_pos}/{human_len} jobs, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Bar(bar)
    }

    /// Takes it off the screen.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn begin(&self, runs_max: u64, jobs_per_run: u64) {
        self.0.inc_length(runs_max * jobs_per_run);
    }

    fn expect_more(&self, jobs: i64) {
        match u64::try_from(jobs) {
            Ok(more) => self.0.inc_length(more),
            Err(_) => self.0.dec_length(jobs.unsigned_abs()),
        }
    }

    fn advance(&self, jobs: u64) {
        self.0.inc(jobs);
    }
}
