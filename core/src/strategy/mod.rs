//! Where a job is placed: the [`Strategy`] trait, and [`AnyStrategy`] to choose at run time.
//!
//! A strategy owns no occupancy. It looks at the [`Occupancy`] and proposes blocks; the
//! allocator commits them, and only then is the strategy told what was taken. What it keeps of its own (the free
//! submesh list) is derived from the occupancy and can be rebuilt from it at any time.
//!
//! # Adding a strategy
//!
//! One file in this folder with a type that implements [`Strategy`], and one line in the table at the
//! end of this file. Nothing else learns of it: command line, protocol and firmware read the table.

use core::fmt;

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
#[cfg(feature = "tree-collapsing")]
pub use tree_collapsing::TreeCollapsing;
#[cfg(feature = "tree-collapsing-printed")]
pub use tree_collapsing_printed::TreeCollapsingPrinted;

macro_rules! strategies {
    ($(
        $(#[$meta:meta])*
        $kind:ident($type:ident), $feature:literal, $name:literal, [$($alias:literal),*], on: $machine:ident,
        complete: $complete:literal, contiguous: $contiguous:literal, $source:literal;
    )*) => {
        /// The strategies by name. A kind exists also where its code was left out of the build.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[non_exhaustive]
        pub enum StrategyKind {
            $($(#[$meta])* $kind,)*
        }

        impl StrategyKind {
            /// Every strategy, in the order of this table.
            pub const ALL: &'static [StrategyKind] = &[$(StrategyKind::$kind),*];

            /// What is known about the strategy.
            pub const fn info(self) -> &'static StrategyInfo {
                match self {
                    $(StrategyKind::$kind => &StrategyInfo {
                        name: $name,
                        aliases: &[$($alias),*],
                        source: $source,
                        machine: MachineKind::$machine,
                        complete: $complete,
                        contiguous: $contiguous,
                        built: cfg!(feature = $feature),
                    },)*
                }
            }
        }

        /// A strategy chosen at run time.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum AnyStrategy<'m> {
            $(
                #[cfg(feature = $feature)]
                $(#[$meta])*
                $kind($type<'m>),
            )*
            /// Never made. It keeps the type whole in a build without any strategy.
            #[doc(hidden)]
            Never(core::convert::Infallible, core::marker::PhantomData<&'m mut ()>),
        }

        impl<'m> AnyStrategy<'m> {
            /// Whether a strategy of this kind could serve the machine with a workspace of this size.
            ///
            /// # Errors
            ///
            /// The reason why it could not.
            pub fn check(kind: StrategyKind, machine: Machine, workspace: &Workspace<'_>) -> Result<(), ConfigureError> {
                match kind {
                    $(
                        #[cfg(feature = $feature)]
                        StrategyKind::$kind => $type::check(machine, workspace),
                    )*
                    #[allow(unreachable_patterns, reason = "reached when a feature is off")]
                    _ => Err(ConfigureError::StrategyNotBuilt),
                }
            }

            /// The strategy of this kind for a machine whose processors are all free.
            ///
            /// # Errors
            ///
            /// What [`AnyStrategy::check`] says.
            pub fn new(kind: StrategyKind, machine: Machine, workspace: Workspace<'m>) -> Result<Self, ConfigureError> {
                match kind {
                    $(
                        #[cfg(feature = $feature)]
                        StrategyKind::$kind => $type::new(machine, workspace).map(AnyStrategy::$kind),
                    )*
                    #[allow(unreachable_patterns, reason = "reached when a feature is off")]
                    _ => Err(ConfigureError::StrategyNotBuilt),
                }
            }

            /// The kind it was made as.
            pub const fn kind(&self) -> StrategyKind {
                match self {
                    $(
                        #[cfg(feature = $feature)]
                        AnyStrategy::$kind(_) => StrategyKind::$kind,
                    )*
                    AnyStrategy::Never(never, _) => match *never {},
                }
            }

            /// The memory it works in.
            pub const fn workspace(&self) -> &Workspace<'m> {
                match self {
                    $(
                        #[cfg(feature = $feature)]
                        AnyStrategy::$kind(strategy) => &strategy.workspace,
                    )*
                    AnyStrategy::Never(never, _) => match *never {},
                }
            }

            fn workspace_mut(&mut self) -> &mut Workspace<'m> {
                match self {
                    $(
                        #[cfg(feature = $feature)]
                        AnyStrategy::$kind(strategy) => &mut strategy.workspace,
                    )*
                    AnyStrategy::Never(never, _) => match *never {},
                }
            }

            /// Becomes another strategy, or the same one for another machine, in the same memory.
            ///
            /// # Errors
            ///
            /// What [`AnyStrategy::check`] says; then nothing has changed.
            pub fn switch(&mut self, kind: StrategyKind, machine: Machine) -> Result<(), ConfigureError> {
                Self::check(kind, machine, self.workspace())?;
                let workspace = core::mem::take(self.workspace_mut());
                *self = Self::new(kind, machine, workspace)?;
                Ok(())
            }
        }

        impl Strategy for AnyStrategy<'_> {
            #[inline]
            fn demand(&self, request: &Request) -> Result<u32, Refusal> {
                match self {
                    $(#[cfg(feature = $feature)] AnyStrategy::$kind(s) => s.demand(request),)*
                    AnyStrategy::Never(never, _) => match *never {},
                }
            }

            #[inline]
            fn propose(&mut self, occupancy: &Occupancy<'_>, request: &Request, draft: &mut Draft<'_, '_>) -> bool {
                match self {
                    $(#[cfg(feature = $feature)] AnyStrategy::$kind(s) => s.propose(occupancy, request, draft),)*
                    AnyStrategy::Never(never, _) => match *never {},
                }
            }

            #[inline]
            fn taken(&mut self, occupancy: &Occupancy<'_>, block: Block) {
                match self {
                    $(#[cfg(feature = $feature)] AnyStrategy::$kind(s) => s.taken(occupancy, block),)*
                    AnyStrategy::Never(never, _) => match *never {},
                }
            }

            #[inline]
            fn released(&mut self, occupancy: &Occupancy<'_>, held: &Held<'_, '_>, block: Block) {
                match self {
                    $(#[cfg(feature = $feature)] AnyStrategy::$kind(s) => s.released(occupancy, held, block),)*
                    AnyStrategy::Never(never, _) => match *never {},
                }
            }

            fn rebuild(&mut self, occupancy: &Occupancy<'_>) {
                match self {
                    $(#[cfg(feature = $feature)] AnyStrategy::$kind(s) => s.rebuild(occupancy),)*
                    AnyStrategy::Never(never, _) => match *never {},
                }
            }

            fn reads_occupancy(&self) -> bool {
                match self {
                    $(#[cfg(feature = $feature)] AnyStrategy::$kind(s) => s.reads_occupancy(),)*
                    AnyStrategy::Never(never, _) => match *never {},
                }
            }

            fn check_invariants(&self, occupancy: &Occupancy<'_>) {
                match self {
                    $(#[cfg(feature = $feature)] AnyStrategy::$kind(s) => s.check_invariants(occupancy),)*
                    AnyStrategy::Never(never, _) => match *never {},
                }
            }
        }
    };
}

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

/// What is known about a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrategyInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// The abbreviations of the papers.
    pub aliases: &'static [&'static str],
    /// Author, year, title and venue.
    pub source: &'static str,
    /// The kind of machine it is for.
    pub machine: MachineKind,
    /// Whether it recognises completely: grants every request for which a place exists.
    pub complete: bool,
    /// Whether an allocation is always one block.
    pub contiguous: bool,
    /// Whether its code is in this build.
    pub built: bool,
}

impl StrategyKind {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The strategy of this name or alias.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| {
            let info = kind.info();
            info.name == name || info.aliases.contains(&name)
        })
    }

    /// The strategies in this build.
    pub fn built() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|kind| kind.info().built)
    }
}

impl fmt::Display for StrategyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

// The table: one line a strategy. The place in it is the number on the wire, so new ones go to the end.
strategies! {
    /// First fit.
    FirstFit(FirstFit), "first-fit", "first-fit", ["ff"], on: Mesh, complete: false, contiguous: true,
        "Zhu 1992, Efficient Processor Allocation Strategies for Mesh-Connected Parallel Computers, J. Parallel and Distributed Computing 16";
    /// Adaptive scan.
    AdaptiveScan(AdaptiveScan), "adaptive-scan", "adaptive-scan", ["as"], on: Mesh, complete: true, contiguous: true,
        "Ding and Bhuyan 1993, An Adaptive Submesh Allocation Strategy for Two-Dimensional Mesh Connected Systems, Int. Conf. on Parallel Processing II";
    /// Free submesh list.
    FreeSubmeshList(FreeSubmeshList), "free-submesh-list", "free-submesh-list", ["fsl"], on: Mesh, complete: true, contiguous: true,
        "Kim and Yoon 1995, A Dynamic Processor Allocation Strategy for Mesh-Connected Multicomputers";
    /// Naive, non-contiguous.
    Naive(Naive), "naive", "naive", [], on: Mesh, complete: true, contiguous: false,
        "Lo, Windisch, Liu and Nitzberg 1997, Noncontiguous Processor Allocation Algorithms for Mesh-Connected Multicomputers, IEEE Trans. on Parallel and Distributed Systems 8(7)";
    /// Two-dimensional buddy.
    Buddy(Buddy), "buddy", "buddy", ["2db"], on: Mesh, complete: false, contiguous: true,
        "Li and Cheng 1991, A Two-Dimensional Buddy System for Dynamic Resource Allocation in a Partitionable Mesh Connected System, J. Parallel and Distributed Computing 12";
    /// Frame sliding.
    FrameSliding(FrameSliding), "frame-sliding", "frame-sliding", ["fs"], on: Mesh, complete: false, contiguous: true,
        "Chuang and Tzeng 1991, An Efficient Submesh Allocation Strategy for Mesh Computer Systems, Int. Conf. on Distributed Computing Systems";
    /// Best fit.
    BestFit(BestFit), "best-fit", "best-fit", ["bf"], on: Mesh, complete: false, contiguous: true,
        "Zhu 1992, Efficient Processor Allocation Strategies for Mesh-Connected Parallel Computers, J. Parallel and Distributed Computing 16";
    /// Busy list.
    BusyList(BusyList), "busy-list", "busy-list", ["bl"], on: Mesh, complete: true, contiguous: true,
        "Sharma and Pradhan 1993, A Fast and Efficient Strategy for Submesh Allocation in Mesh-Connected Parallel Computers, IEEE Symp. on Parallel and Distributed Processing";
    /// Fixed orientation.
    FixedOrientation(FixedOrientation), "fixed-orientation", "fixed-orientation", ["fo"], on: Mesh, complete: false, contiguous: true,
        "Chang and Mohapatra, An Integrated Processor Management Scheme for the Mesh-Connected Multicomputer Systems";
    /// Flexible folding.
    FlexFold(FlexFold), "flex-fold", "flex-fold", ["flex"], on: Mesh, complete: true, contiguous: true,
        "Gupta and Jayendran 1996, A Flexible Processor Allocation Strategy for Mesh Connected Parallel Systems, Int. Conf. on Parallel Processing";
    /// All shapes first fit.
    AllShapes(AllShapes), "all-shapes", "all-shapes", ["asff"], on: Mesh, complete: true, contiguous: true,
        "Ababneh, Bani-Mohammad and Ould-Khaoua 2010, All Shapes Contiguous Submesh Allocation for 2D Mesh Multicomputers, Int. J. of Parallel, Emergent and Distributed Systems 25(5)";
    /// Extended tree collapsing, complete.
    TreeCollapsing(TreeCollapsing), "tree-collapsing", "tree-collapsing", ["tc"], on: Cube, complete: true, contiguous: true,
        "Chuang and Wu, Processor Allocation in k-ary n-cube Multiprocessors";
    /// Extended tree collapsing, as printed.
    TreeCollapsingPrinted(TreeCollapsingPrinted), "tree-collapsing-printed", "tree-collapsing-printed", [], on: Cube, complete: false, contiguous: true,
        "Chuang and Wu, Processor Allocation in k-ary n-cube Multiprocessors";
    /// Free list.
    FreeList(FreeList), "free-list", "free-list", [], on: Cube, complete: false, contiguous: true,
        "Chen and King 1993, An Efficient Dynamic Processor Allocation Scheme for K-ary n-cube Multicomputers, Int. Conf. on Parallel and Distributed Systems";
    /// Sniffing.
    Sniffing(Sniffing), "sniffing", "sniffing", [], on: Cube, complete: false, contiguous: true,
        "Gautam and Chaudhary 1993, Subcube Allocation Strategies in a K-ary N-cube, ISCA Int. Conf. on Parallel and Distributed Computing Systems";
    /// k-ary partner.
    Partner(Partner), "partner", "partner", [], on: Cube, complete: false, contiguous: true,
        "Windisch, Lo and Bose 1995, Contiguous and Non-Contiguous Processor Allocation Algorithms for K-ary n-cubes, Int. Conf. on Parallel Processing II";
}
