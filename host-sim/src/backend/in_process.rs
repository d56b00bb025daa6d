//! A controller in this process.

use meshalloc::jobs::{BlockCell, JobSlot, Link};
use meshalloc::message::Capacity;
use meshalloc::storage::Needs;
use meshalloc::word::Word;
use meshalloc::{
    Command, Configuration, Controller, Grid, Memory, Reply, StrategyKind, Ticks, Workspace,
};

use super::{Backend, BackendError, Backends};

/// Owns a controller's memory on the heap, for machines whose size is known only at run time.
#[derive(Debug)]
pub struct HeapStorage {
    busy: Vec<Word>,
    faulty: Vec<Word>,
    supposed: Vec<Word>,
    scratch: Vec<Word>,
    slots: Vec<JobSlot>,
    index: Vec<Link>,
    order: Vec<Link>,
    blocks: Vec<BlockCell>,
    list: Vec<u64>,
}

impl HeapStorage {
    /// Enough for this strategy, and for any other as its name alone says, on this machine and this number of jobs, waiting and running
    /// together.
    pub fn new(machine: Grid, strategy: StrategyKind, jobs: usize) -> Self {
        let needs = Needs::of_build(&[machine], jobs);
        let needs = needs.and(Needs::of(strategy, &machine, jobs));
        HeapStorage {
            busy: vec![0; needs.words],
            faulty: vec![0; needs.words],
            supposed: vec![0; needs.words],
            scratch: vec![0; needs.scratch],
            slots: vec![JobSlot::EMPTY; jobs],
            index: vec![0; (2 * jobs).next_power_of_two()],
            order: vec![0; jobs],
            blocks: vec![BlockCell::EMPTY; needs.blocks],
            list: vec![0; needs.list],
        }
    }

    /// Lends the memory to a controller.
    pub fn memory(&mut self) -> Memory<'_> {
        Memory {
            busy: &mut self.busy,
            faulty: &mut self.faulty,
            supposed: &mut self.supposed,
            slots: &mut self.slots,
            index: &mut self.index,
            order: &mut self.order,
            blocks: &mut self.blocks,
            workspace: Workspace {
                words: &mut self.scratch,
                list: &mut self.list,
            },
        }
    }
}

/// A [`Controller`] in this process.
#[derive(Debug)]
pub struct InProcess<'m>(Controller<'m>);

impl<'m> InProcess<'m> {
    /// A controller in this memory.
    ///
    /// # Errors
    ///
    /// When it does not take the configuration.
    pub fn new(memory: Memory<'m>, configuration: Configuration) -> Result<Self, BackendError> {
        let controller = Controller::new(memory, configuration);
        controller
            .map(InProcess)
            .map_err(|reason| BackendError::Configure {
                configuration,
                reason,
            })
    }
}

impl Backend for InProcess<'_> {
    #[inline]
    fn call(
        &mut self,
        command: &Command,
        now: Ticks,
        on_reply: &mut dyn FnMut(&Reply),
    ) -> Result<(), BackendError> {
        self.0.handle(command, now, on_reply);
        Ok(())
    }

    fn capacity(&self) -> Capacity {
        self.0.capacity()
    }
}

/// Makes controllers in this process, each in memory of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct InProcessBackends {
    /// Room for jobs, waiting and running together; `None` chooses by the machine.
    pub jobs: Option<usize>,
}

/// Room for jobs beyond one for each processor. The simulation keeps what does not fit, so this need not
/// hold the longest queue; a small table stays in the processor's cache.
const QUEUE_ROOM: usize = 1024;

impl InProcessBackends {
    /// The memory of one controller.
    pub(super) fn storage(&self, configuration: &Configuration) -> HeapStorage {
        let Configuration {
            machine, strategy, ..
        } = *configuration;
        let jobs = self.jobs.unwrap_or(machine.nodes() as usize + QUEUE_ROOM);
        HeapStorage::new(machine, strategy, jobs)
    }
}

impl Backends for InProcessBackends {
    fn with(
        &mut self,
        configuration: Configuration,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        let mut storage = self.storage(&configuration);
        body(&mut InProcess::new(storage.memory(), configuration)?);
        Ok(())
    }
}
