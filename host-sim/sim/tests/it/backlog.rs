//! Jobs that always wait: the load at which a strategy saturates.

use std::num::NonZero;

use meshalloc::{Cube, Description, Grid, Hole, Mesh, StrategyKind};
use meshalloc_sim::backend::InProcessBackends;
use meshalloc_sim::experiment::{self, Experiment, Replications, StrategyResult};
use meshalloc_sim::machine::Described;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::scenario;
use meshalloc_sim::statistics::Estimate;
use meshalloc_sim::workload::{Arrivals, Rate, Requests, SideRange, Workload};

use super::{AS, FSL, uniform};

fn saturation(side: u16, strategies: &[StrategyKind]) -> Experiment {
    Experiment {
        backlog: Some(NonZero::<u32>::MIN),
        replications: Replications::Fixed(4),
        ..super::experiment(uniform(side, 1.0), 4_000, strategies)
    }
}

/// Draws widths and heights from these ranges.
fn set_sides(saturation: &mut Experiment, widths: (u16, u16), heights: (u16, u16)) {
    let Workload::Synthetic(workload) = &mut saturation.workload else {
        panic!("it is no log");
    };
    let Requests::Submeshes(submeshes) = &mut workload.requests else {
        panic!("it is a workload for a mesh");
    };
    submeshes.sides[0] = SideRange::new(widths.0, widths.1).unwrap();
    submeshes.sides[1] = SideRange::new(heights.0, heights.1).unwrap();
}

fn run(saturation: &Experiment) -> Vec<StrategyResult> {
    experiment::run_parallel(saturation, None, &InProcessBackends::default, &()).unwrap()
}

fn utilization_of(result: &StrategyResult) -> Estimate {
    result.metrics[Metric::Utilization].unwrap()
}

#[test]
fn jobs_of_one_processor_keep_all_busy() {
    let mut saturation = saturation(4, &[FSL, StrategyKind::Naive]);
    set_sides(&mut saturation, (1, 1), (1, 1));
    for result in run(&saturation) {
        assert_eq!(utilization_of(&result).mean, 1.0, "{}", result.strategy);
    }
}

#[test]
fn processors_that_a_machine_lacks_are_not_counted() {
    let mut saturation = saturation(4, &[AS, FSL, StrategyKind::Naive]);
    set_sides(&mut saturation, (1, 1), (1, 1));
    let hole = Hole::new(&[1, 1], &[2, 2]).unwrap();
    let machine = Description::new(saturation.machine)
        .and_then(|machine| machine.with_absent(&[hole]))
        .unwrap();
    saturation.description = Some(Described::new("lacking", machine));
    for result in run(&saturation) {
        assert_eq!(utilization_of(&result).mean, 1.0, "{}", result.strategy);
    }
}

#[test]
fn jobs_of_the_whole_mesh_follow_each_other() {
    let mut saturation = saturation(4, &[AS]);
    set_sides(&mut saturation, (4, 4), (4, 4));
    assert_eq!(utilization_of(&run(&saturation)[0]).mean, 1.0);
    // Three columns of four: one job at a time, and a quarter of the mesh never works.
    set_sides(&mut saturation, (3, 3), (4, 4));
    assert_eq!(utilization_of(&run(&saturation)[0]).mean, 0.75);
}

#[test]
fn two_half_meshes_saturate_by_renewal_theory() {
    // Jobs take one or both halves of the mesh, each as likely, for a time of mean 1 (in units of
    // the mean service time), first come, first served. A cycle is k jobs of one half, P(k) = 2^-(k
    // + 1), then one of both. The k jobs take (k - 1)/2 while both halves work, and 1 for the last
    // one alone; over all k >= 1 that is 3/4. So a cycle takes 3/4 + 1, and the work in it is 1 *
    // 1/2 + 1.
    let expected = 1.5 / 1.75;
    let mut saturation = saturation(2, &[StrategyKind::FirstFit]);
    set_sides(&mut saturation, (1, 2), (2, 2));
    saturation.jobs = 40_000;
    let utilization = utilization_of(&run(&saturation)[0]);
    let half_width = utilization.ci95.unwrap().half_width();
    assert!(half_width < 0.01, "{half_width}");
    let error = (utilization.mean - expected).abs();
    assert!(error < 0.01, "{} instead of {expected}", utilization.mean);
}

#[test]
fn the_backlog_does_not_matter_to_first_come_first_served() {
    let one = saturation(16, &[FSL]);
    let many = Experiment {
        backlog: NonZero::new(7),
        ..one.clone()
    };
    let [one_hash, many_hash] = [&one, &many].map(|saturation| run(saturation)[0].decision_hash);
    assert_eq!(one_hash, many_hash);
    // Jobs arrive six grants earlier, and the window with them.
    let utilization = |saturation: &Experiment| utilization_of(&run(saturation)[0]).mean;
    let difference = utilization(&one) - utilization(&many);
    assert!(difference.abs() < 0.002, "{difference}");
}

#[test]
fn it_is_the_load_at_which_queues_begin_to_grow() {
    let saturation = saturation(16, &[AS]);
    let utilization = utilization_of(&run(&saturation)[0]).mean;
    for (factor, saturated) in [(0.9, false), (1.1, true)] {
        let Workload::Synthetic(mut workload) = saturation.workload.clone() else {
            panic!("it is no log");
        };
        workload.arrivals = Arrivals::Poisson(Rate::Load(utilization * factor));
        let experiment = Experiment {
            workload: Workload::Synthetic(workload),
            jobs: 10_000,
            backlog: None,
            replications: Replications::Fixed(3),
            ..saturation.clone()
        };
        let results = experiment::run(&experiment, &mut InProcessBackends::default(), &()).unwrap();
        assert_eq!(
            results[0].saturated,
            saturated,
            "load {}",
            utilization * factor
        );
    }
}

#[test]
fn strategies_that_do_not_serve_the_mesh_are_left_out() {
    let buddy = StrategyKind::Buddy;
    let serving = |machine: Grid| {
        let strategies = [
            AS,
            StrategyKind::FreeList,
            buddy,
            StrategyKind::TreeCollapsing,
        ];
        let mut serving = strategies.to_vec();
        serving.retain(|&strategy| scenario::serves(machine, None, strategy));
        serving
    };
    let tree = StrategyKind::TreeCollapsing;
    assert_eq!(
        serving(Mesh::new(16, 16).unwrap().into()),
        [AS, buddy, tree]
    );
    assert_eq!(serving(Mesh::new(12, 12).unwrap().into()), [AS, tree]);
    let cube = |k| serving(Cube::new(k, 3).unwrap().into());
    assert_eq!(cube(4), [AS, StrategyKind::FreeList, tree]);
    assert_eq!(cube(3), [AS, tree]);
    assert_eq!(serving(Grid::torus(&[3, 4, 5]).unwrap()), [AS, tree]);
    let odd = saturation(12, &[buddy]);
    let error = experiment::run(&odd, &mut InProcessBackends::default(), &())
        .unwrap_err()
        .to_string();
    assert!(error.contains("does not serve"), "{error}");
}
