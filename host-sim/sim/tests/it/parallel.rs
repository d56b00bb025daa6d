use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use meshalloc::{Configuration, Description, StrategyKind};
use meshalloc_sim::backend::{Backend, BackendError, Backends, InProcessBackends};
use meshalloc_sim::experiment::{
    Experiment, Progress, Replications, Stop, StrategyResult, run, run_all, run_parallel,
};
use meshalloc_sim::simulation::Observer;

use super::AS;

fn experiment(load: f64, replications: Replications) -> Experiment {
    let strategies = [AS, StrategyKind::FirstFit];
    Experiment {
        replications,
        ..super::experiment(super::uniform(16, load), 400, &strategies)
    }
}

fn until(target: f64, max: u32) -> Replications {
    Replications::UntilRelativeError { target, max }
}

fn threads(count: usize) -> Option<NonZero<usize>> {
    NonZero::new(count)
}

fn one_after_the_other(experiment: &Experiment) -> Vec<StrategyResult> {
    run(experiment, &mut InProcessBackends::default(), &()).unwrap()
}

#[test]
fn any_number_of_threads_gives_what_one_run_after_the_other_gives() {
    let experiments = [
        experiment(0.4, Replications::Fixed(1)),
        experiment(0.4, Replications::Fixed(5)),
        experiment(0.3, until(0.2, 200)),
        experiment(0.4, until(0.3, 200)),
        // The cap comes first; fewer than the least that counts.
        experiment(0.4, until(0.001, 12)),
        experiment(0.4, until(0.5, 10)),
        // Saturated.
        experiment(1.5, until(0.1, 30)),
    ];
    let expected: Vec<_> = experiments.iter().map(one_after_the_other).collect();
    let stops: Vec<_> = expected.iter().map(|results| results[0].stop).collect();
    for stop in [
        Stop::Fixed,
        Stop::ErrorReached,
        Stop::CapReached,
        Stop::Saturated,
    ] {
        assert!(stops.contains(&stop), "{stops:?}");
    }
    let counts = expected.iter().map(|results| results[0].runs.len());
    assert!(
        counts.max() > Some(8),
        "an error must take some replications"
    );

    for count in [1, 2, 3, 8] {
        let seen = Mutex::new(vec![None; experiments.len()]);
        let all: Vec<_> = experiments.iter().collect();
        let results = run_all(
            &all,
            threads(count),
            &InProcessBackends::default,
            &(),
            &|place, outcome| {
                let earlier = seen.lock().unwrap()[place].replace(outcome.to_vec());
                assert!(earlier.is_none(), "finished twice");
                ControlFlow::Continue(())
            },
        );
        let seen = seen.into_inner().unwrap().into_iter().zip(results.unwrap());
        for (expected, (seen, results)) in expected.iter().zip(seen) {
            assert_eq!(*expected, seen.unwrap());
            assert_eq!(*expected, results);
        }
        for (experiment, expected) in experiments.iter().zip(&expected) {
            let backends = InProcessBackends::default;
            let results = run_parallel(experiment, threads(count), &backends, &()).unwrap();
            assert_eq!(*expected, results);
        }
    }
}

#[test]
fn one_thread_runs_no_replication_too_many() {
    struct Count(AtomicU32);
    impl Progress for Count {
        fn recorder(&self, _: StrategyKind, _: u32) -> Box<dyn Observer + '_> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Box::new(())
        }
    }
    let experiment = experiment(0.3, until(0.2, 200));
    let count = Count(AtomicU32::new(0));
    let backends = InProcessBackends::default;
    let results = run_parallel(&experiment, threads(1), &backends, &count).unwrap();
    let runs: usize = results.iter().map(|result| result.runs.len()).sum();
    assert_eq!(count.0.into_inner() as usize, runs);
}

#[test]
fn what_was_expected_is_in_the_end_what_was_done() {
    #[derive(Default)]
    struct Jobs {
        expected: AtomicI64,
        done: AtomicI64,
    }
    impl Progress for Jobs {
        fn begin(&self, runs: u64, jobs_per_run: u64) {
            let jobs = (runs * jobs_per_run) as i64;
            self.expected.fetch_add(jobs, Ordering::Relaxed);
        }
        fn expect_more(&self, jobs: i64) {
            self.expected.fetch_add(jobs, Ordering::Relaxed);
        }
        fn advance(&self, jobs: u64) {
            self.done.fetch_add(jobs as i64, Ordering::Relaxed);
        }
    }
    let experiments = [
        experiment(0.3, until(0.2, 200)),
        experiment(0.4, Replications::Fixed(2)),
        experiment(0.4, until(0.3, 200)),
    ];
    for count in [1, 4] {
        let jobs = Jobs::default();
        let all: Vec<_> = experiments.iter().collect();
        let go_on = |_, _: &[StrategyResult]| ControlFlow::Continue(());
        run_all(
            &all,
            threads(count),
            &InProcessBackends::default,
            &jobs,
            &go_on,
        )
        .unwrap();
        let done = jobs.done.into_inner();
        assert!(done > 0);
        assert_eq!(jobs.expected.into_inner(), done);
    }
}

#[test]
fn a_break_ends_everything() {
    let experiments: Vec<_> = (0..50)
        .map(|_| experiment(0.3, Replications::Fixed(1)))
        .collect();
    let all: Vec<_> = experiments.iter().collect();
    let finished = AtomicU32::new(0);
    run_all(
        &all,
        threads(2),
        &InProcessBackends::default,
        &(),
        &|_, _| {
            finished.fetch_add(1, Ordering::Relaxed);
            ControlFlow::Break(())
        },
    )
    .unwrap();
    // One on each thread at most.
    assert!((1..=2).contains(&finished.into_inner()));
}

#[test]
fn a_panic_ends_everything() {
    struct Panics(AtomicU32);
    impl Progress for Panics {
        fn recorder(&self, _: StrategyKind, _: u32) -> Box<dyn Observer + '_> {
            assert!(self.0.fetch_add(1, Ordering::SeqCst) > 0, "on purpose");
            Box::new(())
        }
    }
    let experiment = experiment(0.3, Replications::Fixed(500));
    for (count, is_of_backends) in [(1, false), (2, false), (2, true)] {
        let panics = Panics(AtomicU32::new(u32::from(is_of_backends)));
        let made = AtomicU32::new(u32::from(!is_of_backends));
        let ended = std::panic::catch_unwind(|| {
            let backends = || {
                assert!(made.fetch_add(1, Ordering::SeqCst) > 0, "on purpose");
                InProcessBackends::default()
            };
            let _ = run_parallel(&experiment, threads(count), &backends, &panics);
        });
        assert!(ended.is_err());
        let runs = panics.0.into_inner();
        assert!(runs < 100, "{runs} of 1000 runs");
    }
}

#[test]
fn one_after_the_other_nothing_is_run_after_a_failure() {
    /// Is ready this number of times.
    struct Times(InProcessBackends, u32, u32);
    impl Backends for Times {
        fn with(
            &mut self,
            configuration: Configuration,
            description: Option<&Description>,
            body: &mut dyn FnMut(&mut dyn Backend),
        ) -> Result<(), BackendError> {
            self.2 += 1;
            if self.2 > self.1 {
                return Err(BackendError::Line {
                    endpoint: "here".into(),
                    reason: "gone".into(),
                });
            }
            self.0.with(configuration, description, body)
        }
    }
    let experiment = experiment(0.3, Replications::Fixed(5));
    // The first strategy of the third replication.
    let mut backends = Times(InProcessBackends::default(), 4, 0);
    let failed = run(&experiment, &mut backends, &()).unwrap_err();
    assert_eq!(backends.2, 5);
    assert_eq!(failed.to_string(), "here: gone");
    let [results] = &failed.complete[..] else {
        panic!("{failed:?}");
    };
    let replications: Vec<_> = results.iter().map(|result| result.runs.len()).collect();
    assert_eq!(replications, [2, 2]);
}

#[test]
fn a_failure_says_which() {
    /// Takes a configuration only if it is not that of adaptive scan.
    struct NoScan(InProcessBackends);
    impl Backends for NoScan {
        fn with(
            &mut self,
            configuration: Configuration,
            description: Option<&Description>,
            body: &mut dyn FnMut(&mut dyn Backend),
        ) -> Result<(), BackendError> {
            if configuration.strategy == StrategyKind::AdaptiveScan {
                return Err(BackendError::Line {
                    endpoint: "here".into(),
                    reason: "no scans".into(),
                });
            }
            self.0.with(configuration, description, body)
        }
    }
    let good = Experiment {
        strategies: vec![StrategyKind::FirstFit],
        ..experiment(0.3, Replications::Fixed(3))
    };
    let bad = experiment(0.3, Replications::Fixed(3));
    let failed = |all: &[&Experiment]| {
        let backends = || NoScan(InProcessBackends::default());
        let go_on = |_, _: &[StrategyResult]| ControlFlow::Continue(());
        run_all(all, threads(2), &backends, &(), &go_on).unwrap_err()
    };
    let error = failed(&[&good, &bad, &good]);
    assert_eq!(
        (error.place, error.to_string()),
        (1, "here: no scans".to_owned())
    );
    // What can be seen before a run is seen before the first one.
    let empty = Experiment {
        jobs: 0,
        ..good.clone()
    };
    let error = failed(&[&bad, &empty]);
    assert_eq!(error.place, 1);
    assert!(
        error.to_string().contains("number of jobs (--jobs) is 0"),
        "{error}"
    );
}
