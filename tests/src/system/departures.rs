//! Jobs that leave, get other processors, or lose theirs to others and to faults.

use std::num::NonZeroU64;

use meshalloc::{Block, Error, FaultReport, JobId, Outcome, Refusal, Request, Ticks, Tolerance};

use super::{Expected, ExpectedGrant, Job, System};
use crate::convert;
use crate::foresight::Outlook;
use crate::rig::Ended;
use crate::strategy::Held;
use crate::tolerance;

impl System {
    /// Interrupts running jobs: they wait again, in the order of the queue and of names.
    pub fn requeue(&mut self, jobs: &[JobId], now: Ticks) -> Expected {
        self.clock = self.clock.max(now);
        let mut grants = Vec::new();
        self.interrupt(jobs);
        self.departure(&mut grants);
        let mut ended = Vec::new();
        self.end_leases(&mut ended, &mut grants);
        Expected {
            grid: self.grid().clone(),
            grants,
            ended,
            outcome: Ok(Outcome::Done),
            state: None,
        }
    }

    fn interrupt(&mut self, jobs: &[JobId]) {
        let (interrupted, running) = std::mem::take(&mut self.running)
            .into_iter()
            .partition(|job| jobs.contains(&job.id));
        self.running = running;
        for mut job in interrupted as Vec<Job> {
            let held = job.held.take().expect("it runs");
            self.strategy
                .give_back(&held, |node| self.faulty[node as usize]);
            job.has_run = true;
            let is_later = |other: &Job| (other.since(), other.id) > (job.since(), job.id);
            let place = self.waiting.iter().position(is_later);
            self.waiting
                .insert(place.unwrap_or(self.waiting.len()), job);
        }
    }

    pub(super) fn release(
        &mut self,
        id: JobId,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Result<Outcome, Error> {
        let at = |jobs: &[Job]| jobs.iter().position(|job| job.id == id);
        let job = match (at(&self.running), at(&self.waiting)) {
            (Some(at), _) => self.running.remove(at),
            (None, Some(at)) => self.waiting.remove(at),
            (None, None) => return Err(Error::UnknownJob),
        };
        if let Some(held) = &job.held {
            let is_faulty = |node: u32| self.faulty[node as usize];
            self.strategy.give_back(held, is_faulty);
        }
        self.counts.released += 1;
        self.departure(grants);
        Ok(Outcome::Released {
            processors: job.processors(self.grid()),
        })
    }

    /// A job with faulty nodes is placed anew as if it held nothing, and nothing was known of the
    /// others.
    pub(super) fn replace(
        &mut self,
        id: JobId,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Result<Outcome, Error> {
        let is_it = |job: &Job| job.id == id;
        let Some(at) = self.running.iter().position(is_it) else {
            return Err(if self.waiting.iter().any(is_it) {
                Error::NothingToReplace
            } else {
                Error::UnknownJob
            });
        };
        let job = self.running[at].clone();
        let is_faulty = |&node: &u32| self.faulty[node as usize];
        if !job.nodes(self.grid()).iter().any(is_faulty) {
            return Err(Error::NothingToReplace);
        }
        // What is better than before.
        let broken = job.nodes(self.grid()).into_iter().filter(is_faulty);
        let fewer = (broken.count() as u32 - 1).min(job.request.tolerated()) as u8;
        let fewer = Tolerance::new(fewer).expect("as before");
        let request = job.request.with_tolerance(fewer);
        let new = self.place_without(std::slice::from_ref(&job), &request)?;
        let held = job.held.as_ref().expect("it runs");
        self.strategy
            .give_back(held, |node| self.faulty[node as usize]);
        self.running.remove(at);
        self.grant_out_of_turn(job, new, grants);
        Ok(Outcome::Done)
    }

    /// The job takes what the victims hold, as if nothing was known of the others.
    pub(super) fn preempt(
        &mut self,
        id: JobId,
        victims: &[JobId],
        ended: &mut Vec<Ended>,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Result<Outcome, Error> {
        let is_it = |job: &Job| job.id == id;
        let Some(at) = self.waiting.iter().position(is_it) else {
            return Err(if self.running.iter().any(is_it) {
                Error::NotWaiting
            } else {
                Error::UnknownJob
            });
        };
        let job = self.waiting[at].clone();
        let mut leaving: Vec<Job> = Vec::new();
        for &victim in victims {
            let mut may_be_preempted = self.running.iter().filter(|other| {
                let class = other.request.class;
                class.is_preemptible() && class.priority() < job.request.class.priority()
            });
            match may_be_preempted.find(|other| other.id == victim) {
                Some(other) if leaving.iter().all(|earlier| earlier.id != victim) => {
                    leaving.push(other.clone());
                }
                _ => return Err(Error::NoVictim { job: victim }),
            }
        }
        let new = self.place_without(&leaving, &job.request)?;
        ended.extend(leaving.iter().map(|victim| Ended {
            job: victim.id,
            at: self.clock,
            processors: victim.processors(self.grid()),
            by: Some(id),
        }));
        self.waiting.remove(at);
        self.interrupt(victims);
        self.grant_out_of_turn(job, new, grants);
        Ok(Outcome::Done)
    }

    /// What a request gets if these jobs hold nothing, and nothing is known of the others.
    fn place_without(&self, leaving: &[Job], request: &Request) -> Result<Held, Refusal> {
        let mut then = self.strategy.clone();
        for held in leaving.iter().filter_map(|job| job.held.as_ref()) {
            then.give_back(held, |node| self.faulty[node as usize]);
        }
        then.look(Outlook::default());
        let new = tolerance::place(&then, &self.unheld(leaving), request)?;
        // The old blocks take room until it has the new ones.
        if self.situation().has_room(then.blocks(&new)) {
            Ok(new)
        } else {
            Err(Refusal::TableFull)
        }
    }

    /// A job, which is in no list, gets what is free, and others may try.
    fn grant_out_of_turn(&mut self, mut job: Job, new: Held, grants: &mut Vec<ExpectedGrant>) {
        self.take(&new);
        job.held = Some(new);
        job.granted_at = self.clock;
        job.attempts += 1;
        job.reserved = None;
        grants.push(job.granted());
        self.running.push(job);
        self.counts.attempts += 1;
        self.counts.valid_attempts += 1;
        self.counts.granted += 1;
        self.departure(grants);
    }

    pub(super) fn lease(&mut self, id: JobId, ticks: Option<NonZeroU64>) -> Result<Outcome, Error> {
        let mut jobs = self.running.iter_mut().chain(&mut self.waiting);
        let job = jobs.find(|job| job.id == id).ok_or(Error::UnknownJob)?;
        let ends = ticks.and_then(|ticks| self.clock.checked_add(ticks.get()));
        job.lease = ends.filter(|&ends| ends < Ticks::MAX);
        Ok(Outcome::Done)
    }

    pub(super) fn end_lease(
        &mut self,
        id: JobId,
        ended: &mut Vec<Ended>,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Result<Outcome, Error> {
        let mut jobs = self.running.iter().chain(&self.waiting);
        let job = jobs.find(|job| job.id == id).ok_or(Error::UnknownJob)?;
        match job.lease {
            Some(ends) if ends <= self.clock => {
                ended.push(Ended {
                    job: id,
                    at: self.clock,
                    processors: job.processors(self.grid()),
                    by: None,
                });
                self.counts.lease_ends += 1;
                self.release(id, grants)
            }
            _ => Err(Error::LeaseRuns),
        }
    }

    /// Ends the leases that end by now, one after the other.
    pub(super) fn end_leases(&mut self, ended: &mut Vec<Ended>, grants: &mut Vec<ExpectedGrant>) {
        loop {
            let jobs = self.running.iter().chain(&self.waiting);
            let due = jobs.filter_map(|job| Some((job.lease?, job.id)));
            let Some((_, job)) = due.filter(|&(ends, _)| ends <= self.clock).min() else {
                return;
            };
            let released = self.end_lease(job, ended, grants);
            assert!(released.is_ok(), "it has ended");
        }
    }

    pub(super) fn set_faulty(
        &mut self,
        block: Block,
        faulty: bool,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Result<Outcome, Error> {
        let jobs = self.jobs_on(block)?;
        // The box is one of the grid.
        let place = convert::named(self.grid(), block).expect("looked at just now");
        let mut report = FaultReport {
            changed: 0,
            jobs: jobs.len() as u32,
            first: jobs.first().copied(),
        };
        let mut is_any_free = false;
        for node in self.grid().nodes_of(&place) {
            let grid = self.grid();
            let is_held = self.running.iter().any(|job| job.holds(grid, node));
            let flag = &mut self.faulty[node as usize];
            if *flag == faulty {
                continue;
            }
            *flag = faulty;
            report.changed += 1;
            self.reserved_with = None;
            if !is_held {
                self.strategy.set(node, faulty);
                is_any_free |= !faulty;
            }
        }
        if is_any_free {
            self.departure(grants);
        }
        Ok(Outcome::Faults(report))
    }
}
