//! Busy list: the place with the largest boundary value.
//!
//! # Source
//!
//! D. D. Sharma and D. K. Pradhan, "A Fast and Efficient Strategy for Submesh Allocation in Mesh-Connected
//! Parallel Computers", Proc. 5th IEEE Symp. on Parallel and Distributed Processing, 1993; described
//! by Kim and Yoon 1995, section II.5.
//!
//! The *boundary value* of a submesh is the number of busy neighbours of its nodes, summed over the nodes; a
//! node at the border of the mesh has a busy neighbour beyond it.
//!
//! # Differences from the paper
//!
//! - Sharma and Pradhan generate candidates at the sides of allocated submeshes and in the corners of
//!   the mesh. Here every free place is a candidate; the restriction never binds, since a place that touches
//!   nothing can slide until it does without losing contact.
//! - Ties go to the first base node in row-major order. `b x a` is considered only if no `a x b` is free;
//!   letting both orientations compete is better, and is not what the published curves show.
//!
//! # Complexity and memory
//!
//! While few blocks are busy, O(blocks^3) on any mesh: only places whose sides are in line with those of blocks are looked at
//! (`search/few.rs`). Else O(H * ceil(W / word) * (log a + log b)) to find the free places, and O(ceil(a / word)) for each of
//! them; the columns beside a place are counted once for a row of places and then kept up to date. A release takes
//! nothing. Scratch: as many words as the occupancy, and a count for each column on the stack.
//!
//! # Recognition
//!
//! Complete: a free `a x b` or `b x a` is found whenever there is one.
//!
//! # Example
//!
//! Kim and Yoon 1995, section III.2: in the situation of their Fig. 2 a request (3, 2) goes to a place with the
//! largest boundary value, 7: the top of `S2`, or the right end of `S3`.
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
//! let mut storage: Storage<32, 16> = Storage::new();
//! let mut controller = Controller::new(storage.memory(), Configuration {
//!     machine: Mesh::new(10, 10)?.into(),
//!     strategy: StrategyKind::BusyList,
//!     scheduler: SchedulerKind::Fcfs,
//! })?;
//! for busy in [Submesh::between(7, 0, 9, 4), Submesh::between(7, 8, 9, 9), Submesh::between(0, 5, 3, 9)] {
//!     controller.handle(&Command::MarkFaulty { block: busy.into() }, 0, &mut |_| ());
//! }
//! let mut place = |job, w, h| {
//!     let request = Request::submesh(w, h).with_flags(Flags::NO_WAIT);
//!     let mut granted = None;
//!     controller.handle(&Command::Submit { job: JobId(job), request }, 0, &mut |reply| {
//!         if let Reply::Grant(grant) = reply {
//!             granted = Some(grant.blocks[0]);
//!         }
//!     });
//!     granted
//! };
//! assert_eq!(place(1, 3, 2), Some(Submesh::between(4, 8, 6, 9).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Strategy;
use super::common::demand_either_way;
use crate::blocks::Draft;
use crate::error::Refusal;
use crate::grid::MESH_SIDE_MAX;
use crate::mesh::{Coord, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search::few::FewBlocks;
use crate::search::rectangles::all_bases;
use crate::word::{Span, WORD_BITS, Word, runs};

simple_strategy! {
    /// Busy list.
    BusyList, mesh: Mesh
}

impl Strategy for BusyList<'_> {
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        demand_either_way(request, self.mesh)
    }

    fn recognizes(&self, request: &Request, sides: Sides) -> bool {
        request.allows(sides)
    }

    /// With so many, 16 on 64 x 64, the bitmap takes as long.
    fn blocks_unmarked(&self) -> usize {
        2 * self.mesh.nodes().isqrt().isqrt() as usize
    }

    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool {
        request
            .orientations()
            .find_map(|sides| best(occupancy, sides, self.workspace.words, draft))
            .map(|submesh| draft.push(submesh))
            .is_some()
    }
}

/// The free submesh of these sides with the largest boundary value.
fn best(
    occupancy: &Occupancy<'_>,
    sides: Sides,
    scratch: &mut [Word],
    draft: &mut Draft<'_, '_>,
) -> Option<Submesh> {
    if let Some(blocks) = FewBlocks::of(occupancy) {
        let mesh = occupancy.grid();
        let (w, h) = (mesh.side(0), mesh.side(1));
        return blocks.best(sides, |place, near| {
            boundary_value(place, near, Sides::new(w, h))
        });
    }
    let stride = occupancy.stride();
    let bases = all_bases(occupancy, sides, scratch);
    let mut columns = Columns::new(occupancy, sides.h);
    let mut best: Option<(u32, Coord)> = None;
    for (y, bases) in bases.chunks_exact(stride).enumerate() {
        for (start, len) in runs(bases) {
            columns.move_to(y);
            draft.worked(1_000 + 130 * len);
            for x in start..start + len {
                let span = Span::new(x, u32::from(sides.w));
                let value = columns.beside(x, sides.w)
                    + busy_in_row(occupancy, y.checked_sub(1), span, sides.w)
                    + busy_in_row(occupancy, Some(y + usize::from(sides.h)), span, sides.w);
                if best.is_none_or(|(most, _)| value > most) {
                    best = Some((value, Coord::new(x as u16, y as u16)));
                }
            }
        }
    }
    best.map(|(_, base)| Submesh { base, sides })
}

/// The boundary value of a free submesh that touches no other blocks.
fn boundary_value(place: Submesh, blocks: &[Submesh], mesh: Sides) -> u32 {
    let Submesh { base, sides } = place;
    let (right, top) = (base.x + sides.w, base.y + sides.h);
    let beside = u32::from(base.x == 0) + u32::from(right == mesh.w);
    let across = u32::from(base.y == 0) + u32::from(top == mesh.h);
    let border = beside * u32::from(sides.h) + across * u32::from(sides.w);
    let contacts = blocks.iter().map(|block| {
        let (block_right, block_top) = (block.base.x + block.sides.w, block.base.y + block.sides.h);
        // Neither is negative: they touch. Exactly one is 0 if they share more than a corner.
        let columns = right
            .min(block_right)
            .saturating_sub(base.x.max(block.base.x));
        let rows = top.min(block_top).saturating_sub(base.y.max(block.base.y));
        let meets_beside = block_right == base.x || right == block.base.x;
        let meets_across = block_top == base.y || top == block.base.y;
        u32::from(rows) * u32::from(meets_beside) + u32::from(columns) * u32::from(meets_across)
    });
    border + contacts.sum::<u32>()
}

/// The busy nodes of a span of `w` nodes in a row; outside the mesh all of them.
#[inline]
fn busy_in_row(occupancy: &Occupancy<'_>, row: Option<usize>, span: Span, w: u16) -> u32 {
    match row.filter(|&row| row < occupancy.layout().rows()) {
        None => u32::from(w),
        Some(row) => {
            let row = occupancy.busy_row(row);
            (span.first..=span.last)
                .map(|word| (row[word] & span.mask(word)).count_ones())
                .sum()
        }
    }
}

/// For each column, the number of busy nodes in `h` rows from a row on that only moves upwards.
struct Columns<'a> {
    occupancy: &'a Occupancy<'a>,
    h: usize,
    /// The first row, once there is one.
    row: Option<usize>,
    busy: [u16; MESH_SIDE_MAX as usize],
}

impl<'a> Columns<'a> {
    fn new(occupancy: &'a Occupancy<'_>, h: u16) -> Self {
        Columns {
            occupancy,
            h: usize::from(h),
            row: None,
            busy: [0; MESH_SIDE_MAX as usize],
        }
    }

    /// Counts the rows `y..y + h`, all of which exist.
    fn move_to(&mut self, y: usize) {
        let from = match self.row {
            Some(row) if row == y => return,
            Some(row) if y - row < self.h => row,
            _ => {
                self.busy.fill(0);
                for row in y..y + self.h {
                    self.add(row, 1);
                }
                self.row = Some(y);
                return;
            }
        };
        for row in from..y {
            self.add(row, u16::MAX);
            self.add(row + self.h, 1);
        }
        self.row = Some(y);
    }

    /// Adds `by` (or takes 1 away, as `u16::MAX`) in every column that is busy in this row.
    fn add(&mut self, row: usize, by: u16) {
        let len = u32::from(self.occupancy.grid().side(0));
        for (at, &word) in self.occupancy.busy_row(row).iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                let x = at as u32 * WORD_BITS + rest.trailing_zeros();
                if x >= len {
                    break;
                }
                self.busy[x as usize] = self.busy[x as usize].wrapping_add(by);
                rest &= rest - 1;
            }
        }
    }

    /// The busy nodes in the columns at both sides of `x..x + w`; outside the mesh all of them.
    #[inline]
    fn beside(&self, x: u32, w: u16) -> u32 {
        let outside = self.h as u32;
        let count = |column: u32| u32::from(self.busy[column as usize]);
        let left = x.checked_sub(1).map_or(outside, count);
        let right = x + u32::from(w);
        let right = match right < u32::from(self.occupancy.grid().side(0)) {
            true => count(right),
            false => outside,
        };
        left + right
    }
}
