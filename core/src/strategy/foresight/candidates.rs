//! The places among which a rule chooses: [`Candidates`].

use crate::grid::{Block, MESH_SIDE_MAX};
use crate::mesh::{Coord, Sides, Submesh};
use crate::request::Request;
use crate::word::{Word, low_half};

/// A place for the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where.
    pub place: Block,
    /// Its boundary value.
    pub contact: u32,
    /// Its score; the largest is chosen.
    pub score: u32,
}

/// How candidates are kept: a key for each place.
pub(super) trait Keys {
    /// A place.
    type Key: Copy + PartialEq;

    /// About how many instructions a comparison takes.
    const INSTRUCTIONS: u32;

    /// Whether the place is before another one.
    fn precedes(&self, one: Self::Key, other: Self::Key) -> bool;
}

/// Candidates, up to a number those of the largest contact.
#[derive(Debug)]
pub(super) struct Candidates<'a, K: Keys> {
    kind: K,
    /// Each once.
    keys: &'a mut [K::Key],
    contacts: &'a mut [Word],
    scores: &'a mut [Word],
    len: usize,
}

/// The sides of candidates: as requested and rotated, the lower first, or twice the same.
///
/// With them a candidate is a word, its key. Keys are in the order of the lower left corners of
/// their places, then of the upper right ones, rows first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shapes([Sides; 2]);

impl Shapes {
    pub(super) fn of(request: &Request) -> Shapes {
        let sides = request.sides();
        let other = request.orientations().last().unwrap_or(sides);
        Shapes(match sides.h < other.h {
            true => [sides, other],
            false => [other, sides],
        })
    }

    #[inline]
    pub(super) fn key(self, place: Submesh) -> Word {
        let Submesh { base, sides } = place;
        let is_higher = sides.h > self.0[0].h;
        Word::from(base.y) << KEY_ROW | Word::from(base.x) << 1 | Word::from(is_higher)
    }

    #[inline]
    pub(super) fn place(self, key: Word) -> Submesh {
        let x = key >> 1 & (Word::from(MESH_SIDE_MAX) - 1);
        Submesh {
            base: Coord::new(x as u16, (key >> KEY_ROW) as u16),
            sides: self.0[(key & 1) as usize],
        }
    }
}

/// Where the row begins in a key.
const KEY_ROW: u32 = 1 + MESH_SIDE_MAX.ilog2();

impl Keys for Shapes {
    type Key = Word;

    const INSTRUCTIONS: u32 = 100;

    #[inline]
    fn precedes(&self, one: Word, other: Word) -> bool {
        one < other
    }
}

impl<'a, K: Keys> Candidates<'a, K> {
    /// None yet; there is room for as many as the shortest of the slices has.
    pub(super) const fn new(
        kind: K,
        keys: &'a mut [K::Key],
        contacts: &'a mut [Word],
        scores: &'a mut [Word],
    ) -> Self {
        Candidates {
            kind,
            keys,
            contacts,
            scores,
            len: 0,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn kind(&self) -> &K {
        &self.kind
    }

    #[inline]
    pub(super) fn keys(&self) -> &[K::Key] {
        &self.keys[..self.len]
    }

    /// Adds a place unless it is a candidate already, or there are `most` candidates that are
    /// better: of larger contact, or of the same contact and first in order. `contact` gets the
    /// least contact that matters, and may return `None` for a smaller one.
    pub(super) fn consider(
        &mut self,
        key: K::Key,
        most: usize,
        contact: impl FnOnce(u32) -> Option<u32>,
    ) {
        if self.keys().contains(&key) {
            return;
        }
        let least = match self.len == most {
            true => low_half(self.contacts[most - 1]),
            false => 0,
        };
        let Some(contact) = contact(least) else {
            return;
        };
        let contact = Word::from(contact);
        let is_better = |candidates: &Self, other: usize| {
            let there = candidates.contacts[other];
            let precedes = || candidates.kind.precedes(key, candidates.keys[other]);
            contact > there || (contact == there && precedes())
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

    /// Puts them in order, with a score of 0.
    pub(super) fn sort(&mut self, spend: &dyn Fn(u32)) {
        self.scores[..self.len].fill(0);
        for len in 1..self.len {
            let mut at = len;
            while at > 0 && self.kind.precedes(self.keys[at], self.keys[at - 1]) {
                self.keys.swap(at, at - 1);
                self.contacts.swap(at, at - 1);
                at -= 1;
            }
            spend(100 + K::INSTRUCTIONS * (len - at) as u32);
        }
    }

    /// Adds to the score of each what it is worth, by its number.
    #[inline]
    pub(super) fn score(&mut self, weight: u32, value: impl Fn(usize) -> u32) {
        for (at, score) in self.scores[..self.len].iter_mut().enumerate() {
            *score += Word::from(weight * value(at));
        }
    }

    /// The one of the largest score; ties: of the largest contact, then the first.
    pub(super) fn best(&self) -> Option<K::Key> {
        let value = |at: usize| (self.scores[at], self.contacts[at]);
        let best = (0..self.len).reduce(|best, other| match value(other) > value(best) {
            true => other,
            false => best,
        });
        best.map(|best| self.keys[best])
    }
}
