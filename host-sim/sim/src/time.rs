//! The units and limits of virtual time, and the most jobs in it.

use meshalloc::Ticks;

/// The latest point of virtual time that is simulated, in ticks, some 71 years where a tick is a
/// microsecond: sums of squares of up to [`JOBS_MAX`] spans stay exact in 128 bits.
pub const TIME_MAX: Ticks = 1 << 51;

/// The most jobs in one run.
pub const JOBS_MAX: u32 = 1 << 24;

/// The unit of the times in a workload and in its results. Internally, virtual time is in whole
/// ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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

    /// The text behind a number: `s`, `cycles`.
    pub const fn symbol(self) -> &'static str {
        match self {
            TimeUnit::Second => "s",
            TimeUnit::Cycle => "cycles",
        }
    }

    /// A span of ticks in this unit.
    pub const fn of(self, ticks: Ticks) -> f64 {
        ticks as f64 / self.ticks_each() as f64
    }

    /// A unit in which times of this unit, up to `most`, are short numbers, for an axis: its size
    /// in this unit, and its name.
    ///
    /// ```
    /// use meshalloc_sim::workload::TimeUnit;
    /// assert_eq!(TimeUnit::Second.readable(7_000.0), (1.0, "s"));
    /// assert_eq!(TimeUnit::Second.readable(90_000.0), (3_600.0, "hours"));
    /// assert_eq!(TimeUnit::Second.readable(1_400_000.0), (86_400.0, "days"));
    /// assert_eq!(TimeUnit::Cycle.readable(6_000_000.0), (1e6, "million cycles"));
    /// ```
    pub fn readable(self, most: f64) -> (f64, &'static str) {
        // From how much on, largest first.
        let units: &[(f64, f64, &str)] = match self {
            TimeUnit::Second => &[(172_800.0, 86_400.0, "days"), (7_200.0, 3_600.0, "hours")],
            TimeUnit::Cycle => &[
                (2e9, 1e9, "billion cycles"),
                (2e6, 1e6, "million cycles"),
                (2e4, 1e3, "thousand cycles"),
            ],
        };
        let unit = units.iter().find(|&&(from, ..)| most >= from);
        unit.map_or((1.0, self.symbol()), |&(_, size, name)| (size, name))
    }

    /// The nearest whole number of ticks, halves up, at most [`TIME_MAX`]; 0 for a negative span.
    pub fn ticks(self, time: f64) -> Ticks {
        let ticks = (time * self.ticks_each() as f64).clamp(0.0, TIME_MAX as f64);
        (ticks + 0.5) as Ticks
    }
}
