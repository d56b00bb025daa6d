//! Gangs: jobs that get all of their slices at once or none. On small machines every set of
//! disjoint places is tried, after each of many random operations.

use std::collections::BTreeSet;

use meshalloc::storage::Needs;
use meshalloc::{
    Allocator, Block, Change, Configuration, Contiguity, Controller, Error, Flags, Grid, JobId,
    NodeId, Reason, Refusal, Request, SchedulerKind, Shape, Slices, StrategyKind, Submesh,
};
use meshalloc_tests::exhaustive;
use meshalloc_tests::random::Random;
use meshalloc_tests::rig::{HeapMemory, fault, mesh, unit};
use meshalloc_tests::saved::{restore, save};

/// The strategies whose slices are boxes of the requested sides, and that find each of these.
pub(crate) const FIND_ALL: [StrategyKind; 7] = [
    StrategyKind::FirstFit,
    StrategyKind::AdaptiveScan,
    StrategyKind::FreeSubmeshList,
    StrategyKind::BestFit,
    StrategyKind::BusyList,
    StrategyKind::LeastExpectedBlocking { budget: 8 },
    StrategyKind::LebEstimates { budget: 8 },
];

/// Processors of a small machine, a bit for each.
pub(crate) type Set = u64;

fn slices(number: u32) -> Slices {
    Slices::new(number).expect("a number of slices")
}

fn gang(number: u32, w: u16, h: u16) -> Request {
    Request::submesh(w, h).with_slices(slices(number))
}

fn set(grid: &Grid, block: Block) -> Set {
    let nodes = (0..grid.nodes()).filter(|&node| grid.holds(block, NodeId(node)));
    nodes.fold(0, |set, node| set | 1 << node)
}

fn free(grid: &Grid, is_busy: impl Fn(NodeId) -> bool) -> Set {
    let nodes = (0..grid.nodes()).filter(|&node| !is_busy(NodeId(node)));
    nodes.fold(0, |set, node| set | 1 << node)
}

/// Every order of the extents that the strategy may give, along the dimensions of the machine.
fn orders(kind: StrategyKind, grid: &Grid, request: &Request) -> BTreeSet<Vec<u16>> {
    let mut named = request.shape.extents().to_vec();
    named.resize(grid.dimensions(), 1);
    let keeps = matches!(kind, StrategyKind::FirstFit | StrategyKind::BestFit);
    if keeps || request.flags.contains(Flags::FIXED_ORIENTATION) {
        return BTreeSet::from([named]);
    }
    let mut orders = BTreeSet::from([vec![]]);
    for _ in 0..named.len() {
        let longer = orders.iter().flat_map(|order: &Vec<u16>| {
            let count = |of: &[u16], side| of.iter().filter(|&&it| it == side).count();
            let more = named
                .iter()
                .filter(|&&side| count(order, side) < count(&named, side));
            more.map(|&side| [&**order, &[side]].concat())
                .collect::<Vec<_>>()
        });
        orders = longer.collect();
    }
    orders
}

/// Every place of a slice on the empty machine.
fn places(kind: StrategyKind, grid: &Grid, request: &Request) -> Vec<Set> {
    let mut places = BTreeSet::new();
    for sides in orders(kind, grid, request) {
        for first in 0..grid.nodes() {
            let start = grid.coordinates(NodeId(first)).expect("a node");
            if let Some(block) = grid.block(&start, &sides)
                && grid.contains(block)
            {
                places.insert(set(grid, block));
            }
        }
    }
    places.into_iter().collect()
}

/// Whether this many of the places are free and disjoint: all sets are tried.
fn is_any(places: &[Set], free: Set, slices: u32) -> bool {
    if slices == 0 {
        return true;
    }
    let open: Vec<Set> = places
        .iter()
        .copied()
        .filter(|place| place & !free == 0)
        .collect();
    (0..open.len()).any(|at| is_any(&open[at + 1..], free & !open[at], slices - 1))
}

/// The machines, and the most sides of slices there.
fn machines() -> Vec<Grid> {
    vec![
        mesh(5, 5).grid(),
        mesh(6, 6).grid(),
        Grid::mesh(&[3, 3, 3]).expect("a mesh"),
        Grid::torus(&[4, 4]).expect("a torus"),
    ]
}

fn random_gang(grid: &Grid, random: &mut Random) -> Request {
    let sides = grid.sides().iter();
    let sides: Vec<u16> = sides
        .map(|&side| random.between(1, u32::from(side).min(3)) as u16)
        .collect();
    let mut request = Request::new(Shape::new(&sides).expect("a small shape"));
    request = request.with_slices(slices(random.between(1, 5)));
    if random.percent(20) {
        request = request.with_flags(Flags::FIXED_ORIENTATION);
    }
    if random.percent(30) {
        request = request.with_flags(request.flags | Flags::NO_WAIT);
    }
    request.with_estimate(random.between(1, 50).into())
}

/// What an operation met.
#[derive(Debug, Default)]
struct Met {
    grants: u32,
    incomplete: u32,
    given_up: u32,
    never: u32,
    replaced: u32,
}

/// The jobs that the controller must have: those taken and not released.
struct Model {
    configuration: Configuration,
    finds_all: bool,
    jobs: BTreeSet<JobId>,
}

impl Model {
    /// Whether the request fits into these free processors; `None` for a strategy that does not
    /// find each free box.
    fn fits(&self, request: &Request, free: Set) -> Option<bool> {
        let Configuration {
            machine, strategy, ..
        } = &self.configuration;
        let found = || is_any(&places(*strategy, machine, request), free, request.slices());
        self.finds_all.then(found)
    }

    /// Each running job holds all of its slices, and each job is there.
    fn check(&self, controller: &Controller<'_>) {
        controller.check_invariants();
        let Configuration {
            machine, strategy, ..
        } = &self.configuration;
        let view = controller.view();
        let running = controller
            .jobs()
            .running()
            .map(|job| (job.id(), job.request()));
        let queue = controller.jobs().queue();
        let waiting: Vec<_> = queue.slots().map(|slot| queue.get(slot).id()).collect();
        let mut found: BTreeSet<_> = waiting.iter().copied().collect();
        for id in waiting {
            assert_eq!(view.blocks(id).count(), 0, "a job that waits holds nothing");
        }
        for (id, request) in running {
            found.insert(id);
            let held: u32 = view.blocks(id).map(|block| machine.area(block)).sum();
            assert!(held >= request.total(), "{id}: a part of a gang");
            assert!(view.blocks(id).count() >= request.slices() as usize);
            if strategy.holds() != Contiguity::OneBlock {
                continue;
            }
            assert_eq!(view.blocks(id).count(), request.slices() as usize);
            let legal = places(*strategy, machine, request);
            for (number, block) in (0..).zip(view.blocks(id)) {
                let is_legal = legal.contains(&set(machine, block));
                assert!(is_legal || !self.finds_all, "{id}: {block:?}");
                let one: Vec<_> = view.blocks_of_slice(id, number).collect();
                assert_eq!(one, [block], "slice {number} of {id}");
            }
        }
        assert_eq!(found, self.jobs, "no job is lost");
    }

    /// A job with faulty processors gets other places for all of its slices exactly if there are
    /// some, or nothing changes.
    fn replace(&self, controller: &mut Controller<'_>, job: JobId, now: u64, met: &mut Met) {
        let machine = self.configuration.machine;
        let saved = save(controller);
        let occupancy = controller.occupancy();
        let held = |controller: &Controller<'_>| -> Set {
            let blocks = controller.view().blocks(job);
            blocks.fold(0, |held, block| held | set(&machine, block))
        };
        let (old, working) = (
            held(controller),
            free(&machine, |node| occupancy.is_faulty(node)),
        );
        let open = free(&machine, |node| occupancy.is_busy(node)) | old & working;
        let slot = controller.jobs().find(job).expect("it is there");
        let request = *controller.jobs().get(slot).request();
        let fits = self.fits(&request, open);
        match controller.handle(&Change::Replace { job }, now) {
            Ok(_) => {
                met.replaced += u32::from(request.slices() > 1);
                assert_ne!(old & !working, 0, "it held a faulty processor");
                assert_ne!(fits, Some(false), "{request:?} in {open:b}");
                assert_eq!(held(controller) & !open, 0, "these were not free");
                return;
            }
            Err(Error::NothingToReplace) => assert_eq!(old & !working, 0),
            Err(Error::Refused(Refusal::TooFewFree)) => {
                assert!(!self.finds_all || request.total() > open.count_ones());
            }
            Err(Error::Refused(Refusal::GangIncomplete | Refusal::Fragmented)) => {
                assert_ne!(fits, Some(true), "{request:?} in {open:b}");
            }
            Err(Error::Refused(Refusal::NotSearchedToTheEnd)) => met.given_up += 1,
            Err(Error::Refused(Refusal::TableFull)) => {}
            Err(other) => panic!("{other:?} of {request:?}"),
        }
        assert_eq!(save(controller), saved, "nothing has changed");
    }

    /// The reason of a job that waits is true.
    fn check_reason(&self, controller: &mut Controller<'_>, met: &mut Met) {
        let queue = controller.jobs().queue();
        let Some(head) = queue.head().map(|slot| *queue.get(slot)) else {
            return;
        };
        let occupancy = controller.occupancy();
        let (grid, request) = (*occupancy.grid(), *head.request());
        let now = free(&grid, |node| occupancy.is_busy(node));
        let working = free(&grid, |node| occupancy.is_faulty(node));
        let report = controller.why(head.id(), None).expect("it waits");
        let is_short = report.needs > report.free;
        let found = self.fits(&request, now);
        let reason = report.reason.expect("it waits");
        assert!(!is_short || matches!(reason, Reason::TooFewFree | Reason::Faults));
        match reason {
            Reason::TooFewFree => assert!(is_short),
            Reason::Faults => assert_ne!(self.fits(&request, working), Some(true)),
            Reason::Fragmented => {
                assert_ne!(found, Some(true));
                assert!(!controller.fits(&request.with_slices(Slices::ONE)));
            }
            Reason::GangIncomplete => {
                met.incomplete += 1;
                assert_eq!(found, Some(false), "{request:?}");
                assert!(controller.fits(&request.with_slices(Slices::ONE)));
            }
            Reason::NotSearchedToTheEnd => met.given_up += 1,
            // Its own reservation has taken room in the pool.
            Reason::TableFull if self.configuration.scheduler != SchedulerKind::Fcfs => {}
            // Some strategies find a place again only where less is free.
            Reason::Untried if !self.finds_all => {}
            // Nothing is reserved before the head.
            other => panic!("{other:?} of {request:?}: {:?}", self.configuration),
        }
    }
}

/// Random operations under one configuration.
fn operate(configuration: Configuration, operations: u32, seed: u64) -> Met {
    const JOBS: usize = 12;
    let machine = configuration.machine;
    let mut random = Random::new(seed);
    let needs = Needs::of(configuration.strategy, &machine, JOBS).with_gangs(&machine);
    let mut rooms = [HeapMemory::of(needs, JOBS), HeapMemory::of(needs, JOBS)];
    let [one, other] = &mut rooms;
    let mut controllers = [one, other]
        .map(|room| Controller::new(room.memory(), configuration).expect("it is served"));
    let mut model = Model {
        configuration,
        finds_all: FIND_ALL.contains(&configuration.strategy),
        jobs: BTreeSet::new(),
    };
    let mut met = Met::default();
    for now in 0..operations {
        let [controller, spare] = &mut controllers;
        let occupancy = controller.occupancy();
        let free_before = free(&machine, |node| occupancy.is_busy(node));
        let is_idle = controller.jobs().queue().is_empty();
        let node = random.below(machine.nodes());
        match random.below(100) {
            0..50 => {
                let (job, request) = (JobId(now), random_gang(&machine, &mut random));
                let taken = controller.handle(&Change::submit(job, request), now.into());
                let all = free(&machine, |_| false);
                match taken {
                    Ok(_) => {
                        model.jobs.insert(job);
                        let runs = controller.view().blocks(job).next().is_some();
                        met.grants += u32::from(runs);
                        if let (true, Some(fits)) = (is_idle, model.fits(&request, free_before)) {
                            assert_eq!(runs, fits, "{request:?} in {free_before:b}");
                        }
                        assert_ne!(model.fits(&request, all), Some(false), "{request:?}");
                    }
                    Err(Error::Refused(Refusal::NeverFits)) => {
                        met.never += 1;
                        assert_ne!(model.fits(&request, all), Some(true), "{request:?}");
                    }
                    Err(Error::Refused(
                        Refusal::TableFull | Refusal::QueueNotEmpty | Refusal::Reserved,
                    )) => {}
                    Err(Error::Refused(Refusal::TooFewFree)) if model.finds_all => {
                        assert!(request.total() > free_before.count_ones());
                    }
                    Err(Error::Refused(Refusal::TooFewFree)) => {}
                    Err(Error::Refused(Refusal::NotSearchedToTheEnd)) => met.given_up += 1,
                    Err(Error::Refused(Refusal::GangIncomplete | Refusal::Fragmented)) => {
                        assert_ne!(model.fits(&request, free_before), Some(true), "{request:?}");
                    }
                    Err(Error::Refused(other)) if !model.finds_all && !other.is_temporary() => {}
                    Err(other) => panic!("{other:?} of {request:?}"),
                }
            }
            50..86 => {
                let jobs: Vec<_> = model.jobs.iter().copied().collect();
                if !jobs.is_empty() {
                    let job = jobs[random.below(jobs.len() as u32) as usize];
                    let released = controller.handle(&Change::Release { job }, now.into());
                    assert!(released.is_ok());
                    model.jobs.remove(&job);
                }
            }
            86..92 => {
                let change = fault(unit(&machine, NodeId(node)), random.percent(40));
                assert!(controller.handle(&change, now.into()).is_ok());
            }
            92..96 if !model.jobs.is_empty() => {
                let working = free(&machine, |node| occupancy.is_faulty(node));
                let is_broken = |job: &&JobId| {
                    let mut held = controller.view().blocks(**job);
                    held.any(|block| set(&machine, block) & !working != 0)
                };
                let broken = model.jobs.iter().find(is_broken);
                let job = *broken.or(model.jobs.first()).expect("a job");
                model.replace(controller, job, now.into(), &mut met);
            }
            92..99 => {
                let parts = save(controller);
                assert_eq!(restore(spare, &parts), Ok(()));
                assert_eq!(save(spare), parts, "the restored one is the saved one");
                controllers.swap(0, 1);
            }
            _ => {
                let _ = controller.handle(&Change::Reset, now.into());
                model.jobs.clear();
            }
        }
        let [controller, _] = &mut controllers;
        model.check(controller);
        model.check_reason(controller, &mut met);
    }
    met
}

/// With each configuration.
const OPERATIONS: u32 = exhaustive(5000, 400);

#[test]
fn a_gang_gets_all_of_its_slices_or_none() {
    let schedulers = [
        SchedulerKind::Fcfs,
        SchedulerKind::Easy { reservations: 1 },
        SchedulerKind::Conservative,
    ];
    let mut all = Met::default();
    let mut operations = 0;
    for machine in machines() {
        for &strategy in StrategyKind::ALL {
            if !strategy.serves().includes(&machine) {
                continue;
            }
            let of_kind = FIND_ALL.iter().find(|kind| kind.name() == strategy.name());
            let strategy = of_kind.copied().unwrap_or(strategy);
            for (number, scheduler) in (0..).zip(schedulers) {
                let configuration = Configuration {
                    machine,
                    strategy,
                    scheduler,
                };
                let met = operate(configuration, OPERATIONS, number);
                operations += OPERATIONS;
                let finds_all = FIND_ALL.contains(&strategy);
                assert!(
                    met.given_up == 0 || !finds_all,
                    "{strategy} on {machine}: {met:?}"
                );
                assert!(
                    met.grants > 20 || !finds_all,
                    "{strategy} on {machine}: {met:?}"
                );
                all.grants += met.grants;
                all.incomplete += met.incomplete;
                all.given_up += met.given_up;
                all.never += met.never;
                all.replaced += met.replaced;
            }
        }
    }
    assert!(
        all.incomplete > 10 && all.given_up > 10 && all.never > 10 && all.replaced > 10,
        "{all:?}"
    );
    assert!(operations >= exhaustive(1_000_000, 80_000), "{operations}");
}

/// On every occupancy of a mesh of 4 x 3, for gangs of each shape.
#[test]
fn the_search_finds_places_exactly_if_there_are_some() {
    let grid = mesh(4, 3).grid();
    for strategy in FIND_ALL {
        let mut memory = HeapMemory::of(Needs::of(strategy, &grid, 12), 12);
        let memory = memory.allocator_memory();
        let mut allocator = Allocator::new(memory, grid, strategy).expect("it is served");
        for request in [
            gang(2, 2, 2),
            gang(2, 3, 1),
            gang(3, 2, 1),
            gang(2, 1, 3),
            gang(4, 1, 2),
        ] {
            let places = places(strategy, &grid, &request);
            for busy in 0..1 << grid.nodes() {
                let mut supposed = allocator.suppose();
                for node in (0..grid.nodes()).filter(|node| busy >> node & 1 == 1) {
                    supposed.occupy(unit(&grid, NodeId(node)));
                }
                let fits = is_any(&places, !busy & ((1 << grid.nodes()) - 1), request.slices());
                assert_eq!(
                    supposed.fits(&request),
                    fits,
                    "{strategy}, {request:?} in {busy:b}"
                );
                // The answer has changed nothing.
                assert_eq!(supposed.free(), grid.nodes() - u64::count_ones(busy));
                assert_eq!(
                    supposed.fits(&request),
                    fits,
                    "{strategy}, {request:?} again"
                );
            }
        }
    }
}

/// The example in the documentation of the search.
#[test]
fn places_that_the_strategy_alone_does_not_find_are_searched() {
    let grid = mesh(4, 3).grid();
    let needs = Needs::of(StrategyKind::FirstFit, &grid, 4);
    let mut memory = HeapMemory::of(needs, 4);
    let allocator = Allocator::new(memory.allocator_memory(), grid, StrategyKind::FirstFit);
    let mut allocator = allocator.expect("it is served");
    for corner in [Submesh::new(0, 0, 1, 1), Submesh::new(3, 0, 1, 1)] {
        let _ = allocator.allocate_at(corner.into()).expect("it is free");
    }
    let two = allocator
        .allocate(&gang(2, 2, 2))
        .expect("there are places");
    let blocks: Vec<_> = allocator.blocks(&two).expect("it is held").collect();
    let expected = [Submesh::new(0, 1, 2, 2), Submesh::new(2, 1, 2, 2)];
    assert_eq!(blocks, expected.map(Block::from));
    assert_eq!(allocator.release(two), Ok(8));
    // The pool has four cells, of which two are in use.
    let three = allocator.allocate(&gang(3, 2, 1));
    assert_eq!(three.unwrap_err(), Refusal::TableFull);
    let five = allocator.allocate(&gang(5, 1, 1));
    assert_eq!(five.unwrap_err(), Refusal::NeverFits);
    allocator.check_invariants();
}

/// A search that is not completed says so.
#[test]
fn a_search_that_gives_up_does_not_say_no() {
    let (not_completed, no) = (Refusal::NotSearchedToTheEnd, Refusal::GangIncomplete);
    for (strategy, side, slices, last, expected) in [
        // More slices than it tries.
        (StrategyKind::FirstFit, 12, 33, (10, 10), not_completed),
        // More steps than it makes.
        (StrategyKind::FirstFit, 12, 32, (10, 10), not_completed),
        // Only three processors would stay free.
        (StrategyKind::FirstFit, 10, 23, (9, 1), no),
        // It does not find each free box.
        (StrategyKind::FrameSliding, 12, 33, (10, 10), not_completed),
    ] {
        let grid = mesh(side, side).grid();
        let mut memory = HeapMemory::of(Needs::of(strategy, &grid, 144), 144);
        let allocator = Allocator::new(memory.allocator_memory(), grid, strategy);
        let mut allocator = allocator.expect("it is served");
        for (x, y) in [(2, 0), (5, 3), (1, 6), (7, 9), last] {
            let block = Submesh::new(x, y, 1, 1).into();
            let _ = allocator.allocate_at(block).expect("it is free");
        }
        let refused = allocator.allocate(&gang(slices, 2, 2)).unwrap_err();
        assert_eq!(refused, expected, "{strategy}, {slices} on {grid}");
        assert_eq!(allocator.occupancy().free(), grid.nodes() - 5);
        allocator.check_invariants();
    }
}
