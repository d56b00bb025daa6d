//! A naive controller, for any grid, scheduler and strategy: a flag for each node, a `Vec` for the
//! queue and one for the running jobs.

use std::num::NonZeroU64;

use meshalloc::message::JobReport;
use meshalloc::{
    Block, Capacity, Change, Configuration, ConfigureError, Counts, Error, FaultReport, Flags,
    JobId, JobState, Outcome, Refusal, Request, SchedulerKind, Statistics, Ticks, Tolerance,
};

use crate::backfilling::{Situation, Use, end_of};
use crate::convert;
use crate::discipline::Discipline;
use crate::foresight::{Other, Outlook};
use crate::grid::{Grid, NaiveMachine};
use crate::rig::{Answer, Ended, Granted};
use crate::strategy::{Held, Strategy, counts_processors};
use crate::tolerance;

/// A job that waits or runs.
#[derive(Clone, Debug)]
struct Job {
    id: JobId,
    /// Distinguishes the job from a later one of the same name.
    serial: u64,
    request: Request,
    submitted: Ticks,
    granted_at: Ticks,
    attempts: u32,
    misses: u32,
    /// `None` while it waits.
    held: Option<Held>,
    /// Whether it ran and waits again, or did so once.
    has_run: bool,
    /// Its reservation while it waits.
    reserved: Option<Use>,
    /// When its lease ends.
    lease: Option<Ticks>,
}

impl Job {
    /// The job stands in the queue as if it had been submitted at this time.
    fn since(&self) -> i128 {
        i128::from(self.submitted) - i128::from(self.request.class.priority())
    }

    fn nodes(&self, grid: &Grid) -> Vec<u32> {
        let held = self.held.as_ref();
        held.map(|held| held.nodes(grid)).unwrap_or_default()
    }

    fn holds(&self, grid: &Grid, node: u32) -> bool {
        self.nodes(grid).contains(&node)
    }

    fn processors(&self, grid: &Grid) -> u32 {
        self.nodes(grid).len() as u32
    }

    fn granted(&self) -> ExpectedGrant {
        ExpectedGrant {
            job: self.id,
            at: self.granted_at,
            attempts: self.attempts,
            misses: self.misses,
            held: self.held.clone().expect("a granted job holds something"),
        }
    }
}

/// A grant that must be reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedGrant {
    /// The job.
    pub job: JobId,
    /// When it was granted.
    pub at: Ticks,
    /// The number of attempts.
    pub attempts: u32,
    /// The failed attempts for which enough processors were free.
    pub misses: u32,
    /// What it holds.
    pub held: Held,
}

/// What a change must lead to.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The grid of the machine after it.
    grid: Grid,
    /// The grants, in order.
    pub grants: Vec<ExpectedGrant>,
    /// The leases that have ended and the jobs that were preempted, in order.
    pub ended: Vec<Ended>,
    /// The outcome.
    pub outcome: Result<Outcome, Error>,
    /// The state of a job that was submitted.
    pub state: Option<JobState>,
}

impl Expected {
    /// Whether this is the answer.
    pub fn agrees_with(&self, answer: &Answer) -> bool {
        (self.outcome, self.state) == (answer.outcome, answer.state)
            && self.ended == answer.ended
            && self.grants_agree_with(&answer.grants)
    }

    /// The same without the jobs whose leases have ended since: those that can still be read.
    #[must_use]
    pub fn later(mut self) -> Self {
        let gone = self.ended.iter().filter(|ended| ended.by.is_none());
        let is_gone = |job| gone.clone().any(|ended| ended.job == job);
        self.grants.retain(|grant| !is_gone(grant.job));
        self
    }

    /// Whether a job was granted any of these nodes.
    pub fn grants_any_of(&self, nodes: &[u32]) -> bool {
        let held = self.grants.iter().map(|grant| grant.held.nodes(&self.grid));
        held.flatten().any(|node| nodes.contains(&node))
    }

    /// Whether these are the grants.
    pub fn grants_agree_with(&self, granted: &[Granted]) -> bool {
        let mut pairs = self.grants.iter().zip(granted);
        self.grants.len() == granted.len()
            && pairs.all(|(expected, granted)| {
                expected.held.is(&self.grid, &granted.blocks)
                    && (expected.job, expected.at) == (granted.job, granted.at)
                    && (expected.attempts, expected.misses) == (granted.attempts, granted.misses)
            })
    }
}

/// The naive controller.
#[derive(Clone, Debug)]
pub struct System {
    capacity: Capacity,
    configuration: Configuration,
    strategy: Strategy,
    discipline: Discipline,
    /// A flag for each node.
    faulty: Vec<bool>,
    /// In the order of their arrival less their priority.
    waiting: Vec<Job>,
    /// In the order of their grants.
    running: Vec<Job>,
    /// The number of free nodes when the first reservation was made; `None` if a node became faulty
    /// or was repaired since.
    reserved_with: Option<u32>,
    clock: Ticks,
    next_serial: u64,
    counts: Counts,
}

impl System {
    /// A controller of this capacity and configuration.
    pub fn new(capacity: Capacity, configuration: Configuration) -> Self {
        let grid = convert::grid(configuration.machine);
        System {
            capacity,
            configuration,
            strategy: Strategy::new(configuration.strategy, &grid),
            discipline: Discipline::new(configuration.scheduler),
            faulty: vec![false; grid.nodes() as usize],
            waiting: Vec::new(),
            running: Vec::new(),
            reserved_with: None,
            clock: 0,
            next_serial: 0,
            counts: Counts::default(),
        }
    }

    /// The same with another discipline.
    #[must_use]
    pub fn with_discipline(self, discipline: Discipline) -> Self {
        System { discipline, ..self }
    }

    /// The configuration.
    pub const fn configuration(&self) -> Configuration {
        self.configuration
    }

    /// The strategy in use.
    pub const fn strategy(&self) -> &Strategy {
        &self.strategy
    }

    /// Which nodes are held or faulty.
    pub const fn machine(&self) -> &NaiveMachine {
        self.strategy.machine()
    }

    fn grid(&self) -> &Grid {
        self.strategy.grid()
    }

    /// Every job and the number of processors it holds, by name.
    pub fn jobs(&self) -> Vec<(JobId, u32)> {
        let jobs = self.running.iter().chain(&self.waiting);
        let mut jobs: Vec<_> = jobs
            .map(|job| (job.id, job.processors(self.grid())))
            .collect();
        jobs.sort_unstable();
        jobs
    }

    /// For each node whether it is busy and whether it is faulty.
    pub fn occupancy(&self) -> Vec<(bool, bool)> {
        let nodes = (0..).zip(&self.faulty);
        nodes
            .map(|(node, &faulty)| (self.machine().is_busy(node), faulty))
            .collect()
    }

    /// The numbers of the faulty nodes.
    pub fn faulty_nodes(&self) -> Vec<u32> {
        let nodes = (0..).zip(&self.faulty).filter(|&(_, &faulty)| faulty);
        nodes.map(|(node, _)| node).collect()
    }

    /// The expected statistics.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            nodes: self.machine().nodes(),
            free: self.machine().free(),
            faulty: self.faulty_nodes().len() as u32,
            waiting: self.waiting.len() as u32,
            running: self.running.len() as u32,
            counts: self.counts,
        }
    }

    /// Carries out a change.
    ///
    /// # Panics
    ///
    /// When a job is lost.
    pub fn handle(&mut self, change: &Change, now: Ticks) -> Expected {
        let before = self.clock;
        self.clock = before.max(now);
        let (mut grants, mut ended) = (Vec::new(), Vec::new());
        let outcome = match *change {
            Change::Configure(configuration) => self.configure(configuration, now),
            Change::Submit {
                job,
                request,
                lease,
            } => self.submit(job, request, &mut grants).inspect(|_| {
                let done = self.lease(job, lease);
                assert_eq!(done, Ok(Outcome::Done), "it is there");
            }),
            Change::Release { job } => self.release(job, &mut grants),
            Change::MarkFaulty { block } => self.set_faulty(block, true, &mut grants),
            Change::ClearFaulty { block } => self.set_faulty(block, false, &mut grants),
            Change::Reset => {
                self.restart(self.configuration, now);
                Ok(Outcome::Done)
            }
            Change::Lease { job, ticks } => self.lease(job, ticks),
            Change::EndLease { job } => self.end_lease(job, &mut ended, &mut grants),
            Change::Replace { job } => self.replace(job, &mut grants),
            Change::Preempt { job, victims } => {
                let victims: Vec<_> = victims.iter().collect();
                self.preempt(job, &victims, &mut ended, &mut grants)
            }
            ref other => panic!("the model knows no {other:?}"),
        };
        match outcome {
            Ok(_) => self.end_leases(&mut ended, &mut grants),
            Err(_) => self.clock = before,
        }
        let state = match (change, outcome) {
            (Change::Submit { job, .. }, Ok(_)) => self.report(*job).ok(),
            _ => None,
        };
        Expected {
            grid: self.grid().clone(),
            grants,
            ended,
            outcome,
            state: state.map(|report| report.state),
        }
    }

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

    fn restart(&mut self, configuration: Configuration, now: Ticks) {
        *self = System::new(self.capacity, configuration);
        self.clock = now;
    }

    fn configure(&mut self, configuration: Configuration, now: Ticks) -> Result<Outcome, Error> {
        if !self.running.is_empty() || !self.waiting.is_empty() {
            return Err(ConfigureError::JobsPresent.into());
        }
        if !convert::has_room(&self.capacity, &convert::grid(configuration.machine)) {
            return Err(ConfigureError::MachineTooLarge.into());
        }
        self.restart(configuration, now);
        Ok(Outcome::Done)
    }

    fn submit(
        &mut self,
        id: JobId,
        request: Request,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Result<Outcome, Error> {
        let jobs = self.jobs();
        let refused = match self.strategy.check(&request) {
            Err(refusal) => Some(refusal),
            Ok(_) if jobs.iter().any(|&(job, _)| job == id) => Some(Refusal::DuplicateJob),
            Ok(_) if jobs.len() as u32 >= self.capacity.jobs => Some(Refusal::TableFull),
            Ok(_) => None,
        };
        // A submission whose name is taken is no sign of future requests.
        if refused != Some(Refusal::DuplicateJob) {
            self.strategy.arrived(&request);
        }
        if let Some(refusal) = refused {
            self.counts.refused += 1;
            return Err(match refusal {
                Refusal::NotLegal => Error::NotLegal { nearest: [None; 2] },
                refusal => refusal.into(),
            });
        }
        let never_waits = request.flags.contains(Flags::NO_WAIT);
        let before = (self.discipline, self.reserved_with);
        let jobs = self.waiting.iter();
        let reserved: Vec<_> = jobs.map(|job| job.reserved.clone()).collect();
        self.waiting.push(Job {
            id,
            serial: self.next_serial,
            request,
            submitted: self.clock,
            granted_at: 0,
            attempts: 0,
            misses: 0,
            held: None,
            has_run: false,
            reserved: None,
            lease: None,
        });
        let serial = self.next_serial;
        self.next_serial += 1;
        // It is behind the jobs that stand there since the same time.
        self.waiting.sort_by_key(Job::since);
        let ahead = self.waiting.iter().position(|job| job.serial == serial);
        let ahead = ahead.expect("it has just joined");
        self.see_head();
        self.discipline.arrived();
        let refused = match self.discipline.scheduler() {
            // It tries alone, or not at all.
            Some(SchedulerKind::Easy { reservations }) if never_waits => {
                self.only_around(ahead, reservations, grants)
            }
            Some(SchedulerKind::Conservative) if never_waits => {
                self.only_around(ahead, u64::MAX, grants)
            }
            Some(SchedulerKind::ShortestJobFirst { threshold }) if never_waits => {
                (self.shortest(threshold) == Some(ahead))
                    .then(|| self.shortest_first(threshold, grants))
                    .flatten()
            }
            Some(SchedulerKind::Easy { reservations }) => {
                self.backfill(ahead, reservations, grants)
            }
            Some(SchedulerKind::Conservative) => self.backfill(ahead, u64::MAX, grants),
            Some(SchedulerKind::ShortestJobFirst { threshold }) => {
                self.shortest_first(threshold, grants)
            }
            _ if ahead == 0 || self.discipline.arrival_may_bypass(self.clock) => {
                let outcome = self.attempt(ahead, grants);
                if outcome.is_ok() || !never_waits {
                    self.try_after(ahead, outcome.is_ok(), grants);
                }
                outcome.err().map(|refusal| (serial, refusal))
            }
            _ => None,
        };
        let started = self.running.iter().find(|job| job.serial == serial);
        let refusal = match (started, refused) {
            (Some(_), _) => None,
            (None, Some((tried, refusal))) if tried == serial => Some(refusal),
            (None, _) => Some(Refusal::QueueNotEmpty),
        };
        if let Some(refusal) = refusal
            && never_waits
        {
            self.waiting.remove(ahead);
            (self.discipline, self.reserved_with) = before;
            for (job, reserved) in self.waiting.iter_mut().zip(reserved) {
                job.reserved = reserved;
            }
            self.counts.refused += 1;
            return Err(refusal.into());
        }
        self.counts.submitted += 1;
        Ok(Outcome::Done)
    }

    fn release(&mut self, id: JobId, grants: &mut Vec<ExpectedGrant>) -> Result<Outcome, Error> {
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
    fn replace(&mut self, id: JobId, grants: &mut Vec<ExpectedGrant>) -> Result<Outcome, Error> {
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
    fn preempt(
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

    fn lease(&mut self, id: JobId, ticks: Option<NonZeroU64>) -> Result<Outcome, Error> {
        let mut jobs = self.running.iter_mut().chain(&mut self.waiting);
        let job = jobs.find(|job| job.id == id).ok_or(Error::UnknownJob)?;
        let ends = ticks.and_then(|ticks| self.clock.checked_add(ticks.get()));
        job.lease = ends.filter(|&ends| ends < Ticks::MAX);
        Ok(Outcome::Done)
    }

    fn end_lease(
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
    fn end_leases(&mut self, ended: &mut Vec<Ended>, grants: &mut Vec<ExpectedGrant>) {
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

    /// What a query of this job must be answered with. The number of blocks is 0: into how many the
    /// strategy divides a job is compared with the blocks themselves ([`System::held`]).
    ///
    /// # Errors
    ///
    /// When there is no such job.
    pub fn report(&self, id: JobId) -> Result<JobReport, Error> {
        let running = self.running.iter().map(|job| {
            let processors = job.processors(self.grid());
            (job, JobState::Running { processors })
        });
        let waiting = (0..).zip(&self.waiting);
        let waiting = waiting.map(|(ahead, job)| (job, JobState::Waiting { ahead }));
        let mut jobs = running.chain(waiting);
        let (job, state) = jobs
            .find(|(job, _)| job.id == id)
            .ok_or(Error::UnknownJob)?;
        Ok(JobReport {
            job: id,
            request: job.request,
            submitted: job.submitted,
            state,
            blocks: 0,
        })
    }

    /// Whether the job holds just these blocks.
    pub fn held(&self, id: JobId, blocks: &[Block]) -> bool {
        let job = self.running.iter().find(|job| job.id == id);
        let held = job.and_then(|job| job.held.as_ref());
        held.map_or(blocks.is_empty(), |held| held.is(self.grid(), blocks))
    }

    fn set_faulty(
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

    /// The jobs that hold a node of the block, in the order of their grants.
    ///
    /// # Errors
    ///
    /// When the block is not one of the grid.
    pub fn jobs_on(&self, block: Block) -> Result<Vec<JobId>, Error> {
        let grid = self.grid();
        let place = convert::named(grid, block).map_err(|dimension| Error::NoSuchBlock {
            dimension: dimension as u8,
        })?;
        let nodes = grid.nodes_of(&place);
        let holds_any = |job: &&Job| nodes.iter().any(|&node| job.holds(grid, node));
        let jobs = self.running.iter().filter(holds_any);
        Ok(jobs.map(|job| job.id).collect())
    }

    /// The heads try until one is blocked; then those behind it, as long as they may bypass it.
    fn departure(&mut self, grants: &mut Vec<ExpectedGrant>) {
        match self.discipline.scheduler() {
            Some(SchedulerKind::Easy { reservations }) => {
                self.backfill(0, reservations, grants);
                return;
            }
            Some(SchedulerKind::Conservative) => {
                self.backfill(0, u64::MAX, grants);
                return;
            }
            Some(SchedulerKind::ShortestJobFirst { threshold }) => {
                self.shortest_first(threshold, grants);
                return;
            }
            _ => self.see_head(),
        }
        self.try_after(0, true, grants);
    }

    /// What follows after the job at this place of the queue has tried: while heads are granted the
    /// next one tries; then those behind try, as long as they may bypass the head.
    fn try_after(&mut self, tried: usize, granted: bool, grants: &mut Vec<ExpectedGrant>) {
        if tried == 0 && granted {
            while !self.waiting.is_empty() && self.attempt(0, grants).is_ok() {}
        }
        let mut at = (tried + usize::from(!granted)).max(1);
        while at < self.waiting.len()
            && self
                .discipline
                .may_bypass(self.clock, self.waiting[0].submitted)
        {
            if self.attempt(at, grants).is_err() {
                at += 1;
            }
        }
    }

    /// A job that never waits tries alone. If reservations have to be made anew, they are made for
    /// the jobs before it as if all of these had been refused; if one would start, the job may not
    /// try. If it is granted, those behind it try. Returns it, and why it was refused.
    fn only_around(
        &mut self,
        at: usize,
        reservations: u64,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Option<(u64, Refusal)> {
        let serial = self.waiting[at].serial;
        let is_last = at + 1 == self.waiting.len();
        if self.begins_anew() || !is_last {
            self.reserved_with = None;
            for job in &mut self.waiting {
                job.reserved = None;
            }
            for before in 0..at {
                let request = self.waiting[before].request;
                if self.situation().would_start(&request) {
                    return Some((serial, Refusal::QueueNotEmpty));
                }
                if (before as u64) < reservations {
                    self.waiting[before].reserved = self.situation().reservation(&request);
                }
            }
        }
        let outcome = self.attempt(at, grants);
        let may_go_on = self.machine().free() > 0 || (at as u64) < reservations;
        if outcome.is_ok() && !is_last && may_go_on {
            self.backfill_from(at, reservations, grants);
        }
        outcome.err().map(|refusal| (serial, refusal))
    }

    /// Whether reservations have to be made anew: a job runs longer than expected, other nodes are
    /// free than when the first was made, or a node became faulty or was repaired since.
    fn begins_anew(&self) -> bool {
        let is_overdue = |job: &Job| match end_of(&job.request, job.granted_at) {
            Ticks::MAX => false,
            end => end <= self.clock,
        };
        let are_others = self.reserved_with != Some(self.machine().free());
        are_others || self.running.iter().any(is_overdue)
    }

    /// When the head of the queue could start if no other job waited.
    pub fn earliest_start_of_head(&self) -> Option<Ticks> {
        let mut situation = self.situation();
        situation.reserved.clear();
        let head = situation.reservation(&self.waiting.first()?.request)?;
        Some(head.start)
    }

    /// The job at this place, which has arrived, or all from the first on after a departure, try in
    /// order, around the reservations: all if reservations have to be made anew, or if others stand
    /// behind the job. Returns the last job that was refused, and why.
    fn backfill(
        &mut self,
        from: usize,
        reservations: u64,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Option<(u64, Refusal)> {
        let is_last = from + 1 == self.waiting.len();
        let at = if self.begins_anew() || !is_last {
            0
        } else {
            from
        };
        for job in &mut self.waiting[at..] {
            job.reserved = None;
        }
        self.backfill_from(at, reservations, grants)
    }

    /// The jobs from this place in the queue on try in order, around the reservations. The first
    /// `reservations` jobs that have to wait hold one. Returns the last job that was refused, and
    /// why.
    fn backfill_from(
        &mut self,
        mut at: usize,
        reservations: u64,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Option<(u64, Refusal)> {
        let mut last = None;
        while at < self.waiting.len() {
            let serial = self.waiting[at].serial;
            if let Err(refusal) = self.attempt(at, grants) {
                last = Some((serial, refusal));
                if at == 0 {
                    self.reserved_with = Some(self.machine().free());
                }
                if (at as u64) < reservations {
                    let reserved = self.situation().reservation(&self.waiting[at].request);
                    self.waiting[at].reserved = reserved;
                }
                at += 1;
            }
            if at as u64 >= reservations && self.machine().free() == 0 {
                break;
            }
        }
        last
    }

    /// The job with the shortest estimate tries, or a head that has waited long enough, until one
    /// is refused.
    fn shortest_first(
        &mut self,
        threshold: Ticks,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Option<(u64, Refusal)> {
        loop {
            let at = self.shortest(threshold)?;
            let serial = self.waiting[at].serial;
            if let Err(refusal) = self.attempt(at, grants) {
                return Some((serial, refusal));
            }
        }
    }

    /// The place in the queue of the job that tries next under shortest job first.
    fn shortest(&self, threshold: Ticks) -> Option<usize> {
        let head = self.waiting.first()?;
        let estimate = |&at: &usize| {
            let estimate = self.waiting[at].request.estimate;
            estimate.map_or(Ticks::MAX, std::num::NonZero::get)
        };
        if self.clock - head.submitted >= threshold {
            Some(0)
        } else {
            (0..self.waiting.len()).min_by_key(estimate)
        }
    }

    fn situation(&self) -> Situation<'_> {
        let running = self.running.iter().map(|job| Use {
            start: job.granted_at,
            end: end_of(&job.request, job.granted_at).max(self.clock),
            nodes: job.nodes(self.grid()),
            processors: job.processors(self.grid()),
            blocks: job
                .held
                .as_ref()
                .map_or(0, |held| self.strategy.blocks(held)),
        });
        Situation {
            strategy: &self.strategy,
            faulty: &self.faulty,
            now: self.clock,
            running: running.collect(),
            reserved: self.reserved(),
        }
    }

    /// The reservations in the order of the queue.
    pub fn reserved(&self) -> Vec<Use> {
        let jobs = self.waiting.iter();
        jobs.filter_map(|job| job.reserved.clone()).collect()
    }

    /// A waiting job tries. Returns how many processors it holds now.
    fn attempt(&mut self, at: usize, grants: &mut Vec<ExpectedGrant>) -> Result<u32, Refusal> {
        let free = self.machine().free();
        let job = &mut self.waiting[at];
        let is_chips = job.request.flags.contains(Flags::CHIPS);
        let requested = if is_chips || counts_processors(self.strategy.kind()) {
            job.request.processors
        } else {
            job.request.shape.area()
        };
        let valid = free >= requested;
        let request = job.request;
        if self.strategy.looks_ahead() {
            let outlook = self.outlook(at);
            self.strategy.look(outlook);
        }
        let outcome = if self.waiting.iter().any(|job| job.reserved.is_some()) {
            self.situation().place(&request)
        } else {
            tolerance::place(&self.strategy, &self.unheld(&[]), &request)
        };
        // A job may be granted with fewer free nodes, if it tolerates faulty ones.
        let valid = valid || outcome.is_ok();
        let job = &mut self.waiting[at];
        let missed = valid && outcome.is_err();
        job.attempts += 1;
        job.misses += u32::from(missed);
        self.counts.attempts += 1;
        self.counts.valid_attempts += u64::from(valid);
        self.counts.misses += u64::from(missed);
        let held = outcome?;
        let mut job = self.waiting.remove(at);
        job.reserved = None;
        self.take(&held);
        job.held = Some(held);
        job.granted_at = self.clock;
        self.counts.granted += 1;
        if !job.has_run {
            self.discipline.allocated(self.clock - job.submitted);
        }
        if at > 0 {
            self.discipline.bypassed();
        }
        self.see_head();
        grants.push(job.granted());
        let processors = job.processors(self.grid());
        self.running.push(job);
        Ok(processors)
    }

    /// The faulty nodes that no job holds but for these.
    fn unheld(&self, leaving: &[Job]) -> Vec<u32> {
        let stays = |job: &&Job| leaving.iter().all(|other| other.id != job.id);
        let stay: Vec<&Job> = self.running.iter().filter(stays).collect();
        let mut faulty = self.faulty_nodes();
        faulty.retain(|&node| !stay.iter().any(|job| job.holds(self.grid(), node)));
        faulty
    }

    /// A job takes these nodes; faulty ones among them were busy.
    fn take(&mut self, held: &Held) {
        for node in held.nodes(self.grid()) {
            if self.faulty[node as usize] {
                self.strategy.set(node, false);
            }
        }
        self.strategy.take(held);
    }

    /// The outlook when this job of the queue is placed.
    fn outlook(&self, placed: usize) -> Outlook {
        let others = (1..).zip(self.waiting.iter().skip(1));
        let others = others.filter(|&(at, _)| at != placed);
        let running = self.running.iter().map(|job| Other {
            nodes: job.nodes(self.grid()),
            left: match end_of(&job.request, job.granted_at) {
                Ticks::MAX => None,
                end => Some(end.saturating_sub(self.clock)),
            },
        });
        let until = end_of(&self.waiting[placed].request, self.clock);
        let reserved = self.reserved().into_iter();
        let withheld = reserved.filter(|reserved| reserved.start < until);
        let withheld = withheld.map(|reserved| Other {
            nodes: reserved.nodes,
            left: (reserved.end < Ticks::MAX).then(|| reserved.end.max(self.clock) - self.clock),
        });
        Outlook {
            waiting: others
                .map(|(_, job)| self.strategy.expected(&job.request))
                .collect(),
            running: running.chain(withheld).collect(),
            never_free: self.faulty_nodes(),
            estimate: self.waiting[placed].request.estimate.map(NonZeroU64::get),
        }
    }

    /// A head is what it is as long as it waits, though a job returned to a place before it.
    fn see_head(&mut self) {
        let mut serials = self.waiting.iter().map(|job| job.serial);
        if !serials.clone().any(|it| self.discipline.is_head(it)) {
            self.discipline.see_head(serials.next(), self.clock);
        }
    }
}
