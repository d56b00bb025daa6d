//! First fit (FF): the first place in row-major order; and adaptive scan (AS): the same for the
//! request as it is, then turned.
//!
//! # Source
//!
//! - First fit: Y. Zhu, "Efficient Processor Allocation Strategies for Mesh-Connected Parallel
//!   Computers", J. Parallel and Distributed Computing 16, 1992; described by Kim and Yoon 1995,
//!   section II.3.
//! - Adaptive scan: J. Ding and L. N. Bhuyan, "An Adaptive Submesh Allocation Strategy for
//!   Two-Dimensional Mesh Connected Systems", Proc. Int. Conf. on Parallel Processing II, 1993;
//!   described by Kim and Yoon 1995, section II.4.
//!
//! # Differences from the papers
//!
//! Zhu builds a coverage array and a reject array for each busy submesh; Ding and Bhuyan skip bases
//! by adaptive strides along the busy submeshes. Here the same base node is found in a bitmap, many
//! processors at a time. The decisions are the same.
//!
//! Their meshes are two-dimensional. On any other grid first fit lays the extents along dimensions
//! 0, 1, .. as they are named, 1 in the others, and the place is the free box that starts at the
//! smallest node number; where a dimension wraps it may start anywhere. Adaptive scan tries that
//! order, then every other distinct assignment of the extents, ones included, to the dimensions, in
//! ascending lexicographic order.
//!
//! # Complexity and memory
//!
//! A search for `a x b` takes O(H * ceil(W / word) * log a) in ordinary occupancies, whatever `b`
//! is, and O(H * ceil(W / word) * (log a + b)) in the worst case, when every window of `b` rows
//! fails in its lowest one (`b * log a` in place of the sum on hosts); on any other grid of N
//! processors O(N / word * log area). First fit makes one search,
//! adaptive scan up to two; on any other grid one for each assignment that does not begin like one
//! for which no node was left. On hosts, where a row has more than two words, bounds of the free
//! runs of each row are kept, so that full rows are not read again (`search/columns.rs`); a release
//! of `a x b` raises them in O(b) where little is free. Else a release takes nothing. Scratch: as
//! many words as the occupancy, on any other grid twice as many.
//!
//! # Recognition
//!
//! First fit is not complete: a free `b x a` is not found for a request `(a, b)`. Adaptive scan is:
//! a free `a x b` or `b x a` is found whenever there is one.
//!
//! ```text
//!   y
//!   2  # . #       Requests on a 3 x 3 mesh, # busy: first fit grants (1, 3) the place
//!   1  # . #       <1, 0>..<1, 2> and refuses (3, 1). Adaptive scan grants both the same
//!   0  # . #       place.
//!      0 1 2  x
//! ```
//!
//! # Examples
//!
//! Kim and Yoon 1995, section III.2: in the situation of their Fig. 2 a first-fit policy puts the
//! request (3, 2) at `<0, 0>`, into the largest free submesh, although a smaller one would do. And
//! the drawing above.
//!
//! ```
//! # use meshalloc::*;
//! /// The place of a request on a square mesh with these busy submeshes.
//! fn place(
//!     strategy: StrategyKind,
//!     side: u16,
//!     busy: &[Submesh],
//!     request: Request,
//! ) -> Result<Submesh, Refusal> {
//!     let mut storage: storage!(mesh 10 x 10, strategies [AdaptiveScan], allocations 1) =
//!         AllocatorStorage::new();
//!     let machine = Mesh::new(side, side).unwrap().into();
//!     let mut allocator = Allocator::new(storage.memory(), machine, strategy).unwrap();
//!     for &busy in busy {
//!         allocator.mark_faulty(busy.into());
//!     }
//!     let held = allocator.allocate(&request)?;
//!     let block = allocator.blocks(&held).unwrap().next().expect("one block");
//!     Ok(Submesh::of(&machine, block).unwrap())
//! }
//! use StrategyKind::{AdaptiveScan, FirstFit};
//! // Fig. 2: busy are <7, 0>..<9, 4>, <7, 8>..<9, 9> and <0, 5>..<3, 9>.
//! let busy = [(7, 0, 9, 4), (7, 8, 9, 9), (0, 5, 3, 9)];
//! let busy = busy.map(|(x1, y1, x2, y2)| Submesh::between(x1, y1, x2, y2));
//! let found = place(FirstFit, 10, &busy, Request::submesh(3, 2));
//! assert_eq!(found, Ok(Submesh::between(0, 0, 2, 1)));
//!
//! let busy = [0, 2].map(|x| Submesh::new(x, 0, 1, 3));
//! let column = Ok(Submesh::between(1, 0, 1, 2));
//! assert_eq!(place(FirstFit, 3, &busy, Request::submesh(1, 3)), column);
//! assert_eq!(place(FirstFit, 3, &busy, Request::submesh(3, 1)), Err(Refusal::Fragmented));
//! assert_eq!(place(AdaptiveScan, 3, &busy, Request::submesh(3, 1)), column);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Strategy;
use super::common::{demand_as_named, demand_in_any_order};
use crate::blocks::Draft;
use crate::error::Refusal;
use crate::mesh::Sides;
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search::boxes::{first_box, first_in_any_order};
use crate::search::columns::Scratch;
use crate::search::few::blocks_for_first_fit;

/// Defines strategies by their demand, their search, and the sides that they surely find.
macro_rules! scans {
    ($(
        $(#[$meta:meta])*
        $name:ident: $demand:path, $first:path,
        recognizes: |$request:ident, $sides:ident| $found:expr;
    )*) => { $(
        simple_strategy! {
            $(#[$meta])*
            $name, grid: Grid
        }

        impl Strategy for $name<'_> {
            // The board has one copy.
            #[cfg_attr(target_os = "none", inline)]
            #[cfg_attr(not(target_os = "none"), inline(always))]
            fn demand(&self, request: &Request) -> Result<u32, Refusal> {
                $demand(request, &self.grid)
            }

            fn recognizes(&self, $request: &Request, $sides: Sides) -> bool {
                $found
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
                let rule = self.workspace.rule();
                let scratch = Scratch::Kept(self.workspace.words);
                let found = $first(occupancy, request, rule, scratch, draft);
                found.map(|block| draft.push(block)).is_some()
            }

            keep_bounds!();
        }
    )* };
}

scans! {
    /// First fit.
    FirstFit: demand_as_named, first_box,
        recognizes: |request, sides| sides == request.sides();
    /// Adaptive scan.
    AdaptiveScan: demand_in_any_order, first_in_any_order,
        recognizes: |request, sides| request.allows(sides);
}
