//! The strategies as values: [`StrategyKind`] by name, [`AnyStrategy`] at work, and the table that both are made from.

use core::fmt;

use super::*;

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
