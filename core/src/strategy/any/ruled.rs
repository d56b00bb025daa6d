//! The rules of a machine's description, which hold for every strategy: what a request that names
//! a number of processors or demands rings stands for, and what is legal.

use crate::error::Refusal;
use crate::grid::{Grid, Shape};
use crate::machine::{Description, Forms, Trials, demanded_rings};
use crate::request::{Flags, Request};
use crate::strategy::facts::RULED;
use crate::strategy::{AnyStrategy, Draft, Site, StrategyKind};

/// What the rules are about.
#[derive(Clone, Copy)]
struct Served<'a> {
    kind: StrategyKind,
    grid: &'a Grid,
    machine: Option<&'a Description>,
}

impl<'m> AnyStrategy<'m> {
    const fn served<'a>(&self, grid: &'a Grid) -> Served<'a>
    where
        'm: 'a,
    {
        Served {
            kind: self.kind(),
            grid,
            machine: self.machine(),
        }
    }

    /// Whether there are rules for this request.
    #[inline]
    pub(super) fn is_ruled(&self, request: &Request) -> bool {
        Description::BUILT && (self.machine().is_some() || request.flags.intersects(RULED))
    }

    /// The demand of a request for which there are rules.
    #[inline(never)]
    pub(super) fn ruled_demand(&self, grid: &Grid, request: &Request) -> Result<u32, Refusal> {
        let served = self.served(grid);
        if served.needs_no_shape(request) {
            return if request.flags.intersects(Flags::ALL_RINGS) {
                Err(Refusal::NoRing)
            } else {
                self.chosen_demand(grid, request)
            };
        }
        let (mut refusal, mut least) = (Refusal::NotLegal, u32::MAX);
        // Of several refusals that of the first form.
        let mut refuse = |next| {
            if refusal == Refusal::NotLegal {
                refusal = next;
            }
        };
        for shape in served.forms(request) {
            if shape.area() == 0 {
                return Err(Refusal::EmptyRequest);
            }
            let mut trials = served.trials(request, shape);
            if request.flags.intersects(Flags::ALL_RINGS) && trials.next().is_none() {
                refuse(Refusal::NoRing);
                continue;
            }
            // A later form may take fewer processors if the strategy rounds extents up.
            if served.each_of_form(request, shape, &mut |request| {
                match self.chosen_demand(grid, request) {
                    Ok(demand) => least = least.min(demand),
                    Err(next) => refuse(next),
                }
                least <= request.processors
            }) {
                break;
            }
        }
        match least {
            u32::MAX => Err(refusal),
            _ => Ok(least),
        }
    }

    /// Tries what a request stands for, one form after the other.
    #[inline(never)]
    pub(super) fn try_ruled(
        &mut self,
        site: &Site<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let grid = site.grid();
        let served = self.served(grid);
        if served.needs_no_shape(request) {
            return self.search(site, request, draft);
        }
        // The demand of a single form is known.
        let several = request.flags.intersects(RULED);
        for shape in served.forms(request) {
            if served.each_of_form(request, shape, &mut |request| {
                (!several || self.chosen_demand(grid, request).is_ok())
                    && self.search(site, request, draft)
            }) {
                return true;
            }
        }
        false
    }
}

impl Served<'_> {
    /// Whether the strategy is asked for a number of processors as it is.
    fn needs_no_shape(&self, request: &Request) -> bool {
        request.flags.contains(Flags::CHIPS) && self.kind.counts_processors()
    }

    fn forms<'a>(&'a self, request: &'a Request) -> Forms<'a> {
        Forms::new(self.machine, self.grid, request, self.kind.lays().turns())
    }

    fn trials(&self, request: &Request, shape: Shape) -> Trials<'_> {
        Trials::new(self.kind.lays(), self.machine, self.grid, request, shape)
    }

    /// Calls `attempt` with what a strategy that knows no rules may be asked for, until it returns
    /// true.
    fn each_of_form(
        &self,
        request: &Request,
        shape: Shape,
        attempt: &mut dyn FnMut(&Request) -> bool,
    ) -> bool {
        let mut request = Request {
            shape,
            flags: request.flags.difference(Flags::CHIPS),
            ..*request
        };
        if self.machine.is_some_and(|machine| !machine.rotates()) {
            request.flags |= Flags::FIXED_ORIENTATION;
        }
        let knows_rings = matches!(
            self.kind,
            StrategyKind::Cubes { .. } | StrategyKind::Folding
        );
        if knows_rings || demanded_rings(&request, shape) == 0 {
            return attempt(&request);
        }
        // One after the other the orders in which the rings close.
        self.trials(&request, shape).any(|trial| {
            let shape = Shape::new(&trial.sides[..self.grid.dimensions()]);
            let flags = request.flags.difference(Flags::ALL_RINGS) | Flags::FIXED_ORIENTATION;
            shape.is_ok_and(|shape| {
                attempt(&Request {
                    shape,
                    flags,
                    ..request
                })
            })
        })
    }
}
