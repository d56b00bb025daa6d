//! Jobs that send messages, from the outside.

use std::fs;

use serde_json::Value;

use crate::program::{host_sim, host_sim_in};

fn mean(result: &Value, metric: &str) -> f64 {
    let value = &result["metrics"][metric]["mean"];
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{metric}: {result}"))
}

#[test]
fn times_are_cycles_and_messages_are_measured() {
    let line = "run --mesh 16x16 --strategy ff,naive --pattern all-to-all --arrival-rate 0.00002 \
                --side-lengths uniform --jobs 60 --replications 3 --format json";
    let json = host_sim(line).json();
    let scenario = &json["scenario"];
    for (key, value) in [
        ("pattern", Value::from("all-to-all")),
        ("arrival_rate", 0.00002.into()),
        ("flits", 8.into()),
        ("routing_delay", 3.into()),
        ("messages", 1.into()),
        ("iterations", 1.into()),
        ("blocking", false.into()),
        ("measure", "departures".into()),
        ("jobs", 60.into()),
    ] {
        assert_eq!(scenario[key], value, "{key}");
    }
    assert!(scenario.get("service_mean").is_none() && scenario.get("warmup").is_none());
    for result in json["results"].as_array().unwrap() {
        assert_eq!(result["time_unit"], "cycle");
        assert_eq!(mean(result, "jobs"), 60.0);
        let turnaround = mean(result, "waiting_delay") + mean(result, "service_time");
        assert!((mean(result, "turnaround") / turnaround - 1.0).abs() < 1e-9);
        let zero_load = 4.0 * (mean(result, "hops") + 1.0) + 8.0;
        let latency = zero_load + mean(result, "blocked_time");
        assert!((mean(result, "message_latency") / latency - 1.0).abs() < 1e-9);
        // 60 departures at this rate take some three million cycles.
        let end = mean(result, "completion_time");
        assert!((1e6..1e7).contains(&end), "{end}");
    }
    // Without messages there is nothing of them.
    let json = host_sim("run --mesh 8x8 --jobs 50 --replications 1 --format json").json();
    assert_eq!(json["results"][0]["time_unit"], "second");
    assert!(json["results"][0]["metrics"].get("hops").is_none());
}

#[test]
fn the_number_of_threads_does_not_show() {
    let line = "run --mesh 8x8 --strategy ff,naive --pattern n-body+fft+random --arrival-rate 0.002 \
                --jobs 200 --replications 5 --format json --threads";
    let run = |threads: u32| {
        let mut json = host_sim(&format!("{line} {threads}")).json();
        for result in json["results"].as_array_mut().unwrap() {
            let result = result.as_object_mut().unwrap();
            result.remove("elapsed_seconds");
            result.remove("jobs_per_second");
        }
        json
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn first_fit_saturates_where_the_thesis_model_does() {
    let line = "run --mesh 16x16 --strategy ff --pattern one-to-all --arrival-rate 0.002 --side-lengths uniform \
                --jobs 1000 --replications 6 --format json";
    let json = host_sim(line).json();
    let result = &json["results"][0];
    // .613 +- .006 over 20 runs of an independent model; one run has a standard deviation of .0125.
    assert!(
        (mean(result, "utilization") - 0.613).abs() < 0.015,
        "{result}"
    );
    assert_eq!(result["saturated"], true);
    // The delays of a thousand departures have a value even so.
    assert!(mean(result, "turnaround") > 400_000.0, "{result}");
}

#[test]
fn the_table_names_cycles_and_fits_a_terminal() {
    let line = "run --mesh 16x16 --strategy ff,as --pattern nearest-neighbor --arrival-rate 0.02 --jobs 300 \
                --scheduler bypass-queue:500 --blocking --iterations 3 --replications 2";
    let shown = host_sim(line).good();
    for part in [
        "0.02 jobs a cycle",
        "nearest-neighbor, 3 iterations, blocking, 8 flits, routing delay 3",
        "bypass-queue:500",
        "300 departures a run",
        "delay (cycles)",
        "latency (cycles)",
        "hops",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
}

#[test]
fn arrivals_can_be_measured_in_place_of_departures() {
    let line = "run --mesh 8x8 --pattern ring --arrival-rate 0.01 --jobs 400 --replications 2 --format json";
    let json = host_sim(&format!("{line} --measure arrivals --warmup 0.25")).json();
    assert_eq!(json["scenario"]["measure"], "arrivals");
    assert_eq!(json["scenario"]["warmup"], 0.25);
    assert_eq!(mean(&json["results"][0], "jobs"), 300.0);
    // And departures where jobs have service times.
    let line =
        "run --mesh 8x8 --load .4 --measure departures --jobs 400 --replications 2 --format json";
    let json = host_sim(line).json();
    assert_eq!(json["scenario"]["measure"], "departures");
    assert_eq!(mean(&json["results"][0], "jobs"), 400.0);
}

#[test]
fn jobs_that_are_all_there_send_messages_too() {
    let line = "run --mesh 8x8 --pattern transpose --batch 30 --replications 2 --format json";
    let json = host_sim(line).json();
    assert_eq!(json["scenario"]["batch"], 30);
    assert_eq!(mean(&json["results"][0], "jobs"), 30.0);
}

#[test]
fn a_study_has_patterns_and_rates_as_axes() {
    let line = "run --mesh 8x8 --jobs 50 --replications 2 --strategy ff,as --blocking \
                --pattern one-to-all,all-to-all --arrival-rate .0001,.001 --metrics message_latency \
                --format csv";
    let text = host_sim(line).good();
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<_> = rows.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 8);
    for row in &rows {
        let latency: f64 = row[4].parse().unwrap();
        assert!(latency >= 16.0, "{row:?}");
    }
    assert_eq!((&rows[7][0], &rows[7][1]), ("all-to-all", "0.001"));
}

#[test]
fn the_jobs_of_a_log_take_turns_with_patterns() {
    let folder = tempfile::tempdir().unwrap();
    // Number, submitted, waited, ran, processors: 4 each, a minute apart, 30 or 100 s.
    let lines = (0..10).map(|i| {
        let run = if i % 2 == 0 { 30 } else { 100 };
        format!(
            "{i} {} -1 {run} 4 -1 -1 4 -1 -1 1 1 1 -1 -1 -1 -1 -1\n",
            60 * i
        )
    });
    fs::write(folder.path().join("log.swf"), lines.collect::<String>()).unwrap();
    let run = |options: &str| {
        let line = format!("run --log log.swf --mesh 8x8 --format json {options}");
        host_sim_in(folder.path(), &line).json()
    };
    // 2 x 2: the ring needs 20 cycles for its longest message; all-to-one, its root once at each
    // place, a bit more.
    let json = run("--pattern ring+ring --cycles-per-second 10");
    assert_eq!(json["scenario"]["pattern"], "ring+ring");
    assert_eq!(json["scenario"]["cycles_per_second"], 10.0);
    let ring = &json["results"][0];
    // The last job comes at 540 s.
    let last = 5400.0 + mean(ring, "service_time");
    assert_eq!(mean(ring, "completion_time"), last);
    let mixed = run("--pattern ring+nearest-neighbor");
    assert_ne!(
        mean(&mixed["results"][0], "service_time"),
        mean(ring, "service_time")
    );
    // One iteration for each 25 s: 1 (30 / 25 = 1.2) and 4.
    let longer = run("--pattern ring --iteration-seconds 25");
    assert_eq!(longer["scenario"]["iteration_seconds"], 25.0);
    let four = run("--pattern ring --iterations 4");
    let [one, some, four] = [ring, &longer["results"][0], &four["results"][0]]
        .map(|result| mean(result, "service_time"));
    assert!(
        (some - (one + four) / 2.0).abs() < 1e-9,
        "{one} {some} {four}"
    );
}
