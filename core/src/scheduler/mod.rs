//! Which waiting job may try: the [`Scheduler`] trait, and [`AnyScheduler`] to choose at run time.
//!
//! After every arrival and every departure the controller asks the scheduler for a job, tries to
//! place it, reports the outcome to the scheduler and gets the next one, until the scheduler has no
//! more.
//!
//! # Adding a scheduler
//!
//! Write a file in this folder with a type that implements [`Scheduler`], an entry in `table.rs`
//! and a cargo feature with the scheduler's name. A scheduler that makes reservations needs the
//! feature `reservations`.

#[cfg(feature = "restore")]
use crate::checkpoint::{Reader, RestoreError, Writer};
use crate::error::Refusal;
use crate::jobs::{Queue, Slot};
use crate::request::Ticks;

#[macro_use]
mod table;
mod any;
#[cfg(feature = "reservations")]
mod reservations;
mod world;

pub(crate) use any::AnyScheduler;
pub use any::{SchedulerInfo, SchedulerKind, Threshold};
pub(crate) use world::World;

/// The files of the schedulers in this build.
macro_rules! modules {
    ($names:tt $($(#[$meta:meta])* $kind:ident in $module:ident = $name:literal $fields:tt $rest:tt)*) => { $(
        #[cfg(feature = $name)]
        mod $module;
        #[cfg(feature = $name)]
        use $module::*;
    )* };
}

table!(modules);

/// What sets the scheduler off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// This job has just joined the end of the queue.
    Arrival(Slot),
    /// Processors have become free, or a waiting job has left the queue.
    Departure,
}

/// Which job tries, and what it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Try {
    /// The job may take whatever is free.
    Freely(Slot),
    /// The job must leave free what is reserved for others ([`World::reserve`]) from before its own
    /// estimated end on.
    #[cfg(feature = "reservations")]
    AroundReservations(Slot),
}

impl Try {
    /// The job.
    pub(crate) const fn job(self) -> Slot {
        match self {
            Try::Freely(job) => job,
            #[cfg(feature = "reservations")]
            Try::AroundReservations(job) => job,
        }
    }
}

/// How a job's attempt went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// The job. If it was granted it is no longer in the queue.
    pub job: Slot,
    /// The job that waits behind it.
    pub following: Option<Slot>,
    /// Whether it was granted, or why not.
    pub outcome: Result<(), Refusal>,
    /// When it was submitted.
    pub submitted: Ticks,
}

/// A job scheduling discipline.
pub(crate) trait Scheduler {
    /// The first job to try after an event; `None` for none.
    fn first(&mut self, world: &mut World<'_, '_>, event: Event) -> Option<Try>;

    /// The job to try after this attempt; `None` to stop.
    fn next(&mut self, world: &mut World<'_, '_>, attempt: Attempt) -> Option<Try>;

    /// The most jobs of the queue that may still try, from this one on: it and those behind it,
    /// unless jobs try in another order than that of the queue.
    fn left(&self, queue: Queue<'_>, next: Slot) -> u32 {
        queue.len() - queue.ahead(next)
    }

    /// Processors have become faulty or work again, between two passes. If some are free now, a
    /// pass begins after this.
    fn faults_changed(&mut self) {}

    /// Saves what it knows between two passes, except what is reserved, as any number of items.
    #[cfg(feature = "restore")]
    fn save(&self, _state: &mut Writer<'_>) {}

    /// Restores from the next item that [`Scheduler::save`] has written.
    ///
    /// # Errors
    ///
    /// When this scheduler did not write it.
    #[cfg(feature = "restore")]
    fn restore(&mut self, _state: &mut Reader<'_>) -> Result<(), RestoreError> {
        Err(RestoreError::Inconsistent)
    }
}
