//! A set of processors of a two-dimensional mesh in the making: [`Selection`].

use super::aligned::Aligned;
use crate::blocks::Draft;
use crate::mesh::{Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::word::{Column, LONG_WORDS, Span, WORD_BITS, Word, next_bit, runs};

/// The processors that a proposal has selected so far, and those that are still free.
///
/// A copy of the occupancy in which the selected processors are busy, too: what has been selected is what the two
/// differ in.
pub(crate) struct Selection<'a, 'm> {
    occupancy: &'a Occupancy<'m>,
    /// Rows as in the occupancy.
    busy: &'a mut [Word],
}

impl<'a, 'm> Selection<'a, 'm> {
    /// Nothing is selected. `scratch` has as many words as the occupancy.
    pub(crate) fn new(occupancy: &'a Occupancy<'m>, scratch: &'a mut [Word]) -> Self {
        let rows = occupancy.busy_rows();
        let busy = &mut scratch[..rows.len()];
        busy.copy_from_slice(rows);
        Selection { occupancy, busy }
    }

    /// The free rectangles of these sides. `bases` has as many words as the occupancy.
    pub(crate) fn free_rectangles<'s>(&self, sides: Sides, bases: &'s mut [Word]) -> Aligned<'s> {
        Aligned::new(self.busy, self.occupancy.stride(), sides, bases)
    }

    /// The number of processors of the submesh that are neither busy nor selected. O(h * ceil(w / word)).
    pub(crate) fn free_in(&self, submesh: Submesh) -> u32 {
        let Submesh { base, sides } = submesh;
        let span = Span::new(base.x.into(), sides.w.into());
        let stride = self.occupancy.stride();
        let first = usize::from(base.y) * stride;
        let rows = &self.busy[first..first + usize::from(sides.h) * stride];
        let free = |busy: Word, mask: Word| (!busy & mask).count_ones();
        // Hosts count rows of one word by vector code.
        if LONG_WORDS && stride == 1 {
            let mask = span.mask(0);
            return rows.iter().map(|&busy| free(busy, mask)).sum();
        }
        let mut sum = 0;
        for word in span.first..=span.last {
            let mask = span.mask(word);
            for busy in Column::new(rows, stride, word) {
                // Boards count bits by a dozen instructions, and often there is none.
                if LONG_WORDS || !busy & mask != 0 {
                    sum += free(busy, mask);
                }
            }
        }
        sum
    }

    /// Selects all free processors of the submesh.
    pub(crate) fn fill(&mut self, submesh: Submesh) {
        self.occupancy.layout().words(submesh.into(), |word, bits| {
            self.busy[word] |= bits;
            true
        });
    }

    /// Selects the processor if it is free. Returns whether it was.
    #[inline]
    pub(crate) fn select(&mut self, x: u16, y: u16) -> bool {
        let (word, bit) = self.place(x, y);
        let was_free = self.busy[word] & bit == 0;
        self.busy[word] |= bit;
        was_free
    }

    /// Selects so many free processors of the submesh, or all if there are fewer, column by column from the left, each
    /// from the bottom. Returns how many. O(h * (log w + ceil(w / word))).
    pub(crate) fn fill_columns(&mut self, submesh: Submesh, count: u32) -> u32 {
        let free = self.free_in(submesh);
        if free <= count {
            self.fill(submesh);
            return free;
        }
        let (mut columns, mut missing) = (submesh, count);
        // Invariant: as many as are missing are free in these columns.
        while missing > 0 && columns.sides.w > 1 {
            let Submesh { base, sides } = columns;
            let half = sides.w / 2;
            let left = Submesh::new(base.x, base.y, half, sides.h);
            let free = self.free_in(left);
            if free > missing {
                columns = left;
            } else {
                self.fill(left);
                missing -= free;
                columns = Submesh::new(base.x + half, base.y, sides.w - half, sides.h);
            }
        }
        let Submesh { base, .. } = columns;
        let mut y = base.y;
        while missing > 0 {
            missing -= u32::from(self.select(base.x, y));
            y += 1;
        }
        count
    }

    /// Writes what has been selected as blocks, in row-major order of their bases: runs along x, each as tall as it goes on
    /// in the rows above. The parts of a job often lie side by side, so the runs of a row are not told apart by which came
    /// last, as in `Gather`.
    pub(crate) fn propose(self, draft: &mut Draft<'_, '_>) {
        for (selected, &busy) in self.busy.iter_mut().zip(self.occupancy.busy_rows()) {
            *selected ^= busy;
        }
        let rows = || self.busy.chunks_exact(self.occupancy.stride());
        let mut below: &[Word] = &[];
        for (row, y) in rows().zip(0..) {
            // What goes on above begins no block.
            if is_same(row, below) {
                continue;
            }
            for (x, w) in runs(row).filter(|&run| below.is_empty() || !has_run(below, run)) {
                let above = rows().skip(usize::from(y) + 1);
                let h = 1 + above.take_while(|row| has_run(row, (x, w))).count();
                draft.push(Submesh::new(x as u16, y, w as u16, h as u16));
            }
            below = row;
        }
    }

    #[inline]
    fn place(&self, x: u16, y: u16) -> (usize, Word) {
        let at = u32::from(x);
        let word = usize::from(y) * self.occupancy.stride() + (at / WORD_BITS) as usize;
        (word, 1 << (at % WORD_BITS))
    }
}

/// Whether two rows are the same, without a call on boards.
fn is_same(row: &[Word], other: &[Word]) -> bool {
    let mut both = row.iter().zip(other);
    row.len() == other.len() && both.all(|(a, b)| a == b)
}

/// Whether this is one of the runs of the row: neither longer nor shorter.
fn has_run(row: &[Word], (start, len): (u32, u32)) -> bool {
    let end = next_bit(row, start, false).unwrap_or(row.len() as u32 * WORD_BITS);
    next_bit(row, start.saturating_sub(1), true) == Some(start) && end == start + len
}
