//! Which waiting job may try: the [`Scheduler`] trait, and [`AnyScheduler`] to choose at run time.
//!
//! After every arrival and every departure the controller asks the scheduler for a job, tries to place
//! it, tells the scheduler how that went and is given the next, until the scheduler says that is all.
//!
//! # Adding a scheduler
//!
//! One file in this folder with a type that implements [`Scheduler`], and one line each in
//! [`SchedulerKind`] and [`AnyScheduler`].

use core::fmt;

use crate::jobs::{Queue, Slot};
use crate::request::Ticks;

mod fcfs;

pub use fcfs::Fcfs;

/// What sets the scheduler off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// This job has just joined the end of the queue.
    Arrival(Slot),
    /// Processors have become free.
    Departure,
}

/// How a job's attempt went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The job. If it was granted it is no longer in the queue.
    pub job: Slot,
    /// The job that waits behind it.
    pub following: Option<Slot>,
    /// Whether it was granted.
    pub granted: bool,
    /// When it was submitted.
    pub submitted: Ticks,
}

/// A job scheduling discipline.
pub trait Scheduler {
    /// The first job to try after an event; `None` for none.
    fn first(&mut self, queue: &Queue<'_>, event: Event, now: Ticks) -> Option<Slot>;

    /// The job to try after this attempt; `None` to stop.
    fn next(&mut self, queue: &Queue<'_>, attempt: Attempt, now: Ticks) -> Option<Slot>;
}

/// The schedulers by name, with their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SchedulerKind {
    /// First come, first served.
    Fcfs,
}

impl SchedulerKind {
    /// Every scheduler, with its parameters as the papers have them.
    pub const ALL: &'static [SchedulerKind] = &[SchedulerKind::Fcfs];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            SchedulerKind::Fcfs => "fcfs",
        }
    }

    /// Where it was published.
    pub const fn source(self) -> &'static str {
        match self {
            SchedulerKind::Fcfs => "first come, first served: only the head of the queue may try",
        }
    }

    /// The scheduler of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for SchedulerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A scheduler chosen at run time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyScheduler {
    /// First come, first served.
    Fcfs(Fcfs),
}

impl AnyScheduler {
    /// The scheduler of this kind, before any job.
    pub const fn new(kind: SchedulerKind) -> Self {
        match kind {
            SchedulerKind::Fcfs => AnyScheduler::Fcfs(Fcfs),
        }
    }

    /// The kind it was made as.
    pub const fn kind(&self) -> SchedulerKind {
        match self {
            AnyScheduler::Fcfs(_) => SchedulerKind::Fcfs,
        }
    }
}

impl Scheduler for AnyScheduler {
    #[inline]
    fn first(&mut self, queue: &Queue<'_>, event: Event, now: Ticks) -> Option<Slot> {
        match self {
            AnyScheduler::Fcfs(scheduler) => scheduler.first(queue, event, now),
        }
    }

    #[inline]
    fn next(&mut self, queue: &Queue<'_>, attempt: Attempt, now: Ticks) -> Option<Slot> {
        match self {
            AnyScheduler::Fcfs(scheduler) => scheduler.next(queue, attempt, now),
        }
    }
}
