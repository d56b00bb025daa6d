//! Commands that depend on what earlier ones brought about: a controller in process carries them
//! out while they are written down.

use std::collections::BTreeSet;

use anyhow::Result;
use meshalloc::{
    Change, Configuration, Controller, Flags, JobId, Request, Storage, StrategyKind, Ticks,
};

use super::MESH;
use super::count::Step;

/// The image keeps the latest 512 commands.
const COMMANDS_MAX: usize = 500;

/// Room for any strategy that is measured, on a host.
type Memory = Storage<64, 256, 32_768, 4096, 4096>;

/// Jobs of 1 to 15 by 1 to 15 processors, with run times as estimated, on a machine of its own.
pub(super) struct Script<'m> {
    controller: Controller<'m>,
    now: Ticks,
    latest: u32,
    /// The running jobs by when they end.
    running: BTreeSet<(Ticks, u32)>,
    waiting: u32,
    pub(super) granted: u32,
    pub(super) steps: Vec<Step>,
}

/// Memory for a script.
pub(super) fn memory() -> Box<Memory> {
    Box::new(Storage::new())
}

impl<'m> Script<'m> {
    /// # Errors
    ///
    /// When the memory does not suffice.
    pub(super) fn new(memory: &'m mut Memory, configuration: Configuration) -> Result<Self> {
        Ok(Script {
            controller: Controller::new(memory.memory(), configuration)?,
            now: 0,
            latest: 0,
            running: BTreeSet::new(),
            waiting: 0,
            granted: 0,
            steps: Vec::new(),
        })
    }

    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    pub(super) const fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Whether there is room for two further commands.
    pub(super) fn goes_on(&self) -> bool {
        self.steps.len() + 2 <= COMMANDS_MAX
    }

    /// Submits another job; returns whether it runs.
    pub(super) fn submit(&mut self, flags: Flags) -> bool {
        self.latest += 1;
        let job = self.latest;
        let request = request(job).with_flags(flags).with_estimate(run_time(job));
        self.waiting += u32::from(!flags.contains(Flags::NO_WAIT));
        let before = self.granted;
        let command = Change::submit(JobId(job), request);
        self.carry_out(command, u32::from(!flags.contains(Flags::NO_WAIT)));
        self.granted > before
    }

    /// Goes on to when the next job ends, and releases it.
    pub(super) fn release_next(&mut self) {
        if let Some((end, job)) = self.running.pop_first() {
            self.now = end;
            self.carry_out(Change::Release { job: JobId(job) }, 1);
        }
    }

    /// `leaving` is by how much a grant shortens the queue.
    fn carry_out(&mut self, change: Change, leaving: u32) {
        let Script {
            controller,
            now,
            running,
            waiting,
            granted,
            steps,
            ..
        } = self;
        steps.push((*now, change.into()));
        let known = controller.events();
        // Whether it is refused does not matter here.
        let _ = controller.handle(&change, *now);
        for event in controller.view().events_since(known) {
            let job = event.job.0;
            running.insert((*now + run_time(job), job));
            *waiting -= leaving;
            *granted += 1;
        }
    }
}

/// A random number of each job (SplitMix64, Steele and others 2014): the work must not repeat
/// itself.
pub(super) fn random(job: u32, below: u64) -> u64 {
    let mut z = u64::from(job).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) % below
}

/// 1,000 to 9,999 ticks.
fn run_time(job: u32) -> Ticks {
    1_000 + random(3 * job, 9_000)
}

/// Sides of 1 to 15.
fn request(job: u32) -> Request {
    let side = |draw| 1 + random(3 * job + draw, 15) as u16;
    Request::submesh(side(1), side(2))
}

/// A strategy at work on the mesh, with this scheduler.
pub(super) const fn configuration(
    strategy: StrategyKind,
    scheduler: meshalloc::SchedulerKind,
) -> Configuration {
    Configuration {
        machine: MESH,
        strategy,
        scheduler,
    }
}
