extern crate std;

use super::*;
use crate::layout::Layout;
use crate::node::NodeId;
use crate::word::WORD_BITS;
use proptest::prelude::*;
use std::string::ToString;
use std::vec::Vec;

/// Any grid of up to some hundred processors.
fn grids() -> impl Strategy<Value = Grid> {
    let sides = prop::collection::vec(1u16..7, 1..6);
    (sides, any::<u16>()).prop_filter_map("too large", |(sides, wraps)| {
        let wraps = wraps & ((1 << sides.len()) - 1);
        let grid = Grid::new(&sides, wraps).ok();
        grid.filter(|grid| grid.nodes() <= 600)
    })
}

/// Any block of a grid, by start and extent.
fn blocks(grid: Grid) -> impl Strategy<Value = (Grid, Block, Vec<u16>, Vec<u16>)> {
    let one = prop::collection::vec((any::<u16>(), any::<u16>()), grid.dimensions());
    one.prop_map(move |numbers| {
        let mut start = Vec::new();
        let mut extent = Vec::new();
        for (at, ((from, len), &side)) in numbers.into_iter().zip(grid.sides()).enumerate() {
            let from = from % side;
            let room = if grid.wraps(at) { side } else { side - from };
            start.push(from);
            extent.push(1 + len % room);
        }
        let block = grid.block(&start, &extent).unwrap();
        (grid, block, start, extent)
    })
}

/// Whether each node belongs to the block, step by step from its start.
fn nodes(grid: &Grid, start: &[u16], extent: &[u16]) -> Vec<bool> {
    let within = |node: u32| {
        let at = grid.coordinates(NodeId(node)).unwrap();
        (0..grid.dimensions()).all(|dimension| {
            let side = grid.side(dimension);
            let mut steps = (0..extent[dimension]).map(|by| (start[dimension] + by) % side);
            steps.any(|step| step == at[dimension])
        })
    };
    (0..grid.nodes()).map(within).collect()
}

proptest! {
    #[test]
    fn a_block_is_the_nodes_between_its_start_and_its_end(
        (grid, block, start, extent) in grids().prop_flat_map(blocks),
    ) {
        let held = nodes(&grid, &start, &extent);
        prop_assert_eq!(&*grid.start(block), &*start);
        prop_assert_eq!(&*grid.extent(block), &*extent);
        prop_assert_eq!(grid.area(block) as usize, held.iter().filter(|&&held| held).count());
        for (node, &held) in (0..).zip(&held) {
            prop_assert_eq!(grid.holds(block, NodeId(node)), held);
        }
        let layout = Layout::new(grid);
        let mut marked = std::vec![0; layout.rows() * layout.row_words()];
        layout.words(block, |word, bits| {
            marked[word] |= bits;
            true
        });
        let len = grid.row_len();
        for (node, &held) in (0..).zip(&held) {
            let at = node % len;
            let word = (node / len) as usize * layout.row_words() + (at / WORD_BITS) as usize;
            prop_assert_eq!(marked[word] >> (at % WORD_BITS) & 1 == 1, held);
        }
        let bits: u32 = marked.iter().map(|word| word.count_ones()).sum();
        prop_assert_eq!(bits, grid.area(block));
    }

    #[test]
    fn blocks_overlap_if_they_share_a_node(
        ((grid, one, start, extent), (_, other, other_start, other_extent)) in
            grids().prop_flat_map(|grid| (blocks(grid), blocks(grid))),
    ) {
        let (one_nodes, other_nodes) = (
            nodes(&grid, &start, &extent),
            nodes(&grid, &other_start, &other_extent),
        );
        let share = one_nodes.iter().zip(&other_nodes).any(|(one, other)| one & other);
        prop_assert_eq!(grid.overlap(one, other), share);
        prop_assert_eq!(
            grid.digest(one) == grid.digest(other),
            (start, extent) == (other_start, other_extent)
        );
    }

    #[test]
    fn a_grid_is_read_as_it_is_written(grid in grids()) {
        prop_assert_eq!(grid.to_string().parse(), Ok(grid));
        for node in (0..grid.nodes()).map(NodeId) {
            let at = grid.coordinates(node).unwrap();
            prop_assert_eq!(grid.node(&at), Some(node));
            prop_assert!(grid.holds(grid.unit(node).unwrap(), node));
        }
        prop_assert_eq!(grid.coordinates(NodeId(grid.nodes())), None);
    }

    #[test]
    fn numbers_from_a_line_are_a_block_or_refused(grid in grids(), codes in any::<[u16; 4]>()) {
        let block = Block::from_codes(
            u32::from(codes[0]) | u32::from(codes[1]) << 16,
            u32::from(codes[2]) | u32::from(codes[3]) << 16,
        );
        if grid.contains(block) {
            prop_assert_eq!(grid.block(&grid.start(block), &grid.extent(block)), Some(block));
        }
    }
}

/// The drawings in the documentation of [`Block`].
#[test]
fn a_block_is_packed_as_drawn() {
    let mesh = Grid::mesh(&[6, 4]).unwrap();
    let block = mesh.block(&[1, 2], &[3, 2]).unwrap();
    assert_eq!(block.start_code(), 2 << 16 | 1);
    assert_eq!(block.extent_code(), 2 << 16 | 3);
    let mesh = Grid::mesh(&[8, 5, 2]).unwrap();
    let block = mesh.block(&[6, 3, 1], &[2, 1, 1]).unwrap();
    assert_eq!(block.start_code(), 1 << 6 | 3 << 3 | 6);
    assert_eq!(block.extent_code(), 1);
}

/// The drawing in the documentation of [`Grid::overlap`].
#[test]
fn blocks_around_a_ring_overlap_as_drawn() {
    let ring = Grid::torus(&[8]).unwrap();
    let [a, b] = [(6, 3), (0, 2)].map(|(start, extent)| ring.block(&[start], &[extent]).unwrap());
    assert!(ring.overlap(a, b) && ring.overlap(b, a));
}

#[test]
fn grids_are_those_that_fit() {
    for (sides, wraps, error) in [
        (&[][..], 0, GridError::Dimensions { dimensions: 0 }),
        (&[1; 17], 0, GridError::Dimensions { dimensions: 17 }),
        (&[4, 0], 0, GridError::NoSide { dimension: 1 }),
        (&[4, 1025], 0, GridError::MeshSide { side: 1025 }),
        (&[1025, 1024], 1, GridError::TooManyNodes),
        (&[65_535; 16], 0, GridError::TooManyNodes),
        (&[4, 4], 0b100, GridError::Wrap { dimension: 2 }),
    ] {
        assert_eq!(Grid::new(sides, wraps), Err(error), "{sides:?}");
    }
    for (sides, wraps, nodes) in [
        (&[1][..], 0, 1),
        (&[65_535], 1, 65_535),
        (&[1024, 1024], 0, NODES_MAX),
        (&[2048, 512], 1, NODES_MAX),
        (&[2; 16], u16::MAX, 65_536),
        (
            &[4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
            0,
            NODES_MAX,
        ),
    ] {
        let grid = Grid::new(sides, wraps).unwrap();
        assert_eq!(grid.nodes(), nodes);
        let whole = grid.block(&std::vec![0; sides.len()], sides).unwrap();
        assert_eq!(grid.area(whole), nodes);
        assert!(!whole.is_none());
    }
}

#[test]
fn a_grid_has_one_text() {
    for text in [
        "mesh 16x22",
        "mesh 7",
        "torus 8x8x16",
        "mesh 8x8x16 wrap 2",
        "mesh 8x8x16 wrap 0,2",
        "4-ary 3-cube",
    ] {
        assert_eq!(text.parse::<Grid>().unwrap().to_string(), text);
    }
    for text in [
        "",
        "mesh",
        "mesh 4x",
        "mesh 4x4 wrap",
        "torus 4x4 x",
        "ring 4",
        "4-ary cube",
        "1-ary 3-cube",
        "mesh 4x4 wrap 16",
        "mesh 4x4 wrap +1",
        "mesh +4x4",
        "+4-ary 3-cube",
        "4-ary +3-cube",
    ] {
        assert!(text.parse::<Grid>().is_err(), "{text}");
    }
}

#[test]
fn a_text_with_a_side_of_zero_is_refused_by_the_dimension_of_that_side() {
    for (text, dimension) in [
        ("mesh 4x0", 1),
        ("torus 4x4x0x4", 2),
        ("mesh 4x4x4x4x0 wrap 1", 4),
    ] {
        let refused = GridTextError::Grid(GridError::NoSide { dimension });
        assert_eq!(text.parse::<Grid>(), Err(refused), "{text}");
    }
}

#[test]
fn a_cube_is_written_the_highest_dimension_first() {
    let cube: Grid = "4-ary 2-cube".parse().unwrap();
    // x = 3 and y = 1, around the ring of x.
    let around = cube.block(&[3, 1], &[2, 2]).unwrap();
    assert_eq!(cube.place(around).to_string(), "(1, 3)+(2, 2)");
    assert_eq!(cube.digest(around), [7, 8, 1]);
    let torus = Grid::torus(&[4, 4]).unwrap();
    assert_eq!(torus.place(around).to_string(), "(3, 1)+(2, 2)");
    let mesh = Grid::mesh(&[6, 4]).unwrap();
    let block = mesh.block(&[1, 1], &[3, 2]).unwrap();
    assert_eq!(mesh.place(block).to_string(), "(<1, 1>, <3, 2>)");
    assert_eq!(mesh.digest(block), [7, 3, 2]);
    assert_eq!(mesh.block(&[4, 1], &[3, 2]), None);
}
