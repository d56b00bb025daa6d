//! Counts the free processors of a submesh of a two-dimensional mesh ([`free_in`]), and occupies as
//! many as are wanted ([`fill_columns`]).

use crate::grid::MESH_SIDE_MAX;
use crate::mesh::Submesh;
use crate::occupancy::Occupancy;
use crate::word::{Column, LONG_WORDS, Span, Word};

/// The number of free processors of the submesh. O(h * ceil(w / word)).
pub(crate) fn free_in(occupancy: &Occupancy<'_>, submesh: Submesh) -> u32 {
    let Submesh { base, sides } = submesh;
    let span = Span::new(base.x.into(), sides.w.into());
    let stride = occupancy.stride();
    let first = usize::from(base.y) * stride;
    let rows = &occupancy.busy_rows()[first..first + usize::from(sides.h) * stride];
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
            // Boards count bits with a dozen instructions, and often no bit is set.
            if LONG_WORDS || !busy & mask != 0 {
                sum += free(busy, mask);
            }
        }
    }
    sum
}

/// Occupies up to `count` free processors of the submesh, column by column from the left, each
/// column from the bottom or from the top. Returns how many it occupied. O(h * ceil(w / word) + w).
///
/// ```text
///   2  s # . .      5 processors, from the bottom: all of columns 0 and 1, whose free
///   1  s s . .      processors are counted at once, and one of column 2
///   0  # s s .
/// ```
pub(crate) fn fill_columns(
    copy: &mut Occupancy<'_>,
    submesh: Submesh,
    count: u32,
    from_top: bool,
) -> u32 {
    let Submesh { base, sides } = submesh;
    let stride = copy.stride();
    // The word of a column in each row.
    let words = |column: usize| (usize::from(base.y)..).map(move |y| y * stride + column);
    let words = |column| words(column).take(sides.h.into());
    let span = Span::new(u32::from(base.x), u32::from(sides.w));
    let mut missing = count;
    for word in span.first..=span.last {
        if missing == 0 {
            break;
        }
        let mut columns = span.mask(word);
        let mut free = ColumnCounts::of_rows(sides.h);
        for at in words(word) {
            free.add(!copy.busy_rows()[at] & columns);
        }
        // The number of columns that are taken whole.
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
        let column = columns & columns.wrapping_neg();
        for at in words(word) {
            copy.occupy_bits(at, whole);
        }
        for at in 0..usize::from(sides.h) {
            if missing == 0 || column == 0 {
                break;
            }
            let up = if from_top {
                usize::from(sides.h) - 1 - at
            } else {
                at
            };
            missing -= copy.occupy_bits((usize::from(base.y) + up) * stride + word, column);
        }
    }
    count - missing
}

/// For each column, the number of rows in which its bit is set, as binary numbers: one word has the
/// lowest digits of all columns, the next word the second digits, and so on.
///
/// ```text
///   rows      1 . 1 1         digits of 1   1 1 . 1
///             1 1 1 .         digits of 2   1 . 1 .
///             1 . . .         counts        3 1 2 1
/// ```
struct ColumnCounts {
    digits: [Word; MESH_SIDE_MAX.ilog2() as usize + 1],
    /// The number of digits in use.
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

    /// Adds a row. On average this changes two digits.
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
