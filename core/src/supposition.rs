//! What would be if: [`Supposition`].

use crate::allocator::Allocator;
use crate::blocks::{Allocation, Chain, Draft, Held};
use crate::error::Refusal;
use crate::grid::Block;
use crate::mesh::{Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::outlook::{Outlook, Placing};
use crate::request::Request;
use crate::search::rectangles::for_each_maximal;
use crate::strategy::{AnyStrategy, Strategy};

/// An occupancy that the machine does not have: some blocks given back, some processors withheld. What the strategy would do in it
/// can be asked; nothing changes by that.
///
/// ```
/// use meshalloc::{Allocator, Mesh, Request, Storage, StrategyKind, Submesh};
///
/// let mut storage = Storage::<8, 2, 8, 10, 0>::new();
/// let machine = Mesh::new(8, 8)?.into();
/// let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::FirstFit)?;
/// let wide = allocator.allocate(&Request::submesh(8, 6))?;
///
/// let mut supposition = allocator.suppose();
/// assert!(!supposition.fits(&Request::submesh(4, 4)));
/// supposition.give_back(&wide);
/// assert!(supposition.fits(&Request::submesh(4, 4)));
/// supposition.withhold(Submesh::new(0, 2, 8, 4).into());
/// assert!(!supposition.fits(&Request::submesh(4, 4)));
/// assert_eq!(allocator.release(wide), 48);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Supposition<'a, 'm> {
    allocator: &'a mut Allocator<'m>,
}

impl<'a, 'm> Supposition<'a, 'm> {
    pub(crate) fn new(allocator: &'a mut Allocator<'m>) -> Self {
        allocator.supposed.suppose(&allocator.occupancy);
        Supposition { allocator }
    }

    /// What is held is free, but for faulty processors. Nothing that is withheld may be given back afterwards.
    ///
    /// # Time complexity
    ///
    /// O(words) of what is given back.
    pub fn give_back(&mut self, allocation: &Allocation) {
        self.give_back_blocks(allocation.blocks());
    }

    pub(crate) fn give_back_blocks(&mut self, blocks: Chain) {
        let Allocator {
            supposed,
            occupancy,
            pool,
            ..
        } = &mut *self.allocator;
        for block in pool.iter(blocks) {
            supposed.suppose_free(occupancy, block);
        }
    }

    /// The processors of the block are busy, whatever they were. O(words) of the block.
    pub fn withhold(&mut self, block: Block) {
        self.allocator.supposed.suppose_busy(block);
    }

    /// The number of free processors.
    pub fn free(&self) -> u32 {
        self.allocator.supposed.free()
    }

    /// Whether the strategy would find a place for the request.
    ///
    /// # Time complexity
    ///
    /// That of the strategy.
    pub fn fits(&mut self, request: &Request) -> bool {
        let demand = self.allocator.demand(request);
        demand.is_ok_and(|demand| self.fits_demand(request, demand))
    }

    /// [`Supposition::fits`] for a request whose demand is known.
    pub(crate) fn fits_demand(&mut self, request: &Request, demand: u32) -> bool {
        if demand > self.free() {
            return false;
        }
        let (fits, blocks, _) =
            self.ask(|strategy, supposed, draft| strategy.would_fit(supposed, request, draft));
        self.allocator.pool.free(blocks);
        fits
    }

    /// Asks the strategy, which keeps what it kept before. Returns what it says, and the blocks that it names if there is room for them.
    fn ask(
        &mut self,
        question: impl FnOnce(&mut AnyStrategy<'m>, &Occupancy<'m>, &mut Draft<'_, 'm>) -> bool,
    ) -> (bool, Chain, bool) {
        let allocator = &mut *self.allocator;
        let mut draft = Draft::new(&mut allocator.pool);
        let answer = question(&mut allocator.strategy, &allocator.supposed, &mut draft);
        let (blocks, complete) = draft.finish();
        allocator.strategy.end_supposing(&allocator.occupancy);
        (answer, blocks, complete)
    }

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
        let Allocator {
            pool,
            occupancy,
            strategy,
            ..
        } = &mut *self.allocator;
        strategy.look(&Outlook::new(Held(pool), occupancy, Some(placing)));
        let (found, blocks, complete) =
            self.ask(|strategy, supposed, draft| strategy.suppose(supposed, request, draft));
        let found = self.allocator.found(found, blocks, complete);
        found.map_err(|refusal| match refusal {
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
        &self,
        request: &Request,
        given_back: &(impl Iterator<Item = Chain> + Clone),
    ) -> Option<Block> {
        let Allocator {
            supposed,
            strategy,
            pool,
            ..
        } = &*self.allocator;
        if !supposed.grid().is_plane() {
            return None;
        }
        let mut sides = [Sides::new(0, 0); 2];
        let mut count = 0;
        for oriented in request.orientations() {
            if strategy.recognizes(request, oriented) {
                sides[count] = oriented;
                count += 1;
            }
        }
        // What is free here and busy in truth has been given back.
        let busy = |place: Submesh| -> u32 {
            let blocks = given_back.clone().flat_map(|blocks| pool.iter(blocks));
            blocks.map(|block| place.common(block.into())).sum()
        };
        let mut best: Option<((u32, [u16; 4]), Submesh)> = None;
        for_each_maximal(supposed, |free| {
            for &sides in &sides[..count] {
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

    /// The block that the strategy would give to a request; `None` if it finds no place, or several blocks.
    ///
    /// # Time complexity
    ///
    /// That of the strategy.
    pub fn block(&mut self, request: &Request) -> Option<Block> {
        let demand = self.allocator.demand(request).ok()?;
        if demand > self.free() {
            return None;
        }
        let (found, blocks, _) =
            self.ask(|strategy, supposed, draft| strategy.suppose(supposed, request, draft));
        let pool = &mut self.allocator.pool;
        let only = match blocks.len() {
            1 if found => pool.iter(blocks).next(),
            _ => None,
        };
        pool.free(blocks);
        only
    }
}
