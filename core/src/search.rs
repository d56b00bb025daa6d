//! Searches in the occupancy of a mesh that several strategies share.

use crate::mesh::{Coord, SIDE_MAX, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::word::{Span, Word, run_starts, run_starts_row, runs, words_for};

/// The words in the longest row.
const STRIDE_MAX: usize = words_for(SIDE_MAX as u32);

/// The first base node in row-major order at which a submesh of these sides is free.
///
/// `scratch` has as many words as the occupancy.
///
/// # Method
///
/// A row is reduced to the bits at which `w` free processors begin; a base is free for `w x h` where
/// that bit is set in `h` consecutive rows. The AND over every window of `h` rows takes about two ANDs a
/// row whatever `h` is (van Herk's windows): rows are cut into chunks of `h`; a window is the end of one
/// chunk and the beginning of the next, so suffix ANDs of the one meet prefix ANDs of the other.
///
/// # Time complexity
///
/// O(rows * words in a row * log w).
pub(crate) fn first_fit(
    occupancy: &Occupancy<'_>,
    sides: Sides,
    scratch: &mut [Word],
) -> Option<Coord> {
    let stride = occupancy.stride();
    let busy = occupancy.busy_rows();
    let scratch = &mut scratch[..busy.len()];
    let len = u32::from(sides.w);
    let window = usize::from(sides.h);
    if len > occupancy.machine().row_len() || window * stride > busy.len() {
        return None;
    }
    let (x, y) = if stride == 1 {
        first_fit_narrow(busy, len, window, scratch)
    } else {
        first_fit_wide(busy, stride, len, window, scratch)
    }?;
    Some(Coord::new(x as u16, y as u16))
}

/// Rows of one word.
fn first_fit_narrow(
    busy: &[Word],
    len: u32,
    window: usize,
    starts: &mut [Word],
) -> Option<(u32, usize)> {
    for (start, row) in starts[..window].iter_mut().zip(busy) {
        *start = run_starts(!row, len);
    }
    let mut chunk = 0;
    loop {
        // Suffix ANDs of this chunk, in place.
        let mut suffix = Word::MAX;
        for start in starts[chunk..chunk + window].iter_mut().rev() {
            suffix &= *start;
            *start = suffix;
        }
        if suffix != 0 {
            return Some((suffix.trailing_zeros(), chunk));
        }
        // Prefix ANDs of the next one; its rows are reduced on the way.
        let next = chunk + window;
        let end = busy.len().min(next + window);
        let mut prefix = Word::MAX;
        for row in next..end {
            let start = run_starts(!busy[row], len);
            starts[row] = start;
            prefix &= start;
            let base = row + 1 - window;
            let hit = starts[base] & prefix;
            if hit != 0 {
                return Some((hit.trailing_zeros(), base));
            }
        }
        chunk = next;
        if chunk + window > busy.len() {
            return None;
        }
    }
}

/// Rows of several words. The same steps as in [`first_fit_narrow`], a row at a time.
fn first_fit_wide(
    busy: &[Word],
    stride: usize,
    len: u32,
    window: usize,
    starts: &mut [Word],
) -> Option<(u32, usize)> {
    let reduce = |starts: &mut [Word], row: usize| {
        let words = row * stride..(row + 1) * stride;
        for (start, busy) in starts[words.clone()].iter_mut().zip(&busy[words.clone()]) {
            *start = !busy;
        }
        run_starts_row(&mut starts[words], len);
    };
    let lowest = |row: &[Word]| crate::word::next_bit(row, 0, true);
    let rows = busy.len() / stride;
    for row in 0..window {
        reduce(starts, row);
    }
    let mut prefix = [0; STRIDE_MAX];
    let prefix = &mut prefix[..stride];
    let mut chunk = 0;
    loop {
        for row in (chunk..chunk + window - 1).rev() {
            let (below, above) = starts.split_at_mut((row + 1) * stride);
            for (word, above) in below[row * stride..].iter_mut().zip(above) {
                *word &= *above;
            }
        }
        if let Some(x) = lowest(&starts[chunk * stride..(chunk + 1) * stride]) {
            return Some((x, chunk));
        }
        let next = chunk + window;
        prefix.fill(Word::MAX);
        for row in next..rows.min(next + window) {
            reduce(starts, row);
            let base = row + 1 - window;
            let (low, high) = starts.split_at(row * stride);
            let base_row = if base == row {
                high
            } else {
                &low[base * stride..]
            };
            let mut hit = 0;
            for ((prefix, start), base) in prefix.iter_mut().zip(high).zip(base_row) {
                *prefix &= *start;
                hit |= *prefix & *base;
            }
            if hit != 0 {
                for (word, base) in prefix.iter_mut().zip(base_row) {
                    *word &= *base;
                }
                return lowest(prefix).map(|x| (x, base));
            }
        }
        chunk = next;
        if chunk + window > rows {
            return None;
        }
    }
}

/// Calls `found` for every maximal free submesh, each once.
///
/// For each pair of a bottom and a top row, the runs of the AND of the rows between are as wide as can
/// be; such a run is maximal if something busy stops it both below and above.
///
/// # Time complexity
///
/// O(rows^2 * words in a row); the number of submeshes is at most the number of free processors, see
/// the free submesh list.
#[cfg(feature = "free-submesh-list")]
pub(crate) fn for_each_maximal(occupancy: &Occupancy<'_>, mut found: impl FnMut(Submesh)) {
    let rows = occupancy.machine().rows() as usize;
    let mut free = [0; STRIDE_MAX];
    let free = &mut free[..occupancy.stride()];
    for bottom in 0..rows {
        free.fill(Word::MAX);
        for top in bottom..rows {
            let mut any = 0;
            for (free, busy) in free.iter_mut().zip(occupancy.busy_row(top)) {
                *free &= !busy;
                any |= *free;
            }
            if any == 0 {
                break;
            }
            for (x, w) in runs(free) {
                let span = Span::new(x, w);
                let stopped_below = bottom == 0 || span.any(occupancy.busy_row(bottom - 1));
                let stopped_above = top + 1 == rows || span.any(occupancy.busy_row(top + 1));
                if stopped_below && stopped_above {
                    let h = (top - bottom + 1) as u16;
                    found(Submesh::new(x as u16, bottom as u16, w as u16, h));
                }
            }
        }
    }
}
