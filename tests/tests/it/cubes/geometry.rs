//! Addresses of a cube digit by digit, and which words of the occupancy are the nodes of a block.

use meshalloc::{Allocator, Cube, NodeId, StrategyKind};
use meshalloc_tests::convert;
use meshalloc_tests::grid::{Grid, Place};
use meshalloc_tests::rig::{HeapMemory, clear_faulty, mark_faulty};
use proptest::prelude::*;

/// Cubes of words with padding and without, of one and of several.
const CUBES: [(u16, u8); 12] = [
    (2, 1),
    (70, 1),
    (3, 3),
    (4, 3),
    (5, 2),
    (2, 6),
    (16, 2),
    (3, 5),
    (2, 8),
    (7, 3),
    (6, 4),
    (33, 2),
];

/// A cube and two parts of it.
fn parts() -> impl Strategy<Value = (Cube, Place, Place)> {
    let digits = || prop::collection::vec(any::<u16>(), 8);
    (0..CUBES.len(), digits(), digits(), digits(), digits()).prop_map(|(at, a, b, c, d)| {
        let (k, n) = CUBES[at];
        let below = |noise: &[u16]| -> Vec<u32> {
            let digits = noise[..n.into()].iter().map(|digit| digit % k);
            digits.map(u32::from).collect()
        };
        let part = |start: &[u16], extent: &[u16]| Place {
            start: below(start),
            extent: below(extent).iter().map(|extent| extent + 1).collect(),
        };
        (Cube::new(k, n).expect("a cube"), part(&a, &b), part(&c, &d))
    })
}

fn naive(cube: Cube) -> Grid {
    Grid::cube(cube.k().into(), cube.n().into())
}

/// The highest dimension first.
fn digits(numbers: &[u32]) -> Vec<u16> {
    numbers.iter().rev().map(|&number| number as u16).collect()
}

proptest! {
    /// A part is free exactly if all of its nodes are, one by one: all but some busy, and all but
    /// one free.
    #[test]
    fn words_are_the_nodes((cube, part, other) in parts(), which in any::<u32>()) {
        let naive = naive(cube);
        let nodes = naive.nodes_of(&part);
        let machine = cube.grid();
        let mut memory = HeapMemory::new(cube, 1);
        let kind = StrategyKind::TreeCollapsing;
        let mut allocator = Allocator::new(memory.allocator_memory(), machine, kind).unwrap();
        let block = convert::block(machine, &part);
        prop_assert!(machine.contains(block));
        // Nodes outside the block do not matter.
        for node in (0..cube.nodes()).filter(|node| !nodes.contains(node)) {
            mark_faulty(&mut allocator, NodeId(node));
        }
        prop_assert!(allocator.occupancy().is_free(block));
        let shared = naive.nodes_of(&other).iter().all(|node| nodes.contains(node));
        prop_assert_eq!(allocator.occupancy().is_free(convert::block(machine, &other)), shared);
        // Each node inside does.
        let node = NodeId(nodes[which as usize % nodes.len()]);
        prop_assert!(machine.holds(block, node));
        mark_faulty(&mut allocator, node);
        prop_assert!(!allocator.occupancy().is_free(block));
        clear_faulty(&mut allocator, node);
        // Taking and giving back changes these nodes and no others.
        let request = convert::request(&part.extent);
        let allocation = allocator.allocate(&request).unwrap();
        prop_assert_eq!(allocator.processors(&allocation).unwrap(), part.size());
        prop_assert_eq!(allocator.occupancy().free(), 0);
        prop_assert_eq!(allocator.release(allocation).unwrap(), part.size());
        for node in 0..cube.nodes() {
            prop_assert_eq!(allocator.occupancy().is_busy(NodeId(node)), !nodes.contains(&node));
        }
    }

    /// Addresses are the digits, and read as a number they are the node.
    #[test]
    fn addresses_are_digits((cube, part, _) in parts(), node in any::<u32>()) {
        let naive = naive(cube);
        let node = node % (cube.nodes() + 2);
        match cube.address(NodeId(node)) {
            Some(address) => {
                prop_assert_eq!(address.to_vec(), digits(&naive.position(node)));
                prop_assert_eq!(cube.node(&address), Some(NodeId(node)));
            }
            None => prop_assert!(node >= cube.nodes()),
        }
        // A digit too many, too few or too large.
        let mut start = digits(&part.start);
        start.push(0);
        prop_assert_eq!(cube.node(&start), None);
        prop_assert_eq!(cube.node(&start[2..]), None);
        start.pop();
        start[0] = cube.k();
        prop_assert_eq!(cube.node(&start), None);
    }
}
