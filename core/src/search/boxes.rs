//! The search for a free box on any grid, over words of nodes.
//!
//! The nodes at which a free box of given extents starts are found for all nodes at once: a node is
//! left if it and those that follow it along a dimension are free. A dimension of extent e takes
//! log2(e) steps, each the AND of the bitmap with itself, turned along that dimension.

use super::columns::Scratch;
use super::rectangles::{self, all_bases};
use super::steps::Rule;
use super::turned::reduce;
use crate::draft::Draft;
use crate::grid::next_order;
use crate::grid::{Block, Grid, Shape, Tuple, sort_descending};
use crate::layout::Layout;
use crate::mesh::{Coord, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::word::{WORD_BITS, Word, complement, words_for};

/// There is no free box: no node was left after this many of the dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoneLeft {
    pub(crate) dimensions: usize,
}

/// The free box with the extents of a request, laid along dimensions 0, 1, .. as they are named and
/// 1 in the others, that starts at the smallest node number at which the rule lets it begin.
///
/// `scratch` has twice as many words as the occupancy, on a two-dimensional mesh as many.
///
/// # Source
///
/// First fit, on any grid.
///
/// # Time complexity
///
/// On a two-dimensional mesh that of [`rectangles::first_fit`]; on any other grid O(dimensions *
/// log side * words).
#[inline]
pub(crate) fn first_box(
    occupancy: &Occupancy<'_>,
    request: &Request,
    rule: Option<Rule<'_>>,
    scratch: Scratch<'_>,
    draft: &mut Draft<'_, '_>,
) -> Option<Block> {
    if occupancy.layout().is_plane() && rule.is_none() {
        first_rectangle(occupancy, request.sides(), scratch, draft)
    } else {
        first_named(occupancy, request, rule, scratch, draft)
    }
}

// A function of its own, so that the search on a two-dimensional mesh stays short.
#[inline(never)]
fn first_named(
    occupancy: &Occupancy<'_>,
    request: &Request,
    rule: Option<Rule<'_>>,
    scratch: Scratch<'_>,
    draft: &mut Draft<'_, '_>,
) -> Option<Block> {
    let extents = padded(occupancy.grid(), request.shape);
    first_of_sides(occupancy, &extents, rule, scratch, draft)
}

/// [`first_box`] for the order in which the extents are named, then for every other distinct
/// assignment of the extents, ones included, to the dimensions, in ascending lexicographic order. A
/// request whose extents keep their order has only the first.
///
/// # Source
///
/// Adaptive scan, on any grid.
///
/// # Time complexity
///
/// That of [`first_box`] for each assignment. Those that begin like one for which no node was left
/// are not tried.
#[inline]
pub(crate) fn first_in_any_order(
    occupancy: &Occupancy<'_>,
    request: &Request,
    rule: Option<Rule<'_>>,
    mut scratch: Scratch<'_>,
    draft: &mut Draft<'_, '_>,
) -> Option<Block> {
    if !occupancy.layout().is_plane() {
        return first_of_assignments(occupancy, request, rule, scratch.words(), draft);
    }
    let mut orientations = request.orientations();
    match rule {
        None => orientations
            .find_map(|sides| first_rectangle(occupancy, sides, scratch.reborrow(), draft)),
        Some(_) => orientations.find_map(|Sides { w, h }| {
            first_of_sides(occupancy, &[w, h], rule, scratch.reborrow(), draft)
        }),
    }
}

// A function of its own, so that the search on a two-dimensional mesh stays short.
#[inline(never)]
fn first_of_assignments(
    occupancy: &Occupancy<'_>,
    request: &Request,
    rule: Option<Rule<'_>>,
    scratch: &mut [Word],
    draft: &mut Draft<'_, '_>,
) -> Option<Block> {
    let named = padded(occupancy.grid(), request.shape);
    let found = along(occupancy, &named, rule, scratch, draft);
    if found.is_ok() || !request.may_rotate() {
        return found.ok();
    }
    let mut extents = named;
    sort_descending(&mut extents);
    extents.reverse();
    loop {
        let tried = if *extents == *named {
            found
        } else {
            along(occupancy, &extents, rule, scratch, draft)
        };
        match tried {
            Ok(block) => return Some(block),
            Err(NoneLeft { dimensions }) => {
                // The last of those that begin in this way.
                sort_descending(&mut extents[dimensions..]);
                if !next_order(&mut extents) {
                    return None;
                }
            }
        }
    }
}

/// The first free submesh of exactly these sides, in row-major order, on a two-dimensional mesh.
#[inline]
pub(crate) fn first_rectangle(
    occupancy: &Occupancy<'_>,
    sides: Sides,
    scratch: Scratch<'_>,
    draft: &Draft<'_, '_>,
) -> Option<Block> {
    let base = rectangles::first_fit(occupancy, sides, scratch, draft)?;
    Some(Submesh { base, sides }.into())
}

/// The first free box with these sides by dimension, in the order of node numbers, that begins
/// where the rule allows it. `scratch` is as for [`first_box`].
///
/// # Time complexity
///
/// That of [`first_box`]; with a rule also O(1) for each free place before it.
pub(crate) fn first_of_sides(
    occupancy: &Occupancy<'_>,
    sides: &[u16],
    rule: Option<Rule<'_>>,
    scratch: Scratch<'_>,
    draft: &Draft<'_, '_>,
) -> Option<Block> {
    if !occupancy.layout().is_plane() {
        return along(occupancy, sides, rule, scratch.words(), draft).ok();
    }
    let sides = Sides::new(sides[0], sides[1]);
    let Some(rule) = rule else {
        return first_rectangle(occupancy, sides, scratch, draft);
    };
    let grid = occupancy.grid();
    if !sides.fits_in(Sides::new(grid.side(0), grid.side(1))) {
        return None;
    }
    let steps = rule.steps(&[sides.w, sides.h]);
    draft.poll();
    let bases = all_bases(occupancy, sides, scratch.words());
    let stride = occupancy.stride();
    let mut words = bases.iter().enumerate();
    let base = words.find_map(|(at, &bases)| {
        let hit = bases & steps.columns(at, stride);
        (hit != 0).then(|| Coord::of_lowest(hit, at, stride))
    })?;
    Some(Submesh { base, sides }.into())
}

/// The extents of a request in every dimension.
pub(crate) fn padded(grid: &Grid, shape: Shape) -> Tuple {
    let named = shape.extents();
    Tuple::new(grid.dimensions(), |at| named.get(at).copied().unwrap_or(1))
}

/// The free box with these extents that starts at the smallest node number at which the rule lets
/// it begin.
fn along(
    occupancy: &Occupancy<'_>,
    extents: &[u16],
    rule: Option<Rule<'_>>,
    scratch: &mut [Word],
    draft: &Draft<'_, '_>,
) -> Result<Block, NoneLeft> {
    let layout = occupancy.layout();
    check_sides(layout, extents.iter().copied().enumerate())?;
    let (bases, spare) = free_nodes(occupancy, scratch);
    for (dimension, &extent) in extents.iter().enumerate() {
        draft.poll();
        leave_starts(layout, dimension, extent, bases, spare).map_err(|_| NoneLeft {
            dimensions: dimension + 1,
        })?;
    }
    let first = match rule.map(|rule| rule.steps(extents)) {
        None => first_node(bases).ok_or(NoneLeft { dimensions: 0 })?,
        Some(steps) => {
            let is_allowed = |&node: &u32| {
                draft.poll();
                steps.allow(layout.grid(), node)
            };
            let dimensions = extents.len();
            let first = nodes(bases).find(is_allowed);
            first.ok_or(NoneLeft { dimensions })?
        }
    };
    Ok(layout.grid().block_at(first, |at| extents[at].into()))
}

/// Whether the extents fit the sides of their dimensions: what can be known before anything is
/// searched.
#[inline]
pub(super) fn check_sides(
    layout: &Layout,
    extents: impl Iterator<Item = (usize, u16)>,
) -> Result<(), NoneLeft> {
    let too_long = |(dimension, extent)| extent > layout.grid().side(dimension);
    match extents.map(too_long).position(|too_long| too_long) {
        Some(at) => Err(NoneLeft { dimensions: at + 1 }),
        None => Ok(()),
    }
}

/// The free nodes in the first half of the scratch words, and as much of the second half.
#[inline]
pub(super) fn free_nodes<'s>(
    occupancy: &Occupancy<'_>,
    scratch: &'s mut [Word],
) -> (&'s mut [Word], &'s mut [Word]) {
    let busy = occupancy.busy_rows();
    // Without the padding of rows there are fewer words; those beyond them are never written.
    let used = words_for(occupancy.grid().nodes());
    let (bases, spare) = scratch.split_at_mut(used);
    let is_padded = !occupancy.grid().row_len().is_multiple_of(WORD_BITS);
    if occupancy.layout().is_plane() && is_padded {
        pack_rows(occupancy, bases);
    } else {
        complement(busy, bases);
    }
    (bases, &mut spare[..used])
}

/// The free nodes of a two-dimensional mesh in the order of their numbers, without the padding
/// between its rows.
#[inline(never)]
fn pack_rows(occupancy: &Occupancy<'_>, bases: &mut [Word]) {
    bases.fill(0);
    let width = occupancy.grid().row_len();
    let rows = occupancy.busy_rows().chunks_exact(occupancy.stride());
    for (at, row) in (0..).step_by(width as usize).zip(rows) {
        for (at, busy) in (at..).step_by(WORD_BITS as usize).zip(row) {
            // Padding is busy, so nothing is set beyond the row.
            let (word, shift) = ((at / WORD_BITS) as usize, at % WORD_BITS);
            bases[word] |= !busy << shift;
            if let Some(next) = bases.get_mut(word + 1).filter(|_| shift != 0) {
                *next |= !busy >> (WORD_BITS - shift);
            }
        }
    }
}

/// Nothing is left.
pub(super) struct Nothing;

/// Leaves the nodes from which on `extent` nodes along a dimension are set; it is at most the side.
#[inline]
pub(super) fn leave_starts(
    layout: &Layout,
    dimension: usize,
    extent: u16,
    bases: &mut [Word],
    spare: &mut [Word],
) -> Result<(), Nothing> {
    if extent == 1 {
        return Ok(());
    }
    reduce(layout.axis(dimension), extent, bases, spare);
    if bases.iter().all(|&word| word == 0) {
        Err(Nothing)
    } else {
        Ok(())
    }
}

/// The nodes that are left, in order.
pub(super) fn nodes(bases: &[Word]) -> impl Iterator<Item = u32> {
    let words = (0..).step_by(WORD_BITS as usize).zip(bases);
    words.flat_map(|(first, &word)| {
        let mut rest = word;
        core::iter::from_fn(move || {
            let bit = rest.trailing_zeros();
            rest &= rest.checked_sub(1)?;
            Some(first + bit)
        })
    })
}

/// The first node that is left.
#[inline]
pub(super) fn first_node(bases: &[Word]) -> Option<u32> {
    let word = bases.iter().position(|&word| word != 0)?;
    Some(word as u32 * WORD_BITS + bases[word].trailing_zeros())
}
