//! What a client sends to the controller and what it receives: [`Command`] and [`Reply`].
//!
//! The same values travel in process and, serialised, over a serial line; `firmware/PROTOCOL.md` has
//! the bytes. A command is answered by any number of *parts* ([`Reply::Grant`]) and then exactly one
//! *final* reply. Whatever is longer than a reply can be is asked for in chunks (`from`).

use heapless::Vec;

use crate::error::Error;
use crate::grid::{Block, Grid};
#[cfg(feature = "leases")]
use crate::jobs::LeaseEnded;
use crate::node::NodeId;
use crate::request::{JobId, Request, Ticks};
use crate::scheduler::SchedulerKind;
use crate::strategy::StrategyKind;

/// The most blocks in one [`Grant`]; longer allocations take several.
pub const GRANT_BLOCKS_MAX: usize = 18;
/// The most jobs in one [`JobList`].
pub const LIST_JOBS_MAX: usize = 16;
/// The most bytes in one [`OccupancyChunk`].
pub const OCCUPANCY_BYTES_MAX: usize = 128;

/// What a client asks of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Command {
    /// Serves this machine in this way; only while no job waits or runs. Faults are forgotten.
    /// Answered by [`Reply::Done`].
    Configure(Configuration),
    /// A new job. Answered by grants, then [`Reply::Submitted`].
    Submit {
        /// The job's name, unused at the moment.
        job: JobId,
        /// What it asks for.
        request: Request,
    },
    /// The job has ended, or no longer waits. Answered by the grants that this brings about, then
    /// [`Reply::Released`].
    Release {
        /// The job's name.
        job: JobId,
    },
    /// Queries one job. Answered by [`Reply::Job`]; [`Controller::handle`](crate::Controller::handle) has the blocks of a
    /// running job come before it as grants.
    QueryJob {
        /// The job's name.
        job: JobId,
    },
    /// Reads the blocks of a running job. Answered by a [`Reply::Grant`], which is the final reply here.
    Blocks {
        /// The job's name.
        job: JobId,
        /// The place of the first block to read among all of the job's.
        from: u32,
    },
    /// Lists the jobs. Answered by [`Reply::Jobs`].
    ListJobs {
        /// Only those that hold processors of this block.
        on: Option<Block>,
        /// 0 at first, then the `next` of the last reply.
        from: u32,
    },
    /// Reads the occupancy. Answered by [`Reply::Occupancy`].
    Occupancy {
        /// The first processor of the chunk, which begins with the multiple of 8 that is not above it.
        from: NodeId,
    },
    /// Marks all processors of a block as faulty: one, a row, a column, any box. Jobs that hold some of them keep running; what they give back
    /// stays busy until [`Command::ClearFaulty`]. Answered by [`Reply::Fault`].
    MarkFaulty {
        /// The processors.
        block: Block,
    },
    /// Marks all processors of a block as working. Answered by the grants that this brings about, then
    /// [`Reply::Fault`].
    ClearFaulty {
        /// The processors.
        block: Block,
    },
    /// Reads the statistics. Answered by [`Reply::Statistics`].
    Statistics,
    /// Forgets all jobs, faults and statistics, keeps the configuration. Answered by [`Reply::Done`].
    Reset,
    /// A new job with a lease: as [`Command::Submit`] and [`Command::Lease`] at one time.
    #[cfg(feature = "leases")]
    SubmitLeased {
        /// The job's name, unused at the moment.
        job: JobId,
        /// What it asks for.
        request: Request,
        /// How long its lease lasts.
        ticks: Ticks,
    },
    /// The job has a lease of so many ticks from now on, in place of the one it had; with 0 ticks it has none. When a lease ends the job is released, or
    /// no longer waits. Answered by [`Reply::Done`].
    #[cfg(feature = "leases")]
    Lease {
        /// The job's name.
        job: JobId,
        /// How long its lease lasts.
        ticks: Ticks,
    },
    /// The lease of the job has ended. Whoever has the clock says so to the controller; from others it is refused as long as the lease runs.
    /// Answered by the grants that this brings about, then [`Reply::Released`].
    #[cfg(feature = "leases")]
    EndLease {
        /// The job's name.
        job: JobId,
    },
}

impl Reply {
    /// Whether no further reply to the same command follows, but for [`Command::Blocks`].
    pub const fn is_final(&self) -> bool {
        #[cfg(feature = "leases")]
        if matches!(self, Reply::LeaseEnded(_)) {
            return false;
        }
        !matches!(self, Reply::Grant(_))
    }
}

impl Command {
    /// Whether carrying the command out a second time could change anything.
    pub const fn changes_state(&self) -> bool {
        !matches!(
            self,
            Command::QueryJob { .. }
                | Command::Blocks { .. }
                | Command::ListJobs { .. }
                | Command::Occupancy { .. }
                | Command::Statistics
        )
    }
}

/// What the controller serves, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Configuration {
    /// The machine.
    pub machine: Grid,
    /// Where jobs are placed.
    pub strategy: StrategyKind,
    /// Which job may try.
    pub scheduler: SchedulerKind,
}

/// What the controller answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Reply {
    /// A part: a job holds processors from now on. Or final: some of the blocks of a job.
    Grant(Grant),
    /// Final: done.
    Done,
    /// Final: the job was taken.
    Submitted {
        /// The job.
        job: JobId,
        /// Whether it runs or waits.
        state: JobState,
    },
    /// Final: the job is gone.
    Released {
        /// The job.
        job: JobId,
        /// The processors it held, 0 if it waited.
        processors: u32,
    },
    /// Final: about one job.
    Job(JobReport),
    /// Final: some of the jobs.
    Jobs(JobList),
    /// Final: some of the occupancy.
    Occupancy(OccupancyChunk),
    /// Final: the state of the processors was set.
    Fault(FaultReport),
    /// Final: what has happened so far.
    Statistics(Statistics),
    /// Final: nothing was changed.
    Error(Error),
    /// A part: the lease of a job has ended.
    #[cfg(feature = "leases")]
    LeaseEnded(LeaseEnded),
}

/// A job's processors, or [`GRANT_BLOCKS_MAX`] blocks of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Grant {
    /// The job.
    pub job: JobId,
    /// When it was granted.
    pub at: Ticks,
    /// How often it was tried in all.
    pub attempts: u32,
    /// How often it failed although at least as many processors were free as it requests: the
    /// allocation misses. The attempt that succeeded was valid too, so `misses + 1` were.
    pub misses: u32,
    /// The number of blocks it holds in all.
    pub blocks_total: u32,
    /// The place of the first block below among all of them.
    pub first: u32,
    /// The blocks, at least one.
    pub blocks: Vec<Block, GRANT_BLOCKS_MAX>,
}

impl Grant {
    /// Whether these are the last of the job's blocks.
    pub fn is_last(&self) -> bool {
        self.first as usize + self.blocks.len() == self.blocks_total as usize
    }
}

/// What a controller has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Capacity {
    /// Words of occupancy.
    pub words: u32,
    /// Bits in each of them. A two-dimensional mesh takes `h * ceil(w / word_bits)` words, any other machine of N
    /// processors `ceil(N / word_bits)`.
    pub word_bits: u8,
    /// Jobs, waiting and running together.
    pub jobs: u32,
    /// Blocks held by all jobs together.
    pub blocks: u32,
    /// Submeshes in the strategy's own list.
    pub list: u32,
}

/// Where a job is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum JobState {
    /// It waits; `ahead` jobs wait before it.
    Waiting {
        /// Jobs before it in the queue.
        ahead: u32,
    },
    /// It holds processors.
    Running {
        /// How many.
        processors: u32,
    },
}

/// About one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct JobReport {
    /// Its name.
    pub job: JobId,
    /// What it asked for.
    pub request: Request,
    /// When it was submitted.
    pub submitted: Ticks,
    /// Whether it waits or runs.
    pub state: JobState,
    /// The number of blocks it holds.
    pub blocks: u32,
}

/// What the processors of a block were when their state was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct FaultReport {
    /// The processors that were in the other state before.
    pub changed: u32,
    /// The jobs that held processors of the block, and keep running.
    pub jobs: u32,
    /// Of these the one that was granted first; [`Command::ListJobs`] names all.
    pub first: Option<JobId>,
}

/// Some of the jobs, in no particular order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct JobList {
    /// Each job and the processors it holds, 0 while it waits.
    pub jobs: Vec<(JobId, u32), LIST_JOBS_MAX>,
    /// What to ask for next; `None` at the end.
    pub next: Option<u32>,
}

/// Some of the occupancy: a bit for each processor in the order of their numbers, least significant
/// bit first, 1 = busy (held or faulty).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct OccupancyChunk {
    /// The first processor.
    pub from: NodeId,
    /// The number of processors of the whole machine.
    pub nodes: u32,
    /// The bits; those past the last processor are 0.
    pub busy: Vec<u8, OCCUPANCY_BYTES_MAX>,
    /// In the same order, 1 = faulty.
    pub faulty: Vec<u8, OCCUPANCY_BYTES_MAX>,
}

/// The machine and its jobs in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Statistics {
    /// Processors in the machine.
    pub nodes: u32,
    /// Processors neither held nor faulty.
    pub free: u32,
    /// Faulty processors.
    pub faulty: u32,
    /// Jobs that wait.
    pub waiting: u32,
    /// Jobs that run.
    pub running: u32,
    /// What has happened so far.
    pub counts: Counts,
}

/// How often something has happened since the configuration or the reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counts {
    /// Jobs taken (granted at once, or left to wait).
    pub submitted: u64,
    /// Jobs granted.
    pub granted: u64,
    /// Jobs released, waiting ones included.
    pub released: u64,
    /// Submissions refused.
    pub refused: u64,
    /// Attempts to place a job.
    pub attempts: u64,
    /// Attempts with at least as many free processors as requested.
    pub valid_attempts: u64,
    /// Valid attempts that failed: the papers' allocation misses.
    pub misses: u64,
}
