//! Searches of a two-dimensional mesh in which few blocks are busy: they compare the sides of the
//! blocks and read no bitmap.
//!
//! A free place that slides down, and then to the left, until it meets the border of the mesh or a
//! block, stays free. So the first free place in row-major order has a side in line with a side of
//! a block or of the mesh. Only these rows and columns are looked at, so the time of the searches
//! does not depend on the size of the mesh.

use crate::grid::{Block, Grid};
use crate::mesh::{Coord, Sides, Submesh};
use crate::occupancy::{Occupancy, PENDING_MAX};
use crate::word::{LONG_WORDS, WORD_BITS};

/// The maximum number of blocks that stay unmarked on this machine for
/// [`UnmarkedBlocks::first_fit`]. It is as large as can be, but 0 on a two-dimensional mesh whose
/// rows have one word, since there the bitmap is as fast.
pub(crate) fn unmarked_max(grid: &Grid) -> usize {
    if LONG_WORDS && grid.is_plane() && grid.side(0) > WORD_BITS as u16 {
        PENDING_MAX
    } else {
        0
    }
}

/// The held blocks, if no block is marked in the bitmap and nothing else is busy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnmarkedBlocks<'a> {
    blocks: &'a [Block],
    mesh: Sides,
}

impl<'a> UnmarkedBlocks<'a> {
    /// `None` where the bitmap has to be read ([`Occupancy::unmarked_blocks`]).
    #[inline]
    pub(crate) fn of(occupancy: &'a Occupancy<'_>) -> Option<Self> {
        let blocks = occupancy.unmarked_blocks()?;
        let grid = occupancy.grid();
        let mesh = Sides::new(grid.side(0), grid.side(1));
        Some(UnmarkedBlocks { blocks, mesh })
    }

    /// The blocks.
    #[inline]
    pub(crate) fn submeshes(self) -> impl Iterator<Item = Submesh> + use<'a> {
        self.blocks.iter().map(|&block| Submesh::of_plane(block))
    }

    /// Whether the submesh is free.
    #[inline]
    pub(crate) fn is_free(self, submesh: Submesh) -> bool {
        !self.submeshes().any(|block| block.overlaps(submesh))
    }

    /// The first base node in row-major order at which a submesh of these sides is free.
    ///
    /// Rows are tried from the bottom: row 0, then those right above a block. In a row, a place
    /// that meets a block moves to the right of it.
    ///
    /// ```text
    ///   y                        a request for 4 x 2
    ///   4  p p p p . . . .
    ///   3  p p p p . . . .       row 3, above B: p is free
    ///   2  . . . B B B B .       row 2, above A: <0, 2> meets B, no room right of B
    ///   1  A A . B B B B .
    ///   0  A A . B B B B .       row 0: <0, 0> meets A, <2, 0> meets B, no room right of B
    ///      0 1 2 3 4 5 6 7  x
    /// ```
    ///
    /// # Time complexity
    ///
    /// O(blocks^2) in ordinary occupancies, O(blocks^3) in the worst case.
    pub(crate) fn first_fit(self, sides: Sides) -> Option<Coord> {
        if !sides.fits_in(self.mesh) {
            return None;
        }
        let mut y = 0;
        while y + sides.h <= self.mesh.h {
            let mut x = 0;
            while x + sides.w <= self.mesh.w {
                let place = Submesh::new(x, y, sides.w, sides.h);
                match self.submeshes().find(|block| block.overlaps(place)) {
                    None => return Some(place.base),
                    Some(block) => x = block.base.x + block.sides.w,
                }
            }
            let tops = self.submeshes().map(|block| block.base.y + block.sides.h);
            y = tops.filter(|&top| top > y).min()?;
        }
        None
    }
}
