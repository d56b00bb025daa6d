//! The slices that a description allows: legal shapes, and the legal shapes nearest to other
//! shapes.

use super::{Description, Extents, Layouts, SliceRule, padded, volume};
use crate::error::{NEAREST_MAX, Refusal};
use crate::grid::{Shape, any_order};
use crate::request::{Flags, Request};

impl Description {
    /// Whether the rules allow a slice with these sides by dimension.
    pub(super) fn is_legal(&self, sides: &Extents) -> bool {
        if volume(sides) > self.chips_max() || volume(sides) == 0 {
            return false;
        }
        let n = self.grid.dimensions();
        // Whether this holds in an order of the sides that may be granted.
        let is_any = |legal: &dyn Fn(&Extents) -> bool| {
            let mut order = *sides;
            if self.rotate {
                any_order(&mut order[..n], &mut |order| legal(&padded(order)))
            } else {
                legal(&order)
            }
        };
        let is_within = |order: &Extents| {
            self.cube.is_some() || (0..n).all(|at| order[at] <= self.grid.side(at))
        };
        if self.shapes_len == 0 && self.multiple.is_none() {
            return is_any(&is_within);
        }
        let is_listed = |order: &Extents| {
            let mut shapes = self.shapes().iter();
            shapes.any(|&shape| padded(&shape.extents()) == *order)
        };
        let is_multiple = |order: &Extents| {
            self.multiple.is_some_and(|multiple| {
                (0..n).all(|at| order[at].is_multiple_of(multiple[at])) && is_within(order)
            })
        };
        is_any(&|order| is_listed(order) || is_multiple(order))
    }

    /// Whether the request is legal, and the machine could give it the rings that it demands.
    ///
    /// A number of processors is legal here if one of its shapes is. Strategies that take the
    /// number as it is ([`Flags::CHIPS`](crate::Flags::CHIPS)) may grant other numbers too:
    /// [`Allocator::demand`](crate::Allocator::demand) has their answer.
    ///
    /// # Errors
    ///
    /// - `NotLegal`: no slice of the shape, or of the number of chips, is given;
    ///   [`Description::nearest`] has the nearest ones.
    /// - `TooManyExtents`: the shape has more extents than the machine has dimensions.
    /// - `NoRing`: no slice of the shape has the demanded rings, or the strategy gives no rings.
    pub fn check(&self, strategy: impl Into<SliceRule>, request: &Request) -> Result<(), Refusal> {
        self.grid.check(request.shape)?;
        let layouts = Layouts::new(strategy, Some(self), &self.grid);
        let mut refusal = Refusal::NotLegal;
        for shape in layouts.forms(request) {
            if layouts.trials(request, shape).next().is_some() {
                return Ok(());
            }
            refusal = Refusal::NoRing;
        }
        Err(refusal)
    }

    /// The nearest legal shapes that hold as many processors as the request names. Shapes with the
    /// fewest processors come first; ties: the most compact first.
    pub fn nearest(&self, request: &Request) -> [Option<Shape>; NEAREST_MAX] {
        let mut nearest = [None; NEAREST_MAX];
        let mut found = 0;
        let wanted = if request.flags.contains(Flags::CHIPS) {
            request.processors
        } else {
            request.shape.area()
        };
        let layouts = Layouts::new(SliceRule::Folded, Some(self), &self.grid);
        let mut from = wanted;
        while let Some(chips) = self.number_from(from) {
            from = chips.saturating_add(1);
            let numbered = Request::chips(chips);
            for shape in layouts.forms(&numbered) {
                nearest[found] = Some(shape);
                found += 1;
                if found == NEAREST_MAX {
                    return nearest;
                }
            }
        }
        nearest
    }

    /// The least number of processors, not below `from`, with which a slice may be legal.
    /// O(shapes).
    fn number_from(&self, from: u32) -> Option<u32> {
        let listed = self.shapes().iter().map(|shape| shape.area());
        let listed = listed.filter(|&area| area >= from).min();
        let other = match self.multiple {
            Some(multiple) => from.checked_next_multiple_of(volume(&multiple)),
            None if self.shapes_len == 0 => Some(from),
            None => None,
        };
        let number = listed.into_iter().chain(other).min();
        number.filter(|&number| number <= self.chips_max())
    }

    /// Whether a slice of this number of processors may be legal: a quick look.
    pub(crate) fn may_be_legal(&self, chips: u32) -> bool {
        let is_listed = || self.shapes().iter().any(|shape| shape.area() == chips);
        match self.multiple {
            Some(multiple) => chips.is_multiple_of(volume(&multiple)) || is_listed(),
            None => self.shapes_len == 0 || is_listed(),
        }
    }
}
