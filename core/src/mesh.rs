//! The two-dimensional mesh and its parts: [`Mesh`], [`Coord`], [`Sides`], [`Submesh`].
//!
//! Node `<0, 0>` is at the lower left; `x` grows to the right, `y` upwards. *Row-major order* means
//! smaller `y` first, then smaller `x`.
//!
//! ```text
//!   y
//!   3  . . . . . .        Mesh 6 x 4
//!   2  . A A A . .        A: Submesh, base node <1, 1>, sides 3 x 2
//!   1  . A A A . .           its upper right corner is <3, 2>
//!   0  . . . . . .
//!      0 1 2 3 4 5  x
//! ```

use core::fmt;

use crate::grid::{Block, Grid, MESH_SIDE_MAX, Shape};
use crate::texts::texts;
use crate::wire::wire;
use crate::word::{WORD_BITS, Word};

/// The position of a processor in a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Coord {
    /// Column, 0 at the left.
    pub x: u16,
    /// Row, 0 at the bottom.
    pub y: u16,
}

impl Coord {
    /// The node `<x, y>`.
    pub const fn new(x: u16, y: u16) -> Self {
        Coord { x, y }
    }

    /// The node of the lowest of these bits in word `at` of a mesh with rows of `stride` words.
    #[inline]
    pub(crate) const fn of_lowest(bits: Word, at: usize, stride: usize) -> Self {
        let x = (at % stride) as u32 * WORD_BITS + bits.trailing_zeros();
        Coord::new(x as u16, (at / stride) as u16)
    }
}

impl fmt::Display for Coord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}, {}>", self.x, self.y)
    }
}

wire! {
    /// The side lengths of a request or of a submesh, in processors.
    ///
    /// A side may be zero; a request with a zero is refused as empty.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Sides {
        /// Length along x.
        pub w: u16,
        /// Length along y.
        pub h: u16,
    }
}

impl Sides {
    /// `w` along x, `h` along y.
    pub const fn new(w: u16, h: u16) -> Self {
        Sides { w, h }
    }

    /// The sides of a grid along its first two dimensions. A two-dimensional mesh has no other
    /// sides.
    #[inline]
    pub(crate) const fn of_plane(grid: &Grid) -> Self {
        Sides::new(grid.side(0), grid.side(1))
    }

    /// The number of processors, `w * h`.
    pub const fn area(self) -> u32 {
        self.w as u32 * self.h as u32
    }

    /// The rotated request: `(a, b)` becomes `(b, a)`.
    #[must_use]
    pub const fn rotated(self) -> Self {
        Sides {
            w: self.h,
            h: self.w,
        }
    }

    /// Whether both sides are equal. Rotation changes nothing then.
    pub const fn is_square(self) -> bool {
        self.w == self.h
    }

    /// Whether a rectangle with these sides fits into one with the sides `outer` without rotation.
    pub const fn fits_in(self, outer: Sides) -> bool {
        self.w <= outer.w && self.h <= outer.h
    }
}

impl From<Sides> for Shape {
    fn from(sides: Sides) -> Shape {
        Shape::sides(sides.w, sides.h)
    }
}

impl fmt::Display for Sides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.w, self.h)
    }
}

/// A rectangle of processors: a base node (lower left) and side lengths of at least 1.
///
/// Along each dimension base and side add up to at most 65,535. Otherwise the results of the
/// methods are meaningless, and the methods panic where the build checks overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Submesh {
    /// The base node: the lower left corner.
    pub base: Coord,
    /// The side lengths.
    pub sides: Sides,
}

impl Submesh {
    /// The filling of unused memory: no processor. This submesh has no upper right corner, so it
    /// cannot be displayed.
    pub const EMPTY: Submesh = Submesh::new(0, 0, 0, 0);

    /// The submesh with the base node `<x, y>` and the sides `w` by `h`.
    pub const fn new(x: u16, y: u16, w: u16, h: u16) -> Self {
        Submesh {
            base: Coord { x, y },
            sides: Sides { w, h },
        }
    }

    /// The submesh between two corners, both inclusive: the papers' `(<x1, y1>, <x2, y2>)`.
    ///
    /// ```
    /// use meshalloc::Submesh;
    /// assert_eq!(Submesh::between(4, 5, 9, 7), Submesh::new(4, 5, 6, 3));
    /// ```
    pub const fn between(x1: u16, y1: u16, x2: u16, y2: u16) -> Self {
        Submesh::new(x1, y1, x2 - x1 + 1, y2 - y1 + 1)
    }

    /// The block as a submesh. What the numbers of a block mean depends on the machine, so this
    /// takes the machine.
    ///
    /// ```
    /// use meshalloc::{Grid, Submesh, SubmeshError};
    /// let mesh = Grid::mesh(&[8, 8])?;
    /// let submesh = Submesh::new(1, 2, 3, 4);
    /// assert_eq!(Submesh::of(&mesh, submesh.into())?, submesh);
    ///
    /// let torus = Grid::torus(&[4, 4, 4])?;
    /// let block = torus.block(&[3, 1, 0], &[2, 2, 1]).ok_or("no block")?;
    /// assert_eq!(Submesh::of(&torus, block), Err(SubmeshError::NotPlane));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the machine is not a two-dimensional mesh, or the block is not within it.
    #[inline]
    pub fn of(machine: &Grid, block: Block) -> Result<Submesh, SubmeshError> {
        if !machine.is_plane() {
            return Err(SubmeshError::NotPlane);
        }
        if machine.contains(block) {
            Ok(Submesh::of_plane(block))
        } else {
            Err(SubmeshError::Outside)
        }
    }

    /// A block of a two-dimensional mesh.
    #[inline]
    pub(crate) const fn of_plane(block: Block) -> Submesh {
        let [x, y, w, h] = block.rectangle();
        Submesh::new(x, y, w, h)
    }

    /// The lower left corner.
    pub const fn lower_left(self) -> Coord {
        self.base
    }

    /// The upper right corner, inclusive.
    pub const fn upper_right(self) -> Coord {
        Coord {
            x: self.base.x + self.sides.w - 1,
            y: self.base.y + self.sides.h - 1,
        }
    }

    /// The number of processors.
    pub const fn area(self) -> u32 {
        self.sides.area()
    }

    /// Whether the two share a processor.
    #[inline]
    pub const fn overlaps(self, other: Submesh) -> bool {
        self.columns_meet(other) && self.rows_meet(other)
    }

    /// Whether the two have a row in common.
    #[inline]
    pub const fn rows_meet(self, other: Submesh) -> bool {
        self.base.y < other.base.y + other.sides.h && other.base.y < self.base.y + self.sides.h
    }

    /// Whether the two have a column in common.
    #[inline]
    pub const fn columns_meet(self, other: Submesh) -> bool {
        self.base.x < other.base.x + other.sides.w && other.base.x < self.base.x + self.sides.w
    }

    /// Whether the two overlap, or share a part of a border or a corner.
    #[inline]
    pub const fn touches(self, other: Submesh) -> bool {
        self.base.x <= other.base.x + other.sides.w
            && other.base.x <= self.base.x + self.sides.w
            && self.base.y <= other.base.y + other.sides.h
            && other.base.y <= self.base.y + self.sides.h
    }

    /// The number of processors that belong to both.
    pub const fn common(self, other: Submesh) -> u32 {
        const fn common(from: u16, len: u16, other_from: u16, other_len: u16) -> u32 {
            let start = if from > other_from { from } else { other_from };
            let (end, other_end) = (from + len, other_from + other_len);
            let end = if end < other_end { end } else { other_end };
            end.saturating_sub(start) as u32
        }
        let (base, sides) = (self.base, self.sides);
        common(base.x, sides.w, other.base.x, other.sides.w)
            * common(base.y, sides.h, other.base.y, other.sides.h)
    }

    /// Whether the node belongs to the submesh.
    pub const fn contains(self, node: Coord) -> bool {
        self.base.x <= node.x
            && node.x < self.base.x + self.sides.w
            && self.base.y <= node.y
            && node.y < self.base.y + self.sides.h
    }
}

impl From<Submesh> for Block {
    #[inline]
    fn from(submesh: Submesh) -> Block {
        let Submesh { base, sides } = submesh;
        Block::from_rectangle(base.x, base.y, sides.w, sides.h)
    }
}

/// Why a block is not a submesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SubmeshError {
    /// The machine has another number of dimensions than 2, or wraps.
    NotPlane,
    /// The block is not within the machine.
    Outside,
}

texts! { SubmeshError: {
    SubmeshError::NotPlane =>
        "no submesh: the machine is not a two-dimensional mesh; \
         Grid::start and Grid::extent read a block of any machine";
    SubmeshError::Outside => "no submesh: the block is not within the mesh";
} }

impl fmt::Display for Submesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.lower_left(), self.upper_right())
    }
}

/// The sides of a mesh are out of range: each must be 1 to [`MESH_SIDE_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct MeshSidesError {
    /// The refused sides.
    pub sides: Sides,
}

texts! { MeshSidesError: {
    MeshSidesError { sides } =>
        "a mesh of {sides} processors: each side must be 1 to {MESH_SIDE_MAX}";
} }

/// A two-dimensional mesh of `w * h` processors; each side is 1 to [`MESH_SIDE_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Mesh {
    sides: Sides,
}

impl Mesh {
    /// Makes a mesh of `w` columns and `h` rows.
    ///
    /// # Errors
    ///
    /// If a side is 0 or longer than [`MESH_SIDE_MAX`].
    ///
    /// ```
    /// use meshalloc::Mesh;
    /// assert_eq!(Mesh::new(16, 22).unwrap().nodes(), 352);
    /// assert!(Mesh::new(0, 22).is_err());
    /// ```
    pub const fn new(w: u16, h: u16) -> Result<Self, MeshSidesError> {
        let sides = Sides { w, h };
        if w == 0 || h == 0 || w > MESH_SIDE_MAX || h > MESH_SIDE_MAX {
            return Err(MeshSidesError { sides });
        }
        Ok(Mesh { sides })
    }

    /// The grid as a mesh; `None` unless it is a two-dimensional mesh.
    pub fn of(grid: &Grid) -> Option<Mesh> {
        match *grid.sides() {
            [w, h] if grid.is_plane() => Mesh::new(w, h).ok(),
            _ => None,
        }
    }

    /// The mesh as a grid.
    ///
    /// # Panics
    ///
    /// Never: every mesh is a valid grid.
    pub const fn grid(self) -> Grid {
        match Grid::mesh(&[self.sides.w, self.sides.h]) {
            Ok(grid) => grid,
            Err(_) => panic!("a mesh is a grid"),
        }
    }

    /// The side lengths.
    #[inline]
    pub const fn sides(self) -> Sides {
        self.sides
    }

    /// The number of processors.
    pub const fn nodes(self) -> u32 {
        self.sides.area()
    }

    /// The whole mesh as a submesh.
    pub const fn whole(self) -> Submesh {
        Submesh {
            base: Coord { x: 0, y: 0 },
            sides: self.sides,
        }
    }

    /// Whether the submesh lies within the mesh.
    pub const fn contains(self, submesh: Submesh) -> bool {
        let (base, sides) = (submesh.base, submesh.sides);
        sides.w >= 1
            && sides.h >= 1
            && base.x as u32 + sides.w as u32 <= self.sides.w as u32
            && base.y as u32 + sides.h as u32 <= self.sides.h as u32
    }
}

impl From<Mesh> for Grid {
    fn from(mesh: Mesh) -> Grid {
        mesh.grid()
    }
}

impl fmt::Display for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sides.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_place_is_written_with_x_first() {
        assert_eq!(Coord::new(3, 2).to_string(), "<3, 2>");
    }

    #[test]
    fn sides_that_make_no_mesh_are_named() {
        for (w, h) in [(0, 5), (5, 0), (1025, 5), (5, 1025)] {
            let error = Mesh::new(w, h).expect_err("no mesh").to_string();
            let expected = format!("a mesh of {w}x{h} processors: each side must be 1 to 1024");
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn a_mesh_contains_the_submeshes_whose_every_processor_it_has() {
        let mesh = Mesh::new(3, 2).expect("a mesh");
        for (x, y, w, h) in (0..256).map(|n| (n & 3, n >> 2 & 3, n >> 4 & 3, n >> 6)) {
            let submesh = Submesh {
                base: Coord::new(x, y),
                sides: Sides::new(w, h),
            };
            let mut nodes = (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y)));
            let expected = w * h > 0 && nodes.all(|(x, y)| x < 3 && y < 2);
            assert_eq!(mesh.contains(submesh), expected, "{submesh:?}");
        }
    }
}
