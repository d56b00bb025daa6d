//! The distributions of service times.

use std::fmt;
use std::str::FromStr;

use meshalloc::Ticks;
use rand_distr::{Distribution, Exp, Uniform};

use super::distributions::{DistributionInfo, KIM_YOON, positive};
use super::{SERVICE_MEAN_SECONDS_MIN, TIME_MAX, TimeUnit, WorkloadError};
use crate::wording::Number;

/// How long jobs run.
///
/// ```
/// use meshalloc_sim::workload::ServiceDistribution;
/// let service: ServiceDistribution = "uniform:5,10".parse().unwrap();
/// assert_eq!(service.mean_seconds(), 7.5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceDistribution {
    /// Exponential.
    Exponential {
        /// The mean.
        mean_seconds: f64,
    },
    /// Every time between two is equally likely.
    Uniform {
        /// The shortest.
        lo_seconds: f64,
        /// The longest.
        hi_seconds: f64,
    },
}

impl ServiceDistribution {
    /// Every distribution by name.
    pub const LIST: &'static [DistributionInfo] = &[
        DistributionInfo {
            name: "exponential:10",
            meaning: "exponential, mean in seconds",
            source: KIM_YOON,
        },
        DistributionInfo {
            name: "uniform:5,10",
            meaning: "every time between the two, in seconds, equally likely",
            source: "Chuang and Wu, tree collapsing on k-ary n-cubes: residence times",
        },
    ];

    /// The mean, in seconds.
    pub fn mean_seconds(self) -> f64 {
        match self {
            ServiceDistribution::Exponential { mean_seconds } => mean_seconds,
            ServiceDistribution::Uniform {
                lo_seconds,
                hi_seconds,
            } => f64::midpoint(lo_seconds, hi_seconds),
        }
    }

    /// The distribution, ready to be drawn from.
    ///
    /// # Errors
    ///
    /// When a time is not over 0, the shortest is over the longest, or the mean is less than
    /// [`SERVICE_MEAN_SECONDS_MIN`].
    pub fn sampler(self) -> Result<ServiceSampler, WorkloadError> {
        let time = 0.0..TimeUnit::Second.of(TIME_MAX);
        let bad = || WorkloadError::OutOfRange {
            what: "the service time".into(),
            options: &["mean-service", "service"],
            given: self.to_string(),
            expected: format!(
                "seconds over 0, {SERVICE_MEAN_SECONDS_MIN} or more and less than {:.0} on average, the shortest not over the longest",
                time.end
            ),
        };
        if !(SERVICE_MEAN_SECONDS_MIN..time.end).contains(&self.mean_seconds()) {
            return Err(bad());
        }
        match self {
            ServiceDistribution::Exponential { mean_seconds } => Exp::new(1.0 / mean_seconds)
                .map(ServiceSampler::Exponential)
                .map_err(|_| bad()),
            ServiceDistribution::Uniform {
                lo_seconds,
                hi_seconds,
            } => {
                if !time.contains(&lo_seconds) {
                    return Err(bad());
                }
                Uniform::new_inclusive(
                    TimeUnit::Second.ticks(lo_seconds),
                    TimeUnit::Second.ticks(hi_seconds),
                )
                .map(ServiceSampler::Uniform)
                .map_err(|_| bad())
            }
        }
    }
}

impl FromStr for ServiceDistribution {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let distribution = match text.split_once(':') {
            Some(("exponential", mean)) => ServiceDistribution::Exponential {
                mean_seconds: positive("exponential", "mean", mean)?,
            },
            Some(("uniform", ends)) => {
                let (lo, hi) = ends.split_once(',').unwrap_or((ends, ""));
                ServiceDistribution::Uniform {
                    lo_seconds: positive("uniform", "shortest time", lo)?,
                    hi_seconds: positive("uniform", "longest time", hi)?,
                }
            }
            _ => {
                return Err(WorkloadError::UnknownName {
                    what: "service distribution",
                    given: text.into(),
                    expected: "exponential:MEAN or uniform:SHORTEST,LONGEST, in seconds".into(),
                });
            }
        };
        let usable = distribution.sampler().map(|_| distribution);
        usable.map_err(WorkloadError::without_options)
    }
}

impl fmt::Display for ServiceDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServiceDistribution::Exponential { mean_seconds } => {
                f.pad(&format!("exponential:{}", Number(*mean_seconds)))
            }
            ServiceDistribution::Uniform {
                lo_seconds,
                hi_seconds,
            } => f.pad(&format!(
                "uniform:{},{}",
                Number(*lo_seconds),
                Number(*hi_seconds)
            )),
        }
    }
}

/// A service distribution, ready to be drawn from.
#[derive(Clone, Copy, Debug)]
pub enum ServiceSampler {
    /// Seconds.
    Exponential(Exp<f64>),
    /// Ticks.
    Uniform(Uniform<u64>),
}

impl ServiceSampler {
    /// Draws a service time, at least one tick.
    pub fn sample<R: rand_core::Rng + ?Sized>(&self, rng: &mut R) -> Ticks {
        let drawn = match self {
            ServiceSampler::Exponential(exponential) => {
                TimeUnit::Second.ticks(exponential.sample(rng))
            }
            ServiceSampler::Uniform(uniform) => uniform.sample(rng),
        };
        drawn.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Moments;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    #[test]
    fn means_are_those_of_the_draws() {
        for (text, variance) in [("exponential:10", 100.0), ("uniform:5,10", 25.0 / 12.0)] {
            let service: ServiceDistribution = text.parse().unwrap();
            assert_eq!(service.to_string(), text);
            let sampler = service.sampler().unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let mut moments = Moments::default();
            for _ in 0..200_000 {
                moments.add(sampler.sample(&mut rng));
            }
            let mean = moments.mean().unwrap() / 1e6;
            assert!(
                (mean / service.mean_seconds() - 1.0).abs() < 0.01,
                "{text}: {mean}"
            );
            let drawn = moments.variance().unwrap() / 1e12;
            assert!((drawn / variance - 1.0).abs() < 0.02, "{text}: {drawn}");
        }
    }

    #[test]
    fn a_job_runs_for_a_tick_at_least() {
        let sampler = ServiceSampler::Exponential(Exp::new(1e9).unwrap());
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        assert!((0..100).all(|_| sampler.sample(&mut rng) == 1));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "10",
            "exponential",
            "exponential:",
            "exponential:0",
            "uniform:5",
        ] {
            let error = text.parse::<ServiceDistribution>().unwrap_err().to_string();
            assert!(error.contains("expected"), "{text}: {error}");
        }
        for text in ["uniform:10,5", "exponential:1e300", "exponential:1e-8"] {
            let error = text.parse::<ServiceDistribution>().unwrap_err().to_string();
            assert!(error.contains("seconds over 0"), "{text}: {error}");
        }
    }
}
