//! Boxes of any grid, as an arc of positions along each dimension: [`Arcs`].

use super::arc::Arc;
use super::block::Block;
use super::limits::DIMENSIONS_MAX;
use super::topology::Grid;

/// The arcs of a box. Arcs beyond the dimensions of the grid are not used.
pub(crate) type Arcs = [Arc; DIMENSIONS_MAX];

/// The arcs of a block. Along a ring that the block spans, the arc starts at 0, wherever the block
/// starts.
pub(crate) fn arcs_of(grid: &Grid, block: Block) -> Arcs {
    let mut arcs = Arcs::default();
    for (dimension, (own, arc)) in grid.arcs(block).zip(&mut arcs).enumerate() {
        let start = if grid.along(dimension).is_whole(own) {
            0
        } else {
            own.start
        };
        *arc = Arc { start, ..own };
    }
    arcs
}

/// The block with these arcs.
pub(crate) fn block_of(grid: &Grid, arcs: &[Arc]) -> Block {
    grid.encode(|at| arcs[at].start.into(), |at| arcs[at].len.into())
}

/// The number of processors of a box.
#[inline]
pub(crate) fn area(arcs: &[Arc]) -> u32 {
    arcs.iter().map(|arc| u32::from(arc.len)).product()
}

/// Whether two boxes share a processor.
#[inline]
pub(crate) fn overlap(grid: &Grid, one: &[Arc], other: &[Arc]) -> bool {
    let mut both = one.iter().zip(other).enumerate();
    both.all(|(at, (&one, &other))| grid.along(at).meet(one, other))
}

/// The size of the largest box that is left of `whole` when `taken` is taken out; the whole size if
/// the two do not overlap.
///
/// The largest box is as long as `whole` in all dimensions but one.
#[inline]
pub(crate) fn left_without(grid: &Grid, whole: &[Arc], taken: &[Arc]) -> u32 {
    let area = area(whole);
    if !overlap(grid, whole, taken) {
        return area;
    }
    let both = whole.iter().zip(taken).enumerate();
    let left = both.map(|(at, (&whole, &taken))| {
        let left = grid.along(at).left(whole, taken);
        area / u32::from(whole.len) * u32::from(left)
    });
    left.max().unwrap_or(0)
}
