//! First come, first served: only the head of the queue may try.

use super::{Attempt, Event, Scheduler};
use crate::jobs::{Queue, Slot};
use crate::request::Ticks;

/// First come, first served.
///
/// An arrival tries only if no other job waits; after a departure the head tries, and each new head
/// after a success.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fcfs;

impl Scheduler for Fcfs {
    #[inline]
    fn first(&mut self, queue: &Queue<'_>, event: Event, _now: Ticks) -> Option<Slot> {
        let head = queue.head()?;
        match event {
            Event::Arrival(job) => (job == head).then_some(job),
            Event::Departure => Some(head),
        }
    }

    #[inline]
    fn next(&mut self, _queue: &Queue<'_>, attempt: Attempt, _now: Ticks) -> Option<Slot> {
        if attempt.granted {
            attempt.following
        } else {
            None
        }
    }
}
