//! The structures that C fills in and reads, and what they are in Rust.

use core::num::NonZeroU64;

#[cfg(feature = "machine")]
use meshalloc::Description;
#[cfg(feature = "reasons")]
use meshalloc::Reason;
#[cfg(feature = "machine")]
use meshalloc::message::LargestReport;
use meshalloc::message::{JobList as CoreJobList, JobReport, LIST_JOBS_MAX};
use meshalloc::{
    Block as CoreBlock, Class, Configuration as CoreConfiguration, Event as CoreEvent, EventKind,
    FaultReport, Flags, Grid, JobState, Request as CoreRequest, SchedulerKind, Shape, Slices,
    Statistics as CoreStatistics, StrategyKind, Tolerance, Tuple,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// The alignment of the memory of every object, in bytes.
pub const ALIGNMENT: usize = 8;

/// The most dimensions of a machine and extents of a request.
pub const DIMENSIONS_MAX: usize = 16;
const _: () = assert!(DIMENSIONS_MAX == meshalloc::DIMENSIONS_MAX);

/// The most jobs in a meshalloc_job_list.
pub const JOB_LIST_MAX: usize = 16;
const _: () = assert!(JOB_LIST_MAX == LIST_JOBS_MAX);

/// The most parameters of a strategy or scheduler.
pub const PARAMETERS_MAX: usize = 2;

/// Bit of meshalloc_request.flags: the job never waits. It is granted at once or refused.
pub const NO_WAIT: u8 = 1;
/// Bit of meshalloc_request.flags: the extents keep their order along the dimensions.
pub const FIXED_ORIENTATION: u8 = 2;
const _: () = assert!(
    NO_WAIT == Flags::NO_WAIT.bits() && FIXED_ORIENTATION == Flags::FIXED_ORIENTATION.bits()
);

/// Bit of meshalloc_request.flags: the request has a number of processors and no shape. It is given
/// one of the shapes that the machine has for this number. Strategies whose jobs hold processors
/// anywhere take the number as it is; in more than four dimensions the others refuse it.
pub const CHIPS: u8 = 4;
/// Bit of meshalloc_request.flags: the processors along the first extent form a ring. The bits for
/// the next three extents follow: twice, four and eight times this one.
pub const RING: u8 = 8;
/// Bit of meshalloc_request.flags: the processors along every extent form a ring.
pub const RINGS: u8 = 128;
const _: () = assert!(
    CHIPS == Flags::CHIPS.bits()
        && RING == Flags::RING_0.bits()
        && 8 * RING == Flags::RING_3.bits()
        && RINGS == Flags::RINGS.bits()
);

/// Bit of a processor's state: it is held or faulty.
pub const PROCESSOR_BUSY: i32 = 1;
/// Bit of a processor's state: it is faulty.
pub const PROCESSOR_FAULTY: i32 = 2;

/// Kind of a meshalloc_event: the job was granted processors.
pub const EVENT_GRANTED: u32 = 1;
/// Kind of a meshalloc_event: the lease of the job has ended, and the job was released.
pub const EVENT_LEASE_ENDED: u32 = 2;
/// Kind of a meshalloc_event: another job took the processors of the job, which waits again.
pub const EVENT_PREEMPTED: u32 = 3;

/// The most jobs that one job can preempt.
pub const VICTIMS_MAX: usize = 8;
#[cfg(feature = "preemption")]
const _: () = assert!(VICTIMS_MAX == meshalloc::VICTIMS_MAX);

/// The job runs, so there is no reason why it waits.
pub const REASON_NONE: i32 = 0;
/// Reason: it would not fit an empty machine whose processors all work. Such a request is refused.
pub const REASON_NEVER_FITS: i32 = 1;
/// Reason: it does not fit as long as the faulty processors do not work.
pub const REASON_FAULTS: i32 = 2;
/// Reason: the scheduler tries other jobs first.
pub const REASON_NOT_ITS_TURN: i32 = 3;
/// Reason: fewer processors are free than it needs.
pub const REASON_TOO_FEW_FREE: i32 = 4;
/// Reason: it would fit if it did not demand rings.
pub const REASON_RING_NOT_FREE: i32 = 5;
/// Reason: enough processors are free, and the strategy finds no place among them.
pub const REASON_FRAGMENTED: i32 = 6;
/// Reason: it fits, and would delay a job ahead of it that has a reservation.
pub const REASON_BEHIND_RESERVATION: i32 = 7;
/// Reason: it fits; the scheduler tries it at the next arrival or departure.
pub const REASON_UNTRIED: i32 = 8;
/// Reason: there is no room for its blocks.
pub const REASON_TABLE_FULL: i32 = 9;
/// Reason: slices of the gang have places, but not all of them at once.
pub const REASON_GANG_INCOMPLETE: i32 = 10;
/// Reason: no place was found, and the search was not completed.
pub const REASON_NOT_SEARCHED_TO_THE_END: i32 = 11;

/// The number of a reason.
#[cfg(feature = "reasons")]
pub(crate) const fn reason(reason: Option<Reason>) -> i32 {
    match reason {
        None => REASON_NONE,
        Some(reason) => reason as i32 + 1,
    }
}

#[cfg(feature = "reasons")]
const _: () = assert!(
    reason(Some(Reason::NeverFits)) == REASON_NEVER_FITS
        && reason(Some(Reason::Faults)) == REASON_FAULTS
        && reason(Some(Reason::NotItsTurn)) == REASON_NOT_ITS_TURN
        && reason(Some(Reason::TooFewFree)) == REASON_TOO_FEW_FREE
        && reason(Some(Reason::RingNotFree)) == REASON_RING_NOT_FREE
        && reason(Some(Reason::Fragmented)) == REASON_FRAGMENTED
        && reason(Some(Reason::BehindReservation)) == REASON_BEHIND_RESERVATION
        && reason(Some(Reason::Untried)) == REASON_UNTRIED
        && reason(Some(Reason::TableFull)) == REASON_TABLE_FULL
        && reason(Some(Reason::GangIncomplete)) == REASON_GANG_INCOMPLETE
        && reason(Some(Reason::NotSearchedToTheEnd)) == REASON_NOT_SEARCHED_TO_THE_END
        && Reason::ALL.len() == 11
);

/// A machine: a grid of processors. MESHALLOC_MESH, MESHALLOC_MESH_3D and MESHALLOC_TORUS_3D are
/// initialisers; MESHALLOC_MACHINE_TPU_V4 and so on are those of machines whose slices follow
/// rules.
///
/// The processor at (x, y, z) has the number `x + sides[0] * (y + sides[1] * z)`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Machine {
    /// The number of processors along each dimension. Those beyond the dimensions do not matter.
    pub sides: [u16; DIMENSIONS_MAX],
    /// The number of dimensions, 1 to 16.
    pub dimensions: u16,
    /// Bit d: dimension d wraps, as in a torus.
    pub wraps: u16,
    /// 0, or the number of a description: only the slices are given that it allows.
    pub description: u16,
}

/// The descriptions, in the order of their numbers, which are from 1 on.
#[cfg(feature = "machine")]
static DESCRIPTIONS: [Description; Description::PRESETS.len()] = {
    let mut descriptions = [Description::preset("galaxy").unwrap(); Description::PRESETS.len()];
    let mut at = 0;
    while at < descriptions.len() {
        descriptions[at] = Description::preset(Description::PRESETS[at]).unwrap();
        at += 1;
    }
    descriptions
};

impl Machine {
    pub(crate) fn grid(&self) -> Result<Grid, Error> {
        let sides = self.sides.get(..usize::from(self.dimensions));
        Ok(Grid::new(sides.ok_or(Error::NoSuchMachine)?, self.wraps)?)
    }

    /// The grid, and the description if there is one.
    #[cfg(feature = "machine")]
    pub(crate) fn described(&self) -> Result<(Grid, Option<&'static Description>), Error> {
        let grid = self.grid()?;
        let Some(at) = usize::from(self.description).checked_sub(1) else {
            return Ok((grid, None));
        };
        let description = DESCRIPTIONS.get(at).ok_or(Error::NoSuchMachine)?;
        if *description.grid() == grid {
            Ok((grid, Some(description)))
        } else {
            Err(Error::NoSuchMachine)
        }
    }
}

/// A strategy: where jobs are placed. MESHALLOC_STRATEGY_FIRST_FIT and so on are initialisers.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Strategy {
    /// Its number.
    pub kind: u32,
    /// Its parameters.
    pub parameters: [u64; PARAMETERS_MAX],
}

impl Strategy {
    pub(crate) fn kind(&self) -> Result<StrategyKind, Error> {
        let kind = of_numbers(self.kind, self.parameters);
        kind.filter(|kind: &StrategyKind| kind.is_valid())
            .ok_or(Error::NoSuchStrategy)
    }
}

/// A scheduler: which waiting job may try. MESHALLOC_SCHEDULER_FCFS and so on are initialisers.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Scheduler {
    /// Its number.
    pub kind: u32,
    /// Its parameters.
    pub parameters: [u64; PARAMETERS_MAX],
}

/// A value of an enumeration with fields: of the number of its variant and the numbers in it, in
/// the order in which they are on the wire.
fn of_numbers<T: DeserializeOwned>(kind: u32, parameters: [u64; PARAMETERS_MAX]) -> Option<T> {
    // 5 bytes for a number of 32 bits, 10 for one of 64.
    let mut bytes = [0; 25];
    postcard::to_slice(&(kind, parameters), &mut bytes).ok()?;
    postcard::from_bytes(&bytes).ok()
}

/// The numbers of which [`of_numbers`] makes this value, for tests and the header.
#[doc(hidden)]
pub fn numbers_of<T: Serialize>(value: &T) -> Option<(u32, [u64; PARAMETERS_MAX])> {
    // A number without a parameter ends with zeros.
    let mut bytes = [0; 25];
    postcard::to_slice(value, &mut bytes).ok()?;
    postcard::from_bytes(&bytes).ok()
}

/// What a controller serves, and how.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Configuration {
    /// The machine.
    pub machine: Machine,
    /// Where jobs are placed.
    pub strategy: Strategy,
    /// Which waiting job may try.
    pub scheduler: Scheduler,
}

impl Configuration {
    pub(crate) fn core(&self) -> Result<CoreConfiguration, Error> {
        let Scheduler { kind, parameters } = self.scheduler;
        let scheduler = of_numbers(kind, parameters);
        let scheduler = scheduler.filter(|kind: &SchedulerKind| kind.is_valid());
        Ok(CoreConfiguration {
            machine: self.machine.grid()?,
            strategy: self.strategy.kind()?,
            scheduler: scheduler.ok_or(Error::NoSuchScheduler)?,
        })
    }
}

/// A request for processors. MESHALLOC_REQUEST and MESHALLOC_REQUEST_3D are initialisers.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Request {
    /// How many processors it asks for along each dimension. Those beyond the dimensions do not
    /// matter.
    pub extents: [u16; DIMENSIONS_MAX],
    /// The number of extents, 1 to that of the machine's dimensions.
    pub dimensions: u8,
    /// MESHALLOC_NO_WAIT, MESHALLOC_FIXED_ORIENTATION, other flags, their sum, or 0.
    pub flags: u8,
    /// How many slices of these extents it asks for, all or none: a gang. 0 and 1 are one slice. A
    /// build without the feature `gangs` serves no more: MESHALLOC_ERROR_BAD_ARGUMENT.
    pub slices: u16,
    /// The number of processors of a slice, if it is less than the product of the extents; else 0.
    pub processors: u32,
    /// The estimated time for which the job will hold its processors, in ticks; 0 for none.
    pub estimate: u64,
    /// The priority: a head start in the queue, in ticks. The job waits as if it had been submitted
    /// that much earlier. An allocator has no queue. A build without the feature `priorities`
    /// serves only 0: MESHALLOC_ERROR_BAD_ARGUMENT.
    pub priority: u64,
    /// 1 if the job may be interrupted for one of a higher priority, else 0. The same build serves
    /// only 0.
    pub preemptible: u8,
    /// How many faulty processors each slice may have, if it has no other place. It holds them. A
    /// build without the feature `tolerance` serves only 0: MESHALLOC_ERROR_BAD_ARGUMENT.
    pub tolerated: u8,
}

impl Request {
    pub(crate) fn core(&self) -> Result<CoreRequest, Error> {
        let extents = self.extents.get(..usize::from(self.dimensions));
        let extents = extents.ok_or(Error::BadArgument)?;
        let flags = Flags::from_bits(self.flags).ok_or(Error::BadArgument)?;
        let slices = Slices::new(u32::from(self.slices.max(1))).ok_or(Error::BadArgument)?;
        let is_preemptible = match self.preemptible {
            0 => false,
            1 => true,
            _ => return Err(Error::BadArgument),
        };
        let class = Class::new(self.priority, is_preemptible).ok_or(Error::BadArgument)?;
        let tolerance = Tolerance::new(self.tolerated).ok_or(Error::BadArgument)?;
        let request = if flags.contains(Flags::CHIPS) {
            CoreRequest::chips(0)
        } else if extents.is_empty() {
            // In core no extents are one processor; in C they are a request that nobody filled in.
            return Err(Error::EmptyRequest);
        } else {
            CoreRequest::new(Shape::new(extents)?)
        };
        Ok(CoreRequest {
            processors: match self.processors {
                0 => request.processors,
                some => some,
            },
            flags,
            slices,
            class,
            tolerance,
            estimate: NonZeroU64::new(self.estimate),
            ..request
        })
    }

    fn of_core(request: &CoreRequest) -> Request {
        let extents = request.shape.extents();
        Request {
            extents: padded(&extents),
            dimensions: extents.len() as u8,
            flags: request.flags.bits(),
            slices: u16::try_from(request.slices()).unwrap_or(u16::MAX),
            processors: request.processors,
            estimate: request.estimate.map_or(0, NonZeroU64::get),
            priority: request.class.priority(),
            preemptible: request.class.is_preemptible().into(),
            tolerated: request.tolerance.get(),
        }
    }
}

fn padded(tuple: &Tuple) -> [u16; DIMENSIONS_MAX] {
    core::array::from_fn(|at| tuple.get(at).copied().unwrap_or(0))
}

/// A box of processors: from `start`, `extent` along each dimension. It goes around where the
/// machine wraps.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Block {
    /// The coordinates of its first processor; 0 beyond the machine's dimensions.
    pub start: [u16; DIMENSIONS_MAX],
    /// The number of processors along each dimension; 0 beyond the machine's dimensions.
    pub extent: [u16; DIMENSIONS_MAX],
}

impl Block {
    const NONE: Block = Block {
        start: [0; DIMENSIONS_MAX],
        extent: [0; DIMENSIONS_MAX],
    };

    /// The block on this machine. What lies beyond the dimensions does not matter.
    pub(crate) fn on(&self, grid: &Grid) -> Result<CoreBlock, Error> {
        let n = grid.dimensions();
        let block = grid.block(&self.start[..n], &self.extent[..n]);
        block.ok_or(Error::NoSuchBlock)
    }

    pub(crate) fn of_core(grid: &Grid, block: CoreBlock) -> Block {
        Block {
            start: padded(&grid.start(block)),
            extent: padded(&grid.extent(block)),
        }
    }
}

/// Processors that an allocator has given away. Keep it, and pass it to
/// meshalloc_allocator_release. An allocator recognises allocations that were released or that
/// another one made.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Allocation {
    /// Differs between allocators. Never 0 in an allocation.
    pub epoch: u32,
    /// Differs between allocations of one cell.
    pub generation: u32,
    /// Its cell in the allocator's table.
    pub cell: u32,
}

impl Allocation {
    pub(crate) fn core(self) -> meshalloc::Allocation {
        let [epoch, generation, cell] = [self.epoch, self.generation, self.cell].map(u128::from);
        meshalloc::Allocation::from_raw(epoch << 64 | generation << 32 | cell)
    }

    #[allow(clippy::cast_possible_truncation, reason = "takes the number apart")]
    pub(crate) fn of_core(allocation: meshalloc::Allocation) -> Allocation {
        let raw = allocation.into_raw();
        Allocation {
            epoch: (raw >> 64) as u32,
            generation: (raw >> 32) as u32,
            cell: raw as u32,
        }
    }
}

/// What has happened to a job.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Event {
    /// The number of the event, from 1 on.
    pub number: u64,
    /// When it happened, in ticks.
    pub at: u64,
    /// The job.
    pub job: u32,
    /// MESHALLOC_EVENT_GRANTED, MESHALLOC_EVENT_LEASE_ENDED or MESHALLOC_EVENT_PREEMPTED.
    pub kind: u32,
    /// The processors that the job holds from then on, or held until then.
    pub processors: u32,
    /// Granted: the number of attempts to place the job.
    pub attempts: u32,
    /// Granted: how many attempts failed although enough processors were free.
    pub misses: u32,
    /// Granted: the number of blocks that it holds.
    pub blocks: u32,
    /// Granted: the first of them.
    pub block: Block,
    /// Preempted: the other job.
    pub by: u32,
}

impl Event {
    pub(crate) fn of_core(grid: &Grid, event: CoreEvent) -> Event {
        let mut ours = Event {
            number: event.number,
            at: event.at,
            job: event.job.0,
            kind: EVENT_LEASE_ENDED,
            processors: event.processors,
            attempts: 0,
            misses: 0,
            blocks: 0,
            block: Block::NONE,
            by: 0,
        };
        #[cfg(feature = "preemption")]
        if let EventKind::Preempted { by } = event.what {
            (ours.kind, ours.by) = (EVENT_PREEMPTED, by.0);
        }
        if let EventKind::Granted {
            attempts,
            misses,
            blocks_total,
            block,
        } = event.what
        {
            ours.kind = EVENT_GRANTED;
            (ours.attempts, ours.misses, ours.blocks) = (attempts, misses, blocks_total);
            ours.block = Block::of_core(grid, block);
        }
        ours
    }
}

/// About one job.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Job {
    /// What it asked for; the number of processors is never 0.
    pub request: Request,
    /// When it was submitted, in ticks.
    pub submitted: u64,
    /// The processors that it holds; 0 while it waits.
    pub processors: u32,
    /// The blocks that it holds; 0 while it waits.
    pub blocks: u32,
    /// The jobs before it in the queue; 0 if it runs.
    pub ahead: u32,
}

impl Job {
    pub(crate) fn of_core(report: &JobReport) -> Job {
        let (processors, ahead) = match report.state {
            JobState::Running { processors } => (processors, 0),
            JobState::Waiting { ahead } => (0, ahead),
        };
        Job {
            request: Request::of_core(&report.request),
            submitted: report.submitted,
            processors,
            blocks: report.blocks,
            ahead,
        }
    }
}

/// Some of the jobs, in no particular order.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct JobList {
    /// Their names.
    pub jobs: [u32; JOB_LIST_MAX],
    /// The processors that each holds; 0 while it waits.
    pub processors: [u32; JOB_LIST_MAX],
    /// The number of jobs in the list.
    pub count: u32,
    /// Where the next list begins; 0 if this one is the last.
    pub next: u32,
}

impl JobList {
    pub(crate) fn of_core(list: &CoreJobList) -> JobList {
        let at = |at: usize| {
            list.jobs
                .get(at)
                .map_or((0, 0), |(job, held)| (job.0, *held))
        };
        JobList {
            jobs: core::array::from_fn(|index| at(index).0),
            processors: core::array::from_fn(|index| at(index).1),
            count: list.jobs.len() as u32,
            // A list that goes on has some jobs, so the next one does not begin with the first.
            next: list.next.unwrap_or(0),
        }
    }
}

/// What could be placed now. `neighbor` names the rectangle with which its search begins.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Largest {
    /// The shape of the largest request that would be granted: as many extents as `dimensions`.
    pub extents: [u16; DIMENSIONS_MAX],
    /// The number of extents; 0 if nothing could be placed, or the strategy gives processors
    /// without a shape.
    pub dimensions: u32,
    /// The number of its processors; 0 if nothing could be placed. On a machine of more than four
    /// dimensions also 0, unless the strategy gives processors without a shape.
    pub processors: u32,
    /// The largest box of free processors; all 0 if none is free, or the machine has more than four
    /// dimensions.
    pub block: Block,
}

#[cfg(feature = "machine")]
impl Largest {
    pub(crate) fn of_core(grid: &Grid, report: &LargestReport) -> Largest {
        let shape = report.shape;
        Largest {
            extents: shape.map_or([0; DIMENSIONS_MAX], |shape| padded(&shape.extents())),
            dimensions: shape.map_or(0, |shape| shape.extents().len() as u32),
            processors: report.processors,
            block: report
                .block
                .map_or(Block::NONE, |block| Block::of_core(grid, block)),
        }
    }
}

/// What the reason is about for which a job waits.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Why {
    /// Jobs before it in the queue.
    pub ahead: u32,
    /// The free processors that it needs, at least; if it runs, those that it holds.
    pub needs: u32,
    /// Processors neither held nor faulty.
    pub free: u32,
    /// Faulty processors.
    pub faulty: u32,
}

/// What the processors of a block were when their state was set.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Faults {
    /// The processors that were in the other state before.
    pub changed: u32,
    /// The jobs that held processors of the block, and keep running.
    pub jobs: u32,
    /// The one of these jobs that was granted first, if there are such jobs.
    pub first: u32,
}

impl Faults {
    pub(crate) fn of_core(report: FaultReport) -> Faults {
        Faults {
            changed: report.changed,
            jobs: report.jobs,
            first: report.first.map_or(0, |job| job.0),
        }
    }
}

/// The machine and its jobs in numbers.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Statistics {
    /// Jobs taken: granted at once, or left to wait.
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
    /// Valid attempts that failed.
    pub misses: u64,
    /// Leases that have ended. Only the latest 16 are events.
    pub lease_ends: u64,
    /// Processors of the machine.
    pub processors: u32,
    /// Processors neither held nor faulty.
    pub free: u32,
    /// Faulty processors.
    pub faulty: u32,
    /// Jobs that wait.
    pub waiting: u32,
    /// Jobs that run.
    pub running: u32,
}

impl Statistics {
    pub(crate) fn of_core(statistics: &CoreStatistics) -> Statistics {
        let counts = &statistics.counts;
        Statistics {
            submitted: counts.submitted,
            granted: counts.granted,
            released: counts.released,
            refused: counts.refused,
            attempts: counts.attempts,
            valid_attempts: counts.valid_attempts,
            misses: counts.misses,
            lease_ends: counts.lease_ends,
            processors: statistics.nodes,
            free: statistics.free,
            faulty: statistics.faulty,
            waiting: statistics.waiting,
            running: statistics.running,
        }
    }
}
