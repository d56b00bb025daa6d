//! Processors without jobs: [`Allocator`], a machine, its occupancy and a strategy.
//!
//! The [`Controller`](crate::Controller) adds names, a queue and a scheduler. A program that has
//! its own, or needs none, uses the allocator alone.

mod checks;
mod faults;
mod questions;
mod replace;
#[cfg(feature = "restore")]
pub(crate) mod saved;

use crate::allocation::{Allocation, AllocationError, ReleaseError, Tickets};
use crate::draft::Draft;
use crate::error::{ConfigureError, IllegalProposal, Refusal};
use crate::grid::{Block, Grid};
use crate::jobs::JobTable;
use crate::machine::Description;
use crate::node::NodeId;
use crate::occupancy::Occupancy;
use crate::outlook::held_by;
use crate::pause::Pause;
use crate::pool::{BlockPool, Chain, Link, NONE, cells_in_use};
use crate::request::Request;
use crate::storage::{AllocatorMemory, Processors};
use crate::strategy::{
    AnyStrategy, OccupancyEvent, Purpose, Room, ServedStrategy, Site, Strategy, StrategyKind,
    check, demand_on,
};
use crate::supposition::{Unheld, search_both_ways};

/// Allocates the processors of one machine and takes them back.
///
/// The strategy is one of this crate, chosen at run time ([`Allocator::new`]), or your own
/// ([`Allocator::with_strategy`]).
///
/// # Example
///
/// ```
/// use meshalloc::{
///     Allocator, AllocatorStorage, Mesh, Refusal, Request, StrategyKind, Submesh, storage,
/// };
///
/// let mut storage: storage!(mesh 8 x 8, strategies [FirstFit], allocations 10) =
///     AllocatorStorage::new();
/// let machine = Mesh::new(8, 8)?.into();
/// let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::FirstFit)?;
///
/// let wide = allocator.allocate(&Request::submesh(8, 6))?;
/// assert_eq!(allocator.blocks(&wide)?.next(), Some(Submesh::new(0, 0, 8, 6).into()));
/// assert_eq!(allocator.allocate(&Request::submesh(2, 3)).unwrap_err(), Refusal::Fragmented);
/// assert_eq!(allocator.release(wide)?, 48);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Allocator<'m, S = AnyStrategy<'m>> {
    occupancy: Occupancy<'m>,
    pub(crate) strategy: S,
    pub(crate) pool: BlockPool<'m>,
    /// The occupancy of suppositions.
    supposed: Occupancy<'m>,
    /// The first proposal of a strategy of your own that was not legal.
    pub(crate) illegal: Option<IllegalProposal>,
    /// The number of allocations that there must be room for.
    jobs: u32,
    /// The allocations of a controller have no handles.
    tickets: Tickets<'m>,
}

impl<'m> Allocator<'m> {
    /// An allocator of a machine whose processors are all free. The memory limits the number of
    /// blocks; when they are used up, requests are refused with [`Refusal::TableFull`].
    ///
    /// # Errors
    ///
    /// `BadParameter`; `MachineTooLarge` when there are too few words of occupancy;
    /// `StrategyMemory` when the strategy needs more memory; `MachineUnsuitable`;
    /// `StrategyNotBuilt`.
    pub fn new(
        memory: AllocatorMemory<'m>,
        grid: Grid,
        strategy: StrategyKind,
    ) -> Result<Self, ConfigureError> {
        let tickets = Tickets::new(memory.tickets);
        Self::with_parts(memory.processors, tickets, grid, strategy, 1)
    }

    /// An allocator for this number of jobs. The allocations of a controller have no handles.
    #[inline]
    pub(crate) fn with_parts(
        mut memory: Processors<'m>,
        tickets: Tickets<'m>,
        grid: Grid,
        strategy: StrategyKind,
        jobs: u32,
    ) -> Result<Self, ConfigureError> {
        let room = Room {
            words: memory.words(),
            blocks: cells_in_use(memory.blocks.len(), NONE as usize),
            jobs,
        };
        check(room, &memory.workspace, &grid, strategy)?;
        let workspace = core::mem::take(&mut memory.workspace);
        let strategy = AnyStrategy::new(strategy, &grid, workspace);
        Ok(Self::build(memory, tickets, grid, strategy, jobs))
    }

    /// Finds processors for a request and takes them.
    ///
    /// # Errors
    ///
    /// Those of [`Allocator::demand`]; `NeverFits` also if the request needs processors that are
    /// absent ([`Description::with_absent`]), or if the slices of a gang surely have no places at
    /// once on the empty machine; `TooFewFree`, `Fragmented`, `GangIncomplete`,
    /// `NotSearchedToTheEnd`, or `TableFull` if there is no room for as many blocks. After an error
    /// nothing has changed, except what a strategy remembers of the latest requests
    /// ([`StrategyKind::LeastExpectedBlocking`]).
    ///
    /// # Time complexity
    ///
    /// That of the strategy, and O(words) of the allocated blocks.
    #[inline]
    pub fn allocate(&mut self, request: &Request) -> Result<Allocation, Refusal> {
        let blocks = self.search(request)?;
        Ok(self.hand_out(blocks))
    }
}

impl<'m, S: ServedStrategy> Allocator<'m, S> {
    /// Serves another machine or strategy in the same memory. The caller has checked both
    /// ([`Allocator::check`]). All processors become free and not faulty.
    pub(crate) fn switch(&mut self, grid: Grid, strategy: StrategyKind) {
        self.strategy.switch(strategy, grid);
        self.clear(grid);
    }

    /// Whether this strategy can serve this machine in the memory of this allocator.
    ///
    /// # Errors
    ///
    /// Those of [`ServedStrategy::check`].
    pub(crate) fn check(&self, grid: &Grid, strategy: StrategyKind) -> Result<(), ConfigureError> {
        let room = Room {
            words: self.occupancy.capacity_words(),
            blocks: self.pool.capacity() as usize,
            jobs: self.jobs,
        };
        self.strategy
            .check(strategy, grid, self.occupancy.grid(), room)
    }
}

impl<'m, S: Strategy> Allocator<'m, S> {
    /// An allocator with a strategy of your own. The strategy brings its own memory; `memory` is
    /// for occupancy and blocks.
    ///
    /// `core/examples/own_strategy.rs` has one in fifty lines.
    ///
    /// # Errors
    ///
    /// `MachineTooLarge` when there are too few words of occupancy.
    pub fn with_strategy(
        memory: AllocatorMemory<'m>,
        grid: Grid,
        strategy: S,
    ) -> Result<Self, ConfigureError> {
        let tickets = Tickets::new(memory.tickets);
        Self::with_own(memory.processors, tickets, grid, strategy, 1)
    }

    /// An allocator with a strategy of your own, for this number of jobs. The allocations of a
    /// controller have no handles.
    ///
    /// # Errors
    ///
    /// Those of [`Allocator::with_strategy`].
    pub(crate) fn with_own(
        memory: Processors<'m>,
        tickets: Tickets<'m>,
        grid: Grid,
        strategy: S,
        jobs: u32,
    ) -> Result<Self, ConfigureError> {
        if memory.words() < Occupancy::words_needed(&grid) {
            return Err(ConfigureError::MachineTooLarge);
        }
        Ok(Self::build(memory, tickets, grid, strategy, jobs))
    }

    /// An allocator in memory that suffices. The value is made where the caller wants it, so that
    /// the stack needs no room for copies.
    #[inline(never)]
    fn build(
        memory: Processors<'m>,
        tickets: Tickets<'m>,
        grid: Grid,
        strategy: S,
        jobs: u32,
    ) -> Self {
        let words = memory.words();
        let Processors {
            busy,
            faulty,
            supposed,
            blocks,
            ..
        } = memory;
        let mut allocator = Allocator {
            occupancy: Occupancy::new(grid, &mut busy[..words], &mut faulty[..words], Some(0)),
            strategy,
            pool: BlockPool::new(blocks),
            supposed: Occupancy::new(grid, supposed, &mut [], None),
            illegal: None,
            jobs,
            tickets,
        };
        allocator.clear(grid);
        allocator
    }

    /// Forgets all held, reserved and faulty processors.
    pub(crate) fn clear(&mut self, grid: Grid) {
        let unmarked_max = self.strategy.facts().blocks_unmarked;
        self.occupancy.clear(grid, unmarked_max);
        self.pool.clear(grid.nodes() as usize);
        if Description::BUILT {
            for block in self.absent() {
                self.occupancy.mark_faulty(block);
            }
        }
        self.reset_strategy();
    }

    /// Lets the strategy begin with this occupancy.
    // One copy of what all strategies do then.
    #[inline(never)]
    pub(crate) fn reset_strategy(&mut self) {
        let event = OccupancyEvent::Reset;
        self.strategy.changed(&self.occupancy, event, &|| ());
    }

    /// The blocks of the machine in which there are no processors.
    pub(crate) fn absent<'a>(&self) -> impl Iterator<Item = Block> + use<'a, 'm, S>
    where
        S: 'a,
    {
        let description: Option<&'a Description> = self.strategy.description();
        let description = description.into_iter();
        description.flat_map(Description::absent_blocks)
    }

    /// Which processors are busy.
    pub const fn occupancy(&self) -> &Occupancy<'m> {
        &self.occupancy
    }

    /// The strategy.
    pub const fn strategy(&self) -> &S {
        &self.strategy
    }

    /// The number of free processors that the request takes, with all its slices.
    ///
    /// # Errors
    ///
    /// A refusal that is not temporary ([`Refusal::is_temporary`]): the request could never be
    /// granted.
    ///
    /// # Time complexity
    ///
    /// That of the strategy, for most O(1).
    ///
    /// A number of processors ([`Flags::CHIPS`](crate::Flags::CHIPS)) has a demand for each of its
    /// boxes in each order, one after the other until one may be granted; to find the next box, all
    /// boxes are looked at. So for B boxes the demand takes O(B^2), without a pause. All boxes are
    /// tried if the request also demands rings and no box has such rings: a mesh of 32 x 32 x 32 x
    /// 32 has 1,740 ordered boxes of 10,080 processors.
    #[inline]
    pub fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        if request.is_gang() && request.slices() as usize > self.pool.limit() {
            return Err(Refusal::NeverFits);
        }
        demand_on(&self.strategy, self.occupancy.grid(), request)
    }

    /// Whether only a search can tell if the request ever fits. That is so where processors are
    /// absent, and for a gang.
    #[inline(always)]
    pub(crate) fn may_never_fit(&self, request: &Request) -> bool {
        request.is_gang() || self.is_any_absent()
    }

    /// Whether the machine lacks processors.
    #[inline(always)]
    pub(crate) fn is_any_absent(&self) -> bool {
        Description::BUILT && self.absent().next().is_some()
    }

    /// The blocks that the strategy finds for a request that has just arrived.
    #[inline]
    fn search(&mut self, request: &Request) -> Result<Chain, Refusal> {
        let demand = self.demand(request)?;
        if self.may_never_fit(request) {
            self.check_present(request, demand, None)?;
        }
        self.strategy.arrived(request);
        self.find(request, demand, None, Purpose::Grant(None), None)
    }

    /// Takes the blocks that the strategy has found, at least one, and makes their handle.
    #[inline]
    fn hand_out(&mut self, blocks: Chain) -> Allocation {
        self.take(blocks, None);
        self.tickets.issue(blocks.head())
    }

    /// Searches for the blocks of a request whose demand is known. `jobs` is the table of the jobs
    /// that hold blocks, if there is one. One slice without faulty processors is searched for in
    /// the machine's own occupancy, everything else in a supposed one.
    // The board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(crate) fn find(
        &mut self,
        request: &Request,
        demand: u32,
        jobs: Option<&JobTable<'m>>,
        purpose: Purpose<'_, 'm>,
        pause: Option<&Pause<'_, 'm>>,
    ) -> Result<Chain, Refusal> {
        let (free, faulty) = (self.occupancy.free(), self.occupancy.faulty_count());
        let blocks = search_both_ways(
            (self, free, faulty),
            (request, demand),
            |it| {
                if request.is_gang() {
                    let supposition = it.suppose_knowing(Unheld::NONE);
                    let mut supposition = supposition.pausing(pause.copied());
                    return supposition.propose(request, demand, purpose, None);
                }
                it.occupancy.settle_for_search();
                let draft = Draft::new(&mut it.pool, pause, &it.occupancy);
                let site = Site::new(&it.occupancy, &it.occupancy, purpose);
                site.ask(&mut it.strategy, request, draft)
            },
            |it, refusal| {
                let mut supposition = it.suppose_for(request, jobs, pause);
                supposition.propose(request, demand, purpose, Some(refusal))
            },
        );
        blocks.map_err(|refusal| request.refusal_of(refusal))
    }

    /// Takes the blocks that the strategy has found.
    #[inline(always)]
    pub(crate) fn take(&mut self, blocks: Chain, pause: Option<&Pause<'_, 'm>>) {
        for block in self.pool.iter(blocks) {
            self.occupancy.take(block);
            let poll = || Pause::poll(pause, &self.occupancy, &self.pool);
            poll();
            let event = OccupancyEvent::Taken(block);
            self.strategy.changed(&self.occupancy, event, &poll);
        }
    }

    /// Takes processors back; returns how many. Never needs room.
    ///
    /// # Errors
    ///
    /// `Foreign` when another allocator made the allocation; `Stale` when it was released before,
    /// or its integer belongs to no allocation. Then nothing has changed, and the error has the
    /// allocation.
    ///
    /// # Time complexity
    ///
    /// That of the strategy, and O(words) of the released blocks.
    #[inline]
    pub fn release(&mut self, allocation: Allocation) -> Result<u32, ReleaseError> {
        match self.tickets.check(&allocation) {
            Ok(cell) => {
                self.tickets.revoke(cell);
                Ok(self.give_back(cell, None))
            }
            Err(reason) => Err(ReleaseError { allocation, reason }),
        }
    }

    /// Takes back the blocks of the chain whose first cell this is. Returns how many processors
    /// they have.
    // The board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(crate) fn give_back(&mut self, mut head: Link, pause: Option<&Pause<'_, 'm>>) -> u32 {
        let mut processors = 0;
        while let Some(block) = self.pool.pop(&mut head) {
            processors += self.give_back_block(block, pause);
        }
        processors
    }

    /// Makes the processors of a block free, except the faulty ones. Returns the number of the
    /// block's processors.
    #[inline(always)]
    fn give_back_block(&mut self, block: Block, pause: Option<&Pause<'_, 'm>>) -> u32 {
        let processors = self.occupancy.give_back(block);
        let poll = || Pause::poll(pause, &self.occupancy, &self.pool);
        poll();
        let event = OccupancyEvent::Released(block);
        self.strategy.changed(&self.occupancy, event, &poll);
        processors
    }

    /// The blocks of an allocation, in the order in which the strategy named them.
    ///
    /// # Errors
    ///
    /// Those of [`Allocator::release`].
    #[inline]
    pub fn blocks(
        &self,
        allocation: &Allocation,
    ) -> Result<impl Iterator<Item = Block> + Clone + use<'_, 'm, S>, AllocationError> {
        let cell = self.tickets.check(allocation)?;
        Ok(self.pool.iter_from(cell))
    }

    /// The number of processors of an allocation.
    ///
    /// # Errors
    ///
    /// Those of [`Allocator::release`].
    #[inline]
    pub fn processors(&self, allocation: &Allocation) -> Result<u32, AllocationError> {
        let grid = self.occupancy.grid();
        Ok(self.blocks(allocation)?.map(|block| grid.area(block)).sum())
    }

    /// Asserts every invariant. For tests; slow.
    pub fn check_invariants(&self) {
        let blocks = self.pool.held().count() as u32;
        self.check_holding(None, blocks);
        assert!(
            self.tickets.held() <= blocks as usize,
            "an allocation has a block"
        );
    }

    /// The number of processors of the blocks.
    pub(crate) fn area_of(&self, blocks: Chain) -> u32 {
        let grid = self.occupancy.grid();
        self.pool.iter(blocks).map(|block| grid.area(block)).sum()
    }

    /// The occupancy and the held blocks.
    pub(crate) const fn parts(&self) -> (&Occupancy<'m>, &BlockPool<'m>) {
        (&self.occupancy, &self.pool)
    }

    /// Asserts every invariant, where these jobs hold this many blocks, or allocations if there are
    /// no jobs.
    pub(crate) fn check_holding(&self, jobs: Option<&JobTable<'m>>, blocks: u32) {
        self.occupancy.check_invariants();
        self.pool.check_invariants(blocks);
        let grid = *self.occupancy.grid();
        let all_held = || held_by(&self.pool, jobs);
        let mut held = 0;
        for block in all_held() {
            assert!(grid.contains(block), "{block:?} lies within the machine");
            held += grid.area(block);
        }
        // If a processor were free, or in two blocks, the count would be less than the sum over the
        // blocks.
        let mut held_nodes = 0;
        let mut owner: Option<Block> = None;
        let nodes = (0..grid.nodes()).map(NodeId);
        for node in nodes.filter(|&node| self.occupancy.is_busy(node)) {
            let holds = |block: &Block| grid.holds(*block, node);
            // The owner is mostly that of the node before.
            owner = owner.filter(holds).or_else(|| all_held().find(holds));
            assert!(
                owner.is_some() || self.occupancy.is_faulty(node),
                "{node} has an owner"
            );
            held_nodes += u32::from(owner.is_some());
        }
        assert_eq!(held, held_nodes, "blocks are disjoint, and busy");
        self.strategy.check_invariants(&self.occupancy);
    }
}

#[cfg(all(test, feature = "naive"))]
mod tests {
    use super::*;
    use crate::mesh::Mesh;
    use crate::storage::Needs;
    use crate::strategy::Workspace;

    /// On a board, and on a host with addresses of 32 bits, links have 16.
    #[test]
    fn memory_whose_blocks_no_link_can_name_does_not_suffice() {
        let machine = Mesh::new(256, 257).expect("a mesh").grid();
        let needs = Needs::of(StrategyKind::Naive, &machine, 4);
        assert_eq!(needs.blocks, 65_792);
        let suffices = |none| {
            let blocks = cells_in_use(needs.blocks, none);
            let workspace = Workspace::default();
            let kind = StrategyKind::Naive;
            let room = Room {
                words: needs.words,
                blocks,
                jobs: 4,
            };
            check(room, &workspace, &machine, kind)
        };
        let too_few = Err(ConfigureError::StrategyMemory);
        assert_eq!(suffices(usize::from(u16::MAX)), too_few);
        assert_eq!(suffices(u32::MAX as usize), Ok(()));
    }

    #[test]
    #[cfg(feature = "alloc")]
    fn a_heap_storage_serves_what_links_of_this_target_can_name() {
        for (w, h) in [(255, 257), (256, 257)] {
            let machine = Mesh::new(w, h).expect("a mesh").grid();
            let needs = Needs::of(StrategyKind::Naive, &machine, 1);
            let mut storage = crate::storage::HeapStorage::new(needs, 0);
            let memory = storage.allocator_memory();
            let allocator = Allocator::new(memory, machine, StrategyKind::Naive);
            let can_be_named = needs.blocks <= NONE as usize;
            assert_eq!(allocator.is_ok(), can_be_named, "{w} x {h}");
        }
    }
}
