//! Estimates from replications, and exact moments within one.
//!
//! # Sampling
//!
//! Replications with jobs of their own are [independent](Sampling::Independent): the standard error
//! of their mean is their standard deviation over the square root of their number, and more of them
//! narrow its interval.
//!
//! Replications that are drawn from one sample, as from the weeks of a log, are
//! [resampled](Sampling::Resampled): a bootstrap (B. Efron, Bootstrap methods: another look at the
//! jackknife, Annals of Statistics 7, 1979; of blocks: E. Carlstein, Annals of Statistics 14,
//! 1986). The mean is uncertain because another sample of the same length would have given another
//! mean. Its standard error is the standard deviation of the replications, each as long as the
//! sample, so more replications do not make this error smaller. If the sample has k blocks, the
//! error is too small by the factor of sqrt(1 - 1/k), 6 % with 8 blocks.
//!
//! # Intervals
//!
//! Intervals of resampled replications are Student's, and so are those of independent ones that
//! spread [evenly](Spread::Even), as utilizations do. Waiting delays are [skewed](Spread::Skewed):
//! Student's interval misses the mean too often, nearly always from below. [`Estimate`] then
//! differs from it in two ways:
//!
//! - Means and ratios are estimated on a logarithmic scale: the standard error of the logarithm of
//!   a mean is that of the mean over the mean (the delta method). The ends are transformed back, so
//!   the upper arm is longer than the lower one, and no end is below 0. The interval of
//!   [differences](Spread::SkewedDifferences) is symmetric.
//! - Both arms, on their scale, are `1 + 1/n` times as long as Student's, `n` being the number of
//!   replications. A sample of skewed values without a large one has too small a deviation, and
//!   does not show it: a factor that depends on its skewness would lengthen the intervals that are
//!   long already.
//!
//! [`Metric::spread`](crate::metrics::Metric::spread) says how the values of a metric spread.
//!
//! No interval is more than [`WIDTH_MAX`] times as wide as Student's. The method was chosen by
//! measurement among Student's interval, Johnson's, Hall's and Cox's, the bootstrap-t and BCa:
//! `cargo run --release -p meshalloc-sim --example intervals` prints the table of coverages and
//! widths.
//!
//! # Replicating until an error is reached
//!
//! After at least [`REPLICATIONS_MIN`] replications, stop as soon as the interval holds no mean
//! from which that of the sample differs by more than `target`, relative to it
//! ([`Estimate::relative_error`]). For a symmetric interval this is the sequential procedure of A.
//! M. Law, Simulation Modeling and Analysis, section 9.4.1: half-width over mean at most `target /
//! (1 + target)`. With fewer replications an interval is narrow by chance too often.
//!
//! # Runs that are too short
//!
//! A run starts on an empty machine, so its mean is too low, and grows with its length. For
//! reflected Brownian motion, the limit of queues under heavy traffic, the mean over `0..t` is `1 /
//! (2 t)` below its limit, relative to it, and the squared coefficient of variation of that mean is
//! `2 / t` (W. Whitt, Planning queueing simulations, Management Science 35, 1989). So the bias is a
//! quarter of the squared coefficient of variation between replications, whatever the time scale:
//! [`empty_start_bias`]. Over [`EMPTY_START_BIAS_MAX`] a mean is marked. The jobs at the beginning
//! that are not measured lower the bias; the rule does not take that into account.
//!
//! Tests whether delays rise within the runs are too weak: adaptive scan on 64 x 64 at load .50
//! (runs of 20,000 jobs, whose mean is a tenth too low) is detected by ten replications in 19 % of
//! all samples by comparing halves, in 28 % by the test of Schruben, Singh and Tierney (Operations
//! Research 31, 1983), in 99 % by this rule.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::statistics::{Data, OrderStatistics};

/// The least number of blocks. A single interval is inexact: with ten replications it is typically
/// a quarter too wide or too narrow.
pub const BLOCKS_MIN: usize = 5;

/// How replications are made, which determines the meaning of their spread; see the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Each has jobs of its own.
    Independent,
    /// Each is drawn with replacement from one sample of the same length.
    Resampled,
}

/// How the values of replications spread, which determines the interval of their mean; see the
/// [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// About as far above the mean as below, as utilizations do.
    Even,
    /// Never below 0, and now and then far above the mean, as waiting delays do.
    Skewed,
    /// As differences of such values do.
    SkewedDifferences,
}

/// Why [resampled](Sampling::Resampled) replications cannot go on until an error is reached.
pub const NOT_NARROWED: &str =
    "those of a log are drawn from one sample, and more of them do not narrow an interval";

impl Sampling {
    /// The meaning of the numbers behind means, for people.
    pub const fn interval_meaning(self) -> &'static str {
        match self {
            Sampling::Independent => {
                "± or [low, high]: 95 % confidence interval, Student's t. Those of delays are\n\
                 computed on logarithms and widened by 1 + 1/runs."
            }
            Sampling::Resampled => {
                "±: 95 % confidence interval, Student's t.\n\
                 Replications are resampled from one log: more of them do not narrow it."
            }
        }
    }
}

/// The values of replications, and how the replications are made.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The values, in the order of replications.
    pub values: Vec<f64>,
    /// How the replications are made.
    pub sampling: Sampling,
    /// How they spread.
    pub spread: Spread,
}

impl Sample {
    /// The mean and its interval; `None` without values.
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate_of_first(self.values.len())
    }

    /// The same over the first `replications`; `None` where there are fewer.
    pub fn estimate_of_first(&self, replications: usize) -> Option<Estimate> {
        let values = self.values.get(..replications)?;
        Estimate::of(values, self.sampling, self.spread)
    }

    /// Half the mean width of intervals of `block` values; `None` below [`BLOCKS_MIN`] blocks.
    pub fn half_width_in_blocks(&self, block: usize) -> Option<f64> {
        let blocks = self.values.chunks_exact(block);
        let count = blocks.len();
        let width = |block: &[f64]| {
            let sample = Sample {
                values: block.to_vec(),
                ..*self
            };
            Some(sample.estimate()?.ci95?.half_width())
        };
        let widths: Option<f64> = blocks.map(width).sum();
        let mean = widths? / count as f64;
        (count >= BLOCKS_MIN).then_some(mean)
    }

    /// The [ratio](Estimate::paired_ratio) to `other`, over the replications that both have: if an
    /// error was to be reached, one may have needed more replications than the other.
    pub fn ratio_to(&self, other: &Sample) -> Option<Estimate> {
        let both = self.values.len().min(other.values.len());
        let (own, other) = (&self.values[..both], &other.values[..both]);
        Estimate::paired_ratio(own, other, self.sampling, self.spread)
    }

    /// By how much each value is over that of `other`, over the replications that both have.
    pub fn minus(&self, other: &Sample) -> Sample {
        let pairs = self.values.iter().zip(&other.values);
        Sample {
            values: pairs.map(|(own, other)| own - other).collect(),
            sampling: self.sampling,
            spread: match self.spread {
                Spread::Even => Spread::Even,
                Spread::Skewed | Spread::SkewedDifferences => Spread::SkewedDifferences,
            },
        }
    }
}

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// With two arms of this length.
    pub fn around(mean: f64, arm: f64) -> Self {
        Interval {
            low: mean - arm,
            high: mean + arm,
        }
    }

    /// Half its width.
    pub fn half_width(self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// A mean over replications.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The 95 % confidence interval, not centred on the mean; `None` for a single replication.
    pub ci95: Option<Interval>,
    /// The standard deviation of the replications; `None` for a single one.
    pub deviation: Option<f64>,
    /// The number of replications.
    pub replications: usize,
}

/// No interval is wider than this many times Student's.
pub const WIDTH_MAX: f64 = 2.0;

impl Estimate {
    /// The mean of values, one a replication, and its interval; `None` without values.
    ///
    /// ```
    /// use meshalloc_sim::statistics::{Estimate, Sampling, Spread};
    /// let values = [9.0, 10.0, 11.0];
    /// let estimate = Estimate::of(&values, Sampling::Independent, Spread::Skewed).unwrap();
    /// assert_eq!((estimate.mean, estimate.deviation), (10.0, Some(1.0)));
    /// // Student's quantile for 2 degrees of freedom, lengthened by 1 + 1/3.
    /// let arm = 4.0 / 3.0 * 4.3027 * 0.1 / 3f64.sqrt();
    /// let interval = estimate.ci95.unwrap();
    /// assert!((interval.low - 10.0 * f64::exp(-arm)).abs() < 1e-3);
    /// assert!((interval.high - 10.0 * f64::exp(arm)).abs() < 1e-3);
    /// let estimate = Estimate::of(&values, Sampling::Independent, Spread::Even).unwrap();
    /// assert!((estimate.ci95.unwrap().half_width() - 4.3027 / 3f64.sqrt()).abs() < 1e-4);
    /// let estimate = Estimate::of(&values, Sampling::Resampled, Spread::Skewed).unwrap();
    /// assert!((estimate.ci95.unwrap().half_width() - 4.3027).abs() < 1e-4);
    /// ```
    pub fn of(values: &[f64], sampling: Sampling, spread: Spread) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let deviations: Vec<f64> = values.iter().map(|value| value - mean).collect();
        Some(Estimate::with_deviations(
            mean,
            &deviations,
            sampling,
            spread,
        ))
    }

    /// A number whose replications deviate from it by these.
    fn with_deviations(mean: f64, deviations: &[f64], sampling: Sampling, spread: Spread) -> Self {
        let count = deviations.len();
        let n = count as f64;
        let deviation = (count > 1).then(|| {
            let squares: f64 = deviations.iter().map(|d| d.powi(2)).sum();
            (squares / (n - 1.0)).sqrt()
        });
        let interval = |deviation: f64| {
            if deviation == 0.0 {
                return Some(Interval::around(mean, 0.0));
            }
            let quantile = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(0.975);
            Some(match sampling {
                Sampling::Independent => {
                    spread.interval(mean, quantile * deviation / n.sqrt(), 1.0 + 1.0 / n)
                }
                Sampling::Resampled => Interval::around(mean, quantile * deviation),
            })
        };
        Estimate {
            mean,
            ci95: deviation.and_then(interval),
            deviation,
            replications: count,
        }
    }

    /// The length of the longer arm; `None` without an interval.
    pub fn absolute_error(&self) -> Option<f64> {
        let Interval { low, high } = self.ci95?;
        Some((self.mean - low).max(high - self.mean))
    }

    /// The largest error of the mean, relative to a true mean that the interval holds; 0 when it
    /// has no width, `None` without an interval.
    ///
    /// ```
    /// use meshalloc_sim::statistics::{Estimate, Sampling, Spread};
    /// let values = [9.0, 10.0, 11.0];
    /// let estimate = Estimate::of(&values, Sampling::Independent, Spread::Even).unwrap();
    /// let half_width = estimate.ci95.unwrap().half_width();
    /// // Law's target / (1 + target).
    /// let error = estimate.relative_error().unwrap();
    /// assert!((half_width / 10.0 - error / (1.0 + error)).abs() < 1e-12);
    /// ```
    pub fn relative_error(&self) -> Option<f64> {
        let Interval { low, high } = self.ci95?;
        Some(if low == high {
            0.0
        } else if low > 0.0 {
            ((self.mean - low) / low).max((high - self.mean) / high)
        } else {
            f64::INFINITY
        })
    }

    /// The estimate of `scale` times the number, plus `offset`.
    pub fn affine(&self, scale: f64, offset: f64) -> Self {
        let of = |value: f64| value * scale + offset;
        Estimate {
            mean: of(self.mean),
            ci95: self.ci95.map(|Interval { low, high }| Interval {
                low: of(low).min(of(high)),
                high: of(low).max(of(high)),
            }),
            deviation: self.deviation.map(|deviation| deviation * scale.abs()),
            replications: self.replications,
        }
    }

    /// By how much this number is over an independent one. The arms add up as errors do (G. Y. Zou
    /// and A. Donner, Construction of confidence limits about effect measures, Statistics in
    /// Medicine 27, 2008).
    pub fn minus_independent(&self, other: &Estimate) -> Option<Interval> {
        let (own, others) = (self.ci95?, other.ci95?);
        let difference = self.mean - other.mean;
        Some(Interval {
            low: difference - (self.mean - own.low).hypot(others.high - other.mean),
            high: difference + (own.high - self.mean).hypot(other.mean - others.low),
        })
    }

    /// The ratio of the means of paired values, which spread like this, `a` over `b`, with the
    /// interval of the ratio (Law, Simulation Modeling and Analysis: the residuals `a - ratio * b`
    /// have mean 0, and are independent or resampled as the pairs are). `None` when there are no
    /// pairs, the lengths differ, or `b` is 0 on average. With common random numbers, difficulties
    /// that both of a pair share cancel out.
    pub fn paired_ratio(a: &[f64], b: &[f64], sampling: Sampling, spread: Spread) -> Option<Self> {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let below = mean(b);
        if a.len() != b.len() || a.is_empty() || below == 0.0 {
            return None;
        }
        let ratio = mean(a) / below;
        let residual = |(a, b): (&f64, &f64)| (a - ratio * b) / below;
        let residuals: Vec<f64> = a.iter().zip(b).map(residual).collect();
        let spread = match spread {
            Spread::Even => Spread::Even,
            Spread::Skewed | Spread::SkewedDifferences => Spread::Skewed,
        };
        Some(Estimate::with_deviations(
            ratio, &residuals, sampling, spread,
        ))
    }
}

impl Spread {
    /// The interval around a mean where Student's has the half-width `student`.
    fn interval(self, mean: f64, student: f64, lengthened: f64) -> Interval {
        let arm = student * lengthened.min(WIDTH_MAX);
        match self {
            Spread::Even => Interval::around(mean, student),
            Spread::Skewed if mean > 0.0 => {
                // The width is 2 sinh(arm), in means.
                let widest = (WIDTH_MAX * student / mean).asinh();
                let arm = (arm / mean).min(widest);
                Interval {
                    low: mean * (-arm).exp(),
                    high: mean * arm.exp(),
                }
            }
            Spread::Skewed | Spread::SkewedDifferences => Interval::around(mean, arm),
        }
    }
}

/// The least number of replications. With fewer, an interval may be narrow by chance, and
/// replicating would stop too early.
pub const REPLICATIONS_MIN: u32 = 10;

/// The part by which a mean may be too low without a mark, because each run starts on an empty
/// machine.
pub const EMPTY_START_BIAS_MAX: f64 = 0.01;

/// An upper bound of the part by which the mean of these replications, one value each, is below its
/// long-run value because the machine was empty at the start of each. `None` with fewer than two
/// values, or where the mean is 0.
///
/// ```
/// use meshalloc_sim::statistics::empty_start_bias;
/// // A standard deviation of a fifth of the mean.
/// let bias = empty_start_bias(&[8.0, 10.0, 12.0]).unwrap();
/// assert!((bias - 0.01).abs() < 1e-12);
/// ```
pub fn empty_start_bias(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 || mean == 0.0 {
        return None;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(squares / (n - 1.0) / mean.powi(2) / 4.0)
}

/// Mean and variance of whole numbers, from exact sums: values below 2^51 are added up to 2^24
/// times without overflow, and in any order with the same result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    count: u64,
    /// The first value, from which others are counted: sums stay small, equal values have variance
    /// 0.
    origin: u64,
    sum: i128,
    squares: i128,
}

impl Moments {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        if self.count == 0 {
            self.origin = value;
        }
        self.count += 1;
        let offset = i128::from(value) - i128::from(self.origin);
        self.sum += offset;
        self.squares += offset * offset;
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| {
            let count = i128::from(self.count);
            let total = self.sum + i128::from(self.origin) * count;
            total as f64 / count as f64
        })
    }

    /// The sample variance; `None` with fewer than two values.
    pub fn variance(&self) -> Option<f64> {
        let freedom = self.count.checked_sub(1).filter(|&freedom| freedom > 0)?;
        let (sum, squares) = (self.sum as f64, self.squares as f64);
        let deviations = squares - sum * (sum / self.count as f64);
        Some((deviations / freedom as f64).max(0.0))
    }
}

/// Whole numbers below 2^53 for quantiles. All numbers are kept, so quantiles are exact.
#[derive(Clone, Debug, Default)]
pub struct Delays(Vec<f64>);

impl Delays {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.0.push(value as f64);
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The quantile of a part `tau` of all, 0 to 1, interpolated between two values so that its
    /// median is right whatever the distribution (Hyndman and Fan, Sample quantiles in statistical
    /// packages, 1996, definition 8). `None` without values. Linear in their number.
    pub fn quantile(&mut self, tau: f64) -> Option<f64> {
        (!self.is_empty()).then(|| Data::new(&mut self.0[..]).quantile(tau))
    }
}

/// All values of several.
impl<'d> FromIterator<&'d Delays> for Delays {
    fn from_iter<I: IntoIterator<Item = &'d Delays>>(parts: I) -> Self {
        Delays(
            parts
                .into_iter()
                .flat_map(|part| &part.0)
                .copied()
                .collect(),
        )
    }
}

/// The straight line of least squares through values with a number each, from exact sums.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trend {
    count: i128,
    x: i128,
    xx: i128,
    y: i128,
    xy: i128,
    x_max: i128,
}

impl Trend {
    /// Adds the value `y` of number `x`. Exact for `x` below 2^24, `y` below 2^51 and 2^24 points.
    #[inline]
    pub fn add(&mut self, x: u32, y: u64) {
        let (x, y) = (i128::from(x), i128::from(y));
        self.count += 1;
        self.x += x;
        self.xx += x * x;
        self.y += y;
        self.xy += x * y;
        self.x_max = self.x_max.max(x);
    }

    /// How much the line rises from number 0 to the last one, in units of the mean value: 0 for
    /// values that stay level, 2 for ones that grow evenly from 0. `None` where it is undefined.
    pub fn relative_rise(&self) -> Option<f64> {
        let spread = self.count * self.xx - self.x * self.x;
        if spread == 0 || self.y == 0 {
            return None;
        }
        let slope = (self.count * self.xy - self.x * self.y) as f64 / spread as f64;
        let mean = self.y as f64 / self.count as f64;
        Some(slope * self.x_max as f64 / mean)
    }
}
