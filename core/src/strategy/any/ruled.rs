//! The rules of a machine's description, which hold for every strategy: what a request that names
//! a number of processors or demands rings stands for, and what is legal.

use super::{AnyStrategy, Chosen};
use crate::error::Refusal;
use crate::grid::{Grid, Shape};
use crate::machine::{Forms, Machine, Trials, demanded_rings};
use crate::request::{Flags, Request};
use crate::strategy::{Holds, Strategy, StrategyKind};

/// The flags that the rules are about.
const RULED: Flags = Flags::CHIPS.union(Flags::ALL_RINGS);

/// Whether the strategy looks at the number of processors alone.
fn counts_processors(kind: StrategyKind) -> bool {
    kind.holds() == Holds::Processors || kind == StrategyKind::Torus3d
}

impl AnyStrategy<'_> {
    /// Whether there are rules for this request.
    #[inline]
    pub(super) fn is_ruled(&self, request: &Request) -> bool {
        self.1.machine.is_some() || request.flags.intersects(RULED)
    }

    /// The demand of a request for which there are rules.
    #[inline(never)]
    pub(super) fn ruled_demand(&self, request: &Request) -> Result<u32, Refusal> {
        let super::Served {
            kind,
            grid,
            machine,
        } = self.1;
        if counts_processors(kind) && request.flags.contains(Flags::CHIPS) {
            return match request.flags.intersects(Flags::ALL_RINGS) {
                true => Err(Refusal::NoRing),
                false => with_chosen!(self, strategy => strategy.demand(request)),
            };
        }
        let mut forms = Forms::new(machine, &grid, request);
        let mut refusal = Refusal::NotLegal;
        // Of several refusals that of the first form.
        let mut refuse = |next| {
            if refusal == Refusal::NotLegal {
                refusal = next;
            }
        };
        while let Some(shape) = forms.next() {
            if shape.area() == 0 {
                return Err(Refusal::EmptyRequest);
            }
            let mut trials = Trials::new(kind.into(), machine, &grid, request, shape);
            if request.flags.intersects(Flags::ALL_RINGS) && trials.next().is_none() {
                refuse(Refusal::NoRing);
                continue;
            }
            let mut found = None;
            self.each_of_form(request, shape, &mut |request| {
                match with_chosen!(self, strategy => strategy.demand(request)) {
                    Ok(demand) => found = Some(demand),
                    Err(next) => refuse(next),
                }
                found.is_some()
            });
            if let Some(demand) = found {
                return Ok(demand);
            }
        }
        Err(refusal)
    }

    /// Tries what a request stands for, one form after the other.
    #[inline(never)]
    pub(super) fn try_ruled(
        &mut self,
        request: &Request,
        attempt: &mut dyn FnMut(&mut Self, &Request) -> bool,
    ) -> bool {
        if counts_processors(self.1.kind) && request.flags.contains(Flags::CHIPS) {
            return attempt(self, request);
        }
        let super::Served {
            kind,
            grid,
            machine,
        } = self.1;
        let mut forms = Forms::new(machine, &grid, request);
        while let Some(shape) = forms.next() {
            let tried = each_of_form(kind, machine, &grid, request, shape, &mut |request| {
                attempt(self, request)
            });
            if tried {
                return true;
            }
        }
        false
    }

    fn each_of_form(
        &self,
        request: &Request,
        shape: Shape,
        attempt: &mut dyn FnMut(&Request) -> bool,
    ) -> bool {
        let machine = self.1.machine;
        each_of_form(self.1.kind, machine, &self.1.grid, request, shape, attempt)
    }

    /// The first shape that a request for a number of processors stands for.
    #[inline(never)]
    pub(super) fn first_form(&self, request: &Request) -> Option<Request> {
        let super::Served {
            kind,
            grid,
            machine,
        } = self.1;
        if counts_processors(kind) {
            return None;
        }
        let shape = Forms::new(machine, &grid, request).next()?;
        Some(of_shape(request, shape))
    }
}

/// A request for this shape instead.
const fn of_shape(request: &Request, shape: Shape) -> Request {
    Request {
        shape,
        flags: request.flags.difference(Flags::CHIPS),
        ..*request
    }
}

/// Calls `attempt` with what a strategy that knows no rules may be asked for, until it returns
/// true.
fn each_of_form(
    kind: StrategyKind,
    machine: Option<&Machine>,
    grid: &Grid,
    request: &Request,
    shape: Shape,
    attempt: &mut dyn FnMut(&Request) -> bool,
) -> bool {
    let mut request = of_shape(request, shape);
    if machine.is_some_and(|machine| !machine.rotates()) {
        request.flags |= Flags::FIXED_ORIENTATION;
    }
    let knows_rings = matches!(kind, StrategyKind::Cubes { .. } | StrategyKind::Folding);
    if knows_rings || demanded_rings(&request, shape) == 0 {
        return attempt(&request);
    }
    // One after the other the orders in which the rings close.
    Trials::new(kind.into(), machine, grid, &request, shape).any(|trial| {
        let shape = Shape::new(&trial.sides[..grid.dimensions()]);
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
