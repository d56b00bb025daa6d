//! What a free place touches, for all places of a word at once.

use crate::mesh::Sides;
use crate::word::{WORD_BITS, Word};

/// Of a word of a bitmap with rows of `stride` words: what is at the left of each bit, at the right, below and above; beyond the borders `outside`.
#[inline]
pub(crate) fn neighbours(
    bits: &[Word],
    stride: usize,
    (row, word): (usize, usize),
    outside: Word,
) -> [Word; 4] {
    let at = row * stride + word;
    let before = if word == 0 { outside } else { bits[at - 1] };
    let after = if word + 1 == stride {
        outside
    } else {
        bits[at + 1]
    };
    [
        bits[at] << 1 | before >> (WORD_BITS - 1),
        bits[at] >> 1 | after << (WORD_BITS - 1),
        at.checked_sub(stride).map_or(outside, |at| bits[at]),
        bits.get(at + stride).copied().unwrap_or(outside),
    ]
}

/// Which sides have to touch something for a boundary value.
pub(crate) struct Bound {
    /// How many of those below and above, for each number of those at the left and right: 3 if that is not enough.
    across: [usize; 3],
}

impl Bound {
    /// For values of at least `least`: no side has more neighbours than nodes.
    #[inline]
    pub(crate) fn new(sides: Sides, least: u32) -> Self {
        let (w, h) = (u32::from(sides.w), u32::from(sides.h));
        Bound {
            across: [0, h, 2 * h].map(|beside| {
                let reached = (0..3).position(|across| beside + across * w >= least);
                reached.unwrap_or(3)
            }),
        }
    }

    /// The places that may have such a value, of those that touch something at the left, at the right, below and above.
    #[inline]
    pub(crate) fn may_reach(&self, [left, right, below, above]: [Word; 4]) -> Word {
        let across = [Word::MAX, below | above, below & above, 0];
        let [none, one, two] = self.across.map(|count| across[count]);
        none | one & (left | right) | two & left & right
    }
}
