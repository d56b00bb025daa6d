//! What would be if: [`Supposition`].

use crate::allocator::Allocator;
use crate::blocks::{Allocation, Chain, Draft};
use crate::grid::Block;
use crate::mesh::Submesh;
use crate::request::Request;
use crate::search::rectangles::for_each_maximal;
use crate::strategy::Strategy;

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

    /// The latest one, as it is.
    pub(crate) const fn latest(allocator: &'a mut Allocator<'m>) -> Self {
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
        let allocator = &mut *self.allocator;
        let mut draft = Draft::new(&mut allocator.pool);
        let strategy = &mut allocator.strategy;
        let fits = strategy.would_fit(&allocator.supposed, request, &mut draft);
        let (blocks, _) = draft.finish();
        allocator.pool.free(blocks);
        fits
    }

    /// The block to keep free for a job that fits: the one that withholds the fewest processors that are free now.
    ///
    /// On a two-dimensional mesh it is in one of the corners of a maximal free submesh, in an orientation in which the strategy
    /// surely finds a place ([`Strategy::recognizes`]); ties: the smallest (y1, x1, y2, x2). Where there is none, and on other grids,
    /// it is the block that the strategy would choose. `None` if that is not a single block.
    ///
    /// # Time complexity
    ///
    /// That of the strategy; on a two-dimensional mesh O(rows^2 * words in a row), and O(words) for each corner.
    pub(crate) fn reservation(&mut self, request: &Request) -> Option<Block> {
        self.corner(request).or_else(|| self.choice(request))
    }

    fn corner(&self, request: &Request) -> Option<Block> {
        let Allocator {
            supposed,
            occupancy,
            strategy,
            ..
        } = &*self.allocator;
        if !supposed.grid().is_plane() {
            return None;
        }
        let mut best: Option<((u32, [u16; 4]), Submesh)> = None;
        for sides in request.orientations() {
            if !strategy.recognizes(request, sides) {
                continue;
            }
            for_each_maximal(supposed, |free| {
                free.for_each_corner(sides, |place| {
                    let (low, high) = (place.lower_left(), place.upper_right());
                    let key = (occupancy.free_in(place), [low.y, low.x, high.y, high.x]);
                    if best.is_none_or(|(least, _)| key < least) {
                        best = Some((key, place));
                    }
                });
            });
        }
        best.map(|(_, place)| place.into())
    }

    fn choice(&mut self, request: &Request) -> Option<Block> {
        let allocator = &mut *self.allocator;
        let mut draft = Draft::new(&mut allocator.pool);
        let strategy = &mut allocator.strategy;
        let found = strategy.suppose(&allocator.supposed, request, &mut draft);
        let (blocks, _) = draft.finish();
        let only = match blocks.len() {
            1 if found => allocator.pool.iter(blocks).next(),
            _ => None,
        };
        allocator.pool.free(blocks);
        only
    }
}
