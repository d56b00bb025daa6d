//! Extended tree collapsing (TC), complete: every way to lay the radices of a request along the dimensions of a grid.
//!
//! # Source
//!
//! P.-J. Chuang and C.-M. Wu, "Processor Allocation in k-ary n-cube Multiprocessors", section 2: algorithm G* with
//! subnotations.
//!
//! # Differences from the paper
//!
//! - The paper assigns the radices of a request to the dimensions of a notation from left to right only, and so does
//!   not recognise all subcubes, as it claims (see
//!   [`TreeCollapsingPrinted`](super::TreeCollapsingPrinted)). Here each notation is tried with
//!   every distinct order of the radices: the one that was requested, then the others in lexicographic order,
//!   the first following the last. A request with
//!   [`Flags::FIXED_ORIENTATION`](crate::Flags::FIXED_ORIENTATION) keeps its order; on a grid
//!   of two dimensions that is no k-ary n-cube its extents of 1 as well, since `1 x a` would else be served by `a x 1`.
//! - The paper tries one subcube after the other. Here a notation with an order of radices is tried at all nodes at
//!   once in a bitmap, and the first subcube in the paper's order is taken: start positions lexicographic, then
//!   select digits.
//! - The paper is about k-ary n-cubes. On any other grid a dimension has a side of its own, below which a radix must stay, and
//!   may not wrap, and then start and extent together must. The radices are the extents above 1. On a k-ary n-cube
//!   they are named like the digits of an address, the highest dimension first; on any other grid x is
//!   named first, so the last extent is the leftmost radix.
//! - What cannot succeed is not tried: notations and orders that begin like one for which no node was left, and
//!   requests at least as large as one that has failed since a processor last became free.
//!
//! # Complexity and memory
//!
//! O(notations * orders * m * log k * N / word) for a request of m radices: at most C(n, m) notations and m! orders. The
//! search stops at the first subcube; a release takes nothing. Scratch: twice as many words as the occupancy.
//!
//! # Recognition
//!
//! Complete: a free subcube with the requested radices is found whenever there is one, whatever the order of its
//! extents and wherever it wraps around. Nothing is allocated beyond the request.
//!
//! # Example
//!
//! The paper's 4 x 2 mesh on an empty 4-ary 3-cube: `0(*0)4(*0)2`.
//!
//! ```
//! # use meshalloc::*;
//! let mut storage = Storage::<4, 1, 8, 64, 0>::new();
//! let cube = Cube::new(4, 3)?.grid();
//! let mut allocator = Allocator::new(storage.memory(), cube, StrategyKind::TreeCollapsing)?;
//! let mesh = allocator.allocate(&Request::new(Shape::new(&[4, 2])?))?;
//! let subcube = allocator.blocks(&mesh).next().expect("one block");
//! assert_eq!(cube.place(subcube).to_string(), "(0, 0, 0)+(1, 4, 2)");
//! let nodes: Vec<u32> = (0..64).filter(|&node| cube.holds(subcube, NodeId(node))).collect();
//! // (0,0,0), (0,0,1), (0,1,0), (0,1,1), (0,2,0), (0,2,1), (0,3,0) and (0,3,1).
//! assert_eq!(nodes, [0, 1, 4, 5, 8, 9, 12, 13]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Strategy;
use super::common::{demand_left_to_right, demand_of_extents};
use crate::blocks::Draft;
use crate::error::Refusal;
use crate::mesh::Sides;
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search::orders::Orders;
use crate::search::tree::Starts;

simple_strategy! {
    /// Extended tree collapsing, complete.
    TreeCollapsing, search: TreeSearch
}

impl Strategy for TreeCollapsing<'_> {
    #[inline(never)]
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        match request.may_rotate() {
            true => demand_of_extents(request.shape, self.search.grid()),
            false => demand_left_to_right(request, self.search.grid()),
        }
    }

    fn recognizes(&self, request: &Request, sides: Sides) -> bool {
        request.allows(sides)
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
        let found = self
            .search
            .first_box(occupancy, request.shape, orders, starts, scratch, draft);
        found.map(|block| draft.push(block)).is_some()
    }
}
