//! Naive: the first n free processors, wherever they are.
//!
//! # Source
//!
//! V. Lo, K. J. Windisch, W. Liu and B. Nitzberg, "Noncontiguous Processor Allocation Algorithms
//! for Mesh-Connected Multicomputers", IEEE Trans. on Parallel and Distributed Systems 8(7), 1997.
//!
//! # Differences from the paper
//!
//! The held processors are the same. They are listed as blocks: runs along dimension 0, and runs of
//! consecutive lines of a plane that cover the same columns as one block. On any grid the first
//! processors are those with the smallest numbers.
//!
//! # Complexity and memory
//!
//! O(H * ceil(W / word) + blocks) for an allocation, nothing for a release, no memory.
//!
//! # Recognition
//!
//! Complete: a request fails only if fewer than n processors are free. No fragmentation of either
//! kind, but contiguity is lost.
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
//! let mut storage: storage!(mesh 4 x 3, strategies [Naive], jobs 16) = Storage::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(4, 3)?.into(),
//!     strategy: StrategyKind::Naive,
//!     scheduler: SchedulerKind::Fcfs,
//! })?;
//! for busy in [Submesh::new(3, 0, 1, 1), Submesh::new(0, 1, 3, 1)] {
//!     controller.handle(&Change::MarkFaulty { block: busy.into() }, 0)?;
//! }
//! let job = JobId(1);
//! controller.handle(&Change::submit(job, Request::submesh(3, 2)), 0)?;
//! let expected = [(0, 0, 3), (3, 1, 1), (0, 2, 2)];
//! let expected = expected.map(|(x, y, w)| Submesh::new(x, y, w, 1).into());
//! assert!(controller.view().blocks(job).eq(expected));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Draft, Gather, Request, Site, Workspace};
use crate::word::runs_of;

/// Takes the first free processors.
pub(super) fn propose(
    site: &Site<'_>,
    _: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> bool {
    let occupancy = site.occupancy;
    let mut missing = request.processors;
    let mut gather = Gather::new(*site.grid(), draft);
    let rows = occupancy.busy_rows().chunks_exact(occupancy.stride());
    'rows: for (row, busy) in (0..).zip(rows) {
        // Padding is busy.
        for run in runs_of(busy.iter().map(|busy| !busy)) {
            let end = run.end.min(run.start + missing);
            missing -= end - run.start;
            gather.push(row, run.start..end);
            if missing == 0 {
                break 'rows;
            }
        }
    }
    gather.finish();
    missing == 0
}
