//! By how much what is saved may become longer. Who saves it where there is little room asks before a command is carried out: all that has been accepted can
//! then be saved at any later time.

use super::Controller;
use crate::jobs::JobSlot;
use crate::message::Command;
use crate::request::{JobId, Request, Ticks};
use crate::strategy::{Holds, Strategy};

/// The most bytes of a time, of a number of attempts, and of how many events came later: 2^42 ticks, 2^21 attempts, 2^35 events.
const TIME: usize = 6;
const ATTEMPTS: usize = 3;
const EVENTS: usize = 5;
/// Bytes of a saved job beside its name and its request: kind, slot, how long ago it came, and how often it tried in vain and otherwise.
const JOB: usize = 1 + 3 + TIME + 2 * ATTEMPTS;
/// Bytes of what a strategy that looks ahead remembers of a request: kind, two sides, and whether they may be rotated.
const WANTED: usize = 1 + 3 + 3 + 1;
/// Bytes of a grant beside its blocks, or of a reservation beside its two nodes.
const GRANT: usize = TIME + EVENTS + 3;
/// Bytes of a lease: kind, variant, name and end.
#[cfg(feature = "leases")]
const LEASE: usize = 1 + 1 + 5 + 10;
/// Numbers of an item, at least, and the bytes of the item beside them.
const NUMBERS: usize = 14;
const ITEM: usize = 2;

impl Controller<'_> {
    /// At most about so many bytes longer becomes what [`Controller::save`] hands over by this command and all that follows from it later on, be it that a job is granted, or
    /// that something is reserved for it, beside what [`Controller::growth_by_time`] says. 0 for a command that makes nothing longer for good.
    ///
    /// # Time complexity
    ///
    /// O(waiting jobs) for a job, else O(1).
    pub fn growth(&self, command: &Command) -> usize {
        match command {
            Command::Submit { job, request } => self.growth_of_job(*job, request),
            #[cfg(feature = "leases")]
            Command::SubmitLeased { job, request, .. } => self.growth_of_job(*job, request) + LEASE,
            #[cfg(feature = "leases")]
            Command::Lease { job, .. } => match self.jobs.find(*job) {
                Some(slot) if self.jobs.lease(slot).is_none() => LEASE,
                // None, or a renewal.
                _ => 0,
            },
            Command::MarkFaulty { block } if self.machine().contains(*block) => {
                let working = self.machine().nodes() - self.occupancy().faulty_count();
                self.bytes_of_nodes(self.machine().area(*block).min(working) as usize)
            }
            _ => 0,
        }
    }

    /// At most so many bytes longer it becomes without a further command: by what is granted to the jobs that wait, and as times and counts become longer.
    ///
    /// # Time complexity
    ///
    /// O(jobs).
    pub fn growth_by_time(&self) -> usize {
        let age = |since: Ticks| TIME.saturating_sub(bytes_of(self.clock.saturating_sub(since)));
        let job = |job: &JobSlot| {
            let counts = [job.attempts(), job.misses()];
            let counts = counts.map(|count| ATTEMPTS.saturating_sub(bytes_of(count.into())));
            age(job.submitted()) + counts.iter().sum::<usize>()
        };
        let running = self.jobs.running().map(|slot| {
            let later = self.events.saturating_sub(slot.grant_number());
            job(slot) + age(slot.granted_at()) + EVENTS.saturating_sub(bytes_of(later))
        });
        let queue = self.jobs.queue();
        let waiting = queue
            .slots()
            .map(|slot| job(queue.get(slot)) + GRANT + ITEM);
        let growth = running.sum::<usize>() + waiting.sum::<usize>();
        growth + self.bytes_of_nodes(self.nodes_of_queue())
    }

    fn growth_of_job(&self, job: JobId, request: &Request) -> usize {
        let nodes = match self.configuration.strategy.holds() {
            Holds::Processors => {
                let left = self.nodes_to_grant().saturating_sub(self.nodes_of_queue());
                self.nodes_of(request).min(left)
            }
            _ => self.nodes_of(request),
        };
        let wanted = match self.strategy().looks_ahead() {
            true => WANTED,
            false => 0,
        };
        let job = JOB + bytes_of(job.0.into()) + bytes_of_request(request);
        job + GRANT + wanted + ITEM + self.bytes_of_nodes(nodes)
    }

    /// The numbers of nodes in the blocks that a request may be granted.
    fn nodes_of(&self, request: &Request) -> usize {
        match self.configuration.strategy.holds() {
            Holds::OneBlock => 2,
            Holds::TwoBlocks => 4,
            // A block has two numbers, and two processors or more, or one.
            Holds::Processors => request.processors.min(self.machine().nodes()) as usize,
        }
    }

    /// The same of all jobs that wait.
    fn nodes_of_queue(&self) -> usize {
        let queue = self.jobs.queue();
        let jobs = queue.slots().map(|slot| queue.get(slot).request());
        let nodes = jobs.map(|request| self.nodes_of(request)).sum();
        match self.configuration.strategy.holds() {
            Holds::Processors => self.nodes_to_grant().min(nodes),
            _ => nodes,
        }
    }

    /// All jobs together have no more numbers than there are nodes, as blocks are disjoint; those that run have one for each block, or two.
    fn nodes_to_grant(&self) -> usize {
        let blocks = self.jobs.running().map(JobSlot::blocks_len).sum::<u32>();
        self.machine().nodes().saturating_sub(blocks) as usize
    }

    /// Of so many numbers of nodes.
    fn bytes_of_nodes(&self, numbers: usize) -> usize {
        // Twice the node and 1 more.
        let each = bytes_of(2 * u64::from(self.machine().nodes()));
        numbers * each + numbers.div_ceil(NUMBERS) * ITEM
    }
}

/// At most: its extents and their number, the processors, flags, and an estimate.
fn bytes_of_request(request: &Request) -> usize {
    let extents = request.shape.extents();
    let extents = extents.iter().map(|&extent| bytes_of(extent.into()));
    let estimate = request.estimate.map_or(0, |ticks| bytes_of(ticks.get()));
    let processors = bytes_of(request.processors.into());
    1 + extents.sum::<usize>() + processors + 1 + 1 + estimate
}

/// The bytes of a number, seven bits each.
const fn bytes_of(number: u64) -> usize {
    let bits = u64::BITS - number.leading_zeros();
    if bits == 0 {
        1
    } else {
        bits.div_ceil(7) as usize
    }
}
