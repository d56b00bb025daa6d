//! A run that a program steps, and changes between events: jobs arrive or leave and processors
//! break down when someone says so.

use meshalloc::{Block, Request, Ticks};

use super::execution::{Completion, EventKey, Execution, FixedService};
use super::record::Stage;
use super::{Measured, Run, RunResult, SimulationError};
use crate::backend::Backend;
use crate::workload::{Job, Jobs, Work};

impl<'b, B: Backend, E: Execution> Run<'b, B, E> {
    /// The controller.
    pub const fn backend(&self) -> &B {
        &self.backend
    }

    /// Virtual time, in ticks.
    pub const fn now(&self) -> Ticks {
        self.state.now
    }

    /// Jobs that have arrived.
    pub const fn arrived(&self) -> u32 {
        self.state.arrived
    }

    /// Measured jobs that have left.
    pub const fn left(&self) -> u32 {
        self.state.measured.count() - self.state.left
    }

    /// Requested processors of the jobs that run.
    pub const fn used(&self) -> u64 {
        self.state.in_use
    }

    /// Processors that are free while the first job that waits asks for no more of them, or 0.
    pub fn fragmented(&mut self) -> u32 {
        self.state.fragmented()
    }

    /// Carries out all events up to this time, and lets time pass up to it.
    ///
    /// # Errors
    ///
    /// As for [`run`](super::run).
    pub fn advance(&mut self, until: Ticks) -> Result<(), SimulationError> {
        while self.step(until)? {}
        self.measure_until(until)?;
        self.state.pass_to(until)
    }

    /// From now on these jobs arrive, in place of the jobs that have not arrived yet.
    pub fn replace_jobs(&mut self, jobs: Jobs<'b>) {
        self.jobs = jobs;
        self.take_next();
    }

    /// A job arrives now, with this service time. Returns its number.
    ///
    /// # Errors
    ///
    /// As for [`run`](super::run).
    pub fn submit_now(&mut self, request: Request, service: Ticks) -> Result<u32, SimulationError> {
        let number = self.state.arrived;
        self.take_in(Job {
            arrival: self.state.now,
            request,
            work: Work::Service(service),
        })?;
        Ok(number)
    }

    /// A job leaves now, before it has started or before its end. False if it is not there.
    ///
    /// # Errors
    ///
    /// As for [`run`](super::run).
    pub fn withdraw(&mut self, number: u32) -> Result<bool, SimulationError> {
        let record = self.state.present.get(number);
        let Some(stage) = record.map(|record| record.stage) else {
            return Ok(false);
        };
        match stage {
            Stage::Gone => return Ok(false),
            Stage::Runs => {
                let key = EventKey {
                    at: self.state.now,
                    order: 0,
                };
                self.depart(Completion::silent(key, number))?;
            }
            Stage::Kept => {
                self.kept.retain(|&kept| kept != number);
                self.state.withdraw(number);
            }
            Stage::Waits => {
                self.state.waiting -= 1;
                self.state.withdraw(number);
                self.release(number)?;
                self.submit_kept()?;
            }
        }
        Ok(true)
    }

    /// Processors break down now, or work again. Jobs that hold some of these processors keep
    /// running; their numbers are returned. A processor that breaks down twice must be repaired
    /// twice.
    ///
    /// # Errors
    ///
    /// As for [`run`](super::run).
    pub fn set_down(&mut self, block: Block, is_down: bool) -> Result<Vec<u32>, SimulationError> {
        if is_down {
            return self.break_down(block);
        }
        let on = self.state.on(block);
        self.repair(block)?;
        Ok(on)
    }

    /// The result over the jobs that have left. It is that of a run that measures this number of
    /// departures ([`Measured::Departures`]).
    pub fn so_far(&mut self) -> RunResult {
        self.result(Measured::Departures(self.left()), 0)
    }
}

impl<B: Backend> Run<'_, B, FixedService> {
    /// When the next job arrives or leaves; `None` if none is to.
    pub fn next_at(&mut self) -> Option<Ticks> {
        while let Some(first) = self.execution.first()
            && !self.state.completes(&first)
        {
            // It has left before its end.
            let _ = self.execution.complete_before(EventKey {
                order: first.key.order + 1,
                ..first.key
            });
        }
        let end = self.execution.first().map(|first| first.key.at);
        let arrival = self.next_arrival().map(|arrival| arrival.at);
        [end, arrival].into_iter().flatten().min()
    }
}
