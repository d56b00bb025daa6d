//! What is measured for a paper, and what came out.
//!
//! A figure asks for [`Cell`]s: one strategy under one [`Setting`]. Figures share cells, so a [`Plan`] collects
//! them first and each is measured once. All strategies of a setting get the same jobs, and so do all settings
//! that differ in their scheduler alone: their differences are paired.

use std::collections::BTreeMap;

use meshalloc::{Mesh, SchedulerKind, StrategyKind};

use super::claims::{Backlog, Gain};
use crate::experiment::{Experiment, Replications, StrategyResult, WARMUP_FRACTION};
use crate::metrics::Metric;
use crate::names;
use crate::report::depends_on_length;
use crate::statistics::Estimate;
use crate::workload::{Rate, ServiceDistribution, SizeDistribution, Synthetic, Workload};

/// Everything about a run but the strategy, its length and its random numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The machine.
    pub mesh: Mesh,
    /// How the sides of jobs are distributed, over 1 to the mesh's sides.
    pub sizes: SizeDistribution,
    /// How often jobs arrive.
    pub rate: Rate,
    /// Mean of the exponential service time, in seconds.
    pub mean_service: f64,
    /// Who may try.
    pub scheduler: SchedulerKind,
}

impl Setting {
    /// The setting in words; different settings have different ones.
    pub fn label(&self) -> String {
        format!(
            "{} {} {} service {} {}",
            self.mesh,
            self.sizes,
            self.rate_text(),
            self.mean_service,
            names::scheduler_text(self.scheduler)
        )
    }

    /// How often jobs arrive, in words: `load 0.47`.
    pub fn rate_text(&self) -> String {
        match self.rate {
            Rate::Load(load) => format!("load {load}"),
            Rate::Traffic(traffic) => format!("traffic {traffic}"),
        }
    }

    /// The experiment that measures these strategies.
    pub fn experiment(&self, strategies: Vec<StrategyKind>, length: Length) -> Experiment {
        let service = ServiceDistribution::Exponential {
            mean_seconds: self.mean_service,
        };
        Experiment {
            machine: self.mesh.into(),
            strategies,
            scheduler: self.scheduler,
            workload: Workload::Synthetic(Synthetic::new(
                self.mesh, self.sizes, service, self.rate,
            )),
            jobs: length.jobs,
            warmup_fraction: WARMUP_FRACTION,
            replications: length.replications,
            seed: length.seed,
        }
    }
}

/// How long is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length {
    /// Jobs in a replication.
    pub jobs: u32,
    /// How often.
    pub replications: Replications,
    /// What all random numbers derive from.
    pub seed: u64,
}

/// One strategy under one setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The setting.
    pub setting: Setting,
    /// The strategy.
    pub strategy: StrategyKind,
}

/// Whether the value above saturation depends on the length of the run. The time of a search does so only where
/// the whole backlog is searched.
fn grows_with_backlog(metric: Metric, scheduler: SchedulerKind) -> bool {
    let searches_backlog = scheduler != SchedulerKind::Fcfs;
    depends_on_length(metric) || (metric == Metric::SearchTime && searches_backlog)
}

/// The settings to be measured, each with its strategies.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    settings: Vec<(Setting, Vec<StrategyKind>)>,
}

impl Plan {
    /// Adds a cell if it is not there yet.
    pub fn add(&mut self, cell: Cell) {
        let known = self.settings.iter_mut().find(|(s, _)| *s == cell.setting);
        match known {
            Some((_, strategies)) if strategies.contains(&cell.strategy) => {}
            Some((_, strategies)) => strategies.push(cell.strategy),
            None => self.settings.push((cell.setting, vec![cell.strategy])),
        }
    }

    /// The settings, in the order in which they were first asked for.
    pub fn settings(&self) -> &[(Setting, Vec<StrategyKind>)] {
        &self.settings
    }
}

/// What one cell gave, one value a replication.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// The values, in the order of replications.
    Values(Vec<f64>),
    /// Saturated, and the measure depends on the length of the run.
    Saturated,
    /// Not measured, or nothing was there to measure.
    Missing,
}

impl Reading {
    /// Mean and interval; `None` without values.
    pub fn estimate(&self) -> Option<Estimate> {
        match self {
            Reading::Values(values) => Estimate::of(values),
            Reading::Saturated | Reading::Missing => None,
        }
    }
}

/// Everything measured for a paper.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// By the label of the setting; the same on every machine.
    simulated: BTreeMap<String, Vec<StrategyResult>>,
    /// The same with a clock around the controller, for what is not reproducible.
    clocked: BTreeMap<String, Vec<StrategyResult>>,
}

impl Measurements {
    /// Keeps what a setting gave.
    pub fn insert(&mut self, setting: &Setting, results: Vec<StrategyResult>) {
        self.simulated.insert(setting.label(), results);
    }

    /// Keeps what a setting gave with a clock around the controller. When the same runs are there already,
    /// the lesser time counts.
    pub fn insert_clocked(&mut self, setting: &Setting, mut results: Vec<StrategyResult>) {
        let label = setting.label();
        let known = self.clocked.get(&label).into_iter().flatten();
        for (new, old) in results.iter_mut().zip(known) {
            for (new, old) in new.runs.iter_mut().zip(&old.runs) {
                let times = [&new.values, &old.values].map(|values| values[Metric::SearchTime]);
                let known = times.into_iter().flatten();
                new.values[Metric::SearchTime] = known.min_by(f64::total_cmp);
            }
        }
        self.clocked.insert(label, results);
    }

    /// The runs of a cell that measured this.
    pub fn result(&self, cell: &Cell, metric: Metric) -> Option<&StrategyResult> {
        let results = if metric.is_reproducible() {
            &self.simulated
        } else {
            &self.clocked
        };
        let results = results.get(&cell.setting.label())?;
        results.iter().find(|r| r.strategy == cell.strategy)
    }

    /// What a cell gave.
    pub fn reading(&self, cell: &Cell, metric: Metric) -> Reading {
        let Some(result) = self.result(cell, metric) else {
            return Reading::Missing;
        };
        if result.saturated && grows_with_backlog(metric, cell.setting.scheduler) {
            return Reading::Saturated;
        }
        let values: Option<Vec<f64>> = result.runs.iter().map(|run| run.values[metric]).collect();
        values.map_or(Reading::Missing, Reading::Values)
    }

    /// Whether the backlog of a simulated cell grew; `None` if it was not simulated.
    pub fn backlog(&self, cell: &Cell) -> Option<Backlog> {
        let runs = &self.result(cell, Metric::WaitingDelay)?.runs;
        let grew = runs.iter().filter(|run| run.saturated).count();
        Some(Backlog::of(grew, runs.len()))
    }

    /// By what part `own` is below `other`; `None` if one of them was not measured.
    pub fn gain(&self, own: &Cell, other: &Cell, metric: Metric) -> Option<Gain> {
        match (self.reading(own, metric), self.reading(other, metric)) {
            (Reading::Missing, _) | (_, Reading::Missing) => None,
            (Reading::Saturated, Reading::Saturated) => Some(Gain::BothSaturated),
            (Reading::Saturated, _) => Some(Gain::OwnSaturated),
            (_, Reading::Saturated) => Some(Gain::OtherSaturated),
            (Reading::Values(own), Reading::Values(other)) => {
                let ratio = paired_ratio(&own, &other)?;
                Some(Gain::By(Estimate {
                    mean: 1.0 - ratio.mean,
                    ..ratio
                }))
            }
        }
    }

    /// The ratio of `own` to `other`; `None` where there is none.
    pub fn ratio(&self, own: &Cell, other: &Cell, metric: Metric) -> Option<Estimate> {
        match (self.reading(own, metric), self.reading(other, metric)) {
            (Reading::Values(own), Reading::Values(other)) => paired_ratio(&own, &other),
            _ => None,
        }
    }
}

/// Over the replications that both have: where an error is asked for, one may have needed more than the other.
fn paired_ratio(own: &[f64], other: &[f64]) -> Option<Estimate> {
    let both = own.len().min(other.len());
    Estimate::paired_ratio(&own[..both], &other[..both])
}
