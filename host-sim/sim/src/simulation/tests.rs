use meshalloc::message::Capacity;
use meshalloc::{
    Answer, Block, Configuration, Event, EventKind, Mesh, Query, Refusal, Request, SchedulerKind,
    StrategyKind, Submesh, Ticks,
};

use super::*;
use crate::backend::{Around, InProcess, heap_storage};
use crate::forward_backend;
use crate::metrics::Metric;
use crate::statistics::{Estimate, Sampling};
use crate::workload::{
    Rate, ServiceDistribution, SideDistribution, Synthetic, TIME_MAX, TimeUnit, Work,
};

mod closed;
mod contention;
mod departures;
mod execution;
mod failing;
mod phases;
mod phases_of_messages;
mod room;
mod ways;

/// Room for any number of jobs of these tests.
const PLENTY: usize = 10_000;

fn mesh(w: u16, h: u16) -> Grid {
    Mesh::new(w, h).unwrap().into()
}

/// The strategies for meshes.
fn of_meshes() -> impl Iterator<Item = StrategyKind> {
    StrategyKind::built().filter(|kind| kind.serves().includes(&mesh(8, 8)))
}

/// A job of whole seconds.
fn job(arrival: u64, service: u64, w: u16, h: u16) -> Job {
    Job {
        arrival: arrival * TimeUnit::Second.ticks_each(),
        work: Work::Service(service * TimeUnit::Second.ticks_each()),
        request: Request::submesh(w, h),
    }
}

fn all(jobs: usize) -> Measured {
    Measured::Arrivals {
        first: 0,
        end: u32::try_from(jobs).unwrap(),
    }
}

/// Lends a controller with room for `table` jobs.
fn with_backend<T>(
    machine: Grid,
    strategy: StrategyKind,
    table: usize,
    body: impl FnOnce(&mut dyn Backend) -> T,
) -> T {
    let mut storage = heap_storage(machine, None, strategy, table);
    let configuration = Configuration {
        machine,
        strategy,
        scheduler: SchedulerKind::Fcfs,
    };
    body(&mut InProcess::new(storage.memory(), configuration).unwrap())
}

fn simulate(
    machine: Grid,
    strategy: StrategyKind,
    table: usize,
    jobs: impl IntoIterator<Item = Job>,
    measured: Measured,
) -> Result<RunResult, SimulationError> {
    with_backend(machine, strategy, table, |backend| {
        run(backend, machine, jobs, measured, &mut ())
    })
}

/// The block as a submesh; its numbers mean the same in all two-dimensional meshes.
fn submesh(block: Block) -> Submesh {
    Submesh::of(&Grid::mesh(&[1024, 1024]).unwrap(), block).unwrap()
}

/// Events with their blocks, and an outcome.
type Said = (Vec<(Event, Vec<Block>)>, Result<Outcome, Error>);

/// What passes through a backend.
#[derive(Default)]
struct Spy {
    notes: Vec<String>,
    /// Says this instead of the controller, to the change of this number.
    instead: Option<(usize, Said)>,
}

impl Spy {
    /// A backend that is looked at.
    fn around<'b>(&'b mut self, inner: &'b mut dyn Backend) -> impl Backend + 'b {
        Around::new(inner, |inner, change, now, on_event| {
            let at = TimeUnit::Second.of(now);
            match &self.instead {
                Some((number, (events, outcome))) if *number == self.notes.len() => {
                    for (event, blocks) in events {
                        on_event(event, blocks);
                    }
                    self.notes.push("instead".into());
                    return Ok(*outcome);
                }
                _ => {}
            }
            self.notes.push(match change {
                Change::Submit { job, .. } => format!("{at}: submit {job}"),
                Change::Release { job } => format!("{at}: release {job}"),
                other => format!("{other:?}"),
            });
            let note = self.notes.last_mut().unwrap();
            inner.call(change, now, &mut |event, blocks| {
                *note += &format!(", grant {} {}", event.job, submesh(blocks[0]));
                on_event(event, blocks);
            })
        })
    }
}

#[test]
fn equal_times_in_the_order_of_insertion() {
    // At 10 s job 0 leaves and jobs 1 and 2 arrive. Job 1's arrival became known at 0 s, before job
    // 0 was granted; job 2's when job 1 arrived, after it. First fit shows who was there first.
    let jobs = [job(0, 10, 1, 1), job(10, 5, 1, 1), job(10, 5, 1, 1)];
    let machine = mesh(3, 1);
    with_backend(machine, StrategyKind::FirstFit, 8, |backend| {
        let mut spy = Spy::default();
        run(&mut spy.around(backend), machine, jobs, all(3), &mut ()).unwrap();
        assert_eq!(
            spy.notes,
            [
                "0: submit 0, grant 0 (<0, 0>, <0, 0>)",
                "10: submit 1, grant 1 (<1, 0>, <1, 0>)",
                "10: release 0",
                "10: submit 2, grant 2 (<0, 0>, <0, 0>)",
                "15: release 1",
                "15: release 2",
            ]
        );
    });
}

#[test]
fn a_log_computed_by_hand() {
    // Four processors in a row, first fit.
    //   job  arrives  sides   runs   granted  leaves
    //    0      0     3 x 1    10       0       10
    //    1      2     2 x 1     6      10       16   (1 free: not a valid attempt)
    //    2      4     1 x 1    20      10       30   (behind job 1)
    //    3     12     2 x 1     2      16       18   (1 free)
    //    4     17     2 x 1     1      18       19   (1 free: job 3 has 2, job 2 has 1)
    // First fit puts job 1 on columns 0-1 and job 2 on column 2, job 3 on 0-1 and so on.
    let jobs = [
        job(0, 10, 3, 1),
        job(2, 6, 2, 1),
        job(4, 20, 1, 1),
        job(12, 2, 2, 1),
        job(17, 1, 2, 1),
    ];
    let result = simulate(mesh(4, 1), StrategyKind::FirstFit, 8, jobs, all(5)).unwrap();
    let value = |metric| result.values[metric].unwrap();
    // Waiting: 0, 8, 6, 4, 1. Turnaround: 10, 14, 26, 6, 2.
    assert_eq!(value(Metric::WaitingDelay), 19.0 / 5.0);
    // In order 0, 1, 4, 6, 8; of five values the highest stands for all above 15/16 of them.
    assert_eq!(value(Metric::WaitingMedian), 4.0);
    assert_eq!(value(Metric::WaitingP95), 8.0);
    assert_eq!(value(Metric::WaitingP99), 8.0);
    // 10/10, 14/10, 26/20, and two that are less than the threshold of 10 s divided by it, which
    // count as 1.
    assert!((value(Metric::BoundedSlowdown) - (1.0 + 1.4 + 1.3 + 1.0 + 1.0) / 5.0).abs() < 1e-12);
    assert_eq!(value(Metric::Turnaround), 58.0 / 5.0);
    let squares = 100.0 + 196.0 + 676.0 + 36.0 + 4.0;
    let variance = (squares - 58.0 * 58.0 / 5.0) / 4.0;
    assert!((value(Metric::TurnaroundVariance) - variance).abs() < 1e-9);
    assert_eq!(value(Metric::ServiceTime), 39.0 / 5.0);
    // In use from 0 s to 17 s: 3 for 10 s, 3 for 7 s (jobs 1 and 2, then 2 and 3).
    assert_eq!(value(Metric::Utilization), 51.0 / (4.0 * 17.0));
    assert_eq!(value(Metric::AllocationMiss), 0.0);
    assert_eq!(value(Metric::InternalFragmentation), 0.0);
    // The head always asks for more than the one processor that is free, but for job 2 at no time.
    assert_eq!(value(Metric::ExternalFragmentation), 0.0);
    assert_eq!(value(Metric::CompletionTime), 30.0);
    assert_eq!(value(Metric::Jobs), 5.0);
    assert_eq!((result.decisions, result.refused.total()), (5, 0));
    assert!(!result.saturated);
}

#[test]
fn warm_up_jobs_count_for_utilization_alone() {
    let jobs = [job(0, 100, 1, 1), job(10, 10, 1, 1), job(14, 10, 1, 1)];
    let measured = Measured::Arrivals { first: 1, end: 3 };
    let result = simulate(mesh(4, 1), StrategyKind::Naive, 8, jobs, measured).unwrap();
    assert_eq!(result.values[Metric::Jobs], Some(2.0));
    assert_eq!(result.values[Metric::ServiceTime], Some(10.0));
    // From 10 s to 14 s, jobs 0 and 1; the run ends with job 2, not with job 0.
    assert_eq!(result.values[Metric::Utilization], Some(0.5));
    assert_eq!(result.values[Metric::CompletionTime], Some(24.0));
}

#[test]
fn a_miss_is_a_failure_with_enough_free() {
    // Five processors in a row, all busy at first; the ones in columns 3 and 1 leave at 5 s and 9
    // s.
    let mut jobs = [100, 9, 100, 5, 100]
        .map(|service| job(0, service, 1, 1))
        .to_vec();
    // Two are wanted. At 6 s one is free: no valid attempt. At 9 s two are, apart: a miss. At 100 s
    // column 0 becomes free, and with it columns 0 and 1.
    jobs.push(job(6, 1, 2, 1));
    let measured = Measured::Arrivals { first: 5, end: 6 };
    let result = simulate(mesh(5, 1), StrategyKind::FirstFit, 8, jobs, measured).unwrap();
    assert_eq!(result.values[Metric::AllocationMiss], Some(1.0 / 2.0));
    assert_eq!(result.values[Metric::WaitingDelay], Some(94.0));
    assert_eq!(result.values[Metric::TurnaroundVariance], None);
    assert_eq!(result.values[Metric::Utilization], None);
}

#[test]
fn internal_fragmentation_is_summed_over_jobs() {
    // 3 of 4 and 5 of 6 are used; naive holds no more than is requested.
    let mut jobs = [job(0, 1, 2, 2), job(1, 1, 3, 2)];
    for (job, processors) in jobs.iter_mut().zip([3, 5]) {
        job.request.processors = processors;
    }
    for (strategy, expected) in [
        (StrategyKind::FirstFit, 2.0 / 10.0),
        (StrategyKind::Naive, 0.0),
    ] {
        let result = simulate(mesh(4, 4), strategy, 8, jobs, all(2)).unwrap();
        assert_eq!(result.values[Metric::InternalFragmentation], Some(expected));
    }
}

#[test]
fn a_single_server_waits_as_queueing_theory_says() {
    // One processor is M/M/1: the mean delay is rho / (mu - lambda), the time in system is
    // exponential with rate mu - lambda, and the variance is that rate to the power of -2.
    let (rho, mean) = (0.5, 2.0);
    let workload = Synthetic::new(
        Mesh::new(1, 1).unwrap(),
        SideDistribution::Uniform,
        ServiceDistribution::Exponential { mean_seconds: mean },
        Rate::Load(rho),
    );
    let mu = 1.0 / mean;
    let rate = mu - rho * mu;
    let runs: Vec<RunResult> = (0..10)
        .map(|replication| {
            let jobs = workload.jobs(1, replication).unwrap();
            let measured = Measured::Arrivals {
                first: 1_000,
                end: 20_000,
            };
            simulate(mesh(1, 1), StrategyKind::FirstFit, PLENTY, jobs, measured).unwrap()
        })
        .collect();
    for (metric, expected) in [
        (Metric::WaitingDelay, rho / rate),
        // A job waits longer than t with probability rho * exp(-rate * t).
        (Metric::WaitingP95, (rho / 0.05).ln() / rate),
        (Metric::WaitingP99, (rho / 0.01).ln() / rate),
        (Metric::Turnaround, 1.0 / rate),
        (Metric::TurnaroundVariance, rate.powi(-2)),
        (Metric::ServiceTime, mean),
        (Metric::Utilization, rho),
    ] {
        let values: Vec<f64> = runs.iter().map(|run| run.values[metric].unwrap()).collect();
        let estimate = Estimate::of(&values, Sampling::Independent, metric.spread()).unwrap();
        // A margin over the interval keeps one seed in twenty from failing; it stays under 12 %.
        let margin = 1.5 * estimate.ci95.unwrap().half_width();
        assert!(margin < 0.12 * expected, "{}: {estimate:?}", metric.name());
        assert!(
            (estimate.mean - expected).abs() < margin,
            "{}: {estimate:?}, expected {expected}",
            metric.name()
        );
    }
    assert!(runs.iter().all(|run| !run.saturated));
}

/// 3,000 jobs under heavy load on 8 x 8.
fn crowd() -> Vec<Job> {
    let workload = Synthetic::new(
        Mesh::new(8, 8).unwrap(),
        SideDistribution::Uniform,
        ServiceDistribution::Exponential { mean_seconds: 1.0 },
        Rate::Load(0.9),
    );
    workload.jobs(3, 0).unwrap().take(3_000).collect()
}

#[test]
fn a_small_table_decides_as_a_large_one() {
    let run = |table, strategy| simulate(mesh(8, 8), strategy, table, crowd(), all(3_000)).unwrap();
    // Those that look ahead place a job otherwise if fewer jobs are seen to wait behind it.
    let looks_ahead = |kind: &StrategyKind| {
        matches!(
            kind,
            StrategyKind::LeastExpectedBlocking { .. } | StrategyKind::LebEstimates { .. }
        )
    };
    for strategy in of_meshes().filter(|kind| !looks_ahead(kind)) {
        let large = run(PLENTY, strategy);
        assert!(large.values[Metric::WaitingDelay].unwrap() > 5.0);
        // One place more than processors can never be full of running jobs.
        assert_eq!(run(65, strategy), large, "{strategy}");
        // The smallest that is still exact, and is counted as such.
        let exact = (2..65).find(|&table| run(table, strategy).table_limited == 0);
        assert_eq!(run(exact.unwrap(), strategy), large, "{strategy} {exact:?}");
        assert!(exact.unwrap() < 32, "{strategy} {exact:?}");
    }
}

#[test]
fn a_table_full_of_running_jobs_is_reported() {
    let jobs = [0, 0, 0, 0].map(|arrival| job(arrival, 10, 1, 1));
    let run = |table| simulate(mesh(2, 2), StrategyKind::FirstFit, table, jobs, all(4)).unwrap();
    assert_eq!(run(5).values[Metric::WaitingDelay], Some(0.0));
    assert_eq!(run(5).table_limited, 0);
    let small = run(2);
    assert_eq!(small.values[Metric::WaitingDelay], Some(5.0));
    assert_eq!(small.values[Metric::Jobs], Some(4.0));
    assert!(small.table_limited > 0);
    let none = simulate(mesh(2, 2), StrategyKind::FirstFit, 0, jobs, all(4));
    assert!(matches!(none, Err(SimulationError::NoRoom)), "{none:?}");
}

#[test]
fn a_controller_with_less_room_than_its_capacity_is_used() {
    struct Boastful<'b>(&'b mut dyn Backend);
    impl Backend for Boastful<'_> {
        forward_backend!(it => it.0; call, fits, requested, query, is_in_order);
        fn capacity(&self) -> Capacity {
            Capacity {
                jobs: u32::MAX,
                ..self.0.capacity()
            }
        }
    }
    let machine = mesh(8, 8);
    let run = |table| {
        with_backend(machine, StrategyKind::FirstFit, table, |backend| {
            let mut backend = Boastful(backend);
            run(&mut backend, machine, crowd(), all(3_000), &mut ()).unwrap()
        })
    };
    assert_eq!(run(65), run(PLENTY));
}

#[test]
fn refused_jobs_are_counted_and_the_run_goes_on() {
    let jobs = [job(0, 5, 2, 2), job(1, 5, 3, 2), job(2, 5, 1, 1)];
    let result = simulate(mesh(2, 2), StrategyKind::FirstFit, 8, jobs, all(3)).unwrap();
    let refused: Vec<_> = result.refused.iter().collect();
    assert_eq!(refused, [(Refusal::NeverFits, 1)]);
    assert_eq!(result.values[Metric::Jobs], Some(2.0));
    assert_eq!(result.values[Metric::CompletionTime], Some(10.0));
}

#[test]
fn nonsense_from_the_controller_ends_the_run() {
    let machine = mesh(2, 2);
    let jobs = [job(0, 5, 1, 1), job(1, 5, 1, 1)];
    let spied = |instead| {
        with_backend(machine, StrategyKind::FirstFit, 8, |backend| {
            let mut spy = Spy {
                instead: Some(instead),
                ..Spy::default()
            };
            let backend = &mut spy.around(backend);
            run(backend, machine, jobs, all(2), &mut ()).unwrap_err()
        })
    };
    let unknown = Err(Error::UnknownJob);
    let grant = |job, blocks: &[u16]| {
        let blocks = blocks
            .iter()
            .map(|&x| Block::from(Submesh::new(x, 0, 1, 1)));
        let blocks: Vec<Block> = blocks.collect();
        let what = EventKind::Granted {
            attempts: 1,
            misses: 0,
            blocks_total: 2,
            block: Submesh::new(0, 0, 1, 1).into(),
        };
        let event = Event {
            number: 1,
            job: JobId(job),
            at: 0,
            processors: 2,
            what,
        };
        (event, blocks)
    };
    let lease_ended = Event {
        what: EventKind::LeaseEnded,
        ..grant(0, &[]).0
    };
    let full = Err(Error::Refused(Refusal::TableFull));
    let (done, released) = (Ok(Outcome::Done), Ok(Outcome::Released { processors: 1 }));
    for (number, said) in [
        (0, (vec![], released)),
        (0, (vec![], unknown)),
        // Grants of an unknown job; without a block; without the last one; outside; twice.
        (0, (vec![grant(7, &[0, 1])], done)),
        (0, (vec![grant(0, &[])], done)),
        (0, (vec![grant(0, &[0])], done)),
        (0, (vec![grant(0, &[0, 2])], done)),
        (0, (vec![grant(0, &[0, 1]), grant(0, &[0, 1])], done)),
        // No job has a lease.
        (0, (vec![(lease_ended, vec![])], done)),
        // Granted and refused.
        (0, (vec![grant(0, &[0, 1])], full)),
        (2, (vec![], unknown)),
        (2, (vec![], done)),
    ] {
        let error = spied((number, said));
        let SimulationError::Backend(BackendError::UnexpectedReply { command, .. }) = &error else {
            panic!("{error}");
        };
        let name = if number == 2 { "Release" } else { "Submit" };
        assert!(command.starts_with(name), "{error}");
    }
    // Taken, but never granted.
    let alone = with_backend(machine, StrategyKind::FirstFit, 8, |backend| {
        let mut spy = Spy {
            instead: Some((0, (vec![], done))),
            ..Spy::default()
        };
        let backend = &mut spy.around(backend);
        run(backend, machine, [jobs[0]], all(1), &mut ()).unwrap_err()
    });
    assert!(
        matches!(alone, SimulationError::Stalled { left: 1, .. }),
        "{alone}"
    );
}

#[test]
fn time_does_not_run_over() {
    let late = Job {
        arrival: TIME_MAX - 1,
        work: Work::Service(TIME_MAX),
        request: Request::submesh(1, 1),
    };
    let result = simulate(mesh(1, 1), StrategyKind::FirstFit, 8, [late], all(1));
    assert!(
        matches!(result, Err(SimulationError::TooLong)),
        "{result:?}"
    );
    assert_eq!(TimeUnit::Second.ticks(f64::MAX), TIME_MAX);
}

#[test]
fn a_run_without_jobs_has_no_means() {
    let result = simulate(mesh(1, 1), StrategyKind::FirstFit, 8, [], all(0)).unwrap();
    for (metric, value) in result.values.iter() {
        let expected = (metric == Metric::Jobs).then_some(0.0);
        assert_eq!(*value, expected, "{}", metric.name());
    }
}

#[test]
fn progress_adds_up_to_the_measured_jobs() {
    let mut calls = Vec::new();
    with_backend(mesh(8, 8), StrategyKind::Naive, PLENTY, |backend| {
        let measured = Measured::Arrivals {
            first: 100,
            end: 3_000,
        };
        let mut observer = |seen: &Seen<'_>| {
            if let Seen::Advance(jobs) = *seen {
                calls.push(jobs);
            }
        };
        run(backend, mesh(8, 8), crowd(), measured, &mut observer).unwrap();
    });
    assert_eq!(calls.iter().sum::<u64>(), 2_900);
    assert_eq!(calls.len(), 3);
}

#[test]
fn dispersal_is_averaged_over_jobs() {
    // On four processors in a row the third job gets 0, 2 and 3: distances 2, 3 and 1, in a box of
    // four.
    let jobs = [job(0, 2, 1, 1), job(1, 10, 1, 1), job(3, 1, 3, 1)];
    let result = simulate(mesh(4, 1), StrategyKind::Naive, 8, jobs, all(3)).unwrap();
    assert_eq!(result.values[Metric::Dispersal], Some(2.0 / 3.0));
    assert_eq!(result.values[Metric::Blocks], Some(4.0 / 3.0));
    assert_eq!(result.values[Metric::ContiguousShare], Some(2.0 / 3.0));
    assert_eq!(result.values[Metric::BoundingBoxShare], Some(2.75 / 3.0));
}

#[test]
fn hashes_are_fnv_1a_and_tell_decisions_apart() {
    for (text, hash) in [
        ("", 0xcbf2_9ce4_8422_2325),
        ("a", 0xaf63_dc4c_8601_ec8c),
        ("foobar", 0x8594_4171_f739_67e8),
    ] {
        let mut fnv = Fnv1a::default();
        fnv.write(text.as_bytes());
        assert_eq!(fnv.0, hash);
    }
    let run = |strategy| simulate(mesh(8, 8), strategy, PLENTY, crowd(), all(3_000)).unwrap();
    // Pages of one processor in row-major order are those of naive.
    let is_naive = |strategy: &StrategyKind| matches!(strategy, StrategyKind::Paging { .. });
    let paging = of_meshes().find(is_naive).unwrap();
    assert_eq!(
        run(paging).decision_hash,
        run(StrategyKind::Naive).decision_hash
    );
    // On so small a mesh the default tolerance of a static tree is no other than the ratio of a
    // dynamic one.
    let is_static = |strategy: &StrategyKind| strategy.name().contains("static-");
    // Where no job has an estimate, no partition is chosen by the end of a job.
    let is_aware = |strategy: &StrategyKind| *strategy == StrategyKind::WalltimeAware;
    let is_other = |it: &StrategyKind| !is_naive(it) && !is_static(it) && !is_aware(it);
    let others = || of_meshes().filter(is_other);
    let mut hashes: Vec<_> = others().map(|s| run(s).decision_hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), others().count());
}
