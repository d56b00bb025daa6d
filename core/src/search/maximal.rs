//! The maximal free boxes of any grid: [`Planes`].
//!
//! A free box is maximal if no other free box covers it. A box that spans a ring starts at 0 there.
//! `search.rs` has the search.
//!
//! # Bands
//!
//! Rows are the processors along dimension 0, a bit each. Along every other dimension, neighbouring
//! positions that are alike form one *band*. A job occupies the same processors of many planes, so
//! a machine of 16 x 16 x 16 has only a few bands along each dimension. Band 1 here has the rows 1
//! to 3:
//!
//! ```text
//!   row 5   . . . . .        band 2   . . . . .     starts   0 1 4 6 (the number of rows)
//!   row 4   . . . . .
//!   row 3   A A . B B        band 1   A A . B B     A band also begins where a block begins or
//!   row 2   A A . B B                               ends that may become free for a while, so
//!   row 1   A A . B B                               it consists of whole bands.
//!   row 0   A A . . .        band 0   A A . . .
//! ```

use crate::grid::arcs::{Arcs, arcs_of};
use crate::grid::{Arc, Block, DIMENSIONS_MAX, Grid, Side};
use crate::occupancy::Occupancy;
use crate::word::{Span, WORD_BITS, Word, bits_from, ones, words_for};

mod search;

/// The most blocks that a box must meet.
pub(crate) const MEETING_MAX: usize = 3;

/// The free processors of a grid in bands, with blocks that can become free for a while.
#[derive(Debug)]
pub(crate) struct Planes<'a> {
    grid: Grid,
    /// The words in a row.
    stride: usize,
    /// The bands along each dimension. Along dimension 0, a band is a row.
    counts: [u16; DIMENSIONS_MAX],
    /// For each dimension but the first, the first position of each band, then the side, then
    /// unused words up to one more than the side.
    starts: &'a mut [Word],
    /// The free bits of each row of bands, in the order of their coordinates.
    free: &'a mut [Word],
    /// A bit for each processor, set if it never becomes free; empty if there are no such
    /// processors.
    fixed: &'a [Word],
    spare: &'a mut [Word],
}

/// How [`Planes`] divides the words of its memory: the starts of bands, the rows, and the words for
/// the search.
#[derive(Clone, Copy, Debug)]
struct Division {
    starts: usize,
    rows: usize,
    spare: usize,
}

impl Division {
    const fn new(grid: &Grid) -> Division {
        let dimensions = grid.dimensions();
        let stride = words_for(grid.side(0) as u32);
        let (mut starts, mut rows, mut spare) = (0, stride, 0);
        let mut dimension = 1;
        while dimension < dimensions {
            starts += grid.side(dimension) as usize + 1;
            // The input of the level below.
            spare += rows * parts(dimensions, dimension - 1);
            rows *= grid.side(dimension) as usize;
            dimension += 1;
        }
        Division {
            starts,
            rows,
            spare,
        }
    }

    const fn words(self) -> usize {
        self.starts + self.rows + self.spare
    }
}

/// The number of parts of a level's input: the free bits, and two walls for each dimension above.
const fn parts(dimensions: usize, level: usize) -> usize {
    1 + 2 * (dimensions - 1 - level)
}

/// The words for [`Planes`] or for a search of one box, one after the other.
pub(crate) const fn words_for_boxes(grid: &Grid) -> usize {
    let (search, twice) = (
        Division::new(grid).words(),
        2 * Occupancy::words_needed(grid),
    );
    if search > twice { search } else { twice }
}

impl<'a> Planes<'a> {
    /// The free processors of an occupancy of any grid but a two-dimensional mesh. `blocks` can
    /// become free for a while, except where a bit of `fixed` is set. `fixed` has a bit for each
    /// processor, or is empty. `memory` has as many words as [`words_for_boxes`] says.
    ///
    /// # Time complexity
    ///
    /// O(processors / side of dimension 0 * dimensions + blocks * bands).
    pub(crate) fn new(
        occupancy: &Occupancy<'_>,
        blocks: impl Iterator<Item = Block>,
        fixed: &'a [Word],
        memory: &'a mut [Word],
    ) -> Self {
        let grid = *occupancy.grid();
        let division = Division::new(&grid);
        let (starts, memory) = memory.split_at_mut(division.starts);
        let (free, spare) = memory.split_at_mut(division.rows);
        let stride = words_for(grid.side(0).into());
        let mut planes = Planes {
            grid,
            stride,
            counts: [1; _],
            starts,
            free,
            fixed,
            spare,
        };
        planes.starts.fill(0);
        for block in blocks {
            planes.mark_edges(block);
        }
        if !fixed.is_empty() {
            planes.read(fixed);
            planes.mark_changes();
        }
        planes.read(occupancy.busy_rows());
        planes.mark_changes();
        planes.gather();
        planes
    }

    pub(crate) const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Makes the rows from the bits of all processors; a clear bit is a free processor.
    fn read(&mut self, bits: &[Word]) {
        read_rows(&self.grid, bits, self.free);
        // Bits beyond the end of a row are busy.
        let tail = match u32::from(self.grid.side(0)) % WORD_BITS {
            0 => Word::MAX,
            tail => ones(tail),
        };
        for row in self.free.chunks_exact_mut(self.stride) {
            row.iter_mut().for_each(|word| *word = !*word);
            row[self.stride - 1] &= tail;
        }
    }

    /// Lets a band begin where this block begins, and where it ends.
    fn mark_edges(&mut self, block: Block) {
        let arcs = arcs_of(&self.grid, block);
        let mut first = 0;
        for (dimension, arc) in arcs.iter().enumerate().take(self.grid.dimensions()).skip(1) {
            let side = self.grid.along(dimension);
            for edge in [Some(arc.start), side.after(*arc)].into_iter().flatten() {
                self.starts[first + usize::from(edge)] = 1;
            }
            first += usize::from(side.len) + 1;
        }
    }

    /// Lets a band begin where a position is not like the one before.
    fn mark_changes(&mut self) {
        let mut starts = &mut *self.starts;
        let mut apart = self.stride;
        for &side in &self.grid.sides()[1..] {
            let side = usize::from(side);
            let (own, others) = starts.split_at_mut(side + 1);
            starts = others;
            for (at, start) in own.iter_mut().enumerate().take(side).skip(1) {
                let mut rings = self.free.chunks_exact(apart * side);
                let is_new = *start == 0
                    && rings.any(|ring| {
                        let (before, here) = ring[(at - 1) * apart..].split_at(apart);
                        *before != here[..apart]
                    });
                *start |= Word::from(is_new);
            }
            apart *= side;
        }
    }

    /// Finds the bands, and leaves one row for each row of bands.
    fn gather(&mut self) {
        let mut starts = &mut *self.starts;
        // The number of words of a position, and of all rows.
        let (mut apart, mut len) = (self.stride, self.free.len());
        for (&side, bands) in self.grid.sides().iter().zip(&mut self.counts).skip(1) {
            let side = usize::from(side);
            let (own, others) = starts.split_at_mut(side + 1);
            starts = others;
            let mut count = 0;
            for at in 0..side {
                if at == 0 || own[at] == 1 {
                    own[count] = at as Word;
                    count += 1;
                }
            }
            own[count] = side as Word;
            *bands = count as u16;
            if count < side {
                let rings = len / (apart * side);
                for ring in 0..rings {
                    for (band, start) in own[..count].iter().enumerate() {
                        let from = (ring * side + *start as usize) * apart;
                        let to = (ring * count + band) * apart;
                        self.free.copy_within(from..from + apart, to);
                    }
                }
                len = rings * count * apart;
            }
            apart *= count;
        }
    }

    /// The words of all bands of the dimensions up to a level.
    fn len(&self, level: usize) -> usize {
        let bands = self.counts[1..=level].iter();
        bands.fold(self.stride, |len, &count| len * usize::from(count))
    }

    /// Where the bands along a dimension above 0 start, and the side.
    fn starts(&self, dimension: usize) -> &[Word] {
        let lower = self.grid.sides()[1..dimension].iter();
        let first: usize = lower.map(|&side| usize::from(side) + 1).sum();
        &self.starts[first..][..=usize::from(self.counts[dimension])]
    }

    /// The bands along a dimension, as if they were positions.
    fn side(&self, dimension: usize) -> Side {
        Side {
            len: self.counts[dimension],
            wraps: self.grid.wraps(dimension),
        }
    }

    /// The bands of a block of the machine. Along dimension 0, positions.
    fn bands(&self, block: Block) -> Arcs {
        let mut arcs = arcs_of(&self.grid, block);
        let dimensions = self.grid.dimensions();
        for (dimension, own) in arcs.iter_mut().enumerate().take(dimensions).skip(1) {
            let (side, arc) = (self.grid.along(dimension), *own);
            let count = self.counts[dimension];
            if side.is_whole(arc) {
                own.len = count;
                continue;
            }
            let starts = self.starts(dimension);
            let band = |at: u16| starts.partition_point(|&start| start < Word::from(at)) as u16;
            let start = band(arc.start);
            let end = side.after(arc).map_or(count, band);
            *own = Arc {
                start,
                len: if end > start {
                    end - start
                } else {
                    count - start + end
                },
            };
        }
        arcs
    }

    /// The positions of bands along a dimension above 0.
    fn positions(&self, dimension: usize, bands: Arc) -> Arc {
        let starts = self.starts(dimension);
        let count = usize::from(self.counts[dimension]);
        let first = usize::from(bands.start);
        let end = first + usize::from(bands.len);
        let end = if end <= count {
            starts[end]
        } else {
            starts[end - count] + starts[count]
        };
        Arc {
            start: starts[first] as u16,
            len: (end - starts[first]) as u16,
        }
    }

    /// One of the blocks given to [`Planes::new`] becomes free.
    pub(crate) fn release(&mut self, block: Block) {
        self.change(block, |free, fixed, bits| *free |= bits & !fixed);
    }

    /// The block is busy again.
    pub(crate) fn take(&mut self, block: Block) {
        self.change(block, |free, _, bits| *free &= !bits);
    }

    fn change(&mut self, block: Block, change: impl Fn(&mut Word, Word, Word)) {
        let bands = self.bands(block);
        let spans = spans(self.grid.side(0), bands[0]);
        let dimensions = self.grid.dimensions();
        // Counts like an odometer.
        let mut steps = [0; DIMENSIONS_MAX];
        loop {
            // The row of bands, and the first processor of a row that it stands for.
            let (mut row, mut node) = (0, 0);
            for at in (1..dimensions).rev() {
                let side = self.side(at);
                let band = usize::from(side.moved(bands[at].start, steps[at]));
                row = row * usize::from(side.len) + band;
                let position = self.starts(at)[band] as usize;
                node = node * usize::from(self.grid.side(at)) + position;
            }
            let node = node * usize::from(self.grid.side(0));
            for span in spans.iter().flatten() {
                for word in span.first..=span.last {
                    let first = node + word * WORD_BITS as usize;
                    let fixed = if self.fixed.is_empty() {
                        0
                    } else {
                        bits_from(self.fixed, first as i32)
                    };
                    change(
                        &mut self.free[row * self.stride + word],
                        fixed,
                        span.mask(word),
                    );
                }
            }
            let mut at = 1;
            while at < dimensions && steps[at] + 1 == bands[at].len {
                steps[at] = 0;
                at += 1;
            }
            if at >= dimensions {
                return;
            }
            steps[at] += 1;
        }
    }
}

/// Copies the bits of all processors, in the order of their numbers, so that each row begins at a
/// word of its own. Bits behind a row are undefined.
fn read_rows(grid: &Grid, bits: &[Word], rows: &mut [Word]) {
    let len = grid.side(0);
    let stride = words_for(len.into());
    if u32::from(len).is_multiple_of(WORD_BITS) {
        return rows.copy_from_slice(&bits[..rows.len()]);
    }
    let mut from = 0;
    for row in rows.chunks_exact_mut(stride) {
        for (at, word) in row.iter_mut().enumerate() {
            *word = bits_from(bits, from + (at as u32 * WORD_BITS) as i32);
        }
        from += i32::from(len);
    }
}

/// The bits of an arc of a row: behind the end of a ring it goes on at 0.
#[inline]
fn spans(side: u16, arc: Arc) -> [Option<Span>; 2] {
    let (start, len, side) = (u32::from(arc.start), u32::from(arc.len), u32::from(side));
    if start + len <= side {
        [Some(Span::new(start, len)), None]
    } else {
        [
            Some(Span::new(start, side - start)),
            Some(Span::new(0, start + len - side)),
        ]
    }
}

#[cfg(test)]
mod tests;
