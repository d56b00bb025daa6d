//! What is held: a pool of blocks, one chain for each allocation, and [`Draft`], where a strategy writes a
//! new one.

use core::ops::Range;

use crate::cube::{Cube, Subcube};
use crate::machine::{Block, Machine};
use crate::mesh::{Mesh, Submesh};
use crate::word::{Span, Word};

/// An index into a table. Half as wide on the board, whose tables are small.
#[cfg(target_pointer_width = "64")]
pub type Link = u32;
/// An index into a table.
#[cfg(not(target_pointer_width = "64"))]
pub type Link = u16;

/// No index.
pub(crate) const NONE: Link = Link::MAX;

/// A block without its kind, which is that of the machine: four numbers, a quarter less than a [`Block`] takes,
/// and the pool is the largest table there is.
///
/// The base node and the sides of a submesh; the first and the last node of a subcube, then 1 and 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed([u16; 4]);

impl Packed {
    /// No block: what a cell that is not in use holds.
    const NONE: Packed = Packed([0; 4]);

    #[inline]
    const fn is_none(self) -> bool {
        self.0[2] == 0
    }

    #[inline]
    fn block(self, machine: Machine) -> Block {
        match machine {
            Machine::Mesh(mesh) => Submesh::unpacked(mesh, self).into(),
            Machine::Cube(cube) => Subcube::unpacked(cube, self).into(),
        }
    }
}

/// A block whose kind is known when the code is compiled. What is done for every allocation is done with these: the
/// tagged [`Block`] goes through memory, not through a register, which costs a tenth of first fit's time.
pub(crate) trait Part: Copy + Into<Block> {
    /// What it is a part of.
    type Machine: Copy + 'static;

    fn packed(self) -> Packed;

    fn unpacked(machine: Self::Machine, packed: Packed) -> Self;

    /// The number of processors.
    fn area(self) -> u32;

    /// Calls `visit` with the words of the occupancy that it touches, `stride` of them in a row, and its bits in
    /// them, until that returns false. Returns whether it never did.
    fn words(self, stride: usize, visit: impl FnMut(usize, Word) -> bool) -> bool;
}

impl Part for Submesh {
    type Machine = Mesh;

    #[inline]
    fn packed(self) -> Packed {
        let Submesh { base, sides } = self;
        Packed([base.x, base.y, sides.w, sides.h])
    }

    #[inline]
    fn unpacked(_: Mesh, Packed([x, y, w, h]): Packed) -> Submesh {
        Submesh::new(x, y, w, h)
    }

    #[inline]
    fn area(self) -> u32 {
        self.area()
    }

    #[inline]
    fn words(self, stride: usize, mut visit: impl FnMut(usize, Word) -> bool) -> bool {
        let (rows, span) = (rows_of(self), columns_of(self));
        (span.first..=span.last).all(|word| {
            let bits = span.mask(word);
            let mut at = rows.start * stride + word;
            rows.clone().all(|_| {
                let go_on = visit(at, bits);
                at += stride;
                go_on
            })
        })
    }
}

impl Part for Subcube {
    type Machine = Cube;

    #[inline]
    fn packed(self) -> Packed {
        // Node numbers of a cube have 16 bits.
        let (first, last) = (self.first().0 as u16, self.last().0 as u16);
        Packed([first, last, 1, 0])
    }

    #[inline]
    fn unpacked(cube: Cube, Packed([first, last, ..]): Packed) -> Subcube {
        Subcube::from_numbers(cube, first, last)
    }

    #[inline]
    fn area(self) -> u32 {
        self.area()
    }

    #[inline]
    fn words(self, _: usize, visit: impl FnMut(usize, Word) -> bool) -> bool {
        self.words(visit)
    }
}

/// The rows of a submesh.
#[inline]
pub(crate) fn rows_of(submesh: Submesh) -> Range<usize> {
    let first = usize::from(submesh.base.y);
    first..first + usize::from(submesh.sides.h)
}

/// What a submesh takes of each of its rows.
#[inline]
pub(crate) fn columns_of(submesh: Submesh) -> Span {
    Span::new(u32::from(submesh.base.x), u32::from(submesh.sides.w))
}

/// One cell of the pool.
#[derive(Clone, Copy, Debug)]
pub struct BlockCell {
    /// Invariant: none exactly if the cell is not in use.
    block: Packed,
    next: Link,
}

impl BlockCell {
    /// An unused cell: all zeros, so that a static pool takes no room in flash.
    pub const EMPTY: BlockCell = BlockCell {
        block: Packed::NONE,
        next: 0,
    };
}

/// A list of blocks in the pool. Two fields go in two registers; a third would send it through memory
/// at every call, field by field in and as a whole out, which stalls the processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    head: Link,
    len: u32,
}

impl Chain {
    /// No block.
    pub(crate) const EMPTY: Chain = Chain { head: NONE, len: 0 };
    /// What is in unused memory.
    pub(crate) const ZERO: Chain = Chain { head: 0, len: 0 };

    pub(crate) const fn len(&self) -> u32 {
        self.len
    }
}

/// All blocks of all allocations.
///
/// Blocks are disjoint and hold at least one processor each, so as many cells as the machine has
/// processors are always enough; the controller takes no machine for which there are fewer.
#[derive(Debug)]
pub(crate) struct BlockPool<'m> {
    /// Invariant: all blocks are parts of it.
    machine: Machine,
    cells: &'m mut [BlockCell],
    /// Cells given back, linked through `next`.
    free: Link,
    /// Cells from here on have never been used.
    fresh: usize,
}

impl<'m> BlockPool<'m> {
    pub(crate) fn new(machine: Machine, cells: &'m mut [BlockCell]) -> Self {
        let len = cells.len().min(NONE as usize);
        BlockPool {
            machine,
            cells: &mut cells[..len],
            free: NONE,
            fresh: 0,
        }
    }

    pub(crate) fn clear(&mut self, machine: Machine) {
        self.machine = machine;
        self.free = NONE;
        self.fresh = 0;
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.cells.len() as u32
    }

    /// A cell that holds the block and ends a chain; `None` when all are in use.
    #[inline]
    fn cell(&mut self, block: Packed) -> Option<Link> {
        let cell = if self.free != NONE {
            let cell = self.free;
            self.free = self.cells[cell as usize].next;
            cell
        } else if self.fresh < self.cells.len() {
            self.fresh += 1;
            (self.fresh - 1) as Link
        } else {
            return None;
        };
        self.cells[cell as usize] = BlockCell { block, next: NONE };
        Some(cell)
    }

    /// Removes the first block of a chain.
    #[inline]
    pub(crate) fn pop<P: Part>(&mut self, machine: P::Machine, chain: &mut Chain) -> Option<P> {
        let packed = self.pop_packed(chain)?;
        Some(P::unpacked(machine, packed))
    }

    #[inline]
    fn pop_packed(&mut self, chain: &mut Chain) -> Option<Packed> {
        if chain.head == NONE {
            return None;
        }
        let cell = chain.head;
        let BlockCell { block, next } = self.cells[cell as usize];
        *chain = Chain {
            head: next,
            len: chain.len - 1,
        };
        self.cells[cell as usize] = BlockCell {
            block: Packed::NONE,
            next: self.free,
        };
        self.free = cell;
        Some(block)
    }

    pub(crate) fn free(&mut self, mut chain: Chain) {
        while self.pop_packed(&mut chain).is_some() {}
    }

    #[inline]
    pub(crate) fn iter(&self, chain: Chain) -> impl Iterator<Item = Block> + '_ {
        self.packed(chain).map(|packed| packed.block(self.machine))
    }

    /// [`BlockPool::iter`] for blocks of a known kind.
    #[inline]
    pub(crate) fn parts<P: Part>(
        &self,
        machine: P::Machine,
        chain: Chain,
    ) -> impl Iterator<Item = P> + '_ {
        let parts = self.packed(chain);
        parts.map(move |packed| P::unpacked(machine, packed))
    }

    #[inline]
    fn packed(&self, chain: Chain) -> impl Iterator<Item = Packed> + '_ {
        let mut at = chain.head;
        core::iter::from_fn(move || {
            if at == NONE {
                return None;
            }
            let cell = &self.cells[at as usize];
            at = cell.next;
            Some(cell.block)
        })
    }

    /// Every block that is held, in no particular order.
    #[inline]
    pub(crate) fn held(&self) -> impl Iterator<Item = Block> + '_ {
        let held = self.held_packed();
        held.map(|packed| packed.block(self.machine))
    }

    #[inline]
    fn held_packed(&self) -> impl Iterator<Item = Packed> + '_ {
        let used = self.cells[..self.fresh].iter().map(|cell| cell.block);
        used.filter(|packed| !packed.is_none())
    }

    /// Asserts that so many cells are in use and every other one is free.
    pub(crate) fn check_invariants(&self, used: u32) {
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
        assert_eq!(self.held().count(), used as usize, "and says so");
    }
}

/// What is held, for a strategy that is told of a release.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a, 'm>(pub(crate) &'a BlockPool<'m>);

impl Held<'_, '_> {
    /// Every block that is held, in no particular order.
    #[inline]
    pub fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        self.0.held()
    }

    /// [`Held::blocks`] of a mesh.
    #[inline]
    pub(crate) fn submeshes(&self, mesh: Mesh) -> impl Iterator<Item = Submesh> + '_ {
        let held = self.0.held_packed();
        held.map(move |packed| Submesh::unpacked(mesh, packed))
    }
}

/// A proposal in the making: where a strategy writes the blocks it has found.
#[derive(Debug)]
pub struct Draft<'a, 'm> {
    pool: &'a mut BlockPool<'m>,
    head: Link,
    len: u32,
    last: Link,
    overflow: bool,
}

impl<'a, 'm> Draft<'a, 'm> {
    pub(crate) fn new(pool: &'a mut BlockPool<'m>) -> Self {
        Draft {
            pool,
            head: NONE,
            len: 0,
            last: NONE,
            overflow: false,
        }
    }

    /// Adds a block. One for which the pool has no room makes the whole proposal fail as `TableFull`.
    #[inline]
    pub fn push(&mut self, block: impl Into<Block>) {
        let packed = match block.into() {
            Block::Submesh(submesh) => submesh.packed(),
            Block::Subcube(subcube) => subcube.packed(),
        };
        let Some(cell) = self.pool.cell(packed) else {
            self.overflow = true;
            return;
        };
        match self.last {
            NONE => self.head = cell,
            last => self.pool.cells[last as usize].next = cell,
        }
        self.last = cell;
        self.len += 1;
    }

    /// The blocks, and whether there was room for all of them.
    #[inline]
    pub(crate) fn finish(self) -> (Chain, bool) {
        let chain = Chain {
            head: self.head,
            len: self.len,
        };
        (chain, !self.overflow)
    }
}
