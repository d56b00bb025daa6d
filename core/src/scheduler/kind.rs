//! The schedulers by name, made from the table: [`SchedulerKind`], and what is known about each:
//! [`SchedulerInfo`].

use core::num::NonZeroU64;

use crate::request::Ticks;
use crate::wire::wire;

/// The description of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// The forms of the scheduler on the command line: the name and, after a colon, the parameter.
    /// `SECONDS` stands for a time, `COUNT` for a whole number of at least 1.
    pub forms: &'static [&'static str],
    /// The name (empty if it has none) and the type of each parameter, in their order on the wire.
    pub parameters: &'static [(&'static str, &'static str)],
    /// What the scheduler does, in a sentence or two; times are in seconds.
    pub meaning: &'static str,
    /// Author, year and title; empty for folklore.
    pub source: &'static str,
}

/// Defines [`SchedulerKind`].
macro_rules! kinds {
    (@parameters) => { &[] };
    (@parameters ($type:ty)) => { &[("", stringify!($type))] };
    (@parameters { $($(#[$meta:meta])* $field:ident: $type:ty),+ $(,)? }) => {
        &[$((stringify!($field), stringify!($type))),+]
    };
    (($number:ident, $second:ident) $(
        $(#[$meta:meta])* $kind:ident in $module:ident = $name:literal [$($fields:tt)?] {
            new: $bound:tt $new:expr,
            forms: $($form:literal [$($value:tt)?] $(if $is_valid:expr)?,)+
            meaning: $meaning:literal,
            source: $source:literal
        }
    )*) => {
        wire! {
            /// The schedulers, with their parameters. Every build has all kinds; the code of a kind
            /// is left out if its feature is off ([`SchedulerKind::is_built`]).
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[non_exhaustive]
            pub enum SchedulerKind {
                $($(#[$meta])* $kind $($fields)?,)*
            }
        }

        impl SchedulerKind {
            /// Every form of every scheduler; times are 0, counts 1 and a second is one tick.
            pub const ALL: &'static [SchedulerKind] = {
                const ALL: [SchedulerKind; [$($($form,)+)*].len()] = {
                    let ($number, $second) = (0, 1);
                    [$($(SchedulerKind::$kind $($value)?,)+)*]
                };
                &ALL
            };

            /// The description of each scheduler.
            pub const INFO: &'static [SchedulerInfo] = &[$(SchedulerInfo {
                name: $name,
                forms: &[$($form),+],
                parameters: kinds!(@parameters $($fields)?),
                meaning: $meaning,
                source: $source,
            }),*];

            /// The description of this scheduler.
            pub const fn info(self) -> &'static SchedulerInfo {
                enum Place {
                    $($kind,)*
                }
                match self {
                    $(SchedulerKind::$kind { .. } => &Self::INFO[Place::$kind as usize],)*
                }
            }

            /// Whether the scheduler's code is in this build.
            pub const fn is_built(self) -> bool {
                match self {
                    $(SchedulerKind::$kind { .. } => cfg!(feature = $name),)*
                }
            }

            /// Whether the parameters are in their ranges. No controller serves a scheduler with
            /// other parameters
            /// ([`ConfigureError::BadParameter`](crate::ConfigureError::BadParameter)).
            ///
            /// ```
            /// use meshalloc::SchedulerKind::Easy;
            /// assert!(Easy { reservations: 1 }.is_valid());
            /// assert!(!Easy { reservations: 0 }.is_valid());
            /// ```
            pub const fn is_valid(self) -> bool {
                match self {
                    $($(
                        #[allow(unused_variables, reason = "a form uses some of the names")]
                        SchedulerKind::$kind $($value)? $(if $is_valid)? => true,
                    )+)*
                    #[allow(unreachable_patterns, reason = "not every form has a condition")]
                    _ => false,
                }
            }

            /// The scheduler's form ([`SchedulerInfo::forms`]) and the number in the form: a time
            /// in ticks, a count, or 0 for a form without a number.
            pub const fn form(self) -> (&'static str, Ticks) {
                let $number = 0;
                match self {
                    $($(
                        #[allow(unused_variables, reason = "a form uses some of the names")]
                        SchedulerKind::$kind $($value)? => ($form, $number),
                    )+)*
                }
            }

            /// The scheduler with this form and the number in it: a time in ticks or a count.
            /// `second` is the length of a second in ticks.
            pub fn from_form(form: &str, $number: Ticks, $second: Ticks) -> Option<Self> {
                match form {
                    $($($form => Some(SchedulerKind::$kind $($value)?),)+)*
                    _ => None,
                }
            }
        }
    };
}

table!(kinds);

wire! {
    /// The bound for bypassing a blocked head of the queue. Once it is reached, no job goes before
    /// the head.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Threshold {
        /// Reached after this time as the head.
        Static {
            /// The time in ticks.
            ticks: Ticks,
        },
        /// Reached when the seconds as the head are at least the mean queueing delay times the
        /// arrival rate.
        Dynamic {
            /// The length of a second in ticks.
            second: Ticks,
        },
        /// Reached when the number of jobs that have bypassed the head is at least the mean
        /// queueing delay times the arrival rate.
        Count,
    }
}

impl SchedulerKind {
    /// The name on the command line, without parameters.
    pub const fn name(self) -> &'static str {
        self.info().name
    }
}

impl SchedulerKind {
    /// The number of waiting jobs that must all be granted before the scheduler tries a job. The
    /// job has this place in the queue, counted from 0, and this estimate. `estimates` has the
    /// estimates of all waiting jobs, in the order of the queue. The number is 0 for schedulers
    /// that try jobs behind a job that does not fit. It does not consider a threshold after which
    /// the head goes first.
    pub fn before(
        self,
        (place, own): (u32, Option<NonZeroU64>),
        estimates: impl Iterator<Item = Option<NonZeroU64>>,
    ) -> u32 {
        match self {
            SchedulerKind::Fcfs => place,
            SchedulerKind::ShortestJobFirst { .. } => {
                let ticks =
                    |estimate: Option<NonZeroU64>| estimate.map_or(Ticks::MAX, NonZeroU64::get);
                let is_before = |&(at, other): &(u32, _)| (ticks(other), at) < (ticks(own), place);
                (0..).zip(estimates).filter(is_before).count() as u32
            }
            _ => 0,
        }
    }

    /// Whether jobs that wait may hold reservations.
    pub const fn reserves(self) -> bool {
        matches!(
            self,
            SchedulerKind::Easy { .. } | SchedulerKind::Conservative
        )
    }
}
