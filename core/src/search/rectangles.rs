//! Searches for rectangles in the occupancy of a two-dimensional mesh.

use super::columns::{Scratch, first_fit_in_columns};
use super::rows::first_fit_unrolled;
use super::unmarked::UnmarkedBlocks;
use crate::draft::Draft;
use crate::layout::STRIDE_MAX;
use crate::mesh::{Coord, Sides};
use crate::occupancy::Occupancy;
use crate::word::{Doubling, LONG_WORDS, WORD_BITS, Word, and_shifted, complement, keep_starts};

/// The first base node in row-major order at which a submesh of these sides is free.
///
/// There are as many words of scratch as of occupancy.
///
/// # Method
///
/// A row is reduced to the bits at which `w` free processors begin; a base is free for `w x h`
/// where that bit is set in `h` consecutive rows: a window. A window is read from its top row down.
/// Where the AND of the rows becomes zero, no window that contains that row and the top one can
/// succeed, and the next window begins right above that row, so most rows of a crowded mesh are
/// never read:
///
/// ```text
///   w x h = 2 x 3            busy: #     a run of 2 free nodes starts: s
///
///   row 5  . . . #           s s . .     the window of rows 2..=4 fails at row 3,
///   row 4  . . . .   ---->   s s s .     the next one has rows 4..=6
///   row 3  # . # .           . . . .  <- AND is empty
///   row 2  . . . .
/// ```
///
/// - On a host, while few blocks are busy in rows of several words, no row is read
///   ([`UnmarkedBlocks::first_fit`]).
/// - On a host, rows of one or two words are searched by [`first_fit_unrolled`], longer ones by
///   [`first_fit_in_columns`], which leaves out most rows that are too full.
/// - On a board, by [`first_fit_in_words`].
///
/// # Time complexity
///
/// O(rows * words in a row * log w) in ordinary occupancies; when every window fails in its lowest
/// row, O(rows * (h + log w) * words in a row), on hosts O(rows * h * log w * words in a row).
#[cfg_attr(not(target_os = "none"), inline(always))]
pub(crate) fn first_fit(
    occupancy: &Occupancy<'_>,
    sides: Sides,
    scratch: Scratch<'_>,
    draft: &Draft<'_, '_>,
) -> Option<Coord> {
    if !LONG_WORDS {
        return first_fit_of_any_width(occupancy, sides, scratch.words(), draft);
    }
    if occupancy.stride() > 1 {
        return first_fit_of_several_words(occupancy, sides, scratch, draft);
    }
    if sides.w > occupancy.grid().side(0) {
        return None;
    }
    // On a host these are at most 1,024 words, which need no pause.
    first_fit_unrolled::<1>(occupancy.busy_rows(), sides.w, sides.h.into())
}

// A function of its own, so that the search of rows of one word stays short.
#[inline(never)]
fn first_fit_of_several_words(
    occupancy: &Occupancy<'_>,
    sides: Sides,
    scratch: Scratch<'_>,
    draft: &Draft<'_, '_>,
) -> Option<Coord> {
    draft.poll();
    if let Some(blocks) = UnmarkedBlocks::of(occupancy) {
        return blocks.first_fit(sides);
    }
    if !sides.fits_in(Sides::new(
        occupancy.grid().side(0),
        occupancy.grid().side(1),
    )) {
        return None;
    }
    // The last step of the longest run is a whole word.
    if occupancy.stride() == 2 && u32::from(sides.w) < 2 * WORD_BITS {
        return first_fit_unrolled::<2>(occupancy.busy_rows(), sides.w, sides.h.into());
    }
    first_fit_in_columns(occupancy, sides, scratch)
}

// A function of its own, so that the search of rows of one word stays short.
#[inline(never)]
fn first_fit_of_any_width(
    occupancy: &Occupancy<'_>,
    sides: Sides,
    scratch: &mut [Word],
    draft: &Draft<'_, '_>,
) -> Option<Coord> {
    draft.poll();
    let stride = occupancy.stride();
    let busy = occupancy.busy_rows();
    let window = usize::from(sides.h);
    if sides.w > occupancy.grid().side(0) || window * stride > busy.len() {
        return None;
    }
    let starts = &mut scratch[..busy.len()];
    let runs = Doubling::new(sides.w);
    first_fit_in_words(busy, stride, &runs, window, starts, draft)
}

/// First fit in rows of any number of words. The results for the rows that two windows share are
/// kept, so that no row is reduced twice:
///
/// ```text
///   top of the new window   |  not seen: reduced now, ANDed into `acc` from the top down
///   seen ------------------ |
///                           |  reduced before; `known` is the AND of all of them
///   base of the new window  |
/// ```
///
/// If `acc & known` is not zero the window is free. Otherwise the rows below `seen` are ANDed one
/// by one, to find the row above which the next window begins. This function polls for the rows
/// that are read again.
fn first_fit_in_words(
    busy: &[Word],
    stride: usize,
    runs: &Doubling,
    window: usize,
    starts: &mut [Word],
    draft: &Draft<'_, '_>,
) -> Option<Coord> {
    let rows = busy.len() / stride;
    let words = |row: usize| row * stride..(row + 1) * stride;
    let (mut known, mut acc, mut above) = ([0; STRIDE_MAX], [0; STRIDE_MAX], [0; STRIDE_MAX]);
    let known = &mut known[..stride];
    let acc = &mut acc[..stride];
    let above = &mut above[..stride];
    known.fill(Word::MAX);
    let (mut base, mut seen) = (0, 0);
    while base + window <= rows {
        let top = base + window;
        acc.fill(Word::MAX);
        let mut alive = true;
        let mut row = top;
        while alive && row > seen {
            row -= 1;
            let starts = &mut starts[words(row)];
            complement(&busy[words(row)], starts);
            runs.reduce(starts);
            alive = and_row(acc, above, starts);
        }
        if alive {
            let hit = acc
                .iter()
                .zip(&*known)
                .position(|(acc, known)| acc & known != 0);
            if let Some(word) = hit {
                let bit = (acc[word] & known[word]).trailing_zeros();
                let x = word as u32 * WORD_BITS + bit;
                return Some(Coord::new(x as u16, base as u16));
            }
        }
        while alive {
            row -= 1;
            alive = and_row(acc, above, &starts[words(row)]);
        }
        draft.poll();
        (base, seen) = (row + 1, top);
        known.copy_from_slice(above);
    }
    None
}

/// `above = acc`, then `acc &= row`. Returns whether any bit is left in `acc`.
#[inline]
fn and_row(acc: &mut [Word], above: &mut [Word], row: &[Word]) -> bool {
    let mut any = 0;
    for ((acc, above), row) in acc.iter_mut().zip(above).zip(row) {
        *above = *acc;
        *acc &= row;
        any |= *acc;
    }
    any != 0
}

/// Marks in `bases`, a bit for each node as in the occupancy, every base node at which a submesh of
/// these sides is free. All of `bases` is written, and it is zero where there is none.
///
/// # Time complexity
///
/// O(rows * words in a row * (log w + log h)).
pub(crate) fn all_bases<'s>(
    occupancy: &Occupancy<'_>,
    sides: Sides,
    bases: &'s mut [Word],
) -> &'s mut [Word] {
    let (busy, stride) = (occupancy.busy_rows(), occupancy.stride());
    let bases = &mut bases[..busy.len()];
    wide_bases(busy, stride, sides.w, bases);
    keep_taller(bases, stride, 1, sides.h);
    bases
}

/// Marks in `bases` every node at which `w` free nodes of a row begin.
pub(super) fn wide_bases(busy: &[Word], stride: usize, w: u16, bases: &mut [Word]) {
    complement(busy, bases);
    keep_wider(bases, stride, 1, w);
}

/// `bases` has the nodes at which a place of the width `known` begins. Keeps the nodes at which a
/// place of the width `w` begins, which is not smaller.
#[inline]
pub(super) fn keep_wider(bases: &mut [Word], stride: usize, known: u16, w: u16) {
    let doubling = Doubling::between(known, w);
    for &step in doubling.steps() {
        and_shifted(bases, step);
    }
    keep_starts(w.into(), bases, stride);
}

/// [`keep_wider`] for heights.
#[inline]
pub(super) fn keep_taller(bases: &mut [Word], stride: usize, known: u16, h: u16) {
    for &step in Doubling::between(known, h).steps() {
        and_shifted(bases, step * stride as u32 * WORD_BITS);
    }
}
