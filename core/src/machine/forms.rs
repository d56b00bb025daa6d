//! The slices that are tried for a request, in order ([`Layouts`]): the legal shapes of the
//! request, and for each shape the sides by dimension that a slice may have ([`Trials`]).
//!
//! A ring of n processors needs no line of n: a side may be *folded* along the dimensions in which
//! the request has no other side. A side of 12 and some of its boxes:
//!
//! ```text
//!   12 x 1    o-o-o-o-o-o-o-o-o-o-o-o        6 x 2  o-o-o-o-o-o     4 x 3  o-o o-o
//!                                                   |         |            | | | |
//!                                                   o-o-o-o-o-o            o o-o o
//!                                                                          |     |
//!                                                                          o-o-o-o
//! ```
//!
//! # Source
//!
//! S. Chen and others, "Toward Co-adapting Machine Learning Job Shape and Cluster Topology",
//! arXiv:2510.03891, for folding.

use super::{DESCRIBED_MAX, Description, Extents, SliceRule, padded, touched, volume};
use crate::grid::{Grid, Shape, any_order, next_order};
use crate::request::{Flags, Request};

/// Calls `visit` with every box of this number of processors, at least 1, in `n` dimensions whose
/// sides are at most `longest`: its sides in ascending order, then ones. O(sqrt(`chips`)) for each
/// choice of the shorter sides whose product divides `chips`.
pub(super) fn for_each_box(chips: u32, n: usize, longest: u16, visit: &mut dyn FnMut(Extents)) {
    // Candidates for the shortest of the `left` remaining sides, whose product is `rest`: its
    // divisors from `from` on.
    let shortest = |left: u32, rest: u32, from: u32| {
        let bounds = if left as usize <= n {
            // No other side is longer than `longest`.
            let others = u64::from(longest).pow(left - 1);
            from.max(u64::from(rest).div_ceil(others) as u32)..=root(rest, left)
        } else {
            // The side is missing.
            1..=1
        };
        bounds.filter(move |&side| rest.is_multiple_of(side))
    };
    for a in shortest(4, chips, 1) {
        let rest = chips / a;
        for b in shortest(3, rest, a) {
            let rest = rest / b;
            for c in shortest(2, rest, b) {
                let sides = [a, b, c, rest / c];
                if sides[3] <= longest.into() {
                    let mut extents = [1; DESCRIBED_MAX];
                    let there = extents.iter_mut().zip(&sides[DESCRIBED_MAX - n..]);
                    there.for_each(|(extent, &side)| *extent = side as u16);
                    visit(extents);
                }
            }
        }
    }
}

/// The greatest number whose power of this degree, 2 to 4, is at most `number`.
fn root(number: u32, degree: u32) -> u32 {
    // Bit by bit, from the highest bit that the root may have.
    let bits = (0..u32::BITS.div_ceil(degree)).rev();
    bits.fold(0, |root, bit| {
        let next = root | 1 << bit;
        if u64::from(next).pow(degree) <= number.into() {
            next
        } else {
            root
        }
    })
}

/// The key by which boxes of one volume are ordered: the most compact box comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// The number of cubes that the box touches, where that counts.
    cubes: u32,
    longest: u16,
    sum: u32,
    sides: Extents,
    /// The number of the extent of the request that is folded, counted from 1; 0 if none is folded.
    folded: usize,
}

impl Key {
    fn new(sides: Extents, folded: usize, cubes: u32) -> Key {
        Key {
            cubes,
            longest: sides.into_iter().max().unwrap_or(1),
            sum: sides.into_iter().map(u32::from).sum(),
            sides,
            folded,
        }
    }

    /// Keeps the smaller key among those above `last`.
    fn keep_next(self, last: Option<Key>, next: &mut Option<Key>) {
        if last.is_none_or(|last| last < self) && next.is_none_or(|next| self < next) {
            *next = Some(self);
        }
    }
}

/// The slices that a strategy may give on a machine: the legal shapes of a request, and for each
/// shape the sides by dimension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layouts<'a> {
    pub(crate) rule: SliceRule,
    pub(crate) description: Option<&'a Description>,
    pub(crate) grid: &'a Grid,
}

impl<'a> Layouts<'a> {
    pub(crate) fn new(
        rule: impl Into<SliceRule>,
        description: Option<&'a Description>,
        grid: &'a Grid,
    ) -> Self {
        Layouts {
            rule: rule.into(),
            description,
            grid,
        }
    }

    /// The legal shapes of a request: its own shape, or all shapes of the number of chips that it
    /// names. The most compact comes first: by the longest side, then by the sum of the sides, then
    /// in lexicographic order.
    ///
    /// If the request may be turned and the strategy turns it, the ascending order of the sides
    /// stands for all orders. Otherwise each order is a shape of its own.
    ///
    /// On a machine of more than [`DESCRIBED_MAX`] dimensions there is no shape for a number of
    /// chips.
    pub(crate) fn forms(self, request: &'a Request) -> impl Iterator<Item = Shape> + 'a {
        let names_chips = request.flags.contains(Flags::CHIPS);
        let (mut own, mut last) = (Some(request.shape), None);
        core::iter::from_fn(move || {
            if names_chips {
                last = self.form_after(last, request);
                return Shape::new(&last?.sides[..self.grid.dimensions()]).ok();
            }
            let extents = padded(&own?.extents());
            let is_legal = self.description.is_none_or(|of| of.is_legal(&extents));
            own.take().filter(|_| is_legal)
        })
    }

    /// Whether the ascending order of the sides stands for all orders.
    pub(super) fn turns(self, request: &Request) -> bool {
        self.rule.turns() && may_turn(request, self.description)
    }

    /// The legal shape after the last one of the number of chips of a request.
    fn form_after(self, last: Option<Key>, request: &Request) -> Option<Key> {
        let (n, chips, turns) = (
            self.grid.dimensions(),
            request.processors,
            self.turns(request),
        );
        if chips == 0 || n > DESCRIBED_MAX || chips > self.grid.nodes() {
            return None;
        }
        let mut ours = padded(self.grid.sides());
        if turns {
            // The sides ascend: longer sides are laid along longer sides of the grid.
            ours[..n].sort_unstable();
        }
        let is_legal = |sides: &Extents| match self.description {
            Some(description) => description.is_legal(sides),
            None => sides.iter().zip(&ours).all(|(side, of)| side <= of),
        };
        // A slice of cubes may be longer than the machine.
        let longest = match self.description {
            Some(_) => u16::MAX,
            None => self.grid.sides().iter().copied().max().unwrap_or(1),
        };
        let mut next = None;
        for_each_box(chips, n, longest, &mut |mut sides| {
            // The ascending order comes first, and stands for all orders if the strategy turns.
            any_order(&mut sides[..n], &mut |order| {
                let sides = padded(order);
                if is_legal(&sides) {
                    Key::new(sides, 0, 0).keep_next(last, &mut next);
                }
                turns
            });
        });
        next
    }

    /// The sides for a shape of a request, in the order in which they are tried.
    pub(crate) fn trials(self, request: &Request, shape: Shape) -> Trials<'a> {
        let demanded = demanded_rings(request, shape);
        let rotates = may_turn(request, self.description);
        let (is_cubes, folds, gives_rings) = match self.rule {
            SliceRule::Anywhere | SliceRule::Connected | SliceRule::InBlocks => {
                (false, false, false)
            }
            SliceRule::Box { rings, .. } => (false, false, rings),
            SliceRule::Folded => (false, true, true),
            SliceRule::InCubes { fold } => (true, fold, true),
        };
        let is_shapeless = matches!(self.rule, SliceRule::Anywhere | SliceRule::Connected);
        let n = self.grid.dimensions();
        let is_described = n <= DESCRIBED_MAX;
        Trials {
            grid: self.grid,
            n: n.min(DESCRIBED_MAX),
            cube: self
                .description
                .filter(|_| is_cubes)
                .and_then(Description::cube_extents),
            named: padded(&shape.extents()),
            demanded,
            turns: rotates && self.rule.turns(),
            folds: folds && (2..=3).contains(&n),
            begins_as_named: !is_cubes || !rotates,
            candidate: None,
            order: None,
            is_done: request.flags.intersects(Flags::ALL_RINGS)
                && (!gives_rings && demanded != 0 || is_shapeless || !is_described),
        }
    }
}

/// Whether the extents of a request may lie along other dimensions than those for which they are
/// named.
pub(crate) fn may_turn(request: &Request, description: Option<&Description>) -> bool {
    request.may_rotate() && description.is_none_or(|description| description.rotate)
}

/// A bit for each extent of a shape: set if a request demands a ring along it. Extents up to 2
/// always have a ring.
pub(crate) fn demanded_rings(request: &Request, shape: Shape) -> u8 {
    let all = request.flags.contains(Flags::RINGS);
    let bits = request.flags.bits() >> Flags::RING_0.bits().trailing_zeros();
    let extents = shape.extents();
    (0..extents.len().min(DESCRIBED_MAX)).fold(0, |rings, at| {
        let is_demanded = (all || bits >> at & 1 == 1) && extents[at] > 2;
        rings | u8::from(is_demanded) << at
    })
}

/// The sides of a slice by dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trial {
    pub(crate) sides: Extents,
    /// The index of the extent of the request that is folded.
    pub(crate) folded: Option<usize>,
}

/// The sides by dimension that a strategy tries for a shape, in order, with the rings that the
/// request demands.
///
/// - `cubes`: every order of the extents, in ascending lexicographic order.
/// - `cubes:fold`, `folding`: the request itself and every folded form, sorted by the number of
///   cubes (`cubes:fold`), the longest side and the sum of the sides; each form in every order.
/// - Other strategies: the order in which the extents are named, then the other orders if the
///   strategy turns requests.
///
/// A request that may not be turned has only the order in which it is named; if it is folded, the
/// sides that stay whole keep their dimension.
#[derive(Debug)]
pub(crate) struct Trials<'a> {
    grid: &'a Grid,
    n: usize,
    /// The sides of a cube, if switches close rings.
    cube: Option<&'a Extents>,
    /// The extents as they are named.
    named: Extents,
    /// The extents that must have a ring.
    demanded: u8,
    turns: bool,
    folds: bool,
    /// Whether the orders begin with the one in which the extents are named.
    begins_as_named: bool,
    candidate: Option<Key>,
    /// The latest order.
    order: Option<Extents>,
    is_done: bool,
}

impl Trials<'_> {
    /// Whether a slice has a ring along this dimension.
    fn closes(&self, dimension: usize, side: u16) -> bool {
        closes(self.grid, self.cube, dimension, side)
    }

    /// The extents that are longer than 1.
    fn long(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.n).filter(|&at| self.named[at] > 1)
    }

    /// The candidate after the latest one.
    fn next_candidate(&mut self) -> bool {
        let n = self.n;
        let cubes = |sides: &Extents| match (self.folds, self.cube) {
            (true, Some(cube)) => touched(sides, cube),
            _ => 0,
        };
        let mut next = None;
        let last = self.candidate;
        let mut offer = |mut sides: Extents, folded: usize| {
            sides[..n].sort_unstable();
            Key::new(sides, folded, cubes(&sides)).keep_next(last, &mut next);
        };
        offer(self.named, 0);
        let long = self.long().count();
        if self.folds && (long == 1 || long == 2 && n == 3) {
            // If two extents are alike, only the first is folded: folding the second gives the
            // same slices.
            let is_alike = |one: usize, other: usize| {
                self.named[one] == self.named[other]
                    && self.demanded >> one & 1 == self.demanded >> other & 1
                    && self.turns
            };
            let is_first =
                |&at: &usize| !self.long().any(|other| other < at && is_alike(at, other));
            for at in self.long().filter(is_first) {
                let whole = volume(&self.named) / u32::from(self.named[at]);
                // A side folds along its own dimension and along dimensions without a side.
                for_each_box(
                    self.named[at].into(),
                    n + 1 - long,
                    u16::MAX,
                    &mut |mut sides| {
                        if sides.iter().filter(|&&side| side > 1).count() > 1 {
                            if long == 2 {
                                sides[2] = whole as u16;
                            }
                            offer(sides, at + 1);
                        }
                    },
                );
            }
        }
        self.candidate = next;
        self.order = None;
        next.is_some()
    }

    /// The order after the latest one of this candidate.
    fn next_order(&mut self, candidate: &Key) -> bool {
        let (first, named) = (candidate.sides, self.named);
        let is_itself = candidate.folded == 0;
        let begins_as_named = is_itself && self.begins_as_named;
        let following = |mut order: Extents| next_order(&mut order[..self.n]).then_some(order);
        let next = match self.order {
            None if begins_as_named => Some(named),
            Some(_) if is_itself && !self.turns => None,
            Some(order) if !begins_as_named || order != named => following(order),
            _ => Some(first),
        };
        // The orders after the named order ascend, and leave out the named order.
        let is_again = begins_as_named && self.order.is_some() && next == Some(named);
        self.order = if is_again { following(named) } else { next };
        self.order.is_some()
    }

    /// Whether the slice may be laid in this order.
    fn is_possible(&self, candidate: &Key, order: &Extents) -> bool {
        let folded = candidate.folded.checked_sub(1);
        if let Some(folded) = folded {
            if self.demanded >> folded & 1 == 1 && !self.named[folded].is_multiple_of(2) {
                return false;
            }
            let stays = |at: usize| at == folded || order[at] == self.named[at];
            if !self.turns && !self.long().all(stays) {
                return false;
            }
        }
        // The order has as many rings of each length as the request demands.
        let demanded = |at: &usize| self.demanded >> at & 1 == 1 && Some(*at) != folded;
        (0..self.n).filter(demanded).all(|at| {
            let len = self.named[at];
            if !self.turns {
                return order[at] == len && self.closes(at, len);
            }
            let wanted = (0..self.n).filter(|of| demanded(of) && self.named[*of] == len);
            let given = (0..self.n).filter(|&of| order[of] == len && self.closes(of, len));
            wanted.count() <= given.count()
        })
    }

    /// The dimension along which an extent that is not folded lies.
    pub(crate) fn dimension_of(&self, trial: &Trial, extent: usize) -> usize {
        let len = self.named[extent];
        let along = |at: &usize| trial.sides[*at] == len;
        let demands = self.demanded >> extent & 1 == 1;
        if !self.turns && along(&extent) {
            return extent;
        }
        let mut closing = (0..self.n).filter(along).filter(|&at| self.closes(at, len));
        let closing = closing.next().filter(|_| demands);
        let mut any = (0..self.n).filter(along);
        closing.or_else(|| any.next()).unwrap_or(extent)
    }
}

/// Whether a slice of this side has a ring along this dimension. A slice of cubes has one if the
/// side is a multiple of the cube's side. Any other slice has one if it spans a dimension that
/// wraps.
pub(crate) fn closes(grid: &Grid, cube: Option<&Extents>, dimension: usize, side: u16) -> bool {
    side <= 2
        || match cube {
            Some(cube) => side.is_multiple_of(cube[dimension]),
            None => grid.wraps(dimension) && side == grid.side(dimension),
        }
}

impl Iterator for Trials<'_> {
    type Item = Trial;

    fn next(&mut self) -> Option<Trial> {
        while !self.is_done {
            if self.candidate.is_none() && !self.next_candidate() {
                break;
            }
            let candidate = self.candidate?;
            if !self.next_order(&candidate) {
                self.is_done = !self.next_candidate();
                continue;
            }
            let order = self.order?;
            if self.is_possible(&candidate, &order) {
                return Some(Trial {
                    sides: order,
                    folded: candidate.folded.checked_sub(1),
                });
            }
        }
        self.is_done = true;
        None
    }
}
