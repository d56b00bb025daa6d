//! Estimates from replications, and exact moments within one.
//!
//! # Sampling
//!
//! Replications with jobs of their own are [independent](Sampling::Independent): the standard error of their mean is their standard
//! deviation over the square root of their number, and more of them narrow its interval.
//!
//! Replications that are drawn from one sample, as from the weeks of a log, are [resampled](Sampling::Resampled): a bootstrap (B. Efron,
//! Bootstrap methods: another look at the jackknife, Annals of Statistics 7, 1979; of blocks: E. Carlstein, Annals of Statistics 14, 1986). What is
//! uncertain is what another sample of the same length would have given, and the standard deviation of the replications, each as long as
//! the sample, is itself that standard error. More replications determine it better and do not make it smaller. Of a sample of k blocks it
//! is too small by the factor of sqrt(1 - 1/k), 6 % with 8 blocks.
//!
//! # Intervals
//!
//! Those of resampled replications are Student's. Independent ones measure waiting delays, which are skewed: replications with a long
//! excursion of the queue are rare and far above the others. Student's interval then misses the mean too often, nearly always from below: most samples without such an
//! excursion have a mean that is too low and a spread that is too small. Intervals here are those of Hall's
//! transformation, which removes the skewness (P. Hall, On the removal of skewness by transformation, J. R.
//! Statist. Soc. B 54, 1992; R. Willink, A confidence interval and test for the mean of an asymmetric distribution,
//! Commun. Statist. Theory Meth. 34, 2005). Their arms differ in length; what is reported as half-width is the longer
//! one, so an interval is never narrower than Student's.
//!
//! # Replicating until an error is reached
//!
//! The sequential procedure of A. M. Law, Simulation Modeling and Analysis, section 9.4.1: after at least
//! [`REPLICATIONS_MIN`] replications, stop as soon as the half-width over the mean of the sample is at most
//! `target / (1 + target)`. The error relative to the true mean is then at most `target`, with the confidence of
//! the interval. With fewer replications an interval is narrow by chance often enough to stop too early.
//!
//! # Runs that are too short
//!
//! A run starts on an empty machine, so its mean is too low, and grows with its length. For reflected Brownian motion,
//! the limit of queues under heavy traffic, the mean over `0..t` is `1 / (2 t)` below its limit, relative to it, and the
//! squared coefficient of variation of that mean is `2 / t` (W. Whitt, Planning queueing simulations, Management Science
//! 35, 1989). So the bias is a quarter of the squared coefficient of variation between replications, whatever
//! the time scale: [`empty_start_bias`]. Over [`EMPTY_START_BIAS_MAX`] a mean is marked. That jobs at the beginning
//! are not measured lowers the bias and is not taken into account.
//!
//! A test whether delays rise within the runs, which is the direct way, is too weak here: adaptive scan on
//! 64 x 64 at load .50 (runs of 20,000 jobs, whose mean is a tenth too low) is detected by ten replications in 19 %
//! of all samples by comparing halves, in 28 % by the test of Schruben, Singh and Tierney (Operations Research 31, 1983),
//! in 99 % by this rule.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::statistics::{Data, OrderStatistics};

/// The width of a single interval is inexact: that of one of ten replications is itself a quarter off as a rule.
pub const BLOCKS_MIN: usize = 5;

/// How replications come about, and so what their spread says of their mean; see the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Each has jobs of its own.
    Independent,
    /// Each is drawn with replacement from one sample, which is as long as it.
    Resampled,
}

/// Why an error to reach is no end of [resampled](Sampling::Resampled) replications.
pub(crate) const NOT_NARROWED: &str =
    "those of a log are drawn from one sample, and more of them do not narrow an interval";

impl Sampling {
    /// What stands after `±`, for people.
    pub const fn interval_meaning(self) -> &'static str {
        match self {
            Sampling::Independent => "±: half-width of the 95 % confidence interval.",
            Sampling::Resampled => {
                "±: half-width of the 95 % confidence interval.\n\
                 Replications are resampled from one log: more of them do not narrow it."
            }
        }
    }
}

/// The values of replications, and how these come about.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The values, in the order of replications.
    pub values: Vec<f64>,
    /// How replications come about.
    pub sampling: Sampling,
}

impl Sample {
    /// The mean and its interval; `None` without values.
    pub fn estimate(&self) -> Option<Estimate> {
        Estimate::of(&self.values, self.sampling)
    }

    /// The [ratio](Estimate::paired_ratio) to `other`, over the replications that both have: where an error is asked for, one may have
    /// needed more than the other.
    pub fn ratio_to(&self, other: &Sample) -> Option<Estimate> {
        let both = self.values.len().min(other.values.len());
        Estimate::paired_ratio(&self.values[..both], &other.values[..both], self.sampling)
    }

    /// By how much each value is over that of `other` with the same jobs, over the replications that both have.
    pub fn minus(&self, other: &Sample) -> Sample {
        let pairs = self.values.iter().zip(&other.values);
        Sample {
            values: pairs.map(|(own, other)| own - other).collect(),
            sampling: self.sampling,
        }
    }
}

/// A mean over replications.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval; `None` for a single replication.
    pub ci95: Option<f64>,
    /// The number of replications.
    pub replications: usize,
}

impl Estimate {
    /// The mean of values, one a replication, and its interval; `None` without values.
    ///
    /// ```
    /// use meshalloc_host_sim::statistics::{Estimate, Sampling};
    /// let values = [9.0, 10.0, 11.0];
    /// let estimate = Estimate::of(&values, Sampling::Independent).unwrap();
    /// assert_eq!(estimate.mean, 10.0);
    /// assert!((estimate.ci95.unwrap() - 4.3027 / 3f64.sqrt()).abs() < 1e-4);
    /// let estimate = Estimate::of(&values, Sampling::Resampled).unwrap();
    /// assert!((estimate.ci95.unwrap() - 4.3027).abs() < 1e-4);
    /// ```
    pub fn of(values: &[f64], sampling: Sampling) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let deviations: Vec<f64> = values.iter().map(|value| value - mean).collect();
        Some(Estimate {
            mean,
            ci95: half_width(&deviations, sampling),
            replications: values.len(),
        })
    }

    /// The mean of all values, with the half-width that `block` of them have on average. `None` with fewer than
    /// [`BLOCKS_MIN`] blocks.
    pub fn in_blocks(values: &[f64], block: usize, sampling: Sampling) -> Option<Self> {
        let blocks = values.chunks_exact(block);
        let count = blocks.len();
        let width = |block| Estimate::of(block, sampling)?.ci95;
        let widths: Option<f64> = blocks.map(width).sum();
        let estimate = Estimate {
            ci95: Some(widths? / count as f64),
            replications: block,
            ..Estimate::of(values, sampling)?
        };
        (count >= BLOCKS_MIN).then_some(estimate)
    }

    /// The half-width relative to the mean; 0 when both are 0, `None` without an interval.
    pub fn relative_error(&self) -> Option<f64> {
        let half_width = self.ci95?;
        Some(if half_width == 0.0 {
            0.0
        } else {
            half_width / self.mean.abs()
        })
    }

    /// The ratio of the means of paired values, `a` over `b`, with the interval of the ratio (Law, Simulation
    /// Modeling and Analysis: the residuals `a - ratio * b` have mean 0, and are independent or resampled as the pairs are). `None` when there are
    /// no pairs, the lengths differ, or `b` is 0 on average.
    ///
    /// Pairing matters: with common random numbers both members of a pair had the same jobs, and what
    /// was hard for both cancels.
    pub fn paired_ratio(a: &[f64], b: &[f64], sampling: Sampling) -> Option<Self> {
        let below = Estimate::of(b, sampling)?.mean;
        if a.len() != b.len() || below == 0.0 {
            return None;
        }
        let ratio = Estimate::of(a, sampling)?.mean / below;
        let residual = |(a, b): (&f64, &f64)| a - ratio * b;
        let residuals: Vec<f64> = a.iter().zip(b).map(residual).collect();
        Some(Estimate {
            mean: ratio,
            ci95: half_width(&residuals, sampling).map(|width| width / below.abs()),
            replications: a.len(),
        })
    }
}

/// With fewer replications an interval may be narrow by chance, and replicating would stop too early.
pub const REPLICATIONS_MIN: u32 = 10;

/// What the half-width, relative to the mean of the sample, must not exceed for an error of `target` relative to the
/// true mean.
///
/// ```
/// use meshalloc_host_sim::statistics::sample_target;
/// assert!((sample_target(0.05) - 0.047619).abs() < 1e-6);
/// ```
pub fn sample_target(target: f64) -> f64 {
    target / (1.0 + target)
}

/// The part of its long-run value by which a mean may be too low, for the machine was empty at the start of
/// each run, without being marked.
pub const EMPTY_START_BIAS_MAX: f64 = 0.01;

/// By what part of it the mean of these replications, one value each, is below its long-run value because the machine
/// was empty at the start of each: at most this. `None` with fewer than two values, or where the mean is 0.
///
/// ```
/// use meshalloc_host_sim::statistics::empty_start_bias;
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

/// Half the width of the 95 % interval of a mean of values with these deviations from it.
fn half_width(deviations: &[f64], sampling: Sampling) -> Option<f64> {
    let n = deviations.len() as f64;
    let freedom = n - 1.0;
    if freedom < 1.0 {
        return None;
    }
    let variance = deviations.iter().map(|d| d.powi(2)).sum::<f64>() / freedom;
    if variance == 0.0 {
        return Some(0.0);
    }
    let quantile = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975);
    if sampling == Sampling::Resampled {
        return Some(quantile * variance.sqrt());
    }
    let arm = if deviations.len() > 2 {
        let cubes: f64 = deviations.iter().map(|d| d.powi(3)).sum();
        let skewness = cubes * n / (freedom * (freedom - 1.0)) / variance.powf(1.5);
        longer_arm(quantile, skewness / n.sqrt())
    } else {
        quantile
    };
    Some(arm * (variance / n).sqrt())
}

/// The longer arm of Hall's interval in standard errors; `skewness` is that of the mean.
fn longer_arm(quantile: f64, skewness: f64) -> f64 {
    let a = skewness.abs() / 6.0;
    // The limit for small skewness, which the difference below would lose.
    let arm = if a < 1e-6 {
        quantile + a
    } else {
        (1.0 - (1.0 - 6.0 * a * (quantile + a)).cbrt()) / (2.0 * a)
    };
    arm.max(quantile)
}

/// Mean and variance of whole numbers, from exact sums.
///
/// Values below 2^51 are added up to 2^24 times without overflow, and in any order with the same result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    count: u64,
    /// The first value, which the others are counted from: this keeps the sums small, and makes the
    /// variance of equal values exactly 0.
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

/// Whole numbers below 2^53, of which quantiles are asked for: all are kept, so these are exact.
#[derive(Clone, Debug, Default)]
pub struct Delays(Vec<f64>);

impl Delays {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.0.push(value as f64);
    }

    /// The quantile of a part `tau` of all, 0 to 1, interpolated between two values so that its median is right whatever the
    /// distribution (Hyndman and Fan, Sample quantiles in statistical packages, 1996, definition 8). `None` without
    /// values. Linear in their number.
    pub fn quantile(&mut self, tau: f64) -> Option<f64> {
        let is_there = !self.0.is_empty();
        is_there.then(|| Data::new(&mut self.0[..]).quantile(tau))
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

    /// How much the line rises from number 0 to the last one, in units of the mean value: 0 for values
    /// that stay level, 2 for ones that grow evenly from 0. `None` where it is undefined.
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

#[cfg(test)]
mod tests {
    #[test]
    fn hardly_any_skewness_is_students() {
        // From both sides of the limit.
        for skewness in [0.0, 5e-6, 7e-6, 1e-4] {
            let arm = super::longer_arm(2.2622, skewness);
            assert!((arm - 2.2622).abs() < 4e-4 && arm >= 2.2622, "{arm}");
        }
    }
}
