//! A clock for the search time: the time on the wall clock from handing a change to the controller
//! until the change is done. The time of the receiver of events and the time of reading the clock
//! do not count. The search time covers all attempts that the change causes, the scheduler and the
//! job table. Interruptions of the thread count too: the machine should have nothing else to do,
//! and more processors than threads that measure.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub(super) struct Stopwatch {
    begin: Instant,
    spent: Duration,
    spans: u32,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        Stopwatch {
            begin: Instant::now(),
            spent: Duration::ZERO,
            spans: 1,
        }
    }

    /// Does something whose time does not count.
    pub(super) fn leave_out(&mut self, what: impl FnOnce()) {
        self.spent += self.begin.elapsed();
        what();
        self.spans += 1;
        self.begin = Instant::now();
    }

    /// The measured time, in seconds. It contains the cost of one reading of the clock.
    pub(super) fn seconds(self) -> f64 {
        let spent = self.spent + self.begin.elapsed();
        spent.as_secs_f64() - f64::from(self.spans) * reading_seconds()
    }
}

/// The time of one reading of the clock, in seconds: the least mean of several series of readings,
/// since a disturbance only makes a series longer. It is measured once in a process, which takes a
/// few milliseconds.
fn reading_seconds() -> f64 {
    const SERIES: u32 = 64;
    const READINGS: u32 = 1024;
    static SECONDS: OnceLock<f64> = OnceLock::new();
    *SECONDS.get_or_init(|| {
        let series = || -> Duration { (0..READINGS).map(|_| Instant::now().elapsed()).sum() };
        let least = (0..SERIES).map(|_| series()).min().unwrap_or_default();
        least.as_secs_f64() / f64::from(READINGS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_the_clock_takes_little() {
        let seconds = reading_seconds();
        assert!((0.0..1e-4).contains(&seconds), "{seconds}");
    }

    #[test]
    fn what_is_left_out_is_not_measured() {
        let pause = Duration::from_millis(20);
        let mut watch = Stopwatch::start();
        watch.leave_out(|| std::thread::sleep(pause));
        let seconds = watch.seconds();
        assert!(seconds.abs() < pause.as_secs_f64(), "{seconds}");
    }
}
