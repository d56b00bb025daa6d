//! Dependent binary tree (d-BT): a whole rectangle for each binary digit of a request, close to each other.
//!
//! # Source
//!
//! P. Liu, C.-C. Hsu and J.-J. Wu, "I/O Processor Allocation for Mesh Cluster Computers", section 3.2.
//!
//! As [`IndependentBinaryTree`](super::IndependentBinaryTree), but only the first rectangle is searched for from the
//! root. The search for each further one begins at the parent of the latest rectangle, so that its sibling comes first,
//! and climbs to the parent's parent, and so on up to the root.
//!
//! # Differences, complexity, memory, recognition
//!
//! Those of [`IndependentBinaryTree`](super::IndependentBinaryTree). Complete. Drawback: rectangles that were free
//! elsewhere are left as fragments.
//!
//! # Example
//!
//! The paper's figure 2: the tree after jobs of 5 (A) and 3 (B) processors. It is that of figure 1, since on an empty mesh
//! the first free rectangle is the closest one, too:
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
//! A second job of 6 (C, that is 4 + 2) instead shows the difference. The first free pair is at <1, 2>, where the
//! independent form takes it; this one takes it from the half in which the square is.
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
//! ```
//! use meshalloc::{Allocator, Mesh, Refusal, Request, Storage, StrategyKind, Submesh};
//!
//! let place = |jobs: [u32; 2]| {
//!     let mut storage = Storage::<4, 1, 8, 16>::new();
//!     let machine = Mesh::new(4, 4)?.into();
//!     let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::DependentBinaryTree)?;
//!     let mut blocks = Vec::new();
//!     for processors in jobs {
//!         let job = allocator.allocate(&Request::submesh(4, 4).with_processors(processors))?;
//!         blocks.push(allocator.blocks(&job).map(Submesh::from).collect::<Vec<_>>());
//!     }
//!     Ok::<_, Box<dyn std::error::Error>>(blocks)
//! };
//! let a = vec![Submesh::new(0, 0, 2, 2), Submesh::new(0, 2, 1, 1)];
//! let b = vec![Submesh::new(1, 2, 1, 1), Submesh::new(0, 3, 2, 1)];
//! assert_eq!(place([5, 3])?, [a.clone(), b]);
//! let c = vec![Submesh::new(2, 0, 2, 2), Submesh::new(2, 2, 1, 2)];
//! assert_eq!(place([5, 6])?, [a, c]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::search::halves::{Order, Parts};

tree_strategy! {
    /// Dependent binary tree.
    DependentBinaryTree, takes_any: true, |tree, processors, draft| {
        tree.propose_parts(processors, Order::LeftFirst, Parts::Dependent, draft)
    }
}
