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
//!   3 x 2 in a square of 4        places on the curve      processors in order
//!
//!   1  . . .                      3  2 13                  3 2 5
//!   0  . . .                      0  1 14                  0 1 4      13 comes before 14
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
/// O(bits of a place) for each place of the cube.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'g> {
    grid: &'g Grid,
    bits: u32,
    next: u32,
}

impl<'g> Walk<'g> {
    /// The walk through a grid of at most [`CURVE_BITS_MAX`].
    pub(crate) const fn new(grid: &'g Grid) -> Self {
        Walk {
            grid,
            bits: bits(grid),
            next: 0,
        }
    }

    /// The number of the processor at a place of the cube; `None` outside the grid.
    fn processor(&self, place: u32) -> Option<u32> {
        let n = self.grid.dimensions();
        let mut axes = [0_u32; DIMENSIONS_MAX];
        // The bits of the place go to the axes by turns, the highest to axis 0.
        for bit in 0..self.bits * n as u32 {
            let axis = n - 1 - bit as usize % n;
            axes[axis] |= (place >> bit & 1) << (bit / n as u32);
        }
        let axes = &mut axes[..n];
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
        let (mut number, mut stride) = (0, 1);
        for (&at, &side) in axes.iter().zip(self.grid.sides()) {
            if at >= side.into() {
                return None;
            }
            number += at * stride;
            stride *= u32::from(side);
        }
        Some(number)
    }
}

impl Iterator for Walk<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        while self.next >> curve_bits(self.grid) == 0 {
            let place = self.next;
            self.next += 1;
            if let Some(processor) = self.processor(place) {
                return Some(processor);
            }
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
            let walk: Vec<u32> = Walk::new(&grid).collect();
            let coordinates = |&node: &u32| grid.coordinates(crate::NodeId(node)).unwrap();
            for pair in walk.windows(2) {
                let (one, other) = (coordinates(&pair[0]), coordinates(&pair[1]));
                let steps = one.iter().zip(&*other).map(|(a, b)| a.abs_diff(*b));
                assert_eq!(steps.sum::<u16>(), 1, "{sides:?}");
            }
        }
        for sides in [&[3, 2][..], &[16, 20, 28], &[5, 1, 3], &[1, 1], &[7]] {
            let grid = Grid::mesh(sides).unwrap();
            let mut walk: Vec<u32> = Walk::new(&grid).collect();
            walk.sort_unstable();
            assert!(walk.into_iter().eq(0..grid.nodes()), "{sides:?}");
        }
    }

    /// The drawing.
    #[test]
    fn places_outside_are_skipped() {
        let grid = Grid::mesh(&[3, 2]).unwrap();
        assert!(Walk::new(&grid).eq([0, 1, 4, 3, 5, 2]));
    }
}
