//! The limits of a machine: its size, and its number of dimensions.

/// The maximum number of processors of a [`Grid`](super::Grid). With this limit, the start and the
/// extent of a block fit into one number of 64 bits ([`Block`](super::Block)).
pub const NODES_MAX: u32 = 1 << 20;

/// The longest side of a two-dimensional mesh, in processors.
pub const MESH_SIDE_MAX: u16 = 1024;

/// The maximum number of dimensions of a [`Grid`](super::Grid) and of extents of a
/// [`Shape`](super::Shape). A mask of 16 bits says which dimensions wrap.
pub const DIMENSIONS_MAX: usize = 16;

/// The most dimensions of a grid on which strategies look for maximal free boxes. The search looks
/// at every arc of every dimension but the first, and k sides of length 2 already have 3^k
/// combinations of arcs.
pub(crate) const FEW_DIMENSIONS_MAX: usize = 6;

/// The most dimensions of a described machine. A request has only four flags to demand rings along
/// its extents ([`Flags::RING_0`](crate::Flags::RING_0) and the next ones).
pub const DESCRIBED_MAX: usize = 4;

/// Whether this build serves grids other than two-dimensional meshes with all strategies that can:
/// the feature `any-grid`.
pub(crate) const ANY_GRID: bool = cfg!(feature = "any-grid");
