//! The longest time for which the firmware does not look at the line, with every strategy and
//! scheduler: a search for bad cases.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use meshalloc::{Change, Configuration, Query, SchedulerKind, StrategyKind};

use super::count::{QEMU_CLOCK, TICKS_EACH, rounded, words};
use crate::ask::Ask;
use crate::command::in_parallel;
use crate::emulator::Emulator;
use crate::image::Image;

mod scenes;
use scenes::{Scene, scenes};

/// Instructions of a slice: 50 ms at 16 MHz and 1.5 cycles an instruction.
pub(super) const SLICE_MAX: u64 = 50 * 16_000 * 2 / 3;

/// One that reserves nothing, as all others do that are not here: a slice is a part of one attempt.
/// One that reserves for some jobs, and one for all.
const SCHEDULERS: [SchedulerKind; 3] = [
    SchedulerKind::Fcfs,
    SchedulerKind::Easy { reservations: 8 },
    SchedulerKind::Conservative,
];

/// Of all strategies if none is named; and which of them take longer than a slice under which
/// scheduler.
pub(super) fn table(image: &Image, names: &[String]) -> Result<(String, Vec<String>)> {
    let is_wanted =
        |kind: &StrategyKind| names.is_empty() || names.iter().any(|name| name == kind.name());
    let built = StrategyKind::ALL.iter().copied();
    let built: Vec<_> = built.filter(is_wanted).collect();
    let cases: Vec<_> = built
        .iter()
        .flat_map(|&strategy| SCHEDULERS.map(|scheduler| (strategy, scheduler)))
        .collect();
    let scenes = scenes();
    let mut longest = in_parallel(&cases, |_, &(strategy, scheduler)| {
        measure(image, strategy, scheduler, &scenes).with_context(|| {
            format!(
                "measuring the slices of {strategy} under {}",
                scheduler.name()
            )
        })
    })?;
    for longest in longest.chunks_mut(SCHEDULERS.len()) {
        // Those of the scenes in which no job waits, which only the first one has played.
        let first = longest[0];
        longest
            .iter_mut()
            .for_each(|(all, _)| *all = first.1.max(*all));
    }
    let names = SCHEDULERS.map(|scheduler| format!("`{}`", scheduler.name()));
    let mut text = format!(
        "| strategy | {} |\n|---|{}\n",
        names.join(" | "),
        "--:|".repeat(names.len())
    );
    let longer = cases.iter().zip(&longest);
    let longer = longer.filter(|&(_, &(longest, _))| longest > SLICE_MAX);
    let longer: Vec<_> = longer
        .map(|((strategy, scheduler), _)| {
            format!("`{}` under `{}`", strategy.name(), scheduler.name())
        })
        .collect();
    for (strategy, longest) in built.iter().zip(longest.chunks(SCHEDULERS.len())) {
        let cells: Vec<_> = longest
            .iter()
            .map(|&(longest, _)| rounded(longest).to_string())
            .collect();
        writeln!(text, "| `{}` | {} |", strategy.name(), cells.join(" | "))?;
    }
    Ok((text, longer))
}

/// The most instructions between two looks at the line, and those of scenes in which no job waits:
/// they are the same under every scheduler, and played under the first one only.
fn measure(
    image: &Image,
    strategy: StrategyKind,
    scheduler: SchedulerKind,
    scenes: &[Scene],
) -> Result<(u64, u64)> {
    let (address, bytes) = image
        .command_ticks
        .context("the image does not keep how long commands take")?;
    let (mut emulator, mut client) = Emulator::start(&QEMU_CLOCK)?;
    client.use_virtual_clock(true)?;
    let (mut longest, mut without_queue) = (0, 0);
    let is_played =
        |scene: &&Scene| scene.is_for(strategy) && (scene.has_queue || scheduler == SCHEDULERS[0]);
    // Those without a queue first: the image keeps the most of all so far.
    for scene in scenes.iter().filter(is_played) {
        let configuration = Configuration {
            machine: scene.machine,
            strategy,
            scheduler,
        };
        let first = [Change::Reset, Change::Configure(configuration)];
        let first = first.map(|change| (0, Ask::Change(change)));
        for (at, command) in first.into_iter().chain(scene.commands.iter().copied()) {
            // That the journal has no room for what it may lead to takes a slice as well.
            let _ = command.call(&mut client, Some(at), &mut |_, _| ())?;
        }
        let _ = client.query(&Query::Statistics)?;
        let word = emulator.peek(address + bytes - 4, 4)?;
        let ticks = words(&word).next().context("no word was read")?;
        let instructions = (f64::from(ticks) / TICKS_EACH).round() as u64;
        if instructions > longest {
            println!(
                "{strategy}, {}: {}: {instructions}",
                scheduler.name(),
                scene.name
            );
            longest = instructions;
        }
        if !scene.has_queue {
            without_queue = longest;
        }
    }
    Ok((longest, without_queue))
}
