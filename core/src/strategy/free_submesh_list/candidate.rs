//! The candidates for a request, and the best of them.

use core::cmp::Ordering;

use super::entry::Entry;
use crate::draft::Draft;
use crate::mesh::{Sides, Submesh};
use crate::request::Request;
use crate::search::steps::{Rule, for_each_corner};

/// The best place for a request in this list of dominant free submeshes, which is in order. The
/// request fits into the mesh in one orientation at least.
pub(super) fn best_place(
    list: &[u64],
    request: &Request,
    mesh: Submesh,
    rule: Option<Rule<'_>>,
    draft: &Draft<'_, '_>,
) -> Option<Submesh> {
    let mut best = Best {
        list,
        requested: request.sides(),
        mesh: mesh.into(),
        rule,
        found: None,
    };
    best.find(request.may_rotate(), draft);
    best.found.map(|found| found.place.into())
}

/// The search for the best candidate.
///
/// The paper sieves a list of candidates by one free submesh after the other. Here two candidates
/// are compared by the sequence of their reservation factors, and the better one is kept. This
/// chooses the same candidate and needs no list of candidates.
///
/// A candidate's factor against a submesh is the submesh's size exactly if the two do not overlap,
/// and no factor is larger. So the better of two candidates is the one that overlaps a submesh
/// later in the list, and factors need to be computed only if both overlap the same submesh first.
struct Best<'a> {
    list: &'a [u64],
    requested: Sides,
    mesh: Entry,
    rule: Option<Rule<'a>>,
    /// The best candidate so far.
    found: Option<Candidate>,
}

/// A place for the request, without area.
#[derive(Clone, Copy)]
struct Candidate {
    place: Entry,
    /// The place in the list of the first submesh that it overlaps.
    first: usize,
    /// The place in the list of the submesh in a corner of which the candidate is.
    from: usize,
}

impl Best<'_> {
    /// Considers every candidate that could be the best.
    fn find(&mut self, may_rotate: bool, draft: &Draft<'_, '_>) {
        // A candidate overlaps at the latest the submesh that it comes from. So the search goes
        // from the last submesh to the first, and no further than to the first one that the best
        // candidate overlaps.
        let area = self.requested.area();
        let large = self
            .list
            .partition_point(|&cell| Entry(cell).area() >= area);
        let turned = self.requested.rotated();
        let may_turn = may_rotate && turned != self.requested;
        for (from, &cell) in self.list[..large].iter().enumerate().rev() {
            if self.found.is_some_and(|found| found.first > from) {
                break;
            }
            draft.poll();
            // The candidates from one submesh: its four corners, in the orientation with the larger
            // reservation factor against it, or in both if they are equal. All four corners have
            // the same factor.
            let submesh = Entry(cell);
            if let Some(rule) = self.rule {
                self.consider_allowed(submesh, rule, may_turn, from);
                continue;
            }
            let sides = submesh.sides();
            let straight = left_beside(self.requested, sides);
            let across = if may_turn {
                left_beside(turned, sides)
            } else {
                None
            };
            // `None` is less than any factor.
            if straight.is_some() && straight >= across {
                self.consider_corners(submesh, self.requested, from);
            }
            if across.is_some() && across >= straight {
                self.consider_corners(submesh, turned, from);
            }
        }
    }

    /// Considers the places closest to the corners of a submesh, `list[from]`, at which a slice may
    /// begin: those with the largest reservation factor against it.
    #[inline(never)]
    fn consider_allowed(&mut self, submesh: Entry, rule: Rule<'_>, may_turn: bool, from: usize) {
        let turned = may_turn.then(|| self.requested.rotated());
        let orientations = [Some(self.requested), turned];
        let each = |visit: &mut dyn FnMut(Entry)| {
            for sides in orientations.into_iter().flatten() {
                let steps = rule.steps(&[sides.w, sides.h]);
                let visit = |place: Submesh| visit(place.into());
                for_each_corner(submesh.into(), sides, Some(steps), visit);
            }
        };
        let left = |place: Entry| submesh.left_without(submesh.sides(), place);
        let mut most = None;
        each(&mut |place| most = most.max(Some(left(place))));
        each(&mut |place| {
            if Some(left(place)) == most {
                self.consider(place, from);
            }
        });
    }

    /// Considers the places of these sides in the corners of a submesh, `list[from]`.
    fn consider_corners(&mut self, submesh: Entry, sides: Sides, from: usize) {
        let ([left, right], [below, above]) = submesh.corners(sides);
        for (place, is_other) in [
            (left.with(below), true),
            (right.with(below), left != right),
            (left.with(above), below != above),
            (right.with(above), left != right && below != above),
        ] {
            if is_other {
                self.consider(place, from);
            }
        }
    }

    /// Keeps a place from `list[from]` if it is better than the best so far.
    #[inline]
    fn consider(&mut self, place: Entry, from: usize) {
        let before = self.list.get(..from).unwrap_or_default();
        let first = place.overlapping().first(before);
        let new = Candidate {
            place,
            first: first.unwrap_or(from),
            from,
        };
        let better = match self.found {
            None => true,
            Some(best) => match new.first.cmp(&best.first) {
                Ordering::Less => false,
                Ordering::Greater => true,
                Ordering::Equal => place != best.place && self.is_better(new, best),
            },
        };
        if better {
            self.found = Some(new);
        }
    }

    /// Whether `new` is better than `best`. The two are different, and overlap the same submesh of
    /// the list first.
    fn is_better(&self, new: Candidate, best: Candidate) -> bool {
        // The factors of both are equal against the submesh that they come from.
        let is_known = new.from == best.from && new.first == new.from;
        let start = new.first + usize::from(is_known);
        let (new, best) = (new.place, best.place);
        // Neither place takes anything from an entry that it does not meet.
        let overlapped = new.overlapping().or_more(best.overlapping());
        let entries = self.list[start..].iter().map(|&cell| Entry(cell));
        let by_factors = entries
            .filter(|&entry| overlapped.admits(entry))
            .chain([self.mesh])
            .map(|entry| entry.order_by_left_without(new, best))
            .find(|order| order.is_ne());
        match by_factors {
            Some(order) => order.is_gt(),
            None => match new.row_major().cmp(&best.row_major()) {
                Ordering::Equal => new.sides() == self.requested,
                order => order.is_lt(),
            },
        }
    }
}

/// The reservation factor of a corner of these sides against a submesh of sides `within`; `None` if
/// the sides do not fit.
#[inline]
fn left_beside(sides: Sides, within: Sides) -> Option<u32> {
    sides.fits_in(within).then(|| {
        let right = u32::from(within.w - sides.w) * u32::from(within.h);
        let above = u32::from(within.h - sides.h) * u32::from(within.w);
        right.max(above)
    })
}
