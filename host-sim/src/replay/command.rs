//! The command `replay`: its options, and from them to what it prints and draws.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, Write};
use std::path::{Path, PathBuf};

use clap::builder::ValueHint;
use clap::{Arg, Args};
use meshalloc::{Configuration, Grid, Query};

use super::{Interruptible, ReplayError, Waiting, check, replay};
use crate::failure::{self, Failure};
use crate::file::{self, Output, Product, ReplaceArgs};
use crate::line::LineBackends;
use crate::map::{Map, Show};
use crate::outputs;
use crate::settings::{self, Given, Takes, of_one_controller};
use crate::signals;
use meshalloc_sim::backend::{Backends, InProcessBackends};
use meshalloc_sim::names;
use meshalloc_sim::situation::Situation;
use meshalloc_sim::workload::TimeUnit;

/// The help about the file of operations.
pub(crate) const FORMAT: &str = "\
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

/// The options of `replay`.
#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
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

    /// Also draw this map on the terminal
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

/// Replays the file, and draws what it asks for.
pub(crate) fn carry_out(
    args: &ReplayArgs,
    quiet: bool,
    output: &mut impl Write,
) -> Result<(), Failure> {
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
        Output::open(path, Product::Picture, args.replace)
    });
    let file = file.transpose()?;
    if args.draw.is_some() && file.is_none() && !for_people {
        let reason = "--draw map requires --output FILE.svg, or --quiet: objects are printed";
        return Err(reason.to_owned().into());
    }
    let is_drawn = file.is_some() || args.draw.is_some();
    let show = Show {
        file: file.as_ref(),
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
    let mut in_process = InProcessBackends::default();
    let backends: &mut dyn Backends = match &settings::endpoint(&controlled.backend)? {
        None => &mut in_process,
        Some(endpoint) => {
            let opened = LineBackends::open(endpoint)?;
            // From now on there is something to be put in order at the end.
            signals::handle()?;
            if args.operations == Path::new("-") {
                input = Box::new(Interruptible::standard_input());
            }
            line.insert(opened)
        }
    };
    let mut input = Some(input);
    let mut outcome = None;
    let mut map = None;
    let mut sink = io::sink();
    let ready = backends.with(configuration, description, &mut |backend| {
        let Some(input) = input.take() else { return };
        let objects: &mut dyn Write = if quiet { &mut sink } else { output };
        outcome = Some(replay(&name, input, machine, waiting, backend, objects));
        if is_drawn {
            let ask = &mut |query: &Query| backend.query(query);
            let situation = Situation::read(ask, configuration, description);
            map = Some(situation.map(|situation| Map::of_situation(&situation)));
        }
    });
    ready?;
    match outcome {
        Some(Err(_)) if signals::is_interrupted() => {
            return Err(Failure::Incomplete(failure::interrupted()));
        }
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
    let Some(map) = map else {
        return Ok(());
    };
    let shown = map.map_err(Failure::from);
    let shown = shown.and_then(|map| show.maps(&[map], &format!("at the end of {name}"), output));
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
        check(&name, &file, machine).map_err(|error| error.to_string())?;
        file.rewind().map_err(cannot)?;
    }
    Ok((name, Box::new(file)))
}
