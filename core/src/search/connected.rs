//! Connected sets of free processors of a two-dimensional mesh: components, and growth from neighbour to neighbour. Processors
//! are neighbours along x and along y.
//!
//! Sets are bitmaps as the occupancy is one. Only rows next to a change are looked at, so a search costs as much as the set
//! it finds is large, not as often the whole mesh as the set has turns.

use crate::blocks::{Draft, SmallSteps};
use crate::grid::MESH_SIDE_MAX;
use crate::layout::STRIDE_MAX;
use crate::mesh::{Coord, Submesh};
use crate::occupancy::Occupancy;
use crate::word::{Span, WORD_BITS, Word, bits_from, fill_runs, next_bit, words_for};

/// Rows that are to be looked at.
struct Rows([Word; words_for(MESH_SIDE_MAX as u32)]);

impl Rows {
    const NONE: Rows = Rows([0; words_for(MESH_SIDE_MAX as u32)]);

    fn add(&mut self, row: usize) {
        let at = row as u32;
        if let Some(word) = self.0.get_mut((at / WORD_BITS) as usize) {
            *word |= 1 << (at % WORD_BITS);
        }
    }

    fn add_neighbours(&mut self, row: usize) {
        if let Some(below) = row.checked_sub(1) {
            self.add(below);
        }
        self.add(row + 1);
    }

    /// The lowest one of a mesh with this many rows, which is removed.
    fn pop(&mut self, rows: usize) -> Option<usize> {
        let row = next_bit(&self.0, 0, true)?;
        self.0[(row / WORD_BITS) as usize] &= !(1 << (row % WORD_BITS));
        ((row as usize) < rows).then_some(row as usize)
    }
}

/// Components of free processors that have been visited: a bit for each processor, in as many words as the occupancy has.
pub(crate) struct Components<'a, 's> {
    /// Rows of `stride` words, with busy padding.
    busy: &'a [Word],
    stride: usize,
    /// Invariant: whole components.
    visited: &'s mut [Word],
    /// Invariant: all free processors in words before this one have been visited.
    first: usize,
}

impl<'a, 's> Components<'a, 's> {
    /// None has been visited.
    pub(crate) fn new(occupancy: &'a Occupancy<'_>, visited: &'s mut [Word]) -> Self {
        let busy = occupancy.busy_rows();
        let visited = &mut visited[..busy.len()];
        visited.fill(0);
        Components {
            busy,
            stride: occupancy.stride(),
            visited,
            first: 0,
        }
    }

    /// The number of processors of the component that this free one belongs to; 0 if it has been visited before.
    ///
    /// # Time complexity
    ///
    /// O(runs of the component * words in a row), and there are at most half as many runs in a row as processors.
    pub(crate) fn visit(&mut self, node: Coord, draft: &mut Draft<'_, '_>) -> u32 {
        let (busy, stride) = (self.busy, self.stride);
        let height = busy.len() / stride;
        let row = usize::from(node.y);
        let mut seeds = [0; STRIDE_MAX];
        let seeds = &mut seeds[..stride];
        let seed = Span::new(node.x.into(), 1);
        seeds[seed.first] = seed.mask(seed.first) & !self.visited[row * stride + seed.first];
        let mut rows = Rows::NONE;
        let mut processors = self.add_runs(row, seeds, &mut rows);
        let mut steps = SmallSteps::default();
        while let Some(row) = rows.pop(height) {
            steps.worked(100 * stride as u32, draft);
            for (at, seed) in seeds.iter_mut().enumerate() {
                let at = row * stride + at;
                let below = at.checked_sub(stride).map_or(0, |at| self.visited[at]);
                let above = self.visited.get(at + stride).copied().unwrap_or(0);
                *seed = (below | above) & !busy[at] & !self.visited[at];
            }
            processors += self.add_runs(row, seeds, &mut rows);
        }
        steps.end(draft);
        processors
    }

    /// Visits the runs of free processors of a row that have one of the seeds; returns how many processors they have. A run
    /// is visited whole, so one with a seed that has not been visited is new.
    fn add_runs(&mut self, row: usize, seeds: &mut [Word], rows: &mut Rows) -> u32 {
        if seeds.iter().all(|&seeds| seeds == 0) {
            return 0;
        }
        let words = row * seeds.len()..(row + 1) * seeds.len();
        let busy = &self.busy[words.clone()];
        fill_runs(seeds, |at| !busy[at]);
        for (visited, &added) in self.visited[words].iter_mut().zip(&*seeds) {
            *visited |= added;
        }
        rows.add_neighbours(row);
        seeds.iter().map(|added| added.count_ones()).sum()
    }

    /// The first free processor in row-major order that has not been visited. O(words) for all calls together.
    pub(crate) fn next(&mut self) -> Option<Coord> {
        while let (Some(busy), Some(visited)) =
            (self.busy.get(self.first), self.visited.get(self.first))
        {
            let left = !(busy | visited);
            if left != 0 {
                let (y, word) = (self.first / self.stride, self.first % self.stride);
                let x = word as u32 * WORD_BITS + left.trailing_zeros();
                return Some(Coord::new(x as u16, y as u16));
            }
            self.first += 1;
        }
        None
    }
}

/// Grows a set around a free submesh: writes to `set`, a bit for each processor, those of the submesh and so many more. Each pass
/// goes over the mesh in row-major order and adds the free neighbours of the set as it was before the pass. Returns whether there
/// were enough.
///
/// # Time complexity
///
/// O(processors added * words in a row), and O(words) to begin with.
pub(crate) fn grow(
    occupancy: &Occupancy<'_>,
    around: Submesh,
    mut missing: u32,
    set: &mut [Word],
    draft: &mut Draft<'_, '_>,
) -> bool {
    let (busy, stride) = (occupancy.busy_rows(), occupancy.stride());
    let height = busy.len() / stride;
    let set = &mut set[..busy.len()];
    set.fill(0);
    let mut rows = Rows::NONE;
    occupancy.layout().words(around.into(), |word, bits| {
        set[word] |= bits;
        rows.add(word / stride);
        rows.add_neighbours(word / stride);
        true
    });
    // The row that was changed last in this pass, as it was before.
    let mut before = [0; STRIDE_MAX];
    let mut added = [0; STRIDE_MAX];
    let (before, added) = (&mut before[..stride], &mut added[..stride]);
    let mut steps = SmallSteps::default();
    while missing > 0 {
        let mut next = Rows::NONE;
        let mut any = false;
        let mut changed = None;
        while missing > 0
            && let Some(row) = rows.pop(height)
        {
            steps.worked(100 * stride as u32, draft);
            let (below, rest) = set.split_at(row * stride);
            let (own, above) = rest.split_at(stride);
            let below = match row.checked_sub(1) {
                Some(row) if changed == Some(row) => Some(&*before),
                Some(row) => Some(&below[row * stride..]),
                None => None,
            };
            let mut count = 0;
            for (at, added) in added.iter_mut().enumerate() {
                let from = (at as u32 * WORD_BITS) as i32;
                let beside = bits_from(own, from - 1) | bits_from(own, from + 1);
                let below = below.map_or(0, |below| below[at]);
                let above = above.get(at).copied().unwrap_or(0);
                let free = !busy[row * stride + at];
                *added = (beside | below | above) & free & !own[at];
                *added = first_ones(*added, missing - count);
                count += added.count_ones();
            }
            if count == 0 {
                continue;
            }
            before.copy_from_slice(own);
            changed = Some(row);
            for (set, added) in set[row * stride..].iter_mut().zip(&*added) {
                *set |= added;
            }
            missing -= count;
            any = true;
            next.add(row);
            next.add_neighbours(row);
        }
        if !any {
            break;
        }
        rows = next;
    }
    steps.end(draft);
    missing == 0
}

/// The lowest ones of a word, at most `count` of them.
fn first_ones(word: Word, count: u32) -> Word {
    let mut rest = word;
    if rest.count_ones() > count {
        for _ in 0..count {
            rest &= rest - 1;
        }
        return word & !rest;
    }
    word
}
