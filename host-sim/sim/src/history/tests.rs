use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::backend::{Around, Backend, BackendError, InProcessBackends};
use crate::experiment::Measure;
use crate::failures::Failures;
use crate::metrics::Metric;
use crate::processors::intervals;
use crate::workload::{Rate, ServiceDistribution, SideDistribution, Synthetic, Workload};
use meshalloc::{Answer, Configuration, Description, JobId, Mesh, NodeId, Query};

/// Short runs at a load that makes jobs wait, measured by departures: averages over the whole time.
fn experiment(strategies: &[StrategyKind]) -> Experiment {
    let mesh = Mesh::new(8, 8).unwrap();
    let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
    let workload = Synthetic::new(mesh, SideDistribution::Uniform, service, Rate::Load(0.7));
    Experiment {
        measure: Measure::Departures,
        seed: 5,
        ..Experiment::new(Workload::Synthetic(workload), 600, strategies)
    }
}

fn short() -> Vec<History> {
    let strategies = [
        StrategyKind::FirstFit,
        StrategyKind::Naive,
        StrategyKind::Buddy,
    ];
    let mut backends = InProcessBackends::default();
    histories(&experiment(&strategies), &mut backends, &()).unwrap()
}

/// The same while boxes of 2 x 2 fail, each box every 400 s.
fn failing(restart: Restart, strategies: &[StrategyKind]) -> Experiment {
    let mut failing = experiment(strategies);
    failing.jobs = 300;
    failing.failures = Some(Failures {
        machine: failing.machine,
        cube: None,
        source: "2x2:400,20".parse().unwrap(),
        restart,
        checkpoint: Some("3,0.5".parse().unwrap()),
    });
    failing
}

const RESTARTS: [Restart; 5] = [
    Restart::InPlace,
    Restart::Spare,
    Restart::Elsewhere,
    Restart::ElsewhereLast,
    Restart::Replace,
];

fn short_with_failures() -> Vec<History> {
    let strategies = [StrategyKind::FirstFit, StrategyKind::Naive];
    let histories = RESTARTS.map(|restart| {
        let experiment = failing(restart, &strategies);
        histories(&experiment, &mut InProcessBackends::default(), &()).unwrap()
    });
    histories.into_iter().flatten().collect()
}

/// The processors of some blocks, by number.
fn nodes(machine: Grid, blocks: &[Block]) -> BTreeSet<u32> {
    let nodes = (0..machine.nodes()).map(NodeId);
    let held = nodes.filter(|&node| blocks.iter().any(|&block| machine.holds(block, node)));
    held.map(|node| node.0).collect()
}

/// What a controller knows: the processors of each running job, jobs that wait, and the faulty
/// processors.
#[derive(Debug, PartialEq)]
struct State {
    running: BTreeMap<u32, BTreeSet<u32>>,
    waiting: u32,
    faulty: BTreeSet<u32>,
}

/// Keeps the state of the controller after the changes of each time.
struct Spy<'b> {
    machine: Grid,
    inner: &'b mut InProcessBackends,
    states: BTreeMap<Ticks, State>,
}

impl Backends for Spy<'_> {
    fn with(
        &mut self,
        configuration: Configuration,
        description: Option<&Description>,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        let Spy {
            machine,
            inner,
            states,
        } = self;
        inner.with(configuration, description, &mut |backend| {
            let mut before = 0;
            body(&mut Around::new(
                backend,
                |backend, change, now, on_event| {
                    if now > before {
                        states.insert(before, state_of(backend, *machine));
                        before = now;
                    }
                    backend.call(change, now, on_event)
                },
            ));
        })
    }
}

fn state_of(backend: &mut dyn Backend, machine: Grid) -> State {
    let mut ask = |query: Query| backend.query(&query).unwrap().unwrap();
    let (mut running, mut waiting, mut from) = (BTreeMap::new(), 0, Some(0));
    while let Some(begin) = from {
        let Answer::Jobs(list) = ask(Query::Jobs {
            on: None,
            from: begin,
        }) else {
            panic!("no jobs");
        };
        from = list.next;
        for &(JobId(job), processors) in &list.jobs {
            if processors == 0 {
                waiting += 1;
                continue;
            }
            let (mut blocks, mut total) = (Vec::new(), 1);
            while blocks.len() < total {
                let from = blocks.len() as u32;
                let Answer::Blocks(list) = ask(Query::Blocks {
                    job: JobId(job),
                    from,
                }) else {
                    panic!("no blocks");
                };
                total = list.total as usize;
                blocks.extend(&list.blocks);
            }
            running.insert(job, nodes(machine, &blocks));
        }
    }
    let Answer::Occupancy(chunk) = ask(Query::Occupancy { from: NodeId(0) }) else {
        panic!("no occupancy");
    };
    let is_faulty = |node: &u32| chunk.faulty[*node as usize / 8] >> (node % 8) & 1 == 1;
    State {
        running,
        waiting,
        faulty: (0..machine.nodes()).filter(is_faulty).collect(),
    }
}

/// At many moments the history has the jobs and faults that the controller has before the first
/// change after them.
#[test]
fn a_history_with_failures_is_what_the_controller_has_at_any_moment() {
    let (mut faults, mut moments) = (0, 0);
    for restart in RESTARTS {
        for strategy in [StrategyKind::FirstFit, StrategyKind::Naive] {
            let experiment = failing(restart, &[strategy]);
            let machine = experiment.machine;
            let mut backends = InProcessBackends::default();
            let mut spy = Spy {
                machine,
                inner: &mut backends,
                states: BTreeMap::new(),
            };
            let history = &histories(&experiment, &mut spy, &()).unwrap()[0];
            let failures = history.failures.as_ref().unwrap();
            // With spares, a place is down only while two cubes of its row are.
            assert!(failures.outages.len() > if restart == Restart::Spare { 0 } else { 20 });
            assert!(history.jobs.iter().any(|job| job.stretches.len() > 1));
            for (&at, state) in &spy.states {
                let scene = history.at(at);
                let running = scene.running.iter();
                let running = running.map(|(job, blocks)| (*job, nodes(machine, blocks)));
                let found = State {
                    running: running.collect(),
                    waiting: scene.waiting.len() as u32,
                    faulty: scene.down.iter().map(|node| node.0).collect(),
                };
                assert_eq!(found, *state, "{restart}, {strategy} at {at}");
                faults += state.faulty.len();
                moments += 1;
            }
        }
    }
    assert!(moments > 300, "{moments} moments");
    assert!(faults > moments, "{faults} faults at {moments} moments");
}

/// 4 x 1: job 0 holds all of it until 10, job 1 then half until 12, job 2 the other half until 19;
/// job 3 waits for all.
#[test]
fn a_scene_has_the_events_of_its_moment() {
    let mut history = short().remove(0);
    let second = TimeUnit::Second.ticks_each();
    let block = |x, w| meshalloc::Submesh::new(x, 0, w, 1).into();
    let ran = [
        (0, 10, 0, 4),
        (10, 12, 0, 2),
        (10, 19, 2, 2),
        (19, 20, 0, 4),
    ];
    let template = history.jobs[0].clone();
    let jobs = ran.map(|(start, end, x, w)| {
        let mut job = template.clone();
        (job.job.arrival, job.end) = (0, Some(end * second));
        job.stretches = vec![Stretch {
            start: start * second,
            end: Some(end * second),
            is_interrupted: false,
            preempted_by: None,
            held: w.into(),
            blocks: vec![block(x, w)],
        }];
        job
    });
    (history.jobs, history.end) = (jobs.to_vec(), 20 * second);
    for (at, running, waiting) in [
        (0, &[0][..], &[1, 2, 3][..]),
        (9, &[0], &[1, 2, 3]),
        (10, &[1, 2], &[3]),
        (12, &[2], &[3]),
        (19, &[3], &[]),
        (99, &[], &[]),
    ] {
        let scene = history.at(at * second);
        let numbers: Vec<_> = scene.running.iter().map(|(job, _)| *job).collect();
        assert_eq!((&*numbers, &*scene.waiting), (running, waiting), "{at}");
        assert_eq!(scene.at, at.min(20) * second);
    }
    // The second and the third job are granted at the same time.
    for (grants, at) in [(1, 0), (2, 10), (3, 10), (4, 19)] {
        assert_eq!(history.granted(grants), Ok(at * second));
    }
    assert_eq!(history.granted(5), Err(4));
}

#[test]
fn a_recording_has_the_histories_of_a_run_of_its_own() {
    struct Recorded(Recording);
    impl Progress for Recorded {
        fn recorder(&self, strategy: StrategyKind, replication: u32) -> Box<dyn Observer + '_> {
            let recorder = (replication == 0).then(|| self.0.recorder(strategy));
            recorder.map_or_else(|| Box::new(()) as Box<dyn Observer>, |it| Box::new(it))
        }
    }
    let strategies = [StrategyKind::Naive, StrategyKind::FirstFit];
    let mut experiment = failing(Restart::Elsewhere, &strategies);
    experiment.replications = experiment::Replications::Fixed(2);
    let mut backends = InProcessBackends::default();
    let expected = histories(&experiment, &mut backends, &()).unwrap();
    let recorded = Recorded(Recording::default());
    let results = experiment::run(&experiment, &mut backends, &recorded).unwrap();
    let found = recorded.0.histories(&experiment, &results).unwrap();
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
}

#[test]
fn integrals_over_the_steps_are_the_runs_own_metrics() {
    for history in short().into_iter().chain(short_with_failures()) {
        let mut steps = history.steps();
        assert_eq!(steps[0].at, 0);
        assert!(steps.is_sorted_by(|one, other| one.at < other.at));
        steps.push(Step {
            at: history.end,
            ..Step::default()
        });
        let (mut used, mut fragmented, mut down) = (0, 0, 0);
        for pair in steps.windows(2) {
            let span = u128::from(pair[1].at - pair[0].at);
            used += u128::from(pair[0].used) * span;
            fragmented += u128::from(pair[0].fragmented) * span;
            down += u128::from(pair[0].down) * span;
        }
        let all = u128::from(history.machine.nodes()) * u128::from(history.end);
        for (sum, metric) in [
            (used, Metric::Utilization),
            (fragmented, Metric::ExternalFragmentation),
        ] {
            let expected = history.result.values[metric].unwrap();
            let what = format!(
                "{metric:?} {:?}",
                history.failures.as_ref().map(|it| it.restart)
            );
            assert_eq!(sum as f64 / all as f64, expected, "{what}");
        }
        let availability = history.result.values[Metric::Availability];
        assert_eq!(availability.is_some(), history.failures.is_some());
        // With spares, places are down less often than what is in them at first.
        let found = 1.0 - down as f64 / all as f64;
        match history.failures.as_ref().map(|failures| failures.restart) {
            None => assert_eq!(down, 0),
            Some(Restart::Spare) => assert!(Some(found) > availability && down > 0),
            Some(_) => assert!((found - availability.unwrap()).abs() < 1e-12),
        }
        assert!(steps.iter().any(|step| step.waiting > 3));
    }
}

#[test]
fn means_of_spans_are_those_of_a_sum_over_every_moment() {
    for history in short() {
        let steps = history.steps();
        // A time at which the run has ended already, in spans that are whole ticks.
        let end = history.end / 900 * 1000;
        let means = history.means(end, 40);
        let at_end = history.end as f64 / (end as f64 / 40.0);
        assert_eq!(means.len(), at_end.ceil() as usize);
        let naive = |from: f64, to: f64, value: fn(&Step) -> u32| {
            let sum: f64 = (0..steps.len())
                .map(|place| {
                    let next = steps.get(place + 1).map_or(history.end, |step| step.at);
                    let span = (next as f64).min(to) - (steps[place].at as f64).max(from);
                    f64::from(value(&steps[place])) * span.max(0.0)
                })
                .sum();
            sum / (to - from)
        };
        for (place, mean) in means.iter().enumerate() {
            let edge = |place: usize| (end as f64 * place as f64 / 40.0).min(history.end as f64);
            let (from, to) = (edge(place), edge(place + 1));
            for (mean, expected) in [
                (mean.used, naive(from, to, |step| step.used)),
                (mean.fragmented, naive(from, to, |step| step.fragmented)),
                (mean.waiting, naive(from, to, |step| step.waiting)),
            ] {
                assert!((mean - expected).abs() < 1e-6, "{place}: {mean} {expected}");
            }
        }
    }
}

#[test]
fn no_two_jobs_hold_a_processor_at_a_time() {
    for history in short().into_iter().chain(short_with_failures()) {
        let machine = history.machine;
        let mut held = vec![Vec::new(); machine.nodes() as usize];
        for job in &history.jobs {
            for stretch in &job.stretches {
                for (first, last) in intervals(machine, &stretch.blocks) {
                    for node in first..=last {
                        let end = stretch.end.unwrap_or(history.end);
                        held[node as usize].push((stretch.start, end));
                    }
                }
            }
        }
        for times in &mut held {
            times.sort_unstable();
            assert!(times.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }
}

#[test]
fn progress_has_as_many_jobs_as_it_expects() {
    #[derive(Default)]
    struct Counts {
        expected: AtomicU64,
        left: AtomicU64,
    }
    impl Progress for Counts {
        fn begin(&self, runs_max: u64, jobs_per_run: u64) {
            self.expected
                .fetch_add(runs_max * jobs_per_run, Ordering::Relaxed);
        }
        fn advance(&self, jobs: u64) {
            self.left.fetch_add(jobs, Ordering::Relaxed);
        }
    }
    let counts = Counts::default();
    let strategies = [StrategyKind::FirstFit, StrategyKind::Naive];
    let mut backends = InProcessBackends::default();
    histories(&experiment(&strategies), &mut backends, &counts).unwrap();
    let (expected, left) = (counts.expected.into_inner(), counts.left.into_inner());
    assert_eq!((expected, left), (2 * 600, 2 * 600));
}

/// The free processors and the largest free rectangle at a time, by trying every rectangle.
fn free_and_largest(history: &History, at: Ticks) -> (u32, u32) {
    let mut free = [[true; 8]; 8];
    for job in &history.jobs {
        let now = job
            .stretches
            .iter()
            .filter(|stretch| stretch.start <= at && stretch.end.is_none_or(|end| end > at));
        let held = now.flat_map(|stretch| intervals(history.machine, &stretch.blocks));
        for (first, last) in held {
            for place in first as usize..=last as usize {
                free[place / 8][place % 8] = false;
            }
        }
    }
    let is_free = |x: usize, y: usize, w: usize, h: usize| {
        let rows = &free[y..y + h];
        rows.iter()
            .all(|row| row[x..x + w].iter().all(|&free| free))
    };
    let mut largest = 0;
    for (x, y) in (0..8).flat_map(|y| (0..8).map(move |x| (x, y))) {
        for (w, h) in (1..=8 - y).flat_map(|h| (1..=8 - x).map(move |w| (w, h))) {
            if w * h > largest && is_free(x, y, w, h) {
                largest = w * h;
            }
        }
    }
    let count = free.iter().flatten().filter(|&&free| free).count();
    (count as u32, largest as u32)
}

#[test]
fn the_largest_slice_is_that_of_trying_every_rectangle() {
    let strategies = [StrategyKind::AdaptiveScan, StrategyKind::Naive];
    let mut measured = experiment(&strategies);
    measured.jobs = 200;
    let mut backends = InProcessBackends::default();
    let plain = histories(&measured, &mut backends, &()).unwrap();
    measured.switches.largest = true;
    let with = histories(&measured, &mut backends, &()).unwrap();
    for (plain, history) in plain.iter().zip(&with) {
        assert_eq!(history.result.decision_hash, plain.result.decision_hash);
        assert!(plain.largest.is_empty());
        for metric in [
            Metric::LargestSlice,
            Metric::FreeProcessors,
            Metric::LargestShare,
        ] {
            assert_eq!(plain.result.values[metric], None);
        }
        let mut steps = history.steps();
        steps.retain(|step| step.at < history.end);
        let ends = steps.iter().skip(1).map(|step| step.at);
        let ends: Vec<_> = ends.chain([history.end]).collect();
        let (mut free_sum, mut largest_sum) = (0, 0);
        for (step, end) in steps.iter().zip(ends) {
            let (free, mut largest) = free_and_largest(history, step.at);
            if history.strategy == StrategyKind::Naive {
                largest = free;
            }
            assert_eq!(step.largest, largest, "{} at {}", history.strategy, step.at);
            let span = u128::from(end - step.at);
            free_sum += u128::from(free) * span;
            largest_sum += u128::from(largest) * span;
        }
        let value = |metric: Metric| history.result.values[metric].unwrap();
        let time = history.end as f64;
        let is_close = |metric, expected: f64| (value(metric) - expected).abs() < 1e-9;
        assert!(is_close(Metric::FreeProcessors, free_sum as f64 / time));
        assert!(is_close(Metric::LargestSlice, largest_sum as f64 / time));
        assert!(is_close(
            Metric::LargestShare,
            largest_sum as f64 / free_sum as f64
        ));
        let means = history.means(history.end, 1);
        assert!((means[0].largest - value(Metric::LargestSlice)).abs() < 1e-6);
    }
    // What is scattered is free, but no slice.
    let share = |place: usize| with[place].result.values[Metric::LargestShare].unwrap();
    assert!(share(0) < 0.9 && (share(1) - 1.0).abs() < 1e-12);
}
