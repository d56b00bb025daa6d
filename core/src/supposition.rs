//! Questions about a supposed occupancy: [`Supposition`].

use crate::allocation::{Allocation, AllocationError, Tickets};
use crate::draft::Draft;
use crate::error::Refusal;
use crate::grid::Block;
use crate::occupancy::Occupancy;
use crate::pause::Pause;
use crate::pool::{BlockPool, Chain};
use crate::request::Request;
use crate::strategy::{AnyStrategy, OccupancyEvent, Purpose, Site, Strategy, demand_on};
use crate::tolerance::Tolerance;

mod gang;
mod tolerant;

pub(crate) use tolerant::Unheld;

/// A supposed occupancy: some allocations given back, some processors occupied. It answers what the
/// strategy would do then. The machine and its jobs do not change.
///
/// ```
/// use meshalloc::{Allocator, AllocatorStorage, Mesh, Request, StrategyKind, Submesh, storage};
///
/// let mut storage: storage!(mesh 8 x 8, strategies [FirstFit], allocations 10) =
///     AllocatorStorage::new();
/// let machine = Mesh::new(8, 8)?.into();
/// let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::FirstFit)?;
/// let wide = allocator.allocate(&Request::submesh(8, 6))?;
///
/// let mut supposition = allocator.suppose();
/// assert!(!supposition.fits(&Request::submesh(4, 4)));
/// supposition.give_back(&wide)?;
/// assert!(supposition.fits(&Request::submesh(4, 4)));
/// supposition.occupy(Submesh::new(0, 2, 8, 4).into());
/// assert!(!supposition.fits(&Request::submesh(4, 4)));
/// assert_eq!(allocator.release(wide)?, 48);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Supposition<'a, 'm, S = AnyStrategy<'m>> {
    pub(crate) supposed: &'a mut Occupancy<'m>,
    /// The machine's own occupancy.
    pub(crate) occupancy: &'a Occupancy<'m>,
    pub(crate) strategy: &'a mut S,
    pub(crate) pool: &'a mut BlockPool<'m>,
    tickets: &'a Tickets<'m>,
    pub(crate) unheld: Unheld,
    pub(crate) pause: Option<Pause<'a, 'm>>,
}

impl<'a, 'm, S: Strategy> Supposition<'a, 'm, S> {
    /// Begins with the occupancy `supposed`, of the same grid.
    pub(crate) const fn new(
        supposed: &'a mut Occupancy<'m>,
        occupancy: &'a Occupancy<'m>,
        strategy: &'a mut S,
        pool: &'a mut BlockPool<'m>,
        tickets: &'a Tickets<'m>,
        unheld: Unheld,
    ) -> Self {
        Supposition {
            supposed,
            occupancy,
            strategy,
            pool,
            tickets,
            unheld,
            pause: None,
        }
    }

    /// The supposition with pauses.
    pub(crate) fn pausing(self, pause: Option<Pause<'a, 'm>>) -> Self {
        Supposition { pause, ..self }
    }

    /// Supposes that the allocation was released. Its faulty processors stay busy. Processors that
    /// are free already stay free; those that were occupied here become free.
    ///
    /// # Errors
    ///
    /// Those of [`Allocator::release`](crate::Allocator::release).
    ///
    /// # Time complexity
    ///
    /// O(words of the allocation).
    pub fn give_back(&mut self, allocation: &Allocation) -> Result<(), AllocationError> {
        let cell = self.tickets.check(allocation)?;
        for block in self.pool.iter_from(cell) {
            // Processors that are free already must not be counted twice.
            self.supposed.occupy(block);
            self.unheld.vacate(self.supposed, self.occupancy, block);
        }
        Ok(())
    }

    /// Gives back the blocks of a chain, none of which was given back or occupied here before.
    pub(crate) fn give_back_blocks(&mut self, blocks: Chain) {
        for block in self.pool.iter(blocks) {
            self.unheld.vacate(self.supposed, self.occupancy, block);
            self.poll();
        }
    }

    /// Supposes that the processors of the block are busy, free or not. A block that is not within
    /// the machine changes nothing. O(words of the block).
    pub fn occupy(&mut self, block: Block) {
        if self.supposed.grid().contains(block) {
            self.occupy_block(block);
        }
    }

    /// [`Supposition::occupy`] for a block that is within the machine.
    pub(crate) fn occupy_block(&mut self, block: Block) {
        self.unheld.occupy(self.supposed, block);
        self.poll();
    }

    /// The number of free processors.
    pub fn free(&self) -> u32 {
        self.supposed.free()
    }

    /// Whether the strategy would find a place for the request, or places for all slices of a gang.
    /// A search for a gang, or with faulty processors ([`Tolerance`](crate::Tolerance)), that gives
    /// up says no.
    ///
    /// # Time complexity
    ///
    /// That of the strategy.
    pub fn fits(&mut self, request: &Request) -> bool {
        let demand = demand_on(self.strategy, self.supposed.grid(), request);
        demand.is_ok_and(|demand| self.fits_demand(request, demand))
    }

    /// [`Supposition::fits`] for a request whose demand is known.
    pub(crate) fn fits_demand(&mut self, request: &Request, demand: u32) -> bool {
        // If the pool has no room for the blocks now, it may have room when the jobs have ended
        // whose blocks were given back here.
        let answer = self.answer(request, demand);
        matches!(answer, Ok(()) | Err(Refusal::TableFull))
    }

    /// Whether a request whose demand is known may fit: [`Supposition::fits_demand`], or the search
    /// was not completed.
    pub(crate) fn may_fit(&mut self, request: &Request, demand: u32) -> bool {
        use Refusal::{NotSearchedToTheEnd, TableFull};

        let answer = self.answer(request, demand);
        matches!(answer, Ok(()) | Err(TableFull | NotSearchedToTheEnd))
    }

    /// Whether the request would be granted here; nothing changes.
    ///
    /// # Errors
    ///
    /// Why not: those of [`Allocator::allocate`](crate::Allocator::allocate).
    ///
    /// # Time complexity
    ///
    /// That of the strategy.
    pub fn attempt(&mut self, request: &Request) -> Result<(), Refusal> {
        let demand = demand_on(self.strategy, self.supposed.grid(), request)?;
        let answer = self.answer(request, demand);
        answer.map_err(|refusal| request.refusal_of(refusal))
    }

    /// Whether there are places for a request whose demand is known.
    fn answer(&mut self, request: &Request, demand: u32) -> Result<(), Refusal> {
        let blocks = self.place(request, demand, Purpose::Question)?;
        self.pool.free(blocks);
        Ok(())
    }

    /// Searches here for a request whose demand is known.
    ///
    /// # Errors
    ///
    /// Those of [`search_both_ways`].
    pub(crate) fn place(
        &mut self,
        request: &Request,
        demand: u32,
        purpose: Purpose<'_, '_>,
    ) -> Result<Chain, Refusal> {
        let (free, faulty) = (self.free(), self.occupancy.faulty_count());
        search_both_ways(
            (self, free, faulty),
            (request, demand),
            |it| it.propose(request, demand, purpose, None),
            |it, refusal| it.propose(request, demand, purpose, Some(refusal)),
        )
    }

    /// Searches without faulty processors, or with them if `refusal_without` is given: the refusal
    /// of the search without them.
    pub(crate) fn propose(
        &mut self,
        request: &Request,
        demand: u32,
        purpose: Purpose<'_, '_>,
        refusal_without: Option<Refusal>,
    ) -> Result<Chain, Refusal> {
        // Making the bitmap took time, and the search that follows may have no pauses.
        self.poll();
        let with_faulty = Tolerance::BUILT && refusal_without.is_some();
        if let Some(refusal) = refusal_without.filter(|_| with_faulty) {
            self.check_usable(request, demand, refusal)?;
        }
        let blocks = if request.is_gang() {
            self.gang(request, purpose, with_faulty)
        } else if with_faulty {
            self.slice_with_faulty(request, demand, purpose)
        } else {
            self.slice(request, purpose)
        };
        // The strategy returns to the machine's own occupancy.
        let event = OccupancyEvent::SuppositionEnded;
        let poll = || Pause::poll(self.pause.as_ref(), self.occupancy, self.pool);
        self.strategy.changed(self.occupancy, event, &poll);
        blocks
    }

    /// The blocks of one slice.
    fn slice(&mut self, request: &Request, purpose: Purpose<'_, '_>) -> Result<Chain, Refusal> {
        let draft = Draft::new(self.pool, self.pause.as_ref(), self.occupancy);
        let site = Site::new(self.supposed, self.occupancy, purpose);
        site.ask(self.strategy, request, draft)
    }

    pub(crate) fn poll(&self) {
        Pause::poll(self.pause.as_ref(), self.occupancy, self.pool);
    }

    /// The block that the strategy would give to a request. `None` if it finds no place or more
    /// than one block, or if the pool of blocks is full.
    ///
    /// # Time complexity
    ///
    /// That of the strategy.
    pub fn block(&mut self, request: &Request) -> Option<Block> {
        let demand = demand_on(self.strategy, self.supposed.grid(), request).ok()?;
        let blocks = self.place(request, demand, Purpose::Place).ok()?;
        let only = match blocks.len() {
            1 => self.pool.iter(blocks).next(),
            _ => None,
        };
        self.pool.free(blocks);
        only
    }
}

/// Searches `on` for the blocks of a request whose demand is known. `free` and `faulty` are the
/// numbers of free and of faulty processors there.
///
/// The search `without_faulty` is made if `demand` processors are free. The search `with_faulty`
/// follows if the first one was not made or found nothing, the request tolerates faulty processors,
/// there are some, and the pool was not full. It gets the refusal of the first one.
///
/// # Errors
///
/// `TooFewFree`, `Fragmented`, `TableFull`; for a gang also `GangIncomplete`; for a gang, and with
/// faulty processors, `NotSearchedToTheEnd`.
#[inline(always)]
pub(crate) fn search_both_ways<T>(
    (on, free, faulty): (&mut T, u32, u32),
    (request, demand): (&Request, u32),
    without_faulty: impl FnOnce(&mut T) -> Result<Chain, Refusal>,
    with_faulty: impl FnOnce(&mut T, Refusal) -> Result<Chain, Refusal>,
) -> Result<Chain, Refusal> {
    let blocks = if demand > free {
        Err(Refusal::TooFewFree)
    } else {
        without_faulty(on)
    };
    match blocks {
        Err(refusal) if request.is_tolerant() && faulty > 0 && refusal != Refusal::TableFull => {
            with_faulty(on, refusal)
        }
        blocks => blocks,
    }
}
