//! First fit on hosts in rows of one or two words, with steps that the compiler unrolls.

use crate::mesh::Coord;
use crate::word::{Doubling, WORD_BITS, Wide, Word};

/// The first base node in row-major order at which `w` columns are free in `window` rows, in rows
/// of `N` words; `w` is less than all bits of a row or one word.
///
/// A copy of the search for each number of steps lets the compiler unroll them, which nearly halves
/// the time of a row.
pub(super) fn first_fit_unrolled<const N: usize>(
    busy: &[Word],
    w: u16,
    window: usize,
) -> Option<Coord> {
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

/// The search itself: windows from the bottom, rows of a window from its top down.
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
#[inline(never)]
fn first_fit_in_steps<const N: usize, const STEPS: u32>(
    busy: &[Word],
    last: u32,
    window: usize,
) -> Option<Coord> {
    let all_rows = busy.as_chunks::<N>().0;
    let mut base = 0;
    'windows: while let Some(rows) = all_rows.get(base..base + window) {
        let mut common = [Word::MAX; N];
        for (row, busy) in rows.iter().enumerate().rev() {
            let starts = run_starts::<N, STEPS>(busy.map(|busy| !busy), last);
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

/// The starts of the runs in a row, by `STEPS` ([`Doubling::count`]) steps, the last of them `last`
/// ([`Doubling::last`]).
#[inline]
fn run_starts<const N: usize, const STEPS: u32>(mut ones: [Word; N], last: u32) -> [Word; N] {
    for step in 1..STEPS {
        ones = and_shifted_row(ones, 1 << (step - 1));
    }
    match STEPS {
        0 => ones,
        _ => and_shifted_row(ones, last),
    }
}

/// `row & row >> by`, `by` being less than a word.
///
/// ```text
///            high word        low word
///   row      hhhhhhhh         llllllll
///   row >>3  ...hhhhh         hhhlllll     the low 3 bits of `high` are carried
/// ```
#[inline]
fn and_shifted_row<const N: usize>(row: [Word; N], by: u32) -> [Word; N] {
    core::array::from_fn(|at| {
        let high = row.get(at + 1).copied().unwrap_or(0);
        let both = Wide::from(high) << WORD_BITS | Wide::from(row[at]);
        // With the remainder the compiler knows that the shift is shorter than a word.
        row[at] & (both >> (by % WORD_BITS)) as Word
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
                prop_assert_eq!(first_fit_unrolled::<1>(&busy, w, h), expected(1));
            }
            prop_assert_eq!(first_fit_unrolled::<2>(&busy, w, h), expected(2));
        }
    }
}
