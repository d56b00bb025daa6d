//! Folding: the request and every box into which one of its sides folds.
//!
//! # Source
//!
//! S. Chen and others, "Toward Co-adapting Machine Learning Job Shape and Cluster Topology",
//! arXiv:2510.03891 (RFold), 2025.
//!
//! A collective operation along a side of s processors needs a line or a ring of s neighbours,
//! which need not be straight. A side *folds* along the dimensions in which the request has no
//! other side, into a box of s processors with at least two sides longer than 1. Every such box has
//! a line of s neighbours, and a ring if s is even. A request with one side folds into boxes of two
//! or three dimensions, one with two sides into boxes of three dimensions in which one of its sides
//! stays whole.
//!
//! The boxes and the request itself are tried by the longest side, then by the sum of the sides,
//! then in lexicographic order. Each is tried as adaptive scan would try it, the boxes with their
//! sides in ascending order. The first one that has a place is taken. The order of the ranks is
//! given by [`Slice::ranks`](crate::Slice::ranks).
//!
//! # Differences from the paper
//!
//! The simulator of the paper ends a search after ten seconds. This one ends when all has been
//! tried, so its decisions do not depend on the computer.
//!
//! # Complexity and memory
//!
//! A search of adaptive scan for each box. A side of s folds into fewer boxes than it has pairs of
//! divisors. A release takes nothing. Scratch: as adaptive scan.
//!
//! # Recognition
//!
//! Complete: a free box of the request, or of one of its foldings, is found whenever there is one.
//!
//! ```text
//!   y
//!   2  . # # #     A request for 6 x 1, # busy: no line of 6 fits. It gets 2 x 3, in which its
//!   1  A A A #     ranks form a ring.
//!   0  A A A .
//!      0 1 2 3  x
//! ```
//!
//! # Example
//!
//! The drawing.
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: storage!(mesh 4 x 3, strategies [Folding], allocations 4) =
//!     AllocatorStorage::new();
//! let machine = Mesh::new(4, 3)?.into();
//! let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::Folding)?;
//! for busy in [Submesh::new(1, 2, 3, 1), Submesh::new(3, 1, 1, 1)] {
//!     allocator.mark_faulty(busy.into());
//! }
//! let job = allocator.allocate(&Request::submesh(6, 1))?;
//! assert!(allocator.blocks(&job)?.eq([Submesh::new(0, 0, 3, 2).into()]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::contiguous::first_in;
use super::{Draft, Request, Site, Workspace};
use crate::error::Refusal;
use crate::grid::{Block, Grid};
use crate::machine::{Description, Layouts, SliceRule};
use crate::search::columns::Scratch;
use crate::search::shapes::Folded;

/// The demand: all processors of the request, if one of its folds fits.
pub(super) fn folded(
    request: &Request,
    grid: &Grid,
    machine: Option<&Description>,
) -> Result<u32, Refusal> {
    let mut trials = Layouts::new(SliceRule::Folded, machine, grid).trials(request, request.shape);
    let fits = trials.any(|trial| {
        let mut both = trial.sides.iter().zip(grid.sides());
        both.all(|(side, of)| side <= of)
    });
    fits.then_some(request.shape.area())
        .ok_or(Refusal::NeverFits)
}

/// The first place for the first fold that has one.
pub(super) fn place(
    site: &Site<'_>,
    workspace: &mut Workspace<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> Option<Block> {
    let (rule, shapes) = (workspace.rule(), Folded(workspace.machine()));
    let scratch = Scratch::Blank(workspace.words);
    first_in(site.occupancy, rule, scratch, request, draft, shapes)
}
