//! Other processors for an allocation that holds faulty ones.

use super::{Allocator, check_supposed, enough};
use crate::draft::Draft;
use crate::error::Refusal;
use crate::grid::{Block, Grid};
use crate::jobs::JobTable;
use crate::machine::{Description, Extents};
use crate::pause::Pause;
use crate::pool::Chain;
use crate::request::Request;
use crate::strategy::{Contiguity, MachineCubes, OccupancyEvent, ServedStrategy};
use crate::tolerance::Tolerance;

impl<'m, S: ServedStrategy> Allocator<'m, S> {
    /// Blocks for a request that holds these ones, some of whose processors are faulty. They may
    /// overlap the old ones, but have no faulty processor. Nothing is taken yet.
    ///
    /// Where each block is a part in a cube of its own, only the parts with faulty processors move,
    /// if there are cubes for all of them. Else the strategy searches as if the working processors
    /// of the old blocks were free. If the request tolerates faulty processors, the new blocks may
    /// have some, but fewer than the old ones, and none if the strategy is your own.
    ///
    /// # Errors
    ///
    /// Why there are none.
    pub(crate) fn other_place(
        &mut self,
        request: &Request,
        old: Chain,
        jobs: &JobTable<'m>,
        pause: Option<Pause<'_, 'm>>,
    ) -> Result<Chain, Refusal> {
        let demand = self.demand(request)?;
        let request = &self.with_fewer_faulty(request, old);
        if !S::IS_CHECKED
            && let Some(blocks) = self.other_cubes(old, pause.as_ref())
        {
            return blocks;
        }
        let mut supposition = self.suppose_for(request, Some(jobs), pause.as_ref());
        supposition.give_back_blocks(old);
        let blocks = supposition
            .place(request, demand, None)
            .map_err(|refusal| request.refusal_of(refusal))?;
        if S::IS_CHECKED {
            // Which of two overlapping blocks was free is not known.
            let proposed = self.pool.iter(blocks);
            let checked = check_supposed(&mut self.supposed, |_| false, proposed);
            let wanted = request.total();
            if let Err(illegal) = checked.and_then(|processors| enough(processors, wanted)) {
                self.pool.free(blocks);
                self.illegal.get_or_insert(illegal);
                return Err(Refusal::Fragmented);
            }
        }
        Ok(blocks)
    }

    /// The request, with so little tolerance that its blocks have fewer faulty processors than the
    /// old ones.
    fn with_fewer_faulty(&self, request: &Request, old: Chain) -> Request {
        if S::IS_CHECKED || !request.is_tolerant() {
            return request.with_tolerance(Tolerance::NONE);
        }
        let blocks = self.pool.iter(old);
        let faulty: u32 = blocks.map(|block| self.occupancy.faulty_in(block)).sum();
        let each = faulty.saturating_sub(1) / request.slices();
        let most = each.min(request.tolerated()) as u8;
        request.with_tolerance(Tolerance::new(most).unwrap_or_default())
    }

    /// The blocks, where each with faulty processors is at the same place in another cube. That is
    /// a cube in which the job has no block, the one with the fewest free processors, of these the
    /// first. `None` if there are no such cubes, or blocks are not in cubes.
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
        let description: &Description = self.strategy.description()?;
        let cubes = Cubes {
            grid: *description.grid(),
            sides: *description.cube_extents()?,
            count: MachineCubes::of(description)?.count as u32,
        };
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
                let other = cubes.in_cube(block, cube);
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

    /// Gives the old blocks back and takes the new ones. Returns how many processors these have.
    /// Queries in a pause show the old blocks, though some of their processors are free.
    pub(crate) fn exchange(
        &mut self,
        old: Chain,
        new: Chain,
        pause: Option<&Pause<'_, 'm>>,
    ) -> u32 {
        for block in self.pool.iter(old) {
            self.occupancy.give_back(block);
            let poll = || Pause::poll(pause, &self.occupancy, &self.pool);
            poll();
            let event = OccupancyEvent::Released(block);
            self.strategy.changed(&self.occupancy, event, &poll);
        }
        self.take(new, pause);
        self.area_of(new)
    }
}

/// The cubes of a machine, numbered with dimension 0 fastest.
struct Cubes {
    grid: Grid,
    sides: Extents,
    count: u32,
}

impl Cubes {
    /// The block at the same place in the cube of this number.
    fn in_cube(&self, block: Block, cube: u32) -> Block {
        let start = self.grid.start(block).numbers();
        let extent = self.grid.extent(block).numbers();
        let mut origin = MachineCubes::origin(&self.grid, &self.sides, cube);
        let start = |at| origin(at) + u32::from(start[at] % self.sides[at]);
        self.grid.encode(start, |at| extent[at].into())
    }

    /// The cube that has this block.
    fn around(&self, block: Block) -> Block {
        let start = self.grid.start(block).numbers();
        let start = |at: usize| u32::from(start[at] - start[at] % self.sides[at]);
        self.grid.encode(start, |at| self.sides[at].into())
    }
}
