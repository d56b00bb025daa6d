//! [`AnyStrategy`]: a strategy chosen at run time, made from the table.

use core::convert::Infallible;

use super::*;
use crate::delegate::delegate;
use crate::grid::Grid;
use crate::machine::Description;
#[cfg(feature = "free-submesh-list")]
use crate::mesh::Submesh;
use crate::needs::Needs;

/// Defines [`Chosen`], how it is made, and the macro `with_chosen`, which evaluates an expression
/// for the strategy that was chosen.
macro_rules! strategies {
    (($value:ident $d:tt) $( mod $module:ident = $feature:literal { $(
        $(#[$meta:meta])*
        $kind:ident
        $({ $($(#[$field_meta:meta])* $field:ident: $type:ty = $default:expr),+ $(,)? })?
        = $name:literal $rest:tt
    )* } )*) => {
        /// A strategy of this build.
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "there is one, and no heap to put it on")]
        enum Chosen<'m> {
            $($(
                #[cfg(feature = $feature)]
                $kind($kind<'m>),
            )*)*
            /// Keeps the type whole in a build without strategies.
            #[allow(dead_code, reason = "never made")]
            Never(Never<'m>),
        }

        impl<'m> Chosen<'m> {
            /// The strategy of this kind.
            #[allow(unused_variables, reason = "a build may have no strategies")]
            fn new(
                kind: StrategyKind,
                machine: Grid,
                workspace: Workspace<'m>,
            ) -> Result<Self, ConfigureError> {
                match kind {
                    $($(
                        #[cfg(feature = $feature)]
                        StrategyKind::$kind $({ $($field),+ })? => {
                            $kind::new(machine, workspace $($(, $field)+)?).map(Chosen::$kind)
                        }
                    )*)*
                    #[allow(unreachable_patterns, reason = "reached when a feature is off")]
                    _ => Err(ConfigureError::StrategyNotBuilt),
                }
            }
        }

        macro_rules! with_chosen {
            ($d any:expr, $d strategy:ident => $d result:expr) => {
                match $d any {
                    $($(
                        #[cfg(feature = $feature)]
                        AnyStrategy { chosen: Chosen::$kind($d strategy), .. } => $d result,
                    )*)*
                    AnyStrategy { chosen: Chosen::Never($d strategy), .. } => $d result,
                }
            };
        }
    };
}

table!(strategies $);

mod ruled;

/// A strategy chosen at run time. It keeps the rules of the machine's description
/// ([`Description`](crate::Description)), if there is one.
#[derive(Debug)]
pub struct AnyStrategy<'m> {
    chosen: Chosen<'m>,
    kind: StrategyKind,
    grid: Grid,
    /// Its description.
    machine: Option<&'m Description>,
}

impl<'m> AnyStrategy<'m> {
    /// The strategy of this kind for a machine that it serves, whose processors are all free. The
    /// workspace is as large as [`Needs::of`](crate::storage::Needs::of) says, with a description
    /// as large as `Needs::described` says.
    ///
    /// # Errors
    ///
    /// `StrategyNotBuilt`: its feature is off. `MachineUnsuitable`: the strategy does not serve the
    /// machine, as far as it notices.
    pub(crate) fn new(
        kind: StrategyKind,
        machine: Grid,
        workspace: Workspace<'m>,
    ) -> Result<Self, ConfigureError> {
        Ok(AnyStrategy {
            kind,
            grid: machine,
            machine: workspace.machine(),
            chosen: Chosen::new(kind, machine, workspace)?,
        })
    }

    /// What it was made of.
    pub(crate) const fn kind(&self) -> StrategyKind {
        self.kind
    }

    /// The description of the machine.
    pub(crate) const fn machine(&self) -> Option<&'m Description> {
        if Description::BUILT {
            self.machine
        } else {
            None
        }
    }

    /// The memory it works in.
    pub(crate) const fn workspace(&self) -> &Workspace<'m> {
        with_chosen!(self, strategy => &strategy.workspace)
    }

    /// The dominant free submeshes, if the strategy is `free-submesh-list` on a two-dimensional
    /// mesh.
    #[cfg(feature = "free-submesh-list")]
    pub fn dominant_free_submeshes(&self) -> Option<impl ExactSizeIterator<Item = Submesh>> {
        match &self.chosen {
            Chosen::FreeSubmeshList(list) => list.dominant_free_submeshes(),
            _ => None,
        }
    }

    /// Shows the candidates of the latest decision of a strategy that looks ahead, with their
    /// scores, which are 0 if there was only one. For tests.
    #[cfg(feature = "least-expected-blocking")]
    #[doc(hidden)]
    pub fn latest_candidates(&self, show: &mut dyn FnMut(Candidate)) {
        match &self.chosen {
            Chosen::LeastExpectedBlocking(strategy) => strategy.latest(show),
            Chosen::LebEstimates(strategy) => strategy.latest(show),
            _ => {}
        }
    }
}

/// Implements searches: by the rules, if there are some for the request.
macro_rules! searches {
    ($($(#[$meta:meta])* fn $method:ident;)*) => { $(
        $(#[$meta])*
        fn $method(
            &mut self,
            occupancy: &Occupancy<'_>,
            request: &Request,
            draft: &mut Draft<'_, '_>,
        ) -> bool {
            if self.is_ruled(request) {
                return self.try_ruled(request, &mut |any, request| {
                    with_chosen!(any, strategy => strategy.$method(occupancy, request, draft))
                });
            }
            with_chosen!(self, strategy => strategy.$method(occupancy, request, draft))
        }
    )* };
}

impl Strategy for AnyStrategy<'_> {
    #[inline]
    fn demand(&self, request: &Request) -> Result<u32, Refusal> {
        if self.is_ruled(request) {
            return self.ruled_demand(request);
        }
        with_chosen!(self, strategy => strategy.demand(request))
    }

    searches! {
        // The board has one copy.
        #[cfg_attr(target_os = "none", inline)]
        #[cfg_attr(not(target_os = "none"), inline(always))]
        fn propose;

        fn suppose;

        fn would_fit;
    }

    fn recognizes(&self, request: &Request, sides: Sides) -> bool {
        // Legal places and rings depend on more than free processors.
        if self.is_ruled(request) {
            return false;
        }
        with_chosen!(self, strategy => strategy.recognizes(request, sides))
    }

    fn blocks_unmarked(&self) -> usize {
        // Searches that know few blocks let slices begin anywhere.
        if self
            .machine()
            .is_some_and(|machine| !machine.is_unaligned())
        {
            return 0;
        }
        with_chosen!(self, strategy => strategy.blocks_unmarked())
    }

    delegate! { with_chosen:
        #[inline]
        fn arrived(&mut self, request: &Request);

        #[inline]
        fn end_supposing(&mut self, occupancy: &Occupancy<'_>, poll: &dyn Fn());

        fn takes_any(&self) -> bool;

        fn is_monotone(&self) -> bool;

        fn kept_free(&self, supposed: &Occupancy<'_>, place: Block) -> Block;

        #[inline]
        fn looks_ahead(&self) -> bool;

        fn look(&mut self, outlook: Option<&Outlook<'_, '_>>);

        #[inline]
        fn taken(&mut self, occupancy: &Occupancy<'_>, block: Block, poll: &dyn Fn());

        #[inline]
        fn released(
            &mut self,
            occupancy: &Occupancy<'_>,
            block: Block,
            poll: &dyn Fn(),
        );

        fn repaired(
            &mut self,
            occupancy: &Occupancy<'_>,
            block: Block,
            poll: &dyn Fn(),
        );

        fn rebuild(&mut self, occupancy: &Occupancy<'_>);

        #[cfg(feature = "restore")]
        fn save(&self, state: &mut Writer<'_>);

        #[cfg(feature = "restore")]
        fn restore(&mut self, state: &mut Reader<'_>) -> Result<(), RestoreError>;

        fn check_invariants(&self, occupancy: &Occupancy<'_>);
    }
}

impl ServedStrategy for AnyStrategy<'_> {
    const IS_CHECKED: bool = false;

    fn holds(&self) -> Holds {
        self.kind.holds()
    }

    fn description<'a>(&self) -> Option<&'a Description>
    where
        Self: 'a,
    {
        self.machine()
    }

    fn gives(&self, grid: &Grid, block: Block) -> bool {
        let begins_where_it_may = self.workspace().rule().is_none_or(|rule| {
            let steps = rule.steps(&grid.extent(block));
            steps.allow(grid, grid.ends(block).0)
        });
        begins_where_it_may && demands_exactly(self, grid, block)
    }

    fn list_capacity(&self) -> u32 {
        self.workspace().list.len() as u32
    }

    fn check(
        &self,
        kind: StrategyKind,
        grid: &Grid,
        _present: &Grid,
        room: Room,
    ) -> Result<(), ConfigureError> {
        check(room, self.workspace(), grid, kind)
    }

    fn switch(&mut self, kind: StrategyKind, grid: Grid) {
        let workspace = with_chosen!(self, strategy => &mut strategy.workspace);
        // It never fails after the check. A failure would lose the memory.
        if let Ok(strategy) = Self::new(kind, grid, core::mem::take(workspace)) {
            *self = strategy;
        }
    }
}

/// Whether this strategy can serve this machine in this memory.
///
/// # Errors
///
/// The first of these: `BadParameter`; `MachineTooLarge` if there are too few words;
/// `StrategyNotBuilt`; `OtherMachine` if the workspace has the description of another machine;
/// `MachineUnsuitable`; `StrategyMemory` if there are too few blocks, or the workspace is too
/// small.
pub(crate) fn check(
    room: Room,
    workspace: &Workspace<'_>,
    grid: &Grid,
    strategy: StrategyKind,
) -> Result<(), ConfigureError> {
    if !strategy.is_valid() {
        return Err(ConfigureError::BadParameter);
    }
    let Room {
        words,
        blocks,
        jobs,
    } = room;
    let jobs = jobs as usize;
    let mut needs = Needs::of(strategy, grid, jobs);
    if needs.words > words {
        return Err(ConfigureError::MachineTooLarge);
    }
    if !strategy.is_built() {
        return Err(ConfigureError::StrategyNotBuilt);
    }
    let mut serves = strategy.serves().includes(grid);
    if let Some(machine) = workspace.machine() {
        if machine.grid() != grid {
            return Err(ConfigureError::OtherMachine);
        }
        needs = Needs::described(strategy, machine, jobs);
        serves = strategy.serves_described(machine);
    }
    if !serves {
        return Err(ConfigureError::MachineUnsuitable);
    }
    let is_enough = needs.blocks <= blocks
        && needs.scratch <= workspace.words.len()
        && needs.list <= workspace.list.len();
    is_enough
        .then_some(())
        .ok_or(ConfigureError::StrategyMemory)
}

/// A strategy that is never made.
#[derive(Debug)]
struct Never<'m> {
    never: Infallible,
    workspace: Workspace<'m>,
}

impl Strategy for Never<'_> {
    fn demand(&self, _: &Request) -> Result<u32, Refusal> {
        match self.never {}
    }

    fn propose(&mut self, _: &Occupancy<'_>, _: &Request, _: &mut Draft<'_, '_>) -> bool {
        match self.never {}
    }
}
