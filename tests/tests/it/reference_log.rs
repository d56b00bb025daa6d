//! A real log on the strategies that scatter jobs, against the simulator of the Structural
//! Simulation Toolkit (SST).
//!
//! SST's `tests/refFiles/test_scheduler_0001.out` lists every job of the log NASA-iPSC-1993 on a 16
//! x 8 mesh under EASY with exact run times. Its processors are the first free ones along the
//! snake. No job is ever refused a place here, so the schedule is the same for every strategy. The
//! distances of the other strategies are those of an independent replay of it.
//!
//! At equal times SST releases before it allocates, and a job without run time leaves at once. Our
//! simulator takes events of a time in the order in which they were put in: the times are the same,
//! but some jobs are placed before others leave. So the schedule is ours, and it is replayed here
//! in SST's order. (In ours the snake has 3.12251.)

use std::collections::BTreeMap;
use std::path::Path;

use meshalloc::{Allocation, Allocator, Block, Request, SchedulerKind, StrategyKind, Ticks};
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::dispersal::{Dispersal, Disperser};
use meshalloc_sim::history::histories;
use meshalloc_sim::scenario::{Scenario, StrategyChoice};
use meshalloc_sim::workload::{EstimateModel, SharedLogs};
use meshalloc_tests::rig::{HeapMemory, mesh};
use rayon::prelude::*;

const SECOND: Ticks = 1_000_000;

/// A job that ran.
struct Ran {
    request: Request,
    wait: Ticks,
    start: Ticks,
    end: Ticks,
}

/// The jobs of the log as they ran.
fn schedule() -> Option<Vec<Ran>> {
    let Some(folder) = std::env::var_os("MESHALLOC_TRACES") else {
        println!("SKIPPED: the NASA-iPSC-1993 log, since MESHALLOC_TRACES is unset");
        return None;
    };
    let scenario = Scenario {
        mesh: Some("16x8".parse().expect("sides")),
        strategy: Some(vec![StrategyChoice::One(StrategyKind::Naive)]),
        scheduler: Some(SchedulerKind::Easy { reservations: 1 }),
        log: Some(Path::new(&folder).join("NASA-iPSC-1993-3.1-cln.swf.gz")),
        estimates: Some(EstimateModel::Perfect),
        ..Scenario::default()
    };
    let resolved = scenario.resolve().expect("settings that agree");
    let experiment = resolved.experiment(&SharedLogs::default());
    let experiment = experiment.expect("the log can be read");
    let histories = histories(&experiment, &mut InProcessBackends::default(), &());
    let history = histories.expect("the run ends").remove(0);
    let ran = history.jobs.iter().map(|past| {
        let start = past.start().expect("every job starts");
        Ran {
            request: past.job.request,
            wait: start - past.job.arrival,
            start,
            end: past.end.expect("every job leaves"),
        }
    });
    Some(ran.collect())
}

/// How dispersed each job is under the strategy, by its place in the list.
fn replay(jobs: &[Ran], strategy: StrategyKind) -> Vec<Dispersal> {
    /// In this order at equal times.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    enum Event {
        Release,
        Allocate,
    }
    let releases = jobs.iter().map(|job| (job.end, Event::Release));
    let starts = jobs.iter().map(|job| (job.start, Event::Allocate));
    // A job without run time is released where it is allocated.
    let releases = releases
        .enumerate()
        .filter(|(at, _)| jobs[*at].start < jobs[*at].end);
    let mut events: Vec<_> = releases.chain(starts.enumerate()).collect();
    events.sort_by(|(a, one), (b, other)| one.cmp(other).then(a.cmp(b)));

    let machine = mesh(16, 8).into();
    let mut memory = HeapMemory::for_strategy(machine, strategy, 128);
    let mut allocator = Allocator::new(memory.allocator_memory(), machine, strategy).unwrap();
    let mut disperser = Disperser::new(machine);
    let mut held = BTreeMap::<usize, Allocation>::new();
    let mut dispersals = BTreeMap::new();
    for (at, (_, event)) in events {
        if event == Event::Release {
            let allocation = held.remove(&at).expect("it was allocated");
            allocator.release(allocation).unwrap();
            continue;
        }
        let allocation = allocator
            .allocate(&jobs[at].request)
            .expect("enough is free");
        let blocks: Vec<Block> = allocator.blocks(&allocation).unwrap().collect();
        dispersals.insert(at, disperser.measure(&blocks));
        if jobs[at].start == jobs[at].end {
            allocator.release(allocation).unwrap();
        } else {
            held.insert(at, allocation);
        }
    }
    dispersals.into_values().collect()
}

/// Five digits behind the point, as the numbers are given.
fn rounded(number: f64) -> String {
    format!("{number:.5}")
}

#[test]
fn nasa_is_placed_as_in_another_simulator() {
    let Some(jobs) = schedule() else {
        return;
    };
    assert_eq!(jobs.len(), 18_239);
    let waits: Ticks = jobs.iter().map(|job| job.wait).sum();
    assert_eq!(rounded(waits as f64 / SECOND as f64 / 18_239.0), "4.02807");
    let last = jobs.iter().map(|job| job.end).max();
    assert_eq!(last, Some(7_949_022 * SECOND));
    assert_eq!(jobs.iter().filter(|job| job.start == job.end).count(), 173);

    // Over all jobs, and over those of more than one processor.
    let expected = [
        ("paging:snake", "3.12159", "4.27952"),
        ("naive", "3.26651", "4.47819"),
        ("curve", "2.98133", "4.08722"),
        ("curve:best-fit", "2.96545", "4.06546"),
        ("curve:hilbert-best-fit", "2.25919", "3.09722"),
        ("gen-alg", "2.17404", "2.98048"),
        ("mm", "2.17126", "2.97667"),
        ("mc1x1", "2.14314", "2.93812"),
    ];
    expected.par_iter().for_each(|&(strategy, all, several)| {
        let dispersals = replay(&jobs, strategy.parse().unwrap());
        let sum: f64 = dispersals.iter().map(Dispersal::mean_distance).sum();
        let many = dispersals.iter().filter(|job| job.processors > 1).count();
        assert_eq!(many, 13_304, "{strategy}");
        let means = [sum / 18_239.0, sum / 13_304.0].map(rounded);
        assert_eq!(means, [all, several], "{strategy}");
        if strategy == "paging:snake" {
            // The most frequent distances of SST's list.
            let frequent = [(32, 6.0, 1_678), (64, 20.0 / 3.0, 662), (128, 8.0, 420)];
            for (processors, distance, jobs) in frequent {
                let is_it = |job: &&Dispersal| {
                    let is_near = (job.mean_distance() - distance).abs() < 5e-7;
                    job.processors == processors && is_near
                };
                let found = dispersals.iter().filter(is_it).count();
                assert_eq!(found, jobs, "{processors}");
            }
        }
    });
}

/// The check at the end of the definition.
#[test]
fn mc1x1_takes_a_square_on_an_empty_mesh() {
    let machine = mesh(16, 16).into();
    let mut memory = HeapMemory::for_strategy(machine, StrategyKind::Mc1x1, 4);
    let memory = memory.allocator_memory();
    let mut allocator = Allocator::new(memory, machine, StrategyKind::Mc1x1).unwrap();
    let job = allocator.allocate(&Request::submesh(9, 1)).unwrap();
    let square = meshalloc::Submesh::new(0, 0, 3, 3).into();
    assert!(allocator.blocks(&job).unwrap().eq([square]));
}
