//! What several strategies share.

use super::Workspace;
use crate::cube::Cube;
use crate::error::{ConfigureError, Refusal};
use crate::machine::Machine;
use crate::mesh::{Mesh, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search;

/// Defines a strategy on one kind of machine that keeps nothing but scratch words.
macro_rules! scanning_strategy {
    (@Mesh) => { crate::mesh::Mesh };
    (@SubcubeSearch) => { crate::cube::search::SubcubeSearch };
    ($(#[$meta:meta])* $name:ident, $field:ident: $type:ident, on $kind:ident) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub struct $name<'m> {
            $field: scanning_strategy!(@$type),
            pub(super) workspace: crate::strategy::Workspace<'m>,
        }

        impl<'m> $name<'m> {
            /// Whether it serves the machine: any of its kind.
            pub(super) fn check(
                machine: crate::machine::Machine,
            ) -> Result<(), crate::error::ConfigureError> {
                match machine {
                    crate::machine::Machine::$kind(_) => Ok(()),
                    _ => Err(crate::error::ConfigureError::MachineUnsuitable),
                }
            }

            /// The strategy on this machine.
            pub(super) fn new(
                machine: crate::machine::Machine,
                workspace: crate::strategy::Workspace<'m>,
            ) -> Result<Self, crate::error::ConfigureError> {
                let crate::machine::Machine::$kind(machine) = machine else {
                    return Err(crate::error::ConfigureError::MachineUnsuitable);
                };
                Ok($name {
                    $field: machine.into(),
                    workspace,
                })
            }
        }
    };
}

/// The demand of a strategy that places a request only as it is.
pub(super) fn demand_as_requested(request: &Request, mesh: Mesh) -> Result<u32, Refusal> {
    match request.sides() {
        Some(sides) if sides.fits_in(mesh.sides()) => Ok(sides.area()),
        _ => Err(Refusal::NeverFits),
    }
}

/// The demand of a strategy that may rotate a request.
pub(super) fn demand_either_way(request: &Request, mesh: Mesh) -> Result<u32, Refusal> {
    let mut orientations = request.orientations();
    orientations
        .find(|sides| sides.fits_in(mesh.sides()))
        .map(Sides::area)
        .ok_or(Refusal::NeverFits)
}

/// The machine as a mesh.
pub(super) fn mesh_of(machine: Machine) -> Result<Mesh, ConfigureError> {
    match machine {
        Machine::Mesh(mesh) => Ok(mesh),
        Machine::Cube(_) => Err(ConfigureError::MachineUnsuitable),
    }
}

/// The machine as a cube.
pub(super) fn cube_of(machine: Machine) -> Result<Cube, ConfigureError> {
    match machine {
        Machine::Mesh(_) => Err(ConfigureError::MachineUnsuitable),
        Machine::Cube(cube) => Ok(cube),
    }
}

/// The demand of a strategy that allocates exactly the radices of a request.
pub(super) fn demand_of_radices(request: &Request) -> Result<u32, Refusal> {
    let radices = request.radices().ok_or(Refusal::Malformed)?;
    Ok(radices.area())
}

/// The first free submesh of exactly these sides, in row-major order.
#[inline]
pub(super) fn first_place(
    occupancy: &Occupancy<'_>,
    sides: Sides,
    workspace: &mut Workspace<'_>,
) -> Option<Submesh> {
    let base = search::first_fit(occupancy, sides, workspace.words)?;
    Some(Submesh { base, sides })
}
