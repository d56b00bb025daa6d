//! Machines of today: described machines, slices in cubes, folding, fixed placements, rings.
//!
//! `MESHALLOC_STATES` and `MESHALLOC_OPERATIONS` set how many random states and operations are
//! compared: `MESHALLOC_STATES=100000 MESHALLOC_OPERATIONS=1000000 cargo test --release
//! -p meshalloc-tests --test across -- pods`.

use std::collections::BTreeSet;

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Allocator, Answer, Block, Change, Configuration, Controller, CurveFit, Flags, Grid as Machine,
    JobId, Machine as Described, NodeId, Placement, Query, Refusal, Request, SchedulerKind, Shape,
    Slice, StrategyKind,
};
use meshalloc_tests::convert;
use meshalloc_tests::grid::{Grid, Place, lists};
use meshalloc_tests::pods::{self, Cubes, Form};
use meshalloc_tests::random::Random;
use meshalloc_tests::strategy::Strategy;

const CUBES: StrategyKind = StrategyKind::Cubes { fold: false };
const FOLD: StrategyKind = StrategyKind::Cubes { fold: true };

/// A number from the environment.
fn setting(name: &str, default: u32) -> u32 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().expect("a number"))
}

/// An allocator on a described machine, in memory of its own.
fn with<T>(
    machine: &Described,
    strategy: StrategyKind,
    use_it: impl FnOnce(&mut Allocator<'_>) -> T,
) -> T {
    let needs = Needs::described(strategy, machine, 4096);
    let mut storage = HeapStorage::new(needs, 0);
    let mut seed = 1;
    storage.overwrite(|| {
        seed = u64::wrapping_mul(seed, 0x5851_f42d_4c95_7f2d) + 1;
        seed
    });
    let memory = storage.allocator_memory().describing(machine);
    let mut allocator = Allocator::new(memory, *machine.grid(), strategy).expect("it is served");
    use_it(&mut allocator)
}

fn shape(extents: &[u32]) -> Request {
    convert::request(extents)
}

fn nodes_of(grid: &Grid, blocks: &[Block]) -> Vec<u32> {
    let machine = convert::machine(grid);
    let places = blocks.iter().map(|&block| convert::place(machine, block));
    places.flat_map(|place| grid.nodes_of(&place)).collect()
}

/// The trace of `topology/torus3d` with which the definition ends.
#[test]
fn the_reference_trace_of_fixed_placements() {
    let of = |dims: &[u16]| Placement::new(dims, &[], &[]).expect("a placement");
    let grid = Machine::torus(&[4, 4, 2]).expect("a torus");
    let machine = Described::new(grid)
        .and_then(|machine| {
            machine.with_placements(&[of(&[2, 2, 1]), of(&[2, 2, 2]), of(&[4, 4, 2])])
        })
        .expect("a machine");
    with(&machine, StrategyKind::Torus3d, |allocator| {
        let naive = convert::grid(grid);
        let start = |allocator: &mut Allocator<'_>, chips: u32| {
            let job = allocator.allocate(&Request::chips(chips))?;
            let blocks: Vec<Block> = allocator.blocks(&job).expect("it is held").collect();
            let mut nodes = nodes_of(&naive, &blocks);
            nodes.sort_unstable();
            Ok::<_, Refusal>((nodes, job))
        };
        let (nodes, first) = start(allocator, 4).expect("a place");
        assert_eq!(nodes, [0, 1, 4, 5]);
        assert_eq!(start(allocator, 4).expect("a place").0, [16, 17, 20, 21]);
        let (nodes, _) = start(allocator, 8).expect("a place");
        assert_eq!(nodes, [8, 9, 12, 13, 24, 25, 28, 29]);
        assert_eq!(start(allocator, 4).expect("a place").0, [2, 3, 6, 7]);
        assert_eq!(allocator.release(first), Ok(4));
        assert_eq!(start(allocator, 4).expect("a place").0, [0, 1, 4, 5]);
        assert_eq!(
            start(allocator, 7).map(|(nodes, _)| nodes),
            Err(Refusal::NeverFits)
        );
        // A shape stands for its number of processors.
        let as_shape = allocator.allocate(&shape(&[4])).expect("a place");
        assert_eq!(allocator.processors(&as_shape), Ok(4));
    });
}

/// Random machines and placements, against the naive form after every operation.
#[test]
fn fixed_placements_are_those_of_the_naive_form() {
    let mut random = Random::new(7);
    for round in 0..setting("MESHALLOC_STATES", 2000).div_ceil(50) {
        let n = 1 + random.below(3) as usize;
        let sides: Vec<u16> = (0..n).map(|_| 2 + random.below(5) as u16).collect();
        let grid = Machine::torus(&sides).expect("a torus");
        let list = |random: &mut Random, most: &dyn Fn(usize) -> u32, least: u32| {
            let number = |at| (least + random.below(most(at))) as u16;
            (0..n).map(number).collect::<Vec<u16>>()
        };
        let placements: Vec<[Vec<u16>; 3]> = (0..1 + random.below(4))
            .map(|_| {
                let side = |at: usize| u32::from(sides[at]);
                [
                    list(&mut random, &side, 1),
                    list(&mut random, &side, 0),
                    list(&mut random, &side, 1),
                ]
            })
            .collect();
        let described: Vec<Placement> = placements
            .iter()
            .map(|[dims, seed, spacing]| Placement::new(dims, seed, spacing).expect("one"))
            .collect();
        let long = |numbers: &Vec<u16>| numbers.iter().map(|&n| n.into()).collect::<Vec<u32>>();
        let naive: Vec<pods::Placement> = placements
            .iter()
            .map(|[dims, seed, spacing]| (long(dims), long(seed), long(spacing)))
            .collect();
        let machine = Described::new(grid)
            .and_then(|machine| machine.with_placements(&described))
            .expect("a machine");
        with(&machine, StrategyKind::Torus3d, |allocator| {
            let model = convert::grid(grid);
            let mut held = Vec::new();
            for _ in 0..50 {
                if random.below(3) == 0 && !held.is_empty() {
                    let job = held.swap_remove(random.below(held.len() as u32) as usize);
                    allocator.release(job).expect("it is held");
                    continue;
                }
                let chips = match random.below(4) {
                    0 => 1 + random.below(grid.nodes()),
                    _ => {
                        let (dims, ..) = &naive[random.below(naive.len() as u32) as usize];
                        dims.iter().product()
                    }
                };
                let is_busy = |node: u32| allocator.occupancy().is_busy(NodeId(node));
                let expected = pods::torus3d(&model, &naive, chips, &is_busy);
                let granted = allocator.allocate(&Request::chips(chips));
                match (expected, granted) {
                    (Some(place), Ok(job)) => {
                        let block = convert::block(grid, &place);
                        let blocks: Vec<Block> = allocator.blocks(&job).expect("held").collect();
                        assert_eq!(blocks, [block], "round {round}");
                        held.push(job);
                    }
                    (None, Err(_)) => {}
                    (expected, granted) => panic!("round {round}: {expected:?} {granted:?}"),
                }
            }
            allocator.check_invariants();
        });
    }
}

/// Whether two processors of a machine of cubes are joined along a dimension: neighbours in a cube,
/// or the last of any cube and the first of any other, or of the same.
fn are_joined(grid: &Grid, cube: &[u32], from: u32, to: u32, along: usize) -> bool {
    let (from, to) = (grid.position(from), grid.position(to));
    (0..cube.len()).all(|at| {
        let (a, b) = (from[at] % cube[at], to[at] % cube[at]);
        let is_same_cube = (0..cube.len()).all(|at| from[at] / cube[at] == to[at] / cube[at]);
        match at == along {
            true if b == a + 1 => is_same_cube,
            true => a == cube[at] - 1 && b == 0,
            false => a == b,
        }
    })
}

/// Checks every link of a slice, its rings, and the order of its ranks.
fn check_slice(
    slice: &Slice,
    grid: &Grid,
    cube: Option<&[u32]>,
    request: &Request,
    blocks: &[Block],
) {
    let sides: Vec<u32> = slice.sides().iter().map(|&side| side.into()).collect();
    let n = sides.len();
    let text = format!("{request:?} {sides:?}");
    let node = |at: &[u32]| {
        let at: Vec<u16> = at.iter().map(|&at| at as u16).collect();
        let node = slice.processor(&at, blocks.iter().copied());
        node.unwrap_or_else(|| panic!("{text}: no processor at {at:?}"))
            .0
    };
    let joined = |from: u32, to: u32, along: usize| match cube {
        Some(cube) => are_joined(grid, cube, from, to, along),
        None => {
            let (from, to) = (grid.position(from), grid.position(to));
            let side = grid.sides()[along];
            let next = from[along] + 1;
            (0..n).all(|at| at == along || from[at] == to[at])
                && (next == to[along] || grid.wraps()[along] && next == side && to[along] == 0)
        }
    };
    let place = Place {
        start: vec![0; n],
        extent: sides.clone(),
    };
    let inner = Grid::mesh(&sides);
    let all = inner.nodes_of(&place);
    let mut nodes: Vec<u32> = all.iter().map(|&at| node(&inner.position(at))).collect();
    for &at in &all {
        let at = inner.position(at);
        for along in 0..n {
            let mut next = at.clone();
            next[along] += 1;
            if next[along] < sides[along] {
                assert!(
                    joined(node(&at), node(&next), along),
                    "{text}: {at:?} {along}"
                );
            } else if slice.has_ring(along) && sides[along] > 2 {
                next[along] = 0;
                assert!(
                    joined(node(&at), node(&next), along),
                    "{text}: {at:?} ring {along}"
                );
            }
        }
    }
    nodes.sort_unstable();
    let mut held = nodes_of(grid, blocks);
    held.sort_unstable();
    assert_eq!(nodes, held, "{text}");
    // Ranks that follow each other are neighbours within the slice, whose links were checked.
    let extents = slice.shape().extents();
    if let Some(folded) = slice.folded() {
        let ranks: Vec<[u16; 4]> = slice.ranks().expect("it is folded").collect();
        assert_eq!(ranks.len(), usize::from(extents[folded]), "{text}");
        let is_step = |one: &[u16; 4], other: &[u16; 4]| {
            let steps = one.iter().zip(other).map(|(a, b)| a.abs_diff(*b));
            steps.sum::<u16>() == 1
        };
        assert!(
            ranks.windows(2).all(|pair| is_step(&pair[0], &pair[1])),
            "{text}"
        );
        let closes = is_step(&ranks[0], &ranks[ranks.len() - 1]);
        assert_eq!(closes, slice.has_ring_along(folded), "{text}");
        assert!(
            ranks
                .iter()
                .all(|at| (0..n).all(|d| u32::from(at[d]) < sides[d])),
            "{text}"
        );
    }
    // What is demanded is there.
    let flags = [Flags::RING_0, Flags::RING_1, Flags::RING_2, Flags::RING_3];
    for (extent, flag) in flags.into_iter().enumerate().take(extents.len()) {
        let is_demanded = request.flags.intersects(flag | Flags::RINGS) && extents[extent] > 1;
        assert!(
            !is_demanded || slice.has_ring_along(extent),
            "{text}: ring {extent}"
        );
    }
}

/// A request for random sides.
fn random_request(random: &mut Random, n: usize, longest: u32) -> Request {
    let extents: Vec<u32> = (0..1 + random.below(n as u32))
        .map(|_| match random.below(3) {
            0 => 1,
            _ => 1 + random.below(longest),
        })
        .collect();
    let mut flags = Flags::empty();
    if random.below(6) == 0 {
        flags |= Flags::FIXED_ORIENTATION;
    }
    if random.below(5) == 0 {
        let rings = [Flags::RINGS, Flags::RING_0, Flags::RING_1];
        flags |= rings[random.below(3) as usize];
    }
    shape(&extents).with_flags(flags)
}

/// The extents of a request in every dimension, and which of them must have a ring.
fn named(request: &Request, n: usize) -> (Vec<u32>, Vec<bool>) {
    let extents = request.shape.extents();
    let flags = [Flags::RING_0, Flags::RING_1, Flags::RING_2, Flags::RING_3];
    let of = |at: usize| extents.get(at).map_or(1, |&extent| u32::from(extent));
    let demanded = |at: usize| {
        let flag = flags[at] | Flags::RINGS;
        at < extents.len() && request.flags.intersects(flag) && of(at) > 2
    };
    ((0..n).map(of).collect(), (0..n).map(demanded).collect())
}

/// Whether the sides of a form in this order have the rings that are demanded: by trying every way
/// to lay the extents that are not folded.
fn has_rings(
    may_rotate: bool,
    cube: &[u32],
    named: &[u32],
    demanded: &[bool],
    form: &Form,
    sides: &[u32],
) -> bool {
    if form
        .folded
        .is_some_and(|at| demanded[at] && !named[at].is_multiple_of(2))
    {
        return false;
    }
    let wanted: Vec<usize> = (0..named.len())
        .filter(|&at| demanded[at] && form.folded != Some(at))
        .collect();
    let places: Vec<u32> = (0..sides.len() as u32).collect();
    let orders = match may_rotate {
        true => meshalloc_tests::grid::orders(&places),
        false => vec![places],
    };
    orders.iter().any(|order| {
        wanted.iter().all(|&at| {
            let along = order[at] as usize;
            sides[along] == named[at] && sides[along].is_multiple_of(cube[along])
        })
    })
}

/// Random states of machines of cubes, `cubes` and `cubes:fold` against the naive form, and each
/// link of each slice.
#[test]
fn slices_in_cubes_are_those_of_the_naive_form_and_their_links_meet() {
    let mut random = Random::new(38);
    let machines: [(&[u16], &[u16], u32); 4] = [
        (&[4, 4, 4], &[2, 2, 2], 100),
        (&[6, 4], &[3, 2], 20),
        (&[4, 2, 2, 4], &[2, 2, 1, 2], 10),
        (&[12], &[3], 5),
    ];
    let states = setting("MESHALLOC_STATES", 2000);
    let (mut granted, mut mixed, mut folded, mut refused) = (0, 0, 0, 0);
    for (sides, cube, share) in machines {
        let grid = Machine::torus(sides).expect("a torus");
        let machine = Described::new(grid)
            .and_then(|machine| machine.with_cube(cube))
            .expect("a machine");
        let model = convert::grid(grid);
        let cube: Vec<u32> = cube.iter().map(|&side| side.into()).collect();
        let naive = Cubes::new(&model, &cube);
        let longest = if sides.len() == 1 { 12 } else { 7 };
        for fold in [false, true] {
            with(&machine, StrategyKind::Cubes { fold }, |allocator| {
                for _ in 0..states * share / 100 {
                    let faults = random.below(grid.nodes());
                    for _ in 0..faults {
                        let node = NodeId(random.below(grid.nodes()));
                        allocator.mark_faulty(grid.unit(node).expect("a node"));
                    }
                    for _ in 0..3 {
                        let request = random_request(&mut random, sides.len(), longest);
                        let (named, demanded) = named(&request, sides.len());
                        let is_busy = |node: u32| allocator.occupancy().is_busy(NodeId(node));
                        let accepts = |form: &Form, sides: &[u32]| {
                            has_rings(request.may_rotate(), &cube, &named, &demanded, form, sides)
                        };
                        let rotates = request.may_rotate();
                        let expected = naive.place(&named, rotates, fold, &is_busy, &accepts);
                        let answer = allocator.allocate(&request);
                        let job = match (&expected, answer) {
                            (Some(_), Ok(job)) => job,
                            (None, Err(_)) => {
                                refused += 1;
                                continue;
                            }
                            (expected, answer) => panic!("{request:?}: {expected:?}, {answer:?}"),
                        };
                        let (sides, places) = expected.expect("a place");
                        let places: Vec<Block> = places
                            .iter()
                            .map(|place| convert::block(grid, place))
                            .collect();
                        let blocks: Vec<Block> = allocator.blocks(&job).expect("held").collect();
                        assert_eq!(blocks, places, "{request:?} {sides:?}");
                        let kind = StrategyKind::Cubes { fold };
                        let list = blocks.iter().copied();
                        let slice = Slice::of(Some(&machine), &grid, kind, &request, &list);
                        let slice = slice.expect("a slice");
                        check_slice(&slice, &model, Some(&cube), &request, &blocks);
                        granted += 1;
                        folded += u32::from(slice.folded().is_some());
                        let is_mixed = |(side, of): (&u32, &u32)| side > of && side % of > 0;
                        mixed += u32::from(sides.iter().zip(&cube).any(is_mixed));
                        allocator.release(job).expect("it is held");
                    }
                    allocator.clear_faulty(grid.block(&vec![0; sides.len()], sides).expect("all"));
                }
                allocator.check_invariants();
            });
        }
    }
    println!("{granted} granted, {mixed} mixed, {folded} folded, {refused} refused");
    assert!(granted > states && mixed > states / 20 && folded > states / 20);
}

/// The drawing in the documentation of `cubes`: there is a place, but a part takes the cube that
/// another one needs.
#[test]
fn mixed_slices_are_greedy() {
    let grid = Machine::torus(&[4, 4]).expect("a torus");
    let machine = Described::new(grid)
        .and_then(|machine| machine.with_cube(&[2, 2]))
        .expect("a machine");
    with(&machine, CUBES, |allocator| {
        let busy = [(1, 1), (3, 0), (1, 2), (0, 3), (1, 3)];
        for (x, y) in busy {
            allocator.mark_faulty(grid.block(&[x, y], &[1, 1]).expect("a node"));
        }
        assert_eq!(
            allocator.allocate(&shape(&[3, 3])).unwrap_err(),
            Refusal::Fragmented
        );
        // The parts in other cubes: all are free, and the links meet.
        let parts = [
            ((2, 2), (2, 2)),
            ((2, 0), (1, 2)),
            ((0, 0), (2, 1)),
            ((0, 2), (1, 1)),
        ];
        let parts = parts.map(|((x, y), (w, h))| grid.block(&[x, y], &[w, h]).expect("a part"));
        assert!(
            parts
                .iter()
                .all(|&part| allocator.occupancy().is_free(part))
        );
        let request = shape(&[3, 3]);
        let slice = Slice::of(Some(&machine), &grid, CUBES, &request, &parts.into_iter());
        let slice = slice.expect("a slice");
        check_slice(
            &slice,
            &convert::grid(grid),
            Some(&[2, 2]),
            &request,
            &parts,
        );
        // Without the cube that is in the way there is no choice.
        allocator.mark_faulty(grid.block(&[0, 1], &[1, 1]).expect("a node"));
        let job = allocator.allocate(&request).expect("a place");
        assert!(allocator.blocks(&job).expect("held").eq(parts));
    });
}

/// Random operations on every preset under every strategy that gives rings: each grant is legal,
/// has the rings that are demanded, and its links meet; each refusal of a shape is right.
#[test]
fn no_grant_is_illegal_on_any_preset() {
    let operations = setting("MESHALLOC_OPERATIONS", 1500);
    let mut random = Random::new(11);
    for name in Described::PRESETS {
        let machine = Described::preset(name).expect("a preset");
        let grid = *machine.grid();
        let model = convert::grid(grid);
        let cube: Option<Vec<u32>> = machine
            .cube()
            .map(|cube| cube.iter().map(|&side| side.into()).collect());
        let mut kinds = vec![
            StrategyKind::AdaptiveScan,
            StrategyKind::Folding,
            StrategyKind::FirstFit,
        ];
        if cube.is_some() {
            kinds.extend([CUBES, FOLD]);
        }
        let n = grid.dimensions();
        for &kind in &kinds {
            let is_cubes = matches!(kind, StrategyKind::Cubes { .. });
            let in_cubes = cube.as_deref().filter(|_| is_cubes);
            let (mut granted, mut illegal) = (0, 0);
            with(&machine, kind, |allocator| {
                let mut held = Vec::new();
                for operation in 0..operations / kinds.len() as u32 {
                    if random.below(5) < 2 && !held.is_empty() {
                        let job = held.swap_remove(random.below(held.len() as u32) as usize);
                        allocator.release(job).expect("it is held");
                        continue;
                    }
                    let mut request = match random.below(4) {
                        0 => random_request(&mut random, n, 9),
                        1 => Request::chips(1 + random.below(300)),
                        2 => Request::chips(64 * (1 + random.below(8))),
                        _ => {
                            let fours = |_| 4 * (1 + random.below(4));
                            shape(&(0..n).map(fours).collect::<Vec<u32>>())
                        }
                    };
                    if random.below(4) == 0 {
                        request = request.with_rings();
                    }
                    let padded = |extents: &[u16]| {
                        let of = |at: usize| extents.get(at).map_or(1, |&side| u32::from(side));
                        (0..n).map(of).collect::<Vec<u32>>()
                    };
                    let is_chips = request.flags.contains(Flags::CHIPS);
                    match allocator.allocate(&request) {
                        Ok(job) => {
                            let blocks: Vec<Block> =
                                allocator.blocks(&job).expect("held").collect();
                            let list = blocks.iter().copied();
                            let slice = Slice::of(Some(&machine), &grid, kind, &request, &list);
                            let slice = slice.expect("a slice");
                            let given = padded(&slice.shape().extents());
                            assert!(pods::is_legal(name, &given), "{name} {kind} {request:?}");
                            let chips = if is_chips {
                                request.processors
                            } else {
                                request.shape.area()
                            };
                            assert_eq!(slice.shape().area(), chips);
                            assert_eq!(
                                slice.sides().iter().map(|&s| u32::from(s)).product::<u32>(),
                                chips
                            );
                            if operation % 16 == 0 || operations < 10_000 {
                                check_slice(&slice, &model, in_cubes, &request, &blocks);
                            }
                            granted += 1;
                            held.push(job);
                        }
                        Err(Refusal::NotLegal) => {
                            illegal += 1;
                            if !is_chips {
                                let given = padded(&request.shape.extents());
                                assert!(!pods::is_legal(name, &given), "{name} {kind} {request:?}");
                            }
                            for nearest in machine.nearest(&request).into_iter().flatten() {
                                let given = padded(&nearest.extents());
                                assert!(pods::is_legal(name, &given), "{name} {nearest}");
                            }
                        }
                        Err(_) => {}
                    }
                    if operation % 4096 == 0 {
                        allocator.check_invariants();
                    }
                }
                allocator.check_invariants();
            });
            println!("{name} {kind}: {granted} granted, {illegal} illegal requests");
            assert!(granted > 10, "{name} {kind}");
            assert!(illegal > 5, "{name} {kind}");
        }
    }
}

/// Legality of every shape of small sides, and the nearest legal numbers, on every preset.
#[test]
fn legal_shapes_are_those_that_are_published() {
    for name in Described::PRESETS {
        let machine = Described::preset(name).expect("a preset");
        let n = machine.grid().dimensions();
        let longest = if n == 2 { 33 } else { 17 };
        let mut legal = BTreeSet::new();
        for sides in lists(&vec![longest; n]) {
            let request = shape(&sides);
            let kind = if machine.cube().is_some() {
                CUBES
            } else {
                StrategyKind::FirstFit
            };
            let expected = match pods::is_legal(name, &sides) {
                true => Ok(()),
                false => Err(Refusal::NotLegal),
            };
            assert_eq!(machine.check(kind, &request), expected, "{name} {sides:?}");
            if expected.is_ok() {
                legal.insert(sides.iter().product::<u32>());
            }
        }
        let most = if n == 2 { 1024 } else { 256 };
        for chips in 1..=machine.grid().nodes().min(most) {
            let nearest = machine.nearest(&Request::chips(chips))[0];
            let expected = legal.range(chips..).next().copied();
            assert_eq!(nearest.map(Shape::area), expected, "{name} {chips}");
        }
    }
}

/// Aligned slices begin at multiples, and the first of them is taken.
#[test]
fn aligned_slices_begin_at_multiples() {
    let mut random = Random::new(5);
    for (sides, align) in [(&[8_u16, 8][..], &[4_u16, 2][..]), (&[4, 6, 5], &[2, 3, 4])] {
        for wraps in [false, true] {
            let grid = if wraps {
                Machine::torus(sides)
            } else {
                Machine::mesh(sides)
            };
            let grid = grid.expect("a grid");
            let machine = Described::new(grid)
                .and_then(|machine| machine.with_align(align))
                .expect("a machine");
            let model = convert::grid(grid);
            for kind in [
                StrategyKind::FirstFit,
                StrategyKind::AdaptiveScan,
                StrategyKind::Folding,
            ] {
                with(&machine, kind, |allocator| {
                    for _ in 0..setting("MESHALLOC_STATES", 2000) / 20 {
                        for _ in 0..random.below(grid.nodes() / 2) {
                            let node = NodeId(random.below(grid.nodes()));
                            allocator.mark_faulty(grid.unit(node).expect("a node"));
                        }
                        let extents: Vec<u32> = sides.iter().map(|_| 1 + random.below(4)).collect();
                        let orders = match kind {
                            StrategyKind::FirstFit => vec![extents.clone()],
                            StrategyKind::Folding => pods::folded(&extents, true),
                            _ => {
                                let all = meshalloc_tests::grid::orders(&extents).into_iter();
                                let others = all.filter(|order| *order != extents);
                                [extents.clone()].into_iter().chain(others).collect()
                            }
                        };
                        let expected = orders.into_iter().find_map(|extent| {
                            (0..model.nodes()).find_map(|node| {
                                let start = model.position(node);
                                let is_aligned = (0..start.len()).all(|at| {
                                    start[at].is_multiple_of(u32::from(align[at]).min(extent[at]))
                                });
                                let place = Place {
                                    start,
                                    extent: extent.clone(),
                                };
                                let is_free = is_aligned
                                    && model.has(&place)
                                    && model
                                        .nodes_of(&place)
                                        .into_iter()
                                        .all(|node| !allocator.occupancy().is_busy(NodeId(node)));
                                is_free.then_some(place)
                            })
                        });
                        let answer = allocator.allocate(&shape(&extents));
                        match (expected, answer) {
                            (Some(place), Ok(job)) => {
                                let blocks: Vec<Block> =
                                    allocator.blocks(&job).expect("held").collect();
                                assert_eq!(blocks, [convert::block(grid, &place)], "{kind}");
                                allocator.release(job).expect("it is held");
                            }
                            (None, Err(_)) => {}
                            (expected, answer) => {
                                panic!("{kind} {extents:?}: {expected:?} {answer:?}")
                            }
                        }
                        let all = grid.block(&vec![0; sides.len()], sides).expect("all");
                        allocator.clear_faulty(all);
                    }
                });
            }
        }
    }
}

/// Folding and curves on grids of one to five dimensions that wrap or not, at random occupancies.
#[test]
fn folding_and_curves_on_any_grid_are_those_of_the_naive_form() {
    let mut random = Random::new(3);
    let fits = [
        CurveFit::FirstFit,
        CurveFit::BestFit,
        CurveFit::SumOfSquares,
        CurveFit::SmallestRange,
    ];
    for (sides, wraps) in [
        (&[4_u16, 4][..], 0_u16),
        (&[5, 3], 0),
        (&[6, 5], 0b11),
        (&[4, 4, 4], 0b111),
        (&[3, 4, 5], 0b101),
        (&[2, 3, 2, 4], 0b1111),
        (&[7], 1),
        (&[2, 2, 2, 2, 2], 0b1_1111),
    ] {
        let grid = Machine::new(sides, wraps).expect("a grid");
        let model = convert::grid(grid);
        let kinds = fits.map(|fit| StrategyKind::Curve { fit }).into_iter();
        for kind in kinds.chain([StrategyKind::Folding]) {
            if !convert::is_served(kind, &model) {
                continue;
            }
            let needs = Needs::of(kind, &grid, grid.nodes() as usize);
            let mut storage = HeapStorage::new(needs, 0);
            let memory = storage.allocator_memory();
            let mut allocator = Allocator::new(memory, grid, kind).expect("it is served");
            let empty = Strategy::new(kind, &model);
            let mut granted = 0;
            for _ in 0..setting("MESHALLOC_STATES", 2000) / 10 {
                let mut busy = vec![false; grid.nodes() as usize];
                for _ in 0..random.below(grid.nodes()) {
                    let node = random.below(grid.nodes());
                    busy[node as usize] = true;
                    allocator.mark_faulty(grid.unit(NodeId(node)).expect("a node"));
                }
                let naive = empty.where_busy(&busy);
                for _ in 0..4 {
                    let request = random_request(&mut random, sides.len(), 8);
                    let flags = request.flags & Flags::FIXED_ORIENTATION;
                    let request = request.with_flags(flags);
                    match (naive.place(&request), allocator.allocate(&request)) {
                        (Ok(held), Ok(job)) => {
                            let blocks = allocator.blocks(&job).expect("it is held");
                            let blocks: Vec<Block> = blocks.collect();
                            let text = format!("{kind} {grid} {request:?}: {held:?}");
                            assert!(held.is(&model, &blocks), "{text}");
                            allocator.release(job).expect("it is held");
                            granted += 1;
                        }
                        (Err(expected), Err(refusal)) => assert_eq!(expected, refusal, "{kind}"),
                        (expected, answer) => panic!("{kind} {grid}: {expected:?} {answer:?}"),
                    }
                }
                let all = grid.block(&vec![0; sides.len()], sides).expect("all");
                allocator.clear_faulty(all);
            }
            assert!(granted > 0, "{kind} {grid}");
        }
    }
}

/// The largest legal slice and the largest free box, against a look at every box and every shape.
#[test]
fn the_largest_slice_is_that_of_a_look_at_every_shape() {
    let mut random = Random::new(4);
    let listed = [[1_u16, 1], [1, 2], [2, 3]].map(|sides| Shape::new(&sides).expect("a shape"));
    let plane = Described::new(Machine::mesh(&[6, 5]).expect("a mesh"));
    let torus = Described::new(Machine::torus(&[4, 3, 3]).expect("a torus"));
    let cubes = Described::new(Machine::torus(&[4, 4, 2]).expect("a torus"));
    for (machine, strategy) in [
        (plane, StrategyKind::AdaptiveScan),
        (
            plane.and_then(|it| it.with_shapes(&listed)),
            StrategyKind::AdaptiveScan,
        ),
        (torus, StrategyKind::AdaptiveScan),
        (
            torus.and_then(|it| it.with_multiple(&[2, 1, 1])),
            StrategyKind::AdaptiveScan,
        ),
        (cubes.and_then(|it| it.with_cube(&[2, 2, 1])), CUBES),
        (torus, StrategyKind::Naive),
    ] {
        let machine = machine.expect("a machine");
        let grid = *machine.grid();
        let model = convert::grid(grid);
        let needs = Needs::described(strategy, &machine, 4);
        let mut storage = HeapStorage::new(needs, 4);
        let configuration = Configuration {
            machine: grid,
            strategy,
            scheduler: SchedulerKind::Fcfs,
        };
        let memory = storage.memory().describing(&machine);
        let mut controller = Controller::new(memory, configuration).expect("it is served");
        // All boxes, the largest first, then by their first node.
        let sides = model.sides().to_vec();
        let all = lists(&sides).into_iter().flat_map(|extent| {
            let starts = (0..model.nodes()).map(|node| model.position(node));
            let place = move |start| Place {
                start,
                extent: extent.clone(),
            };
            starts.map(place).collect::<Vec<_>>()
        });
        let mut boxes: Vec<Place> = all.filter(|place| model.has(place)).collect();
        boxes.sort_by_key(|place| std::cmp::Reverse(place.size()));
        for _ in 0..setting("MESHALLOC_STATES", 2000) / 40 {
            controller.handle(&Change::Reset, 0).expect("it is reset");
            for _ in 0..random.below(grid.nodes()) {
                let block = grid
                    .unit(NodeId(random.below(grid.nodes())))
                    .expect("a node");
                let marked = controller.handle(&Change::MarkFaulty { block }, 0);
                marked.expect("a block of the machine");
            }
            let nodes = (0..model.nodes()).map(NodeId);
            let busy: Vec<bool> = nodes
                .map(|node| controller.occupancy().is_busy(node))
                .collect();
            let is_free = |place: &Place| {
                let mut nodes = model.nodes_of(place).into_iter();
                nodes.all(|node| !busy[node as usize])
            };
            let largest = boxes.iter().find(|place| is_free(place)).map(Place::size);
            let answer = controller.answer(&Query::Largest, None).expect("an answer");
            let Answer::Largest(report) = answer else {
                panic!("{answer:?}");
            };
            assert_eq!(report.block.map(|block| grid.area(block)), largest);
            if let Some(block) = report.block {
                assert!(is_free(&convert::place(grid, block)));
            }
            // The most processors with which a job that never waits is granted.
            let free = controller.occupancy().free();
            let n = grid.dimensions();
            let most = (1..=free).rev().find(|&chips| {
                let shapes = match strategy {
                    StrategyKind::Naive => vec![Request::chips(chips)],
                    _ => pods::boxes(chips, n)
                        .iter()
                        .map(|sides| shape(sides))
                        .collect(),
                };
                shapes.into_iter().any(|request| {
                    let request = request.with_flags(request.flags | Flags::NO_WAIT);
                    let job = JobId(1);
                    let granted = controller.handle(&Change::submit(job, request), 0).is_ok();
                    if granted {
                        let released = controller.handle(&Change::Release { job }, 0);
                        released.expect("it runs");
                    }
                    granted
                })
            });
            assert_eq!(report.processors, most.unwrap_or(0), "{strategy} {grid}");
            let volume = report.shape.map_or(report.processors, Shape::area);
            assert_eq!(volume, report.processors);
        }
    }
}
