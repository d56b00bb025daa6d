//! Where a request could go, and which of the places is best.

use core::cmp::Ordering;

use crate::mesh::{Coord, Sides, Submesh};

/// The size of the largest submesh that `reserved` still holds when `taken` is taken out of it: the
/// reservation factor `rf(taken, reserved)` of Kim and Yoon 1995, definition 2, with the signs mended.
///
/// All of `reserved` if the two do not overlap, 0 if `taken` covers it.
///
/// ```
/// use meshalloc::{Submesh, strategy::reservation_factor};
/// // Section III.1, about Fig. 2.
/// let s1 = Submesh::between(0, 0, 6, 4);
/// let s2 = Submesh::between(4, 0, 6, 9);
/// let s3 = Submesh::between(4, 5, 9, 7);
/// assert_eq!(reservation_factor(s2, s1), 20);
/// assert_eq!(reservation_factor(s3, s2), 15);
/// ```
#[inline]
pub fn reservation_factor(taken: Submesh, reserved: Submesh) -> u32 {
    if !taken.overlaps(reserved) {
        return reserved.area();
    }
    let left = u32::from(taken.base.x.saturating_sub(reserved.base.x));
    let below = u32::from(taken.base.y.saturating_sub(reserved.base.y));
    let end = |submesh: Submesh| {
        (
            submesh.base.x + submesh.sides.w,
            submesh.base.y + submesh.sides.h,
        )
    };
    let ((taken_x, taken_y), (x, y)) = (end(taken), end(reserved));
    let right = u32::from(x.saturating_sub(taken_x));
    let above = u32::from(y.saturating_sub(taken_y));
    let (w, h) = (u32::from(reserved.sides.w), u32::from(reserved.sides.h));
    (left.max(right) * h).max(below.max(above) * w)
}

/// Calls `consider` with the candidates from one dominant free submesh: its four corners, in the
/// orientation with the larger reservation factor against it, or in both if they are equal.
#[inline]
pub(super) fn for_each_in(
    submesh: Submesh,
    requested: Sides,
    may_rotate: bool,
    mut consider: impl FnMut(Submesh),
) {
    // All four corners have the same factor against the submesh itself.
    let reserved = |sides: Sides| {
        sides.fits_in(submesh.sides).then(|| {
            let right = u32::from(submesh.sides.w - sides.w) * u32::from(submesh.sides.h);
            let above = u32::from(submesh.sides.h - sides.h) * u32::from(submesh.sides.w);
            right.max(above)
        })
    };
    let straight = reserved(requested);
    let turned = match may_rotate && !requested.is_square() {
        true => reserved(requested.rotated()),
        false => None,
    };
    // `None` is less than any factor.
    if straight.is_some() && straight >= turned {
        for_each_corner(submesh, requested, &mut consider);
    }
    if turned.is_some() && turned >= straight {
        for_each_corner(submesh, requested.rotated(), &mut consider);
    }
}

#[inline]
fn for_each_corner(submesh: Submesh, sides: Sides, consider: &mut impl FnMut(Submesh)) {
    let Coord { x, y } = submesh.base;
    let (right, top) = (
        x + (submesh.sides.w - sides.w),
        y + (submesh.sides.h - sides.h),
    );
    let mut corner = |x, y| {
        consider(Submesh {
            base: Coord { x, y },
            sides,
        });
    };
    corner(x, y);
    if right != x {
        corner(right, y);
    }
    if top != y {
        corner(x, top);
        if right != x {
            corner(right, top);
        }
    }
}

/// How many reservation factors of the best candidate are remembered.
const REMEMBERED: usize = 16;

/// The best candidate so far.
///
/// The paper sieves a list of candidates by one free submesh after the other. Comparing candidates two at
/// a time by the sequence of their reservation factors chooses the same one and needs no list.
pub(super) struct Candidate {
    pub(super) place: Submesh,
    /// Its factors against the first submeshes of the list.
    factors: [u32; REMEMBERED],
}

impl Candidate {
    pub(super) fn new(place: Submesh, list: &[Submesh]) -> Self {
        let mut factors = [0; REMEMBERED];
        for (factor, &submesh) in factors.iter_mut().zip(list) {
            *factor = reservation_factor(place, submesh);
        }
        Candidate { place, factors }
    }

    /// Replaces the best candidate if `other` is better.
    #[inline]
    pub(super) fn challenge(
        &mut self,
        other: Submesh,
        requested: Sides,
        list: &[Submesh],
        mesh: Submesh,
    ) {
        // Overlapping dominant submeshes share corners.
        if other == self.place {
            return;
        }
        let remembered = self.factors.iter().zip(list);
        for (&factor, &submesh) in remembered {
            match reservation_factor(other, submesh).cmp(&factor) {
                Ordering::Less => return,
                Ordering::Greater => {
                    *self = Candidate::new(other, list);
                    return;
                }
                Ordering::Equal => {}
            }
        }
        let rest = list.iter().skip(REMEMBERED).chain(core::iter::once(&mesh));
        let by_factors = rest
            .map(|&submesh| {
                reservation_factor(other, submesh).cmp(&reservation_factor(self.place, submesh))
            })
            .find(|order| order.is_ne());
        let tie = |place: Submesh| (place.base.y, place.base.x, place.sides != requested);
        let better = match by_factors {
            Some(order) => order.is_gt(),
            None => tie(other) < tie(self.place),
        };
        if better {
            *self = Candidate::new(other, list);
        }
    }
}
