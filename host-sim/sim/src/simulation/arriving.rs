//! Jobs arrive: each is kept until the controller has room for it, then submitted.

use meshalloc::{Change, JobId, Outcome, Refusal, Ticks};

use super::{EventKey, Execution, Run, SimulationError, unexpected};
use crate::backend::Backend;
use crate::workload::Job;

impl<B: Backend, E: Execution> Run<'_, B, E> {
    /// The key of the next arrival, unless it is put off.
    pub(super) fn next_arrival(&self) -> Option<EventKey> {
        let &(order, Job { arrival: at, .. }) = self.next.as_ref()?;
        let (now, arrived) = (self.state.now, self.state.arrived);
        let key = match self.backlog {
            // Before any other event of this time.
            Some(backlog) if self.waiting() < backlog.get() => EventKey { at: now, order: 0 },
            None if arrived < self.state.measured.needed() => EventKey { at, order },
            None if self.crowd() < self.put_off_from => EventKey {
                at: at.max(now),
                order,
            },
            _ => return None,
        };
        Some(key)
    }

    /// The number of jobs that [`Run::put_off_from`] limits.
    fn crowd(&self) -> u32 {
        if self.is_in_order {
            self.kept.len() as u32
        } else {
            self.waiting()
        }
    }

    /// Jobs that wait, whether the controller has room for them or not.
    pub fn waiting(&self) -> u32 {
        self.state.waiting + self.kept.len() as u32
    }

    pub(super) fn arrive(&mut self, at: Ticks) -> Result<(), SimulationError> {
        let Some((_, mut job)) = self.next.take() else {
            return Ok(());
        };
        self.take_next();
        job.arrival = at;
        self.take_in(job)
    }

    /// The next job to arrive is the next of the workload.
    pub(super) fn take_next(&mut self) {
        self.next = self.jobs.next().map(|job| (self.state.sequence(), job));
    }

    /// A job arrives now.
    pub(super) fn take_in(&mut self, job: Job) -> Result<(), SimulationError> {
        let waiting = self.waiting();
        self.kept.push_back(self.state.arrived);
        let wants = self.backend.requested(&job.request);
        self.state.arrive(job, wants, waiting)?;
        self.submit_kept()
    }

    /// Submits jobs that are kept, in their order, while there are any and the controller has room.
    pub(super) fn submit_kept(&mut self) -> Result<(), SimulationError> {
        while let Some(&number) = self.kept.front()
            && !self.is_full
        {
            if self.state.on_controller() >= self.room && !self.make_room() {
                break;
            }
            match self.submit(number)? {
                Ok(()) => {
                    self.state.taken(number);
                    self.kept.pop_front();
                }
                Err(Refusal::TableFull) => {
                    // The number of jobs that fit depends on their requests, so this job is tried
                    // again later.
                    self.is_full = true;
                    if self.state.on_controller() == 0 {
                        return Err(SimulationError::NoRoom);
                    }
                }
                Err(reason) => {
                    self.state.refuse(number, reason);
                    self.kept.pop_front();
                }
            }
        }
        if self.room == 0 {
            return Err(SimulationError::NoRoom);
        }
        let is_hidden = if self.is_in_order {
            !self.kept.is_empty() && self.state.waiting == 0
        } else {
            !self.kept.is_empty()
        };
        self.table_limited += u64::from(is_hidden);
        Ok(())
    }

    /// Lets the controller get more room, if its decisions would change because jobs are kept here.
    fn make_room(&mut self) -> bool {
        let has_more = !self.is_in_order && self.backend.make_room();
        if has_more {
            self.room = self.backend.capacity().jobs;
        }
        has_more
    }

    /// Whether the next arrival is overdue, so that the scheduler does not see a job that it might
    /// have chosen.
    pub(super) fn puts_off(&self) -> bool {
        let is_due = |(_, job): &(u64, Job)| job.arrival <= self.state.now;
        !self.is_in_order
            && self.backlog.is_none()
            && self.next.as_ref().is_some_and(is_due)
            && self.next_arrival().is_none()
    }

    /// Submits a job. The inner error is the reason for which the controller refuses it.
    pub(super) fn submit(&mut self, number: u32) -> Result<Result<(), Refusal>, SimulationError> {
        let request = self.state.request(number);
        if request.processors > self.state.machine.nodes() {
            // There may be no shape with this number of processors, so the controller cannot be
            // asked.
            return Ok(Err(Refusal::NeverFits));
        }
        let change = Change::submit(JobId(number), request);
        let outcome = self.call(&change)?;
        self.note_search(number);
        match outcome {
            Ok(Outcome::Done) => Ok(Ok(())),
            Err(error) => match error.refusal() {
                Some(reason) if self.state.runs(number) => {
                    Err(unexpected(&change, format!("a grant, then {reason:?}")))
                }
                Some(reason) => Ok(Err(reason)),
                None => Err(unexpected(&change, format!("{error:?}"))),
            },
            Ok(other) => Err(unexpected(&change, format!("{other:?}"))),
        }
    }
}
