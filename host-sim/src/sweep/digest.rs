//! The number that tells whether a journal is of these points.

use std::collections::HashMap;
use std::fmt::{self, Debug, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use super::Point;
use meshalloc_sim::experiment::Experiment;
use meshalloc_sim::simulation::Fnv1a;
use meshalloc_sim::workload::{Log, LogJob, Workload};

/// A number that changes with anything that the results of these points depend on: every field of their experiments, which
/// `Debug` shows without exception, and the jobs of logs; and with the keys of the grid, which are in the journal. Where a log was
/// read from does not change it, so that one file may be spelled in several ways, in a value of the grid, too.
///
/// A list of jobs that points share is gone through once.
pub(crate) fn digest(points: &[Point]) -> u64 {
    let mut sink = Sink(Fnv1a::default());
    let mut lists: HashMap<*const LogJob, u64> = HashMap::new();
    for Point { label, experiment } in points {
        label.iter().for_each(|(key, _)| sink.add(key));
        let Workload::Log(log) = &experiment.workload else {
            sink.add(experiment);
            continue;
        };
        let jobs = lists.entry(log.jobs.as_ptr()).or_insert_with(|| {
            let mut sink = Sink(Fnv1a::default());
            sink.add(&log.jobs);
            sink.0.0
        });
        let all_but_jobs = Log {
            path: PathBuf::new(),
            jobs: Arc::default(),
            ..log.clone()
        };
        sink.add(&(
            Experiment {
                workload: Workload::Log(all_but_jobs),
                ..experiment.clone()
            },
            jobs,
        ));
    }
    sink.0.0
}

/// The digest of what is written.
struct Sink(Fnv1a);

impl Sink {
    fn add(&mut self, value: &impl Debug) {
        write!(self, "{value:?}").expect("the sink takes everything");
    }
}

impl fmt::Write for Sink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
