//! The largest possible cubes, and cubes that are too large.

use meshalloc::{Allocator, Cube, NODES_MAX, NodeId, StrategyKind};
use meshalloc_tests::rig::{HeapMemory, clear_faulty, cube, mark_faulty, subcube};
use meshalloc_tests::sample;

/// Up to [`NODES_MAX`] processors; of each (k, n) the next k is too large.
const LARGEST: [(u16, u8); 9] = [
    (2, 16),
    (3, 12),
    (4, 10),
    (10, 6),
    (16, 5),
    (32, 4),
    (101, 3),
    (1024, 2),
    (65_535, 1),
];

#[test]
fn the_largest_cubes_serve() {
    // Some of them, since each takes seconds.
    for (k, n) in sample(LARGEST.into_iter().step_by(2), 2, 0) {
        let cube = cube(k, n);
        let nodes = cube.nodes();
        let mut memory = HeapMemory::new(cube, 1);
        let kind = StrategyKind::TreeCollapsing;
        let mut allocator = Allocator::new(memory.allocator_memory(), cube.into(), kind).unwrap();
        // The whole cube and nothing more.
        let whole = allocator.allocate(&subcube(&vec![k; n.into()])).unwrap();
        assert_eq!(
            (
                allocator.processors(&whole).unwrap(),
                allocator.occupancy().free()
            ),
            (nodes, 0)
        );
        assert!(allocator.allocate(&subcube(&[])).is_err());
        assert_eq!(allocator.release(whole).unwrap(), nodes);
        // The very last processor.
        for node in 0..nodes - 1 {
            mark_faulty(&mut allocator, NodeId(node));
        }
        let last = allocator.allocate(&subcube(&[])).unwrap();
        let unit = cube.grid().unit(NodeId(nodes - 1));
        assert_eq!(allocator.blocks(&last).unwrap().next(), unit);
        assert_eq!(allocator.release(last).unwrap(), 1);
        // Across the ends of all rings: only the corners, where all digits are k - 1 or 0.
        let corner = |digit: &u16| *digit == 0 || *digit == k - 1;
        let mut corners = 0;
        for node in (0..nodes).map(NodeId) {
            clear_faulty(&mut allocator, node);
            if cube.address(node).unwrap().iter().all(corner) {
                corners += 1;
            } else {
                mark_faulty(&mut allocator, node);
            }
        }
        assert_eq!(corners, 1 << n);
        let around = allocator.allocate(&subcube(&vec![2; n.into()])).unwrap();
        assert_eq!(
            (
                allocator.processors(&around).unwrap(),
                allocator.occupancy().free()
            ),
            (corners, 0)
        );
        assert_eq!(allocator.release(around).unwrap(), corners);
    }
}

#[test]
fn larger_cubes_are_refused() {
    for (k, n) in LARGEST {
        assert!(Cube::new(k, n).unwrap().nodes() <= NODES_MAX);
        if k < u16::MAX {
            assert!(Cube::new(k + 1, n).is_err(), "{}-ary {n}-cube", k + 1);
        }
        let error = Cube::new(k, n + 1).unwrap_err();
        assert_eq!((error.k, error.n), (k, n + 1));
    }
    for (k, n) in [
        (0, 1),
        (1, 1),
        (1, 16),
        (2, 0),
        (2, 17),
        (2, 255),
        (u16::MAX, 255),
    ] {
        assert!(Cube::new(k, n).is_err(), "{k}-ary {n}-cube");
    }
}
