//! Leases of jobs, and the latest ends of leases and of grants of preempted jobs.
//!
//! The slot of a job has the end of its lease. A lower bound of all ends shows at once that no
//! lease has ended; the slots are searched only when time has reached the bound. A job whose lease
//! would end at `Ticks::MAX` has no lease.

use heapless::Deque;

use super::{JobTable, Slot};
use crate::job_id::JobId;
use crate::message::EventKind;
use crate::preemption::Victims;
use crate::request::Ticks;

/// The maximum number of ends that are remembered: ends of leases, and ends of grants of preempted
/// jobs. [`Counts`](crate::Counts) has how many leases have ended.
pub const LEASES_ENDED_MAX: usize = 16;

/// The room for remembered ends: 1 in a build with neither leases nor preemption.
const REMEMBERED: usize = if Ended::BUILT { LEASES_ENDED_MAX } else { 1 };

/// The end of a lease, which releases the job, or of the grant of a job that is preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Ended {
    /// The job.
    pub(crate) job: JobId,
    /// When it was released or preempted.
    pub(crate) at: Ticks,
    /// The number of processors that the job held; 0 if it waited.
    pub(crate) processors: u32,
    /// The job that preempted it; none for the end of a lease. The field takes no room in a
    /// build without preemption.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) by: [Option<JobId>; Victims::BUILT as usize],
}

impl Ended {
    /// Whether there are such ends in this build.
    pub(crate) const BUILT: bool = Leases::BUILT || Victims::BUILT;

    /// The kind of the event that reports this end.
    pub(crate) const fn kind(self) -> EventKind {
        #[cfg(feature = "preemption")]
        if let [Some(by)] = self.by {
            return EventKind::Preempted { by };
        }
        EventKind::LeaseEnded
    }
}

/// The end of a job's lease. It takes no room in a build without leases.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeaseEnd([Ticks; Leases::BUILT as usize]);

impl LeaseEnd {
    /// No lease: 0.
    pub(super) const NONE: LeaseEnd = LeaseEnd([0; Leases::BUILT as usize]);

    pub(super) fn get(self) -> Option<Ticks> {
        self.0.first().copied().filter(|&ends| ends != 0)
    }

    fn set(&mut self, ends: Option<Ticks>) {
        self.0.fill(ends.unwrap_or(0));
    }
}

/// The data of leases outside the slots.
#[derive(Debug)]
pub(crate) struct Leases {
    /// No lease ends before this time; [`Ticks::MAX`] if there is no lease.
    bound: Ticks,
    /// The latest ends, the oldest first, each with the number of its event.
    ended: Deque<(u64, Ended), REMEMBERED>,
}

impl Leases {
    /// Whether jobs may have leases in this build.
    pub(crate) const BUILT: bool = cfg!(feature = "leases");

    pub(super) const NONE: Leases = Leases {
        bound: Ticks::MAX,
        ended: Deque::new(),
    };
}

impl JobTable<'_> {
    /// The end of the job's lease; `None` if it has none.
    pub fn lease(&self, slot: Slot) -> Option<Ticks> {
        self.get(slot).lease_ends()
    }

    /// Sets the end of the job's lease, which is after 0; `None` for no lease.
    pub(crate) fn set_lease(&mut self, slot: Slot, ends: Option<Ticks>) {
        let ends = ends.filter(|&ends| ends < Ticks::MAX);
        self.slots[slot.0 as usize].lease.set(ends);
        self.leases.bound = self.leases.bound.min(ends.unwrap_or(Ticks::MAX));
    }

    /// Whether a lease may have ended by now. If the answer is false, no lease has ended.
    #[inline]
    pub(crate) const fn may_have_ended(&self, now: Ticks) -> bool {
        Leases::BUILT && self.leases.bound <= now && self.leases.bound < Ticks::MAX
    }

    /// Whether any job has a lease. O(1) if the bound shows that there is no lease, else O(jobs).
    pub(crate) fn has_leases(&self) -> bool {
        let mut jobs = self.slots[..self.fresh].iter();
        self.may_have_ended(Ticks::MAX) && jobs.any(|job| job.lease_ends().is_some())
    }

    /// The job whose lease has ended first by now, and the time of its end. Ties: the smallest
    /// name. O(1) if no lease may have ended, else O(jobs).
    #[inline]
    pub(crate) fn lease_ended(&mut self, now: Ticks) -> Option<(Ticks, JobId)> {
        if !self.may_have_ended(now) {
            return None;
        }
        let jobs = self.slots[..self.fresh].iter();
        let leased = jobs.filter_map(|job| Some((job.lease_ends()?, job.id)));
        let first = leased.min();
        self.leases.bound = first.map_or(Ticks::MAX, |(ends, _)| ends);
        first.filter(|&(ends, _)| ends <= now)
    }

    /// Remembers the end of a lease or a grant. If there is no room, this end replaces the oldest
    /// one. Numbers ascend.
    pub(crate) fn remember_end(&mut self, number: u64, ended: Ended) {
        let remembered = &mut self.leases.ended;
        if remembered.is_full() {
            remembered.pop_front();
        }
        let _ = remembered.push_back((number, ended));
    }

    /// The remembered ends with a number above this one, in ascending order.
    pub(crate) fn ended_since(&self, number: u64) -> impl Iterator<Item = (u64, Ended)> + '_ {
        let ended = self.leases.ended.iter().copied();
        ended.skip_while(move |&(of, _)| of <= number)
    }

    /// Asserts that no lease ends before the bound, and that ends are in order.
    pub(super) fn check_leases(&self) {
        for job in &self.slots[..self.fresh] {
            let bound = self.leases.bound;
            assert!(job.lease_ends().is_none_or(|ends| ends >= bound));
        }
        let numbers = self.leases.ended.iter().map(|&(number, _)| number);
        assert!(numbers.is_sorted_by(|a, b| a < b), "ends are in order");
    }
}
