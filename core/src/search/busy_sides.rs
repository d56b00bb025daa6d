//! The sides at which a free place touches something busy, for all places of a word at once:
//! [`BusySides`].

use crate::mesh::{Coord, Sides};
use crate::word::{WORD_BITS, Word};

/// A bitmap whose bits show what lies next to each place.
pub(crate) struct BusySides<'a> {
    bits: &'a [Word],
    stride: usize,
    /// All ones if clear bits touch, zero if set bits touch.
    flip: Word,
}

impl<'a> BusySides<'a> {
    /// The bitmap for single nodes. A node touches the busy nodes around it, whose bits are set in
    /// rows of `stride` words. A node at the border of the mesh touches the border, too.
    pub(crate) fn with_busy(busy: &'a [Word], stride: usize) -> Self {
        BusySides {
            bits: busy,
            stride,
            flip: 0,
        }
    }

    /// The bitmap for places. A place touches something at each side at which no other free place
    /// is next to it, since nothing is busy between two neighbouring places.
    pub(crate) fn of_places(places: &'a [Word], stride: usize) -> Self {
        BusySides {
            bits: places,
            stride,
            flip: Word::MAX,
        }
    }

    /// The bits of a word that touch something at the left, at the right, below and above.
    // Inlined, since a call would take half as much time as the work itself.
    #[inline(always)]
    pub(crate) fn sides(&self, at: usize) -> [Word; 4] {
        let BusySides { bits, stride, flip } = *self;
        let column = at % stride;
        let before = if column == 0 { !flip } else { bits[at - 1] };
        let after = if column + 1 == stride {
            !flip
        } else {
            bits[at + 1]
        };
        [
            (bits[at] << 1 | before >> (WORD_BITS - 1)) ^ flip,
            (bits[at] >> 1 | after << (WORD_BITS - 1)) ^ flip,
            bits.get(at.wrapping_sub(stride)).unwrap_or(&!flip) ^ flip,
            bits.get(at + stride).unwrap_or(&!flip) ^ flip,
        ]
    }

    /// The first of the base nodes in these words that touch the most at their sides.
    pub(crate) fn best(&self, bases: impl Iterator<Item = Word>) -> Option<Coord> {
        let mut best = None;
        let mut most = 0;
        // Only base nodes with at least `most` busy neighbours of their own can be better.
        let mut bound = Bound::new(Sides::new(1, 1), most);
        for (at, bases) in bases.enumerate() {
            if bases == 0 {
                continue;
            }
            loop {
                let hit = bases & self.may_reach(at, &bound);
                if hit == 0 {
                    break;
                }
                best = Some(Coord::of_lowest(hit, at, self.stride));
                most += 1;
                bound = Bound::new(Sides::new(1, 1), most);
            }
        }
        best
    }

    /// The places of a word whose boundary value may reach the bound.
    #[inline]
    pub(crate) fn may_reach(&self, at: usize, bound: &Bound) -> Word {
        bound.may_reach(self.sides(at))
    }
}

/// The sides that have to touch something for a boundary value of at least some number.
pub(crate) struct Bound {
    /// If 0, 1 or 2 of the left and right sides touch something: the number of sides below and
    /// above that must touch something, too. The number is over 2 if even both are not enough.
    across: [u32; 3],
}

impl Bound {
    /// The bound for values of at least `least`. A side has at most as many busy neighbours as
    /// nodes.
    #[inline]
    pub(crate) fn new(sides: Sides, least: u32) -> Self {
        let (w, h) = (u32::from(sides.w), u32::from(sides.h));
        let across = |beside: u32| least.saturating_sub(beside).div_ceil(w);
        Bound {
            across: [across(0), across(h), across(2 * h)],
        }
    }

    /// The places whose value may reach the bound. The masks say which places touch something at
    /// the left, at the right, below and above.
    #[inline]
    fn may_reach(&self, [left, right, below, above]: [Word; 4]) -> Word {
        let across = |count: u32| match count {
            0 => Word::MAX,
            1 => below | above,
            2 => below & above,
            _ => 0,
        };
        let [none, one, two] = self.across;
        across(none) | across(one) & (left | right) | across(two) & left & right
    }
}
