//! The longest time for which the firmware does not look at the line, with every strategy and
//! scheduler: a search for bad cases.

use meshalloc::{Configuration, SchedulerKind, StrategyKind};

use super::count::{Counter, rounded};
use super::scenes::{Scene, with_queue, without_queue};
use super::{Image, Row};

/// One scheduler without reservations, under which a slice is a part of one attempt, as under all
/// those not listed here; one that reserves for some jobs, and one that reserves for all.
const SCHEDULERS: [SchedulerKind; 3] = [
    SchedulerKind::Fcfs,
    SchedulerKind::Easy { reservations: 8 },
    SchedulerKind::Conservative,
];

/// The row of a strategy.
pub(super) fn row(image: &Image, strategy: StrategyKind) -> Row {
    let (alone, queues) = (without_queue(), with_queue());
    let longest = |scheduler, scenes| longest(image, strategy, scheduler, scenes);
    // Where no job waits, all schedulers decide alike.
    let alone = longest(SCHEDULERS[0], &alone);
    let mut row = vec![format!("`{}`", strategy.name())];
    for scheduler in SCHEDULERS {
        let longest = longest(scheduler, &queues).max(alone);
        assert!(longest > 0, "no scene is served with {strategy}");
        row.push(rounded(longest).to_string());
    }
    row
}

/// The most instructions between two looks at the line.
fn longest(
    image: &Image,
    strategy: StrategyKind,
    scheduler: SchedulerKind,
    scenes: &[Scene],
) -> u64 {
    let mut counter = Counter::start(image);
    let mut longest = 0;
    for scene in scenes.iter().filter(|scene| scene.is_for(strategy)) {
        let is_served = counter.configure(Configuration {
            machine: scene.machine,
            strategy,
            scheduler,
        });
        if !is_served {
            continue;
        }
        for (at, command) in &scene.commands {
            // If the journal has no room for the consequences, making room takes a slice as well.
            counter.call("", *at, command);
        }
        let instructions = counter.longest_slice();
        if instructions > longest {
            eprintln!(
                "{strategy}, {}: {}: {instructions}",
                scheduler.name(),
                scene.name
            );
            longest = instructions;
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_these_columns() {
        let of = SCHEDULERS.map(|kind| format!("`{}`", kind.name()));
        let head = format!("| strategy | {} |", of.join(" | "));
        crate::measure::assert_head(&head);
    }
}
