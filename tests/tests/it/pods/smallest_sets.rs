//! Whose departure lets a job in on a pod of small cubes: all sets of jobs are tried in turn on the
//! naive form, and then the smallest one departs.

use meshalloc::{
    Answer, Change, Configuration, Description as Described, Grid, JobId, JobState, NodeId, Query,
    Request, SchedulerKind,
};
use meshalloc_sim::backend::{Backend, Backends, InProcessBackends};
use meshalloc_sim::situation::{Departures, Situation};
use meshalloc_tests::pods::{Aligned, Cubes};
use meshalloc_tests::random::Random;
use meshalloc_tests::{convert, exhaustive};

use super::{CUBES, shape};

/// Jobs are submitted until this many wait, after a few have left.
const WAITING: u32 = 2;

fn call(backend: &mut dyn Backend, change: &Change) {
    let outcome = backend.call(change, 0, &mut |_, _| ());
    outcome.expect("it answers").expect("it is carried out");
}

fn waits(backend: &mut dyn Backend, job: u32) -> bool {
    let answer = backend.query(&Query::Job { job: JobId(job) });
    match answer.expect("it answers") {
        Ok(Answer::Job(report)) => matches!(report.state, JobState::Waiting { .. }),
        other => panic!("{other:?}"),
    }
}

/// Slices within a cube, of whole cubes, and mixed ones.
fn random_request(random: &mut Random) -> Request {
    let longest = random.between(2, 6);
    shape(&[longest, 4, 4].map(|side| random.between(1, side)))
}

fn fill(backend: &mut dyn Backend, machine: &Grid, random: &mut Random) {
    for _ in 0..random.below(3) {
        let node = NodeId(random.below(machine.nodes()));
        let block = machine.unit(node).expect("a node of the machine");
        call(backend, &Change::MarkFaulty { block });
    }
    let mut waiting = 0;
    for job in 0.. {
        let request = random_request(random);
        let submit = Change::submit(JobId(job), request);
        let outcome = backend.call(&submit, 0, &mut |_, _| ());
        // It may need more cubes than there are.
        if outcome.expect("it answers").is_err() {
            continue;
        }
        if !waits(backend, job) && random.percent(25) {
            call(backend, &Change::Release { job: JobId(job) });
        } else if waits(backend, job) {
            waiting += 1;
        }
        if waiting == WAITING {
            return;
        }
    }
}

#[test]
fn smallest_sets_on_cubes_are_those_of_the_naive_form() {
    let grid = Grid::torus(&[4, 4, 4]).expect("a torus");
    let machine = Described::new(grid)
        .and_then(|machine| machine.with_cube(&[2, 2, 2]))
        .expect("eight cubes");
    let naive = Cubes::new(&convert::grid(grid), &[2; 3], Aligned::new(&[1; 3], true));
    let configuration = Configuration {
        machine: grid,
        strategy: CUBES,
        scheduler: SchedulerKind::Fcfs,
    };
    // How many sets have each size; the last are jobs that never get in.
    let mut seen = [0_u32; 10];
    for seed in 0..exhaustive(10_000, 300) {
        let mut random = Random::new(seed.into());
        let mut backends = InProcessBackends::default();
        let made = backends.with(configuration, Some(&machine), &mut |backend| {
            fill(backend, &grid, &mut random);
            let ask = &mut |query: &Query| backend.query(query);
            let situation = Situation::read(ask, configuration, Some(&machine));
            let situation = situation.expect("it answers");
            let head = &situation.waiting[0];
            let extents = head.request.shape.extents();
            let named: Vec<u32> = extents.iter().map(|&extent| extent.into()).collect();
            let fits_without = |set: u32| {
                let mut busy = [false; 64];
                for node in &situation.faulty {
                    busy[node.0 as usize] = true;
                }
                let stay = situation.running.iter().enumerate();
                let stay = stay.filter(|(at, _)| set >> at & 1 == 0);
                for &block in stay.flat_map(|(_, job)| &job.blocks) {
                    for node in (0..64).filter(|&node| grid.holds(block, NodeId(node))) {
                        busy[node as usize] = true;
                    }
                }
                let is_busy = |node: u32| busy[node as usize];
                let place = naive.place(&named, true, false, &is_busy, &|_, _| true);
                place.is_some()
            };
            let all = (1 << situation.running.len()) - 1;
            let departures = situation.departures(&head.request).expect("it is served");
            if !fits_without(all) {
                assert_eq!(departures, Departures::Never, "{situation:?}");
                seen[9] += 1;
                return;
            }
            let Departures::Jobs { mut jobs } = departures else {
                panic!("{departures:?}: {situation:?}");
            };
            let smaller = (0..all).filter(|set: &u32| set.count_ones() < jobs.len() as u32);
            let enough = smaller.into_iter().find(|&set| fits_without(set));
            assert_eq!(enough, None, "a smaller set than {jobs:?}: {situation:?}");
            seen[jobs.len()] += 1;
            // In any order: the head waits until the last of them has left.
            let first = random.below(jobs.len() as u32) as usize;
            jobs.rotate_left(first);
            for job in jobs {
                assert!(waits(backend, head.job.0), "{situation:?}");
                call(backend, &Change::Release { job: JobId(job) });
            }
            assert!(!waits(backend, head.job.0), "{situation:?}");
        });
        made.expect("it is served");
    }
    let never = seen[9];
    assert!(
        never > 5 && seen[1..=4].iter().all(|&count| count > 2),
        "{seen:?}"
    );
}
