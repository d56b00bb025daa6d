//! Where the processors of a machine are in a picture: columns, rows, and the gaps between them.
//!
//! A machine is drawn as planes of two dimensions: dimension 0 goes to the right and dimension 1
//! upwards, dimension 2 to the right from plane to plane, dimension 3 upwards from one row of
//! planes to the next, and so on in turn. Between planes there are gaps, the wider the higher the
//! dimension in which they lie apart.
//!
//! ```text
//!   2-ary 4-cube, node numbers in radix 2
//!   1010 1011  1110 1111
//!   1000 1001  1100 1101
//!
//!   0010 0011  0110 0111
//!   0000 0001  0100 0101
//! ```

use std::ops::Range;

use meshalloc::{Block, Grid, NodeId};

use meshalloc_sim::names;

/// Columns and rows of a picture.
#[derive(Clone, Debug)]
pub struct Layout {
    machine: Grid,
    /// The columns, from the left.
    pub across: Axis,
    /// The rows, from below.
    pub up: Axis,
}

/// A dimension along one side of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Its number.
    number: usize,
    /// What it is called.
    pub name: String,
    /// Its side.
    pub side: usize,
    /// How many processors along this side of the picture have the same coordinate in it, one after
    /// another.
    pub stride: usize,
}

impl Dimension {
    /// The coordinate of a column or row in this dimension.
    pub fn coordinate(&self, at: usize) -> usize {
        at / self.stride % self.side
    }
}

/// The processors along one side of a picture.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The dimensions along this axis, the lowest first.
    dimensions: Vec<Dimension>,
    /// Whether the dimensions are labelled: not in a picture that is a single plane with columns
    /// and rows.
    is_named: bool,
    /// For each processor how wide the gaps before it are together, in units of the least gap.
    gaps: Vec<usize>,
}

/// A rectangle of processors without a gap in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rect {
    /// Columns.
    pub x: Range<usize>,
    /// Rows.
    pub y: Range<usize>,
}

impl Layout {
    /// The picture of a machine, with gaps from the level `finest`, at least 1, on: the gaps of
    /// level 1 lie between planes next to each other, those of level 2 between groups of such
    /// planes, and so on. Each is wider by one unit than those of the level below.
    pub fn new(machine: Grid, finest: usize) -> Layout {
        Layout {
            machine,
            across: Axis::new(machine, 0, finest),
            up: Axis::new(machine, 1, finest),
        }
    }

    /// Column and row of a processor.
    pub fn place(&self, node: NodeId) -> (usize, usize) {
        let (mut place, mut rest) = ([0, 0], node.0 as usize);
        let mut strides = [1, 1];
        for (number, &side) in self.machine.sides().iter().enumerate() {
            let side = usize::from(side);
            place[number % 2] += rest % side * strides[number % 2];
            strides[number % 2] *= side;
            rest /= side;
        }
        (place[0], place[1])
    }

    /// The rectangles that a block is in the picture, row by row.
    pub fn rectangles(&self, block: Block) -> Vec<Rect> {
        let (start, extent) = (self.machine.start(block), self.machine.extent(block));
        let [columns, rows] = [&self.across, &self.up].map(|axis| axis.within(&start, &extent));
        let rectangles = rows.iter().flat_map(|y| {
            columns.iter().map(|x| Rect {
                x: x.clone(),
                y: y.clone(),
            })
        });
        rectangles.collect()
    }

    /// What a picture of several planes is to be read by, in lines; nothing for a single one with
    /// columns and rows.
    pub fn directions(&self) -> Vec<String> {
        let direction = |name: &str, axis: &Axis| {
            let dimensions = axis.dimensions().iter().rev();
            let names: Vec<_> = dimensions.map(|dimension| &*dimension.name).collect();
            (!names.is_empty()).then(|| format!("{name}: {}", names.join(" ")))
        };
        let right = direction("to the right", &self.across);
        right
            .into_iter()
            .chain(direction("upwards", &self.up))
            .collect()
    }

    /// The parts of the picture that have no gap, row by row.
    pub fn planes(&self) -> Vec<Rect> {
        let columns = self.across.stretches();
        let rows = self.up.stretches();
        let planes = rows
            .iter()
            .flat_map(|y| columns.iter().map(|x| (x.clone(), y.clone())));
        planes.map(|(x, y)| Rect { x, y }).collect()
    }
}

impl Axis {
    /// Every second dimension of the machine from `first` on.
    fn new(machine: Grid, first: usize, finest: usize) -> Axis {
        let mut stride = 1;
        let numbers = (first..machine.dimensions()).step_by(2);
        let dimensions: Vec<Dimension> = numbers
            .map(|number| {
                let side = usize::from(machine.side(number));
                let dimension = Dimension {
                    number,
                    name: names::dimension(machine, number),
                    side,
                    stride,
                };
                stride *= side;
                dimension
            })
            .collect();
        let mut before = 0;
        let gaps = (0..stride).map(|at| {
            before += (level(&dimensions, at) + 1).saturating_sub(finest.max(1));
            before
        });
        Axis {
            gaps: gaps.collect(),
            is_named: machine.dimensions() > 2 || machine.is_written_high_first(),
            dimensions,
        }
    }

    /// The number of processors.
    #[expect(clippy::len_without_is_empty, reason = "there is a processor at least")]
    pub fn len(&self) -> usize {
        self.gaps.len()
    }

    /// The dimensions along this axis, the lowest first; none in a picture that is a single plane
    /// with columns and rows.
    pub fn dimensions(&self) -> &[Dimension] {
        match self.is_named {
            true => &self.dimensions,
            false => &[],
        }
    }

    /// How wide all gaps before this processor are together, in units of the least.
    pub fn gaps_before(&self, at: usize) -> usize {
        self.gaps[at]
    }

    /// How wide all gaps are together, in units of the least.
    pub fn gaps(&self) -> usize {
        self.gaps.last().copied().unwrap_or(0)
    }

    /// The processors between gaps.
    pub fn stretches(&self) -> Vec<Range<usize>> {
        self.runs(0..self.len(), |_| true)
    }

    /// The processors whose coordinates are within a block.
    fn within(&self, start: &[u16], extent: &[u16]) -> Vec<Range<usize>> {
        self.runs(0..self.len(), |at| {
            self.dimensions.iter().all(|dimension| {
                let [start, extent] = [start, extent].map(|of| usize::from(of[dimension.number]));
                let side = dimension.side;
                (dimension.coordinate(at) + side - start) % side < extent
            })
        })
    }

    /// The longest runs within `range` for which it holds, each without a gap.
    pub fn runs(&self, range: Range<usize>, holds: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for at in range.filter(|&at| holds(at)) {
            match runs.last_mut() {
                Some(run) if run.end == at && self.gaps[run.start] == self.gaps[at] => run.end += 1,
                _ => runs.push(at..at + 1),
            }
        }
        runs
    }
}

/// How many dimensions begin anew at this place of an axis, from the lowest on: the level of the
/// gap before it.
fn level(dimensions: &[Dimension], at: usize) -> usize {
    let ends = |dimension: &&Dimension| at.is_multiple_of(dimension.stride * dimension.side);
    match at {
        0 => 0,
        _ => dimensions.iter().take_while(ends).count(),
    }
}

#[cfg(test)]
mod tests {
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
            let layout = Layout::new(machine, 1);
            assert_eq!((layout.across.len(), layout.up.len()), size);
            let mut seen = vec![false; size.0 * size.1];
            for node in (0..machine.nodes()).map(NodeId) {
                let (x, y) = layout.place(node);
                assert!(!std::mem::replace(&mut seen[y * size.0 + x], true));
                let coordinates = machine.coordinates(node).unwrap();
                for (axis, at) in [(&layout.across, x), (&layout.up, y)] {
                    for dimension in &axis.dimensions {
                        let expected = usize::from(coordinates[dimension.number]);
                        assert_eq!(dimension.coordinate(at), expected);
                    }
                }
            }
        }
        let layout = Layout::new(grid(&[6, 4]), 1);
        assert_eq!(layout.place(NodeId(6 * 3 + 2)), (2, 3));
        assert_eq!(layout.planes(), [Rect { x: 0..6, y: 0..4 }]);
    }

    #[test]
    fn gaps_grow_with_the_level() {
        let axis = Layout::new(cube(2, 6), 1).across;
        assert_eq!(axis.gaps, [0, 0, 1, 1, 3, 3, 4, 4]);
        assert_eq!(axis.stretches(), [0..2, 2..4, 4..6, 6..8]);
        let axis = Layout::new(cube(2, 6), 2).across;
        assert_eq!(axis.gaps, [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(axis.stretches(), [0..4, 4..8]);
        let axis = Layout::new(cube(2, 6), 3).across;
        assert_eq!((axis.gaps(), axis.stretches().len()), (0, 1));
        let axis = Layout::new(Grid::mesh(&[3, 9, 2]).unwrap(), 1).across;
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
        for machine in [
            cube(4, 3),
            cube(5, 2),
            cube(2, 6),
            cube(7, 1),
            Grid::mesh(&[4, 3, 3]).unwrap(),
            Grid::new(&[3, 2, 4, 2], 0b0101).unwrap(),
        ] {
            for block in blocks(machine).into_iter().step_by(7) {
                for finest in 1..3 {
                    let layout = Layout::new(machine, finest);
                    let rectangles = layout.rectangles(block);
                    for node in (0..machine.nodes()).map(NodeId) {
                        let (x, y) = layout.place(node);
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
                }
            }
        }
    }
}
