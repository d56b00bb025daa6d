//! Synthetic workloads: jobs with requests and service times, or with messages, which come as a
//! Poisson process, as another one or all at once. Requests and service times are independent but
//! in a model of both.
//!
//! Each source of randomness (0 arrivals, 1 widths, 2 heights, 3 service, 4 numbers of dimensions,
//! 5 radices, 6 to 19: sides along dimension 2 and on, 20: a number for each job that sends
//! messages, 21: numbers of processors, 22: factors of estimates, 25: shapes of a mix; of a second
//! class of jobs 100 more) is a ChaCha8 stream of its own: the seed is the key, replication and
//! source number the stream. So a job's width does not depend on how many numbers its height took,
//! and every strategy gets the same jobs from the same seed (common random numbers).
//!
//! The numbers are the same on every machine but for the last bit of a logarithm or an exponential
//! function: about one draw in a thousand uses one, and a difference would have to survive rounding
//! to ticks to be seen.

use meshalloc::{Grid, Request, Ticks};
use rand_distr::{Distribution, StandardUniform};
use serde::Serialize;

use super::arrivals::ArrivalSource;
use super::estimates::Estimator;
use super::requests::RequestSource;
use super::service::ServiceSampler;
use super::stream::{Source, Stream};
use super::work::DRAWS;
use super::{
    ARRIVALS_PER_TICK_MAX, Arrivals, CountDistribution, Counts, EstimateModel, Job, Lublin,
    Messages, MixError, Process, Rate, Requests, ServiceDistribution, ShapeRule, SideDistribution,
    Submeshes, TIME_MAX, TimeUnit, Work, WorkDistribution, WorkloadError,
};
use crate::wording::{Number, counted};

/// A synthetic workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Synthetic {
    /// What jobs ask for, of which machine.
    pub requests: Requests,
    /// What they do.
    pub work: WorkDistribution,
    /// When they arrive.
    pub arrivals: Arrivals,
    /// Which estimate of its run time a request carries.
    pub estimates: EstimateModel,
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
            arrivals: Arrivals::Process {
                process: Process::Lublin(class),
                rate: self.arrivals.rate(),
            },
            ..Synthetic::lublin(class, counts.machine, counts.shape, None)
        };
        model.classes().iter().map(of).collect()
    }

    /// Reads the files that it is made of; `is_legal` says of each shape of a mix whether the
    /// machine ever gives it.
    ///
    /// # Errors
    ///
    /// When one cannot be used: the option that names it, and why.
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
    pub fn mean_processors(&self) -> Result<f64, WorkloadError> {
        self.requests.mean_processors()
    }

    /// The mean product of the processors that a job requests and its service time in seconds;
    /// `None` where the network or the disks decide how long it stays.
    fn mean_work(&self) -> Result<Option<f64>, WorkloadError> {
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
    pub fn arrival_rate(&self) -> Result<Option<f64>, WorkloadError> {
        let (given, rate) = match (self.arrivals.rate(), self.arrivals.process()) {
            (Some(Rate::Load(load)), _) => {
                let nodes = f64::from(self.machine().nodes());
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
    pub fn check_span(&self, jobs: u32) -> Result<(), WorkloadError> {
        let Some(rate) = self.arrival_rate()? else {
            return Ok(());
        };
        let unit = self.work.time_unit();
        // Half of the time there is: single gaps are longer than the mean.
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
    fn rate_error(&self, expected: String) -> WorkloadError {
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
        WorkloadError::OutOfRange {
            what: what.into(),
            options,
            given: Number(given).to_string(),
            expected,
        }
    }

    /// An error for estimates of a log, or of jobs whose run time is not known beforehand.
    pub fn check_estimates(&self) -> Result<(), WorkloadError> {
        let has_service = matches!(self.work, WorkDistribution::Service(_));
        self.estimates.check(has_service, false)
    }

    /// The jobs of one replication, in order of arrival; without end, unless all arrive at once. An
    /// error when a part of the description cannot be used.
    pub fn jobs(&self, seed: u64, replication: u32) -> Result<SyntheticJobs, WorkloadError> {
        if let WorkDistribution::Service(service) = &self.work {
            // The rate depends on it.
            service.sampler()?;
        }
        self.check_estimates()?;
        let rate = self.arrival_rate()?;
        let own = self.arrivals.process().and_then(Process::rate);
        // Each class is stretched as all of them are.
        let stretch = own.zip(rate).map_or(1.0, |(own, rate)| own / rate);
        let mut classes = (0..).zip(self.classes()).map(|(number, class)| {
            let source = |source| Stream::new(seed, replication, CLASS_SOURCES * number + source);
            class.class_jobs(rate, stretch, source)
        });
        let first = classes.next().expect("a workload has a class")?;
        let second = classes.next().transpose()?;
        let mut jobs = SyntheticJobs {
            first,
            second: second.map(|second| {
                Box::new(Merge {
                    second,
                    heads: None,
                })
            }),
            estimator: self.estimates.estimator(seed, replication)?,
        };
        if let Some(merge) = &mut jobs.second {
            merge.heads = jobs.first.next().zip(merge.second.next());
        }
        Ok(jobs)
    }

    /// The jobs of a single class; see [`ArrivalSource::new`] for the rate and the stretch.
    fn class_jobs(
        &self,
        rate: Option<f64>,
        stretch: f64,
        stream: impl Fn(u8) -> Stream,
    ) -> Result<ClassJobs, WorkloadError> {
        let works = match &self.work {
            WorkDistribution::Service(service) => {
                WorkSource::Service(Box::new(stream(3).with(service.sampler()?)))
            }
            WorkDistribution::Io(_) => {
                WorkSource::Io(Box::new(stream(DRAWS).with(StandardUniform)))
            }
            WorkDistribution::Messages(messages) => WorkSource::Messages {
                draws: Box::new(stream(DRAWS).with(StandardUniform)),
                messages: *messages,
                jobs: 0,
            },
        };
        let requests = self.requests.source(&stream)?;
        Ok(ClassJobs {
            clock: 0,
            unit: self.work.time_unit(),
            left: self.arrivals.batch(),
            arrivals: ArrivalSource::new(&self.arrivals, rate, stretch, stream(0)),
            requests,
            works,
        })
    }
}

/// The jobs of a synthetic workload.
///
/// The clock stops at [`TIME_MAX`]; the simulation refuses to go on long before.
#[derive(Clone, Debug)]
pub struct SyntheticJobs {
    first: ClassJobs,
    second: Option<Box<Merge>>,
    estimator: Estimator,
}

/// A second class of jobs, and the next job of each.
#[derive(Clone, Debug)]
struct Merge {
    second: ClassJobs,
    heads: Option<(Job, Job)>,
}

impl Merge {
    /// The earlier of both heads, the first if they arrive together.
    fn next(&mut self, first: &mut ClassJobs) -> Option<Job> {
        let (a, b) = self.heads?;
        let (earlier, heads) = match a.arrival <= b.arrival {
            true => (a, (first.next()?, b)),
            false => (b, (a, self.second.next()?)),
        };
        self.heads = Some(heads);
        Some(earlier)
    }
}

/// How far apart the numbers of the sources of two classes of jobs are.
const CLASS_SOURCES: u8 = 100;

/// The jobs of one class.
#[derive(Clone, Debug)]
struct ClassJobs {
    clock: Ticks,
    unit: TimeUnit,
    /// How many are still to come; `None`: there is no end.
    left: Option<u32>,
    /// `None`: time stands still.
    arrivals: Option<ArrivalSource>,
    requests: RequestSource,
    works: WorkSource,
}

#[derive(Clone, Debug)]
enum WorkSource {
    Service(Box<Source<ServiceSampler>>),
    Messages {
        draws: Box<Source<StandardUniform>>,
        messages: Messages,
        jobs: u32,
    },
    Io(Box<Source<StandardUniform>>),
}

impl WorkSource {
    /// The work of a job with this number of processors.
    #[inline]
    fn next(&mut self, processors: u32) -> Work {
        match self {
            WorkSource::Service(source) => {
                Work::Service(source.distribution.sample(processors, &mut source.rng))
            }
            WorkSource::Messages {
                draws,
                messages,
                jobs,
            } => {
                let program = messages.program(*jobs, draws.distribution.sample(&mut draws.rng));
                *jobs = jobs.wrapping_add(1);
                Work::Messages(program)
            }
            WorkSource::Io(draws) => Work::Io {
                draw: draws.distribution.sample(&mut draws.rng),
            },
        }
    }
}

impl Iterator for SyntheticJobs {
    type Item = Job;

    fn next(&mut self) -> Option<Job> {
        let job = match &mut self.second {
            None => self.first.next()?,
            Some(merge) => merge.next(&mut self.first)?,
        };
        Some(self.estimator.estimated(job))
    }
}

impl ClassJobs {
    #[inline]
    fn next(&mut self) -> Option<Job> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        if let Some(arrivals) = &mut self.arrivals {
            self.clock = arrivals.next(self.clock, self.unit);
        }
        let request = self.requests.next();
        Some(Job {
            arrival: self.clock,
            request,
            work: self.works.next(request.processors),
        })
    }
}

#[cfg(test)]
mod tests;
