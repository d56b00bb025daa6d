//! Subcubes against definitions digit by digit.

use meshalloc::{Allocator, Block, Cube, Machine, NodeId, StrategyKind, Subcube};
use meshalloc_tests::plain::CubeStrategy;
use meshalloc_tests::plain::Places;
use meshalloc_tests::plain::cube::{Part, PlainCube};
use meshalloc_tests::rig::HeapMemory;
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
fn parts() -> impl Strategy<Value = (Cube, Part, Part)> {
    let digits = || prop::collection::vec(any::<u16>(), 8);
    (0..CUBES.len(), digits(), digits(), digits(), digits()).prop_map(|(at, a, b, c, d)| {
        let (k, n) = CUBES[at];
        let below = |noise: &[u16]| noise[..n.into()].iter().map(|digit| digit % k).collect();
        let part = |start: &[u16], extents: &[u16]| {
            let less_one: Vec<u16> = below(extents);
            Part {
                start: below(start),
                extents: less_one.iter().map(|extent| extent + 1).collect(),
            }
        };
        (Cube::new(k, n).expect("a cube"), part(&a, &b), part(&c, &d))
    })
}

fn plain(cube: Cube) -> PlainCube {
    PlainCube::new(cube.k(), cube.n().into())
}

fn subcube(cube: Cube, part: &Part) -> Subcube {
    Subcube::new(cube, &part.start, &part.extents).expect("digits of the cube")
}

/// "(1, 3)".
fn tuple(digits: &[u16]) -> String {
    let digits: Vec<String> = digits.iter().map(u16::to_string).collect();
    format!("({})", digits.join(", "))
}

proptest! {
    #[test]
    fn a_subcube_is_its_digits((cube, part, other) in parts()) {
        let plain = plain(cube);
        let one = subcube(cube, &part);
        prop_assert_eq!(CubeStrategy::said(one.into()), Some(part.clone()));
        prop_assert_eq!(one.area(), part.size());
        prop_assert_eq!(one.to_string(), format!("{}+{}", tuple(&part.start), tuple(&part.extents)));
        prop_assert_eq!(Subcube::between(cube, one.first(), one.last()), Some(one));
        let nodes = plain.nodes(&part);
        prop_assert_eq!(nodes.first().copied(), Some(one.first().0));
        prop_assert_eq!(nodes.last().copied(), Some(one.last().0));
        // A few numbers beyond the cube too.
        for node in 0..cube.nodes() + 3 {
            prop_assert_eq!(one.contains(NodeId(node)), nodes.contains(&node), "{}", node);
        }
        let shared = plain.nodes(&other).iter().any(|node| nodes.contains(node));
        let other = subcube(cube, &other);
        prop_assert_eq!(one.overlaps(other), shared);
        prop_assert_eq!(other.overlaps(one), shared);
        prop_assert_eq!(Block::from(one).overlaps(other.into()), shared);
        prop_assert!(one.overlaps(one));
    }

    /// A part is free exactly if all of its nodes are, one by one: all but some busy, and all but one free.
    #[test]
    fn words_are_the_nodes((cube, part, other) in parts(), which in any::<u32>()) {
        let plain = plain(cube);
        let nodes = plain.nodes(&part);
        let machine = Machine::from(cube);
        let mut memory = HeapMemory::new(cube, 1);
        let kind = StrategyKind::TreeCollapsing;
        let mut allocator = Allocator::new(memory.memory(), machine, kind).unwrap();
        let block = Block::from(subcube(cube, &part));
        prop_assert!(machine.contains(block));
        // Whatever lies outside does not matter.
        for node in (0..cube.nodes()).filter(|node| !nodes.contains(node)) {
            allocator.mark_faulty(NodeId(node));
        }
        prop_assert!(allocator.occupancy().is_free(block));
        let shared = plain.nodes(&other).iter().all(|node| nodes.contains(node));
        prop_assert_eq!(allocator.occupancy().is_free(subcube(cube, &other).into()), shared);
        // Any one inside does.
        let node = NodeId(nodes[which as usize % nodes.len()]);
        prop_assert!(machine.block_contains(block, node));
        allocator.mark_faulty(node);
        prop_assert!(!allocator.occupancy().is_free(block));
        allocator.clear_faulty(node);
        // Taken and given back: these nodes and no others.
        let radices: Vec<u16> = part.extents.iter().copied().filter(|&extent| extent > 1).collect();
        let request = meshalloc_tests::rig::subcube(&radices);
        let allocation = allocator.allocate(&request).unwrap();
        prop_assert_eq!(allocator.processors(&allocation), part.size());
        prop_assert_eq!(allocator.occupancy().free(), 0);
        prop_assert_eq!(allocator.release(allocation), part.size());
        for node in 0..cube.nodes() {
            prop_assert_eq!(allocator.occupancy().is_busy(NodeId(node)), !nodes.contains(&node));
        }
    }

    /// Addresses are the digits, and read as a number they are the node.
    #[test]
    fn addresses_are_digits((cube, part, _) in parts(), node in any::<u32>()) {
        let plain = plain(cube);
        let node = node % (cube.nodes() + 2);
        match cube.address(NodeId(node)) {
            Some(address) => {
                prop_assert_eq!(address.to_vec(), plain.address(node));
                prop_assert_eq!(cube.node(&address), Some(NodeId(node)));
            }
            None => prop_assert!(node >= cube.nodes()),
        }
        // A digit too many, too few or too large, and extents out of range, are none.
        let mut start = part.start.clone();
        start.push(0);
        prop_assert_eq!(cube.node(&start), None);
        prop_assert_eq!(Subcube::new(cube, &start, &part.extents), None);
        prop_assert_eq!(cube.node(&start[2..]), None);
        start.pop();
        start[0] = cube.k();
        prop_assert_eq!(cube.node(&start), None);
        for extent in [0, cube.k() + 1] {
            let mut extents = part.extents.clone();
            extents[0] = extent;
            prop_assert_eq!(Subcube::new(cube, &part.start, &extents), None);
        }
    }
}
