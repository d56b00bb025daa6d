//! Which requests fit, for each candidate and after departures: [`Fits`].

use super::expected::{Expected, MASK_WORDS, Mask, Within, value};
use crate::mesh::Submesh;
use crate::word::Word;

/// For each state, and each candidate that is placed in it, the requests that fit. A state is known
/// by a number.
#[derive(Debug)]
pub(super) struct Fits<'a> {
    expected: &'a Expected,
    table: &'a [Within],
    /// As many for each state as there are candidates.
    masks: &'a mut [Mask],
    /// Requests that fit in state 0 whichever candidate is placed, and so in every state.
    always: Mask,
}

impl<'a> Fits<'a> {
    pub(super) const fn new(
        expected: &'a Expected,
        table: &'a [Within],
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

    /// In the state this submesh is free, but for the candidate that is placed.
    #[inline]
    pub(super) fn add(
        &mut self,
        state: usize,
        free: Submesh,
        candidates: impl ExactSizeIterator<Item = Submesh>,
    ) {
        let whole = self.expected.fitting(free.sides, self.table);
        if is_within(&whole, &self.always) {
            return;
        }
        let masks = &mut self.masks[state * candidates.len()..][..candidates.len()];
        for (mask, candidate) in masks.iter_mut().zip(candidates) {
            if !free.overlaps(candidate) {
                *mask = or(*mask, &whole);
            } else if !is_within(&whole, mask) {
                for piece in free.around(candidate).into_iter().flatten() {
                    *mask = or(*mask, &self.expected.fitting(piece.sides, self.table));
                }
            }
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

#[inline]
fn or(mut mask: Mask, other: &Mask) -> Mask {
    for (word, other) in mask.iter_mut().zip(other) {
        *word |= other;
    }
    mask
}

#[inline]
fn is_within(inner: &Mask, outer: &Mask) -> bool {
    let mut words = inner.iter().zip(outer);
    words.all(|(inner, outer)| inner & !outer == 0)
}
