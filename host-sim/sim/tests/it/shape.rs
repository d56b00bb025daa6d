use std::cmp::Reverse;

use meshalloc::{Grid, Mesh, Request};
use meshalloc_sim::workload::ShapeRule;
use meshalloc_sim::workload::shape::{flat, near_cubic, power_of_two};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

fn by_rule(rule: ShapeRule, processors: u32, machine: Grid) -> Result<Request, String> {
    rule.request(processors, machine, &mut ChaCha8Rng::seed_from_u64(1))
}

fn shape(processors: u32, sides: &[u16]) -> Option<Vec<u16>> {
    near_cubic(processors, sides).map(|shape| shape.extents().to_vec())
}

#[test]
fn the_cases_of_the_definition() {
    for (processors, sides, expected) in [
        (7, &[64, 64][..], &[4, 2][..]),
        (13, &[64, 64], &[5, 3]),
        (128, &[64, 64], &[16, 8]),
        (320, &[16, 22], &[16, 20]),
        // A prime that only fits in a long shape.
        (11, &[1, 11], &[1, 11]),
        (64, &[8, 8, 16], &[4, 4, 4]),
        (128, &[8, 8, 16], &[4, 4, 8]),
        (1000, &[8, 8, 16], &[8, 8, 16]),
        // The limit on the ratio is dropped, and a dimension of side 1 does not count for it.
        (128, &[64, 64, 2], &[8, 8, 2]),
        (7, &[8, 1, 8], &[4, 1, 2]),
        (5, &[2; 12], &[2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
        (9, &[16], &[9]),
        (1, &[1, 1], &[1, 1]),
    ] {
        assert_eq!(shape(processors, sides).as_deref(), Some(expected));
    }
    assert_eq!(shape(12, &[1, 11]), None);
    assert_eq!(shape(2, &[1]), None);
}

/// All tuples of extents within the sides.
fn all(sides: &[u16]) -> Vec<Vec<u16>> {
    let mut all = vec![Vec::new()];
    for &side in sides {
        let longer = all.iter().flat_map(|extents: &Vec<u16>| {
            (1..=side).map(move |extent| [&extents[..], &[extent]].concat())
        });
        all = longer.collect();
    }
    all
}

#[test]
fn agrees_with_a_search_through_all_extents() {
    for sides in [
        &[16, 22][..],
        &[9, 4],
        &[1, 7],
        &[12, 11],
        &[10, 10],
        &[13],
        &[5, 1, 4],
        &[4, 6, 3],
        &[3, 3, 3],
        &[7, 2, 5],
        &[2, 3, 2, 5],
        &[2, 2, 2, 2, 2, 2],
    ] {
        let all = all(sides);
        let product = |extents: &[u16]| extents.iter().map(|&e| u32::from(e)).product::<u32>();
        let descending = |extents: &[u16]| {
            let mut extents = extents.to_vec();
            extents.sort_unstable_by_key(|&extent| Reverse(extent));
            extents
        };
        let is_limited = |extents: &Vec<u16>| {
            let both = extents.iter().zip(sides).filter(|(_, side)| **side > 1);
            let counted: Vec<u16> = both.map(|(&extent, _)| extent).collect();
            counted.iter().max() <= counted.iter().min().map(|least| 2 * least).as_ref()
        };
        for processors in 1..=product(sides) + 1 {
            let order = |extents: &&Vec<u16>| (product(extents), descending(extents));
            let enough = || all.iter().filter(|extents| product(extents) >= processors);
            let limited = enough().filter(|extents| is_limited(extents));
            let best = limited.min_by_key(order).or(enough().min_by_key(order));
            let found = shape(processors, sides);
            let sorted = |extents: &[u16]| descending(extents);
            assert_eq!(
                found.as_deref().map(sorted),
                best.map(|best| descending(best)),
                "{processors} on {sides:?}"
            );
            let Some(found) = found else { continue };
            for (a, (&side, &extent)) in sides.iter().zip(&found).enumerate() {
                assert!(extent <= side, "{processors} on {sides:?}: {found:?}");
                for (&later_side, &later) in sides.iter().zip(&found).skip(a + 1) {
                    let longer = side >= later_side && extent < later;
                    let shorter = side < later_side && extent > later;
                    assert!(!longer && !shorter, "{processors} on {sides:?}: {found:?}");
                }
            }
        }
    }
}

#[test]
fn the_largest_machines_take_no_longer() {
    let begin = std::time::Instant::now();
    for sides in [
        &[1024, 1024][..],
        &[128, 128, 64],
        &[32; 4],
        &[16; 5],
        &[2; 16],
    ] {
        for processors in (1..1 << 16).step_by(997) {
            assert!(near_cubic(processors, sides).is_some());
        }
    }
    let seconds = begin.elapsed().as_secs();
    assert!(seconds < 20, "{seconds} s");
}

#[test]
fn a_request_keeps_its_number_of_processors() {
    let machine: Grid = Mesh::new(16, 22).unwrap().into();
    let request = by_rule(ShapeRule::NearSquare, 13, machine).unwrap();
    assert_eq!(request, Request::submesh(3, 5).with_processors(13));
    // Larger than the machine: still a request, for the controller to refuse.
    let request = by_rule(ShapeRule::NearSquare, 400, machine).unwrap();
    assert_eq!(request, Request::submesh(20, 20));
    // More than two extents can have.
    let request = by_rule(ShapeRule::NearCubic, u32::MAX, machine).unwrap();
    assert_eq!(request.processors, u32::MAX);
    assert!(request.shape.area() > machine.nodes());
}

#[test]
fn near_square_is_for_two_dimensional_meshes() {
    let torus = Grid::torus(&[8, 8, 16]).unwrap();
    assert_eq!(
        by_rule(ShapeRule::NearSquare, 9, torus).unwrap_err(),
        "the shape rule near-square is for two-dimensional meshes, not for torus 8x8x16 (expected near-cubic)"
    );
    assert!(by_rule(ShapeRule::of(&torus), 9, torus).is_ok());
    assert_eq!(
        ShapeRule::of(&Grid::mesh(&[4, 4]).unwrap()),
        ShapeRule::default()
    );
}

#[test]
fn rules_have_names() {
    for form in ShapeRule::FORMS
        .iter()
        .filter(|form| form.params.is_empty())
    {
        let rule: ShapeRule = form.name.parse().unwrap();
        assert_eq!(rule.to_string(), form.name);
    }
    for distribution in ShapeRule::DRAWN {
        let rule = ShapeRule::Drawn(distribution);
        assert_eq!(rule.to_string().parse(), Ok(rule));
    }
    for (text, reason) in [
        (
            "round",
            "unknown shape rule \"round\" (known: near-square, ",
        ),
        (
            "drawn",
            "the shape rule drawn needs a parameter (expected drawn:DISTRIBUTION)",
        ),
        (
            "drawn:uniform-decreasing",
            "DISTRIBUTION of drawn is \"uniform-decreasing\": expected uniform, ",
        ),
        ("drawn:normal:sd=3", "DISTRIBUTION of drawn is "),
    ] {
        let error = text.parse::<ShapeRule>().unwrap_err().to_string();
        assert!(error.starts_with(reason), "{error}");
    }
}

const MACHINES: [&[u16]; 9] = [
    &[16, 22],
    &[9, 4],
    &[12, 11],
    &[10, 10],
    &[13],
    &[1, 7],
    &[5, 1, 4],
    &[4, 6, 3],
    &[2, 3, 2, 5],
];

fn product(extents: &[u16]) -> u32 {
    extents.iter().map(|&extent| u32::from(extent)).product()
}

/// The sides from the longest to the shortest, of equal ones the lower dimension first.
fn dimensions(sides: &[u16]) -> Vec<usize> {
    let mut dimensions: Vec<usize> = (0..sides.len()).collect();
    dimensions.sort_by_key(|&dimension| Reverse(sides[dimension]));
    dimensions
}

#[test]
fn powers_of_two_agree_with_a_search_through_all_extents() {
    for sides in MACHINES {
        let mut all = all(sides);
        all.retain(|extents| extents.iter().all(|extent| extent.is_power_of_two()));
        for processors in 1..=product(sides) + 1 {
            let enough = all.iter().filter(|extents| product(extents) >= processors);
            // Longer ones along longer sides, as far as they fit.
            let order = |extents: &&Vec<u16>| {
                let mut descending = extents.to_vec();
                descending.sort_unstable_by_key(|&extent| Reverse(extent));
                let along = dimensions(sides).into_iter().map(|d| Reverse(extents[d]));
                (product(extents), descending, along.collect::<Vec<_>>())
            };
            let found = power_of_two(processors, sides);
            assert_eq!(
                found.map(|shape| shape.extents().to_vec()).as_ref(),
                enough.min_by_key(order),
                "{processors} on {sides:?}"
            );
        }
    }
}

#[test]
fn flat_shapes_agree_with_a_search_through_all_extents() {
    for sides in MACHINES {
        let all = all(sides);
        for processors in 1..=product(sides) + 1 {
            let enough = all.iter().filter(|extents| product(extents) >= processors);
            let order = |extents: &&Vec<u16>| -> Vec<u16> {
                let from_shortest = dimensions(sides).into_iter().rev();
                from_shortest.map(|dimension| extents[dimension]).collect()
            };
            let found = flat(processors, sides);
            assert_eq!(
                found.map(|shape| shape.extents().to_vec()).as_ref(),
                enough.min_by_key(order),
                "{processors} on {sides:?}"
            );
        }
    }
}

#[test]
fn every_shape_that_is_possible_is_drawn_and_equally_often_if_uniform() {
    // 12 processors on 6 x 4: widths 3 to 6, each with the least height.
    let machine = Grid::mesh(&[6, 4]).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut counts = std::collections::BTreeMap::new();
    let rule: ShapeRule = "drawn:uniform".parse().unwrap();
    for _ in 0..40_000 {
        let request = rule.request(12, machine, &mut rng).unwrap();
        assert_eq!(request.processors, 12);
        *counts.entry(request.shape.to_string()).or_insert(0) += 1;
    }
    assert!(counts.keys().eq(["3x4", "4x3", "5x3", "6x2"]), "{counts:?}");
    for count in counts.values() {
        // Four standard deviations.
        assert!((9_650..10_350).contains(count), "{counts:?}");
    }
}

#[test]
fn drawn_shapes_fit_and_hold_no_more_than_they_must() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for sides in MACHINES {
        let machine = Grid::mesh(sides).unwrap();
        for distribution in ShapeRule::DRAWN {
            for processors in 1..=product(sides) {
                let request = ShapeRule::Drawn(distribution).request(processors, machine, &mut rng);
                let shape = request.unwrap().shape;
                let extents = shape.extents();
                assert!(
                    extents
                        .iter()
                        .zip(sides)
                        .all(|(extent, side)| extent <= side)
                );
                assert!(product(&extents) >= processors);
                // One less along the last dimension would be too few.
                let (last, others) = extents.split_last().unwrap();
                assert!(product(others) * u32::from(last - 1) < processors);
            }
        }
    }
}

#[test]
fn shapes_are_drawn_on_the_longest_sides() {
    let rule: ShapeRule = "drawn:uniform".parse().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for sides in [&[65535, 16, 1], &[65535, 1, 16], &[16, 65535, 1]] {
        let machine = Grid::mesh(sides).unwrap();
        for processors in [1, 65534, 65535, 65536, 200_000, 16 * 65535] {
            for _ in 0..20 {
                let request = rule.request(processors, machine, &mut rng).unwrap();
                let extents = request.shape.extents();
                let fits = extents
                    .iter()
                    .zip(sides)
                    .all(|(extent, side)| extent <= side);
                assert!(fits, "{} for {processors} on {machine}", request.shape);
            }
        }
    }
}
