//! The requests that are expected: [`Expected`].

use crate::grid::{Grid, Shape, Tuple, sort_descending};
use crate::search::shapes::padded;
use crate::word::{WORD_BITS, Word};

/// How many of the latest requests are remembered.
const RECENT: usize = 64;

/// How many waiting requests are looked at.
pub(super) const WAITING: usize = 8;

/// The value of each waiting request that fits, in the order of the queue. A recent request that
/// fits has the value 1.
const WAITING_VALUES: [u32; WAITING] = [128, 90, 63, 44, 31, 22, 15, 11];

/// The words of the recent requests in a [`Mask`].
const RECENT_WORDS: usize = RECENT / WORD_BITS as usize;

/// The words of a [`Mask`]: those of the recent requests, and one for the waiting requests.
pub(super) const MASK_WORDS: usize = RECENT_WORDS + 1;

/// A set of expected requests: a bit for each.
pub(super) type Mask = [Word; MASK_WORDS];

/// A shape, and whether it may be rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "restore", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Wanted {
    pub(super) shape: Shape,
    pub(super) may_rotate: bool,
}

/// The requests that arrived lately, and the first of the waiting ones.
///
/// A rotated request fits into a box exactly if its longest extent is not longer than the box's
/// longest, its second longest not longer than the second longest, and so on. So the table of a
/// dimension is about the extents of that rank for requests that may be rotated, and about the
/// extents along it for the others. A table has a mask for each length: the requests whose extents
/// are not longer.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) grid: Grid,
    /// The longest length in the tables.
    longest: u16,
    /// First the recent requests, as a ring, then the waiting ones.
    wanted: [Option<Wanted>; RECENT + WAITING],
    /// The place in the ring of the next request.
    next: usize,
    /// The requests that keep their orientation.
    kept: Mask,
}

/// The longest side. A table has the lengths from 0 to this one.
const fn longest(grid: &Grid) -> u16 {
    let (mut longest, mut dimension) = (0, 0);
    while dimension < grid.dimensions() {
        if grid.side(dimension) > longest {
            longest = grid.side(dimension);
        }
        dimension += 1;
    }
    longest
}

impl Expected {
    pub(super) const fn new(grid: Grid) -> Expected {
        Expected {
            longest: longest(&grid),
            grid,
            wanted: [None; _],
            next: 0,
            kept: [0; _],
        }
    }

    /// The words of the tables.
    pub(super) const fn words(grid: &Grid) -> usize {
        grid.dimensions() * (longest(grid) as usize + 1) * MASK_WORDS
    }

    /// Begins with requests that stand for any others: all combinations of parts of each side. The
    /// number of parts of a side is such that there are at most 64 requests: eighths in two
    /// dimensions, quarters in three, halves from four on. No request waits.
    pub(super) fn begin(&mut self, table: &mut [Mask]) {
        self.wanted = [None; _];
        self.next = 0;
        self.kept = [0; _];
        table.fill([0; MASK_WORDS]);
        let dimensions = self.grid.dimensions() as u32;
        let is_within =
            |parts: &usize| parts.checked_pow(dimensions).is_some_and(|it| it <= RECENT);
        let parts = (2..=RECENT).rev().find(is_within).unwrap_or(2);
        for at in 0..RECENT {
            let mut rest = at;
            let extents = Tuple::new(self.grid.dimensions(), |dimension| {
                let digit = rest % parts;
                rest /= parts;
                let side = usize::from(self.grid.side(dimension));
                ((digit + 1) * side / parts).max(1) as u16
            });
            // No extent is longer than its side, so the extents are a shape.
            let wanted = Shape::new(&extents).ok().map(|shape| Wanted {
                shape,
                may_rotate: true,
            });
            self.set(at, wanted, table);
        }
    }

    /// Notes a request that has arrived; the oldest is forgotten.
    pub(super) fn arrived(&mut self, wanted: Wanted, table: &mut [Mask]) {
        self.set(self.next, Some(wanted), table);
        self.next = (self.next + 1) % RECENT;
    }

    /// The recent requests, the oldest first. Only this order matters, not where in the ring a
    /// request is.
    pub(super) fn recent(&self) -> impl Iterator<Item = Wanted> {
        let (later, earlier) = self.wanted[..RECENT].split_at(self.next);
        earlier.iter().chain(later).copied().flatten()
    }

    /// Notes the first requests that wait. Further requests may wait behind them.
    pub(super) fn wait(&mut self, waiting: [Option<Wanted>; WAITING], table: &mut [Mask]) {
        for (at, wanted) in (RECENT..).zip(waiting) {
            self.set(at, wanted, table);
        }
    }

    /// For each table, the least length that a request fits into; 0 if there is no request.
    fn lengths(&self, wanted: Option<Wanted>) -> Tuple {
        match wanted {
            None => Tuple::new(self.grid.dimensions(), |_| 0),
            Some(wanted) => {
                let extents = padded(&self.grid, wanted.shape);
                if wanted.may_rotate {
                    extents.descending()
                } else {
                    extents
                }
            }
        }
    }

    /// Stores an expected request in a place.
    fn set(&mut self, at: usize, wanted: Option<Wanted>, table: &mut [Mask]) {
        let before = core::mem::replace(&mut self.wanted[at], wanted);
        if before == wanted {
            return;
        }
        let (word, bit) = (at / WORD_BITS as usize, 1 << (at % WORD_BITS as usize));
        if wanted.is_some_and(|wanted| !wanted.may_rotate) {
            self.kept[word] |= bit;
        } else {
            self.kept[word] &= !bit;
        }
        let (old, new) = (self.lengths(before), self.lengths(wanted));
        let len = usize::from(self.longest) + 1;
        for (lengths, (&old, &new)) in table.chunks_exact_mut(len).zip(old.iter().zip(&*new)) {
            // Without a request no length has its bit, not even the longest.
            let from =
                |of: Option<Wanted>, length| of.map_or(len, |_| len.min(usize::from(length)));
            let (old, new) = (from(before, old), from(wanted, new));
            // Only the lengths in between are different.
            for mask in &mut lengths[old.min(new)..old.max(new)] {
                mask[word] ^= bit;
            }
        }
    }

    /// The requests that fit into a free box of these extents, with zeros behind them if the grid
    /// has fewer than `D` dimensions.
    #[inline]
    pub(super) fn fitting<const D: usize>(&self, extents: &[u16; D], table: &[Mask]) -> Mask {
        let len = usize::from(self.longest) + 1;
        let within = |extents: &[u16; D]| {
            let mut mask = [Word::MAX; MASK_WORDS];
            for (dimension, &extent) in extents.iter().enumerate() {
                // The zeros have no table.
                let Some(other) = table.get(dimension * len + usize::from(extent)) else {
                    break;
                };
                mask = core::array::from_fn(|word| mask[word] & other[word]);
            }
            mask
        };
        // The zeros stay behind.
        let mut sorted = *extents;
        sort_descending(&mut sorted);
        let rotated = within(&sorted);
        if self.kept == [0; MASK_WORDS] {
            return rotated;
        }
        let named = within(extents);
        core::array::from_fn(|word| {
            named[word] & self.kept[word] | rotated[word] & !self.kept[word]
        })
    }
}

/// The value of these requests, which fit.
#[inline]
pub(super) fn value(fitting: &Mask) -> u32 {
    let recent = fitting[..RECENT_WORDS].iter();
    let mut value = recent.map(|word| word.count_ones()).sum();
    let mut waiting = fitting[RECENT_WORDS];
    while waiting != 0 {
        value += WAITING_VALUES[waiting.trailing_zeros() as usize % WAITING];
        waiting &= waiting - 1;
    }
    value
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn requests_fit_at_the_longest_side_there_can_be() {
        for side in [9, u16::MAX] {
            let grid = Grid::torus(&[side]).unwrap();
            let mut expected = Expected::new(grid);
            let mut words = std::vec![0; Expected::words(&grid)];
            let table = words.as_chunks_mut().0;
            expected.begin(table);
            let fitting = expected.fitting(&[side], table);
            let recent = fitting.iter().map(|word| word.count_ones());
            assert_eq!(recent.sum::<u32>(), RECENT as u32, "{side}");
        }
    }
}
