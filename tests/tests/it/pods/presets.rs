//! Presets and rules: what is legal, what is aligned, and that no grant breaks a rule.

use std::collections::BTreeSet;

use meshalloc::{
    Block, Flags, Grid as Machine, Machine as Described, NodeId, Refusal, Request, Shape, Slice,
    StrategyKind,
};
use meshalloc_tests::convert;
use meshalloc_tests::grid::{Place, lists};
use meshalloc_tests::pods;
use meshalloc_tests::random::Random;

use super::{CUBES, FOLD, check_slice, random_request, setting, shape, with};

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
