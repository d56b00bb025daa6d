//! From single processors to blocks, for strategies that place a job wherever processors are free: [`Gather`].

use crate::blocks::Draft;
use crate::grid::{Block, Grid};
use crate::mesh::Submesh;

/// Writes processors into a draft as blocks: runs along dimension 0, and runs of consecutive lines of a plane that cover the
/// same columns as one block. No block wraps around.
///
/// Blocks come in the order of their first processors. O(1) a run of processors, and a division for each line it touches.
pub(super) struct Gather<'g, 'd, 'm> {
    grid: Grid,
    draft: &'g mut Draft<'d, 'm>,
    /// A run that the next processors may make longer.
    run: Option<Run>,
    /// A block that the next run may make taller.
    open: Option<Open>,
}

/// Neighbours along dimension 0.
#[derive(Clone, Copy)]
struct Run {
    first: u32,
    len: u32,
}

/// The same run in consecutive lines of a plane.
#[derive(Clone, Copy)]
struct Open {
    first: u32,
    w: u32,
    h: u32,
}

impl Open {
    fn block(self, grid: &Grid) -> Block {
        if grid.is_plane() {
            let side = u32::from(grid.side(0));
            let (x, y) = (self.first % side, self.first / side);
            return Submesh::new(x as u16, y as u16, self.w as u16, self.h as u16).into();
        }
        let mut rest = self.first;
        let start = |at: usize| {
            let side = u32::from(grid.side(at));
            let coordinate = rest % side;
            rest /= side;
            coordinate
        };
        grid.encode(start, |at| [self.w, self.h].get(at).copied().unwrap_or(1))
    }

    /// Whether it is the same run in the next line of the plane.
    fn goes_on(self, run: Run, grid: &Grid) -> bool {
        let (line, lines) = (u32::from(grid.side(0)), u32::from(grid.side(1)));
        self.w == run.len
            && self.first + self.h * line == run.first
            && !(run.first / line).is_multiple_of(lines)
    }
}

impl<'g, 'd, 'm> Gather<'g, 'd, 'm> {
    pub(super) fn new(grid: Grid, draft: &'g mut Draft<'d, 'm>) -> Self {
        Gather {
            grid,
            draft,
            run: None,
            open: None,
        }
    }

    /// Adds `len` processors with consecutive numbers from `first` on, all above those added before.
    pub(super) fn push(&mut self, first: u32, len: u32) {
        let line = u32::from(self.grid.side(0));
        let (mut first, end) = (first, first + len);
        while first < end {
            let at = first % line;
            let len = (end - first).min(line - at);
            match &mut self.run {
                Some(run) if at > 0 && run.first + run.len == first => run.len += len,
                before => {
                    let before = before.replace(Run { first, len });
                    self.close(before);
                }
            }
            first += len;
        }
    }

    /// Adds the processors whose bits are set, laid out as the occupancy is, and ends.
    #[cfg(any(feature = "neighbor", feature = "paging"))]
    pub(super) fn bits(mut self, occupancy: &crate::Occupancy<'_>, bits: &[crate::word::Word]) {
        let row_len = self.grid.row_len();
        for (row, words) in (0..).zip(bits.chunks_exact(occupancy.stride())) {
            for (start, len) in crate::word::runs(words) {
                self.push(row * row_len + start, len);
            }
        }
        self.finish();
    }

    /// A run that is as long as it gets.
    fn close(&mut self, run: Option<Run>) {
        let Some(run) = run else { return };
        match &mut self.open {
            Some(open) if open.goes_on(run, &self.grid) => open.h += 1,
            before => {
                let Run { first, len: w } = run;
                if let Some(block) = before.replace(Open { first, w, h: 1 }) {
                    self.draft.push(block.block(&self.grid));
                }
            }
        }
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) {
        let run = self.run.take();
        self.close(run);
        if let Some(block) = self.open {
            self.draft.push(block.block(&self.grid));
        }
    }
}
