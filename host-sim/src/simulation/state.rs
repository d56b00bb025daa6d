//! The world outside the controller: the clock, the jobs that are present, and what will happen next.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use meshalloc::{Block, Grant, Grid, Refusal, Request, Ticks};

use super::tally::{Edge, Fnv1a, Tally};
use super::{Measured, SimulationError, Span};
use crate::workload::{Job, TIME_MAX};

/// A job's departure: time, place in the order of insertion, job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Departure {
    pub(super) at: Ticks,
    sequence: u64,
    pub(super) job: u32,
}

impl Departure {
    pub(super) fn key(&self) -> (Ticks, u64) {
        (self.at, self.sequence)
    }
}

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Arrived; the controller does not know it, or has not yet said what becomes of it.
    Kept,
    /// In the controller's queue.
    Waits,
    Runs,
    /// Departed, or refused for good.
    Gone,
}

/// A job that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) job: Job,
    pub(super) granted: Ticks,
    pub(super) held: u32,
    pub(super) misses: u32,
    stage: Stage,
}

/// More processors than any machine has.
const NOTHING_WAITS: i64 = i64::MAX;

/// The world outside the controller.
pub(super) struct State {
    pub(super) machine: Grid,
    pub(super) measured: Measured,
    pub(super) span: Span,
    pub(super) now: Ticks,
    /// The number of events inserted so far.
    sequence: u64,
    pub(super) departures: BinaryHeap<Reverse<Departure>>,
    /// Jobs that have arrived and not all left, `records[0]` being job number `gone`.
    records: VecDeque<Record>,
    gone: u32,
    pub(super) arrived: u32,
    /// Jobs in the controller's queue, and running ones.
    pub(super) waiting: u32,
    pub(super) running: u32,
    /// Requested processors of running jobs.
    in_use: u64,
    /// Processors that no running job holds; less than 0 if the controller grants some twice.
    free: i64,
    /// The first job in order of arrival that is kept or waits; where there is none, the next to arrive.
    head: u32,
    /// The processors that it asks for, or [`NOTHING_WAITS`].
    head_wants: i64,
    /// Measured jobs that have not left yet.
    pub(super) left: u32,
    pub(super) hash: Fnv1a,
    pub(super) decisions: u64,
    pub(super) tally: Tally,
}

impl State {
    pub(super) fn new(machine: Grid, measured: Measured) -> Self {
        State {
            machine,
            measured,
            span: Span::Arrivals,
            now: 0,
            sequence: 0,
            departures: BinaryHeap::new(),
            records: VecDeque::new(),
            gone: 0,
            arrived: 0,
            waiting: 0,
            running: 0,
            in_use: 0,
            free: machine.nodes().into(),
            head: 0,
            head_wants: NOTHING_WAITS,
            left: measured.end.saturating_sub(measured.first),
            hash: Fnv1a::default(),
            decisions: 0,
            tally: Tally::default(),
        }
    }

    /// A place in the order of insertion, for one more event.
    pub(super) fn sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Jobs that take a place in the controller's table.
    pub(super) fn on_controller(&self) -> u32 {
        self.waiting + self.running
    }

    fn is_measured(&self, number: u32) -> bool {
        (self.measured.first..self.measured.end).contains(&number)
    }

    fn record(&mut self, number: u32) -> Option<&mut Record> {
        let place = number.checked_sub(self.gone)?;
        self.records.get_mut(place as usize)
    }

    /// What a job that has not left asks for.
    pub(super) fn request(&self, number: u32) -> Request {
        self.records[(number - self.gone) as usize].job.request
    }

    /// Moves the clock, and the integrals with it.
    pub(super) fn pass_to(&mut self, now: Ticks) -> Result<(), SimulationError> {
        debug_assert!(self.now <= now, "jobs come in order of arrival");
        if now >= TIME_MAX {
            return Err(SimulationError::TooLong);
        }
        let span = u128::from(now - self.now);
        self.tally.used += u128::from(self.in_use) * span;
        if self.head_wants <= self.free {
            self.tally.scattered += self.free as u128 * span;
        }
        self.now = now;
        Ok(())
    }

    /// Now, with the integrals up to it.
    fn edge(&self) -> Edge {
        Edge {
            at: self.now,
            used: self.tally.used,
            scattered: self.tally.scattered,
        }
    }

    /// Finds the first job that waits behind the head, which does so no more.
    fn pass_head(&mut self) {
        self.head_wants = NOTHING_WAITS;
        for number in self.head + 1..self.arrived {
            let record = &self.records[(number - self.gone) as usize];
            if matches!(record.stage, Stage::Kept | Stage::Waits) {
                self.head = number;
                self.head_wants = record.job.request.processors.into();
                return;
            }
        }
        self.head = self.arrived;
    }

    /// A job arrives; `queue_empty` if none waited before it.
    pub(super) fn arrive(&mut self, job: Job, queue_empty: bool) -> Result<(), SimulationError> {
        self.pass_to(job.arrival)?;
        let number = self.arrived;
        self.arrived = number.checked_add(1).ok_or(SimulationError::TooLong)?;
        if number == self.head {
            self.head_wants = job.request.processors.into();
        }
        self.records.push_back(Record {
            job,
            granted: 0,
            held: 0,
            misses: 0,
            stage: Stage::Kept,
        });
        if self.is_measured(number) {
            if self.span == Span::Arrivals {
                if number == self.measured.first {
                    self.tally.window.0 = self.edge();
                }
                if number + 1 == self.measured.end {
                    self.tally.window.1 = self.edge();
                }
            }
            let half = self.measured.first.midpoint(self.measured.end);
            self.tally.emptied_late |= queue_empty && number >= half;
        }
        Ok(())
    }

    /// The controller took so long for submitting or releasing the job.
    pub(super) fn searched(&mut self, number: u32, seconds: f64) {
        if self.is_measured(number) {
            *self.tally.search_seconds.get_or_insert(0.0) += seconds;
        }
    }

    /// Whether the job has processors.
    pub(super) fn runs(&mut self, number: u32) -> bool {
        let record = self.record(number);
        record.is_some_and(|record| record.stage == Stage::Runs)
    }

    /// The controller has taken the job.
    pub(super) fn taken(&mut self, number: u32) {
        let record = self.record(number).expect("a job being submitted is here");
        if record.stage == Stage::Kept {
            record.stage = Stage::Waits;
            self.waiting += 1;
        }
    }

    /// The controller has refused the job for good.
    pub(super) fn refuse(&mut self, number: u32, reason: Refusal) {
        let record = self.record(number).expect("a job being submitted is here");
        record.stage = Stage::Gone;
        if number == self.head {
            self.pass_head();
        }
        if self.is_measured(number) {
            self.tally.refused.add(reason);
            self.left -= 1;
        }
        self.forget_gone();
    }

    /// Takes a grant, or a further part of one. False if it makes no sense.
    pub(super) fn grant(&mut self, grant: &Grant) -> bool {
        let number = grant.job.0;
        let sense = match self.record(number).map(|record| record.stage) {
            Some(Stage::Kept | Stage::Waits) => grant.first == 0,
            Some(Stage::Runs) => grant.first > 0,
            Some(Stage::Gone) | None => false,
        };
        let inside = |block: &Block| self.machine.contains(*block);
        if !sense || !grant.blocks.iter().all(inside) {
            return false;
        }
        if grant.first == 0 {
            self.start(number, grant.misses);
        }
        let mut held = 0u32;
        for &block in &grant.blocks {
            held = held.saturating_add(self.machine.area(block));
            self.hash_block(block);
        }
        let record = self.record(number).expect("it was found above");
        record.held = record.held.saturating_add(held);
        self.free -= i64::from(held);
        true
    }

    /// A job that is kept or waits gets its processors.
    fn start(&mut self, number: u32, misses: u32) {
        let (now, sequence) = (self.now, self.sequence());
        let record = self.record(number).expect("the caller has found it");
        let waited = record.stage == Stage::Waits;
        record.stage = Stage::Runs;
        record.granted = now;
        record.misses = misses;
        let job = record.job;
        if number == self.head {
            self.pass_head();
        }
        self.departures.push(Reverse(Departure {
            at: now + job.service,
            sequence,
            job: number,
        }));
        self.waiting -= u32::from(waited);
        self.running += 1;
        self.in_use += u64::from(job.request.processors);
        self.decisions += 1;
        self.hash.write(&number.to_le_bytes());
        self.hash.write(&now.to_le_bytes());
    }

    fn hash_block(&mut self, block: Block) {
        for number in self.machine.digest(block) {
            self.hash.write(&number.to_le_bytes());
        }
    }

    /// A running job leaves.
    pub(super) fn depart(&mut self, number: u32) {
        let now = self.now;
        let record = self.record(number).expect("a running job is here");
        record.stage = Stage::Gone;
        let record = *record;
        self.running -= 1;
        self.in_use -= u64::from(record.job.request.processors);
        self.free += i64::from(record.held);
        if self.is_measured(number) {
            self.left -= 1;
            let place = number - self.measured.first;
            self.tally.depart(&record, place, now);
            if self.span == Span::Run {
                self.tally.window.1 = self.edge();
            }
        }
        self.forget_gone();
    }

    fn forget_gone(&mut self) {
        while let Some(record) = self.records.front() {
            if record.stage != Stage::Gone {
                break;
            }
            self.records.pop_front();
            self.gone += 1;
        }
    }
}
