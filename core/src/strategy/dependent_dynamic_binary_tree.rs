//! Dependent dynamic binary tree (d-DBT): whole rectangles as the dependent form, and halves searched as by a ratio.
//!
//! # Source
//!
//! P. Liu, C.-C. Hsu and J.-J. Wu, "I/O Processor Allocation for Mesh Cluster Computers", section 3.2.
//!
//! Each binary digit of a request goes to a free rectangle of its size as with [`DependentBinaryTree`](super::DependentBinaryTree). Which half of a
//! rectangle is searched first is decided for each digit as by [`DynamicBinaryTree`](super::DynamicBinaryTree).
//!
//! # Differences, complexity, memory, recognition
//!
//! Those of [`DependentBinaryTree`](super::DependentBinaryTree). Complete.
//!
//! # Example
//!
//! Jobs of 5 (A, that is 4 + 1) and 3 (B, 2 + 1) processors with the ratio 0: the first digit of each goes to the half with
//! more free processors, and the second beside it.
//!
//! ```text
//!   y
//!   3  . . . .
//!   2  A . . .
//!   1  A A B .
//!   0  A A B B
//!      0 1 2 3  x
//! ```
//!
//! ```
//! use meshalloc::{Allocator, Mesh, Refusal, Request, Storage, Submesh};
//!
//! let mut storage = Storage::<4, 1, 8, 16>::new();
//! let machine = Mesh::new(4, 4)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, "d-dbt:0".parse()?)?;
//! let mut blocks = |processors| {
//!     let job = allocator.allocate(&Request::submesh(4, 4).with_processors(processors))?;
//!     Ok::<_, Refusal>(allocator.blocks(&job).map(Submesh::from).collect::<Vec<_>>())
//! };
//! assert_eq!(blocks(5)?, [Submesh::new(0, 0, 2, 2), Submesh::new(0, 2, 1, 1)]);
//! assert_eq!(blocks(3)?, [Submesh::new(2, 0, 2, 1), Submesh::new(2, 1, 1, 1)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::search::halves::{Order, Parts};

tree_strategy! {
    /// Dependent dynamic binary tree.
    DependentDynamicBinaryTree(ratio), takes_any: true, |tree, processors, draft| {
        tree.propose_parts(processors, Order::Ratio(ratio), Parts::Dependent, draft)
    }
}
