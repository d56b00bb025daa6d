//! Supposed occupancies: copies of the machine's occupancy in which blocks are given back or
//! occupied.

use super::{Occupancy, free_all_but};
use crate::grid::{Block, Grid};
use crate::layout::Layout;

impl Occupancy<'_> {
    /// Whether it is supposed, and not the machine's own.
    pub(crate) const fn is_supposed(&self) -> bool {
        self.releases.is_none()
    }

    /// Changes the machine. The bits are meaningless before the next [`Occupancy::suppose`].
    pub(crate) fn suppose_of(&mut self, grid: Grid) {
        self.layout = Layout::new(grid);
    }

    /// Copies `actual`, an occupancy of the same machine with nothing pending. Faulty processors
    /// become busy ones.
    pub(crate) fn suppose(&mut self, actual: &Occupancy<'_>) {
        self.free = actual.free;
        self.busy[..actual.words()].copy_from_slice(&actual.busy[..actual.words()]);
    }

    /// Marks the processors of the block as free, except those that are faulty in `actual`. All of
    /// them must be busy.
    pub(crate) fn suppose_free(&mut self, actual: &Occupancy<'_>, block: Block) {
        debug_assert!(
            self.layout
                .words(block, |word, bits| self.busy[word] & bits == bits),
            "given back once"
        );
        let words = actual.words();
        let (busy, faulty) = (&mut self.busy[..words], &actual.faulty[..words]);
        self.free += free_all_but(faulty, busy, &self.layout, block);
    }

    /// Marks all processors of the machine as free, including the faulty ones.
    pub(crate) fn suppose_all_free(&mut self) {
        self.free = self.grid().nodes();
        let words = self.words();
        self.busy[..words].fill(0);
    }
}
