//! Another configuration, and the state after a reset.

use super::Controller;
use crate::error::ConfigureError;
use crate::message::{Configuration, Counts};
use crate::request::Ticks;
use crate::scheduler::ServedScheduler;
use crate::strategy::ServedStrategy;

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    /// The scheduler of a configuration, if the configuration can be served.
    pub(super) fn checked(&self, configuration: &Configuration) -> Result<D, ConfigureError> {
        let Configuration {
            machine,
            strategy,
            scheduler,
        } = configuration;
        if !self.jobs.is_empty() {
            return Err(ConfigureError::JobsPresent);
        }
        let scheduler = self.scheduler.anew(*scheduler)?;
        self.allocator.check(machine, *strategy)?;
        Ok(scheduler)
    }

    /// Serves a configuration that was checked, with its scheduler.
    pub(super) fn configure(&mut self, configuration: Configuration, scheduler: D, now: Ticks) {
        let Configuration {
            machine, strategy, ..
        } = configuration;
        self.allocator.switch(machine, strategy);
        (self.strategy_kind, self.scheduler_kind) = (strategy, configuration.scheduler);
        self.scheduler = scheduler;
        self.forget(now);
    }

    pub(super) fn reset(&mut self, now: Ticks) {
        if let Ok(scheduler) = self.scheduler.anew(self.scheduler_kind) {
            self.scheduler = scheduler;
        }
        self.allocator.clear(*self.machine());
        self.forget(now);
    }

    /// Forgets all jobs and statistics.
    pub(super) fn forget(&mut self, now: Ticks) {
        self.clock = now;
        self.candidate = None;
        self.jobs.clear();
        self.counts = Counts::default();
    }
}
