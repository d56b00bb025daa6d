//! Dynamic binary tree (DBT): the binary tree with a tolerance that grows with the rectangle.
//!
//! # Source
//!
//! P. Liu, C.-C. Hsu and J.-J. Wu, "I/O Processor Allocation for Mesh Cluster Computers", section 3.1, "Imbalance Tolerance", and 5.
//!
//! As [`StaticBinaryTree`](super::StaticBinaryTree), with a tolerance for each rectangle: the ratio times the number of its
//! processors. So large rectangles are kept in balance no more strictly than small ones.
//!
//! # Differences from the paper
//!
//! Those of [`StaticBinaryTree`](super::StaticBinaryTree). The paper has ratios from 1/16 to 1/2 and does not say what they
//! are ratios of; here it is the rectangle that is halved. A ratio is a number of millionths, so that nothing is rounded.
//!
//! # Complexity, memory, recognition
//!
//! Those of [`BinaryTree`](super::BinaryTree). It grants exactly the requests which that grants in the same state, whatever
//! the ratio.
//!
//! # Example
//!
//! Jobs of 4 (A), 1 (B) and 2 (C) processors with the ratio 3/8, a tolerance of 6 for the whole mesh, of 3 for its halves.
//! B goes left, as the halves then differ by 5; in the left half the upper square is free and the lower one full.
//! For C they would differ by 7, so C goes right.
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
//! let mut allocator = Allocator::new(storage.memory(), machine, "dbt:3/8".parse()?)?;
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
    /// Dynamic binary tree.
    DynamicBinaryTree(ratio), takes_any: false, |tree, processors, draft| {
        tree.propose_one(processors, Order::Ratio(ratio), draft)
    }
}
