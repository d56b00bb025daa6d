//! Searches for rectangles in the occupancy of a two-dimensional mesh.

use super::columns::{Scratch, first_fit_in_columns};
use super::rows::first_fit_unrolled;
use super::steps::{Rule, has_room};
use super::unmarked::UnmarkedBlocks;
use crate::draft::Draft;
use crate::layout::STRIDE_MAX;
use crate::mesh::{Coord, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::word::{
    Doubling, LONG_WORDS, Span, WORD_BITS, Word, and_shifted, complement, keep_starts, runs,
};

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
///   [`first_fit_in_columns`], which knows of most rows that they are too full.
/// - On a board, by [`first_fit_in_words`].
///
/// # Time complexity
///
/// O(rows * words in a row * log w) in ordinary occupancies; when every window fails in its lowest
/// row, O(rows * (h + log w) * words in a row), on hosts O(rows * h * log w * words in a row).
#[cfg_attr(target_os = "none", inline)]
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
    // At most 1,024 words on a host: not worth a pause.
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

/// First fit in rows of any number of words. What is known of the rows that two windows share is
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
/// by one, to find the row above which the next window begins. The rows that are read again are
/// polled for here.
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
            let busy_row = &busy[words(row)];
            if LONG_WORDS && row + 1 < top && busy_row.iter().eq(&busy[words(row + 1)]) {
                // Rows through the same blocks are alike; the AND does not change. (For ranges that
                // may overlap, an image would need a copy of 1.5 KB.)
                let (row, above) = starts[row * stride..].split_at_mut(stride);
                row.copy_from_slice(&above[..stride]);
                continue;
            }
            let starts = &mut starts[words(row)];
            complement(busy_row, starts);
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

/// `above = acc`, then `acc &= row`; whether anything is left.
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

/// Marks in `bases` every node at which `w` free ones of a row begin.
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

/// Calls `visit` for every maximal free submesh, each once, and `poll` in between.
///
/// For each pair of a bottom and a top row, the runs of the AND of the rows between are as wide as
/// can be. A run is maximal if something busy stops it both below and above:
///
/// ```text
///   row 3   . # . . . #        bottom 1, top 2: the AND of both rows has the runs a and b.
///   row 2   a a # b b b        a: stopped above by (1, 3) and below by (0, 0): maximal.
///   row 1   a a # b b b        b: stopped above by (5, 3), not below: the run of rows 0..=2
///   row 0   # . # . . .        has it, and is found with bottom 0.
/// ```
///
/// Rows above which nothing ends, and below which nothing begins, are left out, so that few large
/// blocks take little time.
///
/// # Time complexity
///
/// O(rows^2 * words in a row); the number of submeshes is at most the number of free processors,
/// see the free submesh list.
pub(crate) fn for_each_maximal(
    occupancy: &Occupancy<'_>,
    poll: &dyn Fn(),
    mut visit: impl FnMut(Submesh),
) {
    any_maximal(occupancy, poll, |free| {
        visit(free);
        false
    });
}

/// Whether a submesh that the request allows is free anywhere, where the rule lets it begin.
///
/// # Time complexity
///
/// That of [`for_each_maximal`], up to the first submesh that has room.
pub(crate) fn fits_somewhere(
    occupancy: &Occupancy<'_>,
    request: &Request,
    rule: Option<Rule<'_>>,
    draft: &Draft<'_, '_>,
) -> bool {
    let poll = || draft.poll();
    any_maximal(occupancy, &poll, |free| has_room(free, request, rule))
}

/// Whether any maximal free submesh is `wanted`; calls it until one is.
fn any_maximal(
    occupancy: &Occupancy<'_>,
    poll: &dyn Fn(),
    wanted: impl FnMut(Submesh) -> bool,
) -> bool {
    if LONG_WORDS && occupancy.stride() == 1 {
        any_maximal_in::<1>(occupancy, poll, wanted)
    } else {
        any_maximal_in::<STRIDE_MAX>(occupancy, poll, wanted)
    }
}

/// [`any_maximal`] in rows of at most `N` words: with one the compiler keeps rows in registers.
fn any_maximal_in<const N: usize>(
    occupancy: &Occupancy<'_>,
    poll: &dyn Fn(),
    mut wanted: impl FnMut(Submesh) -> bool,
) -> bool {
    let rows = occupancy.grid().rows() as usize;
    let stride = if N == 1 { 1 } else { occupancy.stride() };
    let (mut free, mut below, mut row, mut above) = ([0; N], [0; N], [0; N], [0; N]);
    let (free, below) = (&mut free[..stride], &mut below[..stride]);
    let (row, above) = (&mut row[..stride], &mut above[..stride]);
    // All nodes outside of the mesh are busy.
    let read = |at: Option<usize>, into: &mut [Word]| match at.filter(|&at| at < rows) {
        Some(at) => occupancy.read_row(at, into),
        None => into.fill(Word::MAX),
    };
    for bottom in 0..rows {
        free.fill(Word::MAX);
        read(bottom.checked_sub(1), below);
        read(Some(bottom), above);
        let mut both = below.iter().zip(&*above);
        if both.all(|(below, row)| below & !row == 0) {
            // A submesh that begins at this row can begin in the row below, so it is not
            // maximal.
            continue;
        }
        for top in bottom..rows {
            row.copy_from_slice(above);
            read(Some(top + 1), above);
            let (mut stopped_below, mut stopped_above) = (0, 0);
            let rows = row.iter().zip(&*below).zip(&*above);
            for (free, ((busy, below), above)) in free.iter_mut().zip(rows) {
                *free &= !busy;
                stopped_below |= *free & below;
                stopped_above |= *free & above;
            }
            if stopped_below == 0 {
                break;
            }
            if stopped_above == 0 {
                continue;
            }
            for (x, w) in runs(free) {
                let span = Span::new(x, w);
                if span.any(below) && span.any(above) {
                    let h = (top - bottom + 1) as u16;
                    if wanted(Submesh::new(x as u16, bottom as u16, w as u16, h)) {
                        return true;
                    }
                }
            }
        }
        poll();
    }
    false
}
