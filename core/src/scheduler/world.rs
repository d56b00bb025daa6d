//! A scheduler's view of jobs and machine: [`World`].

use super::Try;
use crate::allocator::Allocator;
use crate::error::Refusal;
use crate::jobs::{JobSlot, JobTable, Queue, Reserved, Slot};
use crate::occupancy::Occupancy;
use crate::outlook::Placing;
use crate::pause::{Pause, Pauses};
use crate::pool::Chain;
use crate::request::{Request, Ticks};
use crate::strategy::{AnyStrategy, Purpose, ServedStrategy, Strategy};
use crate::view::Status;

/// Everything that a scheduler decides by: the waiting and running jobs, the machine, the time, and
/// whether a job would fit after others have ended.
///
/// A scheduler changes only reservations; `World::place` is for the controller, which carries out
/// the attempt. A reservation is a note on a waiting job. The note binds only jobs that try with
/// [`Try::AroundReservations`](super::Try).
#[derive(Debug)]
pub struct World<'a, 'm, S = AnyStrategy<'m>> {
    pub(crate) jobs: &'a mut JobTable<'m>,
    pub(crate) allocator: &'a mut Allocator<'m, S>,
    /// The present time.
    pub(crate) now: Ticks,
    /// The pauses of the work, and the status of the controller that queries see during a pause.
    pub(crate) pauses: Option<(&'a Pauses<'a>, Status<'a>)>,
}

impl<'m, S: ServedStrategy> World<'_, 'm, S> {
    /// Tries to allocate processors to a waiting job. The allocation may pause, since it changes
    /// long lists; queries then show busy processors that no job holds yet.
    #[inline(always)]
    pub(crate) fn place(&mut self, attempted: Try) -> Result<Chain, Refusal> {
        let blocks = match attempted {
            Try::AroundReservations(job) if Reserved::BUILT => self.find_around_reservations(job),
            // Without reservations there is nothing to leave free.
            Try::Freely(job) | Try::AroundReservations(job) => self.find(job),
        };
        let blocks = blocks?;
        let request = self.jobs.get(attempted.job()).request();
        self.allocator.admit(blocks, request, self.jobs)?;
        let pause = Pause::with_jobs(self.pauses, self.jobs);
        self.allocator.take(blocks, pause.as_ref());
        Ok(blocks)
    }
}

impl<'m, S: Strategy> World<'_, 'm, S> {
    /// The jobs, the allocator, and the pause for its work. The jobs cannot change meanwhile.
    #[inline(always)]
    pub(crate) fn parts(&mut self) -> Parts<'_, 'm, S> {
        let pause = Pause::with_jobs(self.pauses, self.jobs);
        (self.jobs, self.allocator, pause)
    }

    /// The present time.
    pub const fn now(&self) -> Ticks {
        self.now
    }

    /// Which processors are busy.
    pub const fn occupancy(&self) -> &Occupancy<'m> {
        self.allocator.occupancy()
    }

    /// The running jobs, in no particular order.
    pub fn running(&self) -> impl Iterator<Item = &JobSlot> {
        self.jobs.running()
    }

    /// The number of free processors.
    pub const fn free(&self) -> u32 {
        self.allocator.occupancy().free()
    }

    /// The waiting jobs, in the order of their arrival less their priority.
    #[inline]
    pub fn queue(&self) -> Queue<'_> {
        self.jobs.queue()
    }

    /// The expected end of a waiting job if it started at `start`; `Ticks::MAX` without an
    /// estimate.
    pub fn would_end(&self, job: Slot, start: Ticks) -> Ticks {
        let estimate = self.jobs.get(job).request().estimate;
        estimate.map_or(Ticks::MAX, |estimate| start.saturating_add(estimate.get()))
    }

    /// Lets the strategy search for a job that may take any free processors.
    // One copy on the board, to save flash.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(super) fn find(&mut self, job: Slot) -> Result<Chain, Refusal> {
        let (placing, request, demand) = placing(self.jobs, job, self.now, 0);
        let purpose = Purpose::Grant(Some(placing));
        let pause = Pause::with_jobs(self.pauses, self.jobs);
        let jobs = Some(&*self.jobs);
        self.allocator
            .find(request, demand, jobs, purpose, pause.as_ref())
    }
}

/// The jobs, the allocator, and the pause for its work. The jobs cannot change meanwhile.
pub(crate) type Parts<'a, 'm, S> = (
    &'a JobTable<'m>,
    &'a mut Allocator<'m, S>,
    Option<Pause<'a, 'm>>,
);

/// The job to be placed, its request, and the minimum number of processors for it.
#[inline]
pub(super) fn placing<'a, 'm>(
    jobs: &'a JobTable<'m>,
    job: Slot,
    now: Ticks,
    withheld_before: Ticks,
) -> (Placing<'a, 'm>, &'a Request, u32) {
    let placing = Placing {
        jobs,
        job,
        now,
        withheld_before,
    };
    let job = jobs.get(job);
    (placing, job.request(), job.demand())
}
