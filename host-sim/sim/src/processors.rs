//! The processors of blocks by their numbers.

use meshalloc::{Block, DIMENSIONS_MAX, Grid, NodeId};

/// First and last number of processors in a row of numbers, both included.
pub type Interval = (u32, u32);

/// The processors of disjoint blocks as the fewest intervals, ascending. For `r` rows of processors
/// along dimension 0 in all blocks together, O(r log r).
pub fn intervals(machine: Grid, blocks: &[Block]) -> Vec<Interval> {
    let (mut rows, mut firsts) = (Vec::new(), Vec::new());
    let side = u32::from(machine.side(0));
    for &block in blocks {
        let (start, extent) = (machine.start(block), machine.extent(block));
        let (x, length) = (u32::from(start[0]), u32::from(extent[0]));
        let span = |dimension| match dimension {
            0 => (x, 1),
            _ => (start[dimension].into(), extent[dimension].into()),
        };
        firsts.clear();
        push_box(machine, span, 0..machine.dimensions(), &mut firsts);
        // A row that wraps around is two rows.
        let before_edge = length.min(side - x);
        for &NodeId(first) in &firsts {
            rows.push((first, first + before_edge - 1));
            if length > before_edge {
                let begin = first - x;
                rows.push((begin, begin + length - before_edge - 1));
            }
        }
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

/// Adds the processors of a box that has this start and extent along each dimension. `order` names
/// all dimensions; coordinates change fastest along its first dimension.
pub(crate) fn push_box(
    machine: Grid,
    span: impl Fn(usize) -> (u32, u32),
    order: impl IntoIterator<Item = usize>,
    nodes: &mut Vec<NodeId>,
) {
    let mut strides = [1; DIMENSIONS_MAX];
    for dimension in 1..machine.dimensions() {
        strides[dimension] = strides[dimension - 1] * u32::from(machine.side(dimension - 1));
    }
    let first = nodes.len();
    nodes.push(NodeId(0));
    for dimension in order {
        let (side, stride) = (u32::from(machine.side(dimension)), strides[dimension]);
        let (start, extent) = span(dimension);
        // The processors so far have no coordinate in this dimension: each is copied for every
        // coordinate but the first.
        let so_far = nodes.len();
        for offset in 1..extent {
            let added = (start + offset) % side * stride;
            for place in first..so_far {
                nodes.push(NodeId(nodes[place].0 + added));
            }
        }
        for NodeId(node) in &mut nodes[first..so_far] {
            *node += start * stride;
        }
    }
}

/// Intervals as a text that interval sets are read from: `0-3 8 12-15`.
pub fn text(intervals: &[Interval]) -> String {
    let texts = intervals.iter().map(|&(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
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
