//! Which part of a sweep a command is about: all points, one shard, or the union of the shards.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::Args;

use super::journal::Damage;
use super::merge::chosen;
use super::{Finished, Point, Shard, SweepError, SweepOptions, merge, run_points};
use crate::failure;
use crate::progress::Bar;
use meshalloc_sim::names;
use meshalloc_sim::wording::counted;

/// The part of the points.
#[derive(Args, Clone, Debug)]
pub(crate) struct PartArgs {
    /// Divide the points into this number of shards, of about equal expected cost, for as many machines
    #[arg(long, value_name = "COUNT", value_parser = names::count::<NonZero<u32>>, allow_negative_numbers = true, help_heading = "Several machines")]
    shards: Option<NonZero<u32>>,

    /// Compute only this shard, from 1, into a journal of its own; the same command goes on after an interruption
    #[arg(long, value_name = "NUMBER", value_parser = names::count::<NonZero<u32>>, allow_negative_numbers = true, requires = "shards", conflicts_with = "merge", help_heading = "Several machines")]
    shard: Option<NonZero<u32>>,

    /// Unite the journals of all shards into the files that one machine would have written
    #[arg(long, conflicts_with = "count", help_heading = "Several machines")]
    merge: bool,
}

/// A part of the points.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// All of them, run here.
    Whole,
    /// Those of one shard, run here.
    Shard(Shard),
    /// All of them, from the journals of the shards of this division, or of the only one there is.
    Merged(Option<NonZero<u32>>),
}

impl PartArgs {
    /// Which part is asked for.
    ///
    /// # Errors
    ///
    /// When there is no such shard, or the number of shards stands alone.
    pub(crate) fn part(&self) -> Result<Part, String> {
        match (self.shards, self.shard) {
            (count, _) if self.merge => Ok(Part::Merged(count)),
            (Some(count), Some(number)) => {
                let shard = Shard::new(number, count).map(Part::Shard);
                shard.ok_or_else(|| {
                    format!("--shard {number} (expected 1 to {count}, the number of --shards)")
                })
            }
            (Some(_), None) => Err(
                "--shards is given alone (expected --shard NUMBER or --merge beside it)".to_owned(),
            ),
            (None, _) => Ok(Part::Whole),
        }
    }
}

impl Part {
    /// Runs or merges the points; `bar` shows the progress. Says on standard error which lines of
    /// journals are damaged.
    ///
    /// # Errors
    ///
    /// Those of [`run_points`] and [`merge`].
    pub(crate) fn carry_out(
        self,
        points: &[Point],
        journal: &Path,
        threads: Option<NonZero<usize>>,
        restart: bool,
        bar: &Bar,
    ) -> Result<Vec<Finished>, SweepError> {
        let mut damaged = |damage: &Damage| failure::to_stderr(&format_args!("warning: {damage}"));
        let shard = match self {
            Part::Whole => None,
            Part::Shard(shard) => Some(shard),
            Part::Merged(count) => return merge(points, journal, count, &mut damaged),
        };
        let options = SweepOptions {
            threads,
            restart,
            shard,
        };
        let finished = run_points(points, journal, options, bar, &mut damaged);
        bar.clear();
        finished
    }

    /// The journal that its runs are added to.
    pub(crate) fn journal(self, whole: &Path) -> PathBuf {
        match self {
            Part::Shard(shard) => shard.journal(whole),
            Part::Whole | Part::Merged(_) => whole.to_owned(),
        }
    }

    /// What was done, in a line.
    pub(crate) fn summary(self, finished: &[Finished]) -> String {
        let count = finished.len();
        let known = finished.iter().filter(|point| point.resumed).count();
        let of_journal = format!(
            "{}, {known} of them from the journal",
            counted(count, "point")
        );
        match self {
            Part::Whole => of_journal,
            Part::Shard(shard) => {
                format!(
                    "shard {} of {}: {of_journal}",
                    shard.number(),
                    shard.count()
                )
            }
            Part::Merged(_) => format!(
                "{}, all of them from the journals of shards",
                counted(count, "point")
            ),
        }
    }

    /// The journal of all points, and of those that were merged into it.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub(crate) fn journals(self, whole: &Path) -> Result<Vec<PathBuf>, SweepError> {
        let mut journals = vec![whole.to_owned()];
        if let Part::Merged(count) = self {
            let shards = chosen(whole, count)?;
            journals.extend(shards.into_iter().map(|(_, path)| path));
        }
        Ok(journals)
    }

    /// Whether the results of all points come out.
    pub(crate) const fn is_whole(self) -> bool {
        !matches!(self, Part::Shard(_))
    }
}
