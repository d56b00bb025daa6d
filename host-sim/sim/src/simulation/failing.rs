//! Which processors of a run are down, and the jobs that failures interrupt.

use std::collections::{BTreeMap, BTreeSet};

use meshalloc::{Block, Grid, NodeId, Ticks};

use super::record::{Attempt, Place};
use super::{RESTARTS_MAX, SimulationError};
use crate::failures::{Checkpoint, Timeline};
use crate::processors::intervals;
use crate::workload::{Job, Work};

mod events;

pub(super) struct Failing {
    machine: Grid,
    timeline: Timeline,
    /// By processor, how many reasons there are not to give it to a job.
    reasons: Vec<u32>,
    /// Processors with a reason.
    faulty: u32,
    /// Those of them that are spares at first.
    kept: u32,
    /// Processors that have failed, where spares take places: then `faulty` counts places.
    failed: i64,
    /// Jobs that have been started and have not left.
    attempts: BTreeMap<u32, Attempt>,
    /// Those of them that hold processors and wait until these work.
    stopped: BTreeSet<u32>,
    /// Those of them that run.
    running: u32,
    /// The jobs that wait or are kept, in the order of the queue.
    queue: BTreeMap<Place, u32>,
    /// How often a job has joined the end of the queue again.
    joined_again: u32,
    /// Events in a row while no job ran and none was to arrive.
    idle: u32,
}

impl Failing {
    pub(super) fn new(machine: Grid, timeline: Timeline) -> Self {
        Failing {
            machine,
            timeline,
            reasons: vec![0; machine.nodes() as usize],
            faulty: 0,
            kept: 0,
            failed: 0,
            attempts: BTreeMap::new(),
            stopped: BTreeSet::new(),
            running: 0,
            queue: BTreeMap::new(),
            joined_again: 0,
            idle: 0,
        }
    }

    /// Processors that have failed.
    pub(super) fn down(&self) -> u32 {
        match self.timeline.has_spares() {
            true => self.failed as u32,
            false => self.faulty,
        }
    }

    /// Processors of these blocks that are down.
    pub(super) fn faulty_in(&self, blocks: &[Block]) -> u32 {
        if self.faulty == 0 {
            return 0;
        }
        let rows = intervals(self.machine, blocks);
        let nodes = rows.into_iter().flat_map(|(first, last)| first..=last);
        nodes
            .filter(|&node| self.reasons[node as usize] > 0)
            .count() as u32
    }

    /// Whether the job was interrupted before.
    pub(super) fn was_interrupted(&self, number: u32) -> bool {
        self.attempts.contains_key(&number)
    }

    /// The place of a job in the queue: the last one once it has joined the end again.
    fn place(&self, number: u32) -> Place {
        let attempt = self.attempts.get(&number);
        let joined = attempt.and_then(|attempt| attempt.place);
        joined.unwrap_or((number, u32::MAX))
    }

    /// The job joins the queue. The first of the queue then.
    pub(super) fn join(&mut self, number: u32) -> u32 {
        self.queue.insert(self.place(number), number);
        self.first().unwrap_or(number)
    }

    /// The job leaves the queue. The first of the queue then.
    pub(super) fn leave_queue(&mut self, number: u32) -> Option<u32> {
        self.queue.remove(&self.place(number));
        self.first()
    }

    /// A job that was interrupted will be last in the queue, behind `arrived` jobs.
    fn moves_to_end(&mut self, number: u32, arrived: u32) {
        self.joined_again += 1;
        if let Some(attempt) = self.attempts.get_mut(&number) {
            attempt.place = Some((arrived, self.joined_again));
        }
    }

    fn first(&self) -> Option<u32> {
        self.queue.first_key_value().map(|(_, &number)| number)
    }

    /// Whether a job with a lower number waits.
    pub(super) fn waits_before(&self, end: u32) -> bool {
        // Without those that have joined the end again the order is that of the numbers.
        self.queue.range(..(end, 0)).next().is_some()
            || self.joined_again > 0 && self.queue.values().any(|&number| number < end)
    }

    /// The job starts. What it does from then on. Panics when it has no service time.
    pub(super) fn start(&mut self, number: u32, job: Job, now: Ticks, order: u64) -> Job {
        let Work::Service(service) = job.work else {
            panic!("jobs that are interrupted have service times");
        };
        let attempt = self.attempts.entry(number).or_insert(Attempt {
            left: service,
            ..Attempt::default()
        });
        if let Some(at) = attempt.interrupted.take() {
            attempt.restarts += 1;
            attempt.until_restart += now - at;
        }
        (attempt.start, attempt.order) = (now, order);
        self.running += 1;
        let length = Checkpoint::length(self.timeline.checkpoint, attempt.left);
        Job {
            work: Work::Service(length),
            ..job
        }
    }

    /// The job is interrupted, if it runs. When it had started, if it did.
    fn interrupt(&mut self, number: u32, now: Ticks) -> Result<Option<Ticks>, SimulationError> {
        let attempt = self.attempts.get_mut(&number);
        let Some(attempt) = attempt.filter(|attempt| attempt.interrupted.is_none()) else {
            return Ok(None);
        };
        if attempt.restarts >= RESTARTS_MAX {
            return Err(SimulationError::NeverEnds { job: number });
        }
        let ran = now - attempt.start;
        let (saved, lost) = Checkpoint::saved(self.timeline.checkpoint, attempt.left, ran);
        attempt.left -= saved;
        attempt.lost += lost;
        attempt.interrupted = Some(now);
        self.running -= 1;
        Ok(Some(attempt.start))
    }

    /// The job leaves. What became of it; nothing if it was never started.
    pub(super) fn leave(&mut self, number: u32) -> Attempt {
        let attempt = self.attempts.remove(&number).unwrap_or_default();
        self.running -= u32::from(attempt.has_started() && attempt.interrupted.is_none());
        attempt
    }

    /// What became of a job that is there so far.
    pub(super) fn attempt(&self, number: u32) -> Attempt {
        self.attempts.get(&number).copied().unwrap_or_default()
    }

    /// One more or one less reason not to give these processors to jobs; those whose state changes.
    fn mark(&mut self, block: Block, is_down: bool) -> Vec<NodeId> {
        let rows = intervals(self.machine, &[block]);
        let nodes = rows.into_iter().flat_map(|(first, last)| first..=last);
        let mut changed = Vec::new();
        for node in nodes {
            let reasons = &mut self.reasons[node as usize];
            let before = *reasons;
            *reasons = match is_down {
                true => before + 1,
                false => before - 1,
            };
            if before.min(*reasons) == 0 {
                changed.push(NodeId(node));
            }
        }
        match is_down {
            true => self.faulty += changed.len() as u32,
            false => self.faulty -= changed.len() as u32,
        }
        changed
    }
}
