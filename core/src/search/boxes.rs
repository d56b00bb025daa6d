//! The search for a free box on any grid, over words of nodes.
//!
//! The nodes at which a free box of given extents starts are found for all nodes at once: a node is
//! left if it and those that follow it along a dimension are free. A dimension of extent e takes
//! log2(e) steps, each the AND of the bitmap with itself, turned along that dimension.

use super::along_axis::reduce;
use super::columns::Scratch;
use super::rectangles::{self, all_bases};
use super::shapes::{NoneLeft, Pick};
use super::steps::Rule;
use crate::draft::Draft;
use crate::grid::Block;
use crate::layout::Layout;
use crate::mesh::{Coord, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::word::{WORD_BITS, Word, complement, words_for};

/// Picks the first free place in the order of node numbers at which the rule lets a box begin.
///
/// The scratch has twice as many words as the occupancy, on a two-dimensional mesh as many.
///
/// # Source
///
/// First fit, on any grid.
///
/// # Time complexity
///
/// For a shape on a two-dimensional mesh that of [`rectangles::first_fit`], with a rule also O(1)
/// for each free place before it; on any other grid O(dimensions * log side * words).
pub(crate) struct First<'a, 'o, 'd, 'p> {
    pub(crate) occupancy: &'a Occupancy<'o>,
    pub(crate) rule: Option<Rule<'a>>,
    pub(crate) scratch: Scratch<'a>,
    pub(crate) draft: &'a Draft<'d, 'p>,
}

impl Pick for First<'_, '_, '_, '_> {
    // The board and the page in the browser have one copy.
    #[cfg_attr(not(any(target_os = "none", target_family = "wasm")), inline(always))]
    fn in_plane(&mut self, sides: Sides) -> Option<Block> {
        let scratch = self.scratch.reborrow();
        match Rule::built(self.rule) {
            None => first_rectangle(self.occupancy, sides, scratch, self.draft),
            Some(rule) => first_on_steps(self.occupancy, sides, rule, scratch.words(), self.draft),
        }
    }

    fn in_grid(&mut self, sides: &[u16]) -> Result<Block, NoneLeft> {
        let words = self.scratch.reborrow().words();
        let rule = Rule::built(self.rule);
        along(self.occupancy, sides, rule, words, self.draft)
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

/// The first free submesh of these sides that begins where the rule allows it.
// A function of its own, so that the search without a rule stays short.
#[inline(never)]
fn first_on_steps(
    occupancy: &Occupancy<'_>,
    sides: Sides,
    rule: Rule<'_>,
    scratch: &mut [Word],
    draft: &Draft<'_, '_>,
) -> Option<Block> {
    if !sides.fits_in(Sides::of_plane(occupancy.grid())) {
        return None;
    }
    let steps = rule.steps(&[sides.w, sides.h]);
    draft.poll();
    let bases = all_bases(occupancy, sides, scratch);
    let stride = occupancy.stride();
    let mut words = bases.iter().enumerate();
    let base = words.find_map(|(at, &bases)| {
        let hit = bases & steps.columns(at, stride);
        (hit != 0).then(|| Coord::of_lowest(hit, at, stride))
    })?;
    Some(Submesh { base, sides }.into())
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
    let bases = starts(occupancy, extents, scratch, draft)?;
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

/// The nodes at which a free box with these extents starts, in the first half of the scratch words.
/// The scratch has twice as many words as the occupancy.
pub(super) fn starts<'s>(
    occupancy: &Occupancy<'_>,
    extents: &[u16],
    scratch: &'s mut [Word],
    draft: &Draft<'_, '_>,
) -> Result<&'s mut [Word], NoneLeft> {
    let layout = occupancy.layout();
    // A request may have many shapes, most of them too long for a side, so each of them polls.
    draft.poll();
    check_sides(layout, extents.iter().copied().enumerate())?;
    let (bases, spare) = free_nodes(occupancy, scratch);
    for (dimension, &extent) in extents.iter().enumerate() {
        draft.poll();
        leave_starts(layout, dimension, extent, bases, spare).map_err(|_| NoneLeft {
            dimensions: dimension + 1,
        })?;
    }
    Ok(bases)
}

/// Whether the extents fit the sides of their dimensions. This is known before any search.
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

/// The free nodes, in the first half of the scratch words, and as many words of the second half. On
/// a two-dimensional mesh these are [`free_nodes_of_plane`].
#[inline]
pub(super) fn free_nodes<'s>(
    occupancy: &Occupancy<'_>,
    scratch: &'s mut [Word],
) -> (&'s mut [Word], &'s mut [Word]) {
    let (bases, spare) = halves(occupancy, scratch);
    complement(occupancy.busy_rows(), bases);
    (bases, spare)
}

/// [`free_nodes`] on a two-dimensional mesh, whose rows may have padding between them.
pub(super) fn free_nodes_of_plane<'s>(
    occupancy: &Occupancy<'_>,
    scratch: &'s mut [Word],
) -> (&'s mut [Word], &'s mut [Word]) {
    if occupancy.grid().row_len().is_multiple_of(WORD_BITS) {
        return free_nodes(occupancy, scratch);
    }
    let (bases, spare) = halves(occupancy, scratch);
    pack_rows(occupancy, bases);
    (bases, spare)
}

/// Two halves, each with as many words as the nodes take. Without the padding of rows these are
/// fewer words than the occupancy has; the words beyond them are never written.
fn halves<'s>(
    occupancy: &Occupancy<'_>,
    scratch: &'s mut [Word],
) -> (&'s mut [Word], &'s mut [Word]) {
    let used = words_for(occupancy.grid().nodes());
    let (bases, spare) = scratch.split_at_mut(used);
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

/// No node is left in the search.
pub(super) struct Nothing;

/// Leaves the nodes that begin a run of `extent` set nodes along a dimension; `extent` is at most
/// the side.
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
