//! The naive machine: a grid, boxes of it, and a flag for each node.

use std::fmt;

/// A grid: sides, and for each dimension whether it wraps. Dimension 0 varies fastest in the
/// numbers of the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    sides: Vec<u32>,
    wraps: Vec<bool>,
    /// Whether it was made as a cube, whose extents are named as the digits of an address, the
    /// highest dimension first.
    is_cube: bool,
}

/// A box: a start and an extent in each dimension, dimension 0 first. Where the grid wraps, the
/// last position of a dimension is followed by 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Start positions.
    pub start: Vec<u32>,
    /// Extents, at least 1.
    pub extent: Vec<u32>,
}

impl Place {
    /// The number of nodes.
    pub fn size(&self) -> u32 {
        self.extent.iter().product()
    }
}

impl Grid {
    /// A grid of these sides, dimension 0 first.
    ///
    /// # Panics
    ///
    /// When there is not one flag for each side.
    pub fn new(sides: &[u32], wraps: &[bool]) -> Self {
        assert_eq!(sides.len(), wraps.len(), "a flag for each dimension");
        Grid {
            sides: sides.to_vec(),
            wraps: wraps.to_vec(),
            is_cube: false,
        }
    }

    /// No dimension wraps.
    pub fn mesh(sides: &[u32]) -> Self {
        Grid::new(sides, &vec![false; sides.len()])
    }

    /// All dimensions wrap.
    pub fn torus(sides: &[u32]) -> Self {
        Grid::new(sides, &vec![true; sides.len()])
    }

    /// The k-ary n-cube.
    pub fn cube(k: u32, n: usize) -> Self {
        Grid {
            is_cube: true,
            ..Grid::torus(&vec![k; n])
        }
    }

    /// The sides, dimension 0 first.
    pub fn sides(&self) -> &[u32] {
        &self.sides
    }

    /// For each dimension whether it wraps.
    pub fn wraps(&self) -> &[bool] {
        &self.wraps
    }

    /// The number of dimensions.
    pub const fn dimensions(&self) -> usize {
        self.sides.len()
    }

    /// The number of nodes.
    pub fn nodes(&self) -> u32 {
        self.sides.iter().product()
    }

    /// The radix, if the grid is a k-ary n-cube: all dimensions wrap and have the same side, at
    /// least 2.
    pub fn k(&self) -> Option<u32> {
        let k = self.sides[0];
        let is_ring = |(&side, &wraps)| wraps && side == k;
        let are_rings = self.sides.iter().zip(&self.wraps).all(is_ring);
        (are_rings && k >= 2).then_some(k)
    }

    /// Whether the grid was made as a cube.
    pub const fn is_cube(&self) -> bool {
        self.is_cube
    }

    /// Width and height, if the grid is a two-dimensional mesh.
    pub fn w_h(&self) -> Option<(u32, u32)> {
        match (&self.sides[..], &self.wraps[..]) {
            (&[w, h], [false, false]) => Some((w, h)),
            _ => None,
        }
    }

    /// The node's position in each dimension.
    pub fn position(&self, node: u32) -> Vec<u32> {
        let mut rest = node;
        let digit = |&side: &u32| {
            let digit = rest % side;
            rest /= side;
            digit
        };
        self.sides.iter().map(digit).collect()
    }

    /// The box that is a single node.
    pub fn unit(&self, node: u32) -> Place {
        Place {
            start: self.position(node),
            extent: vec![1; self.dimensions()],
        }
    }

    /// Whether the box lies in the grid.
    pub fn has(&self, place: &Place) -> bool {
        (0..self.dimensions()).all(|d| {
            let (start, extent) = (place.start[d], place.extent[d]);
            start < self.sides[d]
                && extent <= self.sides[d]
                && (self.wraps[d] || start + extent <= self.sides[d])
        })
    }

    /// Whether `holds` for all nodes of a box of the grid; asked with dimension 0 varying fastest,
    /// up to the first for which it does not.
    pub fn every_node(&self, place: &Place, holds: &mut dyn FnMut(u32) -> bool) -> bool {
        self.every_below(place, self.dimensions(), 0, holds)
    }

    /// The same for the dimensions below `d`; those above make the number `above`.
    fn every_below(
        &self,
        place: &Place,
        d: usize,
        above: u32,
        holds: &mut dyn FnMut(u32) -> bool,
    ) -> bool {
        let Some(d) = d.checked_sub(1) else {
            return holds(above);
        };
        (0..place.extent[d]).all(|step| {
            let at = (place.start[d] + step) % self.sides[d];
            self.every_below(place, d, above * self.sides[d] + at, holds)
        })
    }

    /// The nodes of a box, from its start on, dimension 0 varying fastest.
    pub fn nodes_of(&self, place: &Place) -> Vec<u32> {
        let mut nodes = Vec::new();
        self.every_node(place, &mut |node| {
            nodes.push(node);
            true
        });
        nodes
    }

    /// All boxes with these extents, whatever dimensions they lie along: for every distinct
    /// assignment of the extents, and ones for the other dimensions, every start. None if there are
    /// more extents than dimensions.
    pub fn boxes(&self, extents: &[u32]) -> Vec<Place> {
        let Some(padded) = padded(extents, self.dimensions()) else {
            return Vec::new();
        };
        if padded.contains(&0) {
            return Vec::new();
        }
        let orders = orders(&padded).into_iter();
        let boxes = orders.flat_map(|extent| {
            (0..self.nodes()).map(move |node| Place {
                start: self.position(node),
                extent: extent.clone(),
            })
        });
        boxes.filter(|place| self.has(place)).collect()
    }
}

/// "(3)x2x2": sides in brackets are those of dimensions that wrap.
impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |(&side, &wraps): (&u32, &bool)| {
            if wraps {
                format!("({side})")
            } else {
                side.to_string()
            }
        };
        let sides: Vec<String> = self.sides.iter().zip(&self.wraps).map(side).collect();
        f.write_str(&sides.join("x"))
    }
}

/// The extents followed by ones, so that there are `len`; `None` if there are more.
pub fn padded(extents: &[u32], len: usize) -> Option<Vec<u32>> {
    let mut padded = extents.to_vec();
    padded.resize(len.max(extents.len()), 1);
    (extents.len() <= len).then_some(padded)
}

/// All distinct orders of the numbers, in lexicographic order.
pub fn orders(numbers: &[u32]) -> Vec<Vec<u32>> {
    if numbers.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in numbers.iter().enumerate() {
        if numbers[..at].contains(first) {
            continue;
        }
        let mut others = numbers.to_vec();
        others.remove(at);
        for mut order in orders(&others) {
            order.insert(0, *first);
            all.push(order);
        }
    }
    all.sort();
    all
}

/// All lists with an entry from `1..=bound` for each bound, in lexicographic order.
pub fn lists(bounds: &[u32]) -> Vec<Vec<u32>> {
    let longer = |lists: Vec<Vec<u32>>, &bound: &u32| {
        let longer =
            |list: Vec<u32>| (1..=bound).map(move |last| [list.as_slice(), &[last]].concat());
        lists.into_iter().flat_map(longer).collect()
    };
    bounds.iter().fold(vec![Vec::new()], longer)
}

/// A grid with one flag for each node, true for busy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NaiveMachine {
    grid: Grid,
    busy: Vec<bool>,
}

impl NaiveMachine {
    /// All nodes are free.
    pub fn new(grid: Grid) -> Self {
        let busy = vec![false; grid.nodes() as usize];
        NaiveMachine { grid, busy }
    }

    /// The grid.
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The number of nodes.
    pub const fn nodes(&self) -> u32 {
        self.busy.len() as u32
    }

    /// The number of free nodes.
    pub fn free(&self) -> u32 {
        self.free_nodes().count() as u32
    }

    /// The free nodes, ascending.
    pub fn free_nodes(&self) -> impl Iterator<Item = u32> {
        (0..self.nodes()).filter(|&node| !self.is_busy(node))
    }

    /// The busy nodes, ascending.
    pub fn busy_nodes(&self) -> impl Iterator<Item = u32> {
        (0..self.nodes()).filter(|&node| self.is_busy(node))
    }

    /// Whether the node is busy.
    pub fn is_busy(&self, node: u32) -> bool {
        self.busy[node as usize]
    }

    /// Makes the node busy or free.
    pub fn set(&mut self, node: u32, busy: bool) {
        self.busy[node as usize] = busy;
    }

    /// Whether the box lies in the grid and all of its nodes are free.
    pub fn is_free(&self, place: &Place) -> bool {
        self.grid.has(place) && self.grid.every_node(place, &mut |node| !self.is_busy(node))
    }
}

/// A picture, `#` for busy: the rows along dimension 0, the last one first, each after its position
/// in the other dimensions.
impl fmt::Display for NaiveMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row_len = self.grid.sides[0] as usize;
        for (row, flags) in self.busy.chunks(row_len).enumerate().rev() {
            let others = &self.grid.position((row * row_len) as u32)[1..];
            let marks = flags.iter().map(|&busy| if busy { '#' } else { '.' });
            writeln!(f, "{} {others:?}", marks.collect::<String>())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_continues_at_zero_only_where_the_grid_wraps() {
        let place = |start: [u32; 2], extent: [u32; 2]| Place {
            start: start.to_vec(),
            extent: extent.to_vec(),
        };
        let torus = Grid::cube(4, 2);
        assert_eq!(torus.nodes_of(&place([3, 1], [2, 2])), [7, 4, 11, 8]);
        assert_eq!(torus.position(7), [3, 1]);
        for (start, extent, on_torus, on_ring, on_mesh) in [
            ([3, 1], [2, 2], true, false, false),
            ([1, 3], [2, 2], true, true, false),
            ([1, 1], [3, 3], true, true, true),
            ([0, 0], [5, 1], false, false, false),
            ([4, 0], [1, 1], false, false, false),
        ] {
            let place = place(start, extent);
            assert_eq!(torus.has(&place), on_torus);
            assert_eq!(Grid::new(&[4, 4], &[false, true]).has(&place), on_ring);
            assert_eq!(Grid::mesh(&[4, 4]).has(&place), on_mesh);
        }
    }

    #[test]
    fn every_assignment_of_extents_gives_boxes() {
        let grid = Grid::new(&[3, 2, 2], &[true, false, false]);
        // 2x1x1 three times around the ring at four places, 1x2x1 and 1x1x2 at six.
        assert_eq!(grid.boxes(&[2]).len(), 12 + 6 + 6);
        // Only along the ring.
        assert_eq!(grid.boxes(&[3, 2]).len(), 6 + 6);
        assert!(grid.boxes(&[4]).is_empty() && grid.boxes(&[1, 1, 1, 1]).is_empty());
        assert_eq!(grid.boxes(&[]).len(), 12);
    }

    #[test]
    fn orders_are_distinct_and_sorted() {
        let expected = [[2, 3, 3], [3, 2, 3], [3, 3, 2]];
        assert_eq!(orders(&[3, 2, 3]), expected);
        assert_eq!(lists(&[1, 2]), [[1, 1], [1, 2]]);
    }
}
