//! How many instructions the firmware takes: the tables of `instructions.md`.

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use meshalloc::{SchedulerKind, StrategyKind};

use crate::image::{self, DESCRIBED, Image, MACHINE, MAIN};
use crate::setup;
use crate::shell::shell;
use crate::tables::Table;

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
    /// Only the rows of these strategies, separated by commas, in the table of commands; the table
    /// keeps its other rows
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
const TABLES: [(&str, &str, bool); 3] = [
    // Every command.
    ("commands", "default,qemu", true),
    // Decisions with foresight, for each budget.
    ("decisions", "default,qemu", false),
    // Scheduling passes.
    ("passes", "default,qemu", false),
];

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
    image::strategies().map(StrategyKind::name).collect()
}

/// The names of all rows that a table may have.
fn row_names() -> Vec<String> {
    let names = names().into_iter();
    let rows = names.flat_map(|name| [name.to_owned(), format!("{name} on 16x16x16")]);
    rows.collect()
}

/// Builds the image, counts, prints the tables and does what the options say.
pub(crate) fn run(options: &Options) -> Result<()> {
    let Options {
        update,
        only,
        strategies,
    } = options;
    let is_chosen = |list: &[String], name| list.is_empty() || list.iter().any(|it| it == name);
    let chosen = image::strategies().filter(|it| is_chosen(strategies, it.name()));
    let (described, others): (Vec<_>, Vec<_>) =
        chosen.partition(|&it| it.serves().needs_description());
    setup::target_and_emulator(MAIN)?;
    for (name, features, is_by_strategy) in TABLES {
        if !is_chosen(only, name) {
            continue;
        }
        let table = in_page(name);
        let measure = |chosen: &[StrategyKind]| {
            let image = Image::build(MAIN, features)?;
            let record = image.symbol("COMMAND_TICKS")?;
            image.measure(name, record, SchedulerKind::Fcfs, chosen)
        };
        let mut rows = measure(&others)?;
        if is_by_strategy && !described.is_empty() {
            let _machine = shell().push_env(MACHINE, DESCRIBED);
            rows.extend(measure(&described)?);
        }
        println!("\n{}", table.with(&rows)?);
        match (update, is_by_strategy) {
            (false, _) => {}
            (true, true) => {
                let names = row_names();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                table.update(&rows, &names)?;
            }
            (true, false) => table.write(&rows)?,
        }
    }
    Ok(())
}

/// Counts the instructions of strategies that have no row in the table of commands.
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
