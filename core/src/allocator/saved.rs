//! Saving the state of an allocator without jobs and restoring it: [`RestoringAllocator`]. The form
//! is in [`checkpoint`](crate::checkpoint).

use serde::{Deserialize, Serialize};

use super::Allocator;
use crate::allocation::{Allocation, AllocationError};
use crate::checkpoint::items::{self, ItemKind, Numbers, Progress, Restore};
use crate::checkpoint::{ALLOCATOR_FORMAT, Reader, RestoreError, block_from_ends, consistent};
use crate::draft::Draft;
use crate::grid::{Block, Grid};
use crate::machine::Description;
use crate::node::NodeId;
use crate::pool::{Chain, Link, NONE};
use crate::strategy::{Strategy, StrategyKind};

/// The first item.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Head {
    machine: Grid,
    strategy: StrategyKind,
    /// The epoch of the handles.
    epoch: u32,
}

/// A cell of the pool that holds a block.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SavedBlock {
    cell: u32,
    /// Odd if an allocation begins in this cell; else the cell continues the allocation of the cell
    /// before.
    ticket: u32,
    /// The first and the last processor.
    ends: (u32, u32),
}

impl<'m> Allocator<'m> {
    /// Hands over all that later decisions depend on, in parts of at most
    /// [`PART_MAX`](crate::PART_MAX) bytes, for [`Allocator::restore`]. The allocator does not
    /// change: if it is saved twice, the parts are the same.
    ///
    /// # Errors
    ///
    /// The first error that `part` returns, which is not called again.
    ///
    /// # Time complexity
    ///
    /// O(blocks), and O(words) if a processor is faulty.
    ///
    /// # Example
    ///
    /// ```
    /// use meshalloc::{
    ///     Allocation, Allocator, AllocatorStorage, Mesh, Request, StrategyKind, storage,
    /// };
    ///
    /// type Memory = storage!(mesh 8 x 8, strategies [FirstFit], allocations 10);
    /// let machine = Mesh::new(8, 8)?.into();
    /// let (mut one, mut other) = (Memory::new(), Memory::new());
    /// let mut saved = Allocator::new(one.memory(), machine, StrategyKind::FirstFit)?;
    /// let wide = saved.allocate(&Request::submesh(8, 6))?;
    /// let mut parts = Vec::new();
    /// saved.save(&mut |part| {
    ///     parts.push(part.to_vec());
    ///     Ok::<(), core::convert::Infallible>(())
    /// })?;
    /// let number = wide.into_raw();
    ///
    /// let mut allocator = Allocator::new(other.memory(), machine, StrategyKind::FirstFit)?;
    /// let mut restoring = allocator.restore();
    /// for part in &parts {
    ///     restoring.part(part)?;
    /// }
    /// restoring.finish()?;
    /// let wide = allocator.renew(&Allocation::from_raw(number))?;
    /// assert_eq!(allocator.release(wide)?, 48);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save<E>(&self, part: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        items::save(part, |to| {
            let grid = self.occupancy.grid();
            let head = Head {
                machine: *grid,
                strategy: self.strategy.kind(),
                epoch: self.tickets.epoch(),
            };
            to.put(&(ALLOCATOR_FORMAT, head));
            to.begin(ItemKind::Blocks);
            for first in self.tickets.heads() {
                for (cell, block) in self.pool.cells_from(first) {
                    to.put(&SavedBlock {
                        cell,
                        ticket: self.tickets.ticket(cell),
                        ends: grid.ends(block),
                    });
                }
            }
            to.begin(ItemKind::FreeSlots);
            let free = self.pool.free_cells();
            to.put_numbers(free.map(|cell| (cell, Some(self.tickets.ticket(cell)))));
            to.begin(ItemKind::Faults);
            let faulty = self.faulty_present();
            to.put_numbers(faulty.map(|node| (node.0, None)));
            to.begin(ItemKind::Strategy);
            self.strategy.save(to);
        })
    }

    /// Begins to restore the parts that [`Allocator::save`] has handed over. The present state is
    /// forgotten at once, and handles made so far are foreign from then on. The memory may differ
    /// from that of the allocator that was saved, as long as it suffices.
    pub fn restore(&mut self) -> RestoringAllocator<'_, 'm> {
        self.forget();
        RestoringAllocator {
            allocator: self,
            progress: Progress::new(),
            epoch: 0,
            last: NONE,
            last_free: NONE,
            cells: 0,
        }
    }

    /// The handle of an allocation that was saved: `was` is the handle that the allocator had given
    /// before it was [saved](Allocator::save). Handles from before and after differ, so that no
    /// handle is taken for that of another allocator. If one handle is renewed twice, the two new
    /// handles are equal.
    ///
    /// # Errors
    ///
    /// `Foreign` when no checkpoint was restored, or the allocator of the checkpoint did not make
    /// the handle; `Stale` when it was released before.
    pub fn renew(&self, was: &Allocation) -> Result<Allocation, AllocationError> {
        self.tickets.renew(was)
    }

    /// Forgets all allocations and faults. The handles of these allocations are foreign.
    fn forget(&mut self) {
        self.clear(*self.occupancy.grid());
        self.tickets.forget();
    }
}

/// These methods are also for a controller.
impl<S: Strategy> Allocator<'_, S> {
    /// Restores a block of a chain, behind its other blocks. `chain` is the chain with its last
    /// cell. Returns the longer chain with its last cell. Only before the call of
    /// [`Allocator::reset_strategy`] that ends the restoring.
    ///
    /// # Errors
    ///
    /// `Inconsistent` if the block is not free, `NoRoom`.
    pub(crate) fn restore_block(
        &mut self,
        chain: (Chain, Link),
        block: Block,
    ) -> Result<(Chain, Link), RestoreError> {
        consistent(self.occupancy.is_free(block))?;
        let chain = self.restore_chain(chain, block)?;
        self.occupancy.take(block);
        Ok(chain)
    }

    /// [`Allocator::restore_block`] without taking the block.
    ///
    /// # Errors
    ///
    /// `NoRoom`.
    pub(crate) fn restore_chain(
        &mut self,
        chain: (Chain, Link),
        block: Block,
    ) -> Result<(Chain, Link), RestoreError> {
        let mut draft = Draft::resume(&mut self.pool, chain);
        draft.push(block);
        draft.suspend().ok_or(RestoreError::NoRoom)
    }

    /// Restores the faulty processors of an item. Only before the call of
    /// [`Allocator::reset_strategy`] that ends the restoring.
    ///
    /// # Errors
    ///
    /// `Malformed`; `Inconsistent` if a processor does not exist or was faulty already.
    pub(crate) fn restore_faults(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        for node in from.take::<Numbers>()? {
            let unit = self.occupancy.grid().unit(NodeId(node));
            consistent(unit.is_some_and(|unit| self.occupancy.mark_faulty(unit) == 1))?;
        }
        Ok(())
    }

    /// The faulty processors, without those that are absent.
    pub(crate) fn faulty_present(&self) -> impl Iterator<Item = NodeId> {
        let grid = *self.occupancy.grid();
        let is_absent = move |node| self.absent().any(|block| grid.holds(block, node));
        let faulty = self.occupancy.faulty_nodes();
        faulty.filter(move |&node| !(Description::BUILT && is_absent(node)))
    }
}

/// An allocator that is being restored: give it the parts in order, then
/// [`RestoringAllocator::finish`].
///
/// From the same parts it becomes an allocator that decides exactly as the one that was saved.
/// Parts may be any bytes; whatever does not describe a state is an error. After an error, or when
/// it is dropped before it is finished, all processors are free; machine and strategy are those of
/// the checkpoint if they were read, else the allocator's own.
#[derive(Debug)]
pub struct RestoringAllocator<'a, 'm> {
    allocator: &'a mut Allocator<'m>,
    progress: Progress,
    /// The epoch of the handles that were saved.
    epoch: u32,
    /// The latest cell with a block.
    last: Link,
    /// The latest free cell.
    last_free: Link,
    /// The number of cells so far.
    cells: u32,
}

impl RestoringAllocator<'_, '_> {
    /// Takes the next part.
    ///
    /// # Errors
    ///
    /// Any [`RestoreError`]. After an error, every further part gets the same error.
    ///
    /// # Time complexity
    ///
    /// O(words) for each block, and once, after the last fault, the time in which the strategy
    /// begins with an occupancy.
    pub fn part(&mut self, part: &[u8]) -> Result<(), RestoreError> {
        self.take_part(part)
    }

    /// Ends restoring after the last part. The allocator then serves.
    ///
    /// # Errors
    ///
    /// The error of an earlier part; `Incomplete` if something is missing.
    pub fn finish(mut self) -> Result<(), RestoreError> {
        self.progress.check_complete()?;
        self.allocator.tickets.set_renewed(self.epoch);
        self.progress.is_finished = true;
        Ok(())
    }

    fn block(&mut self, saved: SavedBlock) -> Result<(), RestoreError> {
        let Allocator {
            occupancy,
            pool,
            tickets,
            ..
        } = &mut *self.allocator;
        let block = block_from_ends(occupancy.grid(), saved.ends)?;
        consistent(occupancy.is_free(block))?;
        let before = if saved.ticket % 2 == 1 {
            NONE
        } else {
            consistent(self.last != NONE)?;
            self.last
        };
        self.last = pool.restore_cell(saved.cell, block, before)?;
        tickets.restore(self.last, saved.ticket)?;
        occupancy.take(block);
        self.cells += 1;
        Ok(())
    }

    fn free_cells(&mut self, numbers: &[u32]) -> Result<(), RestoreError> {
        let (pairs, rest) = numbers.as_chunks::<2>();
        consistent(rest.is_empty())?;
        let Allocator { pool, tickets, .. } = &mut *self.allocator;
        for &[cell, ticket] in pairs {
            consistent(ticket % 2 == 0)?;
            self.last_free = pool.restore_cell(cell, Block::NONE, self.last_free)?;
            tickets.restore(self.last_free, ticket)?;
            self.cells += 1;
        }
        Ok(())
    }
}

impl Restore for RestoringAllocator<'_, '_> {
    const FORMAT: u32 = ALLOCATOR_FORMAT;

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn head(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let Head {
            machine,
            strategy,
            epoch,
        } = from.take()?;
        let checked = self.allocator.check(&machine, strategy);
        checked.map_err(RestoreError::Configure)?;
        self.allocator.switch(machine, strategy);
        self.allocator.pool.begin_restoring();
        self.epoch = epoch;
        Ok(())
    }

    fn item(
        &mut self,
        kind: ItemKind,
        stage: ItemKind,
        from: &mut Reader<'_>,
    ) -> Result<(), RestoreError> {
        if kind < stage || stage == ItemKind::End {
            return Err(RestoreError::Incomplete);
        }
        if kind >= ItemKind::Strategy && stage < ItemKind::Strategy {
            consistent(self.allocator.pool.is_restored(self.cells))?;
            self.allocator.reset_strategy();
        }
        match kind {
            ItemKind::Blocks => self.block(from.take()?),
            ItemKind::FreeSlots => self.free_cells(&from.take::<Numbers>()?),
            ItemKind::Faults => self.allocator.restore_faults(from),
            ItemKind::Strategy => self.allocator.strategy.restore(from),
            ItemKind::End => Ok(()),
            _ => Err(RestoreError::Incomplete),
        }
    }
}

impl Drop for RestoringAllocator<'_, '_> {
    fn drop(&mut self) {
        if !self.progress.is_finished {
            self.allocator.forget();
        }
    }
}
