//! Why jobs wait, and whose departure lets them in, against definitions by brute force.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::BitOr;

use meshalloc::{
    Change, Configuration, Description, Grid, JobId, JobState, Query, Refusal, Request,
    SchedulerKind, Shape, Slices, StrategyKind, Tolerance,
};
use meshalloc_sim::backend::{Backend, Backends, InProcessBackends};
use meshalloc_sim::situation::{Cause, Departures, Earliest, Reason, Situation};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const EASY: SchedulerKind = SchedulerKind::Easy { reservations: 1 };

pub(crate) fn below(random: &mut ChaCha8Rng, bound: u32) -> u32 {
    random.next_u32() % bound
}

pub(crate) fn extents(random: &mut ChaCha8Rng, machine: &Grid) -> Vec<u16> {
    let sides = machine.sides().iter();
    sides
        .map(|&side| 1 + below(random, side.min(4).into()) as u16)
        .collect()
}

fn random_request(random: &mut ChaCha8Rng, machine: &Grid) -> Request {
    let shape = Shape::new(&extents(random, machine)).unwrap();
    Request::new(shape).with_estimate(1 + u64::from(below(random, 100)))
}

pub(crate) fn submit(backend: &mut dyn Backend, job: u32, request: Request, now: u64) {
    let submitted = backend.call(&Change::submit(JobId(job), request), now, &mut |_, _| ());
    let _ = submitted.unwrap();
}

pub(crate) fn runs(backend: &mut dyn Backend, job: JobId) -> bool {
    let answer = backend.query(&Query::Job { job }).unwrap().unwrap();
    let meshalloc::Answer::Job(report) = answer else {
        panic!("{answer:?}");
    };
    matches!(report.state, JobState::Running { .. })
}

/// How a machine is filled with jobs until some wait.
pub(crate) struct Filling<'f> {
    pub(crate) jobs: u32,
    /// The time between two submissions.
    pub(crate) every: u64,
    /// After one of so many submissions a job is released, if it is there, at this time.
    pub(crate) releases: (u32, u64),
    pub(crate) request: &'f dyn Fn(&mut ChaCha8Rng, &Grid) -> Request,
}

impl Filling<'_> {
    /// Fills a machine, with a few faulty processors, and hands the state over; as often as there
    /// are to be states.
    pub(crate) fn states(
        &self,
        configuration: Configuration,
        description: Option<&Description>,
        states: u64,
        body: &mut dyn FnMut(&mut dyn Backend, &Situation<'_>, &mut ChaCha8Rng),
    ) {
        for seed in 0..states {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut backends = InProcessBackends::default();
            let made = backends.with(configuration, description, &mut |backend| {
                self.fill(backend, &configuration.machine, &mut random);
                let ask = &mut |query: &Query| backend.query(query);
                let situation = Situation::read(ask, configuration, description).unwrap();
                body(backend, &situation, &mut random);
            });
            made.unwrap();
        }
    }

    fn fill(&self, backend: &mut dyn Backend, machine: &Grid, random: &mut ChaCha8Rng) {
        for _ in 0..below(random, 3) {
            let node = meshalloc::NodeId(below(random, machine.nodes()));
            let block = machine.unit(node).unwrap();
            let change = Change::MarkFaulty { block };
            backend.call(&change, 0, &mut |_, _| ()).unwrap().unwrap();
        }
        let (one_of, at) = self.releases;
        for job in 0..self.jobs {
            let request = (self.request)(random, machine);
            submit(backend, job, request, u64::from(job) * self.every);
            if below(random, one_of) == 0 {
                let job = JobId(below(random, job + 1));
                let release = Change::Release { job };
                let _ = backend.call(&release, at, &mut |_, _| ()).unwrap();
            }
        }
    }
}

/// Fills the machine with jobs and faults until some wait, and hands the state over.
pub(crate) fn in_random_states(
    configuration: Configuration,
    states: u64,
    body: &mut dyn FnMut(&mut dyn Backend, &Situation<'_>, &mut ChaCha8Rng),
) {
    let filling = Filling {
        jobs: 14,
        every: 1,
        releases: (3, 20),
        request: &random_request,
    };
    filling.states(configuration, None, states, body);
}

/// The boxes of the request's shape, in any order of the extents, that have none of these
/// processors, each as its processors: written for coordinates, without blocks.
pub(crate) fn free_boxes(
    machine: &Grid,
    extents: &[u16],
    turns: bool,
    busy: &BTreeSet<Vec<u16>>,
) -> impl Iterator<Item = Vec<Vec<u16>>> {
    fn permutations(rest: &[u16]) -> Vec<Vec<u16>> {
        let Some(last) = rest.len().checked_sub(1) else {
            return vec![vec![]];
        };
        (0..=last)
            .flat_map(|at| {
                let mut others = rest.to_vec();
                let first = others.remove(at);
                permutations(&others).into_iter().map(move |mut order| {
                    order.insert(0, first);
                    order
                })
            })
            .collect()
    }
    let orders = if turns {
        permutations(extents)
    } else {
        vec![extents.to_vec()]
    };
    let points = |sides: &[u16]| -> Vec<Vec<u16>> {
        sides.iter().fold(vec![vec![]], |points, &side| {
            let longer = |point: &Vec<u16>| {
                let point = point.clone();
                (0..side).map(move |next| [&point[..], &[next]].concat())
            };
            points.iter().flat_map(longer).collect()
        })
    };
    let fits = |order: &Vec<u16>| {
        let mut along = order.iter().zip(machine.sides());
        along.all(|(extent, side)| extent <= side)
    };
    let bases = move || points(machine.sides()).into_iter();
    let orders = orders.into_iter().filter(fits);
    let boxes = orders.flat_map(move |order| bases().map(move |base| (base, points(&order))));
    boxes.filter_map(|(base, offsets)| {
        let places = offsets.iter().map(|offset| {
            let at = (0..base.len()).map(|d| {
                let (to, side) = (base[d] + offset[d], machine.side(d));
                (to < side || machine.wraps(d)).then_some(to % side)
            });
            let at: Option<Vec<u16>> = at.collect();
            at.filter(|at| !busy.contains(at))
        });
        places.collect()
    })
}

fn has_free_box(machine: &Grid, extents: &[u16], turns: bool, busy: &BTreeSet<Vec<u16>>) -> bool {
    free_boxes(machine, extents, turns, busy).next().is_some()
}

/// Whether this many of the sets have nothing in common with each other and with `taken`.
fn has_disjoint(sets: &[u64], count: u32, taken: u64) -> bool {
    count == 0
        || sets.iter().enumerate().any(|(at, &set)| {
            set & taken == 0 && has_disjoint(&sets[at + 1..], count - 1, taken | set)
        })
}

pub(crate) fn points_of(
    machine: &Grid,
    situation: &Situation<'_>,
    without: u32,
) -> BTreeSet<Vec<u16>> {
    let nodes = (0..machine.nodes()).map(meshalloc::NodeId);
    let is_busy = |&node: &meshalloc::NodeId| {
        let held = situation.running.iter().enumerate();
        let stays = held.filter(|(at, _)| without >> at & 1 == 0);
        situation.faulty.contains(&node)
            || stays
                .flat_map(|(_, job)| &job.blocks)
                .any(|&block| machine.holds(block, node))
    };
    let coordinates = |node| machine.coordinates(node).unwrap().to_vec();
    nodes.filter(is_busy).map(coordinates).collect()
}

/// The sizes of smallest sets equal those of all sets tried in turn, and the reason of a job under
/// a scheduler that tries every job is what the definition says.
#[test]
fn smallest_sets_and_reasons_are_those_of_brute_force() {
    let scheduler = SchedulerKind::BypassQueue {
        threshold: u64::MAX,
    };
    for (machine, strategy, turns) in [
        (Grid::mesh(&[6, 6]), StrategyKind::FirstFit, false),
        (Grid::mesh(&[6, 6]), StrategyKind::AdaptiveScan, true),
        (Grid::mesh(&[6, 6]), StrategyKind::FreeSubmeshList, true),
        (Grid::torus(&[3, 3, 3]), StrategyKind::AdaptiveScan, true),
    ] {
        let machine = machine.unwrap();
        let configuration = Configuration {
            machine,
            strategy,
            scheduler,
        };
        let mut seen = [0_u32; 4];
        // Ten thousand in all with the feature.
        let states = if cfg!(feature = "exhaustive") {
            2_500
        } else {
            120
        };
        in_random_states(configuration, states, &mut |_, situation, _| {
            for waiting in &situation.waiting {
                let extents = waiting.request.shape.extents().to_vec();
                // Sets of processors as bits: the machines have at most 64 processors.
                let bit = |at: &Vec<u16>| 1_u64 << machine.node(at).unwrap().0;
                let held = (0..situation.running.len()).map(|at| {
                    let held = points_of(&machine, situation, !(1 << at));
                    held.iter().map(bit).fold(0, BitOr::bitor)
                });
                let held: Vec<u64> = held.collect();
                let faulty = points_of(&machine, situation, !0);
                let boxes = free_boxes(&machine, &extents, turns, &faulty);
                let boxes = boxes.map(|place| place.iter().map(bit).sum());
                let boxes: Vec<u64> = boxes.collect();
                let fits_without = |set: u32| {
                    let stays = held.iter().enumerate().filter(|(at, _)| set >> at & 1 == 0);
                    let busy = stays.fold(0, |busy, (_, held)| busy | held);
                    boxes.iter().any(|place| place & busy == 0)
                };
                let all = 1_u32 << held.len();
                let mut sets: Vec<u32> = (0..all).collect();
                sets.sort_by_key(|set| set.count_ones());
                let least = sets.into_iter().find(|&set| fits_without(set));
                match (situation.departures(&waiting.request).unwrap(), least) {
                    (Departures::Never, None) => seen[0] += 1,
                    (Departures::Jobs { jobs }, Some(least)) => {
                        assert_eq!(jobs.len() as u32, least.count_ones(), "{situation:?}");
                        let places = jobs.iter().map(|&job| {
                            let found = situation.running.iter().position(|it| it.job.0 == job);
                            1 << found.unwrap()
                        });
                        assert!(fits_without(places.sum()), "{situation:?}");
                        seen[1] += 1;
                    }
                    (other, least) => panic!("{other:?} for {least:?}: {situation:?}"),
                }
                let busy = points_of(&machine, situation, 0).len() as u32;
                let (free, needs) = (machine.nodes() - busy, waiting.request.processors);
                match situation.why(waiting.job).unwrap().unwrap() {
                    Reason::Faults { .. } => assert_eq!(least, None),
                    Reason::TooFewFree { .. } => {
                        assert!(free < needs);
                        seen[2] += 1;
                    }
                    Reason::Fragmented { .. } => {
                        assert!(free >= needs && !fits_without(0));
                        seen[3] += 1;
                    }
                    Reason::Untried => assert!(fits_without(0)),
                    other => panic!("{other:?}: {situation:?}"),
                }
            }
        });
        assert!(
            seen.iter().skip(1).all(|&count| count > 10),
            "{strategy}: {seen:?}"
        );
    }
}

/// The situation with up to five faulty processors, held or not. The jobs that wait tolerate one or
/// two.
pub(crate) fn with_faults<'d>(situation: &Situation<'d>, random: &mut ChaCha8Rng) -> Situation<'d> {
    let mut situation = situation.clone();
    let nodes = situation.configuration.machine.nodes();
    let faulty: BTreeSet<_> = (0..below(random, 6))
        .map(|_| below(random, nodes))
        .collect();
    situation.faulty = faulty.into_iter().map(meshalloc::NodeId).collect();
    for waiting in &mut situation.waiting {
        let tolerance = Tolerance::new(1 + below(random, 2) as u8).unwrap();
        waiting.request = waiting.request.with_tolerance(tolerance);
    }
    situation
}

/// Whether a box without processors of the jobs that stay has as few faulty ones as the request
/// tolerates.
pub(crate) fn fits_with_faults(
    situation: &Situation<'_>,
    request: &Request,
    turns: bool,
    without: u32,
) -> bool {
    let machine = situation.configuration.machine;
    let sound = Situation {
        faulty: Vec::new(),
        ..situation.clone()
    };
    let is_faulty = |at: &&Vec<u16>| situation.faulty.contains(&machine.node(at).unwrap());
    let held = points_of(&machine, &sound, without);
    free_boxes(&machine, &request.shape.extents(), turns, &held)
        .any(|place| place.iter().filter(is_faulty).count() as u32 <= request.tolerated())
}

/// The same for jobs that tolerate faulty processors: a box may have some that no job holds which
/// stays.
#[test]
fn a_job_that_tolerates_faults_waits_only_for_the_others() {
    let scheduler = SchedulerKind::BypassQueue {
        threshold: u64::MAX,
    };
    for (machine, strategy, turns) in [
        (Grid::mesh(&[4, 4]), StrategyKind::FirstFit, false),
        (Grid::mesh(&[4, 4]), StrategyKind::FreeSubmeshList, true),
        (Grid::mesh(&[3, 3, 3]), StrategyKind::AdaptiveScan, true),
    ] {
        let machine = machine.unwrap();
        let configuration = Configuration {
            machine,
            strategy,
            scheduler,
        };
        let mut seen = BTreeMap::<&str, u32>::new();
        in_random_states(configuration, 150, &mut |_, situation, random| {
            let situation = with_faults(situation, random);
            for waiting in &situation.waiting {
                let request = waiting.request;
                let fits_without = |set| fits_with_faults(&situation, &request, turns, set);
                let mut sets: Vec<u32> = (0..1 << situation.running.len()).collect();
                sets.sort_by_key(|set| set.count_ones());
                let least = sets.into_iter().find(|&set| fits_without(set));
                match (situation.departures(&request).unwrap(), least) {
                    (Departures::Never, None) => {}
                    (Departures::Jobs { jobs }, Some(least)) => {
                        assert_eq!(jobs.len() as u32, least.count_ones(), "{situation:?}");
                        let places = jobs.iter().map(|&job| {
                            let found = situation.running.iter().position(|it| it.job.0 == job);
                            1 << found.unwrap()
                        });
                        assert!(fits_without(places.sum()), "{situation:?}");
                    }
                    (other, least) => panic!("{other:?} for {least:?}: {situation:?}"),
                }
                let busy = points_of(&machine, &situation, 0);
                let sound = Situation {
                    faulty: Vec::new(),
                    ..situation.clone()
                };
                let unheld = busy.len() - points_of(&machine, &sound, 0).len();
                let free = machine.nodes() - busy.len() as u32;
                let usable = free + request.tolerated().min(unheld as u32);
                let expected = if least.is_none() {
                    Cause::Faults
                } else if usable < request.processors {
                    Cause::TooFewFree
                } else if fits_without(0) {
                    Cause::Untried
                } else {
                    Cause::Fragmented
                };
                let reason = situation.why(waiting.job).unwrap().unwrap();
                assert_eq!(reason.cause(), expected, "{situation:?}");
                *seen.entry(expected.name()).or_default() += 1;
                let now = situation.earliest(&request).unwrap() == Earliest::Now;
                assert_eq!(now, fits_without(0), "{situation:?}");
                let extents = request.shape.extents();
                if now && !has_free_box(&machine, &extents, turns, &busy) {
                    *seen.entry("with faulty ones").or_default() += 1;
                }
            }
        });
        for expected in [
            "faults",
            "too-few-free",
            "untried",
            "fragmented",
            "with faulty ones",
        ] {
            let count = seen.get(expected).copied().unwrap_or(0);
            assert!(count > 3, "{strategy}: {seen:?}");
        }
    }
}

/// The same for gangs: each set of places is tried.
#[test]
fn the_slices_of_a_gang_are_counted_together() {
    let scheduler = SchedulerKind::BypassQueue {
        threshold: u64::MAX,
    };
    for (strategy, turns) in [
        (StrategyKind::FirstFit, false),
        (StrategyKind::AdaptiveScan, true),
    ] {
        let machine = Grid::mesh(&[6, 6]).unwrap();
        let configuration = Configuration {
            machine,
            strategy,
            scheduler,
        };
        let mut seen = BTreeMap::<&str, u32>::new();
        in_random_states(configuration, 60, &mut |_, situation, random| {
            let mut situation = situation.clone();
            let slices = Slices::new(2 + below(random, 2)).unwrap();
            for waiting in &mut situation.waiting {
                waiting.request = waiting.request.with_slices(slices);
            }
            for waiting in &situation.waiting {
                let request = waiting.request;
                let places = |busy: &BTreeSet<Vec<u16>>| -> Vec<u64> {
                    let extents = request.shape.extents();
                    let boxes = free_boxes(&machine, &extents, turns, busy);
                    let bit = |at: &Vec<u16>| 1 << machine.node(at).unwrap().0;
                    boxes.map(|set| set.iter().map(bit).sum()).collect()
                };
                let fits = |busy| has_disjoint(&places(&busy), request.slices(), 0);
                let without = |set| points_of(&machine, &situation, set);
                let all = (1_u32 << situation.running.len()) - 1;
                let departures = situation.departures(&request).unwrap();
                if fits(without(all)) {
                    let mut sets: Vec<u32> = (0..=all).collect();
                    sets.sort_by_key(|set| set.count_ones());
                    let least = sets.into_iter().find(|&set| fits(without(set))).unwrap();
                    match departures {
                        Departures::Jobs { jobs } => {
                            assert_eq!(jobs.len() as u32, least.count_ones(), "{situation:?}");
                            *seen.entry("jobs").or_default() += 1;
                        }
                        Departures::MoreThan { size } => assert!(size < least.count_ones()),
                        other => panic!("{other:?}: {situation:?}"),
                    }
                } else {
                    assert_eq!(departures, Departures::Never, "{situation:?}");
                }
                let busy = without(0);
                let free = machine.nodes() - busy.len() as u32;
                let reason = situation.why(waiting.job).unwrap().unwrap();
                let expected = if !fits(BTreeSet::new()) {
                    Cause::NeverFits
                } else if !fits(without(all)) {
                    Cause::Faults
                } else if free < request.total() {
                    Cause::TooFewFree
                } else if places(&busy).is_empty() {
                    Cause::Fragmented
                } else if fits(busy) {
                    Cause::Untried
                } else {
                    Cause::GangIncomplete
                };
                assert_eq!(reason.cause(), expected, "{situation:?}");
                *seen.entry(expected.name()).or_default() += 1;
            }
        });
        for expected in [
            "jobs",
            "never-fits",
            "too-few-free",
            "gang-incomplete",
            "untried",
        ] {
            assert!(seen.contains_key(expected), "{strategy}: {seen:?}");
        }
    }
}

/// When exactly the smallest set of jobs is released, the head of the queue runs; when one job of
/// the set stays, it does not. Also for strategies whose places are not all boxes.
#[test]
fn a_release_of_the_smallest_set_lets_the_head_in() {
    for strategy in [
        StrategyKind::FirstFit,
        StrategyKind::Buddy,
        StrategyKind::LShape,
        StrategyKind::Naive,
    ] {
        let configuration = Configuration {
            machine: Grid::mesh(&[8, 8]).unwrap(),
            strategy,
            scheduler: SchedulerKind::Fcfs,
        };
        let mut let_in = 0;
        in_random_states(configuration, 200, &mut |backend, situation, random| {
            let Some(head) = situation.waiting.first() else {
                return;
            };
            let departures = situation.departures(&head.request).unwrap();
            let Departures::Jobs { mut jobs } = departures else {
                return;
            };
            assert!(!jobs.is_empty(), "{situation:?}");
            // In any order.
            let first = below(random, jobs.len() as u32) as usize;
            jobs.rotate_left(first);
            for job in jobs {
                assert!(!runs(backend, head.job), "{strategy}: {situation:?}");
                let release = Change::Release { job: JobId(job) };
                backend.call(&release, 30, &mut |_, _| ()).unwrap().unwrap();
            }
            assert!(runs(backend, head.job), "{strategy}: {situation:?}");
            let_in += 1;
        });
        assert!(let_in > 10, "{strategy}: {let_in}");
    }
}

#[test]
fn each_reason_has_its_case() {
    let mesh = Grid::mesh(&[8, 4]).unwrap();
    let with = |scheduler, steps: &[(u32, u16, u16, u64)], of: u32| {
        let configuration = Configuration {
            machine: mesh,
            strategy: StrategyKind::FirstFit,
            scheduler,
        };
        let mut reason = None;
        let mut earliest = None;
        let mut backends = InProcessBackends::default();
        let done = backends.with(configuration, None, &mut |backend| {
            for &(job, w, h, estimate) in steps {
                submit(
                    backend,
                    job,
                    Request::submesh(w, h).with_estimate(estimate),
                    0,
                );
            }
            let situation =
                Situation::read(&mut |query| backend.query(query), configuration, None).unwrap();
            reason = situation.why(JobId(of)).unwrap();
            let request = situation.waiting.iter().find(|job| job.job.0 == of);
            earliest = request.map(|job| situation.earliest(&job.request).unwrap());
        });
        done.unwrap();
        (reason, earliest)
    };
    let (needs, free) = (24, 12);
    let wide = (1, 5, 4, 100);
    assert_eq!(
        with(SchedulerKind::Fcfs, &[wide, (2, 6, 4, 50)], 2),
        (
            Some(Reason::TooFewFree { needs, free }),
            Some(Earliest::At(100))
        )
    );
    // Three columns of four are free, and the job asks for four by three.
    assert_eq!(
        with(SchedulerKind::Fcfs, &[wide, (2, 4, 3, 50)], 2),
        (
            Some(Reason::Fragmented {
                needs: 12,
                free: 12
            }),
            Some(Earliest::At(100))
        )
    );
    assert_eq!(
        with(SchedulerKind::Fcfs, &[wide, (2, 6, 4, 50), (3, 1, 1, 9)], 3),
        (Some(Reason::NotItsTurn { ahead: 1 }), Some(Earliest::Now))
    );
    // It would end long after the head's reservation, and lies within it wherever it lies.
    assert_eq!(
        with(EASY, &[wide, (2, 8, 4, 50), (3, 3, 4, 1_000)], 3),
        (
            Some(Reason::BehindReservation { ahead: 1 }),
            Some(Earliest::Now)
        )
    );
    // Running.
    assert_eq!(with(EASY, &[wide], 1), (None, None));
    assert_eq!(with(EASY, &[wide], 9), (None, None));
}

/// A job may come to wait for what it cannot get only by faults; what never fits is refused. A
/// situation may hold such a job all the same, as another program may have made it.
#[test]
fn what_never_fits_is_said_first() {
    let machine = Grid::mesh(&[4, 4]).unwrap();
    let configuration = Configuration {
        machine,
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut situation = Situation {
        configuration,
        description: None,
        running: Vec::new(),
        waiting: Vec::new(),
        faulty: vec![meshalloc::NodeId(5)],
    };
    for (job, (w, h)) in [(1, (4, 4)), (2, (5, 1)), (3, (2, 2))] {
        situation.waiting.push(meshalloc_sim::situation::Waiting {
            job: JobId(job),
            request: Request::submesh(w, h),
            submitted: 0,
        });
    }
    let why = |job| situation.why(JobId(job)).unwrap().unwrap();
    assert_eq!(why(1), Reason::Faults { faulty: 1 });
    let refusal = Refusal::NeverFits;
    assert_eq!(why(2), Reason::NeverFits { refusal });
    assert_eq!(why(3), Reason::NotItsTurn { ahead: 2 });
    assert_eq!(
        situation.departures(&Request::submesh(4, 4)),
        Ok(Departures::Never)
    );
}
