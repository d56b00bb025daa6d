//! Where the processors of a grid stand in the words of the occupancy: [`Layout`].

use core::ops::Range;

use crate::grid::{Block, DIMENSIONS_MAX, Grid, MESH_SIDE_MAX};
use crate::word::{Span, WORD_BITS, Word, words_for};

/// The words in the longest row of a two-dimensional mesh.
pub(crate) const STRIDE_MAX: usize = words_for(MESH_SIDE_MAX as u32);

/// A bit for each processor, in the order of their numbers. Each row of a two-dimensional mesh begins with a word of
/// its own; all processors of any other grid are one row.
#[derive(Debug)]
pub(crate) struct Layout {
    grid: Grid,
    /// How far apart the numbers of neighbours along each dimension are.
    strides: [u32; DIMENSIONS_MAX],
    is_plane: bool,
    rows: usize,
    row_words: usize,
}

/// The positions along one dimension: its side, how far apart the numbers of neighbours are, and whether the last one is
/// followed by the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) side: u32,
    pub(crate) stride: u32,
    pub(crate) wraps: bool,
}

/// What is done with a word and the bits in it; false to stop.
type Visit<'a> = dyn FnMut(usize, Word) -> bool + 'a;

/// Start and extent in one dimension, and the side of the grid.
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
        for (place, &side) in strides.iter_mut().zip(grid.sides()) {
            *place = stride;
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

    /// Words in a row.
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

    /// The number of processors of a block.
    #[inline]
    pub(crate) fn area(&self, block: Block) -> u32 {
        match self.is_plane {
            true => {
                let [.., w, h] = block.rectangle();
                u32::from(w) * u32::from(h)
            }
            false => self.grid.area(block),
        }
    }

    /// About so many instructions it takes to visit the words of a block, and to do with it what goes with that.
    #[inline]
    pub(crate) fn instructions(&self, block: Block) -> u32 {
        match self.is_plane {
            true => {
                let [.., h] = block.rectangle();
                400 + 20 * self.row_words as u32 * u32::from(h)
            }
            false => (self.grid.area(block).saturating_mul(30))
                .saturating_add(400 * self.grid.dimensions() as u32),
        }
    }

    /// On a two-dimensional mesh whose rows have one word each: the words that a block touches, and its bits in each of them.
    #[inline]
    pub(crate) fn rows_of_one_word(&self, block: Block) -> Option<(Range<usize>, Word)> {
        if self.row_words != 1 || !self.is_plane {
            return None;
        }
        let [x, y, w, h] = block.rectangle().map(usize::from);
        // At least one column, so that the shift is no longer than the word.
        Some((y..y + h, Word::MAX >> (WORD_BITS as usize - w) << x))
    }

    /// Calls `visit` with the words that a block touches and its bits in them, until that returns false. Returns whether
    /// it never did. A word may be named more than once.
    #[inline]
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

    /// [`Layout::words`] where all processors are one row, in ascending order.
    ///
    /// The lowest dimensions, whose nodes together fit into a word, are put together as one pattern, which is laid down
    /// wherever the higher dimensions say; if they are full, runs of nodes are laid down instead.
    // One copy for all that visit words: it is long, and a call for each word is not.
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
        // The nodes of the full dimensions at the bottom are neighbours.
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
            // What wraps around comes first.
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

/// Calls `visit` with the number of each node that lies in the reaches of the highest dimensions, its coordinates in those
/// below being 0, in ascending order, until it returns false.
fn offsets(reaches: &[Reach], visit: &mut dyn FnMut(u32) -> bool) -> bool {
    // Each coordinate starts at its least value: 0 where the reach wraps around, and then it skips to where the rest begins.
    let least = |reach: &Reach| match reach.from + reach.len > reach.side {
        true => 0,
        false => reach.from,
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
