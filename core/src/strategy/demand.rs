//! The demand of strategies: how many processors a request takes, by the way in which its shape is
//! laid. The table of strategies names these functions.

use crate::error::Refusal;
use crate::grid::{Grid, Shape};
use crate::request::Request;
use crate::search::orders::Orders;
use crate::search::tree::radices;

/// The demand of a strategy for which the shape does not matter, only the number of processors.
#[inline(never)]
pub(super) fn processors(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    let fits = request.processors <= grid.nodes();
    fits.then_some(request.processors).ok_or(Refusal::NeverFits)
}

/// The demand of a strategy that divides the shape as it likes: all processors of the shape.
#[inline(never)]
pub(super) fn area(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    let area = request.shape.area();
    let fits = area <= grid.nodes();
    fits.then_some(area).ok_or(Refusal::NeverFits)
}

/// The demand of a strategy that lays the extents along dimensions 0, 1, .. as they are named.
// The board has one copy.
#[cfg_attr(not(target_os = "none"), inline(always))]
pub(super) fn as_named(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    if grid.dimensions() > 2 {
        return in_all_dimensions(request.shape, grid);
    }
    let (w, h) = request.shape.first_two();
    let fits = w <= grid.side(0) && h <= grid.side(1);
    fits.then_some(u32::from(w) * u32::from(h))
        .ok_or(Refusal::NeverFits)
}

// A function of its own, so that the two-dimensional case stays short.
#[inline(never)]
fn in_all_dimensions(shape: Shape, grid: &Grid) -> Result<u32, Refusal> {
    let extents = shape.extents();
    let mut both = extents.iter().zip(grid.sides());
    let fits = both.all(|(extent, side)| extent <= side);
    fits.then_some(shape.area()).ok_or(Refusal::NeverFits)
}

/// The demand of a strategy that lays the extents along the dimensions in any order that the
/// request allows.
// The board has one copy.
#[cfg_attr(not(target_os = "none"), inline(always))]
pub(super) fn in_any_order(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    match as_named(request, grid) {
        Err(_) if request.may_rotate() => of_extents(request.shape, grid),
        as_named => as_named,
    }
}

/// The demand of extents that may be laid along the dimensions in any order: the longest extent
/// must not be longer than the longest side, and so on.
#[inline(never)]
pub(super) fn of_extents(shape: Shape, grid: &Grid) -> Result<u32, Refusal> {
    let extents = shape.extents().descending();
    let sides = grid.sides_descending();
    let mut both = extents.iter().zip(&*sides);
    let fits = both.all(|(extent, side)| extent <= side);
    fits.then_some(shape.area()).ok_or(Refusal::NeverFits)
}

/// The demand of a strategy that lays the radices along the dimensions of a notation from left to
/// right.
#[inline(never)]
pub(super) fn left_to_right(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    let mut sides = grid.sides().iter().rev();
    let radices = radices(grid, request.shape, Orders::requested(request, grid));
    let fits = radices.iter().all(|radix| sides.any(|side| radix <= side));
    fits.then_some(request.shape.area())
        .ok_or(Refusal::NeverFits)
}
