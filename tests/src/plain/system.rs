//! What a controller must answer, on any machine, under any scheduler and with any contiguous strategy.

use std::fmt;

use meshalloc::{
    Block, Command, Configuration, Error, Flags, JobId, JobState, Machine, NodeId, Refusal, Reply,
    Request, Statistics, StrategyKind, Ticks,
};

use super::{Discipline, Strategy};
use crate::rig::{Answer, Granted};

/// A machine and a strategy on it: what [`System`] must know of either. Printed, it is a picture of which nodes
/// are busy.
pub trait Places: Clone + fmt::Debug + fmt::Display {
    /// What a job holds.
    type Place: Clone + fmt::Debug + PartialEq;

    /// The strategy on a machine whose nodes are all free.
    ///
    /// # Panics
    ///
    /// When there is no plain model of it, or it does not serve the machine.
    fn of(kind: StrategyKind, machine: Machine) -> Self;

    /// The place that a block names; `None` for a block of another kind of machine.
    fn said(block: Block) -> Option<Self::Place>;

    /// The number of nodes in the shape that is asked for.
    fn area(request: &Request) -> u32;

    /// The number of nodes.
    fn nodes(&self) -> u32;

    /// Whether the node is held or faulty.
    fn is_busy(&self, node: u32) -> bool;

    /// The nodes of a place.
    fn members(&self, place: &Self::Place) -> Vec<u32>;

    /// The place that is a single node.
    fn unit(&self, node: u32) -> Self::Place;

    /// Whether the request could be granted if all nodes were free.
    ///
    /// # Errors
    ///
    /// Why not.
    fn check(&self, request: &Request) -> Result<(), Refusal>;

    /// Where the request goes, when no other job waits before it.
    ///
    /// # Errors
    ///
    /// The refusal.
    fn place(&self, request: &Request) -> Result<Self::Place, Refusal>;

    /// The place has been allocated, or the single node has become faulty.
    fn take(&mut self, place: &Self::Place);

    /// The place has been released, or the single node works again; nodes that are faulty stay busy.
    fn give_back(&mut self, place: &Self::Place, is_faulty: &dyn Fn(u32) -> bool);
}

/// A job that waits or runs.
#[derive(Clone, Copy, Debug)]
struct Job {
    id: JobId,
    /// Tells it from a later job of the same name.
    serial: u64,
    request: Request,
    submitted: Ticks,
    attempts: u32,
    misses: u32,
}

/// A grant that must be said.
#[derive(Clone, Debug)]
pub struct ExpectedGrant<P: Places> {
    /// The job.
    pub job: JobId,
    /// When.
    pub at: Ticks,
    /// How often it was tried.
    pub attempts: u32,
    /// How often it failed although enough processors were free.
    pub misses: u32,
    /// What it holds.
    pub place: P::Place,
}

impl<P: Places> ExpectedGrant<P> {
    /// Whether this is what was said.
    fn agrees_with(&self, said: &Granted) -> bool {
        let [block] = said.blocks[..] else {
            return false;
        };
        P::said(block).as_ref() == Some(&self.place)
            && (self.job, self.at, self.attempts, self.misses)
                == (said.job, said.at, said.attempts, said.misses)
    }
}

/// What a command must be answered with.
#[derive(Clone, Debug)]
pub struct Expected<P: Places> {
    /// The grants, in order.
    pub grants: Vec<ExpectedGrant<P>>,
    /// The final reply.
    pub last: Reply,
}

impl<P: Places> Expected<P> {
    /// Whether this is what was answered.
    pub fn agrees_with(&self, answer: &Answer) -> bool {
        let mut pairs = self.grants.iter().zip(&answer.grants);
        self.last == answer.last
            && self.grants.len() == answer.grants.len()
            && pairs.all(|(expected, said)| expected.agrees_with(said))
    }
}

/// Machine, strategy, scheduler and jobs, plainly.
#[derive(Clone, Debug)]
pub struct System<P: Places = Strategy> {
    strategy: P,
    discipline: Discipline,
    /// A flag for each node.
    faulty: Vec<bool>,
    room: usize,
    waiting: Vec<Job>,
    running: Vec<(JobId, P::Place)>,
    now: Ticks,
    next_serial: u64,
    counts: Statistics,
}

impl<P: Places> System<P> {
    /// A controller of this configuration with room for so many jobs, waiting and running together.
    pub fn new(configuration: Configuration, room: usize) -> Self {
        let strategy = P::of(configuration.strategy, configuration.machine);
        System {
            discipline: Discipline::new(configuration.scheduler),
            faulty: vec![false; strategy.nodes() as usize],
            strategy,
            room,
            waiting: Vec::new(),
            running: Vec::new(),
            now: 0,
            next_serial: 0,
            counts: Statistics::default(),
        }
    }

    /// The machine: which nodes are held or faulty.
    pub const fn places(&self) -> &P {
        &self.strategy
    }

    /// The jobs that wait, in the order of their arrival.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = JobId> {
        self.waiting.iter().map(|job| job.id)
    }

    /// The jobs that run, in the order of their grants.
    pub fn running(&self) -> impl ExactSizeIterator<Item = JobId> {
        self.running.iter().map(|(id, _)| *id)
    }

    /// The numbers of the faulty nodes.
    pub fn faulty_nodes(&self) -> impl Iterator<Item = u32> {
        let nodes = (0..).zip(&self.faulty);
        nodes.filter(|&(_, &faulty)| faulty).map(|(node, _)| node)
    }

    /// Carries out a command that changes the machine's state.
    ///
    /// # Panics
    ///
    /// On any other command.
    pub fn handle(&mut self, command: &Command, now: Ticks) -> Expected<P> {
        match *command {
            Command::Submit { job, request } => self.submit(job, request, now),
            Command::Release { job } => self.release(job, now),
            Command::MarkFaulty { node } => self.set_faulty(node, true, now),
            Command::ClearFaulty { node } => self.set_faulty(node, false, now),
            ref other => unreachable!("no plain model of {other:?}"),
        }
    }

    /// What the controller's statistics must be.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            nodes: self.strategy.nodes(),
            free: self.free(),
            faulty: self.faulty_nodes().count() as u32,
            waiting: self.waiting.len() as u32,
            running: self.running.len() as u32,
            ..self.counts
        }
    }

    fn free(&self) -> u32 {
        let nodes = 0..self.strategy.nodes();
        nodes.filter(|&node| !self.strategy.is_busy(node)).count() as u32
    }

    fn size(&self, place: &P::Place) -> u32 {
        self.strategy.members(place).len() as u32
    }

    /// A job is submitted.
    fn submit(&mut self, id: JobId, request: Request, now: Ticks) -> Expected<P> {
        self.now = now;
        let refused = match self.strategy.check(&request) {
            Err(refusal) => Some(refusal),
            Ok(_)
                if self
                    .waiting()
                    .chain(self.running())
                    .any(|other| other == id) =>
            {
                Some(Refusal::DuplicateJob)
            }
            Ok(_) if self.waiting.len() + self.running.len() >= self.room => {
                Some(Refusal::TableFull)
            }
            Ok(_) => None,
        };
        if let Some(refusal) = refused {
            return self.refuse(refusal);
        }
        self.waiting.push(Job {
            id,
            serial: self.next_serial,
            request,
            submitted: now,
            attempts: 0,
            misses: 0,
        });
        self.next_serial += 1;
        self.see_head();
        self.discipline.arrived();
        let at = self.waiting.len() - 1;
        let mut refusal = Refusal::QueueNotEmpty;
        if at == 0 || self.discipline.arrival_may_bypass(now) {
            match self.attempt(at) {
                Ok(grant) => {
                    self.counts.submitted += 1;
                    let processors = self.size(&grant.place);
                    return Expected {
                        grants: vec![grant],
                        last: Reply::Submitted {
                            job: id,
                            state: JobState::Running { processors },
                        },
                    };
                }
                Err(why) => refusal = why,
            }
        }
        if request.flags.contains(Flags::NO_WAIT) {
            self.waiting.pop();
            return self.refuse(refusal);
        }
        self.counts.submitted += 1;
        Expected {
            grants: Vec::new(),
            last: Reply::Submitted {
                job: id,
                state: JobState::Waiting { ahead: at as u32 },
            },
        }
    }

    fn refuse(&mut self, refusal: Refusal) -> Expected<P> {
        self.counts.refused += 1;
        Expected {
            grants: Vec::new(),
            last: Reply::Error(Error::Refused(refusal)),
        }
    }

    /// A job ends, or no longer waits.
    fn release(&mut self, id: JobId, now: Ticks) -> Expected<P> {
        self.now = now;
        let (runs, waits) = (
            self.running().position(|other| other == id),
            self.waiting().position(|other| other == id),
        );
        let processors = if let Some(at) = runs {
            let (_, place) = self.running.remove(at);
            let faulty = &self.faulty;
            let is_faulty = |node: u32| faulty[node as usize];
            self.strategy.give_back(&place, &is_faulty);
            self.size(&place)
        } else if let Some(at) = waits {
            self.waiting.remove(at);
            0
        } else {
            return Expected {
                grants: Vec::new(),
                last: Reply::Error(Error::UnknownJob),
            };
        };
        self.counts.released += 1;
        Expected {
            grants: self.departure(),
            last: Reply::Released {
                job: id,
                processors,
            },
        }
    }

    /// A node becomes faulty, or works again.
    fn set_faulty(&mut self, node: NodeId, faulty: bool, now: Ticks) -> Expected<P> {
        self.now = now;
        let unit = self.strategy.unit(node.0);
        let changed = self.faulty[node.0 as usize] != faulty;
        let mut jobs = self.running.iter();
        let holder = jobs.find(|(_, place)| self.strategy.members(place).contains(&node.0));
        let job = holder.map(|(id, _)| *id);
        self.faulty[node.0 as usize] = faulty;
        let mut grants = Vec::new();
        if changed && job.is_none() {
            if faulty {
                self.strategy.take(&unit);
            } else {
                self.strategy.give_back(&unit, &|_| false);
                grants = self.departure();
            }
        }
        Expected {
            grants,
            last: Reply::Fault { node, job, changed },
        }
    }

    /// The heads try until one is blocked; then those behind it, as long as they may bypass it.
    fn departure(&mut self) -> Vec<ExpectedGrant<P>> {
        let mut grants = Vec::new();
        self.see_head();
        loop {
            if self.waiting.is_empty() {
                return grants;
            }
            let Ok(grant) = self.attempt(0) else {
                break;
            };
            grants.push(grant);
        }
        let mut at = 1;
        while at < self.waiting.len()
            && self
                .discipline
                .may_bypass(self.now, self.waiting[0].submitted)
        {
            match self.attempt(at) {
                Ok(grant) => grants.push(grant),
                Err(_) => at += 1,
            }
        }
        grants
    }

    /// A waiting job tries.
    fn attempt(&mut self, at: usize) -> Result<ExpectedGrant<P>, Refusal> {
        let free = self.free();
        let job = &mut self.waiting[at];
        let valid = free >= P::area(&job.request);
        let outcome = self.strategy.place(&job.request);
        job.attempts += 1;
        self.counts.attempts += 1;
        self.counts.valid_attempts += u64::from(valid);
        if valid && outcome.is_err() {
            job.misses += 1;
            self.counts.misses += 1;
        }
        let place = outcome?;
        let job = self.waiting.remove(at);
        self.strategy.take(&place);
        self.running.push((job.id, place.clone()));
        self.counts.granted += 1;
        self.discipline.allocated(self.now - job.submitted);
        if at > 0 {
            self.discipline.bypassed();
        }
        self.see_head();
        Ok(ExpectedGrant {
            job: job.id,
            at: self.now,
            attempts: job.attempts,
            misses: job.misses,
            place,
        })
    }

    fn see_head(&mut self) {
        let head = self.waiting.first().map(|job| job.serial);
        self.discipline.see_head(head, self.now);
    }
}
