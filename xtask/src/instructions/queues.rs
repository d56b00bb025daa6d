//! The instructions of decisions with foresight and of scheduling passes.
//!
//! The next command depends on the outcome of earlier ones, so a controller in process carries out
//! the commands while they are chosen.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use meshalloc::{
    Change, Configuration, Controller, Flags, JobId, Request, SchedulerKind, Storage, StrategyKind,
    Ticks,
};
use rayon::prelude::*;

use super::count::{Spread, Step, instructions};
use super::{MESH, Measured};
use crate::image::Image;
use crate::tables::code;

const BUDGETS: [u64; 3] = [16, 32, 64];
/// Jobs that run when a decision is made.
const RUNNING: usize = 40;
/// Instructions in a millisecond on the board, at 180 MHz. An instruction takes 1.5 cycles, an
/// assumption: most take one, loads two, taken branches two to four; the chip's flash accelerator
/// hides nearly all of the five wait states at this clock.
const IN_A_MILLISECOND: f64 = 180e3 / 1.5;

/// The schedulers and strategies of the table of passes.
const SCHEDULERS: [SchedulerKind; 3] = [
    SchedulerKind::Fcfs,
    SchedulerKind::Easy { reservations: 1 },
    SchedulerKind::Conservative,
];
const STRATEGIES: [StrategyKind; 4] = [
    StrategyKind::FirstFit,
    StrategyKind::FreeSubmeshList,
    StrategyKind::LeastExpectedBlocking { budget: 64 },
    StrategyKind::LebEstimates { budget: 64 },
];
/// Jobs that wait when one is released.
const WAITING: u32 = 16;

/// The image keeps the latest 512 commands.
const COMMANDS_MAX: usize = 500;

/// A decision with foresight, for each budget.
pub(super) fn decisions(image: &Image) -> Result<Measured> {
    let rows = BUDGETS.par_iter().map(|&budget| {
        let mut row = vec![budget.to_string()];
        for strategy in [
            StrategyKind::LeastExpectedBlocking { budget },
            StrategyKind::LebEstimates { budget },
        ] {
            let spread = measure(image, strategy, SchedulerKind::Fcfs, |script| {
                if script.running.len() > RUNNING {
                    script.release_next();
                }
                let is_decision = script.running.len() == RUNNING;
                script.submit(Flags::NO_WAIT) && is_decision
            })?;
            row.extend(spread.cells());
            row.push(format!("{:.1}", spread.most as f64 / IN_A_MILLISECOND));
        }
        Ok(row)
    });
    let columns = [
        "E",
        "`leb`, median",
        "`leb`, most",
        "ms",
        "`leb-e`, median",
        "`leb-e`, most",
        "ms",
    ];
    Ok(Measured::new(columns, rows.collect::<Result<_>>()?))
}

/// A scheduling pass: a release while others wait.
pub(super) fn passes(image: &Image) -> Result<Measured> {
    let rows = STRATEGIES.par_iter().map(|&strategy| {
        let mut row = vec![code(&strategy.to_string())];
        for scheduler in SCHEDULERS {
            let spread = measure(image, strategy, scheduler, |script| {
                let is_release = script.waiting >= WAITING;
                match is_release {
                    true => script.release_next(),
                    false => _ = script.submit(Flags::empty()),
                }
                is_release
            });
            row.extend(spread?.cells());
        }
        Ok(row)
    });
    let names = SCHEDULERS.map(|scheduler| code(scheduler.name()));
    let columns = names
        .iter()
        .flat_map(|name| ["median", "most"].map(|it| format!("{name}, {it}")));
    let columns = ["strategy".to_owned()].into_iter().chain(columns);
    Ok(Measured::new(columns, rows.collect::<Result<_>>()?))
}

/// The instructions of those commands for which `next`, which chooses them, returns true.
fn measure(
    image: &Image,
    strategy: StrategyKind,
    scheduler: SchedulerKind,
    next: impl Fn(&mut Script<'_>) -> bool,
) -> Result<Spread> {
    let configuration = Configuration {
        machine: MESH,
        strategy,
        scheduler,
    };
    // Room for any strategy that is measured, on a host.
    let mut memory = Box::new(Storage::<64, 256, 32_768, 4096, 4096>::new());
    let mut script = Script {
        controller: Controller::new(memory.memory(), configuration)?,
        now: 0,
        latest: 0,
        running: BTreeSet::new(),
        waiting: 0,
        granted: 0,
        steps: Vec::new(),
    };
    let mut chosen = Vec::new();
    // There is room for two further commands.
    while script.steps.len() + 2 <= COMMANDS_MAX {
        if next(&mut script) {
            chosen.push(script.steps.len() - 1);
        }
    }
    ensure!(
        chosen.len() >= 100,
        "only {} commands to be counted",
        chosen.len()
    );
    let counted = instructions(image, configuration, &script.steps);
    let (granted, counted) = counted.with_context(|| format!("{strategy} under {scheduler:?}"))?;
    let in_process = script.granted;
    ensure!(
        granted == in_process,
        "it places {granted} jobs, {in_process} in process"
    );
    Spread::of(chosen.iter().map(|&at| counted[at]))
}

/// Jobs of 1 to 15 by 1 to 15 processors, with run times as estimated.
struct Script<'m> {
    controller: Controller<'m>,
    now: Ticks,
    latest: u32,
    /// The running jobs by when they end.
    running: BTreeSet<(Ticks, u32)>,
    waiting: u32,
    granted: u32,
    steps: Vec<Step>,
}

impl Script<'_> {
    /// Submits another job; returns whether it runs.
    fn submit(&mut self, flags: Flags) -> bool {
        self.latest += 1;
        let job = self.latest;
        let side = |draw| 1 + random(3 * job + draw, 15) as u16;
        let request = Request::submesh(side(1), side(2)).with_flags(flags);
        let may_wait = u32::from(!flags.contains(Flags::NO_WAIT));
        self.waiting += may_wait;
        let before = self.granted;
        let submit = Change::submit(JobId(job), request.with_estimate(run_time(job)));
        self.carry_out(submit, may_wait);
        self.granted > before
    }

    /// Goes on to when the next job ends, and releases it.
    fn release_next(&mut self) {
        if let Some((end, job)) = self.running.pop_first() {
            self.now = end;
            self.carry_out(Change::Release { job: JobId(job) }, 1);
        }
    }

    /// `leaving` is by how much a grant shortens the queue.
    fn carry_out(&mut self, change: Change, leaving: u32) {
        self.steps.push((self.now, change.into()));
        let known = self.controller.events();
        // Whether it is refused does not matter here.
        let _ = self.controller.handle(&change, self.now);
        for event in self.controller.view().events_since(known) {
            let job = event.job.0;
            self.running.insert((self.now + run_time(job), job));
            self.waiting -= leaving;
            self.granted += 1;
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
