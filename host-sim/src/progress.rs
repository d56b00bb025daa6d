//! Progress on standard error.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use meshalloc::StrategyKind;

use crate::failure;
use crate::records::JobsFile;
use crate::signals;
use meshalloc_sim::experiment::Progress;
use meshalloc_sim::history::Recording;
use meshalloc_sim::simulation::{Observer, RunResult, Seen};

/// Seconds between lines of progress if standard error is not a terminal.
const LINE_EVERY: u64 = 30;

/// The text above a bar after this run, as [`Progress::ended`] reports it; `None` if the text stays
/// the same.
pub(crate) type After<'a> = dyn Fn(usize, usize, &RunResult) -> Option<String> + Sync + 'a;

/// A progress bar on standard error, if that is a terminal, otherwise a line at the first progress
/// after each [`LINE_EVERY`] seconds. If there is a file of jobs, it also gives runs the recorders
/// that write into it.
pub(crate) struct Bar<'j> {
    bar: ProgressBar,
    /// The file of jobs, if there is one.
    jobs: Option<&'j JobsFile<'j>>,
    /// The recording of the first replications, if there is one.
    histories: Option<&'j Recording>,
    /// What changes the text above the bar, if there is one.
    above: Option<&'j After<'j>>,
    /// The seconds at which the next line is due.
    due: AtomicU64,
}

impl<'j> Bar<'j> {
    /// A bar for as many jobs as the experiments announce. The first Ctrl-C, SIGTERM or SIGHUP
    /// interrupts the experiments, the second one ends the process.
    pub(crate) fn interruptible() -> Result<Self, String> {
        let target = if failure::QUIET.load(Ordering::Relaxed) {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(10)
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) = ProgressStyle::with_template(template()) {
            bar.set_style(style);
        }
        signals::handle()?;
        Ok(Bar {
            bar,
            jobs: None,
            histories: None,
            above: None,
            due: AtomicU64::new(LINE_EVERY),
        })
    }

    /// This bar, for runs whose jobs are written into a file and whose first replications are
    /// recorded.
    pub(crate) fn recording(
        self,
        jobs: Option<&'j JobsFile<'j>>,
        histories: Option<&'j Recording>,
    ) -> Self {
        Bar {
            jobs,
            histories,
            ..self
        }
    }

    /// This bar; on a terminal, a text stands above it from now on: at first this one.
    pub(crate) fn below(self, first: String, after: &'j After<'j>) -> Self {
        let style = self.bar.style();
        if let Ok(style) = style.template(&format!("{{msg}}\n{}", template())) {
            self.bar.set_style(style);
        }
        Bar {
            // The message is drawn with the bar, as soon as the number of jobs is known.
            bar: self.bar.clone().with_message(first),
            above: Some(after),
            ..self
        }
    }

    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn template() -> &'static str {
    "{wide_bar} {human_pos}/{human_len} jobs, {eta} left"
}

impl Progress for Bar<'_> {
    fn begin(&self, runs_max: u64, jobs_per_run: u64) {
        if self.bar.is_finished() {
            self.bar.reset();
            self.bar.set_length(0);
            self.due.store(LINE_EVERY, Ordering::Relaxed);
        }
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
        let elapsed = self.bar.elapsed();
        if self.bar.is_hidden() && is_due(&self.due, elapsed.as_secs()) {
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            failure::note(&line(done, all, elapsed));
        }
    }

    fn ended(&self, place: usize, strategy: usize, run: &RunResult) {
        let above = self.above.filter(|_| !self.bar.is_hidden());
        if let Some(text) = above.and_then(|after| after(place, strategy, run)) {
            self.bar.set_message(text);
        }
    }

    fn recorder(&self, strategy: StrategyKind, replication: u32) -> Box<dyn Observer + '_> {
        let mut jobs = self.jobs.map(|jobs| jobs.recorder(strategy, replication));
        let histories = self.histories.filter(|_| replication == 0);
        let mut history = histories.map(|histories| histories.recorder(strategy));
        Box::new(move |seen: &Seen<'_>| {
            if let Some(jobs) = &mut jobs {
                jobs.see(seen);
            }
            if let Some(history) = &mut history {
                history.see(seen);
            }
        })
    }

    fn is_interrupted(&self) -> bool {
        signals::is_interrupted()
    }
}

/// Whether a line is due after these seconds; true for one of several threads.
fn is_due(due: &AtomicU64, seconds: u64) -> bool {
    let expected = due.load(Ordering::Relaxed);
    let (next, one, any) = (seconds + LINE_EVERY, Ordering::Relaxed, Ordering::Relaxed);
    seconds >= expected && due.compare_exchange(expected, next, one, any).is_ok()
}

/// How far the work is: `12,000 of 40,000 jobs, 30 %, 3 minutes left`.
fn line(done: u64, all: u64, elapsed: Duration) -> String {
    let mut line = format!("{} of {} jobs", HumanCount(done), HumanCount(all));
    if let Some(percent) = (100 * u128::from(done)).checked_div(all.into()) {
        line.push_str(&format!(", {percent} %"));
    }
    if done > 0 {
        let rest = all.saturating_sub(done) as f64 / done as f64;
        let left = elapsed.as_secs_f64() * rest;
        if let Ok(left) = Duration::try_from_secs_f64(left) {
            line.push_str(&format!(", {} left", HumanDuration(left)));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_much_is_left() {
        let line = |done, all, seconds| line(done, all, Duration::from_secs(seconds));
        assert_eq!(
            line(12_000, 48_000, 60),
            "12,000 of 48,000 jobs, 25 %, 3 minutes left"
        );
        assert_eq!(line(0, 48_000, 30), "0 of 48,000 jobs, 0 %");
        assert_eq!(line(0, 0, 30), "0 of 0 jobs");
        // More than was expected: the experiments say so later.
        assert_eq!(line(3, 2, 30), "3 of 2 jobs, 150 %, 0 seconds left");
    }

    #[test]
    fn a_line_is_due_every_half_minute() {
        let due = AtomicU64::new(LINE_EVERY);
        let times = [29, 31, 32, 60, 61, 200];
        let are_due = times.map(|seconds| is_due(&due, seconds));
        assert_eq!(are_due, [false, true, false, false, true, true]);
    }
}
