//! How many instructions the firmware takes for its commands: the tables of `instructions.md`.
//!
//! QEMU's clock counts instructions, and the image for QEMU keeps how long each command takes, from
//! its last byte to the last one of the replies. So the figures have the protocol in them, which is
//! the same for all strategies but for the length of the replies.

pub(crate) mod commands;
mod count;
mod queues;
mod scenes;
mod slices;

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use meshalloc::StrategyKind;

use crate::image::{Image, MAIN};
use crate::setup;
use crate::tables::{Row, Table, markdown};

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
        value_parser = PossibleValuesParser::new(StrategyKind::ALL.iter().map(|kind| kind.name()))
    )]
    strategies: Vec<String>,
}

/// The columns and rows of a table that was measured.
type Measured = (Vec<String>, Vec<Row>);

/// A table: its name, the features of the image, whether it has a row for each strategy, and how it
/// is measured.
type Measurement = (&'static str, &'static str, bool, Measure);
type Measure = fn(&Image, &[StrategyKind]) -> Result<Measured>;

const TABLES: [Measurement; 4] = [
    ("commands", "default,qemu", true, commands::table),
    ("decisions", "default,qemu", false, queues::decisions),
    ("passes", "default,qemu", false, queues::passes),
    (SLICES, "default,qemu,journal", true, slices::table),
];
const SLICES: &str = "slices";

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

/// Builds the image, counts, prints the tables and does what the options say.
pub(crate) fn run(options: &Options) -> Result<()> {
    let Options {
        update,
        only,
        strategies,
    } = options;
    let is_chosen =
        |list: &[String], name: &str| list.is_empty() || list.iter().any(|it| it == name);
    let chosen = StrategyKind::ALL.iter().copied();
    let chosen: Vec<_> = chosen
        .filter(|kind| is_chosen(strategies, kind.name()))
        .collect();
    setup::target_and_emulator(MAIN)?;
    for (name, features, is_by_strategy, measure) in TABLES {
        if !is_chosen(only, name) {
            continue;
        }
        let (columns, rows) = measure(&Image::build(MAIN, features)?, &chosen)?;
        println!("\n{}", markdown(&columns, &rows));
        match (update, is_by_strategy) {
            (false, _) => {}
            (true, true) => in_page(name).update(&columns, &rows, &all())?,
            (true, false) => in_page(name).write(&columns, &rows)?,
        }
        if name == SLICES {
            slices::check(&rows)?;
        }
    }
    Ok(())
}

/// Counts the instructions of strategies that have no row in the tables of commands and slices.
pub(crate) fn add_missing() -> Result<()> {
    for (name, _, is_by_strategy, _) in TABLES {
        let strategies = in_page(name).lacks(all())?;
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

/// The names of all strategies.
fn all() -> Vec<String> {
    let all = StrategyKind::ALL.iter();
    all.map(|kind| kind.name().to_owned()).collect()
}
