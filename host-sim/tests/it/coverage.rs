//! Intervals cover the true mean as often as they say: 300 seeds, at least 93 % of them (95 % less 1.6 standard errors
//! of the share).
//!
//! A 1 x 1 mesh serves one job after the other: with Poisson arrivals and exponential service times it is the queue
//! M/M/1, whose mean waiting delay at load rho is rho / (1 - rho) mean service times.

use std::ops::ControlFlow;
use std::sync::Mutex;

use meshalloc::{Mesh, SchedulerKind, StrategyKind};
use meshalloc_host_sim::backend::InProcessBackends;
use meshalloc_host_sim::experiment::{
    self, Experiment, Measure, Replications, Stop, StrategyResult,
};
use meshalloc_host_sim::metrics::{Metric, SLOWDOWN_THRESHOLD};
use meshalloc_host_sim::statistics::{Estimate, Sampling};
use meshalloc_host_sim::workload::{
    Rate, ServiceDistribution, SizeDistribution, Synthetic, Workload,
};

const SEEDS: u64 = 300;
const SHARE_MIN: f64 = 0.93;

/// What is measured, with the true mean waiting delay in seconds; service times have a mean of 10 seconds.
struct Case {
    side: u16,
    strategy: StrategyKind,
    load: f64,
    jobs: u32,
    /// Relative.
    error: f64,
    true_mean: f64,
}

impl Case {
    fn experiment(&self, seed: u64) -> Experiment {
        let mesh = Mesh::new(self.side, self.side).unwrap();
        let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
        let rate = Rate::Load(self.load);
        let workload = Synthetic::new(mesh, SizeDistribution::Uniform, service, rate);
        Experiment {
            machine: mesh.into(),
            strategies: vec![self.strategy],
            scheduler: SchedulerKind::Fcfs,
            workload: Workload::Synthetic(workload),
            jobs: self.jobs,
            measure: Measure::of(&workload),
            backlog: None,
            slowdown_threshold: SLOWDOWN_THRESHOLD,
            replications: Replications::UntilRelativeError {
                target: self.error,
                max: 1000,
            },
            seed,
        }
    }

    /// Checks the intervals of as many replications as the error needs, and those of the first ten of them, which is what
    /// ten fixed ones give.
    fn check(&self) {
        let experiments: Vec<_> = (1..=SEEDS).map(|seed| self.experiment(seed)).collect();
        let experiments: Vec<_> = experiments.iter().collect();
        let results = Mutex::new(Vec::new());
        let backends = &InProcessBackends::default;
        experiment::run_all(&experiments, None, backends, &(), &|_, mut of_seed| {
            results.lock().unwrap().append(&mut of_seed);
            ControlFlow::Continue(())
        })
        .unwrap();
        let results = results.into_inner().unwrap();
        assert_eq!(results.len() as u64, SEEDS);
        let first_ten = |result: &StrategyResult| {
            let runs = result.runs[..10].iter();
            let values: Vec<f64> = runs
                .map(|run| run.values[Metric::WaitingDelay].unwrap())
                .collect();
            Estimate::of(&values, Sampling::Independent).unwrap()
        };
        let until = |result: &StrategyResult| {
            assert_eq!(result.stop, Stop::ErrorReached);
            let delay = result.metrics[Metric::WaitingDelay].unwrap();
            assert!(delay.ci95.unwrap() <= self.error / (1.0 + self.error) * delay.mean);
            delay
        };
        let runs: usize = results.iter().map(|result| result.runs.len()).sum();
        let until_text = format!(
            "until {} ({:.1} replications)",
            self.error,
            runs as f64 / SEEDS as f64
        );
        let ways: [(&str, Vec<Estimate>); 2] = [
            ("ten replications", results.iter().map(first_ten).collect()),
            (&until_text, results.iter().map(until).collect()),
        ];
        for (way, delays) in ways {
            let covers =
                |delay: &&Estimate| (delay.mean - self.true_mean).abs() <= delay.ci95.unwrap();
            let share = delays.iter().filter(covers).count() as f64 / SEEDS as f64;
            let text = format!("{}, load {}, {way}: {share:.3}", self.strategy, self.load);
            println!("{text}");
            assert!(share >= SHARE_MIN, "{text}");
        }
    }
}

fn single_server(load: f64) -> Case {
    Case {
        side: 1,
        strategy: StrategyKind::FirstFit,
        load,
        jobs: 2_000,
        error: 0.1,
        true_mean: load / (1.0 - load) * 10.0,
    }
}

#[test]
fn intervals_cover_the_mean_of_a_single_server_at_load_50() {
    single_server(0.5).check();
}

#[test]
fn intervals_cover_the_mean_of_a_single_server_at_load_80() {
    single_server(0.8).check();
}

/// The true mean is 14.822 s, with a half-width of .038 s, by
/// `host-sim run --strategy as --load .35 --jobs 2000000 --replications 40 --seed 99`.
#[test]
#[ignore = "minutes; cargo test --release -p meshalloc-host-sim --test it coverage -- --ignored --nocapture"]
fn intervals_cover_the_mean_of_adaptive_scan() {
    Case {
        side: 64,
        strategy: StrategyKind::AdaptiveScan,
        load: 0.35,
        jobs: 40_000,
        error: 0.05,
        true_mean: 14.822,
    }
    .check();
}
