//! Other ways to run: with arrivals put off, with a backlog, with a clock.

use super::*;
use crate::backend::{Backends, InProcessBackends};

#[test]
fn arrivals_that_only_wait_are_put_off() {
    // Two processors in a row, jobs of 10 s, and every microsecond one arrives: in 100 s a hundred
    // million.
    let pulled = std::cell::Cell::new(0u32);
    let jobs = || {
        pulled.set(0);
        let jobs = (0..).map(|i| Job {
            arrival: i,
            ..job(0, 10, 1, 1)
        });
        jobs.inspect(|_| pulled.set(pulled.get() + 1))
    };
    let result = simulate(mesh(2, 1), StrategyKind::FirstFit, 8, jobs(), all(20)).unwrap();
    assert_eq!(result.values[Metric::WaitingAtEnd], Some(17.0));
    assert_eq!(result.decisions, 22);
    assert!(pulled.get() <= KEPT_MAX + 40, "{}", pulled.get());
    // What was put off comes when there is room again.
    let burst = || {
        let crowd = KEPT_MAX + 100;
        (0..crowd).map(move |i| Job {
            arrival: if i + 1 == crowd {
                4_000_000_000
            } else {
                i.into()
            },
            ..job(0, 0, 1, 1)
        })
    };
    let first = job(0, 10, 2, 1);
    let jobs = std::iter::once(first).chain(burst());
    let result = with_backend(mesh(2, 1), StrategyKind::FirstFit, 8, |backend| {
        let (execution, observer) = (&mut FixedService::default(), &mut ());
        let measured = Measured::Arrivals { first: 0, end: 1 }.into();
        let jobs = Box::new(jobs);
        let run = Run::new(execution, measured, backend, mesh(2, 1), jobs, observer);
        let mut run = run.unwrap();
        while run.step(Ticks::MAX).unwrap() {}
        (run.state.decisions, run.state.now)
    });
    assert_eq!(result, (u64::from(KEPT_MAX) + 101, 4_000_000_000));
}

#[test]
fn a_backlog_is_kept_up() {
    // One processor, jobs of a second each: one runs, and the backlog waits.
    let jobs = (0..).map(|_| job(1_000, 1, 1, 1));
    let (result, notes) = with_backend(mesh(1, 1), StrategyKind::FirstFit, 8, |backend| {
        let mut spy = Spy::default();
        let conditions = Conditions {
            backlog: NonZero::new(3),
            ..all(6).into()
        };
        let machine = mesh(1, 1);
        let result = run_with(
            &mut FixedService::default(),
            conditions,
            &mut spy.around(backend),
            machine,
            jobs,
            &mut (),
        );
        (result.unwrap(), spy.notes)
    });
    let expected = [
        "0: submit 0",
        "0: submit 1",
        "0: submit 2",
        "0: submit 3",
        "1: release 0",
        "1: submit 4",
        "2: release 1",
        "2: submit 5",
    ];
    let commands = notes
        .iter()
        .map(|note| note.split(',').next().unwrap_or(note));
    assert!(
        commands.clone().take(expected.len()).eq(expected),
        "{notes:?}"
    );
    assert_eq!(result.values[Metric::Utilization], Some(1.0));
    assert_eq!(result.values[Metric::CompletionTime], Some(6.0));
}

#[test]
fn the_search_time_is_there_only_if_it_is_measured() {
    let plain = simulate(
        mesh(8, 8),
        StrategyKind::FreeSubmeshList,
        PLENTY,
        crowd(),
        all(3_000),
    );
    let plain = plain.unwrap();
    assert_eq!(plain.values[Metric::SearchTime], None);
    let configuration = Configuration {
        machine: mesh(8, 8),
        strategy: StrategyKind::FreeSubmeshList,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut timed = InProcessBackends {
        timed: true,
        ..InProcessBackends::default()
    };
    let ready = timed.with(configuration, None, &mut |backend| {
        let result = run(backend, mesh(8, 8), crowd(), all(3_000), &mut ()).unwrap();
        let seconds = result.values[Metric::SearchTime].unwrap();
        // It takes time, but no millisecond.
        assert!(seconds > 0.0 && seconds < 1e-3, "{seconds}");
        assert_eq!(result.decision_hash, plain.decision_hash);
    });
    ready.unwrap();
}

#[test]
fn the_receiver_is_not_measured() {
    let pause = std::time::Duration::from_millis(20);
    let configuration = Configuration {
        machine: mesh(8, 8),
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut timed = InProcessBackends {
        timed: true,
        ..InProcessBackends::default()
    };
    let mut events = 0;
    let ready = timed.with(configuration, None, &mut |backend| {
        let submit = Change::submit(JobId(1), Request::submesh(2, 2));
        let outcome = backend.call(&submit, 0, &mut |_, _| {
            events += 1;
            std::thread::sleep(pause);
        });
        assert_eq!(outcome.unwrap(), Ok(Outcome::Done));
        let seconds = backend.latest_seconds().unwrap();
        assert!(seconds.abs() < pause.as_secs_f64(), "{seconds}");
    });
    ready.unwrap();
    assert_eq!(events, 1, "a grant");
}

#[test]
fn attempts_after_a_failure_are_measured() {
    let configuration = Configuration {
        machine: mesh(8, 8),
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut backends = InProcessBackends {
        timed: true,
        ..InProcessBackends::default()
    };
    let ready = backends.with(configuration, None, &mut |backend| {
        assert_eq!(backend.latest_seconds(), Some(0.0));
        let submit = Change::submit(JobId(1), Request::submesh(2, 2));
        assert!(backend.call(&submit, 0, &mut |_, _| ()).unwrap().is_ok());
        let submitted = backend.latest_seconds();
        let mut grants = 0;
        // Not all of them take as long as the submission did, in nanoseconds.
        let differs = (1..=8).any(|now| {
            let requeued = backend.requeue(&[JobId(1)], now, &mut |event, _| {
                grants += u32::from(matches!(event.what, EventKind::Granted { .. }));
            });
            assert_eq!(requeued.unwrap(), Ok(()));
            backend.latest_seconds() != submitted
        });
        assert!(differs && grants > 0);
    });
    ready.unwrap();
}
