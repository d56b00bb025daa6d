//! Bands of neighbouring rows that are alike, each handled as one row: [`Bands`].
//!
//! A decision with foresight supposes many times that some job has left, and asks each time for the
//! maximal free submeshes that meet this job's block. The picture in `search/maximal.rs` has bands.
//! For it, `starts` is 0 1 4 6: the first row of each band, then the number of rows. And `of_rows`
//! is 0 1 1 1 2 2 3: the band of each row, then the number of bands.

use core::ops::Range;

use super::candidates::Candidates;
use super::{Adding, Space};
use crate::grid::{Block, Grid};
use crate::layout::STRIDE_MAX;
use crate::mesh::Submesh;
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search::maximal::MEETING_MAX;
use crate::search::steps::{Rule, for_each_corner};
use crate::search::submeshes::{Found, Meeting, Rows, any_maximal};
use crate::word::{Span, WORD_BITS, Word, bit, low_half};

/// Rows of at most this many words are handled as one number.
const NARROW_WORDS: usize = (u64::BITS / WORD_BITS) as usize;

/// The bands of a two-dimensional mesh, with blocks that can become free for a while.
#[derive(Debug)]
pub(super) struct Bands<'a> {
    stride: usize,
    /// The columns of the mesh.
    columns: u32,
    len: usize,
    /// The first row of each band, and the number of rows.
    starts: &'a mut [Word],
    /// The band of each row, and the number of bands.
    of_rows: &'a mut [Word],
    /// The busy bits of each band.
    busy: &'a mut [Word],
    /// The bits of each row that never become free; empty if there are none. The rows of a band
    /// have the same bits.
    fixed: &'a [Word],
}

impl<'a> Bands<'a> {
    /// The number of words that the bands need.
    pub(super) const fn words(grid: &Grid) -> usize {
        Occupancy::words_needed(grid) + 2 * (grid.side(1) as usize + 1)
    }

    /// The bands of an occupancy. `running` are busy blocks: a band begins wherever a running block
    /// begins or ends, so that these blocks consist of whole bands. `fixed` has the bits of each
    /// row that never become free, or nothing if there are none. `memory` has as many words as
    /// [`Bands::words`] says.
    ///
    /// # Time complexity
    ///
    /// O(words + blocks).
    pub(super) fn new(
        occupancy: &Occupancy<'_>,
        running: impl Iterator<Item = Block>,
        fixed: &'a [Word],
        memory: &'a mut [Word],
    ) -> Self {
        // There is one edge more than rows, since a block may end at the top.
        let mut edges: [Word; STRIDE_MAX + 1] = [0; _];
        let mut mark = |row: u16| {
            let row = u32::from(row);
            edges[(row / WORD_BITS) as usize] |= 1 << (row % WORD_BITS);
        };
        for block in running.map(Submesh::of_plane) {
            mark(block.base.y);
            mark(block.base.y + block.sides.h);
        }
        let stride = occupancy.stride();
        let rows = occupancy.busy_rows();
        let (busy, memory) = memory.split_at_mut(rows.len());
        let (starts, of_rows) = memory.split_at_mut(rows.len() / stride + 1);
        let mut bands = Bands {
            stride,
            columns: occupancy.grid().row_len(),
            len: 0,
            starts,
            of_rows,
            busy,
            fixed,
        };
        // With a length that is known, rows of one word are compared in registers.
        match stride {
            1 => bands.gather(1, rows, &edges),
            stride => bands.gather(stride, rows, &edges),
        }
        bands
    }

    /// Gathers neighbouring rows that are alike, and between which no block begins or ends, in
    /// bands.
    #[inline(always)]
    fn gather(&mut self, stride: usize, rows: &[Word], edges: &[Word]) {
        let (busy, fixed) = (&mut *self.busy, self.fixed);
        let mut len = 0;
        for (row, bits) in rows.chunks_exact(stride).enumerate() {
            let own = row * stride;
            let is_edge = bit(edges, row as u32);
            // The bits of the band before are those of the row before.
            let is_alike = len > 0 && !is_edge && {
                let before = (len - 1) * stride;
                (0..stride).all(|word| {
                    busy[before + word] == bits[word]
                        && (fixed.is_empty() || fixed[own - stride + word] == fixed[own + word])
                })
            };
            if !is_alike {
                self.starts[len] = row as Word;
                for word in 0..stride {
                    busy[len * stride + word] = bits[word];
                }
                len += 1;
            }
            self.of_rows[row] = len as Word - 1;
        }
        let count = rows.len() / stride;
        self.starts[len] = count as Word;
        self.of_rows[count] = len as Word;
        self.len = len;
    }

    #[inline]
    fn start(&self, band: usize) -> u16 {
        self.starts[band] as u16
    }

    /// The band of a row, or the number of bands above the mesh.
    #[inline]
    fn band(&self, row: u16) -> usize {
        self.of_rows[usize::from(row)] as usize
    }

    /// The bands that one of the running blocks consists of.
    #[inline]
    fn bands(&self, block: Submesh) -> Range<usize> {
        self.band(block.base.y)..self.band(block.base.y + block.sides.h)
    }

    /// The busy bits of a band.
    #[inline]
    fn row(&self, band: usize) -> &[Word] {
        &self.busy[band * self.stride..][..self.stride]
    }

    /// The busy bits of a band of at most 64 columns; columns outside of the mesh are busy.
    #[inline]
    #[allow(clippy::useless_conversion, reason = "a word may have fewer")]
    fn narrow(&self, band: usize) -> u64 {
        match *self.row(band) {
            [] => u64::MAX,
            [only] => u64::from(only) | !u64::from(Word::MAX),
            [low, high, ..] => u64::from(low) | u64::from(high) << 32,
        }
    }

    #[inline]
    fn change(&mut self, block: Block, change: impl Fn(&mut Word, Word, Word)) {
        let block = Submesh::of_plane(block);
        let span = Span::new(block.base.x.into(), block.sides.w.into());
        for word in span.first..=span.last {
            let bits = span.mask(word);
            for band in self.bands(block) {
                let row = self.starts[band] as usize;
                let fixed = self.fixed.get(row * self.stride + word);
                let busy = &mut self.busy[band * self.stride + word];
                change(busy, fixed.copied().unwrap_or(0), bits);
            }
        }
    }

    /// Calls `visit` for every maximal free submesh that meets each of these running blocks: each
    /// once, if it is free. It calls `poll` in between.
    ///
    /// # Time complexity
    ///
    /// O(bands^2 * words in a row).
    fn for_each_maximal_meeting(
        &self,
        blocks: &[Block],
        poll: &dyn Fn(),
        visit: &mut dyn FnMut(Submesh),
    ) {
        let whole = Submesh::new(0, 0, self.columns as u16, self.start(self.len));
        let mut columns = [whole; MEETING_MAX];
        for (columns, block) in columns.iter_mut().zip(blocks) {
            *columns = Submesh::of_plane(*block);
        }
        let columns = &columns[..blocks.len().max(1)];
        // A submesh that meets all blocks begins at or below the first band, and ends at or above
        // the second.
        let (mut begins, mut ends) = (self.len - 1, 0);
        for &block in &columns[..blocks.len()] {
            let bands = self.bands(block);
            (begins, ends) = (begins.min(bands.end - 1), ends.max(bands.start));
        }
        if self.stride <= NARROW_WORDS {
            return self.search_narrow(begins, ends, columns, poll, visit);
        }
        let meeting = Meeting {
            begins,
            ends,
            columns,
        };
        any_maximal::<STRIDE_MAX>(self, self.stride, meeting, poll, |found| {
            let Found { bottom, top, x, w } = found;
            let (y, end) = (self.start(bottom), self.start(top + 1));
            visit(Submesh::new(x, y, w, end - y));
            false
        });
    }

    /// The search in rows of at most 64 columns, each as one number. It is a quarter faster than
    /// [`any_maximal`] on a host. On a board it is nearly twice as fast as a search that is generic
    /// over the number of words, and both searches together take 2.8 KB less flash than the generic
    /// one.
    fn search_narrow(
        &self,
        begins: usize,
        ends: usize,
        spans: &[Submesh],
        poll: &dyn Fn(),
        visit: &mut dyn FnMut(Submesh),
    ) {
        let count = self.len;
        let mut masks = [0; MEETING_MAX];
        for (mask, span) in masks.iter_mut().zip(spans) {
            *mask = u64::MAX >> (64 - span.sides.w) << span.base.x;
        }
        let masks = &masks[..spans.len()];
        let span = masks[0];
        // The AND of the bands from the bottom on to the one before `ends`.
        let mut below_ends = u64::MAX;
        for band in begins + 1..ends {
            below_ends &= !self.narrow(band);
        }
        for bottom in (0..=begins).rev() {
            if bottom < ends {
                below_ends &= !self.narrow(bottom);
                if masks.iter().any(|mask| below_ends & mask == 0) {
                    break;
                }
            }
            let below = match bottom {
                0 => u64::MAX,
                _ => self.narrow(bottom - 1),
            };
            let first = bottom.max(ends);
            let mut above = self.narrow(first);
            let mut free = runs_through(below_ends & !above, span);
            poll();
            for top in first..count {
                free &= !above;
                if free & span == 0 || free & below == 0 {
                    break;
                }
                above = if top + 1 < count {
                    self.narrow(top + 1)
                } else {
                    u64::MAX
                };
                if free & above == 0 {
                    continue;
                }
                let y = self.start(bottom);
                let h = self.start(top + 1) - y;
                let mut left = free;
                while left != 0 {
                    // Adding the lowest one bit carries through its run.
                    let rest = left & left.wrapping_add(left & left.wrapping_neg());
                    let run = left & !rest;
                    left = rest;
                    let stops = run & below != 0 && run & above != 0;
                    if stops && masks.iter().all(|mask| run & mask != 0) {
                        let (x, w) = (run.trailing_zeros() as u16, run.count_ones() as u16);
                        visit(Submesh::new(x, y, w, h));
                    }
                }
            }
        }
    }

    /// The boundary value of a place as in the busy list: the number of pairs of a processor in the
    /// place and a busy neighbour outside; all neighbours outside the mesh are busy. `None` if it
    /// is less than `least`.
    ///
    /// The place is a part of a maximal free submesh. A side of the place that is not at a side of
    /// the submesh has no busy neighbour, and is not looked at:
    ///
    /// ```text
    ///   # # . # # .
    ///   +---+------        the place p in the lower left corner of a free submesh:
    ///   |p p|. . .         only the neighbours below and at the left are looked at
    ///   +---+------
    ///   # # # . # #
    /// ```
    fn contact(&self, place: Submesh, free: Submesh, least: u32) -> Option<u32> {
        let Submesh { base, sides } = place;
        let (right, top) = (base.x + sides.w, base.y + sides.h);
        let (w, h) = (u32::from(sides.w), u32::from(sides.h));
        let is_below = base.y == free.base.y;
        let is_above = top == free.base.y + free.sides.h;
        let is_left = base.x == free.base.x;
        let is_right = right == free.base.x + free.sides.w;
        // First all neighbours count as busy; then the free neighbours are subtracted.
        let mut contact = w * (u32::from(is_below) + u32::from(is_above))
            + h * (u32::from(is_left) + u32::from(is_right));
        if contact < least {
            return None;
        }
        let span = Span::new(base.x.into(), w);
        let free_in_row = |row: u16| w - span.count(self.row(self.band(row)));
        if is_below && base.y > 0 {
            contact -= free_in_row(base.y - 1);
        }
        if is_above && self.band(top) < self.len {
            contact -= free_in_row(top);
        }
        if contact < least {
            return None;
        }
        let free_in_column = |x: u16| {
            let x = u32::from(x);
            let (word, bit) = ((x / WORD_BITS) as usize, x % WORD_BITS);
            let (mut band, mut row, mut free) = (self.band(base.y), base.y, 0);
            while row < top {
                let end = self.start(band + 1).min(top);
                let is_free = !self.busy[band * self.stride + word] >> bit & 1;
                free += u32::from(end - row) * low_half(is_free);
                (band, row) = (band + 1, end);
            }
            free
        };
        if is_left && base.x > 0 {
            contact -= free_in_column(base.x - 1);
        }
        if contact < least {
            return None;
        }
        if is_right && u32::from(right) < self.columns {
            contact -= free_in_column(right);
        }
        Some(contact)
    }
}

impl Rows for Bands<'_> {
    fn count(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn read(&self, row: usize, into: &mut [Word]) {
        into.copy_from_slice(self.row(row));
    }
}

impl Space for Bands<'_> {
    fn find(
        &mut self,
        _: &Occupancy<'_>,
        request: &Request,
        rule: Option<Rule<'_>>,
        candidates: &mut Candidates<'_>,
        poll: &dyn Fn(),
    ) {
        self.for_each_maximal_meeting(&[], poll, &mut |free| {
            poll();
            for sides in request.orientations() {
                let steps = rule.map(|rule| rule.steps(&[sides.w, sides.h]));
                for_each_corner(free, sides, steps, |place| {
                    candidates.consider(place.into(), |least| self.contact(place, free, least));
                });
            }
        });
    }

    fn release(&mut self, block: Block) {
        self.change(block, |busy, fixed, bits| *busy &= !(bits & !fixed));
    }

    fn take(&mut self, block: Block) {
        self.change(block, |busy, _, bits| *busy |= bits);
    }

    fn add(&mut self, blocks: &[Block], mut adding: Adding<'_, '_>, poll: &dyn Fn()) {
        self.for_each_maximal_meeting(blocks, poll, &mut |free| {
            poll();
            let extents = [free.sides.w, free.sides.h];
            adding.free(extents, |place| {
                let place = Submesh::of_plane(place);
                let (low, taken) = (free.base, place.base);
                let w = longer_rest((low.x, free.sides.w), (taken.x, place.sides.w));
                let h = longer_rest((low.y, free.sides.h), (taken.y, place.sides.h));
                free.overlaps(place).then_some([w, h])
            });
        });
    }
}

/// The length of the longer of the two rests of a stretch, at both sides of a part. Stretch and
/// part are a start and a length.
fn longer_rest((start, len): (u16, u16), (part, part_len): (u16, u16)) -> u16 {
    let before = part.saturating_sub(start);
    before.max((start + len).saturating_sub(part + part_len))
}

/// The runs of ones that share a bit with this run, and perhaps other runs between them.
///
/// ```text
///   ones     . # # . # # # . # . # #
///   run      . . # # # # # # # . . .
///   both     . . # . # # # . # . . .      from the start of the run at its lowest bit
///   result   . # # . # # # . # . . .      to the end of the run at its highest bit
/// ```
#[inline]
fn runs_through(ones: u64, run: u64) -> u64 {
    let both = ones & run;
    if both == 0 {
        return 0;
    }
    let zeros_below = !ones & ((both & both.wrapping_neg()) - 1);
    let zeros_above = !ones & (u64::MAX << both.ilog2());
    let from_start = u64::MAX << (u64::BITS - zeros_below.leading_zeros());
    let to_end = (zeros_above & zeros_above.wrapping_neg()).wrapping_sub(1);
    ones & from_start & to_end
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        /// Few zeros, so that runs are long.
        #[test]
        fn runs_through_are_those_from_the_first_to_the_last_that_meet(
            zeros in prop::collection::vec(0u32..64, 0..12),
            first in 0u32..64,
            len in 1u32..64,
        ) {
            let ones = zeros.iter().fold(u64::MAX, |ones, zero| ones & !(1 << zero));
            let run = (u64::MAX >> (64 - len)) << first;
            let words = (0..64 / WORD_BITS).map(|at| (ones >> (at * WORD_BITS)) as Word);
            let runs: Vec<u64> = crate::word::runs_of(words)
                .map(|bits| bits.fold(0, |run, bit| run | 1 << bit))
                .collect();
            let meets = |of_ones: &u64| of_ones & run != 0;
            let expected = match (runs.iter().position(meets), runs.iter().rposition(meets)) {
                (Some(first), Some(last)) => runs[first..=last].iter().sum(),
                _ => 0,
            };
            prop_assert_eq!(runs_through(ones, run), expected);
        }
    }
}
