//! Foresight on any grid but a two-dimensional mesh.

use super::candidates::Candidates;
use super::{Adding, Space};
use crate::grid::{Block, Tuple};
use crate::grid::{FEW_DIMENSIONS_MAX, each_order};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search::arcs::{Arc, Side, arcs_of, area, block_of, for_each_corner, overlap};
use crate::search::maximal::Planes;
use crate::search::shapes::padded;
use crate::search::steps::Rule;
use crate::search::surroundings::boundary;

impl Space for Planes<'_> {
    fn find(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        rule: Option<Rule<'_>>,
        candidates: &mut Candidates<'_>,
        poll: &dyn Fn(),
    ) {
        let grid = occupancy.grid();
        let named = padded(grid, request.shape);
        let demand = named.product();
        self.for_each_maximal_meeting(&[], poll, &mut |free| {
            if area(free) < demand {
                return;
            }
            let mut corners = |extents: &Tuple| {
                poll();
                let steps = rule.map(|rule| rule.steps(extents));
                for_each_corner(grid, free, extents, steps, |place| {
                    poll();
                    candidates.consider(block_of(grid, place), |least| {
                        boundary(occupancy, place, least, |dimension, start| {
                            let len = place[dimension].len;
                            let side = Side::of(grid, dimension);
                            side.covers(free[dimension], Arc { start, len })
                        })
                    });
                });
                true
            };
            if request.may_rotate() {
                each_order(named, &mut corners);
            } else {
                corners(&named);
            }
        });
    }

    fn release(&mut self, block: Block) {
        Planes::release(self, block);
    }

    fn take(&mut self, block: Block) {
        Planes::take(self, block);
    }

    fn add(&mut self, blocks: &[Block], mut adding: Adding<'_, '_>, poll: &dyn Fn()) {
        let grid = *self.grid();
        self.for_each_maximal_meeting(blocks, poll, &mut |free| {
            poll();
            adding.free(extents(free.iter().map(|free| free.len)), |place| {
                let place = arcs_of(&grid, place);
                let sides = free.iter().zip(&place).enumerate();
                let left = sides.map(|(at, (&free, &place))| Side::of(&grid, at).left(free, place));
                overlap(&grid, free, &place[..free.len()]).then(|| extents(left))
            });
        });
    }
}

/// The lengths, and zeros behind them.
fn extents(lengths: impl Iterator<Item = u16>) -> [u16; FEW_DIMENSIONS_MAX] {
    let mut extents = [0; FEW_DIMENSIONS_MAX];
    extents
        .iter_mut()
        .zip(lengths)
        .for_each(|(extent, length)| *extent = length);
    extents
}
