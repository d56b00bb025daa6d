//! The logs that a paper's figures need, which are no part of this program.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::setting::LogSetting;
use crate::workload::Log;

/// The environment variable that names the folder of the logs unless another is given.
pub const FOLDER_VARIABLE: &str = "MESHALLOC_TRACES";

/// A folder of logs, each of which is read once.
#[derive(Debug, Default)]
pub struct Logs {
    folder: Option<PathBuf>,
    read: RefCell<Vec<(LogSetting, Log)>>,
}

impl Logs {
    /// The logs in `folder`, else in that of [`FOLDER_VARIABLE`].
    pub fn new(folder: Option<&Path>) -> Self {
        let named = || std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from);
        Logs {
            folder: folder.map(Path::to_owned).or_else(named),
            read: RefCell::default(),
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
        let known = |known: &LogSetting| {
            let key = |it: &LogSetting| (it.file, it.machine, it.options);
            key(known) == key(setting)
        };
        let mut read = self.read.borrow_mut();
        let place = read.iter().position(|(of, _)| known(of));
        let log = match place {
            Some(place) => read[place].1.clone(),
            None => {
                let folder = self.folder.clone().unwrap_or_default();
                let path = folder.join(setting.file);
                let log = Log::read(&path, setting.options, setting.machine);
                let log = log.map_err(|error| error.to_string())?;
                read.push((*setting, log.clone()));
                log
            }
        };
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
