//! Curve: n processors close to each other on a line through all processors.
//!
//! # Source
//!
//! V. J. Leung, E. M. Arkin, M. A. Bender, D. Bunde, J. Johnston, A. Lal, J. S. B. Mitchell, C.
//! Phillips and S. S. Seiden, "Processor Allocation on Cplant: Achieving General Processor Locality
//! Using One-Dimensional Allocation Strategies", IEEE Int. Conf. on Cluster Computing, 2002;
//! described by P. Liu, C.-C. Hsu and J.-J. Wu, "I/O Processor Allocation for Mesh Cluster
//! Computers", section 1.
//!
//! On a square whose side is a power of two the line is the Hilbert curve. On any other mesh it
//! goes row by row, forwards and backwards by turns (boustrophedon). Free processors form intervals
//! on it. A request takes the first n processors of a free interval that is long enough, chosen as
//! in bin packing ([`CurveFit`](crate::CurveFit)): by first fit, by best fit, or so that the sum of
//! squares of the numbers of intervals of each length becomes least. If no interval is long enough,
//! the request takes the n free processors that span the least part of the line. With
//! `curve:smallest-range` the request always takes such processors, as Slurm does by default on a
//! torus.
//!
//! On any grid but a two-dimensional mesh the line is the Hilbert curve through the smallest cube
//! around it whose side is a power of two (J. Skilling, "Programming the Hilbert curve", 2004);
//! places outside the grid are skipped. With `curve:hilbert-first-fit`, `curve:hilbert-best-fit`
//! and so on the line is this curve on every mesh ([`CurveLine`](crate::CurveLine)). Then
//! neighbours on the line may lie apart, but on average jobs lie closer together: on a log of a 16
//! x 8 mesh the processors of a job are 2.26 hops apart under `curve:hilbert-best-fit`, 2.97 under
//! `curve:best-fit` (`tests/tests/it/reference_log.rs`).
//!
//! # Differences from the paper
//!
//! The paper's sum of squares is reconstructed from its description. Ties go to the first interval
//! on the line, or to the first span.
//!
//! # Complexity and memory
//!
//! The free processors are brought into the order of the Hilbert curve by squares of 8 x 8. A
//! square that is all busy or all free is handled as a whole. This takes O(words log N) and a step
//! for each free processor of N. Then each free interval takes O(1), or O(sqrt(N)) for the sum of
//! squares. On any other grid every place that the walk looks at takes O(log N) instead. In a cube
//! of places outside the grid the walk looks at one place. A release takes nothing. Scratch: as
//! many words as the occupancy, or 2 sqrt(2 N) for the sum of squares where that is more.
//!
//! # Recognition
//!
//! Complete: a request fails only if fewer than n processors are free. Drawback: neighbours in the
//! mesh may be far from each other on the line.
//!
//! # Example
//!
//! With faults at # the free intervals have 2, 2, 5 and 4 processors. A job of 4 (A) takes the last
//! interval by best fit. Then no interval has 6 processors for B, and the least span is from place
//! 3 to place 9.
//!
//! ```text
//!   y
//!   3  # B B .        5  6  9 10     the Hilbert curve
//!   2  B B B #        4  7  8 11
//!   1  B # A A        3  2 13 12
//!   0  . . A A        0  1 14 15
//!      0 1 2 3  x
//! ```
//!
//! ```
//! use meshalloc::{Allocator, CurveFit, CurveLine, Mesh, Refusal, Request, Submesh, storage};
//!
//! const FIT: CurveFit = CurveFit::BestFit;
//! const LINE: CurveLine = CurveLine::Neighbors;
//! type Memory =
//!     storage!(mesh 4 x 4, strategies [Curve { fit: FIT, line: LINE }], allocations 16);
//! let mut storage = Memory::new();
//! let machine = Mesh::new(4, 4)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, "curve:best-fit".parse()?)?;
//! for (x, y) in [(1, 1), (3, 2), (0, 3)] {
//!     allocator.mark_faulty(Submesh::new(x, y, 1, 1).into());
//! }
//! let mut blocks = |processors| {
//!     let job = allocator.allocate(&Request::submesh(4, 4).with_processors(processors))?;
//!     let blocks = allocator.blocks(&job).unwrap();
//!     let blocks = blocks.map(|block| Submesh::of(&machine, block).unwrap());
//!     Ok::<_, Refusal>(blocks.collect::<Vec<_>>())
//! };
//! assert_eq!(blocks(4)?, [Submesh::new(2, 0, 2, 2)]);
//! let b = [Submesh::new(0, 1, 1, 1), Submesh::new(0, 2, 3, 1), Submesh::new(1, 3, 2, 1)];
//! assert_eq!(blocks(6)?, b);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{CurveFit, CurveLine, Draft, Request, Site, Workspace};
use crate::search::curve::{FreeOnCurve, propose_along_hilbert};

/// Takes processors along the line.
pub(super) fn propose(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
    fit: CurveFit,
    line: CurveLine,
) -> bool {
    let (processors, words) = (request.processors, &mut *workspace.words);
    if FreeOnCurve::reads(line, site.occupancy) {
        FreeOnCurve::new(site.occupancy, draft).propose(processors, fit, words)
    } else {
        propose_along_hilbert(site.occupancy, processors, fit, words, draft)
    }
}
