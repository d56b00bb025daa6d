//! Memory that comes from outside Rust: [`Provider`].

use super::{AllocatorMemory, Memory, Needs, Processors};
use crate::jobs::JobSlot;
use crate::pool::{BlockCell, Link};
use crate::strategy::Workspace;
use crate::word::Word;

/// A type of the slices in the memory: numbers, cells of the pool of blocks, entries of the job
/// table.
pub trait Element: Copy + sealed::Sealed {
    /// The value of an element that is not used yet.
    const EMPTY: Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($type:ty = $empty:expr),*) => { $(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const EMPTY: Self = $empty;
        }
    )* };
}

elements!(
    u16 = 0,
    u32 = 0,
    u64 = 0,
    BlockCell = BlockCell::EMPTY,
    JobSlot = JobSlot::EMPTY
);

/// Divides memory into slices, for programs in other languages that provide the memory as bytes.
pub trait Provider<'m> {
    /// The next slice: `len` elements of this type, each [`Element::EMPTY`]. `None` if there is no
    /// room for it.
    ///
    /// The slices come in the order of falling alignment. So memory of the alignment
    /// [`Needs::ALIGN`] has room for all of them without gaps if it has [`Needs::bytes`] or
    /// [`Needs::allocator_bytes`].
    fn provide<T: Element>(&mut self, len: usize) -> Option<&'m mut [T]>;
}

impl Needs {
    /// The memory of a controller for this number of jobs. `None` if the provider has less.
    ///
    /// ```
    /// use meshalloc::storage::{Element, Needs, Provider};
    /// use meshalloc::{Allocator, Grid, Request, StrategyKind};
    ///
    /// /// Memory that is never given back.
    /// struct Leaking;
    ///
    /// impl Provider<'static> for Leaking {
    ///     fn provide<T: Element>(&mut self, len: usize) -> Option<&'static mut [T]> {
    ///         Some(vec![T::EMPTY; len].leak())
    ///     }
    /// }
    ///
    /// let (machine, strategy) = (Grid::mesh(&[8, 8])?, StrategyKind::FirstFit);
    /// let needs = Needs::of(strategy, &machine, 10);
    /// let memory = needs.allocator_memory(&mut Leaking).expect("it has room for all");
    /// let mut allocator = Allocator::new(memory, machine, strategy)?;
    /// assert!(allocator.allocate(&Request::submesh(3, 3)).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn memory<'m>(&self, jobs: usize, from: &mut impl Provider<'m>) -> Option<Memory<'m>> {
        let list = from.provide(self.list)?;
        let slots = from.provide(jobs)?;
        let mut processors = self.words(list, from)?;
        processors.blocks = from.provide(self.blocks)?;
        Some(Memory {
            processors,
            slots,
            // Twice the slots.
            index: from.provide::<Link>(2 * jobs)?,
            order: from.provide::<Link>(jobs)?,
        })
    }

    /// The memory of an allocator. `None` if the provider has less.
    pub fn allocator_memory<'m>(
        &self,
        from: &mut impl Provider<'m>,
    ) -> Option<AllocatorMemory<'m>> {
        let list = from.provide(self.list)?;
        // Before the blocks, whose alignment is at most that of a ticket.
        let mut processors = self.words(list, from)?;
        let tickets = from.provide(self.blocks)?;
        processors.blocks = from.provide(self.blocks)?;
        Some(AllocatorMemory {
            processors,
            tickets,
        })
    }

    /// All slices except the blocks.
    fn words<'m>(
        &self,
        list: &'m mut [u64],
        from: &mut impl Provider<'m>,
    ) -> Option<Processors<'m>> {
        Some(Processors {
            busy: from.provide::<Word>(self.words)?,
            faulty: from.provide::<Word>(self.words)?,
            supposed: from.provide::<Word>(self.words)?,
            workspace: Workspace::new(from.provide::<Word>(self.scratch)?, list),
            blocks: &mut [],
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::boxed::Box;
    use std::vec;

    use super::*;
    use crate::strategy::StrategyKind;
    use crate::{Allocator, Configuration, Controller, Grid, SchedulerKind};

    /// Leaks memory, and knows where a slice would lie if all came one behind the other.
    #[derive(Default)]
    struct Counting {
        bytes: usize,
        room: usize,
    }

    impl Provider<'static> for Counting {
        fn provide<T: Element>(&mut self, len: usize) -> Option<&'static mut [T]> {
            assert_eq!(self.bytes % align_of::<T>(), 0, "no gap");
            self.bytes += len * size_of::<T>();
            (self.bytes <= self.room).then(|| &mut *Box::leak(vec![T::EMPTY; len].into()))
        }
    }

    #[test]
    fn slices_lie_without_gaps_in_the_bytes_that_are_needed() {
        let machine = Grid::mesh(&[13, 5]).unwrap();
        for kind in StrategyKind::built().filter(|kind| kind.serves().includes(&machine)) {
            let jobs = 7;
            let needs = Needs::of(kind, &machine, jobs);
            let providing = |room| Counting { bytes: 0, room };

            let mut from = providing(needs.allocator_bytes());
            let memory = needs.allocator_memory(&mut from).unwrap();
            assert!(Allocator::new(memory, machine, kind).is_ok());
            assert!(
                needs
                    .allocator_memory(&mut providing(from.bytes - 1))
                    .is_none()
            );

            let mut from = providing(needs.bytes(jobs));
            let memory = needs.memory(jobs, &mut from).unwrap();
            let configuration = Configuration {
                machine,
                strategy: kind,
                scheduler: SchedulerKind::Fcfs,
            };
            let controller = Controller::new(memory, configuration);
            assert_eq!(controller.map(|it| it.capacity().jobs), Ok(jobs as u32));
            assert!(needs.memory(jobs, &mut providing(from.bytes - 1)).is_none());
        }
    }
}
