//! [`Grid`] describes the machine, [`Shape`] a request, [`Block`] the processors that a job holds.
//!
//! A grid has 1 to 16 dimensions. Each dimension has its own side length and wraps or does not.
//! One type covers the meshes, tori and cubes of the literature:
//!
//! | machine | sides | wraps |
//! |---|---|---|
//! | two-dimensional mesh, `w x h` ([`Mesh`](crate::Mesh)) | w, h | no dimension |
//! | n-dimensional mesh | any | no dimension |
//! | torus | any | every dimension |
//! | ring of meshes, mesh of rings | any | some dimensions |
//! | k-ary n-cube ([`Cube`](crate::Cube)) | n times k | every dimension |
//! | hypercube of n dimensions | n times 2 | every dimension |
//!
//! Dimension 0 is x and varies fastest in node numbers. Coordinates are written x first. A grid
//! made from a [`Cube`](crate::Cube) writes them as the papers write addresses: highest dimension
//! first.
//!
//! ```text
//!   y                                               y
//!   3  . . . . . .   mesh 6 x 4                     3  . . . .    4-ary 2-cube
//!   2  . A A A . .   A: start (1, 1),               2  A . . A    A: start (y, x) = (1, 3),
//!   1  . A A A . .      extent (3, 2)               1  A . . A       extent (2, 2), around
//!   0  . . . . . .                                  0  . . . .       the ring of x
//!      0 1 2 3 4 5  x                                  0 1 2 3  x
//! ```

mod arc;
pub(crate) mod arcs;
mod block;
mod limits;
mod shape;
mod text;
mod topology;
mod tuple;

pub(crate) use arc::{Arc, Side};
pub use block::Block;
pub(crate) use limits::{ANY_GRID, FEW_DIMENSIONS_MAX};
pub use limits::{DESCRIBED_MAX, DIMENSIONS_MAX, MESH_SIDE_MAX, NODES_MAX};
pub use shape::{Shape, ShapeError};
pub use text::{FormattedBlock, GridTextError};
pub use topology::{Grid, GridError};
pub use tuple::Tuple;
pub(crate) use tuple::{any_order, next_order, sort_descending};

#[cfg(test)]
mod tests;
