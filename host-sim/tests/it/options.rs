//! Options are the same everywhere that they make sense.

use std::fs;

use serde_json::{Value, json};

use crate::program::{host_sim, host_sim_in};

fn names(results: &Value) -> Vec<&str> {
    let results = results.as_array().unwrap().iter();
    results
        .map(|result| result["strategy"].as_str().unwrap())
        .collect()
}

#[test]
fn all_strategies_are_those_that_serve_the_machine_in_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let small = "--mesh 8x8 --jobs 40 --replications 1 --strategy all --format json";
    let run = host_sim(&format!("run {small}")).json();
    let run = names(&run["results"]);
    for (name, serves) in [("first-fit", true), ("naive", true), ("sniffing", false)] {
        assert_eq!(run.contains(&name), serves, "{name}: {run:?}");
    }
    let saturation = host_sim(&format!("saturation {small}")).json();
    assert_eq!(names(&saturation["results"]), run);
    let line = format!("compare {small} --load .3 --scheduler fcfs");
    let compare = host_sim_in(folder.path(), &line).json();
    assert_eq!(names(&compare["points"][0]["results"]), run);
    let table = line.replace("json", "table");
    let shown = host_sim_in(folder.path(), &table).good();
    let rules = || shown.lines().filter(|line| line.starts_with('─'));
    assert!(rules().count() > 8, "{shown}");
    assert!(rules().all(|line| line.chars().count() <= 80), "{shown}");
    fs::write(
        folder.path().join("s.toml"),
        "mesh = \"8x8\"\njobs = 40\nreplications = 1\nstrategy = [\"ff\", \"all\"]\n",
    )
    .unwrap();
    host_sim_in(folder.path(), "sweep s.toml --output o").good();
    let sweep = fs::read_to_string(folder.path().join("o/results.json")).unwrap();
    let sweep: Value = serde_json::from_str(&sweep).unwrap();
    assert_eq!(names(&sweep["points"][0]["results"]), run);
}

#[test]
fn a_strategy_named_twice_counts_once_in_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let twice = "--mesh 8x8 --jobs 40 --replications 1 --strategy ff,naive,first-fit --format json";
    for (command, path) in [
        ("run", "/results"),
        ("saturation", "/results"),
        ("compare --load .3 --scheduler fcfs", "/points/0/results"),
    ] {
        let shown = host_sim_in(folder.path(), &format!("{command} {twice}")).json();
        let results = shown.pointer(path).unwrap();
        assert_eq!(names(results), ["first-fit", "naive"], "{command}");
        assert_eq!(shown["scenario"]["strategy"], json!(["first-fit", "naive"]));
    }
}

#[test]
fn ranges_of_sides_and_threads_are_options_of_all_that_draw_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let of = |command: &str, more: &str| {
        let line = format!(
            "{command} --mesh 8x8 --jobs 400 --replications 2 --strategy ff {more} --format json"
        );
        host_sim_in(folder.path(), &line).json()
    };
    for (command, path) in [
        ("run", "/results/0"),
        ("saturation", "/results/0"),
        ("compare --load .3 --scheduler fcfs", "/points/0/results/0"),
    ] {
        // One processor each: on an idle processor any of them fits.
        let units = of(command, "--widths 1..1 --heights 1..1 --threads 1");
        assert_eq!(units["scenario"]["widths"], "1..1", "{command}");
        let more_threads = of(command, "--widths 1..1 --heights 1..1 --threads 2");
        let hash = |document: &Value| document.pointer(path).unwrap()["decision_hash"].clone();
        assert_eq!(hash(&units), hash(&more_threads), "{command}");
        assert_ne!(hash(&units), hash(&of(command, "")), "{command}");
        let line = format!("{command} --mesh 8x8 --widths 1..9");
        let ended = host_sim_in(folder.path(), &line);
        assert!(ended.stderr.contains("widths go to 9"), "{ended}");
    }
    let units = of("saturation", "--widths 1..1 --heights 1..1");
    let used = units["results"][0]["metrics"]["utilization"]["mean"]
        .as_f64()
        .unwrap();
    assert!((used - 1.0).abs() < 1e-9, "{units}");
}

/// A chart of one load would be one of single points, and would take the place of a chart of several.
#[test]
fn a_comparison_at_one_load_leaves_the_chart_of_another_alone() {
    let folder = tempfile::tempdir().unwrap();
    let small =
        "compare --mesh 8x8 --jobs 100 --replications 2 --strategy ff,naive --scheduler fcfs";
    let chart = folder.path().join("out/compare.svg");
    host_sim_in(folder.path(), &format!("{small} --load .2,.4")).good();
    let before = fs::read(&chart).unwrap();
    let line = format!("{small} --load .3 --plot map");
    let shown = host_sim_in(folder.path(), &line).good();
    assert!(
        !shown.contains("picture: ") && shown.contains("map: "),
        "{shown}"
    );
    assert_eq!(fs::read(&chart).unwrap(), before);
    let line = format!("{small} --load .2,.3 --no-picture --format json");
    let document = host_sim_in(folder.path(), &line).json();
    assert!(document["picture"].is_null(), "{document}");
    assert_eq!(fs::read(&chart).unwrap(), before);
    let line = format!("{small} --load .3 --output one.svg");
    let shown = host_sim_in(folder.path(), &line).good();
    assert!(shown.contains("picture: one.svg"), "{shown}");
}

#[test]
fn one_is_singular() {
    let line = "run --mesh 4x4 --jobs 1 --replications 1 --load 0.1 --warmup 0";
    let shown = host_sim(line).good();
    assert!(
        shown.contains(", 1 job a run") && !shown.contains("1 jobs"),
        "{shown}"
    );
}

#[test]
fn external_fragmentation_stands_in_the_table() {
    let shown = host_sim("run --mesh 8x8 --jobs 400 --replications 2").good();
    assert!(shown.contains("ext. frag-"), "{shown}");
}
