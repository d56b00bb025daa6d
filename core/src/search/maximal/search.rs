//! The search for maximal free boxes in [`Planes`].
//!
//! The search goes from the highest dimension down. It replaces each arc of bands of a dimension by
//! the AND of its free bits, which has one dimension less. In the end the AND is a row, and each
//! run of the row is a box. A box is maximal if something busy stops it on each side. Along
//! dimension 0 that is so, since a run is as long as can be. For each other dimension the free bits
//! of the bands beside the arc, its two *walls*, are reduced in the same way by the arcs of the
//! lower dimensions, and must not be free all along the run.
//!
//! ```text
//!   a level's input     free | walls of the dimensions above, 2 each
//!   arc of bands        AND of its bands, of each part
//!   next level's input  free | those walls | band before the arc | band after the arc
//! ```
//!
//! If all free bits of the arc are also free in a wall, no box of the arc is maximal, and the lower
//! dimensions are not searched.
//!
//! With blocks that a box must meet, only arcs that meet each block are looked at. They are made
//! from the first block outwards: if an arc has nothing free within the block's lower dimensions,
//! no longer arc has either.

use super::{MEETING_MAX, Planes, parts, spans};
use crate::grid::arcs::Arcs;
use crate::grid::{Arc, Block, Side};
use crate::word::{Word, runs};

/// The boxes that a search looks for, and its state.
struct Search<'s> {
    /// The blocks that a box must meet, in bands.
    blocks: &'s [Arcs],
    /// The arcs of the dimensions above the present one, in positions.
    arcs: Arcs,
    poll: &'s dyn Fn(),
    visit: &'s mut dyn FnMut(&[Arc]),
}

impl Planes<'_> {
    /// Calls `visit` once for every maximal free box that meets each of these blocks, at most
    /// [`MEETING_MAX`], which are among those given to [`Planes::new`] and free. It calls `poll`
    /// in between.
    ///
    /// # Time complexity
    ///
    /// O(product of the squares of the bands along each dimension but the first * words in a row).
    pub(crate) fn for_each_maximal_meeting(
        &mut self,
        blocks: &[Block],
        poll: &dyn Fn(),
        visit: &mut dyn FnMut(&[Arc]),
    ) {
        let mut bands = [Arcs::default(); MEETING_MAX];
        for (bands, &block) in bands.iter_mut().zip(blocks) {
            *bands = self.bands(block);
        }
        let spare = core::mem::take(&mut self.spare);
        let level = self.grid.dimensions() - 1;
        let mut search = Search {
            blocks: &bands[..blocks.len()],
            arcs: Arcs::default(),
            poll,
            visit,
        };
        let all = &self.free[..self.len(level)];
        match level {
            0 => self.search_row(all, &mut search),
            level => self.search(level, all, spare, &mut search),
        };
        self.spare = spare;
    }

    /// Searches the bands of all dimensions up to a level above 0. Returns false if nothing is free
    /// within the first block.
    ///
    /// The function calls itself for the level below, so at most 15 times.
    fn search(
        &self,
        level: usize,
        input: &[Word],
        spare: &mut [Word],
        search: &mut Search<'_>,
    ) -> bool {
        let side = self.side(level);
        let count = side.len;
        let whole = Arc {
            start: 0,
            len: count,
        };
        let slab = self.len(level - 1);
        let parts = parts(self.grid.dimensions(), level);
        let (next, spare) = spare.split_at_mut((parts + 2) * slab);
        let first = search.blocks.first().map_or(whole, |block| block[level]);
        let mut is_any = false;
        // First the arcs that start in the first block, then those that start before it and reach
        // it.
        let before = if side.wraps {
            count - first.len
        } else {
            first.start
        };
        let starts = (0..first.len).map(|at| (side.moved(first.start, at), 1));
        let earlier = (1..=before).map(|at| (side.moved(first.start, count - at), at + 1));
        'starts: for (start, least) in starts.chain(earlier) {
            let is_inside = least == 1;
            if !is_inside && !is_any {
                return false;
            }
            let most = if side.wraps { count - 1 } else { count - start };
            for len in 1..=most {
                let arc = Arc { start, len };
                let added = side.moved(start, len - 1);
                let slabs = input.chunks_exact(slab).skip(added.into());
                let slabs = slabs.step_by(count.into());
                for (next, slab) in next.chunks_exact_mut(slab).zip(slabs) {
                    match len {
                        1 => next.copy_from_slice(slab),
                        _ => and(next, slab),
                    }
                }
                if len >= least {
                    let walls = [side.before(arc), side.after(arc)];
                    wall(next, slab, parts, input, walls);
                    if self.search_arc(level, arc, next, spare, search) {
                        is_any |= is_inside;
                        continue;
                    }
                    if !is_inside && len == least {
                        // Arcs that begin earlier have nothing free either.
                        break 'starts;
                    }
                    break;
                }
            }
        }
        if side.wraps && (is_any || count == 1) {
            for (next, of_part) in next
                .chunks_exact_mut(slab)
                .zip(input.chunks_exact(slab * usize::from(count)))
            {
                next.fill(Word::MAX);
                of_part.chunks_exact(slab).for_each(|slab| and(next, slab));
            }
            wall(next, slab, parts, input, [None; 2]);
            is_any |= self.search_arc(level, whole, next, spare, search);
        }
        is_any
    }

    /// Searches the lower dimensions for an arc of bands, whose bits have been made. Returns false
    /// if nothing is free within the first block.
    fn search_arc(
        &self,
        level: usize,
        arc: Arc,
        next: &[Word],
        spare: &mut [Word],
        search: &mut Search<'_>,
    ) -> bool {
        (search.poll)();
        let slab = self.len(level - 1);
        let (free, walls) = next.split_at(slab);
        if free.iter().all(|&free| free == 0) {
            return false;
        }
        let side = self.side(level);
        let mut blocks = search.blocks.iter();
        let is_open = |wall: &[Word]| free.iter().zip(wall).all(|(free, wall)| free & !wall == 0);
        if !blocks.all(|block| side.meet(arc, block[level]))
            || walls.chunks_exact(slab).any(is_open)
        {
            return true;
        }
        search.arcs[level] = self.positions(level, arc);
        match level {
            1 => self.search_row(next, search),
            level => self.search(level - 1, next, spare, search),
        }
    }

    /// Visits the runs of a row that are stopped by each wall and meet each block. Returns false if
    /// nothing is free within the first block.
    fn search_row(&self, input: &[Word], search: &mut Search<'_>) -> bool {
        let (row, walls) = input.split_at(self.stride);
        let side = self.grid.along(0);
        if let Some(block) = search.blocks.first() {
            let mut spans = spans(side.len, block[0]).into_iter().flatten();
            if !spans.any(|span| span.any(row)) {
                return false;
            }
        }
        let dimensions = self.grid.dimensions();
        for_each_run(row, side, |run| {
            let spans = spans(side.len, run);
            let is_open = |wall: &[Word]| spans.iter().flatten().all(|span| span.all(wall));
            let mut blocks = search.blocks.iter();
            if blocks.all(|block| side.meet(run, block[0]))
                && !walls.chunks_exact(self.stride).any(is_open)
            {
                search.arcs[0] = run;
                (search.visit)(&search.arcs[..dimensions]);
            }
        });
        true
    }
}

/// `into &= bits`.
#[inline]
fn and(into: &mut [Word], bits: &[Word]) {
    for (into, bits) in into.iter_mut().zip(bits) {
        *into &= bits;
    }
}

/// Writes the bands before and after an arc behind the `parts` parts of `next`. If there is no band
/// before or after the arc, nothing is free there.
#[inline]
fn wall(next: &mut [Word], slab: usize, parts: usize, input: &[Word], at: [Option<u16>; 2]) {
    let walls = next[parts * slab..].chunks_exact_mut(slab);
    for (wall, at) in walls.zip(at) {
        match at {
            Some(at) => wall.copy_from_slice(&input[usize::from(at) * slab..][..slab]),
            None => wall.fill(0),
        }
    }
}

/// Calls `visit` with each run of ones of a row; on a ring the run at the end goes on at 0.
#[inline]
fn for_each_run(row: &[Word], side: Side, mut visit: impl FnMut(Arc)) {
    let mut first: Option<Arc> = None;
    for (start, len) in runs(row) {
        let (start, len) = (start as u16, len as u16);
        let run = Arc { start, len };
        match first {
            _ if side.wraps && start == 0 && len < side.len => first = Some(run),
            Some(first_run) if start + len == side.len => {
                first = None;
                visit(Arc {
                    start,
                    len: len + first_run.len,
                });
            }
            _ => visit(run),
        }
    }
    if let Some(first) = first {
        visit(first);
    }
}
