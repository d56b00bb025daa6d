//! Processors without jobs: [`Allocator`], a machine, its occupancy and a strategy.
//!
//! The [`Controller`](crate::Controller) adds names, a queue and a scheduler. A program that has those already, or
//! needs none, uses the allocator alone.

#[cfg(feature = "restore")]
use crate::blocks::Link;
use crate::blocks::{Allocation, BlockCell, BlockPool, Chain, Draft, Held};
#[cfg(feature = "restore")]
use crate::checkpoint::{Reader, RestoreError, consistent};
use crate::error::{ConfigureError, Refusal};
use crate::grid::{Block, Grid};
use crate::jobs::JobTable;
use crate::node::NodeId;
use crate::occupancy::Occupancy;
use crate::outlook::{Outlook, Placing};
use crate::pause::{LOOK_INSTRUCTIONS, Pause};
use crate::request::Request;
use crate::storage::{Memory, Needs};
use crate::strategy::{AnyStrategy, Strategy, StrategyKind, Workspace};
use crate::supposition::Supposition;
use crate::word::Word;

/// Gives processors of one machine away and takes them back.
///
/// # Example
///
/// ```
/// use meshalloc::{Allocator, Mesh, Refusal, Request, Storage, StrategyKind, Submesh};
///
/// // No table of jobs, room for 10 blocks.
/// let mut storage = Storage::<8, 1, 8, 10, 0>::new();
/// let machine = Mesh::new(8, 8)?.into();
/// let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::FirstFit)?;
///
/// let wide = allocator.allocate(&Request::submesh(8, 6))?;
/// assert_eq!(allocator.blocks(&wide).next(), Some(Submesh::new(0, 0, 8, 6).into()));
/// assert_eq!(allocator.allocate(&Request::submesh(2, 3)).unwrap_err(), Refusal::Fragmented);
/// assert_eq!(allocator.release(wide), 48);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Allocator<'m> {
    occupancy: Occupancy<'m>,
    strategy: AnyStrategy<'m>,
    pool: BlockPool<'m>,
    /// For suppositions.
    supposed: Occupancy<'m>,
    /// How many allocations there must be room for.
    jobs: u32,
}

impl<'m> Allocator<'m> {
    /// An allocator of a machine whose processors are all free. The part of the memory that is for jobs
    /// is not used. There is room for as many blocks as the memory has; [`Refusal::TableFull`] says that they are used up.
    ///
    /// # Errors
    ///
    /// `MachineTooLarge` when there are too few words of occupancy; `StrategyMemory` when the strategy needs more memory;
    /// `MachineUnsuitable`; `StrategyNotBuilt`.
    pub fn new(
        memory: Memory<'m>,
        grid: Grid,
        strategy: StrategyKind,
    ) -> Result<Self, ConfigureError> {
        let Memory {
            busy,
            faulty,
            supposed,
            blocks,
            workspace,
            ..
        } = memory;
        let words = [busy, faulty, supposed];
        Self::with_parts(words, blocks, workspace, grid, strategy, 1)
    }

    /// `words` are busy, faulty and supposed ones.
    pub(crate) fn with_parts(
        [busy, faulty, supposed]: [&'m mut [Word]; 3],
        blocks: &'m mut [BlockCell],
        workspace: Workspace<'m>,
        grid: Grid,
        strategy: StrategyKind,
        jobs: u32,
    ) -> Result<Self, ConfigureError> {
        let mut allocator = Allocator {
            supposed: Occupancy::supposed(grid, supposed),
            occupancy: Occupancy::new(grid, busy, faulty)?,
            strategy: AnyStrategy::new(strategy, grid, workspace)?,
            pool: BlockPool::new(blocks),
            jobs,
        };
        allocator.check(&grid, strategy)?;
        allocator.clear(grid);
        Ok(allocator)
    }

    /// Another machine or strategy in the same memory. Whatever was held or faulty is forgotten.
    ///
    /// # Errors
    ///
    /// Those of [`Allocator::new`]; then nothing has changed.
    pub(crate) fn switch(
        &mut self,
        grid: Grid,
        strategy: StrategyKind,
    ) -> Result<(), ConfigureError> {
        self.check(&grid, strategy)?;
        self.strategy.switch(strategy, grid)?;
        self.clear(grid);
        Ok(())
    }

    /// Whether the memory suffices, but for the strategy's own.
    pub(crate) fn check(&self, grid: &Grid, strategy: StrategyKind) -> Result<(), ConfigureError> {
        let needs = Needs::of(strategy, grid, self.jobs as usize);
        if needs.words
            > self
                .occupancy
                .capacity_words()
                .min(self.supposed.capacity_words())
        {
            return Err(ConfigureError::MachineTooLarge);
        }
        AnyStrategy::check(strategy, grid, self.strategy.workspace())?;
        let words = self.strategy.workspace().words.len();
        match needs.blocks <= self.pool.capacity() as usize && needs.scratch <= words {
            true => Ok(()),
            false => Err(ConfigureError::StrategyMemory),
        }
    }

    /// Forgets whatever is held, reserved or faulty.
    pub(crate) fn clear(&mut self, grid: Grid) {
        let unmarked_max = self.strategy.blocks_unmarked();
        self.occupancy.clear(grid, unmarked_max);
        self.supposed.suppose_of(grid);
        self.pool.clear(|| grid.nodes() as usize);
        self.strategy.rebuild(&self.occupancy);
    }

    /// Which processors are busy.
    pub const fn occupancy(&self) -> &Occupancy<'m> {
        &self.occupancy
    }

    /// The strategy.
    pub const fn strategy(&self) -> &AnyStrategy<'m> {
        &self.strategy
    }

    /// The entries that a strategy's list has room for.
    pub(crate) const fn list_capacity(&self) -> u32 {
        self.strategy.workspace().list.len() as u32
    }

    /// The number of free processors that the request takes.
    ///
    /// # Errors
    ///
    /// One that is not temporary ([`Refusal::is_temporary`]): it could never be granted.
    #[inline]
    pub fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        self.strategy.demand_on(self.occupancy.grid(), request)
    }

    /// Finds processors for a request and takes them.
    ///
    /// # Errors
    ///
    /// Those of [`Allocator::demand`], `TooFewFree`, `Fragmented`, or `TableFull` if there is no room for as many blocks; nothing has changed then but
    /// what a strategy knows of the latest requests ([`StrategyKind::LeastExpectedBlocking`]).
    ///
    /// # Time complexity
    ///
    /// That of the strategy, and O(words) of what is taken.
    #[inline]
    pub fn allocate(&mut self, request: &Request) -> Result<Allocation, Refusal> {
        let demand = self.demand(request)?;
        self.arrived(request);
        let blocks = self.find(request, demand, None, None)?;
        Ok(self.take(blocks))
    }

    /// A request has arrived that has a [demand](Allocator::demand).
    #[inline]
    pub(crate) fn arrived(&mut self, request: &Request) {
        self.strategy.arrived(request);
    }

    /// What the strategy finds for a request that has arrived and whose demand is known: for this job, if it is one's.
    // The board has one copy.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(crate) fn find(
        &mut self,
        request: &Request,
        demand: u32,
        placing: Option<Placing<'_, 'm>>,
        pause: Option<&Pause<'_, 'm>>,
    ) -> Result<Chain, Refusal> {
        if demand > self.occupancy.free() {
            return Err(Refusal::TooFewFree);
        }
        if self.strategy.looks_ahead() {
            let outlook = Outlook::new(Held(&self.pool), &self.occupancy, placing);
            self.strategy.look(&outlook);
        }
        self.occupancy.settle_for_search();
        let mut draft = Draft::new(&mut self.pool, pause, &self.occupancy);
        let found = self.strategy.propose(&self.occupancy, request, &mut draft);
        draft.finish(found)
    }

    /// Whether the strategy would find a place for the request now; nothing changes.
    ///
    /// # Time complexity
    ///
    /// That of the strategy.
    pub fn fits(&mut self, request: &Request) -> bool {
        self.fits_pausing(request, None)
    }

    /// [`Allocator::fits`], with pauses.
    pub(crate) fn fits_pausing(
        &mut self,
        request: &Request,
        pause: Option<&Pause<'_, 'm>>,
    ) -> bool {
        if !matches!(self.demand(request), Ok(demand) if demand <= self.occupancy.free()) {
            return false;
        }
        self.occupancy.settle_for_search();
        let mut draft = Draft::new(&mut self.pool, pause, &self.occupancy);
        let strategy = &mut self.strategy;
        let fits = strategy.would_fit(&self.occupancy, request, &mut draft);
        draft.discard();
        fits
    }

    /// Takes what the strategy has found.
    #[inline]
    pub(crate) fn take(&mut self, blocks: Chain) -> Allocation {
        self.take_pausing(blocks, None)
    }

    /// [`Allocator::take`], with pauses.
    #[inline(always)]
    pub(crate) fn take_pausing(
        &mut self,
        blocks: Chain,
        pause: Option<&Pause<'_, 'm>>,
    ) -> Allocation {
        for block in self.pool.iter(blocks) {
            self.occupancy.take(block);
            let spend = |n| Pause::spend(pause, n, &self.occupancy, &self.pool);
            spend(self.occupancy.layout().instructions(block));
            self.strategy.taken(&self.occupancy, block, &spend);
        }
        Allocation::new(blocks)
    }

    /// What would be if something were given back or withheld. It begins with what is.
    ///
    /// # Time complexity
    ///
    /// O(words).
    pub fn suppose(&mut self) -> Supposition<'_, 'm> {
        self.suppose_pausing(None)
    }

    /// [`Allocator::suppose`], with pauses.
    pub(crate) fn suppose_pausing<'a>(
        &'a mut self,
        pause: Option<Pause<'a, 'm>>,
    ) -> Supposition<'a, 'm> {
        self.occupancy.settle();
        Supposition::new(
            &mut self.supposed,
            &self.occupancy,
            &mut self.strategy,
            &mut self.pool,
            pause,
        )
    }

    /// Takes processors back; returns how many. Never fails, and never needs room.
    ///
    /// # Time complexity
    ///
    /// That of the strategy, and O(words) of what is released.
    #[inline]
    pub fn release(&mut self, allocation: Allocation) -> u32 {
        self.release_pausing(allocation, None)
    }

    /// [`Allocator::release`], with pauses.
    // The board has one copy.
    #[cfg_attr(target_os = "none", inline)]
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(crate) fn release_pausing(
        &mut self,
        allocation: Allocation,
        pause: Option<&Pause<'_, 'm>>,
    ) -> u32 {
        let mut blocks = allocation.into_blocks();
        let mut processors = 0;
        while let Some(block) = self.pool.pop(&mut blocks) {
            processors += self.occupancy.give_back(block);
            let spend = |n| Pause::spend(pause, n, &self.occupancy, &self.pool);
            spend(self.occupancy.layout().instructions(block));
            self.strategy.released(&self.occupancy, block, &spend);
        }
        processors
    }

    /// The blocks of an allocation, in the order in which the strategy named them.
    #[inline]
    pub fn blocks(&self, allocation: &Allocation) -> impl Iterator<Item = Block> + '_ {
        self.pool.iter(allocation.blocks())
    }

    /// The number of processors of an allocation.
    #[inline]
    pub fn processors(&self, allocation: &Allocation) -> u32 {
        let grid = self.occupancy.grid();
        self.blocks(allocation).map(|block| grid.area(block)).sum()
    }

    pub(crate) const fn held(&self) -> Held<'_, 'm> {
        Held(&self.pool)
    }

    /// Keeps a chain for a reservation.
    #[cfg(all(feature = "reservations", feature = "restore"))]
    pub(crate) fn reserve(&mut self, chain: Chain) {
        self.pool.reserve(chain);
    }

    /// Nothing is reserved any more.
    #[cfg(feature = "reservations")]
    pub(crate) fn cancel_reserved(&mut self) {
        self.pool.cancel_reserved();
    }

    /// The occupancy and what is held.
    pub(crate) const fn parts(&self) -> (&Occupancy<'m>, &BlockPool<'m>) {
        (&self.occupancy, &self.pool)
    }

    pub(crate) fn chain(&self, blocks: Chain) -> impl Iterator<Item = Block> + '_ {
        self.pool.iter(blocks)
    }

    /// The processors of a block of the machine are faulty: busy, and not given back, until [`Allocator::clear_faulty`]. Those that are held
    /// stay held. Returns how many were in order before. A block that is not within the machine changes nothing: 0.
    ///
    /// # Time complexity
    ///
    /// O(words) of the block; for a strategy that keeps a list, that of an allocation.
    pub fn mark_faulty(&mut self, block: Block) -> u32 {
        match self.occupancy.grid().contains(block) {
            true => self.mark_faulty_pausing(block, None),
            false => 0,
        }
    }

    /// [`Allocator::mark_faulty`] of a block of the machine, with pauses.
    pub(crate) fn mark_faulty_pausing(
        &mut self,
        block: Block,
        pause: Option<&Pause<'_, 'm>>,
    ) -> u32 {
        debug_assert!(self.occupancy.grid().contains(block));
        let before = self.occupancy.free();
        let changed = self.occupancy.mark_faulty(block);
        if self.occupancy.free() != before {
            let spend = |n| Pause::spend(pause, n, &self.occupancy, &self.pool);
            self.strategy.taken(&self.occupancy, block, &spend);
        }
        changed
    }

    /// The processors of a block of the machine work again. Those that are held stay busy. Returns how many were faulty before. A block
    /// that is not within the machine changes nothing: 0.
    ///
    /// # Time complexity
    ///
    /// O(words) of the machine and of the held blocks that overlap the block, O(blocks held); a strategy that keeps a list makes it anew unless the block is
    /// one processor.
    pub fn clear_faulty(&mut self, block: Block) -> u32 {
        match self.occupancy.grid().contains(block) {
            true => self.clear_faulty_pausing(block, None, None),
            false => 0,
        }
    }

    /// [`Allocator::clear_faulty`] of a block of the machine, with pauses. Blocks are those of
    /// these jobs, if there are jobs.
    pub(crate) fn clear_faulty_pausing(
        &mut self,
        block: Block,
        jobs: Option<&JobTable<'m>>,
        pause: Option<&Pause<'_, 'm>>,
    ) -> u32 {
        debug_assert!(self.occupancy.grid().contains(block));
        let before = self.occupancy.free();
        // What the block holds that stays busy.
        self.supposed.suppose_all_free();
        for held in Held(&self.pool).by(jobs) {
            let mut instructions = LOOK_INSTRUCTIONS;
            if self.occupancy.grid().overlap(held, block) {
                self.supposed.withhold(held);
                instructions = self.occupancy.layout().instructions(held);
            }
            Pause::spend(pause, instructions, &self.occupancy, &self.pool);
        }
        let changed = self.occupancy.clear_faulty(block, &self.supposed);
        if self.occupancy.free() != before {
            let spend = |n| Pause::spend(pause, n, &self.occupancy, &self.pool);
            self.strategy.repaired(&self.occupancy, block, &spend);
        }
        changed
    }

    /// Takes a block that a chain had behind the others, the last of which is in this cell; returns the longer chain. Before
    /// [`Allocator::end_restoring`] only.
    ///
    /// # Errors
    ///
    /// `Inconsistent` if it is not free, `NoRoom`.
    #[cfg(feature = "restore")]
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

    /// The same without taking the block.
    ///
    /// # Errors
    ///
    /// `NoRoom`.
    #[cfg(feature = "restore")]
    pub(crate) fn restore_chain(
        &mut self,
        chain: (Chain, Link),
        block: Block,
    ) -> Result<(Chain, Link), RestoreError> {
        let mut draft = Draft::resume(&mut self.pool, chain);
        draft.push(block);
        draft.suspend().ok_or(RestoreError::NoRoom)
    }

    /// The processor was faulty. Returns whether there is such a one that was not. Before [`Allocator::end_restoring`] only.
    #[cfg(feature = "restore")]
    pub(crate) fn restore_fault(&mut self, node: NodeId) -> bool {
        let unit = self.occupancy.grid().unit(node);
        unit.is_some_and(|unit| self.occupancy.mark_faulty(unit) == 1)
    }

    /// Everything is busy that was: the strategy begins with that.
    #[cfg(feature = "restore")]
    pub(crate) fn end_restoring(&mut self) {
        self.strategy.rebuild(&self.occupancy);
    }

    /// Restores what the strategy knows from an item.
    #[cfg(feature = "restore")]
    pub(crate) fn restore_strategy(&mut self, state: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.strategy.restore(state)
    }

    /// Asserts every invariant, where these jobs hold so many blocks. For tests; slow.
    pub(crate) fn check_invariants(&self, jobs: &JobTable<'m>, blocks: u32) {
        self.occupancy.check_invariants();
        self.pool.check_invariants(blocks);
        let grid = *self.occupancy.grid();
        let all_held = || self.held().by(Some(jobs));
        let mut held = 0;
        for block in all_held() {
            assert!(grid.contains(block), "{block:?} lies within the machine");
            held += grid.area(block);
        }
        // Were one of them free, or in two blocks, fewer than the blocks have would be counted.
        let mut held_nodes = 0;
        let mut owner: Option<Block> = None;
        let nodes = (0..grid.nodes()).map(NodeId);
        for node in nodes.filter(|&node| self.occupancy.is_busy(node)) {
            let holds = |block: &Block| grid.holds(*block, node);
            // That of the node before, mostly.
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
