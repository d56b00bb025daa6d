//! Neighbour allocation (NAS): a free submesh, the nucleus, and free neighbours until there are
//! enough processors.
//!
//! # Source
//!
//! A. B. Alshdefat, "An Efficient Processor Allocation Algorithm for 2D Mesh Connected
//! Multicomputers", Master's thesis, Al al-Bayt University, 2019, chapter 3, Figs. 3-1 to 3-12.
//!
//! # Differences from the paper
//!
//! Let n be the number of processors, A the longer side of the request, B the shorter one,
//! c = ceil(A/2) and m = floor(A/2).
//!
//! - All shapes first fit ([`AllShapes`](crate::StrategyKind::AllShapes)) comes first, as in step 3
//!   of Fig. 3-11. The thesis's first example skips it: on an empty mesh a request (3, 5) would be
//!   granted as it is.
//! - For even A the text gives the nuclei for k = 1 to B, step 5 for k = -1 to B. Here they are
//!   (A/2, B + k) for k = 1 to B - 1, since (A/2, 2B) is a shape of the same size, which has been
//!   tried.
//! - For odd A the nuclei are (c + k, B + m - k) from k = 0 on while the second side is at least 1.
//!   The text's bound B - 1 - m is below 0 in its own example (5, 2), whose nuclei it gives as
//!   (4, 3), (5, 2) and (6, 1).
//! - If B - 1 - c is -1, k begins at -1, for even A too. This gives the thesis's (3, 5) -> (2, 6)
//!   and (6, 3) -> (3, 2).
//! - k grows by 1. The thesis lets it grow by B/4 from 4 on, which leaves nuclei out.
//! - Nuclei are not rotated. A nucleus of more than n processors is skipped. B = 1 has only the
//!   nucleus (1, 1).
//! - "Search for free neighbor processors by scanning the mesh": each pass goes over the mesh in
//!   row-major order and adds every free neighbour of the set as it was before the pass, up to n.
//!   If the set cannot grow to n, the next k follows.
//! - The nucleus (1, 1) is the first free processor of a connected free component of at least n.
//!   Fig. 3-11 tries only the first free processor.
//! - A job holds exactly n processors. If the sides have more, it holds the first n in row-major
//!   order of the rectangle that is found for them.
//! - A request that forbids rotation ([`Flags::FIXED_ORIENTATION`](crate::Flags)) is served only as
//!   it is, without nuclei.
//! - A request for a number of processors ([`Flags::CHIPS`](crate::Flags)) stands for the
//!   rectangles of that number within the mesh, the most compact first: 12 on 8 x 8 for (3, 4),
//!   then (2, 6). A number that has none is refused: 11 on 8 x 8.
//!
//! # Complexity and memory
//!
//! First there is a search of first fit. Then the widths of the other shapes are tried in ascending
//! order, and after them the widths of the nuclei. The free submeshes of a width are no taller than
//! those of a smaller width (`search/staircase.rs`), so narrower widths rule out many wider ones.
//! Each other width takes O(rows * words in a row). The place is searched only for shapes that are
//! known to have one.
//!
//! The component of the nucleus that is found is visited. For the nucleus (1, 1) one component
//! after the other is visited until one has n processors. Each component is visited at most once,
//! and only up to n processors, in O(words in a row) for each run. So the strategy knows whether
//! the set around a nucleus can grow to n before the set grows. The set grows once, in O(n * words
//! in a row).
//!
//! A release takes nothing. Scratch: twice as many words as the occupancy. A job has up to n
//! blocks: the nucleus, and the added processors, with neighbours in a row and equal runs in
//! consecutive rows as one block.
//!
//! # Recognition
//!
//! Complete, also for sets that are not rectangles: a request fails only if no connected component
//! of free processors has n processors.
//!
//! # Drawbacks
//!
//! A job may hold a long and thin set, in which messages travel far and through other jobs'
//! processors. A request fails if n processors are free but not connected.
//!
//! ```text
//!   y
//!   6  B B # # # # #     A request (3, 5) on a 7 x 7 mesh, # busy: 15 processors are the nucleus A
//!   5  A A # # # # #     of 2 x 6 and the three neighbours B.
//!   4  A A # # # # #
//!   3  A A # # # # #
//!   2  A A # # # # #
//!   1  A A # # # # #
//!   0  A A B . . . .
//!      0 1 2 3 4 5 6  x
//! ```
//!
//! # Example
//!
//! The mesh above: Figs. 3-2 and 3-3. The busy processors make the thesis's nucleus the first one
//! that is found.
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: storage!(mesh 7 x 7, strategies [Neighbor], allocations 49) =
//!     AllocatorStorage::new();
//! let machine = Mesh::new(7, 7)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::Neighbor)?;
//! allocator.mark_faulty(Submesh::new(2, 1, 5, 6).into());
//! let job = allocator.allocate(&Request::submesh(3, 5))?;
//! let blocks = allocator.blocks(&job)?.map(|block| Submesh::of(&machine, block));
//! let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
//! let expected = [(0, 0, 2, 6), (2, 0, 1, 1), (0, 6, 2, 1)];
//! assert_eq!(blocks, expected.map(|(x, y, w, h)| Submesh::new(x, y, w, h)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::demand::{as_named, processors};
use super::{Draft, Gather, Request, Site, Workspace};
use crate::error::Refusal;
use crate::grid::Grid;
use crate::mesh::{Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::search::connected::{first_free, grow, visit};
use crate::search::staircase::{Growing, Staircase, first_of_all_shapes};
use crate::word::Word;

/// The nuclei of a request that fit the mesh and have at most the requested processors, in the
/// order in which they are tried, except for the last, (1, 1).
fn nuclei(request: &Request, mesh: Sides) -> impl Iterator<Item = Sides> + use<> {
    let sides = request.sides();
    let (a, b) = (
        i32::from(sides.w.max(sides.h)),
        i32::from(sides.w.min(sides.h)),
    );
    let (m, c) = (a / 2, a - a / 2);
    let is_even = a % 2 == 0;
    let first = match b - 1 - c {
        -1 => -1,
        _ if is_even => 1,
        _ => 0,
    };
    let last = if b < 2 {
        first - 1
    } else if is_even {
        b - 1
    } else {
        b + m - 1
    };
    let processors = request.processors;
    (first..=last)
        .map(move |k| {
            if is_even {
                (m, b + k)
            } else {
                (c + k, b + m - k)
            }
        })
        .filter(move |&(w, h)| w <= mesh.w.into() && h <= mesh.h.into())
        .map(|(w, h)| Sides::new(w as u16, h as u16))
        .filter(move |sides| sides.area() <= processors)
}

/// A place where a set of n processors can grow: a nucleus in a component of at least n free
/// processors.
fn nucleus(
    occupancy: &Occupancy<'_>,
    request: &Request,
    mesh: Sides,
    [scratch, visited]: [&mut [Word]; 2],
    draft: &mut Draft<'_, '_>,
) -> Option<Submesh> {
    let processors = request.processors;
    // A component that has been visited before is too small.
    let (mut left, _) = occupancy.copy_in(visited);
    let mut widths = Staircase::new(occupancy, Growing::Width, scratch);
    for sides in nuclei(request, mesh) {
        if !widths.has(sides, draft) {
            continue;
        }
        let Some(base) = widths.first_base(sides.h, draft) else {
            continue;
        };
        let scratch = widths.scratch();
        scratch.fill(0);
        if visit(&mut left, base, processors, scratch, draft) >= processors {
            return Some(Submesh { base, sides });
        }
    }
    let scratch = widths.scratch();
    scratch.fill(0);
    let mut word = 0;
    while left.free() >= processors {
        let base = first_free(&left, &mut word)?;
        if visit(&mut left, base, processors, scratch, draft) >= processors {
            return Some(Submesh::new(base.x, base.y, 1, 1));
        }
    }
    None
}

/// The demand: as many processors as requested. A request that keeps its orientation needs the
/// whole shape free, even if it takes only a part of it.
pub(super) fn processors_or_shape(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    if request.may_rotate() {
        processors(request, grid)
    } else {
        as_named(request, grid)
    }
}

/// Takes the first rectangle, or else a set that grows around a nucleus.
pub(super) fn propose(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> bool {
    let (occupancy, grid) = (site.occupancy, site.grid());
    let mesh = Sides::of_plane(grid);
    let words = occupancy.busy_rows().len();
    let (scratch, visited) = workspace.words.split_at_mut(words);
    let rectangle = first_of_all_shapes(occupancy, request, mesh, scratch, draft);
    if let Some(rectangle) = rectangle {
        let mut gather = Gather::new(*grid, draft);
        let Submesh { base, sides } = Submesh::of_plane(rectangle);
        let (w, len) = (u32::from(sides.w), request.processors);
        let rows = (0..len.div_ceil(w)).zip(base.y..);
        for (row, y) in rows {
            let x = u32::from(base.x);
            gather.push(y.into(), x..x + w.min(len - row * w));
        }
        gather.finish();
        return true;
    }
    if !request.may_rotate() {
        return false;
    }
    let both = [&mut *scratch, &mut *visited];
    let Some(nucleus) = nucleus(occupancy, request, mesh, both, draft) else {
        return false;
    };
    let (mut copy, _) = occupancy.copy_in(scratch);
    copy.take(nucleus.into());
    let missing = request.processors - nucleus.area();
    let is_grown = grow(&mut copy, nucleus, missing, visited, draft);
    draft.push(nucleus);
    let grown = copy.difference(occupancy);
    occupancy.layout().words(nucleus.into(), |word, bits| {
        grown[word] &= !bits;
        true
    });
    Gather::new(*grid, draft).bits(occupancy, grown);
    is_grown
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn nuclei_of_the_thesis() {
        let order = |w, h| -> Vec<_> {
            let nuclei = nuclei(&Request::submesh(w, h), Sides::new(7, 7));
            nuclei.map(|sides| (sides.w, sides.h)).collect()
        };
        assert_eq!(order(3, 5), [(2, 6), (3, 5), (5, 3), (6, 2), (7, 1)]);
        assert_eq!(order(4, 3), [(2, 4), (2, 5)]);
        assert_eq!(order(6, 3)[0], (3, 2));
        // (4, 3) has more than 10 processors.
        assert_eq!(order(5, 2), [(5, 2), (6, 1)]);
        assert_eq!(order(5, 1), []);
    }
}
