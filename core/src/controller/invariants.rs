//! The invariants of a controller.

use super::Controller;
use crate::job_id::JobId;
use crate::jobs::JobSlot;
use crate::scheduler::ServedScheduler;
use crate::strategy::{FindsAgain, ServedStrategy};

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    /// Asserts every invariant of the controller and its parts. For tests; slow.
    pub fn check_invariants(&self) {
        self.jobs.check_invariants();
        let mut blocks = 0;
        let grid = self.machine();
        for job in self.jobs.running() {
            let held: u32 = self.blocks(job).map(|block| grid.area(block)).sum();
            assert_eq!(held, job.processors(), "processors of job {}", job.id());
            blocks += job.blocks_len();
        }
        assert_eq!(self.overlapping_reservations(), None, "reserved for both");
        let reserved = self.jobs.reserved();
        let kept: u32 = reserved.map(|job| job.reserved_chain().len()).sum();
        let (_, pool) = self.allocator.parts();
        assert_eq!(pool.reserved_len(), kept, "blocks that are reserved");
        self.allocator.check_holding(Some(&self.jobs), blocks);
    }

    /// Two waiting jobs whose reservations overlap in space and in time, or one job twice, if its
    /// reservation is outside the machine. Two kinds of reservations are left out: those of the
    /// whole machine, for whose blocks there may have been no room, and those of strategies that
    /// need more than a place ([`FindsAgain::FromFirstFree`]).
    ///
    /// # Time complexity
    ///
    /// O(R^2) for R reserved blocks.
    pub(super) fn overlapping_reservations(&self) -> Option<[JobId; 2]> {
        let grid = self.machine();
        let is_whole = |job: &JobSlot| job.reserved_block() == Some(grid.whole());
        let is_over = |job: &JobSlot, other: &JobSlot| {
            job.ends(0)
                .is_some_and(|end| Some(end) <= other.reserved_from())
        };
        for (at, job) in self.jobs.reserved().enumerate() {
            if self.reserved_blocks(job).any(|block| !grid.contains(block)) {
                return Some([job.id(); 2]);
            }
            for other in self.jobs.reserved().skip(at + 1) {
                let may_overlap = is_whole(job)
                    || is_whole(other)
                    || is_over(job, other)
                    || is_over(other, job)
                    || self.strategy().facts().finds_again != FindsAgain::Monotone;
                let is_on = |block| {
                    self.reserved_blocks(other)
                        .any(|it| grid.overlap(block, it))
                };
                if !may_overlap && self.reserved_blocks(job).any(is_on) {
                    return Some([job.id(), other.id()]);
                }
            }
        }
        None
    }
}
