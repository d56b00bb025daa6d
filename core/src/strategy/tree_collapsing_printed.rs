//! Extended tree collapsing as printed: the radices of a request are laid along the dimensions of each notation from
//! left to right.
//!
//! # Source
//!
//! P.-J. Chuang and C.-M. Wu, "Processor Allocation in k-ary n-cube Multiprocessors", section 2: algorithm G* with
//! subnotations.
//!
//! # Differences from the paper
//!
//! The paper tries one subcube after the other; here those of a notation are found at once, and the first in the
//! paper's order is taken. The decisions are the same. Grids other than k-ary n-cubes are served as by
//! [`TreeCollapsing`](super::TreeCollapsing) with one order of the radices; a request that must not be rotated keeps its extents of 1 there, too.
//!
//! # Complexity and memory
//!
//! O(C(n, m) * m * log k * k^n / word) for a request of m radices; a release takes nothing. Scratch: twice as many
//! words as the occupancy.
//!
//! # Recognition
//!
//! Not complete, although the paper says so: a subcube whose extents are the radices in another order is not found. Of
//! the 39 requests that a 4-ary 3-cube can be asked for, 30 have such subcubes.
//!
//! The smallest counter-example is a 3-ary 2-cube, since it takes two dimensions and two different radices from 2 to k,
//! with six free processors. The request (3, 2) is laid along A[1] and A[0] in this order only, and refused, although
//! the six form a subcube with the extents (2, 3):
//!
//! ```text
//!   A[1]
//!   2  # # #
//!   1  . . .
//!   0  . . .
//!      0 1 2  A[0]
//! ```
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! let mut storage = Storage::<1, 1, 2, 9, 0>::new();
//! let mut place = |strategy| {
//!     let machine = Cube::new(3, 2)?.grid();
//!     let mut allocator = Allocator::new(storage.memory(), machine, strategy)?;
//!     allocator.mark_faulty(machine.block(&[0, 2], &[3, 1]).unwrap());
//!     let allocation = allocator.allocate(&Request::new(Shape::new(&[3, 2])?));
//!     Ok::<_, Box<dyn std::error::Error>>(allocation.map(|held| allocator.processors(&held)))
//! };
//! assert_eq!(place(StrategyKind::TreeCollapsingPrinted)?, Err(Refusal::Fragmented));
//! assert_eq!(place(StrategyKind::TreeCollapsing)?, Ok(6));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Strategy;
use super::common::demand_left_to_right;
use crate::blocks::Draft;
use crate::error::Refusal;
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search::orders::Orders;
use crate::search::tree::Starts;

simple_strategy! {
    /// Extended tree collapsing, as printed.
    TreeCollapsingPrinted, search: TreeSearch
}

impl Strategy for TreeCollapsingPrinted<'_> {
    #[inline(never)]
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        demand_left_to_right(request, self.search.grid())
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let orders = Orders::requested(request, self.search.grid());
        let starts = Starts::Anywhere;
        let scratch = &mut *self.workspace.words;
        let found = self
            .search
            .first_box(occupancy, request.shape, orders, starts, scratch, draft);
        found.map(|block| draft.push(block)).is_some()
    }
}
