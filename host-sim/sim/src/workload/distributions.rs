//! The distributions of side lengths, which are whole numbers. A draw from a continuous
//! distribution is rounded half up, and drawn again outside the range. The mean is exact for the
//! numbers that remain.

use std::borrow::Cow;

use rand_distr::{Distribution, Exp, Normal, Uniform};
use serde::Serialize;
use statrs::distribution::ContinuousCDF;

use super::stream::fraction;
use crate::error::SettingError;
use crate::names::grammar::{Form, Kind as Of, Value, Values, Written, param, written};
use crate::wording::Number;

/// The side lengths that may be drawn, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SideRange {
    min: u16,
    max: u16,
}

impl SideRange {
    /// Sides of `min` to `max` processors; an error when `min` is 0 or more than `max`.
    pub fn new(min: u16, max: u16) -> Result<Self, SettingError> {
        if min == 0 || min > max {
            return Err(SettingError::out_of_range(
                "the range of side lengths",
                &[],
                format!("{min} to {max}"),
                "at least 1, and the smallest not over the largest",
            ));
        }
        Ok(SideRange { min, max })
    }

    /// The shortest side.
    pub const fn min(self) -> u16 {
        self.min
    }

    /// The longest side.
    pub const fn max(self) -> u16 {
        self.max
    }

    /// The sum of both ends: `1 + L` in the papers, whose shortest side is 1.
    fn ends(self) -> f64 {
        f64::from(self.min) + f64::from(self.max)
    }
}

/// How wide a normal distribution of side lengths is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// A standard deviation of `(1 + L) / 4`: what the curves of Kim and Yoon fit.
    QuarterDeviation,
    /// A variance of `(1 + L) / 4`: what Kim and Yoon write.
    QuarterVariance,
    /// This standard deviation, in processors.
    Deviation(f64),
    /// This variance.
    Variance(f64),
}

/// How side lengths are distributed over `1..=L`; width and height are independent.
///
/// ```
/// use meshalloc_sim::workload::SideDistribution;
/// let sides: SideDistribution = "normal:mean=16.5,var=6.6".parse().unwrap();
/// assert_eq!(sides.to_string(), "normal:mean=16.5,var=6.6");
/// let error = "gaussian".parse::<SideDistribution>().unwrap_err().to_string();
/// assert!(error.contains("uniform-decreasing"), "{error}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SideDistribution {
    /// Every length is equally likely.
    Uniform,
    /// Normal, by default with the mean `(1 + L) / 2`.
    Normal {
        /// The mean before lengths out of range are drawn again.
        mean: Option<f64>,
        /// The width.
        spread: Spread,
    },
    /// Exponential with the mean `(1 + L) / 2`.
    Exponential,
    /// Small lengths more often: probability .4 for the first eighth of the lengths, .2 for the
    /// second, .2 for the second quarter, .2 for the second half.
    UniformDecreasing,
}

/// Like [`named!`](crate::names::named), with a meaning and a source for each value: `FORMS`.
macro_rules! listed {
    ($type:ident, $what:literal: $(
        $value:ident = $name:literal, $meaning:literal, $source:expr;
    )+) => {
        $crate::names::named!($type, $what: $($value = $name),+);

        impl $type {
            /// Every value by name.
            pub const FORMS: &'static [$crate::names::grammar::Form] =
                &[$($crate::names::grammar::Form::new($name, &[], $meaning, $source)),+];
        }
    };
}
pub(super) use listed;

pub(super) const KIM_YOON: &str =
    "Kim and Yoon, A Dynamic Processor Allocation Strategy for Mesh-Connected Multicomputers";
const CHANG_MOHAPATRA: &str = "Chang and Mohapatra, An Integrated Processor Management Scheme for the Mesh-Connected Multicomputer Systems";

const AL_SHDEFAT: &str = "Al Shdefat 2019, An Efficient Processor Allocation Algorithm for 2D Mesh Connected Multicomputers, thesis, Al al-Bayt University";

impl SideDistribution {
    /// Every distribution by name.
    pub const FORMS: &'static [Form] = <Self as Written>::FORMS;

    /// The distribution over a range of lengths, ready to be drawn from.
    ///
    /// # Errors
    ///
    /// When it cannot be used on the range: a normal distribution that hardly ever falls into it,
    /// or a decreasing one over fewer than eight lengths.
    pub fn over(self, range: SideRange) -> Result<SideSampler, SettingError> {
        let sampler = SideSampler {
            range,
            kind: self.kind(range)?,
        };
        let inside = sampler.mass_inside();
        if inside < MASS_MIN {
            let (min, max) = (range.min, range.max);
            return Err(SettingError::out_of_range(
                &format!("the probability that a side from {self} is {min} to {max}"),
                &["side-lengths"],
                format!("{inside:.2e}"),
                format!("at least {MASS_MIN}"),
            ));
        }
        Ok(sampler)
    }

    fn kind(self, range: SideRange) -> Result<Kind, SettingError> {
        Ok(match self {
            SideDistribution::Uniform => Kind::Steps(Steps::new([(1.0, range.min, range.max)])),
            SideDistribution::UniformDecreasing => {
                let count = range.max - range.min + 1;
                if count < 8 {
                    return Err(SettingError::out_of_range(
                        "the number of side lengths for uniform-decreasing",
                        &["side-lengths"],
                        count,
                        "at least 8",
                    ));
                }
                let end = |part: u16| range.min + count / part - 1;
                Kind::Steps(Steps::new([
                    (0.4, range.min, end(8)),
                    (0.2, end(8) + 1, end(4)),
                    (0.2, end(4) + 1, end(2)),
                    (0.2, end(2) + 1, range.max),
                ]))
            }
            SideDistribution::Normal { mean, spread } => {
                let mean = mean.unwrap_or(range.ends() / 2.0);
                let deviation = match spread {
                    Spread::QuarterDeviation => range.ends() / 4.0,
                    Spread::QuarterVariance => (range.ends() / 4.0).sqrt(),
                    Spread::Deviation(deviation) => deviation,
                    Spread::Variance(variance) => variance.sqrt(),
                };
                let finite = || {
                    SettingError::out_of_range(
                        "a normal distribution's mean and standard deviation",
                        &["side-lengths"],
                        format!("{} and {}", Number(mean), Number(deviation)),
                        "finite numbers, the deviation over 0",
                    )
                };
                let cdf =
                    statrs::distribution::Normal::new(mean, deviation).map_err(|_| finite())?;
                Kind::Normal(Normal::new(mean, deviation).map_err(|_| finite())?, cdf)
            }
            SideDistribution::Exponential => {
                let rate = 2.0 / range.ends();
                let positive = "the rate is positive and finite, as the range starts at 1";
                Kind::Exponential(
                    Exp::new(rate).expect(positive),
                    statrs::distribution::Exp::new(rate).expect(positive),
                )
            }
        })
    }
}

/// With less probability inside the range, drawing again would take too long.
const MASS_MIN: f64 = 1e-4;

impl Written for SideDistribution {
    const WHAT: &'static str = "distribution of side lengths";

    const FORMS: &'static [Form] = &[
        Form::new(
            "uniform",
            &[],
            "every side length 1..L equally likely",
            KIM_YOON,
        ),
        Form::new(
            "normal",
            &[
                param("mean", Of::Over(0.0)).keyed().or("(1+L)/2"),
                param("sd", Of::OverOrAlone(0.0)).keyed().or("(1+L)/4"),
                param("var", Of::OverOrAlone(0.0)).keyed().or("none"),
            ],
            "mean (1+L)/2 and standard deviation (1+L)/4 (Kim and Yoon), unless they are given; var in place of sd gives the variance, var alone one of (1+L)/4",
            CHANG_MOHAPATRA,
        ),
        Form::new("exponential", &[], "mean (1+L)/2", KIM_YOON),
        Form::new(
            "uniform-decreasing",
            &[],
            "probabilities .4, .2, .2, .2 on 1..L/8, ..L/4, ..L/2, ..L",
            AL_SHDEFAT,
        ),
    ];

    fn of(name: &str, values: &Values) -> Result<Self, String> {
        Ok(match name {
            "uniform" => SideDistribution::Uniform,
            "exponential" => SideDistribution::Exponential,
            "uniform-decreasing" => SideDistribution::UniformDecreasing,
            _ => {
                let has = |at| values.given(at).is_some() || values.is_alone(at);
                if has(1) && has(2) {
                    return Err("normal takes sd or var, not both (expected one of them)".into());
                }
                let spread = match (values.given(1), values.given(2)) {
                    (Some(deviation), _) => Spread::Deviation(deviation),
                    (_, Some(variance)) => Spread::Variance(variance),
                    _ if values.is_alone(2) => Spread::QuarterVariance,
                    _ => Spread::QuarterDeviation,
                };
                let mean = values.given(0);
                SideDistribution::Normal { mean, spread }
            }
        })
    }

    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>) {
        let name = match *self {
            SideDistribution::Uniform => "uniform",
            SideDistribution::Exponential => "exponential",
            SideDistribution::UniformDecreasing => "uniform-decreasing",
            SideDistribution::Normal { mean, spread } => {
                let (sd, var) = match spread {
                    Spread::QuarterDeviation => (None, None),
                    Spread::QuarterVariance => (None, Some(Value::Alone)),
                    Spread::Deviation(deviation) => (Some(Value::Number(deviation)), None),
                    Spread::Variance(variance) => (None, Some(Value::Number(variance))),
                };
                return ("normal".into(), vec![mean.map(Value::Number), sd, var]);
            }
        };
        (name.into(), Vec::new())
    }
}

written!(SideDistribution);

/// A distribution over a range of side lengths, ready to be drawn from.
#[derive(Clone, Copy, Debug)]
pub struct SideSampler {
    range: SideRange,
    kind: Kind,
}

/// The continuous kinds in both libraries' types: one draws, the other has the distribution.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Steps(Steps),
    Normal(Normal<f64>, statrs::distribution::Normal),
    Exponential(Exp<f64>, statrs::distribution::Exp),
}

impl Distribution<u16> for SideSampler {
    fn sample<R: rand_core::Rng + ?Sized>(&self, rng: &mut R) -> u16 {
        match &self.kind {
            Kind::Steps(steps) => steps.sample(rng),
            Kind::Normal(normal, _) => self.rounded(|| normal.sample(rng)),
            Kind::Exponential(exponential, _) => self.rounded(|| exponential.sample(rng)),
        }
    }
}

impl SideSampler {
    fn rounded(&self, mut draw: impl FnMut() -> f64) -> u16 {
        let (min, max) = (f64::from(self.range.min), f64::from(self.range.max));
        loop {
            let side = (draw() + 0.5).floor();
            if min <= side && side <= max {
                return side as u16;
            }
        }
    }

    /// The probability of a side length.
    pub fn probability(&self, side: u16) -> f64 {
        if side < self.range.min || side > self.range.max {
            return 0.0;
        }
        match &self.kind {
            Kind::Steps(steps) => steps.probability(side),
            Kind::Normal(_, cdf) => mass(cdf, side, side) / self.mass_inside(),
            Kind::Exponential(_, cdf) => mass(cdf, side, side) / self.mass_inside(),
        }
    }

    /// The probability that a draw need not be repeated.
    fn mass_inside(&self) -> f64 {
        match &self.kind {
            Kind::Steps(_) => 1.0,
            Kind::Normal(_, cdf) => mass(cdf, self.range.min, self.range.max),
            Kind::Exponential(_, cdf) => mass(cdf, self.range.min, self.range.max),
        }
    }

    /// The mean side length, of the whole numbers that are drawn and not of the continuous
    /// distribution behind them. Takes time proportional to the range.
    pub fn mean(&self) -> f64 {
        let sides = self.range.min..=self.range.max;
        sides
            .map(|side| f64::from(side) * self.probability(side))
            .sum()
    }
}

/// The probability of the values that are rounded to `first..=last`.
fn mass(cdf: &impl ContinuousCDF<f64, f64>, first: u16, last: u16) -> f64 {
    cdf.cdf(f64::from(last) + 0.5) - cdf.cdf(f64::from(first) - 0.5)
}

/// A distribution that is even within each of a few ranges.
#[derive(Clone, Copy, Debug)]
struct Steps {
    /// `(probability of this range or an earlier one, first, last, draws from it)`.
    steps: [Step; 4],
    used: usize,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    cumulative: f64,
    weight: f64,
    first: u16,
    last: u16,
    even: Uniform<u16>,
}

impl Steps {
    /// Makes the steps from `(probability, first, last)`: one to four ranges in order, whose
    /// probabilities add up to 1.
    fn new<const N: usize>(ranges: [(f64, u16, u16); N]) -> Self {
        let mut cumulative = 0.0;
        let steps = std::array::from_fn(|i| {
            let (weight, first, last) = ranges[i.min(N - 1)];
            cumulative += weight;
            Step {
                cumulative,
                weight,
                first,
                last,
                even: Uniform::new_inclusive(first, last).expect("the range is not empty"),
            }
        });
        Steps { steps, used: N }
    }

    fn sample<R: rand_core::Rng + ?Sized>(&self, rng: &mut R) -> u16 {
        let steps = &self.steps[..self.used];
        let (last, before) = steps.split_last().expect("there is at least one range");
        if before.is_empty() {
            return last.even.sample(rng);
        }
        // The rest that rounding leaves at the top goes to the last range.
        let at = fraction(rng);
        let step = before.iter().find(|step| at < step.cumulative);
        step.unwrap_or(last).even.sample(rng)
    }

    fn probability(&self, side: u16) -> f64 {
        let steps = &self.steps[..self.used];
        let step = steps.iter().find(|step| side <= step.last);
        step.map_or(0.0, |step| {
            step.weight / (f64::from(step.last - step.first) + 1.0)
        })
    }
}
