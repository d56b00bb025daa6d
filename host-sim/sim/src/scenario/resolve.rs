//! A scenario with its defaults filled in: [`Resolved`], which is run and which a result records.

use std::path::{Path, PathBuf};

use meshalloc::{Grid, NODES_MAX, SchedulerKind, Shape, StrategyKind};
use serde::Deserialize;

use super::needs;
use super::origin::Origin;
use super::table::{BackendChoice, Measured, Scenario};
use crate::error::SettingError;
use crate::experiment::{Experiment, Measure, Replications, WARMUP_FRACTION};
use crate::failures::Failures;
use crate::machine::Described;
use crate::metrics::SLOWDOWN_THRESHOLD;
use crate::names;
use crate::preemption::{Preempting, PreemptionRule};
use crate::simulation::Switches;
use crate::statistics::NOT_NARROWED;
use crate::wording::{any_of, counted};
use crate::workload::{
    EstimateModel, Log, LogMessages, LogOptions, Messages, MixError, MixSource,
    ServiceDistribution, ShapeRule, SharedLogs, Synthetic, TimeUnit, Workload,
};

mod jobs;
mod machine;

pub use jobs::{BATCH_DEFAULT, BATCH_SERVICE_DEFAULT, LOAD_DEFAULT, SERVICE_MEAN_DEFAULT};
pub use machine::{MESH_DEFAULT, serves};

/// Jobs in one replication.
pub const JOBS_DEFAULT: u32 = 40_000;
/// The same for jobs that send messages: the number in the thesis on neighbour allocation.
pub const JOBS_OF_MESSAGES_DEFAULT: u32 = 1_000;
/// Replications of a scenario that names neither a number nor an error.
pub const REPLICATIONS_DEFAULT: u32 = 10;
/// The cap if replications go on until an error is reached.
pub const REPLICATIONS_MAX_DEFAULT: u32 = 100;
/// The seed of a scenario that names none.
pub const SEED_DEFAULT: u64 = 1;

/// A scenario with its defaults filled in.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// All settings that have an effect, which results record.
    pub settings: Scenario,
    /// The experiment to run. A log in it has no jobs yet: [`Resolved::experiment`] reads them.
    pub plan: Experiment,
    /// Whether the scenario names a machine: a log does not run on the default one.
    is_machine_named: bool,
    /// Where its options were given.
    pub(super) origin: Origin,
}

/// The parts of a scenario that serve jobs.
#[derive(Clone, Debug)]
pub struct Controlled {
    /// The machine.
    pub machine: Grid,
    /// Its description, if only certain slices are given.
    pub description: Option<Described>,
    /// The strategies, each once.
    pub strategies: Vec<StrategyKind>,
    /// The scheduler; times in it are seconds.
    pub scheduler: SchedulerKind,
    /// Where the controller is.
    pub backend: BackendChoice,
}

impl Resolved {
    /// The files that it reads, with the options that name them.
    pub fn files(&self) -> Vec<(&'static str, &Path)> {
        self.settings.files()
    }

    /// Where the controller is.
    pub fn backend(&self) -> BackendChoice {
        self.settings.backend.clone().unwrap_or_default()
    }

    /// The error with the place of its settings.
    pub fn place(&self, error: &SettingError) -> String {
        self.origin.place(error)
    }

    /// The experiment. Its log, if there is one, comes from `logs`.
    ///
    /// # Errors
    ///
    /// When the log cannot be read, or the distributions or the conditions cannot be used: one
    /// line, with the place in the scenario's file if there is one.
    pub fn experiment(&self, logs: &SharedLogs) -> Result<Experiment, String> {
        let experiment = self.read(logs);
        experiment.map_err(|error| self.origin.place(&error))
    }

    fn read(&self, logs: &SharedLogs) -> Result<Experiment, SettingError> {
        let read = self.plan.read(|log| logs.fill(log));
        let experiment = read.map_err(|(option, error)| match error {
            MixError::NeverPlaced { mix, count, shapes } => self.never_placed(&mix, count, &shapes),
            other => SettingError::unquoted(&[option], &other),
        })?;
        match &experiment.workload {
            Workload::Synthetic(workload) => {
                let _ = workload.jobs(experiment.seed, 0)?;
            }
            Workload::Log(log) => {
                let option = "log";
                if !self.is_machine_named {
                    return Err(unnamed_machine(log));
                }
                let fits = log.check_fits();
                fits.map_err(|error| SettingError::unquoted(&[option], &error))?;
                let usable = log.jobs(experiment.seed, 0).map(|_| ());
                let path = log.path.display();
                usable.map_err(|error| error.of_file(option, &path))?;
            }
        }
        if experiment.preemption.is_some() && !experiment.workload.has_victims() {
            return Err(SettingError::new(
                &["preemption"],
                "`preemption` requires a preemptible job and one of a higher priority (expected \
                 columns `preemptible` and `priority` in a mix or a trace)",
            ));
        }
        experiment.conditions(0)?;
        Ok(experiment)
    }
}

impl Resolved {
    /// The error about shapes of a mix that are never placed. A machine with a description may give
    /// them to other strategies.
    fn never_placed(&self, mix: &str, count: usize, shapes: &str) -> SettingError {
        let by = match self.plan.description {
            Some(_) => {
                let names = self.plan.strategies.iter().map(|it| it.name());
                format!(" by {}", any_of(names))
            }
            None => String::new(),
        };
        let them = if count == 1 { "it" } else { "them" };
        let reason = format!(
            "{} (`mix`): {} can never be placed{by} on this machine ({shapes}; expected another \
             machine, or `mix-drop`, which leaves {them} out)",
            mix.replace('`', "'"),
            counted(count, "shape"),
        );
        SettingError::new(&["mix"], reason)
    }
}

fn unnamed_machine(log: &Log) -> SettingError {
    let path = log.path.display().to_string().replace('`', "'");
    let reason = format!(
        "{path}: no machine given, and {} (expected `mesh`, `torus` or `machine`{})",
        log.processors_text(),
        match log.fitting_mesh() {
            Some(sides) => format!(", such as `mesh` {sides}"),
            None => format!("; machines have up to {NODES_MAX} processors"),
        }
    );
    SettingError::new(&["log"], reason)
}

impl Scenario {
    /// Fills in the defaults.
    ///
    /// # Errors
    ///
    /// When settings need others that were not given, contradict each other, or do not go with the
    /// machine.
    pub fn resolve(&self) -> Result<Resolved, SettingError> {
        self.check_contradictions()?;
        self.check_replications()?;
        needs::check(self)?;
        let mut settings = self.clone();
        let Controlled {
            machine,
            description,
            strategies,
            scheduler,
            ..
        } = settings.control()?;
        let messages = settings.messages();
        let absent = description.as_ref();
        let absent = absent.map_or(0, |it| it.description.absent_processors());
        let file = settings.log_file().map(|(_, file)| file.to_owned());
        let (workload, jobs, measure, replications) = match file {
            Some(file) => {
                let log = settings.log(file, machine, messages)?;
                let replications = match log.resample {
                    Some(_) => settings.replications()?,
                    None => Replications::Fixed(1),
                };
                let workload = Workload::Log(Log { absent, ..log });
                (workload, JOBS_DEFAULT, Measure::Departures, replications)
            }
            None => {
                let workload = settings.synthetic(machine, description.as_ref(), messages)?;
                let workload = Synthetic { absent, ..workload };
                let measure = settings.measure(&workload)?;
                let replications = settings.replications()?;
                let is_closed = workload.arrivals.batch().is_some();
                let jobs = match messages {
                    Some(_) => JOBS_OF_MESSAGES_DEFAULT,
                    None => JOBS_DEFAULT,
                };
                let jobs = if is_closed {
                    jobs
                } else {
                    *settings.jobs.get_or_insert(jobs)
                };
                (Workload::Synthetic(workload), jobs, measure, replications)
            }
        };
        if workload.time_unit() == TimeUnit::Cycle {
            self.check_units("cycles with `pattern`")?;
        }
        let threshold = settings.slowdown_threshold;
        let cube = description.as_ref().and_then(|it| it.description.cube());
        let cube = cube.and_then(|sides| Shape::new(sides).ok());
        let failures = settings.failures(machine, cube)?;
        let preemption = settings.preemption(failures.as_ref())?;
        let switches = Switches::deserialize(settings.record());
        let switches = switches.expect("a switch is recorded as true or false");
        if switches.kill_at_estimate && workload.estimates() == EstimateModel::None {
            return Err(SettingError::new(
                &["kill-at-estimate", "estimates"],
                "`kill-at-estimate` requires jobs with estimates, and `estimates` is none",
            ));
        }
        let plan = Experiment {
            machine,
            description,
            strategies,
            scheduler: names::scheduler_in(scheduler, workload.time_unit()),
            workload,
            jobs,
            measure,
            backlog: settings.backlog,
            failures,
            switches,
            preemption,
            slowdown_threshold: threshold.unwrap_or(SLOWDOWN_THRESHOLD),
            replications,
            seed: *settings.seed.get_or_insert(SEED_DEFAULT),
        };
        settings.slowdown_threshold = Some(plan.slowdown_threshold);
        Ok(Resolved {
            is_machine_named: self.is_machine_named(),
            settings,
            plan,
            origin: Origin::default(),
        })
    }

    /// Machine, strategies, scheduler and controller alone, for jobs that come from elsewhere. The
    /// times of these jobs are not seconds: `times` says what they are.
    ///
    /// # Errors
    ///
    /// When settings contradict each other, a strategy does not serve the machine, or a time has a
    /// unit.
    pub fn controlled(&self, times: &str) -> Result<Controlled, SettingError> {
        self.check_contradictions()?;
        self.check_units(times)?;
        self.clone().control()
    }

    fn control(&mut self) -> Result<Controlled, SettingError> {
        let description = self.description()?;
        let machine = self.grid(description.as_ref())?;
        self.check_cube(machine)?;
        self.name_machine(machine);
        Ok(Controlled {
            machine,
            strategies: self.strategies(machine, description.as_ref())?,
            description,
            scheduler: *self.scheduler.get_or_insert(SchedulerKind::Fcfs),
            backend: self.backend.get_or_insert_default().clone(),
        })
    }

    /// Like [`resolve`](Self::resolve), for settings from this origin, which errors name.
    pub fn resolve_of(&self, origin: Origin) -> Result<Resolved, String> {
        match self.resolve() {
            Ok(resolved) => Ok(Resolved { origin, ..resolved }),
            Err(error) => Err(origin.place(&error)),
        }
    }

    /// The log that the scenario reads, if it reads one, and the option that names it.
    pub fn log_file(&self) -> Option<(&'static str, &Path)> {
        Some(("log", self.log.as_deref()?))
    }

    /// All files that the scenario reads, with the options that name them.
    pub fn files(&self) -> Vec<(&'static str, &Path)> {
        let mix = match &self.mix {
            Some(MixSource::File(file)) => Some(("mix", &**file)),
            _ => None,
        };
        let service = match &self.service {
            Some(ServiceDistribution::Empirical(times)) => Some(("service", times.path())),
            _ => None,
        };
        let gaps = self.interarrival.as_ref();
        let gaps = gaps.map(|gaps| ("interarrival", gaps.path()));
        let failures = self.failures.as_ref();
        let failures = failures.and_then(|failures| Some(("failures", failures.path()?)));
        let machine = self.machine.as_ref();
        let machine = machine.and_then(|machine| Some(("machine", machine.path()?)));
        let files = [self.log_file(), mix, service, gaps, machine, failures];
        files.into_iter().flatten().collect()
    }

    /// Checks that a log is repeated only in a way that is possible.
    fn check_replications(&self) -> Result<(), SettingError> {
        let Some((option, file)) = self.log_file() else {
            return Ok(());
        };
        let of_errors = ["until-rel-error", "until-abs-error", "max-replications"];
        if let Some((key, _)) = self.first_of(&of_errors) {
            let reason = format!(
                "`{key}` requires independent replications, which `{option}` does not have: {NOT_NARROWED} \
                 (expected `replications` and `resample` weeks instead)"
            );
            return Err(SettingError::new(&[key, option], reason));
        }
        if self.replications.is_some() && self.resample.is_none() {
            // A file that is missing is the greater mistake.
            if let Err(error) = std::fs::metadata(file)
                && file != Path::new("-")
            {
                let reason = format!("{}: {error}", file.display());
                return Err(SettingError::unquoted(&[option], &reason));
            }
            let reason = format!("`replications` with `{option}` requires `resample` weeks");
            return Err(SettingError::new(&["replications", option], reason));
        }
        Ok(())
    }

    fn log(
        &mut self,
        file: PathBuf,
        machine: Grid,
        messages: Option<Messages>,
    ) -> Result<Log, SettingError> {
        let (default, has_service) = match messages {
            None => (EstimateModel::Log, true),
            Some(_) => (EstimateModel::None, false),
        };
        let options = LogOptions {
            limit: self.jobs.map(|jobs| jobs as usize),
            shape: self.shape(machine)?,
            ..self.window(machine)?
        };
        let estimates = *self.estimates.get_or_insert(default);
        estimates.check(has_service, true)?;
        let sent = messages.map(|messages| LogMessages {
            messages,
            seconds_per_iteration: self.iteration_seconds,
            cycles_per_second: *self.cycles_per_second.get_or_insert(1.0),
        });
        if self.iteration_seconds.is_some() {
            self.iterations = None;
        }
        Ok(Log {
            load: self.log_load,
            resample: self.resample,
            messages: sent,
            estimates,
            ..Log::unread(file, options, machine)
        })
    }

    /// Which jobs of a log are taken, near-square or near-cubic; an error when the window is empty.
    pub fn window(&self, machine: Grid) -> Result<LogOptions, SettingError> {
        if let (Some(from), Some(to)) = (self.from, self.to)
            && to <= from
        {
            let [from, to] = [from, to].map(names::span_text);
            let reason = format!("`to` is {to}, not after `from`, {from} (expected a later time)");
            return Err(SettingError::new(&["to", "from"], reason));
        }
        Ok(LogOptions {
            columns: self.columns.clone(),
            processors_per_node: self.processors_per_node,
            partition: self.partition,
            from: self.from,
            to: self.to,
            limit: None,
            shape: ShapeRule::of(&machine),
            strict: self.strict.unwrap_or(false),
        })
    }

    /// What fails, if anything does; `cube` has the sides of the machine's cubes, if it has any.
    fn failures(
        &mut self,
        machine: Grid,
        cube: Option<Shape>,
    ) -> Result<Option<Failures>, SettingError> {
        let Some(source) = self.failures.clone() else {
            return Ok(None);
        };
        let failures = Failures {
            machine,
            cube,
            source,
            restart: *self.restart.get_or_insert_default(),
            checkpoint: self.checkpoint,
        };
        failures.check()?;
        let is_line = matches!(self.backend, Some(BackendChoice::Line(_)));
        if is_line && failures.restart.requeues() {
            return Err(SettingError::new(
                &["restart", "backend"],
                format!(
                    "`restart` {} requires `backend` in-process (expected elsewhere:last, \
                     in-place or spare)",
                    failures.restart
                ),
            ));
        }
        Ok(Some(failures))
    }

    /// Whether jobs make room for others.
    fn preemption(&self, failures: Option<&Failures>) -> Result<Option<Preempting>, SettingError> {
        let Some(PreemptionRule::On { grace }) = self.preemption else {
            return Ok(None);
        };
        if let Some(Failures { restart, .. }) = failures.filter(|it| it.restart.keeps()) {
            return Err(SettingError::new(
                &["preemption", "restart"],
                format!(
                    "`preemption` contradicts `restart` {restart} (expected elsewhere, \
                     elsewhere:last or replace)"
                ),
            ));
        }
        let checkpoint = self.checkpoint;
        Ok(Some(Preempting { grace, checkpoint }))
    }

    /// Which jobs of a synthetic workload are measured; all jobs are that are there at time 0.
    fn measure(&mut self, workload: &Synthetic) -> Result<Measure, SettingError> {
        let default = Measure::of(workload);
        if workload.arrivals.batch().is_some() {
            return Ok(default);
        }
        let measured = *self.measure.get_or_insert(match default {
            Measure::Arrivals { .. } => Measured::Arrivals,
            Measure::Departures => Measured::Departures,
        });
        match (measured, self.warmup) {
            (Measured::Arrivals, _) => Ok(Measure::Arrivals {
                warmup_fraction: *self.warmup.get_or_insert(WARMUP_FRACTION),
            }),
            (Measured::Departures, None) => Ok(Measure::Departures),
            (Measured::Departures, Some(_)) => Err(SettingError::new(
                &["warmup", "measure"],
                "`warmup` requires `measure` arrivals",
            )),
        }
    }

    fn replications(&mut self) -> Result<Replications, SettingError> {
        let most = &mut self.max_replications;
        let mut max = || *most.get_or_insert(REPLICATIONS_MAX_DEFAULT);
        Ok(match (self.until_rel_error, self.until_abs_error) {
            (Some(target), _) => Replications::UntilRelativeError { target, max: max() },
            (None, Some(target)) => Replications::UntilAbsoluteError { target, max: max() },
            (None, None) => {
                Replications::Fixed(*self.replications.get_or_insert(REPLICATIONS_DEFAULT))
            }
        })
    }
}

#[cfg(test)]
mod tests;
