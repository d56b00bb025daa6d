//! Many experiments over several threads, with the same results as on one thread.
//!
//! A run depends only on its experiment, its strategy and the number of its replication. The number
//! of replications could depend on the threads, when replications go on until an error is reached.
//! So replications are taken into account in the order of their numbers: the first with which the
//! error is reached is the last, and later ones are dropped.
//!
//! Runs that are certain to be needed go first, in the order of the experiments. Only a thread that
//! finds no such run carries out a replication that may turn out to be unnecessary.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::{Experiment, ExperimentError, Progress, REPLICATIONS_MIN, StrategyResult, run_once};
use crate::backend::Backends;
use crate::simulation::RunResult;

/// Experiments that ended early.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Failed {
    /// The place of the experiment that ended all of them.
    pub place: usize,
    /// What happened.
    #[source]
    pub reason: ExperimentError,
    /// The results of each experiment. An experiment that has not ended has the results over the
    /// replications that all strategies completed, of which there may be none. Empty if the failure
    /// came before the first run.
    pub complete: Vec<Vec<StrategyResult>>,
}

impl Failed {
    fn before_the_first_run(place: usize, reason: ExperimentError) -> Self {
        Failed {
            place,
            reason,
            complete: Vec::new(),
        }
    }
}

impl From<Failed> for ExperimentError {
    fn from(failed: Failed) -> Self {
        failed.reason
    }
}

/// Runs an experiment, one run after the other. Where controllers are cheap, [`run_parallel`] does
/// the same over several threads.
///
/// # Errors
///
/// When the workload cannot be used, a controller cannot be made ready or does not serve the
/// machine with one of the strategies, or a run ends early. The error has the results that are
/// complete.
pub fn run(
    experiment: &Experiment,
    backends: &mut dyn Backends,
    progress: &dyn Progress,
) -> Result<Vec<StrategyResult>, Failed> {
    let point = Point::new(experiment, progress);
    let point = point.map_err(|reason| Failed::before_the_first_run(0, reason))?;
    let board = Mutex::new(Board::new(vec![point]));
    work(&board, &[experiment], backends, progress, &go_on);
    Ok(ended(board)?.remove(0))
}

/// Takes runs from the board and carries them out until there are no more.
fn work(
    board: &Mutex<Board<'_>>,
    experiments: &[&Experiment],
    backends: &mut dyn Backends,
    progress: &dyn Progress,
    finished: Finished<'_>,
) {
    loop {
        let next = lock(board).next(progress);
        let Some(task) = next else { return };
        let experiment = experiments[task.place];
        let strategy = experiment.strategies[task.column];
        let outcome = run_once(experiment, strategy, task.replication, backends, progress);
        let results = lock(board).record(&task, outcome, progress);
        if let Some(results) = results {
            let stopped = finished(task.place, &results).is_break();
            let mut board = lock(board);
            board.points[task.place].results = Some(results);
            board.stopped |= stopped;
        }
    }
}

/// Receives the results of an experiment by its place.
type Finished<'f> = &'f (dyn Fn(usize, &[StrategyResult]) -> ControlFlow<()> + Sync);

fn go_on(_: usize, _: &[StrategyResult]) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Runs experiments over `threads` threads, or as many as this machine has processors, but no more
/// than there are runs. Each thread has controllers from backends that `backends` makes.
///
/// The results of each experiment are those of [`run`], whatever the number of threads. `finished`
/// receives them as soon as its last run has ended, on that run's thread, in any order; with
/// [`ControlFlow::Break`] it ends everything early, without an error, and experiments that have not
/// ended have the results that [`Failed::complete`] describes.
///
/// # Errors
///
/// Those of [`run`].
///
/// # Panics
///
/// If a run panics, after the other threads have ended the runs that they carry out.
pub fn run_all<B: Backends>(
    experiments: &[&Experiment],
    threads: Option<NonZero<usize>>,
    backends: &(dyn Fn() -> B + Sync),
    progress: &dyn Progress,
    finished: Finished<'_>,
) -> Result<Vec<Vec<StrategyResult>>, Failed> {
    let mut points = Vec::with_capacity(experiments.len());
    for (place, experiment) in experiments.iter().enumerate() {
        let point = Point::new(experiment, progress);
        points.push(point.map_err(|reason| Failed::before_the_first_run(place, reason))?);
    }
    let mut unmeasured = (0..experiments.len()).filter(|&at| experiments[at].strategies.is_empty());
    if unmeasured.any(|place| finished(place, &[]).is_break()) {
        return Board::new(points).end();
    }
    let runs: u64 = points.iter().map(Point::runs_max).sum();
    let board = Mutex::new(Board::new(points));
    on_threads(threads, runs, &|| {
        let _guard = StopOnPanic(&board);
        work(&board, experiments, &mut backends(), progress, finished);
    });
    ended(board)
}

/// Calls `worker` on each of `threads` threads, or as many as this machine has processors, but on
/// no more threads than there are `runs`. Waits for all of them. Each thread takes runs until there
/// are no more.
///
/// # Panics
///
/// If `worker` panics, after the other threads have ended.
pub fn on_threads(threads: Option<NonZero<usize>>, runs: u64, worker: &(impl Fn() + Sync)) {
    let threads = threads.map_or_else(thread::available_parallelism, Ok);
    let threads = threads.map_or(1, NonZero::get) as u64;
    thread::scope(|scope| {
        // This thread also works, so the program goes on if the system gives fewer threads than
        // wanted, or none.
        for _ in 1..threads.min(runs) {
            if thread::Builder::new().spawn_scoped(scope, worker).is_err() {
                break;
            }
        }
        worker();
    });
}

/// One experiment over several threads; errors are those of [`run_all`].
pub fn run_parallel<B: Backends>(
    experiment: &Experiment,
    threads: Option<NonZero<usize>>,
    backends: &(dyn Fn() -> B + Sync),
    progress: &dyn Progress,
) -> Result<Vec<StrategyResult>, Failed> {
    let results = run_all(&[experiment], threads, backends, progress, &go_on);
    Ok(results?.remove(0))
}

/// A panic ends the whole program, so the state that a panicked thread leaves behind does not
/// matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ended(board: Mutex<Board<'_>>) -> Result<Vec<Vec<StrategyResult>>, Failed> {
    let board = board.into_inner().unwrap_or_else(PoisonError::into_inner);
    board.end()
}

/// A guard: after a thread that owns it has panicked, no new run begins.
struct StopOnPanic<'b, 'e>(&'b Mutex<Board<'e>>);

impl Drop for StopOnPanic<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(self.0).stopped = true;
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Task {
    place: usize,
    replication: u32,
    column: usize,
}

/// The runs to carry out, and the results of the runs that were carried out.
struct Board<'e> {
    points: Vec<Point<'e>>,
    first_open: usize,
    /// The number of replications of the latest experiment to end, among those that go on until an
    /// error is reached.
    usual: u32,
    stopped: bool,
    /// The place of the first experiment in order that failed, and why it failed.
    failed: Option<(usize, ExperimentError)>,
}

impl<'e> Board<'e> {
    fn new(points: Vec<Point<'e>>) -> Self {
        Board {
            points,
            first_open: 0,
            usual: REPLICATIONS_MIN,
            stopped: false,
            failed: None,
        }
    }

    fn next(&mut self, progress: &dyn Progress) -> Option<Task> {
        // After a failure, experiments before the failed one go on: one of them may fail, too, and
        // the first in order counts.
        let failed = self.failed.as_ref();
        let end = failed.map_or(self.points.len(), |(place, _)| *place);
        while self.first_open < end && self.points[self.first_open].ended {
            self.first_open += 1;
        }
        if self.stopped || self.first_open >= end {
            return None;
        }
        if progress.is_interrupted() {
            // A known failure is the reason, whatever follows it.
            let first = self.first_open;
            self.failed
                .get_or_insert((first, ExperimentError::Interrupted));
            self.stopped = true;
            return None;
        }
        let open = || self.first_open..end;
        let certain = open().find(|&place| self.points[place].next_is_certain());
        let place = certain.or_else(|| open().find(|&place| self.points[place].has_next()))?;
        let point = &mut self.points[place];
        let columns = point.columns();
        let task = Task {
            place,
            replication: (point.begun / columns) as u32,
            column: (point.begun % columns) as usize,
        };
        point.begun += 1;
        point.announce(self.usual, progress);
        Some(task)
    }

    /// Keeps the outcome of a run. Returns the results of its experiment, if this was the
    /// experiment's last run.
    fn record(
        &mut self,
        task: &Task,
        outcome: Outcome,
        progress: &dyn Progress,
    ) -> Option<Vec<StrategyResult>> {
        let place = task.place;
        let point = &mut self.points[place];
        if point.ended {
            // The run was not needed.
            return None;
        }
        point.ahead.insert((task.replication, task.column), outcome);
        if let Err(reason) = point.look(place, progress) {
            point.ended = true;
            // If there is another reason, earlier or later, an interruption does not count.
            let counts = |first: &(usize, ExperimentError)| match (&first.1, &reason) {
                (_, ExperimentError::Interrupted) => false,
                (ExperimentError::Interrupted, _) => true,
                _ => place < first.0,
            };
            if self.failed.as_ref().is_none_or(counts) {
                self.failed = Some((place, reason));
            }
            return None;
        }
        point.announce(self.usual, progress);
        if !point.ended {
            return None;
        }
        let runs = std::mem::take(&mut point.runs);
        let results = point.experiment.summaries(runs);
        let replications = results.first().map_or(0, |result| result.runs.len());
        if point.experiment.is_open_ended() && self.usual != replications as u32 {
            self.usual = replications as u32;
            for point in &mut self.points[self.first_open..] {
                point.announce(self.usual, progress);
            }
        }
        Some(results)
    }

    /// The outcome when no run is under way any more.
    fn end(self) -> Result<Vec<Vec<StrategyResult>>, Failed> {
        let complete = self.points.into_iter().map(Point::complete_results);
        let complete = complete.collect();
        match self.failed {
            None => Ok(complete),
            Some((place, reason)) => Err(Failed {
                place,
                reason,
                complete,
            }),
        }
    }
}

type Outcome = Result<RunResult, ExperimentError>;

struct Point<'e> {
    experiment: &'e Experiment,
    most: u32,
    jobs_per_run: u64,
    begun: u64,
    /// By strategy: the runs that were taken into account. Replications are taken in order, and in
    /// each the strategies.
    runs: Vec<Vec<RunResult>>,
    /// The outcomes of later runs, by replication and strategy. A failure counts only when all
    /// earlier replications have ended, since the failed replication may not be needed.
    ahead: BTreeMap<(u32, usize), Outcome>,
    ended: bool,
    results: Option<Vec<StrategyResult>>,
    announced: u64,
}

impl<'e> Point<'e> {
    fn new(experiment: &'e Experiment, progress: &dyn Progress) -> Result<Self, ExperimentError> {
        let measured = experiment.conditions(0)?.measured;
        let mut point = Point {
            experiment,
            most: experiment.replications_max()?,
            jobs_per_run: u64::from(measured.count()),
            begun: 0,
            runs: vec![Vec::new(); experiment.strategies.len()],
            ahead: BTreeMap::new(),
            ended: experiment.strategies.is_empty(),
            results: None,
            announced: 0,
        };
        point.announced = point.forecast(REPLICATIONS_MIN);
        progress.begin(point.announced, point.jobs_per_run);
        Ok(point)
    }

    fn columns(&self) -> u64 {
        self.runs.len() as u64
    }

    /// Replications that were taken into account with all strategies.
    fn complete(&self) -> u32 {
        self.runs.last().map_or(0, Vec::len) as u32
    }

    fn runs_max(&self) -> u64 {
        u64::from(self.most) * self.columns()
    }

    fn has_next(&self) -> bool {
        !self.ended && self.begun < self.runs_max()
    }

    /// Whether the next run is needed, whatever the results of the runs under way.
    fn next_is_certain(&self) -> bool {
        let certain = if self.experiment.is_open_ended() {
            self.most.min(self.experiment.enough(self.complete() + 1))
        } else {
            self.most
        };
        self.has_next() && self.begun < u64::from(certain) * self.columns()
    }

    /// Takes the runs that have ended into account, in order, to the last needed replication.
    fn look(&mut self, place: usize, progress: &dyn Progress) -> Result<(), ExperimentError> {
        while !self.ended {
            let replication = self.complete();
            let columns = self.runs.iter_mut().enumerate();
            for (column, runs) in columns.filter(|(_, runs)| runs.len() as u32 == replication) {
                match self.ahead.remove(&(replication, column)) {
                    Some(outcome) => {
                        let run = outcome?;
                        progress.ended(place, column, &run);
                        runs.push(run);
                    }
                    None => return Ok(()),
                }
            }
            self.ended = self.complete() == self.most || self.experiment.is_exact(&self.runs);
        }
        Ok(())
    }

    /// The results. If the experiment has not ended, they are over the replications that all
    /// strategies completed.
    fn complete_results(mut self) -> Vec<StrategyResult> {
        if let Some(results) = self.results {
            return results;
        }
        let complete = self.complete() as usize;
        for runs in &mut self.runs {
            runs.truncate(complete);
        }
        self.experiment.summaries(self.runs)
    }

    /// The number of runs that is expected now: with `usual` replications if nothing is known yet.
    fn forecast(&self, usual: u32) -> u64 {
        let replications = if self.experiment.is_open_ended() {
            let needed = self.runs.iter().map(|runs| self.needed(runs));
            let needed = needed.collect::<Option<Vec<_>>>();
            let needed = needed.and_then(|needed| needed.into_iter().max());
            let least = self.experiment.enough(self.complete() + 1);
            needed.unwrap_or(usual).max(least).min(self.most)
        } else {
            self.most
        };
        u64::from(replications) * self.columns()
    }

    /// The number of replications that will be needed, as the half-width falls as 1 /
    /// sqrt(replications). `None` when there is no half-width yet.
    fn needed(&self, runs: &[RunResult]) -> Option<u32> {
        let error = self.experiment.error(runs)?;
        Some(if !self.experiment.has_delays(runs) {
            0
        } else {
            (runs.len() as f64 * error.powi(2)).ceil() as u32
        })
    }

    fn announce(&mut self, usual: u32, progress: &dyn Progress) {
        let expected = if self.ended {
            self.begun
        } else {
            self.forecast(usual).max(self.begun)
        };
        if expected != self.announced {
            let more = expected as i64 - self.announced as i64;
            progress.expect_more(more * self.jobs_per_run as i64);
            self.announced = expected;
        }
    }
}

#[cfg(test)]
mod tests;
