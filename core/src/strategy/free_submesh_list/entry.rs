//! A submesh of the list in one word: [`Entry`].
//!
//! The list is compared with one submesh over and over, to find the entries that overlap the
//! submesh, cover it or lie beside it. With a submesh in one word, each of these questions is one
//! subtraction and one AND for all four sides at once, without a branch.
//!
//! # Comparing four numbers by one subtraction
//!
//! A word has four *lanes*, each a number below a *guard bit* that is 0. If a lane of `a` is larger
//! than that of `b`, the lane of `b - a` borrows, and the lane's guard bit is set:
//!
//! ```text
//!   b               0|5   0|3   0|7   0|2        guard bit | value
//!   a               0|4   0|3   0|8   0|2
//!   b - a           0|1   0|0   1|~   0|~        the third lane is larger in a
//! ```
//!
//! A borrow also runs into the next higher lane. That may set further guard bits, but never clears
//! the first one. So "no guard bit is set" means that no lane of `a` is larger. If an answer is
//! needed for each lane, the guard bits of `b` are set first, and a lane borrows from its own guard
//! bit:
//!
//! ```text
//!   b | guards      1|5   1|3   1|7   1|2
//!   minus a         1|1   1|0   0|~   1|0        guard bit clear: larger in a
//! ```

use core::cmp::{Ordering, Reverse};

use crate::grid::{MESH_SIDE_MAX, NODES_MAX};
use crate::mesh::{Sides, Submesh};

/// A submesh in one word. Words are in the order of sizes, larger first.
///
/// ```text
///   bit 63      44 43  33 32  22 21  11 10   0
///      [2^20 - area|  y2' |  x2' |  y1  |  x1  ]     x2' = 1023 - x2, y2' = 1023 - y2
/// ```
///
/// A lane has ten bits and above them a guard bit, which is 0. The number in a lane is the distance
/// of its side from the same border of the largest mesh:
///
/// ```text
///   y 1023 +------------------------+      the submesh from (x1, y1) to (x2, y2)
///          |        | y2'           |
///          |      +---+             |      A submesh covers another one exactly if none of its
///          |--x1--|   |-----x2'-----|      four lanes is larger: it reaches as far or farther
///          |      +---+             |      on each side.
///          |        | y1            |
///        0 +------------------------+
///          0                  x 1023
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry(pub(super) u64);

/// The sides of a submesh, by the number of their lane.
pub(super) const SIDES: [u32; 4] = [LEFT, RIGHT, BELOW, ABOVE];
const LEFT: u32 = 0;
const BELOW: u32 = 1;
const RIGHT: u32 = 2;
const ABOVE: u32 = 3;

/// The lane of the other side.
pub(super) const fn opposite(side: u32) -> u32 {
    side ^ 2
}

const VALUE_BITS: u32 = 10;
const LANE_BITS: u32 = VALUE_BITS + 1;
/// The lowest bit of each lane.
const LANES: u64 = 1 | 1 << LANE_BITS | 1 << (2 * LANE_BITS) | 1 << (3 * LANE_BITS);
const GUARDS: u64 = LANES << VALUE_BITS;
const VALUES: u64 = GUARDS - LANES;
/// The guard bits of the two lowest lanes.
const FIRST_GUARDS: u64 = GUARDS & ((1 << (2 * LANE_BITS)) - 1);
const VALUE_MAX: u64 = (1 << VALUE_BITS) - 1;
const AREA_SHIFT: u32 = 4 * LANE_BITS;
const AREA_MAX: u64 = 1 << (u64::BITS - AREA_SHIFT);

const _: () = assert!(MESH_SIDE_MAX as u64 == VALUE_MAX + 1 && NODES_MAX as u64 <= AREA_MAX);

/// The guard bit of a lane.
#[inline]
pub(super) const fn guard(side: u32) -> u64 {
    1 << (side * LANE_BITS + VALUE_BITS)
}

/// Exchanges the lanes of opposite sides; no guard bit is set.
///
/// ```text
///   before   y2'  x2'  y1   x1
///   after    y1   x1   y2'  x2'
/// ```
#[inline]
const fn exchange(lanes: u64) -> u64 {
    (lanes << (2 * LANE_BITS) | lanes >> (2 * LANE_BITS)) & VALUES
}

/// Whether no lane of `a` is larger than that of `b`.
#[inline]
const fn is_within(a: u64, b: u64) -> bool {
    b.wrapping_sub(a) & GUARDS == 0
}

/// In each lane, the difference if `a` is larger than `b`, else 0.
///
/// ```text
///   (a | guards) - b        1|3   0|~        a is larger by 3; a is smaller
///   at_least                1|0   0|0        the guard bits
///   at_least - (.. >> 10)   0|all 0|0        all value bits of the lanes with a guard bit
///   AND                     0|3   0|0
/// ```
#[inline]
const fn lanes_over(a: u64, b: u64) -> u64 {
    let difference = (a | GUARDS) - b;
    let at_least = difference & GUARDS;
    difference & (at_least - (at_least >> VALUE_BITS))
}

/// The larger number in each lane.
#[inline]
const fn lanes_max(a: u64, b: u64) -> u64 {
    b + lanes_over(a, b)
}

impl Entry {
    /// Whether this entry comes before the other one in the order of definition 1: the larger
    /// first, then the more square first. The paper says nothing about further ties. Here they go
    /// by the base node in row-major order, then the wider first.
    #[inline]
    pub(super) fn precedes(self, other: Entry) -> bool {
        match (self.0 ^ other.0) >> AREA_SHIFT {
            0 => self.precedes_of_same_size(other),
            _ => self.0 < other.0,
        }
    }

    #[inline]
    pub(super) const fn is_larger_than(self, other: Entry) -> bool {
        self.0 >> AREA_SHIFT < other.0 >> AREA_SHIFT
    }

    #[inline(never)]
    fn precedes_of_same_size(self, other: Entry) -> bool {
        let key = |entry: Entry| {
            let Submesh { base, sides } = entry.into();
            (sides.w.abs_diff(sides.h), base.y, base.x, Reverse(sides.w))
        };
        key(self) < key(other)
    }

    /// The number of processors.
    #[inline]
    pub(super) const fn area(self) -> u32 {
        (AREA_MAX - (self.0 >> AREA_SHIFT)) as u32
    }

    /// Whether every processor of `inner` is also one of `self`.
    #[inline]
    pub(super) const fn covers(self, inner: Entry) -> bool {
        is_within(self.0, inner.0)
    }

    #[inline]
    const fn lane(self, side: u32) -> u64 {
        self.0 >> (side * LANE_BITS) & VALUE_MAX
    }

    /// Compares the results of [`Entry::left_without`] for two places that may be taken out.
    #[inline]
    pub(super) fn order_by_left_without(self, one: Entry, other: Entry) -> Ordering {
        let sides = self.sides();
        let left = |taken| self.left_without(sides, taken);
        left(one).cmp(&left(other))
    }

    /// The size of the largest submesh that is left of this one, which has these sides, when
    /// `taken` is taken out: the reservation factor of definition 2. It is the whole size if the
    /// two do not overlap.
    ///
    /// ```text
    ///   +---------------+      left:  l columns x all rows      right: r columns x all rows
    ///   |      u        |      below: d rows x all columns      above: u rows x all columns
    ///   |     +---+     |
    ///   |  l  |tak|  r  |      so the largest has max(l, r) * h or max(d, u) * w processors.
    ///   |     +---+     |
    ///   |      d        |
    ///   +---------------+
    /// ```
    #[inline]
    pub(super) fn left_without(self, Sides { w, h }: Sides, taken: Entry) -> u32 {
        // Each lane has the distance between the same side of the two submeshes: l, d, r, u. If the
        // submeshes do not overlap, one of these distances is at least as long as this submesh.
        let left = lanes_over(taken.lanes(), self.lanes());
        let longest = Entry(lanes_max(left, left >> (2 * LANE_BITS)));
        let (across, upwards) = (longest.lane(LEFT) as u32, longest.lane(BELOW) as u32);
        let most = (across * u32::from(h)).max(upwards * u32::from(w));
        most.min(self.area())
    }

    /// The places of these sides, which fit, in the corners of this submesh, without area: first
    /// the lanes of the columns at its left and at its right, then the lanes of the rows below and
    /// above. A corner is one of the first two put together [with](Entry::with) one of the last
    /// two:
    ///
    /// ```text
    ///   +----+---+----+
    ///   | LA |   | RA |      LB = left with below, RB = right with below,
    ///   +----+   +----+      LA = left with above, RA = right with above
    ///   +----+   +----+
    ///   | LB |   | RB |
    ///   +----+---+----+
    /// ```
    #[inline]
    pub(super) fn corners(self, sides: Sides) -> ([Entry; 2], [Entry; 2]) {
        // x1 + x2' is the same for all submeshes of one width, as y1 + y2' for one height.
        let sum = |len: u16| VALUE_MAX + 1 - u64::from(len);
        let sums = sum(sides.w) | sum(sides.h) << LANE_BITS;
        let near = self.lanes();
        let far = exchange((sums | sums << (2 * LANE_BITS)) - near);
        let at = |side: u32| Entry(near & lane_mask(side) | far & lane_mask(opposite(side)));
        ([at(LEFT), at(RIGHT)], [at(BELOW), at(ABOVE)])
    }

    /// The lanes of both.
    #[inline]
    pub(super) const fn with(self, other: Entry) -> Entry {
        Entry(self.0 | other.0)
    }

    /// A number that grows with the base node in row-major order.
    #[inline]
    pub(super) const fn row_major(self) -> u64 {
        self.lane(BELOW) << VALUE_BITS | self.lane(LEFT)
    }

    /// The lanes without the area. Entries that were cut have no area.
    #[inline]
    const fn lanes(self) -> u64 {
        self.0 & VALUES
    }

    /// The same entry, whose size now is the area of its lanes.
    #[inline]
    pub(super) fn with_area(self) -> Entry {
        let area = u64::from(self.sides().area());
        Entry(self.lanes() | (AREA_MAX - area) << AREA_SHIFT)
    }

    #[inline]
    pub(super) fn sides(self) -> Sides {
        // Both sides at once: no lane borrows from the next.
        let lens = (VALUE_MAX + 1) * LANES - self.lanes() - (self.lanes() >> (2 * LANE_BITS));
        let len = |side: u32| (lens >> (side * LANE_BITS)) as u16 & ((1 << LANE_BITS) - 1);
        Sides::new(len(LEFT), len(BELOW))
    }

    /// Whether the submesh begins behind its end, like a join of two submeshes without a common row
    /// or column.
    #[inline]
    pub(super) const fn is_empty(self) -> bool {
        self.outer_lens() & FIRST_GUARDS != 0
    }

    /// In the two lowest lanes: the numbers of columns and rows of the largest mesh outside of this
    /// submesh, x1 + x2' and y1 + y2'. If one is 1024 or more, the submesh is empty.
    #[inline]
    const fn outer_lens(self) -> u64 {
        // No lane of the sum has more than eleven bits.
        self.0.wrapping_add(self.0 >> (2 * LANE_BITS))
    }

    /// Admits submeshes that overlap this one: those that do not begin behind its end, on both
    /// axes. So the limit of a lane is the distance of the opposite side from this lane's border:
    /// 1023 less the opposite lane.
    ///
    /// ```text
    ///   the submesh          x1|======|x2
    ///   admitted         |------|                 its x1 is at most x2,
    ///   admitted                    |-------|     and its x2' at most 1023 - x1
    ///   not admitted                   |-----|
    /// ```
    #[inline]
    pub(super) const fn overlapping(self) -> Limit {
        Limit(exchange(VALUES - self.lanes()))
    }

    /// Admits submeshes that overlap this one, or share a stretch of its border or a corner. The
    /// limits are larger by one.
    #[inline]
    pub(super) const fn touching(self) -> Limit {
        let over = self.overlapping().0 + LANES;
        // No lane of an entry is larger than the largest value.
        let full = over & GUARDS;
        Limit((over | (full - (full >> VALUE_BITS))) & VALUES)
    }
}

/// The number of entries that are looked at together.
const CHUNK: usize = 8;
/// The number of entries that have a bit each in one word.
const BITS: usize = u32::BITS as usize;

/// A condition on submeshes: it admits a submesh if no lane of the submesh is larger than the
/// limit's lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit(u64);

impl Limit {
    #[inline]
    pub(super) const fn admits(self, entry: Entry) -> bool {
        is_within(entry.0, self.0)
    }

    /// Whether the limit admits any of these entries. All entries are looked at, since a branch at
    /// the first admitted entry is hard to predict.
    #[inline]
    fn admits_any(self, entries: &[u64]) -> bool {
        // The sum carries into the area unless no guard bit is set.
        let carry = 1 << AREA_SHIFT;
        let refused = entries.iter().fold(carry, |refused, &cell| {
            refused & ((self.0.wrapping_sub(cell) & GUARDS) + (carry - (1 << VALUE_BITS)))
        });
        refused & carry == 0
    }

    /// The place of the first entry that the limit admits.
    #[inline]
    pub(super) fn first(self, entries: &[u64]) -> Option<usize> {
        let (chunks, rest) = entries.as_chunks::<CHUNK>();
        let chunk = chunks.iter().position(|chunk| self.admits_any(chunk));
        let (start, bits) = match chunk {
            Some(chunk) => (chunk * CHUNK, self.bits(&chunks[chunk])),
            None => (chunks.len() * CHUNK, self.bits(rest)),
        };
        (bits != 0).then(|| start + bits.trailing_zeros() as usize)
    }

    /// A bit for each of at most 32 entries, the lowest for the first: set if the entry is
    /// admitted.
    #[inline]
    fn bits(self, entries: &[u64]) -> u32 {
        let bit = |bits: u32, &cell: &u64| bits << 1 | u32::from(self.admits(Entry(cell)));
        let (chunks, rest) = entries.as_chunks::<CHUNK>();
        let bits = rest.iter().rev().fold(0, bit);
        let chunks = chunks.iter().rev();
        chunks.fold(bits, |bits, chunk| chunk.iter().rev().fold(bits, bit))
    }

    /// Calls `visit` with the place of each entry that the limit admits.
    #[inline]
    pub(super) fn each(self, entries: &[u64], mut visit: impl FnMut(usize)) {
        let is_long = entries.len() > 2 * BITS;
        let mut start = 0;
        for entries in entries.chunks(BITS) {
            // Few chunks of a long list have an entry that is admitted.
            if !is_long || self.admits_any(entries) {
                let mut left = self.bits(entries);
                while left != 0 {
                    visit(start + left.trailing_zeros() as usize);
                    left &= left - 1;
                }
            }
            start += BITS;
        }
    }

    /// The guard bits of the lanes in which the entry is larger.
    #[inline]
    pub(super) const fn exceeded_by(self, entry: Entry) -> u64 {
        // No lane borrows from the next one.
        !((self.0 | GUARDS).wrapping_sub(entry.0)) & GUARDS
    }

    /// Admits everything that either limit admits, and more.
    #[inline]
    pub(super) const fn or_more(self, other: Limit) -> Limit {
        Limit(lanes_max(self.0, other.0))
    }
}

/// All value bits of a lane.
#[inline]
const fn lane_mask(side: u32) -> u64 {
    VALUE_MAX << (side * LANE_BITS)
}

/// The rest of submeshes when one is taken out: up to four pieces, each as long as can be.
///
/// ```text
///   +---------------+     A submesh leaves a piece outside of a side of what is taken
///   |     |         |     exactly if it reaches over that side: here over the left, the
///   |--+--+---+-----|     right and the upper side.
///   |  |  |tak|  |  |     The piece outside of the left side has the submesh's own lanes,
///   |  |  +---+  |  |     but its right end lies at that side.
///   +--+---------+--+
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    taken: u64,
    /// For each side, the end lane of the pieces that end there.
    ends: u64,
}

impl Cut {
    #[inline]
    pub(super) const fn around(taken: Entry) -> Cut {
        let taken = taken.lanes();
        Cut {
            taken,
            // A side that lies at the border of the largest mesh has nothing beyond it.
            ends: exchange((VALUE_MAX + 1) * LANES - taken),
        }
    }

    /// Whether a submesh reaches over this side of the taken submesh.
    #[inline]
    pub(super) const fn reaches_over(self, submesh: Entry, side: u32) -> bool {
        // No lane borrows from the next one.
        ((submesh.0 | GUARDS) - self.taken) & guard(side) == 0
    }

    /// The part of this submesh outside of one of its sides, without area.
    #[inline]
    pub(super) const fn outside(self, submesh: Entry, side: u32) -> Entry {
        let end = lane_mask(opposite(side));
        Entry(submesh.lanes() & !end | self.ends & end)
    }
}

/// One side of a submesh, seen from outside.
///
/// ```text
///              side RIGHT
///   +---------+----+
///   | submesh |    |      `meeting` admits what begins right behind the side and has a row in
///   |         |    |      common with the submesh. `join` puts a part of the submesh that reaches
///   +---------+    |      to the side and such an outer one together: the rows that both have,
///             +----+      from the far left end to the far right one.
///
///   +---------+----+
///   |  j   o  | i n|
///   |         |    |
///   +---------+    |
///             +----+
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct Border {
    side: u32,
    /// The submesh's lane of the side.
    lane: u64,
    /// Admits submeshes that share a stretch of the side and do not overlap the submesh.
    pub(super) meeting: Limit,
}

impl Border {
    #[inline]
    pub(super) const fn of(submesh: Entry, side: u32) -> Border {
        let lane = submesh.lane(side);
        let end = VALUE_MAX + 1 - lane;
        // Nothing lies beyond the border of the largest mesh: a limit with its guard bit set
        // refuses everything.
        let beyond = lane.wrapping_sub(1) & (VALUE_MAX << 1 | 1);
        let others = submesh.overlapping().0 & !lane_mask(side) & !lane_mask(opposite(side));
        Border {
            side,
            lane,
            meeting: Limit(
                others | end << (opposite(side) * LANE_BITS) | beyond << (side * LANE_BITS),
            ),
        }
    }

    /// Whether a part of the submesh reaches to this side.
    #[inline]
    pub(super) const fn reached_by(self, part: Entry) -> bool {
        part.lane(self.side) == self.lane
    }

    /// Joins two submeshes that share a stretch of this side: the rows, or columns, that both have,
    /// from the far end of the one to that of the other, without area. The join may be empty. The
    /// inner submesh reaches to this side.
    #[inline]
    pub(super) const fn join(self, inner: Entry, outer: Entry) -> Entry {
        Entry(lanes_max(
            inner.lanes() & !lane_mask(self.side),
            outer.lanes() & !lane_mask(opposite(self.side)),
        ))
    }
}

impl From<Submesh> for Entry {
    #[inline]
    fn from(submesh: Submesh) -> Entry {
        let (low, high) = (submesh.lower_left(), submesh.upper_right());
        let lane = |value: u16, side: u32| u64::from(value) << (side * LANE_BITS);
        let from_high = |value: u16| VALUE_MAX as u16 - value;
        let lanes = lane(low.x, LEFT)
            | lane(low.y, BELOW)
            | lane(from_high(high.x), RIGHT)
            | lane(from_high(high.y), ABOVE);
        Entry(lanes | (AREA_MAX - u64::from(submesh.area())) << AREA_SHIFT)
    }
}

impl From<Entry> for Submesh {
    #[inline]
    fn from(entry: Entry) -> Submesh {
        let Sides { w, h } = entry.sides();
        Submesh::new(entry.lane(LEFT) as u16, entry.lane(BELOW) as u16, w, h)
    }
}

#[cfg(test)]
mod tests {
    use super::Entry;
    use crate::mesh::Submesh;

    /// Kim and Yoon 1995, section III.1, about Fig. 2: the reservation factors of three submeshes.
    #[test]
    fn reservation_factors_are_those_of_the_paper() {
        let s1 = Submesh::between(0, 0, 6, 4);
        let s2 = Submesh::between(4, 0, 6, 9);
        let s3 = Submesh::between(4, 5, 9, 7);
        for (taken, of, left) in [(s2, s1, 20), (s3, s2, 15), (s3, s1, 35), (s1, s3, 18)] {
            let of = Entry::from(of);
            assert_eq!(of.left_without(of.sides(), taken.into()), left);
        }
    }
}
