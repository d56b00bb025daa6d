//! Tasks that communicate and do I/O, from the outside.

use serde_json::{Value, json};

use crate::program::host_sim;

fn mean(result: &Value, metric: &str) -> f64 {
    let value = &result["metrics"][metric]["mean"];
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{metric}: {result}"))
}

const PAPER: &str = "run --mesh 16x16 --batch 16 --processors exponential:16 --format json";

#[test]
fn the_papers_workload_is_recorded_and_gives_seconds() {
    let line = "--io-nodes left --io communications=4,pattern=all-to-all --strategy naive,ff --replications 20";
    let json = host_sim(&format!("{PAPER} {line}")).json();
    let scenario = json!({
        "mesh": "16x16", "strategy": ["naive", "first-fit"], "scheduler": "fcfs",
        "processors": "exponential:16", "shape": "near-square", "batch": 16, "io_nodes": "left",
        "io": "communications=4,pattern=all-to-all,direction=write,link=11.65,disk=4.545,network=fair-shares",
        "estimates": "none", "replications": 20, "slowdown_threshold": 10.0, "seed": 1, "backend": "in-process"
    });
    assert_eq!(json["scenario"], scenario);
    for result in json["results"].as_array().unwrap() {
        assert_eq!(result["time_unit"], "second");
        // The jobs of a closed workload wait from 0 on, and are served until the end.
        let turnaround = mean(result, "waiting_delay") + mean(result, "service_time");
        assert!((mean(result, "turnaround") / turnaround - 1.0).abs() < 1e-9);
        assert!(mean(result, "turnaround") < mean(result, "completion_time"));
    }
    let fragmentation = |place: usize| mean(&json["results"][place], "internal_fragmentation");
    assert_eq!(fragmentation(0), 0.0);
    assert!(fragmentation(1) > 0.0, "a shape holds more than the number");
}

#[test]
fn more_communication_takes_longer_and_reads_are_faster() {
    let total = |io: &str| {
        let json = host_sim(&format!("{PAPER} --strategy naive --replications 5 {io}")).json();
        mean(&json["results"][0], "completion_time")
    };
    let written = total("--io-nodes left");
    assert!(total("--io communications=16") > written);
    assert!(total("--io communications=16,pattern=permutation") > written);
    assert!(total("--io direction=read") < written);
    // Twice as much in a second.
    let faster = total("--io link=23.3,disk=9.09");
    assert!(
        (2.0 * faster / written - 1.0).abs() < 1e-6,
        "{faster} {written}"
    );
    // The mesh and its I/O nodes turned around, but for the order in which naive takes processors.
    assert_ne!(total("--io-nodes bottom"), written);
    assert_eq!(total("--io communications=0,direction=write"), written);
}

#[test]
fn the_number_of_threads_does_not_show() {
    let line = format!(
        "{PAPER} --strategy naive,ff --io communications=3,pattern=permutation --replications 9 --threads"
    );
    let run = |threads: u32| {
        let mut json = host_sim(&format!("{line} {threads}")).json();
        for result in json["results"].as_array_mut().unwrap() {
            result
                .as_object_mut()
                .unwrap()
                .retain(|key, _| !key.contains("second"));
        }
        json["results"].clone()
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn numbers_of_processors_go_with_service_times_and_logs_of_arrivals() {
    let line = "run --mesh 16x16 --processors exponential:20 --load 0.3 --jobs 300 --replications 2 --format json";
    let json = host_sim(&format!("{line} --strategy naive")).json();
    let result = &json["results"][0];
    assert_eq!(mean(result, "internal_fragmentation"), 0.0);
    assert_eq!(json["scenario"]["shape"], "near-square");
    // On any grid with the rule for it.
    let cubic = host_sim(
        "run --torus 4x4x4 --processors exponential:5 --jobs 50 --replications 1 --format json",
    );
    assert_eq!(cubic.json()["scenario"]["shape"], "near-cubic");
}

/// Totals of an independent model over 1000 other seeds, with the half-widths of their intervals.
#[test]
fn totals_and_paired_differences_are_those_of_an_independent_model() {
    let totals = |communications: u32| -> Vec<f64> {
        let json = host_sim(&format!(
            "{PAPER} --io communications={communications} --strategy dbt:0.5,d-dbt:0.5,multiple-buddy,plas --replications 1000"
        ))
        .json();
        let results = json["results"].as_array().unwrap().iter();
        results
            .map(|result| mean(result, "completion_time"))
            .collect()
    };
    let near = |found: f64, expected: f64, error: f64, what: &str| {
        assert!(
            (found - expected).abs() < error,
            "{what}: {found} for {expected}"
        );
    };
    let [dbt, _, _, plas] = totals(0)[..] else {
        panic!("four strategies");
    };
    near(dbt, 100.5, 1.5, "DBT, I/O alone");
    near(plas, 91.4, 1.5, "PLAS, I/O alone");
    let [dbt, d_dbt, mbs, plas] = totals(64)[..] else {
        panic!("four strategies");
    };
    near(dbt, 1046.0, 51.0, "DBT, 64 communications");
    near(d_dbt - dbt, 112.0, 24.0, "d-DBT over DBT");
    near(mbs - dbt, 157.0, 25.0, "MBS over DBT");
    near(plas - dbt, 283.0, 24.0, "PLAS over DBT");
}
