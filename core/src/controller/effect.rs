//! What a command would change: [`Effect`]. A caller that writes commands down asks before it
//! carries one out, and writes down only what a later decision or answer depends on.

use super::Controller;
use crate::grid::Block;
use crate::message::Command;
use crate::request::{Flags, JobId, Request, Ticks};
use crate::scheduler::AnyScheduler;
use crate::strategy::Strategy;

/// What a command changes of that which is saved ([`Controller::save`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing but statistics: it is refused, or it is a query.
    Nothing,
    /// Nothing but the clock: everything else is already as the command says.
    Time,
    /// More, unless it is refused. Its only attempt to place the job decides that: the job never
    /// waits.
    IfGranted,
    /// More.
    State,
}

impl Controller<'_> {
    /// What the command changes if it is carried out next, at the time `now`. No scheduling pass is
    /// under way.
    ///
    /// With a strategy that looks at the latest requests, a submission counts as a change although
    /// it is refused, if the strategy remembers its request.
    ///
    /// # Time complexity
    ///
    /// O(words) of the block for faults, else O(1).
    #[cfg_attr(
        not(feature = "leases"),
        expect(unused_variables, reason = "leases have times")
    )]
    pub fn effect(&self, command: &Command, now: Ticks) -> Effect {
        // Whether a command about this job is accepted decides.
        let of_job = |job| match self.jobs.find(job) {
            Some(_) => Effect::State,
            None => Effect::Nothing,
        };
        match *command {
            Command::Configure(configuration) => {
                let can_be_served = self.jobs.is_empty()
                    && AnyScheduler::new(configuration.scheduler).is_ok()
                    && self
                        .allocator
                        .check(&configuration.machine, configuration.strategy)
                        .is_ok();
                match can_be_served {
                    true => Effect::State,
                    false => Effect::Nothing,
                }
            }
            Command::Submit { job, request } => self.effect_of_job(job, &request),
            #[cfg(feature = "leases")]
            Command::SubmitLeased { job, request, .. } => self.effect_of_job(job, &request),
            Command::Release { job } => of_job(job),
            #[cfg(feature = "leases")]
            Command::Lease { job, ticks: 0 } => match self.jobs.find(job) {
                Some(slot) if self.jobs.lease(slot).is_none() => Effect::Time,
                _ => of_job(job),
            },
            #[cfg(feature = "leases")]
            Command::Lease { job, .. } => of_job(job),
            #[cfg(feature = "leases")]
            Command::EndLease { job } => {
                let lease = self.jobs.find(job).and_then(|slot| self.jobs.lease(slot));
                match lease {
                    Some(ends) if ends <= self.clock.max(now) => Effect::State,
                    _ => Effect::Nothing,
                }
            }
            Command::MarkFaulty { block } => self.effect_on_faults(block, true),
            Command::ClearFaulty { block } => self.effect_on_faults(block, false),
            Command::Reset => Effect::State,
            Command::QueryJob { .. }
            | Command::Blocks { .. }
            | Command::ListJobs { .. }
            | Command::Occupancy { .. }
            | Command::Statistics => Effect::Nothing,
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
