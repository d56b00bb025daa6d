//! Naive: the first n free processors, wherever they are.
//!
//! # Source
//!
//! V. Lo, K. J. Windisch, W. Liu and B. Nitzberg, "Noncontiguous Processor Allocation Algorithms for
//! Mesh-Connected Multicomputers", IEEE Trans. on Parallel and Distributed Systems 8(7), 1997.
//!
//! # Differences from the paper
//!
//! None in which processors are held. They are listed as blocks: runs along dimension 0, and runs of
//! consecutive lines of a plane that cover the same columns as one block. On any grid the first processors are those with
//! the smallest numbers.
//!
//! # Complexity and memory
//!
//! O(H * ceil(W / word) + blocks) for an allocation, nothing for a release, no memory.
//!
//! # Recognition
//!
//! Complete: it fails only if fewer than n processors are free. No fragmentation of either kind; what
//! is lost is the contiguity.
//!
//! ```text
//!   y
//!   2  A A . .     A request for 6 processors on a 4 x 3 mesh, # busy: the job A
//!   1  # # # A     holds three blocks.
//!   0  A A A #
//!      0 1 2 3  x
//! ```
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! let mut storage = Storage::<8, 16, 0, 16, 0>::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(4, 3)?.into(),
//!     strategy: StrategyKind::Naive,
//!     scheduler: SchedulerKind::Fcfs,
//! })?;
//! for node in [3, 4, 5, 6] {
//!     controller.handle(&Command::MarkFaulty { node: NodeId(node) }, 0, &mut |_| ());
//! }
//! let submit = Command::Submit { job: JobId(1), request: Request::submesh(3, 2) };
//! let mut granted = Vec::new();
//! controller.handle(&submit, 0, &mut |reply| {
//!     if let Reply::Grant(grant) = reply {
//!         granted.extend(grant.blocks.iter().copied());
//!     }
//! });
//! let expected = [(0, 0, 3), (3, 1, 1), (0, 2, 2)];
//! assert_eq!(granted, expected.map(|(x, y, w)| Submesh::new(x, y, w, 1).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Strategy;
use crate::blocks::Draft;
use crate::error::Refusal;
use crate::grid::{Block, Grid};
use crate::mesh::Submesh;
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::word::next_bit;

simple_strategy! {
    /// Naive.
    Naive, grid: Grid
}

/// A block in the making, the same run of nodes in consecutive lines along dimension 0: a later line may still make it
/// taller.
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

    /// Whether the run from `first` on is the same one in the next line of the plane.
    fn goes_on(self, first: u32, w: u32, grid: &Grid) -> bool {
        let (line, lines) = (u32::from(grid.side(0)), u32::from(grid.side(1)));
        self.w == w && self.first + self.h * line == first && !(first / line).is_multiple_of(lines)
    }
}

impl Strategy for Naive<'_> {
    /// The shape does not matter, only the number of processors.
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        match request.processors <= self.grid.nodes() {
            true => Ok(request.processors),
            false => Err(Refusal::NeverFits),
        }
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let grid = self.grid;
        let (line, row_len) = (u32::from(grid.side(0)), grid.row_len());
        let mut missing = request.processors;
        let mut open: Option<Open> = None;
        for row in 0..grid.rows() {
            let busy = occupancy.busy_row(row as usize);
            let mut at = 0;
            // Padding is busy, so a run always ends within the row or with it; a line is the whole of it, or a part.
            while missing > 0
                && at < row_len
                && let Some(start) = next_bit(busy, at, false)
            {
                let end = next_bit(busy, start, true).unwrap_or(row_len);
                let end = end.min(start - start % line + line);
                let w = (end - start).min(missing);
                missing -= w;
                at = end;
                let first = row * row_len + start;
                match &mut open {
                    Some(block) if block.goes_on(first, w, &grid) => block.h += 1,
                    before => {
                        if let Some(block) = before.replace(Open { first, w, h: 1 }) {
                            draft.push(block.block(&grid));
                        }
                    }
                }
            }
            if missing == 0 {
                break;
            }
        }
        if let Some(block) = open {
            draft.push(block.block(&grid));
        }
        missing == 0
    }
}
