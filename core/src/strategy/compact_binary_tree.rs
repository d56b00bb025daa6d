//! Spatially compact binary tree (SCBT): the first free processors in the order of the tree's leaves.
//!
//! # Source
//!
//! P. Liu, C.-C. Hsu and J.-J. Wu, "I/O Processor Allocation for Mesh Cluster Computers", section 4.1.1.
//!
//! In the tree of [`BinaryTree`](super::BinaryTree) a request walks down from the root: to the left half if it has enough
//! free processors, else it takes all of them and the rest from the right half. As long as nothing is released, a half
//! is touched only when its sibling has no free processor left (definition 2, *spatially compact*), and the free
//! processors consist of as few squares with powers of two as sides as so many processors can (theorem 1);
//! [`compactness`](crate::compactness) measures both.
//!
//! # Differences from the paper
//!
//! The paper walks for each binary digit of the request. The walk for a digit takes the first free leaves, and the
//! next one goes on where it ended, so one walk for the whole request takes the same processors. The tree is not stored:
//! whether a rectangle has been divided makes no difference to which leaves come first.
//!
//! # Complexity and memory
//!
//! N processors in words of b bits: O(log N) rectangles, each counted and selected in O(h * ceil(w / b)); a release
//! takes nothing. Scratch: as many words as the occupancy.
//!
//! # Recognition
//!
//! Complete: it fails only if too few processors are free. Drawback: after releases a job is scattered over whatever gaps
//! come first, and compactness is lost. On a 16 x 16 mesh about half full 18 % of the states are compact and 15 %
//! spatially compact, with 13 free squares more than necessary on average; the independent binary tree leaves 15 %, 3 % and
//! 7 (`cargo test -p meshalloc-tests --test across after_releases -- --nocapture`).
//!
//! # Example
//!
//! Jobs of 5 (A), 6 (B) and 3 (C) processors:
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
//! use meshalloc::{Allocator, Mesh, Refusal, Request, Storage, StrategyKind, Submesh};
//!
//! let mut storage = Storage::<4, 1, 4, 16>::new();
//! let machine = Mesh::new(4, 4)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::CompactBinaryTree)?;
//! let mut blocks = |processors| {
//!     let job = allocator.allocate(&Request::submesh(4, 4).with_processors(processors))?;
//!     Ok::<_, Refusal>(allocator.blocks(&job).map(Submesh::from).collect::<Vec<_>>())
//! };
//! assert_eq!(blocks(5)?, [Submesh::new(0, 0, 2, 2), Submesh::new(0, 2, 1, 1)]);
//! let b = [(2, 0, 2, 1), (2, 1, 1, 1), (1, 2, 1, 1), (0, 3, 2, 1)];
//! assert_eq!(blocks(6)?, b.map(|(x, y, w, h)| Submesh::new(x, y, w, h)));
//! assert_eq!(blocks(3)?, [Submesh::new(3, 1, 1, 1), Submesh::new(2, 2, 1, 2)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

tree_strategy! {
    /// Spatially compact binary tree.
    CompactBinaryTree, takes_any: true, |tree, processors, draft| {
        tree.propose_first(processors, draft)
    }
}
