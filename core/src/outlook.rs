//! What is known about jobs when one is placed: [`Outlook`].

use crate::blocks::Held;
use crate::grid::Block;
use crate::jobs::{JobTable, Slot};
use crate::occupancy::Occupancy;
use crate::request::{Request, Ticks};
use crate::word::Word;

/// What is known about jobs when a place is looked for: for strategies that look ahead.
///
/// An allocator without jobs knows only what is held.
#[derive(Clone, Copy, Debug)]
pub struct Outlook<'a, 'm> {
    held: Held<'a, 'm>,
    occupancy: &'a Occupancy<'m>,
    placing: Option<Placing<'a, 'm>>,
}

/// The job that is placed, among all others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placing<'a, 'm> {
    pub(crate) jobs: &'a JobTable<'m>,
    pub(crate) job: Slot,
    pub(crate) now: Ticks,
    /// What is reserved from before this time on is withheld; 0 if nothing is.
    pub(crate) withheld_before: Ticks,
}

/// A block that is held, or reserved for another job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldBlock {
    /// Where.
    pub block: Block,
    /// When the job that holds it, or for which it is reserved, is expected to end, not before the
    /// present; `None` without an estimate.
    pub ends: Option<Ticks>,
}

impl<'a, 'm> Outlook<'a, 'm> {
    pub(crate) const fn new(
        held: Held<'a, 'm>,
        occupancy: &'a Occupancy<'m>,
        placing: Option<Placing<'a, 'm>>,
    ) -> Self {
        Outlook {
            held,
            occupancy,
            placing,
        }
    }

    /// The present.
    pub fn now(&self) -> Ticks {
        self.placing.map_or(0, |placing| placing.now)
    }

    /// What running jobs hold: in the order of their grants, or in no particular one where there
    /// are no jobs. Then the blocks that the job has to avoid since they are reserved for others,
    /// in the order of the queue: running jobs may hold parts of them.
    pub fn held(&self) -> impl Iterator<Item = HeldBlock> + use<'a, 'm> {
        let (held, placing) = (self.held, self.placing);
        let of_jobs = placing.into_iter().flat_map(move |placing| {
            let running = placing.jobs.running().flat_map(move |job| {
                let ends = job.ends(placing.now);
                let blocks = held.of(job.blocks());
                blocks.map(move |block| HeldBlock { block, ends })
            });
            let reserved = placing.jobs.reserved_before(placing.withheld_before);
            running.chain(reserved.filter_map(move |job| {
                let block = job.reserved_block()?;
                let ends = job.ends(placing.now);
                Some(HeldBlock { block, ends })
            }))
        });
        let without_jobs = placing.is_none().then(|| held.blocks()).into_iter();
        let without_jobs = without_jobs
            .flatten()
            .map(|block| HeldBlock { block, ends: None });
        of_jobs.chain(without_jobs)
    }

    /// The requests that wait, in the order of their arrival, but for the one that is placed and for the head of the queue. As a rule that is the same
    /// one, or it is blocked; under shortest job first it may be a job that has not tried yet.
    pub fn waiting(&self) -> impl Iterator<Item = &'a Request> + use<'a, 'm> {
        let placing = self.placing.into_iter();
        placing.flat_map(|placing| {
            let others = placing.jobs.queue().slots().skip(1);
            others
                .filter(move |&slot| slot != placing.job)
                .map(move |slot| placing.jobs.get(slot).request())
        })
    }

    /// Whether some of these blocks are reserved.
    pub fn is_any_reserved(&self) -> bool {
        self.placing.is_some_and(|placing| {
            let before = placing.withheld_before;
            placing.jobs.reserved_before(before).next().is_some()
        })
    }

    /// Marks the processors that no job which leaves can make free, a bit each as in the occupancy:
    /// those that are faulty. Returns whether there is any; if not, nothing has been written.
    pub fn mark_never_free(&self, bits: &mut [Word]) -> bool {
        let is_any_faulty = self.occupancy.faulty_count() > 0;
        if is_any_faulty {
            let rows = bits.chunks_exact_mut(self.occupancy.stride());
            for (row, bits) in rows.enumerate() {
                bits.copy_from_slice(self.occupancy.faulty_row(row));
            }
        }
        is_any_faulty
    }
}
