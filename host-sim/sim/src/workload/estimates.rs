//! Estimates of run times: how long a job will hold its processors, according to its request. Only
//! schedulers that backfill and strategies that look ahead use estimates. Factors have random
//! numbers of their own (source 22), so the jobs are the same whatever is estimated.

use std::borrow::Cow;

use meshalloc::Ticks;
use rand_distr::Uniform;

use super::stream::{Source, Stream};
use super::{Job, TIME_MAX, Work};
use crate::error::{SettingError, out_of_range};
use crate::names::grammar::{Form, Kind, Value, Values, Written, numbers, param, written};

/// The run-time estimate of each request.
///
/// ```
/// use meshalloc_sim::workload::EstimateModel;
/// let model: EstimateModel = "factor:1..5".parse().unwrap();
/// assert_eq!(model, EstimateModel::Factor { low: 1.0, high: 5.0 });
/// assert_eq!(model.to_string(), "factor:1..5");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EstimateModel {
    /// The run time itself.
    Perfect,
    /// The requested time of the log (field 9), at most [`TIME_MAX`]. No estimate if the log has no
    /// requested time.
    Log,
    /// The run time times a number drawn uniformly for each job.
    Factor {
        /// The least, over 0.
        low: f64,
        /// The largest, at most [`FACTOR_MAX`].
        high: f64,
    },
    /// No estimates.
    None,
}

/// The largest factor of an estimate.
pub const FACTOR_MAX: f64 = 1e6;

/// The number of the source of factors.
const FACTORS: u8 = 22;

impl EstimateModel {
    /// Every model by name.
    pub const FORMS: &'static [Form] = <Self as Written>::FORMS;

    /// The default: the run time, if jobs have one.
    pub const fn of(work: &super::WorkDistribution) -> Self {
        match work {
            super::WorkDistribution::Service(_) => EstimateModel::Perfect,
            super::WorkDistribution::Messages(_) | super::WorkDistribution::Io(_) => {
                EstimateModel::None
            }
        }
    }

    /// Checks that the model can be used for jobs with or without a service time, from a log or
    /// not.
    pub fn check(self, has_service: bool, is_log: bool) -> Result<(), SettingError> {
        let expected = match self {
            EstimateModel::None => return Ok(()),
            _ if !has_service => {
                "none: a job that sends messages or does I/O ends when these are delivered, which is not known beforehand"
            }
            EstimateModel::Log if !is_log => "perfect, factor:LOW..HIGH or none, without a log",
            EstimateModel::Perfect | EstimateModel::Log | EstimateModel::Factor { .. } => {
                return Ok(());
            }
        };
        Err(self.out_of_range(expected))
    }

    fn out_of_range(self, expected: &str) -> SettingError {
        SettingError::out_of_range(WHAT, &["estimates"], self, expected)
    }

    /// Returns the estimator that gives the jobs of one replication their estimates, in order.
    pub(super) fn estimator(self, seed: u64, replication: u32) -> Result<Estimator, SettingError> {
        let EstimateModel::Factor { low, high } = self else {
            return Ok(Estimator::Fixed(self));
        };
        let range = factors(low, high).ok_or_else(|| self.out_of_range(FACTORS_EXPECTED))?;
        let stream = Stream::new(seed, replication, FACTORS);
        Ok(Estimator::Factor(Box::new(stream.with(range))))
    }
}

/// The name of a model in errors.
const WHAT: &str = "the estimate of run times";

/// What the ends of the range of factors are.
const FACTORS_EXPECTED: &str = "factor:LOW..HIGH with 0 < LOW <= HIGH <= 1000000";

fn factors(low: f64, high: f64) -> Option<Uniform<f64>> {
    let range = Uniform::new_inclusive(low, high).ok();
    range.filter(|_| low > 0.0 && high <= FACTOR_MAX)
}

/// A factor, which the model checks.
const FACTOR: Kind = Kind::Within(0.0, FACTOR_MAX);

impl Written for EstimateModel {
    const WHAT: &'static str = "estimate of run times";

    const FORMS: &'static [Form] = &[
        Form::new(
            "perfect",
            &[],
            "the run time, at least a microsecond; the default where run times are drawn",
            "",
        ),
        Form::new(
            "log",
            &[],
            "the time that the log says was requested (field 9), at most 71 years, none where it is unknown; the default for logs",
            "Standard Workload Format",
        ),
        Form::new(
            "factor",
            &[param("low", FACTOR), param("high", FACTOR)],
            "the run time times a number between the two, equally likely, drawn for each job",
            "Mu'alem and Feitelson 2001, Utilization, Predictability, Workloads, and User Runtime Estimates in Scheduling the IBM SP2 with Backfilling",
        )
        .ends(),
        Form::new(
            "none",
            &[],
            "no estimate; the only one where messages or I/O decide when a job ends",
            "",
        ),
    ];

    fn of(name: &str, values: &Values) -> Result<Self, String> {
        let (low, high) = match name {
            "perfect" => return Ok(EstimateModel::Perfect),
            "log" => return Ok(EstimateModel::Log),
            "none" => return Ok(EstimateModel::None),
            _ => (values.number(0), values.number(1)),
        };
        let model = EstimateModel::Factor { low, high };
        let wrong = || out_of_range(WHAT, model, FACTORS_EXPECTED);
        factors(low, high).map(|_| model).ok_or_else(wrong)
    }

    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>) {
        match *self {
            EstimateModel::Perfect => ("perfect".into(), Vec::new()),
            EstimateModel::Log => ("log".into(), Vec::new()),
            EstimateModel::Factor { low, high } => ("factor".into(), numbers([low, high])),
            EstimateModel::None => ("none".into(), Vec::new()),
        }
    }
}

written!(EstimateModel);

/// Gives jobs their estimates.
#[derive(Clone, Debug)]
pub(super) enum Estimator {
    /// Without random numbers.
    Fixed(EstimateModel),
    /// With a random number for each job.
    Factor(Box<Source<Uniform<f64>>>),
}

impl Estimator {
    /// The job with its estimate. A job read from a log comes with the estimate of the log.
    #[inline]
    pub(super) fn estimated(&mut self, mut job: Job) -> Job {
        let estimate = match (self, job.work) {
            (Estimator::Fixed(EstimateModel::Log), _) => return job,
            (Estimator::Fixed(EstimateModel::Perfect), Work::Service(service)) => Some(service),
            (Estimator::Factor(factors), Work::Service(service)) => {
                Some(scaled(service, factors.draw()))
            }
            _ => None,
        };
        job.request.estimate = None;
        if let Some(ticks) = estimate {
            job.request = job.request.with_estimate(ticks);
        }
        job
    }
}

/// The nearest whole number of ticks, at most [`TIME_MAX`].
fn scaled(service: Ticks, factor: f64) -> Ticks {
    (service as f64 * factor).min(TIME_MAX as f64).round() as Ticks
}

#[cfg(test)]
mod tests {
    use meshalloc::Mesh;

    use super::*;
    use crate::workload::{
        Log, LogOptions, Rate, ServiceDistribution, SideDistribution, Synthetic, Workload,
    };

    fn jobs(estimates: EstimateModel, replication: u32) -> Vec<Job> {
        let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
        let mesh = Mesh::new(16, 16).unwrap();
        let workload = Synthetic {
            estimates,
            ..Synthetic::new(mesh, SideDistribution::Uniform, service, Rate::Load(0.5))
        };
        workload
            .jobs(1, replication)
            .unwrap()
            .take(20_000)
            .collect()
    }

    fn estimate(job: &Job) -> Option<Ticks> {
        job.request.estimate.map(u64::from)
    }

    #[test]
    fn the_jobs_are_the_same_whatever_is_estimated() {
        let without = jobs(EstimateModel::None, 0);
        assert!(without.iter().all(|job| job.request.estimate.is_none()));
        for text in ["perfect", "factor:1..5", "factor:0.5..0.5"] {
            let mut with = jobs(text.parse().unwrap(), 0);
            assert!(with.iter().all(|job| job.request.estimate.is_some()));
            for job in &mut with {
                job.request.estimate = None;
            }
            assert!(with == without, "{text}");
        }
    }

    #[test]
    fn factors_are_uniform_and_change_with_the_replication() {
        let perfect = jobs(EstimateModel::Perfect, 0);
        let is_exact = |job: &Job| estimate(job) == job.work.service();
        assert!(perfect.iter().all(is_exact));
        let model: EstimateModel = "factor:1..5".parse().unwrap();
        let factors = |replication| -> Vec<f64> {
            let jobs = jobs(model, replication);
            let factor =
                |job: &Job| estimate(job).unwrap() as f64 / job.work.service().unwrap() as f64;
            jobs.iter().map(factor).collect()
        };
        let drawn = factors(0);
        assert!(drawn.iter().all(|factor| (0.99..5.01).contains(factor)));
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        assert!((mean - 3.0).abs() < 0.03, "{mean}");
        let low = drawn.iter().filter(|&&factor| factor < 2.0).count();
        assert!((low as f64 / drawn.len() as f64 - 0.25).abs() < 0.01);
        assert_ne!(drawn, factors(1));
    }

    #[test]
    fn a_log_gives_the_requested_time_or_nothing() {
        let text = "1 0 -1 10 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n\
                    2 5 -1 10 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n\
                    3 6 -1 10 4 -1 -1 4 0 -1 1 1 1 1 1 1 -1 -1\n";
        let machine = Mesh::new(4, 4).unwrap().into();
        let log = Log::from_reader(
            text.as_bytes(),
            "a".as_ref(),
            LogOptions::default(),
            machine,
        );
        let mut log = log.unwrap();
        let estimates = |log: &Log| -> Vec<Option<Ticks>> {
            let workload = Workload::Log(log.clone());
            workload
                .jobs(1, 0)
                .unwrap()
                .map(|job| estimate(&job))
                .collect()
        };
        assert_eq!(estimates(&log), [Some(60_000_000), None, None]);
        log.estimates = EstimateModel::Perfect;
        assert_eq!(estimates(&log), [Some(10_000_000); 3]);
        log.estimates = EstimateModel::None;
        assert_eq!(estimates(&log), [None; 3]);
        log.estimates = EstimateModel::Factor {
            low: 2.0,
            high: 2.0,
        };
        assert_eq!(estimates(&log), [Some(20_000_000); 3]);
    }

    #[test]
    fn what_is_no_model_is_refused() {
        for text in [
            "",
            "perfekt",
            "factor",
            "factor:",
            "factor:2",
            "factor:0..5",
            "factor:-1..5",
            "factor:5..1",
            "factor:nan..5",
            "factor:1..inf",
            "factor:1..1000001",
            "log:9",
        ] {
            let error = text.parse::<EstimateModel>().unwrap_err().to_string();
            let says = ["expected ", "(known: ", "did you mean"].map(|part| error.contains(part));
            assert!(says.contains(&true), "{text}: {error}");
        }
        assert_eq!(scaled(TIME_MAX, 5.0), TIME_MAX);
    }
}
