//! Sweeps: many points, each written into a file as soon as it has ended, so that a sweep
//! continues after an interruption.
//!
//! `run_here` keeps no files. [`run_points`] runs the points whose files are not in the folder
//! yet. The results of a point depend on its experiment alone, so they are the same with any number
//! of threads, interrupted or not, and divided into [shards](Shard) or not. Machines that share a
//! folder each run a shard; then [`gather`] finds all files there.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use crate::failure::{self, Failure, Incomplete};
use crate::file;
use meshalloc_sim::backend::{Backends, InProcessBackends};
use meshalloc_sim::experiment::{self, Experiment, ExperimentError, Progress, StrategyResult};
use meshalloc_sim::scenario::label_text;
use meshalloc_sim::wording::{are, counted};

pub(crate) mod command;
pub(crate) mod part;
pub(crate) mod results;
mod shard;
mod store;

pub use shard::Shard;
use store::{Known, Store};

/// One point of a grid. All strategies of its experiment share the jobs.
#[derive(Clone, Debug)]
pub struct Point {
    /// The keys and values that distinguish it from the other points.
    pub label: Vec<(String, String)>,
    /// What is run.
    pub experiment: Experiment,
}

/// A point that has been run.
#[derive(Clone, Debug)]
pub struct Finished {
    /// One result for each strategy, in the order of the experiment.
    pub results: Vec<StrategyResult>,
    /// Whether its file was there already.
    pub resumed: bool,
}

/// How points are run.
#[derive(Clone, Copy, Debug, Default)]
pub struct SweepOptions {
    /// The number of threads; `None`: as many as this machine has processors.
    pub threads: Option<NonZero<usize>>,
    /// Whether points whose files are there are run again, and these files replaced.
    pub anew: bool,
    /// The points that are run; `None`: all of them.
    pub shard: Option<Shard>,
}

/// Why a sweep ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The file of a point cannot be read or written.
    #[error("{path}: cannot read or write the results of a point: {reason}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: io::Error,
    },
    /// A point cannot be run.
    #[error("{point}: {reason}")]
    Point {
        /// Its label, as [`label_text`] writes it.
        point: String,
        /// What happened.
        reason: ExperimentError,
    },
    /// Points have no files.
    #[error("{folder}: {count} of {} {} missing, the first is {first} (expected all; run the shards again \
             that have not ended, or leave out --merge)",
        counted(of, "point"), are(*.count), folder = .folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// The number of points that are missing.
        count: usize,
        /// The number of all points.
        of: usize,
        /// The first that is missing, as [`label_text`] writes it.
        first: String,
    },
}

impl SweepError {
    /// Whether it ended early because [`Progress::is_interrupted`] became true.
    pub fn is_interrupted(&self) -> bool {
        let SweepError::Point { reason, .. } = self else {
            return false;
        };
        matches!(reason, ExperimentError::Interrupted)
    }
}

/// Runs experiments without files; their results, and why they may not be of all replications.
pub(crate) fn run_here<B: Backends>(
    experiments: &[&Experiment],
    threads: Option<NonZero<usize>>,
    backends: &(dyn Fn() -> B + Sync),
    progress: &dyn Progress,
) -> Result<(Vec<Vec<StrategyResult>>, Option<Incomplete>), Failure> {
    let go_on = |_, _: &[StrategyResult]| ControlFlow::Continue(());
    failure::complete(experiment::run_all(
        experiments,
        threads,
        backends,
        progress,
        &go_on,
    ))
}

/// Runs the points whose files are not in `folder` yet, in this process and over several threads,
/// and writes the file of each as soon as it has ended; these stay after an error. Returns the
/// points that the options choose, in the order of `points`. `damaged` receives the files that had
/// to be left out, before the first point is run.
pub fn run_points(
    points: &[Point],
    folder: &Path,
    options: SweepOptions,
    progress: &dyn Progress,
    damaged: &mut dyn FnMut(&Path),
) -> Result<Vec<Finished>, SweepError> {
    let SweepOptions {
        threads,
        anew,
        shard,
    } = options;
    let store = Store::new(points, folder);
    file::remove_abandoned(folder);
    let chosen: Vec<usize> = match shard {
        Some(shard) => shard.places(points),
        None => (0..points.len()).collect(),
    };
    if anew {
        for &point in &chosen {
            store.remove(point).map_err(of_file(&store, point))?;
        }
    }
    let mut known = read(&store, &chosen, damaged)?;
    let is_open = |&&point: &&usize| known[point].is_none();
    let open: Vec<usize> = chosen.iter().filter(is_open).copied().collect();
    let experiments: Vec<&Experiment> = open.iter().map(|&i| &points[i].experiment).collect();

    let unwritten = OnceLock::new();
    let outcome = experiment::run_all(
        &experiments,
        threads,
        &InProcessBackends::default,
        progress,
        &|place, results| match store.write(open[place], results) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                let _ = unwritten.set(of_file(&store, open[place])(error));
                ControlFlow::Break(())
            }
        },
    );
    unwritten.into_inner().map_or(Ok(()), Err)?;
    let new = outcome.map_err(|failed| SweepError::Point {
        point: label_text(&points[open[failed.place]].label),
        reason: failed.reason,
    })?;
    for (&point, results) in open.iter().zip(new) {
        known[point] = Some(results);
    }
    let finished = chosen.iter().map(|&point| Finished {
        results: known[point].take().expect("every point has been run"),
        resumed: open.binary_search(&point).is_err(),
    });
    Ok(finished.collect())
}

/// The results of all points from their files in `folder`, each of which must be there whole.
pub fn gather(
    points: &[Point],
    folder: &Path,
    damaged: &mut dyn FnMut(&Path),
) -> Result<Vec<Finished>, SweepError> {
    let store = Store::new(points, folder);
    let all: Vec<usize> = (0..points.len()).collect();
    let known = read(&store, &all, damaged)?;
    let mut missing = all.iter().filter(|&&point| known[point].is_none());
    if let Some(&first) = missing.next() {
        return Err(SweepError::Missing {
            folder: folder.to_owned(),
            count: 1 + missing.count(),
            of: points.len(),
            first: label_text(&points[first].label),
        });
    }
    let finished = known.into_iter().flatten().map(|results| Finished {
        results,
        resumed: true,
    });
    Ok(finished.collect())
}

/// Removes the files of all points, and the folder if no other file is in it.
pub(crate) fn remove(points: &[Point], folder: &Path) -> Result<(), SweepError> {
    let store = Store::new(points, folder);
    for point in 0..points.len() {
        store.remove(point).map_err(of_file(&store, point))?;
    }
    // It may have files of other points.
    let _ = fs::remove_dir(folder);
    Ok(())
}

/// For each point its results, if it is among the chosen ones and its file is there.
fn read(
    store: &Store<'_>,
    chosen: &[usize],
    damaged: &mut dyn FnMut(&Path),
) -> Result<Vec<Option<Vec<StrategyResult>>>, SweepError> {
    let mut known = vec![None; store.len()];
    for &point in chosen {
        match store.read(point).map_err(of_file(store, point))? {
            Known::Results(results) => known[point] = Some(results),
            Known::Damaged => damaged(store.path(point)),
            Known::Nothing => {}
        }
    }
    Ok(known)
}

fn of_file(store: &Store<'_>, point: usize) -> impl Fn(io::Error) -> SweepError {
    let path = store.path(point).to_owned();
    move |reason| SweepError::File {
        path: path.clone(),
        reason,
    }
}

#[cfg(test)]
mod tests;
