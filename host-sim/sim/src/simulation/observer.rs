//! Who receives what happens in a run.

use meshalloc::{Block, Refusal, Ticks};

use crate::network::Network;
use crate::situation::Cause;
use crate::workload::Job;

/// How long a job has waited for each [`Cause`], in ticks, before its first start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits([Ticks; Cause::ALL.len()]);

impl Waits {
    /// Adds a time in which the job waited for this cause.
    pub(super) const fn add(&mut self, cause: Cause, span: Ticks) {
        self.0[cause as usize] += span;
    }

    /// The causes for which it has waited, and how long, in ticks.
    pub fn iter(&self) -> impl Iterator<Item = (Cause, Ticks)> + '_ {
        let all = Cause::ALL.into_iter().zip(self.0);
        all.filter(|&(_, span)| span > 0)
    }
}

/// A job of a run, when it leaves, or as it is at the end of the run.
#[derive(Clone, Copy, Debug)]
pub struct JobRecord<'r> {
    /// Its number in order of arrival, from 0.
    pub number: u32,
    /// The job, with the time at which it arrived.
    pub job: &'r Job,
    /// Whether it left while the measured jobs did, and is one of them.
    pub is_measured: bool,
    /// When it first got processors, in ticks; `None` if it never did.
    pub start: Option<Ticks>,
    /// When it last started, in ticks; `None` if it never did, or was interrupted since.
    pub last_start: Option<Ticks>,
    /// When it left, in ticks; `None` if it was still there when the run ended.
    pub end: Option<Ticks>,
    /// Failed attempts to place it although at least as many processors were free as it asks for.
    pub misses: u32,
    /// How often it started again after a failure.
    pub restarts: u32,
    /// The work that it lost by failures, in ticks.
    pub lost: Ticks,
    /// How often another job took its processors.
    pub preemptions: u32,
    /// The work that it lost by such preemptions, in ticks.
    pub preempted: Ticks,
    /// Whether it ends at its estimate, before its work is done.
    pub is_killed: bool,
    /// What it waited for, if that is measured.
    pub waits: &'r Waits,
    /// The processors it held, those beyond its request included.
    pub held: u32,
    /// The blocks it held, in the order of the grant; if it started again, those of the last time.
    pub blocks: &'r [Block],
    /// Why it was refused for good, if it was.
    pub refused: Option<Refusal>,
}

/// A job that a failure or another job interrupts.
#[derive(Clone, Copy, Debug)]
pub struct Interruption<'r> {
    /// Its number in order of arrival, from 0.
    pub number: u32,
    /// The job that takes its processors; `None`: a failure interrupts it.
    pub by: Option<u32>,
    /// When it had started, in ticks.
    pub start: Ticks,
    /// When it is interrupted, in ticks.
    pub end: Ticks,
    /// The processors that it held until then, those beyond its request included.
    pub held: u32,
    /// The blocks that it held until then.
    pub blocks: &'r [Block],
}

/// A place that goes down or works again. The place may already be down, or stay down, because of
/// another unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceEvent {
    /// When, in ticks.
    pub at: Ticks,
    /// The place.
    pub block: Block,
    /// Whether it goes down.
    pub is_down: bool,
    /// The processors that are down from then on, without those that are kept as spares.
    pub down: u32,
    /// Those of them that are held by jobs which wait for a repair.
    pub down_and_held: u32,
}

/// What happens in a run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Seen<'r> {
    /// This number of measured jobs has left since the last such event. It comes from time to time.
    Advance(u64),
    /// A job has left, or is still there when the run ends. It comes once for each job, in the
    /// order of leaving.
    Job(&'r JobRecord<'r>),
    /// A failure or another job interrupts a running job.
    Interrupted(&'r Interruption<'r>),
    /// A place goes down or works again, and the jobs on it have been interrupted.
    Place(&'r PlaceEvent),
    /// From this time on this number of processors is free while the first job of the queue asks
    /// for no more of them.
    Fragmented(Ticks, u32),
    /// From this time on the largest slice that could be placed has this number of processors, if
    /// that is measured.
    Largest(Ticks, u32),
    /// The network over which jobs have sent messages, at the end of the run.
    Network(&'r Network),
    /// The run has ended at this time; the last of all.
    End(Ticks),
}

/// Receives what happens in a run, between events: it must be quick.
pub trait Observer {
    /// Something has happened.
    fn see(&mut self, seen: &Seen<'_>);
}

/// Ignores everything.
impl Observer for () {
    fn see(&mut self, _: &Seen<'_>) {}
}

impl<F: FnMut(&Seen<'_>)> Observer for F {
    fn see(&mut self, seen: &Seen<'_>) {
        self(seen);
    }
}
