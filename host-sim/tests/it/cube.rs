//! k-ary n-cubes: `run`, `compare` and `saturation` serve them as they serve meshes.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{Ended, host_sim, host_sim_in};

const SMALL: &str = "run --machine 4-ary-3-cube --replications 4";

/// The paper's strategies.
const PAPER: &str = "--strategy tc,tree-collapsing-printed,free-list,sniffing";

/// The mean of a metric of a result.
fn mean(result: &Value, metric: &str) -> f64 {
    let mean = result["metrics"][metric]["mean"].as_f64();
    mean.unwrap_or_else(|| panic!("{metric} is missing in {result}"))
}

/// One line on standard error that has all parts, nothing on standard output, and exit code 2.
fn refused(line: &str, ended: &Ended, parts: &[&str]) {
    assert!(
        ended.code == Some(2) && ended.stdout.is_empty(),
        "{line}: {ended}"
    );
    for part in parts {
        assert!(ended.stderr.contains(part), "{line}: {part}: {ended}");
    }
}

#[test]
fn a_cube_alone_is_the_papers_workload() {
    let json = host_sim("run --machine 4-ary-3-cube --format json").json();
    let expected = json!({
        "machine": "4-ary 3-cube", "strategy": ["tree-collapsing"], "scheduler": "fcfs",
        "dims": "uniform", "radices": "uniform", "batch": 100, "service": "uniform:5,10",
        "estimates": "perfect", "replications": 10, "slowdown_threshold": 10.0, "seed": 1, "backend": "in-process"
    });
    assert_eq!(json["scenario"], expected);
    let result = &json["results"][0];
    assert_eq!(result["saturated"], false);
    assert_eq!(mean(result, "jobs"), 100.0);
    // All options of it, written out.
    let line = "run --machine 4-ary-3-cube --strategy tree-collapsing --batch 100 --dims uniform \
                --radices uniform --service uniform:5,10 --replications 10 --seed 1 --format json";
    let again = host_sim(line).json();
    assert_eq!(again["scenario"], expected);
    assert_eq!(again["results"][0]["metrics"], result["metrics"]);
}

#[test]
fn the_metrics_of_the_paper_are_there() {
    let json = host_sim(&format!("{SMALL} {PAPER} --batch 60 --format json")).json();
    for result in json["results"].as_array().unwrap() {
        for metric in [
            "completion_time",
            "utilization",
            "internal_fragmentation",
            "external_fragmentation",
        ] {
            let metric = &result["metrics"][metric];
            assert!(
                metric["mean"].is_number() && metric["low"].is_number(),
                "{result}"
            );
            assert_eq!(metric["replications"], 4);
        }
        assert_eq!(mean(result, "jobs"), 60.0);
        // The same work for all: utilization times completion time is the work of a replication.
        assert!(mean(result, "utilization") > 0.2 && mean(result, "utilization") < 0.9);
    }
    let results = json["results"].as_array().unwrap();
    assert_eq!(
        mean(&results[0], "service_time"),
        mean(&results[3], "service_time")
    );
    assert_eq!(mean(&results[0], "internal_fragmentation"), 0.0);
    assert!(mean(&results[3], "internal_fragmentation") > 0.2);

    let shown = host_sim(&format!("{SMALL} {PAPER} --batch 60")).good();
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    for part in [
        "4-ary 3-cube, fcfs, seed 1",
        "uniform dimensions, uniform radices, 60 jobs at time 0, service uniform:5,10 s",
        "ext. frag-",
        "last departure",
        "tree-collapsing-printed",
    ] {
        assert!(shown.contains(part), "{part} is missing in {shown}");
    }
    assert!(!shown.contains("saturated"), "{shown}");
}

#[test]
fn tasks_that_go_on_arriving_are_measured_as_on_a_mesh() {
    let line =
        "run --machine 4-ary-3-cube --strategy tc,sniffing --load .2 --jobs 2000 --replications 3";
    let json = host_sim(&format!("{line} --dims normal --format json")).json();
    let expected = json!({
        "machine": "4-ary 3-cube", "strategy": ["tree-collapsing", "sniffing"], "scheduler": "fcfs",
        "dims": "normal", "radices": "uniform", "load": 0.2, "service_mean": 10.0,
        "measure": "arrivals", "warmup": 0.05, "jobs": 2000, "estimates": "perfect", "replications": 3, "slowdown_threshold": 10.0, "seed": 1,
        "backend": "in-process"
    });
    assert_eq!(json["scenario"], expected);
    for result in json["results"].as_array().unwrap() {
        // A load that is carried is the part of the cube that is in use.
        assert!((mean(result, "utilization") - 0.2).abs() < 0.02, "{result}");
        assert_eq!(mean(result, "jobs"), 1_900.0);
    }
    let crowded = line.replace("--load .2", "--traffic-ratio 40 --service uniform:5,10");
    let json = host_sim(&format!("{crowded} --format json")).json();
    assert_eq!(json["scenario"]["traffic_ratio"], 40.0);
    assert_eq!(json["scenario"]["service"], "uniform:5,10");
    assert_eq!(json["results"][0]["saturated"], true);
    let shown = host_sim(line).good();
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
}

#[test]
fn the_smallest_cubes_are_served() {
    for cube in [
        "2-ary-1-cube",
        "2-ary-6-cube",
        "7-ary-1-cube",
        "3-ary-2-cube",
    ] {
        for distribution in ["uniform", "normal"] {
            let line = format!(
                "run --machine {cube} --dims {distribution} --radices {distribution} --batch 20 \
                 --strategy tc,sniffing --replications 2 --format json"
            );
            for result in host_sim(&line).json()["results"].as_array().unwrap() {
                assert_eq!(mean(result, "jobs"), 20.0, "{line}");
            }
        }
    }
    // Two processors, and every job asks for both.
    let json = host_sim("run --machine 2-ary-1-cube --replications 2 --format json").json();
    assert_eq!(mean(&json["results"][0], "utilization"), 1.0);
}

#[test]
fn a_closed_workload_is_served_on_a_mesh_too() {
    let json =
        host_sim("run --mesh 8x8 --batch 50 --service uniform:5,10 --replications 3 --format json");
    let json = json.json();
    assert_eq!(json["scenario"]["batch"], 50);
    assert_eq!(json["scenario"]["side_lengths"], "uniform");
    assert!(mean(&json["results"][0], "external_fragmentation") > 0.0);
    assert_eq!(mean(&json["results"][0], "jobs"), 50.0);
}

#[test]
fn a_job_that_a_strategy_never_serves_is_refused_by_name() {
    let line = "run --machine 4-ary-3-cube --strategy partner --replications 2";
    let json = host_sim(&format!("{line} --format json")).json();
    let refused = json["results"][0]["refused"].as_object().unwrap();
    let count: u64 = refused.values().filter_map(Value::as_u64).sum();
    assert!(refused.len() == 1 && count > 0, "{refused:?}");
    let shown = host_sim(line).good();
    assert!(shown.contains("jobs refused: "), "{shown}");
}

#[test]
fn options_of_the_other_kind_of_machine_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    for (line, parts) in [
        (
            "run --machine 4-ary-3-cube --mesh 8x8",
            &["'--machine", "cannot be used with '--mesh"][..],
        ),
        (
            "run --machine 4-ary-3-cube --dims normal --log x",
            &["cannot be used with '--log"],
        ),
        (
            "run --machine 4-ary-3",
            &["unknown machine", "K-ary N-cube"],
        ),
        (
            "run --machine 1-ary-3-cube",
            &["expected a machine as in", "4-ary 3-cube"],
        ),
        (
            "run --machine 4-ary-3-cube --dims exponential",
            &["known: uniform, normal"],
        ),
        (
            "run --machine 4-ary-3-cube --service uniform:10,5",
            &["SHORTEST of 0 or more and not over LONGEST"],
        ),
        (
            "run --machine 4-ary-3-cube --batch 0",
            &["expected a whole number"],
        ),
        (
            "run --machine 4-ary-3-cube --batch 9 --load .3",
            &["'--batch", "cannot be used with '--load"],
        ),
        (
            "run --machine 4-ary-3-cube --batch 9 --jobs 9",
            &["'--batch", "cannot be used with '--jobs"],
        ),
        (
            "saturation --machine 4-ary-3-cube --mesh 4x4",
            &["cannot be used with '--mesh"],
        ),
    ] {
        refused(line, &host_sim_in(folder.path(), line), parts);
    }
    let every = "tree-collapsing, tree-collapsing-printed, free-list, sniffing, partner";
    for (line, parts) in [
        (
            "run --dims normal",
            &["--dims requires a cube (expected --machine such as 4-ary 3-cube)"][..],
        ),
        (
            "compare --mesh 8x8 --radices normal",
            &["--radices contradicts --mesh 8x8 (expected a cube, such as 4-ary 3-cube)"],
        ),
        (
            "saturation --dims normal --machine mesh-8x8-wrap-1",
            &["--dims contradicts --machine mesh 8x8 wrap 1 (expected a cube"],
        ),
        (
            "run --machine 4-ary-3-cube --side-lengths uniform",
            &["--side-lengths contradicts --machine 4-ary 3-cube (expected --dims or --radices"],
        ),
        (
            "compare --machine 4-ary-3-cube --side-range 1..2",
            &["--side-range contradicts --machine 4-ary 3-cube"],
        ),
        (
            "run --machine 4-ary-3-cube --model lublin",
            &["--model contradicts --machine 4-ary 3-cube"],
        ),
        (
            "run --machine 4-ary-3-cube --jobs 500",
            &[
                "jobs requires jobs that keep arriving",
                "expected --load or --traffic-ratio",
            ],
        ),
        (
            "run --machine 4-ary-3-cube --warmup .1",
            &["warmup requires jobs that keep arriving"],
        ),
        (
            "run --machine 4-ary-3-cube --strategy tc,fs",
            &[
                "frame-sliding serves two-dimensional meshes, not 4-ary 3-cube",
                every,
            ],
        ),
        (
            "compare --strategy sniffing",
            &["sniffing serves k-ary n-cubes, not mesh 64x64"],
        ),
        (
            "saturation --machine 4-ary-3-cube --strategy asff",
            &["all-shapes serves two-dimensional meshes", every],
        ),
        (
            "run --machine 3-ary-3-cube --strategy tc,free-list",
            &["free-list serves k-ary n-cubes whose k is a power of two, not 3-ary 3-cube"],
        ),
    ] {
        let ended = host_sim_in(folder.path(), line);
        refused(line, &ended, parts);
        assert_eq!(ended.stderr.lines().count(), 1, "{line}: {ended}");
    }
}

/// What a study of this text gives.
fn study(folder: &Path, text: &str) -> Value {
    fs::write(folder.join("grid.toml"), text).unwrap();
    host_sim_in(folder, "run --scenario grid.toml --format json").json()
}

#[test]
fn a_grid_over_cubes_gives_what_run_gives() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
strategy = ["tc", "sniffing"]
batch = 40
replications = 3
machine = ["4-ary 3-cube", "2-ary 6-cube"]
dims = ["uniform", "normal"]
radices = ["uniform", "normal"]
service = ["uniform:5,10", "uniform:10,15"]
"#;
    let json = study(folder.path(), text);
    assert_eq!(
        json["axes"],
        json!(["machine", "dims", "radices", "service"])
    );
    let points = json["points"].as_array().unwrap();
    assert_eq!(points.len(), 16);
    for (i, point) in points.iter().enumerate() {
        let of = |pair: [&'static str; 2], bit: usize| pair[i >> bit & 1];
        let line = format!(
            "run --machine {} --dims {} --radices {} --service uniform:{} --strategy tc,sniffing --batch 40 \
             --replications 3 --format json",
            of(["4-ary-3-cube", "2-ary-6-cube"], 3),
            of(["uniform", "normal"], 2),
            of(["uniform", "normal"], 1),
            of(["5,10", "10,15"], 0),
        );
        let run = host_sim(&line).json();
        assert_eq!(point["scenario"], run["scenario"]);
        for (one, other) in [0, 1].map(|place| (&point["results"][place], &run["results"][place])) {
            assert_eq!(one["metrics"], other["metrics"], "{line}");
            assert_eq!(one["decision_hash"], other["decision_hash"], "{line}");
        }
    }
}

#[test]
fn a_scenario_file_is_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let text = "machine = \"4-ary 2-cube\"\ndims = \"normal\"\nradices = \"normal\"\nbatch = 30\nservice = \"uniform:10,15\"\n";
    fs::write(folder.path().join("s.toml"), text).unwrap();
    let line = "run --scenario s.toml --replications 2 --format json";
    let json = host_sim_in(folder.path(), line).json();
    assert_eq!(json["scenario"]["machine"], "4-ary 2-cube");
    assert_eq!(json["scenario"]["service"], "uniform:10,15");
    // An option replaces those of the same choice.
    let load = format!("{line} --load .3 --jobs 500");
    let mut ended = host_sim_in(folder.path(), &load);
    let note = "note: s.toml: --load on the command line replaces `batch` (line 4)\n";
    assert_eq!(std::mem::take(&mut ended.stderr), note);
    let json = ended.json();
    assert_eq!(json["scenario"]["batch"], Value::Null);
    assert_eq!(json["scenario"]["dims"], "normal");
    fs::write(
        folder.path().join("wrong.toml"),
        "machine = \"4-ary 2-cube\"\n\nmesh = \"4x4\"\n",
    )
    .unwrap();
    let line = "run --scenario wrong.toml";
    let parts = ["wrong.toml:3: `mesh` contradicts `machine` in line 1"];
    refused(line, &host_sim_in(folder.path(), line), &parts);
}

#[test]
fn compare_and_saturation_take_the_strategies_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let names = |results: &Value| -> Vec<String> {
        let results = results.as_array().unwrap();
        let names = results
            .iter()
            .filter_map(|result| result["strategy"].as_str());
        names.map(str::to_owned).collect()
    };
    let paper = [
        "tree-collapsing",
        "tree-collapsing-printed",
        "free-list",
        "sniffing",
    ];
    let line =
        "compare --machine 4-ary-2-cube --load .2,.4 --jobs 300 --replications 2 -o out/c.svg";
    let json = host_sim_in(folder.path(), &format!("{line} --format json")).json();
    let last = &json["points"][3];
    assert_eq!(last["scenario"]["machine"], "4-ary 2-cube");
    assert_eq!(last["scenario"]["dims"], "uniform");
    assert_eq!(names(&last["results"]), paper);
    let svg = fs::read_to_string(folder.path().join("out/c.svg")).unwrap();
    assert!(svg.contains("machine=&apos;4-ary 2-cube&apos;"), "{svg}");

    // Where k is no power of two, free-list is not among them.
    for (cube, expected) in [
        ("4-ary 2-cube", &["free-list", "partner"][..]),
        ("3-ary 2-cube", &["partner"]),
    ] {
        let typed = cube.replace(' ', "-");
        let line = format!("saturation --machine {typed} --jobs 400 --replications 2");
        let json = host_sim(&format!("{line} --format json")).json();
        let names = names(&json["results"]);
        let has = |name: &str| names.iter().any(|other| other == name);
        assert!(has("tree-collapsing") && has("first-fit") && !has("buddy"));
        for name in ["free-list", "partner"] {
            assert_eq!(has(name), expected.contains(&name), "{cube}: {names:?}");
        }
        let shown = host_sim(&line).good();
        assert!(
            shown.starts_with(&format!("machine='{cube}' jobs=400 ")),
            "{shown}"
        );
    }
    let mesh = host_sim("saturation --mesh 8x8 --jobs 400 --replications 2 --format json").json();
    let names = names(&mesh["results"]);
    assert!(!names.iter().any(|name| name == "sniffing"), "{names:?}");
}

#[test]
fn the_schedulers_serve_a_cube() {
    let utilization = |scheduler: &str| {
        let line = format!("{SMALL} --scheduler {scheduler} --format json");
        mean(&host_sim(&line).json()["results"][0], "utilization")
    };
    let fcfs = utilization("fcfs");
    for scheduler in ["modified-fcfs:static=100", "bypass-queue:1000"] {
        assert!(utilization(scheduler) > fcfs + 0.02, "{scheduler}");
    }
}

#[test]
fn threads_change_nothing_and_the_seed_does() {
    let run = |more: &str| {
        let json = host_sim(&format!("{SMALL} {PAPER} --format json {more}")).json();
        let results = json["results"].as_array().unwrap().iter();
        let hashes =
            results.map(|result| (result["decision_hash"].clone(), result["metrics"].clone()));
        hashes.collect::<Vec<_>>()
    };
    assert_eq!(run("--threads 1"), run("--threads 3"));
    assert_ne!(run(""), run("--seed 2"));
}
