//! Which requests fit, for each candidate and after departures: [`Fits`].

use super::candidates::Candidates;
use super::expected::{Expected, MASK_WORDS, Mask, value};
use crate::grid::Block;
use crate::word::Word;

/// For each state, and each candidate that is placed in it, the requests that fit. A state is known
/// by a number.
#[derive(Debug)]
pub(super) struct Fits<'a> {
    expected: &'a Expected,
    /// Their tables.
    table: &'a [Mask],
    /// As many for each state as there are candidates.
    masks: &'a mut [Mask],
    /// Requests that fit in state 0 whichever candidate is placed, and so in every state.
    always: Mask,
}

impl<'a> Fits<'a> {
    pub(super) const fn new(
        expected: &'a Expected,
        table: &'a [Mask],
        masks: &'a mut [Mask],
    ) -> Self {
        Fits {
            expected,
            table,
            masks,
            always: [0; MASK_WORDS],
        }
    }

    /// What it is worth that these requests fit.
    #[inline]
    pub(super) fn value(&self, state: usize, candidate: usize, candidates: usize) -> u32 {
        value(&self.masks[state * candidates + candidate])
    }

    /// In the state fits what fits in any of these states, which have been computed. More is
    /// [added](Adding::free).
    pub(super) fn begin<'f>(
        &'f mut self,
        state: usize,
        from: &[usize],
        candidates: &'f Candidates<'a>,
    ) -> Adding<'f, 'a> {
        let count = candidates.len();
        for at in 0..count {
            let mut mask = [0; MASK_WORDS];
            for from in from {
                or(&mut mask, &self.masks[from * count + at]);
            }
            self.masks[state * count + at] = mask;
        }
        Adding {
            fits: self,
            first: state * count,
            candidates,
        }
    }

    /// State 0 is complete.
    pub(super) fn settle(&mut self, candidates: usize) {
        let masks = self.masks[..candidates].iter();
        let all = [Word::MAX; MASK_WORDS];
        self.always = masks.fold(all, |all, mask| {
            core::array::from_fn(|word| all[word] & mask[word])
        });
    }
}

/// A state to which free boxes are added.
pub(super) struct Adding<'f, 'a> {
    fits: &'f mut Fits<'a>,
    /// The first mask of the state.
    first: usize,
    candidates: &'f Candidates<'a>,
}

impl Adding<'_, '_> {
    /// In the state a box of these extents is free, but for the candidate that is placed. `left`
    /// returns how long the longest arc is, along each dimension, that a candidate leaves of the
    /// box; `None` if they do not overlap. What is left is as long as the box in all other
    /// dimensions. Zeros stand for dimensions that the grid does not have.
    #[inline]
    pub(super) fn free<const D: usize>(
        &mut self,
        extents: [u16; D],
        left: impl Fn(Block) -> Option<[u16; D]>,
    ) {
        let Fits {
            expected,
            table,
            masks,
            always,
        } = &mut *self.fits;
        let whole = expected.fitting(&extents, table);
        if is_within(&whole, always) {
            return;
        }
        for (place, mask) in self.candidates.places().zip(&mut masks[self.first..]) {
            if is_within(&whole, mask) {
                continue;
            }
            let Some(left) = left(place) else {
                or(mask, &whole);
                continue;
            };
            for (dimension, &left) in left.iter().enumerate().filter(|&(_, &left)| left > 0) {
                let mut extents = extents;
                extents[dimension] = left;
                or(mask, &expected.fitting(&extents, table));
            }
        }
    }
}

#[inline]
fn or(mask: &mut Mask, other: &Mask) {
    for (word, other) in mask.iter_mut().zip(other) {
        *word |= other;
    }
}

#[inline]
fn is_within(inner: &Mask, outer: &Mask) -> bool {
    let mut words = inner.iter().zip(outer);
    words.all(|(inner, outer)| inner & !outer == 0)
}
