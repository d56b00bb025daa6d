//! First fit (FF): the first place in row-major order.
//!
//! # Source
//!
//! Y. Zhu, "Efficient Processor Allocation Strategies for Mesh-Connected Parallel Computers", J.
//! Parallel and Distributed Computing 16, 1992; described by Kim and Yoon 1995, section II.3.
//!
//! # Differences from the paper
//!
//! Zhu builds a coverage array and a reject array for each busy submesh. Here a bitmap gives the
//! same base node, many processors at a time. The decisions are the same.
//!
//! Zhu's meshes are two-dimensional. On any other grid the extents are laid along dimensions 0, 1,
//! .. as they are named, 1 in the others, and the place is the free box that starts at the smallest
//! node number. Along a dimension that wraps, the box may start anywhere.
//!
//! # Complexity and memory
//!
//! A search for `a x b` takes O(H * ceil(W / word) * log a) in ordinary occupancies, whatever `b`
//! is, and O(H * ceil(W / word) * (log a + b)) in the worst case, when every window of `b` rows
//! fails in its lowest row (`b * log a` in place of the sum on hosts); on any other grid of N
//! processors O(N / word * log area). On hosts, where a row has more than two words, bounds of the
//! free runs of each row are kept, so that full rows are not read again (`search/columns.rs`); a
//! release of `a x b` raises them in O(b) where little is free. Else a release takes nothing.
//! Scratch: as many words as the occupancy, on any other grid twice as many.
//!
//! # Recognition
//!
//! Not complete: a free `b x a` is not found for a request `(a, b)`.
//!
//! # Examples
//!
//! Kim and Yoon 1995, section III.2: in the situation of their Fig. 2 a first-fit policy puts the
//! request (3, 2) at `<0, 0>`, into the largest free submesh, although a smaller one would do.
//! `adaptive_scan.rs` has another example in its drawing.
//!
//! ```
//! # use meshalloc::*;
//! /// The place of a request on a square mesh with these busy submeshes.
//! fn place(
//!     strategy: StrategyKind,
//!     side: u16,
//!     busy: &[Submesh],
//!     request: Request,
//! ) -> Result<Submesh, Refusal> {
//!     let mut storage: storage!(mesh 10 x 10, strategies [FirstFit], allocations 1) =
//!         AllocatorStorage::new();
//!     let machine = Mesh::new(side, side).unwrap().into();
//!     let mut allocator = Allocator::new(storage.memory(), machine, strategy).unwrap();
//!     for &busy in busy {
//!         allocator.mark_faulty(busy.into());
//!     }
//!     let held = allocator.allocate(&request)?;
//!     let block = allocator.blocks(&held).unwrap().next().expect("one block");
//!     Ok(Submesh::of(&machine, block).unwrap())
//! }
//! use StrategyKind::FirstFit;
//! // Fig. 2: busy are <7, 0>..<9, 4>, <7, 8>..<9, 9> and <0, 5>..<3, 9>.
//! let busy = [(7, 0, 9, 4), (7, 8, 9, 9), (0, 5, 3, 9)];
//! let busy = busy.map(|(x1, y1, x2, y2)| Submesh::between(x1, y1, x2, y2));
//! let found = place(FirstFit, 10, &busy, Request::submesh(3, 2));
//! assert_eq!(found, Ok(Submesh::between(0, 0, 2, 1)));
//!
//! let busy = [0, 2].map(|x| Submesh::new(x, 0, 1, 3));
//! let column = Ok(Submesh::between(1, 0, 1, 2));
//! assert_eq!(place(FirstFit, 3, &busy, Request::submesh(1, 3)), column);
//! assert_eq!(place(FirstFit, 3, &busy, Request::submesh(3, 1)), Err(Refusal::Fragmented));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(super) use super::contiguous::{Bounds, first};
pub(super) use crate::search::shapes::AsNamed;
