//! Foresight on any grid but a two-dimensional mesh.

use super::candidates::Candidates;
use super::{Adding, Space};
use crate::grid::arcs::{arcs_of, area, block_of, overlap};
use crate::grid::{Arc, Block, FEW_DIMENSIONS_MAX};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search::maximal::Planes;
use crate::search::shapes::each_orientation;
use crate::search::steps::{Rule, for_each_corner_of_box};
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
        let demand = request.shape.area();
        self.for_each_maximal_meeting(&[], poll, &mut |free| {
            if area(free) < demand {
                return;
            }
            each_orientation(grid, request, &mut |extents| {
                poll();
                let steps = rule.map(|rule| rule.steps(extents));
                for_each_corner_of_box(grid, free, extents, steps, |place| {
                    poll();
                    candidates.consider(block_of(grid, place), |least| {
                        boundary(occupancy, place, least, |dimension, start| {
                            let len = place[dimension].len;
                            let side = grid.along(dimension);
                            side.covers(free[dimension], Arc { start, len })
                        })
                    });
                });
            });
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
                let left = sides.map(|(at, (&free, &place))| grid.along(at).left(free, place));
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
