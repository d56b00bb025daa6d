//! Maps: pictures of which job holds which processors at one moment. A [`Snapshot`] is read from a
//! controller, wherever it is, through its [`Backend`](meshalloc_sim::backend::Backend), and drawn
//! as [`svg`] or on the [`terminal`]; jobs that touch differ in [colour](colouring).

use std::fmt;
use std::str::FromStr;

use meshalloc::{Block, Grid, StrategyKind, Ticks};

use meshalloc_sim::backend::Backends;
use meshalloc_sim::experiment::{self, Experiment, ExperimentError, Progress};
use meshalloc_sim::names;
use meshalloc_sim::scenario::{Resolved, SettingError};
use meshalloc_sim::simulation::{self, Interrupted, Moment, Observer, Seen, SimulationError};
use meshalloc_sim::wording::counted;
use meshalloc_sim::workload::{JOBS_MAX, TIME_MAX, TimeUnit};

pub mod colouring;
pub mod largest;
pub mod layout;
mod show;
pub mod snapshot;
pub mod svg;
pub mod terminal;

pub(crate) use show::{NO_LINKS, PictureArgs, PictureFile, Show};
pub use snapshot::{MapJob, Snapshot};
pub use svg::LinkMap;

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

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plot {
    /// Who holds which processors at a moment.
    Map(MapMoment),
    /// How much the links carry.
    Links,
    /// Processors in use and fragmented, and jobs that wait, over time.
    Timeline,
}

/// `map`, `map:SECONDS`, `map:jobs=N`, `links` or `timeline`, as on the command line.
impl FromStr for Plot {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "links" => Ok(Plot::Links),
            "timeline" => Ok(Plot::Timeline),
            moment => moment
                .parse()
                .map(Plot::Map)
                .map_err(|error: String| format!("{error}, links or timeline")),
        }
    }
}

impl Plot {
    /// The kind of picture, which its file is called after.
    pub const fn kind(self) -> &'static str {
        match self {
            Plot::Map(_) => "map",
            Plot::Links => "links",
            Plot::Timeline => "timeline",
        }
    }
}

impl fmt::Display for Plot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Plot::Map(moment) => moment.fmt(f),
            other => f.write_str(other.kind()),
        }
    }
}

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
            let count = names::jobs(count).ok().map(u64::from);
            return count.map(MapMoment::Jobs).ok_or_else(expected);
        }
        let at = names::span(moment).map_err(|_| expected())?;
        Ok(MapMoment::Time(TimeUnit::Second.of(at)))
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
    /// Three lines, short enough for two maps on a terminal: jobs, processors, the largest free
    /// block.
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
            Some(largest) => format!("largest free {}", asked(&snapshot.plan.machine, largest)),
            None => "nothing is free".to_owned(),
        };
        [first, second, third]
    }
}

/// A block as one asks for it: `submesh: 4x2`, `subcube: 4x2`.
fn asked(machine: &Grid, block: Block) -> String {
    let mut extents = machine.written(machine.extent(block)).to_vec();
    let kind = if machine.is_written_high_first() {
        extents.retain(|&extent| extent > 1);
        "subcube"
    } else {
        "submesh"
    };
    let extents: Vec<_> = extents.iter().map(u16::to_string).collect();
    if extents.is_empty() {
        format!("{kind}: 1")
    } else {
        format!("{kind}: {}", extents.join("x"))
    }
}

/// The maps of all strategies of an experiment, at one moment of its first replication, which is
/// run again as far as that; an error when the moment never comes or is after the end of all runs.
pub fn maps(
    experiment: &Experiment,
    moment: MapMoment,
    backends: &mut dyn Backends,
    progress: &dyn Progress,
) -> Result<Vec<Map>, ExperimentError> {
    let mut moment = match moment {
        MapMoment::LastArrival => Moment::Time(last_arrival(experiment)?),
        MapMoment::Time(at) => Moment::Time(experiment.workload.time_unit().ticks(at)),
        MapMoment::Jobs(count) => Moment::Grants(count),
    };
    if let Moment::Time(at) = moment {
        check_end(experiment, at, backends, progress)?;
    }
    let mut maps = Vec::new();
    for &strategy in &experiment.strategies {
        let map = map(experiment, strategy, moment, backends, progress)?;
        moment = map.at.map_or(moment, Moment::Time);
        maps.push(map);
    }
    Ok(maps)
}

/// Whether a run has not ended by this time; made only if the last job has arrived by then.
fn check_end(
    experiment: &Experiment,
    at: Ticks,
    backends: &mut dyn Backends,
    progress: &dyn Progress,
) -> Result<(), ExperimentError> {
    #[derive(Default)]
    struct End(Ticks);
    impl Observer for End {
        fn see(&mut self, seen: &Seen<'_>) {
            if let Seen::End(at) = *seen {
                self.0 = at;
            }
        }
    }
    if at <= last_arrival(experiment)? {
        return Ok(());
    }
    let runs = experiment::run_first::<End>(experiment, backends, progress)?;
    let ends = runs.map(|run| Ok(run?.0.0));
    let ends = ends.collect::<Result<Vec<_>, ExperimentError>>()?;
    let ends = ends.into_iter().zip(&experiment.strategies);
    match ends.max_by_key(|(end, _)| *end) {
        Some((end, &strategy)) if end < at => {
            let unit = experiment.workload.time_unit();
            let over = SimulationError::Over { end, unit };
            Err(ExperimentError::of_run(strategy, 0, over))
        }
        _ => Ok(()),
    }
}

/// Whether a moment may come in the experiment of a scenario.
pub(crate) fn check(
    moment: MapMoment,
    scenario: &Resolved,
    experiment: &Experiment,
) -> Result<(), String> {
    if experiment.backlog.is_some() {
        let reason = format!(
            "--plot {moment}: a map shows jobs that arrive at given times (expected no `backlog`)"
        );
        return Err(scenario.place(&SettingError::new(&["backlog"], reason)));
    }
    let MapMoment::Jobs(count) = moment else {
        return Ok(());
    };
    let measured = experiment.measured(0);
    let measured = measured.map_err(|error| error.on_command_line())?;
    match measured.needed() {
        jobs if count > jobs.into() => Err(format!(
            "--plot {moment}: a run has {} (expected map:jobs=N, N from 1 to {jobs})",
            counted(jobs, "job")
        )),
        _ => Ok(()),
    }
}

/// For each strategy, how much the links carried in its first replication, which is run again.
pub fn link_maps(
    experiment: &Experiment,
    backends: &mut dyn Backends,
    progress: &dyn Progress,
) -> Result<Vec<LinkMap>, ExperimentError> {
    let mut maps = Vec::new();
    let runs = experiment::run_first::<()>(experiment, backends, progress)?;
    for (strategy, run) in experiment.strategies.iter().zip(runs) {
        let (_, (_, execution)) = run?;
        let Some(network) = execution.network() else {
            continue;
        };
        let cycles = network.now().max(1) as f64;
        let flits = f64::from(network.parameters().flits);
        let links = network.links();
        let links = links.map(|(link, messages)| (link, messages as f64 * flits / cycles));
        let links: Vec<_> = links.collect();
        let mean = links.iter().map(|link| link.1).sum::<f64>() / links.len().max(1) as f64;
        maps.push(LinkMap {
            machine: experiment.machine,
            name: strategy.to_string(),
            caption: vec![
                format!("mean {mean:.4} flits a link and cycle"),
                counted(network.now(), "cycle"),
            ],
            links,
        });
    }
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
    progress: &dyn Progress,
) -> Result<Map, ExperimentError> {
    let machine = experiment.machine;
    let configuration = experiment.configuration(strategy, 0);
    let description = experiment.description.as_ref();
    let description = description.map(|description| &description.description);
    let plan = layout::Plan::of(machine, description);
    let workload = &experiment.workload;
    let mut jobs = workload.jobs(experiment.seed, 0)?;
    let failures = experiment.timeline(0)?;
    let mut execution = experiment::execution(workload, machine)?;
    let mut outcome = None;
    backends.with(configuration, description, &mut |backend| {
        let jobs = &mut jobs;
        let (execution, failures) = (&mut *execution, failures.clone());
        let backend = &mut experiment::interruptible(backend, progress);
        let stopped = simulation::run_until(execution, backend, machine, jobs, failures, moment);
        outcome = Some(stopped.and_then(|stopped| Ok((stopped, Snapshot::read(backend, plan)?))));
    })?;
    let outcome = outcome.expect("a backend that is ready calls its body");
    let (Interrupted { at, waiting, .. }, snapshot) =
        outcome.map_err(|reason| ExperimentError::of_run(strategy, 0, reason))?;
    Ok(Map {
        strategy,
        at: Some(at),
        unit: workload.time_unit(),
        waiting,
        snapshot,
    })
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
