//! Places for all slices of a gang at once.
//!
//! # Source
//!
//! This project.
//!
//! # Definition
//!
//! 1. The strategy places one slice after the other, each where the earlier ones are busy. It sees
//!    no other jobs ([`Outlook`](crate::Outlook)).
//! 2. If the strategy finds no place for the first slice, there is none for the gang.
//! 3. If the strategy finds no place for a later slice, the gang may still fit with other places
//!    for the earlier slices. For a strategy that surely finds each free box of the sides that it
//!    tries ([`Strategy::each_box`](crate::Strategy::each_box)), and for at most [`SLICES_MAX`]
//!    slices, sets of places are searched by backtracking, in the order of the places' first
//!    processors. After [`STEPS_MAX`] steps the search gives up.
//!
//! If slices tolerate faulty processors, all steps are first made without faulty processors. Only
//! if they fail, they are made again with some ([`Supposition::propose`]). The first set
//! of places that is found is then taken, even if another set has fewer faulty processors.
//!
//! On a machine without wrapping links, a free processor stays free if the search has passed it and
//! no place begins there or covers it. The search turns back when more processors stay free than
//! the gang leaves free.
//!
//! ```text
//!   a gang of 2 slices of 2 x 2     first fit          the search
//!
//!     . . . .                         . . . .            1 1 2 2
//!     . . . .                         . 1 1 .            1 1 2 2
//!     # . . #                         # 1 1 #            # . . #
//! ```
//!
//! # Complexity and memory
//!
//! A search of the strategy for each slice, and [`STEPS_MAX`] looks at a place; [`SLICES_MAX`]
//! entries of the stack.

use heapless::Vec;

use super::{Supposition, Unheld};
use crate::draft::Draft;
use crate::error::Refusal;
use crate::grid::{Block, Grid};
use crate::node::NodeId;
use crate::occupancy::Occupancy;
use crate::pool::{Chain, NONE};
use crate::request::Request;
use crate::strategy::{BoxForm, Purpose, Strategy, demand_on};
use crate::tolerance::Tolerance;

/// The most slices for which sets of places are searched.
const SLICES_MAX: usize = 32;
/// The most steps of that search: looks at a processor for one of the boxes.
const STEPS_MAX: u32 = 1 << 16;
/// The most boxes that a slice may have: the orders of four sides.
const FORMS_MAX: usize = 24;

/// The place of a slice in the search.
#[derive(Clone, Copy, Debug)]
struct Placed {
    /// The number of its first processor.
    first: u32,
    /// The number of its box among the boxes that are tried.
    form: u8,
    /// The number of free processors before it that stay free.
    left_free: u32,
}

impl<S: Strategy> Supposition<'_, '_, S> {
    /// The blocks of a gang whose demand is free, slice by slice. They are not occupied here.
    /// If `with_faulty` is true, a slice that has no place without faulty processors may have as
    /// many as it tolerates.
    ///
    /// # Errors
    ///
    /// `Fragmented` if no slice has a place; `GangIncomplete`, `NotSearchedToTheEnd`, `TableFull`.
    // The board has one copy.
    #[inline(never)]
    pub(super) fn gang(
        &mut self,
        request: &Request,
        purpose: Purpose<'_, '_>,
        with_faulty: bool,
    ) -> Result<Chain, Refusal> {
        // A question needs the places, too, since later slices stand where the earlier ones leave
        // room.
        let purpose = if let Purpose::Grant(_) = purpose {
            Purpose::Slice
        } else {
            Purpose::Place
        };
        let slice = request.one_slice();
        let demand = demand_on(self.strategy, self.supposed.grid(), &slice)?;
        let (mut blocks, mut placed) = ((Chain::EMPTY, NONE), 0);
        let mut refusal = None;
        while placed < request.slices() && refusal.is_none() {
            let next = match self.next_slice(&slice, demand, purpose) {
                Err(Refusal::Fragmented) if with_faulty => {
                    self.slice_with_faulty(&slice, demand, purpose)
                }
                next => next,
            };
            match next {
                Ok(more) => {
                    for block in self.pool.iter(more) {
                        self.unheld.occupy(self.supposed, block);
                        self.poll();
                    }
                    blocks = self.pool.join(blocks, more);
                    placed += 1;
                }
                Err(reason) => refusal = Some(reason),
            }
        }
        for block in self.pool.iter(blocks.0) {
            if with_faulty {
                self.unheld.vacate(self.supposed, self.occupancy, block);
            } else {
                self.supposed.leave(block);
            }
            self.poll();
        }
        let Some(refusal) = refusal else {
            return Ok(blocks.0);
        };
        self.pool.free(blocks.0);
        match refusal {
            Refusal::Fragmented if placed > 0 => self.pack(&slice, request.slices(), with_faulty),
            // There may be no places either, so sets of places are searched.
            Refusal::TableFull => {
                let blocks = self.pack(&slice, request.slices(), with_faulty);
                blocks.map_err(|refusal| match refusal {
                    Refusal::NotSearchedToTheEnd => Refusal::TableFull,
                    other => other,
                })
            }
            other => Err(other),
        }
    }

    /// The blocks of one more slice. Too few processors may be free, as earlier slices may have
    /// taken more than their demand.
    #[inline(always)]
    pub(super) fn next_slice(
        &mut self,
        slice: &Request,
        demand: u32,
        purpose: Purpose<'_, '_>,
    ) -> Result<Chain, Refusal> {
        if demand > self.free() {
            return Err(Refusal::Fragmented);
        }
        self.slice(slice, purpose)
    }

    /// Searches sets of places for this number of slices. The processors of a place are free,
    /// except for the faulty ones that a slice may have.
    fn pack(&mut self, slice: &Request, slices: u32, with_faulty: bool) -> Result<Chain, Refusal> {
        let grid = *self.supposed.grid();
        let mut forms = Vec::<BoxForm, FORMS_MAX>::new();
        let mut is_any_left_out = slices as usize > SLICES_MAX;
        let finds_all = self.strategy.each_box(&grid, slice, &mut |form| {
            is_any_left_out |= forms.push(form).is_err();
        });
        if !finds_all || is_any_left_out {
            return Err(Refusal::NotSearchedToTheEnd);
        }
        let mut stack = Vec::<Placed, SLICES_MAX>::new();
        let (unheld, tolerated) = if with_faulty {
            (self.unheld.clone(), Some(slice.tolerated()))
        } else {
            (Unheld::NONE, None)
        };
        for unit in unheld.units(&grid) {
            self.supposed.leave(unit);
        }
        let outcome = self.search(&grid, &forms, (slices, tolerated), &mut stack);
        let block = |place: &Placed| {
            let form = forms.get(usize::from(place.form));
            form.and_then(|form| place_at(&grid, form, place.first))
        };
        for block in stack.iter().filter_map(block) {
            self.supposed.leave(block);
        }
        for unit in unheld.units(&grid) {
            self.supposed.occupy(unit);
        }
        outcome.map_err(|refusal| unheld.refusal_of(refusal))?;
        let mut draft = Draft::new(self.pool, self.pause.as_ref(), self.occupancy);
        for block in stack.iter().filter_map(block) {
            draft.push(block);
        }
        draft.finish(true)
    }

    /// Occupies the places of all slices and notes them in the stack. If `tolerated` is a number,
    /// each place has at most this number of faulty processors.
    ///
    /// # Errors
    ///
    /// `GangIncomplete` if there are no such places; `NotSearchedToTheEnd`. The stack then has the
    /// places that are occupied.
    fn search(
        &mut self,
        grid: &Grid,
        forms: &[BoxForm],
        (slices, tolerated): (u32, Option<u32>),
        stack: &mut Vec<Placed, SLICES_MAX>,
    ) -> Result<(), Refusal> {
        let wraps = (0..grid.dimensions()).any(|at| grid.wraps(at) && grid.side(at) > 1);
        // All boxes have the same sides in another order.
        let area = forms.first().map_or(0, |form| {
            let sides = form.sides.iter().map(|&side| u32::from(side));
            sides.product::<u32>()
        });
        let is_open = |supposed: &Occupancy<'_>, block| {
            let has = |most| self.occupancy.faulty_in(block) <= most;
            supposed.is_free(block) && (!Tolerance::BUILT || tolerated.is_none_or(has))
        };
        let may_stay = self.supposed.free().saturating_sub(area * slices);
        let (mut first, mut form, mut left_free) = (0, 0, 0);
        for step in 0..STEPS_MAX {
            if stack.len() as u32 == slices {
                return Ok(());
            }
            if step % 64 == 0 {
                self.poll();
            }
            let is_over = first >= grid.nodes() || !wraps && left_free > may_stay;
            if is_over {
                let Some(placed) = stack.pop() else {
                    return Err(Refusal::GangIncomplete);
                };
                (first, form, left_free) = (placed.first, placed.form, placed.left_free);
                let block = forms.get(usize::from(form));
                if let Some(block) = block.and_then(|form| place_at(grid, form, first)) {
                    self.supposed.leave(block);
                }
                form += 1;
                continue;
            }
            let is_busy = self.supposed.is_busy(NodeId(first));
            let Some(sides) = forms.get(usize::from(form)).filter(|_| !is_busy) else {
                left_free += u32::from(!is_busy);
                (first, form) = (first + 1, 0);
                continue;
            };
            match place_at(grid, sides, first).filter(|&block| is_open(self.supposed, block)) {
                Some(block) => {
                    self.supposed.occupy(block);
                    // There is room for all slices.
                    let _ = stack.push(Placed {
                        first,
                        form,
                        left_free,
                    });
                    (first, form) = (first + 1, 0);
                }
                None => form += 1,
            }
        }
        Err(Refusal::NotSearchedToTheEnd)
    }
}

/// The box that begins at this processor; `None` if it may not begin there, or leaves the machine.
/// A box that goes all around a dimension begins at 0 there.
fn place_at(grid: &Grid, form: &BoxForm, first: u32) -> Option<Block> {
    let mut rest = first;
    for at in 0..grid.dimensions() {
        let (side, of) = (u32::from(grid.side(at)), u32::from(*form.sides.get(at)?));
        let start = rest % side;
        rest /= side;
        let may_go_around = grid.wraps(at) && of < side;
        let is_inside = may_go_around || start + of <= side;
        if !is_inside || !start.is_multiple_of(u32::from(*form.steps.get(at)?)) {
            return None;
        }
    }
    let side = |at: usize| form.sides.get(at).map_or(1, |&side| u32::from(side));
    Some(grid.block_at(first, side))
}
