//! Extended tree collapsing (TC), and four more searches for subcubes of k-ary n-cubes: as printed,
//! free list, sniffing and k-ary partner.
//!
//! # Source
//!
//! - Tree collapsing: P.-J. Chuang and C.-M. Wu, "Processor Allocation in k-ary n-cube
//!   Multiprocessors", section 2: algorithm G* with subnotations.
//! - Free list: H.-L. Chen and C.-T. King, "An Efficient Dynamic Processor Allocation Scheme for
//!   K-ary n-cube Multicomputers", Proc. Int. Conf. on Parallel and Distributed Systems, 1993;
//!   described by Chuang and Wu, sections 1 and 3.
//! - Sniffing: V. Gautam and V. Chaudhary, "Subcube Allocation Strategies in a K-ary N-cube", Proc.
//!   ISCA Int. Conf. on Parallel and Distributed Computing Systems, 1993; described by Chuang and
//!   Wu, sections 1 and 3.
//! - Partner: K. Windisch, V. Lo and B. Bose, "Contiguous and Non-Contiguous Processor Allocation
//!   Algorithms for K-ary n-cubes", Proc. Int. Conf. on Parallel Processing II, 1995; described by
//!   Chuang and Wu, section 1.
//!
//! All search in the same order: notation by notation; for each notation the orders of the radices;
//! for each order the start positions, then the select digits, both in lexicographic order. They
//! differ in the radices, their orders, the starts and the notations:
//!
//! | | radices | orders | starts | notations |
//! |---|---|---|---|---|
//! | tree collapsing | as requested | every one | anywhere | all |
//! | as printed | as requested | left to right | anywhere | all |
//! | free list | rounded up to powers of two | every one | anywhere | all |
//! | sniffing | the largest, m times | one | no wrapping | all |
//! | partner | k only | one | anywhere | the lowest m - 1 dimensions and one more |
//!
//! # Differences from the papers
//!
//! - The paper assigns the radices of a request to the dimensions of a notation from left to right
//!   only. So, contrary to its claim, it does not recognise all subcubes. `tree-collapsing-printed`
//!   follows the paper. `tree-collapsing` tries each notation with every distinct order of the
//!   radices: the one that was requested, then the others in lexicographic order, the first
//!   following the last. A request with
//!   [`Flags::FIXED_ORIENTATION`](crate::Flags::FIXED_ORIENTATION) keeps its order. On a grid of
//!   two dimensions that is not a k-ary n-cube it keeps its extents of 1 as well, since `1 x a`
//!   would else be served by `a x 1`. This holds for the search as printed, too.
//! - The paper tries one subcube after the other. Here a notation with an order of radices is tried
//!   at all nodes at once in a bitmap, and the first subcube in the paper's order is taken. The
//!   decisions are the same.
//! - The paper is about k-ary n-cubes. On any other grid a dimension has its own side, which limits
//!   the radix. A dimension may also not wrap; then the side limits start and extent together. The
//!   radices are the extents above 1. On a k-ary n-cube they are named like the digits of an
//!   address, the highest dimension first; on any other grid x is named first, so the last extent
//!   is the leftmost radix.
//! - The search leaves out attempts that cannot succeed: notations and orders that begin like one
//!   for which no node was left, and requests at least as large as one that has failed since a
//!   processor last became free.
//! - Free list, sniffing and partner are built from what Chuang and Wu say of them.
//!   - Free list recognises all free subcubes, k must be a power of two, and a job gets more than
//!     it needs if a radix is not a power of two. Here the strategy keeps no lists of free
//!     subcubes, but makes a complete search for the rounded radices.
//!   - Sniffing searches exhaustively under some subcube representations, which do not cover all
//!     subcubes, and allocates far more than a job asks for. Here a request of m radices takes a
//!     subcube of m equal extents, the largest of the radices, whose positions do not wrap around.
//!   - Partners are found in a tree of radix k, and every radix must be k. Here an m-dimensional
//!     subcube takes the lowest m - 1 dimensions whole, and any one of the others. The dimensions
//!     are tried from the lowest on, and for each the other digits in lexicographic order.
//!
//! # Complexity and memory
//!
//! O(notations * orders * m * log k * N / word) for a request of m radices: at most C(n, m)
//! notations and m! orders for tree collapsing and free list, C(n, m) and 1 for the search as
//! printed and sniffing, n - m + 1 and 1 for partner. The search stops at the first subcube; a
//! release takes nothing. Scratch: twice as many words as the occupancy.
//!
//! # Recognition
//!
//! - Tree collapsing: complete. A free subcube with the requested radices is found whenever there
//!   is one, whatever the order of its extents and wherever it wraps around. Nothing is allocated
//!   beyond the request.
//! - As printed: not complete, although the paper says so. A subcube whose extents are the radices
//!   in another order is not found. On a 4-ary 3-cube 39 requests are possible, and 30 of them have
//!   such subcubes. The smallest counter-example is a 3-ary 2-cube, since it takes two dimensions
//!   and two different radices from 2 to k, with six free processors. The request (3, 2) is laid
//!   along A[1] and A[0] in this order only, and refused, although the six form a subcube with the
//!   extents (2, 3):
//!
//!   ```text
//!     A[1]
//!     2  # # #
//!     1  . . .
//!     0  . . .
//!        0 1 2  A[0]
//!   ```
//! - Free list: complete for radices that are powers of two, not for others. On a 4-ary 1-cube with
//!   one busy processor, a request for the radix 3 is refused. What a job holds beyond its request
//!   is internal fragmentation.
//! - Sniffing: not complete. It finds neither subcubes of unequal extents nor those that wrap
//!   around. What a job holds beyond its request is internal fragmentation.
//! - Partner: not complete. A radix below k is refused (`ExtentBelowSide`), and of the C(n, m)
//!   notations only n - m + 1 are tried: on a 2-ary 3-cube with the nodes 0, 2, 4 and 6 free, the
//!   subcube `**0`, a request for (2, 2) is refused.
//!
//! # Examples
//!
//! The paper's 4 x 2 mesh on an empty 4-ary 3-cube, `0(*0)4(*0)2`; the counter-examples above; and
//! what free list and sniffing hold for (3, 2).
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: storage!(torus 4 x 4 x 4, strategies [TreeCollapsing], allocations 64) =
//!     AllocatorStorage::new();
//! let cube = Cube::new(4, 3)?.grid();
//! let mut allocator = Allocator::new(storage.memory(), cube, StrategyKind::TreeCollapsing)?;
//! let mesh = allocator.allocate(&Request::new(Shape::new(&[4, 2])?))?;
//! let subcube = allocator.blocks(&mesh)?.next().expect("one block");
//! assert_eq!(cube.place(subcube).to_string(), "(0, 0, 0)+(1, 4, 2)");
//! let nodes: Vec<u32> = (0..64).filter(|&node| cube.holds(subcube, NodeId(node))).collect();
//! // (0,0,0), (0,0,1), (0,1,0), (0,1,1), (0,2,0), (0,2,1), (0,3,0) and (0,3,1).
//! assert_eq!(nodes, [0, 1, 4, 5, 8, 9, 12, 13]);
//!
//! /// The processors that a request for these radices holds.
//! fn place(
//!     strategy: StrategyKind,
//!     cube: Cube,
//!     faulty: Option<(&[u16], &[u16])>,
//!     radices: &[u16],
//! ) -> Result<u32, Refusal> {
//!     let mut storage: storage!(torus 4 x 4 x 4, strategies [TreeCollapsing], allocations 64) =
//!         AllocatorStorage::new();
//!     let cube = cube.grid();
//!     let mut allocator = Allocator::new(storage.memory(), cube, strategy).unwrap();
//!     if let Some((start, extents)) = faulty {
//!         allocator.mark_faulty(cube.block(start, extents).unwrap());
//!     }
//!     let held = allocator.allocate(&Request::new(Shape::new(radices).unwrap()))?;
//!     Ok(allocator.processors(&held).unwrap())
//! }
//! use StrategyKind::{FreeList, Partner, Sniffing, TreeCollapsing, TreeCollapsingPrinted};
//! let cube = Cube::new(3, 2)?;
//! let faulty: Option<(&[u16], &[u16])> = Some((&[0, 2], &[3, 1]));
//! assert_eq!(place(TreeCollapsingPrinted, cube, faulty, &[3, 2]), Err(Refusal::Fragmented));
//! assert_eq!(place(TreeCollapsing, cube, faulty, &[3, 2]), Ok(6));
//!
//! let cube = Cube::new(4, 3)?;
//! assert_eq!(place(FreeList, cube, None, &[3, 2]), Ok(8));
//! assert_eq!(place(Sniffing, cube, None, &[3, 2]), Ok(9));
//!
//! let faulty: Option<(&[u16], &[u16])> = Some((&[1, 0, 0], &[1, 2, 2]));
//! assert_eq!(place(Partner, Cube::new(2, 3)?, faulty, &[2, 2]), Err(Refusal::Fragmented));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::demand::{left_to_right, of_extents};
use super::{Draft, Request, Site, Workspace};
use crate::error::Refusal;
use crate::grid::{Block, DIMENSIONS_MAX, Grid, Shape};
use crate::notation::Notation;
pub(super) use crate::search::failed_searches::FailedSearches;
use crate::search::orders::Orders;
use crate::search::tree::{Starts, first_along, first_in_tree, radices};

/// The demand of the requested radices in every order.
#[inline(never)]
pub(super) fn in_every_order(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    if request.may_rotate() {
        of_extents(request.shape, grid)
    } else {
        left_to_right(request, grid)
    }
}

/// The demand of other extents, in every order.
#[inline(never)]
pub(super) fn of_other(
    request: &Request,
    grid: &Grid,
    extents: fn(&Request) -> Result<Shape, Refusal>,
) -> Result<u32, Refusal> {
    of_extents(extents(request)?, grid)
}

/// The demand of whole dimensions.
#[inline(never)]
pub(super) fn whole_dimensions(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    let demand = of_extents(request.shape, grid)?;
    let radices = radices(grid, request.shape, Orders::All);
    let fits = radices.iter().all(|&radix| radix == grid.side(0));
    fits.then_some(demand).ok_or(Refusal::ExtentBelowSide)
}

/// The requested radices.
pub(super) fn requested(request: &Request) -> Result<Shape, Refusal> {
    Ok(request.shape)
}

/// The requested radices, rounded up to powers of two.
pub(super) fn rounded(request: &Request) -> Result<Shape, Refusal> {
    // The extents of a request that fits are at most k, a power of two, so there is room.
    let power_of_two = |extent: u16| extent.checked_next_power_of_two().unwrap_or(u16::MAX);
    let rounded = request.shape.map(power_of_two);
    rounded.map_err(|_| Refusal::NeverFits)
}

/// The largest of the requested radices, as often as there are radices.
pub(super) fn cubic(request: &Request) -> Result<Shape, Refusal> {
    let extents = request.shape.extents().filtered(|extent| extent > 1);
    let largest = extents.iter().copied().max().unwrap_or(1);
    let cubic = Shape::new(&extents).and_then(|shape| shape.map(|_| largest));
    cubic.map_err(|_| Refusal::NeverFits)
}

/// The first free subcube with these extents, in every order that the request allows.
pub(super) fn place(
    failed: &mut FailedSearches,
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
    extents: fn(&Request) -> Result<Shape, Refusal>,
) -> Option<Block> {
    let shape = extents(request).ok()?;
    let orders = Orders::of(request, site.grid());
    search(
        failed,
        site,
        workspace,
        draft,
        shape,
        orders,
        Starts::Anywhere,
    )
}

/// The first free subcube with the requested radices from left to right.
pub(super) fn place_left_to_right(
    failed: &mut FailedSearches,
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> Option<Block> {
    let (shape, orders) = (request.shape, Orders::requested(request, site.grid()));
    search(
        failed,
        site,
        workspace,
        draft,
        shape,
        orders,
        Starts::Anywhere,
    )
}

/// The first free subcube of equal radices that does not wrap around.
pub(super) fn place_cubic(
    failed: &mut FailedSearches,
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> Option<Block> {
    // Equal radices have one order.
    let (shape, orders) = (cubic(request).ok()?, Orders::All);
    search(
        failed,
        site,
        workspace,
        draft,
        shape,
        orders,
        Starts::Unwrapped,
    )
}

/// The first free subcube in the order of tree collapsing.
fn search(
    failed: &mut FailedSearches,
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    draft: &mut Draft<'_, '_>,
    shape: Shape,
    orders: Orders,
    starts: Starts,
) -> Option<Block> {
    let occupancy = site.occupancy;
    failed.unless_known(occupancy, shape, orders, || {
        let radices = radices(site.grid(), shape, orders);
        first_in_tree(occupancy, radices, orders, starts, workspace.words, draft)
    })
}

/// The first free subcube of whole dimensions: the lowest ones but one, and any one of the others.
pub(super) fn place_whole_dimensions(
    failed: &mut FailedSearches,
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> Option<Block> {
    let (occupancy, grid, shape) = (site.occupancy, site.grid(), request.shape);
    // All radices are k, so they have one order.
    failed.unless_known(occupancy, shape, Orders::All, || {
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
            let (starts, scratch) = (Starts::Anywhere, &mut *workspace.words);
            first_along(occupancy, notation, &radices, starts, scratch, draft).ok()
        })
    })
}
