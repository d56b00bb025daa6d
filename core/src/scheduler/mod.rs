//! Which waiting job may try: the [`Scheduler`] trait, and [`AnyScheduler`] to choose at run time.
//!
//! A scheduler decides which waiting job may try. After every arrival and every departure the
//! controller runs a *pass*: it asks the scheduler for a job, tries to place the job, reports the
//! outcome and gets the next job, until the scheduler stops.
//!
//! ```text
//!   trigger ──▶ first ──▶ attempt ──▶ next ──▶ attempt ──▶ next ──▶ .. ──▶ None: the pass ends
//! ```
//!
//! # Adding a scheduler
//!
//! Write a file in this folder with a type that implements [`Scheduler`], an entry in `table.rs`
//! and a cargo feature with the scheduler's name. A scheduler that makes reservations needs the
//! feature `reservations`.

use crate::checkpoint::{Reader, RestoreError, Writer};
use crate::error::{ConfigureError, Refusal};
use crate::jobs::{Queue, Slot};
use crate::request::Ticks;
use crate::strategy::Strategy;

#[macro_use]
mod table;
mod any;
pub(crate) mod kind;
mod reservations;
mod world;

pub use any::AnyScheduler;
pub use kind::{SchedulerInfo, SchedulerKind, Threshold};
pub use world::World;

/// The files of the schedulers in this build.
macro_rules! modules {
    ($names:tt $($(#[$meta:meta])* $kind:ident in $module:ident = $name:literal $fields:tt $rest:tt)*) => { $(
        #[cfg(feature = $name)]
        mod $module;
    )* };
}

table!(modules);

/// The event that starts a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// This job has just joined the queue: at the end, or before the jobs that its priority
    /// overtakes ([`Class`](crate::Class)).
    Arrival(Slot),
    /// Processors have become free, or a waiting job has left the queue. Running jobs may have
    /// returned to their places in the queue, or hold other processors.
    Departure,
}

/// The job that tries, and the processors that it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Try {
    /// The job may take any free processors.
    Freely(Slot),
    /// The job must leave free the processors that are reserved for other jobs
    /// ([`World::reserve`]), if the reservation starts before the estimated end of this job.
    AroundReservations(Slot),
}

impl Try {
    /// The job.
    pub const fn job(self) -> Slot {
        match self {
            Try::Freely(job) | Try::AroundReservations(job) => job,
        }
    }
}

/// The outcome of a job's attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The job. A granted job is no longer in the queue.
    pub job: Slot,
    /// The job after it in the queue.
    pub following: Option<Slot>,
    /// `Ok` if the job was granted, else why it was refused.
    pub outcome: Result<(), Refusal>,
    /// The time of its submission.
    pub submitted: Ticks,
    /// Whether it ran before, and waits again
    /// ([`Controller::requeue`](crate::Controller::requeue)).
    pub has_run: bool,
}

/// A job scheduling policy.
pub trait Scheduler {
    /// The first job to try after this trigger; `None` if no job may try.
    fn first<S: Strategy>(&mut self, world: &mut World<'_, '_, S>, trigger: Trigger)
    -> Option<Try>;

    /// Whether this job, which has just arrived and never waits, may try at all. It is called
    /// before [`Scheduler::first`]. If the job is refused, it is called once more with the time
    /// before the job's arrival, so that the reservations are again those of that time. The data of
    /// the scheduler are then as they were before.
    fn may_try_only<S: Strategy>(&mut self, _world: &mut World<'_, '_, S>, _job: Slot) -> bool {
        true
    }

    /// The job to try after this attempt; `None` ends the pass. No scheduler changes a reservation
    /// after an attempt that was granted.
    fn next<S: Strategy>(&mut self, world: &mut World<'_, '_, S>, attempt: Attempt) -> Option<Try>;

    /// An upper bound of the jobs that may still try in this pass, where `next` tries next. The
    /// default suits schedulers that try in the order of the queue: `next` and the jobs after it.
    fn left(&self, queue: Queue<'_>, next: Slot) -> u32 {
        queue.len() - queue.ahead(next)
    }

    /// Reports between two passes that processors have become faulty or work again. If some became
    /// free, a pass follows.
    fn faults_changed(&mut self) {}

    /// Saves its data between two passes, in any number of items. Reservations are saved with the
    /// jobs. By default a scheduler has no data.
    fn save(&self, _state: &mut Writer<'_>) {}

    /// Restores from the next item that [`Scheduler::save`] has written.
    ///
    /// # Errors
    ///
    /// When this scheduler did not write the item.
    fn restore(&mut self, _state: &mut Reader<'_>) -> Result<(), RestoreError> {
        Err(RestoreError::Inconsistent)
    }
}

/// A scheduler that a [`Controller`](crate::Controller) can have: [`AnyScheduler`], or your own.
pub trait ServedScheduler: Scheduler + Clone {
    /// The scheduler of this kind before any job. A scheduler of your own keeps its rule, whatever
    /// the kind.
    ///
    /// # Errors
    ///
    /// `BadParameter` or `SchedulerNotBuilt` if there is no such scheduler.
    fn anew(&self, kind: SchedulerKind) -> Result<Self, ConfigureError>;
}
