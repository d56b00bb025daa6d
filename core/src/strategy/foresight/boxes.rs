//! Foresight on any grid but a two-dimensional mesh.
//!
//! A rotated request fits into a box exactly if its longest extent is not longer than the box's
//! longest, its second longest not longer than the second longest, and so on. So there is a table
//! of lengths for each rank of extents, and one for each dimension, for requests that keep their
//! orientation.

#[cfg(feature = "restore")]
use super::Writer;
use core::cmp::Ordering;

use super::candidates::{Candidate, best};
use super::expected::{MASK_WORDS, Mask, RECENT, WAITING};
use super::fits::{Fits, is_within, or};
use super::{Decision, Known, Rule, Space, TICKS_WORDS};
use crate::blocks::Draft;
use crate::error::Refusal;
use crate::grid::{Block, Grid, Shape, Tuple, sort_descending};
use crate::occupancy::Occupancy;
use crate::outlook::Outlook;
use crate::request::Request;
use crate::search::arcs::{Arc, Arcs, Side, arcs_of, area, block_of, for_each_corner, overlap};
use crate::search::boxes::{first_in_any_order, padded};
use crate::search::maximal::{Planes, words_for_boxes};
use crate::search::orders::each_order;
use crate::search::surroundings::boundary;
use crate::strategy::Workspace;
use crate::strategy::common::demand_in_any_order;
use crate::word::{WORD_BITS, Word, low_half};

/// The words that it needs, apart from the ends of jobs.
pub(super) const fn words(grid: &Grid, budget: u64) -> usize {
    Division::new(grid, budget).words()
}

/// How the words of the workspace are divided. The rest is for the ends of running jobs.
#[derive(Clone, Copy, Debug)]
struct Division {
    /// For the tables of [`Expected`].
    table: usize,
    /// For a bitmap of all processors.
    fixed: usize,
    /// For [`Planes`] and searches of one box.
    planes: usize,
    /// For [`Fits`].
    masks: usize,
    /// For the contacts of the candidates, and for their scores.
    candidates: usize,
}

impl Division {
    const fn new(grid: &Grid, budget: u64) -> Division {
        Division {
            table: 2 * grid.dimensions() * lengths(grid) * MASK_WORDS,
            fixed: Occupancy::words_needed(grid),
            planes: words_for_boxes(grid),
            masks: budget as usize * MASK_WORDS,
            candidates: budget as usize,
        }
    }

    const fn words(self) -> usize {
        self.contacts() + 2 * self.candidates
    }

    /// Where the contacts begin; the scores are behind them.
    const fn contacts(self) -> usize {
        self.table + self.fixed + self.planes + self.masks
    }
}

/// The lengths in a table: from 0 to the longest side.
const fn lengths(grid: &Grid) -> usize {
    let (mut longest, mut dimension) = (0, 0);
    while dimension < grid.dimensions() {
        if grid.side(dimension) > longest {
            longest = grid.side(dimension);
        }
        dimension += 1;
    }
    longest as usize + 1
}

/// The parts of the words.
struct Parts<'a> {
    table: &'a mut [Mask],
    fixed: &'a mut [Word],
    planes: &'a mut [Word],
    masks: &'a mut [Mask],
    contacts: &'a mut [Word],
    scores: &'a mut [Word],
    ends: &'a mut [[Word; TICKS_WORDS]],
}

impl<'a> Parts<'a> {
    fn new(mut words: &'a mut [Word], division: Division) -> Self {
        let mut part = |len: usize| words.split_off_mut(..len).unwrap_or_default();
        Parts {
            table: part(division.table).as_chunks_mut().0,
            fixed: part(division.fixed),
            planes: part(division.planes),
            masks: part(division.masks).as_chunks_mut().0,
            contacts: part(division.candidates),
            scores: part(division.candidates),
            ends: words.as_chunks_mut().0,
        }
    }
}

/// A shape, and whether it may be rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "restore", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Wanted {
    shape: Shape,
    may_rotate: bool,
}

impl From<&Request> for Wanted {
    fn from(request: &Request) -> Wanted {
        Wanted {
            shape: request.shape,
            may_rotate: request.may_rotate(),
        }
    }
}

/// The requests that arrived lately, and the first of those that wait.
#[derive(Debug)]
struct Expected {
    grid: Grid,
    /// First the recent ones, a ring, then those that wait; `None` is none.
    wanted: [Option<Wanted>; RECENT + WAITING],
    /// The place in the ring of the next request.
    next: usize,
    /// The number of those that keep their orientation.
    kept: usize,
}

impl Expected {
    const fn new(grid: Grid) -> Expected {
        Expected {
            grid,
            wanted: [None; _],
            next: 0,
            kept: 0,
        }
    }

    /// As at the beginning: as many parts of each side arrived, each with each, as make no more
    /// than 64 requests: quarters in three dimensions, halves from four on. Nothing waits.
    fn begin(&mut self, table: &mut [Mask]) {
        *self = Expected::new(self.grid);
        // No request: it never fits by rank, and the tables of dimensions are not about it.
        let (ranks, dimensions) = table.split_at_mut(table.len() / 2);
        ranks.fill([0; MASK_WORDS]);
        dimensions.fill([Word::MAX; MASK_WORDS]);
        let dimensions = self.grid.dimensions() as u32;
        let is_within =
            |parts: &usize| parts.checked_pow(dimensions).is_some_and(|it| it <= RECENT);
        let parts = (2..=RECENT).rev().find(is_within).unwrap_or(2);
        for at in 0..RECENT {
            let mut rest = at;
            let extents = Tuple::new(self.grid.dimensions(), |dimension| {
                let digit = rest % parts;
                rest /= parts;
                let side = usize::from(self.grid.side(dimension));
                ((digit + 1) * side / parts).max(1) as u16
            });
            // No longer than the sides, so it is a shape.
            let wanted = Shape::new(&extents).ok().map(|shape| Wanted {
                shape,
                may_rotate: true,
            });
            self.set(at, wanted, table);
        }
    }

    /// A request has arrived; the oldest is forgotten.
    fn arrived(&mut self, wanted: Wanted, table: &mut [Mask]) {
        self.set(self.next, Some(wanted), table);
        self.next = (self.next + 1) % RECENT;
    }

    /// The recent requests, the oldest first.
    #[cfg(feature = "restore")]
    fn recent(&self) -> impl Iterator<Item = Wanted> {
        let (later, earlier) = self.wanted[..RECENT].split_at(self.next);
        earlier.iter().chain(later).copied().flatten()
    }

    /// These requests wait, and maybe others behind them.
    fn wait<'r>(&mut self, mut waiting: impl Iterator<Item = &'r Request>, table: &mut [Mask]) {
        for at in RECENT..RECENT + WAITING {
            self.set(at, waiting.next().map(Wanted::from), table);
        }
    }

    /// From which length on a request is not longer: for a rank of extents, then for a dimension.
    /// It is never longer in tables that are not about it.
    fn lengths(&self, wanted: Option<Wanted>) -> [Tuple; 2] {
        let dimensions = self.grid.dimensions();
        let all = |length: u16| Tuple::new(dimensions, |_| length);
        match wanted {
            None => [all(u16::MAX), all(0)],
            Some(wanted) => {
                let extents = padded(&self.grid, wanted.shape);
                match wanted.may_rotate {
                    true => [extents.descending(), all(0)],
                    false => [all(0), extents],
                }
            }
        }
    }

    /// Stores an expected request in a place.
    fn set(&mut self, at: usize, wanted: Option<Wanted>, table: &mut [Mask]) {
        let before = core::mem::replace(&mut self.wanted[at], wanted);
        if before == wanted {
            return;
        }
        let is_kept = |wanted: Option<Wanted>| wanted.is_some_and(|wanted| !wanted.may_rotate);
        self.kept = self.kept + usize::from(is_kept(wanted)) - usize::from(is_kept(before));
        let (word, bit) = (at / WORD_BITS as usize, 1 << (at % WORD_BITS as usize));
        let (old, new) = (self.lengths(before), self.lengths(wanted));
        let both = old
            .iter()
            .zip(&new)
            .flat_map(|(old, new)| old.iter().zip(&**new));
        let len = lengths(&self.grid);
        for (lengths, (&old, &new)) in table.chunks_exact_mut(len).zip(both) {
            // Only what lies between is different.
            let (start, end) = (usize::from(old.min(new)), usize::from(old.max(new)));
            let (start, end) = (start.min(len), end.min(len));
            for mask in &mut lengths[start..end] {
                mask[word] ^= bit;
            }
        }
    }

    /// Those that fit into a free box of these extents.
    #[inline]
    fn fitting(&self, mut extents: Tuple, table: &[Mask]) -> Mask {
        let len = lengths(&self.grid);
        let (ranks, dimensions) = table.split_at(table.len() / 2);
        let within = |mask: Mask, (table, &extent): (&[Mask], &u16)| -> Mask {
            let other = &table[usize::from(extent)];
            core::array::from_fn(|word| mask[word] & other[word])
        };
        let mut mask = [Word::MAX; MASK_WORDS];
        if self.kept > 0 {
            mask = dimensions
                .chunks_exact(len)
                .zip(&*extents)
                .fold(mask, within);
        }
        sort_descending(&mut extents);
        ranks.chunks_exact(len).zip(&*extents).fold(mask, within)
    }
}

/// Foresight on any grid but a two-dimensional mesh.
#[derive(Debug)]
pub(super) struct Boxes {
    division: Division,
    expected: Expected,
    /// The candidates of the latest decision: where they are in the list, and how many.
    latest: (usize, usize),
}

impl Boxes {
    pub(super) const fn new(grid: Grid, budget: u64) -> Boxes {
        Boxes {
            division: Division::new(&grid, budget),
            expected: Expected::new(grid),
            latest: (0, 0),
        }
    }

    pub(super) fn forget(&mut self, words: &mut [Word]) {
        let parts = Parts::new(words, self.division);
        self.expected.begin(parts.table);
        self.latest = (0, 0);
    }

    pub(super) fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        demand_in_any_order(request, &self.expected.grid)
    }

    pub(super) fn would_fit(
        &self,
        supposed: &Occupancy<'_>,
        request: &Request,
        words: &mut [Word],
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let parts = Parts::new(words, self.division);
        first_in_any_order(supposed, request, parts.planes, draft).is_some()
    }

    pub(super) fn arrived(&mut self, wanted: Wanted, words: &mut [Word]) {
        let parts = Parts::new(words, self.division);
        self.expected.arrived(wanted, parts.table);
    }

    #[cfg(feature = "restore")]
    pub(super) fn save(&self, state: &mut Writer<'_>) {
        for wanted in self.expected.recent() {
            state.put(&wanted);
        }
    }

    /// Learns what waits. Returns the bitmap of what never becomes free, and the ends of jobs.
    pub(super) fn look<'w>(
        &mut self,
        outlook: &Outlook<'_, '_>,
        words: &'w mut [Word],
    ) -> (&'w mut [Word], &'w mut [[Word; TICKS_WORDS]]) {
        let parts = Parts::new(words, self.division);
        self.expected.wait(outlook.waiting(), parts.table);
        (parts.fixed, parts.ends)
    }

    /// Chooses among the corners of the maximal free boxes. What the outlook said is forgotten: it
    /// is good for one decision.
    pub(super) fn decide<R: Rule>(
        &mut self,
        known: &mut Known,
        workspace: &mut Workspace<'_>,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> Option<Block> {
        let grid = self.expected.grid;
        // Of reservations that lie where jobs run there may be more than there is room for.
        let busy = grid.nodes() - occupancy.free();
        let running = core::mem::take(&mut known.running).min(busy as usize);
        // Behind them there is room for as many places as processors are free, which candidates are
        // no more than.
        let (running, places) = workspace.list.split_at_mut(running);
        let parts = Parts::new(workspace.words, self.division);
        let most = R::candidates_max(known.budget, running.len() as u64, request);
        let most = most.min(occupancy.free().into()) as usize;
        let blocks = running.iter().map(|&block| Block::from_raw(block));
        let fixed = match known.is_any_fixed {
            true => &*parts.fixed,
            false => &[],
        };
        draft.spend_passes(2, &grid);
        let mut planes = Planes::new(occupancy, blocks, fixed, parts.planes);
        let spend = |instructions| draft.spend(instructions);
        let mut candidates = Candidates {
            grid: &grid,
            places,
            contacts: parts.contacts,
            scores: parts.scores,
            len: 0,
        };
        let named = padded(&grid, request.shape);
        let demand = named.product();
        planes.for_each_maximal_meeting(&[], &spend, &mut |free| {
            if area(free) < demand {
                return;
            }
            let mut corners = |extents: &Tuple| {
                for_each_corner(&grid, free, extents, |place| {
                    spend(500 + 100 * candidates.len as u32);
                    candidates.consider(place, most, |least| {
                        boundary(occupancy, place, least, |dimension, start| {
                            let len = place[dimension].len;
                            let side = Side::of(&grid, dimension);
                            side.covers(free[dimension], Arc { start, len })
                        })
                    });
                });
                true
            };
            match request.may_rotate() {
                true => each_order(named, &mut corners),
                false => {
                    corners(&named);
                }
            }
        });
        candidates.sort(&spend);
        self.latest = (running.len(), candidates.len);
        if candidates.len > 1 {
            let mut space = Placing {
                planes,
                candidates,
                fits: Fits::new((&self.expected, &*parts.table), parts.masks),
            };
            // State 0: nothing has changed but that the candidate is placed.
            space.describe(0, &[], &[], &spend);
            space.fits.settle(space.candidates.len);
            let mut decision = Decision {
                space,
                running,
                may_overlap: known.may_overlap,
                ends: parts.ends,
                spend: &spend,
            };
            R::score(&mut decision, known.budget, request);
            candidates = decision.space.candidates;
        }
        let best = best(&candidates.scores[..candidates.len], candidates.contacts);
        let place = best.map(|best| Block::from_raw(candidates.places[best]));
        self.expected.wait(core::iter::empty(), parts.table);
        place
    }

    /// The candidates of the latest decision with their scores, which are 0 if there was only one.
    /// For tests.
    pub(super) fn latest<'w>(
        &self,
        workspace: &'w Workspace<'_>,
    ) -> impl Iterator<Item = Candidate> + use<'w> {
        let contacts = self.division.contacts();
        let scores = contacts + self.division.candidates;
        let (first, len) = self.latest;
        let words = &*workspace.words;
        let places = workspace.list[first..].iter().take(len);
        places.enumerate().map(move |(at, &place)| Candidate {
            place: Block::from_raw(place),
            contact: low_half(words[contacts + at]),
            score: low_half(words[scores + at]),
        })
    }
}

/// Candidates, up to a number those of the largest contact.
struct Candidates<'a> {
    grid: &'a Grid,
    /// Blocks ([`Block::into_raw`]).
    places: &'a mut [u64],
    contacts: &'a mut [Word],
    scores: &'a mut [Word],
    len: usize,
}

impl Candidates<'_> {
    fn place(&self, at: usize) -> Arcs {
        arcs_of(self.grid, Block::from_raw(self.places[at]))
    }

    /// Whether one place is before another: by the number of its first node, then by its extents
    /// from the highest dimension down.
    fn precedes(&self, one: u64, other: u64) -> bool {
        let arcs = |place| arcs_of(self.grid, Block::from_raw(place));
        let (one, other) = (arcs(one), arcs(other));
        let both = || one.iter().zip(&other).rev();
        let starts = both().map(|(one, other)| one.start.cmp(&other.start));
        let lengths = both().map(|(one, other)| one.len.cmp(&other.len));
        let mut orders = starts.chain(lengths);
        orders.find(|order| order.is_ne()) == Some(Ordering::Less)
    }

    /// Adds a place unless it is a candidate already, or there are `most` candidates that are
    /// better: of larger contact, or of the same contact and first in order. `contact` gets the
    /// least contact that matters, and may return `None` for a smaller one.
    fn consider(&mut self, place: &[Arc], most: usize, contact: impl FnOnce(u32) -> Option<u32>) {
        let place = block_of(self.grid, place).into_raw();
        if self.places[..self.len].contains(&place) {
            return;
        }
        let least = match self.len == most {
            true => low_half(self.contacts[most - 1]),
            false => 0,
        };
        let Some(contact) = contact(least) else {
            return;
        };
        let contact = Word::from(contact);
        let is_better = |candidates: &Self, other: usize| {
            let there = candidates.contacts[other];
            contact > there
                || (contact == there && candidates.precedes(place, candidates.places[other]))
        };
        if self.len == most {
            if !is_better(self, most - 1) {
                return;
            }
            self.len -= 1;
        }
        let mut at = self.len;
        while at > 0 && is_better(self, at - 1) {
            at -= 1;
        }
        self.contacts.copy_within(at..self.len, at + 1);
        self.contacts[at] = contact;
        self.places.copy_within(at..self.len, at + 1);
        self.places[at] = place;
        self.len += 1;
    }

    /// Puts them in order, with a score of 0.
    fn sort(&mut self, spend: &dyn Fn(u32)) {
        self.scores[..self.len].fill(0);
        for len in 1..self.len {
            let mut at = len;
            while at > 0 && self.precedes(self.places[at], self.places[at - 1]) {
                self.places.swap(at, at - 1);
                self.contacts.swap(at, at - 1);
                at -= 1;
            }
            spend(100 + 200 * (len - at) as u32);
        }
    }
}

/// The grid while a job is placed.
struct Placing<'a> {
    planes: Planes<'a>,
    candidates: Candidates<'a>,
    fits: Fits<'a, (&'a Expected, &'a [Mask])>,
}

impl Fits<'_, (&Expected, &[Mask])> {
    /// In the state this box is free, but for the candidate that is placed.
    fn add(&mut self, state: usize, free: &[Arc], candidates: &Candidates<'_>) {
        let (expected, table) = self.expected;
        let grid = &expected.grid;
        let extents = Tuple::new(free.len(), |at| free[at].len);
        let whole = expected.fitting(extents, table);
        let Some(masks) = self.open(&whole, state, candidates.len) else {
            return;
        };
        for (at, mask) in masks.iter_mut().enumerate() {
            if is_within(&whole, mask) {
                continue;
            }
            let place = candidates.place(at);
            if !overlap(grid, free, &place[..free.len()]) {
                *mask = or(*mask, &whole);
                continue;
            }
            // What is left is as long in all dimensions but one.
            for (dimension, (&free, &taken)) in free.iter().zip(&place).enumerate() {
                let left = Side::of(grid, dimension).left(free, taken);
                if left > 0 {
                    let mut extents = extents;
                    extents[dimension] = left;
                    *mask = or(*mask, &expected.fitting(extents, table));
                }
            }
        }
    }
}

impl Space for Placing<'_> {
    fn area(&self, block: u64) -> u32 {
        self.candidates.grid.area(Block::from_raw(block))
    }

    fn overlap(&self, one: u64, other: u64) -> bool {
        let grid = self.candidates.grid;
        grid.overlap(Block::from_raw(one), Block::from_raw(other))
    }

    fn release(&mut self, block: u64) {
        self.planes.release(Block::from_raw(block));
    }

    fn take(&mut self, block: u64) {
        self.planes.take(Block::from_raw(block));
    }

    fn candidates(&self) -> usize {
        self.candidates.len
    }

    fn describe(&mut self, state: usize, from: &[usize], jobs: &[u64], spend: &dyn Fn(u32)) {
        self.fits.begin(state, from, self.candidates.len);
        let instructions = 1_500 + 500 * self.candidates.len as u32;
        // There are at most three jobs; the filling is never read.
        let mut blocks = [Block::ZERO; 3];
        for (block, &job) in blocks.iter_mut().zip(jobs) {
            *block = Block::from_raw(job);
        }
        let blocks = &blocks[..jobs.len()];
        self.planes
            .for_each_maximal_meeting(blocks, spend, &mut |free| {
                spend(instructions);
                self.fits.add(state, free, &self.candidates);
            });
    }

    fn score(&mut self, state: usize, weight: u32) {
        let Placing {
            fits, candidates, ..
        } = self;
        let len = candidates.len;
        for (at, score) in candidates.scores[..len].iter_mut().enumerate() {
            *score += Word::from(weight * fits.value(state, at, len));
        }
    }
}
