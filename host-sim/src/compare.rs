//! `compare`: a study of several strategies under several schedulers over several loads, with a
//! picture.

use std::io::Write;

use clap::{Arg, Args};

use crate::failure::Failure;
use crate::settings::{FileArgs, Given, Takes};
use crate::study::command::{Preset, StudyArgs};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::scenario::{self, Scenario, SettingError, StrategyChoice};

mod answer;

use answer::write_answer;

/// What to compare.
#[derive(Args, Clone, Debug)]
pub struct CompareArgs {
    #[command(flatten)]
    settings: Given<Self>,

    #[command(flatten)]
    file: FileArgs,

    #[command(flatten)]
    study: StudyArgs,
}

/// Takes all settings except those of a board.
impl Takes for CompareArgs {
    fn take(arg: Arg) -> Option<Arg> {
        Some(match arg.get_long()? {
            "backend" => return None,
            "strategy" => arg.help(
                "Allocation strategies, separated by commas, or all that serve the machine [default: \
                 those of ff,as,fsl,leb,naive that serve the machine; on a cube: those of \
                 tree-collapsing, tree-collapsing-printed, free-list and sniffing that serve it]",
            ),
            "scheduler" => arg.help("Scheduling policy [default: fcfs,easy]"),
            "load" => arg.help(
                "Offered load: processor seconds requested per processor second of the machine \
                 [default: .3,.4,.5]",
            ),
            _ => arg,
        })
    }
}

/// The names of the default strategies. Those that serve the machine are compared: a scan, a
/// complete strategy, one that keeps large free submeshes, one that looks ahead, and one without
/// contiguity.
const DEFAULT: &[&str] = &[
    "first-fit",
    "adaptive-scan",
    "free-submesh-list",
    "least-expected-blocking",
    "naive",
];

/// The default strategies on a cube: those that Chuang and Wu compare.
const DEFAULT_CUBE: &[&str] = &[
    "tree-collapsing",
    "tree-collapsing-printed",
    "free-list",
    "sniffing",
];

/// The strategies of a scenario that names none.
fn fill(scenario: &mut Scenario) -> Result<(), SettingError> {
    if scenario.strategy.is_none() {
        let described = scenario.description()?;
        let machine = scenario.grid(described.as_ref())?;
        let default = if machine.is_written_high_first() {
            DEFAULT_CUBE
        } else {
            DEFAULT
        };
        let built = default.iter().filter_map(|name| names::strategy(name).ok());
        let serving = built.filter(|&kind| scenario::serves(machine, described.as_ref(), kind));
        scenario.strategy = Some(serving.map(StrategyChoice::One).collect());
    }
    Ok(())
}

pub(crate) fn compare(args: &CompareArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let mut given = args.settings.over(args.file.path())?;
    given.default("compare", "load", &["0.3", "0.4", "0.5"]);
    given.default("compare", "scheduler", &["fcfs", "easy"]);
    let preset = Preset {
        fill: &fill,
        draw: Some(Metric::WaitingDelay),
        table: None,
        answer: Some(&|study, measured, output| write_answer(args, study, measured, output)),
        single: None,
    };
    args.study
        .carry_out(given, args.file.path(), &preset, output)
}
