//! Deferred marking: blocks that are held, but not yet marked in the bitmap.
//!
//! A processor is busy if the bitmap says so or if it is in a pending block. A search that reads
//! the bitmap marks the pending blocks first.
//!
//! ```text
//!   take A, B, C           give back B            settle, before a search
//!   bitmap    pending      bitmap    pending      bitmap    pending
//!   . . . .   A B C        . . . .   A C          A A . .   -
//!   . . . .                . . . .                . . C .
//! ```

use super::Occupancy;
use crate::grid::Block;
use crate::tolerance::Tolerance;

/// The maximum number of pending blocks.
pub(crate) const PENDING_MAX: usize = 16;

impl Occupancy<'_> {
    /// Prepares a search: marks the pending blocks if the search will read the bitmap.
    #[inline]
    pub(crate) fn settle_for_search(&mut self) {
        if self.pending.is_empty() || self.unmarked_max == usize::MAX {
            return;
        }
        if self.unmarked_blocks().is_none() {
            self.settle();
        }
    }

    /// Whether the bitmap marks any processor as busy.
    #[inline]
    fn is_any_marked(&self) -> bool {
        self.free + self.pending_area != self.grid().nodes()
    }

    /// The busy blocks, if all of them are pending and they are so few that the strategy does not
    /// need the bitmap.
    #[inline]
    pub(crate) fn unmarked_blocks(&self) -> Option<&[Block]> {
        let are_few = self.pending.len() <= self.unmarked_max && !self.is_any_marked();
        are_few.then_some(&self.pending)
    }

    /// Marks a block as held. Its working processors are free.
    #[inline(always)]
    pub(crate) fn take(&mut self, block: Block) {
        if Tolerance::BUILT && self.faulty_count > 0 && self.faulty_in(block) > 0 {
            self.settle();
            self.occupy(block);
            return;
        }
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
            // The push cannot fail: there is room now.
            let _ = self.pending.push(block);
            self.pending_area += area;
            return;
        }
        self.mark_busy(block);
    }

    /// Marks all pending blocks.
    #[inline(never)]
    pub(crate) fn settle(&mut self) {
        while let Some(block) = self.pending.pop() {
            self.mark_busy(block);
        }
        self.pending_area = 0;
    }

    /// Marks a held block as free; its faulty processors stay busy. Returns the number of its
    /// processors.
    // One copy on the board, to save flash.
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
