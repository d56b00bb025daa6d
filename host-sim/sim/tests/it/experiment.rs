use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use meshalloc::{Cube, Mesh, StrategyKind};
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment::{
    Experiment, Measure, Progress, Replications, Stop, StrategyResult, run, run_once,
};
use meshalloc_sim::machine::MachineSource;
use meshalloc_sim::metrics::{Metric, Unit};
use meshalloc_sim::scenario::{Scenario, StrategyChoice};
use meshalloc_sim::workload::{Log, LogOptions, SharedLogs, Workload};

use super::{AS, FSL};

fn synthetic(side: u16, load: f64, jobs: u32, strategies: &[StrategyKind]) -> Experiment {
    Experiment {
        replications: Replications::Fixed(3),
        ..super::experiment(super::uniform(side, load), jobs, strategies)
    }
}

fn results(experiment: &Experiment) -> Vec<StrategyResult> {
    run(experiment, &mut InProcessBackends::default(), &()).unwrap()
}

#[test]
fn saturation_is_told_from_high_load() {
    // Uniform sides on 64 x 64: adaptive scan saturates near .51, the free submesh list near .54.
    for (load, jobs, expected) in [
        (0.30, 1_000, false),
        (0.47, 2_000, false),
        (0.47, 12_000, false),
        (0.65, 2_000, true),
        (0.65, 12_000, true),
        (2.0, 500, true),
    ] {
        for result in results(&synthetic(64, load, jobs, &[AS, FSL])) {
            let name = result.strategy.name();
            assert_eq!(
                result.saturated, expected,
                "{name}, load {load}, {jobs} jobs"
            );
        }
    }
}

#[test]
fn one_seed_one_result() {
    let experiment = synthetic(16, 0.5, 800, &[AS, FSL]);
    let [first, again] = [results(&experiment), results(&experiment)];
    for (first, again) in first.iter().zip(&again) {
        assert_eq!(first.runs, again.runs);
        assert_eq!(first.decision_hash, again.decision_hash);
    }
    // Replications differ, and so do seeds.
    assert_ne!(first[0].runs[0], first[0].runs[1]);
    let other = results(&Experiment {
        seed: 2,
        ..experiment.clone()
    });
    assert_ne!(first[0].decision_hash, other[0].decision_hash);
    // A replication depends on its number alone, and not on the strategies beside it.
    let alone = run_once(&experiment, FSL, 2, &mut InProcessBackends::default(), &()).unwrap();
    assert_eq!(alone, first[1].runs[2]);
}

#[test]
fn strategies_share_their_jobs() {
    let results = results(&synthetic(16, 0.4, 800, &[AS, FSL]));
    let service = |result: &StrategyResult| result.metrics[Metric::ServiceTime];
    assert_eq!(service(&results[0]), service(&results[1]));
    assert_ne!(results[0].decision_hash, results[1].decision_hash);
    let gain = results[1].gain_over(&results[0], Metric::WaitingDelay);
    let means = [0, 1].map(|i: usize| results[i].metrics[Metric::WaitingDelay].unwrap().mean);
    assert!((gain.unwrap().mean - (1.0 - means[1] / means[0])).abs() < 1e-12);
}

#[test]
fn replicates_until_every_strategy_is_exact() {
    let mut experiment = synthetic(16, 0.4, 2_000, &[AS, FSL]);
    let stopped = |experiment: &Experiment| {
        let results = results(experiment);
        assert_eq!(results[0].runs.len(), results[1].runs.len());
        let errors = results.iter().map(|result| {
            let delay = result.metrics[Metric::WaitingDelay].unwrap();
            (result.stop, delay.relative_error().unwrap())
        });
        (results[0].runs.len(), errors.collect::<Vec<_>>())
    };
    experiment.replications = Replications::UntilRelativeError {
        target: 0.15,
        max: 50,
    };
    let (runs, errors) = stopped(&experiment);
    assert!((11..50).contains(&runs), "{runs}");
    for (stop, error) in errors {
        assert_eq!(stop, Stop::ErrorReached);
        assert!(error <= 0.15);
    }
    // One replication fewer was not enough.
    experiment.replications = Replications::Fixed(u32::try_from(runs).unwrap() - 1);
    let (before, errors) = stopped(&experiment);
    assert!(before >= 10 && errors.iter().any(|&(_, error)| error > 0.15));
    experiment.replications = Replications::UntilRelativeError {
        target: 0.001,
        max: 10,
    };
    let (runs, errors) = stopped(&experiment);
    assert_eq!(runs, 10);
    assert!(errors.iter().all(|&(stop, _)| stop == Stop::CapReached));
}

/// An absolute error is checked after 12 and 16 replications, and at the cap.
#[test]
fn at_the_cap_the_error_is_judged() {
    let mut experiment = synthetic(16, 0.4, 2_000, &[AS]);
    for max in [10, 11, 12, 13] {
        for (target, stop) in [(0.4, Stop::ErrorReached), (1e-6, Stop::CapReached)] {
            for replications in [
                Replications::UntilAbsoluteError { target, max },
                Replications::UntilRelativeError { target, max },
            ] {
                experiment.replications = replications;
                let results = results(&experiment);
                assert_eq!(results[0].stop, stop, "{replications:?}");
            }
        }
    }
}

#[test]
fn intervals_of_fractions_stay_within_0_and_1() {
    let mut experiment = synthetic(8, 0.4, 50, &[AS, StrategyKind::Naive]);
    experiment.replications = Replications::Fixed(2);
    let mut beyond = 0;
    for result in results(&experiment) {
        for metric in Metric::ALL
            .into_iter()
            .filter(|it| it.unit() == Unit::Fraction)
        {
            let Some(ends) = result.metrics[metric].and_then(|estimate| estimate.ci95) else {
                continue;
            };
            assert!(0.0 <= ends.low && ends.high <= 1.0, "{metric:?}: {ends:?}");
            // It would be wider.
            let sample = result.sample(metric).and_then(|sample| sample.estimate());
            let whole = sample.unwrap().ci95.unwrap();
            let cut = (whole.low.max(0.0), whole.high.min(1.0));
            assert_eq!((ends.low, ends.high), cut);
            beyond += u32::from(whole.low < 0.0 || whole.high > 1.0);
        }
    }
    assert!(beyond > 0, "none of these intervals had to be cut");
}

#[test]
fn saturated_strategies_do_not_hold_up_the_others() {
    let mut experiment = synthetic(64, 0.65, 1_000, &[AS, StrategyKind::Naive]);
    experiment.replications = Replications::UntilRelativeError {
        target: 0.5,
        max: 20,
    };
    let results = results(&experiment);
    assert_eq!(results[0].stop, Stop::Saturated);
    assert!(!results[1].saturated);
    assert!(results[0].runs.len() < 20);
}

#[test]
fn fewer_replications_than_the_least_are_incomplete_even_where_saturated() {
    struct After(AtomicU64);
    impl Progress for After {
        fn advance(&self, jobs: u64) {
            self.0.fetch_add(jobs, Ordering::Relaxed);
        }
        fn is_interrupted(&self) -> bool {
            self.0.load(Ordering::Relaxed) >= 4 * 475
        }
    }
    let mut experiment = synthetic(16, 1.5, 500, &[AS]);
    let until = |max| Replications::UntilRelativeError { target: 0.05, max };
    experiment.replications = until(100);
    let progress = After(AtomicU64::new(0));
    let failed = run(&experiment, &mut InProcessBackends::default(), &progress).unwrap_err();
    let complete = &failed.complete[0];
    assert_eq!(complete[0].runs.len(), 4);
    assert!(complete[0].saturated);
    assert_eq!(complete[0].stop, Stop::Incomplete);
    // The least number, whatever the cap.
    for max in [100, 10] {
        experiment.replications = until(max);
        let result = results(&experiment).remove(0);
        assert_eq!((result.runs.len(), result.stop), (10, Stop::Saturated));
    }
}

#[test]
fn runs_that_are_too_short_for_their_load_are_marked() {
    // The mean delay of the short ones is more than a tenth below that of long ones, and their
    // backlog seldom grows.
    for (load, jobs, expected) in [(0.50, 5_000, true), (0.35, 5_000, false)] {
        let mut experiment = synthetic(64, load, jobs, &[AS]);
        experiment.replications = Replications::Fixed(10);
        let result = results(&experiment).remove(0);
        assert!(!result.saturated, "{load}");
        assert_eq!(result.grows_with_length, expected, "{load}");
    }
    // One run has no spread, a closed workload no other length.
    let mut experiment = synthetic(64, 0.50, 5_000, &[AS]);
    experiment.replications = Replications::Fixed(1);
    assert!(!results(&experiment)[0].grows_with_length);
    let closed = chuang_wu(&[StrategyKind::Sniffing], 10);
    assert!(!results(&closed)[0].grows_with_length);
}

#[test]
fn progress_receives_every_job() {
    #[derive(Default)]
    struct Counts([AtomicU64; 3]);
    impl Progress for Counts {
        fn begin(&self, runs_max: u64, jobs_per_run: u64) {
            self.0[0].store(runs_max, Ordering::Relaxed);
            self.0[1].store(jobs_per_run, Ordering::Relaxed);
        }
        fn advance(&self, jobs: u64) {
            self.0[2].fetch_add(jobs, Ordering::Relaxed);
        }
    }
    let counts = Counts::default();
    let experiment = synthetic(8, 0.4, 1_000, &[AS, FSL]);
    run(&experiment, &mut InProcessBackends::default(), &counts).unwrap();
    let counts = counts.0.map(AtomicU64::into_inner);
    assert_eq!(counts, [6, 950, 6 * 950]);
}

#[test]
fn what_cannot_be_run_is_an_error() {
    let good = synthetic(8, 0.4, 1_000, &[AS]);
    let error = |experiment: &Experiment| {
        let result = run(experiment, &mut InProcessBackends::default(), &());
        result.unwrap_err().to_string()
    };
    for (experiment, part) in [
        (
            Experiment {
                jobs: 0,
                ..good.clone()
            },
            "number of jobs (--jobs) is 0",
        ),
        (
            Experiment {
                replications: Replications::Fixed(0),
                ..good.clone()
            },
            "replications is 0",
        ),
        (
            Experiment {
                replications: Replications::UntilRelativeError {
                    target: 0.0,
                    max: 9,
                },
                ..good.clone()
            },
            "error to reach is 0",
        ),
        (
            Experiment {
                replications: Replications::UntilRelativeError {
                    target: 0.5,
                    max: 9,
                },
                ..good.clone()
            },
            "the most replications is 9: expected at least 10",
        ),
        (
            Experiment {
                measure: Measure::Arrivals {
                    warmup_fraction: 1.0,
                },
                ..good.clone()
            },
            "not measured (--warmup) is 1",
        ),
        (
            synthetic(8, -0.4, 1_000, &[AS]),
            "the load (--load) is -0.4",
        ),
    ] {
        let error = error(&experiment);
        assert!(error.contains(part), "{error}");
        assert!(error.contains("expected"), "{error}");
    }
}

fn log_experiment(log: Log, mesh: Mesh, strategy: StrategyKind) -> Experiment {
    Experiment {
        workload: Workload::Log(log),
        machine: mesh.into(),
        description: None,
        ..synthetic(1, 0.5, 1, &[strategy])
    }
}

#[test]
fn a_log_is_measured_whole_and_once() {
    let text = "1 0 -1 10 4 -1 -1 4 -1 -1 1 1 1 -1 -1 -1 -1 -1\n\
                2 0 -1 10 3 -1 -1 3 -1 -1 1 1 1 -1 -1 -1 -1 -1\n\
                3 5 -1 10 5 -1 -1 5 -1 -1 1 1 1 -1 -1 -1 -1 -1\n";
    let mesh = Mesh::new(2, 2).unwrap();
    let options = LogOptions::default();
    let path = Path::new("small.swf");
    let log = Log::from_reader(text.as_bytes(), path, options, mesh.into()).unwrap();
    let result = results(&log_experiment(log, mesh, StrategyKind::Naive)).remove(0);
    let delay = result.metrics[Metric::WaitingDelay].unwrap();
    assert_eq!((delay.mean, delay.ci95, delay.replications), (5.0, None, 1));
    assert_eq!(result.metrics[Metric::Jobs].unwrap().mean, 2.0);
    // Five processors never fit on four.
    assert_eq!(result.refused.total(), 1);
    assert_eq!((result.stop, result.saturated), (Stop::Fixed, false));
}

#[test]
fn the_kth_log_has_its_independent_value() {
    let Some(folder) = std::env::var_os("MESHALLOC_TRACES") else {
        // In the form that `cargo xtask test` counts and repeats.
        println!("SKIPPED: the KTH-SP2 log, since MESHALLOC_TRACES is unset");
        return;
    };
    let path = Path::new(&folder).join("KTH-SP2-1996-2.1-cln.swf.gz");
    let mesh = Mesh::new(10, 10).unwrap();
    let log = Log::read(&path, LogOptions::default(), mesh.into()).unwrap();
    assert_eq!((log.jobs.len(), log.lines.records), (28_475, 28_476));
    assert_eq!((log.lines.no_processors, log.lines.no_run_time), (1, 0));
    let result = results(&log_experiment(log, mesh, StrategyKind::Naive)).remove(0);
    let mean = |metric| result.metrics[metric].unwrap().mean;
    assert_eq!(mean(Metric::Jobs), 28_475.0);
    assert!((mean(Metric::WaitingDelay) - 390_083.03).abs() < 0.005);
    assert_eq!(mean(Metric::CompletionTime), 29_381_344.0);
    assert_eq!(mean(Metric::InternalFragmentation), 0.0);
    assert_eq!((result.decisions, result.refused.total()), (28_475, 0));
    assert!(!result.saturated);
}

fn chuang_wu(strategies: &[StrategyKind], replications: u32) -> Experiment {
    let strategies = strategies.iter().copied().map(StrategyChoice::One);
    let scenario = Scenario {
        machine: Some(MachineSource::Grid(Cube::new(4, 3).unwrap().grid())),
        strategy: Some(strategies.collect()),
        replications: Some(replications),
        ..Scenario::default()
    };
    let resolved = scenario.resolve().unwrap();
    resolved.experiment(&SharedLogs::default()).unwrap()
}

#[test]
fn the_cell_of_chuang_and_wu_has_its_independent_values() {
    // U*U, service 5 to 10 s: utilization of an independent implementation, and its half-width.
    let expected = [
        (StrategyKind::TreeCollapsing, 0.677, 0.021),
        (StrategyKind::TreeCollapsingPrinted, 0.605, 0.014),
        (StrategyKind::FreeList, 0.555, 0.021),
        (StrategyKind::Sniffing, 0.396, 0.014),
    ];
    let strategies = expected.map(|(strategy, ..)| strategy);
    for replications in [10, 200] {
        let results = results(&chuang_wu(&strategies, replications));
        for (result, (strategy, mean, margin)) in results.iter().zip(expected) {
            let utilization = result.metrics[Metric::Utilization].unwrap();
            assert!(
                (utilization.mean - mean).abs() <= margin,
                "{strategy}, {replications}: {utilization:?}"
            );
            assert!(!result.saturated);
            assert_eq!(result.metrics[Metric::Jobs].unwrap().mean, 100.0);
        }
        let internal =
            |place: usize| results[place].metrics[Metric::InternalFragmentation].unwrap();
        assert_eq!((internal(0).mean, internal(1).mean), (0.0, 0.0));
        let sniffing = internal(3);
        let margin = sniffing.ci95.unwrap().half_width().max(0.01);
        assert!((sniffing.mean - 0.42).abs() <= margin, "{sniffing:?}");
    }
}

#[test]
fn a_random_strategy_gets_another_seed_in_each_replication_unless_it_has_one() {
    let named = [
        StrategyKind::Random { seed: 0 },
        StrategyKind::Random { seed: 7 },
    ];
    let mut experiment = synthetic(8, 0.4, 200, &named);
    experiment.replications = Replications::Fixed(2);
    let seeded = |strategy, replication| experiment.configuration(strategy, replication).strategy;
    assert_ne!(seeded(named[0], 0), seeded(named[0], 1));
    assert_ne!(seeded(named[0], 0), named[0]);
    assert_eq!(seeded(named[1], 0), named[1]);
    assert_eq!(seeded(FSL, 3), FSL);
    let one = results(&experiment);
    let hash = |result: &StrategyResult| result.decision_hash;
    assert!(
        one.iter()
            .map(hash)
            .eq(results(&experiment).iter().map(hash))
    );
    assert_ne!(hash(&one[0]), hash(&one[1]));
    assert_eq!(one[0].strategy, named[0]);
    experiment.seed += 1;
    assert_ne!(hash(&results(&experiment)[1]), hash(&one[1]));
}
