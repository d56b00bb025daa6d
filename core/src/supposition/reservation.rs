//! What schedulers that reserve ask of a [`Supposition`].

use super::Supposition;
use crate::blocks::{Chain, Held};
use crate::error::Refusal;
use crate::grid::Block;
use crate::jobs::{JobSlot, Reserved};
use crate::mesh::{Sides, Submesh};
use crate::outlook::{Outlook, Placing};
use crate::request::Request;
use crate::search::rectangles::{Step, for_each_maximal};
use crate::strategy::Strategy;

impl Supposition<'_, '_> {
    /// What the strategy finds here for a job, in what must be free in truth; the request fits without what is withheld.
    ///
    /// # Errors
    ///
    /// `Reserved`: all places are among what is withheld, or reservations take the room for its
    /// blocks.
    pub(crate) fn find(
        mut self,
        request: &Request,
        demand: u32,
        placing: Placing<'_, '_>,
    ) -> Result<Chain, Refusal> {
        if demand > self.free() {
            return Err(Refusal::Reserved);
        }
        let outlook = Outlook::new(Held(self.pool), self.occupancy, Some(placing));
        self.strategy.look(&outlook);
        self.propose(request).map_err(|_| Refusal::Reserved)
    }

    /// What to keep free for a job that fits; see
    /// [`World::reserve`](crate::scheduler::World::reserve). `given_back` is all that was given
    /// back here. `None` if the strategy finds no place.
    ///
    /// # Time complexity
    ///
    /// That of the strategy; on a two-dimensional mesh O(rows^2 * words in a row), and O(blocks given back) for each corner.
    pub(crate) fn reservation(
        &mut self,
        request: &Request,
        given_back: &(impl Iterator<Item = Chain> + Clone),
    ) -> Option<Reserved> {
        if let Some(block) = self.corner(request, given_back) {
            return Some(Reserved::Block(block));
        }
        let chain = match self.propose(request) {
            Ok(chain) => chain,
            // No room for its blocks: nothing that runs longer begins before it.
            Err(Refusal::TableFull) => {
                return Some(Reserved::Block(self.supposed.grid().whole()));
            }
            Err(_) => return None,
        };
        if chain.len() > 1 {
            self.pool.reserve(chain);
            return Some(Reserved::Blocks(chain.links()));
        }
        let block = self.pool.iter(chain).next();
        self.pool.free(chain);
        block.map(|block| Reserved::Block(self.strategy.kept_free(self.supposed, block)))
    }

    /// [`Supposition::withhold`] of what is reserved.
    pub(crate) fn withhold_reserved(&mut self, job: &JobSlot) {
        if let Some(block) = job.reserved_block() {
            self.withhold_block(block);
        }
        for block in self.pool.reserved(job.reserved_chain()) {
            self.supposed.withhold(block);
            self.watch.visited(block, self.occupancy, self.pool);
        }
    }

    fn corner(
        &mut self,
        request: &Request,
        given_back: &(impl Iterator<Item = Chain> + Clone),
    ) -> Option<Block> {
        if !self.supposed.grid().is_plane() {
            return None;
        }
        let mut sides = [Sides::new(0, 0); 2];
        let mut count = 0;
        for oriented in request.orientations() {
            if self.strategy.recognizes(request, oriented) {
                sides[count] = oriented;
                count += 1;
            }
        }
        if count == 0 {
            return None;
        }
        let (pool, occupancy, watch) = (&*self.pool, self.occupancy, &mut self.watch);
        let mut worked = |instructions| watch.worked(instructions, occupancy, pool);
        let given_back_len: u32 = given_back.clone().map(Chain::len).sum();
        // What is free here and busy in truth has been given back.
        let busy = |place: Submesh| -> u32 {
            let blocks = given_back.clone().flat_map(|blocks| pool.iter(blocks));
            blocks
                .map(|block| place.common(Submesh::of_plane(block)))
                .sum()
        };
        let mut best: Option<((u32, [u16; 4]), Submesh)> = None;
        for_each_maximal(self.supposed, |step| {
            let free = match step {
                Step::Found(free) => free,
                Step::Worked(instructions) => return worked(instructions),
            };
            for &sides in &sides[..count] {
                worked(4 * (300 + 60 * given_back_len));
                free.for_each_corner(sides, |place| {
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
