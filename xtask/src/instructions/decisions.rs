//! The instructions of a decision with foresight, for each budget.

use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use meshalloc::{Flags, SchedulerKind, StrategyKind};

use super::count::{Spread, instructions};
use super::script::{Script, configuration, memory};
use crate::command::in_parallel;
use crate::image::Image;

const BUDGETS: [u64; 3] = [16, 32, 64];
/// Jobs that run when a decision is made.
const RUNNING: usize = 40;
/// The clock of the board, in MHz.
const CLOCK_MHZ: u32 = 180;
/// Cycles an instruction takes, all in all, an assumption: most take one, loads two, taken branches
/// two to four; the chip's flash accelerator hides nearly all of the five wait states at this
/// clock.
const CYCLES_EACH: f64 = 1.5;
pub(super) fn table(image: &Image) -> Result<String> {
    let strategies = |budget| {
        [
            StrategyKind::LeastExpectedBlocking { budget },
            StrategyKind::LebEstimates { budget },
        ]
    };
    let strategies = BUDGETS.map(strategies);
    let spreads = in_parallel(strategies.as_flattened(), |_, &strategy| {
        measure(image, strategy).with_context(|| format!("counting the instructions of {strategy}"))
    })?;
    let mut text = String::from(
        "| E | `leb`, median | `leb`, most | ms | `leb-e`, median | `leb-e`, most | ms |\n|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for (budget, spreads) in BUDGETS.iter().zip(spreads.as_chunks::<2>().0) {
        let ms = spreads.map(|spread| spread.most as f64 / instructions_in_ms());
        let cells = [0, 1].map(|at| format!("{} | {:.1}", spreads[at].cells(), ms[at]));
        writeln!(text, "| {budget} | {} |", cells.join(" | "))?;
    }
    Ok(text)
}

/// The instructions in a millisecond.
fn instructions_in_ms() -> f64 {
    f64::from(CLOCK_MHZ * 1000) / CYCLES_EACH
}

fn measure(image: &Image, strategy: StrategyKind) -> Result<Spread> {
    let configuration = configuration(strategy, SchedulerKind::Fcfs);
    let mut memory = memory();
    let mut script = Script::new(&mut memory, configuration)?;
    let mut decisions = Vec::new();
    while script.goes_on() {
        if script.running() > RUNNING {
            script.release_next();
        }
        let is_decision = script.running() == RUNNING;
        if script.submit(Flags::NO_WAIT) && is_decision {
            decisions.push(script.steps.len() - 1);
        }
    }
    ensure!(decisions.len() >= 100, "only {} decisions", decisions.len());
    let (granted, counted) = instructions(image, configuration, &script.steps)?;
    ensure!(
        granted == script.granted,
        "it places {granted} jobs, {} in process",
        script.granted
    );
    Spread::of(decisions.iter().map(|&at| counted[at]))
}
