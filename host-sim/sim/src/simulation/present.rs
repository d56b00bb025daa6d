//! The jobs that are present, by number.

use std::collections::{BTreeMap, VecDeque};

use meshalloc::Block;

use super::queue::Place;
use super::record::{Record, Stage};
use crate::workload::Job;

/// The least number of jobs in a window.
const WINDOW_MIN: usize = 1024;

/// Jobs that have arrived and not left. The latest jobs are in a window, in order of arrival. When
/// most jobs of the window have left, the oldest jobs that remain are set aside. So memory is in
/// proportion to the jobs that are present at once, even if one of them stays very long.
#[derive(Default)]
pub(super) struct Present {
    /// `window[0]` is job number `first`. A job that has left stays in the window until no earlier
    /// job is in it. The window has at most [`Present::window_max`] jobs.
    window: VecDeque<Record>,
    first: u32,
    /// The number of jobs in the window that have not left.
    in_window: usize,
    /// The jobs that arrived before those of the window and have not left.
    aside: BTreeMap<u32, Record>,
    /// Memory of departed jobs for the blocks of new ones, so that few jobs allocate memory.
    unused: Vec<Vec<Block>>,
}

impl Present {
    /// The next job arrives, at this place of the queue.
    #[inline]
    pub(super) fn push(&mut self, job: Job, wants: u32, place: Place) {
        self.in_window += 1;
        let mut blocks = self.unused.pop().unwrap_or_default();
        blocks.clear();
        self.window
            .push_back(Record::new(job, wants, place, blocks));
    }

    /// A job by its number; `None` if it has left for good or not arrived.
    #[inline]
    pub(super) fn get(&mut self, number: u32) -> Option<&mut Record> {
        match number.checked_sub(self.first) {
            Some(place) => self.window.get_mut(place as usize),
            None => self.get_aside(number),
        }
    }

    #[cold]
    fn get_aside(&mut self, number: u32) -> Option<&mut Record> {
        self.aside.get_mut(&number)
    }

    /// A job that has not left, by its number.
    #[inline]
    pub(super) fn here(&mut self, number: u32) -> &mut Record {
        self.get(number).expect("a job that has not left is here")
    }

    /// Removes a job whose stage is [`Stage::Gone`].
    #[inline]
    pub(super) fn remove(&mut self, number: u32) {
        if number < self.first {
            self.remove_aside(number);
            return;
        }
        self.in_window -= 1;
        self.forget_gone();
        if self.window.len() > self.window_max() {
            self.set_aside();
        }
    }

    #[inline]
    fn forget_gone(&mut self) {
        while let Some(record) = self.window.front_mut() {
            if record.stage != Stage::Gone {
                break;
            }
            self.unused.push(std::mem::take(&mut record.blocks));
            self.window.pop_front();
            self.first += 1;
        }
    }

    #[cold]
    fn remove_aside(&mut self, number: u32) {
        self.aside.remove(&number);
    }

    /// Shortens the window.
    #[cold]
    fn set_aside(&mut self) {
        while self.window.len() > self.window_max() {
            let first = self.window.pop_front();
            let first = first.expect("it is longer than that");
            self.aside.insert(self.first, first);
            self.first += 1;
            self.in_window -= 1;
            self.forget_gone();
        }
    }

    /// All jobs that have not left, in order of arrival.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Record)> {
        let aside = self.aside.iter().map(|(&number, record)| (number, record));
        let window = (self.first..).zip(&self.window);
        aside.chain(window.filter(|(_, record)| record.stage != Stage::Gone))
    }

    const fn window_max(&self) -> usize {
        4 * self.in_window + WINDOW_MIN
    }

    /// How many records are kept.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.window.len() + self.aside.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use meshalloc::Request;

    use super::*;
    use crate::workload::Work;

    fn job(number: u32) -> Job {
        Job {
            arrival: number.into(),
            request: Request::submesh(1, 1),
            work: Work::Service(1),
        }
    }

    fn leave(present: &mut Present, number: u32) {
        present.here(number).stage = Stage::Gone;
        present.remove(number);
    }

    fn numbers(present: &Present) -> Vec<u32> {
        let check = |(number, record): (u32, &Record)| {
            assert_eq!(record.job.arrival, u64::from(number));
            number
        };
        present.iter().map(check).collect()
    }

    #[test]
    fn memory_follows_the_jobs_that_are_there() {
        let mut present = Present::default();
        // Every 1,000th job stays.
        for number in 0..100_000 {
            present.push(job(number), 1, (0, number.into()));
            if number % 1_000 != 0 {
                leave(&mut present, number);
            }
            let there = number as usize / 1_000 + 1;
            assert!(present.len() <= 5 * there + WINDOW_MIN, "{}", present.len());
        }
        let stay: Vec<u32> = (0..100_000).step_by(1_000).collect();
        assert_eq!(numbers(&present), stay);
        assert_eq!(present.window.len(), present.in_window + 999);
        for number in stay {
            assert_eq!(present.here(number).job, job(number));
            leave(&mut present, number);
        }
        assert_eq!((present.len(), present.in_window), (0, 0));
    }

    /// Compared with a set of numbers, for jobs that leave in any order.
    #[test]
    fn jobs_are_found_wherever_they_are() {
        let mut present = Present::default();
        let mut there = BTreeSet::new();
        let mut draw = 1_u64;
        for number in 0..20_000_u32 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            present.push(job(number), 1, (0, number.into()));
            there.insert(number);
            // Old ones seldom, others soon.
            let leaves = match (draw >> 40) % 64 {
                0 => there.first().copied(),
                1..60 => there.range(number.saturating_sub(40)..).next().copied(),
                _ => None,
            };
            if let Some(leaves) = leaves {
                leave(&mut present, leaves);
                there.remove(&leaves);
            }
            let some = (draw >> 20) as u32 % (number + 1);
            let found = present.get(some).is_some_and(|it| it.stage != Stage::Gone);
            assert_eq!(found, there.contains(&some), "{some} of {number}");
        }
        assert!(present.aside.len() > 10, "{}", present.aside.len());
        assert_eq!(numbers(&present), Vec::from_iter(there));
        assert!(present.get(20_000).is_none());
    }
}
