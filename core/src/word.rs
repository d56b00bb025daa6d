//! The word of the occupancy bitmap, and operations on rows of words.
//!
//! A row of processors is a slice of words, least significant bit first. The board has 32-bit
//! words. A 64-bit host has 64-bit words, or 32-bit words with the feature `word32`. The decisions
//! are the same. All drawings show the lowest bit at the left.

use core::cell::Cell;
use core::ops::Range;

use crate::grid::MESH_SIDE_MAX;

/// A word of the occupancy bitmap.
#[cfg(all(target_pointer_width = "64", not(feature = "word32")))]
pub(crate) type Word = u64;
/// A word of the occupancy bitmap.
#[cfg(not(all(target_pointer_width = "64", not(feature = "word32"))))]
pub(crate) type Word = u32;

/// Two words.
#[cfg(all(target_pointer_width = "64", not(feature = "word32")))]
pub(crate) type Wide = u128;
/// Two words.
#[cfg(not(all(target_pointer_width = "64", not(feature = "word32"))))]
pub(crate) type Wide = u64;

/// The number of bits in a [`Word`].
pub(crate) const WORD_BITS: u32 = Word::BITS;

/// Whether this build has the long words of a host. Builds with short words leave out code that
/// only makes hosts faster, or that helps only on meshes too large for boards. This saves flash.
pub(crate) const LONG_WORDS: bool = WORD_BITS == u64::BITS;

/// The lowest 32 bits.
#[inline]
#[allow(clippy::unnecessary_cast, reason = "a word may have more")]
pub(crate) const fn low_half(word: Word) -> u32 {
    word as u32
}

/// The number of words for a row of this many processors.
pub(crate) const fn words_for(bits: u32) -> usize {
    bits.div_ceil(WORD_BITS) as usize
}

/// A word with its lowest `count` bits set, or with all bits if `count` is larger than the word.
#[inline]
pub(crate) const fn ones(count: u32) -> Word {
    if count < WORD_BITS {
        (1 << count) - 1
    } else {
        Word::MAX
    }
}

/// The bit at this place of a row.
#[inline]
pub(crate) const fn bit(row: &[Word], at: u32) -> bool {
    row[(at / WORD_BITS) as usize] >> (at % WORD_BITS) & 1 == 1
}

/// Writes the complement of a row.
#[inline]
pub(crate) fn complement(row: &[Word], into: &mut [Word]) {
    for (into, word) in into.iter_mut().zip(row) {
        *into = !word;
    }
}

/// The words that a span of bits touches, and a mask for each. Words of 8 bits, span `5..18`:
///
/// ```text
///   word   0                 1                 2
///          . . . . . # # #   # # # # # # # #   # # . . . . . .
///          first_mask                          last_mask
/// ```
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) first: usize,
    pub(crate) last: usize,
    first_mask: Word,
    last_mask: Word,
}

impl Span {
    /// Makes the span of the bits `start..start + len`; `len` is at least 1.
    #[inline]
    pub(crate) const fn new(start: u32, len: u32) -> Span {
        let end = start + len - 1;
        Span {
            first: (start / WORD_BITS) as usize,
            last: (end / WORD_BITS) as usize,
            first_mask: Word::MAX << (start % WORD_BITS),
            last_mask: Word::MAX >> (WORD_BITS - 1 - end % WORD_BITS),
        }
    }

    /// The first bit.
    #[inline]
    pub(crate) const fn start(self) -> u32 {
        self.first as u32 * WORD_BITS + self.first_mask.trailing_zeros()
    }

    /// The first bit after the span.
    #[inline]
    pub(crate) const fn end(self) -> u32 {
        (self.last as u32 + 1) * WORD_BITS - self.last_mask.leading_zeros()
    }

    /// The mask of the word with this index.
    #[inline]
    pub(crate) const fn mask(self, word: usize) -> Word {
        let mut mask = Word::MAX;
        if word == self.first {
            mask &= self.first_mask;
        }
        if word == self.last {
            mask &= self.last_mask;
        }
        mask
    }

    /// The number of the span's bits that are set in the row.
    #[inline]
    pub(crate) fn count(self, row: &[Word]) -> u32 {
        let set = (self.first..=self.last).map(|word| (row[word] & self.mask(word)).count_ones());
        set.sum()
    }

    /// Whether all bits of the span are set in the row.
    #[inline]
    pub(crate) fn all(self, row: &[Word]) -> bool {
        (self.first..=self.last).all(|word| !row[word] & self.mask(word) == 0)
    }

    /// Whether any bit of the span is set in the row.
    #[inline]
    pub(crate) fn any(self, row: &[Word]) -> bool {
        (self.first..=self.last).any(|word| row[word] & self.mask(word) != 0)
    }
}

/// Iterates over one word of each row, from the first row on.
pub(crate) struct Column<'a> {
    rows: &'a [Word],
    stride: usize,
    at: usize,
}

impl<'a> Column<'a> {
    /// The words with this index in rows of `stride` words.
    #[inline]
    pub(crate) const fn new(rows: &'a [Word], stride: usize, word: usize) -> Self {
        Column {
            rows,
            stride,
            at: word,
        }
    }
}

impl Iterator for Column<'_> {
    type Item = Word;

    // A call for each word takes longer than the work on the word.
    #[inline(always)]
    fn next(&mut self) -> Option<Word> {
        let word = *self.rows.get(self.at)?;
        self.at += self.stride;
        Some(word)
    }
}

/// The steps that find runs of ones by shift-and-AND doubling. Doing `ones &= ones >> step` for
/// each step leaves the bits at which a run of the wanted length starts. Each step doubles the
/// length that is known to be set, and the last one makes it exact, so there are `log2(len)` steps,
/// rounded up. Runs of 5 take the steps 1, 2 and 1:
///
/// ```text
///   ones             1 1 1 1 1 . 1 1
///   ones &= ones>>1  1 1 1 1 . . 1 .     starts of runs of 2
///   ones &= ones>>2  1 1 . . . . . .     starts of runs of 4
///   ones &= ones>>1  1 . . . . . . .     starts of runs of 5
/// ```
pub(crate) struct Doubling {
    /// Long enough for the longest run.
    steps: [u32; MESH_SIDE_MAX.ilog2() as usize],
    count: usize,
}

impl Doubling {
    /// The steps for runs of `len` ones, 1 to [`MESH_SIDE_MAX`].
    #[inline]
    pub(crate) fn new(len: u16) -> Doubling {
        Doubling::between(1, len)
    }

    /// The steps from the starts of runs of `known` ones to those of `len`, each 1 to
    /// [`MESH_SIDE_MAX`].
    #[inline]
    pub(crate) fn between(mut known: u16, len: u16) -> Doubling {
        let mut steps = [0; MESH_SIDE_MAX.ilog2() as usize];
        let mut count = 0;
        while known < len {
            let step = known.min(len - known);
            steps[count] = u32::from(step);
            count += 1;
            known += step;
        }
        Doubling { steps, count }
    }

    /// The number of steps for runs of `len`: `log2(len)`, rounded up.
    #[inline]
    pub(crate) const fn count(len: u16) -> u32 {
        u16::BITS - (len - 1).leading_zeros()
    }

    /// The last step for runs of `len`; those before it are 1, 2, 4, and so on.
    #[inline]
    pub(crate) const fn last(len: u16) -> u32 {
        match Self::count(len) {
            0 => 0,
            count => len as u32 - (1 << (count - 1)),
        }
    }

    /// The steps, in order.
    #[inline]
    pub(crate) fn steps(&self) -> &[u32] {
        &self.steps[..self.count]
    }

    /// Reduces a row of several words to the starts of its runs.
    #[inline]
    pub(crate) fn reduce(&self, row: &mut [Word]) {
        for &step in self.steps() {
            and_shifted(row, step);
        }
    }
}

/// Does `bits &= bits >> by` across the words. Zeros enter at the top.
#[inline]
pub(crate) fn and_shifted(bits: &mut [Word], by: u32) {
    let (words, by) = ((by / WORD_BITS) as usize, by % WORD_BITS);
    // In place, lowest word first: only a word itself and lower words, which are done, need its
    // bits.
    let bits = Cell::from_mut(bits).as_slice_of_cells();
    let (_, above) = bits.split_at(words.min(bits.len()));
    if by == 0 {
        for (word, above) in bits.iter().zip(above) {
            word.set(word.get() & above.get());
        }
    } else if let Some((first, rest)) = above.split_first() {
        let mut low = first.get();
        for (word, high) in bits.iter().zip(rest) {
            let high = high.get();
            word.set(word.get() & (low >> by | high << (WORD_BITS - by)));
            low = high;
        }
        if let Some(last) = bits.get(rest.len()) {
            last.set(last.get() & low >> by);
        }
    }
    for word in &bits[above.len()..] {
        word.set(0);
    }
}

/// Corrects rows of `stride` words that were shifted as one: clears the bits whose run of `len`
/// would continue in the next row.
pub(crate) fn keep_starts(len: u32, bits: &mut [Word], stride: usize) {
    let columns = (stride as u32 * WORD_BITS + 1).saturating_sub(len);
    for row in bits.chunks_exact_mut(stride) {
        for (word, first) in row.iter_mut().zip((0..).step_by(WORD_BITS as usize)) {
            *word &= ones(columns.saturating_sub(first));
        }
    }
}

/// Extends each set bit of `seeds` to its whole run of ones in `within`. Every seed must be a one
/// of `within`.
///
/// Adding a seed to its run carries through all ones above it; they change. Adding on the reversed
/// bits finds the ones below it:
///
/// ```text
///   within             . 1 1 1 1 . 1 1
///   seeds              . . . 1 . . . .
///   within + seeds     . 1 1 . . 1 1 1     carried through bits 3 and 4 into bit 5
///   changed            . . . 1 1 1 . .     above
///   reversed, alike    1 1 1 1 . . . .     below
///   either, in within  . 1 1 1 1 . . .
/// ```
pub(crate) const fn filled(seeds: Word, within: Word) -> Word {
    let above = within ^ within.wrapping_add(seeds);
    let reversed = within.reverse_bits();
    let below = reversed ^ reversed.wrapping_add(seeds.reverse_bits());
    (above | below.reverse_bits() | seeds) & within
}

/// The word of a row that starts at bit `from`. Bits before the start and after the end of the row
/// are zero.
pub(crate) fn bits_from(row: &[Word], from: i32) -> Word {
    let len = WORD_BITS as i32;
    let (first, shift) = (from.div_euclid(len), from.rem_euclid(len) as u32);
    let word = |at: i32| {
        let at = usize::try_from(at).ok();
        at.and_then(|at| row.get(at)).copied().unwrap_or(0)
    };
    match shift {
        0 => word(first),
        _ => word(first) >> shift | word(first + 1) << (WORD_BITS - shift),
    }
}

/// Sets the bits of `bits` in a row, from bit `from` on.
pub(crate) fn set_bits_from(row: &mut [Word], from: u32, bits: Word) {
    let (first, shift) = ((from / WORD_BITS) as usize, from % WORD_BITS);
    row[first] |= bits << shift;
    let over = bits >> 1 >> (WORD_BITS - 1 - shift);
    if over != 0 {
        row[first + 1] |= over;
    }
}

/// The rows of `stride` words in which a bit is set, each with its number.
pub(crate) fn rows_with_bits(
    bits: &[Word],
    stride: usize,
) -> impl Iterator<Item = (usize, &[Word])> {
    let mut at = 0;
    core::iter::from_fn(move || {
        let empty = bits[at..].iter().position(|&word| word != 0)?;
        let row = (at + empty) / stride;
        at = (row + 1) * stride;
        Some((row, &bits[row * stride..at]))
    })
}

/// The runs of ones of a row as `(start, len)`, from the lowest bit.
pub(crate) fn runs(row: &[Word]) -> impl Iterator<Item = (u32, u32)> + '_ {
    runs_of(row.iter().copied()).map(|run| (run.start, run.end - run.start))
}

/// The runs of ones of these words, from the lowest bit.
///
/// Adding the lowest one of a word carries through its lowest run, so the sum has its lowest one at
/// the end of the run:
///
/// ```text
///   rest            . 1 1 1 . 1 . .     the run starts at bit 1
///   lowest one      . 1 . . . . . .
///   sum             . . . . 1 1 . .     the run ends before bit 4
///   rest & sum      . . . . . 1 . .     the rest without the run
/// ```
///
/// If the sum overflows, the run continues in the next word.
#[inline]
pub(crate) fn runs_of(words: impl Iterator<Item = Word>) -> impl Iterator<Item = Range<u32>> {
    let mut words = words.fuse();
    // The rest of the latest word, and the bit after that word.
    let (mut rest, mut behind) = (0, 0);
    core::iter::from_fn(move || {
        while rest == 0 {
            rest = words.next()?;
            behind += WORD_BITS;
        }
        let start = behind - WORD_BITS + rest.trailing_zeros();
        // The carry goes through the lowest run.
        let (carried, over) = rest.overflowing_add(rest & rest.wrapping_neg());
        if !over {
            rest &= carried;
            return Some(start..behind - WORD_BITS + carried.trailing_zeros());
        }
        rest = 0;
        for word in words.by_ref() {
            behind += WORD_BITS;
            if word != Word::MAX {
                rest = word & (word + 1);
                return Some(start..behind - WORD_BITS + word.trailing_ones());
            }
        }
        Some(start..behind)
    })
}

/// The first bit from `from` on that is set, or clear if `set` is false.
pub(crate) fn next_bit(row: &[Word], from: u32, set: bool) -> Option<u32> {
    let flip = if set { 0 } else { Word::MAX };
    let mut word = (from / WORD_BITS) as usize;
    let mut value = (*row.get(word)? ^ flip) & (Word::MAX << (from % WORD_BITS));
    while value == 0 {
        word += 1;
        value = *row.get(word)? ^ flip;
    }
    Some(word as u32 * WORD_BITS + value.trailing_zeros())
}

#[cfg(test)]
mod tests;
