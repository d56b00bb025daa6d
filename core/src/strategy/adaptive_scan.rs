//! Adaptive scan (AS): first fit for the request as it is, then turned.
//!
//! # Source
//!
//! J. Ding and L. N. Bhuyan, "An Adaptive Submesh Allocation Strategy for Two-Dimensional Mesh
//! Connected Systems", Proc. Int. Conf. on Parallel Processing II, 1993; described by Kim and Yoon
//! 1995, section II.4.
//!
//! # Differences from the paper
//!
//! Ding and Bhuyan skip bases by adaptive strides along the busy submeshes. Here both scans are the
//! word-parallel search of first fit, which finds the same base.
//!
//! Their mesh is two-dimensional. On any other grid first fit is tried for the order in which the extents are named, then for
//! every other distinct assignment of the extents, ones included, to the dimensions, in ascending lexicographic order.
//!
//! # Complexity and memory
//!
//! Two searches of first fit: O(H * ceil(W / word) * (log a + log b)) in ordinary occupancies, O(H * ceil(W / word) * (a + b)) in the worst case; on any other grid one for each assignment that does
//! not begin like one for which no node was left. A release takes nothing. Scratch: as that of first fit.
//!
//! # Recognition
//!
//! Complete: a free `a x b` or `b x a` is found whenever there is one.
//!
//! ```text
//!   y
//!   2  # . #       Requests on a 3 x 3 mesh, # busy:
//!   1  # . #       (1, 3) and (3, 1) are both granted <1, 0>..<1, 2>.
//!   0  # . #
//!      0 1 2  x
//! ```
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: Storage<8, 16> = Storage::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(3, 3)?.into(),
//!     strategy: StrategyKind::AdaptiveScan,
//!     scheduler: SchedulerKind::Fcfs,
//! })?;
//! for x in [0, 2] {
//!     controller.handle(&Change::MarkFaulty { block: Submesh::new(x, 0, 1, 3).into() }, 0)?;
//! }
//! let job = JobId(1);
//! controller.handle(&Change::submit(job, Request::submesh(3, 1)), 0)?;
//! let granted = controller.view().blocks(job).next();
//! assert_eq!(granted, Some(Submesh::between(1, 0, 1, 2).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Strategy;
use super::common::demand_in_any_order;
use crate::blocks::Draft;
use crate::error::Refusal;
use crate::mesh::Sides;
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search::boxes::first_in_any_order;
use crate::search::few::blocks_for_first_fit;

simple_strategy! {
    /// Adaptive scan.
    AdaptiveScan, grid: Grid
}

impl Strategy for AdaptiveScan<'_> {
    #[inline]
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        demand_in_any_order(request, &self.grid)
    }

    fn recognizes(&self, request: &Request, sides: Sides) -> bool {
        request.allows(sides)
    }

    fn blocks_unmarked(&self) -> usize {
        blocks_for_first_fit(&self.grid)
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let found = first_in_any_order(occupancy, request, self.workspace.words, draft);
        found.map(|block| draft.push(block)).is_some()
    }
}
