//! How the jobs of a workload are executed.

use meshalloc::Grid;

use super::ExperimentError;
use crate::io::IoNetwork;
use crate::network::Network;
use crate::simulation::{
    Completion, Contention, EventKey, Execution, FixedService, Phases, PhasesOfMessages, Start,
};
use crate::workload::{TimeUnit, Workload};

/// The execution of the jobs of any workload.
#[derive(Clone, Debug)]
pub enum AnyExecution {
    /// Jobs last as long as they do, whatever else runs.
    Service(FixedService),
    /// Jobs send messages over a network.
    Messages(Box<Contention>),
    /// Jobs share links and disks fairly.
    Io(Box<Phases>),
    /// Jobs send messages to I/O nodes.
    IoMessages(Box<PhasesOfMessages>),
}

impl AnyExecution {
    /// That of this workload, without jobs; an error when the machine has no network or I/O nodes.
    pub fn new(workload: &Workload, machine: Grid) -> Result<Self, ExperimentError> {
        Ok(if let Some(messages) = workload.messages() {
            AnyExecution::Messages(Box::new(Contention::new(machine, *messages)?))
        } else if let Some(io) = workload.io() {
            match io.network {
                IoNetwork::FairShares => AnyExecution::Io(Box::new(Phases::new(machine, *io)?)),
                IoNetwork::Wormhole { flits } => {
                    let execution = PhasesOfMessages::new(machine, *io, flits)?;
                    AnyExecution::IoMessages(Box::new(execution))
                }
            }
        } else {
            AnyExecution::Service(FixedService::default())
        })
    }

    /// The network; `None` if no messages are sent over one.
    pub fn into_network(self) -> Option<Network> {
        match self {
            AnyExecution::Messages(inner) => Some(inner.into_network()),
            AnyExecution::Service(_) | AnyExecution::Io(_) | AnyExecution::IoMessages(_) => None,
        }
    }
}

impl Execution for AnyExecution {
    fn time_unit(&self) -> TimeUnit {
        match self {
            AnyExecution::Service(inner) => inner.time_unit(),
            AnyExecution::Messages(inner) => inner.time_unit(),
            AnyExecution::Io(inner) => inner.time_unit(),
            AnyExecution::IoMessages(inner) => inner.time_unit(),
        }
    }

    #[inline]
    fn start(&mut self, start: Start<'_>) {
        match self {
            AnyExecution::Service(inner) => inner.start(start),
            AnyExecution::Messages(inner) => inner.start(start),
            AnyExecution::Io(inner) => inner.start(start),
            AnyExecution::IoMessages(inner) => inner.start(start),
        }
    }

    #[inline]
    fn complete_before(&mut self, limit: EventKey) -> Option<Completion> {
        match self {
            AnyExecution::Service(inner) => inner.complete_before(limit),
            AnyExecution::Messages(inner) => inner.complete_before(limit),
            AnyExecution::Io(inner) => inner.complete_before(limit),
            AnyExecution::IoMessages(inner) => inner.complete_before(limit),
        }
    }
}
