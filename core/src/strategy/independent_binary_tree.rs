//! Independent binary tree (ind-BT): a whole rectangle for each binary digit of a request, wherever it is.
//!
//! # Source
//!
//! P. Liu, C.-C. Hsu and J.-J. Wu, "I/O Processor Allocation for Mesh Cluster Computers", section 3.2.
//!
//! A request for R processors is divided into the powers of two that R is the sum of. From the largest on, each goes to a
//! free rectangle of its size in the tree of [`BinaryTree`](super::BinaryTree), the first in a depth-first search from
//! the root. For a power of two of which no rectangle is free, two of half the size are searched for.
//!
//! # Differences from the paper
//!
//! Those of [`BinaryTree`](super::BinaryTree). The paper takes the technique from the multiple buddy strategy and does
//! not say what happens when no rectangle is found; that strategy halves the request.
//!
//! # Complexity and memory
//!
//! N processors in words of b bits: the free rectangles of each size of which one is missing are found once, in
//! O(H * ceil(W / b)) and O(log N) for each word of their bases. Then a search goes down to the next one without turning
//! back, in O(log N) steps; they look at O(H * ceil(W / b)) words together, where halves are searched left first at few,
//! as it begins beside the latest rectangle of the size. A release takes nothing. Scratch: twice as many words as the
//! occupancy.
//!
//! # Recognition
//!
//! Complete: it fails only if fewer than R processors are free. Drawback: the rectangles of a job may lie far from each
//! other, and then their messages meet those of other jobs.
//!
//! # Example
//!
//! The paper's figure 1: the tree after jobs of 5 (A) and 3 (B) processors, that is 4 + 1 and 2 + 1.
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
//! ```
//! use meshalloc::{Allocator, Mesh, Refusal, Request, Storage, StrategyKind, Submesh};
//!
//! let mut storage = Storage::<4, 1, 8, 16>::new();
//! let machine = Mesh::new(4, 4)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::IndependentBinaryTree)?;
//! let mut blocks = |processors| {
//!     let job = allocator.allocate(&Request::submesh(4, 4).with_processors(processors))?;
//!     Ok::<_, Refusal>(allocator.blocks(&job).map(Submesh::from).collect::<Vec<_>>())
//! };
//! assert_eq!(blocks(5)?, [Submesh::new(0, 0, 2, 2), Submesh::new(0, 2, 1, 1)]);
//! assert_eq!(blocks(3)?, [Submesh::new(1, 2, 1, 1), Submesh::new(0, 3, 2, 1)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::search::halves::{Order, Parts};

tree_strategy! {
    /// Independent binary tree.
    IndependentBinaryTree, takes_any: true, |tree, processors, draft| {
        tree.propose_parts(processors, Order::LeftFirst, Parts::Independent, draft)
    }
}
