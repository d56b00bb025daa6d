//! Least expected blocking against its definition: on random states of an 8 x 8 mesh every
//! candidate has the score of the naive model, which removes every set of jobs and reads one flag
//! for each node.

use meshalloc::Grid as Machine;
use meshalloc::jobs::JobSlot;
use meshalloc::strategy::Candidate;
use meshalloc::{
    Allocation, Allocator, Block, Change, Configuration, ConfigureError, Controller,
    Description as Described, Flags, JobId, NodeId, Outcome, Request, SchedulerKind, StrategyKind,
    Submesh, Ticks,
};
use meshalloc_tests::convert;
use meshalloc_tests::foresight::{Candidate as Expected, Foresight, Other, Outlook, heights};
use meshalloc_tests::grid::{Grid, NaiveMachine};
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, ask_at, configuration, mesh, unit};
use meshalloc_tests::strategy::{Strategy, Wanted};
use meshalloc_tests::submesh::Rect;

const SIDE: u16 = 8;

/// The blocks that are reserved for waiting jobs other than this one, and from when on.
fn reservations(
    controller: &Controller<'_>,
    job: JobId,
) -> Vec<(JobId, Option<Ticks>, Vec<Block>)> {
    let queue = controller.jobs().queue();
    let waiting = queue.slots().map(|slot| queue.get(slot));
    let others = waiting.filter(|waiting| waiting.id() != job);
    let reserved = others.map(|other| {
        let blocks = controller.reserved_blocks(other).collect();
        (other.id(), other.reserved_from(), blocks)
    });
    reserved.collect()
}

/// A controller and the memory of the naive strategy.
struct Rig<'m> {
    controller: Controller<'m>,
    model: Foresight,
    /// What the requests stand for.
    named: Strategy,
    /// Whether the machine lets a slice be turned.
    turns: bool,
    now: Ticks,
}

impl Rig<'_> {
    fn candidates(&self) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        let mut push = |candidate| candidates.push(candidate);
        self.controller.strategy().latest_candidates(&mut push);
        candidates
    }

    fn attempts(&self) -> u64 {
        self.controller.statistics().counts.attempts
    }

    /// The same request on a machine that turns requests.
    fn by_machine(&self, request: &Request) -> Request {
        let fixed = if self.turns {
            Flags::empty()
        } else {
            Flags::FIXED_ORIENTATION
        };
        request.with_flags(request.flags | fixed)
    }

    /// As what a request counts that may come.
    fn expected(&self, request: &Request) -> Wanted {
        self.named.expected(&self.by_machine(request))
    }

    /// The machine and the outlook before a job is submitted.
    fn state(&self, request: &Request) -> (NaiveMachine, Outlook, bool) {
        let jobs = self.controller.jobs();
        let grid = convert::grid(*self.controller.machine());
        let mut machine = NaiveMachine::new(grid.clone());
        let nodes = |block| grid.nodes_of(&convert::place(*self.controller.machine(), block));
        let of_job =
            |job: &JobSlot| -> Vec<u32> { self.controller.blocks(job).flat_map(nodes).collect() };
        let mut outlook = Outlook {
            estimate: request.estimate.map(std::num::NonZeroU64::get),
            ..Outlook::default()
        };
        let left = |job: &JobSlot| job.ends(self.now).map(|end| end - self.now);
        for job in jobs.running() {
            let nodes = of_job(job);
            nodes.iter().for_each(|&node| machine.set(node, true));
            let left = left(job);
            outlook.running.push(Other { nodes, left });
        }
        let own_end = request
            .estimate
            .map_or(Ticks::MAX, |ticks| self.now + ticks.get());
        let mut is_withheld = false;
        for slot in jobs.queue().slots() {
            let job = jobs.get(slot);
            if let Some(block) = job
                .reserved_block()
                .filter(|_| job.reserved_from() < Some(own_end))
            {
                is_withheld = true;
                let nodes: Vec<u32> = nodes(block);
                nodes.iter().for_each(|&node| machine.set(node, true));
                let left = left(job);
                outlook.running.push(Other { nodes, left });
            }
        }
        for node in
            (0..grid.nodes()).filter(|&node| self.controller.occupancy().is_faulty(NodeId(node)))
        {
            outlook.never_free.push(node);
        }
        outlook
            .never_free
            .iter()
            .for_each(|&node| machine.set(node, true));
        let waiting = jobs.queue().slots().skip(1);
        outlook.waiting = waiting
            .map(|slot| self.expected(jobs.get(slot).request()))
            .collect();
        (machine, outlook, is_withheld)
    }
}

/// Counts of the compared states.
#[derive(Debug, Default)]
struct Seen {
    states: u32,
    with_waiting: u32,
    with_faults: u32,
    with_withheld: u32,
    /// By a number of processors whose first shape has no place.
    by_later_form: u32,
    by_running: [u32; 12],
}

/// `turns`: whether the machine lets a slice be turned.
fn compare(
    machine: Machine,
    turns: bool,
    kind: StrategyKind,
    scheduler: SchedulerKind,
    states: u32,
    seed: u64,
) -> Seen {
    let nodes = machine.nodes();
    let grid = convert::grid(machine);
    let described = Described::new(machine).expect("a description");
    let described = described.with_rotation(false);
    let mut memory = HeapMemory::for_strategy(machine, kind, 40);
    let memory = if turns {
        memory.memory()
    } else {
        memory.memory().describing(&described)
    };
    let configuration = Configuration {
        machine,
        strategy: kind,
        scheduler,
    };
    let mut rig = Rig {
        controller: Controller::new(memory, configuration).expect("a controller"),
        model: Foresight::new(kind, &grid).expect("a model"),
        named: Strategy::new(kind, &grid),
        turns,
        now: 0,
    };
    let mut random = Random::new(seed);
    let mut seen = Seen::default();
    let mut jobs: Vec<JobId> = Vec::new();
    let mut next = 0;
    // The largest side changes now and then, so that few large jobs occur as well as many small
    // ones.
    let mut side_max = 4;
    for step in 0.. {
        if seen.states == states {
            break;
        }
        assert!(step < 100 * states, "{kind}, {scheduler:?}: {seen:?}");
        rig.now += u64::from(random.below(30));
        if step % 64 == 0 {
            side_max = random.between(2, 8);
        }
        match random.below(100) {
            0..3 => {
                let block = unit(rig.controller.machine(), NodeId(random.below(nodes)));
                ask_at(&mut rig.controller, &Change::MarkFaulty { block }, rig.now);
            }
            3..10 => {
                let block = unit(rig.controller.machine(), NodeId(random.below(nodes)));
                ask_at(&mut rig.controller, &Change::ClearFaulty { block }, rig.now);
            }
            10..45 if !jobs.is_empty() => {
                let job = jobs.swap_remove(random.below(jobs.len() as u32) as usize);
                ask_at(&mut rig.controller, &Change::Release { job }, rig.now);
            }
            _ => {
                let sides = machine.sides().iter();
                let extent = |&side: &u16| random.between(1, side_max.min(side.into()));
                let mut request = convert::request(&sides.map(extent).collect::<Vec<u32>>());
                if random.percent(80) {
                    request = request.with_estimate(random.between(1, 3000).into());
                }
                if random.percent(30) {
                    request = Request {
                        estimate: request.estimate,
                        ..Request::chips(request.processors)
                    };
                }
                for (flag, percent) in [
                    (Flags::FIXED_ORIENTATION, 20),
                    (Flags::NO_WAIT, 60),
                    (
                        Flags::RINGS,
                        if grid.wraps().contains(&true) { 10 } else { 0 },
                    ),
                ] {
                    if random.percent(percent) {
                        request = request.with_flags(request.flags | flag);
                    }
                }
                let Ok(checked) = rig.named.check(&rig.by_machine(&request)) else {
                    continue;
                };
                rig.model.arrived(&rig.expected(&request));
                let (naive, outlook, is_withheld) = rig.state(&request);
                let (attempts, free) = (rig.attempts(), naive.free());
                let running = rig.controller.jobs().running_len() as usize;
                let job = JobId(next);
                next += 1;
                let overdue = outlook.running.iter().any(|other| other.left == Some(0));
                let reserved = reservations(&rig.controller, job);
                let answer = ask_at(&mut rig.controller, &Change::submit(job, request), rig.now);
                if rig.controller.jobs().find(job).is_some() {
                    jobs.push(job);
                }
                // The job found other reservations than the model: they were made anew for it.
                if reservations(&rig.controller, job) != reserved {
                    continue;
                }
                // If others tried before, the state was different. If too few processors were free,
                // there was no search.
                let only_one = rig.attempts() == attempts + 1 && !(overdue && is_withheld);
                if !only_one || checked.taken > free.into() {
                    continue;
                }
                let is_waiting = !outlook.waiting.is_empty();
                seen.states += 1;
                seen.with_waiting += u32::from(is_waiting);
                seen.with_faults += u32::from(
                    outlook
                        .never_free
                        .iter()
                        .any(|&node| rig.controller.occupancy().is_faulty(NodeId(node))),
                );
                seen.with_withheld += u32::from(is_withheld);
                seen.by_running[running.min(11)] += 1;
                rig.model.look(outlook);
                // The first shape that has a place.
                let candidates = |wanted| rig.model.candidates(&naive, wanted);
                let mut forms = checked.wanted.iter().map(candidates);
                let first = forms.next().expect("a shape");
                seen.by_later_form += u32::from(first.is_empty());
                let expected = if first.is_empty() {
                    forms.find(|found| !found.is_empty()).unwrap_or_default()
                } else {
                    first
                };
                seen.by_later_form -= u32::from(expected.is_empty());
                let found = rig.candidates();
                let found: Vec<Expected> = found
                    .into_iter()
                    .map(|candidate| Expected {
                        place: convert::place(machine, candidate.place),
                        contact: candidate.contact,
                        score: candidate.score.into(),
                    })
                    .collect();
                // If a scheduler knows that there is no place, it asks for no candidates.
                if !expected.is_empty() {
                    assert_eq!(
                        found, expected,
                        "{kind}, {scheduler:?}, step {step}: {request:?} in\n{naive}"
                    );
                }
                let chosen = Foresight::best(expected);
                let granted = answer.grants.iter().find(|grant| grant.job == job);
                let granted = granted.map(|grant| convert::place(machine, grant.blocks[0]));
                assert_eq!(
                    granted, chosen,
                    "{kind}, {scheduler:?}, step {step}: {request:?} in\n{naive}"
                );
            }
        }
    }
    seen
}

/// First come first served lets only the head try; backfilling also jobs behind it, where others
/// wait and blocks are withheld.
const SCHEDULERS: [SchedulerKind; 3] = [
    SchedulerKind::Fcfs,
    SchedulerKind::Easy { reservations: 1 },
    SchedulerKind::Easy { reservations: 3 },
];

fn compare_all(kind: impl Fn(u64) -> StrategyKind) {
    let machine = mesh(SIDE, SIDE).grid();
    let mut by_later_form = 0;
    for (seed, scheduler) in (1..).zip(SCHEDULERS) {
        for (budget, states) in [(4, 300), (16, 400), (64, 600), (200, 500), (1000, 300)] {
            let seen = compare(
                machine,
                budget != 200,
                kind(budget),
                scheduler,
                states,
                seed * 10_000 + budget,
            );
            let part = states / 20;
            assert!(seen.with_faults > part, "{scheduler:?}, {budget}: {seen:?}");
            let is_backfilling = scheduler != SchedulerKind::Fcfs;
            assert_eq!(
                seen.with_waiting > part,
                is_backfilling,
                "{scheduler:?}, {budget}: {seen:?}"
            );
            assert_eq!(
                seen.with_withheld > states / 100,
                is_backfilling,
                "{scheduler:?}, {budget}: {seen:?}"
            );
            by_later_form += seen.by_later_form;
            let (few, many) = (&seen.by_running[1..4], &seen.by_running[6..]);
            assert!(
                [few, many]
                    .iter()
                    .all(|states| states.iter().sum::<u32>() > part),
                "{scheduler:?}, {budget}: {seen:?}"
            );
        }
    }
    assert!(by_later_form > 20, "{by_later_form}");
}

#[test]
fn scores_and_choices_are_those_of_the_definition() {
    compare_all(|budget| StrategyKind::LeastExpectedBlocking { budget });
}

/// Rings, and grids of three and four dimensions. Few jobs have room.
#[test]
fn on_any_grid_scores_and_choices_are_those_of_the_definition() {
    let grids = [
        (&[24][..], 1),
        (&[5, 4], 0b11),
        (&[4, 3, 2], 0b101),
        (&[3, 3, 3], 0b111),
        (&[2, 3, 2, 2], 0),
    ];
    let mut seen_running = [0; 12];
    for (seed, (sides, wraps)) in (1..).zip(grids) {
        let machine = Machine::new(sides, wraps).expect("a grid");
        for (budget, scheduler) in [
            (16, SCHEDULERS[0]),
            (64, SCHEDULERS[1]),
            (200, SCHEDULERS[2]),
        ] {
            for kind in [
                StrategyKind::LeastExpectedBlocking { budget },
                StrategyKind::LebEstimates { budget },
            ] {
                let seen = compare(
                    machine,
                    budget != 64,
                    kind,
                    scheduler,
                    80,
                    seed * 1000 + budget,
                );
                assert!(seen.with_faults > 0, "{kind} on {machine}: {seen:?}");
                for (all, seen) in seen_running.iter_mut().zip(seen.by_running) {
                    *all += seen;
                }
            }
        }
    }
    let (few, many) = (&seen_running[1..4], &seen_running[5..]);
    assert!(
        [few, many]
            .iter()
            .all(|states| states.iter().sum::<u32>() > 100),
        "{seen_running:?}"
    );
}

#[test]
fn with_estimates_scores_and_choices_are_those_of_the_definition() {
    compare_all(|budget| StrategyKind::LebEstimates { budget });
}

/// After some jobs have left and a place is taken, a request fits if it fits without any departure,
/// or into a maximal free rectangle that meets the departed jobs, outside the place.
#[test]
fn only_rectangles_that_meet_what_left_are_new() {
    let mut random = Random::new(4711);
    let grid = Grid::mesh(&[SIDE.into(), SIDE.into()]);
    let mut new = 0;
    for _ in 0..3000 {
        // Random jobs, without those that overlap earlier ones.
        let mut without = NaiveMachine::new(grid.clone());
        let mut with = without.clone();
        let mut gone = Vec::new();
        let mut jobs = random.between(2, 9);
        while jobs > 0 {
            let mut along = || {
                let len = random.between(1, 4) as i32;
                (random.below(u32::from(SIDE) + 1 - len as u32) as i32, len)
            };
            let ((x, w), (y, h)) = (along(), along());
            let job = Rect::based_at(x, y, w, h);
            jobs -= 1;
            if job.nodes().all(|(x, y)| !with.is_busy_at(x, y))
                && !gone.iter().any(|other: &Rect| other.overlaps(job))
            {
                with.fill(job, true);
                if random.percent(40) {
                    gone.push(job);
                } else {
                    without.fill(job, true);
                }
            }
        }
        let places: Vec<Rect> = with.scan().dominant_free_submeshes();
        let Some(place) = places.get(random.below(places.len().max(1) as u32) as usize) else {
            continue;
        };
        let (w, h) = (
            random.between(1, place.w() as u32),
            random.between(1, place.h() as u32),
        );
        let taken = Rect::based_at(place.x1, place.y1, w as i32, h as i32);

        let staircase = |machine: &NaiveMachine| {
            let is_free = |(x, y)| !machine.is_busy_at(x, y) && !taken.has(x, y);
            let free: Vec<bool> = machine.whole().nodes().map(is_free).collect();
            heights(machine.whole(), &free)
        };
        let mut combined = staircase(&with);
        for free in without.scan().dominant_free_submeshes() {
            if !gone.iter().any(|job| job.overlaps(free)) {
                continue;
            }
            let pieces = if free.overlaps(taken) {
                vec![
                    Rect {
                        x2: taken.x1 - 1,
                        ..free
                    },
                    Rect {
                        x1: taken.x2 + 1,
                        ..free
                    },
                    Rect {
                        y2: taken.y1 - 1,
                        ..free
                    },
                    Rect {
                        y1: taken.y2 + 1,
                        ..free
                    },
                ]
            } else {
                vec![free]
            };
            for piece in pieces.iter().filter(|piece| piece.w() > 0 && piece.h() > 0) {
                for height in &mut combined[1..=piece.w() as usize] {
                    new += u32::from(*height < piece.h());
                    *height = (*height).max(piece.h());
                }
            }
        }
        assert_eq!(
            combined,
            staircase(&without),
            "{taken}, {gone:?} in\n{with}"
        );
    }
    assert!(new > 1000, "{new} new requests fit");
}

/// Two allocators get the same requests. In between, one also gets suppositions: other jobs have
/// left, or boxes are withheld.
#[test]
fn suppositions_change_no_decision() {
    for kind in [
        StrategyKind::LeastExpectedBlocking { budget: 64 },
        StrategyKind::LebEstimates { budget: 64 },
    ] {
        let machine = mesh(SIDE, SIDE).grid();
        let (mut memory, mut other_memory) = (
            HeapMemory::for_strategy(machine, kind, 64),
            HeapMemory::for_strategy(machine, kind, 64),
        );
        let mut asked =
            Allocator::new(memory.allocator_memory(), machine, kind).expect("an allocator");
        let mut left_alone =
            Allocator::new(other_memory.allocator_memory(), machine, kind).expect("an allocator");
        let mut random = Random::new(12);
        let mut running: Vec<(Allocation, Allocation)> = Vec::new();
        let mut granted = 0;
        for _ in 0..2000 {
            if random.percent(45) && !running.is_empty() {
                let at = random.below(running.len() as u32) as usize;
                let (one, other) = running.swap_remove(at);
                assert_eq!(
                    asked.release(one).unwrap(),
                    left_alone.release(other).unwrap()
                );
            }
            let mut side = || random.between(1, 5) as u16;
            let (request, supposed) = (
                Request::submesh(side(), side()),
                Request::submesh(side(), side()),
            );
            let mut supposition = asked.suppose();
            if let Some((allocation, _)) = running.first() {
                supposition.give_back(allocation).unwrap();
            }
            supposition.occupy(Submesh::new(2, 2, supposed.sides().w, 3).into());
            supposition.fits(&supposed);
            match (asked.allocate(&request), left_alone.allocate(&request)) {
                (Ok(one), Ok(other)) => {
                    assert!(
                        asked
                            .blocks(&one)
                            .unwrap()
                            .eq(left_alone.blocks(&other).unwrap()),
                        "{kind}"
                    );
                    running.push((one, other));
                    granted += 1;
                }
                (one, other) => assert_eq!(one.err(), other.err(), "{kind}"),
            }
        }
        assert!(granted > 500, "{kind}: {granted}");
    }
}

/// A budget beyond the limits can come over a line. It is refused, and the configuration stays.
#[test]
fn a_budget_out_of_range_is_refused() {
    let machine = mesh(8, 8);
    let served = configuration(machine, StrategyKind::FirstFit);
    let mut memory = HeapMemory::for_strategy(
        machine,
        StrategyKind::LeastExpectedBlocking { budget: 4096 },
        4,
    );
    let mut controller = Controller::new(memory.memory(), served).expect("it is served");
    for budget in [0, 3, 4097, u64::MAX, u64::MAX / 2 + 1] {
        for strategy in [
            StrategyKind::LeastExpectedBlocking { budget },
            StrategyKind::LebEstimates { budget },
        ] {
            let change = Change::Configure(configuration(machine, strategy));
            let bad = Err(ConfigureError::BadParameter.into());
            assert_eq!(controller.handle(&change, 0), bad, "{strategy:?}");
            assert_eq!(controller.configuration(), served);
        }
    }
    for budget in [4, 4096] {
        let strategy = StrategyKind::LeastExpectedBlocking { budget };
        let change = Change::Configure(configuration(machine, strategy));
        let outcome = controller.handle(&change, 0);
        assert_eq!(outcome, Ok(Outcome::Done), "{budget}");
    }
}
