//! Each example, and what it shows.

#![allow(dead_code, reason = "each example has a `main`")]

use meshalloc::StrategyKind;
use meshalloc_sim::metrics::Metric;

#[path = "../../examples/observer.rs"]
mod observer;
#[path = "../../examples/own_jobs.rs"]
mod own_jobs;
#[path = "../../examples/own_policies.rs"]
mod own_policies;
#[path = "../../examples/scenario.rs"]
mod scenario;

#[test]
fn a_scenario_in_ten_lines_has_results_for_each_strategy() {
    let results = scenario::results().unwrap();
    assert_eq!(results.strategies.len(), 2);
    let utilization = |of| results.of(of).unwrap().metrics[Metric::Utilization].unwrap();
    for strategy in [StrategyKind::FirstFit, StrategyKind::FreeSubmeshList] {
        // What is offered is served, up to the noise of 10 times 2,000 jobs.
        let mean = utilization(strategy).mean;
        assert!((0.4..0.6).contains(&mean), "{strategy}: {mean}");
    }
    let json = serde_json::to_value(&results).unwrap();
    assert_eq!(json["scenario"]["mesh"], "16x16");
    assert_eq!(json["results"][1]["strategy"], "free-submesh-list");
    // What is recorded is the same scenario again.
    let again = serde_json::from_value(json["scenario"].clone()).unwrap();
    assert_eq!(results.scenario, again);
    let again = again.run().unwrap();
    let hashes = |of: &meshalloc_sim::scenario::Results| -> Vec<u64> {
        of.strategies
            .iter()
            .map(|result| result.decision_hash)
            .collect()
    };
    assert_eq!(hashes(&again), hashes(&results));
}

#[test]
fn an_observer_sees_every_job() {
    let longest = observer::longest().unwrap();
    assert!(longest.jobs >= 2_000 && longest.wait > 0, "{longest:?}");
}

#[test]
fn jobs_come_from_an_iterator() {
    // Nine processors' worth of large jobs of 36 for 30 of 60 seconds, and 59 small ones of 4 for
    // 10.
    let offered = (36.0 * 30.0 + 59.0 * 4.0 * 10.0) / (60.0 * 64.0);
    for strategy in [StrategyKind::FirstFit, StrategyKind::BestFit] {
        let run = own_jobs::run(strategy).unwrap();
        let used = run.values[Metric::Utilization].unwrap();
        assert!(
            (used - offered).abs() < 0.05,
            "{strategy}: {used}, {offered}"
        );
    }
}

#[test]
fn policies_of_your_own_are_compared_with_first_fit() {
    let [first, last, smallest] = own_policies::compare().unwrap();
    let of = |(_, results): &(&str, meshalloc_sim::scenario::Results)| {
        let result = &results.strategies[0];
        (
            result.decision_hash,
            result.metrics[Metric::WaitingDelay].unwrap().mean,
        )
    };
    let ((first, _), (last, in_order), (smallest, out_of_order)) =
        (of(&first), of(&last), of(&smallest));
    assert!(first != last && last != smallest);
    assert!(out_of_order < in_order, "{out_of_order} s and {in_order} s");
}
