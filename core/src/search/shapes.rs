//! Contiguous strategies: the shapes that are tried for a request ([`Shapes`]), and the place that
//! is picked for a shape ([`Pick`]).

use crate::grid::{Block, Grid, Shape, Tuple, any_order, next_order, sort_descending};
use crate::machine::{Description, Layouts, SliceRule};
use crate::mesh::Sides;
use crate::request::Request;

/// There is no free box: after the first `dimensions` dimensions no node was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoneLeft {
    pub(crate) dimensions: usize,
}

/// A rule that picks a place for a box.
pub(crate) trait Pick {
    /// A place for a submesh of these sides on a two-dimensional mesh.
    fn in_plane(&mut self, sides: Sides) -> Option<Block>;

    /// A place for a box of these sides by dimension, on any other grid.
    ///
    /// # Errors
    ///
    /// There is no place. The error also holds for each other shape that has the same sides along
    /// the first [`NoneLeft::dimensions`] dimensions.
    fn in_grid(&mut self, sides: &[u16]) -> Result<Block, NoneLeft>;
}

/// The shapes that are tried for a request.
pub(crate) trait Shapes {
    /// The place that is picked for the first shape that has one.
    fn find(self, grid: &Grid, request: &Request, pick: &mut impl Pick) -> Option<Block>;
}

/// The request as it is named: its extents along dimensions 0, 1, .., and 1 along the others.
pub(crate) struct AsNamed;

impl Shapes for AsNamed {
    #[inline]
    fn find(self, grid: &Grid, request: &Request, pick: &mut impl Pick) -> Option<Block> {
        if grid.is_plane() {
            pick.in_plane(request.sides())
        } else {
            find_named(grid, request, pick).1.ok()
        }
    }
}

/// The request as it is named; then, unless it keeps its orientation, every other distinct
/// assignment of its extents (ones included) to the dimensions, in ascending lexicographic order.
///
/// Assignments that begin like one for which no node was left are not tried.
pub(crate) struct AnyOrder;

impl Shapes for AnyOrder {
    #[inline]
    fn find(self, grid: &Grid, request: &Request, pick: &mut impl Pick) -> Option<Block> {
        if grid.is_plane() {
            let mut orientations = request.orientations();
            orientations.find_map(|sides| pick.in_plane(sides))
        } else {
            find_in_any_order(grid, request, pick)
        }
    }
}

/// The extents of a request in every dimension.
pub(crate) fn padded(grid: &Grid, shape: Shape) -> Tuple {
    let named = shape.extents();
    Tuple::new(grid.dimensions(), |at| named.get(at).copied().unwrap_or(1))
}

/// Calls `visit` with the extents of a request in every dimension, in each order that it allows.
pub(crate) fn each_orientation(grid: &Grid, request: &Request, visit: &mut dyn FnMut(&[u16])) {
    let mut extents = padded(grid, request.shape);
    if !request.may_rotate() {
        return visit(&extents);
    }
    any_order(&mut extents, &mut |order| {
        visit(order);
        false
    });
}

// A function of its own, so that the search on a two-dimensional mesh stays short.
#[inline(never)]
fn find_named(
    grid: &Grid,
    request: &Request,
    pick: &mut dyn Pick,
) -> (Tuple, Result<Block, NoneLeft>) {
    let named = padded(grid, request.shape);
    let found = pick.in_grid(&named);
    (named, found)
}

#[inline(never)]
fn find_in_any_order(grid: &Grid, request: &Request, pick: &mut dyn Pick) -> Option<Block> {
    let (named, found) = find_named(grid, request, pick);
    if found.is_ok() || !request.may_rotate() {
        return found.ok();
    }
    let mut sides = named;
    sort_descending(&mut sides);
    sides.reverse();
    loop {
        let tried = if *sides == *named {
            found
        } else {
            pick.in_grid(&sides)
        };
        match tried {
            Ok(block) => return Some(block),
            Err(NoneLeft { dimensions }) => {
                // Goes to the last of the assignments that begin in this way.
                sort_descending(&mut sides[dimensions..]);
                if !next_order(&mut sides) {
                    return None;
                }
            }
        }
    }
}

/// The request and the boxes that it folds into ([`Layouts`]), by the rules of a description.
pub(crate) struct Folded<'a>(pub(crate) Option<&'a Description>);

impl Shapes for Folded<'_> {
    fn find(self, grid: &Grid, request: &Request, pick: &mut impl Pick) -> Option<Block> {
        let mut trials =
            Layouts::new(SliceRule::Folded, self.0, grid).trials(request, request.shape);
        trials.find_map(|trial| {
            let sides = &trial.sides[..grid.dimensions()];
            if grid.is_plane() {
                pick.in_plane(Sides::new(sides[0], sides[1]))
            } else {
                pick.in_grid(sides).ok()
            }
        })
    }
}

/// On a two-dimensional mesh, shapes from the request and the sides of the mesh.
impl<I: Iterator<Item = Sides>> Shapes for fn(&Request, Sides) -> I {
    fn find(self, grid: &Grid, request: &Request, pick: &mut impl Pick) -> Option<Block> {
        self(request, Sides::of_plane(grid)).find_map(|sides| pick.in_plane(sides))
    }
}

/// Half of the side along x and twice the side along y; `None` if the side along x is odd or the
/// doubled side too long.
pub(crate) fn folded(sides: Sides) -> Option<Sides> {
    let doubled = sides.h.checked_mul(2)?;
    let is_even = sides.w.is_multiple_of(2);
    is_even.then(|| Sides::new(sides.w / 2, doubled))
}

/// The requested shape, the rotated one, then all others of the same area. The most square of the
/// others comes first; if two are rotations of each other, the wider comes first. Shapes that do
/// not fit the mesh are left out. A request that keeps its orientation has one shape.
pub(crate) fn all_shapes(request: &Request, mesh: Sides) -> impl Iterator<Item = Sides> + use<> {
    let requested = request.sides();
    let area = if request.may_rotate() && requested.area() <= mesh.area() {
        requested.area()
    } else {
        // The range of divisors is empty, so there is no other shape.
        0
    };
    let longest = mesh.w.max(mesh.h);
    let factors = (1..=area.isqrt()).rev().filter(move |shorter| {
        area.is_multiple_of(*shorter) && area / shorter <= u32::from(longest)
    });
    let others = factors
        .flat_map(move |shorter| {
            let wide = Sides::new((area / shorter) as u16, shorter as u16);
            let tall = (!wide.is_square()).then(|| wide.rotated());
            core::iter::once(wide).chain(tall)
        })
        .filter(move |sides| *sides != requested && sides.rotated() != requested);
    let all = request.orientations().chain(others);
    all.filter(move |sides| sides.fits_in(mesh))
}

/// The requested shape, the rotated one, then those with one side halved and the other doubled. A
/// request that keeps its orientation has one shape. Shapes may not fit the mesh.
pub(crate) fn folds(request: &Request, _mesh: Sides) -> impl Iterator<Item = Sides> + use<> {
    let foldable = request.may_rotate().then(|| request.sides());
    let narrower = foldable.and_then(folded);
    let lower = foldable.and_then(|sides| folded(sides.rotated()));
    let lower = lower.map(Sides::rotated);
    request.orientations().chain(narrower).chain(lower)
}

/// The request, with the longer side along the longer side of the mesh if it may be rotated.
pub(crate) fn along_longer(request: &Request, mesh: Sides) -> impl Iterator<Item = Sides> + use<> {
    let sides = request.sides();
    let agrees = if mesh.w >= mesh.h {
        sides.w >= sides.h
    } else {
        sides.h >= sides.w
    };
    core::iter::once(if agrees || !request.may_rotate() {
        sides
    } else {
        sides.rotated()
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn shapes_of_the_thesis() {
        let order = |w, h, mesh| -> Vec<_> {
            all_shapes(&Request::submesh(w, h), mesh)
                .map(|sides| (sides.w, sides.h))
                .collect()
        };
        let mesh = Sides::new(6, 6);
        assert_eq!(order(4, 3, mesh), [(4, 3), (3, 4), (6, 2), (2, 6)]);
        assert_eq!(order(5, 5, mesh), [(5, 5)]);
        assert_eq!(order(6, 2, mesh), [(6, 2), (2, 6), (4, 3), (3, 4)]);
        assert_eq!(order(7, 1, mesh), []);
    }
}
