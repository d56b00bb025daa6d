//! The logs that a paper's figures need, which are no part of this program.

use std::path::{Path, PathBuf};

use meshalloc::Grid;

use crate::scenario::LogSource;
use crate::workload::{EstimateModel, Log, LogOptions, Resample, SharedLogs};

/// The environment variable that names the folder of the logs unless another is given.
pub const FOLDER_VARIABLE: &str = "MESHALLOC_TRACES";

/// A log of a setting, and what is made of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogSetting {
    /// The name of its file.
    pub file: &'static str,
    /// The machine.
    pub machine: Grid,
    /// Which of its jobs, in which shapes.
    pub options: LogOptions,
    /// The offered load to which submit times are stretched.
    pub load: Option<f64>,
    /// How replications are made.
    pub resample: Option<Resample>,
    /// Which estimate of its run time a request carries.
    pub estimates: EstimateModel,
}

impl LogSetting {
    /// That of a scenario. The name of the file stays in memory until the program ends: papers name a few.
    pub(super) fn new(source: &LogSource, machine: Grid, estimates: EstimateModel) -> Self {
        LogSetting {
            file: String::leak(source.file.to_string_lossy().into_owned()),
            machine,
            options: source.options,
            load: source.load,
            resample: source.resample,
            estimates,
        }
    }
}

/// A folder of logs, each of which is read once.
#[derive(Debug, Default)]
pub struct Logs {
    folder: Option<PathBuf>,
    shared: SharedLogs,
}

impl Logs {
    /// The logs in `folder`, else in that of [`FOLDER_VARIABLE`].
    pub fn new(folder: Option<&Path>) -> Self {
        let named = || std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from);
        Logs {
            folder: folder.map(Path::to_owned).or_else(named),
            shared: SharedLogs::default(),
        }
    }

    /// Whether there is this file.
    pub fn has(&self, file: &str) -> bool {
        let folder = self.folder.as_ref();
        folder.is_some_and(|folder| folder.join(file).is_file())
    }

    /// The log as the setting has it.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn read(&self, setting: &LogSetting) -> Result<Log, String> {
        let folder = self.folder.clone().unwrap_or_default();
        let path = folder.join(setting.file);
        let log = self.shared.read(&path, setting.options, setting.machine);
        let log = log.map_err(|error| error.to_string())?;
        Ok(Log {
            load: setting.load,
            resample: setting.resample,
            estimates: setting.estimates,
            // Wherever the folder is, the results are the same.
            path: setting.file.into(),
            ..log
        })
    }
}
