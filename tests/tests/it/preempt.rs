//! Jobs that take the processors of others, on 6 x 6: by brute force, whatever the strategy has in
//! common with others, with resets, restores and commits that fail. Some jobs tolerate faulty
//! processors. `random_operations` compares every strategy with its naive form.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use meshalloc::jobs::JobSlot;
use meshalloc::{
    Block, Change, Class, Configuration, Controller, Error, Event, EventKind, Flags, Grid, JobId,
    NodeId, Outcome, Refusal, Request, SchedulerKind, Sides, StrategyKind, Ticks, Tolerance,
    Victims,
};
use meshalloc_tests::exhaustive;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, configuration, fault, mesh, unit};
use meshalloc_tests::saved::{Parts, restore, save};

use crate::replace::{Gets, places};

const SIDE: u16 = 6;
const JOBS: u32 = 14;
/// With all configurations over 10^6 operations in the exhaustive tests.
const ROUNDS: u32 = exhaustive(45_000, 1_500);

/// What is known of a job.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    request: Request,
    lease: Option<Ticks>,
    /// Nothing while it waits.
    nodes: Vec<u32>,
}

fn jobs(controller: &Controller<'_>) -> BTreeMap<JobId, Known> {
    let machine = *controller.machine();
    let queue = controller.jobs().queue();
    let waiting = queue.slots().map(|slot| queue.get(slot));
    let known = |job: &JobSlot| {
        let blocks: Vec<Block> = controller.blocks(job).collect();
        let is_held = |&node: &u32| {
            let mut blocks = blocks.iter();
            blocks.any(|&block| machine.holds(block, NodeId(node)))
        };
        let slot = controller.jobs().find(job.id()).expect("it is there");
        let known = Known {
            request: *job.request(),
            lease: controller.jobs().lease(slot),
            nodes: (0..machine.nodes()).filter(is_held).collect(),
        };
        (job.id(), known)
    };
    controller
        .jobs()
        .running()
        .chain(waiting)
        .map(known)
        .collect()
}

fn some_request(random: &mut Random) -> Request {
    let [w, h] = [(); 2].map(|()| random.between(1, 4) as u16);
    let class = Class::new(random.below(4).into(), random.percent(60));
    let request = Request::submesh(w, h).with_class(class.expect("there are priorities"));
    let request = request.with_estimate(random.between(1, 30).into());
    let tolerated = random.below(3).saturating_sub(random.below(2));
    let tolerance = Tolerance::new(tolerated as u8).expect("it is built");
    let request = request.with_tolerance(tolerance);
    if random.percent(10) {
        request.with_flags(Flags::NO_WAIT)
    } else {
        request
    }
}

/// A change that is no preemption.
fn some_change(random: &mut Random, machine: &Grid) -> Change {
    let job = JobId(random.below(JOBS));
    let node = NodeId(random.below(machine.nodes()));
    match random.below(100) {
        0..60 => Change::Submit {
            job,
            request: some_request(random),
            lease: NonZeroU64::new(u64::from(random.below(3)) * 40),
        },
        60..80 => Change::Release { job },
        80..90 => fault(unit(machine, node), true),
        90..99 => fault(unit(machine, node), false),
        _ => Change::Reset,
    }
}

/// What must follow from a preemption in this state, or how many faulty processors the job then
/// holds: as few as it can, and none that a job holds which stays.
fn expected(
    known: &BTreeMap<JobId, Known>,
    (job, victims): (JobId, &[JobId]),
    gets: Gets,
    is_faulty: &dyn Fn(u32) -> bool,
) -> Result<u32, Error> {
    let of = known.get(&job).ok_or(Error::UnknownJob)?;
    if !of.nodes.is_empty() {
        return Err(Error::NotWaiting);
    }
    for (at, victim) in victims.iter().enumerate() {
        let may_go = known.get(victim).is_some_and(|it| {
            let class = it.request.class;
            let is_lower = class.priority() < of.request.class.priority();
            !it.nodes.is_empty() && class.is_preemptible() && is_lower
        });
        if !may_go || victims[..at].contains(victim) {
            return Err(Error::NoVictim { job: *victim });
        }
    }
    let stay = || known.iter().filter(|(other, _)| !victims.contains(other));
    let is_held = |node| stay().any(|(_, it)| it.nodes.contains(&node));
    let Sides { w, h, .. } = of.request.sides();
    let (wanted, tolerated) = (u32::from(w * h), of.request.tolerated());
    let (faulty, left): (Vec<u32>, Vec<u32>) = (0..u32::from(SIDE * SIDE))
        .filter(|&node| !is_held(node))
        .partition(|&node| is_faulty(node));
    let lacks = wanted.saturating_sub(left.len() as u32);
    let least = match gets {
        Gets::Box { turns } => places((w, h), turns)
            .into_iter()
            .filter(|nodes| !nodes.iter().any(|&node| is_held(node)))
            .map(|nodes| nodes.iter().filter(|node| faulty.contains(node)).count() as u32)
            .min(),
        Gets::Anything => Some(lacks),
    };
    match least {
        _ if lacks > tolerated.min(faulty.len() as u32) => Err(Refusal::TooFewFree.into()),
        Some(least) if least <= tolerated => Ok(least),
        _ => Err(Refusal::Fragmented.into()),
    }
}

/// Victims for a job: mostly running ones that it may preempt.
fn some_victims(known: &BTreeMap<JobId, Known>, job: JobId, random: &mut Random) -> Vec<JobId> {
    let own = known.get(&job).map_or(0, |it| it.request.class.priority());
    let all = known.iter().filter(|(_, it)| {
        let class = it.request.class;
        let may_go = !it.nodes.is_empty() && class.is_preemptible() && class.priority() < own;
        if may_go {
            random.percent(50)
        } else {
            random.percent(2)
        }
    });
    let mut victims: Vec<_> = all.map(|(&job, _)| job).take(4).collect();
    if random.percent(2) {
        victims.extend(victims.first().copied());
    }
    victims
}

/// How often a job took processors of others, took free ones out of turn, and was refused.
#[derive(Debug, Default)]
struct Seen {
    preempted: u32,
    out_of_turn: u32,
    refused: u32,
    not_committed: u32,
    /// It took faulty processors of others.
    with_faulty: u32,
}

/// Carries a change out and makes all attempts that follow.
fn carry_out(
    controller: &mut Controller<'_>,
    change: &Change,
    now: Ticks,
) -> Result<Outcome, Error> {
    let outcome = controller.begin(change, now, None, None);
    while controller.advance(None) {}
    outcome
}

/// The events and the jobs right after a preemption, before another attempt.
fn check_preemption(
    controller: &Controller<'_>,
    before: &BTreeMap<JobId, Known>,
    (job, victims): (JobId, &[JobId]),
    (events, now): (u64, Ticks),
) {
    let after = jobs(controller);
    assert!(after.keys().eq(before.keys()), "no job is lost");
    for (other, known) in before {
        let (mut then, now) = (known.clone(), &after[other]);
        if victims.contains(other) {
            then.nodes.clear();
        } else if *other == job {
            assert!(now.nodes.len() as u32 >= now.request.processors);
            then.nodes.clone_from(&now.nodes);
        }
        assert_eq!(*now, then, "{other}");
    }
    let reported: Vec<Event> = controller.view().events_since(events).collect();
    let numbers = reported.iter().map(|event| event.number);
    assert!(numbers.eq(events + 1..=controller.events()));
    let (granted, preempted) = reported.split_last().expect("a grant");
    assert!(matches!(granted.what, EventKind::Granted { .. }));
    assert_eq!((granted.job, granted.at), (job, now));
    assert_eq!(preempted.len(), victims.len());
    for (event, victim) in preempted.iter().zip(victims) {
        let held = before[victim].nodes.len() as u32;
        assert_eq!(event.what, EventKind::Preempted { by: job });
        assert_eq!((event.job, event.at), (*victim, now));
        assert_eq!(event.processors, held);
    }
}

fn trial(configuration: Configuration, gets: Gets, seed: u64) -> Seen {
    let mut random = Random::new(seed);
    let (mut memory, mut other) = [(); 2]
        .map(|()| HeapMemory::new(configuration.machine, 40))
        .into();
    let mut controller = Controller::new(memory.memory(), configuration).expect("it is served");
    let mut copy = Controller::new(other.memory(), configuration).expect("it is served");
    let (mut seen, machine) = (Seen::default(), configuration.machine);
    for now in 0..u64::from(ROUNDS) {
        let change = some_change(&mut random, &machine);
        let _ = controller.handle(&change, now);
        if random.percent(5) {
            let saved = save(&controller);
            restore(&mut controller, &saved).expect("a checkpoint");
        }
        let (before, saved): (_, Parts) = (jobs(&controller), save(&controller));
        let waiting = before.iter().filter(|(_, it)| it.nodes.is_empty());
        let waiting: Vec<_> = waiting.map(|(&job, _)| job).collect();
        let job = match random.below(waiting.len() as u32 + 1) as usize {
            at if at < waiting.len() => waiting[at],
            _ => JobId(random.below(JOBS)),
        };
        let victims = some_victims(&before, job, &mut random);
        let preempt = Change::Preempt {
            job,
            victims: Victims::new(&victims).expect("at most 5"),
        };
        let asked = (job, &*victims);
        let is_faulty = |node: u32| controller.occupancy().is_faulty(NodeId(node));
        let faulty = (0..machine.nodes()).filter(|&node| is_faulty(node)).count();
        let expected = expected(&before, asked, gets, &is_faulty);
        let events = controller.events();
        if random.percent(10) {
            let mut refuse = |_| Err(Error::LeaseRuns);
            let outcome = controller.begin(&preempt, now, None, Some(&mut refuse));
            let is_announced = outcome == Err(Error::LeaseRuns);
            assert_eq!(save(&controller), saved, "nothing has changed");
            seen.not_committed += u32::from(is_announced);
        }
        let mut commits = 0;
        let mut count = |_| {
            commits += 1;
            Ok(())
        };
        let outcome = controller.begin(&preempt, now, None, Some(&mut count));
        assert_eq!(commits, u32::from(outcome.is_ok()), "one record");
        // The old blocks and the new ones together may be more than there is room for.
        let is_full = outcome == Err(Refusal::TableFull.into()) && gets == Gets::Anything;
        // One or two of 22 processors are supposed to work in 253 of at most 256 searches.
        let gives_up = outcome == Err(Refusal::NotSearchedToTheEnd.into()) && faulty > 22;
        assert!(
            outcome == expected.map(|_| Outcome::Done) || is_full || gives_up,
            "{configuration:?}, {preempt:?}: {expected:?}, {outcome:?}"
        );
        if outcome.is_err() {
            assert!(!controller.is_scheduling());
            assert_eq!(save(&controller), saved, "nothing has changed");
            seen.refused += u32::from(expected.is_err_and(|error| error.refusal().is_some()));
            continue;
        }
        check_preemption(&controller, &before, asked, (events, now));
        let mut held = jobs(&controller)[&job].nodes.clone();
        held.retain(|&node| controller.occupancy().is_faulty(NodeId(node)));
        assert_eq!(Ok(held.len() as u32), expected, "{preempt:?}: {held:?}");
        let mut of_victims = victims.iter().flat_map(|victim| &before[victim].nodes);
        seen.with_faulty += u32::from(of_victims.any(|node| held.contains(node)));
        if victims.is_empty() {
            seen.out_of_turn += 1;
        } else {
            seen.preempted += 1;
        }
        while controller.advance(None) {}
        controller.check_invariants();
        // The old state and the change lead to the same state, and so does the new one.
        restore(&mut copy, &saved).expect("a checkpoint");
        assert_eq!(carry_out(&mut copy, &preempt, now), outcome);
        assert_eq!(save(&copy), save(&controller));
        restore(&mut copy, &save(&controller)).expect("a checkpoint");
        assert_eq!(save(&copy), save(&controller));
        let again = |controller: &Controller<'_>| -> Vec<Event> {
            controller.view().events_since(0).collect()
        };
        assert_eq!(again(&copy), again(&controller));
    }
    seen
}

#[test]
fn a_job_takes_processors_exactly_if_it_may_and_there_is_a_place_then() {
    let (machine, mut with_faulty) = (Grid::from(mesh(SIDE, SIDE)), 0);
    for (seed, (strategy, gets)) in (1..).zip([
        (StrategyKind::FirstFit, Gets::Box { turns: false }),
        (StrategyKind::FreeSubmeshList, Gets::Box { turns: true }),
        (
            StrategyKind::LeastExpectedBlocking { budget: 8 },
            Gets::Box { turns: true },
        ),
        (StrategyKind::Naive, Gets::Anything),
        (StrategyKind::Random { seed: 7 }, Gets::Anything),
    ]) {
        for scheduler in [
            SchedulerKind::Fcfs,
            SchedulerKind::BypassQueue { threshold: 40 },
            SchedulerKind::Easy { reservations: 2 },
            SchedulerKind::Conservative,
            SchedulerKind::ShortestJobFirst { threshold: 40 },
        ] {
            let configuration = Configuration {
                scheduler,
                ..configuration(machine, strategy)
            };
            let seen = trial(configuration, gets, seed);
            let context = format!("{strategy}, {scheduler:?}: {seen:?}");
            let least = seen.preempted.min(seen.out_of_turn).min(seen.refused);
            assert!(least > ROUNDS / 500 && seen.not_committed > 0, "{context}");
            with_faulty += seen.with_faulty;
        }
    }
    assert!(with_faulty > 20, "{with_faulty}");
}
