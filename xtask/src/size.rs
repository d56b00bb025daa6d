//! How much flash, RAM and stack the images take: the table of `flash-and-ram.md`.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use meshalloc::{SchedulerKind, StrategyKind};
use meshalloc_firmware::boards::Info;

use crate::image::{self, DESCRIBED, Image, MACHINE};
use crate::shell::shell;
use crate::tables::{Row, Table, code};
use crate::{board, setup};

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
const JOURNAL: &str = "all+journal";
/// The strategies that are to fit into 64 KB of flash together.
const FIRST: usize = 16;
/// The scheduler of the images without others.
const SCHEDULER: SchedulerKind = SchedulerKind::Fcfs;
/// The scheduler under which the stack is the deepest.
const DEEPEST: SchedulerKind = SchedulerKind::Easy { reservations: 2 };
/// The strategy of the images with another scheduler.
const STRATEGY: StrategyKind = StrategyKind::FirstFit;

/// The stacks of two runs may differ by this number of bytes, as interrupts come at different
/// moments.
const INTERRUPT: u64 = 160;

pub(crate) const TABLE: Table = Table {
    page: "docs/measurements/flash-and-ram.md",
    name: "sizes",
};

/// An image.
struct Contents {
    name: String,
    features: String,
    strategies: Vec<StrategyKind>,
    /// The scheduler under which its stack is measured.
    scheduler: SchedulerKind,
}

impl Contents {
    /// These strategies, and a scheduler.
    fn of(name: &str, strategies: &[StrategyKind], scheduler: SchedulerKind) -> Contents {
        let features = strategies.iter().map(|kind| kind.info().feature);
        let features = features.chain([scheduler.name()]).collect::<BTreeSet<_>>();
        let features = features.iter().map(|name| format!("meshalloc/{name},"));
        Contents {
            name: name.to_owned(),
            features: features.collect(),
            strategies: strategies.to_vec(),
            scheduler,
        }
    }

    /// The same with one more feature of the firmware.
    fn with(self, feature: &str) -> Contents {
        Contents {
            name: format!("{}+{feature}", self.name),
            features: self.features + feature,
            ..self
        }
    }

    /// All strategies and schedulers, which are the default.
    fn all(name: &str, features: &str) -> Contents {
        Contents {
            name: name.to_owned(),
            features: features.to_owned(),
            strategies: image::strategies()
                .filter(|&it| !it.serves().needs_description())
                .collect(),
            scheduler: DEEPEST,
        }
    }

    /// Builds and measures the image. A check measures only a part.
    fn measure(&self, board: &'static Info, is_check: bool) -> Result<Row> {
        let _machine = match self.strategies[..] {
            [one] if one.serves().needs_description() => Some(shell().push_env(MACHINE, DESCRIBED)),
            _ => None,
        };
        let build = || Image::build(board, &self.features)?.sizes();
        let (flash, ram) = build()?;
        let mut row = vec![code(&self.name), flash.to_string(), ram.to_string()];
        row.push(if is_check {
            "-".to_owned()
        } else {
            let _jobs = shell().push_env("MESHALLOC_JOBS", "128");
            build()?.1.to_string()
        });
        row.push(if board.emulator.is_none() {
            "-".to_owned()
        } else {
            let image = Image::build(board, &image::with_emulator(board, &self.features))?;
            let mut strategies = self.strategies.clone();
            if is_check && strategies.len() > 1 {
                strategies.retain(needs_most_stack);
            }
            let rows = image.measure("stack", image.stack()?, self.scheduler, &strategies)?;
            let stacks = rows.iter().map(|row| row[1].parse::<u64>());
            let stacks = stacks.collect::<Result<Vec<_>, _>>()?;
            ensure!(
                stacks.len() == strategies.len(),
                "not all stacks of {} were measured",
                self.name
            );
            let deepest = stacks.into_iter().max();
            deepest.map_or_else(|| "-".to_owned(), |most| most.to_string())
        });
        Ok(row)
    }
}

/// Whether the attempts of this strategy need the most stack. The start of the image with all
/// strategies needs more than any attempt.
fn needs_most_stack(strategy: &StrategyKind) -> bool {
    use StrategyKind::{LeastExpectedBlocking, LebEstimates};
    matches!(strategy, LeastExpectedBlocking { .. } | LebEstimates { .. })
}

/// The feature with which all strategies serve every grid that they can serve.
const ANY_GRID: &str = "any-grid";

/// The features whose strategies serve other machines with the feature `any-grid` than without.
const SERVE_ANY_GRID: [&str; 4] = [
    "best-fit",
    "busy-list",
    "free-submesh-list",
    "least-expected-blocking",
];

/// Features of the firmware whose flash and RAM the table shows beside an image without them.
/// `preemption`, `reasons` and `replace` include `machine`; `preemption` also includes `priorities`
/// and `replace`.
const MEASURED: [&str; 7] = [
    "gangs",
    "machine",
    "preemption",
    "priorities",
    "reasons",
    "replace",
    "tolerance",
];

/// All images.
fn images() -> Vec<Contents> {
    // For a threshold long enough that jobs are bypassed.
    const NUMBER: u64 = 1_000_000;
    let mut features = image::strategies()
        .map(|kind| kind.info().feature)
        .collect::<Vec<_>>();
    features.dedup();
    let alone = |feature: &&str| {
        let strategies = image::strategies().filter(|kind| kind.info().feature == *feature);
        Contents::of(feature, &strategies.collect::<Vec<_>>(), SCHEDULER)
    };
    let mut images: Vec<_> = features.iter().map(alone).collect();
    let on_any_grid = features.iter().filter(|it| SERVE_ANY_GRID.contains(it));
    images.extend(on_any_grid.map(alone).map(|image| image.with(ANY_GRID)));
    let schedulers = SchedulerKind::INFO.iter();
    let schedulers =
        schedulers.filter_map(|info| SchedulerKind::from_form(info.forms[0], NUMBER, NUMBER));
    images.extend(
        schedulers
            .filter(|&other| other != SCHEDULER)
            .map(|scheduler| {
                let name = format!("{}+{}", STRATEGY.name(), scheduler.name());
                Contents::of(&name, &[STRATEGY], scheduler)
            }),
    );
    let plain = || Contents::of(STRATEGY.name(), &[STRATEGY], SCHEDULER);
    images.extend(MEASURED.map(|feature| plain().with(feature)));
    images.extend([
        Contents::of("sixteen", &StrategyKind::ALL[..FIRST], SCHEDULER),
        Contents::all("all", "default"),
        Contents::all(JOURNAL, "default,journal"),
    ]);
    images
}

/// Builds the images, prints what they take and does what the options say.
pub(crate) fn run(options: &Options) -> Result<()> {
    let Options {
        only,
        board,
        check,
        update,
    } = options;
    let images = images();
    let names: Vec<_> = images.iter().map(|image| &*image.name).collect();
    for name in only {
        let all = names.join(", ");
        ensure!(
            names.contains(&&**name),
            "there is no image {name:?}; images: {all}"
        );
    }
    setup::target_and_emulator(board)?;
    let mut rows = Vec::new();
    for image in &images {
        if only.is_empty() || only.contains(&image.name) {
            println!("\nimage {}", image.name);
            rows.push(image.measure(board, *check)?);
        }
    }
    println!("\n{}", TABLE.with(&rows)?);
    if *update {
        TABLE.update(&rows, &names)?;
    }
    if *check {
        TABLE.check(&rows, INTERRUPT, "cargo xtask size --update")?;
    }
    Ok(())
}

/// Checks the image that needs the most.
pub(crate) fn check_largest() -> Result<()> {
    run(&Options {
        update: false,
        board: image::MAIN,
        only: vec![JOURNAL.to_owned()],
        check: true,
    })
}

/// Measures the images that have no row in the table.
pub(crate) fn add_missing() -> Result<()> {
    let images = images();
    let names: Vec<_> = images.iter().map(|image| &*image.name).collect();
    let only = TABLE.lacks(&names)?;
    if only.is_empty() {
        return Ok(());
    }
    run(&Options {
        update: true,
        board: image::MAIN,
        only,
        check: false,
    })
}
