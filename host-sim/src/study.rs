//! Studies: the points of [settings with several values](scenario::Study), run, and perhaps kept in
//! a folder as soon as each has ended, so that a study continues after an interruption.
//!
//! [`run_points`] runs the points whose files are not in the folder yet. The results of a point
//! depend only on its experiment, so they are the same with any number of threads, with or without
//! interruptions, and with or without [shards](Shard). Machines that share a folder each run a
//! shard; then a command that runs nothing finds all files there.

use std::collections::BTreeSet;
use std::io::Write;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use crate::failure::{self, Failure};
use crate::file;
use crate::measured::Measured;
use crate::progress::Bar;
use crate::tables::TimeChoice;
use meshalloc_sim::backend::{Backends, InProcessBackends};
use meshalloc_sim::experiment::{self, Experiment, ExperimentError, Progress, StrategyResult};
use meshalloc_sim::scenario::{self, Scenario, SettingError, StudyPoint, label_text};
use meshalloc_sim::wording::{are, counted};
use meshalloc_sim::workload::{SharedLogs, TimeUnit};

pub(crate) mod command;
mod frame;
pub(crate) mod keep;
pub(crate) mod products;
mod shard;
pub(crate) mod single;
mod store;
mod tables;

pub(crate) use keep::KeepArgs;
use products::short;
pub use shard::Shard;
use store::{Known, Store};

/// The points of settings with several values, every parameter known.
pub(crate) struct Study {
    /// The settings as they were given.
    pub(crate) given: scenario::Study,
    /// Each point with its settings.
    pub(crate) cases: Vec<StudyPoint>,
    /// The same points, ready to run.
    pub(crate) points: Vec<Point>,
    /// The unit of times in tables and pictures, if one is chosen.
    pub(crate) time_unit: Option<TimeChoice>,
}

impl Study {
    /// The study of these settings; `fill` adds the settings that depend on the machine. Each log
    /// is read once for the same options and machine.
    pub(crate) fn new(
        given: scenario::Study,
        fill: &dyn Fn(&mut Scenario) -> Result<(), SettingError>,
        time_unit: Option<TimeChoice>,
    ) -> Result<Self, String> {
        let cases = given.points(None, fill)?;
        let logs = SharedLogs::default();
        let point = |case: &StudyPoint| {
            let label = case.label.clone();
            let experiment = case.scenario.experiment(&logs)?;
            Ok(Point { label, experiment })
        };
        let points = cases.iter().map(point).collect::<Result<_, String>>()?;
        let study = Study {
            given,
            cases,
            points,
            time_unit,
        };
        if time_unit.is_some() && study.unit() == TimeUnit::Cycle {
            return Err("--time-unit: jobs send messages, so times are in cycles".to_owned());
        }
        Ok(study)
    }

    /// The files that its points read, with the options that name them, each once.
    pub(crate) fn files(&self) -> Vec<(&'static str, &Path)> {
        let files = self.cases.iter().flat_map(|case| case.scenario.files());
        let files: BTreeSet<_> = files.collect();
        files.into_iter().collect()
    }

    /// Runs all points, in this process over several threads. Points that are kept are run only if
    /// they are not there yet. `None` if only a part was to be run; `output` then says what was
    /// done.
    pub(crate) fn measure<B: Backends>(
        &self,
        keep: &KeepArgs,
        threads: Option<NonZero<usize>>,
        backends: &(dyn Fn() -> B + Sync),
        bar: &Bar<'_>,
        output: &mut dyn Write,
    ) -> Result<Option<Measured>, Failure> {
        let Some(folder) = &keep.save else {
            // The last values take longest as a rule, such as the highest loads.
            let reversed: Vec<_> = self.points.iter().rev().map(|it| &it.experiment).collect();
            let go_on = |_, _: &[StrategyResult]| ControlFlow::Continue(());
            let ran = experiment::run_all(&reversed, threads, backends, bar, &go_on);
            bar.clear();
            let (mut results, incomplete) = failure::complete(ran)?;
            results.reverse();
            return Ok(Some(Measured {
                results,
                incomplete,
                ..Measured::default()
            }));
        };
        let points = Some(self.points.len());
        if let Some(scripts) = keep.part.slurm(folder, threads, points, keep.replace) {
            scripts.write(output)?;
            return Ok(None);
        }
        let finished = keep.part.carry_out(&self.points, folder, threads, bar)?;
        let said = keep.part.summary(&finished);
        if !keep.part.is_whole() {
            writeln!(output, "{said}")?;
            return Ok(None);
        }
        Ok(Some(Measured {
            results: finished.into_iter().map(|point| point.results).collect(),
            kept: Some(format!("{}: {said}", folder.display())),
            ..Measured::default()
        }))
    }
}

/// One point of a study. All strategies of its experiment share the jobs.
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
pub struct StudyOptions {
    /// The number of threads; `None`: as many as this machine has processors.
    pub threads: Option<NonZero<usize>>,
    /// The points that are run; `None`: all of them.
    pub shard: Option<Shard>,
    /// Whether nothing is run, so that the file of each point must be there whole.
    pub merge: bool,
}

/// Why a study ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
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

impl StudyError {
    /// Whether the study ended early because [`Progress::is_interrupted`] became true.
    pub fn is_interrupted(&self) -> bool {
        let StudyError::Point { reason, .. } = self else {
            return false;
        };
        matches!(reason, ExperimentError::Interrupted)
    }
}

/// Runs the points whose files are not in `folder` yet, in this process and over several threads,
/// and writes the file of each as soon as it has ended; these stay after an error. Returns the
/// points that the options choose, in the order of `points`. `damaged` receives the files that had
/// to be left out, before the first point is run. With `options.merge` nothing is run: a point
/// without a whole file is [`StudyError::Missing`].
pub fn run_points(
    points: &[Point],
    folder: &Path,
    options: StudyOptions,
    progress: &dyn Progress,
    damaged: &mut dyn FnMut(&Path),
) -> Result<Vec<Finished>, StudyError> {
    let StudyOptions {
        threads,
        shard,
        merge,
    } = options;
    let store = Store::new(points, folder);
    file::remove_abandoned(folder);
    let chosen: Vec<usize> = match shard {
        Some(shard) => shard.places(points),
        None => (0..points.len()).collect(),
    };
    let mut known = read(&store, &chosen, damaged)?;
    let is_open = |&&point: &&usize| known[point].is_none();
    let open: Vec<usize> = chosen.iter().filter(is_open).copied().collect();
    if let (true, Some(&first)) = (merge, open.first()) {
        return Err(StudyError::Missing {
            folder: folder.to_owned(),
            count: open.len(),
            of: points.len(),
            first: label_text(&points[first].label),
        });
    }
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
    let new = outcome.map_err(|failed| StudyError::Point {
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

/// Removes the files of all points, and the folder if no other file is in it.
pub(crate) fn remove(points: &[Point], folder: &Path) -> Result<(), StudyError> {
    let store = Store::new(points, folder);
    for point in 0..points.len() {
        store.remove(point).map_err(of_file(&store, point))?;
    }
    // The folder stays if it has files of other points.
    let _ = fs::remove_dir(folder);
    Ok(())
}

/// For each point its results, if it is among the chosen ones and its file is there.
fn read(
    store: &Store<'_>,
    chosen: &[usize],
    damaged: &mut dyn FnMut(&Path),
) -> Result<Vec<Option<Vec<StrategyResult>>>, StudyError> {
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

fn of_file(store: &Store<'_>, point: usize) -> impl Fn(io::Error) -> StudyError {
    let path = store.path(point).to_owned();
    move |reason| StudyError::File {
        path: path.clone(),
        reason,
    }
}

#[cfg(test)]
mod tests;
