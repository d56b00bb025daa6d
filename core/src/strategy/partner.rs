//! k-ary partner: whole k-ary subcubes, in the lowest dimensions but one.
//!
//! # Source
//!
//! K. Windisch, V. Lo and B. Bose, "Contiguous and Non-Contiguous Processor Allocation Algorithms for K-ary n-cubes", Proc.
//! Int. Conf. on Parallel Processing II, 1995; described by Chuang and Wu, section 1.
//!
//! # Differences from the paper
//!
//! Chuang and Wu say of it that partners are found in a tree of radix k, and that every radix must be k. It is built from
//! that: an m-dimensional subcube takes the lowest m - 1 dimensions whole, and any one of the others. The dimensions are
//! tried from the lowest on, and for each the other digits in lexicographic order.
//!
//! # Complexity and memory
//!
//! O((n - m + 1) * m * log k * k^n / word) for a request of m radices; a release takes nothing. Scratch: twice as many
//! words as the occupancy.
//!
//! # Recognition
//!
//! Not complete. A radix below k is refused (`ExtentBelowSide`), and of the C(n, m) notations only n - m + 1 are tried: on
//! a 2-ary 3-cube with the nodes 0, 2, 4 and 6 free, the subcube `**0`, a request for (2, 2) is refused.
//!
//! # Example
//!
//! ```
//! # use meshalloc::*;
//! let mut storage = Storage::<4, 1, 8, 8, 0>::new();
//! let machine = Cube::new(2, 3)?.grid();
//! let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::Partner)?;
//! allocator.mark_faulty(machine.block(&[1, 0, 0], &[1, 2, 2]).unwrap());
//! let request = Request::new(Shape::new(&[2, 2])?);
//! assert_eq!(allocator.allocate(&request).unwrap_err(), Refusal::Fragmented);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Strategy;
use super::common::demand_of_extents;
use crate::blocks::Draft;
use crate::error::Refusal;
use crate::grid::DIMENSIONS_MAX;
use crate::notation::Notation;
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search::orders::Orders;
use crate::search::tree::{Starts, first_along, radices};

simple_strategy! {
    /// k-ary partner.
    Partner, search: TreeSearch
}

impl Strategy for Partner<'_> {
    #[inline(never)]
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        let grid = self.search.grid();
        let demand = demand_of_extents(request.shape, grid)?;
        let radices = radices(grid, request.shape, Orders::All);
        match radices.iter().all(|&radix| radix == grid.side(0)) {
            true => Ok(demand),
            false => Err(Refusal::ExtentBelowSide),
        }
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        let shape = request.shape;
        let (search, scratch) = (&mut self.search, &mut *self.workspace.words);
        // All radices are k, so their order says nothing.
        let found = search.unless_known(occupancy, shape, Orders::All, |grid| {
            let radices = radices(grid, shape, Orders::All);
            let (n, m) = (grid.dimensions(), radices.len());
            // Without a radix there is one notation.
            let mut others = m.saturating_sub(1)..if m == 0 { 1 } else { n };
            others.find_map(|other| {
                let mut stars = [false; DIMENSIONS_MAX];
                for dimension in (0..m.saturating_sub(1)).chain((m > 0).then_some(other)) {
                    stars[n - 1 - dimension] = true;
                }
                let notation = Notation::new(&stars[..n])?;
                first_along(
                    occupancy,
                    notation,
                    &radices,
                    Starts::Anywhere,
                    scratch,
                    draft,
                )
                .ok()
            })
        });
        found.map(|block| draft.push(block)).is_some()
    }
}
