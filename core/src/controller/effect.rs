//! What a change would have as its effect: [`Effect`]. A caller that keeps a record of changes asks
//! before it carries one out, and records only those that a later decision or answer depends on.

use super::Controller;
use crate::grid::Block;
use crate::message::{Change, Configuration};
use crate::request::{Flags, JobId, Request, Ticks};
use crate::scheduler::AnyScheduler;
use crate::strategy::Strategy;

/// What a change does to the state that is saved ([`Controller::save`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing but statistics: it is refused.
    Nothing,
    /// It sets the clock; everything else is already as the change says.
    Time,
    /// It changes the state if the job is granted, else it is refused: the job never waits.
    IfGranted,
    /// It changes the state.
    State,
}

impl Controller<'_> {
    /// The effect of the change if it is carried out next, at the time `now`. No scheduling pass is
    /// under way.
    ///
    /// With a strategy that looks at the latest requests, a submission counts as a change although
    /// it is refused, if the strategy remembers its request.
    ///
    /// # Time complexity
    ///
    /// O(words + faults) for faults, else O(1).
    pub fn effect(&self, change: &Change, now: Ticks) -> Effect {
        if !cfg!(feature = "leases") && change.is_about_leases() {
            return Effect::Nothing;
        }
        let state_if = |is_accepted: bool| match is_accepted {
            true => Effect::State,
            false => Effect::Nothing,
        };
        let is_known = |job| self.jobs.find(job).is_some();
        match *change {
            Change::Configure(configuration) => {
                let Configuration {
                    machine,
                    strategy,
                    scheduler,
                } = configuration;
                let is_built = AnyScheduler::new(scheduler).is_ok();
                let is_served = is_built && self.allocator.check(&machine, strategy).is_ok();
                state_if(is_served && self.jobs.is_empty())
            }
            Change::Submit { job, request, .. } => self.effect_of_job(job, &request),
            Change::Lease { job, ticks: None } if is_known(job) && self.lease(job).is_none() => {
                Effect::Time
            }
            Change::Release { job } | Change::Lease { job, .. } => state_if(is_known(job)),
            Change::EndLease { job } => {
                let ends = self.lease(job);
                state_if(ends.is_some_and(|ends| ends <= self.clock.max(now)))
            }
            Change::MarkFaulty { block } => self.effect_on_faults(block, true),
            Change::ClearFaulty { block } => self.effect_on_faults(block, false),
            Change::Reset => Effect::State,
        }
    }

    fn effect_of_job(&self, job: JobId, request: &Request) -> Effect {
        let is_full = self.jobs.waiting_len() + self.jobs.running_len() == self.jobs.capacity();
        if self.allocator.demand(request).is_err() || self.jobs.find(job).is_some() {
            Effect::Nothing
        } else if self.strategy().looks_ahead() {
            Effect::State
        } else if is_full {
            Effect::Nothing
        } else if request.flags.contains(Flags::NO_WAIT) {
            Effect::IfGranted
        } else {
            Effect::State
        }
    }

    fn effect_on_faults(&self, block: Block, faulty: bool) -> Effect {
        let machine = self.machine();
        if !machine.contains(block) {
            return Effect::Nothing;
        }
        let faults = self.occupancy().faulty_in(block);
        let as_said = if faulty { machine.area(block) } else { 0 };
        match faults == as_said {
            true => Effect::Time,
            false => Effect::State,
        }
    }
}
