//! The maximal free submeshes of a two-dimensional mesh: [`any_maximal`].
//!
//! For each pair of a bottom and a top row, the runs of the AND of these rows and those between are
//! as wide as can be. A run is maximal if something busy stops it both below and above:
//!
//! ```text
//!   row 3   . # . . . #        bottom 1, top 2: the AND of both rows has the runs a and b.
//!   row 2   a a # b b b        a: stopped above by (1, 3) and below by (0, 0): maximal.
//!   row 1   a a # b b b        b: stopped above by (5, 3), not below: the run of rows 0..=2
//!   row 0   # . # . . .        has it, and is found with bottom 0.
//! ```
//!
//! # Submeshes that meet blocks
//!
//! A free submesh that meets a block has a row of that block. So its bottom row is not above the
//! block's top row (`begins`), and its top row is not below the block's bottom row (`ends`); for
//! several blocks the least `begins` and the largest `ends` hold. The further the bottom and the
//! top are away from the blocks, the fewer columns of the blocks are free. The search ends where
//! none is free:
//!
//! ```text
//!   top     ^  | from max(bottom, ends) upwards, until no column that meets the blocks is free
//!           |  |
//!   ends   ----+---------        the AND of the free bits of all rows from the bottom to the top
//!   begins ----+---------        has a run for each submesh that cannot be wider
//!           |  |
//!   bottom  v  | from `begins` downwards, likewise
//! ```
//!
//! The search leaves out rows at which no submesh can begin or end, so that few large blocks take
//! little time.

use super::maximal::MEETING_MAX;
use super::steps::{Rule, has_room};
use crate::draft::Draft;
use crate::layout::STRIDE_MAX;
use crate::mesh::Submesh;
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::word::{LONG_WORDS, Span, WORD_BITS, Word, next_bit};

/// The rows of a two-dimensional mesh, or bands of rows that are alike.
pub(crate) trait Rows {
    /// The number of rows.
    fn count(&self) -> usize;

    /// Copies the busy bits of a row.
    fn read(&self, row: usize, into: &mut [Word]);
}

impl Rows for Occupancy<'_> {
    fn count(&self) -> usize {
        self.layout().rows()
    }

    #[inline(always)]
    fn read(&self, row: usize, into: &mut [Word]) {
        self.read_row(row, into);
    }
}

/// The rows and columns that a submesh must meet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meeting<'a> {
    /// The submesh begins in this row or below.
    pub(crate) begins: usize,
    /// The submesh ends in this row or above.
    pub(crate) ends: usize,
    /// The submesh has a column of each of these, of which there is at least one.
    pub(crate) columns: &'a [Submesh],
}

/// A maximal free submesh.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// Its bottom row.
    pub(crate) bottom: usize,
    /// Its top row.
    pub(crate) top: usize,
    /// Its first column.
    pub(crate) x: u16,
    /// How many columns it has.
    pub(crate) w: u16,
}

/// Calls `visit` for every maximal free submesh, each once, and `poll` in between.
///
/// # Time complexity
///
/// That of [`any_maximal`]; the number of submeshes is at most the number of free processors, see
/// the free submesh list.
pub(crate) fn for_each_maximal(
    occupancy: &Occupancy<'_>,
    poll: &dyn Fn(),
    mut visit: impl FnMut(Submesh),
) {
    any_free(occupancy, poll, |free| {
        visit(free);
        false
    });
}

/// Whether a submesh that the request allows is free anywhere, where the rule lets it begin.
///
/// # Time complexity
///
/// That of [`any_maximal`], up to the first submesh that has room.
pub(crate) fn fits_somewhere(
    occupancy: &Occupancy<'_>,
    request: &Request,
    rule: Option<Rule<'_>>,
    draft: &Draft<'_, '_>,
) -> bool {
    let poll = || draft.poll();
    any_free(occupancy, &poll, |free| has_room(free, request, rule))
}

/// Whether any maximal free submesh of an occupancy is `wanted`.
fn any_free(
    occupancy: &Occupancy<'_>,
    poll: &dyn Fn(),
    mut wanted: impl FnMut(Submesh) -> bool,
) -> bool {
    let stride = occupancy.stride();
    let meeting = Meeting {
        begins: occupancy.count() - 1,
        ends: 0,
        columns: &[Submesh::of_plane(occupancy.grid().whole())],
    };
    let wanted = |found: Found| {
        let Found { bottom, top, x, w } = found;
        let h = (top + 1 - bottom) as u16;
        wanted(Submesh::new(x, bottom as u16, w, h))
    };
    if LONG_WORDS && stride == 1 {
        any_maximal::<1>(occupancy, 1, meeting, poll, wanted)
    } else {
        any_maximal::<STRIDE_MAX>(occupancy, stride, meeting, poll, wanted)
    }
}

/// Whether any maximal free submesh that meets these columns and rows is `wanted`. Calls `wanted`
/// once for each such submesh, until the call returns true, and `poll` in between. A row has
/// `stride` words, at most `N`: with one word the compiler keeps rows in registers.
///
/// # Time complexity
///
/// O(rows^2 * words in a row).
#[inline(always)]
pub(crate) fn any_maximal<const N: usize>(
    rows: &impl Rows,
    stride: usize,
    meeting: Meeting<'_>,
    poll: &dyn Fn(),
    mut wanted: impl FnMut(Found) -> bool,
) -> bool {
    let Meeting {
        begins,
        ends,
        columns,
    } = meeting;
    let count = rows.count();
    let mut spans = [Span::new(0, 1); MEETING_MAX];
    for (span, columns) in spans.iter_mut().zip(columns) {
        *span = Span::new(columns.base.x.into(), columns.sides.w.into());
    }
    let spans = &spans[..columns.len()];
    let meets = |row: &[Word]| spans.iter().all(|span| span.any(row));
    // All nodes outside of the mesh are busy.
    let read = |at: Option<usize>, into: &mut [Word]| match at.filter(|&at| at < count) {
        Some(at) => rows.read(at, into),
        None => into.fill(Word::MAX),
    };
    let (mut free, mut below, mut row, mut above) = ([0; N], [0; N], [0; N], [0; N]);
    let (free, below) = (&mut free[..stride], &mut below[..stride]);
    let (row, above) = (&mut row[..stride], &mut above[..stride]);
    // The AND of the rows from the bottom on to the one before `ends`.
    let mut below_ends = [Word::MAX; N];
    let below_ends = &mut below_ends[..stride];
    let and_free = |row: &mut [Word], busy: &[Word]| {
        for (free, busy) in row.iter_mut().zip(busy) {
            *free &= !busy;
        }
    };
    for at in begins + 1..ends {
        read(Some(at), row);
        and_free(below_ends, row);
    }
    for bottom in (0..=begins).rev() {
        read(bottom.checked_sub(1), below);
        read(Some(bottom), above);
        if bottom < ends {
            and_free(below_ends, above);
            if !meets(below_ends) {
                break;
            }
        }
        if below
            .iter()
            .zip(&*above)
            .all(|(below, row)| below & !row == 0)
        {
            // A submesh that begins at this row can begin in the row below, so it is not
            // maximal.
            continue;
        }
        if bottom < ends {
            read(Some(ends), above);
        }
        free.copy_from_slice(below_ends);
        for top in bottom.max(ends)..count {
            row.copy_from_slice(above);
            read(Some(top + 1), above);
            let (mut stopped_below, mut stopped_above) = (0, 0);
            let rows = row.iter().zip(&*below).zip(&*above);
            for (free, ((busy, below), above)) in free.iter_mut().zip(rows) {
                *free &= !busy;
                stopped_below |= *free & below;
                stopped_above |= *free & above;
            }
            if stopped_below == 0 || !meets(free) {
                break;
            }
            if stopped_above == 0 {
                continue;
            }
            let is_wanted = any_run_meeting(free, spans, |x, w| {
                let run = Span::new(x, w);
                let (x, w) = (x as u16, w as u16);
                run.any(below) && run.any(above) && wanted(Found { bottom, top, x, w })
            });
            if is_wanted {
                return true;
            }
        }
        poll();
    }
    false
}

/// Whether any run of ones that meets all the spans is `wanted`, by its start and length. Each such
/// run has a bit in the first span, so only this part of the row is searched.
#[inline(always)]
fn any_run_meeting(row: &[Word], spans: &[Span], mut wanted: impl FnMut(u32, u32) -> bool) -> bool {
    let [first, others @ ..] = spans else {
        return false;
    };
    let bits = row.len() as u32 * WORD_BITS;
    let (mut at, end) = (first.start(), first.end());
    while let Some(inside) = next_bit(row, at, true).filter(|&inside| inside < end) {
        let start = if inside == at {
            run_start(row, inside)
        } else {
            inside
        };
        at = next_bit(row, inside, false).unwrap_or(bits);
        let meets = |other: &Span| start < other.end() && other.start() < at;
        if others.iter().all(meets) && wanted(start, at - start) {
            return true;
        }
    }
    false
}

/// The first bit of the run of ones that a set bit belongs to.
#[inline]
fn run_start(row: &[Word], bit: u32) -> u32 {
    let mut word = (bit / WORD_BITS) as usize;
    // The zeros below the bit.
    let mut zeros = !row[word] & !(Word::MAX << (bit % WORD_BITS));
    while zeros == 0 {
        if word == 0 {
            return 0;
        }
        word -= 1;
        zeros = !row[word];
    }
    word as u32 * WORD_BITS + zeros.ilog2() + 1
}
