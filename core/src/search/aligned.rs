//! Free rectangles of two-dimensional meshes as buddy systems and the tree of halves have them: the sides are powers of two, and
//! the base is a multiple of them.
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

use core::cell::Cell;

use crate::blocks::{Draft, SmallSteps};
use crate::mesh::{Sides, Submesh};
use crate::word::{Column, Span, WORD_BITS, Word, ones};

/// The free rectangles of one size.
#[derive(Debug)]
pub(crate) struct Aligned<'s> {
    /// A row of bits, as long as one of the occupancy, for each row of rectangles. Invariant: set where a free one begins.
    bases: &'s mut [Word],
    stride: usize,
    /// How many rows of `bases` are in use.
    rows: usize,
    w: u32,
    h: u32,
}

impl<'s> Aligned<'s> {
    /// Those of these sides, which are powers of two, from busy bits in rows of `stride` words with busy padding. `bases` has as many
    /// words.
    ///
    /// # Time complexity
    ///
    /// O(words * (1 + log w / h)).
    pub(crate) fn new(
        busy: &[Word],
        stride: usize,
        Sides { w, h }: Sides,
        bases: &'s mut [Word],
    ) -> Self {
        let bands = busy.chunks_exact(stride * usize::from(h));
        let rows = bands.len();
        for (band, row) in bands.zip(bases.chunks_exact_mut(stride)) {
            for (word, bases) in row.iter_mut().enumerate() {
                let mut any = 0;
                for busy in Column::new(band, stride, word) {
                    any |= busy;
                }
                *bases = !any;
            }
        }
        let mut aligned = Aligned {
            bases,
            stride,
            rows,
            w: 1,
            h: h.into(),
        };
        while aligned.w < w.into() {
            aligned.double_width();
        }
        aligned
    }

    /// Those of twice the width.
    fn double_width(&mut self) {
        let bases = &mut self.bases[..self.rows * self.stride];
        if self.w < WORD_BITS {
            let starts = multiples(2 * self.w);
            for bases in bases {
                *bases &= *bases >> self.w & starts;
            }
        } else {
            let words = (self.w / WORD_BITS) as usize;
            for row in bases.chunks_exact_mut(self.stride) {
                for pair in row.chunks_mut(2 * words) {
                    let right = pair.get(words).copied();
                    if let Some((left, others)) = pair.split_first_mut() {
                        *left &= right.unwrap_or(0);
                        others.fill(0);
                    }
                }
            }
        }
        self.w *= 2;
    }

    /// Those of twice both sides.
    pub(crate) fn double(&mut self) {
        self.rows /= 2;
        // In place, lowest row first: a row is written when it has been read.
        let bases = Cell::from_mut(&mut *self.bases).as_slice_of_cells();
        let pairs = bases.chunks_exact(2 * self.stride).take(self.rows);
        for (row, pair) in bases.chunks_exact(self.stride).zip(pairs) {
            let (lower, upper) = pair.split_at(self.stride);
            for ((both, lower), upper) in row.iter().zip(lower).zip(upper) {
                both.set(lower.get() & upper.get());
            }
        }
        self.h *= 2;
        self.double_width();
    }

    /// The width, in processors; of squares it is the side.
    pub(crate) const fn width(&self) -> u32 {
        self.w
    }

    /// About so many instructions it takes to find these.
    pub(crate) fn instructions(&self) -> u32 {
        let words = (self.rows * self.stride) as u32;
        200 + words * (6 * self.h + 8 * (1 + self.w.ilog2()))
    }

    /// About so many instructions it takes to double the sides.
    pub(crate) fn double_instructions(&self) -> u32 {
        100 + 15 * (self.rows * self.stride) as u32
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        let bases = &self.bases[..self.rows * self.stride];
        bases.iter().all(|&bases| bases == 0)
    }

    /// Whether there is one in a submesh that consists of rectangles of these sides, free or not.
    pub(crate) fn is_any_in(&self, submesh: Submesh) -> bool {
        let Submesh { base, sides } = submesh;
        let span = Span::new(base.x.into(), sides.w.into());
        let row = |y: u16| (u32::from(y) / self.h) as usize * self.stride;
        let rows = &self.bases[row(base.y)..row(base.y + sides.h)];
        for word in span.first..=span.last {
            let mask = span.mask(word);
            for bases in Column::new(rows, self.stride, word) {
                if bases & mask != 0 {
                    return true;
                }
            }
        }
        false
    }

    /// This one, of these sides, is not free any more.
    pub(crate) fn remove(&mut self, rectangle: Submesh) {
        let x = u32::from(rectangle.base.x);
        let row = (u32::from(rectangle.base.y) / self.h) as usize;
        self.bases[row * self.stride + (x / WORD_BITS) as usize] &= !(1 << (x % WORD_BITS));
    }

    /// Of squares: calls `visit` with the base node of each that does not lie in a free one of twice the side, in row-major order, until
    /// it returns false.
    pub(crate) fn each_largest(
        &self,
        draft: &mut Draft<'_, '_>,
        mut visit: impl FnMut(u16, u16, &mut Draft<'_, '_>) -> bool,
    ) {
        let mut steps = SmallSteps::default();
        let bases = &self.bases[..self.rows * self.stride];
        'all: for (row, words) in bases.chunks_exact(self.stride).enumerate() {
            // To look at them, and for some to mark the row's processors.
            steps.worked(30 + (30 + 10 * self.h) * self.stride as u32, draft);
            for (word, &bases) in words.iter().enumerate() {
                if bases == 0 {
                    continue;
                }
                let mut bases = self.largest_in(row, word);
                while bases != 0 {
                    let x = word as u32 * WORD_BITS + bases.trailing_zeros();
                    bases &= bases - 1;
                    if !visit(x as u16, row as u16 * self.h as u16, draft) {
                        break 'all;
                    }
                }
            }
        }
        steps.end(draft);
    }

    /// The bases in a word of a row of those squares that do not lie in a free one of twice the side.
    fn largest_in(&self, row: usize, word: usize) -> Word {
        let bases = self.word(row, word);
        let both = bases & self.word(row ^ 1, word);
        if self.w < WORD_BITS {
            let quarters = both & both >> self.w & multiples(2 * self.w);
            return bases & !(quarters | quarters << self.w);
        }
        let beside = word ^ (self.w / WORD_BITS) as usize;
        bases & !(both & self.word(row, beside) & self.word(row ^ 1, beside))
    }

    /// A word of a row; none begins outside.
    fn word(&self, row: usize, word: usize) -> Word {
        match row < self.rows && word < self.stride {
            true => self.bases[row * self.stride + word],
            false => 0,
        }
    }
}

/// The multiples of a power of two, at most the bits of a word.
fn multiples(of: u32) -> Word {
    Word::MAX / ones(of)
}
