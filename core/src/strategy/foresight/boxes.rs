//! Foresight on any grid but a two-dimensional mesh.
//!
//! A rotated request fits into a box exactly if its longest extent is not longer than the box's
//! longest, its second longest not longer than the second longest, and so on. So there is a table
//! of lengths for each rank of extents, and one for each dimension, for requests that keep their
//! orientation.

#[cfg(feature = "restore")]
use super::Writer;
use core::cmp::Ordering;

use super::candidates::{Candidate, Candidates, Keys};
use super::expected::{MASK_WORDS, Mask, RECENT, WAITING};
use super::fits::{Fits, is_within, or};
use super::{Known, Rule, Space, TICKS_WORDS};
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

    /// Chooses among the corners of the maximal free boxes.
    pub(super) fn decide<R: Rule>(
        &mut self,
        known: &mut Known,
        workspace: &mut Workspace<'_>,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> Option<Block> {
        let grid = self.expected.grid;
        let (running, most) = known.take::<R>(occupancy, request);
        // Behind them there is room for as many places as processors are free, which candidates are
        // no more than.
        let (running, places) = workspace.list.split_at_mut(running);
        let parts = Parts::new(workspace.words, self.division);
        let blocks = running.iter().map(|&block| Block::from_raw(block));
        let fixed = known.fixed(parts.fixed);
        draft.spend_passes(2, &grid);
        let mut planes = Planes::new(occupancy, blocks, fixed, parts.planes);
        let spend = |instructions| draft.spend(instructions);
        let mut candidates = Candidates::new(Places(&grid), places, parts.contacts, parts.scores);
        let named = padded(&grid, request.shape);
        let demand = named.product();
        planes.for_each_maximal_meeting(&[], &spend, &mut |free| {
            if area(free) < demand {
                return;
            }
            let mut corners = |extents: &Tuple| {
                for_each_corner(&grid, free, extents, |place| {
                    spend(500 + 100 * candidates.len() as u32);
                    let key = block_of(&grid, place).into_raw();
                    candidates.consider(key, most, |least| {
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
        self.latest = (running.len(), candidates.len());
        if candidates.len() > 1 {
            let mut space = Placing {
                planes,
                candidates,
                fits: Fits::new((&self.expected, &*parts.table), parts.masks),
            };
            // State 0: nothing has changed but that the candidate is placed.
            space.describe(0, &[], &[], &spend);
            space.fits.settle(space.candidates.len());
            let space = known.scored::<R, _>(space, request, running, parts.ends, &spend);
            candidates = space.candidates;
        }
        let place = candidates.best().map(Block::from_raw);
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

/// Places on a grid. A key is a block ([`Block::into_raw`]).
#[derive(Clone, Copy, Debug)]
struct Places<'a>(&'a Grid);

impl Places<'_> {
    fn arcs(self, key: u64) -> Arcs {
        arcs_of(self.0, Block::from_raw(key))
    }
}

impl Keys for Places<'_> {
    type Key = u64;

    const INSTRUCTIONS: u32 = 200;

    /// By the number of the first node, then by the extents from the highest dimension down.
    fn precedes(&self, one: u64, other: u64) -> bool {
        let (one, other) = (self.arcs(one), self.arcs(other));
        let both = || one.iter().zip(&other).rev();
        let starts = both().map(|(one, other)| one.start.cmp(&other.start));
        let lengths = both().map(|(one, other)| one.len.cmp(&other.len));
        let mut orders = starts.chain(lengths);
        orders.find(|order| order.is_ne()) == Some(Ordering::Less)
    }
}

/// The grid while a job is placed.
struct Placing<'a> {
    planes: Planes<'a>,
    candidates: Candidates<'a, Places<'a>>,
    fits: Fits<'a, (&'a Expected, &'a [Mask])>,
}

impl Fits<'_, (&Expected, &[Mask])> {
    /// In the state this box is free, but for the candidate that is placed.
    fn add(&mut self, state: usize, free: &[Arc], candidates: &Candidates<'_, Places<'_>>) {
        let (expected, table) = self.expected;
        let grid = &expected.grid;
        let extents = Tuple::new(free.len(), |at| free[at].len);
        let whole = expected.fitting(extents, table);
        let Some(masks) = self.open(&whole, state, candidates.len()) else {
            return;
        };
        for (&key, mask) in candidates.keys().iter().zip(masks) {
            if is_within(&whole, mask) {
                continue;
            }
            let place = candidates.kind().arcs(key);
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

impl Placing<'_> {
    const fn grid(&self) -> &Grid {
        self.candidates.kind().0
    }
}

impl Space for Placing<'_> {
    fn area(&self, block: u64) -> u32 {
        self.grid().area(Block::from_raw(block))
    }

    fn overlap(&self, one: u64, other: u64) -> bool {
        let (one, other) = (Block::from_raw(one), Block::from_raw(other));
        self.grid().overlap(one, other)
    }

    fn release(&mut self, block: u64) {
        self.planes.release(Block::from_raw(block));
    }

    fn take(&mut self, block: u64) {
        self.planes.take(Block::from_raw(block));
    }

    fn candidates(&self) -> usize {
        self.candidates.len()
    }

    fn describe(&mut self, state: usize, from: &[usize], jobs: &[u64], spend: &dyn Fn(u32)) {
        self.fits.begin(state, from, self.candidates.len());
        let instructions = 1_500 + 500 * self.candidates.len() as u32;
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
        let fits = &self.fits;
        let count = self.candidates.len();
        self.candidates
            .score(weight, |at| fits.value(state, at, count));
    }
}
