//! The strategies as values, made from the table: [`StrategyKind`] by name, [`AnyStrategy`] at work.

use core::convert::Infallible;
use core::marker::PhantomData;
use core::ops::RangeInclusive;

use super::*;
use crate::grid::Grid;
use crate::storage::Needs;

macro_rules! strategies {
    (@range $range:expr) => { Some($range) };
    (@range) => { None };
    (@unit $unit:literal) => { $unit };
    (@unit) => { 1 };
    (($value:ident) $(
        $(#[$meta:meta])*
        $kind:ident $({ $($(#[$field_meta:meta])* $field:ident: $type:ty = $default:expr),+ $(,)? })?
        in $module:ident = $name:literal {
            aliases: [$($alias:literal),*], serves: $serves:ident $({ $($served:ident),+ })?, complete: $complete:literal,
            holds: $holds:ident, needs: $needs:ident $({ $($needed:ident),+ })?,
            $(forms: $($form:literal $(per $unit:literal)? { $($fields:tt)* } $(in $range:expr)?,)+)?
            source: $source:literal
        }
    )*) => {
        /// The strategies by name, with their parameters. A kind exists also where its code was left out of the build.
        ///
        /// Its text is the name, followed by the parameters unless they are those that the name alone stands for:
        /// [`StrategyInfo::forms`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        pub enum StrategyKind {
            $($(#[$meta])* $kind $({ $($(#[$field_meta])* $field: $type),+ })?,)*
        }

        impl StrategyKind {
            /// Every strategy, in the order of this table, with the parameters that its name alone stands for.
            pub const ALL: &'static [StrategyKind] =
                &[$(StrategyKind::$kind $({ $($field: $default),+ })?),*];

            /// What a job holds.
            pub const fn holds(self) -> Holds {
                match self {
                    $(StrategyKind::$kind { .. } => Holds::$holds,)*
                }
            }

            /// The machines it serves.
            pub const fn serves(self) -> Serves {
                match self {
                    $(StrategyKind::$kind { $($($served,)+)? .. } => Serves::$serves $({ $($served),+ })?,)*
                }
            }

            /// The memory it needs beside the occupancy.
            pub const fn needs(self) -> StrategyMemory {
                match self {
                    $(StrategyKind::$kind { $($($needed,)+)? .. } => StrategyMemory::$needs $({ $($needed),+ })?,)*
                }
            }

            /// Whether its code is in this build.
            pub const fn is_built(self) -> bool {
                match self {
                    $(StrategyKind::$kind { .. } => cfg!(feature = $name),)*
                }
            }

            /// What is known about the strategy. A program that asks for it holds the texts of the table.
            pub const fn info(self) -> &'static StrategyInfo {
                match self {
                    $(StrategyKind::$kind { .. } => &StrategyInfo {
                        name: $name,
                        aliases: &[$($alias),*],
                        forms: &[$($(StrategyForm {
                            text: $form,
                            unit: strategies!(@unit $($unit)?),
                            range: strategies!(@range $($range)?),
                        }),+)?],
                        source: $source,
                        complete: $complete,
                        holds: Holds::$holds,
                        built: cfg!(feature = $name),
                    },)*
                }
            }

            /// The form in which the parameters are written, and the number in it, 0 where there is none. `None` for those
            /// that the name alone stands for.
            pub(super) fn form(self) -> Option<(&'static StrategyForm, u64)> {
                #[allow(unused_variables, reason = "used by forms with a number")]
                let $value = 0;
                let (text, value) = match self {
                    _ if Self::ALL.contains(&self) => return None,
                    $($($(StrategyKind::$kind { $($fields)* } => ($form, $value),)+)?)*
                    #[allow(unreachable_patterns, reason = "forms cover all parameters")]
                    _ => return None,
                };
                let form = self.info().forms.iter().find(|form| form.text == text)?;
                Some((form, value))
            }

            /// The strategy in one of its forms, with the number in it.
            pub(super) fn from_form(form: &str, $value: u64) -> Option<Self> {
                let _ = $value;
                match form {
                    $($($($form => Some(StrategyKind::$kind { $($fields)* }),)+)?)*
                    _ => None,
                }
            }
        }

        /// A strategy chosen at run time.
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "there is one at a time, and no heap to put it on")]
        pub enum AnyStrategy<'m> {
            $(
                #[cfg(feature = $name)]
                $(#[$meta])*
                $kind($kind<'m>),
            )*
            /// Never made.
            #[doc(hidden)]
            Never(Never<'m>),
        }

        impl<'m> AnyStrategy<'m> {
            /// Whether a strategy of this kind could serve the machine with a workspace of this size.
            ///
            /// # Errors
            ///
            /// `StrategyNotBuilt`; `MachineUnsuitable`; `StrategyMemory` when the workspace is smaller than [`Needs::of`] says.
            pub fn check(kind: StrategyKind, machine: &Grid, workspace: &Workspace<'_>) -> Result<(), ConfigureError> {
                if !kind.is_built() {
                    return Err(ConfigureError::StrategyNotBuilt);
                }
                if !kind.serves().includes(machine) {
                    return Err(ConfigureError::MachineUnsuitable);
                }
                let needs = Needs::of(kind, machine, 0);
                match workspace.words.len() >= needs.scratch && workspace.list.len() >= needs.list {
                    true => Ok(()),
                    false => Err(ConfigureError::StrategyMemory),
                }
            }

            /// The strategy of this kind for a machine whose processors are all free.
            ///
            /// # Errors
            ///
            /// What [`AnyStrategy::check`] says.
            pub fn new(kind: StrategyKind, machine: Grid, workspace: Workspace<'m>) -> Result<Self, ConfigureError> {
                Self::check(kind, &machine, &workspace)?;
                match kind {
                    $(
                        #[cfg(feature = $name)]
                        StrategyKind::$kind $({ $($field),+ })? => {
                            $kind::new(machine, workspace $($(, $field)+)?).map(AnyStrategy::$kind)
                        }
                    )*
                    #[allow(unreachable_patterns, reason = "reached when a feature is off")]
                    _ => Err(ConfigureError::StrategyNotBuilt),
                }
            }

            /// The memory it works in.
            pub const fn workspace(&self) -> &Workspace<'m> {
                match self {
                    $(
                        #[cfg(feature = $name)]
                        AnyStrategy::$kind(strategy) => &strategy.workspace,
                    )*
                    AnyStrategy::Never(never) => match never.0 {},
                }
            }

            fn workspace_mut(&mut self) -> &mut Workspace<'m> {
                match self {
                    $(
                        #[cfg(feature = $name)]
                        AnyStrategy::$kind(strategy) => &mut strategy.workspace,
                    )*
                    AnyStrategy::Never(never) => match never.0 {},
                }
            }

            /// Becomes another strategy, or the same one for another machine, in the same memory.
            ///
            /// # Errors
            ///
            /// What [`AnyStrategy::check`] says; then nothing has changed.
            pub fn switch(&mut self, kind: StrategyKind, machine: Grid) -> Result<(), ConfigureError> {
                Self::check(kind, &machine, self.workspace())?;
                let workspace = core::mem::take(self.workspace_mut());
                *self = Self::new(kind, machine, workspace)?;
                Ok(())
            }
        }

        impl Strategy for AnyStrategy<'_> {
            #[inline]
            fn demand(&self, request: &Request) -> Result<u32, Refusal> {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.demand(request),)*
                    AnyStrategy::Never(s) => s.demand(request),
                }
            }

            // The board has one copy.
            #[cfg_attr(target_os = "none", inline)]
            #[cfg_attr(not(target_os = "none"), inline(always))]
            fn propose(&mut self, occupancy: &Occupancy<'_>, request: &Request, draft: &mut Draft<'_, '_>) -> bool {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.propose(occupancy, request, draft),)*
                    AnyStrategy::Never(s) => s.propose(occupancy, request, draft),
                }
            }

            fn suppose(&mut self, supposed: &Occupancy<'_>, request: &Request, draft: &mut Draft<'_, '_>) -> bool {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.suppose(supposed, request, draft),)*
                    AnyStrategy::Never(s) => s.suppose(supposed, request, draft),
                }
            }

            fn would_fit(&mut self, occupancy: &Occupancy<'_>, request: &Request, draft: &mut Draft<'_, '_>) -> bool {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.would_fit(occupancy, request, draft),)*
                    AnyStrategy::Never(s) => s.would_fit(occupancy, request, draft),
                }
            }

            #[inline]
            fn end_supposing(&mut self, occupancy: &Occupancy<'_>, spend: &dyn Fn(u32)) {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.end_supposing(occupancy, spend),)*
                    AnyStrategy::Never(s) => s.end_supposing(occupancy, spend),
                }
            }

            fn recognizes(&self, request: &Request, sides: Sides) -> bool {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.recognizes(request, sides),)*
                    AnyStrategy::Never(s) => s.recognizes(request, sides),
                }
            }

            fn takes_any(&self) -> bool {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.takes_any(),)*
                    AnyStrategy::Never(s) => s.takes_any(),
                }
            }

            fn is_monotone(&self) -> bool {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.is_monotone(),)*
                    AnyStrategy::Never(s) => s.is_monotone(),
                }
            }

            fn kept_free(&self, supposed: &Occupancy<'_>, place: Block) -> Block {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.kept_free(supposed, place),)*
                    AnyStrategy::Never(s) => s.kept_free(supposed, place),
                }
            }

            #[inline]
            fn arrived(&mut self, request: &Request) {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.arrived(request),)*
                    AnyStrategy::Never(s) => s.arrived(request),
                }
            }

            #[inline]
            fn looks_ahead(&self) -> bool {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.looks_ahead(),)*
                    AnyStrategy::Never(s) => s.looks_ahead(),
                }
            }

            fn look(&mut self, outlook: &Outlook<'_, '_>) {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.look(outlook),)*
                    AnyStrategy::Never(s) => s.look(outlook),
                }
            }

            #[inline]
            fn taken(&mut self, occupancy: &Occupancy<'_>, block: Block, spend: &dyn Fn(u32)) {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.taken(occupancy, block, spend),)*
                    AnyStrategy::Never(s) => s.taken(occupancy, block, spend),
                }
            }

            #[inline]
            fn released(&mut self, occupancy: &Occupancy<'_>, block: Block, spend: &dyn Fn(u32)) {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.released(occupancy, block, spend),)*
                    AnyStrategy::Never(s) => s.released(occupancy, block, spend),
                }
            }

            fn repaired(&mut self, occupancy: &Occupancy<'_>, block: Block, spend: &dyn Fn(u32)) {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.repaired(occupancy, block, spend),)*
                    AnyStrategy::Never(s) => s.repaired(occupancy, block, spend),
                }
            }

            fn rebuild(&mut self, occupancy: &Occupancy<'_>) {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.rebuild(occupancy),)*
                    AnyStrategy::Never(s) => s.rebuild(occupancy),
                }
            }

            #[cfg(feature = "restore")]
            fn save(&self, state: &mut Writer<'_>) {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.save(state),)*
                    AnyStrategy::Never(s) => s.save(state),
                }
            }

            #[cfg(feature = "restore")]
            fn restore(&mut self, state: &mut Reader<'_>) -> Result<(), RestoreError> {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.restore(state),)*
                    AnyStrategy::Never(s) => s.restore(state),
                }
            }

            fn blocks_unmarked(&self) -> usize {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.blocks_unmarked(),)*
                    AnyStrategy::Never(s) => s.blocks_unmarked(),
                }
            }

            fn check_invariants(&self, occupancy: &Occupancy<'_>) {
                match self {
                    $(#[cfg(feature = $name)] AnyStrategy::$kind(s) => s.check_invariants(occupancy),)*
                    AnyStrategy::Never(s) => s.check_invariants(occupancy),
                }
            }
        }
    };
}

impl AnyStrategy<'_> {
    /// The number of free processors that the request takes on the machine.
    ///
    /// # Errors
    ///
    /// One that is not temporary ([`Refusal::is_temporary`]): it could never be granted.
    // The board has one copy.
    #[cfg_attr(target_os = "none", inline)]
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(crate) fn demand_on(&self, machine: &Grid, request: &Request) -> Result<u32, Refusal> {
        let area = machine.check(request.shape)?;
        if area == 0 || request.processors == 0 {
            return Err(Refusal::EmptyRequest);
        }
        if request.processors > area {
            return Err(Refusal::Malformed);
        }
        self.demand(request)
    }
}

/// What is known about a strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// The abbreviations of the papers.
    pub aliases: &'static [&'static str],
    /// How it is written with parameters; none if it takes none. The name alone stands for parameters, too.
    pub forms: &'static [StrategyForm],
    /// Author, year, title and venue.
    pub source: &'static str,
    /// Whether it recognises completely: grants every request for which a place exists. With the defaults of its parameters.
    pub complete: bool,
    /// What a job holds.
    pub holds: Holds,
    /// Whether its code is in this build.
    pub built: bool,
}

/// What a job holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// One block of at least as many processors as the requested shape has: a contiguous strategy.
    OneBlock,
    /// At most two blocks of as many processors as the requested shape has.
    TwoBlocks,
    /// The requested number of processors, in any number of blocks; pages of several processors may add some.
    Processors,
}

impl Holds {
    /// Whether an allocation is always one block.
    pub const fn is_contiguous(self) -> bool {
        matches!(self, Holds::OneBlock)
    }

    /// The most blocks that `jobs` jobs hold together on a machine of `processors` processors.
    pub(crate) const fn blocks(self, jobs: usize, processors: usize) -> usize {
        // Blocks are disjoint and hold at least one processor each.
        let most = match self {
            Holds::OneBlock => jobs,
            Holds::TwoBlocks => jobs.saturating_mul(2),
            Holds::Processors => processors,
        };
        if most < processors { most } else { processors }
    }
}

/// One way to write a strategy with parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyForm {
    /// The name and, after a colon, the parameters. Capitals at the end stand for a number.
    pub text: &'static str,
    /// 1 if that is a whole number; else a power of ten, and it is a number of this many parts.
    pub unit: u64,
    /// The least and the greatest number, in parts; `None` where the text has none.
    pub range: Option<RangeInclusive<u64>>,
}

/// The order in which [`StrategyKind::Paging`] takes pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PageOrder {
    /// Line after line along dimension 0, each from its start.
    RowMajor,
    /// The same lines, every other one from its end, and so on in the higher dimensions: each page is a neighbour of the one
    /// before.
    Snake,
}

/// The budgets of strategies that look ahead.
pub(super) const BUDGETS: RangeInclusive<u64> = 4..=4096;

/// The memory that a strategy needs beside the occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrategyMemory {
    /// None.
    Nothing,
    /// Scratch: on a two-dimensional mesh as many words as the occupancy has, on any other grid twice as many.
    Scratch,
    /// Scratch: on any grid twice as many words as the occupancy has.
    TwiceScratch,
    /// Scratch: as many words as the occupancy has, or if that is more two for each length that free intervals on a line
    /// through all N processors can have, which are 2 sqrt(2 N).
    Lengths,
    /// A list of submeshes, one for each processor.
    List,
    /// As long a list, and scratch for strategies that look ahead: twice the words of the occupancy, two words for each row, tables for two lengths
    /// up to the longest side, each with a bit for each of 72 requests, and room for this number of states of 72 bits and three words. For any
    /// other number than 4 to 4096 no memory suffices.
    Foresight {
        /// The number of states.
        budget: u64,
    },
    /// The same, and 64 bits for each job, at most one for each processor.
    ForesightWithEnds {
        /// The number of states.
        budget: u64,
    },
}

/// A strategy of which there is none. It keeps [`AnyStrategy`] whole in a build without strategies.
#[derive(Debug)]
pub struct Never<'m>(Infallible, PhantomData<&'m mut ()>);

impl Strategy for Never<'_> {
    fn demand(&self, _: &Request) -> Result<u32, Refusal> {
        match self.0 {}
    }

    fn propose(&mut self, _: &Occupancy<'_>, _: &Request, _: &mut Draft<'_, '_>) -> bool {
        match self.0 {}
    }
}

impl StrategyKind {
    /// The name on the command line, without parameters.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The same strategy, with this seed if it draws random numbers and its own is 0.
    #[must_use]
    pub const fn seeded(self, seed: u64) -> Self {
        match self {
            StrategyKind::Random { seed: 0 } => StrategyKind::Random { seed },
            other => other,
        }
    }

    /// The strategies in this build.
    pub fn built() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|kind| kind.is_built())
    }
}

table!(strategies);
