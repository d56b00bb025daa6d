//! `--preemption`: jobs that make room for urgent ones.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::program::{host_sim, host_sim_in};

/// Jobs of a mesh of 8 x 8: one with little priority, and an urgent one after 10 s.
const TRACE: &str = "submit,run,shape,priority,preemptible,id\n\
                     0,100,8x4,,yes,11\n1,100,8x4,,0,12\n10,5,8x2,60,,13\n";

fn folder(trace: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.csv"), trace).unwrap();
    folder
}

const LINE: &str = "run --mesh 8x8 --log a.csv --strategy ff";

#[test]
fn what_it_needs_is_named() {
    let folder = folder(TRACE);
    let none = "submit,run,shape,priority,preemptible\n0,9,4x4,9,1\n1,9,4x4,9,1\n2,9,4x4,,\n";
    fs::write(folder.path().join("none.csv"), none).unwrap();
    fs::write(folder.path().join("mix.csv"), "shape,weight\n4x4,1\n").unwrap();
    let needed = "--preemption requires a preemptible job and one of a higher priority";
    for (line, expected) in [
        (
            "run --mesh 8x8 --preemption on",
            "--preemption requires --mix or --log",
        ),
        ("run --mesh 8x8 --log none.csv --preemption on", needed),
        ("run --mesh 8x8 --mix mix.csv --preemption on:9", needed),
        ("run --mesh 8x8 --mix mix.csv --preemption off,on", needed),
        (
            "run --mesh 8x8 --log a.csv --preemption perhaps",
            "unknown preemption \"perhaps\" (known: off, on[:GRACE])",
        ),
        (
            "run --mesh 8x8 --log a.csv --preemption on:-1",
            "GRACE of on is \"-1\": expected a time, 0 to ",
        ),
        (
            "run --mesh 8x8 --log a.csv --preemption on --failures 4x4:1000,10 --restart in-place",
            "--preemption contradicts --restart in-place (expected elsewhere, elsewhere:last or",
        ),
        (
            "run --mesh 8x8 --log a.csv --checkpoint 5",
            "--checkpoint requires --failures or --preemption",
        ),
        (
            "run --mesh 8x8 --log a.csv --preemption on --pattern all-to-all",
            "cannot be used with",
        ),
    ] {
        let ended = host_sim_in(folder.path(), line);
        assert_eq!(ended.code, Some(2), "{line}: {ended}");
        assert!(ended.stderr.contains(expected), "{line}: {ended}");
    }
}

#[test]
fn metrics_and_columns_are_there_only_with_it() {
    let folder = folder(TRACE);
    let json = |options: &str| {
        let line = format!("{LINE} {options} --format json");
        host_sim_in(folder.path(), &line).json()
    };
    let (plain, off, on) = (
        json(""),
        json("--preemption off"),
        json("--preemption on:2s"),
    );
    let [plain_result, off_result, on_result] = [&plain, &off, &on].map(|it| &it["results"][0]);
    assert_eq!(plain_result["decision_hash"], off_result["decision_hash"]);
    assert_eq!(plain_result["metrics"], off_result["metrics"]);
    assert!(plain_result["metrics"]["preemptions"].is_null());
    assert_ne!(plain_result["decision_hash"], on_result["decision_hash"]);
    let recorded = [&plain, &off, &on].map(|it| it["scenario"]["preemption"].as_str());
    assert_eq!(recorded, [None, Some("off"), Some("on:2")]);
    let metrics = &on_result["metrics"];
    assert_eq!(metrics["preemptions"]["mean"], 1.0);
    let lost = metrics["preempted_node_hours"]["mean"].as_f64().unwrap();
    assert!((lost - 32.0 * 12.0 / 3600.0).abs() < 1e-9, "{lost}");
    let table = host_sim_in(
        folder.path(),
        &format!("{LINE} --preemption on:2s --checkpoint 5"),
    );
    let table = table.good();
    for text in ["preemption on:2, checkpoint 5 s", "preemp-", "node-hours"] {
        assert!(table.contains(text), "{table}");
    }
    let line = format!("{LINE} --preemption on:2s -o jobs.csv");
    host_sim_in(folder.path(), &line).good();
    let mut jobs = csv::Reader::from_path(folder.path().join("jobs.csv")).unwrap();
    let rows: Vec<std::collections::BTreeMap<String, String>> =
        jobs.deserialize().map(Result::unwrap).collect();
    let of = |column: &str| {
        rows.iter()
            .map(|row| row[column].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("job_id"), ["11", "12", "13"]);
    assert_eq!(of("preemptions"), ["1", "0", "0"]);
    assert_eq!(of("preempted_time"), ["12", "0", "0"]);
    assert_eq!(of("preemptible"), ["1", "0", "0"]);
    assert_eq!(of("priority"), ["", "", "60"]);
    assert_eq!(of("finish_time"), ["117", "101", "17"]);
    assert_eq!(of("restarts"), ["0", "0", "0"]);
}

/// What a run without preemption writes is a trace of the same jobs.
#[test]
fn a_file_of_jobs_says_which_are_preemptible() {
    let folder = folder(TRACE);
    let hash = |log: &str| {
        let line =
            format!("run --mesh 8x8 --log {log} --strategy ff --preemption on --format json");
        host_sim_in(folder.path(), &line).json()["results"][0]["decision_hash"].clone()
    };
    host_sim_in(folder.path(), &format!("{LINE} -o again-jobs.csv")).good();
    assert_eq!(hash("a.csv"), hash("again-jobs.csv"));
}

/// Without jobs that could go nothing changes, and a list of values is a study.
#[test]
fn it_may_be_a_list() {
    let folder = folder(TRACE);
    let mix = "shape,weight,priority,preemptible\n4x4,3,,1\n2x6,2,30,1\n8x8,1,600,\n";
    fs::write(folder.path().join("mix.csv"), mix).unwrap();
    let line = "run --mesh 8x8 --mix mix.csv --strategy ff --load .5 --jobs 300 --replications 3 \
                --preemption off,on,on:20 --format csv --metrics waiting_delay,preemptions";
    let text = host_sim_in(folder.path(), line).good();
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<std::collections::BTreeMap<String, String>> =
        rows.deserialize().map(Result::unwrap).collect();
    let count = |rule: &str| {
        let mut of = rows.iter().filter(|row| row["preemption"] == rule);
        let row = of.find(|row| row["metric"] == "preemptions");
        row.unwrap()["mean"].parse::<f64>().ok()
    };
    assert_eq!(count("off"), None, "{text}");
    let [at_once, later] = ["on", "on:20"].map(|rule| count(rule).unwrap());
    assert!(at_once > later && later > 0.0, "{text}");
}

#[test]
fn pictures_show_who_made_room() {
    let folder = folder(TRACE);
    let draw = format!("{LINE} --preemption on --draw timeline -o t.svg");
    host_sim_in(folder.path(), &draw).good();
    let svg = fs::read_to_string(folder.path().join("t.svg")).unwrap();
    assert!(svg.contains("jobs interrupted") && svg.contains("jobs started again"));
    assert!(!svg.contains(">down<"), "{svg}");
    let line = "view --mesh 8x8 --log a.csv --strategy ff --preemption on -o view.html";
    host_sim_in(folder.path(), line).good();
    let (meta, lists) = page(folder.path());
    assert_eq!(
        (&meta["preempts"], &meta["restart"]),
        (&true.into(), &Value::Null)
    );
    let run = &lists["runs"][0];
    // Job 11, the first, made room for the third; its second stretch comes after those of all jobs.
    assert_eq!(run["preempted"], serde_json::json!([[0, 2]]));
    assert_eq!(run["later"], serde_json::json!([0]));
    assert_eq!(run["end"][0], 10_000_000);
    // The map shows the urgent job alone beside the other.
    let map = host_sim_in(
        folder.path(),
        &format!("{LINE} --preemption on --draw map:12"),
    )
    .good();
    assert!(map.contains("1 waits") || map.contains("waiting"), "{map}");
}

fn page(folder: &Path) -> (Value, Value) {
    let page = fs::read_to_string(folder.join("view.html")).unwrap();
    let (_, meta) = page.split_once("id=\"meta\"").unwrap();
    let (meta, _) = meta.split_once("</script>").unwrap();
    let (_, meta) = meta.split_once('>').unwrap();
    let (_, lists) = page.split_once("application/gzip;base64\">").unwrap();
    let (lists, _) = lists.split_once('<').unwrap();
    let packed = STANDARD.decode(lists).unwrap();
    let lists = serde_json::from_reader(GzDecoder::new(&*packed)).unwrap();
    (serde_json::from_str(meta).unwrap(), lists)
}

/// A run is the same on any number of threads.
#[test]
fn threads_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mix = "shape,weight,priority,preemptible\n4x4,3,,1\n2x6,2,30,1\n8x8,1,600,\n";
    fs::write(folder.path().join("mix.csv"), mix).unwrap();
    let run = |threads: u32| {
        let line = format!(
            "run --mesh 8x8 --mix mix.csv --strategy ff,fsl --load .5 --jobs 300 --replications 4 \
             --preemption on --format json --threads {threads}"
        );
        let results = host_sim_in(folder.path(), &line).json()["results"].clone();
        let of = |place: usize| {
            let result = &results[place];
            ["decision_hash", "metrics"].map(|key| result[key].clone())
        };
        [of(0), of(1)]
    };
    let one = run(1);
    assert_eq!(one, run(3));
    let help = host_sim("run --help").good();
    assert!(help.contains("--preemption <off|on[:GRACE]>"), "{help}");
}
