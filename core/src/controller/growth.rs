//! By how much what is saved may become longer. Who saves it where there is little room asks before a command is carried out: all that has been accepted can
//! then be saved at any later time.

use super::Controller;
use crate::message::Command;
use crate::request::Request;
use crate::strategy::Holds;

/// Bytes of a saved job beside its request: kind, slot, name, how long ago it came, and how often it tried; 2^42 ticks, 2^21 times.
const JOB: usize = 1 + 3 + 5 + 6 + 3 + 3;
/// Bytes of a request beside its extents: the processors, flags, and an estimate.
const REQUEST: usize = 1 + 4 + 1 + 11;
/// Bytes of an extent.
const EXTENT: usize = 3;
/// Bytes of a grant beside its blocks, or of a reservation: since when, and the number of the event or two nodes.
const GRANT: usize = 6 + 8;
/// Bytes of a lease: kind, variant, name and end.
#[cfg(feature = "leases")]
const LEASE: usize = 1 + 1 + 5 + 10;
/// Numbers of an item, at least, and the bytes of the item beside them.
const NUMBERS: usize = 14;
const ITEM: usize = 2;

impl Controller<'_> {
    /// At most about so many bytes longer becomes what [`Controller::save`] hands over by this command and all that follows from it later on, be it that a job is granted, or
    /// that something is reserved for it. 0 for a command that makes nothing longer for good.
    ///
    /// Times that grow by factors and counts beyond millions may add some bytes a job.
    pub fn growth(&self, command: &Command) -> usize {
        match command {
            Command::Submit { request, .. } => self.growth_of_job(request),
            #[cfg(feature = "leases")]
            Command::SubmitLeased { request, .. } => self.growth_of_job(request) + LEASE,
            #[cfg(feature = "leases")]
            Command::Lease { job, .. } => match self.jobs.find(*job) {
                Some(slot) if self.jobs.lease(slot).is_none() => LEASE,
                // None, or a renewal.
                _ => 0,
            },
            Command::MarkFaulty { block } if self.machine().contains(*block) => {
                self.bytes_of_nodes(self.machine().area(*block) as usize)
            }
            _ => 0,
        }
    }

    /// The same for what the jobs that wait have before them.
    ///
    /// # Time complexity
    ///
    /// O(waiting jobs).
    pub fn growth_of_queue(&self) -> usize {
        let queue = self.jobs.queue();
        let jobs = queue.slots().map(|slot| queue.get(slot));
        jobs.map(|job| self.growth_of_grant(job.request())).sum()
    }

    fn growth_of_job(&self, request: &Request) -> usize {
        let extents = self.machine().dimensions().max(2);
        // Strategies with foresight remember the request as well.
        JOB + 2 * (REQUEST + EXTENT * extents) + self.growth_of_grant(request)
    }

    fn growth_of_grant(&self, request: &Request) -> usize {
        let nodes = match self.configuration.strategy.holds() {
            Holds::OneBlock => 2,
            Holds::TwoBlocks => 4,
            // A block has two numbers, and two processors or more, or one.
            Holds::Processors => {
                let asked = request.processors.min(self.machine().nodes());
                asked as usize
            }
        };
        GRANT + self.bytes_of_nodes(nodes)
    }

    /// Of so many numbers of nodes.
    fn bytes_of_nodes(&self, numbers: usize) -> usize {
        // Twice the node and 1 more, seven bits a byte.
        let bits = (2 * self.machine().nodes()).ilog2() + 1;
        numbers * bits.div_ceil(7) as usize + numbers.div_ceil(NUMBERS) * ITEM
    }
}
