//! Adaptive scan (AS): the first place in row-major order for the request as it is, then turned.
//!
//! # Source
//!
//! J. Ding and L. N. Bhuyan, "An Adaptive Submesh Allocation Strategy for Two-Dimensional Mesh
//! Connected Systems", Proc. Int. Conf. on Parallel Processing II, 1993; described by Kim and Yoon
//! 1995, section II.4.
//!
//! # Differences from the paper
//!
//! Ding and Bhuyan skip bases by adaptive strides along the busy submeshes. Here a bitmap gives the
//! same base node, many processors at a time. The decisions are the same.
//!
//! Their meshes are two-dimensional. On any other grid the extents are laid along dimensions 0, 1,
//! .. as they are named, 1 in the others. Then comes every other distinct assignment of the
//! extents, ones included, to the dimensions, in ascending lexicographic order.
//!
//! # Complexity and memory
//!
//! Up to two searches of first fit (`first_fit.rs`); on any other grid one search for each
//! assignment, except for assignments that begin like one for which no node was left. Scratch as
//! for first fit.
//!
//! # Recognition
//!
//! Complete: a free `a x b` or `b x a` is found whenever there is one.
//!
//! ```text
//!   y
//!   2  # . #       Requests on a 3 x 3 mesh, # busy: first fit grants (1, 3) the place
//!   1  # . #       <1, 0>..<1, 2> and refuses (3, 1). Adaptive scan grants both the same
//!   0  # . #       place.
//!      0 1 2  x
//! ```
//!
//! # Example
//!
//! The drawing above.
//!
//! ```
//! use meshalloc::{
//!     Allocator, AllocatorStorage, Mesh, Request, StrategyKind, Submesh, storage,
//! };
//!
//! let mut storage: storage!(mesh 3 x 3, strategies [AdaptiveScan], allocations 1) =
//!     AllocatorStorage::new();
//! let machine = Mesh::new(3, 3)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::AdaptiveScan)?;
//! for x in [0, 2] {
//!     allocator.mark_faulty(Submesh::new(x, 0, 1, 3).into());
//! }
//! for request in [Request::submesh(1, 3), Request::submesh(3, 1)] {
//!     let held = allocator.allocate(&request)?;
//!     let block = allocator.blocks(&held)?.next();
//!     assert_eq!(block, Some(Submesh::between(1, 0, 1, 2).into()));
//!     allocator.release(held)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(super) use super::contiguous::{Bounds, first};
pub(super) use crate::search::shapes::AnyOrder;
