//! Schedulers that choose among the waiting jobs, and tables with little room.

use super::*;
use crate::backend::GrowingStorage;

/// All schedulers but first come, first served.
fn choosing() -> impl Iterator<Item = SchedulerKind> {
    let all = SchedulerKind::ALL.iter().copied();
    all.filter(|kind| kind.is_built() && *kind != SchedulerKind::Fcfs)
}

fn configuration(machine: Grid, scheduler: SchedulerKind) -> Configuration {
    Configuration {
        machine,
        strategy: StrategyKind::FirstFit,
        scheduler,
    }
}

/// Over a table that has room for so many jobs and stays as it is.
fn fixed(table: usize, scheduler: SchedulerKind) -> RunResult {
    let machine = mesh(8, 8);
    let mut storage = HeapStorage::new(machine, StrategyKind::FirstFit, table);
    let backend = &mut InProcess::new(storage.memory(), configuration(machine, scheduler)).unwrap();
    run(backend, machine, crowd(), all(600), &mut ()).unwrap()
}

#[test]
fn a_table_that_grows_decides_as_a_large_one() {
    for scheduler in choosing() {
        let large = fixed(PLENTY, scheduler);
        assert_eq!(large.table_limited, 0, "{scheduler:?}");
        let machine = mesh(8, 8);
        let mut storage = GrowingStorage::default();
        let configuration = configuration(machine, scheduler);
        let mut backend = InProcess::growing(&mut storage, 3, configuration).unwrap();
        let grown = run(&mut backend, machine, crowd(), all(600), &mut ()).unwrap();
        assert_eq!(grown, large, "{scheduler:?}");
        let room = backend.capacity().jobs;
        assert!((12..1_000).contains(&room), "{scheduler:?}: {room}");
    }
}

#[test]
fn a_table_that_stays_small_is_reported() {
    for scheduler in choosing() {
        assert!(fixed(12, scheduler).table_limited > 0, "{scheduler:?}");
    }
}

#[test]
fn arrivals_that_are_put_off_are_reported() {
    // While the first job runs, more arrive than may wait.
    let machine = mesh(1, 1);
    let crowd = |count: u32| {
        let others = (0..count).map(|i| Job {
            arrival: i.into(),
            ..job(0, 1, 1, 1)
        });
        std::iter::once(job(0, 10, 1, 1)).chain(others)
    };
    for scheduler in choosing() {
        let run = |count| {
            let mut storage = GrowingStorage::default();
            let configuration = configuration(machine, scheduler);
            let backend = &mut InProcess::growing(&mut storage, 3, configuration).unwrap();
            run(backend, machine, crowd(count), all(1), &mut ()).unwrap()
        };
        assert_eq!(run(WAITING_MAX).table_limited, 0, "{scheduler:?}");
        assert_eq!(run(WAITING_MAX + 1).table_limited, 1, "{scheduler:?}");
    }
}
