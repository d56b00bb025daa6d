//! The machine: [`Grid`].

use super::arc::{Arc, Side};
use super::block::Block;
use super::limits::{DIMENSIONS_MAX, MESH_SIDE_MAX, NODES_MAX};
use super::shape::Shape;
use super::tuple::Tuple;
use crate::error::Refusal;
use crate::node::NodeId;
use crate::texts::texts;

/// The machine whose processors are allocated: up to [`NODES_MAX`] processors in 1 to
/// [`DIMENSIONS_MAX`] dimensions.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Grid {
    /// The number of dimensions. Invariant: 1 to [`DIMENSIONS_MAX`].
    dimensions: u8,
    /// Whether coordinates are written with the highest dimension first. Invariant: true only for a
    /// k-ary n-cube.
    pub(super) high_first: bool,
    /// Bit d: dimension d wraps.
    pub(super) wraps: u16,
    /// The side lengths. Invariant: at least 1, and 1 from `dimensions` on.
    sides: [u16; DIMENSIONS_MAX],
}

impl Grid {
    /// Makes a grid with these side lengths, dimension 0 first. Dimension d wraps if bit d of
    /// `wraps` is set.
    ///
    /// # Errors
    ///
    /// - `Dimensions`: no dimension, or more than [`DIMENSIONS_MAX`].
    /// - `NoSide`: a side is 0.
    /// - `MeshSide`: a side of a two-dimensional mesh is longer than [`MESH_SIDE_MAX`].
    /// - `TooManyNodes`: more than [`NODES_MAX`] processors.
    /// - `Wrap`: `wraps` has a bit for a missing dimension.
    ///
    /// ```
    /// use meshalloc::Grid;
    /// // A ring of 16 meshes of 8 x 8.
    /// let grid = Grid::new(&[8, 8, 16], 0b100)?;
    /// assert_eq!(grid.nodes(), 1024);
    /// assert_eq!(grid.to_string(), "mesh 8x8x16 wrap 2");
    /// # Ok::<(), meshalloc::GridError>(())
    /// ```
    pub const fn new(sides: &[u16], wraps: u16) -> Result<Grid, GridError> {
        let n = sides.len();
        if n == 0 || n > DIMENSIONS_MAX {
            return Err(GridError::Dimensions { dimensions: n });
        }
        if wraps as u32 >> n != 0 {
            return Err(GridError::Wrap {
                dimension: wraps.ilog2() as u8,
            });
        }
        let mut grid = Grid {
            dimensions: n as u8,
            high_first: false,
            wraps,
            sides: [1; DIMENSIONS_MAX],
        };
        let mut nodes: u32 = 1;
        let mut at = 0;
        while at < n {
            let side = sides[at];
            if side == 0 {
                return Err(GridError::NoSide {
                    dimension: at as u8,
                });
            }
            if n == 2 && wraps == 0 && side > MESH_SIDE_MAX {
                return Err(GridError::MeshSide { side });
            }
            grid.sides[at] = side;
            nodes = nodes.saturating_mul(side as u32);
            at += 1;
        }
        if nodes > NODES_MAX {
            return Err(GridError::TooManyNodes);
        }
        Ok(grid)
    }

    /// Makes a grid in which no dimension wraps.
    ///
    /// # Errors
    ///
    /// As for [`Grid::new`].
    pub const fn mesh(sides: &[u16]) -> Result<Grid, GridError> {
        Grid::new(sides, 0)
    }

    /// Makes a grid in which every dimension wraps.
    ///
    /// # Errors
    ///
    /// As for [`Grid::new`].
    pub const fn torus(sides: &[u16]) -> Result<Grid, GridError> {
        let wraps = match sides.len() {
            n @ 0..DIMENSIONS_MAX => (1 << n) - 1,
            _ => u16::MAX,
        };
        Grid::new(sides, wraps)
    }

    /// The same grid, with its coordinates written with the highest dimension first.
    pub(crate) const fn written_high_first(mut self) -> Grid {
        self.high_first = true;
        self
    }

    /// The number of dimensions.
    #[inline]
    pub const fn dimensions(&self) -> usize {
        self.dimensions as usize
    }

    /// The side lengths, dimension 0 first.
    #[inline]
    pub fn sides(&self) -> &[u16] {
        &self.sides[..self.dimensions()]
    }

    /// The side length along a dimension below [`DIMENSIONS_MAX`]; 1 if the grid lacks it.
    #[inline]
    pub const fn side(&self, dimension: usize) -> u16 {
        self.sides[dimension]
    }

    pub(crate) fn sides_descending(&self) -> Tuple {
        Tuple::new(self.dimensions(), |at| self.sides[at]).descending()
    }

    /// Whether a dimension below [`DIMENSIONS_MAX`] wraps: position 0 follows its last position.
    #[inline]
    pub const fn wraps(&self, dimension: usize) -> bool {
        self.wraps >> dimension & 1 == 1
    }

    /// One dimension.
    #[inline]
    pub(crate) const fn along(&self, dimension: usize) -> Side {
        Side {
            len: self.side(dimension),
            wraps: self.wraps(dimension),
        }
    }

    /// Whether coordinates are written with the highest dimension first. This is so for a machine
    /// made from a [`Cube`](crate::Cube).
    pub const fn is_written_high_first(&self) -> bool {
        self.high_first
    }

    /// The number of processors.
    #[inline]
    pub const fn nodes(&self) -> u32 {
        // The product is at most `NODES_MAX`, so it cannot overflow.
        let mut nodes = 1;
        let mut at = 0;
        while at < self.dimensions() {
            nodes *= self.sides[at] as u32;
            at += 1;
        }
        nodes
    }

    /// Whether the grid is a two-dimensional mesh, the subject of most of the literature.
    #[inline]
    pub const fn is_plane(&self) -> bool {
        self.dimensions == 2 && self.wraps == 0
    }

    /// k of a k-ary n-cube: every dimension wraps and has the side k, at least 2. `None` for any
    /// other grid.
    pub const fn radix(&self) -> Option<u16> {
        let k = self.sides[0];
        let mut at = 0;
        while at < self.dimensions() {
            if self.sides[at] != k || !self.wraps(at) {
                return None;
            }
            at += 1;
        }
        if k >= 2 { Some(k) } else { None }
    }

    /// The number of rows in the occupancy bitmap. Each row starts at a word of its own. Only a
    /// two-dimensional mesh has more than one row.
    #[inline]
    pub const fn rows(&self) -> u32 {
        if self.is_plane() {
            self.sides[1] as u32
        } else {
            1
        }
    }

    /// The number of processors in each row.
    #[inline]
    pub const fn row_len(&self) -> u32 {
        if self.is_plane() {
            self.sides[0] as u32
        } else {
            self.nodes()
        }
    }

    /// The number of processors in a shape, if the shape has no more extents than the machine has
    /// dimensions. Whether the extents fit depends on the strategy.
    ///
    /// # Errors
    ///
    /// `TooManyExtents`.
    #[inline]
    pub const fn check(&self, shape: Shape) -> Result<u32, Refusal> {
        let (len, area) = shape.measures();
        if len <= self.dimensions() {
            Ok(area)
        } else {
            Err(Refusal::TooManyExtents)
        }
    }

    /// The node's coordinates, dimension 0 first; `None` outside the grid.
    pub fn coordinates(&self, node: NodeId) -> Option<Tuple> {
        (node.0 < self.nodes()).then(|| {
            let mut rest = node.0;
            Tuple::new(self.dimensions(), |at| {
                let side = u32::from(self.sides[at]);
                let coordinate = rest % side;
                rest /= side;
                coordinate as u16
            })
        })
    }

    /// The node with these coordinates, dimension 0 first. `None` outside the grid, or if the
    /// number of coordinates is not the number of dimensions.
    pub fn node(&self, coordinates: &[u16]) -> Option<NodeId> {
        if coordinates.len() != self.dimensions() {
            return None;
        }
        let mut both = coordinates.iter().zip(self.sides()).rev();
        let number = both.try_fold(0, |number, (&at, &side)| {
            (at < side).then(|| number * u32::from(side) + u32::from(at))
        });
        number.map(NodeId)
    }

    /// Converts a tuple between dimension 0 first and the order in which this grid writes it. The
    /// conversion is its own inverse.
    pub fn written(&self, numbers: Tuple) -> Tuple {
        if self.high_first {
            numbers.reversed()
        } else {
            numbers
        }
    }

    /// The width in bits of a dimension's field in a [`Block`].
    #[inline]
    const fn field(&self, dimension: usize) -> u32 {
        match self.dimensions {
            0..=2 => 16,
            _ => u16::BITS - (self.sides[dimension] - 1).leading_zeros(),
        }
    }

    /// The difference between an extent and its field in a [`Block`].
    #[inline]
    const fn less(&self) -> u32 {
        (self.dimensions > 2) as u32
    }

    /// The block with this start and extent in each dimension, dimension 0 first. `None` if it is
    /// not within the grid.
    ///
    /// ```
    /// use meshalloc::{Grid, NodeId};
    /// let torus = Grid::torus(&[4, 4, 3])?;
    /// let block = torus.block(&[3, 1, 0], &[2, 2, 1]).unwrap();
    /// assert_eq!(torus.place(block).to_string(), "(3, 1, 0)+(2, 2, 1)");
    /// assert_eq!(torus.area(block), 4);
    /// assert!(torus.holds(block, NodeId(4)));
    /// # Ok::<(), meshalloc::GridError>(())
    /// ```
    pub fn block(&self, start: &[u16], extent: &[u16]) -> Option<Block> {
        let n = self.dimensions();
        if start.len() != n || extent.len() != n || extent.contains(&0) {
            return None;
        }
        let in_field = |at: usize| u32::from(start[at].max(extent[at] - 1)) >> self.field(at) == 0;
        if !(0..n).all(in_field) {
            return None;
        }
        let block = self.encode(|at| u32::from(start[at]), |at| u32::from(extent[at]));
        self.contains(block).then_some(block)
    }

    /// The block with this start and extent in each dimension. The caller knows that it is within
    /// the grid.
    #[inline]
    pub(crate) fn encode(
        &self,
        mut start: impl FnMut(usize) -> u32,
        extent: impl Fn(usize) -> u32,
    ) -> Block {
        let (mut starts, mut extents, mut shift) = (0, 0, 0);
        for at in 0..self.dimensions() {
            starts |= start(at) << shift;
            extents |= (extent(at) - self.less()) << shift;
            shift += self.field(at);
        }
        Block::from_codes(starts, extents)
    }

    /// The start and extent of a block in each dimension, dimension 0 first.
    #[inline]
    pub(crate) fn spans(&self, block: Block) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (mut starts, mut extents) = (block.start_code(), block.extent_code());
        (0..self.dimensions()).map(move |at| {
            let bits = self.field(at);
            let mask = (1 << bits) - 1;
            let span = (starts & mask, (extents & mask) + self.less());
            (starts, extents) = (starts >> bits, extents >> bits);
            span
        })
    }

    /// The arcs of a block of this grid, dimension 0 first.
    #[inline]
    pub(super) fn arcs(&self, block: Block) -> impl Iterator<Item = Arc> + '_ {
        self.spans(block).map(|(start, extent)| Arc {
            start: start as u16,
            len: extent as u16,
        })
    }

    /// The start of a block in each dimension, dimension 0 first.
    pub fn start(&self, block: Block) -> Tuple {
        let mut spans = self.spans(block);
        // There is a span for each dimension.
        Tuple::new(self.dimensions(), |_| {
            spans.next().map_or(0, |(start, _)| start as u16)
        })
    }

    /// The extents of a block, dimension 0 first.
    pub fn extent(&self, block: Block) -> Tuple {
        let mut spans = self.spans(block);
        Tuple::new(self.dimensions(), |_| {
            spans.next().map_or(0, |(_, extent)| extent as u16)
        })
    }

    /// The number of processors of a block.
    pub fn area(&self, block: Block) -> u32 {
        // A block from outside need not be within the grid, so the product may overflow.
        let extents = self.spans(block).map(|(_, extent)| extent);
        extents.fold(1, u32::saturating_mul)
    }

    /// Whether the block is within the grid. A block that was received on a line may be outside.
    #[inline]
    pub fn contains(&self, block: Block) -> bool {
        if !self.is_plane() {
            return self.outside(block).is_none();
        }
        let [x, y, w, h] = block.rectangle();
        let is_within = |start: u16, extent: u16, side: u16| {
            extent > 0 && u32::from(start) + u32::from(extent) <= u32::from(side)
        };
        is_within(x, w, self.sides[0]) && is_within(y, h, self.sides[1])
    }

    /// The first dimension in which the block is outside the grid, or the number of dimensions if
    /// bits beyond their fields are set. `None` if the block is within the grid.
    // Out of line, so that the two-dimensional case of `contains` stays short.
    #[inline(never)]
    pub fn outside(&self, block: Block) -> Option<usize> {
        let mut bits = 0;
        for (at, (start, extent)) in self.spans(block).enumerate() {
            let side = u32::from(self.sides[at]);
            let end_max = if self.wraps(at) { 2 * side } else { side };
            if start >= side || !(1..=side).contains(&extent) || start + extent > end_max {
                return Some(at);
            }
            bits += self.field(at);
        }
        let codes = block.start_code() | block.extent_code();
        (codes.checked_shr(bits).unwrap_or(0) != 0).then_some(self.dimensions())
    }

    /// All processors as a block.
    pub(crate) fn whole(&self) -> Block {
        self.encode(|_| 0, |at| self.side(at).into())
    }

    /// The block of the single processor `node`; `None` outside the grid.
    pub fn unit(&self, node: NodeId) -> Option<Block> {
        (node.0 < self.nodes()).then(|| self.block_at(node.0, |_| 1))
    }

    /// The block that starts at the processor of this number.
    #[inline]
    pub(crate) fn block_at(&self, first: u32, extent: impl Fn(usize) -> u32) -> Block {
        let mut rest = first;
        let start = |at: usize| {
            let side = u32::from(self.sides[at]);
            let coordinate = rest % side;
            rest /= side;
            coordinate
        };
        self.encode(start, extent)
    }

    /// The numbers of the first and the last processor of a block: where it starts and where it
    /// ends in each dimension.
    pub(crate) fn ends(&self, block: Block) -> (u32, u32) {
        let (mut first, mut last, mut stride) = (0, 0, 1);
        for ((start, extent), &side) in self.spans(block).zip(self.sides()) {
            let side = u32::from(side);
            first += start * stride;
            last += (start + extent + side - 1) % side * stride;
            stride *= side;
        }
        (first, last)
    }

    /// Whether the block holds the processor `node`.
    pub fn holds(&self, block: Block, node: NodeId) -> bool {
        let mut rest = node.0;
        let mut arcs = self.arcs(block).enumerate();
        node.0 < self.nodes()
            && arcs.all(|(at, arc)| {
                let side = self.along(at);
                let start = (rest % u32::from(side.len)) as u16;
                rest /= u32::from(side.len);
                side.covers(arc, Arc { start, len: 1 })
            })
    }

    /// Whether two blocks of this grid share a processor.
    ///
    /// They do if they overlap in every dimension. Along one dimension they overlap if one starts
    /// within the other: the distance ahead, around the ring if need be, is less than the extent.
    ///
    /// ```text
    ///   ring of 8    0 1 2 3 4 5 6 7        from a ahead to b: 2 steps, less than a's 3
    ///     a          a . . . . . a a        so they overlap
    ///     b          b b . . . . . .
    /// ```
    pub fn overlap(&self, one: Block, other: Block) -> bool {
        let (mut ours, mut theirs) = (one.start_code(), other.start_code());
        let (mut our_extents, mut their_extents) = (one.extent_code(), other.extent_code());
        // Decodes the fields itself, since callers compare thousands of blocks. With arcs an image
        // has 100 bytes more.
        for (at, &side) in self.sides().iter().enumerate() {
            let bits = self.field(at);
            let next = |code: &mut u32| {
                let field = *code & ((1 << bits) - 1);
                *code >>= bits;
                field
            };
            let (a, b) = (next(&mut ours), next(&mut theirs));
            let a_extent = next(&mut our_extents) + self.less();
            let b_extent = next(&mut their_extents) + self.less();
            let ahead = if a <= b {
                b - a
            } else {
                (b + u32::from(side)).wrapping_sub(a)
            };
            let behind = if b <= a {
                a - b
            } else {
                (a + u32::from(side)).wrapping_sub(b)
            };
            if ahead >= a_extent && behind >= b_extent {
                return false;
            }
        }
        true
    }

    /// Three numbers that identify a block of this grid, for a hash of decisions. On a
    /// two-dimensional mesh they are the number of the base node and the two sides. On any other
    /// grid they are the numbers of the first and the last node, then 1.
    #[inline]
    pub fn digest(&self, block: Block) -> [u32; 3] {
        if self.is_plane() {
            let [x, y, w, h] = block.rectangle().map(u32::from);
            [y * u32::from(self.sides[0]) + x, w, h]
        } else {
            let (first, last) = self.ends(block);
            [first, last, 1]
        }
    }
}

/// Why [`Grid::new`] refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum GridError {
    /// There is no dimension, or there are more than [`DIMENSIONS_MAX`].
    Dimensions {
        /// The number of dimensions.
        dimensions: usize,
    },
    /// A side is 0.
    NoSide {
        /// The dimension of the side.
        dimension: u8,
    },
    /// A side of a two-dimensional mesh is longer than [`MESH_SIDE_MAX`].
    MeshSide {
        /// The length of the side.
        side: u16,
    },
    /// There are more processors than [`NODES_MAX`].
    TooManyNodes,
    /// `wraps` has a bit for a dimension that the grid does not have.
    Wrap {
        /// The highest dimension whose bit is set.
        dimension: u8,
    },
}

texts! { GridError: {
    GridError::Dimensions { dimensions } =>
        "{dimensions} dimensions: a machine has 1 to {DIMENSIONS_MAX}";
    GridError::NoSide { dimension } =>
        "the side of dimension {dimension} is 0: each side must be at least 1";
    GridError::MeshSide { side } =>
        "a side of {side}: each side of a two-dimensional mesh must be 1 to {MESH_SIDE_MAX}";
    GridError::TooManyNodes => "more than {NODES_MAX} processors";
    GridError::Wrap { dimension } =>
        "there is no dimension {dimension} to wrap (dimensions count from 0)";
} }
