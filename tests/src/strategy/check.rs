//! What a strategy tries for a request, and whether an empty machine could serve it.

use meshalloc::{Contiguity, Flags, Refusal, Request, StrategyKind};

use super::{Strategy, counts_processors, keeps_sides, turns};
use crate::convert;
use crate::grid::{NaiveMachine, orders, padded};
use crate::pods;
use crate::shaped;

/// What a request asks for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Extents in the order in which they are named.
    pub extents: Vec<u32>,
    /// Processors; no more than the extents have.
    pub processors: u32,
    /// Whether the strategy may assign the extents to dimensions in another order.
    pub may_rotate: bool,
}

impl Wanted {
    /// The number of nodes of a box with these extents.
    pub fn area(&self) -> u64 {
        product(&self.extents)
    }
}

/// What [`Strategy::check`] finds out about a request.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What is tried, in order. The request itself, unless it names a number of processors or
    /// demands rings.
    pub wanted: Vec<Wanted>,
    /// The least number of nodes that it takes.
    pub taken: u64,
}

/// The flags that demand rings, by extent, and the one for all extents.
const RINGS: [Flags; 4] = [Flags::RING_0, Flags::RING_1, Flags::RING_2, Flags::RING_3];

/// Whether a request demands a ring along any extent, be it long enough for one or not.
pub(super) fn demands_rings(request: &Request) -> bool {
    let rings = RINGS.into_iter().chain([Flags::RINGS]);
    rings
        .fold(Flags::empty(), Flags::union)
        .intersects(request.flags)
}

fn product(extents: &[u32]) -> u64 {
    let factors = extents.iter().map(|&extent| u64::from(extent));
    factors.fold(1, u64::saturating_mul)
}

impl Strategy {
    /// Whether the shape does not matter.
    fn holds_processors(&self, wanted: &Wanted) -> bool {
        match self.kind {
            StrategyKind::Neighbor => wanted.may_rotate,
            kind => counts_processors(kind),
        }
    }

    /// What is tried for the request, if an empty machine could serve it, and the number of nodes
    /// it takes.
    ///
    /// # Errors
    ///
    /// Why it could not.
    pub fn check(&self, request: &Request) -> Result<Checked, Refusal> {
        let named = convert::wanted(self.grid(), request)?;
        let counts = counts_processors(self.kind) && self.kind != StrategyKind::Neighbor;
        let names_chips = request.flags.contains(Flags::CHIPS);
        let all = if names_chips && counts && demands_rings(request) {
            return Err(Refusal::NoRing);
        } else if names_chips && !counts {
            self.shapes_of_chips(request)
        } else {
            vec![named]
        };
        let mut checked = Checked {
            wanted: Vec::new(),
            taken: u64::MAX,
        };
        let mut refused = None;
        for shape in all {
            let orders = if demands_rings(request) {
                self.orders_with_rings(request, &shape)
            } else {
                vec![shape]
            };
            if orders.is_empty() {
                refused = refused.or(Some(Refusal::NoRing));
            }
            for wanted in orders {
                match self.check_wanted(&wanted) {
                    Ok(taken) => {
                        checked.taken = checked.taken.min(taken);
                        checked.wanted.push(wanted);
                    }
                    Err(refusal) => refused = refused.or(Some(refusal)),
                }
            }
        }
        match checked.taken {
            u64::MAX => Err(refused.unwrap_or(Refusal::NotLegal)),
            _ => Ok(checked),
        }
    }

    /// What a number of processors stands for: every box of that many nodes that fits the machine
    /// in some order of its sides, in each of its orders, the most compact first. Where a strategy
    /// turns what it is asked for, the later orders of the same sides find nothing new.
    pub(super) fn shapes_of_chips(&self, request: &Request) -> Vec<Wanted> {
        let sides = self.grid().sides();
        if sides.len() > 4 || request.processors > self.grid().nodes() {
            return Vec::new();
        }
        let sorted = |sides: &[u32]| {
            let mut sides = sides.to_vec();
            sides.sort_unstable();
            sides
        };
        let fits = |extents: &Vec<u32>| {
            let (extents, sides) = (sorted(extents), sorted(sides));
            extents
                .iter()
                .zip(&sides)
                .all(|(extent, side)| extent <= side)
        };
        let boxes = pods::boxes(request.processors, sides.len()).into_iter();
        let mut shapes: Vec<_> = boxes
            .filter(fits)
            .flat_map(|sides| orders(&sides))
            .collect();
        shapes.sort_by_key(|shape| pods::compactness(shape));
        // Where the order matters, because it says which extent has a ring or is halved, but may be
        // any, the sides ascend.
        let matters = demands_rings(request) || self.kind == StrategyKind::FlexFold;
        let as_named = |shape: &Vec<u32>| shape.iter().zip(sides).all(|(a, b)| a <= b);
        shapes.retain(|shape| {
            if request.may_rotate() && turns(self.kind) {
                !matters || shape.is_sorted()
            } else {
                as_named(shape)
            }
        });
        let wanted = |extents| Wanted {
            extents,
            processors: request.processors,
            may_rotate: request.may_rotate(),
        };
        shapes.into_iter().map(wanted).collect()
    }

    /// What is tried for a shape so that the rings close that the request demands: nothing, if they
    /// never do.
    fn orders_with_rings(&self, request: &Request, shape: &Wanted) -> Vec<Wanted> {
        let (sides, wraps) = (self.grid().sides(), self.grid().wraps());
        let n = sides.len();
        let Some(named) = padded(&shape.extents, n) else {
            return Vec::new();
        };
        if counts_processors(self.kind) || n > 4 {
            return Vec::new();
        }
        let is_demanded = |at: usize| {
            let is_asked = request.flags.intersects(Flags::RINGS | RINGS[at]);
            is_asked && named[at] > 2 && at < shape.extents.len()
        };
        let demanded: Vec<usize> = (0..n).filter(|&at| is_demanded(at)).collect();
        if demanded.is_empty() {
            return vec![shape.clone()];
        }
        if !keeps_sides(self.kind) {
            return Vec::new();
        }
        // Along which dimension each extent lies.
        let numbers: Vec<u32> = (0..n as u32).collect();
        let others = orders(&named).into_iter().filter(|order| *order != named);
        let (lies, others) = if shape.may_rotate && turns(self.kind) {
            (orders(&numbers), others.collect())
        } else {
            (vec![numbers], Vec::new())
        };
        let closes = |order: &Vec<u32>| {
            lies.iter().any(|lie| {
                let along = |at: usize| lie[at] as usize;
                let is_order = (0..n).all(|at| order[along(at)] == named[at]);
                let close = |&at: &usize| wraps[along(at)] && sides[along(at)] == named[at];
                is_order && demanded.iter().all(close)
            })
        };
        let orders = [named.clone()].into_iter().chain(others);
        let wanted = |extents| Wanted {
            extents,
            processors: shape.processors,
            may_rotate: false,
        };
        orders.filter(closes).map(wanted).collect()
    }

    /// The number of nodes that this takes on an empty machine.
    fn check_wanted(&self, wanted: &Wanted) -> Result<u64, Refusal> {
        let (ever, taken) = match self.kind {
            _ if self.holds_processors(wanted) => {
                let taken = match (&self.pages, &self.partitions) {
                    (Some(pages), _) => pages.held(wanted.processors),
                    (None, Some(partitions)) => partitions
                        .size(wanted.processors)
                        .map_or(u64::MAX, u64::from),
                    (None, None) => wanted.processors.into(),
                };
                (taken <= self.grid().nodes().into(), taken)
            }
            _ if self.kind.holds() == Contiguity::Blocks => {
                (wanted.area() <= self.grid().nodes().into(), wanted.area())
            }
            StrategyKind::LShape => {
                let whole = NaiveMachine::new(self.grid().clone());
                let ever = shaped::l_shape(&whole, wanted).is_some();
                (ever, wanted.area())
            }
            _ => {
                let ever = self.candidates(wanted, &mut |_| true);
                (ever, product(&self.rounded(&wanted.extents)))
            }
        };
        let below = |&extent: &u32| (2..self.grid().sides()[0]).contains(&extent);
        if !ever {
            Err(Refusal::NeverFits)
        } else if self.kind == StrategyKind::Partner && wanted.extents.iter().any(below) {
            Err(Refusal::ExtentBelowSide)
        } else {
            Ok(taken)
        }
    }
}
