//! The command line: its options, and how a command is carried out and ends with an exit code.
//!
//! A command that cannot be carried out ends with one line on standard error and exit code 2; so do
//! wrong options. After Ctrl-C the code is 130. When a controller was lost, or a run failed after
//! others were complete, the code is 1.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::builder::ValueHint;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{
    Arg, ArgAction, Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand,
    ValueEnum,
};
use clap_complete::Shell;
use meshalloc::{Configuration, Grid};

use crate::compare::{self, CompareArgs};
use crate::completion;
use crate::device::{self, DeviceArgs};
use crate::failure::{self, Failure};
use crate::file::{self, ReplaceArgs};
use crate::identity::{PROGRAM, REVISION};
use crate::line::LineBackends;
use crate::list;
use crate::log::{self, LogStatisticsArgs};
use crate::map::{Map, PictureFile, Show, Snapshot};
use crate::outputs;
use crate::policy;
use crate::printable::Printable;
use crate::progress::Bar;
use crate::replay::{self, Interruptible, ReplayError, Waiting};
use crate::reproduce::{self, ReproduceArgs};
use crate::run::{self, RunArgs};
use crate::saturation::{self, SaturationArgs};
use crate::serve::{self, ServeArgs};
use crate::settings::{self, Given, JsonArgs, Takes, of_one_controller};
use crate::study::keep;
use crate::view::{self, ViewArgs};
use crate::watch::{self, WatchArgs};
use meshalloc_sim::backend::{Backends, InProcessBackends};
use meshalloc_sim::experiment::Progress;
use meshalloc_sim::layout::Plan;
use meshalloc_sim::names;
use meshalloc_sim::scenario::way_out;
use meshalloc_sim::wording::any_of;
use meshalloc_sim::workload::TimeUnit;

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
    #[command(after_help = REPLAY_FORMAT)]
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
    /// Jobs and configuration stay when the command ends. Times are in milliseconds.
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

const REPLAY_FORMAT: &str = "\
One operation a line, a JSON object or words; `#` begins a comment after words:
  alloc ID AxBx...      job ID asks for A by B by ... processors, now or never
                        unless --scheduler is given; A B is short for AxB
  alloc ID chips=N      job ID asks for N processors, in any shape that is legal
  alloc ID 3x ...       it asks for three slices of this shape or number, all at
                        once or none
    ... est=TIME        the job is expected to be freed TIME operations later
    ... priority=TIME   it waits as if it were TIME operations earlier
    ... lease=TIME      the job has a lease for TIME operations
  lease ID TIME         job ID has a lease for TIME operations from now on and
                        is released at its end; 0: no lease
  free ID               job ID gives its processors back
  fault X Y ...         the processor with these coordinates becomes faulty;
                        A..B in place of a coordinate: all from A to B; *: all
  repair X Y ...        these processors work again

The same as objects:
  {\"op\":\"alloc\",\"id\":ID,\"shape\":\"AxB\",\"estimate\":TIME,\"lease\":TIME}
  {\"op\":\"alloc\",\"id\":ID,\"chips\":N,\"priority\":TIME}
  {\"op\":\"alloc\",\"id\":ID,\"shape\":\"3x AxB\"}
  {\"op\":\"lease\",\"id\":ID,\"time\":TIME}
  {\"op\":\"free\",\"id\":ID}
  {\"op\":\"fault\",\"at\":[X,\"A..B\",\"*\"]}
  {\"op\":\"repair\",\"at\":[X,\"A..B\",\"*\"]}

Coordinates are those of dimension 0 (x) and on; on a cube the digits
of the address, A[n-1] .. A[0]. A grant on a two-dimensional mesh lists
{\"x\":..,\"y\":..,\"w\":..,\"h\":..} for each submesh, on any other grid
{\"start\":[..],\"extent\":[..]}, with the numbers in the order of coordinates.";

#[derive(Args, Debug)]
struct ReplayArgs {
    /// A file of operations, no log (see run --log); nothing runs if a line is invalid. - is
    /// standard input, line by line
    #[arg(value_name = "OPS", value_hint = ValueHint::FilePath)]
    operations: PathBuf,

    #[command(flatten)]
    settings: Given<Self>,

    /// Also draw which job holds which processors at the end of the file, into this file (SVG); its
    /// folder is made if it does not exist
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Map")]
    output: Option<PathBuf>,

    /// The same on the terminal
    #[arg(long, value_name = "map", value_parser = ["map"], help_heading = "Map")]
    draw: Option<String>,

    #[command(flatten)]
    replace: ReplaceArgs,
}

impl Takes for ReplayArgs {
    fn take(arg: Arg) -> Option<Arg> {
        if arg.get_id() == "backend" {
            return Some(arg);
        }
        let arg = of_one_controller(arg)?;
        Some(match arg.get_long()? {
            "scheduler" => arg.help(
                "Scheduling policy: a job that does not fit waits; times count operations, like those \
                 of estimates [default: no waiting, a job that does not fit is refused]",
            ),
            _ => arg,
        })
    }
}

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

/// The probable intention: an option of another command, an option for a file that was given
/// without an option, the load of a log, or values separated by commas.
fn tip(error: &clap::Error) -> Option<String> {
    let ContextValue::String(argument) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    if let Some(tip) = commas(error, argument) {
        return Some(tip);
    }
    if error.kind() == ErrorKind::ArgumentConflict {
        let given = [argument, &error.get(ContextKind::PriorArg)?.to_string()];
        let [one, other] = given.map(|it| it.trim_start_matches('-').split(' ').next());
        let (one, other) = (one?, other?);
        let of_study = || keep::way_out(one, other).map(str::to_owned);
        return way_out(one, other).or_else(of_study);
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let file = argument.strip_suffix(".gz").unwrap_or(argument);
    let option = match file.rsplit_once('.') {
        _ if argument.starts_with('-') => argument,
        Some((_, "toml")) => &format!("--scenario {argument}"),
        Some((_, "swf" | "csv")) => &format!("--log {argument}"),
        _ => return None,
    };
    let name = option.strip_prefix("--")?.split(' ').next()?;
    let is_option = argument.starts_with('-');
    let command = Cli::command();
    let takes = |command: &&clap::Command| {
        let mut arguments = command.get_arguments();
        // The same option may take no file in another command.
        let takes = |arg: &Arg| is_option || arg.get_value_hint() == ValueHint::FilePath;
        arguments.any(|arg| arg.get_long() == Some(name) && takes(arg))
    };
    let takers = command.get_subcommands().filter(takes);
    let takers: Vec<_> = takers.map(clap::Command::get_name).collect();
    (!takers.is_empty()).then(|| format!("{option} is an option of {}", any_of(takers)))
}

/// The tip about values of an option that are separated wrongly: by blanks, or by commas if the
/// command takes one value.
fn commas(error: &clap::Error, argument: &str) -> Option<String> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let (key, values) = match error.kind() {
        // `--load .3 .4`
        ErrorKind::UnknownArgument if !argument.starts_with("--") => {
            let at = words.iter().position(|word| word == argument)?;
            let before = words[..at]
                .iter()
                .rposition(|word| word.starts_with("--"))?;
            let key = words[before].strip_prefix("--")?;
            let (key, first) = key
                .split_once('=')
                .map_or((key, None), |(key, it)| (key, Some(it)));
            let behind = words[before + 1..]
                .iter()
                .take_while(|word| !word.starts_with("--"));
            let values = first.into_iter().chain(behind.map(String::as_str));
            (
                key.to_owned(),
                values
                    .map(|value| value.trim_matches(','))
                    .collect::<Vec<_>>(),
            )
        }
        // What `ff, fsl` begins with.
        ErrorKind::ValueValidation => {
            let key = argument.strip_prefix("--")?.split(' ').next()?;
            let ContextValue::String(value) = error.get(ContextKind::InvalidValue)? else {
                return None;
            };
            let is_cut = value.is_empty() || value.ends_with(',');
            is_cut.then(|| (key.to_owned(), Vec::new()))?
        }
        _ => return None,
    };
    let command = Cli::command();
    let own = command.find_subcommand(words.first()?)?;
    let mut arguments = own.get_arguments();
    let takes_several = arguments.any(|arg| {
        let is_list = matches!(arg.get_action(), ArgAction::Append);
        arg.get_long() == Some(&*key) && is_list
    });
    takes_several.then(|| {
        if values.is_empty() {
            format!("several values of --{key} are separated by commas, without blanks")
        } else {
            format!(
                "several values are separated by commas, without blanks: --{key} {}",
                values.join(",")
            )
        }
    })
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
        Command::Replay(args) => replay_file(args, cli.quiet, output),
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

fn replay_file(args: &ReplayArgs, quiet: bool, output: &mut impl Write) -> Result<(), Failure> {
    let settings = args.settings.scenario("replay")?;
    let waiting = match settings.scheduler {
        Some(_) => Waiting::Queue,
        None => Waiting::Never,
    };
    let controlled = settings.controlled("operations")?;
    let (machine, strategy) = (controlled.machine, controlled.strategies[0]);
    let description = controlled.description.as_ref();
    let description = description.map(|description| &description.description);
    // A picture between the objects would be in the way of a program that reads them.
    let for_people = quiet || io::stdout().is_terminal();
    file::distinct(&[
        ("OPS", Some(&args.operations)),
        ("--output", args.output.as_deref()),
    ])?;
    let file = args.output.as_deref();
    let file = file.map(|path| {
        outputs::check_only(path, false)?;
        PictureFile::open(path, args.replace)
    });
    let file = file.transpose()?;
    if args.draw.is_some() && file.is_none() && !for_people {
        let reason = "--draw map requires --output FILE.svg, or --quiet: objects are printed";
        return Err(reason.to_owned().into());
    }
    let is_drawn = file.is_some() || args.draw.is_some();
    let show = Show {
        file,
        on_terminal: for_people,
    };
    let (name, mut input) = open(&args.operations, machine)?;
    let configuration = Configuration {
        machine,
        strategy,
        // An operation is a tick, as a cycle is.
        scheduler: names::scheduler_in(controlled.scheduler, TimeUnit::Cycle),
    };
    let mut line = None;
    let mut interrupts = None;
    let mut in_process = InProcessBackends::default();
    let backends: &mut dyn Backends = match &settings::endpoint(&controlled.backend)? {
        None => &mut in_process,
        Some(endpoint) => {
            let opened = LineBackends::open(endpoint).map_err(|error| error.to_string())?;
            // From now on the controller has to be put in order at the end.
            interrupts = Some(Bar::interruptible()?);
            if args.operations == Path::new("-") {
                input = Box::new(Interruptible::standard_input());
            }
            line.insert(opened)
        }
    };
    let mut input = Some(input);
    let mut outcome = None;
    let mut snapshot = None;
    let mut sink = io::sink();
    let ready = backends.with(configuration, description, &mut |backend| {
        let Some(input) = input.take() else { return };
        let objects: &mut dyn Write = if quiet { &mut sink } else { output };
        outcome = Some(replay::replay(
            &name, input, machine, waiting, backend, objects,
        ));
        if is_drawn {
            snapshot = Some(Snapshot::read(backend, Plan::of(machine, description)));
        }
    });
    ready?;
    let is_interrupted = interrupts.is_some_and(|bar| bar.is_interrupted());
    match outcome {
        Some(Err(_)) if is_interrupted => return Err(Failure::Incomplete(failure::interrupted())),
        Some(Err(ReplayError::Write(error))) => return Err(error.into()),
        Some(Err(ReplayError::Backend(error))) => return Err(error.into()),
        Some(Err(error)) => return Err(error.to_string().into()),
        Some(Ok(counts)) if quiet => {
            let trips = line.map(|line| line.round_trips(&[strategy]));
            counts.write(trips, output)?;
        }
        _ => {}
    }
    output.flush()?;
    let Some(snapshot) = snapshot else {
        return Ok(());
    };
    let shown = snapshot.map_err(Failure::from).and_then(|snapshot| {
        let map = Map {
            strategy,
            at: None,
            unit: TimeUnit::default(),
            snapshot,
        };
        show.maps(&[map], &format!("at the end of {name}"), output)
    });
    shown.map_err(|failure| failure.after_results(&"--draw map"))
}

/// The operations of the file, or of standard input for `-`, which can be read, and their name.
fn open(path: &Path, machine: Grid) -> Result<(String, Box<dyn Read>), String> {
    if path == Path::new("-") {
        return Ok(("standard input".to_owned(), Box::new(io::stdin())));
    }
    let name = path.display().to_string();
    let cannot = |error: io::Error| format!("{name}: cannot open: {error}");
    let mut file = File::open(path).map_err(cannot)?;
    if file.metadata().map_err(cannot)?.is_file() {
        replay::check(&name, &file, machine).map_err(|error| error.to_string())?;
        file.rewind().map_err(cannot)?;
    }
    Ok((name, Box::new(file)))
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
