//! The instructions of a scheduling pass: what a release takes while others wait.

use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use meshalloc::{Change, Flags, SchedulerKind, StrategyKind};

use super::count::{Spread, instructions};
use super::script::{Script, configuration, memory};
use crate::ask::Ask;
use crate::command::in_parallel;
use crate::image::Image;

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

pub(super) fn table(image: &Image) -> Result<String> {
    let cases = STRATEGIES.map(|strategy| SCHEDULERS.map(|scheduler| (strategy, scheduler)));
    let spreads = in_parallel(cases.as_flattened(), |_, &(strategy, scheduler)| {
        measure(image, strategy, scheduler).with_context(|| {
            format!(
                "counting the instructions of {strategy} under {}",
                scheduler.name()
            )
        })
    })?;
    let columns = SCHEDULERS.map(|scheduler| {
        let name = scheduler.name();
        format!("`{name}`, median | `{name}`, most")
    });
    let mut text = format!(
        "| strategy | {} |\n|---|{}\n",
        columns.join(" | "),
        "--:|".repeat(2 * columns.len())
    );
    for (strategy, spreads) in STRATEGIES.iter().zip(spreads.as_chunks::<3>().0) {
        let cells = spreads.map(Spread::cells).join(" | ");
        writeln!(text, "| `{strategy}` | {cells} |")?;
    }
    Ok(text)
}

fn measure(image: &Image, strategy: StrategyKind, scheduler: SchedulerKind) -> Result<Spread> {
    let configuration = configuration(strategy, scheduler);
    let mut memory = memory();
    let mut script = Script::new(&mut memory, configuration)?;
    while script.goes_on() {
        match script.waiting() < WAITING {
            true => _ = script.submit(Flags::empty()),
            false => script.release_next(),
        }
    }
    let (granted, counted) = instructions(image, configuration, &script.steps)?;
    ensure!(
        granted == script.granted,
        "it places {granted} jobs, {} in process",
        script.granted
    );
    let steps = script.steps.iter().zip(&counted);
    let passes =
        steps.filter(|((_, command), _)| matches!(command, Ask::Change(Change::Release { .. })));
    Spread::of(passes.map(|(_, &counted)| counted))
}
