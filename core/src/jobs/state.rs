//! The job table in a checkpoint.

use serde::{Deserialize, Serialize};

use super::slot::State;
use super::{JobSlot, JobTable, Link, List, Reserved, Slot, index};
use crate::blocks::NONE;
use crate::checkpoint::{RestoreError, consistent};
use crate::request::{JobId, Request, Ticks};

/// What is saved of every job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SavedJob {
    slot: u32,
    id: JobId,
    pub(crate) request: Request,
    /// How long ago it was submitted.
    age: Ticks,
    attempts: u32,
    misses: u32,
}

#[allow(clippy::unnecessary_cast, reason = "links are shorter on the board")]
const fn number(slot: Slot) -> u32 {
    slot.0 as u32
}

impl JobTable<'_> {
    /// The running jobs in the order of their grants, each with the number of its grant.
    pub(crate) fn save_running(&self, clock: Ticks) -> impl Iterator<Item = (SavedJob, &JobSlot)> {
        self.save_list(&self.running, clock)
    }

    /// The waiting jobs in the order of their arrival.
    pub(crate) fn save_waiting(&self, clock: Ticks) -> impl Iterator<Item = (SavedJob, &JobSlot)> {
        self.save_list(&self.waiting, clock)
    }

    fn save_list(&self, list: &List, clock: Ticks) -> impl Iterator<Item = (SavedJob, &JobSlot)> {
        list.iter(self.slots).map(move |slot| {
            let job = self.get(slot);
            let saved = SavedJob {
                slot: number(slot),
                id: job.id,
                request: job.request,
                age: clock.saturating_sub(job.submitted),
                attempts: job.attempts,
                misses: job.misses,
            };
            (saved, job)
        })
    }

    /// A job as it is saved when it has become as old and was tried as often; in the last slot, whose number is the longest.
    pub(crate) const fn longest(
        &self,
        id: JobId,
        request: Request,
        age: Ticks,
        tries: u32,
    ) -> SavedJob {
        SavedJob {
            slot: self.slots.len() as u32,
            id,
            request,
            age,
            attempts: tries,
            misses: tries,
        }
    }

    /// The slots that were given back, in the order in which they are used again.
    pub(crate) fn save_free(&self) -> impl Iterator<Item = u32> {
        let free = List {
            head: self.free,
            ..List::EMPTY
        };
        free.iter(self.slots).map(number)
    }

    /// An empty table in which jobs can be put into any slot.
    pub(crate) fn begin_restoring(&mut self) {
        self.clear();
        self.slots.fill(JobSlot::EMPTY);
    }

    /// A slot that was not named before; all up to it count as used.
    fn restore_slot(&mut self, slot: u32) -> Result<Link, RestoreError> {
        let entry = self.slots.get(slot as usize).ok_or(RestoreError::NoRoom)?;
        // A slot in the chain of free ones has no predecessor.
        consistent(entry.is_free() && entry.prev != NONE)?;
        self.fresh = self.fresh.max(slot as usize + 1);
        Ok(slot as Link)
    }

    /// Puts a job at the end of the wait queue, in the slot that it had, with what is reserved for it.
    pub(crate) fn restore(
        &mut self,
        saved: &SavedJob,
        demand: u32,
        clock: Ticks,
        (from, reserved): (Ticks, Reserved),
    ) -> Result<Slot, RestoreError> {
        let submitted = clock.checked_sub(saved.age);
        let submitted = submitted.ok_or(RestoreError::Inconsistent)?;
        let named = index::cell_of(self.index, self.slots, saved.id);
        let cell = named.err().ok_or(RestoreError::Inconsistent)?;
        let slot = self.restore_slot(saved.slot)?;
        let job = JobSlot {
            attempts: saved.attempts,
            misses: saved.misses,
            state: State::Waiting {
                demand,
                reserved,
                from,
            },
            ..JobSlot::waiting(saved.id, saved.request, demand, submitted)
        };
        self.reserved += u32::from(job.is_reserved_for());
        self.slots[slot as usize] = job;
        self.waiting.push_back(self.slots, slot);
        self.index[cell] = slot;
        Ok(Slot(slot))
    }

    /// Puts a slot at the end of the chain of free ones, the last of which is `last`.
    pub(crate) fn restore_free(
        &mut self,
        slot: u32,
        last: Option<Slot>,
    ) -> Result<Slot, RestoreError> {
        let slot = self.restore_slot(slot)?;
        (
            self.slots[slot as usize].prev,
            self.slots[slot as usize].next,
        ) = (NONE, NONE);
        match last {
            None => self.free = slot,
            Some(last) => self.slots[last.0 as usize].next = slot,
        }
        Ok(Slot(slot))
    }

    /// Whether every slot up to the last used one has a job or is in the chain of free ones, of which there are this many.
    pub(crate) const fn is_restored(&self, free: u32) -> bool {
        (self.waiting.len + self.running.len + free) as usize == self.fresh
    }
}
