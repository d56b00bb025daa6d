//! A waiting job takes the processors of running ones of lower priority.

use super::{Controller, OnCommit};
use crate::error::Error;
use crate::job_id::JobId;
use crate::jobs::Ended;
use crate::message::Change;
use crate::pause::Pauses;
use crate::preemption::Victims;
use crate::request::Ticks;
use crate::scheduler::{ServedScheduler, Trigger};
use crate::strategy::ServedStrategy;

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    /// Carries out [`Change::Preempt`]. The strategy sees no other jobs, and the scheduler learns
    /// of the grant only that a pass begins. Reservations are made anew.
    ///
    /// # Errors
    ///
    /// Those of [`Controller::begin`]; then nothing has changed.
    pub(super) fn preempt(
        &mut self,
        (job, victims): (JobId, &Victims),
        change: &Change,
        now: Ticks,
        pauses: Option<&Pauses<'_>>,
        on_commit: Option<OnCommit<'_>>,
    ) -> Result<(), Error> {
        let slot = self.jobs.find(job).ok_or(Error::UnknownJob)?;
        if self.jobs.get(slot).is_running() {
            return Err(Error::NotWaiting);
        }
        let priority = self.jobs.get(slot).request().class.priority();
        for (at, victim) in victims.iter().enumerate() {
            let may_be_preempted = self.running(victim).is_some_and(|running| {
                let class = self.jobs.get(running).request().class;
                class.is_preemptible() && class.priority() < priority
            });
            if !may_be_preempted || victims.iter().take(at).any(|earlier| earlier == victim) {
                return Err(Error::NoVictim { job: victim });
            }
        }
        let (_, mut world) = self.world(pauses);
        let (jobs, allocator, pause) = world.parts();
        let entry = jobs.get(slot);
        let held = victims.iter().filter_map(|victim| jobs.find(victim));
        let held = held.map(|victim| jobs.get(victim).blocks());
        let asked = (entry.request(), entry.demand());
        let blocks = allocator.place_without(asked, held, jobs, pause)?;
        if let Err(error) = self.commit(on_commit, change, now) {
            self.allocator.pool.free(blocks);
            return Err(error);
        }
        self.clock = self.clock.max(now);
        for victim in victims.iter() {
            if let Some(running) = self.running(victim) {
                let ended = Ended {
                    job: victim,
                    at: self.clock,
                    processors: self.jobs.get(running).processors(),
                    by: [Some(job)],
                };
                self.interrupt(running, pauses);
                self.events += 1;
                self.jobs.remember_end(self.events, ended);
            }
        }
        let (_, mut world) = self.world(pauses);
        let (_, allocator, pause) = world.parts();
        let processors = allocator.take_counted(blocks, pause.as_ref());
        self.count_grant(slot);
        self.jobs
            .grant(slot, blocks, processors, self.clock, self.events);
        self.schedule(Trigger::Departure);
        Ok(())
    }
}
