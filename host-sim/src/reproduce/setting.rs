//! A setting of a paper's figure: everything about a run but the strategy, its length and its random numbers.

use meshalloc::{SchedulerKind, StrategyKind};

use super::length::Length;
use super::logs::{LogSetting, Logs};
use crate::experiment::{Experiment, Measure};
use crate::names;
use crate::report;
use crate::statistics::Sampling;
use crate::wording::counted;
use crate::workload::{
    Arrivals, EstimateModel, Rate, Requests, Resample, Synthetic, TimeUnit, WorkDistribution,
    Workload,
};

/// Where the jobs of a setting come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offered {
    /// Distributions.
    Synthetic(Synthetic),
    /// A log, which may not be at hand.
    Log(LogSetting),
}

/// Everything about a run but the strategy, its length and its random numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The machine, and what its jobs are like.
    pub workload: Offered,
    /// Which waiting job may try.
    pub scheduler: SchedulerKind,
    /// Run times count as at least this in the bounded slowdown, in the unit of the workload's times.
    pub slowdown_threshold: f64,
}

impl Setting {
    /// The setting in words.
    pub fn label(&self) -> String {
        let (jobs, estimates) = match &self.workload {
            Offered::Synthetic(workload) => {
                let requests = match &workload.requests {
                    Requests::Submeshes(of) => of.sizes.to_string(),
                    Requests::Subcubes(of) => format!("{} {}", of.dims, of.radices),
                    Requests::Counts(of) => of.distribution.to_string(),
                };
                let work = work_text(&workload.work);
                let default = EstimateModel::of(&workload.work);
                (
                    format!("{requests} {} {work}", self.offered_text()),
                    report::estimates_text(workload.estimates, default),
                )
            }
            Offered::Log(log) => (
                format!("{} {}", log.file, self.offered_text()),
                report::estimates_text(log.estimates, EstimateModel::Log),
            ),
        };
        let machine = self.machine_text();
        let scheduler = names::scheduler_text(self.scheduler, self.time_unit());
        format!("{machine} {jobs} {scheduler}{estimates}")
    }

    /// The unit of its times.
    pub const fn time_unit(&self) -> TimeUnit {
        match &self.workload {
            Offered::Synthetic(workload) => workload.work.time_unit(),
            Offered::Log(_) => TimeUnit::Second,
        }
    }

    /// Its workload, if it is drawn from distributions.
    pub const fn synthetic(&self) -> Option<&Synthetic> {
        match &self.workload {
            Offered::Synthetic(workload) => Some(workload),
            Offered::Log(_) => None,
        }
    }

    /// Its log, if it has one.
    pub const fn log(&self) -> Option<&LogSetting> {
        match &self.workload {
            Offered::Synthetic(_) => None,
            Offered::Log(log) => Some(log),
        }
    }

    /// Whether a number of jobs ends its runs: not where all jobs are there at time 0, nor where a
    /// log has them.
    pub fn has_length(&self) -> bool {
        let workload = self.synthetic();
        workload.is_some_and(|workload| matches!(workload.arrivals, Arrivals::Poisson(_)))
    }

    /// Whether its runs are repeated, with other jobs each time.
    pub fn is_replicated(&self) -> bool {
        self.log().is_none_or(|log| log.resample.is_some())
    }

    /// How its replications come about.
    pub const fn sampling(&self) -> Sampling {
        match &self.workload {
            Offered::Synthetic(_) => Sampling::Independent,
            Offered::Log(log) => Resample::sampling(log.resample),
        }
    }

    /// The machine in words: `64x64`, `4-ary 3-cube`.
    pub fn machine_text(&self) -> String {
        let machine = match &self.workload {
            Offered::Synthetic(workload) => workload.machine(),
            Offered::Log(log) => log.machine,
        };
        let text = machine.to_string();
        text.strip_prefix("mesh ")
            .map_or(text.clone(), str::to_owned)
    }

    /// When jobs arrive, in words: `load 0.47`, `100 tasks at time 0`.
    pub fn offered_text(&self) -> String {
        let workload = match &self.workload {
            Offered::Synthetic(workload) => workload,
            Offered::Log(log) => {
                return log
                    .load
                    .map_or("own load".into(), |load| format!("load {load}"));
            }
        };
        match workload.arrivals {
            Arrivals::Poisson(Rate::Load(load)) => format!("load {load}"),
            Arrivals::Poisson(Rate::Traffic(traffic)) => format!("traffic {traffic}"),
            Arrivals::Poisson(Rate::Arrivals(rate)) => format!("rate {rate}"),
            Arrivals::AtOnce { tasks } => format!("{} at time 0", counted(tasks, "task")),
        }
    }

    /// How often jobs arrive; `None` when they all come at once, or as a log says.
    pub fn rate(&self) -> Option<Rate> {
        match self.synthetic()?.arrivals {
            Arrivals::Poisson(rate) => Some(rate),
            Arrivals::AtOnce { .. } => None,
        }
    }

    /// Names and values of the columns that describe the workload in CSV files. Settings with the same kind of
    /// machine have the same columns.
    pub fn columns(&self) -> Vec<(&'static str, String)> {
        let (machine, offered) = (self.machine_text(), self.offered_text());
        let workload = match &self.workload {
            Offered::Synthetic(workload) => workload,
            Offered::Log(log) => {
                return vec![
                    ("log", log.file.to_owned()),
                    ("shape", log.options.shape.to_string()),
                    ("mesh", machine),
                    ("offered", offered),
                    ("estimates", log.estimates.to_string()),
                ];
            }
        };
        let (mut columns, is_cube) = match &workload.requests {
            Requests::Submeshes(of) => (
                vec![("sizes", of.sizes.to_string()), ("mesh", machine)],
                false,
            ),
            Requests::Counts(of) => {
                let counts = ("task_processors", of.distribution.to_string());
                (vec![counts, ("mesh", machine)], false)
            }
            Requests::Subcubes(of) => {
                let (dims, radices) = (of.dims.to_string(), of.radices.to_string());
                let columns = vec![("dims", dims), ("radices", radices), ("cube", machine)];
                (columns, true)
            }
        };
        columns.push(("offered", offered));
        columns.push(match &workload.work {
            WorkDistribution::Service(service) if is_cube => ("service_s", service.to_string()),
            WorkDistribution::Service(service) => {
                ("mean_service_s", service.mean_seconds().to_string())
            }
            WorkDistribution::Messages(messages) => ("messages", report::messages_text(messages)),
            WorkDistribution::Io(io) => ("io", io.to_string()),
        });
        columns.push(("estimates", workload.estimates.to_string()));
        columns
    }

    /// The experiment that measures these strategies.
    ///
    /// # Errors
    ///
    /// When its log cannot be read.
    pub fn experiment(
        &self,
        strategies: Vec<StrategyKind>,
        length: Length,
        logs: &Logs,
    ) -> Result<Experiment, String> {
        let (machine, workload, measure) = match &self.workload {
            Offered::Synthetic(workload) => (
                workload.machine(),
                Workload::Synthetic(*workload),
                Measure::of(workload),
            ),
            // All of them.
            Offered::Log(log) => {
                let workload = Workload::Log(logs.read(log)?);
                (log.machine, workload, Measure::Departures)
            }
        };
        Ok(Experiment {
            machine,
            strategies,
            scheduler: self.scheduler,
            workload,
            jobs: length.jobs,
            measure,
            backlog: None,
            slowdown_threshold: self.slowdown_threshold,
            replications: length.replications,
            seed: length.seed,
        })
    }
}

/// What jobs do, in words: `service exponential:10`, `all-to-all, 8 flits, routing delay 3`.
fn work_text(work: &WorkDistribution) -> String {
    match work {
        WorkDistribution::Service(service) => format!("service {service}"),
        WorkDistribution::Messages(messages) => report::messages_text(messages),
        WorkDistribution::Io(io) => report::io_text(io),
    }
}
