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
    assert_eq!(names(&compare["results"]), run);
    let table = line
        .replace("json", "table")
        .replace("--load .3", "--load .3,.4");
    let shown = host_sim_in(folder.path(), &table).good();
    let rules = || shown.lines().filter(|line| line.starts_with('─'));
    assert!(rules().count() > 8, "{shown}");
    assert!(rules().all(|line| line.chars().count() <= 80), "{shown}");
    fs::write(
        folder.path().join("s.toml"),
        "mesh = \"8x8\"\njobs = 40\nreplications = 1\nstrategy = [\"ff\", \"all\"]\n",
    )
    .unwrap();
    let study = host_sim_in(folder.path(), "run --scenario s.toml --format json").json();
    assert_eq!(names(&study["results"]), run);
}

#[test]
fn a_strategy_named_twice_counts_once_in_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let twice = "--mesh 8x8 --jobs 40 --replications 1 --strategy ff,naive,first-fit --format json";
    for (command, path) in [
        ("run", "/results"),
        ("saturation", "/results"),
        ("compare --load .3 --scheduler fcfs", "/results"),
    ] {
        let shown = host_sim_in(folder.path(), &format!("{command} {twice}")).json();
        let results = shown.pointer(path).unwrap();
        assert_eq!(names(results), ["first-fit", "naive"], "{command}");
        assert_eq!(shown["scenario"]["strategy"], json!(["first-fit", "naive"]));
    }
}

/// Not only strategies: whatever takes a list.
#[test]
fn a_value_that_is_repeated_counts_once_in_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let small = "--mesh 8x8 --jobs 40 --replications 1 --strategy ff --format json";
    let compare = format!("compare {small} --load .3,.2,.30 --scheduler fcfs,easy,fcfs");
    let compare = host_sim_in(folder.path(), &compare).json();
    assert_eq!(compare["points"].as_array().unwrap().len(), 4);
    let text = "mesh = \"8x8\"\njobs = 40\nreplications = 1\nload = [0.3, 0.2, 0.30]\n";
    fs::write(folder.path().join("s.toml"), text).unwrap();
    let kept = host_sim_in(folder.path(), "run --scenario s.toml --save o").good();
    assert!(
        kept.ends_with("o: 2 points, 0 of them run before\n"),
        "{kept}"
    );
}

const ALL: &str = "its ending says what it has (expected .csv, .json, .svg, .swf or .html)";

/// A file whose name says otherwise would be written in vain.
#[test]
fn the_ending_of_a_file_is_that_of_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let small = "--mesh 8x8 --jobs 40 --strategy ff";
    let run = format!("run {small} --replications 1");
    for (line, ending) in [
        (format!("{run} -o f.parquet"), ALL),
        (format!("{run} -o f.swf.gz"), ALL),
        (format!("{run} --draw map -o f.png"), ALL),
        (format!("{run} -o results"), ALL),
        (format!("compare {small} -o f.png"), ALL),
        (
            format!("view {small} -o f.json"),
            "(expected the ending .html or .htm)",
        ),
    ] {
        let ended = host_sim_in(folder.path(), &line);
        assert!(
            ended.code == Some(2) && ended.stderr.contains(ending),
            "{line}: {ended}"
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{line}");
    }
    for name in ["F.SVG", "picture.svg"] {
        let line = format!("{run} --draw map -o {name}");
        host_sim_in(folder.path(), &line).good();
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(text.starts_with("<svg"), "{text}");
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
        ("compare --load .3 --scheduler fcfs", "/results/0"),
    ] {
        // One processor each: on an idle processor any of them fits.
        let units = of(command, "--side-range 1..1 --threads 1");
        assert_eq!(units["scenario"]["side_range"], "1..1", "{command}");
        let more_threads = of(command, "--side-range 1..1 --threads 2");
        let hash = |document: &Value| document.pointer(path).unwrap()["decision_hash"].clone();
        assert_eq!(hash(&units), hash(&more_threads), "{command}");
        assert_ne!(hash(&units), hash(&of(command, "")), "{command}");
        let line = format!("{command} --mesh 8x8 --side-range 1..9");
        let ended = host_sim_in(folder.path(), &line);
        assert!(ended.stderr.contains("--side-range goes to 9"), "{ended}");
    }
    let units = of("saturation", "--side-range 1..1");
    let used = units["results"][0]["metrics"]["utilization"]["mean"]
        .as_f64()
        .unwrap();
    assert!((used - 1.0).abs() < 1e-9, "{units}");
}

/// A picture is drawn where one is asked for, also of one load.
#[test]
fn a_comparison_writes_no_file_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let small =
        "compare --mesh 8x8 --jobs 100 --replications 2 --strategy ff,naive --scheduler fcfs";
    let shown = host_sim_in(folder.path(), &format!("{small} --load .2,.4")).good();
    assert!(!shown.contains("picture: "), "{shown}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let line = format!("{small} --load .3 -o one.svg");
    let shown = host_sim_in(folder.path(), &line).good();
    assert!(shown.contains("\npicture: one.svg\n"), "{shown}");
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

/// The service time is written in the same ways everywhere.
#[test]
fn service_times_are_options_of_all_that_have_them() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["run", "saturation", "compare --scheduler fcfs --load .3"] {
        let line =
            format!("{command} --mesh 8x8 --jobs 100 --replications 1 --strategy ff --format json");
        let of = |more: &str| host_sim_in(folder.path(), &format!("{line} {more}")).json();
        assert_eq!(of("")["scenario"]["service_mean"], 10.0, "{command}");
        let mean = of("--service-mean 7");
        assert_eq!(mean["scenario"]["service_mean"], 7.0, "{command}");
        let same = of("--service exponential:7");
        let hash = |document: &Value| {
            let results = document
                .pointer("/results/0")
                .or(document.pointer("/points/0/results/0"));
            results.unwrap()["decision_hash"].clone()
        };
        assert_eq!(same["scenario"], mean["scenario"], "{command}");
        assert_eq!(hash(&same), hash(&mean), "{command}");
        let uniform = of("--service uniform:5,10");
        assert_eq!(uniform["scenario"]["service"], "uniform:5,10", "{command}");
        assert_eq!(
            of("--service uniform:5,10")["scenario"],
            uniform["scenario"],
            "{command}"
        );
        let both = host_sim_in(
            folder.path(),
            &format!("{line} --service uniform:1,2 --service-mean 3"),
        );
        assert!(
            both.code == Some(2) && both.stderr.contains("cannot be used with"),
            "{both}"
        );
    }
    for command in ["run", "compare"] {
        let line = format!("{command} --log log.swf --service uniform:1,2");
        let ended = host_sim_in(folder.path(), &line);
        assert!(
            ended.code == Some(2) && ended.stderr.contains("cannot be used with"),
            "{ended}"
        );
    }
}

#[test]
fn options_that_do_nothing_are_not_offered() {
    let view = host_sim("view --help").good();
    assert!(view.contains("--mesh") && view.contains("--seed"), "{view}");
    for option in [
        "--format <",
        "--replications <",
        "--until-rel-error <",
        "--max-replications <",
    ] {
        assert!(!view.contains(option), "{option}: {view}");
    }
    let help = host_sim("replay --help").good();
    assert!(
        help.contains("--draw <map>") && !help.contains("timeline"),
        "{help}"
    );
    let folder = tempfile::tempdir().unwrap();
    let ended = host_sim_in(folder.path(), "reproduce kim-yoon --traces logs");
    assert!(
        ended.code == Some(2)
            && ended
                .stderr
                .contains("--traces requires figures that run a log"),
        "{ended}"
    );
    for line in [
        "run --save o --merge --threads 2",
        "reproduce liu --merge --threads 2",
    ] {
        let ended = host_sim_in(folder.path(), line);
        let both = "'--merge' cannot be used with '--threads";
        assert!(
            ended.code == Some(2) && ended.stderr.contains(both),
            "{ended}"
        );
    }
    let io = host_sim("run --help").good();
    assert!(io.contains("network=fair-shares|wormhole:FLITS"), "{io}");
}

#[test]
fn numbers_in_tables_and_messages_are_short() {
    let folder = tempfile::tempdir().unwrap();
    let jobs = (0..30).map(|job| {
        format!(
            "{job} {} -1 10 4 -1 -1 4 10 -1 1 1 1 -1 -1 1 -1 -1\n",
            7 * job
        )
    });
    fs::write(folder.path().join("l.swf"), jobs.collect::<String>()).unwrap();
    for line in [
        "compare --log l.swf --mesh 10x10 --strategy ff",
        "compare --log l.swf --mesh 10x10 --log-load 1e-6 --strategy ff",
    ] {
        let shown = host_sim_in(folder.path(), line).good();
        let longest = shown
            .lines()
            .map(|line| line.chars().count())
            .max()
            .unwrap();
        assert!(longest < 140, "{line}: {shown}");
        assert!(!shown.contains("0.0000000"), "{line}: {shown}");
    }
    let ended = host_sim_in(
        folder.path(),
        "run --log l.swf --mesh 10x10 --log-load 1e-300",
    );
    assert!(ended.stderr.contains("(--log-load) is 1e-300: "), "{ended}");
}

/// Another name is offered for one that is misspelt, not for a value that is out of range.
#[test]
fn a_distribution_with_a_wrong_value_has_no_other_name() {
    let folder = tempfile::tempdir().unwrap();
    for (sizes, hint) in [
        ("normal:mean=-500,sd=1", None),
        ("normal:mean=5", None),
        ("normal:mean=5,dev=1", None),
        ("nromal:var", Some("did you mean \"normal\"?")),
        ("unifrm", Some("did you mean \"uniform\"?")),
    ] {
        let ended = host_sim_in(
            folder.path(),
            &format!("run --mesh 8x8 --jobs 30 --replications 1 --side-lengths {sizes}"),
        );
        let said = ended.stderr.contains("did you mean");
        assert_eq!(said, hint.is_some(), "{sizes}: {ended}");
        assert!(
            hint.is_none_or(|hint| ended.stderr.contains(hint)),
            "{sizes}: {ended}"
        );
    }
}

/// It is 0, so that the same settings have the same record.
#[test]
fn no_number_is_minus_zero() {
    let folder = tempfile::tempdir().unwrap();
    let line = "run --mesh 4x4 --jobs 20 --replications 1 --format json";
    for options in ["--warmup -0", "--warmup -0.0", "--service lognormal:-0,1"] {
        let json = host_sim_in(folder.path(), &format!("{line} {options}")).good();
        assert!(!json.contains("-0.0") && !json.contains(":-0"), "{json}");
        let plain = options.replace("-0", "0");
        let [minus, plain] = [options, &plain].map(|options| {
            host_sim_in(folder.path(), &format!("{line} {options}")).json()["scenario"].clone()
        });
        assert_eq!(minus, plain);
    }
    let line = line.replace("4x4", "64x64");
    let json = host_sim_in(folder.path(), &format!("{line} --mix rfold:4 --mix-drop")).json();
    let share = json["mix"]["dropped_share"].as_f64().unwrap();
    assert!(share == 0.0 && share.is_sign_positive(), "{share}");
}

#[test]
fn the_short_help_is_one_screen_and_the_long_one_has_everything() {
    for command in ["run", "compare", "saturation", "view"] {
        let short = host_sim(&format!("{command} -h")).good();
        assert!(short.lines().count() < 40, "{short}");
        assert!(
            short.lines().all(|line| line.chars().count() <= 100),
            "{short}"
        );
        let of_all = [
            "--scenario",
            "--mesh",
            "--machine",
            "--strategy",
            "--seed",
            "--help",
        ];
        for option in of_all {
            assert!(short.contains(option), "{command} {option}: {short}");
        }
        let long = host_sim(&format!("{command} --help")).good();
        for option in ["--side-range", "--processors"] {
            assert!(
                !short.contains(option) && long.contains(option),
                "{command} {option}"
            );
        }
    }
}

#[test]
fn switches_have_no_value_and_common_options_are_short() {
    let folder = tempfile::tempdir().unwrap();
    let small = "run --mesh 8 --side-range 1..2 --jobs 30 --replications 1 --strategy ff";
    let loud = host_sim_in(folder.path(), small);
    assert!(loud.stderr.contains("note: mesh 8 is a line"), "{loud}");
    let quiet = host_sim_in(
        folder.path(),
        &format!("{small} -q -j 2 --largest --format json"),
    );
    assert_eq!(quiet.stderr, "", "{quiet}");
    assert_eq!(quiet.json()["scenario"]["largest"], true);
    let map = "run --mesh 8x8 --jobs 30 --replications 1 --strategy ff --draw map";
    for (when, is_coloured) in [("always", true), ("never", false), ("auto", false)] {
        let shown = host_sim_in(folder.path(), &format!("{map} --color {when}")).good();
        assert_eq!(shown.contains("\u{1b}["), is_coloured, "{when}: {shown}");
    }
    let help = host_sim("--color always run -h").good();
    assert!(help.contains("\u{1b}["), "{help}");
}
