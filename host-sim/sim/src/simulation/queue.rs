//! The jobs that are kept or wait, in the order of the queue.

use std::collections::VecDeque;

/// A place in the order of the queue: the time that counts as the job's beginning in the queue
/// ([`Class::since`](meshalloc::Class::since)), and a number that orders jobs of the same time.
pub(super) type Place = (i128, u64);

/// Places, ascending, with the numbers of their jobs.
#[derive(Default)]
pub(super) struct Queue(VecDeque<(Place, u32)>);

impl Queue {
    /// A job joins at its place, which is the end unless it has a priority or was there before.
    #[inline]
    pub(super) fn join(&mut self, place: Place, number: u32) {
        match self.0.back() {
            Some(&(last, _)) if place < last => {
                let before = self.0.partition_point(|&(other, _)| other < place);
                self.0.insert(before, (place, number));
            }
            _ => self.0.push_back((place, number)),
        }
    }

    /// The job at this place leaves, in most cases the first.
    #[inline]
    pub(super) fn leave(&mut self, place: Place) {
        if self.0.front().is_some_and(|&(first, _)| first == place) {
            self.0.pop_front();
        } else if let Ok(at) = self.0.binary_search_by_key(&place, |&(other, _)| other) {
            self.0.remove(at);
        }
    }

    /// All, from the first on.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|&(_, number)| number)
    }

    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        self.0.front().map(|&(_, number)| number)
    }
}
