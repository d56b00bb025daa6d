//! Grants, and the answers to queries.

use heapless::Vec;

use super::faults::{check_block, is_on};
use super::{Controller, Sink, View};
use crate::blocks::Held;
use crate::error::Error;
use crate::grid::Block;
use crate::jobs::{JobSlot, Slot};
use crate::message::{
    Command, GRANT_BLOCKS_MAX, Grant, JobList, JobReport, JobState, OCCUPANCY_BYTES_MAX,
    OccupancyChunk, Reply,
};
use crate::node::NodeId;
use crate::request::JobId;

/// A job that has just been given processors.
#[derive(Clone, Copy, Debug)]
pub struct Granted<'a, 'm> {
    held: Held<'a, 'm>,
    job: &'a JobSlot,
}

impl<'a, 'm> Granted<'a, 'm> {
    pub(super) const fn new(held: Held<'a, 'm>, job: &'a JobSlot) -> Self {
        Granted { held, job }
    }

    /// The job.
    pub const fn job(&self) -> &'a JobSlot {
        self.job
    }

    /// Its blocks, in the order in which the strategy named them.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + 'a {
        self.held.of(self.job.blocks())
    }

    /// Replies with the grant, in as many parts as it takes.
    pub(super) fn emit(&self, reply: Sink<'_>) {
        let mut blocks = self.blocks();
        let mut first = 0;
        while first < self.job.blocks_len() {
            first = self.emit_part(first, &mut blocks, reply);
        }
    }

    /// Replies with the next part, and returns the place of the first block after it.
    fn emit_part(
        &self,
        first: u32,
        blocks: &mut impl Iterator<Item = Block>,
        reply: Sink<'_>,
    ) -> u32 {
        let job = self.job;
        let mut part = Reply::Grant(Grant {
            job: job.id(),
            at: job.granted_at(),
            attempts: job.attempts(),
            misses: job.misses(),
            blocks_total: job.blocks_len(),
            first,
            blocks: Vec::new(),
        });
        let mut following = first;
        // Filled in place: a grant is too large to move for nothing.
        if let Reply::Grant(grant) = &mut part {
            grant.blocks.extend(blocks.take(GRANT_BLOCKS_MAX));
            following += grant.blocks.len() as u32;
        }
        reply(&part);
        following
    }
}

impl Controller<'_> {
    /// The blocks of a running job as grants.
    pub(super) fn emit_blocks(&self, job: JobId, reply: Sink<'_>) {
        if let Some(slot) = self.jobs.find(job) {
            Granted::new(self.allocator.held(), self.jobs.get(slot)).emit(reply);
        }
    }

    /// Where the job is that was submitted last: if it waits, behind all others.
    pub(super) fn state_of_latest(&self, slot: Slot) -> JobState {
        state(self.jobs.get(slot), || self.jobs.waiting_len() - 1)
    }
}

fn state(job: &JobSlot, ahead: impl FnOnce() -> u32) -> JobState {
    match job.is_running() {
        true => JobState::Running {
            processors: job.processors(),
        },
        false => JobState::Waiting { ahead: ahead() },
    }
}

impl View<'_, '_> {
    /// Answers a query. Any other command is answered with the statistics, and not carried out.
    pub fn answer(&self, query: &Command, reply: Sink<'_>) {
        let outcome = match *query {
            Command::QueryJob { job } => self.query(job, reply),
            Command::Blocks { job, from } => self.blocks_from(job, from, reply),
            Command::ListJobs { on, from } => self.list(on, from, reply),
            Command::Occupancy { from } => self.occupancy_chunk(from, reply),
            _ => {
                reply(&Reply::Statistics(self.statistics()));
                Ok(())
            }
        };
        if let Err(error) = outcome {
            reply(&Reply::Error(error));
        }
    }

    fn query(&self, job: JobId, reply: Sink<'_>) -> Result<(), Error> {
        let slot = self.jobs.find(job).ok_or(Error::UnknownJob)?;
        let entry = self.jobs.get(slot);
        reply(&Reply::Job(JobReport {
            job,
            request: *entry.request(),
            submitted: entry.submitted(),
            state: state(entry, || self.jobs.queue().ahead(slot)),
            blocks: entry.blocks_len(),
        }));
        Ok(())
    }

    fn blocks_from(&self, job: JobId, from: u32, reply: Sink<'_>) -> Result<(), Error> {
        let slot = self.jobs.find(job).ok_or(Error::UnknownJob)?;
        let entry = self.jobs.get(slot);
        if from >= entry.blocks_len() {
            return Err(Error::NoBlock {
                held: entry.blocks_len(),
            });
        }
        let granted = Granted::new(self.held, entry);
        granted.emit_part(from, &mut granted.blocks().skip(from as usize), reply);
        Ok(())
    }

    fn list(&self, on: Option<Block>, from: u32, reply: Sink<'_>) -> Result<(), Error> {
        let grid = self.occupancy.grid();
        if let Some(block) = on {
            check_block(grid, block)?;
        }
        let mut jobs = Vec::new();
        let mut next = None;
        for (following, job) in self.jobs.jobs_from(from) {
            if on.is_some_and(|block| !is_on(grid, self.held, job, block)) {
                continue;
            }
            if jobs.push((job.id(), job.processors())).is_err() {
                // It did not fit, so the next chunk begins with it.
                next = Some(following - 1);
                break;
            }
        }
        reply(&Reply::Jobs(JobList { jobs, next }));
        Ok(())
    }

    fn occupancy_chunk(&self, from: NodeId, reply: Sink<'_>) -> Result<(), Error> {
        let occupancy = self.occupancy;
        let nodes = occupancy.grid().nodes();
        if from.0 >= nodes {
            return Err(Error::UnknownNode(from));
        }
        let from = NodeId(from.0 / 8 * 8);
        let bytes = ((nodes - from.0).div_ceil(8) as usize).min(OCCUPANCY_BYTES_MAX);
        let pack = |is_faulty| {
            let mut bits = Vec::new();
            // There is room.
            let _ = bits.resize_default(bytes);
            occupancy.pack(is_faulty, from.0, &mut bits);
            bits
        };
        reply(&Reply::Occupancy(OccupancyChunk {
            from,
            nodes,
            busy: pack(false),
            faulty: pack(true),
        }));
        Ok(())
    }
}
