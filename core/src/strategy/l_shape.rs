//! L-shaped submesh allocation (LSSA): the request as it is, rotated, folded, or as an L of two
//! submeshes side by side.
//!
//! `LS(c, d, e, f)` is an L of two parts side by side: one of c x d processors and a shorter one of
//! e x f. Both end at the same height, either at the bottom or at the top.
//!
//! # Source
//!
//! K. Seo and S. Kim, "Improving System Performance in Contiguous Processor Allocation for
//! Mesh-Connected Parallel Systems", J. of Systems and Software 67(1), 2003; described by Alshdefat
//! 2019, section "L-Shape Sub-Mesh Allocation Strategy".
//!
//! # Differences from the paper
//!
//! Let A be the longer side of the request and B the shorter one.
//!
//! - For odd A the thesis prints
//!   `LS(ceil(A/2) + k, B + ceil(A/2) - k, ceil(A/2) - k, B - ceil(A/2) - k)`, which does not have
//!   A * B processors. Here it is `LS(c + k, B + m - k, m - k, B - c - k)` with c = ceil(A/2) and
//!   m = floor(A/2), which gives the thesis's example, (5, 5). k goes from 0 to B - 1 - c, one by
//!   one. (The thesis begins at 1, and its example at 0.) If that bound is -1, k is -1 alone.
//! - For even A the thesis lets k end at B, where the second part would be empty. Here k is 1, 2,
//!   3, 4 and then grows by B/4, at least by 1, up to B - 2 or 1, whichever is larger. This gives
//!   the thesis's example, (8, 6).
//! - "L-shape sub-meshes will be searched for the requested job and its rotated sub-mesh": if the
//!   longer side lies along x, the parts are tried side by side along x, then along y. If it lies
//!   along y, the order is the other way round (the same shapes, mirrored at the diagonal). A
//!   square is tried only along x.
//! - For each k the taller part is first at the left, with the other part at its bottom, then at
//!   its top. Then the taller part is at the right in the same way. For each of these four shapes
//!   the first base node in row-major order is taken. (The thesis's Fig. 2-4 names no order.)
//! - A request that forbids rotation ([`Flags::FIXED_ORIENTATION`](crate::Flags)) is served only as
//!   it is.
//! - A job of fewer processors than its sides have holds all a * b of them, as with the contiguous
//!   strategies.
//!
//! # Complexity and memory
//!
//! Up to six searches of first fit. Then there are at most 2B shapes, without those that do not fit
//! the mesh. An L needs two free rectangles: the taller part, and the one across both parts at the
//! height that they share. If both are free somewhere, the shape takes O(words * log W). For most
//! shapes the earlier shapes show whether both are free (`search/staircase.rs`); for the others
//! this takes O(words * log W), too. A release takes nothing. Scratch: twice as many words as the
//! occupancy. A job has at most two blocks.
//!
//! # Recognition
//!
//! Complete for the requested submesh in both orientations. The strategy also accepts folded and
//! L-shaped places.
//!
//! # Drawbacks
//!
//! A job has at most two parts, so a request may fail although enough processors are free and
//! connected. A failing search goes through all shapes.
//!
//! ```text
//!   y
//!   6  A A A A A     A request (5, 5) on a 5 x 7 mesh, # busy: no 5 x 5 is free, and at the left
//!   5  A A A A A     of LS(3, 7, 2, 2) the short part fits at the top only.
//!   4  A A A . .
//!   3  A A A . #
//!   2  A A A . .
//!   1  A A A . .
//!   0  A A A # .
//!      0 1 2 3 4  x
//! ```
//!
//! # Example
//!
//! The mesh above: the first shape of the thesis's example (5, 5).
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: storage!(mesh 5 x 7, strategies [LShape], allocations 35) =
//!     AllocatorStorage::new();
//! let machine = Mesh::new(5, 7)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::LShape)?;
//! for (x, y) in [(3, 0), (4, 3)] {
//!     allocator.mark_faulty(Submesh::new(x, y, 1, 1).into());
//! }
//! let job = allocator.allocate(&Request::submesh(5, 5))?;
//! let blocks = allocator.blocks(&job)?.map(|block| Submesh::of(&machine, block));
//! let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(blocks, [Submesh::new(0, 0, 3, 7), Submesh::new(3, 5, 2, 2)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Draft, Request, Site, Workspace};
use crate::error::Refusal;
use crate::grid::Grid;
use crate::mesh::{Coord, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::search::boxes::first_rectangle;
use crate::search::columns::Scratch;
use crate::search::rectangles::all_bases;
use crate::search::shapes::folded;
use crate::search::staircase::{Growing, Staircase};
use crate::word::{WORD_BITS, Word, bits_from};

/// The rectangles in the order in which they are tried.
fn rectangles(request: &Request) -> impl Iterator<Item = Sides> + use<> {
    let sides = request.sides();
    let foldable = request.may_rotate().then_some(sides);
    let along_w = foldable.and_then(folded);
    let along_h = foldable
        .filter(|sides| !sides.is_square())
        .and_then(|sides| folded(sides.rotated()));
    let others = along_w.into_iter().chain(along_h);
    let others = others.flat_map(|sides| [sides, sides.rotated()]);
    request.orientations().chain(others)
}

/// Two submeshes side by side: their sides, the sides of the rectangle across both at the height
/// that they share, and the four places of the shorter part's base node, relative to the base node
/// of the taller part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ell {
    taller: Sides,
    shorter: Sides,
    across: Sides,
    places: [(i32, i32); 4],
}

impl Ell {
    /// `LS(c, d, e, f)` with the parts side by side along x, or along y; `None` if it does not fit
    /// the mesh.
    fn new([c, d, e, f]: [i32; 4], along_x: bool, mesh: Sides) -> Option<Ell> {
        let (across, up) = if along_x {
            (mesh.w, mesh.h)
        } else {
            (mesh.h, mesh.w)
        };
        if c + e > across.into() || d > up.into() {
            return None;
        }
        let sides = |w: i32, h: i32| {
            if along_x {
                Sides::new(w as u16, h as u16)
            } else {
                Sides::new(h as u16, w as u16)
            }
        };
        let place = |dx, dy| if along_x { (dx, dy) } else { (dy, dx) };
        Some(Ell {
            taller: sides(c, d),
            shorter: sides(e, f),
            across: sides(c + e, f),
            places: [place(c, 0), place(c, d - f), place(-e, 0), place(-e, d - f)],
        })
    }
}

/// `[c, d, e, f]` of the L shapes of a request for a x b processors, in the order in which they are
/// tried. Their number is at most the length of the shorter side.
fn l_shapes(sides: Sides) -> impl Iterator<Item = [i32; 4]> + use<> {
    let (a, b) = (
        i32::from(sides.w.max(sides.h)),
        i32::from(sides.w.min(sides.h)),
    );
    let is_even = a % 2 == 0;
    let (m, c) = (a / 2, a - a / 2);
    let (first, last) = match b - 1 - c {
        // B is too short for two parts.
        _ if b < 2 => (0, -1),
        _ if is_even => (1, 1.max(b - 2)),
        -1 => (-1, -1),
        last => (0, last),
    };
    let next = move |&k: &i32| {
        if is_even && k >= 4 {
            Some(k + 1.max(b / 4))
        } else {
            Some(k + 1)
        }
    };
    let ks = core::iter::successors(Some(first), next).take_while(move |&k| k <= last);
    ks.map(move |k| {
        if is_even {
            [m, b + k, m, b - k]
        } else {
            [c + k, b + m - k, m - k, b - c - k]
        }
    })
}

/// For each direction in which parts are tried, whether they are side by side along x.
fn ways(request: &Request, mesh: Sides) -> impl Iterator<Item = bool> + use<> {
    let sides = request.sides();
    let is_possible = request.may_rotate() && sides.area() <= mesh.area();
    let along_x = sides.w >= sides.h;
    let other = (!sides.is_square()).then_some(!along_x);
    let ways = core::iter::once(along_x).chain(other);
    ways.filter(move |_| is_possible)
}

/// The L shapes of a request that fit the mesh, with the parts side by side along x or along y.
fn ells(request: &Request, along_x: bool, mesh: Sides) -> impl Iterator<Item = Ell> + use<> {
    l_shapes(request.sides()).filter_map(move |shape| Ell::new(shape, along_x, mesh))
}

/// The first place at which both parts of one of these L shapes are free.
fn first_ell(
    occupancy: &Occupancy<'_>,
    mut ells: impl Iterator<Item = Ell>,
    along_x: bool,
    words: &mut [Word],
    draft: &mut Draft<'_, '_>,
) -> Option<[Submesh; 2]> {
    let growing = if along_x {
        Growing::Width
    } else {
        Growing::Height
    };
    let (talls, shorts) = words.split_at_mut(occupancy.busy_rows().len());
    // In all these shapes both parts together are as wide as the longer side of the request. The
    // taller part is never narrower than in the shapes before.
    let mut across = Staircase::new(occupancy, growing, shorts);
    let mut talls = Staircase::new(occupancy, growing, talls);
    ells.find_map(|ell| {
        if !across.has(ell.across, draft) || !talls.has(ell.taller, draft) {
            return None;
        }
        draft.poll();
        first_of_both(occupancy, ell, talls.scratch(), across.scratch())
    })
}

/// The first place at which both parts are free.
fn first_of_both(
    occupancy: &Occupancy<'_>,
    ell: Ell,
    talls: &mut [Word],
    shorts: &mut [Word],
) -> Option<[Submesh; 2]> {
    let talls = all_bases(occupancy, ell.taller, talls);
    let shorts = all_bases(occupancy, ell.shorter, shorts);
    let stride = occupancy.stride();
    ell.places.into_iter().find_map(|place| {
        let base = first_pair(talls, shorts, stride, place)?;
        let along = |at: u16, by: i32| (i32::from(at) + by) as u16;
        let other = Coord::new(along(base.x, place.0), along(base.y, place.1));
        Some([
            Submesh {
                base,
                sides: ell.taller,
            },
            Submesh {
                base: other,
                sides: ell.shorter,
            },
        ])
    })
}

/// The first of `bases`, in row-major order, from which one of `others` is `dx` columns and `dy`
/// rows away.
fn first_pair(
    bases: &[Word],
    others: &[Word],
    stride: usize,
    (dx, dy): (i32, i32),
) -> Option<Coord> {
    for (at, &bases) in bases.iter().enumerate().filter(|(_, bases)| **bases != 0) {
        let (y, word) = (at / stride, at % stride);
        let other = y.checked_add_signed(dy as isize);
        let other = other.and_then(|y| others.chunks_exact(stride).nth(y));
        let x = word as i32 * WORD_BITS as i32;
        let hit = other.map_or(0, |other| bases & bits_from(other, x + dx));
        if hit != 0 {
            let x = x as u32 + hit.trailing_zeros();
            return Some(Coord::new(x as u16, y as u16));
        }
    }
    None
}

/// The demand: all processors of the shape, if a rectangle or an L fits.
#[inline(never)]
pub(super) fn rectangle_or_ell(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    let mesh = Sides::of_plane(grid);
    let has_ell = |along_x| ells(request, along_x, mesh).next().is_some();
    let fits =
        rectangles(request).any(|sides| sides.fits_in(mesh)) || ways(request, mesh).any(has_ell);
    fits.then_some(request.shape.area())
        .ok_or(Refusal::NeverFits)
}

/// Takes the first rectangle, or else the first L.
pub(super) fn propose(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> bool {
    let (occupancy, mesh) = (site.occupancy, Sides::of_plane(site.grid()));
    let rectangle = rectangles(request).find_map(|sides| {
        let scratch = Scratch::Blank(workspace.words);
        first_rectangle(occupancy, sides, scratch, draft)
    });
    if let Some(block) = rectangle {
        draft.push(block);
        return true;
    }
    let parts = ways(request, mesh).find_map(|along_x| {
        let ells = ells(request, along_x, mesh);
        first_ell(occupancy, ells, along_x, workspace.words, draft)
    });
    for part in parts.into_iter().flatten() {
        draft.push(part);
    }
    parts.is_some()
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn shapes(a: u16, b: u16) -> Vec<[i32; 4]> {
        l_shapes(Sides::new(a, b)).collect()
    }

    #[test]
    fn l_shapes_of_the_thesis() {
        let of_8_6 = [[4, 7, 4, 5], [4, 8, 4, 4], [4, 9, 4, 3], [4, 10, 4, 2]];
        assert_eq!(shapes(8, 6), of_8_6);
        assert_eq!(shapes(6, 8), of_8_6);
        assert_eq!(shapes(5, 5), [[3, 7, 2, 2], [4, 6, 1, 1]]);
        // B - 1 - c is -1, and less.
        assert_eq!(shapes(5, 3), [[2, 6, 3, 1]]);
        assert_eq!(shapes(7, 3), [[0; 4]; 0]);
        assert_eq!(shapes(6, 1), [[0; 4]; 0]);
        // From 4 on k grows by B/4 = 3.
        assert_eq!(shapes(14, 14).len(), 6);
    }

    #[test]
    fn l_shapes_keep_the_area_and_touch() {
        // Miri takes a thousand times as long.
        const SIDE: u16 = if cfg!(miri) { 9 } else { 40 };
        for (a, b) in (1..SIDE).flat_map(|a| (1..SIDE).map(move |b| (a, b))) {
            let mesh = Sides::new(100, 100);
            for shape @ [c, d, e, f] in shapes(a, b) {
                assert_eq!(c * d + e * f, i32::from(a) * i32::from(b), "{a} {b}");
                assert!(c > 0 && e > 0 && f > 0 && d > f, "{a} {b}: {shape:?}");
                for along_x in [true, false] {
                    let ell = Ell::new(shape, along_x, mesh).expect("it fits");
                    for (dx, dy) in ell.places {
                        // The parts share a stretch of border, and no processor.
                        let [x, y] = [50, 50];
                        let one = Submesh {
                            base: Coord::new(x, y),
                            sides: ell.taller,
                        };
                        let base = Coord::new((50 + dx) as u16, (50 + dy) as u16);
                        let other = Submesh {
                            base,
                            sides: ell.shorter,
                        };
                        assert!(!one.overlaps(other) && one.touches(other));
                        assert!(one.rows_meet(other) || one.columns_meet(other));
                    }
                }
            }
        }
    }
}
