//! The search for a free box in the order of tree collapsing: notation by notation, on any grid.

use super::along_axis::{keep_below, keep_least};
use super::boxes::{
    Nothing, check_sides, first_node, first_rectangle, free_nodes, free_nodes_of_plane,
    leave_starts,
};
use super::columns::Scratch;
use super::orders::Orders;
use super::shapes::NoneLeft;
use crate::draft::Draft;
use crate::grid::next_order;
use crate::grid::{Block, DIMENSIONS_MAX, Grid, Shape, Tuple, sort_descending};
use crate::mesh::Sides;
use crate::notation::{Notation, Notations};
use crate::occupancy::Occupancy;
use crate::word::Word;

/// Where a box may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Starts {
    /// Anywhere.
    Anywhere,
    /// Where it does not wrap around.
    Unwrapped,
}

/// The radices of a shape, the radix for the highest dimension first. Where coordinates are written
/// with the highest dimension first, this is the order in which the radices are named; elsewhere
/// the last named radix comes first. The radices are the extents above 1; with [`Orders::AsNamed`],
/// where there are two dimensions, both extents.
pub(crate) fn radices(grid: &Grid, shape: Shape, orders: Orders) -> Tuple {
    let named = match orders {
        Orders::AsNamed => {
            let (first, second) = shape.first_two();
            Tuple::new(2, |at| if at == 0 { first } else { second })
        }
        _ => shape.extents().filtered(|extent| extent > 1),
    };
    if grid.is_written_high_first() {
        named
    } else {
        named.reversed()
    }
}

/// The first free box with these radices: the notations in the order of algorithm G*, for each the
/// orders of the radices, for each the start positions in the dimensions that extend, then the
/// positions in the others, both in lexicographic order.
///
/// `scratch` has twice as many words as the occupancy. There must not be more radices than
/// dimensions.
///
/// # Time complexity
///
/// O(notations * orders * m * log side * words).
pub(crate) fn first_in_tree(
    occupancy: &Occupancy<'_>,
    radices: Tuple,
    orders: Orders,
    starts: Starts,
    scratch: &mut [Word],
    draft: &mut Draft<'_, '_>,
) -> Option<Block> {
    let dimensions = occupancy.grid().dimensions();
    let mut notations = Notations::new(dimensions as u8, radices.len() as u8);
    while let Some(notation) = notations.next() {
        let mut order = radices;
        // The most radices after which no node was left, over all orders.
        let mut exhausted = 0;
        loop {
            match first_along(occupancy, notation, &order, starts, scratch, draft) {
                Ok(block) => return Some(block),
                Err(NoneLeft { dimensions }) => {
                    exhausted = exhausted.max(dimensions);
                    if orders != Orders::All || !next_around(&mut order, &radices, dimensions) {
                        break;
                    }
                }
            }
        }
        notations.leave_out(exhausted);
    }
    None
}

/// Moves to the next order of the radices that differs from this one within the leftmost
/// `exhausted` radices. All distinct orders form a circle in lexicographic order. Returns false
/// when the circle is back at the order `first`.
fn next_around(order: &mut [u16], first: &[u16], exhausted: usize) -> bool {
    // Orders with the same beginning follow each other, so the circle may end among them.
    if order[..exhausted] == first[..exhausted] && *order < *first {
        return false;
    }
    sort_descending(&mut order[exhausted..]);
    next_order(order);
    *order != *first
}

/// The first free box with these radices along the dimensions in which the notation extends.
pub(crate) fn first_along(
    occupancy: &Occupancy<'_>,
    notation: Notation,
    radices: &[u16],
    starts: Starts,
    scratch: &mut [Word],
    draft: &mut Draft<'_, '_>,
) -> Result<Block, NoneLeft> {
    let layout = occupancy.layout();
    check_sides(layout, notation.stars().zip(radices.iter().copied()))?;
    if layout.is_plane()
        && let &[h, w] = radices
    {
        // The lowest row, then the lowest column: first fit.
        let found = first_rectangle(occupancy, Sides::new(w, h), Scratch::Blank(scratch), draft);
        return found.ok_or(NoneLeft { dimensions: 2 });
    }
    let (bases, spare) = if layout.is_plane() {
        free_nodes_of_plane(occupancy, scratch)
    } else {
        free_nodes(occupancy, scratch)
    };
    for ((dimension, &radix), dimensions) in notation.stars().zip(radices).zip(1..) {
        draft.poll();
        let none_left = |Nothing| NoneLeft { dimensions };
        leave_starts(layout, dimension, radix, bases, spare).map_err(none_left)?;
        let axis = layout.axis(dimension);
        if axis.wraps && starts == Starts::Unwrapped {
            keep_below(axis, axis.side - u32::from(radix) + 1, bases);
            if bases.iter().all(|&word| word == 0) {
                return Err(NoneLeft { dimensions });
            }
        }
    }
    let mut extents = [1; DIMENSIONS_MAX];
    for (dimension, &radix) in notation.stars().zip(radices) {
        extents[dimension] = radix;
        draft.poll();
        let axis = layout.axis(dimension);
        // If the box has all nodes of a ring, every start gives the same box.
        let around = u32::from(radix) == axis.side;
        keep_least(axis, if around { 1 } else { axis.side }, bases, spare);
    }
    for dimension in notation.selects() {
        draft.poll();
        let axis = layout.axis(dimension);
        keep_least(axis, axis.side, bases, spare);
    }
    // Exactly one node is left here, unless no node was free at the beginning.
    let first = first_node(bases).ok_or(NoneLeft { dimensions: 0 })?;
    Ok(layout.grid().block_at(first, |at| extents[at].into()))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    /// On a mesh whose rows have padding there are more words than the nodes take, and what the
    /// scratch words hold at first does not matter.
    #[test]
    #[cfg(feature = "tree-collapsing")]
    fn what_is_left_in_the_scratch_words_is_not_found() {
        use crate::mesh::{Mesh, Submesh};
        use crate::{Allocator, AllocatorStorage, Request, StrategyKind, word::WORD_BITS};

        let (w, h) = (WORD_BITS as u16 * 3 / 2, 2);
        let mut storage = AllocatorStorage::<4, 8, 2, 0>::new();
        let memory = storage.memory();
        memory.processors.workspace.words.fill(Word::MAX);
        let mesh = Mesh::new(w, h).unwrap().grid();
        let mut allocator = Allocator::new(memory, mesh, StrategyKind::TreeCollapsing).unwrap();
        for x in [0, 2] {
            let held = allocator.allocate(&Request::submesh(2, 2)).unwrap();
            let block = allocator.blocks(&held).unwrap().next();
            assert_eq!(block, Some(Submesh::new(x, 0, 2, 2).into()));
        }
    }

    #[test]
    fn orders_go_once_around_from_any_of_them() {
        for first in [[2, 3, 3, 4], [4, 3, 3, 2], [3, 2, 4, 3]] {
            for exhausted in 1..=4 {
                let mut order = first;
                let mut seen = std::vec![order[..exhausted].to_vec()];
                while next_around(&mut order, &first, exhausted) {
                    seen.push(order[..exhausted].to_vec());
                }
                // Every beginning once, but that of the first order may come again at the end.
                let last = seen.len() - 1;
                if seen[last] == seen[0] && last > 0 {
                    seen.pop();
                }
                let len = seen.len();
                seen.sort();
                seen.dedup();
                assert_eq!((len, seen.len()), ([3, 7, 12, 12][exhausted - 1], len));
            }
        }
        assert!(!next_around(&mut [], &[], 0));
    }
}
