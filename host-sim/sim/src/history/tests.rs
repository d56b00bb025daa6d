use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::backend::InProcessBackends;
use crate::experiment::{Measure, Replications};
use crate::metrics::Metric;
use crate::metrics::SLOWDOWN_THRESHOLD;
use crate::workload::{Rate, ServiceDistribution, SideDistribution, Synthetic, Workload};
use meshalloc::{Mesh, SchedulerKind};

/// Short runs at a load that makes jobs wait, measured by departures: averages over the whole time.
fn experiment(strategies: &[StrategyKind]) -> Experiment {
    let mesh = Mesh::new(8, 8).unwrap();
    let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
    let workload = Synthetic::new(mesh, SideDistribution::Uniform, service, Rate::Load(0.7));
    Experiment {
        machine: mesh.into(),
        description: None,
        strategies: strategies.to_vec(),
        scheduler: SchedulerKind::Fcfs,
        workload: Workload::Synthetic(workload),
        jobs: 600,
        measure: Measure::Departures,
        backlog: None,
        replications: Replications::Fixed(1),
        slowdown_threshold: SLOWDOWN_THRESHOLD,
        seed: 5,
    }
}

fn short() -> Vec<History> {
    let strategies = [
        StrategyKind::FirstFit,
        StrategyKind::Naive,
        StrategyKind::Buddy,
    ];
    let mut backends = InProcessBackends::default();
    histories(&experiment(&strategies), &mut backends, &()).unwrap()
}

#[test]
fn integrals_over_the_steps_are_the_runs_own_metrics() {
    for history in short() {
        let mut steps = history.steps();
        assert_eq!(steps[0].at, 0);
        assert!(steps.is_sorted_by(|one, other| one.at < other.at));
        steps.push(Step {
            at: history.end,
            ..Step::default()
        });
        let (mut used, mut fragmented) = (0, 0);
        for pair in steps.windows(2) {
            let span = u128::from(pair[1].at - pair[0].at);
            used += u128::from(pair[0].used) * span;
            fragmented += u128::from(pair[0].fragmented) * span;
        }
        let all = u128::from(history.machine.nodes()) * u128::from(history.end);
        for (sum, metric) in [
            (used, Metric::Utilization),
            (fragmented, Metric::ExternalFragmentation),
        ] {
            let expected = history.result.values[metric].unwrap();
            assert_eq!(sum as f64 / all as f64, expected, "{metric:?}");
        }
        assert!(steps.iter().any(|step| step.waiting > 3));
    }
}

#[test]
fn means_of_spans_are_those_of_a_sum_over_every_moment() {
    for history in short() {
        let steps = history.steps();
        // A time at which the run has ended already, in spans that are whole ticks.
        let end = history.end / 900 * 1000;
        let means = history.means(end, 40);
        let at_end = history.end as f64 / (end as f64 / 40.0);
        assert_eq!(means.len(), at_end.ceil() as usize);
        let naive = |from: f64, to: f64, value: fn(&Step) -> u32| {
            let sum: f64 = (0..steps.len())
                .map(|place| {
                    let next = steps.get(place + 1).map_or(history.end, |step| step.at);
                    let span = (next as f64).min(to) - (steps[place].at as f64).max(from);
                    f64::from(value(&steps[place])) * span.max(0.0)
                })
                .sum();
            sum / (to - from)
        };
        for (place, mean) in means.iter().enumerate() {
            let edge = |place: usize| (end as f64 * place as f64 / 40.0).min(history.end as f64);
            let (from, to) = (edge(place), edge(place + 1));
            for (mean, expected) in [
                (mean.used, naive(from, to, |step| step.used)),
                (mean.fragmented, naive(from, to, |step| step.fragmented)),
                (mean.waiting, naive(from, to, |step| step.waiting)),
            ] {
                assert!((mean - expected).abs() < 1e-6, "{place}: {mean} {expected}");
            }
        }
    }
}

#[test]
fn no_two_jobs_hold_a_processor_at_a_time() {
    for history in short() {
        let machine = history.machine;
        let mut held = vec![Vec::new(); machine.nodes() as usize];
        for job in &history.jobs {
            let Some(start) = job.start else { continue };
            for (first, last) in crate::processors::intervals(machine, &job.blocks) {
                for node in first..=last {
                    held[node as usize].push((start, job.end.unwrap_or(history.end)));
                }
            }
        }
        for times in &mut held {
            times.sort_unstable();
            assert!(times.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }
}

#[test]
fn progress_has_as_many_jobs_as_it_expects() {
    #[derive(Default)]
    struct Counts {
        expected: AtomicU64,
        left: AtomicU64,
    }
    impl Progress for Counts {
        fn begin(&self, runs_max: u64, jobs_per_run: u64) {
            self.expected
                .fetch_add(runs_max * jobs_per_run, Ordering::Relaxed);
        }
        fn advance(&self, jobs: u64) {
            self.left.fetch_add(jobs, Ordering::Relaxed);
        }
    }
    let counts = Counts::default();
    let strategies = [StrategyKind::FirstFit, StrategyKind::Naive];
    let mut backends = InProcessBackends::default();
    histories(&experiment(&strategies), &mut backends, &counts).unwrap();
    let (expected, left) = (counts.expected.into_inner(), counts.left.into_inner());
    assert_eq!((expected, left), (2 * 600, 2 * 600));
}
