//! Free rectangles of two-dimensional meshes, as in buddy systems and the tree of halves: the sides
//! are powers of two, and the coordinates of the base are multiples of the sides.
//!
//! A buddy system merges four free buddies into the square around them. So its free blocks are the
//! free squares that do not lie in a larger free square. They follow from the occupancy, whatever
//! the order of allocations and releases has been, also with faulty processors. A mesh of any sides
//! begins as the largest such squares that it has.
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

use crate::draft::Draft;
use crate::mesh::{Sides, Submesh};
use crate::word::{Column, WORD_BITS, Word, ones, words_for};

/// The free rectangles of one size.
///
/// ```text
///   occupancy, 4 x 4     bases of side 1      of side 2: bit x of row y / 2
///
///   3  . # . .           1 . 1 1
///   2  . . . .           1 1 1 1              . . 1 .
///   1  . . . .           1 1 1 1              1 . . .
///   0  . . . #           1 1 1 .
/// ```
///
/// A step to twice the size takes the AND of each pair of rows, then of each pair of bits.
#[derive(Debug)]
pub(crate) struct Aligned<'s> {
    /// For each row of rectangles a row of bits, as long as a row of the occupancy. Invariant: a
    /// bit is set where a free rectangle begins.
    bases: &'s mut [Word],
    stride: usize,
    /// How many rows of `bases` are in use.
    rows: usize,
    w: u32,
    h: u32,
}

impl<'s> Aligned<'s> {
    /// The free rectangles of these sides, which are powers of two. `busy` has rows of `stride`
    /// words, whose padding is busy, and `bases` has as many words.
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
        let height = usize::from(h);
        let bands = busy.chunks_exact(stride * height);
        let rows = bands.len();
        if stride == 2 {
            // Both words of a row are read at once, as the largest meshes of boards have rows of
            // two words.
            let bands = busy.as_chunks().0.chunks_exact(height);
            for (band, row) in bands.zip(bases.as_chunks_mut().0) {
                let (mut low, mut high) = (0, 0);
                for &[left, right] in band {
                    low |= left;
                    high |= right;
                }
                *row = [!low, !high];
            }
        } else {
            for (band, row) in bands.zip(bases.chunks_exact_mut(stride)) {
                for (word, bases) in row.iter_mut().enumerate() {
                    let mut any = 0;
                    for busy in Column::new(band, stride, word) {
                        any |= busy;
                    }
                    *bases = !any;
                }
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

    /// Goes on to the rectangles of twice the width.
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

    /// Goes on to the rectangles of which both sides are twice as long.
    pub(crate) fn double(&mut self) {
        self.rows /= 2;
        // The rows are replaced in place, the lowest first: each row is read before it is written.
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

    /// The width in processors; for squares, the side.
    pub(crate) const fn width(&self) -> u32 {
        self.w
    }

    /// Whether no rectangle is free.
    pub(crate) fn is_empty(&self) -> bool {
        let bases = &self.bases[..self.rows * self.stride];
        bases.iter().all(|&bases| bases == 0)
    }

    /// Whether there is a free rectangle in a submesh that consists of rectangles of the present
    /// sides. The sides of the submesh are powers of two, and its base is a multiple of them. So
    /// each of its rows is some whole words or a part of one word.
    // Inlined, since a call takes as long as most looks.
    #[inline(always)]
    pub(crate) fn is_any_in(&self, submesh: Submesh) -> bool {
        let Submesh { base, sides } = submesh;
        let (x, w) = (u32::from(base.x), u32::from(sides.w));
        let first = (u32::from(base.y) / self.h) as usize * self.stride;
        let len = (u32::from(sides.h) / self.h) as usize * self.stride;
        let rows = &self.bases[first..first + len];
        let mask = ones(w) << (x % WORD_BITS);
        let mut word = (x / WORD_BITS) as usize;
        let end = word + words_for(w);
        while word < end {
            for bases in Column::new(rows, self.stride, word) {
                if bases & mask != 0 {
                    return true;
                }
            }
            word += 1;
        }
        false
    }

    /// Removes this submesh, which has the present sides, from the free rectangles.
    pub(crate) fn remove(&mut self, rectangle: Submesh) {
        let x = u32::from(rectangle.base.x);
        let row = (u32::from(rectangle.base.y) / self.h) as usize;
        self.bases[row * self.stride + (x / WORD_BITS) as usize] &= !(1 << (x % WORD_BITS));
    }

    /// Calls `visit` with the base node of each free square that does not lie in a free square of
    /// twice its side, in row-major order, until `visit` returns false. Only for squares.
    ///
    /// ```text
    ///   3  v # 2 2      v: squares of side 1 that are visited; 2: free squares of side 2,
    ///   2  v v 2 2      so their quarters are not
    ///   1  2 2 v v
    ///   0  2 2 v #
    /// ```
    pub(crate) fn each_largest(
        &self,
        draft: &mut Draft<'_, '_>,
        mut visit: impl FnMut(u16, u16, &mut Draft<'_, '_>) -> bool,
    ) {
        let bases = &self.bases[..self.rows * self.stride];
        'all: for (row, words) in bases.chunks_exact(self.stride).enumerate() {
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
    }

    /// A word of a row of `bases` with only those squares that do not lie in a free square of twice
    /// the side. The bases of four free quarters of a larger square are removed.
    ///
    /// ```text
    ///   row 1             1 1 1 1
    ///   row 0             1 1 1 .     bases of side 1
    ///   both              1 1 1 .     row 0 AND row 1
    ///   both & both >> 1  1 1 . .     at multiples of 2: `quarters` is 1 . . .
    ///   left of row 0     . . 1 .     without quarters and quarters << 1
    /// ```
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

    /// A word of a row; zero outside, where no rectangle begins.
    fn word(&self, row: usize, word: usize) -> Word {
        if row < self.rows && word < self.stride {
            self.bases[row * self.stride + word]
        } else {
            0
        }
    }
}

/// A word in which the bits at multiples of `of` are set. `of` is a power of two, at most the bits
/// of a word.
fn multiples(of: u32) -> Word {
    Word::MAX / ones(of)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::pool::BlockPool;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    /// The largest squares that [`Aligned::each_largest`] visits.
    fn largest(squares: &Aligned<'_>) -> Vec<(u16, u16)> {
        let mut pool = BlockPool::new(&mut []);
        let mut draft = Draft::unpaused(&mut pool);
        let mut found = Vec::new();
        squares.each_largest(&mut draft, |x, y, _| {
            found.push((x, y));
            true
        });
        found
    }

    proptest! {
        /// Against a look at each processor, on meshes on both sides of one and of two words.
        #[test]
        fn rectangles_are_those_of_a_node_by_node_scan(
            width in prop_oneof![1_u16..=9, 31_u16..=33, 63_u16..=65, 127_u16..=130, Just(256)],
            height in prop_oneof![1_u16..=9, 31_u16..=33, 63_u16..=65],
            (log_w, log_h) in (0_u32..9, 0_u32..7),
            busy_nodes in prop::collection::vec((any::<u16>(), any::<u16>()), 0..40),
            is_free_from in any::<u16>(),
        ) {
            let stride = words_for(width.into());
            let mut busy = vec![Word::MAX; stride * usize::from(height)];
            let bit = |x: u16, y: u16| {
                let (word, bit) = (u32::from(x) / WORD_BITS, u32::from(x) % WORD_BITS);
                (usize::from(y) * stride + word as usize, 1 << bit)
            };
            // Few are busy, but for what lies left of a column.
            for (x, y) in (0..height).flat_map(|y| (is_free_from % width..width).map(move |x| (x, y))) {
                let (word, bit) = bit(x, y);
                busy[word] &= !bit;
            }
            for (x, y) in busy_nodes {
                let (word, bit) = bit(x % width, y % height);
                busy[word] |= bit;
            }
            let is_free = |x: u32, y: u32, w: u32, h: u32| {
                x + w <= width.into()
                    && y + h <= height.into()
                    && (y..y + h).all(|y| (x..x + w).all(|x| {
                        let (word, bit) = bit(x as u16, y as u16);
                        busy[word] & bit == 0
                    }))
            };
            let bases = |w: u32, h: u32| {
                let rows = (0..u32::from(height)).step_by(h as usize);
                let nodes = rows.flat_map(|y| (0..u32::from(width)).step_by(w as usize).map(move |x| (x, y)));
                nodes.filter(|&(x, y)| is_free(x, y, w, h)).collect::<Vec<_>>()
            };
            let mut scratch = vec![0x5A; busy.len()];

            let sides = Sides::new(1 << log_w, 1 << log_h);
            let (w, h) = (u32::from(sides.w), u32::from(sides.h));
            let mut free = Aligned::new(&busy, stride, sides, &mut scratch);
            let expected = bases(w, h);
            prop_assert_eq!(free.is_empty(), expected.is_empty());
            for y in (0..u32::from(height) / h).map(|row| row * h) {
                for x in (0..u32::from(width) / w).map(|column| column * w) {
                    let one = Submesh::new(x as u16, y as u16, sides.w, sides.h);
                    prop_assert_eq!(free.is_any_in(one), expected.contains(&(x, y)));
                }
            }
            for &(x, y) in &expected {
                prop_assert!(!free.is_empty());
                free.remove(Submesh::new(x as u16, y as u16, sides.w, sides.h));
            }
            prop_assert!(free.is_empty());

            let mut squares = Aligned::new(&busy, stride, Sides::new(sides.h, sides.h), &mut scratch);
            let mut side = h;
            loop {
                let around = |x: u32, y: u32| is_free(x - x % (2 * side), y - y % (2 * side), 2 * side, 2 * side);
                let expected: Vec<_> = bases(side, side).into_iter().filter(|&(x, y)| !around(x, y)).collect();
                let expected: Vec<_> = expected.into_iter().map(|(x, y)| (x as u16, y as u16)).collect();
                prop_assert_eq!(largest(&squares), expected);
                if squares.is_empty() {
                    break;
                }
                squares.double();
                side *= 2;
                prop_assert_eq!(squares.width(), side);
            }
        }
    }
}
