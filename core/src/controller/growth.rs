//! By how much what is saved may become longer. Who saves it where there is little room asks before a command is carried out: all that has been accepted can
//! then be saved at any later time.

use super::Controller;
#[cfg(feature = "leases")]
use super::leases::SavedLease;
use super::state::SavedRunning;
use crate::checkpoint::{NUMBERS_MAX, item_len};
use crate::jobs::JobSlot;
use crate::message::Command;
use crate::request::{JobId, Request, Ticks};
use crate::scheduler::SchedulerKind;
use crate::strategy::{Holds, Strategy};

/// The longest time, the most attempts, and the most events that came later, for which room is left. What is beyond is longer than was said.
const TIME: Ticks = (1 << 42) - 1;
const ATTEMPTS: u32 = (1 << 21) - 1;
const EVENTS: u64 = (1 << 35) - 1;
/// Bytes that are added when a job begins to run, beside its blocks. With a block that is more than a reservation has, for any time.
const GRANT: usize = bytes_of(TIME) + bytes_of(EVENTS);
/// Bytes of what a strategy that looks ahead remembers of a request: kind, two sides, and whether they may be rotated.
const WANTED: usize = 1 + 3 + 3 + 1;
/// Numbers of an item, at least, and the bytes of the item beside them.
const NUMBERS: usize = NUMBERS_MAX - 2;
const ITEM: usize = 2;

impl Controller<'_> {
    /// At most so many bytes may be added to a checkpoint ([`Controller::save`]) by this command and by what follows from it: a grant, or a reservation, but not longer times, which
    /// [`Controller::growth_by_time`] counts. 0 for a command that adds nothing for good.
    ///
    /// # Time complexity
    ///
    /// O(waiting jobs) for a job, else O(1).
    pub fn growth(&self, command: &Command) -> usize {
        match command {
            Command::Submit { job, request } => self.growth_of_job(*job, request, 0),
            #[cfg(feature = "leases")]
            Command::SubmitLeased { job, request, .. } => {
                self.growth_of_job(*job, request, lease_len(*job))
            }
            #[cfg(feature = "leases")]
            Command::Lease { job, ticks: 1.. } => match self.jobs.find(*job) {
                Some(slot) if self.jobs.lease(slot).is_none() => lease_len(*job),
                // No such job, or a renewal.
                _ => 0,
            },
            Command::MarkFaulty { block } if self.machine().contains(*block) => {
                let working = self.machine().nodes() - self.occupancy().faulty_count();
                self.bytes_of_nodes(self.machine().area(*block).min(working) as usize)
            }
            _ => 0,
        }
    }

    /// At most so many bytes are added to a checkpoint without a further command, or by commands of which [`Controller::growth`] says 0: by what is granted to the jobs that wait,
    /// and as times and counts become longer.
    ///
    /// # Time complexity
    ///
    /// O(jobs).
    pub fn growth_by_time(&self) -> usize {
        let age = |since: Ticks| spare(TIME, self.clock.saturating_sub(since));
        let job = |job: &JobSlot| {
            let counts = [job.attempts(), job.misses()];
            let counts = counts.map(|count| spare(ATTEMPTS.into(), count.into()));
            age(job.submitted()) + counts.iter().sum::<usize>()
        };
        let running = self.jobs.running().map(|slot| {
            let later = self.events.saturating_sub(slot.grant_number());
            job(slot) + age(slot.granted_at()) + spare(EVENTS, later)
        });
        let queue = self.jobs.queue();
        let waiting = queue
            .slots()
            .map(|slot| job(queue.get(slot)) + GRANT + ITEM);
        let growth = spare(TIME, self.clock) + running.sum::<usize>() + waiting.sum::<usize>();
        // A renewal may be for any time.
        #[cfg(feature = "leases")]
        let growth = {
            let ends = self.jobs.save_leases().map(|(_, ends)| ends);
            growth + ends.map(|ends| spare(Ticks::MAX, ends)).sum::<usize>()
        };
        growth + self.bytes_of_nodes(self.nodes_of_queue())
    }

    fn growth_of_job(&self, job: JobId, request: &Request, lease: usize) -> usize {
        // It is refused.
        if self.jobs.find(job).is_some() {
            return 0;
        }
        let nodes = match self.configuration.strategy.holds() {
            Holds::Processors => {
                let most = self.nodes_to_grant(self.jobs.waiting_len() + 1);
                let left = most.saturating_sub(self.nodes_of_queue());
                self.nodes_of(request).min(left)
            }
            _ => self.nodes_of(request),
        };
        let wanted = match self.strategy().looks_ahead() {
            true => WANTED,
            false => 0,
        };
        let running = SavedRunning {
            job: self.jobs.longest(job, *request, TIME, ATTEMPTS),
            age: TIME,
            later: EVENTS,
        };
        item_len(&running) + ITEM + self.bytes_of_nodes(nodes) + wanted + lease
    }

    /// The numbers of nodes in the blocks that a request may be granted, or that may be reserved
    /// for it.
    fn nodes_of(&self, request: &Request) -> usize {
        match self.configuration.strategy.holds() {
            Holds::OneBlock => 2,
            Holds::TwoBlocks => 4,
            // A block has two numbers, and two processors or more, or one. One block that is
            // reserved has two.
            Holds::Processors => {
                let processors = request.processors.min(self.machine().nodes()) as usize;
                match self.may_reserve_blocks() {
                    true => processors.max(2),
                    false => processors,
                }
            }
        }
    }

    /// Whether blocks may be reserved for jobs that wait, not just a number of processors.
    fn may_reserve_blocks(&self) -> bool {
        let scheduler = self.configuration.scheduler;
        let reserves = matches!(
            scheduler,
            SchedulerKind::Easy { .. } | SchedulerKind::Conservative
        );
        reserves && !self.strategy().takes_any()
    }

    /// The same of all jobs that wait.
    fn nodes_of_queue(&self) -> usize {
        let queue = self.jobs.queue();
        let jobs = queue.slots().map(|slot| queue.get(slot).request());
        let nodes = jobs.map(|request| self.nodes_of(request)).sum();
        match self.configuration.strategy.holds() {
            Holds::Processors => self.nodes_to_grant(queue.len()).min(nodes),
            _ => nodes,
        }
    }

    /// All jobs together, of which so many wait, have no more numbers: as many as there are nodes,
    /// as blocks are disjoint; those that run have one for each block, or two. Where blocks are
    /// reserved there are at most as many of them as nodes, together with those of jobs that run,
    /// each with two numbers, and one for each job that waits.
    fn nodes_to_grant(&self, waiting: u32) -> usize {
        let blocks = self.jobs.running().map(JobSlot::blocks_len).sum::<u32>();
        let nodes = self.machine().nodes();
        let numbers = match self.may_reserve_blocks() {
            true => 2 * (nodes + waiting),
            false => nodes,
        };
        numbers.saturating_sub(blocks) as usize
    }

    /// Of so many numbers of nodes.
    fn bytes_of_nodes(&self, numbers: usize) -> usize {
        // Twice the node and 1 more.
        let each = bytes_of(2 * u64::from(self.machine().nodes()));
        numbers * each + numbers.div_ceil(NUMBERS) * ITEM
    }
}

/// The bytes of an item with the end of a lease, at most.
#[cfg(feature = "leases")]
fn lease_len(job: JobId) -> usize {
    let ends = Ticks::MAX;
    item_len(&SavedLease::Runs { job, ends })
}

/// So many bytes longer is the one number than the other.
const fn spare(most: u64, now: u64) -> usize {
    bytes_of(most).saturating_sub(bytes_of(now))
}

/// The bytes of a number, seven bits each.
const fn bytes_of(number: u64) -> usize {
    (u64::BITS - (number | 1).leading_zeros()).div_ceil(7) as usize
}
