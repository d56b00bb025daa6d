//! The machine: [`MachineArgs`], the options of every command that takes one.

use clap::Args;
use meshalloc::{Cube, Grid, Shape};

use super::OptionError;
use crate::names;

/// The sides of the mesh of a scenario that names no machine.
pub const MESH_DEFAULT: Shape = Shape::sides(64, 64);

/// The machine of a command.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct MachineArgs {
    /// Sides of a mesh of 1 to 16 dimensions, the first along dimension 0 (x): each 1 to 65535, in two dimensions 1 to 1024,
    /// and up to 1048576 processors [default: 64x64; none for a log]
    #[arg(long, value_name = "WxH...", value_parser = names::sides, help_heading = HEADING)]
    pub mesh: Option<Shape>,

    /// Dimensions of the mesh that wrap around, by number (0 is x)
    #[arg(long, value_name = "D,...", value_parser = names::wrap, help_heading = HEADING)]
    pub wrap: Option<u16>,

    /// Sides of a torus, a mesh in which all dimensions wrap around
    #[arg(long, value_name = "WxH...", value_parser = names::sides, help_heading = HEADING,
        conflicts_with_all = ["mesh", "wrap"])]
    pub torus: Option<Shape>,

    /// A k-ary n-cube: k at least 2, n 1 to 16, k^n at most 1048576
    #[arg(long, value_name = "k=K,n=N", value_parser = names::cube, help_heading = HEADING,
        conflicts_with_all = ["mesh", "wrap", "torus"])]
    pub cube: Option<Cube>,
}

const HEADING: &str = "Machine";

impl MachineArgs {
    /// Whether a machine is named.
    pub(crate) const fn is_named(&self) -> bool {
        self.mesh.is_some() || self.torus.is_some() || self.cube.is_some()
    }

    /// The machine that they name, or else the default.
    ///
    /// # Errors
    ///
    /// When there is none of these sides, or a dimension is to wrap that it does not have.
    pub fn machine(&self) -> Result<Grid, OptionError> {
        if let Some(cube) = self.cube {
            return Ok(cube.into());
        }
        if let Some(sides) = self.torus {
            let grid = Grid::torus(&sides.extents());
            return grid.map_err(|error| {
                OptionError::new(&["torus"], format!("`torus` {sides}: {error}"))
            });
        }
        let sides = self.mesh.unwrap_or(MESH_DEFAULT);
        let grid = Grid::new(&sides.extents(), self.wrap.unwrap_or(0));
        grid.map_err(|error| {
            OptionError::new(&["wrap", "mesh"], format!("`mesh` {sides}: {error}"))
        })
    }
}
