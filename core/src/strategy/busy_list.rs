//! Busy list: the place with the largest boundary value.
//!
//! # Source
//!
//! D. D. Sharma and D. K. Pradhan, "A Fast and Efficient Strategy for Submesh Allocation in
//! Mesh-Connected Parallel Computers", Proc. 5th IEEE Symp. on Parallel and Distributed Processing,
//! 1993; described by Kim and Yoon 1995, section II.5.
//!
//! The *boundary value* of a submesh is the number of busy neighbours of its nodes, summed over the
//! nodes. A node at the border of the mesh has a busy neighbour beyond it.
//!
//! # Differences from the paper
//!
//! - Sharma and Pradhan generate candidates at the sides of allocated submeshes and in the corners
//!   of the mesh. Here every free place is a candidate. The restriction makes no difference: a
//!   place that touches nothing can slide until it touches something, and loses no contact.
//! - Ties go to the first base node in row-major order. `b x a` is considered only if no `a x b` is
//!   free. Comparing both orientations is better, but does not give the published curves.
//! - Their meshes are two-dimensional. On any other grid (feature `any-grid`) a node has a
//!   neighbour in both directions of each dimension, around the ring where it wraps: two processors
//!   that are neighbours in both directions count twice. A place that spans a ring starts at 0 and
//!   touches nothing there. The extents are laid as they are named; if no such place is free, they
//!   are laid in every other distinct order, ones included, in ascending lexicographic order. Ties
//!   go to the base node with the smallest number.
//!
//! On a machine whose description aligns slices, only the places count at which a slice may begin.
//!
//! # Complexity and memory
//!
//! O(H * ceil(W / word) * (log a + log b)) to find the free places, and O(b + ceil(a / word)) for
//! each free place whose boundary value can be larger than the best so far. Nothing is busy between
//! two free places side by side or one above the other. So the free places around a place show
//! which of its sides touch anything, for a word of places at once (`search/busy_sides.rs`).
//!
//! On any other grid of N processors O(N / word * log area) for each order, O(dimensions) for each
//! free place, and O(words of its sides) for each place whose boundary value can be larger than the
//! best so far.
//!
//! A release takes nothing. Scratch: as many words as the occupancy, on any other grid twice as
//! many.
//!
//! # Recognition
//!
//! Complete: a free `a x b` or `b x a` is found whenever there is one.
//!
//! # Example
//!
//! Kim and Yoon 1995, section III.2: in the situation of their Fig. 2 a request (3, 2) goes to a
//! place with the largest boundary value, 7: the top of `S2`, or the right end of `S3`.
//!
//! ```text
//!   y
//!   9  # # # # A A A # # #       # busy, A the job
//!   8  # # # # A A A # # #
//!   7  # # # # . . . . . .
//!   6  # # # # . . . . . .
//!   5  # # # # . . . . . .
//!   4  . . . . . . . # # #
//!   .  . . .
//!   0  . . . . . . . # # #
//!      0 1 2 3 4 5 6 7 8 9  x
//! ```
//!
//! ```
//! # use meshalloc::*;
//! let mut storage: storage!(mesh 10 x 10, strategies [BusyList], jobs 16) = Storage::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(10, 10)?.into(),
//!     strategy: StrategyKind::BusyList,
//!     scheduler: SchedulerKind::Fcfs,
//! })?;
//! for busy in [
//!     Submesh::between(7, 0, 9, 4),
//!     Submesh::between(7, 8, 9, 9),
//!     Submesh::between(0, 5, 3, 9),
//! ] {
//!     controller.handle(&Change::MarkFaulty { block: busy.into() }, 0)?;
//! }
//! let mut place = |job, w, h| {
//!     let request = Request::submesh(w, h).with_flags(Flags::NO_WAIT);
//!     let _ = controller.handle(&Change::submit(JobId(job), request), 0);
//!     controller.view().blocks(JobId(job)).next()
//! };
//! assert_eq!(place(1, 3, 2), Some(Submesh::between(4, 8, 6, 9).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::contiguous::Best;
pub(super) use super::contiguous::best;
use crate::draft::Draft;
use crate::grid::Block;
use crate::mesh::{Coord, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::search::busy_sides::{Bound, BusySides};
use crate::search::rectangles::all_bases;
pub(super) use crate::search::shapes::AnyOrder;
use crate::search::steps::Rule;
use crate::search::surroundings::Value;
use crate::word::{Column, Span, WORD_BITS, Word, low_half};

/// The place with the largest boundary value; ties: the first.
pub(super) struct Boundary;

impl Best for Boundary {
    const VALUE: Value = Value::OfBoundary;

    fn in_plane(
        occupancy: &Occupancy<'_>,
        sides: Sides,
        rule: Option<Rule<'_>>,
        words: &mut [Word],
        draft: &Draft<'_, '_>,
    ) -> Option<Block> {
        let steps = rule.map(|rule| rule.steps(&[sides.w, sides.h]));
        let stride = occupancy.stride();
        let bases = all_bases(occupancy, sides, words);
        let busy_sides = BusySides::of_places(bases, stride);
        let mut best: Option<(u32, Submesh)> = None;
        let mut bound = Bound::new(sides, 0);
        for (at, &places) in bases.iter().enumerate() {
            let mut places = places & steps.map_or(Word::MAX, |steps| steps.columns(at, stride));
            if places == 0 {
                continue;
            }
            loop {
                let worth = places & busy_sides.may_reach(at, &bound);
                if worth == 0 {
                    break;
                }
                let (row, word) = (at / stride, at % stride);
                draft.poll();
                let bit = worth.trailing_zeros();
                let x = word as u32 * WORD_BITS + bit;
                let place = Submesh {
                    base: Coord::new(x as u16, row as u16),
                    sides,
                };
                let value = boundary_value_in_rows(place, occupancy, busy_sides.sides(at));
                if best.is_none_or(|(most, _)| value > most) {
                    best = Some((value, place));
                    bound = Bound::new(sides, value + 1);
                }
                // The places after this one.
                places &= Word::MAX << bit << 1;
            }
        }
        best.map(|(_, place)| place.into())
    }
}

/// The boundary value of a free submesh. The bits at its base say whether the submesh touches
/// anything at the left, at the right, below and above.
// A function of its own, so that the loop over the places has the registers.
#[inline(never)]
fn boundary_value_in_rows(
    place: Submesh,
    occupancy: &Occupancy<'_>,
    [left, right, below, above]: [Word; 4],
) -> u32 {
    let Submesh { base, sides } = place;
    let (x, y) = (u32::from(base.x), u32::from(base.y));
    let (w, h) = (u32::from(sides.w), u32::from(sides.h));
    let mesh = occupancy.grid();
    let stride = occupancy.stride();
    let rows = &occupancy.busy_rows()[y as usize * stride..(y + h) as usize * stride];
    let touches = |side: Word| side >> (x % WORD_BITS) & 1 != 0;
    // All nodes outside of the mesh are busy.
    let column = |x: Option<u32>| {
        let x = x.filter(|&x| x < mesh.side(0).into());
        x.map_or(h, |x| {
            let words = Column::new(rows, stride, (x / WORD_BITS) as usize);
            let bits = words.map(|word| low_half(word >> (x % WORD_BITS) & 1));
            bits.sum::<u32>()
        })
    };
    let row = |y: Option<u32>| {
        let y = y.filter(|&y| y < mesh.rows());
        y.map_or(w, |y| Span::new(x, w).count(occupancy.busy_row(y as usize)))
    };
    let mut value = 0;
    if touches(left) {
        value += column(x.checked_sub(1));
    }
    if touches(right) {
        value += column(Some(x + w));
    }
    if touches(below) {
        value += row(y.checked_sub(1));
    }
    if touches(above) {
        value += row(Some(y + h));
    }
    value
}
