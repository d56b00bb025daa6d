//! An allocator that is asked what the strategy of a controller would do.

use meshalloc::storage::HeapStorage;
use meshalloc::{Allocator, Block, Configuration, ConfigureError, Grid, NodeId, Refusal, Request};

use super::Situation;
use crate::backend::heap_storage;

/// An allocator whose faulty processors stand for held ones.
pub(super) struct Twin<'m> {
    machine: Grid,
    pub(super) allocator: Allocator<'m>,
    /// The processors that are faulty in truth.
    faulty: Vec<NodeId>,
    /// The blocks that are held.
    held: Vec<Block>,
}

impl Twin<'_> {
    pub(super) fn fail(&mut self, faulty: &[NodeId]) {
        self.faulty = faulty.to_vec();
        for block in faulty.iter().filter_map(|&node| self.machine.unit(node)) {
            self.allocator.mark_faulty(block);
        }
    }

    pub(super) fn hold(&mut self, blocks: &[Block]) {
        for &block in blocks {
            self.allocator.mark_faulty(block);
            self.held.push(block);
        }
    }

    pub(super) fn give_back(&mut self, blocks: &[Block]) {
        for &block in blocks {
            self.allocator.clear_faulty(block);
            self.held.retain(|&other| other != block);
            let held = |&&node: &&NodeId| self.machine.holds(block, node);
            for &node in self.faulty.iter().filter(held) {
                if let Some(one) = self.machine.unit(node) {
                    self.allocator.mark_faulty(one);
                }
            }
        }
    }

    /// Whether the request would be granted now.
    ///
    /// # Errors
    ///
    /// Why not.
    pub(super) fn attempt(&mut self, request: &Request) -> Result<(), Refusal> {
        if request.tolerated() == 0 {
            return self.allocator.attempt(request);
        }
        // The request may get faulty processors, but none that is marked as faulty because a job
        // holds it.
        let held = std::mem::take(&mut self.held);
        self.give_back(&held);
        let mut supposition = self.allocator.suppose();
        for &block in &held {
            supposition.occupy(block);
        }
        let attempt = supposition.attempt(request);
        self.hold(&held);
        attempt
    }

    /// Whether the strategy would find a place for the request now.
    pub(super) fn fits(&mut self, request: &Request) -> bool {
        if request.tolerated() == 0 {
            self.allocator.fits(request)
        } else {
            self.attempt(request).is_ok()
        }
    }

    /// Whether the strategy gives this block, which is free, to some request.
    pub(super) fn gives(&mut self, block: Block) -> bool {
        let held = self.allocator.allocate_at(block);
        held.is_ok_and(|held| self.allocator.release(held).is_ok())
    }

    /// Whether the request fits without the jobs that hold these blocks.
    pub(super) fn fits_without<'b>(
        &mut self,
        leaving: impl Iterator<Item = &'b [Block]> + Clone,
        request: &Request,
    ) -> bool {
        leaving.clone().for_each(|blocks| self.give_back(blocks));
        let fits = self.fits(request);
        leaving.for_each(|blocks| self.hold(blocks));
        fits
    }
}

impl Situation<'_> {
    pub(super) fn storage(&self) -> HeapStorage {
        let Configuration {
            machine, strategy, ..
        } = self.configuration;
        heap_storage(machine, self.description, strategy, 1)
    }

    /// An empty allocator that decides as the controller's strategy does.
    pub(super) fn twin<'m>(
        &'m self,
        storage: &'m mut HeapStorage,
    ) -> Result<Twin<'m>, ConfigureError> {
        let Configuration {
            machine, strategy, ..
        } = self.configuration;
        let memory = match self.description {
            Some(description) => storage.allocator_memory().describing(description),
            None => storage.allocator_memory(),
        };
        Ok(Twin {
            machine,
            allocator: Allocator::new(memory, machine, strategy)?,
            faulty: Vec::new(),
            held: Vec::new(),
        })
    }

    /// A twin in which the running jobs hold their processors, and the faulty ones are faulty.
    pub(super) fn present_twin<'m>(
        &'m self,
        storage: &'m mut HeapStorage,
    ) -> Result<Twin<'m>, ConfigureError> {
        let mut twin = self.twin(storage)?;
        twin.fail(&self.faulty);
        self.running.iter().for_each(|job| twin.hold(&job.blocks));
        Ok(twin)
    }
}
