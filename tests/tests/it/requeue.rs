//! Running jobs that are interrupted and wait again, some with priorities, against the naive system
//! after every operation: all strategies of a small mesh, all schedulers.

use std::collections::BTreeSet;

use meshalloc::{
    Change, Configuration, Controller, Error, Flags, Grid, JobId, NodeId, Request, SchedulerKind,
    StrategyKind, Threshold,
};
use meshalloc_tests::convert::{self, is_served};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{
    HeapMemory, ask, ask_at, configuration, fault, list_jobs, mesh, requeue, submit, unit,
};
use meshalloc_tests::saved::{class, restore, save};
use meshalloc_tests::trial::Trial;

pub(crate) const SCHEDULERS: [SchedulerKind; 8] = [
    SchedulerKind::Fcfs,
    SchedulerKind::BypassQueue { threshold: 60 },
    SchedulerKind::ModifiedFcfs(Threshold::Static { ticks: 40 }),
    SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 13 }),
    SchedulerKind::ModifiedFcfs(Threshold::Count),
    SchedulerKind::Easy { reservations: 2 },
    SchedulerKind::Conservative,
    SchedulerKind::ShortestJobFirst { threshold: 80 },
];

/// Random operations under a scheduler. How many jobs were interrupted.
fn trial(machine: Grid, strategy: StrategyKind, scheduler: SchedulerKind, seed: u64) -> usize {
    let mut memory = HeapMemory::new(machine, 16);
    let configuration = Configuration {
        scheduler,
        ..configuration(machine, strategy)
    };
    let mut random = Random::new(seed);
    let mut trial = Trial::new(&mut memory, configuration);
    let (mut now, mut names, mut interrupted) = (0, BTreeSet::new(), 0);
    for _ in 0..150 {
        // Several operations of one time, too.
        now += u64::from(random.below(3) * random.below(9));
        let jobs = trial.system().jobs();
        match random.below(10) {
            0..4 if names.len() < 16 => {
                // Names in no order.
                let job = random.below(1000);
                if names.insert(job) {
                    let sides = [1, 1].map(|least| random.between(least, 4) as u16);
                    let request = Request::submesh(sides[0], sides[1]);
                    let request = if random.percent(70) {
                        request.with_estimate(random.between(1, 90).into())
                    } else {
                        request
                    };
                    let request = if random.percent(40) {
                        request.with_class(class(&mut random))
                    } else {
                        request
                    };
                    let request = if random.percent(20) {
                        request.with_flags(Flags::NO_WAIT)
                    } else {
                        request
                    };
                    let (answer, _) = trial.step(&Change::submit(JobId(job), request), now);
                    if answer.outcome.is_err() {
                        names.remove(&job);
                    }
                }
            }
            0..6 if !jobs.is_empty() => {
                let (job, _) = jobs[random.below(jobs.len() as u32) as usize];
                names.remove(&job.0);
                trial.step(&Change::Release { job }, now);
            }
            6..8 => {
                let running = jobs.iter().filter(|(_, processors)| *processors > 0);
                let chosen: Vec<_> = running.filter(|_| random.percent(40)).collect();
                let chosen: Vec<_> = chosen.into_iter().map(|(job, _)| *job).collect();
                interrupted += chosen.len();
                trial.requeue(&chosen, now);
            }
            _ => {
                let node = NodeId(random.below(machine.nodes()));
                let is_faulty = trial.system().faulty_nodes().contains(&node.0);
                trial.step(&fault(unit(&machine, node), !is_faulty), now);
            }
        }
    }
    trial.finish();
    interrupted
}

#[test]
fn interrupted_jobs_return_to_their_places() {
    let machine: Grid = mesh(6, 4).into();
    let mut interrupted = 0;
    for strategy in StrategyKind::built() {
        let naive = convert::grid(machine);
        if !is_served(strategy, &naive) {
            continue;
        }
        for (seed, scheduler) in (0..).zip(SCHEDULERS) {
            // EASY takes it that what fits in less fits in more.
            let reserves = matches!(
                scheduler,
                SchedulerKind::Easy { .. } | SchedulerKind::Conservative
            );
            if !(reserves && strategy == StrategyKind::FrameSliding) {
                interrupted += trial(machine, strategy, scheduler, seed);
            }
        }
    }
    assert!(interrupted > 5_000, "{interrupted}");
}

/// That a waiting job ran before is saved: a restored controller has the same grants as one that
/// was never saved.
#[test]
fn a_saved_job_has_run() {
    let machine: Grid = mesh(6, 4).into();
    let mut have_run = 0;
    for (seed, scheduler) in (0..).zip(&SCHEDULERS[2..5]) {
        let configuration = Configuration {
            scheduler: *scheduler,
            ..configuration(machine, StrategyKind::FirstFit)
        };
        let mut memories = [HeapMemory::new(machine, 16), HeapMemory::new(machine, 16)];
        let [mut controller, mut restored] = memories
            .each_mut()
            .map(|memory| Controller::new(memory.memory(), configuration).unwrap());
        let mut random = Random::new(seed);
        for step in 0..600_u32 {
            let now = u64::from(7 * step);
            let jobs = list_jobs(&controller, None);
            let both = [&mut controller, &mut restored];
            let [answer, again] = match random.below(8) {
                0..4 => {
                    let sides = [1, 1].map(|least| random.between(least, 4) as u16);
                    let request = Request::submesh(sides[0], sides[1]);
                    let change = Change::submit(JobId(step), request);
                    both.map(|controller| ask_at(controller, &change, now))
                }
                4..7 if !jobs.is_empty() => {
                    let (job, _) = jobs[random.below(jobs.len() as u32) as usize];
                    both.map(|controller| ask_at(controller, &Change::Release { job }, now))
                }
                _ => {
                    let running = jobs.iter().filter(|(_, processors)| *processors > 0);
                    let chosen = running.filter(|_| random.percent(40));
                    let chosen: Vec<_> = chosen.map(|(job, _)| *job).collect();
                    both.map(|controller| requeue(controller, &chosen, now))
                }
            };
            assert_eq!(answer, again, "{scheduler:?}, {step}");
            assert_eq!(save(&restored), save(&controller), "{scheduler:?}, {step}");
            if step % 10 == 0 {
                restore(&mut restored, &save(&controller)).unwrap();
            }
            let [ours, theirs] = [&controller, &restored].map(|controller| {
                let queue = controller.jobs().queue();
                let slots = queue.slots().map(|slot| queue.get(slot).has_run());
                slots.collect::<Vec<_>>()
            });
            assert_eq!(ours, theirs, "{scheduler:?}, {step}");
            if step % 10 == 0 {
                have_run += ours.into_iter().filter(|&has_run| has_run).count();
            }
        }
    }
    assert!(have_run > 50, "{have_run}");
}

#[test]
fn a_job_that_does_not_run_is_an_error_and_nothing_changes() {
    let mut memory = HeapMemory::new(mesh(4, 4), 4);
    let strategy = StrategyKind::FirstFit;
    let controller = Controller::new(memory.memory(), configuration(mesh(4, 4), strategy));
    let mut controller = controller.unwrap();
    for job in 1..4 {
        submit(&mut controller, job, Request::submesh(4, 2));
    }
    for unknown in [3, 9] {
        let answer = requeue(&mut controller, &[JobId(1), JobId(unknown)], 5);
        assert_eq!(answer.outcome, Err(Error::UnknownJob));
        assert_eq!(
            (controller.clock(), controller.jobs().running_len()),
            (0, 2)
        );
    }
    // Named twice it is interrupted once.
    let answer = requeue(&mut controller, &[JobId(2), JobId(2)], 5);
    assert_eq!((answer.grants.len(), answer.grants[0].attempts), (1, 2));
    let released = ask(&mut controller, &Change::Release { job: JobId(1) });
    assert_eq!(released.grants[0].job, JobId(3));
}
