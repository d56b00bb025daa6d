//! Where a job would be placed in a supposed occupancy, and which blocks are then reserved for it.

use crate::error::Refusal;
use crate::grid::Block;
use crate::jobs::{JobSlot, Reserved};
use crate::mesh::{Sides, Submesh};
use crate::outlook::Placing;
use crate::pause::Pause;
use crate::pool::Chain;
use crate::request::Request;
use crate::search::steps::for_each_corner;
use crate::search::submeshes::for_each_maximal;
use crate::strategy::{Purpose, Strategy};
use crate::supposition::Supposition;

impl<S: Strategy> Supposition<'_, '_, S> {
    /// Lets the strategy search in this supposed occupancy for a job that may start now. In it
    /// nothing was given back, and the job would fit if nothing had been occupied.
    ///
    /// # Errors
    ///
    /// `Reserved` if every place overlaps occupied processors, or if the blocks of reservations
    /// take the room for the job's blocks. `NotSearchedToTheEnd` for a search that gives up.
    pub(crate) fn find(
        mut self,
        request: &Request,
        demand: u32,
        placing: Placing<'_, '_>,
    ) -> Result<Chain, Refusal> {
        let blocks = self.place(request, demand, Purpose::Grant(Some(placing)));
        blocks.map_err(|refusal| match refusal {
            Refusal::NotSearchedToTheEnd => refusal,
            _ => Refusal::Reserved,
        })
    }

    /// The reservation for a job that fits in this supposed occupancy; see
    /// [`World::reserve`](crate::scheduler::World::reserve). `given_back` lists everything that was
    /// given back in it. `None` if the strategy finds no place.
    ///
    /// # Time complexity
    ///
    /// That of the strategy. On a two-dimensional mesh also O(rows^2 * words in a row), and
    /// O(blocks given back) for each corner.
    pub(crate) fn reservation(
        &mut self,
        (request, demand): (&Request, u32),
        given_back: &(impl Iterator<Item = Chain> + Clone),
    ) -> Option<Reserved> {
        if let Some(block) = self.corner(request, given_back) {
            return Some(Reserved::Block(block));
        }
        let chain = match self.place(request, demand, Purpose::Place) {
            Ok(chain) => chain,
            // The pool has no room for the job's blocks: reserve the whole machine.
            Err(Refusal::TableFull) => {
                return Some(Reserved::Block(self.supposed.grid().whole()));
            }
            Err(_) => return None,
        };
        // A strategy of your own may propose anything.
        let grid = self.supposed.grid();
        if !self.pool.iter(chain).all(|block| grid.contains(block)) {
            self.pool.free(chain);
            return None;
        }
        if chain.len() > 1 {
            self.pool.reserve(chain);
            return Some(Reserved::Blocks(chain.links()));
        }
        let block = self.pool.iter(chain).next();
        self.pool.free(chain);
        let finds_again = self.strategy.facts().finds_again;
        block.map(|block| Reserved::Block(finds_again.kept_free(self.supposed, block)))
    }

    /// Occupies the blocks that are reserved for a job.
    pub(crate) fn occupy_reserved(&mut self, job: &JobSlot) {
        if let Some(block) = job.reserved_block() {
            self.occupy_block(block);
        }
        for block in self.pool.reserved(job.reserved_chain()) {
            self.unheld.occupy(self.supposed, block);
            self.poll();
        }
    }

    /// The best corner of a maximal free submesh for a request on a two-dimensional mesh: the one
    /// that withholds the fewest processors that are free now. `None` if it is not certain that the
    /// strategy finds that place.
    ///
    /// ```text
    ///   # held, free at the time of the reservation; . free now; a request for 2 x 2
    ///
    ///   # # # .      all 4 x 2 are free then; its corners:
    ///   # # # .      lower left withholds 0 free processors, lower right 2
    /// ```
    fn corner(
        &mut self,
        request: &Request,
        given_back: &(impl Iterator<Item = Chain> + Clone),
    ) -> Option<Block> {
        let (grid, recognizes) = (self.supposed.grid(), self.strategy.facts().recognizes);
        if !grid.is_plane() || request.is_gang() {
            return None;
        }
        let mut sides = [Sides::new(0, 0); 2];
        let mut count = 0;
        for oriented in request.orientations() {
            if recognizes.includes(grid, request, oriented) {
                sides[count] = oriented;
                count += 1;
            }
        }
        if count == 0 {
            return None;
        }
        let (pool, occupancy, pause) = (&*self.pool, self.occupancy, self.pause.as_ref());
        let poll = || Pause::poll(pause, occupancy, pool);
        // A processor that is free in the supposition and busy now was given back.
        let busy = |place: Submesh| -> u32 {
            let blocks = given_back.clone().flat_map(|blocks| pool.iter(blocks));
            blocks
                .map(|block| place.common(Submesh::of_plane(block)))
                .sum()
        };
        let mut best: Option<((u32, [u16; 4]), Submesh)> = None;
        for_each_maximal(self.supposed, &poll, |free| {
            for &sides in &sides[..count] {
                poll();
                for_each_corner(free, sides, None, |place| {
                    let (low, high) = (place.lower_left(), place.upper_right());
                    let withheld = place.area() - busy(place);
                    let key = (withheld, [low.y, low.x, high.y, high.x]);
                    if best.is_none_or(|(least, _)| key < least) {
                        best = Some((key, place));
                    }
                });
            }
        });
        best.map(|(_, place)| place.into())
    }
}
