//! Which processors are busy: [`Occupancy`], their one owner.

use heapless::Vec;

use crate::grid::{Block, Grid};
use crate::layout::Layout;
use crate::marking::for_each_row;
use crate::mesh::Submesh;
use crate::node::NodeId;
#[cfg(feature = "restore")]
use crate::word::next_bit;
use crate::word::{Span, WORD_BITS, Word, words_for};

/// The most blocks that wait to be marked.
pub(crate) const PENDING_MAX: usize = 16;

/// A bit for each processor: busy (held by a job, or faulty) or free.
///
/// Row `r` of the machine is the words `r * stride..(r + 1) * stride`; bits past the end of a row are
/// busy, so "outside counts as busy" needs no special case in a search.
///
/// Strategies read it; only the allocator changes it.
///
/// # Deferred marking
///
/// A job that holds a quarter of a large mesh covers a thousand words, and a strategy that keeps a list of its own
/// never looks at them, nor does one that compares the sides of blocks while these are few. For such a strategy blocks are noted as
/// pending, and most are given back before anybody has looked; all of them are marked when the notes are full, or before a
/// search that reads the bitmap.
#[derive(Debug)]
pub struct Occupancy<'m> {
    /// Which words are in use; the slices may be longer.
    layout: Layout,
    /// The most blocks for which the bitmap is not read ([`Strategy::blocks_unmarked`](crate::Strategy::blocks_unmarked)). Unless it is 0, blocks are
    /// noted first.
    unmarked_max: usize,
    /// Blocks that are held, but not marked yet. Invariant: empty if `unmarked_max` is 0; without faulty processors.
    pending: Vec<Block, PENDING_MAX>,
    /// Invariant: the number of processors of the pending blocks.
    pending_area: u32,
    /// Invariant: set for every faulty processor, every held one that is not pending, and all padding.
    busy: &'m mut [Word],
    /// Invariant: no padding.
    faulty: &'m mut [Word],
    /// Invariant: the number of clear bits in the rows of `busy`, less the pending blocks.
    free: u32,
    /// Invariant: the number of set bits in `faulty`.
    faulty_count: u32,
    /// How often a processor became free. `None` for an occupancy that is supposed.
    releases: Option<u64>,
}

impl<'m> Occupancy<'m> {
    /// The number of words a machine takes.
    pub const fn words_needed(grid: &Grid) -> usize {
        grid.rows() as usize * words_for(grid.row_len())
    }

    /// An occupancy of this machine, which says nothing before [`Occupancy::clear`].
    pub(crate) fn new(grid: Grid, busy: &'m mut [Word], faulty: &'m mut [Word]) -> Self {
        let words = busy.len().min(faulty.len());
        Occupancy {
            layout: Layout::new(grid),
            unmarked_max: 0,
            pending: Vec::new(),
            pending_area: 0,
            busy: &mut busy[..words],
            faulty: &mut faulty[..words],
            free: 0,
            faulty_count: 0,
            releases: Some(0),
        }
    }

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

    /// All processors of the block are busy, whatever they were. Only where nothing is pending.
    pub(crate) fn withhold(&mut self, block: Block) {
        let mut taken = 0;
        let words = self.words();
        let busy = &mut self.busy[..words];
        self.layout.words(block, |word, bits| {
            taken += (!busy[word] & bits).count_ones();
            busy[word] |= bits;
            true
        });
        self.free -= taken;
    }

    /// Begins anew with this machine, which must fit ([`Occupancy::capacity_words`]).
    pub(crate) fn clear(&mut self, grid: Grid, unmarked_max: usize) {
        self.layout = Layout::new(grid);
        self.unmarked_max = unmarked_max;
        self.pending.clear();
        self.pending_area = 0;
        self.free = grid.nodes();
        self.faulty_count = 0;
        self.count_release();
        self.faulty.fill(0);
        let tail = grid.row_len() % WORD_BITS;
        let padding = if tail == 0 { 0 } else { Word::MAX << tail };
        let (words, stride) = (self.words(), self.stride());
        for row in self.busy[..words].chunks_exact_mut(stride) {
            row.fill(0);
            row[stride - 1] = padding;
        }
    }

    /// The words there is room for.
    pub(crate) const fn capacity_words(&self) -> usize {
        self.busy.len()
    }

    /// The machine whose processors these are.
    #[inline]
    pub const fn grid(&self) -> &Grid {
        self.layout.grid()
    }

    /// Where they stand in the words.
    #[inline]
    pub(crate) const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The number of free processors.
    #[inline]
    pub const fn free(&self) -> u32 {
        self.free
    }

    /// The number of faulty processors.
    pub const fn faulty_count(&self) -> u32 {
        self.faulty_count
    }

    /// A number that grows whenever a processor becomes free: what could not be placed before it grows cannot be placed
    /// now. `None` for an occupancy that is only supposed, of which nothing is remembered.
    #[inline]
    pub(crate) const fn releases(&self) -> Option<u64> {
        self.releases
    }

    #[inline]
    const fn count_release(&mut self) {
        if let Some(releases) = &mut self.releases {
            *releases += 1;
        }
    }

    /// Words in a row.
    #[inline]
    pub(crate) const fn stride(&self) -> usize {
        self.layout.row_words()
    }

    /// Words in use.
    #[inline]
    const fn words(&self) -> usize {
        self.layout.rows() * self.layout.row_words()
    }

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

    /// The busy bits of all rows, [`Occupancy::stride`] words each. Only where nothing is pending.
    #[inline]
    pub(crate) fn busy_rows(&self) -> &[Word] {
        debug_assert!(self.pending.is_empty());
        &self.busy[..self.words()]
    }

    /// The busy bits of one row: a bit for each node, the lowest first, and set bits behind the last. Only where nothing is pending.
    #[inline]
    pub(crate) fn busy_row(&self, row: usize) -> &[Word] {
        debug_assert!(self.pending.is_empty());
        self.marked_row(row)
    }

    /// The busy bits of all rows if nothing is pending.
    pub(crate) fn settled_rows(&self) -> Option<&[Word]> {
        let rows = &self.busy[..self.words()];
        self.pending.is_empty().then_some(rows)
    }

    fn marked_row(&self, row: usize) -> &[Word] {
        &self.busy[row * self.stride()..(row + 1) * self.stride()]
    }

    /// Copies the busy bits of one row of a mesh, with what is pending.
    pub(crate) fn read_row(&self, row: usize, into: &mut [Word]) {
        into.copy_from_slice(self.marked_row(row));
        for &block in &self.pending {
            let Submesh { base, sides } = Submesh::of_plane(block);
            let first = usize::from(base.y);
            if (first..first + usize::from(sides.h)).contains(&row) {
                let span = Span::new(u32::from(base.x), u32::from(sides.w));
                let words = into.iter_mut().enumerate().skip(span.first);
                for (word, bits) in words.take(span.last + 1 - span.first) {
                    *bits |= span.mask(word);
                }
            }
        }
    }

    /// The faulty bits of one row.
    pub(crate) fn faulty_row(&self, row: usize) -> &[Word] {
        &self.faulty[row * self.stride()..(row + 1) * self.stride()]
    }

    /// The faulty processors in the order of their numbers. O(words), O(1) if there is none.
    #[cfg(feature = "restore")]
    pub(crate) fn faulty_nodes(&self) -> impl Iterator<Item = NodeId> {
        let rows = match self.faulty_count {
            0 => 0,
            _ => self.layout.rows(),
        };
        let len = self.grid().row_len();
        (0..rows).flat_map(move |row| {
            let mut at = 0;
            core::iter::from_fn(move || {
                let node = next_bit(self.faulty_row(row), at, true)?;
                at = node + 1;
                Some(NodeId(row as u32 * len + node))
            })
        })
    }

    fn place(&self, node: NodeId) -> Option<(usize, Word)> {
        let grid = self.grid();
        if node.0 >= grid.nodes() {
            return None;
        }
        let len = grid.row_len();
        let (row, at) = (node.0 / len, node.0 % len);
        let word = row as usize * self.stride() + (at / WORD_BITS) as usize;
        Some((word, 1 << (at % WORD_BITS)))
    }

    /// Whether the processor is held or faulty. One outside the machine is busy.
    pub fn is_busy(&self, node: NodeId) -> bool {
        let marked = self
            .place(node)
            .is_none_or(|(word, bit)| self.busy[word] & bit != 0);
        let mut pending = self.pending.iter();
        marked || pending.any(|&block| self.grid().holds(block, node))
    }

    /// Whether the processor is faulty. One outside the machine is not.
    pub fn is_faulty(&self, node: NodeId) -> bool {
        self.place(node)
            .is_some_and(|(word, bit)| self.faulty[word] & bit != 0)
    }

    /// Sets a bit for each busy or each faulty processor from one on, the lowest bit of a byte first. O(words), and O(processors) of the bytes.
    pub(crate) fn pack(&self, is_faulty: bool, from: u32, bytes: &mut [u8]) {
        let (words, pending) = match is_faulty {
            true => (&*self.faulty, &[][..]),
            false => (&*self.busy, &*self.pending),
        };
        for (word, &bits) in words[..self.words()].iter().enumerate() {
            self.pack_word(word, bits, from, bytes);
        }
        for &block in pending {
            self.layout.words(block, |word, bits| {
                self.pack_word(word, bits, from, bytes);
                true
            });
        }
    }

    fn pack_word(&self, word: usize, mut bits: Word, from: u32, bytes: &mut [u8]) {
        let len = self.grid().row_len();
        let (row, at) = (word / self.stride(), word % self.stride());
        let at = at as u32 * WORD_BITS;
        let first = row as u32 * len + at;
        if first >= from + 8 * bytes.len() as u32 || first + WORD_BITS <= from {
            return;
        }
        while bits != 0 {
            let bit = bits.trailing_zeros();
            bits &= bits - 1;
            let place = (first + bit).wrapping_sub(from);
            // What is behind the row is padding.
            if at + bit < len
                && let Some(byte) = bytes.get_mut((place / 8) as usize)
            {
                *byte |= 1 << (place % 8);
            }
        }
    }

    /// Whether every processor of the block is free.
    pub fn is_free(&self, block: Block) -> bool {
        let grid = self.grid();
        let mut pending = self.pending.iter();
        grid.contains(block)
            && self
                .layout
                .words(block, |word, bits| self.busy[word] & bits == 0)
            && !pending.any(|&pending| grid.overlap(pending, block))
    }

    /// The number of free processors of a submesh of a two-dimensional mesh.
    pub(crate) fn free_in(&self, submesh: Submesh) -> u32 {
        let mut busy = 0;
        self.layout.words(submesh.into(), |word, bits| {
            busy += (self.busy[word] & bits).count_ones();
            true
        });
        let common = |pending: &Block| Submesh::of_plane(*pending).common(submesh);
        let pending: u32 = self.pending.iter().map(common).sum();
        submesh.area() - busy - pending
    }

    /// Calls `change` with each word of the block: of `busy`, and the block's bits in it. It may be called with other words and no bits.
    #[inline(always)]
    fn for_each_word(&mut self, block: Block, mut change: impl FnMut(&mut Word, Word)) {
        let words = self.words();
        let busy = &mut self.busy[..words];
        if let Some((rows, bits)) = self.layout.rows_of_one_word(block) {
            for_each_row(busy, rows, bits, change);
            return;
        }
        self.layout.words(block, |word, bits| {
            change(&mut busy[word], bits);
            true
        });
    }

    /// Marks the processors of a block as busy.
    // The board has one copy.
    #[cfg_attr(target_os = "none", inline(never))]
    #[cfg_attr(not(target_os = "none"), inline(always))]
    fn mark_busy(&mut self, block: Block) {
        self.for_each_word(block, |busy, bits| *busy |= bits);
    }

    /// Marks the processors of a block as free. None is faulty.
    #[inline]
    fn mark_free(&mut self, block: Block) {
        self.for_each_word(block, |busy, bits| *busy &= !bits);
    }

    /// Marks the processors of a block as free, but for those that are faulty; returns how many.
    #[inline(never)]
    fn mark_working_free(&mut self, block: Block) -> u32 {
        // One length for both, so that one check of an index serves both.
        let words = self.words();
        let (busy, faulty) = (&mut self.busy[..words], &self.faulty[..words]);
        let mut freed = 0;
        self.layout.words(block, |word, bits| {
            let working = bits & !faulty[word];
            busy[word] &= !working;
            freed += working.count_ones();
            true
        });
        freed
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

    /// Marks the processors of a block as faulty; returns how many were in order.
    pub(crate) fn mark_faulty(&mut self, block: Block) -> u32 {
        self.settle();
        let words = self.words();
        let faulty = &mut self.faulty[..words];
        let mut changed = 0;
        self.layout.words(block, |word, bits| {
            changed += (bits & !faulty[word]).count_ones();
            faulty[word] |= bits;
            true
        });
        self.faulty_count += changed;
        self.withhold(block);
        changed
    }

    /// Of an occupancy that is supposed: all processors of the machine are free, the faulty ones as well.
    pub(crate) fn suppose_all_free(&mut self) {
        self.free = self.grid().nodes();
        let words = self.words();
        self.busy[..words].fill(0);
    }

    /// Marks the processors of a block as working; in `held` at least all those of the block are busy that are held. Returns how many were faulty.
    pub(crate) fn clear_faulty(&mut self, block: Block, held: &Occupancy<'_>) -> u32 {
        self.settle();
        let words = self.words();
        let (busy, faulty) = (&mut self.busy[..words], &mut self.faulty[..words]);
        let held = &held.busy[..words];
        let (mut changed, mut freed) = (0, 0);
        self.layout.words(block, |word, bits| {
            let cleared = bits & faulty[word];
            let free = cleared & !held[word];
            faulty[word] ^= cleared;
            busy[word] ^= free;
            changed += cleared.count_ones();
            freed += free.count_ones();
            true
        });
        self.faulty_count -= changed;
        self.free += freed;
        if freed > 0 {
            self.count_release();
        }
        changed
    }

    /// Asserts every invariant named above.
    pub fn check_invariants(&self) {
        let nodes = self.grid().nodes();
        let padding = self.words() as u32 * WORD_BITS - nodes;
        let marked = &self.busy[..self.words()];
        let marked: u32 = marked.iter().map(|word| word.count_ones()).sum();
        let pending: u32 = self
            .pending
            .iter()
            .map(|&block| self.grid().area(block))
            .sum();
        assert_eq!(marked - padding + pending, nodes - self.free, "free count");
        assert!(self.unmarked_max > 0 || pending == 0, "nothing is pending");
        assert_eq!(pending, self.pending_area, "of what is pending");
        let mut faulty = 0;
        let len = self.grid().row_len();
        for row in 0..self.layout.rows() {
            let words = self.faulty_row(row).iter().zip(self.marked_row(row));
            for (first, (bad, busy)) in (0..).step_by(WORD_BITS as usize).zip(words) {
                assert_eq!(bad & !busy, 0, "a faulty processor is busy");
                faulty += bad.count_ones();
                let nodes = len.saturating_sub(first);
                let padding = Word::MAX.checked_shl(nodes).unwrap_or(0);
                assert_eq!(busy & padding, padding, "padding is busy");
                assert_eq!(bad & padding, 0, "padding is not faulty");
            }
        }
        assert_eq!(faulty, self.faulty_count, "faulty count");
    }
}
