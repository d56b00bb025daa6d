//! First fit for a list of shapes on a two-dimensional mesh: fixed orientation (FO), FlexFold, and
//! all shapes first fit (ASFF).
//!
//! # Source
//!
//! - Fixed orientation: C. Chang and P. Mohapatra, "An Integrated Processor Management Scheme for
//!   the Mesh-Connected Multicomputer Systems", section 2.2.
//! - FlexFold: V. Gupta and A. Jayendran, "A Flexible Processor Allocation Strategy for Mesh
//!   Connected Parallel Systems", Proc. Int. Conf. on Parallel Processing, 1996; described by
//!   Alshdefat 2019, section "Flex Fold Strategy", after Seo and Kim 2003.
//! - All shapes: I. Ababneh, S. Bani-Mohammad and M. Ould-Khaoua, "All Shapes Contiguous Submesh
//!   Allocation for 2D Mesh Multicomputers", Int. J. of Parallel, Emergent and Distributed Systems
//!   25(5), 2010; described by Alshdefat 2019, section "ALL Shapes FF Sub-Mesh Allocation
//!   Strategy".
//!
//! The shapes for a request `(a, b)`, in the order in which they are tried:
//!
//! - Fixed orientation: the request turned as all requests are.
//! - FlexFold: `(a, b)`, `(b, a)`, `(a/2, 2b)`, `(2a, b/2)`.
//! - All shapes: `(a, b)`, `(b, a)`, then every other pair of factors of `a * b`, the most square
//!   first; if two are rotations of each other, the wider first.
//!
//! # Differences from the papers
//!
//! - A request that forbids rotation ([`Flags::FIXED_ORIENTATION`](crate::Flags)) is served only as
//!   it is.
//! - Fixed orientation: the paper turns all requests "according to the orientation of the system"
//!   and is silent on square meshes. Here the longer side goes along the longer side of the mesh,
//!   along x when the mesh is square.
//! - FlexFold: Alshdefat says that both sides must be even. Here a side is halved whenever it is
//!   even itself.
//! - All shapes: the text gives only one example of the order. Here the order is as above.
//!
//! # Complexity and memory
//!
//! A search of first fit for each shape: one for fixed orientation, up to four for FlexFold, and
//! for all shapes at most two for each divisor of `a * b` up to its square root. A search for
//! `a x b` takes O(H * ceil(W / word) * log a) in ordinary occupancies and
//! O(H * ceil(W / word) * (log a + b)) in the worst case. As in first fit, bounds are kept, and a
//! release takes as long. Scratch: as many words as the occupancy.
//!
//! # Recognition
//!
//! Fixed orientation is not complete: if only the other orientation is free, the request waits.
//!
//! ```text
//!   y
//!   2  # . #       Requests on a 3 x 3 mesh, # busy:
//!   1  # . #       (1, 3) and (3, 1) are both tried as 3 x 1 and refused.
//!   0  # . #
//!      0 1 2  x
//! ```
//!
//! FlexFold and all shapes are complete for the requested submesh in both orientations. FlexFold
//! also accepts folded submeshes; all shapes accepts any other shape of the same size.
//!
//! ```text
//!   y                         y
//!   5  . . # . . .            1  A A A A A A     A request (3, 4) on a 6 x 2 mesh: neither 3 x 4
//!   4  . . # . . .            0  A A A A A A     nor 4 x 3 fits, but half of the even side and
//!   3  . . # # . .               0 1 2 3 4 5  x  twice the other is 6 x 2.
//!   2  . . . # # .
//!   1  . . # . . .
//!   0  . . # . . .    # busy: 12 processors in the shape (4, 3) or (3, 4) are found nowhere,
//!      0 1 2 3 4 5  x (6, 2) neither; (2, 6) is free at <0, 0>.
//! ```
//!
//! # Examples
//!
//! Fixed orientation, the situation of Fig. 1 of the paper: four jobs, two of them lying and two
//! standing, fit only when all are turned the same way. First fit would put the second job at
//! <0, 1>, upright, which does not fit. FlexFold and all shapes: the drawings above. Alshdefat
//! 2019: 12 processors on a 6 x 6 mesh are tried as (4, 3), (3, 4), (6, 2), (2, 6).
//!
//! ```
//! # use meshalloc::*;
//! /// The place of each request on a mesh with these busy processors.
//! fn place(
//!     strategy: StrategyKind,
//!     (w, h): (u16, u16),
//!     busy: &[(u16, u16)],
//!     requests: &[(u16, u16)],
//! ) -> Result<Vec<Submesh>, Refusal> {
//!     let mut storage: storage!(mesh 6 x 6, strategies [AllShapes], allocations 4) =
//!         AllocatorStorage::new();
//!     let machine = Mesh::new(w, h).unwrap().into();
//!     let mut allocator = Allocator::new(storage.memory(), machine, strategy).unwrap();
//!     for &(x, y) in busy {
//!         allocator.mark_faulty(Submesh::new(x, y, 1, 1).into());
//!     }
//!     let mut place = |&(a, b)| {
//!         let held = allocator.allocate(&Request::submesh(a, b))?;
//!         let block = allocator.blocks(&held).unwrap().next().expect("one block");
//!         Ok(Submesh::of(&machine, block).unwrap())
//!     };
//!     requests.iter().map(&mut place).collect()
//! }
//! let rows = [0, 1, 2, 3].map(|y| Submesh::new(0, y, 4, 1));
//! let requests = [(4, 1), (1, 4), (4, 1), (1, 4)];
//! assert_eq!(place(StrategyKind::FixedOrientation, (4, 4), &[], &requests)?, rows);
//! let whole = Submesh::new(0, 0, 6, 2);
//! assert_eq!(place(StrategyKind::FlexFold, (6, 2), &[], &[(3, 4)])?, [whole]);
//! let busy = [(2, 0), (2, 1), (3, 2), (4, 2), (2, 3), (3, 3), (2, 4), (2, 5)];
//! let left = Submesh::new(0, 0, 2, 6);
//! assert_eq!(place(StrategyKind::AllShapes, (6, 6), &busy, &[(4, 3)])?, [left]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Request;
pub(super) use super::contiguous::{Bounds, first, first_fitting};
use crate::mesh::Sides;
pub(super) use crate::search::shapes::{all_shapes, along_longer, folds};

/// A function as [`Shapes`](crate::search::shapes::Shapes).
pub(super) fn of<I: Iterator<Item = Sides>>(
    shapes: fn(&Request, Sides) -> I,
) -> fn(&Request, Sides) -> I {
    shapes
}
