//! Joins single processors to blocks, for strategies that place a job wherever processors are free:
//! [`Gather`], and [`propose_difference`].
//!
//! ```text
//!   y                   y
//!   3  . x . x          3  . c . d       Rows from 0 on, runs from left to right. A run in
//!   2  x x . x          2  a a . b       the next row with the columns of the latest block
//!   1  x x . .    ->    1  a a . .       makes that block taller; every other run begins a
//!   0  x x . .          0  a a . .       block.
//!      0 1 2 3  x          0 1 2 3  x
//! ```

use core::ops::Range;

use crate::draft::Draft;
use crate::grid::{Block, Grid};
use crate::mesh::Submesh;
use crate::occupancy::Occupancy;
use crate::word::{WORD_BITS, Word, next_bit, rows_with_bits, runs};

/// Writes processors into a draft as blocks: runs along dimension 0, and runs of consecutive lines
/// of a plane that cover the same columns as one block. No block wraps around.
///
/// Blocks come in the order of their first processors. O(1) for a run of processors on a
/// two-dimensional mesh, on any other grid a division for each line that it touches.
pub(crate) struct Gather<'g, 'd, 'm> {
    grid: Grid,
    draft: &'g mut Draft<'d, 'm>,
    /// A block that the next run may make taller; at first a block of no lines.
    open: Open,
}

/// One run in consecutive lines of a plane. Lines are counted through all planes.
#[derive(Clone, Copy, Default)]
struct Open {
    x: u32,
    line: u32,
    w: u32,
    h: u32,
}

impl Open {
    #[inline]
    fn block(self, grid: &Grid) -> Block {
        if grid.is_plane() {
            let Open { x, line, w, h } = self;
            Submesh::new(x as u16, line as u16, w as u16, h as u16).into()
        } else {
            self.block_of_any(grid)
        }
    }

    // A function of its own, so that the two-dimensional case stays short.
    #[inline(never)]
    fn block_of_any(self, grid: &Grid) -> Block {
        let first = self.x + self.line * u32::from(grid.side(0));
        grid.block_at(first, |at| [self.w, self.h].get(at).copied().unwrap_or(1))
    }
}

impl<'g, 'd, 'm> Gather<'g, 'd, 'm> {
    pub(crate) fn new(grid: Grid, draft: &'g mut Draft<'d, 'm>) -> Self {
        Gather {
            grid,
            draft,
            open: Open::default(),
        }
    }

    /// Adds a run of at least one neighbour in a row of the occupancy. Runs come in the order of
    /// rows and places in them, and do not adjoin in the same row.
    #[inline]
    pub(crate) fn push(&mut self, row: u32, run: Range<u32>) {
        if self.grid.is_plane() {
            self.push_in_line(row, run.start, run.end - run.start);
        } else {
            self.push_in_lines(run);
        }
    }

    /// On a grid whose only row has all lines.
    fn push_in_lines(&mut self, mut run: Range<u32>) {
        let side = u32::from(self.grid.side(0));
        while !run.is_empty() {
            let x = run.start % side;
            let w = (run.end - run.start).min(side - x);
            self.push_in_line(run.start / side, x, w);
            run.start += w;
        }
    }

    #[inline]
    fn push_in_line(&mut self, line: u32, x: u32, w: u32) {
        let open = &mut self.open;
        if open.x == x
            && open.w == w
            && open.line + open.h == line
            && !line.is_multiple_of(self.grid.side(1).into())
        {
            open.h += 1;
            return;
        }
        self.close();
        self.open = Open { x, line, w, h: 1 };
    }

    /// Adds the processors whose bits are set, laid out as the occupancy is, and ends.
    pub(crate) fn bits(mut self, occupancy: &Occupancy<'_>, bits: &[Word]) {
        for (row, words) in rows_with_bits(bits, occupancy.stride()) {
            for (start, len) in runs(words) {
                self.push(row as u32, start..start + len);
            }
        }
        self.finish();
    }

    #[inline]
    fn close(&mut self) {
        if self.open.h > 0 {
            self.draft.push(self.open.block(&self.grid));
        }
    }

    /// Writes the remaining blocks.
    pub(crate) fn finish(mut self) {
        self.close();
    }
}

/// Proposes the processors that are busy in a copy and free in the occupancy, as blocks in
/// row-major order of their bases. A block is a run along x, as tall as the run goes on in the rows
/// above. The parts of a job often lie side by side, so adjacent parts form one run whatever their
/// order, unlike in [`Gather`].
///
/// ```text
///   2  . b b .      two blocks: a ends where its run does not go on as it is,
///   1  . b b .      b begins there and has the same run in two rows
///   0  a a a .
/// ```
pub(crate) fn propose_difference(
    copy: Occupancy<'_>,
    occupancy: &Occupancy<'_>,
    draft: &mut Draft<'_, '_>,
) {
    let stride = occupancy.stride();
    let bits = &*copy.difference(occupancy);
    let rows_from = |y: usize| bits[y * stride..].chunks_exact(stride);
    for (y, row) in rows_with_bits(bits, stride) {
        let below = y.checked_sub(1).and_then(|y| rows_from(y).next());
        // A row that equals the row below begins no block.
        if below.is_some_and(|below| is_same(row, below)) {
            continue;
        }
        let is_new = |run: &(u32, u32)| !below.is_some_and(|below| has_run(below, *run));
        for (x, w) in runs(row).filter(is_new) {
            let above = rows_from(y + 1);
            let h = 1 + above.take_while(|row| has_run(row, (x, w))).count();
            draft.poll();
            draft.push(Submesh::new(x as u16, y as u16, w as u16, h as u16));
        }
    }
}

/// Whether two rows are the same, without a call on boards.
fn is_same(row: &[Word], other: &[Word]) -> bool {
    let mut both = row.iter().zip(other);
    row.len() == other.len() && both.all(|(a, b)| a == b)
}

/// Whether this is one of the runs of the row: neither longer nor shorter.
fn has_run(row: &[Word], (start, len): (u32, u32)) -> bool {
    let end = next_bit(row, start, false).unwrap_or(row.len() as u32 * WORD_BITS);
    end == start + len && next_bit(row, start.saturating_sub(1), true) == Some(start)
}
