//! Static binary tree (SBT): the binary tree with one tolerance for the imbalance of halves.
//!
//! # Source
//!
//! P. Liu, C.-C. Hsu and J.-J. Wu, "I/O Processor Allocation for Mesh Cluster Computers", section 3.1, "Imbalance Tolerance".
//!
//! As [`BinaryTree`](super::BinaryTree), but the search turns first to the half of a rectangle with the heavier load, the
//! fewer free processors, if the request fits there and the numbers of free processors of the halves then differ by
//! no more than the tolerance; otherwise to the other half. A large tolerance packs jobs closely and leaves large
//! rectangles free, tolerance 0 spreads them.
//!
//! # Differences from the paper
//!
//! Those of [`BinaryTree`](super::BinaryTree). The first half is only where the search begins: if it finds nothing there,
//! it goes on in the other, as the paper's backtracking does. Halves with equally many free processors are searched left
//! or lower first.
//!
//! # Complexity, memory, recognition
//!
//! Those of [`BinaryTree`](super::BinaryTree). It grants exactly the requests which that grants in the same state, whatever
//! the tolerance.
//!
//! # Example
//!
//! Jobs of 4 (A), 1 (B) and 2 (C) processors with tolerance 6. Of the halves, left and right, the left one has 4 free
//! processors and the right one 8 when B comes: 8 - (4 - 1) = 5 is within 6, and B goes left. For C it would be
//! 8 - (3 - 2) = 7, so C goes right.
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
//! ```
//! use meshalloc::{Allocator, Mesh, Refusal, Request, Storage, Submesh};
//!
//! let mut storage = Storage::<4, 1, 4, 16>::new();
//! let machine = Mesh::new(4, 4)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, "sbt:6".parse()?)?;
//! let mut blocks = |processors| {
//!     let job = allocator.allocate(&Request::submesh(4, 4).with_processors(processors))?;
//!     Ok::<_, Refusal>(allocator.blocks(&job).map(Submesh::from).collect::<Vec<_>>())
//! };
//! assert_eq!(blocks(4)?, [Submesh::new(0, 0, 2, 2)]);
//! assert_eq!(blocks(1)?, [Submesh::new(0, 2, 1, 1)]);
//! assert_eq!(blocks(2)?, [Submesh::new(2, 0, 1, 2)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::search::halves::Order;

tree_strategy! {
    /// Static binary tree.
    StaticBinaryTree(tolerance), takes_any: false, |tree, processors, draft| {
        tree.propose_one(processors, Order::Tolerance(tolerance), draft)
    }
}
