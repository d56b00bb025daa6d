//! Schedulers that choose among the waiting jobs, and tables with little room.

use super::*;
use crate::backend::GrowingStorage;

/// All schedulers but first come, first served.
fn choosing() -> impl Iterator<Item = SchedulerKind> {
    let all = SchedulerKind::ALL.iter().map(|&kind| match kind {
        SchedulerKind::Easy { .. } => SchedulerKind::Easy { reservations: 1 },
        other => other,
    });
    all.filter(|kind| kind.is_built() && *kind != SchedulerKind::Fcfs)
}

fn configuration(machine: Grid, scheduler: SchedulerKind) -> Configuration {
    Configuration {
        machine,
        strategy: StrategyKind::FirstFit,
        scheduler,
    }
}

/// With a table of fixed room for this number of jobs.
fn fixed(table: usize, scheduler: SchedulerKind) -> RunResult {
    let machine = mesh(8, 8);
    let mut storage = heap_storage(machine, None, StrategyKind::FirstFit, table);
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
        let mut backend = InProcess::growing(&mut storage, 3, configuration, None).unwrap();
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
            let backend = &mut InProcess::growing(&mut storage, 3, configuration, None).unwrap();
            run(backend, machine, crowd(count), all(1), &mut ()).unwrap()
        };
        assert_eq!(run(WAITING_MAX).table_limited, 0, "{scheduler:?}");
        assert_eq!(run(WAITING_MAX + 1).table_limited, 1, "{scheduler:?}");
    }
}

/// On one processor a long job waits while short ones come, one at each moment at which one leaves.
#[test]
fn a_run_ends_when_jobs_are_passed_without_end() {
    let machine = mesh(1, 1);
    let service = |number| if number == 1 { 2 } else { 1 };
    let jobs = |of_ten: u64| {
        let others = (1..).filter(move |number| number % 10 < of_ten);
        let numbers = [0, 0].into_iter().chain(others);
        (0..).zip(numbers).map(move |(number, arrival)| {
            let mut job = job(arrival, service(number), 1, 1);
            // Before the one that runs leaves.
            job.arrival = job.arrival.saturating_sub(1);
            job.request = job.request.with_estimate(service(number));
            job
        })
    };
    let simulate = |scheduler, of_ten, end| {
        let mut storage = GrowingStorage::default();
        let configuration = configuration(machine, scheduler);
        let backend = &mut InProcess::growing(&mut storage, 3, configuration, None).unwrap();
        let measured = Measured::Arrivals { first: 0, end };
        run(backend, machine, jobs(of_ten), measured, &mut ()).unwrap()
    };
    let shortest = SchedulerKind::ShortestJobFirst {
        threshold: Ticks::MAX,
    };
    for (end, least) in [(2, MEASURED_LEAST), (300, 300)] {
        let result = simulate(shortest, 10, end);
        assert!(result.saturated);
        assert_eq!(
            (result.left_behind, result.values[Metric::Jobs]),
            (1, Some(f64::from(end - 1)))
        );
        // The job at the end of the run is one that passes.
        let passed = PASSING_MAX * least;
        assert_eq!(result.decisions, u64::from(end - 1 + passed));
    }
    // With a moment in ten without an arrival it is served, and in order of arrival it is not
    // passed.
    for (scheduler, of_ten) in [(shortest, 9), (SchedulerKind::Fcfs, 10)] {
        let result = simulate(scheduler, of_ten, 2);
        assert_eq!((result.left_behind, result.saturated), (0, false));
    }
}
