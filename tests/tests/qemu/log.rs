//! A log through the simulator, over TCP, into the firmware in QEMU: every decision made there
//! equals the one made in process.

use std::path::{Path, PathBuf};
use std::time::Instant;

use meshalloc::Threshold;
use meshalloc::{Mesh, SchedulerKind, StrategyKind};
use meshalloc_firmware::client::Endpoint;
use meshalloc_host_sim::line::LineBackends;
use meshalloc_sim::backend::{Backends, InProcessBackends};
use meshalloc_sim::experiment::{Experiment, StrategyResult, run};
use meshalloc_sim::workload::{Log, LogOptions, ShapeRule, TimeUnit, Workload};
use meshalloc_tests::qemu::Qemu;

/// The jobs taken from the Paragon's log, so that the test takes some ten seconds. The README
/// has the command for the whole.
const PARAGON_JOBS: usize = 1_000;

const STRATEGIES: [StrategyKind; 2] = [StrategyKind::FreeSubmeshList, StrategyKind::Naive];

/// Schedulers whose decisions depend on the time as well, on fewer jobs.
const TIMED_JOBS: usize = 400;
const HOUR: u64 = 3600 * TimeUnit::Second.ticks_each();
const TIMED: [SchedulerKind; 2] = [
    SchedulerKind::BypassQueue { threshold: HOUR },
    SchedulerKind::ModifiedFcfs(Threshold::Dynamic {
        second: TimeUnit::Second.ticks_each(),
    }),
];

/// The Paragon's batch partition if the logs are at hand, else a small log of our own.
fn log_file() -> (PathBuf, Option<i64>) {
    if let Some(folder) = std::env::var_os("MESHALLOC_TRACES") {
        let file = Path::new(&folder).join("SDSC-Par-1996-3.1-cln.swf.gz");
        return (file, Some(2));
    }
    println!(
        "SKIPPED: the Paragon's log, since MESHALLOC_TRACES is unset; a small log of our own instead"
    );
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/data/small.swf");
    (own, None)
}

fn results(experiment: &Experiment, backends: &mut dyn Backends) -> Vec<StrategyResult> {
    run(experiment, backends, &()).expect("the log runs to its end")
}

/// The first jobs of the log on the Paragon's mesh.
fn experiment(jobs: usize, scheduler: SchedulerKind, strategies: &[StrategyKind]) -> Experiment {
    let machine = Mesh::new(16, 22).expect("sides in range").grid();
    let (path, partition) = log_file();
    let options = LogOptions {
        partition,
        limit: Some(jobs),
        shape: ShapeRule::NearSquare,
        ..LogOptions::default()
    };
    let log = Log::read(&path, options, machine).expect("the log can be read");
    let jobs = log.jobs.len();
    assert!(jobs >= 100, "{jobs} jobs are too few to show anything");
    Experiment {
        scheduler,
        ..Experiment::new(Workload::Log(log), jobs as u32, strategies)
    }
}

/// Runs the experiment on the board and in process, and compares every decision.
fn compare(experiment: &Experiment, board: &mut LineBackends) {
    let start = Instant::now();
    let there = results(experiment, board);
    let seconds = start.elapsed().as_secs_f64();
    let here = results(experiment, &mut InProcessBackends::default());

    for (there, here) in there.iter().zip(&here) {
        let mut round_trips = board.round_trips(&[there.strategy]);
        let median = round_trips.quantile(0.5).expect("there were calls");
        println!(
            "{}, {:?}: {} of {} jobs, decision hash {:016x} in QEMU, {:016x} in process; \
             median round trip {:.0} us",
            there.strategy,
            there.scheduler,
            there.decisions,
            experiment.jobs,
            there.decision_hash,
            here.decision_hash,
            median * 1e-3,
        );
        assert_eq!(
            there.decision_hash, here.decision_hash,
            "{}",
            there.strategy
        );
        assert_eq!(
            there.decisions,
            u64::from(experiment.jobs),
            "every job was granted"
        );
        assert_eq!(
            there.table_limited, 0,
            "the board's table was never the limit"
        );
    }
    let all = f64::from(experiment.jobs) * experiment.strategies.len() as f64;
    println!("{:.0} jobs a second in QEMU", all / seconds);
}

fn backends(qemu: &Qemu) -> LineBackends {
    let endpoint = Endpoint::Unix {
        path: qemu.serial().display().to_string(),
    };
    LineBackends::open(&endpoint).expect("the firmware answers")
}

/// The beginning of the log on another board.
pub(super) fn decides_a_log_as_in_process(qemu: &Qemu) {
    let short = experiment(TIMED_JOBS, SchedulerKind::Fcfs, &STRATEGIES[..1]);
    compare(&short, &mut backends(qemu));
}

#[test]
fn qemu_decides_a_log_as_in_process() {
    let qemu = Qemu::start();
    let mut board = backends(&qemu);
    let whole = experiment(PARAGON_JOBS, SchedulerKind::Fcfs, &STRATEGIES);
    compare(&whole, &mut board);
    // One after the other on the same board: its time begins anew with each.
    for scheduler in TIMED {
        let short = experiment(TIMED_JOBS, scheduler, &[StrategyKind::FixedOrientation]);
        compare(&short, &mut board);
    }
}
