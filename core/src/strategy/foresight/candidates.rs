//! The places among which is chosen: [`Candidates`].

use crate::mesh::Submesh;
use crate::word::{Word, low_half};

/// A place for the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where.
    pub place: Submesh,
    /// Its boundary value.
    pub contact: u32,
    /// Its score; the largest is chosen.
    pub score: u32,
}

/// Candidates, up to a number those of the largest contact.
#[derive(Debug)]
pub(super) struct Candidates<'a> {
    /// Each once.
    places: &'a mut [u64],
    contacts: &'a mut [Word],
    scores: &'a mut [Word],
    len: usize,
}

/// What candidates are ordered by: the lower left corner, then the upper right.
#[inline]
fn order(place: Submesh) -> [u16; 4] {
    let (low, high) = (place.lower_left(), place.upper_right());
    [low.y, low.x, high.y, high.x]
}

impl<'a> Candidates<'a> {
    /// None yet; there is room for as many as the shortest of the slices has.
    pub(super) fn new(
        places: &'a mut [u64],
        contacts: &'a mut [Word],
        scores: &'a mut [Word],
    ) -> Self {
        Candidates {
            places,
            contacts,
            scores,
            len: 0,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn places(&self) -> impl ExactSizeIterator<Item = Submesh> + '_ {
        let places = self.places[..self.len].iter();
        places.map(|&place| Submesh::from_bits(place))
    }

    #[inline]
    fn place(&self, at: usize) -> Submesh {
        Submesh::from_bits(self.places[at])
    }

    /// Adds a place unless it is there, or `most` are there that are better: of larger contact, or of the same and first in order.
    pub(super) fn consider(
        &mut self,
        place: Submesh,
        most: usize,
        contact: impl FnOnce(Submesh) -> u32,
    ) {
        if self.places[..self.len].contains(&place.to_bits()) {
            return;
        }
        let contact = Word::from(contact(place));
        let is_better = |candidates: &Self, other: usize| {
            let (there, other) = (candidates.contacts[other], candidates.place(other));
            contact > there || (contact == there && order(place) < order(other))
        };
        if self.len == most {
            if !is_better(self, most - 1) {
                return;
            }
            self.len -= 1;
        }
        let mut at = self.len;
        while at > 0 && is_better(self, at - 1) {
            self.places[at] = self.places[at - 1];
            self.contacts[at] = self.contacts[at - 1];
            at -= 1;
        }
        self.places[at] = place.to_bits();
        self.contacts[at] = contact;
        self.len += 1;
    }

    /// Puts them in order, with a score of 0.
    pub(super) fn sort(&mut self, worked: &mut dyn FnMut(u32)) {
        self.scores[..self.len].fill(0);
        for len in 1..self.len {
            let mut at = len;
            while at > 0 && order(self.place(at)) < order(self.place(at - 1)) {
                self.places.swap(at, at - 1);
                self.contacts.swap(at, at - 1);
                at -= 1;
            }
            worked(100 + 100 * (len - at) as u32);
        }
    }

    /// Adds to the score of each what it is worth, by its number.
    #[inline]
    pub(super) fn score(&mut self, weight: u32, value: impl Fn(usize) -> u32) {
        for (at, score) in self.scores[..self.len].iter_mut().enumerate() {
            *score += Word::from(weight * value(at));
        }
    }

    fn get(&self, at: usize) -> Candidate {
        Candidate {
            place: self.place(at),
            contact: low_half(self.contacts[at]),
            score: low_half(self.scores[at]),
        }
    }

    /// The one of the largest score; ties: of the largest contact, then the first.
    pub(super) fn best(&self) -> Option<Submesh> {
        let key = |candidate: &Candidate| (candidate.score, candidate.contact);
        let mut all = (0..self.len).map(|at| self.get(at));
        let best = all.next()?;
        let best = all.fold(best, |best, other| match key(&other) > key(&best) {
            true => other,
            false => best,
        });
        Some(best.place)
    }
}
