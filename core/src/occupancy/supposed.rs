//! Occupancies that the machine does not have, for questions about the future.

use heapless::Vec;

use super::Occupancy;
use crate::grid::{Block, Grid};
use crate::layout::Layout;
use crate::word::Word;

impl<'m> Occupancy<'m> {
    /// An occupancy of this machine that is supposed, in memory of its own. It says nothing before the first
    /// [`Occupancy::suppose`].
    pub(crate) fn supposed(grid: Grid, busy: &'m mut [Word]) -> Self {
        Occupancy {
            layout: Layout::new(grid),
            unmarked_max: 0,
            pending: Vec::new(),
            pending_area: 0,
            busy,
            faulty: &mut [],
            free: 0,
            faulty_count: 0,
            releases: None,
        }
    }

    /// Whether it is not the machine's.
    #[cfg(feature = "free-submesh-list")]
    pub(crate) const fn is_supposed(&self) -> bool {
        self.releases.is_none()
    }

    /// From now on of this machine; it says nothing before the next [`Occupancy::suppose`].
    pub(crate) fn suppose_of(&mut self, grid: Grid) {
        self.layout = Layout::new(grid);
    }

    /// Becomes the same as `actual`, of the same machine, with nothing pending. Faulty processors are merely busy.
    pub(crate) fn suppose(&mut self, actual: &Occupancy<'_>) {
        self.free = actual.free;
        self.busy[..actual.words()].copy_from_slice(&actual.busy[..actual.words()]);
    }

    /// Of an occupancy that is supposed: all processors of the block, which are busy, are free, but for those that are faulty in `actual`.
    pub(crate) fn suppose_free(&mut self, actual: &Occupancy<'_>, block: Block) {
        debug_assert!(
            self.layout
                .words(block, |word, bits| self.busy[word] & bits == bits),
            "given back once"
        );
        let words = actual.words();
        let (busy, faulty) = (&mut self.busy[..words], &actual.faulty[..words]);
        if actual.faulty_count == 0 {
            self.layout.words(block, |word, bits| {
                busy[word] &= !bits;
                true
            });
            self.free += self.layout.area(block);
            return;
        }
        let mut freed = 0;
        self.layout.words(block, |word, bits| {
            let free = bits & !faulty[word];
            busy[word] &= !free;
            freed += free.count_ones();
            true
        });
        self.free += freed;
    }

    /// Of an occupancy that is supposed: all processors of the machine are free, the faulty ones as well.
    pub(crate) fn suppose_all_free(&mut self) {
        self.free = self.grid().nodes();
        let words = self.words();
        self.busy[..words].fill(0);
    }
}
