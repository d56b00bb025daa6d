//! Priorities: a head start in the queue. `random_operations.rs` and `requeue.rs` compare decisions
//! with the naive system.

use meshalloc::{
    Change, Configuration, Controller, Flags, Grid, JobId, Request, SchedulerKind, Strategy,
    StrategyKind, Ticks,
};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::rig::{HeapMemory, ask_at, mesh, submit};
use meshalloc_tests::saved::{Changes, class, restore, save};

use crate::requeue::SCHEDULERS;

const JOBS: usize = 24;

/// The waiting jobs: the name, the start of the reservation, and its blocks.
fn queue(controller: &Controller<'_>) -> Vec<String> {
    let queue = controller.jobs().queue();
    let jobs = queue.slots().map(|slot| {
        let job = queue.get(slot);
        let blocks: Vec<_> = controller.reserved_blocks(job).collect();
        format!("{}: {:?} {blocks:?}", job.id(), job.reserved_from())
    });
    jobs.collect()
}

/// When a job was submitted, less its priority.
fn since(submitted: Ticks, request: &Request) -> i128 {
    i128::from(submitted) - i128::from(request.class.priority())
}

/// Each scheduler with each strategy for a small mesh.
fn configurations() -> impl Iterator<Item = Configuration> {
    let machine: Grid = mesh(6, 4).into();
    let grid = convert::grid(machine);
    let strategies = StrategyKind::built().filter(move |&kind| is_served(kind, &grid));
    strategies.flat_map(move |strategy| {
        SCHEDULERS.map(|scheduler| Configuration {
            machine,
            strategy,
            scheduler,
        })
    })
}

/// First come, first served: whoever is granted stands in the queue at least as long as each job
/// that still waits, so it was submitted at most its priority after that job.
#[test]
fn nobody_is_overtaken_by_more_than_the_head_start() {
    let mut overtaken = 0;
    for seed in 0..20 {
        let configuration = Configuration {
            machine: mesh(6, 4).into(),
            strategy: StrategyKind::FirstFit,
            scheduler: SchedulerKind::Fcfs,
        };
        let mut memory = HeapMemory::new(configuration.machine, JOBS);
        let mut controller = Controller::new(memory.memory(), configuration).unwrap();
        let mut changes = Changes::varied(seed);
        for _ in 0..400 {
            let (change, now) = changes.next(&controller);
            let mut granted = ask_at(&mut controller, &change, now).grants;
            // A job that gets other processors did not wait, and preemption passes the queue.
            let out_of_turn = match change {
                Change::Replace { job } | Change::Preempt { job, .. } => Some(job),
                _ => None,
            };
            granted.retain(|grant| out_of_turn != Some(grant.job));
            let view = controller.view();
            let granted = granted.iter().filter_map(|grant| view.job(grant.job).ok());
            let granted: Vec<_> = granted.collect();
            let queue = controller.jobs().queue();
            let waiting: Vec<_> = queue.slots().map(|slot| queue.get(slot)).collect();
            let places = waiting
                .iter()
                .map(|job| since(job.submitted(), job.request()));
            assert!(places.is_sorted(), "{waiting:?}");
            for (granted, waiting) in granted
                .iter()
                .flat_map(|granted| waiting.iter().map(move |waiting| (granted, waiting)))
            {
                let latest = waiting
                    .submitted()
                    .saturating_add(granted.request.class.priority());
                assert!(granted.submitted <= latest, "{granted:?}, {waiting:?}");
                let own = since(granted.submitted, &granted.request);
                let other = since(waiting.submitted(), waiting.request());
                assert!(own <= other, "{granted:?}, {waiting:?}");
                overtaken += u32::from(granted.submitted > waiting.submitted());
            }
        }
    }
    assert!(overtaken > 100, "{overtaken}");
}

/// Jobs of one priority are served as jobs without one.
#[test]
fn one_priority_for_all_is_none() {
    for (seed, configuration) in (0..).zip(configurations()) {
        let priority = [1, 50, Ticks::MAX][seed % 3];
        let mut memories = [(); 2].map(|()| HeapMemory::new(configuration.machine, JOBS));
        let [mut plain, mut equal] = memories
            .each_mut()
            .map(|memory| Controller::new(memory.memory(), configuration).unwrap());
        let mut changes = Changes::new(seed as u64);
        for _ in 0..150 {
            let (change, now) = changes.next(&plain);
            let with_priority = match change {
                Change::Submit {
                    job,
                    request,
                    lease,
                } => Change::Submit {
                    job,
                    request: request.with_priority(priority),
                    lease,
                },
                other => other,
            };
            let context = format!("{configuration:?}, {priority}: {change:?} at {now}");
            let expected = ask_at(&mut plain, &change, now);
            let answer = ask_at(&mut equal, &with_priority, now);
            assert_eq!(answer, expected, "{context}");
            assert_eq!(queue(&equal), queue(&plain), "{context}");
            assert_eq!(equal.statistics(), plain.statistics(), "{context}");
        }
    }
}

/// A job that never waits is granted exactly if it would be granted first if it could wait, and
/// then gets the same. If it is refused, later changes lead to the same as without it.
#[test]
fn a_job_that_never_waits_is_granted_as_one_that_waits() {
    let (mut granted_before_others, mut refused_before_others) = (0, 0);
    for (seed, configuration) in (0..).zip(configurations()) {
        let mut memories = [(); 3].map(|()| HeapMemory::new(configuration.machine, JOBS));
        let [mut controller, mut waits, mut never_waits] = memories
            .each_mut()
            .map(|memory| Controller::new(memory.memory(), configuration).unwrap());
        let mut changes = Changes::varied(seed);
        let (mut now, mut was_refused) = (0, false);
        for _ in 0..60 {
            for _ in 0..4 {
                let (change, at) = changes.next(&controller);
                let answer = ask_at(&mut controller, &change, at);
                if was_refused {
                    assert_eq!(ask_at(&mut never_waits, &change, at), answer, "{change:?}");
                }
                now = now.max(at);
            }
            let at = now + u64::from(changes.random().below(30));
            if controller.lease_ended(at).is_some() {
                was_refused = false;
                continue;
            }
            let parts = save(&controller);
            for twin in [&mut waits, &mut never_waits] {
                restore(twin, &parts).expect("it was saved");
            }
            let random = changes.random();
            let sides = [(); 2].map(|()| random.between(1, 4) as u16);
            let request = Request::submesh(sides[0], sides[1])
                .with_estimate(random.between(1, 90).into())
                .with_class(class(random));
            let job = JobId(1);
            let submit = |controller: &mut Controller<'_>, request| {
                ask_at(controller, &Change::submit(job, request), at)
            };
            let expected = submit(&mut waits, request);
            let answer = submit(&mut never_waits, request.with_flags(Flags::NO_WAIT));
            let context = format!("{configuration:?}, {request:?} at {at}: {expected:?}");
            let first = expected.grants.first().filter(|grant| grant.job == job);
            let granted = answer.grants.iter().find(|grant| grant.job == job);
            assert_eq!(granted, first, "{context}");
            let is_before_others = waits
                .jobs()
                .queue()
                .slots()
                .map(|slot| waits.jobs().get(slot))
                .any(|other| since(other.submitted(), other.request()) > since(at, &request));
            // A strategy that looks ahead remembers the request.
            was_refused = granted.is_none() && !controller.strategy().facts().looks_ahead;
            if granted.is_none() {
                refused_before_others += u32::from(is_before_others);
            } else {
                assert_eq!(answer.grants, expected.grants, "{context}");
                granted_before_others += u32::from(is_before_others);
            }
        }
    }
    let seen = [granted_before_others, refused_before_others];
    assert!(seen.iter().all(|&seen| seen > 100), "{seen:?}");
}

/// An urgent job at the head of the queue, with reservations behind it.
#[test]
fn reservations_follow_the_queue() {
    let configuration = Configuration {
        machine: mesh(4, 4).into(),
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Easy { reservations: 1 },
    };
    let mut memory = HeapMemory::new(configuration.machine, JOBS);
    let mut controller = Controller::new(memory.memory(), configuration).unwrap();
    let whole = Request::submesh(4, 4).with_estimate(10);
    for job in [1, 2] {
        submit(&mut controller, job, whole);
    }
    assert_eq!(queue(&controller), ["2: Some(10) [Block([0, 0, 4, 4])]"]);
    let change = Change::submit(JobId(3), whole.with_priority(5));
    ask_at(&mut controller, &change, 5);
    // As if both were submitted at 0: job 2 was there first.
    assert!(queue(&controller)[0].starts_with("2: Some(10)"));
    let change = Change::submit(JobId(4), whole.with_priority(6));
    ask_at(&mut controller, &change, 5);
    let queue = queue(&controller);
    assert!(queue[0].starts_with("4: Some(10)"), "{queue:?}");
    assert_eq!(queue[1..], ["2: None []", "3: None []"]);
}
