//! What must always be true of a controller.

use super::Controller;
#[cfg(feature = "reservations")]
use crate::grid::Block;
#[cfg(feature = "reservations")]
use crate::jobs::JobSlot;
use crate::scheduler::ServedScheduler;
use crate::strategy::ServedStrategy;

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    /// Asserts every invariant of the whole. For tests; slow.
    pub fn check_invariants(&self) {
        self.jobs.check_invariants();
        let mut blocks = 0;
        let grid = self.machine();
        for job in self.jobs.running() {
            let held: u32 = self.blocks(job).map(|block| grid.area(block)).sum();
            assert_eq!(held, job.processors(), "processors of job {}", job.id());
            blocks += job.blocks_len();
        }
        #[cfg(feature = "reservations")]
        self.check_reservations();
        self.allocator.check_holding(Some(&self.jobs), blocks);
    }

    /// Asserts that reservations lie within the machine and are disjoint, in space or in time, but
    /// for those of the whole machine, for whose blocks there may have been no room, and of
    /// strategies that need more than a place ([`Strategy::kept_free`]).
    #[cfg(feature = "reservations")]
    fn check_reservations(&self) {
        let grid = self.machine();
        let mut kept = 0;
        for (at, job) in self.jobs.reserved().enumerate() {
            kept += job.reserved_chain().len();
            for block in self.reserved_blocks(job) {
                assert!(grid.contains(block), "reserved for job {}", job.id());
                for other in self.jobs.reserved().skip(at + 1) {
                    let overlaps = |other: Block| grid.overlap(block, other);
                    let is_whole = [job, other].map(JobSlot::reserved_block);
                    if is_whole.contains(&Some(grid.whole()))
                        || !self.strategy().is_monotone()
                        || !self.reserved_blocks(other).any(overlaps)
                    {
                        continue;
                    }
                    let is_over = |job: &JobSlot, other: &JobSlot| {
                        job.ends(0)
                            .is_some_and(|end| Some(end) <= other.reserved_from())
                    };
                    let apart = is_over(job, other) || is_over(other, job);
                    assert!(apart, "reserved for jobs {} and {}", job.id(), other.id());
                }
            }
        }
        let (_, pool) = self.allocator.parts();
        assert_eq!(pool.reserved_len(), kept, "blocks that are reserved");
    }
}
