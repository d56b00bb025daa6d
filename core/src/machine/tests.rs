extern crate std;

use std::collections::BTreeSet;
use std::string::{String, ToString};
use std::vec::Vec;

use super::forms::Trial;
use super::*;
use crate::Refusal;
use crate::request::{Flags, Request};
use crate::storage::{HeapStorage, Needs};
use crate::{Allocator, StrategyKind};

fn shapes_of(description: Option<&Description>, grid: &Grid, chips: u32) -> Vec<String> {
    let request = Request::chips(chips);
    let layouts = Layouts::new(SliceRule::Folded, description, grid);
    let mut forms = layouts.forms(&request);
    std::iter::from_fn(|| forms.next())
        .map(|shape| shape.to_string())
        .collect()
}

#[test]
fn shapes_of_a_number_of_chips_are_the_most_compact_first() {
    let grid = Grid::torus(&[8, 8, 8]).unwrap();
    assert_eq!(
        shapes_of(None, &grid, 24),
        ["2x3x4", "2x2x6", "1x4x6", "1x3x8"]
    );
    let v4 = Description::preset("tpu-v4").unwrap();
    let of = |chips| shapes_of(Some(&v4), v4.grid(), chips);
    assert_eq!(of(4), ["1x2x2"]);
    assert_eq!(of(6), [""; 0]);
    assert_eq!(of(512), ["8x8x8", "4x8x16", "4x4x32"]);
    let ultra = Description::preset("trn2-ultra").unwrap();
    assert_eq!(shapes_of(Some(&ultra), ultra.grid(), 32), ["4x4x2"]);
}

/// All boxes of every volume, against every tuple of sides.
#[test]
fn forms_are_those_of_all_tuples_in_order() {
    for sides in [&[6][..], &[6, 5], &[6, 5, 7], &[3, 4, 2, 3]] {
        let grid = Grid::mesh(sides).unwrap();
        let description = Description::new(grid).unwrap();
        for rotate in [true, false] {
            let description = description.with_rotation(rotate);
            for chips in 1..=grid.nodes() {
                let mut tuples = std::vec![Vec::new()];
                for _ in sides {
                    let longer = |tuple: &Vec<u16>| {
                        let tuple = tuple.clone();
                        (1..=7_u16).map(move |side| [&tuple[..], &[side]].concat())
                    };
                    tuples = tuples.iter().flat_map(longer).collect();
                }
                let fits = |tuple: &[u16]| tuple.iter().zip(sides).all(|(a, b)| a <= b);
                let mut expected = BTreeSet::new();
                for tuple in tuples {
                    let volume: u32 = tuple.iter().map(|&side| u32::from(side)).product();
                    if volume != chips || !fits(&tuple) {
                        continue;
                    }
                    let mut named = tuple;
                    if rotate {
                        named.sort_unstable();
                    }
                    let (longest, sum) = (*named.iter().max().unwrap(), named.iter().sum::<u16>());
                    expected.insert((longest, sum, named));
                }
                let text =
                    |(.., sides): (u16, u16, Vec<u16>)| Shape::new(&sides).unwrap().to_string();
                let expected: Vec<String> = expected.into_iter().map(text).collect();
                assert_eq!(
                    shapes_of(Some(&description), &grid, chips),
                    expected,
                    "{grid} {chips}"
                );
            }
        }
    }
}

/// Every pair of ranks that follow each other, and the last with the first, in all boxes.
#[test]
fn ranks_go_from_neighbour_to_neighbour_and_around_if_the_box_is_even() {
    let is_step = |one: &Extents, other: &Extents| {
        let steps = one.iter().zip(other).map(|(a, b)| a.abs_diff(*b));
        steps.sum::<u16>() == 1
    };
    for (x, y, z) in
        (1..=8).flat_map(|x| (1..=8).flat_map(move |y| (1..=8).map(move |z| (x, y, z))))
    {
        let sides = [x, y, z, 1];
        let order: Vec<Extents> = Ranks::new(sides).collect();
        assert!(
            order.windows(2).all(|pair| is_step(&pair[0], &pair[1])),
            "{sides:?}"
        );
        let different: BTreeSet<&Extents> = order.iter().collect();
        assert_eq!(different.len() as u32, volume(&sides), "{sides:?}");
        let is_inside = |at: &Extents| at.iter().zip(&sides).all(|(at, side)| at < side);
        assert!(order.iter().all(is_inside), "{sides:?}");
        let long = sides.iter().filter(|&&side| side > 1).count();
        let closes = is_step(&order[0], &order[order.len() - 1]);
        // A box with two long sides has a ring if and only if its volume is even.
        if long > 1 {
            assert_eq!(closes, volume(&sides).is_multiple_of(2), "{sides:?}");
        }
    }
}

fn trials(
    strategy: StrategyKind,
    description: Option<&Description>,
    grid: &Grid,
    request: &Request,
) -> Vec<String> {
    let trials = Layouts::new(strategy, description, grid).trials(request, request.shape);
    let text = |trial: Trial| {
        let sides = Shape::new(&trial.sides[..grid.dimensions()]).unwrap();
        let folded = trial
            .folded
            .map_or(String::new(), |at| std::format!("/{at}"));
        std::format!("{sides}{folded}")
    };
    trials.map(text).collect()
}

#[test]
fn a_side_folds_along_the_dimensions_that_are_not_used() {
    let grid = Grid::torus(&[4, 4, 4]).unwrap();
    let request = |extents: &[u16]| Request::new(Shape::new(extents).unwrap());
    let of = |request: &Request| trials(StrategyKind::Folding, None, &grid, request);
    assert_eq!(
        of(&request(&[6])),
        [
            "1x2x3/0", "1x3x2/0", "2x1x3/0", "2x3x1/0", "3x1x2/0", "3x2x1/0", "6x1x1", "1x1x6",
            "1x6x1"
        ]
    );
    // An odd side has a ring only where it spans the torus.
    assert_eq!(of(&request(&[9]).with_rings()), [""; 0]);
    assert_eq!(of(&request(&[9])).len(), 6);
    // One side folds, the other one stays.
    let two = of(&request(&[4, 5]));
    assert_eq!(two[..3], ["2x2x5/0", "2x5x2/0", "5x2x2/0"]);
    assert_eq!(two.len(), 3 + 6);
    assert_eq!(two[3], "4x5x1");
    // Without turning the side that stays keeps its dimension.
    let fixed = request(&[4, 5]).with_flags(Flags::FIXED_ORIENTATION);
    assert_eq!(of(&fixed), ["2x5x2/0", "4x5x1"]);
    // A box has no unused dimension.
    assert_eq!(of(&request(&[2, 2, 4])), ["2x2x4", "2x4x2", "4x2x2"]);
    let v4 = Description::preset("tpu-v4").unwrap();
    let in_cubes = |request: &Request| {
        let kind = StrategyKind::Cubes { fold: true };
        trials(kind, Some(&v4), v4.grid(), request)
    };
    // 16 fits into one cube in two ways.
    assert_eq!(in_cubes(&request(&[16]))[..2], ["2x2x4/0", "2x4x2/0"]);
    assert_eq!(in_cubes(&request(&[16]))[3..4], ["1x4x4/0"]);
}

#[test]
fn rings_close_where_a_slice_spans_or_has_whole_cubes() {
    let v4 = Description::preset("tpu-v4").unwrap();
    let request = |extents: &[u16]| Request::new(Shape::new(extents).unwrap()).with_rings();
    let check = |kind, extents: &[u16]| v4.check(kind, &request(extents));
    let cubes = StrategyKind::Cubes { fold: false };
    assert_eq!(check(cubes, &[4, 8, 12]), Ok(()));
    assert_eq!(
        check(StrategyKind::FirstFit, &[4, 8, 12]),
        Err(Refusal::NoRing)
    );
    assert_eq!(check(StrategyKind::FirstFit, &[16, 16, 16]), Ok(()));
    assert_eq!(check(StrategyKind::FirstFit, &[2, 2, 2]), Ok(()));
    assert_eq!(
        check(StrategyKind::Naive, &[16, 16, 16]),
        Err(Refusal::NoRing)
    );
    assert_eq!(check(cubes, &[3, 4, 4]), Err(Refusal::NotLegal));
    let x = Request::new(Shape::new(&[4, 16, 16]).unwrap()).with_flags(Flags::RING_1);
    assert_eq!(v4.check(StrategyKind::FirstFit, &x), Ok(()));
    let x = x.with_flags(Flags::RING_0);
    assert_eq!(
        v4.check(StrategyKind::AdaptiveScan, &x),
        Err(Refusal::NoRing)
    );
}

#[test]
fn a_description_that_makes_no_sense_is_an_error() {
    let grid = Grid::torus(&[16, 8]).unwrap();
    let description = Description::new(grid).unwrap();
    let five = Grid::torus(&[2, 2, 2, 2, 2]).unwrap();
    assert_eq!(Description::new(five), Err(DescriptionError::Dimensions));
    assert_eq!(
        description.with_cube(&[3, 4]),
        Err(DescriptionError::CubeSide)
    );
    assert_eq!(
        description.with_cube(&[4]),
        Err(DescriptionError::Dimensions)
    );
    assert_eq!(
        description.with_multiple(&[4, 0]),
        Err(DescriptionError::NoSide)
    );
    let shape = Shape::sides(2, 2);
    assert_eq!(
        description.with_shapes(&[shape; 17]),
        Err(DescriptionError::TooManyShapes)
    );
    assert!(description.with_shapes(&[shape; 16]).is_ok());
    let long = Placement::new(&[17, 1], &[], &[]).unwrap();
    assert_eq!(
        description.with_placements(&[long]),
        Err(DescriptionError::Placement)
    );
    let mesh = Description::new(Grid::mesh(&[16, 8]).unwrap()).unwrap();
    let around = Placement::new(&[4, 2], &[], &[3, 2]).unwrap();
    assert_eq!(
        mesh.with_placements(&[around]),
        Err(DescriptionError::Placement)
    );
    assert!(description.with_placements(&[around]).is_ok());
}

#[test]
fn digests_of_presets_differ() {
    let machines = Description::PRESETS.map(|name| Description::preset(name).unwrap());
    let digests: BTreeSet<u32> = machines.iter().map(Description::digest).collect();
    // The fifth and the sixth generation's small pods are alike.
    assert_eq!(digests.len(), Description::PRESETS.len() - 1);
}

/// A list that was longer before leaves nothing.
#[test]
fn descriptions_that_say_the_same_are_equal() {
    let description = Description::new(Grid::torus(&[8, 8]).unwrap()).unwrap();
    let [small, large] = [[2, 2], [4, 4]].map(|sides| Shape::new(&sides).unwrap());
    let both = description.with_shapes(&[small, large]).unwrap();
    let one = description.with_shapes(&[small]).unwrap();
    assert_ne!(both, one);
    assert_eq!(both.with_shapes(&[small]).unwrap(), one);
    let [small, large] = [[2, 2], [4, 4]].map(|dims| Placement::new(&dims, &[], &[]).unwrap());
    let both = description.with_placements(&[small, large]).unwrap();
    let one = description.with_placements(&[small]).unwrap();
    assert_ne!(both, one);
    assert_eq!(both.with_placements(&[small]).unwrap(), one);
    assert_eq!(description.with_chips_max(64), description);
    assert_eq!(description.with_chips_max(1000), description);
    assert_ne!(description.with_chips_max(63), description);
}

/// The same numbers in the same order, divided among the lists in two ways.
#[test]
fn a_digest_knows_where_a_list_ends() {
    let description = Description::new(Grid::torus(&[4, 4, 4, 4]).unwrap()).unwrap();
    let line = Shape::new(&[2]).unwrap();
    let shapes = description.with_shapes(&[line; 6]).unwrap();
    let place = Placement::new(&[2, 1, 2, 1], &[2, 1, 2, 1], &[2, 1, 2, 2]).unwrap();
    let places = description.with_placements(&[place]).unwrap();
    let digests = [shapes.with_chips_max(2), places.with_chips_max(1)].map(|it| it.digest());
    assert_ne!(digests[0], digests[1]);
}

/// An allocator for a described machine, with memory for it.
fn with_allocator(
    description: &Description,
    strategy: StrategyKind,
    test: impl FnOnce(&mut Allocator),
) {
    let mut storage = HeapStorage::new(Needs::described(strategy, description, 8), 0);
    let memory = storage.allocator_memory().describing(description);
    test(&mut Allocator::new(memory, *description.grid(), strategy).unwrap());
}

/// In four dimensions the search for an aligned place ends where all have been looked at.
#[test]
fn no_aligned_place_in_four_dimensions() {
    let grid = Grid::mesh(&[4, 2, 2, 2]).unwrap();
    let description = Description::new(grid).unwrap();
    let description = description.with_align(&[2, 1, 1, 1]).unwrap();
    with_allocator(&description, StrategyKind::FirstFit, |allocator| {
        for at in [0, 2] {
            let block = grid.block(&[at, 0, 0, 0], &[1, 1, 1, 1]).unwrap();
            allocator.mark_faulty(block);
        }
        let request = Request::new(Shape::new(&[2, 2, 2, 2]).unwrap());
        assert!(allocator.allocate(&request).is_err());
    });
}

/// A start and a step are together longer than any side.
#[test]
fn no_aligned_place_on_a_long_line() {
    let grid = Grid::torus(&[65_000]).unwrap();
    let description = Description::new(grid).unwrap();
    let description = description.with_align(&[40_000]).unwrap();
    with_allocator(&description, StrategyKind::FirstFit, |allocator| {
        for at in [10, 40_010] {
            allocator.mark_faulty(grid.block(&[at], &[1]).unwrap());
        }
        let request = Request::new(Shape::new(&[40_000]).unwrap());
        assert!(allocator.allocate(&request).is_err());
    });
}

/// The last offset of a part and its step are together longer than any side.
#[test]
fn offsets_in_long_cubes_are_within_them() {
    let grid = Grid::torus(&[64_000, 3]).unwrap();
    let description = Description::new(grid).unwrap();
    let description = description.with_cube(&[64_000, 1]).unwrap();
    let cubes = StrategyKind::Cubes { fold: false };
    with_allocator(&description, cubes, |allocator| {
        let request = Request::new(Shape::new(&[64_100]).unwrap());
        let job = allocator.allocate(&request).unwrap();
        let starts = allocator.blocks(&job).unwrap().map(|it| grid.start(it)[0]);
        assert!(starts.eq([0, 0]));
    });
}

/// Nothing has more extents than the machine has dimensions, whoever asks.
#[test]
fn a_request_of_more_extents_has_no_slice() {
    let grid = Grid::mesh(&[4, 2, 2, 2]).unwrap();
    let block = grid.block(&[0, 0, 0, 0], &[2, 2, 2, 2]).unwrap();
    let request = Request::new(Shape::new(&[2, 1, 1, 1, 2]).unwrap());
    let blocks = core::iter::once(block);
    let slice = Slice::of(None, &grid, StrategyKind::FirstFit, &request, &blocks);
    assert!(slice.is_none());
}

/// A number of processors is given as one of several shapes: that of the block.
#[test]
fn the_slice_of_a_number_of_processors_has_the_shape_of_its_block() {
    use StrategyKind::{AdaptiveScan, FirstFit};
    let grid = Grid::mesh(&[8, 3]).unwrap();
    for (kind, rows, expected) in [
        (AdaptiveScan, 1, "1x8"),
        (FirstFit, 1, "8x1"),
        (AdaptiveScan, 2, "2x4"),
        (FirstFit, 2, "4x2"),
    ] {
        let mut storage = HeapStorage::new(Needs::of(kind, &grid, 2), 0);
        let mut allocator = Allocator::new(storage.allocator_memory(), grid, kind).unwrap();
        let faulty = grid.block(&[0, rows], &[8, 3 - rows]).unwrap();
        allocator.mark_faulty(faulty);
        let request = Request::chips(8);
        let job = allocator.allocate(&request).unwrap();
        let blocks = allocator.blocks(&job).unwrap();
        let slice = Slice::of(None, &grid, kind, &request, &blocks).unwrap();
        assert_eq!(slice.shape().to_string(), expected, "{kind}");
    }
}

/// Boxes of many numbers, bounded and not, against all products.
#[test]
fn boxes_are_bounded_by_the_longest_side() {
    for chips in (1..=64_u32).chain([96, 210, 720]) {
        let divisors = (1..=chips as u16).filter(|&side| chips.is_multiple_of(side.into()));
        let divisors: Vec<u16> = divisors.collect();
        for n in 1..=DESCRIBED_MAX {
            let mut all = std::vec![Vec::new()];
            for _ in 0..n {
                let longer = |sides: &Vec<u16>| {
                    let (sides, from) = (sides.clone(), sides.last().copied().unwrap_or(1));
                    let next = divisors.iter().filter(move |&&side| side >= from);
                    next.map(move |&side| [&sides[..], &[side]].concat())
                };
                all = all.iter().flat_map(longer).collect();
            }
            all.retain(|sides| {
                sides.iter().map(|&side| u64::from(side)).product::<u64>() == chips.into()
            });
            for longest in [1, 2, 5, 12, u16::MAX] {
                let mut found = BTreeSet::new();
                forms::for_each_box(chips, n, longest, &mut |sides| {
                    assert!(found.insert(sides), "once");
                });
                let fitting = all.iter().filter(|sides| sides[n - 1] <= longest);
                let expected: BTreeSet<Extents> = fitting.map(|sides| padded(sides)).collect();
                assert_eq!(found, expected, "{chips} in {n}, at most {longest}");
            }
        }
    }
}

#[test]
fn a_description_shows_what_is_there() {
    let grid = Grid::mesh(&[4, 2]).unwrap();
    let hole = Hole::new(&[3, 0], &[]).unwrap();
    let machine = Description::new(grid)
        .unwrap()
        .with_absent(&[hole])
        .unwrap();
    let expected = std::format!(
        "Description {{ grid: {grid:?}, rotate: true, cube: None, shapes: [], multiple: None, \
         align: [1, 1], chips_max: {}, placements: [], absent: [{hole:?}] }}",
        machine.chips_max()
    );
    assert_eq!(std::format!("{machine:?}"), expected);
}
