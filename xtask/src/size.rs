//! How much flash, RAM and stack the images take: the table of `flash-and-ram.md`.

use anyhow::{Context, Result, ensure};
use meshalloc::{SchedulerKind, StrategyKind};
use meshalloc_firmware::boards::Info;
use xshell::Shell;

use crate::image::{self, ANY_GRID, DESCRIBED, Image, MACHINE, needs_any_grid, needs_description};
use crate::tables::{Row, Table, code, markdown};
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
    /// Fail if an image is over 2 % larger than its row in the table. To save time, this builds no
    /// image for 128 jobs, and of all strategies measures the stack of those that need the most
    #[arg(long)]
    check: bool,
}

/// The image with all strategies and schedulers, and a journal.
pub(crate) const JOURNAL: &str = "all+journal";
/// The strategies that are to fit into 64 KB of flash together.
const FIRST: usize = 16;
/// The scheduler of the images without others.
const SCHEDULER: SchedulerKind = SchedulerKind::Fcfs;
/// The scheduler under which the stack is the deepest.
const DEEPEST: SchedulerKind = SchedulerKind::Easy { reservations: 2 };
/// The strategy of the images with another scheduler.
const STRATEGY: StrategyKind = StrategyKind::FirstFit;

const COLUMNS: [&str; 5] = [
    "image",
    "flash",
    "static RAM, 256 jobs",
    "static RAM, 128 jobs",
    "deepest stack",
];
pub(crate) const TABLE: Table = Table {
    page: "docs/measurements/flash-and-ram.md",
    name: "sizes",
};

/// What an image has in addition to the firmware itself.
struct Contents {
    name: String,
    features: String,
    has_defaults: bool,
    /// Its strategies, and the scheduler under which its stack is measured.
    strategies: Vec<StrategyKind>,
    scheduler: SchedulerKind,
}

impl Contents {
    /// These strategies, and a scheduler.
    fn of(name: String, strategies: &[StrategyKind], scheduler: SchedulerKind) -> Contents {
        // The feature of each has its name.
        let names = strategies
            .iter()
            .map(|strategy| strategy.name())
            .chain([scheduler.name()]);
        let features = names.map(|name| format!("meshalloc/{name}"));
        Contents {
            name,
            features: features.collect::<Vec<_>>().join(","),
            has_defaults: false,
            strategies: strategies.to_vec(),
            scheduler,
        }
    }

    /// The same with the feature `any-grid`.
    fn with_any_grid(self) -> Contents {
        let Contents { name, features, .. } = self;
        Contents {
            name: format!("{name}+{ANY_GRID}"),
            features: format!("{features},{ANY_GRID}"),
            ..self
        }
    }

    /// All strategies and schedulers, which are the default.
    fn all(name: &str, features: &str) -> Contents {
        Contents {
            name: name.to_owned(),
            features: features.to_owned(),
            has_defaults: true,
            strategies: StrategyKind::ALL.to_vec(),
            scheduler: DEEPEST,
        }
    }

    /// Builds the image and measures it, or only what a check needs.
    fn measure(&self, sh: &Shell, board: &'static Info, is_check: bool) -> Result<Row> {
        let _machine = match self.strategies[..] {
            [one] if needs_description(one) => Some(sh.push_env(MACHINE, DESCRIBED)),
            _ => None,
        };
        let build = |features: &str| Image::build(sh, board, features, self.has_defaults);
        let (flash, ram) = build(&self.features)?.sizes()?;
        let small = match is_check {
            true => "-".to_owned(),
            false => {
                let _jobs = sh.push_env("MESHALLOC_JOBS", "128");
                build(&self.features)?.sizes()?.1.to_string()
            }
        };
        let stack = match &board.emulator {
            None => "-".to_owned(),
            Some(_) => {
                let image = build(&image::with_emulator(board, &self.features))?;
                let mut strategies = self.strategies.clone();
                if is_check && strategies.len() > 1 {
                    strategies.retain(needs_most_stack);
                }
                let stack = stack::deepest(&image, &strategies, self.scheduler);
                stack
                    .with_context(|| format!("the image \"{}\"", self.name))?
                    .to_string()
            }
        };
        Ok(vec![
            code(&self.name),
            flash.to_string(),
            ram.to_string(),
            small,
            stack,
        ])
    }
}

/// Whether the attempts of this strategy need the most stack. The start of the image with all
/// strategies needs more than any attempt.
fn needs_most_stack(strategy: &StrategyKind) -> bool {
    use StrategyKind::{LeastExpectedBlocking, LebEstimates};
    matches!(strategy, LeastExpectedBlocking { .. } | LebEstimates { .. })
}

/// All images.
fn images() -> Vec<Contents> {
    // For a threshold long enough that jobs are bypassed.
    const NUMBER: u64 = 1_000_000;
    let first_forms = SchedulerKind::INFO.iter();
    let first_forms =
        first_forms.filter_map(|info| SchedulerKind::from_form(info.forms[0], NUMBER, NUMBER));
    let strategies = image::strategies();
    let alone = |one: StrategyKind| Contents::of(one.name().to_owned(), &[one], SCHEDULER);
    let on_any_grid = image::strategies().filter(|&one| needs_any_grid(one));
    let on_any_grid = on_any_grid.map(alone).map(Contents::with_any_grid);
    let schedulers = first_forms
        .filter(|&scheduler| scheduler != SCHEDULER)
        .map(|scheduler| {
            let name = format!("{}+{}", STRATEGY.name(), scheduler.name());
            Contents::of(name, &[STRATEGY], scheduler)
        });
    strategies
        .map(alone)
        .chain(on_any_grid)
        .chain(schedulers)
        .chain([
            Contents::of("sixteen".to_owned(), &StrategyKind::ALL[..FIRST], SCHEDULER),
            Contents::all("all", ""),
            Contents::all(JOURNAL, "journal"),
        ])
        .collect()
}

fn names() -> Vec<String> {
    images().into_iter().map(|image| image.name).collect()
}

/// Builds the images, prints what they take and does what the options say.
pub(crate) fn run(sh: &Shell, options: &Options) -> Result<()> {
    let Options {
        only,
        board,
        check,
        update,
    } = options;
    for name in only {
        ensure!(
            names().contains(name),
            "there is no image {name:?}; images: {}",
            names().join(", ")
        );
    }
    setup::target_and_emulator(sh, board)?;
    let mut rows = Vec::new();
    for image in images() {
        if only.is_empty() || only.contains(&image.name) {
            println!("\nimage {}", image.name);
            rows.push(image.measure(sh, board, *check)?);
        }
    }
    println!("\n{}", markdown(&COLUMNS, &rows));
    if *update {
        TABLE.update(&COLUMNS, &rows, &names())?;
    }
    if *check {
        let before = TABLE.rows()?;
        let grown: Vec<_> = rows.iter().flat_map(|row| growth(row, &before)).collect();
        let grown = grown.join("\n");
        ensure!(
            grown.is_empty(),
            "{grown}\nIf that is intended: cargo xtask size --update"
        );
        println!("no image is over 2 % larger than its row in the table");
    }
    Ok(())
}

/// Measures the images that have no row in the table.
pub(crate) fn add_missing(sh: &Shell) -> Result<()> {
    let only = TABLE.lacks(names())?;
    let options = Options {
        board: image::MAIN,
        update: true,
        only,
        check: false,
    };
    if options.only.is_empty() {
        Ok(())
    } else {
        run(sh, &options)
    }
}

/// What of an image has grown by more than 2 %; a stack also by more than an interrupt that came at
/// another moment.
fn growth(row: &Row, before: &[Row]) -> Vec<String> {
    const INTERRUPT: u64 = 160;
    let Some(before) = before.iter().find(|before| before[0] == row[0]) else {
        return vec![format!("{}: not in the table", row[0])];
    };
    let bytes = |row: &Row, at: usize| row[at].parse::<u64>().ok();
    let grown = (1..COLUMNS.len()).filter_map(|at| {
        let (now, before) = (bytes(row, at)?, bytes(before, at)?);
        let slack = if at == 4 { INTERRUPT } else { 0 };
        let text = format!("{}: {} {now}, {before} in the table", row[0], COLUMNS[at]);
        (now > before + before / 50 + slack).then_some(text)
    });
    grown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_of_more_than_two_percent_is_reported() {
        let row = |flash: u64, stack: u64| {
            let [flash, stack] = [flash, stack].map(|number| number.to_string());
            vec![code("first-fit"), flash, "40000".into(), "-".into(), stack]
        };
        let before = [row(10_000, 2_000)];
        assert_eq!(growth(&row(10_200, 2_200), &before), [""; 0]);
        assert_eq!(growth(&row(9_000, 100), &before), [""; 0]);
        let grown = growth(&row(10_201, 2_201), &before);
        assert_eq!(grown.len(), 2, "{grown:?}");
        assert_eq!(grown[0], "`first-fit`: flash 10201, 10000 in the table");
        assert_eq!(growth(&row(1, 1), &[]).len(), 1);
    }
}
