//! From a scenario to its results.

use meshalloc::StrategyKind;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::resolve::Resolved;
use super::table::{BackendChoice, Scenario};
use crate::backend::{Backends, InProcessBackends};
use crate::error::SettingError;
use crate::experiment::{self, ExperimentError, Failed, Progress, StrategyResult};
use crate::results::StrategySummary;
use crate::workload::SharedLogs;

/// The results of a scenario. Their serde form has the keys of the documents of `host-sim run`.
#[derive(Clone, Debug)]
pub struct Results {
    /// The settings, defaults filled in.
    pub scenario: Scenario,
    /// The results of each strategy, in the order of the scenario.
    pub strategies: Vec<StrategyResult>,
}

impl Results {
    /// The results of this strategy.
    pub fn of(&self, strategy: StrategyKind) -> Option<&StrategyResult> {
        let mut all = self.strategies.iter();
        all.find(|result| result.strategy == strategy)
    }
}

impl Serialize for Results {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let results = self.strategies.iter();
        let results = results.map(|result| StrategySummary::new(result, &self.strategies, &[]));
        let mut fields = serializer.serialize_struct("Results", 2)?;
        fields.serialize_field("scenario", &self.scenario)?;
        fields.serialize_field("results", &results.collect::<Vec<_>>())?;
        fields.end()
    }
}

/// Why a scenario has no results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario's settings cannot be used. The text names them, with their place if they are in
    /// a file.
    #[error("{0}")]
    Scenario(String),
    /// A run ended early.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
}

impl From<SettingError> for RunError {
    fn from(error: SettingError) -> Self {
        RunError::Scenario(error.to_string())
    }
}

impl From<Failed> for RunError {
    fn from(failed: Failed) -> Self {
        RunError::Experiment(failed.reason)
    }
}

impl Scenario {
    /// Fills in the defaults and runs the scenario in this process, over as many threads as the
    /// computer has processors. The number of threads changes no result.
    ///
    /// # Errors
    ///
    /// When the settings cannot be used, or a run ends early.
    pub fn run(&self) -> Result<Results, RunError> {
        self.resolve()?.run()
    }
}

impl Resolved {
    /// As [`Scenario::run`].
    pub fn run(&self) -> Result<Results, RunError> {
        if let BackendChoice::Line(endpoint) = self.backend() {
            let reason = format!(
                "`backend` is {endpoint} (expected in-process; `run_on` runs it elsewhere)"
            );
            let error = SettingError::new(&["backend"], reason);
            return Err(RunError::Scenario(self.place(&error)));
        }
        self.run_on(&InProcessBackends::default, &())
    }

    /// The same with a set of controllers from `backends` for each thread; `progress` follows the
    /// runs.
    pub fn run_on<B: Backends>(
        &self,
        backends: &(dyn Fn() -> B + Sync),
        progress: &dyn Progress,
    ) -> Result<Results, RunError> {
        let experiment = self.experiment(&SharedLogs::default());
        let experiment = experiment.map_err(RunError::Scenario)?;
        Ok(Results {
            scenario: self.settings.clone(),
            strategies: experiment::run_parallel(&experiment, None, backends, progress)?,
        })
    }
}
