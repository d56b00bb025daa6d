//! The number of bytes by which a checkpoint may grow. A caller with little room for checkpoints
//! learns this number before a change takes effect, so that the state can be saved at any later
//! time.

use super::leases::SavedLease;
use super::{Controller, SavedRunning};
use crate::checkpoint::items::{NUMBERS_MAX, item_len};
use crate::job_id::JobId;
use crate::jobs::{JobSlot, Leases};
use crate::machine::Cubes;
use crate::message::Change;
use crate::request::{Request, Ticks};
use crate::scheduler::{SchedulerKind, ServedScheduler};
use crate::strategy::{Contiguity, ServedStrategy};

/// The longest time, the most attempts, and the most later events that the bound covers.
const TIME: Ticks = (1 << 42) - 1;
const ATTEMPTS: u32 = (1 << 21) - 1;
const EVENTS: u64 = (1 << 35) - 1;
/// Bytes that are added when a job begins to run, without its blocks. These bytes and one block
/// are more than a reservation takes, for any time.
const GRANT: usize = bytes_of(TIME) + bytes_of(EVENTS);
/// Bytes that a strategy that looks ahead saves of a request: kind, the number of extents, up to
/// six extents of which two take two bytes (their product is at most 2^20), and whether they may be
/// rotated.
const WANTED: usize = 1 + 1 + 8 + 1;
/// Bytes of the remembered end of a preempted job: kind, number, three numbers of [`Ended`] and the
/// job that preempted it.
///
/// [`Ended`]: crate::jobs::Ended
const PREEMPTED: usize =
    ITEM + 1 + bytes_of(EVENTS) + bytes_of(TIME) + 3 * bytes_of(u32::MAX as u64);
/// A lower bound of the numbers in a full item.
const NUMBERS: usize = NUMBERS_MAX - 2;
/// Bytes of an item in addition to its numbers: kind and length.
const ITEM: usize = 2;

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    /// [`Commit::adds`](crate::Commit::adds) of this change, which is about to take effect: 0 if it
    /// adds nothing for good.
    pub(in crate::controller) fn growth(&self, change: &Change) -> usize {
        match change {
            Change::Submit {
                job,
                request,
                lease,
            } => {
                let lease = lease.map_or(0, |_| lease_len(*job));
                self.growth_of_job(*job, request, lease)
            }
            // A renewal adds nothing.
            Change::Lease {
                job,
                ticks: Some(_),
            } if self.lease(*job).is_none() => lease_len(*job),
            Change::MarkFaulty { block } => {
                let working = self.machine().nodes() - self.occupancy().faulty_count();
                self.bytes_of_nodes(self.machine().area(*block).min(working) as usize)
            }
            // The new blocks may be more than the old ones.
            #[cfg(feature = "replace")]
            Change::Replace { job } => self.jobs.find(*job).map_or(0, |slot| {
                self.bytes_of_nodes(self.nodes_of(self.jobs.get(slot).request()))
            }),
            // The victims may be granted other blocks, and their ends are remembered.
            #[cfg(feature = "preemption")]
            Change::Preempt { victims, .. } => {
                let running = victims.iter().filter_map(|victim| self.jobs.find(victim));
                let each = running.map(|slot| {
                    let nodes = self.nodes_of(self.jobs.get(slot).request());
                    self.bytes_of_nodes(nodes) + GRANT + ITEM + PREEMPTED
                });
                each.sum()
            }
            _ => 0,
        }
    }

    /// The most bytes that are added to a checkpoint without a further change, or by changes whose
    /// [`Commit::adds`](crate::Commit::adds) is 0: by grants to the jobs that wait, and as times
    /// and counts become longer.
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
        let leases = self.jobs.save_leases();
        let leases = leases.map(|(_, ends)| spare(Ticks::MAX, ends));
        growth + leases.sum::<usize>() + self.bytes_of_nodes(self.nodes_of_queue())
    }

    fn growth_of_job(&self, job: JobId, request: &Request, lease: usize) -> usize {
        let nodes = match self.strategy().facts().holds {
            Contiguity::Processors | Contiguity::Blocks | Contiguity::Parts => {
                let most = self.nodes_to_grant(self.jobs.waiting_len() + 1);
                let left = most.saturating_sub(self.nodes_of_queue());
                self.nodes_of(request).min(left)
            }
            _ => self.nodes_of(request),
        };
        let wanted = if self.strategy().facts().looks_ahead {
            WANTED
        } else {
            0
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
        let slices = request.slices() as usize;
        slices.saturating_mul(self.nodes_of_slice(&request.one_slice()))
    }

    fn nodes_of_slice(&self, request: &Request) -> usize {
        match self.strategy().facts().holds {
            Contiguity::OneBlock => 2,
            Contiguity::TwoBlocks => 4,
            // A block of two processors or more has two numbers, a block of one processor has one
            // number. A single block that is reserved has two numbers.
            holds @ (Contiguity::Processors | Contiguity::Blocks | Contiguity::Parts) => {
                let processors = holds.requested(request).min(self.machine().nodes());
                // The last page of a job may hold more than it requests: a block, if only one
                // processor of it is requested.
                let has_pages =
                    holds == Contiguity::Processors && !self.strategy().facts().takes_any;
                let processors = processors.next_multiple_of(if has_pages { 2 } else { 1 });
                // With `Contiguity::Parts` each block lies in a cube of its own and has two
                // numbers.
                let in_cubes = self.cubes().filter(|_| holds == Contiguity::Parts);
                let most = in_cubes.map_or(u32::MAX, |cubes| 2 * cubes);
                let processors = processors.min(most) as usize;
                if self.may_reserve_blocks() {
                    processors.max(2)
                } else {
                    processors
                }
            }
        }
    }

    /// The number of cubes of the machine, if its description has some.
    fn cubes(&self) -> Option<u32> {
        let description = self.strategy().description()?;
        Some(Cubes::of(description)?.count)
    }

    /// Whether blocks may be reserved for jobs that wait, not just a number of processors.
    fn may_reserve_blocks(&self) -> bool {
        let scheduler = self.scheduler_kind;
        let reserves = matches!(
            scheduler,
            SchedulerKind::Easy { .. } | SchedulerKind::Conservative
        );
        reserves && !self.strategy().facts().takes_any
    }

    /// The sum of [`Controller::nodes_of`] over all jobs that wait.
    fn nodes_of_queue(&self) -> usize {
        let queue = self.jobs.queue();
        let jobs = queue.slots().map(|slot| queue.get(slot).request());
        let nodes = jobs.map(|request| self.nodes_of(request)).sum();
        match self.strategy().facts().holds {
            Contiguity::Processors | Contiguity::Blocks | Contiguity::Parts => {
                self.nodes_to_grant(queue.len()).min(nodes)
            }
            _ => nodes,
        }
    }

    /// The most numbers that jobs may add when `waiting` jobs wait. All jobs together have at most
    /// as many as there are nodes, since blocks are disjoint; a running job has one or two for each
    /// block. Where blocks are reserved, the reserved blocks and the blocks of running jobs are
    /// together at most as many as there are nodes, each with two numbers, and each waiting job has
    /// one number more.
    fn nodes_to_grant(&self, waiting: u32) -> usize {
        let blocks = self.jobs.running().map(JobSlot::blocks_len).sum::<u32>();
        let nodes = self.machine().nodes();
        let numbers = if self.may_reserve_blocks() {
            2 * (nodes + waiting)
        } else {
            nodes
        };
        numbers.saturating_sub(blocks) as usize
    }

    /// The bytes of this many numbers of nodes.
    fn bytes_of_nodes(&self, numbers: usize) -> usize {
        // Twice the node and 1 more.
        let each = bytes_of(2 * u64::from(self.machine().nodes()));
        numbers * each + numbers.div_ceil(NUMBERS) * ITEM
    }
}

/// The most bytes of an item with the end of a lease.
fn lease_len(job: JobId) -> usize {
    let ends = Ticks::MAX;
    if Leases::BUILT {
        item_len(&SavedLease::Runs { job, ends })
    } else {
        0
    }
}

/// The number of bytes by which the number may become longer.
const fn spare(most: u64, now: u64) -> usize {
    bytes_of(most).saturating_sub(bytes_of(now))
}

/// The bytes of a number, seven bits each.
const fn bytes_of(number: u64) -> usize {
    (u64::BITS - (number | 1).leading_zeros()).div_ceil(7) as usize
}
