//! Measures what the jobs of a run wait for.

use std::collections::VecDeque;

use meshalloc::{JobId, Ticks};

use super::SimulationError;
use super::record::Stage;
use super::state::State;
use crate::backend::{Backend, BackendError, Served};
use crate::situation::{Cause, Reason, Situation};

/// What each job in the controller waits for since the controller's latest change.
#[derive(Debug)]
pub(super) struct Reasons {
    served: Served,
    waiting: Vec<(JobId, Cause)>,
}

impl Reasons {
    pub(super) const fn new(served: Served) -> Self {
        Reasons {
            served,
            waiting: Vec::new(),
        }
    }

    /// Asks the controller after a change.
    pub(super) fn read(&mut self, backend: &mut dyn Backend) -> Result<(), SimulationError> {
        let Served {
            configuration,
            description,
        } = &self.served;
        let ask = &mut |query: &_| backend.query(query);
        let situation = Situation::read(ask, *configuration, description.as_ref())?;
        let reasons = situation
            .reasons()
            .map_err(|reason| BackendError::Configure {
                configuration: *configuration,
                reason,
            })?;
        let jobs = situation.waiting.iter().map(|waiting| waiting.job);
        let causes = reasons.into_iter().map(Reason::cause);
        self.waiting.clear();
        self.waiting.extend(jobs.zip(causes));
        Ok(())
    }

    /// Adds the time until the next event to what the jobs have waited. `kept` are the jobs for
    /// which the controller has no room yet.
    pub(super) fn add_until(&self, next: Ticks, state: &mut State<'_>, kept: &VecDeque<u32>) {
        let kept = kept.iter().map(|&number| (number, Cause::TableFull));
        let waiting = self.waiting.iter().map(|&(job, cause)| (job.0, cause));
        let span = next - state.now;
        for (number, cause) in waiting.chain(kept) {
            let record = state.present.here(number);
            debug_assert!(matches!(record.stage, Stage::Waits | Stage::Kept));
            if record.order == 0 {
                record.waits.add(cause, span);
            }
        }
    }
}
