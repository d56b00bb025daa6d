//! The word and bit of each processor in the occupancy: [`Layout`].
//!
//! ```text
//!   mesh 6 x 4: a word for each row            torus 4 x 4 x 4: one row of 64 bits
//!                                              (32-bit words; z = 0, 1 in the first)
//!   y   bit 0 1 2 3 4 5  6 .. (padding)          bit  0 1 2 3  4 5 6 7  8 ..
//!   3       . . . . . .  # ..  word 3            (x, y)  y = 0    y = 1    ..
//!   2       . A A A . .  # ..  word 2
//!   1       . A A A . .  # ..  word 1          node = x + 4 y + 16 z
//!   0       . . . . . .  # ..  word 0
//! ```

use crate::grid::{Block, DIMENSIONS_MAX, Grid, MESH_SIDE_MAX};
use crate::word::{Span, WORD_BITS, Word, words_for};

/// The number of words in the longest row of a two-dimensional mesh.
pub(crate) const STRIDE_MAX: usize = words_for(MESH_SIDE_MAX as u32);

/// The layout of the occupancy bitmap: a bit for each processor, in the order of their numbers. On
/// a two-dimensional mesh each row starts at a word of its own. On any other grid all processors
/// are one row.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    grid: Grid,
    /// The difference between the numbers of neighbours along each dimension.
    strides: [u32; DIMENSIONS_MAX],
    is_plane: bool,
    rows: usize,
    row_words: usize,
}

/// One dimension of a grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) side: u32,
    /// The difference between the numbers of neighbours.
    pub(crate) stride: u32,
    /// Whether position 0 follows the last one.
    pub(crate) wraps: bool,
}

/// A callback that gets a word's index and a mask of its bits. It returns false to stop.
type Visit<'a> = dyn FnMut(usize, Word) -> bool + 'a;

/// The positions of a block along one dimension: `len` of them from `from` on, around the ring of
/// `side` positions if need be.
#[derive(Clone, Copy, Default)]
struct Reach {
    from: u32,
    len: u32,
    side: u32,
    stride: u32,
}

impl Layout {
    pub(crate) fn new(grid: Grid) -> Layout {
        let mut strides = [0; DIMENSIONS_MAX];
        let mut stride = 1;
        for (entry, &side) in strides.iter_mut().zip(grid.sides()) {
            *entry = stride;
            stride *= u32::from(side);
        }
        Layout {
            strides,
            is_plane: grid.is_plane(),
            rows: grid.rows() as usize,
            row_words: words_for(grid.row_len()),
            grid,
        }
    }

    #[inline]
    pub(crate) const fn grid(&self) -> &Grid {
        &self.grid
    }

    #[inline]
    pub(crate) const fn is_plane(&self) -> bool {
        self.is_plane
    }

    #[inline]
    pub(crate) const fn rows(&self) -> usize {
        self.rows
    }

    /// The number of words in a row.
    #[inline]
    pub(crate) const fn row_words(&self) -> usize {
        self.row_words
    }

    #[inline]
    pub(crate) fn axis(&self, dimension: usize) -> Axis {
        Axis {
            side: self.grid.sides()[dimension].into(),
            stride: self.strides[dimension],
            wraps: self.grid.wraps(dimension),
        }
    }

    /// The row in which a line along dimension 0 lies, and the bits of the row before it.
    #[inline]
    pub(crate) fn line(&self, line: u32) -> (usize, u32) {
        if self.is_plane {
            (line as usize, 0)
        } else {
            (0, line * u32::from(self.grid.side(0)))
        }
    }

    /// The number of processors of a block.
    #[inline]
    pub(crate) fn area(&self, block: Block) -> u32 {
        if self.is_plane {
            let [.., w, h] = block.rectangle();
            u32::from(w) * u32::from(h)
        } else {
            self.grid.area(block)
        }
    }

    /// Calls `visit` with each word that a block touches and the block's bits in it, until `visit`
    /// returns false. Returns whether it reached the end. `visit` may get a word more than once,
    /// each time with other bits.
    // The board and the page in the browser have one copy for each caller.
    #[cfg_attr(not(any(target_os = "none", target_family = "wasm")), inline(always))]
    pub(crate) fn words(&self, block: Block, mut visit: impl FnMut(usize, Word) -> bool) -> bool {
        if !self.is_plane {
            return self.words_of_row(block, &mut visit);
        }
        let [x, y, w, h] = block.rectangle();
        let span = Span::new(u32::from(x), u32::from(w));
        for word in span.first..=span.last {
            let bits = span.mask(word);
            let mut at = usize::from(y) * self.row_words + word;
            for _ in 0..h {
                if !visit(at, bits) {
                    return false;
                }
                at += self.row_words;
            }
        }
        true
    }

    /// [`Layout::words`] on a grid whose processors are one row; the words ascend.
    ///
    /// The lowest dimensions whose nodes together fit into a word make one pattern. It is repeated
    /// at each position of the block in the higher dimensions. A torus 4 x 4 x 4, start (3, 1, 0),
    /// extent (2, 2, 2), with x and y in the pattern:
    ///
    /// ```text
    ///   x: 3, 0      # . . #                     the pattern of one dimension
    ///   y: 1, 2      . . . .  # . . #  # . . #  . . . .        of two dimensions, 16 bits
    ///   z: 0, 1      the pattern at bit 0 and at bit 16        of three dimensions
    /// ```
    ///
    /// If the block is full in all of these dimensions, its nodes form runs, and the function
    /// visits whole runs instead. A torus 4 x 4 x 4, extent (4, 4, 2), has one run of 32 bits.
    // One copy for all callers: the function is long, and a call of `visit` for each word is cheap.
    fn words_of_row(&self, block: Block, visit: &mut Visit<'_>) -> bool {
        let mut reaches = [Reach::default(); DIMENSIONS_MAX];
        let spans = self.grid.spans(block).zip(self.grid.sides());
        for ((reach, ((from, len), &side)), stride) in
            reaches.iter_mut().zip(spans).zip(self.strides)
        {
            *reach = Reach {
                from,
                len,
                side: side.into(),
                stride,
            };
        }
        let reaches = &reaches[..self.grid.dimensions()];
        // The nodes of the full dimensions at the bottom have consecutive numbers.
        let full = reaches.iter().take_while(|reach| reach.len == reach.side);
        let full = full.count();
        let in_a_word = |reach: &&Reach| reach.stride * reach.side <= WORD_BITS;
        let low = reaches.iter().take_while(in_a_word).count();
        if full >= low {
            let Some((&reach, above)) = reaches[full..].split_first() else {
                return visit_span(Span::new(0, self.grid.nodes()), visit);
            };
            let Reach {
                from,
                len,
                side,
                stride,
            } = reach;
            // The positions after the end of the ring have the lower numbers.
            let wrapped = (from + len).saturating_sub(side);
            return offsets(above, &mut |offset| {
                let mut run = |at: u32, len: u32| {
                    len == 0 || visit_span(Span::new(offset + at * stride, len * stride), visit)
                };
                run(0, wrapped) && run(from, len - wrapped)
            });
        }
        let (low, above) = reaches.split_at(low);
        let pattern = low.iter().fold(1, |pattern: Word, reach| {
            let mut sum = 0;
            let mut at = reach.from;
            for _ in 0..reach.len {
                sum |= pattern << (at * reach.stride);
                at = if at + 1 == reach.side { 0 } else { at + 1 };
            }
            sum
        });
        offsets(above, &mut |offset| {
            let (word, bit) = ((offset / WORD_BITS) as usize, offset % WORD_BITS);
            let over = match bit {
                0 => 0,
                bit => pattern >> (WORD_BITS - bit),
            };
            visit(word, pattern << bit) && (over == 0 || visit(word + 1, over))
        })
    }
}

/// Calls `visit` with each word of the span and its mask, until it returns false.
fn visit_span(span: Span, visit: &mut Visit<'_>) -> bool {
    (span.first..=span.last).all(|word| visit(word, span.mask(word)))
}

/// Calls `visit` with the number of each node that lies within all reaches and is 0 in every lower
/// dimension, in ascending order, until `visit` returns false. Returns whether it reached the end.
///
/// The function counts like an odometer. A reach that wraps around has two intervals of positions;
/// its coordinate starts at 0, then skips to the second interval:
///
/// ```text
///   side 8, from 6, len 3      # . . . . . # #       0, then 6, then 7, then carry
/// ```
fn offsets(reaches: &[Reach], visit: &mut dyn FnMut(u32) -> bool) -> bool {
    // The first position of a reach.
    let least = |reach: &Reach| {
        if reach.from + reach.len > reach.side {
            0
        } else {
            reach.from
        }
    };
    let mut coordinates = [0; DIMENSIONS_MAX];
    let mut offset = 0;
    for (at, reach) in coordinates.iter_mut().zip(reaches) {
        *at = least(reach);
        offset += *at * reach.stride;
    }
    loop {
        if !visit(offset) {
            return false;
        }
        let mut dimension = 0;
        loop {
            let Some(reach) = reaches.get(dimension) else {
                return true;
            };
            let before = coordinates[dimension];
            let next = before + 1;
            let after = match reach.from + reach.len {
                end if end > reach.side && next == end - reach.side => reach.from,
                end if end > reach.side && next == reach.side => 0,
                end if end <= reach.side && next == end => reach.from,
                _ => next,
            };
            coordinates[dimension] = after;
            offset = offset + after * reach.stride - before * reach.stride;
            if after > before {
                break;
            }
            dimension += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    /// The drawings in the documentation of [`Layout`].
    #[test]
    fn blocks_are_visited_as_drawn() {
        let nodes = |sides: &[u16], start: &[u16], extent: &[u16]| {
            let grid = Grid::torus(sides).unwrap();
            let block = grid.block(start, extent).unwrap();
            let mut nodes = Vec::new();
            Layout::new(grid).words(block, |word, bits| {
                let set = (0..WORD_BITS).filter(|&bit| bits >> bit & 1 == 1);
                nodes.extend(set.map(|bit| word as u32 * WORD_BITS + bit));
                true
            });
            nodes
        };
        let pattern = [4, 7, 8, 11];
        let upper = pattern.map(|bit| 16 + bit);
        assert_eq!(
            nodes(&[4, 4, 4], &[3, 1, 0], &[2, 2, 2]),
            [pattern, upper].concat()
        );
        let run: Vec<u32> = (0..32).collect();
        assert_eq!(nodes(&[4, 4, 4], &[0, 0, 0], &[4, 4, 2]), run);
        assert_eq!(nodes(&[64, 8], &[0, 6], &[1, 3]), [0, 384, 448]);
    }
}
