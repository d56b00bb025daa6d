//! A box of processors in a grid: [`Block`].

use crate::wire::wire;

wire! {
    /// A box of processors in a [`Grid`](super::Grid): a start and an extent in each dimension. It
    /// wraps around where the grid wraps.
    ///
    /// A contiguous allocation is one block. Any other allocation is a list of disjoint blocks.
    ///
    /// # Memory
    ///
    /// Eight bytes: one 32-bit word for the starts and one for the extents. Each word has a field
    /// for each dimension, dimension 0 in the lowest bits.
    ///
    /// In one or two dimensions each field has 16 bits and holds the start or the extent itself. A
    /// 6 x 4 mesh, start (1, 2), extent (3, 2):
    ///
    /// ```text
    ///             31        16 15         0
    ///   starts   |     y = 2  |     x = 1  |
    ///   extents  |     h = 2  |     w = 3  |
    /// ```
    ///
    /// In three or more dimensions a field has just enough bits for the side less one, and the
    /// extent less one is stored. An 8 x 5 x 2 mesh, start (6, 3, 1), extent (2, 1, 1):
    ///
    /// ```text
    ///                     6 5   3 2   0       bits: 1 for side 2, 3 for side 5, 3 for side 8
    ///   starts   | 0 .. 0|1|0 1 1|1 1 0|      1, 3, 6
    ///   extents  | 0 .. 0|0|0 0 0|0 0 1|      extents less one: 0, 0, 1
    /// ```
    ///
    /// A grid has at most [`NODES_MAX`](super::NODES_MAX) processors, so 26 bits are always enough.
    ///
    /// The fields depend on the grid, so only the grid can read a block:
    /// [`Grid::start`](super::Grid::start), [`Grid::extent`](super::Grid::extent),
    /// [`Grid::place`](super::Grid::place).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    // Four 16-bit halves, so that a table of blocks and 16-bit links has no padding.
    pub struct Block([u16; 4]);
}

impl Block {
    /// The block as an integer, for programs in other languages: the start in the low half, the
    /// extent in the high half.
    pub const fn into_raw(self) -> u64 {
        self.start_code() as u64 | (self.extent_code() as u64) << 32
    }

    /// The block that [`Block::into_raw`] has turned into an integer. Any other integer gives a
    /// block, too, but this block need not be a part of any machine
    /// ([`Grid::contains`](super::Grid::contains)).
    pub const fn from_raw(raw: u64) -> Block {
        Block::from_codes(raw as u32, (raw >> 32) as u32)
    }

    /// The filling of unused memory.
    pub(crate) const ZERO: Block = Block([0; 4]);

    /// No block. In one or two dimensions its extent along x is 0; in more dimensions its extent is
    /// beyond every side.
    pub(crate) const NONE: Block = Block([0, 0, 0, u16::MAX]);

    #[inline]
    pub(crate) const fn is_none(self) -> bool {
        self.0[2] == 0 && self.0[3] == u16::MAX
    }

    #[inline]
    pub(super) const fn from_codes(start: u32, extent: u32) -> Block {
        Block([
            start as u16,
            (start >> 16) as u16,
            extent as u16,
            (extent >> 16) as u16,
        ])
    }

    #[inline]
    pub(super) const fn start_code(self) -> u32 {
        self.0[0] as u32 | (self.0[1] as u32) << 16
    }

    #[inline]
    pub(super) const fn extent_code(self) -> u32 {
        self.0[2] as u32 | (self.0[3] as u32) << 16
    }

    /// Makes a block of a two-dimensional grid; `w` and `h` are at least 1.
    #[inline]
    pub(crate) const fn from_rectangle(x: u16, y: u16, w: u16, h: u16) -> Block {
        Block([x, y, w, h])
    }

    /// x, y, w and h of a block of a two-dimensional grid.
    #[inline]
    pub(crate) const fn rectangle(self) -> [u16; 4] {
        self.0
    }
}
