//! Greedy available busy list (GABL): the largest free submeshes that together have as many
//! processors as the request.
//!
//! # Source
//!
//! S. Bani-Mohammad, M. Ould-Khaoua, I. Ababneh and L. M. Mackenzie, "Non-contiguous Processor
//! Allocation Strategy for 2D Mesh Connected Multicomputers Based on Sub-meshes Available for
//! Allocation", Int. Conf. on Parallel and Distributed Systems, 2006. Its text could not be read: a
//! reconstruction, from the abstract and from memory.
//!
//! # Definition
//!
//! A request for a x b processors gets a free a x b, or a free b x a. If there is none, but a * b
//! processors are free, it gets the largest free submesh whose sides do not exceed a x b. Then it
//! gets again and again the largest submesh whose sides do not exceed those of the part before, and
//! which has no more processors than are missing. A 1 x 1 always exists.
//!
//! The following rules are the choice of this project. Sides may be compared turned, unless the
//! request forbids rotation. The largest submesh is the one with the most processors. Ties go to
//! the most square one, whose sides differ least; then to one whose longer side lies along the
//! longer side of the request (along x if the request is a square); then to the first in row-major
//! order of the base nodes. A request whose sides exceed those of the mesh is divided like any
//! other. A job of fewer processors than its sides have holds all a * b of them, as with the
//! contiguous strategies.
//!
//! The paper keeps a list of the busy submeshes. Here the free submeshes are found in the
//! occupancy.
//!
//! # Complexity and memory
//!
//! O(words * shorter limit) for each part: a part is found by the widest free submesh of each
//! height up to that of the part before. A release takes nothing. Scratch: twice as many words as
//! the occupancy.
//!
//! # Recognition
//!
//! Complete: a request fails only if fewer than a * b processors are free. No fragmentation of
//! either kind. The parts may lie far apart.
//!
//! # Example
//!
//! A request for 4 x 3 processors on a 6 x 4 mesh, # busy. The largest free submesh inside it is 3
//! x 3 (a). Then 1 x 2 and 2 x 1 have two processors; the request lies along x, so 2 x 1 (b) is
//! taken. The missing processor is the first free one (c).
//!
//! ```text
//!   y
//!   3  # . # # . #
//!   2  # a a a . #
//!   1  # a a a # .
//!   0  c a a a b b
//!      0 1 2 3 4 5  x
//! ```
//!
//! ```
//! use meshalloc::{Allocator, AllocatorStorage, Mesh, Request, Submesh, storage};
//!
//! let mut storage: storage!(mesh 6 x 4, strategies [Gabl], allocations 24) =
//!     AllocatorStorage::new();
//! let machine = Mesh::new(6, 4)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, "gabl".parse()?)?;
//! for (x, y) in [(4, 1), (0, 1), (0, 2), (5, 2), (0, 3), (2, 3), (3, 3), (5, 3)] {
//!     allocator.mark_faulty(Submesh::new(x, y, 1, 1).into());
//! }
//! let job = allocator.allocate(&Request::submesh(4, 3))?;
//! let blocks = allocator.blocks(&job)?.map(|block| Submesh::of(&machine, block));
//! let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
//! let [a, b, c] = [(1, 0, 3, 3), (4, 0, 2, 1), (0, 0, 1, 1)];
//! assert_eq!(blocks, [a, b, c].map(|(x, y, w, h)| Submesh::new(x, y, w, h)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::cmp::Reverse;

use super::{Draft, Request, Site, Workspace};
use crate::mesh::{Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::search::columns::Scratch;
use crate::search::rectangles::first_fit;
use crate::search::staircase::{Growing, Staircase};
use crate::word::Word;

/// The sides of the largest free submesh within these limits.
fn largest(
    occupancy: &Occupancy<'_>,
    within: Sides,
    missing: u32,
    request: &Request,
    scratch: &mut [Word],
    draft: &Draft<'_, '_>,
) -> Option<Sides> {
    let turned = within.rotated();
    let tallest = if request.may_rotate() {
        within.w.max(within.h)
    } else {
        within.h
    };
    let lies_along_x = request.sides().w >= request.sides().h;
    let mut best = None;
    let mut free = Staircase::new(occupancy, Growing::Height, scratch);
    for h in 1..=tallest {
        let w = free.most_across(h, draft);
        if w == 0 {
            break;
        }
        let mut most = if h <= within.h { within.w } else { 0 };
        if request.may_rotate() && h <= turned.h {
            most = most.max(turned.w);
        }
        let w = u32::from(w.min(most)).min(missing / u32::from(h)) as u16;
        let sides = Sides::new(w, h);
        let is_along = (w >= h) == lies_along_x;
        let key = (sides.area(), Reverse(w.abs_diff(h)), is_along);
        if w > 0 && best.is_none_or(|(best, _)| key > best) {
            best = Some((key, sides));
        }
    }
    best.map(|(_, sides)| sides)
}

/// Takes the largest free submeshes, none larger than the submesh before.
pub(super) fn propose(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> bool {
    let (mut copy, scratch) = site.occupancy.copy_in(workspace.words);
    let (mut within, mut missing) = (request.sides(), request.shape.area());
    while missing > 0 {
        let sides = largest(&copy, within, missing, request, scratch, draft);
        let Some(sides) = sides else {
            return false;
        };
        let Some(base) = first_fit(&copy, sides, Scratch::Blank(scratch), draft) else {
            return false;
        };
        let part = Submesh { base, sides };
        copy.take(part.into());
        draft.push(part);
        missing -= sides.area();
        within = sides;
    }
    true
}
