//! How much flash, RAM and stack the images take: the table of `flash-and-ram.md`.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use meshalloc::{SchedulerKind, StrategyKind};
use meshalloc_firmware::boards::Info;

use crate::image::{self, Image};
use crate::tables::Table;
use crate::{board, setup, stack};

/// The options of `cargo xtask size`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the table into its page
    #[arg(long, conflicts_with = "check")]
    update: bool,
    /// The board; the table has only the first
    #[arg(
        long,
        value_name = "NAME",
        default_value = image::MAIN.name,
        value_parser = board::named(),
        conflicts_with_all = ["update", "check"]
    )]
    board: &'static Info,
    /// Only these images, separated by commas; the table keeps its other rows
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Fail if an image is over 2 % larger than its row in the table
    #[arg(long)]
    check: bool,
}

/// The names of the images with the first [`FIRST`] strategies, with all strategies and schedulers,
/// and of that with the journal as well.
const SIXTEEN: &str = "sixteen";
const ALL: &str = "all";
pub(crate) const JOURNAL: &str = "all+journal";
/// The strategies that are to fit into 64 KB of flash together.
const FIRST: usize = 16;
/// The scheduler of the images without others.
const SCHEDULER: SchedulerKind = SchedulerKind::Fcfs;
/// The scheduler under which the stack is the deepest.
const DEEPEST: SchedulerKind = SchedulerKind::Easy { reservations: 2 };
/// The strategy of the images with another scheduler.
const STRATEGY: StrategyKind = StrategyKind::FirstFit;
/// The number of jobs there is room for by default, and that of a smaller image.
const JOBS: [u32; 2] = [256, 128];
const TABLE: Table = Table {
    page: "docs/measurements/flash-and-ram.md",
    name: "sizes",
};

/// What an image takes, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    /// As [`Contents::name`] says.
    name: String,
    flash: u64,
    /// Static RAM, for each of [`JOBS`].
    ram: [u64; 2],
    /// The deepest stack that was measured; 0 without an emulator, and "-" in a table.
    stack: u64,
}

impl Row {
    /// Builds the image and measures it.
    fn measure(board: &'static Info, contents: &Contents) -> Result<Row> {
        let build = |features: &str, jobs: u32| {
            let features = [features, &contents.features()].map(str::to_owned);
            let features = features.into_iter().filter(|it| !it.is_empty());
            let features = features.collect::<Vec<_>>().join(",");
            let mut command = image::build_command(board, &features);
            // The default is not set, as other chores do not: cargo would build for it again.
            if jobs != JOBS[0] {
                command = command.env("MESHALLOC_JOBS", jobs.to_string());
            }
            match contents {
                Contents::All | Contents::Journal => image::build(board, &command),
                _ => image::build(board, &command.args("--no-default-features")),
            }
        };
        let mut ram = [0; 2];
        let mut flash = 0;
        for (jobs, ram) in JOBS.into_iter().zip(&mut ram) {
            build("", jobs)?;
            let image = Image::read()?;
            *ram = image.ram;
            flash = flash.max(image.flash);
        }
        let name = contents.name();
        let Some(emulator) = &board.emulator else {
            return Ok(Row {
                name,
                flash,
                ram,
                stack: 0,
            });
        };
        // It differs by a feature alone, and can be run.
        build(emulator.features, JOBS[0])?;
        let image = Image::read()?;
        let (strategies, schedulers) = contents.parts();
        println!(
            "measuring the deepest stack in QEMU, strategies: {}",
            strategies.len()
        );
        let stack = stack::deepest(&image, &strategies, &schedulers)
            .with_context(|| format!("the image \"{name}\""))?;
        Ok(Row {
            name,
            flash,
            ram,
            stack,
        })
    }

    fn columns(&self) -> [(&'static str, u64); 4] {
        let [ram, small] = self.ram;
        [
            ("flash", self.flash),
            ("static RAM, 256 jobs", ram),
            ("static RAM, 128 jobs", small),
            ("deepest stack", self.stack),
        ]
    }

    /// The row of the table.
    fn to_markdown(&self) -> String {
        let columns = self.columns().map(|(_, bytes)| match bytes {
            0 => "-".to_owned(),
            bytes => bytes.to_string(),
        });
        format!("| `{}` | {} |", self.name, columns.join(" | "))
    }

    fn from_markdown(line: &str) -> Option<Row> {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, numbers @ ..] = &cells[..] else {
            return None;
        };
        let numbers: Option<Vec<u64>> = numbers.iter().map(|cell| cell.parse().ok()).collect();
        let [flash, ram, small, stack] = numbers?[..] else {
            return None;
        };
        Some(Row {
            name: name.trim_matches('`').to_owned(),
            flash,
            ram: [ram, small],
            stack,
        })
    }

    /// What has grown by more than 2 %; a stack also by more than an interrupt that came at another
    /// moment.
    fn growth(&self, before: &Row) -> Vec<String> {
        const INTERRUPT: u64 = 160;
        let columns = self.columns().into_iter().zip(before.columns());
        let grown = columns.filter(|((column, now), (_, before))| {
            let slack = if *column == "deepest stack" {
                INTERRUPT
            } else {
                0
            };
            *now > before + before / 50 + slack
        });
        grown
            .map(|((column, now), (_, before))| {
                format!("{}: {column} {now}, {before} in the table", self.name)
            })
            .collect()
    }
}

/// Builds the images, prints what they take and does what the options say.
pub(crate) fn run(options: &Options) -> Result<()> {
    let is_known = |name: &String| names().any(|known| known == *name);
    if let Some(unknown) = options.only.iter().find(|name| !is_known(name)) {
        bail!("there is no image {unknown:?}");
    }
    let wanted = |image: &Contents| options.only.is_empty() || options.only.contains(&image.name());
    let rows = measure(options.board, images().filter(wanted))?;
    println!("\n{}", table(&rows));
    if options.update {
        TABLE.update(&table(&rows), names())?;
    }
    match options.check {
        true => check(&rows),
        false => Ok(()),
    }
}

/// Measures the images that have no row in the table.
pub(crate) fn add_missing() -> Result<()> {
    let only = TABLE.lacks(names())?;
    match only.is_empty() {
        true => Ok(()),
        false => run(&Options {
            board: image::MAIN,
            update: true,
            only,
            check: false,
        }),
    }
}

/// The names of all images.
fn names() -> impl Iterator<Item = String> {
    images().map(|image| image.name())
}

/// What an image has in addition to the firmware itself.
#[derive(Clone, Copy, Debug)]
enum Contents {
    /// This strategy, and [`SCHEDULER`].
    Strategy(StrategyKind),
    /// This scheduler, and [`STRATEGY`].
    Scheduler(SchedulerKind),
    /// The first [`FIRST`] strategies, and [`SCHEDULER`].
    Sixteen,
    /// All strategies and schedulers.
    All,
    /// The same, and the journal.
    Journal,
}

impl Contents {
    /// The name of the image.
    fn name(&self) -> String {
        match self {
            Contents::Strategy(strategy) => strategy.name().to_owned(),
            Contents::Scheduler(scheduler) => format!("{}+{}", STRATEGY.name(), scheduler.name()),
            Contents::Sixteen => SIXTEEN.to_owned(),
            Contents::All => ALL.to_owned(),
            Contents::Journal => JOURNAL.to_owned(),
        }
    }

    /// Its strategies, and the schedulers under which its stack is measured.
    fn parts(&self) -> (Vec<StrategyKind>, Vec<SchedulerKind>) {
        match *self {
            Contents::Strategy(strategy) => (vec![strategy], vec![SCHEDULER]),
            Contents::Scheduler(scheduler) => (vec![STRATEGY], vec![scheduler]),
            Contents::Sixteen => (StrategyKind::ALL[..FIRST].to_vec(), vec![SCHEDULER]),
            Contents::All | Contents::Journal => (StrategyKind::ALL.to_vec(), vec![DEEPEST]),
        }
    }

    /// What follows the features of the firmware; all strategies and schedulers are the default.
    fn features(&self) -> String {
        let (strategies, schedulers) = match self {
            Contents::All => return String::new(),
            Contents::Journal => return "journal".to_owned(),
            _ => self.parts(),
        };
        // The feature of each has its name.
        let strategies = strategies.iter().map(|strategy| strategy.name());
        let schedulers = schedulers.iter().map(|scheduler| scheduler.name());
        let features = strategies.chain(schedulers);
        let features = features.map(|name| format!("meshalloc/{name}"));
        features.collect::<Vec<_>>().join(",")
    }
}

/// Every scheduler in its first form.
fn first_forms() -> impl Iterator<Item = SchedulerKind> {
    // For a threshold long enough that jobs are bypassed.
    const NUMBER: u64 = 1_000_000;
    let info = SchedulerKind::INFO.iter();
    info.filter_map(|info| SchedulerKind::from_form(info.forms[0], NUMBER, NUMBER))
}

/// All images.
fn images() -> impl Iterator<Item = Contents> {
    let strategies = StrategyKind::ALL.iter().copied().map(Contents::Strategy);
    let others = first_forms().filter(|scheduler| *scheduler != SCHEDULER);
    strategies.chain(others.map(Contents::Scheduler)).chain([
        Contents::Sixteen,
        Contents::All,
        Contents::Journal,
    ])
}

fn measure(board: &'static Info, images: impl Iterator<Item = Contents>) -> Result<Vec<Row>> {
    match board.emulator {
        Some(_) => setup::board(board)?,
        None => setup::target(board.target)?,
    }
    let images: Vec<_> = images.collect();
    let row = |(place, image): (usize, &Contents)| {
        println!(
            "\nimage {} of {}: {}",
            place + 1,
            images.len(),
            image.name()
        );
        let row = Row::measure(board, image)?;
        println!("{}", row.to_markdown());
        Ok(row)
    };
    images.iter().enumerate().map(row).collect()
}

fn check(rows: &[Row]) -> Result<()> {
    let before = committed()?;
    let mut grown = Vec::new();
    for row in rows {
        match before.iter().find(|before| before.name == row.name) {
            Some(before) => grown.extend(row.growth(before)),
            None => grown.push(format!("{}: not in the table", row.name)),
        }
    }
    if !grown.is_empty() {
        bail!(
            "{}\nIf that is intended: cargo xtask size --update",
            grown.join("\n")
        );
    }
    println!("no image is over 2 % larger than its row in the table");
    Ok(())
}

/// The rows of the table in its page.
fn committed() -> Result<Vec<Row>> {
    let table = TABLE.read()?;
    Ok(table.lines().filter_map(Row::from_markdown).collect())
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| image | flash | static RAM, 256 jobs | static RAM, 128 jobs | deepest stack |\n|---|--:|--:|--:|--:|\n",
    );
    for row in rows {
        writeln!(text, "{}", row.to_markdown()).expect("a string takes any text");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(flash: u64, stack: u64) -> Row {
        Row {
            name: "first-fit".to_owned(),
            flash,
            ram: [40_000, 20_000],
            stack,
        }
    }

    #[test]
    fn a_row_is_read_as_it_is_written() {
        let row = row(34_000, 2_000);
        assert_eq!(Row::from_markdown(&row.to_markdown()), Some(row));
        assert_eq!(Row::from_markdown("|---|--:|--:|--:|--:|"), None);
    }

    #[test]
    fn growth_of_more_than_two_percent_is_reported() {
        let before = row(10_000, 2_000);
        assert_eq!(row(10_200, 2_200).growth(&before), [""; 0]);
        assert_eq!(row(9_000, 100).growth(&before), [""; 0]);
        let grown = row(10_201, 2_201).growth(&before);
        assert_eq!(grown.len(), 2, "{grown:?}");
        assert_eq!(grown[0], "first-fit: flash 10201, 10000 in the table");
    }

    #[test]
    fn the_readme_has_no_row_of_another_image() {
        let rows = committed().unwrap();
        assert!(rows.iter().all(|row| names().any(|name| name == row.name)));
    }
}
