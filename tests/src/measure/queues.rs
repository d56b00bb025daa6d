//! The instructions of decisions with foresight and of scheduling passes.

use std::collections::BTreeSet;

use meshalloc::{Change, Configuration, Flags, JobId, Request, SchedulerKind, StrategyKind, Ticks};
use rayon::prelude::*;

use super::count::{Counter, Spread, count};
use super::{Ask, Image, MACHINES, Row};

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
/// What is measured.
const MEASURED: &str = "measured";

/// Decisions with foresight, for each budget.
pub(super) fn decisions(image: &Image) -> Vec<Row> {
    let rows = BUDGETS.par_iter().map(|&budget| {
        let mut row = vec![budget.to_string()];
        for strategy in [
            StrategyKind::LeastExpectedBlocking { budget },
            StrategyKind::LebEstimates { budget },
        ] {
            let spread = measure(image, strategy, SchedulerKind::Fcfs, |script| {
                if script.running.len() > RUNNING {
                    script.release_next("");
                }
                let is_decision = script.running.len() == RUNNING;
                if script.submit(Flags::NO_WAIT) && is_decision {
                    script.counter.rename(MEASURED);
                }
            });
            row.extend(spread.cells());
            row.push(format!("{:.1}", spread.most as f64 / IN_A_MILLISECOND));
        }
        row
    });
    rows.collect()
}

/// Scheduling passes: a release while others wait.
pub(super) fn passes(image: &Image) -> Vec<Row> {
    let rows = STRATEGIES.par_iter().map(|&strategy| {
        let mut row = vec![format!("`{strategy}`")];
        for scheduler in SCHEDULERS {
            let spread = measure(image, strategy, scheduler, |script| {
                if script.waiting >= WAITING {
                    script.release_next(MEASURED);
                } else {
                    script.submit(Flags::empty());
                }
            });
            row.extend(spread.cells());
        }
        row
    });
    rows.collect()
}

/// The instructions of those commands that `next`, which chooses one or two, marks as measured.
fn measure(
    image: &Image,
    strategy: StrategyKind,
    scheduler: SchedulerKind,
    next: impl Fn(&mut Script<'_>),
) -> Spread {
    let configuration = Configuration {
        machine: MACHINES.mesh,
        strategy,
        scheduler,
    };
    let counted = count(image, configuration, |counter| {
        let mut script = Script {
            counter,
            now: 0,
            latest: 0,
            running: BTreeSet::new(),
            waiting: 0,
        };
        while script.counter.commands() + 2 <= COMMANDS_MAX {
            next(&mut script);
        }
    });
    let (_, spreads) = counted.expect("the image serves the mesh");
    let spread = spreads[MEASURED];
    assert!(
        spread.count >= 100,
        "only {} commands were measured",
        spread.count
    );
    spread
}

/// Jobs of 1 to 15 by 1 to 15 processors, with run times as estimated.
struct Script<'c> {
    counter: &'c mut Counter,
    now: Ticks,
    latest: u32,
    /// The running jobs by when they end.
    running: BTreeSet<(Ticks, u32)>,
    waiting: u32,
}

impl Script<'_> {
    /// Submits another job; returns whether any begins.
    fn submit(&mut self, flags: Flags) -> bool {
        self.latest += 1;
        let job = self.latest;
        let side = |draw| 1 + random(3 * job + draw, 15) as u16;
        let request = Request::submesh(side(1), side(2)).with_flags(flags);
        let may_wait = u32::from(!flags.contains(Flags::NO_WAIT));
        self.waiting += may_wait;
        let submit = Change::submit(JobId(job), request.with_estimate(run_time(job)));
        self.carry_out("", submit, may_wait)
    }

    /// Goes on to when the next job ends, and releases it.
    fn release_next(&mut self, kind: &'static str) {
        if let Some((end, job)) = self.running.pop_first() {
            self.now = end;
            self.carry_out(kind, Change::Release { job: JobId(job) }, 1);
        }
    }

    /// `leaving` is by how much a grant shortens the queue.
    fn carry_out(&mut self, kind: &'static str, change: Change, leaving: u32) -> bool {
        let granted = self.counter.call(kind, self.now, &Ask::Change(change));
        for &JobId(job) in &granted {
            self.running.insert((self.now + run_time(job), job));
            self.waiting -= leaving;
        }
        !granted.is_empty()
    }
}

/// A random number of each job (SplitMix64, Steele and others 2014): the work must not repeat
/// itself.
fn random(job: u32, below: u64) -> u64 {
    let mut z = u64::from(job).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) % below
}

/// 1,000 to 9,999 ticks.
fn run_time(job: u32) -> Ticks {
    1_000 + random(3 * job, 9_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_these_columns() {
        let of = SCHEDULERS.map(|kind| format!("`{0}`, median | `{0}`, most", kind.name()));
        let head = format!("| strategy | {} |", of.join(" | "));
        crate::measure::assert_head(&head);
    }
}
