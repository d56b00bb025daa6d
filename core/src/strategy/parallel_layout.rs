//! Parallel layout (PLAS): jobs upright along the side of the I/O processors, half above its middle
//! and half below.
//!
//! # Source
//!
//! J. Mache, V. Lo, M. Livingston and S. Garg, "The Impact of Spatial Layout of Jobs on Parallel
//! I/O Performance", 6th Workshop on I/O in Parallel and Distributed Systems, 1999, as described by
//! P. Liu, C.-C. Hsu and J.-J. Wu, "I/O Processor Allocation for Mesh Cluster Computers",
//! section 1.
//!
//! The I/O processors lie at the left of the mesh, next to the column x = 0, and do not belong to
//! it. A request for R processors takes ceil(R / 2) from the half of the rows that has more free
//! processors, above or below the middle. It takes the rest from the other half. In each half
//! columns come from left to right, and in a column rows from the middle outwards.
//!
//! # Differences from the paper
//!
//! The description leaves the following open. If both halves have equally many free processors,
//! more are taken below. With an odd number of rows the middle row belongs to the half above. If a
//! half has too few free processors, the other half supplies the rest.
//!
//! # Complexity and memory
//!
//! O(W + H * ceil(W / word) + blocks); a release takes nothing. Scratch: as many words as the
//! occupancy.
//!
//! # Recognition
//!
//! Complete: a request fails only if fewer than R processors are free. Drawback: jobs are long and
//! thin, and their own messages travel far.
//!
//! # Example
//!
//! Jobs of 5 (A) and 4 (B) processors; the numbers are the order within each half.
//!
//! ```text
//!   y
//!   3  A B . .       1  3  5  7
//!   2  A B . .       0  2  4  6
//!   1  A A B .       0  2  4  6
//!   0  A B . .       1  3  5  7
//!      0 1 2 3  x
//! ```
//!
//! ```
//! use meshalloc::{Allocator, AllocatorStorage, Mesh, Refusal, Request, StrategyKind, Submesh};
//!
//! let mut storage: meshalloc::storage!(mesh 4 x 4, strategies [ParallelLayout], allocations 16) =
//!     AllocatorStorage::new();
//! let machine = Mesh::new(4, 4)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::ParallelLayout)?;
//! let mut blocks = |processors| {
//!     let job = allocator.allocate(&Request::submesh(4, 4).with_processors(processors))?;
//!     let blocks = allocator.blocks(&job).unwrap();
//!     let blocks = blocks.map(|block| Submesh::of(&machine, block).unwrap());
//!     Ok::<_, Refusal>(blocks.collect::<Vec<_>>())
//! };
//! let a = [Submesh::new(0, 0, 1, 1), Submesh::new(0, 1, 2, 1), Submesh::new(0, 2, 1, 2)];
//! assert_eq!(blocks(5)?, a);
//! let b = [Submesh::new(1, 0, 1, 1), Submesh::new(2, 1, 1, 1), Submesh::new(1, 2, 1, 2)];
//! assert_eq!(blocks(4)?, b);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Draft, Request, Site, Workspace};
use crate::mesh::{Sides, Submesh};
use crate::search::fill::{fill_columns, free_in};
use crate::search::gather::propose_difference;

/// Takes processors above and below the middle.
pub(super) fn propose(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> bool {
    let occupancy = site.occupancy;
    let sides = Sides::of_plane(site.grid());
    let middle = sides.h / 2;
    let below = Submesh::new(0, 0, sides.w, middle);
    let above = Submesh::new(0, middle, sides.w, sides.h - middle);
    let (mut copy, _) = occupancy.copy_in(workspace.words);
    // A mesh of one row has no half below.
    let free_below = if middle > 0 {
        free_in(occupancy, below)
    } else {
        0
    };
    let free_above = occupancy.free() - free_below;
    let (more, fewer) = (request.processors.div_ceil(2), request.processors / 2);
    let (in_below, in_above) = if free_below >= free_above {
        (more, fewer)
    } else {
        (fewer, more)
    };
    // If one half has too few processors, the other supplies the rest.
    let lacking_below = in_below.saturating_sub(free_below);
    let lacking_above = in_above.saturating_sub(free_above);
    let from_below = in_below - lacking_below + lacking_above;
    let from_above = in_above - lacking_above + lacking_below;
    let mut selected = fill_columns(&mut copy, above, from_above, false);
    if middle > 0 {
        selected += fill_columns(&mut copy, below, from_below, true);
    }
    propose_difference(copy, occupancy, draft);
    selected == request.processors
}
