//! A setting of a paper's figure: everything about a run but the strategy, its length and its
//! random numbers.

use meshalloc::StrategyKind;
use serde_json::Value;

use super::length::Length;
use super::logs::Logs;
use meshalloc_sim::experiment::Experiment;
use meshalloc_sim::scenario::{Resolved, Scenario};
use meshalloc_sim::workload::{Rate, Synthetic, Workload};

/// Everything about a run but the strategy, its length and its random numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// A run without strategies. A log in it has no jobs yet.
    pub plan: Experiment,
    /// The settings of a scenario that describe it.
    pub settings: Scenario,
}

impl Setting {
    /// The setting of a scenario, and its first strategy.
    pub fn of(resolved: Resolved) -> (Self, StrategyKind) {
        let Resolved { plan, settings, .. } = resolved;
        let strategy = plan.strategies[0];
        let plan = Experiment {
            strategies: Vec::new(),
            ..plan
        };
        let settings = Scenario {
            strategy: None,
            jobs: None,
            replications: None,
            seed: None,
            backend: None,
            ..settings
        };
        (Setting { plan, settings }, strategy)
    }

    /// Its settings with their values, for people.
    pub fn label(&self) -> Vec<(String, String)> {
        let record = self.settings.record();
        let settings = record.as_object().into_iter().flatten();
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        settings
            .map(|(name, value)| (name.clone(), text(value)))
            .collect()
    }

    /// Its workload, if it is drawn from distributions.
    pub const fn synthetic(&self) -> Option<&Synthetic> {
        match &self.plan.workload {
            Workload::Synthetic(workload) => Some(workload),
            Workload::Log(_) => None,
        }
    }

    /// Whether the runs have fewer jobs, since fewer are enough or each takes long.
    pub const fn is_short(&self) -> bool {
        self.plan.backlog.is_some() || self.plan.switches.largest
    }

    /// How often jobs arrive; `None` when they all come at once, or as a log says.
    pub fn rate(&self) -> Option<Rate> {
        self.synthetic()?.arrivals.rate()
    }

    /// The experiment that measures these strategies; an error when one of its files cannot be
    /// read, or the machine never gives a shape of its mix.
    pub fn experiment(
        &self,
        strategies: Vec<StrategyKind>,
        length: Length,
        logs: &Logs,
    ) -> Result<Experiment, String> {
        let unread = Experiment {
            strategies,
            jobs: length.jobs,
            replications: length.replications,
            seed: length.seed,
            ..self.plan.clone()
        };
        let read = unread.read(|log| logs.read(log));
        read.map_err(|(_, error)| error.to_string())
    }
}
