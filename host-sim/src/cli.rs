//! The command line: its options, and how a command is carried out and ends with an exit code.
//!
//! A command that cannot be carried out ends with one line on standard error and exit code 2; so do
//! wrong options. After Ctrl-C the code is 130. When a controller was lost, or a run failed after
//! others were complete, the code is 1.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::compare::{self, CompareArgs};
use crate::completion;
use crate::device::{self, DeviceArgs};
use crate::failure::{self, Failure};
use crate::identity::{PROGRAM, REVISION};
use crate::list;
use crate::log::{self, LogStatisticsArgs};
use crate::policy;
use crate::printable::Printable;
use crate::replay::{self, ReplayArgs};
use crate::reproduce::{self, ReproduceArgs};
use crate::run::{self, RunArgs};
use crate::saturation::{self, SaturationArgs};
use crate::serve::{self, ServeArgs};
use crate::settings::JsonArgs;
use crate::view::{self, ViewArgs};
use crate::watch::{self, WatchArgs};

mod mistakes;

use mistakes::tip;

/// Processor allocation on mesh-connected multicomputers: simulates workloads, replays operations
/// and compares strategies, in this process or on a board that runs the meshalloc firmware.
#[derive(Parser, Debug)]
#[command(name = PROGRAM, version = REVISION, max_term_width = 100, after_help = failure::EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Print no progress and no notes; `replay` then prints only its counts
    #[arg(short, long, global = true)]
    quiet: bool,

    /// Colours in help and in maps on a terminal: auto, always or never; NO_COLOR turns them off
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        global = true,
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true,
        hide_short_help = true
    )]
    color: ColorChoice,
}

/// Options that the short help of a command with many options has, by their names in clap.
const FEW: &[&str] = &[
    "scenario",
    "policy",
    "mesh",
    "machine",
    "strategy",
    "scheduler",
    "load",
    "log",
    "jobs",
    "replications",
    "seed",
    "save",
    "format",
    "metrics",
    "files",
    "draw",
    "output",
    "count",
    "port",
    "tcp",
    "speed",
    "once",
    "quiet",
];

/// A command with more options than this shows [`FEW`] of them for `-h`.
const MANY: usize = 24;

/// The commands. In the `-h` text of a command with many options, each option has the first words
/// of its help.
fn commands(color: ColorChoice) -> clap::Command {
    let short = |command: clap::Command| {
        if command.get_arguments().count() <= MANY {
            return command;
        }
        let all = format!(
            "`{PROGRAM} {} --help` shows all options, and examples.",
            command.get_name()
        );
        let examples = command.get_after_help().cloned().unwrap_or_default();
        let command = command.mut_args(|arg| {
            let is_few = FEW.contains(&arg.get_id().as_str());
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let ends = [". ", ": ", "; ", " ["]
                .iter()
                .filter_map(|end| help.find(end));
            let first = help[..ends.min().unwrap_or(help.len())].to_owned();
            arg.hide_short_help(!is_few).help(first).long_help(help)
        });
        command.after_help(all).after_long_help(examples)
    };
    Cli::command().color(color).mut_subcommands(short)
}

/// The colours that are asked for, before the command line is read: help is coloured, too.
fn color() -> ColorChoice {
    let words: Vec<_> = std::env::args().collect();
    let value = |at: usize| match words[at].strip_prefix("--color")? {
        "" => words.get(at + 1).map(String::as_str),
        value => value.strip_prefix('='),
    };
    let given = (0..words.len()).find_map(|at| ColorChoice::from_str(value(at)?, true).ok());
    given.unwrap_or_default()
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run a workload through one or several strategies; any setting may have several values
    ///
    /// Several values are separated by commas, or a range: --load .3,.4 or --load .3..:.7:.1. Every
    /// combination of values is a point. The first setting with several values gives the rows of
    /// the tables. Times are in seconds of virtual time, or in cycles where jobs send messages
    /// (--pattern). A time may have a unit, 90s, 10m, 2h, 1d or 1w, a number may be written 10k,
    /// 1e4 or 10_000, and a name in any case: EASY, first_fit.
    /// Results have 95 % confidence intervals over replications, and all strategies get the same
    /// jobs. More replications narrow the intervals; for a resampled log they do not.
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Make a page (HTML) of the mesh over time, strategies side by side: play, pause, step, scrub
    ///
    /// Shows the first replication of each strategy, all under the same jobs. The page is one file
    /// that needs no network.
    #[command(after_help = VIEW_EXAMPLES)]
    View(Box<ViewArgs>),
    /// Watch a machine on the terminal: a controller on a board, or a run at a chosen speed
    ///
    /// Shows the machine, the queue and why its jobs wait. With --port, --tcp or --unix it asks a
    /// controller, as device does, and changes nothing there. Without them it makes the first
    /// replication of the first strategy, and then plays it.
    #[command(after_help = WATCH_EXAMPLES)]
    Watch(Box<WatchArgs>),
    /// Carry out a file of operations and print the result of each, one JSON object a line
    #[command(after_help = replay::FORMAT)]
    Replay(ReplayArgs),
    /// Compare strategies over loads: like run, with several loads and schedulers by default
    ///
    /// Without options it takes about ten seconds on two processors. It uses all processors.
    Compare(Box<CompareArgs>),
    /// Measure the utilization of each strategy at saturation, while jobs always wait
    ///
    /// All strategies get the same jobs in the same order.
    Saturation(Box<SaturationArgs>),
    /// Reproduce a paper: its figures (CSV, SVG), its claims with verdicts, and a page (HTML) of
    /// both
    ///
    /// After an interruption the same command continues the run.
    Reproduce(ReproduceArgs),
    /// Talk to a controller on a board: its state, jobs, faults, why jobs wait, what fits
    ///
    /// Jobs and configuration stay when the command ends. Times in JSON are in
    /// milliseconds of the controller's clock.
    #[command(after_help = DEVICE_EXAMPLES)]
    Device(DeviceArgs),
    /// Serve a controller to many clients, over TCP and a Unix socket, with its state in a file
    ///
    /// It is the server of the firmware: `device` and `run --backend` are its clients. Times are in
    /// milliseconds. There is no authentication. SIGTERM and Ctrl-C end it.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Summarise a log: jobs, dates, load on a machine, sizes, run times, dropped lines and why
    Log(LogStatisticsArgs),
    /// List strategies, schedulers, distributions and metrics, with their sources
    List(ListArgs),
    /// Print completions for a shell
    ///
    /// For bash: host-sim completions bash > ~/.local/share/bash-completion/completions/host-sim
    Completions {
        /// The shell
        shell: Shell,
    },
}

const DEVICE_EXAMPLES: &str = "\
Examples:
  host-sim device --tcp 127.0.0.1:4000 info
  host-sim device --port /dev/ttyACM0 submit 7 4x3
  host-sim device --port /dev/ttyACM0 why --json
  host-sim device --port /dev/ttyACM0 fail 0..3 5";

const SERVE_EXAMPLES: &str = "\
Examples:
  host-sim serve --mesh 16x16 --strategy fsl --scheduler easy --journal mesh.journal
  host-sim serve --torus 8x8x8 --journal j --socket /run/meshalloc/socket

A journal keeps the machine, the strategy and the scheduler with which it was begun. The options for
them are used only for a new journal.";

const RUN_EXAMPLES: &str = "\
Examples:
  host-sim run --strategy fsl,as --load .47
  host-sim run --machine 4-ary-3-cube --strategy tc,sniffing --batch 100 --service uniform:5,10
  host-sim run --mesh 16x22 --log log.swf.gz --partition 2 --format json
  host-sim run --mesh 16x16 --strategy ff,as --pattern all-to-all --arrival-rate 0.00005
  host-sim run --scenario paper.toml --seed 7
  host-sim run --load .3..:.5:.05 --scheduler fcfs,easy --strategy ff,fsl --save out/loads

A scenario file is TOML; its keys are the options above without the dashes, except those from
--scenario to --merge below \"Options\", \"Where and how\" and \"Several machines\":
  mesh = \"64x64\"
  strategy = [\"fsl\", \"as\"]
  load = [0.3, 0.4, 0.5]

On several machines that share FOLDER, each runs one shard:
  host-sim run --scenario loads.toml --save FOLDER --shard 1/2       (2/2 on the other)
  host-sim run --scenario loads.toml --save FOLDER --merge           when both have ended";

const VIEW_EXAMPLES: &str = "\
Examples:
  host-sim view --mesh 64x64 --strategy ff,as,fsl --load .5 --jobs 4000
  host-sim view --mesh 10x10 --log log.swf.gz --strategy ff,as,fsl -o log.html

A scenario file is TOML; its keys are the options above without the dashes, except --scenario,
--output and --replace. A file for run works, too. These keys are ignored: replications,
until-rel-error, until-abs-error, max-replications and slowdown-threshold.";

const WATCH_EXAMPLES: &str = "\
Examples:
  host-sim watch --mesh 16x16 --strategy fsl --load .7 --jobs 1000
  host-sim watch --torus 8x8x8 --load .6 --jobs 500 --speed 10m --once
  host-sim watch --tcp 127.0.0.1:4000

Keys: q ends it, z and Z show one plane after another. In a run, space stops and goes on, + and -
change the speed, the arrows go from event to event, Home and End to both ends.";

#[derive(Args, Debug)]
struct ListArgs {
    /// Only this part [default: all]
    #[arg(value_name = "WHAT", value_enum, ignore_case = true)]
    what: Option<list::Part>,

    #[command(flatten)]
    format: JsonArgs,
}

/// The whole command line.
#[cfg(feature = "reference")]
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Reads the command line of this process and carries it out.
pub fn main() -> ExitCode {
    let mut command = policy::with_names(commands(color()));
    let read = command.try_get_matches_from_mut(std::env::args_os());
    let read = read.and_then(|matches| {
        let read = Cli::from_arg_matches(&matches);
        read.map_err(|error| error.format(&mut command))
    });
    let cli = match read {
        Ok(cli) => cli,
        Err(error) => return explain(error),
    };
    if cli.quiet {
        failure::QUIET.store(true, Ordering::Relaxed);
    }
    match cli.color {
        ColorChoice::Auto => {}
        other => console::set_colors_enabled(other == ColorChoice::Always),
    }
    let mut output = BufWriter::new(io::stdout().lock());
    let mut printed = Printable::new(&mut output);
    let outcome =
        carry_out(&cli, &mut printed).and_then(|()| printed.flush().map_err(Failure::from));
    // The buffer was flushed. If bytes are left in it, they cannot be written.
    let _ = output.into_parts();
    ended(outcome)
}

/// Prints help, the version or what is wrong with the command line.
fn explain(mut error: clap::Error) -> ExitCode {
    if let Some(tip) = tip(&error) {
        let tip = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tip);
        // The tip replaces the guess of clap, with the usage of what it guessed.
        if error.remove(ContextKind::SuggestedArg).is_some() {
            error.remove(ContextKind::Usage);
        }
    }
    let mut arguments = std::env::args_os();
    let is_odd = |argument: OsString| argument.to_string_lossy().contains(char::is_control);
    if error.use_stderr() && arguments.any(is_odd) {
        // Without colours, since colours in an argument could not be told from those of clap.
        failure::to_stderr(&error.render().to_string().trim_end());
        return ExitCode::from(error.exit_code() as u8);
    }
    let printed = error.print().and_then(|()| io::stdout().flush());
    if error.use_stderr() {
        ExitCode::from(error.exit_code() as u8)
    } else {
        ended(printed.map_err(Failure::from))
    }
}

fn ended(outcome: Result<(), Failure>) -> ExitCode {
    let Err(failure) = outcome else {
        return ExitCode::SUCCESS;
    };
    let (code, message) = failure.ending();
    if let Some(message) = message {
        failure::to_stderr(&format_args!("error: {message}"));
    }
    ExitCode::from(code)
}

fn carry_out(cli: &Cli, output: &mut impl Write) -> Result<(), Failure> {
    match &cli.command {
        Command::Run(args) => failure::files_first(output, |output| run::run(args, output)),
        Command::View(args) => view::view(args, output),
        Command::Replay(args) => replay::carry_out(args, cli.quiet, output),
        Command::Compare(args) => {
            failure::files_first(output, |output| compare::compare(args, output))
        }
        Command::Saturation(args) => {
            failure::files_first(output, |output| saturation::saturation(args, output))
        }
        Command::Reproduce(args) => reproduce::reproduce(args, output),
        Command::Watch(args) => watch::watch(args, output),
        Command::Device(args) => device::device(args, output),
        Command::Serve(args) => serve::serve(args, output),
        Command::Log(args) => log::log(args, output),
        Command::List(args) => Ok(list::list(args.what, args.format.is_json(), output)?),
        Command::Completions { shell } => {
            let script = completion::script(*shell, &mut Cli::command());
            Ok(output.write_all(script.as_bytes())?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_sound() {
        Cli::command().debug_assert();
    }

    /// A longer line would go on at the left margin, where operations and keys stand.
    #[test]
    fn no_line_below_the_options_is_wrapped() {
        let root = Cli::command();
        for command in std::iter::once(&root).chain(root.get_subcommands()) {
            let Some(text) = command.get_after_help() else {
                continue;
            };
            for line in text.to_string().lines() {
                assert!(
                    line.chars().count() <= 100,
                    "{}: {line}",
                    command.get_name()
                );
            }
        }
    }
}
