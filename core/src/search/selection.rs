//! A set of processors of a two-dimensional mesh in the making: [`Selection`].

use super::aligned::Aligned;
use super::contact::Contacts;
use super::rectangles::{bases_in, keep_taller};
use crate::draft::Draft;
use crate::grid::MESH_SIDE_MAX;
use crate::mesh::{Coord, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::word::{
    Column, LONG_WORDS, Span, WORD_BITS, Word, complement, next_bit, rows_with_bits, runs,
};

/// The processors that a proposal has selected so far, and those that are still free.
///
/// A copy of the occupancy in which the selected processors are busy, too: what has been selected
/// is what the two differ in.
///
/// ```text
///   occupancy   # . . .      copy   # 1 1 .      XOR   . 1 1 .
///               # # . .             # # 1 .            . . 1 .
/// ```
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

    /// The same, and the rest of the words, as many at least. There are twice as many as the
    /// occupancy has.
    pub(crate) fn with_scratch(
        occupancy: &'a Occupancy<'m>,
        words: &'a mut [Word],
    ) -> (Self, &'a mut [Word]) {
        let (selected, scratch) = words.split_at_mut(occupancy.busy_rows().len());
        (Selection::new(occupancy, selected), scratch)
    }

    /// Selects all processors of a free submesh, and proposes it as a block.
    pub(crate) fn take(&mut self, part: Submesh, draft: &mut Draft<'_, '_>) {
        self.fill(part);
        draft.push(part);
    }

    /// The free rectangles of these sides. `bases` has as many words as the occupancy.
    pub(crate) fn free_rectangles<'s>(&self, sides: Sides, bases: &'s mut [Word]) -> Aligned<'s> {
        Aligned::new(self.busy, self.occupancy.stride(), sides, bases)
    }

    /// The first base node, in row-major order, at which a submesh of these sides is free. `bases`
    /// has as many words as the occupancy. O(words * (log w + log h)).
    pub(crate) fn first_base(&self, sides: Sides, bases: &mut [Word]) -> Option<Coord> {
        let stride = self.occupancy.stride();
        let bases = bases_in(self.busy, stride, sides, bases);
        let (at, &hit) = bases.iter().enumerate().find(|(_, bases)| **bases != 0)?;
        Some(Coord::of_lowest(hit, at, stride))
    }

    /// The same for the base node that has the most neighbours which are busy, selected or outside
    /// the mesh, the first of those.
    pub(crate) fn best_base(&self, sides: Sides, bases: &mut [Word]) -> Option<Coord> {
        let stride = self.occupancy.stride();
        let bases = bases_in(self.busy, stride, sides, bases);
        Contacts::with_busy(self.busy, stride).best(bases.iter().copied())
    }

    /// Calls `visit` with the sides of the widest free submesh of each height from 1 up to
    /// `tallest`, as long as there is one. `rows` has as many words as the occupancy.
    ///
    /// ```text
    ///   # . . .      rows, height 1    # f f f      height 2    . . . .
    ///   . . # .                        f f # f                  . f . f
    ///   . . . .                        f f f f                  f f . f
    ///                                  widest 4                 widest 2
    /// ```
    pub(crate) fn widest(
        &self,
        tallest: u16,
        rows: &mut [Word],
        draft: &Draft<'_, '_>,
        mut visit: impl FnMut(Sides),
    ) {
        let stride = self.occupancy.stride();
        let rows = &mut rows[..self.busy.len()];
        complement(self.busy, rows);
        for h in 1..=tallest {
            draft.poll();
            if h > 1 {
                keep_taller(rows, stride, h - 1, h);
            }
            let runs = rows.chunks_exact(stride).flat_map(runs);
            let Some(w) = runs.map(|(_, len)| len).max() else {
                return;
            };
            visit(Sides::new(w as u16, h));
        }
    }

    /// The number of processors of the submesh that are neither busy nor selected. O(h * ceil(w /
    /// word)).
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

    /// Selects up to `count` free processors of the submesh, column by column from the left, each
    /// from the bottom or from the top. Returns how many were selected. O(h * ceil(w / word) + w).
    ///
    /// ```text
    ///   2  s # . .      5 processors, from the bottom: all of columns 0 and 1, whose free
    ///   1  s s . .      processors are counted at once, and one of column 2
    ///   0  # s s .
    /// ```
    pub(crate) fn fill_columns(&mut self, submesh: Submesh, count: u32, from_top: bool) -> u32 {
        let Submesh { base, sides } = submesh;
        let stride = self.occupancy.stride();
        let (bottom, top) = (usize::from(base.y), usize::from(base.y + sides.h));
        let rows = bottom * stride..top * stride;
        let span = Span::new(u32::from(base.x), u32::from(sides.w));
        let mut missing = count;
        for word in span.first..=span.last {
            if missing == 0 {
                break;
            }
            let mut columns = span.mask(word);
            let mut free = ColumnCounts::of_rows(sides.h);
            for row in self.busy[rows.clone()].chunks_exact(stride) {
                free.add(!row[word] & columns);
            }
            // Those columns of which all is taken.
            let mut whole = 0;
            while columns != 0 {
                let column = columns & columns.wrapping_neg();
                let free = free.of(column);
                if free > missing {
                    break;
                }
                missing -= free;
                whole |= column;
                columns ^= column;
            }
            for row in self.busy[rows.clone()].chunks_exact_mut(stride) {
                row[word] |= whole;
            }
            let x = word as u32 * WORD_BITS + columns.trailing_zeros();
            for at in 0..sides.h {
                if missing == 0 || columns == 0 {
                    break;
                }
                let at = if from_top { sides.h - 1 - at } else { at };
                missing -= u32::from(self.select(x as u16, base.y + at));
            }
        }
        count - missing
    }

    /// Writes what has been selected as blocks, in row-major order of their bases: runs along x,
    /// each as tall as it goes on in the rows above. The parts of a job often lie side by side, so
    /// adjacent parts form one run whatever their order, unlike in `Gather`.
    ///
    /// ```text
    ///   2  . b b .      two blocks: a ends where its run does not go on as it is,
    ///   1  . b b .      b begins there and has the same run in two rows
    ///   0  a a a .
    /// ```
    pub(crate) fn propose(self, draft: &mut Draft<'_, '_>) {
        for (selected, &busy) in self.busy.iter_mut().zip(self.occupancy.busy_rows()) {
            *selected ^= busy;
        }
        let stride = self.occupancy.stride();
        let rows_from = |y: usize| self.busy[y * stride..].chunks_exact(stride);
        for (y, row) in rows_with_bits(self.busy, stride) {
            let below = y.checked_sub(1).and_then(|y| rows_from(y).next());
            // A row like the one below begins no block.
            if below.is_some_and(|below| is_same(row, below)) {
                continue;
            }
            let is_new = |run: &(u32, u32)| !below.is_some_and(|below| has_run(below, *run));
            for (x, w) in runs(row).filter(is_new) {
                let above = rows_from(y + 1);
                let h = 1 + above.take_while(|row| has_run(row, (x, w))).count();
                draft.poll();
                draft.push(Submesh::new(x as u16, y as u16, w as u16, h as u16));
            }
        }
    }

    #[inline]
    fn place(&self, x: u16, y: u16) -> (usize, Word) {
        let at = u32::from(x);
        let word = usize::from(y) * self.occupancy.stride() + (at / WORD_BITS) as usize;
        (word, 1 << (at % WORD_BITS))
    }
}

/// How many of some rows have each bit set, as binary numbers: the lowest digits of all columns in
/// one word, and so on.
///
/// ```text
///   rows      1 . 1 1         digits of 1   1 1 . 1
///             1 1 1 .         digits of 2   1 . 1 .
///             1 . . .         counts        3 1 2 1
/// ```
struct ColumnCounts {
    digits: [Word; MESH_SIDE_MAX.ilog2() as usize + 1],
    /// How many of these are used.
    len: u32,
}

impl ColumnCounts {
    /// An empty count with room for `rows` rows.
    fn of_rows(rows: u16) -> Self {
        ColumnCounts {
            digits: [0; MESH_SIDE_MAX.ilog2() as usize + 1],
            len: u16::BITS - rows.leading_zeros(),
        }
    }

    /// One more row. Two digits on average.
    fn add(&mut self, mut row: Word) {
        for digits in &mut self.digits {
            if row == 0 {
                break;
            }
            let carries = *digits & row;
            *digits ^= row;
            row = carries;
        }
    }

    /// The count of one bit.
    fn of(&self, column: Word) -> u32 {
        let digits = (0..self.len).zip(&self.digits);
        digits.fold(0, |count, (place, digits)| {
            count | u32::from(digits & column != 0) << place
        })
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
    end == start + len && next_bit(row, start.saturating_sub(1), true) == Some(start)
}
