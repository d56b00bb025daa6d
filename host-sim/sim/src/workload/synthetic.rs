//! Synthetic workloads: jobs with independent requests and service times, or with messages, which come as a Poisson process or
//! all at once.
//!
//! Each source of randomness (0 arrivals, 1 widths, 2 heights, 3 service, 4 numbers of dimensions, 5 radices, 6
//! to 19: sides along dimension 2 and on, 20: a number for each job that
//! sends messages, 21: numbers of processors, 22: factors of estimates) is a ChaCha8 stream of its own: the seed is the key, replication and source number the stream. So a job's width does not depend on how
//! many numbers its height took, and every strategy gets the same jobs from the same seed (common random
//! numbers).
//!
//! The numbers are the same on every machine but for the last bit of a logarithm or an exponential
//! function, which a platform's mathematics may round differently: about one draw in a thousand uses one, and
//! a difference would have to survive rounding to ticks to be seen.

use meshalloc::{Grid, Ticks};
use rand_distr::{Distribution, Exp, StandardUniform};
use serde::Serialize;

use super::estimates::Estimator;
use super::requests::RequestSource;
use super::service::ServiceSampler;
use super::stream::{Source, Stream};
use super::{
    ARRIVALS_PER_TICK_MAX, EstimateModel, Job, Messages, Requests, ServiceDistribution, SideRange,
    SizeDistribution, Subcubes, Submeshes, TIME_MAX, TimeUnit, Work, WorkDistribution,
    WorkloadError,
};
use crate::wording::{Number, counted};

/// How often jobs arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Rate {
    /// The offered load rho: `rho * N / (m * r)` jobs a second, with N processors, m requested by a job
    /// and service time r on average.
    Load(f64),
    /// The traffic ratio: jobs arriving in a mean service time.
    Traffic(f64),
    /// Jobs in a unit of the workload's time: a second, or a cycle. It is the only rate of jobs that send messages, as their
    /// service time is not known beforehand.
    Arrivals(f64),
}

/// When the jobs of a synthetic workload arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Arrivals {
    /// A Poisson process, without end.
    Poisson(Rate),
    /// All at time 0, in order, and none later: a closed workload.
    AtOnce {
        /// How many.
        tasks: u32,
    },
}

/// A synthetic workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
        sizes: SizeDistribution,
        service: ServiceDistribution,
        rate: Rate,
    ) -> Self {
        Synthetic {
            requests: Requests::Submeshes(Submeshes::new(machine, sizes)),
            work: WorkDistribution::Service(service),
            arrivals: Arrivals::Poisson(rate),
            estimates: EstimateModel::Perfect,
        }
    }

    /// The closed workload of Chuang and Wu: a number of tasks, all present at time 0, each for a subcube.
    ///
    /// ```
    /// use meshalloc::Cube;
    /// use meshalloc_sim::workload::{ServiceDistribution, Subcubes, Synthetic, TaskDistribution};
    /// let requests = Subcubes {
    ///     cube: Cube::new(4, 3).unwrap(),
    ///     dims: TaskDistribution::Uniform,
    ///     radices: TaskDistribution::Normal,
    /// };
    /// let residence = ServiceDistribution::Uniform { lo_seconds: 5.0, hi_seconds: 10.0 };
    /// let workload = Synthetic::closed(requests, residence, 100);
    /// assert_eq!(workload.jobs(1, 0).unwrap().count(), 100);
    /// ```
    pub fn closed(requests: Subcubes, residence: ServiceDistribution, tasks: u32) -> Self {
        Synthetic {
            requests: Requests::Subcubes(requests),
            work: WorkDistribution::Service(residence),
            arrivals: Arrivals::AtOnce { tasks },
            estimates: EstimateModel::Perfect,
        }
    }

    /// The same workload with sides of `min` to `max` processors along each dimension; a side longer than the
    /// machine's is an error, for such jobs would only be refused.
    ///
    /// # Errors
    ///
    /// When the range is empty, starts at 0 or exceeds the machine, or the jobs do not ask for sides.
    pub fn with_sides(mut self, min: u16, max: u16) -> Result<Self, WorkloadError> {
        let range = SideRange::new(min, max)?;
        let machine = self.requests.machine();
        let given = match &self.requests {
            Requests::Submeshes(_) => "sides",
            Requests::Subcubes(_) => "radices",
            Requests::Counts(_) => "numbers of processors",
        };
        let Requests::Submeshes(submeshes) = &mut self.requests else {
            return Err(WorkloadError::OutOfRange {
                what: "what jobs ask for".into(),
                options: &[],
                given: given.into(),
                expected: "sides".into(),
            });
        };
        let shortest = machine.sides().iter().copied().min().unwrap_or(1);
        if max > shortest {
            return Err(WorkloadError::OutOfRange {
                what: "the longest side of a job".into(),
                options: &[],
                given: max.to_string(),
                expected: format!("at most {shortest}, on {machine}"),
            });
        }
        submeshes.sides.fill(range);
        Ok(self)
    }

    /// The machine whose load is meant.
    pub fn machine(&self) -> Grid {
        self.requests.machine()
    }

    /// The mean number of processors a job requests, exact for the whole numbers that are drawn.
    ///
    /// # Errors
    ///
    /// When the size distribution cannot be used on these sides.
    pub fn mean_processors(&self) -> Result<f64, WorkloadError> {
        self.requests.mean_processors()
    }

    /// The mean number of arrivals in a unit of time; `None` when all jobs arrive at once.
    ///
    /// # Errors
    ///
    /// When the rate is not a positive number, needs a service time that is not known, exceeds [`ARRIVALS_PER_TICK_MAX`], or a
    /// distribution cannot be used.
    pub fn arrival_rate(&self) -> Result<Option<f64>, WorkloadError> {
        let Arrivals::Poisson(rate) = self.arrivals else {
            return Ok(None);
        };
        let service = self.work.mean_service_seconds();
        let (given, rate) = match rate {
            Rate::Load(load) => {
                let nodes = f64::from(self.machine().nodes());
                let each = self.mean_processors()?;
                let rate = service.map(|service| load * nodes / (each * service));
                (load, rate)
            }
            Rate::Traffic(traffic) => (traffic, service.map(|service| traffic / service)),
            Rate::Arrivals(rate) => (rate, Some(rate)),
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

    /// Whether so many jobs are expected to arrive before virtual time ends.
    ///
    /// # Errors
    ///
    /// Those of [`Synthetic::arrival_rate`], and when the rate is too low.
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
        let (what, options, given): (_, &[_], _) = match self.arrivals {
            Arrivals::AtOnce { tasks } => ("the number of tasks", &["tasks"], tasks.into()),
            Arrivals::Poisson(Rate::Load(load)) => ("the load", &["load"], load),
            Arrivals::Poisson(Rate::Traffic(traffic)) => {
                ("the traffic ratio", &["traffic"], traffic)
            }
            Arrivals::Poisson(Rate::Arrivals(rate)) => {
                ("the arrival rate", &["arrival-rate"], rate)
            }
        };
        WorkloadError::OutOfRange {
            what: what.into(),
            options,
            given: Number(given).to_string(),
            expected,
        }
    }

    /// Whether there can be such estimates.
    ///
    /// # Errors
    ///
    /// When they are those of a log, or of jobs whose run time is not known beforehand.
    pub fn check_estimates(&self) -> Result<(), WorkloadError> {
        let has_service = matches!(self.work, WorkDistribution::Service(_));
        self.estimates.check(has_service, false)
    }

    /// The jobs of one replication, in order of arrival; without end, unless all arrive at once.
    ///
    /// # Errors
    ///
    /// When a part of the description cannot be used.
    pub fn jobs(&self, seed: u64, replication: u32) -> Result<SyntheticJobs, WorkloadError> {
        let stream = |source| Stream::new(seed, replication, source);
        let works = match self.work {
            WorkDistribution::Service(service) => {
                WorkSource::Service(Box::new(stream(3).with(service.sampler()?)))
            }
            WorkDistribution::Io(_) => {
                WorkSource::Io(Box::new(stream(DRAWS).with(StandardUniform)))
            }
            WorkDistribution::Messages(messages) => WorkSource::Messages {
                draws: Box::new(stream(DRAWS).with(StandardUniform)),
                messages,
                jobs: 0,
            },
        };
        self.check_estimates()?;
        let rate = self.arrival_rate()?;
        let interarrival =
            rate.map(|rate| Exp::new(rate).expect("the rate is positive and finite"));
        Ok(SyntheticJobs {
            clock: 0,
            unit: self.work.time_unit(),
            left: match self.arrivals {
                Arrivals::Poisson(_) => None,
                Arrivals::AtOnce { tasks } => Some(tasks),
            },
            arrivals: interarrival.map(|interarrival| stream(0).with(interarrival)),
            requests: self.requests.source(stream)?,
            works,
            estimator: self.estimates.estimator(seed, replication)?,
        })
    }
}

/// The jobs of a synthetic workload.
///
/// The clock stops at [`TIME_MAX`]; the simulation refuses to go on long before.
#[derive(Clone, Debug)]
pub struct SyntheticJobs {
    clock: Ticks,
    unit: TimeUnit,
    /// How many are still to come; `None`: there is no end.
    left: Option<u32>,
    /// `None`: time stands still.
    arrivals: Option<Source<Exp<f64>>>,
    requests: RequestSource,
    works: WorkSource,
    estimator: Estimator,
}

/// The number of the source of the random numbers of jobs that send messages, over a network or to I/O nodes.
pub(super) const DRAWS: u8 = 20;

#[derive(Clone, Debug)]
enum WorkSource {
    Service(Box<Source<ServiceSampler>>),
    Messages {
        draws: Box<Source<StandardUniform>>,
        messages: Messages,
        /// So many have been drawn.
        jobs: u32,
    },
    Io(Box<Source<StandardUniform>>),
}

impl WorkSource {
    #[inline]
    fn next(&mut self) -> Work {
        match self {
            WorkSource::Service(source) => {
                Work::Service(source.distribution.sample(&mut source.rng))
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
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        if let Some(arrivals) = &mut self.arrivals {
            let gap = arrivals.distribution.sample(&mut arrivals.rng);
            self.clock = (self.clock + self.unit.ticks(gap)).min(TIME_MAX);
        }
        let request = self.requests.next();
        Some(self.estimator.estimated(Job {
            arrival: self.clock,
            request,
            work: self.works.next(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use meshalloc::Mesh;

    use super::*;

    fn workload(w: u16, h: u16, rate: Rate) -> Synthetic {
        let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
        Synthetic::new(
            Mesh::new(w, h).unwrap(),
            SizeDistribution::Uniform,
            service,
            rate,
        )
    }

    fn take(workload: &Synthetic, seed: u64, replication: u32, count: usize) -> Vec<Job> {
        workload
            .jobs(seed, replication)
            .unwrap()
            .take(count)
            .collect()
    }

    #[test]
    fn rates_are_the_closed_forms() {
        // m = ((1 + L) / 2)^2.
        let load = workload(64, 64, Rate::Load(0.47));
        assert!((load.mean_processors().unwrap() - 32.5 * 32.5).abs() < 1e-9);
        let expected = 0.47 * 4096.0 / (32.5 * 32.5 * 10.0);
        assert!((load.arrival_rate().unwrap().unwrap() / expected - 1.0).abs() < 1e-12);
        let oblong = workload(16, 22, Rate::Load(1.0));
        assert!((oblong.mean_processors().unwrap() - 8.5 * 11.5).abs() < 1e-9);
        let traffic = workload(32, 32, Rate::Traffic(1.5));
        assert!((traffic.arrival_rate().unwrap().unwrap() - 0.15).abs() < 1e-12);
        let small = workload(64, 64, Rate::Load(1.0)).with_sides(1, 16).unwrap();
        assert!((small.mean_processors().unwrap() - 8.5 * 8.5).abs() < 1e-9);
    }

    #[test]
    fn jobs_come_at_the_rate_and_offer_the_load() {
        const JOBS: usize = 100_000;
        let jobs = take(&workload(64, 64, Rate::Load(0.47)), 1, 0, JOBS);
        assert!(jobs.is_sorted_by_key(|job| job.arrival));
        let span = TimeUnit::Second.of(jobs[JOBS - 1].arrival);
        let rate = 0.47 * 4096.0 / (32.5 * 32.5 * 10.0);
        assert!((JOBS as f64 / span / rate - 1.0).abs() < 0.01, "{span}");
        let work = jobs.iter().map(|job| {
            f64::from(job.request.processors) * TimeUnit::Second.of(job.work.service().unwrap())
        });
        let load = work.sum::<f64>() / (span * 4096.0);
        assert!((load - 0.47).abs() < 0.01, "{load}");
        // Poisson: gaps have a coefficient of variation of 1, and e^-1 of them exceed the mean.
        let gaps = jobs
            .windows(2)
            .map(|pair| TimeUnit::Second.of(pair[1].arrival - pair[0].arrival));
        let longer = gaps.filter(|gap| *gap > 1.0 / rate).count();
        assert!((longer as f64 / JOBS as f64 - (-1.0f64).exp()).abs() < 0.005);
    }

    #[test]
    fn each_source_has_its_own_stream() {
        let wide = take(&workload(64, 64, Rate::Load(0.5)), 7, 2, 100);
        let mut other = workload(64, 64, Rate::Load(0.5));
        let Requests::Submeshes(submeshes) = &mut other.requests else {
            panic!("it is a workload for a mesh");
        };
        submeshes.sides[1] = SideRange::new(1, 3).unwrap();
        other.arrivals = Arrivals::Poisson(Rate::Traffic(3.0));
        let other = take(&other, 7, 2, 100);
        let width = |job: &Job| job.request.sides().w;
        assert!(wide.iter().map(width).eq(other.iter().map(width)));
        assert!(
            wide.iter()
                .map(|job| job.work.service())
                .eq(other.iter().map(|job| job.work.service()))
        );
        assert_ne!(wide[99].arrival, other[99].arrival);
        // Widths and heights are not the same numbers twice.
        let square = wide.iter().filter(|job| job.request.sides().is_square());
        assert!(square.count() < 10);
    }

    #[test]
    fn each_dimension_has_a_side_of_its_own() {
        let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
        let torus = Grid::torus(&[64, 32, 4, 9]).unwrap();
        let torus = Synthetic::new(
            torus,
            SizeDistribution::Uniform,
            service,
            Rate::Traffic(1.0),
        );
        let mean = 32.5 * 16.5 * 2.5 * 5.0;
        assert!((torus.mean_processors().unwrap() / mean - 1.0).abs() < 1e-12);
        let jobs = take(&torus, 1, 0, 20_000);
        // The sides along x and y are those of a mesh.
        let plane = take(&workload(64, 32, Rate::Traffic(1.0)), 1, 0, 20_000);
        for (job, other) in jobs.iter().zip(&plane) {
            assert_eq!(
                job.request.shape.extents()[..2],
                *other.request.shape.extents()
            );
        }
        let processors = jobs.iter().map(|job| f64::from(job.request.processors));
        let drawn = processors.sum::<f64>() / jobs.len() as f64;
        assert!((drawn / mean - 1.0).abs() < 0.03, "{drawn}");
        for (dimension, side) in [(2, 4), (3, 9)] {
            let sides = jobs
                .iter()
                .map(|job| job.request.shape.extents()[dimension]);
            assert_eq!((sides.clone().min(), sides.max()), (Some(1), Some(side)));
        }
    }

    #[test]
    fn seed_and_replication_choose_the_jobs() {
        let workload = workload(16, 16, Rate::Load(0.5));
        assert_eq!(take(&workload, 1, 0, 50), take(&workload, 1, 0, 50));
        assert_ne!(take(&workload, 1, 0, 50), take(&workload, 1, 1, 50));
        assert_ne!(take(&workload, 1, 0, 50), take(&workload, 2, 0, 50));
    }

    #[test]
    fn a_seed_gives_these_jobs_for_good() {
        let jobs = take(&workload(64, 64, Rate::Load(0.47)), 1, 0, 3);
        let found: Vec<_> = jobs
            .iter()
            .map(|job| {
                (
                    job.arrival,
                    job.work.service().unwrap(),
                    job.request.sides().to_string(),
                )
            })
            .collect();
        let expected = GOLDEN.map(|(arrival, service, sides)| (arrival, service, sides.into()));
        assert_eq!(
            found, expected,
            "published results would no longer be reproducible"
        );
    }

    const GOLDEN: [(Ticks, Ticks, &str); 3] = [
        (2_452_011, 7_551_448, "57x37"),
        (3_311_778, 6_259_264, "55x57"),
        (9_976_976, 4_149_012, "59x59"),
    ];

    #[test]
    fn what_makes_no_sense_is_refused() {
        for rate in [Rate::Load(0.0), Rate::Load(f64::NAN), Rate::Traffic(-1.0)] {
            let error = workload(8, 8, rate).jobs(1, 0).unwrap_err().to_string();
            assert!(error.contains("expected a number over 0"), "{error}");
        }
        for rate in [Rate::Load(1e6), Rate::Traffic(f64::INFINITY)] {
            let error = workload(64, 64, rate).jobs(1, 0).unwrap_err().to_string();
            assert!(error.contains("at most 100000 jobs a second"), "{error}");
        }
        let error = workload(8, 4, Rate::Load(0.5)).with_sides(1, 5);
        assert!(error.unwrap_err().to_string().contains("at most 4"));
    }
}
