//! A read-only view of a controller: [`View`] answers queries and reports events.

use core::iter;

use heapless::Vec;

use crate::error::Error;
use crate::grid::Shape;
use crate::grid::{Block, Grid};
use crate::job_id::JobId;
use crate::jobs::{Ended, JobSlot, JobTable, Slot};
use crate::machine::{Description, Slice};
use crate::message::SliceReport;
use crate::message::{
    Answer, BlockList, Capacity, Configuration, Counts, Event, EventKind, JobList, JobReport,
    JobState, OCCUPANCY_BYTES_MAX, OccupancyChunk, Query, Statistics,
};
use crate::node::NodeId;
use crate::occupancy::Occupancy;
use crate::pool::{BlockPool, Chain};
use crate::scheduler::kind::SchedulerKind;
use crate::slices::Slices;
use crate::strategy::kind::StrategyKind;
use crate::word::WORD_BITS;

/// The part of a view that does not change during an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status<'a> {
    pub(crate) strategy: StrategyKind,
    pub(crate) scheduler: &'a SchedulerKind,
    /// The number of the latest event.
    pub(crate) events: u64,
    /// The most attempts that may still follow.
    pub(crate) left: u32,
    pub(crate) counts: &'a Counts,
    /// The entries that a strategy's list has room for.
    pub(crate) list: u32,
    /// The description of the machine.
    pub(crate) description: Option<&'a Description>,
}

/// A controller between two changes, or in the middle of one ([`Pauses`](crate::Pauses)).
#[derive(Clone, Copy, Debug)]
pub struct View<'a, 'm> {
    jobs: &'a JobTable<'m>,
    occupancy: &'a Occupancy<'m>,
    pool: &'a BlockPool<'m>,
    status: Status<'a>,
}

impl<'a, 'm> View<'a, 'm> {
    pub(crate) const fn new(
        jobs: &'a JobTable<'m>,
        occupancy: &'a Occupancy<'m>,
        pool: &'a BlockPool<'m>,
        status: Status<'a>,
    ) -> Self {
        View {
            jobs,
            occupancy,
            pool,
            status,
        }
    }

    /// The number of the latest event.
    pub const fn events(&self) -> u64 {
        self.status.events
    }

    /// The most attempts that may still follow from the change under way.
    pub const fn left(&self) -> u32 {
        self.status.left
    }

    /// The same view, which shows that at least this many attempts may follow: a caller may have
    /// work of its own left.
    #[must_use]
    pub const fn with_left(mut self, left: u32) -> Self {
        if self.status.left < left {
            self.status.left = left;
        }
        self
    }

    /// The events after the one of this number, in order. A caller that remembers the number of the
    /// last event that it has read reads each event exactly once.
    ///
    /// A grant is reported as long as its job runs. The latest
    /// [`LEASES_ENDED_MAX`](crate::jobs::LEASES_ENDED_MAX) of the ends of leases and the
    /// preemptions of jobs are reported.
    ///
    /// # Time complexity
    ///
    /// O(1) for each event.
    pub fn events_since(&self, number: u64) -> impl Iterator<Item = Event> + use<'a, 'm> {
        let pool = self.pool;
        let event = move |(number, job): (u64, &JobSlot)| {
            let first = pool.iter(job.blocks()).next();
            first.map(|block| granted(number, job, block))
        };
        let grants = self.jobs.granted_since(number).filter_map(event);
        let mut grants = grants.peekable();
        let mut ends = self.jobs.ended_since(number).peekable();
        iter::from_fn(move || {
            if Ended::BUILT {
                let grant = grants.peek();
                let is_next = |&(end, _): &(u64, _)| grant.is_none_or(|grant| end < grant.number);
                if let Some((number, ended)) = ends.next_if(is_next) {
                    return Some(Event {
                        number,
                        job: ended.job,
                        at: ended.at,
                        processors: ended.processors,
                        what: ended.kind(),
                    });
                }
            }
            grants.next()
        })
    }

    /// The blocks of a job, in the order in which the strategy named them. There are none while the
    /// job waits, or if there is no such job.
    pub fn blocks(&self, job: JobId) -> impl Iterator<Item = Block> + Clone + use<'a, 'm> {
        let slot = self.jobs.find(job);
        let blocks = slot.map_or(Chain::EMPTY, |slot| self.jobs.get(slot).blocks());
        self.pool.iter(blocks)
    }

    /// Answers a query. [`Query::Largest`] and `Query::Why` need searches, which only
    /// `Controller::answer` makes; this method refuses them as busy.
    ///
    /// # Errors
    ///
    /// The errors of the method for each query.
    pub fn answer(&self, query: &Query) -> Result<Answer, Error> {
        Ok(match *query {
            Query::Job { job } => Answer::Job(self.job(job)?),
            Query::Blocks { job, from } => Answer::Blocks(self.block_list(job, from)?),
            Query::Jobs { on, from } => Answer::Jobs(self.job_list(on, from)?),
            Query::Occupancy { from } => Answer::Occupancy(self.occupancy_chunk(from)?),
            Query::Statistics => Answer::Statistics(self.statistics()),
            #[cfg(feature = "machine")]
            Query::Slice { job } => Answer::Slice(self.slice_report(job)?),
            #[cfg(not(feature = "machine"))]
            Query::Slice { .. } => return Err(Error::MachinesNotBuilt),
            Query::Largest if Description::BUILT => {
                return Err(Error::Busy {
                    left: self.status.left.max(1),
                });
            }
            Query::Largest => return Err(Error::MachinesNotBuilt),
            #[cfg(feature = "reasons")]
            Query::Why { .. } => {
                return Err(Error::Busy {
                    left: self.status.left.max(1),
                });
            }
        })
    }

    fn find(&self, job: JobId) -> Result<(Slot, &'a JobSlot), Error> {
        let slot = self.jobs.find(job).ok_or(Error::UnknownJob)?;
        Ok((slot, self.jobs.get(slot)))
    }

    /// About one job. O(waiting jobs).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownJob`].
    pub fn job(&self, job: JobId) -> Result<JobReport, Error> {
        let (slot, entry) = self.find(job)?;
        Ok(JobReport {
            job,
            request: *entry.request(),
            submitted: entry.submitted(),
            state: if entry.is_running() {
                JobState::Running {
                    processors: entry.processors(),
                }
            } else {
                JobState::Waiting {
                    ahead: self.jobs.queue().ahead(slot),
                }
            },
            blocks: entry.blocks_len(),
        })
    }

    /// Some of the blocks of a job, from this index on. O(blocks of the job).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownJob`]; [`Error::NoBlock`] if the job holds fewer.
    pub fn block_list(&self, job: JobId, from: u32) -> Result<BlockList, Error> {
        let (_, entry) = self.find(job)?;
        let total = entry.blocks_len();
        if from >= total {
            return Err(Error::NoBlock { held: total });
        }
        let mut blocks = Vec::new();
        let rest = self.pool.iter(entry.blocks()).skip(from as usize);
        blocks.extend(rest.take(blocks.capacity()));
        Ok(BlockList {
            job,
            granted_at: entry.granted_at(),
            total,
            first: from,
            blocks,
        })
    }

    /// The slice that a job holds; for a gang, the first slice. O(blocks of the job) for each form
    /// in which its request may be placed.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownJob`]; [`Error::NoSlice`] if it waits, if the strategy gives its jobs no
    /// shape, or if the machine has more than four dimensions.
    pub fn slice_report(&self, job: JobId) -> Result<SliceReport, Error> {
        let slice = self.slice(job)?;
        let sides = Shape::new(&slice.sides()).map_err(|_| Error::NoSlice)?;
        Ok(SliceReport {
            job,
            shape: slice.shape(),
            sides,
            folded: slice.folded().map(|at| at as u8),
            rings: slice.rings(),
        })
    }

    /// The slice that a job holds (for a gang, the first slice), with the place of each of its
    /// processors.
    ///
    /// # Errors
    ///
    /// Those of [`View::slice_report`].
    pub fn slice(&self, job: JobId) -> Result<Slice, Error> {
        let (_, entry) = self.find(job)?;
        if entry.request().is_gang() {
            return self.slice_of_gang(job, 0);
        }
        self.slice_in(entry, &self.blocks(job))
    }

    /// The slice of a gang with this number, from 0; [`View::slice`] for a job of one slice.
    ///
    /// # Errors
    ///
    /// Those of [`View::slice_report`]; [`Error::NoSlice`] if the gang has fewer slices.
    pub fn slice_of_gang(&self, job: JobId, number: u32) -> Result<Slice, Error> {
        let (_, entry) = self.find(job)?;
        self.slice_in(entry, &self.blocks_of_slice(job, number))
    }

    /// The blocks of one slice of a job ([`Slices::blocks_of`]); none if there is no such slice.
    pub fn blocks_of_slice(
        &self,
        job: JobId,
        number: u32,
    ) -> impl Iterator<Item = Block> + Clone + use<'a, 'm> {
        let entry = self.jobs.find(job).map(|slot| self.jobs.get(slot));
        let slices = entry.map_or(Slices::ONE, |job| job.request().slices);
        slices.blocks_of(self.occupancy.grid(), self.blocks(job), number)
    }

    fn slice_in(
        &self,
        entry: &JobSlot,
        blocks: &(impl Iterator<Item = Block> + Clone),
    ) -> Result<Slice, Error> {
        let (description, grid) = (self.description(), self.occupancy.grid());
        let slice = Slice::of(
            description,
            grid,
            self.status.strategy,
            entry.request(),
            blocks,
        );
        slice.ok_or(Error::NoSlice)
    }

    /// Some of the jobs: all, or those that hold processors of the block. `from` is 0 at first,
    /// then the `next` of the last list. O(jobs).
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchBlock`].
    pub fn job_list(&self, on: Option<Block>, from: u32) -> Result<JobList, Error> {
        let grid = self.occupancy.grid();
        let is_on = |job: &JobSlot, block: Block| {
            let mut blocks = self.pool.iter(job.blocks());
            blocks.any(|held| grid.overlap(held, block))
        };
        if let Some(block) = on {
            check_block(grid, block)?;
        }
        let mut list = JobList {
            jobs: Vec::new(),
            next: None,
        };
        for (following, job) in self.jobs.jobs_from(from) {
            if on.is_some_and(|block| !is_on(job, block)) {
                continue;
            }
            if list.jobs.push((job.id(), job.processors())).is_err() {
                // The next chunk begins with this job.
                list.next = Some(following - 1);
                break;
            }
        }
        Ok(list)
    }

    /// Some of the occupancy, from this processor on, its number rounded down to a multiple of 8.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNode`].
    pub fn occupancy_chunk(&self, from: NodeId) -> Result<OccupancyChunk, Error> {
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
        Ok(OccupancyChunk {
            from,
            nodes,
            busy: pack(false),
            faulty: pack(true),
        })
    }

    /// The description of the machine, if the controller was lent one.
    pub const fn description(&self) -> Option<&'a Description> {
        if Description::BUILT {
            self.status.description
        } else {
            None
        }
    }

    /// A digest (`Description::digest`) of the description of the machine; `None` without a
    /// description.
    pub fn digest(&self) -> Option<u32> {
        self.description().map(Description::digest)
    }

    /// The machine, the strategy and the scheduler.
    pub const fn configuration(&self) -> Configuration {
        Configuration {
            machine: *self.occupancy.grid(),
            strategy: self.status.strategy,
            scheduler: *self.status.scheduler,
        }
    }

    /// The numbers of words, jobs and blocks that there is room for.
    pub fn capacity(&self) -> Capacity {
        Capacity {
            words: self.occupancy.capacity_words() as u32,
            word_bits: WORD_BITS as u8,
            jobs: self.jobs.capacity(),
            blocks: self.pool.capacity(),
            list: self.status.list,
        }
    }

    /// The numbers of processors and jobs, and the counts so far.
    pub fn statistics(&self) -> Statistics {
        let absent = self.description().filter(|_| Description::BUILT);
        let absent = absent.map_or(0, Description::absent_processors);
        Statistics {
            nodes: self.occupancy.grid().nodes() - absent,
            free: self.occupancy.free(),
            faulty: self.occupancy.faulty_count() - absent,
            waiting: self.jobs.waiting_len(),
            running: self.jobs.running_len(),
            counts: *self.status.counts,
        }
    }
}

/// The grant of a job that runs.
fn granted(number: u64, job: &JobSlot, block: Block) -> Event {
    Event {
        number,
        job: job.id(),
        at: job.granted_at(),
        processors: job.processors(),
        what: EventKind::Granted {
            attempts: job.attempts(),
            misses: job.misses(),
            blocks_total: job.blocks_len(),
            block,
        },
    }
}

/// # Errors
///
/// [`Error::NoSuchBlock`] if the block is not within the machine.
pub(crate) fn check_block(machine: &Grid, block: Block) -> Result<(), Error> {
    match machine.outside(block) {
        None => Ok(()),
        Some(dimension) => Err(Error::NoSuchBlock {
            dimension: dimension as u8,
        }),
    }
}
