//! The units of virtual time.

use meshalloc::Ticks;

use super::TIME_MAX;

/// In what a workload gives its times, and results theirs. Inside, virtual time is whole ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// A second, of 1,000,000 ticks: jobs with service times.
    #[default]
    Second,
    /// A cycle of the network, which is a tick: jobs that end with their messages.
    Cycle,
}

impl TimeUnit {
    /// The number of ticks.
    pub const fn ticks_each(self) -> u64 {
        match self {
            TimeUnit::Second => 1_000_000,
            TimeUnit::Cycle => 1,
        }
    }

    /// The name, in the singular.
    pub const fn name(self) -> &'static str {
        match self {
            TimeUnit::Second => "second",
            TimeUnit::Cycle => "cycle",
        }
    }

    /// What stands behind a number: `s`, `cycles`.
    pub const fn symbol(self) -> &'static str {
        match self {
            TimeUnit::Second => "s",
            TimeUnit::Cycle => "cycles",
        }
    }

    /// A span of ticks in this unit.
    pub fn of(self, ticks: Ticks) -> f64 {
        ticks as f64 / self.ticks_each() as f64
    }

    /// The nearest whole number of ticks, halves up. A span over [`TIME_MAX`] becomes that, a negative one zero.
    pub fn ticks(self, time: f64) -> Ticks {
        let ticks = (time * self.ticks_each() as f64).clamp(0.0, TIME_MAX as f64);
        (ticks + 0.5) as Ticks
    }
}
