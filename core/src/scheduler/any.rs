//! The schedulers as values, made from the table: [`SchedulerKind`] has the parameters,
//! [`AnyScheduler`] decides.

use core::convert::Infallible;

use super::*;
use crate::error::ConfigureError;
use crate::request::Ticks;

/// The description of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// Its forms on the command line: the name and, after a colon, the parameter. `SECONDS` stands
    /// for a time, `COUNT` for a whole number of at least 1.
    pub forms: &'static [&'static str],
    /// What it does, in a sentence or two; times are in seconds.
    pub meaning: &'static str,
    /// Author, year and title; empty for folklore.
    pub source: &'static str,
}

macro_rules! schedulers {
    (($number:ident, $second:ident) $(
        $(#[$meta:meta])* $kind:ident in $module:ident = $name:literal [$($fields:tt)?] {
            new: [$($bound:tt)?] $new:expr,
            forms: $($form:literal [$($value:tt)?],)+
            meaning: $meaning:literal,
            source: $source:literal
        }
    )*) => {
        /// The schedulers, with their parameters. A kind also exists in a build without its code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        pub enum SchedulerKind {
            $($(#[$meta])* $kind $($fields)?,)*
        }

        impl SchedulerKind {
            /// Every form of every scheduler. Times are 0, counts 1, and a second is one tick.
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
                meaning: $meaning,
                source: $source,
            }),*];

            /// Whether its code is in this build.
            pub const fn is_built(self) -> bool {
                match self {
                    $(SchedulerKind::$kind { .. } => cfg!(feature = $name),)*
                }
            }

            /// The description of this scheduler.
            pub const fn info(self) -> &'static SchedulerInfo {
                match self {
                    $(SchedulerKind::$kind { .. } => &SchedulerInfo {
                        name: $name,
                        forms: &[$($form),+],
                        meaning: $meaning,
                        source: $source,
                    },)*
                }
            }

            /// Its form ([`SchedulerInfo::forms`]) and the number in the form: a time in ticks, a
            /// count, or 0 for a form without a number.
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

        /// A scheduler chosen at run time.
        #[derive(Clone, Debug)]
        pub enum AnyScheduler {
            $(
                #[cfg(feature = $name)]
                $(#[$meta])*
                $kind($kind),
            )*
            /// Never constructed. It keeps the type valid in a build without schedulers.
            #[doc(hidden)]
            Never(Infallible),
        }

        impl AnyScheduler {
            /// Makes a scheduler of this kind, before any job.
            ///
            /// # Errors
            ///
            /// `SchedulerNotBuilt`.
            pub const fn new(kind: SchedulerKind) -> Result<Self, ConfigureError> {
                match kind {
                    $(
                        #[cfg(feature = $name)]
                        SchedulerKind::$kind $($bound)? => Ok(AnyScheduler::$kind($new)),
                    )*
                    #[allow(unreachable_patterns, reason = "reached when a feature is off")]
                    _ => Err(ConfigureError::SchedulerNotBuilt),
                }
            }
        }

        impl Scheduler for AnyScheduler {
            #[inline(always)]
            fn first(&mut self, world: &mut World<'_, '_>, event: Event) -> Option<Try> {
                match self {
                    $(
                        #[cfg(feature = $name)]
                        AnyScheduler::$kind(scheduler) => scheduler.first(world, event),
                    )*
                    AnyScheduler::Never(never) => never.first(world, event),
                }
            }

            #[inline(always)]
            fn next(&mut self, world: &mut World<'_, '_>, attempt: Attempt) -> Option<Try> {
                match self {
                    $(
                        #[cfg(feature = $name)]
                        AnyScheduler::$kind(scheduler) => scheduler.next(world, attempt),
                    )*
                    AnyScheduler::Never(never) => never.next(world, attempt),
                }
            }

            fn left(&self, queue: Queue<'_>, job: Slot) -> u32 {
                match self {
                    $(
                        #[cfg(feature = $name)]
                        AnyScheduler::$kind(scheduler) => scheduler.left(queue, job),
                    )*
                    AnyScheduler::Never(never) => never.left(queue, job),
                }
            }

            fn faults_changed(&mut self) {
                match self {
                    $(
                        #[cfg(feature = $name)]
                        AnyScheduler::$kind(scheduler) => scheduler.faults_changed(),
                    )*
                    AnyScheduler::Never(never) => never.faults_changed(),
                }
            }

            #[cfg(feature = "restore")]
            fn save(&self, state: &mut Writer<'_>) {
                match self {
                    $(
                        #[cfg(feature = $name)]
                        AnyScheduler::$kind(scheduler) => scheduler.save(state),
                    )*
                    AnyScheduler::Never(never) => never.save(state),
                }
            }

            #[cfg(feature = "restore")]
            fn restore(&mut self, state: &mut Reader<'_>) -> Result<(), RestoreError> {
                match self {
                    $(
                        #[cfg(feature = $name)]
                        AnyScheduler::$kind(scheduler) => scheduler.restore(state),
                    )*
                    AnyScheduler::Never(never) => never.restore(state),
                }
            }
        }
    };
}

/// The bound for bypassing a blocked head of the queue. Once it is reached, no job goes before the
/// head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Threshold {
    /// Reached after this time as the head.
    Static {
        /// The time in ticks.
        ticks: Ticks,
    },
    /// Reached when the seconds as the head are at least the mean queueing delay times the arrival
    /// rate.
    Dynamic {
        /// The length of a second in ticks.
        second: Ticks,
    },
    /// Reached when the number of jobs that have bypassed the head is at least the mean queueing
    /// delay times the arrival rate.
    Count,
}

impl Scheduler for Infallible {
    fn first(&mut self, _: &mut World<'_, '_>, _: Event) -> Option<Try> {
        match *self {}
    }

    fn next(&mut self, _: &mut World<'_, '_>, _: Attempt) -> Option<Try> {
        match *self {}
    }
}

impl SchedulerKind {
    /// The name on the command line, without parameters.
    pub const fn name(self) -> &'static str {
        self.info().name
    }
}

table!(schedulers);
