//! First fit in rows that are one number each.

use core::ops::{BitAnd, Not, Shr};

use crate::mesh::Coord;
use crate::word::{Wide, Word, halves, wide};

/// The bits of a row in one number.
pub(super) trait Row:
    Copy + PartialEq + BitAnd<Output = Self> + Not<Output = Self> + Shr<u32, Output = Self>
{
    /// The words that it takes.
    type Words: Copy;
    const BITS: u32;
    const ZERO: Self;

    fn rows(words: &[Word]) -> &[Self::Words];
    fn rows_mut(words: &mut [Word]) -> &mut [Self::Words];
    fn read(words: Self::Words) -> Self;
    fn words(self) -> Self::Words;
    /// The place of its lowest bit.
    fn lowest(self) -> u32;
}

impl Row for Word {
    type Words = Word;
    const BITS: u32 = Word::BITS;
    const ZERO: Word = 0;

    #[inline]
    fn rows(words: &[Word]) -> &[Word] {
        words
    }

    #[inline]
    fn rows_mut(words: &mut [Word]) -> &mut [Word] {
        words
    }

    #[inline]
    fn read(words: Word) -> Word {
        words
    }

    #[inline]
    fn words(self) -> Word {
        self
    }

    #[inline]
    fn lowest(self) -> u32 {
        self.trailing_zeros()
    }
}

impl Row for Wide {
    type Words = [Word; 2];
    const BITS: u32 = Wide::BITS;
    const ZERO: Wide = 0;

    #[inline]
    fn rows(words: &[Word]) -> &[[Word; 2]] {
        words.as_chunks().0
    }

    #[inline]
    fn rows_mut(words: &mut [Word]) -> &mut [[Word; 2]] {
        words.as_chunks_mut().0
    }

    // A call for each row takes as long as the row.
    #[inline(always)]
    fn read(words: [Word; 2]) -> Wide {
        wide(words)
    }

    #[inline]
    fn words(self) -> [Word; 2] {
        halves(self)
    }

    #[inline]
    fn lowest(self) -> u32 {
        self.trailing_zeros()
    }
}

/// The starts of the runs in a row, by `STEPS` ([`Doubling::count`](crate::word::Doubling::count)) steps, the last of them `last`
/// ([`Doubling::last`](crate::word::Doubling::last)).
#[inline]
fn run_starts<R: Row, const STEPS: u32>(mut ones: R, last: u32) -> R {
    for step in 1..STEPS {
        ones = ones & ones >> (1 << (step - 1));
    }
    if STEPS > 0 {
        // With the remainder the compiler knows that the step is not longer than the row.
        ones = ones & ones >> (last % R::BITS);
    }
    ones
}

/// [`rectangles::first_fit`](super::rectangles::first_fit) on hosts. Rows that two windows share are reduced twice, since they are few: to keep what is known of them
/// takes a store for each row.
#[inline(never)]
pub(super) fn first_fit_unrolled<R: Row, const STEPS: u32>(
    busy: &[Word],
    last: u32,
    window: usize,
) -> Option<Coord> {
    let mut base = 0;
    'windows: while let Some(rows) = R::rows(busy).get(base..base + window) {
        let mut acc = !R::ZERO;
        for (row, &busy) in rows.iter().enumerate().rev() {
            acc = acc & run_starts::<R, STEPS>(!R::read(busy), last);
            if acc == R::ZERO {
                base += row + 1;
                continue 'windows;
            }
        }
        return Some(Coord::new(acc.lowest() as u16, base as u16));
    }
    None
}

/// [`rectangles::first_fit`](super::rectangles::first_fit) on the board; `reduce` makes of the free processors of a row those at which `w` free ones begin. What is known of
/// the rows that two windows share, their AND, is kept, as to reduce a row takes long there.
#[inline(always)]
pub(super) fn first_fit_in_rows<R: Row>(
    busy: &[Word],
    window: usize,
    starts: &mut [Word],
    mut reduce: impl FnMut(R) -> R,
) -> Option<Coord> {
    let (busy, starts) = (R::rows(busy), R::rows_mut(starts));
    let rows = busy.len();
    // Invariant: the rows `base..seen` are reduced, and `known` is their AND, not zero.
    let (mut base, mut seen, mut known) = (0, 0, !R::ZERO);
    loop {
        let top = base + window;
        if top > rows {
            return None;
        }
        let mut row = top;
        let mut acc = !R::ZERO;
        let mut above = acc;
        while row > seen && acc != R::ZERO {
            row -= 1;
            let start = reduce(!R::read(busy[row]));
            starts[row] = start.words();
            above = acc;
            acc = acc & start;
        }
        let hit = acc & known;
        if hit != R::ZERO {
            return Some(Coord::new(hit.lowest() as u16, base as u16));
        }
        while acc != R::ZERO {
            row -= 1;
            above = acc;
            acc = acc & R::read(starts[row]);
        }
        (base, seen, known) = (row + 1, top, above);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::word::{Doubling, WORD_BITS};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn steps_in_a_number_are_those_in_words(row in any::<[Word; 2]>(), more in any::<[Word; 2]>(), len in 5_u16..=8) {
            // Long runs of ones are what matters, so zeros are rare.
            let row = [row[0] | more[0], row[1] | more[1]];
            let last = Doubling::last(len);
            let mut one = [row[0]];
            Doubling::new(len).reduce(&mut one);
            prop_assert_eq!(run_starts::<Word, 3>(row[0], last), one[0]);
            let mut two = row;
            Doubling::new(len).reduce(&mut two);
            prop_assert_eq!(run_starts::<Wide, 3>(wide(row), last), wide(two));
        }

        #[test]
        fn both_searches_find_the_same(busy in prop::collection::vec(any::<(Word, Word, Word)>(), 2..40), h in 1_usize..8) {
            let busy: std::vec::Vec<Word> = busy.iter().map(|(a, b, c)| a & b & c).collect();
            let mut starts = busy.clone();
            let (len, steps) = (7, Doubling::new(7));
            let last = Doubling::last(len);
            let narrow = first_fit_in_rows(&busy, h, &mut starts, |free: Word| run_starts::<Word, 3>(free, last));
            prop_assert_eq!(first_fit_unrolled::<Word, 3>(&busy, last, h), narrow);
            let double = first_fit_in_rows(&busy, h, &mut starts, |free: Wide| steps.reduced(free));
            prop_assert_eq!(first_fit_unrolled::<Wide, 3>(&busy, last, h), double);
            let bits = (0..busy.len() - busy.len().min(h - 1)).flat_map(|y| (0..WORD_BITS).map(move |x| (x, y)));
            let is_free = |x: u32, y: usize| (y..y + h).all(|y| (x..x + 7).all(|x| x < WORD_BITS && busy[y] >> x & 1 == 0));
            let expected = bits.into_iter().find(|&(x, y)| is_free(x, y));
            prop_assert_eq!(narrow, expected.map(|(x, y)| Coord::new(x as u16, y as u16)));
        }
    }
}
