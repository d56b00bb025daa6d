//! Backfilling with reserved boxes on whole workloads. A naive form without a controller starts
//! every job at the same time; no head starts later than its first reservation; suppositions change
//! nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use meshalloc::jobs::JobSlot;
use meshalloc::{
    Allocation, Allocator, Change, Configuration, Controller, Flags, Grid, JobId, NodeId, Request,
    SchedulerKind, Shape, StrategyKind, Submesh, Ticks, Tolerance,
};
use meshalloc_tests::backfilling::{Situation, Use, end_of, reserves_nodes};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::exhaustive;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{
    HeapMemory, ask_at, clear_faulty, cube, fault, mark_faulty, mesh, release, set_faulty, submesh,
    submit, unit,
};
use meshalloc_tests::strategy::{Held, Strategy, places_anywhere};
use meshalloc_tests::system::System;

mod arrivals;
#[cfg(feature = "host-sim")]
mod kth;

const EASY: SchedulerKind = SchedulerKind::Easy { reservations: 1 };
const SHORTEST: SchedulerKind = SchedulerKind::ShortestJobFirst { threshold: 9000 };

/// The estimates of run times.
#[derive(Clone, Copy, Debug)]
enum Estimates {
    Perfect,
    /// Up to three times as long.
    TooLong,
    /// Down to a third: jobs are overdue.
    TooShort,
    /// Every other job has none, the others perfect ones.
    Some,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    arrival: Ticks,
    request: Request,
    service: Ticks,
}

/// Jobs that would use about nine tenths of the machine if none of them had to wait.
fn workload(machine: Grid, count: usize, estimates: Estimates, seed: u64) -> Vec<Job> {
    let mut random = Random::new(seed);
    let mut arrival = 0;
    let sides: Vec<u32> = machine.sides().iter().map(|&side| side.into()).collect();
    let is_cube = machine.is_written_high_first();
    let mut job = |_| {
        arrival += Ticks::from(random.below(700));
        let service = Ticks::from(random.between(1, 3000));
        let estimate = match estimates {
            Estimates::Perfect => service,
            Estimates::TooLong => service * Ticks::from(random.between(100, 300)) / 100,
            Estimates::TooShort => service * Ticks::from(random.between(33, 100)) / 100,
            Estimates::Some if random.percent(50) => 0,
            Estimates::Some => service,
        };
        let least = if is_cube { 2 } else { 1 };
        let extents: Vec<u32> = sides
            .iter()
            .map(|&side| random.between(least, side))
            .collect();
        let mut request = convert::request(&extents);
        if estimate > 0 {
            request = request.with_estimate(estimate);
        } else if !matches!(estimates, Estimates::Some) {
            request = request.with_estimate(1);
        }
        Job {
            arrival,
            request,
            service,
        }
    };
    (0..count).map(&mut job).collect()
}

/// Carries a workload out: `submit` and `release` return the jobs that they start. At one time
/// departures come first.
fn carry_out(
    jobs: &[Job],
    mut event: impl FnMut(Ticks, Option<usize>, Option<usize>) -> Vec<usize>,
) -> Vec<Ticks> {
    let mut starts = vec![Ticks::MAX; jobs.len()];
    let mut ends = BTreeSet::new();
    let mut arrivals = jobs.iter().enumerate().peekable();
    loop {
        let arrival = arrivals.peek().map_or(Ticks::MAX, |(_, job)| job.arrival);
        let end = ends.first().map_or(Ticks::MAX, |&(end, _)| end);
        let now = arrival.min(end);
        let started = match (end <= arrival, now) {
            (_, Ticks::MAX) => return starts,
            (true, _) => event(now, None, ends.pop_first().map(|(_, job)| job)),
            (false, _) => event(now, arrivals.next().map(|(job, _)| job), None),
        };
        for job in started {
            starts[job] = now;
            ends.insert((now + jobs[job].service, job));
        }
    }
}

/// The start of every job under a controller. The controller is checked, and passed to `look`,
/// after every event.
fn starts(
    configuration: Configuration,
    jobs: &[Job],
    mut look: impl FnMut(&Controller<'_>),
) -> Vec<Ticks> {
    starts_with_room(configuration, jobs, jobs.len(), |controller| {
        controller.check_invariants();
        look(controller);
    })
}

/// The same without checks, with room for `room` jobs that wait or run.
fn starts_with_room(
    configuration: Configuration,
    jobs: &[Job],
    room: usize,
    mut look: impl FnMut(&Controller<'_>),
) -> Vec<Ticks> {
    let mut memory = HeapMemory::new(configuration.machine, room);
    let mut controller = Controller::new(memory.memory(), configuration).expect("it is served");
    carry_out(jobs, |now, arrival, end| {
        let command = match (arrival, end) {
            (Some(at), _) => Change::submit(JobId(at as u32), jobs[at].request),
            (None, at) => Change::Release {
                job: JobId(at.expect("one of both") as u32),
            },
        };
        let answer = ask_at(&mut controller, &command, now);
        look(&controller);
        let started = answer.grants.iter();
        started.map(|granted| granted.job.0 as usize).collect()
    })
}

/// The same without a controller: after every event all waiting jobs try in order, and all
/// reservations are made anew.
fn naive_starts(configuration: Configuration, jobs: &[Job]) -> Vec<Ticks> {
    let Configuration {
        machine,
        strategy,
        scheduler,
    } = configuration;
    let grid = convert::grid(machine);
    let mut strategy = Strategy::new(strategy, &grid);
    let unused = strategy.clone();
    let faulty = vec![false; grid.nodes() as usize];
    let mut waiting: Vec<usize> = Vec::new();
    let mut running: BTreeMap<usize, (Ticks, Held)> = BTreeMap::new();
    carry_out(jobs, |now, arrival, end| {
        waiting.extend(arrival);
        if let Some((_, held)) = end.and_then(|job| running.remove(&job)) {
            strategy.give_back(&held, |_| false);
        }
        let mut started = Vec::new();
        let in_use = |(&job, (start, held)): (&usize, &(Ticks, Held))| {
            let nodes = held.nodes(&grid);
            Use {
                start: *start,
                end: end_of(&jobs[job].request, *start).max(now),
                processors: nodes.len() as u32,
                nodes,
                blocks: unused.blocks(held),
            }
        };
        let mut in_use_now: Vec<Use> = running.iter().map(in_use).collect();
        let mut reserved = Vec::new();
        let mut at = 0;
        while at < waiting.len() {
            if let SchedulerKind::ShortestJobFirst { threshold } = scheduler {
                let estimate = |&at: &usize| end_of(&jobs[waiting[at]].request, 0);
                let is_late = now - jobs[waiting[0]].arrival >= threshold;
                at = if is_late {
                    0
                } else {
                    (0..waiting.len()).min_by_key(estimate).unwrap_or(0)
                };
            }
            let (job, request) = (waiting[at], &jobs[waiting[at]].request);
            let situation = Situation {
                strategy: &strategy,
                faulty: &faulty,
                now,
                running: in_use_now,
                reserved,
            };
            let placed = situation.place(request);
            let reservation = match scheduler {
                _ if placed.is_ok() => None,
                SchedulerKind::Easy { reservations } if at as u64 >= reservations => None,
                SchedulerKind::ShortestJobFirst { .. } => None,
                _ => situation.reservation(request),
            };
            Situation {
                running: in_use_now,
                reserved,
                ..
            } = situation;
            reserved.extend(reservation);
            match placed {
                Ok(held) => {
                    strategy.take(&held);
                    let started_now = (now, held);
                    in_use_now.push(in_use((&job, &started_now)));
                    running.insert(job, started_now);
                    waiting.remove(at);
                    started.push(job);
                    if matches!(scheduler, SchedulerKind::ShortestJobFirst { .. }) {
                        at = 0;
                    }
                }
                Err(_) if matches!(scheduler, SchedulerKind::ShortestJobFirst { .. }) => break,
                Err(_) => at += 1,
            }
        }
        started
    })
}

fn configuration(
    machine: impl Into<Grid>,
    strategy: StrategyKind,
    scheduler: SchedulerKind,
) -> Configuration {
    Configuration {
        machine: machine.into(),
        strategy,
        scheduler,
    }
}

/// Every job starts as in the naive form, and some start at other times than under first come,
/// first served. The time of the naive form grows with the cube of the queue.
fn starts_as_the_naive_form(machine: impl Into<Grid>, strategies: &[StrategyKind]) {
    let machine = machine.into();
    for estimates in [
        Estimates::Perfect,
        Estimates::TooLong,
        Estimates::TooShort,
        Estimates::Some,
    ] {
        let jobs = workload(machine, exhaustive(120, 70) as usize, estimates, 7);
        for &strategy in strategies {
            let fcfs = configuration(machine, strategy, SchedulerKind::Fcfs);
            let in_order = starts(fcfs, &jobs, |_| ());
            for scheduler in [EASY, SchedulerKind::Conservative, SHORTEST] {
                let configuration = configuration(machine, strategy, scheduler);
                let context = format!("{configuration:?}, {estimates:?}");
                let starts = starts(configuration, &jobs, |_| ());
                assert_eq!(starts, naive_starts(configuration, &jobs), "{context}");
                assert_ne!(starts, in_order, "{context}");
                assert!(!starts.contains(&Ticks::MAX), "every job starts: {context}");
            }
        }
    }
}

#[test]
fn first_fit_starts_jobs_as_the_naive_form() {
    starts_as_the_naive_form(
        mesh(16, 22),
        &[StrategyKind::FirstFit, StrategyKind::AdaptiveScan],
    );
}

#[test]
fn free_submesh_list_starts_jobs_as_the_naive_form() {
    starts_as_the_naive_form(mesh(16, 22), &[StrategyKind::FreeSubmeshList]);
}

#[test]
fn counts_start_jobs_as_the_naive_form() {
    starts_as_the_naive_form(mesh(16, 22), &[StrategyKind::Naive]);
}

#[test]
fn grids_start_jobs_as_the_naive_form() {
    let strategies = [
        StrategyKind::FirstFit,
        StrategyKind::AdaptiveScan,
        StrategyKind::TreeCollapsing,
    ];
    let torus = Grid::torus(&[4, 3, 5]).expect("a torus");
    let mixed = Grid::new(&[5, 4, 3], 0b010).expect("a grid");
    for machine in [torus, mixed, cube(4, 3).into()] {
        starts_as_the_naive_form(machine, &strategies);
    }
}

/// With perfect estimates no job starts later than was reserved for it when it became the head of
/// the queue, whatever the strategy.
#[test]
fn no_head_starts_later_than_was_first_reserved_for_it() {
    let machines = [
        Grid::from(mesh(8, 8)),
        mesh(6, 1).into(),
        mesh(16, 11).into(),
        cube(4, 3).into(),
        Grid::new(&[5, 4, 3], 0b010).expect("a grid"),
    ];
    for machine in machines {
        let grid = convert::grid(machine);
        let kinds = StrategyKind::built().chain(["paging:snake=1".parse().expect("a strategy")]);
        for strategy in kinds.filter(|&kind| is_served(kind, &grid)) {
            for scheduler in [
                EASY,
                SchedulerKind::Easy { reservations: 2 },
                SchedulerKind::Easy { reservations: 5 },
                SchedulerKind::Conservative,
            ] {
                let configuration = configuration(machine, strategy, scheduler);
                let promised: usize = (0..3).map(|seed| late_heads(configuration, seed)).sum();
                assert!(promised > 30, "{configuration:?}: {promised} reservations");
            }
        }
    }
}

/// Compares the start of every head with its first reservation; returns how many had one.
fn late_heads(configuration: Configuration, seed: u64) -> usize {
    let Configuration {
        machine, strategy, ..
    } = configuration;
    let mut random = Random::new(seed);
    let mut jobs = workload(machine, 60, Estimates::Perfect, seed + 11);
    // Requests that some strategies place otherwise: fewer processors than the sides have, and a
    // fixed orientation.
    for job in &mut jobs {
        let request = &mut job.request;
        if random.percent(30) {
            *request = request.with_processors(random.between(1, request.processors));
        }
        if random.percent(20) {
            *request = request.with_flags(Flags::FIXED_ORIENTATION);
        }
        // It serves no other radix.
        if strategy == StrategyKind::Partner {
            let side = u32::from(machine.side(0));
            let estimate = request.estimate.map_or(1, NonZeroU64::get);
            *request = convert::request(&vec![side; random.between(1, 3) as usize]);
            *request = request.with_estimate(estimate);
        }
    }
    let (mut promised, mut later) = (BTreeMap::new(), 0);
    let starts = starts(configuration, &jobs, |controller| {
        let queue = controller.jobs().queue();
        for (at, slot) in queue.slots().enumerate() {
            let job = queue.get(slot);
            if let Some(from) = job.reserved_from() {
                let (first, as_head) = promised.entry(job.id()).or_insert((from, None));
                later += u32::from(from > *first);
                if at == 0 {
                    as_head.get_or_insert(from);
                }
            }
        }
    });
    for (job, (_, as_head)) in &promised {
        let start = starts[job.0 as usize];
        let kept = as_head.is_none_or(|promise| start <= promise);
        assert!(
            kept,
            "{configuration:?}, seed {seed}: job {job} at {start}, not {as_head:?}"
        );
    }
    // If only the number of processors matters, all other jobs keep their starts, too.
    let is_exact = !places_anywhere(strategy) || later == 0;
    assert!(
        is_exact,
        "{configuration:?}, seed {seed}: {later} jobs start later"
    );
    promised.len()
}

/// Three of six processors are held until 10. The head takes four at 10. The job behind the head
/// runs longer, and begins at once on the other two processors.
#[test]
fn a_later_job_leaves_free_what_the_head_needs() {
    let row = Grid::from(mesh(6, 1));
    let grid = convert::grid(row);
    // Partitions of a row of six have six, three or two processors, or one.
    let takes_four = |kind: &StrategyKind| {
        let checked = Strategy::new(*kind, &grid).check(&Request::submesh(4, 1));
        checked.is_ok_and(|checked| checked.taken == 4)
    };
    let served = StrategyKind::built().filter(|&kind| is_served(kind, &grid));
    for strategy in served.filter(takes_four) {
        for scheduler in [EASY, SchedulerKind::Conservative] {
            let job = |arrival, w, service| Job {
                arrival,
                request: Request::submesh(w, 1).with_estimate(service),
                service,
            };
            let jobs = [job(0, 3, 10), job(1, 4, 10), job(2, 2, 1000)];
            let configuration = configuration(row, strategy, scheduler);
            let starts = starts(configuration, &jobs, |_| ());
            assert_eq!(starts, [0, 10, 2], "{configuration:?}");
        }
    }
}

#[test]
fn all_blocks_of_an_l_are_reserved_and_what_lies_beside_them_is_not() {
    let mut memory = HeapMemory::new(mesh(5, 7), 4);
    let configuration = configuration(mesh(5, 7), StrategyKind::LShape, EASY);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    for node in [3, 3 * 5 + 4] {
        set_faulty(&mut controller, node, true);
    }
    let lasting = |w, h, estimate| Request::submesh(w, h).with_estimate(estimate);
    assert_eq!(
        submit(&mut controller, 1, lasting(3, 3, 100)).grants.len(),
        1
    );
    // 3 x 7 and 2 x 2 above the faults.
    assert_eq!(submit(&mut controller, 2, lasting(5, 5, 50)).grants, []);
    let jobs = controller.jobs();
    let head = jobs.get(jobs.queue().head().expect("it waits"));
    let reserved: Vec<Submesh> = controller.reserved_blocks(head).map(submesh).collect();
    assert_eq!(head.reserved_from(), Some(100));
    assert_eq!(
        reserved,
        [Submesh::new(0, 0, 3, 7), Submesh::new(3, 5, 2, 2)]
    );
    let granted = submit(&mut controller, 3, lasting(2, 1, 1000)).grants;
    let blocks = granted.first().map(|granted| &*granted.blocks);
    assert_eq!(blocks, Some(&[Submesh::new(3, 1, 2, 1).into()][..]));
    assert_eq!(submit(&mut controller, 4, lasting(3, 2, 1000)).grants, []);
    controller.check_invariants();
}

/// The jobs hold as many blocks as the machine has processors. No block is left for a reservation,
/// so the whole machine is reserved.
#[test]
fn without_room_for_its_blocks_the_whole_machine_is_reserved() {
    let mut memory = HeapMemory::new(mesh(4, 1), 8);
    let configuration = configuration(mesh(4, 1), StrategyKind::Neighbor, EASY);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    let mut system = System::new(controller.capacity(), configuration);
    let mut reserved_by = |command: Change, now| {
        let expected = system.handle(&command, now);
        let answer = ask_at(&mut controller, &command, now);
        assert!(expected.agrees_with(&answer), "{answer:?}");
        controller.check_invariants();
        let jobs = controller.jobs();
        let head = jobs.queue().head().map(|head| jobs.get(head));
        let blocks = head
            .into_iter()
            .flat_map(|head| controller.reserved_blocks(head));
        let blocks: Vec<Submesh> = blocks.map(submesh).collect();
        (head.and_then(JobSlot::reserved_from), blocks)
    };
    let lasting = |job, w, estimate| {
        let (job, request) = (JobId(job), Request::submesh(w, 1).with_estimate(estimate));
        Change::submit(job, request)
    };
    for job in 1..5 {
        let none = reserved_by(lasting(job, 1, 10 * u64::from(job)), 0);
        assert_eq!(none, (None, Vec::new()));
    }
    let whole = vec![Submesh::new(0, 0, 4, 1)];
    assert_eq!(reserved_by(lasting(5, 2, 5), 0), (Some(20), whole));
    let first = vec![Submesh::new(0, 0, 2, 1)];
    let release = |job| Change::Release { job: JobId(job) };
    assert_eq!(reserved_by(release(1), 10), (Some(20), first.clone()));
    // A job that runs longer waits; one that ends in time begins.
    assert_eq!(
        reserved_by(lasting(6, 1, 1000), 10),
        (Some(20), first.clone())
    );
    assert_eq!(reserved_by(lasting(7, 1, 10), 10).0, Some(20));
    assert_eq!(reserved_by(release(2), 20).0, Some(20));
    // It begins, and the next one is the head.
    let next = vec![Submesh::new(0, 0, 1, 1)];
    assert_eq!(reserved_by(release(7), 20), (Some(25), next));
}

/// An estimate that reaches to the end of time counts as none: nothing is reserved behind the job,
/// and the job begins only outside reservations.
#[test]
fn an_estimate_up_to_the_end_of_time_is_none() {
    let estimates = [Ticks::MAX, Ticks::MAX - 1, Ticks::MAX - 5, Ticks::MAX / 2];
    for scheduler in [EASY, SchedulerKind::Conservative, SHORTEST] {
        for strategy in [
            StrategyKind::FirstFit,
            StrategyKind::Naive,
            StrategyKind::LShape,
        ] {
            for long in estimates {
                let mut memory = HeapMemory::new(mesh(4, 1), 8);
                let configuration = configuration(mesh(4, 1), strategy, scheduler);
                let mut controller = Controller::new(memory.memory(), configuration).unwrap();
                let mut system = System::new(controller.capacity(), configuration);
                let requests = [
                    Request::submesh(3, 1).with_estimate(long),
                    Request::submesh(2, 1),
                    Request::submesh(3, 1).with_estimate(long),
                    Request::submesh(4, 1).with_estimate(7),
                    Request::submesh(1, 1).with_estimate(long),
                ];
                let submits = requests.into_iter().zip(1..).map(|(request, job)| {
                    let job = JobId(job);
                    Change::submit(job, request)
                });
                let releases = [1, 2, 3].map(|job| Change::Release { job: JobId(job) });
                for (command, now) in
                    submits
                        .chain(releases)
                        .zip([3, 4, 4, 5, Ticks::MAX - 2].into_iter().chain([
                            Ticks::MAX - 1,
                            Ticks::MAX,
                            Ticks::MAX,
                        ]))
                {
                    let expected = system.handle(&command, now);
                    let answer = ask_at(&mut controller, &command, now);
                    assert!(
                        expected.agrees_with(&answer),
                        "{configuration:?}, {long}, {command:?}: {answer:?}, not {expected:?}"
                    );
                    controller.check_invariants();
                }
            }
        }
    }
}

/// The numbers of faulty and free processors stay the same, but the head needs another place.
#[test]
fn a_fault_that_moves_between_held_processors_moves_the_reservation() {
    for scheduler in [EASY, SchedulerKind::Conservative] {
        let mut memory = HeapMemory::new(mesh(6, 1), 4);
        let configuration = configuration(mesh(6, 1), StrategyKind::FirstFit, scheduler);
        let mut controller = Controller::new(memory.memory(), configuration).unwrap();
        let lasting = |w, estimate| Request::submesh(w, 1).with_estimate(estimate);
        assert_eq!(submit(&mut controller, 1, lasting(4, 100)).grants.len(), 1);
        set_faulty(&mut controller, 0, true);
        // From 100 on: 1 to 3, which are held now.
        assert_eq!(submit(&mut controller, 2, lasting(3, 50)).grants, []);
        set_faulty(&mut controller, 0, false);
        set_faulty(&mut controller, 2, true);
        // Now it has to be 3 to 5.
        assert_eq!(submit(&mut controller, 3, lasting(2, 1000)).grants, []);
        let granted = release(&mut controller, 1).grants;
        let blocks = granted.first().map(|granted| &*granted.blocks);
        assert_eq!(blocks, Some(&[Submesh::new(3, 0, 3, 1).into()][..]));
    }
}

/// The head needs all processors, of which one is down: it has no reservation, and jobs of any
/// length pass it. After the repair it has one, and they do not.
#[test]
fn a_head_without_a_place_for_its_faults_is_passed_without_limit() {
    for scheduler in [EASY, SchedulerKind::Conservative] {
        let mut memory = HeapMemory::new(mesh(6, 1), 8);
        let configuration = configuration(mesh(6, 1), StrategyKind::FirstFit, scheduler);
        let mut controller = Controller::new(memory.memory(), configuration).unwrap();
        let lasting = |w, estimate| Request::submesh(w, 1).with_estimate(estimate);
        let reserved_from = |controller: &Controller<'_>| {
            let jobs = controller.jobs();
            jobs.get(jobs.queue().head().expect("it waits"))
                .reserved_from()
        };
        set_faulty(&mut controller, 0, true);
        assert_eq!(submit(&mut controller, 1, lasting(6, 50)).grants, []);
        for (job, estimate) in [(2, 1000), (3, 2000)] {
            let granted = submit(&mut controller, job, lasting(2, estimate)).grants;
            assert_eq!((granted.len(), reserved_from(&controller)), (1, None));
        }
        set_faulty(&mut controller, 0, false);
        assert_eq!(reserved_from(&controller), Some(2000));
        assert_eq!(submit(&mut controller, 4, lasting(1, 3000)).grants, []);
        controller.check_invariants();
    }
}

/// However many jobs have passed a head that had no place for its faults: with perfect estimates it
/// starts, at the latest, when the last job has ended that ran when these were repaired.
#[test]
fn a_repair_bounds_the_wait_of_a_head_without_a_place() {
    let cubic = Grid::mesh(&[3, 3, 3]).expect("a mesh");
    for machine in [mesh(4, 4).into(), cubic] {
        for strategy in [
            StrategyKind::FirstFit,
            StrategyKind::FreeSubmeshList,
            StrategyKind::LeastExpectedBlocking { budget: 8 },
            StrategyKind::Naive,
            StrategyKind::Random { seed: 5 },
        ] {
            for scheduler in [EASY, SchedulerKind::Conservative] {
                let configuration = configuration(machine, strategy, scheduler);
                let passed: u32 = (0..30)
                    .map(|seed| passed_until_repair(configuration, seed))
                    .sum();
                assert!(passed > 10, "{configuration:?}: {passed}");
            }
        }
    }
}

/// A run with faults that are repaired. Returns how many jobs passed heads without a reservation.
fn passed_until_repair(configuration: Configuration, seed: u64) -> u32 {
    let (machine, mut random) = (configuration.machine, Random::new(seed));
    let mut memory = HeapMemory::new(machine, 200);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    let faulty: Vec<_> = (0..random.between(1, 4))
        .map(|_| NodeId(random.below(machine.nodes())))
        .collect();
    for &node in &faulty {
        set_faulty(&mut controller, node.0, true);
    }
    let (mut ends, mut lasts) = (BTreeSet::new(), BTreeMap::new());
    let repaired = u64::from(random.between(30, 60));
    let (mut passed, mut head) = (0, None);
    for now in 0..200 {
        let mut changes = Vec::new();
        if now < 100 && random.percent(50) {
            let sides: Vec<u16> = (0..machine.dimensions())
                .map(|at| random.between(1, machine.side(at).into()) as u16)
                .collect();
            let last = u64::from(random.between(1, 20));
            let request = Request::new(Shape::new(&sides).expect("a small shape"));
            let tolerance = Tolerance::new(random.below(2) as u8).expect("it is built");
            let job = JobId(now as u32);
            lasts.insert(job, last);
            let request = request.with_estimate(last).with_tolerance(tolerance);
            changes.push(Change::submit(job, request));
        }
        if now == repaired {
            changes.extend(
                faulty
                    .iter()
                    .map(|&node| fault(unit(&machine, node), false)),
            );
        }
        let due = ends.iter().take_while(|&&(end, _)| end <= now);
        let due: Vec<_> = due.map(|&(_, job)| Change::Release { job }).collect();
        ends.retain(|&(end, _)| end > now);
        let changes = [due, changes].concat();
        for (at, change) in changes.iter().enumerate() {
            let queue = controller.jobs().queue();
            let first = queue.head().map(|slot| queue.get(slot));
            let unreserved = first.filter(|job| job.reserved_from().is_none());
            let unreserved = unreserved.map(JobSlot::id);
            // The last repair.
            if now == repaired && at + 1 == changes.len() {
                let by = ends.last().map_or(now, |&(end, _)| end);
                head = first.map(|job| (job.id(), by));
            }
            for grant in ask_at(&mut controller, change, now).grants {
                ends.insert((now + lasts[&grant.job], grant.job));
                let passes = unreserved.is_some_and(|first| first < grant.job);
                passed += u32::from(passes && now < repaired);
                let late = head.is_some_and(|(job, by)| job == grant.job && now > by);
                assert!(!late, "{configuration:?}, seed {seed}: {head:?} at {now}");
                head = head.filter(|&(job, _)| job != grant.job);
            }
        }
        controller.check_invariants();
    }
    assert_eq!(head, None, "{configuration:?}, seed {seed}");
    passed
}

/// Two allocators carry out the same operations; one also gets suppositions. It answers like the
/// naive strategy, and both continue alike: a supposition changes no data of a strategy.
#[test]
fn suppositions_change_nothing() {
    let torus = Grid::torus(&[4, 3, 5]).expect("a torus");
    let machines = [
        Grid::from(mesh(8, 8)),
        // There is no room for a supposed free submesh list behind the real one.
        mesh(4, 4).into(),
        mesh(5, 1).into(),
        mesh(3, 3).into(),
        mesh(67, 3).into(),
        cube(4, 3).into(),
        cube(2, 9).into(),
        torus,
    ];
    for machine in machines {
        let grid = convert::grid(machine);
        for kind in StrategyKind::built().filter(|&kind| is_served(kind, &grid)) {
            for seed in 0..exhaustive(2, 1).into() {
                compare_twins(machine, kind, seed);
            }
        }
    }
}

fn compare_twins(machine: Grid, kind: StrategyKind, seed: u64) {
    // Exactly as much as the strategy needs.
    let memory = || HeapMemory::for_strategy(machine, kind, 80);
    let (mut memory, mut other_memory) = (memory(), memory());
    let mut asked = Allocator::new(memory.allocator_memory(), machine, kind).expect("it is served");
    let mut other =
        Allocator::new(other_memory.allocator_memory(), machine, kind).expect("it is served");
    let grid = convert::grid(machine);
    let model = Strategy::new(kind, &grid);
    let mut random = Random::new(seed);
    let mut held: Vec<[Allocation; 2]> = Vec::new();
    let mut faulty = vec![false; grid.nodes() as usize];
    let request = |random: &mut Random| {
        let most = random.between(1, 8);
        let sides = grid.sides().iter();
        let least = if grid.is_cube() { 2 } else { 1 };
        let extents: Vec<u32> = sides
            .map(|&side| random.between(least, side.min(most).max(least)))
            .collect();
        convert::request(&extents)
    };
    for _ in 0..150 {
        match random.below(10) {
            0..=5 => {
                let request = request(&mut random);
                let fits = asked.fits(&request);
                match [asked.allocate(&request), other.allocate(&request)] {
                    [Ok(one), Ok(two)] => {
                        assert!(fits, "{kind} on {machine}");
                        assert!(
                            asked.blocks(&one).unwrap().eq(other.blocks(&two).unwrap()),
                            "{kind} on {machine}"
                        );
                        held.push([one, two]);
                    }
                    [one, two] => {
                        assert!(!fits, "{kind} on {machine}");
                        assert_eq!(one.err(), two.err(), "{kind} on {machine}");
                    }
                }
            }
            6..=8 if !held.is_empty() => {
                let [one, two] = held.swap_remove(random.below(held.len() as u32) as usize);
                assert_eq!(asked.release(one).unwrap(), other.release(two).unwrap());
            }
            _ => {
                let node = NodeId(random.below(grid.nodes()));
                let flag = &mut faulty[node.0 as usize];
                for allocator in [&mut asked, &mut other] {
                    if *flag {
                        clear_faulty(allocator, node)
                    } else {
                        mark_faulty(allocator, node)
                    };
                }
                *flag = !*flag;
            }
        }
        let request = request(&mut random);
        let mut busy = faulty.clone();
        let gone = random.below(held.len() as u32 + 1) as usize;
        let nodes = |place| grid.nodes_of(&convert::place(machine, place));
        for [one, _] in &held[gone..] {
            for node in asked.blocks(one).unwrap().flat_map(nodes) {
                busy[node as usize] = true;
            }
        }
        let withheld = random.percent(50).then(|| {
            let unit = grid.unit(random.below(grid.nodes()));
            convert::block(machine, &unit)
        });
        let mut supposition = asked.suppose();
        for [one, _] in &held[..gone] {
            supposition.give_back(one).unwrap();
        }
        if let Some(block) = withheld {
            supposition.occupy(block);
            busy[nodes(block)[0] as usize] = true;
        }
        let supposed = model.where_busy(&busy);
        let expected = supposed.place(&request);
        let context = format!(
            "{kind} on {machine}, {request:?}, in\n{}",
            supposed.machine()
        );
        assert_eq!(supposition.free(), supposed.machine().free(), "{context}");
        assert_eq!(supposition.fits(&request), expected.is_ok(), "{context}");
        if reserves_nodes(kind) {
            let block = supposition.block(&request);
            let same = match (&expected, block) {
                // Its place depends on the other jobs, and here there are none.
                (Ok(_), Some(_)) if supposed.looks_ahead() => true,
                (Ok(held), Some(block)) => held.is(&grid, &[block]),
                (Ok(held), None) => supposed.blocks(held) > 1,
                (Err(_), None) => true,
                _ => false,
            };
            assert!(same, "{block:?} instead of {expected:?}: {context}");
        }
    }
}
