//! What schedulers that reserve ask of a [`Supposition`].

use super::Supposition;
use crate::blocks::{Chain, Held};
use crate::error::Refusal;
use crate::grid::Block;
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
    /// `Reserved`: all places are among what is withheld; `TableFull`.
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
        self.propose(request).map_err(|refusal| match refusal {
            Refusal::Fragmented => Refusal::Reserved,
            other => other,
        })
    }

    /// The block to keep free for a job that fits; see [`World::reserve`](crate::scheduler::World::reserve). `None` if the strategy would
    /// not give it a single block. `given_back` is all that was given back here.
    ///
    /// # Time complexity
    ///
    /// That of the strategy; on a two-dimensional mesh O(rows^2 * words in a row), and O(blocks given back) for each corner.
    pub(crate) fn reservation(
        &mut self,
        request: &Request,
        given_back: &(impl Iterator<Item = Chain> + Clone),
    ) -> Option<Block> {
        self.corner(request, given_back)
            .or_else(|| self.block(request))
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
        let (pool, occupancy, watch) = (&*self.pool, self.occupancy, &mut self.watch);
        let mut worked = |instructions| watch.worked(instructions, occupancy, pool);
        let given_back_len: u32 = given_back.clone().map(Chain::len).sum();
        // What is free here and busy in truth has been given back.
        let busy = |place: Submesh| -> u32 {
            let blocks = given_back.clone().flat_map(|blocks| pool.iter(blocks));
            blocks.map(|block| place.common(block.into())).sum()
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
