use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::program::{command, host_sim_in};

/// Strategies in the grid, a key that is not always there, and a saturated point.
const SMALL: &str = r#"
jobs = 300
replications = 3
strategy = ["fsl", "as"]
mesh = ["8x8", "16x11"]
load = [0.3, 0.5, 2]
service = ["exponential:5", "uniform:5,10"]
"#;

const UNTIL: &str = r#"
jobs = 400
mesh = "16x16"
strategy = ["ff", "fsl", "naive"]
until-rel-error = 0.2
max-replications = 40
load = [0.2, 0.3, 0.4, 1.5]
seed = [1, 2]
"#;

/// What a study is for.
#[derive(Debug, PartialEq, Eq)]
struct Files {
    csv: String,
    json: String,
}

/// What is said of the points of a study of this text that are kept, and its results.
fn study(folder: &Path, text: &str, options: &str, output: &str) -> (String, Files) {
    fs::write(folder.join("grid.toml"), text).unwrap();
    let line = format!("run --scenario grid.toml --save {output} {options}");
    let table = host_sim_in(folder, &line).good();
    let said = table.lines().last().unwrap().to_owned();
    let said = said
        .strip_prefix(&format!("{output}: "))
        .unwrap()
        .to_owned();
    (said, files(folder, output))
}

/// The results of the study whose points are kept there.
fn files(folder: &Path, output: &str) -> Files {
    let line = format!("run --scenario grid.toml --save {output} --merge --format");
    let of = |format: &str| host_sim_in(folder, &format!("{line} {format}")).good();
    Files {
        csv: of("csv"),
        json: of("json"),
    }
}

#[test]
fn the_number_of_threads_does_not_show() {
    let folder = tempfile::tempdir().unwrap();
    for (text, points) in [(SMALL, 12), (UNTIL, 8)] {
        let run = |threads: u32| {
            let output = format!("{points}-{threads}");
            let options = format!("--threads {threads}");
            let (said, files) = study(folder.path(), text, &options, &output);
            let expected = format!("{points} points, 0 of them run before");
            assert_eq!(said, expected);
            files
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(5));
    }
    // What the number of replications is decided by was put to the test.
    let until = files(folder.path(), "8-1").json;
    for stop in ["error-reached", "saturated"] {
        assert!(until.contains(stop), "{until}");
    }
}

#[test]
fn a_killed_study_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    // Long enough to be killed on the way.
    let text = r#"
jobs = 3000
replications = 4
mesh = "32x32"
strategy = ["fsl", "as"]
load = [0.3, 0.4, 0.45]
seed = [1, 2, 3, 4, 5, 6, 7, 8]
"#;
    let (_, whole) = study(folder.path(), text, "", "whole");
    let output = folder.path().join("killed");
    let finished = || {
        let entries = fs::read_dir(&output).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name());
        // One that is being written has another name.
        names
            .filter(|name| name.to_string_lossy().ends_with(".json"))
            .count()
    };
    let mut killed = 0;
    loop {
        let before = finished();
        let mut child = command(folder.path(), "run --scenario grid.toml --save killed")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begin = Instant::now();
        // A few points further, or to its end.
        while finished() < before + 3 && child.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < Duration::from_secs(120), "it hangs");
            thread::sleep(Duration::from_micros(200));
        }
        // `SIGKILL` where there are signals.
        let _ = child.kill();
        if child.wait().unwrap().success() {
            break;
        }
        assert!(finished() >= before + 3, "a finished point was lost");
        killed += 1;
    }
    assert!(killed >= 1, "the study ended before it could be killed");
    let (said, again) = study(folder.path(), text, "", "killed");
    assert_eq!(said, "24 points, 24 of them run before");
    assert_eq!(again, whole);
}

#[test]
fn a_file_that_is_spelled_otherwise_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let line = "1 0 -1 10 4 -1 -1 4 20 -1 1 1 1 -1 -1 1 -1 -1\n";
    for name in ["a.swf", "b.swf"] {
        fs::write(folder.path().join(name), line).unwrap();
    }
    for (output, text) in [
        ("fixed", "mesh = \"4x4\"\nlog = \"a.swf\"\nseed = [1, 2]\n"),
        ("axis", "mesh = \"4x4\"\nlog = [\"a.swf\", \"b.swf\"]\n"),
    ] {
        fs::write(folder.path().join("g.toml"), text).unwrap();
        for (file, known) in [("g.toml", 0), ("./g.toml", 2)] {
            let line = format!("run --scenario {file} --save {output}");
            let said = host_sim_in(folder.path(), &line).good();
            let expected = format!("{output}: 2 points, {known} of them run before\n");
            assert!(said.ends_with(&expected), "{said}");
        }
    }
}

#[test]
fn torn_files_do_not_show() {
    let folder = tempfile::tempdir().unwrap();
    let (_, whole) = study(folder.path(), SMALL, "", "out");
    let mut points = fs::read_dir(folder.path().join("out")).unwrap();
    let path = points.next().unwrap().unwrap().path();
    let bytes = fs::read(&path).unwrap();
    for missing in [1, 2, 100, bytes.len() / 2, bytes.len() - 10, bytes.len()] {
        fs::write(&path, &bytes[..bytes.len() - missing]).unwrap();
        let ended = host_sim_in(folder.path(), "run --scenario grid.toml --save out");
        assert!(
            ended.code == Some(0) && ended.stdout.contains("12 points, 11 of them run before"),
            "{ended}"
        );
        assert!(
            ended.stderr.lines().count() == 1 && ended.stderr.contains(".json: damaged; "),
            "{ended}"
        );
        assert_eq!(fs::read(&path).unwrap(), bytes);
        let again = files(folder.path(), "out");
        assert_eq!(again, whole, "{missing} bytes were missing");
    }
}

#[test]
fn a_row_is_what_run_gives() {
    let folder = tempfile::tempdir().unwrap();
    let (_, files) = study(folder.path(), SMALL, "", "out");
    let mut rows = csv::Reader::from_reader(files.csv.as_bytes());
    let columns = rows.headers().unwrap().iter().collect::<Vec<_>>().join(",");
    let expected = "mesh,load,service,strategy,metric,mean,low,high,replications,state";
    assert_eq!(columns, expected);
    let json: serde_json::Value = serde_json::from_str(&files.json).unwrap();
    assert_eq!(json["program"], "host-sim");
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["axes"], serde_json::json!(["mesh", "load", "service"]));
    let mut rows = rows.records().map(Result::unwrap);
    let mut saturated = 0;
    for (i, point) in json["points"].as_array().unwrap().iter().enumerate() {
        let [mesh, load, service] = [
            ["8x8", "16x11"][i / 6],
            ["0.3", "0.5", "2"][i / 2 % 3],
            ["exponential:5", "uniform:5,10"][i % 2],
        ];
        let line = format!(
            "run --strategy fsl,as --mesh {mesh} --load {load} --service {service} --jobs 300 \
             --replications 3 --format json"
        );
        let mut run = host_sim_in(folder.path(), &line).json();
        for result in run["results"].as_array_mut().unwrap() {
            for clock in ["elapsed_seconds", "jobs_per_second"] {
                result.as_object_mut().unwrap().remove(clock).unwrap();
            }
        }
        assert_eq!(point["scenario"], run["scenario"]);
        assert_eq!(point["results"], run["results"]);

        for result in run["results"].as_array().unwrap() {
            saturated += usize::from(result["saturated"] == true);
            for (metric, parts) in result["metrics"].as_object().unwrap() {
                let row = rows.next().unwrap();
                let strategy = result["strategy"].as_str().unwrap();
                let expected = [mesh, load, service, strategy, metric];
                assert!(row.iter().take(5).eq(expected), "{row:?}");
                for (part, cell) in ["mean", "low", "high", "replications"].iter().zip(5..) {
                    // To the last bit; what is not there is empty.
                    let (cell, value) = (&row[cell], &parts[part]);
                    assert_eq!(cell.parse().ok(), value.as_f64(), "{metric} {part}");
                    assert_eq!(cell.is_empty(), value.is_null(), "{metric} {part}");
                }
            }
        }
    }
    assert!(rows.next().is_none());
    assert!(saturated > 0, "no point was saturated");
}

#[test]
fn the_wide_form_has_a_row_for_each_point_and_strategy() {
    let folder = tempfile::tempdir().unwrap();
    let line =
        "run --mesh 8x8 --jobs 100 --replications 2 --strategy ff,naive --load .3,.5 --format";
    let csv = |more: &str| host_sim_in(folder.path(), &format!("{line} csv {more}")).good();
    let wide = csv("--wide --metrics utilization,hops");
    let lines: Vec<_> = wide.lines().collect();
    let header =
        "load,strategy,utilization,utilization_low,utilization_high,hops,hops_low,hops_high";
    assert_eq!((lines[0], lines.len()), (header, 5), "{wide}");
    assert!(
        lines[1].starts_with("0.3,first-fit,") && lines[1].ends_with(",,,"),
        "{wide}"
    );
    // The same numbers as in the other form.
    let tidy = csv("--metrics utilization");
    let number = |row: &str, at: usize| row.split(',').nth(at).unwrap().to_owned();
    assert_eq!(tidy.lines().count(), 5, "{tidy}");
    for (wide, tidy) in wide.lines().zip(tidy.lines()).skip(1) {
        assert_eq!(number(wide, 2), number(tidy, 3));
    }
    // By default the metrics of the table.
    let default = csv("--wide");
    assert!(
        default.starts_with("load,strategy,waiting_delay,"),
        "{default}"
    );
}

#[test]
fn a_larger_grid_runs_only_the_new_points() {
    let folder = tempfile::tempdir().unwrap();
    let tiny = "jobs = 20\nload = [0.3, 0.4]";
    let (_, first) = study(folder.path(), tiny, "", "out");
    // Order, blanks, comments and the division into keys and axes do not make other points.
    for same in [
        "# the same\nload = [ 0.30,\n 0.4 ]\njobs = [20]\n",
        "# the same\njobs = 20\n\nload = [ 0.30,\n 0.4 ]\n",
    ] {
        let (said, _) = study(folder.path(), same, "", "out");
        assert!(said.contains("2 points, 2 of them run before"), "{said}");
    }
    let (said, again) = study(folder.path(), tiny, "", "out");
    assert!(said.contains("2 of them run before"), "{said}");
    assert_eq!(again, first);

    let larger = tiny.replace("0.4]", "0.4, 0.5]");
    let (said, larger) = study(folder.path(), &larger, "", "out");
    assert!(said.contains("3 points, 2 of them run before"), "{said}");
    assert!(larger.csv.starts_with(&first.csv), "{larger:?}");
}

#[test]
fn mistakes_give_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (text, options, parts) in [
        (
            "\nlaod = [0.4]",
            "",
            &[
                "grid.toml:2: unknown key \"laod\"",
                "did you mean \"load\"?",
            ][..],
        ),
        (
            "stragety = \"ff\"",
            "",
            &["grid.toml:1:", "did you mean \"strategy\"?"],
        ),
        (
            "[grid]\nload = [0.4, 0.5]",
            "",
            &["grid.toml:1: unknown key \"grid\""],
        ),
        ("\nload = [0.4, 0]", "", &["grid.toml:2:", "number over 0"]),
        (
            "backend = \"tcp:127.0.0.1:4000\"",
            "--save o",
            &["--backend runs all points (expected no --save)"],
        ),
        (
            "load = [0.4, 0.5]",
            "--draw map",
            &["--draw map takes one point, and load has 2 values (expected one)"],
        ),
        (
            "",
            "--shard 1/2",
            &["--shard, --merge and --slurm require --save FOLDER"],
        ),
        (
            "side-range = \"1..9\"\nload = [0.4]\nmesh = [\"16x16\", \"8x8\"]",
            "",
            &[
                "grid.toml:1: `side-range` goes to 9 in dimension 0 (expected at most 8 on mesh 8x8) (mesh = 8x8)",
            ],
        ),
        (
            "strategy = \"2db\"\njobs = 20\nmesh = [\"8x8\", \"9x9\"]",
            "",
            &["grid.toml:1: `strategy` buddy serves", "(mesh = 9x9)"],
        ),
        (
            "log = \"none.swf\"\nmesh = [\"8x8\", \"9x9\"]",
            "",
            &["grid.toml:1: none.swf", "(mesh = 8x8)"],
        ),
        (
            "jobs = 20",
            "--save file",
            &["cannot read or write the results of a point"],
        ),
    ] {
        fs::write(folder.path().join("grid.toml"), text).unwrap();
        let ended = host_sim_in(
            folder.path(),
            &format!("run --scenario grid.toml {options}"),
        );
        assert!(
            ended.code == Some(2) && ended.stdout.is_empty() && ended.stderr.lines().count() == 1,
            "{text}: {ended}"
        );
        for part in parts {
            assert!(ended.stderr.contains(part), "{text}: {part}: {ended}");
        }
    }
    for (line, part) in [
        ("run --scenario none.toml", "none.toml: cannot read"),
        ("run --threads 0", "expected a whole number"),
        ("run --threads -1", "expected a whole number, 1 to 65535"),
        (
            "run --threads 2 --backend tcp:127.0.0.1:1",
            "--threads requires --backend in-process",
        ),
    ] {
        let ended = host_sim_in(folder.path(), line);
        assert!(
            ended.code == Some(2) && ended.stderr.contains(part),
            "{line}: {ended}"
        );
    }
}

#[test]
fn lists_on_the_command_line_are_rows_and_tables() {
    let line = "run --load .3..:.5:.1 --mesh 8x8 --scheduler fcfs,easy --strategy ff,fsl --jobs 100 \
                --replications 2";
    let shown = host_sim_in(Path::new("."), line).good();
    assert!(
        shown.starts_with("mesh=8x8 jobs=100 replications=2 seed=1\n"),
        "{shown}"
    );
    let tables = shown
        .split("\n\n")
        .filter(|table| table.contains("\nload "));
    let titles = tables.map(|table| {
        let rows = table
            .lines()
            .skip(3)
            .map(|row| row.split(' ').next().unwrap());
        assert!(rows.take(3).eq(["0.3", "0.4", "0.5"]), "{table}");
        table.lines().next().unwrap()
    });
    let titles: Vec<_> = titles.collect();
    assert_eq!(titles[0], "Mean waiting delay (s), scheduler=fcfs");
    assert_eq!(titles[1], "Mean waiting delay (s), scheduler=easy");
    assert_eq!(titles.len(), 8, "{shown}");
    // An option that is repeated has several values, too.
    let again = "run --load .3 --load .4,.5 --mesh 8x8 --scheduler fcfs,easy --strategy ff,fsl \
                 --jobs 100 --replications 2";
    assert_eq!(host_sim_in(Path::new("."), again).good(), shown);
}

#[test]
fn run_gives_the_same_over_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    for how_often in ["--replications 5", "--until-rel-error .2"] {
        let run = |threads: u32| {
            let line = format!(
                "run --mesh 16x16 --jobs 400 --load .3 --strategy fsl,ff {how_often} \
                 --threads {threads} --format json"
            );
            let mut json = host_sim_in(folder.path(), &line).json();
            for result in json["results"].as_array_mut().unwrap() {
                for clock in ["elapsed_seconds", "jobs_per_second"] {
                    let value = result.as_object_mut().unwrap().remove(clock).unwrap();
                    assert!(value.as_f64() > Some(0.0), "{value}");
                }
            }
            json.to_string()
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(7));
    }
}

/// The text of a sample.
fn sample(name: &str) -> String {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    fs::read_to_string(samples.join(name)).unwrap()
}

#[test]
fn the_samples_are_studies() {
    let folder = tempfile::tempdir().unwrap();
    let text = sample("kim-yoon-loads.toml");
    // All of its keys, with fewer jobs.
    let short = text
        .replace("jobs = 20_000", "jobs = 40")
        .replace("max-replications = 30", "max-replications = 10");
    assert_ne!(text, short);
    let (said, files) = study(folder.path(), &short, "", "out");
    assert!(said.starts_with("16 points"), "{said}");
    assert!(files.csv.lines().count() > 16 * 3, "{files:?}");

    let text = sample("chuang-wu-cells.toml");
    let short = text.replace("replications = 200", "replications = 2");
    assert_ne!(text, short);
    let (said, files) = study(folder.path(), &short, "", "cells");
    assert!(said.starts_with("8 points"), "{said}");
    assert!(files.csv.lines().count() > 8 * 4, "{files:?}");
}
