//! The strategies that compare places by their surroundings, on any grid: best fit, the busy list
//! and the free submesh list. Every box of the machine is looked at, position by position.
//!
//! A box that spans a ring starts at 0 there.

use std::cmp::Reverse;

use crate::grid::{Grid, NaiveMachine, Place, lists};
use crate::pods::Aligned;

impl Grid {
    /// The positions of a box along a dimension, in order.
    fn positions(&self, place: &Place, d: usize) -> Vec<u32> {
        let step = |step| (place.start[d] + step) % self.sides()[d];
        (0..place.extent[d]).map(step).collect()
    }

    /// Whether the two share a node.
    pub fn overlap(&self, one: &Place, other: &Place) -> bool {
        (0..self.dimensions()).all(|d| {
            let ours = self.positions(one, d);
            self.positions(other, d).iter().any(|at| ours.contains(at))
        })
    }

    /// Every box with these extents, in the order of the starts' numbers.
    pub fn places(&self, extent: &[u32]) -> Vec<Place> {
        let places = (0..self.nodes()).map(|node| Place {
            start: self.position(node),
            extent: extent.to_vec(),
        });
        let is_one = |place: &Place| {
            let mut dimensions = 0..self.dimensions();
            self.has(place)
                && dimensions.all(|d| extent[d] < self.sides()[d] || place.start[d] == 0)
        };
        places.filter(is_one).collect()
    }

    /// The number of a box's first node.
    pub fn first_node(&self, place: &Place) -> u32 {
        let both = place.start.iter().zip(self.sides()).rev();
        both.fold(0, |number, (at, side)| number * side + at)
    }

    /// The box with one more position at the end of a dimension, or at its beginning; `None` if the
    /// grid has none.
    fn longer(&self, place: &Place, d: usize, at_end: bool) -> Option<Place> {
        let side = self.sides()[d];
        if place.extent[d] == side {
            return None;
        }
        let mut longer = place.clone();
        longer.extent[d] += 1;
        if longer.extent[d] == side {
            longer.start[d] = 0;
        } else if !at_end {
            longer.start[d] = match place.start[d] {
                0 if self.wraps()[d] => side - 1,
                at => at.checked_sub(1)?,
            };
        }
        self.has(&longer).then_some(longer)
    }

    /// The size of the largest box within `whole` that does not meet `taken`: as long as `whole` in
    /// all dimensions but one.
    pub fn left_without(&self, whole: &Place, taken: &Place) -> u32 {
        if !self.overlap(whole, taken) {
            return whole.size();
        }
        let left = (0..self.dimensions()).map(|d| {
            let covered = self.positions(taken, d);
            let mut positions = self.positions(whole, d);
            // Around a whole ring twice: a run may lie across its end.
            if self.wraps()[d] && whole.extent[d] == self.sides()[d] {
                positions.extend(positions.clone());
            }
            let runs = positions.split(|at| covered.contains(at));
            let longest = runs.map(<[u32]>::len).max().unwrap_or(0) as u32;
            whole.size() / whole.extent[d] * longest
        });
        left.max().unwrap_or(0)
    }

    /// The boxes of these extents in the corners of one: along each dimension they start where it
    /// starts or end where it ends, or as close to that as slices may begin. None if they do not
    /// fit.
    pub fn corners(&self, within: &Place, extent: &[u32], aligned: Option<&Aligned>) -> Vec<Place> {
        if extent
            .iter()
            .zip(&within.extent)
            .any(|(own, most)| own > most)
        {
            return Vec::new();
        }
        if let Some(aligned) = aligned {
            let steps = aligned.steps(extent);
            let starts = |d: usize| {
                let room = within.extent[d] - extent[d];
                let all = (0..=room).map(|ahead| (within.start[d] + ahead) % self.sides()[d]);
                let allowed: Vec<u32> = all.filter(|at| at % steps[d] == 0).collect();
                let ends = [allowed.first(), allowed.last()].into_iter().flatten();
                ends.copied().collect::<Vec<u32>>()
            };
            let starts: Vec<Vec<u32>> = (0..self.dimensions()).map(starts).collect();
            let counts: Vec<u32> = starts.iter().map(|of| of.len() as u32).collect();
            let place = |numbers: Vec<u32>| Place {
                start: (0..numbers.len())
                    .map(|d| starts[d][numbers[d] as usize - 1])
                    .collect(),
                extent: extent.to_vec(),
            };
            return lists(&counts).into_iter().map(place).collect();
        }
        let corner = |ends: Vec<u32>| {
            let start = (0..self.dimensions()).map(|d| {
                let room = within.extent[d] - extent[d];
                (within.start[d] + if ends[d] == 2 { room } else { 0 }) % self.sides()[d]
            });
            Place {
                start: start.collect(),
                extent: extent.to_vec(),
            }
        };
        let ends = lists(&vec![2; self.dimensions()]);
        ends.into_iter().map(corner).collect()
    }

    /// The maximal free boxes where these nodes are free: free, and covered by no other free box.
    /// If one covers a box, then one does that is longer by one position.
    pub fn maximal(&self, free: &[bool]) -> Vec<Place> {
        let is_free = |place: &Place| self.every_node(place, &mut |node| free[node as usize]);
        let starts = (0..self.nodes()).filter(|&node| free[node as usize]);
        let mut maximal = Vec::new();
        for node in starts {
            let mut place = self.unit(node);
            self.grow(&mut place, 0, &is_free, &mut |place| {
                let mut longer = (0..self.dimensions()).flat_map(|d| {
                    [false, true]
                        .into_iter()
                        .filter_map(move |end| self.longer(place, d, end))
                });
                if !longer.any(|longer| is_free(&longer)) {
                    maximal.push(place.clone());
                }
            });
        }
        maximal
    }

    /// Calls `visit` with each free box with this start whose extents along the dimensions below
    /// `d` are given.
    fn grow(
        &self,
        place: &mut Place,
        d: usize,
        is_free: &dyn Fn(&Place) -> bool,
        visit: &mut dyn FnMut(&Place),
    ) {
        if d == self.dimensions() {
            return visit(place);
        }
        for extent in 1..=self.sides()[d] {
            place.extent[d] = extent;
            let spans = extent == self.sides()[d];
            if !self.has(place) || !is_free(place) {
                break;
            }
            if !spans || place.start[d] == 0 {
                self.grow(place, d + 1, is_free, visit);
            }
        }
        place.extent[d] = 1;
    }
}

impl NaiveMachine {
    /// A flag for each node.
    pub fn free_flags(&self) -> Vec<bool> {
        (0..self.nodes()).map(|node| !self.is_busy(node)).collect()
    }

    /// The neighbours of a node in all directions that are busy or outside the grid and for which
    /// `counts`. On a ring of two a neighbour is one in both directions.
    fn busy_neighbours(&self, node: u32, counts: &dyn Fn(u32) -> bool) -> u32 {
        let grid = self.grid();
        let mut busy = 0;
        for d in 0..grid.dimensions() {
            let (side, wraps) = (grid.sides()[d], grid.wraps()[d]);
            let mut unit = grid.unit(node);
            let at = unit.start[d];
            for neighbour in [at.wrapping_sub(1), at + 1] {
                if neighbour >= side && !wraps {
                    busy += 1;
                    continue;
                }
                unit.start[d] = if neighbour == u32::MAX {
                    side - 1
                } else {
                    neighbour % side
                };
                let neighbour = grid.first_node(&unit);
                busy += u32::from(counts(neighbour) && self.is_busy(neighbour));
            }
        }
        busy
    }

    /// The boundary value of a box: over all its nodes, the neighbours beyond it that are busy or
    /// outside the grid.
    pub fn boundary(&self, place: &Place) -> u32 {
        let nodes = self.grid().nodes_of(place);
        let beyond = |node| !nodes.contains(&node);
        nodes
            .iter()
            .map(|&node| self.busy_neighbours(node, &beyond))
            .sum()
    }

    /// Best fit: of the free boxes of these extents the first whose base node has the most busy
    /// neighbours.
    pub fn best_base(&self, extent: &[u32], aligned: Option<&Aligned>) -> Option<Place> {
        self.best(extent, aligned, &|place| {
            self.busy_neighbours(self.grid().first_node(place), &|_| true)
        })
    }

    /// Busy list: of the free boxes of these extents the first with the largest boundary value.
    pub fn best_boundary(&self, extent: &[u32], aligned: Option<&Aligned>) -> Option<Place> {
        self.best(extent, aligned, &|place| self.boundary(place))
    }

    fn best(
        &self,
        extent: &[u32],
        aligned: Option<&Aligned>,
        value: &dyn Fn(&Place) -> u32,
    ) -> Option<Place> {
        let places = self.grid().places(extent).into_iter();
        let places = places.filter(|place| aligned.is_none_or(|aligned| aligned.allows(place)));
        // If values are equal, `max_by_key` takes the last place.
        let free = places.filter(|place| self.is_free(place)).rev();
        free.max_by_key(|place| value(place))
    }

    /// The free submesh list: the maximal free boxes by size, the largest first; then by the
    /// longest extent, the shortest first; then by the number of the start; then by the extents
    /// from the highest dimension down. No more than there is room for.
    pub fn free_boxes(&self) -> Vec<Place> {
        let grid = self.grid();
        let mut list = grid.maximal(&self.free_flags());
        list.sort_by_cached_key(|place| {
            let longest = place.extent.iter().copied().max();
            let highest_first: Vec<u32> = place.extent.iter().rev().copied().collect();
            (
                Reverse(place.size()),
                longest,
                grid.first_node(place),
                highest_first,
            )
        });
        // A cell for each node; a box takes a half for its size, and one for each dimension. A
        // submesh takes one cell.
        if grid.w_h().is_none() {
            list.truncate(self.nodes() as usize / (1 + grid.dimensions()).div_ceil(2));
        }
        list
    }

    /// The free submesh list's place for a request that may be laid in each of these orders;
    /// `None` if no box of the list has room.
    pub fn free_submesh_list_place(
        &self,
        orders: &[Vec<u32>],
        aligned: Option<&Aligned>,
    ) -> Option<Place> {
        let grid = self.grid();
        let list = self.free_boxes();
        let mut candidates: Vec<Place> = Vec::new();
        for free in &list {
            let corners = orders
                .iter()
                .flat_map(|order| grid.corners(free, order, aligned));
            let corners: Vec<Place> = corners.collect();
            let left = |place: &Place| grid.left_without(free, place);
            let most = corners.iter().map(left).max();
            for place in corners {
                if Some(left(&place)) == most && !candidates.contains(&place) {
                    candidates.push(place);
                }
            }
        }
        let whole = Place {
            start: vec![0; grid.dimensions()],
            extent: grid.sides().to_vec(),
        };
        for reserved in list.iter().chain([&whole]) {
            let left = |place: &Place| grid.left_without(reserved, place);
            let most = candidates.iter().map(left).max();
            candidates.retain(|place| Some(left(place)) == most);
        }
        candidates.into_iter().min_by_key(|place| {
            let order = orders.iter().position(|order| *order == place.extent);
            (grid.first_node(place), order)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Grids with all their boxes.
    fn grids() -> Vec<(Grid, Vec<Place>)> {
        let grids = [
            Grid::new(&[5], &[true]),
            Grid::new(&[3, 3], &[true, false]),
            Grid::new(&[2, 2, 2], &[true, true, false]),
            Grid::new(&[3, 1, 2], &[true, true, true]),
        ];
        let with_boxes = grids.map(|grid| {
            let extents = lists(grid.sides());
            let boxes = extents
                .iter()
                .flat_map(|extent| grid.places(extent))
                .collect();
            (grid, boxes)
        });
        with_boxes.into()
    }

    #[test]
    fn maximal_means_covered_by_no_other_free_box() {
        for (grid, boxes) in grids() {
            for occupancy in 0..1_u32 << grid.nodes() {
                let free: Vec<bool> = (0..grid.nodes())
                    .map(|at| occupancy >> at & 1 == 0)
                    .collect();
                let is_free = |place: &&Place| grid.every_node(place, &mut |at| free[at as usize]);
                let all: Vec<&Place> = boxes.iter().filter(is_free).collect();
                let covers = |outer: &Place, inner: &Place| {
                    let nodes = grid.nodes_of(outer);
                    outer != inner && grid.every_node(inner, &mut |node| nodes.contains(&node))
                };
                let found = grid.maximal(&free);
                for place in &all {
                    let is_maximal = !all.iter().any(|outer| covers(outer, place));
                    assert_eq!(found.contains(place), is_maximal, "{place:?} on {grid}");
                }
                let none_twice = (0..found.len()).all(|at| !found[..at].contains(&found[at]));
                assert!(none_twice && found.iter().all(|place| all.contains(&place)));
            }
        }
    }

    #[test]
    fn what_is_left_is_the_largest_box_that_does_not_meet_the_other() {
        for (grid, boxes) in grids() {
            for whole in &boxes {
                for taken in &boxes {
                    let inside = |part: &&Place| {
                        let nodes = grid.nodes_of(whole);
                        grid.every_node(part, &mut |node| nodes.contains(&node))
                            && !grid.overlap(part, taken)
                    };
                    let parts = boxes.iter().filter(inside);
                    let left = parts.map(Place::size).max().unwrap_or(0);
                    assert_eq!(
                        grid.left_without(whole, taken),
                        left,
                        "{whole:?} {taken:?} {grid}"
                    );
                }
            }
        }
    }
}
