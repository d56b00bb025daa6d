//! A setting of a paper's figure: everything about a run but the strategy, its length and its
//! random numbers.

use meshalloc::StrategyKind;
use schemars::JsonSchema;
use serde::Serialize;

use super::length::Length;
use super::logs::Logs;
use meshalloc_sim::experiment::Experiment;
use meshalloc_sim::names;
use meshalloc_sim::parameters;
use meshalloc_sim::statistics::Sampling;
use meshalloc_sim::wording::counted;
use meshalloc_sim::workload::{
    EstimateModel, Log, Rate, Requests, Synthetic, TimeUnit, WorkDistribution, Workload,
};

/// Everything about a run but the strategy, its length and its random numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// A run without strategies. A log in it has no jobs yet.
    pub plan: Experiment,
}

/// A setting as CSV files have it: each field is a column. Settings with the same kind of machine
/// and workload have the same columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Described {
    /// Distribution of the side lengths of jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side_lengths: Option<String>,
    /// Distribution of the number of processors of jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors: Option<String>,
    /// The mix of shapes of jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<String>,
    /// On a cube, distribution of the number of dimensions of jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dims: Option<String>,
    /// On a cube, distribution of the radices of jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radices: Option<String>,
    /// The file of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The rule that gives a job of the log its side lengths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// The machine, unless it is a k-ary n-cube.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
    /// The machine, if it is a k-ary n-cube.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cube: Option<String>,
    /// The arrivals: a load, a rate or a batch.
    pub offered: String,
    /// On a cube, distribution of service times, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_s: Option<String>,
    /// Mean service time, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_mean_s: Option<String>,
    /// Messages of jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<String>,
    /// Communication and I/O of jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io: Option<String>,
    /// Run-time estimates of jobs.
    pub estimates: String,
}

impl Setting {
    /// The setting in words.
    pub fn label(&self) -> String {
        let (jobs, estimates) = match &self.plan.workload {
            Workload::Synthetic(workload) => {
                let requests = match &workload.requests {
                    Requests::Submeshes(of) => of.distribution.to_string(),
                    Requests::Subcubes(of) => format!("{} {}", of.dims, of.radices),
                    Requests::Counts(of) => of.distribution.to_string(),
                    Requests::Mix(of) => of.source.to_string(),
                };
                let work = work_text(&workload.work);
                let default = EstimateModel::of(&workload.work);
                (
                    format!("{requests} {} {work}", self.offered_text()),
                    parameters::estimates_text(workload.estimates, default),
                )
            }
            Workload::Log(log) => (
                format!("{} {}", log.path.display(), self.offered_text()),
                parameters::estimates_text(log.estimates, EstimateModel::Log),
            ),
        };
        let machine = self.machine_text();
        let scheduler = names::scheduler_text(self.plan.scheduler, self.time_unit());
        let failures = parameters::failures_text(self.plan.failures.as_ref());
        format!("{machine} {jobs} {scheduler}{estimates}{failures}")
    }

    /// The unit of its times.
    pub const fn time_unit(&self) -> TimeUnit {
        self.plan.workload.time_unit()
    }

    /// Its workload, if it is drawn from distributions.
    pub const fn synthetic(&self) -> Option<&Synthetic> {
        match &self.plan.workload {
            Workload::Synthetic(workload) => Some(workload),
            Workload::Log(_) => None,
        }
    }

    /// Its log, if it has one.
    pub const fn log(&self) -> Option<&Log> {
        self.plan.workload.log()
    }

    /// Whether a number of jobs ends its runs: not where all jobs are there at time 0, nor where a
    /// log has them.
    pub const fn has_length(&self) -> bool {
        self.plan.workload.is_endless()
    }

    /// Whether fewer jobs are enough, or each takes long.
    pub const fn is_short(&self) -> bool {
        self.plan.backlog.is_some() || self.plan.largest
    }

    /// Whether its runs are repeated, with other jobs each time.
    pub const fn is_replicated(&self) -> bool {
        self.plan.workload.is_replicated()
    }

    /// How its replications come about.
    pub const fn sampling(&self) -> Sampling {
        self.plan.workload.sampling()
    }

    /// The machine in words: `64x64`, `4-ary 3-cube`.
    pub fn machine_text(&self) -> String {
        let text = self.plan.machine.to_string();
        let text = text.strip_prefix("mesh ").unwrap_or(&text);
        match &self.plan.description {
            Some(description) => format!("{}: {text}", description.name),
            None => text.to_owned(),
        }
    }

    /// When jobs arrive, in words: `load 0.47`, `100 jobs at time 0`, `1 job waits at all times`.
    pub fn offered_text(&self) -> String {
        if let Some(backlog) = self.plan.backlog {
            return parameters::backlog_text(backlog);
        }
        let workload = match &self.plan.workload {
            Workload::Synthetic(workload) => workload,
            Workload::Log(log) => {
                return log
                    .load
                    .map_or("own load".into(), |load| format!("load {load}"));
            }
        };
        match (workload.arrivals.rate(), workload.arrivals.batch()) {
            (Some(Rate::Load(load)), _) => format!("load {load}"),
            (Some(Rate::TrafficRatio(ratio)), _) => format!("traffic ratio {ratio}"),
            (Some(Rate::Arrivals(rate)), _) => format!("rate {rate}"),
            (None, Some(jobs)) => format!("{} at time 0", counted(jobs, "job")),
            (None, None) => "own load".into(),
        }
    }

    /// How often jobs arrive; `None` when they all come at once, or as a log says.
    pub fn rate(&self) -> Option<Rate> {
        self.synthetic()?.arrivals.rate()
    }

    /// The setting as CSV files have it.
    pub fn described(&self) -> Described {
        let text = |value: &dyn ToString| Some(value.to_string());
        let machine = Some(self.machine_text());
        let mut described = Described {
            offered: self.offered_text(),
            estimates: self.plan.workload.estimates().to_string(),
            ..Described::default()
        };
        let workload = match &self.plan.workload {
            Workload::Synthetic(workload) => workload,
            Workload::Log(log) => {
                return Described {
                    log: text(&log.path.display()),
                    shape: text(&log.options.shape),
                    mesh: machine,
                    ..described
                };
            }
        };
        let is_cube = matches!(workload.requests, Requests::Subcubes(_));
        match &workload.requests {
            Requests::Submeshes(of) => described.side_lengths = text(&of.distribution),
            Requests::Counts(of) => described.processors = text(&of.distribution),
            Requests::Mix(of) => described.mix = text(&of.source),
            Requests::Subcubes(of) => {
                (described.dims, described.radices) = (text(&of.dims), text(&of.radices));
            }
        }
        match is_cube {
            true => described.cube = machine,
            false => described.mesh = machine,
        }
        match &workload.work {
            WorkDistribution::Service(service) if is_cube => described.service_s = text(service),
            WorkDistribution::Service(service) => {
                described.service_mean_s = text(&service.mean_seconds());
            }
            WorkDistribution::Messages(messages) => {
                described.messages = Some(parameters::messages_text(messages));
            }
            WorkDistribution::Io(io) => described.io = text(io),
        }
        described
    }

    /// The experiment that measures these strategies; an error when its log cannot be read, or the
    /// machine never gives a shape of its mix.
    pub fn experiment(
        &self,
        strategies: Vec<StrategyKind>,
        length: Length,
        logs: &Logs,
    ) -> Result<Experiment, String> {
        let workload = match &self.plan.workload {
            Workload::Log(log) => Workload::Log(logs.read(log)?),
            synthetic @ Workload::Synthetic(_) => synthetic.clone(),
        };
        let mut experiment = Experiment {
            strategies,
            workload,
            jobs: length.jobs,
            replications: length.replications,
            seed: length.seed,
            ..self.plan.clone()
        };
        if let Workload::Synthetic(workload) = &experiment.workload {
            let read = workload.read(|request| experiment.is_legal(request));
            let read = read.map_err(|(_, error)| error.to_string())?;
            experiment.workload = Workload::Synthetic(read);
        }
        Ok(experiment)
    }
}

/// What jobs do, in words: `service exponential:10`, `all-to-all, 8 flits, routing delay 3`.
fn work_text(work: &WorkDistribution) -> String {
    match work {
        WorkDistribution::Service(service) => format!("service {service}"),
        WorkDistribution::Messages(messages) => parameters::messages_text(messages),
        WorkDistribution::Io(io) => parameters::io_text(io),
    }
}
