//! PALD: a request that has no place as a whole is split, and its parts are placed one by one; each
//! by first fit (`pald-ff`) or by best fit (`pald-bf`).
//!
//! # Source
//!
//! S. Bani-Ahmad, "Submesh Allocation in 2D-Mesh Multicomputers: Partitioning at the Longest
//! Dimension of Requests", Int. Conf. on Advanced Engineering Computing and Applications in
//! Sciences, 2010. Only its first page could be read.
//!
//! # Definition
//!
//! A request for a x b processors, b being the longer side, gets a free a x b. If there is none,
//! the request is split into a x (b - 1) and a x 1, and each of these is placed in the same way.
//!
//! The following rules are the choice of this project. A request is refused if fewer than a * b
//! processors are free. Each part is tried as it is and then turned, unless the request forbids
//! rotation. The larger part comes first. A square is split by its height. Best fit takes the place
//! whose base node has the most busy neighbours (ties: the first), as the strategy `best-fit`. A
//! job of fewer processors than its sides have holds all a * b of them, as with the contiguous
//! strategies.
//!
//! # Complexity and memory
//!
//! O(words * log W) for each part that is tried. A request has up to a + b such parts, and up to a
//! further ones for each strip that was split off. A release takes nothing. Scratch: twice as many
//! words as the occupancy.
//!
//! # Recognition
//!
//! Complete: a request fails only if fewer than a * b processors are free. No fragmentation of
//! either kind. The parts may lie far apart.
//!
//! # Example
//!
//! A request for 3 x 3 processors on a 5 x 4 mesh, # busy. 3 x 3 is not free, and is split into 3 x
//! 2 and 3 x 1. Neither 3 x 2 nor 2 x 3 is free, so this part is split into 2 x 2 (a) and 1 x 2
//! (b). Then comes 3 x 1. With best fit it is free (c). With first fit it is not, and is split into
//! 2 x 1 (c) and 1 x 1 (d).
//!
//! ```text
//!   y  pald-ff        y  pald-bf
//!   3  . . # # #      3  a a # # #
//!   2  c c # a a      2  a a # . .
//!   1  # b . a a      1  # b c c c
//!   0  d b # # #      0  . b # # #
//!      0 1 2 3 4  x      0 1 2 3 4  x
//! ```
//!
//! ```
//! use meshalloc::{Allocator, AllocatorStorage, Mesh, Refusal, Request, Submesh, storage};
//!
//! /// The blocks of the job.
//! fn place(strategy: &str) -> Result<Vec<Submesh>, Refusal> {
//!     let mut storage: storage!(mesh 5 x 4, strategies [PaldFf, PaldBf], allocations 20) =
//!         AllocatorStorage::new();
//!     let machine = Mesh::new(5, 4).unwrap().into();
//!     let strategy = strategy.parse().unwrap();
//!     let mut allocator = Allocator::new(storage.memory(), machine, strategy).unwrap();
//!     for (x, y) in [(0, 1), (2, 0), (2, 2), (2, 3), (3, 0), (3, 3), (4, 0), (4, 3)] {
//!         allocator.mark_faulty(Submesh::new(x, y, 1, 1).into());
//!     }
//!     let job = allocator.allocate(&Request::submesh(3, 3))?;
//!     let blocks = allocator.blocks(&job).unwrap();
//!     Ok(blocks.map(|block| Submesh::of(&machine, block).unwrap()).collect())
//! }
//! let b = Submesh::new;
//!
//! let first = [b(3, 1, 2, 2), b(1, 0, 1, 2), b(0, 2, 2, 1), b(0, 0, 1, 1)];
//! assert_eq!(place("pald-ff")?, first);
//! assert_eq!(place("pald-bf")?, [b(0, 2, 2, 2), b(1, 0, 1, 2), b(2, 1, 3, 1)]);
//! # Ok::<(), Refusal>(())
//! ```

use super::{Draft, Request, Site, Workspace};
use crate::mesh::{Coord, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::search::busy_sides::BusySides;
use crate::search::columns::Scratch;
use crate::search::rectangles::{all_bases, first_fit};
use crate::word::Word;

/// Where a part is placed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    First,
    Best,
}

/// The two parts of a split: the rest of the part, and the strip that is split off.
const fn split(part: Sides) -> (Sides, Sides) {
    let Sides { w, h } = part;
    if h >= w {
        (Sides::new(w, h - 1), Sides::new(w, 1))
    } else {
        (Sides::new(w - 1, h), Sides::new(1, h))
    }
}

/// A proposal in the making.
struct Parts<'a, 'd, 'p> {
    fit: Fit,
    may_rotate: bool,
    mesh: Sides,
    /// A copy of the occupancy, in which the parts so far are busy.
    copy: Occupancy<'a>,
    scratch: &'a mut [Word],
    draft: &'a mut Draft<'d, 'p>,
}

impl Parts<'_, '_, '_> {
    /// Takes a free place of these sides. Returns whether there is one.
    fn take(&mut self, sides: Sides) -> bool {
        let turned = (self.may_rotate && !sides.is_square()).then(|| sides.rotated());
        let mut orientations = [Some(sides), turned].into_iter().flatten();
        let part = orientations.find_map(|sides| {
            let base = self.base(sides)?;
            Some(Submesh { base, sides })
        });
        if let Some(part) = part {
            self.copy.take(part.into());
            self.draft.push(part);
        }
        part.is_some()
    }

    fn base(&mut self, sides: Sides) -> Option<Coord> {
        if !sides.fits_in(self.mesh) {
            return None;
        }
        self.draft.poll();
        let copy = &self.copy;
        match self.fit {
            Fit::First => first_fit(copy, sides, Scratch::Blank(self.scratch), self.draft),
            Fit::Best => {
                let bases = all_bases(copy, sides, self.scratch).iter().copied();
                BusySides::with_busy(copy.busy_rows(), copy.stride()).best(bases)
            }
        }
    }

    /// Takes the rest of a part after as few splits as possible. Returns the number of splits;
    /// `None` if nothing is free.
    fn take_most(&mut self, whole: Sides) -> Option<u32> {
        let (mut part, mut splits) = (whole, 0);
        while !self.take(part) {
            if part.area() <= 1 {
                return None;
            }
            part = split(part).0;
            splits += 1;
        }
        Some(splits)
    }

    /// Takes a part and all strips that are split off. Returns whether enough processors were free.
    fn take_all(&mut self, whole: Sides) -> bool {
        let Some(splits) = self.take_most(whole) else {
            return false;
        };
        // The strip that was split off last comes first.
        (0..splits).rev().all(|before| {
            let part = (0..before).fold(whole, |part, _| split(part).0);
            let strip = split(part).1;
            // A strip is split into single processors.
            let units = self.take_most(strip);
            units.is_some_and(|units| (0..units).all(|_| self.take(Sides::new(1, 1))))
        })
    }
}

/// Takes the request whole or in parts.
pub(super) fn propose(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
    fit: Fit,
) -> bool {
    let (copy, scratch) = site.occupancy.copy_in(workspace.words);
    let mut parts = Parts {
        fit,
        may_rotate: request.may_rotate(),
        mesh: Sides::of_plane(site.grid()),
        copy,
        scratch,
        draft,
    };
    parts.take_all(request.sides())
}
