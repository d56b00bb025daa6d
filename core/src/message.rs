//! What a client sends to the controller and what it receives: a [`Change`] is answered by an
//! [`Outcome`], a [`Query`] by an [`Answer`]; an [`Event`] reports what has happened to a job.
//!
//! The same values travel in process and, serialised, over a serial line; `firmware/PROTOCOL.md`
//! has the bytes.

use core::num::NonZeroU64;

use heapless::Vec;

pub use crate::error::NEAREST_MAX;
use crate::grid::{Block, Grid, Shape};
use crate::job_id::JobId;
use crate::node::NodeId;
use crate::preemption::Victims;
pub use crate::reason::WhyReport;
use crate::request::{Request, Ticks};
use crate::scheduler::kind::SchedulerKind;
use crate::strategy::kind::StrategyKind;
use crate::wire::wire;

/// The most blocks in one [`BlockList`].
pub const BLOCKS_MAX: usize = 18;
/// The most jobs in one [`JobList`].
pub const LIST_JOBS_MAX: usize = 16;
/// The most bytes in one [`OccupancyChunk`].
pub const OCCUPANCY_BYTES_MAX: usize = 128;

wire! {
    /// A command that changes something, answered by an [`Outcome`] or an [`Error`](crate::Error).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Change {
        /// Serve this machine with this strategy and scheduler. Only while no job waits or runs.
        /// All processors work afterwards. Answered by [`Outcome::Done`].
        Configure(Configuration),
        /// A new job, which runs at once or waits. Answered by [`Outcome::Done`]; an [`Event`]
        /// reports the grant.
        Submit {
            /// The job's name. No other job has it at the moment.
            job: JobId,
            /// The request of the job.
            request: Request,
            /// The duration of its lease, in ticks; see [`Change::Lease`].
            lease: Option<NonZeroU64>,
        },
        /// The job has ended, or no longer waits. Answered by [`Outcome::Released`].
        Release {
            /// The job's name.
            job: JobId,
        },
        /// The job has a lease of this duration from now on, instead of the one it had. When a
        /// lease ends, the job is released, or no longer waits. Answered by [`Outcome::Done`].
        Lease {
            /// The job's name.
            job: JobId,
            /// The duration, in ticks; `None` for no lease.
            ticks: Option<NonZeroU64>,
        },
        /// The lease of the job has ended. The owner of the clock sends this; while the lease runs
        /// it is refused. Answered by [`Outcome::Released`].
        EndLease {
            /// The job's name.
            job: JobId,
        },
        /// Marks all processors of a block as faulty: one, a row, a column, any box. Jobs that hold
        /// some of them keep running. When they give back faulty processors, these stay busy until
        /// [`Change::ClearFaulty`]. Answered by [`Outcome::Faults`].
        MarkFaulty {
            /// The processors.
            block: Block,
        },
        /// Marks all processors of a block as working. Answered by [`Outcome::Faults`].
        ClearFaulty {
            /// The processors.
            block: Block,
        },
        /// Forgets all jobs, faults and statistics, keeps the configuration. Answered by
        /// [`Outcome::Done`].
        Reset,
        /// The job, which runs and holds faulty processors, gets other processors; a gang gets
        /// other ones for all of its slices at once. The job gives back all that it held, and an
        /// [`Event`] reports the grant of the processors that it holds from then on. The event's
        /// number tells this grant from the earlier one, whose event is gone. If the parts of a
        /// slice lie in cubes of their own, working parts stay as they are, if there are other
        /// cubes for the other parts. New block i takes the place of old block i, if there are as
        /// many new blocks as old ones. Answered by [`Outcome::Done`]. If there is no place, the
        /// change is refused, and nothing changes.
        #[cfg(feature = "replace")]
        Replace {
            /// The job's name.
            job: JobId,
        },
        /// The job, which waits, is granted processors as if the victims held none. The victims
        /// wait again, even those that were submitted as jobs that never wait. Each victim goes to
        /// its place in the queue with its counts and its lease, which runs on. The job may take
        /// processors that are reserved for others, and passes the jobs before it in the queue.
        /// With no victims, this is all that happens. An [`Event`] reports each victim, then one
        /// the grant. Answered by [`Outcome::Done`]. If there is no place, or a victim does not
        /// run, may not be preempted or has no lower priority than the job, the change is refused,
        /// and nothing changes.
        #[cfg(feature = "preemption")]
        Preempt {
            /// The job's name.
            job: JobId,
            /// The jobs whose processors it takes.
            victims: Victims,
        },
    }
}

impl Change {
    /// The submission of a job without a lease.
    pub const fn submit(job: JobId, request: Request) -> Self {
        Change::Submit {
            job,
            request,
            lease: None,
        }
    }

    /// Whether the change gives, renews or ends a lease.
    pub(crate) const fn is_about_leases(&self) -> bool {
        matches!(
            self,
            Change::Submit { lease: Some(_), .. } | Change::Lease { .. } | Change::EndLease { .. }
        )
    }
}

wire! {
    /// What a [`Change`] has done.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Outcome {
        /// The change was carried out.
        Done,
        /// The job was released, or no longer waits.
        Released {
            /// The processors it held, 0 if it waited.
            processors: u32,
        },
        /// The state of the processors was set.
        Faults(FaultReport),
    }

    /// A command that changes nothing, answered by the [`Answer`] of the same name or an
    /// [`Error`](crate::Error).
    /// A list that is longer than an answer is read in chunks (`from`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Query {
        /// Reads about one job.
        Job {
            /// The job's name.
            job: JobId,
        },
        /// Reads the blocks of a running job.
        Blocks {
            /// The job's name.
            job: JobId,
            /// The index of the first block to read.
            from: u32,
        },
        /// Lists the jobs.
        Jobs {
            /// If there is a block, only the jobs that hold processors of this block.
            on: Option<Block>,
            /// 0 at first, then the `next` of the last answer.
            from: u32,
        },
        /// Reads the occupancy.
        Occupancy {
            /// A processor. The answer begins at its number rounded down to a multiple of 8.
            from: NodeId,
        },
        /// Reads the statistics.
        Statistics,
        /// Reads the slice that a running job holds: its sides, its rings and what is folded.
        Slice {
            /// The job's name.
            job: JobId,
        },
        /// Reads the largest slice that could be placed now, and the largest free box. Refused as
        /// busy while the controller is at work.
        Largest,
        /// Reads why a job waits. Refused as busy while the controller is at work.
        #[cfg(feature = "reasons")]
        Why {
            /// The job's name.
            job: JobId,
        },
    }

    /// The answer to a [`Query`].
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Answer {
        /// About one job.
        Job(JobReport),
        /// Some of the blocks of a job.
        Blocks(BlockList),
        /// Some of the jobs.
        Jobs(JobList),
        /// Some of the occupancy.
        Occupancy(OccupancyChunk),
        /// The machine and its jobs in numbers.
        Statistics(Statistics),
        /// The slice of a job.
        #[cfg(feature = "machine")]
        Slice(SliceReport),
        /// The largest slice that could be placed.
        #[cfg(feature = "machine")]
        Largest(LargestReport),
        /// Why a job waits.
        #[cfg(feature = "reasons")]
        Why(WhyReport),
    }

    /// What has happened to a job. Each event is reported once: see
    /// [`View::events_since`](crate::View::events_since).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Event {
        /// The number of the event: one more than that of the event before, from 1 on.
        pub number: u64,
        /// The job.
        pub job: JobId,
        /// When it happened.
        pub at: Ticks,
        /// The processors that the job holds from then on, or held until then.
        pub processors: u32,
        /// What happened.
        pub what: EventKind,
    }

    /// What an [`Event`] is about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EventKind {
        /// The job was granted processors.
        Granted {
            /// The number of attempts to place it.
            attempts: u32,
            /// How many attempts failed although at least as many processors were free as the job
            /// requests: the allocation misses. The attempt that succeeded was valid too, so there
            /// were `misses + 1` valid attempts.
            misses: u32,
            /// The number of blocks it holds.
            blocks_total: u32,
            /// The first of these blocks. [`Query::Blocks`] reads the others.
            block: Block,
        },
        /// The job's lease ended, and the job was released. If the job waited, it held 0
        /// processors.
        LeaseEnded,
        /// Another job took the job's processors, and the job waits again (`Change::Preempt`). If
        /// the job was granted again since, a later event says so.
        #[cfg(feature = "preemption")]
        Preempted {
            /// The other job.
            by: JobId,
        },
    }

    /// The machine that a controller serves, and how it serves it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Configuration {
        /// The machine.
        pub machine: Grid,
        /// The strategy, which decides where jobs are placed.
        pub strategy: StrategyKind,
        /// The scheduler, which decides which job may try.
        pub scheduler: SchedulerKind,
    }

    /// Up to [`BLOCKS_MAX`] blocks of a job.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct BlockList {
        /// The job.
        pub job: JobId,
        /// When the job was granted. The time tells the job from a later one of the same name.
        pub granted_at: Ticks,
        /// The number of blocks it holds.
        pub total: u32,
        /// The index of the first block below.
        pub first: u32,
        /// The blocks, at least one.
        pub blocks: Vec<Block, BLOCKS_MAX>,
    }

    /// The numbers of words, jobs and blocks that a controller has room for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Capacity {
        /// Words of occupancy.
        pub words: u32,
        /// Bits in each of them. A two-dimensional mesh takes `h * ceil(w / word_bits)` words, any
        /// other machine of N processors `ceil(N / word_bits)`.
        pub word_bits: u8,
        /// Jobs, waiting and running together.
        pub jobs: u32,
        /// Blocks held by all jobs together.
        pub blocks: u32,
        /// Submeshes in the strategy's own list.
        pub list: u32,
    }

    /// The slice that a job holds; [`Slice`](crate::Slice) also has the place of each processor.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SliceReport {
        /// The job.
        pub job: JobId,
        /// The shape that the job asked for; if it named a number of processors, the shape that it
        /// was given.
        pub shape: Shape,
        /// The sides of the slice by dimension.
        pub sides: Shape,
        /// Which extent of the shape is folded, counted from 0.
        pub folded: Option<u8>,
        /// A bit for each extent of the shape: whether the processors along it form a ring.
        pub rings: u8,
    }

    /// The largest slice and the largest box that could be placed now. For `neighbor`, the slice is
    /// the rectangle with which its search begins.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct LargestReport {
        /// The processors of the largest legal slice that the strategy could place. 0 if there is
        /// no such slice. Also 0 on a machine of more than four dimensions, unless the jobs of the
        /// strategy hold processors anywhere.
        pub processors: u32,
        /// The most compact shape of that slice. `None` for a strategy whose jobs have no shape.
        pub shape: Option<Shape>,
        /// The largest box of free processors; ties: the first. `None` if no processor is free, or
        /// the machine has more than four dimensions.
        pub block: Option<Block>,
    }

    /// Whether a job waits or runs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum JobState {
        /// The job waits.
        Waiting {
            /// Jobs before it in the queue.
            ahead: u32,
        },
        /// The job holds processors.
        Running {
            /// The number of processors that the job holds.
            processors: u32,
        },
    }

    /// About one job.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct JobReport {
        /// The job's name.
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

    /// The effect of setting the state of a block's processors.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FaultReport {
        /// The processors that were in the other state before.
        pub changed: u32,
        /// The jobs that held processors of the block, and keep running.
        pub jobs: u32,
        /// The job among these that was granted first; [`Query::Jobs`] names all of them.
        pub first: Option<JobId>,
    }

    /// A part of the list of jobs, in no particular order.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct JobList {
        /// Jobs, each with the number of processors that it holds: 0 while it waits.
        pub jobs: Vec<(JobId, u32), LIST_JOBS_MAX>,
        /// The `from` of the next query; `None` at the end.
        pub next: Option<u32>,
    }

    /// Some of the occupancy: a bit for each processor in the order of their numbers, least
    /// significant bit first, 1 = busy (held or faulty).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OccupancyChunk {
        /// The first processor.
        pub from: NodeId,
        /// The number of processors of the whole machine.
        pub nodes: u32,
        /// The bits. Bits past the last processor are 0.
        pub busy: Vec<u8, OCCUPANCY_BYTES_MAX>,
        /// Bits in the same order: 1 = faulty or absent.
        pub faulty: Vec<u8, OCCUPANCY_BYTES_MAX>,
    }

    /// The machine and its jobs in numbers.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Statistics {
        /// Processors in the machine, without those that are absent.
        pub nodes: u32,
        /// Processors neither held nor faulty.
        pub free: u32,
        /// Faulty processors, without those that are absent.
        pub faulty: u32,
        /// Jobs that wait.
        pub waiting: u32,
        /// Jobs that run.
        pub running: u32,
        /// The counts so far.
        pub counts: Counts,
    }

    /// How often something has happened since the configuration or the reset.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Counts {
        /// Jobs taken (granted at once, or left to wait).
        pub submitted: u64,
        /// Grants; a job that was interrupted is granted again.
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
        /// Leases that have ended. Only the latest
        /// [`LEASES_ENDED_MAX`](crate::jobs::LEASES_ENDED_MAX) are reported as events, fewer if
        /// jobs were preempted. A reader that has seen fewer events than this count has missed the
        /// others. 0 in a build without leases.
        pub lease_ends: u64,
    }
}
