//! Free list: every radix is rounded up to a power of two, and any free subcube of these radices will do.
//!
//! # Source
//!
//! H.-L. Chen and C.-T. King, "An Efficient Dynamic Processor Allocation Scheme for K-ary n-cube Multicomputers", Proc.
//! Int. Conf. on Parallel and Distributed Systems, 1993; described by Chuang and Wu, sections 1 and 3.
//!
//! # Differences from the paper
//!
//! Chuang and Wu say of it that it recognises all free subcubes, that k must be a power of two, and that a task is given
//! more than it needs when a radix is not one. This is built from that: not the lists of free subcubes themselves, but a
//! complete search for the rounded radices, in the order of
//! [tree collapsing](super::TreeCollapsing).
//!
//! # Complexity and memory
//!
//! That of [tree collapsing](super::TreeCollapsing); a release takes nothing. Scratch: twice as many words as the occupancy.
//!
//! # Recognition
//!
//! Complete for radices that are powers of two, not for others: on a 4-ary 1-cube with one busy processor, a request
//! for the radix 3 is refused. What a job holds beyond its request is internal fragmentation.
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! let mut storage = Storage::<4, 1, 8, 64, 0>::new();
//! let machine = Cube::new(4, 3)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::FreeList)?;
//! let held = allocator.allocate(&Request::new(Shape::new(&[3, 2])?))?;
//! assert_eq!(allocator.processors(&held), 8);
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
    /// Free list.
    FreeList, search: TreeSearch
}

/// The extents that are searched for.
fn rounded(request: &Request) -> Result<Shape, Refusal> {
    // Those of a request that fits are at most k, a power of two, so there is room for them.
    let power_of_two = |extent: u16| extent.checked_next_power_of_two().unwrap_or(u16::MAX);
    request
        .shape
        .map(power_of_two)
        .map_err(|_| Refusal::NeverFits)
}

impl Strategy for FreeList<'_> {
    #[inline(never)]
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        demand_of_extents(rounded(request)?, self.search.grid())
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let orders = Orders::of(request, self.search.grid());
        let starts = Starts::Anywhere;
        let scratch = &mut *self.workspace.words;
        let found = rounded(request).ok().and_then(|shape| {
            let search = &mut self.search;
            search.first_box(occupancy, shape, orders, starts, scratch, draft)
        });
        found.map(|block| draft.push(block)).is_some()
    }
}
