//! Which part of a sweep a command runs: all points, one shard, or none.

use std::num::NonZero;
use std::path::Path;

use clap::Args;

use super::{Finished, Point, Shard, SweepError, SweepOptions, gather, run_points};
use crate::failure;
use crate::progress::Bar;
use meshalloc_sim::wording::counted;

/// The part of the points.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Run only shard I of N: the points are divided into N shards of about equal expected cost,
    /// for N machines that share the folder of results
    #[arg(
        long,
        value_name = "I/N",
        conflicts_with = "merge",
        help_heading = "Several machines"
    )]
    shard: Option<Shard>,

    /// Run nothing: write the results of the points that all shards have run
    #[arg(long, conflicts_with = "count", help_heading = "Several machines")]
    merge: bool,
}

impl Part {
    /// Runs the points, or reads what shards have run; `bar` shows the progress. Damaged files are
    /// reported on standard error.
    pub(crate) fn carry_out(
        self,
        points: &[Point],
        folder: &Path,
        threads: Option<NonZero<usize>>,
        anew: bool,
        bar: &Bar<'_>,
    ) -> Result<Vec<Finished>, SweepError> {
        let mut damaged = |path: &Path| {
            let path = path.display();
            failure::to_stderr(&format_args!(
                "warning: {path}: damaged; its point counts as not run"
            ));
        };
        if self.merge {
            return gather(points, folder, &mut damaged);
        }
        let options = SweepOptions {
            threads,
            anew,
            shard: self.shard,
        };
        let finished = run_points(points, folder, options, bar, &mut damaged);
        bar.clear();
        finished
    }

    pub(crate) fn summary(self, finished: &[Finished]) -> String {
        let count = counted(finished.len(), "point");
        let known = finished.iter().filter(|point| point.resumed).count();
        match self.shard {
            _ if self.merge => format!("{count}, all of them run before"),
            None => format!("{count}, {known} of them run before"),
            Some(shard) => format!("shard {shard}: {count}, {known} of them run before"),
        }
    }

    /// Whether the results of all points come out.
    pub(crate) const fn is_whole(self) -> bool {
        self.shard.is_none()
    }

    /// Whether it is all points, run here.
    pub(crate) const fn is_plain(self) -> bool {
        self.shard.is_none() && !self.merge
    }
}
