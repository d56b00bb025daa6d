//! The settings `--estimates` and `--kill-at-estimate`.

use std::fs;

use serde_json::Value;

use crate::program::{host_sim, host_sim_in};

const SMALL: &str =
    "run --mesh 16x16 --strategy ff,fsl --jobs 2000 --replications 2 --load .5 --format json";

/// The decisions of all strategies.
fn hashes(json: &Value) -> Vec<Value> {
    let results = json["results"].as_array().unwrap().iter();
    results
        .map(|result| result["decision_hash"].clone())
        .collect()
}

fn with(scheduler: &str, estimates: &str) -> Vec<Value> {
    let line = format!("{SMALL} --scheduler {scheduler} --estimates {estimates}");
    let json = host_sim(&line).json();
    assert_eq!(json["scenario"]["estimates"], estimates);
    hashes(&json)
}

#[test]
fn who_ignores_estimates_decides_the_same_and_who_uses_them_does_not() {
    let models = ["perfect", "factor:1..5", "none"];
    let [perfect, factor, none] = models.map(|model| with("fcfs", model));
    assert!(perfect == factor && factor == none);
    let [perfect, factor, none] = models.map(|model| with("easy", model));
    assert!(perfect != factor && factor != none && perfect != none);
}

#[test]
fn factors_are_the_same_on_any_number_of_threads() {
    let line = format!("{SMALL} --scheduler easy --estimates factor:1..5");
    let one = host_sim(&format!("{line} --threads 1")).json();
    let two = host_sim(&format!("{line} --threads 2")).json();
    assert_eq!(hashes(&one), hashes(&two));
}

#[test]
fn a_model_is_an_axis_of_a_study() {
    let folder = tempfile::tempdir().unwrap();
    let grid = "mesh = \"8x8\"\njobs = 300\nreplications = 2\nscheduler = \"easy\"\n\
                estimates = [\"perfect\", \"factor:1..5\", \"none\"]\n";
    fs::write(folder.path().join("grid.toml"), grid).unwrap();
    let line = "run --scenario grid.toml --metrics utilization --format csv";
    let csv = host_sim_in(folder.path(), line).good();
    let mut table = csv::Reader::from_reader(csv.as_bytes());
    let headers = table.headers().unwrap().clone();
    let at = headers.iter().position(|name| name == "estimates").unwrap();
    let found: Vec<_> = table
        .records()
        .map(|row| row.unwrap()[at].to_owned())
        .collect();
    assert_eq!(found, ["perfect", "factor:1..5", "none"]);
}

#[test]
fn a_log_has_its_requested_times_unless_asked_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    // The second job needs the whole machine; the third says that it fits before it, or does not.
    let log = "1 0 -1 100 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n\
               2 1 -1 100 4 -1 -1 4 100 -1 1 1 1 1 1 1 -1 -1\n\
               3 2 -1 50 2 -1 -1 2 500 -1 1 1 1 1 1 1 -1 -1\n";
    fs::write(folder.path().join("a.swf"), log).unwrap();
    let waiting = |options: &str| {
        let line = format!(
            "run --log a.swf --mesh 2x2 --strategy fsl --scheduler easy --format json {options}"
        );
        let json = host_sim_in(folder.path(), &line).json();
        let mean = json["results"][0]["metrics"]["waiting_delay"]["mean"].clone();
        (
            json["scenario"]["estimates"].clone(),
            mean.as_f64().unwrap(),
        )
    };
    // It is estimated to run until after the second may start, and waits for it: 99 + 198 seconds
    // in all.
    assert_eq!(waiting(""), ("log".into(), 99.0));
    assert_eq!(waiting("--estimates perfect"), ("perfect".into(), 33.0));
}

#[test]
fn estimates_that_there_cannot_be_are_refused() {
    for (line, part) in [
        ("run --estimates log", "without a log"),
        ("saturation --estimates log", "without a log"),
        ("compare --estimates log", "without a log"),
        (
            "run --estimates guess",
            "known: perfect, log, factor:LOW..HIGH, none",
        ),
        ("run --estimates factor:5..1", "0 < LOW <= HIGH"),
        (
            "run --pattern ring --arrival-rate .001 --estimates perfect",
            "expected none: a job that sends messages",
        ),
        (
            "run --io-nodes left --batch 4 --estimates factor:1..2",
            "expected none: a job that sends messages or does I/O",
        ),
        (
            "run --log a.swf --pattern ring --estimates log",
            "expected none: a job that sends messages",
        ),
    ] {
        let ended = host_sim(line);
        assert_eq!(ended.code, Some(2), "{line}: {ended}");
        assert!(ended.stderr.contains(part), "{line}: {ended}");
    }
}

#[test]
fn who_reserves_without_estimates_is_told_and_passing_without_end_is_saturation() {
    let line = "run --mesh 8x8 --strategy ff --load 3 --jobs 100 --replications 1 --scheduler easy";
    let shown = host_sim(&format!("{line} --estimates none")).good();
    assert!(
        shown.contains("\n‡: jobs have no estimate (`--estimates`)"),
        "{shown}"
    );
    assert!(
        shown.contains("\nfirst-fit: saturated, jobs are passed without end; "),
        "{shown}"
    );
    let shown = host_sim(line).good();
    assert!(!shown.contains('‡'), "{shown}");
    let line = "compare --mesh 8x8 --strategy ff --load .3 --jobs 100 --replications 1 --scheduler fcfs,easy";
    let told = |line: &str| host_sim(line).good().matches("have no estimate").count();
    assert_eq!(
        (told(&format!("{line} --estimates none")), told(line)),
        (1, 0)
    );
    // One replication of many in which jobs are left behind is enough: its means are of the others.
    let line = "run --mesh 16x16 --strategy ff --load .55 --jobs 20 --replications 40 --scheduler sjf --format json";
    let result = &host_sim(line).json()["results"][0];
    assert_eq!(result["left_behind"], 1);
    assert_eq!(
        (
            &result["saturated"],
            &result["metrics"]["waiting_delay"]["mean"]
        ),
        (&true.into(), &Value::Null)
    );
}

/// A log in which one job of four has no requested time.
#[test]
fn a_log_without_requested_times_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    let line = |number: u32, requested: i32| {
        format!("{number} {number} -1 90 16 -1 -1 16 {requested} -1 1 1 1 -1 -1 1 -1 -1\n")
    };
    let log = [line(1, 100), line(2, -1), line(3, 90), line(4, 100)].concat();
    fs::write(folder.path().join("log.swf"), log).unwrap();
    let log = "--mesh 4x4 --strategy ff --log log.swf";
    for (options, part) in [
        ("--scheduler easy", 0.25),
        ("--scheduler conservative", 0.25),
        ("--scheduler sjf", 0.25),
        ("--scheduler easy --estimates none", 1.0),
        ("--scheduler easy --estimates perfect", 0.0),
        ("--scheduler fcfs", 0.0),
    ] {
        let run = |command: &str| host_sim_in(folder.path(), &format!("{command} {log} {options}"));
        let json = run("run --format json").json();
        assert_eq!(json["results"][0]["without_estimate"], part, "{options}");
        let text = match part {
            0.25 => "25.000 % of the jobs have no estimate",
            _ => "jobs have no estimate",
        };
        for command in ["run", "compare"] {
            let shown = run(command).good();
            // Some schedulers are saturated, too.
            let is_marked = ["133.50 ‡", "133.50 †‡"].map(|mean| shown.contains(mean));
            let is_explained = shown.contains(&format!("\n‡: {text}"));
            let found = [is_marked.contains(&true), is_explained];
            assert_eq!(found, [part > 0.0; 2], "{shown}");
        }
        run("view -o page.html").good();
        let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
        assert_eq!(
            page.contains(&format!("; {text} (`--estimates`)")),
            part > 0.0,
            "{options}"
        );
    }
}

#[test]
fn jobs_end_at_their_estimates_if_asked() {
    let line = format!("{SMALL} --estimates factor:0.5..1.5");
    let run = |kill: &str| host_sim(&format!("{line} {kill}")).json();
    let metric = |json: &Value, name: &str| json["results"][0]["metrics"][name]["mean"].as_f64();
    let (whole, cut) = (run(""), run("--kill-at-estimate"));
    assert_eq!(metric(&whole, "killed_share"), None);
    // Half of the factors are below 1, and those halve the time that they take off.
    let share = metric(&cut, "killed_share").unwrap();
    assert!((share - 0.5).abs() < 0.03, "{share}");
    let [whole, cut] = [whole, cut].map(|json| metric(&json, "service_time").unwrap());
    assert!((cut / whole - 0.875).abs() < 0.02, "{cut} of {whole}");

    let without = host_sim("run --estimates none --kill-at-estimate");
    assert_eq!(without.code, Some(2));
    let expected = "--kill-at-estimate requires jobs with estimates";
    assert!(without.stderr.contains(expected), "{}", without.stderr);
}

#[test]
fn killed_jobs_are_no_success_in_files_of_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let log = "1 0 -1 10 4 -1 -1 4 6 -1 1 1 1 1 1 1 -1 -1\n\
               2 0 -1 10 4 -1 -1 4 20 -1 1 1 1 1 1 1 -1 -1\n";
    fs::write(folder.path().join("two.swf"), log).unwrap();
    let line = "run --log two.swf --mesh 4x4 --kill-at-estimate -o";
    host_sim_in(folder.path(), &format!("{line} out.swf")).good();
    let swf = fs::read_to_string(folder.path().join("out.swf")).unwrap();
    let jobs = swf.lines().filter(|line| !line.starts_with(';'));
    let field = |line: &str, number: usize| line.split(' ').nth(number - 1).unwrap().to_owned();
    let found: Vec<_> = jobs
        .map(|line| [4, 11].map(|number| field(line, number)))
        .collect();
    assert_eq!(found, [["6", "0"], ["10", "1"]]);
    host_sim_in(folder.path(), &format!("{line} out-jobs.csv")).good();
    let csv = fs::read(folder.path().join("out-jobs.csv")).unwrap();
    let mut table = csv::Reader::from_reader(&*csv);
    let at = table
        .headers()
        .unwrap()
        .iter()
        .position(|name| name == "success")
        .unwrap();
    let success: Vec<_> = table
        .records()
        .map(|row| row.unwrap()[at].to_owned())
        .collect();
    assert_eq!(success, ["0", "1"]);
}
