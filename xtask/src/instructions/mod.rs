//! How many instructions the firmware takes for its commands: the tables of `instructions.md`.
//!
//! QEMU's clock counts instructions, and the image for QEMU keeps how long each command takes, from
//! its last byte to the last one of the replies. So the figures have the protocol in them, which is
//! the same for all strategies but for the length of the replies.

mod commands;
mod count;
mod decisions;
mod passes;
mod script;
mod slices;

use anyhow::{Result, bail};
use meshalloc::{Grid, StrategyKind};

use crate::image::{self, Image};
use crate::{setup, tables};

/// The options of `cargo xtask instructions`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the tables into their page
    #[arg(long)]
    update: bool,
    /// Only these tables, separated by commas
    #[arg(long, value_name = "TABLE,...", value_delimiter = ',')]
    only: Vec<Table>,
    /// Only the rows of these strategies, separated by commas, in the tables of commands and
    /// slices; the tables keep their other rows
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    strategies: Vec<String>,
}

/// A table of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Table {
    /// Every command, with each strategy.
    Commands,
    /// Decisions with foresight, for each budget.
    Decisions,
    /// Scheduling passes.
    Passes,
    /// The longest slices.
    Slices,
}

impl Table {
    const ALL: [Table; 4] = [
        Table::Commands,
        Table::Decisions,
        Table::Passes,
        Table::Slices,
    ];

    /// Where it stands.
    const fn in_page(self) -> tables::Table {
        tables::Table {
            page: "docs/measurements/instructions.md",
            name: match self {
                Table::Commands => "commands",
                Table::Decisions => "decisions",
                Table::Passes => "passes",
                Table::Slices => "slices",
            },
        }
    }

    /// The features of the image.
    const fn features(self) -> &'static str {
        match self {
            Table::Slices => "qemu,journal",
            Table::Commands | Table::Decisions | Table::Passes => "qemu",
        }
    }

    /// The table, and what in it is more than it may be.
    fn measure(self, image: &Image, strategies: &[String]) -> Result<(String, Vec<String>)> {
        let text = match self {
            Table::Commands => commands::table(image, strategies),
            Table::Decisions => decisions::table(image),
            Table::Passes => passes::table(image),
            Table::Slices => return slices::table(image, strategies),
        };
        Ok((text?, Vec::new()))
    }
}

const MESH: Grid = match Grid::mesh(&[64, 64]) {
    Ok(mesh) => mesh,
    Err(_) => panic!("64 x 64 is a mesh"),
};

/// Builds the image, counts, prints the tables and does what the options say.
pub(crate) fn run(options: &Options) -> Result<()> {
    setup::board(image::MAIN)?;
    let is_wanted = |table: &Table| options.only.is_empty() || options.only.contains(table);
    for table in Table::ALL.into_iter().filter(is_wanted) {
        image::build(
            image::MAIN,
            &image::build_command(image::MAIN, table.features()),
        )?;
        let image = Image::read()?;
        let (text, longer) = table.measure(&image, &options.strategies)?;
        println!("\n{text}");
        if options.update {
            match table {
                Table::Commands | Table::Slices => table.in_page().update(&text, strategies())?,
                Table::Decisions | Table::Passes => table.in_page().write(&text)?,
            }
        }
        if !longer.is_empty() {
            bail!("longer than a slice: {}", longer.join(", "));
        }
    }
    Ok(())
}

/// Counts the instructions of strategies that have no row in the tables of commands and slices.
pub(crate) fn add_missing() -> Result<()> {
    for table in [Table::Commands, Table::Slices] {
        let missing = table.in_page().lacks(strategies())?;
        if !missing.is_empty() {
            run(&Options {
                update: true,
                only: vec![table],
                strategies: missing,
            })?;
        }
    }
    Ok(())
}

/// The names of all strategies.
fn strategies() -> impl Iterator<Item = String> {
    StrategyKind::ALL.iter().map(|kind| kind.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_each_table() {
        for table in Table::ALL {
            assert!(table.in_page().read().is_ok(), "{table:?}");
        }
    }
}
