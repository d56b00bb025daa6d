//! Faulty processors: whole blocks of them, in and out.

use super::{Controller, Grants};
use crate::blocks::Held;
use crate::error::Error;
use crate::grid::{Block, Grid};
use crate::jobs::JobSlot;
use crate::message::FaultReport;
use crate::pause::{LOOK_INSTRUCTIONS, Pause, Pauses};
use crate::request::Ticks;
use crate::scheduler::{Event, Scheduler};

impl Controller<'_> {
    /// The processors of the block are faulty. Jobs that hold some of them keep running. `granted` is called for every job that is granted:
    /// by a pass that was under way, or in consequence of a lease that has ended.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchBlock`].
    ///
    /// # Time complexity
    ///
    /// That of [`Allocator::mark_faulty`](crate::Allocator::mark_faulty), and O(blocks held).
    pub fn mark_faulty(
        &mut self,
        block: Block,
        now: Ticks,
        granted: Grants<'_>,
    ) -> Result<FaultReport, Error> {
        self.set_faulty(block, true, now, granted)
    }

    /// The processors of the block work again. `granted` is called for every job that is granted in consequence.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchBlock`].
    ///
    /// # Time complexity
    ///
    /// That of [`Allocator::clear_faulty`](crate::Allocator::clear_faulty), O(blocks held), and that of the strategy for each job that the scheduler lets try.
    pub fn clear_faulty(
        &mut self,
        block: Block,
        now: Ticks,
        granted: Grants<'_>,
    ) -> Result<FaultReport, Error> {
        self.set_faulty(block, false, now, granted)
    }

    fn set_faulty(
        &mut self,
        block: Block,
        faulty: bool,
        now: Ticks,
        granted: Grants<'_>,
    ) -> Result<FaultReport, Error> {
        self.finish(granted);
        let report = self.begin_set_faulty(block, faulty, now, None)?;
        self.settle(granted);
        Ok(report)
    }

    /// The processors of the block are faulty from now on, or are no more.
    pub(super) fn begin_set_faulty(
        &mut self,
        block: Block,
        faulty: bool,
        now: Ticks,
        pauses: Option<&Pauses<'_>>,
    ) -> Result<FaultReport, Error> {
        check_block(self.machine(), block)?;
        self.clock = self.clock.max(now);
        let before = self.occupancy().free();
        let (_, world) = self.world(pauses);
        let pause = Pause::with_jobs(world.pauses, world.jobs);
        let pause = pause.as_ref();
        let changed = match faulty {
            true => world.allocator.mark_faulty_pausing(block, pause),
            false => {
                let jobs = Some(&*world.jobs);
                world.allocator.clear_faulty_pausing(block, jobs, pause)
            }
        };
        let (occupancy, pool) = world.allocator.parts();
        let is_on = |job: &&JobSlot| {
            let mut blocks = pool.iter(job.blocks());
            blocks.any(|held| {
                Pause::spend(pause, LOOK_INSTRUCTIONS, occupancy, pool);
                occupancy.grid().overlap(held, block)
            })
        };
        let mut jobs = world.jobs.running().filter(is_on);
        let first = jobs.next().map(JobSlot::id);
        let report = FaultReport {
            changed,
            jobs: u32::from(first.is_some()) + jobs.count() as u32,
            first,
        };
        if changed > 0 {
            self.scheduler.faults_changed();
        }
        if self.occupancy().free() > before {
            self.schedule(Event::Departure);
        }
        Ok(report)
    }
}

pub(super) fn check_block(machine: &Grid, block: Block) -> Result<(), Error> {
    match machine.outside(block) {
        None => Ok(()),
        Some(dimension) => Err(Error::NoSuchBlock {
            dimension: dimension as u8,
        }),
    }
}

/// Whether the job holds a processor of the block.
pub(super) fn is_on(grid: &Grid, held: Held<'_, '_>, job: &JobSlot, block: Block) -> bool {
    let mut blocks = held.of(job.blocks());
    blocks.any(|held| grid.overlap(held, block))
}
