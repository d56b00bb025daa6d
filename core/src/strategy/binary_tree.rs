//! Binary trees (BT and nine more): processors near the I/O nodes, from rectangles that are halves
//! of halves of the mesh.
//!
//! # Source
//!
//! P. Liu, C.-C. Hsu and J.-J. Wu, "I/O Processor Allocation for Mesh Cluster Computers", sections
//! 3.1 (BT, and "Imbalance Tolerance": SBT and DBT), 3.2 (independent and dependent forms), 4.1.1
//! (SCBT) and 5 (ratios).
//!
//! The mesh is halved across its longer side (a square into left and right), each half again, and
//! so on down to single processors. This gives a binary tree of rectangles. A strategy has a form,
//! which says what a request for R processors takes:
//!
//! - One: R free processors of a rectangle of A processors with A >= R > A / 2. It is the first
//!   such rectangle in a depth-first search in which at least R processors are free. The processors
//!   are taken column by column from the left, where the I/O processors are: a wide front towards
//!   the I/O processors uses all links to them.
//! - Independent: a free rectangle for each power of two that R is the sum of, the largest first.
//!   Each is the first in a search from the root. For each rectangle that is not found, two of half
//!   the size are taken.
//! - Dependent: the same, but the search for each further rectangle begins at the parent of the
//!   latest one, so that the latest one's sibling comes first. The search goes on at the parent's
//!   parent, and so on up to the root.
//! - First: the left half if it has R free processors, else all free processors of the left half
//!   and the rest from the right half, and so on down.
//!
//! A strategy also has an order, which says which half of a rectangle is searched first:
//!
//! - Left first: the left or lower half.
//! - Tolerance: the half with the heavier load (fewer free processors), if the request fits there
//!   and the halves' numbers of free processors then differ by at most the tolerance; otherwise the
//!   other half.
//! - Ratio: the same with a tolerance for each rectangle: the ratio times the number of its
//!   processors. So large rectangles are kept in balance no more strictly than small ones.
//!
//! | | one | independent | dependent | first |
//! |---|---|---|---|---|
//! | left first | BT | ind-BT | d-BT | SCBT |
//! | tolerance (static) | SBT | ind-SBT | d-SBT | |
//! | ratio (dynamic) | DBT | ind-DBT | d-DBT | |
//!
//! A large tolerance packs jobs closely and leaves large rectangles free, tolerance 0 spreads them.
//! In the independent and dependent forms the order is decided for each digit of the request.
//!
//! SCBT is *spatially compact* (definition 2): as long as nothing is released, a half is touched
//! only when its sibling has no free processor left, and the free processors consist of as few
//! squares with powers of two as sides as that number of processors can (theorem 1).
//!
//! # Differences from the paper
//!
//! - The tree is not stored. Its rectangles follow from the sides of the mesh, and their free
//!   processors are counted in the occupancy. So faulty processors need no special treatment.
//! - The paper says that left comes first, but not whether lower or upper does. Here lower comes
//!   first.
//! - Tolerance and ratio: the first half is only where the search begins. If it finds nothing
//!   there, it goes on in the other half, as the paper's backtracking does. Halves with equally
//!   many free processors are searched left or lower first. The paper has ratios from 1/16 to 1/2
//!   and does not say what they are ratios of; here they are ratios of the rectangle that is
//!   halved. A ratio is a number of millionths, so that nothing is rounded.
//! - Independent and dependent: the paper takes the technique from the multiple buddy strategy and
//!   does not say what happens when no rectangle is found; that strategy halves the request.
//! - First: the paper walks down for each binary digit of the request. The walk for a digit takes
//!   the first free leaves, and the next walk continues at its end. So one walk for the whole
//!   request takes the same processors.
//!
//! # Complexity and memory
//!
//! N processors in words of b bits. A release takes nothing.
//!
//! - One: O(log N) rectangles if halves are not too fragmented, all 2 N - 1 at most, each counted
//!   in O(h * ceil(w / b)), and O(h * ceil(w / b) + w) to select. Scratch: as many words as the
//!   occupancy.
//! - Independent and dependent: for each size of which a rectangle is wanted, the free rectangles
//!   are found once, in O(H * ceil(W / b)) and O(log N) for each word of their bases. Then each
//!   search goes down to the next rectangle without turning back, in O(log N) steps. All searches
//!   together look at O(H * ceil(W / b)) words; at few if halves are searched left first, as the
//!   search begins beside the latest rectangle of the size. Scratch: twice as many words as the
//!   occupancy.
//! - First: O(log N) rectangles, each counted and selected in O(h * ceil(w / b)). Scratch: as many
//!   words as the occupancy.
//!
//! # Recognition
//!
//! - One: not complete, since processors that are free in different rectangles are not put
//!   together. A job holds exactly as many processors as it asks for, but the rest of its rectangle
//!   serves only smaller requests. SBT and DBT grant exactly the requests which BT grants in the
//!   same state, whatever the tolerance. Drawback: the external fragmentation of BT is higher than
//!   with a tolerance.
//! - The others are complete: they fail only if too few processors are free.
//!   - Independent: the rectangles of a job may lie far from each other, and then their messages
//!     meet those of other jobs.
//!   - Dependent: rectangles that were free elsewhere are left as fragments.
//!   - First: after releases a job is scattered over whatever gaps come first, and compactness is
//!     lost. On a 16 x 16 mesh about half full 18 % of the states are compact and 15 % spatially
//!     compact, with 13 free squares more than necessary on average; ind-BT leaves 15 %, 3 % and 7
//!     (`cargo test -p meshalloc-tests --test across after_releases -- --nocapture`).
//!
//! # Examples
//!
//! BT, jobs of 5 (A) and 3 (B) processors. A takes a column and one more processor of the left
//! half. The third of the four squares is the first with 3 free processors. A request for 8
//! processors is refused although 8 are free: neither half has 8.
//!
//! ```text
//!   y                   4x4
//!   3  A . . .        /     \
//!   2  A . . .      2x4 A   2x4
//!   1  A . B .     /   \   /   \
//!   0  A A B B   2x2  2x2 2x2B 2x2
//!      0 1 2 3  x
//! ```
//!
//! SBT with tolerance 6, jobs of 4 (A), 1 (B) and 2 (C) processors. When B comes, the left half has
//! 4 free processors and the right one 8: 8 - (4 - 1) = 5 is within 6, and B goes left. For C it
//! would be 8 - (3 - 2) = 7, so C goes right. DBT with ratio 3/8 does the same: the tolerance is 6
//! for the whole mesh and 3 for its halves; in the left half the upper square is free and the lower
//! one full.
//!
//! ```text
//!   y
//!   3  . . . .
//!   2  B . . .
//!   1  A A C .
//!   0  A A C .
//!      0 1 2 3  x
//! ```
//!
//! ind-BT, the paper's figure 1: the tree after jobs of 5 (A) and 3 (B) processors, that is 4 + 1
//! and 2 + 1. d-BT, figure 2: the same tree, since on an empty mesh the first free rectangle is the
//! closest one, too.
//!
//! ```text
//!   y                        4x4
//!   3  B B . .             /     \
//!   2  A B . .          2x4       2x4 free
//!   1  A A . .         /   \
//!   0  A A . .      2x2 A   2x2
//!      0 1 2 3  x          /   \
//!                       1x2     1x2 B
//!                      /   \
//!                  <0, 2>  <0, 3>
//!                     A       B
//! ```
//!
//! A second job of 6 (C, that is 4 + 2) instead shows the difference. The first free pair is at
//! <1, 2>, where ind-BT takes it; d-BT takes it from the half in which the square is:
//!
//! ```text
//!   y                        4x4
//!   3  . . C .             /     \
//!   2  A . C .          2x4       2x4
//!   1  A A C C         /   \     /   \
//!   0  A A C C      2x2 A  2x2 2x2 C  2x2
//!      0 1 2 3  x          ...       /   \
//!                                1x2 C   1x2 free
//! ```
//!
//! The same jobs of 5 and 3 with tolerance or ratio 0: in the independent form every digit goes to
//! the half with more free processors; in the dependent form the first digit of each job does, and
//! the second lies beside it.
//!
//! ```text
//!   y  ind-SBT, ind-DBT     y  d-SBT, d-DBT
//!   3  . . B .              3  . . . .
//!   2  . . B .              2  A . . .
//!   1  A A . .              1  A A B .
//!   0  A A A B              0  A A B B
//!      0 1 2 3  x              0 1 2 3  x
//! ```
//!
//! SCBT, jobs of 5 (A), 6 (B) and 3 (C) processors:
//!
//! ```text
//!   y
//!   3  B B C .       order of the leaves:    5  7 13 15
//!   2  A B C .                               4  6 12 14
//!   1  A A B C                               1  3  9 11
//!   0  A A B B                               0  2  8 10
//!      0 1 2 3  x
//! ```
//!
//! ```
//! use meshalloc::{Allocator, AllocatorStorage, Mesh, Refusal, Request, Submesh, storage};
//!
//! /// The blocks of each job.
//! fn place(strategy: &str, jobs: &[u32]) -> Result<Vec<Vec<Submesh>>, Refusal> {
//!     let mut storage: storage!(mesh 4 x 4, strategies [IndependentBinaryTree], allocations 16) =
//!         AllocatorStorage::new();
//!     let machine = Mesh::new(4, 4).unwrap().into();
//!     let strategy = strategy.parse().unwrap();
//!     let mut allocator = Allocator::new(storage.memory(), machine, strategy).unwrap();
//!     let mut blocks = |&processors: &u32| {
//!         let request = Request::submesh(4, 4).with_processors(processors);
//!         let job = allocator.allocate(&request)?;
//!         let blocks = allocator.blocks(&job).unwrap();
//!         Ok(blocks.map(|block| Submesh::of(&machine, block).unwrap()).collect())
//!     };
//!     jobs.iter().map(&mut blocks).collect()
//! }
//! let b = Submesh::new;
//!
//! assert_eq!(place("bt", &[5, 3])?, [
//!     [b(0, 0, 2, 1), b(0, 1, 1, 3)],
//!     [b(2, 0, 2, 1), b(2, 1, 1, 1)],
//! ]);
//! assert_eq!(place("bt", &[5, 3, 8]), Err(Refusal::Fragmented));
//! for form in ["sbt:6", "dbt:3/8"] {
//!     assert_eq!(place(form, &[4, 1, 2])?, [[b(0, 0, 2, 2)], [b(0, 2, 1, 1)], [b(2, 0, 1, 2)]]);
//! }
//! for form in ["ind-bt", "d-bt"] {
//!     assert_eq!(place(form, &[5, 3])?, [
//!         [b(0, 0, 2, 2), b(0, 2, 1, 1)],
//!         [b(1, 2, 1, 1), b(0, 3, 2, 1)],
//!     ]);
//! }
//! assert_eq!(place("d-bt", &[5, 6])?[1], [b(2, 0, 2, 2), b(2, 2, 1, 2)]);
//! for form in ["ind-sbt:0", "ind-dbt:0"] {
//!     assert_eq!(place(form, &[5, 3])?, [
//!         [b(0, 0, 3, 1), b(0, 1, 2, 1)],
//!         [b(3, 0, 1, 1), b(2, 2, 1, 2)],
//!     ]);
//! }
//! for form in ["d-sbt:0", "d-dbt:0"] {
//!     assert_eq!(place(form, &[5, 3])?, [
//!         [b(0, 0, 2, 2), b(0, 2, 1, 1)],
//!         [b(2, 0, 2, 1), b(2, 1, 1, 1)],
//!     ]);
//! }
//! assert_eq!(place("scbt", &[5, 6, 3])?, [
//!     vec![b(0, 0, 2, 2), b(0, 2, 1, 1)],
//!     vec![b(2, 0, 2, 1), b(2, 1, 1, 1), b(1, 2, 1, 1), b(0, 3, 2, 1)],
//!     vec![b(3, 1, 1, 1), b(2, 2, 1, 2)],
//! ]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Draft, Request, Site, Workspace};
use crate::search::halved_mesh::HalvedMesh;
pub(super) use crate::search::halved_mesh::{NextPart, Order};

/// The form: what a request takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Processors of one rectangle.
    One,
    /// A whole rectangle for each binary digit.
    Whole(NextPart),
    /// The first free processors in the order of the leaves.
    First,
}

pub(super) const INDEPENDENT: Form = Form::Whole(NextPart::Independent);
pub(super) const DEPENDENT: Form = Form::Whole(NextPart::Dependent);

/// Takes processors in the tree of halves.
// Form and order are constants at every call; with one strategy the image has one form.
#[inline(always)]
pub(super) fn propose(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
    form: Form,
    order: Order,
) -> bool {
    let tree = HalvedMesh::new(site.occupancy, workspace.words);
    let processors = request.processors;
    match form {
        Form::One => tree.propose_one(processors, order, draft),
        Form::Whole(parts) => tree.propose_parts(processors, order, parts, draft),
        Form::First => tree.propose_first(processors, draft),
    }
}
