//! The k-ary n-cube and the shapes in it: [`Cube`], [`Radices`], [`Subcube`].
//!
//! A node is named by an address of n digits in radix k, `A[n-1] ... A[1] A[0]`; its number is the address read as
//! a number. Along each dimension the k nodes form a ring. A subcube takes, in each dimension, a number of
//! consecutive nodes, its *extent*, from a start position on; behind position k - 1 comes position 0 again.
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
use core::ops::Deref;

use crate::machine::NodeId;

mod failed;
mod notation;
mod radices;
pub(crate) mod search;
mod subcube;

pub use notation::{Notation, notations};
pub use radices::{Radices, RadicesError};
pub use subcube::{Subcube, SubcubeError};

/// The most processors a [`Cube`] may have.
pub const CUBE_NODES_MAX: u32 = 65_536;

/// The most dimensions a [`Cube`] may have, and a request name.
pub const DIMENSIONS_MAX: usize = CUBE_NODES_MAX.ilog2() as usize;

/// A number for each dimension, the highest dimension first and dimension 0 last: the order in which addresses are
/// written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digits {
    len: u8,
    /// Invariant: zeros from `len` on.
    digits: [u16; DIMENSIONS_MAX],
}

impl Digits {
    fn new(len: usize, mut digit: impl FnMut(usize) -> u16) -> Digits {
        let mut digits = [0; DIMENSIONS_MAX];
        for (at, place) in digits[..len].iter_mut().enumerate() {
            *place = digit(at);
        }
        Digits {
            len: len as u8,
            digits,
        }
    }
}

impl Digits {
    pub(crate) fn sort_descending(&mut self) {
        self.digits[..usize::from(self.len)].sort_unstable_by(|one, other| other.cmp(one));
    }
}

impl Deref for Digits {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        &self.digits[..usize::from(self.len)]
    }
}

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (at, digit) in self.iter().enumerate() {
            write!(f, "{}{digit}", if at == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}

/// A k-ary n-cube: `k^n` processors, at most [`CUBE_NODES_MAX`]; k is at least 2, n at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "(u16, u8)", into = "(u16, u8)"))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Cube {
    k: u16,
    n: u8,
}

impl Cube {
    /// The `k`-ary `n`-cube.
    ///
    /// # Errors
    ///
    /// When k is below 2, n is 0, or there would be more than [`CUBE_NODES_MAX`] processors.
    ///
    /// ```
    /// use meshalloc::Cube;
    /// assert_eq!(Cube::new(4, 3).unwrap().nodes(), 64);
    /// assert!(Cube::new(16, 5).is_err());
    /// ```
    pub const fn new(k: u16, n: u8) -> Result<Cube, CubeError> {
        let error = Err(CubeError { k, n });
        if k < 2 || n == 0 || n as usize > DIMENSIONS_MAX {
            return error;
        }
        match (k as u32).checked_pow(n as u32) {
            Some(nodes) if nodes <= CUBE_NODES_MAX => Ok(Cube { k, n }),
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
        self.stride(self.n as usize)
    }

    /// How far apart the numbers of neighbours along a dimension are: `k^dimension`.
    pub(crate) const fn stride(self, dimension: usize) -> u32 {
        (self.k as u32).pow(dimension as u32)
    }

    /// The node's address; `None` outside the cube.
    ///
    /// ```
    /// use meshalloc::{Cube, NodeId};
    /// let cube = Cube::new(4, 3).unwrap();
    /// assert_eq!(*cube.address(NodeId(27)).unwrap(), [1, 2, 3]);
    /// ```
    pub fn address(self, node: NodeId) -> Option<Digits> {
        (node.0 < self.nodes()).then(|| {
            let n = usize::from(self.n);
            let mut rest = node.0;
            let mut address = Digits::new(n, |_| 0);
            for digit in address.digits[..n].iter_mut().rev() {
                *digit = (rest % u32::from(self.k)) as u16;
                rest /= u32::from(self.k);
            }
            address
        })
    }

    /// The number of the node with this address; `None` when there are not n digits below k.
    pub fn node(self, address: &[u16]) -> Option<NodeId> {
        if address.len() != usize::from(self.n) || address.iter().any(|&digit| digit >= self.k) {
            return None;
        }
        let number = address.iter().fold(0, |number, &digit| {
            number * u32::from(self.k) + u32::from(digit)
        });
        Some(NodeId(number))
    }
}

impl TryFrom<(u16, u8)> for Cube {
    type Error = CubeError;

    fn try_from((k, n): (u16, u8)) -> Result<Cube, CubeError> {
        Cube::new(k, n)
    }
}

impl From<Cube> for (u16, u8) {
    fn from(cube: Cube) -> (u16, u8) {
        (cube.k, cube.n)
    }
}

impl fmt::Display for Cube {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-ary {}-cube", self.k, self.n)
    }
}

/// There is no such cube: [`Cube::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CubeError {
    /// The radix that was asked for.
    pub k: u16,
    /// The number of dimensions that was asked for.
    pub n: u8,
}

impl fmt::Display for CubeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a {}-ary {}-cube: k must be at least 2, n at least 1, and k^n at most {CUBE_NODES_MAX}",
            self.k, self.n
        )
    }
}

impl core::error::Error for CubeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cubes_are_those_that_fit() {
        for (k, n, nodes) in [
            (2, 16, 65_536),
            (256, 2, 65_536),
            (65_535, 1, 65_535),
            (3, 10, 59_049),
        ] {
            assert_eq!(Cube::new(k, n).map(Cube::nodes), Ok(nodes));
        }
        for (k, n) in [
            (1, 3),
            (0, 1),
            (2, 0),
            (2, 17),
            (3, 11),
            (257, 2),
            (u16::MAX, u8::MAX),
        ] {
            assert_eq!(Cube::new(k, n), Err(CubeError { k, n }));
        }
    }
}
