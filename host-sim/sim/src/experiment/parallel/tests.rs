use meshalloc::{Mesh, StrategyKind};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::*;
use crate::backend::InProcessBackends;
use crate::experiment::{Replications, Stop, run};
use crate::workload::{Rate, ServiceDistribution, SideDistribution, Synthetic, Workload};

const STRATEGIES: [StrategyKind; 2] = [StrategyKind::AdaptiveScan, StrategyKind::FirstFit];

fn experiment(load: f64, replications: Replications) -> Experiment {
    let mesh = Mesh::new(16, 16).unwrap();
    let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
    let workload = Synthetic::new(mesh, SideDistribution::Uniform, service, Rate::Load(load));
    Experiment {
        replications,
        ..Experiment::new(Workload::Synthetic(workload), 400, &STRATEGIES)
    }
}

fn until(target: f64, max: u32) -> Replications {
    Replications::UntilRelativeError { target, max }
}

fn board(experiment: &Experiment) -> Board<'_> {
    Board::new(vec![Point::new(experiment, &()).unwrap()])
}

fn one_after_the_other(experiment: &Experiment) -> Vec<StrategyResult> {
    run(experiment, &mut InProcessBackends::default(), &()).unwrap()
}

/// The runs of which an experiment has told, by strategy.
struct Told(Mutex<Vec<Vec<RunResult>>>);

impl Progress for Told {
    fn ended(&self, place: usize, strategy: usize, run: &RunResult) {
        assert_eq!(place, 0);
        self.0.lock().unwrap()[strategy].push(run.clone());
    }
}

#[test]
fn the_order_in_which_runs_end_does_not_matter() {
    const TOO_MANY: u32 = 3;
    let experiment = experiment(0.3, until(0.2, 200));
    let expected = one_after_the_other(&experiment);
    assert_eq!(expected[0].stop, Stop::ErrorReached);
    let begun = expected[0].runs.len() as u32 + TOO_MANY;
    let longer = Experiment {
        replications: Replications::Fixed(begun),
        ..experiment.clone()
    };
    let runs: Vec<_> = one_after_the_other(&longer)
        .into_iter()
        .map(|result| result.runs)
        .collect();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..50 {
        let told = Told(Mutex::new(vec![Vec::new(); STRATEGIES.len()]));
        let mut board = board(&experiment);
        let all = begun as usize * STRATEGIES.len();
        let mut tasks: Vec<_> = (0..all).map_while(|_| board.next(&())).collect();
        assert_eq!(tasks.len(), all);
        tasks.sort_by_cached_key(|_| random.next_u64());
        let results: Vec<_> = tasks
            .iter()
            .filter_map(|task| {
                let result = runs[task.column][task.replication as usize].clone();
                board.record(task, Ok(result), &told)
            })
            .collect();
        assert_eq!(results.len(), 1);
        assert_eq!(expected, results[0]);
        for (result, told) in expected.iter().zip(told.0.into_inner().unwrap()) {
            assert_eq!(result.runs, told);
        }
    }
}

/// If several experiments fail, the first of them in order counts, even if it fails last.
#[test]
fn the_first_failure_in_order_counts() {
    let experiment = experiment(0.3, Replications::Fixed(2));
    let points = (0..3).map(|_| Point::new(&experiment, &()).unwrap());
    let mut board = Board::new(points.collect());
    let runs = one_after_the_other(&experiment);
    let first = board.next(&()).unwrap();
    let mut under_way: Vec<_> = (0..4).map(|_| board.next(&()).unwrap()).collect();
    // A run of the second experiment fails first.
    let second = under_way.pop().unwrap();
    assert_eq!((first.place, second.place), (0, 1));
    let failure = |place| {
        Err(ExperimentError::Run {
            strategy: STRATEGIES[0],
            replication: place,
            reason: Box::new(crate::simulation::SimulationError::NoRoom),
        })
    };
    let other = board.next(&()).unwrap();
    for task in [&second, &other] {
        board.record(task, failure(2), &());
    }
    assert!(board.failed.is_some());
    // Nothing of later ones begins, and what is left of the first goes on.
    assert!(board.next(&()).is_none());
    for task in &under_way {
        let run = runs[task.column].runs[task.replication as usize].clone();
        board.record(task, Ok(run), &());
    }
    board.record(&first, failure(1), &());
    assert_eq!(board.end().unwrap_err().place, 0);
}

/// Ctrl-C begins no more runs, and a failure is the reason whether it comes before or after it.
#[test]
fn an_interruption_does_not_replace_a_failure() {
    struct Interrupted;
    impl Progress for Interrupted {
        fn is_interrupted(&self) -> bool {
            true
        }
    }
    let failure = || {
        Err(ExperimentError::Run {
            strategy: STRATEGIES[0],
            replication: 1,
            reason: Box::new(crate::simulation::SimulationError::NoRoom),
        })
    };
    let interruption = || Err(ExperimentError::Interrupted);
    let open = experiment(0.3, until(0.2, 200));
    let experiment = experiment(0.3, Replications::Fixed(1));
    for is_failure_first in [true, false] {
        let points = [&open, &experiment].map(|of| Point::new(of, &()).unwrap());
        let mut board = Board::new(points.into());
        let interrupted = board.next(&()).unwrap();
        let mut tasks = std::iter::from_fn(|| board.next(&()));
        let failed = tasks.find(|task| task.place == 1).unwrap();
        assert_eq!(interrupted.place, 0);
        if is_failure_first {
            board.record(&failed, failure(), &());
            // An experiment before the failure has runs left, and none of them begins.
            assert!(board.points[0].has_next());
            assert!(board.next(&Interrupted).is_none());
            assert!(board.next(&()).is_none());
        }
        board.record(&interrupted, interruption(), &());
        if !is_failure_first {
            board.record(&failed, failure(), &());
        }
        let failed = board.end().unwrap_err();
        assert_eq!(failed.place, 1);
        assert!(matches!(failed.reason, ExperimentError::Run { .. }));
    }
    // Without a failure the interruption is the reason.
    let mut interrupted = board(&experiment);
    assert!(interrupted.next(&Interrupted).is_none());
    let reason = interrupted.end().unwrap_err().reason;
    assert!(matches!(reason, ExperimentError::Interrupted));
}

#[test]
fn a_failure_counts_only_when_its_turn_comes() {
    let experiment = experiment(0.3, until(0.2, 200));
    let expected = one_after_the_other(&experiment);
    let needed = expected[0].runs.len() as u32;
    let failure = || Err(ExperimentError::Interrupted);
    for failing in [needed - 1, needed] {
        let mut board = board(&experiment);
        let all = (needed as usize + 1) * STRATEGIES.len();
        let tasks: Vec<_> = (0..all).map_while(|_| board.next(&())).collect();
        let mut results = None;
        // The failure is known long before its turn.
        for task in tasks.iter().rev() {
            let outcome = match expected[task.column].runs.get(task.replication as usize) {
                Some(run) if task.replication != failing => Ok(run.clone()),
                _ => failure(),
            };
            results = results.or(board.record(task, outcome, &()));
        }
        assert_eq!(board.failed.is_some(), failing < needed);
        assert_eq!(results.is_some(), failing == needed);
    }
}
