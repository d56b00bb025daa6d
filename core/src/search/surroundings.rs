//! The box with the best surroundings on any grid: best fit and the busy list.

use super::along_axis::keep_below;
use super::boxes::{nodes, starts};
use super::shapes::NoneLeft;
use super::steps::Rule;
use crate::draft::Draft;
use crate::grid::arcs::{self, Arcs, arcs_of, block_of};
use crate::grid::{Arc, Block, Grid};
use crate::occupancy::Occupancy;
use crate::word::{WORD_BITS, Word, bit, low_half};

/// The value by which places are compared; the place with the largest value is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// The number of neighbours of its base node, in all directions, that are busy or outside the
    /// grid.
    OfBase,
    /// Its boundary value: over all its nodes, the neighbours beyond it that are busy or outside
    /// the grid.
    OfBoundary,
}

/// The free box with these sides that has the largest value. If several have it, the box that
/// starts at the smallest node number. The box begins where the rule allows it. `scratch` has twice
/// as many words as the occupancy.
///
/// # Time complexity
///
/// O(dimensions * log side * words) to find the places. Then O(dimensions) for each place, and
/// O(words of its sides) for each place whose boundary value may be the largest.
pub(crate) fn best(
    occupancy: &Occupancy<'_>,
    extents: &[u16],
    value: Value,
    rule: Option<Rule<'_>>,
    scratch: &mut [Word],
    draft: &Draft<'_, '_>,
) -> Result<Block, NoneLeft> {
    let layout = occupancy.layout();
    let grid = layout.grid();
    let bases = starts(occupancy, extents, scratch, draft)?;
    for (dimension, &extent) in extents.iter().enumerate() {
        if extent == grid.side(dimension) {
            // A box that spans a ring has one place along it.
            keep_below(layout.axis(dimension), 1, bases);
        }
    }
    let bases = &*bases;
    let steps = rule.map(|rule| rule.steps(extents));
    let mut best: Option<(u32, Block)> = None;
    for base in nodes(bases) {
        draft.poll();
        if steps.is_some_and(|steps| !steps.allow(grid, base)) {
            continue;
        }
        let least = best.map_or(0, |(most, _)| most + 1);
        let place = layout.grid().block_at(base, |at| extents[at].into());
        let value = match value {
            Value::OfBase => busy_neighbours(occupancy, base, least),
            Value::OfBoundary => {
                let arcs = arcs_of(grid, place);
                // If the place one position further is free, nothing is busy on that side.
                let is_free = |dimension: usize, start: u16| {
                    let stride = layout.axis(dimension).stride;
                    let own = u32::from(arcs[dimension].start) * stride;
                    let node = base - own + u32::from(start) * stride;
                    bit(bases, node)
                };
                boundary(occupancy, &arcs[..extents.len()], least, is_free)
            }
        };
        if let Some(value) = value {
            best = Some((value, place));
        }
    }
    let dimensions = extents.len();
    best.map(|(_, place)| place).ok_or(NoneLeft { dimensions })
}

/// The number of directions in which the neighbour of a node is busy or outside the grid; `None` if
/// it is less than `least`.
fn busy_neighbours(occupancy: &Occupancy<'_>, node: u32, least: u32) -> Option<u32> {
    let layout = occupancy.layout();
    let bits = occupancy.busy_rows();
    let mut busy = 0;
    for dimension in 0..layout.grid().dimensions() {
        let axis = layout.axis(dimension);
        let at = (node / axis.stride % axis.side) as u16;
        let side = layout.grid().along(dimension);
        let own = Arc { start: at, len: 1 };
        for neighbour in [side.before(own), side.after(own)] {
            busy += match neighbour {
                None => 1,
                Some(to) => {
                    let there = node - u32::from(at) * axis.stride + u32::from(to) * axis.stride;
                    let word = bits[(there / WORD_BITS) as usize];
                    low_half(word >> (there % WORD_BITS) & 1)
                }
            };
        }
    }
    (busy >= least).then_some(busy)
}

/// The boundary value of a free box; `None` if it is less than `least`.
///
/// `is_free` gets a dimension, and the start of the place that is one position back or forward
/// along it. It returns whether that place is known to be free. If so, nothing on that side is
/// busy.
#[inline]
pub(crate) fn boundary(
    occupancy: &Occupancy<'_>,
    place: &[Arc],
    least: u32,
    is_free: impl Fn(usize, u16) -> bool,
) -> Option<u32> {
    let grid = occupancy.grid();
    let area = arcs::area(place);
    // At first all neighbours count, at the sides where some may be busy. Then the free neighbours
    // are subtracted.
    let mut value = 0;
    let mut sides = heapless::Vec::<(u8, u16), { 2 * crate::grid::DIMENSIONS_MAX }>::new();
    for (dimension, &arc) in place.iter().enumerate() {
        let side = grid.along(dimension);
        if side.wraps && side.is_whole(arc) {
            continue;
        }
        let nodes = area / u32::from(arc.len);
        let ends = [(side.before(arc), false), (side.after(arc), true)];
        for (beside, is_forward) in ends {
            let Some(beside) = beside else {
                value += nodes;
                continue;
            };
            let start = if is_forward {
                side.after(Arc { len: 1, ..arc }).unwrap_or(0)
            } else {
                beside
            };
            if !is_free(dimension, start) {
                value += nodes;
                // There is room for both sides of each dimension.
                let _ = sides.push((dimension as u8, beside));
            }
        }
    }
    for (dimension, beside) in sides {
        if value < least {
            return None;
        }
        value -= free_beside(grid, occupancy, place, dimension.into(), beside);
    }
    (value >= least).then_some(value)
}

/// The number of free processors beside a place, at a position along a dimension.
fn free_beside(
    grid: &Grid,
    occupancy: &Occupancy<'_>,
    place: &[Arc],
    dimension: usize,
    beside: u16,
) -> u32 {
    let mut arcs = Arcs::default();
    let arcs = &mut arcs[..place.len()];
    arcs.copy_from_slice(place);
    arcs[dimension] = Arc {
        start: beside,
        len: 1,
    };
    occupancy.free_in(block_of(grid, arcs))
}
