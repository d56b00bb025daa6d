//! The k-ary n-cube: [`Cube`].
//!
//! The address of a node has n digits in radix k, `A[n-1] ... A[1] A[0]`. The number of the node is
//! the value of its address. Along each dimension the k nodes form a ring. A subcube takes
//! consecutive nodes in each dimension, from a start position on; their number is its *extent*.
//! Position 0 follows position k - 1.
//!
//! ```text
//!   4-ary 2-cube, A[0] to the right, A[1] upwards     The subcube with the start (1, 3) and the
//!   3  . . . .                                        extents (2, 2): its nodes are 13, 10, 23
//!   2  # . . #                                        and 20 in radix 4, or 7, 4, 11 and 8.
//!   1  # . . #
//!   0  . . . .
//!      0 1 2 3
//! ```
//!
//! # Special cases
//!
//! | topology | cube or request |
//! |---|---|
//! | hypercube of n dimensions | k = 2 |
//! | torus, k x k | n = 2 |
//! | ring of k | n = 1, or a request for one radix k |
//! | line of r | a request for one radix r below k |
//! | mesh, a x b | a request for the radices (a, b) below k |
//! | torus, k x k, within a larger cube | a request for the radices (k, k) |
//! | hypercube of m dimensions | a request for m radices 2 |
//!
//! # Source
//!
//! Chuang and Wu, "Processor Allocation in k-ary n-cube Multiprocessors", section 1 and figure 1.

use core::fmt;

use crate::grid::{DIMENSIONS_MAX, Grid, NODES_MAX, Tuple};
use crate::node::NodeId;
use crate::texts::texts;

/// A k-ary n-cube: `k^n` processors, at most [`NODES_MAX`]; k is at least 2, n 1 to
/// [`DIMENSIONS_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Cube {
    k: u16,
    n: u8,
}

impl Cube {
    /// Makes the `k`-ary `n`-cube.
    ///
    /// # Errors
    ///
    /// If k is below 2, n is 0 or above [`DIMENSIONS_MAX`], or `k^n` is above [`NODES_MAX`].
    ///
    /// ```
    /// use meshalloc::Cube;
    /// assert_eq!(Cube::new(4, 3).unwrap().nodes(), 64);
    /// assert!(Cube::new(17, 5).is_err());
    /// ```
    pub const fn new(k: u16, n: u8) -> Result<Cube, CubeError> {
        let error = Err(CubeError { k, n });
        if k < 2 || n == 0 || n as usize > DIMENSIONS_MAX {
            return error;
        }
        match (k as u32).checked_pow(n as u32) {
            Some(nodes) if nodes <= NODES_MAX => Ok(Cube { k, n }),
            _ => error,
        }
    }

    /// The radix: the number of processors along each dimension.
    pub const fn k(self) -> u16 {
        self.k
    }

    /// The number of dimensions.
    pub const fn n(self) -> u8 {
        self.n
    }

    /// The number of processors, `k^n`.
    pub const fn nodes(self) -> u32 {
        (self.k as u32).pow(self.n as u32)
    }

    /// The cube as a grid that writes coordinates like the cube's addresses.
    ///
    /// # Panics
    ///
    /// Never: every cube is a torus with equal sides.
    pub const fn grid(self) -> Grid {
        let sides = [self.k; DIMENSIONS_MAX];
        match Grid::torus(sides.split_at(self.n as usize).0) {
            Ok(grid) => grid.written_high_first(),
            Err(_) => panic!("a cube is a grid"),
        }
    }

    /// The address of the node, the highest dimension first; `None` outside the cube.
    ///
    /// ```
    /// use meshalloc::{Cube, NodeId};
    /// let cube = Cube::new(4, 3).unwrap();
    /// assert_eq!(*cube.address(NodeId(27)).unwrap(), [1, 2, 3]);
    /// ```
    pub fn address(self, node: NodeId) -> Option<Tuple> {
        self.grid().coordinates(node).map(Tuple::reversed)
    }

    /// The number of the node with this address, the highest dimension first. `None` unless the
    /// address has n digits below k.
    pub fn node(self, address: &[u16]) -> Option<NodeId> {
        let coordinates = Tuple::from_slice(address)?.reversed();
        self.grid().node(&coordinates)
    }
}

impl From<Cube> for Grid {
    fn from(cube: Cube) -> Grid {
        cube.grid()
    }
}

impl fmt::Display for Cube {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-ary {}-cube", self.k, self.n)
    }
}

/// Why [`Cube::new`] refuses: k, n or `k^n` is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CubeError {
    /// The refused radix.
    pub k: u16,
    /// The refused number of dimensions.
    pub n: u8,
}

texts! { CubeError: {
    CubeError { k, n } =>
        "a {k}-ary {n}-cube: k must be at least 2, n 1 to {DIMENSIONS_MAX}, \
         and k^n at most {NODES_MAX}";
} }

#[cfg(test)]
mod tests {
    use super::*;

    /// 2^17 processors are within the limit, but 17 dimensions are not.
    #[test]
    fn the_error_names_every_limit() {
        extern crate std;
        let error = Cube::new(2, 17).unwrap_err();
        assert_eq!(
            std::string::ToString::to_string(&error),
            "a 2-ary 17-cube: k must be at least 2, n 1 to 16, and k^n at most 1048576"
        );
    }

    #[test]
    fn cubes_are_those_that_fit() {
        for (k, n, nodes) in [
            (2, 16, 65_536),
            (256, 2, 65_536),
            (65_535, 1, 65_535),
            (3, 12, 531_441),
        ] {
            assert_eq!(Cube::new(k, n).map(Cube::nodes), Ok(nodes));
        }
        for (k, n) in [
            (1, 3),
            (0, 1),
            (2, 0),
            (2, 17),
            (3, 13),
            (1025, 2),
            (u16::MAX, u8::MAX),
        ] {
            assert_eq!(Cube::new(k, n), Err(CubeError { k, n }));
        }
    }
}
