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
//! let held = allocator.allocate(&Request::subcube(Radices::new(&[3, 2])?))?;
//! assert_eq!(allocator.processors(&held), 9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Strategy;
use crate::blocks::Draft;
use crate::cube::Radices;
use crate::cube::search::{Orders, Starts};
use crate::error::Refusal;
use crate::occupancy::Occupancy;
use crate::request::Request;

scanning_strategy! {
    /// Sniffing.
    Sniffing, search: SubcubeSearch, on Cube
}

/// The radices that are searched for.
fn cubic(request: &Request) -> Result<Radices, Refusal> {
    let requested = request.radices().ok_or(Refusal::Malformed)?;
    // The largest in as many dimensions as the cube has at most, so there is room for them.
    let cubic = requested.map(|_| requested.largest());
    cubic.map_err(|_| Refusal::NeverFits)
}

impl Strategy for Sniffing<'_> {
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        cubic(request).map(Radices::area)
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        // Equal radices have one order.
        let (orders, starts) = (Orders::All, Starts::Unwrapped);
        let found = cubic(request).ok().and_then(|radices| {
            let (search, scratch) = (&mut self.search, &mut *self.workspace.words);
            search.first_subcube(occupancy, radices, orders, starts, scratch)
        });
        found.map(|subcube| draft.push(subcube)).is_some()
    }
}
