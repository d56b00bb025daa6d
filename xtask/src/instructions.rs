//! How many instructions the firmware takes: the tables of `instructions.md`.

use anyhow::{Result, ensure};
use clap::builder::PossibleValuesParser;
use meshalloc::{SchedulerKind, StrategyKind};

use crate::image::{Image, MAIN};
use crate::setup;
use crate::tables::{Row, Table};

/// The options of `cargo xtask instructions`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the tables into their page
    #[arg(long)]
    update: bool,
    /// Only these tables, separated by commas
    #[arg(
        long,
        value_name = "TABLE,...",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(TABLES.map(|(name, ..)| name))
    )]
    only: Vec<String>,
    /// Only the rows of these strategies, separated by commas, in the tables of commands and
    /// slices; the tables keep their other rows
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        hide_possible_values = true,
        value_parser = PossibleValuesParser::new(names())
    )]
    strategies: Vec<String>,
}

/// The tables, the features of their images, and whether they have a row for each strategy.
const TABLES: [(&str, &str, bool); 4] = [
    // Every command.
    ("commands", "default,qemu", true),
    // Decisions with foresight, for each budget.
    ("decisions", "default,qemu", false),
    // Scheduling passes.
    ("passes", "default,qemu", false),
    // The longest slices.
    (SLICES, "default,qemu,journal", true),
];
const SLICES: &str = "slices";
/// Instructions of a slice: 50 ms at 16 MHz and 1.5 cycles an instruction.
const SLICE_MAX: u64 = 50 * 16_000 * 2 / 3;

/// Where a table stands.
const fn in_page(name: &'static str) -> Table {
    Table {
        page: "docs/measurements/instructions.md",
        name,
    }
}

/// All tables.
#[cfg(test)]
pub(crate) fn tables() -> [Table; TABLES.len()] {
    TABLES.map(|(name, ..)| in_page(name))
}

/// The names of all strategies.
fn names() -> Vec<&'static str> {
    StrategyKind::ALL.iter().map(|kind| kind.name()).collect()
}

/// Builds the image, counts, prints the tables and does what the options say.
pub(crate) fn run(options: &Options) -> Result<()> {
    let Options {
        update,
        only,
        strategies,
    } = options;
    let is_chosen = |list: &[String], name| list.is_empty() || list.iter().any(|it| it == name);
    let chosen = StrategyKind::ALL.iter().copied();
    let chosen: Vec<_> = chosen
        .filter(|it| is_chosen(strategies, it.name()))
        .collect();
    setup::target_and_emulator(MAIN)?;
    for (name, features, is_by_strategy) in TABLES {
        if !is_chosen(only, name) {
            continue;
        }
        let (table, image) = (in_page(name), Image::build(MAIN, features)?);
        let record = image.symbol("COMMAND_TICKS")?;
        let rows = image.measure(name, record, SchedulerKind::Fcfs, &chosen)?;
        println!("\n{}", table.with(&rows)?);
        match (update, is_by_strategy) {
            (false, _) => {}
            (true, true) => table.update(&rows, &names())?,
            (true, false) => table.write(&rows)?,
        }
        if name == SLICES {
            let longer: Vec<_> = rows.iter().filter(|row| is_too_long(row)).collect();
            ensure!(longer.is_empty(), "longer than {SLICE_MAX}: {longer:?}");
        }
    }
    Ok(())
}

/// Whether this row has a slice that is longer than it may be.
fn is_too_long(row: &Row) -> bool {
    let mut numbers = row.iter().filter_map(|cell| cell.parse::<u64>().ok());
    numbers.any(|slice| slice > SLICE_MAX)
}

/// Counts the instructions of strategies that have no row in the tables of commands and slices.
pub(crate) fn add_missing() -> Result<()> {
    for (name, _, is_by_strategy) in TABLES {
        let strategies = in_page(name).lacks(&names())?;
        if is_by_strategy && !strategies.is_empty() {
            run(&Options {
                update: true,
                only: vec![name.to_owned()],
                strategies,
            })?;
        }
    }
    Ok(())
}
