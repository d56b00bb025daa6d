//! Marks the rows of a block on a mesh whose rows have one word each.

use core::ops::Range;

use crate::word::{LONG_WORDS, Word};

/// The number of rows that a host changes together.
const BAND: usize = 16;

/// Words without a bit for [`BAND`] rows, then words with every bit for [`BAND`] rows.
const RAMP: [Word; 2 * BAND] = {
    let mut ramp = [0; 2 * BAND];
    let mut row = BAND;
    while row < 2 * BAND {
        ramp[row] = Word::MAX;
        row += 1;
    }
    ramp
};

/// Calls `change` with each of these rows and `bits`. It may also be called with other rows and a
/// mask of 0.
///
/// A processor cannot predict the number of rows, so a loop over them mispredicts its end. Up to
/// [`BAND`] rows are therefore changed by a loop of fixed length, which compiles to vector code
/// without a branch. It runs over a band of rows that has them all, with a mask of 0 for the
/// others:
///
/// ```text
///   row of the band      0 1 2 3 4 5 .. 15
///   from row 2           . . # # # # .. #
///   not from row 5       # # # # # . .. .
///   changed: rows 2..5   . . # # # . .. .
/// ```
#[inline(always)]
pub(crate) fn for_each_row(
    busy: &mut [Word],
    rows: Range<usize>,
    bits: Word,
    mut change: impl FnMut(&mut Word, Word),
) {
    if LONG_WORDS
        && let Some(last) = busy.len().checked_sub(BAND)
        && rows.len() <= BAND
    {
        let start = rows.start.min(last);
        let band = &mut busy[start..start + BAND];
        let from = rows_from(rows.start - start);
        let behind = rows_from(rows.end - start);
        for ((busy, from), behind) in band.iter_mut().zip(from).zip(behind) {
            change(busy, bits & from & !behind);
        }
        return;
    }
    busy[rows].iter_mut().for_each(|busy| change(busy, bits));
}

/// The masks of a band: 0 before this row, every bit from it on.
#[inline(always)]
fn rows_from(row: usize) -> &'static [Word] {
    let from = BAND - row.min(BAND);
    &RAMP[from..from + BAND]
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn each_row_is_changed_once_and_no_other() {
        for height in [1, 2, 15, 16, 17, 31, 32, 33, 64] {
            for start in 0..height {
                for end in start + 1..=height {
                    let before: Vec<Word> =
                        (0..height as Word).map(|row| row << 8 | 0xA5).collect();
                    let mut expected = before.clone();
                    expected[start..end].iter_mut().for_each(|row| *row ^= 0x3C);
                    let mut rows = before;
                    for_each_row(&mut rows, start..end, 0x3C, |row, bits| *row ^= bits);
                    assert_eq!(rows, expected, "{start}..{end} of {height}");
                }
            }
        }
    }
}
