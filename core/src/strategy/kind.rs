//! The strategies by name, made from the table: [`StrategyKind`], and what is known about each:
//! [`StrategyInfo`].

use core::ops::RangeInclusive;

use super::serves::Serves;
use super::workspace::StrategyMemory;
use crate::machine::{Description, SliceRule};
use crate::request::{Flags, Request};
use crate::search::line::{CurveFit, CurveLine};
use crate::wire::wire;

macro_rules! kinds {
    (@range $range:expr) => { Some($range) };
    (@range) => { None };
    (@unit $unit:literal) => { $unit };
    (@unit) => { 1 };
    (($value:ident $grid:ident) $( mod $module:ident = $feature:literal { $(
        $(#[$meta:meta])*
        $kind:ident
        $({ $($(#[$field_meta:meta])* $field:ident: $type:ty = $default:expr),+ $(,)? })?
        = $name:literal {
            decides: $decides:tt,
            aliases: [$($alias:literal),*],
            serves: $serves:ident $({ $($served:ident),+ })?,
            complete: $complete:literal,
            holds: $holds:ident,
            needs: $needs:ident $({ $($needed:ident),+ })?,
            lays: $lays:ident $({ $($laid:tt)+ })?,
            $(forms: $(
                $form:literal $(per $unit:literal)? { $($fields:tt)* } $(in $range:expr)?,
            )+)?
            source: $source:literal
        }
    )* } )*) => {
        wire! {
            /// The strategies by name, with their parameters. Every build has all kinds; the code
            /// of a kind is left out if its feature is off ([`StrategyKind::is_built`]).
            ///
            /// The text of a kind is its name, followed by the parameters unless they are the
            /// defaults: [`StrategyInfo::forms`].
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[non_exhaustive]
            pub enum StrategyKind {
                $($($(#[$meta])* $kind $({ $($(#[$field_meta])* $field: $type),+ })?,)*)*
            }
        }

        impl StrategyKind {
            /// Every strategy with its default parameters, in the order of their numbers on the
            /// wire.
            pub const ALL: &'static [StrategyKind] =
                &[$($(StrategyKind::$kind $({ $($field: $default),+ })?),*),*];

            /// What a job holds.
            pub const fn holds(self) -> Contiguity {
                match self {
                    $($(StrategyKind::$kind { .. } => Contiguity::$holds,)*)*
                }
            }

            /// The machines that the strategy serves.
            pub const fn serves(self) -> Serves {
                match self {
                    $($(StrategyKind::$kind { $($($served,)+)? .. } => {
                        Serves::$serves $({ $($served),+ })?
                    })*)*
                }
            }

            /// The memory that the strategy needs in addition to the occupancy; nothing if the
            /// strategy is not in this build.
            pub(super) const fn memory(self) -> StrategyMemory {
                match self {
                    _ if !self.is_built() => StrategyMemory::Nothing,
                    $($(StrategyKind::$kind { $($($needed,)+)? .. } => {
                        StrategyMemory::$needs $({ $($needed),+ })?
                    })*)*
                }
            }

            /// How the strategy lays the shape of a request.
            #[allow(unused_variables, reason = "only some of the parameters matter")]
            pub(crate) const fn lays(self) -> SliceRule {
                match self {
                    $($(StrategyKind::$kind $({ $($field),+ })? => {
                        SliceRule::$lays $({ $($laid)+ })?
                    })*)*
                }
            }

            /// Whether its code is in this build.
            pub const fn is_built(self) -> bool {
                match self {
                    $($(StrategyKind::$kind { .. } => cfg!(feature = $feature),)*)*
                }
            }

            /// Whether the parameters are in their ranges, so that the text of the kind names a
            /// strategy. No controller serves a strategy with other parameters
            /// ([`ConfigureError::BadParameter`]).
            ///
            /// ```
            /// use meshalloc::StrategyKind::LeastExpectedBlocking;
            /// assert!(LeastExpectedBlocking { budget: 4 }.is_valid());
            /// assert!(!LeastExpectedBlocking { budget: 3 }.is_valid());
            /// ```
            ///
            /// [`ConfigureError::BadParameter`]: crate::ConfigureError::BadParameter
            pub fn is_valid(self) -> bool {
                match self {
                    $($($($(StrategyKind::$kind { $($fields)* }
                        $(if ($range).contains(&$value))? => true,)+)?)*)*
                    _ => self.is_default(),
                }
            }

            /// Whether the parameters are the defaults.
            fn is_default(self) -> bool {
                match self {
                    $($(StrategyKind::$kind $({ $($field),+ })? => {
                        true $($(&& $field == $default)+)?
                    })*)*
                }
            }

            /// What is known about the strategy. A program that asks for it contains the texts of
            /// the table.
            pub const fn info(self) -> &'static StrategyInfo {
                match self {
                    $($(StrategyKind::$kind { .. } => &StrategyInfo {
                        name: $name,
                        aliases: &[$($alias),*],
                        parameters: &[$($((stringify!($field), stringify!($type))),+)?],
                        forms: &[$($(StrategyForm {
                            text: $form,
                            unit: kinds!(@unit $($unit)?),
                            range: kinds!(@range $($range)?),
                        }),+)?],
                        source: $source,
                        complete: $complete,
                        holds: Contiguity::$holds,
                        feature: $feature,
                        built: cfg!(feature = $feature),
                    },)*)*
                }
            }

            /// The form in which the parameters are written, and the number in the form (0 if the
            /// form has no number). `None` for the default parameters.
            pub(super) fn form(self) -> Option<(&'static StrategyForm, u64)> {
                #[allow(unused_variables, reason = "used by forms with a number")]
                let $value = 0;
                let (text, value) = match self {
                    _ if self.is_default() => return None,
                    $($($($(StrategyKind::$kind { $($fields)* } => ($form, $value),)+)?)*)*
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
                    $($($($($form => Some(StrategyKind::$kind { $($fields)* }),)+)?)*)*
                    _ => None,
                }
            }
        }
    };
}

table!(kinds);

impl StrategyKind {
    /// The name on the command line, without parameters.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The same strategy, with this seed if it draws random numbers and its own seed is 0.
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

impl StrategyKind {
    /// Whether the strategy serves the machine of a description. The strategy must
    /// [serve](StrategyKind::serves) the machine. In addition, slices must be allowed to begin
    /// anywhere, or the strategy must look only at the places where they may begin.
    pub const fn serves_described(self, machine: &Description) -> bool {
        let serves = match self.serves() {
            Serves::Cubes => machine.cube_extents().is_some(),
            Serves::Placements => machine.has_placements(),
            other => other.includes(machine.grid()),
        };
        serves && (machine.is_unaligned() || self.aligns())
    }

    /// Whether the strategy's slices begin at the multiples that a description demands.
    const fn aligns(self) -> bool {
        matches!(
            self,
            StrategyKind::FirstFit
                | StrategyKind::AdaptiveScan
                | StrategyKind::FreeSubmeshList
                | StrategyKind::BestFit
                | StrategyKind::BusyList
                | StrategyKind::FixedOrientation
                | StrategyKind::FlexFold
                | StrategyKind::AllShapes
                | StrategyKind::LeastExpectedBlocking { .. }
                | StrategyKind::LebEstimates { .. }
                | StrategyKind::Folding
                | StrategyKind::Cubes { .. }
                | StrategyKind::Torus3d
        )
    }

    /// Whether a request for a number of processors needs no shape: the strategy looks at the
    /// number alone.
    pub(crate) fn counts_processors(self) -> bool {
        self.lays() == SliceRule::Anywhere || self == StrategyKind::Torus3d
    }
}

impl From<StrategyKind> for SliceRule {
    fn from(kind: StrategyKind) -> SliceRule {
        kind.lays()
    }
}

/// What is known about a strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// The abbreviations of the papers.
    pub aliases: &'static [&'static str],
    /// The name and the type of each parameter, in the order in which they are on the wire.
    pub parameters: &'static [(&'static str, &'static str)],
    /// How the strategy is written with parameters; empty if it takes none. The name alone stands
    /// for the default parameters.
    pub forms: &'static [StrategyForm],
    /// Author, year, title and venue.
    pub source: &'static str,
    /// Whether the strategy is complete: with its default parameters it grants every request for
    /// which a place exists.
    pub complete: bool,
    /// What a job holds.
    pub holds: Contiguity,
    /// The cargo feature that the strategy's code needs. Strategies whose code is in one file share
    /// a feature.
    pub feature: &'static str,
    /// Whether its code is in this build.
    pub built: bool,
}

/// What a job holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contiguity {
    /// One block of at least as many processors as the requested shape has: a contiguous strategy.
    OneBlock,
    /// At most two blocks of as many processors as the requested shape has.
    TwoBlocks,
    /// As many processors as the requested shape has, in any number of blocks.
    Blocks,
    /// As many processors as the requested shape has, in any number of blocks, each in a cube of
    /// its own: a slice in cubes.
    Parts,
    /// The requested number of processors, in any number of blocks; pages of several processors
    /// may add some.
    Processors,
}

impl Contiguity {
    /// Whether an allocation is always one block.
    pub const fn is_contiguous(self) -> bool {
        matches!(self, Contiguity::OneBlock)
    }

    /// The number of processors that a request names, for all its slices. An attempt to place it is
    /// *valid* if at least this number is free; a valid attempt that fails is an allocation miss.
    #[inline]
    pub const fn requested(self, request: &Request) -> u32 {
        let of_slice = match self {
            _ if request.flags.contains(Flags::CHIPS) => request.processors,
            Contiguity::OneBlock
            | Contiguity::TwoBlocks
            | Contiguity::Blocks
            | Contiguity::Parts => request.shape.area(),
            Contiguity::Processors => request.processors,
        };
        of_slice.saturating_mul(request.slices())
    }

    /// The most blocks that `jobs` jobs hold together on a machine of `processors` processors.
    pub(crate) const fn blocks(self, jobs: usize, processors: usize) -> usize {
        // Blocks are disjoint and hold at least one processor each.
        let most = match self {
            Contiguity::OneBlock => jobs,
            Contiguity::TwoBlocks => jobs.saturating_mul(2),
            Contiguity::Blocks | Contiguity::Parts | Contiguity::Processors => processors,
        };
        if most < processors { most } else { processors }
    }
}

/// One way to write a strategy with parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyForm {
    /// The name and, after a colon, the parameters. Capitals at the end stand for a number.
    pub text: &'static str,
    /// 1 if the number is whole; else a power of ten: the number of parts that make 1.
    pub unit: u64,
    /// The least and the greatest number, in parts; `None` if the text has no number.
    pub range: Option<RangeInclusive<u64>>,
}

wire! {
    /// The order in which [`StrategyKind::Paging`] takes pages.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum PageOrder {
        /// Line after line along dimension 0, each from its start.
        RowMajor,
        /// The same lines, every other one from its end, and so on in the higher dimensions: each
        /// page is a neighbour of the one before.
        Snake,
    }
}

/// The budgets of strategies that look ahead.
pub(super) const BUDGETS: RangeInclusive<u64> = 4..=4096;

#[cfg(test)]
mod tests {
    use super::*;

    /// With parameters at and beyond the ends of the ranges.
    #[test]
    fn a_kind_is_valid_exactly_if_its_text_names_it() {
        let numbers = [
            0,
            1,
            3,
            4,
            20,
            21,
            4096,
            4097,
            1_000_000,
            1_048_576,
            1_048_577,
            u64::MAX,
        ];
        let mut refused = 0;
        for kind in StrategyKind::ALL {
            let forms = kind.info().forms.iter();
            let texts = forms.flat_map(|form| numbers.map(|number| (form.text, number)));
            let others = texts.filter_map(|(text, number)| StrategyKind::from_form(text, number));
            for kind in others.chain([*kind]) {
                let mut text = heapless::String::<64>::new();
                core::fmt::Write::write_fmt(&mut text, format_args!("{kind}")).unwrap();
                assert_eq!(
                    kind.is_valid(),
                    text.parse() == Ok(kind),
                    "{kind:?}: {text}"
                );
                refused += u32::from(!kind.is_valid());
            }
        }
        assert!(refused > 20, "{refused}");
    }

    /// A strategy whose feature is not in the list `strategies` of the manifest would be missing
    /// from every default build.
    #[test]
    #[cfg(feature = "strategies")]
    fn the_feature_strategies_builds_every_strategy() {
        let missing = StrategyKind::ALL.iter().find(|kind| !kind.is_built());
        assert_eq!(missing, None);
    }
}
