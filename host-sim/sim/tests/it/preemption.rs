//! Jobs that make room for urgent ones in a run.

use std::collections::BTreeMap;
use std::num::NonZero;

use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment::{run, run_observed, run_parallel};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::scenario::Scenario;
use meshalloc_sim::simulation::{RunResult, Seen};
use meshalloc_sim::workload::SharedLogs;

mod naive;

/// When each job started first and left, in seconds, and how often it made room. Jobs of a trace on
/// four processors in a row.
type Times = Vec<(f64, f64, u32)>;

fn by_hand(jobs: &str, others: &[(&str, &str)]) -> (Times, RunResult) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("a.csv");
    let text = format!("submit,run,shape,priority,preemptible\n{jobs}");
    std::fs::write(&log, text).unwrap();
    let settings = [
        ("mesh", "4x1"),
        ("log", log.to_str().unwrap()),
        ("strategy", "ff"),
    ];
    let settings = settings.iter().chain(others).copied();
    let resolved = Scenario::of(settings).unwrap().resolve().unwrap();
    let plan = resolved.experiment(&SharedLogs::default()).unwrap();
    let mut times = BTreeMap::new();
    let mut observer = |seen: &Seen<'_>| {
        if let Seen::Job(it) = seen {
            let [start, end] = [it.start, it.end].map(|ticks| ticks.unwrap() as f64 / 1e6);
            times.insert(it.number, (start, end, it.preemptions));
        }
    };
    let backends = &mut InProcessBackends::default();
    let result = run_observed(&plan, plan.strategies[0], 0, backends, &(), &mut observer);
    (times.into_values().collect(), result.unwrap())
}

/// A job that ends in the grace time leaves as any other does, and the first choice binds nobody.
#[test]
fn a_grace_time_by_hand() {
    let times = |jobs: &str, rule| by_hand(jobs, &[("preemption", rule)]).0;
    // Job 1 goes at once, or 5 s later: it has run for a shorter time than job 0.
    let two = "0,100,2x1,,1\n1,100,2x1,,1\n10,5,2x1,60,\n";
    let expected = [(0.0, 100.0, 0), (1.0, 115.0, 1), (10.0, 15.0, 0)];
    assert_eq!(times(two, "on"), expected);
    let expected = [(0.0, 100.0, 0), (1.0, 120.0, 1), (15.0, 20.0, 0)];
    assert_eq!(times(two, "on:5"), expected);
    // Job 1 ends by itself, before the end of the grace time or at it: nobody goes.
    let ends = "0,100,2x1,,1\n1,11,2x1,,1\n10,5,2x1,60,\n";
    let expected = [(0.0, 100.0, 0), (1.0, 12.0, 0), (12.0, 17.0, 0)];
    assert_eq!(times(ends, "on:5"), expected);
    let ends = "0,100,2x1,,1\n1,14,2x1,,1\n10,5,2x1,60,\n";
    let expected = [(0.0, 100.0, 0), (1.0, 15.0, 0), (15.0, 20.0, 0)];
    assert_eq!(times(ends, "on:5"), expected);
    // The same, and job 2, which does not fit, is before job 3 in the queue. Job 3 starts.
    let fits = "0,100,2x1,,1\n1,11,2x1,,1\n2,50,4x1,,\n10,5,2x1,7,\n";
    assert_eq!(times(fits, "on:5")[3], (12.0, 17.0, 0));
    // Jobs 0 and 1 were to go for job 2. Job 0 ends at 12 s by itself, and job 1 goes as announced.
    let one_ends = "0,12,2x1,,1\n1,100,2x1,,1\n10,5,4x1,60,\n";
    let expected = [(0.0, 12.0, 0), (1.0, 120.0, 1), (15.0, 20.0, 0)];
    assert_eq!(times(one_ends, "on:5"), expected);
    // Job 1 is to go; when it ends, job 3 takes its place, out of turn, and has least to lose.
    let other = "0,100,2x1,,1\n1,11,2x1,,1\n10,5,4x1,60,\n11,50,2x1,,1\n";
    let other = by_hand(
        other,
        &[("preemption", "on:5"), ("scheduler", "bypass-queue:1h")],
    )
    .0;
    let expected = [
        (0.0, 120.0, 1),
        (1.0, 12.0, 0),
        (15.0, 20.0, 0),
        (12.0, 70.0, 1),
    ];
    assert_eq!(other, expected);
}

/// What failures and other jobs make a job lose is counted apart. Job 0 fails at 3 s, starts again
/// at 4 s, makes room at 6 s, and starts again at 8 s.
#[test]
fn failures_and_preemption_are_counted_apart() {
    let folder = tempfile::tempdir().unwrap();
    let events = folder.path().join("events.csv");
    let text = "time,what,which,state\n3,node,0,down\n4,node,0,up\n";
    std::fs::write(&events, text).unwrap();
    let jobs = "0,10,4x1,,1\n6,2,4x1,60,\n";
    let failures = ("failures", events.to_str().unwrap());
    for restart in ["elsewhere", "elsewhere:last", "replace"] {
        let settings = [failures, ("restart", restart), ("preemption", "on")];
        let (times, result) = by_hand(jobs, &settings);
        assert_eq!(times, [(0.0, 18.0, 1), (6.0, 8.0, 0)], "{restart}");
        let value = |metric| result.values[metric].unwrap();
        assert_eq!(
            (value(Metric::Restarts), value(Metric::Preemptions)),
            (1.0, 1.0)
        );
        assert_eq!(value(Metric::RestartTime), 1.0);
        let seconds = |metric| (value(metric) * 3600.0 / 4.0).round();
        let lost = [Metric::LostNodeHours, Metric::PreemptedNodeHours].map(seconds);
        assert_eq!(lost, [3.0, 2.0]);
        let with_checkpoint = [&settings[..], &[("checkpoint", "1")]].concat();
        let (times, result) = by_hand(jobs, &with_checkpoint);
        assert_eq!(times, [(0.0, 13.0, 1), (6.0, 8.0, 0)], "{restart}");
        assert_eq!(result.values[Metric::PreemptedNodeHours], Some(0.0));
    }
    // A checkpoint needs no failures.
    let settings = [("preemption", "on"), ("checkpoint", "4,1")];
    let (times, result) = by_hand(jobs, &settings);
    // The first is complete at 5 s; of 10 s of work 6 s are left, with one more.
    assert_eq!(times, [(0.0, 15.0, 1), (6.0, 8.0, 0)]);
    assert_eq!(result.values[Metric::Restarts], None);
    let lost = result.values[Metric::PreemptedNodeHours].unwrap() * 3600.0;
    assert!((lost - 4.0).abs() < 1e-9, "{lost}");
}

/// A mix in which some jobs may preempt others.
#[test]
fn any_number_of_threads_gives_the_same_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mix = folder.path().join("mix.csv");
    let rows = "4x4,3,,1\n2x6,2,30,1\n6x6,1,600,\n3x3,3,60,0\n";
    std::fs::write(&mix, format!("shape,weight,priority,preemptible\n{rows}")).unwrap();
    let settings = |preemption| {
        let settings = [
            ("mesh", "8x8"),
            ("mix", mix.to_str().unwrap()),
            ("strategy", "ff,as,naive"),
            ("scheduler", "easy"),
            ("load", "0.6"),
            ("jobs", "300"),
            ("replications", "5"),
            ("preemption", preemption),
        ];
        let resolved = Scenario::of(settings).unwrap().resolve().unwrap();
        resolved.experiment(&SharedLogs::default()).unwrap()
    };
    for preemption in ["on", "on:3s"] {
        let experiment = settings(preemption);
        let alone = run(&experiment, &mut InProcessBackends::default(), &()).unwrap();
        let preemptions = alone[0].metrics[Metric::Preemptions].unwrap().mean;
        assert!(preemptions > 5.0, "{preemptions}");
        for threads in 1..4 {
            let backends = InProcessBackends::default;
            let threads = NonZero::new(threads);
            let again = run_parallel(&experiment, threads, &backends, &()).unwrap();
            assert_eq!(again, alone);
        }
    }
    // Off is as if it were not given.
    let off = settings("off");
    assert_eq!(off.preemption, None);
}
