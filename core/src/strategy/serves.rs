//! The machines that a strategy serves: [`Serves`].

use core::fmt;

use crate::grid::{ANY_GRID, FEW_DIMENSIONS_MAX, Grid};
use crate::search::hilbert::{CURVE_BITS_MAX, curve_bits};

/// The machines that a strategy serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Serves {
    /// Every grid.
    AnyGrid,
    /// Grids whose sides are all multiples of 2^exponent.
    MultiplesOf {
        /// The exponent.
        exponent: u64,
    },
    /// Two-dimensional meshes.
    Mesh,
    /// Two-dimensional meshes with equal sides that are a power of two.
    PowerOfTwoMesh,
    /// Two-dimensional meshes whose sides are powers of two, not higher than wide.
    HalvableMesh,
    /// Grids of at most six dimensions.
    FewDimensions,
    /// k-ary n-cubes.
    Cube,
    /// k-ary n-cubes whose k is a power of two.
    PowerOfTwoCube,
    /// Grids of two or three dimensions.
    TwoOrThreeDimensions,
    /// Meshes of two or three dimensions.
    MeshOfTwoOrThreeDimensions,
    /// Grids that lie in a cube of equal sides, a power of two, of at most 2^22 processors.
    HilbertCurve,
    /// Machines whose description has cubes.
    Cubes,
    /// Machines whose description has placements.
    Placements,
}

impl Serves {
    /// Whether the strategy needs a description of the machine; a grid alone has none.
    #[must_use]
    pub const fn needs_description(self) -> bool {
        matches!(self, Serves::Cubes | Serves::Placements)
    }

    /// Any grid in a build with the feature `any-grid`, else two-dimensional meshes.
    #[allow(
        non_upper_case_globals,
        reason = "named as a variant in the table of strategies"
    )]
    pub(super) const MeshOrAnyGrid: Serves = if ANY_GRID {
        Serves::AnyGrid
    } else {
        Serves::Mesh
    };

    /// Grids of at most six dimensions in a build with the feature `any-grid`, else two-dimensional
    /// meshes.
    #[allow(
        non_upper_case_globals,
        reason = "named as a variant in the table of strategies"
    )]
    pub(super) const MeshOrFewDimensions: Serves = if ANY_GRID {
        Serves::FewDimensions
    } else {
        Serves::Mesh
    };

    /// Whether the machine is one of these.
    pub const fn includes(self, grid: &Grid) -> bool {
        let power_of_two = grid.side(0).is_power_of_two();
        match self {
            Serves::AnyGrid => true,
            Serves::MultiplesOf { exponent } => {
                let mut dimension = 0;
                let mut multiples = true;
                while dimension < grid.dimensions() {
                    multiples &= grid.side(dimension).trailing_zeros() as u64 >= exponent;
                    dimension += 1;
                }
                multiples
            }
            Serves::Mesh => grid.is_plane(),
            Serves::PowerOfTwoMesh => {
                grid.is_plane() && power_of_two && grid.side(0) == grid.side(1)
            }
            Serves::HalvableMesh => {
                let (w, h) = (grid.side(0), grid.side(1));
                grid.is_plane() && power_of_two && h.is_power_of_two() && h <= w
            }
            Serves::FewDimensions => grid.dimensions() <= FEW_DIMENSIONS_MAX,
            Serves::Cube => grid.radix().is_some(),
            Serves::PowerOfTwoCube => grid.radix().is_some() && power_of_two,
            Serves::TwoOrThreeDimensions => matches!(grid.dimensions(), 2 | 3),
            Serves::MeshOfTwoOrThreeDimensions => {
                grid.is_plane()
                    || grid.dimensions() == 3 && !(grid.wraps(0) || grid.wraps(1) || grid.wraps(2))
            }
            Serves::HilbertCurve => curve_bits(grid) <= CURVE_BITS_MAX,
            // These machines have a description.
            Serves::Cubes | Serves::Placements => false,
        }
    }
}

/// The machines in words, as an error message expects them.
impl fmt::Display for Serves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Serves::AnyGrid | Serves::MultiplesOf { exponent: 0 } => "any grid",
            Serves::MultiplesOf { exponent } => {
                return write!(f, "grids whose sides are all multiples of 2^{exponent}");
            }
            Serves::Mesh => "two-dimensional meshes",
            Serves::PowerOfTwoMesh => {
                "square two-dimensional meshes with a side that is a power of two"
            }
            Serves::HalvableMesh => {
                "two-dimensional meshes whose sides are powers of two, not higher than wide"
            }
            Serves::FewDimensions => "grids of at most six dimensions",
            Serves::Cube => "k-ary n-cubes",
            Serves::PowerOfTwoCube => "k-ary n-cubes whose k is a power of two",
            Serves::TwoOrThreeDimensions => "grids of two or three dimensions",
            Serves::MeshOfTwoOrThreeDimensions => "meshes of two or three dimensions",
            Serves::HilbertCurve => {
                "grids that lie in a cube of equal sides, a power of two, of at most 2^22 \
                 processors; two-dimensional meshes"
            }
            Serves::Cubes => "machines whose description has cubes",
            Serves::Placements => "machines whose description has placements",
        })
    }
}
