//! Every processor has its place, and every block its rectangles.

use meshalloc::Cube;

use super::*;

fn cube(k: u16, n: u8) -> Grid {
    Cube::new(k, n).unwrap().into()
}

#[test]
fn dimensions_go_right_and_up_in_turn() {
    let grid = |sides: &[u16]| Grid::mesh(sides).unwrap();
    for (machine, size) in [
        (cube(4, 1), (4, 1)),
        (cube(5, 2), (5, 5)),
        (cube(4, 3), (16, 4)),
        (cube(3, 4), (9, 9)),
        (cube(2, 12), (64, 64)),
        (cube(2, 5), (8, 4)),
        (grid(&[6, 4]), (6, 4)),
        (grid(&[7]), (7, 1)),
        (grid(&[3, 4, 2, 1, 5]), (30, 4)),
    ] {
        let layout = Layout::new(machine, ONE_ROW, 1);
        assert_eq!((layout.across.len(), layout.up.len()), size);
        let mut seen = vec![false; size.0 * size.1];
        for node in (0..machine.nodes()).map(NodeId) {
            let (x, y) = layout.place(node);
            assert!(!std::mem::replace(&mut seen[y * size.0 + x], true));
            let coordinates = machine.coordinates(node).unwrap();
            for (axis, at) in [(&layout.across, x), (&layout.up, y)] {
                for digit in &axis.digits {
                    let expected = usize::from(coordinates[digit.number]);
                    assert_eq!(digit.coordinate(at), expected);
                }
            }
        }
    }
    let layout = Layout::new(grid(&[6, 4]), ONE_ROW, 1);
    assert_eq!(layout.place(NodeId(6 * 3 + 2)), (2, 3));
    assert_eq!(layout.planes(), [Rect { x: 0..6, y: 0..4 }]);
}

#[test]
fn gaps_grow_with_the_level() {
    let axis = Layout::new(cube(2, 6), ONE_ROW, 1).across;
    assert_eq!(axis.gaps, [0, 0, 1, 1, 3, 3, 4, 4]);
    assert_eq!(axis.stretches(), [0..2, 2..4, 4..6, 6..8]);
    let axis = Layout::new(cube(2, 6), ONE_ROW, 2).across;
    assert_eq!(axis.gaps, [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(axis.stretches(), [0..4, 4..8]);
    let axis = Layout::new(cube(2, 6), ONE_ROW, 3).across;
    assert_eq!((axis.gaps(), axis.stretches().len()), (0, 1));
    let axis = Layout::new(Grid::mesh(&[3, 9, 2]).unwrap(), ONE_ROW, 1).across;
    assert_eq!(axis.stretches(), [0..3, 3..6]);
}

/// Every block of the machine.
fn blocks(machine: Grid) -> Vec<Block> {
    let nodes = || (0..machine.nodes()).map(NodeId);
    let pairs = nodes().flat_map(|first| nodes().map(move |last| (first, last)));
    let blocks = pairs.filter_map(|(first, extent)| {
        let mut extent = machine.coordinates(extent)?;
        extent.iter_mut().for_each(|extent| *extent += 1);
        machine.block(&machine.coordinates(first)?, &extent)
    });
    blocks.collect()
}

#[test]
fn rectangles_have_the_nodes_of_their_block() {
    let grid = |sides: &[u16]| Grid::torus(sides).unwrap();
    let cubes = |sides: &[u16], cube: &[u16]| Plan {
        machine: grid(sides),
        cube: Tuple::from_slice(cube),
    };
    for (plan, columns) in [
        (cube(4, 3).into(), ONE_ROW),
        (cube(4, 3).into(), 3),
        (cube(5, 2).into(), ONE_ROW),
        (cube(2, 6).into(), 2),
        (cube(7, 1).into(), ONE_ROW),
        (Grid::mesh(&[4, 3, 3]).unwrap().into(), 2),
        (grid(&[2, 3, 7]).into(), 3),
        (Grid::new(&[3, 2, 4, 2], 0b0101).unwrap().into(), ONE_ROW),
        (cubes(&[4, 4, 4], &[2, 2, 4]), ONE_ROW),
        (cubes(&[4, 2, 6], &[2, 2, 2]), 2),
        (cubes(&[2, 4, 6], &[2, 2, 3]), 1),
        (cubes(&[6, 4], &[3, 2]), ONE_ROW),
        (cubes(&[4, 2, 2, 2], &[2, 1, 2, 2]), ONE_ROW),
    ] {
        let machine = plan.machine;
        for block in blocks(machine).into_iter().step_by(7) {
            for finest in 1..3 {
                let layout = Layout::new(plan, columns, finest);
                let rectangles = layout.rectangles(block);
                for node in (0..machine.nodes()).map(NodeId) {
                    let (x, y) = layout.place(node);
                    assert!(layout.has(x, y));
                    assert_eq!(layout.node(x, y), Some(node));
                    let holding = rectangles
                        .iter()
                        .filter(|rect| rect.x.contains(&x) && rect.y.contains(&y));
                    let times = usize::from(machine.holds(block, node));
                    assert_eq!(holding.count(), times, "{} {node}", machine.place(block));
                }
                for rect in &rectangles {
                    let gaps = |axis: &Axis, range: &Range<usize>| {
                        axis.gaps_before(range.end - 1) - axis.gaps_before(range.start)
                    };
                    assert_eq!(gaps(&layout.across, &rect.x), 0);
                    assert_eq!(gaps(&layout.up, &rect.y), 0);
                }
                // Each plane has its processors, and no place has two.
                let mut places: Vec<_> = (0..machine.nodes())
                    .map(|node| layout.place(NodeId(node)))
                    .collect();
                places.sort_unstable();
                places.dedup();
                let area = |rect: &Rect| rect.x.len() * rect.y.len();
                let planes: usize = layout.planes().iter().map(area).sum();
                assert_eq!(
                    (planes, places.len() as u32),
                    (places.len(), machine.nodes())
                );
            }
        }
    }
}

/// The numbers above planes, with their columns and rows.
fn headings(plan: Plan, columns: usize) -> Vec<(String, usize, usize)> {
    let headings = Layout::new(plan, columns, 1).headings().into_iter();
    let headings = headings.map(|Heading { name, number, over }| {
        (format!("{name} {number}"), over.x.start, over.y.start)
    });
    headings.collect()
}

#[test]
fn planes_in_several_rows_begin_at_the_upper_left() {
    let machine = Grid::mesh(&[3, 2, 5]).unwrap();
    let expected = [
        ("z = 3", 0, 0),
        ("z = 4", 3, 0),
        ("z = 0", 0, 2),
        ("z = 1", 3, 2),
        ("z = 2", 6, 2),
    ];
    let expected = expected.map(|(text, x, y)| (text.to_owned(), x, y));
    assert_eq!(headings(machine.into(), 3), expected);
    let layout = Layout::new(machine, 3, 1);
    assert_eq!(layout.planes().len(), 5);
    assert!(layout.has(5, 1) && !layout.has(6, 1) && layout.has(6, 2));
    assert_eq!(
        (layout.node(6, 1), layout.node(9, 0), layout.node(0, 4)),
        (None, None, None)
    );
    // x = 1, y = 1, z = 4.
    assert_eq!(layout.place(NodeId(4 * 6 + 3 + 1)), (4, 1));
    // Four dimensions have rows of planes already.
    let machine = Grid::mesh(&[3, 2, 5, 2]).unwrap();
    assert_eq!(Layout::new(machine, 3, 1).across.len(), 15);
}

#[test]
fn cubes_are_grids_of_planes() {
    let plan = Plan {
        machine: Grid::torus(&[8, 8, 8]).unwrap(),
        cube: Tuple::from_slice(&[4, 4, 4]),
    };
    let expected = [
        ("cube 0", 0, 0),
        ("cube 1", 8, 0),
        ("cube 4", 16, 0),
        ("cube 5", 24, 0),
        ("cube 2", 0, 8),
        ("cube 3", 8, 8),
        ("cube 6", 16, 8),
        ("cube 7", 24, 8),
    ];
    let expected = expected.map(|(text, x, y)| (text.to_owned(), x, y));
    assert_eq!(headings(plan, ONE_ROW), expected);
    let layout = Layout::new(plan, ONE_ROW, 1);
    let place = |at: [u16; 3]| layout.place(plan.machine.node(&at).unwrap());
    // The planes of a cube: 0 and 1 above 2 and 3.
    assert_eq!(place([1, 2, 0]), (1, 6));
    assert_eq!(place([1, 2, 1]), (5, 6));
    assert_eq!(place([1, 2, 3]), (5, 2));
    assert_eq!(place([5, 6, 6]), (16 + 8 + 1, 8 + 2));
}
