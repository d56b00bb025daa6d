//! One replication of one strategy.

use meshalloc::message::Capacity;
use meshalloc::{Command, Reply, StrategyKind, Ticks};

use super::execution::AnyExecution;
use super::{Experiment, ExperimentError, Progress};
use crate::backend::{Backend, BackendError, Backends};
use crate::network::Network;
use crate::simulation::{self, RunResult, SimulationError};

/// Runs one replication of one strategy.
///
/// # Errors
///
/// Those of [`run`](super::run).
pub fn run_once(
    experiment: &Experiment,
    strategy: StrategyKind,
    replication: u32,
    backends: &mut dyn Backends,
    progress: &dyn Progress,
) -> Result<RunResult, ExperimentError> {
    let (result, _) = run_through(experiment, strategy, replication, backends, progress)?;
    Ok(result)
}

/// The first replication of one strategy, and the network as it is at its end; `None` if no messages are sent.
///
/// # Errors
///
/// Those of [`run`](super::run).
pub fn network_after(
    experiment: &Experiment,
    strategy: StrategyKind,
    backends: &mut dyn Backends,
) -> Result<Option<Network>, ExperimentError> {
    let (_, execution) = run_through(experiment, strategy, 0, backends, &())?;
    Ok(execution.into_network())
}

fn run_through(
    experiment: &Experiment,
    strategy: StrategyKind,
    replication: u32,
    backends: &mut dyn Backends,
    progress: &dyn Progress,
) -> Result<(RunResult, AnyExecution), ExperimentError> {
    let conditions = experiment.conditions()?;
    let configuration = experiment.configuration(strategy, replication);
    let workload = &experiment.workload;
    let jobs = workload.jobs(experiment.seed, replication)?;
    let mut execution = AnyExecution::new(workload, experiment.machine)?;
    let mut result = None;
    backends.with(configuration, &mut |backend| {
        let backend = &mut Interruptible { backend, progress };
        let advance = &mut |jobs| progress.advance(jobs);
        let (jobs, machine) = (jobs.clone(), experiment.machine);
        let execution = &mut execution;
        let run = simulation::run_with(execution, conditions, backend, machine, jobs, advance);
        result = Some(run);
    })?;
    let result = result.expect("a backend that is ready calls its body");
    let result = result.map_err(|reason| match reason {
        SimulationError::Backend(BackendError::Interrupted) => ExperimentError::Interrupted,
        reason => ExperimentError::Run {
            strategy,
            replication: replication + 1,
            reason: reason.into(),
        },
    });
    Ok((result?, execution))
}

/// A backend that takes no more commands after an interruption.
struct Interruptible<'b> {
    backend: &'b mut dyn Backend,
    progress: &'b dyn Progress,
}

impl Backend for Interruptible<'_> {
    fn call(
        &mut self,
        command: &Command,
        now: Ticks,
        on_reply: &mut dyn FnMut(&Reply),
    ) -> Result<(), BackendError> {
        if self.progress.is_interrupted() {
            return Err(BackendError::Interrupted);
        }
        self.backend.call(command, now, on_reply)
    }

    fn capacity(&self) -> Capacity {
        self.backend.capacity()
    }

    fn latest_seconds(&self) -> Option<f64> {
        self.backend.latest_seconds()
    }
}
