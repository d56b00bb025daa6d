//! [`AnyStrategy`]: one of the strategies of the table, chosen at run time.

use super::keeps::Keeps;
use super::*;
use crate::machine::Description;
use crate::mesh::Submesh;
use crate::needs::Needs;
use crate::search::connected;

/// Defines, from the table, each strategy's facts, the data that it keeps ([`Kept`]), its demand
/// and its search. Also defines the macro `with_kept`, which evaluates one expression with the kept
/// data, or another expression if the strategy keeps nothing.
macro_rules! strategies {
    (@new $kind:ident) => { Kept::Nothing };
    (@new $kind:ident $new:expr) => { Kept::$kind($new) };
    // The search of a strategy, which gets the data that the strategy keeps.
    (@search $kept:ident $kind:ident $search:ident [] ($($argument:tt)*)) => {
        $search($($argument)*)
    };
    (@search $kept:ident $kind:ident $search:ident [$type:ident] ($($argument:tt)*)) => {
        match $kept {
            Kept::$kind(kept) => $search(kept, $($argument)*),
            _ => Default::default(),
        }
    };
    (@place $search:expr) => { $search };
    (@propose $search:expr) => { return $search };
    (@of $described:ident $machine:expr) => { $machine };
    (($value:ident $grid:ident $d:tt) $( mod $module:ident = $feature:literal { $(
        $(#[$meta:meta])*
        $kind:ident
        $({ $($(#[$field_meta:meta])* $field:ident: $type:ty = $default:expr),+ $(,)? })?
        = $name:literal {
            decides: {
                $(facts: { $($fact:ident: $known:expr),+ $(,)? },)?
                $(keeps: $kept:ident = $new:expr,)?
                demand: $demand:ident $(of $described:ident)? $(($($demanded:expr),+))?,
                $verb:ident: $search:ident $(($($searched:expr),+))? $(,)?
            },
            $($rest:tt)*
        }
    )* } )*) => {
        /// The data that a strategy of this build keeps between decisions.
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "there is one, and no heap to put it on")]
        enum Kept {
            /// No data. Most strategies keep none.
            Nothing,
            $($($(
                #[cfg(feature = $feature)]
                $kind(super::$module::$kept),
            )?)*)*
        }

        impl Kept {
            /// The data that the strategy of this kind keeps.
            #[allow(unused, reason = "few strategies keep something")]
            fn new(kind: StrategyKind, $grid: &Grid) -> Self {
                match kind {
                    $($(
                        #[cfg(feature = $feature)]
                        StrategyKind::$kind $({ $($field),+ })? => {
                            use super::$module::*;
                            strategies!(@new $kind $($new)?)
                        }
                    )*)*
                    #[allow(unreachable_patterns, reason = "reached when a feature is off")]
                    _ => Kept::Nothing,
                }
            }
        }

        /// The facts about a strategy of this build on this grid.
        #[allow(unused_variables, reason = "most facts depend on neither")]
        fn facts_of(kind: StrategyKind, $grid: &Grid) -> Facts {
            #[allow(unused_imports, reason = "most facts are the default")]
            use {FindsAgain::*, Recognizes::*};
            #[allow(unused_imports, reason = "most facts are the default")]
            use crate::{occupancy::PENDING_MAX, search::unmarked::unmarked_max};

            #[allow(unused_mut, reason = "a build may have no strategies")]
            let mut facts = Facts::of(kind.holds());
            match kind {
                $($(
                    #[cfg(feature = $feature)]
                    StrategyKind::$kind $({ $($field),+ })? => {
                        $($(facts.$fact = $known;)+)?
                    }
                )*)*
                #[allow(unreachable_patterns, reason = "reached when a feature is off")]
                _ => {}
            }
            facts
        }

        impl AnyStrategy<'_> {
            /// The demand of a request as the strategy computes it, without the rules of a
            /// description.
            #[inline]
            #[allow(unused, reason = "most parameters do not matter")]
            fn chosen_demand(&self, $grid: &Grid, request: &Request) -> Result<u32, Refusal> {
                match self.kind {
                    $($(
                        #[cfg(feature = $feature)]
                        StrategyKind::$kind $({ $($field),+ })? => {
                            use super::demand::*;
                            use super::$module::*;
                            $demand(
                                request,
                                $grid
                                $(, strategies!(@of $described self.machine()))?
                                $($(, $demanded)+)?
                            )
                        }
                    )*)*
                    #[allow(unreachable_patterns, reason = "reached when a feature is off")]
                    _ => Err(Refusal::NeverFits),
                }
            }

            /// The search of the strategy, without the rules of a description: for one place, or
            /// for the blocks that the strategy itself writes into the draft.
            // The board and the page in the browser have one copy.
            #[cfg_attr(not(any(target_os = "none", target_family = "wasm")), inline(always))]
            #[allow(unused, reason = "most parameters do not matter")]
            fn search(
                &mut self,
                site: &Site<'_>,
                request: &Request,
                draft: &mut Draft<'_, '_>,
            ) -> bool {
                let AnyStrategy { kind, kept, workspace, .. } = self;
                let place: Option<Block> = match *kind {
                    $($(
                        #[cfg(feature = $feature)]
                        StrategyKind::$kind $({ $($field),+ })? => {
                            use super::$module::*;
                            strategies!(@$verb strategies!(
                                @search kept $kind $search [$($kept)?]
                                (site, workspace, request, draft $($(, $searched)+)?)
                            ))
                        }
                    )*)*
                    #[allow(unreachable_patterns, reason = "reached when a feature is off")]
                    _ => None,
                };
                if let Some(block) = place {
                    draft.push(block);
                }
                place.is_some()
            }
        }

        macro_rules! with_kept {
            ($d any:expr, $d kept:ident => $d result:expr, else $d nothing:expr) => {
                match $d any {
                    Kept::Nothing => $d nothing,
                    $($($(
                        #[cfg(feature = $feature)]
                        Kept::$kind($d kept) => {
                            // The type is named where there is a variant.
                            let _ = core::marker::PhantomData::<super::$module::$kept>;
                            $d result
                        }
                    )?)*)*
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
    kind: StrategyKind,
    facts: Facts,
    kept: Kept,
    workspace: Workspace<'m>,
}

impl<'m> AnyStrategy<'m> {
    /// The strategy of this kind for a machine that it serves ([`check`]), in a workspace that is
    /// large enough. [`OccupancyEvent::Reset`] comes before anything else.
    pub(crate) fn new(kind: StrategyKind, grid: &Grid, workspace: Workspace<'m>) -> Self {
        let mut facts = facts_of(kind, grid);
        facts.list_capacity = workspace.list.len() as u32;
        let machine = workspace.machine();
        // Searches among few blocks are for two-dimensional meshes, and let slices begin anywhere.
        let aligns = machine.is_some_and(|machine| !machine.is_unaligned());
        if aligns || !grid.is_plane() {
            facts.blocks_unmarked = 0;
        }
        // Legal places depend on more than free processors.
        if machine.is_some() {
            facts.recognizes = Recognizes::Nothing;
        }
        AnyStrategy {
            kind,
            facts,
            kept: Kept::new(kind, grid),
            workspace,
        }
    }

    /// The kind of strategy that was chosen.
    pub(crate) const fn kind(&self) -> StrategyKind {
        self.kind
    }

    /// The description of the machine.
    pub(crate) const fn machine(&self) -> Option<&'m Description> {
        self.workspace.machine()
    }

    /// The most free processors that are connected, for a strategy whose jobs hold connected
    /// processors.
    pub(crate) fn most_connected(
        &mut self,
        occupancy: &Occupancy<'_>,
        draft: &mut Draft<'_, '_>,
    ) -> u32 {
        connected::largest(occupancy, self.workspace.words, draft)
    }

    /// The dominant free submeshes, if the strategy is `free-submesh-list` on a two-dimensional
    /// mesh.
    #[cfg(feature = "free-submesh-list")]
    pub fn dominant_free_submeshes(&self) -> Option<impl ExactSizeIterator<Item = Submesh>> {
        match &self.kept {
            Kept::FreeSubmeshList(list) => list.dominant_free_submeshes(self.workspace.list),
            _ => None,
        }
    }

    /// Shows the candidates of the latest decision of a strategy that looks ahead, with their
    /// scores. The score of a single candidate is 0. For tests.
    #[cfg(feature = "least-expected-blocking")]
    #[doc(hidden)]
    pub fn latest_candidates(&self, show: &mut dyn FnMut(Candidate)) {
        if let Kept::LeastExpectedBlocking(kept) | Kept::LebEstimates(kept) = &self.kept {
            kept.latest(&self.workspace, show);
        }
    }
}

#[allow(
    unused_variables,
    reason = "a build may have strategies that keep nothing"
)]
impl Strategy for AnyStrategy<'_> {
    #[inline]
    fn facts(&self) -> Facts {
        self.facts
    }

    fn description<'a>(&self) -> Option<&'a Description>
    where
        Self: 'a,
    {
        self.machine()
    }

    #[inline]
    fn demand(&self, grid: &Grid, request: &Request) -> Result<u32, Refusal> {
        if self.is_ruled(request) {
            return self.ruled_demand(grid, request);
        }
        self.chosen_demand(grid, request)
    }

    // The board and the page in the browser have one copy.
    #[cfg_attr(not(any(target_os = "none", target_family = "wasm")), inline(always))]
    fn propose(&mut self, site: &Site<'_>, request: &Request, draft: &mut Draft<'_, '_>) -> bool {
        if self.is_ruled(request) {
            return self.try_ruled(site, request, draft);
        }
        self.search(site, request, draft)
    }

    fn each_box(&self, grid: &Grid, request: &Request, visit: &mut dyn FnMut(BoxForm)) -> bool {
        self.visit_boxes(grid, request, visit)
    }

    #[inline]
    fn arrived(&mut self, request: &Request) {
        let workspace = &mut self.workspace;
        with_kept!(&mut self.kept, kept => kept.arrived(workspace, request), else ());
    }

    // The board and the page in the browser have one copy.
    #[cfg_attr(not(any(target_os = "none", target_family = "wasm")), inline(always))]
    fn changed(&mut self, occupancy: &Occupancy<'_>, event: OccupancyEvent, poll: &dyn Fn()) {
        let workspace = &mut self.workspace;
        with_kept!(
            &mut self.kept,
            kept => kept.changed(workspace, occupancy, event, poll),
            else ()
        );
    }

    fn save(&self, state: &mut Writer<'_>) {
        with_kept!(&self.kept, kept => kept.save(state), else ());
    }

    fn restore(&mut self, state: &mut Reader<'_>) -> Result<(), RestoreError> {
        let workspace = &mut self.workspace;
        with_kept!(
            &mut self.kept,
            kept => kept.restore(workspace, state),
            else Err(RestoreError::Inconsistent)
        )
    }

    fn check_invariants(&self, occupancy: &Occupancy<'_>) {
        let workspace = &self.workspace;
        with_kept!(&self.kept, kept => kept.check_invariants(workspace, occupancy), else ());
    }
}

impl ServedStrategy for AnyStrategy<'_> {
    const IS_CHECKED: bool = false;

    fn gives(&self, grid: &Grid, block: Block) -> bool {
        let begins_where_it_may = self.workspace.rule().is_none_or(|rule| {
            let steps = rule.steps(&grid.extent(block));
            steps.allow(grid, grid.ends(block).0)
        });
        begins_where_it_may && demands_exactly(self, grid, block)
    }

    fn check(
        &self,
        kind: StrategyKind,
        grid: &Grid,
        _present: &Grid,
        room: Room,
    ) -> Result<(), ConfigureError> {
        check(room, &self.workspace, grid, kind)
    }

    fn switch(&mut self, kind: StrategyKind, grid: Grid) {
        let workspace = core::mem::take(&mut self.workspace);
        *self = Self::new(kind, &grid, workspace);
    }
}

/// Whether this strategy can serve this machine in this memory.
///
/// # Errors
///
/// The first of the following that applies: `BadParameter`; `MachineTooLarge` if there are too few
/// words; `StrategyNotBuilt`; `OtherMachine` if the workspace has the description of another
/// machine; `MachineUnsuitable`; `StrategyMemory` if there are too few blocks, or the workspace is
/// too small.
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
