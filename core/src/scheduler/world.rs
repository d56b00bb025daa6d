//! What a scheduler sees: [`World`].

use super::Try;
use crate::allocator::Allocator;
use crate::blocks::Chain;
use crate::error::Refusal;
use crate::jobs::{JobSlot, JobTable, Queue, Slot};
use crate::outlook::Placing;
use crate::request::{Request, Ticks};
use crate::strategy::StrategyKind;
use crate::watch::Watcher;

/// All that a scheduler decides by: the jobs that wait and run, the machine, the time, and what could be placed if some had ended.
///
/// It changes nothing but reservations, and these are notes on jobs that wait: they keep no processor from anyone but by the
/// [`Try`](super::Try) that a scheduler makes of them.
#[derive(Debug)]
pub(crate) struct World<'a, 'm> {
    pub(crate) jobs: &'a mut JobTable<'m>,
    pub(crate) allocator: &'a mut Allocator<'m>,
    pub(crate) strategy: &'a StrategyKind,
    pub(crate) now: Ticks,
    pub(crate) watcher: Watcher<'a>,
}

impl<'m> World<'_, 'm> {
    /// The present.
    #[inline]
    pub(crate) const fn now(&self) -> Ticks {
        self.now
    }

    /// The number of free processors.
    pub(crate) const fn free(&self) -> u32 {
        self.allocator.occupancy().free()
    }

    /// The jobs that wait, in the order of their arrival.
    #[inline]
    pub(crate) fn queue(&self) -> Queue<'_> {
        self.jobs.queue()
    }

    /// The jobs that run, in the order of their grants.
    pub(crate) fn running(&self) -> impl Iterator<Item = &JobSlot> {
        self.jobs.running()
    }

    /// When a waiting job would be expected to end if it began at a time; `Ticks::MAX` without an estimate.
    pub(crate) fn would_end(&self, job: Slot, start: Ticks) -> Ticks {
        let estimate = self.jobs.get(job).request().estimate;
        estimate.map_or(Ticks::MAX, |estimate| start.saturating_add(estimate.get()))
    }

    /// Tries to give a waiting job its processors.
    #[inline(always)]
    pub(crate) fn place(&mut self, attempted: Try) -> Result<Chain, Refusal> {
        let blocks = match attempted {
            Try::Freely(job) => self.find(job),
            #[cfg(feature = "reservations")]
            Try::AroundReservations(job) => self.find_around_reservations(job),
        };
        let watch = self.watcher.beside(self.jobs);
        let blocks = blocks?;
        self.allocator.take_watched(blocks, watch);
        Ok(blocks)
    }

    /// What the strategy finds for a job that may take whatever is free.
    // The board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(super) fn find(&mut self, job: Slot) -> Result<Chain, Refusal> {
        let (placing, request, demand) = placing(self.jobs, job, self.now, 0);
        let watch = self.watcher.beside(self.jobs);
        self.allocator.find(request, demand, Some(placing), watch)
    }
}

/// The job to be placed, what it asks for, and the least number of processors for it.
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
