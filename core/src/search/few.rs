//! Searches of a two-dimensional mesh in which few blocks are busy: they compare the sides of the
//! blocks and read no bitmap.
//!
//! A free place that slides down, and then to the left, until it meets the border of the mesh or a
//! block, stays free. So the first free place in row-major order has a side in line with a side of
//! a block or of the mesh. Only these rows and columns are looked at, so the time of the searches
//! does not depend on the size of the mesh.

use crate::grid::{Block, Grid};
use crate::layout::STRIDE_MAX;
use crate::mesh::{Coord, Sides, Submesh};
use crate::occupancy::{Occupancy, PENDING_MAX};
use crate::word::{LONG_WORDS, Span, WORD_BITS, Word, words_for};

/// For how many blocks [`FewBlocks::first_fit`] is searched on this machine: as many as can be, but
/// where the rows of a two-dimensional mesh have one word, the bitmap is as fast.
pub(crate) fn blocks_for_first_fit(grid: &Grid) -> usize {
    match LONG_WORDS && grid.is_plane() && grid.side(0) > WORD_BITS as u16 {
        true => PENDING_MAX,
        false => 0,
    }
}

/// The largest number of blocks for which [`FewBlocks::best`] is searched: none on any grid but a
/// two-dimensional mesh. With the square root of a side, 8 on 64 x 64, the bitmap takes as long. On
/// a board, which does little at once, it does with half as many blocks.
pub(crate) const fn blocks_for_best(grid: &Grid) -> usize {
    if !grid.is_plane() {
        return 0;
    }
    let blocks = grid.nodes().isqrt().isqrt() as usize;
    if LONG_WORDS { blocks } else { blocks / 2 }
}

/// All that is busy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FewBlocks<'a> {
    blocks: &'a [Block],
    mesh: Sides,
}

impl<'a> FewBlocks<'a> {
    /// `None` where the bitmap has to be read ([`Occupancy::few_blocks`]).
    #[inline]
    pub(crate) fn of(occupancy: &'a Occupancy<'_>) -> Option<Self> {
        let blocks = occupancy.few_blocks()?;
        let grid = occupancy.grid();
        let mesh = Sides::new(grid.side(0), grid.side(1));
        Some(FewBlocks { blocks, mesh })
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

    /// The free submesh of these sides with the largest value, the first one in row-major order.
    /// The value is the number of pairs of neighbours of which one is among certain nodes of the
    /// submesh and the other busy or outside of the mesh. It is computed from the blocks that the
    /// submesh touches, and perhaps others.
    ///
    /// # Why some places suffice
    ///
    /// While a submesh slides along x, its value changes by the same amount in each step, until one
    /// of its sides comes to lie in line with a side of a block or with the border of the mesh.
    /// There the value may jump, upwards only if the two then touch. So the largest value, and the
    /// first of several places with it, is found where a side is in line in both directions.
    ///
    /// # Time complexity
    ///
    /// O(blocks^3).
    pub(crate) fn best(
        self,
        sides: Sides,
        value: impl Fn(Submesh, &[Submesh]) -> u32,
    ) -> Option<Submesh> {
        if !sides.fits_in(self.mesh) {
            return None;
        }
        let rows = self.submeshes().map(|block| (block.base.y, block.sides.h));
        let columns = self.submeshes().map(|block| (block.base.x, block.sides.w));
        let columns = Starts::in_line(columns, sides.w, self.mesh.w);
        let mut near = [Submesh::EMPTY; PENDING_MAX];
        let mut best: Option<(u32, Submesh)> = None;
        Starts::in_line(rows, sides.h, self.mesh.h).for_each(|y| {
            let band = Submesh::new(0, y, self.mesh.w, sides.h);
            let mut free = columns;
            let mut count = 0;
            for block in self.submeshes().filter(|block| block.touches(band)) {
                if block.rows_meet(band) {
                    free.remove_meeting(block.base.x, block.sides.w, sides.w);
                }
                near[count] = block;
                count += 1;
            }
            free.for_each(|x| {
                let base = Coord::new(x, y);
                let place = Submesh { base, sides };
                let value = value(place, &near[..count]);
                if best.is_none_or(|(most, _)| value > most) {
                    best = Some((value, place));
                }
            });
        });
        best.map(|(_, place)| place)
    }
}

/// Where spans of one length may start: a bit for each row or column.
///
/// ```text
///   0 1 2 3 4 5 6 7       a block in columns 3 and 4; spans of two columns
///   . . . B B . . .
///   ^ ^   ^   ^ ^         in line with the mesh (0, 6) or with B (1, 3, 5)
///   ^ ^       ^ ^         and after `remove_meeting` beside B: 2, 3 and 4 meet it
/// ```
#[derive(Clone, Copy)]
struct Starts {
    bits: [Word; STRIDE_MAX],
    /// Words in use.
    words: usize,
}

impl Starts {
    /// The starts at which an end of a span of this length is in line with an end of one of these
    /// spans `(start, length)` or of the side.
    fn in_line(spans: impl Iterator<Item = (u16, u16)>, len: u16, side: u16) -> Self {
        let last = side - len;
        let mut starts = Starts {
            bits: [0; STRIDE_MAX],
            words: words_for(side.into()),
        };
        let mut insert = |at: u16| {
            // What would begin before the side has wrapped around to a large number.
            if at <= last {
                starts.bits[usize::from(at) / WORD_BITS as usize] |=
                    1 << (u32::from(at) % WORD_BITS);
            }
        };
        insert(0);
        insert(last);
        for (start, width) in spans {
            let end = start + width;
            for at in [start.wrapping_sub(len), start, end.wrapping_sub(len), end] {
                insert(at);
            }
        }
        starts
    }

    /// Removes those of spans of this length that meet the span `start..start + width`.
    fn remove_meeting(&mut self, start: u16, width: u16, len: u16) {
        let first = (start + 1).saturating_sub(len);
        let span = Span::new(first.into(), (start + width - first).into());
        for word in span.first..=span.last {
            self.bits[word] &= !span.mask(word);
        }
    }

    /// Calls `visit` with each, in ascending order.
    #[inline]
    fn for_each(&self, mut visit: impl FnMut(u16)) {
        for (word, &bits) in (0..).zip(&self.bits[..self.words]) {
            let mut left = bits;
            while left != 0 {
                visit((word * WORD_BITS + left.trailing_zeros()) as u16);
                left &= left - 1;
            }
        }
    }
}
