//! The same machine and the same requests under several strategies: [`Lab`].

use std::str::FromStr;

use meshalloc::{Flags, Grid, JobId, NODES_MAX, NodeId, Request, Shape, StrategyKind, Ticks};

use crate::boxes::DIMENSIONS_MAX;
use crate::picture::{Picture, node_at, node_text};
use crate::report::{PanelReport, Report};
use crate::rules::rule;
use crate::run::Run;
use crate::workload::{Arrival, Workload};

/// The most processors of a machine on the page.
pub const PROCESSORS_MAX: u32 = 1024;
/// The most strategies side by side.
pub const STRATEGIES_MAX: usize = 4;
/// The highest load, in percent.
pub const LOAD_MAX: u32 = 200;
/// How much time passes after a request, a release or a fault of the user, in ticks.
pub const STEP: Ticks = 1_000;
/// The run time of the user's jobs, in ticks.
pub const SERVICE: Ticks = 60_000;
/// The most time that one command lets pass, in ticks.
pub const ADVANCE_MAX: Ticks = 1_000_000;

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
    /// after [`SERVICE`].
    Request(String),
    /// Releases a job everywhere.
    Release(u32),
    /// Changes the processor in this column and row of the picture from working to faulty or back.
    Fault(usize, usize),
    /// Goes to the next arrival of a random job or end of any job.
    Step,
    /// Lets some time pass, in ticks.
    Advance(Ticks),
}

/// The forms of commands.
const FORMS: &str = "start LOAD SEED STRATEGY,.. MACHINE, load PERCENT, request SHAPE, \
                     release JOB, fault COLUMN ROW, step, advance TICKS";

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

/// A strategy by name, and its run if it serves the machine.
struct Panel {
    kind: StrategyKind,
    run: Result<Run, String>,
}

/// A machine under several strategies, which get the same requests.
pub struct Lab {
    machine: Grid,
    panels: Vec<Panel>,
    workload: Workload,
    now: Ticks,
    /// The number of the latest job.
    jobs: u32,
}

impl Lab {
    /// An empty machine. A strategy that does not serve it has no run.
    ///
    /// # Errors
    ///
    /// When there is no such machine or strategy, there are too many, or the load is too high.
    pub fn new(machine: &str, strategies: &[String], load: u32, seed: u32) -> Result<Self, String> {
        let grid: Grid = sides(machine)
            .parse()
            .map_err(|error| format!("machine \"{machine}\": {error}"))?;
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
        let panels = strategies.iter().map(|name| {
            let kind: StrategyKind = name
                .parse()
                .map_err(|error| format!("strategy \"{name}\": {error}"))?;
            let kind = kind.seeded(u64::from(seed).max(1));
            let run = Run::new(grid, kind)
                .map_err(|error| format!("{error}: {grid}, expected {}", kind.serves()));
            Ok(Panel { kind, run })
        });
        Ok(Lab {
            machine: grid,
            panels: panels.collect::<Result<_, String>>()?,
            workload: Workload::new(grid, load, seed).map_err(|error| error.to_string())?,
            now: 0,
            jobs: 0,
        })
    }

    /// Carries out a command. Returns what happened.
    ///
    /// # Errors
    ///
    /// When the command cannot be carried out. Then nothing has changed.
    pub fn carry_out(&mut self, command: &Command) -> Result<String, String> {
        let texts = |error: &dyn std::fmt::Display| error.to_string();
        match command {
            Command::Start {
                machine,
                strategies,
                load,
                seed,
            } => {
                *self = Lab::new(machine, strategies, *load, *seed)?;
                Ok(format!("{}, all processors free", self.machine))
            }
            &Command::Load(percent) => {
                check_load(percent)?;
                let set = self.workload.set_load(percent, self.now);
                set.map_err(|error| texts(&error))?;
                Ok(format!("load {percent} %"))
            }
            Command::Request(text) => {
                let shape: Shape = sides(text)
                    .parse()
                    .map_err(|error| format!("request \"{text}\": {error}"))?;
                let job = self.name_job();
                let arrival = Arrival {
                    at: self.now,
                    request: Request::new(shape).with_flags(Flags::NO_WAIT),
                    service: SERVICE,
                };
                for run in self.runs() {
                    run.arrive(job, &arrival);
                }
                self.advance(STEP)?;
                Ok(format!("job {job} asks for {shape}"))
            }
            &Command::Release(number) => {
                let (job, now) = (JobId(number), self.now);
                let view = |run: &mut Run| run.controller().jobs().find(job).is_some();
                if !self.runs().any(view) {
                    return Err(format!("no job {number} waits or runs"));
                }
                for run in self.runs() {
                    run.release(job, now);
                }
                self.advance(STEP)?;
                Ok(format!("job {number} is released"))
            }
            &Command::Fault(column, row) => {
                let node = node_at(&self.machine, column, row)
                    .ok_or_else(|| format!("no processor in column {column}, row {row}"))?;
                let now = self.now;
                let is_faulty = self.is_faulty(node);
                for run in self.runs() {
                    run.set_faulty(node, !is_faulty, now);
                }
                self.advance(STEP)?;
                let state = if is_faulty {
                    "works again"
                } else {
                    "is faulty"
                };
                Ok(format!("{} {state}", node_text(&self.machine, node)))
            }
            Command::Step => match self.next_event() {
                Some(at) => {
                    self.advance_to(at)?;
                    Ok(format!("at {}.{:03} s", at / 1000, at % 1000))
                }
                None => Err("nothing is due: no job runs and the load is 0".to_owned()),
            },
            &Command::Advance(ticks) if ticks <= ADVANCE_MAX => {
                self.advance(ticks)?;
                Ok(String::new())
            }
            Command::Advance(ticks) => {
                Err(format!("{ticks} ticks, expected at most {ADVANCE_MAX}"))
            }
        }
    }

    /// The strategies that serve the machine.
    fn runs(&mut self) -> impl Iterator<Item = &mut Run> {
        self.panels
            .iter_mut()
            .filter_map(|panel| panel.run.as_mut().ok())
    }

    /// The runs, for tests: `None` for a strategy that does not serve the machine.
    pub fn run(&self, place: usize) -> Option<&Run> {
        self.panels.get(place)?.run.as_ref().ok()
    }

    fn name_job(&mut self) -> JobId {
        self.jobs = self.jobs.wrapping_add(1);
        JobId(self.jobs)
    }

    fn is_faulty(&self, node: NodeId) -> bool {
        let mut runs = self
            .panels
            .iter()
            .filter_map(|panel| panel.run.as_ref().ok());
        runs.next()
            .is_some_and(|run| run.controller().occupancy().is_faulty(node))
    }

    /// When the next random job arrives or any job ends.
    fn next_event(&mut self) -> Option<Ticks> {
        let arrival = self.workload.next_at();
        self.runs()
            .filter_map(|run| run.next_end())
            .chain(arrival)
            .min()
    }

    fn advance(&mut self, ticks: Ticks) -> Result<(), String> {
        self.advance_to(self.now + ticks)
    }

    /// Lets time pass, with all that happens up to then. At the same time, jobs end before others
    /// arrive.
    fn advance_to(&mut self, until: Ticks) -> Result<(), String> {
        while let Some(at) = self.next_event().filter(|&at| at <= until) {
            self.pass(at);
            for run in self.runs() {
                run.end_jobs(at);
            }
            while self.workload.next_at() == Some(at) {
                let taken = self.workload.take().map_err(|error| error.to_string())?;
                let job = self.name_job();
                for (run, arrival) in self.runs().zip(taken.iter().cycle()) {
                    run.arrive(job, arrival);
                }
            }
        }
        self.pass(until);
        Ok(())
    }

    fn pass(&mut self, until: Ticks) {
        let ticks = until - self.now;
        for run in self.runs() {
            run.pass(ticks);
        }
        self.now = until;
    }

    /// The whole state, with what a command did.
    pub(crate) fn report(&mut self, message: String) -> Report {
        let serves = |kind: &StrategyKind| kind.serves().includes(&self.machine);
        let choices = StrategyKind::built().filter(serves).map(StrategyKind::name);
        let choices = choices.collect();
        let [w, h] = [0, 1].map(|at| self.machine.sides().get(at).map_or(1, |&side| side.into()));
        let nodes = (0..self.machine.nodes()).map(NodeId);
        let faulty = nodes
            .filter(|&node| self.is_faulty(node))
            .map(|NodeId(node)| {
                let node = node as usize;
                [node / (w * h) * w + node % w, node / w % h]
            });
        let faulty = faulty.collect();
        let (points, end) = self.runs().next().map_or((0, 0), |run| run.history().end());
        let panels = self.panels.iter_mut().map(|panel| {
            let name = panel.kind.name().to_owned();
            let rule = rule(panel.kind);
            match &mut panel.run {
                Ok(run) => PanelReport {
                    name,
                    rule,
                    run: Some(run.report()),
                    error: None,
                },
                Err(error) => PanelReport {
                    name,
                    rule,
                    run: None,
                    error: Some(error.clone()),
                },
            }
        });
        Report {
            machine: self.machine.to_string(),
            nodes: self.machine.nodes(),
            picture: Picture::new(&self.machine),
            choices,
            now: self.now,
            points,
            end,
            faulty,
            latest: (self.jobs > 0).then_some(self.jobs),
            message,
            panels: panels.collect(),
        }
    }
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
