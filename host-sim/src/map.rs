//! Maps: pictures of which job holds which processors at one moment.
//!
//! A [`Snapshot`] is read from a controller through its [`Backend`](crate::backend::Backend), with the commands any client
//! has, so it does not matter where the controller is. It is drawn as [`svg`] or on the [`terminal`]; jobs that
//! touch differ in [colour](colouring).

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use clap::builder::ValueHint;
use meshalloc::{Block, Grid, StrategyKind, Ticks};

use crate::backend::Backends;
use crate::experiment::{self, AnyExecution, Experiment, ExperimentError};
use crate::file;
use crate::simulation::{self, Interrupted, Moment};
use crate::workload::{JOBS_MAX, TIME_MAX, TimeUnit};

pub mod colouring;
pub mod largest;
pub mod layout;
pub mod snapshot;
pub mod svg;
pub mod terminal;

pub use snapshot::{MapJob, Snapshot};
pub use svg::LinkMap;

/// Where the picture goes by default.
pub const OUTPUT_DEFAULT: &str = "out/map.svg";

/// The moment that is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MapMoment {
    /// When the last measured job arrives: the machine is in use.
    #[default]
    LastArrival,
    /// At this virtual time, in the unit of the workload.
    Time(f64),
    /// When the first strategy has granted this number of jobs; the same time for the others.
    Jobs(u64),
}

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plot {
    /// Who holds which processors at a moment.
    Map(MapMoment),
    /// How much the links carry.
    Links,
    /// Which jobs hold which processors over time.
    Gantt,
    /// Processors in use and fragmented, and jobs that wait, over time.
    Timeline,
}

/// `map`, `map:SECONDS`, `map:jobs=N`, `links`, `gantt` or `timeline`, as it is written on the command line.
impl FromStr for Plot {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "links" => Ok(Plot::Links),
            "gantt" => Ok(Plot::Gantt),
            "timeline" => Ok(Plot::Timeline),
            moment => moment
                .parse()
                .map(Plot::Map)
                .map_err(|error: String| format!("{error}, links, gantt or timeline")),
        }
    }
}

impl fmt::Display for Plot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Plot::Map(moment) => moment.fmt(f),
            Plot::Links => f.write_str("links"),
            Plot::Gantt => f.write_str("gantt"),
            Plot::Timeline => f.write_str("timeline"),
        }
    }
}

/// `map`, `map:SECONDS` or `map:jobs=N`, as it is written on the command line.
impl FromStr for MapMoment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time_max = TimeUnit::Second.of(TIME_MAX);
        let expected = || {
            format!("expected map, map:SECONDS (0 to {time_max:.0}), map:jobs=N (1 to {JOBS_MAX})")
        };
        if text == "map" {
            return Ok(MapMoment::LastArrival);
        }
        let moment = text.strip_prefix("map:").ok_or_else(expected)?;
        if let Some(count) = moment.strip_prefix("jobs=") {
            let count = count.parse::<u64>().ok();
            let count = count.filter(|count| (1..=u64::from(JOBS_MAX)).contains(count));
            return count.map(MapMoment::Jobs).ok_or_else(expected);
        }
        let at = moment.parse::<f64>().ok();
        at.filter(|at| (0.0..=time_max).contains(at))
            .map(MapMoment::Time)
            .ok_or_else(expected)
    }
}

/// One map with its caption.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The strategy.
    pub strategy: StrategyKind,
    /// The virtual time, if there is one.
    pub at: Option<Ticks>,
    /// Its unit.
    pub unit: TimeUnit,
    /// Jobs that wait.
    pub waiting: u32,
    /// The jobs, and the processors that they hold.
    pub snapshot: Snapshot,
}

impl Map {
    /// Three short lines for under the title, short enough for two maps on a terminal: jobs, processors, and the largest free block.
    pub fn caption(&self) -> [String; 3] {
        let snapshot = &self.snapshot;
        let mut first = format!("{} running, {} waiting", snapshot.jobs.len(), self.waiting);
        if let Some(at) = self.at {
            first = match self.unit {
                TimeUnit::Second => format!("{:.1} s: {first}", self.unit.of(at)),
                TimeUnit::Cycle => format!("cycle {at}: {first}"),
            };
        }
        let busy = 100.0 * snapshot.busy_fraction();
        let mut second = format!("{busy:.1} % busy, {} free", snapshot.free());
        if !snapshot.faulty.is_empty() {
            second.push_str(&format!(", {} faulty", snapshot.faulty.len()));
        }
        let third = match snapshot.largest_free() {
            Some(largest) => format!("largest free {}", asked(&snapshot.machine, largest)),
            None => "nothing is free".to_owned(),
        };
        [first, second, third]
    }
}

/// A block as one asks for it: `submesh: 4x2`, `subcube: 4x2`.
fn asked(machine: &Grid, block: Block) -> String {
    let mut extents = machine.written(machine.extent(block)).to_vec();
    let kind = match machine.is_written_high_first() {
        true => {
            extents.retain(|&extent| extent > 1);
            "subcube"
        }
        false => "submesh",
    };
    let extents: Vec<_> = extents.iter().map(u16::to_string).collect();
    match extents.is_empty() {
        true => format!("{kind}: 1"),
        false => format!("{kind}: {}", extents.join("x")),
    }
}

/// The maps of all strategies of an experiment, at one moment of its first replication.
///
/// Runs that replication again, as far as the moment.
///
/// # Errors
///
/// When the workload cannot be used, a controller cannot be made ready, or the moment never comes.
pub fn maps(
    experiment: &Experiment,
    moment: MapMoment,
    backends: &mut dyn Backends,
) -> Result<Vec<Map>, ExperimentError> {
    let mut moment = match moment {
        MapMoment::LastArrival => Moment::Time(last_arrival(experiment)?),
        MapMoment::Time(at) => Moment::Time(experiment.workload.time_unit().ticks(at)),
        MapMoment::Jobs(count) => Moment::Grants(count),
    };
    let mut maps = Vec::new();
    for &strategy in &experiment.strategies {
        let map = map(experiment, strategy, moment, backends)?;
        moment = map.at.map_or(moment, Moment::Time);
        maps.push(map);
    }
    Ok(maps)
}

/// For each strategy, how much the links carried in its first replication, which is run again.
///
/// # Errors
///
/// When the workload cannot be used, a controller cannot be made ready, or a run ends early.
pub fn link_maps(
    experiment: &Experiment,
    backends: &mut dyn Backends,
) -> Result<Vec<LinkMap>, ExperimentError> {
    let mut maps = Vec::new();
    for &strategy in &experiment.strategies {
        let Some(network) = experiment::network_after(experiment, strategy, backends)? else {
            continue;
        };
        let cycles = network.now().max(1) as f64;
        let flits = f64::from(network.parameters().flits);
        let links = network.links();
        let links = links.map(|(link, usage)| (link, usage.messages as f64 * flits / cycles));
        let links: Vec<_> = links.collect();
        let mean = links.iter().map(|link| link.1).sum::<f64>() / links.len().max(1) as f64;
        maps.push(LinkMap {
            machine: experiment.machine,
            name: strategy.to_string(),
            caption: vec![
                format!("mean {mean:.4} flits a link and cycle"),
                format!("{} cycles", network.now()),
            ],
            links,
            most: 0.0,
        });
    }
    svg::same_scale(&mut maps);
    Ok(maps)
}

fn last_arrival(experiment: &Experiment) -> Result<Ticks, ExperimentError> {
    let last = experiment.measured(0)?.needed() - 1;
    let job = experiment
        .workload
        .jobs(experiment.seed, 0)?
        .nth(last as usize);
    Ok(job.map_or(0, |job| job.arrival))
}

fn map(
    experiment: &Experiment,
    strategy: StrategyKind,
    moment: Moment,
    backends: &mut dyn Backends,
) -> Result<Map, ExperimentError> {
    let machine = experiment.machine;
    let configuration = experiment.configuration(strategy, 0);
    let workload = &experiment.workload;
    let jobs = workload.jobs(experiment.seed, 0)?;
    let execution = AnyExecution::new(workload, machine)?;
    let mut outcome = None;
    backends.with(configuration, &mut |backend| {
        let jobs = jobs.clone();
        let execution = execution.clone();
        let stopped = simulation::run_until(execution, backend, machine, jobs, moment);
        outcome =
            Some(stopped.and_then(|stopped| Ok((stopped, Snapshot::read(backend, machine)?))));
    })?;
    let outcome = outcome.expect("a backend that is ready calls its body");
    let (Interrupted { at, waiting, .. }, snapshot) =
        outcome.map_err(|reason| ExperimentError::Run {
            strategy,
            replication: 1,
            reason: Box::new(reason),
        })?;
    Ok(Map {
        strategy,
        at: Some(at),
        unit: workload.time_unit(),
        waiting,
        snapshot,
    })
}

/// A file for a picture, looked at before the work that it shows and written after it.
#[derive(Debug)]
pub(crate) struct PictureFile(PathBuf);

impl PictureFile {
    /// Whether the file can be written; makes its folder if need be.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        match file::check(path) {
            Ok(()) => Ok(PictureFile(path.to_owned())),
            Err(error) => Err(failed(path, &error)),
        }
    }

    /// Puts the picture in the place of what was there.
    pub(crate) fn write(&self, svg: &str) -> Result<(), String> {
        file::write(&self.0, svg.as_bytes()).map_err(|error| failed(&self.0, &error))
    }
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("{}: cannot write the picture: {error}", path.display())
}

/// The options of commands that can show maps.
#[derive(Args, Clone, Debug)]
pub(crate) struct MapArgs {
    /// Also draw a picture. Who holds which processors: map, when the last measured job arrives; map:SECONDS, at
    /// that time (seconds; cycles where jobs send messages); map:jobs=N, when N jobs have been granted. How much
    /// each link of the network carries: links, of jobs that send messages. Over the first replication, with run: gantt, which
    /// jobs hold which processors; timeline, processors in use and fragmented, and jobs that wait
    #[arg(long, value_name = "map[:WHEN]|links|gantt|timeline", value_parser = Plot::from_str)]
    pub(crate) plot: Option<Plot>,

    /// Where the picture goes (SVG); its folder is made if need be
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = OUTPUT_DEFAULT, requires = "plot")]
    pub(crate) plot_output: PathBuf,
}

/// The error where no messages are sent.
pub(crate) const NO_LINKS: &str =
    "--plot links is about jobs that send messages (expected run with --pattern, or traffic)";

impl MapArgs {
    /// What is to be shown and where, if anything. Opens the file: now rather than after a minute's work.
    pub(crate) fn show(&self, on_terminal: bool) -> Result<Option<(Plot, Show)>, String> {
        let Some(plot) = self.plot else {
            return Ok(None);
        };
        let show = Show::open(&self.plot_output, on_terminal)?;
        Ok(Some((plot, show)))
    }

    /// The same of commands whose jobs do not send messages.
    pub(crate) fn show_map(&self, on_terminal: bool) -> Result<Option<(MapMoment, Show)>, String> {
        match self.plot {
            Some(Plot::Links) => Err(NO_LINKS.to_owned()),
            Some(plot @ (Plot::Gantt | Plot::Timeline)) => Err(format!(
                "--plot {plot} is about a run over time (expected run; here map or map:WHEN)"
            )),
            Some(Plot::Map(moment)) => {
                let show = Show::open(&self.plot_output, on_terminal)?;
                Ok(Some((moment, show)))
            }
            None => Ok(None),
        }
    }
}

/// What the commands need to show maps.
#[derive(Debug)]
pub(crate) struct Show {
    file: PictureFile,
    on_terminal: bool,
}

impl Show {
    /// Opens the file of the picture. The terminal gets one too if `on_terminal`.
    fn open(path: &Path, on_terminal: bool) -> Result<Self, String> {
        let file = PictureFile::open(path)?;
        Ok(Show { file, on_terminal })
    }

    /// Draws the maps; `subtitle` has the parameters that all of them share.
    pub(crate) fn maps(
        self,
        maps: &[Map],
        subtitle: &str,
        output: &mut dyn Write,
    ) -> Result<(), crate::failure::Failure> {
        let path = &self.file.0;
        self.file.write(&svg::svg(maps, subtitle)?)?;
        if self.on_terminal {
            writeln!(output)?;
            terminal::draw(maps, terminal::Look::of_stdout(), output)?;
            writeln!(output, "map: {}", path.display())?;
        }
        Ok(())
    }

    /// Writes a picture that is drawn already, of this kind.
    pub(crate) fn drawn(
        self,
        kind: &str,
        svg: &str,
        output: &mut dyn Write,
    ) -> Result<(), crate::failure::Failure> {
        self.file.write(svg)?;
        if self.on_terminal {
            writeln!(output, "\n{kind}: {}", self.file.0.display())?;
        }
        Ok(())
    }

    /// Draws maps of links.
    pub(crate) fn links(
        self,
        maps: &[LinkMap],
        subtitle: &str,
        output: &mut dyn Write,
    ) -> Result<(), crate::failure::Failure> {
        self.drawn("links", &svg::svg(maps, subtitle)?, output)
    }
}

impl fmt::Display for MapMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MapMoment::LastArrival => f.write_str("map"),
            MapMoment::Time(at) => write!(f, "map:{at}"),
            MapMoment::Jobs(count) => write!(f, "map:jobs={count}"),
        }
    }
}
