//! Presets: what is legal, and that no grant breaks a rule.

use std::collections::BTreeSet;

use meshalloc::{
    Block, Description as Described, Flags, Refusal, Request, Shape, Slice, StrategyKind,
};
use meshalloc_tests::convert;
use meshalloc_tests::grid::lists;
use meshalloc_tests::pods::{self, Aligned};
use meshalloc_tests::random::Random;

use super::{CUBES, FOLD, check_slice, random_request, shape, with};

/// Random operations on every preset under every strategy that gives rings: each grant is legal,
/// has the rings that are demanded, and its links meet; each refusal of a shape is right.
#[test]
fn no_grant_is_illegal_on_any_preset() {
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
            StrategyKind::FreeSubmeshList,
            StrategyKind::BestFit,
            StrategyKind::BusyList,
            StrategyKind::LeastExpectedBlocking { budget: 64 },
        ];
        if cube.is_some() {
            kinds.extend([CUBES, FOLD]);
        }
        let n = grid.dimensions();
        let host: Vec<u32> = machine.align().iter().map(|&side| side.into()).collect();
        let aligned = Aligned::new(&host, machine.rotates());
        for &kind in &kinds {
            let is_cubes = matches!(kind, StrategyKind::Cubes { .. });
            let in_cubes = cube.as_deref().filter(|_| is_cubes);
            let (mut granted, mut illegal) = (0, 0);
            with(&machine, kind, |allocator| {
                let mut held = Vec::new();
                for operation in 0..3000 / kinds.len() as u32 {
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
                            for &block in blocks.iter().filter(|_| !is_cubes) {
                                let place = convert::place(convert::machine(&model), block);
                                assert!(aligned.allows(&place), "{name} {kind} {place:?}");
                            }
                            check_slice(&slice, &model, in_cubes, &request, &blocks);
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
            let expected = if pods::is_legal(name, &sides) {
                Ok(())
            } else {
                Err(Refusal::NotLegal)
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

/// A slice of eight processors in a pod with hosts of 2 x 4 has a host of its own, turned or not,
/// and one of four a half of a host.
#[test]
fn no_small_slice_straddles_a_host() {
    let mut random = Random::new(52);
    for (name, kind) in [
        ("tpu-v5e", StrategyKind::FirstFit),
        ("tpu-v5e", StrategyKind::AdaptiveScan),
        ("tpu-v6e", StrategyKind::FreeSubmeshList),
        (
            "tpu-v6e",
            StrategyKind::LeastExpectedBlocking { budget: 64 },
        ),
    ] {
        let machine = Described::preset(name).expect("a preset");
        with(&machine, kind, |allocator| {
            let mut held = Vec::new();
            for _ in 0..2000 {
                let shapes = [[2, 4], [4, 2], [2, 2], [1, 1], [4, 4]];
                let sides = shapes[random.below(shapes.len() as u32) as usize];
                let Ok(job) = allocator.allocate(&shape(&sides)) else {
                    for _ in 0..held.len() / 2 {
                        let job = held.swap_remove(random.below(held.len() as u32) as usize);
                        allocator.release(job).expect("it is held");
                    }
                    continue;
                };
                let block = allocator.blocks(&job).expect("held").next().expect("one");
                let (start, extent) = (machine.grid().start(block), machine.grid().extent(block));
                let hosts = |host: [u16; 2]| {
                    let [across, up] = [0, 1].map(|at| {
                        let last = start[at] + extent[at] - 1;
                        last / host[at] - start[at] / host[at] + 1
                    });
                    across * up
                };
                let expected = sides.iter().product::<u32>().div_ceil(8);
                let fewest = hosts([2, 4]).min(hosts([4, 2]));
                assert_eq!(
                    u32::from(fewest),
                    expected,
                    "{name} {kind} {start:?} {extent:?}"
                );
                held.push(job);
            }
        });
    }
}
