//! What is reserved for jobs that wait, and what a job finds beside it: for schedulers that backfill.

use super::World;
use super::world::placing;
use crate::blocks::Chain;
use crate::error::Refusal;
use crate::jobs::{JobSlot, JobTable, Reserved, Slot};
use crate::request::Ticks;
use crate::strategy::Strategy;
use crate::supposition::Supposition;

impl<'m> World<'_, 'm> {
    /// Whether a running job has used up its estimate. Such a job is expected to end at once, again and again.
    pub(crate) fn is_any_overdue(&self) -> bool {
        let now = self.now;
        self.running()
            .any(|job| job.ends(0).is_some_and(|end| end <= now))
    }

    /// Sorts the running jobs by their estimated ends.
    fn sort_running(&mut self) {
        let (mut last, mut sorted) = (None, 0);
        while let Some(job) = self.jobs.sort_next(last, sorted, self.now) {
            (last, sorted) = (Some(job), sorted + 1);
            self.worked(500 + 10 * sorted as u32);
        }
    }

    /// Forgets all reservations.
    ///
    /// # Time complexity
    ///
    /// O(jobs up to the last one that holds a reservation).
    pub(crate) fn cancel_reservations(&mut self) {
        self.jobs.cancel_reservations();
        self.allocator.cancel_reserved();
    }

    /// What the strategy finds for a job that must leave free what is reserved for others from before its own estimated end on.
    ///
    /// For a job that is refused because of that one search more is made without it: it says whether the job would have fitted.
    #[inline]
    pub(super) fn find_around_reservations(&mut self, job: Slot) -> Result<Chain, Refusal> {
        let end = self.would_end(job, self.now);
        if self.jobs.reserved_before(end).next().is_some() {
            if !self.allocator.strategy().takes_any() {
                return self.find_around(job, end);
            }
            let demand = self.jobs.get(job).demand();
            if demand > self.free() {
                return Err(Refusal::TooFewFree);
            }
            if self.is_short_between(self.now, end, demand) {
                return Err(self.refusal_but_for_reservations(job));
            }
        }
        // Without reservations there would be room for its blocks.
        self.find(job).map_err(|refusal| match refusal {
            Refusal::TableFull => Refusal::Reserved,
            other => other,
        })
    }

    /// Why a job is refused that would take what is reserved: it would fit into that, or not even then.
    fn refusal_but_for_reservations(&mut self, job: Slot) -> Refusal {
        let request = self.jobs.get(job).request();
        let watch = self.watcher.beside(self.jobs);
        match self.allocator.fits_watched(request, watch) {
            true => Refusal::Reserved,
            false => Refusal::Fragmented,
        }
    }

    /// What the strategy finds for a job around the blocks that are reserved from before a time on.
    #[inline(never)]
    fn find_around(&mut self, job: Slot, withheld_before: Ticks) -> Result<Chain, Refusal> {
        let (placing, request, demand) = placing(self.jobs, job, self.now, withheld_before);
        if demand > self.allocator.occupancy().free() {
            return Err(Refusal::TooFewFree);
        }
        if !self
            .allocator
            .fits_watched(request, self.watcher.beside(self.jobs))
        {
            return Err(Refusal::Fragmented);
        }
        let mut supposition = self
            .allocator
            .suppose_watched(self.watcher.beside(self.jobs));
        withhold(self.jobs, &mut supposition, self.now, withheld_before);
        supposition.find(request, demand, placing)
    }

    /// Reserves for a waiting job, which cannot begin now, the earliest time at which it could, and
    /// what the strategy would give it then. Earlier reservations are kept. Nothing is reserved if
    /// it could not begin even after all others.
    ///
    /// For a strategy that takes any free processors ([`Strategy::takes_any`]) that is a number of
    /// processors. On a two-dimensional mesh it is the corner of a maximal free submesh that
    /// withholds the fewest processors that are free now, in an orientation in which the strategy
    /// surely finds a place ([`Strategy::recognizes`]); ties: the smallest (y1, x1, y2, x2). Where
    /// there is none, and on other grids, it is all blocks that the strategy would choose.
    ///
    /// Blocks of a reservation that has several take the room that running jobs leave: all together
    /// are no more than the machine has processors. Where that does not suffice the whole machine is
    /// reserved, so that no later job runs beyond the time; and a job that would take more blocks
    /// than are left waits.
    ///
    /// # Time complexity
    ///
    /// The first reservation takes O(log running) suppositions, if what fits in less fits in more
    /// ([`Strategy::is_monotone`]); any other O(running jobs + reservations), as what is reserved
    /// is taken away again.
    pub(crate) fn reserve(&mut self, job: Slot) {
        self.sort_running();
        let reserved = match self.allocator.strategy().takes_any() {
            true => self.earliest_processors(job),
            false => self.earliest_blocks(job),
        };
        if let Some((from, reserved)) = reserved {
            self.jobs.reserve(job, from, reserved);
        }
    }

    fn earliest_blocks(&mut self, job: Slot) -> Option<(Ticks, Reserved)> {
        let is_first = self.jobs.reserved().next().is_none();
        let from = match is_first && self.allocator.strategy().is_monotone() {
            true => self.first_end_that_suffices(job)?,
            false => {
                let mut end = self.end_after(None)?;
                while !self.fits_at(job, end) {
                    end = self.end_after(Some(end))?;
                }
                end
            }
        };
        let request = *self.jobs.get(job).request();
        let (mut supposition, given_back) = self.suppose_at(from, self.would_end(job, from));
        let reserved = supposition.reservation(&request, &given_back)?;
        Some((from, reserved))
    }

    /// The first estimated end of a running job at which the job fits: by bisection.
    fn first_end_that_suffices(&mut self, job: Slot) -> Option<Ticks> {
        let demand = self.jobs.get(job).demand();
        let occupancy = self.allocator.occupancy();
        let (mut free, is_in_order) = (occupancy.free(), occupancy.faulty_count() == 0);
        let with_estimate = |job: &&JobSlot| job.ends(self.now).is_some();
        let running = self.jobs.running_len() as usize;
        let count = self.jobs.running_sorted().take_while(with_estimate).count();
        // It does not fit before enough processors are free, and surely does when all are.
        let low = self.jobs.running_sorted().take(count).position(|job| {
            free += job.processors();
            free >= demand
        });
        let mut low = low?;
        let mut high = match is_in_order && count == running {
            true => count - 1,
            false => count,
        };
        // Invariant: the job does not fit at the ends before `low`, and does from `high` on, if there is one.
        while low < high {
            let middle = low + (high - low) / 2;
            let time = self.end(middle)?;
            match self.fits_at(job, time) {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        match low < count {
            true => self.end(low),
            false => None,
        }
    }

    /// The estimated end of the running job at this place in their order.
    fn end(&self, at: usize) -> Option<Ticks> {
        let job = self.jobs.running_sorted().nth(at);
        job.and_then(|job| job.ends(self.now))
    }

    /// The first time after this one, or of all, at which a running job, or one with a reservation, is expected to end.
    fn end_after(&mut self, time: Option<Ticks>) -> Option<Ticks> {
        self.worked_on_jobs();
        let jobs = self.jobs.running_sorted().chain(self.jobs.reserved());
        let ends = jobs.filter_map(|job| job.ends(self.now));
        ends.filter(|&end| time.is_none_or(|time| end > time)).min()
    }

    fn fits_at(&mut self, job: Slot, time: Ticks) -> bool {
        let (request, demand) = {
            let job = self.jobs.get(job);
            (*job.request(), job.demand())
        };
        let until = self.would_end(job, time);
        let (mut supposition, _) = self.suppose_at(time, until);
        supposition.fits_demand(&request, demand)
    }

    /// Supposes what a job finds free that begins at a time, as far as estimates tell, and runs until another. Returns what has been
    /// given back by then.
    fn suppose_at(
        &mut self,
        from: Ticks,
        until: Ticks,
    ) -> (Supposition<'_, 'm>, impl Iterator<Item = Chain> + Clone) {
        let (jobs, now) = (&*self.jobs, self.now);
        let has_ended = move |job: &&JobSlot| job.ends(now).is_some_and(|end| end <= from);
        let ended = jobs.running_sorted().take_while(has_ended);
        let given_back = ended.map(JobSlot::blocks);
        let mut supposition = self.allocator.suppose_watched(self.watcher.beside(jobs));
        for blocks in given_back.clone() {
            supposition.give_back_blocks(blocks);
        }
        withhold(jobs, &mut supposition, from, until);
        (supposition, given_back)
    }

    fn earliest_processors(&mut self, job: Slot) -> Option<(Ticks, Reserved)> {
        let demand = self.jobs.get(job).demand();
        let mut end = self.end_after(None)?;
        // The second takes far longer than the first, which as a rule decides.
        while self.free_at(end) < demand
            || self.is_short_between(end, self.would_end(job, end), demand)
        {
            end = self.end_after(Some(end))?;
        }
        Some((end, Reserved::Processors))
    }

    /// Whether fewer processors are free at the beginning of some reservation that begins at or after a time and before another.
    fn is_short_between(&mut self, from: Ticks, until: Ticks, demand: u32) -> bool {
        let mut at = 0;
        // With a count of those before it an iterator over jobs is not kept over a pause.
        loop {
            self.worked(100 + 30 * at as u32);
            let next = self.jobs.reserved_before(until).nth(at);
            let Some(start) = next.and_then(JobSlot::reserved_from) else {
                return false;
            };
            if start >= from && self.free_at(start) < demand {
                return true;
            }
            at += 1;
        }
    }

    /// All jobs have been looked at.
    fn worked_on_jobs(&mut self) {
        self.worked(500 + 60 * (self.jobs.waiting_len() + self.jobs.running_len()));
    }

    fn worked(&mut self, instructions: u32) {
        let (occupancy, pool) = self.allocator.parts();
        let mut watch = self.watcher.beside(self.jobs);
        watch.worked(instructions, occupancy, pool);
    }

    /// The number of free processors at a time, as far as estimates tell.
    fn free_at(&mut self, time: Ticks) -> u32 {
        self.worked_on_jobs();
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
fn withhold(jobs: &JobTable<'_>, supposition: &mut Supposition<'_, '_>, from: Ticks, until: Ticks) {
    for job in jobs.reserved_before(until) {
        if job.ends(from).is_none_or(|end| end != from) {
            supposition.withhold_reserved(job);
        }
    }
}
