//! Failures over time: `--failures`, `--restart` and `--checkpoint`.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::program::{host_sim, host_sim_in};

const SMALL: &str = "run --torus 4x4x4 --processors exponential:8 --service exponential:100 \
                     --load .5 --jobs 500 --replications 4";

fn metric(line: &str, name: &str) -> f64 {
    let json = host_sim(&format!("run {line} --format json")).json();
    let mean = &json["results"][0]["metrics"][name]["mean"];
    mean.as_f64().unwrap_or_else(|| panic!("{name}: {mean}"))
}

#[test]
fn metrics_of_failures_are_there_only_with_failures() {
    let without = host_sim(&format!("{SMALL} --format json")).json();
    let metrics = without["results"][0]["metrics"].as_object().unwrap();
    assert!(!metrics.contains_key("availability") && !metrics.contains_key("restarts"));
    let line = format!("{SMALL} --failures node:5000,500 --checkpoint 20,1");
    let with = host_sim(&format!("{line} --format json")).json();
    assert_eq!(with["scenario"]["failures"], "node:5000,500");
    assert_eq!(with["scenario"]["restart"], "elsewhere");
    assert_eq!(with["scenario"]["checkpoint"], "20,1");
    let metrics = &with["results"][0]["metrics"];
    for name in [
        "availability",
        "restarts",
        "restart_time",
        "lost_node_hours",
    ] {
        assert!(
            metrics[name]["low"].as_f64() < metrics[name]["mean"].as_f64(),
            "{name}"
        );
    }
    let table = host_sim(&line).good();
    for text in [
        "failures node:5000,500, restart elsewhere, checkpoint 20,1 s",
        "availability",
        "lost node-",
        "restart",
    ] {
        assert!(table.contains(text), "{table}");
    }
}

#[test]
fn checkpoints_lose_less_and_places_differ() {
    // Four boxes in a row.
    let line = "--torus 8x4x4 --processors exponential:4 --service exponential:100 --load .3 \
                --jobs 300 --replications 4 --failures 2x2x2:20000,300";
    let lost = metric(line, "lost_node_hours");
    let saved = metric(&format!("{line} --checkpoint 10"), "lost_node_hours");
    assert!(saved < 0.5 * lost, "{saved}, {lost}");
    let restart = |place: &str| metric(&format!("{line} --restart {place}"), "restart_time");
    // A spare is there at once in most cases, and a repair takes 300 s on average.
    let [spare, in_place] = ["spare", "in-place"].map(restart);
    assert!(
        spare < 0.5 * in_place && in_place > 100.0,
        "{spare}, {in_place}"
    );
}

#[test]
fn a_file_of_failures_is_found_beside_its_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "events.csv",
        "time,what,which,state\n100,node,0,down\n200,node,0,up\n",
    );
    let scenario = "torus = \"4x4x4\"\njobs = 300\nreplications = 2\nfailures = \"events.csv\"\n";
    write("scenario.toml", scenario);
    let json = host_sim_in(folder.path(), "run --scenario scenario.toml --format json").json();
    let metrics = &json["results"][0]["metrics"];
    assert!(metrics["availability"]["mean"].as_f64().unwrap() < 1.0);
    write("events.csv", "time,what,which,state\n100,node,64,down\n");
    let failed = host_sim_in(folder.path(), "run --scenario scenario.toml");
    assert_eq!(failed.code, Some(2), "{failed}");
    let expected = "events.csv:2: which is \"64\": expected a number from 0 to 63";
    assert!(failed.stderr.contains(expected), "{failed}");
    for (what, expected) in [
        (
            "nod",
            "unknown unit of failures \"nod\"; did you mean \"node\"?",
        ),
        (
            "zzz",
            "unknown unit of failures \"zzz\" (known: node, link, cube, ",
        ),
    ] {
        write(
            "events.csv",
            &format!("time,what,which,state\n100,{what},1,down\n"),
        );
        let failed = host_sim_in(folder.path(), "run --scenario scenario.toml");
        let expected = format!("events.csv:2: what is {what:?}: {expected}");
        assert!(failed.stderr.contains(&expected), "{failed}");
    }
}

#[test]
fn settings_that_make_no_sense_are_errors() {
    for (line, expected) in [
        (
            "--failures node:10",
            "does not take \"10\" (expected node:UP,DOWN)",
        ),
        ("--failures nod:10,10", "did you mean \"node\"?"),
        (
            "--failures tre:3,4",
            "unknown source of failures \"tre:3,4\" (known: ",
        ),
        (
            "--failures the:3,4",
            "unknown source of failures \"the:3,4\" (known: ",
        ),
        (
            "--failures node:10,10 --backend tcp:127.0.0.1:1",
            "error: --restart elsewhere requires --backend in-process (expected elsewhere:last, \
             in-place or spare)",
        ),
        ("--failures cube:10,10", "the machine has no cubes"),
        (
            "--failures 3x3x3:10,10",
            "expected sides that divide those of the machine",
        ),
        (
            "--failures node:10,10 --restart spare",
            "expected cubes or boxes, at least two in a row",
        ),
        (
            "--failures node:10,10 --restart in-plase",
            "did you mean \"in-place\"?",
        ),
        (
            "--failures node:10,10 --checkpoint 0",
            "INTERVAL is \"0\": expected a time over 0 seconds",
        ),
        (
            "--failures node:10,10 --checkpoint 20,11",
            "(--checkpoint) is 11 s: expected at most UP of --failures, 10 s",
        ),
        ("--restart in-place", "--restart requires --failures"),
        ("--failures missing.csv", "missing.csv"),
        (
            "--failures node:1e6,10 --pattern all-to-all --arrival-rate .1",
            "--pattern",
        ),
    ] {
        let failed = host_sim(&format!("run --torus 4x4x4 --jobs 100 {line}"));
        assert!(failed.stdout.is_empty(), "{line}: {failed}");
        assert_eq!(failed.code, Some(2), "{line}: {failed}");
        assert!(failed.stderr.contains(expected), "{line}: {failed}");
    }
}

/// Jobs and events whose outcome is known: a job of 2 processors that runs for 100 s, and a failure
/// of its first processor from 40 s to 60 s.
fn by_hand(folder: &Path, line: &str) {
    fs::write(folder.join("jobs.csv"), "submit,run,processors\n0,100,2\n").unwrap();
    let events = "time,what,which,state\n40,node,0,down\n60,node,0,up\n";
    fs::write(folder.join("events.csv"), events).unwrap();
    let line = format!("{line} --mesh 4x1 --strategy ff --log jobs.csv --failures events.csv");
    host_sim_in(folder, &line).good();
}

#[test]
fn charts_show_what_fails_and_which_jobs_start_again() {
    let folder = tempfile::tempdir().unwrap();
    by_hand(folder.path(), "run --draw timeline -o t.svg");
    let svg = fs::read_to_string(folder.path().join("t.svg")).unwrap();
    for (stroke, count) in [("#D55E00", 1), ("#009E73", 1)] {
        let lines = svg.matches(&format!("stroke=\"{stroke}\"")).count();
        assert_eq!(lines, count, "{svg}");
    }
    assert!(svg.contains("jobs interrupted") && svg.contains("jobs started again"));
    let page = "view -o view.html";
    by_hand(folder.path(), page);
    let page = fs::read_to_string(folder.path().join("view.html")).unwrap();
    assert!(page.contains(r#""restart":"elsewhere""#));
    let (_, lists) = page.split_once("application/gzip;base64\">").unwrap();
    let (lists, _) = lists.split_once('<').unwrap();
    let packed = STANDARD.decode(lists).unwrap();
    let lists: Value = serde_json::from_reader(GzDecoder::new(&*packed)).unwrap();
    let run = &lists["runs"][0];
    let outages = run["failures"]["start"].as_array().unwrap().len();
    let restarts = run["later"].as_array().unwrap().len();
    assert_eq!((outages, restarts), (1, 1), "{lists}");
}

/// The map has what is down at its time: both processors of the box.
#[test]
fn a_map_shows_what_is_down() {
    let folder = tempfile::tempdir().unwrap();
    let text = "time,what,which,state\n1,2x1,1,down\n";
    fs::write(folder.path().join("events.csv"), text).unwrap();
    let line = "run --mesh 4x1 --batch 1 --service uniform:50,60 --side-range 1 --failures events.csv \
                --draw map:10";
    let shown = host_sim_in(folder.path(), line).good();
    assert!(shown.contains("a.xx"), "{shown}");
}

/// Cubes of a described machine: a slice that loses a cube goes on with the spare of its row.
#[test]
fn cubes_of_a_machine_have_spares() {
    let line = "run --machine tpu-v4 --mix tpu-v4 --mix-drop --strategy cubes --load .2 --jobs 400 \
                --replications 2 --service exponential:1000 --failures cube:100000,5000 --format json";
    let [spare, elsewhere] = ["spare", "elsewhere"].map(|place| {
        let json = host_sim(&format!("{line} --restart {place}")).json();
        let metrics = &json["results"][0]["metrics"];
        assert!(
            metrics["restarts"]["mean"].as_f64().unwrap() > 10.0,
            "{place}"
        );
        let availability = metrics["availability"]["mean"].as_f64().unwrap();
        assert!((0.9..0.99).contains(&availability), "{availability}");
        metrics["restart_time"]["mean"].as_f64().unwrap()
    });
    assert!(spare < 1_000.0 && elsewhere >= 0.0, "{spare}, {elsewhere}");
}
