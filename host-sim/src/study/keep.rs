//! Which part of a study a command runs: all points, one shard, or none; and where their results
//! stay.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::ValueHint;

use super::{Finished, Point, Shard, StudyOptions, run_points};
use crate::failure::{self, Failure};
use crate::file::ReplaceArgs;
use crate::progress::Bar;
use crate::slurm::Slurm;
use meshalloc_sim::names;
use meshalloc_sim::wording::counted;

/// The folder of results, and the part of the points.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct KeepArgs {
    /// Keep the results of each point in this folder, made if it does not exist: after an
    /// interruption, or with more values, the same command runs only the points that are not there
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, help_heading = "Where and how")]
    pub(crate) save: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) part: Part,

    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
}

/// Advice for a command that gives two of these options, which exclude each other.
pub(crate) fn way_out(one: &str, other: &str) -> Option<&'static str> {
    let given = [one, other];
    if given.contains(&"slurm") {
        Some("the scripts that --slurm writes run the shards and merge them")
    } else if given.contains(&"merge") {
        Some("--merge runs nothing: give it to a command of its own after all shards have run")
    } else {
        None
    }
}

impl KeepArgs {
    /// An error about a part of points that are not kept.
    pub(crate) fn check(&self) -> Result<(), String> {
        match &self.part {
            _ if self.save.is_some() => Ok(()),
            part if part.is_plain() && part.slurm.is_none() => Ok(()),
            _ => Err("--shard, --merge and --slurm require --save FOLDER".to_owned()),
        }
    }
}

/// The part of the points.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Part {
    /// Run only shard I of N: the points are divided into N shards of about equal expected cost,
    /// for N machines that share the folder of results
    #[arg(long, value_name = "I/N", conflicts_with_all = ["merge", "slurm"], help_heading = "Several machines")]
    shard: Option<Shard>,

    /// Run nothing: show the results of the points that all shards have run
    #[arg(long, conflicts_with_all = ["count", "slurm"], help_heading = "Several machines")]
    merge: bool,

    /// Run nothing: write the scripts of a Slurm job array with N tasks into the folder. Task I
    /// runs shard I of N with --threads processors [default: 1]; a second job merges the shards
    #[arg(long, value_name = "N", value_parser = names::count::<NonZero<u32>>, allow_negative_numbers = true, help_heading = "Several machines")]
    slurm: Option<NonZero<u32>>,

    /// A further option for sbatch, for the array and the merge, such as --sbatch=--partition=long;
    /// may be given several times
    #[arg(
        long,
        value_name = "OPTION",
        allow_hyphen_values = true,
        requires = "slurm",
        help_heading = "Several machines"
    )]
    sbatch: Vec<String>,
}

impl Part {
    /// The Slurm job array that runs this work, each task with `cpus` processors; `None` without
    /// `--slurm`. Its scripts are in the folder. `points` is the number of points if more tasks
    /// than points are a mistake.
    pub(crate) fn slurm<'a>(
        &'a self,
        folder: &'a Path,
        cpus: Option<NonZero<usize>>,
        points: Option<usize>,
        replace: ReplaceArgs,
    ) -> Option<Slurm<'a>> {
        Some(Slurm {
            tasks: self.slurm?,
            cpus,
            options: &self.sbatch,
            folder,
            points,
            replace,
        })
    }

    /// Runs the points, or reads what shards have run; `bar` shows the progress. Damaged files are
    /// reported on standard error.
    pub(crate) fn carry_out(
        &self,
        points: &[Point],
        folder: &Path,
        threads: Option<NonZero<usize>>,
        bar: &Bar<'_>,
    ) -> Result<Vec<Finished>, Failure> {
        let mut damaged = |path: &Path| {
            let path = path.display();
            failure::to_stderr(&format_args!(
                "warning: {path}: damaged; its point counts as not run"
            ));
        };
        let options = StudyOptions {
            threads,
            shard: self.shard,
            merge: self.merge,
        };
        let finished = run_points(points, folder, options, bar, &mut damaged);
        bar.clear();
        finished.map_err(|error| {
            if error.is_interrupted() {
                failure::goes_on(folder)
            } else {
                error.to_string().into()
            }
        })
    }

    pub(crate) fn summary(&self, finished: &[Finished]) -> String {
        let count = counted(finished.len(), "point");
        let known = finished.iter().filter(|point| point.resumed).count();
        match self.shard {
            _ if self.merge => format!("{count}, all of them run before"),
            None => format!("{count}, {known} of them run before"),
            Some(shard) => format!("shard {shard}: {count}, {known} of them run before"),
        }
    }

    /// Whether the results of all points come out.
    pub(crate) const fn is_whole(&self) -> bool {
        self.shard.is_none()
    }

    /// Whether this command runs all points itself.
    pub(crate) const fn is_plain(&self) -> bool {
        self.shard.is_none() && !self.merge
    }
}
