//! The model of Lublin and Feitelson: rigid jobs with a daily cycle, whose run time depends on
//! their number of processors.
//!
//! U. Lublin and D. G. Feitelson, "The workload on parallel supercomputers: modeling the
//! characteristics of rigid jobs", Journal of Parallel and Distributed Computing 63(11), 2003, with
//! the parameters that they publish, for batch and interactive jobs and for both as one class.
//!
//! # Numbers of processors
//!
//! A job is serial with a probability of its own. Else the logarithm to base 2 of its number of
//! processors has a two-stage uniform distribution, and with another probability it is rounded,
//! which makes the number a power of two:
//!
//! ```text
//!  density        first stage         second stage
//!           +---------------------+
//!           |                     |-------------------+
//!           +---------------------+-------------------+---> log2 of processors
//!          low                middle                high
//! ```
//!
//! `high` is the logarithm of the machine's size, for interactive jobs 1.5 less, and `middle` lies
//! 2 to 2.5 below it, as the authors advise; on 128 processors these are the published numbers.
//!
//! # Run times
//!
//! The natural logarithm of a run time in seconds is hyper-gamma: it comes from the first of two
//! gamma distributions with the probability `p = a * processors + b`, from 0 to 1, else from the
//! second. Above 12, some 45 hours, it is drawn again.
//!
//! # Arrivals
//!
//! The logarithms of times between arrivals, in seconds, are gamma distributed; logarithms above 13
//! are drawn again. The clock of these times runs at a speed that depends on the time of day: each
//! of the 48 half hours has a weight, from a third gamma distribution over the half hours from 5:00
//! to 5:00. The mean weight is 1. The first day begins at midnight.
//!
//! # Differences from the authors' program
//!
//! Times are not cut to whole seconds. The rest of a half hour is carried over exactly. Random
//! numbers are those of this simulator: source 0 for arrivals, 3 for run times, 21 for numbers of
//! processors; of interactive jobs next to batch jobs these numbers plus 100.

use rand_distr::{Distribution, Gamma};
use serde::Serialize;
use statrs::function::gamma::gamma_lr;

use super::distributions::listed;
use super::stream::fraction;
use crate::error::SettingError;

/// The classes of jobs of the model.
///
/// ```
/// use meshalloc_sim::workload::Lublin;
/// let model: Lublin = "lublin:batch".parse().unwrap();
/// assert_eq!(model.to_string(), "lublin:batch");
/// // Larger machines have larger jobs, and larger jobs run longer.
/// assert!(model.mean_run_seconds(1024) > model.mean_run_seconds(128));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Lublin {
    /// One class, with the parameters of all jobs.
    Combined,
    /// Batch jobs.
    Batch,
    /// Interactive jobs.
    Interactive,
    /// Batch jobs and interactive jobs, each class with arrivals of its own.
    Both,
}

const SOURCE: &str = "Lublin and Feitelson 2003, The Workload on Parallel Supercomputers: Modeling the Characteristics of Rigid Jobs";

/// The greatest natural logarithms of a run time and of a time between arrivals, both in seconds.
const RUN_MAX: f64 = 12.0;
const GAP_MAX: f64 = 13.0;

/// The parts of a day that have a weight, and their length.
const SLOTS: usize = 48;
const SLOT_SECONDS: f64 = 1800.0;

/// The first half hour of the day over which the weights are distributed, from 1.
const FIRST_SLOT: usize = 11;

/// A gamma distribution with its shape and its scale, up to a greatest value.
#[derive(Clone, Copy, Debug)]
struct Truncated {
    shape: f64,
    scale: f64,
    most: f64,
}

impl Truncated {
    /// The probability of at most the greatest value.
    fn mass(self) -> f64 {
        gamma_lr(self.shape, self.most / self.scale)
    }

    /// The mean of the exponential function over that part, not divided by its mass; the scale is
    /// less than 1. The density of gamma times `e^x` is a gamma density of the scale `1 / (1 /
    /// scale - 1)` times `(1 - scale)^-shape`.
    fn exponential(self) -> f64 {
        let rate = 1.0 / self.scale - 1.0;
        (1.0 - self.scale).powf(-self.shape) * gamma_lr(self.shape, self.most * rate)
    }

    fn sampler(self) -> Gamma<f64> {
        Gamma::new(self.shape, self.scale).expect("published parameters are over 0")
    }
}

/// The published parameters of one class.
#[derive(Debug)]
struct Parameters {
    serial: f64,
    power_of_two: f64,
    low: f64,
    /// From the middle to the high end.
    second_stage: f64,
    /// From the high end to the logarithm of the machine's size.
    below_machine: f64,
    first_stage_share: f64,
    /// The shapes and scales of the two distributions of logarithms of run times.
    run: [(f64, f64); 2],
    /// The share of the first of these distributions: its change with each processor, and its value
    /// for no processors.
    first: (f64, f64),
    /// The shape and scale of the distribution of logarithms of times between arrivals.
    gap: (f64, f64),
    /// The shape and scale of the distribution of the half hours in which jobs arrive.
    slots: (f64, f64),
}

const COMBINED: Parameters = Parameters {
    serial: 0.244,
    power_of_two: 0.576,
    low: 0.8,
    second_stage: 2.5,
    below_machine: 0.0,
    first_stage_share: 0.86,
    run: [(4.2, 0.94), (312.0, 0.03)],
    first: (-0.0054, 0.78),
    // The published shape is that of rush hours; the factor makes it that of the whole day.
    gap: (10.2303 * 1.0225, 0.4871),
    slots: (8.1737, 3.9631),
};

const BATCH: Parameters = Parameters {
    serial: 0.2927,
    power_of_two: 0.6686,
    low: 1.2,
    second_stage: 2.0,
    below_machine: 0.0,
    first_stage_share: 0.875,
    run: [(6.57, 0.823), (639.1, 0.0156)],
    first: (-0.003, 0.6986),
    gap: (6.0415 * 1.0519, 0.8531),
    slots: (6.1271, 5.2740),
};

const INTERACTIVE: Parameters = Parameters {
    serial: 0.1541,
    power_of_two: 0.625,
    low: 1.0,
    second_stage: 2.5,
    below_machine: 1.5,
    first_stage_share: 0.705,
    run: [(3.8351, 0.6605), (7.073, 0.6856)],
    first: (-0.0118, 0.9156),
    gap: (6.5510 * 0.9797, 0.6621),
    slots: (8.9186, 3.6680),
};

listed! { Lublin, "workload model":
    Combined = "lublin", "the parameters of all jobs, as one class", SOURCE;
    Batch = "lublin:batch", "batch jobs alone", SOURCE;
    Interactive = "lublin:interactive", "interactive jobs alone, up to 0.35 of the machine", SOURCE;
    Both = "lublin:both", "batch and interactive jobs, each with arrivals of their own", SOURCE;
}

impl Lublin {
    /// The classes that arrive independently of each other.
    pub(super) const fn classes(self) -> &'static [Lublin] {
        match self {
            Lublin::Combined => &[Lublin::Combined],
            Lublin::Batch => &[Lublin::Batch],
            Lublin::Interactive => &[Lublin::Interactive],
            Lublin::Both => &[Lublin::Batch, Lublin::Interactive],
        }
    }

    const fn parameters(self) -> &'static Parameters {
        match self {
            Lublin::Combined => &COMBINED,
            Lublin::Batch | Lublin::Both => &BATCH,
            Lublin::Interactive => &INTERACTIVE,
        }
    }

    /// An error when a machine of this size is too small for the model's largest jobs.
    pub fn check(self, nodes: u32) -> Result<(), SettingError> {
        let least = |class: &Lublin| {
            let of = class.parameters();
            (of.low + of.second_stage + of.below_machine).exp2().floor() as u32 + 1
        };
        let least = self.classes().iter().map(least).max().unwrap_or(1);
        if nodes >= least {
            return Ok(());
        }
        let what = format!("the number of processors of the machine of {self}");
        let expected = format!("at least {least}");
        Err(SettingError::out_of_range(
            &what,
            &["model"],
            nodes,
            expected,
        ))
    }

    /// The mean of `of` over all jobs, each class as often as its jobs arrive. `of` takes a number
    /// of processors and its mean run time in seconds. Exact for the whole numbers that are drawn.
    fn mean(self, nodes: u32, of: impl Fn(f64, f64) -> f64) -> f64 {
        let of_class = |class| {
            let (sizes, runs) = (Sizes::new(class, nodes), RunTimes::new(class));
            let parts = sizes.probabilities();
            let parts = parts.map(|(n, p)| of(n.into(), runs.mean_seconds(n)) * p);
            parts.sum::<f64>()
        };
        let rates = self.classes().iter().map(|&class| (class, class.rate()));
        let sum: f64 = rates
            .clone()
            .map(|(class, rate)| rate * of_class(class))
            .sum();
        sum / rates.map(|(_, rate)| rate).sum::<f64>()
    }

    /// The mean number of processors of a job.
    pub fn mean_processors(self, nodes: u32) -> f64 {
        self.mean(nodes, |processors, _| processors)
    }

    /// The mean run time, in seconds.
    pub fn mean_run_seconds(self, nodes: u32) -> f64 {
        self.mean(nodes, |_, seconds| seconds)
    }

    /// The mean product of processors and run time in seconds, which depend on each other.
    pub fn mean_work(self, nodes: u32) -> f64 {
        self.mean(nodes, |processors, seconds| processors * seconds)
    }

    /// The mean number of jobs that arrive in a second.
    pub fn rate(self) -> f64 {
        let rate = |class: &Lublin| {
            let gap = class.gap();
            gap.mass() / gap.exponential()
        };
        self.classes().iter().map(rate).sum()
    }

    fn gap(self) -> Truncated {
        let (shape, scale) = self.parameters().gap;
        Truncated {
            shape,
            scale,
            most: GAP_MAX,
        }
    }
}

/// Numbers of processors, ready to be drawn from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    of: &'static Parameters,
    /// The logarithm of the size at which the first stage ends; `high` is that of the second stage.
    middle: f64,
    high: f64,
    most: u32,
}

impl Sizes {
    /// The jobs of one class on a machine whose size [`Lublin::check`] allows.
    pub(super) fn new(class: Lublin, nodes: u32) -> Self {
        let of = class.parameters();
        let high = f64::from(nodes).log2() - of.below_machine;
        Sizes {
            of,
            middle: high - of.second_stage,
            high,
            most: (high.exp2() + 0.5).floor() as u32,
        }
    }

    pub(super) fn sample<R: rand_core::Rng + ?Sized>(&self, rng: &mut R) -> u32 {
        let kind = fraction(rng);
        if kind < self.of.serial {
            return 1;
        }
        let (first, last) = if fraction(rng) < self.of.first_stage_share {
            (self.of.low, self.middle)
        } else {
            (self.middle, self.high)
        };
        let logarithm = first + (last - first) * fraction(rng);
        let logarithm = if kind < self.of.serial + self.of.power_of_two {
            (logarithm + 0.5).floor()
        } else {
            logarithm
        };
        self.rounded(logarithm)
    }

    fn rounded(&self, logarithm: f64) -> u32 {
        ((logarithm.exp2() + 0.5).floor() as u32).min(self.most)
    }

    /// The probability that the logarithm is less than this one.
    fn below(&self, logarithm: f64) -> f64 {
        let stage = |first: f64, last: f64| ((logarithm - first) / (last - first)).clamp(0.0, 1.0);
        let first = self.of.first_stage_share;
        first * stage(self.of.low, self.middle) + (1.0 - first) * stage(self.middle, self.high)
    }

    /// Numbers of processors with probabilities, whose sum is 1; a number comes more than once.
    fn probabilities(&self) -> impl Iterator<Item = (u32, f64)> {
        let powers = (0..=32).map(|exponent| {
            let exponent = f64::from(exponent);
            let part = self.below(exponent + 0.5) - self.below(exponent - 0.5);
            (self.rounded(exponent), self.of.power_of_two * part)
        });
        let others = (1..=self.most).map(|processors| {
            let up_to = |processors: f64| {
                if processors < f64::from(self.most) {
                    self.below(processors.log2())
                } else {
                    1.0
                }
            };
            let processors_ = f64::from(processors);
            let part = up_to(processors_ + 0.5) - up_to(processors_ - 0.5);
            (
                processors,
                (1.0 - self.of.serial - self.of.power_of_two) * part,
            )
        });
        std::iter::once((1, self.of.serial))
            .chain(powers)
            .chain(others)
    }
}

/// Run times, ready to be drawn from.
#[derive(Clone, Copy, Debug)]
pub struct RunTimes {
    gammas: [Gamma<f64>; 2],
    /// For each distribution: its mass up to the longest run time (`masses`), and the contribution
    /// of that part to the mean run time (`means`).
    masses: [f64; 2],
    means: [f64; 2],
    of: &'static Parameters,
}

impl RunTimes {
    pub(super) fn new(class: Lublin) -> Self {
        let of = class.parameters();
        let run = of.run.map(|(shape, scale)| Truncated {
            shape,
            scale,
            most: RUN_MAX,
        });
        RunTimes {
            gammas: run.map(Truncated::sampler),
            masses: run.map(Truncated::mass),
            means: run.map(Truncated::exponential),
            of,
        }
    }

    fn first(&self, processors: u32) -> f64 {
        let (each, none) = self.of.first;
        (each * f64::from(processors) + none).clamp(0.0, 1.0)
    }

    /// The mean run time of a job with this number of processors, in seconds.
    fn mean_seconds(&self, processors: u32) -> f64 {
        let first = self.first(processors);
        let mixed = |of: [f64; 2]| first * of[0] + (1.0 - first) * of[1];
        mixed(self.means) / mixed(self.masses)
    }

    pub(super) fn sample<R: rand_core::Rng + ?Sized>(&self, processors: u32, rng: &mut R) -> f64 {
        let first = self.first(processors);
        loop {
            let gamma = self.gammas[usize::from(fraction(rng) >= first)];
            let logarithm = gamma.sample(rng);
            if logarithm <= RUN_MAX {
                return logarithm.exp();
            }
        }
    }
}

/// Arrivals of one class.
#[derive(Clone, Debug)]
pub(super) struct DailyCycle {
    gamma: Gamma<f64>,
    /// Times between arrivals are multiplied by this.
    stretch: f64,
    /// The weight of each half hour, from midnight; their mean is 1.
    weights: [f64; SLOTS],
    /// The half hours that have passed, and how much of the weight of the current one.
    slot: u64,
    passed: f64,
}

impl DailyCycle {
    /// From midnight on. Times between arrivals are multiplied by `stretch`, days are not.
    pub(super) fn new(class: Lublin, stretch: f64) -> Self {
        DailyCycle {
            gamma: class.gap().sampler(),
            stretch,
            weights: weights(class),
            slot: 0,
            passed: 0.0,
        }
    }

    /// The time of the next arrival, in seconds since the first midnight.
    pub(super) fn next<R: rand_core::Rng + ?Sized>(&mut self, rng: &mut R) -> f64 {
        let logarithm = loop {
            let logarithm = self.gamma.sample(rng);
            if logarithm <= GAP_MAX {
                break logarithm;
            }
        };
        let gap = logarithm.exp() * self.stretch / SLOT_SECONDS;
        // Whole days first: the weights of a day add up to its number of half hours.
        let days = (gap / SLOTS as f64).floor();
        self.slot += days as u64 * SLOTS as u64;
        self.passed += gap - days * SLOTS as f64;
        let weight = |slot: u64| self.weights[(slot % SLOTS as u64) as usize];
        while self.passed >= weight(self.slot) {
            self.passed -= weight(self.slot);
            self.slot += 1;
        }
        (self.slot as f64 + self.passed / weight(self.slot)) * SLOT_SECONDS
    }
}

fn weights(class: Lublin) -> [f64; SLOTS] {
    let (shape, scale) = class.parameters().slots;
    let up_to = |slot: f64| gamma_lr(shape, slot / scale);
    let weights: [f64; SLOTS] = std::array::from_fn(|slot| {
        // Counted from 1, and those before the first belong to the end of the day.
        let number = slot + 1;
        let number = if number < FIRST_SLOT {
            number + SLOTS
        } else {
            number
        } as f64;
        up_to(number + 0.5) - up_to(number - 0.5)
    });
    let mean = weights.iter().sum::<f64>() / SLOTS as f64;
    weights.map(|weight| weight / mean)
}

#[cfg(test)]
mod tests;
