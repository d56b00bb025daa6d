//! Whose departure lets a job in on a pod of small cubes, and for how many there is room: all sets
//! of jobs are tried in turn on the naive form, and then the smallest one departs.

use meshalloc::{
    Answer, Block, Change, Configuration, Description as Described, Grid, JobId, JobState, NodeId,
    Query, Request, SchedulerKind,
};
use meshalloc_sim::backend::{Backend, Backends, InProcessBackends};
use meshalloc_sim::situation::{Departures, Room, Situation};
use meshalloc_tests::pods::{Aligned, Cubes};
use meshalloc_tests::random::Random;
use meshalloc_tests::{convert, exhaustive, grid};

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

/// The naive form of the strategy.
struct Naive {
    machine: Grid,
    model: grid::Grid,
    cubes: Cubes,
}

impl Naive {
    /// The busy processors when the running jobs of a set, a bit for each, have left.
    fn busy(&self, situation: &Situation<'_>, left: u32) -> Vec<bool> {
        let stay = situation.running.iter().enumerate();
        let stay = stay.filter(|(at, _)| left >> at & 1 == 0);
        let held: Vec<Block> = stay.flat_map(|(_, job)| &job.blocks).copied().collect();
        let is_busy = |node| {
            let holds = |&block: &Block| self.machine.holds(block, node);
            situation.faulty.contains(&node) || held.iter().any(holds)
        };
        (0..self.machine.nodes())
            .map(|node| is_busy(NodeId(node)))
            .collect()
    }

    /// The processors that the request gets.
    fn place(&self, request: &Request, busy: &[bool]) -> Option<Vec<u32>> {
        let extents = request.shape.extents();
        let named: Vec<u32> = extents.iter().map(|&extent| extent.into()).collect();
        let is_busy = |node: u32| busy[node as usize];
        let cubes = &self.cubes;
        let (_, places) = cubes.place(&named, true, false, &is_busy, &|_, _| true)?;
        let nodes = places.iter().flat_map(|place| self.model.nodes_of(place));
        Some(nodes.collect())
    }

    /// How often the request is placed, one after another.
    fn times(&self, request: &Request, mut busy: Vec<bool>) -> u32 {
        let mut times = 0;
        while let Some(nodes) = self.place(request, &busy) {
            nodes.iter().for_each(|&node| busy[node as usize] = true);
            times += 1;
        }
        times
    }
}

#[test]
fn smallest_sets_and_room_on_cubes_are_those_of_the_naive_form() {
    let machine = Grid::torus(&[4, 4, 4]).expect("a torus");
    let described = Described::new(machine)
        .and_then(|machine| machine.with_cube(&[2, 2, 2]))
        .expect("eight cubes");
    let model = convert::grid(machine);
    let cubes = Cubes::new(&model, &[2; 3], Aligned::new(&[1; 3], true));
    let naive = Naive {
        machine,
        model,
        cubes,
    };
    let configuration = Configuration {
        machine,
        strategy: CUBES,
        scheduler: SchedulerKind::Fcfs,
    };
    // How many smallest sets have each size, and how many jobs never get in.
    let (mut seen, mut never) = ([0_u32; 33], 0_u32);
    // How many states have room for no or one job, and for several.
    let mut rooms = [0_u32; 2];
    for seed in 0..exhaustive(10_000, 300) {
        let mut random = Random::new(seed.into());
        let mut backends = InProcessBackends::default();
        let made = backends.with(configuration, Some(&described), &mut |backend| {
            fill(backend, &machine, &mut random);
            let ask = &mut |query: &Query| backend.query(query);
            let situation = Situation::read(ask, configuration, Some(&described));
            let situation = situation.expect("it answers");
            let head = &situation.waiting[0];
            let fits_without = |set| {
                let busy = naive.busy(&situation, set);
                naive.place(&head.request, &busy).is_some()
            };

            // Room, after some jobs have left.
            let left = random.below(1 << situation.running.len());
            let mut after = situation.clone();
            let mut stay = (0..32).map(|at| left >> at & 1 == 0);
            after.running.retain(|_| stay.next() == Some(true));
            let times = naive.times(&head.request, naive.busy(&situation, left));
            let room = after.room(&head.request).expect("it is served");
            let expected = Room {
                times,
                places: None,
            };
            assert_eq!(room, expected, "{after:?}");
            rooms[usize::from(times > 1)] += 1;

            // A smallest set.
            let all = (1 << situation.running.len()) - 1;
            let departures = situation.departures(&head.request).expect("it is served");
            if !fits_without(all) {
                assert_eq!(departures, Departures::Never, "{situation:?}");
                never += 1;
                return;
            }
            let Departures::Jobs { mut jobs } = departures else {
                panic!("{departures:?}: {situation:?}");
            };
            let mut smaller = (0..all).filter(|set: &u32| set.count_ones() < jobs.len() as u32);
            let enough = smaller.find(|&set| fits_without(set));
            assert_eq!(enough, None, "a smaller set than {jobs:?}: {situation:?}");
            seen[jobs.len()] += 1;

            // Beginning with any of them: the head waits until the last has left.
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
    assert!(rooms.iter().all(|&count| count > 20), "{rooms:?}");
    assert!(
        never > 5 && seen[1..=4].iter().all(|&count| count > 2),
        "{seen:?}"
    );
}
