//! The counter-examples in the documentation of incomplete strategies. No smaller machine has one.

use std::collections::BTreeSet;

use meshalloc::{Contiguity, Flags, Mesh, Refusal, StrategyKind};
use meshalloc_tests::convert;
use meshalloc_tests::grid::Grid;
use meshalloc_tests::rig::{HeapMemory, cube, mesh};
use meshalloc_tests::strategy::{Strategy, Wanted};
use meshalloc_tests::submesh::Rect;
use meshalloc_tests::survey::{Compare, occupancies, requests, survey};
use meshalloc_tests::trial::Probe;

/// A mesh drawn as in the documentation, the top row first, `#` for busy.
fn refuses(kind: StrategyKind, picture: &[&str], (a, b): (u16, u16), free: Rect) {
    let mesh = mesh(picture[0].len() as u16, picture.len() as u16);
    let mut memory = HeapMemory::new(mesh, 1);
    let mut probe = Probe::new(&mut memory, kind, mesh.into());
    let nodes = picture.iter().rev().flat_map(|row| row.chars());
    for (node, mark) in (0..).zip(nodes) {
        probe.set(node, mark == '#');
    }
    let sides = (i32::from(a), i32::from(b));
    let machine = probe.model().machine();
    assert!(
        machine.is_free(&free.into()),
        "{free} is free in\n{machine}"
    );
    assert!((free.w(), free.h()) == sides || (free.h(), free.w()) == sides);
    let answer = probe.compare(meshalloc::Request::submesh(a, b));
    assert_eq!(answer, Err(Refusal::Fragmented), "{kind}, ({a}, {b})");
}

#[test]
fn the_counter_example_of_buddy() {
    let picture = ["....", "#..#", "....", "#.#."];
    refuses(
        StrategyKind::Buddy,
        &picture,
        (2, 2),
        Rect::based_at(1, 1, 2, 2),
    );
}

/// The first free node is <1, 0>, so frames of 2 x 1 would have to stand at odd columns.
#[test]
fn the_smallest_counter_example_of_frame_sliding() {
    refuses(
        StrategyKind::FrameSliding,
        &["..", "#."],
        (2, 1),
        Rect::based_at(0, 1, 2, 1),
    );
}

/// All that serve this mesh, hold one block and do not try the only place.
#[test]
fn the_counter_examples_of_those_that_do_not_turn() {
    let picture = ["#.#", "#.#", "#.#"];
    let free = Rect::based_at(1, 0, 1, 3);
    let (machine, place) = (mesh(3, 3).grid(), free.into());
    let wanted = Wanted {
        extents: vec![3, 1],
        processors: 3,
        may_rotate: true,
    };
    let misses = |kind: &StrategyKind| {
        let tries = || {
            let strategy = Strategy::new(*kind, &convert::grid(machine));
            strategy.candidates(&wanted, &mut |tried| *tried == place)
        };
        kind.serves().includes(&machine) && kind.holds() == Contiguity::OneBlock && !tries()
    };
    let kinds: Vec<_> = StrategyKind::built().filter(misses).collect();
    assert!(kinds.contains(&StrategyKind::FirstFit), "{kinds:?}");
    for kind in kinds {
        refuses(kind, &picture, (3, 1), free);
    }
    // Fixed orientation turns even what would fit as it is.
    refuses(StrategyKind::FixedOrientation, &picture, (1, 3), free);
}

/// No mesh of fewer than four nodes has an occupancy at which frame sliding misses a free `a x b`.
#[test]
fn no_smaller_counter_example_of_frame_sliding() {
    for nodes in 1..4u16 {
        for w in (1..=nodes).filter(|w| nodes % w == 0) {
            every_frame_is_found(mesh(w, nodes / w));
        }
    }
}

fn every_frame_is_found(mesh: Mesh) {
    let mut memory = HeapMemory::new(mesh, 1);
    let mut probe = Probe::new(&mut memory, StrategyKind::FrameSliding, mesh.into());
    let (w, h) = (mesh.sides().w, mesh.sides().h);
    for busy in 0..1u32 << mesh.nodes() {
        (0..mesh.nodes()).for_each(|node| probe.set(node, busy >> node & 1 == 1));
        for (a, b) in (1..=h).flat_map(|b| (1..=w).map(move |a| (a, b))) {
            let exists = probe
                .model()
                .machine()
                .scan()
                .free(a.into(), b.into())
                .next()
                .is_some();
            let request = meshalloc::Request::submesh(a, b).with_flags(Flags::FIXED_ORIENTATION);
            assert_eq!(probe.compare(request).is_ok(), exists, "({a}, {b})");
        }
    }
}

/// The least that a strategy misses on a cube of which every occupancy is tried: free processors
/// and radices.
fn least_missed(kind: StrategyKind, k: u16, n: u8) -> Option<(Vec<u32>, Vec<u32>)> {
    let machine = cube(k, n).grid();
    let grid = convert::grid(machine);
    let mut extents = requests(&grid);
    // Partner serves only radices k.
    let served = |radix: &u32| kind != StrategyKind::Partner || *radix == u32::from(k);
    extents.retain(|radices| radices.iter().all(served));
    survey(
        kind,
        machine,
        occupancies(&grid),
        &extents,
        Compare::Nothing,
    )
    .missed
}

/// There are 1 + 39 requests on a 4-ary 3-cube. The test counts those for which the printed form
/// does not try every subcube.
#[test]
fn the_printed_form_does_not_try_all_subcubes_of_30_of_39_requests() {
    let grid = Grid::cube(4, 3);
    let sorted = |mut nodes: Vec<u32>| {
        nodes.sort_unstable();
        nodes
    };
    let incomplete = |kind| {
        let strategy = Strategy::new(kind, &grid);
        let incomplete = |radices: &&Vec<u32>| {
            let wanted = Wanted {
                extents: radices.to_vec(),
                processors: 1,
                may_rotate: true,
            };
            let mut tried = BTreeSet::new();
            strategy.candidates(&wanted, &mut |place| {
                tried.insert(sorted(grid.nodes_of(place)));
                false
            });
            let all = grid.boxes(radices).into_iter();
            let all: BTreeSet<_> = all.map(|place| sorted(grid.nodes_of(&place))).collect();
            assert!(tried.is_subset(&all), "{radices:?}");
            tried != all
        };
        let requests = requests(&grid);
        assert_eq!(requests.len(), 1 + 39);
        requests.iter().filter(incomplete).count()
    };
    assert_eq!(incomplete(StrategyKind::TreeCollapsing), 0);
    assert_eq!(incomplete(StrategyKind::TreeCollapsingPrinted), 30);
}

/// The test takes the cubes with the fewest processors first. Among the misses of the printed form
/// on these cubes, it takes the one with the fewest free processors, then the first list of
/// processors, then the first list of radices.
#[test]
fn the_smallest_counter_example_of_the_printed_form() {
    let kind = StrategyKind::TreeCollapsingPrinted;
    // All cubes of up to 9 processors but the last.
    let smaller = [
        (2, 1),
        (3, 1),
        (2, 2),
        (4, 1),
        (5, 1),
        (6, 1),
        (7, 1),
        (8, 1),
        (2, 3),
        (9, 1),
    ];
    for (k, n) in smaller {
        assert_eq!(least_missed(kind, k, n), None, "{k}-ary {n}-cube");
    }
    // 00, 01, 02, 10, 11 and 12 are free: three along dimension 0 and two along dimension 1, not
    // the other way round.
    let expected = (vec![0, 1, 2, 3, 4, 5], vec![3, 2]);
    assert_eq!(least_missed(kind, 3, 2), Some(expected));
}

/// The examples in the documentation of the others; no cube with fewer processors has one.
#[test]
fn the_smallest_counter_examples_of_the_others() {
    for (kind, smaller, (k, n), missed) in [
        // A radix of 3 is rounded up to 4.
        (
            StrategyKind::FreeList,
            [(2, 1), (2, 2)].as_slice(),
            (4, 1),
            (vec![0, 1, 2], vec![3]),
        ),
        // The only place wraps around.
        (
            StrategyKind::Sniffing,
            &[(2, 1)],
            (3, 1),
            (vec![0, 2], vec![2]),
        ),
        // **0, of which neither dimension is the lowest.
        (
            StrategyKind::Partner,
            &[
                (2, 1),
                (3, 1),
                (2, 2),
                (4, 1),
                (5, 1),
                (6, 1),
                (7, 1),
                (8, 1),
            ],
            (2, 3),
            (vec![0, 2, 4, 6], vec![2, 2]),
        ),
    ] {
        for &(k, n) in smaller {
            assert_eq!(least_missed(kind, k, n), None, "{kind}, {k}-ary {n}-cube");
        }
        assert_eq!(least_missed(kind, k, n), Some(missed), "{kind}");
    }
}
