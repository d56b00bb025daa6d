//! Algorithm G*, and the paper's examples of it.

use std::collections::BTreeSet;

use meshalloc::notation::{Notation, notations};
use meshalloc::{Allocator, Block, Grid as Machine, NodeId, StrategyKind};
use meshalloc_tests::grid::{Grid, Place};
use meshalloc_tests::notation::{self, Symbol};
use meshalloc_tests::rig::{HeapMemory, cube, mark_faulty, subcube};
use meshalloc_tests::strategy::{Strategy, Wanted};

/// A block of a cube, the highest dimension first.
fn block(grid: &Machine, mut start: [u16; 3], mut extent: [u16; 3]) -> Block {
    start.reverse();
    extent.reverse();
    grid.block(&start, &extent).expect("a block of the cube")
}

/// n choose m, by Pascal's triangle.
fn binomial(n: u8, m: u8) -> usize {
    match (n, m) {
        (_, 0) => 1,
        (0, _) => 0,
        _ => binomial(n - 1, m - 1) + binomial(n - 1, m),
    }
}

#[test]
fn there_are_n_choose_m_distinct_notations() {
    for n in 1..=8 {
        for m in 0..=n {
            let all: Vec<Notation> = notations(n, m).collect();
            let distinct: BTreeSet<String> = all.iter().map(Notation::to_string).collect();
            assert_eq!(all.len(), binomial(n, m), "n = {n}, m = {m}");
            assert_eq!(distinct.len(), all.len(), "n = {n}, m = {m}");
            for notation in all {
                assert_eq!(notation.stars().count(), usize::from(m), "{notation}");
                assert_eq!(notation.selects().count(), usize::from(n - m), "{notation}");
            }
        }
    }
}

/// In the order of the recursive procedures as they are printed, up to the most dimensions there
/// can be.
#[test]
fn the_order_is_that_of_the_printed_procedures() {
    for n in 1..=16 {
        for m in 0..=n {
            let printed = notation::notations(n.into(), m.into());
            let printed = printed.iter().map(notation::Notation::to_string);
            let found = notations(n, m).map(|notation| notation.to_string());
            assert!(found.eq(printed), "n = {n}, m = {m}");
        }
    }
}

/// "the rotated notation of performing rho_2 on a 6-bit notation □*□*□* is □**□*□".
#[test]
fn the_example_of_the_right_rotating_transform() {
    let (select, star) = (Symbol::Select, Symbol::DontCare);
    let printed = notation::Notation(vec![select, star, select, star, select, star]);
    assert_eq!(notation::rotate(2, &printed).to_string(), "□**□*□");
    let notation = Notation::new(&[false, true, false, true, false, true]).unwrap();
    assert_eq!(notation.to_string(), "□*□*□*");
    assert_eq!(notation.rotated(2).to_string(), "□**□*□");
}

/// The rules of the transform, for every notation and every symbol.
#[test]
fn the_transform_follows_its_rules() {
    for n in 1..=8 {
        for notation in (0..=n).flat_map(|m| notations(n, m)) {
            let symbols = (0..usize::from(n)).rev();
            let symbol = |extends| {
                if extends {
                    Symbol::DontCare
                } else {
                    Symbol::Select
                }
            };
            let printed = symbols.map(|dimension| symbol(notation.extends_in(dimension)));
            let printed = notation::Notation(printed.collect());
            for i in 0..n {
                let expected = notation::rotate(i.into(), &printed).to_string();
                assert_eq!(notation.rotated(i).to_string(), expected, "{notation}, {i}");
            }
        }
    }
}

/// "A possible 4 x 2 mesh 0(*0)4(*0)2 has 8 nodes (0,0,0), (0,0,1), (0,1,0), ..., (0,3,1)."
#[test]
fn the_example_of_the_mesh_and_its_eight_nodes() {
    for kind in [
        StrategyKind::TreeCollapsing,
        StrategyKind::TreeCollapsingPrinted,
    ] {
        let cube = cube(4, 3);
        let mut memory = HeapMemory::new(cube, 1);
        let mut allocator = Allocator::new(memory.allocator_memory(), cube.into(), kind).unwrap();
        let allocation = allocator.allocate(&subcube(&[4, 2])).unwrap();
        let grid = cube.grid();
        let mesh = allocator
            .blocks(&allocation)
            .unwrap()
            .next()
            .expect("one block");
        assert_eq!(mesh, block(&grid, [0, 0, 0], [1, 4, 2]));
        let nodes = (0..64).filter(|&node| grid.holds(mesh, NodeId(node)));
        let held: Vec<u32> = nodes.clone().collect();
        let addresses: Vec<Vec<u16>> = nodes
            .map(|node| cube.address(NodeId(node)).unwrap().to_vec())
            .collect();
        assert_eq!(
            addresses,
            [
                [0, 0, 0],
                [0, 0, 1],
                [0, 1, 0],
                [0, 1, 1],
                [0, 2, 0],
                [0, 2, 1],
                [0, 3, 0],
                [0, 3, 1]
            ]
        );
        let busy = (0..64).filter(|&node| allocator.occupancy().is_busy(NodeId(node)));
        assert!(busy.eq(held), "{kind} holds exactly these");
    }
}

/// "If all the 4 x 2 meshes represented by the subnotation are busy, another subnotation
/// □(*0)4(*1)2, □(*0)4(*2)2, ... is considered subsequently". The test marks the first node of each
/// found mesh as faulty and asks again. Within a subnotation the select digit moves.
#[test]
fn the_subnotations_follow_one_another() {
    for kind in [
        StrategyKind::TreeCollapsing,
        StrategyKind::TreeCollapsingPrinted,
    ] {
        let cube = cube(4, 3);
        let mut memory = HeapMemory::new(cube, 1);
        let mut allocator = Allocator::new(memory.allocator_memory(), cube.into(), kind).unwrap();
        for start in 0..3 {
            for select in 0..4 {
                let allocation = allocator.allocate(&subcube(&[4, 2])).unwrap();
                let expected = block(&cube.grid(), [select, 0, start], [1, 4, 2]);
                assert_eq!(
                    allocator.blocks(&allocation).unwrap().next(),
                    Some(expected)
                );
                allocator.release(allocation).unwrap();
                mark_faulty(&mut allocator, cube.node(&[select, 0, start]).unwrap());
            }
        }
        // (*0)4(*3)2 would take the nodes of (*0)4(*0)2 that have failed, and (*1)4 is the same
        // ring as (*0)4. The complete form turns the mesh and finds 0(*1)2(*0)4; the printed form
        // goes on to *□* and finds (*0)4 1 (*0)2.
        let allocation = allocator.allocate(&subcube(&[4, 2])).unwrap();
        let next = allocator
            .blocks(&allocation)
            .unwrap()
            .next()
            .expect("one block");
        let extents = match kind {
            StrategyKind::TreeCollapsing => [1, 2, 4],
            _ => [4, 1, 2],
        };
        let expected = block(&cube.grid(), [0, 1, 0], extents);
        assert_eq!(next, expected, "{kind}");
    }
}

/// The search space of the naive form begins as the paper lists it: starting positions 00, 01, 02,
/// 03, 10, ..., 33 for the primary notation, then the rotated ones.
#[test]
fn the_naive_search_space_is_the_papers() {
    let strategy = Strategy::new(StrategyKind::TreeCollapsingPrinted, &Grid::cube(4, 3));
    let wanted = Wanted {
        extents: vec![4, 2],
        processors: 8,
        may_rotate: true,
    };
    let mut places: Vec<Place> = Vec::new();
    strategy.candidates(&wanted, &mut |place| {
        places.push(place.clone());
        false
    });
    // C(3, 2) notations, 4^2 start positions, 4 select digits.
    assert_eq!(places.len(), 3 * 16 * 4);
    // Digits, the lowest dimension first.
    let starts: Vec<&[u32]> = places.iter().map(|place| &place.start[..]).collect();
    assert_eq!(
        starts[..6],
        [
            [0, 0, 0],
            [0, 0, 1],
            [0, 0, 2],
            [0, 0, 3],
            [1, 0, 0],
            [1, 0, 1]
        ]
    );
    assert_eq!(starts[63], [3, 3, 3]);
    // □**, then *□* and **□.
    let extents = [0, 63, 64, 128].map(|at: usize| places[at].extent.as_slice());
    assert_eq!(extents, [[2, 4, 1], [2, 4, 1], [2, 1, 4], [1, 2, 4]]);
}
