//! The same machine and the same requests under several strategies: [`Lab`].

use std::fmt::Display;
use std::str::FromStr;

use meshalloc::{Flags, Grid, NODES_MAX, NodeId, Request, Shape, Slices, StrategyKind, Ticks};
use meshalloc_sim::layout::{Layout, ONE_ROW, Picture};
use meshalloc_sim::names;
use meshalloc_sim::workload::Jobs;

use crate::boxes::DIMENSIONS_MAX;
use crate::panel::{Panel, shown};
use crate::report::{Means, PanelReport, Report, Results};
use crate::rules::rule;
use crate::settings::{SECOND, Settings};

/// The most processors of a machine on the page.
pub const PROCESSORS_MAX: u32 = 1024;
/// The most strategies side by side.
pub const STRATEGIES_MAX: usize = 4;
/// The highest load, in percent.
pub const LOAD_MAX: u32 = 200;
/// How much time passes after a request, a release or a fault of the user, in ticks.
const STEP: Ticks = SECOND;
/// The run time of the user's jobs, in ticks.
const SERVICE: Ticks = 60 * SECOND;
/// A millisecond, in ticks.
const MILLISECOND: Ticks = SECOND / 1000;
/// The most time that one command lets pass, in milliseconds.
pub const ADVANCE_MAX: u64 = 1_000_000;

const _: () = assert!(PROCESSORS_MAX <= NODES_MAX);

/// What the user does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Begins with an empty machine.
    Start {
        /// Such as `mesh 16x16`.
        machine: String,
        /// Their names, with or without parameters.
        strategies: Vec<String>,
        /// The load of random jobs, in percent; 0 for none.
        load: u32,
        /// Determines the random jobs and the choices of random strategies.
        seed: u32,
    },
    /// Another load from now on.
    Load(u32),
    /// Asks every strategy for processors of a shape, such as `4x3`, now or never. The job ends
    /// after `SERVICE`.
    Request(String),
    /// Releases a job everywhere.
    Release(u32),
    /// Changes the processor in this column and row of the picture from working to faulty or back.
    Fault(usize, usize),
    /// Goes to the next arrival of a random job or end of any job.
    Step,
    /// Lets some time pass, in milliseconds.
    Advance(u64),
}

/// The forms of commands.
const FORMS: &str = "start LOAD SEED STRATEGY,.. MACHINE, load PERCENT, request SHAPE, \
                     release JOB, fault COLUMN ROW, step, advance MILLISECONDS";

/// A name and words behind it: `start 70 1 first-fit,naive mesh 16x16`, `request 4x3`.
impl FromStr for Command {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        fn number<T: FromStr>(word: Option<&str>) -> Option<T> {
            word?.parse().ok()
        }
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        let mut words = rest.splitn(4, ' ');
        let mut next = || words.next();
        let command = (|| {
            Some(match name {
                "start" => Command::Start {
                    load: number(next())?,
                    seed: number(next())?,
                    strategies: next()?.split(',').map(str::to_owned).collect(),
                    machine: next()?.to_owned(),
                },
                "load" => Command::Load(number(next())?),
                "request" => Command::Request(rest.to_owned()),
                "release" => Command::Release(number(next())?),
                "fault" => Command::Fault(number(next())?, number(next())?),
                "step" => Command::Step,
                "advance" => Command::Advance(number(next())?),
                _ => return None,
            })
        })();
        command.ok_or_else(|| format!("command \"{text}\", expected one of: {FORMS}"))
    }
}

/// A strategy, and its panel if it serves the machine.
struct Place {
    /// As it was asked for.
    name: String,
    kind: StrategyKind,
    panel: Result<Panel, String>,
}

/// A machine under several strategies, which get the same requests.
pub struct Lab {
    settings: Settings,
    layout: Layout,
    places: Vec<Place>,
    now: Ticks,
    /// The processors that are faulty.
    faulty: Vec<NodeId>,
    /// How often the load was changed.
    loads: u32,
    /// Whether the user has asked for, released or broken something, or changed the load.
    is_touched: bool,
}

impl Lab {
    /// An empty machine. A strategy that does not serve it has no panel.
    ///
    /// # Errors
    ///
    /// When there is no such machine or strategy, there are too many, or the load is too high.
    pub fn new(machine: &str, strategies: &[String], load: u32, seed: u32) -> Result<Self, String> {
        let grid: Grid = sides(machine)
            .parse()
            .map_err(|error| format!("machine \"{machine}\": {error}"))?;
        if grid.is_written_high_first() {
            return Err(format!("machine \"{machine}\", expected a mesh or torus"));
        }
        if grid.nodes() > PROCESSORS_MAX || grid.dimensions() > DIMENSIONS_MAX {
            return Err(format!(
                "machine \"{machine}\": {} processors in {} dimensions, expected at most \
                 {PROCESSORS_MAX} in at most {DIMENSIONS_MAX}",
                grid.nodes(),
                grid.dimensions()
            ));
        }
        if !(1..=STRATEGIES_MAX).contains(&strategies.len()) {
            let count = strategies.len();
            return Err(format!(
                "{count} strategies, expected 1 to {STRATEGIES_MAX}"
            ));
        }
        check_load(load)?;
        let settings = Settings {
            machine: grid,
            load,
            seed,
        };
        let places = strategies.iter().map(|name| {
            let kind: StrategyKind = name
                .parse()
                .map_err(|error| format!("strategy \"{name}\": {error}"))?;
            Ok(Place {
                name: name.clone(),
                kind,
                panel: Panel::new(&settings, kind),
            })
        });
        Ok(Lab {
            settings,
            layout: Layout::new(grid, ONE_ROW, 1),
            places: places.collect::<Result<_, String>>()?,
            now: 0,
            faulty: Vec::new(),
            loads: 0,
            is_touched: false,
        })
    }

    /// Carries out a command. Returns what happened.
    ///
    /// # Errors
    ///
    /// When the command cannot be carried out. Then nothing has changed.
    pub fn carry_out(&mut self, command: &Command) -> Result<String, String> {
        match command {
            Command::Start {
                machine,
                strategies,
                load,
                seed,
            } => {
                *self = Lab::new(machine, strategies, *load, *seed)?;
                Ok(format!("{}, all processors free", self.settings.machine))
            }
            &Command::Load(percent) => {
                check_load(percent)?;
                self.set_load(percent)?;
                Ok(format!("load {percent} %"))
            }
            Command::Request(text) => {
                let lower = text.trim().to_ascii_lowercase();
                let wrong = |error: &dyn Display| format!("request \"{text}\": {error}");
                let (slices, extents) = Slices::split(&lower).map_err(|error| wrong(&error))?;
                let shape = sides(extents).parse();
                let shape: Shape = shape.map_err(|error| wrong(&error))?;
                let request = Request::new(shape).with_slices(slices);
                let request = request.with_flags(Flags::NO_WAIT);
                let job = shown(self.arrived());
                for panel in self.panels() {
                    panel.submit(request.with_estimate(SERVICE), SERVICE)?;
                }
                self.touch()?;
                Ok(format!("job {job} asks for {request}"))
            }
            &Command::Release(job) => {
                let is_there = |number: &u32| self.panels().any(|panel| panel.has(*number));
                let number = job.checked_sub(1).filter(is_there);
                let number = number.ok_or_else(|| format!("no job {job} waits or runs"))?;
                for panel in self.panels() {
                    panel.release(number)?;
                }
                self.touch()?;
                Ok(format!("job {job} is released"))
            }
            &Command::Fault(column, row) => {
                let machine = self.settings.machine;
                let none = || format!("no processor in column {column}, row {row}");
                let node = self.layout.node(column, row).ok_or_else(none)?;
                let unit = machine.unit(node).ok_or_else(none)?;
                let was_faulty = self.faulty.contains(&node);
                for panel in self.panels() {
                    panel.set_faulty(unit, !was_faulty)?;
                }
                if was_faulty {
                    self.faulty.retain(|&other| other != node);
                } else {
                    self.faulty.push(node);
                    self.faulty.sort_unstable();
                }
                self.touch()?;
                let state = if was_faulty {
                    "works again"
                } else {
                    "is faulty"
                };
                Ok(format!("{} {state}", node_text(&machine, node)))
            }
            Command::Step => match self.next_event() {
                Some(at) => {
                    self.advance_to(at)?;
                    Ok(format!("at {:.3} s", at as f64 / SECOND as f64))
                }
                None => Err("nothing is due: no job runs and the load is 0".to_owned()),
            },
            &Command::Advance(time) if time <= ADVANCE_MAX => {
                self.advance_to(self.now + time * MILLISECOND)?;
                Ok(String::new())
            }
            Command::Advance(time) => Err(format!(
                "{time} milliseconds, expected at most {ADVANCE_MAX}"
            )),
        }
    }

    /// The panels of the strategies that serve the machine.
    fn panels(&mut self) -> impl Iterator<Item = &mut Panel> {
        self.places
            .iter_mut()
            .filter_map(|place| place.panel.as_mut().ok())
    }

    /// The panel at a place, for tests: `None` for a strategy that does not serve the machine.
    pub fn panel(&self, place: usize) -> Option<&Panel> {
        self.places.get(place)?.panel.as_ref().ok()
    }

    /// The jobs that have arrived, the same everywhere.
    fn arrived(&mut self) -> u32 {
        self.panels().next().map_or(0, |panel| panel.arrived())
    }

    /// Random jobs arrive at another load from now on. At the beginning this is a new beginning.
    fn set_load(&mut self, load: u32) -> Result<(), String> {
        self.settings.load = load;
        if self.now == 0 && !self.is_touched {
            let settings = self.settings;
            for place in &mut self.places {
                place.panel = Panel::new(&settings, place.kind);
            }
            return Ok(());
        }
        self.loads += 1;
        self.is_touched = true;
        let (settings, loads, now) = (self.settings, self.loads, self.now);
        for panel in self.panels() {
            let jobs = settings.jobs(loads).map_err(|error| error.to_string())?;
            let jobs: Jobs<'static> = Box::new(jobs.map(move |mut job| {
                job.arrival += now;
                job
            }));
            panel.replace_jobs(jobs);
        }
        Ok(())
    }

    /// The user has changed something, which takes time.
    fn touch(&mut self) -> Result<(), String> {
        self.is_touched = true;
        self.advance_to(self.now + STEP)
    }

    /// When the next random job arrives or any job ends.
    fn next_event(&mut self) -> Option<Ticks> {
        self.panels().filter_map(Panel::next_at).min()
    }

    /// Lets time pass, with all that happens up to then.
    fn advance_to(&mut self, until: Ticks) -> Result<(), String> {
        let now = self.now;
        for panel in self.panels() {
            panel.advance(now, until)?;
        }
        self.now = until;
        Ok(())
    }

    /// The results of as many jobs as have left everywhere.
    fn results(&mut self) -> Option<Results> {
        if self.is_touched {
            return None;
        }
        let ends = self.panels().map(|panel| panel.results().iter());
        let most = ends.map(|results| results.map(|&(jobs, _)| jobs).max());
        let jobs = most.min().flatten()?;
        let of = |place: &Place| {
            let panel = place.panel.as_ref().ok()?;
            let (_, result) = panel.results().iter().find(|result| result.0 == jobs)?;
            Some(Means::from(&result.values))
        };
        let means: Vec<Option<Means>> = self.places.iter().map(of).collect();
        let served = self.places.iter().filter(|place| place.panel.is_ok());
        let mut names: Vec<&str> = Vec::new();
        for place in served {
            if !names.contains(&&*place.name) {
                names.push(&place.name);
            }
        }
        Some(Results {
            jobs,
            means,
            command: self.settings.command(&names, jobs),
        })
    }

    /// The whole state, with what a command did.
    pub(crate) fn report(&mut self, message: String) -> Report {
        let machine = self.settings.machine;
        let serves = |kind: &StrategyKind| kind.serves().includes(&machine);
        let choices = StrategyKind::built().filter(serves).map(StrategyKind::name);
        let choices = choices.collect();
        let faulty = self.faulty.iter().map(|&node| {
            let (column, row) = self.layout.place(node);
            [column, row]
        });
        let faulty = faulty.collect();
        let ends = self.panels().next();
        let (points, end) = ends.map_or((0, 0), |panel| panel.history().end());
        let (results, arrived) = (self.results(), self.arrived());
        let layout = &self.layout;
        let panels = self.places.iter_mut().map(|place| {
            let (run, error) = match &mut place.panel {
                Ok(panel) => (Some(panel.report(layout)), None),
                Err(error) => (None, Some(error.clone())),
            };
            PanelReport {
                name: place.kind.name().to_owned(),
                rule: rule(place.kind),
                run,
                error,
            }
        });
        Report {
            machine: machine.to_string(),
            nodes: machine.nodes(),
            picture: Picture::from(layout),
            choices,
            now: self.now,
            points,
            end,
            faulty,
            latest: (arrived > 0).then_some(arrived),
            is_repeatable: !self.is_touched,
            results,
            message,
            panels: panels.collect(),
        }
    }
}

/// The coordinates of a processor as text.
fn node_text(grid: &Grid, node: NodeId) -> String {
    let coordinates = grid.coordinates(node);
    let numbered = coordinates.iter().flat_map(|at| at.iter()).enumerate();
    let texts = numbered.map(|(number, at)| format!("{} = {at}", names::dimension(*grid, number)));
    texts.collect::<Vec<_>>().join(", ")
}

/// The text in the form in which the core reads sides: `4 X 3` is `4x3`.
fn sides(text: &str) -> String {
    let text = text.to_ascii_lowercase();
    let parts: Vec<_> = text.split('x').map(str::trim).collect();
    parts.join("x")
}

fn check_load(load: u32) -> Result<(), String> {
    if load <= LOAD_MAX {
        Ok(())
    } else {
        Err(format!("load {load} %, expected at most {LOAD_MAX} %"))
    }
}
