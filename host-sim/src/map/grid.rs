//! Where the processors of a machine are in a picture: columns, rows, and the gaps between them.
//!
//! A mesh is drawn as it is. A cube is drawn as planes of two dimensions: dimension 0 goes to the right and
//! dimension 1 upwards, dimension 2 to the right from plane to plane, dimension 3 upwards from one row of planes to the
//! next, and so on in turn. Between planes there are gaps, the wider the higher the dimension in which they lie apart.
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

use meshalloc::{Block, Machine, NodeId};

/// Columns and rows of a picture.
#[derive(Clone, Debug)]
pub struct Grid {
    /// The columns, from the left.
    pub across: Axis,
    /// The rows, from below.
    pub up: Axis,
}

/// The processors along one side of a picture.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The dimensions of a cube along this axis, the lowest first; none on a mesh.
    dimensions: Vec<usize>,
    /// The cube's k; the whole side of a mesh.
    radix: usize,
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

impl Grid {
    /// The picture of a machine, with gaps from the level `finest` on: the gaps of level 1 lie between planes next to
    /// each other, those of level 2 between groups of k planes, and so on. Each is wider by one unit than those of
    /// the level below.
    pub fn new(machine: Machine, finest: usize) -> Grid {
        match machine {
            Machine::Mesh(mesh) => {
                let sides = mesh.sides();
                Grid {
                    across: Axis::plain(sides.w.into()),
                    up: Axis::plain(sides.h.into()),
                }
            }
            Machine::Cube(cube) => {
                let axis = |first: usize| {
                    let dimensions = (first..cube.n().into()).step_by(2).collect();
                    Axis::digits(dimensions, cube.k().into(), finest)
                };
                Grid {
                    across: axis(0),
                    up: axis(1),
                }
            }
            other => unreachable!("there is no such machine: {other}"),
        }
    }

    /// Column and row of a processor.
    pub fn place(&self, node: NodeId) -> (usize, usize) {
        let mut rest = node.0 as usize;
        if self.across.dimensions.is_empty() {
            return (rest % self.across.len(), rest / self.across.len());
        }
        let radix = self.across.radix;
        let (mut place, mut stride) = ((0, 0), 1);
        while rest > 0 {
            place.0 += rest % radix * stride;
            place.1 += rest / radix % radix * stride;
            rest /= radix * radix;
            stride *= radix;
        }
        place
    }

    /// The rectangles that a block is in the picture, row by row.
    pub fn rectangles(&self, block: Block) -> Vec<Rect> {
        let [columns, rows] = match block {
            Block::Submesh(submesh) => {
                let side = |from: u16, len: u16| {
                    let range = usize::from(from)..usize::from(from + len);
                    vec![range]
                };
                let (base, sides) = (submesh.base, submesh.sides);
                [side(base.x, sides.w), side(base.y, sides.h)]
            }
            Block::Subcube(subcube) => {
                let (start, extents) = (subcube.start(), subcube.extents());
                // Dimension 0 is the last.
                let spans = start.iter().zip(extents.iter()).rev();
                let spans: Vec<_> = spans
                    .map(|(&from, &len)| (usize::from(from), usize::from(len)))
                    .collect();
                [&self.across, &self.up].map(|axis| axis.within(&spans))
            }
            other => unreachable!("there is no such block: {other}"),
        };
        let rectangles = rows.iter().flat_map(|y| {
            columns.iter().map(|x| Rect {
                x: x.clone(),
                y: y.clone(),
            })
        });
        rectangles.collect()
    }

    /// What a picture of a cube is to be read by, in lines; nothing for a mesh.
    pub fn directions(&self) -> Vec<String> {
        let direction = |name: &str, axis: &Axis| {
            let digits = axis.dimensions.iter().rev();
            let digits: Vec<_> = digits.map(|dimension| format!("A[{dimension}]")).collect();
            let more = !digits.is_empty();
            more.then(|| format!("{name}: {}", digits.join(" ")))
        };
        let right = direction("to the right", &self.across);
        right
            .into_iter()
            .chain(direction("upwards", &self.up))
            .collect()
    }

    /// The parts of the picture that have no gap, row by row: a mesh as a whole, the planes of a cube.
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
    fn plain(len: usize) -> Axis {
        Axis {
            dimensions: Vec::new(),
            radix: len,
            gaps: vec![0; len],
        }
    }

    fn digits(dimensions: Vec<usize>, radix: usize, finest: usize) -> Axis {
        let len = radix.pow(dimensions.len() as u32);
        let mut before = 0;
        let gaps = (0..len).map(|at| {
            before += (level(at, radix) + 1).saturating_sub(finest);
            before
        });
        Axis {
            gaps: gaps.collect(),
            dimensions,
            radix,
        }
    }

    /// The number of processors.
    #[expect(clippy::len_without_is_empty, reason = "there is a processor at least")]
    pub fn len(&self) -> usize {
        self.gaps.len()
    }

    /// The dimensions of a cube along this axis, the lowest first; none on a mesh.
    pub fn dimensions(&self) -> &[usize] {
        &self.dimensions
    }

    /// The cube's k; the whole side of a mesh.
    pub fn radix(&self) -> usize {
        self.radix
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

    /// The digits of a processor's address along this axis, the highest dimension first.
    pub fn address(&self, at: usize) -> Vec<usize> {
        let strides = (0..self.dimensions.len() as u32).rev();
        strides
            .map(|level| at / self.radix.pow(level) % self.radix)
            .collect()
    }

    /// The processors whose digits are within the spans, start and length of each dimension.
    fn within(&self, spans: &[(usize, usize)]) -> Vec<Range<usize>> {
        let radix = self.radix;
        self.runs(0..self.len(), |at| {
            let mut rest = at;
            self.dimensions.iter().all(|&dimension| {
                let (from, len) = spans[dimension];
                let digit = rest % radix;
                rest /= radix;
                (digit + radix - from) % radix < len
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

/// How many dimensions begin anew at this place of an axis, from the lowest on: the level of the gap before it.
fn level(mut at: usize, radix: usize) -> usize {
    let mut level = 0;
    while at > 0 && at.is_multiple_of(radix) {
        at /= radix;
        level += 1;
    }
    level
}

#[cfg(test)]
mod tests {
    use meshalloc::{Cube, Mesh, Subcube};

    use super::*;

    fn cube(k: u16, n: u8) -> Cube {
        Cube::new(k, n).unwrap()
    }

    #[test]
    fn dimensions_go_right_and_up_in_turn() {
        for (k, n, size) in [
            (4, 1, (4, 1)),
            (5, 2, (5, 5)),
            (4, 3, (16, 4)),
            (3, 4, (9, 9)),
            (2, 12, (64, 64)),
            (2, 5, (8, 4)),
        ] {
            let cube = cube(k, n);
            let grid = Grid::new(cube.into(), 1);
            assert_eq!((grid.across.len(), grid.up.len()), size);
            let mut seen = vec![false; size.0 * size.1];
            for node in (0..cube.nodes()).map(NodeId) {
                let (x, y) = grid.place(node);
                assert!(!std::mem::replace(&mut seen[y * size.0 + x], true));
                // The digits along both axes, put together again.
                let address = cube.address(node).unwrap();
                let digits = address.iter().rev().map(|&digit| usize::from(digit));
                let (right, up): (Vec<_>, Vec<_>) = digits
                    .enumerate()
                    .partition(|(dimension, _)| dimension % 2 == 0);
                let strip = |digits: Vec<(usize, usize)>| -> Vec<usize> {
                    digits.into_iter().rev().map(|(_, digit)| digit).collect()
                };
                assert_eq!(grid.across.address(x), strip(right));
                assert_eq!(grid.up.address(y), strip(up));
            }
        }
        let grid = Grid::new(Mesh::new(6, 4).unwrap().into(), 1);
        assert_eq!(grid.place(NodeId(6 * 3 + 2)), (2, 3));
        assert_eq!(grid.planes(), [Rect { x: 0..6, y: 0..4 }]);
    }

    #[test]
    fn gaps_grow_with_the_level() {
        let axis = Grid::new(cube(2, 6).into(), 1).across;
        assert_eq!(axis.gaps, [0, 0, 1, 1, 3, 3, 4, 4]);
        assert_eq!(axis.stretches(), [0..2, 2..4, 4..6, 6..8]);
        let axis = Grid::new(cube(2, 6).into(), 2).across;
        assert_eq!(axis.gaps, [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(axis.stretches(), [0..4, 4..8]);
        let axis = Grid::new(cube(2, 6).into(), 3).across;
        assert_eq!((axis.gaps(), axis.stretches().len()), (0, 1));
    }

    #[test]
    fn rectangles_have_the_nodes_of_their_block() {
        for (k, n) in [(4, 3), (5, 2), (3, 4), (2, 6), (7, 1)] {
            let cube = cube(k, n);
            for first in (0..cube.nodes()).step_by(3) {
                for last in (0..cube.nodes()).step_by(5) {
                    let block = Subcube::between(cube, NodeId(first), NodeId(last)).unwrap();
                    for finest in 1..3 {
                        let grid = Grid::new(cube.into(), finest);
                        let rectangles = grid.rectangles(block.into());
                        for node in (0..cube.nodes()).map(NodeId) {
                            let (x, y) = grid.place(node);
                            let holding = rectangles
                                .iter()
                                .filter(|rect| rect.x.contains(&x) && rect.y.contains(&y));
                            let times = usize::from(block.contains(node));
                            assert_eq!(holding.count(), times, "{block} {node}");
                        }
                        for rect in &rectangles {
                            let gaps = |axis: &Axis, range: &Range<usize>| {
                                axis.gaps_before(range.end - 1) - axis.gaps_before(range.start)
                            };
                            assert_eq!(gaps(&grid.across, &rect.x), 0);
                            assert_eq!(gaps(&grid.up, &rect.y), 0);
                        }
                    }
                }
            }
        }
    }
}
