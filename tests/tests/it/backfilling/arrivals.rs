//! What an arrival may do to others: it never delays the head of the queue, and a job that never
//! waits gets what it would get if it could wait.

use meshalloc::{
    Change, Configuration, Controller, Error, Flags, Grid, JobId, Refusal, Request, SchedulerKind,
    StrategyKind, Submesh, Ticks,
};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{Answer, Granted, HeapMemory, ask_at, mesh, submesh, unit};
use meshalloc_tests::saved::{restore, save};
use meshalloc_tests::system::System;
use meshalloc_tests::{convert, exhaustive};

use super::EASY;

/// Job 1 runs longer than its estimate, and the time that was reserved for job 2 has passed. Job 3
/// never waits, and does not go in its way.
#[test]
fn a_reservation_whose_time_has_passed_holds() {
    for scheduler in [EASY, SchedulerKind::Conservative] {
        for never_waits in [false, true] {
            let machine = Grid::from(mesh(8, 4));
            let mut memory = HeapMemory::new(machine, 8);
            let configuration = Configuration {
                machine,
                strategy: StrategyKind::FirstFit,
                scheduler,
            };
            let mut controller = Controller::new(memory.memory(), configuration).unwrap();
            let mut submit = |job, (w, h), estimate, never_waits, now| {
                let flags = if never_waits {
                    Flags::NO_WAIT
                } else {
                    Flags::empty()
                };
                let request = Request::submesh(w, h)
                    .with_estimate(estimate)
                    .with_flags(flags);
                let answer = ask_at(&mut controller, &Change::submit(JobId(job), request), now);
                controller.check_invariants();
                let blocks = answer.grants.into_iter().flat_map(|granted| granted.blocks);
                (
                    blocks.map(submesh).collect::<Vec<Submesh>>(),
                    answer.outcome.err(),
                )
            };
            let first = vec![Submesh::new(0, 0, 5, 4)];
            assert_eq!(submit(1, (5, 4), 100, false, 0), (first, None));
            assert_eq!(submit(2, (6, 4), 50, false, 0), (vec![], None));
            let refused = never_waits.then_some(Error::Refused(Refusal::Reserved));
            let third = submit(3, (3, 4), 1000, never_waits, 200);
            assert_eq!(third, (vec![], refused), "{scheduler:?}");
            let beside = vec![Submesh::new(6, 0, 2, 4)];
            let fourth = submit(4, (2, 4), 1000, never_waits, 200);
            assert_eq!(fourth, (beside, None), "{scheduler:?}");
        }
    }
}

/// What happened to the arrivals of a run.
#[derive(Debug, Default)]
struct Seen {
    /// Jobs that were granted or refused while others waited.
    granted: u32,
    refused: u32,
    /// Jobs that never wait and were refused since a job before them could have started.
    earlier: u32,
    /// Times at which the head held its place although a job arrived.
    heads: u32,
}

/// Some estimates are wrong, some jobs have none, processors fail and are repaired.
#[test]
fn arrivals_delay_no_head_and_jobs_that_never_wait_get_what_others_get() {
    let strategies = [
        StrategyKind::FirstFit,
        StrategyKind::AdaptiveScan,
        StrategyKind::FreeSubmeshList,
        StrategyKind::LShape,
        StrategyKind::Naive,
        StrategyKind::Random { seed: 3 },
        "leb".parse().expect("a strategy"),
    ];
    let mut all = Seen::default();
    for strategy in strategies {
        for scheduler in [
            EASY,
            SchedulerKind::Easy { reservations: 3 },
            SchedulerKind::Conservative,
        ] {
            for seed in 0..exhaustive(3, 1).into() {
                let configuration = Configuration {
                    machine: mesh(8, 8).into(),
                    strategy,
                    scheduler,
                };
                let seen = run(configuration, seed);
                let context = format!("{configuration:?}, seed {seed}: {seen:?}");
                assert!(
                    seen.granted.min(seen.refused).min(seen.heads) > 3,
                    "{context}"
                );
                all.earlier += seen.earlier;
            }
        }
    }
    assert!(all.earlier > 0, "{all:?}");
}

fn run(configuration: Configuration, seed: u64) -> Seen {
    let machine = configuration.machine;
    let memory = || HeapMemory::for_strategy(machine, configuration.strategy, 60);
    let (mut memory, mut twins_memory) = (memory(), memory());
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    let mut twin = Controller::new(twins_memory.memory(), configuration).unwrap();
    let mut system = System::new(controller.capacity(), configuration);
    let mut random = Random::new(seed);
    let mut seen = Seen::default();
    let mut now = 0;
    for job in (0..400).map(JobId) {
        now += Ticks::from(random.below(40));
        let jobs = system.jobs();
        let change = match random.below(20) {
            0 => {
                let block = unit(&machine, meshalloc::NodeId(random.below(64)));
                if random.percent(50) {
                    Change::MarkFaulty { block }
                } else {
                    Change::ClearFaulty { block }
                }
            }
            1..=7 if !jobs.is_empty() => {
                let (job, _) = jobs[random.below(jobs.len() as u32) as usize];
                Change::Release { job }
            }
            _ if jobs.len() > 40 => Change::Release { job: jobs[0].0 },
            _ => {
                let extents = [random.between(1, 6), random.between(1, 6)];
                let mut request = convert::request(&extents);
                if random.percent(90) {
                    request = request.with_estimate(random.between(1, 400).into());
                }
                request.flags.set(Flags::NO_WAIT, random.percent(50));
                Change::submit(job, request)
            }
        };
        let promised = system.earliest_start_of_head();
        let is_submit = matches!(change, Change::Submit { .. });
        let others_wait = system.statistics().waiting > 0;
        let parts = save(&controller);
        let answer = ask_at(&mut controller, &change, now);
        let context = format!("{configuration:?}, seed {seed}, {change:?} at {now}");
        let expected = system.handle(&change, now);
        assert!(
            expected.agrees_with(&answer),
            "{context}: {answer:?}, not {expected:?}"
        );
        controller.check_invariants();
        if let (true, Some(promised), Some(start)) =
            (is_submit, promised, system.earliest_start_of_head())
        {
            assert!(
                start <= promised.max(now),
                "{context}: {start}, not {promised}"
            );
            seen.heads += 1;
        }
        if let Change::Submit { job, request, .. } = change
            && request.flags.contains(Flags::NO_WAIT)
        {
            let waiting = request.with_flags(request.flags - Flags::NO_WAIT);
            restore(&mut twin, &parts).expect("it was saved");
            let twins = ask_at(&mut twin, &Change::submit(job, waiting), now);
            compare(job, &answer, &twins, &context, &mut seen);
            let count = match answer.outcome {
                Ok(_) => &mut seen.granted,
                Err(_) => &mut seen.refused,
            };
            *count += u32::from(others_wait);
        }
    }
    seen
}

/// The twin can wait. If it makes other jobs start, they take the place.
fn compare(job: JobId, answer: &Answer, twins: &Answer, context: &str, seen: &mut Seen) {
    let blocks = |granted: &Granted| granted.blocks.clone();
    if twins.grants.iter().any(|granted| granted.job != job) {
        let refusal = Err(Error::Refused(Refusal::QueueNotEmpty));
        assert_eq!(answer.outcome, refusal, "{context}: {twins:?}");
        seen.earlier += 1;
        return;
    }
    let [own, others] = [answer, twins].map(|answer| answer.grants.first().map(blocks));
    assert_eq!(own, others, "{context}");
    assert_eq!(own.is_some(), answer.outcome.is_ok(), "{context}");
}

/// While a processor is down, jobs pass a head that needs all of them. From the repair on it waits
/// until the last job that runs then has ended, and no longer, since all estimates are perfect.
#[test]
fn a_head_that_waited_for_a_repair_starts_when_the_last_running_job_ends() {
    let machine = Grid::from(mesh(8, 8));
    let strategies = [
        StrategyKind::FirstFit,
        StrategyKind::FrameSliding,
        StrategyKind::FreeSubmeshList,
        StrategyKind::Naive,
    ];
    let schedulers = [EASY, SchedulerKind::Conservative];
    for (strategy, scheduler) in strategies
        .iter()
        .flat_map(|&it| schedulers.map(|by| (it, by)))
    {
        for seed in 0..10 {
            let configuration = Configuration {
                machine,
                strategy,
                scheduler,
            };
            let context = format!("{configuration:?}, seed {seed}");
            let (passed, last, start) = repaired(configuration, seed);
            assert!(passed > 20, "{context}: {passed} jobs passed the head");
            assert!(start <= last, "{context}: {start}, not {last}");
        }
    }
}

/// How many jobs passed the head; when the last job that ran at the repair ended; when the head
/// started.
fn repaired(configuration: Configuration, seed: u64) -> (u32, Ticks, Ticks) {
    const HEAD: JobId = JobId(0);
    const REPAIR: Ticks = 1_000;
    let machine = configuration.machine;
    let mut memory = HeapMemory::for_strategy(machine, configuration.strategy, 200);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    let mut random = Random::new(seed);
    let block = unit(&machine, meshalloc::NodeId(random.below(64)));
    let head = Request::submesh(8, 8).with_estimate(50);
    let mut changes = vec![
        (0, Change::MarkFaulty { block }),
        (0, Change::submit(HEAD, head)),
        (REPAIR, Change::ClearFaulty { block }),
    ];
    let mut estimates = vec![50];
    for job in 1..150 {
        let request = convert::request(&[random.between(1, 6), random.between(1, 6)]);
        estimates.push(random.between(1, 300).into());
        let request = request.with_estimate(estimates[job as usize]);
        let arrival = random.below(2 * REPAIR as u32).into();
        changes.push((arrival, Change::submit(JobId(job), request)));
    }
    let (mut passed, mut last) = (0, REPAIR);
    while let Some(next) = (0..changes.len()).min_by_key(|&at| changes[at].0) {
        let (now, change) = changes.remove(next);
        for Granted { job, .. } in ask_at(&mut controller, &change, now).grants {
            if job == HEAD {
                return (passed, last, now);
            }
            let end = now + estimates[job.0 as usize];
            changes.push((end, Change::Release { job }));
            if now < REPAIR {
                passed += 1;
                last = last.max(end);
            }
        }
    }
    panic!("the head has not started");
}
