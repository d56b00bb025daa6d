//! Searches for rectangles in the occupancy of a two-dimensional mesh.

use core::mem;

use super::few::FewBlocks;
use super::rows::{first_fit_in_rows, first_fit_unrolled};
use crate::blocks::Draft;
use crate::layout::STRIDE_MAX;
use crate::mesh::{Coord, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::word::{
    Doubling, LONG_WORDS, Span, WORD_BITS, Wide, Word, and_shifted, keep_starts, runs,
};

/// The first base node in row-major order at which a submesh of these sides is free.
///
/// `scratch` has as many words as the occupancy.
///
/// # Method
///
/// A row is reduced to the bits at which `w` free processors begin; a base is free for `w x h` where
/// that bit is set in `h` consecutive rows: a window. A window is read from its top row down. Where the
/// AND of the rows becomes zero, no window that contains that row and the top one can succeed, and the
/// next window begins right above that row, so most rows of a crowded mesh are never read. While few blocks are busy, [`FewBlocks::first_fit`] reads no row at all.
///
/// # Time complexity
///
/// O(rows * words in a row * log w) in ordinary occupancies; when every window fails in its lowest row, O(rows * (h + log w)
/// * words in a row), on hosts O(rows * h * log w) where a row has one or two words.
#[inline]
pub(crate) fn first_fit(
    occupancy: &Occupancy<'_>,
    sides: Sides,
    scratch: &mut [Word],
) -> Option<Coord> {
    // The board's rows have 32 bits a word: those of its square mesh have two, and for smaller ones a kilobyte of flash would be much.
    if occupancy.stride() > 1 || !LONG_WORDS {
        return first_fit_of_any_width(occupancy, sides, scratch);
    }
    if sides.w > occupancy.grid().side(0) {
        return None;
    }
    // A copy of the search for each number of steps lets the compiler unroll them, which halves
    // the time of a row.
    let search = match Doubling::count(sides.w) {
        0 => first_fit_unrolled::<Word, 0>,
        1 => first_fit_unrolled::<Word, 1>,
        2 => first_fit_unrolled::<Word, 2>,
        3 => first_fit_unrolled::<Word, 3>,
        4 => first_fit_unrolled::<Word, 4>,
        5 => first_fit_unrolled::<Word, 5>,
        // The longest row.
        _ => first_fit_unrolled::<Word, { WORD_BITS.ilog2() }>,
    };
    let last = Doubling::last(sides.w);
    search(occupancy.busy_rows(), last, sides.h.into())
}

// Apart, so that the search of rows of one word stays short.
#[inline(never)]
fn first_fit_of_any_width(
    occupancy: &Occupancy<'_>,
    sides: Sides,
    scratch: &mut [Word],
) -> Option<Coord> {
    let stride = occupancy.stride();
    if LONG_WORDS
        && stride > 1
        && let Some(blocks) = FewBlocks::of(occupancy)
    {
        return blocks.first_fit(sides);
    }
    let busy = occupancy.busy_rows();
    let window = usize::from(sides.h);
    if sides.w > occupancy.grid().side(0) || window * stride > busy.len() {
        return None;
    }
    if LONG_WORDS && stride == 2 {
        let search = match Doubling::count(sides.w) {
            0 => first_fit_unrolled::<Wide, 0>,
            1 => first_fit_unrolled::<Wide, 1>,
            2 => first_fit_unrolled::<Wide, 2>,
            3 => first_fit_unrolled::<Wide, 3>,
            4 => first_fit_unrolled::<Wide, 4>,
            5 => first_fit_unrolled::<Wide, 5>,
            6 => first_fit_unrolled::<Wide, 6>,
            _ => first_fit_unrolled::<Wide, { Wide::BITS.ilog2() }>,
        };
        return search(busy, Doubling::last(sides.w), window);
    }
    let runs = Doubling::new(sides.w);
    let starts = &mut scratch[..busy.len()];
    match stride {
        2 => first_fit_in_rows(busy, window, starts, |free: Wide| runs.reduced(free)),
        _ => first_fit_wide(busy, stride, &runs, window, starts),
    }
}

/// Rows of several words. The same steps as in [`first_fit_in_rows`], a word at a time.
fn first_fit_wide(
    busy: &[Word],
    stride: usize,
    runs: &Doubling,
    window: usize,
    starts: &mut [Word],
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
                // Rows through the same blocks are alike; the AND does not change. (For ranges that may overlap, an image
                // would need a copy of 1.5 KB.)
                let (row, above) = starts[row * stride..].split_at_mut(stride);
                row.copy_from_slice(&above[..stride]);
                continue;
            }
            let starts = &mut starts[words(row)];
            for (start, busy) in starts.iter_mut().zip(busy_row) {
                *start = !busy;
            }
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

/// Marks in `bases`, a bit for each node as in the occupancy, every base node at which a submesh of these
/// sides is free. All of `bases` is written, and it is zero where there is none.
///
/// # Time complexity
///
/// O(rows * words in a row * (log w + log h)).
pub(crate) fn all_bases<'s>(
    occupancy: &Occupancy<'_>,
    sides: Sides,
    bases: &'s mut [Word],
) -> &'s mut [Word] {
    let stride = occupancy.stride();
    let busy = occupancy.busy_rows();
    let bases = &mut bases[..busy.len()];
    wide_bases(busy, stride, sides.w, bases);
    // Up to two rows are a step at most.
    if stride == 2 && sides.h > 2 {
        and_windows(bases.as_chunks_mut().0, sides.h.into());
        return bases;
    }
    keep_taller(bases, stride, 1, sides.h);
    bases
}

/// Marks in `bases` every node at which `w` free ones of a row begin.
pub(super) fn wide_bases(busy: &[Word], stride: usize, w: u16, bases: &mut [Word]) {
    if stride == 2 && u32::from(w) <= WORD_BITS {
        let rows = bases.as_chunks_mut().0.iter_mut();
        let last = Doubling::last(w);
        for (row, &[low, high]) in rows.zip(busy.as_chunks().0) {
            // The steps of `Doubling`, which take half as long as constants.
            let mut starts = [!low, !high];
            if w > 2 {
                starts = and_shifted_row(starts, 1);
                if w > 4 {
                    starts = and_shifted_row(starts, 2);
                    if w > 8 {
                        starts = and_shifted_row(starts, 4);
                        if w > 16 {
                            starts = and_shifted_row(starts, 8);
                            if w > 32 {
                                starts = and_shifted_row(starts, 16);
                            }
                        }
                    }
                }
            }
            *row = and_shifted_row(starts, last);
        }
        return;
    }
    for (base, busy) in bases.iter_mut().zip(busy) {
        *base = !busy;
    }
    keep_wider(bases, stride, 1, w);
}

/// Of base nodes at which something of the width `known` is free leaves those at which it is as free for the width `w`, which is not smaller.
#[inline]
pub(super) fn keep_wider(bases: &mut [Word], stride: usize, known: u16, w: u16) {
    let doubling = Doubling::between(known, w);
    if stride == 2 {
        let rows = bases.as_chunks_mut().0;
        // All rows before the next step: a row with all of its steps takes half as much again.
        for &step in doubling.steps() {
            and_shifted_rows(rows, step);
        }
        return;
    }
    for &step in doubling.steps() {
        and_shifted(bases, step);
    }
    keep_starts(w.into(), bases, stride);
}

/// The same for heights.
#[inline]
pub(super) fn keep_taller(bases: &mut [Word], stride: usize, known: u16, h: u16) {
    for &step in Doubling::between(known, h).steps() {
        and_shifted(bases, step * stride as u32 * WORD_BITS);
    }
}

/// `row &= row >> by` for each row of two words, `by` being at most one.
fn and_shifted_rows(rows: &mut [[Word; 2]], by: u32) {
    if by >= WORD_BITS {
        for [low, high] in rows {
            *low &= mem::take(high);
        }
        return;
    }
    for row in rows {
        if row[0] | row[1] != 0 {
            *row = and_shifted_row(*row, by);
        }
    }
}

/// `row & row >> by`, `by` being less than a word.
#[inline(always)]
fn and_shifted_row([low, high]: [Word; 2], by: u32) -> [Word; 2] {
    // For 0 it is not shifted, which changes nothing: what comes to `low >> 0` is lost in the AND.
    let carried = high.wrapping_shl(WORD_BITS - by);
    [low & (low >> by | carried), high & high >> by]
}

/// Makes each row the AND of a window of rows that begins with it, or zero where there are fewer.
///
/// Of each `window` rows, first the AND of each with those behind it, then with those of the next as far as its own window goes: two steps for a row,
/// whatever the window is.
fn and_windows(mut rows: &mut [[Word; 2]], window: usize) {
    let and = |[low, high]: [Word; 2], other: [Word; 2]| [low & other[0], high & other[1]];
    while rows.len() >= window {
        let (block, rest) = mem::take(&mut rows).split_at_mut(window);
        let mut all = [Word::MAX; 2];
        for row in block.iter_mut().rev() {
            all = and(all, *row);
            *row = all;
        }
        all = [Word::MAX; 2];
        let later = block.get_mut(1..).unwrap_or_default();
        let (later, beyond) = later.split_at_mut(later.len().min(rest.len()));
        for (row, next) in later.iter_mut().zip(&*rest) {
            all = and(all, *next);
            *row = and(all, *row);
        }
        beyond.fill([0; 2]);
        rows = rest;
    }
    rows.fill([0; 2]);
}

/// Calls `visit` for every maximal free submesh, each once, and `spend` for the instructions in
/// between.
///
/// For each pair of a bottom and a top row, the runs of the AND of the rows between are as wide as can
/// be; such a run is maximal if something busy stops it both below and above. Rows above which nothing ends, and below which
/// nothing begins, are left out, so that few large blocks take little time.
///
/// # Time complexity
///
/// O(rows^2 * words in a row); the number of submeshes is at most the number of free processors, see
/// the free submesh list.
pub(crate) fn for_each_maximal(
    occupancy: &Occupancy<'_>,
    spend: &dyn Fn(u32),
    mut visit: impl FnMut(Submesh),
) {
    any_maximal(occupancy, spend, |free| {
        visit(free);
        false
    });
}

/// Whether a submesh that the request allows is free anywhere.
///
/// # Time complexity
///
/// That of [`for_each_maximal`], up to the first submesh that has room.
pub(crate) fn fits_somewhere(
    occupancy: &Occupancy<'_>,
    request: &Request,
    draft: &Draft<'_, '_>,
) -> bool {
    let spend = |instructions| draft.spend(instructions);
    any_maximal(occupancy, &spend, |free| request.fits_in(free.sides))
}

/// Whether any maximal free submesh is `wanted`; calls it until one is.
fn any_maximal(
    occupancy: &Occupancy<'_>,
    spend: &dyn Fn(u32),
    wanted: impl FnMut(Submesh) -> bool,
) -> bool {
    match occupancy.settled_rows() {
        Some(busy) if occupancy.stride() == 1 => any_maximal_narrow(busy, spend, wanted),
        _ => any_maximal_wide(occupancy, spend, wanted),
    }
}

/// Rows of one word.
fn any_maximal_narrow(
    busy: &[Word],
    spend: &dyn Fn(u32),
    mut wanted: impl FnMut(Submesh) -> bool,
) -> bool {
    // Outside is busy.
    let mut below = Word::MAX;
    for (bottom, &first) in busy.iter().enumerate() {
        let stopped_below = mem::replace(&mut below, first);
        let mut free = !first;
        if free & stopped_below == 0 {
            // Whatever is free from here on is free in the row below as well.
            continue;
        }
        let mut instructions = 20;
        let above = busy[bottom + 1..].iter().copied();
        for (top, above) in (bottom..).zip(above.chain([Word::MAX])) {
            if free & above != 0 {
                instructions += 20 + 10 * free.count_ones();
                let mut left = free;
                while left != 0 {
                    // Adding the lowest one carries through its run.
                    let rest = left & left.wrapping_add(left & left.wrapping_neg());
                    let run = left & !rest;
                    left = rest;
                    if run & stopped_below != 0 && run & above != 0 {
                        let (x, w) = (run.trailing_zeros() as u16, run.count_ones() as u16);
                        let h = (top - bottom + 1) as u16;
                        if wanted(Submesh::new(x, bottom as u16, w, h)) {
                            return true;
                        }
                    }
                }
                free &= !above;
                if free & stopped_below == 0 {
                    break;
                }
            }
        }
        spend(instructions);
    }
    false
}

fn any_maximal_wide(
    occupancy: &Occupancy<'_>,
    spend: &dyn Fn(u32),
    mut wanted: impl FnMut(Submesh) -> bool,
) -> bool {
    let rows = occupancy.grid().rows() as usize;
    let stride = occupancy.stride();
    let (mut free, mut below, mut row, mut above) = (
        [0; STRIDE_MAX],
        [0; STRIDE_MAX],
        [0; STRIDE_MAX],
        [0; STRIDE_MAX],
    );
    let (free, below) = (&mut free[..stride], &mut below[..stride]);
    let (row, above) = (&mut row[..stride], &mut above[..stride]);
    // Outside is busy.
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
            // Whatever is free from here on is free in the row below as well.
            continue;
        }
        let mut instructions = 100;
        for top in bottom..rows {
            instructions += 60 + 60 * stride as u32;
            row.copy_from_slice(above);
            read(Some(top + 1), above);
            let (mut any, mut stopped) = (0, 0);
            for ((free, busy), above) in free.iter_mut().zip(&*row).zip(&*above) {
                *free &= !busy;
                any |= *free;
                stopped |= *free & above;
            }
            if any == 0 {
                break;
            }
            if stopped == 0 {
                continue;
            }
            for (x, w) in runs(free) {
                instructions += 300;
                let span = Span::new(x, w);
                if span.any(below) && span.any(above) {
                    let h = (top - bottom + 1) as u16;
                    let found = Submesh::new(x as u16, bottom as u16, w as u16, h);
                    if wanted(found) {
                        return true;
                    }
                }
            }
        }
        spend(instructions);
    }
    false
}
