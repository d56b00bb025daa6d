//! A controller in this process with a clock around it, for the search time.
//!
//! # What is measured
//!
//! The time on the wall clock from handing a change to the controller until it is done, without the
//! time of the receiver of the events and without that of reading the clock. That is all of the
//! controller: the search for processors (every attempt that the change brings about), the
//! scheduler and the job table. Whatever interrupts the thread counts too, so the machine should
//! have nothing else to do, and fewer threads should measure than it has processors.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use meshalloc::message::Capacity;
use meshalloc::{Answer, Change, Configuration, Error, Machine, Outcome, Query, Ticks};

use super::{Backend, BackendError, Backends, InProcess, InProcessBackends, OnEvent};

/// An [`InProcess`] controller with a clock around it.
#[derive(Debug)]
pub struct Stopwatch<'m> {
    inner: InProcess<'m>,
    /// What reading the clock takes, in seconds.
    reading_seconds: f64,
    /// What the latest change took, in seconds.
    latest_seconds: f64,
}

impl<'m> Stopwatch<'m> {
    /// A clock around this controller.
    pub fn new(inner: InProcess<'m>) -> Self {
        Stopwatch {
            inner,
            reading_seconds: reading_seconds(),
            latest_seconds: 0.0,
        }
    }
}

impl Backend for Stopwatch<'_> {
    fn call(
        &mut self,
        change: &Change,
        now: Ticks,
        on_event: OnEvent<'_>,
    ) -> Result<Result<Outcome, Error>, BackendError> {
        let mut spans = 1u32;
        let mut spent = Duration::ZERO;
        let mut begin = Instant::now();
        let outcome = self.inner.call(change, now, &mut |event, blocks| {
            spent += begin.elapsed();
            on_event(event, blocks);
            spans += 1;
            begin = Instant::now();
        });
        spent += begin.elapsed();
        // Between two readings lies the cost of one.
        self.latest_seconds = spent.as_secs_f64() - f64::from(spans) * self.reading_seconds;
        outcome
    }

    fn query(&mut self, query: &Query) -> Result<Result<Answer, Error>, BackendError> {
        self.inner.query(query)
    }

    fn capacity(&self) -> Capacity {
        self.inner.capacity()
    }

    fn is_in_order(&self) -> bool {
        self.inner.is_in_order()
    }

    fn make_room(&mut self) -> bool {
        self.inner.make_room()
    }

    fn latest_seconds(&self) -> Option<f64> {
        Some(self.latest_seconds)
    }
}

/// What reading the clock takes, in seconds: the least mean of several series of readings, since
/// whatever disturbs one makes it longer. Measured once in a process; takes a few milliseconds.
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

/// Makes controllers in this process with clocks around them: runs on them have a
/// [`SearchTime`](crate::metrics::Metric::SearchTime).
#[derive(Clone, Copy, Debug, Default)]
pub struct StopwatchBackends(pub InProcessBackends);

impl Backends for StopwatchBackends {
    fn with(
        &mut self,
        configuration: Configuration,
        description: Option<&Machine>,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        self.0.lend(configuration, description, |inner| {
            body(&mut Stopwatch::new(inner));
        })
    }
}

#[cfg(test)]
mod tests {
    use meshalloc::{JobId, Mesh, Request, SchedulerKind, StrategyKind};

    use super::*;

    #[test]
    fn the_receiver_is_not_measured() {
        let pause = Duration::from_millis(20);
        let configuration = Configuration {
            machine: Mesh::new(8, 8).unwrap().into(),
            strategy: StrategyKind::FirstFit,
            scheduler: SchedulerKind::Fcfs,
        };
        let submit = Change::submit(JobId(1), Request::submesh(2, 2));
        let mut events = 0;
        let ready = StopwatchBackends::default().with(configuration, None, &mut |backend| {
            let outcome = backend.call(&submit, 0, &mut |_, _| {
                events += 1;
                std::thread::sleep(pause);
            });
            assert_eq!(outcome.unwrap(), Ok(Outcome::Done));
            let seconds = backend.latest_seconds().unwrap();
            assert!(seconds.abs() < pause.as_secs_f64(), "{seconds}");
        });
        ready.unwrap();
        assert_eq!(events, 1, "a grant");
    }

    #[test]
    fn reading_the_clock_takes_little() {
        let seconds = reading_seconds();
        assert!((0.0..1e-4).contains(&seconds), "{seconds}");
    }
}
