//! Sweeps: many experiments, each written down as soon as it has ended, so that what was interrupted goes on
//! where it stopped.
//!
//! [`run_points`] takes the points of a grid and a [journal]: points that the journal already has are
//! not run again, and the others are added to it as they end. What a point gives depends on its experiment
//! alone, so the same points come out whatever the number of threads, interrupted or not. The points may be divided into
//! [shards](Shard), each with a journal of its own, which [`merge`] unites.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::identity::label_text;
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment::{self, Experiment, ExperimentError, Progress, StrategyResult};

pub(crate) mod command;
pub(crate) mod digest;
pub mod journal;
mod merge;
pub(crate) mod part;
mod record;
pub(crate) mod results;
mod shard;

use journal::{Content, Damage, Format, JournalError};
pub use merge::{MergeError, merge};
pub use shard::Shard;

/// One point of a grid. All strategies of its experiment share the jobs.
#[derive(Clone, Debug)]
pub struct Point {
    /// What sets it apart from the other points: keys and their values.
    pub label: Vec<(String, String)>,
    /// What is run.
    pub experiment: Experiment,
}

/// A point that has been run.
#[derive(Clone, Debug)]
pub struct Finished {
    /// That of its [`Point`].
    pub label: Vec<(String, String)>,
    /// One result for each strategy, in the order of the experiment.
    pub results: Vec<StrategyResult>,
    /// Whether it was in the journal already.
    pub resumed: bool,
}

/// How points are run.
#[derive(Clone, Copy, Debug, Default)]
pub struct SweepOptions {
    /// The number of threads; `None` for as many as this process may have.
    pub threads: Option<NonZero<usize>>,
    /// Whether to begin again, even if the journal has points.
    pub restart: bool,
    /// The part of the points that is run, with a journal of its own; `None` for all of them.
    pub shard: Option<Shard>,
}

/// Why a sweep ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The journal cannot be used.
    #[error("{path}: {reason}", path = .path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: JournalError,
    },
    /// A point cannot be run.
    #[error("{point}: {reason}")]
    Point {
        /// Its label, as [`label_text`] writes it.
        point: String,
        /// What happened.
        reason: ExperimentError,
    },
    /// The shards do not make a whole.
    #[error(transparent)]
    Merge(MergeError),
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

fn of_journal(path: &Path) -> impl Fn(JournalError) -> SweepError {
    |reason| SweepError::Journal {
        path: path.to_owned(),
        reason,
    }
}

/// Runs the points that the journal does not have yet, in this process and over several threads, and adds each
/// to it as soon as it has ended. Gives all of them, in the order of `points`. The journal is `journal`, or that of
/// the chosen shard beside it; `damaged` receives what had to be left out of it, before the first point is run.
///
/// # Errors
///
/// When the journal belongs to other points or another version, is in use by another process or cannot be written,
/// or when a point cannot be run. The points that have ended stay in it.
pub fn run_points(
    points: &[Point],
    journal: &Path,
    options: SweepOptions,
    progress: &dyn Progress,
    damaged: &mut dyn FnMut(&Damage),
) -> Result<Vec<Finished>, SweepError> {
    let path = options
        .shard
        .map_or_else(|| journal.to_owned(), |shard| shard.journal(journal));
    let format = Format::new(points);
    let (
        journal,
        Content {
            mut known, damage, ..
        },
    ) = format
        .open(&path, options.restart)
        .map_err(of_journal(&path))?;
    damage.iter().for_each(damaged);
    let chosen: Vec<usize> = match options.shard {
        Some(shard) => shard.places(points),
        None => (0..points.len()).collect(),
    };
    let is_open = |&&place: &&usize| known[place].is_none();
    let open: Vec<usize> = chosen.iter().filter(is_open).copied().collect();
    let experiments: Vec<&Experiment> = open.iter().map(|&i| &points[i].experiment).collect();

    let written = Mutex::new((journal, Vec::new(), None));
    let outcome = experiment::run_all(
        &experiments,
        options.threads,
        &InProcessBackends::default,
        progress,
        &|place, results| {
            let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
            let (journal, new, failed) = &mut *written;
            if failed.is_some() {
                // A line after a torn one could not be read.
                return ControlFlow::Break(());
            }
            if let Err(error) = journal.add(open[place], &results) {
                *failed = Some(error);
                return ControlFlow::Break(());
            }
            new.push((open[place], results));
            ControlFlow::Continue(())
        },
    );
    let (_, new, failed) = written.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = failed {
        return Err(of_journal(&path)(error.into()));
    }
    outcome.map_err(|failed| SweepError::Point {
        point: label_text(&points[open[failed.place]].label),
        reason: failed.reason,
    })?;
    for (i, results) in new {
        known[i] = Some(results);
    }
    let finished = chosen.iter().map(|&i| Finished {
        label: points[i].label.clone(),
        results: known[i].take().expect("every point has been run"),
        resumed: open.binary_search(&i).is_err(),
    });
    Ok(finished.collect())
}

#[cfg(test)]
mod tests;
