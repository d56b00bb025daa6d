//! Saves the job table to a checkpoint and restores it.

use serde::{Deserialize, Serialize};

use super::slot::State;
use super::{JobSlot, JobTable, Link, List, Reserved, Slot, index};
use crate::checkpoint::{RestoreError, consistent};
use crate::job_id::JobId;
use crate::pool::NONE;
use crate::request::{Request, Ticks};

/// The saved fields of a job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SavedJob {
    slot: u32,
    id: JobId,
    pub(crate) request: Request,
    /// The time since its submission.
    age: Ticks,
    attempts: u32,
    misses: u32,
}

#[allow(clippy::unnecessary_cast, reason = "links are shorter on the board")]
const fn number(slot: Slot) -> u32 {
    slot.0 as u32
}

impl JobTable<'_> {
    /// The running jobs in the order of their grants.
    pub(crate) fn save_running(&self, clock: Ticks) -> impl Iterator<Item = (SavedJob, &JobSlot)> {
        self.save_list(&self.running, clock)
    }

    /// The waiting jobs in the order of the queue.
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

    /// Every job with a lease, and the end of the lease.
    pub(crate) fn save_leases(&self) -> impl Iterator<Item = (JobId, Ticks)> + '_ {
        let jobs = self.slots[..self.fresh].iter();
        jobs.filter_map(|job| Some((job.id, job.lease_ends()?)))
    }

    /// A saved job with this age and number of tries, in the slot whose number has the longest
    /// encoding. The length of its item is a bound for all jobs.
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

    /// The free slots, in the order of their reuse.
    pub(crate) fn save_free(&self) -> impl Iterator<Item = u32> {
        let free = List {
            head: self.free,
            ..List::EMPTY
        };
        free.iter(self.slots).map(number)
    }

    /// Empties the table, so that jobs can be restored into any slot.
    pub(crate) fn begin_restoring(&mut self) {
        self.clear();
        self.slots.fill(JobSlot::EMPTY);
    }

    /// Takes a slot that was not restored before. From then on, all slots up to this one count as
    /// used.
    fn restore_slot(&mut self, slot: u32) -> Result<Link, RestoreError> {
        let entry = self.slots.get(slot as usize).ok_or(RestoreError::NoRoom)?;
        // A slot in the chain of free ones has no predecessor.
        consistent(entry.is_free() && entry.prev != NONE)?;
        self.fresh = self.fresh.max(slot as usize + 1);
        Ok(slot as Link)
    }

    /// Puts a job at the end of the wait queue, in its old slot and with its reservation.
    pub(crate) fn restore(
        &mut self,
        saved: &SavedJob,
        demand: u32,
        clock: Ticks,
        (from, reserved): (Ticks, Reserved),
        has_run: bool,
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
                has_run,
            },
            ..JobSlot::waiting(saved.id, saved.request, demand, submitted)
        };
        self.reserved += u32::from(job.is_reserved_for());
        self.slots[slot as usize] = job;
        self.waiting.push_back(self.slots, slot);
        self.index[cell] = slot;
        Ok(Slot(slot))
    }

    /// Puts a slot at the end of the chain of free slots; `last` is the last one so far.
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

    /// Whether each used slot has a job or is one of the `free` slots in the chain.
    pub(crate) const fn is_restored(&self, free: u32) -> bool {
        (self.waiting.len + self.running.len + free) as usize == self.fresh
    }
}
