//! Other processors for jobs that hold faulty ones, on 6 x 6: by brute force, whatever the strategy
//! has in common with others. `random_operations` compares every strategy with its naive form.

use std::collections::BTreeMap;

use meshalloc::{
    Block, Change, Configuration, Controller, Error, Grid, JobId, NodeId, Outcome, Refusal,
    Request, SchedulerKind, Sides, StrategyKind,
};
use meshalloc_tests::exhaustive;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, configuration, fault, mesh, unit};
use meshalloc_tests::saved::{restore, save};

const SIDE: u16 = 6;
const JOBS: u32 = 12;
/// The number of rounds of a trial. In the exhaustive tests the twelve trials have over 10^6 rounds
/// together.
const ROUNDS: u32 = exhaustive(90_000, 5_000);

/// The processors of each running job.
fn held(controller: &Controller<'_>) -> BTreeMap<JobId, Vec<u32>> {
    let machine = *controller.machine();
    let nodes = |blocks: Vec<Block>| {
        let all = (0..machine.nodes()).filter(|&node| {
            let mut blocks = blocks.iter();
            blocks.any(|&block| machine.holds(block, NodeId(node)))
        });
        all.collect()
    };
    let running = controller.jobs().running();
    running
        .map(|job| (job.id(), nodes(controller.blocks(job).collect())))
        .collect()
}

/// What a job gets, wherever there is such a place.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Gets {
    Box { turns: bool },
    Anything,
}

impl Gets {
    /// Whether a job of these sides gets processors on 6 x 6, all of which may be taken.
    pub(crate) fn fits(
        self,
        Sides { w, h, .. }: Sides,
        may_take: &dyn Fn(u32) -> bool,
    ) -> Result<(), Refusal> {
        let wanted = usize::from(w * h);
        let nodes = 0..u32::from(SIDE * SIDE);
        let left = nodes.filter(|&node| may_take(node)).count();
        let fits = match self {
            Gets::Box { turns } => places((w, h), turns)
                .iter()
                .any(|nodes| nodes.iter().all(|&node| may_take(node))),
            Gets::Anything => left >= wanted,
        };
        if fits {
            Ok(())
        } else if left < wanted {
            Err(Refusal::TooFewFree)
        } else {
            Err(Refusal::Fragmented)
        }
    }
}

/// The processors of each place of `w x h` on 6 x 6, and if it turns of `h x w`.
pub(crate) fn places((w, h): (u16, u16), turns: bool) -> Vec<Vec<u32>> {
    let other = turns.then_some((h, w));
    let mut places = Vec::new();
    for (w, h) in [(w, h)].into_iter().chain(other) {
        for (x, y) in (0..=SIDE - w).flat_map(|x| (0..=SIDE - h).map(move |y| (x, y))) {
            let nodes = (y..y + h).flat_map(|y| (x..x + w).map(move |x| u32::from(y * SIDE + x)));
            places.push(nodes.collect());
        }
    }
    places
}

/// Random jobs and faults under one strategy. Returns how many jobs got other processors, and for
/// how many there were none.
fn trial(configuration: Configuration, gets: Gets, seed: u64) -> (u32, u32) {
    let mut random = Random::new(seed);
    let (mut memory, mut other) = [(); 2]
        .map(|()| HeapMemory::new(configuration.machine, 40))
        .into();
    let mut controller = Controller::new(memory.memory(), configuration).expect("it is served");
    let mut copy = Controller::new(other.memory(), configuration).expect("it is served");
    let (mut moved, mut stayed) = (0, 0);
    let machine = configuration.machine;
    for now in 0..u64::from(ROUNDS) {
        let job = JobId(random.below(JOBS));
        let node = NodeId(random.below(machine.nodes()));
        let change = match random.below(10) {
            0..5 => {
                let [w, h] = [(); 2].map(|()| random.between(1, 4) as u16);
                Change::submit(job, Request::submesh(w, h).with_estimate(20))
            }
            5..7 => Change::Release { job },
            7 => fault(unit(&machine, node), true),
            _ => fault(unit(&machine, node), random.percent(20)),
        };
        let _ = controller.handle(&change, now);
        let (before, saved) = (held(&controller), save(&controller));
        let events = controller.events();
        let job = JobId(random.below(JOBS));
        let outcome = controller.handle(&Change::Replace { job }, now);
        controller.check_invariants();
        let is_faulty = |node: u32| controller.occupancy().is_faulty(NodeId(node));
        let own = before.get(&job).cloned().unwrap_or_default();
        let is_others = |node: u32| {
            let mut others = before.iter().filter(|(other, _)| **other != job);
            others.any(|(_, nodes)| nodes.contains(&node))
        };
        let may_take = |node: u32| !is_faulty(node) && !is_others(node);
        let entry = controller.jobs().find(job);
        let entry = entry.map(|slot| controller.jobs().get(slot));
        let expected = match entry {
            None => Err(Error::UnknownJob),
            Some(_) if !own.iter().any(|&node| is_faulty(node)) => Err(Error::NothingToReplace),
            Some(entry) => {
                let fits = gets.fits(entry.request().sides(), &may_take);
                fits.map(|()| Outcome::Done).map_err(Error::from)
            }
        };
        // A job may hold so many blocks that the new ones have no room beside them.
        let is_full = outcome == Err(Refusal::TableFull.into()) && gets == Gets::Anything;
        assert!(
            outcome == expected || is_full,
            "{configuration:?}: {expected:?}, {outcome:?}"
        );
        if outcome.is_err() {
            assert_eq!(save(&controller), saved, "nothing has changed");
            stayed += u32::from(expected.is_err_and(|error| error.refusal().is_some()));
            continue;
        }
        moved += 1;
        let after = held(&controller);
        for (other, nodes) in before.iter().filter(|(other, _)| **other != job) {
            assert_eq!(after.get(other), Some(nodes), "job {other} stays");
        }
        let new = &after[&job];
        assert_eq!(new.len(), own.len());
        assert!(new.iter().all(|&node| may_take(node)));
        let granted = controller.view().events_since(events).next();
        let granted = granted.expect("a grant");
        assert_eq!(
            (granted.job, granted.number, granted.at),
            (job, events + 1, now)
        );
        // The old state and the change lead to the same state, and so does the new one.
        restore(&mut copy, &saved).expect("a checkpoint");
        assert_eq!(copy.handle(&Change::Replace { job }, now), outcome);
        assert_eq!(save(&copy), save(&controller));
        restore(&mut copy, &save(&controller)).expect("a checkpoint");
        assert_eq!(save(&copy), save(&controller));
    }
    (moved, stayed)
}

#[test]
fn a_job_gets_other_processors_exactly_if_there_is_a_place() {
    let machine = Grid::from(mesh(SIDE, SIDE));
    for (seed, (strategy, gets)) in (1..).zip([
        (StrategyKind::FirstFit, Gets::Box { turns: false }),
        (StrategyKind::BestFit, Gets::Box { turns: false }),
        (StrategyKind::FreeSubmeshList, Gets::Box { turns: true }),
        (
            StrategyKind::LeastExpectedBlocking { budget: 8 },
            Gets::Box { turns: true },
        ),
        (StrategyKind::Naive, Gets::Anything),
        (StrategyKind::Random { seed: 7 }, Gets::Anything),
    ]) {
        for scheduler in [SchedulerKind::Fcfs, SchedulerKind::Easy { reservations: 2 }] {
            let configuration = Configuration {
                scheduler,
                ..configuration(machine, strategy)
            };
            let (moved, stayed) = trial(configuration, gets, seed);
            let context = format!("{strategy}: {moved} moved, {stayed} stayed");
            assert!(moved > ROUNDS / 400 && stayed > ROUNDS / 400, "{context}");
        }
    }
}
