//! The logs that a paper's figures need, which are no part of this program.

use std::path::{Path, PathBuf};

use meshalloc_sim::workload::{Log, LogError, SharedLogs};

/// The environment variable that names the folder of the logs unless another is given.
pub const FOLDER_VARIABLE: &str = "MESHALLOC_TRACES";

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
    pub fn has(&self, file: &Path) -> bool {
        let folder = self.folder.as_ref();
        folder.is_some_and(|folder| folder.join(file).is_file())
    }

    /// The log of a setting, with its jobs.
    pub fn read(&self, log: &Log) -> Result<Log, LogError> {
        let folder = self.folder.clone().unwrap_or_default();
        let in_folder = Log {
            path: folder.join(&log.path),
            ..log.clone()
        };
        Ok(Log {
            // Wherever the folder is, the results are the same.
            path: log.path.clone(),
            ..self.shared.fill(&in_folder)?
        })
    }
}
