//! Settings of a command, of a scenario file and of the command line, one over the other.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{Ended, host_sim_in};

const LOG: &str = "1 0 -1 10 4 -1 -1 4 20 -1 1 1 1 -1 -1 1 -1 -1\n";

/// A command over a scenario file of this text.
fn over(folder: &Path, file: &str, line: &str) -> Ended {
    fs::write(folder.join("log.swf"), LOG).unwrap();
    fs::write(folder.join("t.csv"), "submit,run,processors\n0,10,2\n").unwrap();
    fs::write(folder.join("s.toml"), file).unwrap();
    let (command, options) = line.split_once(' ').unwrap_or((line, ""));
    host_sim_in(folder, &format!("{command} --scenario s.toml {options}"))
}

#[test]
fn a_contradiction_names_both_places_and_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let log = "log = \"log.swf\"\nmesh = \"8x8\"\n";
    let of_log_load = "s.toml:1: `log` contradicts --load on the command line \
        (expected no --load, or no `log` in the file; --log-load sets the load of a log)";
    let ring = "pattern = \"ring\"\narrival-rate = 0.001\nflits = 4\n";
    let of_saturation = |line: usize, key: &str| {
        format!(
            "s.toml:{line}: `{key}` contradicts the backlog of `saturation` \
             (expected no `{key}` in the file)"
        )
    };
    let plain = |line: usize, key: &str, option: &str| {
        format!(
            "s.toml:{line}: `{key}` contradicts --{option} on the command line \
             (expected no --{option}, or no `{key}` in the file)"
        )
    };
    for (file, line, error) in [
        (log, "run --load .4", of_log_load.to_owned()),
        (log, "compare --load .3,.4", of_log_load.to_owned()),
        (log, "view --load .4", of_log_load.to_owned()),
        (
            "log = \"t.csv\"\n",
            "run --batch 20",
            plain(1, "log", "batch"),
        ),
        (
            log,
            "run --side-lengths normal",
            plain(1, "log", "side-lengths"),
        ),
        (
            log,
            "run --processors exponential:4",
            plain(1, "log", "processors"),
        ),
        (
            log,
            "view --service-mean 5",
            plain(1, "log", "service-mean"),
        ),
        (log, "run --model lublin", plain(1, "log", "model")),
        (
            "load = 0.4\nwarmup = 0.1\n",
            "run --log log.swf",
            plain(2, "warmup", "log"),
        ),
        (ring, "run --load .5", plain(1, "pattern", "load")),
        (
            ring,
            "run --service uniform:5,10",
            plain(1, "pattern", "service"),
        ),
        (
            "failures = \"node:100,10\"\n",
            "run --backlog 20",
            plain(1, "failures", "backlog"),
        ),
        (
            "\nside-range = \"1..4\"\n",
            "run --machine 4-ary-2-cube",
            "s.toml:2: `side-range` contradicts --machine 4-ary 2-cube (expected"
                .to_owned(),
        ),
        ("jobs = 100\n", "run --batch 20", plain(1, "jobs", "batch")),
        (
            "model = \"lublin\"\n",
            "run --batch 20",
            plain(1, "model", "batch"),
        ),
        (
            "mix = \"tpu-v4\"\nmix-drop = true\n",
            "run --processors exponential:4",
            "s.toml:2: `mix-drop` requires `mix`, which --processors on the command line replaces \
             (expected no --processors, or no `mix-drop` in the file)"
                .to_owned(),
        ),
        (
            "log = \"t.csv\"\ncolumns = \"submit=a\"\n",
            "run --log log.swf",
            "log.swf:1: a log in the Standard Workload Format has no columns with names (expected CSV)"
                .to_owned(),
        ),
        (
            log,
            "run --until-rel-error .1",
            "s.toml:1: --until-rel-error requires independent replications, which `log` does not \
             have"
                .to_owned(),
        ),
        (
            log,
            "run --replications 3",
            "s.toml:1: --replications with `log` requires `resample` weeks".to_owned(),
        ),
        (
            "measure = \"departures\"\n",
            "run --warmup .1",
            "s.toml:1: --warmup requires `measure` arrivals".to_owned(),
        ),
        (
            "\nkill-at-estimate = true\n",
            "run --pattern ring --arrival-rate .001",
            plain(2, "kill-at-estimate", "pattern"),
        ),
        (
            ring,
            "run --io-nodes left",
            plain(1, "pattern", "io-nodes"),
        ),
        (log, "saturation", of_saturation(1, "log")),
        ("log = \"t.csv\"\n", "saturation", of_saturation(1, "log")),
        (
            "\nmodel = \"lublin\"\n",
            "saturation",
            of_saturation(2, "model"),
        ),
        (
            "pattern = \"ring\"\n",
            "saturation",
            of_saturation(1, "pattern"),
        ),
        (
            "io = \"communications=4\"\n",
            "saturation",
            of_saturation(1, "io"),
        ),
        (
            "failures = \"node:100,10\"\n",
            "saturation",
            of_saturation(1, "failures"),
        ),
    ] {
        let ended = over(folder.path(), file, line);
        let expected = format!("error: {error}");
        assert!(
            ended.code == Some(2) && ended.stderr.starts_with(&expected) && ended.stdout.is_empty(),
            "{line}: {expected}: {ended}"
        );
        assert_eq!(ended.stderr.lines().count(), 1, "{line}: {ended}");
    }
    let cube = "machine = \"4-ary 2-cube\"\ndims = \"normal\"\n";
    let ended = over(folder.path(), cube, "run --mesh 8x8");
    assert_eq!(ended.code, Some(2), "{ended}");
    assert_eq!(
        ended.stderr,
        "note: s.toml: --mesh on the command line replaces `machine` (line 1)\n\
         error: s.toml:2: `dims` contradicts --mesh 8x8 (expected a cube, such as 4-ary 3-cube)\n"
    );
}

/// Within one choice the command line says what holds. A note names a key of another name.
#[test]
fn a_later_setting_of_one_choice_replaces_the_earlier() {
    let folder = tempfile::tempdir().unwrap();
    let note = |option: &str, key: &str, line: usize| {
        format!("note: s.toml: --{option} on the command line replaces `{key}` (line {line})\n")
    };
    let small = "--jobs 50 --format json";
    for (file, options, said, has, has_not) in [
        ("mesh = \"8x8\"\nload = 0.3\n", "--load .5", String::new(), ("load", json!(0.5)), ""),
        (
            "mesh = \"8x8\"\nlargest = true\n",
            "--largest=false",
            String::new(),
            ("largest", json!(false)),
            "",
        ),
        (
            "mesh = \"8x8\"\nlargest = false\n",
            "--largest",
            String::new(),
            ("largest", json!(true)),
            "",
        ),
        (
            "mesh = \"8x8\"\nbacklog = 7\n",
            "--load .5",
            note("load", "backlog", 2),
            ("load", json!(0.5)),
            "backlog",
        ),
        (
            "mesh = \"8x8\"\nload = 0.3\n",
            "--backlog 7",
            note("backlog", "load", 2),
            ("backlog", json!(7)),
            "load",
        ),
        (
            "mesh = \"8x8\"\narrival-rate = 0.3\n",
            "--log log.swf",
            note("log", "arrival-rate", 2),
            ("log", json!("log.swf")),
            "arrival_rate",
        ),
        (
            "machine = \"mesh 8x8 wrap 0\"\nload = 0.3\n",
            "--torus 4x4",
            note("torus", "machine", 1),
            ("torus", json!("4x4")),
            "machine",
        ),
        (
            "machine = \"mesh 8x8 wrap 0\"\nload = 0.3\n",
            "--machine mesh-4x4",
            String::new(),
            ("mesh", json!("4x4")),
            "machine",
        ),
        (
            "mesh = \"8x8\"\nuntil-rel-error = 0.4\nmax-replications = 10\n",
            "--replications 1",
            "note: s.toml: --replications on the command line replaces `until-rel-error` (line 2), \
             --replications on the command line replaces `max-replications` (line 3)\n"
                .to_owned(),
            ("replications", json!(1)),
            "max_replications",
        ),
    ] {
        let line = format!("run {small} {options}");
        let mut ended = over(folder.path(), file, &line);
        assert_eq!(std::mem::take(&mut ended.stderr), said, "{line}");
        let scenario = ended.json()["scenario"].clone();
        assert_eq!(scenario[has.0], has.1, "{line}: {scenario}");
        assert!(scenario.get(has_not).is_none(), "{line}: {scenario}");
    }
}

/// What a command is about is the lowest layer where only its amount is open.
#[test]
fn a_file_sets_the_backlog_of_saturation() {
    let folder = tempfile::tempdir().unwrap();
    let line = "saturation --mesh 8x8 --jobs 200 --replications 2 --strategy ff --format json";
    let backlog = |file: &str, more: &str| -> Value {
        let line = format!("{line} {more}");
        over(folder.path(), file, &line).json()["scenario"]["backlog"].clone()
    };
    assert_eq!(backlog("", ""), 100);
    assert_eq!(backlog("backlog = 20\n", ""), 20);
    assert_eq!(backlog("backlog = 20\n", "--backlog 7"), 7);
}
