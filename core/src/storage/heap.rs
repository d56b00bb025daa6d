//! Memory on the heap: [`HeapStorage`].

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;

use super::{AllocatorMemory, Arrays, Memory, Needs, Processors};
use crate::jobs::JobSlot;
use crate::pool::{BlockCell, Link};
use crate::word::Word;

/// Owns the memory of a controller or of an allocator on the heap, for machines whose size is known
/// only at run time.
///
/// ```
/// use meshalloc::storage::{HeapStorage, Needs};
/// use meshalloc::{Allocator, Grid, Request, StrategyKind};
///
/// let machine: Grid = "mesh 20x10".parse()?;
/// let strategy: StrategyKind = "free-submesh-list".parse()?;
/// let mut storage = HeapStorage::new(Needs::of(strategy, &machine, 32), 0);
/// let mut allocator = Allocator::new(storage.allocator_memory(), machine, strategy)?;
/// let held = allocator.allocate(&Request::submesh(20, 5))?;
/// assert_eq!(allocator.release(held)?, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct HeapStorage {
    processors: Arrays<Vec<Word>, Vec<Word>, Vec<BlockCell>, Vec<u64>>,
    tickets: Vec<u32>,
    slots: Vec<JobSlot>,
    index: Vec<Link>,
    order: Vec<Link>,
}

impl HeapStorage {
    /// Memory for these needs, and for a controller a table of this many jobs, waiting and running
    /// together. An allocator needs no table.
    pub fn new(needs: Needs, jobs: usize) -> Self {
        HeapStorage {
            processors: Arrays {
                busy: vec![0; needs.words],
                faulty: vec![0; needs.words],
                supposed: vec![0; needs.words],
                scratch: vec![0; needs.scratch],
                blocks: vec![BlockCell::EMPTY; needs.blocks],
                list: vec![0; needs.list],
            },
            tickets: vec![0; needs.blocks],
            slots: vec![JobSlot::EMPTY; jobs],
            index: vec![0; (2 * jobs).next_power_of_two()],
            order: vec![0; jobs],
        }
    }

    /// Lends the memory to a controller.
    pub fn memory(&mut self) -> Memory<'_> {
        Memory {
            processors: self.processors.lend(),
            slots: &mut self.slots,
            index: &mut self.index,
            order: &mut self.order,
        }
    }

    /// Lends the memory to an allocator.
    pub fn allocator_memory(&mut self) -> AllocatorMemory<'_> {
        AllocatorMemory {
            processors: self.processors.lend(),
            tickets: &mut self.tickets,
        }
    }

    /// Overwrites all numbers in the memory, for tests: nothing may depend on their first values.
    /// Jobs and blocks are not numbers; they stay as the last use of the memory left them.
    #[doc(hidden)]
    pub fn overwrite(&mut self, mut random: impl FnMut() -> u64) {
        let Processors {
            busy,
            faulty,
            supposed,
            workspace,
            ..
        } = self.processors.lend();
        for word in [busy, faulty, supposed, workspace.words]
            .into_iter()
            .flatten()
        {
            *word = random() as Word;
        }
        workspace.list.fill_with(&mut random);
        for link in self.index.iter_mut().chain(&mut self.order) {
            *link = random() as Link;
        }
        self.tickets.fill_with(|| random() as u32);
    }
}
