//! Independent dynamic binary tree (ind-DBT): whole rectangles as the independent form, and halves searched as by a ratio.
//!
//! # Source
//!
//! P. Liu, C.-C. Hsu and J.-J. Wu, "I/O Processor Allocation for Mesh Cluster Computers", section 3.2.
//!
//! Each binary digit of a request goes to a free rectangle of its size as with [`IndependentBinaryTree`](super::IndependentBinaryTree). Which half of a
//! rectangle is searched first is decided for each digit as by [`DynamicBinaryTree`](super::DynamicBinaryTree).
//!
//! # Differences, complexity, memory, recognition
//!
//! Those of [`IndependentBinaryTree`](super::IndependentBinaryTree). Complete.
//!
//! # Example
//!
//! Jobs of 5 (A, that is 4 + 1) and 3 (B, 2 + 1) processors with the ratio 0: every digit goes to the half with more free
//! processors.
//!
//! ```text
//!   y
//!   3  . . B .
//!   2  . . B .
//!   1  A A . .
//!   0  A A A B
//!      0 1 2 3  x
//! ```
//!
//! ```
//! use meshalloc::{Allocator, Mesh, Refusal, Request, Storage, Submesh};
//!
//! let mut storage = Storage::<4, 1, 8, 16>::new();
//! let machine = Mesh::new(4, 4)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, "ind-dbt:0".parse()?)?;
//! let mut blocks = |processors| {
//!     let job = allocator.allocate(&Request::submesh(4, 4).with_processors(processors))?;
//!     Ok::<_, Refusal>(allocator.blocks(&job).map(Submesh::from).collect::<Vec<_>>())
//! };
//! assert_eq!(blocks(5)?, [Submesh::new(0, 0, 3, 1), Submesh::new(0, 1, 2, 1)]);
//! assert_eq!(blocks(3)?, [Submesh::new(3, 0, 1, 1), Submesh::new(2, 2, 1, 2)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::search::halves::{Order, Parts};

tree_strategy! {
    /// Independent dynamic binary tree.
    IndependentDynamicBinaryTree(ratio), takes_any: true, |tree, processors, draft| {
        tree.propose_parts(processors, Order::Ratio(ratio), Parts::Independent, draft)
    }
}
