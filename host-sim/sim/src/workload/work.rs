//! The work of jobs: they run for a time, send messages over a network, or communicate and do I/O.

use meshalloc::Ticks;
use rand_distr::StandardUniform;
use serde::Serialize;

use super::stream::Stream;
use super::{Pattern, Patterns, ServiceDistribution, TimeUnit};
use crate::error::SettingError;
use crate::io::IoJobs;
use crate::network::Parameters;

/// The work of one job once it has its processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// To run for this time, in ticks.
    Service(Ticks),
    /// To send messages. The job leaves when all of them are delivered.
    Messages(Program),
    /// To communicate and do I/O; all jobs of a workload do so in the same way.
    Io {
        /// The job's random number, for its permutations: the same for every strategy.
        draw: u32,
    },
}

impl Work {
    /// The service time, in ticks, if there is one beforehand.
    pub const fn service(self) -> Option<Ticks> {
        match self {
            Work::Service(ticks) => Some(ticks),
            Work::Messages(_) | Work::Io { .. } => None,
        }
    }
}

/// The source of the random numbers of jobs that send messages, or use I/O nodes.
pub(super) const DRAWS: u8 = 20;

/// The messages of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Who sends to whom.
    pub pattern: Pattern,
    /// The job's random number, for root and destinations: the same for every strategy.
    pub draw: u32,
    /// How often each process goes through the steps of the pattern.
    pub iterations: u32,
}

/// The work of the jobs of a workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum WorkDistribution {
    /// They run for a time that is drawn, whatever other jobs run.
    Service(ServiceDistribution),
    /// They send messages, which meet those of other jobs.
    Messages(Messages),
    /// They communicate and do I/O, and share links and disks.
    Io(IoJobs),
}

impl WorkDistribution {
    /// The unit of the workload's times.
    pub const fn time_unit(&self) -> TimeUnit {
        match self {
            WorkDistribution::Service(_) | WorkDistribution::Io(_) => TimeUnit::Second,
            WorkDistribution::Messages(_) => TimeUnit::Cycle,
        }
    }

    /// A function that draws the work of a job with this number of processors. `stream` makes the
    /// stream of a source by its number.
    pub(super) fn source(
        &self,
        stream: impl Fn(u8) -> Stream,
    ) -> Result<Box<dyn FnMut(u32) -> Work>, SettingError> {
        let mut draws = stream(DRAWS).with(StandardUniform);
        Ok(match self {
            WorkDistribution::Service(service) => {
                let (sampler, Stream(mut rng)) = (service.sampler()?, stream(3));
                Box::new(move |processors| Work::Service(sampler(processors, &mut rng)))
            }
            WorkDistribution::Messages(messages) => {
                let (messages, mut jobs) = (*messages, 0_u32);
                Box::new(move |_| {
                    let program = messages.program(jobs, draws.draw());
                    jobs = jobs.wrapping_add(1);
                    Work::Messages(program)
                })
            }
            WorkDistribution::Io(_) => Box::new(move |_| Work::Io { draw: draws.draw() }),
        })
    }

    /// The mean service time, in seconds; `None` where the network or the disks decide it.
    pub fn service_mean_seconds(&self) -> Option<f64> {
        match self {
            WorkDistribution::Service(service) => Some(service.mean_seconds()),
            WorkDistribution::Messages(_) | WorkDistribution::Io(_) => None,
        }
    }
}

/// The messages of a workload's jobs, and what the network needs for one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Messages {
    /// The pattern of each job.
    pub patterns: Patterns,
    /// How many messages a process sends in one step, one after the other; at least 1.
    pub per_pair: u32,
    /// How often each process goes through the steps of its pattern; at least 1.
    pub iterations: u32,
    /// Whether a process sends a message only when its previous one is delivered. Otherwise it
    /// sends the next message as soon as the previous one has left its injection channel.
    pub blocking: bool,
    /// Flits of a message, and the routing delay.
    pub network: Parameters,
}

impl Messages {
    /// One message for each pair: 8 flits, a routing delay of 3 cycles, one iteration, not
    /// blocking.
    pub fn new(patterns: impl Into<Patterns>) -> Self {
        Messages {
            patterns: patterns.into(),
            per_pair: 1,
            iterations: 1,
            blocking: false,
            network: Parameters::default(),
        }
    }

    /// The messages of job number `job`, counted from 0 in order of arrival.
    pub const fn program(&self, job: u32, draw: u32) -> Program {
        Program {
            pattern: self.patterns.of(job),
            draw,
            iterations: self.iterations,
        }
    }
}
