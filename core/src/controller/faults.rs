//! Marks blocks of processors as faulty or working.

use super::Controller;
use crate::grid::Block;
use crate::jobs::JobSlot;
use crate::message::FaultReport;
use crate::pause::{Pause, Pauses};
use crate::request::Ticks;
use crate::scheduler::{ServedScheduler, Trigger};
use crate::strategy::ServedStrategy;

impl<S: ServedStrategy, D: ServedScheduler> Controller<'_, S, D> {
    /// Marks the processors of a block of the machine as faulty, or as working.
    pub(super) fn set_faulty(
        &mut self,
        block: Block,
        faulty: bool,
        now: Ticks,
        pauses: Option<&Pauses<'_>>,
    ) -> FaultReport {
        self.clock = self.clock.max(now);
        let before = self.occupancy().free();
        let (_, world) = self.world(pauses);
        let pause = Pause::with_jobs(world.pauses, world.jobs);
        let pause = pause.as_ref();
        let jobs = Some(&*world.jobs);
        let changed = world.allocator.set_faulty(block, faulty, jobs, pause);
        let (occupancy, pool) = world.allocator.parts();
        let is_on = |job: &&JobSlot| {
            let mut blocks = pool.iter(job.blocks());
            blocks.any(|held| {
                Pause::poll(pause, occupancy, pool);
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
            self.schedule(Trigger::Departure);
        }
        report
    }
}
