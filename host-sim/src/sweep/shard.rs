//! Division of a sweep among machines.
//!
//! The points are divided by their expected cost, which follows from the scenario alone: whichever machine computes a shard, it
//! finds the same points in it. The costliest points are dealt out first, each to the shard that has least so far
//! (longest processing time first: R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on
//! Applied Mathematics 17(2), 1969). Points of equal cost are dealt out in a shuffled order, since neighbours in a grid differ in
//! one key, and a key that changes the cost in ways not modelled here must not put its costly points into one shard.
//!
//! The cost of a point is that of its runs:
//!
//! - runs: the replications, or the least number of them where an error decides, times the strategies;
//! - in each run so many jobs, each of which costs 512 units, 1 unit being about 4 ns;
//! - 1 more for each processor of the machine where a strategy looks at single processors: all that are not contiguous, and
//!   busy list;
//! - 256 more for each message of a job, where jobs send messages: as many as a job of a quarter of the machine sends in one
//!   iteration, the square of its processors for patterns in which each sends to each.
//!
//! What is not in it: how many replications an error takes, and how much longer searches are on a crowded machine.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use meshalloc::StrategyKind;

use super::Point;
use crate::experiment::{Experiment, REPLICATIONS_MIN, Replications};
use crate::file::folder_of;
use crate::workload::{Arrivals, Messages, Pattern, Workload};

/// One of several parts of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    count: NonZero<u32>,
    number: NonZero<u32>,
}

impl Shard {
    /// Shard `number` of `count`, from 1; `None` beyond the last.
    pub fn new(number: NonZero<u32>, count: NonZero<u32>) -> Option<Self> {
        (number <= count).then_some(Shard { count, number })
    }

    /// Its number, from 1.
    pub const fn number(self) -> u32 {
        self.number.get()
    }

    /// How many there are.
    pub const fn count(self) -> NonZero<u32> {
        self.count
    }

    /// The places of its points among all points, ascending. With more shards than points some have none.
    pub fn places(self, points: &[Point]) -> Vec<usize> {
        let shards = divide(points, self.count);
        let places = shards.iter().enumerate();
        let own = places.filter(|&(_, &shard)| shard == self.number.get());
        own.map(|(place, _)| place).collect()
    }

    /// Its journal, beside that of the whole sweep: `points.3-of-16.jsonl` beside `points.jsonl`.
    pub fn journal(self, whole: &Path) -> PathBuf {
        whole.with_file_name(Self::journal_name(whole, self.number, self.count))
    }

    /// The name of that file.
    pub(super) fn journal_name(whole: &Path, number: impl Display, count: impl Display) -> String {
        let (stem, extension) = name_parts(whole);
        format!("{stem}.{number}-of-{count}{extension}")
    }

    /// The journals of shards beside that of the whole sweep, by shard.
    pub(super) fn journals(whole: &Path) -> io::Result<Vec<(Shard, PathBuf)>> {
        let (stem, extension) = name_parts(whole);
        let mut found = Vec::new();
        for entry in folder_of(whole).read_dir()? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let shard = name
                .strip_prefix(&stem)
                .and_then(|rest| rest.strip_prefix('.'))
                .and_then(|rest| rest.strip_suffix(&extension))
                .and_then(|rest| rest.split_once("-of-"))
                .and_then(|(number, count)| Shard::new(number.parse().ok()?, count.parse().ok()?));
            if let Some(shard) = shard {
                found.push((shard, path));
            }
        }
        found.sort();
        Ok(found)
    }
}

/// The name without its ending, and the ending with its dot.
fn name_parts(path: &Path) -> (String, String) {
    let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let extension = text(path.extension());
    let dot = if extension.is_empty() { "" } else { "." };
    (text(path.file_stem()), format!("{dot}{extension}"))
}

/// For each point the number of its shard, from 1. Takes time n log n.
pub(super) fn divide(points: &[Point], count: NonZero<u32>) -> Vec<u32> {
    let costs: Vec<u64> = points.iter().map(|point| cost(&point.experiment)).collect();
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_unstable_by_key(|&place| (Reverse(costs[place]), shuffled(place as u64)));
    let mut shards: BinaryHeap<_> = (1..=count.get())
        .map(|number| Reverse((0_u64, number)))
        .collect();
    let mut divided = vec![0; points.len()];
    for place in order {
        let Some(mut least) = shards.peek_mut() else {
            break;
        };
        let Reverse((load, number)) = &mut *least;
        divided[place] = *number;
        *load = load.saturating_add(costs[place]);
    }
    divided
}

/// A permutation of the 64-bit numbers without a visible order (the finalizer of SplitMix64; G. L. Steele, D. Lea
/// and C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
const fn shuffled(place: u64) -> u64 {
    let mut bits = place.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// What a point is expected to cost, at least 1; see the module. Whole numbers only, so that every machine finds the same.
pub(super) fn cost(experiment: &Experiment) -> u64 {
    let runs = match (&experiment.workload, experiment.replications) {
        (Workload::Log(_), _) => 1,
        (_, Replications::Fixed(count)) => count,
        (
            _,
            Replications::UntilRelativeError { max, .. }
            | Replications::UntilAbsoluteError { max, .. },
        ) => REPLICATIONS_MIN.min(max),
    };
    let jobs = match &experiment.workload {
        Workload::Log(log) => log.jobs.len() as u64,
        Workload::Synthetic(workload) => match workload.arrivals {
            Arrivals::Poisson(_) => experiment.jobs.into(),
            Arrivals::AtOnce { tasks } => tasks.into(),
        },
    };
    let processors = u64::from(experiment.machine.nodes());
    let messages = experiment.workload.messages();
    let messages = messages.map_or(0, |messages| sent(messages, processors / 4));
    let of_job = |strategy: &StrategyKind| {
        let by_processor =
            !strategy.holds().is_contiguous() || matches!(strategy, StrategyKind::BusyList);
        let looks_at = if by_processor { processors } else { 0 };
        messages.saturating_mul(256).saturating_add(512 + looks_at)
    };
    let of_jobs = experiment.strategies.iter().map(of_job);
    let of_jobs = of_jobs.fold(0, u64::saturating_add);
    let cost = of_jobs.saturating_mul(jobs).saturating_mul(runs.into());
    cost.max(1)
}

/// The messages of one job with so many processors, on average over the patterns.
fn sent(messages: &Messages, processors: u64) -> u64 {
    let patterns = messages.patterns.as_slice();
    let of_pattern = |pattern: &Pattern| match pattern {
        Pattern::AllToAll | Pattern::NBody => processors.saturating_mul(processors),
        _ => processors,
    };
    let all = patterns.iter().map(of_pattern).fold(0, u64::saturating_add);
    let mean = all / (patterns.len() as u64).max(1);
    let each = u64::from(messages.per_pair) * u64::from(messages.iterations);
    mean.saturating_mul(each)
}
