//! Synthetic workloads: jobs with requests and service times, or with messages. They come as a
//! Poisson process, as another process, or all at once. Requests and service times are independent,
//! except in a model of both.
//!
//! Each source of randomness (0 arrivals, 1 widths, 2 heights, 3 service, 4 numbers of dimensions,
//! 5 radices, 6 to 19: sides along dimension 2 and on, 20: a number for each job that sends
//! messages, 21: numbers of processors, 22: factors of estimates, 25: shapes of a mix; of a second
//! class of jobs 100 more) is a ChaCha8 stream of its own: the seed is the key, replication and
//! source number the stream. So a job's width does not depend on how many numbers its height took,
//! and every strategy gets the same jobs from the same seed (common random numbers).
//!
//! The numbers are the same on every machine, except for the last bit of a logarithm or an
//! exponential function. About one draw in a thousand uses such a function, and a difference would
//! have to survive rounding to ticks to be seen.

use std::iter;

use meshalloc::{Grid, Request};
use serde::Serialize;

use super::stream::Stream;
use super::{
    ARRIVALS_PER_TICK_MAX, Arrivals, CountDistribution, Counts, EstimateModel, Job, Jobs, Lublin,
    MixError, Process, Rate, Requests, ServiceDistribution, ShapeRule, SideDistribution, Submeshes,
    TIME_MAX, TimeUnit, WorkDistribution, is_default,
};
use crate::error::SettingError;
use crate::wording::{Number, counted};

/// A synthetic workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Synthetic {
    /// The machine, and what jobs ask for.
    pub requests: Requests,
    /// What the jobs do.
    pub work: WorkDistribution,
    /// When the jobs arrive.
    pub arrivals: Arrivals,
    /// The run-time estimate of each request.
    pub estimates: EstimateModel,
    /// Processors that the machine lacks ([`Description::absent`](meshalloc::Description::absent)):
    /// a load is a load of the other processors.
    #[serde(skip_serializing_if = "is_default")]
    pub absent: u32,
}

impl Synthetic {
    /// Poisson arrivals of jobs whose sides are 1 to the machine's.
    pub fn new(
        machine: impl Into<Grid>,
        distribution: SideDistribution,
        service: ServiceDistribution,
        rate: Rate,
    ) -> Self {
        Synthetic {
            requests: Requests::Submeshes(Submeshes::new(machine, distribution)),
            work: WorkDistribution::Service(service),
            arrivals: Arrivals::Poisson(rate),
            estimates: EstimateModel::Perfect,
            absent: 0,
        }
    }

    /// The model of Lublin and Feitelson: numbers of processors, which a rule gives a shape, run
    /// times that depend on them, and a daily cycle, at its own rate or stretched to another one.
    ///
    /// ```
    /// use meshalloc::Grid;
    /// use meshalloc_sim::workload::{Lublin, Rate, ShapeRule, Synthetic};
    /// let machine = Grid::mesh(&[16, 8])?;
    /// let rate = Some(Rate::Load(0.7));
    /// let workload = Synthetic::lublin(Lublin::Both, machine, ShapeRule::NearSquare, rate);
    /// let jobs = workload.jobs(1, 0).unwrap();
    /// assert!(jobs.take(1000).all(|job| job.request.processors <= 128));
    /// # Ok::<(), meshalloc::GridError>(())
    /// ```
    pub fn lublin(model: Lublin, machine: Grid, shape: ShapeRule, rate: Option<Rate>) -> Self {
        let nodes = machine.nodes();
        Synthetic {
            requests: Requests::Counts(Counts {
                machine,
                distribution: CountDistribution::Lublin(model),
                shape,
            }),
            work: WorkDistribution::Service(ServiceDistribution::Lublin { model, nodes }),
            arrivals: Arrivals::Process {
                process: Process::Lublin(model),
                rate,
            },
            estimates: EstimateModel::Perfect,
            absent: 0,
        }
    }

    /// The model that the workload follows, if it does.
    pub const fn model(&self) -> Option<Lublin> {
        match self.arrivals.process() {
            Some(Process::Lublin(model)) => Some(*model),
            _ => None,
        }
    }

    /// The workloads whose jobs arrive independently: several of a model with several classes.
    fn classes(&self) -> Vec<Synthetic> {
        let (Requests::Counts(counts), Some(model)) = (&self.requests, self.model()) else {
            return vec![self.clone()];
        };
        let of = |&class: &Lublin| Synthetic {
            estimates: self.estimates,
            absent: self.absent,
            arrivals: Arrivals::Process {
                process: Process::Lublin(class),
                rate: self.arrivals.rate(),
            },
            ..Synthetic::lublin(class, counts.machine, counts.shape, None)
        };
        model.classes().iter().map(of).collect()
    }

    /// Reads the files of the workload. `is_legal` says of each shape of a mix whether the machine
    /// ever gives it.
    ///
    /// # Errors
    ///
    /// When a file cannot be used: the option that names it, and why.
    pub fn read(
        &self,
        is_legal: impl Fn(&Request) -> bool,
    ) -> Result<Synthetic, (&'static str, MixError)> {
        let mut read = self.clone();
        if let Requests::Mix(mix) = &mut read.requests {
            *mix = mix.read(is_legal).map_err(|error| ("mix", error))?;
        }
        if let WorkDistribution::Service(ServiceDistribution::Empirical(times)) = &mut read.work {
            *times = times.read().map_err(|error| ("service", error.into()))?;
        }
        if let Arrivals::Process {
            process: Process::Empirical(gaps),
            ..
        } = &mut read.arrivals
        {
            *gaps = gaps
                .read_gaps()
                .map_err(|error| ("interarrival", error.into()))?;
        }
        Ok(read)
    }

    /// The machine whose load is meant.
    pub fn machine(&self) -> Grid {
        self.requests.machine()
    }

    /// The mean number of processors a job requests, exact for the whole numbers that are drawn; an
    /// error when the distribution of side lengths cannot be used on these sides.
    pub fn mean_processors(&self) -> Result<f64, SettingError> {
        self.requests.mean_processors()
    }

    /// The mean product of the processors that a job requests and its service time in seconds;
    /// `None` where the network or the disks decide how long it stays.
    fn mean_work(&self) -> Result<Option<f64>, SettingError> {
        if let WorkDistribution::Service(ServiceDistribution::Lublin { model, nodes }) = self.work {
            return Ok(Some(model.mean_work(nodes)));
        }
        let each = self.mean_processors()?;
        let service = self.work.service_mean_seconds();
        Ok(service.map(|service| each * service))
    }

    /// The mean number of arrivals in a unit of time; `None` when all jobs arrive at once.
    ///
    /// # Errors
    ///
    /// When the rate is not a positive number, needs a service time that is not known, exceeds
    /// [`ARRIVALS_PER_TICK_MAX`], or a distribution cannot be used.
    pub fn arrival_rate(&self) -> Result<Option<f64>, SettingError> {
        let (given, rate) = match (self.arrivals.rate(), self.arrivals.process()) {
            (Some(Rate::Load(load)), _) => {
                let nodes = f64::from(self.machine().nodes() - self.absent);
                let work = self.mean_work()?;
                (load, work.map(|work| load * nodes / work))
            }
            (Some(Rate::TrafficRatio(ratio)), _) => {
                let service = self.work.service_mean_seconds();
                (ratio, service.map(|service| ratio / service))
            }
            (Some(Rate::Arrivals(rate)), _) => (rate, Some(rate)),
            (None, Some(process)) => {
                let rate = process.rate().unwrap_or(0.0);
                (rate, Some(rate))
            }
            (None, None) => return Ok(None),
        };
        let unit = self.work.time_unit();
        let most = ARRIVALS_PER_TICK_MAX * unit.ticks_each() as f64;
        let expected = match rate {
            Some(rate) if given > 0.0 && rate <= most => return Ok(Some(rate)),
            Some(_) => format!(
                "a number over 0 that gives at most {most} jobs a {}",
                unit.name()
            ),
            None => "jobs with a service time".into(),
        };
        Err(self.rate_error(expected))
    }

    /// Whether the jobs are expected to arrive before virtual time ends; an error, too, where there
    /// is no [arrival rate](Synthetic::arrival_rate).
    pub fn check_span(&self, jobs: u32) -> Result<(), SettingError> {
        let Some(rate) = self.arrival_rate()? else {
            return Ok(());
        };
        let unit = self.work.time_unit();
        // Half of the available time, since single gaps are longer than the mean.
        let most = unit.of(TIME_MAX) / 2.0;
        if f64::from(jobs) <= most * rate {
            return Ok(());
        }
        Err(self.rate_error(format!(
            "one by which {} arrive within {most:.0} {}s, on average",
            counted(jobs, "job"),
            unit.name()
        )))
    }

    /// The error about a rate that cannot be used.
    fn rate_error(&self, expected: String) -> SettingError {
        let own = self.arrivals.process().and_then(Process::rate);
        let (what, options, given): (_, &[_], _) = match self.arrivals.rate() {
            Some(Rate::Load(load)) => ("the load", &["load"], load),
            Some(Rate::TrafficRatio(ratio)) => ("the traffic ratio", &["traffic-ratio"], ratio),
            Some(Rate::Arrivals(rate)) => ("the arrival rate", &["arrival-rate"], rate),
            None => match self.arrivals.batch() {
                Some(jobs) => ("the number of jobs", &["batch"], jobs.into()),
                None => (
                    "the number of jobs a second",
                    &["interarrival"],
                    own.unwrap_or(0.0),
                ),
            },
        };
        SettingError::out_of_range(what, options, Number(given), expected)
    }

    /// An error for estimates of a log, or of jobs whose run time is not known beforehand.
    pub fn check_estimates(&self) -> Result<(), SettingError> {
        let has_service = matches!(self.work, WorkDistribution::Service(_));
        self.estimates.check(has_service, false)
    }

    /// The jobs of one replication, in order of arrival. They have no end, unless all arrive at
    /// once. The clock stops at [`TIME_MAX`]; the simulation refuses to go on long before.
    ///
    /// # Errors
    ///
    /// When a part of the description cannot be used.
    pub fn jobs(&self, seed: u64, replication: u32) -> Result<Jobs<'static>, SettingError> {
        if let WorkDistribution::Service(service) = &self.work {
            // An error of the service time comes first, as the rate depends on it.
            let _ = service.sampler()?;
        }
        self.check_estimates()?;
        let rate = self.arrival_rate()?;
        let own = self.arrivals.process().and_then(Process::rate);
        // Each class is stretched by the same factor as all classes together.
        let stretch = own.zip(rate).map_or(1.0, |(own, rate)| own / rate);
        let mut classes = (0..).zip(self.classes()).map(|(number, class)| {
            let source = |source| Stream::new(seed, replication, CLASS_SOURCES * number + source);
            class.class_jobs(rate, stretch, source)
        });
        let first = classes.next().expect("a workload has a class")?;
        let jobs = match classes.next().transpose()? {
            None => first,
            Some(second) => Box::new(merged(first, second)),
        };
        let mut estimator = self.estimates.estimator(seed, replication)?;
        Ok(Box::new(jobs.map(move |job| estimator.estimated(job))))
    }

    /// The jobs of a single class; see [`Arrivals::source`] for the rate and the stretch.
    fn class_jobs(
        &self,
        rate: Option<f64>,
        stretch: f64,
        stream: impl Fn(u8) -> Stream,
    ) -> Result<Jobs<'static>, SettingError> {
        let mut works = self.work.source(&stream)?;
        let mut requests = self.requests.source(&stream)?;
        let unit = self.work.time_unit();
        let mut arrivals = self.arrivals.source(rate, stretch, unit, stream(0));
        let mut clock = 0;
        let jobs = iter::repeat_with(move || {
            // Without a source, all jobs arrive at the same time.
            if let Some(next) = &mut arrivals {
                clock = next(clock).min(TIME_MAX);
            }
            let request: Request = requests();
            let work = works(request.total());
            let request = match (unit, request.class.priority()) {
                (TimeUnit::Cycle, priority @ 1..) => {
                    let cycles = unit.ticks(TimeUnit::Second.of(priority));
                    request.with_priority(cycles)
                }
                _ => request,
            };
            Job {
                arrival: clock,
                request,
                work,
            }
        });
        Ok(match self.arrivals.batch() {
            Some(count) => Box::new(jobs.take(count as usize)),
            None => Box::new(jobs),
        })
    }
}

/// The difference between the source numbers of two classes of jobs.
const CLASS_SOURCES: u8 = 100;

/// The jobs of two classes in order of arrival, those of the first before others at the same time.
fn merged(first: Jobs<'static>, second: Jobs<'static>) -> impl Iterator<Item = Job> {
    let (mut first, mut second) = (first.peekable(), second.peekable());
    iter::from_fn(move || {
        if first.peek()?.arrival <= second.peek()?.arrival {
            first.next()
        } else {
            second.next()
        }
    })
}

#[cfg(test)]
mod tests;
