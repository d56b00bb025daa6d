//! Which jobs make room for an urgent one, against all sets of jobs.

use std::collections::BTreeMap;

use meshalloc::{
    Change, Class, Configuration, Description, Grid, Outcome, Request, SchedulerKind, Shape,
    Slices, StrategyKind, Tolerance, VICTIMS_MAX, Victims,
};
use meshalloc_sim::backend::Backend;
use meshalloc_sim::situation::{Preemption, Situation, Victim};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::situation::{
    Filling, below, extents, fits_with_faults, free_boxes, points_of, runs, with_faults,
};

const NOW: u64 = 60;

/// Fills the machine with jobs of every class until some wait, and hands the state over.
fn in_random_states(
    configuration: Configuration,
    description: Option<&Description>,
    (states, jobs, slices): (u64, u32, u32),
    body: &mut dyn FnMut(&mut dyn Backend, &Situation<'_>),
) {
    let request = |random: &mut ChaCha8Rng, machine: &Grid| {
        let shape = Shape::new(&extents(random, machine)).unwrap();
        let class = Class::new(below(random, 3).into(), below(random, 4) > 0);
        let slices = Slices::new(1 + below(random, slices)).unwrap();
        Request::new(shape)
            .with_class(class.unwrap())
            .with_slices(slices)
    };
    let filling = Filling {
        jobs,
        every: 3,
        releases: (4, 50),
        request: &request,
    };
    let body = &mut |backend: &mut dyn Backend, situation: &Situation<'_>, _: &mut ChaCha8Rng| {
        body(backend, situation);
    };
    filling.states(configuration, description, states, body);
}

/// Jobs may pass others, so that many wait for room.
const SCHEDULER: SchedulerKind = SchedulerKind::BypassQueue {
    threshold: u64::MAX,
};

fn serves(machine: &Grid, strategy: StrategyKind) -> Configuration {
    Configuration {
        machine: *machine,
        strategy,
        scheduler: SCHEDULER,
    }
}

/// The least lost work of all sets of at most eight running jobs that may be preempted and without
/// which the job fits, and the fewest jobs of such a set.
fn least_of_all(
    situation: &Situation<'_>,
    waiting: &meshalloc_sim::situation::Waiting,
    fits_without: &dyn Fn(u32) -> bool,
) -> Option<(u128, u32)> {
    let machine = situation.configuration.machine;
    let running = &situation.running;
    let may_go = running.iter().map(|job| {
        let (own, other) = (waiting.request.class, job.request.class);
        other.is_preemptible() && other.priority() < own.priority()
    });
    let may_go: u32 = (0..)
        .zip(may_go)
        .map(|(at, may_go)| u32::from(may_go) << at)
        .sum();
    let lost = |set: u32| {
        let members = running.iter().enumerate();
        let members = members.filter(|(at, _)| set >> at & 1 == 1);
        let each = members.map(|(_, job)| {
            let held: u32 = job.blocks.iter().map(|&block| machine.area(block)).sum();
            u128::from(held) * u128::from(NOW - job.granted_at)
        });
        (each.sum(), set.count_ones())
    };
    let all = (0..1_u32 << running.len()).filter(|set| set & !may_go == 0);
    let few = all.filter(|set| set.count_ones() as usize <= VICTIMS_MAX);
    let mut sorted: Vec<_> = few.map(|set| (lost(set), set)).collect();
    sorted.sort_unstable();
    let first = sorted.into_iter().find(|&(_, set)| fits_without(set));
    first.map(|(lost, _)| lost)
}

fn lost(victims: &[Victim]) -> (u128, u32) {
    let sum = victims.iter().map(Victim::lost).sum();
    (sum, victims.len() as u32)
}

fn places(situation: &Situation<'_>, victims: &[Victim]) -> u32 {
    let place = |victim: &Victim| {
        let found = situation.running.iter().position(|it| it.job == victim.job);
        1_u32 << found.unwrap()
    };
    victims.iter().map(place).sum()
}

/// The choice loses as little work as the best of all sets, and has as few jobs.
#[test]
fn the_victims_are_the_cheapest_of_all_sets() {
    for (machine, strategy, turns) in [
        (Grid::mesh(&[6, 6]), StrategyKind::FirstFit, false),
        (Grid::mesh(&[6, 6]), StrategyKind::AdaptiveScan, true),
        (Grid::mesh(&[6, 6]), StrategyKind::FreeSubmeshList, true),
        (Grid::torus(&[3, 3, 3]), StrategyKind::AdaptiveScan, true),
    ] {
        let machine = machine.unwrap();
        let configuration = serves(&machine, strategy);
        let mut seen = BTreeMap::<String, u32>::new();
        in_random_states(configuration, None, (120, 16, 1), &mut |_, situation| {
            for waiting in &situation.waiting {
                let extents = waiting.request.shape.extents().to_vec();
                let fits_without = |set| {
                    let busy = points_of(&machine, situation, set);
                    free_boxes(&machine, &extents, turns, &busy)
                        .next()
                        .is_some()
                };
                let least = least_of_all(situation, waiting, &fits_without);
                let found = situation.victims(waiting, NOW).unwrap();
                let kind = match (&found, least) {
                    (Preemption::Of { victims, is_least }, Some(least)) => {
                        assert!(is_least, "it is exact by place");
                        assert_eq!(lost(victims), least, "{situation:?}");
                        assert!(fits_without(places(situation, victims)));
                        format!("{} victims", victims.len())
                    }
                    (Preemption::Never, None) => "never".to_owned(),
                    _ => panic!("{found:?} for {least:?}: {situation:?}"),
                };
                *seen.entry(kind).or_default() += 1;
            }
        });
        for kind in ["1 victims", "2 victims", "never"] {
            let count = seen.get(kind).copied().unwrap_or(0);
            assert!(count > 10, "{strategy}: {seen:?}");
        }
    }
}

/// The same for jobs that tolerate faulty processors, also those of the jobs that make room.
#[test]
fn victims_may_hold_what_the_other_tolerates() {
    for (machine, strategy, turns) in [
        (Grid::mesh(&[4, 4]), StrategyKind::FirstFit, false),
        (Grid::mesh(&[3, 3, 3]), StrategyKind::AdaptiveScan, true),
    ] {
        let configuration = serves(&machine.unwrap(), strategy);
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let mut seen = BTreeMap::<&str, u32>::new();
        in_random_states(configuration, None, (150, 12, 1), &mut |_, situation| {
            let situation = with_faults(situation, &mut random);
            for waiting in &situation.waiting {
                let fits = |request, set| fits_with_faults(&situation, request, turns, set);
                let request = waiting.request;
                let least = least_of_all(&situation, waiting, &|set| fits(&request, set));
                let found = situation.victims(waiting, NOW).unwrap();
                let kind = match (&found, least) {
                    (Preemption::Of { victims, is_least }, Some(least)) => {
                        assert!(is_least, "there are few sets");
                        assert_eq!(lost(victims), least, "{situation:?}");
                        let set = places(&situation, victims);
                        assert!(fits(&request, set));
                        if fits(&request.with_tolerance(Tolerance::NONE), set) {
                            "without"
                        } else {
                            "with faulty ones"
                        }
                    }
                    (Preemption::Never, None) => "never",
                    _ => panic!("{found:?} for {least:?}: {situation:?}"),
                };
                *seen.entry(kind).or_default() += 1;
            }
        });
        for kind in ["without", "with faulty ones", "never"] {
            let count = seen.get(kind).copied().unwrap_or(0);
            assert!(count > 10, "{strategy}: {seen:?}");
        }
    }
}

/// Strategies whose places are no boxes: a search of all sets, or if it gives up a set of which
/// each job is needed.
#[test]
fn without_places_sets_are_tried() {
    let machine = Grid::mesh(&[6, 6]).unwrap();
    let configuration = serves(&machine, StrategyKind::Naive);
    let mut seen = [0; 2];
    in_random_states(configuration, None, (150, 18, 1), &mut |_, situation| {
        for waiting in &situation.waiting {
            let fits_without = |set| {
                let busy = points_of(&machine, situation, set).len() as u32;
                machine.nodes() - busy >= waiting.request.processors
            };
            let least = least_of_all(situation, waiting, &fits_without);
            match (situation.victims(waiting, NOW).unwrap(), least) {
                (Preemption::Of { victims, is_least }, Some(least)) => {
                    let set = places(situation, &victims);
                    assert!(fits_without(set));
                    if is_least {
                        assert_eq!(lost(&victims), least, "{situation:?}");
                    }
                    seen[0] += u32::from(victims.len() > 1);
                }
                (Preemption::Never, None) => seen[1] += 1,
                (found, least) => panic!("{found:?} for {least:?}: {situation:?}"),
            }
        }
    });
    assert!(seen.iter().all(|&count| count > 10), "{seen:?}");
}

/// The controller grants the job what its victims held, whatever the strategy, gangs too. No job is
/// lost.
#[test]
fn the_controller_takes_the_choice() {
    let pod = Description::new(Grid::torus(&[4, 4, 4]).unwrap()).unwrap();
    let pod = pod.with_cube(&[2, 2, 2]).unwrap();
    let mesh = Grid::mesh(&[8, 8]).unwrap();
    let cases = [
        (mesh, None, StrategyKind::FirstFit, 2),
        (mesh, None, StrategyKind::FrameSliding, 1),
        (mesh, None, StrategyKind::MultipleBuddy, 1),
        (mesh, None, StrategyKind::Random { seed: 5 }, 1),
        (
            *pod.grid(),
            Some(&pod),
            StrategyKind::Cubes { fold: false },
            1,
        ),
        (*pod.grid(), Some(&pod), StrategyKind::Folding, 2),
    ];
    for (machine, description, strategy, slices) in cases {
        let configuration = serves(&machine, strategy);
        let (mut taken, mut full) = (0, 0);
        let states = (30, 24, slices);
        in_random_states(
            configuration,
            description,
            states,
            &mut |backend, situation| {
                let all = situation.running.len() + situation.waiting.len();
                let may_preempt = |it: &&meshalloc_sim::situation::Waiting| {
                    matches!(
                        situation.victims(it, NOW).unwrap(),
                        Preemption::Of { victims, .. } if !victims.is_empty()
                    )
                };
                let Some(waiting) = situation.waiting.iter().find(may_preempt) else {
                    return;
                };
                let Preemption::Of { victims, .. } = situation.victims(waiting, NOW).unwrap()
                else {
                    unreachable!("just seen");
                };
                let jobs: Vec<_> = victims.iter().map(|victim| victim.job).collect();
                let preempt = Change::Preempt {
                    job: waiting.job,
                    victims: Victims::new(&jobs).unwrap(),
                };
                match backend.call(&preempt, NOW, &mut |_, _| ()).unwrap() {
                    Ok(Outcome::Done) => {
                        assert!(runs(backend, waiting.job));
                        taken += 1;
                    }
                    // No room for the new blocks beside the old ones.
                    Err(error) if error == meshalloc::Refusal::TableFull.into() => full += 1,
                    other => panic!("{strategy}: {other:?} of {situation:?}"),
                }
                let ask = &mut |query: &meshalloc::Query| backend.query(query);
                let after = Situation::read(ask, configuration, description).unwrap();
                assert_eq!(after.running.len() + after.waiting.len(), all);
            },
        );
        assert!(taken > 10 && full < 5, "{strategy}: {taken}, {full}");
    }
}
