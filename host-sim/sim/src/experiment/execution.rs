//! How the jobs of a workload are executed.

use meshalloc::Grid;

use super::ExperimentError;
use crate::io::IoNetwork;
use crate::simulation::{Contention, Execution, FixedService, Phases, PhasesOfMessages};
use crate::workload::Workload;

/// The execution of the jobs of this workload, without jobs; an error when the machine has no
/// network or I/O nodes.
pub(super) fn execution(
    workload: &Workload,
    machine: Grid,
) -> Result<Box<dyn Execution>, ExperimentError> {
    if let Some(messages) = workload.messages() {
        return Ok(Box::new(Contention::new(machine, *messages)?));
    }
    let Some(io) = workload.io() else {
        return Ok(Box::new(FixedService::default()));
    };
    Ok(match io.network {
        IoNetwork::FairShares => Box::new(Phases::new(machine, *io)?),
        IoNetwork::Wormhole { flits } => Box::new(PhasesOfMessages::new(machine, *io, flits)?),
    })
}
