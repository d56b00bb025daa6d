//! First fit on hosts in rows of several words: columns of words, and bounds of the runs in them.
//!
//! A *column* is the same word of all rows. A run of free processors belongs to the column in which
//! it starts; it may go on in the next. For each row and column a byte is kept, which is at least
//! the length of the longest run there. A search compares the bytes of a whole row with the width
//! at once, and reads only those columns whose bounds suffice in each row of a window:
//!
//! ```text
//!   words of 8, requested are 3 x 2       bounds of the columns
//!
//!   row 2   # # . . . # # #   . . . # # # # #     3  3
//!   row 1   # # . . # # # #   . . . . # # # #     2  4     rows 1 and 2: only the second is read
//!   row 0   . . . . . # # #   # # . . # # # #     5  2     rows 0 and 1: none is read
//! ```
//!
//! A bound is made exact where a search finds it too large, and raised where processors become
//! free. Where processors become busy, the bound stays too large until a search corrects it.

use crate::grid::Block;
use crate::layout::STRIDE_MAX;
use crate::mesh::{Coord, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::word::{Doubling, LONG_WORDS, WORD_BITS, Wide, Word, low_half, next_bit, ones};

/// The largest bound. It also stands for all longer runs.
const BOUND_MAX: u16 = 0x7F;

/// The number of bounds in a word.
const PER_WORD: usize = WORD_BITS as usize / 8;

/// The number of words for the bounds of a row.
const BOUND_WORDS: usize = STRIDE_MAX.div_ceil(PER_WORD);

/// A byte for each column of a row. The highest bit of each is set in bounds, so that a difference
/// never borrows from the next byte; a set of columns has only these bits.
type Bytes = [Word; BOUND_WORDS];

/// 1 in each byte of a word.
const EACH: Word = Word::MAX / 0xFF;

/// The words in which a search works.
pub(crate) enum Scratch<'s> {
    /// The contents of the words are unknown.
    Blank(&'s mut [Word]),
    /// The words keep the bounds from search to search. The owner of the words calls [`forget`]
    /// before the first search, and [`raise`] whenever processors have become free.
    Kept(&'s mut [Word]),
}

impl<'s> Scratch<'s> {
    /// The words, for another kind of search.
    #[inline]
    pub(crate) fn words(self) -> &'s mut [Word] {
        let (Scratch::Blank(words) | Scratch::Kept(words)) = self;
        words
    }

    /// The words for one of several searches.
    #[inline]
    pub(crate) fn reborrow(&mut self) -> Scratch<'_> {
        match self {
            Scratch::Blank(words) => Scratch::Blank(words),
            Scratch::Kept(words) => Scratch::Kept(words),
        }
    }
}

/// Whether bounds of this occupancy are kept from search to search. With two words in a row, bounds
/// cost more than they save.
#[inline]
fn are_kept(occupancy: &Occupancy<'_>) -> bool {
    let is_wide = LONG_WORDS && occupancy.stride() > 2 && occupancy.layout().is_plane();
    is_wide && occupancy.releases().is_some()
}

/// Makes all kept bounds unknown. O(rows).
pub(crate) fn forget(occupancy: &Occupancy<'_>, kept: &mut [Word]) {
    if are_kept(occupancy) {
        unknown(occupancy, kept);
    }
}

/// Bounds before any search: one for each row of the machine, all as large as can be.
fn unknown<'s>(occupancy: &Occupancy<'_>, words: &'s mut [Word]) -> &'s mut [Word] {
    let bounds = &mut words[..occupancy.layout().rows() * BOUND_WORDS];
    bounds.fill(Word::MAX);
    bounds
}

/// Raises the kept bounds where the processors of this block have become free. O(h * words in a
/// row), mostly O(h).
#[inline]
pub(crate) fn raise(occupancy: &Occupancy<'_>, kept: &mut [Word], freed: Block) {
    if are_kept(occupancy) {
        raise_around(occupancy, kept, Submesh::of_plane(freed));
    }
}

// A function of its own, so that a release in rows of one word stays short.
#[inline(never)]
fn raise_around(occupancy: &Occupancy<'_>, kept: &mut [Word], freed: Submesh) {
    let Submesh { base, sides } = freed;
    let x = u32::from(base.x);
    let own = (x / WORD_BITS) as usize;
    let first = usize::from(base.y);
    let bounds: &mut [Bytes] = kept.as_chunks_mut().0;
    let rows = occupancy.marked_rows_from(first);
    for (row, bounds) in rows.zip(&mut bounds[first..]).take(sides.h.into()) {
        let past = next_bit(row, x + u32::from(sides.w), true);
        let past = past.unwrap_or(row.len() as u32 * WORD_BITS);
        // To the left up to the beginning of the run.
        let mut column = own;
        let mut busy = row[column] & ones(x % WORD_BITS);
        loop {
            let start = (column as u32 + 1) * WORD_BITS - busy.leading_zeros();
            raise_to(bounds, column, past - start);
            if busy != 0 || column == 0 {
                break;
            }
            column -= 1;
            busy = row[column];
        }
        for column in own + 1.. {
            let start = column as u32 * WORD_BITS;
            if start >= past {
                break;
            }
            raise_to(bounds, column, past - start);
        }
    }
}

/// Raises a bound to this length, if it is smaller.
#[inline]
fn raise_to(bounds: &mut Bytes, column: usize, len: u32) {
    let len = len.min(BOUND_MAX.into());
    let (word, shift) = (&mut bounds[column / PER_WORD], 8 * (column % PER_WORD));
    let bound = low_half(*word >> shift) & u32::from(BOUND_MAX);
    *word += Word::from(len.saturating_sub(bound)) << shift;
}

/// The first base node in row-major order at which a submesh of these sides is free.
///
/// The search takes windows of `h` rows from the bottom up. It compares the bounds of a window from
/// its top row down; where no column is left, the next window begins right above that row. Where a
/// column is left, the words of the window are read in the same way.
///
/// # Time complexity
///
/// O(rows * words in a row), and O(log w) for each word that is read; in the worst case, when every
/// window fails in its lowest row, O(rows * words in a row * h * log w).
pub(super) fn first_fit_in_columns(
    occupancy: &Occupancy<'_>,
    sides: Sides,
    scratch: Scratch<'_>,
) -> Option<Coord> {
    let (busy, stride) = (occupancy.busy_rows(), occupancy.stride());
    let Sides { w, h } = sides;
    let search = match Doubling::count(w) {
        _ if u32::from(w) > WORD_BITS => first_in_columns::<LONG>,
        0 => first_in_columns::<0>,
        1 => first_in_columns::<1>,
        2 => first_in_columns::<2>,
        3 => first_in_columns::<3>,
        4 => first_in_columns::<4>,
        5 => first_in_columns::<5>,
        _ => first_in_columns::<6>,
    };
    let rows = Rows { busy, stride, w };
    match scratch {
        Scratch::Kept(bounds) if are_kept(occupancy) => search(&rows, h.into(), bounds),
        // The kept bounds belong to another occupancy, and are lost here.
        Scratch::Kept(words) | Scratch::Blank(words) => {
            let bounds = unknown(occupancy, words);
            let found = search(&rows, h.into(), bounds);
            bounds.fill(Word::MAX);
            found
        }
    }
}

/// Stands for runs longer than a word, in place of a number of steps ([`Doubling::count`]).
const LONG: u32 = u32::MAX;

/// The search itself. A copy for each number of steps lets the compiler unroll them.
#[inline(never)]
fn first_in_columns<const STEPS: u32>(
    rows: &Rows<'_>,
    window: usize,
    bounds: &mut [Word],
) -> Option<Coord> {
    let bounds: &mut [Bytes] = bounds.as_chunks_mut().0;
    let bases = (rows.busy.len() / rows.stride + 1).saturating_sub(window);
    let all: Bytes = core::array::from_fn(|word| {
        let columns = rows.stride.saturating_sub(word * PER_WORD).min(PER_WORD);
        ones(8 * columns as u32) & EACH << 7
    });
    let least = EACH * Word::from(rows.w.min(BOUND_MAX) as u8);
    let mut base = 0;
    // The columns that were not read at this base, and the next base of those that were.
    let (mut unread, mut next) = (all, usize::MAX);
    while base < bases {
        let left = match columns_left(&bounds[base..base + window], least, unread) {
            Ok(left) => left,
            Err(row) => {
                base = next.min(base + row + 1);
                (unread, next) = (all, usize::MAX);
                continue;
            }
        };
        for (word, mut left) in left.into_iter().enumerate() {
            while left != 0 {
                let lowest = left & left.wrapping_neg();
                left ^= lowest;
                let column = word * PER_WORD + (lowest.trailing_zeros() / 8) as usize;
                match rows.bases::<STEPS>(column, base, window, bounds) {
                    Ok(bases) => {
                        let x = column as u32 * WORD_BITS + bases.trailing_zeros();
                        return Some(Coord::new(x as u16, base as u16));
                    }
                    Err(row) => {
                        unread[word] ^= lowest;
                        next = next.min(row + 1);
                    }
                }
            }
        }
    }
    None
}

/// The columns whose bounds are at least `least` in all rows, read from the top down. The error is
/// the row at which no column is left.
// A call for each window takes as long as a short one.
#[inline(always)]
fn columns_left(bounds: &[Bytes], least: Word, mut left: Bytes) -> Result<Bytes, usize> {
    for (row, bounds) in bounds.iter().enumerate().rev() {
        let mut any = 0;
        for (left, bounds) in left.iter_mut().zip(bounds) {
            // The highest bit of a byte stays set if the bound is large enough.
            *left &= bounds - least;
            any |= *left;
        }
        if any == 0 {
            return Err(row);
        }
    }
    Ok(left)
}

/// The rows in which runs of `w` free processors are searched.
struct Rows<'a> {
    busy: &'a [Word],
    stride: usize,
    w: u16,
}

impl Rows<'_> {
    /// The bits of a column at which runs start in all rows of a window; there is at least one. The
    /// error is the row, from the top down, at which there is none. Bounds of rows without a run
    /// become exact.
    #[inline]
    fn bases<const STEPS: u32>(
        &self,
        column: usize,
        base: usize,
        window: usize,
        bounds: &mut [Bytes],
    ) -> Result<Word, usize> {
        let mut common = Word::MAX;
        for row in (base..base + window).rev() {
            let starts = self.starts::<STEPS>(row, column);
            if starts == 0 && self.w <= BOUND_MAX {
                let longest = match STEPS {
                    LONG => self.w - 1,
                    _ => longest_run(self.two_words(row, column)),
                };
                let (word, shift) = (&mut bounds[row][column / PER_WORD], 8 * (column % PER_WORD));
                *word &= !(Word::from(BOUND_MAX as u8) << shift);
                *word |= Word::from(longest as u8) << shift;
            }
            common &= starts;
            if common == 0 {
                return Err(row);
            }
        }
        Ok(common)
    }

    /// The starts of the runs in a word of a row.
    #[inline(always)]
    fn starts<const STEPS: u32>(&self, row: usize, column: usize) -> Word {
        if STEPS == LONG {
            let words = row * self.stride + column..(row + 1) * self.stride;
            return long_starts(&self.busy[words], self.w.into());
        }
        let mut both = self.two_words(row, column);
        for step in 1..STEPS {
            both &= both >> (1 << (step - 1));
        }
        if STEPS > 0 {
            // With the remainder the compiler knows that the shift is shorter than a word.
            both &= both >> (Doubling::last(self.w) % WORD_BITS);
        }
        both as Word
    }

    /// The free processors of a word of a row, and of the next word.
    #[inline(always)]
    fn two_words(&self, row: usize, column: usize) -> Wide {
        let at = row * self.stride + column;
        let high = if column + 1 < self.stride {
            !self.busy[at + 1]
        } else {
            0
        };
        Wide::from(high) << WORD_BITS | Wide::from(!self.busy[at])
    }
}

/// The length of the longest run of ones that starts in the low word; it is less than a word.
///
/// Runs of 1, 2, 4, .. are found as in [`Doubling`], as long as there are any. Then the lengths
/// that were skipped are added to the longest, the largest first.
#[inline(never)]
fn longest_run(ones: Wide) -> u16 {
    const LEVELS: usize = WORD_BITS.ilog2() as usize;
    let mut runs = [ones; LEVELS];
    let mut levels = 0;
    while levels < LEVELS && runs[levels] as Word != 0 {
        if let Some(doubled) = (levels + 1 < LEVELS).then_some(levels + 1) {
            runs[doubled] = runs[levels] & runs[levels] >> (1 << levels);
        }
        levels += 1;
    }
    let Some(longest) = levels.checked_sub(1) else {
        return 0;
    };
    let (mut starts, mut len) = (runs[longest], 1 << longest);
    for level in (0..longest).rev() {
        let longer = starts & runs[level] >> len;
        if longer as Word != 0 {
            (starts, len) = (longer, len + (1 << level));
        }
    }
    len
}

/// The starts in the first word of runs of `len` free processors; `len` is more than a word.
///
/// ```text
///   len = 10     # . . . # . . .   . . . . . . . .   # # # # # # # #
///                          ^ ^                         runs of 11 and 10
/// ```
fn long_starts(busy: &[Word], len: u32) -> Word {
    let Some((&first, rest)) = busy.split_first() else {
        return 0;
    };
    let mut after = 0;
    for word in rest {
        after += word.trailing_zeros();
        if *word != 0 {
            break;
        }
    }
    // A run that starts at bit `at` has the rest of the word and the ones after it.
    let starts = ones((WORD_BITS + after + 1).saturating_sub(len));
    starts & !ones(WORD_BITS - first.leading_zeros())
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::mesh::Mesh;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    /// A word with long runs of free processors, or of busy ones.
    fn word() -> impl Strategy<Value = Word> {
        (any::<(Word, Word, Word)>(), 0..4).prop_map(|((a, b, c), form)| match form {
            0 => a & b & c,
            1 => ones(a as u32 % WORD_BITS) << (b as u32 % WORD_BITS),
            2 => 0,
            _ => a | b,
        })
    }

    proptest! {
        /// Searches, and blocks that become busy and free in between: the place is that of a scan
        /// node by node, and no bound is smaller than a run.
        #[test]
        fn it_finds_what_a_node_by_node_scan_finds(
            stride in 2_usize..6,
            busy in prop::collection::vec(word(), 6 * 20),
            padding in 0..WORD_BITS,
            height in 1_u16..20,
            steps in prop::collection::vec((0_u16..6 * 64, 0_u16..20, 1_u16..200, 1_u16..9), 1..12),
        ) {
            let side = (stride as u32 * WORD_BITS - padding) as u16;
            let grid = Mesh::new(side, height).unwrap().grid();
            let words = Occupancy::words_needed(&grid);
            let (mut rows, mut faulty) = (vec![0; words], vec![0; words]);
            let mut occupancy = Occupancy::new(grid, &mut rows, &mut faulty, Some(0));
            occupancy.clear(grid, 0);
            for (at, &word) in busy.iter().enumerate() {
                let bits = (0..WORD_BITS).filter(|bit| word >> bit & 1 == 1);
                for x in bits.map(|bit| (at % stride) as u32 * WORD_BITS + bit) {
                    let y = at / stride;
                    if x < side.into() && y < height.into() {
                        occupancy.mark_faulty(Submesh::new(x as u16, y as u16, 1, 1).into());
                    }
                }
            }
            let free = |occupancy: &Occupancy<'_>| -> Vec<Vec<bool>> {
                let row = |y| (0..side).map(move |x| Submesh::new(x, y, 1, 1).into());
                (0..height).map(|y| row(y).map(|unit| occupancy.is_free(unit)).collect()).collect()
            };
            let mut kept = vec![0; height as usize * stride.max(BOUND_WORDS)];
            forget(&occupancy, &mut kept);
            let mut blank = vec![0x55; kept.len()];
            let mut held: Vec<Block> = Vec::new();
            for (x, y, w, h) in steps {
                if x % 3 == 0 && !held.is_empty() {
                    let block = held.swap_remove(usize::from(y) % held.len());
                    occupancy.give_back(block);
                    raise(&occupancy, &mut kept, block);
                }
                let (w, h) = ((w - 1) % side + 1, (h - 1) % height + 1);
                let sides = Sides::new(w, h);
                let free = free(&occupancy);
                let has_room = |x: u16, y: u16| (y..y + h).all(|y| {
                    free[usize::from(y)][x.into()..(x + w).into()].iter().all(|&free| free)
                });
                let bases = (0..=height - h).flat_map(|y| (0..=side - w).map(move |x| (x, y)));
                let expected = bases.clone().find(|&(x, y)| has_room(x, y));
                let expected = expected.map(|(x, y)| Coord::new(x, y));
                let found = first_fit_in_columns(&occupancy, sides, Scratch::Blank(&mut blank));
                prop_assert_eq!(found, expected);
                let found = first_fit_in_columns(&occupancy, sides, Scratch::Kept(&mut kept));
                prop_assert_eq!(found, expected);
                if are_kept(&occupancy) {
                    let bounds: &[Bytes] = kept.as_chunks().0;
                    for (row, bounds) in free.iter().zip(bounds) {
                        for (column, words) in (0..stride).zip((0..).step_by(WORD_BITS as usize)) {
                            let starts = words..side.into();
                            let runs = starts.take(WORD_BITS as usize);
                            let longest = runs.map(|x| row[x..].iter().take_while(|&&free| free).count());
                            let bound = bounds[column / PER_WORD] >> (8 * (column % PER_WORD)) & 0x7F;
                            let longest = longest.max().unwrap_or(0).min(BOUND_MAX.into());
                            prop_assert!(bound as usize >= longest, "{} {}", bound, longest);
                        }
                    }
                }
                if let Some(base) = found {
                    let block = Submesh { base, sides }.into();
                    occupancy.take(block);
                    held.push(block);
                }
            }
        }
    }

    #[test]
    fn runs_are_measured_as_drawn() {
        let ones = |bits: &str| {
            bits.chars()
                .rev()
                .fold(0, |word, bit| word << 1 | Wide::from(bit == '1'))
        };
        for (bits, longest) in [
            ("", 0),
            ("1", 1),
            ("0110111", 3),
            ("11111", 5),
            ("1111111", 7),
        ] {
            assert_eq!(longest_run(ones(bits)), longest, "{bits}");
        }
        // It starts in the low word and goes on in the high one.
        assert_eq!(longest_run(((1 << 20) - 1) << (WORD_BITS - 4)), 20);
        let row = [Word::MAX >> (WORD_BITS - 5), 0, Word::MAX];
        let starts = |len| long_starts(&row, len);
        assert_eq!(starts(2 * WORD_BITS - 5), 1 << 5);
        assert_eq!(starts(2 * WORD_BITS - 4), 0);
        assert_eq!(starts(WORD_BITS + 1), Word::MAX << 5);
    }
}
