//! The longest time for which the firmware does not look at the line, with every strategy and
//! scheduler: a search for bad cases.

use anyhow::{Context, Result, ensure};
use meshalloc::{Configuration, SchedulerKind, StrategyKind};
use rayon::prelude::*;

use super::Measured;
use super::count::{Counter, rounded};
use super::scenes::{Scene, with_queue, without_queue};
use crate::image::Image;
use crate::tables::{Row, code};

/// Instructions of a slice: 50 ms at 16 MHz and 1.5 cycles an instruction.
const SLICE_MAX: u64 = 50 * 16_000 * 2 / 3;

/// One that reserves nothing, as all others do that are not here: a slice is a part of one attempt.
/// One that reserves for some jobs, and one for all.
const SCHEDULERS: [SchedulerKind; 3] = [
    SchedulerKind::Fcfs,
    SchedulerKind::Easy { reservations: 8 },
    SchedulerKind::Conservative,
];

/// The longest slices.
pub(super) fn table(image: &Image, strategies: &[StrategyKind]) -> Result<Measured> {
    let (alone, queues) = (without_queue(), with_queue());
    let rows = strategies.par_iter().map(|&strategy| {
        let longest = |scheduler: SchedulerKind, scenes| {
            longest(image, strategy, scheduler, scenes)
                .with_context(|| format!("the slices of {strategy} under {}", scheduler.name()))
        };
        // Where no job waits, all schedulers decide alike.
        let alone = longest(SCHEDULERS[0], &alone)?;
        let mut row = vec![code(strategy.name())];
        for scheduler in SCHEDULERS {
            let longest = longest(scheduler, &queues)?.max(alone);
            row.push(rounded(longest).to_string());
        }
        Ok(row)
    });
    let names = SCHEDULERS.map(|scheduler| code(scheduler.name()));
    let columns = ["strategy".to_owned()].into_iter().chain(names);
    Ok((columns.collect(), rows.collect::<Result<_>>()?))
}

/// Fails if a slice is longer than it may be.
pub(super) fn check(rows: &[Row]) -> Result<()> {
    let is_long = |cell: &String| cell.parse().is_ok_and(|slice: u64| slice > SLICE_MAX);
    let longer = rows.iter().filter(|row| row.iter().any(is_long));
    let longer: Vec<_> = longer.map(|row| &*row[0]).collect();
    ensure!(
        longer.is_empty(),
        "longer than a slice: {}",
        longer.join(", ")
    );
    Ok(())
}

/// The most instructions between two looks at the line.
fn longest(
    image: &Image,
    strategy: StrategyKind,
    scheduler: SchedulerKind,
    scenes: &[Scene],
) -> Result<u64> {
    let mut counter = Counter::start(image)?;
    let mut longest = 0;
    for scene in scenes.iter().filter(|scene| scene.is_for(strategy)) {
        counter.configure(Configuration {
            machine: scene.machine,
            strategy,
            scheduler,
        })?;
        for (at, command) in &scene.commands {
            // If the journal has no room for what it may lead to, that takes a slice as well.
            counter.call("", *at, command)?;
        }
        let instructions = counter.longest_slice()?;
        if instructions > longest {
            println!(
                "{strategy}, {}: {}: {instructions}",
                scheduler.name(),
                scene.name
            );
            longest = instructions;
        }
    }
    Ok(longest)
}
