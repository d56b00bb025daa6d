//! Other shapes of the size that is requested on a two-dimensional mesh.

use crate::mesh::Sides;
use crate::request::Request;

/// Half of the side along x and twice the one along y; `None` if the first is odd or the second too
/// long.
pub(crate) fn folded(sides: Sides) -> Option<Sides> {
    let doubled = sides.h.checked_mul(2)?;
    let is_even = sides.w.is_multiple_of(2);
    is_even.then(|| Sides::new(sides.w / 2, doubled))
}

/// The requested shape, the rotated one, then all others of the same area, the most square first,
/// of two that are rotations of each other the wider first. Shapes that do not fit the mesh are
/// left out. A request that keeps its orientation has one shape.
pub(crate) fn all_shapes(request: &Request, mesh: Sides) -> impl Iterator<Item = Sides> + use<> {
    let requested = request.sides();
    let area = match request.may_rotate() && requested.area() <= mesh.area() {
        true => requested.area(),
        // No other shape.
        false => 0,
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
