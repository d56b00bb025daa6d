//! A naive controller, for any grid, scheduler and strategy: a flag for each node, a `Vec` for the
//! queue and one for the running jobs.

mod attempts;
mod departures;
mod expected;

use meshalloc::message::JobReport;
use meshalloc::{
    Block, Capacity, Change, Configuration, ConfigureError, Counts, Error, Flags, JobId, JobState,
    Outcome, Refusal, Request, SchedulerKind, Statistics, Ticks,
};

use crate::backfilling::Use;
use crate::convert;
use crate::discipline::Discipline;
use crate::grid::{Grid, NaiveMachine};
use crate::strategy::{Held, Strategy};

pub use expected::{Expected, ExpectedGrant};

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
}
