//! The processors of blocks by their numbers.

use meshalloc::{Block, Grid, NodeId};

/// First and last number of processors in a row of numbers, both included.
pub type Interval = (u32, u32);

/// The processors of disjoint blocks as the fewest intervals, ascending. For `r` rows of processors
/// along dimension 0 in all blocks together, O(r log r).
pub fn intervals(machine: Grid, blocks: &[Block]) -> Vec<Interval> {
    let mut rows = Vec::new();
    for &block in blocks {
        push_rows(machine, block, &mut rows);
    }
    rows.sort_unstable();
    rows.dedup_by(|next, last| {
        let touches = last.1 + 1 == next.0;
        if touches {
            last.1 = next.1;
        }
        touches
    });
    rows
}

/// Adds the rows of a block along dimension 0; one that goes on at the other side is two.
fn push_rows(machine: Grid, block: Block, rows: &mut Vec<Interval>) {
    let (mut at, extent) = (machine.start(block), machine.extent(block));
    let start = machine.start(block);
    let (side, length) = (u32::from(machine.side(0)), u32::from(extent[0]));
    let mut offsets = vec![0; machine.dimensions()];
    loop {
        if let Some(NodeId(first)) = machine.node(&at) {
            let before_edge = length.min(side - u32::from(at[0]));
            rows.push((first, first + before_edge - 1));
            if length > before_edge {
                let begin = first - u32::from(at[0]);
                rows.push((begin, begin + length - before_edge - 1));
            }
        }
        // The next row: the lowest dimension that has one more coordinate goes on, those below
        // begin anew.
        let next = (1..machine.dimensions()).find(|&d| offsets[d] + 1 < extent[d]);
        let Some(next) = next else { return };
        offsets[1..next].fill(0);
        offsets[next] += 1;
        for dimension in 1..=next {
            let sum = u32::from(start[dimension]) + u32::from(offsets[dimension]);
            at[dimension] = (sum % u32::from(machine.side(dimension))) as u16;
        }
    }
}

/// Intervals as a text that interval sets are read from: `0-3 8 12-15`.
pub fn text(intervals: &[Interval]) -> String {
    let texts = intervals.iter().map(|&(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_exactly_the_processors_that_the_grid_says_blocks_hold() {
        for machine in [
            Grid::mesh(&[5, 4]).unwrap(),
            Grid::mesh(&[7]).unwrap(),
            Grid::new(&[4, 3, 3], 0b101).unwrap(),
            Grid::torus(&[2, 3, 2, 2]).unwrap(),
        ] {
            let nodes = || (0..machine.nodes()).map(NodeId);
            for start in nodes() {
                for extent in nodes() {
                    let mut extent = machine.coordinates(extent).unwrap();
                    extent.iter_mut().for_each(|extent| *extent += 1);
                    let start = machine.coordinates(start).unwrap();
                    let Some(block) = machine.block(&start, &extent) else {
                        continue;
                    };
                    let found = intervals(machine, &[block]);
                    let held = |&node: &NodeId| machine.holds(block, node);
                    let expected: Vec<u32> = nodes().filter(held).map(|node| node.0).collect();
                    let numbers = found.iter().flat_map(|&(first, last)| first..=last);
                    assert_eq!(
                        numbers.collect::<Vec<_>>(),
                        expected,
                        "{}",
                        machine.place(block)
                    );
                    let gaps = expected.windows(2).filter(|pair| pair[0] + 1 < pair[1]);
                    assert_eq!(found.len(), gaps.count() + 1);
                }
            }
        }
    }

    #[test]
    fn blocks_that_touch_are_one_interval() {
        let machine = Grid::mesh(&[4, 2]).unwrap();
        let block = |x, w| machine.block(&[x, 0], &[w, 1]).unwrap();
        let found = intervals(machine, &[block(2, 2), block(0, 2)]);
        assert_eq!((text(&found), found), ("0-3".to_owned(), vec![(0, 3)]));
        assert_eq!(text(&[(1, 1), (3, 5)]), "1 3-5");
        assert_eq!(text(&intervals(machine, &[])), "");
    }
}
