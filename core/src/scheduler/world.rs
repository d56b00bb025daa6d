//! What a scheduler sees: [`World`].

use super::Try;
use crate::allocator::Allocator;
use crate::blocks::Allocation;
use crate::error::Refusal;
use crate::grid::{Block, Grid};
use crate::jobs::{JobSlot, JobTable, Queue, Reserved, Slot};
use crate::outlook::Placing;
use crate::request::Ticks;
use crate::strategy::Holds;
use crate::supposition::Supposition;

/// All that a scheduler decides by: the jobs that wait and run, the machine, the time, and what could be placed if some had ended.
///
/// It changes nothing but reservations, and these are notes on jobs that wait: they keep no processor from anyone but by the
/// [`Try`](super::Try) that a scheduler makes of them.
#[derive(Debug)]
pub struct World<'a, 'm> {
    pub(crate) jobs: &'a mut JobTable<'m>,
    pub(crate) allocator: &'a mut Allocator<'m>,
    pub(crate) holds: Holds,
    pub(crate) now: Ticks,
}

impl<'m> World<'_, 'm> {
    /// The present.
    #[inline]
    pub const fn now(&self) -> Ticks {
        self.now
    }

    /// The machine.
    pub const fn machine(&self) -> &Grid {
        self.allocator.occupancy().grid()
    }

    /// The number of free processors.
    pub const fn free(&self) -> u32 {
        self.allocator.occupancy().free()
    }

    /// The jobs that wait, in the order of their arrival.
    #[inline]
    pub fn queue(&self) -> Queue<'_> {
        self.jobs.queue()
    }

    /// The jobs that run, in the order of their grants.
    pub fn running(&self) -> impl Iterator<Item = &JobSlot> {
        self.jobs.running()
    }

    /// The blocks of a running job.
    pub fn blocks(&self, job: &JobSlot) -> impl Iterator<Item = Block> + '_ {
        self.allocator.chain(job.blocks())
    }

    /// Whether a running job has used up its estimate. Such a job is expected to end at once, again and again.
    pub fn is_any_overdue(&self) -> bool {
        let now = self.now;
        self.running()
            .any(|job| job.ends(0).is_some_and(|end| end <= now))
    }

    /// When a waiting job would be expected to end if it began at a time; `Ticks::MAX` without an estimate.
    pub fn would_end(&self, job: Slot, start: Ticks) -> Ticks {
        let estimate = self.jobs.get(job).request().estimate;
        estimate.map_or(Ticks::MAX, |estimate| start.saturating_add(estimate.get()))
    }

    /// Forgets all reservations. O(queue).
    pub fn cancel_reservations(&mut self) {
        let mut next = self.queue().head();
        while let Some(job) = next {
            next = self.queue().next(job);
            self.jobs.reserve(job, 0, Reserved::Nothing);
        }
    }

    /// Tries to give a waiting job its processors.
    #[inline]
    pub(crate) fn place(&mut self, attempted: Try) -> Result<Allocation, Refusal> {
        let job = attempted.job();
        let (request, demand) = {
            let job = self.jobs.get(job);
            (*job.request(), job.demand())
        };
        let withheld_before = match attempted {
            Try::Freely(_) => 0,
            Try::AroundReservations(job) => self.would_end(job, self.now),
        };
        let is_withheld = self.jobs.reserved_before(withheld_before).next().is_some();
        let mut placing = Placing {
            jobs: self.jobs,
            job,
            now: self.now,
            withheld_before,
        };
        if !is_withheld {
            return self.allocator.place(&request, demand, Some(placing));
        }
        if demand > self.allocator.occupancy().free() {
            return Err(Refusal::TooFewFree);
        }
        if self.holds.is_contiguous() {
            let supposition = self.allocator.suppose();
            withhold(self.jobs, supposition, self.now, withheld_before);
            return self.allocator.place_as_supposed(&request, demand, placing);
        }
        if self.least_free(self.now, withheld_before) < demand {
            return Err(Refusal::Reserved);
        }
        placing.withheld_before = 0;
        self.allocator.place(&request, demand, Some(placing))
    }

    /// Reserves for a waiting job, which cannot begin now, the earliest time at which it could, and where. Earlier reservations are
    /// kept. Nothing is reserved if it could not begin even after all others.
    ///
    /// A strategy whose allocations are single blocks reserves a block ([`Supposition::reservation`](crate::Supposition)); any other a
    /// number of processors.
    ///
    /// # Time complexity
    ///
    /// The first reservation takes O(log running) suppositions, since more and more becomes free; any other O(running jobs +
    /// reservations), as what is reserved is taken away again.
    pub fn reserve(&mut self, job: Slot) {
        self.jobs.sort_running(self.now);
        let reserved = match self.holds.is_contiguous() {
            true => self.earliest_block(job),
            false => self.earliest_processors(job),
        };
        if let Some((from, reserved)) = reserved {
            self.jobs.reserve(job, from, reserved);
        }
    }

    fn earliest_block(&mut self, job: Slot) -> Option<(Ticks, Reserved)> {
        let is_first = self.jobs.reserved_before(Ticks::MAX).next().is_none();
        let from = match is_first {
            true => self.first_end_that_suffices(job)?,
            false => {
                let mut ends = None;
                loop {
                    let end = self.end_after(ends)?;
                    if self.fits_at(job, end) {
                        break end;
                    }
                    ends = Some(end);
                }
            }
        };
        self.suppose_at(from, self.would_end(job, from));
        let request = *self.jobs.get(job).request();
        let block = self.allocator.supposed().reservation(&request)?;
        Some((from, Reserved::Block(block)))
    }

    /// The first estimated end of a running job at which the job fits: by bisection.
    fn first_end_that_suffices(&mut self, job: Slot) -> Option<Ticks> {
        let end = |world: &Self, at: usize| {
            let job = world.jobs.running_sorted().nth(at);
            job.and_then(|job| job.ends(world.now))
        };
        let now = self.now;
        let (mut low, mut high) = (
            0,
            self.jobs
                .running_sorted()
                .filter(|job| job.ends(now).is_some())
                .count(),
        );
        let count = high;
        // Invariant: the job does not fit at the ends before `low`, and does from `high` on, if there is one.
        while low < high {
            let middle = low + (high - low) / 2;
            let time = end(self, middle)?;
            match self.fits_at(job, time) {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        if low == count {
            return None;
        }
        end(self, low)
    }

    /// The first time after this one, or of all, at which a running job, or one with a reservation, is expected to end.
    fn end_after(&self, time: Option<Ticks>) -> Option<Ticks> {
        let running = self.jobs.running_sorted();
        let reserved = self.jobs.reserved_before(Ticks::MAX);
        let ends = running.chain(reserved).filter_map(|job| job.ends(self.now));
        ends.filter(|&end| time.is_none_or(|time| end > time)).min()
    }

    fn fits_at(&mut self, job: Slot, time: Ticks) -> bool {
        self.suppose_at(time, self.would_end(job, time));
        let job = self.jobs.get(job);
        let (request, demand) = (*job.request(), job.demand());
        self.allocator.supposed().fits_demand(&request, demand)
    }

    /// Supposes what a job finds free that begins at a time, as far as estimates tell, and runs until another.
    fn suppose_at(&mut self, from: Ticks, until: Ticks) {
        let mut supposition = self.allocator.suppose();
        for job in self.jobs.running_sorted() {
            if job.ends(self.now).is_none_or(|end| end > from) {
                break;
            }
            supposition.give_back_blocks(job.blocks());
        }
        withhold(self.jobs, supposition, from, until);
    }

    fn earliest_processors(&self, job: Slot) -> Option<(Ticks, Reserved)> {
        let demand = self.jobs.get(job).demand();
        let mut ends = None;
        loop {
            let end = self.end_after(ends)?;
            let until = self.would_end(job, end);
            if self.free_at(end) >= demand && self.least_free(end, until) >= demand {
                return Some((end, Reserved::Processors));
            }
            ends = Some(end);
        }
    }

    /// The least number of free processors at the beginning of any reservation that begins at or after a time and before another.
    fn least_free(&self, from: Ticks, until: Ticks) -> u32 {
        let reserved = self.jobs.reserved_before(until);
        let starts = reserved.filter_map(JobSlot::reserved_from);
        let free = starts
            .filter(|&start| start >= from)
            .map(|start| self.free_at(start));
        free.min().unwrap_or(u32::MAX)
    }

    /// The number of free processors at a time, as far as estimates tell.
    fn free_at(&self, time: Ticks) -> u32 {
        let ended = |job: &&JobSlot| job.ends(self.now).is_some_and(|end| end <= time);
        let freed: u32 = self.running().filter(ended).map(JobSlot::processors).sum();
        let reserved = self.jobs.reserved_before(time.saturating_add(1));
        let reserved: u32 = reserved
            .filter(|job| !ended(job))
            .map(JobSlot::demand)
            .sum();
        (self.free() + freed).saturating_sub(reserved)
    }
}

/// Withholds what is reserved at any time from one on until another.
fn withhold(jobs: &JobTable<'_>, mut supposition: Supposition<'_, '_>, from: Ticks, until: Ticks) {
    for job in jobs.reserved_before(until) {
        let is_over = job.ends(from).is_some_and(|end| end == from);
        if let Some(block) = job.reserved_block()
            && !is_over
        {
            supposition.withhold(block);
        }
    }
}
