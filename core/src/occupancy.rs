//! Busy and faulty processors: [`Occupancy`], their one owner.

use heapless::Vec;

use crate::grid::{Block, Grid};
use crate::layout::Layout;
use crate::mesh::Submesh;
use crate::node::NodeId;
use crate::word::next_bit;
use crate::word::{Span, WORD_BITS, Word, words_for};

mod pending;
mod supposed;

pub(crate) use pending::PENDING_MAX;

/// A bit for each processor: set if a job holds it or it is faulty, clear if it is free.
///
/// Row `r` of the machine is stored in the words `r * stride..(r + 1) * stride`. Bits past the end
/// of a row are set, so a search needs no special case for positions outside the machine.
///
/// Strategies read it; only the allocator changes it.
///
/// # Deferred marking
///
/// A job that holds a quarter of a large mesh covers a thousand words. Two kinds of strategies
/// rarely read these words: a strategy that keeps its own list, and a strategy that compares the
/// sides of blocks while there are few. For these strategies a new block becomes *pending* and the
/// bitmap stays as it is. Most blocks are given back before they are marked. All pending blocks are
/// marked when there is no room for another one, and before a search that reads the bitmap.
#[derive(Debug)]
pub struct Occupancy<'m> {
    /// The words in use; the slices may be longer.
    layout: Layout,
    /// The strategy does not read the bitmap while no more blocks than this are held
    /// ([`Facts::blocks_unmarked`](crate::Facts::blocks_unmarked)). If it is 0, blocks are
    /// marked at once.
    unmarked_max: usize,
    /// Blocks that are held, but not yet marked. Invariant: empty if `unmarked_max` is 0; no block
    /// has a faulty processor.
    pending: Vec<Block, PENDING_MAX>,
    /// Invariant: the number of processors of the pending blocks.
    pending_area: u32,
    /// Invariant: set for every faulty processor, every held processor of a marked block, and all
    /// padding.
    busy: &'m mut [Word],
    /// Invariant: clear for padding.
    faulty: &'m mut [Word],
    /// Invariant: the number of clear bits in `busy`, less the processors of the pending blocks.
    free: u32,
    /// Invariant: the number of set bits in `faulty`.
    faulty_count: u32,
    /// How often processors became free. `None` for a supposed occupancy.
    releases: Option<u64>,
}

impl<'m> Occupancy<'m> {
    /// The number of words a machine takes.
    pub const fn words_needed(grid: &Grid) -> usize {
        grid.rows() as usize * words_for(grid.row_len())
    }

    /// An occupancy of this machine. Its contents are meaningless before [`Occupancy::clear`].
    /// `faulty` is as long as `busy`, and `releases` says how often processors have become free so
    /// far.
    ///
    /// If `releases` is `None`, this is a supposed occupancy (`supposed.rs`): its contents are
    /// meaningless before [`Occupancy::copy_of`], and it needs no `faulty`.
    pub(crate) fn new(
        grid: Grid,
        busy: &'m mut [Word],
        faulty: &'m mut [Word],
        releases: Option<u64>,
    ) -> Self {
        Occupancy {
            layout: Layout::new(grid),
            unmarked_max: 0,
            pending: Vec::new(),
            pending_area: 0,
            busy,
            faulty,
            free: 0,
            faulty_count: 0,
            releases,
        }
    }

    /// Marks all processors of the block as busy, whether they were free or not. Nothing may be
    /// pending.
    pub(crate) fn occupy(&mut self, block: Block) {
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

    /// Starts over with all processors of this machine free. The machine must fit
    /// ([`Occupancy::capacity_words`]).
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

    /// The capacity in words.
    pub(crate) const fn capacity_words(&self) -> usize {
        self.busy.len()
    }

    /// The machine.
    #[inline]
    pub const fn grid(&self) -> &Grid {
        self.layout.grid()
    }

    /// The word and bit of each processor.
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

    /// A number that grows whenever a processor becomes free. While it stays the same, a request
    /// that was not placed cannot be placed. `None` for a supposed occupancy.
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

    /// The number of words in a row.
    #[inline]
    pub(crate) const fn stride(&self) -> usize {
        self.layout.row_words()
    }

    /// The number of words in use.
    #[inline]
    const fn words(&self) -> usize {
        self.layout.rows() * self.layout.row_words()
    }

    /// The busy bits of all rows, [`Occupancy::stride`] words each. Only if nothing is pending.
    #[inline]
    pub(crate) fn busy_rows(&self) -> &[Word] {
        debug_assert!(self.pending.is_empty());
        &self.busy[..self.words()]
    }

    /// The busy bits of one row: a bit for each node, the lowest first, then set bits to the end of
    /// the last word. Only if nothing is pending.
    #[inline]
    pub(crate) fn busy_row(&self, row: usize) -> &[Word] {
        debug_assert!(self.pending.is_empty());
        self.marked_row(row)
    }

    /// The number of free processors in a row along dimension 0, in a line of the grid, from
    /// `from` on and before `to`. Only if nothing is pending.
    pub(crate) fn free_run(&self, line: u32, from: u32, to: u32) -> u32 {
        let (row, before) = self.layout.line(line);
        let busy = next_bit(self.busy_row(row), before + from, true);
        busy.map_or(to, |busy| (busy - before).min(to)) - from
    }

    /// The busy bits of this row and of those above it, without those of pending blocks.
    pub(crate) fn marked_rows_from(&self, row: usize) -> impl Iterator<Item = &[Word]> {
        self.busy[row * self.stride()..self.words()].chunks_exact(self.stride())
    }

    fn marked_row(&self, row: usize) -> &[Word] {
        &self.busy[row * self.stride()..(row + 1) * self.stride()]
    }

    /// Copies the busy bits of one row of a two-dimensional mesh, including those of pending
    /// blocks.
    // One copy on the board, to save flash.
    #[cfg_attr(target_os = "none", inline(never))]
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(crate) fn read_row(&self, row: usize, into: &mut [Word]) {
        let len = into.len();
        into.copy_from_slice(&self.busy[row * len..(row + 1) * len]);
        if !self.pending.is_empty() {
            self.add_pending(row, into);
        }
    }

    #[inline(never)]
    fn add_pending(&self, row: usize, into: &mut [Word]) {
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

    /// The number of faulty processors of a block of the machine. O(words) of the block.
    pub(crate) fn faulty_in(&self, block: Block) -> u32 {
        self.count_in(block, |word| self.faulty[word])
    }

    /// The number of free processors of a block of the machine, if nothing is pending. O(words) of
    /// the block.
    pub(crate) fn free_in(&self, block: Block) -> u32 {
        self.count_in(block, |word| !self.busy[word])
    }

    /// The number of processors of a block whose bits are set in these words.
    #[inline(always)]
    fn count_in(&self, block: Block, set: impl Fn(usize) -> Word) -> u32 {
        let mut count = 0;
        self.layout.words(block, |word, bits| {
            count += (bits & set(word)).count_ones();
            true
        });
        count
    }

    /// The faulty processors in the order of their numbers. O(words), O(1) if there is none.
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

    /// The number of the word among those of [`Occupancy::busy_rows`] in which a processor has its
    /// bit, and the bit. `None` for a processor outside the machine.
    pub(crate) fn place(&self, node: NodeId) -> Option<(usize, Word)> {
        let grid = self.grid();
        if node.0 >= grid.nodes() {
            return None;
        }
        let len = grid.row_len();
        let (row, at) = (node.0 / len, node.0 % len);
        let word = row as usize * self.stride() + (at / WORD_BITS) as usize;
        Some((word, 1 << (at % WORD_BITS)))
    }

    /// Whether the processor is held or faulty. A processor outside the machine is busy.
    pub fn is_busy(&self, node: NodeId) -> bool {
        let marked = self
            .place(node)
            .is_none_or(|(word, bit)| self.busy[word] & bit != 0);
        let mut pending = self.pending.iter();
        marked || pending.any(|&block| self.grid().holds(block, node))
    }

    /// Whether the processor is faulty. A processor outside the machine is not.
    pub fn is_faulty(&self, node: NodeId) -> bool {
        self.place(node)
            .is_some_and(|(word, bit)| self.faulty[word] & bit != 0)
    }

    /// Sets a bit in `bytes` for each busy processor from number `from` on, or for each faulty one.
    /// The lowest bit of a byte comes first. O(words) plus O(processors in the bytes).
    pub(crate) fn pack(&self, is_faulty: bool, from: u32, bytes: &mut [u8]) {
        let (words, pending) = if is_faulty {
            (&*self.faulty, &[][..])
        } else {
            (&*self.busy, &*self.pending)
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
            // Bits past the end of the row are padding.
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

    /// Calls `change` with each word of `busy` that the block touches, and the block's bits in it.
    #[inline(always)]
    fn for_each_word(&mut self, block: Block, mut change: impl FnMut(&mut Word, Word)) {
        let words = self.words();
        let busy = &mut self.busy[..words];
        self.layout.words(block, |word, bits| {
            change(&mut busy[word], bits);
            true
        });
    }

    /// Marks the processors of a block as busy.
    // One copy on the board, to save flash.
    #[cfg_attr(target_os = "none", inline(never))]
    #[cfg_attr(not(target_os = "none"), inline(always))]
    fn mark_busy(&mut self, block: Block) {
        self.for_each_word(block, |busy, bits| *busy |= bits);
    }

    /// Marks the processors of a block as free. None of them is faulty.
    #[inline]
    fn mark_free(&mut self, block: Block) {
        self.for_each_word(block, |busy, bits| *busy &= !bits);
    }

    /// Marks the working processors of a block as free. Returns their number.
    #[inline(never)]
    fn mark_working_free(&mut self, block: Block) -> u32 {
        let words = self.words();
        let (busy, faulty) = (&mut self.busy[..words], &self.faulty[..words]);
        free_all_but(faulty, busy, &self.layout, block)
    }

    /// Marks the processors of a block as faulty. Returns how many of them worked before.
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
        self.occupy(block);
        changed
    }

    /// Marks the processors of a block as working. Returns how many of them were faulty before.
    ///
    /// In `held`, at least the processors of the block that jobs hold are busy. Processors that are
    /// busy in `held` stay busy here.
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

    /// Asserts every invariant of the fields.
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
        assert_eq!(pending, self.pending_area, "pending area");
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

/// Clears the busy bits of a block's processors that are not faulty. Returns their number.
#[inline(always)]
fn free_all_but(faulty: &[Word], busy: &mut [Word], layout: &Layout, block: Block) -> u32 {
    // Both slices have the same length, so one bounds check serves both.
    let busy = &mut busy[..faulty.len()];
    let mut faults = 0;
    layout.words(block, |word, bits| {
        let bad = bits & faulty[word];
        busy[word] &= !bits | bad;
        // On a target without an instruction for counting bits, the count takes longer than the
        // rest.
        if bad != 0 {
            faults += bad.count_ones();
        }
        true
    });
    layout.area(block) - faults
}
