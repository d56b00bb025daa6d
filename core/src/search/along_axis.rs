//! Operations on the bitmap of all nodes at once, turned along one axis: the building blocks of the
//! searches for free boxes ([`boxes`](super::boxes)).
//!
//! Node numbers count along axis 0 first. So the neighbour of a node along an axis is `stride`
//! numbers further, and turning the bitmap along the axis is a shift by `stride` bits, except where
//! a ring of the axis ends:
//!
//! ```text
//!   sides 4 x 3, both wrap; bits in the order of node numbers
//!
//!   node                  0 1 2 3   4 5 6 7   8 9 a b
//!   one along axis 0      1 2 3 0   5 6 7 4   9 a b 8     stride 1, period 4
//!   one along axis 1      4 5 6 7   8 9 a b   0 1 2 3     stride 4, period 12
//!
//!   period = side * stride nodes; then the coordinates along the axis repeat
//! ```
//!
//! A turn by k is two shifts: down by `k * stride` for the nodes that stay in their ring
//! (coordinate below `side - k`), and up by `(side - k) * stride` for the others. A mask
//! ([`Below`]) selects between them. Where rings are whole words, a turn is a copy of words without
//! a mask.

use crate::layout::Axis;
use crate::word::{WORD_BITS, Wide, Word, and_shifted, ones};

/// Leaves the nodes that begin a run of `extent` set nodes along the axis; `extent` is at most the
/// side. `spare` is as long as `bases`.
///
/// ```text
///   extent 3 along a ring of 6       1 1 1 0 1 1
///   AND with itself turned by 1      1 1 0 0 1 1      2 nodes from here on are set
///   AND with itself turned by 1      1 0 0 0 1 1      3 nodes: steps double, the last one fits
/// ```
pub(super) fn reduce(axis: Axis, extent: u16, bases: &mut [Word], spare: &mut [Word]) {
    let extent = u32::from(extent);
    let mut known = 1;
    while known < extent {
        let step = known.min(extent - known);
        if axis.wraps {
            and_turned(axis, step, bases, spare);
            bases.copy_from_slice(spare);
        } else {
            and_shifted(bases, step * axis.stride);
        }
        known += step;
    }
    if !axis.wraps && extent > 1 {
        // The last nodes have been ANDed with what follows the end of the axis.
        keep_below(axis, axis.side - (extent - 1), bases);
    }
}

/// `into = from & from'`, where `from'` has for each node the bit of the node `by` steps further
/// along the axis, which wraps.
fn and_turned(axis: Axis, by: u32, from: &[Word], into: &mut [Word]) {
    let Axis { side, stride, .. } = axis;
    let (ahead, behind) = (by * stride, (side - by) * stride);
    if axis.period().is_multiple_of(WORD_BITS) {
        let period = (axis.period() / WORD_BITS) as usize;
        let (words, bits) = ((ahead / WORD_BITS) as usize, ahead % WORD_BITS);
        for (from, into) in from.chunks_exact(period).zip(into.chunks_exact_mut(period)) {
            if bits == 0 {
                let (inside, wrapped) = into.split_at_mut(period - words);
                and(from, &from[words..], inside);
                and(&from[period - words..], from, wrapped);
                continue;
            }
            let word = |at: usize| from[at.checked_sub(period).unwrap_or(at)];
            let mut low = word(words);
            for (at, into) in into.iter_mut().enumerate() {
                let high = word(at + words + 1);
                *into = from[at] & join(low, high, bits);
                low = high;
            }
        }
        return;
    }
    let mut inside = Below::new(axis, side - by);
    if axis.is_alike_in_words() {
        let inside = inside.next_word();
        for (into, &from) in into.iter_mut().zip(from) {
            *into = from & (from >> ahead & inside | from << behind & !inside);
        }
        return;
    }
    let (ahead_words, ahead_bits) = ((ahead / WORD_BITS) as usize, ahead % WORD_BITS);
    let (behind_words, behind_bits) = ((behind / WORD_BITS) as usize, behind % WORD_BITS);
    let word = |at: Option<usize>| at.and_then(|at| from.get(at)).copied().unwrap_or(0);
    for (at, into) in into.iter_mut().enumerate() {
        let (low, high) = (at + ahead_words, at + ahead_words + 1);
        let following = join(word(Some(low)), word(Some(high)), ahead_bits);
        let high = at.checked_sub(behind_words);
        let low = high.and_then(|high| high.checked_sub(1));
        // A shift up by some bits of a word is a shift down by the remaining bits, one word
        // further.
        let wrapped = match behind_bits {
            0 => word(high),
            bits => join(word(low), word(high), WORD_BITS - bits),
        };
        let inside = inside.next_word();
        *into = from[at] & (following & inside | wrapped & !inside);
    }
}

/// `into = one & other`, up to the end of the shortest.
fn and(one: &[Word], other: &[Word], into: &mut [Word]) {
    for ((into, one), other) in into.iter_mut().zip(one).zip(other) {
        *into = one & other;
    }
}

/// The word that begins `bits` above the beginning of `low`; `bits` is less than a word.
#[inline]
fn join(low: Word, high: Word, bits: u32) -> Word {
    match bits {
        0 => low,
        bits => low >> bits | high << (WORD_BITS - bits),
    }
}

/// Leaves the nodes whose coordinate on the axis is below `bound`, 1 to the side.
pub(super) fn keep_below(axis: Axis, bound: u32, bases: &mut [Word]) {
    if axis.has_whole_words() {
        let words = (axis.stride / WORD_BITS) as usize;
        for ring in bases.chunks_exact_mut(words * axis.side as usize) {
            ring[words * bound as usize..].fill(0);
        }
        return;
    }
    let mut below = Below::new(axis, bound);
    match axis.words_alike() {
        // A loop without steps, for which a compiler generates faster code.
        Some(1) => {
            let below = below.next_word();
            bases.iter_mut().for_each(|word| *word &= below);
        }
        Some(words) => {
            for first in 0..words {
                let below = below.next_word();
                let alike = bases[first..].iter_mut().step_by(words);
                alike.for_each(|word| *word &= below);
            }
        }
        None => bases.iter_mut().for_each(|word| *word &= below.next_word()),
    }
}

/// Whether the coordinate of any node is below `bound`.
fn any_below(axis: Axis, bound: u32, bases: &[Word]) -> bool {
    if axis.has_whole_words() {
        let words = (axis.stride / WORD_BITS) as usize;
        let mut rings = bases.chunks_exact(words * axis.side as usize);
        return rings.any(|ring| ring[..words * bound as usize].iter().any(|&word| word != 0));
    }
    let mut below = Below::new(axis, bound);
    if axis.is_alike_in_words() {
        let below = below.next_word();
        return bases.iter().any(|&word| word & below != 0);
    }
    bases.iter().any(|&word| word & below.next_word() != 0)
}

/// Leaves the nodes with the least coordinate on the axis, which is known to be below `bound`: by
/// bisection, with a pass over the words for each step. `spare` is as long as `bases`.
pub(super) fn keep_least(axis: Axis, bound: u32, bases: &mut [Word], spare: &mut [Word]) {
    // Words with the same coordinates are ORed together first, if they would be read several times.
    let coordinates = match axis.words_alike() {
        Some(words) if words < bases.len() && bound > 2 => {
            let (together, _) = spare.split_at_mut(words);
            together.fill(0);
            for bases in bases.chunks(words) {
                together
                    .iter_mut()
                    .zip(bases)
                    .for_each(|(all, word)| *all |= word);
            }
            &*together
        }
        _ => &*bases,
    };
    // Invariant: the coordinate is at least `low` and below `high`.
    let (mut low, mut high) = (0, bound);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if any_below(axis, middle, coordinates) {
            high = middle;
        } else {
            low = middle;
        }
    }
    keep_below(axis, high, bases);
}

impl Axis {
    /// The number of nodes after which the coordinates along the axis repeat.
    #[inline]
    const fn period(self) -> u32 {
        self.stride * self.side
    }

    /// Whether neighbours along the axis are whole words apart.
    #[inline]
    const fn has_whole_words(self) -> bool {
        self.stride.is_multiple_of(WORD_BITS)
    }

    /// The number of words after which the coordinates along the axis repeat at the same bits;
    /// `None` if they do not repeat after whole words.
    #[inline]
    const fn words_alike(self) -> Option<usize> {
        if self.is_alike_in_words() {
            Some(1)
        } else if self.period().is_multiple_of(WORD_BITS) {
            Some((self.period() / WORD_BITS) as usize)
        } else {
            None
        }
    }

    /// Whether every word has the same coordinates at the same bits.
    #[inline]
    const fn is_alike_in_words(self) -> bool {
        let period = self.period();
        period <= WORD_BITS && period.is_power_of_two()
    }
}

/// A mask of the nodes whose coordinate on an axis is below a bound, one word after the other.
///
/// The pattern has a period of `side * stride` nodes, of which the first `bound * stride` are set:
///
/// ```text
///   side 3, stride 2, bound 2:   1 1 1 1 0 0   1 1 1 1 0 0   1 1 1 1 ..
///   words of 8:                  1 1 1 1 0 0 1 1|1 1 0 0 1 1 1 1|0 0 ..
///   phase of each word:          0               2               4
/// ```
struct Below {
    period: u32,
    /// Nodes at the beginning of each period.
    set: u32,
    /// The next word's first node, modulo the period.
    phase: u32,
    /// The length of a word, modulo the period.
    step: u32,
    /// Two words of the pattern from phase 0 on, where the period is shorter than a word.
    pattern: Wide,
}

impl Below {
    #[inline]
    fn new(axis: Axis, bound: u32) -> Below {
        let period = axis.period();
        let set = axis.stride * bound;
        let mut pattern: Wide = 0;
        if period < WORD_BITS {
            pattern = Wide::from(ones(set));
            let mut len = period;
            while len < Wide::BITS {
                pattern |= pattern << len;
                len *= 2;
            }
        }
        Below {
            period,
            set,
            phase: 0,
            step: WORD_BITS % period,
            pattern,
        }
    }

    #[inline]
    fn next_word(&mut self) -> Word {
        let phase = self.phase;
        let next = phase + self.step;
        self.phase = if next < self.period {
            next
        } else {
            next - self.period
        };
        if self.period < WORD_BITS {
            return (self.pattern >> phase) as Word;
        }
        let current = ones(self.set.saturating_sub(phase));
        // Where the next period begins.
        let turn = self.period - phase;
        current | ones(turn.saturating_add(self.set)) & !ones(turn)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::grid::Grid;
    use crate::layout::Layout;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// Grids whose periods are shorter than a word, a word, and longer, with padding and without.
    const GRIDS: [&[u16]; 12] = [
        &[2],
        &[3, 3, 3],
        &[4, 4, 4],
        &[5, 4, 3],
        &[2, 2, 2, 2, 2, 2, 2, 2],
        &[7, 7, 7],
        &[40, 40],
        &[16, 16],
        &[64, 5, 3],
        &[32, 6, 1, 4],
        &[1, 9, 2, 11],
        &[3, 3, 3, 3, 3, 3],
    ];

    proptest! {
        #[test]
        fn reduced_bits_are_those_of_a_node_by_node_scan(
            which in 0..GRIDS.len(),
            wraps in any::<bool>(),
            dimension in 0usize..8,
            extent in 1u16..40,
            bound in 1u16..40,
            noise in prop::collection::vec((any::<Word>(), any::<Word>()), 1 + 1600 / WORD_BITS as usize),
        ) {
            let sides = GRIDS[which];
            let grid = if wraps { Grid::torus(sides) } else { Grid::mesh(sides) };
            let grid = grid.unwrap();
            let dimension = dimension % sides.len();
            let axis = Layout::new(grid).axis(dimension);
            let Axis { side, stride, .. } = axis;
            let (extent, bound) = (u32::from(extent - 1) % side + 1, u32::from(bound - 1) % side + 1);
            let nodes = grid.nodes();
            let words = nodes.div_ceil(WORD_BITS) as usize;
            let mut bases: Vec<Word> = noise[..words].iter().map(|(a, b)| a | b).collect();
            if !nodes.is_multiple_of(WORD_BITS) {
                bases[words - 1] &= ones(nodes % WORD_BITS);
            }
            let bit = |bases: &[Word], node: u32| bases[(node / WORD_BITS) as usize] >> (node % WORD_BITS) & 1 == 1;
            let coordinate = |node: u32| node / stride % side;
            let expected: Vec<bool> = (0..nodes)
                .map(|node| {
                    let at = coordinate(node);
                    (wraps || at + extent <= side)
                        && (0..extent).all(|by| bit(&bases, node - at * stride + (at + by) % side * stride))
                })
                .collect();
            let mut spare = std::vec![0; words];
            reduce(axis, extent as u16, &mut bases, &mut spare);
            for node in 0..words as u32 * WORD_BITS {
                prop_assert_eq!(bit(&bases, node), expected.get(node as usize) == Some(&true));
            }
            let least = (0..nodes).filter(|&node| bit(&bases, node)).map(coordinate).min();
            let mut rest = bases.clone();
            keep_least(axis, side, &mut rest, &mut spare);
            for node in 0..nodes {
                prop_assert_eq!(bit(&rest, node), bit(&bases, node) && Some(coordinate(node)) == least);
            }
            keep_below(axis, bound, &mut bases);
            for node in 0..nodes {
                prop_assert_eq!(bit(&bases, node), expected[node as usize] && coordinate(node) < bound);
            }
        }
    }
}
