//! The distributions of service times.

use std::borrow::Cow;

use meshalloc::Ticks;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp, LogNormal, Uniform, Weibull};
use statrs::function::gamma::gamma;

use super::distributions::KIM_YOON;
use super::empirical::Empirical;
use super::lublin::{Lublin, RunTimes};
use super::stream::fraction;
use super::{SERVICE_MEAN_SECONDS_MIN, TIME_MAX, TimeUnit};
use crate::error::{SettingError, out_of_range};
use crate::names::grammar::{Form, Kind, Value, Values, Written, numbers, param, written};
use crate::wording::Number;

/// How long jobs run.
///
/// ```
/// use meshalloc_sim::workload::ServiceDistribution;
/// let service: ServiceDistribution = "uniform:5,10".parse().unwrap();
/// assert_eq!(service.mean_seconds(), 7.5);
/// let service: ServiceDistribution = "weibull:1,20".parse().unwrap();
/// assert!((service.mean_seconds() - 20.0).abs() < 1e-9);
/// ```
#[derive(Clone, Debug, PartialEq)]
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
    /// One of two exponential distributions.
    HyperExponential {
        /// The probability of the first, over 0 and less than 1.
        first: f64,
        /// The mean of each.
        mean_seconds: [f64; 2],
    },
    /// The natural logarithm of the time in seconds is normal.
    LogNormal {
        /// Its mean.
        mu: f64,
        /// Its standard deviation.
        sigma: f64,
    },
    /// Weibull.
    Weibull {
        /// The exponent, over 0; with 1 it is exponential.
        shape: f64,
        /// The time that a job exceeds with the probability 1/e.
        scale_seconds: f64,
    },
    /// Times that were measured.
    Empirical(Empirical),
    /// The run times of a model, which depend on the number of processors.
    Lublin {
        /// The model.
        model: Lublin,
        /// The number of processors of the machine, on which the sizes of its jobs depend.
        nodes: u32,
    },
}

const FEITELSON: &str =
    "Feitelson 2015, Workload Modeling for Computer Systems Performance Evaluation";

impl ServiceDistribution {
    /// Every distribution by name.
    pub const FORMS: &'static [Form] = <Self as Written>::FORMS;

    /// The mean, in seconds; 0 for a file that is not read yet.
    pub fn mean_seconds(&self) -> f64 {
        match *self {
            ServiceDistribution::Exponential { mean_seconds } => mean_seconds,
            ServiceDistribution::Uniform {
                lo_seconds,
                hi_seconds,
            } => f64::midpoint(lo_seconds, hi_seconds),
            ServiceDistribution::HyperExponential {
                first,
                mean_seconds: [one, other],
            } => first * one + (1.0 - first) * other,
            ServiceDistribution::LogNormal { mu, sigma } => (mu + sigma * sigma / 2.0).exp(),
            ServiceDistribution::Weibull {
                shape,
                scale_seconds,
            } => scale_seconds * gamma(1.0 + 1.0 / shape),
            ServiceDistribution::Empirical(ref times) => times.mean_seconds().unwrap_or(0.0),
            ServiceDistribution::Lublin { model, nodes } => model.mean_run_seconds(nodes),
        }
    }

    /// The distribution, ready to be drawn from.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range, the mean is less than [`SERVICE_MEAN_SECONDS_MIN`], a
    /// file is not read yet, or a class of a model is not a single one.
    pub(super) fn sampler(&self) -> Result<ServiceSampler, SettingError> {
        if let ServiceDistribution::Lublin { model, nodes } = self {
            model.check(*nodes)?;
        }
        let keys = &["service-mean", "service"];
        let bad = |expected| SettingError::out_of_range(WHAT, keys, self, expected);
        self.usable().map_err(bad)
    }

    /// The same for a model that fits the machine. The error says what is expected.
    fn usable(&self) -> Result<ServiceSampler, String> {
        let end = TimeUnit::Second.of(TIME_MAX);
        let bad = str::to_owned;
        if let ServiceDistribution::HyperExponential { first, .. } = *self
            && !(first > 0.0 && first < 1.0)
        {
            return Err(bad(
                "a probability of the first mean over 0 and less than 1",
            ));
        }
        let mean = self.mean_seconds();
        if !(SERVICE_MEAN_SECONDS_MIN..end).contains(&mean) {
            let mean = if mean.is_finite() {
                Number(mean).to_string()
            } else {
                "infinite".to_owned()
            };
            return Err(format!(
                "a mean of {SERVICE_MEAN_SECONDS_MIN} or more and less than {end:.0} seconds, not \
                 {mean}"
            ));
        }
        let finite = || bad("finite numbers");
        let exponential = |mean: f64| Exp::new(1.0 / mean).map_err(|_| finite());
        Ok(match *self {
            ServiceDistribution::Exponential { mean_seconds } => {
                of_seconds(exponential(mean_seconds)?)
            }
            ServiceDistribution::Uniform {
                lo_seconds,
                hi_seconds,
            } => {
                let shortest = || bad("SHORTEST of 0 or more and not over LONGEST");
                if !(0.0..=hi_seconds).contains(&lo_seconds) {
                    return Err(shortest());
                }
                let ends = [lo_seconds, hi_seconds].map(|end| TimeUnit::Second.ticks(end));
                let uniform = Uniform::new_inclusive(ends[0], ends[1]);
                of_ticks(uniform.map_err(|_| shortest())?)
            }
            ServiceDistribution::HyperExponential {
                first,
                mean_seconds: [one, other],
            } => {
                let each = [exponential(one)?, exponential(other)?];
                Box::new(move |_, rng| {
                    let other = usize::from(fraction(rng) >= first);
                    whole(each[other].sample(rng))
                })
            }
            ServiceDistribution::LogNormal { mu, sigma } => {
                of_seconds(LogNormal::new(mu, sigma).map_err(|_| finite())?)
            }
            ServiceDistribution::Weibull {
                shape,
                scale_seconds,
            } => of_seconds(Weibull::new(scale_seconds, shape).map_err(|_| finite())?),
            ServiceDistribution::Empirical(ref times) => {
                of_ticks(times.sampler().ok_or_else(|| bad("a file that is read"))?)
            }
            ServiceDistribution::Lublin { model, .. } => {
                let runs = RunTimes::new(model);
                Box::new(move |processors, rng| whole(runs.sample(processors, rng)))
            }
        })
    }
}

/// A mean, or another time.
const TIME: Kind = Kind::Time(0.0, f64::MAX);

impl Written for ServiceDistribution {
    const WHAT: &'static str = "service distribution";

    const FORMS: &'static [Form] = &[
        Form::new(
            "exponential",
            &[param("mean", TIME)],
            "exponential",
            KIM_YOON,
        ),
        Form::new(
            "uniform",
            &[param("shortest", TIME), param("longest", TIME)],
            "every time between the two equally likely",
            "Chuang and Wu, tree collapsing on k-ary n-cubes: service times",
        ),
        Form::new(
            "hyper-exponential",
            &[
                param("p", Kind::Over(0.0)),
                param("mean1", TIME),
                param("mean2", TIME),
            ],
            "with the probability P exponential with the first mean, else with the second",
            FEITELSON,
        ),
        Form::new(
            "lognormal",
            &[param("mu", Kind::Any), param("sigma", Kind::Over(0.0))],
            "the natural logarithm of the seconds is normal with this mean and standard deviation",
            FEITELSON,
        ),
        Form::new(
            "weibull",
            &[param("shape", Kind::Over(0.0)), param("scale", TIME)],
            "a job exceeds t seconds with the probability exp(-(t / SCALE)^SHAPE); the shape comes first",
            FEITELSON,
        ),
        Form::new(
            "FILE",
            &[param("column", Kind::Text("COLUMN"))],
            "a column of a CSV file, in seconds, or submit, wait, run or estimate of a log (.swf, .swf.gz), drawn with replacement",
            FEITELSON,
        ),
    ];

    fn of(name: &str, values: &Values) -> Result<Self, String> {
        let distribution = match name {
            "exponential" => ServiceDistribution::Exponential {
                mean_seconds: values.number(0),
            },
            "uniform" => ServiceDistribution::Uniform {
                lo_seconds: values.number(0),
                hi_seconds: values.number(1),
            },
            "hyper-exponential" => ServiceDistribution::HyperExponential {
                first: values.number(0),
                mean_seconds: [values.number(1), values.number(2)],
            },
            "lognormal" => ServiceDistribution::LogNormal {
                mu: values.number(0),
                sigma: values.number(1),
            },
            _ => ServiceDistribution::Weibull {
                shape: values.number(0),
                scale_seconds: values.number(1),
            },
        };
        match distribution.usable() {
            Ok(_) => Ok(distribution),
            Err(expected) => Err(out_of_range(WHAT, distribution, expected)),
        }
    }

    fn other(text: &str) -> Option<Self> {
        Empirical::unread(text).map(ServiceDistribution::Empirical)
    }

    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>) {
        let (name, values) = match *self {
            ServiceDistribution::Exponential { mean_seconds } => {
                ("exponential", numbers([mean_seconds]))
            }
            ServiceDistribution::Uniform {
                lo_seconds,
                hi_seconds,
            } => ("uniform", numbers([lo_seconds, hi_seconds])),
            ServiceDistribution::HyperExponential {
                first,
                mean_seconds: [one, other],
            } => ("hyper-exponential", numbers([first, one, other])),
            ServiceDistribution::LogNormal { mu, sigma } => ("lognormal", numbers([mu, sigma])),
            ServiceDistribution::Weibull {
                shape,
                scale_seconds,
            } => ("weibull", numbers([shape, scale_seconds])),
            ServiceDistribution::Empirical(ref times) => {
                return (times.to_string().into(), Vec::new());
            }
            ServiceDistribution::Lublin { model, .. } => (model.name(), Vec::new()),
        };
        (name.into(), values)
    }
}

written!(ServiceDistribution);

/// The name of a distribution in errors.
const WHAT: &str = "the service time";

/// Draws the service time of a job with this number of processors, at least one tick.
pub(super) type ServiceSampler = Box<dyn Fn(u32, &mut ChaCha8Rng) -> Ticks>;

fn of_ticks(times: impl Distribution<Ticks> + 'static) -> ServiceSampler {
    Box::new(move |_, rng| times.sample(rng).max(1))
}

fn of_seconds(times: impl Distribution<f64> + 'static) -> ServiceSampler {
    Box::new(move |_, rng| whole(times.sample(rng)))
}

/// Seconds in ticks, at least one.
fn whole(seconds: f64) -> Ticks {
    TimeUnit::Second.ticks(seconds).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Moments;
    use rand_core::SeedableRng;
    use statrs::distribution::ContinuousCDF;

    fn drawn(sampler: &ServiceSampler, count: usize) -> Vec<Ticks> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        (0..count).map(|_| sampler(1, &mut rng)).collect()
    }

    #[test]
    fn means_and_variances_are_those_of_the_draws() {
        // Closed forms; of Weibull with shape 2 the mean is scale * sqrt(pi) / 2.
        let pi = std::f64::consts::PI;
        let lognormal: f64 = (0.8_f64 * 0.8).exp();
        for (text, mean, variance) in [
            ("exponential:10", 10.0, 100.0),
            ("uniform:5,10", 7.5, 25.0 / 12.0),
            ("uniform:0,20", 10.0, 400.0 / 12.0),
            (
                "hyper-exponential:0.9,5,55",
                10.0,
                2.0 * (0.9 * 25.0 + 0.1 * 3025.0) - 100.0,
            ),
            (
                "lognormal:2,0.8",
                (2.0_f64 + 0.32).exp(),
                (lognormal - 1.0) * 4.0_f64.exp() * lognormal,
            ),
            ("weibull:2,8", 4.0 * pi.sqrt(), 64.0 * (1.0 - pi / 4.0)),
            // Gamma of 3 and of 5: shape one half.
            ("weibull:0.5,3", 6.0, 9.0 * (24.0 - 4.0)),
        ] {
            let service: ServiceDistribution = text.parse().unwrap();
            assert_eq!(service.to_string(), text);
            assert!((service.mean_seconds() / mean - 1.0).abs() < 1e-9, "{text}");
            let mut moments = Moments::default();
            for ticks in drawn(&service.sampler().unwrap(), 400_000) {
                moments.add(ticks);
            }
            let found = moments.mean().unwrap() / 1e6;
            assert!((found / mean - 1.0).abs() < 0.01, "{text}: {found}");
            let found = moments.variance().unwrap() / 1e12;
            assert!(
                (found / variance - 1.0).abs() < 0.04,
                "{text}: {found} for {variance}"
            );
        }
    }

    /// Kolmogorov and Smirnov's distance between draws and distribution functions of another
    /// library.
    #[test]
    fn draws_follow_their_distribution_functions() {
        use statrs::distribution::{LogNormal, Weibull};
        let (lognormal, weibull) = (LogNormal::new(2.0, 1.5), Weibull::new(0.7, 8.0));
        let (lognormal, weibull) = (lognormal.unwrap(), weibull.unwrap());
        type Function<'f> = &'f dyn Fn(f64) -> f64;
        let exponential = |mean: f64, x: f64| 1.0 - (-x / mean).exp();
        let cases: [(&str, Function<'_>); 5] = [
            ("exponential:10", &|x| exponential(10.0, x)),
            ("uniform:5,10", &|x| ((x - 5.0) / 5.0).clamp(0.0, 1.0)),
            ("hyper-exponential:0.9,5,55", &|x| {
                0.9 * exponential(5.0, x) + 0.1 * exponential(55.0, x)
            }),
            ("lognormal:2,1.5", &|x| lognormal.cdf(x)),
            ("weibull:0.7,8", &|x| weibull.cdf(x)),
        ];
        for (text, function) in cases {
            let service: ServiceDistribution = text.parse().unwrap();
            let mut times = drawn(&service.sampler().unwrap(), 100_000);
            times.sort_unstable();
            let distance = times.iter().enumerate().map(|(place, &ticks)| {
                let expected = function(ticks as f64 / 1e6);
                let [below, above] = [place, place + 1].map(|place| place as f64 / 1e5);
                (expected - below).abs().max((expected - above).abs())
            });
            let distance = distance.fold(0.0, f64::max);
            // A larger one has a probability of 1 in 1000.
            assert!(distance < 1.95 / 1e5_f64.sqrt(), "{text}: {distance}");
        }
    }

    #[test]
    fn a_job_runs_for_a_tick_at_least() {
        let sampler = of_seconds(Exp::new(1e9).unwrap());
        assert!(drawn(&sampler, 100).iter().all(|&ticks| ticks == 1));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "10",
            "exponential",
            "exponential:",
            "exponential:0",
            "exponential:1,2",
            "uniform:5",
            "uniform:5,6,7",
            "hyper-exponential:.5,1",
            "lognormal:x,1",
            "lognormal:1,0",
            "weibull:1",
            "gauss:1,2",
        ] {
            let error = text.parse::<ServiceDistribution>().unwrap_err().to_string();
            let says = ["expected ", "(known: "].map(|part| error.contains(part));
            assert!(says.contains(&true), "{text}: {error}");
        }
        for (text, expected) in [
            (
                "exponential",
                "the service distribution exponential needs a parameter (expected exponential:MEAN)",
            ),
            (
                "uniform:5",
                "the service distribution uniform does not take \"5\" (expected \
                 uniform:SHORTEST,LONGEST)",
            ),
            ("FILE:x", "unknown service distribution \"FILE:x\" (known: "),
            ("uniform:10,5", "SHORTEST of 0 or more and not over LONGEST"),
            (
                "uniform:-1,5",
                "SHORTEST of uniform is \"-1\": expected a time, 0 or more",
            ),
            ("exponential:1e300", "a mean of 0.001 or more"),
            ("exponential:1e-8", "a mean of 0.001 or more"),
            (
                "hyper-exponential:1,2,3",
                "a probability of the first mean over 0",
            ),
            ("lognormal:1,100", "seconds, not infinite"),
            ("weibull:0.001,1", "seconds, not infinite"),
        ] {
            let error = text.parse::<ServiceDistribution>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let file: ServiceDistribution = "a.csv:run".parse().unwrap();
        assert!(file.sampler().is_err());
        let times = Empirical::of(vec![1_000_000, 3_000_000]);
        let times = ServiceDistribution::Empirical(times);
        assert_eq!(times.mean_seconds(), 2.0);
    }
}
