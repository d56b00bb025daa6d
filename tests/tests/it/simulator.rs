//! `host-sim` in process against a very simple simulator: an unsorted list of events, and the naive
//! system for everything else. Each job has the same start and the same processors.

use std::path::Path;

use meshalloc::{
    Capacity, Change, Error, EventKind, JobId, Mesh, Refusal, Request, StrategyKind, Ticks,
};
use meshalloc_sim::backend::{Around, Backend, Backends, InProcessBackends};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::simulation::{Measured, RunResult, run};
use meshalloc_sim::workload::{
    Job, Log, LogOptions, Rate, ServiceDistribution, SideDistribution, Synthetic, Work,
};
use meshalloc_tests::convert;
use meshalloc_tests::grid::Grid;
use meshalloc_tests::rig::{configuration, mesh};
use meshalloc_tests::system::System;

const SECOND: Ticks = 1_000_000;

const STRATEGIES: [StrategyKind; 4] = [
    StrategyKind::FirstFit,
    StrategyKind::AdaptiveScan,
    StrategyKind::FreeSubmeshList,
    StrategyKind::Naive,
];

/// The result for a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Fate {
    /// When it got its processors; `None` if it was refused.
    start: Option<Ticks>,
    /// Its processors, ascending.
    nodes: Vec<u32>,
    /// The attempts that failed although enough processors were free.
    misses: u32,
}

/// Events happen in order of time, at equal times in the order in which they were put in: a
/// departure at the grant, an arrival at the arrival before it.
struct SimpleSimulator<'a> {
    jobs: &'a [Job],
    fates: Vec<Fate>,
    last_departure: Ticks,
    refused: u64,
}

impl<'a> SimpleSimulator<'a> {
    fn run(mesh: Mesh, strategy: StrategyKind, jobs: &'a [Job]) -> Self {
        let capacity = Capacity {
            words: 0,
            word_bits: 64,
            jobs: u32::MAX,
            blocks: 0,
            list: 0,
        };
        let mut system = System::new(capacity, configuration(mesh, strategy));
        let mut simulator = SimpleSimulator {
            jobs,
            fates: vec![Fate::default(); jobs.len()],
            last_departure: 0,
            refused: 0,
        };
        let arrival = |number: usize| {
            let request = jobs[number].request;
            let job = JobId(number as u32);
            (jobs[number].arrival, Change::submit(job, request))
        };
        let mut events = vec![arrival(0)];
        // The earliest event; of equal ones the first that was put in, as the list keeps their
        // order.
        while let Some(now) = events.iter().map(|event| event.0).min() {
            let at = events.iter().position(|event| event.0 == now);
            let (_, command) = events.remove(at.expect("one has this time"));
            match command {
                Change::Submit { job, .. } if job.0 as usize + 1 < jobs.len() => {
                    events.push(arrival(job.0 as usize + 1));
                }
                Change::Release { .. } => simulator.last_departure = now,
                _ => (),
            }
            let expected = system.handle(&command, now);
            if let Err(error) = expected.outcome {
                assert_eq!(error, Error::Refused(Refusal::NeverFits));
                simulator.refused += 1;
            }
            for granted in expected.grants {
                let job = granted.job;
                simulator.fates[job.0 as usize] = Fate {
                    start: Some(granted.at),
                    nodes: granted.held.nodes(system.machine().grid()),
                    misses: granted.misses,
                };
                let work = jobs[job.0 as usize].work;
                let departure = now + work.service().expect("jobs run for a time");
                events.push((departure, Change::Release { job }));
            }
        }
        assert!(system.jobs().is_empty(), "every job was served");
        simulator
    }

    fn mean_wait_seconds(&self) -> f64 {
        let waits = self.jobs.iter().zip(&self.fates);
        let waits = waits.filter_map(|(job, fate)| Some(fate.start? - job.arrival));
        let (sum, count) = waits.fold((0, 0), |(sum, count), wait| (sum + wait, count + 1));
        sum as f64 / f64::from(count) / SECOND as f64
    }
}

/// A backend that writes down every grant at the time at which it was asked.
fn recorder<'b>(
    grid: Grid,
    fates: &'b mut [Fate],
    backend: &'b mut dyn Backend,
) -> impl Backend + 'b {
    Around::new(backend, move |backend, change, now, on_event| {
        backend.call(change, now, &mut |event, blocks| {
            let fate = &mut fates[event.job.0 as usize];
            fate.start = Some(now);
            if let EventKind::Granted { misses, .. } = event.what {
                fate.misses = misses;
            }
            for &block in blocks {
                let place = convert::place(convert::machine(&grid), block);
                fate.nodes.extend(grid.nodes_of(&place));
            }
            fate.nodes.sort_unstable();
            on_event(event, blocks);
        })
    })
}

/// Runs the jobs through `host-sim`; the controller has room for `room` at a time.
fn host_sim(
    mesh: Mesh,
    strategy: StrategyKind,
    jobs: &[Job],
    room: Option<usize>,
) -> (Vec<Fate>, RunResult) {
    let mut fates = vec![Fate::default(); jobs.len()];
    let mut result = None;
    let measured = Measured::Arrivals {
        first: 0,
        end: jobs.len() as u32,
    };
    let mut backends = InProcessBackends {
        jobs: room,
        timed: false,
    };
    backends
        .with(configuration(mesh, strategy), None, &mut |backend| {
            let mut recorder = recorder(convert::grid(mesh.into()), &mut fates, backend);
            let jobs = jobs.iter().copied();
            let outcome = run(&mut recorder, mesh.into(), jobs, measured, &mut ());
            result = Some(outcome.expect("the run ends"));
        })
        .expect("the controller takes the configuration");
    (fates, result.expect("the run has a result"))
}

fn assert_equal(mesh: Mesh, jobs: &[Job]) {
    for strategy in STRATEGIES {
        let expected = SimpleSimulator::run(mesh, strategy, jobs);
        // With room for all, and with a table so small that most of the queue is kept outside.
        for room in [None, Some(mesh.nodes() as usize + 1)] {
            let (fates, result) = host_sim(mesh, strategy, jobs, room);
            for (number, (found, expected)) in fates.iter().zip(&expected.fates).enumerate() {
                assert_eq!(
                    found, expected,
                    "{strategy}, {mesh}, job {number}, {room:?}"
                );
            }
            assert_eq!(result.table_limited, 0);
            assert_eq!(result.refused.total(), expected.refused);
            let started = expected.fates.iter().filter(|fate| fate.start.is_some());
            assert_eq!(result.decisions, started.count() as u64);
            let value = |metric| result.values[metric].expect("jobs were measured");
            let close = |found: f64, expected: f64| (found - expected).abs() <= 1e-9 * expected;
            let wait = value(Metric::WaitingDelay);
            assert!(
                close(wait, expected.mean_wait_seconds()),
                "{strategy}: {wait} s"
            );
            let end = expected.last_departure as f64 / SECOND as f64;
            assert!(close(value(Metric::CompletionTime), end), "{strategy}");
            assert!(wait > 0.0, "some job waits, or nothing was tested");
        }
    }
}

#[test]
fn synthetic_jobs() {
    for (w, h, load) in [(16, 16, 0.45), (9, 14, 0.7), (33, 5, 0.4)] {
        let mesh = mesh(w, h);
        let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
        let rate = Rate::Load(load);
        let workload = Synthetic::new(mesh, SideDistribution::Uniform, service, rate);
        let jobs: Vec<Job> = workload.jobs(1995, 0).unwrap().take(400).collect();
        assert_equal(mesh, &jobs);
    }
}

/// Times are small whole numbers, so that arrivals and departures often coincide, and some jobs
/// leave at the moment they start. Some are too wide for the mesh and are refused.
#[test]
fn events_at_equal_times() {
    let mut random = meshalloc_tests::random::Random::new(7);
    let mesh = mesh(8, 8);
    let mut arrival = 0;
    let jobs: Vec<Job> = (0..600)
        .map(|_| {
            arrival += u64::from(random.below(3)) * SECOND;
            let (w, h) = (random.between(1, 9), random.between(1, 6));
            Job {
                arrival,
                work: Work::Service(u64::from(random.below(5)) * SECOND),
                request: Request::submesh(w as u16, h as u16),
            }
        })
        .collect();
    assert_equal(mesh, &jobs);
}

/// `data/small.swf`, read by `host-sim` and, independently, here.
#[test]
fn a_small_log() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/data/small.swf");
    let text = std::fs::read_to_string(&path).unwrap();
    for mesh in [mesh(10, 10), mesh(6, 17)] {
        let log = Log::read(&path, LogOptions::default(), mesh.into()).unwrap();
        let found: Vec<Job> = log.jobs(1, 0).unwrap().collect();
        let (expected, dropped) = read_log(&text, mesh);
        assert_eq!(found, expected);
        assert_eq!(log.lines.no_processors, u64::from(dropped));
        assert_equal(mesh, &found);
    }
}

/// The jobs of a log in order of arrival, and the number of those without processors.
fn read_log(text: &str, mesh: Mesh) -> (Vec<Job>, u32) {
    let mut dropped = 0;
    let mut jobs = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with(';')) {
        let fields: Vec<i64> = line
            .split_whitespace()
            .map(|field| field.parse().expect("whole numbers only"))
            .collect();
        let (allocated, requested) = (fields[4], fields[7]);
        let processors = if allocated > 0 { allocated } else { requested };
        if processors <= 0 {
            dropped += 1;
            continue;
        }
        let mut request = near_square(processors as u32, mesh);
        // The requested time.
        if fields[8] > 0 {
            request = request.with_estimate(fields[8] as u64 * SECOND);
        }
        jobs.push(Job {
            arrival: fields[1] as u64 * SECOND,
            work: Work::Service(fields[3] as u64 * SECOND),
            request,
        });
    }
    jobs.sort_by_key(|job| job.arrival);
    (jobs, dropped)
}

/// Among sides that fit the mesh and hold `n`, the longer at most twice the shorter (without that
/// limit if there are none): the least area, then the most square; the longer side along the mesh's
/// longer.
fn near_square(n: u32, mesh: Mesh) -> Request {
    let (w, h) = (u32::from(mesh.sides().w), u32::from(mesh.sides().h));
    let along = |a: u32, b: u32| if w >= h { a >= b } else { b >= a };
    let sides = |most: u32| {
        (1..=w)
            .flat_map(|a| (1..=h).map(move |b| (a, b)))
            .filter(|&(a, b)| a * b >= n && along(a, b) && a.max(b) <= most * a.min(b))
            .min_by_key(|&(a, b)| (a * b, a.abs_diff(b)))
    };
    let (a, b) = sides(2)
        .or_else(|| sides(u32::MAX / 1024))
        .expect("the log asks for no more than the meshes have");
    Request::submesh(a as u16, b as u16).with_processors(n)
}
