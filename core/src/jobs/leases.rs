//! Leases of jobs, and those that have ended lately.
//!
//! The time at which a lease ends is in the job's slot. A bound from below for all of them says at once that none has ended; the slots are
//! looked through only when time has reached it. A lease that would last until the end of time is none.

use heapless::Deque;

use super::{JobTable, Slot};
use crate::request::{JobId, Ticks};

/// The ends of leases that are remembered.
pub const LEASES_ENDED_MAX: usize = 16;

/// The end of a lease: the job is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct LeaseEnded {
    /// The job.
    pub(crate) job: JobId,
    /// When it was released.
    pub(crate) at: Ticks,
    /// The processors it held, 0 if it waited.
    pub(crate) processors: u32,
}

/// What there is beside the slots.
#[derive(Debug)]
pub(super) struct Leases {
    /// No lease ends earlier; [`Ticks::MAX`] if there is none.
    bound: Ticks,
    /// The latest ones that have ended, the oldest first, each with the number of the event.
    ended: Deque<(u64, LeaseEnded), LEASES_ENDED_MAX>,
}

impl Leases {
    pub(super) const NONE: Leases = Leases {
        bound: Ticks::MAX,
        ended: Deque::new(),
    };
}

impl JobTable<'_> {
    /// When the job's lease ends; `None` if it has none.
    pub fn lease(&self, slot: Slot) -> Option<Ticks> {
        let ends = self.get(slot).lease_ends;
        (ends != 0).then_some(ends)
    }

    /// The job has a lease until then, which is after 0, or none.
    pub(crate) fn set_lease(&mut self, slot: Slot, ends: Option<Ticks>) {
        let ends = ends.filter(|&ends| ends < Ticks::MAX);
        self.slots[slot.0 as usize].lease_ends = ends.unwrap_or(0);
        self.leases.bound = self.leases.bound.min(ends.unwrap_or(Ticks::MAX));
    }

    /// Whether a lease may have ended by now: if not, none has.
    #[inline]
    pub(crate) const fn may_have_ended(&self, now: Ticks) -> bool {
        self.leases.bound <= now && self.leases.bound < Ticks::MAX
    }

    /// Whether a job has a lease. O(jobs) if one may have, else O(1).
    pub(crate) fn has_leases(&self) -> bool {
        let mut jobs = self.slots[..self.fresh].iter();
        self.may_have_ended(Ticks::MAX) && jobs.any(|job| !job.is_free() && job.lease_ends != 0)
    }

    /// The job whose lease has ended first by now, of several the one with the least name, and when that was. O(jobs) if there may be one.
    pub(crate) fn lease_ended(&mut self, now: Ticks) -> Option<(Ticks, JobId)> {
        if !self.may_have_ended(now) {
            return None;
        }
        let jobs = self.slots[..self.fresh].iter();
        let leased = jobs.filter(|job| !job.is_free() && job.lease_ends != 0);
        let first = leased.map(|job| (job.lease_ends, job.id)).min();
        self.leases.bound = first.map_or(Ticks::MAX, |(ends, _)| ends);
        first.filter(|&(ends, _)| ends <= now)
    }

    /// Remembers the end of a lease, in place of the oldest one if need be. Numbers ascend.
    pub(crate) fn remember_end(&mut self, number: u64, ended: LeaseEnded) {
        let remembered = &mut self.leases.ended;
        if remembered.is_full() {
            remembered.pop_front();
        }
        let _ = remembered.push_back((number, ended));
    }

    /// The ends that are remembered and have a number above this one, in order.
    pub(crate) fn leases_ended_since(
        &self,
        number: u64,
    ) -> impl Iterator<Item = (u64, LeaseEnded)> + '_ {
        let ended = self.leases.ended.iter().copied();
        ended.skip_while(move |&(of, _)| of <= number)
    }

    /// Every job that has a lease, with its end.
    #[cfg(feature = "restore")]
    pub(crate) fn save_leases(&self) -> impl Iterator<Item = (JobId, Ticks)> + '_ {
        let jobs = self.slots[..self.fresh].iter();
        let leased = jobs.filter(|job| !job.is_free() && job.lease_ends != 0);
        leased.map(|job| (job.id, job.lease_ends))
    }

    /// Asserts that no lease ends before the bound, and that ends are in order.
    pub(super) fn check_leases(&self) {
        for job in &self.slots[..self.fresh] {
            let has_lease = !job.is_free() && job.lease_ends != 0;
            assert!(!has_lease || job.lease_ends >= self.leases.bound);
        }
        let numbers = self.leases.ended.iter().map(|&(number, _)| number);
        assert!(numbers.is_sorted_by(|a, b| a < b), "ends are in order");
    }
}
