//! When the jobs of a synthetic workload arrive.

use meshalloc::Ticks;
use rand_distr::Exp;
use serde::Serialize;

use super::empirical::Empirical;
use super::lublin::{DailyCycle, Lublin};
use super::stream::Stream;
use super::{TIME_MAX, TimeUnit};

/// How often jobs arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Rate {
    /// The offered load rho: `rho * N / (m * r)` jobs a second, with N processors, m the mean
    /// number of requested processors, and r the mean service time in seconds.
    Load(f64),
    /// The traffic ratio: jobs arriving in a mean service time.
    TrafficRatio(f64),
    /// Jobs in a unit of the workload's time: a second, or a cycle. It is the only rate of jobs
    /// that send messages, as their service time is not known beforehand.
    Arrivals(f64),
}

/// When the jobs of a synthetic workload arrive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Arrivals {
    /// A Poisson process, without end.
    Poisson(Rate),
    /// Another process, without end.
    Process {
        /// The process.
        process: Process,
        /// The rate to which times between arrivals are stretched; `None` if they stay as they are.
        rate: Option<Rate>,
    },
    /// All at time 0, in order, and none later: a closed workload.
    AtOnce {
        /// The number of jobs.
        jobs: u32,
    },
}

impl Arrivals {
    /// The rate that is asked for.
    pub const fn rate(&self) -> Option<Rate> {
        match self {
            Arrivals::Poisson(rate) => Some(*rate),
            Arrivals::Process { rate, .. } => *rate,
            Arrivals::AtOnce { .. } => None,
        }
    }

    /// The process, if it is not Poisson's.
    pub const fn process(&self) -> Option<&Process> {
        match self {
            Arrivals::Process { process, .. } => Some(process),
            Arrivals::Poisson(_) | Arrivals::AtOnce { .. } => None,
        }
    }

    /// The number of jobs, if they are all there at time 0.
    pub const fn batch(&self) -> Option<u32> {
        match self {
            Arrivals::AtOnce { jobs } => Some(*jobs),
            Arrivals::Poisson(_) | Arrivals::Process { .. } => None,
        }
    }

    /// A source of arrival times, each from the one before: by Poisson's process at this rate, or
    /// by another process, whose times between arrivals are multiplied by `stretch`. `None` if all
    /// jobs arrive at once.
    pub(super) fn source(
        &self,
        rate: Option<f64>,
        stretch: f64,
        unit: TimeUnit,
        stream: Stream,
    ) -> Option<Box<dyn FnMut(Ticks) -> Ticks>> {
        match self {
            Arrivals::AtOnce { .. } => None,
            Arrivals::Poisson(_) => {
                let gaps = Exp::new(rate?).expect("the rate is positive and finite");
                let mut gaps = stream.with(gaps);
                Some(Box::new(move |clock| clock + unit.ticks(gaps.draw())))
            }
            Arrivals::Process {
                process: Process::Empirical(gaps),
                ..
            } => {
                let mut gaps = stream.with(gaps.sampler()?);
                Some(Box::new(move |clock| {
                    let gap = gaps.draw() as f64 * stretch;
                    clock + gap.min(TIME_MAX as f64).round() as Ticks
                }))
            }
            Arrivals::Process {
                process: Process::Lublin(class),
                ..
            } => {
                let Stream(mut rng) = stream;
                let mut cycle = DailyCycle::new(*class, stretch);
                Some(Box::new(move |_| unit.ticks(cycle.next(&mut rng))))
            }
        }
    }
}

/// A process of arrivals with times of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Process {
    /// Times between arrivals that were measured.
    Empirical(Empirical),
    /// The daily cycle of a model.
    Lublin(Lublin),
}

impl Process {
    /// The mean number of arrivals in a second; `None` if it is not known or not finite.
    pub fn rate(&self) -> Option<f64> {
        let rate = match self {
            Process::Empirical(gaps) => 1.0 / gaps.mean_seconds()?,
            Process::Lublin(model) => model.rate(),
        };
        rate.is_finite().then_some(rate)
    }
}
