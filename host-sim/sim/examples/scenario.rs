//! A scenario in ten lines: two strategies on the same jobs.
//!
//! ```sh
//! cargo run -p meshalloc-sim --example scenario
//! ```

use meshalloc::{Shape, StrategyKind};
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::scenario::{Results, RunError, Scenario, StrategyChoice};

pub(crate) fn results() -> Result<Results, RunError> {
    let strategies = [StrategyKind::FirstFit, StrategyKind::FreeSubmeshList];
    let scenario = Scenario {
        mesh: Some(Shape::sides(16, 16)),
        strategy: Some(strategies.map(StrategyChoice::One).to_vec()),
        load: Some(0.5),
        jobs: Some(2_000),
        ..Scenario::default()
    };
    scenario.run()
}

fn main() -> Result<(), RunError> {
    for result in &results()?.strategies {
        let waiting = result.metrics[Metric::WaitingDelay].map(|estimate| estimate.mean);
        println!("{}: waiting delay {waiting:.2?} s", result.strategy);
    }
    Ok(())
}
