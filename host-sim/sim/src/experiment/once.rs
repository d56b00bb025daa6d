//! One replication of one strategy.

use meshalloc::StrategyKind;

use super::execution::execution;
use super::{Experiment, ExperimentError, Progress};
use crate::backend::{Around, Backend, BackendError, Backends};
use crate::simulation::{self, Observer, RunResult, Seen};

/// Runs one replication of one strategy; errors are those of [`run`](super::run).
pub fn run_once(
    experiment: &Experiment,
    strategy: StrategyKind,
    replication: u32,
    backends: &mut dyn Backends,
    progress: &dyn Progress,
) -> Result<RunResult, ExperimentError> {
    let mut recorder = progress.recorder(strategy, replication);
    run_observed(
        experiment,
        strategy,
        replication,
        backends,
        progress,
        &mut *recorder,
    )
}

/// Runs one replication of one strategy. `progress` receives [`Seen::Advance`], and is not asked
/// for a recorder; `observer` receives all other events.
///
/// # Errors
///
/// Those of [`run`](super::run).
pub fn run_observed<'o>(
    experiment: &Experiment,
    strategy: StrategyKind,
    replication: u32,
    backends: &mut dyn Backends,
    progress: &'o dyn Progress,
    observer: &'o mut dyn Observer,
) -> Result<RunResult, ExperimentError> {
    let configuration = experiment.configuration(strategy, replication);
    let description = experiment.description.as_ref();
    let description = description.map(|description| &description.description);
    let conditions = experiment.conditions(replication)?;
    let workload = &experiment.workload;
    let mut jobs = workload.jobs(experiment.seed, replication)?;
    let mut execution = execution(workload, experiment.machine)?;
    let mut observer = move |seen: &Seen<'_>| match seen {
        Seen::Advance(jobs) => progress.advance(*jobs),
        other => observer.see(other),
    };
    let mut result = None;
    backends.with(configuration, description, &mut |backend| {
        let backend = &mut interruptible(backend, progress);
        let observer = &mut observer;
        let (jobs, machine) = (&mut jobs, experiment.machine);
        let (execution, conditions) = (&mut *execution, conditions.clone());
        let run = simulation::run_with(execution, conditions, backend, machine, jobs, observer);
        result = Some(run);
    })?;
    let result = result.expect("a backend that is ready calls its body");
    result.map_err(|reason| ExperimentError::of_run(strategy, replication, reason))
}

/// The same backend, except that changes fail with [`BackendError::Interrupted`] as soon as
/// `progress` is interrupted.
fn interruptible<'b>(
    backend: &'b mut dyn Backend,
    progress: &'b dyn Progress,
) -> impl Backend + 'b {
    Around::new(backend, |backend, change, now, on_event| {
        if progress.is_interrupted() {
            return Err(BackendError::Interrupted);
        }
        backend.call(change, now, on_event)
    })
}
