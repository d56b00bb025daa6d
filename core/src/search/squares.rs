//! Free squares of two-dimensional meshes as buddy systems have them: the side is a power of two, and the base a multiple of
//! it.
//!
//! Four free buddies that are always merged are the one square around them. So the free blocks of a buddy system are the
//! free squares that do not lie in a larger free one: they follow from the occupancy, whatever the order of allocations
//! and releases has been, with faulty processors too. A mesh of any sides begins as the largest such squares that it
//! has.
//!
//! ```text
//!   y
//!   4  c d e f g h i     A 7 x 5 mesh: a block of side 4, two of side 2, and eleven of side 1.
//!   3  A A A A C C j
//!   2  A A A A C C k
//!   1  A A A A B B l
//!   0  A A A A B B m
//!      0 1 2 3 4 5 6  x
//! ```

use crate::blocks::Draft;
use crate::word::{WORD_BITS, Word, and_shifted, keep_starts, next_bit};

/// The free squares of one side.
#[derive(Debug)]
pub(crate) struct Squares<'s> {
    /// A bit for each node as in the occupancy. Invariant: set where a free square of this side begins, aligned or not.
    bases: &'s mut [Word],
    stride: usize,
    side: u32,
}

impl<'s> Squares<'s> {
    /// Those of side 1, from busy bits in rows of `stride` words with busy padding. `bases` has as many words.
    pub(crate) fn new(busy: &[Word], stride: usize, bases: &'s mut [Word]) -> Self {
        let bases = &mut bases[..busy.len()];
        for (base, busy) in bases.iter_mut().zip(busy) {
            *base = !busy;
        }
        Squares {
            bases,
            stride,
            side: 1,
        }
    }

    /// Those of a side that is a power of two and at most half of the range of `u16`.
    ///
    /// # Time complexity
    ///
    /// O(words * log side).
    pub(crate) fn with_side(mut self, side: u16) -> Self {
        while self.side < side.into() {
            self.double();
        }
        self
    }

    /// Those of twice the side.
    pub(crate) fn double(&mut self) {
        and_shifted(self.bases, self.side);
        and_shifted(self.bases, self.side * self.stride as u32 * WORD_BITS);
        self.side *= 2;
        keep_starts(self.side, self.bases, self.stride);
    }

    /// The side, in processors.
    pub(crate) const fn side(&self) -> u32 {
        self.side
    }

    /// About so many instructions it takes to double the side.
    pub(crate) fn instructions(&self) -> u32 {
        30 * self.bases.len() as u32
    }

    /// About so many instructions it takes to look at the blocks of a row, at most.
    pub(crate) fn row_instructions(&self) -> u32 {
        200 + 150 * (self.stride as u32 * WORD_BITS).div_ceil(self.side)
    }

    /// Whether there is none, aligned or not.
    pub(crate) fn is_empty(&self) -> bool {
        self.bases.iter().all(|&bases| bases == 0)
    }

    /// The base nodes `(x, y)` of the blocks of this side in row-major order, for each row of them; it takes [`Squares::row_instructions`] to look at one.
    pub(crate) fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = (u16, u16)> + '_> + '_ {
        let side = self.side;
        let rows = self.bases.chunks_exact(self.stride);
        (0..).zip(rows).step_by(side as usize).map(move |(y, row)| {
            let mut from = 0;
            core::iter::from_fn(move || {
                loop {
                    let x = next_bit(row, from, true)?;
                    from = (x / side + 1) * side;
                    if x.is_multiple_of(side) && !self.is_within_free(x, y) {
                        return Some((x as u16, y as u16));
                    }
                }
            })
        })
    }

    /// The base node of the first block of this side.
    pub(crate) fn first(&self, draft: &mut Draft<'_, '_>) -> Option<(u16, u16)> {
        self.rows().find_map(|mut blocks| {
            draft.worked(self.row_instructions());
            blocks.next()
        })
    }

    /// Whether the aligned square of twice the side around this one is free: all four quarters.
    fn is_within_free(&self, x: u32, y: u32) -> bool {
        let side = self.side;
        let (left, bottom) = (x - x % (2 * side), y - y % (2 * side));
        [left, left + side]
            .into_iter()
            .all(|x| self.is_base(x, bottom) && self.is_base(x, bottom + side))
    }

    fn is_base(&self, x: u32, y: u32) -> bool {
        let word = (x / WORD_BITS) as usize;
        word < self.stride
            && self
                .bases
                .get(y as usize * self.stride + word)
                .is_some_and(|bases| bases >> (x % WORD_BITS) & 1 == 1)
    }
}
