extern crate std;
use super::*;
use crate::grid::arcs::block_of;
use crate::node::NodeId;
use proptest::prelude::*;
use std::vec::Vec;

/// Sides, and the dimensions that wrap.
const GRIDS: [(&[u16], u16); 14] = [
    (&[1], 1),
    (&[7], 1),
    (&[70], 1),
    (&[5, 4], 0b11),
    (&[4, 5], 0b10),
    (&[67, 2], 0b01),
    (&[2, 3, 2], 0),
    (&[3, 3, 3], 0b111),
    (&[4, 3, 2], 0b101),
    (&[1, 4, 1], 0b110),
    (&[5, 5, 3], 0b011),
    (&[2, 2, 2, 2], 0),
    (&[3, 2, 2, 2], 0b1111),
    (&[2, 2, 3, 1, 2], 0b10101),
];

/// Every box of the grid.
fn boxes(grid: &Grid) -> Vec<Block> {
    let mut boxes = std::vec![Arcs::default()];
    for dimension in 0..grid.dimensions() {
        let side = grid.along(dimension);
        let arcs =
            (0..side.len).flat_map(|start| (1..=side.len).map(move |len| Arc { start, len }));
        let exists = |arc: &Arc| {
            if side.is_whole(*arc) {
                arc.start == 0
            } else {
                side.wraps || arc.start + arc.len <= side.len
            }
        };
        let arcs: Vec<Arc> = arcs.filter(exists).collect();
        let longer = boxes.iter().flat_map(|start| {
            arcs.iter().map(move |&arc| {
                let mut arcs = *start;
                arcs[dimension] = arc;
                arcs
            })
        });
        boxes = longer.collect();
    }
    boxes.iter().map(|arcs| block_of(grid, arcs)).collect()
}

/// A position and a length on the longest ring may add up to more than 16 bits.
#[test]
fn boxes_go_around_the_end_of_the_longest_ring() {
    let side = u16::MAX;
    let grid = Grid::torus(&[2, side]).unwrap();
    let words = Occupancy::words_needed(&grid);
    let (mut busy, mut faulty) = (std::vec![0; words], std::vec![0; words]);
    let mut occupancy = Occupancy::new(grid, &mut busy, &mut faulty, Some(0));
    occupancy.clear(grid, 0);
    let block = |start: [u16; 2], extent: [u16; 2]| grid.block(&start, &extent).unwrap();
    // Every row is a band: `..`, `.#`, `..`, `##` in turn, and at the end `..`, `.#`, `..`.
    for y in 0..side {
        match y % 4 {
            1 => _ = occupancy.mark_faulty(block([1, y], [1, 1])),
            3 => _ = occupancy.mark_faulty(block([0, y], [2, 1])),
            _ => {}
        }
    }
    let job = block([0, side - 1], [1, 3]);
    occupancy.mark_faulty(job);
    let mut memory = std::vec![0; Division::new(&grid).words()];
    let mut planes = Planes::new(&occupancy, [job].into_iter(), &[], &mut memory);
    let at_end = |planes: &mut Planes<'_>, blocks: &[Block]| {
        let mut found = Vec::new();
        planes.for_each_maximal_meeting(blocks, &|| (), &mut |arcs| {
            let found_block = block_of(&grid, arcs);
            if grid.overlap(found_block, block([0, side - 3], [2, 6])) {
                found.push(found_block);
            }
        });
        found
    };
    let narrow = block([0, side - 3], [1, 6]);
    let wide = block([0, side - 1], [2, 2]);
    planes.release(job);
    for blocks in [&[][..], &[job]] {
        let found = at_end(&mut planes, blocks);
        assert!(found.contains(&narrow) && found.contains(&wide));
        let others = found
            .iter()
            .filter(|found| **found != narrow && **found != wide);
        // Each row `..` that is not at the very end.
        assert_eq!(others.count(), if blocks.is_empty() { 2 } else { 0 });
    }
    planes.take(job);
    assert!(
        !at_end(&mut planes, &[])
            .iter()
            .any(|&found| grid.overlap(found, job))
    );
}

#[test]
fn a_box_may_be_as_long_as_the_longest_side() {
    let side = u16::MAX;
    let grid = Grid::new(&[2, side], 0b01).unwrap();
    let words = Occupancy::words_needed(&grid);
    let (mut busy, mut faulty) = (std::vec![0; words], std::vec![0; words]);
    let mut occupancy = Occupancy::new(grid, &mut busy, &mut faulty, Some(0));
    occupancy.clear(grid, 0);
    let block = |start: [u16; 2], extent: [u16; 2]| grid.block(&start, &extent).unwrap();
    // Every row is a band: `..` and `.#` in turn.
    for y in (1..side).step_by(2) {
        occupancy.mark_faulty(block([1, y], [1, 1]));
    }
    let job = block([0, 0], [1, 1]);
    occupancy.mark_faulty(job);
    let mut memory = std::vec![0; Division::new(&grid).words()];
    let mut planes = Planes::new(&occupancy, [job].into_iter(), &[], &mut memory);
    planes.release(job);
    let mut found = Vec::new();
    planes.for_each_maximal_meeting(&[job], &|| (), &mut |arcs| {
        found.push(block_of(&grid, arcs));
    });
    assert_eq!(found, [block([0, 0], [2, 1]), block([0, 0], [1, side])]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn they_are_the_free_boxes_that_no_other_free_box_covers(
        which in 0..GRIDS.len(),
        blocks in prop::collection::vec(any::<prop::sample::Index>(), 0..=MEETING_MAX),
        noise in prop::collection::vec(any::<u64>(), 70),
        density in 0u64..101,
    ) {
        let (sides, wraps) = GRIDS[which];
        let grid = Grid::new(sides, wraps).unwrap();
        let all = boxes(&grid);
        let blocks: Vec<Block> = blocks.iter().map(|index| all[index.index(all.len())]).collect();
        // The blocks of jobs are disjoint.
        let is_disjoint = blocks.iter().enumerate().all(|(at, &one)| !blocks[..at].iter().any(|&other| grid.overlap(one, other)));
        let blocks = if is_disjoint { &blocks[..] } else { &blocks[..1] };
        let words = Occupancy::words_needed(&grid);
        let (mut busy, mut faulty) = (std::vec![0; words], std::vec![0; words]);
        let mut occupancy = Occupancy::new(grid, &mut busy, &mut faulty, Some(0));
        occupancy.clear(grid, 0);
        let nodes = || (0..grid.nodes()).map(NodeId);
        let unit = |node: NodeId| grid.unit(node).unwrap();
        let mut fixed = std::vec![0; words];
        for node in nodes() {
            let random = noise[node.0 as usize % 70].rotate_left(node.0);
            if random % 100 < density {
                occupancy.mark_faulty(unit(node));
            }
            if random >> 32 & 7 == 0 {
                fixed[(node.0 / WORD_BITS) as usize] |= 1 << (node.0 % WORD_BITS);
            }
        }
        for &block in blocks {
            occupancy.mark_faulty(block);
        }
        let is_fixed = |node: NodeId| fixed[(node.0 / WORD_BITS) as usize] >> (node.0 % WORD_BITS) & 1 == 1;
        let maximal = |is_free: &dyn Fn(NodeId) -> bool| {
            let is_free = |block: Block| nodes().all(|node| !grid.holds(block, node) || is_free(node));
            let free: Vec<Block> = all.iter().copied().filter(|&block| is_free(block)).collect();
            let covers = |outer: Block, inner: Block| nodes().all(|node| grid.holds(outer, node) || !grid.holds(inner, node));
            let maximal = free.iter().copied().filter(|&block| free.iter().all(|&other| other == block || !covers(other, block)));
            let mut codes: Vec<u64> = maximal.map(Block::into_raw).collect();
            codes.sort_unstable();
            codes
        };
        let mut memory = std::vec![0x55; Division::new(&grid).words()];
        let mut planes = Planes::new(&occupancy, blocks.iter().copied(), &fixed, &mut memory);
        let found = |planes: &mut Planes<'_>, blocks: &[Block]| {
            let mut found = Vec::new();
            planes.for_each_maximal_meeting(blocks, &|| (), &mut |arcs| found.push(block_of(&grid, arcs).into_raw()));
            found.sort_unstable();
            found
        };
        // Naive checks of large grids take long.
        prop_assume!(all.len() < 2_000 || density > 60);
        let now = maximal(&|node| !occupancy.is_busy(node));
        prop_assert_eq!(found(&mut planes, &[]), &now[..]);
        for &block in blocks {
            planes.release(block);
        }
        let held = |node| blocks.iter().any(|&block| grid.holds(block, node));
        let mut then = maximal(&|node| !occupancy.is_busy(node) || (held(node) && !is_fixed(node)));
        prop_assert_eq!(found(&mut planes, &[]), &then[..]);
        then.retain(|&code| blocks.iter().all(|&block| grid.overlap(Block::from_raw(code), block)));
        prop_assert_eq!(found(&mut planes, blocks), then);
        for &block in blocks {
            planes.take(block);
        }
        prop_assert_eq!(found(&mut planes, &[]), now);
    }
}
