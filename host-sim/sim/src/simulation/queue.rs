//! The jobs that are kept or wait, in the order of the queue.

use std::collections::VecDeque;

/// Places, ascending, with the numbers of their jobs.
#[derive(Default)]
pub(super) struct Queue(VecDeque<(u64, u32)>);

impl Queue {
    /// A job joins at its place.
    #[inline]
    pub(super) fn join(&mut self, place: u64, number: u32) {
        let before = self.0.partition_point(|&(other, _)| other < place);
        self.0.insert(before, (place, number));
    }

    /// The job at this place leaves.
    #[inline]
    pub(super) fn leave(&mut self, place: u64) {
        if let Ok(at) = self.0.binary_search_by_key(&place, |&(other, _)| other) {
            self.0.remove(at);
        }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        self.0.front().map(|&(_, number)| number)
    }
}
