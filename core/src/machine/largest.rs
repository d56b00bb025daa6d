//! The largest free box of a grid: [`largest_box`].
//!
//! From every processor boxes grow: along dimension 0 as far as all lines of the box are free, and
//! along the other dimensions by one line after the other. A box that cannot become larger than the
//! best one so far is not tried.

use super::{DESCRIBED_MAX, Extents, volume};
use crate::grid::Block;
use crate::node::NodeId;
use crate::occupancy::Occupancy;

/// The largest free box; ties: the first in the order of first processors. `None` if no processor
/// is free, or the grid has more than [`DESCRIBED_MAX`] dimensions. The search calls `poll` in
/// between ([`Pauses`](crate::Pauses)). Nothing may be pending.
///
/// # Time complexity
///
/// O(N * lines of N processors * lines of a box) in the worst case; mostly far less.
pub(crate) fn largest_box(occupancy: &Occupancy<'_>, poll: &dyn Fn()) -> Option<Block> {
    let grid = occupancy.grid();
    let n = grid.dimensions();
    if n > DESCRIBED_MAX {
        return None;
    }
    let side = |at: usize| u32::from(grid.side(at));
    let mut best: Option<(u32, NodeId, Extents)> = None;
    for node in (0..grid.nodes()).map(NodeId) {
        poll();
        let Some(start) = grid.coordinates(node) else {
            continue;
        };
        // How far a box may reach from here.
        let reach = |at: usize| match start.get(at) {
            Some(&from) if !grid.wraps(at) => side(at) - u32::from(from),
            Some(_) => side(at),
            None => 1,
        };
        let reaches = [reach(0), reach(1), reach(2), reach(3)];
        let is_larger = |size: u32| best.is_none_or(|(most, ..)| size > most);
        let most_above = reaches[1] * reaches[2] * reaches[3];
        if !is_larger(free_run(occupancy, &start, [0; 3]) * most_above) {
            continue;
        }
        // The runs of boxes of 1, 2, .. lines get shorter with each line.
        'w: for w in 1..=reaches[3] {
            'z: for z in 1..=reaches[2] {
                let mut run = reaches[0];
                for y in 1..=reaches[1] {
                    for (z, w) in (0..w).flat_map(|w| (0..z).map(move |z| (z, w))) {
                        run = run.min(free_run(occupancy, &start, [y - 1, z, w]));
                    }
                    poll();
                    let size = run * y * z * w;
                    if best.is_none_or(|(most, ..)| size > most) && run > 0 {
                        let extents = [run, y, z, w].map(|extent| extent as u16);
                        best = Some((size, node, extents));
                    }
                    let most = best.map_or(0, |(most, ..)| most);
                    if run * reaches[1] * z * w <= most {
                        // No wider box of this depth is larger. If this was the narrowest box, no
                        // deeper one is larger either.
                        if y == 1 && run * most_above <= most {
                            match z {
                                1 => break 'w,
                                _ => break 'z,
                            }
                        }
                        break;
                    }
                }
            }
        }
    }
    let (_, node, extents) = best?;
    debug_assert!(volume(&extents) > 0);
    let start = grid.coordinates(node)?;
    grid.block(&start, &extents[..n])
}

/// The number of free processors in a row along dimension 0, from `start` on, where `by` moves the
/// start along the other dimensions.
fn free_run(occupancy: &Occupancy<'_>, start: &[u16], by: [u32; DESCRIBED_MAX - 1]) -> u32 {
    let grid = occupancy.grid();
    let (mut line, mut stride) = (0, 1);
    for (at, by) in (1..start.len()).zip(by) {
        let side = u32::from(grid.side(at));
        line += (u32::from(start[at]) + by) % side * stride;
        stride *= side;
    }
    let (from, side) = (start[0].into(), grid.side(0).into());
    let run = occupancy.free_run(line, from, side);
    if from + run == side && grid.wraps(0) {
        run + occupancy.free_run(line, 0, from)
    } else {
        run
    }
}
