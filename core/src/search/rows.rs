//! First fit in rows of one or two words.

use crate::mesh::Coord;
use crate::word::{Doubling, LONG_WORDS, WORD_BITS, Word};

/// The first base node in row-major order at which `w` columns are free in `window` rows, in rows of
/// `N` words; `w` is at most a word, or less than all bits of the row.
///
/// On a host, a copy of the search for each number of steps lets the compiler unroll them, which
/// nearly halves the time of a row.
pub(super) fn first_fit<const N: usize>(busy: &[Word], w: u16, window: usize) -> Option<Coord> {
    if !LONG_WORDS {
        let steps = Doubling::new(w);
        let steps = steps.steps();
        return first_fit_in_rows(busy, window, |row| {
            steps
                .iter()
                .fold(row, |row, &step| and_shifted_row::<N>(row, step))
        });
    }
    let search = match Doubling::count(w) {
        0 => first_fit_in_steps::<N, 0>,
        1 => first_fit_in_steps::<N, 1>,
        2 => first_fit_in_steps::<N, 2>,
        3 => first_fit_in_steps::<N, 3>,
        4 => first_fit_in_steps::<N, 4>,
        5 => first_fit_in_steps::<N, 5>,
        6 => first_fit_in_steps::<N, 6>,
        _ => first_fit_in_steps::<N, 7>,
    };
    search(busy, Doubling::last(w), window)
}

/// The copy for this number of steps, the last of them `last` ([`Doubling::last`]).
#[inline(never)]
fn first_fit_in_steps<const N: usize, const STEPS: u32>(
    busy: &[Word],
    last: u32,
    window: usize,
) -> Option<Coord> {
    first_fit_in_rows(busy, window, |mut row: [Word; N]| {
        for step in 1..STEPS {
            row = and_shifted_row(row, 1 << (step - 1));
        }
        match STEPS {
            0 => row,
            _ => and_shifted_row(row, last),
        }
    })
}

/// The search itself: windows from the bottom, rows of a window from its top down. `starts` makes of
/// the free nodes of a row those at which a run begins that is long enough.
///
/// ```text
///   w = 2, window of 3 rows; `s`: a run of 2 free nodes starts here
///
///   row 4   s s . .      window 2..=4: AND of rows 4 and 3 is empty,
///   row 3   . . s .      so the next window begins right above row 3
///   row 2   s s . .
/// ```
///
/// Rows that two windows share are reduced twice, since they are few.
#[inline]
fn first_fit_in_rows<const N: usize>(
    busy: &[Word],
    window: usize,
    starts: impl Fn([Word; N]) -> [Word; N],
) -> Option<Coord> {
    let all_rows = busy.as_chunks::<N>().0;
    let mut base = 0;
    'windows: while let Some(rows) = all_rows.get(base..base + window) {
        let mut common = [Word::MAX; N];
        for (row, busy) in rows.iter().enumerate().rev() {
            let starts = starts(busy.map(|busy| !busy));
            let mut any = 0;
            for (common, starts) in common.iter_mut().zip(starts) {
                *common &= starts;
                any |= *common;
            }
            if any == 0 {
                base += row + 1;
                continue 'windows;
            }
        }
        let word = common.iter().position(|&word| word != 0)?;
        let x = word as u32 * WORD_BITS + common[word].trailing_zeros();
        return Some(Coord::new(x as u16, base as u16));
    }
    None
}

/// `row & row >> by`, `by` being less than a word.
///
/// ```text
///            high word        low word
///   row      hhhhhhhh         llllllll
///   row >>3  ...hhhhh         hhhlllll     the low 3 bits of `high` are carried
/// ```
#[inline]
pub(super) fn and_shifted_row<const N: usize>(row: [Word; N], by: u32) -> [Word; N] {
    // With the remainder the compiler knows that no shift is too long. For 0, what comes to
    // `low >> 0` is lost in the AND.
    let by = by % WORD_BITS;
    core::array::from_fn(|at| {
        let high = row.get(at + 1).copied().unwrap_or(0);
        row[at] & (row[at] >> by | high.wrapping_shl(WORD_BITS - by))
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn it_finds_what_a_node_by_node_scan_finds(
            busy in prop::collection::vec(any::<(Word, Word, Word)>(), 2..40),
            w in 1_u16..2 * WORD_BITS as u16,
            h in 1_usize..8,
        ) {
            // Few are busy.
            let busy: Vec<Word> = busy.iter().map(|(a, b, c)| a & b & c).collect();
            let expected = |stride: usize| {
                let (rows, columns) = (busy.len() / stride, stride as u32 * WORD_BITS);
                let is_busy = |x: u32, y: usize| {
                    x >= columns || {
                        let word = y * stride + (x / WORD_BITS) as usize;
                        busy[word] >> (x % WORD_BITS) & 1 == 1
                    }
                };
                let is_free = |x: u32, y: usize| {
                    (y..y + h).all(|y| (x..x + u32::from(w)).all(|x| !is_busy(x, y)))
                };
                let bases = (0..(rows + 1).saturating_sub(h)).flat_map(|y| (0..columns).map(move |x| (x, y)));
                let mut bases = bases.filter(|&(x, y)| is_free(x, y));
                bases.next().map(|(x, y)| Coord::new(x as u16, y as u16))
            };
            if u32::from(w) <= WORD_BITS {
                prop_assert_eq!(first_fit::<1>(&busy, w, h), expected(1));
            }
            prop_assert_eq!(first_fit::<2>(&busy, w, h), expected(2));
        }
    }
}
