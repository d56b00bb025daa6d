//! Division of a study among machines.
//!
//! The points are divided by their expected cost, which follows from the scenario alone, so every
//! machine finds the same points in a shard. The costliest points are dealt out first, each to the
//! shard that has least so far (longest processing time first: R. L. Graham, "Bounds on
//! multiprocessing timing anomalies", SIAM Journal on Applied Mathematics 17(2), 1969). Points of
//! equal cost are dealt out in a shuffled order: a key of a grid that changes the cost in ways not
//! modelled here must not put its costly points into one shard.
//!
//! The cost of a point is that of its runs. It leaves out how many replications an error takes, and
//! how much longer searches are on a crowded machine. It is made of:
//!
//! - runs: the replications, or the least number of them where an error decides, times the
//!   strategies;
//! - the jobs of a run, each of which costs 512 units; a unit is about 4 ns;
//! - 1 more for each processor of the machine where a strategy looks at single processors: all that
//!   are not contiguous, and busy list;
//! - 256 more for each message of a job, where jobs send messages: as many as a job of a quarter of
//!   the machine sends in one iteration, the square of its processors for patterns in which each
//!   sends to each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::num::NonZero;
use std::str::FromStr;

use meshalloc::StrategyKind;

use super::Point;
use meshalloc_sim::experiment::{Experiment, REPLICATIONS_MIN, Replications};
use meshalloc_sim::workload::{Messages, Pattern, Workload, shuffled};

/// One of several parts of a study.
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

    /// The places of the shard's points among all points, ascending. If there are few points, the
    /// shard may have none.
    pub fn places(self, points: &[Point]) -> Vec<usize> {
        let shards = divide(points, self.count);
        let places = shards.iter().enumerate();
        let own = places.filter(|&(_, &shard)| shard == self.number.get());
        own.map(|(place, _)| place).collect()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Reads `I/N`.
    fn from_str(text: &str) -> Result<Self, String> {
        let shard = text
            .split_once('/')
            .and_then(|(number, count)| Shard::new(number.parse().ok()?, count.parse().ok()?));
        shard.ok_or_else(|| "expected I/N with 1 <= I <= N, such as 1/4".to_owned())
    }
}

/// For each point the number of its shard, from 1. Takes time n log n.
fn divide(points: &[Point], count: NonZero<u32>) -> Vec<u32> {
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

/// The expected cost of a point, at least 1. It is the same on every machine; see the module.
pub(super) fn cost(experiment: &Experiment) -> u64 {
    let runs = match (&experiment.workload, experiment.replications) {
        (workload, _) if !workload.is_replicated() => 1,
        (_, Replications::Fixed(count)) => count,
        (
            _,
            Replications::UntilRelativeError { max, .. }
            | Replications::UntilAbsoluteError { max, .. },
        ) => REPLICATIONS_MIN.min(max),
    };
    let jobs = match &experiment.workload {
        Workload::Log(log) => log.jobs.len() as u64,
        Workload::Synthetic(workload) => {
            let batch = workload.arrivals.batch();
            batch.unwrap_or(experiment.jobs).into()
        }
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

/// The messages of one job with this number of processors, on average over the patterns.
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

#[cfg(test)]
mod tests {
    use super::*;
    use meshalloc_sim::scenario::Scenario;
    use meshalloc_sim::workload::SharedLogs;

    /// A point for each combination of these values of the keys in `axes`, the last changing
    /// fastest. All points have the keys in `fixed`.
    fn points(fixed: &[(&str, &str)], axes: &[(&str, &[&str])]) -> Vec<Point> {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut choices = vec![Vec::new()];
        for (key, values) in axes {
            let longer = choices.iter().flat_map(|choice: &Vec<_>| {
                values.iter().map(|value| {
                    let mut choice = choice.clone();
                    choice.push(pair(key, value));
                    choice
                })
            });
            choices = longer.collect();
        }
        let points = choices.into_iter().map(|label| {
            let mut keys: Vec<_> = fixed.iter().map(|(key, value)| pair(key, value)).collect();
            keys.extend_from_slice(&label);
            let scenario = Scenario::of(keys).unwrap().resolve().unwrap();
            let experiment = scenario.experiment(&SharedLogs::default()).unwrap();
            Point { label, experiment }
        });
        points.collect()
    }

    fn mixed() -> Vec<Point> {
        points(
            &[("strategy", "ff,naive"), ("load", "0.3")],
            &[
                ("mesh", &["8x8", "32x32", "128x128"]),
                ("jobs", &["100", "1000", "5000"]),
                ("replications", &["1", "2", "30"]),
            ],
        )
    }

    fn count(shards: u32) -> NonZero<u32> {
        NonZero::new(shards).unwrap()
    }

    #[test]
    fn every_point_is_in_one_shard_and_no_shard_is_far_above_the_mean() {
        let points = mixed();
        let costs: Vec<u64> = points.iter().map(|point| cost(&point.experiment)).collect();
        let (total, most): (u64, u64) = (costs.iter().sum(), *costs.iter().max().unwrap());
        for shards in [1, 2, 3, 7, 16, 27, 40] {
            let parts = (1..=shards).map(|number| {
                let shard = Shard::new(count(number), count(shards)).unwrap();
                shard.places(&points)
            });
            let parts: Vec<_> = parts.collect();
            let mut all: Vec<usize> = parts.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..points.len()), "{shards}");
            let bound = total / u64::from(shards) + most;
            for part in parts {
                let load: u64 = part.iter().map(|&place| costs[place]).sum();
                // The load of a shard stays within this bound if each point goes to the shard that
                // has least (Graham 1966).
                assert!(load <= bound, "{shards}: {load} of {total}");
            }
        }
        assert_eq!(Shard::new(count(3), count(2)), None);
    }

    #[test]
    fn a_key_does_not_fall_together_with_the_shards() {
        // Equal costs, and as many loads as shards: dealt out in order, each shard would get one
        // load.
        let loads = &["0.1", "0.2", "0.3", "0.4"];
        let seeds = &[
            "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12",
        ];
        let points = points(&[("mesh", "16x16")], &[("seed", seeds), ("load", loads)]);
        for number in 1..=4 {
            let shard = Shard::new(count(number), count(4)).unwrap();
            let places = shard.places(&points);
            assert_eq!(places.len(), 12);
            let mut loads: Vec<_> = places.iter().map(|place| place % 4).collect();
            loads.sort_unstable();
            loads.dedup();
            assert!(loads.len() >= 3, "{places:?}");
        }
    }

    #[test]
    fn the_division_does_not_change() {
        // The machines of one division may have programs of different builds. The numbers are those
        // of a computation apart from this program.
        let divided = divide(&mixed(), count(3));
        let expected = [
            2, 2, 2, 2, 3, 3, 2, 3, 3, 3, 2, 2, 2, 3, 2, 3, 2, 3, 3, 3, 3, 2, 2, 2, 2, 3, 1,
        ];
        assert_eq!(divided, expected);
    }

    #[test]
    fn cost_is_runs_times_jobs_times_what_a_job_takes() {
        let cost = |keys: &[(&str, &str)]| cost(&points(keys, &[])[0].experiment);
        let with = |strategy| {
            cost(&[
                ("mesh", "64x64"),
                ("load", "0.3"),
                ("jobs", "1000"),
                ("replications", "4"),
                ("strategy", strategy),
            ])
        };
        assert_eq!(with("ff"), 4 * 1000 * 512);
        assert_eq!(with("ff,fsl"), 2 * with("ff"));
        assert_eq!(with("naive"), 4 * 1000 * (512 + 4096));
        assert_eq!(with("bl"), with("naive"));
        let sends = |pattern| {
            cost(&[
                ("mesh", "8x8"),
                ("strategy", "ff"),
                ("jobs", "10"),
                ("replications", "1"),
                ("pattern", pattern),
                ("arrival-rate", "0.001"),
            ])
        };
        assert_eq!(sends("ring"), 10 * (512 + 256 * 16));
        assert_eq!(sends("all-to-all"), 10 * (512 + 256 * 256));
    }

    #[test]
    fn a_shard_is_read_as_it_is_written_on_the_command_line() {
        let third = Shard::new(count(3), count(16)).unwrap();
        assert_eq!("3/16".parse(), Ok(third));
        assert_eq!(third.to_string(), "3 of 16");
        for wrong in [
            "",
            "3",
            "0/2",
            "3/2",
            "1/0",
            "-1/2",
            "1/2/3",
            "a/b",
            "1/4294967296",
        ] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
