//! The state of a run: the clock, the jobs in the system, and the coming events.

use meshalloc::{Block, Event, EventKind, Grid, Refusal, Request, Ticks};

use super::execution::{Execution, MessageSums, Start};
use super::failing::Failing;
use super::observer::{Observer, Seen};
use super::present::Present;
use super::queue::Queue;
use super::record::Stage;
use super::tally::{Edge, Fnv1a, Tally};
use super::{Conditions, Measured, SimulationError};
use crate::dispersal::Disperser;
use crate::failures::{Checkpoint, Restart};
use crate::workload::{Job, TIME_MAX, Work};

/// The state of a run, outside the controller.
pub(super) struct State<'o> {
    pub(super) machine: Grid,
    /// The number of processors of the machine.
    pub(super) processors: u32,
    pub(super) measured: Measured,
    pub(super) observer: &'o mut dyn Observer,
    pub(super) now: Ticks,
    /// The latest number of an event or of a place in the queue.
    pub(super) sequence: u64,
    /// Jobs that have arrived and not left.
    pub(super) present: Present,
    pub(super) queue: Queue,
    disperser: Disperser,
    pub(super) arrived: u32,
    /// The number of jobs in the controller's queue.
    pub(super) waiting: u32,
    /// The number of jobs that hold processors, interrupted ones included.
    pub(super) running: u32,
    /// The requested processors of the running jobs, without the jobs that wait for a repair.
    pub(super) in_use: u64,
    /// The number of changes to the processors that jobs hold, or to the processors that work.
    pub(super) moves: u64,
    /// The number of working processors that no job holds; below 0 if a processor was granted
    /// twice.
    pub(super) free: i64,
    /// Measured jobs that have not left yet.
    pub(super) left: u32,
    /// The number of jobs in the queue that arrived no later than the last measured job.
    early: u32,
    /// The number of later jobs that were granted while `early` was over 0.
    pub(super) passed: u32,
    pub(super) hash: Fnv1a,
    pub(super) decisions: u64,
    /// Whether jobs end at their estimates.
    kills: bool,
    pub(super) tally: Tally,
    pub(super) failing: Failing,
    /// Processors of the largest slice that could be placed, where that is measured.
    largest: Option<u32>,
    /// The value of [`State::fragmented`] that the observer received last.
    fragmented: u32,
}

impl<'o> State<'o> {
    pub(super) fn new(
        machine: Grid,
        conditions: Conditions,
        observer: &'o mut dyn Observer,
    ) -> Self {
        let measured = conditions.measured;
        let checkpoint = conditions.preemption.and_then(|it| it.checkpoint);
        let absent = conditions.absent.iter();
        let processors = machine.nodes() - absent.map(|&block| machine.area(block)).sum::<u32>();
        State {
            machine,
            processors,
            measured,
            observer,
            now: 0,
            sequence: 0,
            present: Present::default(),
            queue: Queue::default(),
            disperser: Disperser::new(machine),
            arrived: 0,
            waiting: 0,
            running: 0,
            in_use: 0,
            moves: 0,
            free: processors.into(),
            left: measured.count(),
            early: 0,
            passed: 0,
            hash: Fnv1a::default(),
            decisions: 0,
            kills: conditions.switches.kill_at_estimate,
            tally: Tally::new(&conditions),
            failing: Failing::new(machine, &conditions.absent, conditions.failures, checkpoint),
            largest: None,
            fragmented: 0,
        }
    }

    /// The number of one more event, or of the place behind the queue.
    pub(super) fn sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Jobs that take a place in the controller's table.
    pub(super) fn on_controller(&self) -> u32 {
        self.waiting + self.running
    }

    /// What a job that has not left asks for.
    pub(super) fn request(&mut self, number: u32) -> Request {
        self.present.here(number).job.request
    }

    /// Moves the clock to `now`, and adds the time in between to the integrals.
    pub(super) fn pass_to(&mut self, now: Ticks) -> Result<(), SimulationError> {
        debug_assert!(self.now <= now, "jobs come in order of arrival");
        if now >= TIME_MAX {
            return Err(SimulationError::TooLong);
        }
        let span = u128::from(now - self.now);
        self.tally.so_far.used += u128::from(self.in_use) * span;
        if span > 0 {
            self.report_fragmented();
            self.tally.so_far.scattered += u128::from(self.fragmented) * span;
        }
        self.tally.so_far.down += u128::from(self.failing.down()) * span;
        if let Some(largest) = self.largest {
            self.tally.so_far.largest += u128::from(largest) * span;
            self.tally.so_far.free += self.free.max(0) as u128 * span;
        }
        self.now = now;
        Ok(())
    }

    /// The number of free processors if the first job of the queue asks for no more than these,
    /// else 0.
    pub(super) fn fragmented(&mut self) -> u32 {
        let first = self.queue.first();
        let wants = first.map(|number| self.present.here(number).wants.into());
        if wants.is_some_and(|wants: i64| wants <= self.free) {
            self.free as u32
        } else {
            0
        }
    }

    /// Tells the observer the number of free but fragmented processors, if the number has changed.
    fn report_fragmented(&mut self) {
        let fragmented = self.fragmented();
        if self.fragmented != fragmented {
            self.fragmented = fragmented;
            self.observer.see(&Seen::Fragmented(self.now, fragmented));
        }
    }

    /// From now on the largest slice that could be placed has this number of processors.
    pub(super) fn set_largest(&mut self, processors: u32) {
        if self.largest != Some(processors) {
            self.observer.see(&Seen::Largest(self.now, processors));
        }
        self.largest = Some(processors);
        self.tally.is_largest_known = true;
    }

    /// Now, with the integrals up to it.
    fn edge(&self) -> Edge {
        Edge {
            at: self.now,
            ..self.tally.so_far
        }
    }

    fn is_early(&self, number: u32) -> bool {
        number < self.measured.needed()
    }

    /// A job joins the queue at its place.
    #[inline]
    pub(super) fn join(&mut self, number: u32) {
        self.early += u32::from(self.is_early(number));
        let place = self.present.here(number).place;
        self.queue.join(place, number);
    }

    /// A job leaves the queue.
    #[inline]
    fn leave_queue(&mut self, number: u32) {
        self.early -= u32::from(self.is_early(number));
        let place = self.present.here(number).place;
        self.queue.leave(place);
    }

    /// A job arrives. It needs `wants` free processors, and `waiting` other jobs wait.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        job: Job,
        wants: u32,
        waiting: u32,
    ) -> Result<(), SimulationError> {
        self.pass_to(job.arrival)?;
        let number = self.arrived;
        self.arrived = number.checked_add(1).ok_or(SimulationError::TooManyJobs)?;
        let place = (job.request.class.since(self.now), self.sequence());
        self.present.push(job, wants, place);
        self.join(number);
        if let Measured::Arrivals { first, end } = self.measured {
            if number == first {
                self.tally.window.0 = self.edge();
            }
            if number.checked_add(1) == Some(end) && end > first {
                self.tally.window.1 = self.edge();
                self.tally.waiting_at_end = Some(waiting);
            }
        }
        if self.measured.includes(number) {
            self.tally.arrived_later |= self.now > 0;
            if waiting == 0 {
                self.tally.found_empty = Some(number);
            }
        }
        Ok(())
    }

    /// Adds the time that the controller took to submit or release the job.
    pub(super) fn searched(&mut self, number: u32, seconds: f64) {
        if self.measured.includes(number) {
            *self.tally.search_seconds.get_or_insert(0.0) += seconds;
        }
    }

    pub(super) fn runs(&mut self, number: u32) -> bool {
        let record = self.present.get(number);
        record.is_some_and(|record| record.stage == Stage::Runs)
    }

    /// The controller has taken the job.
    pub(super) fn taken(&mut self, number: u32) {
        let record = self.present.here(number);
        if record.stage == Stage::Kept {
            record.stage = Stage::Waits;
            self.waiting += 1;
        }
    }

    /// Whether a job that leaves now is measured. Jobs that leave in the same event as the last
    /// measured job, but after it, are not.
    fn is_measured(&self, number: u32) -> bool {
        self.left > 0 && self.measured.includes(number)
    }

    /// The controller has refused the job for good.
    pub(super) fn refuse(&mut self, number: u32, reason: Refusal) {
        self.leave_queue(number);
        let is_measured = self.is_measured(number);
        let record = self.present.here(number);
        record.stage = Stage::Gone;
        let seen = record.seen(number, is_measured, Some(self.now), Some(reason));
        self.observer.see(&Seen::Job(&seen));
        if is_measured {
            self.tally.refused.add(reason);
            self.left -= 1;
            if let Measured::Departures(_) = self.measured {
                self.tally.window.1 = self.edge();
            }
        }
        self.present.remove(number);
    }

    /// A job that is kept or waits leaves without having started.
    pub(super) fn withdraw(&mut self, number: u32) {
        self.leave_queue(number);
        let record = self.present.here(number);
        record.stage = Stage::Gone;
        let seen = record.seen(number, false, Some(self.now), None);
        self.observer.see(&Seen::Job(&seen));
        self.present.remove(number);
    }

    /// Takes a grant: the job starts. False if the event makes no sense.
    pub(super) fn grant(
        &mut self,
        event: &Event,
        blocks: &[Block],
        execution: &mut dyn Execution,
    ) -> bool {
        let number = event.job.0;
        let EventKind::Granted {
            misses,
            blocks_total,
            ..
        } = event.what
        else {
            return false;
        };
        let may_move = self.failing.timeline.restart == Restart::Replace;
        let Some(record) = self.present.get(number) else {
            return false;
        };
        let moves = may_move && record.stage == Stage::Runs && record.interrupted.is_some();
        if !moves && !record.waits() {
            return false;
        }
        if blocks.is_empty() || blocks.len() != blocks_total as usize {
            return false;
        }
        let before = std::mem::replace(&mut record.stage, Stage::Runs);
        record.grants += 1;
        self.moves += 1;
        let processors = record.job.request.total();
        if moves {
            // The controller's count goes on over restarts, so it replaces the earlier count.
            record.misses = misses;
            let held = std::mem::take(&mut record.held);
            let old = std::mem::take(&mut record.blocks);
            self.free += i64::from(held) - i64::from(self.failing.faulty_in(&old));
            self.in_use += u64::from(processors);
        } else {
            record.misses += misses;
            self.granted(number, processors, before == Stage::Waits);
        }
        self.decisions += 1;
        self.hash.write(&number.to_le_bytes());
        self.hash.write(&self.now.to_le_bytes());
        let mut held = 0u32;
        for &block in blocks {
            if !self.machine.contains(block) {
                return false;
            }
            held = held.saturating_add(self.machine.area(block));
            self.hash_block(block);
        }
        // The faulty processors that the job tolerates were not free.
        self.free -= i64::from(held) - i64::from(self.failing.faulty_in(blocks));
        let record = self.present.here(number);
        record.held = record.held.saturating_add(held);
        record.blocks.extend_from_slice(blocks);
        self.start(number, execution);
        true
    }

    /// A job that has its processors starts.
    #[inline]
    pub(super) fn start(&mut self, number: u32, execution: &mut dyn Execution) {
        let order = self.sequence();
        let record = self.present.here(number);
        record.start(self.now, order);
        let mut job = record.job;
        if let Work::Service(service) = &mut job.work {
            let length = Checkpoint::length(self.failing.timeline.checkpoint, record.left);
            let limit = job.request.estimate.filter(|_| self.kills);
            *service = limit.map_or(length, |limit| length.min(limit.get()));
            record.is_killed = *service < length;
        }
        execution.start(Start {
            at: self.now,
            order,
            number,
            job: &job,
            blocks: &record.blocks,
        });
    }

    /// A job that is kept or waits gets its processors.
    #[inline]
    fn granted(&mut self, number: u32, processors: u32, waited: bool) {
        self.leave_queue(number);
        if let Measured::Arrivals { end, .. } = self.measured
            && end <= number
        {
            self.passed += u32::from(self.early > 0);
        }
        self.waiting -= u32::from(waited);
        self.running += 1;
        self.in_use += u64::from(processors);
    }

    fn hash_block(&mut self, block: Block) {
        for number in self.machine.digest(block) {
            self.hash.write(&number.to_le_bytes());
        }
    }

    #[inline]
    pub(super) fn depart(&mut self, number: u32, messages: MessageSums) {
        let now = self.now;
        let is_measured = self.is_measured(number);
        let record = self.present.here(number);
        record.stage = Stage::Gone;
        self.running -= 1;
        self.moves += 1;
        self.in_use -= u64::from(record.job.request.total());
        self.free += i64::from(record.held);
        self.free -= i64::from(self.failing.faulty_in(&record.blocks));
        let seen = record.seen(number, is_measured, Some(now), None);
        self.observer.see(&Seen::Job(&seen));
        if is_measured {
            self.left -= 1;
            let place = number - self.measured.first();
            self.tally.depart(record, place, now, messages);
            let dispersal = self.disperser.measure(&record.blocks);
            self.tally.dispersal.add(&dispersal);
            if let Measured::Departures(_) = self.measured {
                self.tally.window.1 = self.edge();
            }
        }
        self.failing.futile = 0;
        self.present.remove(number);
    }

    /// The run ends: the jobs that are still here are not measured.
    pub(super) fn end(&mut self) {
        self.report_fragmented();
        for (number, record) in self.present.iter() {
            let seen = record.seen(number, false, None, None);
            self.observer.see(&Seen::Job(&seen));
        }
        self.observer.see(&Seen::End(self.now));
    }
}
