//! Two-dimensional buddy (2DB): squares whose side is a power of two.
//!
//! # Source
//!
//! K. Li and K. H. Cheng, "A Two-Dimensional Buddy System for Dynamic Resource Allocation in a
//! Partitionable Mesh Connected System", J. Parallel and Distributed Computing 12, 1991; described
//! by Kim and Yoon 1995, section II.1, and Alshdefat 2019, section "2-Dimensional-Buddy-System".
//!
//! # Differences from the paper
//!
//! Li and Cheng keep a list of free blocks for each size, and merge free blocks whenever possible.
//! So a free block is an aligned square that is free while the square of twice its side around it
//! is not. Therefore the lists follow from the occupancy, and faulty processors need no special
//! treatment. A request takes the smallest sufficient block, and among several the one with the
//! first base node in row-major order. If the block is larger than needed, its lower left part is
//! taken. Squares have no orientation, so [`Flags::FIXED_ORIENTATION`](crate::Flags) makes no
//! difference.
//!
//! # Complexity and memory
//!
//! While few blocks are busy, O(blocks^2 * log W): around each free block, the square of twice its
//! side has a busy block. Else O(H * ceil(W / word) * (1 + log S / S)), S the side of the block. A
//! release takes nothing. Scratch: as many words as the occupancy.
//!
//! # Recognition
//!
//! Not complete: only aligned squares are found, and a job holds the whole square (internal
//! fragmentation). It serves only square meshes whose side is a power of two.
//!
//! ```text
//!   y
//!   3  . . . .     A 4 x 4 mesh, # busy: (2, 2) would fit at <1, 1>, but every aligned
//!   2  # . . #     2 x 2 square has a busy node.
//!   1  . . . .
//!   0  # . # .
//!      0 1 2 3  x
//! ```
//!
//! # Example
//!
//! Alshdefat 2019, Fig. 2-1: a job of 3 x 3 processors holds 4 x 4. The internal fragmentation is
//! 44 %.
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: storage!(mesh 8 x 8, strategies [Buddy], jobs 16) = Storage::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(8, 8)?.into(),
//!     strategy: StrategyKind::Buddy,
//!     scheduler: SchedulerKind::Fcfs,
//! })?;
//! let mut place = |job, w, h| {
//!     let request = Request::submesh(w, h).with_flags(Flags::NO_WAIT);
//!     let _ = controller.handle(&Change::submit(JobId(job), request), 0);
//!     controller.view().blocks(JobId(job)).next()
//! };
//! assert_eq!(place(1, 3, 3), Some(Submesh::new(0, 0, 4, 4).into()));
//! // The next ones split the 4 x 4 block at the right, smallest sufficient block first.
//! assert_eq!(place(2, 1, 1), Some(Submesh::new(4, 0, 1, 1).into()));
//! assert_eq!(place(3, 2, 1), Some(Submesh::new(6, 0, 2, 2).into()));
//! assert_eq!(place(4, 1, 1), Some(Submesh::new(5, 0, 1, 1).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Draft, Request, Site, Workspace};
use crate::error::Refusal;
use crate::grid::{Block, Grid};
use crate::mesh::{Coord, Sides, Submesh};
use crate::search::aligned::Aligned;
use crate::search::unmarked::UnmarkedBlocks;

/// The side of the square that a request takes.
fn side(request: &Request, grid: &Grid) -> Option<u16> {
    let sides = request.sides();
    let side = sides.w.max(sides.h).checked_next_power_of_two()?;
    (side <= grid.side(0)).then_some(side)
}

/// The demand: a square whose side is a power of two.
#[inline(never)]
pub(super) fn square(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    let side = side(request, grid).map(u32::from);
    side.map(|side| side * side).ok_or(Refusal::NeverFits)
}

/// The lower left part of the smallest free block that is large enough; ties: the first.
pub(super) fn place(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> Option<Block> {
    let occupancy = site.occupancy;
    let mesh = site.grid().side(0);
    let wanted = side(request, site.grid())?;
    if let Some(blocks) = UnmarkedBlocks::of(occupancy) {
        return first_block(blocks, wanted, mesh, draft).map(Block::from);
    }
    let mut squares = Aligned::new(
        occupancy.busy_rows(),
        occupancy.stride(),
        Sides::new(wanted, wanted),
        workspace.words,
    );
    let mut found = None;
    while found.is_none() && squares.width() <= mesh.into() {
        squares.each_largest(draft, |x, y, _| {
            found = Some(Submesh::new(x, y, wanted, wanted).into());
            false
        });
        squares.double();
    }
    found
}

/// The lower left part, of side `wanted`, of the first of the smallest sufficient blocks, while few
/// blocks are busy in a mesh of side `mesh`.
///
/// A free block is the whole mesh, or one of the four quarters of a square of which another quarter
/// is not free. So it lies beside an aligned square of its own side around a busy block. The busy
/// blocks are aligned squares, too.
fn first_block(
    busy: UnmarkedBlocks<'_>,
    wanted: u16,
    mesh: u16,
    draft: &mut Draft<'_, '_>,
) -> Option<Submesh> {
    let mut side = wanted;
    while side < mesh {
        let mut first: Option<Coord> = None;
        for Submesh { base, .. } in busy.submeshes() {
            draft.poll();
            let (left, bottom) = (base.x & !(2 * side - 1), base.y & !(2 * side - 1));
            for (x, y) in [(0, 0), (side, 0), (0, side), (side, side)] {
                let base = Coord::new(left + x, bottom + y);
                let is_first = first.is_none_or(|first| (base.y, base.x) < (first.y, first.x));
                if is_first && busy.is_free(Submesh::new(base.x, base.y, side, side)) {
                    first = Some(base);
                }
            }
        }
        if let Some(base) = first {
            return Some(Submesh::new(base.x, base.y, wanted, wanted));
        }
        side *= 2;
    }
    let whole = Submesh::new(0, 0, wanted, wanted);
    busy.submeshes().next().is_none().then_some(whole)
}
