//! Scenarios that are simulated: `meshalloc.Scenario` is made of these functions.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use meshalloc::{Configuration, Description, StrategyKind};
use meshalloc_sim::backend::own::{self, Queued, StrategyBackends};
use meshalloc_sim::backend::{Backend, BackendError, Backends, InProcessBackends, PolicyBackends};
use meshalloc_sim::experiment::{self, Experiment, ExperimentError, Progress};
use meshalloc_sim::names;
use meshalloc_sim::scenario::{
    self, BackendChoice, Entry, Foreign, Form, Place, Resolved, Results, RunError, SETTINGS,
    Scenario, Setting, SettingError, StudyPoint,
};
use meshalloc_sim::simulation::SimulationError;
use meshalloc_sim::workload::{SharedLogs, TimeUnit};
use pyo3::prelude::*;

use crate::convert;
use crate::errors::{self, ScenarioError};
use crate::own::{OwnScheduler, OwnStrategy, Shared};
use crate::records::{Recording, Table};

/// How often a run looks for Ctrl-C, and calls the function for progress.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A text about settings in words of Python: underscores in names, no dashes before them.
fn in_python(text: &str) -> String {
    let mut words = text.to_owned();
    // Longer names first: `log` contains `jobs`.
    let mut all: Vec<_> = SETTINGS.iter().collect();
    all.sort_by_key(|setting| std::cmp::Reverse(setting.key.len()));
    for setting in all {
        words = words.replace(&format!("--{}", setting.key), setting.name);
        words = words.replace(
            &format!("`{}`", setting.key),
            &format!("`{}`", setting.name),
        );
    }
    words
}

fn scenario_error(error: &SettingError) -> PyErr {
    ScenarioError::new_err(in_python(&error.to_string()))
}

/// The settings by their names in Python.
fn scenario(settings: Vec<(String, String)>) -> PyResult<Resolved> {
    let mut scenario = Scenario::default();
    for (name, value) in settings {
        let setting = setting(&name)?;
        scenario
            .set(setting.key, value)
            .map_err(|error| scenario_error(&error))?;
    }
    let resolved = scenario.resolve().map_err(|error| scenario_error(&error))?;
    if let BackendChoice::Line(endpoint) = resolved.backend() {
        let text = format!("`backend` is {endpoint} (expected in-process; host-sim has lines)");
        return Err(ScenarioError::new_err(text));
    }
    Ok(resolved)
}

/// The setting with this name in Python.
fn setting(name: &str) -> PyResult<&'static Setting> {
    let mut all = SETTINGS.iter();
    all.find(|setting| setting.name == name).ok_or_else(|| {
        let names = || SETTINGS.iter().map(|setting| setting.name);
        ScenarioError::new_err(match names::nearest(name, names()) {
            Some(near) => format!("unknown setting {name:?}; did you mean {near:?}?"),
            None => format!("unknown setting {name:?} (`settings()` lists them)"),
        })
    })
}

/// What the values of a setting look like in Python: a form, and the name of its values.
#[pyfunction]
pub(crate) fn form(name: &str) -> PyResult<(&'static str, &'static str)> {
    let setting = setting(name)?;
    let form = match setting.form {
        Form::Text => "text",
        Form::Number => "number",
        Form::List => "list",
        Form::File => "file",
        Form::NameOrFile => "named",
        Form::Switch => "switch",
    };
    Ok((form, setting.value_name))
}

/// The settings with their defaults, as JSON.
#[pyfunction]
pub(crate) fn resolve(settings: Vec<(String, String)>) -> PyResult<String> {
    Ok(scenario(settings)?.settings.record().to_string())
}

/// The values in a text on the command line: one, several separated by commas, or a range.
#[pyfunction]
pub(crate) fn values(key: &str, text: &str) -> PyResult<Vec<String>> {
    let setting = setting(&key.replace('-', "_"))?;
    let values = setting.values(text.as_ref()).map_err(|expected| {
        ScenarioError::new_err(format!("invalid value '{text}' for '--{key}': {expected}"))
    })?;
    let texts = values.iter().map(|value| value.to_string_lossy().into());
    Ok(texts.collect())
}

/// What a point differs in: keys and values.
type Label = Vec<(String, String)>;

/// The points of the study of these options, perhaps over those of a scenario file: what differs,
/// and all settings as JSON.
#[pyfunction]
#[pyo3(signature = (given, scenario=None))]
pub(crate) fn points(
    given: Vec<(String, String)>,
    scenario: Option<PathBuf>,
) -> PyResult<Vec<(Label, String)>> {
    let entry = |(key, text): &(String, String)| {
        Ok(Entry {
            setting: setting(&key.replace('-', "_"))?,
            values: values(key, text)?.into_iter().map(Into::into).collect(),
            place: Place::CommandLine,
        })
    };
    let entries: Vec<_> = given.iter().map(entry).collect::<PyResult<_>>()?;
    let study = scenario::read(entries, scenario.as_deref(), Foreign::default());
    let points = study.and_then(|(study, _)| study.points(None, &|_| Ok(())));
    let points = points.map_err(ScenarioError::new_err)?.into_iter();
    let points = points
        .map(|StudyPoint { label, scenario }| (label, scenario.settings.record().to_string()));
    Ok(points.collect())
}

/// Name, form of values, group and meaning of each setting.
#[pyfunction]
pub(crate) fn settings() -> Vec<(&'static str, &'static str, &'static str, String)> {
    let all = SETTINGS.iter();
    all.map(|setting| {
        (
            setting.name,
            setting.value_name,
            setting.heading,
            in_python(&setting.help()),
        )
    })
    .collect()
}

/// The names of the strategies, or of those that serve a machine.
#[pyfunction]
#[pyo3(signature = (machine=None))]
pub(crate) fn strategies(machine: Option<convert::Machine>) -> Vec<&'static str> {
    let serves = |kind: &StrategyKind| match &machine {
        None => true,
        Some(convert::Machine { grid, description }) => match description {
            None => kind.serves().includes(grid),
            Some(machine) => kind.serves_described(machine),
        },
    };
    let kinds = StrategyKind::built().filter(serves);
    kinds.map(StrategyKind::name).collect()
}

/// How the schedulers are written; a number stands for SECONDS and COUNT.
#[pyfunction]
pub(crate) fn schedulers() -> Vec<&'static str> {
    names::scheduler_forms()
}

/// Follows a run from another thread.
#[derive(Default)]
struct Watch {
    shared: Arc<Shared>,
    done: AtomicU64,
    expected: AtomicI64,
}

impl Progress for Watch {
    fn begin(&self, runs_max: u64, jobs_per_run: u64) {
        self.expect_more(
            runs_max
                .saturating_mul(jobs_per_run)
                .try_into()
                .unwrap_or(i64::MAX),
        );
    }

    fn expect_more(&self, jobs: i64) {
        self.expected.fetch_add(jobs, Ordering::Relaxed);
    }

    fn advance(&self, jobs: u64) {
        self.done.fetch_add(jobs, Ordering::Relaxed);
    }

    fn is_interrupted(&self) -> bool {
        self.shared.has_failed()
    }
}

impl Watch {
    /// Looks for Ctrl-C and shows the progress.
    fn look(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        py.check_signals()?;
        if let Some(progress) = progress {
            let done = self.done.load(Ordering::Relaxed);
            progress.call1(py, (done, self.expected.load(Ordering::Relaxed)))?;
        }
        Ok(())
    }
}

/// What came out, and the jobs of each strategy if they were recorded.
type Ended = (Results, Option<Vec<Table>>);

/// The strategy and the scheduler of a run, where they are written in Python.
struct Policies {
    strategy: Option<Py<PyAny>>,
    scheduler: Option<Arc<Py<PyAny>>>,
    shared: Arc<Shared>,
}

impl Policies {
    /// Runs it. With `jobs` also returns the jobs of each strategy.
    fn run(&self, resolved: &Resolved, watch: &Watch, jobs: bool) -> Result<Ended, RunError> {
        let experiment = resolved.experiment(&SharedLogs::default());
        let experiment = experiment.map_err(RunError::Scenario)?;
        let recording = jobs.then(|| Recording::new(watch, &experiment));
        let progress: &dyn Progress = recording.as_ref().map_or(watch, |recording| recording);
        let strategies = if self.strategy.is_none() && self.scheduler.is_none() {
            let backends = &InProcessBackends::default;
            experiment::run_parallel(&experiment, None, backends, progress)?
        } else {
            // The interpreter carries out one policy at a time, so more threads would only wait.
            experiment::run(&experiment, &mut self.lent(&experiment), progress)?
        };
        let jobs = recording.map(|recording| recording.tables(&strategies));
        let scenario = resolved.settings.clone();
        let results = Results {
            scenario,
            strategies,
        };
        Ok((results, jobs))
    }

    fn lent(&self, experiment: &Experiment) -> Lent<'_> {
        let unit = experiment.workload.time_unit();
        Lent {
            strategy: self.strategy.as_ref(),
            scheduler: self.scheduler.as_ref().map(|next| OwnScheduler {
                next: next.clone(),
                unit,
                shared: self.shared.clone(),
            }),
            unit,
            shared: &self.shared,
        }
    }
}

/// The same for jobs whose times are in this unit.
struct Lent<'p> {
    strategy: Option<&'p Py<PyAny>>,
    scheduler: Option<OwnScheduler>,
    unit: TimeUnit,
    shared: &'p Arc<Shared>,
}

impl Backends for Lent<'_> {
    fn with(
        &mut self,
        configuration: Configuration,
        description: Option<&Description>,
        body: &mut dyn FnMut(&mut dyn Backend),
    ) -> Result<(), BackendError> {
        let (shared, unit) = (self.shared, self.unit);
        let Some(strategy) = self.strategy else {
            let Some(scheduler) = &self.scheduler else {
                return InProcessBackends::default().with(configuration, description, body);
            };
            let policy = || scheduler.clone();
            return PolicyBackends { policy }.with(configuration, description, body);
        };
        let strategy = Python::attach(|py| {
            OwnStrategy::new(
                strategy.bind(py),
                configuration.machine,
                unit,
                shared.clone(),
            )
        });
        let strategy = strategy.map_err(|error| {
            shared.fail(error);
            BackendError::Interrupted
        })?;
        if let Some(scheduler) = self.scheduler.clone() {
            return own::lend(configuration, strategy, Queued::new(scheduler), body);
        }
        let strategy = |_| strategy.clone();
        StrategyBackends { strategy }.with(configuration, description, body)
    }
}

/// Runs a scenario and returns its results as JSON, with `jobs` also the columns of a table of jobs
/// for each strategy. Other threads of Python go on meanwhile.
#[pyfunction]
#[pyo3(signature = (settings, strategy=None, scheduler=None, progress=None, jobs=false))]
pub(crate) fn run(
    py: Python<'_>,
    settings: Vec<(String, String)>,
    strategy: Option<Py<PyAny>>,
    scheduler: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
    jobs: bool,
) -> PyResult<(String, Option<Vec<Table>>)> {
    let resolved = scenario(settings)?;
    if strategy.is_some() && resolved.plan.switches.largest {
        let text = "`largest` is not measured with a strategy of your own (expected a name in \
                    `strategy`)";
        return Err(ScenarioError::new_err(text));
    }
    let watch = Watch::default();
    let policies = Policies {
        strategy,
        scheduler: scheduler.map(Arc::new),
        shared: watch.shared.clone(),
    };
    let results = py.detach(|| {
        thread::scope(|scope| {
            let (running, ended) = mpsc::channel::<()>();
            let (policies, resolved, watch) = (&policies, &resolved, &watch);
            let worker = scope.spawn(move || {
                let _running = running;
                // Attached all the time, so that each call of a policy need not begin with it.
                Python::attach(|py| py.detach(|| policies.run(resolved, watch, jobs)))
            });
            while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if !watch.shared.has_failed()
                    && let Err(error) = Python::attach(|py| watch.look(py, progress.as_ref()))
                {
                    watch.shared.fail(error);
                }
            }
            worker.join()
        })
    });
    let results = results.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    watch.shared.take()?;
    let (results, jobs) = results.map_err(|error| failed(py, &policies, &error))?;
    watch.look(py, progress.as_ref())?;
    let text = serde_json::to_string(&results);
    let text = text.map_err(|error| errors::RunError::new_err(error.to_string()))?;
    Ok((text, jobs))
}

/// The exception for a run that ended early.
fn failed(py: Python<'_>, policies: &Policies, error: &RunError) -> PyErr {
    match error {
        RunError::Experiment(ExperimentError::Run {
            reason,
            replication,
            ..
        }) => match &**reason {
            SimulationError::Backend(BackendError::Illegal { reason }) => {
                let reason = format!("replication {replication}: {reason}");
                policies.shared.illegal(py, &reason)
            }
            // The error names the strategy of the settings.
            _ if policies.strategy.is_some() => {
                errors::RunError::new_err(format!("replication {replication}: {reason}"))
            }
            _ => errors::RunError::new_err(error.to_string()),
        },
        _ => ScenarioError::new_err(in_python(&error.to_string())),
    }
}
