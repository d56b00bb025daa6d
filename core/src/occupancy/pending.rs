//! Deferred marking: blocks that are held, but not yet marked in the bitmap.

use super::Occupancy;
use crate::grid::Block;
use crate::word::Word;

/// The most blocks that wait to be marked.
pub(crate) const PENDING_MAX: usize = 16;

impl Occupancy<'_> {
    /// Before a search: marks what is pending if the bitmap will be read.
    #[inline]
    pub(crate) fn settle_for_search(&mut self) {
        if self.pending.is_empty() || self.unmarked_max == usize::MAX {
            return;
        }
        if self.few_blocks().is_none() {
            self.settle();
        }
    }

    /// Whether a processor is busy that belongs to no pending block.
    #[inline]
    fn is_any_marked(&self) -> bool {
        self.free + self.pending_area != self.grid().nodes()
    }

    /// The blocks that are busy, if these are all and so few that the bitmap need not be read.
    #[inline]
    pub(crate) fn few_blocks(&self) -> Option<&[Block]> {
        let are_few = self.pending.len() <= self.unmarked_max && !self.is_any_marked();
        are_few.then_some(&self.pending)
    }

    /// The busy bits of all rows if nothing is pending.
    pub(crate) fn settled_rows(&self) -> Option<&[Word]> {
        let rows = &self.busy[..self.words()];
        self.pending.is_empty().then_some(rows)
    }

    /// Marks a free block as held.
    #[inline(always)]
    pub(crate) fn take(&mut self, block: Block) {
        debug_assert!(
            self.is_free(block),
            "{} is not free",
            self.grid().place(block)
        );
        let area = self.layout.area(block);
        self.free -= area;
        if self.unmarked_max > 0 {
            if self.pending.is_full() {
                self.settle();
            }
            // There is room now.
            let _ = self.pending.push(block);
            self.pending_area += area;
            return;
        }
        self.mark_busy(block);
    }

    /// Marks what is pending.
    #[inline(never)]
    pub(crate) fn settle(&mut self) {
        while let Some(block) = self.pending.pop() {
            self.mark_busy(block);
        }
        self.pending_area = 0;
    }

    /// Marks a held block as free; its faulty processors stay busy. Returns the number of its processors.
    // The board has one copy.
    #[cfg_attr(target_os = "none", inline)]
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(crate) fn give_back(&mut self, block: Block) -> u32 {
        let area = self.layout.area(block);
        self.count_release();
        if self.unmarked_max > 0
            && let Some(at) = self.pending.iter().position(|&pending| pending == block)
        {
            self.pending.swap_remove(at);
            self.pending_area -= area;
            self.free += area;
            return area;
        }
        if self.faulty_count == 0 {
            self.mark_free(block);
            self.free += area;
            return area;
        }
        self.free += self.mark_working_free(block);
        area
    }
}
