//! The library from the outside.

mod backlog;
mod coverage;
mod distributions;
mod examples;
mod experiment;
mod grammar;
mod log;
mod own;
mod parallel;
mod places;
mod preemption;
mod reasons;
mod shape;
mod situation;
mod statistics;
mod swf;
mod traffic;
mod victims;
mod words;

use meshalloc::{Mesh, StrategyKind};
use meshalloc_sim::experiment::Experiment;
use meshalloc_sim::workload::{Rate, ServiceDistribution, SideDistribution, Synthetic, Workload};

const AS: StrategyKind = StrategyKind::AdaptiveScan;
const FSL: StrategyKind = StrategyKind::FreeSubmeshList;

/// Uniform sides on a square mesh, exponential service times of 10 s on average, first come, first
/// served.
fn uniform(side: u16, load: f64) -> Synthetic {
    let service = ServiceDistribution::Exponential { mean_seconds: 10.0 };
    let mesh = Mesh::new(side, side).unwrap();
    Synthetic::new(mesh, SideDistribution::Uniform, service, Rate::Load(load))
}

/// One replication of this number of jobs, with seed 1.
fn experiment(workload: Synthetic, jobs: u32, strategies: &[StrategyKind]) -> Experiment {
    Experiment::new(Workload::Synthetic(workload), jobs, strategies)
}
