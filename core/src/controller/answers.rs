//! Grants, and the answers to queries.

use heapless::Vec;

use super::{Controller, Sink};
use crate::allocator::Allocator;
use crate::error::Error;
use crate::grid::Block;
use crate::jobs::{JobSlot, Slot};
use crate::message::{
    GRANT_BLOCKS_MAX, Grant, JobList, JobReport, JobState, OCCUPANCY_BYTES_MAX, OccupancyChunk,
    Reply,
};
use crate::node::NodeId;
use crate::request::JobId;

/// A job that has just been given processors.
#[derive(Clone, Copy, Debug)]
pub struct Granted<'a, 'm> {
    allocator: &'a Allocator<'m>,
    job: &'a JobSlot,
}

impl<'a, 'm> Granted<'a, 'm> {
    pub(super) const fn new(allocator: &'a Allocator<'m>, job: &'a JobSlot) -> Self {
        Granted { allocator, job }
    }

    /// The job.
    pub const fn job(&self) -> &'a JobSlot {
        self.job
    }

    /// Its blocks, in the order in which the strategy named them.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + 'a {
        self.allocator.chain(self.job.blocks())
    }

    /// Replies with the grant, in as many parts as it takes.
    pub(super) fn emit(&self, reply: Sink<'_>) {
        let job = self.job;
        let mut blocks = self.blocks().peekable();
        let mut first = 0;
        while blocks.peek().is_some() {
            let mut part = Reply::Grant(Grant {
                job: job.id(),
                at: job.granted_at(),
                attempts: job.attempts(),
                misses: job.misses(),
                blocks_total: job.blocks_len(),
                first,
                blocks: Vec::new(),
            });
            // Filled in place: a grant is too large to move for nothing.
            if let Reply::Grant(grant) = &mut part {
                let chunk = blocks.by_ref().take(GRANT_BLOCKS_MAX);
                grant.blocks.extend(chunk);
                first += grant.blocks.len() as u32;
            }
            reply(&part);
        }
    }
}

impl<'m> Controller<'m> {
    fn state_of(&self, slot: Slot) -> JobState {
        let job = self.jobs.get(slot);
        if job.is_running() {
            JobState::Running {
                processors: job.processors(),
            }
        } else {
            JobState::Waiting {
                ahead: self.jobs.queue().ahead(slot),
            }
        }
    }

    pub(super) fn query(&self, job: JobId, reply: Sink<'_>) -> Result<(), Error> {
        let slot = self.jobs.find(job).ok_or(Error::UnknownJob)?;
        let entry = self.jobs.get(slot);
        if entry.is_running() {
            Granted::new(&self.allocator, entry).emit(reply);
        }
        reply(&Reply::Job(JobReport {
            job,
            request: *entry.request(),
            submitted: entry.submitted(),
            state: self.state_of(slot),
        }));
        Ok(())
    }

    pub(super) fn list(&self, from: u32, reply: Sink<'_>) {
        let mut jobs = Vec::new();
        let mut next = None;
        for (following, job) in self.jobs.jobs_from(from) {
            if jobs.push((job.id(), job.processors())).is_err() {
                // It did not fit, so the next chunk begins with it.
                next = Some(following - 1);
                break;
            }
        }
        reply(&Reply::Jobs(JobList { jobs, next }));
    }

    pub(super) fn occupancy_chunk(&self, from: NodeId, reply: Sink<'_>) -> Result<(), Error> {
        let occupancy = self.occupancy();
        let nodes = occupancy.grid().nodes();
        if from.0 >= nodes || !from.0.is_multiple_of(8) {
            return Err(Error::UnknownNode(from));
        }
        let bytes = ((nodes - from.0).div_ceil(8) as usize).min(OCCUPANCY_BYTES_MAX);
        let pack = |bit: &dyn Fn(NodeId) -> bool| {
            (0..bytes as u32)
                .map(|byte| {
                    let first = from.0 + byte * 8;
                    let bits = (first..nodes.min(first + 8)).zip(0..);
                    bits.fold(0, |sum, (node, at)| sum | u8::from(bit(NodeId(node))) << at)
                })
                .collect()
        };
        reply(&Reply::Occupancy(OccupancyChunk {
            from,
            nodes,
            busy: pack(&|node| occupancy.is_busy(node)),
            faulty: pack(&|node| occupancy.is_faulty(node)),
        }));
        Ok(())
    }
}
