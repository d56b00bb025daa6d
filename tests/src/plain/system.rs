//! What a controller must answer, under any scheduler and with any contiguous strategy.

use meshalloc::{
    Command, Configuration, Error, Flags, JobId, JobState, Machine, NodeId, Refusal, Reply,
    Request, Statistics, Ticks,
};

use super::{Discipline, Strategy};
use crate::oracle::{NaiveMesh, Rect};
use crate::rig::Answer;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedGrant {
    /// The job.
    pub job: JobId,
    /// When.
    pub at: Ticks,
    /// How often it was tried.
    pub attempts: u32,
    /// How often it failed although enough processors were free.
    pub misses: u32,
    /// What it holds.
    pub place: Rect,
}

/// What a command must be answered with.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The grants, in order.
    pub grants: Vec<ExpectedGrant>,
    /// The final reply.
    pub last: Reply,
}

impl Expected {
    /// Whether this is what was answered.
    pub fn agrees_with(&self, answer: &Answer) -> bool {
        let said = answer.grants.iter().map(|said| {
            let [place] = said.blocks[..] else {
                return None;
            };
            Some(ExpectedGrant {
                job: said.job,
                at: said.at,
                attempts: said.attempts,
                misses: said.misses,
                place: place.into(),
            })
        });
        self.last == answer.last && self.grants.iter().map(|&grant| Some(grant)).eq(said)
    }
}

/// Machine, strategy, scheduler and jobs, plainly.
#[derive(Clone, Debug)]
pub struct System {
    strategy: Strategy,
    discipline: Discipline,
    faulty: NaiveMesh,
    room: usize,
    waiting: Vec<Job>,
    running: Vec<(JobId, Rect)>,
    now: Ticks,
    next_serial: u64,
    counts: Statistics,
}

impl System {
    /// A controller of this configuration with room for so many jobs, waiting and running together.
    pub fn new(configuration: Configuration, room: usize) -> Self {
        let Machine::Mesh(mesh) = configuration.machine else {
            unreachable!("the only kind of machine");
        };
        let (w, h) = (mesh.sides().w.into(), mesh.sides().h.into());
        System {
            strategy: Strategy::new(configuration.strategy, w, h),
            discipline: Discipline::new(configuration.scheduler),
            faulty: NaiveMesh::new(w, h),
            room,
            waiting: Vec::new(),
            running: Vec::new(),
            now: 0,
            next_serial: 0,
            counts: Statistics::default(),
        }
    }

    /// Which nodes are held or faulty.
    pub const fn busy(&self) -> &NaiveMesh {
        self.strategy.busy()
    }

    /// The jobs that wait, in the order of their arrival.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = JobId> {
        self.waiting.iter().map(|job| job.id)
    }

    /// The jobs that run, in the order of their grants.
    pub fn running(&self) -> impl ExactSizeIterator<Item = JobId> {
        self.running.iter().map(|&(id, _)| id)
    }

    /// The numbers of the faulty nodes.
    pub fn faulty_nodes(&self) -> impl Iterator<Item = u32> {
        let nodes = (0..).zip(self.faulty.whole().nodes());
        let faulty = nodes.filter(|&(_, (x, y))| self.faulty.is_busy(x, y));
        faulty.map(|(node, _)| node)
    }

    /// Carries out a command that changes the machine's state.
    ///
    /// # Panics
    ///
    /// On any other command.
    pub fn handle(&mut self, command: &Command, now: Ticks) -> Expected {
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
        let nodes = self.faulty.whole().size();
        Statistics {
            nodes: nodes as u32,
            free: self.busy().free() as u32,
            faulty: (nodes - self.faulty.free()) as u32,
            waiting: self.waiting.len() as u32,
            running: self.running.len() as u32,
            ..self.counts
        }
    }

    /// A job is submitted.
    fn submit(&mut self, id: JobId, request: Request, now: Ticks) -> Expected {
        self.now = now;
        let refused = match self.strategy.validate(&request) {
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
                    let processors = grant.place.size() as u32;
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

    fn refuse(&mut self, refusal: Refusal) -> Expected {
        self.counts.refused += 1;
        Expected {
            grants: Vec::new(),
            last: Reply::Error(Error::Refused(refusal)),
        }
    }

    /// A job ends, or no longer waits.
    fn release(&mut self, id: JobId, now: Ticks) -> Expected {
        self.now = now;
        let (runs, waits) = (
            self.running().position(|other| other == id),
            self.waiting().position(|other| other == id),
        );
        let processors = if let Some(at) = runs {
            let (_, place) = self.running.remove(at);
            let faulty = &self.faulty;
            self.strategy.give_back(place, |x, y| faulty.is_busy(x, y));
            place.size() as u32
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
    fn set_faulty(&mut self, node: NodeId, faulty: bool, now: Ticks) -> Expected {
        self.now = now;
        let w = self.faulty.w();
        let (x, y) = (node.0 as i32 % w, node.0 as i32 / w);
        let unit = Rect::based_at(x, y, 1, 1);
        let changed = self.faulty.is_busy(x, y) != faulty;
        let mut holders = self.running.iter().filter(|(_, place)| place.has(x, y));
        let job = holders.next().map(|&(id, _)| id);
        self.faulty.set(x, y, faulty);
        let mut grants = Vec::new();
        if changed && job.is_none() {
            if faulty {
                self.strategy.take(unit);
            } else {
                self.strategy.give_back(unit, |_, _| false);
                grants = self.departure();
            }
        }
        Expected {
            grants,
            last: Reply::Fault { node, job, changed },
        }
    }

    /// The heads try until one is blocked; then those behind it, as long as they may bypass it.
    fn departure(&mut self) -> Vec<ExpectedGrant> {
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
    fn attempt(&mut self, at: usize) -> Result<ExpectedGrant, Refusal> {
        let job = &mut self.waiting[at];
        let sides = job.request.sides().expect("a request for a mesh has sides");
        let valid = self.strategy.busy().free() >= i32::from(sides.w) * i32::from(sides.h);
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
        self.strategy.take(place);
        self.running.push((job.id, place));
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
