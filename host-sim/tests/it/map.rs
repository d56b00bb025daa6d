use std::fs;
use std::path::Path;

use crate::program::{command, host_sim_fed, host_sim_in};

const OPERATIONS: &str = "alloc 1 3 2\nalloc 2 2 2\nalloc 3 1 4\nfree 2\nfault 7 3\n";

fn svg(folder: &Path, name: &str) -> String {
    let svg = fs::read_to_string(folder.join(name)).unwrap();
    assert!(
        svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"),
        "{svg}"
    );
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    svg
}

#[test]
fn the_end_of_a_file_of_operations() {
    let folder = tempfile::tempdir().unwrap();
    let line = "replay - --mesh 8x4 --quiet --draw map -o p.svg";
    let shown = host_sim_fed(folder.path(), line, OPERATIONS).good();
    let expected = "
first-fit
2 running, 0 waiting
34.4 % busy, 21 free, 1 faulty
largest free submesh: 5x2
    ┌────────┐
    │.....d.x│
    │.....d..│
    │bbb..d..│
  0 ┤bbb..d..│
    └┬───────┘
     0

. free, x faulty; jobs that touch have different letters
map: p.svg
";
    assert!(shown.ends_with(expected), "{shown}");
    let svg = svg(folder.path(), "p.svg");
    assert!(svg.contains("34.4 % busy, 21 free, 1 faulty"), "{svg}");
}

#[test]
fn the_planes_of_a_cube() {
    let folder = tempfile::tempdir().unwrap();
    let operations = "alloc 1 4x2\nalloc 2 3x3x2\nalloc 3 4x4\nfree 1\nfault 0 3 3\nfault 3 0 0\n";
    let line = "replay - --machine 4-ary-3-cube --quiet --draw map -o p.svg";
    let shown = host_sim_fed(folder.path(), line, operations).good();
    let expected = "
tree-collapsing
2 running, 0 waiting
54.7 % busy, 29 free, 2 faulty
largest free subcube: 3x4x2
    ┌───────────────────┐
A[2]│0    1    2    3   │
    │...x .... .... dddd│
    │..cc ..cc ..cc dddd│
    │..cc ..cc ..cc dddd│
  0 ┤..cc ..cc ..cc xddd│
    └┬────┬────┬────┬───┘
A[0] 0123 0123 0123 0123

. free, x faulty; jobs that touch have different letters
above each plane: A[2]; A[0] to the right, A[1] upwards
map: p.svg
";
    assert!(shown.ends_with(expected), "{shown}");
    let svg = svg(folder.path(), "p.svg");
    for part in ["4-ary 3-cube", "54.7 % busy, 29 free, 2 faulty", "A[2]"] {
        assert!(svg.contains(part), "{part} is missing in {svg}");
    }

    let line = "run --machine 4-ary-3-cube --strategy tc,sniffing --batch 30 --service uniform:5,10 --replications 1 --draw map:20 -o out/map.svg";
    let shown = host_sim_in(folder.path(), line).good();
    assert_eq!(shown.matches("20.0 s: ").count(), 2, "{shown}");
    assert_eq!(
        shown.matches("largest free subcube: ").count(),
        2,
        "{shown}"
    );
    self::svg(folder.path(), "out/map.svg");
}

#[test]
fn objects_are_not_mixed_with_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let line = "replay - --mesh 8x4 -o out/map.svg";
    let shown = host_sim_fed(folder.path(), line, OPERATIONS).good();
    for line in shown.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    svg(folder.path(), "out/map.svg");
    let run = "run --mesh 8x8 --jobs 200 --replications 1 --draw map -o out/map.svg --format json";
    host_sim_in(folder.path(), run).json();
    svg(folder.path(), "out/map.svg");
}

#[test]
fn strategies_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let line = "run --mesh 16x16 --strategy ff,naive --jobs 300 --replications 1 --draw map:100.5 -o out/map.svg";
    let shown = host_sim_in(folder.path(), line).good();
    let titles = shown
        .lines()
        .find(|line| line.split_whitespace().eq(["first-fit", "naive"]));
    assert!(titles.is_some(), "{shown}");
    assert_eq!(shown.matches("100.5 s: ").count(), 2, "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    assert!(shown.ends_with("map: out/map.svg\n"), "{shown}");
    let first = svg(folder.path(), "out/map.svg");
    // The same seed gives the same picture.
    host_sim_in(folder.path(), line).good();
    assert_eq!(svg(folder.path(), "out/map.svg"), first);
}

/// Strategies that differ in a parameter alone have panels of different titles.
#[test]
fn parameters_of_strategies_are_in_the_titles() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["leb:16", "leb:32", "random:seed=1", "random:seed=2"];
    let line = format!(
        "run --mesh 8x8 --jobs 20 --replications 1 --strategy {} --draw map -o p.svg",
        names.join(",")
    );
    host_sim_in(folder.path(), &line).good();
    let svg = svg(folder.path(), "p.svg");
    for title in [
        "least-expected-blocking:16",
        "least-expected-blocking:32",
        "random:seed=1",
        "random:seed=2",
    ] {
        let titles = svg.lines().filter(|line| line.trim() == title).count();
        assert_eq!(titles, 1, "{title}: {svg}");
    }
}

#[test]
fn colours_only_where_they_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let line = "run --mesh 8x8 --jobs 200 --replications 1 --draw map";
    let run = |variable: Option<(&str, &str)>| {
        let mut command = command(folder.path(), line);
        command
            .env_remove("CLICOLOR_FORCE")
            .env_remove("NO_COLOR")
            .envs(variable);
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!run(None).contains('\u{1b}'));
    assert!(!run(Some(("NO_COLOR", "1"))).contains('\u{1b}'));
    let coloured = run(Some(("CLICOLOR_FORCE", "1")));
    assert!(coloured.contains("\u{1b}[48;5;"), "{coloured}");
    assert!(
        coloured.contains("white: free, black: faulty"),
        "{coloured}"
    );
}

#[test]
fn what_cannot_be_shown_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ops"), OPERATIONS).unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    fs::write(folder.path().join("s.toml"), "batch = 50\n").unwrap();
    for (line, part) in [
        ("run --draw mop", "nor map, links or timeline"),
        (
            "run --draw map:-3",
            "TIME of map is \"-3\": expected a time",
        ),
        (
            "run --draw timeline",
            "--draw timeline requires --output FILE.svg",
        ),
        ("run --draw map -o file/m.svg", "cannot write the picture"),
        ("replay ops --draw map:3", "[possible values: map]"),
        ("replay ops --draw timeline", "[possible values: map]"),
        ("run --draw timelines", "nor map, links or timeline"),
        (
            "run --batch 50 --draw map:jobs=51",
            "--draw map:jobs=51: a run has 50 jobs (expected map:jobs=N, N from 1 to 50)",
        ),
        (
            "run --scenario s.toml --draw map:jobs=51",
            "error: --draw map:jobs=51: a run has 50 jobs ",
        ),
        (
            "run --search-time --backend tcp:127.0.0.1:1",
            "expected --backend in-process",
        ),
    ] {
        let ended = host_sim_in(folder.path(), line);
        assert!(
            ended.code == Some(2) && ended.stderr.contains(part),
            "{line}: {ended}"
        );
        assert!(ended.stdout.is_empty(), "{line}: {ended}");
    }
}

#[test]
fn replay_shows_how_many_jobs_wait() {
    let folder = tempfile::tempdir().unwrap();
    let operations = "alloc 1 4 4\nalloc 2 2 2\nalloc 3 1 1\n";
    fs::write(folder.path().join("ops"), operations).unwrap();
    let line = "replay ops --mesh 4x4 --scheduler fcfs --draw map -o m.svg";
    host_sim_in(folder.path(), line).good();
    let picture = fs::read_to_string(folder.path().join("m.svg")).unwrap();
    assert!(picture.contains("2 waiting"), "{picture}");
}

/// The end of a run is known only when it has been reached; its results are there then.
#[test]
fn a_map_after_the_end_is_refused_behind_the_results() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["run --batch 50", "run --jobs 50"] {
        let line = format!("{command} --mesh 8x8 --replications 1 --draw map:1e9");
        let ended = host_sim_in(folder.path(), &line);
        assert_eq!(ended.code, Some(1), "{line}: {ended}");
        assert!(ended.stdout.contains("first-fit"), "{line}: {ended}");
        for part in [
            "--draw map:1000000000: ",
            "the run ends at ",
            "(expected a time up to then)",
        ] {
            assert!(ended.stderr.contains(part), "{line}: {ended}");
        }
    }
}

#[test]
fn nothing_is_written_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let small = "run --mesh 8x8 --batch 20 --replications 1";
    let shown = host_sim_in(folder.path(), &format!("{small} --draw map")).good();
    assert!(shown.contains("first-fit"), "{shown}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    for (kind, more) in [("timeline", ""), ("map", ""), ("links", "--pattern ring")] {
        let line = format!("{small} {more} --draw {kind} -o out/p.svg");
        let shown = host_sim_in(folder.path(), &line).good();
        let line = format!("\n{kind}: out/p.svg\n");
        assert!(shown.ends_with(&line), "{shown}");
        svg(folder.path(), "out/p.svg");
    }
}

#[test]
fn no_output_takes_the_place_of_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let log = "1 0 -1 10 4 -1 -1 4 10 -1 1 1 1 -1 -1 1 -1 -1\n";
    fs::write(folder.path().join("l.swf"), log).unwrap();
    for (name, content) in [("s.toml", "batch = 9\n"), ("ops.txt", "alloc 1 2x2\n")] {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let run = "run --mesh 8x8 --replications 1 --jobs 20";
    for (line, part) in [
        (
            format!("{run} -o same.csv --draw map -o ./same.csv"),
            "--output ./same.csv is the file of --output, too",
        ),
        (
            "run --mesh 8x8 --log l.swf -o l.swf".to_owned(),
            "--output l.swf is the file of --log, too",
        ),
        (
            "run --scenario s.toml -o s.toml".to_owned(),
            "--output s.toml is the file of --scenario, too",
        ),
        (
            "view --mesh 8x8 --log l.swf -o l.swf".to_owned(),
            "--output l.swf is the file of --log, too",
        ),
        (
            "replay ops.txt --mesh 8x8 --draw map -o ./ops.txt".to_owned(),
            "--output ./ops.txt is the file of OPS, too",
        ),
    ] {
        let ended = host_sim_in(folder.path(), &line);
        assert!(
            ended.code == Some(2) && ended.stdout.is_empty() && ended.stderr.contains(part),
            "{line}: {ended}"
        );
        assert!(!folder.path().join("out").exists(), "{line}");
    }
    assert_eq!(
        fs::read_to_string(folder.path().join("l.swf")).unwrap(),
        log
    );
}

/// A device takes the place of a disk that is full only when the picture comes: everything else has
/// been written.
#[cfg(target_os = "linux")]
#[test]
fn a_picture_that_cannot_be_written_comes_after_the_results() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ops.txt"), "alloc 1 2x2\n").unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("full.svg")).unwrap();
    for line in [
        "run --mesh 8x8 --replications 1 --jobs 20 --draw map",
        "replay ops.txt --mesh 8x8 --draw map",
        "replay ops.txt --mesh 8x8 --draw map --quiet",
    ] {
        let ended = host_sim_in(folder.path(), &format!("{line} -o full.svg"));
        assert_eq!(ended.code, Some(1), "{line}: {ended}");
        assert!(!ended.stdout.is_empty(), "{line}: {ended}");
        let reason = "full.svg: cannot write the picture: ";
        assert!(
            ended.stderr.starts_with("error: --draw ") && ended.stderr.contains(reason),
            "{line}: {ended}"
        );
    }
}

/// Which jobs are refused is known after the runs only.
#[test]
fn a_map_behind_the_last_grant_names_the_most_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let job = |number: u32, processors: u32| {
        format!(
            "{number} {number} -1 10 {processors} -1 -1 {processors} 10 -1 1 1 1 -1 -1 1 -1 -1\n"
        )
    };
    let log = [job(1, 4), job(2, 400), job(3, 4)].concat();
    fs::write(folder.path().join("l.swf"), log).unwrap();
    let ended = host_sim_in(
        folder.path(),
        "run --mesh 8x8 --log l.swf --draw map:jobs=3",
    );
    let reason = "first-fit, replication 1: only 2 jobs granted in the whole run (expected a number up to 2)";
    assert!(
        ended.code == Some(1) && ended.stderr.contains(reason),
        "{ended}"
    );
}
