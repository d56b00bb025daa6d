//! Supposed occupancies: copies of an occupancy in which blocks are given back or occupied. The
//! allocator uses them to answer what a strategy would do, and a strategy while its proposal grows.
//!
//! ```text
//!   occupancy   # . . .      copy   # 1 1 .      difference   . 1 1 .
//!               # # . .             # # 1 .                   . . 1 .
//! ```

use heapless::Vec;

use super::{Occupancy, free_all_but};
use crate::grid::Block;
use crate::word::Word;

impl<'m> Occupancy<'m> {
    /// Whether the occupancy is supposed, and not the machine's own.
    pub(crate) const fn is_supposed(&self) -> bool {
        self.releases.is_none()
    }

    /// A copy in these words, at least as many as this occupancy has, and the rest of the words.
    /// Only if nothing is pending. Faulty processors become busy ones.
    pub(crate) fn copy_in<'s>(&self, words: &'s mut [Word]) -> (Occupancy<'s>, &'s mut [Word]) {
        let (busy, rest) = words.split_at_mut(self.words());
        busy.copy_from_slice(self.busy_rows());
        let copy = Occupancy {
            layout: self.layout.clone(),
            unmarked_max: 0,
            pending: Vec::new(),
            pending_area: 0,
            busy,
            faulty: &mut [],
            free: self.free,
            faulty_count: 0,
            releases: None,
        };
        (copy, rest)
    }

    /// Becomes a copy of `actual`. Only if nothing is pending there. Faulty processors become busy
    /// ones.
    pub(crate) fn copy_of(&mut self, actual: &Occupancy<'_>) {
        self.layout.clone_from(&actual.layout);
        self.free = actual.free;
        let busy = actual.busy_rows();
        self.busy[..busy.len()].copy_from_slice(busy);
    }

    /// Marks the processors of the block as free, except those that are faulty in `actual`. All of
    /// them must be busy.
    pub(crate) fn vacate(&mut self, actual: &Occupancy<'_>, block: Block) {
        debug_assert!(
            self.layout
                .words(block, |word, bits| self.busy[word] & bits == bits),
            "given back once"
        );
        let words = actual.words();
        let (busy, faulty) = (&mut self.busy[..words], &actual.faulty[..words]);
        self.free += free_all_but(faulty, busy, &self.layout, block);
    }

    /// Marks the processors of a block as free. All of them must be busy, and none faulty.
    pub(crate) fn leave(&mut self, block: Block) {
        self.mark_free(block);
        self.free += self.layout.area(block);
    }

    /// Marks these processors of a word as busy, free or not. Returns how many were free.
    #[inline]
    pub(crate) fn occupy_bits(&mut self, word: usize, bits: Word) -> u32 {
        let taken = (!self.busy[word] & bits).count_ones();
        self.busy[word] |= bits;
        self.free -= taken;
        taken
    }

    /// The processors in which it differs from `actual`, a bit for each as in the occupancy.
    pub(crate) fn difference(self, actual: &Occupancy<'_>) -> &'m mut [Word] {
        let words = self.words();
        let bits = &mut self.busy[..words];
        for (bits, busy) in bits.iter_mut().zip(actual.busy_rows()) {
            *bits ^= busy;
        }
        bits
    }
}
