//! Logs on the command line and in files: standard input, windows, loads, replications, and what
//! `log` shows.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::Value;

use crate::program::{host_sim, host_sim_fed, host_sim_in};

/// A job as (submit time, run time, processors, requested time), in seconds.
type Line = (u64, u64, u32, i64);

fn swf(jobs: &[Line]) -> String {
    let line = |(number, (submit, run, processors, requested)): (usize, &Line)| {
        format!(
            "{number} {submit} -1 {run} {processors} -1 -1 -1 {requested} -1 1 1 1 -1 -1 1 -1 -1\n"
        )
    };
    jobs.iter().enumerate().map(line).collect()
}

/// Five weeks of jobs, more in some than in others.
fn five_weeks() -> Vec<Line> {
    let mut jobs = Vec::new();
    for step in 0..300_u64 {
        let week = step / 60;
        let submit = week * 604_800 + (step % 60) * (4_000 + 1_000 * week);
        let run = 1_000 + step * 7_919 % 30_000;
        jobs.push((submit, run, 1 + (step * 31 % 16) as u32, run as i64 * 2));
    }
    jobs.push((5 * 604_800, 1, 1, -1));
    jobs
}

fn results(json: &Value) -> &Vec<Value> {
    json["results"].as_array().unwrap()
}

/// The results without what a clock measures.
fn timeless(json: &Value) -> Vec<Value> {
    let mut results = results(json).clone();
    for result in &mut results {
        for key in ["elapsed_seconds", "jobs_per_second"] {
            result.as_object_mut().unwrap().remove(key);
        }
    }
    results
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("log.swf"), swf(&five_weeks())).unwrap();
    folder
}

#[test]
fn a_log_on_standard_input_is_the_log_of_the_file() {
    let folder = folder();
    let text = swf(&five_weeks());
    let run = "run --mesh 4x4 --strategy ff,naive --format json --log";
    let of_file = host_sim_in(folder.path(), &format!("{run} log.swf")).json();
    let fed = host_sim_fed(folder.path(), &format!("{run} -"), &text).json();
    assert_eq!(timeless(&of_file), timeless(&fed));
    assert_eq!(
        (&fed["scenario"]["log"], &fed["log"]["file"]),
        (&"-".into(), &"standard input".into())
    );
    // A command that reads it for several loads reads it once.
    let compare = "compare --mesh 4x4 --strategy ff --log-load .2,.3 --format json --log";
    let of_file = host_sim_in(folder.path(), &format!("{compare} log.swf")).json();
    let fed = host_sim_fed(folder.path(), &format!("{compare} -"), &text).json();
    for place in 0..4 {
        let results = |json: &Value| json["points"][place]["results"].clone();
        assert!(results(&of_file)[0]["decisions"].is_number());
        assert_eq!(results(&of_file), results(&fed));
    }
    let log = host_sim_fed(folder.path(), "log - --mesh 4x4 --format json", &text).json();
    assert_eq!(log["log"]["jobs"], 301);
    let ended = host_sim_fed(folder.path(), "run --log - --mesh 4x4", "1 2 3\n");
    assert_eq!(ended.code, Some(2));
    assert!(
        ended
            .stderr
            .starts_with("error: standard input:1: 3 fields"),
        "{ended}"
    );
}

#[test]
fn a_resampled_log_has_intervals_that_no_number_of_threads_changes() {
    let folder = folder();
    let run = |options: &str| {
        let line =
            format!("run --log log.swf --mesh 4x4 --strategy ff,fsl --format json {options}");
        host_sim_in(folder.path(), &line).json()
    };
    let one = run("--resample weeks --log-load .5 --replications 6 --threads 1");
    assert_eq!(
        timeless(&one),
        timeless(&run(
            "--resample weeks --log-load .5 --replications 6 --threads 3"
        ))
    );
    for result in results(&one) {
        let delay = &result["metrics"]["waiting_delay"];
        assert_eq!(
            (&delay["replications"], &result["stop"]),
            (&6.into(), &"fixed".into())
        );
        assert!(width(delay) > 0.0, "{delay}");
        // Five weeks of 60 jobs, whichever they are.
        assert_eq!(result["metrics"]["jobs"]["mean"], 300.0);
    }
    assert_eq!(one["scenario"]["resample"], "weeks");
    let other = run("--resample weeks --log-load .5 --replications 6 --seed 2");
    assert_ne!(timeless(&one), timeless(&other));
    // Ten unless asked otherwise.
    assert_eq!(results(&run("--resample weeks"))[0]["replications"], 10);
    assert_eq!(results(&run("--log-load .5"))[0]["replications"], 1);
    let shown = host_sim_in(
        folder.path(),
        "run --log log.swf --mesh 4x4 --resample weeks --log-load .5 --from 1w --to 4w --replications 2",
    );
    let shown = shown.good();
    let text =
        "a log, shapes near-square, from 1w, to 4w, stretched to load 0.5, weeks resampled, seed 1";
    assert!(shown.contains(text), "{shown}");
    assert!(shown.contains("more of them do not narrow it."), "{shown}");
}

/// A job a second, each of which has the machine for 100 s: number i waits 99 i.
#[test]
fn a_log_that_saturates_has_a_mean_that_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    let jobs: Vec<Line> = (0..200).map(|i| (i, 100, 16, 100)).collect();
    fs::write(folder.path().join("log.swf"), swf(&jobs)).unwrap();
    let mean = 99.0 * 199.0 / 2.0;
    let run = "run --log log.swf --mesh 4x4 --strategy ff,naive";
    let json = host_sim_in(folder.path(), &format!("{run} --format json")).json();
    for result in results(&json) {
        assert_eq!(result["saturated"], true);
        assert_eq!(result["metrics"]["waiting_delay"]["mean"], mean);
        assert_eq!(result["metrics"]["waiting_delay"]["values"][0], mean);
        assert_eq!(result["metrics"]["turnaround"]["mean"], mean + 100.0);
        assert!(result["waiting_delay_gains"].as_array().unwrap().is_empty());
    }
    let shown = host_sim_in(folder.path(), run).good();
    assert!(shown.contains("2.74 †       2.76 †"), "{shown}");
    assert!(shown.contains("†: saturated: the backlog grew"), "{shown}");
    assert!(!shown.contains("below"), "{shown}");

    let compare = "compare --log log.swf --mesh 4x4 --strategy ff --scheduler fcfs -o p.svg";
    let shown = host_sim_in(folder.path(), compare).good();
    assert!(shown.contains("2.74 †"), "{shown}");
    assert!(shown.contains("†: saturated: the backlog grew"), "{shown}");
    let svg = fs::read_to_string(folder.path().join("p.svg")).unwrap();
    // In the strip, among the numbers and in the legend; without a mean it is in the strip only.
    assert!(svg.contains("saturated"), "{svg}");
    assert_eq!(svg.matches("<circle").count(), 3, "{svg}");

    let line = "run --log log.swf --mesh 4x4 --strategy ff --metrics waiting_delay --format csv";
    let table = host_sim_in(folder.path(), line).good();
    assert!(
        table.ends_with("\nfirst-fit,waiting_delay,9850.5,,,1,saturated\n"),
        "{table}"
    );
}

/// The width of an estimate's interval.
fn width(estimate: &Value) -> f64 {
    let [low, high] = ["low", "high"].map(|end| estimate[end].as_f64().unwrap());
    high - low
}

#[test]
fn more_replications_do_not_narrow_the_interval_of_a_resampled_log() {
    let folder = folder();
    let widths = |replications: u32| -> Vec<f64> {
        let line = format!(
            "run --log log.swf --mesh 4x4 --strategy ff,naive --resample weeks --log-load .4 --replications {replications} --format json"
        );
        let json = host_sim_in(folder.path(), &line).json();
        let results = results(&json);
        let of_delays = results
            .iter()
            .map(|result| &result["metrics"]["waiting_delay"]);
        let of_gains = results
            .iter()
            .map(|result| &result["waiting_delay_gains"][0]);
        let estimates = of_delays.chain(of_gains).filter(|it| it.is_object());
        estimates.map(width).collect()
    };
    let (few, many) = (widths(10), widths(160));
    assert_eq!((few.len(), many.len()), (4, 4));
    for (few, many) in few.iter().zip(many) {
        // Student's quantile falls by 13 %, and a standard deviation of ten values is itself a
        // quarter off as a rule. Over the square root of the number of replications it would be a
        // quarter of that.
        let ratio = many / few;
        assert!((0.55..1.6).contains(&ratio), "{few} {many}");
    }
}

#[test]
fn weeks_without_jobs_are_drawn_but_not_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    // Jobs in the first of seven weeks and in the last.
    let mut jobs = Vec::new();
    for week in [0, 6] {
        jobs.extend((0..200).map(|job| (week * 604_800 + job * 600, 900, 4, -1)));
    }
    jobs.push((7 * 604_800, 1, 1, -1));
    fs::write(folder.path().join("gap.swf"), swf(&jobs)).unwrap();
    let line = "run --mesh 8x8 --strategy ff --log gap.swf --resample weeks --replications 60 --format json";
    let json = host_sim_in(folder.path(), line).json();
    let jobs = &results(&json)[0]["metrics"]["jobs"];
    assert_eq!(jobs["replications"], 60);
    // Two weeks of seven would have 400 jobs in the mean; given that there are any, 400 / (1 -
    // (5/7)^7) = 442.
    let mean = jobs["mean"].as_f64().unwrap();
    assert!((380.0..510.0).contains(&mean), "{mean}");

    let line = "run --mesh 8x8 --log gap.swf --resample weeks --from 1w --to 5w";
    let none = host_sim_in(folder.path(), line);
    assert_eq!(none.code, Some(2), "{none}");
}

#[test]
fn every_command_makes_the_same_of_a_log() {
    let folder = folder();
    let options = "--mesh 4x4 --resample weeks --from 1w --shape drawn:uniform --replications 3";
    let run = format!("run --log log.swf --strategy ff {options} --log-load .4 --format json");
    let run = host_sim_in(folder.path(), &run).json();
    let hash = &results(&run)[0]["decision_hash"];
    let compare = format!(
        "compare --log log.swf --strategy ff --scheduler fcfs {options} --log-load .2,.4 --format json"
    );
    let compare = host_sim_in(folder.path(), &compare).json();
    assert_eq!(compare["points"][0]["scenario"]["log_load"], 0.2);
    assert_eq!(compare["points"][1]["results"][0]["decision_hash"], *hash);
    let file = "log = \"log.swf\"\nstrategy = \"ff\"\nmesh = \"4x4\"\nresample = \"weeks\"\nfrom = \"1w\"\n\
                shape = \"drawn:uniform\"\nreplications = 3\n";
    fs::write(
        folder.path().join("one.toml"),
        format!("{file}log-load = 0.4\n"),
    )
    .unwrap();
    let scenario = host_sim_in(folder.path(), "run --scenario one.toml --format json").json();
    assert_eq!(timeless(&scenario)[0]["decision_hash"], *hash);
    fs::write(
        folder.path().join("grid.toml"),
        format!("{file}log-load = [0.2, 0.4]\n"),
    )
    .unwrap();
    let study = host_sim_in(folder.path(), "run --scenario grid.toml --format json").json();
    assert_eq!(study["points"][1]["results"][0]["decision_hash"], *hash);
}

#[test]
fn what_is_wrong_about_a_log_in_a_file_has_its_line() {
    let folder = folder();
    let fails = |line: &str| {
        let ended = host_sim_in(folder.path(), line);
        assert_eq!(
            (ended.code, ended.stderr.lines().count()),
            (Some(2), 1),
            "{ended}"
        );
        ended.stderr
    };
    for (text, expected) in [
        (
            "mesh = \"4x4\"\nfrom = \"2w\"\n",
            "a.toml:2: `from` requires `log`",
        ),
        (
            "mesh = \"4x4\"\n\nlog-load = 0.5\n",
            "a.toml:3: `log-load` requires `log`",
        ),
        (
            "log = \"log.swf\"\nfrom = \"2w\"\nto = \"1w\"\n",
            "a.toml:3: `to` is 1w, not after `from`, 2w",
        ),
        (
            "log = \"log.swf\"\nreplications = 3\n",
            "a.toml:2: `replications` with `log` requires",
        ),
        ("log = \"-\"\n", "a.toml:1: `log` is standard input"),
        (
            "log = \"log.swf\"\nresample = \"days\"\n",
            "a.toml:2: resample = \"days\": unknown resampling",
        ),
        (
            "log = \"log.swf\"\nto = -3\n",
            "a.toml:2: to = -3: expected seconds",
        ),
        (
            "log = \"log.swf\"\nlog-load = 0\n",
            "a.toml:2: log-load = 0: expected a number over 0",
        ),
        (
            "log = \"log.swf\"\nshape = \"round\"\n",
            "a.toml:2: shape = \"round\": unknown shape rule",
        ),
        (
            "log = \"log.swf\"\nload = [0.5]\n",
            "a.toml:2: `load` contradicts `log` in line 1",
        ),
    ] {
        fs::write(folder.path().join("a.toml"), text).unwrap();
        let error = fails("run --scenario a.toml");
        assert!(error.contains(expected), "{text}: {error}");
    }
    fs::write(
        folder.path().join("a.toml"),
        "log = \"log.swf\"\nmesh = \"4x4\"\nreplications = [2, 3]\n",
    )
    .unwrap();
    let error = fails("run --scenario a.toml");
    assert!(
        error.contains("a.toml:3: `replications` with `log` requires"),
        "{error}"
    );
    let error = fails("compare --log log.swf --mesh 4x4 --resample weeks --to 10d");
    assert!(
        error.contains("log.swf: the number of whole weeks to resample (--resample) is 1"),
        "{error}"
    );
    let error = fails("run --log log.swf --mesh 4x4 --resample weeks --to 10d");
    assert!(
        error.contains("log.swf: the number of whole weeks to resample (--resample) is 1"),
        "{error}"
    );
    let error = fails("compare --log log.swf --mesh 4x4 --replications 2");
    assert!(
        error.contains("replications with --log requires"),
        "{error}"
    );
}

#[test]
fn percentiles_of_a_log_and_of_a_run_are_interpolated_alike() {
    // Jobs that wait 0 to 38 s, and one after the other run 1 to 39 s.
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, run: &dyn Fn(u64) -> u64| {
        let jobs: Vec<Line> = (1..=39).map(|job| (0, run(job), 1, -1)).collect();
        fs::write(folder.path().join(name), swf(&jobs)).unwrap();
    };
    write("equal.swf", &|_| 1);
    write("longer.swf", &|job| job);
    let line = "run --mesh 1x1 --log equal.swf --format json";
    let json = host_sim_in(folder.path(), line).json();
    let waited = &results(&json)[0]["metrics"]["waiting_delay_p95"]["mean"];
    assert!((waited.as_f64().unwrap() - 36.7).abs() < 1e-9, "{waited}");
    let line = "log longer.swf --mesh 1x1 --format json";
    let json = host_sim_in(folder.path(), line).json();
    let ran = &json["distributions"]["run_time_seconds"]["p95"];
    assert!((ran.as_f64().unwrap() - 37.7).abs() < 1e-9, "{ran}");
    let shown = host_sim_in(folder.path(), "log longer.swf --mesh 1x1").good();
    assert!(shown.contains(" 37.7 "), "{shown}");
}

#[test]
fn log_shows_what_is_in_a_log() {
    // Submit times 0 to 14 days and a bit; 7 processors do not fit on 3 x 2.
    let jobs = [
        (0, 100, 1, 200),
        (0, 300, 2, 100),
        (86_400, 50, 4, -1),
        (1_209_600, 10, 7, 10),
    ];
    let header = "; Computer: A mesh\n; MaxProcs: 8\n; Acknowledge: A. Author\n";
    let more = "5 7 -1 -1 4 -1 -1 4 -1 -1 1 1 1 -1 -1 1 -1 -1\n6 8 -1 9 4 -1 -1 4 -1 -1 1 1 1 -1 -1 2 -1 -1\n";
    let text = [header, &swf(&jobs), more].concat();
    let show = |options: &str| {
        host_sim_fed(
            Path::new("."),
            &format!("log - --mesh 3x2 --partition 1 {options}"),
            &text,
        )
    };
    let json = show("--format json").json();
    assert_eq!(
        (&json["log"]["jobs"], &json["log"]["records"]),
        (&4.into(), &6.into())
    );
    assert_eq!(
        (
            &json["log"]["dropped_no_run_time"],
            &json["log"]["other_partitions"]
        ),
        (&1.into(), &1.into())
    );
    assert_eq!(
        (&json["span_seconds"], &json["whole_weeks"]),
        (&1_209_600.0.into(), &2.into())
    );
    let held = 100.0 + 600.0 + 200.0;
    let load = json["log"]["offered_load"].as_f64().unwrap();
    assert!((load - held / (6.0 * 1_209_600.0)).abs() < 1e-12, "{load}");
    assert_eq!(json["too_large"]["jobs"], 1);
    let part = json["too_large"]["work_share"].as_f64().unwrap();
    assert!((part - 70.0 / (held + 70.0)).abs() < 1e-12, "{part}");
    assert_eq!(
        (
            &json["requested_time_known"],
            &json["ran_longer_than_requested"]
        ),
        (&3.into(), &1.into())
    );
    let of = |name: &str| &json["distributions"][name];
    let row = of("processors");
    assert_eq!((&row["count"], &row["mean"]), (&4.into(), &3.5.into()));
    assert_eq!(
        (&row["min"], &row["median"], &row["max"]),
        (&1.0.into(), &3.0.into(), &7.0.into())
    );
    assert_eq!(of("run_time_seconds")["mean"], 115.0);
    assert_eq!(of("requested_time_seconds")["max"], 200.0);
    assert_eq!(of("interarrival_seconds")["max"], 1_123_200.0);
    assert_eq!(of("offered_load_of_a_week")["count"], 2);
    let sizes: Vec<_> = json["sizes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|size| {
            (
                size["from"].as_u64(),
                size["to"].as_u64(),
                size["jobs"].as_u64(),
            )
        })
        .collect();
    let size = |from, to, jobs| (Some(from), Some(to), Some(jobs));
    assert_eq!(
        sizes,
        [size(1, 1, 1), size(2, 2, 1), size(3, 4, 1), size(5, 8, 1)]
    );
    let shown = show("").good();
    for part in [
        "A mesh, 4 jobs, 1 of other partitions, 1 dropped without a run time",
        "acknowledge: A. Author",
        "span: 14.00 days, 2 whole weeks",
        "jobs larger than that: 1, 7.22 % of the work",
        "ran longer than was requested: 1 of 3",
        "5 to 8",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let (_, tables) = shown.split_once("\n\n").unwrap();
    let mut lines = tables.lines();
    assert!(lines.all(|line| line.chars().count() <= 80), "{shown}");
    let shown = show("--from 1d --to 2w").good();
    assert!(
        shown.contains("1 job, 1 of other partitions, 4 outside the window"),
        "{shown}"
    );
}

/// The last class of sizes goes up to 2^32, which is over every number of processors.
#[test]
fn log_counts_jobs_of_every_size() {
    let text = swf(&[
        (0, 10, 4, 10),
        (5, 10, 1 << 31, 10),
        (10, 20, 3_000_000_000, 20),
        (20, 20, 4_000_000_000, 20),
    ]);
    let show =
        |options: &str| host_sim_fed(Path::new("."), &format!("log - --mesh 4x4{options}"), &text);
    let shown = show("").good();
    assert!(shown.contains("jobs larger than that: 3, "), "{shown}");
    assert!(shown.contains("2147483649 to 4294967296"), "{shown}");
    let json = show(" --format json").json();
    let sizes = json["sizes"].as_array().unwrap();
    let jobs = sizes.iter().map(|size| size["jobs"].as_u64().unwrap());
    assert_eq!((sizes.len(), jobs.sum::<u64>()), (33, 4));
    assert_eq!(sizes[32]["to"], 1_u64 << 32);
    assert_eq!(sizes[32]["jobs"], 2);
}

#[test]
fn sides_beside_a_log_are_refused() {
    let ended = host_sim("compare --mesh 8x8 --log log.swf --side-range 1..2");
    assert!(
        ended.code == Some(2) && ended.stderr.contains("side-range"),
        "{ended}"
    );
    let folder = tempfile::tempdir().unwrap();
    let text = "log = \"log.swf\"\nmesh = \"8x8\"\nside-range = [\"1..2\", \"1..4\"]\n";
    fs::write(folder.path().join("s.toml"), text).unwrap();
    let ended = host_sim_in(folder.path(), "run --scenario s.toml");
    assert!(
        ended.code == Some(2) && ended.stderr.contains("`side-range` contradicts `log`"),
        "{ended}"
    );
}

/// A log of two jobs with a header.
const OF_THREE: &str = "; MaxProcs: 100\n; UnixStartTime: 843480031\n\
    ; TimeZoneString: Europe/Stockholm\n\
    1 0 -1 10 16 -1 -1 16 20 -1 1 1 1 -1 -1 1 -1 -1\n\
    2 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n\
    3 5 -1 10 16 -1 -1 16 20 -1 1 1 1 -1 -1 1 -1 -1\n";

#[test]
fn a_log_needs_a_machine() {
    let folder = folder();
    fs::write(folder.path().join("three.swf"), OF_THREE).unwrap();
    let expected = "three.swf: no machine given, and the log has MaxProcs 100 \
                    (expected --mesh, --torus or --machine, such as --mesh 10x10)";
    for command in ["run", "view", "compare"] {
        let ended = host_sim_in(folder.path(), &format!("{command} --log three.swf"));
        assert_eq!(ended.code, Some(2), "{ended}");
        assert_eq!(ended.stderr, format!("error: {expected}\n"), "{command}");
        // Without a header the largest job says something.
        let ended = host_sim_in(folder.path(), &format!("{command} --log log.swf"));
        let largest = "its largest job has 16 processors \
                       (expected --mesh, --torus or --machine, such as --mesh 4x4)";
        assert!(ended.stderr.contains(largest), "{ended}");
    }
    fs::write(
        folder.path().join("one.toml"),
        "seed = 7\nlog = \"three.swf\"\n",
    )
    .unwrap();
    let in_file = "one.toml:2: three.swf: no machine given, and the log has MaxProcs 100 \
                   (expected `mesh`, `torus` or `machine`, such as `mesh` 10x10)";
    for line in ["run --scenario one.toml", "compare --scenario one.toml"] {
        let ended = host_sim_in(folder.path(), line);
        assert_eq!(ended.code, Some(2), "{ended}");
        assert_eq!(ended.stderr, format!("error: {in_file}\n"), "{line}");
    }
    for machine in ["--mesh 10x10", "--torus 10x10", "--machine 4-ary-3-cube"] {
        let line = format!("run --scenario one.toml {machine} --strategy naive --format json");
        let json = host_sim_in(folder.path(), &line).json();
        assert_eq!(
            results(&json)[0]["metrics"]["jobs"]["mean"],
            2.0,
            "{machine}"
        );
    }
    let fed = host_sim_fed(Path::new("."), "run --log -", OF_THREE);
    assert!(
        fed.stderr.contains("standard input: no machine given"),
        "{fed}"
    );
    let huge = OF_THREE.replace("MaxProcs: 100", "MaxProcs: 3120000");
    let fed = host_sim_fed(Path::new("."), "run --log -", &huge);
    let part = "(expected --mesh, --torus or --machine; machines have up to 1048576 processors)";
    assert!(fed.stderr.contains(part), "{fed}");
}

#[test]
fn log_needs_no_machine() {
    let text = OF_THREE.replace(" 16 -1 -1 16 ", " 4294967294 -1 -1 16 ");
    let shown = host_sim_fed(Path::new("."), "log -", &text).good();
    for part in [
        "unknown machine, 2 jobs, 1 dropped without a submit time",
        "submitted from 1996-09-23T14:00:31+02:00 to 1996-09-23T14:00:36+02:00, \
         time zone Europe/Stockholm",
        "no machine given; the log has MaxProcs 100: try --mesh 10x10",
        "jobs larger than any machine: 2, 100.00 % of the work",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(
        !shown.contains("offered") && !shown.contains("load"),
        "{shown}"
    );
    let json = host_sim_fed(Path::new("."), "log - --format json", &text).json();
    for key in [
        "/machine",
        "/processors",
        "/log/offered_load",
        "/distributions/offered_load_of_a_week",
    ] {
        assert_eq!(json.pointer(key), Some(&Value::Null), "{key}: {json}");
    }
    assert_eq!(
        (&json["too_large"]["jobs"], &json["log"]["records"]),
        (&2.into(), &3.into())
    );
    assert_eq!(json["first_submitted"], "1996-09-23T14:00:31+02:00");
    assert_eq!(json["last_submitted"], "1996-09-23T14:00:36+02:00");
}

#[test]
fn times_of_jobs_become_unix_times() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("log.swf"), OF_THREE).unwrap();
    let run = "run --mesh 4x4 --log log.swf --strategy naive --format json --from 2 -o";
    let json = host_sim_in(folder.path(), &format!("{run} jobs.csv")).json();
    assert_eq!(json["log"]["unix_start_time"], 843_480_031);
    assert_eq!(json["log"]["time_zone"], "Europe/Stockholm");
    let csv = fs::read(folder.path().join("jobs.csv")).unwrap();
    let mut rows = csv::Reader::from_reader(&csv[..]);
    let places = rows.headers().unwrap().clone();
    let submitted = places
        .iter()
        .position(|name| name == "submission_time")
        .unwrap();
    let row = rows.records().next().unwrap().unwrap();
    let time: f64 = row[submitted].parse().unwrap();
    let from = json["scenario"]["from"].as_f64().unwrap();
    let unix = time + from + json["log"]["unix_start_time"].as_f64().unwrap();
    // Job 3, submitted 5 s after the log's zero.
    assert_eq!(unix, 843_480_036.0);
    // As a log it says so itself.
    host_sim_in(folder.path(), &format!("{run} new.swf")).good();
    let new = fs::read_to_string(folder.path().join("new.swf")).unwrap();
    assert!(
        new.contains("\n; UnixStartTime: 843480033\n; TimeZoneString: Europe/Stockholm\n"),
        "{new}"
    );
    let dates = |file: &str| {
        let log = host_sim_in(folder.path(), &format!("log {file} --from 2 --format json")).json();
        log["first_submitted"].clone()
    };
    let again = host_sim_in(folder.path(), "log new.swf --format json").json();
    assert_eq!(again["first_submitted"], dates("log.swf"));
    // Weeks that are drawn, and cycles, have no dates; nor has a log without a beginning.
    let weeks = swf(&five_weeks());
    let text = format!("; UnixStartTime: 843480031\n{weeks}");
    fs::write(folder.path().join("weeks.swf"), text).unwrap();
    fs::write(folder.path().join("none.swf"), weeks).unwrap();
    for more in [
        "weeks.swf --resample weeks --replications 1",
        "weeks.swf --pattern ring --jobs 9",
        "weeks.swf --log-load 0.5",
        "none.swf",
    ] {
        let line = format!("run --mesh 4x4 --strategy naive -o new.swf --log {more}");
        host_sim_in(folder.path(), &line).good();
        let new = fs::read_to_string(folder.path().join("new.swf")).unwrap();
        assert!(new.contains("\n; UnixStartTime: 0\n; MaxNodes"), "{new}");
    }
}

#[test]
fn a_job_larger_than_the_machine_is_refused_on_any_machine() {
    let text =
        |large: u64| OF_THREE.replacen(" 16 -1 -1 16 ", &format!(" {large} -1 -1 {large} "), 1);
    for machine in [
        "--mesh 4096",
        "--mesh 65535",
        "--mesh 64x64",
        "--mesh 16x16x16",
        "--mesh 8x8x8x8",
        "--machine 2-ary-12-cube",
    ] {
        for large in [65_536, 4_294_967_294_u64] {
            let line =
                format!("run --log - {machine} --strategy naive,ff --format json --scheduler easy");
            let mut ended = host_sim_fed(Path::new("."), &line, &text(large));
            // A note says that one side is a line.
            ended.stderr.clear();
            let json = ended.json();
            for result in results(&json) {
                assert_eq!(
                    result["refused"],
                    serde_json::json!({"never-fits": 1}),
                    "{machine}"
                );
                assert_eq!(result["metrics"]["jobs"]["mean"], 1.0, "{machine}");
            }
        }
    }
}

#[test]
fn an_unlimited_estimate_ends_no_log() {
    // 4294967295 minutes, what Slurm writes for no limit.
    let text = OF_THREE.replacen(" 20 ", " 257698037700 ", 1);
    for scheduler in ["fcfs", "easy", "conservative"] {
        let line = format!(
            "run --log - --mesh 4x4 --strategy naive --format json --scheduler {scheduler}"
        );
        let json = host_sim_fed(Path::new("."), &line, &text).json();
        let metrics = &results(&json)[0]["metrics"];
        assert_eq!(metrics["jobs"]["mean"], 2.0, "{scheduler}");
        assert_eq!(metrics["waiting_delay"]["mean"], 2.5, "{scheduler}");
    }
}

/// What a user of a public trace sees first, in all commands that show a log.
#[test]
fn lines_that_say_too_little_are_counted_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "submit_time,duration,gpu_num\n0.0,18.0,4.0\n9,NaN,8\n20.0,9.0,0\n1664.0,0.0,8.0\n";
    fs::write(folder.path().join("trace.csv"), rows).unwrap();
    let columns = "--columns submit=submit_time,run=duration,processors=gpu_num";
    let run = |line: &str| host_sim_in(folder.path(), &format!("{line} {columns}"));
    let counts = "log trace.csv: unknown machine, 2 jobs, 1 dropped without processors, \
                  1 dropped without a run time";
    for line in [
        "log trace.csv",
        "run --mesh 4x4 --strategy ff --log trace.csv",
        "compare --mesh 4x4 --strategy ff --log trace.csv",
    ] {
        let shown = run(line).good();
        assert!(shown.contains(counts), "{shown}");
        let ended = run(&format!("{line} --strict"));
        assert_eq!(ended.code, Some(2), "{ended}");
        let expected = "trace.csv:3: run is \"NaN\": expected 0 or more and less than 2251799813 \
                        seconds; without --strict the line is left out";
        assert_eq!(ended.stderr, format!("error: {expected}\n"), "{line}");
    }
    fs::write(
        folder.path().join("s.toml"),
        "log = \"trace.csv\"\nmesh = \"4x4\"\nstrict = true\n\
         columns = \"submit=submit_time,run=duration,processors=gpu_num\"\n",
    )
    .unwrap();
    let ended = host_sim_in(folder.path(), "run --scenario s.toml");
    assert!(
        ended.stderr.contains("trace.csv:3: run is \"NaN\""),
        "{ended}"
    );
}

#[test]
fn other_data_behind_gzip_data_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(OF_THREE.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let warning = "warning: other data behind the gzip data was not read";
    for (behind, is_warned) in [(&b"\0\0\0"[..], false), (b"\0<html>", true)] {
        fs::write(
            folder.path().join("log.swf.gz"),
            [&gzip[..], behind].concat(),
        )
        .unwrap();
        let shown = host_sim_in(folder.path(), "log log.swf.gz").good();
        assert!(shown.contains("2 jobs"), "{shown}");
        assert_eq!(shown.contains(warning), is_warned, "{shown}");
        let json = host_sim_in(folder.path(), "log log.swf.gz --format json").json();
        assert_eq!(json["log"]["other_data_behind_gzip"], is_warned);
        let run = "run --mesh 4x4 --strategy ff --service log.swf.gz:run --load .5 --jobs 10";
        let ended = host_sim_in(folder.path(), run);
        assert_eq!(ended.code, Some(if is_warned { 2 } else { 0 }), "{ended}");
    }
}

/// Lines without end on standard input, and little memory.
#[cfg(target_os = "linux")]
#[test]
fn a_log_for_which_there_is_not_enough_memory_is_an_error() {
    let swf = "1 0 -1 9 4 -1 -1 4 9 -1 1 1 1 -1 -1 1 -1 -1";
    let columns = "--columns submit=1,run=2,processors=3,id=,user=";
    for (line, options) in [(swf, ""), ("1,2,3", columns)] {
        let program = env!("CARGO_BIN_EXE_host-sim");
        let script = format!("ulimit -v 200000; yes {line:?} | {program} log - {options}");
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.starts_with("error: standard input:"), "{stderr}");
        let expected = " jobs (expected fewer, or more memory)\n";
        assert!(
            stderr.contains(": not enough memory for ") && stderr.ends_with(expected),
            "{stderr}"
        );
    }
}

#[test]
fn records_are_those_of_the_file_whatever_number_of_jobs_is_run() {
    for (jobs, beyond) in [(1, 2), (2, 0), (9, 0)] {
        let line = format!("run --log - --mesh 4x4 --strategy naive --format json --jobs {jobs}");
        let json = host_sim_fed(Path::new("."), &line, OF_THREE).json();
        assert_eq!(json["log"]["records"], 3, "{jobs}");
        assert_eq!(json["log"]["beyond_limit"], beyond, "{jobs}");
    }
    let shown = host_sim_fed(Path::new("."), "run --log - --mesh 4x4 --jobs 1", OF_THREE).good();
    let part = "1 job, 1 of partial executions";
    assert!(
        !shown.contains(part) && shown.contains("1 job, 2 beyond --jobs"),
        "{shown}"
    );
}

#[test]
fn every_file_that_is_read_has_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(5 << 20);
    fs::write(folder.path().join("log.swf"), format!("{OF_THREE}{long}")).unwrap();
    fs::write(folder.path().join("ops"), format!("free 1\n# {long}\n")).unwrap();
    fs::write(folder.path().join("s.toml"), format!("# {long}\n")).unwrap();
    let line_error = "the line is longer than 65536 bytes (expected at most that)";
    let file_error = "s.toml: cannot read the scenario: the file is larger than 4194304 \
                      bytes (expected at most that)";
    for (line, expected) in [
        ("log log.swf", format!("log.swf:7: {line_error}")),
        (
            "run --log log.swf --mesh 4x4",
            format!("log.swf:7: {line_error}"),
        ),
        ("replay ops", format!("ops:2: {line_error}")),
        ("run --scenario s.toml", file_error.to_owned()),
        ("view --scenario s.toml", file_error.to_owned()),
    ] {
        let ended = host_sim_in(folder.path(), line);
        assert_eq!(ended.code, Some(2), "{ended}");
        assert_eq!(ended.stderr, format!("error: {expected}\n"), "{line}");
    }
    let fed = host_sim_fed(folder.path(), "replay -", &format!("free 1\n{long}"));
    assert!(
        fed.stderr
            .contains(&format!("standard input:2: {line_error}")),
        "{fed}"
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_any_file() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), format!("\u{feff}{text}")).unwrap();
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked = [&[0xff, 0xfe][..], &utf16].concat();
        fs::write(folder.path().join(format!("16{name}")), marked).unwrap();
    };
    write("log.swf", OF_THREE);
    write("ops", "alloc 1 2x2\n");
    write("s.toml", "mesh = \"4x4\"\njobs = 20\nreplications = 1\n");
    for (before, file, after) in [
        ("log", "log.swf", ""),
        ("run --log", "log.swf", "--mesh 4x4"),
        ("replay", "ops", ""),
        ("run --scenario", "s.toml", ""),
    ] {
        let run = |file: &str| host_sim_in(folder.path(), &format!("{before} {file} {after}"));
        assert_eq!(run(file).code, Some(0), "{before} {file}");
        let ended = run(&format!("16{file}"));
        assert!(
            ended.code == Some(2) && ended.stderr.contains("the text is UTF-16"),
            "{ended}"
        );
    }
}
