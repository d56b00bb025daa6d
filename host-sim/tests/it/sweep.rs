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
[grid]
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
[grid]
load = [0.2, 0.3, 0.4, 1.5]
seed = [1, 2]
"#;

/// The files that a sweep is for.
#[derive(Debug, PartialEq, Eq)]
struct Files {
    csv: String,
    json: String,
}

fn files(folder: &Path) -> Files {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let names = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["points", "results.csv", "results.json"]);
    Files {
        csv: read("results.csv"),
        json: read("results.json"),
    }
}

/// What a sweep of this text says, and its files.
fn sweep(folder: &Path, text: &str, options: &str, output: &str) -> (String, Files) {
    fs::write(folder.join("grid.toml"), text).unwrap();
    let line = format!("sweep grid.toml --output {output} {options}");
    let said = host_sim_in(folder, &line).good();
    (said, files(&folder.join(output)))
}

#[test]
fn the_number_of_threads_does_not_show() {
    let folder = tempfile::tempdir().unwrap();
    for (text, points) in [(SMALL, 12), (UNTIL, 8)] {
        let run = |threads: u32| {
            let output = format!("{points}-{threads}");
            let options = format!("--threads {threads}");
            let (said, files) = sweep(folder.path(), text, &options, &output);
            let expected = format!("{points} points, 0 of them run before\n");
            assert!(said.starts_with(&expected), "{said}");
            files
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(5));
    }
    // What the number of replications is decided by was put to the test.
    let until = fs::read_to_string(folder.path().join("8-1/results.csv")).unwrap();
    for stop in ["error-reached", "saturated"] {
        assert!(until.contains(stop), "{until}");
    }
}

#[test]
fn a_killed_sweep_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    // Long enough to be killed on the way.
    let text = r#"
jobs = 3000
replications = 4
mesh = "32x32"
[grid]
strategy = ["fsl", "as"]
load = [0.3, 0.4, 0.45]
seed = [1, 2, 3, 4, 5, 6, 7, 8]
"#;
    let (_, whole) = sweep(folder.path(), text, "", "whole");
    let output = folder.path().join("killed");
    let finished = || {
        let entries = fs::read_dir(output.join("points")).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name());
        // One that is being written has another name.
        names
            .filter(|name| name.to_string_lossy().ends_with(".json"))
            .count()
    };
    let mut killed = 0;
    loop {
        let before = finished();
        let mut child = command(folder.path(), "sweep grid.toml --output killed")
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
    assert!(killed >= 1, "the sweep ended before it could be killed");
    let (said, again) = sweep(folder.path(), text, "", "killed");
    assert!(
        said.starts_with("24 points, 24 of them run before\n"),
        "{said}"
    );
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
        (
            "fixed",
            "mesh = \"4x4\"\nswf = \"a.swf\"\n[grid]\nseed = [1, 2]\n",
        ),
        (
            "axis",
            "mesh = \"4x4\"\n[grid]\nswf = [\"a.swf\", \"b.swf\"]\n",
        ),
    ] {
        fs::write(folder.path().join("g.toml"), text).unwrap();
        for (file, known) in [("g.toml", 0), ("./g.toml", 2)] {
            let line = format!("sweep {file} --output {output}");
            let said = host_sim_in(folder.path(), &line).good();
            let expected = format!("2 points, {known} of them run before\n");
            assert!(said.starts_with(&expected), "{said}");
        }
    }
}

#[test]
fn torn_files_and_half_written_results_do_not_show() {
    let folder = tempfile::tempdir().unwrap();
    let (_, whole) = sweep(folder.path(), SMALL, "", "out");
    let mut points = fs::read_dir(folder.path().join("out/points")).unwrap();
    let path = points.next().unwrap().unwrap().path();
    let bytes = fs::read(&path).unwrap();
    for missing in [1, 2, 100, bytes.len() / 2, bytes.len() - 10, bytes.len()] {
        fs::write(&path, &bytes[..bytes.len() - missing]).unwrap();
        fs::write(
            folder.path().join("out/results.csv"),
            "mesh,wrap,torus,cube,machine,si",
        )
        .unwrap();
        fs::remove_file(folder.path().join("out/results.json")).unwrap();
        let ended = host_sim_in(folder.path(), "sweep grid.toml --output out");
        assert!(
            ended.code == Some(0) && ended.stdout.contains("12 points, 11 of them run before"),
            "{ended}"
        );
        assert!(
            ended.stderr.lines().count() == 1 && ended.stderr.contains(".json: damaged; "),
            "{ended}"
        );
        assert_eq!(fs::read(&path).unwrap(), bytes);
        let again = files(&folder.path().join("out"));
        assert_eq!(again, whole, "{missing} bytes were missing");
    }
}

#[test]
fn a_row_is_what_run_gives() {
    let folder = tempfile::tempdir().unwrap();
    let (_, files) = sweep(folder.path(), SMALL, "", "out");
    let mut rows = csv::Reader::from_reader(files.csv.as_bytes());
    let columns = rows.headers().unwrap().clone();
    let json: serde_json::Value = serde_json::from_str(&files.json).unwrap();
    assert_eq!(json["program"], "host-sim");
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["grid"], serde_json::json!(["mesh", "load", "service"]));
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
            let row = rows.next().unwrap();
            let cell = |name: &str| {
                let place = columns.iter().position(|column| column == name);
                &row[place.unwrap_or_else(|| panic!("no column {name}"))]
            };
            assert_eq!(cell("mesh"), mesh);
            assert_eq!(cell("load"), load.replace('2', "2.0"));
            assert_eq!(cell("traffic_ratio"), "");
            assert_eq!(cell("strategy"), result["strategy"]);
            assert_eq!(cell("saturated"), result["saturated"].to_string());
            assert_eq!(cell("decision_hash"), result["decision_hash"]);
            saturated += usize::from(result["saturated"] == true);
            for (metric, parts) in result["metrics"].as_object().unwrap() {
                for (part, value) in parts.as_object().unwrap() {
                    let cell = cell(&format!("{metric}_{part}"));
                    // To the last bit; what is not there is empty.
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
fn columns_do_not_depend_on_the_grid() {
    let folder = tempfile::tempdir().unwrap();
    let header = |text: &str, output: &str| {
        let (_, files) = sweep(folder.path(), text, "", output);
        files.csv.lines().next().unwrap().to_owned()
    };
    let log = "1 0 -1 10 4 -1 -1 4 -1 -1 1 1 1 -1 -1 -1 -1 -1\n";
    fs::write(folder.path().join("log.swf"), log).unwrap();
    let first = header(SMALL, "a");
    assert!(
        first.starts_with(
            "mesh,wrap,torus,cube,machine,side_lengths,side_range,dims,radices,processors,"
        ) && !first.contains("search_time"),
        "{first}"
    );
    assert_eq!(header("jobs = 50\n[grid]\ntraffic-ratio = [1]", "b"), first);
    let of_log = "swf = \"log.swf\"\n[grid]\nmesh = [\"4x4\", \"2x2\"]";
    assert_eq!(header(of_log, "c"), first);
    let json = fs::read_to_string(folder.path().join("c/results.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["points"][1]["log"]["jobs"], 1);
}

#[test]
fn the_folder_is_named_after_the_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tiny.toml"), "jobs = 20\nmesh = \"4x4\"").unwrap();
    let said = host_sim_in(folder.path(), "sweep tiny.toml").good();
    let out = Path::new("out").join("sweep").join("tiny");
    assert!(said.starts_with("1 point"), "{said}");
    assert!(
        said.contains(&out.join("results.csv").display().to_string()),
        "{said}"
    );
    files(&folder.path().join(out));
}

/// Its stem is a folder above.
#[test]
fn a_file_of_dots_has_its_results_below_out_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let text = "mesh = \"8x8\"\njobs = 30\nreplications = 1\n";
    fs::write(folder.path().join("...toml"), text).unwrap();
    host_sim_in(folder.path(), "sweep ...toml").good();
    assert!(
        folder
            .path()
            .join("out/sweep/...toml/results.csv")
            .is_file()
    );
    let names = fs::read_dir(folder.path().join("out")).unwrap();
    assert_eq!(names.count(), 1);
}

#[test]
fn a_larger_grid_runs_only_the_new_points() {
    let folder = tempfile::tempdir().unwrap();
    let tiny = "jobs = 20\n[grid]\nload = [0.3, 0.4]";
    let (_, first) = sweep(folder.path(), tiny, "", "out");
    // Order, blanks, comments and the division into keys and axes do not make other points.
    for same in [
        "# the same\n[grid]\nload = [ 0.30,\n 0.4 ]\njobs = [20]\n",
        "# the same\njobs = 20\n\n[grid]\nload = [ 0.30,\n 0.4 ]\n",
    ] {
        let (said, _) = sweep(folder.path(), same, "", "out");
        assert!(said.contains("2 points, 2 of them run before"), "{said}");
    }
    let (said, again) = sweep(folder.path(), tiny, "", "out");
    assert!(said.contains("2 of them run before"), "{said}");
    assert_eq!(again, first);

    let larger = tiny.replace("0.4]", "0.4, 0.5]");
    let (said, larger) = sweep(folder.path(), &larger, "", "out");
    assert!(said.contains("3 points, 2 of them run before"), "{said}");
    let rows = |files: &Files| files.csv.lines().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(rows(&larger)[..3], rows(&first)[..]);
    let (said, restarted) = sweep(folder.path(), tiny, "--anew", "out");
    assert!(said.contains("0 of them run before"), "{said}");
    assert_eq!(restarted, first);
}

#[test]
fn mistakes_give_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (text, options, parts) in [
        (
            "\n[grid]\nlaod = [0.4]",
            "",
            &[
                "grid.toml:3: unknown key \"laod\"",
                "did you mean \"load\"?",
            ][..],
        ),
        (
            "stragety = \"ff\"",
            "",
            &["grid.toml:1:", "did you mean \"strategy\"?"],
        ),
        (
            "[grid]\nload = 0.4",
            "",
            &["grid.toml:2:", "expected a list"],
        ),
        (
            "[grid]\nload = [0.4, 0]",
            "",
            &["grid.toml:2:", "number over 0"],
        ),
        (
            "backend = \"tcp:127.0.0.1:4000\"",
            "",
            &["grid.toml:1:", "`backend` has no use here"],
        ),
        (
            "side-range = \"1..9\"\n[grid]\nload = [0.4]\nmesh = [\"16x16\", \"8x8\"]",
            "",
            &[
                "grid.toml:1: `side-range` goes to 9 in dimension 0 (expected at most 8 on mesh 8x8) (load = 0.4, mesh = 8x8)",
            ],
        ),
        (
            "strategy = \"2db\"\njobs = 20\n[grid]\nmesh = [\"8x8\", \"9x9\"]",
            "",
            &["grid.toml:1: `strategy` buddy serves", "(mesh = 9x9)"],
        ),
        (
            "swf = \"none.swf\"\n[grid]\nmesh = [\"8x8\"]",
            "",
            &["grid.toml:1: none.swf", "(mesh = 8x8)"],
        ),
        (
            "jobs = 20",
            "--output file",
            &["cannot read or write the results of a point"],
        ),
    ] {
        fs::write(folder.path().join("grid.toml"), text).unwrap();
        let ended = host_sim_in(folder.path(), &format!("sweep grid.toml {options}"));
        assert!(
            ended.code == Some(2) && ended.stdout.is_empty() && ended.stderr.lines().count() == 1,
            "{text}: {ended}"
        );
        for part in parts {
            assert!(ended.stderr.contains(part), "{text}: {part}: {ended}");
        }
    }
    for (line, part) in [
        ("sweep none.toml", "none.toml: cannot read"),
        ("sweep", "<FILE.toml>"),
        ("sweep grid.toml --threads 0", "expected a whole number"),
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
fn the_samples_are_grids() {
    let folder = tempfile::tempdir().unwrap();
    let text = sample("kim-yoon-loads.toml");
    // All of its keys, with fewer jobs.
    let short = text
        .replace("jobs = 20_000", "jobs = 40")
        .replace("max-replications = 30", "max-replications = 10");
    assert_ne!(text, short);
    let (said, files) = sweep(folder.path(), &short, "", "out");
    assert!(said.starts_with("16 points"), "{said}");
    assert_eq!(files.csv.lines().count(), 1 + 16 * 3);

    let text = sample("chuang-wu-cells.toml");
    let short = text.replace("replications = 200", "replications = 2");
    assert_ne!(text, short);
    let (said, files) = sweep(folder.path(), &short, "", "cells");
    assert!(said.starts_with("8 points"), "{said}");
    assert_eq!(files.csv.lines().count(), 1 + 8 * 4);
}
