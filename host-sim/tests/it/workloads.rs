//! Workloads from files and models on the command line: mixes, traces, measured times, a model.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::program::{host_sim, host_sim_fed, host_sim_in};

/// The submit times, run times and processors of some jobs.
fn jobs() -> impl Iterator<Item = (u32, u32, u32)> {
    (0..300).map(|job| (job * 40, 100 + job * 7_919 % 3_000, 1 + job * 31 % 16))
}

fn swf() -> String {
    let line = |(submit, run, processors)| {
        format!(
            "7 {submit} -1 {run} {processors} -1 -1 -1 {} -1 1 3 4 -1 -1 1 -1 -1\n",
            2 * run
        )
    };
    jobs().map(line).collect()
}

/// The same jobs as a trace with other names of columns.
fn csv() -> String {
    let line = |(submit, run, processors)| format!("{processors},{},{run},x,{submit}.0\n", 2 * run);
    let rows: String = jobs().map(line).collect();
    format!("gpus,asked,run,note,arrival\n{rows}")
}

const COLUMNS: &str = "--columns submit=arrival,processors=gpus,estimate=asked";

fn hashes(json: &Value) -> Vec<&Value> {
    let results = json["results"].as_array().unwrap().iter();
    results.map(|result| &result["decision_hash"]).collect()
}

#[test]
fn a_trace_is_run_as_the_log_with_the_same_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("log.swf"), swf()).unwrap();
    fs::write(path("trace.csv"), csv()).unwrap();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(csv().as_bytes()).unwrap();
    fs::write(path("trace.csv.gz"), packed.finish().unwrap()).unwrap();
    let run = "run --mesh 8x8 --strategy ff,fsl,naive --scheduler easy --format json --log-load .7";
    let of_log = host_sim_in(folder.path(), &format!("{run} --log log.swf")).json();
    for file in ["trace.csv", "trace.csv.gz"] {
        let of_trace = host_sim_in(folder.path(), &format!("{run} --log {file} {COLUMNS}"));
        let of_trace = of_trace.json();
        assert_eq!(hashes(&of_log), hashes(&of_trace));
        assert_eq!(of_trace["log"]["jobs"], 300);
        assert_eq!(of_trace["scenario"]["log"], file);
    }
    let fed = host_sim_fed(folder.path(), &format!("{run} --log - {COLUMNS}"), &csv());
    assert_eq!(hashes(&of_log), hashes(&fed.json()));
    let scenario = "mesh = \"8x8\"\nlog = \"trace.csv\"\nlog-load = 0.7\nscheduler = \"easy\"\n\
                    strategy = [\"ff\", \"fsl\", \"naive\"]\n\
                    columns = \"submit=arrival,processors=gpus,estimate=asked\"\n";
    fs::write(path("s.toml"), scenario).unwrap();
    let of_file = format!("run --scenario {} --format json", path("s.toml").display());
    assert_eq!(hashes(&of_log), hashes(&host_sim(&of_file).json()));
    let log = host_sim_in(
        folder.path(),
        &format!("log trace.csv {COLUMNS} --mesh 8x8 --format json"),
    );
    assert_eq!(log.json()["requested_time_known"], 300);
    // Nodes of four processors.
    let nodes = "run --mesh 2x2 --strategy ff --format json --processors-per-node 4";
    let of_log = host_sim_in(folder.path(), &format!("{nodes} --log log.swf")).json();
    let of_trace = host_sim_in(folder.path(), &format!("{nodes} --log trace.csv {COLUMNS}"));
    assert_eq!(hashes(&of_log), hashes(&of_trace.json()));
    assert_eq!(of_log["results"][0]["metrics"]["jobs"]["mean"], 300.0);
    for (line, expected) in [
        (
            "run --mesh 8x8 --log trace.csv",
            "trace.csv:1: no column is called submit (found",
        ),
        (
            "run --log trace.csv --columns submit=arrival,processors=gpus",
            "no machine given",
        ),
        (
            "run --mesh 8x8 --log log.swf --columns run=a",
            "log.swf:1: a log in the Standard Workload Format has no columns with names",
        ),
        (
            "run --mesh 8x8 --log trace.csv --partition 1",
            "trace.csv:1: a log in CSV has no partitions",
        ),
        (
            "run --processors-per-node 2",
            "--processors-per-node requires --log",
        ),
        (
            "run --mesh 8x8 --log trace.csv --columns start=a",
            "expected submit=COLUMN[,run=COLUMN]",
        ),
    ] {
        let ended = host_sim_in(folder.path(), line);
        assert!(
            ended.code == Some(2) && ended.stderr.contains(expected),
            "{line}: {ended}"
        );
    }
    // The owners of jobs come through.
    let line = "run --mesh 8x8 --strategy ff --log log.swf -o jobs.csv";
    host_sim_in(folder.path(), line).good();
    let rows = fs::read_to_string(path("jobs.csv")).unwrap();
    assert!(rows.lines().nth(1).unwrap().ends_with(",3,4,,0,"), "{rows}");
    // What a run writes is a log, whatever its name and wherever it comes from.
    let again = "run --mesh 8x8 --strategy ff --format json";
    let first = host_sim_in(folder.path(), &format!("{again} --log log.swf")).json();
    fs::copy(path("jobs.csv"), path("jobs.txt")).unwrap();
    for file in ["jobs.csv", "jobs.txt"] {
        let second = host_sim_in(folder.path(), &format!("{again} --log {file}"));
        assert_eq!(hashes(&first), hashes(&second.json()));
    }
    let second = host_sim_fed(folder.path(), &format!("{again} --log -"), &rows);
    assert_eq!(hashes(&first), hashes(&second.json()));
    let line = "run --mesh 8x8 --strategy ff,naive --log log.swf -o two-jobs.csv";
    host_sim_in(folder.path(), line).good();
    let refused = host_sim_in(folder.path(), &format!("{again} --log two-jobs.csv"));
    let expected =
        "the jobs are of several runs (expected those of one, as host-sim run writes them";
    assert!(
        refused.code == Some(2) && refused.stderr.contains(expected),
        "{refused}"
    );
}

#[test]
fn a_mix_is_checked_against_the_machine() {
    let run =
        "run --torus 16x16x16 --mix tpu-v4 --load .3 --jobs 300 --replications 1 --strategy as";
    let ended = host_sim(run);
    let expected = "tpu-v4 (--mix): 6 shapes can never be placed on this machine (4x4x32, 4x4x64, \
                    4x8x32, 4x4x96, 8x8x24, 4x4x192; expected another machine, or --mix-drop, \
                    which leaves them out)";
    assert!(
        ended.code == Some(2) && ended.stderr.contains(expected),
        "{ended}"
    );
    let text = host_sim(&format!("{run} --mix-drop")).good();
    assert!(
        text.contains("mix tpu-v4, 6 of 26 shapes left out (1.4 % of the weight)"),
        "{text}"
    );
    let json = host_sim(&format!("{run} --mix-drop --format json")).json();
    assert_eq!(
        (&json["mix"]["shapes"], &json["mix"]["dropped"][0]),
        (&20.into(), &"4x4x32".into())
    );
    assert_eq!(json["scenario"]["mix_drop"], true);
    let json = host_sim(
        &format!("{run} --mix-drop --mix rfold --format json").replace("--mix tpu-v4 ", ""),
    )
    .json();
    assert!(
        json["results"][0]["metrics"]["waiting_delay"]["mean"].is_number(),
        "{json}"
    );
    // A file that a scenario names is beside it.
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("mix.csv"),
        "shape,weight\n4x4x4,1\n2x2x2,3\n",
    )
    .unwrap();
    let scenario =
        "torus = \"8x8x8\"\nmix = \"mix.csv\"\njobs = 200\nreplications = 1\nstrategy = \"as\"\n";
    let path = folder.path().join("s.toml");
    fs::write(&path, scenario).unwrap();
    let text = host_sim(&format!("run --scenario {}", path.display())).good();
    assert!(text.contains("mix.csv, load 0.4"), "{text}");
    for (line, expected) in [
        ("run --mix tpu", "did you mean \"tpu-v4\"?"),
        ("run --mesh 8x8 --mix-drop", "--mix-drop requires --mix"),
        (
            "run --mesh 8x8 --mix no/mix.csv",
            "no/mix.csv: No such file",
        ),
    ] {
        let ended = host_sim(line);
        assert!(
            ended.code == Some(2) && ended.stderr.contains(expected),
            "{line}: {ended}"
        );
    }
}

#[test]
fn a_mix_has_gangs() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = "shape,weight\n2x 4x4,3\n2X 5x5,1\n3x 1x3,2\n5x 4x4,1\n2x2,4\n";
    fs::write(folder.path().join("gangs.csv"), shapes).unwrap();
    let run = "run --mesh 8x8 --mix gangs.csv --strategy ff --load .5 --jobs 300 --seed 2";
    let ended = host_sim_in(folder.path(), run);
    // Nor do two squares of 5 lie beside each other on one of 8.
    let expected = "2 shapes can never be placed on this machine (2x 5x5, 5x 4x4; ";
    assert!(
        ended.code == Some(2) && ended.stderr.contains(expected),
        "{ended}"
    );
    let line = format!("{run} --mix-drop --format json -o jobs.csv");
    let json = host_sim_in(folder.path(), &line).json();
    let jobs = fs::read_to_string(folder.path().join("jobs.csv")).unwrap();
    for shape in ["2x 4x4", "3x 1x3", "2x2"] {
        assert!(jobs.contains(&format!(",{shape},")), "{shape}");
    }
    // (3 * 32 + 2 * 9 + 4 * 4) / 9 processors a job, and a mean service of 1: the load is kept.
    let utilization = &json["results"][0]["metrics"]["utilization"]["mean"];
    let utilization = utilization.as_f64().unwrap();
    assert!((0.45..0.55).contains(&utilization), "{utilization}");
    let run = run.replace("--load .5", "--arrival-rate .001 --pattern fft --mix-drop");
    let messages = host_sim_in(folder.path(), &run);
    let expected = "gangs such as 3x 4x4x8 send no messages";
    assert!(
        messages.code == Some(2) && messages.stderr.contains(expected),
        "{messages}"
    );
}

#[test]
fn times_are_drawn_from_files_and_models() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), "gap,run\n2,9\n4,11\n").unwrap();
    fs::write(folder.path().join("log.swf"), swf()).unwrap();
    let run = "run --mesh 16x16 --jobs 500 --replications 2 --strategy ff --format json";
    let json = |options: &str| host_sim_in(folder.path(), &format!("{run} {options}")).json();
    let service = |json: &Value| {
        json["results"][0]["metrics"]["service_time"]["mean"]
            .as_f64()
            .unwrap()
    };
    let measured = json("--side-range 1..4 --service t.csv:run --interarrival t.csv:gap");
    assert!((service(&measured) - 10.0).abs() < 0.2, "{measured}");
    assert_eq!(measured["scenario"]["service"], "t.csv:run");
    assert!(measured["scenario"]["load"].is_null());
    let stretched =
        json("--side-range 1..4 --interarrival log.swf:submit --load .3 --service log.swf:run");
    assert_eq!(stretched["scenario"]["load"], 0.3);
    let model = json("--model lublin:both --load .5 --scheduler easy");
    assert!(service(&model) > 500.0, "{model}");
    assert_eq!(model["scenario"]["model"], "lublin:both");
    let again = json("--model lublin:both --load .5 --scheduler easy");
    assert_eq!(hashes(&model), hashes(&again));
    for (line, expected) in [
        ("run --service gauss:1", "weibull:SHAPE,SCALE, FILE:COLUMN"),
        (
            "run --service t.csv:walk",
            "t.csv:1: no column is called walk",
        ),
        ("run --interarrival gap", "expected FILE:COLUMN"),
        ("run --interarrival x.csv:gap", "x.csv: No such file"),
        (
            "run --model lublin --service t.csv:run",
            "cannot be used with",
        ),
        ("run --model lublin --mesh 3x3", "expected at least 10"),
        (
            "run --interarrival t.csv:gap --service t.csv:run -o t.csv",
            "is the file of",
        ),
    ] {
        let ended = host_sim_in(folder.path(), line);
        assert!(
            ended.code == Some(2) && ended.stderr.contains(expected),
            "{line}: {ended}"
        );
    }
}
