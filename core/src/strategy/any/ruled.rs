//! The rules of a machine's description, which hold for every strategy. They say which slices are
//! legal, and which shapes a request stands for that names a number of processors or demands rings.

use crate::error::Refusal;
use crate::grid::{DESCRIBED_MAX, Grid, Shape};
use crate::machine::{Description, Layouts, SliceRule, demanded_rings};
use crate::request::{Flags, Request};
use crate::search::steps::{Rule, Steps};
use crate::slices::Slices;
use crate::strategy::facts::RULED;
use crate::strategy::{AnyStrategy, BoxForm, Draft, Site, StrategyKind};

impl<'m> AnyStrategy<'m> {
    fn layouts<'a>(&self, grid: &'a Grid) -> Layouts<'a>
    where
        'm: 'a,
    {
        Layouts::new(self.kind(), self.machine(), grid)
    }

    /// Whether the strategy gets the request's number of processors as it is, without a shape.
    fn needs_no_shape(&self, request: &Request) -> bool {
        request.flags.contains(Flags::CHIPS) && self.kind().counts_processors()
    }

    /// Whether there are rules for this request.
    #[inline]
    pub(super) fn is_ruled(&self, request: &Request) -> bool {
        Description::BUILT && (self.machine().is_some() || request.flags.intersects(RULED))
    }

    /// The demand of a request for which there are rules.
    #[inline(never)]
    pub(super) fn ruled_demand(&self, grid: &Grid, request: &Request) -> Result<u32, Refusal> {
        let layouts = self.layouts(grid);
        if self.needs_no_shape(request) {
            return if request.flags.intersects(Flags::ALL_RINGS) {
                Err(Refusal::NoRing)
            } else {
                self.chosen_demand(grid, request)
            };
        }
        let (mut refusal, mut least) = (Refusal::NotLegal, u32::MAX);
        // The refusal of the first form that is refused.
        let mut refuse = |next| {
            if refusal == Refusal::NotLegal {
                refusal = next;
            }
        };
        for shape in layouts.forms(request) {
            if shape.area() == 0 {
                return Err(Refusal::EmptyRequest);
            }
            let mut trials = layouts.trials(request, shape);
            if request.flags.intersects(Flags::ALL_RINGS) && trials.next().is_none() {
                refuse(Refusal::NoRing);
                continue;
            }
            // A later form may take fewer processors if the strategy rounds extents up.
            if each_of_form(layouts, request, shape, &mut |request| {
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

    /// [`Strategy::each_box`](crate::Strategy::each_box) of the strategies that find every free
    /// box of the sides that they try.
    pub(super) fn visit_boxes(
        &self,
        grid: &Grid,
        request: &Request,
        visit: &mut dyn FnMut(BoxForm),
    ) -> bool {
        let finds_all = matches!(
            self.kind(),
            StrategyKind::FirstFit
                | StrategyKind::AdaptiveScan
                | StrategyKind::FreeSubmeshList
                | StrategyKind::BestFit
                | StrategyKind::BusyList
                | StrategyKind::LeastExpectedBlocking { .. }
                | StrategyKind::LebEstimates { .. }
        );
        let names_chips = request.flags.contains(Flags::CHIPS);
        if !Slices::BUILT || !finds_all || names_chips || grid.dimensions() > DESCRIBED_MAX {
            return false;
        }
        let (layouts, rule) = (self.layouts(grid), Rule::of(self.machine()));
        for trial in layouts.trials(request, request.shape) {
            let steps = rule.map(|rule| rule.steps(&trial.sides[..grid.dimensions()]));
            visit(BoxForm {
                sides: trial.sides,
                steps: steps.map_or([1; DESCRIBED_MAX], Steps::numbers),
            });
        }
        true
    }

    /// Tries the forms that a request stands for, one after the other.
    #[inline(never)]
    pub(super) fn try_ruled(
        &mut self,
        site: &Site<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let grid = site.grid();
        let layouts = self.layouts(grid);
        let needs_no_shape = self.needs_no_shape(request);
        // The demand of a single form is known.
        let several = !needs_no_shape && request.flags.intersects(RULED);
        let mut attempt = |request: &Request| {
            (!several || self.chosen_demand(grid, request).is_ok())
                && self.search(site, request, draft)
        };
        if needs_no_shape {
            return attempt(request);
        }
        for shape in layouts.forms(request) {
            if each_of_form(layouts, request, shape, &mut attempt) {
                return true;
            }
        }
        false
    }
}

/// Calls `attempt` with each request that stands for a form and needs no rules, until `attempt`
/// returns true.
fn each_of_form(
    layouts: Layouts<'_>,
    request: &Request,
    shape: Shape,
    attempt: &mut dyn FnMut(&Request) -> bool,
) -> bool {
    let mut request = Request {
        shape,
        flags: request.flags.difference(Flags::CHIPS),
        ..*request
    };
    if layouts
        .description
        .is_some_and(|machine| !machine.rotates())
    {
        request.flags |= Flags::FIXED_ORIENTATION;
    }
    let knows_rings = matches!(layouts.rule, SliceRule::Folded | SliceRule::InCubes { .. });
    if knows_rings || demanded_rings(&request, shape) == 0 {
        return attempt(&request);
    }
    // The orders in which the rings close, one after the other.
    layouts.trials(&request, shape).any(|trial| {
        let shape = Shape::new(&trial.sides[..layouts.grid.dimensions()]);
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
