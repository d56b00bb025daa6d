//! A scenario with its defaults filled in: what is run, and what a result records.

use std::path::Path;

use meshalloc::{Grid, SchedulerKind, StrategyKind};

use super::error::{OptionError, Origin};
use super::{
    BackendChoice, Format, JOBS_DEFAULT, JOBS_OF_MESSAGES_DEFAULT, LOAD_DEFAULT, LogSource,
    Measured, REPLICATIONS_DEFAULT, REPLICATIONS_MAX_DEFAULT, RESIDENCE_DEFAULT, ScenarioArgs,
    TASKS_DEFAULT, default_strategy, needs, strategies,
};
use crate::experiment::{Experiment, Measure, Replications, WARMUP_FRACTION};
use crate::io::{IoMesh, IoNetwork, IoTasks};
use crate::metrics::SLOWDOWN_THRESHOLD;
use crate::names;
use crate::statistics::NOT_NARROWED;
use crate::workload::{
    Arrivals, Counts, EstimateModel, Log, LogMessages, Messages, Rate, Requests, ShapeRule,
    SharedLogs, Synthetic, TimeUnit, WorkDistribution, Workload,
};

mod record;

/// The seed of a scenario that names none.
pub const SEED_DEFAULT: u64 = 1;

/// What is to be run, every parameter named.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The machine.
    pub machine: Grid,
    /// The strategies, each once.
    pub strategies: Vec<StrategyKind>,
    /// The scheduler.
    pub scheduler: SchedulerKind,
    /// Where the jobs come from.
    pub jobs: JobSource,
    /// Run times count as at least this in the bounded slowdown, in the unit of the scenario's times.
    pub slowdown_threshold: f64,
    /// What all random numbers derive from.
    pub seed: u64,
    /// Where the controller is.
    pub backend: BackendChoice,
    /// How results are written.
    pub format: Format,
    /// Where its options were given.
    pub(super) origin: Origin,
}

/// Where the jobs come from.
#[derive(Clone, Debug)]
pub enum JobSource {
    /// Distributions.
    Synthetic {
        /// The distributions.
        workload: Synthetic,
        /// Jobs in a replication, where they go on arriving; a closed workload has its own number.
        jobs: u32,
        /// Which jobs are measured; of a closed workload all are.
        measure: Measure,
        /// How often it is repeated.
        replications: Replications,
    },
    /// A log of a real machine.
    Log {
        /// The log.
        source: LogSource,
        /// What its jobs send, if they do.
        messages: Option<LogMessages>,
        /// Which estimate of its run time a request carries.
        estimates: EstimateModel,
        /// How often it is repeated, where it is resampled.
        replications: Replications,
    },
}

impl JobSource {
    /// The model of estimates.
    pub const fn estimates(&self) -> EstimateModel {
        match self {
            JobSource::Synthetic { workload, .. } => workload.estimates,
            JobSource::Log { estimates, .. } => *estimates,
        }
    }

    /// How often it is repeated.
    pub const fn replications(&self) -> Replications {
        match self {
            JobSource::Synthetic { replications, .. } | JobSource::Log { replications, .. } => {
                *replications
            }
        }
    }
}

impl Scenario {
    /// Fills in the defaults.
    ///
    /// # Errors
    ///
    /// When options need others that were not given, or a number does not go with the mesh.
    pub fn new(args: &ScenarioArgs) -> Result<Self, OptionError> {
        let requests = requests(args)?;
        let machine = requests.machine();
        let default = default_strategy(machine);
        let mut scenario = Scenario {
            machine,
            strategies: strategies(machine, args.strategy.as_deref(), &[default])?,
            scheduler: args.scheduler.unwrap_or(SchedulerKind::Fcfs),
            slowdown_threshold: args.slowdown_threshold.unwrap_or(SLOWDOWN_THRESHOLD),
            seed: args.seed.unwrap_or(SEED_DEFAULT),
            backend: args.backend.clone().unwrap_or_default(),
            format: args.format.unwrap_or_default(),
            jobs: job_source(args, requests)?,
            origin: Origin::default(),
        };
        scenario.scheduler = names::scheduler_in(scenario.scheduler, scenario.time_unit());
        Ok(scenario)
    }

    /// The log that it reads, if it does.
    pub fn log_file(&self) -> Option<&Path> {
        match &self.jobs {
            JobSource::Synthetic { .. } => None,
            JobSource::Log { source, .. } => Some(&source.file),
        }
    }

    /// The unit of its times.
    pub fn time_unit(&self) -> TimeUnit {
        match &self.jobs {
            JobSource::Synthetic { workload, .. } => workload.work.time_unit(),
            JobSource::Log { messages: None, .. } => TimeUnit::Second,
            JobSource::Log { .. } => TimeUnit::Cycle,
        }
    }

    /// Whether all jobs are there at time 0 and none arrives later.
    pub fn is_closed(&self) -> bool {
        match &self.jobs {
            JobSource::Synthetic { workload, .. } => {
                matches!(workload.arrivals, Arrivals::AtOnce { .. })
            }
            JobSource::Log { .. } => false,
        }
    }

    /// The experiment; its log, if there is one, is of `logs`.
    ///
    /// # Errors
    ///
    /// When the log cannot be read, or the distributions or the conditions cannot be used: one line, with the place in the
    /// scenario's file if there is one.
    pub fn experiment(&self, logs: &SharedLogs) -> Result<Experiment, String> {
        let experiment = self.made(logs);
        experiment.map_err(|error| self.origin.place(&error))
    }

    fn made(&self, logs: &SharedLogs) -> Result<Experiment, OptionError> {
        let machine = self.machine;
        let (workload, jobs, measure, replications) = match &self.jobs {
            JobSource::Synthetic {
                workload,
                jobs,
                measure,
                replications,
            } => {
                workload.jobs(self.seed, 0)?;
                let workload = Workload::Synthetic(*workload);
                (workload, *jobs, *measure, *replications)
            }
            JobSource::Log {
                source,
                messages,
                estimates,
                replications,
            } => {
                let log = Log {
                    messages: *messages,
                    estimates: *estimates,
                    ..source.read(machine, logs)?
                };
                LogSource::check(&log, self.seed)?;
                let workload = Workload::Log(log);
                (workload, JOBS_DEFAULT, Measure::Departures, *replications)
            }
        };
        let experiment = Experiment {
            machine,
            strategies: self.strategies.clone(),
            scheduler: self.scheduler,
            workload,
            jobs,
            measure,
            backlog: None,
            slowdown_threshold: self.slowdown_threshold,
            replications,
            seed: self.seed,
        };
        experiment.conditions(0)?;
        Ok(experiment)
    }
}

/// The machine and what is asked of it.
fn requests(args: &ScenarioArgs) -> Result<Requests, OptionError> {
    let requests = args.requests.requests()?;
    if let Some(distribution) = args.task_processors {
        let machine = requests.machine();
        let shape = args.log.shape.unwrap_or(ShapeRule::of(&machine));
        let usable = shape.check(machine);
        usable.map_err(|reason| OptionError::unquoted(&["shape"], &reason))?;
        return Ok(Requests::Counts(Counts {
            machine,
            distribution,
            shape,
        }));
    }
    Ok(requests)
}

/// When jobs arrive.
fn arrivals(args: &ScenarioArgs, machine: Grid) -> Result<Arrivals, OptionError> {
    let rate = match (args.tasks, args.load, args.traffic) {
        (Some(tasks), ..) => return Ok(Arrivals::AtOnce { tasks }),
        _ if args.arrival_rate.is_some() => Rate::Arrivals(args.arrival_rate.unwrap_or_default()),
        _ if args.pattern.is_some() || args.io.is_some() || args.io_nodes.is_some() => {
            return Err(OptionError::new(
                &["pattern", "io", "io-nodes"],
                "the load of jobs that send messages is not known beforehand (expected `arrival-rate` or `tasks` beside \
                 `pattern`, `io` or `io-nodes`)",
            ));
        }
        (None, _, Some(traffic)) => Rate::Traffic(traffic),
        (None, Some(load), None) => Rate::Load(load),
        (None, None, None) if machine.is_written_high_first() => {
            for (given, key) in [
                (args.jobs.is_some(), "jobs"),
                (args.warmup.is_some(), "warmup"),
                (args.measure.is_some(), "measure"),
            ] {
                if given {
                    let reason = format!(
                        "`{key}` is about jobs that go on arriving (expected `load` or `traffic` beside it, or \
                         `tasks` in place of it)"
                    );
                    return Err(OptionError::new(&[key], reason));
                }
            }
            let tasks = TASKS_DEFAULT;
            return Ok(Arrivals::AtOnce { tasks });
        }
        (None, None, None) => Rate::Load(LOAD_DEFAULT),
    };
    Ok(Arrivals::Poisson(rate))
}

/// What jobs send, if they do.
fn messages(args: &ScenarioArgs) -> Result<Option<Messages>, OptionError> {
    let Some(patterns) = args.pattern else {
        needs::MESSAGES.refuse([
            (args.network.flits.is_some(), "flits"),
            (args.network.routing_delay.is_some(), "routing-delay"),
            (args.messages.is_some(), "messages"),
            (args.iterations.is_some(), "iterations"),
            (args.iteration_seconds.is_some(), "iteration-seconds"),
            (args.cycles_per_second.is_some(), "cycles-per-second"),
            (args.blocking.is_some(), "blocking"),
        ])?;
        return Ok(None);
    };
    let default = Messages::new(patterns);
    Ok(Some(Messages {
        patterns,
        per_pair: args.messages.unwrap_or(default.per_pair),
        iterations: args.iterations.unwrap_or(default.iterations),
        blocking: args.blocking.unwrap_or(default.blocking),
        network: args.network.parameters(),
    }))
}

/// What jobs communicate, read and write, if they do.
fn io(args: &ScenarioArgs, machine: Grid) -> Result<Option<IoTasks>, OptionError> {
    if args.io.is_none() && args.io_nodes.is_none() {
        return Ok(None);
    }
    let io = IoTasks {
        nodes: args.io_nodes.unwrap_or_default(),
        ..args.io.unwrap_or_default()
    };
    let mesh = IoMesh::new(machine, io.nodes)?;
    if let IoNetwork::Wormhole { .. } = io.network {
        mesh.grid()?;
    }
    Ok(Some(io))
}

/// Which jobs of a synthetic workload are measured.
fn measure(args: &ScenarioArgs, workload: &Synthetic) -> Result<Measure, OptionError> {
    let default = Measure::of(workload);
    let measure = match args.measure {
        None => default,
        Some(Measured::Departures) => Measure::Departures,
        Some(Measured::Arrivals) => Measure::Arrivals {
            warmup_fraction: WARMUP_FRACTION,
        },
    };
    match (measure, args.warmup) {
        (_, None) => Ok(measure),
        (Measure::Arrivals { .. }, Some(warmup_fraction)) => {
            Ok(Measure::Arrivals { warmup_fraction })
        }
        (Measure::Departures, Some(_)) => Err(OptionError::new(
            &["warmup"],
            "`warmup` is about the first jobs to arrive (expected `measure` arrivals beside it)",
        )),
    }
}

fn job_source(args: &ScenarioArgs, requests: Requests) -> Result<JobSource, OptionError> {
    let machine = requests.machine();
    let messages = messages(args)?;
    let source = args
        .log
        .source(&args.requests.machine, args.log_load, args.jobs)?;
    let replications = replications(args, source.as_ref())?;
    if let Some(source) = source {
        let default = match messages {
            None => EstimateModel::Log,
            Some(_) => EstimateModel::None,
        };
        let estimates = args.estimates.unwrap_or(default);
        estimates.check(messages.is_none(), true)?;
        return Ok(JobSource::Log {
            source,
            messages: messages.map(|messages| LogMessages {
                messages,
                seconds_per_iteration: args.iteration_seconds,
                cycles_per_second: args.cycles_per_second.unwrap_or(1.0),
            }),
            estimates,
            replications,
        });
    }
    needs::LOGS.refuse([
        (args.iteration_seconds.is_some(), "iteration-seconds"),
        (args.cycles_per_second.is_some(), "cycles-per-second"),
    ])?;
    if args.task_processors.is_none() {
        needs::COUNTS.refuse([(args.log.shape.is_some(), "shape")])?;
    }
    let io = io(args, machine)?;
    let arrivals = arrivals(args, machine)?;
    let closed_cube =
        machine.is_written_high_first() && matches!(arrivals, Arrivals::AtOnce { .. });
    let work = match (messages, args.service.given()) {
        (None, _) if io.is_some() => WorkDistribution::Io(io.unwrap_or_default()),
        (Some(messages), _) => WorkDistribution::Messages(messages),
        (None, None) if closed_cube => WorkDistribution::Service(RESIDENCE_DEFAULT),
        (None, _) => WorkDistribution::Service(args.service.distribution()),
    };
    let workload = Synthetic {
        requests,
        work,
        arrivals,
        estimates: args.estimates.unwrap_or(EstimateModel::of(&work)),
    };
    workload.check_estimates()?;
    let jobs_default = match messages {
        Some(_) => JOBS_OF_MESSAGES_DEFAULT,
        None => JOBS_DEFAULT,
    };
    Ok(JobSource::Synthetic {
        jobs: args.jobs.unwrap_or(jobs_default),
        measure: measure(args, &workload)?,
        workload,
        replications,
    })
}

/// How often it is repeated.
fn replications(args: &ScenarioArgs, log: Option<&LogSource>) -> Result<Replications, OptionError> {
    if let Some(log) = log {
        for (given, key) in [
            (args.until_rel_error.is_some(), "until-rel-error"),
            (args.max_replications.is_some(), "max-replications"),
        ] {
            if given {
                return Err(not_narrowed(key));
            }
        }
        match (log.resample, args.replications) {
            (None, None) => return Ok(Replications::Fixed(1)),
            (None, Some(_)) => return Err(not_replicated("replications")),
            (Some(_), _) => {}
        }
    }
    match (args.replications, args.until_rel_error) {
        (count, None) => {
            needs::ERROR_TO_REACH
                .refuse([(args.max_replications.is_some(), "max-replications")])?;
            Ok(Replications::Fixed(count.unwrap_or(REPLICATIONS_DEFAULT)))
        }
        (_, Some(target)) => Ok(Replications::UntilRelativeError {
            target,
            max: args.max_replications.unwrap_or(REPLICATIONS_MAX_DEFAULT),
        }),
    }
}

/// The error about an error to reach of a log.
fn not_narrowed(option: &'static str) -> OptionError {
    let reason = format!(
        "`{option}` is about independent replications: {NOT_NARROWED} (expected `replications` and `resample` weeks in place of it)"
    );
    OptionError::new(&[option], reason)
}

/// The error about an option of replications where a log has none.
pub(crate) fn not_replicated(option: &'static str) -> OptionError {
    let reason = format!(
        "`{option}` is about new jobs, and a log has the same ones every time (expected `resample` weeks beside it)"
    );
    OptionError::new(&[option], reason)
}

#[cfg(test)]
mod tests;
