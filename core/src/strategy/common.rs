//! What several strategies share.

use super::Workspace;
use crate::draft::Draft;
use crate::error::Refusal;
use crate::grid::{Grid, Shape};
use crate::machine::{Lays, Trials};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search::boxes::first_of_sides;
use crate::search::columns::Scratch;
use crate::search::orders::Orders;
use crate::search::tree::radices;

/// Defines a strategy that keeps only what it needs of the grid, its workspace, and the parameters
/// of its kind.
macro_rules! simple_strategy {
    (@Grid) => { crate::grid::Grid };
    (@Mesh) => { crate::mesh::Mesh };
    (@Grid $grid:ident) => { $grid };
    (@Mesh $grid:ident) => {
        crate::mesh::Mesh::of(&$grid).ok_or(crate::error::ConfigureError::MachineUnsuitable)?
    };
    (
        $(#[$meta:meta])*
        $name:ident, $field:ident: $type:ident $(, $parameter:ident: $number:ty)*
    ) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub(super) struct $name<'m> {
            $field: simple_strategy!(@$type),
            $($parameter: $number,)*
            pub(super) workspace: crate::strategy::Workspace<'m>,
        }

        impl<'m> $name<'m> {
            /// The strategy on this machine.
            pub(super) fn new(
                grid: crate::grid::Grid,
                workspace: crate::strategy::Workspace<'m>,
                $($parameter: $number,)*
            ) -> Result<Self, crate::error::ConfigureError> {
                let $field = simple_strategy!(@$type grid);
                Ok($name { $field, $($parameter,)* workspace })
            }
        }
    };
}

/// Defines what a strategy does to keep bounds in its workspace ([`Scratch::Kept`]).
///
/// [`Scratch::Kept`]: crate::search::columns::Scratch::Kept
macro_rules! keep_bounds {
    () => {
        fn released(
            &mut self,
            occupancy: &Occupancy<'_>,
            block: crate::grid::Block,
            _poll: &dyn Fn(),
        ) {
            crate::search::columns::raise(occupancy, self.workspace.words, block);
        }

        fn repaired(
            &mut self,
            occupancy: &Occupancy<'_>,
            block: crate::grid::Block,
            _poll: &dyn Fn(),
        ) {
            crate::search::columns::raise(occupancy, self.workspace.words, block);
        }

        fn rebuild(&mut self, occupancy: &Occupancy<'_>) {
            crate::search::columns::forget(occupancy, self.workspace.words);
        }
    };
}

/// Defines a strategy that takes the first place, by its demand, its search, and the sides that it
/// surely finds.
macro_rules! scan {
    (
        $(#[$meta:meta])*
        $name:ident: $demand:path, $first:path,
        recognizes: |$request:ident, $sides:ident| $found:expr
    ) => {
        simple_strategy! {
            $(#[$meta])*
            $name, grid: Grid
        }

        impl Strategy for $name<'_> {
            // The board has one copy.
            #[cfg_attr(target_os = "none", inline)]
            #[cfg_attr(not(target_os = "none"), inline(always))]
            fn demand(&self, request: &Request) -> Result<u32, Refusal> {
                $demand(request, &self.grid)
            }

            fn recognizes(&self, $request: &Request, $sides: Sides) -> bool {
                $found
            }

            fn blocks_unmarked(&self) -> usize {
                blocks_for_first_fit(&self.grid)
            }

            fn propose(
                &mut self,
                occupancy: &Occupancy<'_>,
                request: &Request,
                draft: &mut Draft<'_, '_>,
            ) -> bool {
                let rule = self.workspace.rule();
                let scratch = Scratch::Kept(self.workspace.words);
                let found = $first(occupancy, request, rule, scratch, draft);
                found.map(|block| draft.push(block)).is_some()
            }

            keep_bounds!();
        }
    };
}

/// The demand of a strategy for which the shape does not matter, only the number of processors.
#[inline(never)]
pub(super) fn demand_of_processors(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    if request.processors <= grid.nodes() {
        Ok(request.processors)
    } else {
        Err(Refusal::NeverFits)
    }
}

/// The demand of a strategy that divides the shape as it likes: all processors of the shape.
#[inline(never)]
pub(super) fn demand_of_area(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    match request.shape.area() {
        area if area <= grid.nodes() => Ok(area),
        _ => Err(Refusal::NeverFits),
    }
}

/// The demand of a strategy that lays the extents along dimensions 0, 1, .. as they are named.
// The board has one copy.
#[cfg_attr(target_os = "none", inline)]
#[cfg_attr(not(target_os = "none"), inline(always))]
pub(super) fn demand_as_named(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    if grid.dimensions() > 2 {
        return demand_in_all_dimensions(request.shape, grid);
    }
    let (w, h) = request.shape.first_two();
    if w <= grid.side(0) && h <= grid.side(1) {
        Ok(u32::from(w) * u32::from(h))
    } else {
        Err(Refusal::NeverFits)
    }
}

// A function of its own, so that the two-dimensional case stays short.
#[inline(never)]
fn demand_in_all_dimensions(shape: Shape, grid: &Grid) -> Result<u32, Refusal> {
    let extents = shape.extents();
    let mut both = extents.iter().zip(grid.sides());
    if both.all(|(extent, side)| extent <= side) {
        Ok(shape.area())
    } else {
        Err(Refusal::NeverFits)
    }
}

/// The demand of a strategy that lays the extents along the dimensions in any order that the
/// request allows.
// The board has one copy.
#[cfg_attr(target_os = "none", inline)]
#[cfg_attr(not(target_os = "none"), inline(always))]
pub(super) fn demand_in_any_order(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    match demand_as_named(request, grid) {
        Err(_) if request.may_rotate() => demand_of_extents(request.shape, grid),
        as_named => as_named,
    }
}

/// The demand of extents that may be laid along the dimensions in any order: the longest extent
/// must not be longer than the longest side, and so on.
#[inline(never)]
pub(super) fn demand_of_extents(shape: Shape, grid: &Grid) -> Result<u32, Refusal> {
    let extents = shape.extents().descending();
    let sides = grid.sides_descending();
    if extents
        .iter()
        .zip(&*sides)
        .all(|(extent, side)| extent <= side)
    {
        Ok(shape.area())
    } else {
        Err(Refusal::NeverFits)
    }
}

/// The demand of a strategy that lays the radices along the dimensions of a notation from left to
/// right.
#[inline(never)]
pub(super) fn demand_left_to_right(request: &Request, grid: &Grid) -> Result<u32, Refusal> {
    let mut sides = grid.sides().iter().rev();
    let radices = radices(grid, request.shape, Orders::requested(request, grid));
    if radices.iter().all(|radix| sides.any(|side| radix <= side)) {
        Ok(request.shape.area())
    } else {
        Err(Refusal::NeverFits)
    }
}

/// Proposes a free box for a request: the first of its [`Trials`] under `lays` that has a free
/// place. The box begins where the machine's description lets a slice begin.
#[inline(never)]
pub(super) fn propose_box(
    lays: Lays,
    workspace: &mut Workspace<'_>,
    occupancy: &Occupancy<'_>,
    request: &Request,
    draft: &mut Draft<'_, '_>,
) -> bool {
    let (grid, rule) = (occupancy.grid(), workspace.rule());
    let mut trials = Trials::new(lays, workspace.machine(), grid, request, request.shape);
    let found = trials.find_map(|trial| {
        draft.poll();
        let sides = &trial.sides[..grid.dimensions()];
        let scratch = Scratch::Blank(workspace.words);
        first_of_sides(occupancy, sides, rule, scratch, draft)
    });
    found.map(|block| draft.push(block)).is_some()
}
