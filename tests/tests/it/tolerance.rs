//! Slices that tolerate faulty processors: on small machines every choice of faulty processors is
//! tried. Random operations with such slices are compared in `random_operations`, with checkpoints
//! in `restore`.

use std::cell::{Cell, RefCell};

use meshalloc::storage::Needs;
use meshalloc::{
    AllocateError, Allocator, Block, Change, Configuration, Controller, Draft, Error, Flags, Grid,
    IllegalProposal, JobId, NodeId, Reason, Refusal, Request, SchedulerKind, Shape, Site, Slices,
    Strategy, StrategyKind, Submesh, Tolerance,
};
use meshalloc_tests::rig::{HeapMemory, mesh, release, set_faulty, submit, unit};
use meshalloc_tests::sample;
use meshalloc_tests::saved::{restore, save};

use crate::gangs::{FIND_ALL, Set};

fn tolerating(faulty: u8) -> Tolerance {
    Tolerance::new(faulty).expect("this build has tolerance")
}

fn block(x: u16, y: u16, w: u16, h: u16) -> Block {
    Submesh::new(x, y, w, h).into()
}

fn set(grid: &Grid, blocks: impl IntoIterator<Item = Block>) -> Set {
    let nodes = |block| (0..grid.nodes()).filter(move |&node| grid.holds(block, NodeId(node)));
    let nodes = blocks.into_iter().flat_map(nodes);
    nodes.fold(0, |set, node| set | 1 << node)
}

/// Every box of these sides, in this order.
fn boxes(grid: &Grid, sides: &[u16]) -> Vec<Set> {
    let starts = (0..grid.nodes()).filter_map(|node| grid.coordinates(NodeId(node)));
    let blocks = starts.filter_map(|start| grid.block(&start, sides));
    blocks
        .filter(|&block| grid.contains(block))
        .map(|block| set(grid, [block]))
        .collect()
}

/// Every ascending choice of at most two processors.
fn pairs(grid: &Grid) -> Vec<Set> {
    let nodes = grid.nodes();
    let pairs = (0..nodes).flat_map(|a| (a..nodes).map(move |b| 1 << a | 1 << b));
    std::iter::once(0).chain(pairs).collect()
}

/// An allocator in which these processors are faulty, and this block is held.
fn with_faults<'m>(
    memory: &'m mut HeapMemory,
    (grid, strategy): (Grid, StrategyKind),
    faulty: Set,
    held: Option<Block>,
) -> Allocator<'m> {
    let memory = memory.allocator_memory();
    let mut allocator = Allocator::new(memory, grid, strategy).expect("it is served");
    if let Some(held) = held {
        let _ = allocator.allocate_at(held).expect("it is free");
    }
    for node in (0..grid.nodes()).filter(|node| faulty >> node & 1 == 1) {
        allocator.mark_faulty(unit(&grid, NodeId(node)));
    }
    allocator
}

/// On every choice of at most two faulty processors, with a block held or none: a slice is granted
/// exactly if a box has few enough of them, and gets as few as there are in any box. Faulty
/// processors of the held block are none of these.
#[test]
fn a_slice_gets_as_few_faulty_processors_as_any_place_has() {
    let cubic = Grid::mesh(&[3, 3, 3]).expect("a mesh");
    let held_there = cubic.block(&[0, 0, 0], &[2, 2, 1]).expect("a block");
    let shapes: [&[u16]; 4] = [&[3, 3, 3], &[3, 3, 2], &[3, 2, 2], &[2, 2, 2]];
    let flat: [&[u16]; 6] = [&[4, 4], &[4, 3], &[3, 3], &[4, 2], &[2, 3], &[1, 1]];
    let mut granted = [0; 3];
    for (grid, held, shapes) in [
        (mesh(4, 4).grid(), block(0, 0, 3, 1), &flat[..]),
        (cubic, held_there, &shapes[..]),
    ] {
        for strategy in FIND_ALL {
            let mut memory = HeapMemory::of(Needs::of(strategy, &grid, 4), 4);
            let pairs = pairs(&grid).into_iter();
            let situations = pairs.flat_map(|faulty| [(faulty, None), (faulty, Some(held))]);
            for (faulty, held) in sample(situations, 5, 0) {
                let mut allocator = with_faults(&mut memory, (grid, strategy), faulty, held);
                let taken = set(&grid, held);
                for (sides, tolerated) in shapes.iter().flat_map(|it| [(it, 1), (it, 2)]) {
                    let fixed = Request::new(Shape::new(sides).expect("a small shape"));
                    let fixed = fixed.with_flags(Flags::FIXED_ORIENTATION);
                    let request = fixed.with_tolerance(tolerating(tolerated));
                    let places = boxes(&grid, sides).into_iter();
                    let places = places.filter(|place| place & taken == 0);
                    let least = places.map(|place| (place & faulty).count_ones()).min();
                    let least = least.filter(|&least| least <= request.tolerated());
                    let before = allocator.occupancy().free();
                    let fits = allocator.attempt(&request);
                    assert_eq!(allocator.fits(&request), fits.is_ok());
                    let found = allocator.allocate(&request);
                    let context = format!("{strategy}: {request:?}, {faulty:b}, {held:?}");
                    assert_eq!(
                        fits,
                        found.as_ref().map(|_| ()).map_err(|&it| it),
                        "{context}"
                    );
                    let Ok(found) = found else {
                        assert_eq!(least, None, "{context}");
                        continue;
                    };
                    let blocks: Vec<Block> = allocator.blocks(&found).expect("held").collect();
                    let (place, processors) = (set(&grid, blocks), fixed.processors);
                    assert_eq!(place.count_ones(), processors, "{context}");
                    let has = (place & faulty).count_ones();
                    assert_eq!((Some(has), place & taken), (least, 0), "{context}");
                    assert_eq!(allocator.occupancy().free(), before + has - processors);
                    allocator.check_invariants();
                    assert_eq!(allocator.processors(&found), Ok(processors));
                    assert_eq!(allocator.release(found), Ok(processors));
                    assert_eq!(allocator.occupancy().free(), before, "{context}");
                    allocator.check_invariants();
                    granted[has as usize] += 1;
                }
            }
        }
    }
    assert!(granted.iter().all(|&granted| granted > 500), "{granted:?}");
}

/// A faulty processor that is repaired while a job holds it stays held.
#[test]
fn a_repair_under_a_tolerant_job_frees_nothing() {
    let (grid, request) = (mesh(4, 4).grid(), Request::submesh(4, 4));
    for strategy in FIND_ALL {
        let mut memory = HeapMemory::of(Needs::of(strategy, &grid, 4), 4);
        let mut allocator = with_faults(&mut memory, (grid, strategy), 1 << 5, None);
        let whole = allocator.allocate(&request.with_tolerance(tolerating(1)));
        let whole = whole.expect("it tolerates the fault");
        assert_eq!(allocator.clear_faulty(unit(&grid, NodeId(5))), 1);
        allocator.check_invariants();
        assert_eq!(allocator.occupancy().free(), 0);
        assert_eq!(allocator.release(whole), Ok(16));
        assert_eq!(allocator.occupancy().free(), 16);
        assert!(allocator.fits(&request));
        allocator.check_invariants();
    }
}

/// Each slice of a gang has its own tolerance.
#[test]
fn each_slice_of_a_gang_tolerates_as_many() {
    let (grid, strategy) = (mesh(4, 4).grid(), StrategyKind::FirstFit);
    let gang = |slices, tolerated| {
        let slices = Slices::new(slices).expect("few slices");
        let request = Request::submesh(4, 2).with_slices(slices);
        request.with_tolerance(tolerating(tolerated))
    };
    let (apart, together) = (1 << 4 | 1 << 11, 1 << 0 | 1 << 1);
    for (faulty, request, expected) in [
        (apart, gang(2, 1), Ok(())),
        (apart, gang(2, 0), Err(Refusal::TooFewFree)),
        // The strategy gives the first slice the two rows without any.
        (1 << 0 | 1 << 15, gang(2, 1), Ok(())),
        // One slice would have both.
        (together, gang(2, 1), Err(Refusal::GangIncomplete)),
        (together, gang(2, 2), Ok(())),
        (0xff0f, gang(2, 2), Err(Refusal::TooFewFree)),
        (0x0f0f, gang(2, 3), Err(Refusal::TooFewFree)),
        (0x0f0f, gang(2, 4), Ok(())),
    ] {
        let mut memory = HeapMemory::of(Needs::of(strategy, &grid, 4), 4);
        let mut allocator = with_faults(&mut memory, (grid, strategy), faulty, None);
        let context = format!("{request:?} with {faulty:b}");
        assert_eq!(allocator.attempt(&request), expected, "{context}");
        assert_eq!(allocator.fits(&request), expected.is_ok(), "{context}");
        let found = allocator.allocate(&request);
        assert_eq!(found.as_ref().map(|_| ()).map_err(|&it| it), expected);
        allocator.check_invariants();
        if let Ok(found) = found {
            let blocks: Vec<Block> = allocator.blocks(&found).expect("held").collect();
            assert_eq!(blocks.len(), 2, "{context}");
            for &block in &blocks {
                let has = (set(&grid, [block]) & faulty).count_ones();
                assert!(has <= request.tolerated(), "{context}: {block:?}");
            }
            assert_eq!(allocator.release(found), Ok(16));
            allocator.check_invariants();
        }
    }
}

/// Whether so many of the places are disjoint.
fn are_disjoint(places: &[Set], slices: u32, busy: Set) -> bool {
    let mut open = (0..places.len()).filter(|&at| places[at] & busy == 0);
    slices == 0 || open.any(|at| are_disjoint(&places[at + 1..], slices - 1, busy | places[at]))
}

/// On every choice of four faulty processors of a small mesh, of which one may be held: a gang fits
/// exactly if there are disjoint boxes, each with few enough of them.
#[test]
fn a_gang_fits_exactly_if_its_slices_have_places() {
    let grid = mesh(4, 3).grid();
    let mut seen = [0; 2];
    for strategy in FIND_ALL {
        let needs = Needs::of(strategy, &grid, 8);
        let mut memory = HeapMemory::of(needs, 8);
        let faults = (0..1 << grid.nodes()).filter(|faulty: &Set| faulty.count_ones() == 4);
        for faulty in sample(faults, 7, 0) {
            let held = (faulty % 2 == 0).then(|| block(0, 0, 1, 1));
            let mut allocator = with_faults(&mut memory, (grid, strategy), faulty, held);
            for (slices, sides, tolerated) in [
                (2, [2, 2], 1),
                (2, [2, 2], 2),
                (3, [2, 1], 1),
                (2, [4, 1], 2),
                (2, [2, 3], 2),
            ] {
                let request = Request::submesh(sides[0], sides[1])
                    .with_slices(Slices::new(slices).expect("few slices"))
                    .with_flags(Flags::FIXED_ORIENTATION)
                    .with_tolerance(tolerating(tolerated));
                let mut places = boxes(&grid, &sides);
                places.retain(|place| (place & faulty).count_ones() <= request.tolerated());
                let expected = are_disjoint(&places, slices, set(&grid, held));
                let context = format!("{strategy}: {request:?}, {faulty:b}, {held:?}");
                assert_eq!(allocator.fits(&request), expected, "{context}");
                let found = allocator.allocate(&request);
                assert_eq!(found.is_ok(), expected, "{context}: {found:?}");
                seen[usize::from(expected)] += 1;
                allocator.check_invariants();
                let Ok(found) = found else {
                    assert_ne!(found, Err(Refusal::NotSearchedToTheEnd), "{context}");
                    continue;
                };
                let blocks = allocator.blocks(&found).expect("it is held");
                for block in blocks {
                    let has = (set(&grid, [block]) & faulty).count_ones();
                    assert!(has <= request.tolerated(), "{context}: {block:?}");
                }
                assert!(allocator.release(found).is_ok());
                allocator.check_invariants();
            }
        }
    }
    assert!(seen.iter().all(|&seen| seen > 100), "{seen:?}");
}

/// If more than 32 processors are faulty, not all are supposed to work, and at most 256 choices
/// are tried. All processors of even columns are faulty, and one more or none.
#[test]
fn a_search_that_gives_up_does_not_say_no() {
    let (grid, strategy) = (mesh(8, 8).grid(), StrategyKind::FirstFit);
    let slice = |w, h, tolerated| Request::submesh(w, h).with_tolerance(tolerating(tolerated));
    let given_up = Err(Refusal::NotSearchedToTheEnd);
    for (more, request, expected) in [
        (0, slice(2, 2, 1), Err(Refusal::Fragmented)),
        (2, slice(2, 2, 1), given_up),
        // All choices of one, then the first of two.
        (0, slice(4, 1, 2), Ok(0b0101)),
        // There is a place, but more than 256 choices before it.
        (0, slice(8, 2, 8), given_up),
        (0, slice(8, 8, 31), Err(Refusal::TooFewFree)),
        (0, slice(8, 8, 32), Ok(0x5555_5555_5555_5555)),
        // The search lists 32 faulty processors and does not know of a 33rd.
        (2, slice(8, 8, 33), given_up),
        (2, slice(8, 8, 32), Err(Refusal::TooFewFree)),
    ] {
        let mut memory = HeapMemory::of(Needs::of(strategy, &grid, 4), 4);
        let faulty = 0x5555_5555_5555_5555 | more;
        let mut allocator = with_faults(&mut memory, (grid, strategy), faulty, None);
        let found = allocator.allocate(&request);
        let has = found.map(|found| {
            let blocks = allocator.blocks(&found).expect("it is held");
            set(&grid, blocks) & faulty
        });
        assert_eq!(has, expected, "{request:?} with {faulty:x}");
        allocator.check_invariants();
    }
}

/// A job that waits for a place says why: as if no processor were faulty, where it tolerates them.
#[test]
fn reasons_count_what_a_job_tolerates() {
    let machine = mesh(4, 4).grid();
    let mut memory = HeapMemory::of(Needs::of(StrategyKind::FirstFit, &machine, 8), 8);
    let configuration = Configuration {
        machine,
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut controller = Controller::new(memory.memory(), configuration).expect("it is served");
    let slice = |w, h, tolerated| Request::submesh(w, h).with_tolerance(tolerating(tolerated));
    for node in [0, 15] {
        set_faulty(&mut controller, node, true);
    }
    // It has a row without faulty processors.
    submit(&mut controller, 1, slice(4, 1, 1));
    let mut reason = |request| {
        submit(&mut controller, 2, request);
        let reason = controller.why(JobId(2), None).expect("it is there").reason;
        release(&mut controller, 2);
        controller.check_invariants();
        reason
    };
    for (request, expected) in [
        (slice(4, 4, 1), Some(Reason::Faults)),
        (slice(4, 4, 2), Some(Reason::TooFewFree)),
        (slice(4, 3, 0), Some(Reason::Faults)),
        (slice(4, 3, 1), Some(Reason::TooFewFree)),
        (slice(4, 2, 0), Some(Reason::Fragmented)),
        (slice(4, 2, 1), None),
        (slice(2, 3, 2), Some(Reason::Fragmented)),
    ] {
        assert_eq!(reason(request), expected, "{request:?}");
    }
}

fn waits_for(controller: &Controller<'_>, job: u32) -> Option<(u64, Option<Block>)> {
    let jobs = controller.jobs();
    let job = jobs.get(jobs.find(JobId(job))?);
    Some((job.reserved_from()?, job.reserved_block()))
}

/// The head needs the whole machine with its faulty processor: it gets a reservation, and starts
/// then. Jobs that would run longer do not pass it, not even on the faulty processor alone.
#[test]
fn a_tolerant_head_has_a_reservation() {
    let machine = mesh(6, 1).grid();
    for (strategy, is_number) in [
        (StrategyKind::FirstFit, false),
        (StrategyKind::LebEstimates { budget: 8 }, false),
        (StrategyKind::Naive, true),
        (StrategyKind::Random { seed: 3 }, true),
    ] {
        for scheduler in [
            SchedulerKind::Easy { reservations: 1 },
            SchedulerKind::Conservative,
        ] {
            let mut memory = HeapMemory::of(Needs::of(strategy, &machine, 8), 8);
            let configuration = Configuration {
                machine,
                strategy,
                scheduler,
            };
            let controller = Controller::new(memory.memory(), configuration);
            let mut controller = controller.expect("it is served");
            let lasting = |w, tolerated, estimate| {
                let request = Request::submesh(w, 1).with_estimate(estimate);
                request.with_tolerance(tolerating(tolerated))
            };
            set_faulty(&mut controller, 5, true);
            assert_eq!(
                submit(&mut controller, 1, lasting(3, 0, 100)).grants.len(),
                1
            );
            // All others may pass a head that does not tolerate it.
            submit(&mut controller, 2, lasting(6, 0, 50));
            assert_eq!(waits_for(&controller, 2), None);
            release(&mut controller, 2);
            submit(&mut controller, 3, lasting(6, 1, 50));
            let reserved = (!is_number).then(|| block(0, 0, 6, 1));
            assert_eq!(
                waits_for(&controller, 3),
                Some((100, reserved)),
                "{strategy}"
            );
            for (job, request) in [
                (4, lasting(1, 0, 101)),
                (5, lasting(2, 1, 101)),
                (6, lasting(3, 1, 101)),
            ] {
                assert_eq!(
                    submit(&mut controller, job, request).grants,
                    [],
                    "{strategy}"
                );
            }
            // It ends in time.
            assert_eq!(
                submit(&mut controller, 7, lasting(3, 1, 99)).grants.len(),
                1
            );
            controller.check_invariants();
            release(&mut controller, 7);
            let granted = release(&mut controller, 1).grants;
            assert_eq!(granted[0].job, JobId(3), "{strategy} {scheduler:?}");
            assert_eq!(controller.statistics().faulty, 1);
            controller.check_invariants();
        }
    }
}

/// A job that tolerates faulty processors is moved only to fewer of them.
#[test]
fn other_processors_are_fewer_faulty_ones() {
    let machine = mesh(6, 1).grid();
    let mut memory = HeapMemory::of(Needs::of(StrategyKind::FirstFit, &machine, 8), 8);
    let configuration = Configuration {
        machine,
        strategy: StrategyKind::FirstFit,
        scheduler: SchedulerKind::Fcfs,
    };
    let mut controller = Controller::new(memory.memory(), configuration).expect("it is served");
    let replaced = |controller: &mut Controller<'_>| {
        let outcome = controller.handle(&Change::Replace { job: JobId(1) }, 0);
        controller.check_invariants();
        let blocks: Vec<Block> = controller.view().blocks(JobId(1)).collect();
        outcome.map(|_| blocks)
    };
    for node in [1, 4] {
        set_faulty(&mut controller, node, true);
    }
    let slice = Request::submesh(3, 1).with_tolerance(tolerating(2));
    assert_eq!(submit(&mut controller, 1, slice).grants.len(), 1);
    let none = Err(Error::Refused(Refusal::Fragmented));
    assert_eq!(replaced(&mut controller), none, "every place has one");
    set_faulty(&mut controller, 0, true);
    assert_eq!(replaced(&mut controller), Ok(vec![block(1, 0, 3, 1)]));
    set_faulty(&mut controller, 4, false);
    assert_eq!(replaced(&mut controller), Ok(vec![block(2, 0, 3, 1)]));
    let none = Err(Error::NothingToReplace);
    assert_eq!(replaced(&mut controller), none);
    assert_eq!(controller.statistics().faulty, 2);
}

/// A checkpoint has what a job tolerates, and the faulty processors that it holds.
#[test]
fn a_restored_job_holds_its_faulty_processors() {
    let machine = mesh(4, 4).grid();
    for strategy in FIND_ALL {
        let needs = Needs::of(strategy, &machine, 8);
        let (mut one, mut other) = (HeapMemory::of(needs, 8), HeapMemory::of(needs, 8));
        let configuration = Configuration {
            machine,
            strategy,
            scheduler: SchedulerKind::Conservative,
        };
        let [mut saved, mut restored] = [&mut one, &mut other]
            .map(|room| Controller::new(room.memory(), configuration).expect("it is served"));
        set_faulty(&mut saved, 6, true);
        let slice = Request::submesh(4, 4).with_tolerance(tolerating(1));
        for job in [1, 2] {
            submit(&mut saved, job, slice.with_estimate(10));
        }
        assert_eq!(restore(&mut restored, &save(&saved)), Ok(()));
        assert_eq!(save(&restored), save(&saved));
        for controller in [&mut saved, &mut restored] {
            controller.check_invariants();
            let report = controller.view().job(JobId(1)).expect("it is there");
            assert_eq!(report.request.tolerance, tolerating(1));
            assert_eq!(release(controller, 1).grants.len(), 1, "{strategy}");
        }
        assert_eq!(save(&restored), save(&saved));
    }
}

/// Proposes one block, whatever is free there.
struct Says<'a>(&'a RefCell<Block>);

impl Strategy for Says<'_> {
    fn demand(&self, _: &Grid, request: &Request) -> Result<u32, Refusal> {
        Ok(request.processors)
    }

    fn propose(&mut self, site: &Site<'_>, _: &Request, draft: &mut Draft<'_, '_>) -> bool {
        let block = *self.0.borrow();
        let is_free = site.occupancy.is_free(block);
        if is_free || !site.is_supposed() {
            draft.push(block);
        }
        is_free
    }
}

/// A strategy of one's own is held to what the request tolerates.
#[test]
fn a_strategy_of_your_own_gets_only_what_is_tolerated() {
    let grid = mesh(4, 4).grid();
    let says = RefCell::new(block(0, 0, 4, 2));
    let mut memory = HeapMemory::for_strategy(grid, StrategyKind::FirstFit, 4);
    let memory = memory.allocator_memory();
    let mut allocator = Allocator::with_strategy(memory, grid, Says(&says)).expect("a mesh");
    for node in [1, 6] {
        allocator.mark_faulty(unit(&grid, NodeId(node)));
    }
    let slice = |tolerated| Request::submesh(4, 2).with_tolerance(tolerating(tolerated));
    let refused = allocator.allocate_checked(&slice(1)).unwrap_err();
    assert_eq!(refused, AllocateError::Refused(Refusal::Fragmented));
    let held = allocator
        .allocate_checked(&slice(2))
        .expect("it tolerates both");
    allocator.check_invariants();
    // The faulty processors are held now.
    let refused = allocator.allocate_checked(&slice(2)).unwrap_err();
    assert_eq!(refused, AllocateError::Refused(Refusal::Fragmented));
    assert_eq!(allocator.release(held), Ok(8));
    assert_eq!(allocator.occupancy().free(), 14);
    allocator.check_invariants();
}

/// Finds a place where it is supposed to, and names another one.
struct Lies<'a>(&'a Cell<bool>);

impl Strategy for Lies<'_> {
    fn demand(&self, _: &Grid, request: &Request) -> Result<u32, Refusal> {
        Ok(request.processors)
    }

    fn propose(&mut self, site: &Site<'_>, _: &Request, draft: &mut Draft<'_, '_>) -> bool {
        if site.is_supposed() {
            self.0.set(true);
            draft.push(block(0, 0, 4, 2));
        }
        site.is_supposed()
    }
}

#[test]
fn more_than_is_tolerated_is_not_legal() {
    let grid = mesh(4, 4).grid();
    let was_asked = Cell::new(false);
    let mut memory = HeapMemory::for_strategy(grid, StrategyKind::FirstFit, 4);
    let memory = memory.allocator_memory();
    let mut allocator = Allocator::with_strategy(memory, grid, Lies(&was_asked)).expect("a mesh");
    for node in [1, 6] {
        allocator.mark_faulty(unit(&grid, NodeId(node)));
    }
    let request = Request::submesh(4, 2).with_tolerance(tolerating(1));
    let busy = IllegalProposal::Busy {
        at: 0,
        block: block(0, 0, 4, 2),
    };
    let refused = allocator.allocate_checked(&request).unwrap_err();
    assert_eq!(refused, AllocateError::Illegal(busy));
    assert!(was_asked.get());
    assert_eq!(allocator.occupancy().free(), 14);
    allocator.check_invariants();
}
