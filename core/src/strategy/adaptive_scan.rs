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
//! # Complexity and memory
//!
//! Two searches of first fit, O(H * ceil(W / word) * (log a + log b)); a release takes nothing.
//! Scratch: as many words as the occupancy.
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
//! for node in [0, 2, 3, 5, 6, 8] {
//!     controller.handle(&Command::MarkFaulty { node: NodeId(node) }, 0, &mut |_| ());
//! }
//! let submit = Command::Submit { job: JobId(1), request: Request::submesh(3, 1) };
//! let mut granted = None;
//! controller.handle(&submit, 0, &mut |reply| {
//!     if let Reply::Grant(grant) = reply {
//!         granted = Some(grant.blocks[0]);
//!     }
//! });
//! assert_eq!(granted, Some(Submesh::between(1, 0, 1, 2).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Strategy;
use super::common::{demand_either_way, first_place};
use crate::blocks::Draft;
use crate::error::Refusal;
use crate::occupancy::Occupancy;
use crate::request::Request;

scanning_strategy! {
    /// Adaptive scan.
    AdaptiveScan, mesh: Mesh, on Mesh
}

impl Strategy for AdaptiveScan<'_> {
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        demand_either_way(request, self.mesh)
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let mut orientations = request.orientations();
        orientations
            .find_map(|sides| first_place(occupancy, sides, &mut self.workspace))
            .map(|submesh| draft.push(submesh))
            .is_some()
    }
}
