//! The longest time for which the firmware does not look at the line, with every strategy and
//! scheduler: a search for bad cases.

use anyhow::{Context, Result};
use meshalloc::{Configuration, Query, SchedulerKind, StrategyKind};
use rayon::prelude::*;

use super::Measured;
use super::count::{QEMU_CLOCK, TICKS, first, of_ticks, rounded, words};
use crate::emulator::Emulator;
use crate::image::Image;
use crate::tables::code;

mod scenes;
use scenes::{Scene, scenes};

/// Instructions of a slice: 50 ms at 16 MHz and 1.5 cycles an instruction.
const SLICE_MAX: u64 = 50 * 16_000 * 2 / 3;

/// One that reserves nothing, as all others do that are not here: a slice is a part of one attempt.
/// One that reserves for some jobs, and one for all.
const SCHEDULERS: [SchedulerKind; 3] = [
    SchedulerKind::Fcfs,
    SchedulerKind::Easy { reservations: 8 },
    SchedulerKind::Conservative,
];

/// The longest slices; fails if one is longer than it may be.
pub(super) fn table(image: &Image, strategies: &[StrategyKind]) -> Result<Measured> {
    let scenes = scenes();
    let rows = strategies.par_iter().map(|&strategy| {
        let mut slices = Vec::new();
        let mut without_queue = 0;
        for scheduler in SCHEDULERS {
            let (longest, first) = measure(image, strategy, scheduler, &scenes)
                .with_context(|| format!("the slices of {strategy} under {}", scheduler.name()))?;
            // Those of the scenes in which no job waits, which only the first one has played.
            without_queue = first.max(without_queue);
            slices.push(longest.max(without_queue));
        }
        Ok((strategy.name(), slices))
    });
    let rows: Vec<_> = rows.collect::<Result<_>>()?;
    let longer = rows
        .iter()
        .filter(|(_, slices)| slices.iter().any(|&slice| slice > SLICE_MAX));
    let longer: Vec<_> = longer.map(|(name, _)| *name).collect();
    let cells = rows.iter().map(|(name, slices)| {
        let slices = slices.iter().map(|&slice| rounded(slice).to_string());
        [code(name)].into_iter().chain(slices).collect()
    });
    let names = SCHEDULERS.map(|scheduler| code(scheduler.name()));
    let columns = ["strategy".to_owned()].into_iter().chain(names);
    let mut measured = Measured::new(columns, cells.collect());
    if !longer.is_empty() {
        measured.failure = Some(format!("longer than a slice: {}", longer.join(", ")));
    }
    Ok(measured)
}

/// The most instructions between two looks at the line, and those of scenes in which no job waits:
/// they are the same under every scheduler, and played under the first one only.
fn measure(
    image: &Image,
    strategy: StrategyKind,
    scheduler: SchedulerKind,
    scenes: &[Scene],
) -> Result<(u64, u64)> {
    let (address, bytes) = image.symbol(TICKS)?;
    let (mut emulator, mut client) = Emulator::start(image, &QEMU_CLOCK)?;
    client.use_virtual_clock(true)?;
    let (mut longest, mut without_queue) = (0, 0);
    let is_played = |scene: &&Scene| {
        let is_for = scene.is_for(strategy) && image.serves(strategy, &scene.machine);
        is_for && (scene.has_queue || scheduler == SCHEDULERS[0])
    };
    // Those without a queue first: the image keeps the most of all so far.
    for scene in scenes.iter().filter(is_played) {
        let configuration = Configuration {
            machine: scene.machine,
            strategy,
            scheduler,
        };
        for (at, command) in first(configuration).iter().chain(&scene.commands) {
            // That the journal has no room for what it may lead to takes a slice as well.
            let _ = command.call(&mut client, Some(*at), &mut |_, _| ())?;
        }
        let _ = client.query(&Query::Statistics)?;
        let word = emulator.peek((address + bytes - 4, 4))?;
        let instructions = of_ticks(words(&word).next().context("no word was read")?);
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
