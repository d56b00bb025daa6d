//! Where processors are in a picture: dimension 0 to the right, dimension 1 upwards, and a plane
//! for each coordinate in dimension 2, side by side.

use meshalloc::{Block, Grid, NodeId};
use serde::Serialize;

use crate::boxes::{Cuboid, DIMENSIONS_MAX};

/// A rectangle of one plane: its first column, its first row, and the numbers of both.
pub(crate) type Rect = [usize; 4];

/// A dimension of a machine.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Dimension {
    name: &'static str,
    side: u16,
}

/// Digits of a coordinate along one side of a picture.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Digit {
    dimension: usize,
    side: usize,
    step: usize,
    descends: bool,
    is_up: bool,
}

/// The picture of a machine, in the form that the scripts of `host-sim view` read.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Picture {
    dimensions: Vec<Dimension>,
    /// Columns and rows of a plane, and the planes, which are side by side.
    digits: Vec<Digit>,
    wraps: Vec<bool>,
    high_first: bool,
}

/// The sides along x, y and z.
fn sides(grid: &Grid) -> [usize; DIMENSIONS_MAX] {
    std::array::from_fn(|at| grid.sides().get(at).map_or(1, |&side| side.into()))
}

impl Picture {
    /// The picture of a machine of up to three dimensions.
    pub(crate) fn new(grid: &Grid) -> Self {
        let sides = sides(grid);
        let names = ["x", "y", "z"].into_iter().zip(grid.sides());
        let digit = |(dimension, side)| Digit {
            dimension,
            side,
            step: 1,
            descends: false,
            is_up: dimension == 1,
        };
        let planar = sides.into_iter().enumerate().take(grid.dimensions().max(2));
        Picture {
            dimensions: names
                .map(|(name, &side)| Dimension { name, side })
                .collect(),
            digits: planar.map(digit).collect(),
            wraps: (0..grid.dimensions()).map(|at| grid.wraps(at)).collect(),
            high_first: false,
        }
    }
}

/// The processor in this column and row.
pub(crate) fn node_at(grid: &Grid, column: usize, row: usize) -> Option<NodeId> {
    let [w, h, planes] = sides(grid);
    let is_there = column < w * planes && row < h;
    is_there.then(|| NodeId(((column / w * h + row) * w + column % w) as u32))
}

/// The coordinates of a processor as text.
pub(crate) fn node_text(grid: &Grid, node: NodeId) -> String {
    let coordinates = grid.coordinates(node);
    let named = ["x", "y", "z"]
        .into_iter()
        .zip(coordinates.iter().flat_map(|at| at.iter()));
    let texts: Vec<String> = named.map(|(name, at)| format!("{name} = {at}")).collect();
    texts.join(", ")
}

/// The box of a block.
pub(crate) fn cuboid(grid: &Grid, block: Block) -> Cuboid {
    let (start, extent) = (grid.start(block), grid.extent(block));
    Cuboid {
        start: std::array::from_fn(|at| start.get(at).map_or(0, |&at| at.into())),
        extent: std::array::from_fn(|at| extent.get(at).map_or(1, |&len| len.into())),
    }
}

/// A box as text: `4x2 at 3,0`.
pub(crate) fn cuboid_text(grid: &Grid, one: &Cuboid) -> String {
    let join = |numbers: [usize; DIMENSIONS_MAX], between: &str| {
        let numbers = numbers.iter().take(grid.dimensions());
        let texts: Vec<String> = numbers.map(usize::to_string).collect();
        texts.join(between)
    };
    format!("{} at {}", join(one.extent, "x"), join(one.start, ","))
}

/// The rectangles of a box: one for each plane, and more where the box wraps around.
pub(crate) fn rects(grid: &Grid, one: &Cuboid) -> Vec<Rect> {
    let sides = sides(grid);
    // Starts and lengths before and behind the border.
    let pieces = |at: usize| {
        let (start, extent) = (one.start[at], one.extent[at]);
        let first = extent.min(sides[at] - start);
        let parts = [(start, first), (0, extent - first)];
        parts.into_iter().filter(|&(_, len)| len > 0)
    };
    let mut found = Vec::new();
    for z in (0..one.extent[2]).map(|at| (one.start[2] + at) % sides[2]) {
        for (y, h) in pieces(1) {
            found.extend(pieces(0).map(|(x, w)| [z * sides[0] + x, y, w, h]));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rectangles_of_a_block_have_its_processors() {
        for machine in [
            "mesh 5x3",
            "torus 5x3",
            "torus 4x3x3",
            "mesh 4x3x2 wrap 1",
            "torus 6",
        ] {
            let grid: Grid = machine.parse().unwrap();
            for raw_start in 0..grid.nodes() {
                for raw_extent in 0..grid.nodes() {
                    let start = grid.coordinates(NodeId(raw_start)).unwrap();
                    let extent = grid.coordinates(NodeId(raw_extent)).unwrap();
                    let extent: Vec<u16> = extent.iter().map(|&len| len + 1).collect();
                    let Some(block) = grid.block(&start, &extent) else {
                        continue;
                    };
                    let mut nodes: Vec<NodeId> = Vec::new();
                    for [x, y, w, h] in rects(&grid, &cuboid(&grid, block)) {
                        let rows = (y..y + h).flat_map(|y| (x..x + w).map(move |x| (x, y)));
                        nodes.extend(rows.map(|(x, y)| node_at(&grid, x, y).unwrap()));
                    }
                    nodes.sort_by_key(|node| node.0);
                    let all = (0..grid.nodes()).map(NodeId);
                    let held: Vec<NodeId> = all.filter(|&node| grid.holds(block, node)).collect();
                    assert_eq!(nodes, held, "{machine} {block:?}");
                }
            }
        }
    }

    #[test]
    fn planes_lie_side_by_side() {
        let grid: Grid = "mesh 3x2x2".parse().unwrap();
        let picture = serde_json::to_value(Picture::new(&grid)).unwrap();
        let digits = picture["digits"].as_array().unwrap().iter();
        let digits = digits.map(|digit| [digit["side"].as_u64(), digit["dimension"].as_u64()]);
        let expected = [[3, 0], [2, 1], [2, 2]].map(|numbers| numbers.map(Some));
        assert_eq!(digits.collect::<Vec<_>>(), expected);
        assert_eq!(node_at(&grid, 4, 1), grid.node(&[1, 1, 1]));
        assert_eq!(node_at(&grid, 6, 0), None);
        assert_eq!(node_text(&grid, NodeId(10)), "x = 1, y = 1, z = 1");
    }
}
