//! The requests that fit, for each candidate and after departures: [`Fits`].

use super::candidates::Candidates;
use super::expected::{Expected, MASK_WORDS, Mask, value};
use crate::grid::Block;
use crate::word::Word;

/// For each state, and each candidate that is placed in it, the requests that fit. States are
/// numbered.
#[derive(Debug)]
pub(super) struct Fits<'a> {
    expected: &'a Expected,
    /// The tables of the expected requests.
    table: &'a [Mask],
    /// The masks: for each state, as many as there are candidates.
    masks: &'a mut [Mask],
    /// The requests that fit in state 0 whichever candidate is placed. They fit in every state.
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

    /// The value of the requests that fit in this state with this candidate.
    #[inline]
    pub(super) fn value(&self, state: usize, candidate: usize, candidates: usize) -> u32 {
        value(&self.masks[state * candidates + candidate])
    }

    /// Begins a state with all requests that fit in any of these states, which have been computed.
    /// Further requests are [added](Adding::free).
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

    /// Notes that state 0 is complete.
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
    /// Adds a box of these extents, which is free in the state before a candidate is placed. `left`
    /// returns, for each dimension, the length of the longest arc that a candidate leaves of the
    /// box; `None` if they do not overlap. The rest of the box is as long as the box in all other
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
