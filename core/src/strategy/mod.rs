//! Where a job is placed: the [`Strategy`] trait, and [`AnyStrategy`] to choose at run time.
//!
//! A strategy owns no occupancy. It looks at the [`Occupancy`] and proposes blocks; the
//! allocator commits them, and only then is the strategy told what was taken. What it keeps of its own (the free
//! submesh list) is derived from the occupancy and can be rebuilt from it at any time.
//!
//! # Adding a strategy
//!
//! One file in this folder with a type that implements [`Strategy`], and one line in the table in
//! `table.rs`. Nothing else learns of it: command line, protocol and firmware read the table.

use crate::blocks::{Draft, Held};
use crate::cube::Cube;
use crate::cube::search::SubcubeSearch;
use crate::error::{ConfigureError, Refusal};
use crate::machine::{Block, Machine, MachineKind};
use crate::mesh::{Mesh, Sides, Submesh};
use crate::occupancy::Occupancy;
use crate::request::Request;
use crate::search;
use crate::word::Word;

/// A processor allocation strategy.
pub trait Strategy {
    /// The least number of free processors with which the request could be granted. The shape is one for the machine
    /// ([`Machine::check`]).
    ///
    /// # Errors
    ///
    /// Why it could not be granted on an empty machine without faults.
    fn demand(&self, request: &Request) -> Result<u32, Refusal>;

    /// Looks for a place and writes the blocks into `draft`. Returns whether it found one; if not, what
    /// it has written is thrown away. The occupancy does not change.
    ///
    /// Blocks must be free, within the machine and disjoint.
    fn propose(
        &mut self,
        occupancy: &Occupancy<'_>,
        request: &Request,
        draft: &mut Draft<'_, '_>,
    ) -> bool;

    /// The block has become busy: a job took it, or its processor is faulty. `occupancy` says so
    /// already.
    fn taken(&mut self, occupancy: &Occupancy<'_>, block: Block) {
        let _ = (occupancy, block);
    }

    /// The block has become free. `occupancy` says so already, and `held` has all that is still busy.
    fn released(&mut self, occupancy: &Occupancy<'_>, held: &Held<'_, '_>, block: Block) {
        let _ = (occupancy, held, block);
    }

    /// Forget everything and begin with this occupancy.
    fn rebuild(&mut self, occupancy: &Occupancy<'_>) {
        let _ = occupancy;
    }

    /// Whether [`Strategy::propose`] looks at the occupancy. If it does not, marking is deferred.
    fn reads_occupancy(&self) -> bool {
        true
    }

    /// Asserts every invariant of what the strategy keeps. For tests; it may be slow.
    fn check_invariants(&self, occupancy: &Occupancy<'_>) {
        let _ = occupancy;
    }
}

/// Memory that a strategy may use as it likes; how much of it a strategy needs is in its docs.
#[derive(Debug, Default)]
pub struct Workspace<'m> {
    /// Scratch: as many words as the occupancy has, for a cube twice as many.
    pub words: &'m mut [Word],
    /// A list of submeshes: as many as the machine has processors.
    pub list: &'m mut [Submesh],
}

impl Workspace<'_> {
    /// The scratch words that a strategy may need for this machine.
    pub const fn words_needed(machine: Machine) -> usize {
        let words = Occupancy::words_needed(machine);
        match machine {
            Machine::Mesh(_) => words,
            Machine::Cube(_) => 2 * words,
        }
    }

    /// Whether there are enough scratch words for this machine.
    fn check_words(&self, machine: Machine) -> Result<(), ConfigureError> {
        match self.words.len() >= Self::words_needed(machine) {
            true => Ok(()),
            false => Err(ConfigureError::StrategyMemory),
        }
    }
}

/// Defines a strategy on one kind of machine that keeps nothing but scratch words.
macro_rules! scanning_strategy {
    ($(#[$meta:meta])* $name:ident, $field:ident: $type:ident, on $kind:ident) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub struct $name<'m> {
            $field: crate::strategy::$type,
            pub(super) workspace: crate::strategy::Workspace<'m>,
        }

        impl<'m> $name<'m> {
            /// Whether it could serve the machine: any of its kind.
            ///
            /// # Errors
            ///
            /// `MachineUnsuitable` for another kind; `StrategyMemory` when there are too few scratch words.
            pub fn check(
                machine: crate::machine::Machine,
                workspace: &crate::strategy::Workspace<'_>,
            ) -> Result<(), crate::error::ConfigureError> {
                let crate::machine::Machine::$kind(_) = machine else {
                    return Err(crate::error::ConfigureError::MachineUnsuitable);
                };
                workspace.check_words(machine)
            }

            /// The strategy on this machine.
            ///
            /// # Errors
            ///
            /// What `check` says.
            pub fn new(
                machine: crate::machine::Machine,
                workspace: crate::strategy::Workspace<'m>,
            ) -> Result<Self, crate::error::ConfigureError> {
                Self::check(machine, &workspace)?;
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

#[cfg(feature = "adaptive-scan")]
mod adaptive_scan;
#[cfg(feature = "all-shapes")]
mod all_shapes;
#[cfg(feature = "best-fit")]
mod best_fit;
#[cfg(feature = "buddy")]
mod buddy;
#[cfg(feature = "busy-list")]
mod busy_list;
#[cfg(feature = "first-fit")]
mod first_fit;
#[cfg(feature = "fixed-orientation")]
mod fixed_orientation;
#[cfg(feature = "flex-fold")]
mod flex_fold;
#[cfg(feature = "frame-sliding")]
mod frame_sliding;
#[cfg(feature = "free-list")]
mod free_list;
#[cfg(feature = "free-submesh-list")]
mod free_submesh_list;
#[cfg(feature = "naive")]
mod naive;
#[cfg(feature = "partner")]
mod partner;
#[cfg(feature = "sniffing")]
mod sniffing;
mod table;
#[cfg(feature = "tree-collapsing")]
mod tree_collapsing;
#[cfg(feature = "tree-collapsing-printed")]
mod tree_collapsing_printed;

#[cfg(feature = "adaptive-scan")]
pub use adaptive_scan::AdaptiveScan;
#[cfg(feature = "all-shapes")]
pub use all_shapes::AllShapes;
#[cfg(feature = "best-fit")]
pub use best_fit::BestFit;
#[cfg(feature = "buddy")]
pub use buddy::Buddy;
#[cfg(feature = "busy-list")]
pub use busy_list::BusyList;
#[cfg(feature = "first-fit")]
pub use first_fit::FirstFit;
#[cfg(feature = "fixed-orientation")]
pub use fixed_orientation::FixedOrientation;
#[cfg(feature = "flex-fold")]
pub use flex_fold::FlexFold;
#[cfg(feature = "frame-sliding")]
pub use frame_sliding::FrameSliding;
#[cfg(feature = "free-list")]
pub use free_list::FreeList;
#[cfg(feature = "free-submesh-list")]
pub use free_submesh_list::{FreeSubmeshList, reservation_factor};
#[cfg(feature = "naive")]
pub use naive::Naive;
#[cfg(feature = "partner")]
pub use partner::Partner;
#[cfg(feature = "sniffing")]
pub use sniffing::Sniffing;
pub use table::{AnyStrategy, StrategyInfo, StrategyKind};
#[cfg(feature = "tree-collapsing")]
pub use tree_collapsing::TreeCollapsing;
#[cfg(feature = "tree-collapsing-printed")]
pub use tree_collapsing_printed::TreeCollapsingPrinted;

/// The demand of a strategy that places a request only as it is.
fn demand_as_requested(request: &Request, mesh: Mesh) -> Result<u32, Refusal> {
    match request.sides() {
        Some(sides) if sides.fits_in(mesh.sides()) => Ok(sides.area()),
        _ => Err(Refusal::NeverFits),
    }
}

/// The demand of a strategy that may rotate a request.
fn demand_either_way(request: &Request, mesh: Mesh) -> Result<u32, Refusal> {
    let mut orientations = request.orientations();
    orientations
        .find(|sides| sides.fits_in(mesh.sides()))
        .map(Sides::area)
        .ok_or(Refusal::NeverFits)
}

/// The machine as a mesh.
fn mesh_of(machine: Machine) -> Result<Mesh, ConfigureError> {
    match machine {
        Machine::Mesh(mesh) => Ok(mesh),
        Machine::Cube(_) => Err(ConfigureError::MachineUnsuitable),
    }
}

/// The machine as a cube.
fn cube_of(machine: Machine) -> Result<Cube, ConfigureError> {
    match machine {
        Machine::Mesh(_) => Err(ConfigureError::MachineUnsuitable),
        Machine::Cube(cube) => Ok(cube),
    }
}

/// The demand of a strategy that allocates exactly the radices of a request.
fn demand_of_radices(request: &Request) -> Result<u32, Refusal> {
    let radices = request.radices().ok_or(Refusal::Malformed)?;
    Ok(radices.area())
}

/// The first free submesh of exactly these sides, in row-major order.
#[cfg(any(
    feature = "adaptive-scan",
    feature = "all-shapes",
    feature = "first-fit",
    feature = "fixed-orientation",
    feature = "flex-fold"
))]
#[inline]
fn first_place(
    occupancy: &Occupancy<'_>,
    sides: Sides,
    workspace: &mut Workspace<'_>,
) -> Option<Submesh> {
    let base = search::first_fit(occupancy, sides, workspace.words)?;
    Some(Submesh { base, sides })
}
