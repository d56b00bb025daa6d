//! Runs that end at a given number of departures, compared with a longer run.

use super::*;

/// When each job was granted and left, by number, of a run until the measured jobs have left.
fn spied(jobs: &[Job], measured: Measured) -> (RunResult, Vec<(u64, usize)>) {
    let machine = mesh(8, 8);
    with_backend(machine, StrategyKind::FirstFit, PLENTY, |backend| {
        let mut spy = Spy::default();
        let jobs = jobs.iter().copied();
        let result = run(&mut spy.around(backend), machine, jobs, measured, &mut ()).unwrap();
        let left = spy.notes.iter().filter_map(|note| {
            let (at, number) = note.split_once(": release ")?;
            let number = number.split(',').next()?;
            Some((at.parse().ok()?, number.parse().ok()?))
        });
        (result, left.collect())
    })
}

#[test]
fn a_run_ends_with_the_departure_of_so_many() {
    // Whole seconds, so that the notes are exact. Short and long jobs: they do not leave in the
    // order of arrival.
    let jobs: Vec<Job> = (0..200)
        .map(|i| job(i, 5 + i * 37 % 71, 1 + (i % 5) as u16, 1 + (i % 3) as u16))
        .collect();
    let (_, all_left) = spied(&jobs, all(200));
    for count in [1, 2, 50, 150, 200] {
        let (result, left) = spied(&jobs, Measured::Departures(count as u32));
        assert_eq!(left, all_left[..count], "{count}");
        assert_eq!(result.values[Metric::Jobs], Some(count as f64));
        let end = left[count - 1].0;
        assert_eq!(result.values[Metric::CompletionTime], Some(end as f64));
        let second = TimeUnit::Second.ticks_each();
        let service = |number: usize| jobs[number].work.service().unwrap() / second;
        let turnaround: u64 = left
            .iter()
            .map(|&(at, number)| at - jobs[number].arrival / second)
            .sum();
        assert_eq!(
            result.values[Metric::Turnaround],
            Some(turnaround as f64 / count as f64)
        );
        // All that ran, also what left later, as far as the end.
        let used: u64 = all_left
            .iter()
            .map(|&(at, number)| {
                let granted = (at - service(number)).min(end);
                let processors = u64::from(jobs[number].request.processors);
                (at.min(end) - granted) * processors
            })
            .sum();
        let expected = used as f64 / (64.0 * end as f64);
        let found = result.values[Metric::Utilization].unwrap();
        assert!((found - expected).abs() < 1e-12, "{count}: {found}");
        assert_eq!(result.values[Metric::WaitingAtEnd], None);
    }
    let in_order = all_left.iter().map(|&(_, number)| number).is_sorted();
    assert!(!in_order, "the test shows little");
}

#[test]
fn jobs_that_are_refused_leave() {
    let jobs = [job(0, 5, 9, 9), job(1, 5, 1, 1), job(2, 9, 1, 1)];
    let (result, left) = spied(&jobs, Measured::Departures(2));
    assert_eq!(left, [(6, 1)]);
    assert_eq!(result.refused.total(), 1);
}

#[test]
fn jobs_that_leave_in_the_event_of_the_last_departure_are_not_measured() {
    // With the departure of the first job the others are submitted, and all refused.
    let too_large = (1..5).map(|arrival| job(arrival, 5, 9, 9));
    let jobs: Vec<Job> = [job(0, 5, 8, 8)].into_iter().chain(too_large).collect();
    let machine = mesh(8, 8);
    for count in 1..=5 {
        let mut seen = Counts::default();
        let result = with_backend(machine, StrategyKind::FirstFit, 1, |backend| {
            let (jobs, measured) = (jobs.iter().copied(), Measured::Departures(count));
            run(backend, machine, jobs, measured, &mut seen).unwrap()
        });
        assert_eq!(result.refused.total(), u64::from(count) - 1);
        assert_eq!((seen.measured, seen.left), (count, 5));
    }
}

/// Counts jobs that left, and those of them that are measured.
#[derive(Default)]
struct Counts {
    left: u32,
    measured: u32,
}

impl Observer for Counts {
    fn see(&mut self, seen: &Seen<'_>) {
        if let Seen::Job(record) = seen {
            self.left += u32::from(record.end.is_some());
            self.measured += u32::from(record.is_measured);
        }
    }
}

#[test]
fn a_backlog_that_grows_is_seen_in_departures_too() {
    // Jobs of 2 s for all processors, one each second.
    let jobs: Vec<Job> = (0..4000).map(|i| job(i, 2, 8, 8)).collect();
    let (result, _) = spied(&jobs, Measured::Departures(1000));
    assert!(result.saturated);
    let (result, _) = spied(&jobs, Measured::Departures(1));
    assert!(!result.saturated);
    // All there at once: a closed workload has no backlog that grows.
    let jobs: Vec<Job> = (0..1000).map(|_| job(0, 2, 8, 8)).collect();
    let (result, _) = spied(&jobs, Measured::Departures(1000));
    assert!(!result.saturated);
}
