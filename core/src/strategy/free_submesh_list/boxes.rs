//! The free submesh list on any grid but a two-dimensional mesh: [`BoxList`].

use core::cmp::{Ordering, Reverse};

use crate::grid::arcs::{Arcs, area, block_of, left_without};
use crate::grid::{Arc, Block, Grid, Tuple};
use crate::occupancy::Occupancy;
use crate::search::columns::Scratch;
use crate::search::maximal::Planes;
use crate::search::shapes::{AnyOrder, each_orientation, padded};
use crate::search::steps::{Rule, for_each_corner_of_box};
use crate::strategy::contiguous::first_in;
use crate::strategy::{Draft, Request, Workspace};

/// The place for a request. The function makes the list unless `len` says that the list is there.
/// If no box of the list has room, and some boxes may not be in the list, the place is the first of
/// adaptive scan.
pub(super) fn place(
    len: &mut Option<usize>,
    occupancy: &Occupancy<'_>,
    request: &Request,
    workspace: &mut Workspace<'_>,
    draft: &mut Draft<'_, '_>,
) -> Option<Block> {
    let grid = occupancy.grid();
    let rule = workspace.rule();
    // There may be memory for a larger machine.
    let cells = &mut workspace.list[..grid.nodes() as usize];
    let mut list = List {
        grid,
        cells,
        per: (1 + grid.dimensions()).div_ceil(2),
        len: 0,
    };
    match *len {
        Some(known) => list.len = known,
        None => {
            let poll = || draft.poll();
            let mut planes = Planes::new(occupancy, core::iter::empty(), &[], workspace.words);
            draft.poll();
            planes.for_each_maximal_meeting(&[], &poll, &mut |arcs| {
                poll();
                list.insert(arcs);
            });
            *len = Some(list.len);
        }
    }
    let mut best = Best {
        list: &list,
        named: padded(grid, request.shape),
        rule,
        found: None,
    };
    best.find(request, draft);
    match best.found {
        Some(found) => Some(block_of(grid, best.arcs(&found.place))),
        None => {
            let scratch = Scratch::Blank(workspace.words);
            first_in(occupancy, rule, scratch, request, draft, AnyOrder)
        }
    }
}

/// The maximal free boxes in order, up to the number that there is room for.
///
/// An entry is a number of cells with two halves each: its size, then an arc for each dimension.
///
/// ```text
///   three dimensions     | x | size |   | z | y |      an arc: | len | start |, 16 bits each
/// ```
struct List<'a> {
    grid: &'a Grid,
    cells: &'a mut [u64],
    /// The number of cells of an entry.
    per: usize,
    len: usize,
}

impl List<'_> {
    #[inline]
    fn half(&self, entry: usize, half: usize) -> u32 {
        let cell = self.cells[entry * self.per + half / 2];
        match half % 2 {
            0 => cell as u32,
            _ => (cell >> 32) as u32,
        }
    }

    #[inline]
    fn size(&self, entry: usize) -> u32 {
        self.half(entry, 0)
    }

    #[inline]
    fn arc(&self, entry: usize, dimension: usize) -> Arc {
        let half = self.half(entry, 1 + dimension);
        Arc {
            start: half as u16,
            len: (half >> 16) as u16,
        }
    }

    fn arcs(&self, entry: usize) -> Arcs {
        let mut arcs = Arcs::default();
        for (dimension, arc) in arcs.iter_mut().enumerate().take(self.grid.dimensions()) {
            *arc = self.arc(entry, dimension);
        }
        arcs
    }

    /// Whether an entry and a box share a processor.
    #[inline]
    fn overlaps(&self, entry: usize, place: &[Arc]) -> bool {
        let mut arcs = place.iter().enumerate();
        arcs.all(|(at, &arc)| self.grid.along(at).meet(self.arc(entry, at), arc))
    }

    /// Adds a box in its place, unless there is no room for the box and for those before it.
    fn insert(&mut self, arcs: &[Arc]) {
        let size = area(arcs);
        let (mut at, mut end) = (0, self.len);
        while at < end {
            let middle = (at + end) / 2;
            let order = self.size(middle).cmp(&size).reverse();
            let order = order
                .then_with(|| precedence(&self.arcs(middle)[..arcs.len()]).cmp(&precedence(arcs)));
            match order {
                Ordering::Less => at = middle + 1,
                _ => end = middle,
            }
        }
        let capacity = self.cells.len() / self.per;
        if at == capacity {
            return;
        }
        self.len = (self.len + 1).min(capacity);
        let (first, last) = (at * self.per, (self.len - 1) * self.per);
        self.cells.copy_within(first..last, first + self.per);
        let mut halves = [size, 0];
        for half in 1..2 * self.per {
            halves[half % 2] = match arcs.get(half - 1) {
                Some(arc) => u32::from(arc.start) | u32::from(arc.len) << 16,
                None => 0,
            };
            if half % 2 == 1 {
                let cell = u64::from(halves[0]) | u64::from(halves[1]) << 32;
                self.cells[first + half / 2] = cell;
            }
        }
    }
}

/// The order among boxes of the same size: the shorter longest extent, then the smaller number of
/// the first node, then the shorter extents from the highest dimension down.
fn precedence(arcs: &[Arc]) -> impl Ord {
    let longest = arcs.iter().map(|arc| arc.len).max();
    let highest_first = |of: fn(&Arc) -> u16| {
        let len = arcs.len();
        Tuple::new(len, |at| of(&arcs[len - 1 - at])).numbers()
    };
    (
        longest,
        highest_first(|arc| arc.start),
        highest_first(|arc| arc.len),
    )
}

/// The search for the best candidate, as on a two-dimensional mesh.
struct Best<'a> {
    list: &'a List<'a>,
    named: Tuple,
    rule: Option<Rule<'a>>,
    found: Option<Candidate>,
}

/// A place for the request.
#[derive(Clone, Copy)]
struct Candidate {
    place: Arcs,
    /// The first entry that the place overlaps.
    first: usize,
    /// The entry in a corner of which the place is.
    from: usize,
}

impl Best<'_> {
    fn arcs<'p>(&self, place: &'p Arcs) -> &'p [Arc] {
        &place[..self.named.len()]
    }

    /// Considers every candidate that could be the best.
    fn find(&mut self, request: &Request, draft: &Draft<'_, '_>) {
        let area = self.named.product();
        let mut end = self.list.len;
        while end > 0 && self.list.size(end - 1) < area {
            end -= 1;
        }
        let named = self.named;
        for from in (0..end).rev() {
            if self.found.is_some_and(|found| found.first > from) {
                break;
            }
            draft.poll();
            let within = self.list.arcs(from);
            let within = &within[..named.len()];
            let size = self.list.size(from);
            // The orders with the largest reservation factor. All corners have the same factor,
            // unless a rule moves them.
            let mut most = None;
            each_orientation(self.list.grid, request, &mut |order| {
                draft.poll();
                most = most.max(self.left_beside(within, size, order));
            });
            if most.is_none() {
                continue;
            }
            let grid = self.list.grid;
            each_orientation(grid, request, &mut |order| {
                if self.left_beside(within, size, order) < most {
                    return;
                }
                let steps = self.rule.map(|rule| rule.steps(order));
                for_each_corner_of_box(grid, within, order, steps, |place| {
                    if steps.is_none() || Some(left_without(grid, within, place)) == most {
                        self.consider(place, from, draft);
                    }
                });
            });
        }
    }

    /// The reservation factor of a corner of these extents against a box; with a rule, the largest
    /// such factor. `None` if the extents do not fit.
    fn left_beside(&self, within: &[Arc], size: u32, extents: &[u16]) -> Option<u32> {
        if let Some(rule) = self.rule {
            let (grid, mut most) = (self.list.grid, None);
            for_each_corner_of_box(grid, within, extents, Some(rule.steps(extents)), |place| {
                most = most.max(Some(left_without(grid, within, place)));
            });
            return most;
        }
        let mut left = 0;
        for (arc, &extent) in within.iter().zip(extents) {
            let rest = arc.len.checked_sub(extent)?;
            left = left.max(size / u32::from(arc.len) * u32::from(rest));
        }
        Some(left)
    }

    /// Keeps a place from an entry if it is better than the best so far.
    fn consider(&mut self, arcs: &[Arc], from: usize, draft: &Draft<'_, '_>) {
        let first = (0..from).find(|&entry| self.list.overlaps(entry, arcs));
        let first = first.unwrap_or(from);
        draft.poll();
        let is_better = match &self.found {
            None => true,
            Some(best) => match first.cmp(&best.first) {
                Ordering::Less => false,
                Ordering::Greater => true,
                Ordering::Equal => {
                    let old = self.arcs(&best.place);
                    // The factors of both are equal against the entry that they come from.
                    let is_known = from == best.from && first == from;
                    let start = first + usize::from(is_known);
                    old != arcs && self.is_better(arcs, old, start, draft)
                }
            },
        };
        if is_better {
            let mut place = Arcs::default();
            place[..arcs.len()].copy_from_slice(arcs);
            self.found = Some(Candidate { place, first, from });
        }
    }

    /// Whether one place is better than another. The two do not differ before entry `start`.
    fn is_better(&self, new: &[Arc], old: &[Arc], start: usize, draft: &Draft<'_, '_>) -> bool {
        let grid = self.list.grid;
        for entry in start..self.list.len {
            draft.poll();
            if !self.list.overlaps(entry, new) && !self.list.overlaps(entry, old) {
                continue;
            }
            draft.poll();
            let whole = self.list.arcs(entry);
            let left = |place: &[Arc]| left_without(grid, &whole[..new.len()], place);
            match left(new).cmp(&left(old)) {
                Ordering::Equal => {}
                order => return order.is_gt(),
            }
        }
        let mut whole = Arcs::default();
        for (arc, &len) in whole.iter_mut().zip(grid.sides()) {
            *arc = Arc { start: 0, len };
        }
        let left = |place: &[Arc]| left_without(grid, &whole[..new.len()], place);
        let starts = |place: &[Arc]| {
            let len = place.len();
            Tuple::new(len, |at| place[len - 1 - at].start).numbers()
        };
        let extents = |place: &[Arc]| Tuple::new(place.len(), |at| place[at].len);
        let rank = |place: &[Arc]| {
            let extents = extents(place);
            (extents != self.named, extents.numbers())
        };
        let key = |place: &[Arc]| (Reverse(left(place)), starts(place), rank(place));
        key(new) < key(old)
    }
}
