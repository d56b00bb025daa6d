//! The execution of jobs: when a job that has its processors completes its work.
//!
//! An [`Execution`] advances in virtual time only as far as the run loop lets it. The reason is
//! that a job that starts may move the completions of other jobs: messages meet on their way, disks
//! are shared. So the loop names its next event, and takes the jobs that complete before that
//! event.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::AddAssign;

use meshalloc::{Block, Ticks};

use crate::network::Network;
use crate::workload::{Job, TimeUnit, Work};

/// When an event happens: by time, and at equal times in the order of insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventKey {
    /// The time, in ticks.
    pub at: Ticks,
    /// The place in the order of insertion.
    pub order: u64,
}

/// A job that starts.
#[derive(Clone, Copy, Debug)]
pub struct Start<'j> {
    /// The time, in ticks.
    pub at: Ticks,
    /// The place of the job's completion in the order of insertion. It grows from start to start.
    pub order: u64,
    /// The job's number.
    pub number: u32,
    /// The job: its work, and the shape it asked for.
    pub job: &'j Job,
    /// The blocks of processors it holds, at least one, in the order of the grant.
    pub blocks: &'j [Block],
}

/// A job that has completed its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The time, and the order given with the job's start.
    pub key: EventKey,
    /// The job's number.
    pub number: u32,
    /// The messages that it sent.
    pub messages: MessageSums,
}

impl Completion {
    /// The completion of a job that has sent no messages.
    pub fn silent(key: EventKey, number: u32) -> Self {
        Completion {
            key,
            number,
            messages: MessageSums::default(),
        }
    }
}

/// What the messages of one or more jobs add up to, times in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageSums {
    /// How many were delivered.
    pub count: u64,
    /// Times from the request for the injection channel to the delivery of the last flit.
    pub latency: u64,
    /// Channels between nodes that they crossed.
    pub hops: u64,
    /// Times by which they were later than in an empty network.
    pub blocked: u64,
}

impl AddAssign for MessageSums {
    fn add_assign(&mut self, other: MessageSums) {
        self.count += other.count;
        self.latency += other.latency;
        self.hops += other.hops;
        self.blocked += other.blocked;
    }
}

/// Executes the jobs that hold processors; calls come in the order of virtual time.
pub trait Execution {
    /// The unit in which times are given.
    fn time_unit(&self) -> TimeUnit;

    /// Starts a job that has its processors, at a time that is not before the latest completion or
    /// the latest limit.
    fn start(&mut self, start: Start<'_>);

    /// Advances to the first completion before `limit` and takes it, in the order of [`EventKey`].
    /// `None` if no job completes before `limit` as long as no job starts; the execution has then
    /// advanced to `limit`. A job completes once. While jobs run and `limit` is far enough, there
    /// is a completion.
    fn complete_before(&mut self, limit: EventKey) -> Option<Completion>;

    /// The network over which jobs send messages to each other, if they do.
    fn network(&self) -> Option<&Network> {
        None
    }
}

impl<E: Execution + ?Sized> Execution for &mut E {
    fn time_unit(&self) -> TimeUnit {
        (**self).time_unit()
    }

    fn start(&mut self, start: Start<'_>) {
        (**self).start(start);
    }

    #[inline]
    fn complete_before(&mut self, limit: EventKey) -> Option<Completion> {
        (**self).complete_before(limit)
    }

    fn network(&self) -> Option<&Network> {
        (**self).network()
    }
}

/// Jobs that take the time which their workload gives them, whatever else runs. Each start and each
/// completion takes time logarithmic in the number of running jobs.
#[derive(Clone, Debug, Default)]
pub struct FixedService {
    /// The time, the order and the job's number of each completion.
    completions: BinaryHeap<Reverse<(Ticks, u64, u32)>>,
}

impl FixedService {
    /// The first completion. Its job may have left before.
    pub(super) fn first(&self) -> Option<Completion> {
        let &Reverse((at, order, number)) = self.completions.peek()?;
        Some(Completion::silent(EventKey { at, order }, number))
    }
}

impl Execution for FixedService {
    fn time_unit(&self) -> TimeUnit {
        TimeUnit::Second
    }

    /// # Panics
    ///
    /// When the job has no service time.
    #[inline]
    fn start(&mut self, start: Start<'_>) {
        let Work::Service(service) = start.job.work else {
            panic!("a job that sends messages is executed by a network");
        };
        let at = start.at + service;
        self.completions
            .push(Reverse((at, start.order, start.number)));
    }

    #[inline]
    fn complete_before(&mut self, limit: EventKey) -> Option<Completion> {
        let first = self.first().filter(|first| first.key < limit)?;
        self.completions.pop();
        Some(first)
    }
}
