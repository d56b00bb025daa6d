//! Jobs from an iterator of your own: a large job each minute, a small one each second.
//!
//! ```sh
//! cargo run -p meshalloc-sim --example own_jobs
//! ```

use std::error::Error;

use meshalloc::{Configuration, Mesh, Request, SchedulerKind, StrategyKind};
use meshalloc_sim::backend::{Backends, InProcessBackends};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::simulation::{self, Measured, RunResult};
use meshalloc_sim::workload::{Job, TimeUnit, Work};

/// Jobs in order of arrival, without end.
fn jobs() -> impl Iterator<Item = Job> {
    let ticks = |seconds: u32| TimeUnit::Second.ticks(seconds.into());
    (0..).map(move |second| {
        let (side, service) = if second % 60 == 0 { (6, 30) } else { (2, 10) };
        Job {
            arrival: ticks(second),
            request: Request::submesh(side, side),
            work: Work::Service(ticks(service)),
        }
    })
}

pub(crate) fn run(strategy: StrategyKind) -> Result<RunResult, Box<dyn Error>> {
    let machine = Mesh::new(8, 8)?.grid();
    let configuration = Configuration {
        machine,
        strategy,
        scheduler: SchedulerKind::Fcfs,
    };
    let measured = Measured::Arrivals {
        first: 60,
        end: 660,
    };
    let mut result = None;
    InProcessBackends::default().with(configuration, None, &mut |backend| {
        let run = simulation::run(backend, machine, jobs(), measured, &mut ());
        result = Some(run);
    })?;
    Ok(result.ok_or("a backend runs its body")??)
}

fn main() -> Result<(), Box<dyn Error>> {
    for strategy in [StrategyKind::FirstFit, StrategyKind::BestFit] {
        let values = run(strategy)?.values;
        let [wait, used] = [Metric::WaitingDelay, Metric::Utilization].map(|of| values[of]);
        println!("{strategy}: waiting delay {wait:.2?} s, utilization {used:.3?}");
    }
    Ok(())
}
