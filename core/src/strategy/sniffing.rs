//! Sniffing: cubic subcubes only, which do not wrap around.
//!
//! # Source
//!
//! V. Gautam and V. Chaudhary, "Subcube Allocation Strategies in a K-ary N-cube", Proc. ISCA Int. Conf. on Parallel and
//! Distributed Computing Systems, 1993; described by Chuang and Wu, sections 1 and 3.
//!
//! # Differences from the paper
//!
//! Chuang and Wu say of it that it searches exhaustively under some subcube representations, which do not cover all
//! subcubes, and that it allocates far more than a task asks for. It is built from that: a request of m radices takes a
//! subcube of m equal extents, the largest of the radices, whose positions do not wrap around. The order of the search is
//! that of [tree collapsing](super::TreeCollapsing).
//!
//! # Complexity and memory
//!
//! O(C(n, m) * m * log k * k^n / word) for a request of m radices; a release takes nothing. Scratch: twice as many
//! words as the occupancy.
//!
//! # Recognition
//!
//! Not complete: neither subcubes of unequal extents nor those that wrap around. What a job holds beyond its request is
//! internal fragmentation.
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! let mut storage = Storage::<4, 1, 8, 64, 0>::new();
//! let machine = Cube::new(4, 3)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::Sniffing)?;
//! let held = allocator.allocate(&Request::new(Shape::new(&[3, 2])?))?;
//! assert_eq!(allocator.processors(&held), 9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Strategy;
use super::common::demand_of_extents;
use crate::blocks::Draft;
use crate::error::Refusal;
use crate::grid::Shape;
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search::orders::Orders;
use crate::search::tree::Starts;

simple_strategy! {
    /// Sniffing.
    Sniffing, search: TreeSearch
}

/// The extents that are searched for: the largest in as many dimensions as are asked for.
fn cubic(request: &Request) -> Result<Shape, Refusal> {
    let extents = request.shape.extents().filtered(|extent| extent > 1);
    let largest = extents.iter().copied().max().unwrap_or(1);
    let cubic = Shape::new(&extents).and_then(|shape| shape.map(|_| largest));
    cubic.map_err(|_| Refusal::NeverFits)
}

impl Strategy for Sniffing<'_> {
    #[inline(never)]
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        demand_of_extents(cubic(request)?, self.search.grid())
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        // Equal radices have one order.
        let (orders, starts) = (Orders::All, Starts::Unwrapped);
        let scratch = &mut *self.workspace.words;
        let found = cubic(request).ok().and_then(|shape| {
            let search = &mut self.search;
            search.first_box(occupancy, shape, orders, starts, scratch, draft)
        });
        found.map(|block| draft.push(block)).is_some()
    }
}
