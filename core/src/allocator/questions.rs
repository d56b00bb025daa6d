//! Questions about what an allocator would do. They change nothing.

use super::Allocator;
use crate::draft::Draft;
use crate::error::Refusal;
use crate::jobs::JobTable;
use crate::machine::{Description, Layouts, SliceRule, largest_box};
use crate::message::LargestReport;
use crate::pause::Pause;
use crate::request::Request;
use crate::strategy::{Contiguity, Purpose, Strategy};
use crate::supposition::{Supposition, Unheld};

impl<'m> Allocator<'m> {
    /// The largest slice that could be placed now, and the largest free box.
    ///
    /// # Time complexity
    ///
    /// That of [`Query::Largest`](crate::Query::Largest).
    ///
    /// ```
    /// use meshalloc::storage::{HeapStorage, Needs};
    /// use meshalloc::{Allocator, Grid, Request, StrategyKind};
    ///
    /// let (grid, strategy) = (Grid::mesh(&[8, 8])?, StrategyKind::FirstFit);
    /// let mut storage = HeapStorage::new(Needs::of(strategy, &grid, 10), 0);
    /// let mut allocator = Allocator::new(storage.allocator_memory(), grid, strategy)?;
    /// allocator.allocate(&Request::submesh(3, 8))?;
    /// let largest = allocator.largest();
    /// assert_eq!((largest.processors, largest.shape.unwrap().to_string()), (40, "5x8".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn largest(&mut self) -> LargestReport {
        self.largest_with(None)
    }

    /// [`Allocator::largest`] with pauses.
    pub(crate) fn largest_with(&mut self, pause: Option<&Pause<'_, 'm>>) -> LargestReport {
        let (grid, description) = (*self.occupancy.grid(), self.strategy.description());
        let strategy = self.strategy.kind();
        self.occupancy.settle();
        let poll = || Pause::poll(pause, &self.occupancy, &self.pool);
        let block = largest_box(&self.occupancy, &poll);
        let chips_max = description.map_or(grid.nodes(), Description::chips_max);
        let free = self.occupancy.free().min(chips_max);
        let counts = strategy.counts_processors();
        // No slice is larger than what its blocks or its connected processors can have.
        let bound = match (block, strategy.holds()) {
            // Nothing is free, or there are too many dimensions for the shape of a number.
            (None, _) if !counts => 0,
            (Some(block), Contiguity::OneBlock) => grid.area(block),
            (Some(block), Contiguity::TwoBlocks) => 2 * grid.area(block),
            _ if strategy.lays() == SliceRule::Connected => {
                let mut draft = Draft::new(&mut self.pool, pause, &self.occupancy);
                let most = self.strategy.most_connected(&self.occupancy, &mut draft);
                draft.discard();
                most
            }
            _ => u32::MAX,
        };
        let most = free.min(bound);
        for processors in (1..=most).rev() {
            Pause::poll(pause, &self.occupancy, &self.pool);
            if description.is_some_and(|description| !description.may_be_legal(processors)) {
                continue;
            }
            let chips = Request::chips(processors);
            if counts {
                if self.would_fit(&chips, None, pause) {
                    return LargestReport {
                        processors,
                        shape: None,
                        block,
                    };
                }
                continue;
            }
            for shape in Layouts::new(strategy, description, &grid).forms(&chips) {
                Pause::poll(pause, &self.occupancy, &self.pool);
                if self.would_fit(&Request::new(shape), None, pause) {
                    return LargestReport {
                        processors,
                        shape: Some(shape),
                        block,
                    };
                }
            }
        }
        LargestReport {
            processors: 0,
            shape: None,
            block,
        }
    }
}

impl<'m, S: Strategy> Allocator<'m, S> {
    /// Whether the strategy would find a place for the request now, or places for all slices of a
    /// gang; nothing changes. A search for a gang, or with faulty processors
    /// ([`Tolerance`](crate::Tolerance)), that gives up says no.
    ///
    /// # Time complexity
    ///
    /// That of the strategy.
    pub fn fits(&mut self, request: &Request) -> bool {
        self.would_fit(request, None, None)
    }

    /// [`Allocator::fits`] where these jobs hold blocks, if there are jobs, in a search that may
    /// pause.
    pub(crate) fn would_fit(
        &mut self,
        request: &Request,
        jobs: Option<&JobTable<'m>>,
        pause: Option<&Pause<'_, 'm>>,
    ) -> bool {
        let demand = self.demand(request);
        match demand.and_then(|demand| self.attempt_with(request, demand, jobs, pause)) {
            Ok(()) => true,
            // The slices of a gang may have no places either.
            Err(Refusal::TableFull) => !request.is_gang(),
            Err(_) => false,
        }
    }

    /// Whether the request would be granted now; nothing changes.
    ///
    /// # Errors
    ///
    /// Why not: those of [`Allocator::allocate`].
    ///
    /// # Time complexity
    ///
    /// That of the strategy.
    pub fn attempt(&mut self, request: &Request) -> Result<(), Refusal> {
        let demand = self.demand(request)?;
        self.attempt_with(request, demand, None, None)
    }

    /// [`Allocator::attempt`] for a request whose demand is known, where these jobs hold blocks, if
    /// there are jobs, in a search that may pause.
    // One copy for all questions.
    #[inline(never)]
    pub(crate) fn attempt_with(
        &mut self,
        request: &Request,
        demand: u32,
        jobs: Option<&JobTable<'m>>,
        pause: Option<&Pause<'_, 'm>>,
    ) -> Result<(), Refusal> {
        let blocks = self.find(request, demand, jobs, Purpose::Question, pause)?;
        self.pool.free(blocks);
        Ok(())
    }

    /// A supposition: what if blocks were given back or others occupied? It begins with the present
    /// state.
    ///
    /// # Time complexity
    ///
    /// O(words), and if processors are faulty also O(words) of the held blocks.
    pub fn suppose(&mut self) -> Supposition<'_, 'm, S> {
        let unheld = self.unheld(None, None);
        self.suppose_knowing(unheld)
    }

    /// A supposition with pauses, for questions about this request, where these jobs hold blocks,
    /// if there are jobs.
    pub(crate) fn suppose_for<'a>(
        &'a mut self,
        request: &Request,
        jobs: Option<&JobTable<'m>>,
        pause: Option<&Pause<'a, 'm>>,
    ) -> Supposition<'a, 'm, S> {
        let unheld = self.unheld_for(request, jobs, pause);
        self.suppose_knowing(unheld).pausing(pause.copied())
    }

    /// A supposition in which no job holds these faulty processors.
    pub(super) fn suppose_knowing(&mut self, unheld: Unheld) -> Supposition<'_, 'm, S> {
        self.occupancy.settle();
        self.supposed.copy_of(&self.occupancy);
        self.supposition(unheld)
    }

    /// The supposition that has been prepared.
    fn supposition(&mut self, unheld: Unheld) -> Supposition<'_, 'm, S> {
        Supposition::new(
            &mut self.supposed,
            &self.occupancy,
            &mut self.strategy,
            &mut self.pool,
            &self.tickets,
            unheld,
        )
    }

    /// Whether this request, whose demand is known, could be granted while only absent processors
    /// are busy. If a search for a gang gives up, the answer is yes. O(words), and a search.
    ///
    /// # Errors
    ///
    /// `NeverFits`.
    #[inline(never)]
    pub(crate) fn check_present(
        &mut self,
        request: &Request,
        demand: u32,
        pause: Option<&Pause<'_, 'm>>,
    ) -> Result<(), Refusal> {
        self.occupancy.settle();
        self.supposed.clear(*self.occupancy.grid(), 0);
        for block in self.absent() {
            self.supposed.occupy(block);
        }
        let mut supposition = self.supposition(Unheld::NONE).pausing(pause.copied());
        if supposition.may_fit(request, demand) {
            Ok(())
        } else {
            Err(Refusal::NeverFits)
        }
    }
}
