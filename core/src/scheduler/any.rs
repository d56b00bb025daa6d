//! [`AnyScheduler`]: a scheduler chosen at run time, made from the table.

use core::convert::Infallible;

use super::*;
use crate::delegate::delegate;

/// Defines [`Chosen`], how it is made, and the macro `with_chosen`, which evaluates an expression
/// for the scheduler that was chosen.
macro_rules! schedulers {
    (($number:ident, $second:ident, $d:tt) $(
        $(#[$meta:meta])* $kind:ident in $module:ident = $name:literal $fields:tt {
            new: [$($bound:tt)?] $new:expr,
            $($rest:tt)*
        }
    )*) => {
        /// A scheduler of this build.
        #[derive(Clone, Debug)]
        enum Chosen {
            $(
                #[cfg(feature = $name)]
                $kind(super::$module::$kind),
            )*
            /// Keeps the enum valid in a build without schedulers.
            #[allow(dead_code, reason = "never made")]
            Never(Infallible),
        }

        impl AnyScheduler {
            /// The scheduler of this kind, before any job.
            ///
            /// # Errors
            ///
            /// `BadParameter`; `SchedulerNotBuilt`: its feature is off.
            pub const fn new(kind: SchedulerKind) -> Result<Self, ConfigureError> {
                match kind {
                    _ if !kind.is_valid() => Err(ConfigureError::BadParameter),
                    $(
                        #[cfg(feature = $name)]
                        SchedulerKind::$kind $($bound)? => {
                            use super::$module::*;
                            Ok(AnyScheduler(Chosen::$kind($new)))
                        }
                    )*
                    #[allow(unreachable_patterns, reason = "reached when a feature is off")]
                    _ => Err(ConfigureError::SchedulerNotBuilt),
                }
            }
        }

        macro_rules! with_chosen {
            ($d any:expr, $d scheduler:ident => $d result:expr) => {
                match $d any {
                    $(
                        #[cfg(feature = $name)]
                        AnyScheduler(Chosen::$kind($d scheduler)) => $d result,
                    )*
                    AnyScheduler(Chosen::Never($d scheduler)) => $d result,
                }
            };
        }
    };
}

table!(schedulers $);

/// A scheduler chosen at run time.
#[derive(Clone, Debug)]
pub struct AnyScheduler(Chosen);

impl Scheduler for AnyScheduler {
    delegate! { with_chosen:
        #[inline(always)]
        fn first<S: Strategy>(
            &mut self,
            world: &mut World<'_, '_, S>,
            trigger: Trigger,
        ) -> Option<Try>;

        fn may_try_only<S: Strategy>(&mut self, world: &mut World<'_, '_, S>, job: Slot) -> bool;

        #[inline(always)]
        fn next<S: Strategy>(
            &mut self,
            world: &mut World<'_, '_, S>,
            attempt: Attempt,
        ) -> Option<Try>;

        fn left(&self, queue: Queue<'_>, next: Slot) -> u32;

        fn faults_changed(&mut self);

        fn save(&self, state: &mut Writer<'_>);

        fn restore(&mut self, state: &mut Reader<'_>) -> Result<(), RestoreError>;
    }
}

impl ServedScheduler for AnyScheduler {
    fn anew(&self, kind: SchedulerKind) -> Result<Self, ConfigureError> {
        AnyScheduler::new(kind)
    }
}

impl Scheduler for Infallible {
    fn first<S: Strategy>(&mut self, _: &mut World<'_, '_, S>, _: Trigger) -> Option<Try> {
        match *self {}
    }

    fn next<S: Strategy>(&mut self, _: &mut World<'_, '_, S>, _: Attempt) -> Option<Try> {
        match *self {}
    }
}
