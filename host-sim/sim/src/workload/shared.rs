//! Logs that several workloads are made of, each read once for the same options and machine.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use meshalloc::Grid;

use super::{Log, LogError, LogOptions};

/// The logs read so far; one file with the same options and machine has one list of jobs.
#[derive(Debug, Default)]
pub struct SharedLogs(RefCell<Vec<(PathBuf, Log)>>);

impl SharedLogs {
    /// The log as [`Log::read`] has it; each file is read once for the same options and machine.
    pub fn read(&self, path: &Path, options: LogOptions, machine: Grid) -> Result<Log, LogError> {
        let mut read = self.0.borrow_mut();
        let is_it = |(file, log): &&(PathBuf, Log)| {
            file == path && (&log.options, log.machine) == (&options, machine)
        };
        if let Some((_, log)) = read.iter().find(is_it) {
            return Ok(log.clone());
        }
        let log = Log::read(path, options, machine)?;
        read.push((path.to_owned(), log.clone()));
        Ok(log)
    }

    /// A log as it is described, with its jobs, as [`Log::read`] has them.
    pub fn fill(&self, log: &Log) -> Result<Log, LogError> {
        Ok(Log {
            load: log.load,
            resample: log.resample,
            messages: log.messages,
            estimates: log.estimates,
            ..self.read(&log.path, log.options.clone(), log.machine)?
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use meshalloc::Mesh;

    use super::*;

    #[test]
    fn a_file_is_read_once_for_the_same_options_and_machine() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.swf");
        let line = "1 0 -1 10 4 -1 -1 4 20 -1 1 1 1 -1 -1 1 -1 -1\n";
        fs::write(&path, line.repeat(3)).unwrap();
        let machine = |side| Grid::from(Mesh::new(side, side).unwrap());
        let logs = SharedLogs::default();
        let all = LogOptions::default();
        let two = LogOptions {
            limit: Some(2),
            ..all.clone()
        };
        let read = |options, side| logs.read(&path, options, machine(side)).unwrap();
        let first = read(all.clone(), 4);
        assert_eq!(read(two, 4).jobs.len(), 2);
        assert_eq!(read(all.clone(), 5).machine, machine(5));
        fs::remove_file(&path).unwrap();
        assert!(Arc::ptr_eq(&first.jobs, &read(all.clone(), 4).jobs));
        let one = LogOptions {
            limit: Some(1),
            ..all.clone()
        };
        assert!(logs.read(&path, one, machine(4)).is_err());
    }
}
