//! What must always be true of a controller.

use super::Controller;
use crate::grid::Block;
use crate::jobs::JobSlot;

impl Controller<'_> {
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
        self.check_reservations();
        self.allocator.check_invariants(blocks);
    }

    /// Asserts that reservations lie within the machine and are disjoint, in space or in time.
    fn check_reservations(&self) {
        let grid = self.machine();
        for (at, job) in self.jobs.reserved().enumerate() {
            let Some(block) = job.reserved_block() else {
                continue;
            };
            assert!(grid.contains(block), "reserved for job {}", job.id());
            for other in self.jobs.reserved().skip(at + 1) {
                let overlaps = |other: Block| grid.overlap(block, other);
                if other.reserved_block().is_some_and(overlaps) {
                    let is_over = |job: &JobSlot, other: &JobSlot| {
                        job.ends(0)
                            .is_some_and(|end| Some(end) <= other.reserved_from())
                    };
                    let apart = is_over(job, other) || is_over(other, job);
                    assert!(apart, "reserved for jobs {} and {}", job.id(), other.id());
                }
            }
        }
    }
}
