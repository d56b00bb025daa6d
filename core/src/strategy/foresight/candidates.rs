//! The places among which a rule chooses: [`Candidates`].

use crate::grid::Block;
use crate::word::{Word, low_half};

/// A place for the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where.
    pub place: Block,
    /// The boundary value of the place.
    pub contact: u32,
    /// The score of the place. The candidate with the largest score is chosen.
    pub score: u32,
}

/// The candidates of the largest contact, up to a number.
#[derive(Debug)]
pub(super) struct Candidates<'a> {
    /// The key of each place, each once.
    keys: &'a mut [u64],
    contacts: &'a mut [Word],
    scores: &'a mut [Word],
    len: usize,
    /// The maximum number of candidates.
    most: usize,
}

/// The key of a place: in the order of the first nodes, then of the extents from the highest
/// dimension down, since the codes of both are ([`Block`]).
const fn key_of(place: Block) -> u64 {
    place.into_raw().rotate_left(32)
}

/// The place with this key.
pub(super) const fn place_of(key: u64) -> Block {
    Block::from_raw(key.rotate_left(32))
}

impl<'a> Candidates<'a> {
    /// An empty list with room for `most` candidates.
    pub(super) const fn new(
        keys: &'a mut [u64],
        contacts: &'a mut [Word],
        scores: &'a mut [Word],
        most: usize,
    ) -> Self {
        Candidates {
            keys,
            contacts,
            scores,
            len: 0,
            most,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn places(&self) -> impl Iterator<Item = Block> {
        self.keys[..self.len].iter().map(|&key| place_of(key))
    }

    /// Adds a place unless it is a candidate already, or the list is full of better places: of
    /// larger contact, or of the same contact and earlier in order. `contact` gets the least
    /// contact that matters, and may return `None` for a smaller one.
    pub(super) fn consider(&mut self, place: Block, contact: impl FnOnce(u32) -> Option<u32>) {
        let (key, most) = (key_of(place), self.most);
        if self.keys[..self.len].contains(&key) {
            return;
        }
        let least = if self.len == most {
            low_half(self.contacts[most - 1])
        } else {
            0
        };
        let Some(contact) = contact(least) else {
            return;
        };
        let contact = Word::from(contact);
        let is_better = |candidates: &Self, other: usize| {
            let there = candidates.contacts[other];
            contact > there || (contact == there && key < candidates.keys[other])
        };
        if self.len == most {
            if !is_better(self, most - 1) {
                return;
            }
            self.len -= 1;
        }
        let mut at = self.len;
        while at > 0 && is_better(self, at - 1) {
            self.keys[at] = self.keys[at - 1];
            self.contacts[at] = self.contacts[at - 1];
            at -= 1;
        }
        self.keys[at] = key;
        self.contacts[at] = contact;
        self.len += 1;
    }

    /// Puts the candidates in order, with a score of 0.
    pub(super) fn sort(&mut self, poll: &dyn Fn()) {
        self.scores[..self.len].fill(0);
        for len in 1..self.len {
            let mut at = len;
            while at > 0 && self.keys[at] < self.keys[at - 1] {
                self.keys.swap(at, at - 1);
                self.contacts.swap(at, at - 1);
                at -= 1;
            }
            poll();
        }
    }

    /// Adds `weight` times the value of each candidate, by its number, to its score.
    #[inline]
    pub(super) fn score(&mut self, weight: u32, value: impl Fn(usize) -> u32) {
        for (at, score) in self.scores[..self.len].iter_mut().enumerate() {
            *score += Word::from(weight * value(at));
        }
    }

    /// The candidate of the largest score; ties: the largest contact, then the first.
    pub(super) fn best(&self) -> Option<Block> {
        let value = |at: usize| (self.scores[at], self.contacts[at]);
        let best = (0..self.len).reduce(|best, other| {
            if value(other) > value(best) {
                other
            } else {
                best
            }
        });
        best.map(|best| place_of(self.keys[best]))
    }
}
