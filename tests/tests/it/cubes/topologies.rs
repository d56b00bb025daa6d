//! Rings, lines, meshes, tori and hypercubes: special cubes, and special requests to cubes.

use meshalloc::{Allocator, Block, Cube, NodeId, Refusal, Request, StrategyKind};
use meshalloc_tests::rig::{HeapMemory, cube, mark_faulty, subcube};

/// A block of a cube.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Subcube {
    cube: Cube,
    block: Block,
}

impl Subcube {
    fn text(self) -> String {
        self.cube.grid().place(self.block).to_string()
    }
}

/// The subcube that tree collapsing grants when exactly these nodes are free.
fn granted(cube: Cube, free: &[u32], request: &Request) -> Result<Subcube, Refusal> {
    let mut memory = HeapMemory::new(cube, 1);
    let kind = StrategyKind::TreeCollapsing;
    let mut allocator = Allocator::new(memory.allocator_memory(), cube.into(), kind).unwrap();
    for node in (0..cube.nodes()).filter(|node| !free.contains(node)) {
        mark_faulty(&mut allocator, NodeId(node));
    }
    let allocation = allocator.allocate(request)?;
    let block = allocator
        .blocks(&allocation)
        .unwrap()
        .next()
        .expect("one block");
    Ok(Subcube { cube, block })
}

fn nodes(subcube: Subcube) -> Vec<u32> {
    let grid = subcube.cube.grid();
    (0..grid.nodes())
        .filter(|&node| grid.holds(subcube.block, NodeId(node)))
        .collect()
}

fn node(cube: Cube, address: &[u16]) -> u32 {
    cube.node(address).expect("an address of the cube").0
}

/// Neighbours differ by one in one digit, modulo k.
fn are_neighbours(cube: Cube, a: u32, b: u32) -> bool {
    let (a, b) = (
        cube.address(NodeId(a)).unwrap(),
        cube.address(NodeId(b)).unwrap(),
    );
    let apart: Vec<u16> = a
        .iter()
        .zip(b.iter())
        .map(|(&a, &b)| (a + cube.k() - b) % cube.k())
        .filter(|&apart| apart != 0)
        .collect();
    matches!(apart[..], [one] if one == 1 || one == cube.k() - 1)
}

/// The number of neighbours that each node has among the others, ascending.
fn degrees(subcube: Subcube) -> Vec<usize> {
    let nodes = nodes(subcube);
    let degree = |&node: &u32| {
        let others = nodes.iter();
        others
            .filter(|&&other| are_neighbours(subcube.cube, node, other))
            .count()
    };
    let mut degrees: Vec<usize> = nodes.iter().map(degree).collect();
    degrees.sort_unstable();
    degrees
}

/// n = 1: the cube is a ring, and a line of it may lie across its ends.
#[test]
fn a_ring() {
    let ring = cube(10, 1);
    let line = granted(ring, &[8, 9, 0, 1, 4, 5, 6], &subcube(&[4])).unwrap();
    assert_eq!(line.text(), "(8)+(4)");
    assert_eq!(degrees(line), [1, 1, 2, 2]);
    let refused = granted(ring, &[8, 9, 1, 2, 4, 5, 6], &subcube(&[4]));
    assert_eq!(refused, Err(Refusal::Fragmented));
    let whole: Vec<u32> = (0..10).collect();
    assert_eq!(
        degrees(granted(ring, &whole, &subcube(&[10])).unwrap()),
        [2; 10]
    );
}

/// A ring within a larger cube: one radix k, along any dimension.
#[test]
fn a_ring_within_a_cube() {
    let cube = cube(4, 3);
    for dimension in 0..3 {
        let free: Vec<u32> = (0..4)
            .map(|digit| {
                let mut address = [2, 1, 3];
                address[dimension] = digit;
                node(cube, &address)
            })
            .collect();
        let ring = granted(cube, &free, &subcube(&[4])).unwrap();
        assert_eq!(nodes(ring), free);
        assert_eq!(degrees(ring), [2; 4]);
    }
}

/// n = 2: the cube is a torus, and a mesh of it may lie across the edges both ways.
#[test]
fn a_torus() {
    let torus = cube(5, 2);
    let free: Vec<u32> = [3, 4, 0]
        .into_iter()
        .flat_map(|y| [4, 0].map(|x| node(torus, &[y, x])))
        .collect();
    for request in [subcube(&[3, 2]), subcube(&[2, 3])] {
        let mesh = granted(torus, &free, &request).unwrap();
        assert_eq!(mesh.text(), "(3, 4)+(3, 2)");
        // A 3 x 2 mesh: four corners and two nodes between them.
        assert_eq!(degrees(mesh), [2, 2, 2, 2, 3, 3]);
    }
    let whole: Vec<u32> = (0..25).collect();
    assert_eq!(
        degrees(granted(torus, &whole, &subcube(&[5, 5])).unwrap()),
        [4; 25]
    );
    // Radix k one way only: a cylinder.
    let cylinder = granted(torus, &whole, &subcube(&[5, 2])).unwrap();
    assert_eq!(degrees(cylinder), [3; 10]);
}

/// Radices below k: a mesh of as many dimensions.
#[test]
fn a_mesh_within_a_cube() {
    let cube = cube(5, 3);
    let whole: Vec<u32> = (0..125).collect();
    let mesh = granted(cube, &whole, &subcube(&[4, 3])).unwrap();
    assert_eq!(
        (mesh.text(), nodes(mesh).len()),
        ("(0, 0, 0)+(1, 4, 3)".into(), 12)
    );
    // Four corners, two nodes in the middle, six on the sides.
    assert_eq!(degrees(mesh), [2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4]);
    let solid = granted(cube, &whole, &subcube(&[2, 3, 2])).unwrap();
    assert_eq!(solid.text(), "(0, 0, 0)+(2, 3, 2)");
}

/// k = 2: the cube is a hypercube; each node of an m-dimensional subcube has m neighbours in it.
#[test]
fn a_hypercube() {
    let hypercube = cube(2, 5);
    // *1*0*: dimensions 4, 2 and 0.
    let free: Vec<u32> = (0..32)
        .filter(|&node| {
            hypercube
                .address(NodeId(node))
                .is_some_and(|a| a[1] == 1 && a[3] == 0)
        })
        .collect();
    let found = granted(hypercube, &free, &subcube(&[2, 2, 2])).unwrap();
    assert_eq!((nodes(found), degrees(found)), (free, vec![3; 8]));
    let whole: Vec<u32> = (0..32).collect();
    assert_eq!(
        degrees(granted(hypercube, &whole, &subcube(&[2; 5])).unwrap()),
        [5; 32]
    );
}

/// Radices 2: a hypercube of m dimensions in any larger cube.
#[test]
fn a_hypercube_within_a_cube() {
    let cube = cube(4, 3);
    let whole: Vec<u32> = (0..64).collect();
    for m in 1..=3 {
        let found = granted(cube, &whole, &subcube(&vec![2; m])).unwrap();
        assert_eq!(degrees(found), vec![m; 1 << m]);
    }
}

/// No radix at all: one processor, the first that is free.
#[test]
fn one_processor() {
    let found = granted(cube(4, 3), &[37, 50], &subcube(&[])).unwrap();
    assert_eq!(nodes(found), [37]);
}
