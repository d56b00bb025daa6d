//! For what jobs wait over a run: the parts add up to the wait.

use std::collections::BTreeMap;

use meshalloc::Ticks;
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment::run_observed;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::scenario::Scenario;
use meshalloc_sim::simulation::{RunResult, Seen};
use meshalloc_sim::situation::Cause;
use meshalloc_sim::workload::SharedLogs;

/// The waits of each job that started, in seconds, and how long it waited.
type Waits = BTreeMap<u32, (BTreeMap<&'static str, f64>, f64)>;

fn run(settings: &[(&str, &str)], seed: u32) -> (Waits, RunResult) {
    let seed = seed.to_string();
    let pairs = settings.iter().chain(&[("reasons", "true")]).copied();
    let pairs = pairs.chain([("seed", &*seed)]);
    let resolved = Scenario::of(pairs).unwrap().resolve().unwrap();
    let plan = resolved.experiment(&SharedLogs::default()).unwrap();
    let mut waits = Waits::new();
    let seconds = |ticks: Ticks| ticks as f64 / 1e6;
    let mut observer = |seen: &Seen<'_>| {
        if let Seen::Job(record) = seen
            && let Some(start) = record.start
        {
            let parts = record.waits.iter();
            let parts = parts.map(|(cause, ticks)| (cause.name(), seconds(ticks)));
            let wait = seconds(start - record.job.arrival);
            waits.insert(record.number, (parts.collect(), wait));
        }
    };
    let backends = &mut InProcessBackends::default();
    let ended = run_observed(&plan, plan.strategies[0], 0, backends, &(), &mut observer);
    (waits, ended.unwrap())
}

/// Four jobs of one processor, of which those at 1 and 3 leave at 4 s and the others at 10 s. The
/// fifth wants two and arrives at 1 s, the sixth wants one and arrives at 2 s.
#[test]
fn parts_of_the_wait_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("six.csv");
    let jobs = "0,10,1x1\n0,4,1x1\n0,10,1x1\n0,4,1x1\n1,5,2x1\n2,100,1x1\n";
    std::fs::write(&log, format!("submit,run,shape\n{jobs}")).unwrap();
    let log = log.to_str().unwrap();
    let waits = |scheduler| {
        let settings = [
            ("mesh", "4x1"),
            ("log", log),
            ("estimates", "perfect"),
            ("scheduler", scheduler),
        ];
        let (waits, _) = run(&settings, 1);
        [4, 5].map(|job| waits[&job].0.clone())
    };
    let fifth = BTreeMap::from([("too-few-free", 3.0), ("fragmented", 6.0)]);
    let sixth = BTreeMap::from([("not-its-turn", 8.0)]);
    assert_eq!(waits("fcfs"), [fifth, sixth]);
    // The sixth starts at 4 s beside the reservation of the fifth, and leaves one processor.
    let fifth = BTreeMap::from([("too-few-free", 9.0)]);
    let sixth = BTreeMap::from([("too-few-free", 2.0)]);
    assert_eq!(waits("easy"), [fifth, sixth]);
}

/// Checks the sums of a run, and notes the seconds of each reason.
fn add_up(settings: &[(&str, &str)], seed: u32, found: &mut BTreeMap<&'static str, f64>) {
    let (waits, result) = run(settings, seed);
    let mut sum = 0.0;
    for (job, (parts, wait)) in &waits {
        let total: f64 = parts.values().sum();
        assert!((total - wait).abs() < 1e-6, "{settings:?} {job}: {parts:?}");
        for (&cause, seconds) in parts {
            *found.entry(cause).or_default() += seconds;
        }
        sum += wait;
    }
    assert!(sum > 0.0, "{settings:?}: no job waited");
    let parts = Metric::ALL
        .into_iter()
        .filter(|metric| metric.needs() == Some("reasons"));
    let parts: f64 = parts.map(|metric| result.values[metric].unwrap()).sum();
    let wait = result.values[Metric::WaitingDelay].unwrap();
    assert!((parts - wait).abs() < 1e-6 * wait.max(1.0), "{settings:?}");
}

#[test]
fn the_parts_of_the_waits_of_gangs_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let mix = folder.path().join("gangs.csv");
    // Sets of places are searched for up to 32 slices.
    let shapes = "2x 4x4,2\n3x 3x3,2\n33x 1x3,1\n5x5,2\n1x2,3\n";
    std::fs::write(&mix, format!("shape,weight\n{shapes}")).unwrap();
    let mix = mix.to_str().unwrap();
    let mut found = BTreeMap::<&str, f64>::new();
    for strategy in ["ff", "as", "naive"] {
        for scheduler in ["fcfs", "easy", "bypass-queue:30"] {
            let settings = [
                ("mesh", "12x12"),
                ("mix", mix),
                ("strategy", strategy),
                ("scheduler", scheduler),
                ("jobs", "80"),
                ("load", "1.2"),
                ("measure", "departures"),
                ("failures", "node:4000,20"),
            ];
            add_up(&settings, 1, &mut found);
        }
    }
    for cause in [
        Cause::NotItsTurn,
        Cause::TooFewFree,
        Cause::GangIncomplete,
        Cause::NotSearchedToTheEnd,
    ] {
        assert!(found.contains_key(cause.name()), "{found:?}");
    }
}

#[test]
fn the_parts_add_up_to_the_wait() {
    let machines: [&[(&str, &str)]; 4] = [
        &[("mesh", "8x8"), ("strategy", "ff")],
        &[("mesh", "8x8"), ("strategy", "naive")],
        &[("torus", "4x4x4"), ("strategy", "fsl")],
        &[("machine", "galaxy"), ("strategy", "as")],
    ];
    let schedulers = ["fcfs", "easy", "conservative", "sjf", "bypass-queue:30"];
    let failing: [&[(&str, &str)]; 3] = [
        &[],
        &[("failures", "node:4000,20")],
        &[("failures", "node:4000,20"), ("restart", "in-place")],
    ];
    let mut found = BTreeMap::<&str, f64>::new();
    for seed in 0..4 {
        for machine in machines {
            for scheduler in schedulers {
                for failing in failing {
                    let common = [
                        ("scheduler", scheduler),
                        ("jobs", "80"),
                        ("load", "1.2"),
                        ("measure", "departures"),
                    ];
                    let settings = [machine, &common, failing].concat();
                    add_up(&settings, seed, &mut found);
                }
            }
        }
    }
    for cause in [
        Cause::NotItsTurn,
        Cause::TooFewFree,
        Cause::Fragmented,
        Cause::BehindReservation,
        Cause::Faults,
    ] {
        assert!(found.contains_key(cause.name()), "{found:?}");
    }
}
