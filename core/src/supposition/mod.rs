//! What would be if: [`Supposition`].

use crate::blocks::{BlockPool, Chain, Draft};
use crate::error::Refusal;
use crate::grid::Block;
use crate::handle::{Allocation, AllocationError, Tickets};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::strategy::{AnyStrategy, Strategy, demand_on};
use crate::watch::Watch;

#[cfg(feature = "reservations")]
mod reservation;

/// An occupancy that the machine does not have: some blocks given back, some processors withheld. What the strategy would do in it
/// can be asked; nothing changes by that.
///
/// ```
/// use meshalloc::{Allocator, AllocatorStorage, Mesh, Request, StrategyKind, Submesh, storage};
///
/// let mut storage: storage!(mesh 8 x 8, strategies [FirstFit], allocations 10) =
///     AllocatorStorage::new();
/// let machine = Mesh::new(8, 8)?.into();
/// let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::FirstFit)?;
/// let wide = allocator.allocate(&Request::submesh(8, 6))?;
///
/// let mut supposition = allocator.suppose();
/// assert!(!supposition.fits(&Request::submesh(4, 4)));
/// supposition.give_back(&wide)?;
/// assert!(supposition.fits(&Request::submesh(4, 4)));
/// supposition.withhold(Submesh::new(0, 2, 8, 4).into());
/// assert!(!supposition.fits(&Request::submesh(4, 4)));
/// assert_eq!(allocator.release(wide)?, 48);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Supposition<'a, 'm, S = AnyStrategy<'m>> {
    supposed: &'a mut Occupancy<'m>,
    /// What is in truth.
    occupancy: &'a Occupancy<'m>,
    strategy: &'a mut S,
    pool: &'a mut BlockPool<'m>,
    tickets: &'a Tickets<'m>,
    watch: Watch<'a, 'm>,
}

impl<'a, 'm, S: Strategy> Supposition<'a, 'm, S> {
    /// Begins with what is; the bitmap `supposed` is overwritten.
    pub(crate) fn new(
        supposed: &'a mut Occupancy<'m>,
        occupancy: &'a Occupancy<'m>,
        strategy: &'a mut S,
        pool: &'a mut BlockPool<'m>,
        tickets: &'a Tickets<'m>,
        watch: Watch<'a, 'm>,
    ) -> Self {
        supposed.suppose(occupancy);
        Supposition {
            supposed,
            occupancy,
            strategy,
            pool,
            tickets,
            watch,
        }
    }

    /// What is held is free, but for faulty processors. Those that are free already stay free, also
    /// if the allocation was given back before; those that are withheld become free.
    ///
    /// # Errors
    ///
    /// Those of [`Allocator::release`](crate::Allocator::release).
    ///
    /// # Time complexity
    ///
    /// O(words) of what is given back.
    pub fn give_back(&mut self, allocation: &Allocation) -> Result<(), AllocationError> {
        let cell = self.tickets.check(allocation)?;
        for block in self.pool.iter_from(cell) {
            // What is free already must not be counted twice.
            self.supposed.withhold(block);
            self.supposed.suppose_free(self.occupancy, block);
        }
        Ok(())
    }

    /// Of a chain that was not given back before.
    #[cfg(feature = "reservations")]

    pub(crate) fn give_back_blocks(&mut self, blocks: Chain) {
        for block in self.pool.iter(blocks) {
            self.supposed.suppose_free(self.occupancy, block);
            self.watch.visited(block, self.occupancy, self.pool);
        }
    }

    /// The processors of the block are busy, whatever they were. A block that is not within the machine changes nothing. O(words) of the block.
    pub fn withhold(&mut self, block: Block) {
        if self.supposed.grid().contains(block) {
            self.withhold_block(block);
        }
    }

    /// [`Supposition::withhold`] of a block of the machine.
    pub(crate) fn withhold_block(&mut self, block: Block) {
        self.supposed.withhold(block);
        self.watch.visited(block, self.occupancy, self.pool);
    }

    /// The number of free processors.
    pub fn free(&self) -> u32 {
        self.supposed.free()
    }

    /// Whether the strategy would find a place for the request.
    ///
    /// # Time complexity
    ///
    /// That of the strategy.
    pub fn fits(&mut self, request: &Request) -> bool {
        let demand = demand_on(self.strategy, self.supposed.grid(), request);
        demand.is_ok_and(|demand| self.fits_demand(request, demand))
    }

    /// [`Supposition::fits`] for a request whose demand is known.
    pub(crate) fn fits_demand(&mut self, request: &Request, demand: u32) -> bool {
        if demand > self.free() {
            return false;
        }
        let mut search = self.watch.over(self.occupancy);
        let mut draft = Draft::new(self.pool, search.pausing());
        // The search itself, and to make the bitmap.
        draft.worked(10 * self.supposed.grid().nodes());
        let fits = self.strategy.would_fit(self.supposed, request, &mut draft);
        draft.discard();
        self.end();
        fits
    }

    /// What the strategy finds here for a request whose demand is free; it keeps what it kept before.
    fn propose(&mut self, request: &Request) -> Result<Chain, Refusal> {
        let mut search = self.watch.over(self.occupancy);
        let mut draft = Draft::new(self.pool, search.pausing());
        let found = self.strategy.suppose(self.supposed, request, &mut draft);
        let blocks = draft.finish(found);
        self.end();
        blocks
    }

    /// The strategy goes by what is in truth again.
    fn end(&mut self) {
        let mut worked = |instructions| self.watch.worked(instructions, self.occupancy, self.pool);
        self.strategy.end_supposing(self.occupancy, &mut worked);
    }

    /// The block that the strategy would give to a request; `None` if it finds no place, or several blocks, or if as many blocks are held as there is
    /// room for.
    ///
    /// # Time complexity
    ///
    /// That of the strategy.
    pub fn block(&mut self, request: &Request) -> Option<Block> {
        let demand = demand_on(self.strategy, self.supposed.grid(), request);
        if demand.ok()? > self.free() {
            return None;
        }
        let blocks = self.propose(request).ok()?;
        let only = match blocks.len() {
            1 => self.pool.iter(blocks).next(),
            _ => None,
        };
        self.pool.free(blocks);
        only
    }
}
