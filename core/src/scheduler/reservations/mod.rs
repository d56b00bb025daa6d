//! Reservations for schedulers that backfill: finding a reservation for a waiting job, and placing
//! a job around the reservations of others.
//!
//! Over time the free processors change at the estimated ends of running jobs and of reservations.
//! A reservation has the earliest of these times at which the job fits, and the blocks that the job
//! then takes:
//!
//! ```text
//!   processors
//!   8 |. . . . . . . . . . R R R R .       running: A until 4, B until 10
//!   6 |B B B B B B B B B B R R R R .       R asks for 6 processors; 2 are free now
//!   4 |A A A A . . . . . . R R R R .       at 4:  2 + 4 free after A, if A's and the free ones
//!   2 |A A A A . . . . . . . . . . .              lie together R fits; here they do not
//!     +-------------------------------     at 10: all free, R fits: reserved from 10 on
//!      0       4           10      14
//! ```
//!
//! For the first reservation of a monotone strategy the time is found by bisection over the ends,
//! each step with one search in a supposed occupancy ([`World::reserve`]):
//!
//! ```text
//!   ends in order     4   7   9    10   12   15
//!   does it fit?      no  no  no   yes  yes  yes       the answer changes once
//!   search                    1    3    2              then `low` = `high`: reserved from 10 on
//! ```
//!
//! A later reservation tries each end in turn, since earlier reservations take processors away
//! again.

mod blocks;

use super::World;
use super::world::placing;
use crate::error::Refusal;
use crate::jobs::{JobSlot, JobTable, Reserved, Slot};
use crate::pause::Pause;
use crate::pool::Chain;
use crate::request::{Request, Ticks};
use crate::strategy::{FindsAgain, Strategy};
use crate::supposition::Supposition;

impl<'m, S: Strategy> World<'_, 'm, S> {
    /// Whether a running job has used up its estimate. Such a job is expected to end at once.
    pub fn is_any_overdue(&self) -> bool {
        let now = self.now;
        self.jobs
            .running()
            .any(|job| job.ends(0).is_some_and(|end| end <= now))
    }

    /// Sorts the running jobs by their estimated ends.
    fn sort_running(&mut self) {
        let (mut last, mut sorted) = (None, 0);
        while let Some(job) = self.jobs.sort_next(last, sorted, self.now) {
            (last, sorted) = (Some(job), sorted + 1);
            self.poll();
        }
    }

    /// Removes all reservations.
    ///
    /// # Time complexity
    ///
    /// O(jobs up to the last one that holds a reservation).
    pub fn cancel_reservations(&mut self) {
        self.jobs.cancel_reservations();
        self.allocator.pool.cancel_reserved();
    }

    /// Lets the strategy search for a job around the reservations of other jobs that start before
    /// this job's estimated end.
    ///
    /// If the job is refused, one more search without the reservations tells whether it would fit.
    #[inline]
    pub(super) fn find_around_reservations(&mut self, job: Slot) -> Result<Chain, Refusal> {
        let end = self.would_end(job, self.now);
        if self.jobs.reserved_before(end).next().is_some() {
            if !self.allocator.strategy().facts().takes_any {
                return self.find_around(job, end);
            }
            let demand = self.jobs.get(job).demand();
            if self.lacks_processors(job) {
                return Err(Refusal::TooFewFree);
            }
            if self.is_short_between(self.now, end, demand) {
                return Err(self.refusal(job).unwrap_or(Refusal::Reserved));
            }
        }
        // Unless the job is a gang, only the blocks of reservations can leave no room for its
        // blocks.
        let may_be_reserved = !self.jobs.get(job).request().is_gang();
        self.find(job).map_err(|refusal| match refusal {
            Refusal::TableFull if may_be_reserved => Refusal::Reserved,
            other => other,
        })
    }

    /// Whether the strategy would find a place for a job around the reservations, as
    /// [`World::place`] does. Nothing changes.
    pub(crate) fn would_start(&mut self, job: Slot) -> bool {
        let (request, demand) = self.asked_for(job);
        let end = self.would_end(job, self.now);
        if self.lacks_processors(job) {
            return false;
        }
        let is_number = self.allocator.strategy().facts().takes_any;
        if is_number && self.is_short_between(self.now, end, demand) {
            return false;
        }
        let (jobs, pause) = (&*self.jobs, Pause::with_jobs(self.pauses, self.jobs));
        let (allocator, pause) = (&mut *self.allocator, pause.as_ref());
        if is_number || jobs.reserved_before(end).next().is_none() {
            return allocator.would_fit(&request, Some(jobs), pause);
        }
        let mut supposition = allocator.suppose_for(&request, Some(jobs), pause);
        occupy_reservations(jobs, &mut supposition, self.now, end);
        supposition.fits_demand(&request, demand)
    }

    /// The request of a waiting job, and its demand.
    fn asked_for(&self, job: Slot) -> (Request, u32) {
        let job = self.jobs.get(job);
        (*job.request(), job.demand())
    }

    /// Why a job would not be granted now if nothing were reserved; `None` if it would be granted,
    /// or if only the room for its blocks is missing.
    fn refusal(&mut self, job: Slot) -> Option<Refusal> {
        let (jobs, allocator, pause) = self.parts();
        let job = jobs.get(job);
        let (request, demand) = (job.request(), job.demand());
        let answer = allocator.attempt_with(request, demand, Some(jobs), pause.as_ref());
        answer
            .err()
            .filter(|&refusal| refusal != Refusal::TableFull)
    }

    /// Lets the strategy search for a job around the blocks whose reservation starts before
    /// `withheld_before`.
    #[inline(never)]
    fn find_around(&mut self, job: Slot, withheld_before: Ticks) -> Result<Chain, Refusal> {
        if let Some(refusal) = self.refusal(job) {
            return Err(refusal);
        }
        let (placing, request, demand) = placing(self.jobs, job, self.now, withheld_before);
        let (jobs, pause) = (&*self.jobs, Pause::with_jobs(self.pauses, self.jobs));
        let mut supposition = self
            .allocator
            .suppose_for(request, Some(jobs), pause.as_ref());
        occupy_reservations(jobs, &mut supposition, self.now, withheld_before);
        supposition.find(request, demand, placing)
    }

    /// Makes a reservation for a waiting job that cannot start now: the earliest time at which it
    /// could start, and the processors that the strategy would give it then. Earlier reservations
    /// stay. Nothing is reserved if the job could not start even after all others have ended.
    ///
    /// The reserved processors are:
    ///
    /// - for a strategy that takes any free processors
    ///   ([`Facts::takes_any`](crate::Facts::takes_any)): a number;
    /// - on a two-dimensional mesh: the corner of a maximal free submesh that withholds the fewest
    ///   processors that are free now, in an orientation in which the strategy surely finds a place
    ///   ([`Facts::recognizes`](crate::Facts::recognizes)); ties: the smallest (y1, x1, y2, x2);
    /// - if there is no such corner, and on other grids: the blocks that the strategy would choose.
    ///
    /// A gang has the blocks that its search finds ([`Request::slices`]). When more processors are
    /// free, the search may find other blocks: then the reservation moves.
    ///
    /// A reservation of several blocks takes room in the pool that running jobs leave. The pool
    /// never has more blocks than the machine has processors. If the room is too small, the whole
    /// machine is reserved, so that no later job runs beyond the start of the reservation. A job
    /// that needs more blocks than the pool has left waits.
    ///
    /// # Time complexity
    ///
    /// The first reservation takes O(log running) suppositions, if a request that fits also fits
    /// when more processors are free ([`FindsAgain::Monotone`]), is no gang and tolerates no faulty
    /// processors. Any other reservation takes one supposition for each running job and
    /// reservation, since reservations take processors away again.
    #[cfg(feature = "reservations")]
    pub fn reserve(&mut self, job: Slot) {
        self.sort_running();
        let reserved = if self.allocator.strategy().facts().takes_any {
            self.earliest_processors(job)
        } else {
            self.earliest_blocks(job)
        };
        if let Some((from, reserved)) = reserved {
            self.jobs.reserve(job, from, reserved);
        }
    }

    fn earliest_blocks(&mut self, job: Slot) -> Option<(Ticks, Reserved)> {
        let is_first = self.jobs.reserved().next().is_none();
        let finds_again = self.allocator.strategy().facts().finds_again;
        let request = self.asked_for(job).0;
        let is_monotone =
            finds_again == FindsAgain::Monotone && !request.is_gang() && !request.is_tolerant();
        let from = if is_first && is_monotone {
            self.first_end_that_suffices(job)?
        } else {
            let mut end = self.end_after(None)?;
            while !self.fits_at(job, end) {
                end = self.end_after(Some(end))?;
            }
            end
        };
        let (request, demand) = self.asked_for(job);
        let until = self.would_end(job, from);
        let (mut supposition, given_back) = self.suppose_at(&request, from, until);
        let reserved = supposition.reservation((&request, demand), &given_back)?;
        Some((from, reserved))
    }

    /// The first estimated end of a running job at which the job fits, found by bisection.
    fn first_end_that_suffices(&mut self, job: Slot) -> Option<Ticks> {
        let demand = self.jobs.get(job).demand();
        let occupancy = self.allocator.occupancy();
        let (mut free, is_in_order) = (occupancy.free(), occupancy.faulty_count() == 0);
        let with_estimate = |job: &&JobSlot| job.ends(self.now).is_some();
        let running = self.jobs.running_len() as usize;
        let count = self.jobs.running_sorted().take_while(with_estimate).count();
        // The job cannot fit before enough processors are free, and surely fits when all are free.
        let low = self.jobs.running_sorted().take(count).position(|job| {
            free += job.processors();
            free >= demand
        });
        let mut low = low?;
        let mut high = if is_in_order && count == running {
            count - 1
        } else {
            count
        };
        // Invariant: the job does not fit at the ends before `low`; it fits at those from `high`
        // on.
        while low < high {
            let middle = low + (high - low) / 2;
            let time = self.end(middle)?;
            if self.fits_at(job, time) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        if low < count { self.end(low) } else { None }
    }

    /// The estimated end of the running job with this index in the order of ends.
    fn end(&self, at: usize) -> Option<Ticks> {
        let job = self.jobs.running_sorted().nth(at);
        job.and_then(|job| job.ends(self.now))
    }

    /// The first expected end of a running job or of a reservation after `time`; the first of all
    /// ends if `time` is `None`.
    fn end_after(&mut self, time: Option<Ticks>) -> Option<Ticks> {
        self.poll();
        let jobs = self.jobs.running_sorted().chain(self.jobs.reserved());
        let ends = jobs.filter_map(|job| job.ends(self.now));
        ends.filter(|&end| time.is_none_or(|time| end > time)).min()
    }

    /// Whether a waiting job would fit if it started at `time`.
    fn fits_at(&mut self, job: Slot, time: Ticks) -> bool {
        let (request, demand) = self.asked_for(job);
        let until = self.would_end(job, time);
        let (mut supposition, _) = self.suppose_at(&request, time, until);
        supposition.fits_demand(&request, demand)
    }

    /// Supposes the occupancy that a job with this request finds if it runs from `from` until
    /// `until`, by estimates: all jobs that end by `from` have given back their blocks, and the
    /// reservations that overlap the run are occupied. Returns also the blocks that were given
    /// back.
    fn suppose_at(
        &mut self,
        request: &Request,
        from: Ticks,
        until: Ticks,
    ) -> (
        Supposition<'_, 'm, S>,
        impl Iterator<Item = Chain> + Clone + use<'_, 'm, S>,
    ) {
        let now = self.now;
        let (jobs, allocator, pause) = self.parts();
        let has_ended = move |job: &&JobSlot| job.ends(now).is_some_and(|end| end <= from);
        let ended = jobs.running_sorted().take_while(has_ended);
        let given_back = ended.map(JobSlot::blocks);
        let mut supposition = allocator.suppose_for(request, Some(jobs), pause.as_ref());
        for blocks in given_back.clone() {
            supposition.give_back_blocks(blocks);
        }
        occupy_reservations(jobs, &mut supposition, from, until);
        (supposition, given_back)
    }

    /// The earliest time at which enough processors are free until the job's end.
    fn earliest_processors(&mut self, job: Slot) -> Option<(Ticks, Reserved)> {
        let (request, demand) = self.asked_for(job);
        let (jobs, allocator, pause) = self.parts();
        let faulty = allocator.unheld_for(&request, Some(jobs), pause.as_ref());
        let faulty = faulty.usable(&request);
        let mut end = self.end_after(None)?;
        // The second condition takes far longer than the first, which usually decides.
        while self.free_at(end, faulty) < demand
            || self.is_short_between(end, self.would_end(job, end), demand)
        {
            end = self.end_after(Some(end))?;
        }
        Some((end, Reserved::Processors))
    }

    /// Whether fewer than `demand` processors are free at the start of any reservation that starts
    /// from `from` on and before `until`.
    fn is_short_between(&mut self, from: Ticks, until: Ticks, demand: u32) -> bool {
        let mut at = 0;
        // No iterator over jobs can live across a pause, so each step counts from the first job.
        loop {
            self.poll();
            let next = self.jobs.reserved_before(until).nth(at);
            let Some(start) = next.and_then(JobSlot::reserved_from) else {
                return false;
            };
            if start >= from && self.free_at(start, 0) < demand {
                return true;
            }
            at += 1;
        }
    }

    fn poll(&self) {
        let pause = Pause::with_jobs(self.pauses, self.jobs);
        let (occupancy, pool) = self.allocator.parts();
        Pause::poll(pause.as_ref(), occupancy, pool);
    }

    /// Whether fewer processors are free than a job needs that tolerates no faulty ones.
    fn lacks_processors(&self, job: Slot) -> bool {
        let job = self.jobs.get(job);
        job.demand() > self.free() && !job.request().is_tolerant()
    }

    /// The number of free processors at `time`, by estimates, and of these faulty ones, which a job
    /// may have.
    fn free_at(&mut self, time: Ticks, faulty: u32) -> u32 {
        self.poll();
        let ended = |job: &&JobSlot| job.ends(self.now).is_some_and(|end| end <= time);
        let freed: u32 = self
            .jobs
            .running()
            .filter(ended)
            .map(JobSlot::processors)
            .sum();
        let reserved = self.jobs.reserved_before(time.saturating_add(1));
        let reserved: u32 = reserved
            .filter(|job| !ended(job))
            .map(JobSlot::demand)
            .sum();
        (self.free() + faulty + freed).saturating_sub(reserved)
    }
}

/// Occupies the reservations that overlap the time from `from` until `until`.
fn occupy_reservations<S: Strategy>(
    jobs: &JobTable<'_>,
    supposition: &mut Supposition<'_, '_, S>,
    from: Ticks,
    until: Ticks,
) {
    for job in jobs.reserved_before(until) {
        if job.ends(from).is_none_or(|end| end != from) {
            supposition.occupy_reserved(job);
        }
    }
}
