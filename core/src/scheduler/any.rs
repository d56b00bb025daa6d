//! The schedulers as values, made from the table: [`SchedulerKind`] with parameters, [`AnyScheduler`] at work.

use core::convert::Infallible;

use super::*;
use crate::error::ConfigureError;
use crate::request::Ticks;

/// What is known about a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// The forms in which it is written: the name and, after a colon, its parameter, in which `SECONDS` stands for a time and
    /// `COUNT` for a whole number of at least 1.
    pub forms: &'static [&'static str],
    /// What it does, in a sentence or two; times are in seconds.
    pub meaning: &'static str,
    /// Author, year and title; empty for what is as old as queues.
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
        /// The schedulers, with their parameters. A kind exists also where its code was left out of the build.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[non_exhaustive]
        pub enum SchedulerKind {
            $($(#[$meta])* $kind $($fields)?,)*
        }

        impl SchedulerKind {
            /// Every form of every scheduler, times being 0, counts 1 and a second one tick.
            pub const ALL: &'static [SchedulerKind] = {
                const ALL: [SchedulerKind; [$($($form,)+)*].len()] = {
                    let ($number, $second) = (0, 1);
                    [$($(SchedulerKind::$kind $($value)?,)+)*]
                };
                &ALL
            };

            /// What is known about each scheduler.
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

            /// What is known about this scheduler.
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

            /// The form in which it is written ([`SchedulerInfo::forms`]) and the number in it, a time in ticks; 0 where there is none.
            pub const fn form(self) -> (&'static str, Ticks) {
                let $number = 0;
                match self {
                    $($(
                        #[allow(unused_variables, reason = "a form uses some of the names")]
                        SchedulerKind::$kind $($value)? => ($form, $number),
                    )+)*
                }
            }

            /// The scheduler in one of its forms, with the number in it, a time in ticks, and the ticks of a second.
            pub fn from_form(form: &str, $number: Ticks, $second: Ticks) -> Option<Self> {
                match form {
                    $($($form => Some(SchedulerKind::$kind $($value)?),)+)*
                    _ => None,
                }
            }
        }

        /// A scheduler chosen at run time.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyScheduler {
            $(
                #[cfg(feature = $name)]
                $(#[$meta])*
                $kind($kind),
            )*
            /// Never made. It keeps the type whole in a build without schedulers.
            #[allow(dead_code, reason = "there is none")]
            Never(Infallible),
        }

        impl AnyScheduler {
            /// The scheduler of this kind, before any job.
            ///
            /// # Errors
            ///
            /// `SchedulerNotBuilt`.
            pub(crate) const fn new(kind: SchedulerKind) -> Result<Self, ConfigureError> {
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
                    $(#[cfg(feature = $name)] AnyScheduler::$kind(scheduler) => scheduler.first(world, event),)*
                    AnyScheduler::Never(never) => never.first(world, event),
                }
            }

            #[inline(always)]
            fn next(&mut self, world: &mut World<'_, '_>, attempt: Attempt) -> Option<Try> {
                match self {
                    $(#[cfg(feature = $name)] AnyScheduler::$kind(scheduler) => scheduler.next(world, attempt),)*
                    AnyScheduler::Never(never) => never.next(world, attempt),
                }
            }

            fn left(&self, queue: Queue<'_>, job: Slot) -> u32 {
                match self {
                    $(#[cfg(feature = $name)] AnyScheduler::$kind(scheduler) => scheduler.left(queue, job),)*
                    AnyScheduler::Never(never) => never.left(queue, job),
                }
            }

            fn faults_changed(&mut self) {
                match self {
                    $(#[cfg(feature = $name)] AnyScheduler::$kind(scheduler) => scheduler.faults_changed(),)*
                    AnyScheduler::Never(never) => never.faults_changed(),
                }
            }

            #[cfg(feature = "restore")]
            fn save(&self, state: &mut Writer<'_>) {
                match self {
                    $(#[cfg(feature = $name)] AnyScheduler::$kind(scheduler) => scheduler.save(state),)*
                    AnyScheduler::Never(never) => never.save(state),
                }
            }

            #[cfg(feature = "restore")]
            fn restore(&mut self, state: &mut Reader<'_>) -> Result<(), RestoreError> {
                match self {
                    $(#[cfg(feature = $name)] AnyScheduler::$kind(scheduler) => scheduler.restore(state),)*
                    AnyScheduler::Never(never) => never.restore(state),
                }
            }
        }
    };
}

/// When a blocked head has been bypassed enough. From then on no job is allocated before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Threshold {
    /// When so much time has passed since it became the head.
    Static {
        /// The time.
        ticks: Ticks,
    },
    /// When the seconds since it became the head are at least mean queueing delay times arrival rate.
    Dynamic {
        /// The ticks in a second.
        second: Ticks,
    },
    /// When the jobs that have bypassed it are at least mean queueing delay times arrival rate.
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
