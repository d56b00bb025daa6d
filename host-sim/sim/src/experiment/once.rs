//! One replication of one strategy.

use meshalloc::{StrategyKind, Ticks};

use super::execution::AnyExecution;
use super::{Experiment, ExperimentError, Progress};
use crate::backend::{Around, BackendError, Backends};
use crate::network::Network;
use crate::simulation::{
    self, Interruption, JobRecord, Observer, PlaceEvent, RunResult, SimulationError,
};

/// Runs one replication of one strategy; errors are those of [`run`](super::run).
pub fn run_once(
    experiment: &Experiment,
    strategy: StrategyKind,
    replication: u32,
    backends: &mut dyn Backends,
    progress: &dyn Progress,
) -> Result<RunResult, ExperimentError> {
    let mut recorder = progress.recorder(strategy, replication);
    let ended = run_through(
        experiment,
        strategy,
        replication,
        backends,
        progress,
        &mut *recorder,
    );
    Ok(ended?.0)
}

/// The first replication of one strategy, and the network as it is at its end; `None` if no
/// messages are sent. Errors are those of [`run`](super::run).
pub fn network_after(
    experiment: &Experiment,
    strategy: StrategyKind,
    backends: &mut dyn Backends,
) -> Result<Option<Network>, ExperimentError> {
    let (_, execution) = run_through(experiment, strategy, 0, backends, &(), &mut ())?;
    Ok(execution.into_network())
}

/// The first replication of one strategy, as `observer` sees it; errors of [`run`](super::run).
pub fn run_observed(
    experiment: &Experiment,
    strategy: StrategyKind,
    backends: &mut dyn Backends,
    progress: &dyn Progress,
    observer: &mut dyn Observer,
) -> Result<RunResult, ExperimentError> {
    let ended = run_through(experiment, strategy, 0, backends, progress, observer);
    Ok(ended?.0)
}

fn run_through<'o>(
    experiment: &Experiment,
    strategy: StrategyKind,
    replication: u32,
    backends: &mut dyn Backends,
    progress: &'o dyn Progress,
    recorder: &'o mut dyn Observer,
) -> Result<(RunResult, AnyExecution), ExperimentError> {
    let conditions = experiment.conditions(replication)?;
    let configuration = experiment.configuration(strategy, replication);
    let description = experiment.description.as_ref();
    let description = description.map(|description| &description.machine);
    let workload = &experiment.workload;
    let jobs = workload.jobs(experiment.seed, replication)?;
    let mut execution = AnyExecution::new(workload, experiment.machine)?;
    let mut observer = Watched { progress, recorder };
    let mut result = None;
    backends.with(configuration, description, &mut |backend| {
        let backend = &mut Around::new(backend, |backend, change, now, on_event| {
            if progress.is_interrupted() {
                return Err(BackendError::Interrupted);
            }
            backend.call(change, now, on_event)
        });
        let observer = &mut observer;
        let (jobs, machine) = (jobs.clone(), experiment.machine);
        let (execution, conditions) = (&mut execution, conditions.clone());
        let run = simulation::run_with(execution, conditions, backend, machine, jobs, observer);
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

/// A run whose progress is shown, and that may be recorded.
struct Watched<'w> {
    progress: &'w dyn Progress,
    recorder: &'w mut dyn Observer,
}

impl Observer for Watched<'_> {
    fn advance(&mut self, jobs: u64) {
        self.progress.advance(jobs);
    }

    fn job(&mut self, record: &JobRecord<'_>) {
        self.recorder.job(record);
    }

    fn interrupted(&mut self, job: &Interruption<'_>) {
        self.recorder.interrupted(job);
    }

    fn place(&mut self, event: &PlaceEvent) {
        self.recorder.place(event);
    }

    fn fragmented(&mut self, at: Ticks, processors: u32) {
        self.recorder.fragmented(at, processors);
    }

    fn largest(&mut self, at: Ticks, processors: u32) {
        self.recorder.largest(at, processors);
    }

    fn end(&mut self, at: Ticks) {
        self.recorder.end(at);
    }
}
