//! The distributions of side lengths, whole numbers: a continuous distribution is rounded half up
//! and drawn again outside the range, and the mean is exact for what that leaves.

use std::fmt;
use std::str::FromStr;

use rand_distr::{Distribution, Exp, Normal, Uniform};
use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::ContinuousCDF;

use super::stream::fraction;
use crate::error::{SettingError, out_of_range};
use crate::names;
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

/// A named choice, as `host-sim list` shows it.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct DistributionInfo {
    /// The name, as written on the command line.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Where it comes from; empty where it has no author.
    pub source: &'static str,
}

pub(super) const fn info(
    name: &'static str,
    meaning: &'static str,
    source: &'static str,
) -> DistributionInfo {
    DistributionInfo {
        name,
        meaning,
        source,
    }
}

/// Like [`named!`](crate::names::named), with a meaning and a source for each value, and with the
/// list `LIST`.
macro_rules! listed {
    ($type:ident, $what:literal: $(
        $value:ident = $name:literal, $meaning:literal, $source:expr;
    )+) => {
        $crate::names::named!($type, $what: $($value = $name),+);

        impl $type {
            /// Every value by name.
            pub const LIST: &'static [$crate::workload::DistributionInfo] =
                &[$($crate::workload::distributions::info($name, $meaning, $source)),+];
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
    pub const LIST: &'static [DistributionInfo] = &[
        info("uniform", "every side length 1..L equally likely", KIM_YOON),
        info(
            "normal",
            "mean (1+L)/2, standard deviation (1+L)/4",
            KIM_YOON,
        ),
        info("normal:var", "mean (1+L)/2, variance (1+L)/4", KIM_YOON),
        info(
            "normal:mean=16.5,var=6.6",
            "mean and variance as given; sd=S instead of var=V gives the standard deviation",
            CHANG_MOHAPATRA,
        ),
        info("exponential", "mean (1+L)/2", KIM_YOON),
        info(
            "uniform-decreasing",
            "probabilities .4, .2, .2, .2 on 1..L/8, ..L/4, ..L/2, ..L",
            AL_SHDEFAT,
        ),
    ];

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

/// How distributions of side lengths are written.
const FORMS: &[&str] = &[
    "uniform",
    "normal",
    "normal:var",
    "normal:mean=M,var=V",
    "normal:mean=M,sd=S",
    "exponential",
    "uniform-decreasing",
];

/// With less probability inside the range, drawing again would take too long.
const MASS_MIN: f64 = 1e-4;

impl FromStr for SideDistribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || names::unknown("distribution of side lengths", text, FORMS);
        let (name, options) = match text.split_once(':') {
            Some((name, options)) => (name, Some(options)),
            None => (text, None),
        };
        match (name, options) {
            ("uniform", None) => Ok(SideDistribution::Uniform),
            ("exponential", None) => Ok(SideDistribution::Exponential),
            ("uniform-decreasing", None) => Ok(SideDistribution::UniformDecreasing),
            ("normal", options) => parse_normal(options.unwrap_or("sd"), unknown),
            _ => Err(unknown()),
        }
    }
}

/// Reads `mean=M`, and one of `sd`, `var`, `sd=S`, `var=V`, in any order.
fn parse_normal(options: &str, unknown: impl Fn() -> String) -> Result<SideDistribution, String> {
    let (mut mean, mut spread) = (None, None);
    for option in options.split(',') {
        let (key, value) = match option.split_once('=') {
            Some((key, value)) => (key, Some(positive("normal", key, value)?)),
            None => (option, None),
        };
        let given_twice = match (key, value) {
            ("mean", Some(value)) => mean.replace(value).is_some(),
            ("sd", None) => spread.replace(Spread::QuarterDeviation).is_some(),
            ("var", None) => spread.replace(Spread::QuarterVariance).is_some(),
            ("sd", Some(value)) => spread.replace(Spread::Deviation(value)).is_some(),
            ("var", Some(value)) => spread.replace(Spread::Variance(value)).is_some(),
            _ => return Err(unknown()),
        };
        if given_twice {
            return Err(unknown());
        }
    }
    let spread = spread.unwrap_or(Spread::QuarterDeviation);
    Ok(SideDistribution::Normal { mean, spread })
}

/// A positive finite number out of `name:...key=value`.
pub(super) fn positive(name: &str, key: &str, value: &str) -> Result<f64, String> {
    let number = value.trim().parse::<f64>().ok();
    number
        .filter(|number| number.is_finite() && *number > 0.0)
        .ok_or_else(|| {
            let given = format!("{value:?}");
            out_of_range(&format!("{name}: {key}"), given, "a number over 0")
        })
}

impl fmt::Display for SideDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SideDistribution::Uniform => f.pad("uniform"),
            SideDistribution::Exponential => f.pad("exponential"),
            SideDistribution::UniformDecreasing => f.pad("uniform-decreasing"),
            SideDistribution::Normal { mean, spread } => {
                let mean = mean.map(|mean| format!("mean={}", Number(mean)));
                let spread = match spread {
                    Spread::QuarterDeviation => None,
                    Spread::QuarterVariance => Some("var".to_string()),
                    Spread::Deviation(deviation) => Some(format!("sd={}", Number(*deviation))),
                    Spread::Variance(variance) => Some(format!("var={}", Number(*variance))),
                };
                let options: Vec<_> = mean.into_iter().chain(spread).collect();
                let colon = if options.is_empty() { "" } else { ":" };
                f.pad(&format!("normal{colon}{}", options.join(",")))
            }
        }
    }
}

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

/// The probability of what is rounded to `first..=last`.
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
    /// Of `(probability, first, last)`: one to four ranges in order, probabilities adding up to 1.
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
        // What rounding leaves at the top goes to the last range.
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
