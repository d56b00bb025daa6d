//! Running jobs that make room for a job that waits and has a higher priority.

use std::collections::BTreeMap;

use meshalloc::{Change, Class, Error, Event, EventKind, JobId, Outcome, Request, Ticks, Victims};

use super::execution::{EventKey, Execution};
use super::record::{Record, Stage};
use super::state::State;
use super::{Run, SimulationError, unexpected};
use crate::backend::{Backend, BackendError, Served};
use crate::preemption::Preempting;
use crate::situation::{Preemption, Running, Situation, Victim, Waiting};
use crate::workload::Job;

/// The rule of a run, and what follows from it so far.
pub(super) struct Preemptions {
    rule: Preempting,
    served: Served,
    /// The jobs for which others are to make room, and the time at which those others go.
    notices: BTreeMap<u32, Ticks>,
    /// Requests that are not granted whichever jobs make room, as long as [`State::moves`] stays
    /// the same.
    hopeless: Vec<Request>,
    /// The value of [`State::moves`] for which `hopeless` holds.
    moves: u64,
}

impl Preemptions {
    pub(super) const fn new(rule: Preempting, served: Served) -> Self {
        Preemptions {
            rule,
            served,
            notices: BTreeMap::new(),
            hopeless: Vec::new(),
            moves: 0,
        }
    }
}

/// Checks that the controller, which has no jobs yet, knows the change that preempts jobs.
pub(super) fn check(backend: &mut dyn Backend) -> Result<(), SimulationError> {
    let change = Change::Preempt {
        job: JobId(u32::MAX),
        victims: Victims::default(),
    };
    match backend.call(&change, 0, &mut |_, _| {})? {
        Err(Error::UnknownJob) => Ok(()),
        other => Err(unexpected(&change, format!("{other:?}"))),
    }
}

impl State<'_> {
    /// The running jobs, by number.
    fn running_jobs(&self) -> impl Iterator<Item = (u32, &Record)> {
        let jobs = self.present.iter();
        let running = jobs.filter(|(_, record)| record.stage == Stage::Runs);
        // Far more jobs may wait, most of them after the running jobs, so the search ends early.
        running.take(self.running as usize)
    }

    /// The jobs that run, and the faulty processors. A job can lose the work since its latest
    /// start.
    fn situation<'d>(&self, served: &'d Served) -> Situation<'d> {
        let running = self.running_jobs().map(|(number, record)| Running {
            job: JobId(number),
            request: record.job.request,
            blocks: record.blocks.clone(),
            granted_at: match record.interrupted {
                None => record.started,
                Some(_) => self.now,
            },
        });
        Situation {
            running: running.collect(),
            faulty: self.failing.faulty(),
            ..Situation::idle(served.configuration, served.description.as_ref())
        }
    }
}

impl<B: Backend, E: Execution> Run<'_, B, E> {
    /// The time at which the next jobs make room: after departures and arrivals of that time, and
    /// before failures.
    #[inline]
    pub(super) fn next_notice(&self) -> Option<EventKey> {
        let at = *self.preempting.as_ref()?.notices.values().min()?;
        let order = u64::MAX - 2;
        Some(EventKey { at, order })
    }

    /// Called after an event. As long as other jobs can make room for a waiting job, the first such
    /// job in the queue takes their processors.
    #[inline]
    pub(super) fn make_way(&mut self) -> Result<(), SimulationError> {
        match self.preempting.take() {
            None => Ok(()),
            Some(preempting) => self.make_way_by(preempting),
        }
    }

    /// Does the work of [`Run::make_way`] in a run with preemption, which most runs do not have.
    #[cold]
    fn make_way_by(&mut self, mut preempting: Box<Preemptions>) -> Result<(), SimulationError> {
        while self.make_way_once(&mut preempting)? {}
        self.preempting = Some(preempting);
        Ok(())
    }

    /// Makes room for one job. Returns whether there was such a job.
    fn make_way_once(&mut self, preempting: &mut Preemptions) -> Result<bool, SimulationError> {
        let Preemptions {
            rule,
            served,
            notices,
            hopeless,
            moves,
        } = preempting;
        let state = &mut self.state;
        if std::mem::replace(moves, state.moves) != state.moves {
            hopeless.clear();
        }
        notices.retain(|&number, _| {
            let record = state.present.get(number);
            record.is_some_and(|record| record.stage == Stage::Waits)
        });
        let classes = state.running_jobs().map(|(_, it)| it.job.request.class);
        let may_go = classes.filter(|class| class.is_preemptible());
        let least = may_go.map(Class::priority).min();
        let mut urgent = Vec::new();
        for number in state.queue.iter() {
            let record = state.present.here(number);
            let Job {
                request, arrival, ..
            } = record.job;
            let may_preempt = least.is_some_and(|least| least < request.class.priority());
            if record.stage == Stage::Waits && (may_preempt || notices.contains_key(&number)) {
                let job = JobId(number);
                urgent.push(Waiting {
                    job,
                    request,
                    submitted: arrival,
                });
            }
        }
        // Jobs that differ only in their estimates need the same room, so estimates are left out of
        // the comparison.
        let asked = |waiting: &Waiting| Request {
            estimate: None,
            ..waiting.request
        };
        if urgent.iter().all(|it| hopeless.contains(&asked(it))) {
            notices.clear();
            return Ok(false);
        }
        let (now, situation) = (state.now, state.situation(served));
        for waiting in urgent {
            let number = waiting.job.0;
            if hopeless.contains(&asked(&waiting)) {
                notices.remove(&number);
                continue;
            }
            let found = situation.victims(&waiting, now);
            let found = found.map_err(|reason| BackendError::Configure {
                configuration: served.configuration,
                reason,
            })?;
            if let Preemption::Of { victims, .. } = found {
                let at = match victims[..] {
                    [] => now,
                    [..] => *notices
                        .entry(number)
                        .or_insert(now.saturating_add(rule.grace)),
                };
                if at > now {
                    continue;
                }
                if self.preempt(number, &victims)? {
                    return Ok(true);
                }
            }
            hopeless.push(asked(&waiting));
            notices.remove(&number);
        }
        Ok(false)
    }

    /// Gives a job the processors of the victims, unless the controller then has no place for the
    /// job. Returns whether the job was granted.
    fn preempt(&mut self, number: u32, victims: &[Victim]) -> Result<bool, SimulationError> {
        let jobs: Vec<_> = victims.iter().map(|victim| victim.job).collect();
        let change = Change::Preempt {
            job: JobId(number),
            victims: Victims::new(&jobs).unwrap_or_default(),
        };
        self.has_changed = true;
        let mut grants: Vec<(Event, Vec<_>)> = Vec::new();
        let outcome = self
            .backend
            .call(&change, self.state.now, &mut |event, blocks| {
                if !matches!(event.what, EventKind::Preempted { .. }) {
                    grants.push((*event, blocks.to_vec()));
                }
            })?;
        self.note_search(number);
        match outcome {
            Ok(Outcome::Done) => {}
            Err(error) if error.refusal().is_some() => return Ok(false),
            other => return Err(unexpected(&change, format!("{other:?}"))),
        }
        for job in jobs {
            self.state.interrupt(job.0, Some(number))?;
            self.state.give_back(job.0, false);
        }
        for (event, blocks) in grants {
            if !self.state.grant(&event, &blocks, &mut self.execution) {
                return Err(unexpected(&change, format!("{event:?} on {blocks:?}")));
            }
        }
        if self.state.runs(number) {
            Ok(true)
        } else {
            Err(unexpected(&change, "no grant".to_owned()))
        }
    }
}
