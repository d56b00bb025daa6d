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
//! paper's order is taken. The decisions are the same.
//!
//! # Complexity and memory
//!
//! O(C(n, m) * m * log k * k^n / word) for a request of m radices; a release takes nothing. Scratch: twice as many
//! words as the occupancy.
//!
//! # Recognition
//!
//! Not complete, although the paper says so. The smallest counter-example is the 3-ary 2-cube with two free
//! processors, 00 and 01... see the example.
//!
//! # Example
//!
//! ```
//! ```

use super::{Strategy, demand_of_radices};
use crate::blocks::Draft;
use crate::cube::search::{Orders, Starts, first_subcube};
use crate::error::Refusal;
use crate::occupancy::Occupancy;
use crate::request::Request;

scanning_strategy! {
    /// Extended tree collapsing, as printed.
    TreeCollapsingPrinted, cube: Cube
}

impl Strategy for TreeCollapsingPrinted<'_> {
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        demand_of_radices(request)
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let (orders, starts) = (Orders::AsRequested, Starts::Anywhere);
        let found = request.radices().and_then(|radices| {
            let scratch = &mut *self.workspace.words;
            first_subcube(occupancy, self.cube, radices, orders, starts, scratch)
        });
        found.map(|subcube| draft.push(subcube)).is_some()
    }
}
