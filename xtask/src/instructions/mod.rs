//! How many instructions the firmware takes for its commands: the tables of `instructions.md`.
//!
//! QEMU's clock counts instructions, and the image for QEMU keeps how long each command takes, from
//! its last byte to the last one of the replies. So the figures have the protocol in them, which is
//! the same for all strategies but for the length of the replies.

pub(crate) mod commands;
mod count;
mod queues;
mod slices;

use anyhow::{Result, bail, ensure};
use meshalloc::{Grid, StrategyKind};
use xshell::Shell;

use crate::image::{self, DESCRIBED, Image, MACHINE, MAIN, needs_description};
use crate::setup;
use crate::tables::{self, Row, markdown};

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
pub(crate) enum Table {
    /// Every command, with each strategy.
    Commands,
    /// Decisions with foresight, for each budget.
    Decisions,
    /// Scheduling passes.
    Passes,
    /// The longest slices.
    Slices,
}

/// A table that was measured.
struct Measured {
    columns: Vec<String>,
    rows: Vec<Row>,
    /// Which figures are larger than they may be.
    failure: Option<String>,
}

impl Measured {
    fn new(columns: impl IntoIterator<Item: Into<String>>, rows: Vec<Row>) -> Measured {
        let columns = columns.into_iter().map(Into::into).collect();
        Measured {
            columns,
            rows,
            failure: None,
        }
    }

    /// Adds the rows of another one with the same columns.
    fn add(&mut self, other: Measured) {
        self.rows.extend(other.rows);
        self.failure = self.failure.take().or(other.failure);
    }
}

impl Table {
    pub(crate) const ALL: [Table; 4] = [
        Table::Commands,
        Table::Decisions,
        Table::Passes,
        Table::Slices,
    ];

    /// The names of its rows; nothing if these are not of strategies.
    fn names(self) -> Vec<String> {
        match self {
            Table::Commands => commands::names(),
            Table::Slices => strategies(),
            Table::Decisions | Table::Passes => Vec::new(),
        }
    }

    /// Where it stands.
    pub(crate) const fn in_page(self) -> tables::Table {
        let name = match self {
            Table::Commands => "commands",
            Table::Decisions => "decisions",
            Table::Passes => "passes",
            Table::Slices => "slices",
        };
        tables::Table {
            page: "docs/measurements/instructions.md",
            name,
        }
    }
}

const MESH: Grid = match Grid::mesh(&[64, 64]) {
    Ok(mesh) => mesh,
    Err(_) => panic!("64 x 64 is a mesh"),
};

/// Builds the image, counts, prints the tables and does what the options say.
pub(crate) fn run(sh: &Shell, options: &Options) -> Result<()> {
    let wanted = &options.strategies;
    for name in wanted {
        ensure!(strategies().contains(name), "there is no strategy {name:?}");
    }
    let is_wanted =
        |kind: &StrategyKind| wanted.is_empty() || wanted.iter().any(|it| it == kind.name());
    let chosen = image::strategies().filter(is_wanted);
    let (described, others): (Vec<_>, Vec<_>) = chosen.partition(|&kind| needs_description(kind));
    setup::target_and_emulator(sh, MAIN)?;
    for table in Table::ALL {
        if !options.only.is_empty() && !options.only.contains(&table) {
            continue;
        }
        let features = if table == Table::Slices {
            "qemu,journal"
        } else {
            "qemu"
        };
        let build = || Image::build(sh, MAIN, features, true);
        let Measured {
            columns,
            rows,
            failure,
        } = match table {
            Table::Commands | Table::Slices => {
                let table = match table {
                    Table::Slices => slices::table,
                    _ => commands::table,
                };
                let mut measured = table(&build()?, &others)?;
                if !described.is_empty() {
                    let _machine = sh.push_env(MACHINE, DESCRIBED);
                    measured.add(table(&build()?, &described)?);
                }
                measured
            }
            Table::Decisions => queues::decisions(&build()?)?,
            Table::Passes => queues::passes(&build()?)?,
        };
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        println!("\n{}", markdown(&columns, &rows));
        match table {
            _ if !options.update => {}
            Table::Commands | Table::Slices => {
                table.in_page().update(&columns, &rows, &table.names())?;
            }
            Table::Decisions | Table::Passes => table.in_page().write(&columns, &rows)?,
        }
        if let Some(failure) = failure {
            bail!("{failure}");
        }
    }
    Ok(())
}

/// Counts the instructions of strategies that have no row in the tables of commands and slices.
pub(crate) fn add_missing(sh: &Shell) -> Result<()> {
    for table in [Table::Commands, Table::Slices] {
        let missing = table.in_page().lacks(table.names())?;
        // A row of another machine is counted with its strategy.
        let strategy = |name: &String| name.split(' ').next().unwrap_or(name).to_owned();
        let missing: Vec<String> = missing.iter().map(strategy).collect();
        if !missing.is_empty() {
            run(
                sh,
                &Options {
                    update: true,
                    only: vec![table],
                    strategies: missing,
                },
            )?;
        }
    }
    Ok(())
}

/// The names of all strategies.
fn strategies() -> Vec<String> {
    image::strategies()
        .map(|kind| kind.name().to_owned())
        .collect()
}
