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
//! (`search/few.rs`). Else O(H * ceil(W / word) * (log a + log b)) to find the free places, O(1) for each of
//! them, and O(b + ceil(a / word)) for each run of places in a row: beside a place within the run nothing is busy, and above and below it
//! what changes from one place to the next are the nodes at the ends. A release takes nothing. Scratch: as many words as the occupancy.
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
    let mut best: Option<(u32, Coord)> = None;
    let rows = (0..).zip(bases.chunks_exact(stride));
    for (y, bases) in rows.filter(|(_, bases)| bases.iter().any(|&word| word != 0)) {
        let places = Places::new(occupancy, sides, y);
        for (start, len) in runs(bases) {
            draft.worked(500 + 40 * len + 20 * u32::from(sides.h));
            let most = best.map_or(0, |(most, _)| most);
            if let Some((value, x)) = places.best(start, start + len - 1, most) {
                best = Some((value, Coord::new(x as u16, y as u16)));
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

/// Places whose lowest row is `y`.
struct Places<'a> {
    occupancy: &'a Occupancy<'a>,
    below: Row<'a>,
    above: Row<'a>,
    y: u32,
    w: u32,
    h: u32,
}

impl<'a> Places<'a> {
    fn new(occupancy: &'a Occupancy<'_>, sides: Sides, y: u32) -> Self {
        let (w, h) = (u32::from(sides.w), u32::from(sides.h));
        Places {
            occupancy,
            below: Row::of(occupancy, y.checked_sub(1)),
            above: Row::of(occupancy, Some(y + h)),
            y,
            w,
            h,
        }
    }

    /// The first of the largest boundary values of a run of free places, with the column, if it is larger than `most`. Beside a place of the run nothing is busy where
    /// there is another.
    fn best(&self, first: u32, last: u32, mut most: u32) -> Option<(u32, u32)> {
        // No more nodes are busy than there are.
        let ends = if first == last { 2 } else { 1 };
        if 2 * self.w + ends * self.h <= most {
            return None;
        }
        let mut best = None;
        // Between the ends none has more.
        let between = match last - first {
            0 | 1 => 0,
            rest => self.above_and_below(first, rest + self.w).min(2 * self.w),
        };
        let mut x = first;
        let mut value = self.above_and_below(x, self.w);
        loop {
            let ends = u32::from(x == first) + u32::from(x == last);
            if value + ends * self.h > most {
                let mut value = value;
                if x == first {
                    value += self.in_column(x.checked_sub(1));
                }
                if x == last {
                    value += self.in_column(Some(x + self.w));
                }
                if value > most {
                    most = value;
                    best = Some((value, x));
                }
            }
            if x == last {
                return best;
            }
            if x + 1 < last && between <= most {
                x = last;
                value = self.above_and_below(x, self.w);
            } else {
                let rows = [self.below, self.above];
                value += rows.iter().map(|row| row.bit(x + self.w)).sum::<u32>();
                value -= rows.iter().map(|row| row.bit(x)).sum::<u32>();
                x += 1;
            }
        }
    }

    /// The busy nodes of these columns above and below the places.
    #[inline]
    fn above_and_below(&self, x: u32, columns: u32) -> u32 {
        self.below.count(x, columns) + self.above.count(x, columns)
    }

    /// The busy nodes of a column beside a place; outside the mesh all of them.
    #[inline]
    fn in_column(&self, column: Option<u32>) -> u32 {
        let column = column.filter(|&x| x < self.occupancy.grid().side(0).into());
        column.map_or(self.h, |x| {
            let stride = self.occupancy.stride();
            let first = self.y as usize * stride + (x / WORD_BITS) as usize;
            let words = self.occupancy.busy_rows()[first..].iter().step_by(stride);
            let rows = words.take(self.h as usize);
            rows.map(|word| u32::from(word >> (x % WORD_BITS) & 1 == 1))
                .sum()
        })
    }
}

/// What is busy in a row; outside the mesh all nodes.
#[derive(Clone, Copy)]
struct Row<'a>(Option<&'a [Word]>);

impl<'a> Row<'a> {
    #[inline]
    fn of(occupancy: &'a Occupancy<'_>, y: Option<u32>) -> Self {
        let y = y.map(|y| y as usize);
        let y = y.filter(|&y| y < occupancy.layout().rows());
        Row(y.map(|y| occupancy.busy_row(y)))
    }

    /// In these columns.
    #[inline]
    fn count(self, x: u32, w: u32) -> u32 {
        self.0.map_or(w, |row| Span::new(x, w).count(row))
    }

    /// In one column: 1 or 0.
    #[inline]
    fn bit(self, x: u32) -> u32 {
        self.0.map_or(1, |row| {
            u32::from(row[(x / WORD_BITS) as usize] >> (x % WORD_BITS) & 1 == 1)
        })
    }
}
