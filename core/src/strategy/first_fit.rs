//! First fit (FF): the first place in row-major order.
//!
//! # Source
//!
//! Y. Zhu, "Efficient Processor Allocation Strategies for Mesh-Connected Parallel Computers", J.
//! Parallel and Distributed Computing 16, 1992; described by Kim and Yoon 1995, section II.3.
//!
//! # Differences from the paper
//!
//! Zhu builds a coverage array and a reject array for each busy submesh. Here the same base node is
//! found in a bitmap, many processors at a time. The decisions are the same.
//!
//! Zhu's mesh is two-dimensional. On any other grid the extents are laid along dimensions 0, 1, .. as they are named, 1 in the
//! others, and the place is the free box that starts at the smallest node number; where a dimension wraps it
//! may start anywhere.
//!
//! # Complexity and memory
//!
//! A request for `a x b` takes O(H * ceil(W / word) * log a) in ordinary occupancies, whatever `b` is, and O(H * ceil(W / word) * (log a + b)) in the
//! worst case, when every window of `b` rows fails in its lowest one (`b * log a` in place of the sum on hosts where a row has one or two words); on any other grid of N processors a request
//! takes O(N / word * log area). A release takes nothing. Scratch: as many words as the occupancy, on any other grid
//! twice as many.
//!
//! # Recognition
//!
//! Not complete: a free `b x a` is not found for a request `(a, b)`.
//!
//! ```text
//!   y
//!   2  # . #       Requests on a 3 x 3 mesh, # busy:
//!   1  # . #       (1, 3) is granted <1, 0>..<1, 2>,
//!   0  # . #       (3, 1) is refused.
//!      0 1 2  x
//! ```
//!
//! # Example
//!
//! Kim and Yoon 1995, section III.2: in the situation of their Fig. 2 a first-fit policy puts the
//! request (3, 2) at `<0, 0>`, into the largest free submesh, although a smaller one would do.
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: Storage<32, 16> = Storage::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(10, 10)?.into(),
//!     strategy: StrategyKind::FirstFit,
//!     scheduler: SchedulerKind::Fcfs,
//! })?;
//! // Fig. 2: busy are <7, 0>..<9, 4>, <7, 8>..<9, 9> and <0, 5>..<3, 9>.
//! for busy in [Submesh::between(7, 0, 9, 4), Submesh::between(7, 8, 9, 9), Submesh::between(0, 5, 3, 9)] {
//!     controller.handle(&Change::MarkFaulty { block: busy.into() }, 0)?;
//! }
//! let job = JobId(1);
//! controller.handle(&Change::submit(job, Request::submesh(3, 2)), 0)?;
//! let granted = controller.view().blocks(job).next();
//! assert_eq!(granted, Some(Submesh::between(0, 0, 2, 1).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Strategy;
use super::common::demand_as_named;
use crate::blocks::Draft;
use crate::error::Refusal;
use crate::mesh::Sides;
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search::boxes::first_box;
use crate::search::few::blocks_for_first_fit;

simple_strategy! {
    /// First fit.
    FirstFit, grid: Grid
}

impl Strategy for FirstFit<'_> {
    #[inline]
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        demand_as_named(request, &self.grid)
    }

    fn recognizes(&self, request: &Request, sides: Sides) -> bool {
        sides == request.sides()
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
        let found = first_box(occupancy, request, self.workspace.words, draft);
        found.map(|block| draft.push(block)).is_some()
    }
}
