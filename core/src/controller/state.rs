//! Saving the state of a controller and restoring it: [`Restoring`]. The form is in
//! [`checkpoint`](crate::checkpoint).

mod growth;
mod leases;

use serde::{Deserialize, Serialize};

use super::Controller;
use crate::checkpoint::items::{self, ItemKind, Numbers, Progress, Restore};
use crate::checkpoint::{
    COUNT_MAX, FORMAT, Reader, RestoreError, SaveError, Writer, block_from_ends, consistent,
};
use crate::grid::{Block, Grid};
use crate::jobs::state::SavedJob;
use crate::jobs::{Ended, JobSlot, Reserved, Slot};
use crate::message::{Configuration, Counts};
use crate::pool::{Chain, Link, NONE};
use crate::request::Ticks;
use crate::scheduler::{AnyScheduler, ServedScheduler};
use crate::strategy::{AnyStrategy, ServedStrategy};

impl Counts {
    /// The largest count.
    fn largest(&self) -> u64 {
        // The other counts are parts of these.
        let jobs = self.submitted.max(self.released);
        jobs.max(self.granted)
            .max(self.refused)
            .max(self.attempts)
            .max(self.valid_attempts)
    }

    /// Whether a controller with these numbers of jobs and events can have these counts.
    fn are_of(&self, jobs: u32, events: u64) -> bool {
        self.submitted.checked_sub(self.released) == Some(jobs.into())
            && self.valid_attempts.checked_sub(self.misses) == Some(self.granted)
            && self.valid_attempts <= self.attempts
            && self.lease_ends <= self.released
            && self.granted.saturating_add(self.lease_ends) <= events
    }
}

/// The first item.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Head {
    configuration: Configuration,
    clock: Ticks,
    events: u64,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SavedRunning {
    job: SavedJob,
    /// How long ago the job was granted.
    age: Ticks,
    /// How many grants came after the job's grant.
    later: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SavedWaiting {
    job: SavedJob,
    reserved: SavedReserved,
}

/// A reservation. Times are relative to the clock: later, or earlier if negative.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum SavedReserved {
    Nothing,
    Processors {
        from: i64,
    },
    Block {
        from: i64,
        ends: (u32, u32),
    },
    /// Blocks follow.
    Blocks {
        from: i64,
    },
    /// No reservation; the job ran before. Schedulers that reserve do not use this, so it is not
    /// saved with a reservation.
    HasRun,
}

/// A block as two numbers: twice its first node plus 1, and its last node. A block of a single node
/// is one number: twice the node.
fn block_to_numbers(grid: &Grid, block: Block) -> (u32, Option<u32>) {
    match grid.ends(block) {
        (first, last) if first == last => (2 * first, None),
        (first, last) => (2 * first + 1, Some(last)),
    }
}

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    /// Hands over all that later decisions and answers depend on, in parts of at most
    /// [`PART_MAX`](crate::checkpoint::PART_MAX) bytes, for [`Controller::restore`]. The controller
    /// does not change: if it is saved twice, the parts are the same.
    ///
    /// # Errors
    ///
    /// `Scheduling` while a scheduling pass is under way ([`Controller::is_scheduling`]), before
    /// any part is handed over; `Part` with the first error that `part` returns, which is not
    /// called again.
    ///
    /// # Time complexity
    ///
    /// O(jobs + blocks), and O(words) if a processor is faulty.
    ///
    /// # Example
    ///
    /// ```
    /// use meshalloc::{
    ///     Change, Configuration, Controller, JobId, JobState, Mesh, Request, SchedulerKind,
    ///     Storage, StrategyKind,
    /// };
    ///
    /// let configuration = Configuration {
    ///     machine: Mesh::new(8, 8)?.into(),
    ///     strategy: StrategyKind::FirstFit,
    ///     scheduler: SchedulerKind::Fcfs,
    /// };
    /// let (mut one, mut other) = (Storage::<8, 16>::new(), Storage::<8, 16>::new());
    /// let mut saved = Controller::new(one.memory(), configuration)?;
    /// saved.handle(&Change::submit(JobId(1), Request::submesh(8, 5)), 0)?;
    /// let mut parts = Vec::new();
    /// saved.save(&mut |part| {
    ///     parts.push(part.to_vec());
    ///     Ok::<(), core::convert::Infallible>(())
    /// })?;
    ///
    /// let mut controller = Controller::new(other.memory(), configuration)?;
    /// let mut restoring = controller.restore();
    /// for part in &parts {
    ///     restoring.part(part)?;
    /// }
    /// restoring.finish()?;
    /// controller.handle(&Change::submit(JobId(2), Request::submesh(4, 4)), 0)?;
    /// let state = controller.view().job(JobId(2))?.state;
    /// assert_eq!(state, JobState::Waiting { ahead: 0 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save<E>(
        &self,
        part: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), SaveError<E>> {
        self.save_after(None, part)
    }

    /// [`Controller::save`], or if `reset` is a time, the state to which
    /// [`Change::Reset`](crate::Change::Reset) at that time would lead, in one part. A caller
    /// stores the part first, and carries out the reset only if the part was stored.
    ///
    /// # Errors
    ///
    /// Those of [`Controller::save`].
    pub fn save_after<E>(
        &self,
        reset: Option<Ticks>,
        part: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), SaveError<E>> {
        if self.is_scheduling() {
            return Err(SaveError::Scheduling);
        }
        items::save(part, |to| {
            let head = Head {
                configuration: self.configuration(),
                clock: reset.unwrap_or(self.clock),
                events: self.events,
                counts: match reset {
                    Some(_) => Counts::default(),
                    None => self.counts,
                },
            };
            to.put(&(FORMAT, head));
            // The head alone restores a controller without jobs and faults.
            if reset.is_none() {
                self.write(to);
            }
        })
        .map_err(SaveError::Part)
    }

    /// Writes the items between the head and the end.
    fn write(&self, to: &mut Writer<'_>) {
        let grid = self.machine();
        for (saved, job) in self.jobs.save_running(self.clock) {
            to.begin(ItemKind::Running);
            to.put(&SavedRunning {
                job: saved,
                age: self.clock.saturating_sub(job.granted_at()),
                later: self.events.saturating_sub(job.grant_number()),
            });
            to.begin(ItemKind::Blocks);
            to.put_numbers(self.blocks(job).map(|block| block_to_numbers(grid, block)));
        }
        for (saved, job) in self.jobs.save_waiting(self.clock) {
            to.begin(ItemKind::Waiting);
            to.put(&SavedWaiting {
                job: saved,
                reserved: self.save_reserved(job),
            });
            if Reserved::BUILT && job.reserved_block().is_none() {
                to.begin(ItemKind::Reserved);
                let blocks = self.reserved_blocks(job);
                to.put_numbers(blocks.map(|block| block_to_numbers(grid, block)));
            }
        }
        to.begin(ItemKind::FreeSlots);
        to.put_numbers(self.jobs.save_free().map(|slot| (slot, None)));
        to.begin(ItemKind::Faults);
        let faulty = self.allocator.faulty_present();
        to.put_numbers(faulty.map(|node| (node.0, None)));
        to.begin(ItemKind::Strategy);
        self.strategy().save(to);
        to.begin(ItemKind::Scheduler);
        self.scheduler.save(to);
        if Ended::BUILT {
            self.save_leases(to);
        }
    }

    fn save_reserved(&self, job: &JobSlot) -> SavedReserved {
        let Some(from) = job.reserved_from() else {
            return if job.has_run() {
                SavedReserved::HasRun
            } else {
                SavedReserved::Nothing
            };
        };
        // The subtraction wraps, as the addition does when the time is restored.
        let from = from.wrapping_sub(self.clock).cast_signed();
        match job.reserved_block() {
            Some(block) => SavedReserved::Block {
                from,
                ends: self.machine().ends(block),
            },
            None if Reserved::BUILT && job.reserved_chain().len() > 0 => {
                SavedReserved::Blocks { from }
            }
            None => SavedReserved::Processors { from },
        }
    }
}

impl<'m, S: ServedStrategy, D: ServedScheduler> Controller<'m, S, D> {
    /// Begins to restore the parts that [`Controller::save`] has handed over. The present state is
    /// forgotten at once. Memory, strategies and schedulers may differ from those of the image that
    /// saved the parts, as long as they suffice.
    pub fn restore(&mut self) -> Restoring<'_, 'm, S, D> {
        self.reset(0);
        self.jobs.begin_restoring();
        Restoring {
            controller: self,
            progress: Progress::new(),
            clock: 0,
            events: 0,
            counts: Counts::default(),
            latest: 0,
            latest_end: 0,
            open: None,
            last_free: None,
            free: 0,
        }
    }
}

/// A job whose blocks are being read.
#[derive(Clone, Copy, Debug)]
struct Open {
    slot: Slot,
    blocks: (Chain, Link),
    /// The number of processors of the blocks.
    processors: u32,
    purpose: Purpose,
}

/// The purpose of the blocks of a job.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// The job holds the blocks.
    Running { since: Ticks, number: u64 },
    /// The blocks are reserved for the job.
    Reserved { from: Ticks },
}

/// A controller that is being restored: give it the parts in order, then [`Restoring::finish`].
///
/// From the same parts it becomes a controller that decides and answers exactly as the one that was
/// saved. Parts may be any bytes; whatever does not describe a state is an error. After an error,
/// or when it is dropped before it is finished, the controller is without jobs and faults, as after
/// a reset at time 0; it has the configuration of the checkpoint if that was read, else its own.
#[derive(Debug)]
pub struct Restoring<'a, 'm, S = AnyStrategy<'m>, D = AnyScheduler>
where
    S: ServedStrategy,
    D: ServedScheduler,
{
    controller: &'a mut Controller<'m, S, D>,
    progress: Progress,
    /// The clock, events and counts become the controller's at the end.
    clock: Ticks,
    events: u64,
    counts: Counts,
    /// The number of the latest grant so far.
    latest: u64,
    /// The number of the latest end of a lease so far.
    latest_end: u64,
    open: Option<Open>,
    last_free: Option<Slot>,
    free: u32,
}

impl<S: ServedStrategy, D: ServedScheduler> Restoring<'_, '_, S, D> {
    /// Takes the next part.
    ///
    /// # Errors
    ///
    /// Any [`RestoreError`]. After an error, every further part gets the same error.
    ///
    /// # Time complexity
    ///
    /// O(words) for each block, and once, after the last fault, the time in which the strategy
    /// begins with an occupancy.
    pub fn part(&mut self, part: &[u8]) -> Result<(), RestoreError> {
        self.take_part(part)
    }

    /// Ends restoring after the last part. The controller then serves.
    ///
    /// # Errors
    ///
    /// The error of an earlier part; `Incomplete` if something is missing; `Inconsistent` if the
    /// statistics do not belong to these jobs.
    pub fn finish(mut self) -> Result<(), RestoreError> {
        self.progress.check_complete()?;
        let jobs = &self.controller.jobs;
        let jobs = jobs.waiting_len() + jobs.running_len();
        consistent(self.counts.are_of(jobs, self.events))?;
        self.controller.clock = self.clock;
        self.controller.events = self.events;
        self.controller.counts = self.counts;
        self.progress.is_finished = true;
        Ok(())
    }

    /// Puts a job into its slot, at the end of the wait queue.
    fn job(
        &mut self,
        job: &SavedJob,
        reserved: (Ticks, Reserved),
        has_run: bool,
    ) -> Result<Slot, RestoreError> {
        let demand = self.controller.allocator.demand(&job.request);
        let demand = demand.map_err(|_| RestoreError::Inconsistent)?;
        let jobs = &mut self.controller.jobs;
        jobs.restore(job, demand, self.clock, reserved, has_run)
    }

    fn running(&mut self, saved: SavedRunning) -> Result<(), RestoreError> {
        let before = |now: u64, by| now.checked_sub(by).ok_or(RestoreError::Inconsistent);
        let number = before(self.events, saved.later)?;
        consistent(number > self.latest)?;
        self.latest = number;
        self.open = Some(Open {
            slot: self.job(&saved.job, (0, Reserved::Nothing), false)?,
            blocks: (Chain::EMPTY, NONE),
            processors: 0,
            purpose: Purpose::Running {
                since: before(self.clock, saved.age)?,
                number,
            },
        });
        Ok(())
    }

    fn blocks(&mut self, numbers: &[u32]) -> Result<(), RestoreError> {
        let open = self.open.as_mut().ok_or(RestoreError::Incomplete)?;
        let grid = *self.controller.machine();
        let allocator = &mut self.controller.allocator;
        each_block(&grid, numbers, &mut |block| {
            open.processors = open.processors.saturating_add(grid.area(block));
            open.blocks = match open.purpose {
                Purpose::Running { .. } => allocator.restore_block(open.blocks, block)?,
                Purpose::Reserved { .. } => allocator.restore_chain(open.blocks, block)?,
            };
            Ok(())
        })
    }

    /// Ends the job that was read last, whose blocks are complete.
    fn close(&mut self) -> Result<(), RestoreError> {
        let Some(Open {
            slot,
            blocks: (blocks, _),
            processors,
            purpose,
        }) = self.open.take()
        else {
            return Ok(());
        };
        let jobs = &mut self.controller.jobs;
        let request = jobs.get(slot).request();
        consistent(processors >= request.total() && blocks.len() >= request.slices())?;
        match purpose {
            Purpose::Running { since, number } => {
                consistent(blocks.len() > 0)?;
                jobs.grant(slot, blocks, processors, since, number);
            }
            Purpose::Reserved { from } => {
                consistent(blocks.len() > 1)?;
                self.controller.allocator.pool.reserve(blocks);
                jobs.reserve(slot, from, Reserved::Blocks(blocks.links()));
            }
        }
        Ok(())
    }

    fn waiting(&mut self, saved: SavedWaiting) -> Result<(), RestoreError> {
        let clock = self.clock;
        let later = |by: i64| clock.wrapping_add(by.cast_unsigned());
        let reserved = match saved.reserved {
            SavedReserved::Nothing | SavedReserved::HasRun | SavedReserved::Blocks { .. } => {
                (0, Reserved::Nothing)
            }
            SavedReserved::Processors { from } => (later(from), Reserved::Processors),
            SavedReserved::Block { from, ends } => {
                let block = block_from_ends(self.controller.machine(), ends)?;
                (later(from), Reserved::Block(block))
            }
        };
        let takes_any = self.controller.strategy().facts().takes_any;
        consistent(match saved.reserved {
            SavedReserved::Processors { .. } => takes_any,
            SavedReserved::Block { .. } | SavedReserved::Blocks { .. } => !takes_any,
            SavedReserved::Nothing | SavedReserved::HasRun => true,
        })?;
        let has_run = matches!(saved.reserved, SavedReserved::HasRun);
        let slot = self.job(&saved.job, reserved, has_run)?;
        if let Reserved::Block(block) = reserved.1 {
            let processors = self.controller.jobs.get(slot).request().total();
            consistent(self.controller.machine().area(block) >= processors)?;
        }
        match saved.reserved {
            SavedReserved::Blocks { from } if Reserved::BUILT => {
                self.open = Some(Open {
                    slot,
                    blocks: (Chain::EMPTY, NONE),
                    processors: 0,
                    purpose: Purpose::Reserved { from: later(from) },
                });
                Ok(())
            }
            SavedReserved::Blocks { .. } => Err(RestoreError::Format),
            _ => Ok(()),
        }
    }
}

/// Calls `visit` for each block of an item ([`block_to_numbers`]).
fn each_block(
    grid: &Grid,
    mut numbers: &[u32],
    visit: &mut dyn FnMut(Block) -> Result<(), RestoreError>,
) -> Result<(), RestoreError> {
    while !numbers.is_empty() {
        let (first, last, rest) = match *numbers {
            [single, ref rest @ ..] if single % 2 == 0 => (single / 2, single / 2, rest),
            [first, last, ref rest @ ..] => (first / 2, last, rest),
            _ => return Err(RestoreError::Malformed),
        };
        numbers = rest;
        visit(block_from_ends(grid, (first, last))?)?;
    }
    Ok(())
}

impl<S: ServedStrategy, D: ServedScheduler> Restore for Restoring<'_, '_, S, D> {
    const FORMAT: u32 = FORMAT;

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn head(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let Head {
            configuration,
            clock,
            events,
            counts,
        } = from.take()?;
        consistent(events.max(counts.largest()) <= COUNT_MAX)?;
        let scheduler = self.controller.checked(&configuration);
        scheduler
            .map(|scheduler| self.controller.configure(configuration, scheduler, 0))
            .map_err(RestoreError::Configure)?;
        (self.clock, self.events, self.counts) = (clock, events, counts);
        Ok(())
    }

    fn item(
        &mut self,
        kind: ItemKind,
        stage: ItemKind,
        from: &mut Reader<'_>,
    ) -> Result<(), RestoreError> {
        let purpose = self.open.map(|open| open.purpose);
        let is_in_order = match kind {
            ItemKind::Head => false,
            ItemKind::Running => matches!(stage, ItemKind::Head | ItemKind::Blocks),
            ItemKind::Blocks => matches!(purpose, Some(Purpose::Running { .. })),
            ItemKind::Waiting => stage <= ItemKind::Reserved,
            ItemKind::Reserved if Reserved::BUILT => {
                matches!(purpose, Some(Purpose::Reserved { .. }))
            }
            kind => kind >= stage && stage != ItemKind::End,
        };
        if !is_in_order {
            return Err(RestoreError::Incomplete);
        }
        if !matches!(kind, ItemKind::Blocks | ItemKind::Reserved) {
            self.close()?;
        }
        if kind >= ItemKind::Strategy && stage < ItemKind::Strategy {
            consistent(self.controller.jobs.is_restored(self.free))?;
            if Reserved::BUILT {
                consistent(self.controller.overlapping_reservations().is_none())?;
            }
            self.controller.allocator.reset_strategy();
        }
        match kind {
            ItemKind::Running => self.running(from.take()?)?,
            ItemKind::Waiting => self.waiting(from.take()?)?,
            ItemKind::Reserved if !Reserved::BUILT => return Err(RestoreError::Format),
            ItemKind::Blocks | ItemKind::Reserved => self.blocks(&from.take::<Numbers>()?)?,
            ItemKind::FreeSlots => {
                for slot in from.take::<Numbers>()? {
                    let jobs = &mut self.controller.jobs;
                    self.last_free = Some(jobs.restore_free(slot, self.last_free)?);
                    self.free += 1;
                }
            }
            ItemKind::Faults => self.controller.allocator.restore_faults(from)?,
            ItemKind::Strategy => self.controller.allocator.strategy.restore(from)?,
            ItemKind::Scheduler => self.controller.scheduler.restore(from)?,
            ItemKind::Leases if Ended::BUILT => {
                let latest = (self.latest_end, self.events);
                self.latest_end = self.controller.restore_lease(from.take()?, latest)?;
            }
            ItemKind::Leases => return Err(RestoreError::Format),
            ItemKind::Head | ItemKind::End => {}
        }
        Ok(())
    }
}

impl<S: ServedStrategy, D: ServedScheduler> Drop for Restoring<'_, '_, S, D> {
    fn drop(&mut self) {
        if !self.progress.is_finished {
            self.controller.reset(0);
        }
    }
}

#[cfg(all(test, feature = "alloc", feature = "first-fit", feature = "fcfs"))]
mod tests;
