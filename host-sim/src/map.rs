//! Maps: pictures of which job holds which processors at one moment. A [`Snapshot`] comes from a
//! run's [`History`], or shows the [`Situation`] on a
//! controller, wherever it runs. It is drawn as [`svg`] or on the [`terminal`]; jobs that touch
//! differ in [colour](colouring).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use meshalloc::{Block, Grid, StrategyKind, Ticks};

use meshalloc_sim::experiment::Experiment;
use meshalloc_sim::history::History;
use meshalloc_sim::layout::Plan;
use meshalloc_sim::names::grammar::{self, Form, Kind, Value, Values, Written, param};
use meshalloc_sim::situation::Situation;
use meshalloc_sim::wording::counted;
use meshalloc_sim::workload::{JOBS_MAX, TIME_MAX, TimeUnit};

pub mod colouring;
pub mod largest;
mod plane;
mod show;
pub mod snapshot;
pub mod svg;
pub mod terminal;

pub(crate) use show::Show;
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
    /// At this virtual time in seconds, which no run in cycles has.
    Seconds(f64),
    /// When the first strategy has granted this number of jobs. All strategies are shown at this
    /// time.
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

/// The latest time that a run may have.
const TIME: Kind = Kind::Time(0.0, (TIME_MAX / TimeUnit::Second.ticks_each()) as f64);

impl Written for Plot {
    const WHAT: &'static str = "picture";

    const FORMS: &'static [Form] = &[
        Form::new(
            "map",
            &[
                param("jobs", Kind::Whole(1, JOBS_MAX)).keyed().or("none"),
                param("time", TIME).or("the last arrival"),
            ],
            "which job holds which processors, at a time or when this number of jobs was granted",
            "",
        )
        .either(),
        Form::new("links", &[], "the traffic on each link", ""),
        Form::new("timeline", &[], "processors in use and jobs that wait", ""),
    ];

    fn of(name: &str, values: &Values) -> Result<Self, String> {
        match name {
            "links" => return Ok(Plot::Links),
            "timeline" => return Ok(Plot::Timeline),
            _ => {}
        }
        Ok(Plot::Map(match (values.given(0), values.given(1)) {
            (None, None) => MapMoment::LastArrival,
            (Some(count), None) => MapMoment::Jobs(count as u64),
            (None, Some(at)) if values.has_unit(1) => MapMoment::Seconds(at),
            (None, Some(at)) => MapMoment::Time(at),
            (Some(_), Some(_)) => return Err("expected map:TIME or map:jobs=JOBS".to_owned()),
        }))
    }

    fn parts(&self) -> (Cow<'static, str>, Vec<Option<Value>>) {
        let moment = match *self {
            Plot::Map(MapMoment::Jobs(count)) => [Some(Value::Number(count as f64)), None],
            Plot::Map(MapMoment::Time(at)) => [None, Some(Value::Number(at))],
            Plot::Map(MapMoment::Seconds(at)) => [None, Some(Value::Seconds(at))],
            _ => [None, None],
        };
        (self.kind().into(), moment.into())
    }
}

impl FromStr for Plot {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        grammar::parse(text)
    }
}

impl fmt::Display for Plot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        grammar::print(self, f)
    }
}

impl Plot {
    /// The kind of picture, after which its file is named.
    pub const fn kind(self) -> &'static str {
        match self {
            Plot::Map(_) => "map",
            Plot::Links => "links",
            Plot::Timeline => "timeline",
        }
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
    /// The jobs, and the processors that they hold.
    pub snapshot: Snapshot,
}

impl Map {
    /// The situation on a controller, without a time.
    pub(crate) fn of_situation(situation: &Situation<'_>) -> Self {
        Map {
            strategy: situation.configuration.strategy,
            at: None,
            unit: TimeUnit::default(),
            snapshot: Snapshot::of_situation(situation),
        }
    }

    /// Three lines, short enough for two maps on a terminal: jobs, processors, the largest free
    /// block.
    pub fn caption(&self) -> [String; 3] {
        let snapshot = &self.snapshot;
        let mut first = format!(
            "{} running, {} waiting",
            snapshot.jobs.len(),
            snapshot.waiting
        );
        if let Some(at) = self.at {
            first = match self.unit {
                TimeUnit::Second => format!("{:.1} s: {first}", self.unit.of(at)),
                TimeUnit::Cycle => format!("cycle {at}: {first}"),
            };
        }
        let free = snapshot.free();
        let busy = 100.0 * (1.0 - free as f64 / f64::from(snapshot.plan.machine.nodes()));
        let mut second = format!("{busy:.1} % busy, {free} free");
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

/// A block as a request for it is written: `submesh: 4x2`, `subcube: 4x2`.
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

/// The maps of runs of an experiment at one moment; a run that has ended before is shown at its
/// end. An error when the moment never comes or is after the end of all runs.
pub fn maps(
    experiment: &Experiment,
    histories: &[History],
    moment: MapMoment,
) -> Result<Vec<Map>, String> {
    let unit = experiment.workload.time_unit();
    let time = match moment {
        MapMoment::LastArrival => None,
        MapMoment::Time(at) | MapMoment::Seconds(at) => Some(unit.ticks(at)),
        MapMoment::Jobs(count) => {
            let granted = histories.first().map(|first| {
                first.granted(count as usize).map_err(|granted| {
                    let strategy = first.strategy;
                    let jobs = counted(granted as u64, "job");
                    format!(
                        "{strategy}, replication 1: only {jobs} granted in the whole run (expected \
                         a number up to {granted})"
                    )
                })
            });
            granted.transpose()?
        }
    };
    let end = histories.iter().map(|history| history.end).max();
    if let Some(end) = end.filter(|&end| time > Some(end)) {
        return Err(format!(
            "the run ends at {} {}s (expected a time up to then)",
            unit.of(end),
            unit.name()
        ));
    }
    let last = experiment
        .measured(0)
        .map_err(|error| error.on_command_line())?;
    let last = last.needed().saturating_sub(1) as usize;
    let description = experiment.description.as_ref();
    let description = description.map(|description| &description.description);
    let plan = Plan::of(experiment.machine, description);
    let maps = histories.iter().map(|history| {
        let last = || history.jobs.get(last).map_or(0, |job| job.job.arrival);
        let scene = history.at(time.unwrap_or_else(last));
        Map {
            strategy: history.strategy,
            at: Some(scene.at),
            unit,
            snapshot: Snapshot::of(&scene, plan),
        }
    });
    Ok(maps.collect())
}

/// An error if runs of this experiment cannot give the picture, as far as this is known before
/// them.
pub(crate) fn check(plot: Plot, experiment: &Experiment) -> Result<(), String> {
    let unit = experiment.workload.time_unit();
    match plot {
        Plot::Map(MapMoment::Seconds(_)) if unit == TimeUnit::Cycle => Err(format!(
            "--draw {plot}: times are cycles with --pattern (expected a number without a unit)"
        )),
        Plot::Map(MapMoment::Jobs(count)) => {
            let measured = experiment.measured(0);
            let measured = measured.map_err(|error| error.on_command_line())?;
            match measured.needed() {
                jobs if count > jobs.into() => Err(format!(
                    "--draw {plot}: a run has {} (expected map:jobs=N, N from 1 to {jobs})",
                    counted(jobs, "job")
                )),
                _ => Ok(()),
            }
        }
        Plot::Links if experiment.workload.messages().is_none() => {
            Err("--draw links requires jobs that send messages (expected --pattern)".to_owned())
        }
        Plot::Links => LinkMap::check(experiment.machine),
        Plot::Map(_) | Plot::Timeline => Ok(()),
    }
}

/// How much the links carried in each run.
pub fn link_maps(histories: &[History]) -> Vec<LinkMap> {
    let maps = histories.iter().filter_map(|history| {
        let traffic = history.traffic.as_ref()?;
        let (cycles, flits) = (traffic.cycles.max(1) as f64, f64::from(traffic.flits));
        let links = traffic.links.iter();
        let links = links.map(|&(link, messages)| (link, messages as f64 * flits / cycles));
        let links: Vec<_> = links.collect();
        let mean = links.iter().map(|link| link.1).sum::<f64>() / links.len().max(1) as f64;
        Some(LinkMap {
            machine: history.machine,
            name: history.strategy.to_string(),
            caption: vec![
                format!("mean {mean:.4} flits a link and cycle"),
                counted(traffic.cycles, "cycle"),
            ],
            links,
        })
    });
    maps.collect()
}
