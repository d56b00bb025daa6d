//! Checks of blocks before they are taken: of the blocks that a caller names, and of the proposals
//! of a strategy of your own.

use super::Allocator;
use crate::allocation::Allocation;
use crate::draft::Draft;
use crate::error::{AllocateError, IllegalProposal, PlaceError, Refusal};
use crate::grid::Block;
use crate::jobs::JobTable;
use crate::occupancy::Occupancy;
use crate::pool::Chain;
use crate::request::Request;
use crate::strategy::{Contiguity, ServedStrategy, Strategy};
use crate::supposition::{Supposition, Unheld};

impl<'m, S: ServedStrategy> Allocator<'m, S> {
    /// Takes the processors of this block, wherever the strategy would place a request: those of a
    /// job that ran before a restart, or that someone else has placed. A strategy that learns from
    /// requests does not learn of this one.
    ///
    /// # Errors
    ///
    /// Those of [`Allocator::allocate_blocks`]. Then nothing has changed.
    ///
    /// # Time complexity
    ///
    /// O(words) of the machine, and the time in which the strategy notes a block.
    ///
    /// ```
    /// use meshalloc::{
    ///     Allocator, AllocatorStorage, Mesh, PlaceError, StrategyKind, Submesh, storage,
    /// };
    ///
    /// let mut storage: storage!(mesh 8 x 8, strategies [FirstFit], allocations 10) =
    ///     AllocatorStorage::new();
    /// let machine = Mesh::new(8, 8)?.into();
    /// let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::FirstFit)?;
    /// let held = allocator.allocate_at(Submesh::new(2, 3, 4, 4).into())?;
    /// let overlapping = allocator.allocate_at(Submesh::new(0, 0, 3, 4).into());
    /// assert_eq!(overlapping, Err(PlaceError::Busy { at: 0 }));
    /// assert_eq!(allocator.release(held)?, 16);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn allocate_at(&mut self, block: Block) -> Result<Allocation, PlaceError> {
        self.allocate_blocks([block])
    }

    /// [`Allocator::allocate_at`] for an allocation of several blocks, in this order.
    ///
    /// # Errors
    ///
    /// The first of the following that applies; then nothing has changed. `NoBlock`;
    /// `TooManyBlocks` for what the strategy gives to one request ([`Contiguity`]); `Outside`,
    /// `Busy`, `Overlapping` for the first such block; `NotOfStrategy` if the strategy gives one
    /// block, but never a block of these extents: it rounds them up, or the description of the
    /// machine does not allow such a slice there; `NoRoom` if there is no room for as many blocks.
    ///
    /// # Time complexity
    ///
    /// That of [`Allocator::allocate_at`], for each block.
    pub fn allocate_blocks(
        &mut self,
        blocks: impl IntoIterator<Item = Block, IntoIter: Clone>,
    ) -> Result<Allocation, PlaceError> {
        let holds = self.strategy.facts().holds;
        let most = match holds {
            Contiguity::OneBlock => 1,
            Contiguity::TwoBlocks => 2,
            Contiguity::Blocks | Contiguity::Parts | Contiguity::Processors => u32::MAX,
        };
        let (blocks, grid) = (blocks.into_iter(), *self.occupancy.grid());
        // It is enough to count up to one block too many.
        let len = blocks
            .clone()
            .take((most as usize).saturating_add(1))
            .count();
        if len == 0 {
            return Err(PlaceError::NoBlock);
        }
        if len > most as usize {
            return Err(PlaceError::TooManyBlocks { most });
        }
        let supposition = self.suppose_knowing(Unheld::NONE);
        check_blocks(
            supposition.supposed,
            supposition.occupancy,
            blocks.clone(),
            0,
        )?;
        for (at, block) in (0..).zip(blocks.clone()) {
            if holds.is_contiguous() && !self.strategy.gives(&grid, block) {
                return Err(PlaceError::NotOfStrategy { at });
            }
        }
        if !self.pool.has_room(len) {
            return Err(PlaceError::NoRoom);
        }
        let mut draft = Draft::unpaused(&mut self.pool);
        blocks.for_each(|block| draft.push(block));
        let chain = draft.finish(true).map_err(|_| PlaceError::NoRoom)?;
        Ok(self.hand_out(chain))
    }

    /// Lets a proposal for a waiting request pass, where these jobs hold blocks. The proposal of a
    /// strategy of your own is checked: if it is not legal, it is refused as `Fragmented`, and the
    /// reason is kept.
    #[inline(always)]
    pub(crate) fn admit(
        &mut self,
        blocks: Chain,
        request: &Request,
        jobs: &JobTable<'m>,
    ) -> Result<(), Refusal> {
        if !S::IS_CHECKED {
            return Ok(());
        }
        let mut supposition = self.suppose_for(request, Some(jobs), None);
        let checked = supposition.check(blocks, request);
        self.let_pass(blocks, checked)
    }

    /// Lets a proposal pass, or refuses it, by the result of its check.
    pub(super) fn let_pass(
        &mut self,
        blocks: Chain,
        checked: Result<(), IllegalProposal>,
    ) -> Result<(), Refusal> {
        checked.map_err(|illegal| {
            self.pool.free(blocks);
            self.illegal.get_or_insert(illegal);
            Refusal::Fragmented
        })
    }
}

impl<S: Strategy> Allocator<'_, S> {
    /// Finds processors for a request and takes them, if the proposal of the strategy is legal: its
    /// blocks are within the machine, free and disjoint, and have at least as many processors as
    /// the request asks for. The shape is the strategy's business: some fold or scatter it. Some
    /// of the processors may be faulty, as many as the request tolerates, if no job held them.
    ///
    /// [`Allocator::allocate`] does the same without the check, for the strategies of this crate.
    ///
    /// # Errors
    ///
    /// Those of [`Allocator::allocate`]; `Illegal`. Then no processor and no block has changed.
    ///
    /// # Time complexity
    ///
    /// That of the strategy, and O(words) of the machine.
    pub fn allocate_checked(&mut self, request: &Request) -> Result<Allocation, AllocateError> {
        // Before the proposal has blocks.
        let unheld = self.unheld_for(request, None, None);
        let blocks = self.search(request)?;
        match self.suppose_knowing(unheld).check(blocks, request) {
            Ok(()) => Ok(self.hand_out(blocks)),
            Err(illegal) => {
                self.pool.free(blocks);
                Err(AllocateError::Illegal(illegal))
            }
        }
    }
}

impl<S: Strategy> Supposition<'_, '_, S> {
    /// Whether this proposal may take effect here. Its blocks become busy. Some of the
    /// processors may be faulty, as many as the request tolerates, if no job holds them.
    pub(super) fn check(
        &mut self,
        blocks: Chain,
        request: &Request,
    ) -> Result<(), IllegalProposal> {
        let grid = *self.supposed.grid();
        let pool = &*self.pool;
        let is_in = |unit, block| grid.contains(block) && grid.overlap(block, unit);
        let is_proposed = |unit: &Block| pool.iter(blocks).any(|block| is_in(*unit, block));
        let most = self.unheld.usable(request) as usize;
        for unit in self.unheld.units(&grid).filter(is_proposed).take(most) {
            self.supposed.leave(unit);
        }
        check_blocks(
            self.supposed,
            self.occupancy,
            pool.iter(blocks),
            request.total(),
        )
    }
}

/// Whether these blocks are within the machine, free in a supposed occupancy and disjoint, and have
/// as many processors as are wanted. They become busy there.
fn check_blocks(
    supposed: &mut Occupancy<'_>,
    occupancy: &Occupancy<'_>,
    blocks: impl Iterator<Item = Block>,
    wanted: u32,
) -> Result<(), IllegalProposal> {
    let grid = *supposed.grid();
    let mut processors = 0;
    for (at, block) in (0..).zip(blocks) {
        if !grid.contains(block) {
            return Err(IllegalProposal::Outside { at, block });
        }
        let (area, before) = (grid.area(block), supposed.free());
        supposed.occupy(block);
        // Some of the processors were busy already, in the machine or through an earlier block.
        if before - supposed.free() != area {
            return Err(if occupancy.is_free(block) {
                IllegalProposal::Overlapping { at, block }
            } else {
                IllegalProposal::Busy { at, block }
            });
        }
        processors += area;
    }
    if processors >= wanted {
        Ok(())
    } else {
        Err(IllegalProposal::TooFew { processors, wanted })
    }
}
