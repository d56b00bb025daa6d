//! The whole controller as a plain model: flags for nodes, a `VecDeque` for the queue, a `Vec` for the
//! jobs that run, and the [oracle](crate::oracle) for every place.
//!
//! It answers the commands that change something exactly as a controller must, first come, first served.

use std::collections::VecDeque;

use meshalloc::message::JobReport;
use meshalloc::{
    Capacity, Command, Configuration, ConfigureError, Error, Flags, JobId, JobState, Machine, Mesh,
    NodeId, Refusal, Reply, Request, Statistics, StrategyKind, Ticks,
};

use crate::oracle::{NaiveMesh, Placement, Rect};
use crate::rig::{Answer, Granted};

/// A job that waits or runs.
#[derive(Clone, Debug)]
struct Job {
    id: JobId,
    request: Request,
    submitted: Ticks,
    granted_at: Ticks,
    attempts: u32,
    misses: u32,
    /// `None` while it waits.
    held: Option<Placement>,
}

impl Job {
    fn processors(&self) -> u32 {
        let nodes = self.held.as_ref().map(Placement::nodes);
        nodes.map_or(0, |nodes| nodes.len() as u32)
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

/// A grant that must be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedGrant {
    /// The job.
    pub job: JobId,
    /// When it was granted.
    pub at: Ticks,
    /// How often it was tried.
    pub attempts: u32,
    /// How often it failed although enough processors were free.
    pub misses: u32,
    /// What it holds.
    pub held: Placement,
}

impl ExpectedGrant {
    /// Whether this is what was said. A contiguous allocation must be one block, any other may be
    /// divided into blocks at will.
    pub fn agrees_with(&self, said: &Granted) -> bool {
        let blocks = || said.blocks.iter().map(|&block| Rect::from(block));
        let same_place = match &self.held {
            Placement::Submesh(rect) => blocks().eq([*rect]),
            Placement::Nodes(nodes) => {
                let mut held: Vec<_> = blocks().flat_map(Rect::nodes).collect();
                held.sort_unstable_by_key(|&(x, y)| (y, x));
                held == *nodes
            }
        };
        same_place
            && (self.job, self.at, self.attempts, self.misses)
                == (said.job, said.at, said.attempts, said.misses)
    }
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
        self.last == answer.last && self.grants_agree_with(&answer.grants)
    }

    /// Whether these grants were said.
    pub fn grants_agree_with(&self, said: &[Granted]) -> bool {
        self.grants.len() == said.len()
            && self
                .grants
                .iter()
                .zip(said)
                .all(|(grant, said)| grant.agrees_with(said))
    }
}

/// The model.
#[derive(Clone, Debug)]
pub struct Model {
    capacity: Capacity,
    configuration: Configuration,
    mesh: Mesh,
    faulty: NaiveMesh,
    /// In the order of the grants.
    running: Vec<Job>,
    waiting: VecDeque<Job>,
    clock: Ticks,
    counts: Statistics,
}

impl Model {
    /// What a controller of this capacity, made with this configuration, must do.
    pub fn new(capacity: Capacity, configuration: Configuration) -> Self {
        let mesh = mesh_of(configuration.machine);
        Model {
            capacity,
            configuration,
            mesh,
            faulty: empty(mesh),
            running: Vec::new(),
            waiting: VecDeque::new(),
            clock: 0,
            counts: Statistics::default(),
        }
    }

    /// The mesh that is served.
    pub const fn mesh(&self) -> Mesh {
        self.mesh
    }

    /// The strategy in use.
    pub const fn strategy(&self) -> StrategyKind {
        self.configuration.strategy
    }

    /// Which nodes are faulty.
    pub const fn faulty(&self) -> &NaiveMesh {
        &self.faulty
    }

    /// Which nodes are held or faulty.
    pub fn busy(&self) -> NaiveMesh {
        let mut busy = self.faulty.clone();
        for (x, y) in self.running.iter().flat_map(nodes_of) {
            busy.set(x, y, true);
        }
        busy
    }

    /// Every job and the processors it holds, by name.
    pub fn jobs(&self) -> Vec<(JobId, u32)> {
        let jobs = self.running.iter().chain(&self.waiting);
        let mut jobs: Vec<_> = jobs.map(|job| (job.id, job.processors())).collect();
        jobs.sort_unstable();
        jobs
    }

    /// What [`Command::Statistics`] must be answered with.
    pub fn statistics(&self) -> Statistics {
        let whole = self.faulty.whole();
        Statistics {
            nodes: whole.size() as u32,
            free: self.busy().free() as u32,
            faulty: (whole.size() - self.faulty.free()) as u32,
            waiting: self.waiting.len() as u32,
            running: self.running.len() as u32,
            ..self.counts
        }
    }

    /// Carries out a command.
    ///
    /// # Panics
    ///
    /// On `ListJobs` and `Occupancy`, whose answers come in chunks: compare [`Model::jobs`] and
    /// [`Model::busy`].
    pub fn handle(&mut self, command: &Command, now: Ticks) -> Expected {
        self.clock = self.clock.max(now);
        let mut grants = Vec::new();
        let last = match *command {
            Command::Configure(configuration) => {
                self.configure(configuration).inspect(|_| self.clock = now)
            }
            Command::Submit { job, request } => self.submit(job, request, &mut grants),
            Command::Release { job } => self.release(job, &mut grants),
            Command::QueryJob { job } => self.query(job, &mut grants),
            Command::MarkFaulty { node } => self.mark_faulty(node),
            Command::ClearFaulty { node } => self.clear_faulty(node, &mut grants),
            Command::Statistics => Ok(Reply::Statistics(self.statistics())),
            Command::Reset => {
                self.forget();
                self.clock = now;
                Ok(Reply::Done)
            }
            other => unreachable!("{other:?} is compared by other means"),
        };
        Expected {
            grants,
            last: last.unwrap_or_else(Reply::Error),
        }
    }

    fn forget(&mut self) {
        self.faulty = empty(self.mesh);
        self.running.clear();
        self.waiting.clear();
        self.counts = Statistics::default();
    }

    fn configure(&mut self, configuration: Configuration) -> Result<Reply, Error> {
        if !self.running.is_empty() || !self.waiting.is_empty() {
            return Err(ConfigureError::JobsPresent.into());
        }
        let mesh = mesh_of(configuration.machine);
        let words_a_row = u32::from(mesh.sides().w).div_ceil(self.capacity.word_bits.into());
        let words = u32::from(mesh.sides().h) * words_a_row;
        let nodes = u32::from(mesh.sides().w) * u32::from(mesh.sides().h);
        if words > self.capacity.words {
            return Err(ConfigureError::MachineTooLarge.into());
        }
        let blocks = match configuration.strategy {
            StrategyKind::Naive => nodes,
            _ => nodes.min(self.capacity.jobs),
        };
        let list = match configuration.strategy {
            StrategyKind::FreeSubmeshList => nodes,
            _ => 0,
        };
        if blocks > self.capacity.blocks || list > self.capacity.list {
            return Err(ConfigureError::StrategyMemory.into());
        }
        self.configuration = configuration;
        self.mesh = mesh;
        self.forget();
        Ok(Reply::Done)
    }

    fn submit(
        &mut self,
        id: JobId,
        request: Request,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Result<Reply, Error> {
        let known = self
            .running
            .iter()
            .chain(&self.waiting)
            .any(|job| job.id == id);
        let jobs = (self.running.len() + self.waiting.len()) as u32;
        let taken = match self.faulty.validate(self.strategy(), &request) {
            Err(refusal) => Err(refusal),
            Ok(()) if known => Err(Refusal::DuplicateJob),
            Ok(()) if jobs >= self.capacity.jobs => Err(Refusal::TableFull),
            Ok(()) => Ok(()),
        };
        if let Err(refusal) = taken {
            self.counts.refused += 1;
            return Err(refusal.into());
        }

        let ahead = self.waiting.len() as u32;
        self.waiting.push_back(Job {
            id,
            request,
            submitted: self.clock,
            granted_at: 0,
            attempts: 0,
            misses: 0,
            held: None,
        });
        // An arrival tries only if nobody waits before it.
        let refusal = match ahead {
            0 => self.serve_queue(grants),
            _ => Some(Refusal::QueueNotEmpty),
        };
        let state = match refusal {
            None => JobState::Running {
                processors: self.running.last().map_or(0, Job::processors),
            },
            Some(refusal) if request.flags.contains(Flags::NO_WAIT) => {
                self.waiting.pop_back();
                self.counts.refused += 1;
                return Err(refusal.into());
            }
            Some(_) => JobState::Waiting { ahead },
        };
        self.counts.submitted += 1;
        Ok(Reply::Submitted { job: id, state })
    }

    /// The head tries; after a success, the next head. Returns why the last one failed, if one did.
    fn serve_queue(&mut self, grants: &mut Vec<ExpectedGrant>) -> Option<Refusal> {
        while let Some(mut head) = self.waiting.pop_front() {
            let busy = self.busy();
            let scan = busy.scan();
            let list = match self.strategy() {
                StrategyKind::FreeSubmeshList => scan.dominant_free_submeshes(),
                _ => Vec::new(),
            };
            let placement = scan.place(self.strategy(), &list, &head.request);
            let requested = match self.strategy() {
                StrategyKind::Naive => head.request.processors,
                _ => head.request.shape.area(),
            };
            let valid = busy.free() as u32 >= requested;
            let missed = valid && placement.is_err();
            self.counts.attempts += 1;
            self.counts.valid_attempts += u64::from(valid);
            self.counts.misses += u64::from(missed);
            head.attempts += 1;
            head.misses += u32::from(missed);
            match placement {
                Ok(placement) => {
                    head.held = Some(placement);
                    head.granted_at = self.clock;
                    self.counts.granted += 1;
                    grants.push(head.granted());
                    self.running.push(head);
                }
                Err(refusal) => {
                    self.waiting.push_front(head);
                    return Some(refusal);
                }
            }
        }
        None
    }

    fn release(&mut self, id: JobId, grants: &mut Vec<ExpectedGrant>) -> Result<Reply, Error> {
        let running = self.running.iter().position(|job| job.id == id);
        let waiting = self.waiting.iter().position(|job| job.id == id);
        let job = match (running, waiting) {
            (Some(at), _) => self.running.remove(at),
            (None, Some(at)) => self.waiting.remove(at).expect("it was just found"),
            (None, None) => return Err(Error::UnknownJob),
        };
        self.counts.released += 1;
        self.serve_queue(grants);
        Ok(Reply::Released {
            job: id,
            processors: job.processors(),
        })
    }

    fn query(&self, id: JobId, grants: &mut Vec<ExpectedGrant>) -> Result<Reply, Error> {
        let waiting = self.waiting.iter().zip(0..);
        let waiting = waiting.map(|(job, ahead)| (job, JobState::Waiting { ahead }));
        let running = self.running.iter().map(|job| {
            let processors = job.processors();
            (job, JobState::Running { processors })
        });
        let (job, state) = running
            .chain(waiting)
            .find(|(job, _)| job.id == id)
            .ok_or(Error::UnknownJob)?;
        if job.held.is_some() {
            grants.push(job.granted());
        }
        Ok(Reply::Job(JobReport {
            job: id,
            request: job.request,
            submitted: job.submitted,
            state,
        }))
    }

    fn mark_faulty(&mut self, node: NodeId) -> Result<Reply, Error> {
        let (x, y) = self.place(node)?;
        let changed = !self.faulty.is_busy(x, y);
        self.faulty.set(x, y, true);
        let job = self.holder(x, y);
        Ok(Reply::Fault { node, job, changed })
    }

    fn clear_faulty(
        &mut self,
        node: NodeId,
        grants: &mut Vec<ExpectedGrant>,
    ) -> Result<Reply, Error> {
        let (x, y) = self.place(node)?;
        let changed = self.faulty.is_busy(x, y);
        self.faulty.set(x, y, false);
        let job = self.holder(x, y);
        if changed && job.is_none() {
            self.serve_queue(grants);
        }
        Ok(Reply::Fault { node, job, changed })
    }

    fn place(&self, node: NodeId) -> Result<(i32, i32), Error> {
        let mut nodes = self.faulty.whole().nodes();
        nodes.nth(node.0 as usize).ok_or(Error::UnknownNode(node))
    }

    fn holder(&self, x: i32, y: i32) -> Option<JobId> {
        let holds = |job: &&Job| nodes_of(job).contains(&(x, y));
        self.running.iter().find(holds).map(|job| job.id)
    }
}

fn nodes_of(job: &Job) -> Vec<(i32, i32)> {
    job.held.as_ref().map(Placement::nodes).unwrap_or_default()
}

fn empty(mesh: Mesh) -> NaiveMesh {
    NaiveMesh::new(mesh.sides().w.into(), mesh.sides().h.into())
}

fn mesh_of(machine: Machine) -> Mesh {
    match machine {
        Machine::Mesh(mesh) => mesh,
        other => unreachable!("no model of a {other}"),
    }
}
