//! Closed workloads on cubes: by hand, beside a simulation without events, and second by second.

use meshalloc::{Block, Cube, NodeId, Shape};

use super::*;
use crate::workload::{
    Arrivals, CubeDistribution, EstimateModel, Requests, Subcubes, WorkDistribution,
};

fn cube(k: u16, n: u8) -> Grid {
    Cube::new(k, n).unwrap().into()
}

/// A job of whole seconds.
fn task(service: u64, radices: &[u16]) -> Job {
    Job {
        arrival: 0,
        work: Work::Service(service * TimeUnit::Second.ticks_each()),
        request: Request::new(Shape::new(radices).unwrap()),
    }
}

fn closed(machine: Grid, strategy: StrategyKind, tasks: &[Job]) -> RunResult {
    with_backend(machine, strategy, PLENTY, |backend| {
        let all = Measured::Departures(u32::try_from(tasks.len()).unwrap());
        run(backend, machine, tasks.iter().copied(), all, &mut ()).unwrap()
    })
}

fn assert_close(found: Option<f64>, expected: f64, what: &str) {
    let found = found.unwrap_or_else(|| panic!("{what} has no value"));
    assert!(
        (found - expected).abs() < 1e-9,
        "{what}: {found} instead of {expected}"
    );
}

#[test]
fn three_jobs_on_two_processors() {
    //   job   asks for  runs  granted  leaves
    //    0        1       4      0        4
    //    1        2       3      4        7    (1 free: not enough)
    //    2        1       1      7        8    (behind job 1, then at once)
    let tasks = [task(4, &[]), task(3, &[2]), task(1, &[])];
    let result = closed(cube(2, 1), StrategyKind::TreeCollapsing, &tasks);
    let value = |metric| result.values[metric];
    assert_eq!(value(Metric::CompletionTime), Some(8.0));
    assert_eq!(
        value(Metric::Utilization),
        Some((4.0 + 6.0 + 1.0) / (2.0 * 8.0))
    );
    assert_eq!(value(Metric::InternalFragmentation), Some(0.0));
    assert_eq!(value(Metric::ExternalFragmentation), Some(0.0));
    assert_eq!(value(Metric::WaitingDelay), Some((0.0 + 4.0 + 7.0) / 3.0));
    assert_eq!(value(Metric::Jobs), Some(3.0));
    assert!(!result.saturated);
}

#[test]
fn scattered_processors_are_external_fragmentation() {
    // A ring of four. Jobs 0 to 2 take nodes 0, 1 and 2; job 3 wants two neighbours. From 2 s on
    // nodes 1 and 3 are free, which are none; at 10 s all of them are. Until 2 s one is free, which
    // is not enough.
    let tasks = [task(10, &[]), task(2, &[]), task(10, &[]), task(5, &[2])];
    let result = closed(cube(4, 1), StrategyKind::TreeCollapsing, &tasks);
    let value = |metric| result.values[metric];
    assert_eq!(value(Metric::CompletionTime), Some(15.0));
    assert_close(
        value(Metric::ExternalFragmentation),
        2.0 * 8.0 / (4.0 * 15.0),
        "external",
    );
    assert_close(value(Metric::Utilization), 32.0 / 60.0, "utilization");
}

#[test]
fn what_is_held_beyond_the_request_is_not_free() {
    // Three of a ring of four are rounded up to all of it, so nothing is free for job 1 until 6 s.
    let tasks = [task(6, &[3]), task(2, &[])];
    let result = closed(cube(4, 1), StrategyKind::FreeList, &tasks);
    let value = |metric| result.values[metric];
    assert_eq!(value(Metric::InternalFragmentation), Some(1.0 / 5.0));
    assert_eq!(value(Metric::ExternalFragmentation), Some(0.0));
    assert_eq!(value(Metric::CompletionTime), Some(8.0));
    assert_close(value(Metric::Utilization), 20.0 / 32.0, "utilization");
}

#[test]
fn a_mesh_is_fragmented_the_same_way() {
    // The ring's case on a row of four, with jobs that arrive: the average ends with the last
    // arrival.
    let jobs = [
        job(0, 10, 1, 1),
        job(0, 2, 1, 1),
        job(0, 10, 1, 1),
        job(1, 5, 2, 1),
        job(9, 1, 1, 1),
    ];
    let result = simulate(mesh(4, 1), StrategyKind::FirstFit, 8, jobs, all(5)).unwrap();
    let external = result.values[Metric::ExternalFragmentation];
    assert_close(external, 2.0 * 7.0 / (4.0 * 9.0), "external");
    // Whatever a later job may do: the head decides. Under first come, first served it is the first
    // in the queue even where that is kept outside of the controller.
    for table in [5, 4] {
        let again = simulate(mesh(4, 1), StrategyKind::FirstFit, table, jobs, all(5)).unwrap();
        assert_eq!(again.values[Metric::ExternalFragmentation], external);
    }
}

/// Jobs of whole seconds.
fn drawn(k: u16, n: u8, tasks: u32, replication: u32) -> Vec<Job> {
    let workload = Synthetic {
        requests: Requests::Subcubes(Subcubes {
            cube: Cube::new(k, n).unwrap(),
            dims: CubeDistribution::Uniform,
            radices: CubeDistribution::Uniform,
        }),
        work: WorkDistribution::Service(ServiceDistribution::Uniform {
            lo_seconds: 5.0,
            hi_seconds: 30.0,
        }),
        arrivals: Arrivals::AtOnce { jobs: tasks },
        estimates: EstimateModel::Perfect,
        absent: 0,
    };
    let jobs = workload.jobs(11, replication).unwrap();
    let whole = |job: Job| Job {
        work: Work::Service(
            job.work.service().unwrap() / TimeUnit::Second.ticks_each()
                * TimeUnit::Second.ticks_each(),
        ),
        ..job
    };
    jobs.map(whole).collect()
}

/// What averages over time come to, second by second.
#[derive(Default)]
struct Seconds {
    used: u64,
    scattered: u64,
    end: u64,
}

impl Seconds {
    fn check(&self, result: &RunResult, machine: Grid, what: &str) {
        let all = (u64::from(machine.nodes()) * self.end) as f64;
        let values = &result.values;
        assert_eq!(
            values[Metric::CompletionTime],
            Some(self.end as f64),
            "{what}"
        );
        assert_close(values[Metric::Utilization], self.used as f64 / all, what);
        assert_close(
            values[Metric::ExternalFragmentation],
            self.scattered as f64 / all,
            what,
        );
    }
}

/// On a ring the first start from which all are free is easily found: nothing of the allocator is
/// needed.
#[test]
fn a_ring_beside_a_simulation_of_seconds() {
    const K: usize = 16;
    let mut fragmented = 0;
    for replication in 0..20 {
        let tasks = drawn(K as u16, 1, 60, replication);
        let length = |job: &Job| job.request.processors as usize;
        // For each processor when it becomes free.
        let mut busy_until = [0u64; K];
        let mut next = 0;
        let mut expected = Seconds::default();
        for now in 0.. {
            while let Some(task) = tasks.get(next) {
                let nodes = |start: usize| (start..start + length(task)).map(|node| node % K);
                let is_free = |start: &usize| nodes(*start).all(|node| busy_until[node] <= now);
                let Some(start) = (0..K).find(is_free) else {
                    break;
                };
                for node in nodes(start) {
                    busy_until[node] =
                        now + task.work.service().unwrap() / TimeUnit::Second.ticks_each();
                }
                expected.end = expected
                    .end
                    .max(now + task.work.service().unwrap() / TimeUnit::Second.ticks_each());
                next += 1;
            }
            if next == tasks.len() && now >= expected.end {
                break;
            }
            let free = busy_until.iter().filter(|&&until| until <= now).count();
            expected.used += (K - free) as u64;
            if tasks.get(next).is_some_and(|head| length(head) <= free) {
                expected.scattered += free as u64;
            }
        }
        fragmented += u32::from(expected.scattered > 0);
        let machine = cube(K as u16, 1);
        let result = closed(machine, StrategyKind::TreeCollapsing, &tasks);
        expected.check(&result, machine, &format!("replication {replication}"));
    }
    assert!(fragmented > 5, "{fragmented} of 20 are not worth the test");
}

#[test]
fn the_papers_cube_second_by_second() {
    let machine = cube(4, 3);
    let strategies = [
        StrategyKind::TreeCollapsing,
        StrategyKind::TreeCollapsingPrinted,
        StrategyKind::FreeList,
        StrategyKind::Sniffing,
    ];
    for (strategy, replication) in strategies.into_iter().flat_map(|s| [(s, 0), (s, 1)]) {
        let tasks = drawn(4, 3, 100, replication);
        let (result, grants) = with_backend(machine, strategy, PLENTY, |backend| {
            // Second, job, and what it holds.
            let mut grants = Vec::new();
            let mut spy = Around::new(backend, |inner, change, now, on_event| {
                inner.call(change, now, &mut |event, blocks| {
                    let second = now / TimeUnit::Second.ticks_each();
                    grants.push((second, event.job.0, blocks.to_vec()));
                    on_event(event, blocks);
                })
            });
            let jobs = tasks.iter().copied();
            let result = run(&mut spy, machine, jobs, Measured::Departures(100), &mut ()).unwrap();
            (result, grants)
        });
        // First come, first served: all of them, in their order.
        let order = grants.iter().map(|grant| grant.1);
        assert!(order.eq(0..100), "{strategy}");
        let ends = |&(from, job, _): &(u64, u32, Vec<Block>)| {
            from + tasks[job as usize].work.service().unwrap() / TimeUnit::Second.ticks_each()
        };
        let mut expected = Seconds {
            end: grants.iter().map(ends).max().unwrap(),
            ..Seconds::default()
        };
        for now in 0..expected.end {
            let mut held = [false; 64];
            for grant in grants
                .iter()
                .filter(|grant| grant.0 <= now && now < ends(grant))
            {
                for node in (0..64).filter(|&node| {
                    grant
                        .2
                        .iter()
                        .any(|&block| machine.holds(block, NodeId(node)))
                }) {
                    assert!(
                        !held[node as usize],
                        "{strategy}: two jobs hold a processor"
                    );
                    held[node as usize] = true;
                }
                expected.used += u64::from(tasks[grant.1 as usize].request.processors);
            }
            let free = held.iter().filter(|&&held| !held).count() as u64;
            let granted = grants.iter().filter(|grant| grant.0 <= now).count();
            let head = tasks.get(granted);
            if head.is_some_and(|head| u64::from(head.request.processors) <= free) {
                expected.scattered += free;
            }
        }
        expected.check(&result, machine, strategy.name());
        let requested: u32 = tasks.iter().map(|task| task.request.processors).sum();
        let blocks = grants.iter().flat_map(|grant| &grant.2);
        let held: u32 = blocks.map(|&block| machine.area(block)).sum();
        let internal = 1.0 - f64::from(requested) / f64::from(held);
        assert_close(
            result.values[Metric::InternalFragmentation],
            internal,
            strategy.name(),
        );
    }
}
