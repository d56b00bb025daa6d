//! Places for a request as if allocations had been given back: other processors for an allocation
//! that holds faulty ones, and processors of preempted jobs.

use super::Allocator;
use crate::draft::Draft;
use crate::error::Refusal;
use crate::grid::Block;
use crate::jobs::JobTable;
use crate::machine::Cubes;
use crate::pause::Pause;
use crate::pool::Chain;
use crate::request::Request;
use crate::strategy::{Contiguity, Purpose, ServedStrategy};
use crate::tolerance::Tolerance;

impl<'m, S: ServedStrategy> Allocator<'m, S> {
    /// New blocks for a request that holds blocks with faulty processors. The new blocks may
    /// overlap the old ones, but have no faulty processor. Nothing is taken yet.
    ///
    /// Where each block is a part in a cube of its own, only the parts with faulty processors move,
    /// if there are cubes for all of them. Else the strategy searches as if the working processors
    /// of the old blocks were free. If the request tolerates faulty processors, the new blocks may
    /// have some, but fewer than the old ones.
    ///
    /// # Errors
    ///
    /// Why there are no such blocks.
    pub(crate) fn other_place(
        &mut self,
        request: &Request,
        old: Chain,
        jobs: &JobTable<'m>,
        pause: Option<Pause<'_, 'm>>,
    ) -> Result<Chain, Refusal> {
        let demand = self.demand(request)?;
        if !S::IS_CHECKED
            && let Some(blocks) = self.other_cubes(old, pause.as_ref())
        {
            return blocks;
        }
        let request = self.with_fewer_faulty(request, old);
        self.place_without((&request, demand), core::iter::once(old), jobs, pause)
    }

    /// The request, with so little tolerance that its blocks have fewer faulty processors than the
    /// old ones.
    fn with_fewer_faulty(&self, request: &Request, old: Chain) -> Request {
        if !request.is_tolerant() {
            return *request;
        }
        let blocks = self.pool.iter(old);
        let faulty: u32 = blocks.map(|block| self.occupancy.faulty_in(block)).sum();
        let each = faulty.saturating_sub(1) / request.slices();
        let most = each.min(request.tolerated()) as u8;
        request.with_tolerance(Tolerance::new(most).unwrap_or_default())
    }

    /// Blocks for a request of this demand as if these allocations had been given back. They may
    /// overlap those, and have only as many faulty processors as the request tolerates. Nothing is
    /// taken yet. These jobs hold blocks.
    ///
    /// # Errors
    ///
    /// Why there are no such blocks. `TableFull` if there is no room for the blocks in addition to
    /// the present ones.
    pub(crate) fn place_without(
        &mut self,
        (request, demand): (&Request, u32),
        given_back: impl Iterator<Item = Chain>,
        jobs: &JobTable<'m>,
        pause: Option<Pause<'_, 'm>>,
    ) -> Result<Chain, Refusal> {
        let mut supposition = self.suppose_for(request, Some(jobs), pause.as_ref());
        for blocks in given_back {
            supposition.give_back_blocks(blocks);
        }
        let blocks = supposition
            .place(request, demand, Purpose::Place)
            .map_err(|refusal| request.refusal_of(refusal))?;
        if S::IS_CHECKED {
            let checked = supposition.check(blocks, request);
            self.let_pass(blocks, checked)?;
        }
        Ok(blocks)
    }

    /// The blocks, each one with faulty processors moved to the same place in another cube. The
    /// other cube is one in which the job has no block and the place is free. If there are several,
    /// it is the one with the fewest free processors, then the first. `None` if there are no such
    /// cubes, or blocks are not in cubes.
    ///
    /// O(cubes) for each block with faulty processors.
    ///
    /// # Errors
    ///
    /// `TableFull`.
    fn other_cubes(
        &mut self,
        old: Chain,
        pause: Option<&Pause<'_, 'm>>,
    ) -> Option<Result<Chain, Refusal>> {
        let cubes = Cubes::of(self.strategy.description()?)?;
        if self.strategy.facts().holds != Contiguity::Parts {
            return None;
        }
        self.occupancy.settle();
        self.supposed.copy_of(&self.occupancy);
        for block in self.pool.iter(old) {
            self.supposed.occupy(cubes.around(block));
        }
        let mut draft = Draft::new(&mut self.pool, pause, &self.occupancy);
        let mut found = true;
        let mut rest = old.head();
        while let Some((block, next)) = draft.pool().step(rest) {
            rest = next;
            if self.occupancy.faulty_in(block) == 0 {
                draft.push(block);
                continue;
            }
            let mut best: Option<(u32, Block)> = None;
            for cube in 0..cubes.count {
                draft.poll();
                let other = cubes.moved(block, cube);
                if self.supposed.is_free(other) {
                    let free = self.occupancy.free_in(cubes.around(other));
                    if best.is_none_or(|(least, _)| free < least) {
                        best = Some((free, other));
                    }
                }
            }
            let Some((_, other)) = best else {
                found = false;
                break;
            };
            self.supposed.occupy(cubes.around(other));
            draft.push(other);
        }
        let blocks = draft.finish(found);
        found.then_some(blocks)
    }

    /// Gives the old blocks back and takes the new ones. Returns the number of processors of the
    /// new blocks. Queries in a pause show the old blocks, though some of their processors are
    /// free.
    pub(crate) fn exchange(
        &mut self,
        old: Chain,
        new: Chain,
        pause: Option<&Pause<'_, 'm>>,
    ) -> u32 {
        let mut rest = old.head();
        while let Some((block, next)) = self.pool.step(rest) {
            rest = next;
            self.give_back_block(block, pause);
        }
        self.take_counted(new, pause)
    }

    /// Takes these blocks. Returns the number of their processors.
    pub(crate) fn take_counted(&mut self, blocks: Chain, pause: Option<&Pause<'_, 'm>>) -> u32 {
        self.take(blocks, pause);
        self.area_of(blocks)
    }
}
