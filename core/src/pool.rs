//! The pool of held and reserved blocks: [`BlockPool`], one chain for each allocation.
//!
//! ```text
//!   cell      0     1     2     3     4     5
//!   block     a     c     -     b     d     .        chain of one job: a, b, c; of another: d
//!   next      3     .     .     1     .     .        2 was given back; from 5 on none was used yet
//! ```

use crate::checkpoint::{RestoreError, consistent};
use crate::grid::Block;

/// An index into a table. The type is half as wide on the board, whose tables are small.
#[cfg(target_pointer_width = "64")]
pub(crate) type Link = u32;
/// An index into a table.
#[cfg(not(target_pointer_width = "64"))]
pub(crate) type Link = u16;

/// No index.
pub(crate) const NONE: Link = Link::MAX;

/// How many of this many cells a pool uses, where `none` is the link that names no cell. Links
/// cannot name more cells.
pub(crate) fn cells_in_use(cells: usize, none: usize) -> usize {
    cells.min(none)
}

/// One cell of the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockCell {
    /// Invariant: `Block::NONE` exactly if the cell has been given back.
    block: Block,
    next: Link,
}

impl BlockCell {
    /// An unused cell: all zeros, so that a static pool takes no room in flash.
    pub(crate) const EMPTY: BlockCell = BlockCell {
        block: Block::ZERO,
        next: 0,
    };
}

/// A list of blocks in the pool: the first cell and, in the low half, the number of blocks. The
/// chain is one number, twice as wide as a link, so that it is kept in a register and goes through
/// memory as a whole. A value that is written in parts and read as a whole stalls the processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain(usize);

impl Chain {
    /// No block.
    pub(crate) const EMPTY: Chain = Chain::new(NONE, 0);

    #[allow(
        clippy::cast_lossless,
        reason = "`From` cannot be called in a constant"
    )]
    const fn new(head: Link, len: Link) -> Chain {
        Chain((head as usize) << Link::BITS | len as usize)
    }

    pub(crate) const fn head(self) -> Link {
        (self.0 >> Link::BITS) as Link
    }

    #[allow(
        clippy::cast_lossless,
        clippy::unnecessary_cast,
        reason = "links are shorter on the board"
    )]
    pub(crate) const fn len(self) -> u32 {
        self.0 as Link as u32
    }

    /// The chain as two links. Two links fit where one number of the same size would have to be
    /// aligned.
    pub(crate) const fn links(self) -> [Link; 2] {
        [self.head(), self.0 as Link]
    }

    pub(crate) const fn of_links([head, len]: [Link; 2]) -> Chain {
        Chain::new(head, len)
    }
}

/// All blocks of all allocations.
///
/// Blocks of jobs are disjoint and hold at least one processor each, so as many cells as the
/// machine has processors are always enough for jobs; a contiguous strategy needs one cell for each
/// job ([`Needs::blocks`](crate::storage::Needs::blocks)). Reserved blocks take the cells that are
/// left.
#[derive(Debug)]
pub(crate) struct BlockPool<'m> {
    cells: &'m mut [BlockCell],
    /// Cells given back, linked through `next`.
    free: Link,
    /// Cells from here on have never been used.
    fresh: usize,
    /// Cells from here on are not used. At most as many cells as the machine has processors are
    /// used, so that a larger memory changes no decision.
    limit: usize,
    /// The blocks of all reservations, one after the other.
    reserved: Chain,
}

impl<'m> BlockPool<'m> {
    pub(crate) fn new(cells: &'m mut [BlockCell]) -> Self {
        let len = cells_in_use(cells.len(), NONE as usize);
        BlockPool {
            cells: &mut cells[..len],
            free: NONE,
            fresh: 0,
            limit: len,
            reserved: Chain::EMPTY,
        }
    }

    /// Forgets all blocks. From now on this many cells may be used, if there are as many.
    pub(crate) fn clear(&mut self, limit: usize) {
        self.free = NONE;
        self.fresh = 0;
        self.limit = self.cells.len().min(limit);
        self.reserved = Chain::EMPTY;
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.cells.len() as u32
    }

    /// A cell that holds the block and ends a chain; `None` when all are in use.
    #[inline]
    fn cell(&mut self, block: Block) -> Option<Link> {
        let cell = if self.free != NONE {
            let cell = self.free;
            self.free = self.cells[cell as usize].next;
            cell
        } else if self.fresh < self.limit {
            self.fresh += 1;
            (self.fresh - 1) as Link
        } else {
            return None;
        };
        self.cells[cell as usize] = BlockCell { block, next: NONE };
        Some(cell)
    }

    /// Whether this many blocks may be added. O(blocks).
    pub(crate) fn has_room(&self, blocks: usize) -> bool {
        let mut room = self.limit.saturating_sub(self.fresh);
        let mut at = self.free;
        while room < blocks && at != NONE {
            at = self.cells[at as usize].next;
            room += 1;
        }
        room >= blocks
    }

    /// Adds a block behind the last cell of a chain. Returns the longer chain with its last cell;
    /// `None` when all cells are in use.
    #[inline]
    pub(crate) fn append(
        &mut self,
        (chain, last): (Chain, Link),
        block: Block,
    ) -> Option<(Chain, Link)> {
        let cell = self.cell(block)?;
        let longer = match last {
            NONE => Chain::new(cell, 1),
            last => {
                self.cells[last as usize].next = cell;
                Chain(chain.0 + 1)
            }
        };
        Some((longer, cell))
    }

    /// Adds a chain behind the last cell of another. Returns the longer chain with its last cell.
    /// O(blocks of the added chain).
    pub(crate) fn join(&mut self, (chain, last): (Chain, Link), more: Chain) -> (Chain, Link) {
        if more.head() == NONE {
            return (chain, last);
        }
        let mut end = more.head();
        while self.cells[end as usize].next != NONE {
            end = self.cells[end as usize].next;
        }
        let longer = match last {
            NONE => more,
            last => {
                self.cells[last as usize].next = more.head();
                Chain::new(chain.head(), (chain.len() + more.len()) as Link)
            }
        };
        (longer, end)
    }

    /// The most blocks that all allocations may have together.
    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }

    /// Removes the first block of the chain whose first cell this is. `head` becomes the next cell.
    #[inline]
    pub(crate) fn pop(&mut self, head: &mut Link) -> Option<Block> {
        let cell = *head;
        if cell == NONE {
            return None;
        }
        let BlockCell { block, next } = self.cells[cell as usize];
        *head = next;
        self.cells[cell as usize] = BlockCell {
            block: Block::NONE,
            next: self.free,
        };
        self.free = cell;
        Some(block)
    }

    pub(crate) fn free(&mut self, chain: Chain) {
        let mut head = chain.head();
        while self.pop(&mut head).is_some() {}
    }

    #[inline]
    pub(crate) fn iter(&self, chain: Chain) -> impl Iterator<Item = Block> + Clone + use<'_, 'm> {
        self.iter_from(chain.head())
    }

    /// The blocks of the chain whose first cell this is.
    #[inline]
    pub(crate) fn iter_from(
        &self,
        head: Link,
    ) -> impl Iterator<Item = Block> + Clone + use<'_, 'm> {
        let mut at = head;
        core::iter::from_fn(move || {
            if at == NONE {
                return None;
            }
            let cell = &self.cells[at as usize];
            at = cell.next;
            Some(cell.block)
        })
    }

    /// The block of a cell, and the next cell of its chain. `None` behind the last cell.
    pub(crate) fn step(&self, cell: Link) -> Option<(Block, Link)> {
        let cell = self.cells.get(cell as usize)?;
        Some((cell.block, cell.next))
    }

    /// Every block that is held or reserved, in no particular order.
    #[inline]
    pub(crate) fn held(&self) -> impl Iterator<Item = Block> + use<'_, 'm> {
        let used = self.cells[..self.fresh].iter().map(|cell| cell.block);
        used.filter(|block| !block.is_none())
    }

    /// Asserts that jobs use this many cells, and that every other cell is free or has a reserved
    /// block.
    pub(crate) fn check_invariants(&self, held: u32) {
        let used = held + self.reserved.len();
        let mut free = 0;
        let mut at = self.free;
        while at != NONE {
            at = self.cells[at as usize].next;
            free += 1;
        }
        assert_eq!(
            used as usize + free,
            self.fresh,
            "every used cell is in one chain"
        );
        assert_eq!(
            self.held().count(),
            used as usize,
            "exactly the cells in use have a block"
        );
    }
}

/// Saving and restoring the pool of an allocator without jobs, whose chains keep their cells.
impl BlockPool<'_> {
    /// The cells of the chain whose first cell this is, and their blocks.
    pub(crate) fn cells_from(&self, head: Link) -> impl Iterator<Item = (u32, Block)> {
        self.links_from(head)
            .map(|at| (at, self.cells[at as usize].block))
    }

    /// The cells that were given back, in the order of their reuse.
    pub(crate) fn free_cells(&self) -> impl Iterator<Item = u32> {
        self.links_from(self.free)
    }

    #[allow(
        clippy::cast_lossless,
        clippy::unnecessary_cast,
        reason = "links are shorter on the board"
    )]
    fn links_from(&self, head: Link) -> impl Iterator<Item = u32> {
        let cell = |at: Link| (at != NONE).then_some(at);
        let links =
            core::iter::successors(cell(head), move |&at| cell(self.cells[at as usize].next));
        links.map(|at| at as u32)
    }

    /// Marks the cells of a cleared pool as not restored: each is its own successor.
    pub(crate) fn begin_restoring(&mut self) {
        for (at, cell) in self.cells[..self.limit].iter_mut().enumerate() {
            *cell = BlockCell {
                block: Block::NONE,
                next: at as Link,
            };
        }
    }

    /// Takes a cell that was not restored before, for a block behind the cell `before`, or as the
    /// first of its chain. A cell without a block is free. All cells up to it count as used.
    ///
    /// # Errors
    ///
    /// `NoRoom`, `Inconsistent`.
    pub(crate) fn restore_cell(
        &mut self,
        cell: u32,
        block: Block,
        before: Link,
    ) -> Result<Link, RestoreError> {
        let at = cell as usize;
        if at >= self.limit {
            return Err(RestoreError::NoRoom);
        }
        let link = at as Link;
        consistent(self.cells[at].next == link)?;
        self.cells[at] = BlockCell { block, next: NONE };
        if before != NONE {
            self.cells[before as usize].next = link;
        } else if block.is_none() {
            self.free = link;
        }
        self.fresh = self.fresh.max(at + 1);
        Ok(link)
    }

    /// Whether each used cell was restored, where this many cells were.
    pub(crate) const fn is_restored(&self, cells: u32) -> bool {
        self.fresh == cells as usize
    }
}

/// Blocks that are reserved. They are kept in one chain, since all of them are removed at once.
impl BlockPool<'_> {
    /// Keeps a chain, which belongs to no job, for a reservation.
    pub(crate) fn reserve(&mut self, chain: Chain) {
        let mut last = chain.head();
        if last == NONE {
            return;
        }
        while self.cells[last as usize].next != NONE {
            last = self.cells[last as usize].next;
        }
        self.cells[last as usize].next = self.reserved.head();
        let len = chain.len() + self.reserved.len();
        self.reserved = Chain::new(chain.head(), len as Link);
    }

    /// The blocks of a chain that was reserved.
    pub(crate) fn reserved(&self, chain: Chain) -> impl Iterator<Item = Block> {
        self.iter(chain).take(chain.len() as usize)
    }

    /// The number of blocks that are reserved.
    pub(crate) const fn reserved_len(&self) -> u32 {
        self.reserved.len()
    }

    /// Removes all reserved blocks.
    pub(crate) fn cancel_reserved(&mut self) {
        let reserved = core::mem::replace(&mut self.reserved, Chain::EMPTY);
        self.free(reserved);
    }
}
