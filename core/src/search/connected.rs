//! Connected sets of free processors of a two-dimensional mesh: components, and growth from neighbour to neighbour. Processors
//! are neighbours along x and along y.
//!
//! Sets are bitmaps as the occupancy is one. Only rows next to a change are looked at, so a search costs as much as the set
//! it finds is large, not as often the whole mesh as the set has turns.

use core::mem;

use crate::blocks::Draft;
use crate::grid::MESH_SIDE_MAX;
use crate::layout::STRIDE_MAX;
use crate::mesh::{Coord, Submesh};
use crate::occupancy::Occupancy;
use crate::word::{Span, WORD_BITS, Word, filled, words_for};

/// Rows that are to be looked at.
#[derive(Clone, Copy)]
struct Rows([Word; words_for(MESH_SIDE_MAX as u32)]);

impl Rows {
    const NONE: Rows = Rows([0; words_for(MESH_SIDE_MAX as u32)]);

    fn add(&mut self, row: usize) {
        let at = row as u32;
        if let Some(word) = self.0.get_mut((at / WORD_BITS) as usize) {
            *word |= 1 << (at % WORD_BITS);
        }
    }

    fn has(&self, row: usize) -> bool {
        let at = row as u32;
        let word = self.0.get((at / WORD_BITS) as usize);
        word.is_some_and(|word| word >> (at % WORD_BITS) & 1 == 1)
    }

    /// The lowest one of a mesh with this many rows, which is removed.
    fn pop(&mut self, rows: usize) -> Option<usize> {
        let used = self.0[..words_for(rows as u32)].iter_mut();
        let (at, word) = used.enumerate().find(|(_, word)| **word != 0)?;
        let row = at * WORD_BITS as usize + word.trailing_zeros() as usize;
        *word &= *word - 1;
        Some(row)
    }
}

/// Components of free processors: those that have not been visited, a bit for each processor, in as many words as the occupancy has.
pub(crate) struct Components<'s> {
    stride: usize,
    /// Free processors. Invariant: whole components, until one is visited in part.
    left: &'s mut [Word],
    /// Invariant: nothing is left in words before this one.
    first: usize,
}

impl<'s> Components<'s> {
    /// None has been visited.
    pub(crate) fn new(occupancy: &Occupancy<'_>, scratch: &'s mut [Word]) -> Self {
        let busy = occupancy.busy_rows();
        let left = &mut scratch[..busy.len()];
        for (left, busy) in left.iter_mut().zip(busy) {
            *left = !busy;
        }
        Components {
            stride: occupancy.stride(),
            left,
            first: 0,
        }
    }

    /// Visits the component of this free processor. Returns how many processors it has, or, once there are `enough`, how many of them have been found:
    /// it is visited in part then, which ends all visits. 0 if it has been visited before.
    ///
    /// `seeds` has as many words as the occupancy, all of them zero; and so it is afterwards, unless that is the end of all visits.
    ///
    /// # Time complexity
    ///
    /// O(runs of the component * words in a row), a run being one within a word.
    pub(crate) fn visit(
        &mut self,
        node: Coord,
        enough: u32,
        seeds: &mut [Word],
        draft: &mut Draft<'_, '_>,
    ) -> u32 {
        let (left, stride) = (&mut *self.left, self.stride);
        let seed = Span::new(node.x.into(), 1);
        let mut at = usize::from(node.y) * stride + seed.first;
        seeds[at] = seed.mask(seed.first) & left[at];
        // Behind the last word with seeds.
        let mut end = at + 1;
        let mut processors = 0;
        while at < end {
            let seeded = mem::take(&mut seeds[at]);
            if seeded == 0 {
                at += 1;
                continue;
            }
            draft.worked(200);
            let runs = filled(seeded, left[at]);
            left[at] &= !runs;
            processors += runs.count_ones();
            if processors >= enough {
                break;
            }
            // The neighbours of the runs above and below, and in the words beside this one. The lowest word with seeds comes next.
            let mut next = at + 1;
            let mut seed = |word: usize, bits: Word| {
                let bits = left.get(word).map_or(0, |left| left & bits);
                if bits != 0 {
                    seeds[word] |= bits;
                    next = next.min(word);
                    end = end.max(word + 1);
                }
            };
            seed(at + stride, runs);
            seed(at.wrapping_sub(stride), runs);
            if stride > 1 {
                let column = at % stride;
                if column + 1 < stride {
                    seed(at + 1, runs >> (WORD_BITS - 1));
                }
                if column > 0 {
                    seed(at - 1, runs << (WORD_BITS - 1));
                }
            }
            at = next;
        }
        processors
    }

    /// The first free processor in row-major order that has not been visited. O(words) for all calls together.
    pub(crate) fn next(&mut self) -> Option<Coord> {
        let left = &self.left[self.first..];
        self.first += left.iter().position(|&left| left != 0)?;
        let (y, word) = (self.first / self.stride, self.first % self.stride);
        let x = word as u32 * WORD_BITS + self.left[self.first].trailing_zeros();
        Some(Coord::new(x as u16, y as u16))
    }
}

/// Grows a set around a free submesh: writes to `set`, a bit for each processor, those of the submesh and so many more. Each pass
/// goes over the mesh in row-major order and adds the free neighbours of the set as it was before the pass. Returns whether there
/// were enough.
///
/// `set` and `scratch` have as many words as the occupancy.
///
/// # Time complexity
///
/// O(processors added * words in a row), and O(words) to begin with.
pub(crate) fn grow(
    occupancy: &Occupancy<'_>,
    around: Submesh,
    mut missing: u32,
    set: &mut [Word],
    scratch: &mut [Word],
    draft: &mut Draft<'_, '_>,
) -> bool {
    let (busy, stride) = (occupancy.busy_rows(), occupancy.stride());
    let height = busy.len() / stride;
    let (left, beside) = (&mut set[..busy.len()], &mut scratch[..busy.len()]);
    for (left, busy) in left.iter_mut().zip(busy) {
        *left = !busy;
    }
    beside.fill(0);
    let mut growth = Growth {
        stride,
        left,
        beside,
        later: [0; STRIDE_MAX],
        rows: [Rows::NONE; 2],
        now: 0,
    };
    occupancy.layout().words(around.into(), |word, bits| {
        growth.add(word / stride, word % stride, bits);
        true
    });
    let mut added = [0; STRIDE_MAX];
    let added = &mut added[..stride];
    let mut any = true;
    while any && missing > 0 {
        any = false;
        growth.now = 1 - growth.now;
        while missing > 0
            && let Some(row) = growth.rows[growth.now].pop(height)
        {
            draft.worked(200 * stride as u32);
            any = true;
            growth.take(row, added);
            for (at, &added) in added.iter().enumerate().filter(|(_, added)| **added != 0) {
                growth.add(row, at, take_ones(added, &mut missing));
            }
        }
    }
    for (set, busy) in growth.left.iter_mut().zip(busy) {
        *set = !(*set | busy);
    }
    missing == 0
}

/// A set that grows, and the free processors beside it.
struct Growth<'s> {
    stride: usize,
    /// Free processors that are not in the set.
    left: &'s mut [Word],
    /// Those that have a neighbour in the set for the pass that goes on, or, in rows that it has seen, for the next. Some may be in the set
    /// by now.
    beside: &'s mut [Word],
    /// Those for the next pass in the row behind the latest one, while it still has some of this pass in `beside`.
    later: [Word; STRIDE_MAX],
    /// The rows in which there are some: for this pass, at `now`, and for the next.
    rows: [Rows; 2],
    now: usize,
}

impl Growth<'_> {
    /// What this pass is to add to a row, its next one.
    fn take(&mut self, row: usize, added: &mut [Word]) {
        let words = row * self.stride..(row + 1) * self.stride;
        let (left, beside) = (&self.left[words.clone()], &mut self.beside[words]);
        for (((added, left), beside), later) in
            added.iter_mut().zip(left).zip(beside).zip(&mut self.later)
        {
            *added = mem::replace(beside, mem::take(later)) & left;
        }
    }

    /// Adds these processors of a word in the latest row to the set; their neighbours come in the next pass.
    fn add(&mut self, row: usize, column: usize, bits: Word) {
        let word = row * self.stride + column;
        self.left[word] &= !bits;
        self.find_beside(row, word, bits << 1 | bits >> 1);
        if column > 0 {
            self.find_beside(row, word - 1, bits << (WORD_BITS - 1));
        }
        if column + 1 < self.stride {
            self.find_beside(row, word + 1, bits >> (WORD_BITS - 1));
        }
        if row > 0 {
            self.find_beside(row - 1, word - self.stride, bits);
        }
        if self.rows[self.now].has(row + 1) {
            self.later[column] |= bits;
            self.rows[1 - self.now].add(row + 1);
        } else {
            self.find_beside(row + 1, word + self.stride, bits);
        }
    }

    fn find_beside(&mut self, row: usize, word: usize, bits: Word) {
        let bits = self.left.get(word).map_or(0, |left| left & bits);
        if bits != 0 {
            self.beside[word] |= bits;
            self.rows[1 - self.now].add(row);
        }
    }
}

/// The lowest ones of a word, at most as many as are `missing`, which they are no longer.
fn take_ones(word: Word, missing: &mut u32) -> Word {
    let ones = word.count_ones();
    if let Some(left) = missing.checked_sub(ones) {
        *missing = left;
        return word;
    }
    let mut rest = word;
    for _ in 0..mem::take(missing) {
        rest &= rest - 1;
    }
    word & !rest
}
