//! A part of a grid: [`Block`].

/// A part of a [`Grid`](super::Grid): in each dimension a start and an extent, wrapping around where the grid wraps. A
/// contiguous allocation is one block, any other is a list of disjoint ones.
///
/// # Memory
///
/// Eight bytes: a number of 32 bits for the starts and one for the extents, in each a field for each dimension, dimension 0
/// in the lowest bits. In up to two dimensions the fields have 16 bits; in more they have as many as the side less one
/// takes, and what stands there is the extent less one. A grid has at most [`NODES_MAX`](super::NODES_MAX) processors, so 26 bits are always
/// enough. What the numbers say depends on the grid, which therefore reads them: [`Grid::place`](super::Grid::place) and
/// the methods beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
// Four halves, so that a table of blocks and 16-bit links has no padding.
pub struct Block([u16; 4]);

impl Block {
    /// The block as an integer, for programs in other languages: the start in the low half, the extent
    /// in the high half.
    pub const fn into_raw(self) -> u64 {
        self.start_code() as u64 | (self.extent_code() as u64) << 32
    }

    /// The block that [`Block::into_raw`] has turned into an integer. Of another integer it need not be
    /// a part of any machine ([`Grid::contains`](super::Grid::contains)).
    pub const fn from_raw(raw: u64) -> Block {
        Block::from_codes(raw as u32, (raw >> 32) as u32)
    }

    /// What unused memory is filled with.
    pub(crate) const ZERO: Block = Block([0; 4]);

    /// No block: an extent of 0 in up to two dimensions, and one that no side has room for in more.
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

    /// A block of a two-dimensional grid; `w` and `h` are at least 1.
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
