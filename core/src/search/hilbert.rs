//! The Hilbert curve through a grid of any dimensions: [`Walk`].
//!
//! # Source
//!
//! J. Skilling, "Programming the Hilbert curve", AIP Conf. Proc. 707, 2004, function
//! `TransposetoAxes`.
//!
//! The curve goes through the smallest cube around the grid whose side is a power of two. Places
//! outside the grid are skipped.
//!
//! ```text
//!   3 x 2 in a square of 4
//!
//!   3  5  6  9 10       Places 4 to 7 and 8 to 11 are squares outside the grid: after 3 the walk
//!   2  4  7  8 11       looks at 4, 8 and 12.
//!     ---------+
//!   1  3  2 13 |12      Processors (3 4 5 above 0 1 2) in the order of their places:
//!   0  0  1 14 |15      0, 1, 4, 3, 5, 2.
//! ```

use crate::grid::{DIMENSIONS_MAX, Grid};

/// The most bits of the number of a place on the curve.
pub(crate) const CURVE_BITS_MAX: u32 = 22;

/// The bits of a coordinate on the curve through a grid.
const fn bits(grid: &Grid) -> u32 {
    let (mut bits, mut at) = (0, 0);
    while at < grid.dimensions() {
        let side = u16::BITS - (grid.side(at) - 1).leading_zeros();
        if side > bits {
            bits = side;
        }
        at += 1;
    }
    bits
}

/// The bits of the number of a place on the curve through a grid.
pub(crate) const fn curve_bits(grid: &Grid) -> u32 {
    bits(grid) * grid.dimensions() as u32
}

/// The processors of a grid in the order of the curve, by number.
///
/// O(bits of a place) for each place that the walk looks at. In a cube of places outside the grid
/// it looks only at the first place.
#[derive(Clone)]
pub(crate) struct Walk<'g> {
    grid: &'g Grid,
    bits: u32,
    next: u32,
    looks: u32,
    poll: &'g dyn Fn(),
}

/// The number of looks at places between two polls.
const LOOKS: u32 = 16;

impl<'g> Walk<'g> {
    /// The walk through a grid of at most [`CURVE_BITS_MAX`]. It calls `poll` at every
    /// [`LOOKS`] looks at a place.
    pub(crate) const fn new(grid: &'g Grid, poll: &'g dyn Fn()) -> Self {
        Walk {
            grid,
            bits: bits(grid),
            next: 0,
            looks: 0,
            poll,
        }
    }

    /// The coordinates of a place in the cube.
    fn coordinates(&self, place: u32) -> [u32; DIMENSIONS_MAX] {
        let n = self.grid.dimensions();
        let mut all = [0; DIMENSIONS_MAX];
        let axes = &mut all[..n];
        // The bits of the place go to the axes by turns, the highest to axis 0.
        let mut rest = place;
        for level in 0..self.bits {
            for axis in axes.iter_mut().rev() {
                *axis |= (rest & 1) << level;
                rest >>= 1;
            }
        }
        // Gray code.
        let last = axes[n - 1] >> 1;
        for axis in (1..n).rev() {
            axes[axis] ^= axes[axis - 1];
        }
        axes[0] ^= last;
        // Turns and mirrors the parts of each level, the smallest first.
        for level in 1..self.bits {
            let below = (1 << level) - 1;
            for axis in (0..n).rev() {
                if axes[axis] >> level & 1 == 1 {
                    axes[0] ^= below;
                } else {
                    let differ = (axes[0] ^ axes[axis]) & below;
                    axes[0] ^= differ;
                    axes[axis] ^= differ;
                }
            }
        }
        all
    }

    /// The exponent of the side of the largest cube that has these coordinates and lies outside the
    /// grid; `None` in the grid. The walk comes to the first place of such a cube first, and passes
    /// all other places of the cube.
    fn outside(&self, coordinates: &[u32]) -> Option<u32> {
        let sides = self.grid.sides().iter().map(|&side| u32::from(side));
        let beyond = coordinates.iter().zip(sides);
        let beyond = beyond.filter(|&(&at, side)| at >= side);
        let exponents = beyond.map(|(&at, side)| {
            // The cube of side 2^e around a place begins at the coordinate without its low e bits.
            let begins_in_grid = |&e: &u32| at >> e << e < side;
            (1..).find(begins_in_grid).unwrap_or(1) - 1
        });
        exponents.max()
    }
}

impl Iterator for Walk<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let n = self.grid.dimensions();
        while self.next >> curve_bits(self.grid) == 0 {
            if self.looks.is_multiple_of(LOOKS) {
                (self.poll)();
            }
            self.looks += 1;
            let coordinates = &self.coordinates(self.next)[..n];
            let Some(exponent) = self.outside(coordinates) else {
                self.next += 1;
                let sides = self.grid.sides().iter().zip(coordinates).rev();
                return Some(sides.fold(0, |number, (&side, at)| number * u32::from(side) + at));
            };
            self.next += 1 << (exponent * n as u32);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn each_processor_is_visited_once_and_in_a_cube_the_next_one_is_a_neighbour() {
        for sides in [&[4, 4][..], &[8, 8, 8], &[2, 2, 2, 2], &[16], &[4, 4, 4, 4]] {
            let grid = Grid::mesh(sides).unwrap();
            let walk: Vec<u32> = Walk::new(&grid, &|| ()).collect();
            let coordinates = |&node: &u32| grid.coordinates(crate::NodeId(node)).unwrap();
            for pair in walk.windows(2) {
                let (one, other) = (coordinates(&pair[0]), coordinates(&pair[1]));
                let steps = one.iter().zip(&*other).map(|(a, b)| a.abs_diff(*b));
                assert_eq!(steps.sum::<u16>(), 1, "{sides:?}");
            }
        }
    }

    #[test]
    fn a_walk_has_the_processors_in_the_order_of_all_places() {
        let all = [
            &[3, 2][..],
            &[16, 20, 28],
            &[5, 1, 3],
            &[1, 1],
            &[7],
            &[5, 3, 7, 2, 3],
            &[9; 4],
            &[2; 16],
        ];
        for sides in all {
            let grid = Grid::mesh(sides).unwrap();
            let walk = Walk::new(&grid, &|| ());
            let processor = |place| {
                let coordinates = walk.coordinates(place).map(|at| at as u16);
                Some(grid.node(&coordinates[..sides.len()])?.0)
            };
            let naive: Vec<u32> = (0..1 << curve_bits(&grid)).filter_map(processor).collect();
            assert_eq!(naive.len(), grid.nodes() as usize, "{sides:?}");
            assert!(walk.clone().eq(naive), "{sides:?}");
        }
    }

    /// Checks the drawing in the documentation of the module.
    #[test]
    fn places_outside_are_skipped() {
        let grid = Grid::mesh(&[3, 2]).unwrap();
        let mut walk = Walk::new(&grid, &|| ());
        assert!(walk.by_ref().eq([0, 1, 4, 3, 5, 2]));
        assert_eq!(walk.looks, 10, "at all places but 5 to 7 and 9 to 11");
    }
}
