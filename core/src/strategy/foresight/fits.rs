//! Which requests fit, for each candidate and after departures: [`Fits`].

use super::expected::{Expected, MASK_WORDS, Mask, Within, value};
use crate::mesh::Submesh;
use crate::word::Word;

/// For each state, and each candidate that is placed in it, the requests that fit. A state is known
/// by a number.
#[derive(Debug)]
pub(super) struct Fits<'a, E> {
    /// The expected requests and their table.
    pub(super) expected: E,
    /// As many for each state as there are candidates.
    masks: &'a mut [Mask],
    /// Requests that fit in state 0 whichever candidate is placed, and so in every state.
    always: Mask,
}

impl<'a, E> Fits<'a, E> {
    pub(super) const fn new(expected: E, masks: &'a mut [Mask]) -> Self {
        Fits {
            expected,
            masks,
            always: [0; MASK_WORDS],
        }
    }

    /// What it is worth that these requests fit.
    #[inline]
    pub(super) fn value(&self, state: usize, candidate: usize, candidates: usize) -> u32 {
        value(&self.masks[state * candidates + candidate])
    }

    /// In the state fits what fits in any of these states, which have been computed.
    pub(super) fn begin(&mut self, state: usize, from: &[usize], candidates: usize) {
        for at in 0..candidates {
            let mut mask = [0; MASK_WORDS];
            for from in from {
                mask = or(mask, &self.masks[from * candidates + at]);
            }
            self.masks[state * candidates + at] = mask;
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

    /// The requests that fit in a state for each candidate, unless all of `whole` fit anyway.
    #[inline]
    pub(super) fn open(
        &mut self,
        whole: &Mask,
        state: usize,
        candidates: usize,
    ) -> Option<&mut [Mask]> {
        match is_within(whole, &self.always) {
            true => None,
            false => Some(&mut self.masks[state * candidates..][..candidates]),
        }
    }
}

impl Fits<'_, (&Expected, &[Within])> {
    /// In the state this submesh is free, but for the candidate that is placed.
    #[inline]
    pub(super) fn add(
        &mut self,
        state: usize,
        free: Submesh,
        candidates: impl ExactSizeIterator<Item = Submesh>,
    ) {
        let (expected, table) = self.expected;
        let whole = expected.fitting(free.sides, table);
        let Some(masks) = self.open(&whole, state, candidates.len()) else {
            return;
        };
        for (mask, candidate) in masks.iter_mut().zip(candidates) {
            if !free.overlaps(candidate) {
                *mask = or(*mask, &whole);
            } else if !is_within(&whole, mask) {
                for piece in free.around(candidate).into_iter().flatten() {
                    *mask = or(*mask, &expected.fitting(piece.sides, table));
                }
            }
        }
    }
}

#[inline]
pub(super) fn or(mut mask: Mask, other: &Mask) -> Mask {
    for (word, other) in mask.iter_mut().zip(other) {
        *word |= other;
    }
    mask
}

#[inline]
pub(super) fn is_within(inner: &Mask, outer: &Mask) -> bool {
    let mut words = inner.iter().zip(outer);
    words.all(|(inner, outer)| inner & !outer == 0)
}
