//! Failures after exponential times.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use meshalloc::Ticks;
use rand_chacha::ChaCha8Rng;
use rand_core::Rng;
use rand_distr::{Distribution, Exp1};

use crate::workload::{TIME_MAX, TimeUnit};

/// Units that fail and are repaired after exponential times, each on its own.
///
/// If `n` units work, the time to the next failure is exponential with an n-th of the mean, and
/// each unit is equally likely to fail. The time is drawn anew after each failure and repair.
/// Memory, and the time for a failure, grow in proportion to the number of units that have failed;
/// a repair takes time in proportion to the logarithm of that number.
#[derive(Clone, Debug)]
pub(super) struct Random {
    up_seconds: f64,
    down_seconds: f64,
    count: u32,
    rng: ChaCha8Rng,
    failed: BTreeSet<u32>,
    repairs: BinaryHeap<Reverse<(Ticks, u32)>>,
    failure_at: Ticks,
}

impl Random {
    /// This number of units, all of which work at time 0.
    pub(super) fn new(up_seconds: f64, down_seconds: f64, count: u32, rng: ChaCha8Rng) -> Self {
        let mut random = Random {
            up_seconds,
            down_seconds,
            count,
            rng,
            failed: BTreeSet::new(),
            repairs: BinaryHeap::new(),
            failure_at: 0,
        };
        random.draw_failure(0);
        random
    }

    /// The next event: its time, the unit, and whether it fails; `None` beyond virtual time.
    pub(super) fn next(&mut self) -> Option<(Ticks, u32, bool)> {
        let event = match self.repairs.peek() {
            Some(&Reverse((at, unit))) if at <= self.failure_at => {
                self.repairs.pop();
                self.failed.remove(&unit);
                (at, unit, false)
            }
            _ if self.failure_at >= TIME_MAX => return None,
            _ => {
                let at = self.failure_at;
                let unit = self.draw_unit();
                self.failed.insert(unit);
                let repaired = at + exponential(self.down_seconds, &mut self.rng);
                self.repairs.push(Reverse((repaired, unit)));
                (at, unit, true)
            }
        };
        self.draw_failure(event.0);
        Some(event)
    }

    /// A unit that works, drawn at random. At least one unit works.
    fn draw_unit(&mut self) -> u32 {
        let working = self.count - self.failed.len() as u32;
        let drawn = (u128::from(self.rng.next_u64()) * u128::from(working)) >> 64;
        // The number among the working units becomes the number among all units.
        let all = self.failed.iter();
        all.fold(drawn as u32, |unit, &failed| {
            unit + u32::from(failed <= unit)
        })
    }

    fn draw_failure(&mut self, now: Ticks) {
        let working = self.count - self.failed.len() as u32;
        self.failure_at = match working {
            0 => TIME_MAX,
            _ => {
                let mean = self.up_seconds / f64::from(working);
                (now + exponential(mean, &mut self.rng)).min(TIME_MAX)
            }
        };
    }
}

fn exponential(mean_seconds: f64, rng: &mut ChaCha8Rng) -> Ticks {
    let drawn: f64 = Exp1.sample(rng);
    TimeUnit::Second.ticks(drawn * mean_seconds)
}
