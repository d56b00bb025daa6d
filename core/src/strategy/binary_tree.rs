//! Binary tree (BT): some processors of the first rectangle that has enough of them free.
//!
//! # Source
//!
//! P. Liu, C.-C. Hsu and J.-J. Wu, "I/O Processor Allocation for Mesh Cluster Computers", section 3.1.
//!
//! The mesh is halved across its longer side, a square into left and right, each half again, and so on down to single
//! processors: a binary tree of rectangles. A request for z processors goes to a rectangle of A processors with
//! A >= z > A / 2 in which at least z are free, the first in a depth-first search, left before right and lower before
//! upper. There it takes the free processors column by column from the left, where the I/O processors are: a wide front
//! towards them uses all links to them.
//!
//! # Differences from the paper
//!
//! The tree is not stored. Which rectangles are in it follows from the sides of the mesh, and how many of their
//! processors are free is counted in the occupancy, so faulty processors need nothing special. The paper says left, not
//! whether lower or upper comes first.
//!
//! # Complexity and memory
//!
//! N processors in words of b bits: O(log N) rectangles if halves are not too fragmented, all 2 N - 1 at most, each
//! counted in O(h * ceil(w / b)), and O(h * ceil(w / b) + w) to select; a release takes nothing. Scratch: as many words as the occupancy.
//!
//! # Recognition
//!
//! Not complete: processors that are free in different rectangles are not put together. A job holds exactly as many as
//! it asks for, but what is left of its rectangle serves only smaller requests. Drawback: external fragmentation is
//! higher than with the tolerance of [`StaticBinaryTree`](super::StaticBinaryTree).
//!
//! ```text
//!   y                   4x4
//!   3  A . . .        /     \         Jobs of 5 (A) and 3 (B) processors. A takes a column and one more of the
//!   2  A . . .      2x4 A   2x4       left half; of the four squares the third is the first with 3 free ones. A
//!   1  A . B .     /   \   /   \      request for 8 processors is refused although 8 are free: neither half has
//!   0  A A B B   2x2  2x2 2x2B 2x2    as many.
//!      0 1 2 3  x
//! ```
//!
//! # Example
//!
//! ```
//! use meshalloc::{Allocator, Mesh, Refusal, Request, Storage, StrategyKind, Submesh};
//!
//! let mut storage = Storage::<4, 1, 4, 16>::new();
//! let machine = Mesh::new(4, 4)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::BinaryTree)?;
//! let mut blocks = |processors| {
//!     let job = allocator.allocate(&Request::submesh(4, 4).with_processors(processors))?;
//!     Ok(allocator.blocks(&job).map(Submesh::from).collect::<Vec<_>>())
//! };
//! assert_eq!(blocks(5)?, [Submesh::new(0, 0, 2, 1), Submesh::new(0, 1, 1, 3)]);
//! assert_eq!(blocks(3)?, [Submesh::new(2, 0, 2, 1), Submesh::new(2, 1, 1, 1)]);
//! assert_eq!(blocks(8), Err(Refusal::Fragmented));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::search::halves::Order;

tree_strategy! {
    /// Binary tree.
    BinaryTree, takes_any: false, |tree, processors, draft| {
        tree.propose_one(processors, Order::LeftFirst, draft)
    }
}
