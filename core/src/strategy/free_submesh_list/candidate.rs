//! Where a request could go, and which of the places is best.

use core::cmp::Ordering;

use super::entry::Entry;
use crate::blocks::Draft;
use crate::mesh::{Sides, Submesh};

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
    Entry::from(reserved).left_without(taken.into())
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
        submesh.for_each_corner(requested, &mut consider);
    }
    if turned.is_some() && turned >= straight {
        submesh.for_each_corner(requested.rotated(), &mut consider);
    }
}

/// The search for the best candidate.
///
/// The paper sieves a list of candidates by one free submesh after the other. Comparing two candidates by
/// the sequence of their reservation factors, and keeping the better, chooses the same one and needs no
/// list of them.
///
/// A candidate's factor against a submesh is the submesh's size exactly if the two do not overlap, and no
/// factor is larger. So of two candidates the one that overlaps a submesh of the list only later is better,
/// and factors need to be computed only if both overlap the same one first.
pub(super) struct Best<'a> {
    list: &'a [u64],
    requested: Sides,
    mesh: Entry,
    /// The best so far, and the place in the list of the first submesh that it overlaps.
    found: Option<(Submesh, usize)>,
}

impl<'a> Best<'a> {
    /// A search in this list of dominant free submeshes, ordered.
    pub(super) fn new(list: &'a [u64], requested: Sides, mesh: Submesh) -> Self {
        Best {
            list,
            requested,
            mesh: mesh.into(),
            found: None,
        }
    }

    /// The best candidate.
    pub(super) fn place(&self) -> Option<Submesh> {
        self.found.map(|(place, _)| place)
    }

    /// Considers every candidate that could be the best.
    pub(super) fn find(&mut self, may_rotate: bool, draft: &mut Draft<'_, '_>) {
        // A candidate overlaps at the latest the submesh it comes from. So from the last to the first, and
        // no further than to the first that the best one overlaps.
        let area = self.requested.area();
        let large = self
            .list
            .partition_point(|&cell| Entry(cell).area() >= area);
        for (at, &cell) in self.list[..large].iter().enumerate().rev() {
            if self.found.is_some_and(|(_, first)| first > at) {
                break;
            }
            draft.worked(2_000 + 60 * self.list.len() as u32);
            for_each_in(Entry(cell).into(), self.requested, may_rotate, |place| {
                self.consider(place, at);
            });
        }
    }

    /// Keeps a candidate from `list[from]` if it is better than the best so far.
    #[inline]
    fn consider(&mut self, place: Submesh, from: usize) {
        let overlapping = Entry::from(place).overlapping();
        let first = overlapping.first(self.list).unwrap_or(from);
        let better = match self.found {
            None => true,
            Some((best, best_first)) => match first.cmp(&best_first) {
                Ordering::Less => false,
                Ordering::Greater => true,
                Ordering::Equal => place != best && self.is_better(place, best, first),
            },
        };
        if better {
            self.found = Some((place, first));
        }
    }

    /// Whether `place` is better than `best`; neither overlaps a submesh before `list[first]`.
    fn is_better(&self, place: Submesh, best: Submesh, first: usize) -> bool {
        let (new, old) = (Entry::from(place), Entry::from(best));
        // Of others all is left.
        let overlapped = new.overlapping().or_more(old.overlapping());
        let entries = self.list[first..].iter().map(|&cell| Entry(cell));
        let by_factors = entries
            .filter(|&entry| overlapped.admits(entry))
            .chain([self.mesh])
            .map(|entry| entry.left_without(new).cmp(&entry.left_without(old)))
            .find(|order| order.is_ne());
        let tie = |place: Submesh| (place.base.y, place.base.x, place.sides != self.requested);
        match by_factors {
            Some(order) => order.is_gt(),
            None => tie(place) < tie(best),
        }
    }
}
