//! An observer: it sees every job of a run and keeps the one that waits longest.
//!
//! ```sh
//! cargo run -p meshalloc-sim --example observer
//! ```

use meshalloc::{Shape, StrategyKind, Ticks};
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment;
use meshalloc_sim::scenario::{RunError, Scenario};
use meshalloc_sim::simulation::{Observer, Seen};
use meshalloc_sim::workload::{SharedLogs, TimeUnit};

/// The longest wait so far.
#[derive(Debug, Default)]
pub(crate) struct Longest {
    pub(crate) jobs: u32,
    pub(crate) job: u32,
    pub(crate) wait: Ticks,
}

impl Observer for Longest {
    fn see(&mut self, seen: &Seen<'_>) {
        let Seen::Job(record) = seen else { return };
        self.jobs += 1;
        let wait = record.start.map(|start| start - record.job.arrival);
        if let Some(wait) = wait.filter(|&wait| wait > self.wait) {
            (self.job, self.wait) = (record.number, wait);
        }
    }
}

pub(crate) fn longest() -> Result<Longest, RunError> {
    let scenario = Scenario {
        mesh: Some(Shape::sides(16, 16)),
        load: Some(0.5),
        jobs: Some(2_000),
        ..Scenario::default()
    };
    let experiment = scenario.resolve()?.experiment(&SharedLogs::default());
    let experiment = experiment.map_err(RunError::Scenario)?;
    let mut longest = Longest::default();
    let backends = &mut InProcessBackends::default();
    experiment::run_observed(
        &experiment,
        StrategyKind::FirstFit,
        0,
        backends,
        &(),
        &mut longest,
    )?;
    Ok(longest)
}

fn main() -> Result<(), RunError> {
    let Longest { jobs, job, wait } = longest()?;
    let wait = TimeUnit::Second.of(wait);
    println!("of {jobs} jobs, job {job} waits longest: {wait} s");
    Ok(())
}
