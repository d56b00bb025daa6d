//! Which waiting job may try: the [`Scheduler`] trait, and [`AnyScheduler`] to choose at run time.
//!
//! After every arrival and every departure the controller asks the scheduler for a job, tries to place
//! it, tells the scheduler how that went and is given the next, until the scheduler says that is all.
//!
//! # Adding a scheduler
//!
//! One file in this folder with a type that implements [`Scheduler`], and one line each in
//! [`SchedulerKind`] and [`AnyScheduler`].

use crate::jobs::{Queue, Slot};
use crate::request::Ticks;

mod bypass_queue;
mod fcfs;
mod modified_fcfs;

pub use bypass_queue::BypassQueue;
pub use fcfs::Fcfs;
pub use modified_fcfs::{ModifiedFcfs, Threshold};

/// What sets the scheduler off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// This job has just joined the end of the queue.
    Arrival(Slot),
    /// Processors have become free, or a waiting job has left the queue.
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

/// The schedulers, with their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SchedulerKind {
    /// First come, first served.
    Fcfs,
    /// Modified first come, first served.
    ModifiedFcfs(Threshold),
    /// Bypass queue.
    BypassQueue {
        /// How long a head may wait before no job bypasses it any more. 0 is FCFS.
        threshold: Ticks,
    },
}

/// What is known about a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// The forms of its parameters on the command line, after a colon; empty for none.
    pub parameters: &'static [&'static str],
    /// Author, year and title.
    pub source: &'static str,
}

impl SchedulerKind {
    /// Every form of every scheduler, times being 0 and a second one tick.
    pub const ALL: &'static [SchedulerKind] = &[
        SchedulerKind::Fcfs,
        SchedulerKind::ModifiedFcfs(Threshold::Dynamic { second: 1 }),
        SchedulerKind::ModifiedFcfs(Threshold::Count),
        SchedulerKind::ModifiedFcfs(Threshold::Static { ticks: 0 }),
        SchedulerKind::BypassQueue { threshold: 0 },
    ];

    /// What is known about each scheduler.
    pub const INFO: &'static [SchedulerInfo] = &[
        SchedulerInfo {
            name: "fcfs",
            parameters: &[],
            source: "first come, first served: only the head of the queue may try",
        },
        SchedulerInfo {
            name: "modified-fcfs",
            parameters: &["dynamic", "count", "static=SECONDS"],
            source: "Kim and Yoon 1995, A Dynamic Processor Allocation Strategy for Mesh-Connected Multicomputers, section IV.1",
        },
        SchedulerInfo {
            name: "bypass-queue",
            parameters: &["SECONDS"],
            source: "Chang and Mohapatra, An Integrated Processor Management Scheme for the Mesh-Connected Multicomputer Systems, section 2.1",
        },
    ];

    /// What is known about this scheduler.
    pub const fn info(self) -> &'static SchedulerInfo {
        match self {
            SchedulerKind::Fcfs => &Self::INFO[0],
            SchedulerKind::ModifiedFcfs(_) => &Self::INFO[1],
            SchedulerKind::BypassQueue { .. } => &Self::INFO[2],
        }
    }

    /// The name on the command line, without parameters.
    pub const fn name(self) -> &'static str {
        self.info().name
    }
}

/// A scheduler chosen at run time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyScheduler {
    /// First come, first served.
    Fcfs(Fcfs),
    /// Modified first come, first served.
    ModifiedFcfs(ModifiedFcfs),
    /// Bypass queue.
    BypassQueue(BypassQueue),
}

impl AnyScheduler {
    /// The scheduler of this kind, before any job.
    pub const fn new(kind: SchedulerKind) -> Self {
        match kind {
            SchedulerKind::Fcfs => AnyScheduler::Fcfs(Fcfs),
            SchedulerKind::ModifiedFcfs(threshold) => {
                AnyScheduler::ModifiedFcfs(ModifiedFcfs::new(threshold))
            }
            SchedulerKind::BypassQueue { threshold } => {
                AnyScheduler::BypassQueue(BypassQueue::new(threshold))
            }
        }
    }
}

impl Scheduler for AnyScheduler {
    #[inline]
    fn first(&mut self, queue: &Queue<'_>, event: Event, now: Ticks) -> Option<Slot> {
        match self {
            AnyScheduler::Fcfs(scheduler) => scheduler.first(queue, event, now),
            AnyScheduler::ModifiedFcfs(scheduler) => scheduler.first(queue, event, now),
            AnyScheduler::BypassQueue(scheduler) => scheduler.first(queue, event, now),
        }
    }

    #[inline]
    fn next(&mut self, queue: &Queue<'_>, attempt: Attempt, now: Ticks) -> Option<Slot> {
        match self {
            AnyScheduler::Fcfs(scheduler) => scheduler.next(queue, attempt, now),
            AnyScheduler::ModifiedFcfs(scheduler) => scheduler.next(queue, attempt, now),
            AnyScheduler::BypassQueue(scheduler) => scheduler.next(queue, attempt, now),
        }
    }
}
