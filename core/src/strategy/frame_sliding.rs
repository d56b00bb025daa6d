//! Frame sliding (FS): a frame of the requested size moves over the mesh in strides of its own
//! size.
//!
//! # Source
//!
//! P. Chuang and N. Tzeng, "An Efficient Submesh Allocation Strategy for Mesh Computer Systems",
//! Proc. 11th Int. Conf. on Distributed Computing Systems, 1991; described by Kim and Yoon 1995,
//! section II.2, and in Fig. 2-2 of Alshdefat 2019.
//!
//! # Differences from the paper
//!
//! None known. The frame starts at the first free node in row-major order, `<x0, y0>`. The frames
//! of that row have their bases at `x0 + i*a`, those of the rows `y0 + j*b` above at
//! `(x0 mod a) + i*a`. There is no rotation.
//!
//! # Complexity and memory
//!
//! O(frames * b * ceil(a / word)), at most W / a * H / b frames; a release takes nothing. No
//! memory.
//!
//! # Recognition
//!
//! Not complete: the strategy misses a free submesh between two strides, and one that would have to
//! be rotated. When more processors are free, the first free node and so the frames may be others.
//! So a request may fail although the strategy found a place before. Schedulers that reserve keep
//! everything free between the frame and the first free node.
//!
//! ```text
//!   y
//!   1  . .     A 2 x 2 mesh, # busy. The first free node is <1, 0>, so the frames of a request
//!   0  # .     (2, 1) have their bases at x = 1 and 1 mod 2 = 1, where none fits:
//!      0 1  x  <0, 1>..<1, 1> is missed.
//! ```
//!
//! # Example
//!
//! As in Fig. 2-2 of Alshdefat 2019: the frame finds one free submesh and misses another.
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: storage!(mesh 2 x 2, strategies [FrameSliding], allocations 16) =
//!     AllocatorStorage::new();
//! let mut allocator = Allocator::new(
//!     storage.memory(),
//!     Mesh::new(2, 2)?.into(),
//!     StrategyKind::FrameSliding,
//! )?;
//! allocator.mark_faulty(Submesh::new(0, 0, 1, 1).into());
//! let wide = Request::submesh(2, 1);
//! assert_eq!(allocator.allocate(&wide).unwrap_err(), Refusal::Fragmented);
//! let high = allocator.allocate(&Request::submesh(1, 2))?;
//! assert_eq!(allocator.blocks(&high)?.next(), Some(Submesh::new(1, 0, 1, 2).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Draft, Request, Site, Workspace};
use crate::grid::Block;
use crate::mesh::{Coord, Sides, Submesh};
use crate::search::connected::first_free;

/// The first free frame.
pub(super) fn place(
    site: &Site<'_>,
    _: &mut Workspace<'_>,
    request: &Request,
    _: &mut Draft<'_, '_>,
) -> Option<Block> {
    let (sides, mesh) = (request.sides(), Sides::of_plane(site.grid()));
    let start = first_free(site.occupancy, &mut 0)?;
    let mut from = start.x;
    for y in (start.y..=mesh.h.saturating_sub(sides.h)).step_by(usize::from(sides.h)) {
        for x in (from..=mesh.w.saturating_sub(sides.w)).step_by(usize::from(sides.w)) {
            let base = Coord::new(x, y);
            let frame = Block::from(Submesh { base, sides });
            if site.occupancy.is_free(frame) {
                return Some(frame);
            }
        }
        from = start.x % sides.w;
    }
    None
}
