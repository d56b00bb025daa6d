//! Faulty processors of an allocator.

use super::Allocator;
use crate::grid::Block;
use crate::jobs::JobTable;
use crate::machine::Description;
use crate::outlook::held_by;
use crate::pause::Pause;
use crate::request::Request;
use crate::strategy::{OccupancyEvent, Strategy};
use crate::supposition::Unheld;
use crate::tolerance::Tolerance;

impl<'m, S: Strategy> Allocator<'m, S> {
    /// Marks the processors of a block of the machine as faulty: they are busy, and cannot be
    /// allocated, until [`Allocator::clear_faulty`]. Held processors stay held. Returns how many
    /// were not faulty before. A block that is not within the machine changes nothing and returns
    /// 0.
    ///
    /// # Time complexity
    ///
    /// O(words) of the block; for a strategy that keeps a list, the time of an allocation.
    pub fn mark_faulty(&mut self, block: Block) -> u32 {
        self.set_faulty(block, true, None, None)
    }

    /// Marks the processors of a block of the machine as working again. Held processors stay busy,
    /// as do absent ones ([`Description::with_absent`]). Returns how many were faulty before. A
    /// block that is not within the machine changes nothing and returns 0.
    ///
    /// # Time complexity
    ///
    /// O(words) of the machine and of the held blocks that overlap the block, and O(blocks held). A
    /// strategy that keeps a list rebuilds it unless the block is one processor.
    pub fn clear_faulty(&mut self, block: Block) -> u32 {
        self.set_faulty(block, false, None, None)
    }

    /// [`Allocator::mark_faulty`] or [`Allocator::clear_faulty`]. The held blocks are those of
    /// `jobs`, if there are jobs.
    pub(crate) fn set_faulty(
        &mut self,
        block: Block,
        faulty: bool,
        jobs: Option<&JobTable<'m>>,
        pause: Option<&Pause<'_, 'm>>,
    ) -> u32 {
        if !self.occupancy.grid().contains(block) {
            return 0;
        }
        let before = self.occupancy.free();
        let changed = if faulty {
            self.occupancy.mark_faulty(block)
        } else {
            self.suppose_held_near(block, jobs, pause);
            let mut changed = self.occupancy.clear_faulty(block, &self.supposed);
            if Description::BUILT {
                for absent in self.absent() {
                    if self.occupancy.grid().overlap(absent, block) {
                        changed -= self.occupancy.mark_faulty(absent);
                    }
                }
            }
            changed
        };
        if self.occupancy.free() != before {
            let poll = || Pause::poll(pause, &self.occupancy, &self.pool);
            let event = if faulty {
                OccupancyEvent::Taken(block)
            } else {
                OccupancyEvent::Repaired(block)
            };
            self.strategy.changed(&self.occupancy, event, &poll);
        }
        changed
    }

    /// The faulty processors that are in no held block and are not absent. If there is a table of
    /// jobs, they hold the blocks.
    pub(crate) fn unheld(
        &mut self,
        jobs: Option<&JobTable<'m>>,
        pause: Option<&Pause<'_, 'm>>,
    ) -> Unheld {
        let mut unheld = Unheld::NONE;
        if Tolerance::BUILT && self.occupancy.faulty_count() > 0 {
            self.suppose_held_near(self.occupancy.grid().whole(), jobs, pause);
            for absent in self.absent() {
                self.supposed.occupy(absent);
            }
            let nodes = self.occupancy.faulty_nodes();
            nodes
                .filter(|&node| !self.supposed.is_busy(node))
                .for_each(|node| unheld.add(node));
        }
        unheld
    }

    /// [`Allocator::unheld`], if the request may have some of them.
    pub(crate) fn unheld_for(
        &mut self,
        request: &Request,
        jobs: Option<&JobTable<'m>>,
        pause: Option<&Pause<'_, 'm>>,
    ) -> Unheld {
        if request.is_tolerant() {
            self.unheld(jobs, pause)
        } else {
            Unheld::NONE
        }
    }

    /// Supposes that all processors are free but those of held blocks that overlap this one.
    fn suppose_held_near(
        &mut self,
        block: Block,
        jobs: Option<&JobTable<'m>>,
        pause: Option<&Pause<'_, 'm>>,
    ) {
        self.supposed.clear(*self.occupancy.grid(), 0);
        for held in held_by(&self.pool, jobs) {
            if self.occupancy.grid().overlap(held, block) {
                self.supposed.occupy(held);
            }
            Pause::poll(pause, &self.occupancy, &self.pool);
        }
    }
}
