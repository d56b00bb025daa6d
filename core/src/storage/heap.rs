//! Memory on the heap: [`HeapStorage`].

use alloc::vec;
use alloc::vec::Vec;

use super::{AllocatorMemory, Memory, Needs, Processors};
use crate::jobs::JobSlot;
use crate::pool::{BlockCell, Link};
use crate::strategy::Workspace;
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
    busy: Vec<Word>,
    faulty: Vec<Word>,
    supposed: Vec<Word>,
    scratch: Vec<Word>,
    blocks: Vec<BlockCell>,
    list: Vec<u64>,
    tickets: Vec<u32>,
    slots: Vec<JobSlot>,
    index: Vec<Link>,
    order: Vec<Link>,
}

impl HeapStorage {
    /// As much as is needed, and for a controller a table of this many jobs, waiting and running
    /// together. An allocator needs none.
    pub fn new(needs: Needs, jobs: usize) -> Self {
        HeapStorage {
            busy: vec![0; needs.words],
            faulty: vec![0; needs.words],
            supposed: vec![0; needs.words],
            scratch: vec![0; needs.scratch],
            blocks: vec![BlockCell::EMPTY; needs.blocks],
            list: vec![0; needs.list],
            tickets: vec![0; needs.blocks],
            slots: vec![JobSlot::EMPTY; jobs],
            index: vec![0; (2 * jobs).next_power_of_two()],
            order: vec![0; jobs],
        }
    }

    /// Lends the memory to a controller.
    pub fn memory(&mut self) -> Memory<'_> {
        let (processors, _, slots, index, order) = self.lend();
        Memory {
            processors,
            slots,
            index,
            order,
        }
    }

    /// Lends the memory to an allocator.
    pub fn allocator_memory(&mut self) -> AllocatorMemory<'_> {
        let (processors, tickets, ..) = self.lend();
        AllocatorMemory {
            processors,
            tickets,
        }
    }

    #[allow(clippy::type_complexity, reason = "its parts, used above only")]
    fn lend(
        &mut self,
    ) -> (
        Processors<'_>,
        &mut [u32],
        &mut [JobSlot],
        &mut [Link],
        &mut [Link],
    ) {
        let processors = Processors {
            busy: &mut self.busy,
            faulty: &mut self.faulty,
            supposed: &mut self.supposed,
            blocks: &mut self.blocks,
            workspace: Workspace {
                words: &mut self.scratch,
                list: &mut self.list,
                #[cfg(feature = "machine")]
                machine: None,
            },
        };
        (
            processors,
            &mut self.tickets,
            &mut self.slots,
            &mut self.index,
            &mut self.order,
        )
    }

    /// Overwrites all numbers in the memory, for tests: nothing may depend on their first values.
    /// Jobs and blocks are no numbers; those are left from the last use of the memory.
    #[doc(hidden)]
    pub fn overwrite(&mut self, mut random: impl FnMut() -> u64) {
        let words = [
            &mut self.busy,
            &mut self.faulty,
            &mut self.supposed,
            &mut self.scratch,
        ];
        for word in words.into_iter().flatten() {
            *word = random() as Word;
        }
        for link in self.index.iter_mut().chain(&mut self.order) {
            *link = random() as Link;
        }
        self.list.fill_with(&mut random);
        self.tickets.fill_with(|| random() as u32);
    }
}
