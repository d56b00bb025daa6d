//! First come, first served (FCFS): only the head of the queue may try.

use super::{Attempt, Scheduler, Trigger, Try, World};
use crate::strategy::Strategy;

/// First come, first served.
///
/// An arrival tries only if it is the head: no other job waits, or it goes before all others by its
/// priority. After a departure the head tries; after each success the next head tries.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fcfs;

impl Scheduler for Fcfs {
    #[inline]
    fn first<S: Strategy>(
        &mut self,
        world: &mut World<'_, '_, S>,
        trigger: Trigger,
    ) -> Option<Try> {
        let head = world.queue().head()?;
        match trigger {
            Trigger::Arrival(job) => (job == head).then_some(Try::Freely(job)),
            Trigger::Departure => Some(Try::Freely(head)),
        }
    }

    #[inline]
    fn next<S: Strategy>(
        &mut self,
        _world: &mut World<'_, '_, S>,
        attempt: Attempt,
    ) -> Option<Try> {
        if attempt.outcome.is_ok() {
            attempt.following.map(Try::Freely)
        } else {
            None
        }
    }
}
