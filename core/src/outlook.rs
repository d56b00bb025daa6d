//! A strategy's view of the other jobs while it places one: [`Outlook`].

use core::iter;

use crate::grid::Block;
use crate::jobs::{JobTable, Reserved, Slot};
use crate::occupancy::Occupancy;
use crate::pool::BlockPool;
use crate::request::{Request, Ticks};

/// The other jobs and reservations, for strategies that look ahead.
///
/// An allocator without jobs knows only the held blocks.
#[derive(Clone, Copy, Debug)]
pub struct Outlook<'a, 'm> {
    pool: &'a BlockPool<'m>,
    occupancy: &'a Occupancy<'m>,
    placing: Option<Placing<'a, 'm>>,
}

/// Every block that a job holds; in an allocator without jobs, every held block.
pub(crate) fn held_by<'p, 'j, 'm>(
    pool: &'p BlockPool<'m>,
    jobs: Option<&'j JobTable<'m>>,
) -> impl Iterator<Item = Block> + use<'p, 'j, 'm> {
    let of_jobs = jobs.into_iter().flat_map(JobTable::running);
    let mut of_jobs = of_jobs.flat_map(move |job| pool.iter(job.blocks()));
    let mut of_pool = pool.held();
    let are_jobs = jobs.is_some();
    iter::from_fn(move || {
        // Where nothing is reserved, jobs hold all blocks of the pool.
        if Reserved::BUILT && are_jobs {
            of_jobs.next()
        } else {
            of_pool.next()
        }
    })
}

/// The job that is being placed, and the table with all others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placing<'a, 'm> {
    pub(crate) jobs: &'a JobTable<'m>,
    pub(crate) job: Slot,
    pub(crate) now: Ticks,
    /// Reservations that start before this time are withheld; 0 if no reservation is.
    pub(crate) withheld_before: Ticks,
}

/// A block that is held, or reserved for another job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldBlock {
    /// The block.
    pub block: Block,
    /// The expected end of the job that holds the block or has it reserved, not before the present.
    /// `None` without an estimate.
    pub ends: Option<Ticks>,
}

impl<'a, 'm> Outlook<'a, 'm> {
    pub(crate) const fn new(
        pool: &'a BlockPool<'m>,
        occupancy: &'a Occupancy<'m>,
        placing: Option<Placing<'a, 'm>>,
    ) -> Self {
        Outlook {
            pool,
            occupancy,
            placing,
        }
    }

    /// The machine's occupancy.
    pub const fn occupancy(&self) -> &'a Occupancy<'m> {
        self.occupancy
    }

    /// The present time; 0 for an allocator without jobs.
    pub fn now(&self) -> Ticks {
        self.placing.map_or(0, |placing| placing.now)
    }

    /// The blocks that the job cannot have. First come the blocks of running jobs, in the order of
    /// their grants. An allocator without jobs lists its held blocks in no particular order. Then
    /// come the blocks that the job has to avoid because they are reserved for other jobs, in the
    /// order of the queue. Running jobs may hold parts of these reserved blocks.
    pub fn held(&self) -> impl Iterator<Item = HeldBlock> + use<'a, 'm> {
        let (pool, placing) = (self.pool, self.placing);
        let of_jobs = placing.into_iter().flat_map(move |placing| {
            let running = placing.jobs.running().flat_map(move |job| {
                let ends = job.ends(placing.now);
                let blocks = pool.iter(job.blocks());
                blocks.map(move |block| HeldBlock { block, ends })
            });
            let reserved = placing.jobs.reserved_before(placing.withheld_before);
            running.chain(reserved.filter_map(move |job| {
                let block = job.reserved_block()?;
                let ends = job.ends(placing.now);
                Some(HeldBlock { block, ends })
            }))
        });
        let without_jobs = placing.is_none().then(|| pool.held()).into_iter();
        let without_jobs = without_jobs
            .flatten()
            .map(|block| HeldBlock { block, ends: None });
        of_jobs.chain(without_jobs)
    }

    /// The waiting requests in the order of the queue, without the request that is being placed and
    /// without the head of the queue.
    ///
    /// The head usually is the request that is being placed, or is blocked. Under shortest job
    /// first it may be a job that has not tried yet.
    pub fn waiting(&self) -> impl Iterator<Item = &'a Request> + use<'a, 'm> {
        let placing = self.placing.into_iter();
        placing.flat_map(|placing| {
            let others = placing.jobs.queue().slots().skip(1);
            others
                .filter(move |&slot| slot != placing.job)
                .map(move |slot| placing.jobs.get(slot).request())
        })
    }

    /// Whether [`Outlook::held`] has reserved blocks.
    pub fn is_any_reserved(&self) -> bool {
        self.placing.is_some_and(|placing| {
            let before = placing.withheld_before;
            placing.jobs.reserved_before(before).next().is_some()
        })
    }
}
