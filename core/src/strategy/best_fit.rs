//! Best fit (BF): the base node with the most busy neighbours.
//!
//! # Source
//!
//! Y. Zhu, "Efficient Processor Allocation Strategies for Mesh-Connected Parallel Computers", J.
//! Parallel and Distributed Computing 16, 1992; described by Kim and Yoon 1995, section II.3.
//!
//! # Differences from the paper
//!
//! Bitmaps replace Zhu's arrays. As Kim and Yoon read the paper, only the neighbours of the base
//! *node* are counted, in four directions; nodes outside of the mesh count as busy. Ties go to the
//! first in row-major order. There is no rotation.
//!
//! The paper's meshes are two-dimensional. On any other grid (feature `any-grid`) the extents are
//! laid along dimensions 0, 1, .. as they are named, 1 in the others. A node has a neighbour in
//! both directions of each dimension, around the ring where it wraps. On a ring of two, one
//! processor is the neighbour in both directions. A place that spans a ring starts at 0 there. Ties
//! go to the base node with the smallest number.
//!
//! On a machine whose description aligns slices, only the places count at which a slice may begin.
//!
//! # Complexity and memory
//!
//! O(H * ceil(W / word) * (log a + log b)). On any other grid of N processors
//! O(N / word * log area), and O(dimensions) for each free place. A release takes nothing. Scratch:
//! as many words as the occupancy, on any other grid twice as many.
//!
//! # Recognition
//!
//! Not complete: a free `b x a` is not found for a request `(a, b)`. On the 3 x 3 mesh below,
//! (3, 1) is refused although <1, 0>..<1, 2> is free.
//!
//! ```text
//!   y
//!   2  # . #
//!   1  # . #
//!   0  # . #
//!      0 1 2  x
//! ```
//!
//! # Example
//!
//! The corner <3, 3> has no free neighbour, <2, 2> has three busy neighbours, and the corner <0, 0>
//! only the two outside:
//!
//! ```text
//!   y
//!   3  . . # .
//!   2  . # . #
//!   1  . . . .
//!   0  . . . .
//!      0 1 2 3  x
//! ```
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: storage!(mesh 4 x 4, strategies [BestFit], jobs 16) = Storage::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(4, 4)?.into(),
//!     strategy: StrategyKind::BestFit,
//!     scheduler: SchedulerKind::Fcfs,
//! })?;
//! for (x, y) in [(2, 3), (1, 2), (3, 2)] {
//!     controller.handle(&Change::MarkFaulty { block: Submesh::new(x, y, 1, 1).into() }, 0)?;
//! }
//! let mut place = |job, w, h| {
//!     let request = Request::submesh(w, h).with_flags(Flags::NO_WAIT);
//!     let _ = controller.handle(&Change::submit(JobId(job), request), 0);
//!     controller.view().blocks(JobId(job)).next()
//! };
//! assert_eq!(place(1, 1, 1), Some(Submesh::new(3, 3, 1, 1).into()));
//! assert_eq!(place(2, 1, 1), Some(Submesh::new(2, 2, 1, 1).into()));
//! // For (2, 1) the best base nodes have two: <0, 0> is the first of them.
//! assert_eq!(place(3, 2, 1), Some(Submesh::new(0, 0, 2, 1).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::contiguous::Best;
pub(super) use super::contiguous::best;
use crate::draft::Draft;
use crate::grid::Block;
use crate::mesh::{Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::search::busy_sides::BusySides;
use crate::search::rectangles::all_bases;
pub(super) use crate::search::shapes::AsNamed;
use crate::search::steps::Rule;
use crate::search::surroundings::Value;
use crate::word::Word;

/// The place whose base node has the most busy neighbours; ties: the first.
pub(super) struct BusyNeighbours;

impl Best for BusyNeighbours {
    const VALUE: Value = Value::OfBase;

    fn in_plane(
        occupancy: &Occupancy<'_>,
        sides: Sides,
        rule: Option<Rule<'_>>,
        words: &mut [Word],
        _: &Draft<'_, '_>,
    ) -> Option<Block> {
        let steps = rule.map(|rule| rule.steps(&[sides.w, sides.h]));
        let stride = occupancy.stride();
        let bases = all_bases(occupancy, sides, words).iter().enumerate();
        let bases = bases
            .map(|(at, bases)| bases & steps.map_or(Word::MAX, |steps| steps.columns(at, stride)));
        let base = BusySides::with_busy(occupancy.busy_rows(), stride).best(bases)?;
        Some(Submesh { base, sides }.into())
    }
}
